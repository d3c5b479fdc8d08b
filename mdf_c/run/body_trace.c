/* body_trace.c - see body_trace.h. Open calls are a stack: a body belongs to the call that is open last. */
#include "mdf_c/run/body_trace.h"

#include "mdf_c/tensor/entries.h"

#include <string.h>

/* A call that runs. */
struct open_call {
    const char *node;
    struct mdf_value call, iterations, iteration, bodies; /* `bodies`: of the iteration, so far */
};

struct mdf_body_trace {
    struct mdf_onlooker onlooker;
    struct mdf_shared_state *shared;
    struct mdf_value bodies; /* of the evaluation */
    struct open_call *open;
    size_t n_open, capacity;
};

static bool out_of_memory(struct mdf_body_trace *trace)
{
    mdf_memory_error(&trace->shared->memory, &trace->shared->execution.context.error);
    return false;
}

/* The node of the innermost graph, or of the body, that an instruction belongs to. */
static const char *node_at(const struct mdf_body_trace *trace, const struct mdf_frame *frame, size_t at)
{
    const char *id = mdf_body_node_at(mdf_frame_code(frame), at);
    const struct mdf_program *program = trace->shared->running->program;

    for (size_t i = 0; id == NULL && i < program->n_nodes; i++) {
        if (at >= program->nodes[i].first && at < program->nodes[i].end) {
            id = program->nodes[i].id;
        }
    }
    return id != NULL ? id : "";
}

static const struct mdf_code_call *call_at(const struct mdf_frame *frame, size_t at)
{
    const struct mdf_code *code = mdf_frame_code(frame);

    return &code->calls[code->instructions[at].target];
}

static bool call_begins(struct mdf_onlooker *onlooker, struct mdf_frame *frame, size_t at)
{
    struct mdf_body_trace *trace = (struct mdf_body_trace *)onlooker;
    const struct mdf_code_call *call = call_at(frame, at);
    char name[MDF_OPERATOR_TITLE_SIZE];
    struct open_call *open;

    if (call->n_bodies == 0) {
        return true;
    }
    if (trace->n_open == trace->capacity) {
        struct open_call *grown =
            mdf_memory_grow(&trace->shared->memory, trace->open, &trace->capacity, trace->n_open + 1, sizeof *grown);

        if (grown == NULL) {
            return out_of_memory(trace);
        }
        trace->open = grown;
    }
    open = &trace->open[trace->n_open++];
    *open = (struct open_call){.node = node_at(trace, frame, at)};
    mdf_operator_title(call->operator, name);
    return (mdf_entry_text(&trace->shared->memory, &open->call, "operator", name) &&
            mdf_entry_text(&trace->shared->memory, &open->call, "body",
                           call->bodies[0] != UINT32_MAX ? mdf_frame_code(frame)->bodies[call->bodies[0]]->id : "")) ||
           out_of_memory(trace);
}

/* Adds a call to those of its node. */
static bool add_call(struct mdf_memory *memory, struct mdf_value *bodies, const char *node, struct mdf_value *call)
{
    struct mdf_value *calls = mdf_entry(memory, bodies, node);

    return calls != NULL && mdf_list_take(memory, calls, call);
}

static void clear(struct mdf_memory *memory, struct open_call *open)
{
    mdf_value_clear(memory, &open->call);
    mdf_value_clear(memory, &open->iterations);
    mdf_value_clear(memory, &open->iteration);
    mdf_value_clear(memory, &open->bodies);
}

static bool call_ends(struct mdf_onlooker *onlooker, struct mdf_frame *frame, size_t at, bool was_fast)
{
    struct mdf_body_trace *trace = (struct mdf_body_trace *)onlooker;
    struct mdf_memory *memory = &trace->shared->memory;
    const struct mdf_code_call *call = call_at(frame, at);
    struct open_call *open;
    struct mdf_value *bodies;
    bool done;

    (void)was_fast; /* it is not: run_fast is off */
    if (call->n_bodies == 0) {
        return true;
    }
    open = &trace->open[--trace->n_open];
    bodies = trace->n_open > 0 ? &trace->open[trace->n_open - 1].bodies : &trace->bodies;
    done = (open->iterations.kind == MDF_KIND_LIST || mdf_value_make_list(memory, &open->iterations, 0) != NULL) &&
           mdf_entry_take(memory, &open->call, "iterations", &open->iterations) &&
           add_call(memory, bodies, open->node, &open->call);
    clear(memory, open);
    return done || out_of_memory(trace);
}

static bool body_begins(struct mdf_onlooker *onlooker, struct mdf_frame *body)
{
    struct mdf_body_trace *trace = (struct mdf_body_trace *)onlooker;
    const struct mdf_code *code = mdf_frame_code(body);
    struct open_call *open = &trace->open[trace->n_open - 1];
    struct mdf_memory *memory = &trace->shared->memory;
    struct mdf_value inputs = {0};
    bool done = mdf_value_make_dict(memory, &inputs, 0) != NULL;

    for (size_t i = 0; i < code->n_names && done; i++) {
        if (code->names[i].node == NULL) {
            struct mdf_value *entry = mdf_entry(memory, &inputs, code->names[i].id);

            done = entry != NULL && mdf_value_copy_apart(memory, entry, mdf_frame_value(body, code->names[i].operand));
        }
    }
    done = done && mdf_entry_text(memory, &open->call, "body", code->id) && /* of If, the branch that is taken */
           mdf_entry_take(memory, &open->iteration, "inputs", &inputs);
    mdf_value_clear(memory, &inputs);
    return done || out_of_memory(trace);
}

static bool body_ends(struct mdf_onlooker *onlooker, struct mdf_frame *body)
{
    struct mdf_body_trace *trace = (struct mdf_body_trace *)onlooker;
    const struct mdf_code *code = mdf_frame_code(body);
    struct open_call *open = &trace->open[trace->n_open - 1];
    struct mdf_memory *memory = &trace->shared->memory;
    struct mdf_value outputs = {0};
    bool done = mdf_value_make_dict(memory, &outputs, 0) != NULL;

    for (size_t i = 0; i < code->n_names && done; i++) {
        if (code->names[i].node != NULL) {
            struct mdf_value *ports = mdf_entry(memory, &outputs, code->names[i].node);
            struct mdf_value *entry = ports != NULL ? mdf_entry(memory, ports, code->names[i].id) : NULL;

            done = entry != NULL && mdf_value_copy_apart(memory, entry, mdf_frame_value(body, code->names[i].operand));
        }
    }
    done = done && mdf_entry_take(memory, &open->iteration, "outputs", &outputs) &&
           (open->bodies.kind == MDF_KIND_NONE || mdf_entry_take(memory, &open->iteration, "bodies", &open->bodies)) &&
           mdf_list_take(memory, &open->iterations, &open->iteration);
    mdf_value_clear(memory, &outputs);
    return done || out_of_memory(trace);
}

bool mdf_body_trace_start(struct mdf_state *state)
{
    struct mdf_shared_state *shared = state->shared;
    struct mdf_body_trace *trace = mdf_memory_allocate_zeroed(&shared->memory, 1, sizeof *trace);

    if (trace == NULL) {
        return false;
    }
    trace->shared = shared;
    trace->onlooker = (struct mdf_onlooker){call_begins, call_ends, body_begins, body_ends, shared->execution.onlookers};
    shared->execution.onlookers = &trace->onlooker;
    shared->execution.run_fast = NULL;
    shared->body_trace = trace;
    return true;
}

void mdf_body_trace_renew(struct mdf_shared_state *shared)
{
    struct mdf_body_trace *trace = shared->body_trace;

    if (trace == NULL) {
        return;
    }
    while (trace->n_open > 0) { /* of an evaluation that failed */
        clear(&shared->memory, &trace->open[--trace->n_open]);
    }
    mdf_value_clear(&shared->memory, &trace->bodies);
}

const struct mdf_value *mdf_body_trace_value(const struct mdf_state *state)
{
    return state->shared->body_trace != NULL ? &state->shared->body_trace->bodies : NULL;
}

void mdf_body_trace_release(struct mdf_shared_state *shared)
{
    if (shared->body_trace != NULL) {
        mdf_body_trace_renew(shared);
        mdf_memory_release(&shared->memory, shared->body_trace->open);
        mdf_memory_release(&shared->memory, shared->body_trace);
        shared->body_trace = NULL;
    }
}
