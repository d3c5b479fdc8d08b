/* run_ahead.h - which nodes of a scheduled graph run, and in which order, in all evaluations: told when it is compiled, where
 * that hangs on counts, passes and times alone and not on values. Found are the sets of the scheduler
 * (mdf_c/run/schedule/scheduler.c), those of graphs within nodes within them, and what repeats among them. */
#ifndef MDF_PLAN_GRADIENT_RUN_AHEAD_H
#define MDF_PLAN_GRADIENT_RUN_AHEAD_H

#include "mdf_c/plan/traced/trace.h"

struct ahead_sequence;

/* A node that runs. */
struct ahead_run {
    size_t node;
    bool is_first, resets;              /* it is its first run of all; initial values of each evaluation are set */
    bool has_read;                      /* it has run before in this evaluation */
    const bool *brings;                 /* of each of its edges: there is something to bring */
    const struct ahead_sequence *inner; /* of a node with a graph: what runs in that; NULL: nothing */
};

/* Nodes that run one after the other, all of which may take what edges bring before. */
struct ahead_set {
    bool has_dt, takes_first;
    const struct ahead_run *runs;
    size_t n_runs;
};

/* One of the two: a set; a sequence, several times. */
struct ahead_item {
    const struct ahead_set *set;
    const struct ahead_sequence *block;
    uint64_t times;
};

struct ahead_sequence {
    const struct ahead_item *const *items;
    size_t n;
};

/* Whether nodes of the graphs do not simply run once each, one after the other. */
bool ahead_is_needed(const struct tracer *tracer);
/* All that runs in the evaluations of a request. In a sequence that is repeated each node has run twice before, so that what it
 * holds has the types of all later runs. `has_run`: of each node of the outermost graph, whether it ran. NULL: the error is set.
 */
const struct ahead_sequence *ahead_find(struct tracer *tracer, const struct mdf_gradient_request *request, const bool **has_run);

#endif
