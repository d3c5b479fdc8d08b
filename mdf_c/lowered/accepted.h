/* accepted.h - states that are accepted: what a run of a loop makes of a state, or the state as it was, by a test. */
#ifndef MDF_LOWERED_ACCEPTED_H
#define MDF_LOWERED_ACCEPTED_H

#include "mdf_c/lowered/lowered.h"

/* Whether an op of a loop's own region is a SELECT of what a state is next, or an element that is put into it, as it was or as
 * something else, by a condition that is made of a state by way of a function that takes long. By a jump, what goes on from the
 * state does not wait for the function, if a processor foresees it now and then. `loop` may be NULL. */
bool mdf_lowered_is_accepted_late(const struct mdf_lowered_loop *loop, const struct mdf_lowered_op *op);
#endif
