/* optimise.c - one step of training: Adagrad, Adam, Momentum.
 *
 * Comes in: the learning rate, the number of steps so far; then variables, their gradients and what is remembered of them, the
 * first of each kind before the second. Goes out: the new variables and what is remembered now. Computed in float64. Source: ONNX
 * ai.onnx.preview.training, version 1 of each. */
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

/* One variable: arrays of one shape. */
struct step {
    const double *x, *gradient, *memory[2];
    double *new_x, *new_memory[2];
    size_t n;
    double rate;
    int64_t count; /* of steps so far */
};

typedef void (*step_function)(const struct optimise_settings *settings, const struct step *step);

static void adagrad_step(const struct optimise_settings *settings, const struct step *step)
{
    double rate = step->rate / (1 + (double)step->count * settings->decay);

    for (size_t i = 0; i < step->n; i++) {
        double gradient = settings->norm * step->x[i] + step->gradient[i];

        step->new_memory[0][i] = step->memory[0][i] + gradient * gradient;
        step->new_x[i] = step->x[i] - rate * gradient / (sqrt(step->new_memory[0][i]) + settings->epsilon);
    }
}

static void adam_step(const struct optimise_settings *settings, const struct step *step)
{
    double alpha = settings->alpha, beta = settings->beta, count = (double)step->count;
    double rate = step->count > 0 ? step->rate * sqrt(1 - pow(beta, count)) / (1 - pow(alpha, count)) : step->rate;

    for (size_t i = 0; i < step->n; i++) {
        double gradient = settings->norm * step->x[i] + step->gradient[i];
        double mean = alpha * step->memory[0][i] + (1 - alpha) * gradient;
        double square = beta * step->memory[1][i] + (1 - beta) * gradient * gradient;

        step->new_memory[0][i] = mean;
        step->new_memory[1][i] = square;
        step->new_x[i] = (1 - settings->norm_after) * (step->x[i] - rate * mean / (sqrt(square) + settings->epsilon));
    }
}

static void momentum_step(const struct optimise_settings *settings, const struct step *step)
{
    bool nesterov = strcmp(settings->mode, "nesterov") == 0;
    double beta = step->count > 0 ? settings->beta : 1;

    for (size_t i = 0; i < step->n; i++) {
        double gradient = settings->norm * step->x[i] + step->gradient[i];
        double momentum = settings->alpha * step->memory[0][i] + beta * gradient;

        step->new_memory[0][i] = momentum;
        step->new_x[i] = step->x[i] - step->rate * (nesterov ? gradient + settings->alpha * momentum : momentum);
    }
}

/* Variable number `i` of `n_variables`: an input of each of `n_kinds` kinds, of one shape and type. Goes to outputs of all kinds
 * but the gradient. */
static bool step_variable(struct mdf_call *call, size_t i, size_t n_variables, size_t n_kinds, step_function function,
                          struct step *step)
{
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
    step->x = inputs[0];
    step->gradient = inputs[1];
    step->memory[0] = inputs[2];
    step->memory[1] = inputs[3];
    step->new_x = outputs[0];
    step->new_memory[0] = outputs[1];
    step->new_memory[1] = outputs[2];
    step->n = x->length;
    function(call->settings, step);
    return mdf_workspace_end(&workspace);
}

static bool optimise(struct mdf_call *call, size_t n_kinds, step_function function)
{
    size_t n = call->n_inputs > FIRST_INPUT ? call->n_inputs - FIRST_INPUT : 0;
    struct step step = {0};

    if (!mdf_call_real(call, 0, &step.rate) || !mdf_call_integer(call, 1, &step.count)) {
        return false;
    }
    if (n == 0 || n % n_kinds != 0) {
        return mdf_call_error(call, MDF_VALUE, "%zu arrays are not variables and %zu more of each", n, n_kinds - 1);
    }
    for (size_t i = 0; i < n / n_kinds; i++) {
        if (!step_variable(call, i, n / n_kinds, n_kinds, function, &step)) {
            return false;
        }
    }
    return true;
}

static bool adagrad(struct mdf_call *call)
{
    return optimise(call, 3, adagrad_step);
}

static bool adam(struct mdf_call *call)
{
    return optimise(call, 4, adam_step);
}

static bool momentum(struct mdf_call *call)
{
    const struct optimise_settings *settings = call->settings;

    if (strcmp(settings->mode, "nesterov") != 0 && strcmp(settings->mode, "standard") != 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no mode '%.100s'", settings->mode);
    }
    return optimise(call, 3, momentum_step);
}

#define SETTINGS(table) table, sizeof(struct optimise_settings), MDF_OPERATOR_PURE, NULL

const struct mdf_operator mdf_operators_preview_optimise[] = {
    {"Adagrad", 1, 99, adagrad, SETTINGS(adagrad_table), .infer = &mdf_rule_moved},
    {"Adam", 1, 99, adam, SETTINGS(adam_table), .infer = &mdf_rule_adam},
    {"Momentum", 1, 99, momentum, SETTINGS(momentum_table), .infer = &mdf_rule_moved},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
