/* run_by_values.c - see run_by_values.h.
 *
 * Comes in: programs whose conditions are compiled. Goes out: the code of all evaluations, in which the scheduler's rules
 * (mdf_c/run/schedule/scheduler.c) are code as any other. What it counts are slots of the outermost unit, which are followed as
 * those of the graph are (trace.h). What a slot holds before anything has run has the type that later runs leave: nodes are
 * traced twice for nothing else; no more than the form of what they compute is looked at. */
#include "mdf_c/plan/gradient/run_by_values.h"

#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/plan/gradient/by_values_terms.h"
#include "mdf_c/plan/gradient/gradient.h"
#include "mdf_c/plan/gradient/traced_loop.h"

/* Where no evaluation may have more, their Loop has so many runs. */
enum { MOST_COUNTED_PASSES = 256 };

/* ------------------------------------------------------------------ runs */

static mdf_operand nothing_like(struct tracer *tracer, mdf_operand value)
{
    mdf_operand zeros = by_values_compute(tracer, "numpy.zeros_like(a)", value, MDF_NO_OPERAND, MDF_NO_OPERAND);

    return zeros != MDF_NO_OPERAND ? unit_call_python(&tracer->target, PYTHON_TYPED, &zeros, 1) : zeros;
}

/* A type for what holds a value before others do: that of what later runs leave. */
static mdf_operand as_later(struct tracer *tracer, size_t slot, mdf_operand value)
{
    mdf_operand later = tracer->schedules->later[tracer->frame][slot];

    if (!trace_is_clear(later) || value == MDF_NO_OPERAND) {
        return value;
    }
    later = unit_capture(&tracer->target, tracer->target.unit, tracer->frames[0].from, later);
    return by_values_compute(tracer, "a + b", nothing_like(tracer, later), value, MDF_NO_OPERAND);
}

struct run {
    size_t node;
    bool takes_first;
};

static const struct mdf_program_node *node_of(const struct tracer *tracer, const struct run *run)
{
    return &trace_program(tracer)->nodes[run->node];
}

static bool trace_reset(struct tracer *tracer, void *context)
{
    const struct mdf_program_node *node = node_of(tracer, context);

    return trace_range(tracer, node->reset, node->initial);
}

static bool trace_initial(struct tracer *tracer, void *context)
{
    const struct mdf_program_node *node = node_of(tracer, context);
    const bool *is_written = trace_writes(tracer, node->initial, node->main);

    if (is_written == NULL || !trace_range(tracer, node->initial, node->main)) {
        return false;
    }
    for (size_t i = 0; i < tracer->n_slots; i++) {
        if (is_written[i] && trace_is_clear(tracer->now[i])) {
            tracer->now[i] = as_later(tracer, i, tracer->now[i]);
            if (tracer->now[i] == MDF_NO_OPERAND) {
                return false;
            }
        }
    }
    return true;
}

static bool take_ports(struct tracer *tracer, void *context)
{
    const struct run *run = context;
    mdf_operand has_read = by_values_counters_of(tracer)->has_read[run->node];

    return trace_ports(tracer, node_of(tracer, run)) && by_values_set(tracer, has_read, by_values_truth(tracer, true));
}

static mdf_operand has_read_now(struct tracer *tracer, const struct mdf_program_node *node)
{
    return by_values_get(tracer, by_values_counters_of(tracer)->has_read[node - trace_program(tracer)->nodes]);
}

/* Its first run in an evaluation: initial values are set. */
static bool reset(struct tracer *tracer, struct run *run)
{
    const struct mdf_program_node *node = node_of(tracer, run);
    mdf_operand runs;

    if (node->reset == node->initial) {
        return true;
    }
    if (trace_program(tracer)->schedule == NULL) {
        return trace_reset(tracer, run);
    }
    runs = by_values_get(tracer, by_values_counters_of(tracer)->counts[MDF_SCOPE_UPDATE][run->node]);
    return trace_where(tracer, by_values_compare(tracer, runs, MDF_COMPARISON_AT_MOST, 1), trace_reset, run);
}

static bool run_node(struct tracer *tracer, void *context)
{
    struct run *run = context;
    const struct mdf_program_node *node = node_of(tracer, run);
    mdf_operand has_run = by_values_counters_of(tracer)->has_run[run->node];

    if (node->finished != MDF_NO_OPERAND && node->has_graph) {
        return trace_refuse(tracer, "nodes with a graph that run until they are finished, under conditions");
    }
    return (run->takes_first || take_ports(tracer, run)) && reset(tracer, run) && trace_range(tracer, node->first, node->reset) &&
           (node->initial == node->main ||
            trace_where(tracer, by_values_negate(tracer, by_values_get(tracer, has_run)), trace_initial, run)) &&
           by_values_set(tracer, has_run, by_values_truth(tracer, true)) && trace_range(tracer, node->main, node->end) &&
           (node->finished == MDF_NO_OPERAND || tracer->repeat(tracer, node));
}

/* Nodes of a layer, of which those run that are in the set. */
static bool run_set(struct tracer *tracer, const struct mdf_program_layer *layer, const mdf_operand *in_set)
{
    for (size_t i = 0; layer->takes_first && i < layer->n_nodes; i++) {
        if (!trace_where(tracer, in_set[i], take_ports, &(struct run){layer->nodes[i], true})) {
            return false;
        }
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        if (!trace_where(tracer, in_set[i], run_node, &(struct run){layer->nodes[i], layer->takes_first})) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ sets */

/* A node is in the set, where that holds. */
static bool count_run(struct tracer *tracer, size_t node, mdf_operand runs)
{
    const struct mdf_schedule *schedule = trace_program(tracer)->schedule;
    const struct mdf_schedule_node *own = &schedule->nodes[node];
    const struct counters *counters = by_values_counters_of(tracer);

    for (size_t scope = 0; scope < MDF_SCOPE_COUNT; scope++) {
        if (!by_values_count(tracer, counters->counts[scope][node], runs)) {
            return false;
        }
    }
    for (uint32_t i = own->first_usable; i < own->first_usable + own->n_usables; i++) {
        mdf_operand mark, calls;

        if (counters->marks[i] == MDF_NO_OPERAND) {
            continue;
        }
        calls = by_values_get(tracer, counters->counts[MDF_SCOPE_UPDATE][schedule->usables[i].dependency]);
        mark = by_values_compute(tracer, "a - b", calls, by_values_whole(tracer, schedule->usables[i].own), MDF_NO_OPERAND);
        if (!by_values_set(
                tracer, counters->marks[i],
                by_values_compute(tracer, "numpy.where(c, a, b)", mark, by_values_get(tracer, counters->marks[i]), runs))) {
            return false;
        }
    }
    return true;
}

struct layer_reading {
    const struct mdf_program *program;
    const struct mdf_program_layer *layer;
    bool looks; /* at what counts nodes of the layer, or changes by being asked */
};

static void read_layer(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    struct layer_reading *reading = context;
    size_t node = what == MDF_READ_USABLE ? reading->program->schedule->usables[index].dependency : index;

    (void)scope;
    reading->looks = reading->looks || what == MDF_READ_ALL_RUNS || what == MDF_READ_SPENT;
    for (size_t i = 0; (what == MDF_READ_USABLE || what == MDF_READ_RUNS) && i < reading->layer->n_nodes; i++) {
        reading->looks = reading->looks || reading->layer->nodes[i] == node;
    }
}

/* Rounds of asking, in which a set may grow. */
static size_t count_rounds(const struct mdf_program *program, const struct mdf_program_layer *layer)
{
    struct layer_reading reading = {.program = program, .layer = layer};

    for (size_t i = 0; i < layer->n_nodes; i++) {
        mdf_conditions_read(program->schedule, program->schedule->nodes[layer->nodes[i]].condition, read_layer, &reading);
    }
    return reading.looks ? layer->n_nodes : 1;
}

/* Nodes whose conditions hold, in rounds, until a round adds none; *any: there are some. */
static bool make_set(struct tracer *tracer, const struct mdf_program_layer *layer, mdf_operand *in_set, mdf_operand *any)
{
    const struct mdf_program *program = trace_program(tracer);
    size_t n_rounds = count_rounds(program, layer);
    mdf_operand goes_on = by_values_truth(tracer, true);

    for (size_t i = 0; i < layer->n_nodes; i++) {
        in_set[i] = by_values_truth(tracer, false);
    }
    for (size_t round = 0; round < n_rounds && by_values_truth_of(tracer, goes_on) != 0; round++) {
        mdf_operand added = by_values_truth(tracer, false);

        for (size_t i = 0; i < layer->n_nodes; i++) {
            mdf_operand asked = by_values_both(tracer, goes_on, by_values_negate(tracer, in_set[i]));
            mdf_operand joins = by_values_both(
                tracer, asked, by_values_holds(tracer, program->schedule->nodes[layer->nodes[i]].condition, asked));

            in_set[i] = by_values_either(tracer, in_set[i], joins);
            added = by_values_either(tracer, added, joins);
            if (!count_run(tracer, layer->nodes[i], joins)) {
                return false;
            }
        }
        goes_on = added;
    }
    *any = by_values_truth(tracer, false);
    for (size_t i = 0; i < layer->n_nodes; i++) {
        *any = by_values_either(tracer, *any, in_set[i]);
    }
    return *any != MDF_NO_OPERAND;
}

/* A set is over, where there was one: clocks go on. */
static bool end_set(struct tracer *tracer, mdf_operand was_set)
{
    const struct mdf_schedule *schedule = trace_program(tracer)->schedule;
    const struct counters *counters = by_values_counters_of(tracer);

    if (!by_values_count(tracer, counters->clocks[MDF_CLOCK_SETS_IN_UPDATE], was_set) ||
        !by_values_count(tracer, counters->clocks[MDF_CLOCK_SETS_IN_LIFE], was_set)) {
        return false;
    }
    return counters->time == MDF_NO_OPERAND ||
           by_values_set(tracer, counters->time,
                         by_values_compute(tracer, "numpy.where(c, a + b, a)", by_values_get(tracer, counters->time),
                                           by_values_whole(tracer, schedule->interval), was_set));
}

static bool note_set(struct tracer *tracer, const struct mdf_program_layer *layer, const mdf_operand *in_set)
{
    const struct counters *counters = by_values_counters_of(tracer);

    for (size_t i = 0; i < layer->n_nodes; i++) {
        mdf_operand last = counters->last_sets[layer->nodes[i]];

        if (last != MDF_NO_OPERAND &&
            !by_values_set(tracer, last,
                           by_values_compute(tracer, "numpy.where(c, a, b)", by_values_get(tracer, counters->n_sets),
                                             by_values_get(tracer, last), in_set[i]))) {
            return false;
        }
    }
    return true;
}

/* Those of a layer of which nothing is known beforehand. */
static bool run_layer(struct tracer *tracer, void *context)
{
    const struct mdf_program_layer *layer = context;
    const struct counters *counters = by_values_counters_of(tracer);
    mdf_operand *in_set = trace_new_operands(tracer->target.compiler, layer->n_nodes + 1, MDF_NO_OPERAND), any;

    if (in_set == NULL || !make_set(tracer, layer, in_set, &any) ||
        !by_values_set(tracer, counters->any_ran, by_values_either(tracer, by_values_get(tracer, counters->any_ran), any))) {
        return false;
    }
    any = trace_program(tracer)->schedule->is_absolute ? by_values_truth(tracer, true) : any;
    return by_values_count(tracer, counters->n_sets, any) && note_set(tracer, layer, in_set) && run_set(tracer, layer, in_set) &&
           end_set(tracer, any);
}

/* ------------------------------------------------------------------ passes */

static bool reset_counts(struct tracer *tracer, enum mdf_count_scope scope)
{
    for (size_t i = 0; i < trace_program(tracer)->n_nodes; i++) {
        if (!by_values_set(tracer, by_values_counters_of(tracer)->counts[scope][i], by_values_whole(tracer, 0))) {
            return false;
        }
    }
    return true;
}

static bool looks_at_spent(const struct mdf_program *program)
{
    return program->schedule->n_spent > 0;
}

static bool trace_layers_of_pass(struct tracer *tracer)
{
    const struct mdf_program *program = trace_program(tracer);
    const struct counters *counters = by_values_counters_of(tracer);

    for (size_t i = 0; i < program->n_layers; i++) {
        mdf_operand stopped = by_values_get(tracer, counters->is_over);

        /* in front of the first layer it has just been asked, and holds not; what is asked may count */
        if (i > 0 || looks_at_spent(program)) {
            stopped = by_values_truth_of(tracer, stopped) == 0 ? by_values_is_over(tracer)
                                                               : by_values_either(tracer, stopped, by_values_is_over(tracer));
        }
        if (!by_values_set(tracer, counters->is_over, stopped) ||
            !trace_where(tracer, by_values_negate(tracer, stopped), run_layer, &program->layers[i])) {
            return false;
        }
    }
    return true;
}

static bool trace_pass(struct tracer *tracer, void *context, mdf_operand *goes_on)
{
    const struct mdf_program *program = trace_program(tracer);
    const struct counters *counters = by_values_counters_of(tracer);
    mdf_operand idle;

    (void)context;
    if (!reset_counts(tracer, MDF_SCOPE_PASS) || !by_values_set(tracer, counters->is_over, by_values_truth(tracer, false)) ||
        !by_values_set(tracer, counters->any_ran, by_values_truth(tracer, false)) || !trace_layers_of_pass(tracer)) {
        return false;
    }
    idle = program->schedule->is_absolute ? by_values_truth(tracer, false)
                                          : by_values_negate(tracer, by_values_get(tracer, counters->any_ran));
    if (!by_values_count(tracer, counters->n_sets, idle) || !end_set(tracer, idle) ||
        !by_values_count(tracer, counters->clocks[MDF_CLOCK_PASSES_IN_UPDATE], by_values_truth(tracer, true)) ||
        !by_values_count(tracer, counters->clocks[MDF_CLOCK_PASSES_IN_LIFE], by_values_truth(tracer, true))) {
        return false;
    }
    *goes_on = by_values_negate(tracer, by_values_is_over(tracer));
    return *goes_on != MDF_NO_OPERAND;
}

static bool trace_one_pass(struct tracer *tracer, void *context)
{
    mdf_operand goes_on = MDF_NO_OPERAND;

    return trace_pass(tracer, context, &goes_on) && by_values_set(tracer, by_values_counters_of(tracer)->goes_on, goes_on);
}

/* One of as many as there may be, which does nothing behind the end: so C has a form for it. */
static bool trace_counted_pass(struct tracer *tracer, void *context, mdf_operand *goes_on)
{
    (void)goes_on;
    return trace_where(tracer, by_values_get(tracer, by_values_counters_of(tracer)->goes_on), trace_one_pass, context);
}

static bool begin_update(struct tracer *tracer)
{
    const struct mdf_schedule *schedule = trace_program(tracer)->schedule;
    const struct counters *counters = by_values_counters_of(tracer);

    if (!reset_counts(tracer, MDF_SCOPE_PASS) || !reset_counts(tracer, MDF_SCOPE_UPDATE) ||
        !by_values_set(tracer, counters->clocks[MDF_CLOCK_PASSES_IN_UPDATE], by_values_whole(tracer, 0)) ||
        !by_values_set(tracer, counters->clocks[MDF_CLOCK_SETS_IN_UPDATE], by_values_whole(tracer, 0))) {
        return false;
    }
    for (size_t i = 0; i < schedule->n_usables; i++) {
        if (!by_values_set(tracer, counters->marks[i], by_values_whole(tracer, 0))) {
            return false;
        }
    }
    return counters->time == MDF_NO_OPERAND ||
           by_values_set(tracer, counters->time,
                         by_values_compute(tracer, "numpy.maximum(a, b)", by_values_get(tracer, counters->time),
                                           by_values_whole(tracer, schedule->start), MDF_NO_OPERAND));
}

/* As the scheduler has it: no evaluation may take as many passes as that. */
static bool note_end(struct tracer *tracer)
{
    mdf_operand passes = by_values_get(tracer, by_values_counters_of(tracer)->clocks[MDF_CLOCK_PASSES_IN_UPDATE]);
    mdf_operand ended = by_values_compare(tracer, passes, MDF_COMPARISON_LESS, (double)trace_program(tracer)->max_passes);

    return by_values_set(tracer, tracer->schedules->is_ended,
                         by_values_both(tracer, by_values_get(tracer, tracer->schedules->is_ended), ended));
}

/* One evaluation of a graph with conditions. */
static bool trace_scheduled(struct tracer *tracer)
{
    const struct mdf_program *program = trace_program(tracer);
    struct traced_loop loop = {.id = "pass",
                               .most = program->max_passes,
                               .has_dt = tracer->has_dt,
                               .keeps_outputs = true,
                               .in_segments = true,
                               .trace = trace_pass};

    if (!begin_update(tracer)) {
        return false;
    }
    loop.begins = by_values_negate(tracer, by_values_is_over(tracer));
    if (loop.begins != MDF_NO_OPERAND && program->max_passes <= MOST_COUNTED_PASSES) {
        if (!by_values_set(tracer, by_values_counters_of(tracer)->goes_on, loop.begins)) {
            return false;
        }
        loop.trace = trace_counted_pass;
        loop.begins = MDF_NO_OPERAND;
    } else if (loop.begins == MDF_NO_OPERAND) {
        return false;
    }
    if (!traced_loop_emit(tracer, &loop) || !note_end(tracer) ||
        !by_values_count(tracer, by_values_counters_of(tracer)->clocks[MDF_CLOCK_UPDATES], by_values_truth(tracer, true))) {
        return false;
    }
    return by_values_holds(tracer, program->schedule->end_of_sequence, by_values_truth(tracer, true)) !=
           MDF_NO_OPERAND; /* it counts for an NWhen */
}

/* One of a graph without. */
static bool trace_layers(struct tracer *tracer)
{
    const struct mdf_program *program = trace_program(tracer);

    for (size_t i = 0; i < program->n_layers; i++) {
        const struct mdf_program_layer *layer = &program->layers[i];
        mdf_operand *in_set = trace_new_operands(tracer->target.compiler, layer->n_nodes + 1, by_values_truth(tracer, true));

        if (in_set == NULL || !run_set(tracer, layer, in_set)) {
            return false;
        }
    }
    return true;
}

static bool set_all(struct tracer *tracer, const mdf_operand *counters, size_t n, mdf_operand value)
{
    for (size_t i = 0; i < n; i++) {
        if (!by_values_set(tracer, counters[i], value)) {
            return false;
        }
    }
    return true;
}

static bool trace_evaluation(struct tracer *tracer)
{
    const struct mdf_program *program = trace_program(tracer);

    return set_all(tracer, by_values_counters_of(tracer)->has_read, program->n_nodes, by_values_truth(tracer, false)) &&
           (program->schedule != NULL ? trace_scheduled(tracer) : trace_layers(tracer));
}

static bool trace_step(struct tracer *tracer, void *context, mdf_operand *goes_on)
{
    (void)context, (void)goes_on;
    return trace_evaluation(tracer);
}

/* ------------------------------------------------------------------ what edges bring */

/* Whether a condition holds only where a node has run. */
static bool implies_run(const struct mdf_schedule *schedule, uint32_t index, size_t node)
{
    const struct mdf_condition *condition = &schedule->conditions[index];

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_ALL:
        for (uint32_t i = index + 1; i < condition->end; i = schedule->conditions[i].end) {
            if (implies_run(schedule, i, node)) {
                return true;
            }
        }
        return false;
    case MDF_CONDITION_CALLS:
        return condition->index == node && !mdf_compare_count(0, (enum mdf_comparison)condition->comparison, condition->n);
    case MDF_CONDITION_USABLE_CALLS:
        return schedule->usables[condition->index].dependency == node &&
               !mdf_compare_count(0, (enum mdf_comparison)condition->comparison, condition->n);
    case MDF_CONDITION_JUST_RAN:
        return condition->index == node;
    case MDF_CONDITION_HAVE_RUN:
        for (uint32_t i = 0; i < condition->n_items; i++) {
            if (schedule->node_lists[condition->index + i] == node) {
                return true;
            }
        }
        return false;
    case MDF_CONDITION_ALL_HAVE_RUN:
        return true;
    case MDF_CONDITION_CONSTANT:
    case MDF_CONDITION_ANY:
    case MDF_CONDITION_NOT:
    case MDF_CONDITION_N_WHEN:
    case MDF_CONDITION_CALLS_SUM:
    case MDF_CONDITION_CLOCK:
    case MDF_CONDITION_TIME:
    case MDF_CONDITION_THRESHOLD:
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        break;
    }
    return false;
}

static size_t layer_of(const struct mdf_program *program, size_t node)
{
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t k = 0; k < program->layers[i].n_nodes; k++) {
            if (program->layers[i].nodes[k] == node) {
                return i;
            }
        }
    }
    return program->n_layers;
}

static bool always_holds(const struct mdf_schedule *schedule, size_t node)
{
    const struct mdf_condition *condition = &schedule->conditions[schedule->nodes[node].condition];

    return condition->kind == MDF_CONDITION_CONSTANT && condition->n != 0;
}

static mdf_operand brings_now(struct tracer *tracer, const struct mdf_program_edge *edge)
{
    const struct mdf_program *program = trace_program(tracer);
    size_t receiver = program->ports[edge->port].node, from = layer_of(program, edge->sender), to = layer_of(program, receiver);
    bool has_run = edge->has_initial ||
                   (from < to && (program->schedule == NULL || always_holds(program->schedule, edge->sender))) ||
                   (from != to && program->schedule != NULL &&
                    implies_run(program->schedule, program->schedule->nodes[receiver].condition, edge->sender));

    return has_run ? by_values_truth(tracer, true) : by_values_get(tracer, by_values_counters_of(tracer)->has_run[edge->sender]);
}

/* ------------------------------------------------------------------ the beginning */

bool by_values_is_needed(const struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->n_frames; i++) {
        const struct mdf_schedule *schedule = tracer->frames[i].program->schedule;

        for (size_t k = 0; schedule != NULL && k < schedule->n_conditions; k++) {
            const struct mdf_condition *condition = &schedule->conditions[k];
            bool is_finished = condition->kind == MDF_CONDITION_FINISHED_ANY || condition->kind == MDF_CONDITION_FINISHED_ALL;

            if (condition->kind == MDF_CONDITION_THRESHOLD) {
                return true;
            }
            for (uint32_t j = 0; is_finished && j < condition->n_items; j++) {
                if (schedule->watches[condition->index + j].value != MDF_NO_OPERAND) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void keep(bool *is_kept, size_t n, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && MDF_OPERAND_INDEX(operand) < n) {
        is_kept[MDF_OPERAND_INDEX(operand)] = true;
    }
}

/* What others than the node itself look at, whether it has run or not. */
static void keep_of_program(const struct mdf_program *program, bool *is_kept, size_t n)
{
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++) {
            keep(is_kept, n, program->nodes[i].outputs[k].operand);
        }
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        keep(is_kept, n, program->edges[i].source);
    }
    for (size_t i = 0; program->schedule != NULL && i < program->schedule->n_watches; i++) {
        if (!program->schedule->watches[i].is_input) {
            keep(is_kept, n, program->schedule->watches[i].value);
        }
    }
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t k = 0; program->layers[i].takes_first && k < program->layers[i].n_nodes; k++) {
            const struct mdf_program_node *node = &program->nodes[program->layers[i].nodes[k]];

            for (size_t j = node->first_port; j < node->first_port + node->n_ports; j++) {
                keep(is_kept, n, program->ports[j].slot);
            }
        }
    }
}

/* What a node keeps from its first run, of an evaluation or of all. */
static bool keep_of_first_runs(struct tracer *tracer, size_t frame, bool *is_kept)
{
    const struct mdf_program *program = tracer->frames[frame].program;

    tracer->from = tracer->frames[frame].from;
    tracer->n_slots = tracer->frames[frame].n_slots;
    for (size_t i = 0; i < program->n_nodes; i++) {
        const bool *is_written = trace_writes(tracer, program->nodes[i].reset, program->nodes[i].main);

        for (size_t k = 0; is_written != NULL && k < tracer->n_slots; k++) {
            is_kept[k] = is_kept[k] || is_written[k];
        }
    }
    tracer->from = tracer->frames[0].from;
    tracer->n_slots = tracer->frames[0].n_slots;
    return tracer->target.compiler->error->code == MDF_OK;
}

/* Counters are slots as others are, of the outermost frame. */
static bool widen(struct tracer *tracer, size_t n)
{
    struct compiler *compiler = tracer->target.compiler;
    bool *is_written = mdf_arena_array(&compiler->scratch, n + 1, sizeof *is_written);

    if (is_written == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < n; i++) {
        is_written[i] = i >= tracer->n_slots || tracer->is_written[i];
    }
    tracer->is_written = tracer->frames[0].is_written = is_written;
    tracer->n_slots = tracer->frames[0].n_slots = n;
    return true;
}

bool by_values_begin(struct tracer *tracer, struct graph_builder *builder)
{
    struct compiler *compiler = tracer->target.compiler;
    struct target target = {compiler, builder->unit, &builder->scope};
    struct schedules *schedules = mdf_arena_allocate(&compiler->scratch, sizeof *schedules);
    struct counters *counters = mdf_arena_array(&compiler->scratch, tracer->n_frames, sizeof *counters);
    size_t n_before = tracer->n_slots;

    if (schedules == NULL || counters == NULL) {
        return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < tracer->n_frames; i++) {
        if (!by_values_add_counters(&target, tracer->frames[i].program, &counters[i])) {
            return false;
        }
    }
    if (!by_values_add_reads(&target, tracer->frames[0].program, &counters[0])) {
        return false;
    }
    *schedules = (struct schedules){.counters = counters, .is_ended = unit_new_slot(&target, OPERAND_IS_BOOL)};
    tracer->schedules = schedules;
    if (schedules->is_ended == MDF_NO_OPERAND || !widen(tracer, builder->unit->slot_facts.n)) {
        return false;
    }
    for (size_t i = 0; i < tracer->n_frames; i++) {
        size_t n = tracer->frames[i].n_slots;
        bool *is_kept = mdf_arena_array(&compiler->scratch, n + 1, sizeof *is_kept);

        if (is_kept == NULL) {
            return compile_out_of_memory(compiler) != MDF_NO_OPERAND;
        }
        keep_of_program(tracer->frames[i].program, is_kept, n);
        if (!keep_of_first_runs(tracer, i, is_kept)) {
            return false;
        }
        for (size_t k = n_before; i == 0 && k < n; k++) {
            is_kept[k] = true;
        }
        tracer->frames[i].is_kept = is_kept;
    }
    return true;
}

/* ------------------------------------------------------------------ all */

static bool clear_counters(struct tracer *tracer)
{
    mdf_operand zero = by_values_whole(tracer, 0), no = by_values_truth(tracer, false);

    for (size_t i = 0; i < tracer->n_frames; i++) {
        const struct mdf_program *program = tracer->frames[i].program;
        const struct counters *counters = &tracer->schedules->counters[i];
        const struct mdf_schedule *schedule = program->schedule;

        if (!set_all(tracer, counters->counts[MDF_SCOPE_PASS], program->n_nodes, zero) ||
            !set_all(tracer, counters->counts[MDF_SCOPE_UPDATE], program->n_nodes, zero) ||
            !set_all(tracer, counters->counts[MDF_SCOPE_LIFE], program->n_nodes, zero) ||
            !set_all(tracer, counters->has_run, program->n_nodes, no) ||
            !set_all(tracer, counters->has_read, program->n_nodes, no) ||
            !set_all(tracer, counters->last_sets, program->n_nodes, zero) ||
            !set_all(tracer, counters->marks, schedule != NULL ? schedule->n_usables : 0, zero) ||
            !set_all(tracer, counters->spent, schedule != NULL ? schedule->n_spent : 0, zero) ||
            !set_all(tracer, counters->clocks, MDF_CLOCK_COUNT, zero) || !set_all(tracer, &counters->n_sets, 1, zero) ||
            !set_all(tracer, &counters->time, 1, zero) || !set_all(tracer, &counters->is_over, 1, no) ||
            !set_all(tracer, &counters->any_ran, 1, no) || !set_all(tracer, &counters->goes_on, 1, no)) {
            return false;
        }
    }
    return by_values_set(tracer, tracer->schedules->is_ended, by_values_truth(tracer, true));
}

/* Zeros of the type that a slot has later: what it holds before something has run is not looked at. */
static mdf_operand begin_slot(struct tracer *tracer, size_t slot)
{
    mdf_operand later = tracer->schedules->later[tracer->frame][slot];

    if (!trace_is_clear(later)) {
        return compile_error(tracer->target.compiler, MDF_UNSUPPORTED, "%s of a graph that reads a value before it has one",
                             tracer->purpose);
    }
    return nothing_like(tracer, later);
}

/* Whether something draws random numbers. */
static bool draws(const struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->n_frames; i++) {
        const struct unit *from = tracer->frames[i].from;

        for (size_t k = 0; k < from->calls.n; k++) {
            if (gradient_find_draw((const struct mdf_code_call *)from->calls.items + k, from->bodies.items) != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* Two runs of all nodes, for the types that they leave. What they draw is drawn again by those that count. */
static bool find_types(struct tracer *tracer, const struct mdf_gradient_request *request, struct schedules *schedules)
{
    const struct schedules *kept = tracer->schedules;
    bool marks = draws(tracer);
    mdf_operand mark = marks ? gradient_emit_mark(&tracer->target, 0) : MDF_NO_OPERAND;

    if (marks && mark == MDF_NO_OPERAND) {
        return false;
    }
    schedules->later = mdf_arena_array(&tracer->target.compiler->scratch, tracer->n_frames, sizeof *schedules->later);
    if (schedules->later == NULL) {
        return compile_out_of_memory(tracer->target.compiler) != MDF_NO_OPERAND;
    }
    tracer->schedules = NULL;
    if (!trace_nodes(tracer, true)) {
        return false;
    }
    tracer->has_dt = request->has_dt;
    tracer->is_later = true;
    if (!trace_nodes(tracer, false) || (marks && !gradient_emit_return(&tracer->target, mark))) {
        return false;
    }
    tracer->has_dt = false;
    tracer->schedules = kept;
    for (size_t i = 0; i < tracer->n_frames; i++) {
        trace_enter(tracer, i);
        schedules->later[i] = trace_copy_operands(tracer, tracer->now);
        for (size_t k = 0; k < tracer->n_slots; k++) {
            tracer->now[k] = tracer->before[k] = TRACE_NOT_SEEN;
        }
        if (schedules->later[i] == NULL) {
            return false;
        }
    }
    trace_enter(tracer, 0);
    return true;
}

/* What output ports hold before their nodes have run, in the types of later. */
static bool cast_initials(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->n_frames; i++) {
        trace_enter(tracer, i);
        for (size_t k = 0; k < tracer->n_slots; k++) {
            if (trace_is_clear(tracer->now[k])) {
                tracer->now[k] = as_later(tracer, k, tracer->now[k]);
                if (tracer->now[k] == MDF_NO_OPERAND) {
                    return false;
                }
            }
        }
    }
    trace_enter(tracer, 0);
    return true;
}

bool by_values_trace(struct tracer *tracer, const struct mdf_gradient_request *request,
                     bool (*set_initials)(struct tracer *tracer))
{
    struct schedules *schedules = mdf_arena_allocate(&tracer->target.compiler->scratch, sizeof *schedules);
    struct traced_loop rest = {.id = "step",
                               .most = request->n_steps - 1,
                               .begins = MDF_NO_OPERAND,
                               .has_dt = request->has_dt,
                               .keeps_outputs = true,
                               .in_segments = true,
                               .trace = trace_step};

    if (schedules == NULL) {
        return compile_out_of_memory(tracer->target.compiler) != MDF_NO_OPERAND;
    }
    *schedules = *tracer->schedules;
    if (!find_types(tracer, request, schedules)) {
        return false;
    }
    tracer->schedules = schedules;
    tracer->brings_now = brings_now;
    tracer->has_read_now = has_read_now;
    tracer->trace_inner = trace_evaluation;
    tracer->read_before = begin_slot;
    return set_initials(tracer) && cast_initials(tracer) && clear_counters(tracer) && trace_evaluation(tracer) &&
           (request->n_steps < 2 || traced_loop_emit(tracer, &rest));
}

/* The node whose output port an operand of the outermost graph is, without a value before it has run; as many as there are: none.
 */
static size_t node_of_value(const struct mdf_program *program, mdf_operand operand)
{
    size_t found = program->n_nodes;

    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++) {
            const struct mdf_program_output *output = &program->nodes[i].outputs[k];

            if (output->operand == operand && output->initial != MDF_NO_OPERAND) {
                return program->n_nodes;
            }
            found = output->operand == operand ? i : found;
        }
    }
    return found;
}

mdf_operand by_values_result(struct tracer *tracer, mdf_operand operand)
{
    const struct mdf_program *program = tracer->frames[0].program;
    size_t node = node_of_value(program, operand);
    mdf_operand is_there = by_values_get(tracer, tracer->schedules->is_ended), value = trace_operand(tracer, operand);

    if (node < program->n_nodes) {
        is_there = by_values_both(tracer, is_there, by_values_get(tracer, tracer->schedules->counters[0].has_run[node]));
    }
    return by_values_compute(tracer, "a * (1 // (1 if b else 0))", value, is_there, MDF_NO_OPERAND);
}
