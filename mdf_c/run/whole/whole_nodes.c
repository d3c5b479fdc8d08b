/* whole_nodes.c - see whole.h. What state.c does node by node, as one stretch of lowered ops: edges bring values to ports, then
 * the node's instructions run. */
#include "mdf_c/run/whole/whole_schedule.h"

#include <string.h>

/* The first value to arrive goes to the port's slot; each further one overwrites it, or is combined with it. */
static bool lower_edge(struct lowering *lowering, struct scope *scope, const struct mdf_program *program,
                       const struct mdf_program_edge *edge, bool is_first)
{
    const struct mdf_program_port *port = &program->ports[edge->port];

    if (!lowering_run(lowering, scope, edge->weigh.first, edge->weigh.end)) {
        return false;
    }
    if (is_first || port->reduce == MDF_REDUCE_OVERWRITE) {
        return lowering_declare(lowering, scope, port->slot, edge->value, &port->declaration.type);
    }
    return lowering_declare(lowering, scope, port->arriving, edge->value, &port->declaration.type) &&
           lowering_run(lowering, scope, port->combine.first, port->combine.end);
}

bool mdf_whole_brings(const struct mdf_state *state, const struct mdf_program_edge *edge)
{
    return state->has_run[edge->sender] || edge->has_initial || state->leaves_nothing;
}

/* What the node around the graph brings in each run. */
static bool lower_links(struct lowering *lowering, struct scope *scope, const struct mdf_state *state,
                        const struct mdf_program_node *node)
{
    for (size_t i = node->first_port; i < node->first_port + node->n_ports; i++) {
        const struct mdf_program_port *port = &state->program->ports[i];

        if (state->ports[i].brings == MDF_NODE_BRINGS_IN_EACH_RUN &&
            !lowering_declare(lowering, scope, port->slot, port->source, &port->declaration.type)) {
            return false;
        }
    }
    return true;
}

bool mdf_whole_lower_edges(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t index)
{
    const struct mdf_program *program = state->program;
    const struct mdf_program_node *node = &program->nodes[index];

    if (!lower_links(lowering, scope, state, node)) {
        return false;
    }
    for (size_t i = 0; i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->edges[node->edges[i]];
        bool is_first = true;

        if (!mdf_whole_brings(state, edge)) {
            continue;
        }
        for (size_t j = 0; j < i; j++) {
            const struct mdf_program_edge *other = &program->edges[node->edges[j]];

            is_first = is_first && (other->port != edge->port || !mdf_whole_brings(state, other));
        }
        if (!lower_edge(lowering, scope, program, edge, is_first)) {
            return false;
        }
    }
    return true;
}

static bool lower_node(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t index, bool is_first)
{
    const struct mdf_program_node *node = &state->program->nodes[index];

    return lowering_run(lowering, scope, node->first, node->reset) &&
           lowering_run(lowering, scope, is_first ? node->initial : node->main, node->end);
}

bool mdf_whole_lower_node(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t index)
{
    return lower_node(lowering, scope, state, index, false);
}

struct repetition mdf_whole_repetition(const struct mdf_state *state)
{
    const struct mdf_whole *whole = state->shared->outermost->whole;

    return (struct repetition){.is_written = whole->is_written, .n_slots = whole->n_slots};
}

/* Whether the node goes on: what says that it is finished is 0. */
static mdf_lowered_id is_unfinished(struct lowering *lowering, struct scope *scope, const struct mdf_program_node *node)
{
    mdf_lowered_id finished = lowering_value_of(lowering, scope, node->finished);

    if (finished == MDF_LOWERED_NONE || !lowering->lowered->values[finished].is_scalar) {
        lowering_fail(lowering, MDF_REFUSED_WATCHED_ELEMENT);
        return MDF_LOWERED_NONE;
    }
    return mdf_term_compute(lowering, MDF_LOWERED_EQUAL, true, lowering_cast(lowering, finished, MDF_DTYPE_FLOAT64),
                            mdf_term_real(lowering, 0));
}

/* Runs of a node until it is finished, at most so many, where `begins` says that there is one. */
static bool lower_runs(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t index, uint64_t most,
                       mdf_lowered_id begins)
{
    const struct mdf_program_node *node = &state->program->nodes[index];
    const struct mdf_whole *whole = state->shared->outermost->whole;
    struct repetition runs = mdf_whole_repetition(state);
    bool *leaves = mdf_arena_array(&lowering->scratch, runs.n_slots, sizeof *leaves);

    if (leaves == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < runs.n_slots; i++) { /* what only the node itself looks at need not be there afterwards */
        bool is_own = i >= state->room->first_slot && i - state->room->first_slot < state->program->code->n_slots;

        leaves[i] = is_own ? whole->readers[i] != index + 1 && whole->readers[i] != MDF_READ_BY_NOBODY
                           : whole->readers[i] == MDF_READ_BY_ALL;
    }
    if (begins == MDF_LOWERED_NONE || !lowering_begin_repetition(lowering, scope, &runs)) {
        return false;
    }
    runs.loop->trip_count = mdf_term_whole(lowering, (int64_t)most);
    runs.loop->condition = begins;
    if (runs.loop->trip_count == MDF_LOWERED_NONE || !mdf_whole_lower_edges(lowering, &runs.body, state, index) ||
        !mdf_whole_lower_node(lowering, &runs.body, state, index)) {
        return false;
    }
    runs.loop->next_condition = is_unfinished(lowering, &runs.body, node);
    return runs.loop->next_condition != MDF_LOWERED_NONE && lowering_end_repetition(lowering, &runs, leaves);
}

bool mdf_whole_lower_repeated(struct lowering *lowering, struct scope *scope, const struct mdf_state *state, size_t index)
{
    return lower_runs(lowering, scope, state, index, state->program->nodes[index].most_repeats, mdf_term_truth(lowering, true));
}

/* What edges bring to nodes that all take it before one of them runs. */
static bool take_before(struct lowering *lowering, struct scope *scope, const struct mdf_state *state,
                        const struct mdf_program_layer *layer)
{
    for (size_t i = 0; layer->takes_first && i < layer->n_nodes; i++) {
        if (!mdf_whole_lower_edges(lowering, scope, state, layer->nodes[i])) {
            return false;
        }
    }
    return true;
}

/* A layer of a graph without conditions. */
static bool lower_layer(struct lowering *lowering, struct scope *scope, const struct mdf_state *state,
                        const struct mdf_program_layer *layer)
{
    if (!take_before(lowering, scope, state, layer)) {
        return false;
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        const struct mdf_program_node *node = &state->program->nodes[layer->nodes[i]];
        bool repeats = node->finished != MDF_NO_OPERAND;

        if (repeats && layer->takes_first) { /* it takes anew before each run, others after their set has */
            return lowering_fail(lowering, MDF_REFUSED_CONDITIONS);
        }
        if (!lowering_run(lowering, scope, node->reset, node->initial) ||
            (!repeats && !layer->takes_first && !mdf_whole_lower_edges(lowering, scope, state, layer->nodes[i])) ||
            !(repeats ? mdf_whole_lower_repeated(lowering, scope, state, layer->nodes[i])
                      : mdf_whole_lower_node(lowering, scope, state, layer->nodes[i]))) {
            return false;
        }
    }
    return true;
}

bool mdf_whole_lower_evaluation(struct lowering *lowering, struct scope *scope, struct mdf_state *state, const bool *leaves,
                                mdf_lowered_id *mask)
{
    const struct mdf_program *program = state->program;
    struct mdf_whole *all = state->shared->outermost->whole;
    struct mdf_whole_schedule whole = {lowering, state, program, program->schedule, all->is_written + state->room->first_slot};

    all->leaves = leaves;
    if (program->schedule != NULL) {
        return mdf_whole_lower_passes(&whole, scope, leaves, mask);
    }
    for (size_t i = 0; i < program->n_layers; i++) {
        if (!lower_layer(lowering, scope, state, &program->layers[i])) {
            return false;
        }
    }
    return true;
}

/* Whether a node that runs until it is finished gets from its first run on what it did not get before: its own values. */
static bool comes_to_feed_itself(const struct mdf_state *state, size_t index)
{
    const struct mdf_program_node *node = &state->program->nodes[index];

    for (size_t i = 0; node->finished != MDF_NO_OPERAND && i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &state->program->edges[node->edges[i]];

        if (edge->sender == index && !mdf_whole_brings(state, edge)) {
            return true;
        }
    }
    return false;
}

/* A layer in the first evaluation of a life. */
static bool lower_first_layer(struct lowering *lowering, struct scope *scope, struct mdf_state *state,
                              const struct mdf_program_layer *layer)
{
    if (!take_before(lowering, scope, state, layer)) {
        return false;
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        const struct mdf_program_node *node = &state->program->nodes[layer->nodes[i]];

        if ((node->finished != MDF_NO_OPERAND && layer->takes_first) || comes_to_feed_itself(state, layer->nodes[i])) {
            return lowering_fail(lowering, MDF_REFUSED_CONDITIONS);
        }
        if ((!layer->takes_first && !mdf_whole_lower_edges(lowering, scope, state, layer->nodes[i])) ||
            !lowering_run(lowering, scope, node->reset, node->initial) ||
            !lower_node(lowering, scope, state, layer->nodes[i], true) ||
            (node->finished != MDF_NO_OPERAND &&
             !lower_runs(lowering, scope, state, layer->nodes[i], node->most_repeats - 1, is_unfinished(lowering, scope, node)))) {
            return false;
        }
        state->has_run[layer->nodes[i]] = true;
    }
    return true;
}

/* Whether an evaluation is asked if it was the last: once the nodes that say so have run, as they do in each of those of which
 * none looks at an earlier one. */
static bool may_stop(const struct mdf_state *state)
{
    return mdf_state_can_stop(state) || (state->leaves_nothing && state->program->stop.n_ports > 0);
}

static bool lower_stop(struct lowering *lowering, struct scope *scope, const struct mdf_state *state)
{
    const struct mdf_program_stop *stop = &state->program->stop;

    return !may_stop(state) || lowering_run(lowering, scope, stop->first, stop->end);
}

bool mdf_whole_lower_first(struct lowering *lowering, struct scope *scope, void *plan)
{
    struct mdf_state *state = plan;
    const struct mdf_program *program = state->program;
    bool done = true;

    for (size_t i = 0; done && i < program->n_layers; i++) {
        done = lower_first_layer(lowering, scope, state, &program->layers[i]);
    }
    done = done && lower_stop(lowering, scope, state);
    memset(state->has_run, 0, program->n_nodes * sizeof *state->has_run);
    return done;
}

/* Counts an evaluation of several in a row; they go on unless it was the last. */
static bool go_on_unless_stopped(struct lowering *lowering, struct repetition *steps, const struct mdf_state *state)
{
    mdf_operand taken = mdf_whole_counter(state->program, MDF_COUNTER_TAKEN, 0);
    mdf_lowered_id stopped, number;

    if (state->program->stop.n_ports == 0) {
        return true;
    }
    if (!lower_stop(lowering, &steps->body, state)) {
        return false;
    }
    number = mdf_term_compute(lowering, MDF_LOWERED_ADD, false, lowering_value_of(lowering, &steps->body, taken),
                              mdf_term_whole(lowering, 1));
    if (number == MDF_LOWERED_NONE || !lowering_bind(lowering, &steps->body, taken, number) || !may_stop(state)) {
        return number != MDF_LOWERED_NONE && !lowering_has_failed(lowering);
    }
    stopped = lowering_value_of(lowering, &steps->body, state->program->stop.value);
    if (stopped == MDF_LOWERED_NONE || !lowering->lowered->values[stopped].is_scalar) {
        return lowering_fail(lowering, MDF_REFUSED_WATCHED_ELEMENT);
    }
    steps->loop->condition = mdf_term_truth(lowering, true);
    steps->loop->next_condition =
        lowering_example(lowering, stopped)->dtype == MDF_DTYPE_BOOL
            ? mdf_term_not(lowering, stopped)
            : mdf_term_compute(lowering, MDF_LOWERED_EQUAL, true, lowering_cast(lowering, stopped, MDF_DTYPE_FLOAT64),
                               mdf_term_real(lowering, 0));
    return steps->loop->condition != MDF_LOWERED_NONE && steps->loop->next_condition != MDF_LOWERED_NONE;
}

bool mdf_whole_lower_single(struct lowering *lowering, struct scope *scope, void *plan)
{
    struct mdf_state *state = plan;

    return mdf_whole_lower_evaluation(lowering, scope, state, state->whole->is_observed, &state->whole->single.mask) &&
           lower_stop(lowering, scope, state);
}

bool mdf_whole_set_aliases(struct lowering *lowering, struct scope *scope, const struct mdf_state *state)
{
    for (size_t i = 0; i < state->whole->n_slots; i++) {
        if (state->whole->has_alias[i] && !lowering_bind(lowering, scope, MDF_OPERAND(MDF_OPERAND_SLOT, i),
                                                         lowering_value_of(lowering, scope, state->whole->aliases[i]))) {
            return false;
        }
    }
    return true;
}

void mdf_whole_begin_many(struct mdf_whole *whole)
{
    memset(whole->has_alias, 0, whole->n_slots * sizeof *whole->has_alias);
    memset(whole->is_kept, 0, whole->n_slots * sizeof *whole->is_kept);
    whole->may_be_idle = false;
}

/* Several in a row, of which the last leaves those slots. */
static bool lower_many(struct lowering *lowering, struct scope *scope, struct mdf_state *state, const bool *leaves)
{
    struct repetition steps = mdf_whole_repetition(state);
    mdf_lowered_id n_steps = lowering_value_of(lowering, scope, mdf_whole_counter(state->program, MDF_COUNTER_STEPS, 0));

    mdf_whole_begin_many(state->whole);
    if (n_steps == MDF_LOWERED_NONE || !lowering_begin_repetition(lowering, scope, &steps)) {
        return false;
    }
    steps.loop->trip_count = n_steps;
    if (!mdf_whole_lower_evaluation(lowering, &steps.body, state, leaves != NULL ? leaves : state->whole->is_left, NULL)) {
        return false;
    }
    leaves = leaves == NULL && state->whole->may_be_idle ? state->whole->is_observed : leaves;
    return go_on_unless_stopped(lowering, &steps, state) && lowering_end_repetition(lowering, &steps, leaves) &&
           mdf_whole_set_aliases(lowering, scope, state);
}

bool mdf_whole_lower_many(struct lowering *lowering, struct scope *scope, void *plan)
{
    struct mdf_state *state = plan;

    return lower_many(lowering, scope, state, state->program->stop.n_ports > 0 ? state->whole->is_observed : NULL);
}

bool mdf_whole_lower_many_seen(struct lowering *lowering, struct scope *scope, void *plan)
{
    struct mdf_state *state = plan;

    return lower_many(lowering, scope, state, state->whole->is_observed);
}

void mdf_whole_mark_written(const struct mdf_program *program, bool *is_written)
{
    if (program->schedule != NULL) {
        mdf_whole_mark_kept(program, is_written);
    }
    if (program->stop.n_ports > 0) {
        lowering_mark_written(program->code, program->stop.first, program->stop.end, is_written);
        is_written[MDF_OPERAND_INDEX(mdf_whole_counter(program, MDF_COUNTER_TAKEN, 0))] = true;
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        lowering_mark_written(program->code, program->nodes[i].first, program->nodes[i].initial, is_written);
        lowering_mark_written(program->code, program->nodes[i].main, program->nodes[i].end, is_written);
    }
    for (size_t i = 0; i < program->n_ports; i++) {
        if (program->ports[i].outer_port != SIZE_MAX) {
            is_written[MDF_OPERAND_INDEX(program->ports[i].slot)] = true;
        }
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->edges[i];
        const struct mdf_program_port *port = &program->ports[edge->port];

        lowering_mark_written(program->code, edge->weigh.first, edge->weigh.end, is_written);
        lowering_mark_written(program->code, port->combine.first, port->combine.end, is_written);
        is_written[MDF_OPERAND_INDEX(port->slot)] = true;
        if (port->reduce != MDF_REDUCE_OVERWRITE) {
            is_written[MDF_OPERAND_INDEX(port->arriving)] = true;
        }
    }
}
