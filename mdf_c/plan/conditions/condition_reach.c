/* condition_reach.c - what can be told of a schedule before it runs: that it can never end, and when it has come to rest.
 *
 * A node may run if its condition may hold; a condition may hold, or fail, as far as the counts of nodes that never run, and the
 * clocks, decide. Nodes that may run are found by adding them until none is left. */
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

/* Whether a condition may hold, and whether it may fail. */
struct prospect {
    bool hold, fail;
};

static bool compare(double left, enum mdf_comparison comparison, double right)
{
    return comparison == MDF_COMPARISON_LESS      ? left < right
           : comparison == MDF_COMPARISON_EQUAL   ? left == right
           : comparison == MDF_COMPARISON_GREATER ? left > right
                                                  : left >= right;
}

/* A count that may be anything, or is 0 for good. */
static struct prospect judge_count(const struct mdf_condition *condition, bool may_count)
{
    bool holds = compare(0, (enum mdf_comparison)condition->comparison, condition->n);

    return (struct prospect){may_count || holds, may_count || !holds};
}

static struct prospect judge_clock(const struct mdf_condition *condition)
{
    double n = condition->n;

    if (condition->scope == MDF_CLOCK_SEQUENCES) {
        return judge_count(condition, false);
    }
    if (condition->comparison == MDF_COMPARISON_LESS) {
        return (struct prospect){n > 0, true};
    }
    if (condition->comparison == MDF_COMPARISON_EQUAL) {
        return (struct prospect){n >= 0 && n == floor(n) && isfinite(n), true};
    }
    return (struct prospect){!isnan(n) && n < HUGE_VAL, true};
}

/* Of several nodes: whether any of them may run, and whether all may. */
static void judge_nodes(const struct reach *reach, const struct mdf_condition *condition, bool *any, bool *all)
{
    uint32_t i;

    *any = false;
    *all = true;
    for (i = 0; i < condition->n_items; i++) {
        size_t node = condition->kind == MDF_CONDITION_FINISHED_ANY || condition->kind == MDF_CONDITION_FINISHED_ALL
                          ? reach->schedule->watches[condition->index + i].node
                          : reach->schedule->node_lists[condition->index + i];

        *any = *any || reach->may_run[node];
        *all = *all && reach->may_run[node];
    }
}

static bool all_may_run(const struct reach *reach)
{
    return memchr(reach->may_run, 0, reach->n_nodes * sizeof *reach->may_run) == NULL;
}

static struct prospect judge_leaf(const struct reach *reach, const struct mdf_condition *condition)
{
    bool any, all;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        return (struct prospect){condition->n != 0, condition->n == 0};
    case MDF_CONDITION_CALLS:
        return judge_count(condition, reach->may_run[condition->index]);
    case MDF_CONDITION_CALLS_SUM:
        judge_nodes(reach, condition, &any, &all);
        return judge_count(condition, any);
    case MDF_CONDITION_USABLE_CALLS:
        return judge_count(condition, reach->may_run[reach->schedule->usables[condition->index].dependency]);
    case MDF_CONDITION_CLOCK:
        return judge_clock(condition);
    case MDF_CONDITION_JUST_RAN:
        return (struct prospect){reach->may_run[condition->index], true};
    case MDF_CONDITION_ALL_HAVE_RUN:
        return (struct prospect){all_may_run(reach), true};
    case MDF_CONDITION_HAVE_RUN:
    case MDF_CONDITION_FINISHED_ALL:
        judge_nodes(reach, condition, &any, &all);
        return (struct prospect){all, true};
    case MDF_CONDITION_FINISHED_ANY:
        judge_nodes(reach, condition, &any, &all);
        return (struct prospect){any, true};
    case MDF_CONDITION_TIME:
    case MDF_CONDITION_THRESHOLD:
        return (struct prospect){true, true};
    case MDF_CONDITION_ALL: /* these have parts */
    case MDF_CONDITION_ANY:
    case MDF_CONDITION_NOT:
    case MDF_CONDITION_N_WHEN:
        break;
    }
    return (struct prospect){true, true};
}

static struct prospect judge(const struct reach *reach, uint32_t index)
{
    const struct mdf_condition *conditions = reach->schedule->conditions, *condition = &conditions[index];
    struct prospect all = {true, false}, any = {false, true}, part = {false, true};
    uint32_t i;

    if (condition->kind < MDF_CONDITION_ALL || condition->kind > MDF_CONDITION_N_WHEN) {
        return judge_leaf(reach, condition);
    }
    for (i = index + 1; i < condition->end; i = conditions[i].end) {
        part = judge(reach, i);
        all = (struct prospect){all.hold && part.hold, all.fail || part.fail};
        any = (struct prospect){any.hold || part.hold, any.fail && part.fail};
    }
    switch (condition->kind) {
    case MDF_CONDITION_ALL:
        return all;
    case MDF_CONDITION_ANY:
        return any;
    case MDF_CONDITION_NOT:
        return (struct prospect){part.fail, part.hold};
    case MDF_CONDITION_N_WHEN:
        return (struct prospect){part.hold && condition->n > 0, true};
    default:
        return (struct prospect){true, true};
    }
}

/* Adds nodes whose conditions may hold until none is left to add. Layer by layer, so that a round or two do; where many do not
 * (conditions on nodes of later layers, many in a row), nothing is told. */
static void find_runnable(struct reach *reach, const struct mdf_program *program)
{
    bool changed = true;
    size_t i, j;
    int round;

    for (round = 0; changed && round < MOST_ROUNDS; round++) {
        changed = false;
        for (i = 0; i < program->n_layers; i++) {
            for (j = 0; j < program->layers[i].n_nodes; j++) {
                size_t node = program->layers[i].nodes[j];

                if (!reach->may_run[node] && judge(reach, reach->schedule->nodes[node].condition).hold) {
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
    size_t i, used;

    for (i = 0; i < reach->n_nodes; i++) {
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

/* ------------------------------------------------------------------ rest */

static void settle_window(const struct mdf_schedule *schedule, const struct mdf_time_window *window, int64_t pass_ticks,
                          struct mdf_settlement *settlement)
{
    int64_t period = window->repeat > 0 ? window->repeat / mdf_gcd(window->repeat, pass_ticks) : 1;
    int64_t latest = window->last < INT64_MAX ? window->last : window->first;

    if (!schedule->is_absolute) {
        return;
    }
    settlement->time = latest > settlement->time ? latest : settlement->time;
    settlement->known =
        settlement->known && mdf_lcm(settlement->period, period, &settlement->period) && settlement->period <= LONGEST_PERIOD;
}

static void settle_clock(const struct mdf_condition *condition, struct mdf_settlement *settlement)
{
    double n = fabs(condition->n), *latest = &settlement->clocks[condition->scope];

    if (condition->comparison != MDF_COMPARISON_MULTIPLE) {
        *latest = isfinite(condition->n) && condition->n > *latest ? condition->n : *latest;
        return;
    }
    settlement->known = settlement->known && n >= 1 && n <= (double)LONGEST_PERIOD && n == floor(n) &&
                        mdf_lcm(settlement->period, (int64_t)n, &settlement->period) && settlement->period <= LONGEST_PERIOD;
}

/* Clocks of updates and sequences stand still during an evaluation. */
static void find_settlement(struct mdf_schedule *schedule, size_t n_layers)
{
    struct mdf_settlement *settlement = &schedule->settlement;
    int64_t pass_ticks = 1;
    size_t i;

    *settlement = (struct mdf_settlement){.known = true, .time = INT64_MIN, .period = 1};
    for (i = 0; i < MDF_CLOCK_COUNT; i++) {
        settlement->clocks[i] = -1;
    }
    settlement->known = !__builtin_mul_overflow(schedule->interval, (int64_t)n_layers, &pass_ticks);
    for (i = 0; i < schedule->n_conditions; i++) {
        const struct mdf_condition *condition = &schedule->conditions[i];

        if (condition->kind == MDF_CONDITION_CLOCK && condition->scope < MDF_CLOCK_UPDATES) {
            settle_clock(condition, settlement);
        } else if (condition->kind == MDF_CONDITION_TIME && settlement->known) {
            settle_window(schedule, &schedule->times[condition->index], pass_ticks, settlement);
        }
    }
}

bool condition_check_reach(struct condition_builder *builder, struct mdf_schedule *schedule)
{
    struct reach reach = {.schedule = schedule, .n_nodes = builder->graph->graph->n_nodes};

    find_settlement(schedule, builder->compiler->program->n_layers);
    reach.may_run = mdf_arena_array(&builder->compiler->scratch, reach.n_nodes, sizeof *reach.may_run);
    if (reach.may_run == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    find_runnable(&reach, builder->compiler->program);
    return judge(&reach, schedule->end_of_update).hold || judge(&reach, schedule->end_of_sequence).hold ||
           endless(builder, &reach);
}
