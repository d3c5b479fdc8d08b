/* slot_reads.h - which slots of a frame have to be kept: those that are read before they are written. */
#ifndef MDF_RUN_SLOT_READS_H
#define MDF_RUN_SLOT_READS_H

#include "mdf_c/lower/lower.h"
#include "mdf_c/plan/program.h"

/* What notes MDF_READ_BY_ALL in `is_read` for slots that are read before they are written. NULL: out of memory. */
struct mdf_slot_reads *mdf_slot_reads_begin(const struct mdf_code *code, struct mdf_arena *arena, uint32_t *is_read);
/* Notes those of `n` stretches of instructions, run one after the other. */
void mdf_slot_reads_add(struct mdf_slot_reads *reads, const struct mdf_lowering_range ranges[], size_t n);
/* For each slot of a program's frame MDF_READ_BY_ALL where its value between two evaluations may matter: to a later one, or to
 * who looks at a value by name. Others may hold views of what is no longer there. NULL: out of memory. */
uint32_t *mdf_program_kept_slots(const struct mdf_program *program, struct mdf_arena *arena);

#endif
