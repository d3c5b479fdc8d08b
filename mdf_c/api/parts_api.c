/* parts_api.c - ports, functions and parameters of nodes by position. See mdf.h. */
#include "mdf_c/run/state.h"

static const struct mdf_program_part *find_part(const mdf_program *program, size_t node, mdf_part kind, size_t part)
{
    return part < mdf_program_n_parts(program, node, kind) ? &program->nodes[node].parts[kind].items[part] : NULL;
}

size_t mdf_program_n_parts(const mdf_program *program, size_t node, mdf_part kind)
{
    return node < mdf_program_n_nodes(program) && (unsigned)kind < MDF_PART_COUNT ? program->nodes[node].parts[kind].n : 0;
}

const char *mdf_program_part_id(const mdf_program *program, size_t node, mdf_part kind, size_t part)
{
    const struct mdf_program_part *found = find_part(program, node, kind, part);

    return found != NULL ? found->id : NULL;
}

size_t mdf_program_part_n_values(const mdf_program *program, size_t node, mdf_part kind, size_t part)
{
    const struct mdf_program_part *found = find_part(program, node, kind, part);

    return found != NULL ? found->n_operands : 0;
}

const mdf_value *mdf_part_at(const mdf_state *state, size_t node, mdf_part kind, size_t part, size_t index)
{
    const struct mdf_program_part *found = mdf_state_is_free(state) ? find_part(state->program, node, kind, part) : NULL;

    if (found == NULL || index >= found->n_operands || found->operands[index] == MDF_NO_OPERAND) {
        return NULL;
    }
    if (kind == MDF_PART_OUTPUT && !state->has_run[node]) { /* what it holds at first */
        const mdf_value *value = mdf_state_output(state, node, part);

        return value->kind == MDF_KIND_NONE ? NULL : value;
    }
    if (!state->has_run[node] || !mdf_state_materialise(state, node, SIZE_MAX)) {
        return NULL;
    }
    return mdf_frame_value(state->frame, found->operands[index]);
}
