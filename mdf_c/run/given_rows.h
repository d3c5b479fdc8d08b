/* given_rows.h - many evaluations in a row whose inputs somebody gives step by step, as mdf_set_input does: put into arrays, which a
 * loop over them goes through. See whole_series.c. */
#ifndef MDF_RUN_GIVEN_ROWS_H
#define MDF_RUN_GIVEN_ROWS_H

#include "mdf_c/run/state.h"

struct mdf_given_steps {
    double dt;
    uint64_t first, n_steps; /* [first, n_steps), of which the last is not run */
    bool (*give)(void *context, struct mdf_state *state, uint64_t step); /* false: it can not, or not yet; nothing is said */
    void *context;
};

/* How many were done: nobody looks at them, and another must follow. 0: they are to be run one by one. */
uint64_t mdf_state_skip_given(struct mdf_state *state, const struct mdf_given_steps *steps);

#endif
