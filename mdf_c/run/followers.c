/* followers.c - see followers.h.
 *
 * A follower is done before its turn comes. So nothing may look at its output in between, and nothing that it reads may change:
 * the graph has no conditions, no edge carries its output at run time, and its other operands are constants or made before its
 * leader runs. The leader's inputs stay as they are until the next evaluation, so that its output can be made later too. */
#include "mdf_c/run/followers.h"

#include "mdf_c/run/readers.h"

#include <string.h>

struct search {
    const struct mdf_program *program;
    const struct mdf_slot_uses *uses;
    struct mdf_followers *followers;
    size_t *makers;    /* by slot: the node whose last instruction, a call, makes it as its output 0, plus 1 */
    uint32_t *readers; /* by slot; see readers.h */
};

static void note_makers(struct search *search)
{
    for (size_t i = 0; i < search->program->n_nodes; i++) {
        const struct mdf_code_call *call = mdf_node_last_call(search->program, i);

        if (call != NULL && call->n_outputs > 0 && mdf_is_slot(call->outputs[0])) {
            search->makers[MDF_OPERAND_INDEX(call->outputs[0])] = i + 1;
        }
    }
}

/* The node that makes the only input of a call that is no constant; SIZE_MAX: there are several, or it is made in another way. */
static size_t only_maker(const struct search *search, const struct mdf_code_call *call)
{
    size_t maker = 0;

    for (size_t i = 0; i < call->n_inputs; i++) {
        bool is_omitted = call->inputs[i] == MDF_NO_OPERAND;

        if (!is_omitted && MDF_OPERAND_KIND(call->inputs[i]) == MDF_OPERAND_CAPTURE) {
            return SIZE_MAX;
        }
        if (mdf_is_slot(call->inputs[i])) {
            if (maker != 0 || search->makers[MDF_OPERAND_INDEX(call->inputs[i])] == 0) {
                return SIZE_MAX;
            }
            maker = search->makers[MDF_OPERAND_INDEX(call->inputs[i])];
        }
    }
    return maker == 0 ? SIZE_MAX : maker - 1;
}

/* Whether nobody but the follower looks at what the leader makes, other than by the names of the two. */
static bool is_only_reader(const struct search *search, size_t leader, size_t follower)
{
    const struct mdf_code_call *call = mdf_node_last_call(search->program, leader);
    uint32_t slot = MDF_OPERAND_INDEX(call->outputs[0]);

    return call->n_outputs == 1 && search->readers[slot] == follower + 1 && search->uses->names[slot] == leader + 1 &&
           (search->uses->inputs[slot] == 0 || search->uses->inputs[slot] == follower + 1);
}

static bool examine(struct search *search, size_t index, struct mdf_arena *arena)
{
    const struct mdf_program *program = search->program;
    const struct mdf_code_call *call = mdf_node_only_call(program, index);
    size_t leader = call != NULL && call->n_outputs == 1 && mdf_is_slot(call->outputs[0]) ? only_maker(search, call) : SIZE_MAX;
    struct mdf_follower *follower;

    if (leader == SIZE_MAX || search->uses->turns[leader] >= search->uses->turns[index] ||
        !is_only_reader(search, leader, index) || search->uses->is_carried[MDF_OPERAND_INDEX(call->outputs[0])]) {
        return true;
    }
    follower = search->followers->of_node[index] = mdf_arena_allocate(arena, sizeof *follower);
    if (follower == NULL) {
        return false;
    }
    follower->leader = leader;
    follower->call = program->code->instructions[program->nodes[index].end - 1].target;
    return true;
}

struct mdf_followers *mdf_followers_find(const struct mdf_program *program, const struct mdf_slot_uses *uses,
                                         struct mdf_arena *arena)
{
    struct search search = {.program = program, .uses = uses};

    search.followers = mdf_arena_allocate(arena, sizeof *search.followers);
    search.makers = mdf_arena_array(arena, program->code->n_slots, sizeof *search.makers);
    search.readers = mdf_program_inner_readers(program, arena);
    if (search.followers == NULL || search.makers == NULL || search.readers == NULL) {
        return NULL;
    }
    search.followers->of_node = mdf_arena_array(arena, program->n_nodes, sizeof *search.followers->of_node);
    search.followers->of_leader = mdf_arena_array(arena, program->n_nodes, sizeof *search.followers->of_leader);
    if (search.followers->of_node == NULL || search.followers->of_leader == NULL) {
        return NULL;
    }
    note_makers(&search);
    for (size_t i = 0; i < program->n_nodes; i++) {
        if (!examine(&search, i, arena)) {
            return NULL;
        }
    }
    return search.followers;
}

/* ------------------------------------------------------------------ what they do */

static struct mdf_call *call_of(const struct mdf_state *state, size_t node)
{
    return mdf_frame_call(state->frame, state->program->code->instructions[state->program->nodes[node].end - 1].target);
}

static const mdf_operand *call_outputs(const struct mdf_state *state, size_t node)
{
    return mdf_node_last_call(state->program, node)->outputs;
}

bool mdf_follower_look(struct mdf_state *state, size_t node, bool (*run)(struct mdf_state *state, size_t node))
{
    struct mdf_context *context = &state->shared->execution.context;
    struct mdf_follower *follower = state->followers->of_node[node];
    const struct mdf_code_call *call = &state->program->code->calls[follower->call];
    struct mdf_elementwise_trace trace = {0};
    const struct mdf_value *followed;
    bool done;

    context->trace = &trace;
    done = run(state, node);
    context->trace = NULL;
    if (!done) {
        return false;
    }
    follower->is_looked_at = true;
    follower->follow.target = mdf_frame_slot(state->frame, call->outputs[0]);
    follower->follow.dtype = (mdf_dtype)follower->follow.target->dtype;
    followed = mdf_frame_value(state->frame, call_outputs(state, follower->leader)[0]);
    if (trace.n_calls == 1 && trace.loop != NULL && trace.n_operands == 1 && trace.operands[0] == followed &&
        trace.target == follower->follow.target && trace.operation->limits != NULL &&
        (follower->follow.dtype == MDF_DTYPE_FLOAT32 || follower->follow.dtype == MDF_DTYPE_FLOAT64) &&
        followed->strength == MDF_STRENGTH_TYPED &&
        trace.operation->limits(follower->follow.dtype, trace.settings, &follower->follow.limits)) {
        call_of(state, follower->leader)->follow = &follower->follow;
        state->followers->of_leader[follower->leader] = follower;
    }
    return true;
}

/* ------------------------------------------------------------------ what was not written */

/* Runs the call of a leader as if nothing followed. */
static bool make_owed(const struct mdf_state *state, size_t node)
{
    struct mdf_follower *follower = state->followers->of_leader[node];
    size_t end = state->program->nodes[node].end;
    struct mdf_call *call;

    if (follower == NULL || !follower->is_owed) {
        return true;
    }
    call = call_of(state, node);
    call->follow = NULL;
    follower->is_owed = !mdf_frame_run(state->frame, end - 1, end);
    call->follow = &follower->follow;
    return !follower->is_owed;
}

void mdf_followers_forget(struct mdf_state *state)
{
    if (state->followers == NULL || !state->followers->owe) {
        return;
    }
    for (size_t i = 0; i < state->program->n_nodes; i++) {
        if (state->followers->of_leader[i] != NULL) {
            state->followers->of_leader[i]->is_owed = false;
        }
    }
    state->followers->owe = false;
}

bool mdf_followers_settle(const struct mdf_state *state, size_t node, size_t output)
{
    const struct mdf_followers *followers = state->followers;

    return followers == NULL || (make_owed(state, node) && (output != SIZE_MAX || followers->of_node[node] == NULL ||
                                                            make_owed(state, followers->of_node[node]->leader)));
}
