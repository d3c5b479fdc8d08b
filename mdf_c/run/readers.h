/* readers.h - who looks at the slots of a program's frame. */
#ifndef MDF_RUN_READERS_H
#define MDF_RUN_READERS_H

#include "mdf_c/lower/lower.h"
#include "mdf_c/plan/program.h"

/* For each slot of the program's code MDF_READ_BY_NOBODY, MDF_READ_BY_ALL, or, where only instructions of one node read it, the
 * number of that node plus 1. NULL: out of memory. */
uint32_t *mdf_program_readers(const struct mdf_program *program, struct mdf_arena *arena);
/* The same for the program itself: what it looks at by name only is MDF_READ_BY_NOBODY. */
uint32_t *mdf_program_inner_readers(const struct mdf_program *program, struct mdf_arena *arena);

#endif
