/* lower_loops.c - see lower_loops.h: what Loop and Scan have in common. */
#include "mdf_c/lower/loops/lower_loops.h"

#include "functions/control/stack.h"
#include "functions/elements/element.h"

#include "mdf_c/lowered/loop_plan.h"

#include <string.h>

enum { SUPPOSED_ITEMS = 2 }; /* of a stack whose number of items is open, as an example */

mdf_lowered_id loop_add_parameter(struct loop *loop, const struct mdf_value *example)
{
    mdf_lowered_id id = lowering_add_value(loop->lowering, MDF_LOWERED_PARAMETER, example);

    if (id != MDF_LOWERED_NONE) {
        loop->lowering->facts[id].depth = loop->region.depth;
    }
    return id;
}

bool loop_begin(struct loop *loop, size_t first_yield)
{
    struct mdf_arena *arena = &loop->lowering->lowered->arena;
    struct mdf_lowered_loop *result = mdf_arena_allocate(arena, sizeof *result);

    loop->body = loop->outer->code->bodies[loop->source->bodies[0]];
    if (loop->body->program != NULL) {
        return lowering_fail(loop->lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    loop->inner = (struct scope){.code = loop->body, .outer = loop->outer};
    loop->first_yield = first_yield;
    loop->n_outputs = loop->body->n_yields - first_yield;
    loop->yields = mdf_arena_array(&loop->lowering->scratch, loop->body->n_yields, sizeof *loop->yields);
    loop->last_outputs = mdf_arena_array(&loop->lowering->scratch, loop->n_outputs + 1, sizeof *loop->last_outputs);
    if (result == NULL || loop->yields == NULL || loop->last_outputs == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    *result = (struct mdf_lowered_loop){.n_runs = SIZE_MAX,
                                        .trip_count = MDF_LOWERED_NONE,
                                        .condition = MDF_LOWERED_NONE,
                                        .next_condition = MDF_LOWERED_NONE,
                                        .number = MDF_LOWERED_NONE,
                                        .is_going_on = MDF_LOWERED_NONE};
    result->states = mdf_arena_array(arena, loop->n_outputs + loop->n_initial + 1, sizeof *result->states);
    result->stacks = mdf_arena_array(arena, loop->n_outputs, sizeof *result->stacks);
    loop->result = result;
    lowering_begin_region(loop->lowering, &loop->region, REGION_BODY);
    return (result->states != NULL && result->stacks != NULL) || lowering_out_of_memory(loop->lowering);
}

/* What a state begins with: of a sequence its rows. */
static bool read_state(struct loop *loop, size_t i, mdf_lowered_id id)
{
    struct lowering *lowering = loop->lowering;
    bool is_list = lowering_example(lowering, id)->kind == MDF_KIND_LIST;
    mdf_lowered_id rows;

    if (!loop_read_room(loop, i, id)) {
        return false;
    }
    loop->zeros[i] = MDF_LOWERED_NONE;
    loop->is_sequence[i] = false;
    if (loop->counts[i] != MDF_LOWERED_NONE) {
        return true;
    }
    rows = is_list ? lowering_find_rows(lowering, id) : MDF_LOWERED_NONE;
    loop->is_sequence[i] = rows != MDF_LOWERED_NONE;
    loop->initial[i] = loop->is_sequence[i] ? rows : id;
    loop->zeros[i] = lowering->facts[id].is_optional ? lowering_zeros_of_either(lowering, id, id) : MDF_LOWERED_NONE;
    return !lowering_has_failed(lowering) &&
           (rows == MDF_LOWERED_NONE || (!lowering->facts[rows].is_open && lowering->facts[rows].growth == NULL) ||
            lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH));
}

/* Inputs of the call, from number `first` on, as what `n` states begin with. */
bool loop_read_initial(struct loop *loop, size_t first, size_t n)
{
    loop->initial = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->initial);
    loop->numbers = mdf_arena_array(&loop->lowering->scratch, 2 * n, sizeof *loop->numbers);
    loop->is_truth = mdf_arena_array(&loop->lowering->scratch, 2 * n, sizeof *loop->is_truth);
    loop->zeros = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->zeros);
    loop->truths = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->truths);
    loop->stays = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->stays);
    loop->is_sequence = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->is_sequence);
    loop->counts = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->counts);
    loop->items = mdf_arena_array(&loop->lowering->scratch, MOST_WRITTEN_OUT, sizeof *loop->items);
    loop->n_initial = n;
    loop->results = mdf_arena_array(&loop->lowering->scratch, loop->source->n_outputs, sizeof *loop->results);
    if (loop->initial == NULL || loop->numbers == NULL || loop->stays == NULL || loop->results == NULL ||
        loop->is_sequence == NULL || loop->items == NULL || loop->counts == NULL || loop->is_truth == NULL ||
        loop->zeros == NULL || loop->truths == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    for (size_t i = 0; i < n; i++) {
        mdf_lowered_id id = lowering_value_of(loop->lowering, loop->outer, loop->source->inputs[first + i]);

        if (id == MDF_LOWERED_NONE || !read_state(loop, i, id)) {
            return false;
        }
    }
    return true;
}

mdf_lowered_id loop_show_state(const struct loop *loop, size_t i, mdf_lowered_id state)
{
    return i < loop->n_initial && loop->is_sequence[i] ? lowering_add_sequence(loop->lowering, state) : state;
}

/* The operand that an instruction gives on in another one as it is; MDF_NO_OPERAND: it does not. What it declares is looked at
 * when the body has been gone through. */
static mdf_operand find_source(const struct mdf_code *code, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call = &code->calls[instruction->target];

    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        return instruction->b;
    case MDF_OPCODE_CALL:
        return call->operator->element == MDF_ELEMENT(kept) && call->n_inputs == 1 ? call->inputs[0] : MDF_NO_OPERAND;
    default:
        return MDF_NO_OPERAND;
    }
}

static bool writes(const struct mdf_code *code, const struct mdf_instruction *instruction, mdf_operand slot)
{
    const struct mdf_code_call *call = &code->calls[instruction->target];
    size_t i;

    for (i = 0; instruction->opcode == MDF_OPCODE_CALL && i < call->n_outputs && call->outputs[i] != slot; i++) {
    }
    return instruction->opcode == MDF_OPCODE_CALL
               ? i < call->n_outputs
               : instruction->a == slot || (instruction->opcode == MDF_OPCODE_SWAP && instruction->b == slot);
}

bool loop_hands_on(const struct mdf_code *body, mdf_operand yield, mdf_operand formal)
{
    mdf_operand operand = yield;
    size_t i = body->n_instructions;

    while (i-- > 0 && operand != MDF_NO_OPERAND) {
        uint8_t opcode = body->instructions[i].opcode;

        if (opcode >= MDF_OPCODE_JUMP && opcode != MDF_OPCODE_LIST && opcode != MDF_OPCODE_APPEND) {
            return false;
        }
        if (writes(body, &body->instructions[i], operand)) {
            operand = find_source(body, &body->instructions[i]);
        }
    }
    return operand == formal;
}

mdf_lowered_id loop_add_part(struct loop *loop, size_t i, mdf_lowered_id initial, bool is_truth)
{
    struct mdf_lowered_state *state = &loop->result->states[loop->result->n_states];

    if (initial == MDF_LOWERED_NONE) {
        return initial;
    }
    loop->is_truth[loop->result->n_states] = is_truth;
    loop->numbers[loop->result->n_states++] = i;
    state->initial = initial;
    state->parameter = loop_add_parameter(loop, lowering_example(loop->lowering, initial));
    return state->parameter;
}

static bool add_optional_state(struct loop *loop, size_t i, size_t formal)
{
    struct lowering *lowering = loop->lowering;
    mdf_lowered_id is_there = loop_add_part(loop, i, lowering_is_there(lowering, loop->initial[i]), true),
                   content = loop_add_part(loop, i, lowering_content(lowering, loop->initial[i], loop->zeros[i]), false);

    return lowering_bind(lowering, &loop->inner, loop->body->formals[formal],
                         lowering_add_optional(lowering, is_there, content));
}

/* State number `i` of the model, bound to a formal. */
bool loop_add_state(struct loop *loop, size_t i, size_t formal)
{
    struct mdf_lowered_state *state = &loop->result->states[loop->result->n_states];
    bool has_other;

    if (loop->counts[i] != MDF_LOWERED_NONE) {
        loop->stays[i] = false;
        return loop_add_room_state(loop, i, formal);
    }
    loop->stays[i] =
        (lowering_is_nothing(loop->lowering, loop->initial[i]) && loop->zeros[i] == MDF_LOWERED_NONE) ||
        ((lowering_example(loop->lowering, loop->initial[i])->kind == MDF_KIND_TENSOR || loop->zeros[i] != MDF_LOWERED_NONE) &&
         loop_hands_on(loop->body, loop->body->yields[loop->first_yield + i], loop->body->formals[formal]));
    if (loop->stays[i]) {
        loop->results[i] = loop->initial[i];
        return lowering_bind(loop->lowering, &loop->inner, loop->body->formals[formal],
                             loop_show_state(loop, i, loop->initial[i]));
    }

    if (loop->grows != NULL && loop->grows[i]) {
        return loop_add_growing_state(loop, i, formal);
    }
    if (loop->zeros[i] != MDF_LOWERED_NONE) {
        return add_optional_state(loop, i, formal);
    }
    loop->is_truth[loop->result->n_states] = false;
    loop->numbers[loop->result->n_states++] = i;
    state->initial = loop->initial[i];
    state->parameter = loop_add_parameter(loop, lowering_example(loop->lowering, state->initial));
    has_other = (loop->opens != NULL && loop->opens[i]) || (loop->moves != NULL && loop->moves[i]);
    return (!has_other || state->parameter == MDF_LOWERED_NONE ||
            lowering_open(loop->lowering, state->parameter, loop->next[i])) &&
           lowering_bind(loop->lowering, &loop->inner, loop->body->formals[formal], loop_show_state(loop, i, state->parameter));
}

/* What is yielded for a state that is a sequence: its rows. */
static bool yield_rows(struct loop *loop, size_t yield)
{
    mdf_lowered_id *id = &loop->yields[yield];

    if (yield < loop->first_yield || yield - loop->first_yield >= loop->n_initial ||
        !loop->is_sequence[yield - loop->first_yield]) {
        return true;
    }
    *id = lowering_find_rows(loop->lowering, *id);
    return *id != MDF_LOWERED_NONE || lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_LIST);
}

/* What is yielded for a state that is an optional: whether it is there, and its content, which is what it was where it is not. */
static bool yield_parts(struct loop *loop, size_t yield)
{
    size_t i = yield - loop->first_yield, k;
    mdf_lowered_id *id = &loop->yields[yield];

    if (yield >= loop->first_yield && i < loop->n_initial && loop->counts[i] != MDF_LOWERED_NONE) {
        return loop_yield_room(loop, i, id);
    }
    if (yield < loop->first_yield || i >= loop->n_initial || loop->zeros[i] == MDF_LOWERED_NONE || loop->stays[i]) {
        return true;
    }
    for (k = 0; loop->numbers[k] != i || loop->is_truth[k]; k++) {
    }
    loop->truths[i] = lowering_is_there(loop->lowering, *id);
    *id = lowering_content(loop->lowering, *id, loop->result->states[k].parameter);
    return loop->truths[i] != MDF_LOWERED_NONE;
}

bool loop_run_body(struct loop *loop)
{
    if (!lowering_run_inside(loop->lowering, &loop->inner)) {
        return false;
    }
    for (size_t i = 0; i < loop->body->n_yields; i++) {
        loop->yields[i] = i < loop->first_yield /* of a condition nobody sees the strength */
                              ? lowering_either_value_of(loop->lowering, &loop->inner, loop->body->yields[i])
                              : lowering_any_value_of(loop->lowering, &loop->inner, loop->body->yields[i]);
        if (loop->yields[i] == MDF_LOWERED_NONE || !yield_rows(loop, i) || !yield_parts(loop, i)) {
            return false;
        }
    }
    return true;
}

/* Whether what is yielded can become state number `i` by an exchange: it is made in the body itself, for this state alone. */
static bool is_own(const struct lowering *lowering, const struct region *region, const struct mdf_lowered_loop *loop, size_t i,
                   mdf_lowered_id id)
{
    const struct fact *fact = &lowering->facts[id];

    for (size_t j = 0; j < i; j++) {
        if (loop->states[j].next == id) {
            return false;
        }
    }
    return lowering->lowered->values[id].place == MDF_LOWERED_RESULT && fact->region == region &&
           (lowering->lowered->values[id].is_scalar || !(fact->is_merged || fact->is_view));
}

bool lowering_carry(struct lowering *lowering, const struct region *region, struct mdf_lowered_loop *loop, size_t i,
                    mdf_lowered_id next)
{
    struct mdf_lowered_state *state = &loop->states[i];
    const struct fact *fact = &lowering->facts[next];

    if (fact->growth != NULL) { /* another state, which only grows and is no value: what it was before the run is nowhere */
        return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    if (fact->is_open || lowering->facts[state->parameter].is_open) {
        const struct mdf_lowered_region made = {region->ops, region->n_ops};

        state->next = next;
        return (lowering->lowered->values[next].open_axes == lowering->lowered->values[state->parameter].open_axes &&
                is_own(lowering, region, loop, i, next) && mdf_lowered_makes_of_any_size(&made, next)) ||
               lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    if (!mdf_value_has_form_of(lowering_example(lowering, next), lowering_example(lowering, state->parameter))) {
        return lowering_fail_about(lowering, MDF_REFUSED_CHANGING_STATE, lowering_example(lowering, state->parameter),
                                   lowering_example(lowering, next));
    }
    state->next = is_own(lowering, region, loop, i, next)
                      ? next
                      : lowering_copy(lowering, next, lowering_example(lowering, next)->strength);
    return state->next != MDF_LOWERED_NONE;
}

mdf_lowered_id loop_next_of(const struct loop *loop, size_t carried)
{
    size_t i = loop->numbers[carried];

    return loop->is_truth[carried] ? loop->truths[i] : loop->yields[loop->first_yield + i];
}

bool loop_carry_states(struct loop *loop)
{
    loop->n_carried = loop->result->n_states;
    for (size_t i = 0; i < loop->n_carried; i++) {
        if (!lowering_carry(loop->lowering, &loop->region, loop->result, i, loop_next_of(loop, i))) {
            return false;
        }
    }
    return true;
}

mdf_lowered_id loop_add_own_state(struct loop *loop, const struct mdf_value *form, size_t output)
{
    struct mdf_lowered_state *state = &loop->result->states[loop->result->n_states];
    static const uint64_t zero = 0;
    struct mdf_value initial = {0};

    loop->last_outputs[loop->result->n_states - loop->n_carried] = output;
    mdf_value_borrow_tensor(loop->lowering->memory, &initial, (mdf_dtype)form->dtype, (enum mdf_strength)form->strength,
                            form->rank, mdf_value_shape(form), &zero);
    state->initial = lowering_add_constant(loop->lowering, &initial, false);
    if (state->initial == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    loop->result->n_states++;
    state->parameter = loop_add_parameter(loop, lowering_example(loop->lowering, state->initial));
    return state->parameter;
}

/* The only item of a loop that runs once, where it is a scalar: an array of one element would be no scalar, which ops on scalars
 * can not read. It is a state that nobody reads in the loop. */
static bool add_last(struct loop *loop, mdf_lowered_id item, size_t output)
{
    size_t i = loop->result->n_states;

    return loop_add_own_state(loop, lowering_example(loop->lowering, item), output) != MDF_LOWERED_NONE &&
           lowering_carry(loop->lowering, &loop->region, loop->result, i, item);
}

/* Behind the loop: what add_last kept, with the axis of the runs. */
static bool take_last(struct loop *loop)
{
    for (size_t i = loop->n_carried; i < loop->result->n_states; i++) {
        mdf_lowered_id last = loop->result->states[i].parameter;
        size_t output = loop->last_outputs[i - loop->n_carried];

        loop->lowering->facts[last].depth = loop->region.outer->depth;
        if (output == SIZE_MAX) {
            continue;
        }
        loop->results[output] = lowering_copy_with_axis(loop->lowering, last);
        if (loop->results[output] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* Whether a Loop or Scan takes a value as an item of a stack (lists it refuses), and the lowered form has a place for the stack.
 */
static bool may_be_stacked(struct loop *loop, mdf_lowered_id item)
{
    const struct mdf_value *example = lowering_example(loop->lowering, item);

    if (loop->lowering->facts[item].is_open) {
        return lowering_fail(loop->lowering, MDF_REFUSED_OPEN_LENGTH);
    }
    if (loop->lowering->facts[item].growth != NULL) {
        return lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_STATE);
    }
    return (example->kind == MDF_KIND_TENSOR && example->rank < MDF_INLINE_RANK) ||
           lowering_fail(loop->lowering, MDF_REFUSED_MANY_AXES);
}

bool loop_declares_item(const struct mdf_static_type *type, const struct mdf_value *stack)
{
    size_t i;

    if (type->dtype != (mdf_dtype)stack->dtype || stack->strength != MDF_STRENGTH_TYPED || !type->has_shape ||
        type->rank + 1 != stack->rank) {
        return false;
    }
    for (i = 0; i < type->rank && type->shape[i] == mdf_value_shape(stack)[i + 1]; i++) {
    }
    return i == type->rank;
}

/* An array of that form with another size of an axis, all zeros. */
static bool make_example(struct lowering *lowering, const struct mdf_value *form, size_t axis, int64_t size,
                         struct mdf_value *example)
{
    int64_t shape[MDF_INLINE_RANK];

    memcpy(shape, mdf_value_shape(form), form->rank * sizeof *shape);
    shape[axis] = size;
    if (mdf_value_make_tensor(lowering->memory, example, (mdf_dtype)form->dtype, form->rank, shape) == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memset(example->data, 0, example->length * mdf_dtype_size((mdf_dtype)example->dtype));
    example->strength = form->strength;
    return true;
}

/* The stack's number of items is open: examples have two, or three. */
static bool open_stack(struct loop *loop, const struct mdf_lowered_stack *stack, const struct mdf_value *form)
{
    struct mdf_value other = {0};
    bool done = make_example(loop->lowering, form, stack->axis, SUPPOSED_ITEMS + 1, &other) &&
                lowering_open(loop->lowering, stack->stack, &other);

    mdf_value_clear(loop->lowering->memory, &other);
    return done;
}

/* The stack of an array of that form, but for the length of its axis `axis`, which has `n_items`; 0 where their number is open.
 */
static bool add_stack(struct loop *loop, struct mdf_lowered_stack stack, const struct mdf_value *form, size_t n_items,
                      size_t output)
{
    struct lowering *lowering = loop->lowering;
    bool is_open = loop->result->n_runs == SIZE_MAX && n_items == 0;
    struct mdf_value whole = {0};

    stack.stack = make_example(lowering, form, stack.axis, is_open ? SUPPOSED_ITEMS : (int64_t)n_items, &whole)
                      ? lowering_add_value(lowering, MDF_LOWERED_RESULT, &whole)
                      : MDF_LOWERED_NONE;
    mdf_value_clear(lowering->memory, &whole);
    if (stack.stack == MDF_LOWERED_NONE) {
        return false;
    }
    lowering->lowered->values[stack.stack].is_scalar = false;
    lowering->facts[stack.stack].depth = loop->region.outer->depth;
    lowering->facts[stack.stack].region = loop->region.outer;
    if (is_open && !open_stack(loop, &stack, form)) {
        return false;
    }
    stack.item_bytes = lowering_example(lowering, stack.item)->length * mdf_dtype_size((mdf_dtype)form->dtype);
    loop->result->stacks[loop->result->n_stacks++] = stack;
    loop->results[output] = stack.stack;
    return true;
}

/* How many items stacks have; 0: that is open. */
static size_t count_items(const struct loop *loop)
{
    return loop->result->n_runs == SIZE_MAX ? loop->result->n_padded : loop->result->n_runs;
}

/* The array that output number `output` of the call becomes: all of `item`, or none where their number is open. */
bool loop_add_stack(struct loop *loop, mdf_lowered_id item, size_t output, bool is_reversed)
{
    struct mdf_lowered_stack stack = {.item = item, .is_reversed = is_reversed};
    struct mdf_value form;

    if (!may_be_stacked(loop, item)) {
        return false;
    }
    form = *lowering_example(loop->lowering, item);
    if (count_items(loop) == 1 && form.length == 1) {
        return add_last(loop, item, output);
    }
    memmove(form.shape.sizes + 1, form.shape.sizes, form.rank * sizeof *form.shape.sizes);
    form.rank++;
    return add_stack(loop, stack, &form, count_items(loop), output);
}

bool loop_add_stack_behind(struct loop *loop, mdf_lowered_id item, size_t output, mdf_lowered_id initial, uint8_t axis)
{
    struct mdf_lowered_stack stack = {.item = item, .appends = true, .initial = initial, .axis = axis};
    const struct mdf_value *each = lowering_example(loop->lowering, item), *first = lowering_example(loop->lowering, initial);
    size_t n_items = count_items(loop);

    if (loop->result->n_runs != SIZE_MAX || n_items > 0) { /* without a run it is `initial` */
        n_items = (size_t)mdf_value_shape(first)[axis] + n_items * (size_t)mdf_value_shape(each)[axis];
    }
    /* An array of one element would be no scalar, which ops on scalars can not read. */
    return (n_items != 1 || each->length != 1 || lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_STATE)) &&
           add_stack(loop, stack, each, n_items, output);
}

/* What is stacked is a copy: the stack may as well take the original, which often can be written straight into it. */
static void look_through_copies(const struct mdf_lowered_region *body, struct mdf_lowered_stack *stack)
{
    for (size_t i = body->n_ops; i-- > 0;) {
        if (body->ops[i].code == MDF_LOWERED_COPY && body->ops[i].out == stack->item) {
            stack->item = body->ops[i].in[0];
        }
    }
}

/* Whether an output is the array: that of a list is none (append_list), and may get another form behind the loop. */
static bool is_result(const struct loop *loop, mdf_lowered_id id)
{
    size_t i;

    for (i = 0; i < loop->n_outputs && loop->results[i] != id; i++) {
    }
    return i < loop->n_outputs;
}

/* Where two stacks have the same items in the same order, one is enough. */
static void share_stacks(struct loop *loop)
{
    const struct mdf_lowered_stack *stacks = loop->result->stacks;

    for (size_t i = 0; i < loop->result->n_stacks; i++) {
        for (size_t j = i + 1; j < loop->result->n_stacks && is_result(loop, stacks[i].stack); j++) {
            bool is_same = stacks[i].item == stacks[j].item && stacks[i].is_reversed == stacks[j].is_reversed &&
                           !stacks[i].appends && !stacks[j].appends &&
                           mdf_value_has_form_of(lowering_example(loop->lowering, stacks[i].stack),
                                                 lowering_example(loop->lowering, stacks[j].stack));

            for (size_t k = 0; is_same && k < loop->n_outputs; k++) {
                loop->results[k] = loop->results[k] == stacks[j].stack ? stacks[i].stack : loop->results[k];
            }
        }
    }
}

bool loop_end(struct loop *loop)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_LOOP, .out = MDF_LOWERED_NONE, .of.loop = loop->result};
    struct lowering *lowering = loop->lowering;

    if (!lowering_put_choices(lowering, loop->yields, loop->body->n_yields) ||
        !lowering_end_region(lowering, &loop->result->body)) {
        return false;
    }
    for (size_t i = 0; i < loop->result->n_stacks; i++) {
        look_through_copies(&loop->result->body, &loop->result->stacks[i]);
    }
    share_stacks(loop);
    for (size_t i = 0; i < loop->n_carried; i++) {
        mdf_lowered_id last = loop->result->states[i].parameter;

        lowering->facts[last].depth = loop->region.outer->depth; /* what it is after the loop */
        loop->results[loop->numbers[i]] = i == 0 || !loop->is_truth[i - 1] ? last
                                          : loop->counts[loop->numbers[i]] != MDF_LOWERED_NONE
                                              ? lowering_add_room(lowering, last, loop->result->states[i - 1].parameter)
                                              : lowering_add_optional(lowering, loop->result->states[i - 1].parameter, last);
    }
    return !lowering_has_failed(lowering) && lowering_add_op(lowering, lowering->region, &op) && take_last(loop);
}

/* Whether all states are after the body's run as they were before it; else the first that is not is in *changing. */
bool loop_keeps_forms(const struct loop *loop, size_t *changing)
{
    for (size_t i = 0; i < loop->n_initial; i++) {
        if (loop->stays[i] && !mdf_value_has_form_of(lowering_example(loop->lowering, loop->yields[loop->first_yield + i]),
                                                     lowering_example(loop->lowering, loop->initial[i]))) {
            *changing = i;
            return false;
        }
    }
    for (size_t i = 0; i < loop->result->n_states; i++) {
        if (!loop->lowering->facts[loop->result->states[i].parameter].is_open &&
            !mdf_value_has_form_of(lowering_example(loop->lowering, loop_next_of(loop, i)),
                                   lowering_example(loop->lowering, loop->result->states[i].parameter))) {
            *changing = loop->numbers[i];
            return false;
        }
    }
    return true;
}

bool loop_find_optionals(struct loop *outside, const struct loop *loop, size_t n_states, bool *any)
{
    *any = false;
    for (size_t i = 0; i < n_states; i++) {
        mdf_lowered_id zeros = outside->zeros[i] != MDF_LOWERED_NONE || outside->is_sequence[i]
                                   ? MDF_LOWERED_NONE
                                   : lowering_zeros_of_either(outside->lowering, outside->initial[i],
                                                              loop->yields[loop->first_yield + i]);

        outside->zeros[i] = zeros != MDF_LOWERED_NONE ? zeros : outside->zeros[i];
        *any = *any || zeros != MDF_LOWERED_NONE;
    }
    return !lowering_has_failed(outside->lowering);
}

/* How many ops there are in the regions around, from the inside. */
size_t *lowering_count_ops(struct lowering *lowering)
{
    struct region *region;
    size_t *counts, n = 0;

    for (region = lowering->region; region != NULL; region = region->outer) {
        n++;
    }
    counts = mdf_arena_array(&lowering->scratch, n, sizeof *counts);
    if (counts == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    for (region = lowering->region, n = 0; region != NULL; region = region->outer) {
        counts[n++] = region->n_ops;
    }
    return counts;
}

/* Drops what has been added since. */
void lowering_restore_ops(struct lowering *lowering, const size_t *counts)
{
    struct region *region;
    size_t n = 0;

    for (region = lowering->region; region != NULL; region = region->outer) {
        region->n_ops = counts[n++];
    }
}

bool lowering_begin_attempt(struct lowering *lowering, struct lowering_attempt *attempt)
{
    *attempt = (struct lowering_attempt){lowering->refusal, lowering->origin, lowering->operator, lowering->region,
                                         lowering_count_ops(lowering), lowering->n_growing};
    return attempt->counts != NULL;
}

bool lowering_take_back(struct lowering *lowering, const struct lowering_attempt *attempt)
{
    if (lowering->refusal.reason == MDF_REFUSED_OUT_OF_MEMORY) {
        return false;
    }
    lowering->refusal = attempt->refusal;
    lowering->origin = attempt->origin;
    lowering->operator= attempt->operator;
    lowering->region = attempt->region;
    lowering->n_growing = attempt->n_growing;
    lowering_restore_ops(lowering, attempt->counts);
    return true;
}

bool loop_may_be_tried_again(struct lowering *lowering)
{
    lowering->n_loop_tries += lowering->n_loop_tries < MOST_TRIES;
    return lowering->n_loop_tries < MOST_TRIES;
}

/* ------------------------------------------------------------------ runs before the loop */

/* Whether plain evaluation lets a state change so. */
static bool may_become(const struct mdf_value *state, const struct mdf_value *next, bool keeps_shape)
{
    bool is_typed = state->strength == MDF_STRENGTH_TYPED && next->strength == MDF_STRENGTH_TYPED;
    bool has_shape = mdf_value_has_shape_of(state, next);

    return state->kind == MDF_KIND_TENSOR && next->kind == MDF_KIND_TENSOR && (!is_typed || state->dtype == next->dtype) &&
           (!keeps_shape || has_shape);
}

/* Whether a state that is a sequence becomes one whose items are known one by one. */
static bool becomes_items(struct loop *loop, size_t i, mdf_lowered_id id)
{
    const struct mdf_value *state = lowering_example(loop->lowering, loop->initial[i]);
    const struct mdf_value *next = lowering_example(loop->lowering, id);

    return loop->lowering->is_for_source && loop->lowering->facts[id].items != NULL && next->dtype != MDF_DTYPE_NONE &&
           state->dtype == next->dtype && (loop->is_sequence[i] || state->kind == MDF_KIND_LIST);
}

/* Whether a state that began as a sequence of no items has some now, as `id`: from here on it is its rows. */
static bool becomes_rows(const struct loop *loop, size_t i, mdf_lowered_id id)
{
    const struct lowering *lowering = loop->lowering;
    const struct mdf_value *state = lowering_example(lowering, loop->initial[i]), *next = lowering_example(lowering, id);

    return lowering->is_for_source && state->kind == MDF_KIND_LIST && state->length == 0 && lowering->facts[id].is_sequence &&
           state->dtype == next->dtype;
}

bool loop_keep_run(struct loop *loop, struct scope *inner, size_t n_states, size_t first_yield, bool keeps_shapes)
{
    size_t n_stacks = inner->code->n_yields - first_yield - n_states;
    mdf_lowered_id *items = mdf_arena_array(&loop->lowering->scratch, n_stacks, sizeof *items);

    if (items == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    for (size_t i = 0; i < n_states + n_stacks; i++) {
        mdf_lowered_id id = lowering_value_of(loop->lowering, inner, inner->code->yields[first_yield + i]);

        bool is_new = id != MDF_LOWERED_NONE && i < n_states && !loop->is_sequence[i] && becomes_rows(loop, i, id);

        if (id != MDF_LOWERED_NONE && i < n_states && becomes_items(loop, i, id)) {
            loop->is_sequence[i] = false;
            is_new = true;
        } else if (id != MDF_LOWERED_NONE && i < n_states && (loop->is_sequence[i] || is_new)) {
            id = lowering_find_rows(loop->lowering, id);
            loop->is_sequence[i] = true;
        }
        if (id == MDF_LOWERED_NONE) {
            return false;
        }
        if (i < n_states && !is_new && loop->zeros[i] == MDF_LOWERED_NONE &&
            !may_become(lowering_example(loop->lowering, loop->initial[i]), lowering_example(loop->lowering, id), keeps_shapes)) {
            return false;
        }
        if (i < n_states) {
            loop->initial[i] = id;
        } else if (may_be_stacked(loop, id)) {
            items[i - n_states] = id;
        } else {
            return false;
        }
    }
    loop->items[loop->n_peeled++] = items;
    return true;
}

/* The type and strength of a stack of all parts, in the order of runs; false with the reason: they have none together. The last
 * part, where it `is_several` items, is added twice, as plain evaluation adds items one by one: a number without a declared type
 * may take another one with the first of them, which the second does not fit. */
static bool find_stack_form(struct lowering *lowering, const mdf_lowered_id *parts, size_t n, bool is_several, mdf_dtype *dtype,
                            uint8_t *strength)
{
    const struct mdf_value *first = lowering_example(lowering, parts[0]);
    struct mdf_value whole = *first;

    for (size_t i = 0; i < n + is_several; i++) {
        const struct mdf_value *part = lowering_example(lowering, parts[i < n ? i : n - 1]);

        if (part->kind != MDF_KIND_TENSOR || part->rank != first->rank || part->rank == 0 ||
            memcmp(mdf_value_shape(part) + 1, mdf_value_shape(first) + 1, (part->rank - 1) * sizeof(int64_t)) != 0 ||
            !mdf_stack_form(&lowering->execution->context, &whole, part, dtype, strength)) {
            return lowering_fail_about(lowering, MDF_REFUSED_CHANGING_ITEM, first, part);
        }
        whole.dtype = (uint8_t)*dtype;
        whole.strength = *strength;
    }
    return true;
}

/* What the loop stacks, with the items of the runs before it. */
static mdf_lowered_id join_stack(struct loop *loop, size_t stack, mdf_lowered_id rest, bool has_rest, bool is_reversed)
{
    struct lowering *lowering = loop->lowering;
    size_t n = loop->n_peeled + has_rest;
    mdf_lowered_id *parts = mdf_arena_array(&lowering->scratch, n, sizeof *parts),
                   *joined = mdf_arena_array(&lowering->scratch, n, sizeof *joined);
    mdf_dtype dtype;
    uint8_t strength;

    if (parts == NULL || joined == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        parts[i] = i < loop->n_peeled ? lowering_copy_with_axis(lowering, loop->items[i][stack]) : rest;
        if (parts[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    if (!find_stack_form(lowering, parts, n, has_rest, &dtype, &strength)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        joined[is_reversed ? n - 1 - i : i] = lowering_cast(lowering, parts[i], dtype);
    }
    return lowering_as_strong(lowering, lowering_join(lowering, joined, n), strength);
}

bool loop_join_runs(struct loop *loop, size_t n_states, size_t n_left,
                    bool (*is_reversed)(const struct mdf_code_call *source, size_t stack))
{
    for (size_t i = 0; i < loop->source->n_outputs; i++) {
        if (loop->source->outputs[i] == MDF_NO_OPERAND || (i < n_states && n_left > 0)) {
            continue;
        }
        loop->results[i] = i < n_states ? loop->initial[i]
                                        : join_stack(loop, i - n_states, loop->results[i], n_left > 0,
                                                     is_reversed != NULL && is_reversed(loop->source, i - n_states));
        if (loop->results[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

bool loop_bind_results(struct loop *loop)
{
    for (size_t i = 0; i < loop->source->n_outputs; i++) {
        if (loop->source->outputs[i] != MDF_NO_OPERAND &&
            !lowering_bind(loop->lowering, loop->outer, loop->source->outputs[i], loop_show_state(loop, i, loop->results[i]))) {
            return false;
        }
    }
    return true;
}

bool loop_refuse_state(const struct loop *loop, size_t i)
{
    struct lowering *lowering = loop->lowering;

    if (loop->grown.reason != MDF_REFUSED_NOT && !lowering_has_failed(lowering)) {
        lowering->refusal = loop->grown;
        return false;
    }
    return lowering_fail_about(lowering, MDF_REFUSED_CHANGING_STATE, lowering_example(lowering, loop->initial[i]),
                               lowering_example(lowering, loop->yields[loop->first_yield + i]));
}
