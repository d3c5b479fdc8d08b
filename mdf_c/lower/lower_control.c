/* lower_control.c - Loop, Scan and If as structured ops: bodies are gone through once, with the first states as examples. A state
 * has to keep its form from one run to the next. The first runs of a Loop, in which a state still takes another one (0, then 0.5), are
 * lowered as ops before the loop. */
#include "mdf_c/lower/lowering.h"

#include "functions/control/stack.h"

#include <string.h>

/* A Loop or Scan that is being lowered. */
struct loop {
    struct lowering *lowering;
    struct scope *outer, inner;
    const struct mdf_code_call *source;
    const struct mdf_code *body;
    struct mdf_lowered_loop *result;
    struct region region;
    mdf_lowered_id *initial; /* of each state */
    mdf_lowered_id *yields;
    size_t n_outputs; /* of the body: states, then stacks, from first_yield on */
    size_t first_formal, first_yield;
    size_t n_carried;          /* states of the model; behind them stand those that add_last makes */
    mdf_operand *last_outputs; /* of these: what the call yields */
};

static mdf_lowered_id add_parameter(struct loop *loop, const struct mdf_value *example)
{
    mdf_lowered_id id = lowering_add_value(loop->lowering, MDF_LOWERED_PARAMETER, example);

    if (id != MDF_LOWERED_NONE) {
        loop->lowering->facts[id].depth = loop->region.depth;
    }
    return id;
}

static bool begin_loop(struct loop *loop, size_t first_yield)
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
    loop->last_outputs = mdf_arena_array(&loop->lowering->scratch, loop->n_outputs, sizeof *loop->last_outputs);
    if (result == NULL || loop->yields == NULL || loop->last_outputs == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    *result = (struct mdf_lowered_loop){.n_runs = SIZE_MAX,
                                        .trip_count = MDF_LOWERED_NONE,
                                        .condition = MDF_LOWERED_NONE,
                                        .next_condition = MDF_LOWERED_NONE,
                                        .number = MDF_LOWERED_NONE,
                                        .is_going_on = MDF_LOWERED_NONE};
    result->states = mdf_arena_array(arena, loop->n_outputs, sizeof *result->states);
    result->stacks = mdf_arena_array(arena, loop->n_outputs, sizeof *result->stacks);
    loop->result = result;
    lowering_enter(loop->lowering, &loop->region, REGION_BODY);
    return (result->states != NULL && result->stacks != NULL) || lowering_out_of_memory(loop->lowering);
}

/* Inputs of the call, from number `first` on, as what `n` states begin with. */
static bool read_initial(struct loop *loop, size_t first, size_t n)
{
    size_t i;

    loop->initial = mdf_arena_array(&loop->lowering->scratch, n, sizeof *loop->initial);
    if (loop->initial == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    for (i = 0; i < n; i++) {
        loop->initial[i] = lowering_value_of(loop->lowering, loop->outer, loop->source->inputs[first + i]);
        if (loop->initial[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* State number `i`, bound to a formal. */
static bool add_state(struct loop *loop, size_t i, size_t formal)
{
    struct mdf_lowered_state *state = &loop->result->states[i];

    state->initial = loop->initial[i];
    state->parameter = add_parameter(loop, lowering_example(loop->lowering, state->initial));
    loop->result->n_states = i + 1;
    return lowering_bind(loop->lowering, &loop->inner, loop->body->formals[formal], state->parameter);
}

/* The instructions of a body; afterwards the lowering stands at the call that has it again. */
static bool run_inside(struct lowering *lowering, struct scope *inner)
{
    const struct mdf_origin *origin = lowering->origin;
    const char *operator= lowering->operator;

    lowering->operator= NULL;
    if (!lowering_run(lowering, inner, 0, inner->code->n_instructions)) {
        return false;
    }
    lowering->origin = origin;
    lowering->operator= operator;
    return true;
}

static bool run_body(struct loop *loop)
{
    size_t i;

    if (!run_inside(loop->lowering, &loop->inner)) {
        return false;
    }
    for (i = 0; i < loop->body->n_yields; i++) {
        loop->yields[i] = lowering_value_of(loop->lowering, &loop->inner, loop->body->yields[i]);
        if (loop->yields[i] == MDF_LOWERED_NONE) {
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
    size_t j;

    for (j = 0; j < i; j++) {
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

    if (!lowering_has_same_form(lowering_example(lowering, next), lowering_example(lowering, state->parameter))) {
        return lowering_fail_about(lowering, MDF_REFUSED_CHANGING_STATE, lowering_example(lowering, state->parameter),
                                   lowering_example(lowering, next));
    }
    state->next = is_own(lowering, region, loop, i, next)
                      ? next
                      : lowering_copy(lowering, next, lowering_example(lowering, next)->strength);
    return state->next != MDF_LOWERED_NONE;
}

static bool carry_states(struct loop *loop)
{
    size_t i;

    loop->n_carried = loop->result->n_states;
    for (i = 0; i < loop->n_carried; i++) {
        if (!lowering_carry(loop->lowering, &loop->region, loop->result, i, loop->yields[loop->first_yield + i])) {
            return false;
        }
    }
    return true;
}

/* The only item of a loop that runs once, where it is a scalar: an array of one element would be no scalar, which ops on scalars
 * can not read. It is a state that nobody reads in the loop. */
static bool add_last(struct loop *loop, mdf_lowered_id item, size_t output)
{
    struct mdf_lowered_state *state = &loop->result->states[loop->result->n_states];

    loop->last_outputs[loop->result->n_states - loop->n_carried] = loop->source->outputs[output];
    state->initial = lowering_add_constant(loop->lowering, lowering_example(loop->lowering, item), false);
    if (state->initial == MDF_LOWERED_NONE) {
        return false;
    }
    state->parameter = add_parameter(loop, lowering_example(loop->lowering, state->initial));
    return state->parameter != MDF_LOWERED_NONE &&
           lowering_carry(loop->lowering, &loop->region, loop->result, loop->result->n_states++, item);
}

/* Behind the loop: what add_last kept, with the axis of the runs. */
static bool bind_last(struct loop *loop)
{
    size_t i;

    for (i = loop->n_carried; i < loop->result->n_states; i++) {
        mdf_operand output = loop->last_outputs[i - loop->n_carried];
        mdf_lowered_id last = loop->result->states[i].parameter, stack;

        loop->lowering->facts[last].depth = loop->region.outer->depth;
        if (output == MDF_NO_OPERAND) {
            continue;
        }
        stack = lowering_copy_with_axis(loop->lowering, last);
        if (!lowering_bind(loop->lowering, loop->outer, output, stack)) {
            return false;
        }
    }
    return true;
}

/* The array that output number `output` of the call becomes: `n_items` of `item`, or none where their number is open. */
static bool add_stack(struct loop *loop, mdf_lowered_id item, size_t output, bool is_reversed)
{
    struct mdf_lowered_stack *stack;
    const struct mdf_value *example = lowering_example(loop->lowering, item);
    int64_t shape[MDF_INLINE_RANK];
    struct mdf_value whole = {0};
    size_t n_items = loop->result->n_runs == SIZE_MAX ? 0 : loop->result->n_runs;
    bool made;

    if (example->kind != MDF_KIND_TENSOR || example->rank >= MDF_INLINE_RANK) {
        return lowering_fail(loop->lowering, MDF_REFUSED_MANY_AXES);
    }
    if (n_items == 1 && example->length == 1) {
        return add_last(loop, item, output);
    }
    stack = &loop->result->stacks[loop->result->n_stacks++];
    shape[0] = (int64_t)n_items;
    memcpy(shape + 1, mdf_value_shape(example), example->rank * sizeof *shape);
    made = mdf_value_make_tensor(loop->lowering->memory, &whole, (mdf_dtype)example->dtype, example->rank + 1, shape) != NULL;
    if (made) {
        memset(whole.data, 0, whole.length * mdf_dtype_size((mdf_dtype)whole.dtype));
        whole.strength = example->strength;
        stack->stack = lowering_add_value(loop->lowering, MDF_LOWERED_RESULT, &whole);
    }
    mdf_value_clear(loop->lowering->memory, &whole);
    if (!made || stack->stack == MDF_LOWERED_NONE) {
        return lowering_out_of_memory(loop->lowering);
    }
    loop->lowering->lowered->values[stack->stack].is_scalar = false;
    loop->lowering->lowered->values[stack->stack].is_stored = true;
    loop->lowering->facts[stack->stack].depth = loop->region.outer->depth;
    loop->lowering->facts[stack->stack].region = loop->region.outer;
    loop->lowering->facts[stack->stack].is_open = loop->result->n_runs == SIZE_MAX;
    stack->item = item;
    stack->is_reversed = is_reversed;
    stack->item_bytes = example->length * mdf_dtype_size((mdf_dtype)example->dtype);
    return loop->source->outputs[output] == MDF_NO_OPERAND ||
           lowering_bind(loop->lowering, loop->outer, loop->source->outputs[output], stack->stack);
}

/* What is stacked is a copy: the stack may as well take the original, which often can be written straight into it. */
static void look_through_copies(const struct mdf_lowered_region *body, struct mdf_lowered_stack *stack)
{
    size_t i;

    for (i = body->n_ops; i-- > 0;) {
        if (body->ops[i].code == MDF_LOWERED_COPY && body->ops[i].out == stack->item) {
            stack->item = body->ops[i].in[0];
        }
    }
}

/* Ends the body, then says what may be written straight into a stack. */
static bool end_loop(struct loop *loop)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_LOOP, .out = MDF_LOWERED_NONE, .of.loop = loop->result};
    struct lowering *lowering = loop->lowering;
    size_t i, j;

    if (!lowering_leave(lowering, &loop->result->body)) {
        return false;
    }
    for (i = 0; i < loop->result->n_stacks; i++) {
        struct mdf_lowered_stack *stack = &loop->result->stacks[i];
        const struct fact *fact;
        bool is_state = false;

        look_through_copies(&loop->result->body, stack);
        fact = &lowering->facts[stack->item];
        for (j = 0; j < loop->result->n_states; j++) {
            is_state = is_state || loop->result->states[j].next == stack->item;
        }
        stack->is_direct =
            fact->fused != NULL && fact->region == &loop->region && (!is_state || loop->result->n_runs != SIZE_MAX);
        for (j = 0; j < i; j++) {
            stack->is_direct = stack->is_direct && loop->result->stacks[j].item != stack->item;
        }
        for (j = 0; stack->is_direct && j < loop->result->n_states; j++) {
            loop->result->states[j].is_in_stack =
                loop->result->states[j].is_in_stack || loop->result->states[j].next == stack->item;
        }
    }
    if (!lowering_find_products(lowering, loop->result, loop->region.depth)) {
        return false;
    }
    for (i = 0; i < loop->n_carried; i++) {
        mdf_lowered_id last = loop->result->states[i].parameter;

        lowering->facts[last].depth = loop->region.outer->depth; /* what it is after the loop */
        if (loop->source->outputs[i] != MDF_NO_OPERAND && !lowering_bind(lowering, loop->outer, loop->source->outputs[i], last)) {
            return false;
        }
    }
    return lowering_add_op(lowering, lowering->region, &op) && bind_last(loop);
}

/* ------------------------------------------------------------------ Loop */

/* A trip count that is a real number, as a whole one: plain evaluation refuses one with a fraction, so it is left there. */
static mdf_lowered_id round_bound(struct lowering *lowering, mdf_lowered_id real)
{
    const struct mdf_value *example = lowering_example(lowering, real);
    struct mdf_lowered_op differs = {.code = MDF_LOWERED_NOT_EQUAL, .dtype = example->dtype, .n_in = 2, .in = {real}};
    mdf_lowered_id whole = lowering_cast(lowering, real, MDF_DTYPE_INT64);
    struct mdf_value truth = {0};
    static const bool is_true = true;
    int64_t number;

    if (whole == MDF_LOWERED_NONE) {
        return whole;
    }
    if (lowering_is_constant(lowering, real)) {
        return mdf_value_to_int64(example, &number) ? whole : MDF_LOWERED_NONE;
    }
    differs.in[1] = lowering_cast(lowering, whole, (mdf_dtype)example->dtype);
    mdf_value_borrow_tensor(lowering->memory, &truth, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &is_true);
    return !lowering->is_for_source && differs.in[1] != MDF_LOWERED_NONE &&
                   lowering_bail_out_if(lowering, lowering_add_element_op(lowering, differs, &truth))
               ? whole
               : MDF_LOWERED_NONE;
}

/* A scalar input of the loop, brought to a type; NONE in *id where it is left out. */
static bool read_bound(struct loop *loop, size_t input, mdf_dtype dtype, mdf_lowered_id *id)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_value *example;

    *id = MDF_LOWERED_NONE;
    if (loop->source->n_inputs <= input || loop->source->inputs[input] == MDF_NO_OPERAND) {
        return true;
    }
    *id = lowering_value_of(lowering, loop->outer, loop->source->inputs[input]);
    if (*id == MDF_LOWERED_NONE) {
        return false;
    }
    example = lowering_example(lowering, *id);
    if (example->kind == MDF_KIND_NONE) {
        *id = MDF_LOWERED_NONE;
        return true;
    }
    if (example->kind != MDF_KIND_TENSOR || example->length != 1 || mdf_is_typed_otherwise(example, dtype)) {
        return lowering_fail_about(lowering, MDF_REFUSED_OTHER_BOUND, example, NULL);
    }
    *id = dtype == MDF_DTYPE_INT64 && mdf_dtype_kind((mdf_dtype)example->dtype) == 'f' ? round_bound(lowering, *id)
                                                                                       : lowering_cast(lowering, *id, dtype);
    return *id != MDF_LOWERED_NONE || lowering_fail(lowering, MDF_REFUSED_OTHER_BOUND);
}

enum { FIRST_STATE = 2, FIRST_YIELD = 1 };

/* How often a Loop's body still runs, as in struct mdf_lowered_loop. */
struct bounds {
    size_t n_runs;
    mdf_lowered_id trip_count, condition;
    uint64_t limit;
    int64_t n_done; /* runs before these */
};

static mdf_lowered_id add_whole(struct lowering *lowering, int64_t whole)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &whole);
    return lowering_add_constant(lowering, &value, false);
}

static mdf_lowered_id add_truth(struct lowering *lowering, bool truth)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &truth);
    return lowering_add_constant(lowering, &value, false);
}

/* An op on whole numbers of 64 bits, whose result is like `example`. */
static mdf_lowered_id add_whole_op(struct lowering *lowering, enum mdf_lowered_code code, mdf_lowered_id a, mdf_lowered_id b,
                                   mdf_lowered_id example)
{
    struct mdf_lowered_op op = {.code = (uint8_t)code, .dtype = MDF_DTYPE_INT64, .n_in = 2, .in = {a, b}};
    struct mdf_value form;

    if (a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE || example == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    form = *lowering_example(lowering, example);
    form.buffer = NULL;
    return lowering_add_element_op(lowering, op, &form);
}

/* The number of the run and whether the loop goes on, as the body gets them. */
static bool add_loop_formals(struct loop *loop, const struct bounds *bounds)
{
    static const int64_t first_number = 0;
    static const bool going_on = true;
    struct lowering *lowering = loop->lowering;
    struct mdf_value number = {0}, condition = {0};
    mdf_lowered_id id;

    mdf_value_borrow_tensor(lowering->memory, &number, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &first_number);
    mdf_value_borrow_tensor(lowering->memory, &condition, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &going_on);
    id = loop->result->number = add_parameter(loop, &number);
    loop->result->is_going_on = add_parameter(loop, &condition);
    if (bounds->n_done > 0) {
        id = add_whole_op(lowering, MDF_LOWERED_ADD, id, add_whole(lowering, bounds->n_done), id);
    }
    return lowering_bind(lowering, &loop->inner, loop->body->formals[0], id) &&
           lowering_bind(lowering, &loop->inner, loop->body->formals[1], loop->result->is_going_on);
}

static bool read_bounds(struct loop *loop, struct bounds *bounds)
{
    struct lowering *lowering = loop->lowering;

    *bounds = (struct bounds){.n_runs = SIZE_MAX, .limit = lowering->execution->context.max_iterations};
    if (!read_bound(loop, 0, MDF_DTYPE_INT64, &bounds->trip_count) || !read_bound(loop, 1, MDF_DTYPE_BOOL, &bounds->condition)) {
        return false;
    }
    if (bounds->trip_count == MDF_LOWERED_NONE && bounds->condition == MDF_LOWERED_NONE && bounds->limit == 0) {
        return lowering_fail(lowering, MDF_REFUSED_ENDLESS);
    }
    if (bounds->trip_count != MDF_LOWERED_NONE && bounds->condition == MDF_LOWERED_NONE &&
        lowering_is_constant(lowering, bounds->trip_count)) {
        int64_t n = *(const int64_t *)lowering_example(lowering, bounds->trip_count)->data;

        bounds->n_runs = n < 0 ? 0 : (size_t)n;
        bounds->trip_count = MDF_LOWERED_NONE;
    }
    return true;
}

/* Whether all states are after the body's run as they were before it; else the first that is not is in *changing. */
static bool keeps_forms(const struct loop *loop, size_t *changing)
{
    size_t i;

    for (i = 0; i < loop->result->n_states; i++) {
        if (!lowering_has_same_form(lowering_example(loop->lowering, loop->yields[loop->first_yield + i]),
                                    lowering_example(loop->lowering, loop->result->states[i].parameter))) {
            *changing = i;
            return false;
        }
    }
    return true;
}

/* The loop with its body, whose states may change their forms (*changes): then nothing of it is there afterwards but values that no
 * op makes. */
static bool lower_runs(struct loop *loop, const struct bounds *bounds, size_t n_states, bool *changes, size_t *changing)
{
    struct lowering *lowering = loop->lowering;
    mdf_lowered_id truth;
    size_t i;

    if (!begin_loop(loop, FIRST_YIELD)) {
        return false;
    }
    loop->result->n_runs = bounds->n_runs;
    loop->result->trip_count = bounds->trip_count;
    loop->result->condition = bounds->condition;
    loop->result->limit = bounds->limit;
    if (!add_loop_formals(loop, bounds)) {
        return false;
    }
    for (i = 0; i < n_states; i++) {
        if (!add_state(loop, i, FIRST_STATE + i)) {
            return false;
        }
    }
    if (!run_body(loop)) {
        return false;
    }
    *changes = !keeps_forms(loop, changing);
    if (*changes) {
        lowering->region = loop->region.outer;
        return true;
    }
    truth = lowering_truth(lowering, loop->yields[0]); /* what is no truth is refused, also where nobody looks at it */
    if (truth == MDF_LOWERED_NONE) {
        return false;
    }
    if (loop->result->condition != MDF_LOWERED_NONE) {
        loop->result->next_condition = truth;
    }
    if (!carry_states(loop)) {
        return false;
    }
    for (i = n_states; i < loop->n_outputs; i++) {
        if (!add_stack(loop, loop->yields[FIRST_YIELD + i], i, false)) {
            return false;
        }
    }
    return end_loop(loop);
}

/* Leaves where the loop may not run once more, as its results would have other forms then. A compiled model can not leave. */
static bool begin_peeled_run(struct lowering *lowering, const struct bounds *bounds)
{
    mdf_lowered_id zero = add_whole(lowering, 0), example = add_truth(lowering, true);
    bool is_sure = (bounds->trip_count == MDF_LOWERED_NONE || lowering_is_constant(lowering, bounds->trip_count)) &&
                   (bounds->condition == MDF_LOWERED_NONE || lowering_is_constant(lowering, bounds->condition));
    struct mdf_lowered_op is_over = {.code = MDF_LOWERED_NOT, .dtype = MDF_DTYPE_BOOL, .n_in = 1, .in = {bounds->condition}};
    struct mdf_value truth = {0};

    if (zero == MDF_LOWERED_NONE || example == MDF_LOWERED_NONE || (lowering->is_for_source && !is_sure)) {
        return false;
    }
    if (bounds->trip_count != MDF_LOWERED_NONE &&
        !lowering_bail_out_if(lowering, add_whole_op(lowering, MDF_LOWERED_LESS_EQUAL, bounds->trip_count, zero, example))) {
        return false;
    }
    if (bounds->condition == MDF_LOWERED_NONE ||
        (lowering_is_constant(lowering, bounds->condition) && lowering_is_true(lowering, bounds->condition))) {
        return true;
    }
    truth = *lowering_example(lowering, example);
    truth.buffer = NULL;
    return lowering_bail_out_if(lowering, lowering_add_element_op(lowering, is_over, &truth));
}

/* One run of the body before the loop: afterwards the states begin with what it yields. */
static bool peel(struct loop *loop, struct bounds *bounds, size_t n_states)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];
    struct scope inner = {.code = body, .outer = loop->outer};
    mdf_lowered_id goes_on = bounds->condition == MDF_LOWERED_NONE ? add_truth(lowering, true) : bounds->condition, truth;
    size_t i;

    if (!begin_peeled_run(lowering, bounds) ||
        !lowering_bind(lowering, &inner, body->formals[0], add_whole(lowering, bounds->n_done)) ||
        !lowering_bind(lowering, &inner, body->formals[1], goes_on)) {
        return false;
    }
    for (i = 0; i < n_states; i++) {
        if (!lowering_bind(lowering, &inner, body->formals[FIRST_STATE + i], loop->initial[i])) {
            return false;
        }
    }
    if (!run_inside(lowering, &inner)) {
        return false;
    }
    truth = lowering_truth(lowering, lowering_value_of(lowering, &inner, body->yields[0]));
    for (i = 0; i < n_states; i++) {
        loop->initial[i] = lowering_value_of(lowering, &inner, body->yields[FIRST_YIELD + i]);
        if (loop->initial[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    if (bounds->trip_count != MDF_LOWERED_NONE) {
        bounds->trip_count = add_whole_op(lowering, MDF_LOWERED_SUBTRACT, bounds->trip_count, add_whole(lowering, 1),
                                          bounds->trip_count);
    }
    bounds->condition = bounds->condition == MDF_LOWERED_NONE ? bounds->condition : truth;
    bounds->n_runs -= bounds->n_runs != SIZE_MAX;
    bounds->limit -= bounds->limit > 0;
    bounds->n_done++;
    return truth != MDF_LOWERED_NONE;
}

/* How many ops there are in the regions around, from the inside. */
static size_t *count_ops(struct lowering *lowering)
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
static void restore_ops(struct lowering *lowering, const size_t *counts)
{
    struct region *region;
    size_t n = 0;

    for (region = lowering->region; region != NULL; region = region->outer) {
        region->n_ops = counts[n++];
    }
}

static bool lower_loop(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    enum { MOST_PEELED = 3 };
    size_t n_states = source->n_inputs > FIRST_STATE ? source->n_inputs - FIRST_STATE : 0, changing = 0;
    struct loop outside = {.lowering = lowering, .outer = scope, .source = source}, loop;
    bool changes = true;
    struct bounds bounds;

    if (!read_bounds(&outside, &bounds) || !read_initial(&outside, FIRST_STATE, n_states)) {
        return false;
    }
    while (changes) {
        size_t *counts = count_ops(lowering);

        loop = outside;
        if (counts == NULL || !lower_runs(&loop, &bounds, n_states, &changes, &changing)) {
            return false;
        }
        if (!changes) {
            break;
        }
        restore_ops(lowering, counts);
        /* What is stacked would be one array of what the first runs give and of what the others do. */
        if (bounds.n_done == MOST_PEELED || loop.n_outputs != n_states || bounds.n_runs == 0 || bounds.limit == 1 ||
            !peel(&outside, &bounds, n_states)) {
            return lowering_fail_about(lowering, MDF_REFUSED_CHANGING_STATE,
                                       lowering_example(lowering, loop.result->states[changing].parameter),
                                       lowering_example(lowering, loop.yields[FIRST_YIELD + changing]));
        }
    }
    return true;
}

/* ------------------------------------------------------------------ Scan */

/* Entry number `i` of a list attribute, or 0. */
static int64_t entry(const struct mdf_code_call *source, const char *name, size_t i)
{
    const struct mdf_ints *list = lowering_setting(source->operator, source->settings, name);

    return list != NULL && list->items != NULL && i < list->n ? list->items[i] : 0;
}

static bool add_rows(struct loop *loop, size_t n_states, size_t n_rows)
{
    struct lowering *lowering = loop->lowering;
    size_t i;

    loop->result->rows = mdf_arena_array(&lowering->lowered->arena, n_rows, sizeof *loop->result->rows);
    if (loop->result->rows == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < n_rows; i++) {
        struct mdf_lowered_rows *rows = &loop->result->rows[i];
        const struct mdf_value *whole;
        struct mdf_value item = {0};
        size_t length;

        rows->source = lowering_value_of(lowering, loop->outer, loop->source->inputs[n_states + i]);
        if (rows->source == MDF_LOWERED_NONE) {
            return false;
        }
        whole = lowering_example(lowering, rows->source);
        if (whole->kind != MDF_KIND_TENSOR || whole->rank == 0 || entry(loop->source, "scan_input_axes", i) != 0 ||
            whole->length == 0) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_AXIS);
        }
        length = (size_t)mdf_value_shape(whole)[0];
        if (i > 0 && length != loop->result->n_runs) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
        loop->result->n_runs = length;
        rows->is_reversed = entry(loop->source, "scan_input_directions", i) == 1;
        mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)whole->dtype, (enum mdf_strength)whole->strength,
                                whole->rank - 1, mdf_value_shape(whole) + 1, whole->data);
        rows->parameter = add_parameter(loop, &item);
        loop->result->n_rows = i + 1;
        if (!lowering_bind(lowering, &loop->inner, loop->body->formals[n_states + i], rows->parameter)) {
            return false;
        }
    }
    return true;
}

static bool lower_scan(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    const int64_t *n_scan_inputs = lowering_setting(source->operator, source->settings, "num_scan_inputs");
    struct loop loop = {.lowering = lowering, .outer = scope, .source = source};
    size_t n_states, i;

    if (source->operator->since<9 || n_scan_inputs == NULL || * n_scan_inputs<1 ||(size_t) * n_scan_inputs > source->n_inputs) {
        return lowering_fail(lowering, MDF_REFUSED_SCAN_BATCH);
    }
    n_states = source->n_inputs - (size_t)*n_scan_inputs;
    if (!read_initial(&loop, 0, n_states) || !begin_loop(&loop, 0)) {
        return false;
    }
    for (i = 0; i < n_states; i++) {
        if (!add_state(&loop, i, i)) {
            return false;
        }
    }
    if (!add_rows(&loop, n_states, (size_t)*n_scan_inputs) || !run_body(&loop) || !carry_states(&loop)) {
        return false;
    }
    for (i = n_states; i < loop.n_outputs; i++) {
        if (entry(source, "scan_output_axes", i - n_states) != 0) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_OUTPUT_AXIS);
        }
        if (!add_stack(&loop, loop.yields[i], i, entry(source, "scan_output_directions", i - n_states) == 1)) {
            return false;
        }
    }
    return end_loop(&loop);
}

/* ------------------------------------------------------------------ If */

static bool run_branch(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, size_t branch,
                       mdf_lowered_id *yields, struct mdf_lowered_region *result)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[branch]];
    struct scope inner = {.code = body, .outer = scope};
    struct region region;
    size_t i;

    if (body->program != NULL) {
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    lowering_enter(lowering, &region, REGION_BRANCH);
    if (!run_inside(lowering, &inner)) {
        return false;
    }
    for (i = 0; i < source->n_outputs; i++) {
        yields[i] = lowering_value_of(lowering, &inner, body->yields[i]);
        if (yields[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return lowering_leave(lowering, result);
}

/* The branch of a condition that never changes, as if the body stood in the code around. */
static bool take_branch(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, size_t branch)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[branch]];
    struct scope inner = {.code = body, .outer = scope};
    size_t i;

    if (body->program != NULL) {
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    if (!run_inside(lowering, &inner)) {
        return false;
    }
    for (i = 0; i < source->n_outputs; i++) {
        if (source->outputs[i] != MDF_NO_OPERAND &&
            !lowering_bind(lowering, scope, source->outputs[i], lowering_value_of(lowering, &inner, body->yields[i]))) {
            return false;
        }
    }
    return true;
}

static bool lower_if(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    struct mdf_lowered_if *branches = mdf_arena_allocate(arena, sizeof *branches);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .of.branches = branches};
    mdf_lowered_id *yields[2], condition = lowering_value_of(lowering, scope, source->inputs[0]);
    size_t i;

    for (i = 0; i < 2; i++) {
        yields[i] = mdf_arena_array(&lowering->scratch, source->n_outputs, sizeof *yields[i]);
    }
    if (branches == NULL || yields[0] == NULL || yields[1] == NULL) {
        return lowering_out_of_memory(lowering);
    }
    branches->merges = mdf_arena_array(arena, source->n_outputs, sizeof *branches->merges);
    if (condition == MDF_LOWERED_NONE || branches->merges == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (mdf_is_typed_otherwise(lowering_example(lowering, condition), MDF_DTYPE_BOOL)) {
        return lowering_fail(lowering, MDF_REFUSED_OTHER_CONDITION);
    }
    branches->condition = lowering_truth(lowering, condition);
    if (branches->condition != MDF_LOWERED_NONE && lowering_is_constant(lowering, branches->condition)) {
        return take_branch(lowering, scope, source, lowering_is_true(lowering, branches->condition) ? 0 : 1);
    }
    if (branches->condition == MDF_LOWERED_NONE || !run_branch(lowering, scope, source, 0, yields[0], &branches->then) ||
        !run_branch(lowering, scope, source, 1, yields[1], &branches->otherwise)) {
        return false;
    }
    for (i = 0; i < source->n_outputs; i++) {
        struct mdf_lowered_merge *merge = &branches->merges[branches->n_merges];

        if (source->outputs[i] == MDF_NO_OPERAND) {
            continue;
        }
        *merge = (struct mdf_lowered_merge){MDF_LOWERED_NONE, yields[0][i], yields[1][i]};
        merge->out = lowering_add_merge(lowering, merge->then, merge->otherwise);
        branches->n_merges++;
        if (merge->out == MDF_LOWERED_NONE) {
            return lowering_fail(lowering, MDF_REFUSED_DIFFERENT_BRANCHES);
        }
        if (!lowering_bind(lowering, scope, source->outputs[i], merge->out)) {
            return false;
        }
    }
    return lowering_add_op(lowering, lowering->region, &op);
}

bool lowering_control(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    static const struct {
        const char *name;
        bool (*lower)(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source);
    } operators[] = {{"Loop", lower_loop}, {"Scan", lower_scan}, {"If", lower_if}};
    size_t i;

    for (i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strcmp(source->operator->name, operators[i].name) == 0) {
            return operators[i].lower(lowering, scope, source) || lowering_fail(lowering, MDF_REFUSED_BODIES);
        }
    }
    return lowering_fail(lowering, MDF_REFUSED_BODIES);
}
