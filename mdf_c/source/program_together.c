/* program_together.c - nodes that follow one another and have loops which become one, as the second goes through what the first
 * yields, or through the same; or large arrays that they go through, in one nest, as the second moves what the first stores or
 * computes functions of its elements; or a sequence whose items differ in form, which is in no slot. They are lowered as one
 * stretch, which the last of them runs; the others only take what their edges bring. */
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "mdf_c/code/operands.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/source/program_writer.h"

#include <string.h>

enum {
    MOST_TOGETHER = 16,    /* nodes */
    MOST_BETWEEN = 4,      /* nodes without a loop, from one with a loop to the next */
    MOST_IN_VAIN = 2,      /* nodes that could be joined, one after the other, by which no more loops and nests become one */
    FEWEST_ELEMENTS = 1024 /* of an array that is gone through once less */
};

/* ------------------------------------------------------------------ nodes */

/* Whether calls of a node have bodies, loops perhaps. */
static bool has_bodies(const struct mdf_program *program, const struct mdf_program_node *node)
{
    const struct mdf_code *code = program->code;

    for (size_t i = node->first; i < node->end; i++) {
        if (code->instructions[i].opcode == MDF_OPCODE_CALL && code->calls[code->instructions[i].target].n_bodies > 0) {
            return true;
        }
    }
    return false;
}

/* Whether a call yields a large array. */
static bool yields_large(const struct mdf_source_program *program, const struct mdf_code_call *call)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        const struct mdf_value *value =
            call->outputs[i] != MDF_NO_OPERAND ? mdf_frame_value(program->graph->state->frame, call->outputs[i]) : NULL;

        if (value != NULL && value->kind == MDF_KIND_TENSOR && value->length >= FEWEST_ELEMENTS) {
            return true;
        }
    }
    return false;
}

/* Whether all that a node does is to move elements of large arrays, or to compute functions of them. */
static bool is_of_elements(const struct mdf_source_program *program, const struct mdf_program_node *node)
{
    const struct mdf_code *code = program->graph->program->code;
    bool is_large = false;

    for (size_t i = node->first; i < node->end; i++) {
        const struct mdf_code_call *call =
            code->instructions[i].opcode == MDF_OPCODE_CALL ? &code->calls[code->instructions[i].target] : NULL;

        if (call != NULL &&
            call->operator->element == NULL && call->operator->element_of == NULL && call->operator->move == NULL) {
            return false;
        }
        is_large = is_large || (call != NULL && yields_large(program, call));
    }
    return is_large;
}

/* Whether a node does the same in each run, all at once. */
static bool is_plain(const struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];

    return program->graph->state->has_run[index] && node->first < node->end && node->reset == node->main && !node->has_graph &&
           node->finished == MDF_NO_OPERAND && !mdf_source_depends_on_dt(program->graph->program, node);
}

/* Whether what a node takes before it runs is there before the first of those runs. */
static bool takes_before(const struct mdf_source_program *program, size_t index, const size_t *nodes, size_t n)
{
    const struct mdf_program *own = program->graph->program;

    for (size_t i = 0; i < own->nodes[index].n_edges; i++) {
        for (size_t j = 0; j < n; j++) {
            if (own->edges[own->nodes[index].edges[i]].sender == nodes[j]) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what is lowered */

static bool may_fail(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region);

static bool may_nest_fail(const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (mdf_source_step_may_bail_out(&nest->steps[i])) {
            return true;
        }
    }
    return nest->is_open;
}

/* But for functions of plain C that always come to an end. */
static bool may_call_fail(const struct mdf_lowered_call *call)
{
    const struct mdf_operator *operator= call->call.operator;

    return operator== NULL || operator->routine == NULL || operator->routine->why != NULL || operator->routine->draws;
}

static bool may_op_fail(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_region *inner;

    if ((op->code == MDF_LOWERED_CALL && may_call_fail(op->of.call)) || mdf_source_op_may_bail_out(lowered, op) ||
        (op->code == MDF_LOWERED_NEST && may_nest_fail(op->of.nest)) ||
        (op->code == MDF_LOWERED_LOOP &&
         (op->of.loop->n_runs == SIZE_MAX || op->of.loop->n_padded > 0 || op->of.loop->limit > 0))) {
        return true;
    }
    for (size_t i = 0; (inner = mdf_lowered_inner(op, i)) != NULL; i++) {
        if (may_fail(lowered, inner)) {
            return true;
        }
    }
    return false;
}

/* Whether something may be refused in a step: who reads of it is told the node, and here there are several. */
static bool may_fail(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        if (may_op_fail(lowered, &region->ops[i])) {
            return true;
        }
    }
    return false;
}

/* How many loops have become a part of another one. */
static size_t count_joined(const struct mdf_lowered *lowered)
{
    const struct mdf_lowered_pair *pair;
    size_t n = 0;

    for (pair = lowered->pairs; pair != NULL; pair = pair->next) {
        n += pair->why_apart == NULL;
    }
    return n;
}

/* How often a form goes through large arrays: its outermost nests, loops and copies. */
static size_t count_passes(const struct mdf_lowered *lowered)
{
    size_t n = 0;

    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        const struct mdf_lowered_op *op = &lowered->region.ops[i];

        n += op->code == MDF_LOWERED_NEST || op->code == MDF_LOWERED_LOOP ||
             (op->code == MDF_LOWERED_COPY && lowered->values[op->out].form.length >= FEWEST_ELEMENTS);
    }
    return n;
}

/* The same of a node by itself, where what it only passes on lies where it was made; 0: it has no form. */
static size_t count_alone(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    const struct mdf_lowering_range range = {node->first, node->end};
    struct mdf_refusal refusal = {.reason = MDF_REFUSED_NOT_SAID};
    size_t *n = &program->graph->n_passes[index];

    if (*n == SIZE_MAX) {
        struct mdf_lowered *lowered = mdf_source_lower(program, &range, 1, false, &refusal);

        *n = lowered != NULL ? count_passes(lowered) : 0;
        mdf_lowered_release(lowered);
    }
    return *n;
}

/* Whether a node does what may become one with what nodes before it do. */
static bool may_join(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];

    return has_bodies(program->graph->program, node) || (is_of_elements(program, node) && count_alone(program, index) > 0);
}

/* Nodes in the order in which they run, from the one at hand on: up to the next that may join them and is not among the first n.
 * How many they are then; 0: there is no such node. */
static size_t go_on(struct mdf_source_program *program, const size_t *order, size_t n_order, size_t n)
{
    size_t n_between = 0;

    for (; n < n_order && n < MOST_TOGETHER && n_between <= MOST_BETWEEN; n++) {
        if (!is_plain(program, order[n]) || program->graph->together_of[order[n]] != NULL ||
            !takes_before(program, order[n], order, n)) {
            return 0;
        }
        if (may_join(program, order[n])) {
            return n + 1;
        }
        n_between++;
    }
    return 0;
}

/* What nodes gain that are lowered together: loops that have become a part of another one, and passes that nobody makes. */
struct gain {
    size_t n_joined, n_saved;
};

static struct gain find_gain(struct mdf_source_program *program, const size_t *order, size_t n, const struct mdf_lowered *lowered)
{
    struct gain gain = {count_joined(lowered), 0};
    size_t n_together = count_passes(lowered), n_apart = 0, i;

    for (i = 0; i < n; i++) {
        n_apart += count_alone(program, order[i]);
    }
    gain.n_saved = n_apart > n_together ? n_apart - n_together : 0;
    return gain;
}

/* Lowers nodes as one stretch; NULL: that can not be done, or may fail. */
static struct mdf_lowered *lower_nodes(struct mdf_source_program *program, const struct mdf_source_together *together,
                                       struct mdf_refusal *refusal)
{
    struct mdf_lowered *lowered = mdf_source_lower(program, together->ranges, together->n, false, refusal);

    if (lowered != NULL && may_fail(lowered, &lowered->region)) {
        mdf_lowered_release(lowered);
        return NULL;
    }
    return lowered;
}

/* Lowers the first n nodes of an order as one stretch. *together NULL: they gain no more than they did (gain NULL: that is not
 * asked), or that can not be done. False: memory ran out. */
static bool lower_together(struct mdf_source_program *program, const size_t *order, size_t n, struct gain *gain,
                           struct mdf_source_together **together)
{
    struct gain own;
    struct mdf_source_together *made = mdf_arena_allocate(&program->writer.arena, sizeof *made);
    struct mdf_lowering_range *ranges = mdf_arena_array(&program->writer.arena, n, sizeof *ranges);
    struct mdf_refusal refusal = {.reason = MDF_REFUSED_NOT_SAID};

    *together = NULL;
    if (made == NULL || ranges == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    *made = (struct mdf_source_together){.ranges = ranges, .n = n, .last = order[n - 1]};
    for (size_t i = 0; i < n; i++) {
        const struct mdf_program_node *node = &program->graph->program->nodes[order[i]];

        ranges[i] = (struct mdf_lowering_range){node->first, node->end};
    }
    made->lowered = lower_nodes(program, made, &refusal);
    if (made->lowered == NULL) {
        return refusal.reason != MDF_REFUSED_OUT_OF_MEMORY || mdf_source_out_of_memory(&program->writer);
    }
    if (gain == NULL) {
        *together = made;
        return true;
    }
    own = find_gain(program, order, n, made->lowered);
    own.n_saved += mdf_source_turns_unread(program, made);
    if (own.n_joined <= gain->n_joined && own.n_saved <= gain->n_saved) {
        mdf_lowered_release(made->lowered);
        return true;
    }
    *gain = own;
    *together = made;
    return true;
}

/* ------------------------------------------------------------------ the whole */

/* Of the graph at hand: all nodes in the order in which they run, and the place of each in that. */
static bool order_nodes(struct mdf_source_program *program)
{
    struct mdf_source_graph *graph = program->graph;
    const struct mdf_program *own = graph->program;
    size_t n = 0;

    graph->order = mdf_arena_array(&program->writer.arena, own->n_nodes + 1, sizeof *graph->order);
    graph->places = mdf_arena_array(&program->writer.arena, own->n_nodes + 1, sizeof *graph->places);
    graph->n_passes = mdf_arena_array(&program->writer.arena, own->n_nodes + 1, sizeof *graph->n_passes);
    if (graph->order == NULL || graph->places == NULL || graph->n_passes == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    for (size_t i = 0; i < own->n_nodes; i++) {
        graph->n_passes[i] = SIZE_MAX;
    }
    for (size_t i = 0; i < own->n_layers; i++) {
        for (size_t j = 0; j < own->layers[i].n_nodes; j++) {
            graph->places[own->layers[i].nodes[j]] = n;
            graph->order[n++] = own->layers[i].nodes[j];
        }
    }
    return true;
}

/* Whether nodes of the graph at hand can be brought together at all. */
static bool is_simple(const struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;

    return program->n_graphs == 1 && program->n_lanes == 0 && !program->has_derivatives && own->schedule == NULL &&
           !own->takes_first;
}

/* What the first nodes of an order have together, as many as gain by it; NULL: they gain nothing, or the error is set. */
static struct mdf_source_together *find_best(struct mdf_source_program *program, const size_t *order, size_t n_order)
{
    struct mdf_source_together *best = NULL, *more;
    struct gain gain = {0, 0};
    size_t n = 1, n_in_vain = 0;

    while (n_in_vain < MOST_IN_VAIN && (n = go_on(program, order, n_order, n)) > 0) {
        if (!lower_together(program, order, n, &gain, &more)) {
            mdf_lowered_release(best != NULL ? best->lowered : NULL);
            return NULL;
        }
        n_in_vain = more != NULL ? 0 : n_in_vain + 1;
        if (more != NULL) {
            mdf_lowered_release(best != NULL ? best->lowered : NULL);
            best = more;
        }
    }
    return best;
}

struct hidden_read {
    const struct mdf_source_program *program;
    const struct mdf_program_node *of; /* by which it was made */
};

static bool is_hidden_read(void *context, mdf_operand operand)
{
    const struct hidden_read *read = context;

    for (size_t i = 0; i < read->of->n_outputs; i++) {
        if (read->of->outputs[i].operand == operand && mdf_source_is_hidden(read->program, operand)) {
            return true;
        }
    }
    return false;
}

/* Whether a node reads a sequence of another one that is in no slot. */
static bool reads_hidden(const struct mdf_source_program *program, const struct mdf_program_node *node,
                         const struct mdf_program_node *of)
{
    struct hidden_read read = {program, of};
    const struct mdf_code *code = program->graph->program->code;

    for (size_t i = node->first; i < node->end; i++) {
        if (mdf_any_read(&code->instructions[i], code->calls, code->bodies, is_hidden_read, &read)) {
            return true;
        }
    }
    return false;
}

/* How many nodes of an order, from the first on, have sequences in common that are in no slot; 0: the first yields none, or they
 * can not be one stretch. */
static size_t count_bound(const struct mdf_source_program *program, const size_t *order, size_t n_order)
{
    const struct mdf_program *own = program->graph->program;
    size_t n = 1;

    for (size_t at = 0; at < n; at++) {
        if (!is_plain(program, order[at]) || program->graph->together_of[order[at]] != NULL ||
            !takes_before(program, order[at], order, at)) {
            return 0;
        }
        for (size_t k = at + 1; k < n_order; k++) {
            n = k >= n && reads_hidden(program, &own->nodes[order[k]], &own->nodes[order[at]]) ? k + 1 : n;
        }
    }
    return n > 1 ? n : 0;
}

/* The same nodes once more, by what is read in the graph now; NULL: that can not be done. */
static struct mdf_lowered *lower_again(struct mdf_source_program *program, const struct mdf_source_together *together)
{
    struct mdf_refusal refusal = {.reason = MDF_REFUSED_NOT_SAID};

    return lower_nodes(program, together, &refusal);
}

bool mdf_source_bring_together(struct mdf_source_program *program, size_t node)
{
    struct mdf_source_graph *graph = program->graph;
    const struct mdf_program *own = graph->program;
    struct mdf_source_together *best;
    const size_t *order;
    size_t n_order, n_bound;

    if (!is_simple(program) || graph->together_of[node] != NULL || !is_plain(program, node)) {
        return true;
    }
    if (graph->order == NULL && !order_nodes(program)) {
        return false;
    }
    order = graph->order + graph->places[node];
    n_order = own->n_nodes - graph->places[node];
    n_bound = count_bound(program, order, n_order);
    if (n_bound == 0 && !may_join(program, node)) {
        return true;
    }
    if (n_bound == 0) {
        best = find_best(program, order, n_order);
    } else if (!lower_together(program, order, n_bound, NULL, &best)) {
        return false;
    }
    if (best != NULL) {
        best->lowered = mdf_source_leave_turned(program, best, lower_again);
    }
    for (size_t i = 0; best != NULL && i < best->n; i++) {
        graph->together_of[graph->order[graph->places[node] + i]] = best;
    }
    return program->writer.error->code == MDF_OK &&
           (best == NULL || mdf_source_add_stretch(program, best->ranges, best->n, false, best->lowered));
}
