/* export_symbols.c - values of the model that is written: constants, names, types, and the nodes that convert them. */
#include "mdf_c/export/exporter.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OPERATOR = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INTEGER = 3, ATTRIBUTE_GRAPH = 6, ATTRIBUTE_INTEGERS = 8, ATTRIBUTE_TYPE = 20 };

/* Where a part of a node stands, and what it is called; NULL: the node has none of this name. */
static const struct mdf_node *find_part(const struct mdf_graph_node *node, const char *id, const char **kind)
{
    const struct mdf_parameter *parameter = mdf_model_find_parameter(node, id);
    size_t output = mdf_model_find_output_port(node, id), input = mdf_model_find_input_port(node, id);

    *kind = parameter != NULL ? "parameter" : output < node->n_output_ports ? "output port" : "input port";
    return parameter != NULL ? parameter->definition.source
           : output < node->n_output_ports ? node->output_ports[output].source
           : input < node->n_input_ports   ? node->input_ports[input].source
                                           : NULL;
}

void export_is_about(struct exporter *exporter, const char *node, const char *part)
{
    const struct mdf_graph *graph = mdf_model_find_graph(exporter->model, exporter->program->graph_id);
    size_t at = graph != NULL && node != NULL ? mdf_model_find_node(graph, node) : SIZE_MAX;
    const struct mdf_node *whole = graph == NULL ? NULL : at < graph->n_nodes ? graph->nodes[at].source : graph->source, *found = NULL;
    const char *kind = "";

    exporter->about.line = 0;
    if (whole == NULL) {
        return;
    }
    if (at < graph->n_nodes && part != NULL) {
        found = find_part(&graph->nodes[at], part, &kind);
    }
    exporter->about = (struct mdf_origin){.file = mdf_node_file(exporter->model->document, whole),
                                          .line = (int)(found != NULL ? found : whole)->line,
                                          .column = (int)(found != NULL ? found : whole)->column};
    exporter->about.path = at >= graph->n_nodes ? mdf_arena_printf(&exporter->arena, "graph '%s'", graph->id)
                           : found != NULL      ? mdf_arena_printf(&exporter->arena, "node '%s', %s '%s'", node, kind, part)
                                                : mdf_arena_printf(&exporter->arena, "node '%s'", node);
}

bool export_refuse(struct exporter *exporter, const char *format, ...)
{
    const struct mdf_origin *at = exporter->at != NULL ? exporter->at : exporter->about.line > 0 ? &exporter->about : NULL;
    char why[600];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    if (exporter->error != NULL && exporter->error->code == MDF_OK) {
        mdf_error_set(exporter->error, MDF_UNSUPPORTED, "this can not be written as ONNX: %s", why);
        if (at != NULL) {
            mdf_error_at(exporter->error, at->file, at->line, at->column);
            mdf_error_in(exporter->error, "%s", at->path != NULL ? at->path : "");
        }
    }
    return false;
}

bool export_ask_opset(struct exporter *exporter, int opset, const char *what)
{
    exporter->wanted_opset = opset;
    return export_refuse(exporter, "%s%s needs %s opset than %d", what[0] >= 'A' && what[0] <= 'Z' ? "onnx::" : "", what,
                         opset > 0 ? "a newer" : "another", exporter->opset);
}

bool export_out_of_memory(struct exporter *exporter)
{
    mdf_memory_error(exporter->memory, exporter->error);
    return false;
}

/* `wanted`, or that with a number behind it, whatever the table does not have yet. */
static const char *unique_name(struct exporter *exporter, struct name_table *names, const char *wanted)
{
    const char *name = mdf_arena_printf(&exporter->arena, "%s", wanted);
    size_t *number = name != NULL ? name_table_add(names, &exporter->arena, name) : NULL, n;

    while (number != NULL && *number > 0) {
        n = (*number)++;
        name = mdf_arena_printf(&exporter->arena, "%s_%zu", wanted, n);
        number = name != NULL ? name_table_find(names, name) : NULL;
        if (number == NULL && name != NULL) {
            number = name_table_add(names, &exporter->arena, name);
            break;
        }
        number = name_table_find(names, wanted);
    }
    if (number == NULL) {
        export_out_of_memory(exporter);
        return NULL;
    }
    *number = 1;
    return name;
}

const char *export_name(struct exporter *exporter, const char *wanted)
{
    return unique_name(exporter, &exporter->names, wanted[0] != '\0' ? wanted : "value");
}

/* ------------------------------------------------------------------ constants */

struct mdf_value *export_make(struct exporter *exporter)
{
    struct mdf_value **kept;

    if (exporter->n_made == exporter->made_capacity) {
        struct mdf_value **grown = mdf_memory_grow(exporter->memory, exporter->made, &exporter->made_capacity,
                                                   exporter->n_made + 1, sizeof *grown);

        if (grown == NULL) {
            export_out_of_memory(exporter);
            return NULL;
        }
        exporter->made = grown;
    }
    kept = &exporter->made[exporter->n_made];
    *kept = mdf_arena_allocate(&exporter->arena, sizeof **kept);
    if (*kept == NULL) {
        export_out_of_memory(exporter);
        return NULL;
    }
    exporter->n_made++;
    return *kept;
}

static bool symbol_of_list(struct exporter *exporter, const struct mdf_value *list, struct symbol *symbol)
{
    struct symbol *items = mdf_arena_array(&exporter->arena, list->length, sizeof *items);

    if (items == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < list->length; i++) {
        if (!symbol_of_value(exporter, &mdf_value_items(list)[i], &items[i])) {
            return false;
        }
    }
    *symbol = (struct symbol){.kind = SYMBOL_LIST, .items = items, .n_items = list->length, .constant = list};
    return true;
}

bool symbol_of_value(struct exporter *exporter, const struct mdf_value *value, struct symbol *symbol)
{
    *symbol = (struct symbol){.kind = SYMBOL_NOTHING, .constant = value};
    switch ((mdf_kind)value->kind) {
    case MDF_KIND_NONE:
        return true;
    case MDF_KIND_TENSOR:
        symbol->kind = SYMBOL_TENSOR;
        symbol_set_form(exporter, symbol, value, true);
        return true;
    case MDF_KIND_LIST:
        return symbol_of_list(exporter, value, symbol);
    case MDF_KIND_DICT:
        break;
    }
    return export_refuse(exporter, "an object has no form in ONNX");
}

bool symbol_of_integers(struct exporter *exporter, const int64_t *items, size_t n, struct symbol *symbol)
{
    struct mdf_value *value = export_make(exporter);
    const int64_t length = (int64_t)n;
    int64_t *elements = value != NULL ? mdf_value_make_tensor(exporter->memory, value, MDF_DTYPE_INT64, 1, &length) : NULL;

    if (elements == NULL) {
        return export_out_of_memory(exporter);
    }
    if (n > 0) {
        memcpy(elements, items, n * sizeof *items);
    }
    return symbol_of_value(exporter, value, symbol);
}

bool symbol_of_real(struct exporter *exporter, double real, mdf_dtype dtype, struct symbol *symbol)
{
    struct mdf_value *value = export_make(exporter), single = {0};
    bool done = value != NULL && mdf_value_make_double(exporter->memory, &single, real) &&
                mdf_value_convert(exporter->memory, value, &single, dtype);

    mdf_value_clear(exporter->memory, &single);
    return done ? symbol_of_value(exporter, value, symbol) : export_out_of_memory(exporter);
}

bool symbol_of_zeros(struct exporter *exporter, const struct symbol *like, struct symbol *symbol)
{
    struct mdf_value *value = export_make(exporter);

    if (value == NULL || mdf_value_make_tensor(exporter->memory, value, like->dtype, like->rank, like->shape) == NULL) {
        return export_out_of_memory(exporter);
    }
    if (like->dtype != MDF_DTYPE_STRING) {
        memset(value->data, 0, value->length * mdf_dtype_size(like->dtype));
    }
    value->strength = like->strength;
    return symbol_of_value(exporter, value, symbol);
}

static const char *write_constant(struct exporter *exporter, const struct mdf_value *value)
{
    struct mdf_text tensor;

    for (size_t i = 0; i < exporter->n_written; i++) {
        if (exporter->written[i] == value) {
            return exporter->written_names[i];
        }
    }
    if (exporter->n_written == exporter->written_capacity) {
        const struct mdf_value **written = mdf_memory_grow(exporter->memory, exporter->written, &exporter->written_capacity,
                                                           exporter->n_written + 1, sizeof *written);
        const char **names;

        if (written == NULL) {
            export_out_of_memory(exporter);
            return NULL;
        }
        exporter->written = written;
        names = mdf_memory_grow(exporter->memory, exporter->written_names, &exporter->names_capacity, exporter->n_written + 1,
                                sizeof *names);
        if (names == NULL) {
            export_out_of_memory(exporter);
            return NULL;
        }
        exporter->written_names = names;
    }
    exporter->written_names[exporter->n_written] = export_name(exporter, "constant");
    if (exporter->written_names[exporter->n_written] == NULL) {
        return NULL;
    }
    mdf_text_init(&tensor, exporter->memory);
    onnx_put_tensor(&tensor, exporter->written_names[exporter->n_written], value);
    onnx_put_message(&exporter->initializers, GRAPH_INITIALIZER, &tensor);
    mdf_text_release(&tensor);
    exporter->written[exporter->n_written] = value;
    return exporter->written_names[exporter->n_written++];
}

const char *symbol_name(struct exporter *exporter, const struct symbol *symbol)
{
    switch (symbol->kind) {
    case SYMBOL_NOTHING:
        return "";
    case SYMBOL_TENSOR:
    case SYMBOL_SEQUENCE:
        return symbol->name != NULL ? symbol->name : write_constant(exporter, symbol->constant);
    case SYMBOL_LIST:
        export_refuse(exporter, "a list stands where ONNX wants an array");
        return NULL;
    case SYMBOL_UNKNOWN:
        export_refuse(exporter, "a value is used before it is computed");
        return NULL;
    }
    return NULL;
}

/* ------------------------------------------------------------------ types */

void symbol_set_form(struct exporter *exporter, struct symbol *symbol, const struct mdf_value *sample, bool with_shape)
{
    int64_t *shape;

    symbol->dtype = (mdf_dtype)sample->dtype;
    symbol->strength = sample->strength;
    symbol->has_shape = with_shape;
    symbol->rank = 0;
    if (with_shape && sample->rank > 0) {
        shape = mdf_arena_array(&exporter->arena, sample->rank, sizeof *shape);
        symbol->has_shape = shape != NULL;
        if (shape != NULL) {
            memcpy(shape, mdf_value_shape(sample), sample->rank * sizeof *shape);
            symbol->rank = sample->rank;
            symbol->shape = shape;
        }
    }
}

bool symbol_has_shape_of(const struct symbol *a, const struct symbol *b)
{
    return b->kind != SYMBOL_TENSOR || !b->has_shape ||
           (a->rank == b->rank && (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0));
}

bool symbol_is_list(const struct symbol *symbol)
{
    return symbol->kind == SYMBOL_LIST || symbol->stands_for_list ||
           (symbol->constant != NULL && symbol->constant->kind == MDF_KIND_LIST);
}

bool symbol_has_full_shape(const struct symbol *symbol)
{
    size_t i;

    for (i = 0; i < symbol->rank && symbol->shape[i] >= 0; i++) {
    }
    return symbol->kind == SYMBOL_TENSOR && symbol->has_shape && i == symbol->rank;
}

/* The number 1, which few functions refuse. */
static bool make_one(struct exporter *exporter, mdf_dtype dtype, struct mdf_value *one)
{
    struct mdf_value real = {0};
    bool done = mdf_value_make_double(exporter->memory, &real, 1) && mdf_value_convert(exporter->memory, one, &real, dtype);

    mdf_value_clear(exporter->memory, &real);
    return done;
}

static bool sample_tensor(struct exporter *exporter, const struct symbol *symbol, struct mdf_value *sample)
{
    int64_t *shape = mdf_arena_array(&exporter->arena, symbol->rank, sizeof *shape);
    struct mdf_value one = {0};
    size_t i, size = mdf_dtype_size(symbol->dtype);
    char *elements;

    for (i = 0; shape != NULL && i < symbol->rank; i++) {
        shape[i] = symbol->shape[i] < 0 ? 1 : symbol->shape[i];
    }
    elements = shape != NULL ? mdf_value_make_tensor(exporter->memory, sample, symbol->dtype, symbol->rank, shape) : NULL;
    if (elements == NULL) {
        return export_out_of_memory(exporter);
    }
    if (symbol->dtype != MDF_DTYPE_STRING) {
        if (!make_one(exporter, symbol->dtype, &one)) {
            return export_out_of_memory(exporter);
        }
        for (i = 0; i < sample->length; i++) {
            memcpy(elements + i * size, one.data, size);
        }
        mdf_value_clear(exporter->memory, &one);
    }
    sample->strength = symbol->strength;
    return true;
}

/* A list of rows. */
static bool sample_rows(struct exporter *exporter, const struct symbol *symbol, struct mdf_value *sample)
{
    struct symbol row = *symbol;
    struct mdf_value *items;
    size_t n;
    bool done;

    if (!symbol->has_shape || symbol->rank == 0) {
        return export_refuse(exporter, "how many items a list has is not known before it runs");
    }
    row.stands_for_list = false;
    row.rank--;
    row.shape++;
    n = symbol->shape[0] < 0 ? 1 : (size_t)symbol->shape[0];
    items = mdf_value_make_list(exporter->memory, sample, n);
    done = items != NULL || export_out_of_memory(exporter);
    for (size_t i = 0; done && i < n; i++) {
        done = sample_tensor(exporter, &row, &items[i]);
    }
    return done;
}

bool symbol_sample(struct exporter *exporter, const struct symbol *symbol, struct mdf_value *sample)
{
    struct mdf_value *items;

    if (symbol->constant != NULL) {
        return mdf_value_share(exporter->memory, sample, symbol->constant) || export_out_of_memory(exporter);
    }
    switch (symbol->kind) {
    case SYMBOL_UNKNOWN:
        return export_refuse(exporter, "a value is used before it is computed");
    case SYMBOL_NOTHING:
        return true;
    case SYMBOL_TENSOR:
        return symbol->dtype != MDF_DTYPE_NONE ? (symbol->stands_for_list ? sample_rows : sample_tensor)(exporter, symbol, sample)
                                               : export_refuse(exporter, "the type of an operand is not known: declare it");
    case SYMBOL_SEQUENCE:
        if (mdf_value_make_list(exporter->memory, sample, 0) == NULL) {
            return export_out_of_memory(exporter);
        }
        sample->dtype = (uint8_t)symbol->dtype;
        return true;
    case SYMBOL_LIST:
        items = mdf_value_make_list(exporter->memory, sample, symbol->n_items);
        if (items == NULL) {
            return export_out_of_memory(exporter);
        }
        for (size_t i = 0; i < symbol->n_items; i++) {
            if (!symbol_sample(exporter, &symbol->items[i], &items[i])) {
                return false;
            }
        }
        return true;
    }
    return false;
}

mdf_dtype export_common_type(struct exporter *exporter, const struct symbol *a, const struct symbol *b)
{
    return mdf_promote(a->dtype, (enum mdf_strength)a->strength, b->dtype, (enum mdf_strength)b->strength, exporter->program->real);
}

mdf_dtype export_common_type_of_all(struct exporter *exporter, const struct symbol *symbols, size_t n)
{
    struct symbol common = {0};

    for (size_t i = 0; i < n; i++) {
        if (symbols[i].kind == SYMBOL_TENSOR && common.kind == SYMBOL_TENSOR) {
            common.dtype = export_common_type(exporter, &common, &symbols[i]);
            common.strength = symbols[i].strength > common.strength ? symbols[i].strength : common.strength;
        } else if (symbols[i].kind == SYMBOL_TENSOR) {
            common = symbols[i];
        }
    }
    return common.dtype;
}

void export_put_type(struct mdf_text *message, const struct symbol *symbol, bool with_shape)
{
    enum { TYPE_TENSOR = 1, TYPE_SEQUENCE = 4, TYPE_OPTIONAL = 9, TYPE_OF_ITEM = 1 };
    enum { TENSOR_TYPE = 1, TENSOR_SHAPE, SHAPE_AXIS = 1, AXIS_SIZE = 1 };
    struct mdf_text tensor, shape, axis, type;

    mdf_text_init(&tensor, message->memory);
    mdf_text_init(&shape, message->memory);
    mdf_text_init(&axis, message->memory);
    mdf_text_init(&type, message->memory);
    onnx_put_integer(&tensor, TENSOR_TYPE, mdf_dtype_to_onnx(symbol->dtype));
    if (symbol->kind == SYMBOL_TENSOR && symbol->has_shape && with_shape) {
        for (size_t i = 0; i < symbol->rank; i++) {
            if (symbol->shape[i] >= 0) {
                onnx_put_integer(&axis, AXIS_SIZE, symbol->shape[i]);
            }
            onnx_put_message(&shape, SHAPE_AXIS, &axis);
        }
        onnx_put_message(&tensor, TENSOR_SHAPE, &shape);
    }
    onnx_put_message(symbol->kind == SYMBOL_SEQUENCE || symbol->is_optional ? &type : message, TYPE_TENSOR, &tensor);
    if (symbol->kind == SYMBOL_SEQUENCE) { /* Sequence { elem_type = 1 } */
        onnx_put_message(&tensor, TYPE_OF_ITEM, &type);
        onnx_put_message(symbol->is_optional ? &type : message, TYPE_SEQUENCE, &tensor);
    }
    if (symbol->is_optional) { /* Optional { elem_type = 1 } */
        onnx_put_message(&tensor, TYPE_OF_ITEM, &type);
        onnx_put_message(message, TYPE_OPTIONAL, &tensor);
    }
    mdf_text_release(&tensor);
    mdf_text_release(&shape);
    mdf_text_release(&axis);
    mdf_text_release(&type);
}

void export_put_value(struct mdf_text *message, const char *name, const struct symbol *symbol, bool with_shape)
{
    enum { VALUE_NAME = 1, VALUE_TYPE };
    struct mdf_text type;

    mdf_text_init(&type, message->memory);
    onnx_put_string(message, VALUE_NAME, name);
    if (symbol->dtype != MDF_DTYPE_NONE) {
        export_put_type(&type, symbol, with_shape);
        onnx_put_message(message, VALUE_TYPE, &type);
    }
    mdf_text_release(&type);
}

/* ------------------------------------------------------------------ nodes */

bool export_node(struct exporter *exporter, struct onnx_graph *graph, const char *domain, const char *operator,
                 const char * const *inputs, size_t n_inputs, const char *const *outputs, size_t n_outputs,
                 struct mdf_text *attributes)
{
    struct mdf_text node;
    const char *name;

    mdf_text_init(&node, exporter->memory);
    for (size_t i = 0; i < n_inputs; i++) {
        onnx_put_string(&node, NODE_INPUT, inputs[i]);
    }
    for (size_t i = 0; i < n_outputs; i++) {
        onnx_put_string(&node, NODE_OUTPUT, outputs[i]);
    }
    onnx_put_string(&node, NODE_OPERATOR, operator);
    if (domain[0] != '\0') {
        onnx_put_string(&node, NODE_DOMAIN, domain);
    }
    name = exporter->at != NULL && exporter->at->path != NULL ? unique_name(exporter, &exporter->node_names, exporter->at->path) : "";
    if (name == NULL) {
        return false;
    }
    if (name[0] != '\0') {
        onnx_put_string(&node, NODE_NAME, name);
    }
    if (attributes != NULL && attributes->length > 0) {
        mdf_text_append(&node, attributes->bytes, attributes->length);
        node.failed |= attributes->failed;
    }
    onnx_put_message(&graph->nodes, GRAPH_NODE, &node);
    mdf_text_release(&node);
    return !graph->nodes.failed || export_out_of_memory(exporter);
}

bool export_op(struct exporter *exporter, struct onnx_graph *graph, const char *operator, const struct symbol *const *inputs,
               size_t n, struct mdf_text *attributes, const struct symbol *like, struct symbol *result)
{
    const char **names = mdf_arena_array(&exporter->arena, n, sizeof *names), *output = export_name(exporter, operator);

    if (names == NULL || output == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = symbol_name(exporter, inputs[i]);
        if (names[i] == NULL) {
            return false;
        }
    }
    *result = like != NULL ? *like : (struct symbol){.kind = SYMBOL_TENSOR, .dtype = MDF_DTYPE_NONE};
    result->name = output;
    result->graph = graph;
    result->constant = NULL;
    return export_node(exporter, graph, "", operator, names, n, &output, 1, attributes);
}

/* The fields of an AttributeProto are in `attribute`. */
static void put_attribute(struct mdf_text *attributes, struct mdf_text *attribute)
{
    onnx_put_message(attributes, NODE_ATTRIBUTE, attribute);
    mdf_text_release(attribute);
}

void export_attribute_integer(struct mdf_text *attributes, const char *name, int64_t integer)
{
    struct mdf_text attribute;

    mdf_text_init(&attribute, attributes->memory);
    onnx_put_string(&attribute, ATTRIBUTE_NAME, name);
    onnx_put_integer(&attribute, ATTRIBUTE_INTEGER, integer);
    onnx_put_integer(&attribute, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_INT);
    put_attribute(attributes, &attribute);
}

void export_attribute_integers(struct mdf_text *attributes, const char *name, const int64_t *items, size_t n)
{
    struct mdf_text attribute;

    mdf_text_init(&attribute, attributes->memory);
    onnx_put_string(&attribute, ATTRIBUTE_NAME, name);
    for (size_t i = 0; i < n; i++) {
        onnx_put_integer(&attribute, ATTRIBUTE_INTEGERS, items[i]);
    }
    onnx_put_integer(&attribute, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_INTS);
    put_attribute(attributes, &attribute);
}

void export_attribute_graph(struct mdf_text *attributes, const char *name, struct mdf_text *graph)
{
    struct mdf_text attribute;

    mdf_text_init(&attribute, attributes->memory);
    onnx_put_string(&attribute, ATTRIBUTE_NAME, name);
    onnx_put_message(&attribute, ATTRIBUTE_GRAPH, graph);
    onnx_put_integer(&attribute, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_GRAPH);
    put_attribute(attributes, &attribute);
}

const struct mdf_operator *export_row(const struct exporter *exporter, const struct mdf_schema *schema)
{
    return schema->domain[0] == '\0' && schema->since <= exporter->opset ? mdf_operator_onnx(schema->name, schema->since) : NULL;
}
