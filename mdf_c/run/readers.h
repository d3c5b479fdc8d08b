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
/* Nodes run in these turns: for each slot 1 plus those of the first and of the last node that reads it, or MDF_READ_BY_NOBODY, or
 * for the last MDF_READ_BY_ALL, where the value may be needed at other times too. False: out of memory. */
bool mdf_program_reader_turns(const struct mdf_program *program, const size_t *turns, struct mdf_arena *arena, uint32_t **first,
                              uint32_t **last);

#endif
