/* linear.c - weighed sums of features: LinearClassifier, LinearRegressor.
 *
 * Comes in: rows of features; coefficients [class or target, feature] and intercepts. Goes out: the sums, transformed; of the
 * classifier also the label of the largest. Two classes may share one row of coefficients: their scores are then -s and s.
 * Computed in float32, the features one after the other, then the intercept, as ONNX Runtime does for several rows. Source: ONNX
 * ai.onnx.ml, version 1 of each. */
#include "functions/folds/short_rows.h"
#include "functions/kernel/routine.h"
#include "functions/onnx_ml/scores.h"
#include "functions/onnx_ml/svm_sums.h"

#include <string.h>

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

enum { N_SLOTS = 6, FEW_ROWS = MDF_SVM_BLOCK / 4 /* that are not worth being laid out as a block */ };

/* Rows in blocks, as svm_sums.h has them. False: one of the numbers is none of float32. */
static bool lay_out(const struct mdf_value *input, const double *x, size_t n_rows, size_t n_features, float *blocks)
{
    size_t n_whole = input->dtype == MDF_DTYPE_FLOAT32 ? n_rows / MDF_SVM_BLOCK * MDF_SVM_BLOCK : 0;

    for (size_t row = 0; row < n_whole; row += MDF_SVM_BLOCK) {
        mdf_turn_rows(sizeof *blocks, blocks + row * n_features, (const float *)input->data + row * n_features, MDF_SVM_BLOCK,
                      n_features);
    }
    return mdf_svm_lay_out(n_rows - n_whole, n_features, x + n_whole * n_features, blocks + n_whole * n_features);
}

/* The sums of all rows, those of one `step` behind those of the one before. Where there are vectors, of some rows at once. */
static bool weigh(struct mdf_workspace *workspace, const double *x, size_t n_rows, size_t n_features, size_t n, size_t step,
                  double *sums)
{
    const struct linear_settings *settings = workspace->call->settings;
    const struct mdf_floats *intercepts = &settings->intercepts;
    mdf_svm_block_sums add = n_rows >= FEW_ROWS ? mdf_svm_block_sums_for(false) : NULL;
    size_t n_blocks = mdf_svm_count_blocks(n_rows);
    float *blocks = add == NULL ? NULL : mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT32, n_blocks * MDF_SVM_BLOCK, n_features);
    bool is_laid_out = blocks != NULL && lay_out(workspace->call->inputs[0], x, n_rows, n_features, blocks);

    for (size_t row = 0; !is_laid_out && row < n_rows && !mdf_should_stop(workspace->call->context); row++) {
        mdf_weigh_features(x + row * n_features, (int64_t)n_features, settings->coefficients.items, intercepts->items,
                           (int64_t)intercepts->n, (int64_t)n, sums + row * step);
    }
    for (size_t row = 0; is_laid_out && row < n_rows && !mdf_should_stop(workspace->call->context); row += MDF_SVM_BLOCK) {
        for (size_t i = 0; i < n; i++) {
            float intercept = i < intercepts->n ? (float)intercepts->items[i] : 0;
            double of_block[MDF_SVM_BLOCK];

            add(n_features, settings->coefficients.items + i * n_features, blocks + row * n_features, of_block);
            for (size_t k = 0; k < MDF_SVM_BLOCK && row + k < n_rows; k++) {
                sums[(row + k) * step + i] = i < intercepts->n ? (double)((float)of_block[k] + intercept) : of_block[k];
            }
        }
    }
    return add == NULL || blocks != NULL;
}

/* How many sums there are; false with the error set where the coefficients do not fit the features, or the intercepts the sums.
 * Intercepts that are all 0 may be of any number: converters write one 0 for "none". */
static bool count_sums(struct mdf_call *call, size_t n_features, size_t *n)
{
    const struct linear_settings *settings = call->settings;
    const struct mdf_floats *intercepts = &settings->intercepts;

    *n = n_features > 0 ? settings->coefficients.n / n_features : 0;
    if (*n == 0 || *n * n_features != settings->coefficients.n) {
        return mdf_call_error(call, MDF_SHAPE, "%zu coefficients do not fit %zu features", settings->coefficients.n, n_features);
    }
    for (size_t i = 0; intercepts->n != *n && i < intercepts->n; i++) {
        if (intercepts->items[i] != 0) {
            return mdf_call_error(call, MDF_SHAPE, "there are %zu intercepts for %zu sums", intercepts->n, *n);
        }
    }
    return true;
}

/* The features in rows, and how many sums are made of each. */
static const double *begin_rows(struct mdf_call *call, struct mdf_workspace *workspace, enum mdf_post_transform *transform,
                                size_t *n_rows, size_t *n_features, size_t *n)
{
    const struct linear_settings *settings = call->settings;
    const double *x;

    if (!mdf_post_transform_named(call, settings->post_transform, transform) ||
        !mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return NULL;
    }
    x = mdf_single_feature_rows(workspace, n_rows, n_features);
    return x != NULL && count_sums(call, *n_features, n) ? x : NULL;
}

static bool linear_regressor(struct mdf_call *call)
{
    const struct linear_settings *settings = call->settings;
    size_t n_rows = 0, n_features = 0, n = 0;
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    const double *x;
    double *y;

    x = begin_rows(call, &workspace, &transform, &n_rows, &n_features, &n);
    if (x == NULL) {
        return false;
    }
    if ((int64_t)n != settings->targets) {
        return mdf_call_error(call, MDF_VALUE, "there are coefficients for %zu targets, not %lld", n,
                              (long long)settings->targets);
    }
    y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)n_rows, (int64_t)n});
    if (y == NULL || !weigh(&workspace, x, n_rows, n_features, n, n, y)) {
        return false;
    }
    for (size_t row = 0; row < n_rows && !mdf_should_stop(call->context); row++) {
        mdf_post_transform_apply(transform, y + row * n, n);
    }
    return mdf_workspace_end(&workspace);
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

    x = begin_rows(call, &workspace, &transform, &n_rows, &n_features, &n);
    if (x == NULL) {
        return false;
    }
    n_scores = n == 1 && n_labels == 2 ? 2 : n;
    if (n_labels != 0 && n_labels != n_scores) {
        return mdf_call_error(call, MDF_VALUE, "there are coefficients for %zu classes, but %zu labels", n, n_labels);
    }
    scores = mdf_workspace_output(&workspace, 1, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)n_rows, (int64_t)n_scores});
    classes = scores == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_INT64, n_rows);
    if (classes == NULL || !weigh(&workspace, x, n_rows, n_features, n, n_scores, scores)) {
        return false;
    }
    for (size_t row = 0; row < n_rows; row++) {
        classes[row] = mdf_choose_class((int64_t)transform, scores + row * n_scores, (int64_t)n, (int64_t)n_scores);
        if (mdf_should_stop(call->context)) {
            return false; /* classes are indices: none is one that was left out */
        }
    }
    return mdf_workspace_end(&workspace) && mdf_labels_output(call, &settings->labels, classes, n_rows);
}

/* ------------------------------------------------------------------ as plain C: linear_routine.inc */

static bool plan_sums(struct mdf_call *call, size_t n_labels, struct mdf_routine_plan *plan)
{
    const struct linear_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0];
    size_t n_features = (size_t)mdf_value_shape(x)[x->rank - 1], n = 0, n_scores;
    enum mdf_post_transform transform;

    if (!mdf_post_transform_named(call, settings->post_transform, &transform) || !count_sums(call, n_features, &n) ||
        !mdf_routine_room(plan, 7 + n_labels, settings->coefficients.n + settings->intercepts.n)) {
        return false;
    }
    n_scores = n == 1 && n_labels == 2 ? 2 : n;
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = x->rank == 2 ? mdf_value_shape(x)[0] : 1;
    plan->whole[1] = (int64_t)n_features;
    plan->whole[2] = (int64_t)n;
    plan->whole[3] = (int64_t)n_scores;
    plan->whole[4] = (int64_t)transform;
    plan->whole[5] = (int64_t)settings->intercepts.n;
    plan->whole[6] = (int64_t)n_labels;
    if (settings->coefficients.n > 0) {
        memcpy(plan->real, settings->coefficients.items, settings->coefficients.n * sizeof *plan->real);
    }
    if (settings->intercepts.n > 0) {
        memcpy(plan->real + settings->coefficients.n, settings->intercepts.items, settings->intercepts.n * sizeof *plan->real);
    }
    plan->work_bytes = (n_features + n_scores) * sizeof(double);
    return true;
}

static bool plan_regressor(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    plan->function = "linear_targets";
    return plan_sums(call, 0, plan);
}

static bool plan_classifier(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct linear_settings *settings = call->settings;
    size_t n = settings->labels.integers.items != NULL ? settings->labels.integers.n : 0;

    plan->function = "linear_classes";
    if (settings->labels.strings.items != NULL || !plan_sums(call, n, plan)) {
        return false;
    }
    if (n > 0) {
        memcpy(plan->whole + 7, settings->labels.integers.items, n * sizeof *plan->whole);
    }
    return true;
}

#include "functions/onnx_ml/scores_meaning.inc"

#define SUMS                                                                            \
    FEATURE_ROWS, {"weights", "numpy.reshape(coefficients, [-1, x0.shape[-1]])", NULL}, \
    {                                                                                   \
        "sums",                                                                         \
            "numpy.matmul(rows, numpy.transpose(weights)) if intercepts is None else "  \
            "numpy.matmul(rows, numpy.transpose(weights)) + intercepts",                \
            NULL                                                                        \
    }

const struct mdf_operator mdf_operators_ml_linear[] = {
    {"LinearClassifier", 1, 99, linear_classifier, classifier_table, sizeof(struct linear_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("- result", NULL, SUMS,
                            {"scores", "numpy.concatenate([-sums, sums], 1) if y1.shape[1] > sums.shape[1] else sums", NULL},
                            TRANSFORMED("result", "scores")),
     .routine = MDF_ROUTINE(plan_classifier, NULL)},
    {"LinearRegressor", 1, 99, linear_regressor, regressor_table, sizeof(struct linear_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING("result", NULL, SUMS, TRANSFORMED("result", "sums")), .routine = MDF_ROUTINE(plan_regressor, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
