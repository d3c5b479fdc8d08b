/* onnx_call.c - an onnx:: function as a call: formals to operands, attributes to settings, bodies to units, outputs to slots. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

enum { LOOP_TRIP_COUNT, LOOP_CONDITION }; /* numbers of Loop's inputs */

/* A call while its parts are found. */
struct call_builder {
    struct target *target;
    const struct mdf_definition *definition;
    const struct mdf_schema *schema;
    const struct mdf_operator *row;
    struct list operands;    /* mdf_operand */
    struct list bodies;      /* uint32_t */
    struct list graphs;      /* struct graph_attribute */
    struct list yield_flags; /* unsigned, enum operand_flags, of what the bodies yield */
    struct mdf_static_body static_bodies[MDF_STATIC_BODIES];
    size_t n_outputs;
    bool is_inferred; /* what a body yields was not declared */
    const void *settings;
};

static bool add_operand(struct call_builder *builder, mdf_operand operand)
{
    return list_add(builder->target->compiler, &builder->operands, &operand, sizeof operand);
}

static bool add_argument(struct call_builder *builder, const char *name, const struct mdf_node *node)
{
    struct compiler *compiler = builder->target->compiler;
    struct place place = place_enter(compiler, "argument", name, node);
    mdf_operand operand;

    if (node->kind == MDF_NODE_NULL || (node->kind == MDF_NODE_STRING && node->as.string.length == 0)) {
        operand = MDF_NO_OPERAND;
    } else {
        operand = compile_value(builder->target, node);
        if (operand != MDF_NO_OPERAND && mdf_schema_attribute(builder->schema, "body") != NULL &&
            (unit_flags(builder->target->unit, operand) & OPERAND_MAY_BE_LIST) != 0) {
            operand = compile_as_array(builder->target, operand); /* what a loop carries is an array */
        }
        if (operand == MDF_NO_OPERAND) {
            return false;
        }
    }
    place_leave(compiler, place);
    return add_operand(builder, operand);
}

/* Whether the call names some of its inputs: then an optional one that it does not name is left out. */
static bool names_inputs(const struct call_builder *builder)
{
    const struct mdf_node *args = builder->definition->args;
    size_t i = 0;

    while (i < builder->schema->n_inputs && (args == NULL || mdf_node_get(args, builder->schema->inputs[i].name) == NULL)) {
        i++;
    }
    return i < builder->schema->n_inputs;
}

/* An optional input, where something of the node has the same name: which may have been meant. */
static bool leave_out(struct call_builder *builder, const struct mdf_formal *formal)
{
    struct outcome outcome;

    if (strcmp(formal->name, builder->definition->id) != 0 && scope_find_in_node(builder->target, formal->name, &outcome)) {
        compile_warning(builder->target->compiler,
                        "the optional input '%s' of %s::%s is left out, though the node has something of that name: write it in 'args', "
                        "or null there",
                        formal->name, mdf_schema_prefix(builder->schema), builder->schema->name);
    }
    return add_operand(builder, MDF_NO_OPERAND);
}

/* A name of the node that is called as the formal is. */
static bool add_ambient(struct call_builder *builder, const struct mdf_formal *formal, bool *found)
{
    struct outcome outcome;
    mdf_operand operand;

    *found = strcmp(formal->name, builder->definition->id) != 0 && scope_find_in_node(builder->target, formal->name, &outcome);
    if (!*found) {
        return true;
    }
    operand = scope_as_operand(builder->target, &outcome);
    return operand != MDF_NO_OPERAND && add_operand(builder, operand);
}

/* An argument that the operator does not have, where `meant` is one that it has. */
static bool unknown_argument(struct call_builder *builder, const struct mdf_node_entry *entry, const char *meant)
{
    struct place place = place_at_key(builder->target->compiler, entry);

    compile_error(builder->target->compiler, MDF_NAME, "%s::%s has no input or attribute '%s'; did you mean '%s'?",
                  mdf_schema_prefix(builder->schema), builder->schema->name, entry->key, meant);
    place_leave(builder->target->compiler, place);
    return false;
}

/* Whether an argument's name is that of a formal or an attribute. */
static bool is_known(const struct mdf_schema *schema, const char *name)
{
    return mdf_schema_input(schema, name) != SIZE_MAX || mdf_schema_attribute(schema, name) != NULL;
}

/* The name of an attribute, or of an input where there are fixed ones, that is nearest to a name; NULL: none is near. */
static const char *nearest_known(const struct mdf_schema *schema, const char *name, bool is_variadic)
{
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, name);
    for (size_t i = 0; !is_variadic && i < schema->n_inputs; i++) {
        mdf_nearest_offer(&nearest, schema->inputs[i].name);
    }
    for (size_t i = 0; i < schema->n_attributes; i++) {
        mdf_nearest_offer(&nearest, schema->attributes[i].name);
    }
    return mdf_nearest_result(&nearest);
}

/* An input that is needed is not given: perhaps by a misspelt name. */
static bool lacks_input(struct call_builder *builder, const char *name)
{
    const struct mdf_node *args = builder->definition->args;
    const char *other = NULL;

    for (size_t i = 0; args != NULL && i < args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &args->as.object.entries[i];
        const char *meant = is_known(builder->schema, entry->key) ? NULL : nearest_known(builder->schema, entry->key, false);

        if (meant != NULL && strcmp(meant, name) == 0) {
            return unknown_argument(builder, entry, meant);
        }
        other = other == NULL && !is_known(builder->schema, entry->key) ? entry->key : other;
    }
    compile_error(builder->target->compiler, MDF_MODEL, other != NULL ? "%s::%s needs the input '%s', and has none that is called '%s'" : "%s::%s needs the input '%s'",
                  mdf_schema_prefix(builder->schema), builder->schema->name, name, other);
    return false;
}

static bool add_single(struct call_builder *builder, const struct mdf_formal *formal)
{
    const struct mdf_definition *definition = builder->definition;
    const struct mdf_node *given = definition->args != NULL ? mdf_node_get(definition->args, formal->name) : NULL;
    bool found;

    if (given != NULL) {
        if (formal->option == MDF_FORMAL_SINGLE && find_argument(definition, formal->name) == NULL) {
            return lacks_input(builder, formal->name);
        }
        return add_argument(builder, formal->name, given);
    }
    if (formal->option != MDF_FORMAL_SINGLE && names_inputs(builder)) {
        return leave_out(builder, formal);
    }
    if (!add_ambient(builder, formal, &found) || found) {
        return found;
    }
    if (formal->option == MDF_FORMAL_SINGLE) {
        return lacks_input(builder, formal->name);
    }
    return add_operand(builder, MDF_NO_OPERAND);
}

/* One more input under a name of its own; where it can not be one, the name was perhaps meant to be that of an attribute. */
static bool add_unknown(struct call_builder *builder, const struct mdf_node_entry *entry)
{
    struct compiler *compiler = builder->target->compiler;
    const char *meant = nearest_known(builder->schema, entry->key, true);
    struct place place = place_here(compiler);

    if (meant != NULL && find_argument(builder->definition, meant) == NULL && entry->value.kind == MDF_NODE_OBJECT) {
        return unknown_argument(builder, entry, meant);
    }
    if (add_argument(builder, entry->key, &entry->value)) {
        return true;
    }
    if (meant != NULL && find_argument(builder->definition, meant) == NULL && compiler->error->code == MDF_NAME) {
        memset(compiler->error, 0, sizeof *compiler->error); /* the value makes no sense as what it was not meant to be */
        place_leave(compiler, place);
        return unknown_argument(builder, entry, meant);
    }
    return false;
}

/* The list given under the formal's name, then all arguments that are neither formals nor attributes. */
static bool add_variadic(struct call_builder *builder, const struct mdf_formal *formal)
{
    const struct mdf_node *args = builder->definition->args, *given = find_argument(builder->definition, formal->name);
    size_t before = builder->operands.n;
    struct list pieces = {0};
    bool found;

    if (given != NULL && !split_variadic(builder->target->compiler, given, &pieces)) {
        return false;
    }
    for (size_t i = 0; i < pieces.n; i++) {
        if (!add_argument(builder, formal->name, ((const struct mdf_node **)pieces.items)[i])) {
            return false;
        }
    }
    for (size_t i = 0; args != NULL && i < args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &args->as.object.entries[i];

        if (!is_known(builder->schema, entry->key) && !add_unknown(builder, entry)) {
            return false;
        }
    }
    return given != NULL || builder->operands.n > before || add_ambient(builder, formal, &found);
}

/* Of a variadic operator any name is one of an input: only one that is nearly an attribute's is a mistake. */
static void warn_unknown_names(struct call_builder *builder, bool is_variadic)
{
    const struct mdf_node *args = builder->definition->args;
    const struct mdf_schema *schema = builder->schema;

    for (size_t i = 0; args != NULL && i < args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &args->as.object.entries[i];
        const char *guess = is_known(schema, entry->key) ? NULL : nearest_known(schema, entry->key, is_variadic);

        const struct mdf_schema_attribute *meant = guess != NULL ? mdf_schema_attribute(schema, guess) : NULL;

        if (meant != NULL && meant->required && find_attribute(builder->target->compiler, builder->definition, guess) == NULL) {
            continue; /* it is missed, with an error that says so */
        }
        if (is_variadic ? guess != NULL : !is_known(schema, entry->key)) {
            struct place place = place_at_key(builder->target->compiler, entry);

            compile_warning(builder->target->compiler, "%s::%s has no input or attribute '%s'; it is %s%s%s%s",
                            mdf_schema_prefix(schema), schema->name, entry->key,
                            is_variadic ? "taken as one more input" : "ignored", guess ? "; did you mean '" : "",
                            guess ? guess : "", guess ? "'?" : "");
            place_leave(builder->target->compiler, place);
        }
    }
}

static bool add_inputs(struct call_builder *builder)
{
    const struct mdf_schema *schema = builder->schema;
    const mdf_operand *operands;
    bool variadic = false;

    for (size_t i = 0; i < schema->n_inputs; i++) {
        variadic = schema->inputs[i].option == MDF_FORMAL_VARIADIC;
        if (variadic ? !add_variadic(builder, &schema->inputs[i]) : !add_single(builder, &schema->inputs[i])) {
            return false;
        }
    }
    warn_unknown_names(builder, variadic);
    operands = builder->operands.items;
    while (builder->operands.n > schema->min_inputs && operands[builder->operands.n - 1] == MDF_NO_OPERAND) {
        builder->operands.n--; /* optional inputs at the end that are not given */
    }
    if (builder->operands.n < schema->min_inputs) { /* of a variadic one: of any other, each that is needed is there */
        compile_error(builder->target->compiler, MDF_MODEL, "%s::%s takes at least %zu input%s, not %zu",
                      mdf_schema_prefix(schema), schema->name, schema->min_inputs, schema->min_inputs == 1 ? "" : "s",
                      builder->operands.n);
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ bodies */

/* What the operator's attributes and operands say of its bodies. */
static bool describe_bodies(struct call_builder *builder, struct body_request *request)
{
    struct compiler *compiler = builder->target->compiler;
    size_t n_operands = builder->operands.n, fixed = builder->schema->n_inputs - 1;
    const struct mdf_node *node = find_attribute(compiler, builder->definition, "num_scan_inputs");
    struct mdf_value value = {0};
    int64_t n_scan = -1;

    request->operator= builder->schema->name;
    request->loop = mdf_schema_input(builder->schema, "cond") == 1;
    request->branch = mdf_schema_input(builder->schema, "cond") == 0;
    if (request->branch) {
        return true;
    }
    if ((builder->row->flags & (MDF_OPERATOR_MAPS | MDF_OPERATOR_MODIFIES)) != 0) {
        bool maps = (builder->row->flags & MDF_OPERATOR_MAPS) != 0;

        request->n_scan_inputs = maps ? n_operands : 0;
        request->n_states = maps ? 0 : 1;
        return true;
    }
    request->n_states = n_operands > fixed ? n_operands - fixed : 0;
    if (mdf_schema_attribute(builder->schema, "num_scan_inputs") == NULL) {
        return true;
    }
    if (node == NULL || !compile_constant(builder->target, node, &value)) {
        compile_error(compiler, MDF_MODEL, "onnx::%s needs the attribute 'num_scan_inputs'", builder->schema->name);
        return false;
    }
    if (!mdf_value_to_int64(&value, &n_scan) || n_scan < 1 || (uint64_t)n_scan > request->n_states) {
        compile_error(compiler, MDF_VALUE, "num_scan_inputs must be between 1 and the %zu inputs given", request->n_states);
        mdf_value_clear(compiler->memory, &value);
        return false;
    }
    mdf_value_clear(compiler->memory, &value);
    request->n_scan_inputs = (size_t)n_scan;
    request->n_states -= (size_t)n_scan;
    return true;
}

/* Of two branches, what is known of both. */
static bool merge_flags(struct call_builder *builder, const struct operand_facts *facts, size_t n)
{
    unsigned *merged = builder->yield_flags.items;

    for (size_t i = 0; i < n; i++) {
        if (i < builder->yield_flags.n) {
            merged[i] &= facts[i].flags;
        } else if (!list_add(builder->target->compiler, &builder->yield_flags, &facts[i].flags, sizeof facts[i].flags)) {
            return false;
        }
    }
    return true;
}

static bool add_body(struct call_builder *builder, const struct graph_attribute *graph, struct body_request *request)
{
    struct unit *unit = builder->target->unit;
    struct body_result result;
    uint32_t index = (uint32_t)unit->bodies.n;

    request->node = graph->node;
    request->attribute = graph->name;
    if (!compile_body(builder->target, request, &result)) {
        return false;
    }
    index = (uint32_t)unit->bodies.n;
    if (!list_add(builder->target->compiler, &unit->bodies, &result.code, sizeof result.code)) {
        mdf_code_clear(builder->target->compiler->memory, result.code);
        return false;
    }
    if ((builder->row->flags & MDF_OPERATOR_MODIFIES) != 0) {
        return list_add(builder->target->compiler, &builder->bodies, &index, sizeof index);
    }
    if (builder->bodies.n > 0 && result.n_yields != builder->n_outputs) {
        compile_error(builder->target->compiler, MDF_MODEL,
                      "the branches of onnx::%s yield %zu and %zu values: they must yield the same number", request->operator,
                      builder->n_outputs, result.n_yields);
        return false;
    }
    if (builder->bodies.n < MDF_STATIC_BODIES) {
        builder->static_bodies[builder->bodies.n] =
            (struct mdf_static_body){.yields = result.types, .promised = result.hints, .n_yields = result.code->n_yields};
    }
    builder->n_outputs = result.n_yields;
    builder->is_inferred = builder->is_inferred || result.is_inferred;
    return ((builder->row->flags & MDF_OPERATOR_MAPS) != 0 || merge_flags(builder, result.facts, result.n_yields)) &&
           list_add(builder->target->compiler, &builder->bodies, &index, sizeof index);
}

/* A graph attribute that is not given, of an operator that can do without. */
static bool is_left_out(const struct call_builder *builder, const struct graph_attribute *graph)
{
    return graph->node == NULL && (builder->row->flags & MDF_OPERATOR_MODIFIES) != 0;
}

static bool add_no_body(struct call_builder *builder)
{
    const uint32_t none = UINT32_MAX;

    return list_add(builder->target->compiler, &builder->bodies, &none, sizeof none);
}

static struct call_types types_of_call(const struct call_builder *builder)
{
    struct call_types call = {.schema = builder->schema,
                              .row = builder->row,
                              .settings = builder->settings,
                              .inputs = builder->operands.items,
                              .n_inputs = builder->operands.n,
                              .n_bodies = builder->bodies.n};

    memcpy(call.bodies, builder->static_bodies, sizeof call.bodies);
    return call;
}

/* Whether the call is a Loop's without a condition, which so far stands for one that is always true. */
static bool lacks_condition(const struct call_builder *builder, const struct body_request *request)
{
    return request->loop && ((const mdf_operand *)builder->operands.items)[LOOP_CONDITION] == MDF_NO_OPERAND;
}

/* The condition that a Loop lacks becomes one that is true, so that what its body yields decides. */
static bool give_condition(struct call_builder *builder)
{
    struct mdf_value yes = {0};
    mdf_operand *operands = builder->operands.items;

    if (!mdf_value_make_bool(builder->target->compiler->memory, &yes, true)) {
        compile_out_of_memory(builder->target->compiler);
        return false;
    }
    yes.strength = MDF_STRENGTH_TYPED;
    operands[LOOP_CONDITION] = unit_add_constant(builder->target, &yes, OPERAND_IS_BOOL);
    return operands[LOOP_CONDITION] != MDF_NO_OPERAND;
}

static bool obey_body(struct call_builder *builder, const struct body_request *request)
{
    return builder->target->compiler->loop_condition != MDF_LOOP_CONDITION_OBEY || !lacks_condition(builder, request) ||
           give_condition(builder);
}

/* Of a condition that the body yields where the Loop has none: ONNX's text says that it is ignored, ONNX Runtime goes by it. Without
 * a trip count nothing else could end the loop: it is gone by. */
static bool settle_condition(struct call_builder *builder, const struct body_request *request)
{
    const struct unit *unit = builder->target->unit;

    if (builder->target->compiler->loop_condition != MDF_LOOP_CONDITION_UNSAID || !lacks_condition(builder, request) ||
        loop_goes_on(unit, ((struct mdf_code **)unit->bodies.items)[unit->bodies.n - 1])) {
        return true;
    }
    if (((const mdf_operand *)builder->operands.items)[LOOP_TRIP_COUNT] == MDF_NO_OPERAND) {
        return give_condition(builder);
    }
    if (builder->target->compiler->n_taken == 0) {
        compile_warning(builder->target->compiler,
                        "the loop has no condition input, but its body yields a condition that may be false: it is ignored, as the "
                        "ONNX standard says, where ONNX Runtime obeys it; give the loop the condition input true, or say which is "
                        "meant: --loop-condition standard or obey (loop_condition)");
    }
    return true;
}

static bool add_bodies(struct call_builder *builder)
{
    const struct graph_attribute *graphs = builder->graphs.items;
    struct call_types types;
    struct body_request request = {0};

    if (builder->graphs.n == 0) {
        return true;
    }
    if (!describe_bodies(builder, &request) || !obey_body(builder, &request)) {
        return false;
    }
    types = types_of_call(builder);
    if (!infer_formals(builder->target, &types, request.n_states + request.n_scan_inputs + (request.loop ? 2 : 0),
                       &request.formals)) {
        return false;
    }
    for (size_t i = 0; i < builder->graphs.n; i++) {
        if (!(is_left_out(builder, &graphs[i]) ? add_no_body(builder) : add_body(builder, &graphs[i], &request))) {
            return false;
        }
    }
    return settle_condition(builder, &request);
}

/* ------------------------------------------------------------------ outputs */

/* Of an operator with a variadic output: as many as the model reads; whether they are a list, which its inputs may say. */
static bool count_variadic(const struct call_builder *builder, const struct usage *usage, const struct call_types *types,
                           size_t *n_outputs, bool *several)
{
    enum { MOST_LISTED = 1 << 16 };
    bool is_indexed = usage->max_index >= 0 || usage->as_list;
    size_t n_read = usage->max_index >= 0 ? (size_t)usage->max_index + 1 : usage->elsewhere ? 1 : usage->n_ports, n_all;
    bool is_whole = usage->as_list || (is_indexed && (usage->n_ports > 0 || usage->elsewhere));

    if (!infer_output_count(builder->target, types, &n_all)) {
        return false;
    }
    if (is_whole && n_all > MOST_LISTED) {
        compile_error(builder->target->compiler, MDF_VALUE,
                      "onnx::%s: its outputs can not be a list, because their number is %s: index them by numbers from 0 on",
                      builder->schema->name, n_all == MDF_SOME_OUTPUTS ? "not known before it runs" : "too large");
        return false;
    }
    if (n_all > 0 && (is_whole || (is_indexed && n_read > n_all))) {
        n_read = n_all;
    }
    n_read = n_read < builder->schema->min_outputs ? builder->schema->min_outputs : n_read;
    *n_outputs = n_read;
    *several = n_read > 1 || (is_indexed && n_all > 1); /* one output is no list of one */
    return true;
}

/* How many outputs the model reads, and whether they are read as a list. */
static bool count_outputs(const struct call_builder *builder, const struct usage *usage, const struct call_types *types,
                          size_t *n_outputs, bool *several)
{
    const struct mdf_schema *schema = builder->schema;
    bool bare = usage->n_ports > 0 || usage->elsewhere;
    size_t n;

    if (builder->graphs.n > 0 && (builder->row->flags & MDF_OPERATOR_MODIFIES) == 0) {
        *several = builder->n_outputs > 1;
        *n_outputs = builder->n_outputs;
        return true;
    }
    if ((builder->row->flags & MDF_OPERATOR_INFERS) != 0 &&
        !fits_schema(builder->target->compiler, builder->definition, schema)) {
        *several = false; /* what the later version yields of its training is not there */
        *n_outputs = 1;
        return true;
    }
    *several = schema->max_outputs > 1;
    if (schema->max_outputs <= 1) {
        *n_outputs = schema->n_outputs;
        return true;
    }
    if (schema->max_outputs == SIZE_MAX) {
        return count_variadic(builder, usage, types, n_outputs, several);
    }
    if (usage->as_list || (usage->max_index >= 0 && bare)) {
        n = schema->max_outputs;
    } else if (usage->max_index >= 0) {
        n = (size_t)usage->max_index + 1;
    } else if (usage->elsewhere || usage->n_ports <= 1) {
        *several = false;
        n = 1;
    } else {
        n = usage->n_ports;
    }
    n = n < schema->min_outputs ? schema->min_outputs : n;
    *n_outputs = n > schema->max_outputs ? schema->max_outputs : n;
    return true;
}

/* What is known of an output: boolean by its type, or by the input whose type it shares. */
static unsigned flags_of_output(const struct call_builder *builder, size_t index)
{
    const struct mdf_formal *output = mdf_schema_actual_output(builder->schema, index), *input;
    const mdf_operand *operands = builder->operands.items;

    if (builder->yield_flags.n > index) {
        return ((const unsigned *)builder->yield_flags.items)[index];
    }
    if (output == NULL) {
        return 0;
    }
    if (output->tensor_types == MDF_DTYPE_BIT(MDF_DTYPE_BOOL) && output->sequence_types == 0 && output->optional_types == 0) {
        return OPERAND_IS_BOOL;
    }
    for (size_t i = 0; output->variable >= 0 && i < builder->operands.n; i++) {
        input = mdf_schema_actual_input(builder->schema, i);
        if (input != NULL && input->variable == output->variable && operands[i] != MDF_NO_OPERAND) {
            return unit_flags(builder->target->unit, operands[i]) & OPERAND_IS_BOOL;
        }
    }
    return 0;
}

/* Ports that hold the bare id stand for one output each; where a body does not say what it yields, another number of them shows
 * that something was lost: an output that a node of the body takes too, say. */
static bool check_ports(const struct call_builder *builder, const struct usage *usage, size_t n_outputs)
{
    if (!builder->is_inferred || (builder->row->flags & MDF_OPERATOR_MODIFIES) != 0 || usage->n_ports < 2 ||
        usage->n_ports == n_outputs) {
        return true;
    }
    compile_error(builder->target->compiler, MDF_MODEL,
                  "%zu output ports take the outputs of onnx::%s, whose body seems to yield %zu: declare metadata {\"outputs\": "
                  "[...]} in the "
                  "body",
                  usage->n_ports, builder->schema->name, n_outputs);
    return false;
}

/* NULL: memory was refused. */
static struct mdf_signature *make_signature(const struct call_builder *builder)
{
    struct compiler *compiler = builder->target->compiler;
    struct mdf_signature *signature = mdf_signature_new(compiler->arena, builder->schema, builder->operands.n);
    const struct mdf_formal *first = builder->schema->inputs;

    if (signature == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    for (size_t i = 0; i < signature->n_inputs; i++) {
        struct mdf_signature_input *input = &signature->inputs[i];

        input->counts = input->counts && (builder->row->flags & MDF_OPERATOR_KEEPS_SCALARS) == 0;
        input->needs_axis =
            (builder->row->flags & MDF_OPERATOR_NEEDS_AXIS) != 0 &&
            (input->formal == first || (input->formal->variable >= 0 && input->formal->variable == first->variable));
    }
    return signature;
}

static bool emit(struct call_builder *builder, const struct usage *usage, struct outcome *outcome)
{
    struct target *target = builder->target;
    struct compiler *compiler = target->compiler;
    struct mdf_code_call call = {.operator= builder->row, .settings = builder->settings};
    struct call_types types = types_of_call(builder);
    size_t n, n_wired;
    mdf_operand *outputs;
    bool several;

    if (!count_outputs(builder, usage, &types, &n, &several) || !check_ports(builder, usage, n)) {
        return false;
    }
    n_wired = n == 0 ? 1 : n;
    outputs = mdf_arena_array(&compiler->scratch, n_wired, sizeof *outputs);
    if (outputs == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < n_wired; i++) {
        outputs[i] = unit_new_slot(target, flags_of_output(builder, i));
        if (outputs[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    call.inputs = builder->operands.items;
    call.n_inputs = builder->operands.n;
    call.outputs = outputs;
    call.n_outputs = n;
    call.bodies = mdf_arena_array(compiler->arena, builder->bodies.n, sizeof *call.bodies);
    call.n_bodies = builder->bodies.n;
    if (call.bodies == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (call.n_bodies > 0) {
        memcpy((uint32_t *)(uintptr_t)call.bodies, builder->bodies.items, call.n_bodies * sizeof *call.bodies);
    }
    if ((builder->row->flags & MDF_OPERATOR_KEEPS_INPUTS) == 0 && builder->operands.n > 0) {
        call.signature = make_signature(builder);
        if (call.signature == NULL) {
            return false;
        }
    }
    *outcome = (struct outcome){outputs, n_wired, several};
    return unit_emit_call(target, &call) && infer_outputs(target, &types, outputs, n);
}

bool compile_onnx_call(struct target *target, const struct mdf_definition *definition, const struct usage *usage,
                       struct outcome *outcome)
{
    struct call_builder builder = {.target = target, .definition = definition};

    builder.schema = find_called_schema(target->compiler, definition);
    builder.row = mdf_operator_onnx(builder.schema->name, builder.schema->since);
    if (builder.row == NULL) {
        struct place place = place_at(target->compiler, definition->function_source);

        compile_error(target->compiler, MDF_UNSUPPORTED, "%s::%s version %d (opset %d) is not supported",
                      mdf_schema_prefix(builder.schema), builder.schema->name, builder.schema->since,
                      target->compiler->model->opset);
        place_leave(target->compiler, place);
        return false;
    }
    if (!add_inputs(&builder) ||
        !compile_settings(target, definition, builder.schema, builder.row, &builder.settings, &builder.graphs)) {
        return false;
    }
    if ((builder.row->flags & MDF_OPERATOR_DERIVES) != 0) {
        return compile_gradient(target, builder.settings, builder.operands.items, builder.operands.n, outcome);
    }
    return add_bodies(&builder) && emit(&builder, usage, outcome);
}
