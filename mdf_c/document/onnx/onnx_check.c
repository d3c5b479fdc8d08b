/* onnx_check.c - what a file must keep to for its numbers to mean one thing: versions that exist, attributes that the operator's
 * version has, of their type and each once, and nodes that do not wait for themselves. What onnx.checker and ONNX Runtime refuse
 * is refused; nodes of the model's graph that stand in another order than that of their evaluation, which ONNX Runtime sorts, are
 * a warning. Source: IR specification. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

enum { NEWEST_IR_VERSION = 14 }; /* of ONNX 1.23, which the schemas are of */

/* ------------------------------------------------------------------ versions */

bool mdf_onnx_check_ir_version(struct onnx_import *import)
{
    const Mdf__ModelProto *model = import->model;

    if (!model->has_ir_version) {
        return mdf_onnx_fail(import, MDF_MODEL, "the model does not say its IR version (ir_version)");
    }
    if (model->ir_version < 1 || model->ir_version > NEWEST_IR_VERSION) {
        return mdf_onnx_fail(import, MDF_UNSUPPORTED, "there is no IR version %lld: those known here are 1 to %d",
                             (long long)model->ir_version, NEWEST_IR_VERSION);
    }
    return true;
}

/* Of one list of imports, the model's or a function's: each domain once, or with one version, and no version below 1. */
bool mdf_onnx_check_opsets(struct onnx_import *import, Mdf__OperatorSetIdProto *const *imports, size_t n)
{
    struct onnx_map seen = {0};

    for (size_t i = 0; i < n; i++) {
        const Mdf__OperatorSetIdProto *opset = imports[i], *other;
        const char *domain = mdf_onnx_text(opset->domain);

        domain = *domain == '\0' ? "ai.onnx" : domain;
        other = mdf_onnx_map_get(&seen, domain, NULL);
        if (other != NULL && other->version != opset->version) {
            return mdf_onnx_fail(import, MDF_MODEL, "the model imports two opsets of the domain '%.200s', %lld and %lld", domain,
                                 (long long)other->version, (long long)opset->version);
        }
        if (opset->version < 1 || opset->version > INT32_MAX) {
            return mdf_onnx_fail(import, MDF_MODEL, "there is no opset %lld of the domain '%.200s'", (long long)opset->version,
                                 domain);
        }
        if (!mdf_onnx_map_put(import, &seen, domain, opset)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

static const char *type_name(int type)
{
    static const char *const names[] = {"nothing",         "a float",          "an int",      "a string",
                                        "a tensor",        "a graph",          "floats",      "ints",
                                        "strings",         "tensors",          "graphs",      "a sparse tensor",
                                        "sparse tensors",  "a type",           "types"};

    return type >= 0 && (size_t)type < sizeof names / sizeof *names ? names[type] : "of an unknown type";
}

bool mdf_onnx_check_attribute(struct onnx_import *import, const struct onnx_node *node, const struct onnx_attribute *attribute)
{
    const struct mdf_schema_attribute *known;
    int type = mdf_onnx_attribute_type(attribute->source);

    if (node->schema == NULL) {
        return true; /* refused when the model is compiled */
    }
    known = mdf_schema_attribute(node->schema, attribute->name);
    if (known == NULL) {
        struct mdf_nearest nearest;

        mdf_nearest_begin(&nearest, attribute->name);
        for (size_t i = 0; i < node->schema->n_attributes; i++) {
            mdf_nearest_offer(&nearest, node->schema->attributes[i].name);
        }
        mdf_onnx_fail(import, MDF_MODEL, "%s::%s version %d has no attribute '%.100s'", mdf_schema_prefix(node->schema), node->operator,
                      node->schema->since, attribute->name);
        mdf_error_suggest(import->tree->error, mdf_nearest_result(&nearest));
        return false;
    }
    return type == (int)known->type ||
           mdf_onnx_fail(import, MDF_TYPE, "the attribute '%.100s' of %s::%s must be %s, not %s", attribute->name,
                         mdf_schema_prefix(node->schema), node->operator, type_name((int)known->type), type_name(type));
}

bool mdf_onnx_check_counts(struct onnx_import *import, const struct onnx_node *node)
{
    const struct mdf_schema *schema = node->schema;

    if (schema != NULL && node->inputs.n > schema->max_inputs) {
        return mdf_onnx_fail(import, MDF_MODEL, "%s::%s has %zu inputs, where version %d takes at most %zu",
                             mdf_schema_prefix(schema), node->operator, node->inputs.n, schema->since, schema->max_inputs);
    }
    if (schema != NULL && node->outputs.n > schema->max_outputs) {
        return mdf_onnx_fail(import, MDF_MODEL, "%s::%s has %zu outputs, where version %d yields at most %zu",
                             mdf_schema_prefix(schema), node->operator, node->outputs.n, schema->since, schema->max_outputs);
    }
    return true;
}

/* ------------------------------------------------------------------ order */

/* Number `i` of what a node takes from its graph: its inputs, then what its bodies capture; NULL past the last. */
static const struct onnx_value *taken(const struct onnx_node *node, size_t i)
{
    return i < node->inputs.n                     ? node->inputs.items[i]
           : i < node->inputs.n + node->captures.n ? node->captures.items[i - node->inputs.n]
                                                   : NULL;
}

/* The node of the same graph that has to run before, for what `node` takes as number `i`; NULL: none. */
static struct onnx_node *runs_before(const struct onnx_node *node, size_t i)
{
    const struct onnx_value *value = taken(node, i);

    return value != NULL && value->graph == node->graph ? value->node : NULL;
}

static bool refuse_circle(struct onnx_import *import, const struct onnx_node *node, size_t i)
{
    const struct onnx_node *other = runs_before(node, i);

    mdf_onnx_enter(import, "node", node->id);
    return other == node ? mdf_onnx_fail(import, MDF_MODEL, "the node reads its own output '%.200s'", taken(node, i)->name)
                         : mdf_onnx_fail(import, MDF_MODEL,
                                         "the node waits for itself: it reads '%.200s' of the node '%.200s', which needs what this "
                                         "one yields",
                                         taken(node, i)->name, other->id);
}

enum { NEW, OPEN, DONE }; /* marks of nodes */

/* Goes through all that `node` waits for, each node once; false where one waits for itself. `stack` is empty before and after. */
static bool visit(struct onnx_import *import, struct onnx_list *stack, struct onnx_node *node)
{
    if (!mdf_onnx_list_add(import, stack, node)) {
        return false;
    }
    while (stack->n > 0) {
        struct onnx_node *top = stack->items[stack->n - 1], *before;

        top->mark = OPEN;
        if (top->n_visited == top->inputs.n + top->captures.n) {
            top->mark = DONE;
            stack->n--;
            continue;
        }
        before = runs_before(top, top->n_visited++);
        if (before != NULL && before->mark == OPEN) {
            return refuse_circle(import, top, top->n_visited - 1);
        }
        if (before != NULL && before->mark == NEW && !mdf_onnx_list_add(import, stack, before)) {
            return false;
        }
    }
    return true;
}

static bool report_disorder(struct onnx_import *import, const struct onnx_node *node, size_t i)
{
    const char *name = taken(node, i)->name;
    size_t place = mdf_onnx_enter(import, "node", node->id);

    if (node->graph->owner != NULL) {
        return mdf_onnx_fail(import, MDF_MODEL, "the node reads '%.200s', which only a later node of the body computes", name);
    }
    mdf_warn(import->tree->warnings, import->document->file, 0, 0, import->path,
             "the node reads '%.200s', which only a later node computes: ONNX wants nodes in the order in which they run; sort them",
             name);
    mdf_onnx_leave(import, place);
    return true;
}

bool mdf_onnx_check_order(struct onnx_import *import, const struct onnx_graph *graph)
{
    struct onnx_list stack = {0};

    for (size_t i = 0; i < graph->nodes.n; i++) {
        struct onnx_node *node = graph->nodes.items[i];

        if (node->mark == NEW && !visit(import, &stack, node)) {
            return false;
        }
    }
    for (size_t i = 0; i < graph->nodes.n; i++) {
        const struct onnx_node *node = graph->nodes.items[i];

        for (size_t j = 0; j < node->inputs.n + node->captures.n; j++) {
            const struct onnx_node *before = runs_before(node, j);

            if (before != NULL && before->position > node->position) {
                return report_disorder(import, node, j); /* the first is enough */
            }
        }
    }
    return true;
}
