/* spare_states.h - states that were freed, kept by their program for whoever asks for a new one: a state that is made anew for
 * each run costs what a run of one that is kept costs, as its buffers, lowered forms and machine code are there.
 *
 * What waits is of one small program or another: a few states of a few MB each, with neither threads nor what a caller has lent.
 * All functions may be called by several threads at once. */
#ifndef MDF_RUN_SPARE_STATES_H
#define MDF_RUN_SPARE_STATES_H

#include "mdf_c/run/state.h"

/* Takes a state that nobody uses any more. False: it is too large, or not fit to be as new again, and is to be released. */
bool mdf_spare_state_put(struct mdf_state *state);
/* A state as new, which is the caller's; NULL: none waits. */
struct mdf_state *mdf_spare_state_take(const struct mdf_program *program);
/* Releases all that wait, before their program is. */
void mdf_spare_states_release(struct mdf_program *program);

#endif
