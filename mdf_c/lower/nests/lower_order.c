/* lower_order.c - NEST ops for TopK: the rank of each element is how many of its line come before it, and what has rank j is
 * number j. See compose.h.
 *
 * That takes as many steps as the square of a line's length, which is why it is for short lines, and for C source. */
#include "mdf_c/lower/nests/compose.h"

#include "functions/moves/indexing.h"

#include <string.h>

enum { LONGEST_RANKED = 1024, MOST_COMPARISONS = 1 << 26 };

struct ranking {
    struct composing *composing;
    const struct mdf_value *data, *selected;
    size_t axis, n, k; /* elements of a line; of what is selected of it */
    bool is_largest;
    int64_t strides[MDF_INLINE_RANK]; /* of the data */
    mdf_lowered_id ranks, places;
    /* Of the nest in the making: one more axis, over a line, and the axes of a value's dimensions with it as that of the line. */
    uint8_t line, axes[MDF_INLINE_RANK];
};

static bool find_lines(struct ranking *ranking)
{
    const struct trial *trial = ranking->composing->trial;
    const struct mdf_operator *operator= trial->source->operator;
    const int64_t *largest = lowering_setting(operator, trial->source->settings, "largest");
    size_t rank = trial->effective[0]->rank;

    ranking->data = trial->effective[0];
    ranking->selected = &trial->results[trial->outputs[0] != NULL ? 0 : 1];
    ranking->axis = lowering_axis(trial->source, rank, rank - 1);
    ranking->is_largest = largest == NULL || *largest != 0;
    if (rank == 0 || ranking->axis >= rank || !lowering_has_constants(ranking->composing->lowering, trial, 1)) {
        return false;
    }
    ranking->n = (size_t)mdf_value_shape(ranking->data)[ranking->axis];
    ranking->k = (size_t)mdf_value_shape(ranking->selected)[ranking->axis];
    mdf_strides(rank, mdf_value_shape(ranking->data), ranking->strides);
    return ranking->n > 1 && ranking->n <= LONGEST_RANKED && ranking->data->length * ranking->n <= MOST_COMPARISONS;
}

static uint8_t apply(const struct ranking *ranking, const struct mdf_element *element, uint8_t a, uint8_t b)
{
    return compose_apply(ranking->composing, element, a, b);
}

/* A new nest, with an axis for each dimension of a value. */
static bool begin(struct composing *composing, const struct mdf_value *of)
{
    composing->draft = draft_new(composing->lowering);
    composing->result = of;
    if (composing->draft != NULL) {
        compose_axes(composing);
    }
    return composing->draft != NULL;
}

/* The same with one more, over a line. */
static bool begin_over_lines(struct ranking *ranking, const struct mdf_value *of)
{
    struct composing *composing = ranking->composing;

    if (!begin(composing, of)) {
        return false;
    }
    ranking->line = draft_axis(composing->draft, (int64_t)ranking->n);
    memcpy(ranking->axes, composing->axes, sizeof ranking->axes);
    ranking->axes[ranking->axis] = ranking->line;
    return !composing->draft->has_failed;
}

/* Whether x comes before y: equal ones, as -0 and 0 are, and any two NaN, by their numbers. NaN is larger than any number. */
static uint8_t comes_before(const struct ranking *ranking, uint8_t x, uint8_t y, uint8_t x_number, uint8_t y_number)
{
    bool is_real = mdf_dtype_kind((mdf_dtype)ranking->data->dtype) == 'f';
    uint8_t before = apply(ranking, ranking->is_largest ? MDF_ELEMENT(greater) : MDF_ELEMENT(less), x, y);
    uint8_t same = apply(ranking, MDF_ELEMENT(equal), x, y), first = apply(ranking, MDF_ELEMENT(less), x_number, y_number);
    uint8_t x_is_nan, y_is_nan, beyond;

    if (is_real) {
        x_is_nan = apply(ranking, MDF_ELEMENT(is_nan), x, 0);
        y_is_nan = apply(ranking, MDF_ELEMENT(is_nan), y, 0);
        beyond = ranking->is_largest
                     ? apply(ranking, MDF_ELEMENT(logical_and), x_is_nan, apply(ranking, MDF_ELEMENT(equal), y, y))
                     : apply(ranking, MDF_ELEMENT(logical_and), y_is_nan, apply(ranking, MDF_ELEMENT(equal), x, x));
        before = apply(ranking, MDF_ELEMENT(logical_or), before, beyond);
        same = apply(ranking, MDF_ELEMENT(logical_or), same, apply(ranking, MDF_ELEMENT(logical_and), x_is_nan, y_is_nan));
    }
    return apply(ranking, MDF_ELEMENT(logical_or), before, apply(ranking, MDF_ELEMENT(logical_and), same, first));
}

static bool add_ranks(struct ranking *ranking)
{
    struct composing *composing = ranking->composing;
    struct mdf_nest_view view = {.id = composing->trial->ids[0], .at = MDF_NEST_NONE};
    size_t rank = ranking->data->rank;
    uint8_t x, y, before, sum;

    if (!begin_over_lines(ranking, ranking->data)) {
        return false;
    }
    x = draft_load_elements(composing->lowering, composing->draft, &view, rank, ranking->axes, ranking->strides);
    y = draft_load_elements(composing->lowering, composing->draft, &view, rank, composing->axes, ranking->strides);
    before = comes_before(ranking, x, y, compose_count(composing, ranking->n, ranking->line),
                          compose_count(composing, ranking->n, composing->axes[ranking->axis]));
    if (composing->draft->has_failed) {
        return false;
    }
    draft_widen(composing->draft); /* what is made of x alone, or of y alone, goes through both axes too */
    sum = draft_fold(composing->draft, MDF_NEST_SUM, draft_cast(composing->draft, before, MDF_DTYPE_INT64), 1, &ranking->line, 1);
    ranking->ranks = lowering_add_computed_nest(composing->lowering, composing->draft, sum, ranking->data->length, rank,
                                                composing->axes, ranking->strides);
    return ranking->ranks != MDF_LOWERED_NONE;
}

/* The numbers of what is selected: of all in a line the one that has the rank. */
static bool add_places(struct ranking *ranking)
{
    struct composing *composing = ranking->composing;
    const struct trial *trial = composing->trial;
    struct mdf_nest_view view = {.id = ranking->ranks, .at = MDF_NEST_NONE};
    size_t rank = ranking->data->rank;
    int64_t strides[MDF_INLINE_RANK];
    uint8_t has_rank, place;

    if (!begin_over_lines(ranking, ranking->selected)) {
        return false;
    }
    has_rank = apply(ranking, MDF_ELEMENT(equal),
                     draft_load_elements(composing->lowering, composing->draft, &view, rank, ranking->axes, ranking->strides),
                     compose_count(composing, ranking->k, composing->axes[ranking->axis]));
    place = compose_select(composing, has_rank, compose_count(composing, ranking->n, ranking->line),
                           compose_number(composing, MDF_DTYPE_INT64, 0));
    if (composing->draft->has_failed) {
        return false;
    }
    place = draft_fold(composing->draft, MDF_NEST_SUM, place, 1, &ranking->line, 1);
    mdf_strides(rank, mdf_value_shape(ranking->selected), strides);
    ranking->places = trial->source->n_outputs > 1 && trial->outputs[1] != NULL
                          ? lowering_add_nest(composing->lowering, composing->draft, place, &trial->results[1], composing->axes)
                          : lowering_add_computed_nest(composing->lowering, composing->draft, place, ranking->selected->length,
                                                       rank, composing->axes, strides);
    return ranking->places != MDF_LOWERED_NONE;
}

static mdf_lowered_id add_values(struct ranking *ranking)
{
    struct composing *composing = ranking->composing;
    struct mdf_nest_view places = {.id = ranking->places, .at = MDF_NEST_NONE}, view = {.id = composing->trial->ids[0]};
    size_t rank = ranking->data->rank;
    int64_t strides[MDF_INLINE_RANK];
    uint8_t axes[MDF_INLINE_RANK];

    if (!begin(composing, ranking->selected)) {
        return MDF_LOWERED_NONE;
    }
    memcpy(axes, composing->axes, sizeof axes);
    axes[ranking->axis] = DRAFT_NO_AXIS;
    mdf_strides(rank, mdf_value_shape(ranking->selected), strides);
    view.at = draft_load_elements(composing->lowering, composing->draft, &places, rank, composing->axes, strides);
    view.at_stride = ranking->strides[ranking->axis];
    view.at_limit = (int64_t)ranking->n;
    return lowering_add_nest(composing->lowering, composing->draft,
                             draft_load_elements(composing->lowering, composing->draft, &view, rank, axes, ranking->strides),
                             &composing->trial->results[0], composing->axes);
}

bool compose_top(struct composing *composing, mdf_lowered_id *ids)
{
    struct ranking ranking = {.composing = composing};
    const struct trial *trial = composing->trial;

    if (!find_lines(&ranking) || !add_ranks(&ranking) || !add_places(&ranking)) {
        return false;
    }
    ids[1] = ranking.places;
    ids[0] = trial->outputs[0] != NULL ? add_values(&ranking) : MDF_LOWERED_NONE;
    return trial->outputs[0] == NULL || ids[0] != MDF_LOWERED_NONE;
}
