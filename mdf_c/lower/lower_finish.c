/* lower_finish.c - what others see of a group of element ops is stored; memory for it all. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

/* ------------------------------------------------------------------ what is stored */

static void use(struct lowering *lowering, mdf_lowered_id id, const struct mdf_lowered_fused *user)
{
    if (id != MDF_LOWERED_NONE && lowering->facts[id].fused != NULL && lowering->facts[id].fused != user) {
        lowering->lowered->values[id].is_stored = true;
    }
}

static void forget_stored(struct lowering *lowering)
{
    size_t i;

    for (i = 0; i < lowering->lowered->n_values; i++) {
        if (lowering->facts[i].fused != NULL) {
            lowering->lowered->values[i].is_stored = false;
        }
    }
}

static void use_region(struct lowering *lowering, const struct mdf_lowered_region *region, const struct mdf_lowered_fused *user);

static void use_loop(struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    size_t i;

    for (i = 0; i < loop->n_states; i++) {
        use(lowering, loop->states[i].initial, NULL);
        use(lowering, loop->states[i].next, NULL);
    }
    for (i = 0; i < loop->n_rows; i++) {
        use(lowering, loop->rows[i].source, NULL);
    }
    for (i = 0; i < loop->n_stacks; i++) {
        use(lowering, loop->stacks[i].item, NULL);
    }
    for (i = 0; i < loop->n_products; i++) {
        use(lowering, loop->products[i]->a, NULL);
        use(lowering, loop->products[i]->b, NULL);
        use(lowering, loop->products[i]->start, NULL);
    }
    use_region(lowering, &loop->body, NULL);
}

static void use_branches(struct lowering *lowering, const struct mdf_lowered_if *branches)
{
    size_t i;

    for (i = 0; i < branches->n_merges; i++) {
        use(lowering, branches->merges[i].then, NULL);
        use(lowering, branches->merges[i].otherwise, NULL);
    }
    use_region(lowering, &branches->then, NULL);
    use_region(lowering, &branches->otherwise, NULL);
}

static void use_region(struct lowering *lowering, const struct mdf_lowered_region *region, const struct mdf_lowered_fused *user)
{
    size_t i, j;

    for (i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        switch ((enum mdf_lowered_code)op->code) {
        case MDF_LOWERED_CALL:
            for (j = 0; j < op->of.call->n_inputs; j++) {
                use(lowering, op->of.call->inputs[j], NULL);
            }
            break;
        case MDF_LOWERED_FUSED:
            use_region(lowering, &op->of.fused->body, op->of.fused);
            break;
        case MDF_LOWERED_NEST:
            for (j = 0; j < op->of.nest->n_steps; j++) {
                if (op->of.nest->steps[j].kind == MDF_NEST_LOAD) {
                    use(lowering, op->of.nest->steps[j].view.id, NULL);
                }
            }
            break;
        case MDF_LOWERED_IF:
            use_branches(lowering, op->of.branches);
            break;
        case MDF_LOWERED_LOOP:
            use_loop(lowering, op->of.loop);
            break;
        MDF_LOWERED_CASES_OF_ELEMENTS:
            for (j = 0; j < op->n_in; j++) {
                use(lowering, op->in[j], user);
            }
            break;
        }
    }
}

/* ------------------------------------------------------------------ memory */

static bool allocate_tiles(struct lowering *lowering, const struct mdf_lowered_region *region);

static bool allocate_tiles_of(struct lowering *lowering, const struct mdf_lowered_op *op)
{
    size_t size;
    char *tiles;

    switch (op->code) {
    case MDF_LOWERED_FUSED:
        if (!mdf_size_multiply(op->of.fused->body.n_ops, MDF_LOWERED_TILE * sizeof(double), &size)) {
            return lowering_out_of_memory(lowering);
        }
        tiles = mdf_arena_allocate(&lowering->lowered->arena, size + 64);
        if (tiles == NULL) {
            return lowering_out_of_memory(lowering);
        }
        op->of.fused->tiles = tiles + (64 - (uintptr_t)tiles % 64) % 64;
        return true;
    case MDF_LOWERED_IF:
        return allocate_tiles(lowering, &op->of.branches->then) && allocate_tiles(lowering, &op->of.branches->otherwise);
    case MDF_LOWERED_LOOP:
        return allocate_tiles(lowering, &op->of.loop->body);
    default:
        return true;
    }
}

static bool allocate_tiles(struct lowering *lowering, const struct mdf_lowered_region *region)
{
    size_t i;

    for (i = 0; i < region->n_ops; i++) {
        if (!allocate_tiles_of(lowering, &region->ops[i])) {
            return false;
        }
    }
    return true;
}

/* Constants are there; scalars lie over their cells; stored arrays get memory. */
static bool allocate_values(struct lowering *lowering)
{
    struct mdf_lowered *lowered = lowering->lowered;
    size_t i;

    lowered->cells = mdf_arena_array(&lowered->arena, lowered->n_values, sizeof *lowered->cells);
    lowered->arrays = mdf_arena_array(&lowered->arena, lowered->n_values, sizeof *lowered->arrays);
    lowered->inputs = mdf_arena_array(&lowered->arena, lowered->n_values, sizeof *lowered->inputs);
    if (lowered->cells == NULL || lowered->arrays == NULL || lowered->inputs == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < lowered->n_values; i++) {
        const struct mdf_lowered_value *value = &lowered->values[i];
        struct mdf_value *array = &lowered->arrays[i];

        if (value->place == MDF_LOWERED_INPUT) {
            lowered->inputs[lowered->n_inputs++] = (mdf_lowered_id)i;
        }
        *array = value->form;
        if (value->is_scalar) {
            if (value->place == MDF_LOWERED_CONSTANT) {
                memcpy(&lowered->cells[i], value->form.data, mdf_dtype_size((mdf_dtype)value->form.dtype));
            }
            array->data = &lowered->cells[i];
        } else if (value->place == MDF_LOWERED_RESULT && value->is_stored && !value->is_in_place &&
                   (lowering->facts[i].fused != NULL || lowering->facts[i].is_nested || lowering->facts[i].is_copied ||
                    lowering->facts[i].is_product)) {
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
    size_t i;

    if (inputs == NULL || outputs == NULL || constants == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < call->n_inputs; i++) {
        inputs[i] = call->inputs[i] == MDF_LOWERED_NONE ? NULL : &arrays[call->inputs[i]];
        constants[i] = inputs[i] != NULL && lowering_is_constant(lowering, call->inputs[i]);
    }
    call->call.constants = constants;
    for (i = 0; i < call->n_outputs; i++) {
        outputs[i] = call->outputs[i] == MDF_LOWERED_NONE ? NULL : &arrays[call->outputs[i]];
        if (outputs[i] != NULL && call->product == NULL) {
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
    size_t i;

    for (i = 0; done && i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        switch (op->code) {
        case MDF_LOWERED_CALL:
            done = connect_call(lowering, op->of.call);
            break;
        case MDF_LOWERED_IF:
            done = connect_calls(lowering, &op->of.branches->then) && connect_calls(lowering, &op->of.branches->otherwise);
            break;
        case MDF_LOWERED_LOOP:
            done = connect_calls(lowering, &op->of.loop->body);
            break;
        default:
            break;
        }
    }
    return done;
}

bool lowering_finish(struct lowering *lowering)
{
    struct mdf_lowered *lowered = lowering->lowered;
    size_t i;

    if (!lowering_drop_unread(lowering)) {
        return false;
    }
    forget_stored(lowering);
    use_region(lowering, &lowered->region, NULL);
    for (i = 0; i < lowered->n_outputs; i++) {
        use(lowering, lowered->outputs[i].id, NULL);
    }
    mdf_lowered_plan_loops(lowered);
    return allocate_values(lowering) && allocate_tiles(lowering, &lowered->region) && connect_calls(lowering, &lowered->region);
}
