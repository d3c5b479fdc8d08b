/* print_code.c - see print_code.h. */
#include "mdf_c/code/print_code.h"

#include "mdf_c/tensor/print_value.h"

#include <string.h>

enum { STEP = 2 };

static const char *opcode_name(enum mdf_opcode opcode)
{
    switch (opcode) {
    case MDF_OPCODE_CALL:
        return "call";
    case MDF_OPCODE_COPY:
        return "copy";
    case MDF_OPCODE_BORROW:
        return "borrow";
    case MDF_OPCODE_ARRAY:
        return "array";
    case MDF_OPCODE_DECLARE:
        return "declare";
    case MDF_OPCODE_SWAP:
        return "swap";
    case MDF_OPCODE_JUMP:
        return "jump";
    case MDF_OPCODE_JUMP_IF:
        return "jump if";
    case MDF_OPCODE_JUMP_UNLESS:
        return "jump unless";
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        return "jump without dt";
    case MDF_OPCODE_LIST:
        return "list";
    case MDF_OPCODE_APPEND:
        return "append";
    case MDF_OPCODE_NEXT:
        return "next";
    case MDF_OPCODE_GRAPH:
        return "graph";
    case MDF_OPCODE_YIELD:
        return "yield";
    }
    return "";
}

void mdf_operand_print(struct mdf_text *text, const struct mdf_code_names *names, mdf_operand operand)
{
    static const char marks[] = {[MDF_OPERAND_SLOT] = '%', [MDF_OPERAND_CONSTANT] = '#', [MDF_OPERAND_CAPTURE] = '^'};
    uint32_t index = MDF_OPERAND_INDEX(operand);

    if (operand == MDF_NO_OPERAND) {
        mdf_text_append_string(text, "-");
        return;
    }
    mdf_text_printf(text, "%c%u", marks[MDF_OPERAND_KIND(operand)], (unsigned)index);
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && names->slots != NULL && names->slots[index] != NULL) {
        mdf_text_append_string(text, " '");
        mdf_text_append_visible(text, names->slots[index]);
        mdf_text_append_string(text, "'");
    }
}

static void print_operands(struct mdf_text *text, const struct mdf_code_names *names, const mdf_operand *operands, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        mdf_operand_print(text, names, operands[i]);
    }
}

static void print_call(struct mdf_text *text, const struct mdf_code_names *names, const struct mdf_code_call *call)
{
    mdf_text_printf(text, " %s(", call->operator->name);
    print_operands(text, names, call->inputs, call->n_inputs);
    mdf_text_append_string(text, ") -> ");
    print_operands(text, names, call->outputs, call->n_outputs);
    for (size_t i = 0; i < call->n_bodies; i++) {
        if (call->bodies[i] != UINT32_MAX) {
            mdf_text_printf(text, "%s %u", i == 0 ? ", body" : ",", (unsigned)call->bodies[i]);
        }
    }
}

static void print_target(struct mdf_text *text, const struct mdf_code_names *names, const struct mdf_instruction *instruction)
{
    mdf_text_append_string(text, " ");
    mdf_operand_print(text, names, instruction->a);
    mdf_text_append_string(text, " = ");
    mdf_operand_print(text, names, instruction->b);
}

static void print_declaration(struct mdf_text *text, const struct mdf_declared_type *type)
{
    mdf_text_printf(text, " as %s%s%s%s", type->map ? "map of " : "", type->sequence ? "sequence of " : "",
                    mdf_dtype_name(type->dtype), type->exact ? "" : " (not exactly)");
}

static void print_instruction(struct mdf_text *text, const struct mdf_code_names *names,
                              const struct mdf_instruction *instruction)
{
    mdf_text_append_string(text, opcode_name((enum mdf_opcode)instruction->opcode));
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        print_call(text, names, &names->code->calls[instruction->target]);
        break;
    case MDF_OPCODE_DECLARE:
        print_target(text, names, instruction);
        print_declaration(text, &names->code->declarations[instruction->c]);
        break;
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_APPEND:
        print_target(text, names, instruction);
        break;
    case MDF_OPCODE_SWAP:
        mdf_text_append_string(text, " ");
        print_operands(text, names, (mdf_operand[]){instruction->a, instruction->b}, 2);
        break;
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        mdf_text_printf(text, " to %u", (unsigned)instruction->target);
        break;
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        mdf_text_append_string(text, " ");
        mdf_operand_print(text, names, instruction->a);
        mdf_text_printf(text, " to %u", (unsigned)instruction->target);
        break;
    case MDF_OPCODE_LIST:
        mdf_text_append_string(text, " ");
        mdf_operand_print(text, names, instruction->a);
        break;
    case MDF_OPCODE_NEXT:
        print_target(text, names, instruction);
        mdf_text_append_string(text, " by ");
        mdf_operand_print(text, names, instruction->c);
        mdf_text_printf(text, ", past the last to %u", (unsigned)instruction->target);
        break;
    case MDF_OPCODE_GRAPH:
        mdf_text_printf(text, " of body %u", (unsigned)instruction->target);
        break;
    case MDF_OPCODE_YIELD:
        mdf_text_append_string(text, " ");
        mdf_operand_print(text, names, instruction->a);
        mdf_text_printf(text, " = number %u of body %u", (unsigned)instruction->c, (unsigned)instruction->target);
        break;
    }
}

void mdf_instructions_print(struct mdf_text *text, const struct mdf_code_names *names, size_t first, size_t end, int indent)
{
    const char *path = NULL;

    for (size_t i = first; i < end; i++) {
        const struct mdf_instruction *instruction = &names->code->instructions[i];
        const char *own = names->code->origins[instruction->origin].path;

        if (own != NULL && (path == NULL || strcmp(own, path) != 0)) {
            mdf_text_printf(text, "%*s; ", indent, "");
            mdf_text_append_visible(text, own);
            mdf_text_append_string(text, "\n");
        }
        path = own;
        mdf_text_printf(text, "%*s%4zu  ", indent, "", i);
        print_instruction(text, names, instruction);
        mdf_text_append_string(text, "\n");
    }
}

void mdf_code_print_values(struct mdf_text *text, const struct mdf_code_names *names, int indent)
{
    for (size_t i = 0; i < names->code->n_constants; i++) {
        mdf_text_printf(text, "%*s#%zu  ", indent, "", i);
        mdf_value_print(text, &names->code->constants[i]);
        mdf_text_append_string(text, "\n");
    }
    for (size_t i = 0; i < names->code->n_captures; i++) {
        mdf_text_printf(text, "%*s^%zu  is ", indent, "", i);
        mdf_operand_print(text, &(struct mdf_code_names){names->code, NULL}, names->code->captures[i]);
        mdf_text_append_string(text, " of the code around\n");
    }
}

void mdf_body_print(struct mdf_text *text, const struct mdf_code *code, size_t number, int indent)
{
    struct mdf_code_names names = {code, NULL};

    mdf_text_printf(text, "%*sbody %zu: takes ", indent, "", number);
    print_operands(text, &names, code->formals, code->n_formals);
    mdf_text_append_string(text, code->n_formals == 0 ? "nothing, yields " : ", yields ");
    print_operands(text, &names, code->yields, code->n_yields);
    mdf_text_append_string(text, code->program != NULL ? "; a graph within a node\n" : "\n");
    mdf_code_print_values(text, &names, indent + STEP);
    mdf_instructions_print(text, &names, 0, code->n_instructions, indent + STEP);
    for (size_t i = 0; i < code->n_bodies; i++) {
        mdf_body_print(text, code->bodies[i], i, indent + STEP);
    }
}
