/* whole.h - a whole evaluation of a graph as one lowered program, and several evaluations in a row as a loop of it.
 *
 * Once a graph has been evaluated some times, so that types and shapes are stable, the instructions of all its nodes are
 * lowered together, in the order in which an evaluation runs them: values go from node to node in registers, and nothing is
 * looked at between two nodes. Where that can not be done, or the program bails out, the evaluation runs node by node (state.c).
 */
#ifndef MDF_RUN_WHOLE_WHOLE_H
#define MDF_RUN_WHOLE_WHOLE_H

#include "mdf_c/lower/fast.h"
#include "mdf_c/plan/program.h"

struct mdf_named_port;
struct mdf_state;
struct mdf_steps;
struct mdf_whole_series;

/* One evaluation; or as many as n_steps says. */
struct mdf_whole_program {
    struct mdf_fast fast;
    struct mdf_lowering_request request;
    mdf_lowered_id mask; /* with conditions: the array of which nodes ran in each pass */
};

struct mdf_whole {
    struct mdf_whole_program single, many;
    unsigned n_runs; /* evaluations node by node, up to the number at which it is lowered; where nothing is left for later ones
                      * (mdf_program_leaves_nothing), those of earlier lives count too */
    uint64_t fewest_in_series; /* steps: lowering takes as long as so many of them save */
    struct mdf_whole_series
        *series;     /* many with inputs that change, or values that are written down: whole_series.c; NULL: none */
    bool was_large;  /* in the life before */
    bool *is_behind; /* of each slot: what a loop yields, or is made of that; NULL: not looked for yet */
    int64_t n_steps, n_taken;
    bool is_made;                    /* all that follows, but for the forms */
    struct mdf_lowering_room *rooms; /* of the graph and of those within its nodes */
    size_t n_rooms, n_slots;         /* slots of all of them, with their counters: see whole_schedule.h */
    bool is_away;                    /* counts and clocks are in the counters, not with the schedulers */
    uint32_t *readers;               /* of each slot of all rooms, as in readers.h; counters have none */
    const bool *leaves;              /* of each slot: it is to be there behind the evaluation that is being lowered */
    bool *is_written;                /* of each slot: an evaluation may write it */
    bool *is_left;                   /* of each slot: conditions look at it */
    bool *is_observed;               /* of each slot: anybody does, or conditions do */
    /* For evaluations in a row: slots that nothing but the outside looks at, and which are the same as another, their alias,
     * after each run of their node, are set behind the last evaluation. */
    uint32_t *inner_readers;
    mdf_operand *aliases; /* of each slot; MDF_NO_OPERAND: none */
    bool *has_alias;
    bool *is_kept; /* of each slot: it is set behind the last of them, by its alias or as the next evaluation may run nothing */
    bool may_be_idle; /* an evaluation of what is being lowered may be over before anything has run: it bails out */
    bool have_all_run;
    unsigned n_changes; /* times that it was lowered anew, as other ports of nodes with graphs were given something */
    /* Of each slot: stacks of loops that only other loops go through, in one with them, are not there after an evaluation, unless
     * somebody has asked for one. */
    bool *may_go, *is_gone;
    bool has_gone;                   /* those of the last evaluation are not there */
    enum mdf_refusal_reason refused; /* why the last evaluation was not done as a whole, without asking for that; else NOT */
};

/* Arrays lie in `arena`. NULL: out of memory. */
struct mdf_whole *mdf_whole_new(struct mdf_arena *arena);
void mdf_whole_release(struct mdf_state *state);
enum mdf_whole_outcome {
    MDF_WHOLE_DONE,
    MDF_WHOLE_NOT_RUN, /* nothing has changed; it must run node by node */
    MDF_WHOLE_FAILED   /* the error of the state's context is set */
};

/* One evaluation, whose inputs have been taken. */
enum mdf_whole_outcome mdf_whole_run(struct mdf_state *state);
/* Up to n_steps evaluations in a row like the one before, of which nobody looks at the values: only what the next evaluation
 * needs is there afterwards, so one must follow. The number that was done. Of a program with a stop all is there afterwards, and
 * the one that was the last wanted is the last done. */
uint64_t mdf_whole_skip(struct mdf_state *state, uint64_t n_steps);
/* The same where inputs change, or values are written down, from step `first` of the steps on: as many as are done at once, or
 * none. `ports`: of each input the first that is named so. */
uint64_t mdf_whole_skip_series(struct mdf_state *state, const struct mdf_steps *steps, const struct mdf_named_port *const *ports,
                               uint64_t first);
/* Whether so many such steps are worth the form that they need. */
bool mdf_whole_series_pays(const struct mdf_state *state, uint64_t n_steps);
/* Whether the state may be taken from one evaluation to another that is far behind by a form: it has been evaluated whole. */
bool mdf_whole_may_skip(const struct mdf_state *state);
/* The form of that; NULL: there has been none. */
struct mdf_fast *mdf_whole_series_form(const struct mdf_whole *whole);
/* Lets it go; it is lowered anew. */
void mdf_whole_forget_series(struct mdf_whole *whole);
/* Makes what is gone again, in order to look at an output of a node, or at any of its values (output SIZE_MAX); from then on all
 * is kept. False: memory ran out. */
bool mdf_whole_materialise(const struct mdf_state *state, size_t node, size_t output);
/* All nodes have run in another way. */
void mdf_whole_forget(struct mdf_state *state);
/* The scheduler has its counts and clocks again. */
void mdf_whole_write_back(struct mdf_state *state);
/* The graph begins anew. */
void mdf_whole_renew(struct mdf_state *state);
/* Whether a new life of the state begins where this one ends: its first evaluation may run as one program. */
bool mdf_whole_goes_on(const struct mdf_state *state);

/* An evaluation of a graph without conditions: the first one of a life, the second, a later one, many that nobody looks at. Of
 * any graph: many of which the last is looked at. */
enum mdf_whole_part { MDF_WHOLE_FIRST, MDF_WHOLE_SECOND, MDF_WHOLE_SINGLE, MDF_WHOLE_MANY, MDF_WHOLE_MANY_SEEN };
/* The evaluation that comes next, whose inputs have been taken, lowered; it runs in the state's memory, who has it releases it.
 * Of the first two all that they write is left. NULL: *refusal says why not. */
struct mdf_lowered *mdf_whole_lower(struct mdf_state *state, enum mdf_whole_part part, struct mdf_refusal *refusal);

/* --- whole_rooms.c: graphs within nodes. */
/* What a node brings to a port of the graph within it: nothing, a value at the begin of a run of that graph, or in each run of
 * the inner node. */
enum mdf_node_brings { MDF_NODE_BRINGS_NOTHING, MDF_NODE_BRINGS_ONCE, MDF_NODE_BRINGS_IN_EACH_RUN };
/* Makes the rooms. False: out of memory. */
bool mdf_whole_make_rooms(struct mdf_state *state);
struct mdf_state *mdf_whole_graph(const struct mdf_lowering_room *room);
/* Whether any graph has conditions. */
bool mdf_whole_counts(const struct mdf_state *state);
/* Of all graphs, also before there are rooms: whether each node has run, how many nodes there are, which of them have run. */
bool mdf_whole_have_all_run(const struct mdf_state *state);
size_t mdf_whole_n_nodes(const struct mdf_state *state);
void mdf_whole_note_have_run(const struct mdf_state *state, bool *have_run);
/* Whether an evaluation, if only the first, may write a slot of any graph, or it is a counter. */
bool mdf_whole_may_write(const struct mdf_state *state, const struct mdf_value *slot);
/* Makes ports of graphs within nodes ready, as their nodes bring something, which is noted; *has_changed: it is other than was
 * noted before. */
enum mdf_refusal_reason mdf_whole_prepare_rooms(struct mdf_state *state, bool *has_changed);
/* Behind an evaluation. */
void mdf_whole_spend_brought(struct mdf_state *state);
/* For requests: goes through a graph within a node; the plan is its state. */
bool mdf_whole_lower_graph(struct lowering *lowering, struct scope *scope, void *plan);

/* --- whole_nodes.c: for requests; the plan is the state. */
bool mdf_whole_lower_single(struct lowering *lowering, struct scope *scope, void *plan);
/* Of a life: nodes have their initial values, and edges from those that have not run bring nothing. */
bool mdf_whole_lower_first(struct lowering *lowering, struct scope *scope, void *plan);
bool mdf_whole_lower_many(struct lowering *lowering, struct scope *scope, void *plan);
bool mdf_whole_lower_many_seen(struct lowering *lowering, struct scope *scope, void *plan);
/* One evaluation of several in a row, after which those slots are there; `mask` NULL, or the array of which nodes ran in each
 * pass. Behind all of them, slots that follow others are set. */
bool mdf_whole_lower_evaluation(struct lowering *lowering, struct scope *scope, struct mdf_state *state, const bool *leaves,
                                mdf_lowered_id *mask);
/* Before several in a row are lowered: nothing is known yet of what is left behind the last of them. */
void mdf_whole_begin_many(struct mdf_whole *whole);
bool mdf_whole_set_aliases(struct lowering *lowering, struct scope *scope, const struct mdf_state *state);
/* Whether an edge brings something, the sender's initial value perhaps; where nothing is left for a later evaluation, each sender
 * has run before. */
bool mdf_whole_brings(const struct mdf_state *state, const struct mdf_program_edge *edge);
/* What the node around the graph and edges bring: those from nodes that have not run bring nothing, or what their ports hold at
 * first. */
bool mdf_whole_lower_edges(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t node);
/* The node's instructions. */
bool mdf_whole_lower_node(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t node);
/* Both, until the node is finished. */
bool mdf_whole_lower_repeated(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t node);
/* Marks the slots of a graph that an evaluation writes. */
void mdf_whole_mark_written(const struct mdf_program *program, bool *is_written);

#endif
