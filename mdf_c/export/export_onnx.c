/* export_onnx.c - see export_onnx.h. The graph: its inputs, its nodes in their order, what is kept from one evaluation to the next,
 * its results. */
#include "mdf_c/export/exporter.h"

#include "mdf_c/run/state.h"

#include <math.h>
#include <string.h>

enum { GRAPH_INITIALIZER = 5, GRAPH_NAME = 2, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { MODEL_IR = 1, MODEL_PRODUCER = 2, MODEL_PRODUCER_VERSION = 3, MODEL_GRAPH = 7, MODEL_OPSET = 8, OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { OPSET_OF_EXPRESSIONS = 18, OPSET_OF_IDENTITY_OF_SEQUENCES = 14, MOST_DOMAINS = 8, MOST_TRIES = 5 };

/* ------------------------------------------------------------------ versions */

static void note_opsets(const struct mdf_code *code, int model_opset, int *opset, bool *has_calls)
{
    size_t i;

    for (i = 0; i < code->n_calls; i++) {
        const struct mdf_operator *row = code->calls[i].operator;
        const struct mdf_schema *schema = row->since > 0 ? mdf_schema_find("", row->name, model_opset) : NULL;

        if (schema != NULL) {
            *has_calls = true;
            *opset = schema->since > *opset ? schema->since : *opset;
        }
    }
    for (i = 0; i < code->n_bodies; i++) {
        note_opsets(code->bodies[i], model_opset, opset, has_calls);
    }
}

/* The model's, or that of an operator that is born later; where there is none of ONNX's, one that has all that expressions need. */
static int find_opset(const struct exporter *exporter)
{
    int opset = exporter->model->opset;
    bool has_calls = false;

    note_opsets(exporter->program->code, opset, &opset, &has_calls);
    return has_calls || opset > OPSET_OF_EXPRESSIONS ? opset : OPSET_OF_EXPRESSIONS;
}

static int ir_version(int opset)
{
    return opset <= 18 ? 8 : opset <= 20 ? 9 : opset <= 22 ? 10 : opset == 23 ? 11 : 12;
}

/* ------------------------------------------------------------------ inputs */

static void put_input(struct exporter *exporter, const char *name, const struct symbol *symbol, const struct mdf_value *value)
{
    struct mdf_text message;

    mdf_text_init(&message, exporter->memory);
    export_put_value(&message, name, symbol, true);
    onnx_put_message(&exporter->main->inputs, GRAPH_INPUT, &message);
    if (value != NULL) {
        onnx_put_tensor(&message, name, value);
        onnx_put_message(&exporter->initializers, GRAPH_INITIALIZER, &message);
    }
    mdf_text_release(&message);
}

static bool is_fed(const struct mdf_program *program, size_t port)
{
    size_t i;

    for (i = 0; i < program->n_edges && program->edges[i].port != port; i++) {
    }
    return i < program->n_edges;
}

/* What the graph calls the input: the name of its interface, else PORT, or NODE.PORT where several have that name. */
static const char *input_name(struct exporter *exporter, size_t index)
{
    const struct mdf_program *program = exporter->program;
    const struct mdf_program_port *port = &program->ports[index];
    size_t n_same = 0, i;

    if (port->input_name != NULL) {
        return port->input_name;
    }
    for (i = 0; i < program->n_ports; i++) {
        n_same += strcmp(program->ports[i].id, port->id) == 0 && !is_fed(program, i);
    }
    return n_same > 1 && port->node != SIZE_MAX
               ? mdf_arena_printf(&exporter->arena, "%s.%s", program->nodes[port->node].id, port->id)
               : port->id;
}

/* An input that several ports have is one. */
static const struct symbol *find_input(const struct exporter *exporter, size_t index, const char *name)
{
    size_t i;

    for (i = 0; i < index; i++) {
        const struct symbol *other = &exporter->environment->slots[MDF_OPERAND_INDEX(exporter->program->ports[i].slot)];

        if (!is_fed(exporter->program, i) && other->name != NULL && strcmp(other->name, name) == 0) {
            return other;
        }
    }
    return NULL;
}

static bool add_input(struct exporter *exporter, size_t index)
{
    const struct mdf_program_port *port = &exporter->program->ports[index];
    const struct mdf_declaration *declaration = &port->declaration;
    struct symbol *slot = &exporter->environment->slots[MDF_OPERAND_INDEX(port->slot)], constant, given;
    const char *name = input_name(exporter, index);
    const struct symbol *same = name != NULL ? find_input(exporter, index, name) : NULL;
    const struct mdf_value *value = NULL;
    size_t *number;

    exporter->at = &port->origin;
    if (name == NULL) {
        return export_out_of_memory(exporter);
    }
    if (same != NULL) {
        *slot = *same;
        return true;
    }
    if (declaration->type.optional || declaration->type.map) {
        return export_refuse(exporter, "an input that is optional, or an object");
    }
    *slot = (struct symbol){.kind = declaration->type.sequence ? SYMBOL_SEQUENCE : SYMBOL_TENSOR,
                            .dtype = declaration->type.dtype != MDF_DTYPE_NONE ? declaration->type.dtype : exporter->program->real,
                            .strength = declaration->type.exact ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL,
                            .has_shape = true, /* of what has none: one number */
                            .rank = declaration->has_shape ? declaration->rank : 0,
                            .shape = declaration->shape};
    if (port->default_value != MDF_NO_OPERAND) {
        const struct symbol *found = export_operand(exporter, exporter->environment, port->default_value, &constant);

        if (found == NULL || !export_declare(exporter, exporter->main, found, &declaration->type, &given) ||
            !export_as_array(exporter, exporter->main, &given, &constant)) {
            return false;
        }
        value = constant.constant;
        slot->dtype = constant.dtype;
        slot->strength = constant.strength;
        if (!declaration->has_shape) {
            slot->rank = constant.rank;
            slot->shape = constant.shape;
        }
    }
    number = name_table_add(&exporter->names, &exporter->arena, name);
    if (number == NULL) {
        return export_out_of_memory(exporter);
    }
    *number = 1;
    slot->name = name;
    put_input(exporter, name, slot, value);
    return true;
}

static bool add_inputs(struct exporter *exporter)
{
    size_t i;

    for (i = 0; i < exporter->program->n_ports; i++) {
        if (!is_fed(exporter->program, i) && !add_input(exporter, i)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ states */

/* NODE.PARAMETER of a slot. */
static const char *name_state(struct exporter *exporter, size_t slot)
{
    const struct mdf_program *program = exporter->program;
    size_t i, j;

    for (i = 0; i < program->n_nodes; i++) {
        const struct mdf_program_parts *parts = &program->nodes[i].parts[MDF_PART_PARAMETER];

        for (j = 0; j < parts->n; j++) {
            if (parts->items[j].n_operands == 1 && parts->items[j].operands[0] == MDF_OPERAND(MDF_OPERAND_SLOT, slot)) {
                return export_name(exporter, mdf_arena_printf(&exporter->arena, "%s.%s", program->nodes[i].id, parts->items[j].id));
            }
        }
    }
    return export_name(exporter, "state");
}

/* The time increment: 0, which stands for none, unless it is given. */
static const struct symbol *add_increment(struct exporter *exporter, struct symbol *slot)
{
    struct symbol zero;
    const char *name = export_name(exporter, "dt");

    if (name == NULL || !symbol_of_real(exporter, 0, exporter->program->real, &zero)) {
        return NULL;
    }
    *slot = zero;
    slot->name = name;
    slot->constant = NULL;
    slot->strength = MDF_STRENGTH_PYTHON;
    put_input(exporter, name, slot, zero.constant);
    return slot;
}

const struct symbol *export_state(struct exporter *exporter, size_t index)
{
    struct symbol *slot = &exporter->environment->slots[index], initial = exporter->first->slots[index], array;
    struct exported_state *state = &exporter->states[exporter->n_states];

    if (index == 0) {
        return add_increment(exporter, slot);
    }
    if (initial.kind == SYMBOL_UNKNOWN || !export_as_array(exporter, exporter->main, &initial, &array)) {
        export_refuse(exporter, "a value of the evaluation before is read, which has no initial value");
        return NULL;
    }
    if (array.constant == NULL || array.kind != SYMBOL_TENSOR) {
        export_refuse(exporter, "a state whose initial value is computed from inputs");
        return NULL;
    }
    if (exporter->state_types[index] != MDF_DTYPE_NONE) {
        initial = array;
        if (!export_cast(exporter, exporter->main, &initial, exporter->state_types[index], &array)) {
            return NULL;
        }
    }
    *state = (struct exported_state){index, name_state(exporter, index), array.dtype};
    if (state->name == NULL) {
        return NULL;
    }
    *slot = array;
    slot->name = state->name;
    slot->constant = NULL;
    put_input(exporter, state->name, slot, array.constant);
    exporter->n_states++;
    return slot;
}

/* ------------------------------------------------------------------ outputs */

/* A checker wants at least the rank of each output: where it is not known, that which is declared, or which the value has in an
 * evaluation. */
static bool find_rank(struct exporter *exporter, const struct mdf_declaration *declared, const struct mdf_value *value,
                      struct symbol *symbol)
{
    int64_t *shape;
    size_t i;

    if (symbol->kind != SYMBOL_TENSOR) {
        return true;
    }
    if (symbol->dtype == MDF_DTYPE_NONE) {
        symbol->dtype = declared != NULL && declared->type.exact ? declared->type.dtype
                        : value != NULL && value->kind == MDF_KIND_TENSOR ? (mdf_dtype)value->dtype
                                                                          : MDF_DTYPE_NONE;
    }
    if (!symbol->has_shape && declared != NULL && declared->has_shape) {
        symbol->has_shape = true;
        symbol->rank = declared->rank;
        symbol->shape = declared->shape;
    }
    if (symbol->has_shape && symbol->dtype != MDF_DTYPE_NONE) {
        return true;
    }
    if (value == NULL || value->kind != MDF_KIND_TENSOR || symbol->dtype == MDF_DTYPE_NONE) {
        return export_refuse(exporter, "type or number of axes of a result is not known: declare them");
    }
    shape = mdf_arena_array(&exporter->arena, value->rank, sizeof *shape);
    for (i = 0; shape != NULL && i < value->rank; i++) {
        shape[i] = -1;
    }
    symbol->has_shape = true;
    symbol->rank = value->rank;
    symbol->shape = shape;
    return shape != NULL || export_out_of_memory(exporter);
}

/* `value`: what it has been in an evaluation; NULL: that is not known. */
static bool put_output(struct exporter *exporter, const char *wanted, const struct symbol *symbol,
                       const struct mdf_declaration *declared, const struct mdf_value *value)
{
    const char *name = export_name(exporter, wanted), *source;
    struct mdf_text message;
    struct symbol array;
    bool done;

    if (name == NULL || !export_as_array(exporter, exporter->main, symbol, &array) || !find_rank(exporter, declared, value, &array)) {
        return false;
    }
    if (array.kind != SYMBOL_TENSOR && array.kind != SYMBOL_SEQUENCE) {
        return export_refuse(exporter, "the result '%s' is nothing that ONNX has", wanted);
    }
    if (array.kind == SYMBOL_SEQUENCE && exporter->opset < OPSET_OF_IDENTITY_OF_SEQUENCES) {
        return export_refuse(exporter, "the result '%s' is a sequence, for which opset %d or later is needed", wanted,
                             OPSET_OF_IDENTITY_OF_SEQUENCES);
    }
    source = symbol_name(exporter, &array);
    done = source != NULL && export_node(exporter, exporter->main, "", "Identity", &source, 1, &name, 1, NULL);
    mdf_text_init(&message, exporter->memory);
    export_put_value(&message, name, &array, true);
    onnx_put_message(&exporter->main->outputs, GRAPH_OUTPUT, &message);
    mdf_text_release(&message);
    return done;
}

/* What the graph's interface declares of a result; NULL: nothing. */
static const struct mdf_declaration *declaration_of(const struct exporter *exporter, size_t result)
{
    const struct mdf_graph *graph = mdf_model_find_graph(exporter->model, exporter->program->graph_id);

    return graph != NULL && graph->declares_outputs && result < graph->n_outputs ? &graph->outputs[result].declaration : NULL;
}

static bool add_results(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;
    size_t i;

    exporter->at = NULL;
    for (i = 0; i < program->n_results; i++) {
        const struct mdf_program_result *result = &program->results[i];
        mdf_operand operand = result->output == SIZE_MAX ? program->ports[result->node].slot
                                                         : program->nodes[result->node].outputs[result->output].operand;
        struct symbol constant;
        const struct symbol *symbol = export_operand(exporter, exporter->environment, operand, &constant);

        if (symbol == NULL || !put_output(exporter, result->name, symbol, declaration_of(exporter, i), exporter->state != NULL ? mdf_state_result(exporter->state, i) : NULL)) {
            return false;
        }
    }
    return program->n_results > 0 || export_refuse(exporter, "the graph yields nothing");
}

static bool has_shape_of(const struct symbol *a, const struct symbol *b)
{
    return b->kind != SYMBOL_TENSOR || !b->has_shape ||
           (a->rank == b->rank && (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0));
}

/* What a state is in the next evaluation. *is_settled: of the type that it is now. */
static bool add_next_states(struct exporter *exporter, mdf_dtype *types, bool *is_settled)
{
    size_t i;

    *is_settled = true;
    for (i = 0; i < exporter->n_states; i++) {
        const struct exported_state *state = &exporter->states[i];
        struct symbol next, now = {.kind = SYMBOL_TENSOR, .dtype = state->dtype}, cast;

        if (!export_as_array(exporter, exporter->main, &exporter->environment->slots[state->slot], &next)) {
            return false;
        }
        if (next.has_shape && !has_shape_of(&next, &exporter->first->slots[state->slot])) {
            return export_refuse(exporter, "the state '%s' changes its shape", state->name);
        }
        now.strength = next.strength;
        if (next.dtype != state->dtype) {
            mdf_dtype common = export_common_type(exporter, &now, &next);

            if (common == MDF_DTYPE_NONE) {
                return export_refuse(exporter, "the state '%s' changes its type", state->name);
            }
            *is_settled = *is_settled && common == state->dtype;
            types[state->slot] = common;
        }
        if (!export_cast(exporter, exporter->main, &next, types[state->slot] != MDF_DTYPE_NONE ? types[state->slot] : next.dtype, &cast) ||
            !put_output(exporter, mdf_arena_printf(&exporter->arena, "%s.next", state->name), &cast, NULL,
                        exporter->state != NULL
                            ? mdf_frame_value(exporter->state->frame, MDF_OPERAND(MDF_OPERAND_SLOT, state->slot))
                            : NULL)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

static bool arrive(struct exporter *exporter, size_t index, const struct symbol *value, bool *has_value)
{
    const struct mdf_program_port *port = &exporter->program->ports[index];
    struct environment *environment = exporter->environment;
    struct symbol declared;

    exporter->at = &port->origin;
    if (!export_declare(exporter, environment->graph, value, &port->declaration.type, &declared)) {
        return false;
    }
    if (*has_value && port->reduce != MDF_REDUCE_OVERWRITE) {
        environment->slots[MDF_OPERAND_INDEX(port->arriving)] = declared;
        return export_instructions(exporter, environment, port->combine.first, port->combine.end);
    }
    *has_value = true;
    environment->slots[MDF_OPERAND_INDEX(port->slot)] = declared;
    return true;
}

/* What edges bring to a node. */
static bool take(struct exporter *exporter, size_t index, const bool *has_run)
{
    const struct mdf_program *program = exporter->program;
    const struct mdf_program_node *node = &program->nodes[index];
    bool *has_value = mdf_arena_array(&exporter->arena, program->n_ports, sizeof *has_value);
    size_t i;

    if (has_value == NULL) {
        return export_out_of_memory(exporter);
    }
    for (i = 0; i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->edges[node->edges[i]];
        struct symbol constant;
        const struct symbol *value;

        exporter->at = &program->ports[edge->port].origin;
        if (!has_run[edge->sender]) {
            return export_refuse(exporter, "an edge from node '%s', which runs later, brings the value of the evaluation before",
                                 program->nodes[edge->sender].id);
        }
        if (!export_instructions(exporter, exporter->environment, edge->weigh.first, edge->weigh.end)) {
            return false;
        }
        value = export_operand(exporter, exporter->environment, edge->value, &constant);
        if (value == NULL || !arrive(exporter, edge->port, value, &has_value[edge->port])) {
            return false;
        }
    }
    return true;
}

/* Initial values are looked for among what is known before the first evaluation. */
static bool find_initial_values(struct exporter *exporter, const struct mdf_program_node *node)
{
    struct environment *first = exporter->first;
    size_t i;
    bool done;

    for (i = 0; i < first->code->n_slots; i++) {
        if (exporter->environment->slots[i].kind != SYMBOL_UNKNOWN && first->slots[i].kind == SYMBOL_UNKNOWN) {
            first->slots[i] = exporter->environment->slots[i];
        }
    }
    exporter->is_first_run = true;
    done = export_instructions(exporter, first, node->initial, node->main);
    exporter->is_first_run = false;
    return done;
}

static bool add_node(struct exporter *exporter, size_t index, const bool *has_run)
{
    const struct mdf_program_node *node = &exporter->program->nodes[index];
    struct environment *environment = exporter->environment;

    if (node->finished != MDF_NO_OPERAND) {
        exporter->at = NULL;
        return export_refuse(exporter, "node '%s' runs until it is finished", node->id);
    }
    return take(exporter, index, has_run) && export_instructions(exporter, environment, node->first, node->reset) &&
           export_instructions(exporter, environment, node->reset, node->initial) && find_initial_values(exporter, node) &&
           export_instructions(exporter, environment, node->main, node->end);
}

/* ------------------------------------------------------------------ conditions that always hold */

enum truth { NEVER, ALWAYS, SOMETIMES };

/* The number of runs of a node in this evaluation, when its one pass has come to some node. */
static enum truth compare(double count, const struct mdf_condition *condition)
{
    double n = condition->n;

    switch ((enum mdf_comparison)condition->comparison) {
    case MDF_COMPARISON_LESS:
        return count < n;
    case MDF_COMPARISON_AT_MOST:
        return count <= n;
    case MDF_COMPARISON_EQUAL:
        return count == n;
    case MDF_COMPARISON_NOT_EQUAL:
        return count != n;
    case MDF_COMPARISON_GREATER:
        return count > n;
    case MDF_COMPARISON_AT_LEAST:
        return count >= n;
    case MDF_COMPARISON_MULTIPLE:
        return n == 1 ? ALWAYS : SOMETIMES;
    }
    return SOMETIMES;
}

static enum truth holds(const struct mdf_schedule *schedule, size_t at, const bool *has_run, size_t n_nodes)
{
    const struct mdf_condition *condition = &schedule->conditions[at];
    enum truth part, all = ALWAYS, any = NEVER;
    size_t i;

    switch ((enum mdf_condition_kind)condition->kind) {
    case MDF_CONDITION_CONSTANT:
        return condition->n != 0 ? ALWAYS : NEVER;
    case MDF_CONDITION_ALL:
    case MDF_CONDITION_ANY:
        for (i = at + 1; i < condition->end; i = schedule->conditions[i].end) {
            part = holds(schedule, i, has_run, n_nodes);
            all = part == NEVER || all == NEVER ? NEVER : part == SOMETIMES ? SOMETIMES : all;
            any = part == ALWAYS || any == ALWAYS ? ALWAYS : part == SOMETIMES ? SOMETIMES : any;
        }
        return condition->kind == MDF_CONDITION_ALL ? all : any;
    case MDF_CONDITION_NOT:
        part = holds(schedule, at + 1, has_run, n_nodes);
        return part == SOMETIMES ? SOMETIMES : part == ALWAYS ? NEVER : ALWAYS;
    case MDF_CONDITION_CALLS:
        return condition->scope == MDF_SCOPE_LIFE ? SOMETIMES : compare(has_run[condition->index], condition);
    case MDF_CONDITION_USABLE_CALLS:
        return compare(has_run[schedule->usables[condition->index].dependency], condition);
    case MDF_CONDITION_CLOCK:
        return condition->scope == MDF_CLOCK_PASSES_IN_UPDATE ? compare(0, condition) : SOMETIMES;
    case MDF_CONDITION_ALL_HAVE_RUN:
        for (i = 0; i < n_nodes; i++) {
            all = has_run[i] ? all : NEVER;
        }
        return condition->scope == MDF_SCOPE_LIFE ? SOMETIMES : all;
    case MDF_CONDITION_HAVE_RUN:
        for (i = 0; i < condition->n_items; i++) {
            all = has_run[schedule->node_lists[condition->index + i]] ? all : NEVER;
        }
        return condition->scope == MDF_SCOPE_LIFE ? SOMETIMES : all;
    case MDF_CONDITION_N_WHEN:
    case MDF_CONDITION_CALLS_SUM:
    case MDF_CONDITION_JUST_RAN:
    case MDF_CONDITION_TIME:
    case MDF_CONDITION_THRESHOLD:
    case MDF_CONDITION_FINISHED_ANY:
    case MDF_CONDITION_FINISHED_ALL:
        return SOMETIMES;
    }
    return SOMETIMES;
}

static bool check_condition(struct exporter *exporter, size_t condition, const char *what, const char *id, const bool *has_run)
{
    const struct mdf_schedule *schedule = exporter->program->schedule;

    if (schedule == NULL || holds(schedule, condition, has_run, exporter->program->n_nodes) == ALWAYS) {
        return true;
    }
    exporter->at = &exporter->program->code->origins[schedule->conditions[condition].origin];
    return export_refuse(exporter, "%s%s%s has a condition that does not hold once in each evaluation", what, id[0] != '\0' ? " " : "", id);
}

/* ------------------------------------------------------------------ the whole */

static bool add_nodes(struct exporter *exporter)
{
    const struct mdf_program *program = exporter->program;
    bool *has_run = mdf_arena_array(&exporter->arena, program->n_nodes, sizeof *has_run);
    size_t i, j;

    if (has_run == NULL) {
        return export_out_of_memory(exporter);
    }
    for (i = 0; i < program->n_layers; i++) {
        for (j = 0; j < program->layers[i].n_nodes; j++) {
            size_t node = program->layers[i].nodes[j];

            if (!check_condition(exporter, program->schedule != NULL ? program->schedule->nodes[node].condition : 0, "node",
                                 program->nodes[node].id, has_run) ||
                !add_node(exporter, node, has_run)) {
                return false;
            }
            has_run[node] = true;
        }
    }
    return check_condition(exporter, program->schedule != NULL ? program->schedule->end_of_update : 0, "the end of an evaluation", "",
                           has_run);
}

static bool build(struct exporter *exporter, mdf_dtype *types, bool *is_settled)
{
    exporter->main = export_begin_graph(exporter, NULL, exporter->program->graph_id);
    exporter->environment = export_environment(exporter, exporter->program->code, NULL, exporter->main);
    exporter->first = export_environment(exporter, exporter->program->code, NULL, exporter->main);
    exporter->states = mdf_arena_array(&exporter->arena, exporter->program->code->n_slots, sizeof *exporter->states);
    exporter->domain_names = mdf_arena_array(&exporter->arena, MOST_DOMAINS, sizeof *exporter->domain_names);
    if (exporter->main == NULL || exporter->environment == NULL || exporter->first == NULL || exporter->states == NULL ||
        exporter->domain_names == NULL) {
        return export_out_of_memory(exporter);
    }
    return add_inputs(exporter) && add_nodes(exporter) && add_results(exporter) &&
           add_next_states(exporter, types, is_settled);
}

static void put_opset(struct mdf_text *bytes, const char *domain, int64_t version)
{
    struct mdf_text opset;

    mdf_text_init(&opset, bytes->memory);
    onnx_put_string(&opset, OPSET_DOMAIN, domain);
    onnx_put_integer(&opset, OPSET_VERSION, version);
    onnx_put_message(bytes, MODEL_OPSET, &opset);
    mdf_text_release(&opset);
}

static void put_model(struct exporter *exporter, struct mdf_text *bytes)
{
    struct mdf_text graph;
    size_t i;

    mdf_text_init(&graph, exporter->memory);
    export_end_graph(exporter, exporter->main, &graph);
    mdf_text_append(&graph, exporter->initializers.bytes, exporter->initializers.length);
    graph.failed |= exporter->initializers.failed;
    onnx_put_integer(bytes, MODEL_IR, ir_version(exporter->opset));
    onnx_put_string(bytes, MODEL_PRODUCER, "mdf_c");
    onnx_put_string(bytes, MODEL_PRODUCER_VERSION, MDF_VERSION);
    onnx_put_message(bytes, MODEL_GRAPH, &graph);
    put_opset(bytes, "", exporter->opset);
    for (i = 0; i < exporter->n_domains; i++) {
        put_opset(bytes, exporter->domain_names[i], (int64_t)*name_table_find(&exporter->domains, exporter->domain_names[i]));
    }
    mdf_text_release(&graph);
}

static void begin(struct exporter *exporter, const struct mdf_model *model, const struct mdf_program *program,
                  struct mdf_memory *memory, const mdf_dtype *types, mdf_error *error)
{
    *exporter = (struct exporter){.model = model, .program = program, .memory = memory, .error = error, .state_types = types};
    mdf_arena_init(&exporter->arena, memory);
    mdf_text_init(&exporter->initializers, memory);
    exporter->context.memory = memory;
    exporter->context.real = program->real;
    exporter->context.n_threads = 1;
    exporter->opset = find_opset(exporter);
}

static void end(struct exporter *exporter)
{
    struct onnx_graph *graph;
    size_t i;

    for (graph = exporter->graphs; graph != NULL; graph = graph->next) {
        mdf_text_release(&graph->nodes);
        mdf_text_release(&graph->inputs);
        mdf_text_release(&graph->outputs);
    }
    for (i = 0; i < exporter->n_made; i++) {
        mdf_value_clear(exporter->memory, exporter->made[i]);
    }
    mdf_memory_release(exporter->memory, exporter->made);
    mdf_memory_release(exporter->memory, exporter->written);
    mdf_memory_release(exporter->memory, exporter->written_names);
    mdf_text_release(&exporter->initializers);
    mdf_arena_release(&exporter->arena);
}

/* Gives ones to the inputs that must be given. */
static bool give_ones(struct mdf_state *state, struct mdf_memory *memory)
{
    const struct mdf_program *program = state->program;
    bool done = true;
    size_t i, j;

    for (i = 0; i < program->n_ports && done; i++) {
        const struct mdf_declaration *declaration = &program->ports[i].declaration;
        mdf_dtype dtype = declaration->type.dtype != MDF_DTYPE_NONE ? declaration->type.dtype : program->real;
        int64_t *shape = mdf_memory_allocate_zeroed(memory, declaration->rank + 1, sizeof *shape);
        struct mdf_value ones = {0}, one = {0}, real = {0};
        char *elements;

        if (!program->ports[i].is_required || declaration->type.sequence || declaration->type.optional || declaration->type.map ||
            dtype == MDF_DTYPE_STRING) {
            mdf_memory_release(memory, shape);
            continue;
        }
        for (j = 0; shape != NULL && j < declaration->rank && declaration->has_shape; j++) {
            shape[j] = declaration->shape[j] < 0 ? 1 : declaration->shape[j];
        }
        elements = shape != NULL ? mdf_value_make_tensor(memory, &ones, dtype, declaration->has_shape ? declaration->rank : 0, shape) : NULL;
        done = elements != NULL && mdf_value_make_double(memory, &real, 1) && mdf_value_convert(memory, &one, &real, dtype);
        for (j = 0; done && j < ones.length; j++) {
            memcpy(elements + j * mdf_dtype_size(dtype), one.data, mdf_dtype_size(dtype));
        }
        done = done && mdf_state_set_port(state, i, &ones);
        mdf_value_clear(memory, &ones);
        mdf_value_clear(memory, &one);
        mdf_value_clear(memory, &real);
        mdf_memory_release(memory, shape);
    }
    return done;
}

/* The model as it runs without inputs but those that it must have; NULL: it does not. */
static struct mdf_state *evaluate(const struct mdf_program *program, struct mdf_memory *memory)
{
    struct mdf_state *state = mdf_state_create(program, NULL);

    if (state != NULL && (!give_ones(state, memory) || mdf_state_evaluate(state, NAN, NULL) != MDF_OK)) {
        mdf_state_release(state);
        state = NULL;
    }
    return state;
}

/* A state may begin as a whole number and go on as a real one: then it is a real one from the beginning, and all is done again. */
mdf_status mdf_export_onnx(const struct mdf_model *model, const struct mdf_program *program, struct mdf_text *bytes,
                           mdf_error *error)
{
    struct mdf_memory *memory = bytes->memory;
    mdf_dtype *types = mdf_memory_allocate_zeroed(memory, program->code->n_slots + 1, sizeof *types);
    struct mdf_state *state = evaluate(program, memory);
    bool is_settled = false, done = types != NULL;
    mdf_error own = {0};
    size_t tries, i;

    for (i = 0; types != NULL && i <= program->code->n_slots; i++) {
        types[i] = MDF_DTYPE_NONE;
    }
    for (tries = 0; done && !is_settled && tries < MOST_TRIES; tries++) {
        struct exporter exporter;

        begin(&exporter, model, program, memory, types, &own);
        exporter.state = state;
        done = build(&exporter, types, &is_settled);
        if (done && is_settled) {
            put_model(&exporter, bytes);
        }
        end(&exporter);
    }
    mdf_state_release(state);
    mdf_memory_release(memory, types);
    if (types == NULL || bytes->failed) {
        return mdf_memory_error(memory, error);
    }
    if (done && !is_settled) {
        mdf_error_set(&own, MDF_UNSUPPORTED, "this can not be written as ONNX: the types of its states do not settle");
    }
    if (own.code != MDF_OK && error != NULL && error->code == MDF_OK) {
        *error = own;
    }
    return own.code;
}
