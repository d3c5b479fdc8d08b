/* lower_repeat.c - instructions of the frame in a loop that the program itself does not have: steps, passes. See lowering.h.
 *
 * A slot that the body writes, and reads before it has written it, is a state; so is one that it does not always write. What the
 * body never writes is the same in every run. */
#include "mdf_c/lower/lowering.h"

#include "mdf_c/code/operands.h"

#include <string.h>

static bool mark(void *context, mdf_operand operand)
{
    bool *is_written = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        is_written[MDF_OPERAND_INDEX(operand)] = true;
    }
    return false;
}

void lowering_mark_written(const struct mdf_code *code, size_t first, size_t end, bool *is_written)
{
    for (size_t i = first; i < end; i++) {
        mdf_any_written(&code->instructions[i], code->calls, mark, is_written);
    }
}

static size_t count_written(const struct repetition *repetition)
{
    size_t n = 0;

    for (size_t i = 0; i < repetition->n_slots; i++) {
        n += repetition->is_written[i];
    }
    return n;
}

bool lowering_begin_repetition(struct lowering *lowering, struct scope *scope, struct repetition *repetition)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_loop *loop = mdf_arena_allocate(arena, sizeof *loop);
    size_t n_written = count_written(repetition);

    repetition->body = (struct scope){.code = scope->code, .room = scope->room, .outer = scope, .repetition = repetition};
    repetition->states = mdf_arena_array(&lowering->scratch, repetition->n_slots, sizeof *repetition->states);
    repetition->operands = mdf_arena_array(&lowering->scratch, n_written, sizeof *repetition->operands);
    repetition->loop = loop;
    if (loop == NULL || repetition->states == NULL || repetition->operands == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *loop = (struct mdf_lowered_loop){.n_runs = SIZE_MAX,
                                      .trip_count = MDF_LOWERED_NONE,
                                      .condition = MDF_LOWERED_NONE,
                                      .next_condition = MDF_LOWERED_NONE,
                                      .number = MDF_LOWERED_NONE,
                                      .is_going_on = MDF_LOWERED_NONE};
    loop->states = mdf_arena_array(arena, n_written, sizeof *loop->states);
    lowering_begin_region(lowering, &repetition->region, REGION_BODY);
    return loop->states != NULL || lowering_out_of_memory(lowering);
}

/* Makes a slot a state: the parameter; NONE on failure. */
static mdf_lowered_id add_state(struct lowering *lowering, struct repetition *repetition, mdf_operand slot)
{
    struct mdf_lowered_loop *loop = repetition->loop;
    struct mdf_lowered_state *state = &loop->states[loop->n_states];

    state->initial = lowering_begin(lowering, lowering_value_at(lowering, repetition->body.outer, slot),
                                    lowering_slot(lowering, repetition->body.outer, slot));
    if (state->initial == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    state->parameter = lowering_add_value(lowering, MDF_LOWERED_PARAMETER, lowering_example(lowering, state->initial));
    if (state->parameter == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    lowering->facts[state->parameter].depth = repetition->region.depth;
    state->next = MDF_LOWERED_NONE;
    repetition->operands[loop->n_states++] = slot;
    repetition->states[MDF_OPERAND_INDEX(slot)] = (uint32_t)loop->n_states;
    return state->parameter;
}

mdf_lowered_id lowering_meet_repeated(struct lowering *lowering, struct repetition *repetition, mdf_operand operand)
{
    size_t index = MDF_OPERAND_INDEX(operand);

    if (MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT || !repetition->is_written[index]) {
        return lowering_value_at(lowering, repetition->body.outer, operand);
    }
    if (repetition->states[index] != 0) {
        return repetition->loop->states[repetition->states[index] - 1].parameter;
    }
    return add_state(lowering, repetition, operand);
}

/* ------------------------------------------------------------------ behind the body */

/* The parameter of a state that is `id` after each run; NONE: there is none. */
static mdf_lowered_id state_that_becomes(const struct repetition *repetition, size_t n_states, const mdf_lowered_id *ids,
                                         mdf_lowered_id id)
{
    for (size_t i = 0; i < n_states; i++) {
        if (ids[i] == id) {
            return repetition->loop->states[i].parameter;
        }
    }
    return MDF_LOWERED_NONE;
}

/* What the last run left in a slot that is no state. */
static bool leave_slot(struct lowering *lowering, struct repetition *repetition, const struct binding *binding,
                       mdf_lowered_id *ids, bool is_left)
{
    mdf_lowered_id left = MDF_LOWERED_NONE;

    if (is_left && binding->id != MDF_LOWERED_NONE && lowering_is_either(lowering, binding->id)) {
        return lowering_fail(lowering, MDF_REFUSED_NOT_ONE_STRENGTH); /* a state is of one */
    }
    if (is_left && binding->id != MDF_LOWERED_NONE) {
        left = state_that_becomes(repetition, repetition->loop->n_states, ids, binding->id);
        if (left == MDF_LOWERED_NONE) {
            ids[repetition->loop->n_states] = binding->id;
            left = add_state(lowering, repetition, binding->operand);
        }
        if (left == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return lowering_bind_any_at(lowering, repetition->body.outer, binding->operand, left);
}

static bool leave_slots(struct lowering *lowering, struct repetition *repetition, const bool *leaves, mdf_lowered_id *ids)
{
    for (size_t i = 0; i < repetition->body.capacity; i++) {
        const struct binding *binding = &repetition->body.bindings[i];
        size_t index = MDF_OPERAND_INDEX(binding->operand);

        if (binding->operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(binding->operand) == MDF_OPERAND_SLOT && binding->is_written &&
            repetition->states[index] == 0 && !leave_slot(lowering, repetition, binding, ids, leaves != NULL && leaves[index])) {
            return false;
        }
    }
    return true;
}

static bool carry_states(struct lowering *lowering, struct repetition *repetition, const mdf_lowered_id *ids)
{
    for (size_t i = 0; i < repetition->loop->n_states; i++) {
        if (!lowering_carry(lowering, &repetition->region, repetition->loop, i, ids[i])) {
            return false;
        }
    }
    return true;
}

mdf_lowered_id lowering_stack_repeated(struct lowering *lowering, struct repetition *repetition, mdf_lowered_id item)
{
    static const int64_t none = 0;
    struct mdf_lowered_loop *loop = repetition->loop;
    const struct mdf_value *example;
    struct mdf_value whole = {0};
    mdf_lowered_id id;

    if (item == MDF_LOWERED_NONE) {
        return item;
    }
    example = lowering_example(lowering, item);
    mdf_value_borrow_tensor(lowering->memory, &whole, (mdf_dtype)example->dtype, MDF_STRENGTH_TYPED, 1, &none, NULL);
    loop->stacks = mdf_arena_allocate(&lowering->lowered->arena, sizeof *loop->stacks);
    id = loop->stacks == NULL ? MDF_LOWERED_NONE : lowering_add_value(lowering, MDF_LOWERED_RESULT, &whole);
    if (id == MDF_LOWERED_NONE) {
        lowering_out_of_memory(lowering);
        return id;
    }
    loop->stacks[0] =
        (struct mdf_lowered_stack){.item = item, .stack = id, .item_bytes = mdf_dtype_size((mdf_dtype)example->dtype)};
    loop->n_stacks = 1;
    lowering->facts[id].depth = repetition->region.outer->depth;
    lowering->facts[id].region = repetition->region.outer;
    lowering->facts[id].is_open = lowering->facts[id].is_watched = true;
    return id;
}

/* An array of `n` of them; its example has zeros. */
static bool make_array_of(struct lowering *lowering, const struct mdf_value *item, size_t n, struct mdf_value *array)
{
    int64_t shape[MDF_INLINE_RANK];

    if (item->kind != MDF_KIND_TENSOR || item->dtype == MDF_DTYPE_STRING || item->rank + 1 > MDF_INLINE_RANK) {
        return lowering_fail(lowering, MDF_REFUSED_NO_NUMBERS);
    }
    shape[0] = (int64_t)n;
    memcpy(shape + 1, mdf_value_shape(item), item->rank * sizeof *shape);
    if (mdf_value_make_tensor(lowering->memory, array, (mdf_dtype)item->dtype, item->rank + 1u, shape) == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memset(array->data, 0, array->length * mdf_dtype_size((mdf_dtype)array->dtype));
    array->strength = item->strength;
    return true;
}

/* What is stacked is made by an op of the body: of anything else a copy is. */
static mdf_lowered_id own_item(struct lowering *lowering, mdf_lowered_id item)
{
    const struct mdf_value *form = lowering_example(lowering, item);
    struct mdf_lowered_op copy = {.code = MDF_LOWERED_COPY, .dtype = form->dtype, .n_in = 1, .in = {item}};

    return lowering->lowered->values[item].place == MDF_LOWERED_RESULT && lowering->facts[item].region == lowering->region
               ? item
               : lowering_add_element_op(lowering, copy, form);
}

bool lowering_stack_runs(struct lowering *lowering, struct repetition *repetition, const mdf_lowered_id *items, size_t n,
                         mdf_lowered_id *stacks)
{
    struct mdf_lowered_loop *loop = repetition->loop;

    loop->stacks = mdf_arena_array(&lowering->lowered->arena, n, sizeof *loop->stacks);
    if (loop->stacks == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < n; i++) {
        mdf_lowered_id item = own_item(lowering, items[i]);
        struct mdf_value whole = {0};
        size_t whole_bytes;

        if (item == MDF_LOWERED_NONE || !make_array_of(lowering, lowering_example(lowering, item), loop->n_runs, &whole)) {
            return false;
        }
        stacks[i] = lowering_add_value(lowering, MDF_LOWERED_RESULT, &whole);
        whole_bytes = whole.length * mdf_dtype_size((mdf_dtype)whole.dtype);
        mdf_value_clear(lowering->memory, &whole);
        if (stacks[i] == MDF_LOWERED_NONE) {
            return false;
        }
        loop->stacks[loop->n_stacks++] =
            (struct mdf_lowered_stack){.item = item, .stack = stacks[i], .item_bytes = whole_bytes / loop->n_runs};
        lowering->facts[stacks[i]].depth = repetition->region.outer->depth;
        lowering->facts[stacks[i]].region = repetition->region.outer;
        lowering->facts[stacks[i]].is_watched = true;
    }
    return true;
}

bool lowering_rows_repeated(struct lowering *lowering, struct repetition *repetition, const struct mdf_value *rows, size_t n,
                            mdf_lowered_id *items)
{
    struct mdf_lowered_loop *loop = repetition->loop;

    loop->rows = mdf_arena_array(&lowering->lowered->arena, n, sizeof *loop->rows);
    if (loop->rows == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < n; i++) {
        mdf_lowered_id source = lowering_add_value(lowering, MDF_LOWERED_INPUT, &rows[i]);
        struct mdf_value item = {0};

        mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)rows[i].dtype, (enum mdf_strength)rows[i].strength,
                                rows[i].rank - 1u, mdf_value_shape(&rows[i]) + 1, rows[i].data);
        items[i] = source == MDF_LOWERED_NONE ? source : lowering_add_value(lowering, MDF_LOWERED_PARAMETER, &item);
        if (items[i] == MDF_LOWERED_NONE) {
            return false;
        }
        lowering->lowered->values[source].source = &rows[i];
        lowering->facts[items[i]].depth = repetition->region.depth;
        loop->rows[loop->n_rows++] = (struct mdf_lowered_rows){source, items[i], false};
    }
    return true;
}

bool lowering_end_repetition(struct lowering *lowering, struct repetition *repetition, const bool *leaves)
{
    struct mdf_lowered_loop *loop = repetition->loop;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_LOOP, .out = MDF_LOWERED_NONE, .of.loop = loop};
    mdf_lowered_id *ids = mdf_arena_array(&lowering->scratch, count_written(repetition) + 1, sizeof *ids);

    if (ids == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        ids[i] = lowering_value_at(lowering, &repetition->body, repetition->operands[i]);
        if (ids[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    if (!leave_slots(lowering, repetition, leaves, ids) || !carry_states(lowering, repetition, ids) ||
        !lowering_end_region(lowering, &loop->body)) {
        return false;
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        mdf_lowered_id last = loop->states[i].parameter;

        lowering->facts[last].depth = repetition->region.outer->depth; /* what it is after the loop */
        if (!lowering_bind_at(lowering, repetition->body.outer, repetition->operands[i], last)) {
            return false;
        }
    }
    return lowering_add_op(lowering, lowering->region, &op);
}
