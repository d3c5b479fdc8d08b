/* lower_shared.c - functions of elements that a region computes twice of the same values, and numbers that it looks up twice at
 * the same place of an array, as models do that a program has written: the second one becomes a copy of the first, which what
 * stands behind it reads in its place, and which nothing else keeps (lower_unread.c). Not for C source, whose compilers see it.
 * See lowering.h. */
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

bool lowering_is_same_value(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
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
    for (i = 0; i < a->n_in && lowering_is_same_value(lowering, a->in[i], b->in[i]); i++) {
    }
    return i == a->n_in;
}

/* The one number that a nest of one point stores, with its last step; NONE: it is no such nest. */
static mdf_lowered_id looked_up(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_nest *nest = op->code == MDF_LOWERED_NEST && op->of.nest->n_axes == 0 ? op->of.nest : NULL;
    size_t n_stores = 0;

    for (size_t i = 0; nest != NULL && i < nest->n_steps; i++) {
        n_stores += nest->steps[i].kind == MDF_NEST_STORE;
    }
    return n_stores == 1 && nest->steps[nest->n_steps - 1].kind == MDF_NEST_STORE &&
                   lowering->lowered->values[nest->steps[nest->n_steps - 1].view.id].is_scalar
               ? nest->steps[nest->n_steps - 1].view.id
               : MDF_LOWERED_NONE;
}

/* Whether two nests make the same number. */
static bool look_up_same(const struct lowering *lowering, const struct mdf_lowered_op *a, const struct mdf_lowered_op *b)
{
    mdf_lowered_id first = looked_up(lowering, a), second = looked_up(lowering, b);
    size_t i;

    if (first == MDF_LOWERED_NONE || second == MDF_LOWERED_NONE || a->of.nest->n_steps != b->of.nest->n_steps ||
        !mdf_value_has_form_of(&lowering->lowered->values[first].form, &lowering->lowered->values[second].form)) {
        return false;
    }
    for (i = 0; i < a->of.nest->n_steps && lowering_is_same_step(lowering, &a->of.nest->steps[i], &b->of.nest->steps[i]); i++) {
    }
    return i == a->of.nest->n_steps;
}

/* What an op makes that may be what another one has made; NONE: it may not. */
static mdf_lowered_id shared_result(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    mdf_lowered_id out = op->code < MDF_LOWERED_COPY ? op->out : looked_up(lowering, op);

    return out != MDF_LOWERED_NONE && !lowering_is_either(lowering, out) && lowering->lowered->values[out].open_axes == 0
               ? out
               : MDF_LOWERED_NONE;
}

static void read_first(const struct sharing *sharing, mdf_lowered_id *id)
{
    *id = *id != MDF_LOWERED_NONE && sharing->firsts[*id] != MDF_LOWERED_NONE ? sharing->firsts[*id] : *id;
}

/* Reads what came first, where `in` or views say what is read. */
static void read_firsts(const struct sharing *sharing, struct mdf_lowered_op *op)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < op->n_in && op->code <= MDF_LOWERED_PUT; i++) {
        read_first(sharing, &op->in[i]);
    }
    for (size_t i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
            read_first(sharing, &op->of.nest->steps[i].view.id);
        }
    }
    for (size_t k = 0; (inner = mdf_lowered_inner(op, k)) != NULL; k++) {
        for (size_t i = 0; i < inner->n_ops; i++) {
            read_firsts(sharing, &inner->ops[i]);
        }
    }
}

bool lowering_share_ops(struct lowering *lowering, struct region *region)
{
    size_t n_values = lowering->lowered->n_values;
    struct sharing sharing = {lowering, NULL};

    for (size_t i = 1; i < region->n_ops && !lowering->is_for_source; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        mdf_lowered_id out, first;

        if (sharing.firsts != NULL) {
            read_firsts(&sharing, op);
        }
        out = shared_result(lowering, op);
        for (size_t k = i; out != MDF_LOWERED_NONE && k-- > 0 && i - k <= FARTHEST_SHARED;) {
            if (op->code == MDF_LOWERED_NEST ? !look_up_same(lowering, &region->ops[k], op)
                                             : !are_same(lowering, &region->ops[k], op)) {
                continue;
            }
            if (sharing.firsts == NULL) {
                sharing.firsts = mdf_arena_array(&lowering->scratch, n_values, sizeof *sharing.firsts);
                if (sharing.firsts == NULL) {
                    return lowering_out_of_memory(lowering);
                }
                memset(sharing.firsts, 0xff, n_values * sizeof *sharing.firsts); /* NONE */
            }
            first = shared_result(lowering, &region->ops[k]);
            sharing.firsts[out] = first;
            lowering->facts[out].is_copied = !lowering->lowered->values[out].is_scalar;
            *op = (struct mdf_lowered_op){.code = MDF_LOWERED_COPY,
                                          .dtype = (uint8_t)lowering->lowered->values[out].form.dtype,
                                          .n_in = 1,
                                          .in = {first},
                                          .out = out,
                                          .origin = op->origin};
            break;
        }
    }
    return true;
}
