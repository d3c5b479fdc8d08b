/* lower_loop.c - Loop as a structured op. See lower_loops.h. */
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"

#include "functions/control/stack.h"
#include "functions/kernel/move.h"

#include <string.h>

/* A trip count that is a real number, as a whole one: plain evaluation refuses one with a fraction, so it bails out there. */
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

/* The loop's own number and those of the runs before it; in the example there was none in the loop. */
static mdf_lowered_id add_done(struct lowering *lowering, mdf_lowered_id number, int64_t n_done)
{
    struct mdf_lowered_op sum = {.code = MDF_LOWERED_ADD, .dtype = MDF_DTYPE_INT64, .n_in = 2, .in = {number}};
    struct mdf_value example = {0};

    mdf_value_borrow_tensor(lowering->memory, &example, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &n_done);
    sum.in[1] = mdf_term_whole(lowering, n_done);
    return sum.in[0] == MDF_LOWERED_NONE || sum.in[1] == MDF_LOWERED_NONE ? MDF_LOWERED_NONE
                                                                          : lowering_add_element_op(lowering, sum, &example);
}

/* The number of the run and whether the loop goes on, as the body gets them. */
static bool add_loop_formals(struct loop *loop, const struct loop_bounds *bounds)
{
    static const int64_t first_number = 0;
    static const bool going_on = true;
    struct lowering *lowering = loop->lowering;
    struct mdf_value number = {0}, condition = {0}, second = {0};
    mdf_lowered_id id;

    mdf_value_borrow_tensor(lowering->memory, &number, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &first_number);
    mdf_value_borrow_tensor(lowering->memory, &second, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &bounds->later_done);
    mdf_value_borrow_tensor(lowering->memory, &condition, MDF_DTYPE_BOOL, MDF_STRENGTH_TYPED, 0, NULL, &going_on);
    id = loop->result->number = loop_add_parameter(loop, &number);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].is_number = true;
        lowering->facts[id].loop = loop->result;
        lowering->facts[id].most = bounds->n_runs == 0 ? 0 : bounds->n_runs < INT64_MAX ? (int64_t)bounds->n_runs - 1 : INT64_MAX;
    }
    loop->result->is_going_on = loop_add_parameter(loop, &condition);
    if (bounds->n_done > 0) {
        id = add_done(lowering, id, bounds->n_done);
    }
    /* What is as long as the number says has another length in a later run. */
    if (bounds->n_runs > 1 && id != MDF_LOWERED_NONE && !lowering_open(lowering, id, &second)) {
        return false;
    }
    return lowering_bind(lowering, &loop->inner, loop->body->formals[0], id) &&
           lowering_bind(lowering, &loop->inner, loop->body->formals[1], loop->result->is_going_on);
}

/* Whether the condition is true before the first run, and the body hands it on: a trip count alone bounds the loop then. */
static bool is_always_true(const struct loop *loop, mdf_lowered_id condition)
{
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];

    return condition != MDF_LOWERED_NONE && lowering_is_constant(loop->lowering, condition) &&
           lowering_is_true(loop->lowering, condition) && body->program == NULL &&
           loop_hands_on(body, body->yields[0], body->formals[1]);
}

bool loop_read_bounds(struct loop *loop, struct loop_bounds *bounds)
{
    struct lowering *lowering = loop->lowering;

    *bounds = (struct loop_bounds){.n_runs = SIZE_MAX, .limit = lowering->execution->context.max_iterations, .later_done = 1};
    if (!read_bound(loop, 0, MDF_DTYPE_INT64, &bounds->trip_count) || !read_bound(loop, 1, MDF_DTYPE_BOOL, &bounds->condition)) {
        return false;
    }
    if (bounds->trip_count != MDF_LOWERED_NONE && is_always_true(loop, bounds->condition)) {
        bounds->condition = MDF_LOWERED_NONE;
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

/* Whether there may be no run, after which a scan output would not be what the body declares, or a list has no item. */
static bool needs_run(const struct loop *loop, const struct loop_bounds *bounds, size_t n_states)
{
    if (bounds->n_runs != 0 && bounds->n_runs != SIZE_MAX) {
        return false;
    }
    for (size_t i = 0; loop->grows != NULL && i < n_states; i++) {
        if (loop->grows[i] && lowering_example(loop->lowering, loop->initial[i])->kind == MDF_KIND_LIST) {
            return true;
        }
    }
    for (size_t i = n_states; i < loop->n_outputs; i++) {
        if (loop->results[i] == MDF_LOWERED_NONE || !loop_declares_item(&loop->body->yield_types[LOOP_FIRST_YIELD + i],
                                                                        lowering_example(loop->lowering, loop->results[i]))) {
            return true;
        }
    }
    return false;
}

static bool begin_peeled_run(struct lowering *lowering, const struct loop_bounds *bounds);

/* How often the body runs, where the model gives it a condition that does nothing but count; else SIZE_MAX. */
static size_t count_runs(struct loop *loop, const struct loop_bounds *bounds)
{
    const struct lowering *lowering = loop->lowering;
    int64_t most = INT64_MAX;
    size_t n;

    if (bounds->n_runs != SIZE_MAX || bounds->condition == MDF_LOWERED_NONE ||
        !lowering_is_constant(lowering, bounds->condition) || !lowering_is_true(lowering, bounds->condition) ||
        (bounds->trip_count != MDF_LOWERED_NONE && !lowering_is_constant(lowering, bounds->trip_count))) {
        return SIZE_MAX;
    }
    if (bounds->trip_count != MDF_LOWERED_NONE) {
        most = *(const int64_t *)lowering_example(lowering, bounds->trip_count)->data;
    }
    n = most < 1 ? SIZE_MAX : loop_count_runs(loop, loop->yields[0], (uint64_t)most);
    return bounds->limit != 0 && n > bounds->limit ? SIZE_MAX : n;
}

/* The loop with its body, whose states may change their forms (*changes), or whose runs may be counted (*n_counted; NULL: they
 * are not): then nothing of it is there afterwards but values that no op makes. */
static bool lower_runs(struct loop *loop, const struct loop_bounds *bounds, size_t n_states, size_t *n_counted, bool *changes,
                       size_t *changing)
{
    struct lowering *lowering = loop->lowering;
    mdf_lowered_id truth;

    if (!loop_begin(loop, LOOP_FIRST_YIELD)) {
        return false;
    }
    loop->result->n_runs = bounds->n_runs;
    loop->result->trip_count = bounds->trip_count;
    loop->result->condition = bounds->condition;
    loop->result->limit = bounds->limit;
    if (!add_loop_formals(loop, bounds)) {
        return false;
    }
    for (size_t i = 0; i < n_states; i++) {
        if (!loop_add_state(loop, i, LOOP_FIRST_STATE + i)) {
            return false;
        }
    }
    if (!loop_run_body(loop)) {
        return false;
    }
    *changes = !loop_keeps_forms(loop, changing);
    if (n_counted != NULL) { /* what the shape of a state says is another thing in the next run */
        *n_counted = *changes ? SIZE_MAX : count_runs(loop, bounds);
    }
    if (*changes || (n_counted != NULL && *n_counted != SIZE_MAX)) {
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
    if (!loop_carry_states(loop)) {
        return false;
    }
    for (size_t i = 0; loop->grows != NULL && i < n_states; i++) {
        if (loop->grows[i] && !loop_append_state(loop, i)) {
            return false;
        }
    }
    for (size_t i = n_states; i < loop->n_outputs; i++) {
        if (!loop_add_stack(loop, loop->yields[LOOP_FIRST_YIELD + i], i, false)) {
            return false;
        }
    }
    if (!loop_end(loop)) {
        return false;
    }
    for (size_t i = 0; loop->grows != NULL && i < n_states; i++) {
        if (loop->grows[i] && !loop_move_back_state(loop, i)) {
            return false;
        }
    }
    if (lowering->is_for_source || !needs_run(loop, bounds, n_states)) {
        return !lowering_has_failed(lowering);
    }
    return bounds->n_runs == 0 ? lowering_bail_out(lowering) : begin_peeled_run(lowering, bounds);
}

/* The same. What is as long as the number says is longer in the next run, and calls fail where a state is not: whether that
 * changes its form, too, is told by one run. */
static bool try_runs(struct loop *loop, const struct loop_bounds *bounds, size_t n_states, size_t *n_counted, bool *changes,
                     size_t *changing)
{
    const struct loop outside = *loop;
    struct lowering *lowering = loop->lowering;
    struct loop_bounds one = *bounds;
    struct lowering_attempt attempt;
    struct mdf_refusal why;

    if (!lowering_begin_attempt(lowering, &attempt)) {
        return false;
    }
    if (lower_runs(loop, bounds, n_states, n_counted, changes, changing)) {
        return true;
    }
    why = lowering->refusal;
    if (why.reason != MDF_REFUSED_FAILING_CALL || bounds->n_runs <= 1 || !loop_may_be_tried_again(lowering) ||
        !lowering_take_back(lowering, &attempt)) {
        return false;
    }
    *loop = outside;
    *n_counted = SIZE_MAX;
    one.n_runs = 1;
    one.trip_count = one.condition = MDF_LOWERED_NONE;
    if (lower_runs(loop, &one, n_states, NULL, changes, changing) && *changes) {
        return true;
    }
    lowering->refusal = lowering->refusal.reason == MDF_REFUSED_OUT_OF_MEMORY ? lowering->refusal : why;
    return false;
}

/* Bails out where the loop may not run once more, as its results would have other forms then. A compiled model can not bail out.
 */
static bool begin_peeled_run(struct lowering *lowering, const struct loop_bounds *bounds)
{
    bool is_sure = (bounds->trip_count == MDF_LOWERED_NONE || lowering_is_constant(lowering, bounds->trip_count)) &&
                   (bounds->condition == MDF_LOWERED_NONE || lowering_is_constant(lowering, bounds->condition));

    if (lowering->is_for_source && !is_sure) {
        return false;
    }
    if (bounds->trip_count != MDF_LOWERED_NONE &&
        !lowering_bail_out_if(lowering, mdf_term_compute(lowering, MDF_LOWERED_LESS_EQUAL, false, bounds->trip_count,
                                                         mdf_term_whole(lowering, 0)))) {
        return false;
    }
    return bounds->condition == MDF_LOWERED_NONE || mdf_term_is(lowering, bounds->condition, true) ||
           lowering_bail_out_if(lowering, mdf_term_not(lowering, bounds->condition));
}

bool loop_peel(struct loop *loop, struct loop_bounds *bounds, size_t n_states)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];
    struct scope inner = {.code = body, .outer = loop->outer};
    mdf_lowered_id truth;

    if (!begin_peeled_run(lowering, bounds) ||
        !lowering_bind(lowering, &inner, body->formals[0], mdf_term_whole(lowering, bounds->n_done)) ||
        !lowering_bind(lowering, &inner, body->formals[1], mdf_term_truth(lowering, true))) { /* typed, as the kernel gives it */
        return false;
    }
    for (size_t i = 0; i < n_states; i++) {
        if (!lowering_bind(lowering, &inner, body->formals[LOOP_FIRST_STATE + i], loop_show_state(loop, i, loop->initial[i]))) {
            return false;
        }
    }
    if (!lowering_run_inside(lowering, &inner)) {
        return false;
    }
    truth = lowering_truth(lowering, lowering_either_value_of(lowering, &inner, body->yields[0]));
    if (!loop_keep_run(loop, &inner, n_states, LOOP_FIRST_YIELD, false)) {
        return false;
    }
    if (bounds->trip_count != MDF_LOWERED_NONE) {
        bounds->trip_count =
            mdf_term_compute(lowering, MDF_LOWERED_SUBTRACT, false, bounds->trip_count, mdf_term_whole(lowering, 1));
    }
    bounds->condition = bounds->condition == MDF_LOWERED_NONE ? bounds->condition : truth;
    bounds->n_runs -= bounds->n_runs != SIZE_MAX;
    bounds->limit -= bounds->limit > 0;
    bounds->n_done++;
    bounds->later_done++;
    return truth != MDF_LOWERED_NONE;
}

/* Whether what a state becomes is longer than it was, along one axis. */
static bool is_longer(const struct mdf_value *next, const struct mdf_value *state)
{
    size_t n_longer = 0;

    if (next->kind != MDF_KIND_TENSOR || next->dtype != state->dtype || next->rank != state->rank) {
        return false;
    }
    for (size_t d = 0; d < state->rank; d++) {
        n_longer += mdf_value_shape(next)[d] > mdf_value_shape(state)[d];
    }
    return n_longer == 1;
}

/* Whether what a state becomes has another shape of as many axes. */
static bool has_other_shape(const struct mdf_value *next, const struct mdf_value *state)
{
    return next->kind == MDF_KIND_TENSOR && state->kind == MDF_KIND_TENSOR && next->dtype == state->dtype &&
           next->dtype != MDF_DTYPE_STRING && next->strength == state->strength && next->rank == state->rank &&
           next->rank <= MDF_INLINE_RANK && !mdf_value_has_shape_of(next, state);
}

/* The code of a body, in that of the one around it; NULL: that is around the loop. */
struct inner_code {
    const struct mdf_code *code;
    const struct inner_code *outer;
};

/* Whether an operand may be another value in each run. */
static bool may_change(const struct inner_code *inner, mdf_operand operand)
{
    while (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE && inner->outer != NULL) {
        operand = inner->code->captures[MDF_OPERAND_INDEX(operand)];
        inner = inner->outer;
    }
    return operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT;
}

/* Whether something in the body is as long as a number says that may change. */
static bool cuts_by_numbers(const struct inner_code *inner)
{
    const struct mdf_code *code = inner->code;

    for (size_t i = 0; i < code->n_calls; i++) {
        const struct mdf_code_call *call = &code->calls[i];

        for (size_t j = 1; call->operator->move != NULL && call->operator->move->cuts && j<call->n_inputs; j++) {
            if (may_change(inner, call->inputs[j])) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        const struct inner_code body = {code->bodies[i], inner};

        if (cuts_by_numbers(&body)) {
            return true;
        }
    }
    return false;
}

/* A few whole numbers that become others. */
static bool has_moved(const struct mdf_value *next, const struct mdf_value *state)
{
    enum { MOST_NUMBERS = 8 };

    return next->kind == MDF_KIND_TENSOR && state->kind == MDF_KIND_TENSOR && next->length <= MOST_NUMBERS &&
           mdf_dtype_kind((mdf_dtype)state->dtype) == 'i' && mdf_value_has_form_of(next, state) &&
           !mdf_elements_same((mdf_dtype)state->dtype, next->data, state->data, state->length);
}

/* Notes in `outside` which states are numbers that lengths may go by, after the body has been gone through. */
static bool mark_moves(struct loop *outside, const struct loop *loop, size_t n_states, bool *any)
{
    struct lowering *lowering = outside->lowering;
    const struct inner_code body = {loop->body, NULL};
    bool *moves = mdf_arena_array(&lowering->scratch, n_states, sizeof *moves), cuts = cuts_by_numbers(&body);

    outside->next = mdf_arena_array(&lowering->scratch, n_states, sizeof *outside->next);
    if (moves == NULL || outside->next == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *any = false;
    for (size_t i = 0; cuts && i < n_states; i++) {
        outside->next[i] = lowering_example(lowering, loop->yields[LOOP_FIRST_YIELD + i]);
        moves[i] = has_moved(outside->next[i], lowering_example(lowering, outside->initial[i]));
        *any = *any || moves[i];
    }
    outside->moves = moves;
    return true;
}

/* The same once more, where states that were found to change only grow, or (`opens`) are left to calls in any shape; else
 * *changes stays true, and nothing of it is there. */
static bool lower_growing_runs(struct loop *loop, const struct loop *outside, const struct loop_bounds *bounds, size_t n_states,
                               bool opens, bool *changes)
{
    struct lowering *lowering = loop->lowering;
    bool *grows = mdf_arena_array(&lowering->scratch, n_states, sizeof *grows);
    const struct mdf_value **next = mdf_arena_array(&lowering->scratch, n_states, sizeof *next);
    struct lowering_attempt attempt;
    struct loop growing = *outside;
    bool any = false;
    size_t i;

    if (grows == NULL || next == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (!lowering_begin_attempt(lowering, &attempt)) {
        return false;
    }
    for (i = 0; i < n_states; i++) {
        next[i] = lowering_example(lowering, loop->yields[LOOP_FIRST_YIELD + i]);
        grows[i] = opens ? has_other_shape(next[i], lowering_example(lowering, outside->initial[i]))
                         : (outside->grows != NULL && outside->grows[i]) ||
                               is_longer(next[i], lowering_example(lowering, loop->initial[i]));
        any = any || grows[i];
    }
    growing.grows = opens ? outside->grows : grows;
    growing.opens = opens ? grows : NULL;
    growing.next = next;
    if (any && lower_runs(&growing, bounds, n_states, NULL, changes, &i) && !*changes) {
        *loop = growing;
        return true;
    }
    *changes = true;
    loop->grown = lowering->refusal.reason == MDF_REFUSED_GROWN ? lowering->refusal : loop->grown;
    return lowering_take_back(lowering, &attempt);
}

/* The same, of states that only grow: also with numbers as they were, where these becoming others did not help. */
static bool lower_grown(struct loop *loop, struct loop *outside, const struct loop_bounds *bounds, size_t n_states, bool moves,
                        bool *changes)
{
    if (!lower_growing_runs(loop, outside, bounds, n_states, false, changes) || !*changes || !moves) {
        return !lowering_has_failed(outside->lowering);
    }
    memset(outside->moves, 0, n_states * sizeof *outside->moves);
    return lower_growing_runs(loop, outside, bounds, n_states, false, changes);
}

/* A Loop from which no run has been taken yet, or the first one. */
struct stage {
    struct loop outside;
    struct loop_bounds bounds;
    size_t *counts; /* of ops before it */
};

static bool keep_stage(struct stage *stage, const struct loop *outside, const struct loop_bounds *bounds, size_t n_states)
{
    struct lowering *lowering = outside->lowering;

    *stage = (struct stage){*outside, *bounds, lowering_count_ops(lowering)};
    stage->outside.initial = mdf_arena_array(&lowering->scratch, n_states, sizeof *stage->outside.initial);
    if (stage->outside.initial == NULL || stage->counts == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(stage->outside.initial, outside->initial, n_states * sizeof *outside->initial);
    stage->outside.moves = NULL;
    return true;
}

/* Whether a size of a state changes in the first run, and not afterwards. */
static bool settles_at_once(const struct loop *loop, const struct stage *stages, size_t n_states)
{
    const struct lowering *lowering = loop->lowering;

    for (size_t i = 0; i < n_states; i++) {
        const struct mdf_value *first = lowering_example(lowering, stages[0].outside.initial[i]);
        const struct mdf_value *second = lowering_example(lowering, stages[1].outside.initial[i]);
        const struct mdf_value *last = lowering_example(lowering, loop->yields[LOOP_FIRST_YIELD + i]);

        for (size_t d = 0; has_other_shape(second, first) && last->rank == first->rank && d < first->rank; d++) {
            if (mdf_value_shape(second)[d] != mdf_value_shape(first)[d] &&
                mdf_value_shape(last)[d] == mdf_value_shape(second)[d]) {
                return true;
            }
        }
    }
    return false;
}

/* Whether all states that change do nothing but change their shapes: lower_growing_runs may leave these open. */
static bool only_shapes_change(const struct loop *loop, const struct loop *outside, size_t n_states)
{
    const struct lowering *lowering = loop->lowering;

    for (size_t i = 0; i < n_states; i++) {
        const struct mdf_value *initial = lowering_example(lowering, outside->initial[i]);
        const struct mdf_value *next = lowering_example(lowering, loop->yields[LOOP_FIRST_YIELD + i]);

        if (!mdf_value_has_form_of(next, initial) && !has_other_shape(next, initial)) {
            return false;
        }
    }
    return true;
}

/* With states whose shapes change in each run open: without runs before it, or with the one in which others settle. */
static bool lower_opened(struct loop *loop, struct loop *outside, struct loop_bounds *bounds, struct stage *stages,
                         size_t n_states, bool *changes)
{
    struct stage *stage = &stages[outside->n_peeled > 0 && settles_at_once(loop, stages, n_states)];

    if (only_shapes_change(loop, &stage->outside, n_states)) {
        lowering_restore_ops(loop->lowering, stage->counts);
        stage->bounds.later_done = bounds->later_done; /* when states were as the last loop yields them */
        *outside = stage->outside;
        *bounds = stage->bounds;
    }
    return lower_growing_runs(loop, outside, bounds, n_states, true, changes);
}

/* Lists can only grow. */
static bool mark_lists(struct loop *loop, size_t n_states)
{
    bool *grows = mdf_arena_array(&loop->lowering->scratch, n_states, sizeof *grows);

    if (grows == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    for (size_t i = 0; i < n_states; i++) {
        grows[i] = lowering_example(loop->lowering, loop->initial[i])->kind == MDF_KIND_LIST;
        loop->grows = grows[i] ? grows : loop->grows;
    }
    return true;
}

/* Whether nothing of the body is read: there is no run, and no scan output, which would have the body's shape. */
static bool passes_states_on(const struct loop *loop, const struct loop_bounds *bounds, size_t n_states)
{
    size_t i;

    for (i = n_states; i < loop->source->n_outputs && loop->source->outputs[i] == MDF_NO_OPERAND; i++) {
    }
    return bounds->n_runs == 0 && i >= loop->source->n_outputs;
}

/* As a loop, with a few runs before it; `item_forms`: its sequences as rows with room for more. */
static bool lower_as_loop(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                          const struct mdf_value **item_forms)
{
    size_t n_states = source->n_inputs > LOOP_FIRST_STATE ? source->n_inputs - LOOP_FIRST_STATE : 0, changing = 0, n_counted;
    struct loop outside = {.lowering = lowering, .outer = scope, .source = source, .item_forms = item_forms}, loop;
    struct loop_bounds bounds;
    struct stage stages[2];
    bool changes = true, moves = false, has_optionals;

    if (!loop_read_bounds(&outside, &bounds) || (item_forms != NULL && !loop_find_room(&outside, &bounds)) ||
        !loop_read_initial(&outside, LOOP_FIRST_STATE, n_states) || !mark_lists(&outside, n_states)) {
        return false;
    }
    if (passes_states_on(&outside, &bounds, n_states)) {
        return loop_join_runs(&outside, n_states, 0, NULL) && loop_bind_results(&outside);
    }
    while (changes && (outside.n_peeled == 0 || bounds.n_runs > 0)) {
        struct lowering_attempt attempt;

        loop = outside;
        if ((outside.n_peeled < 2 && !keep_stage(&stages[outside.n_peeled], &outside, &bounds, n_states)) ||
            !lowering_begin_attempt(lowering, &attempt)) {
            return false;
        }
        if (!try_runs(&loop, &bounds, n_states, &n_counted, &changes, &changing)) {
            if (!moves || loop_may_be_written_out(lowering) || !lowering_take_back(lowering, &attempt)) {
                return false;
            }
            memset(outside.moves, 0, n_states * sizeof *outside.moves);
            moves = false;
            continue;
        }
        if (changes && !loop_find_optionals(&outside, &loop, n_states, &has_optionals)) {
            return false;
        }
        if (changes && has_optionals) { /* once more, as such */
            lowering->n_growing = attempt.n_growing;
            lowering_restore_ops(lowering, attempt.counts);
            continue;
        }
        if (outside.moves == NULL && bounds.n_runs > 1 && !mark_moves(&outside, &loop, n_states, &moves)) {
            return false;
        }
        if (!changes && n_counted == SIZE_MAX && (!moves || loop.moves != NULL || !loop_may_be_tried_again(lowering))) {
            break;
        }
        lowering->n_growing = attempt.n_growing;
        lowering_restore_ops(lowering, attempt.counts);
        if (n_counted != SIZE_MAX) { /* once more, for so many runs */
            bounds.n_runs = n_counted;
            bounds.trip_count = bounds.condition = MDF_LOWERED_NONE;
            changes = true;
            continue;
        }
        if (!changes) { /* once more, with what the numbers become */
            changes = true;
            continue;
        }
        if (!loop_may_be_tried_again(lowering)) {
            return loop_refuse_state(&loop, changing);
        }
        if (!lower_grown(&loop, &outside, &bounds, n_states, moves, &changes)) {
            return false;
        }
        if (!changes) {
            break;
        }
        if (outside.n_peeled == MOST_PEELED || bounds.n_runs == 0 || bounds.limit == 1 ||
            (loop.n_outputs != n_states && bounds.n_runs == SIZE_MAX)) {
            if (lowering->is_for_source) {
                return loop_refuse_state(&loop, changing);
            }
            if (!lower_opened(&loop, &outside, &bounds, stages, n_states, &changes) || changes) {
                return loop_refuse_state(&loop, changing);
            }
            break;
        }
        if (item_forms != NULL || !loop_peel(&outside, &bounds, n_states)) {
            return loop_refuse_state(&loop, changing);
        }
        outside.moves = NULL;
        moves = false;
    }
    return (outside.n_peeled == 0 || loop_join_runs(&outside, n_states, bounds.n_runs, NULL)) && loop_bind_results(&outside);
}

/* Once more for each sequence of no item whose form a try has told. */
static bool lower_with_room(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                            const struct lowering_attempt *attempt)
{
    size_t n_states = source->n_inputs > LOOP_FIRST_STATE ? source->n_inputs - LOOP_FIRST_STATE : 0, n_known = 0, n, i;
    const struct mdf_value **item_forms = mdf_arena_array(&lowering->scratch, n_states, sizeof *item_forms);

    if (item_forms == NULL) {
        return lowering_out_of_memory(lowering);
    }
    while (!lower_as_loop(lowering, scope, source, item_forms)) {
        for (n = 0, i = 0; i < n_states; i++) {
            n += item_forms[i] != NULL;
        }
        if (n == n_known || !loop_may_be_tried_again(lowering) || !lowering_take_back(lowering, attempt)) {
            return false;
        }
        n_known = n;
    }
    return true;
}

/* Whether a state is a sequence. */
static bool has_sequences(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    for (size_t i = LOOP_FIRST_STATE; i < source->n_inputs; i++) {
        mdf_lowered_id id = lowering_any_value_of(lowering, scope, source->inputs[i]);

        if (id != MDF_LOWERED_NONE && lowering_example(lowering, id)->kind == MDF_KIND_LIST &&
            lowering_example(lowering, id)->dtype != MDF_DTYPE_NONE) {
            return true;
        }
    }
    return false;
}

/* In another way than as a loop of states that keep their forms. */
static bool lower_otherwise(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                            const struct lowering_attempt *attempt, enum mdf_refusal_reason why)
{
    if (loop_may_be_written_out(lowering) && lowering_take_back(lowering, attempt) &&
        loop_write_out(lowering, scope, source, why)) {
        return true;
    }
    return lowering_take_back(lowering, attempt) && has_sequences(lowering, scope, source) && loop_may_be_tried_again(lowering) &&
           lower_with_room(lowering, scope, source, attempt);
}

bool lowering_loop(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    struct lowering_attempt attempt;
    struct mdf_refusal why;

    if (!lowering_begin_attempt(lowering, &attempt)) {
        return false;
    }
    if (lower_as_loop(lowering, scope, source, NULL)) {
        return true;
    }
    why = lowering->refusal;
    if (!lower_otherwise(lowering, scope, source, &attempt, why.reason)) {
        lowering->refusal = lowering->refusal.reason == MDF_REFUSED_OUT_OF_MEMORY ? lowering->refusal : why;
        return false;
    }
    return true;
}
