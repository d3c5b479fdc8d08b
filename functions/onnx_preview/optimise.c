/* optimise.c - one step of training: Adagrad, Adam, Momentum.
 *
 * Comes in: the learning rate, the number of steps so far; then variables, their gradients and what is remembered of them, the
 * first of each kind before the second. Goes out: the new variables and what is remembered now. Computed in float64. Source: ONNX
 * ai.onnx.preview.training, version 1 of each. */
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct optimise_settings {
    double alpha, beta, epsilon, decay, norm, norm_after;
    const char *mode;
};

#define SETTING(name, type, field)                                          \
    {                                                                       \
        name, MDF_SETTING_##type, offsetof(struct optimise_settings, field) \
    }
static const struct mdf_setting adagrad_table[] = {SETTING("norm_coefficient", FLOAT, norm),
                                                   SETTING("decay_factor", FLOAT, decay),
                                                   SETTING("epsilon", FLOAT, epsilon),
                                                   {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting adam_table[] = {
    SETTING("norm_coefficient", FLOAT, norm), SETTING("norm_coefficient_post", FLOAT, norm_after),
    SETTING("alpha", FLOAT, alpha),           SETTING("beta", FLOAT, beta),
    SETTING("epsilon", FLOAT, epsilon),       {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting momentum_table[] = {SETTING("norm_coefficient", FLOAT, norm),
                                                    SETTING("alpha", FLOAT, alpha),
                                                    SETTING("beta", FLOAT, beta),
                                                    SETTING("mode", STRING, mode),
                                                    {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum { FIRST_INPUT = 2, MOST_KINDS = 4 };

#include "functions/onnx_preview/optimise_routine.inc"

enum { ADAGRAD, ADAM, MOMENTUM, NESTEROV }; /* as mdf_train has them */

/* Which of them a call is, and of how many kinds its arrays are. False with the error set. */
static bool find_method(struct mdf_call *call, int64_t *which, size_t *n_kinds)
{
    const struct optimise_settings *settings = call->settings;
    const struct mdf_setting *table = call->operator->settings;

    *which = table == adagrad_table ? ADAGRAD : table == adam_table ? ADAM : MOMENTUM;
    *n_kinds = *which == ADAM ? 4 : 3;
    if (*which == MOMENTUM && strcmp(settings->mode, "standard") != 0) {
        *which = NESTEROV;
    }
    return *which != NESTEROV || strcmp(settings->mode, "nesterov") == 0 ||
           mdf_call_error(call, MDF_VALUE, "there is no mode '%.100s'", settings->mode);
}

/* All variables of one call. */
struct training {
    int64_t which, count; /* of steps so far */
    size_t n_kinds, n_variables;
    double rate, settings[6];
};

/* Variable number `i`: an input of each kind, of one shape and type. Goes to outputs of all kinds but the gradient. */
static bool step_variable(struct mdf_call *call, size_t i, const struct training *training)
{
    size_t n_variables = training->n_variables, n_kinds = training->n_kinds;
    const struct mdf_value *x = mdf_call_tensor(call, FIRST_INPUT + i);
    const double *inputs[MOST_KINDS] = {NULL};
    double *outputs[MOST_KINDS] = {NULL};
    struct mdf_workspace workspace;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 2 * MOST_KINDS)) {
        return false;
    }
    for (size_t kind = 0; kind < n_kinds; kind++) {
        size_t input = FIRST_INPUT + kind * n_variables + i;
        const struct mdf_value *value = mdf_call_tensor(call, input);

        if (value == NULL ||
            !mdf_workspace_check_shape(call, "a gradient, or what is remembered,", value, x->rank, mdf_value_shape(x))) {
            return false;
        }
        inputs[kind] = mdf_workspace_input(&workspace, input);
        if (inputs[kind] == NULL) {
            return false;
        }
    }
    for (size_t kind = 0; kind + 1 < n_kinds; kind++) {
        size_t output = kind * n_variables + i;

        outputs[kind] = mdf_call_result(call, output) != NULL
                            ? mdf_workspace_output(&workspace, output, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x))
                            : mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT64, x->length);
        if (outputs[kind] == NULL) {
            return false;
        }
    }
    mdf_train(training->which, training->settings, training->rate, training->count, (int64_t)x->length, inputs, outputs);
    return mdf_workspace_end(&workspace);
}

static void list_settings(const struct optimise_settings *settings, double numbers[6])
{
    const double all[] = {settings->alpha, settings->beta, settings->epsilon,
                          settings->decay, settings->norm, settings->norm_after};

    memcpy(numbers, all, sizeof all);
}

static bool optimise(struct mdf_call *call)
{
    size_t n = call->n_inputs > FIRST_INPUT ? call->n_inputs - FIRST_INPUT : 0;
    struct training training;

    if (!mdf_call_real(call, 0, &training.rate) || !mdf_call_integer(call, 1, &training.count) ||
        !find_method(call, &training.which, &training.n_kinds)) {
        return false;
    }
    if (n == 0 || n % training.n_kinds != 0) {
        return mdf_call_error(call, MDF_VALUE, "%zu arrays are not variables and %zu more of each", n, training.n_kinds - 1);
    }
    training.n_variables = n / training.n_kinds;
    list_settings(call->settings, training.settings);
    for (size_t i = 0; i < training.n_variables; i++) {
        if (!step_variable(call, i, &training)) {
            return false;
        }
    }
    return true;
}

static bool plan_training(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    size_t n_kinds, n_variables;
    int64_t which;

    if (!find_method(call, &which, &n_kinds) || call->inputs[1]->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    n_variables = (call->n_inputs - FIRST_INPUT) / n_kinds;
    if (!mdf_routine_room(plan, 4 + 2 * n_variables, 6) || !mdf_routine_kind(call->inputs[0], MDF_DTYPE_NONE, &plan->whole[3])) {
        return false;
    }
    plan->function = "train_all";
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = which;
    plan->whole[1] = (int64_t)n_kinds;
    plan->whole[2] = (int64_t)n_variables;
    list_settings(call->settings, plan->real);
    for (size_t i = 0; i < call->n_inputs - FIRST_INPUT; i++) {
        const struct mdf_value *value = call->inputs[FIRST_INPUT + i], *x = call->inputs[FIRST_INPUT + i % n_variables];

        if (value->dtype != x->dtype || !mdf_routine_kind(x, MDF_DTYPE_NONE, &plan->whole[4 + 2 * (i % n_variables)])) {
            return false;
        }
        plan->whole[5 + 2 * (i % n_variables)] = (int64_t)x->length;
    }
    return true;
}

#define ROW(name, table, rule)                                                                   \
    {                                                                                            \
        name, 1, 99, optimise, table, sizeof(struct optimise_settings), MDF_OPERATOR_PURE, NULL, \
            .infer = &(rule), .routine = MDF_ROUTINE(plan_training, NULL)                        \
    }

const struct mdf_operator mdf_operators_preview_optimise[] = {ROW("Adagrad", adagrad_table, mdf_rule_moved),
                                                              ROW("Adam", adam_table, mdf_rule_adam),
                                                              ROW("Momentum", momentum_table, mdf_rule_moved),
                                                              {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
