/* loop.c - onnx::Loop: a body that runs while there are iterations left (M) and the condition holds (cond).
 *
 * In: M, cond (each may be left out), initial values of the state variables. The body takes the iteration number, the condition
 * and the state variables; it yields the next condition, the next state variables, and scan outputs. Out: the last state
 * variables, and the scan outputs of all iterations stacked along a new first axis. Without a cond input the body's condition is
 * ignored. Source: https://onnx.ai/onnx/operators/onnx__Loop.html */
#include "functions/control/stack.h"
#include "functions/kernel/operator.h"

#include <string.h>

enum {
    FIRST_STATE = 2,
    FIRST_FORMAL_STATE = 2,
    FIRST_YIELD_STATE = 1,
    LARGEST_FIRST_CAPACITY = 1024,
    FIRST_VERSION_WITH_SEQUENCES = 13
};

struct loop_settings {
    size_t body;
};

static const struct mdf_setting loop_settings[] = {{"body", MDF_SETTING_GRAPH, offsetof(struct loop_settings, body)},
                                                   {NULL, MDF_SETTING_GRAPH, 0}};

struct loop {
    struct mdf_call *call;
    struct mdf_body *body;
    uint64_t n_iterations; /* UINT64_MAX: no trip count */
    bool has_condition, condition;
    size_t n_states, n_scans;
    struct mdf_stack *scans;
};

static bool read_bounds(struct loop *loop)
{
    const struct mdf_value *trip_count = mdf_call_input(loop->call, 0), *condition = mdf_call_input(loop->call, 1);
    int64_t count;

    loop->n_iterations = UINT64_MAX;
    loop->condition = true;
    if (trip_count != NULL && trip_count->kind != MDF_KIND_NONE) {
        if (!mdf_value_to_int64(trip_count, &count) || mdf_is_typed_otherwise(trip_count, MDF_DTYPE_INT64)) {
            return mdf_call_error(loop->call, MDF_TYPE, "the trip count M must be one whole number (int64)");
        }
        loop->n_iterations = count < 0 ? 0 : (uint64_t)count;
    }
    loop->has_condition = condition != NULL && condition->kind != MDF_KIND_NONE;
    if (loop->has_condition) {
        if (mdf_is_typed_otherwise(condition, MDF_DTYPE_BOOL)) {
            return mdf_call_error(loop->call, MDF_TYPE, "the condition must be one boolean");
        }
        if (!mdf_read_condition(loop->call, condition, "the condition", &loop->condition)) {
            return false;
        }
    }
    if (loop->n_iterations == UINT64_MAX && !loop->has_condition && loop->call->context->max_iterations == 0) {
        return mdf_call_error(
            loop->call, MDF_LIMIT,
            "a loop with neither a trip count M nor a condition never ends: give one, or set --max-iterations (max_iterations)");
    }
    return true;
}

static bool set_formals(struct loop *loop, uint64_t iteration)
{
    struct mdf_memory *memory = loop->call->context->memory;
    struct mdf_value *number = loop->body->inputs[0], *condition = loop->body->inputs[1];

    if (!mdf_value_make_int(memory, number, (int64_t)iteration) || !mdf_value_make_bool(memory, condition, loop->condition)) {
        return mdf_call_out_of_memory(loop->call);
    }
    number->strength = condition->strength = MDF_STRENGTH_TYPED;
    return true;
}

static bool run_iteration(struct loop *loop, uint64_t iteration)
{
    bool holds;

    if (!set_formals(loop, iteration) || !loop->body->run(loop->body) ||
        !mdf_read_condition(loop->call, loop->body->outputs[0], "the condition that the body yields", &holds)) {
        return false;
    }
    loop->condition = !loop->has_condition || holds;
    for (size_t i = 0; i < loop->n_scans; i++) {
        if (!mdf_stack_put(loop->call, &loop->scans[i], loop->body->outputs[FIRST_YIELD_STATE + loop->n_states + i],
                           (size_t)iteration)) {
            return false;
        }
    }
    if (mdf_should_stop(loop->call->context)) {
        return false;
    }
    return mdf_body_carry(loop->call, loop->body, FIRST_FORMAL_STATE, FIRST_YIELD_STATE, loop->n_states);
}

static bool run_iterations(struct loop *loop)
{
    uint64_t limit = loop->call->context->max_iterations;

    for (uint64_t iteration = 0; iteration < loop->n_iterations && loop->condition; iteration++) {
        if (limit != 0 && iteration >= limit) {
            return mdf_call_error(loop->call, MDF_LIMIT,
                                  "the loop goes on after %llu iterations, the bound of --max-iterations (max_iterations)",
                                  (unsigned long long)limit);
        }
        if (!run_iteration(loop, iteration)) {
            mdf_error_append(&loop->call->context->error, " (iteration %llu of onnx::Loop)", (unsigned long long)iteration);
            return false;
        }
    }
    return true;
}

static bool begin(struct loop *loop)
{
    struct mdf_memory *memory = loop->call->context->memory;
    size_t capacity = loop->n_iterations > LARGEST_FIRST_CAPACITY ? LARGEST_FIRST_CAPACITY : (size_t)loop->n_iterations, i;
    int64_t bytes = (int64_t)(loop->n_scans * sizeof *loop->scans);

    loop->scans = mdf_value_make_tensor(memory, &loop->call->scratch[1], MDF_DTYPE_UINT8, 1, &bytes);
    if (loop->scans == NULL) {
        return mdf_call_out_of_memory(loop->call);
    }
    for (i = 0; i < loop->n_scans; i++) {
        mdf_stack_begin(&loop->scans[i], loop->call->outputs[loop->n_states + i], 0, capacity);
    }
    for (i = 0; i < loop->n_states; i++) {
        if (loop->call->operator->since < FIRST_VERSION_WITH_SEQUENCES && loop->call->inputs[FIRST_STATE + i]->kind == MDF_KIND_LIST &&
            loop->call->inputs[FIRST_STATE + i]->dtype != MDF_DTYPE_NONE) {
            return mdf_call_error(loop->call, MDF_TYPE, "a sequence as a state variable needs version %d (opset %d)",
                                  FIRST_VERSION_WITH_SEQUENCES, FIRST_VERSION_WITH_SEQUENCES);
        }
        if (!mdf_value_copy(memory, loop->body->inputs[FIRST_FORMAL_STATE + i], loop->call->inputs[FIRST_STATE + i])) {
            return mdf_call_out_of_memory(loop->call);
        }
    }
    return true;
}

static bool end(struct loop *loop)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        mdf_value_swap(loop->call->outputs[i], loop->body->inputs[FIRST_FORMAL_STATE + i]);
    }
    for (size_t i = 0; i < loop->n_scans; i++) {
        if (!mdf_stack_end(loop->call, &loop->scans[i], &loop->body->output_types[FIRST_YIELD_STATE + loop->n_states + i])) {
            return false;
        }
    }
    return true;
}

static bool run_loop(struct mdf_call *call)
{
    struct loop loop = {.call = call, .body = call->bodies[0]};

    loop.n_states = call->n_inputs > FIRST_STATE ? call->n_inputs - FIRST_STATE : 0;
    loop.n_scans = loop.body->n_outputs - FIRST_YIELD_STATE - loop.n_states;
    return (read_bounds(&loop) && begin(&loop) && run_iterations(&loop) && end(&loop)) || mdf_stack_drop(call, loop.n_states);
}

const struct mdf_operator mdf_operators_loop[] = {
    {"Loop", 1, 12, run_loop, loop_settings, sizeof(struct loop_settings), MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_LOOP,
     .infer = &mdf_rule_loop},
    {"Loop", 13, 99, run_loop, loop_settings, sizeof(struct loop_settings), MDF_OPERATOR_KEEPS_INPUTS, NULL,
     .form = MDF_FORM_LOOP, .infer = &mdf_rule_loop},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
