/* print_code.h - instructions as text: mdf-run --dump code. The form is that of docs/explain.md. */
#ifndef MDF_CODE_PRINT_CODE_H
#define MDF_CODE_PRINT_CODE_H

#include "mdf_c/base/text.h"
#include "mdf_c/code/code.h"

/* Of a unit. */
struct mdf_code_names {
    const struct mdf_code *code;
    const char *const *slots; /* what the model calls each slot; NULL: nothing. NULL: none has a name */
};

/* "%3 'a'" for a slot, "#1" for a constant, "^0" for a captured value, "-" for none. */
void mdf_operand_print(struct mdf_text *text, const struct mdf_code_names *names, mdf_operand operand);
/* Instructions [first, end), a line each, `indent` spaces from the left. */
void mdf_instructions_print(struct mdf_text *text, const struct mdf_code_names *names, size_t first, size_t end, int indent);
/* Constants and captures, a line each. */
void mdf_code_print_values(struct mdf_text *text, const struct mdf_code_names *names, int indent);
/* All of a body, and of the bodies in it. */
void mdf_body_print(struct mdf_text *text, const struct mdf_code *code, size_t number, int indent);

#endif
