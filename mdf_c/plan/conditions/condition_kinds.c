/* condition_kinds.c - the table of the kinds of conditions: what each is called, which arguments it takes, how it is compiled.
 * A new kind is a row here; where none of the kinds of schedule.h does, one there and its meaning in condition_terms.c and scheduler.c.
 * Source: graph-scheduler 1.2.2, https://princetonuniversity.github.io/graph-scheduler; docs/scheduling.md. */
#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/plan/conditions/conditions.h"

#include <string.h>

/* ------------------------------------------------------------------ conditions without arguments, or with one condition */

static bool build_constant(struct condition_builder *builder, const struct condition_call *call)
{
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_CONSTANT);

    if (condition == NULL) {
        return false;
    }
    condition->n = call->row->detail;
    return true;
}

/* Reads the part of a condition that stands at `at` and closes it. */
static bool read_part(struct condition_builder *builder, const struct condition_call *call, size_t at)
{
    const struct mdf_node *part = condition_argument(call, "condition");

    if (!node_is_condition(part)) {
        return condition_fault(builder, call, part, "'condition' must be a condition, not %s", mdf_node_describe(part));
    }
    if (!condition_read(builder, part)) {
        return false;
    }
    ((struct mdf_condition *)builder->conditions.items)[at].end = (uint32_t)builder->conditions.n;
    return true;
}

static bool build_not(struct condition_builder *builder, const struct condition_call *call)
{
    size_t at = builder->conditions.n;

    return condition_add(builder, MDF_CONDITION_NOT) != NULL && read_part(builder, call, at);
}

static bool build_n_when(struct condition_builder *builder, const struct condition_call *call)
{
    size_t at = builder->conditions.n;
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_N_WHEN);

    if (condition == NULL) {
        return false;
    }
    condition->index = builder->n_spent++;
    condition->n = 1;
    return condition_number(builder, call, "n", &condition->n) && read_part(builder, call, at);
}

/* ------------------------------------------------------------------ clocks */

/* What is counted, as `detail` of a row. */
enum counted { COUNT_SETS, COUNT_PASSES, COUNT_UPDATES, COUNT_SEQUENCES };

/* Within which scope a clock counts: a scale that is not coarser than what is counted means since the beginning. */
static bool choose_clock(struct condition_builder *builder, const struct condition_call *call, enum mdf_clock *clock)
{
    enum time_scale scale = SCALE_UPDATE;

    if (!condition_scale(builder, call, &scale)) {
        return false;
    }
    switch ((enum counted)call->row->detail) {
    case COUNT_SETS:
        if (scale == SCALE_PASS) {
            return condition_fault(
                builder, call, condition_argument(call, "time_scale"),
                "execution sets are not counted within a pass; use TimeScale.ENVIRONMENT_STATE_UPDATE, or a coarser one");
        }
        *clock = scale == SCALE_UPDATE ? MDF_CLOCK_SETS_IN_UPDATE : MDF_CLOCK_SETS_IN_LIFE;
        return true;
    case COUNT_PASSES:
        *clock = scale == SCALE_UPDATE ? MDF_CLOCK_PASSES_IN_UPDATE : MDF_CLOCK_PASSES_IN_LIFE;
        return true;
    case COUNT_UPDATES:
        *clock = MDF_CLOCK_UPDATES;
        return true;
    case COUNT_SEQUENCES:
        break;
    }
    *clock = MDF_CLOCK_SEQUENCES;
    return true;
}

static bool add_clock(struct condition_builder *builder, enum mdf_clock clock, enum mdf_comparison comparison, double n)
{
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_CLOCK);

    if (condition == NULL) {
        return false;
    }
    condition->scope = (uint8_t)clock;
    condition->comparison = (uint8_t)comparison;
    condition->n = n;
    return true;
}

static bool build_clock(struct condition_builder *builder, const struct condition_call *call)
{
    enum mdf_clock clock = MDF_CLOCK_SEQUENCES;
    double n = 0;

    if (!choose_clock(builder, call, &clock) || !condition_number(builder, call, "n", &n)) {
        return false;
    }
    if (call->row->comparison == MDF_COMPARISON_MULTIPLE && n == 0) {
        return condition_fault(builder, call, condition_argument(call, "n"), "'n' must not be 0: every n-th pass is meant");
    }
    return add_clock(builder, clock, (enum mdf_comparison)call->row->comparison, n);
}

/* The first pass, or update, of what is going on: a clock at 0. */
static bool build_start(struct condition_builder *builder, const struct condition_call *call)
{
    return add_clock(builder, call->row->detail == COUNT_PASSES ? MDF_CLOCK_PASSES_IN_UPDATE : MDF_CLOCK_UPDATES,
                     MDF_COMPARISON_EQUAL, 0);
}

/* The same of the n-th. */
static bool build_nth_start(struct condition_builder *builder, const struct condition_call *call)
{
    bool is_update = call->row->detail == COUNT_UPDATES;
    enum time_scale scale = SCALE_SEQUENCE;
    size_t at = builder->conditions.n;
    double n = 0;

    if (!condition_number(builder, call, "n", &n) || !condition_scale(builder, call, &scale) ||
        condition_add(builder, MDF_CONDITION_ALL) == NULL ||
        !add_clock(builder, is_update ? MDF_CLOCK_PASSES_IN_UPDATE : MDF_CLOCK_UPDATES, MDF_COMPARISON_EQUAL, 0) ||
        !add_clock(builder, is_update ? MDF_CLOCK_UPDATES : MDF_CLOCK_SEQUENCES, MDF_COMPARISON_EQUAL, n)) {
        return false;
    }
    ((struct mdf_condition *)builder->conditions.items)[at].end = (uint32_t)builder->conditions.n;
    return true;
}

/* ------------------------------------------------------------------ runs of nodes */

static bool choose_scope(struct condition_builder *builder, const struct condition_call *call, uint8_t *scope)
{
    enum time_scale scale = SCALE_UPDATE;

    if (!condition_scale(builder, call, &scale)) {
        return false;
    }
    *scope = scale <= SCALE_PASS ? MDF_SCOPE_PASS : scale == SCALE_UPDATE ? MDF_SCOPE_UPDATE : MDF_SCOPE_LIFE;
    return true;
}

/* Runs of one node, of several in sum, or whether several have run: kind `detail`. */
static bool build_calls(struct condition_builder *builder, const struct condition_call *call)
{
    enum mdf_condition_kind kind = (enum mdf_condition_kind)call->row->detail;
    struct mdf_condition *condition = condition_add(builder, kind);

    if (condition == NULL) {
        return false;
    }
    condition->comparison = call->row->comparison;
    if (kind == MDF_CONDITION_CALLS) {
        if (!condition_node(builder, call, condition_argument(call, "dependency"), &condition->index)) {
            return false;
        }
    } else if (!condition_nodes(builder, call, "dependencies", &condition->index, &condition->n_items)) {
        return false;
    }
    if (kind == MDF_CONDITION_HAVE_RUN && condition->n_items == 0) {
        condition->kind = MDF_CONDITION_ALL_HAVE_RUN;
    }
    return (kind == MDF_CONDITION_HAVE_RUN || condition_number(builder, call, "n", &condition->n)) &&
           choose_scope(builder, call, &condition->scope);
}

static bool build_every_n_calls(struct condition_builder *builder, const struct condition_call *call)
{
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_USABLE_CALLS);
    struct mdf_usable usable;

    if (condition == NULL) {
        return false;
    }
    if (builder->owner == SIZE_MAX) {
        return condition_fault(builder, call, NULL,
                               "it counts runs since its node ran, and a termination has no node; use AfterNCalls");
    }
    if (!condition_node(builder, call, condition_argument(call, "dependency"), &usable.dependency) ||
        !condition_number(builder, call, "n", &condition->n)) {
        return false;
    }
    usable.own = usable.dependency == builder->owner;
    condition->comparison = MDF_COMPARISON_AT_LEAST;
    condition->index = (uint32_t)builder->usables.n;
    return list_add(builder->compiler, &builder->usables, &usable, sizeof usable);
}

static bool build_just_ran(struct condition_builder *builder, const struct condition_call *call)
{
    struct mdf_condition *condition = condition_add(builder, MDF_CONDITION_JUST_RAN);

    return condition != NULL && condition_node(builder, call, condition_argument(call, "dependency"), &condition->index);
}

/* ------------------------------------------------------------------ what a file can not hold */

static bool refuse_function(struct condition_builder *builder, const struct condition_call *call)
{
    return condition_fault(builder, call, NULL,
                           "the condition is a function of Python, which a model file can not hold: say it by conditions that it can, "
                           "such as EveryNCalls, AfterNCalls, Threshold, or All, Any and Not of them");
}

bool condition_is_function(const struct condition_row *row)
{
    return row->build == refuse_function;
}

/* ------------------------------------------------------------------ the table */

static const struct formal no_formals[] = {{NULL, false}};
static const struct formal one_condition[] = {{"condition", true}, {NULL, false}};
static const struct formal n_when_formals[] = {{"condition", true}, {"n", false}, {NULL, false}};
static const struct formal n_only[] = {{"n", true}, {NULL, false}};
static const struct formal n_and_scale[] = {{"n", true}, {"time_scale", false}, {NULL, false}};
static const struct formal call_formals[] = {{"dependency", true}, {"n", true}, {"time_scale", false}, {NULL, false}};
static const struct formal every_n_calls_formals[] = {{"dependency", true}, {"n", true}, {NULL, false}};
static const struct formal combined_formals[] = {{"dependencies", false}, {"n", true}, {"time_scale", false}, {NULL, false}};
static const struct formal one_node[] = {{"dependency", true}, {NULL, false}};
static const struct formal some_nodes[] = {{"dependencies", false}, {NULL, false}};
static const struct formal some_nodes_and_scale[] = {{"dependencies", false}, {"time_scale", false}, {NULL, false}};
static const struct formal interval_formals[] = {{"repeat", false}, {"start", false},           {"end", false},
                                                 {"unit", false},   {"start_inclusive", false}, {"end_inclusive", false},
                                                 {NULL, false}};
static const struct formal time_formals[] = {{"t", true}, {"inclusive", false}, {"unit", false}, {NULL, false}};
static const struct formal threshold_formals[] = {{"dependency", true},
                                                  {"parameter", true},
                                                  {"threshold", true},
                                                  {"comparator", true},
                                                  {"indices", false},
                                                  {"atol", false},
                                                  {"rtol", false},
                                                  {"custom_parameter_getter", false},
                                                  {"custom_parameter_validator", false},
                                                  {NULL, false}};
static const struct formal function_formals[] = {{"func", false}, {"process_graph_function", false}, {NULL, false}};
static const struct formal one_edge[] = {{"node", true}, {NULL, false}};
static const struct formal with_formals[] = {{"node", true},
                                             {"owner_receivers", false},
                                             {"subject_receivers", false},
                                             {"reconnect_non_subject_receivers", false},
                                             {"remove_new_self_referential_edges", false},
                                             {"prune_cycles", false},
                                             {"ignore_conflicts", false},
                                             {NULL, false}};
#define OPERATION_FORMALS                                                                                                  \
    {"owner_senders", false}, {"owner_receivers", false}, {"subject_senders", false}, {"subject_receivers", false},        \
        {"reconnect_non_subject_receivers", false}, {"remove_new_self_referential_edges", false}, {"prune_cycles", false}, \
        {"ignore_conflicts", false},                                                                                       \
    {                                                                                                                      \
        NULL, false                                                                                                        \
    }
static const struct formal place_formals[] = {{"nodes", true}, OPERATION_FORMALS};
static const struct formal place_one_formals[] = {{"node", true}, OPERATION_FORMALS};

#define LESS MDF_COMPARISON_LESS
#define EQUAL MDF_COMPARISON_EQUAL
#define GREATER MDF_COMPARISON_GREATER
#define AT_LEAST MDF_COMPARISON_AT_LEAST

/* Aliases are graph-scheduler's own, and the names that PsyNeuLink gives to updates (trials), sequences (runs) and sets (time
 * steps). */
static const struct condition_row rows[] = {
    {"Always", NULL, no_formals, build_constant, 0, 1, "always"},
    {"Never", NULL, no_formals, build_constant, 0, 0, "never"},
    {"All", "And", NULL, NULL, 0, MDF_CONDITION_ALL, .joint = " and "},
    {"Any", "Or", NULL, NULL, 0, MDF_CONDITION_ANY, .joint = " or "},
    {"Not", NULL, one_condition, build_not, 0, 0, "not {condition}"},
    {"NWhen", NULL, n_when_formals, build_n_when, 0, 0},
    {"TimeInterval", NULL, interval_formals, build_time_interval, 0, 0},
    {"TimeTermination", NULL, time_formals, build_time_termination, 0, 0},
    {"BeforeConsiderationSetExecution", "BeforeTimeStep", n_and_scale, build_clock, LESS, COUNT_SETS},
    {"AtConsiderationSetExecution", "AtTimeStep", n_and_scale, build_clock, EQUAL, COUNT_SETS},
    {"AfterConsiderationSetExecution", "AfterTimeStep", n_and_scale, build_clock, GREATER, COUNT_SETS},
    {"AfterNConsiderationSetExecutions", "AfterNTimeSteps", n_and_scale, build_clock, AT_LEAST, COUNT_SETS},
    {"BeforePass", NULL, n_and_scale, build_clock, LESS, COUNT_PASSES, "before pass {n}"},
    {"AtPass", NULL, n_and_scale, build_clock, EQUAL, COUNT_PASSES, "at pass {n}"},
    {"AfterPass", NULL, n_and_scale, build_clock, GREATER, COUNT_PASSES, "after pass {n}"},
    {"AfterNPasses", NULL, n_and_scale, build_clock, AT_LEAST, COUNT_PASSES, "after {n} passes"},
    {"EveryNPasses", NULL, n_and_scale, build_clock, MDF_COMPARISON_MULTIPLE, COUNT_PASSES, "every {n} passes"},
    {"BeforeEnvironmentStateUpdate", "BeforeTrial", n_and_scale, build_clock, LESS, COUNT_UPDATES},
    {"AtEnvironmentStateUpdate", "AtTrial", n_and_scale, build_clock, EQUAL, COUNT_UPDATES},
    {"AfterEnvironmentStateUpdate", "AfterTrial", n_and_scale, build_clock, GREATER, COUNT_UPDATES},
    {"AfterNEnvironmentStateUpdates", "AfterNTrials", n_and_scale, build_clock, AT_LEAST, COUNT_UPDATES},
    {"AtEnvironmentSequence", "AtRun", n_only, build_clock, EQUAL, COUNT_SEQUENCES},
    {"AfterEnvironmentSequence", "AfterRun", n_only, build_clock, GREATER, COUNT_SEQUENCES},
    {"AfterNEnvironmentSequences", "AfterNRuns", n_only, build_clock, AT_LEAST, COUNT_SEQUENCES},
    {"AtEnvironmentStateUpdateStart", "AtTrialStart", no_formals, build_start, 0, COUNT_PASSES},
    {"AtEnvironmentStateUpdateNStart", "AtTrialNStart", n_and_scale, build_nth_start, 0, COUNT_UPDATES},
    {"AtEnvironmentSequenceStart", "AtRunStart", no_formals, build_start, 0, COUNT_UPDATES},
    {"AtEnvironmentSequenceNStart", "AtRunNStart", n_only, build_nth_start, 0, COUNT_SEQUENCES},
    {"BeforeNCalls", NULL, call_formals, build_calls, LESS, MDF_CONDITION_CALLS, "before {n} calls of {dependency}"},
    {"AtNCalls", NULL, call_formals, build_calls, EQUAL, MDF_CONDITION_CALLS, "at {n} calls of {dependency}"},
    {"AfterCall", NULL, call_formals, build_calls, GREATER, MDF_CONDITION_CALLS, "after more than {n} calls of {dependency}"},
    {"AfterNCalls", NULL, call_formals, build_calls, AT_LEAST, MDF_CONDITION_CALLS, "after {n} calls of {dependency}"},
    {"AfterNCallsCombined", NULL, combined_formals, build_calls, AT_LEAST, MDF_CONDITION_CALLS_SUM,
     "after {n} calls of {dependency} together"},
    {"EveryNCalls", NULL, every_n_calls_formals, build_every_n_calls, 0, 0, "every {n} calls of {dependency}"},
    {"JustRan", NULL, one_node, build_just_ran, 0, 0, "when {dependency} has just run"},
    {"AllHaveRun", NULL, some_nodes_and_scale, build_calls, 0, MDF_CONDITION_HAVE_RUN,
     "when {dependency} have run|when all nodes have run"},
    {"WhenFinished", NULL, one_node, build_finished, 0, MDF_CONDITION_FINISHED_ALL, "when {dependency} has finished"},
    {"WhenFinishedAny", NULL, some_nodes, build_finished, 0, MDF_CONDITION_FINISHED_ANY, "when one of {dependency} has finished"},
    {"WhenFinishedAll", NULL, some_nodes, build_finished, 0, MDF_CONDITION_FINISHED_ALL, "when {dependency} have finished"},
    {"Threshold", NULL, threshold_formals, build_threshold, 0, 0, "when {parameter} of {dependency} {comparator} {threshold}"},
    {"BeforeNodes", NULL, place_formals, build_structure, 0, STRUCTURE_BEFORE, "before {node}"},
    {"BeforeNode", NULL, place_one_formals, build_structure, 0, STRUCTURE_BEFORE, "before {node}"},
    {"WithNode", NULL, with_formals, build_structure, 0, STRUCTURE_WITH, "with {node}"},
    {"AfterNodes", NULL, place_formals, build_structure, 0, STRUCTURE_AFTER, "after {node}"},
    {"AfterNode", NULL, place_one_formals, build_structure, 0, STRUCTURE_AFTER, "after {node}"},
    {"AddEdgeTo", NULL, one_edge, build_structure, 0, STRUCTURE_ADD_EDGE},
    {"RemoveEdgeFrom", NULL, one_edge, build_structure, 0, STRUCTURE_REMOVE_EDGE},
    {"Condition", "While", function_formals, refuse_function, 0, 0},
    {"WhileNot", NULL, function_formals, refuse_function, 0, 0},
    {"CompositeCondition", NULL, function_formals, refuse_function, 0, 0},
    {"CustomGraphStructureCondition", NULL, function_formals, refuse_function, 0, 0},
};

const struct condition_row *condition_row_at(size_t i)
{
    return i < sizeof rows / sizeof *rows ? &rows[i] : NULL;
}

const struct condition_row *condition_find_row(const char *name, const char **guess)
{
    struct mdf_nearest nearest;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) == 0 || (rows[i].alias != NULL && strcmp(rows[i].alias, name) == 0)) {
            return &rows[i];
        }
    }
    mdf_nearest_begin(&nearest, name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        mdf_nearest_offer(&nearest, rows[i].name);
        if (rows[i].alias != NULL) {
            mdf_nearest_offer(&nearest, rows[i].alias);
        }
    }
    *guess = mdf_nearest_result(&nearest);
    return NULL;
}

static const struct condition_row *find_row(const char *type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, type) == 0 || (rows[i].alias != NULL && strcmp(rows[i].alias, type) == 0)) {
            return &rows[i];
        }
    }
    return NULL;
}

const char *mdf_condition_phrases(const char *type)
{
    const struct condition_row *row = find_row(type);

    return row != NULL ? row->phrases : NULL;
}

const char *mdf_condition_joint(const char *type)
{
    const struct condition_row *row = find_row(type);

    return row != NULL ? row->joint : NULL;
}
