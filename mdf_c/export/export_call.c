/* export_call.c - onnx:: functions: a call is a node of the same operator, its settings are attributes again, its bodies graphs. */
#include "mdf_c/export/exporter.h"

#include "schemas/inference.h"

#include <math.h>
#include <string.h>

enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_FLOAT = 2, ATTRIBUTE_STRING = 4, ATTRIBUTE_TENSOR = 5, ATTRIBUTE_FLOATS = 7,
       ATTRIBUTE_STRINGS = 9, ATTRIBUTE_TYPE = 20, NODE_ATTRIBUTE = 5 };
enum { LOOP_TRIPS, LOOP_CONDITION, LOOP_STATES };

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

/* The attribute of a setting, if it has a value. Types are the schema's: what is a list there may be held as one number. */
static void put_setting(struct mdf_text *attributes, const struct mdf_schema_attribute *attribute, enum mdf_setting_type type,
                        const void *field)
{
    struct mdf_text made, tensor;
    size_t i;

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
    } else if (type == MDF_SETTING_STRING && *(const char *const *)field != NULL) {
        onnx_put_string(&made, ATTRIBUTE_STRING, *(const char *const *)field);
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_STRING);
    } else if (type == MDF_SETTING_FLOATS && ((const struct mdf_floats *)field)->items != NULL) {
        const struct mdf_floats *floats = field;

        for (i = 0; i < floats->n; i++) {
            onnx_put_float(&made, ATTRIBUTE_FLOATS, (float)floats->items[i]);
        }
        onnx_put_integer(&made, ATTRIBUTE_TYPE, MDF_ATTRIBUTE_FLOATS);
    } else if (type == MDF_SETTING_STRINGS && ((const struct mdf_strings *)field)->items != NULL) {
        const struct mdf_strings *strings = field;

        for (i = 0; i < strings->n; i++) {
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

/* Attributes of ONNX are float32: where all is computed in float64, others would mean something else. */
static bool check_reals(struct exporter *exporter, const struct mdf_code_call *call, const struct mdf_schema *schema,
                        const struct symbol *inputs)
{
    const struct mdf_setting *setting, *fmod = find_setting(call, "fmod");
    bool is_wide = false;
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
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

static void put_settings(const struct mdf_code_call *call, const struct mdf_schema *schema, struct mdf_text *attributes)
{
    const struct mdf_setting *setting;

    for (setting = call->operator->settings; setting != NULL && setting->name != NULL; setting++) {
        const struct mdf_schema_attribute *attribute = mdf_schema_attribute(schema, setting->name);

        if (setting->type != MDF_SETTING_GRAPH && attribute != NULL &&
            !is_default(attribute, setting->type, field_of(call, setting))) {
            put_setting(attributes, attribute, setting->type, field_of(call, setting));
        }
    }
}

/* ------------------------------------------------------------------ what is known of the outputs */

static bool read_integers(const struct mdf_inference *inference, const char *name, const int64_t **items, size_t *n)
{
    const struct mdf_setting *setting = find_setting(inference->context, name);

    if (setting != NULL && setting->type == MDF_SETTING_INTS) {
        const struct mdf_ints *ints = field_of(inference->context, setting);

        *items = ints->items;
        *n = ints->n;
        return ints->items != NULL;
    }
    if (setting == NULL || setting->type != MDF_SETTING_INT) {
        return false;
    }
    *items = field_of(inference->context, setting);
    *n = 1;
    return **items != MDF_NOT_GIVEN;
}

static mdf_dtype read_dtype(const struct mdf_inference *inference, const char *name)
{
    const struct mdf_setting *setting = find_setting(inference->context, name);

    return setting != NULL && setting->type == MDF_SETTING_DTYPE ? *(const mdf_dtype *)field_of(inference->context, setting)
                                                                 : MDF_DTYPE_NONE;
}

static const struct mdf_value *read_value(const struct mdf_inference *inference, const char *name)
{
    const struct mdf_setting *setting = find_setting(inference->context, name);

    return setting != NULL && setting->type == MDF_SETTING_VALUE
               ? *(const struct mdf_value *const *)field_of(inference->context, setting)
               : NULL;
}

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

static bool infer(struct exporter *exporter, const struct mdf_schema *schema, const struct mdf_code_call *call,
                  const struct symbol *inputs, struct symbol *outputs)
{
    struct mdf_static_type *types = mdf_arena_array(&exporter->arena, call->n_inputs + call->n_outputs, sizeof *types);
    struct mdf_inference inference;
    size_t i;

    if (types == NULL) {
        return export_out_of_memory(exporter);
    }
    for (i = 0; i < call->n_inputs + call->n_outputs; i++) {
        types[i] = i < call->n_inputs ? type_of(&inputs[i]) : mdf_static_unknown;
    }
    inference = (struct mdf_inference){.schema = schema,
                                       .rule = mdf_operator_rule(call->operator),
                                       .arena = &exporter->arena,
                                       .inputs = types,
                                       .n_inputs = call->n_inputs,
                                       .outputs = types + call->n_inputs,
                                       .n_outputs = call->n_outputs,
                                       .attribute = read_integers,
                                       .attribute_dtype = read_dtype,
                                       .attribute_value = read_value,
                                       .context = call};
    if (!mdf_infer_outputs(&inference)) {
        return export_refuse(exporter, "onnx::%s: %s", schema->name, inference.message);
    }
    for (i = 0; i < call->n_outputs; i++) {
        symbol_of_type(&types[call->n_inputs + i], &outputs[i]);
    }
    return true;
}

/* Types that the standard's rules leave open (a constant without a declared type) are those that the kernel gives. */
static bool find_open_types(struct exporter *exporter, const struct mdf_code_call *call, const struct symbol *inputs,
                            struct symbol *outputs)
{
    size_t n = call->n_inputs + call->n_outputs + MDF_CALL_SCRATCH, n_open = 0, i;
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
    for (i = 0; i < call->n_outputs; i++) {
        n_open += outputs[i].kind == SYMBOL_TENSOR && outputs[i].dtype == MDF_DTYPE_NONE;
        results[i] = &samples[call->n_inputs + i];
    }
    for (i = 0; n_open > 0 && done && i < call->n_inputs; i++) {
        done = symbol_sample(exporter, &inputs[i], &samples[i]);
        given[i] = inputs[i].kind == SYMBOL_NOTHING ? NULL : &samples[i];
        has_shapes = has_shapes && (inputs[i].kind == SYMBOL_NOTHING || symbol_has_full_shape(&inputs[i]));
    }
    made.scratch = samples + call->n_inputs + call->n_outputs;
    exporter->context.error.code = MDF_OK;
    if (n_open > 0 && done && made.kernel(&made)) {
        for (i = 0; i < call->n_outputs; i++) {
            if (outputs[i].kind == SYMBOL_TENSOR && outputs[i].dtype == MDF_DTYPE_NONE && results[i]->kind == MDF_KIND_TENSOR) {
                symbol_set_form(exporter, &outputs[i], results[i], has_shapes);
            }
        }
    }
    for (i = 0; i < n; i++) {
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
    size_t i;

    *is_weak = true;
    for (i = 0; done && i < call->n_inputs; i++) {
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
        for (i = 0; done && i < call->n_inputs; i++) {
            done = convert(exporter, graph, &inputs[i], given[i], effective[i], &taken[i]);
        }
    }
    for (i = 0; samples != NULL && i < 2 * call->n_inputs; i++) {
        mdf_value_clear(exporter->memory, &samples[i]);
    }
    return samples == NULL || given == NULL ? export_out_of_memory(exporter) : done;
}

/* ------------------------------------------------------------------ bodies */

/* A body whose formals are `formals`; what it yields goes to `yields`, in `graph`. */
static struct onnx_graph *export_body(struct exporter *exporter, struct environment *outer, const struct mdf_code *code,
                                      const struct symbol *formals, struct symbol *yields)
{
    struct onnx_graph *graph = export_begin_graph(exporter, outer->graph, code->id);
    struct environment *inner = graph != NULL ? export_environment(exporter, code, outer, graph) : NULL;
    const struct mdf_origin *at = exporter->at;
    struct mdf_text message;
    size_t i;

    if (inner == NULL) {
        return NULL;
    }
    if (code->program != NULL) {
        export_refuse(exporter, "a graph within a node");
        return NULL;
    }
    for (i = 0; i < code->n_formals; i++) {
        const char *name = export_name(exporter, "input");
        struct symbol *slot = &inner->slots[MDF_OPERAND_INDEX(code->formals[i])];

        if (name == NULL) {
            return NULL;
        }
        *slot = formals[i];
        slot->name = name;
        slot->constant = NULL;
        slot->graph = NULL;
        mdf_text_init(&message, exporter->memory);
        export_put_value(&message, name, slot, true);
        onnx_put_message(&graph->inputs, GRAPH_INPUT, &message);
        mdf_text_release(&message);
    }
    if (!export_instructions(exporter, inner, 0, code->n_instructions)) {
        return NULL;
    }
    exporter->at = at;
    for (i = 0; i < code->n_yields; i++) {
        struct symbol constant;
        const struct symbol *yield = export_operand(exporter, inner, code->yields[i], &constant);

        if (yield == NULL || !export_as_array(exporter, graph, yield, &yields[i])) {
            return NULL;
        }
    }
    return graph;
}

/* Adds the outputs of a body, those from number `first` on brought to the types of `wanted`, and the graph to the attributes. */
static bool finish_body(struct exporter *exporter, struct onnx_graph *graph, struct symbol *yields, size_t n,
                        const mdf_dtype *wanted, const char *attribute, struct mdf_text *attributes)
{
    struct mdf_text message;
    bool done = true;
    size_t i;

    for (i = 0; i < n && done; i++) {
        struct symbol cast = yields[i];

        done = (yields[i].kind != SYMBOL_TENSOR || wanted[i] == MDF_DTYPE_NONE ||
                export_cast(exporter, graph, &yields[i], wanted[i], &cast)) &&
               export_graph_output(exporter, graph, &cast);
        yields[i].dtype = cast.dtype;
    }
    mdf_text_init(&message, exporter->memory);
    export_end_graph(exporter, graph, &message);
    export_attribute_graph(attributes, attribute, &message);
    mdf_text_release(&message);
    return done;
}

static void forget_shape(struct symbol *symbol)
{
    symbol->has_shape = false;
    symbol->rank = 0;
}

/* The type of one slice of a scan input, and back. */
static void drop_axis(struct symbol *symbol, size_t n_axes)
{
    if (symbol->has_shape && symbol->rank >= n_axes) {
        symbol->rank -= n_axes;
        symbol->shape += n_axes;
    } else {
        forget_shape(symbol);
    }
}

/* Whether a Scan goes along other axes than the first. */
static bool has_axes(const struct mdf_code_call *call)
{
    const struct mdf_setting *setting = find_setting(call, "scan_input_axes");

    return setting != NULL && ((const struct mdf_ints *)field_of(call, setting))->items != NULL;
}

/* Leaves the rank. */
static bool forget_sizes(struct exporter *exporter, struct symbol *symbol)
{
    int64_t *shape = mdf_arena_array(&exporter->arena, symbol->rank, sizeof *shape);
    size_t i;

    for (i = 0; shape != NULL && i < symbol->rank; i++) {
        shape[i] = -1;
    }
    symbol->shape = shape;
    return shape != NULL || export_out_of_memory(exporter);
}

/* Sizes that are not known are those that the compiler knows. */
static bool take_sizes(struct exporter *exporter, struct symbol *yield, const struct mdf_static_type *type)
{
    int64_t *shape = mdf_arena_array(&exporter->arena, yield->rank, sizeof *shape);
    size_t i;

    for (i = 0; shape != NULL && i < yield->rank; i++) {
        shape[i] = yield->shape[i] >= 0 ? yield->shape[i] : type->shape[i];
    }
    yield->shape = shape;
    return shape != NULL || export_out_of_memory(exporter);
}

/* What the compiler knows of the shapes that a body yields, beside what is known here: a loop without iterations stacks in them. */
static bool take_shapes(struct exporter *exporter, const struct mdf_code *code, struct symbol *yields)
{
    size_t i;

    for (i = 0; i < code->n_yields; i++) {
        const struct mdf_static_type *type = &code->yield_types[i];

        if (yields[i].kind != SYMBOL_TENSOR || !type->has_shape) {
            continue;
        }
        if (!yields[i].has_shape) {
            yields[i].has_shape = true;
            yields[i].rank = type->rank;
            yields[i].shape = type->shape;
        } else if (yields[i].rank == type->rank && !take_sizes(exporter, &yields[i], type)) {
            return false;
        }
    }
    return true;
}

/* States of a loop keep one element type. What has no declared type takes that of what the body yields: the body is gone through
 * again until they agree. */
static bool settle_states(struct exporter *exporter, struct onnx_graph *graph, struct symbol *states, const struct symbol *yields,
                          size_t n, bool *is_settled)
{
    size_t i;

    *is_settled = true;
    for (i = 0; i < n; i++) {
        struct symbol cast;
        mdf_dtype common;

        if (states[i].kind != SYMBOL_TENSOR || states[i].dtype == yields[i].dtype) {
            continue;
        }
        if (yields[i].kind != SYMBOL_TENSOR || (states[i].strength == MDF_STRENGTH_TYPED && yields[i].strength == MDF_STRENGTH_TYPED)) {
            return export_refuse(exporter, "state variable %zu changes its type", i);
        }
        common = export_common_type(exporter, &states[i], &yields[i]);
        if (common == MDF_DTYPE_NONE) {
            return export_refuse(exporter, "state variable %zu changes its type", i);
        }
        if (common != states[i].dtype) {
            if (!export_cast(exporter, graph, &states[i], common, &cast)) {
                return false;
            }
            cast.strength = yields[i].strength;
            states[i] = cast;
            *is_settled = false;
        }
    }
    return true;
}

enum { MOST_ROUNDS = 6 };

/* Loop and Scan: `first_state` is the number of the first state among the inputs, `n_before` what stands before states among
 * formals and yields. */
static bool export_loop(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                        struct symbol *inputs, bool is_loop, struct symbol *outputs, struct mdf_text *attributes)
{
    const struct mdf_code *code = environment->code->bodies[call->bodies[0]];
    size_t first_state = is_loop ? LOOP_STATES : call->n_inputs - code->n_formals, n_formals = code->n_formals;
    size_t n_before = is_loop ? 1 : 0, n_scan_inputs = 0, n_states, round, i;
    struct symbol *formals = mdf_arena_array(&exporter->arena, n_formals, sizeof *formals);
    struct symbol *yields = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *yields);
    mdf_dtype *wanted = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *wanted);
    const struct mdf_setting *setting = find_setting(call, "num_scan_inputs");
    size_t n_batch_axes = !is_loop && call->operator->until < 9 ? 1 : 0;
    struct onnx_graph *graph;
    bool is_settled = false;

    if (formals == NULL || yields == NULL || wanted == NULL) {
        return export_out_of_memory(exporter);
    }
    n_scan_inputs = !is_loop && setting != NULL ? (size_t)*(const int64_t *)field_of(call, setting) : 0;
    n_states = is_loop ? n_formals - LOOP_STATES : n_formals - n_scan_inputs;
    for (round = 0; round < MOST_ROUNDS && !is_settled; round++) {
        for (i = 0; i < n_formals; i++) {
            if (is_loop && i < LOOP_STATES) {
                formals[i] = (struct symbol){.kind = SYMBOL_TENSOR,
                                             .dtype = i == LOOP_TRIPS ? MDF_DTYPE_INT64 : MDF_DTYPE_BOOL,
                                             .strength = MDF_STRENGTH_TYPED,
                                             .has_shape = true};
                continue;
            }
            formals[i] = inputs[first_state + i - (is_loop ? LOOP_STATES : 0)];
            if (is_loop) {
                forget_shape(&formals[i]);
            } else {
                drop_axis(&formals[i], n_batch_axes + (i >= n_states ? 1 : 0));
                if (i >= n_states && has_axes(call) && !forget_sizes(exporter, &formals[i])) {
                    return false;
                }
            }
        }
        graph = export_body(exporter, environment, code, formals, yields);
        if (graph == NULL || !settle_states(exporter, environment->graph, inputs + first_state, yields + n_before, n_states, &is_settled)) {
            return false;
        }
    }
    if (!is_settled) {
        return export_refuse(exporter, "the types of the state variables do not settle");
    }
    for (i = 0; i < code->n_yields; i++) {
        wanted[i] = is_loop && i == 0 ? MDF_DTYPE_BOOL : i - n_before < n_states ? inputs[first_state + i - n_before].dtype : MDF_DTYPE_NONE;
    }
    if (is_loop && inputs[LOOP_CONDITION].kind == SYMBOL_NOTHING) { /* what the body yields is ignored */
        struct mdf_value *truth = export_make(exporter);

        if (truth == NULL || !mdf_value_make_bool(exporter->memory, truth, true) || !symbol_of_value(exporter, truth, &yields[0])) {
            return export_out_of_memory(exporter);
        }
    }
    graph->is_scan = true;
    if (!take_shapes(exporter, code, yields)) {
        return false;
    }
    for (i = 0; is_loop && i < n_before + n_states; i++) { /* these may change; what is stacked may not */
        forget_shape(&yields[i]);
    }
    if (!is_loop) {
        for (i = 0; i < n_states; i++) {
            if (!yields[i].has_shape && formals[i].has_shape) {
                yields[i].has_shape = true;
                yields[i].rank = formals[i].rank;
                yields[i].shape = formals[i].shape;
            }
        }
    }
    if (!finish_body(exporter, graph, yields, code->n_yields, wanted, "body", attributes)) {
        return false;
    }
    for (i = 0; i < call->n_outputs && i + n_before < code->n_yields; i++) {
        outputs[i] = yields[i + n_before];
        outputs[i].constant = NULL;
        outputs[i].strength = i < n_states && inputs[first_state + i].strength != MDF_STRENGTH_TYPED ? yields[i + n_before].strength
                                                                                                    : MDF_STRENGTH_TYPED;
        if (i < n_states && !is_loop && n_batch_axes == 0) {
            outputs[i].has_shape = inputs[first_state + i].has_shape;
            outputs[i].rank = inputs[first_state + i].rank;
            outputs[i].shape = inputs[first_state + i].shape;
        } else {
            forget_shape(&outputs[i]);
        }
    }
    return true;
}

static bool export_if(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                      struct symbol *outputs, struct mdf_text *attributes)
{
    static const char *const names[] = {"then_branch", "else_branch"};
    struct symbol *yields[2];
    struct onnx_graph *graphs[2];
    mdf_dtype *wanted;
    size_t n = call->n_outputs, i, j;

    for (i = 0; i < 2; i++) {
        const struct mdf_code *code = environment->code->bodies[call->bodies[i]];

        yields[i] = mdf_arena_array(&exporter->arena, code->n_yields, sizeof *yields[i]);
        if (yields[i] == NULL) {
            return export_out_of_memory(exporter);
        }
        graphs[i] = export_body(exporter, environment, code, NULL, yields[i]);
        if (graphs[i] == NULL) {
            return false;
        }
        n = code->n_yields < n ? code->n_yields : n;
    }
    wanted = mdf_arena_array(&exporter->arena, n, sizeof *wanted);
    if (wanted == NULL) {
        return export_out_of_memory(exporter);
    }
    for (j = 0; j < n; j++) {
        const struct symbol *a = &yields[0][j], *b = &yields[1][j];

        wanted[j] = a->dtype == b->dtype ? a->dtype : export_common_type(exporter, a, b);
        if (a->kind != b->kind || (wanted[j] == MDF_DTYPE_NONE && a->kind == SYMBOL_TENSOR)) {
            return export_refuse(exporter, "the branches yield values of different types");
        }
        outputs[j] = *a;
        outputs[j].constant = NULL;
        outputs[j].dtype = wanted[j];
        outputs[j].strength = a->strength > b->strength ? a->strength : b->strength;
        if (!a->has_shape || !b->has_shape || a->rank != b->rank ||
            (a->rank > 0 && memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) != 0)) {
            forget_shape(&outputs[j]);
        }
    }
    for (i = 0; i < 2; i++) {
        if (!finish_body(exporter, graphs[i], yields[i], n, wanted, names[i], attributes)) {
            return false;
        }
    }
    return true;
}

/* An array of one element without its axes, as the bodies have it. */
static bool make_scalar(struct exporter *exporter, struct onnx_graph *graph, struct symbol *symbol)
{
    struct symbol result;

    if (!symbol->has_shape || symbol->rank == 0) {
        return true;
    }
    if (!export_reshape(exporter, graph, symbol, NULL, 0, symbol, &result)) {
        return false;
    }
    *symbol = result;
    symbol->rank = 0;
    symbol->shape = NULL;
    return true;
}

/* Inputs of control flow, which take what they are given. */
static bool prepare_control(struct exporter *exporter, struct onnx_graph *graph, enum mdf_form form, struct symbol *inputs, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        struct symbol given = inputs[i];
        mdf_dtype dtype = form == MDF_FORM_LOOP && i == LOOP_TRIPS ? MDF_DTYPE_INT64
                          : (form == MDF_FORM_LOOP && i == LOOP_CONDITION) || (form == MDF_FORM_IF && i == 0)
                              ? MDF_DTYPE_BOOL
                              : MDF_DTYPE_NONE;

        if (given.kind == SYMBOL_NOTHING) {
            continue;
        }
        if (!export_as_array(exporter, graph, &given, &inputs[i])) {
            return false;
        }
        given = inputs[i];
        if (dtype != MDF_DTYPE_NONE && (!export_cast(exporter, graph, &given, dtype, &inputs[i]) ||
                                        !make_scalar(exporter, graph, &inputs[i]))) {
            return false;
        }
    }
    if (form == MDF_FORM_LOOP && inputs[LOOP_TRIPS].kind == SYMBOL_NOTHING && inputs[LOOP_CONDITION].kind == SYMBOL_NOTHING) {
        return export_refuse(exporter, "a loop with neither a trip count nor a condition never ends");
    }
    return true;
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
    size_t i;

    for (i = schema->max_inputs; i < call->n_inputs; i++) {
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

static bool write_node(struct exporter *exporter, struct onnx_graph *graph, const struct mdf_schema *schema,
                       const struct mdf_code_call *call, const struct symbol *inputs, struct symbol *outputs,
                       struct mdf_text *attributes)
{
    const char **names = mdf_arena_array(&exporter->arena, call->n_inputs + call->n_outputs, sizeof *names);
    size_t n_inputs = call->n_inputs, n_outputs = call->n_outputs, i;

    if (names == NULL) {
        return export_out_of_memory(exporter);
    }
    if (n_inputs > schema->max_inputs) {
        if (!inputs_as_attributes(exporter, call, schema, inputs, attributes)) {
            return export_ask_opset(exporter, next_version(call->operator, schema), schema->name);
        }
        n_inputs = schema->max_inputs;
    }
    for (i = 0; i < n_inputs; i++) {
        names[i] = symbol_name(exporter, &inputs[i]);
        if (names[i] == NULL) {
            return false;
        }
    }
    for (i = 0; i < n_outputs; i++) {
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
        if ((*schema)->since < row->since) {
            return export_ask_opset(exporter, row->since, row->name);
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
    enum mdf_form form = call->operator->form;
    const struct mdf_schema *schema;
    struct mdf_text attributes;
    bool is_weak = false, done;
    size_t i;

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
        done = prepare_control(exporter, environment->graph, form, taken, call->n_inputs);
        if (form == MDF_FORM_IF) {
            done = done && export_if(exporter, environment, call, outputs, &attributes);
        } else if (form == MDF_FORM_LOOP || form == MDF_FORM_SCAN) {
            done = done && export_loop(exporter, environment, call, taken, form == MDF_FORM_LOOP, outputs, &attributes);
        } else {
            done = done && export_refuse(exporter, "onnx::%s has a body, and is not written", schema->name);
        }
    } else {
        done = convert_inputs(exporter, environment->graph, call, inputs, taken, &is_weak) &&
               check_reals(exporter, call, schema, taken) &&
               infer(exporter, schema, call, taken, outputs) && find_open_types(exporter, call, taken, outputs);
    }
    done = done && write_node(exporter, environment->graph, schema, call, taken, outputs, &attributes);
    for (i = 0; done && is_weak && call->n_inputs > 0 && i < call->n_outputs; i++) {
        mdf_dtype dtype = outputs[i].dtype;

        if (dtype == exporter->program->real || dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_BOOL) {
            outputs[i].strength = MDF_STRENGTH_LITERAL;
        }
    }
    mdf_text_release(&attributes);
    return done;
}
