/* onnx_graph.c - resolved graphs as the tree of an MDF model. docs/onnx.md says what becomes what. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

static bool write_graph(struct onnx_import *import, const char *key, const struct onnx_graph *graph);

/* Where the id is not the name in the file, that is kept beside it. */
static bool write_name(struct onnx_import *import, const char *id, const char *name)
{
    return strcmp(id, name) == 0 || *name == '\0' || mdf_onnx_write_text(import, "onnx_name", name);
}

/* ------------------------------------------------------------------ constants */

static bool write_constant(struct onnx_import *import, const struct onnx_value *value)
{
    size_t place = mdf_onnx_enter(import, "constant", value->name);
    struct onnx_array array;

    if (!mdf_onnx_constant(import, &value->constant, &array) || !mdf_onnx_open(import, value->id, MDF_NODE_OBJECT) ||
        !mdf_onnx_write_node(import, "value", &array.data) || !mdf_onnx_open(import, "metadata", MDF_NODE_OBJECT) ||
        !mdf_onnx_write_form(import, &array) || !write_name(import, value->id, value->name) || !mdf_onnx_close(import) ||
        !mdf_onnx_close(import)) {
        return false;
    }
    mdf_onnx_leave(import, place);
    return true;
}

static bool write_constants(struct onnx_import *import, const struct onnx_graph *graph)
{
    if (graph->constants.n == 0) {
        return true;
    }
    if (!mdf_onnx_open(import, "parameters", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < graph->constants.n; i++) {
        if (!write_constant(import, graph->constants.items[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* ------------------------------------------------------------------ ports */

/* Whether a value reaches nodes through ports. */
static bool needs_port(const struct onnx_value *value)
{
    return value != NULL && value->kind != ONNX_VALUE_CONSTANT;
}

/* What a node takes through ports: its inputs and what its bodies capture, each once. */
static bool list_ports(struct onnx_import *import, struct onnx_node *node)
{
    const struct onnx_list *lists[] = {&node->inputs, &node->captures};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (size_t j = 0; j < lists[i]->n; j++) {
            struct onnx_value *value = lists[i]->items[j];

            if (needs_port(value) && value->listed_by != node) {
                value->listed_by = node;
                if (!mdf_onnx_list_add(import, &node->ports, value)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* The typed form: a default value must keep its shape. */
static bool write_default(struct onnx_import *import, const struct onnx_value *value)
{
    struct onnx_array array;

    if (value->constant.tensor == NULL && value->constant.sparse == NULL) {
        return true;
    }
    return mdf_onnx_constant(import, &value->constant, &array) && mdf_onnx_open(import, "default_value", MDF_NODE_OBJECT) &&
           mdf_onnx_write_form(import, &array) && mdf_onnx_write_node(import, "data", &array.data) && mdf_onnx_close(import);
}

/* Ports that inputs of the model's graph feed say their type and shape; those of bodies have it in the interface. */
static bool write_input_port(struct onnx_import *import, const struct onnx_node *node, const struct onnx_value *value)
{
    size_t place = mdf_onnx_enter(import, "input port", value->id);

    if (!mdf_onnx_open(import, value->id, MDF_NODE_OBJECT)) {
        return false;
    }
    if (value->kind == ONNX_VALUE_INPUT && value->graph->owner == NULL && node->graph == value->graph &&
        (!mdf_onnx_write_type(import, value->type) || !write_default(import, value))) {
        return false;
    }
    mdf_onnx_leave(import, place);
    return mdf_onnx_close(import);
}

static bool write_input_ports(struct onnx_import *import, const struct onnx_node *node)
{
    if (node->ports.n == 0) {
        return true;
    }
    if (!mdf_onnx_open(import, "input_ports", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < node->ports.n; i++) {
        if (!write_input_port(import, node, node->ports.items[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* Number of values that a node's bodies yield; SIZE_MAX: it has none. */
static size_t n_yields(const struct onnx_node *node)
{
    for (size_t i = 0; i < node->attributes.n; i++) {
        const struct onnx_attribute *attribute = node->attributes.items[i];

        if (attribute->graphs.n > 0) {
            size_t n = ((const struct onnx_graph *)attribute->graphs.items[0])->results.n,
                   first = node->schema != NULL ? mdf_schema_first_yield(node->schema) : 0;

            return n > first ? n - first : 0;
        }
    }
    return SIZE_MAX;
}

/* Whether outputs are items of a list, f[0], f[1], or the function's id is the one output. */
static bool has_several(const struct onnx_node *node)
{
    size_t n = n_yields(node);

    return n != SIZE_MAX ? n > 1 : node->outputs.n > 1;
}

/* Outputs that nobody reads are written only where their number counts: where the operator yields as many as are asked for. */
static bool counts_outputs(const struct onnx_node *node)
{
    return node->schema != NULL && node->schema->max_outputs == SIZE_MAX && n_yields(node) == SIZE_MAX;
}

static bool write_output_port(struct onnx_import *import, const char *id, const char *name, const Mdf__TypeProto *type,
                              const char *call, bool several, size_t index)
{
    const char *value = several ? mdf_arena_printf(&import->document->arena, "%s[%zu]", call, index) : call;
    bool has_metadata = type != NULL || strcmp(id, name) != 0;

    if (value == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    return mdf_onnx_open(import, id, MDF_NODE_OBJECT) && mdf_onnx_write_text(import, "value", value) &&
           (!has_metadata || (mdf_onnx_open(import, "metadata", MDF_NODE_OBJECT) && mdf_onnx_write_type(import, type) &&
                              write_name(import, id, name) && mdf_onnx_close(import))) &&
           mdf_onnx_close(import);
}

static bool write_output_ports(struct onnx_import *import, const struct onnx_node *node, const char *call)
{
    bool several = has_several(node);

    if (node->schema != NULL && n_yields(node) != SIZE_MAX &&
        node->outputs.n != n_yields(node)) { /* what is not known is told later */
        return mdf_onnx_fail(import, MDF_MODEL, "onnx::%s has %zu output%s, but its body yields %zu", node->operator,
                             node->outputs.n, node->outputs.n == 1 ? "" : "s", n_yields(node));
    }
    if (!mdf_onnx_open(import, "output_ports", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < node->outputs.n; i++) {
        const struct onnx_value *value = node->outputs.items[i];
        const char *id;

        if (value != NULL) {
            if (!write_output_port(import, value->id, value->name, value->type, call, several, i)) {
                return false;
            }
        } else if (counts_outputs(node)) {
            id = mdf_onnx_value_id(import, node->graph, "");
            if (id == NULL || !write_output_port(import, id, "", NULL, call, several, i)) {
                return false;
            }
        }
    }
    return mdf_onnx_close(import);
}

/* ------------------------------------------------------------------ the call */

static bool write_value(struct onnx_import *import, const char *key, const struct onnx_value *value)
{
    const struct mdf_node nothing = {.kind = MDF_NODE_NULL};

    return value != NULL ? mdf_onnx_write_text(import, key, value->id) : mdf_onnx_write_node(import, key, &nothing);
}

/* All inputs from number `first` on, as a list. */
static bool write_variadic(struct onnx_import *import, const char *key, const struct onnx_node *node, size_t first)
{
    if (!mdf_onnx_open(import, key, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = first; i < node->inputs.n; i++) {
        if (!write_value(import, NULL, node->inputs.items[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* Whether an input that the node leaves out would be found among its ports. */
static bool is_port(const struct onnx_node *node, const char *name)
{
    for (size_t i = 0; i < node->ports.n; i++) {
        if (strcmp(((const struct onnx_value *)node->ports.items[i])->id, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool write_inputs(struct onnx_import *import, const struct onnx_node *node)
{
    const struct mdf_schema *schema = node->schema;
    size_t n_formals = schema != NULL ? schema->n_inputs : 0;
    const char *key;

    for (size_t i = 0; i < n_formals; i++) {
        if (schema->inputs[i].option == MDF_FORMAL_VARIADIC) {
            return write_variadic(import, schema->inputs[i].name, node, i);
        }
        if ((i < node->inputs.n || is_port(node, schema->inputs[i].name)) &&
            !write_value(import, schema->inputs[i].name, i < node->inputs.n ? node->inputs.items[i] : NULL)) {
            return false;
        }
    }
    for (size_t i = n_formals; i < node->inputs.n; i++) { /* of an operator that is not known */
        key = mdf_arena_printf(&import->document->arena, "arg_%zu", i);
        if (key == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        if (!write_value(import, key, node->inputs.items[i])) {
            return false;
        }
    }
    return true;
}

static bool write_bodies(struct onnx_import *import, const struct onnx_attribute *attribute)
{
    if (attribute->source->g != NULL) {
        return write_graph(import, attribute->name, attribute->graphs.items[0]);
    }
    if (!mdf_onnx_open(import, attribute->name, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < attribute->graphs.n; i++) {
        if (!write_graph(import, NULL, attribute->graphs.items[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* Whether the attributes of a node name values of the graph: they get the ids of these. */
static bool names_values(const struct onnx_node *node)
{
    return strcmp(node->domain, "ai.onnx.preview.training") == 0 && strcmp(node->operator, "Gradient") == 0;
}

static bool write_attributes(struct onnx_import *import, const struct onnx_node *node)
{
    for (size_t i = 0; i < node->attributes.n; i++) {
        const struct onnx_attribute *attribute = node->attributes.items[i];

        if (attribute->graphs.n > 0 ? !write_bodies(import, attribute)
            : names_values(node)    ? !mdf_onnx_write_names(import, attribute)
                                    : !mdf_onnx_write_attribute(import, attribute->name, attribute->source)) {
            return false;
        }
    }
    return true;
}

/* A function of the model may have another opset than the model. */
static bool write_opset(struct onnx_import *import, const struct onnx_node *node)
{
    return node->opset == 0 || (mdf_onnx_open(import, "metadata", MDF_NODE_OBJECT) &&
                                mdf_onnx_write_int(import, "onnx_opset_version", node->opset) && mdf_onnx_close(import));
}

static bool write_call(struct onnx_import *import, const struct onnx_node *node, const char *call)
{
    const char *function =
        mdf_arena_printf(&import->document->arena, "%s::%s", *node->domain != '\0' ? node->domain : "onnx", node->operator);

    if (function == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    return mdf_onnx_open(import, "parameters", MDF_NODE_OBJECT) && mdf_onnx_open(import, call, MDF_NODE_OBJECT) &&
           mdf_onnx_write_text(import, "function", function) && write_opset(import, node) &&
           mdf_onnx_open(import, "args", MDF_NODE_OBJECT) && write_inputs(import, node) && write_attributes(import, node) &&
           mdf_onnx_close(import) && mdf_onnx_close(import) && mdf_onnx_close(import);
}

/* ------------------------------------------------------------------ nodes */

static bool write_node_metadata(struct onnx_import *import, const struct onnx_node *node)
{
    const Mdf__NodeProto *source = node->source;
    bool is_renamed = source != NULL && *mdf_onnx_text(source->name) != '\0' && strcmp(source->name, node->id) != 0;

    if (source == NULL || (*mdf_onnx_text(source->doc_string) == '\0' && *mdf_onnx_text(source->overload) == '\0' &&
                           source->n_metadata_props == 0 && !is_renamed)) {
        return true;
    }
    return mdf_onnx_open(import, "metadata", MDF_NODE_OBJECT) && write_name(import, node->id, mdf_onnx_text(source->name)) &&
           mdf_onnx_write_given(import, "doc_string", source->doc_string) &&
           mdf_onnx_write_given(import, "overload", source->overload) &&
           mdf_onnx_write_properties(import, source->metadata_props, source->n_metadata_props) && mdf_onnx_close(import);
}

static bool write_node(struct onnx_import *import, struct onnx_node *node)
{
    size_t place = mdf_onnx_enter(import, "node", node->id);
    const char *call = mdf_onnx_call_id(import, node->operator);

    if (call == NULL || !list_ports(import, node) || !mdf_onnx_open(import, node->id, MDF_NODE_OBJECT) ||
        !write_node_metadata(import, node) || !write_input_ports(import, node) || !write_call(import, node, call) ||
        !write_output_ports(import, node, call) || !mdf_onnx_close(import)) {
        return false;
    }
    mdf_onnx_leave(import, place);
    return true;
}

static bool write_nodes(struct onnx_import *import, const struct onnx_graph *graph)
{
    if (!mdf_onnx_open(import, "nodes", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        if (!write_node(import, graph->nodes.items[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* ------------------------------------------------------------------ edges */

/* "sender.port_receiver.port"; a number behind where names are such that two would be the same. */
static const char *edge_id(struct onnx_import *import, struct onnx_map *ids, const struct onnx_value *value,
                           const struct onnx_node *receiver)
{
    const char *base =
        mdf_arena_printf(&import->document->arena, "%s.%s_%s.%s", value->node->id, value->id, receiver->id, value->id);
    const char *id = base;

    if (base == NULL) {
        mdf_onnx_out_of_memory(import);
        return NULL;
    }
    while (id != NULL && mdf_onnx_map_has(ids, id)) {
        id = mdf_onnx_numbered(import, base);
    }
    return id != NULL && mdf_onnx_map_put(import, ids, id, NULL) ? id : NULL;
}

static bool write_edge(struct onnx_import *import, struct onnx_map *ids, const struct onnx_value *value,
                       const struct onnx_node *receiver)
{
    const char *id = edge_id(import, ids, value, receiver);

    return id != NULL && mdf_onnx_open(import, id, MDF_NODE_OBJECT) && mdf_onnx_write_text(import, "sender", value->node->id) &&
           mdf_onnx_write_text(import, "receiver", receiver->id) && mdf_onnx_write_text(import, "sender_port", value->id) &&
           mdf_onnx_write_text(import, "receiver_port", value->id) && mdf_onnx_close(import);
}

/* Whether a port of a node takes an output of another. */
static bool is_wired(const struct onnx_graph *graph, const struct onnx_value *value)
{
    return value->kind == ONNX_VALUE_OUTPUT && value->graph == graph;
}

static bool has_edges(const struct onnx_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct onnx_node *node = graph->nodes.items[i];

        for (size_t j = 0; j < node->ports.n; j++) {
            if (is_wired(graph, node->ports.items[j])) {
                return true;
            }
        }
    }
    return false;
}

static bool write_edges(struct onnx_import *import, const struct onnx_graph *graph)
{
    struct onnx_map ids = {0};

    if (!has_edges(graph)) {
        return true;
    }
    if (!mdf_onnx_open(import, "edges", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct onnx_node *node = graph->nodes.items[i];

        for (size_t j = 0; j < node->ports.n; j++) {
            const struct onnx_value *value = node->ports.items[j];

            if (is_wired(graph, value) && !write_edge(import, &ids, value, node)) {
                return false;
            }
        }
    }
    return mdf_onnx_close(import);
}

/* ------------------------------------------------------------------ interfaces */

/* Users call inputs and outputs of the model's graph by their names in the file; bodies know nothing but ids. A port that is
 * called as the item needs no word, unless its name would read as NODE.PORT. */
static bool write_item(struct onnx_import *import, const struct onnx_graph *graph, const char *name, const char *id,
                       const Mdf__TypeProto *type)
{
    const char *outside = graph->owner == NULL ? name : id;
    bool names_port = strcmp(outside, id) == 0 && strchr(id, '.') == NULL;

    return mdf_onnx_open(import, NULL, MDF_NODE_OBJECT) && mdf_onnx_write_text(import, "name", outside) &&
           (names_port || mdf_onnx_write_text(import, "port", id)) && mdf_onnx_write_type(import, type) &&
           (graph->owner == NULL || write_name(import, id, name)) && mdf_onnx_close(import);
}

static bool write_interface(struct onnx_import *import, const struct onnx_graph *graph)
{
    struct onnx_map names = {0};

    if (!mdf_onnx_open(import, "inputs", MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < graph->inputs.n; i++) {
        const struct onnx_value *value = graph->inputs.items[i];

        if (!write_item(import, graph, value->name, value->id, value->type)) {
            return false;
        }
    }
    if (!mdf_onnx_close(import) || !mdf_onnx_open(import, "outputs", MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < graph->results.n; i++) {
        const struct onnx_result *result = graph->results.items[i];

        if (graph->owner == NULL && mdf_onnx_map_has(&names, result->name)) {
            continue; /* the same once more */
        }
        if (!mdf_onnx_map_put(import, &names, result->name, NULL) ||
            !write_item(import, graph, result->name, result->value->id, result->type)) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* Recursion is bounded by ONNX_MAX_NESTING. */
static bool write_graph(struct onnx_import *import, const char *key, const struct onnx_graph *graph)
{
    const Mdf__GraphProto *source = graph->source;

    return mdf_onnx_open(import, key, MDF_NODE_OBJECT) &&
           (graph->owner == NULL || mdf_onnx_write_given(import, "id", source->name)) &&
           mdf_onnx_open(import, "metadata", MDF_NODE_OBJECT) && write_interface(import, graph) &&
           mdf_onnx_write_given(import, "doc_string", source->doc_string) &&
           mdf_onnx_write_properties(import, source->metadata_props, source->n_metadata_props) && mdf_onnx_close(import) &&
           write_constants(import, graph) && write_nodes(import, graph) && write_edges(import, graph) && mdf_onnx_close(import);
}

/* ------------------------------------------------------------------ the model */

static bool imports_other_domains(const Mdf__ModelProto *model)
{
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = mdf_onnx_text(model->opset_import[i]->domain);

        if (*domain != '\0' && strcmp(domain, "ai.onnx") != 0) {
            return true;
        }
    }
    return false;
}

/* All opsets, where there is one beside ONNX's own, which is the model's. */
static bool write_opsets(struct onnx_import *import)
{
    struct onnx_map written = {0}; /* a domain may stand twice, with the one version */

    if (!imports_other_domains(import->model)) {
        return true;
    }
    if (!mdf_onnx_open(import, "opset_imports", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < import->model->n_opset_import; i++) {
        const Mdf__OperatorSetIdProto *opset = import->model->opset_import[i];

        const char *domain = *mdf_onnx_text(opset->domain) != '\0' ? opset->domain : "ai.onnx";

        if (!mdf_onnx_map_has(&written, domain) &&
            (!mdf_onnx_map_put(import, &written, domain, opset) || !mdf_onnx_write_int(import, domain, opset->version))) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

static bool write_model_metadata(struct onnx_import *import)
{
    const Mdf__ModelProto *model = import->model;

    return mdf_onnx_open(import, "metadata", MDF_NODE_OBJECT) && mdf_onnx_write_int(import, "ir_version", model->ir_version) &&
           write_opsets(import) && mdf_onnx_write_given(import, "producer_name", model->producer_name) &&
           mdf_onnx_write_given(import, "producer_version", model->producer_version) &&
           mdf_onnx_write_given(import, "domain", model->domain) &&
           (!model->has_model_version || mdf_onnx_write_int(import, "model_version", model->model_version)) &&
           mdf_onnx_write_given(import, "doc_string", model->doc_string) &&
           mdf_onnx_write_properties(import, model->metadata_props, model->n_metadata_props) && mdf_onnx_close(import);
}

bool mdf_onnx_write_model(struct onnx_import *import, const struct onnx_graph *graph)
{
    const char *name = mdf_onnx_text(import->model->graph->name),
               *opset = mdf_arena_printf(&import->document->arena, "%d", import->opset);

    name = *name != '\0' ? name : "onnx_model";
    if (opset == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    return mdf_onnx_open(import, NULL, MDF_NODE_OBJECT) && mdf_onnx_open(import, name, MDF_NODE_OBJECT) &&
           mdf_onnx_write_text(import, "format", "ModECI MDF v0.4") &&
           mdf_onnx_write_text(import, "generating_application", "mdf_c v" MDF_VERSION) &&
           mdf_onnx_write_text(import, "onnx_opset_version", opset) && write_model_metadata(import) &&
           mdf_onnx_open(import, "graphs", MDF_NODE_OBJECT) && write_graph(import, name, graph) && mdf_onnx_close(import) &&
           mdf_onnx_close(import) && mdf_onnx_close(import);
}
