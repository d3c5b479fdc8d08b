/* emit.h - machine code for a lowered region. */
#ifndef MDF_LOWER_EMIT_H
#define MDF_LOWER_EMIT_H

#include "mdf_c/lower/lowered.h"

/* Sets lowered->code where the processor and the system are known and every op is covered; else leaves it NULL. The memory of the
 * code is never writable and executable at once. */
void mdf_lowered_emit(struct mdf_lowered *lowered);
/* Gives the memory of the code back. */
void mdf_lowered_unmap(struct mdf_lowered *lowered);

#endif
