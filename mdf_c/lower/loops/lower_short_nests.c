/* lower_short_nests.c - a nest of a few points as ops on numbers, one for each point: loads and stores of short arrays
 * (short_arrays.h) are no ops at all, folds are the additions and choices that they say, in their order. */
#include "functions/elements/element.h"
#include "mdf_c/lower/loops/short_arrays.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <math.h>
#include <string.h>

enum { MOST_POINTS = 16, MOST_WRITTEN = 96 };

struct writing {
    struct short_arrays *arrays;
    const struct mdf_lowered_nest *nest;
    const struct mdf_nest_step *step;       /* that is written */
    mdf_lowered_id (*numbers)[MOST_POINTS]; /* by step, and point of its level */
};

/* ------------------------------------------------------------------ which nests */

static bool may_write_fold(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold)
{
    size_t n = mdf_nest_count(nest, fold->level, nest->steps[fold->in[0]].level), n_totals = mdf_nest_totals_of_few(fold, n);

    return !fold->is_fused && n > 0 && (n_totals == 1 || (n_totals >= n && !fold->has_start)) &&
           (fold->fold == MDF_NEST_SUM || fold->fold == MDF_NEST_PRODUCT ||
            ((fold->fold == MDF_NEST_MAXIMUM || fold->fold == MDF_NEST_MINIMUM) &&
             mdf_dtype_kind((mdf_dtype)fold->dtype) == 'f'));
}

/* Whether a function of elements takes no longer than an operation or two, as it is written in C; else it is called for all
 * points at once. */
static bool is_cheap(const struct lowering *lowering, const struct mdf_nest_step *step)
{
    const struct mdf_element *element = step->operator!= NULL ? mdf_element_of(step->operator, step->settings) : NULL;

    return lowering->is_for_source && element != NULL &&
           mdf_element_operations[element->id].loops[step->operand_dtype] == step->loop &&
           mdf_element_operations[element->id].cost_ns == 0;
}

static bool may_write_step(const struct lowering *lowering, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    switch ((enum mdf_nest_kind)step->kind) {
    case MDF_NEST_LOAD:
        return lowering_casts((mdf_dtype)step->dtype) && lowering->lowered->values[step->view.id].open_axes == 0;
    case MDF_NEST_ELEMENT:
        return lowering_casts((mdf_dtype)step->dtype) && lowering_casts((mdf_dtype)step->operand_dtype) &&
               (step->code != MDF_LOWERED_ELEMENTS || mdf_nest_count(nest, 0, step->level) == 1 || is_cheap(lowering, step));
    case MDF_NEST_FOLD:
        return lowering_casts((mdf_dtype)step->dtype) && may_write_fold(nest, step);
    case MDF_NEST_STORE:
        return lowering_casts((mdf_dtype)step->dtype) && lowering->lowered->values[step->view.id].form.length <= SHORT_ARRAY_MOST;
    }
    return false;
}

bool short_nest_may_be_written(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    size_t n = mdf_nest_count(nest, 0, nest->n_axes), n_written = 0, i;

    for (i = 0; n > 0 && n <= MOST_POINTS && !nest->is_open && i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (!may_write_step(lowering, nest, step)) {
            return false;
        }
        n_written += mdf_nest_count(nest, 0, mdf_nest_deepest(nest, step));
    }
    return i == nest->n_steps && n_written <= MOST_WRITTEN;
}

/* ------------------------------------------------------------------ ops */

/* The number that a register is at a point of an inner level. */
static mdf_lowered_id number_at(const struct writing *writing, size_t i, size_t level, size_t point)
{
    return writing->numbers[i][point / mdf_nest_count(writing->nest, writing->nest->steps[i].level, level)];
}

static mdf_lowered_id add_element(const struct writing *writing, struct mdf_lowered_op op, mdf_dtype result)
{
    op.out = short_number(writing->arrays, MDF_LOWERED_RESULT, result);
    op.origin = writing->step->origin;
    return op.out != MDF_LOWERED_NONE && short_add_op(writing->arrays, &op) ? op.out : MDF_LOWERED_NONE;
}

static mdf_lowered_id write_element(const struct writing *writing, size_t point)
{
    const struct mdf_nest_step *step = writing->step;
    struct mdf_lowered_op op = draft_op_of(step);

    for (size_t i = 0; i < step->n_in; i++) {
        op.in[i] = number_at(writing, step->in[i], step->level, point);
    }
    return add_element(writing, op, (mdf_dtype)step->dtype);
}

/* ------------------------------------------------------------------ loads and stores */

/* Where a view leads to at a point of its level. */
static int64_t place_of(const struct writing *writing, size_t point)
{
    int64_t place = writing->step->view.first;

    for (size_t axis = writing->step->level; axis-- > 0; point /= writing->nest->extents[axis]) {
        place += writing->step->view.strides[axis] * (int64_t)(point % writing->nest->extents[axis]);
    }
    return place;
}

static mdf_lowered_id constant_element(const struct writing *writing, const struct mdf_lowered_value *value, int64_t place)
{
    mdf_dtype dtype = (mdf_dtype)value->form.dtype;
    struct mdf_value constant = {0};

    mdf_value_borrow_tensor(writing->arrays->lowering->memory, &constant, dtype, MDF_STRENGTH_TYPED, 0, NULL,
                            (const char *)value->form.data + (size_t)place * mdf_dtype_size(dtype));
    return lowering_add_constant(writing->arrays->lowering, &constant, false);
}

/* A number from memory; of a step that loads the same for several points the one that is there. */
static mdf_lowered_id load_from_memory(const struct writing *writing, size_t point, int64_t place)
{
    size_t i = (size_t)(writing->step - writing->nest->steps), earlier;
    struct mdf_nest_view from = writing->step->view, to = {.at = MDF_NEST_NONE};
    mdf_lowered_id index = MDF_LOWERED_NONE;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .origin = writing->step->origin};

    if (from.at != MDF_NEST_NONE) {
        index = number_at(writing, from.at, writing->step->level, point);
    }
    for (earlier = 0; earlier < point; earlier++) {
        if (place_of(writing, earlier) == place &&
            (from.at == MDF_NEST_NONE || number_at(writing, from.at, writing->step->level, earlier) == index)) {
            return writing->numbers[i][earlier];
        }
    }
    from.first = place;
    memset(from.strides, 0, sizeof from.strides);
    to.id = short_number(writing->arrays, MDF_LOWERED_RESULT, (mdf_dtype)writing->step->dtype);
    op.of.nest = to.id != MDF_LOWERED_NONE ? short_move(writing->arrays->lowering, &from, &to, index) : NULL;
    return op.of.nest != NULL && short_add_op(writing->arrays, &op) ? to.id : MDF_LOWERED_NONE;
}

static mdf_lowered_id write_load(const struct writing *writing, size_t point)
{
    const struct mdf_nest_view *view = &writing->step->view;
    const struct mdf_lowered_value *value = &writing->arrays->lowering->lowered->values[view->id];
    const struct short_array *array = short_array_of(writing->arrays, view->id);
    int64_t place = place_of(writing, point);

    if (array != NULL && view->at == MDF_NEST_NONE) {
        return array->elements[place];
    }
    if (value->is_scalar && view->at == MDF_NEST_NONE) {
        return view->id;
    }
    return value->place == MDF_LOWERED_CONSTANT && view->at == MDF_NEST_NONE ? constant_element(writing, value, place)
                                                                             : load_from_memory(writing, point, place);
}

static bool write_store(const struct writing *writing, size_t point)
{
    const struct mdf_nest_step *step = writing->step;
    struct short_array *array = short_array_of(writing->arrays, step->view.id);
    mdf_lowered_id number = number_at(writing, step->in[0], step->level, point);
    struct mdf_nest_view from = {.id = number, .at = MDF_NEST_NONE}, to = {.id = step->view.id, .at = MDF_NEST_NONE};
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .origin = step->origin};

    to.first = place_of(writing, point);
    if (writing->arrays->lowering->lowered->values[step->view.id].is_scalar) {
        op = (struct mdf_lowered_op){.code = MDF_LOWERED_COPY, .dtype = step->dtype, .n_in = 1, .in = {number}};
        op.out = step->view.id;
        op.origin = step->origin;
        return short_add_op(writing->arrays, &op);
    }
    if (array != NULL) {
        array->elements[to.first] = number;
    }
    if (array != NULL && !array->is_stored) {
        return true;
    }
    op.of.nest = short_move(writing->arrays->lowering, &from, &to, MDF_LOWERED_NONE);
    return op.of.nest != NULL && short_add_op(writing->arrays, &op);
}

/* ------------------------------------------------------------------ folds */

static mdf_lowered_id add_zero(const struct writing *writing)
{
    struct mdf_value constant = {0};
    uint64_t element = 0; /* of any type */

    mdf_value_borrow_tensor(writing->arrays->lowering->memory, &constant, (mdf_dtype)writing->step->dtype, MDF_STRENGTH_TYPED, 0,
                            NULL, &element);
    return lowering_add_constant(writing->arrays->lowering, &constant, false);
}

static mdf_lowered_id two(const struct writing *writing, enum mdf_lowered_code code, mdf_dtype dtype, mdf_lowered_id a,
                          mdf_lowered_id b, mdf_dtype result)
{
    struct mdf_lowered_op op = {.code = (uint8_t)code, .dtype = (uint8_t)dtype, .n_in = 2, .in = {a, b}};

    op.loop = lowering_loop_of(code, dtype);
    return add_element(writing, op, result);
}

/* x > t || x != x ? x : t, or with x < t. */
static mdf_lowered_id join_extreme(const struct writing *writing, mdf_lowered_id total, mdf_lowered_id next)
{
    mdf_dtype dtype = (mdf_dtype)writing->step->dtype;
    bool is_largest = writing->step->fold == MDF_NEST_MAXIMUM;
    mdf_lowered_id beyond = two(writing, is_largest ? MDF_LOWERED_GREATER : MDF_LOWERED_LESS, dtype, next, total, MDF_DTYPE_BOOL),
                   is_nan = two(writing, MDF_LOWERED_NOT_EQUAL, dtype, next, next, MDF_DTYPE_BOOL),
                   takes = two(writing, MDF_LOWERED_OR, MDF_DTYPE_BOOL, beyond, is_nan, MDF_DTYPE_BOOL);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = writing->step->dtype, .n_in = 3, .in = {takes, next, total}};

    op.loop = lowering_loop_of(MDF_LOWERED_SELECT, dtype);
    return add_element(writing, op, dtype);
}

static mdf_lowered_id join(const struct writing *writing, mdf_lowered_id total, mdf_lowered_id next)
{
    mdf_dtype dtype = (mdf_dtype)writing->step->dtype;

    if (writing->step->fold != MDF_NEST_SUM && writing->step->fold != MDF_NEST_PRODUCT) {
        return join_extreme(writing, total, next);
    }
    return two(writing, writing->step->fold == MDF_NEST_SUM ? MDF_LOWERED_ADD : MDF_LOWERED_MULTIPLY, dtype, total, next, dtype);
}

/* The first term with what the fold begins with: of a sum of reals 0, which makes 0 of -0, or a register. */
static mdf_lowered_id begin(const struct writing *writing, mdf_lowered_id first, size_t point)
{
    const struct mdf_nest_step *step = writing->step;

    if (step->has_start) {
        return join(writing, number_at(writing, step->in[1], step->level, point), first);
    }
    return step->fold == MDF_NEST_SUM && mdf_dtype_kind((mdf_dtype)step->dtype) == 'f' ? join(writing, add_zero(writing), first)
                                                                                       : first;
}

static mdf_lowered_id write_fold(const struct writing *writing, size_t point)
{
    const struct mdf_nest_step *step = writing->step;
    size_t n = mdf_nest_count(writing->nest, step->level, writing->nest->steps[step->in[0]].level), half, i;
    mdf_lowered_id totals[MOST_POINTS];

    memcpy(totals, &writing->numbers[step->in[0]][point * n], n * sizeof *totals);
    totals[0] = begin(writing, totals[0], point);
    if (mdf_nest_totals_of_few(step, n) == 1) {
        for (i = 1; i < n; i++) {
            totals[0] = join(writing, totals[0], totals[i]);
        }
        return totals[0];
    }
    for (half = mdf_nest_totals_of_few(step, n) / 2; half > 0; half /= 2) {
        for (i = 0; i + half < n; i++) {
            totals[i] = join(writing, totals[i], totals[i + half]);
        }
        n = n < half ? n : half;
    }
    return totals[0];
}

/* ------------------------------------------------------------------ nests */

static bool write_step(const struct writing *writing, size_t i)
{
    size_t n = mdf_nest_count(writing->nest, 0, writing->step->level), point;

    for (point = 0; point < n; point++) {
        mdf_lowered_id number = MDF_LOWERED_NONE;

        switch ((enum mdf_nest_kind)writing->step->kind) {
        case MDF_NEST_LOAD:
            number = write_load(writing, point);
            break;
        case MDF_NEST_ELEMENT:
            number = write_element(writing, point);
            break;
        case MDF_NEST_FOLD:
            number = write_fold(writing, point);
            break;
        case MDF_NEST_STORE:
            if (!write_store(writing, point)) {
                return false;
            }
            break;
        }
        if (number == MDF_LOWERED_NONE && writing->step->kind != MDF_NEST_STORE) {
            return false;
        }
        writing->numbers[i][point] = number;
    }
    return true;
}

bool short_nest_write(struct short_arrays *arrays, const struct mdf_lowered_nest *nest)
{
    struct writing writing = {.arrays = arrays, .nest = nest};

    writing.numbers = mdf_arena_array(&arrays->lowering->scratch, nest->n_steps + 1, sizeof *writing.numbers);
    if (writing.numbers == NULL) {
        return lowering_out_of_memory(arrays->lowering);
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        writing.step = &nest->steps[i];
        if (!write_step(&writing, i)) {
            return lowering_has_failed(arrays->lowering) ? false : lowering_out_of_memory(arrays->lowering);
        }
    }
    return true;
}
