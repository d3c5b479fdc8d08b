/* causal_conv.c - a convolution over what came so far, channel by channel: CausalConvWithState.
 *
 * Comes in: [batch, channel, length], a kernel a channel, the last elements of the input before (zeros where there are none).
 * Goes out: the convolution, of the same length, through Swish where asked; and the last elements of this input. Computed in
 * float32. Source: ONNX CausalConvWithState 27. */
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct causal_settings {
    const char *activation;
};

static const struct mdf_setting causal_table[] = {
    {"activation", MDF_SETTING_STRING, offsetof(struct causal_settings, activation)}, {NULL, MDF_SETTING_INT, 0}};

enum { INPUT_X, INPUT_WEIGHT, INPUT_BIAS, INPUT_STATE };

struct causal {
    const float *x, *weight, *bias, *past; /* bias, past: may be NULL */
    float *y, *present;                    /* present: NULL, not wanted */
    size_t n_channels, length, kernel;
    bool swish;
};

/* Rough time of one multiplication and addition, to judge what is worth a thread. */
static const double multiply_ns = 0.5;

/* Rows [first, last) of elements, one a batch and channel. */
static void convolve_rows(void *context, size_t first, size_t last)
{
    const struct causal *job = context;
    size_t n_past = job->kernel - 1;

    for (size_t row = first; row < last; row++) {
        size_t channel = row % job->n_channels;
        const float *x = job->x + row * job->length, *past = job->past == NULL ? NULL : job->past + row * n_past;
        const float *weight = job->weight + channel * job->kernel;
        float *y = job->y + row * job->length;

        for (size_t i = 0; i < job->length; i++) {
            float sum = job->bias != NULL ? job->bias[channel] : 0;

            for (size_t tap = 0; tap < job->kernel; tap++) {
                size_t at = i + tap; /* in the past, then x */

                if (at >= n_past) {
                    sum += weight[tap] * x[at - n_past];
                } else if (past != NULL) {
                    sum += weight[tap] * past[at];
                }
            }
            y[i] = job->swish ? sum / (1 + expf(-sum)) : sum;
        }
        for (size_t i = 0; job->present != NULL && i < n_past; i++) {
            size_t at = job->length + i;

            job->present[row * n_past + i] = at >= n_past ? x[at - n_past] : past != NULL ? past[at] : 0;
        }
    }
}

static bool check_shapes(struct mdf_call *call, struct causal *job)
{
    const struct mdf_value *x = mdf_call_tensor(call, INPUT_X), *weight = mdf_call_tensor(call, INPUT_WEIGHT);
    const struct mdf_value *bias = mdf_call_input(call, INPUT_BIAS), *past = mdf_call_input(call, INPUT_STATE);
    int64_t shape[3];

    if (x == NULL || weight == NULL) {
        return false;
    }
    if (x->rank != 3 || weight->rank != 3 || mdf_value_shape(weight)[2] < 1) {
        return mdf_call_error(call, MDF_SHAPE, "input and weight must have rank 3, and the kernel an element");
    }
    memcpy(shape, mdf_value_shape(x), sizeof shape);
    job->n_channels = (size_t)shape[1];
    job->length = (size_t)shape[2];
    job->kernel = (size_t)mdf_value_shape(weight)[2];
    shape[2] = (int64_t)job->kernel - 1;
    return mdf_workspace_check_shape(call, "weight", weight, 3, (const int64_t[3]){shape[1], 1, (int64_t)job->kernel}) &&
           (bias == NULL || mdf_workspace_check_shape(call, "bias", bias, 1, shape + 1)) &&
           (past == NULL || mdf_workspace_check_shape(call, "past_state", past, 3, shape));
}

static bool causal_conv(struct mdf_call *call)
{
    const struct causal_settings *settings = call->settings;
    struct mdf_workspace workspace;
    struct causal job = {0};
    const int64_t *shape;
    mdf_dtype dtype;

    job.swish = strcmp(settings->activation, "silu") == 0 || strcmp(settings->activation, "swish") == 0;
    if (!job.swish && strcmp(settings->activation, "none") != 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no activation '%.100s'", settings->activation);
    }
    if (!check_shapes(call, &job) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT32, 6)) {
        return false;
    }
    dtype = (mdf_dtype)call->inputs[INPUT_X]->dtype;
    shape = mdf_value_shape(call->inputs[INPUT_X]);
    job.x = mdf_workspace_input(&workspace, INPUT_X);
    job.weight = mdf_workspace_input(&workspace, INPUT_WEIGHT);
    job.bias = mdf_call_input(call, INPUT_BIAS) != NULL ? mdf_workspace_input(&workspace, INPUT_BIAS) : NULL;
    job.past = mdf_call_input(call, INPUT_STATE) != NULL ? mdf_workspace_input(&workspace, INPUT_STATE) : NULL;
    job.y = mdf_workspace_output(&workspace, 0, dtype, 3, shape);
    if (job.x == NULL || job.weight == NULL || job.y == NULL || call->context->error.code != MDF_OK) {
        return false;
    }
    if (mdf_call_result(call, 1) != NULL) {
        job.present =
            mdf_workspace_output(&workspace, 1, dtype, 3, (const int64_t[3]){shape[0], shape[1], (int64_t)job.kernel - 1});
        if (job.present == NULL) {
            return false;
        }
    }
    if (call->inputs[INPUT_X]->length > 0 || job.present != NULL) {
        mdf_parallel_for(call->context, (size_t)shape[0] * job.n_channels, multiply_ns * (double)job.length * (double)job.kernel,
                         convolve_rows, &job);
    }
    return mdf_workspace_end(&workspace);
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
                     {"result", "sums if activation == 'none' else sums / (1 + numpy.exp(-sums))", NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
