/* lower_interpolate.c - numpy.interp as a nest: how many points of the table are not above x is a sum over the table, which says
 * between which two points x lies; the rest is the kernel's arithmetic (functions/python/numpy/numpy_statistics.c).
 *
 * Of a table whose coordinates are known while lowering and in order: of others the kernel's search and the sum differ. */
#include "mdf_c/lower/nests/compose.h"

#include <math.h>

enum { MOST_POINTS = 4096 }; /* the sum goes over all of them, where the kernel halves */

/* A table, and where in it x lies. */
struct table {
    struct composing *composing;
    int64_t n;
    uint8_t low; /* the register of the number of the last point that is not above x, or 0 */
};

static bool is_in_order(const struct mdf_value *x)
{
    for (size_t i = 0; i < x->length; i++) {
        double here = mdf_element_to_double((mdf_dtype)x->dtype, (const char *)x->data + i * mdf_dtype_size((mdf_dtype)x->dtype));
        double before = i == 0 ? (double)-INFINITY
                               : mdf_element_to_double((mdf_dtype)x->dtype,
                                                       (const char *)x->data + (i - 1) * mdf_dtype_size((mdf_dtype)x->dtype));

        if (!(here >= before)) {
            return false;
        }
    }
    return true;
}

static bool is_table(const struct composing *composing)
{
    const struct mdf_value *x = composing->trial->effective[1], *y = composing->trial->effective[2];

    return x->rank == 1 && y->rank == 1 && x->length == y->length && x->length > 1 && x->length <= MOST_POINTS &&
           composing->result->rank < MDF_INLINE_RANK && lowering_is_constant(composing->lowering, composing->trial->ids[1]) &&
           is_in_order(x);
}

/* Element number `first`, or with a register in `at` so many further on, of the points' coordinates x (1) or y (2). */
static uint8_t coordinate(const struct table *table, size_t input, int64_t first, uint8_t at)
{
    const struct mdf_nest_view view = {
        .id = table->composing->trial->ids[input], .first = first, .at = at, .at_stride = 1, .at_limit = table->n};
    struct nest_draft *draft = table->composing->draft;

    return draft->has_failed ? 0
                             : draft_cast(draft, draft_load_elements(table->composing->lowering, draft, &view, 0, NULL, NULL),
                                          MDF_DTYPE_FLOAT64);
}

static uint8_t whole(const struct table *table, int64_t number)
{
    return compose_number(table->composing, MDF_DTYPE_INT64, (double)number);
}

/* The number of points that are not above x, less one, but at least 0. */
static uint8_t find_low(const struct table *table, uint8_t x)
{
    struct composing *composing = table->composing;
    const struct mdf_value *points = composing->trial->effective[1];
    uint8_t axis = draft_axis(composing->draft, table->n), all, is_below, count, one = whole(table, 1), zero = whole(table, 0);

    if (composing->draft->has_failed) {
        return 0;
    }
    all = compose_row(composing, MDF_DTYPE_FLOAT64, (mdf_dtype)points->dtype, points->data, points->length, axis);
    is_below = compose_apply(composing, MDF_ELEMENT(less_or_equal), all, x);
    count = draft_fold(composing->draft, MDF_NEST_SUM, compose_select(composing, is_below, one, zero), 1, &axis, 1);
    return compose_select(composing, compose_apply(composing, MDF_ELEMENT(less), zero, count),
                          compose_apply(composing, MDF_ELEMENT(subtract), count, one), zero);
}

static uint8_t line_from(struct composing *composing, uint8_t slope, uint8_t x, uint8_t x_point, uint8_t y_point)
{
    uint8_t distance = compose_apply(composing, MDF_ELEMENT(subtract), x, x_point);

    return compose_apply(composing, MDF_ELEMENT(add), compose_apply(composing, MDF_ELEMENT(multiply), slope, distance), y_point);
}

/* Between the points around x: from the lower one, or, where that is no number, from the upper one. */
static uint8_t inside(const struct table *table, uint8_t x)
{
    struct composing *composing = table->composing;
    uint8_t last = whole(table, table->n - 1), is_last = compose_apply(composing, MDF_ELEMENT(equal), table->low, last);
    uint8_t next =
        compose_select(composing, is_last, last, compose_apply(composing, MDF_ELEMENT(add), table->low, whole(table, 1)));
    uint8_t x_low = coordinate(table, 1, 0, table->low), y_low = coordinate(table, 2, 0, table->low);
    uint8_t x_high = coordinate(table, 1, 0, next), y_high = coordinate(table, 2, 0, next);
    uint8_t slope = compose_apply(composing, MDF_ELEMENT(divide), compose_apply(composing, MDF_ELEMENT(subtract), y_high, y_low),
                                  compose_apply(composing, MDF_ELEMENT(subtract), x_high, x_low));
    uint8_t below = line_from(composing, slope, x, x_low, y_low), above = line_from(composing, slope, x, x_high, y_high), value;

    above = compose_select(composing, compose_apply(composing, MDF_ELEMENT(equal), above, above), above,
                           compose_select(composing, compose_apply(composing, MDF_ELEMENT(equal), y_low, y_high), y_low, above));
    value = compose_select(composing, compose_apply(composing, MDF_ELEMENT(equal), below, below), below, above);
    value = compose_select(composing, compose_apply(composing, MDF_ELEMENT(equal), x_low, x), y_low, value);
    return compose_select(composing, is_last, y_low, value);
}

/* What is given for x beyond an end, as input number `given`; else the point there. */
static uint8_t outside(const struct table *table, size_t given, int64_t point)
{
    const struct trial *trial = table->composing->trial;

    return given < trial->n && trial->ids[given] != MDF_LOWERED_NONE && trial->effective[given]->kind == MDF_KIND_TENSOR
               ? compose_load(table->composing, given, MDF_DTYPE_FLOAT64)
               : coordinate(table, 2, point, MDF_NEST_NONE);
}

uint8_t compose_interpolation(struct composing *composing)
{
    struct table table = {.composing = composing, .n = (int64_t)composing->trial->effective[1]->length};
    uint8_t x, value;

    if (!is_table(composing)) {
        composing->draft->has_failed = true;
        return 0;
    }
    x = compose_load(composing, 0, MDF_DTYPE_FLOAT64);
    table.low = find_low(&table, x);
    value = inside(&table, x);
    value = compose_select(composing,
                           compose_apply(composing, MDF_ELEMENT(less), coordinate(&table, 1, table.n - 1, MDF_NEST_NONE), x),
                           outside(&table, 4, table.n - 1), value);
    value = compose_select(composing, compose_apply(composing, MDF_ELEMENT(less), x, coordinate(&table, 1, 0, MDF_NEST_NONE)),
                           outside(&table, 3, 0), value);
    value = compose_select(composing, compose_apply(composing, MDF_ELEMENT(equal), x, x), value, x);
    return compose_cast(composing, value, (mdf_dtype)composing->result->dtype);
}
