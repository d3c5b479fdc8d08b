/* lower_finish.c - the last passes, and memory for it all. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* Constants are there; scalars lie over their cells; stored arrays get memory. */
static bool allocate_values(struct lowering *lowering)
{
    struct mdf_lowered *lowered = lowering->lowered;

    lowered->cells = mdf_arena_array(&lowered->arena, lowered->n_values, sizeof *lowered->cells);
    lowered->arrays = mdf_arena_array(&lowered->arena, lowered->n_values, sizeof *lowered->arrays);
    lowered->inputs = mdf_arena_array(&lowered->arena, lowered->n_values, sizeof *lowered->inputs);
    if (lowered->cells == NULL || lowered->arrays == NULL || lowered->inputs == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < lowered->n_values; i++) {
        const struct mdf_lowered_value *value = &lowered->values[i];
        struct mdf_value *array = &lowered->arrays[i];

        if (value->place == MDF_LOWERED_INPUT && !lowering->facts[i].is_passed_on) {
            lowered->inputs[lowered->n_inputs++] = (mdf_lowered_id)i;
        }
        *array = value->form;
        if (value->is_scalar) {
            if (value->place == MDF_LOWERED_CONSTANT) {
                memcpy(&lowered->cells[i], value->form.data, mdf_dtype_size((mdf_dtype)value->form.dtype));
            }
            array->data = &lowered->cells[i];
        } else if (value->open_axes != 0 && lowering->facts[i].is_nested) {
            memset(array, 0, sizeof *array); /* who makes it makes it as long as it is then */
        } else if (value->place == MDF_LOWERED_RESULT && !value->is_in_place &&
                   (lowering->facts[i].is_nested || lowering->facts[i].is_copied || lowering->facts[i].is_product)) {
            memset(array, 0, sizeof *array);
            if (mdf_value_make_tensor(lowering->memory, array, (mdf_dtype)value->form.dtype, value->form.rank,
                                      mdf_value_shape(&value->form)) == NULL) {
                return lowering_out_of_memory(lowering);
            }
            array->strength = value->form.strength;
        }
    }
    return true;
}

/* The kernels' inputs and outputs, as pointers. */
static bool connect_calls(struct lowering *lowering, const struct mdf_lowered_region *region);

static bool connect_call(struct lowering *lowering, struct mdf_lowered_call *call)
{
    struct mdf_arena *arena = &lowering->lowered->arena;
    const struct mdf_value **inputs = mdf_arena_array(arena, call->n_inputs, sizeof *inputs);
    struct mdf_value **outputs = mdf_arena_array(arena, call->n_outputs, sizeof *outputs);
    struct mdf_value *arrays = lowering->lowered->arrays;
    bool *constants = mdf_arena_array(arena, call->n_inputs, sizeof *constants);

    if (inputs == NULL || outputs == NULL || constants == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        inputs[i] = call->inputs[i] == MDF_LOWERED_NONE ? NULL : &arrays[call->inputs[i]];
        constants[i] = inputs[i] != NULL && lowering_is_constant(lowering, call->inputs[i]);
    }
    call->call.constants = constants;
    for (size_t i = 0; i < call->n_outputs; i++) {
        outputs[i] = call->outputs[i] == MDF_LOWERED_NONE ? NULL : &arrays[call->outputs[i]];
        if (outputs[i] != NULL && call->product == NULL && call->draw == NULL && call->routine == NULL) {
            memset(outputs[i], 0, sizeof *outputs[i]); /* the kernel makes it */
        }
    }
    call->call.inputs = inputs;
    call->call.outputs = outputs;
    return true;
}

static bool connect_calls(struct lowering *lowering, const struct mdf_lowered_region *region)
{
    bool done = true;

    for (size_t i = 0; done && i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        const struct mdf_lowered_region *inner;

        done = op->code != MDF_LOWERED_CALL || connect_call(lowering, op->of.call);
        for (size_t j = 0; done && (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            done = connect_calls(lowering, inner);
        }
    }
    return done;
}

/* Number `at`, or the next one where these are loops that run at the same time, between which nothing may stand. */
static size_t behind_pair(const struct mdf_lowered_region *region, size_t at)
{
    const struct mdf_lowered_loop *loop = region->ops[at].code == MDF_LOWERED_LOOP ? region->ops[at].of.loop : NULL;

    return at + (loop != NULL && loop->concurrent != NULL && loop->concurrent->loops[0] == loop);
}

/* The last op of a region behind number `at`, a PUT, that reads what an array was before it, or before those whose results it
 * puts into; `at` itself where there is none. */
static size_t last_reader(const struct mdf_lowered_region *region, size_t at)
{
    mdf_lowered_id array = region->ops[at].in[0];
    size_t last = at, maker, i;

    for (;;) {
        for (i = region->n_ops; i-- > last + 1 && !mdf_lowered_reads(&region->ops[i], array);) {
        }
        last = i > last ? i : last;
        maker = mdf_lowered_find_maker(region, array);
        if (maker == SIZE_MAX || region->ops[maker].code != MDF_LOWERED_PUT) {
            return behind_pair(region, last);
        }
        array = region->ops[maker].in[0];
    }
}

/* What is put into an array is put behind what reads the array as it was, where nothing up to there reads it as it is then: so it
 * may be put where the array lies. */
static void delay_puts(const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;
    size_t last, i;

    for (size_t at = region->n_ops; at-- > 0;) {
        const struct mdf_lowered_op op = region->ops[at];

        for (i = 0; (inner = mdf_lowered_inner(&op, i)) != NULL; i++) {
            delay_puts(inner);
        }
        if (op.code != MDF_LOWERED_PUT) {
            continue;
        }
        last = last_reader(region, at);
        for (i = at + 1; i <= last && !mdf_lowered_reads(&region->ops[i], op.out); i++) {
        }
        if (i > last && last > at) {
            memmove(&region->ops[at], &region->ops[at + 1], (last - at) * sizeof op);
            region->ops[last] = op;
        }
    }
}

static bool is_same_number(const struct mdf_lowered *lowered, mdf_lowered_id a, mdf_lowered_id b)
{
    const struct mdf_lowered_value *first = &lowered->values[a], *second = &lowered->values[b];

    return a == b || (first->place == MDF_LOWERED_CONSTANT && second->place == MDF_LOWERED_CONSTANT && first->is_scalar &&
                      second->is_scalar && first->form.dtype == second->form.dtype &&
                      memcmp(first->form.data, second->form.data, mdf_dtype_size((mdf_dtype)first->form.dtype)) == 0);
}

/* A quotient of numbers goes in front of a remainder of the same two, which machine code makes of it. */
static void divide_first(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;

    for (size_t at = 0; at < region->n_ops; at++) {
        const struct mdf_lowered_op op = region->ops[at];

        for (size_t i = 0; (inner = mdf_lowered_inner(&op, i)) != NULL; i++) {
            divide_first(lowered, inner);
        }
        if (op.code != MDF_LOWERED_QUOTIENT && op.code != MDF_LOWERED_FLOOR_QUOTIENT) {
            continue;
        }
        for (size_t i = 0; i < at; i++) {
            const struct mdf_lowered_op *other = &region->ops[i];

            if ((other->code == MDF_LOWERED_REMAINDER || other->code == MDF_LOWERED_FLOOR_REMAINDER) &&
                other->dtype == op.dtype && other->in[0] == op.in[0] && is_same_number(lowered, other->in[1], op.in[1])) {
                memmove(&region->ops[i + 1], &region->ops[i], (at - i) * sizeof op);
                region->ops[i] = op;
                break;
            }
        }
    }
}

bool lowering_finish(struct lowering *lowering)
{
    if (!lowering_carry_elements(lowering) || !lowering_drop_unread(lowering) || !lowering_compute_ahead(lowering) ||
        !lowering_group_again(lowering) || !lowering_find_products(lowering) || !lowering_read_originals(lowering) ||
        !lowering_read_assembled(lowering) || !lowering_narrow_wholes(lowering)) {
        return false;
    }
    lowering_narrow_sums(lowering);
    if (!lowering_drop_unread(lowering) || !lowering_split(lowering) || !lowering_narrow_known(lowering) ||
        !lowering_select_wholes(lowering) || !lowering_turn_states(lowering) || !lowering_store_moved(lowering) ||
        !lowering_store_columns(lowering) || !lowering_turn_arrays(lowering) || !lowering_add_columns(lowering) ||
        !lowering_take_row_elements(lowering) || !lowering_take_apart(lowering) || !lowering_carry_elements(lowering) ||
        !lowering_keep_elements(lowering) || !lowering_read_numbers(lowering) || !lowering_store_copied(lowering) ||
        !lowering_do_in_blocks(lowering) || !lowering_compute_places(lowering) || !lowering_unroll_sums(lowering) ||
        !lowering_cut_rows(lowering) || !lowering_branch_foreseen(lowering) || !lowering_widen_truths(lowering) ||
        !lowering_order_functions(lowering) || !lowering_find_concurrent(lowering)) {
        return false;
    }
    delay_puts(&lowering->lowered->region);
    divide_first(lowering->lowered, &lowering->lowered->region);
    mdf_lowered_plan_loops(lowering->lowered);
    return lowering_find_routines(lowering) && allocate_values(lowering) && connect_calls(lowering, &lowering->lowered->region);
}
