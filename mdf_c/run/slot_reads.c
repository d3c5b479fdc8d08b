/* slot_reads.c - see slot_reads.h. */
#include "mdf_c/run/slot_reads.h"

#include "mdf_c/code/operands.h"

#include <string.h>

/* What may be jumped over, up to its end. Behind a jump that is always taken stands what is done else. */
struct part {
    size_t end, otherwise; /* where that begins; 0: there is none */
};

/* Stretches while they are gone through. Jumps go forward, but for those to the next item of a list, which is all that is read
 * there: what lies between a jump and its target may be jumped over, and what is written there is written for certain only for
 * those who read there. */
struct mdf_slot_reads {
    const struct mdf_code *code;
    size_t at;             /* the instruction */
    uint32_t *is_read;     /* of each slot: before it is written for certain */
    size_t *written_until; /* of each slot: it is written for certain for the instructions before this */
    struct part *parts;    /* that the instruction lies in, the innermost last */
    size_t n_parts;
};

/* What is done and what is done else overlap in the jump between them: one may end while one that began later goes on. */
static void leave_parts(struct mdf_slot_reads *reads)
{
    size_t n = 0;

    for (size_t i = 0; i < reads->n_parts; i++) {
        if (reads->parts[i].end > reads->at) {
            reads->parts[n++] = reads->parts[i];
        }
    }
    reads->n_parts = n;
}

static bool read_operand(void *context, mdf_operand operand)
{
    const struct mdf_slot_reads *reads = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && reads->written_until[MDF_OPERAND_INDEX(operand)] <= reads->at) {
        reads->is_read[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
    return false;
}

/* A slot that both what is done and what is done else write is written for certain behind them. */
static bool write_operand(void *context, mdf_operand operand)
{
    const struct mdf_slot_reads *reads = context;
    size_t n = reads->n_parts, *until;

    if (MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT) {
        return false;
    }
    until = &reads->written_until[MDF_OPERAND_INDEX(operand)];
    while (n > 0 && reads->parts[n - 1].otherwise != 0 && *until >= reads->parts[n - 1].otherwise) {
        n--;
    }
    if (n == 0) {
        *until = SIZE_MAX;
    } else if (*until < reads->parts[n - 1].end) {
        *until = reads->parts[n - 1].end;
    }
    return false;
}

static void go_through(struct mdf_slot_reads *reads)
{
    const struct mdf_code *code = reads->code;
    const struct mdf_instruction *instruction = &code->instructions[reads->at];

    mdf_any_read(instruction, code->calls, code->bodies, read_operand, reads);
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_SWAP: /* these may leave a slot as it was, or with what it was */
    case MDF_OPCODE_APPEND:
        return;
    case MDF_OPCODE_NEXT: /* what follows is done with an item, or jumped over */
        reads->parts[reads->n_parts++] = (struct part){instruction->target, 0};
        mdf_any_written(instruction, code->calls, write_operand, reads);
        return;
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        if (instruction->target > reads->at + 1) {
            reads->parts[reads->n_parts++] =
                (struct part){instruction->target, instruction->opcode == MDF_OPCODE_JUMP ? reads->at + 1 : 0};
        }
        return;
    default:
        mdf_any_written(instruction, code->calls, write_operand, reads);
    }
}

static bool forget_operand(void *context, mdf_operand operand)
{
    const struct mdf_slot_reads *reads = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        reads->written_until[MDF_OPERAND_INDEX(operand)] = 0;
    }
    return false;
}

/* What is noted of slots that these instructions write does not count for other stretches. */
static void forget_written(struct mdf_slot_reads *reads, const struct mdf_lowering_range *range)
{
    for (size_t at = range->first; at < range->end; at++) {
        mdf_any_written(&reads->code->instructions[at], reads->code->calls, forget_operand, reads);
    }
}

struct mdf_slot_reads *mdf_slot_reads_begin(const struct mdf_code *code, struct mdf_arena *arena, uint32_t *is_read)
{
    struct mdf_slot_reads *reads = mdf_arena_allocate(arena, sizeof *reads);

    if (reads == NULL) {
        return NULL;
    }
    *reads = (struct mdf_slot_reads){.code = code, .is_read = is_read};
    reads->written_until = mdf_arena_array(arena, code->n_slots + 1, sizeof *reads->written_until);
    reads->parts = mdf_arena_array(arena, code->n_instructions + 1, sizeof *reads->parts);
    return reads->written_until != NULL && reads->parts != NULL ? reads : NULL;
}

void mdf_slot_reads_add(struct mdf_slot_reads *reads, const struct mdf_lowering_range ranges[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        reads->n_parts = 0;
        for (reads->at = ranges[i].first; reads->at < ranges[i].end; reads->at++) {
            leave_parts(reads);
            go_through(reads);
        }
    }
    for (size_t i = 0; i < n; i++) {
        forget_written(reads, &ranges[i]);
    }
}

/* ------------------------------------------------------------------ what lasts between evaluations */

static void keep(uint32_t *is_kept, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        is_kept[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
}

/* What can be looked at by name, and what a node reads of an earlier run: its first, a later one, and what begins anew. */
static void keep_of_node(const struct mdf_program_node *node, struct mdf_slot_reads *reads, uint32_t *is_kept)
{
    const struct mdf_lowering_range anew = {node->reset, node->initial};
    const struct mdf_lowering_range first[2] = {{node->first, node->reset}, {node->initial, node->end}};
    const struct mdf_lowering_range later[2] = {{node->first, node->reset}, {node->main, node->end}};

    keep(is_kept, node->finished);
    for (size_t i = 0; i < node->n_outputs; i++) {
        keep(is_kept, node->outputs[i].operand);
    }
    for (size_t kind = 0; kind < MDF_PART_COUNT; kind++) {
        for (size_t i = 0; i < node->parts[kind].n; i++) {
            for (size_t j = 0; j < node->parts[kind].items[i].n_operands; j++) {
                keep(is_kept, node->parts[kind].items[i].operands[j]);
            }
        }
    }
    mdf_slot_reads_add(reads, &anew, 1);
    mdf_slot_reads_add(reads, first, 2);
    mdf_slot_reads_add(reads, later, 2);
}

static void keep_of_port(const struct mdf_program_port *port, struct mdf_slot_reads *reads, uint32_t *is_kept)
{
    const struct mdf_lowering_range combine = {port->combine.first, port->combine.end};

    keep(is_kept, port->slot);
    keep(is_kept, port->source);
    mdf_slot_reads_add(reads, &combine, 1);
}

static void keep_of_edge(const struct mdf_program_edge *edge, struct mdf_slot_reads *reads, uint32_t *is_kept)
{
    const struct mdf_lowering_range weigh = {edge->weigh.first, edge->weigh.end};

    keep(is_kept, edge->source);
    mdf_slot_reads_add(reads, &weigh, 1);
}

static void keep_of_graph(const struct mdf_program *program, uint32_t *is_kept)
{
    keep(is_kept, MDF_OPERAND(MDF_OPERAND_SLOT, 0)); /* the time increment */
    for (size_t i = 0; i < program->code->n_yields; i++) {
        keep(is_kept, program->code->yields[i]);
    }
    for (size_t i = 0; program->schedule != NULL && i < program->schedule->n_watches; i++) {
        keep(is_kept, program->schedule->watches[i].value);
    }
    for (size_t i = 0; i < program->n_parameters; i++) {
        keep(is_kept, program->parameters[i].slot);
    }
}

static void keep_of_program(const struct mdf_program *program, struct mdf_slot_reads *reads, uint32_t *is_kept)
{
    keep_of_graph(program, is_kept);
    for (size_t i = 0; i < program->n_nodes; i++) {
        keep_of_node(&program->nodes[i], reads, is_kept);
    }
    for (size_t i = 0; i < program->n_ports; i++) {
        keep_of_port(&program->ports[i], reads, is_kept);
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        keep_of_edge(&program->edges[i], reads, is_kept);
    }
}

uint32_t *mdf_program_kept_slots(const struct mdf_program *program, struct mdf_arena *arena)
{
    uint32_t *is_kept = mdf_arena_array(arena, program->code->n_slots, sizeof *is_kept);
    struct mdf_slot_reads *reads;
    struct mdf_arena notes;

    mdf_arena_init(&notes, arena->memory);
    reads = is_kept != NULL ? mdf_slot_reads_begin(program->code, &notes, is_kept) : NULL;
    if (reads != NULL) {
        keep_of_program(program, reads, is_kept);
    }
    mdf_arena_release(&notes);
    return reads != NULL ? is_kept : NULL;
}
