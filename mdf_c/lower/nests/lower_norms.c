/* lower_norms.c - NEST ops for arrays that are normalised: LayerNormalization, RMSNormalization, InstanceNormalization,
 * LpNormalization, and BatchNormalization without training. See compose.h.
 *
 * In the kernels' own order and types (functions/folds/normalise_lines.inc, rescale.c): sums are float64, in MDF_SUM_PARTS parts.
 */
#include "mdf_c/lower/nests/compose.h"

#include "functions/elements/vectors/vector_rows.h"
#include "functions/moves/indexing.h"

#include <math.h>

/* A nest over lines: the dimensions before `axis` by themselves, the others as one. */
struct norm {
    struct composing *composing;
    mdf_dtype dtype; /* of elements, and of scale and bias */
    size_t axis, n;  /* n: elements of a line */
    uint8_t axes[MDF_INLINE_RANK], line;
    int64_t strides[MDF_INLINE_RANK];
};

static double real_setting(const struct norm *norm, const char *name)
{
    return *(const double *)mdf_code_setting(norm->composing->trial->source, name);
}

static int64_t whole_setting(const struct norm *norm, const char *name)
{
    return *(const int64_t *)mdf_code_setting(norm->composing->trial->source, name);
}

static uint8_t apply(struct norm *norm, const struct mdf_element *element, uint8_t a, uint8_t b)
{
    return compose_apply(norm->composing, element, a, b);
}

static uint8_t cast(struct norm *norm, uint8_t in, mdf_dtype dtype)
{
    return compose_cast(norm->composing, in, dtype);
}

static uint8_t number(struct norm *norm, double real)
{
    return compose_number(norm->composing, MDF_DTYPE_FLOAT64, real);
}

/* Whether all inputs have the elements' type, in which the kernel computes them then. */
static bool has_one_type(const struct norm *norm)
{
    const struct trial *trial = norm->composing->trial;

    for (size_t i = 0; i < trial->n; i++) {
        if (trial->effective[i]->dtype != (uint8_t)norm->dtype) {
            return false;
        }
    }
    return mdf_dtype_is_real(norm->dtype);
}

static void begin_lines(struct norm *norm, size_t axis)
{
    const struct mdf_value *x = norm->composing->result;
    const int64_t *shape = mdf_value_shape(x);

    norm->axis = axis;
    norm->n = 1;
    mdf_strides(x->rank, shape, norm->strides);
    for (size_t d = 0; d < x->rank; d++) {
        norm->n *= d >= axis ? (size_t)shape[d] : 1;
        norm->axes[d] = d < axis ? draft_axis(norm->composing->draft, shape[d]) : DRAFT_NO_AXIS;
    }
    norm->line = norm->axes[axis] = draft_axis(norm->composing->draft, (int64_t)norm->n);
    norm->strides[axis] = 1;
}

static uint8_t load(struct norm *norm)
{
    struct mdf_nest_view view = {.id = norm->composing->trial->ids[0], .at = MDF_NEST_NONE};

    return draft_load_elements(norm->composing->lowering, norm->composing->draft, &view, norm->axis + 1, norm->axes,
                               norm->strides);
}

/* Input `i`, a row of which lies along an axis. */
static uint8_t load_along(struct norm *norm, size_t i, uint8_t axis)
{
    struct mdf_nest_view view = {.id = norm->composing->trial->ids[i], .at = MDF_NEST_NONE};

    return draft_load_elements(norm->composing->lowering, norm->composing->draft, &view, 1, &axis, (const int64_t[]){1});
}

/* Of a line, in float64. */
static uint8_t sum(struct norm *norm, uint8_t term, uint8_t axis, unsigned lanes)
{
    if (axis == DRAFT_NO_AXIS) {
        return apply(norm, MDF_ELEMENT(add), term, number(norm, 0));
    }
    return norm->composing->draft->has_failed ? 0 : draft_fold(norm->composing->draft, MDF_NEST_SUM, term, 1, &axis, lanes);
}

/* Of what lies at register x, in float64: the mean; and 1 / sqrt(the mean of squared distances from it + epsilon). */
static uint8_t find_mean(struct norm *norm, uint8_t x)
{
    return apply(norm, MDF_ELEMENT(divide), sum(norm, x, norm->line, MDF_SUM_PARTS), number(norm, (double)norm->n));
}

static uint8_t find_inverse(struct norm *norm, uint8_t distance)
{
    uint8_t variance = sum(norm, apply(norm, MDF_ELEMENT(multiply), distance, distance), norm->line, MDF_SUM_PARTS);

    variance = apply(norm, MDF_ELEMENT(divide), variance, number(norm, (double)norm->n));
    variance = apply(norm, MDF_ELEMENT(add), variance, number(norm, real_setting(norm, "epsilon")));
    return apply(norm, MDF_ELEMENT(divide), number(norm, 1), apply(norm, MDF_ELEMENT(square_root), variance, 0));
}

static mdf_lowered_id finish(struct norm *norm, uint8_t y)
{
    return lowering_add_nest_of(norm->composing->lowering, norm->composing->draft, y, norm->composing->result, norm->axis + 1,
                                norm->axes, norm->strides);
}

/* ------------------------------------------------------------------ lines */

/* The size of an input in the result's dimension `d`, to which it is broadcast. */
static int64_t size_in(const struct norm *norm, size_t i, size_t d)
{
    const struct mdf_value *value = norm->composing->trial->effective[i];
    size_t n_missing = norm->composing->result->rank - value->rank;

    return d < n_missing ? 1 : mdf_value_shape(value)[d - n_missing];
}

/* Whether an input, which broadcasts to the result, has an element for each of a line, or one for all of them. */
static bool goes_with_lines(const struct norm *norm, size_t i, size_t axis)
{
    const struct mdf_value *x = norm->composing->result;
    bool is_whole = true, is_one = true;

    for (size_t d = axis; d < x->rank; d++) {
        is_whole = is_whole && size_in(norm, i, d) == mdf_value_shape(x)[d];
        is_one = is_one && size_in(norm, i, d) == 1;
    }
    return is_whole || is_one;
}

static uint8_t load_with_lines(struct norm *norm, size_t i)
{
    const struct composing *composing = norm->composing;
    struct mdf_nest_view view = {.id = composing->trial->ids[i], .at = MDF_NEST_NONE};
    uint8_t axes[MDF_INLINE_RANK];
    int64_t strides[MDF_INLINE_RANK], length = 1;

    for (size_t d = composing->result->rank; d-- > norm->axis;) {
        length *= size_in(norm, i, d);
    }
    axes[norm->axis] = length == 1 ? DRAFT_NO_AXIS : norm->line;
    strides[norm->axis] = 1;
    for (size_t d = norm->axis; d-- > 0;) {
        axes[d] = size_in(norm, i, d) == 1 ? DRAFT_NO_AXIS : norm->axes[d];
        strides[d] = length;
        length *= size_in(norm, i, d);
    }
    return draft_load_elements(composing->lowering, composing->draft, &view, norm->axis + 1, axes, strides);
}

/* (x - mean) factor scale + bias. */
static mdf_lowered_id normalise_each(struct norm *norm, size_t axis, bool is_centred)
{
    size_t n = norm->composing->trial->n;
    uint8_t x, wide, y;

    if (!has_one_type(norm) || n < 2 || !goes_with_lines(norm, 1, axis) || (n > 2 && !goes_with_lines(norm, 2, axis))) {
        return MDF_LOWERED_NONE;
    }
    begin_lines(norm, axis);
    y = x = load(norm);
    wide = cast(norm, x, MDF_DTYPE_FLOAT64);
    if (is_centred) {
        uint8_t mean = find_mean(norm, wide);

        wide = apply(norm, MDF_ELEMENT(subtract), wide, mean);
        y = apply(norm, MDF_ELEMENT(subtract), x, cast(norm, mean, norm->dtype));
    }
    y = apply(norm, MDF_ELEMENT(multiply), y, cast(norm, find_inverse(norm, wide), norm->dtype));
    y = apply(norm, MDF_ELEMENT(multiply), y, load_with_lines(norm, 1));
    y = is_centred && n > 2 ? apply(norm, MDF_ELEMENT(add), y, load_with_lines(norm, 2)) : y;
    return norm->composing->draft->has_failed ? MDF_LOWERED_NONE : finish(norm, y);
}

/* Each channel of each batch by itself; scale and bias are those of the channel. */
static mdf_lowered_id normalise_channels(struct norm *norm)
{
    uint8_t x, wide, mean, inverse, y, scale;

    if (!has_one_type(norm) || norm->composing->trial->n != 3 || norm->composing->result->rank < 3) {
        return MDF_LOWERED_NONE;
    }
    begin_lines(norm, 2);
    x = load(norm);
    scale = load_along(norm, 1, norm->axes[1]);
    wide = cast(norm, x, MDF_DTYPE_FLOAT64);
    mean = find_mean(norm, wide);
    inverse = find_inverse(norm, apply(norm, MDF_ELEMENT(subtract), wide, mean));
    y = apply(norm, MDF_ELEMENT(subtract), x, cast(norm, mean, norm->dtype));
    if (norm->line == DRAFT_NO_AXIS) { /* one element: its factor is rounded before it is scaled */
        y = apply(norm, MDF_ELEMENT(multiply), y, cast(norm, inverse, norm->dtype));
        y = apply(norm, MDF_ELEMENT(multiply), y, scale);
    } else {
        scale = apply(norm, MDF_ELEMENT(multiply), inverse, cast(norm, scale, MDF_DTYPE_FLOAT64));
        y = apply(norm, MDF_ELEMENT(multiply), y, cast(norm, scale, norm->dtype));
    }
    y = apply(norm, MDF_ELEMENT(add), y, load_along(norm, 2, norm->axes[1]));
    return norm->composing->draft->has_failed ? MDF_LOWERED_NONE : finish(norm, y);
}

/* Whether the statistics of channels are what is given, and not those of the batch; by version. */
static bool has_statistics(const struct norm *norm)
{
    int since = norm->composing->trial->source->operator->since;

    return since >= 14 ? whole_setting(norm, "training_mode") == 0
                       : whole_setting(norm, "spatial") != 0 && (since >= 7 || whole_setting(norm, "is_test") != 0);
}

/* By mean and variance of a channel, which are given. */
static mdf_lowered_id normalise_batch(struct norm *norm)
{
    const struct trial *trial = norm->composing->trial;
    uint8_t x, factor, y, channel;

    if (!has_one_type(norm) || trial->n != 5 || norm->composing->result->rank < 2 || !has_statistics(norm)) {
        return MDF_LOWERED_NONE;
    }
    begin_lines(norm, norm->composing->result->rank > 2 ? 2 : 1);
    channel = norm->axes[1];
    x = load(norm);
    factor = apply(norm, MDF_ELEMENT(add), cast(norm, load_along(norm, 4, channel), MDF_DTYPE_FLOAT64),
                   number(norm, real_setting(norm, "epsilon")));
    factor = apply(norm, MDF_ELEMENT(square_root), factor, 0);
    factor = apply(norm, MDF_ELEMENT(divide), cast(norm, load_along(norm, 1, channel), MDF_DTYPE_FLOAT64), factor);
    y = apply(norm, MDF_ELEMENT(subtract), x, load_along(norm, 3, channel));
    y = apply(norm, MDF_ELEMENT(multiply), y, cast(norm, factor, norm->dtype));
    y = apply(norm, MDF_ELEMENT(add), y, load_along(norm, 2, channel));
    return norm->composing->draft->has_failed ? MDF_LOWERED_NONE : finish(norm, y);
}

/* ------------------------------------------------------------------ LpNormalization */

/* A line along one axis is divided by its norm; one of zeros stays as it is. */
static mdf_lowered_id divide_by_norm(struct norm *norm, size_t axis)
{
    struct composing *composing = norm->composing;
    const int64_t *shape = mdf_value_shape(composing->result);
    bool is_square = whole_setting(norm, "p") == 2, is_adjacent = true;
    uint8_t x, total, holds;

    compose_axes(composing);
    for (size_t d = axis + 1; d < composing->result->rank; d++) {
        is_adjacent = is_adjacent && shape[d] == 1;
    }
    x = compose_load(composing, 0, MDF_DTYPE_FLOAT64);
    total = is_square ? apply(norm, MDF_ELEMENT(multiply), x, x) : apply(norm, MDF_ELEMENT(absolute), x, 0);
    total = sum(norm, total, composing->axes[axis], is_square && is_adjacent ? MDF_SUM_PARTS : 1);
    total = is_square ? apply(norm, MDF_ELEMENT(square_root), total, 0) : total;
    holds = apply(norm, MDF_ELEMENT(equal), total, number(norm, 0));
    total = composing->draft->has_failed ? 0 : compose_select(composing, holds, number(norm, (double)INFINITY), total);
    x = cast(norm, apply(norm, MDF_ELEMENT(divide), x, total), (mdf_dtype)composing->result->dtype);
    return lowering_add_nest(composing->lowering, composing->draft, x, composing->result, composing->axes);
}

/* ------------------------------------------------------------------ calls */

bool compose_has_norm(enum mdf_form form)
{
    return form >= MDF_FORM_LAYER_NORM && form <= MDF_FORM_LP_NORM;
}

mdf_lowered_id compose_norm(struct composing *composing)
{
    struct norm norm = {.composing = composing, .dtype = (mdf_dtype)composing->result->dtype};
    enum mdf_form form = composing->trial->source->operator->form;
    size_t rank = composing->result->rank, axis = lowering_axis(composing->trial->source, rank, rank);

    if (form == MDF_FORM_INSTANCE_NORM || form == MDF_FORM_BATCH_NORM) {
        return form == MDF_FORM_INSTANCE_NORM ? normalise_channels(&norm) : normalise_batch(&norm);
    }
    if (axis >= rank) {
        return MDF_LOWERED_NONE;
    }
    return form == MDF_FORM_LP_NORM ? divide_by_norm(&norm, axis) : normalise_each(&norm, axis, form == MDF_FORM_LAYER_NORM);
}
