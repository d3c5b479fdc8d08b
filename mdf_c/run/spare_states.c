/* spare_states.c - see spare_states.h. As new is what a reset makes (restart.h), and what belongs to one life of a state only:
 * the time that it has, requests to stop, threads, what it counts and what was tried in vain. */
#include "mdf_c/run/spare_states.h"

#include "mdf_c/run/restart.h"
#include "mdf_c/run/whole/whole.h"

#include <math.h>

/* A spare one must not be what a program runs out of memory for. */
#define MOST_BYTES ((size_t)8 << 20)
enum { PARTS_OF_BOUND = 64 };

static bool is_small(const struct mdf_memory *memory)
{
    size_t used = atomic_load_explicit(&memory->used_bytes, memory_order_relaxed);
    size_t limit = atomic_load_explicit(&memory->limit_bytes, memory_order_relaxed);

    return used <= MOST_BYTES && (limit == 0 || used <= limit / PARTS_OF_BOUND);
}

/* What failed may have left anything; what a loop has been given up for, a new state would try again, unless a whole
 * evaluation runs as one program. */
static bool is_fit(const struct mdf_state *state)
{
    return !state->program->is_plain && state->shared->execution.context.error.code == MDF_OK &&
           (!state->shared->execution.has_given_up || mdf_whole_goes_on(state)) && is_small(&state->shared->memory);
}

/* What was given to the ports is let go of, be it the caller's own. */
static void clear_inputs(struct mdf_state *state)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        if (mdf_value_own_elements(&state->ports[i].input) == NULL) {
            mdf_value_clear(&state->shared->memory, &state->ports[i].input);
        }
    }
}

static void end_threads(struct mdf_shared_state *shared)
{
    struct mdf_context *context = &shared->execution.context;

    mdf_threads_free(context->threads, &shared->memory);
    context->threads = NULL;
    mdf_stop_release(&shared->stop, &shared->memory);
}

static void renew_nodes(struct mdf_state *state)
{
    for (size_t i = 0; state->nodes != NULL && i < state->program->n_nodes; i++) {
        mdf_fast_renew(&state->nodes[i].fast);
    }
}

static void renew_fast(struct mdf_state *state)
{
    struct mdf_state *nested;

    renew_nodes(state);
    for (nested = state->shared->nested; nested != NULL; nested = nested->next) {
        renew_nodes(nested);
    }
    if (state->whole != NULL) {
        mdf_fast_renew(&state->whole->single.fast);
        mdf_fast_renew(&state->whole->many.fast);
        mdf_whole_forget_series(state->whole);
    }
}

static bool put(struct mdf_spare_states *spares, struct mdf_state *state)
{
    struct mdf_state *nothing;

    for (size_t i = 0; i < MDF_SPARE_STATES; i++) {
        nothing = NULL;
        if (atomic_compare_exchange_strong(&spares->states[i], &nothing, state)) {
            return true;
        }
    }
    return false;
}

bool mdf_spare_state_put(struct mdf_state *state)
{
    if (mdf_state_is_looked_into(state) || !is_fit(state) || mdf_state_restart(state, state->program->seed, NULL) != MDF_OK) {
        return false;
    }
    clear_inputs(state);
    end_threads(state->shared);
    return put(state->program->spares, state);
}

static void begin_life(struct mdf_state *state)
{
    struct mdf_shared_state *shared = state->shared;
    struct mdf_context *context = &shared->execution.context;

    mdf_stop_init(&shared->stop);
    shared->end_s = INFINITY;
    context->threads = context->n_threads > 1 ? mdf_threads_new(&shared->memory) : NULL;
    atomic_store(&shared->memory.peak_bytes, atomic_load(&shared->memory.used_bytes));
    renew_fast(state);
}

struct mdf_state *mdf_spare_state_take(const struct mdf_program *program)
{
    struct mdf_state *state = NULL;

    for (size_t i = 0; i < MDF_SPARE_STATES && state == NULL; i++) {
        state = atomic_exchange(&program->spares->states[i], NULL);
    }
    if (state != NULL) {
        begin_life(state);
    }
    return state;
}

void mdf_spare_states_release(struct mdf_program *program)
{
    for (size_t i = 0; i < MDF_SPARE_STATES; i++) {
        mdf_state_release(atomic_exchange(&program->spares->states[i], NULL));
    }
}
