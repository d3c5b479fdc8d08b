/* scheduler.h - runs the nodes of a graph with conditions: counts, clocks, and the evaluation of conditions over them.
 * The loop and what lasts from one evaluation to the next: docs/scheduling.md. */
#ifndef MDF_RUN_SCHEDULE_SCHEDULER_H
#define MDF_RUN_SCHEDULE_SCHEDULER_H

#include "mdf_c/plan/program.h"

struct mdf_state;

struct mdf_scheduler {
    uint64_t *counts[MDF_SCOPE_COUNT];  /* runs of each node */
    size_t n_have_run[MDF_SCOPE_COUNT]; /* nodes whose count is not 0 */
    uint64_t *marks;                    /* of each usable: the count of its dependency when its owner ran last */
    uint64_t *spent;                    /* of each NWhen */
    uint64_t *last_sets;                /* of each node the last set it was in, counted from 1; 0: none */
    uint64_t n_sets;                    /* in all evaluations */
    uint64_t clocks[MDF_CLOCK_COUNT];
    int64_t time;     /* ticks */
    bool *in_set;     /* nodes of the set that is being made */
    uint64_t n_idle;  /* passes in a row that left everything as it was */
    bool has_changed; /* this pass has */
};

/* Arrays lie in `arena`. False: out of memory. */
bool mdf_scheduler_init(struct mdf_scheduler *scheduler, const struct mdf_program *program, struct mdf_arena *arena);
/* Back to how it was before the first evaluation. */
void mdf_scheduler_clear(struct mdf_scheduler *scheduler, const struct mdf_program *program);
/* To where another one of the same program is, between two evaluations. */
void mdf_scheduler_copy(struct mdf_scheduler *target, const struct mdf_scheduler *source, const struct mdf_program *program);
/* One evaluation. False: the error of the state's context is set. */
bool mdf_scheduler_run(struct mdf_scheduler *scheduler, struct mdf_state *state);

#endif
