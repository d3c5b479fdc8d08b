/* linear.c - weighed sums of features: LinearClassifier, LinearRegressor.
 *
 * Comes in: rows of features; coefficients [class or target, feature] and intercepts. Goes out: the sums, transformed; of the
 * classifier also the label of the largest. Two classes may share one row of coefficients: their scores are then -s and s.
 * Computed in float32, the features one after the other, then the intercept, as ONNX Runtime does for several rows. Source: ONNX
 * ai.onnx.ml, version 1 of each. */
#include "functions/onnx_ml/scores.h"

#include <math.h>

struct linear_settings {
    struct mdf_floats coefficients, intercepts;
    struct mdf_labels labels;
    int64_t targets;
    const char *post_transform;
};

#define SETTING(name, type, field)                                        \
    {                                                                     \
        name, MDF_SETTING_##type, offsetof(struct linear_settings, field) \
    }
static const struct mdf_setting classifier_table[] = {
    SETTING("coefficients", FLOATS, coefficients),      SETTING("intercepts", FLOATS, intercepts),
    SETTING("classlabels_ints", INTS, labels.integers), SETTING("classlabels_strings", STRINGS, labels.strings),
    SETTING("post_transform", STRING, post_transform),  {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting regressor_table[] = {SETTING("coefficients", FLOATS, coefficients),
                                                     SETTING("intercepts", FLOATS, intercepts),
                                                     SETTING("targets", INT, targets),
                                                     SETTING("post_transform", STRING, post_transform),
                                                     {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum { N_SLOTS = 5 };

/* Sum number `i` of a row. Features and coefficients are float32; a product is added before it is rounded. */
static double weigh(const struct linear_settings *settings, const double *row, size_t n_features, size_t i)
{
    const double *coefficients = settings->coefficients.items + i * n_features;
    float sum = 0;

    for (size_t feature = 0; feature < n_features; feature++) {
        sum = fmaf((float)row[feature], (float)coefficients[feature], sum);
    }
    return (double)(i < settings->intercepts.n ? sum + (float)settings->intercepts.items[i] : sum);
}

/* How many sums there are; false with the error set where the coefficients do not fit the features. */
static bool count_sums(struct mdf_call *call, size_t n_features, size_t *n)
{
    const struct linear_settings *settings = call->settings;

    *n = n_features > 0 ? settings->coefficients.n / n_features : 0;
    return (*n > 0 && *n * n_features == settings->coefficients.n) ||
           mdf_call_error(call, MDF_SHAPE, "%zu coefficients do not fit %zu features", settings->coefficients.n, n_features);
}

static bool linear_regressor(struct mdf_call *call)
{
    const struct linear_settings *settings = call->settings;
    size_t n_rows = 0, n_features = 0, n = 0;
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    const double *x;
    double *y;

    if (!mdf_post_transform_named(call, settings->post_transform, &transform) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    x = mdf_single_feature_rows(&workspace, &n_rows, &n_features);
    if (x == NULL || !count_sums(call, n_features, &n)) {
        return false;
    }
    if ((int64_t)n != settings->targets) {
        return mdf_call_error(call, MDF_VALUE, "there are coefficients for %zu targets, not %lld", n,
                              (long long)settings->targets);
    }
    y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)n_rows, (int64_t)n});
    for (size_t row = 0; y != NULL && row < n_rows && !mdf_should_stop(call->context); row++) {
        for (size_t i = 0; i < n; i++) {
            y[row * n + i] = weigh(settings, x + row * n_features, n_features, i);
        }
        mdf_post_transform_apply(transform, y + row * n, n);
    }
    return y != NULL && mdf_workspace_end(&workspace);
}

/* Transforms a row of scores. Its class, that of the largest score before, which a transform need not keep the largest; -1: the
 * one class there is does not apply. */
static int64_t choose(enum mdf_post_transform transform, double *scores, size_t n)
{
    size_t largest = (size_t)mdf_largest_of(scores, (int64_t)n);

    mdf_post_transform_apply(transform, scores, n);
    if (n > 1) {
        return (int64_t)largest;
    }
    return scores[0] >= (transform == MDF_POST_NONE ? 0 : 0.5) ? 0 : -1;
}

static bool linear_classifier(struct mdf_call *call)
{
    const struct linear_settings *settings = call->settings;
    size_t n_rows = 0, n_features = 0, n = 0, n_labels = mdf_labels_count(&settings->labels), n_scores;
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    const double *x;
    double *scores;
    int64_t *classes;

    if (!mdf_post_transform_named(call, settings->post_transform, &transform) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    x = mdf_single_feature_rows(&workspace, &n_rows, &n_features);
    if (x == NULL || !count_sums(call, n_features, &n)) {
        return false;
    }
    n_scores = n == 1 && n_labels == 2 ? 2 : n;
    if (n_labels != 0 && n_labels != n_scores) {
        return mdf_call_error(call, MDF_VALUE, "there are coefficients for %zu classes, but %zu labels", n, n_labels);
    }
    scores = mdf_workspace_output(&workspace, 1, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)n_rows, (int64_t)n_scores});
    classes = scores == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_INT64, n_rows);
    for (size_t row = 0; classes != NULL && row < n_rows; row++) {
        double *of_row = scores + row * n_scores;

        for (size_t i = 0; i < n; i++) {
            of_row[i] = weigh(settings, x + row * n_features, n_features, i);
        }
        if (n_scores > n) {
            of_row[1] = of_row[0];
            of_row[0] = -of_row[1];
        }
        classes[row] = choose(transform, of_row, n_scores);
        if (mdf_should_stop(call->context)) {
            return false; /* classes are indices: none is one that was left out */
        }
    }
    return classes != NULL && mdf_workspace_end(&workspace) && mdf_labels_output(call, &settings->labels, classes, n_rows);
}

const struct mdf_operator mdf_operators_ml_linear[] = {
    {"LinearClassifier", 1, 99, linear_classifier, classifier_table, sizeof(struct linear_settings), MDF_OPERATOR_PURE, NULL,
     .form = MDF_FORM_LINEAR_CLASSIFIER},
    {"LinearRegressor", 1, 99, linear_regressor, regressor_table, sizeof(struct linear_settings), MDF_OPERATOR_PURE, NULL,
     .form = MDF_FORM_LINEAR_REGRESSOR},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
