/* conditions.h - what the files that compile scheduling conditions share. The order of work: every condition of the model is read
 * into the flat array (conditions.c, by the table of condition_kinds.c); graph structure conditions change who waits for whom
 * (structure_conditions.c); nodes without a condition get the default one; times become ticks (condition_times.c); conditions
 * that can never hold are found (condition_reach.c). What a kind means is said in condition_terms.h. */
#ifndef MDF_PLAN_CONDITIONS_CONDITIONS_H
#define MDF_PLAN_CONDITIONS_CONDITIONS_H

#include "mdf_c/base/rational.h"
#include "mdf_c/plan/compiler.h"

enum { MDF_MAX_FORMALS = 12, MDF_MAX_CONDITION_DEPTH = 100 };

/* An argument of a kind of condition. A single node is called dependency or node, several dependencies or nodes: each pair is one
 * argument under either name. */
struct formal {
    const char *name; /* NULL ends the list */
    bool required;
};

struct condition_builder;
struct condition_call;

/* A kind of condition: one row of the table. */
struct condition_row {
    const char *name, *alias;     /* alias NULL: none */
    const struct formal *formals; /* NULL: any (All, Any) */
    bool (*build)(struct condition_builder *builder, const struct condition_call *call);
    uint8_t comparison;  /* what `build` needs to know: enum mdf_comparison, */
    uint8_t detail;      /* a clock, a kind, an operation */
    const char *phrases; /* how pictures tell it, see condition_terms.h; NULL: as it is written */
    const char *joint;   /* what stands between its parts; NULL: `phrases`, or as it is written */
};

/* A condition as it is written. */
struct condition_call {
    const struct condition_row *row;
    const struct mdf_node *source;
    const struct mdf_node *arguments[MDF_MAX_FORMALS]; /* of each formal; NULL: not given, or null */
};

/* Times of a TimeInterval or TimeTermination in milliseconds, before the tick is known. */
struct timing {
    bool has_repeat, has_start, has_end, start_is_inclusive, end_is_inclusive;
    struct mdf_rational repeat, start, end;
    size_t owner; /* SIZE_MAX: a termination */
};

/* An argument under the name that the model gives it; "" where it has none. */
struct given_argument {
    const char *name;
    const struct mdf_node *value;
};

struct structure;

struct condition_builder {
    struct compiler *compiler;
    struct graph_builder *graph;
    size_t owner; /* the node whose condition is read; SIZE_MAX: a termination */
    int depth;
    struct list conditions;   /* struct mdf_condition */
    struct list terminations; /* uint32_t: their first conditions */
    struct list node_lists;   /* uint32_t */
    struct list usables;      /* struct mdf_usable */
    struct list timings;      /* struct timing */
    struct list watches;      /* struct mdf_watch */
    struct list structures;   /* struct structure, in the order of the file */
    struct mdf_schedule_node *nodes;
    bool *has_condition; /* of each node */
    uint32_t end_of_update, end_of_sequence;
    bool has_end_of_update, has_end_of_sequence;
    uint32_t n_spent;
    bool watches_all; /* there are watches of whether each node is finished, from first_of_all on */
    uint32_t first_of_all;
};

/* --- conditions.c */
/* Adds a condition at the current place; it ends behind itself. NULL on error. The pointer holds until the next is added. */
struct mdf_condition *condition_add(struct condition_builder *builder, enum mdf_condition_kind kind);
/* Reads a condition and its parts. */
bool condition_read(struct condition_builder *builder, const struct mdf_node *source);
/* Whether a node is an object that reads as a condition. */
bool node_is_condition(const struct mdf_node *node);

/* --- condition_arguments.c */
/* All that a condition is given, as struct given_argument: in "kwargs", in "args", or beside "type". */
bool condition_collect(struct condition_builder *builder, const struct condition_row *row, const struct mdf_node *source,
                       struct list *given);
/* Brings what is given to the formals of the call's row. */
bool condition_match(struct condition_builder *builder, struct condition_call *call, const struct list *given);
/* The argument of that formal; NULL: not given. */
const struct mdf_node *condition_argument(const struct condition_call *call, const char *formal);
/* Reports a fault of an argument: "CALL: MESSAGE" at the argument, or at the condition where it is not given. */
bool condition_fault(struct condition_builder *builder, const struct condition_call *call, const struct mdf_node *at,
                     const char *format, ...) MDF_PRINTF_LIKE(4, 5);
/* Reports "TEXT; did you mean 'GUESS'?" at a place; `guess` may be NULL. */
bool condition_unknown(struct condition_builder *builder, const struct mdf_node *at, const char *text, const char *guess);
/* Arguments by kind; false with the error set. Those that are not given leave *result as it is. */
bool condition_number(struct condition_builder *builder, const struct condition_call *call, const char *formal, double *result);
bool condition_flag(struct condition_builder *builder, const struct condition_call *call, const char *formal, bool *result);
/* A node by its id, or {"id": ID}. */
bool condition_node(struct condition_builder *builder, const struct condition_call *call, const struct mdf_node *node,
                    uint32_t *index);
/* Nodes by a list of ids (or one id), appended to builder->node_lists. */
bool condition_nodes(struct condition_builder *builder, const struct condition_call *call, const char *formal, uint32_t *first,
                     uint32_t *n);

/* The number of the node of that id; SIZE_MAX, and the nearest id in *guess (or NULL), where there is none. */
size_t condition_find_node(const struct mdf_graph *graph, const char *id, const char **guess);

/* Time scales, from fine to coarse. */
enum time_scale { SCALE_SET, SCALE_PASS, SCALE_UPDATE, SCALE_SEQUENCE, SCALE_LIFE };
/* "TimeScale.NAME" or ".NAME"; `any_spelling`: NAME in any case too. False: it is none (no error is set). */
bool parse_time_scale(const struct compiler *compiler, const char *text, bool any_spelling, enum time_scale *scale);
bool condition_unknown_scale(struct condition_builder *builder, const struct mdf_node *at, const char *text);
bool condition_scale(struct condition_builder *builder, const struct condition_call *call, enum time_scale *scale);

/* --- condition_kinds.c */
/* The row of that name or alias; NULL: none, and *guess is the nearest name, or NULL. */
/* Whether it is a function of Python. */
bool condition_is_function(const struct condition_row *row);
/* Row number i of the table; NULL behind the last. */
const struct condition_row *condition_row_at(size_t i);
const struct condition_row *condition_find_row(const char *name, const char **guess);

/* --- condition_times.c */
bool build_time_interval(struct condition_builder *builder, const struct condition_call *call);
bool build_time_termination(struct condition_builder *builder, const struct condition_call *call);
/* Ticks of all times, whether absolute time runs, interval and start. Layers are known by now. */
bool condition_finish_times(struct condition_builder *builder, struct mdf_schedule *schedule, const struct mdf_program *program);

/* --- condition_watches.c */
bool build_threshold(struct condition_builder *builder, const struct condition_call *call);
bool build_finished(struct condition_builder *builder, const struct condition_call *call);

/* --- condition_reach.c */
/* An error where no evaluation could ever end; fills schedule->steady. */
bool condition_check_reach(struct condition_builder *builder, struct mdf_schedule *schedule);

/* --- scheduling_mode.c */
/* All layers become one, in their order, where time is exact. */
bool condition_join_layers(struct condition_builder *builder);

/* --- structure_conditions.c */
/* What a graph structure condition does, as `detail` of its row. */
enum structure_kind { STRUCTURE_BEFORE, STRUCTURE_WITH, STRUCTURE_AFTER, STRUCTURE_ADD_EDGE, STRUCTURE_REMOVE_EDGE };
bool build_structure(struct condition_builder *builder, const struct condition_call *call);
/* Applies the graph structure conditions to the senders of each node (struct node_plan). */
bool condition_apply_structures(struct condition_builder *builder);

#endif
