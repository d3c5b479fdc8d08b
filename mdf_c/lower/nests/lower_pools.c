/* lower_pools.c - NEST ops for pools: windows that are folded, and whole planes. See compose.h.
 *
 * Sizes and kind are those that the routine of the row plans (functions/windows/pool_routine.inc), and the order of folds is that
 * of its function, which is the kernel's. Where windows reach into the padding they go over an array that has it, of what changes
 * no fold: it is laid out by nests of its own. */
#include "mdf_c/lower/nests/compose.h"

#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

enum { MOST_PADDING = 64 }; /* along an axis, besides as much as there is of the array */

enum pool_kind { POOL_LARGEST, POOL_AVERAGE, POOL_NORM };

/* What plans have of a spatial axis (functions/windows/taps_routine.inc). */
enum { AXIS_ARRAY, AXIS_WINDOWS, AXIS_TAPS, AXIS_STRIDE, AXIS_DILATION, AXIS_PADDING, N_AXIS };

struct pool {
    struct composing *composing;
    struct mdf_routine_plan plan;
    enum pool_kind kind;
    struct compose_windows windows;
    bool is_by_last; /* windows are folded along all but the last axis first */
};

static uint8_t apply(struct pool *pool, const struct mdf_element *element, uint8_t a, uint8_t b)
{
    return compose_apply(pool->composing, element, a, b);
}

static uint8_t number(struct pool *pool, mdf_dtype dtype, double real)
{
    return compose_number(pool->composing, dtype, real);
}

static mdf_dtype dtype_of(const struct pool *pool)
{
    return (mdf_dtype)pool->composing->result->dtype;
}

/* Magnitudes to the power p, which is 1 or 2, in float64. */
static uint8_t find_power(struct pool *pool, uint8_t x)
{
    uint8_t wide = compose_cast(pool->composing, x, MDF_DTYPE_FLOAT64);

    return pool->plan.real[0] > 1 ? apply(pool, MDF_ELEMENT(multiply), wide, wide) : apply(pool, MDF_ELEMENT(absolute), wide, 0);
}

/* The root of a sum of such, in the type of the result. */
static uint8_t find_root(struct pool *pool, uint8_t sum)
{
    uint8_t wide = compose_cast(pool->composing, sum, MDF_DTYPE_FLOAT64);

    return compose_cast(pool->composing, pool->plan.real[0] > 1 ? apply(pool, MDF_ELEMENT(square_root), wide, 0) : wide,
                        dtype_of(pool));
}

static uint8_t fold(struct pool *pool, uint8_t x, size_t n_axes, const uint8_t *axes, unsigned lanes)
{
    enum mdf_nest_fold of = pool->kind == POOL_LARGEST ? MDF_NEST_MAXIMUM : MDF_NEST_SUM;

    return pool->composing->draft->has_failed ? 0 : draft_fold(pool->composing->draft, of, x, n_axes, axes, lanes);
}

/* Of one element: 0 is added all the same, which makes 0 of -0. */
static uint8_t fold_one(struct pool *pool, uint8_t x)
{
    mdf_dtype dtype =
        pool->composing->draft->has_failed ? MDF_DTYPE_NONE : (mdf_dtype)pool->composing->draft->steps[x].step.dtype;

    return pool->kind == POOL_LARGEST ? x : apply(pool, MDF_ELEMENT(add), x, number(pool, dtype, 0));
}

/* ------------------------------------------------------------------ windows */

static const int64_t *axis_of(const struct compose_windows *windows, size_t i)
{
    return windows->numbers + N_AXIS * i;
}

bool compose_surround(struct compose_windows *windows, double padding)
{
    struct composing *composing = windows->composing;
    const struct mdf_value *x = composing->trial->effective[0];
    int64_t before[MDF_INLINE_RANK] = {0};
    bool meets_padding = false;

    memcpy(windows->sizes, mdf_value_shape(x), x->rank * sizeof *windows->sizes);
    windows->met = composing->trial->ids[0];
    for (size_t i = 0; i < windows->rank; i++) {
        const int64_t *axis = axis_of(windows, i);
        int64_t end = (axis[AXIS_WINDOWS] - 1) * axis[AXIS_STRIDE] + (axis[AXIS_TAPS] - 1) * axis[AXIS_DILATION] + 1;

        before[i + 2] = axis[AXIS_PADDING];
        windows->sizes[i + 2] = end > before[i + 2] + axis[AXIS_ARRAY] ? end : before[i + 2] + axis[AXIS_ARRAY];
        meets_padding = meets_padding || windows->sizes[i + 2] != axis[AXIS_ARRAY];
        if (before[i + 2] < 0 || windows->sizes[i + 2] > 2 * axis[AXIS_ARRAY] + MOST_PADDING) {
            return false;
        }
    }
    if (meets_padding) {
        windows->met = lowering_surround(composing->lowering, windows->met, before, windows->sizes, padding);
    }
    return windows->met != MDF_LOWERED_NONE;
}

uint8_t compose_meet(struct compose_windows *windows, size_t n_outer, const uint8_t *outer, const int64_t *planes,
                     const uint8_t *along)
{
    struct composing *composing = windows->composing;
    struct mdf_nest_view view = {.id = windows->met, .at = MDF_NEST_NONE};
    int64_t lying[MDF_INLINE_RANK], strides[3 * MDF_INLINE_RANK];
    uint8_t axes[3 * MDF_INLINE_RANK];
    size_t n = 0;

    mdf_strides(windows->rank + 2, windows->sizes, lying);
    for (size_t i = 0; i < n_outer; i++, n++) {
        axes[n] = outer[i];
        strides[n] = planes[i] * lying[1];
    }
    for (size_t i = 0; i < windows->rank; i++, n++) {
        axes[n] = along[i];
        strides[n] = lying[i + 2] * axis_of(windows, i)[AXIS_STRIDE];
    }
    for (size_t i = 0; i < windows->rank; i++) {
        axes[n] = draft_axis(composing->draft, axis_of(windows, i)[AXIS_TAPS]);
        strides[n] = lying[i + 2] * axis_of(windows, i)[AXIS_DILATION];
        if (axes[n] != DRAFT_NO_AXIS) {
            windows->taps[windows->n_taps++] = axes[n++];
        }
    }
    return composing->draft->has_failed ? 0 : draft_load_elements(composing->lowering, composing->draft, &view, n, axes, strides);
}

static uint8_t fold_window(struct pool *pool, uint8_t x)
{
    const struct compose_windows *windows = &pool->windows;
    bool has_last = axis_of(windows, windows->rank - 1)[AXIS_TAPS] > 1;

    if (windows->n_taps == 0) {
        return fold_one(pool, x);
    }
    if (!pool->is_by_last || windows->n_taps == 1 || !has_last) {
        return fold(pool, x, windows->n_taps, windows->taps, 1);
    }
    x = fold(pool, x, windows->n_taps - 1u, windows->taps, 1);
    return fold(pool, x, 1, &windows->taps[windows->n_taps - 1], 1);
}

/* What the sums of all windows are divided by: that of a place along the last axis times that of one along the others, in their
 * type; one number where all are the same. */
static uint8_t find_divisors(struct pool *pool)
{
    size_t rank = pool->windows.rank;
    const int64_t *last = axis_of(&pool->windows, rank - 1), *shape = mdf_value_shape(pool->composing->result) + 2;
    size_t n_run = (size_t)last[AXIS_WINDOWS], n = (size_t)mdf_axes_product(shape, 0, rank), i;
    double *divisors = mdf_arena_array(&pool->composing->lowering->scratch, n, sizeof *divisors);
    bool are_same = true;

    if (divisors == NULL) {
        lowering_out_of_memory(pool->composing->lowering);
        pool->composing->draft->has_failed = true;
        return 0;
    }
    for (i = 0; i < n; i++) {
        double along_last = pool->plan.real[1 + i % n_run], along_others = pool->plan.real[1 + n_run + i / n_run];

        divisors[i] =
            dtype_of(pool) == MDF_DTYPE_FLOAT32 ? (double)((float)along_others * (float)along_last) : along_others * along_last;
        are_same = are_same && divisors[i] == divisors[0];
    }
    return are_same ? number(pool, dtype_of(pool), divisors[0])
                    : compose_array(pool->composing, dtype_of(pool), MDF_DTYPE_FLOAT64, divisors, rank, shape,
                                    pool->composing->axes + 2);
}

static uint8_t divide(struct pool *pool, uint8_t sum)
{
    return apply(pool, MDF_ELEMENT(divide), sum, find_divisors(pool));
}

static mdf_lowered_id add_windows(struct pool *pool)
{
    struct composing *composing = pool->composing;
    struct compose_windows *windows = &pool->windows;
    const int64_t planes[] = {mdf_value_shape(composing->result)[1], 1};
    uint8_t x;

    *windows =
        (struct compose_windows){.composing = composing, .rank = (size_t)pool->plan.whole[3], .numbers = pool->plan.whole + 5};
    pool->is_by_last = pool->plan.whole[2] != 0;
    /* of what changes no fold: sums begin with 0, so that it may be added */
    if (windows->rank + 2 != composing->result->rank ||
        !compose_surround(windows, pool->kind == POOL_LARGEST ? (double)-INFINITY : 0)) {
        return MDF_LOWERED_NONE;
    }
    compose_axes(composing);
    x = compose_meet(windows, 2, composing->axes, planes, composing->axes + 2);
    x = pool->kind == POOL_NORM ? compose_cast(composing, find_power(pool, x), dtype_of(pool)) : x;
    x = fold_window(pool, x);
    x = pool->kind == POOL_AVERAGE ? divide(pool, x) : pool->kind == POOL_NORM ? find_root(pool, x) : x;
    return lowering_add_nest(composing->lowering, composing->draft, x, composing->result, composing->axes);
}

/* ------------------------------------------------------------------ planes */

/* Each plane is a row. */
static mdf_lowered_id add_planes(struct pool *pool)
{
    struct composing *composing = pool->composing;
    const struct mdf_value *x = composing->trial->effective[0];
    struct mdf_nest_view view = {.id = composing->trial->ids[0], .at = MDF_NEST_NONE};
    int64_t n = pool->plan.whole[2];
    const int64_t strides[] = {mdf_value_shape(x)[1] * n, n, 1};
    unsigned lanes = pool->kind == POOL_LARGEST ? MDF_EXTREME_PARTS : pool->kind == POOL_AVERAGE ? MDF_SUM_PARTS : 1;
    uint8_t axes[3], in;

    compose_axes(composing);
    axes[0] = composing->axes[0];
    axes[1] = composing->axes[1];
    axes[2] = draft_axis(composing->draft, n);
    in = composing->draft->has_failed ? 0 : draft_load_elements(composing->lowering, composing->draft, &view, 3, axes, strides);
    in = pool->kind == POOL_NORM      ? find_power(pool, in)
         : pool->kind == POOL_AVERAGE ? compose_cast(composing, in, MDF_DTYPE_FLOAT64)
                                      : in;
    in = axes[2] == DRAFT_NO_AXIS ? fold_one(pool, in) : fold(pool, in, 1, &axes[2], lanes);
    in = pool->kind == POOL_AVERAGE
             ? compose_cast(composing, apply(pool, MDF_ELEMENT(divide), in, number(pool, MDF_DTYPE_FLOAT64, (double)n)),
                            dtype_of(pool))
             : in;
    in = pool->kind == POOL_NORM ? find_root(pool, in) : in;
    return lowering_add_nest(composing->lowering, composing->draft, in, composing->result, composing->axes);
}

/* ------------------------------------------------------------------ calls */

bool compose_has_pool(enum mdf_form form)
{
    return form == MDF_FORM_POOL || form == MDF_FORM_POOL_PLANES;
}

mdf_lowered_id compose_pool(struct composing *composing)
{
    const struct trial *trial = composing->trial;
    struct pool pool = {.composing = composing, .plan = {.arena = &composing->lowering->scratch}};
    struct mdf_call form = trial->call;
    struct mdf_error kept = form.context->error;
    bool is_planned;

    form.context->error = (struct mdf_error){0};
    is_planned = trial->source->operator->routine->plan(&form, &pool.plan);
    form.context->error = kept;
    if (!is_planned || composing->result->dtype != trial->effective[0]->dtype) {
        return MDF_LOWERED_NONE;
    }
    pool.kind = (enum pool_kind)pool.plan.whole[1];
    if (pool.kind == POOL_NORM && pool.plan.real[0] != 1 && pool.plan.real[0] != 2) {
        return MDF_LOWERED_NONE;
    }
    return strcmp(pool.plan.function, "pool") == 0 ? add_windows(&pool) : add_planes(&pool);
}
