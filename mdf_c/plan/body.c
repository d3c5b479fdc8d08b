/* body.c - the body graph of Scan, Loop or If as a unit of its own: its formal inputs, its captures, its yields.
 *
 * A body that declares its interface in metadata is taken at its word. One that does not is read in the one way that the
 * operator's counts and types leave; where they leave several, or none, the error says what to declare. */
#include "mdf_c/plan/compiler.h"

#include <stdio.h>
#include <string.h>

struct body_builder {
    struct target *outer;
    struct compiler *compiler;
    const struct body_request *request;
    struct mdf_graph graph;
    struct unit unit;
    struct graph_builder builder;
    struct list names;   /* const char *: formal inputs, in order */
    struct list formals; /* mdf_operand */
    struct list yields;  /* mdf_operand */
    struct list types;   /* struct mdf_static_type, of yields: what is known for sure */
    struct list hints;   /* the same, with what is declared only: for an output of no iterations */
    size_t n_needed;     /* formals that the operator calls for */
    struct list inputs;  /* struct chained_port: input ports of nodes */
    struct name_table first_inputs,
        first_outputs; /* the first of them, from 1, of a name; the first node that has such an output */
    struct open_graph open;
};

/* An input port of a node; the next one of its name, from 1, 0: none. */
struct chained_port {
    size_t node, port, next;
};

/* ------------------------------------------------------------------ which graph */

static bool unknown_graph(struct body_builder *body, const char *id)
{
    compile_error(body->compiler, MDF_NAME, "the model has no graph '%s'", id);
    mdf_error_suggest(body->compiler->error, mdf_model_nearest_graph(body->compiler->model, id));
    return false;
}

/* Whether the graph is being compiled: what stands in it stands in a body of itself. */
static bool is_open(const struct compiler *compiler, const struct mdf_node *source)
{
    const struct open_graph *open = compiler->open;

    while (open != NULL && open->source != source) {
        open = open->outer;
    }
    return open != NULL;
}

/* A graph, {ID: graph}, or the id of a graph of the model. */
static bool read_body(struct body_builder *body)
{
    const struct mdf_node *node = body->request->node, *found;
    const struct mdf_graph *graph;
    const char *id = body->request->attribute;
    struct compiler *compiler = body->compiler;

    if (node == NULL) {
        compile_error(compiler, MDF_MODEL, "onnx::%s needs the graph attribute '%s'", body->request->operator, id);
        return false;
    }
    if (node->kind == MDF_NODE_STRING) {
        graph = mdf_model_find_graph(compiler->model, node->as.string.bytes);
        if (graph == NULL) {
            return unknown_graph(body, node->as.string.bytes);
        }
        body->graph = *graph;
        return !is_open(compiler, graph->source) ||
               compile_error(compiler, MDF_MODEL, "graph '%s' uses itself as a body: it would never end", graph->id) !=
                   MDF_NO_OPERAND;
    }
    found = mdf_node_find_graph(node, &id);
    if (found == NULL) {
        struct place place = place_at(compiler, node);

        compile_error(compiler, MDF_MODEL,
                      "attribute '%s' must be a graph, an object {ID: graph}, or the id of a graph of the model",
                      body->request->attribute);
        place_leave(compiler, place);
        return false;
    }
    return mdf_model_read_graph(&compiler->scratch, compiler->model->document, &compiler->warnings, id, found, &body->graph,
                                compiler->error) == MDF_OK;
}

/* ------------------------------------------------------------------ formal inputs */

static bool is_fed(const struct body_builder *body, size_t node, size_t port)
{
    return graph_edges_into(&body->builder, node, port)->n > 0;
}

/* Finds ports by their names: those of all nodes that have one of that name are a chain, in document order. */
static bool chain_ports(struct body_builder *body)
{
    const struct mdf_graph *graph = &body->graph;
    struct compiler *compiler = body->compiler;

    for (size_t i = graph->n_nodes; i-- > 0;) {
        for (size_t j = graph->nodes[i].n_input_ports; j-- > 0;) {
            size_t *first = name_table_add(&body->first_inputs, &compiler->scratch, graph->nodes[i].input_ports[j].id);
            struct chained_port port = {i, j, first != NULL ? *first : 0};

            if (first == NULL || !list_add(compiler, &body->inputs, &port, sizeof port)) {
                compile_out_of_memory(compiler);
                return false;
            }
            *first = body->inputs.n;
        }
        for (size_t j = 0; j < graph->nodes[i].n_output_ports; j++) {
            size_t *first = name_table_add(&body->first_outputs, &compiler->scratch, graph->nodes[i].output_ports[j].id);

            if (first == NULL) {
                compile_out_of_memory(compiler);
                return false;
            }
            *first = i + 1;
        }
    }
    return true;
}

/* Names of unconnected ports in document order, each once; those that an outer name supplies only where `with_captured`. */
static bool infer_names(struct body_builder *body, bool with_captured, struct list *names)
{
    struct name_table listed = {0};
    struct outcome outcome;
    size_t *number;

    names->n = 0;
    for (size_t i = 0; i < body->graph.n_nodes; i++) {
        for (size_t j = 0; j < body->graph.nodes[i].n_input_ports; j++) {
            const struct mdf_input_port *port = &body->graph.nodes[i].input_ports[j];

            if (is_fed(body, i, j) || port->default_value != NULL || name_table_find(&listed, port->id) != NULL ||
                (!with_captured && scope_find(body->outer, port->id, &outcome))) {
                continue;
            }
            number = name_table_add(&listed, &body->compiler->scratch, port->id);
            if (number == NULL || !list_add(body->compiler, names, &port->id, sizeof port->id)) {
                compile_out_of_memory(body->compiler);
                return false;
            }
        }
    }
    return true;
}

/* The declared type of the first unconnected port of that name. */
static const struct mdf_declared_type *type_of_name(const struct body_builder *body, const char *name)
{
    for (size_t i = 0; i < body->graph.n_nodes; i++) {
        for (size_t j = 0; j < body->graph.nodes[i].n_input_ports; j++) {
            const struct mdf_input_port *port = &body->graph.nodes[i].input_ports[j];

            if (strcmp(port->id, name) == 0 && !is_fed(body, i, j)) {
                return &port->declaration.type;
            }
        }
    }
    return NULL;
}

/* Puts NULL for the iteration and condition inputs that a loop's body leaves out. False where that is not clear. */
static bool complete_names(struct body_builder *body, struct list *names)
{
    const char **items, *absent[2] = {NULL, NULL};
    const struct mdf_declared_type *type;
    struct list complete = {0};
    size_t n_absent = body->n_needed - names->n;
    bool condition_first;

    if (n_absent == 0) {
        return true;
    }
    if (!body->request->loop || n_absent > 2) {
        return false;
    }
    items = names->items;
    type = n_absent == 1 && names->n > 0 ? type_of_name(body, items[0]) : NULL;
    condition_first = type != NULL && type->dtype == MDF_DTYPE_BOOL;
    if (n_absent == 1 && (type == NULL || type->dtype == MDF_DTYPE_NONE || mdf_dtype_kind(type->dtype) == 'f')) {
        return false; /* is it the iteration or the condition that is there? */
    }
    if (n_absent == 2 || condition_first) {
        if (!list_add(body->compiler, &complete, &absent[0], sizeof absent[0])) {
            return false;
        }
    }
    for (size_t i = 0; i < names->n; i++) {
        if (n_absent == 1 && !condition_first && i == 1 && !list_add(body->compiler, &complete, &absent[0], sizeof absent[0])) {
            return false;
        }
        if (n_absent == 2 && i == 0 && !list_add(body->compiler, &complete, &absent[1], sizeof absent[1])) {
            return false;
        }
        if (!list_add(body->compiler, &complete, &items[i], sizeof items[i])) {
            return false;
        }
    }
    while (complete.n < body->n_needed) {
        if (!list_add(body->compiler, &complete, &absent[0], sizeof absent[0])) {
            return false;
        }
    }
    *names = complete;
    return true;
}

static bool interface_error(struct body_builder *body, const char *what, size_t have)
{
    const struct body_request *request = body->request;
    bool inputs = strcmp(what, "inputs") == 0, declared = inputs ? body->graph.declares_inputs : body->graph.declares_outputs;
    size_t needed = inputs ? body->n_needed : request->n_states + (request->loop ? 1 : 0);
    const char *order = !request->loop ? (inputs ? "state variables, scan inputs" : "state variables, scan outputs")
                        : inputs       ? "iteration number, condition, state variables"
                                       : "condition, state variables, scan outputs";
    char scan[60] = "";

    if (!request->loop) {
        snprintf(scan, sizeof scan, " and %zu scan input%s", request->n_scan_inputs, request->n_scan_inputs == 1 ? "" : "s");
    }
    compile_error(body->compiler, MDF_MODEL,
                  "the body '%s' has %zu %.*s, but onnx::%s with %zu state variable%s%s needs %zu%s: %s%s", body->graph.id, have,
                  (int)strlen(what) - (have == 1), what, request->operator, request->n_states, request->n_states == 1 ? "" : "s",
                  scan, needed, inputs ? "" : " or more", order,
                  declared ? ""
                  : inputs ? "; declare them in the body, in that order: metadata {\"inputs\": [...]}"
                           : "; declare them in the body, in that order: metadata {\"outputs\": [...]}");
    return false;
}

static bool find_names(struct body_builder *body)
{
    struct list inferred = {0};

    if (body->graph.declares_inputs) {
        for (size_t i = 0; i < body->graph.n_inputs; i++) {
            if (!list_add(body->compiler, &body->names, &body->graph.inputs[i].name, sizeof body->graph.inputs[i].name)) {
                return false;
            }
        }
        return body->names.n == body->n_needed || interface_error(body, "inputs", body->names.n);
    }
    if (body->request->branch) {
        return true;
    }
    if (!infer_names(body, false, &inferred)) {
        return false;
    }
    if (inferred.n <= body->n_needed && complete_names(body, &inferred)) {
        body->names = inferred;
        return true;
    }
    if (!infer_names(body, true, &inferred)) {
        return false;
    }
    if (inferred.n != body->n_needed) {
        return interface_error(body, "inputs", inferred.n);
    }
    body->names = inferred;
    return true;
}

static void feed_port(struct body_builder *body, size_t node, size_t port, mdf_operand operand)
{
    if (!is_fed(body, node, port)) {
        body->builder.nodes[node].ports[port] = operand;
    }
}

/* Gives a formal's value to every unconnected port that it names. */
static void feed_ports(struct body_builder *body, const char *node, const char *port, mdf_operand operand)
{
    size_t i = node != NULL ? mdf_model_find_node(&body->graph, node) : SIZE_MAX;
    size_t j = i < body->graph.n_nodes ? mdf_model_find_input_port(&body->graph.nodes[i], port) : SIZE_MAX;
    const size_t *first = node == NULL ? name_table_find(&body->first_inputs, port) : NULL;
    const struct chained_port *chained = body->inputs.items;

    if (i < body->graph.n_nodes && j < body->graph.nodes[i].n_input_ports) {
        feed_port(body, i, j, operand);
    }
    for (size_t at = first != NULL ? *first : 0; at > 0; at = chained[at - 1].next) {
        feed_port(body, chained[at - 1].node, chained[at - 1].port, operand);
    }
}

/* What is known of a formal: what the operator hands in, and what the body declares. In a Loop, the shapes of states may change.
 */
static bool type_of_formal(struct body_builder *body, size_t i, const struct mdf_interface_item *item,
                           struct mdf_static_type *type)
{
    const struct mdf_static_type given = body->request->formals[i];
    struct mdf_static_type declared = mdf_static_unknown;
    char texts[2][120];

    *type = given;
    if (item == NULL) {
        return true;
    }
    if (item->declaration.type.exact && !item->declaration.type.optional) {
        declared.kind = item->declaration.type.sequence ? MDF_STATIC_SEQUENCE : MDF_STATIC_TENSOR;
        declared.dtype = item->declaration.type.dtype;
    }
    if (item->declaration.has_shape && !body->request->loop && declared.kind == MDF_STATIC_TENSOR) {
        declared.has_shape = true;
        declared.rank = item->declaration.rank;
        declared.shape = item->declaration.shape;
    }
    if (mdf_static_types_differ(&given, &declared) || mdf_static_shapes_differ(&given, &declared)) {
        place_at(body->compiler, item->source);
        mdf_static_describe(&declared, texts[0], sizeof texts[0]);
        mdf_static_describe(&given, texts[1], sizeof texts[1]);
        compile_error(body->compiler, mdf_static_types_differ(&given, &declared) ? MDF_TYPE : MDF_SHAPE,
                      "the body '%s' declares its input '%s' as %s, but onnx::%s hands in %s", body->graph.id, item->name,
                      texts[0], body->request->operator, texts[1]);
        return false;
    }
    if (!mdf_static_merge(&body->compiler->scratch, &given, &declared, type)) {
        compile_out_of_memory(body->compiler);
        return false;
    }
    return true;
}

/* What a body declares of the shape of a state counts where nothing else is known: for outputs of no iterations. */
static void promise_shape(struct body_builder *body, mdf_operand slot, const struct mdf_interface_item *item)
{
    struct mdf_static_type type = unit_type(&body->unit, slot);

    if (body->request->loop && item != NULL && item->declaration.has_shape && !item->declaration.type.sequence &&
        !item->declaration.type.optional && !type.has_shape) {
        type.kind = MDF_STATIC_TENSOR;
        type.has_shape = true;
        type.rank = item->declaration.rank;
        type.shape = item->declaration.shape;
        unit_promise_type(&body->unit, slot, &type);
    }
}

static bool add_formals(struct body_builder *body)
{
    struct target target = {body->compiler, &body->unit, &body->builder.scope};

    for (size_t i = 0; i < body->n_needed; i++) {
        const char *name = ((const char **)body->names.items)[i];
        const struct mdf_interface_item *declared = body->graph.declares_inputs ? &body->graph.inputs[i] : NULL;
        unsigned flags = body->request->loop && i == 1 ? OPERAND_IS_BOOL : OPERAND_MAY_BE_LIST;
        mdf_operand slot = unit_new_slot(&target, flags), operand = slot;
        struct mdf_static_type type;

        if (slot == MDF_NO_OPERAND || !list_add(body->compiler, &body->formals, &slot, sizeof slot) ||
            !type_of_formal(body, i, declared, &type)) {
            return false;
        }
        unit_set_type(&body->unit, slot, &type);
        promise_shape(body, slot, declared);
        if (name == NULL) {
            continue;
        }
        if (declared != NULL && declared->declaration.type.exact && !declared->declaration.type.sequence &&
            body->request->formals[i].dtype == MDF_DTYPE_NONE) {
            operand = unit_declare(&target, slot, &declared->declaration.type);
        }
        if (operand != MDF_NO_OPERAND && body->request->loop && i < 2 && declared != NULL && declared->declaration.rank == 1) {
            operand = unit_call_python(&target, "numpy.atleast_1d", &operand, 1); /* declared as of shape [1] */
        }
        if (operand == MDF_NO_OPERAND || !scope_bind(body->compiler, &body->builder.scope, name, operand)) {
            return false;
        }
        feed_ports(body, declared != NULL ? declared->node : NULL, declared != NULL ? declared->port : name, operand);
    }
    return true;
}

/* Ports that neither an edge nor a formal feeds: an outer name, or the default value. */
static bool bind_free_port(struct body_builder *body, size_t node, size_t port_index)
{
    const struct mdf_input_port *port = &body->graph.nodes[node].input_ports[port_index];
    struct target target = {body->compiler, &body->unit, &body->builder.scope};
    struct scope *outer = body->builder.scope.outer;
    struct target lookup = {body->compiler, &body->unit, outer};
    struct mdf_value value = {0};
    struct outcome outcome;
    mdf_operand operand;

    if (scope_find(&lookup, port->id, &outcome)) {
        operand = scope_as_operand(&target, &outcome);
    } else if (port->default_value != NULL) {
        if (!compile_constant(&target, port->default_value, &value)) {
            return false;
        }
        operand = unit_add_constant(&target, &value, 0);
    } else {
        struct place place = place_enter(body->compiler, "input port", port->id, port->source);

        operand = compile_error(
            body->compiler, MDF_MODEL,
            "nothing gives this port of the body a value: no edge, no input of the body and no outer name '%s'", port->id);
        place_leave(body->compiler, place);
    }
    body->builder.nodes[node].ports[port_index] = operand;
    return operand != MDF_NO_OPERAND;
}

static bool bind_free_ports(struct body_builder *body)
{
    for (size_t i = 0; i < body->graph.n_nodes; i++) {
        for (size_t j = 0; j < body->graph.nodes[i].n_input_ports; j++) {
            if (body->builder.nodes[i].ports[j] == MDF_NO_OPERAND && !is_fed(body, i, j) && !bind_free_port(body, i, j)) {
                return false;
            }
        }
    }
    return true;
}

/* ------------------------------------------------------------------ yields */

/* What is declared of a yield, with its shape in the program's arena. */
static bool declared_type(struct body_builder *body, const struct mdf_declaration *declaration, struct mdf_static_type *type)
{
    int64_t *shape = mdf_arena_array(body->compiler->arena, declaration->rank, sizeof *shape);

    *type = mdf_static_unknown;
    if (shape == NULL) {
        compile_out_of_memory(body->compiler);
        return false;
    }
    if (declaration->rank > 0) {
        memcpy(shape, declaration->shape, declaration->rank * sizeof *shape);
    }
    type->dtype = declaration->type.dtype;
    type->has_shape = declaration->has_shape;
    type->rank = declaration->rank;
    type->shape = shape;
    return true;
}

static bool add_yield(struct body_builder *body, mdf_operand operand, const struct mdf_declaration *declaration)
{
    struct mdf_arena *arena = body->compiler->arena;
    struct mdf_static_type declared, known, promised, hint;

    if (operand == MDF_NO_OPERAND || !declared_type(body, declaration, &declared)) {
        return false;
    }
    known = unit_type(&body->unit, operand);
    known.value = NULL;
    promised = unit_promised_type(&body->unit, operand);
    promised.value = NULL;
    hint = mdf_static_shapes_differ(&declared, &promised) ? promised : declared; /* what is known goes before what is declared */
    hint.dtype = declared.dtype;
    if (!mdf_static_merge(arena, &hint, &promised, &hint)) {
        compile_out_of_memory(body->compiler);
        return false;
    }
    if (!known.has_shape) {
        known.has_shape = declared.has_shape;
        known.rank = declared.rank;
        known.shape = declared.shape;
    }
    return list_add(body->compiler, &body->yields, &operand, sizeof operand) &&
           list_add(body->compiler, &body->types, &known, sizeof known) &&
           list_add(body->compiler, &body->hints, &hint, sizeof hint);
}

/* An output port, or an input that is passed through. */
static bool declared_yield(struct body_builder *body, const struct mdf_interface_item *item, mdf_operand *operand)
{
    struct target target = {body->compiler, &body->unit, &body->builder.scope};
    const size_t *first = item->node == NULL ? name_table_find(&body->first_outputs, item->port) : NULL;
    size_t i = item->node != NULL ? mdf_model_find_node(&body->graph, item->node) : first != NULL ? *first - 1 : SIZE_MAX;
    size_t j = i < body->graph.n_nodes ? mdf_model_find_output_port(&body->graph.nodes[i], item->port) : SIZE_MAX;
    struct outcome outcome;

    if (i < body->graph.n_nodes && j < body->graph.nodes[i].n_output_ports) {
        *operand = graph_output(&body->builder, i, j);
        return *operand != MDF_NO_OPERAND;
    }
    if (scope_find(&target, item->port, &outcome) && !outcome.several) {
        *operand = outcome.outputs[0];
        return true;
    }
    compile_error(body->compiler, MDF_NAME,
                  "the body '%s' declares an output '%s', but has neither an output port nor an input of that name",
                  body->graph.id, item->name);
    return false;
}

static bool declared_yields(struct body_builder *body)
{
    struct target target = {body->compiler, &body->unit, &body->builder.scope};
    mdf_operand operand;

    for (size_t i = 0; i < body->graph.n_outputs; i++) {
        const struct mdf_declaration *declaration = &body->graph.outputs[i].declaration;
        struct place place = place_enter(body->compiler, "output", body->graph.outputs[i].name, body->graph.outputs[i].source);

        if (!declared_yield(body, &body->graph.outputs[i], &operand)) {
            return false;
        }
        if (declaration->type.exact && !declaration->type.sequence) {
            operand = unit_declare(&target, operand, &declaration->type);
        }
        if (!add_yield(body, operand, declaration)) {
            return false;
        }
        place_leave(body->compiler, place);
    }
    return true;
}

static void move_to_front(void *items, size_t item_size, size_t at)
{
    char *bytes = items, first[sizeof(struct mdf_static_type)];

    memcpy(first, bytes + at * item_size, item_size);
    memmove(bytes + item_size, bytes, at * item_size);
    memcpy(bytes, first, item_size);
}

/* Output ports that no edge consumes, in document order. The condition of a loop is the one boolean among them. */
static bool inferred_yields(struct body_builder *body)
{
    const mdf_operand *items;
    size_t n_booleans = 0, at = 0;

    for (size_t i = 0; i < body->graph.n_nodes; i++) {
        for (size_t j = 0; j < body->graph.nodes[i].n_output_ports; j++) {
            if (!graph_is_consumed(&body->builder, i, j) &&
                !add_yield(body, graph_output(&body->builder, i, j), &body->graph.nodes[i].output_ports[j].declaration)) {
                return false;
            }
        }
    }
    if (!body->request->loop) {
        return true;
    }
    items = body->yields.items;
    for (size_t i = 0; i < body->yields.n; i++) {
        if ((unit_flags(&body->unit, items[i]) & OPERAND_IS_BOOL) != 0) {
            n_booleans++;
            at = i;
        }
    }
    if (n_booleans != 1) {
        compile_error(body->compiler, MDF_MODEL,
                      "the body '%s' of onnx::%s has %zu outputs that are known to be boolean, so that its condition can not be "
                      "told: declare "
                      "metadata {\"outputs\": [...]} in the body, in order: condition, state variables, scan outputs",
                      body->graph.id, body->request->operator, n_booleans);
        return false;
    }
    move_to_front(body->yields.items, sizeof *items, at);
    move_to_front(body->types.items, sizeof(struct mdf_static_type), at);
    move_to_front(body->hints.items, sizeof(struct mdf_static_type), at);
    return true;
}

/* Who takes the buffer of a slot leaves nothing to another that yields the same. */
static bool is_yielded_twice(const struct mdf_code *code, size_t index)
{
    size_t i;

    for (i = 0; i < code->n_yields && (i == index || code->yields[i] != code->yields[index]); i++) {
    }
    return i < code->n_yields;
}

/* Slots that a call writes in each run and that nothing else holds: their buffers may be taken. */
static bool mark_own(struct compiler *compiler, struct mdf_code *code)
{
    bool *written = mdf_arena_array(&compiler->scratch, code->n_slots, sizeof *written);
    bool *held = mdf_arena_array(&compiler->scratch, code->n_slots, sizeof *held);

    if (written == NULL || held == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < code->n_calls; i++) {
        for (size_t j = 0; j < code->calls[i].n_outputs; j++) {
            if (code->calls[i].outputs[j] != MDF_NO_OPERAND) {
                written[MDF_OPERAND_INDEX(code->calls[i].outputs[j])] = true;
            }
        }
    }
    for (size_t i = 0; i < code->n_instructions; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];

        if (instruction->opcode == MDF_OPCODE_SWAP) {
            held[MDF_OPERAND_INDEX(instruction->a)] = held[MDF_OPERAND_INDEX(instruction->b)] = true;
        } else if (instruction->opcode == MDF_OPCODE_BORROW || instruction->opcode == MDF_OPCODE_ARRAY ||
                   instruction->opcode == MDF_OPCODE_DECLARE || instruction->opcode == MDF_OPCODE_NEXT) {
            held[MDF_OPERAND_INDEX(instruction->a)] = true;
        }
    }
    for (size_t i = 0; i < code->n_yields; i++) {
        size_t slot = MDF_OPERAND_INDEX(code->yields[i]);

        code->yield_is_own[i] =
            MDF_OPERAND_KIND(code->yields[i]) == MDF_OPERAND_SLOT && written[slot] && !held[slot] && !is_yielded_twice(code, i);
    }
    return true;
}

struct mdf_code *unit_finish_body(struct compiler *compiler, struct unit *unit, const struct list *formals,
                                  const struct list *yields, const struct list *types)
{
    struct mdf_code *code = unit_finish(compiler, unit);
    bool *own = mdf_arena_array(compiler->arena, yields->n, sizeof *own);

    if (code != NULL && own == NULL) {
        compile_out_of_memory(compiler);
    }
    if (code == NULL) {
        return NULL;
    }
    code->yield_is_own = own;
    if (own == NULL || !unit_keep_list(compiler, formals, sizeof(mdf_operand), &code->formals, &code->n_formals) ||
        !unit_keep_list(compiler, types, sizeof(struct mdf_static_type), &code->yield_types, &code->n_yields) ||
        !unit_keep_list(compiler, yields, sizeof(mdf_operand), &code->yields, &code->n_yields) || !mark_own(compiler, code)) {
        mdf_code_clear(compiler->memory, code);
        return NULL;
    }
    return code;
}

/* ------------------------------------------------------------------ the whole */

static bool check_yields(struct body_builder *body)
{
    size_t needed = body->request->branch ? 1 : body->request->n_states + (body->request->loop ? 1 : 0);

    if (body->yields.n >= needed) {
        return true;
    }
    if (body->request->branch) {
        compile_error(body->compiler, MDF_MODEL, "the branch '%s' of onnx::%s yields nothing", body->graph.id,
                      body->request->operator);
        return false;
    }
    return interface_error(body, "outputs", body->yields.n);
}

static bool build(struct body_builder *body)
{
    struct compiler *compiler = body->compiler;

    if (!read_body(body)) {
        return false;
    }
    body->open = (struct open_graph){compiler->open, body->graph.source};
    compiler->open = &body->open;
    if (body->graph.conditions != NULL) {
        struct place place = place_at(compiler, body->graph.conditions);

        compile_error(compiler, MDF_UNSUPPORTED, "the body '%s' has conditions: a body runs each of its nodes once",
                      body->graph.id);
        place_leave(compiler, place);
        return false;
    }
    if (!graph_begin(&body->builder, compiler, &body->graph, &body->unit, body->outer->scope, true)) {
        return false;
    }
    return chain_ports(body) && find_names(body) && add_formals(body) && bind_free_ports(body) &&
           graph_compile_nodes(&body->builder) &&
           (body->graph.declares_outputs ? declared_yields(body) : inferred_yields(body)) && check_yields(body);
}

/* A text in the program's memory; NULL with the error set. */
static const char *keep_name(struct body_builder *body, const char *name)
{
    const char *kept = mdf_arena_printf(body->compiler->arena, "%s", name);

    if (kept == NULL) {
        compile_out_of_memory(body->compiler);
    }
    return kept;
}

static bool add_name(struct body_builder *body, struct list *names, const char *node, const char *id, mdf_operand operand)
{
    struct mdf_body_name name = {node, keep_name(body, id), operand};

    return name.id != NULL && list_add(body->compiler, names, &name, sizeof name);
}

/* The body's nodes, and what of it can be looked at: its inputs, and the output ports of the nodes. */
static bool keep_names(struct body_builder *body, struct mdf_code *code)
{
    struct mdf_body_node *nodes = mdf_arena_array(body->compiler->arena, body->graph.n_nodes, sizeof *nodes);
    struct mdf_body_name *kept;
    struct list names = {0};

    if (nodes == NULL) {
        compile_out_of_memory(body->compiler);
        return false;
    }

    code->id = keep_name(body, body->graph.id);
    for (size_t i = 0; i < body->names.n && i < body->formals.n; i++) {
        const char *id = ((const char **)body->names.items)[i];

        if (id != NULL && !add_name(body, &names, NULL, id, ((const mdf_operand *)body->formals.items)[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < body->graph.n_nodes; i++) {
        const char *node = keep_name(body, body->graph.nodes[i].id);

        for (size_t j = 0; node != NULL && j < body->graph.nodes[i].n_output_ports; j++) {
            if (body->builder.nodes[i].outputs[j] != MDF_NO_OPERAND &&
                !add_name(body, &names, node, body->graph.nodes[i].output_ports[j].id, body->builder.nodes[i].outputs[j])) {
                return false;
            }
        }
        if (node == NULL) {
            return false;
        }
        nodes[i] = (struct mdf_body_node){node, body->builder.nodes[i].first, body->builder.nodes[i].end};
    }
    code->nodes = nodes;
    code->n_nodes = body->graph.n_nodes;
    if (code->id == NULL || !unit_keep_list(body->compiler, &names, sizeof *kept, &kept, &code->n_names)) {
        return false;
    }
    code->names = kept;
    return true;
}

static bool finish(struct body_builder *body, struct body_result *result)
{
    size_t n_yields = body->yields.n;
    struct operand_facts *facts = mdf_arena_array(&body->compiler->scratch, n_yields, sizeof *facts);

    if (facts == NULL) {
        compile_out_of_memory(body->compiler);
        return false;
    }
    for (size_t i = 0; i < n_yields; i++) {
        facts[i].flags = unit_flags(&body->unit, ((mdf_operand *)body->yields.items)[i]) & OPERAND_IS_BOOL;
    }
    result->code = unit_finish_body(body->compiler, &body->unit, &body->formals, &body->yields, &body->hints);
    if (result->code != NULL && !keep_names(body, result->code)) {
        mdf_code_clear(body->compiler->memory, result->code);
        result->code = NULL;
    }
    result->n_yields = n_yields - (body->request->loop ? 1 : 0);
    result->facts = facts + (body->request->loop ? 1 : 0);
    result->types = body->types.items;
    result->hints = body->hints.items;
    result->is_inferred = !body->graph.declares_outputs;
    return result->code != NULL;
}

bool compile_body(struct target *target, const struct body_request *request, struct body_result *result)
{
    struct compiler *compiler = target->compiler;
    struct body_builder *body = mdf_arena_allocate(&compiler->scratch, sizeof *body);
    const struct mdf_graph_node *node = compiler->node;
    const struct open_graph *open = compiler->open;
    struct place place;
    bool done;

    if (body == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (compiler->depth >= MDF_MAX_BODY_DEPTH) {
        compile_error(compiler, MDF_LIMIT, "bodies are nested more than %d deep", MDF_MAX_BODY_DEPTH);
        return false;
    }
    place = place_enter(compiler, "attribute", request->attribute, request->node);
    compiler->depth++;
    body->outer = target;
    body->compiler = compiler;
    body->request = request;
    body->unit.outer = target->unit;
    body->n_needed = request->branch ? 0 : request->n_states + request->n_scan_inputs + (request->loop ? 2 : 0);
    done = build(body) && finish(body, result);
    unit_clear(compiler, &body->unit);
    compiler->depth--;
    compiler->open = open;
    compiler->node = node;
    place_leave(compiler, place);
    return done;
}
