/* widen_float32.c - float64 that was float32. Python's numbers among those of a model of float32 make an op one of float64, whose
 * result is rounded to float32 behind it. Of operands that were float32 that is what the op of float32 gives: of sums, differences,
 * products, quotients and square roots, as float64 has more than twice as many digits (S. A. Figueroa, When is double rounding
 * innocuous?, 1995); comparisons, signs and choices are exact. Vectors of float32 have twice as many lanes, and no conversions.
 * See widening.h. */
#include "mdf_c/lower/lanes/widening.h"

#include <math.h>
#include <string.h>

enum { MOST_LOOKED = 256, DEEPEST = 4 };

/* The op that has made a number, in the region that is being widened or around it; false: none that is near. */
static bool find_maker(const struct widening *widening, mdf_lowered_id id, struct mdf_lowered_op *maker)
{
    const struct region *region;
    size_t n_looked = 0;

    for (region = widening->lowering->region; region != NULL; region = region->outer) {
        for (size_t i = region->n_ops; i > 0 && n_looked < MOST_LOOKED; i--, n_looked++) {
            if (region->ops[i - 1].out == id) {
                *maker = region->ops[i - 1];
                return true;
            }
        }
    }
    return false;
}

static bool has_loop(enum mdf_lowered_code code)
{
    return lowering_loop_of(code, MDF_DTYPE_FLOAT32) != NULL;
}

/* A constant that float32 has. */
static mdf_lowered_id narrow_constant(struct widening *widening, const struct mdf_lowered_value *value)
{
    double real;

    memcpy(&real, value->form.data, sizeof real);
    return (double)(float)real == real ? widening_constant(widening, MDF_DTYPE_FLOAT32, real) : MDF_LOWERED_NONE;
}

static mdf_lowered_id narrow(struct widening *widening, mdf_lowered_id id, unsigned depth);

/* Computes the same of narrow operands; NONE: one is not. The first one of a choice is its condition. */
static mdf_lowered_id compute_narrow(struct widening *widening, struct mdf_lowered_op op, mdf_dtype result, unsigned depth)
{
    if (!has_loop((enum mdf_lowered_code)op.code)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t i = op.code == MDF_LOWERED_SELECT; i < op.n_in; i++) {
        op.in[i] = narrow(widening, op.in[i], depth + 1);
        if (op.in[i] == MDF_LOWERED_NONE) {
            return op.in[i];
        }
    }
    op.dtype = MDF_DTYPE_FLOAT32;
    op.loop = NULL;
    return widening_compute(widening, &op, result);
}

/* A number of float32 that is the same; NONE: it is not known to be one. */
static mdf_lowered_id narrow(struct widening *widening, mdf_lowered_id id, unsigned depth)
{
    const struct mdf_lowered_value *value = &widening->lowering->lowered->values[id];
    struct mdf_lowered_op maker;

    if (depth > DEEPEST || value->form.dtype != MDF_DTYPE_FLOAT64) {
        return MDF_LOWERED_NONE;
    }
    if (value->place == MDF_LOWERED_CONSTANT) {
        return value->is_scalar ? narrow_constant(widening, value) : MDF_LOWERED_NONE;
    }
    if (!find_maker(widening, id, &maker)) {
        return MDF_LOWERED_NONE;
    }
    if (maker.code == MDF_LOWERED_CAST) {
        return maker.dtype == MDF_DTYPE_FLOAT32 ? maker.in[0] : MDF_LOWERED_NONE;
    }
    return maker.dtype == MDF_DTYPE_FLOAT64 && (maker.code == MDF_LOWERED_NEGATE || maker.code == MDF_LOWERED_ABSOLUTE ||
                                                maker.code == MDF_LOWERED_SELECT)
               ? compute_narrow(widening, maker, MDF_DTYPE_FLOAT32, depth)
               : MDF_LOWERED_NONE;
}

static bool rounds_once(unsigned code)
{
    return code == MDF_LOWERED_ADD || code == MDF_LOWERED_SUBTRACT || code == MDF_LOWERED_MULTIPLY || code == MDF_LOWERED_DIVIDE ||
           code == MDF_LOWERED_SQUARE_ROOT;
}

mdf_lowered_id widening_in_float32(struct widening *widening, const struct mdf_lowered_op *op, mdf_dtype result)
{
    struct mdf_lowered_op maker;
    mdf_lowered_id same;

    if (op->dtype != MDF_DTYPE_FLOAT64) {
        return MDF_LOWERED_NONE;
    }
    if (op->code >= MDF_LOWERED_EQUAL && op->code <= MDF_LOWERED_GREATER_EQUAL) {
        return compute_narrow(widening, *op, MDF_DTYPE_BOOL, 0);
    }
    if (op->code != MDF_LOWERED_CAST || result != MDF_DTYPE_FLOAT32) {
        return MDF_LOWERED_NONE;
    }
    same = narrow(widening, op->in[0], 0);
    if (same != MDF_LOWERED_NONE) {
        return same;
    }
    return find_maker(widening, op->in[0], &maker) && maker.dtype == MDF_DTYPE_FLOAT64 && rounds_once(maker.code)
               ? compute_narrow(widening, maker, MDF_DTYPE_FLOAT32, 0)
               : MDF_LOWERED_NONE;
}
