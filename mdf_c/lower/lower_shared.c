/* lower_shared.c - functions of elements that a region computes twice of the same values, as models do that a program has
 * written: the second one becomes a copy of the first, which what stands behind it reads in its place, and which nothing else
 * keeps (lower_unread.c). Not for C source, whose compilers see it. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

enum { FARTHEST_SHARED = 256 }; /* ops */

struct sharing {
    struct lowering *lowering;
    mdf_lowered_id *firsts; /* of each value: the one that is the same; NONE: it is the first */
};

static bool has_same_function(const struct mdf_lowered_op *a, const struct mdf_lowered_op *b)
{
    return a->code == MDF_LOWERED_ELEMENTS ? mdf_lowered_is_same_function(a, b)
           : a->code == MDF_LOWERED_FUNCTION
               ? (a->n_in == 1 ? a->of.function == b->of.function : a->of.function_of_two == b->of.function_of_two)
               : true;
}

/* Whether two values are one, or numbers that are constant and the same. */
static bool is_same_value(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    const struct mdf_lowered_value *left = &lowering->lowered->values[a], *right = &lowering->lowered->values[b];

    return a == b || (left->place == MDF_LOWERED_CONSTANT && right->place == MDF_LOWERED_CONSTANT && left->is_scalar &&
                      right->is_scalar && mdf_value_has_form_of(&left->form, &right->form) &&
                      memcmp(left->form.data, right->form.data, mdf_dtype_size((mdf_dtype)left->form.dtype)) == 0);
}

/* Whether two ops, of which nothing but `in` and `out` say what they read and make, make the same of the same values. */
static bool are_same(const struct lowering *lowering, const struct mdf_lowered_op *a, const struct mdf_lowered_op *b)
{
    size_t i;

    if (a->code != b->code || a->dtype != b->dtype || a->n_in != b->n_in || !has_same_function(a, b) ||
        !mdf_value_has_form_of(&lowering->lowered->values[a->out].form, &lowering->lowered->values[b->out].form)) {
        return false;
    }
    for (i = 0; i < a->n_in && is_same_value(lowering, a->in[i], b->in[i]); i++) {
    }
    return i == a->n_in;
}

static bool may_be_shared(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    return op->code < MDF_LOWERED_COPY && !lowering_is_either(lowering, op->out) &&
           lowering->lowered->values[op->out].open_axes == 0;
}

static void read_first(const struct sharing *sharing, mdf_lowered_id *id)
{
    *id = *id != MDF_LOWERED_NONE && sharing->firsts[*id] != MDF_LOWERED_NONE ? sharing->firsts[*id] : *id;
}

/* Reads what came first, where `in` or views say what is read. */
static void read_firsts(const struct sharing *sharing, struct mdf_lowered_op *op)
{
    const struct mdf_lowered_region *inner;
    size_t i, k;

    for (i = 0; i < op->n_in && op->code <= MDF_LOWERED_PUT; i++) {
        read_first(sharing, &op->in[i]);
    }
    for (i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
            read_first(sharing, &op->of.nest->steps[i].view.id);
        }
    }
    for (k = 0; (inner = mdf_lowered_inner(op, k)) != NULL; k++) {
        for (i = 0; i < inner->n_ops; i++) {
            read_firsts(sharing, &inner->ops[i]);
        }
    }
}

bool lowering_share_ops(struct lowering *lowering, struct region *region)
{
    size_t n_values = lowering->lowered->n_values, i, k;
    struct sharing sharing = {lowering, NULL};

    for (i = 1; i < region->n_ops && !lowering->is_for_source; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (sharing.firsts != NULL) {
            read_firsts(&sharing, op);
        }
        for (k = i; may_be_shared(lowering, op) && k-- > 0 && i - k <= FARTHEST_SHARED;) {
            if (!are_same(lowering, &region->ops[k], op)) {
                continue;
            }
            if (sharing.firsts == NULL) {
                sharing.firsts = mdf_arena_array(&lowering->scratch, n_values, sizeof *sharing.firsts);
                if (sharing.firsts == NULL) {
                    return lowering_out_of_memory(lowering);
                }
                memset(sharing.firsts, 0xff, n_values * sizeof *sharing.firsts); /* NONE */
            }
            sharing.firsts[op->out] = region->ops[k].out;
            lowering->facts[op->out].is_copied = !lowering->lowered->values[op->out].is_scalar;
            *op = (struct mdf_lowered_op){.code = MDF_LOWERED_COPY,
                                          .dtype = (uint8_t)lowering->lowered->values[op->out].form.dtype,
                                          .n_in = 1,
                                          .in = {region->ops[k].out},
                                          .out = op->out,
                                          .origin = op->origin};
            break;
        }
    }
    return true;
}
