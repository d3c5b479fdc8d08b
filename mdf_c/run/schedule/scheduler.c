/* scheduler.c - see scheduler.h. Nothing here looks up a name or allocates, but for the record of what ran. */
#include "mdf_c/run/schedule/scheduler.h"

#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/run/state.h"

#include <math.h>
#include <string.h>

enum outcome_of_condition { FAILS, HOLDS, BROKEN };

bool mdf_scheduler_init(struct mdf_scheduler *scheduler, const struct mdf_program *program, struct mdf_arena *arena)
{
    const struct mdf_schedule *schedule = program->schedule;

    for (size_t i = 0; i < MDF_SCOPE_COUNT; i++) {
        scheduler->counts[i] = mdf_arena_array(arena, program->n_nodes, sizeof *scheduler->counts[i]);
        if (scheduler->counts[i] == NULL) {
            return false;
        }
    }
    scheduler->marks = mdf_arena_array(arena, schedule->n_usables, sizeof *scheduler->marks);
    scheduler->spent = mdf_arena_array(arena, schedule->n_spent, sizeof *scheduler->spent);
    scheduler->last_sets = mdf_arena_array(arena, program->n_nodes, sizeof *scheduler->last_sets);
    scheduler->in_set = mdf_arena_array(arena, program->n_nodes, sizeof *scheduler->in_set);
    return scheduler->marks != NULL && scheduler->spent != NULL && scheduler->last_sets != NULL && scheduler->in_set != NULL;
}

void mdf_scheduler_clear(struct mdf_scheduler *scheduler, const struct mdf_program *program)
{
    const struct mdf_schedule *schedule = program->schedule;
    struct mdf_scheduler fresh = {
        .marks = scheduler->marks, .spent = scheduler->spent, .last_sets = scheduler->last_sets, .in_set = scheduler->in_set};

    for (size_t i = 0; i < MDF_SCOPE_COUNT; i++) {
        fresh.counts[i] = scheduler->counts[i];
        memset(fresh.counts[i], 0, program->n_nodes * sizeof *fresh.counts[i]);
    }
    memset(fresh.marks, 0, schedule->n_usables * sizeof *fresh.marks);
    memset(fresh.spent, 0, schedule->n_spent * sizeof *fresh.spent);
    memset(fresh.last_sets, 0, program->n_nodes * sizeof *fresh.last_sets);
    memset(fresh.in_set, 0, program->n_nodes * sizeof *fresh.in_set);
    *scheduler = fresh;
}

void mdf_scheduler_copy(struct mdf_scheduler *target, const struct mdf_scheduler *source, const struct mdf_program *program)
{
    const struct mdf_schedule *schedule = program->schedule;
    struct mdf_scheduler copy = *source;

    for (size_t i = 0; i < MDF_SCOPE_COUNT; i++) {
        copy.counts[i] = target->counts[i];
        memcpy(copy.counts[i], source->counts[i], program->n_nodes * sizeof *copy.counts[i]);
    }
    copy.marks = target->marks;
    copy.spent = target->spent;
    copy.last_sets = target->last_sets;
    copy.in_set = target->in_set;
    memcpy(copy.marks, source->marks, schedule->n_usables * sizeof *copy.marks);
    memcpy(copy.spent, source->spent, schedule->n_spent * sizeof *copy.spent);
    memcpy(copy.last_sets, source->last_sets, program->n_nodes * sizeof *copy.last_sets);
    memcpy(copy.in_set, source->in_set, program->n_nodes * sizeof *copy.in_set);
    *target = copy;
}

/* ------------------------------------------------------------------ messages */

static enum outcome_of_condition broken(struct mdf_state *state, const struct mdf_condition *condition)
{
    const struct mdf_origin *origin = &state->program->code->origins[condition->origin];
    mdf_error *error = &state->shared->execution.context.error;

    mdf_error_at(error, origin->file, origin->line, origin->column);
    mdf_error_in(error, "%s", origin->path);
    return BROKEN;
}

/* ------------------------------------------------------------------ conditions */

static bool compare_count(uint64_t count, const struct mdf_condition *condition)
{
    return mdf_compare_count((double)count, (enum mdf_comparison)condition->comparison, condition->n);
}

/* The number that a watch sees. False: the value is not one number. */
static bool look(const struct mdf_state *state, const struct mdf_watch *watch, double *number)
{
    bool has_arrived = watch->is_input && watch->port != SIZE_MAX && state->ports[watch->port].has_value;

    if (!watch->always && !has_arrived && !state->has_run[watch->node]) {
        if (watch->initial_value != MDF_NO_OPERAND) {
            return mdf_value_number_at(mdf_frame_value(state->frame, watch->initial_value), watch->indices, watch->n_indices,
                                       number);
        }
        *number = watch->initial;
        return watch->has_initial;
    }
    if (watch->is_input && !has_arrived) {
        *number = 0; /* its node has read it */
        return true;
    }
    return mdf_value_number_at(mdf_frame_value(state->frame, watch->value), watch->indices, watch->n_indices, number);
}

static enum outcome_of_condition no_number(struct mdf_state *state, const struct mdf_condition *condition,
                                           const struct mdf_watch *watch)
{
    mdf_error_set(&state->shared->execution.context.error, MDF_VALUE, "'%s' of node '%s' %s", watch->name,
                  state->program->nodes[watch->node].id,
                  state->has_run[watch->node] || watch->always
                      ? "is not one number that can be compared; say with 'indices' which one"
                      : "has no value before the node has run; give it a default_initial_value");
    return broken(state, condition);
}

static enum outcome_of_condition check_threshold(struct mdf_state *state, const struct mdf_condition *condition)
{
    const struct mdf_watch *watch = &state->program->schedule->watches[condition->index];
    double value, limit = condition->n;
    bool is_close;

    if (!look(state, watch, &value)) {
        return no_number(state, condition, watch);
    }
    if (condition->comparison != MDF_COMPARISON_EQUAL && condition->comparison != MDF_COMPARISON_NOT_EQUAL) {
        return mdf_compare_count(value, (enum mdf_comparison)condition->comparison, limit) ? HOLDS : FAILS;
    }
    is_close = value == limit || (isfinite(value) && isfinite(limit) &&
                                  fabs(value - limit) <= watch->absolute_tolerance + watch->relative_tolerance * fabs(limit));
    return is_close == (condition->comparison == MDF_COMPARISON_EQUAL) ? HOLDS : FAILS;
}

/* All, or any, of the nodes are finished. */
static enum outcome_of_condition check_finished(struct mdf_scheduler *scheduler, struct mdf_state *state,
                                                const struct mdf_condition *condition)
{
    bool all = condition->kind == MDF_CONDITION_FINISHED_ALL;

    for (uint32_t i = 0; i < condition->n_items; i++) {
        const struct mdf_watch *watch = &state->program->schedule->watches[condition->index + i];
        double number = 1;
        bool is_finished;

        if (watch->value == MDF_NO_OPERAND) {
            is_finished = scheduler->counts[MDF_SCOPE_UPDATE][watch->node] > 0;
        } else if (!state->has_run[watch->node]) {
            is_finished = false;
        } else if (look(state, watch, &number)) {
            is_finished = number != 0;
        } else {
            return no_number(state, condition, watch);
        }
        if (is_finished != all) {
            return is_finished ? HOLDS : FAILS;
        }
    }
    return all ? HOLDS : FAILS;
}

static double sum_calls(const struct mdf_scheduler *scheduler, const uint32_t *nodes, const struct mdf_condition *condition)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < condition->n_items; i++) {
        sum += scheduler->counts[condition->scope][nodes[condition->index + i]];
    }
    return (double)sum;
}

static bool have_run(const struct mdf_scheduler *scheduler, const uint32_t *nodes, const struct mdf_condition *condition)
{
    for (uint32_t i = 0; i < condition->n_items; i++) {
        if (scheduler->counts[condition->scope][nodes[condition->index + i]] == 0) {
            return false;
        }
    }
    return true;
}

static bool is_in_window(const struct mdf_time_window *window, int64_t time)
{
    int64_t since;

    if (time < window->first || time > window->last) {
        return false;
    }
    return window->repeat == 0 || (!__builtin_sub_overflow(time, window->offset, &since) && since % window->repeat == 0);
}

static enum outcome_of_condition check_just_ran(struct mdf_scheduler *scheduler, struct mdf_state *state,
                                                const struct mdf_condition *condition)
{
    if (scheduler->n_sets == 0) {
        mdf_error_set(&state->shared->execution.context.error, MDF_MODEL,
                      "JustRan looks at the last execution set before there is any; let another condition go before it, as "
                      "All(AfterNPasses(1), JustRan(...))");
        return broken(state, condition);
    }
    return scheduler->last_sets[condition->index] == scheduler->n_sets ? HOLDS : FAILS;
}

static enum outcome_of_condition check(struct mdf_scheduler *scheduler, struct mdf_state *state, uint32_t index);

/* All, Any, Not, NWhen. */
static enum outcome_of_condition check_composite(struct mdf_scheduler *scheduler, struct mdf_state *state, uint32_t index)
{
    const struct mdf_condition *conditions = state->program->schedule->conditions, *condition = &conditions[index];
    enum outcome_of_condition outcome = condition->kind == MDF_CONDITION_ALL ? HOLDS : FAILS;
    enum outcome_of_condition goes_on = outcome;

    if (condition->kind == MDF_CONDITION_N_WHEN && !((double)scheduler->spent[condition->index] < condition->n)) {
        return FAILS;
    }
    for (uint32_t i = index + 1; i < condition->end && outcome == goes_on; i = conditions[i].end) {
        outcome = check(scheduler, state, i);
    }
    if (outcome == BROKEN || condition->kind <= MDF_CONDITION_ANY) {
        return outcome;
    }
    if (condition->kind == MDF_CONDITION_NOT) {
        return outcome == HOLDS ? FAILS : HOLDS;
    }
    if (outcome == HOLDS) {
        scheduler->spent[condition->index]++;
        scheduler->has_changed = true;
    }
    return outcome;
}

static enum outcome_of_condition check(struct mdf_scheduler *scheduler, struct mdf_state *state, uint32_t index)
{
    const struct mdf_schedule *schedule = state->program->schedule;
    const struct mdf_condition *condition = &schedule->conditions[index];
    const struct mdf_usable *usable;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        return condition->n != 0 ? HOLDS : FAILS;
    case MDF_CONDITION_ALL:
    case MDF_CONDITION_ANY:
    case MDF_CONDITION_NOT:
    case MDF_CONDITION_N_WHEN:
        return check_composite(scheduler, state, index);
    case MDF_CONDITION_CALLS:
        return compare_count(scheduler->counts[condition->scope][condition->index], condition) ? HOLDS : FAILS;
    case MDF_CONDITION_CALLS_SUM:
        return sum_calls(scheduler, schedule->node_lists, condition) >= condition->n ? HOLDS : FAILS;
    case MDF_CONDITION_USABLE_CALLS:
        usable = &schedule->usables[condition->index];
        return (double)(scheduler->counts[MDF_SCOPE_UPDATE][usable->dependency] - scheduler->marks[condition->index]) >=
                       condition->n
                   ? HOLDS
                   : FAILS;
    case MDF_CONDITION_CLOCK:
        return compare_count(scheduler->clocks[condition->scope], condition) ? HOLDS : FAILS;
    case MDF_CONDITION_JUST_RAN:
        return check_just_ran(scheduler, state, condition);
    case MDF_CONDITION_ALL_HAVE_RUN:
        return scheduler->n_have_run[condition->scope] == state->program->n_nodes ? HOLDS : FAILS;
    case MDF_CONDITION_HAVE_RUN:
        return have_run(scheduler, schedule->node_lists, condition) ? HOLDS : FAILS;
    case MDF_CONDITION_TIME:
        return is_in_window(&schedule->times[condition->index], scheduler->time) ? HOLDS : FAILS;
    case MDF_CONDITION_THRESHOLD:
        return check_threshold(state, condition);
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        break;
    }
    return check_finished(scheduler, state, condition);
}

/* ------------------------------------------------------------------ counting */

static void count_run(struct mdf_scheduler *scheduler, const struct mdf_schedule *schedule, size_t node)
{
    const struct mdf_schedule_node *own = &schedule->nodes[node];

    for (size_t scope = 0; scope < MDF_SCOPE_COUNT; scope++) {
        scheduler->n_have_run[scope] += scheduler->counts[scope][node]++ == 0;
    }
    for (uint32_t i = own->first_usable; i < own->first_usable + own->n_usables; i++) {
        const struct mdf_usable *usable = &schedule->usables[i];

        scheduler->marks[i] = scheduler->counts[MDF_SCOPE_UPDATE][usable->dependency] - usable->own;
    }
}

static void reset_counts(struct mdf_scheduler *scheduler, enum mdf_count_scope scope, size_t n_nodes)
{
    memset(scheduler->counts[scope], 0, n_nodes * sizeof *scheduler->counts[scope]);
    scheduler->n_have_run[scope] = 0;
}

static void begin_update(struct mdf_scheduler *scheduler, const struct mdf_program *program)
{
    const struct mdf_schedule *schedule = program->schedule;

    reset_counts(scheduler, MDF_SCOPE_PASS, program->n_nodes);
    reset_counts(scheduler, MDF_SCOPE_UPDATE, program->n_nodes);
    if (schedule->n_usables > 0) {
        memset(scheduler->marks, 0, schedule->n_usables * sizeof *scheduler->marks);
    }
    scheduler->clocks[MDF_CLOCK_PASSES_IN_UPDATE] = scheduler->clocks[MDF_CLOCK_SETS_IN_UPDATE] = 0;
    scheduler->n_idle = 0;
    if (schedule->is_absolute && scheduler->time < schedule->start) {
        scheduler->time = schedule->start;
    }
}

/* A set is over: clocks go on. */
static bool end_set(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    const struct mdf_schedule *schedule = state->program->schedule;

    scheduler->clocks[MDF_CLOCK_SETS_IN_UPDATE]++;
    scheduler->clocks[MDF_CLOCK_SETS_IN_LIFE]++;
    if (schedule->is_absolute && __builtin_add_overflow(scheduler->time, schedule->interval, &scheduler->time)) {
        mdf_error_set(&state->shared->execution.context.error, MDF_LIMIT, "absolute time has passed what can be counted exactly");
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ sets */

/* Puts nodes of a layer whose conditions hold into the set, in rounds, until a round adds none. False: a condition is broken. */
static bool make_set(struct mdf_scheduler *scheduler, struct mdf_state *state, const struct mdf_program_layer *layer,
                     size_t *n_in_set)
{
    const struct mdf_schedule *schedule = state->program->schedule;
    size_t n_before = SIZE_MAX;

    *n_in_set = 0;
    while (*n_in_set != n_before && *n_in_set < layer->n_nodes) {
        n_before = *n_in_set;
        for (size_t i = 0; i < layer->n_nodes; i++) {
            size_t node = layer->nodes[i];
            enum outcome_of_condition outcome;

            if (scheduler->in_set[node]) {
                continue;
            }
            outcome = check(scheduler, state, schedule->nodes[node].condition);
            if (outcome == BROKEN) {
                return false;
            }
            if (outcome == HOLDS) {
                scheduler->in_set[node] = true;
                count_run(scheduler, schedule, node);
                (*n_in_set)++;
            }
        }
    }
    return true;
}

static bool open_set(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    scheduler->n_sets++;
    return mdf_schedule_record_set(&state->schedule, &state->shared->memory, scheduler->clocks[MDF_CLOCK_PASSES_IN_UPDATE],
                                   scheduler->time) ||
           mdf_state_out_of_memory(state);
}

/* Nodes of the set, of which there are several, take what edges bring before one of them runs. */
static bool take_first(struct mdf_scheduler *scheduler, struct mdf_state *state, const struct mdf_program_layer *layer)
{
    for (size_t i = 0; i < layer->n_nodes; i++) {
        if (scheduler->in_set[layer->nodes[i]] && !mdf_state_take(state, layer->nodes[i])) {
            return false;
        }
    }
    return true;
}

/* Runs the nodes of the set in the order of the file. */
static bool run_set(struct mdf_scheduler *scheduler, struct mdf_state *state, const struct mdf_program_layer *layer)
{
    bool takes_first = layer->takes_first;

    if (!open_set(scheduler, state) || (takes_first && !take_first(scheduler, state, layer))) {
        return false;
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        size_t node = layer->nodes[i];

        if (!scheduler->in_set[node]) {
            continue;
        }
        scheduler->in_set[node] = false;
        scheduler->last_sets[node] = scheduler->n_sets;
        if (!(takes_first ? mdf_state_run_taken(state, node) : mdf_state_run_recorded(state, node))) {
            return false;
        }
    }
    return end_set(scheduler, state);
}

/* Nodes whose run was called off by an error are not in the next set. */
static void forget_set(struct mdf_scheduler *scheduler, const struct mdf_program *program)
{
    memset(scheduler->in_set, 0, program->n_nodes * sizeof *scheduler->in_set);
}

/* ------------------------------------------------------------------ passes */

/* The update ends, or, should it not, the sequence. */
static enum outcome_of_condition is_over(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    const struct mdf_schedule *schedule = state->program->schedule;
    enum outcome_of_condition outcome = check(scheduler, state, schedule->end_of_update);

    return outcome == FAILS ? check(scheduler, state, schedule->end_of_sequence) : outcome;
}

static bool run_pass(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    size_t n_in_pass = 0, n_in_set;

    reset_counts(scheduler, MDF_SCOPE_PASS, program->n_nodes);
    for (size_t i = 0; i < program->n_layers; i++) {
        enum outcome_of_condition over = is_over(scheduler, state);

        if (over != FAILS) {
            if (over == BROKEN) {
                return false;
            }
            break;
        }
        if (mdf_state_is_interrupted(state) || !make_set(scheduler, state, &program->layers[i], &n_in_set)) {
            return false;
        }
        n_in_pass += n_in_set;
        if ((n_in_set > 0 || program->schedule->is_absolute) && !run_set(scheduler, state, &program->layers[i])) {
            return false;
        }
    }
    if (n_in_pass == 0 && !program->schedule->is_absolute && !(open_set(scheduler, state) && end_set(scheduler, state))) {
        return false;
    }
    scheduler->has_changed = scheduler->has_changed || n_in_pass > 0;
    return true;
}

/* Clocks are past all that the conditions compare them with. */
static bool is_steady(const struct mdf_scheduler *scheduler, const struct mdf_steady_state *steady)
{
    for (size_t i = 0; i < MDF_CLOCK_COUNT; i++) {
        if ((double)scheduler->clocks[i] <= steady->clocks[i]) {
            return false;
        }
    }
    return steady->known && scheduler->time > steady->time;
}

static bool never_ends(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    mdf_error *error = &state->shared->execution.context.error;
    char names[300] = "";
    size_t used;

    for (size_t i = 0; i < program->n_nodes; i++) {
        used = strlen(names);
        if (scheduler->counts[MDF_SCOPE_UPDATE][i] == 0 && used + strlen(program->nodes[i].id) + 8 < sizeof names) {
            strcat(strcat(strcat(names, used > 0 ? ", '" : "'"), program->nodes[i].id), "'");
        }
    }
    mdf_error_set(
        error, MDF_MODEL,
        "the evaluation can never end: after pass %llu no node can run any more, and the termination does not hold%s%s%s",
        (unsigned long long)(scheduler->clocks[MDF_CLOCK_PASSES_IN_UPDATE] - scheduler->n_idle),
        names[0] != '\0' ? " (not run: " : "", names, names[0] != '\0' ? ")" : "");
    return broken(state, &program->schedule->conditions[program->schedule->end_of_update]) == HOLDS;
}

static bool has_too_many_passes(struct mdf_state *state)
{
    const struct mdf_schedule *schedule = state->program->schedule;

    mdf_error_set(&state->shared->execution.context.error, MDF_LIMIT,
                  "the evaluation has not ended after %llu passes; allow more of them (--max-passes), or change the termination",
                  (unsigned long long)state->program->max_passes);
    return broken(state, &schedule->conditions[schedule->end_of_update]) == HOLDS;
}

/* After a pass: has nothing changed for so long that nothing ever will, or are there too many? */
static bool goes_on(struct mdf_scheduler *scheduler, struct mdf_state *state, bool was_steady)
{
    const struct mdf_program *program = state->program;

    scheduler->n_idle = scheduler->has_changed || !was_steady ? 0 : scheduler->n_idle + 1;
    if (scheduler->n_idle > (uint64_t)program->schedule->steady.period) {
        return never_ends(scheduler, state);
    }
    return scheduler->clocks[MDF_CLOCK_PASSES_IN_UPDATE] < program->max_passes || has_too_many_passes(state);
}

static bool run_passes(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    const struct mdf_schedule *schedule = state->program->schedule;
    enum outcome_of_condition over;

    begin_update(scheduler, state->program);
    while ((scheduler->has_changed = false, over = is_over(scheduler, state)) == FAILS) {
        bool was_steady = is_steady(scheduler, &schedule->steady);

        if (!run_pass(scheduler, state)) {
            return false;
        }
        scheduler->clocks[MDF_CLOCK_PASSES_IN_UPDATE]++;
        scheduler->clocks[MDF_CLOCK_PASSES_IN_LIFE]++;
        if (!goes_on(scheduler, state, was_steady)) {
            return false;
        }
    }
    if (over == BROKEN) {
        return false;
    }
    scheduler->clocks[MDF_CLOCK_UPDATES]++;
    return check(scheduler, state, schedule->end_of_sequence) !=
           BROKEN; /* looked at once more, as it counts for an NWhen in it */
}

bool mdf_scheduler_run(struct mdf_scheduler *scheduler, struct mdf_state *state)
{
    bool done = run_passes(scheduler, state);

    if (!done) {
        forget_set(scheduler, state->program);
    }
    return done;
}
