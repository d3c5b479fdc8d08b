/* print_program.c - see print_program.h: instructions. */
#include "mdf_c/plan/print_program.h"

#include "mdf_c/code/print_code.h"

#include <string.h>

enum { STEP = 2 };

/* ------------------------------------------------------------------ names */

/* The first name stays: a port's, before that of what else lies in its slot. */
static bool name_slot(const char **names, struct mdf_arena *arena, mdf_operand operand, const char *node, const char *part)
{
    size_t n_node = strlen(node), n_part = strlen(part);
    char *name;

    if (operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT || names[MDF_OPERAND_INDEX(operand)] != NULL) {
        return true;
    }
    name = mdf_arena_allocate(arena, n_node + n_part + 2);
    if (name == NULL) {
        return false;
    }
    memcpy(name, node, n_node);
    name[n_node] = '.';
    memcpy(name + n_node + 1, part, n_part + 1);
    names[MDF_OPERAND_INDEX(operand)] = name;
    return true;
}

static bool name_parts(const char **names, struct mdf_arena *arena, const struct mdf_program_node *node)
{
    for (int kind = 0; kind < MDF_PART_COUNT; kind++) {
        for (size_t i = 0; i < node->parts[kind].n; i++) {
            const struct mdf_program_part *part = &node->parts[kind].items[i];

            for (size_t j = 0; j < part->n_operands; j++) {
                if (!name_slot(names, arena, part->operands[j], node->id, part->id)) {
                    return false;
                }
            }
        }
    }
    return true;
}

const char **mdf_program_slot_names(const struct mdf_program *program, struct mdf_arena *arena)
{
    const char **names = mdf_arena_array(arena, program->code->n_slots, sizeof *names);

    for (size_t i = 0; names != NULL && i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];

        /* An input of the graph that no node reads is not a node's. */
        if (port->node < program->n_nodes && !name_slot(names, arena, port->slot, program->nodes[port->node].id, port->id)) {
            return NULL;
        }
    }
    for (size_t i = 0; names != NULL && i < program->n_nodes; i++) {
        if (!name_parts(names, arena, &program->nodes[i])) {
            return NULL;
        }
    }
    return names;
}

/* ------------------------------------------------------------------ code */

static void print_edge(struct mdf_text *text, const struct mdf_code_names *names, const struct mdf_program *program,
                       const struct mdf_program_edge *edge)
{
    const struct mdf_program_port *port = &program->ports[edge->port];

    mdf_text_printf(text, "%*sedge ", STEP, "");
    mdf_operand_print(text, names, edge->source);
    mdf_text_append_string(text, " -> ");
    mdf_operand_print(text, names, port->slot);
    if (port->reduce != MDF_REDUCE_OVERWRITE) {
        mdf_text_append_string(text, port->reduce == MDF_REDUCE_ADD ? ", added" : ", multiplied");
    }
    mdf_text_append_string(text, "\n");
    mdf_instructions_print(text, names, edge->weigh.first, edge->weigh.end, 2 * STEP);
    mdf_instructions_print(text, names, port->combine.first, port->combine.end, 2 * STEP);
}

static void print_stage(struct mdf_text *text, const struct mdf_code_names *names, const char *stage, size_t first, size_t end)
{
    if (first < end) {
        mdf_text_printf(text, "%*s%s\n", STEP, "", stage);
        mdf_instructions_print(text, names, first, end, 2 * STEP);
    }
}

static void print_node(struct mdf_text *text, const struct mdf_code_names *names, const struct mdf_program *program,
                       const struct mdf_program_node *node)
{
    mdf_text_append_string(text, "node '");
    mdf_text_append_visible(text, node->id);
    mdf_text_append_string(text, "'\n");
    for (size_t i = 0; i < node->n_edges; i++) {
        print_edge(text, names, program, &program->edges[node->edges[i]]);
    }
    print_stage(text, names, "takes", node->first, node->reset);
    print_stage(text, names, "in its first run of an evaluation", node->reset, node->initial);
    print_stage(text, names, "in its first run", node->initial, node->main);
    print_stage(text, names, "computes", node->main, node->end);
    for (size_t i = 0; i < node->n_outputs; i++) {
        mdf_text_printf(text, "%*soutput '", STEP, "");
        mdf_text_append_visible(text, node->outputs[i].id);
        mdf_text_append_string(text, "' is ");
        mdf_operand_print(text, names, node->outputs[i].operand);
        mdf_text_append_string(text, "\n");
    }
}

static void print_defaults(struct mdf_text *text, const struct mdf_code_names *names, const struct mdf_program *program)
{
    for (size_t i = 0; i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];

        mdf_text_append_string(text, "port ");
        mdf_operand_print(text, names, port->slot);
        if (port->default_value != MDF_NO_OPERAND) {
            mdf_text_append_string(text, ", by default ");
            mdf_operand_print(text, names, port->default_value);
        }
        mdf_text_append_string(text, port->is_required ? ", must be given\n" : "\n");
    }
}

bool mdf_program_print_code(struct mdf_text *text, const struct mdf_program *program)
{
    struct mdf_code_names names = {program->code, NULL};
    struct mdf_arena arena;

    mdf_arena_init(&arena, text->memory);
    names.slots = mdf_program_slot_names(program, &arena);
    mdf_text_append_string(text, "graph '");
    mdf_text_append_visible(text, program->graph_id);
    mdf_text_printf(text, "': %zu slots; %%0 is dt\n", program->code->n_slots);
    mdf_code_print_values(text, &names, 0);
    print_defaults(text, &names, program);
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            print_node(text, &names, program, &program->nodes[program->layers[i].nodes[j]]);
        }
    }
    for (size_t i = 0; i < program->code->n_bodies; i++) {
        mdf_body_print(text, program->code->bodies[i], i, 0);
    }
    mdf_arena_release(&arena);
    return names.slots != NULL && !text->failed;
}
