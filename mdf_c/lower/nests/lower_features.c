/* lower_features.c - NEST ops for rows of features: Binarizer, Scaler, Imputer, Normalizer, LinearRegressor and LinearClassifier
 * of ai.onnx.ml; and for OneHot. See compose.h.
 *
 * In the kernels' own order and types (functions/onnx_ml, functions/moves/gather.c): float64 numbers that are rounded to float32
 * after each operation are float32 arithmetic. */
#include "mdf_c/lower/nests/compose.h"

#include "functions/moves/indexing.h"
#include "functions/onnx_ml/scores.h"

#include <float.h>
#include <math.h>

static const void *setting(const struct composing *composing, const char *name)
{
    return lowering_setting(composing->trial->source->operator, composing->trial->source->settings, name);
}

static mdf_dtype operand_dtype(const struct composing *composing)
{
    return (mdf_dtype)composing->trial->effective[0]->dtype;
}

/* Input 0, by way of float64, which is how the kernels read it. */
static uint8_t load_real(struct composing *composing, mdf_dtype dtype)
{
    uint8_t x = compose_load(composing, 0, operand_dtype(composing));

    return compose_cast(composing, operand_dtype(composing) == dtype ? x : compose_cast(composing, x, MDF_DTYPE_FLOAT64), dtype);
}

/* The axis of features; of one feature there is none. */
static uint8_t feature_axis(const struct composing *composing)
{
    return composing->result->rank > 0 ? composing->axes[composing->result->rank - 1] : DRAFT_NO_AXIS;
}

/* Numbers of an attribute, one for all features or one for each. */
static uint8_t load_row(struct composing *composing, mdf_dtype dtype, mdf_dtype from, const void *items, size_t n)
{
    return compose_row(composing, dtype, from, items, n, feature_axis(composing));
}

static uint8_t load_floats(struct composing *composing, mdf_dtype dtype, const char *name, double otherwise)
{
    const struct mdf_floats *floats = setting(composing, name);

    return floats->n == 0 ? compose_number(composing, dtype, otherwise)
                          : load_row(composing, dtype, MDF_DTYPE_FLOAT64, floats->items, floats->n);
}

/* ------------------------------------------------------------------ features one by one */

static uint8_t binarize(struct composing *composing)
{
    const double *threshold = setting(composing, "threshold");
    mdf_dtype dtype = operand_dtype(composing) == MDF_DTYPE_FLOAT32 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64;
    uint8_t x = load_real(composing, dtype);

    return compose_apply(composing, MDF_ELEMENT(greater), x,
                         compose_number(composing, dtype, isnan(*threshold) ? 0 : *threshold));
}

static uint8_t scale(struct composing *composing)
{
    mdf_dtype dtype = operand_dtype(composing) == MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
    uint8_t x = load_real(composing, dtype);

    x = compose_apply(composing, MDF_ELEMENT(subtract), x, load_floats(composing, dtype, "offset", 0));
    return compose_apply(composing, MDF_ELEMENT(multiply), x, load_floats(composing, dtype, "scale", 1));
}

static uint8_t impute_integers(struct composing *composing)
{
    const struct mdf_ints *values = setting(composing, "imputed_value_int64s");
    const int64_t *given = setting(composing, "replaced_value_int64");
    int64_t replaced = *given == MDF_NOT_GIVEN ? 0 : *given;
    uint8_t x = compose_load(composing, 0, MDF_DTYPE_INT64), is_missing;

    is_missing = compose_apply(composing, MDF_ELEMENT(equal), x,
                               compose_row(composing, MDF_DTYPE_INT64, MDF_DTYPE_INT64, &replaced, 1, DRAFT_NO_AXIS));
    return compose_select(composing, is_missing, load_row(composing, MDF_DTYPE_INT64, MDF_DTYPE_INT64, values->items, values->n),
                          x);
}

static uint8_t impute(struct composing *composing)
{
    const double *replaced = setting(composing, "replaced_value_float");
    uint8_t x, is_missing;

    if (mdf_dtype_kind(operand_dtype(composing)) != 'f') {
        return impute_integers(composing);
    }
    x = compose_load(composing, 0, operand_dtype(composing));
    is_missing = isnan(*replaced) ? compose_apply(composing, MDF_ELEMENT(is_nan), x, x)
                                  : compose_apply(composing, MDF_ELEMENT(equal), x,
                                                  compose_number(composing, operand_dtype(composing), *replaced));
    return compose_select(composing, is_missing, load_floats(composing, operand_dtype(composing), "imputed_value_floats", 0), x);
}

/* ------------------------------------------------------------------ Normalizer */

/* What is summed, or the largest of which is looked for; of L2 the square of what a row is divided by. */
static uint8_t term_of(struct composing *composing, uint8_t x, char norm)
{
    uint8_t least, wide;

    if (norm == 'M') {
        least = compose_number(composing, MDF_DTYPE_FLOAT32, (double)-FLT_MAX);
        return compose_select(composing, compose_apply(composing, MDF_ELEMENT(greater), x, least), x, least);
    }
    if (norm == '1') {
        return compose_apply(composing, MDF_ELEMENT(absolute), x, 0);
    }
    wide = load_real(composing, operand_dtype(composing) == MDF_DTYPE_FLOAT32 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
    return compose_cast(composing, compose_apply(composing, MDF_ELEMENT(multiply), wide, wide), MDF_DTYPE_FLOAT32);
}

static uint8_t normalize(struct composing *composing)
{
    const char *const *name = setting(composing, "norm");
    char norm = (*name)[0] == 'M' ? 'M' : (*name)[1];
    uint8_t x = load_real(composing, MDF_DTYPE_FLOAT32), term = term_of(composing, x, norm), axis = feature_axis(composing);
    uint8_t sum = term, quotient, is_zero;

    if (axis != DRAFT_NO_AXIS && !composing->draft->has_failed) {
        sum = draft_fold(composing->draft, norm == 'M' ? MDF_NEST_MAXIMUM : MDF_NEST_SUM, term, 1, &axis, 1);
    }
    quotient = compose_apply(composing, MDF_ELEMENT(divide), norm == '2' ? term : x, sum);
    if (norm == '2') {
        quotient = compose_apply(composing, MDF_ELEMENT(square_root), quotient, 0);
        quotient = compose_apply(composing, MDF_ELEMENT(copy_sign), quotient, x);
    }
    is_zero = compose_apply(composing, MDF_ELEMENT(equal), sum, compose_number(composing, MDF_DTYPE_FLOAT32, 0));
    return compose_select(composing, is_zero, x, quotient);
}

/* ------------------------------------------------------------------ OneHot */

/* Each index is compared with 0, 1, ..., depth - 1; negative ones count from the end. */
static mdf_lowered_id one_hot(struct composing *composing)
{
    const struct trial *trial = composing->trial;
    struct mdf_nest_view view = {.id = trial->ids[2], .at = MDF_NEST_NONE};
    size_t rank = composing->result->rank, at = lowering_axis(trial->source, rank, rank - 1), d;
    uint8_t axes[MDF_INLINE_RANK], index, number, values[2];
    mdf_dtype dtype = operand_dtype(composing);
    int64_t depth;

    if (!lowering_is_constant(composing->lowering, trial->ids[1]) || at >= rank || dtype == MDF_DTYPE_UINT64 ||
        (mdf_dtype_kind(dtype) != 'i' && mdf_dtype_kind(dtype) != 'u')) {
        return MDF_LOWERED_NONE;
    }
    depth = mdf_value_shape(composing->result)[at];
    for (d = 0; d + 1 < rank; d++) {
        axes[d] = composing->axes[d < at ? d : d + 1];
    }
    index = compose_cast(composing, draft_load(composing->lowering, composing->draft, trial->ids[0], axes), MDF_DTYPE_INT64);
    number = compose_row(composing, MDF_DTYPE_INT64, MDF_DTYPE_INT64, &depth, 1, DRAFT_NO_AXIS);
    index = compose_select(composing,
                           compose_apply(composing, MDF_ELEMENT(less), index, compose_number(composing, MDF_DTYPE_INT64, 0)),
                           compose_apply(composing, MDF_ELEMENT(add), index, number), index);
    number = compose_count(composing, (size_t)depth, composing->axes[at]);
    number = compose_apply(composing, MDF_ELEMENT(equal), index, number);
    for (d = 0; d < 2; d++) {
        view.first = (int64_t)d;
        values[d] = draft_load_elements(composing->lowering, composing->draft, &view, 0, NULL, NULL);
    }
    number = compose_select(composing, number, values[1], values[0]);
    return lowering_add_nest(composing->lowering, composing->draft, number, composing->result, composing->axes);
}

/* ------------------------------------------------------------------ scores */

/* Sums of weighed features, the scores that follow from them, and the axes that they go along in one nest. */
struct scoring {
    struct composing *composing;
    enum mdf_post_transform transform;
    size_t n_rows, n_features, n, n_scores;
    mdf_lowered_id sums;
    uint8_t row, score; /* axes */
};

static bool find_sizes(struct scoring *scoring)
{
    const struct trial *trial = scoring->composing->trial;
    const struct mdf_value *x = trial->effective[0];
    const struct mdf_floats *coefficients = setting(scoring->composing, "coefficients");
    const char *const *name = setting(scoring->composing, "post_transform");
    const int64_t *shape = mdf_value_shape(x);
    struct mdf_call call = trial->call;

    if (!mdf_post_transform_named(&call, *name, &scoring->transform) || scoring->transform == MDF_POST_PROBIT || x->length == 0) {
        return false;
    }
    scoring->n_features = (size_t)shape[x->rank - 1];
    scoring->n_rows = x->length / scoring->n_features;
    scoring->n = coefficients->n / scoring->n_features;
    return true;
}

/* Features by coefficients: a row of products is summed, each added before it is rounded. */
static uint8_t weigh(struct scoring *scoring, const struct mdf_floats *coefficients, uint8_t k)
{
    struct composing *composing = scoring->composing;
    struct nest_draft *draft = composing->draft;
    float *weights = mdf_arena_array(&composing->lowering->scratch, coefficients->n, sizeof *weights);
    int64_t shape[2] = {(int64_t)scoring->n, (int64_t)scoring->n_features};
    mdf_dtype dtype = k == DRAFT_NO_AXIS ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
    struct mdf_value value = {0};
    uint8_t x, weight, product;
    mdf_lowered_id id;

    if (weights == NULL) {
        lowering_out_of_memory(composing->lowering);
        draft->has_failed = true;
        return 0;
    }
    mdf_convert_elements(MDF_DTYPE_FLOAT32, weights, MDF_DTYPE_FLOAT64, coefficients->items, coefficients->n, false);
    mdf_value_borrow_tensor(composing->lowering->memory, &value, MDF_DTYPE_FLOAT32, MDF_STRENGTH_TYPED, 2, shape, weights);
    id = lowering_add_constant(composing->lowering, &value, false);
    draft->has_failed = draft->has_failed || id == MDF_LOWERED_NONE;
    if (draft->has_failed) {
        return 0;
    }
    x = draft_load(composing->lowering, draft, composing->trial->ids[0],
                   composing->trial->effective[0]->rank == 2 ? (const uint8_t[]){scoring->row, k} : &k);
    x = operand_dtype(composing) == MDF_DTYPE_FLOAT32
            ? x
            : compose_cast(composing, compose_cast(composing, x, MDF_DTYPE_FLOAT64), MDF_DTYPE_FLOAT32);
    x = compose_cast(composing, x, dtype);
    weight = compose_cast(composing, draft_load(composing->lowering, draft, id, (const uint8_t[]){scoring->score, k}), dtype);
    product = compose_apply(composing, MDF_ELEMENT(multiply), x, weight);
    if (draft->has_failed) {
        return 0;
    }
    draft_widen(draft);       /* what was cast goes through the loops of the other operand too */
    if (k == DRAFT_NO_AXIS) { /* the sum of 0 and one product, which float64 holds exactly */
        return compose_cast(composing, compose_apply(composing, MDF_ELEMENT(add), compose_number(composing, dtype, 0), product),
                            MDF_DTYPE_FLOAT32);
    }
    product = draft_fold(draft, MDF_NEST_SUM, product, 1, &k, 1);
    draft->steps[product].step.is_fused = true;
    return product;
}

/* An array of the sums, by themselves. */
static bool add_sums(struct scoring *scoring)
{
    struct composing *composing = scoring->composing;
    const struct mdf_floats *coefficients = setting(composing, "coefficients"), *intercepts = setting(composing, "intercepts");
    struct nest_draft *draft = composing->draft;
    uint8_t axes[2], sum, k, intercept;
    double *added;
    size_t i;

    axes[0] = scoring->row = draft_axis(draft, (int64_t)scoring->n_rows);
    axes[1] = scoring->score = draft_axis(draft, (int64_t)scoring->n);
    k = draft_axis(draft, (int64_t)scoring->n_features);
    sum = weigh(scoring, coefficients, k);
    added = mdf_arena_array(&composing->lowering->scratch, scoring->n, sizeof *added);
    if (added == NULL) {
        return lowering_out_of_memory(composing->lowering);
    }
    for (i = 0; i < scoring->n; i++) {
        added[i] = i < intercepts->n ? intercepts->items[i] : -0.0; /* which changes no sum */
    }
    intercept = compose_row(composing, MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, added, scoring->n, scoring->score);
    sum = intercepts->n > 0 ? compose_apply(composing, MDF_ELEMENT(add), sum, intercept) : sum;
    scoring->sums = lowering_add_computed_nest(composing->lowering, draft, sum, scoring->n_rows * scoring->n, 2, axes,
                                               (const int64_t[]){(int64_t)scoring->n, 1});
    return scoring->sums != MDF_LOWERED_NONE;
}

/* A new nest over rows and scores, and the score there: of two classes with one sum s, -s and s. */
static uint8_t load_scores(struct scoring *scoring)
{
    struct composing *composing = scoring->composing;
    struct mdf_nest_view view = {.id = scoring->sums, .at = MDF_NEST_NONE};
    const int64_t strides[] = {(int64_t)scoring->n, scoring->n_scores == scoring->n ? 1 : 0};
    uint8_t axes[2], x;

    composing->draft = draft_new(composing->lowering);
    if (composing->draft == NULL) {
        return 0;
    }
    axes[0] = scoring->row = draft_axis(composing->draft, (int64_t)scoring->n_rows);
    axes[1] = scoring->score = draft_axis(composing->draft, (int64_t)scoring->n_scores);
    x = draft_load_elements(composing->lowering, composing->draft, &view, 2, axes, strides);
    return scoring->n_scores == scoring->n ? x
                                           : compose_select(composing, compose_is_first(composing, 2, scoring->score),
                                                            compose_apply(composing, MDF_ELEMENT(negative), x, 0), x);
}

static uint8_t logistic(struct composing *composing, uint8_t x)
{
    uint8_t one = compose_number(composing, MDF_DTYPE_FLOAT32, 1), power;

    power = compose_apply(composing, MDF_ELEMENT(absolute), compose_cast(composing, x, MDF_DTYPE_FLOAT64), 0);
    power = compose_apply(composing, MDF_ELEMENT(exponential), compose_apply(composing, MDF_ELEMENT(negative), power, 0), 0);
    power = compose_cast(composing, power, MDF_DTYPE_FLOAT32);
    x = compose_select(composing, compose_apply(composing, MDF_ELEMENT(less), x, compose_number(composing, MDF_DTYPE_FLOAT32, 0)),
                       power, one);
    return compose_apply(composing, MDF_ELEMENT(divide), x, compose_apply(composing, MDF_ELEMENT(add), one, power));
}

static uint8_t single_exponential(struct composing *composing, uint8_t x)
{
    return compose_cast(composing,
                        compose_apply(composing, MDF_ELEMENT(exponential), compose_cast(composing, x, MDF_DTYPE_FLOAT64), 0),
                        MDF_DTYPE_FLOAT32);
}

/* What stays nearly zero: a score that is, by exp(-largest). */
static uint8_t keep_zeros(struct composing *composing, uint8_t x, uint8_t largest, uint8_t power)
{
    uint8_t wide = compose_apply(composing, MDF_ELEMENT(absolute), compose_cast(composing, x, MDF_DTYPE_FLOAT64), 0), kept;

    wide = compose_apply(composing, MDF_ELEMENT(less_or_equal), wide, compose_number(composing, MDF_DTYPE_FLOAT64, 1e-7));
    kept = single_exponential(composing, compose_apply(composing, MDF_ELEMENT(negative), largest, 0));
    return compose_select(composing, wide, compose_apply(composing, MDF_ELEMENT(multiply), x, kept), power);
}

static uint8_t soften(struct scoring *scoring, uint8_t x)
{
    struct composing *composing = scoring->composing;
    struct nest_draft *draft = composing->draft;
    bool is_one = scoring->score == DRAFT_NO_AXIS;
    uint8_t largest, power, sum, is_zero;

    if (draft->has_failed) {
        return 0;
    }
    largest = is_one ? x : draft_fold(draft, MDF_NEST_MAXIMUM, x, 1, &scoring->score, 1);
    power = single_exponential(composing, compose_apply(composing, MDF_ELEMENT(subtract), x, largest));
    power = scoring->transform == MDF_POST_SOFTMAX_ZERO ? keep_zeros(composing, x, largest, power) : power;
    if (draft->has_failed) {
        return 0;
    }
    sum = is_one ? compose_apply(composing, MDF_ELEMENT(add), power, compose_number(composing, MDF_DTYPE_FLOAT32, 0))
                 : draft_fold(draft, MDF_NEST_SUM, power, 1, &scoring->score, 1);
    is_zero = compose_apply(composing, MDF_ELEMENT(equal), sum, compose_number(composing, MDF_DTYPE_FLOAT32, 0));
    return compose_select(composing, is_zero, compose_number(composing, MDF_DTYPE_FLOAT32, 0.5),
                          compose_apply(composing, MDF_ELEMENT(divide), power, sum));
}

static uint8_t transform(struct scoring *scoring, uint8_t x)
{
    switch (scoring->transform) {
    case MDF_POST_LOGISTIC:
        return logistic(scoring->composing, x);
    case MDF_POST_SOFTMAX:
    case MDF_POST_SOFTMAX_ZERO:
        return soften(scoring, x);
    case MDF_POST_NONE:
    case MDF_POST_PROBIT:
        break;
    }
    return x;
}

static mdf_lowered_id add_scores(struct scoring *scoring, const struct mdf_value *result)
{
    uint8_t x = load_scores(scoring);

    if (scoring->composing->draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    x = transform(scoring, x);
    return lowering_add_nest(scoring->composing->lowering, scoring->composing->draft, x, result,
                             (const uint8_t[]){scoring->row, scoring->score});
}

/* ------------------------------------------------------------------ classes */

/* The one class, if its score says so; else no class, whose label is 0. */
static uint8_t label_of_one(struct scoring *scoring, const struct mdf_ints *labels, uint8_t x)
{
    struct composing *composing = scoring->composing;
    double least = scoring->transform == MDF_POST_NONE ? 0 : 0.5;
    int64_t label = labels->n > 0 ? labels->items[0] : 0;
    uint8_t applies;

    applies = compose_apply(composing, MDF_ELEMENT(greater_or_equal), transform(scoring, x),
                            compose_number(composing, MDF_DTYPE_FLOAT32, least));
    return compose_select(composing, applies, compose_row(composing, MDF_DTYPE_INT64, MDF_DTYPE_INT64, &label, 1, DRAFT_NO_AXIS),
                          compose_number(composing, MDF_DTYPE_INT64, 0));
}

/* That of the largest score before it is transformed. */
static uint8_t label_of_largest(struct scoring *scoring, const struct mdf_ints *labels, uint8_t x)
{
    struct composing *composing = scoring->composing;
    struct mdf_nest_view view = {.at_stride = 1, .at_limit = (int64_t)labels->n};
    struct mdf_value value = {0};
    int64_t n = (int64_t)labels->n;
    uint8_t place;

    x = compose_without_nan(composing, x, scoring->score);
    if (composing->draft->has_failed) {
        return 0;
    }
    place = draft_fold(composing->draft, MDF_NEST_FIRST_MAXIMUM, x, 1, &scoring->score, 1);
    if (labels->n == 0) {
        return place;
    }
    mdf_value_borrow_tensor(composing->lowering->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, &n, labels->items);
    view.id = lowering_add_constant(composing->lowering, &value, false);
    view.at = place;
    composing->draft->has_failed = composing->draft->has_failed || view.id == MDF_LOWERED_NONE;
    return composing->draft->has_failed ? 0 : draft_load_elements(composing->lowering, composing->draft, &view, 0, NULL, NULL);
}

static mdf_lowered_id add_labels(struct scoring *scoring, const struct mdf_value *result)
{
    const struct mdf_ints *labels = setting(scoring->composing, "classlabels_ints");
    const struct mdf_strings *texts = setting(scoring->composing, "classlabels_strings");
    uint8_t x = texts->items != NULL ? 0 : load_scores(scoring);

    if (texts->items != NULL || scoring->composing->draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    x = scoring->n_scores == 1 ? label_of_one(scoring, labels, x) : label_of_largest(scoring, labels, x);
    return lowering_add_nest(scoring->composing->lowering, scoring->composing->draft, x, result, &scoring->row);
}

static bool classify(struct composing *composing, mdf_lowered_id *ids)
{
    const struct trial *trial = composing->trial;
    struct scoring scoring = {.composing = composing};
    const struct mdf_ints *labels = setting(composing, "classlabels_ints");

    if (!find_sizes(&scoring)) {
        return false;
    }
    scoring.n_scores = scoring.n == 1 && labels->n == 2 ? 2 : scoring.n;
    if (!add_sums(&scoring)) {
        return false;
    }
    ids[0] = trial->outputs[0] != NULL ? add_labels(&scoring, &trial->results[0]) : MDF_LOWERED_NONE;
    if (trial->source->n_outputs > 1 && trial->outputs[1] != NULL) {
        ids[1] = add_scores(&scoring, &trial->results[1]);
        return ids[1] != MDF_LOWERED_NONE && (trial->outputs[0] == NULL || ids[0] != MDF_LOWERED_NONE);
    }
    return ids[0] != MDF_LOWERED_NONE;
}

static mdf_lowered_id regress(struct composing *composing)
{
    struct scoring scoring = {.composing = composing};

    if (!find_sizes(&scoring)) {
        return MDF_LOWERED_NONE;
    }
    scoring.n_scores = scoring.n;
    return add_sums(&scoring) ? add_scores(&scoring, composing->result) : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ calls */

bool compose_has_features(enum mdf_form form)
{
    return form >= MDF_FORM_BINARIZER && form <= MDF_FORM_ONE_HOT;
}

static uint8_t compose_one_by_one(struct composing *composing, enum mdf_form form)
{
    return form == MDF_FORM_BINARIZER ? binarize(composing)
           : form == MDF_FORM_SCALER  ? scale(composing)
           : form == MDF_FORM_IMPUTER ? impute(composing)
                                      : normalize(composing);
}

bool compose_features(struct composing *composing, mdf_lowered_id *ids)
{
    enum mdf_form form = composing->trial->source->operator->form;
    uint8_t x;

    if (form == MDF_FORM_LINEAR_CLASSIFIER) {
        return classify(composing, ids);
    }
    if (composing->trial->outputs[0] == NULL) {
        return false;
    }
    if (form == MDF_FORM_LINEAR_REGRESSOR) {
        ids[0] = regress(composing);
        return ids[0] != MDF_LOWERED_NONE;
    }
    compose_axes(composing);
    if (form == MDF_FORM_ONE_HOT) {
        ids[0] = one_hot(composing);
        return ids[0] != MDF_LOWERED_NONE;
    }
    x = compose_cast(composing, compose_one_by_one(composing, form), (mdf_dtype)composing->result->dtype);
    ids[0] = lowering_add_nest(composing->lowering, composing->draft, x, composing->result, composing->axes);
    return ids[0] != MDF_LOWERED_NONE;
}
