/* lower_select.c - conditions whose sides are a few operations on whole numbers and truths: both sides are computed, and one is
 * taken. Which side is taken often can not be foretold, as in Collatz's sequences, and a wrong guess of the processor takes as
 * long as dozens of such operations. Reals keep their branches, as C's compilers have them: there a guess saves waiting for the
 * side that is not taken. In C source, compilers do this. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { MOST_OPS = 6 }; /* of both sides, and their results */

static bool is_whole_scalar(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &lowering->lowered->values[id];

    return value->is_scalar &&
           (value->form.dtype == MDF_DTYPE_INT64 || value->form.dtype == MDF_DTYPE_INT32 || value->form.dtype == MDF_DTYPE_BOOL);
}

static bool is_positive_constant(const struct lowering *lowering, mdf_lowered_id id)
{
    int64_t number;

    return lowering_is_constant(lowering, id) && mdf_value_to_int64(&lowering->lowered->values[id].form, &number) && number > 0;
}

/* Whether an op does nothing but compute a whole number, and can not bail out. */
static bool is_cheap(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    bool divides = op->code >= MDF_LOWERED_QUOTIENT && op->code <= MDF_LOWERED_FLOOR_REMAINDER;

    if (op->code > MDF_LOWERED_SELECT && op->code != MDF_LOWERED_COPY) {
        return false;
    }
    for (size_t i = 0; i < op->n_in; i++) {
        if (!is_whole_scalar(lowering, op->in[i])) {
            return false;
        }
    }
    return is_whole_scalar(lowering, op->out) &&
           (divides ? is_positive_constant(lowering, op->in[1]) : !mdf_lowered_may_bail_out(op->code));
}

static bool is_cheap_side(const struct lowering *lowering, const struct mdf_lowered_region *side)
{
    size_t i;

    for (i = 0; i < side->n_ops && is_cheap(lowering, &side->ops[i]); i++) {
    }
    return i == side->n_ops;
}

/* How many ops a condition becomes; 0: it stays. */
static size_t n_selected(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_if *branches = op->code == MDF_LOWERED_IF ? op->of.branches : NULL;
    size_t n = branches == NULL ? 0 : branches->then.n_ops + branches->otherwise.n_ops + branches->n_merges, i;

    if (n == 0 || n > MOST_OPS || !is_cheap_side(lowering, &branches->then) || !is_cheap_side(lowering, &branches->otherwise)) {
        return 0;
    }
    for (i = 0; i < branches->n_merges && is_whole_scalar(lowering, branches->merges[i].out); i++) {
    }
    return i == branches->n_merges ? n : 0;
}

static size_t put_side(struct mdf_lowered_op *ops, const struct mdf_lowered_region *side)
{
    if (side->n_ops > 0) {
        memcpy(ops, side->ops, side->n_ops * sizeof *ops);
    }
    return side->n_ops;
}

/* Writes both sides and what takes one of them to `ops`; how many that are. */
static size_t put_selected(const struct lowering *lowering, struct mdf_lowered_op *ops, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_if *branches = op->of.branches;
    size_t n = put_side(ops, &branches->then), i;

    n += put_side(ops + n, &branches->otherwise);
    for (i = 0; i < branches->n_merges; i++) {
        const struct mdf_lowered_merge *merge = &branches->merges[i];

        ops[n++] = (struct mdf_lowered_op){.code = MDF_LOWERED_SELECT,
                                           .dtype = lowering->lowered->values[merge->out].form.dtype,
                                           .n_in = 3,
                                           .in = {branches->condition, merge->then, merge->otherwise},
                                           .out = merge->out,
                                           .origin = op->origin};
    }
    return n;
}

static bool select_inner(struct lowering *lowering, const struct mdf_lowered_op *op);

static bool select_region(struct lowering *lowering, struct mdf_lowered_region *region)
{
    struct mdf_lowered_op *ops;
    size_t n = 0, n_chosen = 0, i, n_new;

    for (i = 0; i < region->n_ops; i++) {
        if (!select_inner(lowering, &region->ops[i])) {
            return false;
        }
        n_new = n_selected(lowering, &region->ops[i]);
        n_chosen += n_new > 0;
        n += n_new > 0 ? n_new : 1;
    }
    if (n_chosen == 0) {
        return true;
    }
    ops = mdf_arena_array(&lowering->lowered->arena, n, sizeof *ops);
    if (ops == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0, n = 0; i < region->n_ops; i++) {
        if (n_selected(lowering, &region->ops[i]) > 0) {
            n += put_selected(lowering, ops + n, &region->ops[i]);
        } else {
            ops[n++] = region->ops[i];
        }
    }
    *region = (struct mdf_lowered_region){ops, n};
    return true;
}

static bool select_inner(struct lowering *lowering, const struct mdf_lowered_op *op)
{
    if (op->code == MDF_LOWERED_LOOP) {
        return select_region(lowering, &op->of.loop->body);
    }
    return op->code != MDF_LOWERED_IF ||
           (select_region(lowering, &op->of.branches->then) && select_region(lowering, &op->of.branches->otherwise));
}

bool lowering_select_wholes(struct lowering *lowering)
{
    return lowering->is_for_source || select_region(lowering, &lowering->lowered->region);
}
