/* nest_folds.c - see nest_folds.h. */
#include "mdf_c/lowered/nest_folds.h"

#include <math.h>
#include <string.h>

enum { MOST_LANES = 128 };

typedef void (*fold_function)(size_t n, size_t n_row, size_t n_lanes, const void *from, void *to);

#define NAME(x) float32_##x
#define ELEMENT float
#define TOTAL float
#define FUSED fmaf
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "mdf_c/lowered/nest_folds.inc"

#define NAME(x) float64_##x
#define ELEMENT double
#define TOTAL double
#define FUSED fma
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "mdf_c/lowered/nest_folds.inc"

#define NAME(x) int32_##x
#define ELEMENT int32_t
#define TOTAL uint32_t
#define FUSED(x, y, t) ((x) * (y) + (t))
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "mdf_c/lowered/nest_folds.inc"

#define NAME(x) int64_##x
#define ELEMENT int64_t
#define TOTAL uint64_t
#define FUSED(x, y, t) ((x) * (y) + (t))
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "mdf_c/lowered/nest_folds.inc"

static const fold_function *folds_of(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32   ? float32_folds
           : dtype == MDF_DTYPE_FLOAT64 ? float64_folds
           : dtype == MDF_DTYPE_INT32   ? int32_folds
           : dtype == MDF_DTYPE_INT64   ? int64_folds
                                        : NULL;
}

bool mdf_nest_has_fold(enum mdf_nest_fold fold, mdf_dtype dtype)
{
    return fold < N_MDF_NEST_FOLDS && folds_of(dtype) != NULL;
}

/* One row whose elements go through lanes, and the rest one by one. */
static void fold_with_rest(const struct mdf_nest_step *step, size_t n, const char *row, char *total)
{
    fold_function fold = folds_of((mdf_dtype)step->operand_dtype)[step->fold];
    size_t size = mdf_dtype_size((mdf_dtype)step->operand_dtype), whole = n - n % step->lanes, lane, half;
    uint64_t totals[MOST_LANES];

    if (whole == 0) {
        fold(1, n, 1, row, total);
        return;
    }
    if (step->order != MDF_NEST_PAIRWISE) {
        fold(1, whole, step->lanes, row, totals);
    } else { /* lane by lane, then neighbours */
        char column[128 * sizeof(uint64_t)], *at;

        for (lane = 0; lane < step->lanes; lane++) {
            for (at = column, half = lane; half < whole; half += step->lanes, at += size) {
                memcpy(at, row + half * size, size);
            }
            fold(1, whole / step->lanes, 1, column, (char *)totals + lane * size);
        }
        for (half = step->lanes / 2; half > 0; half /= 2) {
            fold(half, 2, 1, totals, totals);
        }
    }
    memcpy((char *)totals + size, row + whole * size, (n - whole) * size);
    fold(1, n - whole + 1, 1, totals, total);
}

/* One row in an order that goes on by halves. */
static void fold_by_halves(const struct mdf_nest_step *step, size_t n, const char *row, char *total)
{
    bool is_pairwise = step->order == MDF_NEST_PAIRWISE;
    size_t most = is_pairwise ? 128 : 512, size = mdf_dtype_size((mdf_dtype)step->operand_dtype);
    size_t half = is_pairwise ? n / 2 - n / 2 % 8 : n / 2 / 8 * 8;
    char halves[2 * sizeof(uint64_t)];

    if (n <= most && !is_pairwise) {
        folds_of((mdf_dtype)step->operand_dtype)[step->fold](1, n, step->lanes, row, total);
    } else if (n <= most) {
        fold_with_rest(step, n, row, total);
    } else {
        fold_by_halves(step, half, row, halves);
        fold_by_halves(step, n - half, row + half * size, halves + size);
        folds_of((mdf_dtype)step->operand_dtype)[step->fold](1, 2, 1, halves, total);
    }
}

static void sum_terms(const struct mdf_nest_step *step, const struct mdf_nest_rows *rows, void *totals)
{
    size_t depth = step->order == MDF_NEST_IN_DEPTHS ? MDF_NEST_DEPTH : 0;

    switch (step->operand_dtype) {
    case MDF_DTYPE_FLOAT32:
        float32_sum_terms(rows, depth, totals);
        break;
    case MDF_DTYPE_FLOAT64:
        float64_sum_terms(rows, depth, totals);
        break;
    case MDF_DTYPE_INT32:
        int32_sum_terms(rows, depth, totals);
        break;
    default: /* the last of the types that are folded */
        int64_sum_terms(rows, depth, totals);
        break;
    }
}

/* Indices as int32. */
static void find_narrow_places(const struct mdf_nest_step *step, const struct mdf_nest_rows *rows, int32_t *places)
{
    size_t row_bytes = rows->n_row * mdf_dtype_size((mdf_dtype)step->operand_dtype), i;
    int64_t place;

    for (i = 0; i < rows->n; i++) {
        folds_of((mdf_dtype)step->operand_dtype)[step->fold](1, rows->n_row, 1, (const char *)rows->elements + i * row_bytes,
                                                             &place);
        places[i] = (int32_t)place;
    }
}

void mdf_nest_fold_rows(const struct mdf_nest_step *step, const struct mdf_nest_rows *rows, void *totals)
{
    size_t size = mdf_dtype_size((mdf_dtype)step->operand_dtype), i;

    if (step->fold >= MDF_NEST_FIRST_MAXIMUM && step->dtype == MDF_DTYPE_INT32) {
        find_narrow_places(step, rows, totals);
        return;
    }
    if (step->has_start || step->is_fused || step->order == MDF_NEST_IN_DEPTHS) {
        sum_terms(step, rows, totals);
        return;
    }
    if (step->order == MDF_NEST_IN_LANES) {
        folds_of((mdf_dtype)step->operand_dtype)[step->fold](rows->n, rows->n_row, step->lanes, rows->elements, totals);
        return;
    }
    for (i = 0; i < rows->n; i++) {
        const char *row = (const char *)rows->elements + i * rows->n_row * size;
        char *total = (char *)totals + i * size;

        if (step->order == MDF_NEST_WITH_REST) {
            fold_with_rest(step, rows->n_row, row, total);
        } else {
            fold_by_halves(step, rows->n_row, row, total);
        }
    }
}

/* ------------------------------------------------------------------ what a nest touches */

static bool touches(const struct mdf_lowered_nest *nest, enum mdf_nest_kind kind, mdf_lowered_id id)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == kind && nest->steps[i].view.id == id) {
            return true;
        }
    }
    return false;
}

bool mdf_nest_is_folded(const struct mdf_lowered_nest *nest, size_t axis)
{
    size_t i;

    for (i = 0; i < nest->n_steps && !mdf_nest_folds_axis(nest, i, axis); i++) {
    }
    return i < nest->n_steps;
}

size_t mdf_nest_totals_of_few(const struct mdf_nest_step *fold, size_t n)
{
    switch ((enum mdf_nest_order)fold->order) {
    case MDF_NEST_IN_LANES:
    case MDF_NEST_IN_DEPTHS:
    case MDF_NEST_IN_BLOCKS:
        return fold->lanes;
    case MDF_NEST_PAIRWISE:
        return n < 8 ? 1 : 0;
    case MDF_NEST_WITH_REST:
        return 1;
    case N_MDF_NEST_ORDERS:
        break;
    }
    return 0;
}

void mdf_nest_add_operands(const struct mdf_nest_step *step, struct mdf_nest_set *set)
{
    for (size_t k = 0; k < step->n_in; k++) {
        mdf_nest_set_add(set, step->in[k]);
    }
    if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
        mdf_nest_set_add(set, step->view.at);
    }
}

bool mdf_nest_reads_any(const struct mdf_nest_step *step, const struct mdf_nest_set *set)
{
    struct mdf_nest_set operands = {{0}};
    uint64_t common = 0;

    mdf_nest_add_operands(step, &operands);
    for (size_t i = 0; i < sizeof set->words / sizeof *set->words; i++) {
        common |= operands.words[i] & set->words[i];
    }
    return common != 0;
}

uint8_t mdf_nest_start(const struct mdf_lowered_nest *nest, size_t i)
{
    for (size_t k = i + 1; k < nest->n_steps; k++) {
        if (nest->steps[k].has_start && nest->steps[k].in[0] == i) {
            return nest->steps[k].in[1];
        }
    }
    return MDF_NEST_NONE;
}

static bool was_float32(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST && step->operand_dtype == MDF_DTYPE_FLOAT32 &&
           step->dtype == MDF_DTYPE_FLOAT64;
}

static bool goes_along_axes(const struct mdf_nest_view *view)
{
    size_t axis;

    for (axis = 0; axis < MDF_NEST_MOST_AXES && view->strides[axis] == 0; axis++) {
    }
    return axis < MDF_NEST_MOST_AXES;
}

bool mdf_nest_loads_its_index(const struct mdf_lowered *lowered, const struct mdf_nest_step *step)
{
    const struct mdf_nest_view *view = &step->view;
    const int64_t *numbers = NULL;
    int64_t i;

    if (step->kind != MDF_NEST_LOAD || step->dtype != MDF_DTYPE_INT64 || view->at == MDF_NEST_NONE || view->first != 0 ||
        view->at_stride != 1 || lowered->values[view->id].place != MDF_LOWERED_CONSTANT || goes_along_axes(view)) {
        return false;
    }
    numbers = lowered->values[view->id].form.data;
    for (i = 0; i < view->at_limit && numbers[i] == i; i++) {
    }
    return i == view->at_limit;
}

bool mdf_nest_is_exact_product(const struct mdf_lowered_nest *nest, size_t i)
{
    const struct mdf_nest_step *step = &nest->steps[i];

    return step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_MULTIPLY && was_float32(&nest->steps[step->in[0]]) &&
           was_float32(&nest->steps[step->in[1]]);
}

enum { FEWEST_IN_PAIRS = 16 }; /* lanes */

/* Whether a step stands along the innermost axis only to be taken by one fold. */
static bool is_simple_along(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    return step->level < nest->n_axes || (step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE) ||
           (step->kind == MDF_NEST_ELEMENT && step->code != MDF_LOWERED_ELEMENTS && step->code != MDF_LOWERED_DIVIDE_NONZERO);
}

bool mdf_nest_is_in_pairs(const struct mdf_lowered_nest *nest, size_t i)
{
    const struct mdf_nest_step *fold = &nest->steps[i];
    size_t n;

    if (fold->kind != MDF_NEST_FOLD || fold->fold != MDF_NEST_SUM || mdf_dtype_kind((mdf_dtype)fold->dtype) != 'f' ||
        fold->has_start || fold->is_fused || fold->level == 0 || fold->level + 1u != nest->n_axes || nest->is_open ||
        nest->steps[fold->in[0]].level != nest->n_axes || fold->lanes < FEWEST_IN_PAIRS) {
        return false;
    }
    n = nest->extents[fold->level];
    for (size_t k = 0; k < nest->n_steps; k++) {
        if (!is_simple_along(nest, &nest->steps[k]) || (k != i && mdf_nest_folds_axis(nest, k, fold->level))) {
            return false;
        }
    }
    return n > 8 && n <= MDF_NEST_LONGEST_IN_PAIRS &&
           (fold->order == MDF_NEST_IN_LANES || (fold->order == MDF_NEST_WITH_REST && n >= fold->lanes));
}

size_t mdf_nest_total_in_pairs(size_t k, size_t n_totals)
{
    size_t number = 0;

    for (; n_totals > 1; n_totals /= 2, k /= 2) {
        number = number * 2 + k % 2;
    }
    return number;
}

bool mdf_nest_reads(const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    return touches(nest, MDF_NEST_LOAD, id);
}

bool mdf_nest_stores(const struct mdf_lowered_nest *nest, mdf_lowered_id id)
{
    return touches(nest, MDF_NEST_STORE, id);
}
