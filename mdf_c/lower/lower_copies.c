/* lower_copies.c - copies that only have another shape are not read: nests, rows that are put into arrays or stacks, and
 * products by matrices that are laid out, find the same elements in the same order in what was copied. Copies that nothing else
 * reads are then dropped (lower_unread.c). See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

struct copies {
    const struct mdf_lowered *lowered;
    mdf_lowered_id *originals; /* of each value: what it is a copy of; NONE: it is none */
};

static mdf_lowered_id original_of(const struct copies *copies, mdf_lowered_id id)
{
    return id == MDF_LOWERED_NONE || copies->originals[id] == MDF_LOWERED_NONE ? id : copies->originals[id];
}

static bool is_closed_array(const struct mdf_lowered_value *value)
{
    return !value->is_scalar && value->open_axes == 0 && value->form.kind == MDF_KIND_TENSOR;
}

static void note_copy(const struct copies *copies, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *copy = &copies->lowered->values[op->out], *from = &copies->lowered->values[op->in[0]];

    if (is_closed_array(copy) && is_closed_array(from) && copy->form.dtype == from->form.dtype &&
        copy->form.length == from->form.length) {
        copies->originals[op->out] = original_of(copies, op->in[0]);
    }
}

static void read_originals(const struct copies *copies, struct mdf_lowered_op *op)
{
    struct mdf_lowered_call *call = op->code == MDF_LOWERED_CALL ? op->of.call : NULL;
    size_t i;

    for (i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
            op->of.nest->steps[i].view.id = original_of(copies, op->of.nest->steps[i].view.id);
        }
    }
    if (op->code == MDF_LOWERED_PUT && !copies->lowered->values[op->in[1]].is_scalar) {
        op->in[1] = original_of(copies, op->in[1]);
    }
    if (call != NULL && call->stack != NULL && call->n_inputs > 1 && !copies->lowered->values[call->inputs[1]].is_scalar) {
        call->inputs[1] = original_of(copies, call->inputs[1]);
    }
    if (call != NULL && call->product != NULL) {
        call->product->a = original_of(copies, call->product->a);
        call->inputs[0] = call->product->a;
    }
}

static void read_in_region(const struct copies *copies, struct mdf_lowered_region *region)
{
    size_t i, j;

    for (i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_COPY) {
            note_copy(copies, op);
        } else if (op->code == MDF_LOWERED_IF) {
            read_in_region(copies, &op->of.branches->then);
            read_in_region(copies, &op->of.branches->otherwise);
        } else if (op->code == MDF_LOWERED_LOOP) {
            read_in_region(copies, &op->of.loop->body);
            for (j = 0; j < op->of.loop->n_products; j++) { /* those that stand in front of the body, too */
                if (!op->of.loop->products[j]->is_behind) {
                    op->of.loop->products[j]->a = original_of(copies, op->of.loop->products[j]->a);
                }
            }
        } else {
            read_originals(copies, op);
        }
    }
}

bool lowering_read_originals(struct lowering *lowering)
{
    struct copies copies = {.lowered = lowering->lowered};
    size_t i;

    copies.originals = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *copies.originals);
    if (copies.originals == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < lowering->lowered->n_values; i++) {
        copies.originals[i] = MDF_LOWERED_NONE;
    }
    read_in_region(&copies, &lowering->lowered->region);
    return true;
}
