/* scores.c - see scores.h. Source: ONNX ai.onnx.ml, attribute post_transform. */
#include "functions/onnx_ml/scores.h"

#include <math.h>
#include <string.h>

bool mdf_post_transform_named(struct mdf_call *call, const char *name, enum mdf_post_transform *transform)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            *transform = (enum mdf_post_transform)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no post_transform '%.100s'", name);
}

size_t mdf_largest_score(const double *scores, size_t n)
{
    size_t largest = 0;

    for (size_t i = 1; i < n; i++) {
        largest = scores[i] > scores[largest] ? i : largest;
    }
    return largest;
}

static void soften(double *scores, size_t n, bool keep_zeros)
{
    double largest = n > 0 ? scores[mdf_largest_score(scores, n)] : 0, sum = 0;

    for (size_t i = 0; i < n; i++) {
        bool is_zero = keep_zeros && fabs(scores[i]) <= 1e-7;

        scores[i] = mdf_single(is_zero ? scores[i] * mdf_single(exp(-largest)) : exp(mdf_single(scores[i] - largest)));
        sum = mdf_single(sum + scores[i]);
    }
    for (size_t i = 0; i < n; i++) {
        scores[i] = sum == 0 ? 0.5 : mdf_single(scores[i] / sum);
    }
}

/* The number below which a normal variable stays with probability p: a rational start (Winitzki), then Newton's steps. */
static double probit(double p)
{
    const double a = 0.147, pi = 3.14159265358979323846;
    double y = 2 * p - 1, logarithm = log((1 - y) * (1 + y)), term = 2 / (pi * a) + logarithm / 2, x;

    if (!(p > 0 && p < 1)) {
        return p == 0 ? -INFINITY : p == 1 ? INFINITY : (double)NAN;
    }
    x = copysign(sqrt(sqrt(term * term - logarithm / a) - term), y) * sqrt(2);
    for (int step = 0; step < 3; step++) {
        double error = erfc(-x / sqrt(2)) / 2 - p, slope = exp(-x * x / 2) / sqrt(2 * pi);

        x = slope > 0 ? x - error / slope : x;
    }
    return x;
}

/* Of the distance from 0, so that nothing overflows and small results keep their digits. */
static double logistic(double score)
{
    double power = mdf_single(exp(-fabs(score)));

    return mdf_single((score < 0 ? power : 1) / mdf_single(1 + power));
}

void mdf_post_transform_apply(enum mdf_post_transform transform, double *scores, size_t n)
{
    for (size_t i = 0; transform != MDF_POST_NONE && i < n; i++) {
        scores[i] = mdf_single(scores[i]);
    }
    if (transform == MDF_POST_SOFTMAX || transform == MDF_POST_SOFTMAX_ZERO) {
        soften(scores, n, transform == MDF_POST_SOFTMAX_ZERO);
        return;
    }
    for (size_t i = 0; transform != MDF_POST_NONE && i < n; i++) {
        scores[i] = transform == MDF_POST_LOGISTIC ? logistic(scores[i]) : probit(scores[i]);
    }
}

const double *mdf_feature_rows(struct mdf_workspace *workspace, size_t *n_rows, size_t *n_features)
{
    const struct mdf_value *x = mdf_call_tensor(workspace->call, 0);

    if (x == NULL) {
        return NULL;
    }
    if (x->rank != 1 && x->rank != 2) {
        mdf_call_error(workspace->call, MDF_SHAPE, "X has rank %u, but rows of features are needed", x->rank);
        return NULL;
    }
    *n_rows = x->rank == 2 ? (size_t)mdf_value_shape(x)[0] : 1;
    *n_features = (size_t)mdf_value_shape(x)[x->rank - 1];
    return mdf_workspace_input(workspace, 0);
}

const double *mdf_single_feature_rows(struct mdf_workspace *workspace, size_t *n_rows, size_t *n_features)
{
    const double *x = mdf_feature_rows(workspace, n_rows, n_features);
    size_t n = workspace->call->n_inputs > 0 && x != NULL ? workspace->call->inputs[0]->length : 0;
    double *rounded;

    if (x == NULL || workspace->call->inputs[0]->dtype == MDF_DTYPE_FLOAT32) {
        return x;
    }
    rounded = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, n);
    for (size_t i = 0; rounded != NULL && i < n && !mdf_should_stop_at(workspace->call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        rounded[i] = mdf_single(x[i]);
    }
    return rounded;
}

size_t mdf_labels_count(const struct mdf_labels *labels)
{
    return labels->strings.items != NULL ? labels->strings.n : labels->integers.n;
}

bool mdf_labels_output(struct mdf_call *call, const struct mdf_labels *labels, const int64_t *classes, size_t n_rows)
{
    bool is_text = labels->strings.items != NULL;
    int64_t size = (int64_t)n_rows;
    void *target = mdf_call_output(call, 0, is_text ? MDF_DTYPE_STRING : MDF_DTYPE_INT64, 1, &size);

    for (size_t i = 0; target != NULL && i < n_rows && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (is_text) {
            const char *label = classes[i] < 0 ? "" : labels->strings.items[classes[i]];

            ((char **)target)[i] = mdf_string_new(call->context->memory, label, strlen(label));
            if (((char **)target)[i] == NULL) {
                return mdf_call_out_of_memory(call);
            }
        } else {
            ((int64_t *)target)[i] = classes[i] < 0                   ? 0
                                     : labels->integers.items != NULL ? labels->integers.items[classes[i]]
                                                                      : classes[i];
        }
    }
    return target != NULL;
}
