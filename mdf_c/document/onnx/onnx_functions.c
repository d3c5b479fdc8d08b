/* onnx_functions.c - functions that a model brings along: a call becomes the nodes of the function, in the graph of the call.
 *
 * Inside, names mean what the function says: its inputs are the values of the call's inputs, its outputs the outputs of the call;
 * all other values get ids of their own. Source: IR specification, "Functions". */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

/* "domain:name:overload"; NULL: out of memory, with the error set. */
static char *key_of(struct mdf_arena *arena, const char *domain, const char *name, const char *overload)
{
    domain = strcmp(mdf_onnx_text(domain), "ai.onnx") == 0 ? "" : mdf_onnx_text(domain);
    return mdf_arena_printf(arena, "%s:%s:%s", domain, mdf_onnx_text(name), mdf_onnx_text(overload));
}

bool mdf_onnx_index_functions(struct onnx_import *import)
{
    for (size_t i = 0; i < import->model->n_functions; i++) {
        const Mdf__FunctionProto *function = import->model->functions[i];
        const char *key = key_of(&import->scratch, function->domain, function->name, function->overload);

        if (key == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        if (function->n_opset_import > ONNX_MAX_ENTRIES || function->n_attribute_proto > ONNX_MAX_ENTRIES) {
            return mdf_onnx_fail(import, MDF_LIMIT, "the function '%.200s' has more than %d attributes or opsets", key,
                                 ONNX_MAX_ENTRIES);
        }
        if (!mdf_onnx_check_opsets(import, function->opset_import, function->n_opset_import)) {
            return false;
        }
        if (mdf_onnx_map_has(&import->functions, key)) {
            return mdf_onnx_fail(import, MDF_NAME, "the model has two functions '%.200s'", key);
        }
        if (!mdf_onnx_map_put(import, &import->functions, key, function)) {
            return false;
        }
    }
    return true;
}

bool mdf_onnx_find_function(struct onnx_import *import, const Mdf__NodeProto *node, const Mdf__FunctionProto **function)
{
    const char *key;

    *function = NULL;
    if (import->functions.names.n == 0) {
        return true;
    }
    key = key_of(&import->scratch, node->domain, node->op_type, node->overload);
    if (key == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    *function = mdf_onnx_map_get(&import->functions, key, NULL);
    return true;
}

/* ------------------------------------------------------------------ a call */

/* Inputs of the function are the call's; those at the end may be left out. */
static bool bind_inputs(struct onnx_import *import, struct onnx_scope *caller, struct onnx_scope *inner,
                        const Mdf__NodeProto *node)
{
    const Mdf__FunctionProto *function = inner->function;
    struct onnx_value *value;

    for (size_t i = 0; i < function->n_input; i++) {
        if (!mdf_onnx_look_up(import, caller, i < node->n_input ? node->input[i] : "", &value)) {
            return false;
        }
        if (mdf_onnx_map_has(&inner->values, function->input[i])) {
            return mdf_onnx_fail(import, MDF_NAME, "the function has two inputs '%.200s'", function->input[i]);
        }
        if (!mdf_onnx_map_put(import, &inner->values, function->input[i], value)) {
            return false;
        }
    }
    return true;
}

static struct onnx_value *output_of_call(const struct onnx_scope *caller, const Mdf__NodeProto *node, size_t i)
{
    return i < node->n_output ? (struct onnx_value *)(uintptr_t)mdf_onnx_map_get(&caller->values, node->output[i], NULL) : NULL;
}

/* What the function says its outputs are called becomes the call's outputs. */
static bool preset_outputs(struct onnx_import *import, const struct onnx_scope *caller, struct onnx_scope *inner,
                           const Mdf__NodeProto *node)
{
    for (size_t i = 0; i < inner->function->n_output; i++) {
        struct onnx_value *value = output_of_call(caller, node, i);

        if (value != NULL && *inner->function->output[i] != '\0' &&
            !mdf_onnx_map_put(import, &inner->presets, inner->function->output[i], value)) {
            return false;
        }
    }
    return true;
}

/* Outputs that no node of the function computes are inputs passed on, or the same as other outputs. */
static bool finish_outputs(struct onnx_import *import, const struct onnx_scope *caller, const struct onnx_scope *inner,
                           const Mdf__NodeProto *node)
{
    for (size_t i = 0; i < inner->function->n_output; i++) {
        const char *name = inner->function->output[i];
        struct onnx_value *value = output_of_call(caller, node, i);
        const void *source = mdf_onnx_map_get(&inner->values, name, NULL);

        if (value == NULL || source == value || *name == '\0') { /* no name: nothing reads it */
            continue;
        }
        if (source == NULL) {
            return mdf_onnx_fail(import, MDF_NAME, "the output '%.200s' of the function is computed by nothing", name);
        }
        if (!mdf_onnx_add_identity(import, (struct onnx_value *)(uintptr_t)source, value)) {
            return false;
        }
    }
    return true;
}

bool mdf_onnx_expand(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *node,
                     const Mdf__FunctionProto *function)
{
    size_t place = mdf_onnx_enter(import, "function", mdf_onnx_text(function->name));
    struct onnx_scope *inner = mdf_arena_allocate(&import->scratch, sizeof *inner);
    struct onnx_list *call = mdf_arena_allocate(&import->scratch, sizeof *call);

    if (inner == NULL || call == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    import->n_expanded += function->n_node + 1;
    if (import->nesting == ONNX_MAX_NESTING || import->n_expanded > ONNX_MAX_EXPANDED_NODES) {
        return mdf_onnx_fail(import, MDF_LIMIT,
                             "functions call each other more than %d deep (in a circle?), or stand for more than %d nodes in all",
                             ONNX_MAX_NESTING, ONNX_MAX_EXPANDED_NODES);
    }
    if (node->n_input > function->n_input || node->n_output > function->n_output) {
        return mdf_onnx_fail(import, MDF_MODEL, "the function has %zu inputs and %zu outputs, its call %zu and %zu",
                             function->n_input, function->n_output, node->n_input, node->n_output);
    }
    *inner = (struct onnx_scope){.graph = scope->graph, .call = call, .function = function};
    import->nesting++;
    if (!mdf_onnx_resolve_attributes(import, scope, node, call) || !bind_inputs(import, scope, inner, node) ||
        !preset_outputs(import, scope, inner, node) || !mdf_onnx_resolve_nodes(import, inner, function->node, function->n_node) ||
        !finish_outputs(import, scope, inner, node)) {
        return false;
    }
    import->nesting--;
    mdf_onnx_leave(import, place);
    return true;
}
