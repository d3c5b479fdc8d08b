/* causal_conv.c - a convolution over what came so far, channel by channel: CausalConvWithState.
 *
 * Comes in: [batch, channel, length], a kernel a channel, the last elements of the input before (zeros where there are none).
 * Goes out: the convolution, of the same length, through Swish where asked; and the last elements of this input. Computed in
 * float32. Source: ONNX CausalConvWithState 27. */
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct causal_settings {
    const char *activation;
};

static const struct mdf_setting causal_table[] = {
    {"activation", MDF_SETTING_STRING, offsetof(struct causal_settings, activation)}, {NULL, MDF_SETTING_INT, 0}};

enum { INPUT_X, INPUT_WEIGHT, INPUT_BIAS, INPUT_STATE, N_INPUTS };

/* Numbers for causal_conv_routine.inc. */
enum { CAUSAL_FIRST, CAUSAL_END, CAUSAL_CHANNELS, CAUSAL_LENGTH, CAUSAL_KERNEL, CAUSAL_SWISH, CAUSAL_NUMBERS };

#include "functions/recurrent/causal_conv_routine.inc"

struct causal {
    const void *in[N_INPUTS]; /* bias, state: may be NULL */
    void *out[2];             /* the second: NULL, not wanted */
    int64_t whole[CAUSAL_NUMBERS];
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.5;

/* Rows [first, last) of elements, one a batch and channel. */
static void convolve_rows(void *context, size_t first, size_t last)
{
    const struct causal *job = context;
    int64_t whole[CAUSAL_NUMBERS];

    memcpy(whole, job->whole, sizeof whole);
    whole[CAUSAL_FIRST] = (int64_t)first;
    whole[CAUSAL_END] = (int64_t)last;
    mdf_causal_conv(job->out, job->in, whole, NULL, NULL);
}

/* What shapes and the activation say. */
static bool describe_rows(struct mdf_call *call, int64_t *whole)
{
    const struct causal_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, INPUT_X), *weight = mdf_call_tensor(call, INPUT_WEIGHT);
    const struct mdf_value *bias = mdf_call_input(call, INPUT_BIAS), *past = mdf_call_input(call, INPUT_STATE);
    int64_t shape[3];

    whole[CAUSAL_SWISH] = strcmp(settings->activation, "silu") == 0 || strcmp(settings->activation, "swish") == 0;
    if (whole[CAUSAL_SWISH] == 0 && strcmp(settings->activation, "none") != 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no activation '%.100s'", settings->activation);
    }
    if (x == NULL || weight == NULL) {
        return false;
    }
    if (x->rank != 3 || weight->rank != 3 || mdf_value_shape(weight)[2] < 1) {
        return mdf_call_error(call, MDF_SHAPE, "input and weight must have rank 3, and the kernel an element");
    }
    memcpy(shape, mdf_value_shape(x), sizeof shape);
    whole[CAUSAL_END] = shape[0] * shape[1];
    whole[CAUSAL_CHANNELS] = shape[1];
    whole[CAUSAL_LENGTH] = shape[2];
    whole[CAUSAL_KERNEL] = mdf_value_shape(weight)[2];
    shape[2] = whole[CAUSAL_KERNEL] - 1;
    return mdf_workspace_check_shape(call, "weight", weight, 3, (const int64_t[3]){shape[1], 1, whole[CAUSAL_KERNEL]}) &&
           (bias == NULL || mdf_workspace_check_shape(call, "bias", bias, 1, shape + 1)) &&
           (past == NULL || mdf_workspace_check_shape(call, "past_state", past, 3, shape));
}

static bool causal_conv(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct causal job = {0};
    int64_t shape[3];
    mdf_dtype dtype;

    if (!describe_rows(call, job.whole) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, 6)) {
        return false;
    }
    dtype = (mdf_dtype)call->inputs[INPUT_X]->dtype;
    memcpy(shape, mdf_value_shape(call->inputs[INPUT_X]), sizeof shape);
    for (size_t i = INPUT_X; i < N_INPUTS; i++) {
        job.in[i] = mdf_call_input(call, i) != NULL ? mdf_workspace_input(&workspace, i) : NULL;
    }
    job.out[0] = mdf_workspace_output(&workspace, 0, dtype, 3, shape);
    if (job.out[0] == NULL || call->context->error.code != MDF_OK) {
        return false;
    }
    shape[2] = job.whole[CAUSAL_KERNEL] - 1;
    if (mdf_call_result(call, 1) != NULL && (job.out[1] = mdf_workspace_output(&workspace, 1, dtype, 3, shape)) == NULL) {
        return false;
    }
    if (call->inputs[INPUT_X]->length > 0 || job.out[1] != NULL) {
        mdf_parallel_for(call->context, (size_t)(shape[0] * shape[1]),
                         multiply_ns * (double)job.whole[CAUSAL_LENGTH] * (double)job.whole[CAUSAL_KERNEL], convolve_rows, &job);
    }
    return mdf_workspace_end(&workspace);
}

static bool plan_causal(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    for (size_t i = INPUT_X; i < N_INPUTS; i++) {
        if (mdf_call_input(call, i) != NULL && call->inputs[i]->dtype != MDF_DTYPE_FLOAT32) {
            return false;
        }
    }
    plan->dtype = MDF_DTYPE_NONE;
    plan->function = "causal_conv";
    return call->inputs[INPUT_X]->length > 0 && mdf_routine_room(plan, CAUSAL_NUMBERS, 0) && describe_rows(call, plan->whole);
}

const struct mdf_operator mdf_operators_causal_conv[] = {
    {"CausalConvWithState", 27, 99, causal_conv, causal_table, sizeof(struct causal_settings), MDF_OPERATOR_PURE, NULL,
     .meaning =
         MDF_MEANING("result present", NULL, {"length", "x0.shape[2]", NULL}, {"kernel", "x1.shape[2]", NULL},
                     {"past", "numpy.zeros([x0.shape[0], x0.shape[1], kernel - 1]) if x3 is None else x3", NULL},
                     {"all", "numpy.concatenate([past, x0], 2)", NULL}, {"present", "all[:, :, length:]", NULL},
                     {"windows", "numpy.take(all, numpy.expand_dims(numpy.arange(length), 1) + numpy.arange(kernel), 2)", NULL},
                     {"plain", "numpy.matmul(windows, numpy.expand_dims(numpy.swapaxes(x1, 1, 2), 0))[:, :, :, 0]", NULL},
                     {"sums", "plain if x2 is None else plain + numpy.expand_dims(x2, 1)", NULL},
                     {"result", "sums if activation == 'none' else sums / (1 + numpy.exp(-sums))", NULL}),
     .routine = MDF_ROUTINE(plan_causal, NULL), .infer = &mdf_rule_causal_conv},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
