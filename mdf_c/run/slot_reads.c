/* slot_reads.c - see slot_reads.h. */
#include "mdf_c/run/slot_reads.h"

#include "mdf_c/code/operands.h"

#include <string.h>

/* What may be jumped over, up to its end. Behind a jump that is always taken stands what is done else. */
struct part {
    size_t end, otherwise; /* where that begins; 0: there is none */
};

/* One stretch while it is gone through. Jumps go forward: what lies between a jump and its target may be jumped over, and what is
 * written there is written for certain only for those who read there. */
struct reading {
    const struct mdf_code *code;
    size_t at;             /* the instruction */
    uint32_t *is_read;     /* of each slot: before it is written for certain */
    size_t *written_until; /* of each slot: it is written for certain for the instructions before this */
    struct part *parts;    /* that the instruction lies in, the innermost last */
    size_t n_parts;
};

/* What is done and what is done else overlap in the jump between them: one may end while one that began later goes on. */
static void leave_parts(struct reading *reading)
{
    size_t i, n = 0;

    for (i = 0; i < reading->n_parts; i++) {
        if (reading->parts[i].end > reading->at) {
            reading->parts[n++] = reading->parts[i];
        }
    }
    reading->n_parts = n;
}

static bool read_operand(void *context, mdf_operand operand)
{
    const struct reading *reading = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && reading->written_until[MDF_OPERAND_INDEX(operand)] <= reading->at) {
        reading->is_read[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
    return false;
}

/* A slot that both what is done and what is done else write is written for certain behind them. */
static bool write_operand(void *context, mdf_operand operand)
{
    const struct reading *reading = context;
    size_t n = reading->n_parts, *until;

    if (MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT) {
        return false;
    }
    until = &reading->written_until[MDF_OPERAND_INDEX(operand)];
    while (n > 0 && reading->parts[n - 1].otherwise != 0 && *until >= reading->parts[n - 1].otherwise) {
        n--;
    }
    if (n == 0) {
        *until = SIZE_MAX;
    } else if (*until < reading->parts[n - 1].end) {
        *until = reading->parts[n - 1].end;
    }
    return false;
}

static void go_through(struct reading *reading)
{
    const struct mdf_code *code = reading->code;
    const struct mdf_instruction *instruction = &code->instructions[reading->at];

    mdf_any_read(instruction, code->calls, code->bodies, read_operand, reading);
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_SWAP: /* these may leave a slot as it was, or with what it was */
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_NEXT:
        return;
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        if (instruction->target > reading->at + 1) {
            reading->parts[reading->n_parts++] =
                (struct part){instruction->target, instruction->opcode == MDF_OPCODE_JUMP ? reading->at + 1 : 0};
        }
        return;
    default:
        mdf_any_written(instruction, code->calls, write_operand, reading);
    }
}

bool mdf_slot_reads_add(const struct mdf_code *code, struct mdf_memory *memory, const struct mdf_lowering_range ranges[],
                        size_t n, uint32_t *is_read)
{
    struct reading reading = {.code = code, .is_read = is_read};
    size_t i;

    reading.written_until = mdf_memory_allocate_zeroed(memory, code->n_slots + 1, sizeof *reading.written_until);
    reading.parts = mdf_memory_allocate_zeroed(memory, code->n_instructions + 1, sizeof *reading.parts);
    for (i = 0; i < n && reading.written_until != NULL && reading.parts != NULL; i++) {
        reading.n_parts = 0;
        for (reading.at = ranges[i].first; reading.at < ranges[i].end; reading.at++) {
            leave_parts(&reading);
            go_through(&reading);
        }
    }
    mdf_memory_release(memory, reading.written_until);
    mdf_memory_release(memory, reading.parts);
    return i == n;
}

/* ------------------------------------------------------------------ what lasts between evaluations */

static void keep(uint32_t *is_kept, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        is_kept[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
}

/* What can be looked at by name, and what a node reads of an earlier run: its first, a later one, and what begins anew. */
static bool keep_of_node(const struct mdf_program *program, const struct mdf_program_node *node, struct mdf_memory *memory,
                         uint32_t *is_kept)
{
    const struct mdf_lowering_range anew = {node->reset, node->initial};
    const struct mdf_lowering_range first[2] = {{node->first, node->reset}, {node->initial, node->end}};
    const struct mdf_lowering_range later[2] = {{node->first, node->reset}, {node->main, node->end}};
    size_t kind, i, j;

    keep(is_kept, node->finished);
    for (i = 0; i < node->n_outputs; i++) {
        keep(is_kept, node->outputs[i].operand);
    }
    for (kind = 0; kind < MDF_PART_COUNT; kind++) {
        for (i = 0; i < node->parts[kind].n; i++) {
            for (j = 0; j < node->parts[kind].items[i].n_operands; j++) {
                keep(is_kept, node->parts[kind].items[i].operands[j]);
            }
        }
    }
    return mdf_slot_reads_add(program->code, memory, &anew, 1, is_kept) &&
           mdf_slot_reads_add(program->code, memory, first, 2, is_kept) &&
           mdf_slot_reads_add(program->code, memory, later, 2, is_kept);
}

static bool keep_of_port(const struct mdf_program *program, const struct mdf_program_port *port, struct mdf_memory *memory,
                         uint32_t *is_kept)
{
    const struct mdf_lowering_range combine = {port->combine.first, port->combine.end};

    keep(is_kept, port->slot);
    keep(is_kept, port->source);
    return mdf_slot_reads_add(program->code, memory, &combine, 1, is_kept);
}

static bool keep_of_edge(const struct mdf_program *program, const struct mdf_program_edge *edge, struct mdf_memory *memory,
                         uint32_t *is_kept)
{
    const struct mdf_lowering_range weigh = {edge->weigh.first, edge->weigh.end};

    keep(is_kept, edge->source);
    return mdf_slot_reads_add(program->code, memory, &weigh, 1, is_kept);
}

static void keep_of_graph(const struct mdf_program *program, uint32_t *is_kept)
{
    size_t i;

    keep(is_kept, MDF_OPERAND(MDF_OPERAND_SLOT, 0)); /* the time increment */
    for (i = 0; i < program->code->n_yields; i++) {
        keep(is_kept, program->code->yields[i]);
    }
    for (i = 0; program->schedule != NULL && i < program->schedule->n_watches; i++) {
        keep(is_kept, program->schedule->watches[i].value);
    }
    for (i = 0; i < program->n_parameters; i++) {
        keep(is_kept, program->parameters[i].slot);
    }
}

uint32_t *mdf_program_kept_slots(const struct mdf_program *program, struct mdf_memory *memory, struct mdf_arena *arena)
{
    uint32_t *is_kept = mdf_arena_array(arena, program->code->n_slots, sizeof *is_kept);
    bool done = is_kept != NULL;
    size_t i;

    if (done) {
        keep_of_graph(program, is_kept);
    }
    for (i = 0; done && i < program->n_nodes; i++) {
        done = keep_of_node(program, &program->nodes[i], memory, is_kept);
    }
    for (i = 0; done && i < program->n_ports; i++) {
        done = keep_of_port(program, &program->ports[i], memory, is_kept);
    }
    for (i = 0; done && i < program->n_edges; i++) {
        done = keep_of_edge(program, &program->edges[i], memory, is_kept);
    }
    return done ? is_kept : NULL;
}
