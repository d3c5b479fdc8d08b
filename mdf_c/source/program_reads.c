/* program_reads.c - which slots of a frame a stretch of instructions reads before it writes them: those that have to be kept. */
#include "mdf_c/source/program_writer.h"

#include <string.h>

/* One stretch while it is gone through. */
struct reading {
    const struct mdf_code *code;
    uint32_t *is_read;      /* of each slot: before it is written for certain */
    bool *is_written;       /* of each slot: for certain */
    size_t uncertain_until; /* instructions before this may be jumped over */
};

static void read_operand(struct reading *reading, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT &&
        !reading->is_written[MDF_OPERAND_INDEX(operand)]) {
        reading->is_read[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
}

static void write_operand(struct reading *reading, size_t at, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && at >= reading->uncertain_until) {
        reading->is_written[MDF_OPERAND_INDEX(operand)] = MDF_READ_BY_ALL;
    }
}

static void read_captures(struct reading *reading, uint32_t body)
{
    const struct mdf_code *code = body == UINT32_MAX ? NULL : reading->code->bodies[body];
    size_t i;

    for (i = 0; code != NULL && i < code->n_captures; i++) {
        read_operand(reading, code->captures[i]);
    }
}

static void go_through_call(struct reading *reading, size_t at, const struct mdf_code_call *call)
{
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
        read_operand(reading, call->inputs[i]);
    }
    for (i = 0; i < call->n_bodies; i++) {
        read_captures(reading, call->bodies[i]);
    }
    for (i = 0; i < call->n_outputs; i++) {
        write_operand(reading, at, call->outputs[i]);
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
        read_operand(reading, instruction->b);
        write_operand(reading, at, instruction->a);
        return;
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        read_operand(reading, instruction->a);
        break;
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        break;
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_YIELD:
        write_operand(reading, at, instruction->a);
        return;
    case MDF_OPCODE_GRAPH:
        read_captures(reading, instruction->target);
        return;
    case MDF_OPCODE_SWAP:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_NEXT:
        read_operand(reading, instruction->a);
        read_operand(reading, instruction->b);
        read_operand(reading, instruction->opcode == MDF_OPCODE_NEXT ? instruction->c : MDF_NO_OPERAND);
        return;
    }
    if (instruction->target > reading->uncertain_until) {
        reading->uncertain_until = instruction->target;
    }
}

bool mdf_source_find_reads(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n,
                           uint32_t *is_read)
{
    const struct mdf_code *code = program->program->code;
    struct reading reading = {.code = code, .is_read = is_read};
    size_t i, at;

    reading.is_written = mdf_memory_allocate_zeroed(program->writer.memory, code->n_slots, sizeof *reading.is_written);
    if (reading.is_written == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    for (i = 0; i < n; i++) {
        reading.uncertain_until = 0;
        for (at = ranges[i].first; at < ranges[i].end; at++) {
            go_through(&reading, at);
        }
    }
    mdf_memory_release(program->writer.memory, reading.is_written);
    return true;
}
