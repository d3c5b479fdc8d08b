/* features.c - rows of features made ready: ArrayFeatureExtractor, Binarizer, FeatureVectorizer, Imputer, Normalizer, Scaler.
 *
 * Comes in: an array whose last axis counts features. Goes out: some of the features, or all of them compared, joined, filled in,
 * normalised or scaled. Computed in float32, as ONNX Runtime does, so that what follows (a tree's comparisons) sees the same
 * numbers: after each operation in float64 the result is rounded, which for + - * / and the square root is float32 arithmetic.
 * Scaler of float64 is rounded at its end; Binarizer and Imputer keep the type (Imputer of integers: int64). Source: ONNX
 * ai.onnx.ml, version 1 of each. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/moves/indexing.h"
#include "functions/onnx_ml/scores.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct feature_settings {
    double threshold, replaced_float;
    struct mdf_floats scale, offset, imputed_floats;
    struct mdf_ints dimensions, imputed_integers;
    int64_t replaced_integer;
    const char *norm;
};

#define SETTING(name, type, field)                                         \
    {                                                                      \
        name, MDF_SETTING_##type, offsetof(struct feature_settings, field) \
    }
static const struct mdf_setting binarizer_table[] = {SETTING("threshold", FLOAT, threshold), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting scaler_table[] = {
    SETTING("scale", FLOATS, scale), SETTING("offset", FLOATS, offset), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting normalizer_table[] = {SETTING("norm", STRING, norm), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting vectorizer_table[] = {SETTING("inputdimensions", INTS, dimensions), {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting imputer_table[] = {SETTING("imputed_value_floats", FLOATS, imputed_floats),
                                                   SETTING("imputed_value_int64s", INTS, imputed_integers),
                                                   SETTING("replaced_value_float", FLOAT, replaced_float),
                                                   SETTING("replaced_value_int64", INT, replaced_integer),
                                                   {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

/* Input 0 and output 0, of its shape, in float64. */
static bool begin(struct mdf_workspace *workspace, struct mdf_call *call, mdf_dtype dtype, const double **x, double **y)
{
    const struct mdf_value *value = mdf_call_tensor(call, 0);

    if (value == NULL || !mdf_workspace_begin(workspace, call, MDF_DTYPE_FLOAT64, 2)) {
        return false;
    }
    *x = mdf_workspace_input(workspace, 0);
    dtype = dtype == MDF_DTYPE_NONE ? (mdf_dtype)value->dtype : dtype;
    *y = *x == NULL ? NULL : mdf_workspace_output(workspace, 0, dtype, value->rank, mdf_value_shape(value));
    return *y != NULL;
}

static size_t n_features(const struct mdf_value *x)
{
    return x->rank > 0 ? (size_t)mdf_value_shape(x)[x->rank - 1] : 1;
}

/* ------------------------------------------------------------------ Binarizer, Scaler, Normalizer */

static bool binarizer(struct mdf_call *call)
{
    const struct feature_settings *settings = call->settings;
    double threshold = isnan(settings->threshold) ? 0 : settings->threshold, *y;
    struct mdf_workspace workspace;
    const double *x;

    if (!begin(&workspace, call, MDF_DTYPE_NONE, &x, &y)) {
        return false;
    }
    for (size_t i = 0; i < call->inputs[0]->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        y[i] = x[i] > threshold;
    }
    return mdf_workspace_end(&workspace);
}

/* Entry of an attribute for a feature: the one there is, or one a feature; `otherwise` where it is not given. */
static double number_for(const struct mdf_floats *numbers, size_t feature, double otherwise)
{
    return numbers->n == 0 ? otherwise : numbers->items[numbers->n == 1 ? 0 : feature];
}

static bool check_numbers(struct mdf_call *call, const char *name, size_t n, size_t wanted)
{
    return n <= 1 || n == wanted || mdf_call_error(call, MDF_SHAPE, "'%s' has %zu numbers for %zu features", name, n, wanted);
}

static bool scaler(struct mdf_call *call)
{
    const struct feature_settings *settings = call->settings;
    struct mdf_workspace workspace;
    const double *x;
    bool single;
    double *y;
    size_t n;

    if (!begin(&workspace, call, MDF_DTYPE_FLOAT32, &x, &y)) {
        return false;
    }
    n = n_features(call->inputs[0]);
    if (!check_numbers(call, "scale", settings->scale.n, n) || !check_numbers(call, "offset", settings->offset.n, n)) {
        return false;
    }
    single = call->inputs[0]->dtype != MDF_DTYPE_FLOAT64;
    for (size_t row = 0; row < call->inputs[0]->length && !mdf_should_stop(call->context); row += n) {
        for (size_t i = 0; i < n; i++) {
            double offset = number_for(&settings->offset, i, 0), scale = number_for(&settings->scale, i, 1), of_row = x[row + i];

            y[row + i] = single ? mdf_single(mdf_single(mdf_single(of_row) - offset) * scale) : (of_row - offset) * scale;
        }
    }
    return mdf_workspace_end(&workspace);
}

/* What a row is divided by; of L2 its square. */
static float norm_of(const double *row, size_t n, char norm)
{
    float sum = norm == 'M' ? -FLT_MAX : 0;

    for (size_t i = 0; i < n; i++) {
        float x = (float)row[i];

        if (norm == 'M') {
            sum = x > sum ? x : sum;
        } else {
            sum += norm == '1' ? fabsf(x) : (float)(row[i] * row[i]);
        }
    }
    return sum;
}

/* A row without its norm, which is not 0. */
static void normalise(const double *x, size_t n, float sum, char norm, double *y)
{
    for (size_t i = 0; norm != '2' && i < n; i++) {
        y[i] = (double)((float)x[i] / sum);
    }
    for (size_t i = 0; norm == '2' && i < n; i++) {
        y[i] = copysign((double)sqrtf((float)(x[i] * x[i]) / sum), x[i]);
    }
}

static bool normalizer(struct mdf_call *call)
{
    const struct feature_settings *settings = call->settings;
    bool known = strcmp(settings->norm, "MAX") == 0 || strcmp(settings->norm, "L1") == 0 || strcmp(settings->norm, "L2") == 0;
    struct mdf_workspace workspace;
    const double *x;
    double *y;
    size_t n;

    if (!known) {
        return mdf_call_error(call, MDF_VALUE, "there is no norm '%.100s'", settings->norm);
    }
    if (!begin(&workspace, call, MDF_DTYPE_FLOAT32, &x, &y)) {
        return false;
    }
    n = n_features(call->inputs[0]);
    for (size_t row = 0; row < call->inputs[0]->length && !mdf_should_stop(call->context); row += n) {
        char norm = settings->norm[0] == 'M' ? 'M' : settings->norm[1];
        float sum = norm_of(x + row, n, norm);

        if (sum == 0) {
            memcpy(y + row, x + row, n * sizeof *y);
        } else {
            normalise(x + row, n, sum, norm, y + row);
        }
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ Imputer */

static bool impute_integers(struct mdf_call *call, const struct mdf_value *x, size_t n)
{
    const struct feature_settings *settings = call->settings;
    const struct mdf_ints *values = &settings->imputed_integers;
    int64_t replaced = settings->replaced_integer, *y; /* any whole number: the schema has a default */
    struct mdf_workspace workspace;
    const int64_t *elements;

    if (values->n == 0 || !check_numbers(call, "imputed_value_int64s", values->n, n)) {
        return mdf_call_error(call, MDF_VALUE, "imputed_value_int64s is not given");
    }
    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_INT64, 2)) {
        return false;
    }
    elements = mdf_workspace_input(&workspace, 0);
    y = elements == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    for (size_t i = 0; y != NULL && i < x->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        y[i] = elements[i] == replaced ? values->items[values->n == 1 ? 0 : i % n] : elements[i];
    }
    return y != NULL && mdf_workspace_end(&workspace);
}

static bool imputer(struct mdf_call *call)
{
    const struct feature_settings *settings = call->settings;
    const struct mdf_value *value = mdf_call_tensor(call, 0);
    double replaced = settings->replaced_float, *y;
    struct mdf_workspace workspace;
    const double *x;
    size_t n;

    if (value == NULL) {
        return false;
    }
    n = n_features(value);
    if (mdf_dtype_kind((mdf_dtype)value->dtype) != 'f') {
        return impute_integers(call, value, n);
    }
    if (settings->imputed_floats.n == 0 || !check_numbers(call, "imputed_value_floats", settings->imputed_floats.n, n)) {
        return mdf_call_error(call, MDF_VALUE, "imputed_value_floats is not given");
    }
    if (!begin(&workspace, call, MDF_DTYPE_NONE, &x, &y)) {
        return false;
    }
    for (size_t row = 0; row < value->length && !mdf_should_stop(call->context); row += n) {
        for (size_t i = 0; i < n; i++) {
            bool is_missing = isnan(replaced) ? isnan(x[row + i]) : x[row + i] == replaced;

            y[row + i] = is_missing ? number_for(&settings->imputed_floats, i, 0) : x[row + i];
        }
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ FeatureVectorizer, ArrayFeatureExtractor */

/* Rows and columns of input `i`: an array of rank 1 is one row. */
static bool find_sizes(struct mdf_call *call, size_t i, int64_t *n_rows, int64_t *n_columns)
{
    const struct mdf_value *x = mdf_call_tensor(call, i);

    if (x == NULL) {
        return false;
    }
    if (x->rank != 1 && x->rank != 2) {
        return mdf_call_error(call, MDF_SHAPE, "input %zu has rank %u, not 1 or 2", i + 1, x->rank);
    }
    *n_rows = x->rank == 2 ? mdf_value_shape(x)[0] : 1;
    *n_columns = mdf_value_shape(x)[x->rank - 1];
    return true;
}

/* How many columns of the result input `i` makes. */
static int64_t width_of(struct mdf_call *call, size_t i, int64_t n_columns)
{
    const struct feature_settings *settings = call->settings;

    return i < settings->dimensions.n ? settings->dimensions.items[i] : n_columns;
}

static bool feature_vectorizer(struct mdf_call *call)
{
    int64_t shape[2] = {0, 0}, n_rows = 0, n_columns = 0, width;
    struct mdf_workspace workspace;
    size_t before = 0;
    double *y;

    for (size_t i = 0; i < call->n_inputs; i++) {
        if (!find_sizes(call, i, &n_rows, &n_columns)) {
            return false;
        }
        width = width_of(call, i, n_columns);
        if (width < 0 || width > INT64_MAX / 2 || shape[1] > INT64_MAX / 2 || (i > 0 && n_rows != shape[0])) {
            return mdf_call_error(call, MDF_SHAPE, "input %zu has %lld rows, and is to have %lld columns", i + 1,
                                  (long long)n_rows, (long long)width);
        }
        shape[0] = n_rows;
        shape[1] += width;
    }
    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, call->n_inputs + 1)) {
        return false;
    }
    y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT32, 2, shape);
    for (size_t i = 0; y != NULL && i < call->n_inputs; i++) {
        const double *x = mdf_workspace_input(&workspace, i);

        if (x == NULL || !find_sizes(call, i, &n_rows, &n_columns)) {
            return false;
        }
        width = width_of(call, i, n_columns);
        for (int64_t row = 0; width > 0 && row < n_rows && !mdf_should_stop(call->context); row++) {
            for (int64_t column = 0; column < width; column++) {
                y[(size_t)row * (size_t)shape[1] + before + (size_t)column] =
                    column < n_columns ? x[row * n_columns + column] : 0;
            }
        }
        before += (size_t)width;
    }
    return y != NULL && mdf_workspace_end(&workspace);
}

static bool array_feature_extractor(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    size_t n_picked, n, rank, *places;
    const int64_t *picked;
    int64_t *shape;
    void *target;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 2)) {
        return false;
    }
    if (x->rank == 0) {
        return mdf_call_error(call, MDF_SHAPE, "X is a scalar, but needs an axis of features");
    }
    picked = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n_picked);
    rank = x->rank == 1 ? 2 : x->rank;
    shape = picked == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_INT64, rank);
    places = shape == NULL ? NULL : mdf_workspace_array(&workspace, MDF_WORKSPACE_SIZES, n_picked);
    if (places == NULL) {
        return false;
    }
    shape[0] = 1;
    memcpy(shape + (x->rank == 1), mdf_value_shape(x), x->rank * sizeof *shape);
    n = n_features(x);
    shape[rank - 1] = (int64_t)n_picked;
    target = mdf_call_output(call, 0, (mdf_dtype)x->dtype, rank, shape);
    if (target == NULL || mdf_call_target(call, 0)->length == 0) {
        return target != NULL;
    }
    for (size_t i = 0; i < n_picked; i++) {
        if (!mdf_index_check(call, picked[i], i, x->rank - 1, (int64_t)n, &places[i])) {
            return false;
        }
    }
    for (size_t row = 0; row < x->length / n && !mdf_should_stop(call->context); row++) {
        mdf_blocks_gather(call, (mdf_dtype)x->dtype, mdf_element_to_write((mdf_dtype)x->dtype, target, row * n_picked),
                          mdf_element_at((mdf_dtype)x->dtype, x->data, row * n), places, n_picked, 1);
    }
    return true;
}

#define SETTINGS(table) table, sizeof(struct feature_settings), MDF_OPERATOR_PURE, NULL

const struct mdf_operator mdf_operators_ml_features[] = {
    {"ArrayFeatureExtractor", 1, 99, array_feature_extractor, NULL, 0, MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .chooses = true), .form = MDF_FORM_GATHER_FEATURES},
    {"Binarizer", 1, 99, binarizer, SETTINGS(binarizer_table), .derivatives = mdf_derivatives_flat, .form = MDF_FORM_BINARIZER,
     .infer = &mdf_rule_same},
    {"FeatureVectorizer", 1, 99, feature_vectorizer, SETTINGS(vectorizer_table)},
    {"Imputer", 1, 99, imputer, SETTINGS(imputer_table), .derivatives = MDF_DERIVATIVES({0, "dy * (x0 == y)"}),
     .form = MDF_FORM_IMPUTER},
    {"Normalizer", 1, 99, normalizer, SETTINGS(normalizer_table),
     .meaning = MDF_MEANING("result", NULL,
                            {"length",
                             "numpy.max(x0, -1, keepdims=True) if norm == 'MAX' else numpy.sum(numpy.abs(x0), -1, keepdims=True) "
                             "if norm == 'L1' else operator.norm_root(numpy.sum(x0 * x0, -1, keepdims=True))",
                             NULL},
                            /* A row of zeros stays as it is, whatever is near it. */
                            {"result", "numpy.where(length == 0, 0.0, x0) / numpy.where(length == 0, 1.0, length)", NULL}),
     .form = MDF_FORM_NORMALIZER},
    {"Scaler", 1, 99, scaler, SETTINGS(scaler_table), .derivatives = MDF_DERIVATIVES({0, "dy * scale"}), .form = MDF_FORM_SCALER},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
