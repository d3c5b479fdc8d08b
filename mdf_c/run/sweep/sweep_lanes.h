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

/* Where lanes get instances from, and what becomes of them. */
struct mdf_sweep_feed {
    void *context;
    /* Up to `most` instances that nobody has begun: the number of the first, and how many. */
    size_t (*take)(void *context, size_t most, size_t *first);
    /* An instance has been evaluated, its rows are in the target; or, NULL, it has to be evaluated by itself. */
    void (*finish)(void *context, size_t number, const struct mdf_sweep_target *target);
};

/* How many lanes a sweep has; 1: it has none. */
size_t mdf_sweep_count_lanes(const struct mdf_sweep *sweep);
/* NULL: memory is refused. `arrays` are the caller's, NULL: rows are told to the feed only. */
struct mdf_sweep_lanes *mdf_sweep_lanes_new(struct mdf_sweep *sweep, struct mdf_state *state, void *const *arrays);
void mdf_sweep_lanes_release(struct mdf_sweep_lanes *lanes);
/* Asked of each instance that goes by itself: whether it is to be looked at, as none has been, or all ended too early. */
bool mdf_sweep_lanes_want_to_learn(struct mdf_sweep_lanes *lanes);
/* Evaluates one instance by itself, and finds out how to evaluate others side by side. */
mdf_status mdf_sweep_lanes_learn(struct mdf_sweep_lanes *lanes, size_t number, const struct mdf_sweep_target *target,
                                 mdf_error *error);
/* Whether it has been found out; else why it can not be done. */
bool mdf_sweep_lanes_are_ready(const struct mdf_sweep_lanes *lanes, struct mdf_refusal *refusal);
/* The forms for all lanes, of the evaluations of each kind, 0 to 3: the first, the second, later ones, many in a row. NULL: none. */
struct mdf_lowered *mdf_sweep_lanes_form(const struct mdf_sweep_lanes *lanes, size_t kind);
/* The slot of the frame that what such a form takes or gives stands for; NULL: none. */
const struct mdf_value *mdf_sweep_lanes_slot(const struct mdf_sweep_lanes *lanes, const struct mdf_value *value);
/* Evaluates instances until the feed has no more, or too many of them have something that lanes do not cover. */
void mdf_sweep_lanes_run(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed);

#endif
