/* buffer_reuse.c - see buffer_reuse.h.
 *
 * An array may be let go where a node's last instruction makes it, a call that gives the same each time; nothing looks at it but
 * calls of nodes that run later, and names; and it is no result of the graph. The inputs of the graph stay as they are until the
 * next evaluation, what else such calls read is there or can be made again: so it is made again by these calls in their order. */
#include "mdf_c/run/buffer_reuse.h"

#include "mdf_c/run/epilogues.h"
#include "mdf_c/run/readers.h"

/* Smaller arrays are kept: they are soon written again, and the blocks of memory that pass on are larger. */
enum { SMALLEST_BYTES = 32 << 10 };

struct search {
    const struct mdf_program *program;
    const struct mdf_slot_uses *uses;
    uint32_t *first_readers, *last_readers; /* by slot; see readers.h */
    bool *is_result;                        /* by slot */
};

static void mark_results(struct search *search)
{
    const struct mdf_program *program = search->program;

    for (size_t i = 0; i < program->n_results; i++) {
        const struct mdf_program_result *result = &program->results[i];

        if (result->output != SIZE_MAX) {
            mdf_operand operand = program->nodes[result->node].outputs[result->output].operand;

            if (mdf_is_slot(operand)) {
                search->is_result[MDF_OPERAND_INDEX(operand)] = true;
            }
        }
    }
}

/* Whether an output that a node makes may be let go, by what looks at it. */
static bool may_go(const struct search *search, mdf_operand output, size_t node)
{
    uint32_t slot = MDF_OPERAND_INDEX(output), first;

    if (!mdf_is_slot(output) || search->is_result[slot] || search->uses->is_carried[slot]) {
        return false;
    }
    first = search->first_readers[slot];
    return search->last_readers[slot] != MDF_READ_BY_ALL &&
           (first == MDF_READ_BY_NOBODY || first - 1 > search->uses->turns[node]) &&
           (search->uses->names[slot] == 0 || search->uses->names[slot] == node + 1);
}

/* The turn after which nothing needs what a node makes; SIZE_MAX: it has to stay. */
static size_t last_turn(const struct search *search, size_t node)
{
    const struct mdf_code_call *call = mdf_node_last_call(search->program, node);
    size_t last = search->uses->turns[node];

    if (call == NULL || (call->operator->flags & MDF_OPERATOR_AS_WRITTEN) != 0) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] == MDF_NO_OPERAND) {
            continue;
        }
        if (!may_go(search, call->outputs[i], node)) {
            return SIZE_MAX;
        }
        if (search->last_readers[MDF_OPERAND_INDEX(call->outputs[i])] > last + 1) {
            last = search->last_readers[MDF_OPERAND_INDEX(call->outputs[i])] - 1;
        }
    }
    return last;
}

static bool make_lists(struct mdf_buffer_reuse *reuse, const size_t *last_turns, struct mdf_arena *arena)
{
    for (size_t i = 0; i < reuse->n_nodes; i++) {
        reuse->n_after[last_turns[i]]++;
    }
    for (size_t i = 0; i < reuse->n_nodes; i++) {
        size_t turn = last_turns[i];

        if (reuse->after[turn] == NULL) {
            reuse->after[turn] = mdf_arena_array(arena, reuse->n_after[turn], sizeof(size_t));
            reuse->n_after[turn] = 0;
        }
        if (reuse->after[turn] == NULL) {
            return false;
        }
        reuse->after[turn][reuse->n_after[turn]++] = i;
    }
    return true;
}

struct mdf_buffer_reuse *mdf_buffer_reuse_find(const struct mdf_program *program, const struct mdf_slot_uses *uses,
                                               struct mdf_arena *arena)
{
    struct mdf_buffer_reuse *reuse = mdf_arena_allocate(arena, sizeof *reuse);
    struct search search = {
        .program = program, .uses = uses, .is_result = mdf_arena_array(arena, program->code->n_slots, sizeof(bool))};
    size_t *last_turns = mdf_arena_array(arena, program->n_nodes, sizeof *last_turns);

    if (reuse == NULL || search.is_result == NULL || last_turns == NULL ||
        !mdf_program_reader_turns(program, uses->turns, arena, &search.first_readers, &search.last_readers)) {
        return NULL;
    }
    reuse->nodes = mdf_arena_array(arena, program->n_nodes, sizeof *reuse->nodes);
    reuse->of_node = mdf_arena_array(arena, program->n_nodes, sizeof *reuse->of_node);
    reuse->after = mdf_arena_array(arena, program->n_nodes, sizeof *reuse->after);
    reuse->n_after = mdf_arena_array(arena, program->n_nodes, sizeof *reuse->n_after);
    if (reuse->nodes == NULL || reuse->of_node == NULL || reuse->after == NULL || reuse->n_after == NULL) {
        return NULL;
    }
    reuse->turns = uses->turns;
    mark_results(&search);
    for (size_t i = 0; i < program->n_layers; i++) {
        for (size_t j = 0; j < program->layers[i].n_nodes; j++) {
            size_t node = program->layers[i].nodes[j], last = last_turn(&search, node);

            if (last != SIZE_MAX) {
                reuse->nodes[reuse->n_nodes].node = node;
                last_turns[reuse->n_nodes++] = last;
                reuse->of_node[node] = reuse->n_nodes;
            }
        }
    }
    return make_lists(reuse, last_turns, arena) ? reuse : NULL;
}

/* ------------------------------------------------------------------ letting go */

static void set_gone(struct mdf_buffer_reuse *reuse, struct mdf_reused_node *reused, bool is_gone)
{
    reuse->n_gone += is_gone && !reused->is_gone;
    reuse->n_gone -= !is_gone && reused->is_gone;
    reused->is_gone = is_gone;
}

void mdf_buffer_reuse_begin_node(struct mdf_state *state, size_t node)
{
    struct mdf_buffer_reuse *reuse = state->reuse;

    if (reuse != NULL && reuse->of_node[node] != 0) {
        set_gone(reuse, &reuse->nodes[reuse->of_node[node] - 1], false);
    }
}

/* Lowered forms, and those that are still to be made, go by what is in the slots. */
static bool will_not_be_lowered(const struct mdf_state *state, size_t node)
{
    const struct mdf_epilogue_node *fused = state->epilogues == NULL ? NULL : state->epilogues->of_node[node];

    return state->nodes[node].fast.is_given_up || (fused != NULL && fused->is_unwritten);
}

static bool is_large(const struct mdf_state *state, const struct mdf_code_call *call)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND) {
            const struct mdf_value *value = mdf_frame_value(state->frame, call->outputs[i]);

            n_bytes += value->kind == MDF_KIND_TENSOR ? value->length * mdf_dtype_size((mdf_dtype)value->dtype) : 0;
        }
    }
    return n_bytes >= SMALLEST_BYTES;
}

void mdf_buffer_reuse_end_node(struct mdf_state *state, size_t node)
{
    struct mdf_buffer_reuse *reuse = state->reuse;
    size_t turn;

    if (reuse == NULL || reuse->is_off || (state->whole != NULL && !state->whole->single.fast.is_given_up)) {
        return;
    }
    turn = reuse->turns[node];
    for (size_t i = 0; i < reuse->n_after[turn]; i++) {
        struct mdf_reused_node *reused = &reuse->nodes[reuse->after[turn][i]];
        const struct mdf_code_call *call = mdf_node_last_call(state->program, reused->node);

        if (reused->is_gone || !will_not_be_lowered(state, reused->node) || !is_large(state, call)) {
            continue;
        }
        for (size_t j = 0; j < call->n_outputs; j++) {
            if (call->outputs[j] != MDF_NO_OPERAND) {
                mdf_value_clear(&state->shared->memory, mdf_frame_slot(state->frame, call->outputs[j]));
            }
        }
        set_gone(reuse, reused, true);
    }
}

void mdf_buffer_reuse_forget(struct mdf_state *state)
{
    for (size_t i = 0; state->reuse != NULL && state->reuse->n_gone > 0 && i < state->reuse->n_nodes; i++) {
        set_gone(state->reuse, &state->reuse->nodes[i], false);
    }
}

/* ------------------------------------------------------------------ making again */

/* Runs a node's call without its epilogue. */
static bool make_again(const struct mdf_state *state, size_t node)
{
    size_t end = state->program->nodes[node].end;
    struct mdf_call *call = mdf_frame_call(state->frame, state->program->code->instructions[end - 1].target);
    struct mdf_epilogue *epilogue = call->epilogue;
    bool done;

    if (!mdf_epilogues_materialise(state, node, SIZE_MAX)) {
        return false;
    }
    call->epilogue = NULL;
    done = mdf_frame_run(state->frame, end - 1, end);
    call->epilogue = epilogue;
    return done;
}

bool mdf_buffer_reuse_materialise(const struct mdf_state *state, size_t node, size_t output)
{
    struct mdf_buffer_reuse *reuse = state->reuse;
    size_t number = reuse == NULL ? 0 : reuse->of_node[node];

    if (reuse == NULL || reuse->n_gone == 0 || (output != SIZE_MAX && (number == 0 || !reuse->nodes[number - 1].is_gone))) {
        return true;
    }
    reuse->is_off = true;
    for (size_t i = 0; i < reuse->n_nodes; i++) {
        if (reuse->nodes[i].is_gone) {
            if (!make_again(state, reuse->nodes[i].node)) {
                return false;
            }
            set_gone(reuse, &reuse->nodes[i], false);
        }
    }
    return true;
}
