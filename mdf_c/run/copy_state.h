/* copy_state.h - a state that goes on from where another one is. */
#ifndef MDF_RUN_COPY_STATE_H
#define MDF_RUN_COPY_STATE_H

#include "mdf_c/run/state.h"

/* See mdf_state_copy in mdf.h. Both are of one program. What the source has left out or keeps elsewhere (epilogues, buffer reuse,
 * counters of a whole evaluation) is put in its place first; else it stays as it is. */
mdf_status mdf_state_take_over(struct mdf_state *target, struct mdf_state *source, mdf_error *error);

#endif
