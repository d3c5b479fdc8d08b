/* by_values_terms.c - see by_values_terms.h. Conditions are built of their terms (mdf_c/plan/conditions/condition_terms.h), whose
 * values are operands. */
#include "mdf_c/plan/gradient/by_values_terms.h"

#include "mdf_c/plan/conditions/condition_terms.h"

#include <math.h>

/* ------------------------------------------------------------------ values */

mdf_operand by_values_compute(struct tracer *tracer, const char *text, mdf_operand a, mdf_operand b, mdf_operand c)
{
    const mdf_operand operands[] = {a, b, c};
    static const char *const names[] = {"a", "b", "c"};
    struct scope scope = {.unit = tracer->target.unit};
    struct target target = {tracer->target.compiler, tracer->target.unit, &scope};

    if (text == NULL) {
        return compile_out_of_memory(target.compiler);
    }
    for (size_t i = 0; i < 3; i++) {
        if (operands[i] != MDF_NO_OPERAND && !scope_bind(target.compiler, &scope, names[i], operands[i])) {
            return MDF_NO_OPERAND;
        }
    }
    return target.compiler->error->code == MDF_OK ? compile_text(&target, text) : MDF_NO_OPERAND;
}

mdf_operand by_values_whole(struct tracer *tracer, int64_t number)
{
    struct mdf_value value = {0};

    if (!mdf_value_make_int(tracer->target.compiler->memory, &value, number)) {
        return compile_out_of_memory(tracer->target.compiler);
    }
    value.strength = MDF_STRENGTH_TYPED;
    return unit_add_constant(&tracer->target, &value, 0);
}

mdf_operand by_values_truth(struct tracer *tracer, bool is_true)
{
    struct mdf_value value = {0};

    if (!mdf_value_make_bool(tracer->target.compiler->memory, &value, is_true)) {
        return compile_out_of_memory(tracer->target.compiler);
    }
    value.strength = MDF_STRENGTH_TYPED;
    return unit_add_constant(&tracer->target, &value, OPERAND_IS_BOOL);
}

int by_values_truth_of(struct tracer *tracer, mdf_operand operand)
{
    const struct mdf_value *value = operand != MDF_NO_OPERAND ? unit_constant(tracer->target.unit, operand) : NULL;

    return value != NULL ? mdf_value_truth(value) == 1 : -1;
}

mdf_operand by_values_both(struct tracer *tracer, mdf_operand a, mdf_operand b)
{
    int known_a = by_values_truth_of(tracer, a), known_b = by_values_truth_of(tracer, b);

    return known_a == 1 || known_b == 0   ? b
           : known_b == 1 || known_a == 0 ? a
                                          : by_values_compute(tracer, "numpy.logical_and(a, b)", a, b, MDF_NO_OPERAND);
}

mdf_operand by_values_either(struct tracer *tracer, mdf_operand a, mdf_operand b)
{
    int known_a = by_values_truth_of(tracer, a), known_b = by_values_truth_of(tracer, b);

    return known_a == 0 || known_b == 1   ? b
           : known_b == 0 || known_a == 1 ? a
                                          : by_values_compute(tracer, "numpy.logical_or(a, b)", a, b, MDF_NO_OPERAND);
}

mdf_operand by_values_negate(struct tracer *tracer, mdf_operand a)
{
    int known = by_values_truth_of(tracer, a);

    return known >= 0 ? by_values_truth(tracer, known == 0)
                      : by_values_compute(tracer, "numpy.logical_not(a)", a, MDF_NO_OPERAND, MDF_NO_OPERAND);
}

const struct counters *by_values_counters_of(const struct tracer *tracer)
{
    return &tracer->schedules->counters[tracer->frame];
}

mdf_operand by_values_get(struct tracer *tracer, mdf_operand counter)
{
    size_t frame = tracer->frame;
    mdf_operand value;

    trace_enter(tracer, 0);
    value = trace_operand(tracer, counter);
    trace_enter(tracer, frame);
    return value;
}

bool by_values_set(struct tracer *tracer, mdf_operand counter, mdf_operand value)
{
    if (counter != MDF_NO_OPERAND) {
        tracer->frames[0].now[MDF_OPERAND_INDEX(counter)] = value;
    }
    return value != MDF_NO_OPERAND;
}

bool by_values_count(struct tracer *tracer, mdf_operand counter, mdf_operand where)
{
    int known = by_values_truth_of(tracer, where);
    mdf_operand now;

    if (counter == MDF_NO_OPERAND || known == 0) {
        return where != MDF_NO_OPERAND;
    }
    now = by_values_get(tracer, counter);
    return by_values_set(tracer, counter,
                         known == 1
                             ? by_values_compute(tracer, "a + b", now, by_values_whole(tracer, 1), MDF_NO_OPERAND)
                             : by_values_compute(tracer, "numpy.where(c, a + b, a)", now, by_values_whole(tracer, 1), where));
}

/* ------------------------------------------------------------------ terms */

static union mdf_term term(mdf_operand operand)
{
    return (union mdf_term){.id = operand};
}

static union mdf_term term_truth(void *context, bool is_true)
{
    return term(by_values_truth(context, is_true));
}

static union mdf_term term_both(void *context, union mdf_term a, union mdf_term b)
{
    return term(by_values_both(context, a.id, b.id));
}

static union mdf_term term_either(void *context, union mdf_term a, union mdf_term b)
{
    return term(by_values_either(context, a.id, b.id));
}

static union mdf_term term_negate(void *context, union mdf_term a)
{
    return term(by_values_negate(context, a.id));
}

static union mdf_term term_runs(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    mdf_operand sum =
        n == 0 ? by_values_whole(context, 0) : by_values_get(context, by_values_counters_of(context)->counts[scope][nodes[0]]);

    for (size_t i = 1; i < n; i++) {
        sum = by_values_compute(context, "a + b", sum,
                                by_values_get(context, by_values_counters_of(context)->counts[scope][nodes[i]]), MDF_NO_OPERAND);
    }
    return term(sum);
}

static union mdf_term term_usable(void *context, uint32_t index)
{
    const struct counters *counters = by_values_counters_of(context);
    size_t dependency = trace_program(context)->schedule->usables[index].dependency;

    return term(by_values_compute(context, "a - b", by_values_get(context, counters->counts[MDF_SCOPE_UPDATE][dependency]),
                                  by_values_get(context, counters->marks[index]), MDF_NO_OPERAND));
}

static union mdf_term term_clock(void *context, enum mdf_clock clock)
{
    return term(by_values_get(context, by_values_counters_of(context)->clocks[clock]));
}

static union mdf_term term_spent(void *context, uint32_t index)
{
    return term(by_values_get(context, by_values_counters_of(context)->spent[index]));
}

static const char *const comparisons[] = {[MDF_COMPARISON_LESS] = "numpy.less(a, b)",
                                          [MDF_COMPARISON_AT_MOST] = "numpy.less_equal(a, b)",
                                          [MDF_COMPARISON_EQUAL] = "numpy.equal(a, b)",
                                          [MDF_COMPARISON_NOT_EQUAL] = "numpy.not_equal(a, b)",
                                          [MDF_COMPARISON_GREATER] = "numpy.greater(a, b)",
                                          [MDF_COMPARISON_AT_LEAST] = "numpy.greater_equal(a, b)",
                                          [MDF_COMPARISON_MULTIPLE] = "numpy.equal(numpy.fmod(a, b), 0.0)"};

mdf_operand by_values_compare(struct tracer *tracer, mdf_operand number, uint8_t comparison, double n)
{
    struct mdf_value value = {0};
    mdf_operand limit = mdf_value_make_double(tracer->target.compiler->memory, &value, n)
                            ? unit_add_constant(&tracer->target, &value, 0)
                            : compile_out_of_memory(tracer->target.compiler);

    return by_values_compute(tracer, comparisons[comparison], number, limit, MDF_NO_OPERAND);
}

static union mdf_term term_compare(void *context, union mdf_term number, enum mdf_comparison comparison, double n)
{
    return term(by_values_compare(context, number.id, (uint8_t)comparison, n));
}

static union mdf_term term_all_have_run(void *context, enum mdf_count_scope scope)
{
    mdf_operand all = by_values_truth(context, true);

    for (size_t i = 0; i < trace_program(context)->n_nodes; i++) {
        mdf_operand runs = by_values_get(context, by_values_counters_of(context)->counts[scope][i]);

        all = by_values_both(context, all, by_values_compare(context, runs, MDF_COMPARISON_GREATER, 0));
    }
    return term(all);
}

static union mdf_term term_just_ran(void *context, const struct mdf_condition *condition)
{
    const struct counters *counters = by_values_counters_of(context);

    return term(by_values_compute(context, "numpy.logical_and(a > c, a == b)", by_values_get(context, counters->n_sets),
                                  by_values_get(context, counters->last_sets[condition->index]), by_values_whole(context, 0)));
}

static union mdf_term term_in_window(void *context, const struct mdf_time_window *window)
{
    mdf_operand time = by_values_get(context, by_values_counters_of(context)->time), since;
    mdf_operand within = by_values_compute(context, "numpy.logical_and(a >= b, a <= c)", time,
                                           by_values_whole(context, window->first), by_values_whole(context, window->last));

    if (window->repeat == 0) {
        return term(within);
    }
    since = by_values_compute(context, "numpy.equal((a - b) % c, 0)", time, by_values_whole(context, window->offset),
                              by_values_whole(context, window->repeat));
    return term(by_values_both(context, within, since));
}

/* ------------------------------------------------------------------ values that conditions look at */

/* What waits in an input port while its node does not run. */
enum waiting {
    WAITS_NEVER,    /* edges and the node around bring something only while the node runs */
    WAITS_ALWAYS,   /* what is given is there in all of an evaluation */
    WAITS_IF_GIVEN, /* there is a default value, and only a run tells whether something is given instead, which is read once */
};

static enum waiting waits(const struct tracer *tracer, size_t frame, size_t index)
{
    const struct trace_frame *own = &tracer->frames[frame];
    const struct mdf_program_port *port = &own->program->ports[index];

    if (port->is_fed || (frame > 0 && port->outer_port == SIZE_MAX)) {
        return WAITS_NEVER;
    }
    if (frame == 0) {
        return port->holds && (port->is_required || !own->program->nodes[port->node].has_graph) ? WAITS_ALWAYS : WAITS_IF_GIVEN;
    }
    if (port->is_required) {
        return WAITS_ALWAYS;
    }
    return waits(tracer, own->outer, port->outer_port) == WAITS_IF_GIVEN ? WAITS_IF_GIVEN : WAITS_NEVER;
}

/* An expression that takes one number of a. */
static const char *text_of_item(struct tracer *tracer, const struct mdf_watch *watch)
{
    struct mdf_arena *scratch = &tracer->target.compiler->scratch;
    const char *text = "numpy.sum(a";

    for (size_t i = 0; i < watch->n_indices && text != NULL; i++) {
        text = mdf_arena_printf(scratch, "%s[%lld]", text, (long long)watch->indices[i]);
    }
    return text != NULL ? mdf_arena_printf(scratch, "%s)", text) : NULL;
}

static mdf_operand take_item(struct tracer *tracer, const struct mdf_watch *watch, mdf_operand value)
{
    return by_values_compute(tracer, text_of_item(tracer, watch), value, MDF_NO_OPERAND, MDF_NO_OPERAND);
}

/* What counts before the node's first run. */
static mdf_operand look_before(struct tracer *tracer, const struct mdf_watch *watch)
{
    struct mdf_value initial = {0};

    if (watch->initial_value != MDF_NO_OPERAND) {
        return take_item(tracer, watch, trace_operand(tracer, watch->initial_value));
    }
    return mdf_value_make_double(tracer->target.compiler->memory, &initial, watch->has_initial ? watch->initial : NAN)
               ? unit_add_constant(&tracer->target, &initial, 0)
               : compile_out_of_memory(tracer->target.compiler);
}

static mdf_operand look_once_run(struct tracer *tracer, const struct mdf_watch *watch, mdf_operand value, mdf_operand before)
{
    return by_values_compute(tracer, "numpy.where(c, a, b)", value, before,
                             by_values_get(tracer, by_values_counters_of(tracer)->has_run[watch->node]));
}

/* What is given to the port for all of an evaluation. Within a node it is the node's, as the port itself is filled when its own
 * node runs. */
static mdf_operand given_to(struct tracer *tracer, const struct mdf_program_port *port)
{
    mdf_operand value = trace_operand(tracer, tracer->frame > 0 ? port->source : port->slot);

    return value != MDF_NO_OPERAND && tracer->frame > 0 && port->declaration.type.dtype != MDF_DTYPE_NONE
               ? unit_declare(&tracer->target, value, &port->declaration.type)
               : value;
}

/* Something is given to the port, and its node has not read it in this evaluation. */
static mdf_operand is_unread(struct tracer *tracer, size_t node, size_t port)
{
    mdf_operand given = trace_is_given(tracer, port);

    return given != MDF_NO_OPERAND
               ? by_values_both(tracer, given,
                                by_values_negate(tracer, by_values_get(tracer, by_values_counters_of(tracer)->has_read[node])))
               : given;
}

/* What is read counts as 0. */
static mdf_operand look_at_port(struct tracer *tracer, const struct mdf_watch *watch)
{
    const struct mdf_program_port *port = watch->port != SIZE_MAX ? &trace_program(tracer)->ports[watch->port] : NULL;
    enum waiting waiting = port != NULL ? waits(tracer, tracer->frame, watch->port) : WAITS_NEVER;
    mdf_operand zero, spent, given;

    if (waiting == WAITS_ALWAYS) {
        return take_item(tracer, watch, given_to(tracer, port));
    }
    zero = by_values_compute(tracer, "0.0", MDF_NO_OPERAND, MDF_NO_OPERAND, MDF_NO_OPERAND);
    spent = look_once_run(tracer, watch, zero, look_before(tracer, watch));
    if (waiting == WAITS_NEVER || spent == MDF_NO_OPERAND) {
        return spent;
    }
    if (tracer->frame > 0) {
        trace_refuse(tracer, "a condition, of a graph within a node, on an input port to which something may be given or not");
        return MDF_NO_OPERAND;
    }
    given = unit_capture(&tracer->target, tracer->target.unit, tracer->from, port->slot);
    return by_values_compute(tracer, "numpy.where(c, a, b)", take_item(tracer, watch, given), spent,
                             is_unread(tracer, watch->node, watch->port));
}

/* The number that a watch sees. */
static mdf_operand look(struct tracer *tracer, const struct mdf_watch *watch)
{
    mdf_operand value;

    if (watch->is_input) {
        return look_at_port(tracer, watch);
    }
    value = take_item(tracer, watch, trace_operand(tracer, watch->value));
    return watch->always || value == MDF_NO_OPERAND ? value : look_once_run(tracer, watch, value, look_before(tracer, watch));
}

/* ------------------------------------------------------------------ terms that look at them */

static union mdf_term term_threshold(void *context, const struct mdf_condition *condition)
{
    struct tracer *tracer = context;
    const struct mdf_watch *watch = &trace_program(tracer)->schedule->watches[condition->index];
    double limit = condition->n, tolerance = watch->absolute_tolerance + watch->relative_tolerance * fabs(limit);
    mdf_operand value = look(tracer, watch), close;

    if (condition->comparison != MDF_COMPARISON_EQUAL && condition->comparison != MDF_COMPARISON_NOT_EQUAL) {
        return term(by_values_compare(tracer, value, condition->comparison, limit));
    }
    close = by_values_compare(tracer, value, MDF_COMPARISON_EQUAL, limit);
    if (isfinite(limit) && tolerance >= 0) {
        mdf_operand distance =
            by_values_compute(tracer, mdf_arena_printf(&tracer->target.compiler->scratch, "abs(a - (%.17g))", limit), value,
                              MDF_NO_OPERAND, MDF_NO_OPERAND);

        close = by_values_either(
            tracer, close, by_values_compare(tracer, distance, MDF_COMPARISON_AT_MOST, fmin(tolerance, 0x1.fffffffffffffp1023)));
    }
    return term(condition->comparison == MDF_COMPARISON_EQUAL ? close : by_values_negate(tracer, close));
}

static union mdf_term term_finished(void *context, const struct mdf_condition *condition, const struct mdf_watch *watch)
{
    struct tracer *tracer = context;
    mdf_operand has_run = by_values_get(tracer, by_values_counters_of(tracer)->has_run[watch->node]);

    (void)condition;
    return term(by_values_both(tracer, has_run, by_values_compare(tracer, look(tracer, watch), MDF_COMPARISON_NOT_EQUAL, 0)));
}

static union mdf_term term_spend(void *context, uint32_t index, union mdf_term reached, union mdf_term is_true)
{
    return term(
        by_values_count(context, by_values_counters_of(context)->spent[index], by_values_both(context, reached.id, is_true.id))
            ? is_true.id
            : MDF_NO_OPERAND);
}

static const struct mdf_condition_terms terms = {MDF_CONDITION_TERMS(term_)};

mdf_operand by_values_holds(struct tracer *tracer, uint32_t condition, mdf_operand reached)
{
    return mdf_condition_express(&terms, tracer, trace_program(tracer)->schedule, condition, term(reached)).id;
}

mdf_operand by_values_is_over(struct tracer *tracer)
{
    const struct mdf_schedule *schedule = trace_program(tracer)->schedule;
    mdf_operand update = by_values_holds(tracer, schedule->end_of_update, by_values_truth(tracer, true));

    return by_values_either(tracer, update, by_values_holds(tracer, schedule->end_of_sequence, by_values_negate(tracer, update)));
}
