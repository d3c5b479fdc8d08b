/* attributes.c - the attributes of an operator: from args, from parameters of the node (as the importers of ONNX and PyTorch
 * write them), or the schema's defaults, laid out in the operator's settings struct. */
#include "mdf_c/plan/compiler.h"

#include <math.h>
#include <string.h>

const struct mdf_node *find_argument(const struct mdf_definition *definition, const char *name)
{
    const struct mdf_node *node = definition->args != NULL ? mdf_node_get(definition->args, name) : NULL;

    if (node == NULL || node->kind == MDF_NODE_NULL || (node->kind == MDF_NODE_STRING && node->as.string.length == 0)) {
        return NULL;
    }
    return node;
}

/* What a text that names a parameter with a value stands for. */
static const struct mdf_node *follow(const struct compiler *compiler, const struct mdf_node *node)
{
    const struct mdf_parameter *parameter =
        node->kind == MDF_NODE_STRING ? mdf_model_find_parameter(compiler->node, node->as.string.bytes) : NULL;

    return parameter != NULL && parameter->definition.value != NULL && parameter->default_initial_value == NULL
               ? parameter->definition.value
               : node;
}

const struct mdf_node *find_attribute(const struct compiler *compiler, const struct mdf_definition *definition, const char *name)
{
    const struct mdf_node *node = definition->args != NULL ? mdf_node_get(definition->args, name) : NULL;
    const struct mdf_parameter *parameter;

    if (node != NULL) {
        return node->kind == MDF_NODE_NULL ? NULL : follow(compiler, node);
    }
    parameter = strcmp(name, definition->id) != 0 ? mdf_model_find_parameter(compiler->node, name) : NULL;
    return parameter != NULL ? parameter->definition.value : NULL;
}

const struct mdf_node *find_graph_attribute(const struct compiler *compiler, const struct mdf_definition *definition,
                                            const char *name)
{
    const struct mdf_node *node = definition->args != NULL ? mdf_node_get(definition->args, name) : NULL;
    bool is_id =
        node != NULL && node->kind == MDF_NODE_STRING && mdf_model_find_graph(compiler->model, node->as.string.bytes) != NULL;

    return is_id ? node : find_attribute(compiler, definition, name);
}

/* One attribute on its way into a field. */
struct reading {
    struct target *target;
    const struct mdf_setting *setting;
    const struct mdf_schema_attribute *attribute; /* of the schema; NULL: this version has no such attribute */
    const struct mdf_node *node;                  /* NULL: the default */
    void *field;
};

static bool wrong_type(const struct reading *reading, const char *wanted)
{
    struct place place = place_at(reading->target->compiler, reading->node);
    bool is_list = reading->node->kind == MDF_NODE_LIST || reading->node->kind == MDF_NODE_NUMBERS;
    bool is_other_list = is_list && strncmp(wanted, "a list", strlen("a list")) == 0;

    compile_error(reading->target->compiler, MDF_TYPE, "attribute '%s' must be %s, not %s", reading->setting->name, wanted,
                  is_other_list ? "one with other items" : mdf_node_describe(reading->node));
    place_leave(reading->target->compiler, place);
    return false;
}

static bool is_text(const struct reading *reading)
{
    return reading->node->kind == MDF_NODE_STRING;
}

/* A text of the settings, which end at a NUL byte: one within it is refused. */
static const char *keep_text(const struct reading *reading, const struct mdf_node *text)
{
    struct compiler *compiler = reading->target->compiler;
    const char *kept = mdf_arena_text(compiler->arena, text->as.string.bytes, text->as.string.length);

    if (kept == NULL) {
        compile_out_of_memory(compiler);
    } else if (memchr(text->as.string.bytes, '\0', text->as.string.length) != NULL) {
        struct place place = place_at(compiler, text);

        compile_error(compiler, MDF_VALUE, "attribute '%s' has a NUL byte in it", reading->setting->name);
        place_leave(compiler, place);
        return NULL;
    }
    return kept;
}

/* Whether whole numbers hold all of an array: a model may say 1.0. */
static bool is_whole(const struct mdf_value *array)
{
    const double *items = array->data;

    if (mdf_dtype_kind(array->dtype) != 'f') {
        return true;
    }
    for (size_t i = 0; i < array->length; i++) {
        if (array->dtype != MDF_DTYPE_FLOAT64 || items[i] != floor(items[i]) || !(fabs(items[i]) < 9223372036854775808.0)) {
            return false;
        }
    }
    return true;
}

/* The attribute as an array of `dtype`, its elements in the program's arena. */
static bool read_array(const struct reading *reading, mdf_dtype dtype, const char *wanted, const void **items, size_t *n)
{
    struct compiler *compiler = reading->target->compiler;
    struct mdf_value value = {0}, array = {0};
    void *kept = NULL;
    bool done = false;

    if (!compile_constant(reading->target, reading->node, &value)) {
        return false;
    }
    if (mdf_value_from_nested_list(compiler->memory, &array, &value) != 1 || array.dtype == MDF_DTYPE_STRING ||
        (dtype == MDF_DTYPE_INT64 && !is_whole(&array))) {
        wrong_type(reading, wanted);
    } else {
        kept = mdf_arena_array(compiler->arena, array.length + 1, sizeof(double));
        if (kept == NULL) {
            compile_out_of_memory(compiler);
        } else {
            done = mdf_convert_elements(dtype, kept, array.dtype, array.data, array.length, false);
        }
    }
    *items = kept;
    *n = array.length;
    mdf_value_clear(compiler->memory, &array);
    mdf_value_clear(compiler->memory, &value);
    return done;
}

static bool read_int(const struct reading *reading)
{
    const void *items;
    size_t n;

    if (!read_array(reading, MDF_DTYPE_INT64, "a whole number", &items, &n)) {
        return false;
    }
    if (n != 1) {
        return wrong_type(reading, "a whole number");
    }
    *(int64_t *)reading->field = *(const int64_t *)items;
    return true;
}

/* Real attributes are float32 in ONNX, whatever is computed with them: 0.1 means 0.100000001490116 in a file of any format, and
 * as a default. False where that has no room for the number. */
static bool round_to_float32(double *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double rounded = (double)(float)items[i];

        if (isinf(rounded) && !isinf(items[i])) {
            return false;
        }
        items[i] = rounded;
    }
    return true;
}

/* The attribute as float32 numbers, which settings hold in float64. */
static bool read_floats(const struct reading *reading, const char *wanted, const double **items, size_t *n)
{
    const void *read;

    if (!read_array(reading, MDF_DTYPE_FLOAT64, wanted, &read, n)) {
        return false;
    }
    *items = read;
    return round_to_float32((double *)(uintptr_t)read, *n) || wrong_type(reading, "within float32");
}

static bool read_float(const struct reading *reading)
{
    const double *items;
    size_t n;

    if (!read_floats(reading, "a number", &items, &n)) {
        return false;
    }
    if (n != 1) {
        return wrong_type(reading, "a number");
    }
    *(double *)reading->field = *items;
    return true;
}

static bool read_strings(const struct reading *reading)
{
    size_t n = mdf_node_length(reading->node), i;
    const char **items = mdf_arena_array(reading->target->compiler->arena, n + 1, sizeof *items);

    if (items == NULL) {
        compile_out_of_memory(reading->target->compiler);
        return false;
    }
    if (is_text(reading)) {
        n = 1;
        items[0] = keep_text(reading, reading->node);
        if (items[0] == NULL) {
            return false;
        }
    } else if (reading->node->kind != MDF_NODE_LIST) {
        return wrong_type(reading, "a list of strings");
    }
    for (i = 0; !is_text(reading) && i < n; i++) {
        const struct mdf_node *item = &reading->node->as.list.items[i];

        if (item->kind != MDF_NODE_STRING) {
            return wrong_type(reading, "a list of strings");
        }
        items[i] = keep_text(reading, item);
        if (items[i] == NULL) {
            return false;
        }
    }
    *(struct mdf_strings *)reading->field = (struct mdf_strings){items, n};
    return true;
}

static bool unknown_type(const struct reading *reading, int64_t code)
{
    struct place place = place_at(reading->target->compiler, reading->node);

    compile_error(reading->target->compiler, MDF_VALUE, "attribute '%s': no element type of ONNX has the number %lld",
                  reading->setting->name, (long long)code);
    place_leave(reading->target->compiler, place);
    return false;
}

/* Whether no type may be given by the number 0, which is the default: ONNX Runtime writes what it does not say. */
static bool is_type_open(const struct mdf_schema_attribute *attribute)
{
    return attribute != NULL && attribute->has_default && attribute->default_int == 0;
}

/* A type by ONNX's number or by a name. */
static bool read_dtype(const struct reading *reading)
{
    struct reading number = *reading;
    struct mdf_declared_type type;
    int64_t code;

    if (is_text(reading) && mdf_parse_type(reading->node->as.string.bytes, &type) && type.dtype != MDF_DTYPE_NONE) {
        *(mdf_dtype *)reading->field = type.dtype;
        return true;
    }
    number.field = &code;
    if (!read_int(&number)) {
        return false;
    }
    *(mdf_dtype *)reading->field = mdf_dtype_from_onnx(code);
    return mdf_dtype_from_onnx(code) != MDF_DTYPE_NONE || (code == 0 && is_type_open(reading->attribute)) ||
           unknown_type(reading, code);
}

static bool read_value(const struct reading *reading)
{
    struct compiler *compiler = reading->target->compiler;
    struct mdf_kept_value *kept = mdf_arena_allocate(compiler->arena, sizeof *kept);

    if (kept == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    kept->next = compiler->root->kept;
    compiler->root->kept = kept;
    *(const struct mdf_value **)reading->field = &kept->value;
    return compile_constant(reading->target, reading->node, &kept->value);
}

static bool read_given(const struct reading *reading)
{
    const double *reals;
    const void *items;
    size_t n;

    switch (reading->setting->type) {
    case MDF_SETTING_INT:
        return read_int(reading);
    case MDF_SETTING_FLOAT:
        return read_float(reading);
    case MDF_SETTING_STRING:
        if (!is_text(reading)) {
            return wrong_type(reading, "a string");
        }
        *(const char **)reading->field = keep_text(reading, reading->node);
        return *(const char **)reading->field != NULL;
    case MDF_SETTING_INTS:
        if (!read_array(reading, MDF_DTYPE_INT64, "a list of whole numbers", &items, &n)) {
            return false;
        }
        *(struct mdf_ints *)reading->field = (struct mdf_ints){items, n};
        return true;
    case MDF_SETTING_FLOATS:
        if (!read_floats(reading, "a list of numbers", &reals, &n)) {
            return false;
        }
        *(struct mdf_floats *)reading->field = (struct mdf_floats){reals, n};
        return true;
    case MDF_SETTING_STRINGS:
        return read_strings(reading);
    case MDF_SETTING_DTYPE:
        return read_dtype(reading);
    case MDF_SETTING_VALUE:
        return read_value(reading);
    case MDF_SETTING_GRAPH:
        break;
    }
    return true;
}

/* The schema's default, or the field's "not given". */
static void set_default(const struct reading *reading)
{
    const struct mdf_schema_attribute *attribute = reading->attribute;
    bool given = attribute != NULL && attribute->has_default;

    switch (reading->setting->type) {
    case MDF_SETTING_INT:
        *(int64_t *)reading->field = given ? attribute->default_int : MDF_NOT_GIVEN;
        break;
    case MDF_SETTING_FLOAT:
        *(double *)reading->field = given ? (double)(float)attribute->default_float : (double)NAN;
        break;
    case MDF_SETTING_STRING:
        *(const char **)reading->field = given ? attribute->default_string : NULL;
        break;
    case MDF_SETTING_INTS:
        *(struct mdf_ints *)reading->field =
            given ? (struct mdf_ints){attribute->default_ints, attribute->n_default} : (struct mdf_ints){0};
        break;
    case MDF_SETTING_FLOATS:
        *(struct mdf_floats *)reading->field =
            given ? (struct mdf_floats){attribute->default_floats, attribute->n_default} : (struct mdf_floats){0};
        break;
    case MDF_SETTING_STRINGS:
        *(struct mdf_strings *)reading->field =
            given ? (struct mdf_strings){attribute->default_strings, attribute->n_default} : (struct mdf_strings){0};
        break;
    case MDF_SETTING_DTYPE:
        *(mdf_dtype *)reading->field = given ? mdf_dtype_from_onnx(attribute->default_int) : MDF_DTYPE_NONE;
        break;
    case MDF_SETTING_VALUE:
        *(const struct mdf_value **)reading->field = NULL;
        break;
    case MDF_SETTING_GRAPH:
        break;
    }
}

/* An attribute that is needed is not given: perhaps by a misspelt name. */
static bool lacks_attribute(struct compiler *compiler, const struct mdf_schema *schema, const struct mdf_definition *definition,
                            const char *name)
{
    size_t n = definition->args != NULL ? mdf_node_length(definition->args) : 0, i;

    for (i = 0; i < n; i++) {
        const struct mdf_node_entry *entry = &definition->args->as.object.entries[i];
        struct mdf_nearest nearest;

        mdf_nearest_begin(&nearest, entry->key);
        mdf_nearest_offer(&nearest, name);
        if (mdf_nearest_result(&nearest) != NULL && mdf_schema_attribute(schema, entry->key) == NULL &&
            mdf_schema_input(schema, entry->key) == SIZE_MAX) {
            struct place place = place_at_key(compiler, entry);

            compile_error(compiler, MDF_NAME, "%s::%s has no input or attribute '%s'; did you mean '%s'?",
                          mdf_schema_prefix(schema), schema->name, entry->key, name);
            place_leave(compiler, place);
            return false;
        }
    }
    compile_error(compiler, MDF_MODEL, "%s::%s needs the attribute '%s'", mdf_schema_prefix(schema), schema->name, name);
    return false;
}

static bool read_setting(struct reading *reading, const struct mdf_schema *schema, const struct mdf_definition *definition,
                         struct list *graphs)
{
    struct graph_attribute graph = {reading->setting->name, NULL};
    bool is_graph = reading->setting->type == MDF_SETTING_GRAPH;

    reading->attribute = mdf_schema_attribute(schema, reading->setting->name);
    if (reading->attribute != NULL) {
        reading->node =
            (is_graph ? find_graph_attribute : find_attribute)(reading->target->compiler, definition, reading->setting->name);
    } else {
        reading->node = NULL;
    }
    if (reading->node == NULL && reading->attribute != NULL && reading->attribute->required) {
        return lacks_attribute(reading->target->compiler, schema, definition, reading->setting->name);
    }
    if (reading->node != NULL && !is_graph && is_changeable(reading->target->compiler, reading->node)) {
        compile_error(reading->target->compiler, MDF_MODEL,
                      "attribute '%s' of %s::%s can not be kept changeable: it is fixed when the model is compiled",
                      reading->setting->name, mdf_schema_prefix(schema), schema->name);
        return false;
    }
    if (is_graph) {
        graph.node = reading->node;
        return list_add(reading->target->compiler, graphs, &graph, sizeof graph);
    }
    set_default(reading);
    return reading->node == NULL || read_given(reading);
}

bool compile_settings(struct target *target, const struct mdf_definition *definition, const struct mdf_schema *schema,
                      const struct mdf_operator *row, const void **settings, struct list *graphs)
{
    const struct mdf_setting *setting;
    char *fields;

    *settings = NULL;
    if (row->settings == NULL) {
        return true;
    }
    fields = mdf_arena_allocate(target->compiler->arena, row->settings_size);
    if (fields == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    *settings = fields;
    for (setting = row->settings; setting->name != NULL; setting++) {
        struct reading reading = {target, setting, NULL, NULL, fields + setting->offset};

        if (!read_setting(&reading, schema, definition, graphs)) {
            return false;
        }
    }
    return true;
}
