/* dump.c - see dump.h. Goes through all lowered forms that a state keeps: of the whole graph, of nodes, of Loops and Scans in
 * them, and of the graphs within nodes. */
#include "mdf_c/run/dump.h"

#include "mdf_c/lowered/print_lowered.h"
#include "mdf_c/plan/print_program.h"
#include "mdf_c/run/sweep/sweep_lanes.h"

struct dump {
    struct mdf_text *text;
    struct mdf_arena arena; /* of names */
    enum mdf_dump what;
    const struct mdf_state *state; /* of the graph */
    const struct mdf_sweep_lanes *lanes; /* NULL: of a single evaluation */
    const char **names;            /* of its slots */
    size_t n_forms;
    bool failed;
};

static void write_name(const void *context, struct mdf_text *text, const struct mdf_value *value)
{
    const struct dump *dump = context;
    const struct mdf_value *slots = mdf_frame_slot(dump->state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, 0));
    uintptr_t first = (uintptr_t)slots, at = (uintptr_t)value, end = (uintptr_t)(slots + dump->state->program->code->n_slots);
    size_t i;

    if (dump->lanes != NULL) {
        at = (uintptr_t)mdf_sweep_lanes_slot(dump->lanes, value);
    }
    if (at < first || at >= end) {
        mdf_text_append_string(text, "beside the graph's slots");
        return;
    }
    i = (at - first) / sizeof *slots;
    mdf_text_printf(text, "%%%zu", i);
    if (dump->names != NULL && dump->names[i] != NULL) {
        mdf_text_append_string(text, " '");
        mdf_text_append_visible(text, dump->names[i]);
        mdf_text_append_string(text, "'");
    }
}

/* Of something in the model, under a heading. */
static void dump_lowered(struct dump *dump, struct mdf_lowered *lowered, const char *kind, const char *name)
{
    const struct mdf_lowered_names names = {write_name, dump};

    mdf_text_printf(dump->text, "%s%s", dump->n_forms++ > 0 ? "\n" : "", kind);
    mdf_text_append_visible(dump->text, name);
    mdf_text_append_string(dump->text, "\n");
    if (dump->what == MDF_DUMP_LOWERED) {
        mdf_lowered_print(dump->text, lowered, &names);
    } else if (dump->what == MDF_DUMP_NESTS) {
        mdf_lowered_print_nests(dump->text, lowered);
    } else {
        dump->failed = !mdf_machine_code_print(dump->text, lowered) || dump->failed;
    }
}

static void dump_form(struct dump *dump, const struct mdf_fast *fast, const char *kind, const char *name)
{
    if (fast != NULL && fast->lowered != NULL) {
        dump_lowered(dump, fast->lowered, kind, name);
    }
}

static void dump_graph(struct dump *dump, const struct mdf_state *state);

/* Instructions [first, end) of a frame: Loops and Scans that are lowered by themselves, and those within bodies. */
static void dump_calls(struct dump *dump, const struct mdf_frame *frame, size_t first, size_t end)
{
    const struct mdf_code *code = mdf_frame_code(frame);

    for (size_t i = first; i < end; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];
        const struct mdf_code_call *call = &code->calls[instruction->target];

        for (size_t j = 0; instruction->opcode == MDF_OPCODE_CALL && j < call->n_bodies; j++) {
            const struct mdf_frame *body;

            if (j == 0) {
                dump_form(dump, mdf_frame_kept(frame, instruction->target), "a loop, ", code->origins[instruction->origin].path);
            }
            if (call->bodies[j] != UINT32_MAX) {
                body = mdf_frame_of_body(frame, call->bodies[j]);
                dump_calls(dump, body, 0, mdf_frame_code(body)->n_instructions);
            }
        }
        if (instruction->opcode == MDF_OPCODE_GRAPH) {
            const struct mdf_state *inner = mdf_state_of_frame(dump->state, mdf_frame_of_body(frame, instruction->target));

            if (inner != NULL) {
                dump_graph(dump, inner);
            }
        }
    }
}

static void dump_graph(struct dump *dump, const struct mdf_state *state)
{
    const struct mdf_program *program = state->program;
    const struct mdf_state *outer = dump->state;
    const char **names = dump->names;

    dump->state = state;
    dump->names = mdf_program_slot_names(program, &dump->arena);
    dump->failed = dump->names == NULL || dump->failed;
    if (state->whole != NULL) {
        dump_form(dump, &state->whole->single.fast, "an evaluation of graph ", program->graph_id);
        dump_form(dump, &state->whole->many.fast, "evaluations in a row of graph ", program->graph_id);
        if (mdf_whole_series_form(state->whole) != NULL) {
            dump_form(dump, mdf_whole_series_form(state->whole), "a series of evaluations of graph ", program->graph_id);
        }
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        if (state->nodes != NULL) {
            dump_form(dump, &state->nodes[i].fast, "node ", program->nodes[i].id);
        }
        dump_calls(dump, state->frame, program->nodes[i].first, program->nodes[i].end);
    }
    dump->state = outer;
    dump->names = names;
}

static bool dump_forms(struct mdf_text *text, const struct mdf_state *state, enum mdf_dump what)
{
    struct dump dump = {.text = text, .what = what};

    mdf_arena_init(&dump.arena, text->memory);
    dump_graph(&dump, state);
    if (dump.n_forms == 0) {
        mdf_text_append_string(text, "nothing is lowered: --explain says why\n");
    }
    mdf_arena_release(&dump.arena);
    return !dump.failed && !text->failed;
}

bool mdf_state_dump(struct mdf_text *text, const struct mdf_state *state, enum mdf_dump what)
{
    switch (what) {
    case MDF_DUMP_CODE:
        return mdf_program_print_code(text, state->program);
    case MDF_DUMP_SCHEDULE:
        return mdf_program_print_schedule(text, state->program);
    case MDF_DUMP_LOWERED:
    case MDF_DUMP_NESTS:
    case MDF_DUMP_MACHINE:
        return dump_forms(text, state, what);
    }
    return false;
}

const struct mdf_state *mdf_state_of_frame(const struct mdf_state *state, const struct mdf_frame *frame)
{
    const struct mdf_state *nested = state->shared->nested;

    while (nested != NULL && nested->frame != frame) {
        nested = nested->next;
    }
    return nested;
}

/* ------------------------------------------------------------------ instances side by side */

static void dump_lanes(void *context, const struct mdf_sweep_lanes *lanes, const struct mdf_state *state)
{
    static const char *const names[] = {"first evaluations", "second evaluations", "an evaluation", "evaluations in a row"};
    struct mdf_sweep_dump *asked = context;
    struct dump dump = {.text = asked->text, .what = asked->what, .state = state, .lanes = lanes};

    if (asked->has_forms) {
        return;
    }
    mdf_arena_init(&dump.arena, asked->text->memory);
    dump.names = mdf_program_slot_names(state->program, &dump.arena);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct mdf_lowered *wide = mdf_sweep_lanes_form(lanes, i);

        if (wide != NULL) {
            dump_lowered(&dump, wide, names[i], " of instances side by side");
        }
    }
    mdf_arena_release(&dump.arena);
    asked->has_forms = dump.n_forms > 0;
    asked->failed = asked->failed || dump.failed || dump.names == NULL || asked->text->failed;
}

void mdf_sweep_dump(struct mdf_sweep *sweep, struct mdf_sweep_dump *dump)
{
    sweep->look_at_lanes = dump_lanes;
    sweep->look_context = dump;
}
