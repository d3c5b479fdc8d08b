/* profile.h - where the time of evaluations goes: a tree of nodes, calls and bodies, each with its runs and its time.
 *
 * A node runs by itself then, not as a part of one lowered program of the whole graph, in the fastest way that it has by itself:
 * what is lowered of it is one call, "lowered", and so is a loop that is lowered with its body, "onnx::Loop (lowered)". In a
 * program that is_plain every call is one, those in bodies too. The time of a place is measured from when it begins to when it
 * ends: its own time and those of what lies directly in it add up to it, and the own times of all places to the whole. */
#ifndef MDF_RUN_PROFILE_H
#define MDF_RUN_PROFILE_H

#include "mdf_c/run/state.h"

enum mdf_place_kind {
    MDF_PLACE_GRAPH, /* an evaluation: the root; its own time is what inputs, edges and conditions take */
    MDF_PLACE_NODE,  /* its own time: what is no call (copies, jumps), and what edges bring */
    MDF_PLACE_CALL,  /* of an operator; of a node, its instructions in their lowered form */
    MDF_PLACE_BODY
};

struct mdf_profile_place {
    enum mdf_place_kind kind;
    const char *name;                 /* id of the graph, node or body; of a call, its operator: "onnx::MatMul" */
    size_t parent;                    /* its own number at the root */
    size_t first_child, next_sibling; /* SIZE_MAX: none */
    const void *code;                 /* with `at`, what tells it from its siblings */
    size_t at;
    uint64_t n_runs, n_lowered; /* of a call: in their lowered form */
    double total_s, children_s, start_s;
};

/* Places are in the order in which they were first reached; a parent comes before its children, and the root first. */
struct mdf_profile {
    struct mdf_onlooker onlooker;
    struct mdf_shared_state *shared;
    struct mdf_profile_place *places;
    size_t n_places, capacity;
    size_t open; /* the place that is being run */
    bool failed;           /* memory ran out for a place */
    struct mdf_value told; /* for mdf_state_profile */
};

/* Rows of a table: places of one kind that have one name, taken together. Of nodes and bodies the time is their whole one, of
 * operators their own, so that these add up to the time of all calls. */
struct mdf_profile_row {
    const char *name;
    uint64_t n_runs;
    double time_s, self_s;
};

/* Begins to look on; before the first evaluation. False: refused. */
bool mdf_profile_start(struct mdf_state *state);
void mdf_profile_release(struct mdf_shared_state *shared);

/* By the evaluator; NULL: nobody looks on. */
void mdf_profile_begin(struct mdf_profile *profile, enum mdf_place_kind kind, const char *name, const void *code, size_t at);
void mdf_profile_end(struct mdf_profile *profile);
/* An evaluation that failed leaves places open. */
void mdf_profile_end_all(struct mdf_profile *profile);
/* The place that is run was none: its time is that of what it lies in. */
void mdf_profile_drop(struct mdf_profile *profile);

/* All of it: {"total_s", "evaluations", "nodes": [ROW, ...], "operators": [ROW, ...], "bodies": [ROW, ...], "places": [ROW, ...]},
 * ROW {"name", "calls", "time_s", "self_s"}; the name of a place is "graph;node;operator". False: refused. */
bool mdf_profile_value(const struct mdf_profile *profile, struct mdf_value *value);
/* A table for people; lines "graph;node;operator NANOSECONDS", which flamegraph.pl, inferno and speedscope take. False: refused. */
bool mdf_profile_table(const struct mdf_profile *profile, struct mdf_text *text);
bool mdf_profile_folded(const struct mdf_profile *profile, struct mdf_text *text);

#endif
