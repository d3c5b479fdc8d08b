/* condition_terms.c - see condition_terms.h. */
#include "mdf_c/plan/conditions/condition_terms.h"

#include <math.h>

bool mdf_compare_count(double left, enum mdf_comparison comparison, double right)
{
    switch (comparison) {
    case MDF_COMPARISON_LESS:
        return left < right;
    case MDF_COMPARISON_AT_MOST:
        return left <= right;
    case MDF_COMPARISON_EQUAL:
        return left == right;
    case MDF_COMPARISON_NOT_EQUAL:
        return left != right;
    case MDF_COMPARISON_GREATER:
        return left > right;
    case MDF_COMPARISON_AT_LEAST:
        return left >= right;
    case MDF_COMPARISON_MULTIPLE:
        break;
    }
    return fmod(left, right) == 0;
}

/* ------------------------------------------------------------------ the expression */

struct expression {
    const struct mdf_condition_terms *terms;
    void *context;
    const struct mdf_schedule *schedule;
};

static union mdf_term express(const struct expression *in, uint32_t index, union mdf_term reached);

static union mdf_term enclose(const struct expression *in, union mdf_term chain)
{
    return in->terms->enclose != NULL ? in->terms->enclose(in->context, chain) : chain;
}

static union mdf_term join(const struct expression *in, bool all, union mdf_term a, union mdf_term b)
{
    return (all ? in->terms->both : in->terms->either)(in->context, a, b);
}

/* What is behind `before` is reached where that holds, or does not. */
static union mdf_term reached_behind(const struct expression *in, union mdf_term reached, union mdf_term before, bool holds)
{
    if (in->terms->stops_early) {
        return reached;
    }
    return in->terms->both(in->context, reached, holds ? before : in->terms->negate(in->context, before));
}

/* Parts are asked from left to right, as long as the ones before leave it open. */
static union mdf_term express_parts(const struct expression *in, uint32_t index, bool all, union mdf_term reached)
{
    const struct mdf_condition *conditions = in->schedule->conditions;
    union mdf_term truth = in->terms->truth(in->context, all);

    for (uint32_t i = index + 1; i < conditions[index].end; i = conditions[i].end) {
        truth = join(in, all, truth, express(in, i, reached_behind(in, reached, truth, all)));
    }
    return enclose(in, truth);
}

static union mdf_term express_n_when(const struct expression *in, uint32_t index, union mdf_term reached)
{
    const struct mdf_condition *condition = &in->schedule->conditions[index];
    union mdf_term open =
        in->terms->compare(in->context, in->terms->spent(in->context, condition->index), MDF_COMPARISON_LESS, condition->n);
    union mdf_term part = express(in, index + 1, reached_behind(in, reached, open, true));

    return enclose(in, in->terms->spend(in->context, condition->index, reached, in->terms->both(in->context, open, part)));
}

static union mdf_term has_run(const struct expression *in, enum mdf_count_scope scope, uint32_t node)
{
    return in->terms->compare(in->context, in->terms->runs(in->context, scope, &node, 1), MDF_COMPARISON_GREATER, 0);
}

static union mdf_term express_have_run(const struct expression *in, const struct mdf_condition *condition)
{
    union mdf_term truth = in->terms->truth(in->context, true);

    for (uint32_t i = 0; i < condition->n_items; i++) {
        uint32_t node = in->schedule->node_lists[condition->index + i];

        truth = in->terms->both(in->context, truth, has_run(in, (enum mdf_count_scope)condition->scope, node));
    }
    return enclose(in, truth);
}

static union mdf_term express_finished(const struct expression *in, const struct mdf_condition *condition, bool all)
{
    union mdf_term truth = in->terms->truth(in->context, all);

    for (uint32_t i = 0; i < condition->n_items; i++) {
        const struct mdf_watch *watch = &in->schedule->watches[condition->index + i];

        truth = join(in, all, truth,
                     watch->value == MDF_NO_OPERAND ? has_run(in, MDF_SCOPE_UPDATE, (uint32_t)watch->node)
                                                    : in->terms->finished(in->context, condition, watch));
    }
    return enclose(in, truth);
}

static union mdf_term express(const struct expression *in, uint32_t index, union mdf_term reached)
{
    const struct mdf_condition_terms *terms = in->terms;
    const struct mdf_condition *condition = &in->schedule->conditions[index];
    enum mdf_comparison comparison = (enum mdf_comparison)condition->comparison;
    enum mdf_count_scope scope = (enum mdf_count_scope)condition->scope;
    void *context = in->context;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        return terms->truth(context, condition->n != 0);
    case MDF_CONDITION_ALL:
        return express_parts(in, index, true, reached);
    case MDF_CONDITION_ANY:
        return express_parts(in, index, false, reached);
    case MDF_CONDITION_NOT:
        return terms->negate(context, express(in, index + 1, reached));
    case MDF_CONDITION_N_WHEN:
        return express_n_when(in, index, reached);
    case MDF_CONDITION_CALLS:
        return terms->compare(context, terms->runs(context, scope, &condition->index, 1), comparison, condition->n);
    case MDF_CONDITION_CALLS_SUM:
        return terms->compare(context,
                              terms->runs(context, scope, in->schedule->node_lists + condition->index, condition->n_items),
                              comparison, condition->n);
    case MDF_CONDITION_USABLE_CALLS:
        return terms->compare(context, terms->usable(context, condition->index), comparison, condition->n);
    case MDF_CONDITION_CLOCK:
        return terms->compare(context, terms->clock(context, (enum mdf_clock)condition->scope), comparison, condition->n);
    case MDF_CONDITION_JUST_RAN:
        return terms->just_ran(context, condition);
    case MDF_CONDITION_ALL_HAVE_RUN:
        return terms->all_have_run(context, scope);
    case MDF_CONDITION_HAVE_RUN:
        return express_have_run(in, condition);
    case MDF_CONDITION_TIME:
        return terms->in_window(context, &in->schedule->times[condition->index]);
    case MDF_CONDITION_THRESHOLD:
        return terms->threshold(context, condition);
    case MDF_CONDITION_FINISHED_ANY:
        return express_finished(in, condition, false);
    case MDF_CONDITION_FINISHED_ALL:
        break;
    }
    return express_finished(in, condition, true);
}

union mdf_term mdf_condition_express(const struct mdf_condition_terms *terms, void *context, const struct mdf_schedule *schedule,
                                     uint32_t index, union mdf_term reached)
{
    const struct expression in = {terms, context, schedule};

    return express(&in, index, reached);
}

/* ------------------------------------------------------------------ what is looked at */

struct reader {
    void (*read)(void *context, enum mdf_condition_read what, uint8_t scope, size_t index);
    void *context;
};

/* Truths and numbers are of no account; what is read is told. */
static const union mdf_term nothing = {.id = 0};

static void tell(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    const struct reader *reader = context;

    reader->read(reader->context, what, scope, index);
}

static union mdf_term read_truth(void *context, bool truth)
{
    (void)context, (void)truth;
    return nothing;
}

static union mdf_term read_both(void *context, union mdf_term a, union mdf_term b)
{
    (void)context, (void)a, (void)b;
    return nothing;
}

static union mdf_term read_either(void *context, union mdf_term a, union mdf_term b)
{
    return read_both(context, a, b);
}

static union mdf_term read_negate(void *context, union mdf_term a)
{
    (void)context;
    return a;
}

static union mdf_term read_runs(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tell(context, MDF_READ_RUNS, (uint8_t)scope, nodes[i]);
    }
    return nothing;
}

static union mdf_term read_usable(void *context, uint32_t usable)
{
    tell(context, MDF_READ_USABLE, MDF_SCOPE_UPDATE, usable);
    return nothing;
}

static union mdf_term read_clock(void *context, enum mdf_clock clock)
{
    tell(context, MDF_READ_CLOCK, 0, (size_t)clock);
    return nothing;
}

static union mdf_term read_spent(void *context, uint32_t index)
{
    tell(context, MDF_READ_SPENT, 0, index);
    return nothing;
}

static union mdf_term read_compare(void *context, union mdf_term number, enum mdf_comparison comparison, double n)
{
    (void)context, (void)comparison, (void)n;
    return number;
}

static union mdf_term read_all_have_run(void *context, enum mdf_count_scope scope)
{
    tell(context, MDF_READ_ALL_RUNS, (uint8_t)scope, 0);
    return nothing;
}

static union mdf_term read_just_ran(void *context, const struct mdf_condition *condition)
{
    tell(context, MDF_READ_LAST_SET, 0, condition->index);
    return nothing;
}

static union mdf_term read_in_window(void *context, const struct mdf_time_window *window)
{
    (void)window;
    tell(context, MDF_READ_TIME, 0, 0);
    return nothing;
}

static union mdf_term read_threshold(void *context, const struct mdf_condition *condition)
{
    tell(context, MDF_READ_VALUE, 0, condition->index);
    return nothing;
}

static union mdf_term read_finished(void *context, const struct mdf_condition *condition, const struct mdf_watch *watch)
{
    (void)watch;
    tell(context, MDF_READ_VALUE, 0, condition->index);
    return nothing;
}

static union mdf_term read_spend(void *context, uint32_t index, union mdf_term reached, union mdf_term truth)
{
    (void)context, (void)index, (void)reached;
    return truth;
}

void mdf_conditions_read(const struct mdf_schedule *schedule, uint32_t index,
                         void (*read)(void *context, enum mdf_condition_read what, uint8_t scope, size_t index), void *context)
{
    static const struct mdf_condition_terms terms = {MDF_CONDITION_TERMS(read_), .stops_early = true};
    struct reader reader = {read, context};

    mdf_condition_express(&terms, &reader, schedule, index, nothing);
}
