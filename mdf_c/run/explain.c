/* explain.c - see explain.h. */
#include "mdf_c/run/explain.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/dump.h"
#include "mdf_c/run/epilogues.h"
#include "mdf_c/run/sweep/sweep_lanes.h"

#include <string.h>

enum { STEP = 2 };

/* A kernel that a lowered form calls. */
struct called {
    const struct mdf_lowered_op *op;
    struct called *next;
};

/* One graph. */
struct explanation {
    struct mdf_text *text;
    struct mdf_arena *arena;
    const struct mdf_state *state;
    const struct mdf_lowered *lowered; /* in which the calls are that are looked at; NULL: they are in none */
    size_t *nodes;                     /* of each of the code's origins: the number of the node that it is in, plus 1 */
    size_t n_origins;
    struct called **called; /* of each node: what the lowered form of the graph calls there */
    bool failed;
};

static void begin_line(struct mdf_text *text, int indent)
{
    mdf_text_printf(text, "%*s", indent, "");
}

static void write_quoted(struct mdf_text *text, const char *id)
{
    mdf_text_append_string(text, "'");
    mdf_text_append_visible(text, id);
    mdf_text_append_string(text, "'");
}

/* ------------------------------------------------------------------ reasons */

static void write_place(struct mdf_text *text, const struct mdf_refusal *refusal)
{
    const struct mdf_origin *origin = refusal->origin;

    if (refusal->operator!= NULL) {
        mdf_text_printf(text, ", at %s", refusal->operator);
    }
    if (origin != NULL && origin->path != NULL) {
        mdf_text_append_string(text, ", in ");
        mdf_text_append_visible(text, origin->path);
    }
    if (origin != NULL && origin->line > 0) {
        mdf_text_printf(text, " (line %d)", origin->line);
    }
}

/* Why not faster, and what the user can do about it; nothing where there is no reason. */
static void write_refusal(struct mdf_text *text, const struct mdf_refusal *refusal, int indent)
{
    const char *why = mdf_refusal_text(refusal->reason), *cure = mdf_refusal_cure(refusal->reason);

    if (why == NULL) {
        return;
    }
    begin_line(text, indent);
    mdf_text_printf(text, "because of %s", why);
    if (refusal->detail[0] != '\0') {
        mdf_text_append_string(text, " (");
        mdf_text_append_visible(text, refusal->detail);
        mdf_text_append_string(text, ")");
    }
    write_place(text, refusal);
    mdf_text_append_string(text, "\n");
    if (cure != NULL) {
        begin_line(text, indent);
        mdf_text_printf(text, "cure: %s\n", cure);
    }
}

static void write_reason(struct mdf_text *text, enum mdf_refusal_reason reason, int indent)
{
    const struct mdf_refusal refusal = {.reason = reason};

    write_refusal(text, &refusal, indent);
}

/* "lowered, machine code": of what has run too little for that to pay, from the next run on. */
static void write_lowered(struct mdf_text *text, struct mdf_lowered *lowered, int indent)
{
    mdf_lowered_settle_code(lowered);
    if (lowered->code != NULL) {
        mdf_text_append_string(text, "lowered, machine code\n");
        return;
    }
    mdf_text_append_string(text, "lowered, without machine code\n");
    begin_line(text, indent);
    mdf_text_printf(text, "because %s\n", lowered->why_no_code != NULL ? lowered->why_no_code : "there is none");
}

/* ------------------------------------------------------------------ kernels in a lowered form */

static void note_called(struct explanation *explanation, const struct mdf_lowered_op *op)
{
    const struct mdf_origin *origins = explanation->state->program->code->origins;
    size_t at = op->origin == NULL ? explanation->n_origins : (size_t)(op->origin - origins), node;
    struct called *called;

    if (at >= explanation->n_origins || explanation->nodes[at] == 0) {
        return;
    }
    node = explanation->nodes[at] - 1;
    called = mdf_arena_allocate(explanation->arena, sizeof *called);
    if (called == NULL) {
        explanation->failed = true;
        return;
    }
    *called = (struct called){op, explanation->called[node]};
    explanation->called[node] = called;
}

static void note_region(struct explanation *explanation, const struct mdf_lowered_region *region)
{
    size_t i = region->n_ops;

    while (i-- > 0) { /* lists grow at their fronts */
        const struct mdf_lowered_op *op = &region->ops[i];
        size_t n = 0;

        if (op->code == MDF_LOWERED_CALL && op->of.call->product == NULL && op->of.call->draw == NULL &&
            op->of.call->stack == NULL) {
            note_called(explanation, op);
        }
        while (mdf_lowered_inner(op, n) != NULL) {
            n++;
        }
        while (n-- > 0) {
            note_region(explanation, mdf_lowered_inner(op, n));
        }
    }
}

/* "calls the kernels MatMul, Softmax" */
static void write_called(struct explanation *explanation, size_t node, int indent)
{
    const struct called *called = explanation->called[node];
    const char *separator = "calls kernels, which have no lowered form: ";

    if (called == NULL) {
        return;
    }
    begin_line(explanation->text, indent);
    for (; called != NULL; called = called->next) {
        mdf_text_printf(explanation->text, "%s%s", separator, called->op->operator!= NULL ? called->op->operator->name : "?");
        separator = ", ";
    }
    mdf_text_append_string(explanation->text, "\n");
    explanation->called[node] = NULL;
}

static void note_origin(struct explanation *explanation, uint32_t origin, size_t node)
{
    if (explanation->nodes == NULL) {
        explanation->n_origins = origin >= explanation->n_origins ? (size_t)origin + 1 : explanation->n_origins;
    } else {
        explanation->nodes[origin] = node + 1;
    }
}

static void note_origins(struct explanation *explanation, const struct mdf_code *code, size_t first, size_t end, size_t node)
{
    for (size_t i = first; i < end; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];
        const struct mdf_code_call *call = &code->calls[instruction->target];

        note_origin(explanation, instruction->origin, node);
        for (size_t j = 0; instruction->opcode == MDF_OPCODE_CALL && j < call->n_bodies; j++) {
            if (call->bodies[j] != UINT32_MAX) {
                const struct mdf_code *body = code->bodies[call->bodies[j]];

                note_origins(explanation, body, 0, body->n_instructions, node);
            }
        }
    }
}

/* Twice: how many there are, then which node each is in. */
static bool find_nodes(struct explanation *explanation)
{
    const struct mdf_program *program = explanation->state->program;

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < program->n_nodes; i++) {
            note_origins(explanation, program->code, program->nodes[i].first, program->nodes[i].end, i);
        }
        if (round == 0) {
            explanation->nodes = mdf_arena_array(explanation->arena, explanation->n_origins + 1, sizeof *explanation->nodes);
            explanation->called = mdf_arena_array(explanation->arena, program->n_nodes, sizeof *explanation->called);
        }
        if (explanation->nodes == NULL || explanation->called == NULL) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ bodies */

static bool explain_graph(const struct explanation *outer, const struct mdf_state *state, bool is_inside, int indent);

static void explain_calls(struct explanation *explanation, const struct mdf_frame *frame, size_t first, size_t end,
                          bool is_inside, int indent);

static void explain_bodies(struct explanation *explanation, const struct mdf_frame *frame, const struct mdf_code_call *call,
                           bool is_inside, int indent)
{
    for (size_t i = 0; i < call->n_bodies; i++) {
        const struct mdf_frame *body;

        if (call->bodies[i] == UINT32_MAX) {
            continue;
        }
        body = mdf_frame_of_body(frame, call->bodies[i]);
        if (mdf_frame_code(body)->program != NULL) {
            explanation->failed =
                !explain_graph(explanation, mdf_state_of_frame(explanation->state, body), is_inside, indent) || explanation->failed;
        } else {
            explain_calls(explanation, body, 0, mdf_frame_code(body)->n_instructions, is_inside, indent);
        }
    }
}

/* Which loops in front of it one has become one with, or why not. */
static void write_pairs(const struct explanation *explanation, const struct mdf_origin *origin, int indent)
{
    const struct mdf_lowered_pair *pair = explanation->lowered == NULL ? NULL : explanation->lowered->pairs;

    for (; pair != NULL; pair = pair->next) {
        if (pair->second != origin || pair->first == NULL) {
            continue;
        }
        begin_line(explanation->text, indent);
        mdf_text_append_string(explanation->text,
                               pair->why_apart == NULL ? "one loop with that of " : "not one loop with that of ");
        mdf_text_append_visible(explanation->text, pair->first->path != NULL ? pair->first->path : "");
        mdf_text_printf(explanation->text, "%s%s%s\n", pair->why_apart == NULL ? "" : ", as ",
                        pair->why_apart == NULL ? "" : pair->why_apart,
                        pair->is_concurrent ? "; they run at the same time, on two threads" : "");
    }
}

/* How many runs of a loop of the model are done side by side; 0: one after the other. */
static size_t count_lanes(const struct mdf_lowered_region *region, const struct mdf_origin *origin)
{
    const struct mdf_lowered_region *inner;
    size_t n = 0;

    for (size_t i = 0; i < region->n_ops && n == 0; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        n = op->code == MDF_LOWERED_LOOP && op->origin == origin ? op->of.loop->n_lanes : 0;
        for (size_t j = 0; n == 0 && (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            n = count_lanes(inner, origin);
        }
    }
    return n;
}

static void write_lanes(const struct explanation *explanation, const struct mdf_origin *origin, int indent)
{
    size_t n = explanation->lowered == NULL ? 0 : count_lanes(&explanation->lowered->region, origin);

    if (n > 0) {
        begin_line(explanation->text, indent);
        mdf_text_printf(explanation->text, "%zu runs side by side\n", n);
    }
}

/* A call with bodies that are not run with what is around them. */
static bool explain_by_itself(struct explanation *explanation, const struct mdf_fast *fast, bool is_plain, int indent)
{
    struct mdf_text *text = explanation->text;

    if (fast != NULL && fast->has_run) {
        write_lowered(text, fast->lowered, indent + STEP);
        explanation->lowered = fast->lowered;
        return true;
    }
    mdf_text_append_string(text, "its bodies step by step\n");
    if (is_plain) {
        write_reason(text, MDF_REFUSED_PLAIN, indent + STEP);
    } else if (fast == NULL) {
        write_reason(text, MDF_REFUSED_BRANCHES, indent + STEP);
    } else if (fast->refusal.reason == MDF_REFUSED_NOT) {
        write_reason(text, MDF_REFUSED_LEFT, indent + STEP);
    } else {
        write_refusal(text, &fast->refusal, indent + STEP);
    }
    return false;
}

static void explain_call(struct explanation *explanation, const struct mdf_frame *frame,
                         const struct mdf_instruction *instruction, bool is_inside, int indent)
{
    const struct mdf_code *code = mdf_frame_code(frame);
    const struct mdf_code_call *call = &code->calls[instruction->target];
    const char *path = code->origins[instruction->origin].path;
    const struct mdf_lowered *around = explanation->lowered;

    begin_line(explanation->text, indent);
    mdf_text_printf(explanation->text, "%s (", call->operator->name);
    mdf_text_append_visible(explanation->text, path != NULL ? path : "");
    mdf_text_append_string(explanation->text, "): ");
    if (is_inside) {
        mdf_text_append_string(explanation->text, "with what is around it\n");
    } else {
        is_inside = explain_by_itself(explanation, mdf_frame_kept(frame, instruction->target),
                                      explanation->state->program->is_plain, indent);
    }
    write_pairs(explanation, &code->origins[instruction->origin], indent + STEP);
    write_lanes(explanation, &code->origins[instruction->origin], indent + STEP);
    explain_bodies(explanation, frame, call, is_inside, indent + STEP);
    explanation->lowered = around;
}

/* Of instructions [first, end): the calls with bodies, and the graphs within nodes. */
static void explain_calls(struct explanation *explanation, const struct mdf_frame *frame, size_t first, size_t end,
                          bool is_inside, int indent)
{
    const struct mdf_code *code = mdf_frame_code(frame);

    for (size_t i = first; i < end; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];

        if (instruction->opcode == MDF_OPCODE_CALL && code->calls[instruction->target].n_bodies > 0) {
            explain_call(explanation, frame, instruction, is_inside, indent);
        } else if (instruction->opcode == MDF_OPCODE_GRAPH) {
            const struct mdf_frame *body = mdf_frame_of_body(frame, instruction->target);

            explanation->failed =
                !explain_graph(explanation, mdf_state_of_frame(explanation->state, body), is_inside, indent) || explanation->failed;
        }
    }
}

/* ------------------------------------------------------------------ nodes */

/* Whether another node's kernel has done what this one does; then it is told. */
static bool explain_epilogue(struct explanation *explanation, size_t index)
{
    const struct mdf_epilogues *epilogues = explanation->state->epilogues;

    if (epilogues == NULL || epilogues->of_node[index] == NULL || !epilogues->of_node[index]->is_unwritten) {
        return false;
    }
    mdf_text_append_string(explanation->text, "by the kernel of node ");
    write_quoted(explanation->text, explanation->state->program->nodes[epilogues->of_node[index]->producer].id);
    mdf_text_append_string(explanation->text, "\n");
    return true;
}

/* "by its kernels Conv, Relu", or, where there are other instructions, "step by step: ..." */
static void write_steps(struct mdf_text *text, const struct mdf_program *program, const struct mdf_program_node *node)
{
    enum { MOST_NAMES = 8 };
    const char *separator = "step by step: ";
    size_t n = 0, i;

    for (i = node->first; i < node->end && n < MOST_NAMES; i++) {
        const struct mdf_instruction *instruction = &program->code->instructions[i];

        if (instruction->opcode == MDF_OPCODE_CALL) {
            mdf_text_printf(text, "%s%s", separator, program->code->calls[instruction->target].operator->name);
            separator = ", ";
            n++;
        }
    }
    mdf_text_append_string(text, n == 0 ? "step by step\n" : n == MOST_NAMES && i < node->end ? ", ...\n" : "\n");
}

static void explain_node(struct explanation *explanation, size_t index, bool is_inside, int indent)
{
    const struct mdf_state *state = explanation->state;
    const struct mdf_program_node *node = &state->program->nodes[index];
    const struct mdf_state_node *own = state->nodes != NULL ? &state->nodes[index] : NULL;
    bool is_lowered = is_inside;

    begin_line(explanation->text, indent);
    mdf_text_append_string(explanation->text, "node ");
    write_quoted(explanation->text, node->id);
    mdf_text_append_string(explanation->text, ": ");
    if (!state->has_run[index]) {
        mdf_text_append_string(explanation->text, "has not run\n");
        return;
    }
    if (is_inside) {
        mdf_text_append_string(explanation->text, "with the graph\n");
    } else if (own != NULL && own->fast.has_run) {
        write_lowered(explanation->text, own->fast.lowered, indent + STEP);
        note_region(explanation, &own->fast.lowered->region);
        explanation->lowered = own->fast.lowered;
        is_lowered = true;
    } else if (!explain_epilogue(explanation, index)) {
        write_steps(explanation->text, state->program, node);
        if (own == NULL) {
            write_reason(explanation->text, MDF_REFUSED_PLAIN, indent + STEP);
        } else if (own->fast.refusal.reason == MDF_REFUSED_NOT) {
            write_reason(explanation->text, own->fast.lowered == NULL ? MDF_REFUSED_TOO_EARLY : MDF_REFUSED_LEFT, indent + STEP);
        } else {
            write_refusal(explanation->text, &own->fast.refusal, indent + STEP);
        }
    }
    write_called(explanation, index, indent + STEP);
    explain_calls(explanation, state->frame, node->first, node->end, is_lowered, indent + STEP);
    explanation->lowered = is_inside ? explanation->lowered : NULL;
}

/* ------------------------------------------------------------------ graphs */

/* Why the last evaluation was not done as a whole. */
static void explain_whole_refusal(struct mdf_text *text, const struct mdf_state *state, int indent)
{
    const struct mdf_whole *whole = state->whole;

    if (state->program->is_plain) {
        write_reason(text, MDF_REFUSED_PLAIN, indent);
    } else if (whole == NULL) {
        write_reason(text, MDF_REFUSED_WITHIN_NODE, indent);
    } else if (whole->single.fast.refusal.reason != MDF_REFUSED_NOT &&
               (whole->refused == MDF_REFUSED_NOT || whole->refused == whole->single.fast.refusal.reason)) {
        write_refusal(text, &whole->single.fast.refusal, indent);
    } else if (whole->refused != MDF_REFUSED_NOT) {
        write_reason(text, whole->refused, indent);
    } else {
        write_reason(text, state->schedule.n_nodes == 0 ? MDF_REFUSED_IDLE : MDF_REFUSED_LEFT, indent);
    }
}

/* Evaluations that nobody looked at, where they were not done in one go. */
static void explain_many(struct mdf_text *text, const struct mdf_fast *fast, const char *which, int indent)
{
    if (fast != NULL && (fast->refusal.reason != MDF_REFUSED_NOT || fast->has_run)) {
        begin_line(text, indent);
        mdf_text_append_string(text, which);
        if (fast->refusal.reason != MDF_REFUSED_NOT) {
            mdf_text_append_string(text, ": one by one\n");
            write_refusal(text, &fast->refusal, indent + STEP);
        } else {
            mdf_text_append_string(text, ": ");
            write_lowered(text, fast->lowered, indent + STEP);
        }
    }
}

static bool explain_graph(const struct explanation *outer, const struct mdf_state *state, bool is_inside, int indent)
{
    struct explanation explanation = {.text = outer->text, .arena = outer->arena, .state = state};
    bool is_whole;

    if (state == NULL) { /* it belongs to a body that nothing calls */
        return true;
    }
    if (!find_nodes(&explanation)) {
        return false;
    }
    is_whole = state->whole != NULL && state->whole->single.fast.has_run;
    begin_line(outer->text, indent);
    mdf_text_append_string(outer->text, "graph ");
    write_quoted(outer->text, state->program->graph_id);
    mdf_text_append_string(outer->text, ": ");
    if (is_inside) {
        mdf_text_append_string(outer->text, "with the graph around\n");
        explanation.lowered = outer->lowered;
    } else if (is_whole) {
        write_lowered(outer->text, state->whole->single.fast.lowered, indent + STEP);
        note_region(&explanation, &state->whole->single.fast.lowered->region);
        explanation.lowered = state->whole->single.fast.lowered;
    } else {
        mdf_text_append_string(outer->text, "node by node\n");
        explain_whole_refusal(outer->text, state, indent + STEP);
    }
    if (state->whole != NULL) {
        explain_many(outer->text, &state->whole->many.fast, "evaluations in a row", indent + STEP);
        explain_many(outer->text, mdf_whole_series_form(state->whole), "evaluations in a row with inputs or records",
                     indent + STEP);
    }
    for (size_t i = 0; i < state->program->n_nodes; i++) {
        explain_node(&explanation, i, is_whole || is_inside, indent + STEP);
    }
    return !explanation.failed;
}

bool mdf_state_explain(struct mdf_text *text, const struct mdf_state *state)
{
    struct mdf_arena arena;
    struct explanation explanation = {.text = text, .arena = &arena, .state = state};
    bool done;

    if (!state->shared->has_begun) {
        mdf_text_append_string(text, "it has not been evaluated\n");
        return !text->failed;
    }
    mdf_arena_init(&arena, text->memory);
    done = explain_graph(&explanation, state, false, 0);
    mdf_arena_release(&arena);
    return done && !text->failed;
}

bool mdf_sweep_explain(struct mdf_text *text, const struct mdf_sweep *sweep)
{
    size_t n_lanes = mdf_sweep_count_lanes(sweep);

    if (sweep->has_lanes) {
        mdf_text_printf(text, "sweep: %zu instances side by side\n", n_lanes);
    } else {
        mdf_text_append_string(text, "sweep: instances one by one\n");
    }
    if (n_lanes == 1 && sweep->n_lanes != 1 && !sweep->program->is_plain) {
        mdf_text_printf(text, "%*sbecause there is too little to do\n", STEP, "");
    }
    write_refusal(text, &sweep->refusal, STEP);
    return !text->failed;
}
