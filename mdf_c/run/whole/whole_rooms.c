/* whole_rooms.c - see whole.h. Graphs within nodes as a part of the whole: each has a room, in which the slots of its frame and
 * its counters are numbered, and is gone through where its node runs it, as state.c and state_inputs.c do. */
#include "mdf_c/code/operands.h"
#include "mdf_c/run/state_inputs.h"
#include "mdf_c/run/whole/whole_schedule.h"

#include <string.h>

/* ------------------------------------------------------------------ making them */

struct mdf_state *mdf_whole_graph(const struct mdf_lowering_room *room)
{
    return room->plan;
}

static struct mdf_state *state_of(const struct mdf_state *state, const struct mdf_frame *frame)
{
    struct mdf_state *nested = state->shared->nested;

    while (nested != NULL && nested->frame != frame) {
        nested = nested->next;
    }
    return nested;
}

static size_t count_graphs(const struct mdf_state *state)
{
    const struct mdf_state *nested;
    size_t n = 1;

    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        n++;
    }
    return n;
}

static bool add_room(struct mdf_state *state, struct mdf_state *graph, size_t *n_constants)
{
    size_t n_counters = mdf_whole_n_counters(graph->program);
    struct mdf_whole *whole = state->whole;
    struct mdf_lowering_room *room = &whole->rooms[whole->n_rooms];

    room->frame = graph->frame;
    room->plan = graph;
    room->counters = mdf_arena_array(&state->shared->execution.arena, n_counters, sizeof *room->counters);
    if (room->counters == NULL) {
        return false;
    }
    room->first_slot = whole->n_slots;
    room->first_constant = *n_constants;
    whole->n_slots += graph->program->code->n_slots + n_counters;
    *n_constants += graph->program->code->n_constants;
    whole->n_rooms++;
    graph->room = room;
    return true;
}

bool mdf_whole_make_rooms(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;
    size_t n_constants = 0;

    whole->rooms = mdf_arena_array(&state->shared->execution.arena, count_graphs(state), sizeof *whole->rooms);
    whole->n_rooms = whole->n_slots = 0;
    if (whole->rooms == NULL || !add_room(state, state, &n_constants)) {
        return false;
    }
    for (size_t own = 0; own < whole->n_rooms; own++) {
        const struct mdf_code *code = mdf_frame_code(whole->rooms[own].frame);

        for (size_t i = 0; i < code->n_instructions; i++) {
            uint32_t body = code->instructions[i].target;
            struct mdf_state *within = code->instructions[i].opcode == MDF_OPCODE_GRAPH
                                           ? state_of(state, mdf_frame_of_body(whole->rooms[own].frame, body))
                                           : NULL;

            if (within == NULL) {
                continue;
            }
            whole->rooms[whole->n_rooms].outer = &whole->rooms[own];
            whole->rooms[whole->n_rooms].body = body;
            if (!add_room(state, within, &n_constants)) {
                return false;
            }
        }
    }
    return true;
}

bool mdf_whole_counts(const struct mdf_state *state)
{
    for (size_t i = 0; i < state->whole->n_rooms; i++) {
        if (mdf_whole_graph(&state->whole->rooms[i])->program->schedule != NULL) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ all graphs */

static const struct mdf_state *next_graph(const struct mdf_state *graph)
{
    return graph == graph->shared->outermost ? graph->shared->nested : graph->next;
}

bool mdf_whole_have_all_run(const struct mdf_state *state)
{
    while (state != NULL && memchr(state->has_run, 0, state->program->n_nodes * sizeof *state->has_run) == NULL) {
        state = next_graph(state);
    }
    return state == NULL;
}

size_t mdf_whole_n_nodes(const struct mdf_state *state)
{
    size_t n = 0;

    for (; state != NULL; state = next_graph(state)) {
        n += state->program->n_nodes;
    }
    return n;
}

void mdf_whole_note_have_run(const struct mdf_state *state, bool *have_run)
{
    for (; state != NULL; state = next_graph(state)) {
        memcpy(have_run, state->has_run, state->program->n_nodes * sizeof *have_run);
        have_run += state->program->n_nodes;
    }
}

static bool is_slot(void *slot, mdf_operand operand)
{
    return MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && MDF_OPERAND_INDEX(operand) == *(size_t *)slot;
}

/* Whether the first run of a node writes a slot, and no other. */
static bool is_written_at_first(const struct mdf_program *program, size_t slot)
{
    const struct mdf_code *code = program->code;

    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t k = program->nodes[i].initial; k < program->nodes[i].main; k++) {
            if (mdf_any_written(&code->instructions[k], code->calls, is_slot, &slot)) {
                return true;
            }
        }
    }
    return false;
}

static bool may_write_in(const struct mdf_whole *whole, const struct mdf_lowering_room *room, const struct mdf_value *slot)
{
    const struct mdf_program *program = mdf_whole_graph(room)->program;
    size_t n = program->code->n_slots, i;

    if (slot >= room->counters && slot < room->counters + mdf_whole_n_counters(program)) {
        return true;
    }
    for (i = 0; i < n && mdf_frame_slot(room->frame, MDF_OPERAND(MDF_OPERAND_SLOT, i)) != slot; i++) {
    }
    return i < n && (whole->is_written[room->first_slot + i] || is_written_at_first(program, i));
}

bool mdf_whole_may_write(const struct mdf_state *state, const struct mdf_value *slot)
{
    for (size_t i = 0; i < state->whole->n_rooms; i++) {
        if (may_write_in(state->whole, &state->whole->rooms[i], slot)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ what nodes bring */

/* Whether a node of a graph may run several times in an evaluation, or not at all. */
static bool may_repeat(const struct mdf_program *program, size_t node)
{
    return program->schedule != NULL || program->nodes[node].finished != MDF_NO_OPERAND;
}

/* Something from outside that does not hold for all of an evaluation is there in one run only. */
static enum mdf_refusal_reason look_at_node(const struct mdf_state *outer, const struct mdf_state *inner, size_t index,
                                            enum mdf_node_brings *brings)
{
    const struct mdf_program_port *port = &inner->program->ports[index],
                                  *source = port->outer_port == SIZE_MAX ? NULL : &outer->program->ports[port->outer_port];
    const struct mdf_state_port *there = source == NULL ? NULL : &outer->ports[port->outer_port];
    bool is_fed = source != NULL && (there->is_fed || there->brings == MDF_NODE_BRINGS_IN_EACH_RUN);
    bool is_given =
        source != NULL && !is_fed && (outer->room->outer == NULL ? there->has_value : there->brings == MDF_NODE_BRINGS_ONCE);

    *brings = MDF_NODE_BRINGS_NOTHING;
    if (!is_fed && !is_given) {
        return source != NULL && port->is_required ? MDF_REFUSED_GIVEN_ONCE : MDF_REFUSED_NOT;
    }
    if (is_given && !source->holds && may_repeat(outer->program, source->node)) {
        return MDF_REFUSED_GIVEN_ONCE;
    }
    if (!port->is_required && (is_fed || source->holds)) {
        *brings = MDF_NODE_BRINGS_IN_EACH_RUN;
        return MDF_REFUSED_NOT;
    }
    *brings = MDF_NODE_BRINGS_ONCE;
    return port->is_required || !may_repeat(inner->program, port->node) ? MDF_REFUSED_NOT : MDF_REFUSED_GIVEN_ONCE;
}

static enum mdf_refusal_reason prepare_port(const struct mdf_state *outer, struct mdf_state *inner, size_t index,
                                            bool *has_changed)
{
    struct mdf_state_port *port = &inner->ports[index];
    enum mdf_node_brings brings;
    enum mdf_refusal_reason reason = look_at_node(outer, inner, index, &brings);

    if (reason != MDF_REFUSED_NOT || (port->has_value && !inner->program->ports[index].holds)) {
        return MDF_REFUSED_GIVEN_ONCE;
    }
    *has_changed = *has_changed || port->brings != brings;
    port->brings = (uint8_t)brings;
    return brings != MDF_NODE_BRINGS_NOTHING || port->is_fed || mdf_state_try_default(inner, index) ? MDF_REFUSED_NOT
                                                                                                     : MDF_REFUSED_GIVEN_ONCE;
}

enum mdf_refusal_reason mdf_whole_prepare_rooms(struct mdf_state *state, bool *has_changed)
{
    enum mdf_refusal_reason reason = MDF_REFUSED_NOT;

    *has_changed = false;
    for (size_t i = 1; i < state->whole->n_rooms; i++) {
        struct mdf_state *inner = mdf_whole_graph(&state->whole->rooms[i]), *outer = mdf_whole_graph(inner->room->outer);

        for (size_t j = 0; j < inner->program->n_ports && reason == MDF_REFUSED_NOT; j++) {
            reason = prepare_port(outer, inner, j, has_changed);
        }
    }
    return reason;
}

void mdf_whole_spend_brought(struct mdf_state *state)
{
    for (size_t i = 1; i < state->whole->n_rooms; i++) {
        struct mdf_state *inner = mdf_whole_graph(&state->whole->rooms[i]);

        for (size_t j = 0; j < inner->program->n_ports; j++) {
            struct mdf_state_port *port = &inner->ports[j];

            port->has_default = port->has_default && !port->is_fed && port->brings == MDF_NODE_BRINGS_NOTHING;
        }
    }
}

/* ------------------------------------------------------------------ lowering them */

bool mdf_whole_lower_graph(struct lowering *lowering, struct scope *scope, void *plan)
{
    struct mdf_state *state = plan;
    const struct mdf_whole *whole = state->shared->outermost->whole;

    for (size_t i = 0; i < state->program->n_ports; i++) {
        const struct mdf_program_port *port = &state->program->ports[i];

        if (state->ports[i].brings == MDF_NODE_BRINGS_ONCE &&
            !lowering_declare(lowering, scope, port->slot, port->source, &port->declaration.type)) {
            return false;
        }
    }
    return mdf_whole_lower_evaluation(lowering, scope, state, whole->leaves, NULL);
}
