/* functions.c - what a Function, or a Parameter with a value or function, computes: arguments bound in order, then an MDF
 * function's expression, an operator of ONNX, a function that expressions
 * define (of ACT-R, of PsyNeuLink), or the value expression. */
#include "functions/custom/custom.h"
#include "functions/kernel/defined_function.h"
#include "functions/psyneulink/psyneulink.h"
#include "functions/standard/standard.h"
#include "mdf_c/plan/compiler.h"

#include <limits.h>
#include <string.h>

static bool is_onnx(const char *function)
{
    const char *name;

    return mdf_schema_split(function, &name) != NULL;
}

/* The opset of another domain than ONNX's own: what the model's metadata says it imports, else the newest. */
static int opset_of(const struct compiler *compiler, const char *domain)
{
    static const char *const path[] = {"metadata", "opset_imports"};
    const struct mdf_node *node = compiler->model->source;

    if (domain[0] == '\0') {
        return compiler->model->opset;
    }
    for (size_t i = 0; i < sizeof path / sizeof *path && node != NULL; i++) {
        node = node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, path[i]) : NULL;
    }
    node = node != NULL && node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, domain) : NULL;
    return node != NULL && node->kind == MDF_NODE_INT && node->as.integer >= 1 && node->as.integer < INT_MAX
               ? (int)node->as.integer
               : INT_MAX;
}

const struct mdf_schema *find_onnx_schema(const struct compiler *compiler, const char *function)
{
    const char *name, *domain = mdf_schema_split(function, &name);

    return domain != NULL ? mdf_schema_find(domain, name, opset_of(compiler, domain)) : NULL;
}

static bool is_input_port(const struct compiler *compiler, const struct mdf_node *value)
{
    for (size_t i = 0; compiler->node != NULL && value->kind == MDF_NODE_STRING && i < compiler->node->n_input_ports; i++) {
        if (strcmp(compiler->node->input_ports[i].id, value->as.string.bytes) == 0) {
            return true;
        }
    }
    return false;
}

bool fits_schema(const struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_schema *schema)
{
    if (schema->n_inputs > 0 && schema->inputs[schema->n_inputs - 1].option == MDF_FORMAL_VARIADIC) {
        return true;
    }
    for (size_t i = 0; definition->args != NULL && i < definition->args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &definition->args->as.object.entries[i];

        if (mdf_schema_attribute(schema, entry->key) != NULL ? is_input_port(compiler, &entry->value)
                                                             : mdf_schema_input(schema, entry->key) == SIZE_MAX) {
            return false;
        }
    }
    return true;
}

/* The schema of the opset that a call names in its metadata: a function of an ONNX model has opsets of its own, and its calls
 * keep them where they are put in the place of its call. NULL: it names none. */
static const struct mdf_schema *find_own_schema(const struct mdf_definition *definition)
{
    const struct mdf_node *metadata = mdf_node_get(definition->source, "metadata"),
                          *opset = metadata != NULL ? mdf_node_get(metadata, "onnx_opset_version") : NULL;
    const char *name, *domain;

    if (opset == NULL || opset->kind != MDF_NODE_INT || opset->as.integer < 1 || opset->as.integer > INT_MAX) {
        return NULL;
    }
    domain = mdf_schema_split(definition->function, &name);
    return domain != NULL ? mdf_schema_find(domain, name, (int)opset->as.integer) : NULL;
}

/* Whether the version of an operator does not train. */
static bool only_infers(const struct mdf_schema *schema)
{
    const struct mdf_operator *row = mdf_operator_onnx(schema->name, schema->since);

    return row != NULL && (row->flags & MDF_OPERATOR_INFERS) != 0;
}

/* The version that the model's opset selects. The importers of PyTorch write an old opset beside calls of newer form: where the
 * arguments do not fit that version but do fit the reference's default one, that one is meant; unless the old version does not
 * train, and so hands on its input, whatever the newer form says of training. */
const struct mdf_schema *find_called_schema(const struct compiler *compiler, const struct mdf_definition *definition)
{
    const struct mdf_schema *schema = find_own_schema(definition), *newer;

    if (schema != NULL) {
        return schema;
    }
    schema = find_onnx_schema(compiler, definition->function);
    if (schema == NULL || schema->domain[0] != '\0' || compiler->model->opset >= MDF_DEFAULT_OPSET ||
        fits_schema(compiler, definition, schema) || only_infers(schema)) {
        return schema;
    }
    newer = mdf_schema_find("", schema->name, MDF_DEFAULT_OPSET);
    return newer != NULL && fits_schema(compiler, definition, newer) ? newer : schema;
}

/* The operator of ONNX that has the name in another domain than the one that is written, or is written without one. */
static const struct mdf_schema *find_elsewhere(const char *function)
{
    const char *colon = strrchr(function, ':');

    return mdf_schema_find_anywhere(colon != NULL ? colon + 1 : function, MDF_DEFAULT_OPSET);
}

/* Where a function of expressions, "numpy.sum" or nearly one, stands as the function of a node: its name; NULL: the name begins
 * as none of them. */
static const char *find_in_expressions(struct compiler *compiler, const char *name)
{
    static const char *const modules[] = {"numpy", "np", "math"};
    const char *colons = strstr(name, "::"), *point = colons != NULL ? colons : strchr(name, '.'), *written;
    size_t length = point != NULL ? (size_t)(point - name) : 0, i;
    struct mdf_nearest nearest;

    for (i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (length == strlen(modules[i]) && strncmp(name, modules[i], length) == 0) {
            written = mdf_arena_printf(&compiler->scratch, "%.*s.%s", (int)length, name, point + (colons != NULL ? 2 : 1));
            mdf_nearest_begin(&nearest, written != NULL ? written : name);
            mdf_operator_offer_python(&nearest);
            return mdf_nearest_result(&nearest);
        }
    }
    return NULL;
}

static bool unknown_function(struct target *target, const struct mdf_definition *definition)
{
    struct place place = place_at(target->compiler, definition->function_source);
    const char *name = definition->function, *in_domain, *domain = mdf_schema_split(name, &in_domain), *guess, *prefix = "";
    const struct mdf_schema *elsewhere = find_elsewhere(name);
    bool is_foreign = domain == NULL && strstr(name, "::") != NULL;
    struct mdf_nearest nearest;

    if (mdf_psyneulink_refusal(name) != NULL) {
        compile_error(target->compiler, MDF_UNSUPPORTED, "PsyNeuLink's function '%s' is not covered: %s", name,
                      mdf_psyneulink_refusal(name));
        place_leave(target->compiler, place);
        return false;
    }
    guess = find_in_expressions(target->compiler, name);
    if (guess != NULL) {
        compile_error(target->compiler, MDF_NAME,
                      "unknown function '%s': '%s' is a function of expressions, which stands in 'value': \"%s(...)\"", name,
                      guess, guess);
        place_leave(target->compiler, place);
        return false;
    }
    if (elsewhere != NULL) { /* "Relu", "com.microsoft::Relu" */
        compile_error(target->compiler, MDF_NAME, "unknown function '%s'; did you mean '%s::%s'?", name,
                      mdf_schema_prefix(elsewhere), elsewhere->name);
        place_leave(target->compiler, place);
        return false;
    }
    if (domain != NULL) {
        mdf_nearest_begin(&nearest, in_domain);
        mdf_schema_offer(domain, &nearest);
    } else {
        mdf_nearest_begin(&nearest, name);
        mdf_standard_offer(&nearest);
        mdf_defined_function_offer(&nearest);
        mdf_custom_offer(target->compiler->functions, false, &nearest);
    }
    guess = mdf_nearest_result(&nearest);
    if (guess == NULL && domain == NULL && strrchr(name, '.') != NULL) { /* "torch.relu" */
        mdf_nearest_begin(&nearest, strrchr(name, '.') + 1);
        mdf_schema_offer("", &nearest);
        guess = mdf_nearest_result(&nearest);
        prefix = "onnx::";
    }
    compile_error(target->compiler, MDF_NAME, "unknown function '%s'%s%s%.*s%s%s", name, guess ? "; did you mean '" : "",
                  guess ? prefix : "", guess && domain != NULL ? (int)(in_domain - name) : 0, name, guess ? guess : "",
                  guess            ? "'?"
                  : domain != NULL ? ": mdf-run --ops lists the operators"
                  : is_foreign
                      ? ": functions of other domains come from a plugin (--plugin FILE) or are registered (docs/plugins.md)"
                      : "");
    place_leave(target->compiler, place);
    return false;
}

/* Binds each argument; a later one sees the earlier ones. */
static bool bind_arguments(struct target *inner, const struct mdf_definition *definition)
{
    for (size_t i = 0; definition->args != NULL && i < definition->args->as.object.n; i++) {
        const struct mdf_node_entry *entry = &definition->args->as.object.entries[i];
        struct place place = place_enter(inner->compiler, "argument", entry->key, &entry->value);
        mdf_operand operand = compile_value(inner, &entry->value);

        if (operand == MDF_NO_OPERAND && compile_recover(inner->compiler, place)) {
            operand = unit_unknown(inner);
        }
        if (operand == MDF_NO_OPERAND || !scope_bind(inner->compiler, inner->scope, entry->key, operand)) {
            return false;
        }
        place_leave(inner->compiler, place);
    }
    return true;
}

/* The formal that comes next in "variable0 slope"; advances. NULL at the end. */
static const char *next_formal(struct compiler *compiler, const char **formals)
{
    size_t length = strcspn(*formals, " ");
    const char *formal = length > 0 ? mdf_arena_text(&compiler->scratch, *formals, length) : NULL;

    *formals += length;
    *formals += strspn(*formals, " ");
    return formal;
}

static mdf_operand compile_standard(struct target *inner, const struct mdf_definition *definition,
                                    const struct mdf_standard_function *function)
{
    const char *formals = function->formals, *formal;
    struct list known = {0};
    struct outcome outcome;

    while ((formal = next_formal(inner->compiler, &formals)) != NULL) {
        if (!list_add(inner->compiler, &known, &formal, sizeof formal)) {
            return MDF_NO_OPERAND;
        }
        if (!scope_find_in_node(inner, formal, &outcome)) {
            return lacks_argument(inner->compiler, definition, function->name, formal);
        }
    }
    warn_unknown_arguments(inner->compiler, definition, &known);
    return compile_text(inner, function->expression);
}

bool compile_definition(struct target *target, const struct mdf_definition *definition, const struct usage *usage,
                        struct outcome *outcome)
{
    struct scope scope = {.outer = target->scope, .unit = target->unit};
    struct target inner = {target->compiler, target->unit, &scope};
    mdf_operand *operand = mdf_arena_allocate(&target->compiler->scratch, sizeof *operand);
    const struct mdf_standard_function *function;
    const struct mdf_defined_function *defined;
    const struct mdf_custom *custom =
        definition->function != NULL ? mdf_custom_find(target->compiler->functions, definition->function) : NULL;

    if (custom != NULL) {
        return compile_custom_call(target, definition, custom, outcome);
    }
    if (operand == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    if (definition->function != NULL && is_onnx(definition->function)) {
        return find_onnx_schema(target->compiler, definition->function) != NULL
                   ? compile_onnx_call(target, definition, usage, outcome)
                   : unknown_function(target, definition);
    }
    function = definition->function != NULL ? mdf_standard_function(definition->function) : NULL;
    if (definition->function != NULL && function == NULL) {
        defined = mdf_defined_function(definition->function);
        return defined != NULL ? compile_defined_call(target, definition, defined, outcome)
                               : unknown_function(target, definition);
    }
    if (function == NULL && definition->value == NULL) {
        compile_error(target->compiler, MDF_MODEL, "has neither a function nor a value");
        return false;
    }
    if (!bind_arguments(&inner, definition)) {
        return false;
    }
    *operand = function != NULL ? compile_standard(&inner, definition, function) : compile_value(&inner, definition->value);
    *outcome = (struct outcome){operand, 1, false};
    return *operand != MDF_NO_OPERAND;
}

/* Whether an argument is a body: what that takes from around it is another question. */
static bool is_body(const struct mdf_schema *schema, const char *name)
{
    const struct mdf_schema_attribute *attribute = schema != NULL ? mdf_schema_attribute(schema, name) : NULL;

    return attribute != NULL && attribute->type == MDF_ATTRIBUTE_GRAPH;
}

/* The names of a value but for those that its arguments have in it. */
static bool collect_from_value(struct compiler *compiler, const struct mdf_definition *definition, struct list *names)
{
    struct list read = {0};

    if (definition->args == NULL) {
        return collect_names(compiler, definition->value, names);
    }
    if (!collect_names(compiler, definition->value, &read)) {
        return false;
    }
    for (size_t i = 0; i < read.n; i++) {
        const char *name = ((const char **)read.items)[i];

        if (mdf_node_get(definition->args, name) == NULL && !list_add(compiler, names, &name, sizeof name)) {
            return false;
        }
    }
    return true;
}

bool collect_definition_names(struct compiler *compiler, const struct mdf_definition *definition, struct list *names)
{
    const struct mdf_schema *schema = definition->function != NULL ? find_called_schema(compiler, definition) : NULL;
    const struct mdf_standard_function *function =
        definition->function != NULL ? mdf_standard_function(definition->function) : NULL;
    const struct mdf_defined_function *defined =
        definition->function != NULL && function == NULL ? mdf_defined_function(definition->function) : NULL;
    const struct mdf_custom *custom =
        definition->function != NULL ? mdf_custom_find(compiler->functions, definition->function) : NULL;
    const char *formals = function != NULL ? function->formals : "", *formal;

    if (custom != NULL && !collect_custom_names(compiler, definition, custom, names)) {
        return false;
    }
    for (size_t i = 0; definition->args != NULL && i < definition->args->as.object.n; i++) {
        const struct mdf_node_entry *argument = &definition->args->as.object.entries[i];

        if (!is_body(schema, argument->key) && !collect_names(compiler, &argument->value, names)) {
            return false;
        }
    }
    if (definition->function == NULL && !collect_from_value(compiler, definition, names)) {
        return false;
    }
    if (schema != NULL && !collect_body_names(compiler, definition, schema, names)) {
        return false;
    }
    if (defined != NULL && !collect_defined_names(compiler, definition, defined, names)) {
        return false;
    }
    while ((formal = next_formal(compiler, &formals)) != NULL) {
        if (!names_contain(names, formal) && find_argument(definition, formal) == NULL &&
            !list_add(compiler, names, &formal, sizeof formal)) {
            return false;
        }
    }
    for (size_t i = 0; schema != NULL && i < schema->n_inputs; i++) {
        if (find_argument(definition, schema->inputs[i].name) == NULL && strcmp(schema->inputs[i].name, definition->id) != 0 &&
            !list_add(compiler, names, &schema->inputs[i].name, sizeof schema->inputs[i].name)) {
            return false;
        }
    }
    return true;
}
