/* lower_absorb.c - see lower_fuse.h. An array of as many items as a loop has runs is one that the loop could stack where each
 * item of it is computed from items of what the loop stacks, of other such arrays, and of what is the same for all items. */
#include "mdf_c/lower/loops/lower_fuse.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

void *lowering_join_arrays(struct mdf_arena *arena, const void *first, size_t n_first, const void *second, size_t n_second,
                           size_t size)
{
    char *both = mdf_arena_array(arena, n_first + n_second + 1, size);

    if (both != NULL && n_first > 0) {
        memcpy(both, first, n_first * size);
    }
    if (both != NULL && n_second > 0) {
        memcpy(both + n_first * size, second, n_second * size);
    }
    return both;
}

static struct mdf_lowered_loop *loop_of(const struct absorption *absorption)
{
    return absorption->region->ops[absorption->first].of.loop;
}

/* The elements of an item; 0: the array has not as many items as the loop runs, along its first axis. */
static size_t item_length(const struct absorption *absorption, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &absorption->lowering->lowered->values[id];
    size_t n = loop_of(absorption)->n_runs;

    return n != SIZE_MAX && value->form.kind == MDF_KIND_TENSOR && !value->is_scalar && value->open_axes == 0 &&
                   value->form.rank > 0 && mdf_value_shape(&value->form)[0] == (int64_t)n
               ? value->form.length / n
               : 0;
}

/* A value of the form of an item. */
static mdf_lowered_id add_item(struct absorption *absorption, mdf_lowered_id of, enum mdf_lowered_place place)
{
    struct lowering *lowering = absorption->lowering;
    const struct mdf_value *whole = lowering_example(lowering, of);
    struct mdf_value item = {0};
    mdf_lowered_id id;

    if (absorption->n_new == MOST_ABSORBED || whole->data == NULL) {
        return MDF_LOWERED_NONE;
    }
    absorption->n_new++;
    mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)whole->dtype, (enum mdf_strength)whole->strength, whole->rank - 1,
                            mdf_value_shape(whole) + 1, whole->data);
    id = lowering_add_value(lowering, place, &item);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].depth = absorption->region->depth + 1;
    }
    return id;
}

static const struct mdf_lowered_rows *find_rows(const struct mdf_lowered_rows *rows, size_t n, mdf_lowered_id source,
                                                bool is_reversed)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].source == source && rows[i].is_reversed == is_reversed) {
            return &rows[i];
        }
    }
    return NULL;
}

/* An item of an array that is there before the loop. */
static mdf_lowered_id row_of(struct absorption *absorption, mdf_lowered_id id, bool is_reversed)
{
    const struct mdf_lowered_loop *loop = loop_of(absorption);
    const struct mdf_lowered_rows *rows = find_rows(loop->rows, loop->n_rows, id, is_reversed);

    rows = rows != NULL ? rows : find_rows(absorption->rows, absorption->n_rows, id, is_reversed);
    if (rows == NULL && absorption->n_rows < MOST_ABSORBED && item_length(absorption, id) > 0) {
        mdf_lowered_id parameter = add_item(absorption, id, MDF_LOWERED_PARAMETER);

        if (parameter == MDF_LOWERED_NONE) {
            return parameter;
        }
        absorption->rows[absorption->n_rows] = (struct mdf_lowered_rows){id, parameter, is_reversed};
        rows = &absorption->rows[absorption->n_rows++];
    }
    return rows == NULL ? MDF_LOWERED_NONE : rows->parameter;
}

static const struct mdf_lowered_stack *find_stack(const struct mdf_lowered_stack *stacks, size_t n, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < n && stacks[i].stack != id; i++) {
    }
    return i < n ? &stacks[i] : NULL;
}

/* What an op makes of items, and the stack of it. */
static mdf_lowered_id make_item(struct absorption *absorption, mdf_lowered_id of, bool is_reversed)
{
    mdf_lowered_id item = absorption->n_stacks < MOST_ABSORBED ? add_item(absorption, of, MDF_LOWERED_RESULT) : MDF_LOWERED_NONE;
    const struct mdf_value *form = &absorption->lowering->lowered->values[of].form;

    if (item != MDF_LOWERED_NONE) {
        absorption->stacks[absorption->n_stacks++] =
            (struct mdf_lowered_stack){.item = item,
                                       .stack = of,
                                       .is_reversed = is_reversed,
                                       .item_bytes = item_length(absorption, of) * mdf_dtype_size((mdf_dtype)form->dtype)};
    }
    return item;
}

static bool add_op(struct absorption *absorption, const struct mdf_lowered_op *op, size_t at)
{
    if (absorption->n_ops == MOST_ABSORBED) {
        return false;
    }
    absorption->ops[absorption->n_ops] = *op;
    absorption->absorbed[absorption->n_ops++] = at;
    return true;
}

/* ------------------------------------------------------------------ ops */

/* Whether a function is called that takes less for many elements at once than for the few of each item. */
static bool calls_for_few(struct absorption *absorption, unsigned code, size_t n)
{
    bool calls = code == MDF_LOWERED_ELEMENTS && n < FEW_ELEMENTS && !absorption->lowering->is_for_source;

    absorption->is_short = absorption->is_short || calls;
    return calls;
}

static bool absorb_element(struct absorption *absorption, size_t at, bool is_reversed)
{
    struct mdf_lowered_op op = absorption->region->ops[at];
    const struct mdf_lowered_value *values = absorption->lowering->lowered->values;

    if (op.code > MDF_LOWERED_COPY || item_length(absorption, op.out) == 0 ||
        calls_for_few(absorption, op.code, item_length(absorption, op.out))) {
        return false;
    }
    for (size_t i = 0; i < op.n_in; i++) {
        values = absorption->lowering->lowered->values;
        if (values[op.in[i]].is_scalar && !absorption->follows[op.in[i]]) {
            continue;
        }
        if (values[op.in[i]].form.length != values[op.out].form.length) {
            return false;
        }
        op.in[i] = absorption_item(absorption, op.in[i], is_reversed);
        if (op.in[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    op.out = make_item(absorption, op.out, is_reversed);
    if (op.out == MDF_LOWERED_NONE) {
        return false;
    }
    absorption->lowering->facts[op.out].is_copied = op.code == MDF_LOWERED_COPY;
    return add_op(absorption, &op, at);
}

/* The axis along which a step of a nest goes from item to item of an array, and not past one along the others; SIZE_MAX: none. */
static size_t find_axis(const struct absorption *absorption, const struct mdf_lowered_nest *nest,
                        const struct mdf_nest_view *view)
{
    size_t n = item_length(absorption, view->id), found = SIZE_MAX, axis;
    int64_t low = view->first, high = view->first;

    for (axis = 0; axis < nest->n_axes; axis++) {
        int64_t end = ((int64_t)nest->extents[axis] - 1) * view->strides[axis];

        if (nest->extents[axis] == loop_of(absorption)->n_runs && view->strides[axis] == (int64_t)n && found == SIZE_MAX) {
            found = axis;
        } else {
            *(end < 0 ? &low : &high) += end;
        }
    }
    return n > 0 && view->at == MDF_NEST_NONE && low >= 0 && high < (int64_t)n ? found : SIZE_MAX;
}

/* A load of what is there before the loop, the same for all items, stays as it is. */
static bool is_common(const struct absorption *absorption, const struct mdf_nest_step *step, size_t axis)
{
    return step->kind == MDF_NEST_LOAD && !absorption->follows[step->view.id] && step->view.strides[axis] == 0;
}

static void drop_axis(struct mdf_nest_step *step, size_t axis, size_t n_axes)
{
    step->level = (uint8_t)(step->level - (step->level > axis));
    if (step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE) {
        memmove(step->view.strides + axis, step->view.strides + axis + 1, (n_axes - axis - 1) * sizeof *step->view.strides);
        step->view.strides[n_axes - 1] = 0;
    }
}

static bool absorb_step(struct absorption *absorption, const struct mdf_lowered_nest *nest, struct mdf_nest_step *step,
                        size_t axis, bool is_reversed)
{
    bool is_load = step->kind == MDF_NEST_LOAD;

    if (step->kind == MDF_NEST_ELEMENT &&
        calls_for_few(absorption, step->code, mdf_nest_count(nest, 0, nest->n_axes) / nest->extents[axis])) {
        return false;
    }
    if (step->kind == MDF_NEST_FOLD && step->level <= axis && nest->steps[step->in[0]].level > axis) {
        return false;
    }
    if ((is_load || step->kind == MDF_NEST_STORE) && !is_common(absorption, step, axis)) {
        const struct mdf_value *form = &absorption->lowering->lowered->values[step->view.id].form;

        if (find_axis(absorption, nest, &step->view) != axis ||
            (!is_load && mdf_nest_count(nest, 0, step->level) != form->length)) {
            return false;
        }
        step->view.id =
            is_load ? absorption_item(absorption, step->view.id, is_reversed) : make_item(absorption, step->view.id, is_reversed);
        if (step->view.id == MDF_LOWERED_NONE) {
            return false;
        }
        absorption->lowering->facts[step->view.id].is_nested |= !is_load;
    }
    drop_axis(step, axis, nest->n_axes);
    return true;
}

static bool absorb_nest(struct absorption *absorption, size_t at, bool is_reversed)
{
    struct mdf_lowered_op op = absorption->region->ops[at];
    const struct mdf_lowered_nest *nest = op.of.nest;
    struct mdf_arena *arena = &absorption->lowering->lowered->arena;
    struct mdf_lowered_nest *inner = mdf_arena_allocate(arena, sizeof *inner);
    size_t axis = SIZE_MAX;

    for (size_t i = 0; i < nest->n_steps; i++) {
        axis = nest->steps[i].kind == MDF_NEST_STORE ? find_axis(absorption, nest, &nest->steps[i].view) : axis;
    }
    if (axis == SIZE_MAX || nest->is_open || inner == NULL) {
        return false;
    }
    *inner = *nest;
    inner->steps = lowering_join_arrays(arena, nest->steps, nest->n_steps, NULL, 0, sizeof *nest->steps);
    if (inner->steps == NULL) {
        return false;
    }
    memmove(inner->extents + axis, inner->extents + axis + 1, (nest->n_axes - axis - 1) * sizeof *inner->extents);
    inner->n_axes--;
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (!absorb_step(absorption, nest, &inner->steps[i], axis, is_reversed)) {
            return false;
        }
    }
    op.of.nest = inner;
    return add_op(absorption, &op, at);
}

/* ------------------------------------------------------------------ all of it */

mdf_lowered_id absorption_item(struct absorption *absorption, mdf_lowered_id id, bool is_reversed)
{
    const struct mdf_lowered_loop *loop = loop_of(absorption);
    const struct mdf_lowered_region made = {absorption->region->ops, absorption->region->n_ops};
    const struct mdf_lowered_stack *stack = find_stack(loop->stacks, loop->n_stacks, id);
    size_t maker;
    bool done = false;

    stack = stack != NULL ? stack : find_stack(absorption->stacks, absorption->n_stacks, id);
    if (stack != NULL) {
        return stack->is_reversed == is_reversed ? stack->item : MDF_LOWERED_NONE;
    }
    if (id >= absorption->n_values || !absorption->follows[id]) {
        return row_of(absorption, id, is_reversed);
    }
    maker = mdf_lowered_find_maker(&made, id);
    if (maker == SIZE_MAX || maker <= absorption->first || maker >= absorption->second) {
        return MDF_LOWERED_NONE;
    }
    switch ((enum mdf_lowered_code)made.ops[maker].code) {
    case MDF_LOWERED_NEST:
        done = absorb_nest(absorption, maker, is_reversed);
        break;
    case MDF_LOWERED_CALL:
    case MDF_LOWERED_IF:
    case MDF_LOWERED_LOOP:
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        done = absorb_element(absorption, maker, is_reversed);
        break;
    }
    stack = done ? find_stack(absorption->stacks, absorption->n_stacks, id) : NULL;
    return stack == NULL ? MDF_LOWERED_NONE : stack->item;
}

bool absorption_has(const struct absorption *absorption, size_t op)
{
    size_t i;

    for (i = 0; i < absorption->n_ops && absorption->absorbed[i] != op; i++) {
    }
    return i < absorption->n_ops;
}

bool absorption_commit(struct absorption *absorption)
{
    struct lowering *lowering = absorption->lowering;
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_loop *loop = loop_of(absorption);

    loop->rows = lowering_join_arrays(arena, loop->rows, loop->n_rows, absorption->rows, absorption->n_rows, sizeof *loop->rows);
    loop->stacks =
        lowering_join_arrays(arena, loop->stacks, loop->n_stacks, absorption->stacks, absorption->n_stacks, sizeof *loop->stacks);
    loop->body.ops =
        lowering_join_arrays(arena, loop->body.ops, loop->body.n_ops, absorption->ops, absorption->n_ops, sizeof *loop->body.ops);
    if (loop->rows == NULL || loop->stacks == NULL || loop->body.ops == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < absorption->n_stacks; i++) { /* the loop has their memory */
        lowering->facts[absorption->stacks[i].stack].is_nested = lowering->facts[absorption->stacks[i].stack].is_copied = false;
    }
    loop->n_rows += absorption->n_rows;
    loop->n_stacks += absorption->n_stacks;
    loop->body.n_ops += absorption->n_ops;
    return true;
}
