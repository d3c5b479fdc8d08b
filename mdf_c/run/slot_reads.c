/* program_reads.c - which slots of a frame a stretch of instructions reads before it writes them: those that have to be kept. */
#include "mdf_c/source/program_writer.h"

#include <string.h>

/* One stretch while it is gone through. Jumps go forward: what lies between a jump and its target may be jumped over, and what is
 * written there is written for certain only for those who read there. */
struct reading {
    const struct mdf_code *code;
    uint32_t *is_read;     /* of each slot: before it is written for certain */
    size_t *written_until; /* of each slot: it is written for certain for the instructions before this */
    size_t *ends;          /* of the parts that may be jumped over and that the instruction lies in, the innermost last */
    size_t n_ends;
};

static void read_operand(struct reading *reading, size_t at, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT &&
        reading->written_until[MDF_OPERAND_INDEX(operand)] <= at) {
        reading->is_read[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
}

static void write_operand(struct reading *reading, mdf_operand operand)
{
    size_t until = reading->n_ends > 0 ? reading->ends[reading->n_ends - 1] : SIZE_MAX;

    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT &&
        reading->written_until[MDF_OPERAND_INDEX(operand)] < until) {
        reading->written_until[MDF_OPERAND_INDEX(operand)] = until;
    }
}

static void read_captures(struct reading *reading, size_t at, uint32_t body)
{
    const struct mdf_code *code = body == UINT32_MAX ? NULL : reading->code->bodies[body];
    size_t i;

    for (i = 0; code != NULL && i < code->n_captures; i++) {
        read_operand(reading, at, code->captures[i]);
    }
}

static void go_through_call(struct reading *reading, size_t at, const struct mdf_code_call *call)
{
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
        read_operand(reading, at, call->inputs[i]);
    }
    for (i = 0; i < call->n_bodies; i++) {
        read_captures(reading, at, call->bodies[i]);
    }
    for (i = 0; i < call->n_outputs; i++) {
        write_operand(reading, call->outputs[i]);
    }
}

static void go_through(struct reading *reading, size_t at)
{
    const struct mdf_instruction *instruction = &reading->code->instructions[at];

    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        go_through_call(reading, at, &reading->code->calls[instruction->target]);
        return;
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        read_operand(reading, at, instruction->b);
        write_operand(reading, instruction->a);
        return;
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        read_operand(reading, at, instruction->a);
        break;
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        break;
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_YIELD:
        write_operand(reading, instruction->a);
        return;
    case MDF_OPCODE_GRAPH:
        read_captures(reading, at, instruction->target);
        return;
    case MDF_OPCODE_SWAP:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_NEXT:
        read_operand(reading, at, instruction->a);
        read_operand(reading, at, instruction->b);
        read_operand(reading, at, instruction->opcode == MDF_OPCODE_NEXT ? instruction->c : MDF_NO_OPERAND);
        return;
    }
    if (instruction->target > at + 1) {
        reading->ends[reading->n_ends++] = instruction->target;
    }
}

bool mdf_source_find_reads(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n,
                           uint32_t *is_read)
{
    const struct mdf_code *code = program->program->code;
    struct mdf_memory *memory = program->writer.memory;
    struct reading reading = {.code = code, .is_read = is_read};
    size_t i, at;

    reading.written_until = mdf_memory_allocate_zeroed(memory, code->n_slots + 1, sizeof *reading.written_until);
    reading.ends = mdf_memory_allocate_zeroed(memory, code->n_instructions + 1, sizeof *reading.ends);
    for (i = 0; i < n && reading.written_until != NULL && reading.ends != NULL; i++) {
        reading.n_ends = 0;
        for (at = ranges[i].first; at < ranges[i].end; at++) {
            while (reading.n_ends > 0 && reading.ends[reading.n_ends - 1] <= at) {
                reading.n_ends--;
            }
            go_through(&reading, at);
        }
    }
    mdf_memory_release(memory, reading.written_until);
    mdf_memory_release(memory, reading.ends);
    return i == n || mdf_source_out_of_memory(&program->writer);
}
