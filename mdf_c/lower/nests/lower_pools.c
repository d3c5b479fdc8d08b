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

/* What plans have of a spatial axis. */
enum { AXIS_ARRAY, AXIS_WINDOWS, AXIS_TAPS, AXIS_STRIDE, AXIS_DILATION, AXIS_PADDING, N_AXIS };

struct pool {
    struct composing *composing;
    struct mdf_routine_plan plan;
    enum pool_kind kind;
    size_t rank;                           /* spatial axes */
    uint8_t taps[MDF_INLINE_RANK], n_taps; /* axes of a window that have more than one index */
    bool is_by_last;                       /* windows are folded along all but the last axis first */
    mdf_lowered_id met;                    /* the array that they go over */
    int64_t sizes[MDF_INLINE_RANK];        /* of its dimensions */
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

static const int64_t *axis_of(const struct pool *pool, size_t i)
{
    return pool->plan.whole + 5 + N_AXIS * i;
}

/* The array that windows go over, with the padding where they reach into it. Sums begin with 0, so that it may be added. */
static bool lay_out(struct pool *pool)
{
    struct composing *composing = pool->composing;
    const struct mdf_value *x = composing->trial->effective[0];
    int64_t before[MDF_INLINE_RANK] = {0};
    bool meets_padding = false;

    memcpy(pool->sizes, mdf_value_shape(x), x->rank * sizeof *pool->sizes);
    pool->met = composing->trial->ids[0];
    for (size_t i = 0; i < pool->rank; i++) {
        const int64_t *axis = axis_of(pool, i);
        int64_t end = (axis[AXIS_WINDOWS] - 1) * axis[AXIS_STRIDE] + (axis[AXIS_TAPS] - 1) * axis[AXIS_DILATION] + 1;

        before[i + 2] = axis[AXIS_PADDING];
        pool->sizes[i + 2] = end > before[i + 2] + axis[AXIS_ARRAY] ? end : before[i + 2] + axis[AXIS_ARRAY];
        meets_padding = meets_padding || pool->sizes[i + 2] != axis[AXIS_ARRAY];
        if (before[i + 2] < 0 || pool->sizes[i + 2] > 2 * axis[AXIS_ARRAY] + MOST_PADDING) {
            return false;
        }
    }
    if (meets_padding) {
        pool->met =
            lowering_surround(composing->lowering, pool->met, before, pool->sizes, pool->kind == POOL_LARGEST ? -INFINITY : 0);
    }
    return pool->met != MDF_LOWERED_NONE;
}

/* The element that a tap of a window meets. */
static uint8_t load_met(struct pool *pool)
{
    struct composing *composing = pool->composing;
    struct mdf_nest_view view = {.id = pool->met, .at = MDF_NEST_NONE};
    int64_t lying[MDF_INLINE_RANK], strides[2 * MDF_INLINE_RANK];
    uint8_t axes[2 * MDF_INLINE_RANK];
    size_t rank = pool->rank + 2, i;

    mdf_strides(rank, pool->sizes, lying);
    for (i = 0; i < rank; i++) {
        axes[i] = composing->axes[i];
        strides[i] = i < 2 ? lying[i] : lying[i] * axis_of(pool, i - 2)[AXIS_STRIDE];
    }
    for (i = 0; i < pool->rank; i++) {
        axes[rank] = draft_axis(composing->draft, axis_of(pool, i)[AXIS_TAPS]);
        strides[rank] = lying[i + 2] * axis_of(pool, i)[AXIS_DILATION];
        if (axes[rank] != DRAFT_NO_AXIS) {
            pool->taps[pool->n_taps++] = axes[rank++];
        }
    }
    return composing->draft->has_failed ? 0
                                        : draft_load_elements(composing->lowering, composing->draft, &view, rank, axes, strides);
}

static uint8_t fold_window(struct pool *pool, uint8_t x)
{
    bool has_last = axis_of(pool, pool->rank - 1)[AXIS_TAPS] > 1;

    if (pool->n_taps == 0) {
        return fold_one(pool, x);
    }
    if (!pool->is_by_last || pool->n_taps == 1 || !has_last) {
        return fold(pool, x, pool->n_taps, pool->taps, 1);
    }
    x = fold(pool, x, pool->n_taps - 1u, pool->taps, 1);
    return fold(pool, x, 1, &pool->taps[pool->n_taps - 1], 1);
}

/* What the sums of all windows are divided by: that of a place along the last axis times that of one along the others, in their
 * type; one number where all are the same. */
static uint8_t find_divisors(struct pool *pool)
{
    const int64_t *last = axis_of(pool, pool->rank - 1), *shape = mdf_value_shape(pool->composing->result) + 2;
    size_t n_run = (size_t)last[AXIS_WINDOWS], n = (size_t)mdf_axes_product(shape, 0, pool->rank), i;
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
                    : compose_array(pool->composing, dtype_of(pool), MDF_DTYPE_FLOAT64, divisors, pool->rank, shape,
                                    pool->composing->axes + 2);
}

static uint8_t divide(struct pool *pool, uint8_t sum)
{
    return apply(pool, MDF_ELEMENT(divide), sum, find_divisors(pool));
}

static mdf_lowered_id add_windows(struct pool *pool)
{
    struct composing *composing = pool->composing;
    uint8_t x;

    pool->rank = (size_t)pool->plan.whole[3];
    pool->is_by_last = pool->plan.whole[2] != 0;
    if (pool->rank + 2 != composing->result->rank || !lay_out(pool)) {
        return MDF_LOWERED_NONE;
    }
    compose_axes(composing);
    x = load_met(pool);
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
