/* dropout.c - Dropout.
 *
 * Comes in: an array; from version 12 on also a ratio and whether this is training. Goes out: the array as it is or, in training,
 * with each element set to 0 with probability `ratio` and the others divided by 1 - ratio; and the mask of those kept.
 * Up to version 6 training is `is_test` 0; versions 7 and 10 only infer. Source: ONNX Dropout, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "functions/sampling/random.h"

struct dropout_settings {
    int64_t is_test, seed;
    double ratio;
};

static const struct mdf_setting attribute_table[] = {{"is_test", MDF_SETTING_INT, offsetof(struct dropout_settings, is_test)},
                                                     {"ratio", MDF_SETTING_FLOAT, offsetof(struct dropout_settings, ratio)},
                                                     {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting input_table[] = {{"seed", MDF_SETTING_INT, offsetof(struct dropout_settings, seed)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* The mask has the type of the data up to version 7, then it is bool. */
static bool keep_all(struct mdf_call *call, const struct mdf_value *data, mdf_dtype mask_dtype)
{
    struct mdf_workspace workspace;
    float *mask;

    if (!mdf_call_output_copy(call, 0, data) || mdf_call_result(call, 1) == NULL) {
        return call->context->error.code == MDF_OK;
    }
    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, 3)) {
        return false;
    }
    mask = mdf_workspace_output(&workspace, 1, mask_dtype, data->rank, mdf_value_shape(data));
    for (size_t i = 0; mask != NULL && i < data->length; i++) {
        mask[i] = 1;
    }
    return mask != NULL && mdf_workspace_end(&workspace);
}

static bool drop(struct mdf_call *call, const struct mdf_value *data, double ratio, uint64_t *state, mdf_dtype mask_dtype)
{
    struct mdf_workspace workspace;
    const double *x;
    double *y, *mask = NULL;

    if (!(ratio >= 0 && ratio <= 1)) {
        return mdf_call_error(call, MDF_VALUE, "ratio is %g, not in [0, 1]", ratio);
    }
    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    x = mdf_workspace_input(&workspace, 0);
    y = x == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)data->dtype, data->rank, mdf_value_shape(data));
    if (y != NULL && mdf_call_result(call, 1) != NULL) {
        mask = mdf_workspace_output(&workspace, 1, mask_dtype, data->rank, mdf_value_shape(data));
        y = mask == NULL ? NULL : y;
    }
    for (size_t i = 0; y != NULL && i < data->length; i++) {
        bool kept = mdf_random_uniform(state) >= ratio;

        y[i] = kept ? x[i] / (1 - ratio) : 0;
        if (mask != NULL) {
            mask[i] = kept ? 1 : 0;
        }
    }
    return y != NULL && mdf_workspace_end(&workspace);
}

static bool dropout_1(struct mdf_call *call)
{
    const struct dropout_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);

    if (data == NULL) {
        return false;
    }
    if (settings->is_test != 0) {
        return keep_all(call, data, (mdf_dtype)data->dtype);
    }
    return drop(call, data, settings->ratio, call->context->random_state, (mdf_dtype)data->dtype);
}

static bool dropout_7(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);

    return data != NULL && keep_all(call, data, (mdf_dtype)data->dtype);
}

static bool dropout_10(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);

    return data != NULL && keep_all(call, data, MDF_DTYPE_BOOL);
}

static bool dropout_12(struct mdf_call *call)
{
    const struct dropout_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    uint64_t seeded[4], *state = call->context->random_state;
    double ratio = 0.5, training = 0;

    if (data == NULL || (mdf_call_input(call, 1) != NULL && !mdf_call_real(call, 1, &ratio)) ||
        (mdf_call_input(call, 2) != NULL && !mdf_call_real(call, 2, &training))) {
        return false;
    }
    if (training == 0) {
        return keep_all(call, data, MDF_DTYPE_BOOL);
    }
    if (settings->seed != MDF_NOT_GIVEN) {
        mdf_random_seed(seeded, (uint64_t)settings->seed);
        state = seeded;
    }
    return drop(call, data, ratio, state, MDF_DTYPE_BOOL);
}

/* ------------------------------------------------------------------ as C */

/* What draw_routine.inc has of a call that leaves nothing out. */
static bool plan_kept(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *data = mdf_call_input(call, 0);

    if (data == NULL || mdf_call_result(call, 0) == NULL || !mdf_routine_room(plan, 8, 1)) {
        return false;
    }
    plan->function = "draw_onnx_dropout";
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[2] = (int64_t)data->length;
    return mdf_dtype_is_real(data->dtype) && mdf_routine_kind(data, MDF_DTYPE_NONE, &plan->whole[3]) &&
           mdf_routine_kind(mdf_call_result(call, 1), MDF_DTYPE_NONE, &plan->whole[7]);
}

static bool plan_dropout_1(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct dropout_settings *settings = call->settings;

    if (!plan_kept(call, plan)) {
        return false;
    }
    plan->whole[6] = settings->is_test == 0;
    plan->real[0] = settings->ratio;
    return true;
}

static bool plan_dropout_12(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct dropout_settings *settings = call->settings;

    if (!plan_kept(call, plan)) {
        return false;
    }
    plan->whole[0] = settings->seed != MDF_NOT_GIVEN;
    plan->whole[1] = settings->seed;
    plan->real[0] = 0.5;
    return mdf_routine_kind(mdf_call_input(call, 1), MDF_DTYPE_NONE, &plan->whole[4]) &&
           mdf_routine_kind(mdf_call_input(call, 2), MDF_DTYPE_NONE, &plan->whole[5]);
}

static const char no_ratio[] = "the ratio is not in [0, 1]";

/* The mask tells what was dropped: of a 0 the result does not. */
#define BY_MASK(ratio)                                                                             \
    "(dy * y1 / (1 - " ratio ") if y1 is not None else gradient.refuse('dropped elements without " \
    "the output `mask`'))"

static const struct mdf_derivative of_version_1[] = {{0, "dy if is_test else " BY_MASK("ratio")}, {MDF_DERIVATIVE_END, NULL}},
                                   of_version_12[] = {
                                       {0, "dy if x2 is None or x2 == False else " BY_MASK("(0.5 if x1 is None else x1)")},
                                       {2, NULL},
                                       {MDF_DERIVATIVE_END, NULL}};

const struct mdf_operator mdf_operators_dropout[] = {
    {"Dropout", 1, 6, dropout_1, attribute_table, sizeof(struct dropout_settings), MDF_OPERATOR_RANDOM, NULL,
     .infer = &mdf_rule_same_of_all, .routine = MDF_DRAWING_ROUTINE(plan_dropout_1, no_ratio), .derivatives = of_version_1},
    {"Dropout", 7, 9, dropout_7, NULL, 0, MDF_OPERATOR_INFERS, NULL, .infer = &mdf_rule_same_of_all,
     .routine = MDF_DRAWING_ROUTINE(plan_kept, NULL), .derivatives = MDF_DERIVATIVES({0, "dy"})},
    {"Dropout", 10, 11, dropout_10, NULL, 0, MDF_OPERATOR_INFERS, NULL, .infer = &mdf_rule_same_of_all,
     .routine = MDF_DRAWING_ROUTINE(plan_kept, NULL), .derivatives = MDF_DERIVATIVES({0, "dy"})},
    {"Dropout", 12, 99, dropout_12, input_table, sizeof(struct dropout_settings), MDF_OPERATOR_RANDOM, NULL,
     .infer = &mdf_rule_same_of_all, .routine = MDF_DRAWING_ROUTINE(plan_dropout_12, no_ratio), .derivatives = of_version_12},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
