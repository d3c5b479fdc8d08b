/* export_call.c - onnx:: functions: a call is a node of the same operator, its settings are attributes again. */
#include "functions/kernel/setting.h"
#include "mdf_c/export/exporter.h"

#include "schemas/inference.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_STRING = 4, ATTRIBUTE_TENSOR = 5, ATTRIBUTE_FLOATS = 7,
       ATTRIBUTE_STRINGS = 9, ATTRIBUTE_TYPE_PROTO = 14, ATTRIBUTE_TYPE = 20, NODE_ATTRIBUTE = 5 };

/* ------------------------------------------------------------------ attributes */

static const void *field_of(const struct mdf_code_call *call, const struct mdf_setting *setting)
{
    return (const char *)call->settings + setting->offset;
}

static void put_integers(struct mdf_text *attributes, const char *name, const struct mdf_ints *list, bool is_list)
{
    if (list->items != NULL && is_list) {
        export_attribute_integers(attributes, name, list->items, list->n);
    } else if (list->items != NULL && list->n == 1) {
        export_attribute_integer(attributes, name, list->items[0]);
    }
}

/* The type that an attribute names, as that of a value; false: it names none. */
static bool symbol_of_type_name(const char *name, struct symbol *symbol)
{
    struct mdf_declared_type type;

    if (name == NULL || !mdf_parse_type(name, &type) || type.dtype == MDF_DTYPE_NONE) {
        return false;
    }
    *symbol = (struct symbol){.kind = type.sequence ? SYMBOL_SEQUENCE : SYMBOL_TENSOR,
                              .dtype = type.dtype,
                              .strength = MDF_STRENGTH_TYPED,
                              .is_optional = type.optional};
    return true;
}

/* The attribute of a setting, if it has a value. Types are the schema's: what is a list there may be held as one number. */
static void put_setting(struct mdf_text *attributes, const struct mdf_schema_attribute *attribute, enum mdf_setting_type type,
                        const void *field)
{
    struct mdf_text made, tensor;

    if (type == MDF_SETTING_INT) {
        if (attribute->has_default || *(const int64_t *)field != MDF_NOT_GIVEN) {
            const struct mdf_ints one = {field, 1};

            put_integers(attributes, attribute->name, &one, attribute->type == MDF_ATTRIBUTE_INTS);
        }
        return;
    }
    if (type == MDF_SETTING_INTS) {
        put_integers(attributes, attribute->name, field, attribute->type == MDF_ATTRIBUTE_INTS);
        return;
    }
    if (type == MDF_SETTING_DTYPE) {
        if (*(const mdf_dtype *)field != MDF_DTYPE_NONE) {
            export_attribute_integer(attributes, attribute->name, mdf_dtype_to_onnx(*(const mdf_dtype *)field));
        }
        return;
    }
    mdf_text_init(&made, attributes->memory);
    mdf_text_init(&tensor, attributes->memory);
    onnx_put_string(&made, ATTRIBUTE_NAME, attribute->name);
    if (type == MDF_SETTING_FLOAT && (attribute->has_default || !isnan(*(const double *)field))) { /* NaN without one: not given */
        onnx_put_float(&made, ATTRIBUTE_FLOAT, (float)*(const double *)field);
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_FLOAT);
    } else if (attribute->type == MDF_ATTRIBUTE_TYPE) {
        struct symbol symbol = {0};

        if (type == MDF_SETTING_STRING && symbol_of_type_name(*(const char *const *)field, &symbol)) {
            export_put_type(&tensor, &symbol, false);
            onnx_put_message(&made, ATTRIBUTE_TYPE_PROTO, &tensor);
            onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_TYPE);
        } else {
            made.length = 0;
        }
    } else if (type == MDF_SETTING_STRING && *(const char *const *)field != NULL) {
        onnx_put_string(&made, ATTRIBUTE_STRING, *(const char *const *)field);
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_STRING);
    } else if (type == MDF_SETTING_FLOATS && ((const struct mdf_floats *)field)->items != NULL) {
        const struct mdf_floats *floats = field;

        for (size_t i = 0; i < floats->n; i++) {
            onnx_put_float(&made, ATTRIBUTE_FLOATS, (float)floats->items[i]);
        }
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_FLOATS);
    } else if (type == MDF_SETTING_STRINGS && ((const struct mdf_strings *)field)->items != NULL) {
        const struct mdf_strings *strings = field;

        for (size_t i = 0; i < strings->n; i++) {
            onnx_put_string(&made, ATTRIBUTE_STRINGS, strings->items[i]);
        }
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_STRINGS);
    } else if (type == MDF_SETTING_VALUE && *(const struct mdf_value *const *)field != NULL) {
        onnx_put_tensor(&tensor, NULL, *(const struct mdf_value *const *)field);
        onnx_put_message(&made, ATTRIBUTE_TENSOR, &tensor);
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_TENSOR);
    } else {
        made.length = 0;
    }
    if (made.length > 0) {
        onnx_put_message(attributes, NODE_ATTRIBUTE, &made);
    }
    mdf_text_release(&tensor);
    mdf_text_release(&made);
}

/* A value that is the default need not be written, and of a default that is a real is not known in all its digits. */
static bool is_default(const struct mdf_schema_attribute *attribute, enum mdf_setting_type type, const void *field)
{
    if (!attribute->has_default) {
        return false;
    }
    switch (type) {
    case MDF_SETTING_INT:
        return *(const int64_t *)field == attribute->default_int;
    case MDF_SETTING_FLOAT:
        return *(const double *)field == attribute->default_float;
    case MDF_SETTING_STRING:
        return *(const char *const *)field != NULL && attribute->default_string != NULL &&
               strcmp(*(const char *const *)field, attribute->default_string) == 0;
    default:
        return false;
    }
}

static const struct mdf_setting *find_setting(const struct mdf_code_call *call, const char *name)
{
    const struct mdf_setting *setting = call->operator->settings;

    while (setting != NULL && setting->name != NULL && strcmp(setting->name, name) != 0) {
        setting++;
    }
    return setting != NULL && setting->name != NULL ? setting : NULL;
}

const void *export_setting(const struct mdf_code_call *call, const char *name)
{
    const struct mdf_setting *setting = find_setting(call, name);

    return setting != NULL ? field_of(call, setting) : NULL;
}

/* Attributes of ONNX are float32: where all is computed in float64, others would mean something else. */
static bool check_reals(struct exporter *exporter, const struct mdf_code_call *call, const struct mdf_schema *schema,
                        const struct symbol *inputs)
{
    const struct mdf_setting *setting, *fmod = find_setting(call, "fmod");
    bool is_wide = false;

    for (size_t i = 0; i < call->n_inputs; i++) {
        is_wide = is_wide || inputs[i].dtype == MDF_DTYPE_FLOAT64;
    }
    if (fmod != NULL && fmod->type == MDF_SETTING_INT && *(const int64_t *)field_of(call, fmod) != 1 && call->n_inputs > 0 &&
        mdf_dtype_kind(inputs[0].dtype) == 'f') {
        return export_refuse(exporter, "onnx::%s of reals needs fmod 1", schema->name);
    }
    for (setting = call->operator->settings; is_wide && setting != NULL && setting->name != NULL; setting++) {
        const struct mdf_schema_attribute *attribute = mdf_schema_attribute(schema, setting->name);
        double real = setting->type == MDF_SETTING_FLOAT ? *(const double *)field_of(call, setting) : 0;

        if (attribute != NULL && !isnan(real) && (double)(float)real != real && !is_default(attribute, setting->type, field_of(call, setting))) {
            return export_refuse(exporter, "the attribute '%s' of onnx::%s is no float32, as ONNX has it, and the inputs are float64",
                                 setting->name, schema->name);
        }
    }
    return true;
}

/* The attribute of that name in the first version that the call may be of; NULL: it came later. */
static const struct mdf_schema_attribute *first_attribute(const struct mdf_code_call *call, const struct mdf_schema *schema,
                                                          const char *name)
{
    const struct mdf_schema *first = mdf_schema_find(schema->domain, schema->name, call->operator->since);

    return first != NULL ? mdf_schema_attribute(first, name) : NULL;
}

static bool is_of_later_version(const struct mdf_code_call *call, const struct mdf_schema *schema,
                                const struct mdf_setting *setting)
{
    return setting->type == MDF_SETTING_INT && *(const int64_t *)field_of(call, setting) == MDF_NOT_GIVEN &&
           first_attribute(call, schema, setting->name) == NULL;
}

static void put_settings(const struct mdf_code_call *call, const struct mdf_schema *schema, struct mdf_text *attributes)
{
    const struct mdf_setting *setting;

    for (setting = call->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        const struct mdf_schema_attribute *attribute = mdf_schema_attribute(schema, setting->name);

        if (setting->type != MDF_SETTING_GRAPH && attribute != NULL && !is_of_later_version(call, schema, setting) &&
            !is_default(attribute, setting->type, field_of(call, setting))) {
            put_setting(attributes, attribute, setting->type, field_of(call, setting));
        }
    }
}

/* ------------------------------------------------------------------ what is known of the outputs */

static struct mdf_static_type type_of(const struct symbol *symbol)
{
    struct mdf_static_type type = mdf_static_unknown;

    type.kind = symbol->kind == SYMBOL_TENSOR     ? MDF_STATIC_TENSOR
                : symbol->kind == SYMBOL_SEQUENCE ? MDF_STATIC_SEQUENCE
                : symbol->kind == SYMBOL_NOTHING  ? MDF_STATIC_OMITTED
                                                  : MDF_STATIC_UNKNOWN;
    type.dtype = symbol->dtype;
    if (symbol->kind == SYMBOL_TENSOR) {
        type.has_shape = symbol->has_shape;
        type.rank = symbol->rank;
        type.shape = symbol->shape;
        type.value = symbol->constant;
    }
    return type;
}

static void symbol_of_type(const struct mdf_static_type *type, struct symbol *symbol)
{
    *symbol = (struct symbol){.kind = type->kind == MDF_STATIC_SEQUENCE ? SYMBOL_SEQUENCE : SYMBOL_TENSOR,
                              .dtype = type->dtype,
                              .strength = MDF_STRENGTH_TYPED,
                              .has_shape = type->has_shape,
                              .rank = type->has_shape ? type->rank : 0,
                              .shape = type->shape};
}

static bool takes_arrays(const struct mdf_formal *formal)
{
    return formal == NULL || (formal->tensor_types | formal->sequence_types) != 0;
}

/* Whether the operator takes what may not be there, and nothing else where it wants that. */
static bool check_optionals(struct exporter *exporter, const struct mdf_schema *schema, const struct symbol *inputs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_input(schema, i);

        if (inputs[i].is_optional && (formal == NULL || formal->optional_types == 0)) {
            return export_refuse(exporter, "onnx::%s of what may not be there, in opset %d", schema->name, exporter->opset);
        }
        if (!inputs[i].is_optional && inputs[i].kind != SYMBOL_NOTHING && !takes_arrays(formal)) {
            return export_refuse(exporter, "onnx::%s of what is always there, in opset %d", schema->name, exporter->opset);
        }
    }
    return true;
}

/* The type of an output that may not be there: that of what the call takes, or, where it takes nothing, which its attribute names. */
static bool find_optional(struct exporter *exporter, const struct mdf_code_call *call, const struct symbol *inputs,
                          struct symbol *output)
{
    const char *const *type = export_setting(call, "type");

    if (call->n_inputs > 0 && inputs[0].kind != SYMBOL_NOTHING) {
        output->kind = inputs[0].kind;
        output->dtype = inputs[0].dtype;
    } else if (type == NULL || !symbol_of_type_name(*type, output)) {
        return export_refuse(exporter, "the type of what is not there is not known: give it as 'type'");
    }
    output->is_optional = true;
    return true;
}

static bool find_optionals(struct exporter *exporter, const struct mdf_schema *schema, const struct mdf_code_call *call,
                           const struct symbol *inputs, struct symbol *outputs)
{
    for (size_t i = 0; i < call->n_outputs; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_output(schema, i);

        if (!takes_arrays(formal) && !find_optional(exporter, call, inputs, &outputs[i])) {
            return false;
        }
        for (size_t j = 0; j < call->n_inputs && formal != NULL && formal->optional_types != 0 && formal->variable >= 0; j++) {
            const struct mdf_formal *input = mdf_schema_actual_input(schema, j);

            outputs[i].is_optional = outputs[i].is_optional || (inputs[j].is_optional && input->variable == formal->variable);
        }
    }
    return true;
}

static bool infer(struct exporter *exporter, const struct mdf_schema *schema, const struct mdf_code_call *call,
                  const struct symbol *inputs, struct symbol *outputs)
{
    struct mdf_static_type *types = mdf_arena_array(&exporter->arena, call->n_inputs + call->n_outputs, sizeof *types);
    struct mdf_inference inference;

    if (types == NULL) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < call->n_inputs + call->n_outputs; i++) {
        types[i] = i < call->n_inputs ? type_of(&inputs[i]) : mdf_static_unknown;
    }
    inference = (struct mdf_inference){.schema = schema,
                                       .rule = mdf_operator_rule(call->operator),
                                       .arena = &exporter->arena,
                                       .inputs = types,
                                       .n_inputs = call->n_inputs,
                                       .outputs = types + call->n_inputs,
                                       .n_outputs = call->n_outputs};
    mdf_setting_show(&inference, call->operator, call->settings);
    if (!mdf_infer_outputs(&inference)) {
        return export_refuse(exporter, "onnx::%s: %s", schema->name, inference.message);
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        symbol_of_type(&types[call->n_inputs + i], &outputs[i]);
    }
    return find_optionals(exporter, schema, call, inputs, outputs);
}

/* Types that the standard's rules leave open (a constant without a declared type) are those that the kernel gives. */
static bool find_open_types(struct exporter *exporter, const struct mdf_code_call *call, const struct symbol *inputs,
                            struct symbol *outputs)
{
    size_t n = call->n_inputs + call->n_outputs + MDF_CALL_SCRATCH, n_open = 0;
    struct mdf_value *samples = mdf_arena_array(&exporter->arena, n, sizeof *samples);
    const struct mdf_value **given = mdf_arena_array(&exporter->arena, call->n_inputs, sizeof *given);
    struct mdf_value **results = mdf_arena_array(&exporter->arena, call->n_outputs, sizeof *results);
    struct mdf_call made = {.kernel = call->operator->kernel, .operator= call->operator, .settings = call->settings,
                            .inputs = given, .n_inputs = call->n_inputs, .outputs = results, .n_outputs = call->n_outputs,
                            .context = &exporter->context};
    bool done = samples != NULL && given != NULL && results != NULL, has_shapes = true;

    if (!done) {
        return export_out_of_memory(exporter);
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        n_open += outputs[i].kind == SYMBOL_TENSOR && outputs[i].dtype == MDF_DTYPE_NONE;
        results[i] = &samples[call->n_inputs + i];
    }
    for (size_t i = 0; n_open > 0 && done && i < call->n_inputs; i++) {
        done = symbol_sample(exporter, &inputs[i], &samples[i]);
        given[i] = inputs[i].kind == SYMBOL_NOTHING ? NULL : &samples[i];
        has_shapes = has_shapes && (inputs[i].kind == SYMBOL_NOTHING || symbol_has_full_shape(&inputs[i]));
    }
    made.scratch = samples + call->n_inputs + call->n_outputs;
    exporter->context.error.code = MDF_OK;
    if (n_open > 0 && done && made.kernel(&made)) {
        for (size_t i = 0; i < call->n_outputs; i++) {
            if (outputs[i].kind == SYMBOL_TENSOR && outputs[i].dtype == MDF_DTYPE_NONE && results[i]->kind == MDF_KIND_TENSOR) {
                symbol_set_form(exporter, &outputs[i], results[i], has_shapes);
            } else if (outputs[i].dtype == MDF_DTYPE_NONE && results[i]->kind == MDF_KIND_LIST) { /* what an optional sequence holds */
                outputs[i].kind = SYMBOL_SEQUENCE;
                outputs[i].dtype = (mdf_dtype)results[i]->dtype;
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        mdf_value_clear(exporter->memory, &samples[i]);
    }
    return done;
}

/* ------------------------------------------------------------------ inputs */

/* Brings an input to what the operator's signature makes of it. */
static bool convert(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *given,
                    const struct mdf_value *sample, const struct mdf_value *effective, struct symbol *result)
{
    static const int64_t all = -1;
    struct symbol array, cast;

    if (effective == NULL) {
        *result = (struct symbol){.kind = SYMBOL_NOTHING};
        return true;
    }
    if (effective == sample) {
        *result = *given;
        return true;
    }
    if (!export_as_array(exporter, graph, given, &array) ||
        !export_cast(exporter, graph, &array, (mdf_dtype)effective->dtype, &cast)) {
        return false;
    }
    *result = cast;
    if (array.kind == SYMBOL_TENSOR && array.has_shape && array.rank == 0 && effective->rank == 1) {
        if (!export_reshape(exporter, graph, &cast, &all, 1, &cast, result)) {
            return false;
        }
        symbol_set_form(exporter, result, effective, true);
        result->strength = given->strength;
    }
    return true;
}

/* What the operator takes in place of the inputs that are given. *is_weak: none of them has a declared type. */
static bool convert_inputs(struct exporter *exporter, struct onnx_graph *graph, const struct mdf_code_call *call,
                           const struct symbol *inputs, struct symbol *taken, bool *is_weak)
{
    struct mdf_value *samples = mdf_arena_array(&exporter->arena, 2 * call->n_inputs, sizeof *samples);
    const struct mdf_value **given = mdf_arena_array(&exporter->arena, 2 * call->n_inputs, sizeof *given);
    struct mdf_call made = {.operator= call->operator, .settings = call->settings, .n_inputs = call->n_inputs,
                            .context = &exporter->context};
    bool done = samples != NULL && given != NULL;

    *is_weak = true;
    for (size_t i = 0; done && i < call->n_inputs; i++) {
        done = symbol_sample(exporter, &inputs[i], &samples[i]);
        given[i] = inputs[i].kind == SYMBOL_NOTHING ? NULL : &samples[i];
        *is_weak = *is_weak && (given[i] == NULL || (inputs[i].kind == SYMBOL_TENSOR && inputs[i].strength != MDF_STRENGTH_TYPED));
        taken[i] = inputs[i];
    }
    if (done && call->signature != NULL) {
        const struct mdf_value **effective = given + call->n_inputs;

        exporter->context.error.code = MDF_OK;
        done = mdf_coerce_inputs(&made, call->signature, given, effective, samples + call->n_inputs) ||
               export_refuse(exporter, "%s", exporter->context.error.message);
        for (size_t i = 0; done && i < call->n_inputs; i++) {
            done = convert(exporter, graph, &inputs[i], given[i], effective[i], &taken[i]);
        }
    }
    for (size_t i = 0; samples != NULL && i < 2 * call->n_inputs; i++) {
        mdf_value_clear(exporter->memory, &samples[i]);
    }
    return samples == NULL || given == NULL ? export_out_of_memory(exporter) : done;
}

/* ------------------------------------------------------------------ the call */

/* The opset that has the next version of an operator; 0: none of this row. */
static int next_version(const struct mdf_operator *row, const struct mdf_schema *schema)
{
    int opset = schema->since + 1;

    while (opset <= mdf_schema_newest_opset() && mdf_schema_find("", row->name, opset)->since == schema->since) {
        opset++;
    }
    return opset <= mdf_schema_newest_opset() && opset <= row->until ? opset : 0;
}

/* Whole numbers that later versions take as inputs are attributes of the same names in earlier ones: `axes` of Unsqueeze. False: these are
 * not known, or no attributes. */
static bool inputs_as_attributes(struct exporter *exporter, const struct mdf_code_call *call, const struct mdf_schema *schema,
                                 const struct symbol *inputs, struct mdf_text *attributes)
{
    const struct mdf_schema *newest = mdf_schema_find("", schema->name, mdf_schema_newest_opset());

    for (size_t i = schema->max_inputs; i < call->n_inputs; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_input(newest, i);
        const struct mdf_schema_attribute *attribute = formal != NULL ? mdf_schema_attribute(schema, formal->name) : NULL;
        struct symbol integers;

        if (attribute == NULL || attribute->type != MDF_ATTRIBUTE_INTS || inputs[i].constant == NULL || inputs[i].kind != SYMBOL_TENSOR ||
            mdf_dtype_kind(inputs[i].dtype) == 's') {
            return false;
        }
        if (!export_cast(exporter, exporter->main, &inputs[i], MDF_DTYPE_INT64, &integers)) {
            return false;
        }
        export_attribute_integers(attributes, attribute->name, integers.constant->data, integers.constant->length);
    }
    return true;
}

/* Whether an attribute that the first version of the operator has and this one has not is given. */
static bool is_left_over(const struct mdf_code_call *call, const struct mdf_schema *schema, const struct mdf_setting *setting)
{
    const struct mdf_schema_attribute *attribute = first_attribute(call, schema, setting->name);
    const void *field = field_of(call, setting);

    if (attribute == NULL || mdf_schema_attribute(schema, setting->name) != NULL || is_default(attribute, setting->type, field)) {
        return false;
    }
    return setting->type == MDF_SETTING_INT    ? *(const int64_t *)field != MDF_NOT_GIVEN
           : setting->type == MDF_SETTING_INTS ? ((const struct mdf_ints *)field)->items != NULL
                                               : setting->type == MDF_SETTING_FLOAT && !isnan(*(const double *)field);
}

/* Whole numbers that earlier versions have as attributes are inputs of the same names in later ones: `axes` of ReduceSum. False
 * with the error set: an attribute has no place. */
static bool attributes_as_inputs(struct exporter *exporter, const struct mdf_schema *schema, struct mdf_code_call *call,
                                 struct symbol **inputs)
{
    const size_t n_given = call->n_inputs;
    const struct mdf_setting *setting;
    struct symbol *all = mdf_arena_array(&exporter->arena, n_given + schema->n_inputs, sizeof *all);
    size_t i;

    if (all == NULL) {
        return export_out_of_memory(exporter);
    }
    for (i = 0; i < n_given + schema->n_inputs; i++) {
        all[i] = i < n_given ? (*inputs)[i] : (struct symbol){.kind = SYMBOL_NOTHING};
    }
    for (setting = call->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        const struct mdf_ints one = {field_of(call, setting), 1};
        const struct mdf_ints *list = setting->type == MDF_SETTING_INTS ? field_of(call, setting) : &one;

        if (!is_left_over(call, schema, setting)) {
            continue;
        }
        for (i = n_given; i < schema->n_inputs && strcasecmp(schema->inputs[i].name, setting->name) != 0; i++) {
        }
        if (i >= schema->n_inputs || setting->type == MDF_SETTING_FLOAT) {
            return export_refuse(exporter, "onnx::%s has no attribute '%s' in opset %d", schema->name, setting->name,
                                 exporter->opset);
        }
        if (!symbol_of_integers(exporter, list->items, list->n, &all[i])) {
            return false;
        }
        call->n_inputs = i + 1 > call->n_inputs ? i + 1 : call->n_inputs;
    }
    *inputs = all;
    return true;
}

static bool write_node(struct exporter *exporter, struct onnx_graph *graph, const struct mdf_schema *schema,
                       const struct mdf_code_call *call, const struct symbol *inputs, struct symbol *outputs,
                       struct mdf_text *attributes)
{
    const char **names = mdf_arena_array(&exporter->arena, call->n_inputs + call->n_outputs, sizeof *names);
    size_t n_inputs = call->n_inputs, n_outputs = call->n_outputs;

    if (names == NULL) {
        return export_out_of_memory(exporter);
    }
    if (n_inputs > schema->max_inputs) {
        if (!inputs_as_attributes(exporter, call, schema, inputs, attributes)) {
            return export_ask_opset(exporter, next_version(call->operator, schema), schema->name);
        }
        n_inputs = schema->max_inputs;
    }
    for (size_t i = 0; i < n_inputs; i++) {
        names[i] = symbol_name(exporter, &inputs[i]);
        if (names[i] == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < n_outputs; i++) {
        bool is_read = call->outputs[i] != MDF_NO_OPERAND;
        bool is_optional = i < schema->n_outputs && schema->outputs[i].option == MDF_FORMAL_OPTIONAL;

        names[call->n_inputs + i] = is_read || !is_optional ? export_name(exporter, schema->name) : "";
        if (names[call->n_inputs + i] == NULL) {
            return false;
        }
        outputs[i].name = names[call->n_inputs + i];
        outputs[i].graph = graph;
    }
    while (n_outputs > 1 && names[call->n_inputs + n_outputs - 1][0] == '\0') {
        n_outputs--;
    }
    while (n_inputs > schema->min_inputs && names[n_inputs - 1][0] == '\0') { /* what is omitted at the end need not be named */
        n_inputs--;
    }
    return export_node(exporter, graph, schema->domain, schema->name, names, n_inputs, names + call->n_inputs, n_outputs,
                       attributes);
}

/* A schema's version that the whole model can have; other domains have their own. */
static bool find_schema(struct exporter *exporter, const struct mdf_code_call *call, const struct mdf_schema **schema)
{
    const struct mdf_operator *row = call->operator;
    int since = call->signature != NULL && call->signature->since > row->since ? call->signature->since : row->since;
    size_t *version;

    *schema = mdf_schema_find_anywhere(row->name, row->since);
    if (*schema == NULL) {
        return export_refuse(exporter, "the operator '%s' is not one of ONNX", row->name);
    }
    if ((*schema)->domain[0] == '\0') {
        *schema = mdf_schema_find("", row->name, exporter->opset);
        if ((*schema)->deprecated) {
            return export_refuse(exporter, "onnx::%s is not in opset %d any more", row->name, exporter->opset);
        }
        if ((*schema)->since < since) {
            return export_ask_opset(exporter, since, row->name);
        }
        return ((*schema)->since <= row->until && (*schema)->since <= exporter->opset) ||
               export_refuse(exporter, "onnx::%s is called in another version than opset %d has", row->name, exporter->opset);
    }
    version = name_table_add(&exporter->domains, &exporter->arena, (*schema)->domain);
    if (version == NULL) {
        return export_out_of_memory(exporter);
    }
    if (*version == 0) {
        exporter->domain_names[exporter->n_domains++] = (*schema)->domain;
    }
    *version = (size_t)(*schema)->since > *version ? (size_t)(*schema)->since : *version;
    return true;
}

bool export_onnx_call(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                      const struct symbol *inputs, struct symbol *outputs)
{
    struct symbol *taken = mdf_arena_array(&exporter->arena, call->n_inputs, sizeof *taken);
    struct mdf_code_call written = *call;
    const struct mdf_schema *schema;
    struct mdf_text attributes;
    bool is_weak = false, done;

    if (taken == NULL) {
        return export_out_of_memory(exporter);
    }
    if (!find_schema(exporter, call, &schema)) {
        return false;
    }
    mdf_text_init(&attributes, exporter->memory);
    put_settings(call, schema, &attributes);
    if (call->n_bodies > 0) {
        if (call->n_inputs > 0) {
            memcpy(taken, inputs, call->n_inputs * sizeof *taken);
        }
        done = check_optionals(exporter, schema, taken, call->n_inputs) &&
               export_control(exporter, environment, call, taken, outputs, &attributes);
    } else {
        done = convert_inputs(exporter, environment->graph, call, inputs, taken, &is_weak) &&
               attributes_as_inputs(exporter, schema, &written, &taken) && check_reals(exporter, &written, schema, taken) &&
               check_optionals(exporter, schema, taken, written.n_inputs) &&
               infer(exporter, schema, &written, taken, outputs) && find_open_types(exporter, call, taken, outputs);
    }
    for (size_t i = 0; done && i < call->n_outputs; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_output(schema, i);

        if (outputs[i].is_optional && formal != NULL && formal->optional_types == 0) {
            done = export_ask_opset(exporter, EXPORT_OPSET_OF_OPTIONALS, schema->name);
        }
    }
    done = done && write_node(exporter, environment->graph, schema, &written, taken, outputs, &attributes);
    for (size_t i = 0; done && is_weak && call->n_inputs > 0 && i < call->n_outputs; i++) {
        mdf_dtype dtype = outputs[i].dtype;

        if (dtype == exporter->program->real || dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_BOOL) {
            outputs[i].strength = MDF_STRENGTH_LITERAL;
        }
    }
    mdf_text_release(&attributes);
    return done;
}
