/* operands.h - what an instruction reads, and what it writes: for all that follows values through code. */
#ifndef MDF_CODE_OPERANDS_H
#define MDF_CODE_OPERANDS_H

#include "mdf_c/code/code.h"

/* Returns true where that is enough. */
typedef bool mdf_operand_visitor(void *context, mdf_operand operand);

/* Calls `visit` with each operand that an instruction reads (what the bodies that it runs capture, too), until it returns true;
 * whether it did. `calls` and `bodies` are those of the instruction's unit. */
bool mdf_any_read(const struct mdf_instruction *instruction, const struct mdf_code_call *calls, struct mdf_code *const *bodies,
                  mdf_operand_visitor *visit, void *context);
/* The same with each slot that it writes. */
bool mdf_any_written(const struct mdf_instruction *instruction, const struct mdf_code_call *calls, mdf_operand_visitor *visit,
                     void *context);

/* Whether it does nothing but hand on what `b` is, as it is or as an array, to `a`. */
static inline bool mdf_hands_on(const struct mdf_instruction *instruction)
{
    return instruction->opcode == MDF_OPCODE_COPY || instruction->opcode == MDF_OPCODE_BORROW ||
           instruction->opcode == MDF_OPCODE_ARRAY;
}

#endif
