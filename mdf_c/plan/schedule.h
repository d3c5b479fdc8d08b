/* schedule.h - the conditions of a graph, compiled: which node may run when, and when an evaluation ends.
 *
 * Conditions lie in one array, each before its parts: a condition at i ends at conditions[i].end, its first part is i + 1, the
 * next one where that ends. Nodes, counts, clocks and values are numbers and operands: nothing is looked up by name. Times are
 * whole numbers of ticks, where a tick divides every time that the model names, so that absolute time is exact. Meaning:
 * docs/scheduling.md. */
#ifndef MDF_PLAN_SCHEDULE_H
#define MDF_PLAN_SCHEDULE_H

#include "mdf_c/code/code.h"

enum mdf_condition_kind {
    MDF_CONDITION_CONSTANT,     /* holds if n is not 0 */
    MDF_CONDITION_ALL,          /* of its parts, from left to right, up to the first that fails */
    MDF_CONDITION_ANY,          /* the same, up to the first that holds */
    MDF_CONDITION_NOT,          /* of its part */
    MDF_CONDITION_N_WHEN,       /* its part held, at most n times; counted in spent[index] */
    MDF_CONDITION_CALLS,        /* runs of node `index` in `scope`, compared with n */
    MDF_CONDITION_CALLS_SUM,    /* runs of nodes[index ...], summed */
    MDF_CONDITION_USABLE_CALLS, /* runs of a node since the owner ran: usables[index] */
    MDF_CONDITION_CLOCK,        /* clock `scope`, compared with n */
    MDF_CONDITION_JUST_RAN,     /* node `index` is in the last execution set */
    MDF_CONDITION_ALL_HAVE_RUN, /* every node of the graph, in `scope` */
    MDF_CONDITION_HAVE_RUN,     /* every one of nodes[index ...], in `scope` */
    MDF_CONDITION_TIME,         /* times[index] */
    MDF_CONDITION_THRESHOLD,    /* watches[index], compared with n */
    MDF_CONDITION_FINISHED_ANY, /* watches[index ...] */
    MDF_CONDITION_FINISHED_ALL
};

enum mdf_comparison {
    MDF_COMPARISON_LESS,
    MDF_COMPARISON_AT_MOST,
    MDF_COMPARISON_EQUAL,
    MDF_COMPARISON_NOT_EQUAL,
    MDF_COMPARISON_GREATER,
    MDF_COMPARISON_AT_LEAST,
    MDF_COMPARISON_MULTIPLE /* divisible by n */
};

/* Over what runs of nodes are counted. (Consideration set executions count as passes do, environment sequences as life.) */
enum mdf_count_scope { MDF_SCOPE_PASS, MDF_SCOPE_UPDATE, MDF_SCOPE_LIFE, MDF_SCOPE_COUNT };

enum mdf_clock {
    MDF_CLOCK_PASSES_IN_UPDATE,
    MDF_CLOCK_PASSES_IN_LIFE,
    MDF_CLOCK_SETS_IN_UPDATE, /* consideration set executions */
    MDF_CLOCK_SETS_IN_LIFE,
    MDF_CLOCK_UPDATES,   /* environment state updates: finished evaluations */
    MDF_CLOCK_SEQUENCES, /* environment sequences: always 0, none ever ends */
    MDF_CLOCK_COUNT
};

struct mdf_condition {
    uint8_t kind;       /* enum mdf_condition_kind */
    uint8_t comparison; /* enum mdf_comparison */
    uint8_t scope;      /* enum mdf_count_scope or enum mdf_clock */
    uint32_t origin;    /* in code->origins */
    uint32_t end;
    uint32_t index, n_items;
    double n;
};

/* Runs of `dependency` that some owner has not used yet are those since its own last run: the difference of a count and a mark.
 */
struct mdf_usable {
    uint32_t dependency;
    bool own; /* the owner itself: its last run is usable */
};

/* Holds from tick `first` to tick `last`; where there is a repeat, only at whole repeats from `offset` on. */
struct mdf_time_window {
    int64_t first, last, repeat, offset; /* repeat 0: none */
};

/* A value that a condition looks at. */
struct mdf_watch {
    const char *name; /* of the port, parameter or function */
    size_t node;
    mdf_operand value; /* MDF_NO_OPERAND: none; the node is finished when it has run */
    bool is_input;     /* an input port: what has arrived and not been read; read, it is 0 */
    size_t port;       /* of such: in program->ports; SIZE_MAX: nothing arrives but while the node runs */
    bool always;       /* there is a value before the node's first run */
    bool has_initial;  /* what counts before the node's first run is `initial` */
    double initial;
    mdf_operand initial_value; /* where each state sets it for itself; else MDF_NO_OPERAND */
    const int64_t *indices;    /* applied one after the other */
    size_t n_indices;
    double absolute_tolerance, relative_tolerance;
};

struct mdf_schedule_node {
    uint32_t condition;
    uint32_t first_usable, n_usables; /* those that this node owns: spent when it runs */
};

/* What a pass in which nothing runs must leave behind before it is clear that no later one can differ. */
struct mdf_steady_state {
    bool known;                     /* false: it can not be told */
    double clocks[MDF_CLOCK_COUNT]; /* each clock must be past this */
    int64_t time;                   /* and absolute time past this tick */
    int64_t period;                 /* then conditions repeat after so many passes */
};

struct mdf_schedule {
    struct mdf_condition *conditions;
    size_t n_conditions;
    struct mdf_schedule_node *nodes; /* of each node of the program */
    uint32_t end_of_update, end_of_sequence;
    uint32_t *node_lists;
    struct mdf_usable *usables;
    size_t n_usables;
    struct mdf_time_window *times;
    struct mdf_watch *watches;
    size_t n_watches;
    size_t n_spent;
    bool is_absolute;        /* absolute time runs */
    int64_t interval, start; /* ticks a set, and where time is advanced to at the start of an evaluation */
    double tick_ms;
    struct mdf_steady_state steady;
};

#endif
