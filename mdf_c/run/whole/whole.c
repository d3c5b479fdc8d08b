/* whole.c - see whole.h. When a whole evaluation may run as one program, and what is to be seen to before and after. */
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/run/readers.h"
#include "mdf_c/run/slot_uses.h"
#include "mdf_c/run/whole/whole_schedule.h"

#include <string.h>

/* It is lowered after so many evaluations: then the types and shapes of its values are stable. */
enum { RUNS_BEFORE_LOWERING = 2 };
enum { FEWEST_IN_SERIES = 1024 };
/* Lowering anew each time that other ports are given something would take longer than it saves. */
enum { MOST_CHANGES = 4 };

/* Elements of all arrays of a graph without loops together: what is around the nodes does not matter where they compute more, and
 * lowering takes a copy of each value for a moment. */
enum { LARGEST_LENGTH = 1 << 16 };

/* Elements of what is computed before, between and behind loops, which may be done within them, or with what they have become. */
enum { LARGEST_BETWEEN = 1 << 20 };

struct mdf_whole *mdf_whole_new(struct mdf_arena *arena)
{
    struct mdf_whole *whole = mdf_arena_allocate(arena, sizeof *whole);

    if (whole != NULL) {
        whole->fewest_in_series = FEWEST_IN_SERIES;
    }
    return whole;
}

/* ------------------------------------------------------------------ counts and clocks */

/* Calls `visit` for each counter of a graph that outlasts an evaluation. */
static void visit_own_counters(struct mdf_state *state,
                               void (*visit)(struct mdf_state *state, struct mdf_value *counter, uint64_t *home))
{
    size_t first = MDF_OPERAND_INDEX(mdf_whole_counter(state->program, MDF_COUNTER_STEPS, 0)), i;

    for (int kind = 0; kind < MDF_COUNTER_KINDS; kind++) {
        for (i = 0; i < mdf_whole_n_of(state->program, (enum mdf_counter)kind); i++) {
            uint64_t *home = mdf_whole_home(state, (enum mdf_counter)kind, i);
            size_t slot = MDF_OPERAND_INDEX(mdf_whole_counter(state->program, (enum mdf_counter)kind, i));

            if (home != NULL) {
                visit(state, &state->room->counters[slot - first], home);
            }
        }
    }
}

static void visit_counters(struct mdf_state *state,
                           void (*visit)(struct mdf_state *state, struct mdf_value *counter, uint64_t *home))
{
    for (size_t i = 0; i < state->whole->n_rooms; i++) {
        visit_own_counters(mdf_whole_graph(&state->whole->rooms[i]), visit);
    }
}

static void look_at_home(struct mdf_state *state, struct mdf_value *counter, uint64_t *home)
{
    mdf_value_borrow_tensor(&state->shared->memory, counter, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, home);
}

static void copy_home(struct mdf_state *state, struct mdf_value *counter, uint64_t *home)
{
    if (counter->data != home) {
        memcpy(home, counter->data, sizeof *home);
        look_at_home(state, counter, home);
    }
}

/* A node that has run at all has done so in the life of the state. */
static void count_nodes(struct mdf_state *state)
{
    struct mdf_scheduler *scheduler = &state->scheduler;

    scheduler->n_have_run[MDF_SCOPE_LIFE] = 0;
    for (size_t i = 0; state->program->schedule != NULL && i < state->program->n_nodes; i++) {
        scheduler->n_have_run[MDF_SCOPE_LIFE] += scheduler->counts[MDF_SCOPE_LIFE][i] > 0;
    }
}

void mdf_whole_write_back(struct mdf_state *state)
{
    if (state->whole != NULL && state->whole->is_away) {
        visit_counters(state, copy_home);
        for (size_t i = 0; i < state->whole->n_rooms; i++) {
            count_nodes(mdf_whole_graph(&state->whole->rooms[i]));
        }
        state->whole->is_away = false;
    }
}

bool mdf_whole_goes_on(const struct mdf_state *state)
{
    return state->leaves_nothing && state->whole != NULL && !state->whole->single.fast.is_given_up;
}

static bool is_loop(const struct mdf_code *code, const struct mdf_instruction *instruction)
{
    enum mdf_form form = instruction->opcode == MDF_OPCODE_CALL ? code->calls[instruction->target].operator->form : MDF_FORM_NONE;

    return form == MDF_FORM_LOOP || form == MDF_FORM_SCAN;
}

static size_t count_loops(const struct mdf_code *code)
{
    size_t n = 0;

    for (size_t i = 0; i < code->n_instructions; i++) {
        n += is_loop(code, &code->instructions[i]);
    }
    return n;
}

static bool has_mark(const bool *marks, mdf_operand operand)
{
    return mdf_is_slot(operand) && marks[MDF_OPERAND_INDEX(operand)];
}

static size_t length_of(const struct mdf_state *state, mdf_operand operand)
{
    size_t length = mdf_is_slot(operand) ? mdf_frame_slot(state->frame, operand)->length : 0;

    return length > 1 ? length : 0;
}

/* Marks slots of what loops yield, and of what is made of that element by element, or moved: it may be made where the loop makes
 * what it is of. False: there is no memory for that. */
static bool mark_behind_loops(const struct mdf_state *state)
{
    const struct mdf_code *code = state->program->code;
    bool *is_behind = state->whole->is_behind;

    if (is_behind == NULL) {
        is_behind = state->whole->is_behind = mdf_arena_array(&state->shared->execution.arena, code->n_slots, sizeof *is_behind);
    }
    for (size_t i = 0; is_behind != NULL && i < code->n_instructions; i++) {
        const struct mdf_code_call *call = &code->calls[code->instructions[i].target];
        bool marks;

        if (code->instructions[i].opcode != MDF_OPCODE_CALL) {
            continue;
        }
        marks = is_loop(code, &code->instructions[i]);
        for (size_t j = 0; !marks && (call->operator->element != NULL || call->operator->move != NULL) && j < call->n_inputs;
             j++) {
            marks = has_mark(is_behind, call->inputs[j]);
        }
        for (size_t j = 0; j < call->n_outputs; j++) {
            if (mdf_is_slot(call->outputs[j])) {
                is_behind[MDF_OPERAND_INDEX(call->outputs[j])] = marks;
            }
        }
    }
    return is_behind != NULL;
}

/* Elements that calls make, but for those of loops (which may become one where they run one after the other), and for what is
 * marked. */
static size_t count_outside_loops(const struct mdf_state *state, const bool *is_behind)
{
    const struct mdf_code *code = state->program->code;
    size_t n = 0;

    for (size_t i = 0; i < code->n_instructions; i++) {
        const struct mdf_code_call *call = &code->calls[code->instructions[i].target];

        if (code->instructions[i].opcode != MDF_OPCODE_CALL || is_loop(code, &code->instructions[i])) {
            continue;
        }
        for (size_t j = 0; j < call->n_outputs; j++) {
            n += is_behind != NULL && has_mark(is_behind, call->outputs[j]) ? 0 : length_of(state, call->outputs[j]);
        }
    }
    return n;
}

/* Whether little is computed around a single loop but what may be done with it. */
static bool is_small_around_one(const struct mdf_state *state)
{
    const bool *is_behind = state->whole != NULL && mark_behind_loops(state) ? state->whole->is_behind : NULL;

    return count_outside_loops(state, is_behind) <= LARGEST_LENGTH;
}

static bool is_small_graph(const struct mdf_state *state)
{
    size_t n_loops = count_loops(state->program->code), n = 0, i;

    if (n_loops > 0) {
        return count_outside_loops(state, NULL) <= LARGEST_BETWEEN && (n_loops > 1 || is_small_around_one(state));
    }
    for (i = 0; i < state->program->code->n_slots && n <= LARGEST_LENGTH; i++) {
        n += length_of(state, MDF_OPERAND(MDF_OPERAND_SLOT, i));
    }
    return n <= LARGEST_LENGTH;
}

static bool is_small(const struct mdf_state *state)
{
    const struct mdf_state *nested = state->shared->nested;

    while (nested != NULL && is_small_graph(nested)) {
        nested = nested->next;
    }
    return nested == NULL && is_small_graph(state);
}

void mdf_whole_renew(struct mdf_state *state)
{
    if (state->leaves_nothing) {
        state->whole->was_large = !is_small(state);
    } else {
        state->whole->n_runs = 0;
    }
    state->whole->have_all_run = state->whole->has_gone = false;
    if (state->whole->is_away) {
        visit_counters(state, look_at_home);
        state->whole->is_away = false;
    }
}

void mdf_whole_release(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;

    mdf_fast_release(&whole->single.fast);
    mdf_fast_release(&whole->many.fast);
    mdf_whole_forget_series(whole);
    for (size_t i = 0; i < whole->n_rooms; i++) {
        for (size_t j = 0; j < mdf_whole_n_counters(mdf_whole_graph(&whole->rooms[i])->program); j++) {
            mdf_value_clear(&state->shared->memory, &whole->rooms[i].counters[j]);
        }
    }
}

/* ------------------------------------------------------------------ making it */

static void make_request(struct mdf_state *state, struct mdf_lowering_request *request,
                         bool (*go_through)(struct lowering *, struct scope *, void *), uint32_t self)
{
    *request = (struct mdf_lowering_request){.frame = state->frame,
                                             .go_through = go_through,
                                             .plan = state,
                                             .rooms = state->whole->rooms,
                                             .n_rooms = state->whole->n_rooms,
                                             .run_graph = mdf_whole_lower_graph,
                                             .readers = state->whole->readers,
                                             .self = self};
}

/* Of a graph: what its conditions look at, and what the node around it does. */
static void mark_left(const struct mdf_program *program, bool *is_left)
{
    for (size_t i = 0; i < program->code->n_yields; i++) {
        if (MDF_OPERAND_KIND(program->code->yields[i]) == MDF_OPERAND_SLOT) {
            is_left[MDF_OPERAND_INDEX(program->code->yields[i])] = true;
        }
    }
    for (size_t i = 0; program->schedule != NULL && i < program->schedule->n_watches; i++) {
        mdf_operand value = program->schedule->watches[i].value;

        if (value != MDF_NO_OPERAND && MDF_OPERAND_KIND(value) == MDF_OPERAND_SLOT) {
            is_left[MDF_OPERAND_INDEX(value)] = true;
        }
    }
}

/* What is to be known of the slots of each graph. */
static bool mark_graphs(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;

    for (size_t i = 0; i < whole->n_rooms; i++) {
        struct mdf_state *graph = mdf_whole_graph(&whole->rooms[i]);
        size_t first = whole->rooms[i].first_slot;

        if (graph->readers == NULL) {
            graph->readers = mdf_program_readers(graph->program, &state->shared->execution.arena);
        }
        if (graph->readers == NULL) {
            return false;
        }
        memcpy(whole->readers + first, graph->readers, graph->program->code->n_slots * sizeof *whole->readers);
        mdf_whole_mark_written(graph->program, whole->is_written + first);
        mark_left(graph->program, whole->is_left + first);
    }
    for (size_t i = 0; i < whole->n_slots; i++) {
        whole->is_observed[i] = whole->is_left[i] || whole->readers[i] == MDF_READ_BY_ALL;
    }
    return true;
}

/* Stacks that only nodes look at, which keep nothing from one evaluation to the next: so it can be done again, unless it draws.
 */
static void mark_what_may_go(const struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    bool draws = mdf_code_find_draw(program->code) != NULL;

    for (size_t i = 0; i < program->code->n_slots; i++) {
        state->whole->may_go[i] = state->leaves_nothing && !draws;
    }
    for (size_t i = 0; i < program->n_results; i++) {
        const struct mdf_program_result *result = &program->results[i];
        mdf_operand operand = result->output == SIZE_MAX ? program->ports[result->node].slot
                                                         : program->nodes[result->node].outputs[result->output].operand;

        if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
            state->whole->may_go[MDF_OPERAND_INDEX(operand)] = false;
        }
    }
}

/* A slot and its alias are the same, unless their node ran last where it computes something else: without a time increment.
 * `plan` is the state. */
static bool has_same_aliases(const void *plan)
{
    const struct mdf_state *state = plan;

    for (size_t i = 0; i < state->program->code->n_slots; i++) {
        if (state->whole->has_alias[i]) {
            const struct mdf_value *slot = mdf_frame_slot(state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, i));
            const struct mdf_value *alias = mdf_frame_slot(state->frame, state->whole->aliases[i]);

            if (slot->strength != alias->strength || !mdf_value_equal(slot, alias)) {
                return false;
            }
        }
    }
    return true;
}

static bool make_requests(struct mdf_state *state)
{
    struct mdf_arena *arena = &state->shared->execution.arena;
    struct mdf_whole *whole = state->whole;
    size_t n;

    if (!mdf_whole_make_rooms(state)) {
        return false;
    }
    n = whole->n_slots;
    whole->readers = mdf_arena_array(arena, n, sizeof *whole->readers);
    whole->is_written = mdf_arena_array(arena, n, sizeof *whole->is_written);
    whole->is_left = mdf_arena_array(arena, n, sizeof *whole->is_left);
    whole->is_observed = mdf_arena_array(arena, n, sizeof *whole->is_observed);
    whole->may_go = mdf_arena_array(arena, n, sizeof *whole->may_go);
    whole->is_gone = mdf_arena_array(arena, n, sizeof *whole->is_gone);
    whole->inner_readers = mdf_program_inner_readers(state->program, arena);
    whole->aliases = mdf_arena_array(arena, n, sizeof *whole->aliases);
    whole->has_alias = mdf_arena_array(arena, n, sizeof *whole->has_alias);
    whole->is_kept = mdf_arena_array(arena, n, sizeof *whole->is_kept);
    if (whole->readers == NULL || whole->inner_readers == NULL || whole->aliases == NULL || whole->has_alias == NULL ||
        whole->is_kept == NULL || whole->is_written == NULL || whole->is_left == NULL || whole->is_observed == NULL ||
        whole->may_go == NULL || whole->is_gone == NULL || !mark_graphs(state)) {
        return false;
    }
    visit_counters(state, look_at_home);
    mark_what_may_go(state);
    make_request(state, &whole->single.request, mdf_whole_lower_single, MDF_READ_BY_ALL);
    whole->single.request.may_go = whole->may_go;
    whole->single.request.is_gone = whole->is_gone;
    make_request(state, &whole->many.request, mdf_whole_lower_many,
                 state->program->stop.n_ports > 0 ? MDF_READ_BY_ALL : MDF_READ_BY_NOBODY);
    whole->many.request.keeps = whole->is_kept;
    whole->many.request.may_run = has_same_aliases;
    whole->is_made = true;
    return true;
}

/* ------------------------------------------------------------------ ports */

/* Ports that edges fill must have got nothing from outside; others hold what was given, or their default. What is given holds for
 * one run of a node, of which there may be several where there are conditions, unless it is required. */
static bool prepare_port(struct mdf_state *state, size_t index)
{
    const struct mdf_state_port *port = &state->ports[index];

    if (port->is_fed) {
        return !port->has_value;
    }
    if (port->has_value) {
        return state->program->schedule == NULL || state->program->ports[index].holds;
    }
    return mdf_state_try_default(state, index);
}

static enum mdf_refusal_reason prepare_ports(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        if (!prepare_port(state, i)) {
            return state->ports[i].is_fed ? MDF_REFUSED_GIVEN_BESIDE_EDGE : MDF_REFUSED_GIVEN_ONCE;
        }
    }
    return MDF_REFUSED_NOT;
}

static void spend_inputs(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        state->ports[i].has_value = state->program->ports[i].holds;
        state->ports[i].has_default = state->ports[i].has_default && !state->ports[i].is_fed;
    }
}

/* ------------------------------------------------------------------ what ran */

struct masks {
    const uint64_t *of_passes;
    size_t n_passes;
    int64_t ticks; /* of the next set */
};

static bool record_layer(struct mdf_state *state, struct masks *masks, size_t pass, size_t layer)
{
    const struct mdf_program *program = state->program;
    struct mdf_memory *memory = &state->shared->memory;
    uint64_t mask = masks->of_passes[pass];
    bool is_open = program->schedule->is_absolute && (mask >> (program->n_nodes + layer) & 1) != 0;
    bool has_set = is_open, done = !is_open || mdf_schedule_record_set(&state->schedule, memory, pass, masks->ticks);

    for (size_t i = 0; done && i < program->layers[layer].n_nodes; i++) {
        size_t node = program->layers[layer].nodes[i];

        if ((mask >> node & 1) != 0) {
            done = (has_set || mdf_schedule_record_set(&state->schedule, memory, pass, masks->ticks)) &&
                   mdf_schedule_record_node(&state->schedule, memory, node);
            has_set = true;
        }
    }
    masks->ticks += has_set ? program->schedule->interval : 0;
    return done;
}

/* A pass in which nothing runs has one empty set, unless absolute time runs. */
static bool record_pass(struct mdf_state *state, struct masks *masks, size_t pass)
{
    if (masks->of_passes[pass] == 0 && !state->program->schedule->is_absolute) {
        return mdf_schedule_record_set(&state->schedule, &state->shared->memory, pass, masks->ticks);
    }
    for (size_t i = 0; i < state->program->n_layers; i++) {
        if (!record_layer(state, masks, pass, i)) {
            return false;
        }
    }
    return true;
}

/* The time before the first set: what the last one left, less all sets. */
static int64_t time_before(const struct mdf_state *state, const struct masks *masks)
{
    const struct mdf_program *program = state->program;
    size_t slot = MDF_OPERAND_INDEX(mdf_whole_counter(program, MDF_COUNTER_TIME, 0)) - program->code->n_slots, i;
    int64_t time;

    memcpy(&time, state->room->counters[slot].data, sizeof time);
    for (i = 0; program->schedule->is_absolute && i < masks->n_passes; i++) {
        time -= program->schedule->interval * __builtin_popcountll(masks->of_passes[i] >> program->n_nodes);
    }
    return time;
}

static bool record_passes(struct mdf_state *state)
{
    const struct mdf_value *array = &state->whole->single.fast.lowered->arrays[state->whole->single.mask];
    struct masks masks = {array->data, array->length, 0};

    masks.ticks = time_before(state, &masks);
    mdf_schedule_record_clear(&state->schedule);
    for (size_t i = 0; i < masks.n_passes; i++) {
        if (!record_pass(state, &masks, i)) {
            return mdf_state_out_of_memory(state);
        }
    }
    return true;
}

/* All nodes, layer by layer, of a graph without conditions: the first evaluation of a life. */
static bool record_layers(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    struct mdf_memory *memory = &state->shared->memory;

    mdf_schedule_record_clear(&state->schedule);
    for (size_t i = 0; i < program->n_layers; i++) {
        bool done = mdf_schedule_record_set(&state->schedule, memory, 0, 0);

        for (size_t j = 0; done && j < program->layers[i].n_nodes; j++) {
            done = mdf_schedule_record_node(&state->schedule, memory, program->layers[i].nodes[j]);
        }
        if (!done) {
            return mdf_state_out_of_memory(state);
        }
    }
    memset(state->has_run, true, program->n_nodes * sizeof *state->has_run);
    return true;
}

static bool record(struct mdf_state *state)
{
    if (state->program->schedule != NULL) {
        return record_passes(state);
    }
    return state->schedule.n_nodes == state->program->n_nodes || record_layers(state);
}

/* ------------------------------------------------------------------ running it */

static void note_who_has_run_of(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    memcpy(state->had_run, state->has_run, program->n_nodes * sizeof *state->has_run);
    for (size_t i = 0; i < program->n_ports; i++) {
        state->ports[i].is_fed = false;
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        struct mdf_state_port *port = &state->ports[program->edges[i].port];

        port->is_fed = port->is_fed || mdf_whole_brings(state, &program->edges[i]);
    }
}

static void note_who_has_run(struct mdf_state *state)
{
    for (size_t i = 0; i < state->whole->n_rooms; i++) {
        note_who_has_run_of(mdf_whole_graph(&state->whole->rooms[i]));
    }
}

/* Whether others have run since. */
static bool have_others_run(const struct mdf_state *state)
{
    for (size_t i = 0; i < state->whole->n_rooms; i++) {
        const struct mdf_state *graph = mdf_whole_graph(&state->whole->rooms[i]);

        if (memcmp(graph->had_run, graph->has_run, graph->program->n_nodes * sizeof *graph->has_run) != 0) {
            return true;
        }
    }
    return false;
}

static void forget_forms(struct mdf_whole *whole)
{
    mdf_fast_release(&whole->single.fast);
    mdf_fast_release(&whole->many.fast);
    memset(&whole->single.fast, 0, sizeof whole->single.fast);
    memset(&whole->many.fast, 0, sizeof whole->many.fast);
    mdf_whole_forget_series(whole);
}

/* A node that had not run when it was lowered bails out where it does; once others have run, all is lowered anew. */
static void follow_first_runs(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;

    if (whole->have_all_run) {
        return;
    }
    if (state->leaves_nothing) { /* each node has run before those that it feeds */
        note_who_has_run(state);
    } else if (have_others_run(state)) {
        forget_forms(whole);
        note_who_has_run(state);
    }
    whole->have_all_run = state->leaves_nothing || mdf_whole_have_all_run(state);
}

/* What nodes bring to the graphs within them is a part of the form. */
static enum mdf_refusal_reason prepare_rooms(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;
    enum mdf_refusal_reason reason;
    bool has_changed;

    if (whole->n_rooms == 1) {
        return MDF_REFUSED_NOT;
    }
    reason = mdf_whole_prepare_rooms(state, &has_changed);
    if (has_changed && whole->single.fast.lowered != NULL) {
        forget_forms(whole);
        whole->n_changes++;
    }
    return reason == MDF_REFUSED_NOT && whole->n_changes > MOST_CHANGES ? MDF_REFUSED_GIVEN_ONCE : reason;
}

/* Without conditions all nodes have run, in the evaluation before; with them there has been a set that JustRan can look at. */
static enum mdf_refusal_reason look_at_order(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    if (program->schedule == NULL) {
        return state->schedule.n_nodes == program->n_nodes || state->leaves_nothing ? MDF_REFUSED_NOT : MDF_REFUSED_NODES_WAIT;
    }
    if (!mdf_whole_has_mask(program)) {
        return MDF_REFUSED_MANY_NODES;
    }
    return state->scheduler.n_sets == 0 && !state->whole->is_away ? MDF_REFUSED_NODES_WAIT : MDF_REFUSED_NOT;
}

/* Whether it may be lowered and run as it is now; whole->refused says why not. */
static bool is_ready(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;

    whole->refused = look_at_order(state);
    if (whole->refused == MDF_REFUSED_NOT && !whole->is_made && !make_requests(state)) {
        whole->refused = MDF_REFUSED_OUT_OF_MEMORY;
    }
    if (whole->refused != MDF_REFUSED_NOT) {
        return false;
    }
    follow_first_runs(state);
    if (mdf_fast_stays_given_up(&whole->single.fast)) {
        whole->refused = whole->single.fast.refusal.reason;
        return false;
    }
    whole->refused = mdf_state_is_asked_to_stop(state) ? MDF_REFUSED_INTERRUPTED : prepare_ports(state);
    if (whole->refused == MDF_REFUSED_NOT) {
        whole->refused = prepare_rooms(state);
    }
    return whole->refused == MDF_REFUSED_NOT;
}

/* What is not there is not to be taken for what an earlier evaluation left. */
static void let_go(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;
    const bool *first = whole->is_gone, *end = first + state->program->code->n_slots, *gone = first;

    whole->has_gone = false;
    if (whole->single.request.may_go == NULL) {
        return;
    }
    while (gone < end && (gone = memchr(gone, true, (size_t)(end - gone) * sizeof *gone)) != NULL) { /* rarely one of them */
        whole->has_gone = true;
        mdf_value_clear(&state->shared->memory, mdf_frame_slot(state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, gone - first)));
        gone++;
    }
}

void mdf_whole_forget(struct mdf_state *state)
{
    if (state->whole != NULL) {
        state->whole->has_gone = false;
    }
}

static bool is_gone(const struct mdf_state *state, size_t node, size_t output)
{
    mdf_operand operand = output == SIZE_MAX ? MDF_NO_OPERAND : state->program->nodes[node].outputs[output].operand;

    return state->whole != NULL && state->whole->has_gone &&
           (output == SIZE_MAX || (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT &&
                                   state->whole->is_gone[MDF_OPERAND_INDEX(operand)]));
}

bool mdf_whole_materialise(const struct mdf_state *state, size_t node, size_t output)
{
    struct mdf_whole *whole = state->whole;

    if (!is_gone(state, node, output)) {
        return true;
    }
    mdf_fast_begin_again(&whole->single.fast);
    whole->single.request.may_go = NULL;
    whole->has_gone = false;
    while (!mdf_fast_run(&whole->single.fast, &whole->single.request)) {
        if (!mdf_fast_has_learned(&whole->single.fast)) {
            return false;
        }
    }
    return true;
}

enum mdf_whole_outcome mdf_whole_run(struct mdf_state *state)
{
    struct mdf_whole *whole = state->whole;

    whole->has_gone = false;
    whole->single.fast.has_run = false;
    if (whole->n_runs < RUNS_BEFORE_LOWERING) {
        whole->n_runs++;
        whole->refused = MDF_REFUSED_TOO_EARLY;
        return MDF_WHOLE_NOT_RUN;
    }
    if (!is_ready(state)) {
        return MDF_WHOLE_NOT_RUN;
    }
    if (whole->single.fast.lowered == NULL && (whole->was_large || !is_small(state))) {
        whole->single.fast.refusal.reason = whole->refused = MDF_REFUSED_LARGE_GRAPH;
        whole->single.fast.is_given_up = true;
        return MDF_WHOLE_NOT_RUN;
    }
    if (!mdf_fast_run(&whole->single.fast, &whole->single.request)) {
        return MDF_WHOLE_NOT_RUN;
    }
    let_go(state);
    spend_inputs(state);
    mdf_whole_spend_brought(state);
    whole->is_away = mdf_whole_counts(state);
    return record(state) ? MDF_WHOLE_DONE : MDF_WHOLE_FAILED;
}

/* Inputs that are given again in each step are in their ports. */
static bool has_steady_ports(const struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        if (state->ports[i].repeats &&
            (state->ports[i].is_fed || (state->program->schedule != NULL && !state->program->ports[i].holds))) {
            return false;
        }
    }
    return true;
}

/* How many evaluations in a row have been done, where there is a stop. */
static int64_t count_taken(const struct mdf_state *state)
{
    int64_t n_taken;

    memcpy(&n_taken, mdf_whole_counter_value(state, MDF_COUNTER_TAKEN)->data, sizeof n_taken);
    return n_taken;
}

/* What nodes bring to the graphs within them is as it was lowered, where the last evaluation was done so; what edges bring, where
 * no node has run for the first time since, in an evaluation that was done node by node. */
bool mdf_whole_may_skip(const struct mdf_state *state)
{
    const struct mdf_whole *whole = state->whole;

    return whole != NULL && !state->program->solver.takes_own_steps && whole->n_runs >= RUNS_BEFORE_LOWERING &&
           whole->single.fast.lowered != NULL && (whole->n_rooms == 1 || whole->single.fast.has_run) && has_steady_ports(state) &&
           (whole->have_all_run || !have_others_run(state));
}

uint64_t mdf_whole_skip(struct mdf_state *state, uint64_t n_steps)
{
    bool stops = state->program->stop.n_ports > 0;
    struct mdf_whole *whole = state->whole;
    int64_t n_before;

    if (n_steps == 0 || n_steps > INT64_MAX || !mdf_whole_may_skip(state) || whole->many.fast.is_given_up) {
        return 0;
    }
    mdf_whole_forget_series(whole); /* aliases are those of one form */
    whole->n_steps = (int64_t)n_steps;
    n_before = stops ? count_taken(state) : 0;
    if (!mdf_fast_run(&whole->many.fast, &whole->many.request)) {
        return 0;
    }
    whole->is_away = mdf_whole_counts(state);
    return stops ? (uint64_t)(count_taken(state) - n_before) : n_steps;
}

/* ------------------------------------------------------------------ for somebody else */

const struct mdf_value *mdf_whole_counter_value(const struct mdf_state *state, enum mdf_counter kind)
{
    size_t slot = MDF_OPERAND_INDEX(mdf_whole_counter(state->program, kind, 0)) - state->program->code->n_slots;

    return mdf_whole_n_of(state->program, kind) > 0 ? &state->room->counters[slot] : NULL;
}

/* Which ports edges feed in the first evaluation of a life, in the order in which nodes take what they bring. */
static void note_first_fed(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_ports; i++) {
        state->ports[i].is_fed = false;
    }
    for (size_t i = 0; i < program->n_layers; i++) {
        const struct mdf_program_layer *layer = &program->layers[i];

        for (size_t part = layer->takes_first ? 0 : 1; part < 2; part++) {
            for (size_t j = 0; j < layer->n_nodes; j++) {
                const struct mdf_program_node *node = &program->nodes[layer->nodes[j]];

                for (size_t k = 0; (part == 0 || !layer->takes_first) && k < node->n_edges; k++) {
                    const struct mdf_program_edge *edge = &program->edges[node->edges[k]];

                    state->ports[edge->port].is_fed = state->ports[edge->port].is_fed || mdf_whole_brings(state, edge);
                }
                if (part == 1) {
                    state->has_run[layer->nodes[j]] = true;
                }
            }
        }
    }
    memset(state->has_run, 0, program->n_nodes * sizeof *state->has_run);
}

/* What is in the way of lowering the evaluation that comes next. */
static enum mdf_refusal_reason look_at_next(struct mdf_state *state, enum mdf_whole_part part)
{
    enum mdf_refusal_reason reason;

    if (state->whole == NULL) {
        return MDF_REFUSED_PLAIN;
    }
    if (state->program->schedule != NULL && part != MDF_WHOLE_MANY_SEEN) {
        return MDF_REFUSED_LANES_CONDITIONS;
    }
    if (state->program->solver.takes_own_steps) {
        return MDF_REFUSED_LANES_STEPS;
    }
    if (!state->whole->is_made && !make_requests(state)) {
        return MDF_REFUSED_OUT_OF_MEMORY;
    }
    if (!is_small(state)) {
        return MDF_REFUSED_LARGE_GRAPH;
    }
    if (state->whole->n_rooms > 1 && part != MDF_WHOLE_MANY_SEEN) {
        return MDF_REFUSED_NESTED_GRAPH;
    }
    if (part == MDF_WHOLE_FIRST) {
        note_first_fed(state);
    } else if (part == MDF_WHOLE_MANY_SEEN) {
        follow_first_runs(state);
    } else {
        note_who_has_run(state);
    }
    reason = prepare_ports(state);
    return reason != MDF_REFUSED_NOT ? reason : prepare_rooms(state);
}

struct mdf_lowered *mdf_whole_lower(struct mdf_state *state, enum mdf_whole_part part, struct mdf_refusal *refusal)
{
    struct mdf_lowering_request request;
    enum mdf_refusal_reason reason = look_at_next(state, part);

    *refusal = (struct mdf_refusal){.reason = reason};
    if (reason != MDF_REFUSED_NOT) {
        return NULL;
    }
    request = part == MDF_WHOLE_MANY || part == MDF_WHOLE_MANY_SEEN ? state->whole->many.request : state->whole->single.request;
    request.may_go = NULL;
    request.keeps_calls = true;
    if (part == MDF_WHOLE_MANY_SEEN) {
        request.go_through = mdf_whole_lower_many_seen;
        request.self = MDF_READ_BY_ALL;
    }
    if (part == MDF_WHOLE_FIRST) {
        request.go_through = mdf_whole_lower_first;
    }
    if (part == MDF_WHOLE_FIRST || part == MDF_WHOLE_SECOND) {
        request.readers = NULL;
        request.leaves_out = true;
    }
    return mdf_lower(&request, refusal);
}
