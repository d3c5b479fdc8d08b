/* print_program.h - a compiled graph as text: mdf-run --dump code, --dump schedule. The form is that of docs/explain.md. */
#ifndef MDF_PLAN_PRINT_PROGRAM_H
#define MDF_PLAN_PRINT_PROGRAM_H

#include "mdf_c/base/text.h"
#include "mdf_c/plan/program.h"

/* What the model calls each slot of the program's code, "node.part"; made in `arena`. NULL: memory ran out. */
const char **mdf_program_slot_names(const struct mdf_program *program, struct mdf_arena *arena);

/* The instructions of all nodes, edges and bodies. False: memory ran out. */
bool mdf_program_print_code(struct mdf_text *text, const struct mdf_program *program);
/* --- print_schedule.c: layers, and conditions as flat arrays; then those of graphs within nodes. */
bool mdf_program_print_schedule(struct mdf_text *text, const struct mdf_program *program);

#endif
