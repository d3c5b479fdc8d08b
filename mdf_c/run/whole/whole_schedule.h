/* whole_schedule.h - an evaluation of a graph with conditions as lowered ops: what scheduler.c does with counts and clocks in
 * memory, done with counts and clocks that are scalars. See whole.h, docs/scheduling.md.
 *
 * Each count and clock is a slot past those of the code ("counter"), of which only those exist that a condition looks at. */
#ifndef MDF_RUN_WHOLE_WHOLE_SCHEDULE_H
#define MDF_RUN_WHOLE_WHOLE_SCHEDULE_H

#include "mdf_c/run/state.h"
#include "mdf_c/lower/terms.h"

/* Kinds of counters, as many of each as a program has: of nodes, usables, NWhens, clocks. */
enum mdf_counter {
    MDF_COUNTER_STEPS, /* one: how many evaluations to run in a row */
    MDF_COUNTER_TAKEN, /* one, of a program with a stop: how many there were in a row, in all */
    MDF_COUNTER_COUNTS_IN_PASS,
    MDF_COUNTER_COUNTS_IN_UPDATE,
    MDF_COUNTER_COUNTS_IN_LIFE,
    MDF_COUNTER_MARKS,
    MDF_COUNTER_SPENT,
    MDF_COUNTER_LAST_SETS,
    MDF_COUNTER_N_SETS, /* one */
    MDF_COUNTER_CLOCKS,
    MDF_COUNTER_TIME, /* one */
    MDF_COUNTER_KINDS
};

struct mdf_whole_schedule {
    struct lowering *lowering;
    struct mdf_state *state;
    const struct mdf_program *program;
    const struct mdf_schedule *schedule;
    const bool *is_kept; /* of each slot */
};

size_t mdf_whole_n_counters(const struct mdf_program *program);
mdf_operand mdf_whole_counter(const struct mdf_program *program, enum mdf_counter kind, size_t index);
/* Where the scheduler has it; NULL: it does not outlast an evaluation. */
uint64_t *mdf_whole_home(struct mdf_state *state, enum mdf_counter kind, size_t index);
/* How many counters of a kind there are. */
size_t mdf_whole_n_of(const struct mdf_program *program, enum mdf_counter kind);
/* The value that stands for the first counter of a kind in what is lowered, once something is; NULL: there is none. */
const struct mdf_value *mdf_whole_counter_value(const struct mdf_state *state, enum mdf_counter kind);
/* Marks the counters that a condition looks at. */
void mdf_whole_mark_kept(const struct mdf_program *program, bool *is_kept);

/* The value of a counter. */
mdf_lowered_id mdf_whole_value(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind, size_t index);
/* Gives a counter that is kept a value; others are left alone. */
bool mdf_whole_set(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind, size_t index,
                   mdf_lowered_id value);
/* Adds to a counter that is kept. */
bool mdf_whole_add(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind, size_t index,
                   mdf_lowered_id value);
bool mdf_whole_is_kept(const struct mdf_whole_schedule *whole, enum mdf_counter kind, size_t index);

/* Whether condition number `index` holds, where it is asked (`reached`); an NWhen counts. NONE: it can not be lowered. */
mdf_lowered_id mdf_whole_check(const struct mdf_whole_schedule *whole, struct scope *scope, uint32_t index,
                               mdf_lowered_id reached);
/* Whether what condition `index` says may change when `node` is put into a set, or by being asked. */
bool mdf_whole_depends(const struct mdf_schedule *schedule, uint32_t index, size_t node);
/* Whether a node of a layer that is put into its set changes what one before it, or itself, was asked. */
bool mdf_whole_is_mutual(const struct mdf_schedule *schedule, const struct mdf_program_layer *layer);
/* Whether it looks at runs in the pass, which begin anew with each. */
bool mdf_whole_looks_at_pass(const struct mdf_schedule *schedule, uint32_t index);
/* Whether it looks at more than runs of nodes: at clocks, sets, times, values. */
bool mdf_whole_looks_beyond_runs(const struct mdf_schedule *schedule, uint32_t index);

/* --- whole_nodes.c: a loop around what is lowered of a graph. */
struct repetition mdf_whole_repetition(const struct mdf_state *state);

/* --- whole_passes.c: one evaluation; `mask` NULL, or the array of which nodes ran in each pass. */
bool mdf_whole_lower_passes(const struct mdf_whole_schedule *whole, struct scope *scope, const bool *leaves,
                            mdf_lowered_id *mask);
/* Nodes and, where absolute time runs, layers of a program have a bit each in the mask of a pass. */
enum { MDF_MASK_BITS = 62 };
bool mdf_whole_has_mask(const struct mdf_program *program);

#endif
