/* lower_sums_of_two.c - sums of two numbers that were float32 before they were added in float64, and are again behind that, are
 * added in float32: float64 has more than twice the bits of float32, so that rounding twice is rounding once. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

static bool is_cast(const struct mdf_nest_step *step, mdf_dtype from, mdf_dtype to)
{
    return step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST && step->operand_dtype == from && step->dtype == to;
}

/* Whether a step is a sum of two elements, and its operand a cast that nothing else reads, of what is not one for both. */
static bool adds_two(const struct mdf_lowered_nest *nest, size_t at)
{
    const struct mdf_nest_step *sum = &nest->steps[at];
    size_t n = 0;

    if (sum->kind != MDF_NEST_FOLD || sum->fold != MDF_NEST_SUM || sum->dtype != MDF_DTYPE_FLOAT64 || sum->has_start ||
        sum->is_fused || !is_cast(&nest->steps[sum->in[0]], MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64) ||
        mdf_nest_count(nest, sum->level, nest->steps[sum->in[0]].level) != 2 ||
        nest->steps[nest->steps[sum->in[0]].in[0]].level != nest->steps[sum->in[0]].level) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        for (size_t k = 0; k < nest->steps[i].n_in; k++) {
            n += nest->steps[i].in[k] == sum->in[0];
        }
    }
    return n == 1;
}

/* Whether all that reads it are casts to float32. */
static bool is_rounded(const struct mdf_lowered_nest *nest, size_t at)
{
    bool is_read = false;

    for (size_t i = at + 1; i < nest->n_steps; i++) {
        for (size_t k = 0; k < nest->steps[i].n_in; k++) {
            if (nest->steps[i].in[k] == at && !is_cast(&nest->steps[i], MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32)) {
                return false;
            }
            is_read = is_read || nest->steps[i].in[k] == at;
        }
    }
    return is_read;
}

/* Adds in float32; the casts are then read by nothing. */
static void add_narrow(struct mdf_lowered_nest *nest, size_t at)
{
    struct mdf_nest_step *sum = &nest->steps[at];

    sum->dtype = sum->operand_dtype = MDF_DTYPE_FLOAT32;
    sum->in[0] = nest->steps[sum->in[0]].in[0];
    sum->lanes = 1;
    sum->order = MDF_NEST_IN_LANES;
    for (size_t cast = at + 1; cast < nest->n_steps; cast++) {
        if (!is_cast(&nest->steps[cast], MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32) || nest->steps[cast].in[0] != at) {
            continue;
        }
        for (size_t i = cast + 1; i < nest->n_steps; i++) {
            for (size_t k = 0; k < nest->steps[i].n_in; k++) {
                nest->steps[i].in[k] = nest->steps[i].in[k] == cast ? (uint8_t)at : nest->steps[i].in[k];
            }
        }
    }
}

static void go_through(const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        for (size_t j = 0; op->code == MDF_LOWERED_NEST && !op->of.nest->is_open && j < op->of.nest->n_steps; j++) {
            if (adds_two(op->of.nest, j) && is_rounded(op->of.nest, j)) {
                add_narrow(op->of.nest, j);
            }
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            go_through(inner);
        }
    }
}

void lowering_narrow_sums(struct lowering *lowering)
{
    go_through(&lowering->lowered->region);
}
