/* lower_counts.c - a sum of truths that were made numbers is their count: it is found in whole numbers of 32 bits, which vectors
 * hold as many of as of what was compared, in any order, and then made what the sum was. All that it goes through are whole
 * numbers that the sum's type has exactly, so that it has the same bits. See lowering.h. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

static size_t points_of(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold)
{
    return mdf_nest_count(nest, fold->level, nest->steps[fold->in[0]].level);
}

/* The register of truths that the elements of a sum are made of by casts alone; NONE: they are something else. */
static uint8_t truths_of(const struct mdf_lowered_nest *nest, uint8_t in)
{
    const struct mdf_nest_step *step = &nest->steps[in];

    while (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST && step->operand_dtype != MDF_DTYPE_BOOL) {
        step = &nest->steps[in = step->in[0]];
    }
    return step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_CAST ? step->in[0] : MDF_NEST_NONE;
}

/* Whether truths come of comparisons of numbers of 32 bits, as far as of any. */
static bool is_narrow(const struct mdf_lowered_nest *nest, uint8_t truths)
{
    const struct mdf_nest_step *step = &nest->steps[truths];
    size_t k;

    if (step->kind != MDF_NEST_ELEMENT || step->operand_dtype != MDF_DTYPE_BOOL) {
        return step->kind != MDF_NEST_ELEMENT || mdf_dtype_size((mdf_dtype)step->operand_dtype) <= sizeof(int32_t);
    }
    for (k = 0; k < step->n_in && is_narrow(nest, step->in[k]); k++) {
    }
    return k == step->n_in;
}

/* Whether a sum is a count that int32 and its own type have exactly. Machine code adds
 * whole numbers as they are, and truths as wide as they are. */
static bool is_count(const struct lowering *lowering, const struct mdf_lowered_nest *nest, size_t i)
{
    const struct mdf_nest_step *fold = &nest->steps[i];
    size_t most = fold->dtype == MDF_DTYPE_FLOAT32 ? 1 << 24 : INT32_MAX;
    bool is_real = fold->dtype == MDF_DTYPE_FLOAT32 || fold->dtype == MDF_DTYPE_FLOAT64;
    uint8_t truths;

    if (fold->kind != MDF_NEST_FOLD || fold->fold != MDF_NEST_SUM || fold->has_start || fold->is_fused ||
        !(is_real || (fold->dtype == MDF_DTYPE_INT64 && lowering->is_for_source))) {
        return false;
    }
    truths = truths_of(nest, fold->in[0]);
    return truths != MDF_NEST_NONE && points_of(nest, fold) <= most && (lowering->is_for_source || is_narrow(nest, truths));
}

/* The count in place of the sum, of registers of the new nest. */
static uint8_t add_count(struct nest_draft *draft, const struct draft_step *sum, uint8_t truths)
{
    struct draft_step fold = *sum;
    uint8_t in = draft_cast(draft, truths, MDF_DTYPE_INT32);

    fold.step.in[0] = in;
    fold.step.dtype = fold.step.operand_dtype = MDF_DTYPE_INT32;
    fold.step.lanes = 1;
    fold.step.order = MDF_NEST_IN_LANES;
    return draft_cast(draft, draft_add(draft, &fold), (mdf_dtype)sum->step.dtype);
}

/* The nest with counts; NULL: there is no room, or it would be too large. */
static struct mdf_lowered_nest *with_counts(struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    struct nest_draft *from = draft_new(lowering), *draft = draft_new(lowering);
    uint8_t registers[MDF_NEST_MOST_STEPS];
    size_t i, k;

    if (from == NULL || draft == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    draft_read(from, nest);
    draft->n_axes = from->n_axes;
    memcpy(draft->extents, from->extents, draft->n_axes * sizeof *from->extents);
    for (i = 0; i < nest->n_steps && !from->has_failed; i++) {
        struct draft_step step = from->steps[i];

        for (k = 0; k < step.step.n_in; k++) {
            step.step.in[k] = registers[step.step.in[k]];
        }
        if (step.step.view.at != MDF_NEST_NONE) {
            step.step.view.at = registers[step.step.view.at];
        }
        registers[i] = is_count(lowering, nest, i) ? add_count(draft, &step, registers[truths_of(nest, nest->steps[i].in[0])])
                                                   : draft_add(draft, &step);
    }
    return from->has_failed || draft->has_failed ? NULL : draft_finish(lowering, draft);
}

static bool has_counts(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && (nest->is_open || !is_count(lowering, nest, i)); i++) {
    }
    return i < nest->n_steps;
}

static bool count_in(struct lowering *lowering, const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;
    size_t i, j;

    for (i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_NEST && has_counts(lowering, op->of.nest)) {
            struct mdf_lowered_nest *nest = with_counts(lowering, op->of.nest);

            op->of.nest = nest == NULL ? op->of.nest : nest;
        }
        for (j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!count_in(lowering, inner)) {
                return false;
            }
        }
    }
    return !lowering_has_failed(lowering);
}

bool lowering_count_truths(struct lowering *lowering)
{
    return count_in(lowering, &lowering->lowered->region);
}
