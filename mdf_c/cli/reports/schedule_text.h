/* schedule_text.h - --schedule: who ran when, as text: a heading for each step, a line for each pass. */
#ifndef MDF_CLI_SCHEDULE_TEXT_H
#define MDF_CLI_SCHEDULE_TEXT_H

#include "mdf_c/base/text.h"

/* Adds the schedule of the last evaluation of `state`, step number `step` (from 0). What could not be added shows in
 * text->failed. */
void write_schedule_text(struct mdf_text *text, const mdf_program *program, const mdf_state *state, uint64_t step);

#endif
