/* sweep_lanes.h - instances of a sweep side by side (mdf_c/lower/lanes): what one thread needs for it. docs/sweeps.md says when.
 *
 * The first instance that a thread evaluates shows what its first evaluations are, and all later ones; from then on as many
 * instances as there are lanes are evaluated at once. Where something comes up for one of them that lanes do not cover, the
 * instance is evaluated once more by itself. */
#ifndef MDF_RUN_SWEEP_SWEEP_LANES_H
#define MDF_RUN_SWEEP_SWEEP_LANES_H

#include "mdf_c/run/sweep/sweep.h"

enum { MDF_SWEEP_MOST_LANES = 64 };

struct mdf_sweep_lanes;

/* Lanes do not know when an instance stops, nor add it to what is told of many. */
bool mdf_sweep_may_have_lanes(const struct mdf_sweep *sweep);
/* How many lanes a sweep has; 1: it has none. */
size_t mdf_sweep_count_lanes(const struct mdf_sweep *sweep);
/* NULL: memory is refused. */
struct mdf_sweep_lanes *mdf_sweep_lanes_new(const struct mdf_sweep *sweep, struct mdf_state *state);
void mdf_sweep_lanes_release(struct mdf_sweep_lanes *lanes);
/* Evaluates one instance by itself, and finds out how to evaluate others side by side. */
mdf_status mdf_sweep_lanes_learn(struct mdf_sweep_lanes *lanes, size_t number, const struct mdf_sweep_target *target,
                                 mdf_error *error);
/* Whether it has been found out; else why it can not be done. */
bool mdf_sweep_lanes_are_ready(const struct mdf_sweep_lanes *lanes, struct mdf_refusal *refusal);
/* Evaluates `n` instances from number `first` on, no more than there are lanes. is_done[i]: that instance is done; else it has to
 * be evaluated by itself. */
void mdf_sweep_lanes_run(struct mdf_sweep_lanes *lanes, size_t first, size_t n, void *const *arrays, bool *is_done);

#endif
