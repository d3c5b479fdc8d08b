/* onnx_resolve.c - messages to graphs, nodes and values: every name becomes a pointer to what it means.
 *
 * Names are looked up outward from where they stand, as ONNX says (IR specification, "Names Within a Graph"): a graph's inputs,
 * initializers and the outputs of its nodes, then those of the graph around it. Outputs are declared before anything is looked
 * up: nodes may stand in any order, the compiler sorts them. */
#include "mdf_c/document/onnx/onnx_import.h"
#include "schemas/onnx_names.h"

#include <string.h>

enum { FIRST_IR_VERSION_WITH_OPSETS = 3 };

/* ------------------------------------------------------------------ opsets */

static int version_in(Mdf__OperatorSetIdProto *const *imports, size_t n, const char *domain)
{
    for (size_t i = 0; i < n; i++) {
        const char *found = mdf_onnx_text(imports[i]->domain);

        if (strcmp(strcmp(found, "ai.onnx") == 0 ? "" : found, domain) == 0) {
            return imports[i]->version > 0 && imports[i]->version < INT32_MAX ? (int)imports[i]->version : 0;
        }
    }
    return 0;
}

static int opset_of(const struct onnx_import *import, const struct onnx_scope *scope, const char *domain)
{
    int version = 0;

    if (scope != NULL && scope->function != NULL) {
        version = version_in(scope->function->opset_import, scope->function->n_opset_import, domain);
    }
    return version > 0 ? version : version_in(import->model->opset_import, import->model->n_opset_import, domain);
}

/* Files older than opset versions (IR version 2) are of opset 1; later ones must import some. A model all of whose operators are
 * of other domains has no opset: it gets the newest. */
static bool find_opset(struct onnx_import *import)
{
    int newest = mdf_schema_newest_opset();

    if (import->model->n_opset_import > ONNX_MAX_ENTRIES) {
        return mdf_onnx_fail(import, MDF_LIMIT, "the model imports more than %d opsets", ONNX_MAX_ENTRIES);
    }
    if (!mdf_onnx_check_opsets(import, import->model->opset_import, import->model->n_opset_import)) {
        return false;
    }
    if (import->model->n_opset_import == 0 && import->model->ir_version >= FIRST_IR_VERSION_WITH_OPSETS) {
        return mdf_onnx_fail(import, MDF_MODEL, "the model imports no opset (opset_import), which IR version %lld needs",
                             (long long)import->model->ir_version);
    }
    import->opset = opset_of(import, NULL, "");
    if (import->opset == 0) {
        import->opset = import->model->n_opset_import == 0 ? 1 : newest;
    }
    return import->opset <= newest ||
           mdf_onnx_fail(import, MDF_UNSUPPORTED, "the model needs opset %d of ONNX; the newest that is known here is %d",
                         import->opset, newest);
}

/* ------------------------------------------------------------------ values */

static struct onnx_value *new_value(struct onnx_import *import, struct onnx_graph *graph, enum onnx_value_kind kind,
                                    const char *name)
{
    struct onnx_value *value = mdf_arena_allocate(&import->scratch, sizeof *value);

    if (value == NULL) {
        mdf_onnx_out_of_memory(import);
        return NULL;
    }
    value->name = name;
    value->kind = kind;
    value->graph = graph;
    value->id = mdf_onnx_value_id(import, graph, name);
    return value->id != NULL ? value : NULL;
}

/* Whether a scope around holds the name already, for a node that stands where `scope` does. */
static bool is_held_outside(const struct onnx_scope *scope, const char *name)
{
    for (scope = scope->outer; scope != NULL; scope = scope->outer) {
        const struct onnx_value *value = mdf_onnx_map_get(&scope->values, name, NULL);

        if (value != NULL) {
            return value->kind != ONNX_VALUE_OUTPUT || value->position < scope->position;
        }
    }
    return false;
}

/* Declares a name in a scope. The output of a node must not repeat a name of the graphs around (single static assignment). */
static struct onnx_value *declare(struct onnx_import *import, struct onnx_scope *scope, enum onnx_value_kind kind,
                                  const char *name, bool is_of_node)
{
    const void *preset = mdf_onnx_map_get(&scope->presets, name, NULL);
    struct onnx_value *value = (struct onnx_value *)(uintptr_t)preset;

    if (mdf_onnx_map_has(&scope->values, name) || (is_of_node && is_held_outside(scope, name))) {
        mdf_onnx_fail(
            import, MDF_NAME,
            "the name '%.200s' is assigned twice: an output of a node, an input or an initializer must have a name of its own",
            name);
        return NULL;
    }
    if (value == NULL) {
        value = new_value(import, scope->graph, kind, name);
    }
    if (value == NULL || !mdf_onnx_map_put(import, &scope->values, name, value)) {
        return NULL;
    }
    value->kind = kind;
    return value;
}

static bool add_constant(struct onnx_import *import, struct onnx_scope *scope, const char *name,
                         const struct onnx_constant *constant, bool is_of_node)
{
    struct onnx_value *value = declare(import, scope, ONNX_VALUE_CONSTANT, name, is_of_node);

    if (value == NULL) {
        return false;
    }
    value->constant = *constant;
    return mdf_onnx_list_add(import, &scope->graph->constants, value);
}

/* Notes that a value of an outer graph is used in `graph`: the node of the value's graph that has `graph` in a body. */
static bool note_capture(struct onnx_import *import, const struct onnx_graph *graph, struct onnx_value *value)
{
    for (; graph != value->graph; graph = graph->owner->graph) {
        struct onnx_node *owner = graph->owner;

        if (owner->graph == value->graph && value->captured_by != owner) {
            value->captured_by = owner;
            return mdf_onnx_list_add(import, &owner->captures, value);
        }
    }
    return true;
}

static void list_names(struct onnx_import *import, const struct onnx_scope *scope)
{
    const char *before = "; there are: ";

    for (size_t i = 0; i < scope->values.values.n; i++) {
        const struct onnx_value *value = scope->values.values.items[i];

        if (value != NULL) {
            mdf_error_append(import->tree->error, "%s%.60s", before, value->name);
            before = ", ";
        }
    }
}

/* No value has the name: with the nearest of those that could be meant. */
static bool refuse_name(struct onnx_import *import, const struct onnx_scope *scope, const char *name)
{
    const struct onnx_scope *scope_of_use = scope;
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, name);
    for (; scope != NULL; scope = scope->outer) {
        for (size_t i = 0; i < scope->values.values.n; i++) {
            const struct onnx_value *value = scope->values.values.items[i];

            if (value != NULL) {
                mdf_nearest_offer(&nearest, value->name);
            }
        }
    }
    mdf_onnx_fail(import, MDF_NAME, "the name '%.200s' is used, but no input, initializer or output of a node has it", name);
    mdf_error_suggest(import->tree->error, mdf_nearest_result(&nearest));
    if (mdf_nearest_result(&nearest) == NULL && scope_of_use->values.values.n <= 12) {
        list_names(import, scope_of_use);
    }
    return false;
}

bool mdf_onnx_look_up(struct onnx_import *import, struct onnx_scope *scope, const char *name, struct onnx_value **value)
{
    const struct onnx_graph *graph = scope->graph;
    const struct onnx_scope *inner = scope;
    bool found = false;

    *value = NULL;
    if (*name == '\0') {
        return true;
    }
    for (; scope != NULL && !found; scope = scope->outer) {
        *value = (struct onnx_value *)(uintptr_t)mdf_onnx_map_get(&scope->values, name, &found);
    }
    if (!found) {
        return refuse_name(import, inner, name);
    }
    if (*value == NULL) {
        return true;
    }
    (*value)->is_used = true;
    return note_capture(import, graph, *value);
}

/* ------------------------------------------------------------------ nodes */

/* A node without a name goes by its operator. */
static size_t enter_node(struct onnx_import *import, const Mdf__NodeProto *node)
{
    const char *name = mdf_onnx_text(node->name);

    return mdf_onnx_enter(import, "node", *name != '\0' ? name : mdf_onnx_text(node->op_type));
}

static bool is_default_domain(const char *domain)
{
    return *domain == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static bool is_constant(const Mdf__NodeProto *node)
{
    return is_default_domain(mdf_onnx_text(node->domain)) && strcmp(mdf_onnx_text(node->op_type), ONNX_CONSTANT) == 0;
}

/* The attribute of that name in a list; NULL: none. */
static const struct onnx_attribute *find_attribute(const struct onnx_list *attributes, const char *name)
{
    for (size_t i = 0; i < attributes->n; i++) {
        const struct onnx_attribute *attribute = attributes->items[i];

        if (strcmp(attribute->name, name) == 0) {
            return attribute;
        }
    }
    return NULL;
}

/* What an attribute that refers to one of the function's call stands for; *attribute NULL: not given. */
static bool follow_reference(struct onnx_import *import, struct onnx_scope *scope, const Mdf__AttributeProto *source,
                             const char *name, struct onnx_attribute *attribute)
{
    const struct onnx_attribute *given;

    attribute->source = NULL;
    if (scope->call == NULL) {
        return mdf_onnx_fail(import, MDF_MODEL, "attribute '%.100s' refers to an attribute of a function, but stands in none",
                             name);
    }
    given = find_attribute(scope->call, source->ref_attr_name);
    if (given != NULL) {
        attribute->source = given->source;
        attribute->scope = given->scope;
        return true;
    }
    for (size_t i = 0; i < scope->function->n_attribute_proto; i++) {
        if (strcmp(mdf_onnx_text(scope->function->attribute_proto[i]->name), source->ref_attr_name) == 0) {
            attribute->source = scope->function->attribute_proto[i];
            attribute->scope = scope;
        }
    }
    return true;
}

bool mdf_onnx_resolve_attributes(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *source,
                                 struct onnx_list *attributes)
{
    struct onnx_map seen = {0};

    if (source->n_attribute > ONNX_MAX_ENTRIES) {
        return mdf_onnx_fail(import, MDF_LIMIT, "the node has more than %d attributes", ONNX_MAX_ENTRIES);
    }
    for (size_t i = 0; i < source->n_attribute; i++) {
        const Mdf__AttributeProto *given = source->attribute[i];
        struct onnx_attribute *attribute = mdf_arena_allocate(&import->scratch, sizeof *attribute);

        if (attribute == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        attribute->name = mdf_onnx_text(given->name);
        attribute->source = given;
        attribute->scope = scope;
        if (*attribute->name == '\0') {
            return mdf_onnx_fail(import, MDF_MODEL, "an attribute has no name");
        }
        if (mdf_onnx_map_has(&seen, attribute->name)) {
            return mdf_onnx_fail(import, MDF_MODEL, "the attribute '%.100s' is given twice", attribute->name);
        }
        if (!mdf_onnx_map_put(import, &seen, attribute->name, NULL)) {
            return false;
        }
        if (given->ref_attr_name != NULL && *given->ref_attr_name != '\0' &&
            !follow_reference(import, scope, given, attribute->name, attribute)) {
            return false;
        }
        if (attribute->source != NULL && !mdf_onnx_list_add(import, attributes, attribute)) {
            return false;
        }
    }
    return true;
}

/* A Constant node becomes a constant. */
static bool declare_constant(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *node)
{
    struct onnx_list attributes = {0};
    struct onnx_constant constant = {0};

    if (!mdf_onnx_resolve_attributes(import, scope, node, &attributes)) {
        return false;
    }
    if (attributes.n != 1 || node->n_output != 1 || *node->output[0] == '\0') {
        return mdf_onnx_fail(import, MDF_MODEL, "a Constant must have one attribute that gives its value, and one output");
    }
    constant.attribute = ((const struct onnx_attribute *)attributes.items[0])->source;
    return add_constant(import, scope, node->output[0], &constant, true);
}

static bool declare_outputs(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *node, size_t position)
{
    struct onnx_value *value;

    if (is_constant(node)) {
        return declare_constant(import, scope, node);
    }
    for (size_t i = 0; i < node->n_output; i++) {
        if (*node->output[i] != '\0') {
            value = declare(import, scope, ONNX_VALUE_OUTPUT, node->output[i], true);
            if (value == NULL) {
                return false;
            }
            if (!mdf_onnx_map_has(&scope->presets, node->output[i])) {
                value->position = position;
            }
        }
    }
    return true;
}

static struct onnx_graph *resolve_graph(struct onnx_import *import, const Mdf__GraphProto *source, struct onnx_node *owner,
                                        struct onnx_scope *outer);

static bool add_bodies(struct onnx_import *import, struct onnx_node *node, struct onnx_attribute *attribute)
{
    const Mdf__AttributeProto *source = attribute->source;
    size_t n = source->g != NULL ? 1 : source->n_graphs;
    struct onnx_graph *body;

    for (size_t i = 0; i < n; i++) {
        size_t place = mdf_onnx_enter(import, "attribute", attribute->name);

        body = resolve_graph(import, source->g != NULL ? source->g : source->graphs[i], node, attribute->scope);
        if (body == NULL || !mdf_onnx_list_add(import, &attribute->graphs, body)) {
            return false;
        }
        mdf_onnx_leave(import, place);
    }
    return true;
}

/* The operator's signature, by the opset version that holds where the node stands. That of a domain with a single one need not be
 * imported: exporters forget it, and ONNX Runtime takes what they write. */
static bool find_schema(struct onnx_import *import, const struct onnx_scope *scope, struct onnx_node *node)
{
    int opset = opset_of(import, scope, node->domain), model_opset;
    bool is_own = *node->domain == '\0';

    if (opset == 0 && is_own && import->model->n_opset_import > 0) {
        return mdf_onnx_fail(import, MDF_MODEL, "the model imports no opset of ONNX's own operators, but uses %.100s",
                             node->operator);
    }
    opset = opset != 0 ? opset : is_own ? import->opset : mdf_schema_only_version(node->domain);
    node->schema = mdf_schema_find(node->domain, node->operator, opset);
    if (node->schema == NULL) {
        return true; /* refused when the model is compiled */
    }
    if (opset == 0) {
        return mdf_onnx_fail(import, MDF_MODEL, "the model imports no opset of the domain '%.200s', but uses %.100s",
                             node->domain, node->operator);
    }
    if (node->schema->since > opset) {
        return mdf_onnx_fail(import, MDF_MODEL, "%s::%s is not there in opset %d, only from opset %d on",
                             mdf_schema_prefix(node->schema), node->operator, opset, node->schema->since);
    }
    model_opset = is_own ? import->opset : opset_of(import, NULL, node->domain);
    node->opset = mdf_schema_find(node->domain, node->operator, model_opset) != node->schema ? opset : 0;
    return true;
}

static bool fill_node(struct onnx_import *import, struct onnx_scope *scope, struct onnx_node *node)
{
    const Mdf__NodeProto *source = node->source;
    struct onnx_value *value;

    for (size_t i = 0; i < source->n_input; i++) {
        if (!mdf_onnx_look_up(import, scope, source->input[i], &value) || !mdf_onnx_list_add(import, &node->inputs, value)) {
            return false;
        }
    }
    for (size_t i = 0; i < source->n_output; i++) {
        value = (struct onnx_value *)(uintptr_t)mdf_onnx_map_get(&scope->values, source->output[i], NULL);
        if (!mdf_onnx_list_add(import, &node->outputs, value)) {
            return false;
        }
        if (value != NULL) {
            value->node = node;
        }
    }
    if (!find_schema(import, scope, node) || !mdf_onnx_check_counts(import, node) ||
        !mdf_onnx_resolve_attributes(import, scope, source, &node->attributes)) {
        return false;
    }
    for (size_t i = 0; i < node->attributes.n; i++) {
        if (!mdf_onnx_check_attribute(import, node, node->attributes.items[i]) ||
            !add_bodies(import, node, node->attributes.items[i])) {
            return false;
        }
    }
    return true;
}

/* Operators of ONNX Runtime's domain that mean what ONNX's of that name do are these: exporters write either. */
static bool is_of_onnx(const char *domain, const char *operator)
{
    return is_default_domain(domain) || (strcmp(domain, "com.microsoft") == 0 && strcmp(operator, "Range") == 0);
}

static struct onnx_node *new_node(struct onnx_import *import, struct onnx_graph *graph, const char *name, const char *domain,
                                  const char *operator)
{
    struct onnx_node *node = mdf_arena_allocate(&import->scratch, sizeof *node);

    if (node == NULL) {
        mdf_onnx_out_of_memory(import);
        return NULL;
    }
    node->graph = graph;
    node->position = graph->nodes.n;
    node->domain = is_of_onnx(domain, operator) ? "" : domain;
    node->operator= operator;
    node->id = mdf_onnx_node_id(import, graph, name, operator);
    return node->id != NULL && mdf_onnx_list_add(import, &graph->nodes, node) ? node : NULL;
}

bool mdf_onnx_add_identity(struct onnx_import *import, struct onnx_value *source, struct onnx_value *target)
{
    struct onnx_node *node = new_node(import, target->graph, "", "", ONNX_IDENTITY);

    if (node == NULL) {
        return false;
    }
    node->schema = mdf_schema_find("", node->operator, import->opset);
    target->node = node;
    return mdf_onnx_list_add(import, &node->inputs, source) && mdf_onnx_list_add(import, &node->outputs, target);
}

static bool resolve_node(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *source)
{
    const Mdf__FunctionProto *function;
    const char *operator= mdf_onnx_text(source->op_type), *name = mdf_onnx_text(source->name);
    size_t place = enter_node(import, source);
    int opset = opset_of(import, scope, "");
    struct onnx_node *node;

    if (*operator== '\0') {
        return mdf_onnx_fail(import, MDF_MODEL, "the node has no operator");
    }
    if (!mdf_onnx_find_function(import, source, &function)) {
        return false;
    }
    if (function == NULL && !mdf_onnx_find_definition(import, scope, source, opset > 0 ? opset : import->opset, &function)) {
        return false;
    }
    if (function != NULL) {
        if (!mdf_onnx_expand(import, scope, source, function)) {
            return false;
        }
    } else if (!is_constant(source)) {
        node = new_node(import, scope->graph, name, mdf_onnx_text(source->domain), operator);
        if (node == NULL) {
            return false;
        }
        node->source = source;
        if (!fill_node(import, scope, node)) {
            return false;
        }
    }
    mdf_onnx_leave(import, place);
    return true;
}

bool mdf_onnx_resolve_nodes(struct onnx_import *import, struct onnx_scope *scope, Mdf__NodeProto *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t place = enter_node(import, nodes[i]);

        if (!declare_outputs(import, scope, nodes[i], i)) {
            return false;
        }
        mdf_onnx_leave(import, place);
    }
    for (size_t i = 0; i < n; i++) {
        scope->position = i;
        if (!resolve_node(import, scope, nodes[i])) {
            return false;
        }
    }
    scope->position = n;
    return true;
}

/* ------------------------------------------------------------------ graphs */

static bool declare_inputs(struct onnx_import *import, struct onnx_scope *scope)
{
    const Mdf__GraphProto *source = scope->graph->source;
    struct onnx_value *value;

    for (size_t i = 0; i < source->n_input; i++) {
        value = declare(import, scope, ONNX_VALUE_INPUT, mdf_onnx_text(source->input[i]->name), false);
        if (value == NULL || !mdf_onnx_list_add(import, &scope->graph->inputs, value)) {
            return false;
        }
        value->type = source->input[i]->type;
    }
    return true;
}

/* An initializer that has the name of an input is the input's default value. */
static bool declare_initializer(struct onnx_import *import, struct onnx_scope *scope, const char *name,
                                const struct onnx_constant *constant)
{
    struct onnx_value *input = (struct onnx_value *)(uintptr_t)mdf_onnx_map_get(&scope->values, name, NULL);

    if (*name == '\0') {
        return mdf_onnx_fail(import, MDF_MODEL, "an initializer has no name");
    }
    if (input == NULL || input->kind != ONNX_VALUE_INPUT || input->constant.tensor != NULL || input->constant.sparse != NULL) {
        return add_constant(import, scope, name, constant, false);
    }
    input->constant = *constant;
    return true;
}

static bool declare_initializers(struct onnx_import *import, struct onnx_scope *scope)
{
    const Mdf__GraphProto *source = scope->graph->source;

    for (size_t i = 0; i < source->n_initializer; i++) {
        struct onnx_constant constant = {.tensor = source->initializer[i]};

        if (!declare_initializer(import, scope, mdf_onnx_text(source->initializer[i]->name), &constant)) {
            return false;
        }
    }
    for (size_t i = 0; i < source->n_sparse_initializer; i++) {
        struct onnx_constant constant = {.sparse = source->sparse_initializer[i]};

        if (constant.sparse->values == NULL) {
            return mdf_onnx_fail(import, MDF_MODEL, "a sparse initializer has no values");
        }
        if (!declare_initializer(import, scope, mdf_onnx_text(constant.sparse->values->name), &constant)) {
            return false;
        }
    }
    return true;
}

/* Types of values between nodes, as far as they are declared. */
static void note_types(struct onnx_scope *scope)
{
    const Mdf__GraphProto *source = scope->graph->source;

    for (size_t i = 0; i < source->n_value_info; i++) {
        const void *found = mdf_onnx_map_get(&scope->values, mdf_onnx_text(source->value_info[i]->name), NULL);
        struct onnx_value *value = (struct onnx_value *)(uintptr_t)found;

        if (value != NULL && value->type == NULL) {
            value->type = source->value_info[i]->type;
        }
    }
}

/* A result of the model's own graph comes from a node, or is an input without a default value. */
static bool make_result(struct onnx_import *import, struct onnx_graph *graph, struct onnx_value **value)
{
    struct onnx_value *source = *value;

    if (graph->owner != NULL || source->kind == ONNX_VALUE_OUTPUT ||
        (source->kind == ONNX_VALUE_INPUT && source->constant.tensor == NULL && source->constant.sparse == NULL)) {
        return true;
    }
    *value = new_value(import, graph, ONNX_VALUE_OUTPUT, source->name);
    return *value != NULL && mdf_onnx_add_identity(import, source, *value);
}

static bool add_results(struct onnx_import *import, struct onnx_scope *scope)
{
    const Mdf__GraphProto *source = scope->graph->source;
    struct onnx_value *value;

    for (size_t i = 0; i < source->n_output; i++) {
        const char *name = mdf_onnx_text(source->output[i]->name);
        size_t place = mdf_onnx_enter(import, "output", name);
        struct onnx_result *result = mdf_arena_allocate(&import->scratch, sizeof *result);

        if (result == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        if (*name == '\0') {
            return mdf_onnx_fail(import, MDF_MODEL, "an output of a graph has no name");
        }
        if (!mdf_onnx_look_up(import, scope, name, &value) || value == NULL || !make_result(import, scope->graph, &value)) {
            return mdf_onnx_fail(import, MDF_NAME, "the output '%.200s' is computed by nothing", name);
        }
        *result = (struct onnx_result){name, value, source->output[i]->type};
        if (!mdf_onnx_list_add(import, &scope->graph->results, result)) {
            return false;
        }
        mdf_onnx_leave(import, place);
    }
    return true;
}

/* An input of the model with a default value that nothing takes may be given all the same: a port has to hold it. Those of bodies
 * are always given. */
static bool hold_idle_inputs(struct onnx_import *import, struct onnx_graph *graph)
{
    for (size_t i = 0; graph->owner == NULL && i < graph->inputs.n; i++) {
        struct onnx_value *input = graph->inputs.items[i], *held;

        if (input->is_used || (input->constant.tensor == NULL && input->constant.sparse == NULL)) {
            continue;
        }
        held = new_value(import, graph, ONNX_VALUE_OUTPUT, input->name);
        if (held == NULL || !mdf_onnx_add_identity(import, input, held)) {
            return false;
        }
    }
    return true;
}

/* Recursion is bounded by ONNX_MAX_NESTING. */
static struct onnx_graph *resolve_graph(struct onnx_import *import, const Mdf__GraphProto *source, struct onnx_node *owner,
                                        struct onnx_scope *outer)
{
    struct onnx_graph *graph = mdf_arena_allocate(&import->scratch, sizeof *graph);
    struct onnx_scope *scope = mdf_arena_allocate(&import->scratch, sizeof *scope);

    if (graph == NULL || scope == NULL) {
        mdf_onnx_out_of_memory(import);
        return NULL;
    }
    if (import->nesting == ONNX_MAX_NESTING) {
        mdf_onnx_fail(import, MDF_LIMIT, "graphs and functions are nested more than %d deep", ONNX_MAX_NESTING);
        return NULL;
    }
    graph->source = source;
    graph->owner = owner;
    scope->outer = outer;
    scope->graph = graph;
    if (outer != NULL) {
        scope->call = outer->call;
        scope->function = outer->function;
    }
    import->nesting++;
    if (!declare_inputs(import, scope) || !declare_initializers(import, scope) ||
        !mdf_onnx_resolve_nodes(import, scope, source->node, source->n_node) || !add_results(import, scope) ||
        !hold_idle_inputs(import, graph) || !mdf_onnx_check_order(import, graph)) {
        return NULL;
    }
    note_types(scope);
    import->nesting--;
    return graph;
}

struct onnx_graph *mdf_onnx_resolve(struct onnx_import *import)
{
    if (!mdf_onnx_check_ir_version(import) || !find_opset(import) || !mdf_onnx_index_functions(import) ||
        !mdf_onnx_collect_names(import)) {
        return NULL;
    }
    return resolve_graph(import, import->model->graph, NULL, NULL);
}
