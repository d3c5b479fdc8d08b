/* evaluation.c - see evaluation.h.
 *
 * Comes in: the code of a graph's nodes, whose slots are written again in each evaluation. Goes out: code in which each operand
 * is written once (trace.h): the first two evaluations, then a Loop whose body is a later one, and whose states are the slots
 * that an evaluation reads as an earlier one has left them (where memory is bounded, Loops in a Loop: what derives them keeps the
 * states of the outer ones, and those of one inner one at a time), then the last evaluation, which alone computes what only the
 * result needs. */
#include "mdf_c/plan/gradient/evaluation.h"

#include "mdf_c/plan/gradient/loop_segments.h"
#include "mdf_c/plan/gradient/run_ahead.h"
#include "mdf_c/plan/gradient/run_by_values.h"
#include "mdf_c/plan/gradient/traced_loop.h"
#include "mdf_c/plan/traced/trace.h"

enum { FEW_STEPS = 16 };

static bool trace_sequence(struct tracer *tracer, const struct ahead_sequence *sequence);

/* Evaluations, or blocks of sets of nodes. */
struct steps {
    const struct ahead_sequence *block; /* NULL: all nodes */
    uint64_t n;                         /* evaluations, or segments */
    uint64_t size;                      /* of a segment; 0: there are none */
    unsigned levels;                    /* within a segment */
};

static bool trace_levels(struct tracer *around, bool has_dt, const struct ahead_sequence *block, uint64_t n, unsigned levels);

static bool trace_block(struct tracer *tracer, void *context, mdf_operand *goes_on)
{
    const struct steps *steps = context;

    (void)goes_on;
    return steps->size > 0        ? trace_levels(tracer, tracer->has_dt, steps->block, steps->size, steps->levels)
           : steps->block == NULL ? trace_nodes(tracer, false)
                                  : trace_sequence(tracer, steps->block);
}

static struct traced_loop loop_of(bool has_dt, struct steps *steps)
{
    return (struct traced_loop){.id = steps->size > 0 ? "steps" : "step",
                                .most = steps->n,
                                .begins = MDF_NO_OPERAND,
                                .has_dt = has_dt,
                                .keeps_outputs = steps->block != NULL,
                                .trace = trace_block,
                                .context = steps};
}

static bool emit_steps(struct tracer *around, bool has_dt, struct steps steps)
{
    const struct traced_loop loop = loop_of(has_dt, &steps);

    return traced_loop_emit(around, &loop);
}

/* n evaluations, or blocks: one Loop, or Loops in Loops. */
static bool trace_levels(struct tracer *around, bool has_dt, const struct ahead_sequence *block, uint64_t n, unsigned levels)
{
    uint64_t size = segments_size(n, levels);

    if (levels < 2 || n < FEW_STEPS) {
        return emit_steps(around, has_dt, (struct steps){block, n, 0, 0});
    }
    return emit_steps(around, has_dt, (struct steps){block, n / size, size, levels - 1}) &&
           (n % size == 0 || trace_levels(around, has_dt, block, n % size, levels - 1));
}

static bool trace_many(struct tracer *around, bool has_dt, const struct ahead_sequence *block, uint64_t n)
{
    struct steps one = {block, n, 0, 0};
    const struct traced_loop loop = loop_of(has_dt, &one);
    double bytes = 0;

    if (around->bound_bytes == 0 || n < FEW_STEPS) {
        return emit_steps(around, has_dt, one);
    }
    return traced_loop_measure(around, &loop, &bytes) &&
           trace_levels(around, has_dt, block, n, segments_levels(n, bytes, around->bound_bytes));
}

/* ------------------------------------------------------------------ nodes that run until they are finished */

/* What a node says is one number: it is 0. */
static mdf_operand is_unfinished(struct tracer *tracer, const struct mdf_program_node *node)
{
    mdf_operand finished = trace_operand(tracer, node->finished), zero = unit_add_int(&tracer->target, 0);
    mdf_operand sum = finished != MDF_NO_OPERAND ? unit_call_python(&tracer->target, PYTHON_SUM, &finished, 1) : finished;

    return sum == MDF_NO_OPERAND || zero == MDF_NO_OPERAND ? MDF_NO_OPERAND
                                                           : unit_call_two(&tracer->target, "operator.eq", sum, zero);
}

/* What edges bring to the node once it has run. */
static const bool *brings_again(struct tracer *tracer, const struct mdf_program_node *node)
{
    const struct mdf_program *program = tracer->frames[tracer->frame].program;
    bool *brings = mdf_arena_array(&tracer->target.compiler->scratch, node->n_edges + 1, sizeof *brings);

    if (brings == NULL) {
        compile_out_of_memory(tracer->target.compiler);
    }
    for (size_t i = 0; brings != NULL && i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->edges[node->edges[i]];

        brings[i] =
            tracer->brings != NULL ? tracer->brings[i] || &program->nodes[edge->sender] == node : trace_brings(tracer, edge);
    }
    return brings;
}

/* Runs of a node but the first. */
struct repeats {
    const struct mdf_program_node *node;
    const bool *brings; /* NULL: each run asks */
};

static bool trace_again(struct tracer *tracer, void *context, mdf_operand *goes_on)
{
    const struct repeats *repeats = context;
    const struct mdf_program_node *node = repeats->node;

    tracer->is_first = false;
    tracer->has_read = true;
    tracer->brings = repeats->brings;
    if (!trace_ports(tracer, node) || !trace_range(tracer, node->first, node->reset) ||
        !trace_range(tracer, node->main, node->end)) {
        return false;
    }
    *goes_on = is_unfinished(tracer, node);
    return *goes_on != MDF_NO_OPERAND;
}

/* The Loop of a node's runs but the first, as long as it is not finished. */
static bool repeat(struct tracer *around, const struct mdf_program_node *node)
{
    struct repeats repeats = {node, NULL};
    struct traced_loop loop = {.id = "repeats",
                               .most = node->most_repeats - 1,
                               .has_dt = around->has_dt,
                               .keeps_outputs = true,
                               .in_segments = true,
                               .trace = trace_again,
                               .context = &repeats};

    if (node->most_repeats <= 1) {
        return true;
    }
    if (around->schedules == NULL) {
        repeats.brings = brings_again(around, node);
        if (repeats.brings == NULL) {
            return false;
        }
    }
    loop.begins = is_unfinished(around, node);
    return loop.begins != MDF_NO_OPERAND && traced_loop_emit(around, &loop);
}

/* ------------------------------------------------------------------ sets of nodes */

static bool trace_run(struct tracer *tracer, const struct ahead_set *set, const struct ahead_run *run)
{
    const struct mdf_program_node *node = &tracer->frames[tracer->frame].program->nodes[run->node];

    tracer->has_dt = set->has_dt;
    tracer->has_read = run->has_read;
    tracer->brings = run->brings;
    tracer->inner = run->inner;
    return (set->takes_first || trace_ports(tracer, node)) && (!run->resets || trace_range(tracer, node->reset, node->initial)) &&
           trace_range(tracer, node->first, node->reset) && (!run->is_first || trace_range(tracer, node->initial, node->main)) &&
           trace_range(tracer, node->main, node->end) && (node->finished == MDF_NO_OPERAND || repeat(tracer, node));
}

static bool trace_set(struct tracer *tracer, const struct ahead_set *set)
{
    const struct mdf_program *program = tracer->frames[tracer->frame].program;

    for (size_t i = 0; set->takes_first && i < set->n_runs; i++) {
        tracer->has_dt = set->has_dt;
        tracer->has_read = set->runs[i].has_read;
        tracer->brings = set->runs[i].brings;
        if (!trace_ports(tracer, &program->nodes[set->runs[i].node])) {
            return false;
        }
    }
    for (size_t i = 0; i < set->n_runs; i++) {
        if (!trace_run(tracer, set, &set->runs[i])) {
            return false;
        }
    }
    return true;
}

static bool trace_sequence(struct tracer *tracer, const struct ahead_sequence *sequence)
{
    for (size_t i = 0; i < sequence->n; i++) {
        const struct ahead_item *item = sequence->items[i];

        if (!(item->set != NULL  ? trace_set(tracer, item->set)
              : item->times == 1 ? trace_sequence(tracer, item->block)
                                 : trace_many(tracer, tracer->has_dt, item->block, item->times))) {
            return false;
        }
    }
    return true;
}

/* What runs of the graph within the node that runs. */
static bool trace_inner(struct tracer *tracer)
{
    const struct tracer around = *tracer;
    bool done = around.inner == NULL || trace_sequence(tracer, around.inner);

    tracer->has_dt = around.has_dt;
    tracer->brings = around.brings;
    return done;
}

/* ------------------------------------------------------------------ all */

/* All evaluations but the first. The second one stands in front of the loop: what it leaves has the types of all later ones,
 * where what the first one leaves may be the number in the file. */
static bool trace_rest(struct tracer *tracer, const struct mdf_gradient_request *request)
{
    tracer->has_dt = request->has_dt;
    tracer->is_later = true;
    return (request->n_steps < 3 || trace_nodes(tracer, false)) &&
           (request->n_steps < 4 || trace_many(tracer, request->has_dt, NULL, request->n_steps - 3)) &&
           (request->n_steps < 2 || trace_nodes(tracer, false));
}

/* What output ports hold before their nodes have run. */
static bool set_initials(struct tracer *tracer)
{
    for (size_t i = 0; i < tracer->n_frames; i++) {
        const struct mdf_program *program = tracer->frames[i].program;

        trace_enter(tracer, i);
        for (size_t k = 0; k < program->n_nodes; k++) {
            for (size_t j = 0; j < program->nodes[k].n_outputs; j++) {
                const struct mdf_program_output *output = &program->nodes[k].outputs[j];

                if (output->initial != MDF_NO_OPERAND && MDF_OPERAND_KIND(output->operand) == MDF_OPERAND_SLOT) {
                    tracer->now[MDF_OPERAND_INDEX(output->operand)] = trace_operand(tracer, output->initial);
                }
            }
        }
    }
    trace_enter(tracer, 0);
    return tracer->target.compiler->error->code == MDF_OK;
}

/* Whether an output port that is the operand holds something at the end. */
static bool is_held(const struct mdf_program *program, const bool *has_run, mdf_operand operand)
{
    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = 0; k < program->nodes[i].n_outputs; k++) {
            const struct mdf_program_output *output = &program->nodes[i].outputs[k];

            if (output->operand == operand && (has_run[i] || output->initial != MDF_NO_OPERAND)) {
                return true;
            }
        }
    }
    return false;
}

/* All evaluations of nodes that run under conditions. */
static bool trace_ahead(struct tracer *tracer, const struct mdf_gradient_request *request, mdf_operand operand)
{
    const bool *has_run;
    const struct ahead_sequence *sequence = ahead_find(tracer, request, &has_run);

    if (sequence != NULL && request->of != NULL && !is_held(tracer->frames[0].program, has_run, operand)) {
        compile_error(tracer->target.compiler, MDF_VALUE,
                      "there is nothing to derive: the node of '%s' does not run in %llu step%s", request->of,
                      (unsigned long long)request->n_steps, request->n_steps == 1 ? "" : "s");
        return false;
    }
    tracer->trace_inner = trace_inner;
    tracer->is_later = true; /* what has a value is told run by run */
    return sequence != NULL && trace_sequence(tracer, sequence);
}

/* Those of nodes that run one after the other. */
static bool trace_all(struct tracer *tracer, const struct mdf_gradient_request *request, mdf_operand operand)
{
    bool changes = MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && tracer->is_written[MDF_OPERAND_INDEX(operand)];

    return trace_nodes(tracer, true) && (!changes || trace_rest(tracer, request));
}

bool compile_evaluations(struct graph_builder *builder, const struct mdf_gradient_request *request, mdf_operand operand,
                         mdf_operand *result)
{
    struct tracer first = {.target = {builder->compiler, builder->unit, &builder->scope},
                           .from = builder->unit,
                           .n_slots = builder->unit->slot_facts.n,
                           .repeat = repeat,
                           .bound_bytes = request->bound_bytes,
                           .purpose = "there are no derivatives over the steps"};
    bool *is_written, by_values;

    if (builder->compiler->program->solver.takes_own_steps && request->n_steps > 1) {
        return trace_refuse(&first, "a method that chooses its steps (take one of fixed steps: docs/time.md)");
    }
    is_written = trace_writes(&first, 0, unit_position(builder->unit));
    first.is_written = is_written;
    if (is_written == NULL) {
        return false;
    }
    trace_mark_fed(builder->compiler->program, is_written);
    trace_mark_given(builder->compiler->program, is_written);
    if (!trace_find_frames(&first)) {
        return false;
    }
    by_values = by_values_is_needed(&first);
    if ((by_values && !by_values_begin(&first, builder)) || !trace_begin(&first) || !set_initials(&first)) {
        return false;
    }
    if (!(by_values                 ? by_values_trace(&first, request, set_initials)
          : ahead_is_needed(&first) ? trace_ahead(&first, request, operand)
                                    : trace_all(&first, request, operand))) {
        return false;
    }
    *result = by_values ? by_values_result(&first, operand) : trace_operand(&first, operand);
    return *result != MDF_NO_OPERAND;
}
