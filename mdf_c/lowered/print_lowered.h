/* print_lowered.h - the lowered form, and machine code, as text: mdf-run --dump lowered, --dump machine. The form is that of
 * docs/explain.md. It has no addresses: the same model gives the same text in every run. */
#ifndef MDF_LOWERED_PRINT_LOWERED_H
#define MDF_LOWERED_PRINT_LOWERED_H

#include "mdf_c/base/text.h"
#include "mdf_c/lowered/lowered.h"

/* How values of the frame are called. */
struct mdf_lowered_names {
    /* Writes what `value`, which the lowered form takes or gives, is called. */
    void (*write)(const void *context, struct mdf_text *text, const struct mdf_value *value);
    const void *context;
};

void mdf_lowered_print(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_names *names);
/* The nests in it, wherever they are. */
void mdf_lowered_print_nests(struct mdf_text *text, const struct mdf_lowered *lowered);
/* One op, without those in it, without a line's end. */
void mdf_lowered_op_print(struct mdf_text *text, const struct mdf_lowered *lowered, const struct mdf_lowered_op *op);
/* --- print_machine.c: the bytes of each op, with their offsets; addresses of this process as dots. False: memory ran out. */
bool mdf_machine_code_print(struct mdf_text *text, struct mdf_lowered *lowered);

#endif
