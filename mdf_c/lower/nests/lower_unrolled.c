/* lower_unrolled.c - for C source, and of rows that lie by columns (lower_columns.c): a sum of a few numbers for each element of
 * a longer row (distances of points, products of short rows) is written out as additions, in C source a product of them as
 * multiplications (the areas of boxes), the largest or the smallest of them as choices, so that vectors go along the longer one,
 * and no array of totals is kept. See lowering.h. */
#include "functions/elements/element.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum {
    MOST_TERMS = 16,            /* for C source, where rows lie by columns, and totals take turns */
    MOST_TERMS_OF_COLUMNS = 12, /* of a state that lies so */
    MOST_TERMS_OF_ROWS = 8,     /* for C source where vectors are made of several loads */
    FEWEST_ALONG = 16,          /* elements that vectors go along */
    MOST_STEPS = 144            /* of the nest that is made */
};

struct unrolling {
    struct lowering *lowering;
    const struct mdf_lowered_nest *nest;
    struct nest_draft *draft;
    size_t axis;                                        /* that is written out */
    uint8_t registers[MDF_NEST_MOST_STEPS][MOST_TERMS]; /* of each step, at each index of the axis; MDF_NEST_NONE: not yet */
    uint8_t along[MDF_NEST_MOST_STEPS];                 /* the same along the axis, for what is stored along it */
    const struct nest_draft *from;
};

/* What makes a total of the next term and of the total so far; NULL: none that is known. */
static const struct mdf_element *function_of(const struct mdf_nest_step *fold)
{
    switch ((enum mdf_nest_fold)fold->fold) {
    case MDF_NEST_SUM:
        return MDF_ELEMENT(add);
    case MDF_NEST_PRODUCT:
        return MDF_ELEMENT(multiply);
    case MDF_NEST_MAXIMUM:
        return MDF_ELEMENT(larger);
    case MDF_NEST_MINIMUM:
        return MDF_ELEMENT(smaller);
    case MDF_NEST_LARGEST:
    case MDF_NEST_SMALLEST:
    case MDF_NEST_FIRST_MAXIMUM:
    case MDF_NEST_FIRST_MINIMUM:
    case MDF_NEST_LAST_MAXIMUM:
    case MDF_NEST_LAST_MINIMUM:
    case N_MDF_NEST_FOLDS:
        break;
    }
    return NULL;
}

/* Whether a fold along the innermost axis can be written out: of reals; a product or an extreme in C only. */
static bool may_write_fold(const struct lowering *lowering, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold,
                           size_t axis)
{
    return (fold->fold == MDF_NEST_SUM || (lowering->is_for_source && function_of(fold) != NULL)) && !fold->has_start &&
           !fold->is_fused && fold->level == axis && nest->steps[fold->in[0]].level == axis + 1 &&
           mdf_dtype_kind((mdf_dtype)fold->dtype) == 'f' && mdf_nest_totals_of_few(fold, nest->extents[axis]) > 0;
}

/* Whether a fold goes along the innermost axis. */
static bool folds_innermost(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_FOLD && nest->steps[step->in[0]].level == nest->n_axes;
}

/* Whether there are enough indices for vectors along the axis around the innermost one; or, where that is folded too, around it.
 */
static bool is_long_around(const struct mdf_lowered_nest *nest)
{
    size_t axis = nest->n_axes - 1;

    for (size_t i = 0; i < nest->n_steps && nest->extents[axis - 1] < FEWEST_ALONG; i++) {
        if (axis > 1 && nest->extents[axis - 2] >= FEWEST_ALONG && nest->steps[i].kind == MDF_NEST_FOLD &&
            nest->steps[i].level == axis - 1 && nest->steps[nest->steps[i].in[0]].level == axis) {
            return true;
        }
    }
    return nest->extents[axis - 1] >= FEWEST_ALONG;
}

/* Whether anything is stored along the innermost axis. */
static bool stores_along(const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && (nest->steps[i].kind != MDF_NEST_STORE || nest->steps[i].level < nest->n_axes); i++) {
    }
    return i < nest->n_steps;
}

/* Whether a step along the innermost axis keeps its folds from being written out. What is stored along it stays as it is, for C
 * source, where what it is made of may be made again. */
static bool is_in_the_way(const struct lowering *lowering, const struct mdf_nest_step *step, bool stores)
{
    bool is_cheap = step->kind != MDF_NEST_ELEMENT || step->code == MDF_LOWERED_ADD || step->code == MDF_LOWERED_SUBTRACT ||
                    step->code == MDF_LOWERED_MULTIPLY || step->code == MDF_LOWERED_CAST;

    return draft_calls(step) || (stores && (!lowering->is_for_source || !is_cheap));
}

/* Whether the innermost axis is short, and nothing happens along it but loads, operations of the processor, such folds, and
 * stores of little. */
static bool may_unroll(const struct lowering *lowering, const struct mdf_lowered_nest *nest, size_t most_terms)
{
    size_t axis = nest->n_axes - 1, n_along = 0, n_folds = 0;
    bool stores = stores_along(nest);

    if (nest->n_axes < 2 || (nest->is_open && nest->open_axis == axis) || nest->extents[axis] > most_terms ||
        !is_long_around(nest)) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_along = step->level == nest->n_axes;

        if (step->kind == MDF_NEST_FOLD && (folds_innermost(nest, step) || !lowering->is_for_source)) {
            if (!may_write_fold(lowering, nest, step, axis)) {
                return false;
            }
            n_folds++;
        } else if (is_along && is_in_the_way(lowering, step, stores)) {
            return false;
        }
        n_along += is_along;
    }
    return n_folds > 0 && nest->n_steps + (n_along + n_folds) * nest->extents[axis] <= MOST_STEPS;
}

/* Whether a register is at another one at each index of the axis. */
static bool is_along(const struct unrolling *unrolling, size_t step)
{
    return unrolling->nest->steps[step].level > unrolling->axis;
}

static uint8_t write(struct unrolling *unrolling, size_t i, size_t k);

/* A step at index k of the axis. */
static uint8_t copy_step(struct unrolling *unrolling, size_t i, size_t k)
{
    struct draft_step step = unrolling->from->steps[i];

    for (size_t j = 0; j < step.step.n_in; j++) {
        step.step.in[j] = write(unrolling, step.step.in[j], k);
    }
    if (step.step.view.at != MDF_NEST_NONE) {
        step.step.view.at = write(unrolling, step.step.view.at, k);
    }
    if (is_along(unrolling, i)) {
        step.axes &= (uint8_t) ~(1u << unrolling->axis);
        step.step.view.first += step.step.view.strides[unrolling->axis] * (int64_t)k;
        step.step.view.strides[unrolling->axis] = 0;
    }
    return draft_add(unrolling->draft, &step);
}

/* A total and what is next, a term or another total: in this order for a sum or product, the next one first for an extreme, as
 * of two that are equal the first stays. */
static uint8_t join(struct unrolling *unrolling, const struct mdf_nest_step *fold, uint8_t total, uint8_t next)
{
    bool is_extreme = fold->fold != MDF_NEST_SUM && fold->fold != MDF_NEST_PRODUCT;
    const uint8_t in[] = {is_extreme ? next : total, is_extreme ? total : next};

    return draft_apply(unrolling->lowering, unrolling->draft, function_of(fold), in);
}

/* A term of a fold, at index k. */
static uint8_t term(struct unrolling *unrolling, const struct mdf_nest_step *fold, size_t k)
{
    return write(unrolling, fold->in[0], k);
}

/* Total number i before the totals are joined. The first of a sum begins with 0; the others with their terms: as 0 and -0 differ
 * in a sum of nothing but such only, the result has the same bits. Products begin with 1, which changes no term, extremes with
 * what no term is below or above. */
static uint8_t begin_total(struct unrolling *unrolling, const struct mdf_nest_step *fold, size_t i)
{
    uint8_t first = term(unrolling, fold, i); /* before the number: the order of steps is that of the calls here */

    return i > 0 || fold->fold != MDF_NEST_SUM
               ? first
               : join(unrolling, fold, draft_number(unrolling->lowering, unrolling->draft, (mdf_dtype)fold->dtype, 0.0), first);
}

/* The additions, or choices, each as soon as what it takes is there, so that little has to be kept. */
static uint8_t write_fold(struct unrolling *unrolling, const struct mdf_nest_step *fold)
{
    size_t n = unrolling->nest->extents[unrolling->axis], n_totals = mdf_nest_totals_of_few(fold, n), half, i;
    uint8_t totals[MOST_TERMS];
    bool is_first = true;

    if (n_totals == 1) {
        totals[0] = begin_total(unrolling, fold, 0);
        for (i = 1; i < n; i++) {
            totals[0] = join(unrolling, fold, totals[0], term(unrolling, fold, i));
        }
        return totals[0];
    }
    for (i = 0; n > n_totals && i < n; i++) {
        totals[i % n_totals] = i < n_totals ? begin_total(unrolling, fold, i)
                                            : join(unrolling, fold, totals[i % n_totals], term(unrolling, fold, i));
    }
    if (n > n_totals) {
        n = n_totals;
        is_first = false;
    }
    for (half = n_totals / 2; half > 0; half /= 2) {
        for (i = 0; i < half && i < n; i++) {
            totals[i] = is_first ? begin_total(unrolling, fold, i) : totals[i];
            if (i + half < n) {
                totals[i] = join(unrolling, fold, totals[i], is_first ? term(unrolling, fold, i + half) : totals[i + half]);
            }
        }
        is_first = false;
        n = n < half ? n : half;
    }
    return totals[0];
}

/* A step of the nest, at index k of the axis where it goes along it, with all that it needs, where that is not there yet. */
static uint8_t write(struct unrolling *unrolling, size_t i, size_t k)
{
    const struct mdf_nest_step *step = &unrolling->nest->steps[i];
    uint8_t *made = &unrolling->registers[i][is_along(unrolling, i) ? k : 0];

    if (*made == MDF_NEST_NONE && folds_innermost(unrolling->nest, step)) {
        *made = write_fold(unrolling, step);
        unrolling->draft->steps[*made].axes = unrolling->from->steps[i].axes;
    } else if (*made == MDF_NEST_NONE) {
        *made = copy_step(unrolling, i, k);
    }
    return *made;
}

/* A step along the axis as it is, with what it needs. */
static uint8_t write_along(struct unrolling *unrolling, size_t i)
{
    struct draft_step step = unrolling->from->steps[i];

    if (!is_along(unrolling, i)) {
        return write(unrolling, i, 0);
    }
    for (size_t j = 0; j < step.step.n_in && unrolling->along[i] == MDF_NEST_NONE; j++) {
        step.step.in[j] = write_along(unrolling, step.step.in[j]);
    }
    if (step.step.view.at != MDF_NEST_NONE && unrolling->along[i] == MDF_NEST_NONE) {
        step.step.view.at = write_along(unrolling, step.step.view.at);
    }
    unrolling->along[i] = unrolling->along[i] == MDF_NEST_NONE ? draft_add(unrolling->draft, &step) : unrolling->along[i];
    return unrolling->along[i];
}

static struct mdf_lowered_nest *unroll(struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    struct unrolling *unrolling = mdf_arena_allocate(&lowering->scratch, sizeof *unrolling);
    struct nest_draft *from = draft_new(lowering);

    if (unrolling == NULL || from == NULL || (unrolling->draft = draft_new(lowering)) == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    unrolling->lowering = lowering;
    unrolling->nest = nest;
    unrolling->axis = nest->n_axes - 1;
    draft_read(from, nest);
    unrolling->draft->n_axes = stores_along(nest) ? nest->n_axes : nest->n_axes - 1;
    unrolling->draft->is_open = from->is_open;
    unrolling->draft->open_axis = from->open_axis;
    unrolling->draft->takes_none = from->takes_none;
    memcpy(unrolling->draft->extents, from->extents, unrolling->draft->n_axes * sizeof *from->extents);
    unrolling->from = from;
    memset(unrolling->registers, MDF_NEST_NONE, sizeof unrolling->registers);
    memset(unrolling->along, MDF_NEST_NONE, sizeof unrolling->along);
    for (size_t i = 0; i < nest->n_steps && !from->has_failed; i++) {
        if (!is_along(unrolling, i)) {
            write(unrolling, i, 0);
        } else if (nest->steps[i].kind == MDF_NEST_STORE) {
            write_along(unrolling, i);
        }
    }
    return from->has_failed || unrolling->draft->has_failed ? NULL : draft_finish(lowering, unrolling->draft);
}

struct mdf_lowered_nest *lowering_unroll_columns(struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    return may_unroll(lowering, nest, MOST_TERMS_OF_COLUMNS) ? unroll(lowering, nest) : NULL;
}

/* Whether what a nest loads along its innermost axis lies side by side along the axis around it, and totals take turns: one total
 * for each index of that axis takes its terms a few at a time where they are (mdf_c/source/nests/source_nest_several.c). */
static bool takes_turns_by_columns(const struct mdf_lowered_nest *nest)
{
    bool takes_turns = false;

    for (size_t i = 0; i < nest->n_steps && nest->n_axes > 1; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        takes_turns = takes_turns || (step->kind == MDF_NEST_FOLD && step->lanes > 1);
        if (step->kind == MDF_NEST_LOAD && step->level == nest->n_axes && step->view.strides[nest->n_axes - 1] != 0 &&
            step->view.strides[nest->n_axes - 2] != 0 && step->view.strides[nest->n_axes - 2] != 1) {
            return false;
        }
    }
    return takes_turns;
}

static bool unroll_region(struct lowering *lowering, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;

        if (op->code == MDF_LOWERED_NEST &&
            may_unroll(lowering, op->of.nest, takes_turns_by_columns(op->of.nest) ? MOST_TERMS : MOST_TERMS_OF_ROWS)) {
            struct mdf_lowered_nest *nest = unroll(lowering, op->of.nest);

            op->of.nest = nest == NULL ? op->of.nest : nest;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!unroll_region(lowering, inner)) {
                return false;
            }
        }
    }
    return !lowering_has_failed(lowering);
}

bool lowering_unroll_sums(struct lowering *lowering)
{
    return !lowering->is_for_source || unroll_region(lowering, &lowering->lowered->region);
}
