/* epilogues.c - see epilogues.h.
 *
 * A fused node is done before its turn comes. So nothing may look at its output in between, and nothing that it reads may change:
 * the graph has no conditions, no edge carries its output at run time, and its other operands are constants or made before its
 * producer runs. The producer's inputs stay as they are until the next evaluation, so that its output can be made later too. */
#include "mdf_c/run/epilogues.h"

#include "mdf_c/run/readers.h"

#include <string.h>

struct search {
    const struct mdf_program *program;
    const struct mdf_slot_uses *uses;
    struct mdf_epilogues *epilogues;
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

/* Whether nobody but the fused node looks at what its producer makes, other than by the names of the two. */
static bool is_only_reader(const struct search *search, size_t producer, size_t fused)
{
    const struct mdf_code_call *call = mdf_node_last_call(search->program, producer);
    uint32_t slot = MDF_OPERAND_INDEX(call->outputs[0]);

    return call->n_outputs == 1 && search->readers[slot] == fused + 1 && search->uses->names[slot] == producer + 1 &&
           (search->uses->inputs[slot] == 0 || search->uses->inputs[slot] == fused + 1);
}

static bool examine(struct search *search, size_t index, struct mdf_arena *arena)
{
    const struct mdf_program *program = search->program;
    const struct mdf_code_call *call = mdf_node_only_call(program, index);
    size_t producer = call != NULL && call->n_outputs == 1 && mdf_is_slot(call->outputs[0]) ? only_maker(search, call) : SIZE_MAX;
    struct mdf_epilogue_node *fused;

    if (producer == SIZE_MAX || search->uses->turns[producer] >= search->uses->turns[index] ||
        !is_only_reader(search, producer, index) || search->uses->is_carried[MDF_OPERAND_INDEX(call->outputs[0])]) {
        return true;
    }
    fused = search->epilogues->of_node[index] = mdf_arena_allocate(arena, sizeof *fused);
    if (fused == NULL) {
        return false;
    }
    fused->producer = producer;
    fused->call = program->code->instructions[program->nodes[index].end - 1].target;
    return true;
}

struct mdf_epilogues *mdf_epilogues_find(const struct mdf_program *program, const struct mdf_slot_uses *uses,
                                         struct mdf_arena *arena)
{
    struct search search = {.program = program, .uses = uses};

    search.epilogues = mdf_arena_allocate(arena, sizeof *search.epilogues);
    search.makers = mdf_arena_array(arena, program->code->n_slots, sizeof *search.makers);
    search.readers = mdf_program_inner_readers(program, arena);
    if (search.epilogues == NULL || search.makers == NULL || search.readers == NULL) {
        return NULL;
    }
    search.epilogues->of_node = mdf_arena_array(arena, program->n_nodes, sizeof *search.epilogues->of_node);
    search.epilogues->of_producer = mdf_arena_array(arena, program->n_nodes, sizeof *search.epilogues->of_producer);
    if (search.epilogues->of_node == NULL || search.epilogues->of_producer == NULL) {
        return NULL;
    }
    note_makers(&search);
    for (size_t i = 0; i < program->n_nodes; i++) {
        if (!examine(&search, i, arena)) {
            return NULL;
        }
    }
    return search.epilogues;
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

bool mdf_epilogue_look(struct mdf_state *state, size_t node, bool (*run)(struct mdf_state *state, size_t node))
{
    struct mdf_context *context = &state->shared->execution.context;
    struct mdf_epilogue_node *fused = state->epilogues->of_node[node];
    const struct mdf_code_call *call = &state->program->code->calls[fused->call];
    struct mdf_elementwise_trace trace = {0};
    const struct mdf_value *made;
    bool done;

    context->trace = &trace;
    done = run(state, node);
    context->trace = NULL;
    if (!done) {
        return false;
    }
    fused->is_looked_at = true;
    fused->epilogue.target = mdf_frame_slot(state->frame, call->outputs[0]);
    fused->epilogue.dtype = (mdf_dtype)fused->epilogue.target->dtype;
    made = mdf_frame_value(state->frame, call_outputs(state, fused->producer)[0]);
    if (trace.n_calls == 1 && trace.loop != NULL && trace.n_operands == 1 && trace.operands[0] == made &&
        trace.target == fused->epilogue.target && trace.operation->limits != NULL && mdf_dtype_is_real(fused->epilogue.dtype) &&
        made->strength == MDF_STRENGTH_TYPED &&
        trace.operation->limits(fused->epilogue.dtype, trace.settings, &fused->epilogue.limits)) {
        call_of(state, fused->producer)->epilogue = &fused->epilogue;
        state->epilogues->of_producer[fused->producer] = fused;
    }
    return true;
}

/* ------------------------------------------------------------------ what was not written */

/* Runs the call of a producer without its epilogue. */
static bool make_unwritten(const struct mdf_state *state, size_t node)
{
    struct mdf_epilogue_node *fused = state->epilogues->of_producer[node];
    size_t end = state->program->nodes[node].end;
    struct mdf_call *call;

    if (fused == NULL || !fused->is_unwritten) {
        return true;
    }
    call = call_of(state, node);
    call->epilogue = NULL;
    fused->is_unwritten = !mdf_frame_run(state->frame, end - 1, end);
    call->epilogue = &fused->epilogue;
    return !fused->is_unwritten;
}

void mdf_epilogues_forget(struct mdf_state *state)
{
    if (state->epilogues == NULL || !state->epilogues->has_unwritten) {
        return;
    }
    for (size_t i = 0; i < state->program->n_nodes; i++) {
        if (state->epilogues->of_producer[i] != NULL) {
            state->epilogues->of_producer[i]->is_unwritten = false;
        }
    }
    state->epilogues->has_unwritten = false;
}

bool mdf_epilogues_materialise(const struct mdf_state *state, size_t node, size_t output)
{
    const struct mdf_epilogues *epilogues = state->epilogues;

    return epilogues == NULL || (make_unwritten(state, node) && (output != SIZE_MAX || epilogues->of_node[node] == NULL ||
                                                                 make_unwritten(state, epilogues->of_node[node]->producer)));
}
