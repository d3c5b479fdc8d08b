/* readers.c - see readers.h. */
#include "mdf_c/run/readers.h"

#include "mdf_c/code/operands.h"

struct readers {
    uint32_t *of_slot;
    uint32_t *
        first; /* NULL: one reader of a slot is noted; else the first and the last turn, of calls that need the value then only */
    uint32_t reader; /* of what is gone through */
};

static void note(struct readers *readers, mdf_operand operand)
{
    uint32_t *reader;

    if (operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT) {
        return;
    }
    reader = &readers->of_slot[MDF_OPERAND_INDEX(operand)];
    if (readers->first != NULL) {
        uint32_t *first = &readers->first[MDF_OPERAND_INDEX(operand)];

        *first = *first != MDF_READ_BY_NOBODY && *first < readers->reader ? *first : readers->reader;
        *reader = *reader > readers->reader ? *reader : readers->reader;
        return;
    }
    *reader = *reader == MDF_READ_BY_NOBODY || *reader == readers->reader ? readers->reader : MDF_READ_BY_ALL;
}

static void note_operands(struct readers *readers, const mdf_operand *operands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        note(readers, operands[i]);
    }
}

/* Other instructions than calls, and bodies, may hand a value on without copying it. */
static void note_keeper(struct readers *readers)
{
    readers->reader = readers->first != NULL ? MDF_READ_BY_ALL : readers->reader;
}

static void note_body(struct readers *readers, const struct mdf_code *body)
{
    note_keeper(readers);
    note_operands(readers, body->captures, body->n_captures);
}

static bool note_read(void *context, mdf_operand operand)
{
    note(context, operand);
    return false;
}

static void note_call(struct readers *readers, const struct mdf_code *code, const struct mdf_code_call *call)
{
    note_operands(readers, call->inputs, call->n_inputs);
    for (size_t i = 0; i < call->n_bodies; i++) {
        if (call->bodies[i] != UINT32_MAX) {
            note_body(readers, code->bodies[call->bodies[i]]);
        }
    }
}

static void note_instruction(struct readers *readers, const struct mdf_code *code, const struct mdf_instruction *instruction)
{
    if (instruction->opcode == MDF_OPCODE_CALL) {
        note_call(readers, code, &code->calls[instruction->target]);
        return;
    }
    note_keeper(readers);
    mdf_any_read(instruction, code->calls, code->bodies, note_read, readers);
}

/* What can be looked at by name. */
static void note_node(struct readers *readers, const struct mdf_program_node *node)
{
    note(readers, node->finished);
    for (size_t i = 0; i < node->n_outputs; i++) {
        note(readers, node->outputs[i].operand);
    }
    for (size_t kind = 0; kind < MDF_PART_COUNT; kind++) {
        for (size_t i = 0; i < node->parts[kind].n; i++) {
            note_operands(readers, node->parts[kind].items[i].operands, node->parts[kind].items[i].n_operands);
        }
    }
}

/* All but the instructions of nodes: ports, edges, conditions, results, bodies that hand a value on. */
static void note_program(struct readers *readers, const struct mdf_program *program)
{
    readers->reader = MDF_READ_BY_ALL;
    note_operands(readers, program->code->yields, program->code->n_yields);
    for (size_t i = 0; i < program->n_ports; i++) {
        note(readers, program->ports[i].slot);
        note(readers, program->ports[i].default_value);
        note(readers, program->ports[i].arriving);
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        note(readers, program->edges[i].source);
        note(readers, program->edges[i].value);
    }
    if (program->stop.n_ports > 0) {
        note(readers, program->stop.value);
    }
    for (size_t i = 0; program->schedule != NULL && i < program->schedule->n_watches; i++) {
        note(readers, program->schedule->watches[i].value);
        note(readers, program->schedule->watches[i].initial_value);
    }
    if (program->solver.takes_own_steps) {
        note(readers, program->solver.behind);
    }
}

/* ------------------------------------------------------------------ with and without a time increment */

/* Instructions of a node, one of whose sides an evaluation goes through: with a time increment or without. */
struct sides {
    struct readers *readers;
    bool *is_made; /* of each slot: the node has written it before, by the same evaluation */
};

static bool note_kept(void *context, mdf_operand operand)
{
    const struct sides *sides = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && !sides->is_made[MDF_OPERAND_INDEX(operand)]) {
        note(sides->readers, operand);
    }
    return false;
}

static bool note_made(void *context, mdf_operand operand)
{
    const struct sides *sides = context;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        sides->is_made[MDF_OPERAND_INDEX(operand)] = true;
    }
    return false;
}

/* What one of both sides reads of the evaluation before is kept by that, whichever side that went through, and whether or not
 * anything that it went through reads it. */
static void note_sides(struct sides *sides, const struct mdf_code *code, size_t first, size_t end)
{
    size_t end_of_side = first;

    for (size_t i = first; i < end; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];

        if (i < end_of_side) {
            mdf_any_read(instruction, code->calls, code->bodies, note_kept, sides);
        }
        mdf_any_written(instruction, code->calls, note_made, sides);
        if (instruction->opcode == MDF_OPCODE_JUMP_WITHOUT_DT ||
            (instruction->opcode == MDF_OPCODE_JUMP && i + 1 == end_of_side)) { /* to the other side, or behind it */
            end_of_side = instruction->target > end_of_side ? instruction->target : end_of_side;
        }
    }
}

static bool note_all_sides(struct readers *readers, const struct mdf_program *program, struct mdf_arena *arena)
{
    struct sides sides = {readers, mdf_arena_array(arena, program->code->n_slots, sizeof *sides.is_made)};

    readers->reader = MDF_READ_BY_ALL;
    for (size_t i = 0; sides.is_made != NULL && i < program->n_nodes; i++) {
        note_sides(&sides, program->code, program->nodes[i].main, program->nodes[i].end);
    }
    return sides.is_made != NULL;
}

static bool find_readers(const struct mdf_program *program, struct mdf_arena *arena, struct readers *readers, const size_t *turns,
                         bool by_name)
{
    const struct mdf_code *code = program->code;
    uint32_t *owner = mdf_arena_array(arena, code->n_instructions, sizeof *owner); /* the reader that each instruction is */

    readers->of_slot = mdf_arena_array(arena, code->n_slots, sizeof *readers->of_slot);
    if (readers->of_slot == NULL || owner == NULL) {
        return false;
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t j = program->nodes[i].first; j < program->nodes[i].end; j++) {
            owner[j] = (uint32_t)(turns == NULL ? i : turns[i]) + 1;
        }
    }
    readers->reader = MDF_READ_BY_ALL;
    note_program(readers, program);
    for (size_t i = 0; by_name && i < program->n_nodes; i++) {
        note_node(readers, &program->nodes[i]);
    }
    for (size_t i = 0; i < code->n_instructions; i++) {
        readers->reader = owner[i] != 0 ? owner[i] : MDF_READ_BY_ALL;
        note_instruction(readers, code, &code->instructions[i]);
    }
    return note_all_sides(readers, program, arena);
}

uint32_t *mdf_program_readers(const struct mdf_program *program, struct mdf_arena *arena)
{
    struct readers readers = {0};

    return find_readers(program, arena, &readers, NULL, true) ? readers.of_slot : NULL;
}

uint32_t *mdf_program_inner_readers(const struct mdf_program *program, struct mdf_arena *arena)
{
    struct readers readers = {0};

    return find_readers(program, arena, &readers, NULL, false) ? readers.of_slot : NULL;
}

bool mdf_program_reader_turns(const struct mdf_program *program, const size_t *turns, struct mdf_arena *arena, uint32_t **first,
                              uint32_t **last)
{
    struct readers readers = {.first = mdf_arena_array(arena, program->code->n_slots, sizeof(uint32_t))};

    if (readers.first == NULL || !find_readers(program, arena, &readers, turns, false)) {
        return false;
    }
    *first = readers.first;
    *last = readers.of_slot;
    return true;
}
