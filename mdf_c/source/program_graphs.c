/* program_graphs.c - graphs within nodes as C. All graphs share one state and one `s`: slots have names of their own, and what
 * each graph has by the same name (counts, flags of ports, functions of its order) gets the graph's prefix, once its text is
 * there. A node runs its graph between its parameters and its output ports, as state.c does. See docs/nested_graphs.md. */
#include "mdf_c/source/program_writer.h"

#include <string.h>

/* ------------------------------------------------------------------ all graphs */

static bool add_graph(struct mdf_source_program *program, struct mdf_state *state, size_t outer)
{
    struct mdf_arena *arena = &program->writer.arena;
    struct mdf_source_graph *grown = mdf_arena_array(arena, program->n_graphs + 1, sizeof *grown), *added;
    size_t n_nodes = state->program->n_nodes, own;

    if (grown == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    if (program->n_graphs > 0) {
        memcpy(grown, program->graphs, program->n_graphs * sizeof *grown);
    }
    program->graphs = grown;
    own = program->n_graphs++;
    added = &grown[own];
    *added = (struct mdf_source_graph){.program = state->program,
                                       .state = state,
                                       .outer = outer,
                                       .prefix = own == 0 ? "" : mdf_source_text(&program->writer, "graph_%zu_", own)};
    added->node_functions = mdf_arena_array(arena, n_nodes + 1, sizeof *added->node_functions);
    added->take_functions = mdf_arena_array(arena, n_nodes + 1, sizeof *added->take_functions);
    return (added->node_functions != NULL && added->take_functions != NULL) || mdf_source_out_of_memory(&program->writer);
}

/* The state of the graph that an instruction runs; NULL: it runs none. */
static struct mdf_state *state_at(const struct mdf_state *state, size_t instruction)
{
    const struct mdf_instruction *at = &state->program->code->instructions[instruction];
    const struct mdf_frame *frame = at->opcode == MDF_OPCODE_GRAPH ? mdf_frame_of_body(state->frame, at->target) : NULL;
    struct mdf_state *nested = state->shared->nested;

    while (nested != NULL && nested->frame != frame) {
        nested = nested->next;
    }
    return nested;
}

bool mdf_source_find_graphs(struct mdf_source_program *program, struct mdf_state *state)
{
    if (!add_graph(program, state, 0)) {
        return false;
    }
    for (size_t own = 0; own < program->n_graphs; own++) {
        struct mdf_state *around = program->graphs[own].state;

        for (size_t i = 0; i < around->program->code->n_instructions; i++) {
            struct mdf_state *within = state_at(around, i);

            if (within != NULL && !add_graph(program, within, own)) {
                return false;
            }
        }
    }
    program->graph = program->graphs;
    return true;
}

struct mdf_source_graph *mdf_source_graph_of(const struct mdf_source_program *program, const struct mdf_value *value)
{
    for (size_t i = 0; i < program->n_graphs; i++) {
        struct mdf_source_graph *graph = &program->graphs[i];

        if (value >= graph->values && value < graph->values + graph->program->code->n_slots) {
            return graph;
        }
    }
    return NULL;
}

/* The graph within a node of the graph at hand, by the instruction that runs it. */
static struct mdf_source_graph *graph_at(struct mdf_source_program *program, size_t instruction)
{
    const struct mdf_state *state = state_at(program->graph->state, instruction);

    for (size_t i = 0; state != NULL && i < program->n_graphs; i++) {
        if (program->graphs[i].state == state) {
            return &program->graphs[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ where a node runs it */

/* The instructions [at, end) of a node that run the graph within it, and take what it yields; at == end: there is none. */
static struct mdf_range find_run(const struct mdf_program *program, const struct mdf_program_node *node)
{
    const struct mdf_instruction *instructions = program->code->instructions;
    struct mdf_range range = {node->end, node->end};

    for (size_t i = node->main; node->has_graph && i < node->end && range.first == node->end; i++) {
        if (instructions[i].opcode == MDF_OPCODE_GRAPH) {
            range.first = i;
            for (range.end = i + 1; range.end < node->end && instructions[range.end].opcode == MDF_OPCODE_YIELD; range.end++) {
            }
        }
    }
    return range;
}

size_t mdf_source_ranges_before(const struct mdf_program *program, const struct mdf_program_node *node, bool is_first,
                                struct mdf_lowering_range ranges[2])
{
    size_t n = mdf_source_node_ranges(node, is_first, ranges);

    ranges[n - 1].end = find_run(program, node).first;
    return n;
}

struct mdf_lowering_range mdf_source_range_behind(const struct mdf_program *program, const struct mdf_program_node *node)
{
    return (struct mdf_lowering_range){find_run(program, node).end, node->end};
}

/* The inner node whose output port is `operand` of its graph; SIZE_MAX: none is, or it holds something from the start. */
static size_t find_maker(const struct mdf_source_graph *graph, mdf_operand operand)
{
    for (size_t i = 0; i < graph->program->n_nodes; i++) {
        for (size_t j = 0; j < graph->program->nodes[i].n_outputs; j++) {
            if (graph->program->nodes[i].outputs[j].operand == operand &&
                graph->program->nodes[i].outputs[j].initial == MDF_NO_OPERAND) {
                return i;
            }
        }
    }
    return SIZE_MAX;
}

/* The slot of the node gets what the graph within it yields. */
static bool write_yield(struct mdf_source_program *program, struct mdf_source_graph *within,
                        const struct mdf_instruction *instruction)
{
    const struct mdf_source_slot *to = mdf_source_find_operand(program, instruction->a), *from;
    mdf_operand operand = within->program->code->yields[instruction->c];
    struct mdf_source_graph *around = program->graph;
    struct mdf_source_writer *writer = &program->writer;
    size_t maker = find_maker(within, operand);

    if (to == NULL) {
        return true;
    }
    program->graph = within;
    from = mdf_source_find_operand(program, operand);
    program->graph = around;
    if (from == NULL || from->length != to->length || from->dtype != to->dtype) {
        return mdf_source_refuse(
            writer, "what the graph within the node yields is not always there, or not always of one type and shape");
    }
    if (maker != SIZE_MAX) {
        mdf_source_bail_out_if(
            writer, mdf_source_text(writer, "!s->%shas_run[%zu]", within->prefix, maker),
            mdf_source_text(writer, "node '%s' of the graph within it has not run yet", within->program->nodes[maker].id));
    }
    mdf_source_copy(program, to, from);
    return true;
}

bool mdf_source_write_nested_run(struct mdf_source_program *program, const struct mdf_program_node *node)
{
    struct mdf_range range = find_run(program->graph->program, node);
    struct mdf_source_graph *within = range.first < range.end ? graph_at(program, range.first) : NULL;
    struct mdf_source_writer *writer = &program->writer;
    static const char *const functions[] = {"take_from_node", "run_graph"};

    for (size_t i = 0; within != NULL && i < 2; i++) {
        mdf_source_open(writer, "%s", "");
        mdf_source_line(writer, "const char *message = %s%s(s);", within->prefix, functions[i]);
        mdf_source_blank(writer);
        mdf_source_open(writer, "if (message != NULL)");
        mdf_source_line(writer, "return message;");
        mdf_source_close(writer);
        mdf_source_close(writer);
    }
    for (size_t i = range.first + 1; within != NULL && i < range.end; i++) {
        if (!write_yield(program, within, &program->graph->program->code->instructions[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ what it takes from the node */

/* One port of the graph at hand, as take_from_node of state.c fills it. */
static bool write_taking(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_port *port = &program->graph->program->ports[index];
    const struct mdf_source_graph *around = &program->graphs[program->graph->outer];
    struct mdf_source_writer *writer = &program->writer;
    const struct mdf_source_slot *source = mdf_source_find_operand(program, port->source);
    const char *given = mdf_source_text(writer, "s->was_given_%zu[%zu]", program->graph->outer, port->outer_port),
               *fed = mdf_source_text(writer, "s->was_fed_%zu[%zu]", program->graph->outer, port->outer_port);

    mdf_source_at(writer, mdf_source_text(writer, "input port '%s'", port->id), &port->origin);
    if (port->is_required) {
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "!%s && !%s", given, fed), "the graph's input has no value");
        mdf_source_line(writer, "s->has_value[%zu] = false;", index);
        mdf_source_line(writer, "s->is_linked[%zu] = false;", index);
        return source == NULL || mdf_source_write_arrival(program, index, source);
    }
    mdf_source_line(writer,
                    around->program->ports[port->outer_port].holds ? "s->is_linked[%zu] = %s || %s;" : "s->is_linked[%zu] = %s;",
                    index, fed, given);
    mdf_source_open(writer, "if (%s && !s->is_linked[%zu])", given, index);
    if (source != NULL && !mdf_source_write_arrival(program, index, source)) {
        return false;
    }
    mdf_source_close(writer);
    return true;
}

static bool write_take_from_node(struct mdf_source_program *program)
{
    mdf_source_begin_function(program, "take_from_node");
    for (size_t i = 0; i < program->graph->program->n_ports; i++) {
        if (program->graph->program->ports[i].outer_port != SIZE_MAX && !write_taking(program, i)) {
            return false;
        }
    }
    mdf_source_end_function(program, "take_from_node", "What came from outside to the node goes to the graph within it.");
    return true;
}

/* ------------------------------------------------------------------ names with the graph's prefix */

/* What each graph has of its own: fields, and functions. */
static const char *const own_names[] = {
    "has_run",     "has_value",     "is_linked", "counts",         "n_have_run",     "marks",   "spent",
    "last_sets",   "n_sets",        "clocks",    "n_idle",         "tick",           "in_set",  "has_changed",
    "count_run",   "open_set",      "end_set",   "run_pass",       "run_graph",      "is_over", "is_steady",
    "ends_update", "ends_sequence", "observe",   "take_from_node", "run_known_order"};

static bool is_own_name(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) {
        if (strlen(own_names[i]) == length && memcmp(own_names[i], word, length) == 0) {
            return true;
        }
    }
    return length > 10 && memcmp(word, "run_layer_", 10) == 0;
}

void mdf_source_take_graph_names(struct mdf_source_program *program)
{
    struct mdf_source_writer *writer = &program->writer;

    for (size_t own = 0; own < program->n_graphs; own++) {
        const struct mdf_source_graph *graph = &program->graphs[own];

        for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) {
            mdf_source_take_name(writer, &writer->globals, mdf_source_text(writer, "%s%s", graph->prefix, own_names[i]));
            mdf_source_take_name(writer, &program->members, mdf_source_text(writer, "%s%s", graph->prefix, own_names[i]));
        }
        for (size_t i = 0; i < graph->program->n_layers; i++) {
            mdf_source_take_name(writer, &writer->globals, mdf_source_text(writer, "%srun_layer_%zu", graph->prefix, i));
        }
        mdf_source_take_name(writer, &program->members, mdf_source_text(writer, "was_given_%zu", own));
        mdf_source_take_name(writer, &program->members, mdf_source_text(writer, "was_fed_%zu", own));
    }
}

/* The length of what is left as it stands: a comment, a literal; else 0. */
static size_t skipped(const char *text)
{
    const char *end;

    if (text[0] == '/' && text[1] == '*') {
        for (end = text + 2; *end != '\0' && (end[0] != '*' || end[1] != '/'); end++) {
        }
        return (size_t)(end - text) + (*end != '\0' ? 2 : 0);
    }
    if (text[0] == '"') {
        for (end = text + 1; *end != '\0' && *end != '"'; end += end[0] == '\\' && end[1] != '\0' ? 2 : 1) {
        }
        return (size_t)(end - text) + (*end == '"');
    }
    return 0;
}

/* Appends a text with the prefix in front of these names; no other identifier of generated code is one of them. */
static void append_prefixed(struct mdf_text *target, const struct mdf_text *text, const char *prefix)
{
    const char *at = text->bytes != NULL && prefix[0] != '\0' ? text->bytes : "";
    size_t length;

    if (prefix[0] == '\0' && text->length > 0) {
        mdf_text_append(target, text->bytes, text->length);
    }
    for (; *at != '\0'; at += length) {
        length = skipped(at);
        if (length == 0 && mdf_is_in_identifier(*at)) {
            for (length = 1; mdf_is_in_identifier(at[length]); length++) {
            }
            if (is_own_name(at, length)) {
                mdf_text_append_string(target, prefix);
            }
        }
        length = length == 0 ? 1 : length;
        mdf_text_append(target, at, length);
    }
    target->failed = target->failed || text->failed;
}

/* ------------------------------------------------------------------ writing */

static void append_own_fields(struct mdf_source_program *program)
{
    size_t n_nodes = program->graph->program->n_nodes, n_ports = program->graph->program->n_ports;
    size_t own = (size_t)(program->graph - program->graphs);

    if (program->graph != program->graphs) {
        mdf_text_printf(&program->fields,
                        "\n    /* The graph within a node: '%s'. */\n    bool has_run[%zu], has_value[%zu], is_linked[%zu];\n",
                        mdf_source_comment(&program->writer, program->graph->program->graph_id), n_nodes + 1, n_ports + 1,
                        n_ports + 1);
    }
    if (program->n_graphs > 1) {
        mdf_text_printf(
            &program->fields,
            "    bool was_given_%zu[%zu], was_fed_%zu[%zu]; /* ports of nodes with graphs: from outside; by edges */\n", own,
            n_ports + 1, own, n_ports + 1);
    }
}

static bool write_own(struct mdf_source_program *program)
{
    append_own_fields(program);
    if (program->graph == program->graphs) {
        return mdf_source_write_nodes(program) && mdf_source_write_order(program);
    }
    mdf_text_printf(
        &program->functions,
        "/* Who runs in a graph within a node is not told. */\nstatic inline void observe(struct %s *s, size_t node, uint64_t "
        "pass, int64_t tick)\n{\n    (void)s, (void)node, (void)pass, (void)tick;\n}\n\n",
        program->name);
    return mdf_source_write_nodes(program) && mdf_source_write_order(program) && write_take_from_node(program);
}

/* The functions and fields of the graph at hand, with its prefix. */
static bool write_graph(struct mdf_source_program *program)
{
    struct mdf_text functions = program->functions, fields = program->fields;
    bool done;

    mdf_text_init(&program->functions, program->writer.memory);
    mdf_text_init(&program->fields, program->writer.memory);
    done = write_own(program);
    append_prefixed(&functions, &program->functions, program->graph->prefix);
    append_prefixed(&fields, &program->fields, program->graph->prefix);
    mdf_text_release(&program->functions);
    mdf_text_release(&program->fields);
    program->functions = functions;
    program->fields = fields;
    return done;
}

bool mdf_source_write_graphs(struct mdf_source_program *program)
{
    bool done = true;

    for (size_t i = program->n_graphs; done && i-- > 0;) {
        program->graph = &program->graphs[i];
        done = write_graph(program);
    }
    program->graph = program->graphs;
    return done;
}
