/* whole_schedule.c - see whole_schedule.h. Conditions as ops; what scheduler.c's `check` says of them. */
#include "mdf_c/run/whole/whole_schedule.h"

#include <math.h>

/* Whole numbers up to here are the same as int64 and as float64. */
static const double largest_whole = 0x1p53;

/* ------------------------------------------------------------------ extras */

size_t mdf_whole_n_of(const struct mdf_program *program, enum mdf_extra kind)
{
    const struct mdf_schedule *schedule = program->schedule;

    if (kind == MDF_EXTRA_STEPS) {
        return 1;
    }
    if (schedule == NULL) {
        return 0;
    }
    switch (kind) {
    case MDF_EXTRA_MARKS:
        return schedule->n_usables;
    case MDF_EXTRA_SPENT:
        return schedule->n_spent;
    case MDF_EXTRA_STEPS:
    case MDF_EXTRA_N_SETS:
    case MDF_EXTRA_TIME:
        return 1;
    case MDF_EXTRA_CLOCKS:
        return MDF_CLOCK_COUNT;
    case MDF_EXTRA_COUNTS_IN_PASS:
    case MDF_EXTRA_COUNTS_IN_UPDATE:
    case MDF_EXTRA_COUNTS_IN_LIFE:
    case MDF_EXTRA_LAST_SETS:
        return program->n_nodes;
    case MDF_EXTRA_KINDS:
        break;
    }
    return 0;
}

size_t mdf_whole_n_extras(const struct mdf_program *program)
{
    size_t n = 0;
    int kind;

    for (kind = 0; kind < MDF_EXTRA_KINDS; kind++) {
        n += mdf_whole_n_of(program, (enum mdf_extra)kind);
    }
    return n;
}

mdf_operand mdf_whole_extra(const struct mdf_program *program, enum mdf_extra kind, size_t index)
{
    size_t slot = program->code->n_slots + index;
    int before;

    for (before = 0; before < (int)kind; before++) {
        slot += mdf_whole_n_of(program, (enum mdf_extra)before);
    }
    return MDF_OPERAND(MDF_OPERAND_SLOT, slot);
}

uint64_t *mdf_whole_home(struct mdf_state *state, enum mdf_extra kind, size_t index)
{
    struct mdf_scheduler *scheduler = &state->scheduler;

    switch (kind) {
    case MDF_EXTRA_STEPS:
        return (uint64_t *)&state->whole->n_steps;
    case MDF_EXTRA_COUNTS_IN_LIFE:
        return &scheduler->counts[MDF_SCOPE_LIFE][index];
    case MDF_EXTRA_SPENT:
        return &scheduler->spent[index];
    case MDF_EXTRA_LAST_SETS:
        return &scheduler->last_sets[index];
    case MDF_EXTRA_N_SETS:
        return &scheduler->n_sets;
    case MDF_EXTRA_CLOCKS:
        return &scheduler->clocks[index];
    case MDF_EXTRA_TIME:
        return (uint64_t *)&scheduler->time;
    case MDF_EXTRA_COUNTS_IN_PASS:
    case MDF_EXTRA_COUNTS_IN_UPDATE:
    case MDF_EXTRA_MARKS:
    case MDF_EXTRA_KINDS:
        break;
    }
    return NULL;
}

bool mdf_whole_is_kept(const struct mdf_whole_schedule *whole, enum mdf_extra kind, size_t index)
{
    return whole->is_kept[MDF_OPERAND_INDEX(mdf_whole_extra(whole->program, kind, index))];
}

mdf_lowered_id mdf_whole_value(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_extra kind, size_t index)
{
    return lowering_value_of(whole->lowering, scope, mdf_whole_extra(whole->program, kind, index));
}

bool mdf_whole_set(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_extra kind, size_t index,
                   mdf_lowered_id value)
{
    return !mdf_whole_is_kept(whole, kind, index) ||
           lowering_bind(whole->lowering, scope, mdf_whole_extra(whole->program, kind, index), value);
}

bool mdf_whole_add(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_extra kind, size_t index,
                   mdf_lowered_id value)
{
    return !mdf_whole_is_kept(whole, kind, index) ||
           mdf_whole_set(
               whole, scope, kind, index,
               mdf_term_compute(whole->lowering, MDF_LOWERED_ADD, false, mdf_whole_value(whole, scope, kind, index), value));
}

/* ------------------------------------------------------------------ what is kept */

static void keep(const struct mdf_program *program, bool *is_kept, enum mdf_extra kind, size_t index)
{
    is_kept[MDF_OPERAND_INDEX(mdf_whole_extra(program, kind, index))] = true;
}

static enum mdf_extra counts_in(uint8_t scope)
{
    return (enum mdf_extra)(MDF_EXTRA_COUNTS_IN_PASS + (int)scope - MDF_SCOPE_PASS);
}

static void keep_all(const struct mdf_program *program, bool *is_kept, enum mdf_extra kind)
{
    size_t i;

    for (i = 0; i < mdf_whole_n_of(program, kind); i++) {
        keep(program, is_kept, kind, i);
    }
}

static void keep_looked_at(const struct mdf_program *program, const struct mdf_condition *condition, bool *is_kept)
{
    const struct mdf_schedule *schedule = program->schedule;
    uint32_t i;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_N_WHEN:
        keep(program, is_kept, MDF_EXTRA_SPENT, condition->index);
        break;
    case MDF_CONDITION_CALLS:
        keep(program, is_kept, counts_in(condition->scope), condition->index);
        break;
    case MDF_CONDITION_CALLS_SUM:
    case MDF_CONDITION_HAVE_RUN:
        for (i = 0; i < condition->n_items; i++) {
            keep(program, is_kept, counts_in(condition->scope), schedule->node_lists[condition->index + i]);
        }
        break;
    case MDF_CONDITION_ALL_HAVE_RUN:
        keep_all(program, is_kept, counts_in(condition->scope));
        break;
    case MDF_CONDITION_USABLE_CALLS:
        keep(program, is_kept, MDF_EXTRA_MARKS, condition->index);
        keep(program, is_kept, MDF_EXTRA_COUNTS_IN_UPDATE, schedule->usables[condition->index].dependency);
        break;
    case MDF_CONDITION_CLOCK:
        keep(program, is_kept, MDF_EXTRA_CLOCKS, condition->scope);
        break;
    case MDF_CONDITION_JUST_RAN:
        keep_all(program, is_kept, MDF_EXTRA_N_SETS);
        keep(program, is_kept, MDF_EXTRA_LAST_SETS, condition->index);
        break;
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        for (i = 0; i < condition->n_items; i++) {
            keep(program, is_kept, MDF_EXTRA_COUNTS_IN_UPDATE, schedule->watches[condition->index + i].node);
        }
        break;
    case MDF_CONDITION_CONSTANT:
    case MDF_CONDITION_ALL:
    case MDF_CONDITION_ANY:
    case MDF_CONDITION_NOT:
    case MDF_CONDITION_TIME:
    case MDF_CONDITION_THRESHOLD:
        break;
    }
}

void mdf_whole_mark_kept(const struct mdf_program *program, bool *is_kept)
{
    size_t i;

    for (i = 0; i < program->schedule->n_conditions; i++) {
        keep_looked_at(program, &program->schedule->conditions[i], is_kept);
    }
    if (program->schedule->is_absolute) {
        keep(program, is_kept, MDF_EXTRA_TIME, 0);
    }
}

/* ------------------------------------------------------------------ conditions */

/* A count, which is whole, compared with n. */
static mdf_lowered_id compare(const struct mdf_whole_schedule *whole, mdf_lowered_id count, uint8_t comparison, double n)
{
    static const enum mdf_lowered_code codes[] = {
        [MDF_COMPARISON_LESS] = MDF_LOWERED_LESS,       [MDF_COMPARISON_AT_MOST] = MDF_LOWERED_LESS_EQUAL,
        [MDF_COMPARISON_EQUAL] = MDF_LOWERED_EQUAL,     [MDF_COMPARISON_NOT_EQUAL] = MDF_LOWERED_NOT_EQUAL,
        [MDF_COMPARISON_GREATER] = MDF_LOWERED_GREATER, [MDF_COMPARISON_AT_LEAST] = MDF_LOWERED_GREATER_EQUAL};
    struct lowering *lowering = whole->lowering;

    if (!(fabs(n) <= largest_whole) || n != floor(n) || (comparison == MDF_COMPARISON_MULTIPLE && n == 0)) {
        lowering_fail(lowering, MDF_REFUSED_FRACTIONAL_COUNT);
        return MDF_LOWERED_NONE;
    }
    if (comparison != MDF_COMPARISON_MULTIPLE) {
        return mdf_term_compute(lowering, codes[comparison], false, count, mdf_term_whole(lowering, (int64_t)n));
    }
    return mdf_term_compute(
        lowering, MDF_LOWERED_EQUAL, false,
        mdf_term_compute(lowering, MDF_LOWERED_REMAINDER, false, count, mdf_term_whole(lowering, (int64_t)fabs(n))),
        mdf_term_whole(lowering, 0));
}

static mdf_lowered_id has_count(const struct mdf_whole_schedule *whole, struct scope *scope, uint8_t count_scope, size_t node)
{
    return compare(whole, mdf_whole_value(whole, scope, counts_in(count_scope), node), MDF_COMPARISON_GREATER, 0);
}

static mdf_lowered_id check_calls_sum(const struct mdf_whole_schedule *whole, struct scope *scope,
                                      const struct mdf_condition *condition)
{
    mdf_lowered_id sum = mdf_term_whole(whole->lowering, 0);
    uint32_t i;

    for (i = 0; i < condition->n_items; i++) {
        size_t node = whole->schedule->node_lists[condition->index + i];

        sum = mdf_term_compute(whole->lowering, MDF_LOWERED_ADD, false, sum,
                               mdf_whole_value(whole, scope, counts_in(condition->scope), node));
    }
    return compare(whole, sum, MDF_COMPARISON_AT_LEAST, condition->n);
}

static mdf_lowered_id check_have_run(const struct mdf_whole_schedule *whole, struct scope *scope,
                                     const struct mdf_condition *condition)
{
    bool all = condition->kind == MDF_CONDITION_ALL_HAVE_RUN;
    size_t n = all ? whole->program->n_nodes : condition->n_items, i;
    mdf_lowered_id truth = mdf_term_truth(whole->lowering, true);

    for (i = 0; i < n; i++) {
        size_t node = all ? i : whole->schedule->node_lists[condition->index + i];

        truth = mdf_term_and(whole->lowering, truth, has_count(whole, scope, condition->scope, node));
    }
    return truth;
}

static mdf_lowered_id check_usable(const struct mdf_whole_schedule *whole, struct scope *scope,
                                   const struct mdf_condition *condition)
{
    const struct mdf_usable *usable = &whole->schedule->usables[condition->index];
    mdf_lowered_id count = mdf_whole_value(whole, scope, MDF_EXTRA_COUNTS_IN_UPDATE, usable->dependency);

    return compare(whole,
                   mdf_term_compute(whole->lowering, MDF_LOWERED_SUBTRACT, false, count,
                                    mdf_whole_value(whole, scope, MDF_EXTRA_MARKS, condition->index)),
                   MDF_COMPARISON_AT_LEAST, condition->n);
}

static mdf_lowered_id check_time(const struct mdf_whole_schedule *whole, struct scope *scope,
                                 const struct mdf_time_window *window)
{
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id time = mdf_whole_value(whole, scope, MDF_EXTRA_TIME, 0), truth, since;

    truth = mdf_term_and(
        lowering, mdf_term_compute(lowering, MDF_LOWERED_GREATER_EQUAL, false, time, mdf_term_whole(lowering, window->first)),
        mdf_term_compute(lowering, MDF_LOWERED_LESS_EQUAL, false, time, mdf_term_whole(lowering, window->last)));
    if (window->repeat == 0) {
        return truth;
    }
    since = mdf_term_compute(lowering, MDF_LOWERED_SUBTRACT_EXACT, false, time, mdf_term_whole(lowering, window->offset));
    since = mdf_term_compute(lowering, MDF_LOWERED_REMAINDER, false, since, mdf_term_whole(lowering, window->repeat));
    return mdf_term_and(lowering, truth, compare(whole, since, MDF_COMPARISON_EQUAL, 0));
}

/* ------------------------------------------------------------------ values */

/* The number that a watch sees. */
static mdf_lowered_id look(const struct mdf_whole_schedule *whole, struct scope *scope, const struct mdf_watch *watch)
{
    struct lowering *lowering = whole->lowering;
    const struct mdf_value *example;
    mdf_lowered_id id;

    bool has_arrived = watch->is_input && watch->port != SIZE_MAX && whole->program->ports[watch->port].is_required,
         is_initial = !watch->always && !has_arrived && !whole->state->has_run[watch->node];

    if (is_initial && watch->initial_value == MDF_NO_OPERAND) {
        return watch->has_initial ? mdf_term_real(lowering, watch->initial) : MDF_LOWERED_NONE;
    }
    if (!is_initial && watch->is_input && !has_arrived) {
        return mdf_term_real(lowering, 0); /* edges bring something only while the node runs; from outside nothing has come */
    }
    id = lowering_value_of(lowering, scope, is_initial ? watch->initial_value : watch->value);
    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    example = lowering_example(lowering, id);
    if (watch->n_indices > 0 || example->kind != MDF_KIND_TENSOR || !lowering->lowered->values[id].is_scalar) {
        lowering_fail(lowering, MDF_REFUSED_WATCHED_ELEMENT);
        return MDF_LOWERED_NONE;
    }
    return lowering_cast(lowering, id, MDF_DTYPE_FLOAT64);
}

/* |value - limit| is within the tolerance, both finite, or they are equal. */
static mdf_lowered_id is_close(struct lowering *lowering, mdf_lowered_id value, double limit, double tolerance)
{
    mdf_lowered_id equal = mdf_term_compute(lowering, MDF_LOWERED_EQUAL, true, value, mdf_term_real(lowering, limit));
    mdf_lowered_id above, below, difference;

    if (!isfinite(limit) || !(tolerance >= 0)) {
        return equal;
    }
    difference = mdf_term_compute(lowering, MDF_LOWERED_SUBTRACT, true, value, mdf_term_real(lowering, limit));
    below = mdf_term_compute(lowering, MDF_LOWERED_LESS_EQUAL, true, difference, mdf_term_real(lowering, tolerance));
    above = mdf_term_compute(lowering, MDF_LOWERED_GREATER_EQUAL, true, difference, mdf_term_real(lowering, -tolerance));
    if (isinf(tolerance)) { /* then infinite values must be told apart: the difference from themselves is no number */
        difference = mdf_term_compute(lowering, MDF_LOWERED_SUBTRACT, true, value, value);
        below = mdf_term_compute(lowering, MDF_LOWERED_EQUAL, true, difference, mdf_term_real(lowering, 0));
    }
    return mdf_term_or(lowering, equal, mdf_term_and(lowering, below, above));
}

static mdf_lowered_id check_threshold(const struct mdf_whole_schedule *whole, struct scope *scope,
                                      const struct mdf_condition *condition)
{
    static const enum mdf_lowered_code codes[] = {[MDF_COMPARISON_LESS] = MDF_LOWERED_LESS,
                                                  [MDF_COMPARISON_AT_MOST] = MDF_LOWERED_LESS_EQUAL,
                                                  [MDF_COMPARISON_GREATER] = MDF_LOWERED_GREATER,
                                                  [MDF_COMPARISON_AT_LEAST] = MDF_LOWERED_GREATER_EQUAL};
    const struct mdf_watch *watch = &whole->schedule->watches[condition->index];
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id value = look(whole, scope, watch), close;

    if (value == MDF_LOWERED_NONE || condition->comparison == MDF_COMPARISON_MULTIPLE) {
        lowering_fail(lowering, MDF_REFUSED_WATCHED_NOTHING);
        return MDF_LOWERED_NONE;
    }
    if (condition->comparison != MDF_COMPARISON_EQUAL && condition->comparison != MDF_COMPARISON_NOT_EQUAL) {
        return mdf_term_compute(lowering, codes[condition->comparison], true, value, mdf_term_real(lowering, condition->n));
    }
    close = is_close(lowering, value, condition->n, watch->absolute_tolerance + watch->relative_tolerance * fabs(condition->n));
    return condition->comparison == MDF_COMPARISON_EQUAL || close == MDF_LOWERED_NONE ? close : mdf_term_not(lowering, close);
}

static mdf_lowered_id check_finished(const struct mdf_whole_schedule *whole, struct scope *scope,
                                     const struct mdf_condition *condition)
{
    bool all = condition->kind == MDF_CONDITION_FINISHED_ALL;
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id truth = mdf_term_truth(lowering, all);
    uint32_t i;

    for (i = 0; i < condition->n_items; i++) {
        const struct mdf_watch *watch = &whole->schedule->watches[condition->index + i];
        mdf_lowered_id is_finished;

        if (watch->value == MDF_NO_OPERAND) {
            is_finished = has_count(whole, scope, MDF_SCOPE_UPDATE, watch->node);
        } else if (!whole->state->has_run[watch->node]) {
            is_finished = mdf_term_truth(lowering, false);
        } else {
            is_finished =
                mdf_term_compute(lowering, MDF_LOWERED_NOT_EQUAL, true, look(whole, scope, watch), mdf_term_real(lowering, 0));
        }
        truth = all ? mdf_term_and(lowering, truth, is_finished) : mdf_term_or(lowering, truth, is_finished);
    }
    return truth;
}

/* ------------------------------------------------------------------ composition */

/* Parts are asked from left to right, as long as the ones before leave it open. */
static mdf_lowered_id check_parts(const struct mdf_whole_schedule *whole, struct scope *scope, uint32_t index,
                                  mdf_lowered_id reached)
{
    const struct mdf_condition *conditions = whole->schedule->conditions, *condition = &conditions[index];
    bool all = condition->kind == MDF_CONDITION_ALL;
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id truth = mdf_term_truth(lowering, all), part;
    uint32_t i;

    for (i = index + 1; i < condition->end && truth != MDF_LOWERED_NONE; i = conditions[i].end) {
        part = mdf_whole_check(whole, scope, i, mdf_term_and(lowering, reached, all ? truth : mdf_term_not(lowering, truth)));
        truth = part == MDF_LOWERED_NONE ? part : all ? mdf_term_and(lowering, truth, part) : mdf_term_or(lowering, truth, part);
    }
    return truth;
}

static mdf_lowered_id check_n_when(const struct mdf_whole_schedule *whole, struct scope *scope, uint32_t index,
                                   mdf_lowered_id reached)
{
    const struct mdf_condition *condition = &whole->schedule->conditions[index];
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id open, truth;

    open = compare(whole, mdf_whole_value(whole, scope, MDF_EXTRA_SPENT, condition->index), MDF_COMPARISON_LESS, condition->n);
    if (open == MDF_LOWERED_NONE) {
        return open;
    }
    truth = mdf_whole_check(whole, scope, index + 1, mdf_term_and(lowering, reached, open));
    truth = truth == MDF_LOWERED_NONE ? truth : mdf_term_and(lowering, open, truth);
    if (truth == MDF_LOWERED_NONE || !mdf_whole_add(whole, scope, MDF_EXTRA_SPENT, condition->index,
                                                    mdf_term_number(lowering, mdf_term_and(lowering, reached, truth)))) {
        return MDF_LOWERED_NONE;
    }
    return truth;
}

static mdf_lowered_id check_last_set(const struct mdf_whole_schedule *whole, struct scope *scope, size_t node)
{
    return mdf_term_compute(whole->lowering, MDF_LOWERED_EQUAL, false, mdf_whole_value(whole, scope, MDF_EXTRA_LAST_SETS, node),
                            mdf_whole_value(whole, scope, MDF_EXTRA_N_SETS, 0));
}

mdf_lowered_id mdf_whole_check(const struct mdf_whole_schedule *whole, struct scope *scope, uint32_t index,
                               mdf_lowered_id reached)
{
    const struct mdf_condition *condition = &whole->schedule->conditions[index];
    mdf_lowered_id part;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        return mdf_term_truth(whole->lowering, condition->n != 0);
    case MDF_CONDITION_ALL:
    case MDF_CONDITION_ANY:
        return check_parts(whole, scope, index, reached);
    case MDF_CONDITION_NOT:
        part = mdf_whole_check(whole, scope, index + 1, reached);
        return part == MDF_LOWERED_NONE ? part : mdf_term_not(whole->lowering, part);
    case MDF_CONDITION_N_WHEN:
        return check_n_when(whole, scope, index, reached);
    case MDF_CONDITION_CALLS:
        return compare(whole, mdf_whole_value(whole, scope, counts_in(condition->scope), condition->index), condition->comparison,
                       condition->n);
    case MDF_CONDITION_CALLS_SUM:
        return check_calls_sum(whole, scope, condition);
    case MDF_CONDITION_USABLE_CALLS:
        return check_usable(whole, scope, condition);
    case MDF_CONDITION_CLOCK:
        return compare(whole, mdf_whole_value(whole, scope, MDF_EXTRA_CLOCKS, condition->scope), condition->comparison,
                       condition->n);
    case MDF_CONDITION_JUST_RAN:
        return check_last_set(whole, scope, condition->index);
    case MDF_CONDITION_ALL_HAVE_RUN:
    case MDF_CONDITION_HAVE_RUN:
        return check_have_run(whole, scope, condition);
    case MDF_CONDITION_TIME:
        return check_time(whole, scope, &whole->schedule->times[condition->index]);
    case MDF_CONDITION_THRESHOLD:
        return check_threshold(whole, scope, condition);
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        return check_finished(whole, scope, condition);
    }
    return MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ dependence */

static bool names_node(const uint32_t *nodes, const struct mdf_condition *condition, size_t node)
{
    uint32_t i;

    for (i = 0; i < condition->n_items; i++) {
        if (nodes[condition->index + i] == node) {
            return true;
        }
    }
    return false;
}

static bool leaf_depends(const struct mdf_schedule *schedule, const struct mdf_condition *condition, size_t node)
{
    uint32_t i;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_N_WHEN: /* counts how often it is asked */
    case MDF_CONDITION_ALL_HAVE_RUN:
        return true;
    case MDF_CONDITION_CALLS:
        return condition->index == node;
    case MDF_CONDITION_CALLS_SUM:
    case MDF_CONDITION_HAVE_RUN:
        return names_node(schedule->node_lists, condition, node);
    case MDF_CONDITION_USABLE_CALLS:
        return schedule->usables[condition->index].dependency == node;
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        for (i = 0; i < condition->n_items; i++) {
            if (schedule->watches[condition->index + i].node == node) {
                return true;
            }
        }
        return false;
    case MDF_CONDITION_CONSTANT:
    case MDF_CONDITION_ALL:
    case MDF_CONDITION_ANY:
    case MDF_CONDITION_NOT:
    case MDF_CONDITION_CLOCK:
    case MDF_CONDITION_JUST_RAN:
    case MDF_CONDITION_TIME:
    case MDF_CONDITION_THRESHOLD:
        return false;
    }
    return true;
}

bool mdf_whole_depends(const struct mdf_schedule *schedule, uint32_t index, size_t node)
{
    uint32_t i;

    for (i = index; i < schedule->conditions[index].end; i++) {
        if (leaf_depends(schedule, &schedule->conditions[i], node)) {
            return true;
        }
    }
    return false;
}
