/* emit_x86_64_fused.c - see emit_x86_64.h. Groups of element ops over arrays: one loop, in which everything that the group does
 * not store lies in registers. The last elements, fewer than the loop takes at a time, are done by going back so far that they
 * are enough: arrays that come in and arrays that are made never share memory. Groups with ops that are not covered are called.
 */
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit_x86_64_packed.h"

#include <string.h>

static void call_fused(struct emission *emission, struct mdf_lowered_fused *fused)
{
    int (*run)(struct mdf_lowered *, struct mdf_lowered_fused *) = mdf_lowered_run_fused;
    const void *address;
    size_t i, j;

    for (i = 0; i < fused->body.n_ops; i++) {
        for (j = 0; j < fused->body.ops[i].n_in; j++) {
            if (emission->lowered->values[fused->body.ops[i].in[j]].is_scalar) {
                emission_publish(emission, fused->body.ops[i].in[j]);
            }
        }
    }
    memcpy(&address, &run, sizeof address);
    assemble_move_address(emission->assembler, RDI, emission->lowered);
    assemble_move_address(emission->assembler, RSI, fused);
    emission_call_or_bail_out(emission, address);
}

/* A group of one op that is a loop over elements: the loop is called. */
static void call_loop(struct emission *emission, const struct mdf_lowered_op *op, size_t n)
{
    static const size_t steps[8][MDF_MAX_OPERANDS] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0},
                                                      {0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}};
    struct assembler *assembler = emission->assembler;
    unsigned arrays = 0;
    size_t i;

    for (i = 0; i < op->n_in; i++) {
        if (emission->lowered->values[op->in[i]].is_scalar) {
            emission_publish(emission, op->in[i]);
            assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, in_memory(CELLS, (int32_t)(8 * op->in[i])));
        } else {
            assemble_load(assembler, 8, RAX, emission_array_data(op->in[i]));
            arrays |= 1u << i;
        }
        assemble_store(assembler, 8, RAX, in_memory(RSP, (int32_t)(FRAME_POINTERS + 8 * i)));
    }
    assemble_load(assembler, 8, RDI, emission_array_data(op->out));
    emission_call_loop(emission, op, steps[arrays], n);
}

/* Whether all of a group is covered; the width of its widest type. */
static bool covers(const struct emission *emission, const struct mdf_lowered_fused *fused, unsigned *width)
{
    const struct mdf_lowered_value *values = emission->lowered->values;
    size_t i, j;

    *width = 4;
    if (fused->body.n_ops == 0 || fused->body.n_ops > LARGEST_GROUP || fused->tiles == NULL) {
        return false;
    }
    for (i = 0; i < fused->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &fused->body.ops[i];

        if (!packed_covers((enum mdf_lowered_code)op->code, op->dtype, values[op->out].form.dtype)) {
            return false;
        }
        *width = mdf_dtype_size((mdf_dtype)values[op->out].form.dtype) == 8 ? 8 : *width;
        for (j = 0; j < op->n_in; j++) {
            *width = mdf_dtype_size((mdf_dtype)values[op->in[j]].form.dtype) == 8 ? 8 : *width;
        }
    }
    return true;
}

static bool is_needed(const struct packed *packed, size_t at)
{
    const struct mdf_lowered_op *op = packed->ops[at].op;
    size_t i, j;

    if (packed->emission->lowered->values[op->out].is_stored || op->code == MDF_LOWERED_DIVIDE_NONZERO) {
        return true;
    }
    for (i = at + 1; i < packed->n_ops; i++) {
        for (j = 0; j < packed->ops[i].op->n_in; j++) {
            if (packed->ops[i].in[j] == packed->ops[at].out) {
                return true;
            }
        }
    }
    return false;
}

static void emit_body(struct packed *packed)
{
    packed->active = packed->lanes;
    for (packed->at = 0; packed->at < packed->n_ops; packed->at++) {
        if (is_needed(packed, packed->at)) {
            packed_emit_op(packed);
            packed_store(packed, packed->ops[packed->at].out);
            packed_drop(packed);
        }
    }
    packed_forget(packed);
}

static bool is_in_place(const struct packed *packed)
{
    size_t i;

    for (i = 0; i < packed->n_ops; i++) {
        if (packed->emission->lowered->values[packed->ops[i].op->out].is_in_place) {
            return true;
        }
    }
    return false;
}

/* Each element once: what is left of eight at a time is done four at a time, then one by one. */
static void emit_in_place(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    size_t n = packed->fused->n, first = 0, end;

    for (; first < n; packed->lanes = packed->lanes == 8 ? 4 : 1) {
        machine_label body = new_label(assembler);

        end = n - (n - first) % packed->lanes;
        if (end - first > packed->lanes) {
            assemble_align(assembler, 32);
        }
        bind_label(assembler, body);
        if (end > first) {
            emit_body(packed);
            assemble_with_number(assembler, NUMBER_ADD, 8, in_register(COUNTER), (int32_t)packed->lanes);
        }
        if (end - first > packed->lanes) {
            assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(COUNTER), (int32_t)end);
            assemble_jump_if(assembler, IF_BELOW, body);
        }
        first = end;
    }
}

static void emit_overlapping(struct packed *packed)
{
    struct assembler *assembler = packed->assembler;
    machine_label body = new_label(assembler), done = new_label(assembler);
    size_t n = packed->fused->n, last = n - packed->lanes;

    if (last > 0) {
        assemble_align(assembler, 32);
    }
    bind_label(assembler, body);
    emit_body(packed);
    if (last > 0) {
        assemble_with_number(assembler, NUMBER_ADD, 8, in_register(COUNTER), (int32_t)packed->lanes);
        assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(COUNTER), (int32_t)last);
        assemble_jump_if(assembler, IF_BELOW_OR_EQUAL, body);
    }
    if (n % packed->lanes != 0) {
        assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(COUNTER), (int32_t)n);
        assemble_jump_if(assembler, IF_EQUAL, done);
        assemble_move_number(assembler, COUNTER, last);
        assemble_jump(assembler, body);
    }
    bind_label(assembler, done);
}

static void emit_loop(struct packed *packed)
{
    packed_enter(packed);
    assemble_move_number(packed->assembler, COUNTER, 0);
    if (is_in_place(packed)) {
        emit_in_place(packed);
    } else {
        emit_overlapping(packed);
    }
    assemble_vector_end(packed->assembler);
}

static bool emit_group(struct emission *emission, const struct mdf_lowered_fused *fused)
{
    struct packed packed = {.lanes = 1};

    if (fused->n > INT32_MAX || !covers(emission, fused, &packed.width)) {
        return false;
    }
    if (fused->n >= 8 && packed.width == 4) {
        packed.lanes = 8;
    } else if (fused->n >= 4) {
        packed.lanes = 4;
    }
    if (fused->n == 0) {
        return true;
    }
    if (!packed_init(&packed, emission, fused)) {
        emission->assembler->failed = true;
        return true;
    }
    emit_loop(&packed);
    packed_release(&packed);
    return true;
}

void emission_fused(struct emission *emission, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_region *body = &op->of.fused->body;

    /* What nobody reads has no memory but in a tile. */
    if (body->n_ops == 1 && body->ops[0].code == MDF_LOWERED_ELEMENTS && body->ops[0].loop != NULL && op->of.fused->n > 0 &&
        emission->lowered->values[body->ops[0].out].is_stored) {
        call_loop(emission, &body->ops[0], op->of.fused->n);
    } else if (!emit_group(emission, op->of.fused)) {
        call_fused(emission, op->of.fused);
    }
    emission_restore(emission);
}
