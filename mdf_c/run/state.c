/* state.c - see state.h. One evaluation: inputs to ports, then the nodes, of each layer of the queue once, or as the conditions
 * say (scheduler.h); a node first takes what its edges bring, then runs. */
#include "mdf_c/run/restart.h"

#include "functions/sampling/random.h"
#include "mdf_c/plan/solve/method.h"
#include "mdf_c/run/body_trace.h"
#include "mdf_c/run/declared_shape.h"
#include "mdf_c/run/epilogues.h"
#include "mdf_c/run/buffer_reuse.h"
#include "mdf_c/run/profile.h"
#include "mdf_c/run/readers.h"
#include "mdf_c/run/solve/solve.h"
#include "mdf_c/run/state_inputs.h"

#include <math.h>
#include <string.h>

/* A node is lowered once it has run this often: then the types and shapes of its values are stable. */
enum { RUNS_BEFORE_LOWERING = 2 };

static const struct mdf_value nothing;

static struct mdf_context *context_of(struct mdf_state *state)
{
    return &state->shared->execution.context;
}

static bool out_of_memory(struct mdf_state *state)
{
    mdf_memory_error(&state->shared->memory, &context_of(state)->error);
    return false;
}

/* ------------------------------------------------------------------ life */

static bool run_graph(struct mdf_state *state);

static bool run_nested(struct mdf_body *body)
{
    struct mdf_state *state = body->evaluator, *outer = state->shared->running;
    bool done;

    state->shared->running = state;
    done = mdf_state_take_from_node(state, outer) && run_graph(state);
    state->shared->running = outer;
    return done;
}

/* What a graph needs besides its frame. */
static bool build(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    struct mdf_arena *arena = &state->shared->execution.arena;

    state->ports = mdf_arena_array(arena, program->n_ports, sizeof *state->ports);
    state->has_run = mdf_arena_array(arena, program->n_nodes, sizeof *state->has_run);
    state->had_run = mdf_arena_array(arena, program->n_nodes, sizeof *state->had_run);
    if (!program->is_plain) {
        state->nodes = mdf_arena_array(arena, program->n_nodes, sizeof *state->nodes);
    }
    if (state->ports == NULL || state->has_run == NULL || state->had_run == NULL ||
        (!program->is_plain && state->nodes == NULL)) {
        return false;
    }
    return (program->schedule == NULL || mdf_scheduler_init(&state->scheduler, program, arena));
}

/* A graph within a node: a state for its frame, which lasts as long as the outermost one. */
static bool attach_nested(struct mdf_shared_state *shared, const struct mdf_code *code, struct mdf_frame *frame,
                          struct mdf_body *body)
{
    struct mdf_state *state = mdf_arena_allocate(&shared->execution.arena, sizeof *state);

    if (state == NULL) {
        return false;
    }
    state->program = code->program;
    state->shared = shared;
    state->frame = frame;
    state->next = shared->nested;
    shared->nested = state;
    body->run = run_nested;
    body->evaluator = state;
    return build(state);
}

static void init_shared(struct mdf_shared_state *shared, const struct mdf_program *program)
{
    struct mdf_context *context = &shared->execution.context;

    mdf_memory_init(&shared->memory, &program->memory.allocator, program->memory.limit_bytes);
    mdf_memory_share_bound(&shared->memory, &program->memory);
    mdf_arena_init(&shared->execution.arena, &shared->memory);
    mdf_stop_init(&shared->stop);
    shared->end_s = INFINITY;
    atomic_init(&shared->is_evaluated, false);
    shared->execution.attach = attach_nested;
    shared->execution.owner = shared;
    if (!program->is_plain) {
        shared->execution.run_fast = mdf_fast_run_loop;
        shared->execution.release_fast = mdf_fast_release_loop;
        shared->execution.renew_fast = mdf_fast_renew_loop;
    }
    context->memory = &shared->memory;
    context->real = program->real;
    context->max_iterations = program->max_iterations;
    context->n_threads = program->n_threads;
    context->threads = context->n_threads > 1 ? mdf_threads_new(&shared->memory) : NULL;
    context->stop = &shared->stop;
    mdf_random_begin(context, program->seed);
}

/* What of a graph without conditions need not be done as it stands. Where memory runs out, it is. */
static void find_shortcuts(struct mdf_state *state)
{
    struct mdf_arena *arena = &state->shared->execution.arena;
    struct mdf_slot_uses uses;

    if (!state->program->is_plain && state->program->schedule == NULL && mdf_slot_uses_find(state->program, arena, &uses)) {
        state->leaves_nothing = mdf_program_leaves_nothing(state->program, arena);
        state->epilogues = mdf_epilogues_find(state->program, &uses, arena);
        state->reuse =
            mdf_memory_keep_spares(&state->shared->memory) ? mdf_buffer_reuse_find(state->program, &uses, arena) : NULL;
    }
}

struct mdf_state *mdf_state_create(const struct mdf_program *program, mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_state *state;

    mdf_memory_init(&memory, &program->memory.allocator, 0);
    state = mdf_memory_allocate_zeroed(&memory, 1, sizeof *state);
    if (state != NULL) {
        state->shared = mdf_memory_allocate_zeroed(&memory, 1, sizeof *state->shared);
    }
    if (state == NULL || state->shared == NULL) {
        mdf_memory_release(&memory, state);
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    state->program = program;
    state->shared->outermost = state;
    init_shared(state->shared, program);
    if (!program->is_plain) {
        state->whole = mdf_whole_new(&state->shared->execution.arena);
    }
    if (build(state) && (program->is_plain || state->whole != NULL)) {
        find_shortcuts(state);
        state->frame = mdf_frame_new(&state->shared->execution, program->code, NULL);
    }
    if (state->frame == NULL || !mdf_state_set_defaults(state)) {
        mdf_memory_error(&state->shared->memory, error);
        mdf_state_release(state);
        return NULL;
    }
    return state;
}

static void release_nodes(struct mdf_state *state)
{
    for (size_t i = 0; state->nodes != NULL && i < state->program->n_nodes; i++) {
        mdf_fast_release(&state->nodes[i].fast);
    }
}

void mdf_state_release(struct mdf_state *state)
{
    struct mdf_memory memory;
    struct mdf_state *nested;

    if (state == NULL) {
        return;
    }
    if (state->whole != NULL) {
        mdf_whole_release(state);
    }
    mdf_solve_release(state);
    release_nodes(state);
    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        release_nodes(nested);
    }
    if (state->frame != NULL) {
        mdf_frame_clear(state->frame);
    }
    for (size_t i = 0; state->ports != NULL && i < state->program->n_ports; i++) {
        mdf_value_clear(&state->shared->memory, &state->ports[i].input);
    }
    mdf_schedule_record_release(&state->schedule, &state->shared->memory);
    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        mdf_schedule_record_release(&nested->schedule, &state->shared->memory);
    }
    mdf_body_trace_release(state->shared);
    mdf_profile_release(state->shared);
    mdf_random_release_streams(&state->shared->execution.context);
    mdf_threads_free(state->shared->execution.context.threads, &state->shared->memory);
    mdf_stop_release(&state->shared->stop, &state->shared->memory);
    mdf_arena_release(&state->shared->execution.arena);
    mdf_memory_drop_spares(&state->shared->memory);
    mdf_memory_init(&memory, &state->shared->memory.allocator, 0);
    mdf_memory_release(&memory, state->shared);
    mdf_memory_release(&memory, state);
}

/* ------------------------------------------------------------------ running */

static bool run_edge(struct mdf_state *state, const struct mdf_program_edge *edge)
{
    return mdf_frame_run(state->frame, edge->weigh.first, edge->weigh.end) &&
           mdf_state_arrive(state, edge->port, mdf_frame_value(state->frame, edge->value));
}

/* Of a node with a graph: notes what was given to its ports from outside. */
static void note_given(struct mdf_state *state, const struct mdf_program_node *node)
{
    for (size_t i = node->first_port; node->has_graph && i < node->first_port + node->n_ports; i++) {
        state->ports[i].was_given = state->ports[i].has_value;
        state->ports[i].was_fed = false;
    }
}

/* What the node around the graph has in its ports arrives at those of an inner one. */
static bool run_links(struct mdf_state *state, const struct mdf_program_node *node)
{
    for (size_t i = node->first_port; i < node->first_port + node->n_ports; i++) {
        if (state->ports[i].is_linked) {
            state->ports[i].was_fed = true;
            if (!mdf_state_arrive(state, i, mdf_frame_value(state->frame, state->program->ports[i].source))) {
                return false;
            }
        }
    }
    return true;
}

/* Says what is to be lowered of a node. */
static bool make_request(struct mdf_state *state, size_t index)
{
    const struct mdf_program_node *node = &state->program->nodes[index];
    struct mdf_state_node *kept = &state->nodes[index];

    if (state->readers == NULL) {
        state->readers = mdf_program_readers(state->program, &state->shared->execution.arena);
    }
    kept->ranges[0] = (struct mdf_lowering_range){node->first, node->reset};
    kept->ranges[1] = (struct mdf_lowering_range){node->main, node->end};
    kept->request = (struct mdf_lowering_request){
        .frame = state->frame, .ranges = kept->ranges, .n_ranges = 2, .readers = state->readers, .self = (uint32_t)index + 1};
    return state->readers != NULL;
}

/* Runs a node that has run before in its lowered form; false: it must be run as it stands. */
static bool run_lowered(struct mdf_state *state, size_t index)
{
    struct mdf_state_node *kept = state->nodes != NULL ? &state->nodes[index] : NULL;

    if (kept == NULL || kept->n_runs < RUNS_BEFORE_LOWERING || state->shared->body_trace != NULL) {
        return false;
    }
    return (kept->request.readers != NULL || make_request(state, index)) && mdf_fast_run(&kept->fast, &kept->request);
}

/* Whether the node has not run in this evaluation. */
static bool is_first_in_evaluation(const struct mdf_state *state, size_t index)
{
    return state->program->schedule == NULL || state->scheduler.counts[MDF_SCOPE_UPDATE][index] <= 1;
}

static bool run_as_it_stands(struct mdf_state *state, size_t index)
{
    const struct mdf_program_node *node = &state->program->nodes[index];

    if (state->nodes != NULL && state->nodes[index].n_runs < RUNS_BEFORE_LOWERING) {
        state->nodes[index].n_runs++;
    }
    return mdf_frame_run(state->frame, node->first, node->reset) && mdf_declared_shapes_hold(state, node) &&
           mdf_frame_run(state->frame, state->has_run[index] ? node->main : node->initial, node->end);
}

/* Takes what edges bring, and sets what is still missing. */
static bool take(struct mdf_state *state, size_t index)
{
    const struct mdf_program_node *node = &state->program->nodes[index];

    note_given(state, node);
    if (!run_links(state, node)) {
        return false;
    }
    for (size_t i = 0; i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &state->program->edges[node->edges[i]];

        if (state->has_run[edge->sender] || edge->has_initial) {
            state->ports[edge->port].was_fed = true;
            if (!run_edge(state, edge)) {
                return false;
            }
        }
    }
    for (size_t i = node->first_port; i < node->first_port + node->n_ports; i++) {
        if (!state->ports[i].has_value && !mdf_state_fill_default(state, i)) {
            return false;
        }
        state->ports[i].has_value = /* for all of the evaluation */
            state->program->ports[i].holds &&
            (state->ports[i].was_given || !mdf_program_leaves_default(state->program, &state->program->ports[i]));
    }
    return true;
}

/* The node's instructions, in the fastest way that there is. */
static bool compute(struct mdf_state *state, size_t index)
{
    const struct mdf_program_node *node = &state->program->nodes[index];
    struct mdf_epilogue_node *fused = state->epilogues != NULL ? state->epilogues->of_node[index] : NULL;
    bool done;

    mdf_buffer_reuse_begin_node(state, index);
    if (state->epilogues != NULL && state->epilogues->of_producer[index] != NULL) {
        state->epilogues->of_producer[index]->epilogue.is_done = false; /* lowered, it does not do it */
    }
    if (fused != NULL) {
        fused->is_unwritten = fused->epilogue.is_done;
        state->epilogues->has_unwritten |= fused->is_unwritten;
    }
    if (fused != NULL && fused->is_unwritten) {
        done = true; /* by the kernel whose result it is made of */
    } else if (fused != NULL && !fused->is_looked_at) {
        done = mdf_epilogue_look(state, index, run_as_it_stands);
    } else {
        bool is_lowered;

        mdf_profile_begin(state->shared->profile, MDF_PLACE_CALL, "lowered", node, 0);
        is_lowered = run_lowered(state, index);
        (is_lowered ? mdf_profile_end : mdf_profile_drop)(state->shared->profile);
        done = is_lowered ? mdf_declared_shapes_hold(state, node) : run_as_it_stands(state, index);
    }
    state->has_run[index] = true;
    mdf_buffer_reuse_end_node(state, index);
    return done;
}

/* Whether the node says that it is finished. False: it says nothing that is one number, which is an error. */
static bool look_whether_finished(struct mdf_state *state, const struct mdf_program_node *node, bool *is_finished)
{
    double number = 0;

    if (!mdf_value_number_at(mdf_frame_value(state->frame, node->finished), NULL, 0, &number)) {
        mdf_error_set(&context_of(state)->error, MDF_VALUE, "what says whether it is finished is not one number");
        mdf_error_in(&context_of(state)->error, "node '%s'", node->id);
        return false;
    }
    *is_finished = number != 0;
    return true;
}

/* Runs a node that has taken what edges bring, and, where it is to be finished, again until it is. */
static bool run_taken(struct mdf_state *state, size_t index)
{
    const struct mdf_program_node *node = &state->program->nodes[index];
    bool is_finished = true;
    uint64_t n_runs = 1;

    if (node->reset < node->initial && is_first_in_evaluation(state, index) &&
        !mdf_frame_run(state->frame, node->reset, node->initial)) {
        return false;
    }
    if (!compute(state, index)) {
        return false;
    }
    if (node->finished == MDF_NO_OPERAND) {
        return true;
    }
    while (look_whether_finished(state, node, &is_finished) && !is_finished && n_runs++ < node->most_repeats) {
        if (mdf_state_is_interrupted(state) || !take(state, index) || !compute(state, index)) {
            return false;
        }
    }
    return is_finished || context_of(state)->error.code == MDF_OK;
}

/* The same where it has taken nothing yet, unless `is_taken`. */
static bool run_node(struct mdf_state *state, size_t index, bool is_taken)
{
    struct mdf_profile *profile = state->shared->profile;
    bool done;

    mdf_profile_begin(profile, MDF_PLACE_NODE, state->program->nodes[index].id, state->program, index);
    done = (is_taken || take(state, index)) && run_taken(state, index);
    if (done) {
        mdf_profile_end(profile);
    }
    return done;
}

bool mdf_state_out_of_memory(struct mdf_state *state)
{
    return out_of_memory(state);
}

bool mdf_state_is_asked_to_stop(const struct mdf_state *state)
{
    return mdf_stop_is_asked(&state->shared->stop);
}

bool mdf_state_is_interrupted(struct mdf_state *state)
{
    return mdf_state_is_asked_to_stop(state) && !mdf_stop_tell(&state->shared->stop, &context_of(state)->error);
}

/* The same before a node runs. */
static bool stops_at(struct mdf_state *state, size_t node)
{
    bool stops = mdf_state_is_interrupted(state);

    if (stops) {
        mdf_error_in(&context_of(state)->error, "node '%s'", state->program->nodes[node].id);
    }
    return stops;
}

bool mdf_state_take(struct mdf_state *state, size_t node)
{
    return take(state, node);
}

bool mdf_state_run_taken(struct mdf_state *state, size_t node)
{
    return !stops_at(state, node) &&
           (mdf_schedule_record_node(&state->schedule, &state->shared->memory, node) || out_of_memory(state)) &&
           run_node(state, node, true);
}

bool mdf_state_run_recorded(struct mdf_state *state, size_t node)
{
    return !stops_at(state, node) &&
           (mdf_schedule_record_node(&state->schedule, &state->shared->memory, node) || out_of_memory(state)) &&
           run_node(state, node, false);
}

/* The nodes of a layer, which take what edges bring one after the other, or all of them first. */
static bool run_layer(struct mdf_state *state, const struct mdf_program_layer *layer)
{
    for (size_t i = 0; layer->takes_first && i < layer->n_nodes; i++) {
        if (!take(state, layer->nodes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        if (!(layer->takes_first ? mdf_state_run_taken(state, layer->nodes[i])
                                 : mdf_state_run_recorded(state, layer->nodes[i]))) {
            return false;
        }
    }
    return true;
}

/* Each layer once: a graph without conditions. */
static bool run_layers(struct mdf_state *state)
{
    const struct mdf_program *program = state->program;

    mdf_schedule_record_clear(&state->schedule);
    for (size_t i = 0; i < program->n_layers; i++) {
        if (!mdf_schedule_record_set(&state->schedule, &state->shared->memory, 0, 0)) {
            return out_of_memory(state);
        }
        if (!run_layer(state, &program->layers[i])) {
            return false;
        }
    }
    return true;
}

/* The same once more: the record of the evaluation before, of all layers, stays. */
static bool repeat_layers(struct mdf_state *state)
{
    for (size_t i = 0; i < state->schedule.n_nodes; i++) {
        if (stops_at(state, state->schedule.nodes[i]) || !run_node(state, state->schedule.nodes[i], false)) {
            mdf_schedule_record_cut(&state->schedule, i + 1);
            return false;
        }
    }
    return true;
}

bool mdf_state_can_stop(const struct mdf_state *state)
{
    const struct mdf_program_stop *stop = &state->program->stop;
    size_t i;

    for (i = 0; i < stop->n_ports && state->has_run[stop->ports[i].node]; i++) {
    }
    return stop->n_ports > 0 && i == stop->n_ports;
}

/* Behind nodes that have run one by one. */
static bool run_stop(struct mdf_state *state)
{
    const struct mdf_program_stop *stop = &state->program->stop;

    if (!mdf_state_can_stop(state)) {
        return true;
    }
    for (size_t i = 0; i < stop->n_ports; i++) {
        if (!mdf_state_materialise(state, stop->ports[i].node, stop->ports[i].output)) {
            return out_of_memory(state);
        }
    }
    return mdf_frame_run(state->frame, stop->first, stop->end);
}

bool mdf_state_look_whether_stopped(struct mdf_state *state, bool *has_stopped)
{
    double number = 0;

    if (mdf_state_can_stop(state) &&
        !mdf_value_number_at(mdf_frame_value(state->frame, state->program->stop.value), NULL, 0, &number)) {
        mdf_error_set(&context_of(state)->error, MDF_VALUE, "what says whether to stop is not one number");
        mdf_error_in(&context_of(state)->error, "option 'stop_when'");
        return false;
    }
    *has_stopped = number != 0;
    return true;
}

static bool run_nodes(struct mdf_state *state)
{
    mdf_whole_write_back(state);
    if (state->program->schedule == NULL) {
        return state->schedule.n_nodes == state->program->n_nodes && !state->program->takes_first ? repeat_layers(state)
                                                                                                  : run_layers(state);
    }
    mdf_schedule_record_clear(&state->schedule);
    return mdf_scheduler_run(&state->scheduler, state);
}

static bool run_graph(struct mdf_state *state)
{
    bool is_whole = state->whole != NULL && !mdf_state_is_looked_into(state) && !state->shared->is_short;
    enum mdf_whole_outcome outcome = is_whole ? mdf_whole_run(state) : MDF_WHOLE_NOT_RUN;

    if (outcome != MDF_WHOLE_NOT_RUN) {
        mdf_epilogues_forget(state);
        mdf_buffer_reuse_forget(state);
        return outcome == MDF_WHOLE_DONE;
    }
    if (mdf_state_is_interrupted(state)) { /* which node it was amid is not known */
        return false;
    }
    return run_nodes(state) && run_stop(state);
}

/* It is the first slot, which nothing else writes. */
bool mdf_state_set_increment(struct mdf_state *state, double dt)
{
    struct mdf_execution *execution = &state->shared->execution;

    if (state->shared->has_begun && memcmp(&execution->dt, &dt, sizeof dt) == 0) {
        return true;
    }
    if (!mdf_value_make_double(&state->shared->memory, mdf_frame_slot(state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, 0)),
                               isnan(dt) ? 0.0 : dt)) {
        return out_of_memory(state);
    }
    execution->dt = dt;
    state->shared->has_begun = true;
    return true;
}

bool mdf_state_begin(struct mdf_state *state, mdf_error *error)
{
    struct mdf_shared_state *shared = state->shared;
    double limit_s = state->program->time_limit_s, end_s = shared->end_s;

    if (!isfinite(end_s) && limit_s > 0) {
        end_s = mdf_clock_s() + limit_s;
    }
    return mdf_stop_begin(&shared->stop, &shared->memory, end_s, error);
}

void mdf_state_end(struct mdf_state *state)
{
    mdf_stop_end(&state->shared->stop);
}

mdf_status mdf_state_evaluate(struct mdf_state *state, double dt, mdf_error *error)
{
    mdf_status status;

    if (!mdf_state_begin(state, error)) {
        return MDF_OUT_OF_MEMORY;
    }
    status = mdf_state_evaluate_begun(state, dt, error);
    mdf_state_end(state);
    return status;
}

/* The solver looks at what nodes take before one of them runs; and it begins at initial values, which the first evaluation sets. */
static bool prepare_solver(struct mdf_state *state, bool is_first)
{
    const struct mdf_program_solver *solver = &state->program->solver;

    if (is_first && solver->n_states > 0 && state->program->right_side.n_steps == 0 && !isnan(state->shared->execution.dt)) {
        mdf_error_set(&context_of(state)->error, MDF_USAGE,
                      "the first evaluation sets the initial values: by %s it gets no time increment",
                      mdf_method_names[solver->method]);
        return false;
    }
    if (solver->takes_own_steps && state->shared->execution.dt < 0) {
        mdf_error_set(&context_of(state)->error, MDF_USAGE, "%s goes forward in time only: the time increment is %g",
                      mdf_method_names[solver->method], state->shared->execution.dt);
        return false;
    }
    for (size_t i = 0; i < solver->n_ports; i++) {
        if (!state->ports[solver->ports[i]].has_value && !mdf_state_fill_default(state, solver->ports[i])) {
            return false;
        }
    }
    return true;
}

/* Whether the solver has come to the time of the last evaluation. False: the error of the state's context is set. */
static bool solver_came_through(struct mdf_state *state)
{
    const struct mdf_program_solver *solver = &state->program->solver;
    double behind = 0;

    if (solver->behind == MDF_NO_OPERAND || isnan(state->shared->execution.dt) ||
        !mdf_value_number_at(mdf_frame_value(state->frame, solver->behind), NULL, 0, &behind) || behind == 0) {
        return true;
    }
    mdf_error_set(&context_of(state)->error, behind == MDF_SOLVER_TIRES ? MDF_LIMIT : MDF_VALUE, "%s %s",
                  mdf_method_names[solver->method], mdf_solver_ends[(enum mdf_solver_end)behind]);
    return false;
}

mdf_status mdf_state_evaluate_begun(struct mdf_state *state, double dt, mdf_error *error)
{
    struct mdf_context *context = context_of(state);
    bool is_first = !state->shared->has_begun, done;

    if (context->error.code != MDF_OK) { /* a large thing, which is all zeros already */
        memset(&context->error, 0, sizeof context->error);
    }
    state->shared->running = state;
    mdf_body_trace_renew(state->shared);
    mdf_profile_begin(state->shared->profile, MDF_PLACE_GRAPH, state->program->graph_id, state->program, 0);
    done = mdf_state_set_increment(state, dt) && mdf_state_take_inputs(state) && prepare_solver(state, is_first);
    if (done && state->shared->look != NULL) {
        state->shared->look(state->shared->look_context, state);
    }
    if (done && mdf_program_is_solved_by_library(state->program)) {
        done = mdf_solve_advance(state);
    }
    done = done && run_graph(state) && solver_came_through(state);
    if (mdf_stop_is_untold(&state->shared->stop)) {
        done = mdf_stop_tell(&state->shared->stop, &context->error);
    }
    mdf_profile_end_all(state->shared->profile);
    if (!done) {
        mdf_state_forget_inputs(state); /* those of nodes that have not run are not meant for the next evaluation */
    }
    if (!done && error != NULL && error->code == MDF_OK) {
        *error = context->error;
    }
    return done ? MDF_OK : context->error.code;
}

bool mdf_state_materialise(const struct mdf_state *state, size_t node, size_t output)
{
    return mdf_whole_materialise(state, node, output) && mdf_buffer_reuse_materialise(state, node, output) &&
           mdf_epilogues_materialise(state, node, output);
}

const struct mdf_value *mdf_state_output(const struct mdf_state *state, size_t node, size_t output)
{
    const struct mdf_program_output *port = &state->program->nodes[node].outputs[output];

    if (!state->has_run[node]) {
        return port->initial != MDF_NO_OPERAND ? mdf_frame_value(state->frame, port->initial) : &nothing;
    }
    return mdf_state_materialise(state, node, output) ? mdf_frame_value(state->frame, port->operand) : &nothing;
}

const struct mdf_value *mdf_state_result(const struct mdf_state *state, size_t index)
{
    const struct mdf_program_result *result = &state->program->results[index];

    return result->output == SIZE_MAX ? mdf_frame_value(state->frame, state->program->ports[result->node].slot)
                                      : mdf_state_output(state, result->node, result->output);
}
