/* look_over.c - what a compiled graph shows that a model can hardly mean: parts that nothing uses, shapes that do not fit each
 * other, conditions that never hold. Each is a warning with a word for what it is of (docs/diagnostics.md).
 *
 * Nothing is told that may be right: a name that stands anywhere counts as used, a shape that is not known for sure as fitting.
 */
#include "functions/python/python.h"
#include "mdf_c/plan/compiler.h"

#include "mdf_c/tensor/print_value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char of_shapes[] = "shape"; /* the code of what does not fit */

static void tell(struct compiler *compiler, const char *code, int line, int column, const char *path, const char *format, ...)
    MDF_PRINTF_LIKE(6, 7);

static void tell(struct compiler *compiler, const char *code, int line, int column, const char *path, const char *format, ...)
{
    mdf_error warning = {0};
    va_list arguments;

    va_start(arguments, format);
    mdf_error_set_v(&warning, MDF_MODEL, format, arguments);
    va_end(arguments);
    mdf_error_at(&warning, compiler->model->document->file, line, column);
    mdf_error_in(&warning, "%s", path);
    mdf_warn_of(&compiler->receiver, code, &warning);
}

/* A part of the model that nothing uses. */
static void tell_unused(struct compiler *compiler, const char *code, const char *what, const char *id,
                        const struct mdf_node *source, const char *consequence)
{
    struct place place = place_enter(compiler, what, id, source);

    tell(compiler, code, (int)source->line, (int)source->column, compiler->path, "%s", consequence);
    place_leave(compiler, place);
}

/* ------------------------------------------------------------------ which names stand where */

/* Names in the texts of a model, and the places that they stand in: numbers of whatever holds them. */
struct mentions {
    struct compiler *compiler;
    struct name_table first;       /* of each name: the first place, counted from 1 */
    struct name_table others;      /* names that stand in another place too */
    struct name_table graphs;      /* of the model, whose texts are noted already */
    const struct mentions *around; /* of what stands in no node; NULL: none */
};

static bool note_name(struct mentions *mentions, const char *name, size_t place)
{
    size_t *first = name_table_add(&mentions->first, &mentions->compiler->scratch, name);

    if (first == NULL) {
        return false;
    }
    if (*first == 0) {
        *first = place + 1;
    }
    return *first == place + 1 || name_table_add(&mentions->others, &mentions->compiler->scratch, name) != NULL;
}

/* What stands behind the points of a text: NODE.PORT. One with many is an expression, whose own names are noted beside it. */
static bool note_behind_points(struct mentions *mentions, const char *text, size_t place)
{
    enum { MOST_POINTS = 16 };
    const char *point = strchr(text, '.');

    for (size_t n = 0; point != NULL && n < MOST_POINTS; n++, point = strchr(point + 1, '.')) {
        if (!note_name(mentions, point + 1, place)) {
            return false;
        }
    }
    return true;
}

static bool note_names(struct mentions *mentions, const struct list *names, size_t place)
{
    for (size_t i = 0; i < names->n; i++) {
        const char *name = ((const char *const *)names->items)[i];

        if (!note_name(mentions, name, place) || !note_behind_points(mentions, name, place)) {
            return false;
        }
    }
    return true;
}

/* Notes the names in all texts of a part of the document, graphs of the model that it names included. */
static bool note_texts(struct mentions *mentions, const struct mdf_node *node, size_t place)
{
    size_t n;

    if (node == NULL) {
        return true;
    }
    if (node->kind == MDF_NODE_STRING) {
        const struct mdf_graph *graph = mdf_model_find_graph(mentions->compiler->model, node->as.string.bytes);
        struct list names = {0};

        if (!collect_names(mentions->compiler, node, &names) || !note_names(mentions, &names, place)) {
            return false;
        }
        if (graph == NULL || name_table_find(&mentions->graphs, graph->id) != NULL) {
            return true;
        }
        return name_table_add(&mentions->graphs, &mentions->compiler->scratch, graph->id) != NULL &&
               note_texts(mentions, graph->source, SIZE_MAX - 2);
    }
    n = node->kind == MDF_NODE_LIST || node->kind == MDF_NODE_OBJECT ? mdf_node_length(node) : 0;
    for (size_t i = 0; i < n; i++) {
        const struct mdf_node *item = node->kind == MDF_NODE_LIST ? &node->as.list.items[i] : &node->as.object.entries[i].value;

        if (!note_texts(mentions, item, place)) {
            return false;
        }
    }
    return true;
}

/* Notes what a definition finds without being given it: inputs and attributes of its function by their names. */
static bool note_definition(struct mentions *mentions, const struct mdf_definition *definition, size_t place)
{
    const struct mdf_schema *schema = definition->function != NULL ? find_called_schema(mentions->compiler, definition) : NULL;
    struct list names = {0};

    if (!note_texts(mentions, definition->source, place) || !collect_definition_names(mentions->compiler, definition, &names) ||
        !note_names(mentions, &names, place)) {
        return false;
    }
    for (size_t i = 0; schema != NULL && i < schema->n_attributes; i++) {
        if (!note_name(mentions, schema->attributes[i].name, place)) {
            return false;
        }
    }
    return true;
}

static bool is_mentioned(const struct mentions *mentions, const char *name, size_t besides)
{
    const size_t *first = name_table_find(&mentions->first, name);

    return (first != NULL && (*first != besides + 1 || name_table_find(&mentions->others, name) != NULL)) ||
           (mentions->around != NULL && name_table_find(&mentions->around->first, name) != NULL);
}

/* ------------------------------------------------------------------ parts of nodes that nothing uses */

/* Places: functions, then parameters, then all else. */
static bool note_node(struct mentions *mentions, const struct mdf_graph_node *node)
{
    size_t place = 0;

    for (size_t i = 0; i < node->n_functions; i++) {
        if (!note_definition(mentions, &node->functions[i], place++)) {
            return false;
        }
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        if (!note_definition(mentions, &node->parameters[i].definition, place++)) {
            return false;
        }
    }
    for (size_t i = 0; i < mdf_node_length(node->source); i++) {
        const struct mdf_node_entry *entry = &node->source->as.object.entries[i];

        if (strcmp(entry->key, "functions") != 0 && strcmp(entry->key, "parameters") != 0 &&
            strcmp(entry->key, "input_ports") != 0 && !note_texts(mentions, &entry->value, place)) {
            return false;
        }
    }
    return note_name(mentions, "is_finished", place); /* conditions look at it */
}

/* Fields of ports, functions and parameters with nothing behind them. */
static void tell_empty_fields(struct compiler *compiler, const struct mdf_graph_node *node)
{
    static const char *const parts[] = {"input_ports", "functions", "parameters", "output_ports"};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct mdf_node *part = mdf_node_get(node->source, parts[i]);

        for (size_t j = 0; part != NULL && part->kind == MDF_NODE_OBJECT && j < part->as.object.n; j++) {
            const struct mdf_node *fields = &part->as.object.entries[j].value;

            for (size_t k = 0; fields->kind == MDF_NODE_OBJECT && k < fields->as.object.n; k++) {
                const struct mdf_node_entry *field = &fields->as.object.entries[k];

                if (field->value.kind == MDF_NODE_NULL) {
                    struct place place = place_at_key(compiler, field);

                    compile_finding(compiler, "model", "nothing stands behind '%.60s': it is as if it were not there", field->key);
                    place_leave(compiler, place);
                }
            }
        }
    }
}

static bool look_at_node(const struct graph_builder *builder, const struct mdf_graph_node *node,
                         const struct mentions *conditions)
{
    struct compiler *compiler = builder->compiler;
    struct mentions mentions = {.compiler = compiler, .around = conditions};
    struct place place = place_enter(compiler, "node", node->id, node->source);
    bool computes = node->n_functions + node->n_parameters + node->n_output_ports > 0;

    if (!note_node(&mentions, node)) {
        compile_out_of_memory(compiler);
        return false;
    }
    tell_empty_fields(compiler, node);
    for (size_t i = 0; computes && node->graph == NULL && i < node->n_input_ports; i++) {
        if (!is_mentioned(&mentions, node->input_ports[i].id, SIZE_MAX - 1)) {
            tell_unused(compiler, "unused-input", "input port", node->input_ports[i].id, node->input_ports[i].source,
                        "nothing in the node reads it");
        }
    }
    for (size_t i = 0; i < node->n_functions; i++) {
        if (!is_mentioned(&mentions, node->functions[i].id, i)) {
            tell_unused(compiler, "unused-function", "function", node->functions[i].id, node->functions[i].source,
                        "nothing uses its value: no parameter, function or output port of the node names it");
        }
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        const struct mdf_definition *parameter = &node->parameters[i].definition;

        if (!is_mentioned(&mentions, parameter->id, node->n_functions + i)) {
            tell_unused(compiler, "unused-parameter", "parameter", parameter->id, parameter->source,
                        "nothing uses its value: no other parameter, no function or output port of the node names it");
        }
    }
    place_leave(compiler, place);
    return true;
}

/* ------------------------------------------------------------------ parts of the graph that nothing uses */

/* The name of a port among results; NULL: out of memory. */
static const char *result_name(struct compiler *compiler, const char *node, const char *port)
{
    return node == NULL ? port : mdf_arena_printf(&compiler->scratch, "%s\n%s", node, port);
}

/* The ports that the graph declares as its outputs, each with its node where it has one. */
static bool note_results(struct compiler *compiler, const struct mdf_graph *graph, struct name_table *results)
{
    for (size_t i = 0; i < graph->n_outputs; i++) {
        const char *name = result_name(compiler, graph->outputs[i].node, graph->outputs[i].port);

        if (name == NULL || name_table_add(results, &compiler->scratch, name) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_result(struct compiler *compiler, const struct name_table *results, const char *node, const char *port)
{
    const char *name = result_name(compiler, node, port);

    return name_table_find(results, port) != NULL || name == NULL || name_table_find(results, name) != NULL;
}

/* Ports that hold the bare name of a function stand for its outputs, one after the other: none can be left out. */
static bool is_one_of_several(const struct mdf_graph_node *node, size_t index)
{
    const struct mdf_node *value = node->output_ports[index].value;

    for (size_t i = 0; value != NULL && value->kind == MDF_NODE_STRING && i < node->n_output_ports; i++) {
        const struct mdf_node *other = node->output_ports[i].value;

        if (i != index && other != NULL && other->kind == MDF_NODE_STRING &&
            strcmp(other->as.string.bytes, value->as.string.bytes) == 0) {
            return true;
        }
    }
    return false;
}

static bool look_at_graph(const struct graph_builder *builder)
{
    const struct mdf_graph *graph = builder->graph;
    struct compiler *compiler = builder->compiler;
    struct mentions mentions = {.compiler = compiler};
    struct name_table results = {0};

    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (!note_texts(&mentions, graph->nodes[i].source, i)) {
            compile_out_of_memory(compiler);
            return false;
        }
    }
    if (!note_texts(&mentions, graph->conditions, graph->n_nodes) ||
        !note_texts(&mentions, mdf_node_get(graph->source, "edges"), graph->n_nodes) ||
        !note_results(compiler, graph, &results)) {
        compile_out_of_memory(compiler);
        return false;
    }
    /* a file of ONNX names all outputs of an operator */
    for (size_t i = 0; graph->declares_outputs && compiler->model->document->messages == NULL && i < graph->n_nodes; i++) {
        const struct mdf_graph_node *node = &graph->nodes[i];
        struct place place = place_enter(compiler, "node", node->id, node->source);

        for (size_t j = 0; j < node->n_output_ports; j++) {
            const struct mdf_output_port *port = &node->output_ports[j];

            if (!graph_is_consumed(builder, i, j) && !is_one_of_several(node, j) &&
                !is_result(compiler, &results, node->id, port->id) && !is_mentioned(&mentions, port->id, i)) {
                tell_unused(compiler, "unused-output", "output port", port->id, port->source,
                            "no edge leads from it, and the outputs that the graph declares are others");
            }
        }
        place_leave(compiler, place);
    }
    for (size_t i = 0; graph->parameters != NULL && i < mdf_node_length(graph->parameters); i++) {
        const struct mdf_node_entry *entry = &graph->parameters->as.object.entries[i];

        if (!is_mentioned(&mentions, entry->key, SIZE_MAX - 1)) {
            tell_unused(compiler, "unused-parameter", "graph parameter", entry->key, &entry->value,
                        "no node of the graph uses it");
        }
    }
    return true;
}

/* ------------------------------------------------------------------ shapes that do not fit each other */

/* What is known of the shape of a slot: nothing was written there yet; this one; or any. */
struct known_shape {
    enum { SHAPE_OPEN, SHAPE_KNOWN, SHAPE_ANY } state;
    size_t rank;
    const int64_t *sizes; /* -1: of any size */
    bool is_list;         /* a list of Python, which is an array only beside one: two of them add up to a longer one */
};

struct shapes {
    struct compiler *compiler;
    const struct unit *unit;
    const struct mdf_code *code;
    const struct mdf_program *program;
    const struct mdf_operator *item; /* of an expression's a[i] */
    struct known_shape *slots;
    bool changed, is_out_of_memory;
};

static struct known_shape shape_of_type(const struct mdf_static_type *type)
{
    if (type->kind != MDF_STATIC_TENSOR || !type->has_shape) {
        return (struct known_shape){.state = SHAPE_ANY};
    }
    return (struct known_shape){.state = SHAPE_KNOWN, .rank = type->rank, .sizes = type->shape};
}

static struct known_shape shape_of(const struct shapes *shapes, mdf_operand operand)
{
    struct mdf_static_type type;

    if (operand == MDF_NO_OPERAND) {
        return (struct known_shape){.state = SHAPE_ANY};
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT) {
        return shapes->slots[MDF_OPERAND_INDEX(operand)];
    }
    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        const struct mdf_value *value = &shapes->code->constants[MDF_OPERAND_INDEX(operand)];

        return value->kind == MDF_KIND_TENSOR
                   ? (struct known_shape){.state = SHAPE_KNOWN, .rank = value->rank, .sizes = mdf_value_shape(value)}
                   : (struct known_shape){.state = SHAPE_ANY};
    }
    type = unit_type(shapes->unit, operand);
    return shape_of_type(&type);
}

static bool same_shape(const struct known_shape *a, const struct known_shape *b)
{
    return a->rank == b->rank && (a->rank == 0 || memcmp(a->sizes, b->sizes, a->rank * sizeof *a->sizes) == 0);
}

/* A slot may hold this too. */
static void write_shape(struct shapes *shapes, mdf_operand slot, struct known_shape shape)
{
    struct known_shape *held;

    if (slot == MDF_NO_OPERAND || MDF_OPERAND_KIND(slot) != MDF_OPERAND_SLOT) {
        return;
    }
    held = &shapes->slots[MDF_OPERAND_INDEX(slot)];
    if (held->state == SHAPE_ANY || shape.state == SHAPE_OPEN) {
        return;
    }
    if (held->state == SHAPE_OPEN) {
        *held = shape;
        shapes->changed = true;
    } else if (shape.state == SHAPE_ANY || shape.is_list != held->is_list || !same_shape(held, &shape)) {
        held->state = SHAPE_ANY;
        shapes->changed = true;
    }
}

/* Where all items have one shape, a list is an array of them. */
static struct known_shape shape_of_list(struct shapes *shapes, const mdf_operand *items, size_t n)
{
    struct known_shape result = {.state = SHAPE_KNOWN, .rank = 1, .is_list = true}, first = {.state = SHAPE_KNOWN};
    int64_t *sizes;

    for (size_t i = 0; i < n; i++) {
        struct known_shape shape = shape_of(shapes, items[i]);

        if (shape.state != SHAPE_KNOWN || (i > 0 && !same_shape(&first, &shape))) {
            return (struct known_shape){.state = shape.state == SHAPE_OPEN ? SHAPE_OPEN : SHAPE_ANY};
        }
        first = shape;
    }
    result.rank += first.rank;
    sizes = mdf_arena_array(&shapes->compiler->scratch, result.rank, sizeof *sizes);
    if (sizes == NULL) {
        shapes->is_out_of_memory = true;
        return (struct known_shape){.state = SHAPE_ANY};
    }
    sizes[0] = (int64_t)n;
    for (size_t i = 0; i < first.rank; i++) {
        sizes[i + 1] = first.sizes[i];
    }
    result.sizes = sizes;
    return result;
}

/* A whole number that is known while compiling. */
static bool is_known_index(const struct shapes *shapes, mdf_operand operand, int64_t *index)
{
    const struct mdf_value *value = NULL;

    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        value = &shapes->code->constants[MDF_OPERAND_INDEX(operand)];
    }
    if (value == NULL || value->kind != MDF_KIND_TENSOR || value->rank != 0 || value->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    *index = mdf_element_to_int64(MDF_DTYPE_INT64, value->data);
    return true;
}

/* Of indices that are whole numbers: whether there is such an item. */
static void tell_indices(struct shapes *shapes, const struct mdf_instruction *instruction, const struct mdf_code_call *call)
{
    const struct mdf_subscript *subscript = call->settings;
    const struct mdf_origin *at = &shapes->compiler->origins[instruction->origin];
    struct known_shape shape = shape_of(shapes, call->inputs[0]);
    int64_t index;

    for (size_t i = 0; shape.state == SHAPE_KNOWN && i < subscript->n_parts && subscript->parts[i].kind == MDF_SUBSCRIPT_INDEX;
         i++) {
        if (i >= shape.rank) {
            tell(shapes->compiler, of_shapes, at->line, at->column, at->path,
                 shape.rank == 0 ? "a number has no items" : "there are more indices than the %zu axes of the array", shape.rank);
            return;
        }
        if (is_known_index(shapes, call->inputs[i + 1], &index) && shape.sizes[i] >= 0 &&
            (index >= shape.sizes[i] || index < -shape.sizes[i])) {
            tell(shapes->compiler, of_shapes, at->line, at->column, at->path,
                 "index %" PRId64 " is out of range for %" PRId64 " items", index, shape.sizes[i]);
        }
    }
}

/* The shape that operands broadcast to. False: they do not; *fault has the number of the one that does not fit. */
static bool broadcast(struct shapes *shapes, const mdf_operand *inputs, size_t n, struct known_shape *result, size_t *fault)
{
    int64_t *sizes;

    *result = (struct known_shape){.state = SHAPE_KNOWN, .is_list = true};
    for (size_t i = 0; i < n; i++) {
        struct known_shape shape = shape_of(shapes, inputs[i]);

        if (inputs[i] == MDF_NO_OPERAND) {
            continue;
        }
        if (shape.state != SHAPE_KNOWN) {
            result->state = shape.state == SHAPE_OPEN && result->state == SHAPE_KNOWN ? SHAPE_OPEN : SHAPE_ANY;
            return true;
        }
        result->rank = shape.rank > result->rank ? shape.rank : result->rank;
        result->is_list = result->is_list && shape.is_list;
    }
    if (result->is_list) { /* no array among them */
        *result = (struct known_shape){.state = SHAPE_ANY};
        return true;
    }
    sizes = mdf_arena_array(&shapes->compiler->scratch, result->rank + 1, sizeof *sizes);
    if (sizes == NULL) {
        shapes->is_out_of_memory = true;
        result->state = SHAPE_ANY;
        return true;
    }
    for (size_t j = 0; j < result->rank; j++) {
        sizes[j] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        struct known_shape shape = shape_of(shapes, inputs[i]);

        for (size_t j = 0; inputs[i] != MDF_NO_OPERAND && j < shape.rank; j++) {
            int64_t *size = &sizes[result->rank - shape.rank + j];

            if (shape.sizes[j] < 0 || *size < 0) {
                *size = *size > 1 ? *size : -1;
            } else if (*size == 1) {
                *size = shape.sizes[j];
            } else if (shape.sizes[j] != 1 && shape.sizes[j] != *size) {
                *fault = i;
                return false;
            }
        }
    }
    result->sizes = sizes;
    return true;
}

/* Whether two operands can be multiplied as matrices, as far as is known. */
static bool matrices_fit(const struct known_shape *a, const struct known_shape *b)
{
    int64_t inner, outer;

    if (a->state != SHAPE_KNOWN || b->state != SHAPE_KNOWN || a->rank == 0 || b->rank == 0) {
        return true;
    }
    inner = a->sizes[a->rank - 1];
    outer = b->sizes[b->rank - (b->rank > 1 ? 2 : 1)];
    return inner < 0 || outer < 0 || inner == outer;
}

static bool is_product(const struct mdf_operator *row)
{
    return row->form == MDF_FORM_MATMUL || row->form == MDF_FORM_DOT;
}

/* Of what is no operator of ONNX, whose results are known by its rules. */
static bool is_of_python(const struct mdf_operator *row)
{
    return row->since == 0;
}

static void describe(const struct known_shape *shape, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "("), i;

    for (i = 0; i < shape->rank && used < size; i++) {
        used += shape->sizes[i] < 0
                    ? (size_t)snprintf(text + used, size - used, "%s?", i > 0 ? ", " : "")
                    : (size_t)snprintf(text + used, size - used, "%s%" PRId64, i > 0 ? ", " : "", shape->sizes[i]);
    }
    if (used < size) {
        snprintf(text + used, size - used, shape->rank == 1 ? ",)" : ")");
    }
}

static void tell_shapes(struct shapes *shapes, uint32_t origin, const char *operation, struct known_shape a, struct known_shape b)
{
    const struct mdf_origin *at = &shapes->compiler->origins[origin];
    char first[120], second[120];

    describe(&a, first, sizeof first);
    describe(&b, second, sizeof second);
    tell(shapes->compiler, of_shapes, at->line, at->column, at->path, "%s: the shapes %s and %s do not fit each other", operation,
         first, second);
}

/* The shape of a call's result; where `tells`, faults are told. */
static void visit_call(struct shapes *shapes, const struct mdf_instruction *instruction, bool tells)
{
    const struct mdf_code_call *call = &shapes->code->calls[instruction->target];
    struct known_shape result = {.state = SHAPE_ANY}, shape;
    size_t fault;

    for (size_t i = 0; i < call->n_outputs; i++) {
        struct mdf_static_type type =
            call->outputs[i] != MDF_NO_OPERAND ? unit_type(shapes->unit, call->outputs[i]) : mdf_static_unknown;

        write_shape(shapes, call->outputs[i],
                    is_of_python(call->operator) ? (struct known_shape){.state = SHAPE_OPEN} : shape_of_type(&type));
    }
    if (!is_of_python(call->operator)) {
        return;
    }
    if (call->operator->form == MDF_FORM_LIST) {
        result = shape_of_list(shapes, call->inputs, call->n_inputs);
    } else if (call->operator== shapes->item) {
        if (tells) {
            tell_indices(shapes, instruction, call);
        }
    } else if (is_product(call->operator) && call->n_inputs == 2) {
        shape = shape_of(shapes, call->inputs[0]);
        result = shape_of(shapes, call->inputs[1]);
        if (tells && !matrices_fit(&shape, &result)) {
            tell_shapes(shapes, instruction->origin, call->operator->name, shape, result);
        }
        result.state = SHAPE_ANY;
    } else if (call->operator->element != NULL) {
        if (!broadcast(shapes, call->inputs, call->n_inputs, &result, &fault)) {
            if (tells) {
                size_t other = fault > 0 ? fault - 1 : 0;

                tell_shapes(shapes, instruction->origin, call->operator->name, shape_of(shapes, call->inputs[other]),
                            shape_of(shapes, call->inputs[fault]));
            }
            result.state = SHAPE_ANY;
        }
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        write_shape(shapes, call->outputs[i], result);
    }
}

static void visit_instruction(struct shapes *shapes, const struct mdf_instruction *instruction, bool tells)
{
    const struct known_shape any = {.state = SHAPE_ANY};
    struct known_shape shape;

    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        visit_call(shapes, instruction, tells);
        break;
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        shape = shape_of(shapes, instruction->b);
        shape.is_list = false;
        write_shape(shapes, instruction->a, shape);
        break;
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
        write_shape(shapes, instruction->a, shape_of(shapes, instruction->b));
        break;
    case MDF_OPCODE_SWAP:
        write_shape(shapes, instruction->a, shape_of(shapes, instruction->b));
        write_shape(shapes, instruction->b, shape_of(shapes, instruction->a));
        break;
    case MDF_OPCODE_NEXT:
        write_shape(shapes, instruction->c, any);
        write_shape(shapes, instruction->a, any);
        break;
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_YIELD:
        write_shape(shapes, instruction->a, any);
        break;
    case MDF_OPCODE_JUMP:
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
    case MDF_OPCODE_JUMP_WITHOUT_DT:
    case MDF_OPCODE_GRAPH:
        break;
    }
}

/* What ports hold that are filled at run time: what is given has any shape. */
static void visit_ports(struct shapes *shapes)
{
    const struct mdf_program *program = shapes->program;

    for (size_t i = 0; i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];
        bool is_fed_inside =
            !port->is_open && !port->is_required && port->outer_port == SIZE_MAX && port->source == MDF_NO_OPERAND;

        write_shape(shapes, port->slot,
                    is_fed_inside ? shape_of(shapes, port->default_value) : (struct known_shape){.state = SHAPE_ANY});
        write_shape(shapes, port->arriving, (struct known_shape){.state = SHAPE_ANY});
    }
    for (size_t i = 0; i < program->n_edges; i++) {
        write_shape(shapes, program->ports[program->edges[i].port].slot, shape_of(shapes, program->edges[i].value));
    }
}

/* What a port declares and what is known to arrive; stricter than when a model runs (mdf_c/run/declared_shape.c), where one
 * number, or an array of fewer axes, goes into any port, as in the reference engine: that the port then has that shape, and not
 * the one that it declares, can hardly be meant. */
static bool fits_declaration(const struct mdf_declaration *declaration, const struct known_shape *shape)
{
    bool takes_all = true;
    size_t rank = shape->rank;

    for (size_t i = 0; i < declaration->rank; i++) {
        takes_all = takes_all && (declaration->shape[i] == 1 || declaration->shape[i] < 0);
    }
    for (size_t i = 0; rank > declaration->rank && i < shape->rank && (shape->sizes[i] == 1 || shape->sizes[i] < 0); i++) {
        rank--;
    }
    if (shape->state != SHAPE_KNOWN || takes_all || rank > declaration->rank) {
        return true;
    }
    if (rank < declaration->rank) {
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        int64_t size = shape->sizes[shape->rank - rank + i];

        if (declaration->shape[i] >= 0 && size >= 0 && declaration->shape[i] != size) {
            return false;
        }
    }
    return true;
}

static void tell_declarations(struct shapes *shapes)
{
    for (size_t i = 0; i < shapes->program->n_nodes; i++) {
        for (size_t j = 0; j < shapes->program->nodes[i].n_shaped; j++) {
            const struct mdf_program_shaped *port = &shapes->program->nodes[i].shaped[j];
            struct known_shape shape = shape_of(shapes, port->operand);
            struct known_shape declared = {
                .state = SHAPE_KNOWN, .rank = port->declaration.rank, .sizes = port->declaration.shape};
            char texts[2][120];

            if (!fits_declaration(&port->declaration, &shape)) {
                describe(&declared, texts[0], sizeof texts[0]);
                describe(&shape, texts[1], sizeof texts[1]);
                tell(shapes->compiler, of_shapes, port->origin.line, port->origin.column, port->origin.path,
                     shape.rank == 0 ? "it declares the shape %s, but what arrives is one number"
                                     : "it declares the shape %s, but what arrives has %s",
                     texts[0], texts[1]);
            }
        }
    }
}

/* Shapes through all instructions, again and again until they do not change. */
static bool look_at_shapes(const struct graph_builder *builder, const struct mdf_program *program)
{
    struct shapes shapes = {.compiler = builder->compiler,
                            .unit = builder->unit,
                            .code = program->code,
                            .program = program,
                            .item = mdf_operator_python(PYTHON_ITEM)};
    enum { MOST_ROUNDS = 100 };
    int round;

    shapes.slots = mdf_arena_array(&builder->compiler->scratch, program->code->n_slots, sizeof *shapes.slots);
    if (shapes.slots == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (round = 0; round < MOST_ROUNDS; round++) {
        shapes.changed = false;
        visit_ports(&shapes);
        for (size_t i = 0; i < program->code->n_instructions; i++) {
            visit_instruction(&shapes, &program->code->instructions[i], false);
        }
        if (!shapes.changed) {
            break;
        }
    }
    for (size_t i = 0; round < MOST_ROUNDS && i < program->code->n_instructions; i++) {
        visit_instruction(&shapes, &program->code->instructions[i], true);
    }
    if (round < MOST_ROUNDS) {
        tell_declarations(&shapes);
    }
    if (shapes.is_out_of_memory) {
        compile_out_of_memory(builder->compiler);
    }
    return !shapes.is_out_of_memory;
}

/* ------------------------------------------------------------------ all of it */

bool compile_look_over(const struct graph_builder *builder, const struct mdf_program *program)
{
    struct mentions conditions = {.compiler = builder->compiler};

    if (!look_at_shapes(builder, program) || !look_over_units(builder)) {
        return false;
    }
    if (builder->compiler->model->dialect == MDF_DIALECT_PSYNEULINK) {
        return true; /* its exporter writes what is not used too */
    }
    if (!note_texts(&conditions, builder->graph->conditions, 0)) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (size_t i = 0; i < builder->graph->n_nodes; i++) {
        if (!look_at_node(builder, &builder->graph->nodes[i], &conditions)) {
            return false;
        }
    }
    return look_at_graph(builder);
}
