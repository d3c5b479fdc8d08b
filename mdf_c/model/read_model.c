/* read_model.c - document to model. See model.h. Each class of MDF is a table of fields; one reader serves them all. */
#include "mdf_c/base/text.h"
#include "mdf_c/document/tree_builder.h"
#include "mdf_c/model/reader.h"
#include "schemas/onnx_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ what the classes do beyond their fields */

/* PsyNeuLink's exporter declares the type of a port's default value, not of what arrives there later (metadata {"type":
 * "InputPort"}): it is taken as the bare "int" or "float" of that width, which leaves a value with a fraction as it is. */
static mdf_status read_port_declaration(struct mdf_reader *reader, const struct mdf_node *source,
                                        struct mdf_declaration *declaration)
{
    const struct mdf_node *metadata = mdf_node_get(source, "metadata");
    const struct mdf_node *class = metadata != NULL ? mdf_node_get(metadata, "type") : NULL;
    mdf_status status = mdf_reader_declaration(reader, source, declaration);

    if (class != NULL && class->kind == MDF_NODE_STRING && strcmp(class->as.string.bytes, "InputPort") == 0) {
        declaration->type.exact = false;
    }
    return status;
}

static mdf_status finish_input_port(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    struct mdf_input_port *port = object;
    const struct mdf_node *reduce = mdf_node_get(source, "reduce");
    char message[160];

    if (reduce != NULL && reduce->kind == MDF_NODE_STRING) {
        const char *text = reduce->as.string.bytes;

        if (strcmp(text, "add") == 0) {
            port->reduce = MDF_REDUCE_ADD;
        } else if (strcmp(text, "multiply") == 0) {
            port->reduce = MDF_REDUCE_MULTIPLY;
        } else if (strcmp(text, "overwrite") != 0) {
            snprintf(message, sizeof message, "unknown reduce '%.60s': use overwrite, add or multiply; 'overwrite' is assumed",
                     text);
            mdf_reader_warn(reader, reduce->line, reduce->column, message);
        }
    } else if (reduce != NULL && reduce->kind != MDF_NODE_NULL) {
        return mdf_reader_fail(reader, reduce, MDF_MODEL, "reduce is a string: overwrite, add or multiply");
    }
    return read_port_declaration(reader, source, &port->declaration);
}

static mdf_status finish_output_port(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    return mdf_reader_declaration(reader, source, &((struct mdf_output_port *)object)->declaration);
}

/* "function" is a name, or {name: args}. */
static mdf_status finish_definition(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    struct mdf_definition *definition = object;
    const struct mdf_node *function = mdf_node_get(source, "function");

    if (function == NULL || function->kind == MDF_NODE_NULL) {
        return MDF_OK;
    }
    definition->function_source = function;
    if (function->kind == MDF_NODE_STRING) {
        definition->function = function->as.string.bytes;
        return MDF_OK;
    }
    if (function->kind != MDF_NODE_OBJECT || function->as.object.n != 1) {
        return mdf_reader_fail(reader, function, MDF_MODEL,
                               "a function is a name, or an object {name: arguments} with one entry");
    }
    if (definition->args != NULL) {
        return mdf_reader_fail(reader, function, MDF_MODEL, "a function written {name: arguments} can not have 'args' as well");
    }
    definition->function = function->as.object.entries[0].key;
    if (function->as.object.entries[0].value.kind == MDF_NODE_OBJECT) {
        definition->args = &function->as.object.entries[0].value;
    } else if (function->as.object.entries[0].value.kind != MDF_NODE_NULL) {
        return mdf_reader_fail(reader, function, MDF_MODEL, "the arguments of a function are an object");
    }
    return MDF_OK;
}

static mdf_status finish_parameter(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    struct mdf_parameter *parameter = object;
    const struct mdf_node *metadata = mdf_node_get(source, "metadata");
    const struct mdf_node *type = metadata != NULL ? mdf_node_get(metadata, "type") : NULL;
    const struct mdf_node *shape = metadata != NULL ? mdf_node_get(metadata, "shape") : NULL;
    struct mdf_declared_type declared;
    mdf_status status = finish_definition(reader, source, &parameter->definition);

    if (parameter->reset != NULL && (parameter->reset->kind != MDF_NODE_STRING ||
                                     strcmp(parameter->reset->as.string.bytes, "environment_state_update") != 0)) {
        return mdf_reader_fail(reader, parameter->reset, MDF_MODEL,
                               "'reset' has one meaning, \"environment_state_update\", and this is none");
    }
    parameter->declaration.type.dtype = MDF_DTYPE_NONE;
    /* Metadata is free: it declares a type only where it reads as one. */
    if (status == MDF_OK && type != NULL && type->kind == MDF_NODE_STRING && mdf_parse_type(type->as.string.bytes, &declared) &&
        (shape == NULL || shape->kind == MDF_NODE_LIST || shape->kind == MDF_NODE_NUMBERS)) {
        status = mdf_reader_declaration(reader, metadata, &parameter->declaration);
    }
    return status;
}

/* Without a test it never holds, and needs no value. */
static mdf_status finish_parameter_condition(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    const struct mdf_parameter_condition *condition = object;

    return condition->test != NULL && condition->value == NULL ? mdf_reader_fail(reader, source, MDF_MODEL, "'value' is missing")
                                                               : MDF_OK;
}

/* The parameters of an edge are free, but for its weight: what is nearly called so is meant to be it. */
static void warn_of_weight(struct mdf_reader *reader, const struct mdf_node *parameters)
{
    char message[200];

    for (size_t i = 0; i < parameters->as.object.n && mdf_node_get(parameters, "weight") == NULL; i++) {
        const struct mdf_node_entry *entry = &parameters->as.object.entries[i];
        struct mdf_nearest nearest;

        mdf_nearest_begin(&nearest, entry->key);
        mdf_nearest_offer(&nearest, "weight");
        if (mdf_nearest_result(&nearest) != NULL) {
            snprintf(message, sizeof message, "the parameter '%.60s' of an edge is ignored; did you mean 'weight'?", entry->key);
            mdf_reader_warn(reader, entry->line, entry->column, message);
        }
    }
}

static mdf_status finish_edge(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    const struct mdf_node *parameters = mdf_node_get(source, "parameters"), *feedback = mdf_node_get(source, "feedback");

    ((struct mdf_edge *)object)->is_feedback = feedback != NULL && feedback->kind == MDF_NODE_BOOL && feedback->as.truth;
    if (parameters != NULL && parameters->kind == MDF_NODE_OBJECT) {
        ((struct mdf_edge *)object)->weight = mdf_node_get(parameters, "weight");
        warn_of_weight(reader, parameters);
    } else if (parameters != NULL && parameters->kind != MDF_NODE_NULL) {
        return mdf_reader_fail(reader, parameters, MDF_MODEL, "the parameters of an edge are an object");
    }
    return MDF_OK;
}

/* ------------------------------------------------------------------ the classes */

#define AT(structure, field) offsetof(struct structure, field)
#define COMMON_FIELDS                                                               \
    {"id", FIELD_KNOWN, 0, false, NULL}, {"metadata", FIELD_KNOWN, 0, false, NULL}, \
    {                                                                               \
        "notes", FIELD_KNOWN, 0, false, NULL                                        \
    }
#define DECLARATION_FIELDS                           \
    {"shape", FIELD_KNOWN, 0, false, NULL, "shape"}, \
    {                                                \
        "type", FIELD_KNOWN, 0, false, NULL, "type"  \
    }
#define END_OF_FIELDS                     \
    {                                     \
        NULL, FIELD_KNOWN, 0, false, NULL \
    }

static const struct field input_port_fields[] = {COMMON_FIELDS,
                                                 {"default_value", FIELD_ANY, AT(mdf_input_port, default_value), false, NULL},
                                                 DECLARATION_FIELDS,
                                                 {"reduce", FIELD_KNOWN, 0, false, NULL, "text"},
                                                 END_OF_FIELDS};
static const struct class input_port_class = {
    "input port",  sizeof(struct mdf_input_port), AT(mdf_input_port, source), input_port_fields, finish_input_port, false,
    BROKEN_IS_KEPT};

static const struct field output_port_fields[] = {COMMON_FIELDS,
                                                  {"value", FIELD_ANY, AT(mdf_output_port, value), false, NULL},
                                                  {"default_initial_value", FIELD_ANY, AT(mdf_output_port, initial), false, NULL},
                                                  DECLARATION_FIELDS,
                                                  END_OF_FIELDS};
static const struct class output_port_class = {
    "output port", sizeof(struct mdf_output_port), AT(mdf_output_port, source), output_port_fields, finish_output_port, true,
    BROKEN_IS_KEPT};

static const struct field function_fields[] = {COMMON_FIELDS,
                                               {"function", FIELD_KNOWN, 0, false, NULL, "function_call"},
                                               {"args", FIELD_OBJECT, AT(mdf_definition, args), false, NULL},
                                               {"value", FIELD_ANY, AT(mdf_definition, value), false, NULL},
                                               END_OF_FIELDS};
static const struct class function_class = {
    "function",       sizeof(struct mdf_definition), AT(mdf_definition, source), function_fields, finish_definition, true,
    BROKEN_IS_MARKED, AT(mdf_definition, is_broken)};

static const struct field condition_fields[] = {COMMON_FIELDS,
                                                {"test", FIELD_ANY, AT(mdf_parameter_condition, test), false, NULL},
                                                {"value", FIELD_ANY, AT(mdf_parameter_condition, value), false, NULL},
                                                END_OF_FIELDS};
static const struct class condition_class = {"condition",
                                             sizeof(struct mdf_parameter_condition),
                                             AT(mdf_parameter_condition, source),
                                             condition_fields,
                                             finish_parameter_condition,
                                             false};

static const struct field parameter_fields[] = {
    COMMON_FIELDS,
    {"value", FIELD_ANY, AT(mdf_parameter, definition.value), false, NULL},
    {"default_initial_value", FIELD_ANY, AT(mdf_parameter, default_initial_value), false, NULL},
    {"time_derivative", FIELD_ANY, AT(mdf_parameter, time_derivative), false, NULL},
    {"reset", FIELD_ANY, AT(mdf_parameter, reset), false, NULL, "text"},
    {"function", FIELD_KNOWN, 0, false, NULL, "function_call"},
    {"args", FIELD_OBJECT, AT(mdf_parameter, definition.args), false, NULL},
    {"conditions", FIELD_COLLECTION, AT(mdf_parameter, conditions), false, &condition_class},
    END_OF_FIELDS};
static const struct class parameter_class = {"parameter",
                                             sizeof(struct mdf_parameter),
                                             AT(mdf_parameter, definition.source),
                                             parameter_fields,
                                             finish_parameter,
                                             true,
                                             BROKEN_IS_MARKED,
                                             AT(mdf_parameter, definition.is_broken)};

static mdf_status finish_node(struct mdf_reader *reader, const struct mdf_node *source, void *object);
static const struct class node_class, edge_class;

/* A node with a graph: under "graph", or with the graph's nodes, edges and conditions as fields of its own. */
static const struct field node_fields[] = {
    COMMON_FIELDS,
    {"graph", FIELD_KNOWN, 0, false, NULL, "graph_or_name"},
    {"nodes", FIELD_KNOWN, 0, false, &node_class},
    {"edges", FIELD_KNOWN, 0, false, &edge_class},
    {"conditions", FIELD_KNOWN, 0, false, NULL, "schedule"},
    {"repeat_until_finished", FIELD_ANY, AT(mdf_graph_node, repeat), false, NULL, "count"},
    {"input_ports", FIELD_COLLECTION, AT(mdf_graph_node, input_ports), false, &input_port_class},
    {"functions", FIELD_COLLECTION, AT(mdf_graph_node, functions), false, &function_class},
    {"parameters", FIELD_COLLECTION, AT(mdf_graph_node, parameters), false, &parameter_class},
    {"output_ports", FIELD_COLLECTION, AT(mdf_graph_node, output_ports), false, &output_port_class},
    END_OF_FIELDS};
static const struct class node_class = {
    "node", sizeof(struct mdf_graph_node), AT(mdf_graph_node, source), node_fields, finish_node, false, BROKEN_IS_LOST};

static const struct field edge_fields[] = {COMMON_FIELDS,
                                           {"sender", FIELD_TEXT, AT(mdf_edge, sender), true, NULL},
                                           {"receiver", FIELD_TEXT, AT(mdf_edge, receiver), true, NULL},
                                           {"sender_port", FIELD_TEXT, AT(mdf_edge, sender_port), true, NULL},
                                           {"receiver_port", FIELD_TEXT, AT(mdf_edge, receiver_port), true, NULL},
                                           {"parameters", FIELD_KNOWN, 0, false, NULL, "object"},
                                           {"feedback", FIELD_KNOWN, 0, false, NULL},
                                           END_OF_FIELDS};
static const struct class edge_class = {"edge", sizeof(struct mdf_edge), AT(mdf_edge, source), edge_fields, finish_edge, false};

static const struct field graph_fields[] = {COMMON_FIELDS,
                                            {"nodes", FIELD_COLLECTION, AT(mdf_graph, nodes), false, &node_class},
                                            {"edges", FIELD_COLLECTION, AT(mdf_graph, edges), false, &edge_class},
                                            {"parameters", FIELD_OBJECT, AT(mdf_graph, parameters), false, NULL},
                                            {"conditions", FIELD_OBJECT, AT(mdf_graph, conditions), false, NULL, "schedule"},
                                            END_OF_FIELDS};
static const struct class graph_class = {
    "graph", sizeof(struct mdf_graph), AT(mdf_graph, source), graph_fields, mdf_reader_finish_graph, false, BROKEN_IS_LOST};

/* A node as the graph that it has: what else it has is the node's own. */
static const struct field nested_graph_fields[] = {
    COMMON_FIELDS,
    {"nodes", FIELD_COLLECTION, AT(mdf_graph, nodes), false, &node_class},
    {"edges", FIELD_COLLECTION, AT(mdf_graph, edges), false, &edge_class},
    {"conditions", FIELD_OBJECT, AT(mdf_graph, conditions), false, NULL, "schedule"},
    {"parameters", FIELD_KNOWN, 0, false, NULL},
    {"input_ports", FIELD_KNOWN, 0, false, NULL},
    {"functions", FIELD_KNOWN, 0, false, NULL},
    {"output_ports", FIELD_KNOWN, 0, false, NULL},
    {"repeat_until_finished", FIELD_KNOWN, 0, false, NULL, "count"},
    END_OF_FIELDS};
static const struct class nested_graph_class = {
    "graph", sizeof(struct mdf_graph), AT(mdf_graph, source), nested_graph_fields, mdf_reader_finish_graph, false};

static const struct field model_fields[] = {COMMON_FIELDS,
                                            {"format", FIELD_KNOWN, 0, false, NULL},
                                            {"generating_application", FIELD_KNOWN, 0, false, NULL},
                                            {"onnx_opset_version", FIELD_KNOWN, 0, false, NULL, "opset"},
                                            {"graphs", FIELD_COLLECTION, AT(mdf_model, graphs), true, &graph_class},
                                            END_OF_FIELDS};
static const struct class model_class = {"model", sizeof(struct mdf_model), AT(mdf_model, source), model_fields, NULL, false};

const struct class *mdf_reader_model_class(void)
{
    return &model_class;
}

/* ------------------------------------------------------------------ reading by table */

static const char *text_of(struct mdf_reader *reader, const struct mdf_node *node)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    if (node->kind == MDF_NODE_STRING) {
        return node->as.string.bytes;
    }
    if (node->kind == MDF_NODE_INT) {
        return mdf_arena_printf(reader->arena, "%lld", (long long)node->as.integer);
    }
    mdf_format_float64(node->as.real, number);
    return mdf_arena_text(reader->arena, number, strlen(number));
}

static mdf_status read_collection(struct mdf_reader *reader, const struct mdf_node *node, const struct class *class, char *place);

static mdf_status read_field(struct mdf_reader *reader, const struct mdf_node *node, const struct field *field, char *object)
{
    char message[160];

    if (node->kind == MDF_NODE_NULL) {
        return MDF_OK;
    }
    switch (field->type) {
    case FIELD_KNOWN:
        return MDF_OK;
    case FIELD_TEXT:
        if (node->kind != MDF_NODE_STRING && node->kind != MDF_NODE_INT && node->kind != MDF_NODE_REAL) {
            break;
        }
        *(const char **)(void *)(object + field->offset) = text_of(reader, node);
        return *(const char **)(void *)(object + field->offset) == NULL ? mdf_reader_out_of_memory(reader) : MDF_OK;
    case FIELD_OBJECT:
        if (node->kind != MDF_NODE_OBJECT) {
            break;
        }
        /* fall through */
    case FIELD_ANY:
        *(const struct mdf_node **)(void *)(object + field->offset) = node;
        return MDF_OK;
    case FIELD_COLLECTION:
        return read_collection(reader, node, field->items, object + field->offset);
    }
    snprintf(message, sizeof message, "'%s' must be %s, not %s", field->name,
             field->type == FIELD_TEXT ? "a string" : "an object", mdf_node_describe(node));
    return mdf_reader_fail(reader, node, MDF_MODEL, message);
}

static const struct field *find_field(const struct field *fields, const char *name)
{
    for (; fields->name != NULL && !mdf_text_is(fields->name, name); fields++) {
    }
    return fields->name != NULL ? fields : NULL;
}

/* The class that has a field of that name, which is none of all classes; NULL: none has. */
static const char *class_with_field(const char *name)
{
    static const struct class *const classes[] = {&graph_class,      &node_class,        &parameter_class, &function_class,
                                                  &input_port_class, &output_port_class, &edge_class};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (find_field(classes[i]->fields, name) != NULL) {
            return classes[i]->what;
        }
    }
    return NULL;
}

/* "; known are 'value', 'function', ...", without what every class has. */
static void list_fields(const struct field *fields, char *text, size_t size)
{
    size_t used = 0;

    for (; fields->name != NULL && used < size; fields++) {
        if (find_field((const struct field[]){COMMON_FIELDS, END_OF_FIELDS}, fields->name) == NULL) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "; its fields are: " : ", ", fields->name);
        }
    }
}

/* "params", "inputs": the first letters of a field, cut short; or its last words: "initial_value". */
static bool is_part_of(const char *key, const char *name)
{
    size_t n = 0, length = strlen(key), whole = strlen(name);

    while (key[n] != '\0' && key[n] == name[n]) {
        n++;
    }
    return (n >= 4 && n + 1 >= length) ||
           (length > 4 && length < whole && name[whole - length - 1] == '_' && strcmp(name + whole - length, key) == 0);
}

/* Whether the text of a key without a value, as "3" of "{value: 2,3}", is warned of already (mdf_c/document/yaml_mistakes.h). */
static bool is_told_of(const struct mdf_reader *reader, const struct mdf_node_entry *entry)
{
    const mdf_diagnostics *list = reader->warnings != NULL ? reader->warnings->list : NULL;
    size_t n = list != NULL ? mdf_diagnostics_length(list) : 0, i;
    mdf_diagnostic told;

    for (i = 0; i < n && mdf_diagnostics_get(list, i, &told); i++) {
        if (told.line == mdf_position(entry->line) && told.column == mdf_position(entry->column)) {
            return true;
        }
    }
    return false;
}

static void warn_unknown_field(struct mdf_reader *reader, const struct mdf_node_entry *entry, const struct field *fields)
{
    const char *class = class_with_field(entry->key), *guess;
    const struct field *field;
    struct mdf_nearest nearest;
    char message[400], cure[240] = "";

    if (entry->value.kind == MDF_NODE_NULL && is_told_of(reader, entry)) {
        return;
    }
    mdf_nearest_begin(&nearest, entry->key);
    for (field = fields; field->name != NULL; field++) {
        mdf_nearest_offer(&nearest, field->name);
    }
    guess = mdf_nearest_result(&nearest);
    for (field = fields; guess == NULL && field->name != NULL; field++) {
        guess = is_part_of(entry->key, field->name) ? field->name : NULL;
    }
    if (class != NULL && (guess == NULL || nearest.best_distance > 1)) {
        snprintf(cure, sizeof cure, "; it is a field of a%s %s", strchr("aeiou", class[0]) != NULL ? "n" : "", class);
    } else if (guess != NULL) {
        snprintf(cure, sizeof cure, "; did you mean '%s'?", guess);
    } else {
        list_fields(fields, cure, sizeof cure);
    }
    snprintf(message, sizeof message, "unknown field '%.60s' is ignored%s", entry->key, cure);
    mdf_reader_warn(reader, entry->line, entry->column, message);
}

static mdf_status read_fields(struct mdf_reader *reader, const struct mdf_node *node, const struct field *fields, void *object)
{
    const struct field *field;
    char message[160];

    for (size_t i = 0; i < node->as.object.n; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];
        mdf_status status;

        field = find_field(fields, entry->key);
        if (field == NULL) {
            warn_unknown_field(reader, entry, fields);
            continue;
        }
        status = read_field(reader, &entry->value, field, object);
        if (status != MDF_OK) {
            return status;
        }
    }
    for (field = fields; field->name != NULL; field++) {
        const struct mdf_node *value = mdf_node_get(node, field->name);

        if (field->required && (value == NULL || value->kind == MDF_NODE_NULL)) {
            snprintf(message, sizeof message, "'%s' is missing", field->name);
            return mdf_reader_fail(reader, node, MDF_MODEL, message);
        }
    }
    return MDF_OK;
}

static mdf_status read_object(struct mdf_reader *reader, const struct mdf_node *node, const struct class *class, const char *id,
                              char *object)
{
    size_t length = strlen(reader->path);
    mdf_status status = MDF_OK;
    char message[160];

    mdf_reader_enter(reader, class->what, id);
    *(const char **)(void *)object = id;
    *(const struct mdf_node **)(void *)(object + class->source_offset) = node;
    if (node->kind != MDF_NODE_OBJECT && class->bare_value) {
        for (const struct field *field = class->fields; field->name != NULL; field++) {
            if (strcmp(field->name, "value") == 0) {
                *(const struct mdf_node **)(void *)(object + field->offset) = node->kind == MDF_NODE_NULL ? NULL : node;
            }
        }
    } else if (node->kind != MDF_NODE_OBJECT) {
        snprintf(message, sizeof message, "must be an object, not %s", mdf_node_describe(node));
        return mdf_reader_fail(reader, node, MDF_MODEL, message);
    } else {
        status = read_fields(reader, node, class->fields, object);
    }
    if (status == MDF_OK && class->finish != NULL) {
        status = class->finish(reader, node, object);
    }
    reader->path[length] = '\0';
    return status;
}

/* An item of a collection written as a list: {"id": ID, ...}, or {ID: {...}}. */
static mdf_status list_item(struct mdf_reader *reader, const struct mdf_node *item, const struct class *class, const char **id,
                            const struct mdf_node **body)
{
    const struct mdf_node *named = mdf_node_get(item, "id");
    char message[160];

    if (named != NULL && (named->kind == MDF_NODE_STRING || named->kind == MDF_NODE_INT)) {
        *id = text_of(reader, named);
        *body = item;
        return *id == NULL ? mdf_reader_out_of_memory(reader) : MDF_OK;
    }
    if (item->kind == MDF_NODE_OBJECT && item->as.object.n == 1) {
        *id = item->as.object.entries[0].key;
        *body = &item->as.object.entries[0].value;
        return MDF_OK;
    }
    snprintf(message, sizeof message, "a%s %s in a list must be an object with an 'id'; under its id, 'ID: {...}', it has no '-'",
             strchr("aeiou", class->what[0]) != NULL ? "n" : "", class->what);
    return mdf_reader_fail(reader, item, MDF_MODEL, message);
}

/* Where an item of that id already stands, it gives way, with a warning. `count` is where it stands else; SIZE_MAX: out of
 * memory. */
static size_t place_of(struct mdf_reader *reader, const struct mdf_node *node, const struct class *class, const char *id,
                       struct name_table *names, size_t count)
{
    size_t *number = name_table_add(names, reader->arena, id);
    char message[160];

    if (number == NULL) {
        return SIZE_MAX;
    }
    if (*number == 0) {
        *number = count + 1;
        return count;
    }
    snprintf(message, sizeof message, "the %s '%.60s' is there twice; the last one is taken", class->what, id);
    mdf_reader_warn(reader, node->line, node->column, message);
    return *number - 1;
}

/* After an error in an item: whether reading goes on. */
static bool skip_item(struct mdf_reader *reader, const struct class *class, const char *id, char *object, size_t length)
{
    if (!mdf_reader_recover(reader, length)) {
        return false;
    }
    if (class->broken == BROKEN_IS_MARKED) {
        *(bool *)(void *)(object + class->is_broken_offset) = true;
    }
    if (class->broken == BROKEN_IS_LOST) {
        reader->n_lost++;
        return name_table_add(&reader->lost, reader->arena, id) != NULL;
    }
    return true;
}

static mdf_status read_collection(struct mdf_reader *reader, const struct mdf_node *node, const struct class *class, char *place)
{
    size_t n = mdf_node_length(node), length = strlen(reader->path), i, count = 0;
    struct name_table names = {0};
    char message[200], *objects;

    if (node->kind != MDF_NODE_OBJECT && node->kind != MDF_NODE_LIST) {
        snprintf(message, sizeof message, "the %ss must be an object {ID: {...}}, or a list of objects with an 'id', not %s%s",
                 class->what, node->kind == MDF_NODE_NUMBERS ? "numbers" : mdf_node_describe(node),
                 node->kind == MDF_NODE_STRING && strchr(node->as.string.bytes, ' ') != NULL ? ": is a ':' missing in it?" : "");
        return mdf_reader_fail(reader, node, MDF_MODEL, message);
    }
    objects = mdf_arena_array(reader->arena, n, class->size);
    if (objects == NULL) {
        return mdf_reader_out_of_memory(reader);
    }
    for (i = 0; i < n; i++) {
        const struct mdf_node *body;
        const char *id;
        mdf_status status = MDF_OK;
        size_t at = count;

        if (node->kind == MDF_NODE_OBJECT) {
            id = node->as.object.entries[i].key;
            body = &node->as.object.entries[i].value;
        } else {
            status = list_item(reader, &node->as.list.items[i], class, &id, &body);
            if (status != MDF_OK && mdf_reader_recover(reader, length)) {
                reader->n_lost++;
                continue;
            }
            if (status != MDF_OK) {
                return status;
            }
            at = place_of(reader, body, class, id, &names, count);
            if (at == SIZE_MAX) {
                return mdf_reader_out_of_memory(reader);
            }
            memset(objects + at * class->size, 0, class->size);
        }
        status = read_object(reader, body, class, id, objects + at * class->size);
        if (status != MDF_OK && !skip_item(reader, class, id, objects + at * class->size, length)) {
            return status;
        }
        if (status != MDF_OK && class->broken != BROKEN_IS_KEPT && class->broken != BROKEN_IS_MARKED) {
            memset(objects + at * class->size, 0, class->size);
            if (at < count) { /* of two with one id, the second, in whose place the first has been */
                return status;
            }
            continue;
        }
        count += at == count;
    }
    if (names.n == 0 && !mdf_model_index(&names, reader->arena, objects, count, class->size)) {
        return mdf_reader_out_of_memory(reader);
    }
    memcpy(place, &objects, sizeof objects);
    memcpy(place + sizeof objects, &count, sizeof count);
    memcpy(place + sizeof objects + sizeof count, &names, sizeof names);
    return MDF_OK;
}

/* ------------------------------------------------------------------ graphs within nodes */

/* The graph of that id in the model; NULL with the error set. */
static const struct mdf_node *find_graph(struct mdf_reader *reader, const struct mdf_node *named)
{
    const char *id = named->as.string.bytes, *candidate;
    const struct mdf_node *body;
    struct mdf_nearest nearest;
    char message[200];
    size_t n = reader->graphs != NULL ? mdf_node_length(reader->graphs) : 0, i;

    mdf_nearest_begin(&nearest, id);
    for (i = 0; i < n; i++) {
        if (reader->graphs->kind == MDF_NODE_OBJECT) {
            candidate = reader->graphs->as.object.entries[i].key;
            body = &reader->graphs->as.object.entries[i].value;
        } else if (reader->graphs->kind != MDF_NODE_LIST ||
                   list_item(reader, &reader->graphs->as.list.items[i], &graph_class, &candidate, &body) != MDF_OK) {
            return NULL;
        }
        if (strcmp(candidate, id) == 0 && body->kind == MDF_NODE_OBJECT) {
            return body;
        }
        mdf_nearest_offer(&nearest, candidate);
    }
    snprintf(message, sizeof message, "the model has no graph '%.80s'", id);
    mdf_reader_fail_with_guess(reader, named, message, &nearest);
    return NULL;
}

/* Whether it is an object whose every key is one of the fields: nothing is one, too. */
static bool has_fields_only(const struct mdf_node *node, const struct field *fields)
{
    for (size_t i = 0; node->kind == MDF_NODE_OBJECT && i < node->as.object.n; i++) {
        if (find_field(fields, node->as.object.entries[i].key) == NULL) {
            return false;
        }
    }
    return node->kind == MDF_NODE_OBJECT;
}

/* What "graph" holds: a graph, {ID: graph}, or the id of a graph of the model. */
static mdf_status read_named_graph(struct mdf_reader *reader, const struct mdf_node *source, const char *id,
                                   struct mdf_graph *graph)
{
    const struct mdf_node *own, *found = mdf_node_find_graph(source, &id);

    if (source->kind == MDF_NODE_STRING) {
        id = source->as.string.bytes;
        source = find_graph(reader, source);
        if (source == NULL) {
            return MDF_NAME;
        }
    } else if (found != NULL) {
        source = found;
    } else if (source->kind == MDF_NODE_OBJECT && source->as.object.n == 1 && !has_fields_only(source, graph_fields)) {
        id = source->as.object.entries[0].key;
        source = &source->as.object.entries[0].value;
    }
    if (!has_fields_only(source, graph_fields) && mdf_node_get(source, "nodes") == NULL) {
        return mdf_reader_fail(reader, source, MDF_MODEL,
                               "'graph' must be a graph, an object {ID: graph}, or the id of a graph of the model");
    }
    own = mdf_node_get(source, "id");
    return read_object(reader, source, &graph_class, own != NULL && own->kind == MDF_NODE_STRING ? own->as.string.bytes : id,
                       (char *)graph);
}

/* Edges and conditions belong to a graph: a node without one has no use for them. */
static void warn_without_graph(struct mdf_reader *reader, const struct mdf_node *source)
{
    static const char *const names[] = {"edges", "conditions"};
    char message[160];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct mdf_node *field = mdf_node_get(source, names[i]);

        if (field != NULL) {
            snprintf(message, sizeof message, "field '%s' of a node without 'nodes' is ignored", names[i]);
            mdf_reader_warn(reader, field->line, field->column, message);
        }
    }
}

static mdf_status add_nested_ports(struct mdf_reader *reader, struct mdf_graph_node *node)
{
    const struct mdf_input_port *unlike = NULL;
    char message[280];

    if (!mdf_model_add_nested_ports(reader->arena, node, &unlike)) {
        return mdf_reader_out_of_memory(reader);
    }
    if (unlike == NULL) {
        return MDF_OK;
    }
    snprintf(
        message, sizeof message,
        "input ports '%.60s' of the graph within the node are fed as one, but do not say the same 'reduce': give the node an "
        "input port '%.60s' that says which",
        unlike->id, unlike->id);
    return mdf_reader_fail(reader, unlike->source, MDF_MODEL, message);
}

static mdf_status finish_node(struct mdf_reader *reader, const struct mdf_node *source, void *object)
{
    const struct mdf_node *named = mdf_node_get(source, "graph"), *nodes = mdf_node_get(source, "nodes");
    struct mdf_graph_node *node = object;
    struct mdf_graph *graph;
    mdf_status status;

    if (node->repeat != NULL && (node->repeat->kind != MDF_NODE_INT || node->repeat->as.integer < 1)) {
        return mdf_reader_fail(reader, node->repeat, MDF_MODEL,
                               "'repeat_until_finished' is the greatest number of runs, from 1 on");
    }
    status = mdf_reader_add_event_ports(reader, node);
    if (status != MDF_OK) {
        return status;
    }
    named = named != NULL && named->kind == MDF_NODE_NULL ? NULL : named;
    nodes = nodes != NULL && nodes->kind == MDF_NODE_NULL ? NULL : nodes;
    if (nodes == NULL) {
        warn_without_graph(reader, source);
    }
    if (named == NULL && nodes == NULL) {
        return MDF_OK;
    }
    if (named != NULL && nodes != NULL) {
        return mdf_reader_fail(reader, named, MDF_MODEL, "a node has one graph: under 'graph', or by 'nodes' of its own");
    }
    if (reader->depth >= MDF_MAX_GRAPH_DEPTH) {
        return mdf_reader_fail(reader, source, MDF_LIMIT, "graphs within nodes are nested too deep (does a graph use itself?)");
    }
    graph = mdf_arena_allocate(reader->arena, sizeof *graph);
    if (graph == NULL) {
        return mdf_reader_out_of_memory(reader);
    }
    reader->depth++;
    status = named != NULL ? read_named_graph(reader, named, node->id, graph)
                           : read_object(reader, source, &nested_graph_class, node->id, (char *)graph);
    reader->depth--;
    node->graph = graph;
    reader->n_nested += 1 + graph->n_nodes;
    if (status == MDF_OK && reader->n_nested > MDF_MAX_NESTED_NODES) {
        status = mdf_reader_fail(reader, source, MDF_LIMIT,
                                 "graphs that are named within graphs again and again stand for too many nodes");
    }
    return status == MDF_OK ? add_nested_ports(reader, node) : status;
}

const struct mdf_node *mdf_node_find_graph(const struct mdf_node *node, const char **id)
{
    const struct mdf_node *only;

    if (node->kind != MDF_NODE_OBJECT || mdf_node_get(node, "nodes") != NULL) {
        return node->kind == MDF_NODE_OBJECT ? node : NULL;
    }
    only = node->as.object.n == 1 ? &node->as.object.entries[0].value : NULL;
    if (only == NULL || only->kind != MDF_NODE_OBJECT || mdf_node_get(only, "nodes") == NULL) {
        return NULL;
    }
    *id = node->as.object.entries[0].key;
    return only;
}

mdf_status mdf_model_read_graph(struct mdf_arena *arena, const struct mdf_document *document, const struct mdf_warnings *warnings,
                                const char *id, const struct mdf_node *source, struct mdf_graph *graph, mdf_error *error)
{
    struct mdf_reader reader = {.arena = arena, .document = document, .warnings = warnings, .error = error};
    const struct mdf_node *own = mdf_node_get(source, "id");

    return read_object(&reader, source, &graph_class, own != NULL && own->kind == MDF_NODE_STRING ? own->as.string.bytes : id,
                       (char *)graph);
}

/* ------------------------------------------------------------------ the model */

static mdf_status find_model(struct mdf_reader *reader, struct mdf_model *model)
{
    const struct mdf_node *root = &model->document->root;

    model->source = mdf_document_model(root, &model->id);
    if (model->source != NULL) {
        return MDF_OK;
    }
    return mdf_reader_fail(reader, root, MDF_MODEL,
                           root->kind == MDF_NODE_OBJECT ? "this is not an MDF model: it has no 'graphs'"
                                                         : "an MDF model is an object {ID: {\"graphs\": ...}}");
}

static mdf_status read_opset(struct mdf_reader *reader, struct mdf_model *model)
{
    const struct mdf_node *version = mdf_node_get(model->source, "onnx_opset_version");
    char message[120];
    double real = 0;
    int64_t integer = 0;
    bool whole = false;

    model->opset = MDF_DEFAULT_OPSET;
    if (version == NULL || version->kind == MDF_NODE_NULL) {
        return MDF_OK;
    }
    if (version->kind == MDF_NODE_INT) {
        integer = version->as.integer;
        whole = true;
    } else if (version->kind == MDF_NODE_STRING) {
        mdf_parse_python_number(version->as.string.bytes, &real, &integer, &whole);
    }
    if (!whole || integer < 1 || integer > 1000) {
        return mdf_reader_fail(reader, version, MDF_MODEL,
                               "onnx_opset_version must be a whole number from 1 on, as a number or a string");
    }
    if (integer > mdf_schema_newest_opset()) {
        snprintf(message, sizeof message,
                 "onnx_opset_version %lld is newer than all that is known here: operators are those of %d", (long long)integer,
                 mdf_schema_newest_opset());
        mdf_reader_warn(reader, version->line, version->column, message);
    }
    model->opset = (int)integer;
    model->declares_opset = true;
    return MDF_OK;
}

mdf_status mdf_model_read(struct mdf_model *model, mdf_error *error)
{
    mdf_error last = {0};
    struct mdf_reader reader = {.arena = &model->arena,
                                .document = model->document,
                                .warnings = &model->warnings,
                                .error = &last,
                                .list = model->warnings.list};
    mdf_status status = find_model(&reader, model);

    if (status == MDF_OK) {
        status = read_opset(&reader, model);
    }
    if (status == MDF_OK) {
        reader.graphs = mdf_node_get(model->source, "graphs");
        status = read_fields(&reader, model->source, model_fields, model);
    }
    if (status == MDF_OK && model->n_graphs == 0 && reader.first.code == MDF_OK) {
        status = mdf_reader_fail(&reader, model->source, MDF_MODEL, "the model has no graphs");
    }
    model->is_partial = status == MDF_OK && reader.first.code != MDF_OK && reader.n_lost == 0;
    if (reader.first.code != MDF_OK) {
        last = reader.first;
    }
    if (error != NULL && error->code == MDF_OK) {
        *error = last;
    }
    return last.code;
}
