/* lower_features.c - NEST ops for rows of features: Binarizer, Scaler, Imputer and Normalizer of ai.onnx.ml; and for OneHot. See
 * compose.h.
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
    return mdf_code_setting(composing->trial->source, name);
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
    const int64_t *replaced = setting(composing, "replaced_value_int64");
    uint8_t x = compose_load(composing, 0, MDF_DTYPE_INT64), is_missing;

    is_missing = compose_apply(composing, MDF_ELEMENT(equal), x,
                               compose_row(composing, MDF_DTYPE_INT64, MDF_DTYPE_INT64, replaced, 1, DRAFT_NO_AXIS));
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

/* Each index is compared with 0, 1, ..., depth - 1; negative ones count from the end, reals are cut off to whole ones. */
static mdf_lowered_id one_hot(struct composing *composing)
{
    const struct trial *trial = composing->trial;
    struct mdf_nest_view view = {.id = trial->ids[2], .at = MDF_NEST_NONE};
    size_t rank = composing->result->rank, at = lowering_axis(trial->source, rank, rank - 1), d;
    uint8_t axes[MDF_INLINE_RANK], index, number, values[2];
    mdf_dtype dtype = operand_dtype(composing), wide = mdf_dtype_kind(dtype) == 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    int64_t depth;

    if (!lowering_is_constant(composing->lowering, trial->ids[1]) || at >= rank || dtype == MDF_DTYPE_UINT64 ||
        (wide == MDF_DTYPE_FLOAT64 ? !lowering_casts(dtype) : mdf_dtype_kind(dtype) != 'i' && mdf_dtype_kind(dtype) != 'u')) {
        return MDF_LOWERED_NONE;
    }
    depth = mdf_value_shape(composing->result)[at];
    for (d = 0; d + 1 < rank; d++) {
        axes[d] = composing->axes[d < at ? d : d + 1];
    }
    index = compose_cast(composing, draft_load(composing->lowering, composing->draft, trial->ids[0], axes), wide);
    index = wide == MDF_DTYPE_FLOAT64 ? compose_apply(composing, MDF_ELEMENT(truncated), index, 0) : index;
    number = compose_row(composing, wide, MDF_DTYPE_INT64, &depth, 1, DRAFT_NO_AXIS);
    index = compose_select(composing, compose_apply(composing, MDF_ELEMENT(less), index, compose_number(composing, wide, 0)),
                           compose_apply(composing, MDF_ELEMENT(add), index, number), index);
    number = draft_count(composing->lowering, composing->draft, wide, (size_t)depth, composing->axes[at]);
    number = compose_apply(composing, MDF_ELEMENT(equal), index, number);
    for (d = 0; d < 2; d++) {
        view.first = (int64_t)d;
        values[d] = draft_load_elements(composing->lowering, composing->draft, &view, 0, NULL, NULL);
    }
    number = compose_select(composing, number, values[1], values[0]);
    return lowering_add_nest(composing->lowering, composing->draft, number, composing->result, composing->axes);
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

mdf_lowered_id compose_features(struct composing *composing)
{
    enum mdf_form form = composing->trial->source->operator->form;
    uint8_t x;

    compose_axes(composing);
    if (form == MDF_FORM_ONE_HOT) {
        return one_hot(composing);
    }
    x = compose_cast(composing, compose_one_by_one(composing, form), (mdf_dtype)composing->result->dtype);
    return lowering_add_nest(composing->lowering, composing->draft, x, composing->result, composing->axes);
}
