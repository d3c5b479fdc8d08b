/* emit_x86_64_states.c - see emit_x86_64.h. Which array states of loops are written in place: where one group of element ops is
 * all that reads a state, and makes what it is next, element i may be written as soon as it has been read. Nothing is exchanged
 * then, and less memory is gone through. */
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64.h"

static const uint32_t nobody = UINT32_MAX, several = UINT32_MAX - 1;

static bool is_array(const struct emission *emission, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && !emission->lowered->values[id].is_scalar;
}

static void use(struct emission *emission, mdf_lowered_id id, uint32_t user)
{
    uint32_t *there = is_array(emission, id) ? &emission->arrays[id].user : NULL;

    if (there != NULL) {
        *there = *there == nobody || *there == user ? user : several;
    }
}

/* Something may look at the memory of the array later. */
static void share(struct emission *emission, mdf_lowered_id id)
{
    if (is_array(emission, id)) {
        emission->arrays[id].user = several;
        emission->arrays[id].is_shared = true;
    }
}

static void use_in_group(struct emission *emission, const struct mdf_lowered_fused *fused, uint32_t at)
{
    size_t i, j;

    for (i = 0; i < fused->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &fused->body.ops[i];

        for (j = 0; j < op->n_in; j++) {
            use(emission, op->in[j], at);
            if (is_array(emission, op->in[j])) {
                emission->arrays[op->in[j]].last = (uint32_t)i;
            }
        }
        emission->arrays[op->out].maker = at;
        emission->arrays[op->out].made_by = (uint32_t)i;
    }
}

static void use_in_op(struct emission *emission, const struct mdf_lowered_op *op, uint32_t at)
{
    size_t i;

    if (op->code == MDF_LOWERED_FUSED) {
        use_in_group(emission, op->of.fused, at);
    } else if (op->code == MDF_LOWERED_CALL) {
        for (i = 0; i < op->of.call->n_inputs; i++) {
            share(emission, op->of.call->inputs[i]);
        }
    } else if (op->code == MDF_LOWERED_NEST) {
        for (i = 0; i < op->of.nest->n_steps; i++) {
            if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
                share(emission, op->of.nest->steps[i].view.id);
            }
        }
    } else if (op->code == MDF_LOWERED_PART) {
        share(emission, op->in[0]);
    } else {
        for (i = 0; i < op->n_in; i++) {
            use(emission, op->in[i], several);
        }
    }
}

static void use_in_loop(struct emission *emission, const struct mdf_lowered_loop *loop)
{
    size_t i;

    for (i = 0; i < loop->n_states; i++) {
        use(emission, loop->states[i].initial, several);
    }
    for (i = 0; i < loop->n_rows; i++) {
        share(emission, loop->rows[i].source);
    }
    for (i = 0; i < loop->n_products; i++) {
        share(emission, loop->products[i]->b);
        share(emission, loop->products[i]->start);
    }
}

static void use_as_items(struct emission *emission, const struct mdf_lowered_loop *loop)
{
    size_t i;

    for (i = 0; i < loop->n_stacks; i++) {
        use(emission, loop->stacks[i].item, several);
        if (loop->stacks[i].is_direct) {
            share(emission, loop->stacks[i].item);
        }
    }
}

/* The loop's body has been gone through. What is only the next of a state is used by the loop. */
static void decide(struct emission *emission, const struct step *step)
{
    const struct mdf_lowered_loop *loop = step->op->of.loop;
    size_t i;

    for (i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];
        const struct array_use *parameter = &emission->arrays[state->parameter], *next = &emission->arrays[state->next];

        use(emission, state->next, several);
        if (!is_array(emission, state->parameter) || state->is_in_stack || next->is_shared || next->maker == nobody ||
            parameter->user != next->maker || parameter->last > next->made_by) {
            continue;
        }
        if (emission->steps[next->maker].region == step->region &&
            emission_covers_group(emission, emission->steps[next->maker].op->of.fused)) {
            emission->arrays[state->next].is_in_place = true;
        }
    }
}

bool emission_find_states(struct emission *emission)
{
    size_t i, j;

    emission->arrays = mdf_memory_allocate_zeroed(emission->memory, emission->lowered->n_values, sizeof *emission->arrays);
    if (emission->arrays == NULL) {
        return false;
    }
    for (i = 0; i < emission->lowered->n_values; i++) {
        emission->arrays[i].user = emission->arrays[i].maker = nobody;
    }
    for (i = 0; i < emission->n_steps; i++) {
        const struct step *step = &emission->steps[i];

        if (step->kind == STEP_OP) {
            use_in_op(emission, step->op, (uint32_t)i);
        } else if (step->kind == STEP_LOOP) {
            use_in_loop(emission, step->op->of.loop);
        } else if (step->kind == STEP_END_LOOP) {
            use_as_items(emission, step->op->of.loop);
            decide(emission, step);
        } else if (step->kind == STEP_END_IF) {
            for (j = 0; j < step->op->of.branches->n_merges; j++) {
                share(emission, step->op->of.branches->merges[j].then);
                share(emission, step->op->of.branches->merges[j].otherwise);
            }
        }
    }
    for (i = 0; i < emission->lowered->n_outputs; i++) {
        use(emission, emission->lowered->outputs[i].id, several);
    }
    return true;
}
