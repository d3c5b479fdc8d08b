/* lower_finish.c - element ops over arrays are grouped; what others see of a group is stored; memory for it all. See lowering.h.
 */
#include "mdf_c/lower/lowering.h"

#include <string.h>

/* ------------------------------------------------------------------ groups */

static bool is_array_op(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    return op->code < MDF_LOWERED_COPY && !lowering->lowered->values[op->out].is_scalar;
}

enum { LONGEST_ALONE = 4096 }; /* elements */

/* A function that is a loop over elements by itself, on arrays that stay in the cache from one op to the next, needs no group: so
 * machine code can do what is before and behind it, and call the loop. */
static bool stands_alone(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_ELEMENTS && !lowering->is_for_source &&
           lowering->lowered->values[op->out].form.length <= LONGEST_ALONE;
}

static bool new_group(struct lowering *lowering, struct mdf_lowered_op *op, size_t n, size_t capacity)
{
    struct mdf_lowered_fused *fused = mdf_arena_allocate(&lowering->lowered->arena, sizeof *fused);

    if (fused == NULL) {
        return lowering_out_of_memory(lowering);
    }
    fused->n = n;
    fused->body.ops = mdf_arena_array(&lowering->lowered->arena, capacity, sizeof *fused->body.ops);
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_FUSED, .out = MDF_LOWERED_NONE, .of.fused = fused};
    return fused->body.ops != NULL || lowering_out_of_memory(lowering);
}

/* Puts an op that makes an array into the group, which stands at `group` of the ops so far: not where an operand is made behind
 * it. */
static bool joins(const struct mdf_lowered_op *op, const size_t *made_at, size_t group)
{
    size_t i;

    for (i = 0; i < op->n_in; i++) {
        if (made_at[op->in[i]] != SIZE_MAX && made_at[op->in[i]] > group) {
            return false;
        }
    }
    return true;
}

/* Notes where the results of an op are made. */
static void note_made(size_t *made_at, const struct mdf_lowered_op *op, size_t at)
{
    size_t i;

    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CALL:
        for (i = 0; i < op->of.call->n_outputs; i++) {
            if (op->of.call->outputs[i] != MDF_LOWERED_NONE) {
                made_at[op->of.call->outputs[i]] = at;
            }
        }
        break;
    case MDF_LOWERED_IF:
        for (i = 0; i < op->of.branches->n_merges; i++) {
            made_at[op->of.branches->merges[i].out] = at;
        }
        break;
    case MDF_LOWERED_LOOP:
        for (i = 0; i < op->of.loop->n_states; i++) {
            made_at[op->of.loop->states[i].parameter] = at;
        }
        for (i = 0; i < op->of.loop->n_stacks; i++) {
            made_at[op->of.loop->stacks[i].stack] = at;
        }
        break;
    case MDF_LOWERED_FUSED: /* its ops are noted as they join it */
        break;
    MDF_LOWERED_CASES_OF_ELEMENTS:
        made_at[op->out] = at;
        break;
    }
}

/* A group of one op. */
static bool add_alone(struct lowering *lowering, struct mdf_lowered_op *group, const struct mdf_lowered_op *op)
{
    if (!new_group(lowering, group, lowering->lowered->values[op->out].form.length, 1)) {
        return false;
    }
    group->of.fused->body.ops[group->of.fused->body.n_ops++] = *op;
    lowering->facts[op->out].fused = group->of.fused;
    return true;
}

bool lowering_group(struct lowering *lowering, struct region *region)
{
    size_t *made_at = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *made_at);
    size_t group = SIZE_MAX, n = 0, i;

    if (made_at == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memset(made_at, 0xff, lowering->lowered->n_values * sizeof *made_at);
    for (i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op op = region->ops[i];

        if (is_array_op(lowering, &op) && stands_alone(lowering, &op)) {
            if (!add_alone(lowering, &region->ops[n], &op)) {
                return false;
            }
            made_at[op.out] = n++;
        } else if (is_array_op(lowering, &op)) {
            size_t length = lowering->lowered->values[op.out].form.length;
            struct mdf_lowered_fused *fused;

            if (group == SIZE_MAX || region->ops[group].of.fused->n != length || !joins(&op, made_at, group)) {
                group = n++;
                if (!new_group(lowering, &region->ops[group], length, region->n_ops - i)) {
                    return false;
                }
            }
            fused = region->ops[group].of.fused;
            fused->body.ops[fused->body.n_ops++] = op;
            lowering->facts[op.out].fused = fused;
            made_at[op.out] = group;
        } else {
            note_made(made_at, &op, n);
            region->ops[n++] = op;
        }
    }
    region->n_ops = n;
    return true;
}

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
        } else if (value->place == MDF_LOWERED_RESULT && value->is_stored &&
                   (lowering->facts[i].fused != NULL || lowering->facts[i].is_copied || lowering->facts[i].is_product)) {
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

    forget_stored(lowering);
    use_region(lowering, &lowered->region, NULL);
    for (i = 0; i < lowered->n_outputs; i++) {
        use(lowering, lowered->outputs[i].id, NULL);
    }
    return allocate_values(lowering) && allocate_tiles(lowering, &lowered->region) && connect_calls(lowering, &lowered->region);
}
