/* whole_schedule.c - see whole_schedule.h. Conditions as ops: the terms of condition_terms.h. */
#include "mdf_c/run/whole/whole_schedule.h"

#include "mdf_c/plan/conditions/condition_terms.h"

#include <math.h>

/* Whole numbers up to here are the same as int64 and as float64. */
static const double largest_whole = 0x1p53;

/* ------------------------------------------------------------------ counters */

size_t mdf_whole_n_of(const struct mdf_program *program, enum mdf_counter kind)
{
    const struct mdf_schedule *schedule = program->schedule;

    if (kind == MDF_COUNTER_STEPS) {
        return 1;
    }
    if (kind == MDF_COUNTER_TAKEN) {
        return program->stop.n_ports > 0;
    }
    if (schedule == NULL) {
        return 0;
    }
    switch (kind) {
    case MDF_COUNTER_MARKS:
        return schedule->n_usables;
    case MDF_COUNTER_SPENT:
        return schedule->n_spent;
    case MDF_COUNTER_STEPS:
    case MDF_COUNTER_TAKEN:
    case MDF_COUNTER_N_SETS:
    case MDF_COUNTER_TIME:
        return 1;
    case MDF_COUNTER_CLOCKS:
        return MDF_CLOCK_COUNT;
    case MDF_COUNTER_COUNTS_IN_PASS:
    case MDF_COUNTER_COUNTS_IN_UPDATE:
    case MDF_COUNTER_COUNTS_IN_LIFE:
    case MDF_COUNTER_LAST_SETS:
        return program->n_nodes;
    case MDF_COUNTER_KINDS:
        break;
    }
    return 0;
}

size_t mdf_whole_n_counters(const struct mdf_program *program)
{
    size_t n = 0;

    for (int kind = 0; kind < MDF_COUNTER_KINDS; kind++) {
        n += mdf_whole_n_of(program, (enum mdf_counter)kind);
    }
    return n;
}

mdf_operand mdf_whole_counter(const struct mdf_program *program, enum mdf_counter kind, size_t index)
{
    size_t slot = program->code->n_slots + index;

    for (int before = 0; before < (int)kind; before++) {
        slot += mdf_whole_n_of(program, (enum mdf_counter)before);
    }
    return MDF_OPERAND(MDF_OPERAND_SLOT, slot);
}

uint64_t *mdf_whole_home(struct mdf_state *state, enum mdf_counter kind, size_t index)
{
    struct mdf_scheduler *scheduler = &state->scheduler;

    switch (kind) {
    case MDF_COUNTER_STEPS:
        return (uint64_t *)&state->shared->outermost->whole->n_steps;
    case MDF_COUNTER_TAKEN:
        return (uint64_t *)&state->shared->outermost->whole->n_taken;
    case MDF_COUNTER_COUNTS_IN_LIFE:
        return &scheduler->counts[MDF_SCOPE_LIFE][index];
    case MDF_COUNTER_SPENT:
        return &scheduler->spent[index];
    case MDF_COUNTER_LAST_SETS:
        return &scheduler->last_sets[index];
    case MDF_COUNTER_N_SETS:
        return &scheduler->n_sets;
    case MDF_COUNTER_CLOCKS:
        return &scheduler->clocks[index];
    case MDF_COUNTER_TIME:
        return (uint64_t *)&scheduler->time;
    case MDF_COUNTER_COUNTS_IN_PASS:
    case MDF_COUNTER_COUNTS_IN_UPDATE:
    case MDF_COUNTER_MARKS:
    case MDF_COUNTER_KINDS:
        break;
    }
    return NULL;
}

bool mdf_whole_is_kept(const struct mdf_whole_schedule *whole, enum mdf_counter kind, size_t index)
{
    return whole->is_kept[MDF_OPERAND_INDEX(mdf_whole_counter(whole->program, kind, index))];
}

mdf_lowered_id mdf_whole_value(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind, size_t index)
{
    return lowering_value_of(whole->lowering, scope, mdf_whole_counter(whole->program, kind, index));
}

bool mdf_whole_set(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind, size_t index,
                   mdf_lowered_id value)
{
    return !mdf_whole_is_kept(whole, kind, index) ||
           lowering_bind(whole->lowering, scope, mdf_whole_counter(whole->program, kind, index), value);
}

bool mdf_whole_add(const struct mdf_whole_schedule *whole, struct scope *scope, enum mdf_counter kind, size_t index,
                   mdf_lowered_id value)
{
    return !mdf_whole_is_kept(whole, kind, index) ||
           mdf_whole_set(
               whole, scope, kind, index,
               mdf_term_compute(whole->lowering, MDF_LOWERED_ADD, false, mdf_whole_value(whole, scope, kind, index), value));
}

/* ------------------------------------------------------------------ what is kept */

static void keep(const struct mdf_program *program, bool *is_kept, enum mdf_counter kind, size_t index)
{
    is_kept[MDF_OPERAND_INDEX(mdf_whole_counter(program, kind, index))] = true;
}

static enum mdf_counter counts_in(uint8_t scope)
{
    return (enum mdf_counter)(MDF_COUNTER_COUNTS_IN_PASS + (int)scope - MDF_SCOPE_PASS);
}

static void keep_all(const struct mdf_program *program, bool *is_kept, enum mdf_counter kind)
{
    for (size_t i = 0; i < mdf_whole_n_of(program, kind); i++) {
        keep(program, is_kept, kind, i);
    }
}

struct keeping {
    const struct mdf_program *program;
    bool *is_kept;
};

static void keep_read(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    const struct keeping *keeping = context;
    const struct mdf_program *program = keeping->program;

    switch (what) {
    case MDF_READ_RUNS:
        keep(program, keeping->is_kept, counts_in(scope), index);
        break;
    case MDF_READ_ALL_RUNS:
        keep_all(program, keeping->is_kept, counts_in(scope));
        break;
    case MDF_READ_USABLE:
        keep(program, keeping->is_kept, MDF_COUNTER_MARKS, index);
        keep(program, keeping->is_kept, MDF_COUNTER_COUNTS_IN_UPDATE, program->schedule->usables[index].dependency);
        break;
    case MDF_READ_CLOCK:
        keep(program, keeping->is_kept, MDF_COUNTER_CLOCKS, index);
        break;
    case MDF_READ_SPENT:
        keep(program, keeping->is_kept, MDF_COUNTER_SPENT, index);
        break;
    case MDF_READ_LAST_SET:
        keep_all(program, keeping->is_kept, MDF_COUNTER_N_SETS);
        keep(program, keeping->is_kept, MDF_COUNTER_LAST_SETS, index);
        break;
    case MDF_READ_TIME:
    case MDF_READ_VALUE:
        break;
    }
}

void mdf_whole_mark_kept(const struct mdf_program *program, bool *is_kept)
{
    struct keeping keeping = {program, is_kept};

    for (uint32_t i = 0; i < program->schedule->n_conditions; i = program->schedule->conditions[i].end) {
        mdf_conditions_read(program->schedule, i, keep_read, &keeping);
    }
    for (uint32_t i = 0; i < program->n_nodes; i++) {
        if (program->nodes[i].reset < program->nodes[i].initial) {
            keep(program, is_kept, MDF_COUNTER_COUNTS_IN_UPDATE, i);
        }
    }
    if (program->schedule->is_absolute) {
        keep(program, is_kept, MDF_COUNTER_TIME, 0);
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

static mdf_lowered_id check_time(const struct mdf_whole_schedule *whole, struct scope *scope,
                                 const struct mdf_time_window *window)
{
    struct lowering *lowering = whole->lowering;
    mdf_lowered_id time = mdf_whole_value(whole, scope, MDF_COUNTER_TIME, 0), truth, since;

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

/* The item of an array that a condition's index names. */
static mdf_lowered_id watched_item(struct lowering *lowering, mdf_lowered_id array, int64_t index)
{
    const struct mdf_value *example = lowering_example(lowering, array);
    int64_t length = example->kind == MDF_KIND_TENSOR && example->rank > 0 ? mdf_value_shape(example)[0] : 0;

    if (index < -length || index >= length) {
        lowering_fail(lowering, MDF_REFUSED_WATCHED_ELEMENT);
        return MDF_LOWERED_NONE;
    }
    return lowering_item(lowering, array, (size_t)(index < 0 ? index + length : index));
}

/* The number that a watch sees. */
static mdf_lowered_id look(const struct mdf_whole_schedule *whole, struct scope *scope, const struct mdf_watch *watch)
{
    struct lowering *lowering = whole->lowering;
    const struct mdf_value *example;
    mdf_lowered_id id;

    bool has_arrived = watch->is_input && watch->port != SIZE_MAX && whole->program->ports[watch->port].holds,
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
    for (size_t i = 0; i < watch->n_indices && id != MDF_LOWERED_NONE; i++) {
        id = watched_item(lowering, id, watch->indices[i]);
    }
    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    example = lowering_example(lowering, id);
    if (example->kind != MDF_KIND_TENSOR || !lowering->lowered->values[id].is_scalar) {
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

static mdf_lowered_id check_finished(const struct mdf_whole_schedule *whole, struct scope *scope, const struct mdf_watch *watch)
{
    if (!whole->state->has_run[watch->node]) {
        return mdf_term_truth(whole->lowering, false);
    }
    return mdf_term_compute(whole->lowering, MDF_LOWERED_NOT_EQUAL, true, look(whole, scope, watch),
                            mdf_term_real(whole->lowering, 0));
}

/* ------------------------------------------------------------------ terms */

/* A condition that is being lowered. */
struct checking {
    const struct mdf_whole_schedule *whole;
    struct scope *scope;
};

static union mdf_term term(mdf_lowered_id id)
{
    return (union mdf_term){.id = id};
}

static struct lowering *lowering_in(void *context)
{
    return ((struct checking *)context)->whole->lowering;
}

static mdf_lowered_id value_in(void *context, enum mdf_counter kind, size_t index)
{
    const struct checking *in = context;

    return mdf_whole_value(in->whole, in->scope, kind, index);
}

static union mdf_term term_truth(void *context, bool truth)
{
    return term(mdf_term_truth(lowering_in(context), truth));
}

static union mdf_term term_both(void *context, union mdf_term a, union mdf_term b)
{
    return term(mdf_term_and(lowering_in(context), a.id, b.id));
}

static union mdf_term term_either(void *context, union mdf_term a, union mdf_term b)
{
    return term(mdf_term_or(lowering_in(context), a.id, b.id));
}

static union mdf_term term_negate(void *context, union mdf_term a)
{
    return term(mdf_term_not(lowering_in(context), a.id));
}

static union mdf_term term_runs(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    mdf_lowered_id sum =
        n == 0 ? mdf_term_whole(lowering_in(context), 0) : value_in(context, counts_in((uint8_t)scope), nodes[0]);

    for (size_t i = 1; i < n; i++) {
        sum = mdf_term_compute(lowering_in(context), MDF_LOWERED_ADD, false, sum,
                               value_in(context, counts_in((uint8_t)scope), nodes[i]));
    }
    return term(sum);
}

static union mdf_term term_usable(void *context, uint32_t index)
{
    const struct checking *in = context;
    size_t dependency = in->whole->schedule->usables[index].dependency;

    return term(mdf_term_compute(in->whole->lowering, MDF_LOWERED_SUBTRACT, false,
                                 value_in(context, MDF_COUNTER_COUNTS_IN_UPDATE, dependency),
                                 value_in(context, MDF_COUNTER_MARKS, index)));
}

static union mdf_term term_clock(void *context, enum mdf_clock clock)
{
    return term(value_in(context, MDF_COUNTER_CLOCKS, (size_t)clock));
}

static union mdf_term term_spent(void *context, uint32_t index)
{
    return term(value_in(context, MDF_COUNTER_SPENT, index));
}

static union mdf_term term_compare(void *context, union mdf_term number, enum mdf_comparison comparison, double n)
{
    return term(compare(((struct checking *)context)->whole, number.id, (uint8_t)comparison, n));
}

static union mdf_term term_all_have_run(void *context, enum mdf_count_scope scope)
{
    const struct mdf_whole_schedule *whole = ((struct checking *)context)->whole;
    mdf_lowered_id truth = mdf_term_truth(whole->lowering, true);

    for (size_t i = 0; i < whole->program->n_nodes; i++) {
        mdf_lowered_id count = value_in(context, counts_in((uint8_t)scope), i);

        truth = mdf_term_and(whole->lowering, truth, compare(whole, count, MDF_COMPARISON_GREATER, 0));
    }
    return term(truth);
}

static union mdf_term term_just_ran(void *context, const struct mdf_condition *condition)
{
    return term(mdf_term_compute(lowering_in(context), MDF_LOWERED_EQUAL, false,
                                 value_in(context, MDF_COUNTER_LAST_SETS, condition->index),
                                 value_in(context, MDF_COUNTER_N_SETS, 0)));
}

static union mdf_term term_in_window(void *context, const struct mdf_time_window *window)
{
    const struct checking *in = context;

    return term(check_time(in->whole, in->scope, window));
}

static union mdf_term term_threshold(void *context, const struct mdf_condition *condition)
{
    const struct checking *in = context;

    return term(check_threshold(in->whole, in->scope, condition));
}

static union mdf_term term_finished(void *context, const struct mdf_condition *condition, const struct mdf_watch *watch)
{
    const struct checking *in = context;

    (void)condition;
    return term(check_finished(in->whole, in->scope, watch));
}

static union mdf_term term_spend(void *context, uint32_t index, union mdf_term reached, union mdf_term truth)
{
    const struct checking *in = context;
    mdf_lowered_id now = mdf_term_number(in->whole->lowering, mdf_term_and(in->whole->lowering, reached.id, truth.id));

    return now != MDF_LOWERED_NONE && mdf_whole_add(in->whole, in->scope, MDF_COUNTER_SPENT, index, now) ? truth
                                                                                                         : term(MDF_LOWERED_NONE);
}

mdf_lowered_id mdf_whole_check(const struct mdf_whole_schedule *whole, struct scope *scope, uint32_t index,
                               mdf_lowered_id reached)
{
    static const struct mdf_condition_terms terms = {MDF_CONDITION_TERMS(term_)};
    struct checking in = {whole, scope};

    return mdf_condition_express(&terms, &in, whole->schedule, index, term(reached)).id;
}

/* ------------------------------------------------------------------ dependence */

struct dependence {
    const struct mdf_schedule *schedule;
    size_t node;
    bool found;
};

static void note_dependence(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    struct dependence *on = context;

    (void)scope;
    on->found = on->found || what == MDF_READ_ALL_RUNS || what == MDF_READ_SPENT ||
                (what == MDF_READ_RUNS && index == on->node) ||
                (what == MDF_READ_USABLE && on->schedule->usables[index].dependency == on->node);
}

bool mdf_whole_depends(const struct mdf_schedule *schedule, uint32_t index, size_t node)
{
    struct dependence on = {schedule, node, false};

    mdf_conditions_read(schedule, index, note_dependence, &on);
    return on.found;
}

static void note_pass(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    bool *found = context;

    (void)index;
    *found = *found || ((what == MDF_READ_RUNS || what == MDF_READ_ALL_RUNS) && scope == MDF_SCOPE_PASS);
}

bool mdf_whole_looks_at_pass(const struct mdf_schedule *schedule, uint32_t index)
{
    bool found = false;

    mdf_conditions_read(schedule, index, note_pass, &found);
    return found;
}

static void note_beyond_runs(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    bool *found = context;

    (void)scope, (void)index;
    *found = *found || (what != MDF_READ_RUNS && what != MDF_READ_ALL_RUNS && what != MDF_READ_USABLE);
}

bool mdf_whole_looks_beyond_runs(const struct mdf_schedule *schedule, uint32_t index)
{
    bool found = false;

    mdf_conditions_read(schedule, index, note_beyond_runs, &found);
    return found;
}
