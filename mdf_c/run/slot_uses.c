/* slot_uses.c - see slot_uses.h. */
#include "mdf_c/run/slot_uses.h"

const struct mdf_code_call *mdf_node_last_call(const struct mdf_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->nodes[index];
    const struct mdf_instruction *instruction = node->end > node->main ? &program->code->instructions[node->end - 1] : NULL;

    return instruction != NULL && node->n_edges == 0 && instruction->opcode == MDF_OPCODE_CALL &&
                   program->code->calls[instruction->target].n_bodies == 0
               ? &program->code->calls[instruction->target]
               : NULL;
}

const struct mdf_code_call *mdf_node_only_call(const struct mdf_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->nodes[index];

    return node->first + 1 == node->end ? mdf_node_last_call(program, index) : NULL;
}

static void note(size_t *nodes, mdf_operand operand, size_t node)
{
    if (mdf_is_slot(operand)) {
        size_t *noted = &nodes[MDF_OPERAND_INDEX(operand)];

        *noted = *noted == 0 || *noted == node + 1 ? node + 1 : MDF_MANY_NODES;
    }
}

/* What a node has that can be looked at by name. */
static void note_names(struct mdf_slot_uses *uses, const struct mdf_program_node *node, size_t index)
{
    for (size_t i = 0; i < node->n_outputs; i++) {
        note(uses->names, node->outputs[i].operand, index);
    }
    for (size_t kind = 0; kind < MDF_PART_COUNT; kind++) {
        for (size_t i = 0; i < node->parts[kind].n; i++) {
            const struct mdf_program_part *part = &node->parts[kind].items[i];

            for (size_t j = 0; j < part->n_operands; j++) {
                note(kind == MDF_PART_INPUT ? uses->inputs : uses->names, part->operands[j], index);
            }
        }
    }
}

static void mark_carried(struct mdf_slot_uses *uses, mdf_operand operand)
{
    if (mdf_is_slot(operand)) {
        uses->is_carried[MDF_OPERAND_INDEX(operand)] = true;
    }
}

bool mdf_slot_uses_find(const struct mdf_program *program, struct mdf_arena *arena, struct mdf_slot_uses *uses)
{
    size_t turn = 0;

    uses->turns = mdf_arena_array(arena, program->n_nodes, sizeof *uses->turns);
    uses->names = mdf_arena_array(arena, program->code->n_slots, sizeof *uses->names);
    uses->inputs = mdf_arena_array(arena, program->code->n_slots, sizeof *uses->inputs);
    uses->is_carried = mdf_arena_array(arena, program->code->n_slots, sizeof *uses->is_carried);
    if (uses->turns == NULL || uses->names == NULL || uses->inputs == NULL || uses->is_carried == NULL) {
        return false;
    }
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            uses->turns[program->layers[i].nodes[j]] = turn++;
        }
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        note_names(uses, &program->nodes[i], i);
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        mark_carried(uses, program->edges[i].source);
        mark_carried(uses, program->edges[i].value);
    }
    return true;
}
