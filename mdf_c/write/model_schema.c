/* model_schema.c - see model_schema.h. Read off the tables by which models are read (model/read_model.c), of operators and of
 * conditions. What the reader only warns of (an unknown field, an unknown type) is right here too: a model that runs is valid. */
#include "mdf_c/write/model_schema.h"

#include "functions/kernel/operator.h"
#include "mdf_c/model/reader.h"
#include "mdf_c/plan/conditions/conditions.h"
#include "schemas/onnx_schema.h"

#include <string.h>

static const char head[] =
    "{\n"
    "  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
    "  \"$id\": \"mdf.schema.json\",\n"
    "  \"title\": \"MDF, the ModECI Model Description Format\",\n"
    "  \"$comment\": \"Made by mdf-run --schema; a test compares it.\",\n"
    "  \"anyOf\": [\n"
    "    {\"$ref\": \"#/definitions/model\"},\n"
    "    {\"type\": \"object\", \"not\": {\"required\": [\"graphs\"]}, \"minProperties\": 1, \"maxProperties\": 1,\n"
    "      \"additionalProperties\": {\"$ref\": \"#/definitions/model\"}}\n"
    "  ],\n"
    "  \"definitions\": {\n";

/* Values that are more than a type, by the name in the `form` of fields. */
static const struct form {
    const char *name, *schema;
} forms[] = {
    {"text", "\"type\": [\"string\", \"null\"]"},
    {"object", "\"type\": [\"object\", \"null\"]"},
    {"type", "\"type\": [\"string\", \"null\"], \"examples\": [\"float64\", \"float32\", \"int64\", \"bool\", \"string\"]"},
    {"shape", "\"anyOf\": [{\"type\": [\"string\", \"null\"]}, {\"type\": \"array\", \"items\": {\"anyOf\": [{\"type\": "
              "[\"string\", \"null\"]}, {\"type\": \"integer\", \"minimum\": 0}]}}]"},
    {"function_call", "\"anyOf\": [{\"type\": \"null\"}, {\"type\": \"string\"}, {\"$ref\": \"#/definitions/function_name\"}, "
                      "{\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": 1, \"additionalProperties\": {\"type\": "
                      "[\"object\", \"null\"]}}]"},
    {"graph_or_name",
     "\"anyOf\": [{\"type\": [\"string\", \"null\"]}, {\"$ref\": \"#/definitions/graph\"}, {\"type\": "
     "\"object\", \"minProperties\": 1, \"maxProperties\": 1, \"additionalProperties\": {\"type\": \"object\"}}]"},
    {"opset", "\"anyOf\": [{\"type\": \"null\"}, {\"type\": \"integer\", \"minimum\": 1}, {\"type\": \"string\", \"pattern\": "
              "\"^\\\\s*\\\\+?[0-9]\"}]"},
    {"count", "\"anyOf\": [{\"type\": \"null\"}, {\"type\": \"integer\", \"minimum\": 1}]"},
    {"schedule",
     "\"type\": [\"object\", \"null\"], \"properties\": {\"node_specific\": {\"$ref\": \"#/definitions/conditions_by_name\"}, "
     "\"termination\": {\"$ref\": \"#/definitions/conditions_by_name\"}}"},
    {"conditions_by_name",
     "\"type\": [\"object\", \"null\"], \"additionalProperties\": {\"anyOf\": [{\"type\": \"null\"}, {\"$ref\": "
     "\"#/definitions/scheduling_condition\"}, {\"type\": \"array\", \"items\": {\"$ref\": "
     "\"#/definitions/scheduling_condition\"}}]}"},
};

/* Classes that have been printed: each is there once. */
struct printed {
    const struct class *classes[16];
    size_t n;
};

/* The class's definition has its name in messages with "_" for spaces: parameters' conditions are those of MDF, not of the
 * scheduler. */
static void add_reference(struct mdf_text *text, const char *name)
{
    mdf_text_append_string(text, "{\"$ref\": \"#/definitions/");
    for (; *name != '\0'; name++) {
        mdf_text_append(text, *name == ' ' ? "_" : name, 1);
    }
    mdf_text_append_string(text, "\"}");
}

/* A collection: items by id, or a list of items {"id": ID, ...} or {ID: item}. */
static void add_collection(struct mdf_text *text, const struct class *items, bool required)
{
    mdf_text_printf(text,
                    "{\"anyOf\": [%s{\"type\": \"object\", \"additionalProperties\": ", required ? "" : "{\"type\": \"null\"}, ");
    add_reference(text, items->what);
    mdf_text_append_string(text, "}, {\"type\": \"array\", \"items\": {\"anyOf\": [{\"required\": [\"id\"], \"allOf\": [");
    add_reference(text, items->what);
    mdf_text_append_string(text,
                           "]}, {\"type\": \"object\", \"minProperties\": 1, \"maxProperties\": 1, \"additionalProperties\": ");
    add_reference(text, items->what);
    mdf_text_append_string(text, "}]}}]}");
}

static void add_value(struct mdf_text *text, const struct field *field)
{
    if (field->form != NULL) {
        add_reference(text, field->form);
    } else if (field->items != NULL) {
        add_collection(text, field->items, field->required);
    } else if (field->type == FIELD_TEXT) {
        mdf_text_printf(text, "{\"type\": [\"string\", \"number\"%s]}", field->required ? "" : ", \"null\"");
    } else if (field->type == FIELD_OBJECT) {
        mdf_text_append_string(text, "{\"type\": [\"object\", \"null\"]}");
    } else {
        mdf_text_append_string(text, "true");
    }
}

static void add_fields(struct mdf_text *text, const struct class *class)
{
    const char *before = "";

    mdf_text_append_string(text, "\"properties\": {");
    for (const struct field *field = class->fields; field->name != NULL; field++) {
        mdf_text_printf(text, "%s\n      \"%s\": ", before, field->name);
        add_value(text, field);
        before = ",";
    }
    mdf_text_append_string(text, "\n    }, \"required\": [");
    before = "";
    for (const struct field *field = class->fields; field->name != NULL; field++) {
        if (field->required) {
            mdf_text_printf(text, "%s\"%s\"", before, field->name);
            before = ", ";
        }
    }
    mdf_text_append_string(text, "]");
}

/* The class, and those that its fields reach. */
static void add_class(struct mdf_text *text, const struct class *class, struct printed *printed)
{
    for (size_t i = 0; i < printed->n; i++) {
        if (printed->classes[i] == class) {
            return;
        }
    }
    if (printed->n == sizeof printed->classes / sizeof *printed->classes) {
        text->failed = true; /* a larger table is needed: the test of the page tells */
        return;
    }
    printed->classes[printed->n++] = class;
    mdf_text_append_string(text, "    \"");
    for (const char *name = class->what; *name != '\0'; name++) {
        mdf_text_append(text, *name == ' ' ? "_" : name, 1);
    }
    mdf_text_printf(text, "\": {%s", class->bare_value ? "" : "\"type\": \"object\", ");
    add_fields(text, class);
    mdf_text_append_string(text, "},\n");
    for (const struct field *field = class->fields; field->name != NULL; field++) {
        if (field->items != NULL) {
            add_class(text, field->items, printed);
        }
    }
}

/* A condition of the scheduler: its kind is one of the table's. */
static void add_scheduling_condition(struct mdf_text *text)
{
    const struct condition_row *row;

    mdf_text_append_string(text,
                           "    \"scheduling_condition\": {\"type\": \"object\", \"required\": [\"type\"], \"properties\": {\n"
                           "      \"kwargs\": {\"type\": [\"object\", \"null\"]},\n"
                           "      \"type\": {\"enum\": [");
    for (size_t i = 0; (row = condition_row_at(i)) != NULL; i++) {
        mdf_text_printf(text, "%s\"%s\"", i > 0 ? ", " : "", row->name);
        if (row->alias != NULL) {
            mdf_text_printf(text, ", \"%s\"", row->alias);
        }
    }
    mdf_text_append_string(text, "]}}},\n");
}

/* Names that an editor offers. Others may be right: of a model's own version of ONNX, or of a dialect. */
static void add_function_names(struct mdf_text *text)
{
    const struct mdf_operator *row;
    const struct mdf_schema *schema, *last = NULL;
    const char *before = "";

    mdf_text_append_string(text, "    \"function_name\": {\"enum\": [");
    for (size_t i = 0; (row = mdf_operator_python_at(i)) != NULL; i++) {
        mdf_text_printf(text, "%s\n      \"%s\"", before, row->name);
        before = ",";
    }
    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        if (last == NULL || strcmp(last->name, schema->name) != 0 || strcmp(last->domain, schema->domain) != 0) {
            mdf_text_printf(text, "%s\n      \"%s::%s\"", before, mdf_schema_prefix(schema), schema->name);
            before = ",";
        }
        last = schema;
    }
    mdf_text_append_string(text, "\n    ]}\n  }\n}\n");
}

void mdf_write_model_schema(struct mdf_text *text)
{
    struct printed printed = {.n = 0};

    mdf_text_append_string(text, head);
    add_class(text, mdf_reader_model_class(), &printed);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        mdf_text_printf(text, "    \"%s\": {%s},\n", forms[i].name, forms[i].schema);
    }
    add_scheduling_condition(text);
    add_function_names(text);
}
