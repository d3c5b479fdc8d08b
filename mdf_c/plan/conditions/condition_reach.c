/* condition_reach.c - what can be told of a schedule before it runs: that it can never end, and when it has come to rest.
 *
 * A node may run if its condition may hold; a condition may hold, or fail, as far as the counts of nodes that never run, and the
 * clocks, decide. Nodes that may run are found by adding them until none is left. */
#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/plan/conditions/conditions.h"

#include <math.h>
#include <string.h>

/* Periods longer than this are left to the bound on passes. */
#define LONGEST_PERIOD ((int64_t)1 << 20)

enum { MOST_ROUNDS = 64 };

struct reach {
    const struct mdf_schedule *schedule;
    bool *may_run; /* of each node */
    size_t n_nodes;
};

/* ------------------------------------------------------------------ what may be, as terms of conditions */

static union mdf_term may(bool hold, bool fail)
{
    return (union mdf_term){.may = {hold, fail}};
}

static union mdf_term may_truth(void *context, bool truth)
{
    (void)context;
    return may(truth, !truth);
}

static union mdf_term may_both(void *context, union mdf_term a, union mdf_term b)
{
    (void)context;
    return may(a.may.hold && b.may.hold, a.may.fail || b.may.fail);
}

static union mdf_term may_either(void *context, union mdf_term a, union mdf_term b)
{
    (void)context;
    return may(a.may.hold || b.may.hold, a.may.fail && b.may.fail);
}

static union mdf_term may_negate(void *context, union mdf_term a)
{
    (void)context;
    return may(a.may.fail, a.may.hold);
}

static union mdf_term may_count(bool counts, bool is_open)
{
    return (union mdf_term){.number = {counts, is_open}};
}

static union mdf_term may_runs(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    const struct reach *reach = context;
    bool any = false;

    (void)scope;
    for (size_t i = 0; i < n; i++) {
        any = any || reach->may_run[nodes[i]];
    }
    return may_count(any, false);
}

static union mdf_term may_usable(void *context, uint32_t usable)
{
    const struct reach *reach = context;

    return may_count(reach->may_run[reach->schedule->usables[usable].dependency], false);
}

static union mdf_term may_clock(void *context, enum mdf_clock clock)
{
    (void)context;
    return may_count(clock != MDF_CLOCK_SEQUENCES, clock != MDF_CLOCK_SEQUENCES);
}

static union mdf_term may_spent(void *context, uint32_t index)
{
    (void)context, (void)index;
    return may_count(true, true);
}

static union mdf_term may_compare(void *context, union mdf_term number, enum mdf_comparison comparison, double n)
{
    bool holds = mdf_compare_count(0, comparison, n), may_hold = !isnan(n) && n < HUGE_VAL;

    (void)context;
    if (!number.number.is_open) {
        return may(number.number.may_count || holds, number.number.may_count || !holds);
    }
    if (comparison == MDF_COMPARISON_LESS) {
        may_hold = n > 0;
    } else if (comparison == MDF_COMPARISON_EQUAL) {
        may_hold = n >= 0 && n == floor(n) && isfinite(n);
    }
    return may(may_hold, true);
}

static union mdf_term may_all_have_run(void *context, enum mdf_count_scope scope)
{
    const struct reach *reach = context;

    (void)scope;
    return may(memchr(reach->may_run, 0, reach->n_nodes * sizeof *reach->may_run) == NULL, true);
}

static union mdf_term may_just_ran(void *context, const struct mdf_condition *condition)
{
    const struct reach *reach = context;

    return may(reach->may_run[condition->index], true);
}

static union mdf_term may_in_window(void *context, const struct mdf_time_window *window)
{
    (void)context, (void)window;
    return may(true, true);
}

static union mdf_term may_threshold(void *context, const struct mdf_condition *condition)
{
    (void)context, (void)condition;
    return may(true, true);
}

static union mdf_term may_finished(void *context, const struct mdf_condition *condition, const struct mdf_watch *watch)
{
    const struct reach *reach = context;

    (void)condition;
    return may(reach->may_run[watch->node], true);
}

static union mdf_term may_spend(void *context, uint32_t index, union mdf_term reached, union mdf_term truth)
{
    (void)context, (void)index, (void)reached;
    return truth;
}

static bool may_hold(struct reach *reach, uint32_t index)
{
    static const struct mdf_condition_terms terms = {MDF_CONDITION_TERMS(may_), .stops_early = true};

    return mdf_condition_express(&terms, reach, reach->schedule, index, may(true, false)).may.hold;
}

/* ------------------------------------------------------------------ nodes that may run */

/* Adds nodes whose conditions may hold until none is left to add. Layer by layer, so that a round or two do; where many do not
 * (conditions on nodes of later layers, many in a row), nothing is told. */
static void find_runnable(struct reach *reach, const struct mdf_program *program)
{
    bool changed = true;

    for (int round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = false;
        for (size_t i = 0; i < program->n_layers; i++) {
            for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
                size_t node = program->layers[i].nodes[j];

                if (!reach->may_run[node] && may_hold(reach, reach->schedule->nodes[node].condition)) {
                    reach->may_run[node] = true;
                    changed = true;
                }
            }
        }
    }
    if (changed) {
        memset(reach->may_run, true, reach->n_nodes * sizeof *reach->may_run);
    }
}

static bool endless(struct condition_builder *builder, const struct reach *reach)
{
    const struct mdf_graph *graph = builder->graph->graph;
    const struct mdf_origin *origin =
        &builder->compiler->origins[reach->schedule->conditions[reach->schedule->end_of_update].origin];
    char names[300] = "";
    size_t used;

    for (size_t i = 0; i < reach->n_nodes; i++) {
        used = strlen(names);
        if (!reach->may_run[i] && used + strlen(graph->nodes[i].id) + 8 < sizeof names) {
            strcat(strcat(strcat(names, used > 0 ? ", '" : "'"), graph->nodes[i].id), "'");
        }
    }
    mdf_error_set(builder->compiler->error, MDF_MODEL, "the schedule can never end: its termination can not hold%s%s%s",
                  names[0] != '\0' ? " (by their conditions these nodes never run: " : "", names,
                  names[0] != '\0' ? "); end it with a condition that can be met, as AfterNPasses" : "");
    mdf_error_at(builder->compiler->error, origin->file, origin->line, origin->column);
    mdf_error_in(builder->compiler->error, "%s", origin->path);
    return false;
}

/* ------------------------------------------------------------------ nodes that never run */

/* What is looked for in what a condition reads. */
struct awaiting {
    const struct reach *reach;
    bool waits_for_value; /* of a node; else its value may do without a run */
    size_t node;          /* SIZE_MAX: none yet */
};

static void look_at(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    struct awaiting *awaiting = context;
    const struct mdf_schedule *schedule = awaiting->reach->schedule;
    size_t node = what == MDF_READ_RUNS || what == MDF_READ_LAST_SET        ? index
                  : what == MDF_READ_USABLE                                 ? schedule->usables[index].dependency
                  : what == MDF_READ_VALUE && awaiting->waits_for_value ? schedule->watches[index].node
                                                                            : SIZE_MAX;

    (void)scope;
    if (awaiting->node == SIZE_MAX && node != SIZE_MAX && !awaiting->reach->may_run[node]) {
        awaiting->node = node;
    }
}

/* The first node that never runs among those whose runs a condition waits for; SIZE_MAX: there is none. */
static size_t find_awaited(const struct reach *reach, uint32_t first)
{
    struct awaiting awaiting = {reach, false, SIZE_MAX};

    for (uint32_t i = first; i < reach->schedule->conditions[first].end; i++) {
        awaiting.waits_for_value = reach->schedule->conditions[i].kind != MDF_CONDITION_THRESHOLD;
        if (reach->schedule->conditions[i].end == i + 1) { /* no parts of its own */
            mdf_conditions_read(reach->schedule, i, look_at, &awaiting);
        }
    }
    return awaiting.node;
}

static void tell_idle_nodes(struct condition_builder *builder, const struct reach *reach)
{
    const struct mdf_graph_node *nodes = builder->graph->graph->nodes;
    struct compiler *compiler = builder->compiler;

    for (size_t i = 0; i < reach->n_nodes; i++) {
        uint32_t condition = reach->schedule->nodes[i].condition;
        const struct mdf_origin *origin = &compiler->origins[reach->schedule->conditions[condition].origin];
        size_t awaited = reach->may_run[i] ? SIZE_MAX : find_awaited(reach, condition);
        mdf_error warning = {0};

        if (reach->may_run[i]) {
            continue;
        }
        if (awaited == i) {
            mdf_error_set(&warning, MDF_MODEL, "node '%s' never runs: it waits for itself to have run", nodes[i].id);
        } else if (awaited != SIZE_MAX) {
            mdf_error_set(&warning, MDF_MODEL, "node '%s' never runs: it waits for node '%s', which never runs", nodes[i].id,
                          nodes[awaited].id);
        } else {
            mdf_error_set(&warning, MDF_MODEL, "node '%s' never runs: its condition can not hold", nodes[i].id);
        }
        mdf_error_at(&warning, origin->file, origin->line, origin->column);
        mdf_error_in(&warning, "%s", origin->path);
        mdf_warn_of(&compiler->receiver, "never-runs", &warning);
    }
}

/* ------------------------------------------------------------------ rest */

static void note_window(const struct mdf_schedule *schedule, const struct mdf_time_window *window, int64_t pass_ticks,
                        struct mdf_steady_state *steady)
{
    int64_t period = window->repeat > 0 ? window->repeat / mdf_gcd(window->repeat, pass_ticks) : 1;
    int64_t latest = window->last < INT64_MAX ? window->last : window->first;

    if (!schedule->is_absolute) {
        return;
    }
    steady->time = latest > steady->time ? latest : steady->time;
    steady->known = steady->known && mdf_lcm(steady->period, period, &steady->period) && steady->period <= LONGEST_PERIOD;
}

static void note_clock(const struct mdf_condition *condition, struct mdf_steady_state *steady)
{
    double n = fabs(condition->n), *latest = &steady->clocks[condition->scope];

    if (condition->comparison != MDF_COMPARISON_MULTIPLE) {
        *latest = isfinite(condition->n) && condition->n > *latest ? condition->n : *latest;
        return;
    }
    steady->known = steady->known && n >= 1 && n <= (double)LONGEST_PERIOD && n == floor(n) &&
                    mdf_lcm(steady->period, (int64_t)n, &steady->period) && steady->period <= LONGEST_PERIOD;
}

/* Clocks of updates and sequences stand still during an evaluation. */
static void find_steady_state(struct mdf_schedule *schedule, size_t n_layers)
{
    struct mdf_steady_state *steady = &schedule->steady;
    int64_t pass_ticks = 1;

    *steady = (struct mdf_steady_state){.known = true, .time = INT64_MIN, .period = 1};
    for (size_t i = 0; i < MDF_CLOCK_COUNT; i++) {
        steady->clocks[i] = -1;
    }
    steady->known = !__builtin_mul_overflow(schedule->interval, (int64_t)n_layers, &pass_ticks);
    for (size_t i = 0; i < schedule->n_conditions; i++) {
        const struct mdf_condition *condition = &schedule->conditions[i];

        if (condition->kind == MDF_CONDITION_CLOCK && condition->scope < MDF_CLOCK_UPDATES) {
            note_clock(condition, steady);
        } else if (condition->kind == MDF_CONDITION_TIME && steady->known) {
            note_window(schedule, &schedule->times[condition->index], pass_ticks, steady);
        }
    }
}

bool condition_check_reach(struct condition_builder *builder, struct mdf_schedule *schedule)
{
    struct reach reach = {.schedule = schedule, .n_nodes = builder->graph->graph->n_nodes};

    find_steady_state(schedule, builder->compiler->program->n_layers);
    reach.may_run = mdf_arena_array(&builder->compiler->scratch, reach.n_nodes, sizeof *reach.may_run);
    if (reach.may_run == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    find_runnable(&reach, builder->compiler->program);
    if (builder->compiler->looks_over) {
        tell_idle_nodes(builder, &reach);
    }
    return may_hold(&reach, schedule->end_of_update) || may_hold(&reach, schedule->end_of_sequence) || endless(builder, &reach);
}
