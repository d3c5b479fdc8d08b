/* scores.c - see scores.h. Source: ONNX ai.onnx.ml, attribute post_transform. */
#include "functions/kernel/derivatives.h"
#include "functions/onnx_ml/scores.h"
#include "functions/python/python_values.h"
#include "mdf_c/base/text.h"

#include <string.h>

bool mdf_post_transform_named(struct mdf_call *call, const char *name, enum mdf_post_transform *transform)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    size_t i = MDF_FIND_WORD(name, names);

    *transform = (enum mdf_post_transform)i;
    return i != SIZE_MAX || mdf_call_error(call, MDF_VALUE, "there is no post_transform '%.100s'", name);
}

void mdf_post_transform_apply(enum mdf_post_transform transform, double *scores, size_t n)
{
    mdf_transform_scores((int64_t)transform, scores, (int64_t)n);
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

/* "p": of each element the number below which a normal variable stays with that probability. */
static bool run_probit(struct mdf_call *call)
{
    return mdf_python_run_real(call, mdf_probit);
}

const struct mdf_operator mdf_operators_python_scores[] = {
    MDF_FUNCTION("gradient.probit", run_probit, 0, "p",
                 .derivatives = MDF_DERIVATIVES({0, "dy * math.sqrt(2 * math.pi) * numpy.exp(y * y / 2)"})),
    {NULL}};
