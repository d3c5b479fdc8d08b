/* scope.c - names: bound scope by scope, looked up outward, captured through the units between. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

/* Scopes with fewer bindings are searched without an index. */
enum { LEAST_INDEXED = 16 };

/* Notes the bindings that are not in the index yet. */
static bool index_bindings(struct compiler *compiler, struct scope *scope, size_t n_indexed)
{
    const struct binding *bindings = scope->bindings.items;

    for (; n_indexed < scope->bindings.n; n_indexed++) {
        size_t *last = name_table_add(&scope->index, &compiler->scratch, bindings[n_indexed].name);

        if (last == NULL) {
            compile_out_of_memory(compiler);
            return false;
        }
        *last = n_indexed + 1;
    }
    return true;
}

bool scope_bind_outcome(struct compiler *compiler, struct scope *scope, const char *name, const struct outcome *outcome)
{
    struct binding binding = {name, outcome->outputs[0], *outcome};
    size_t n = scope->bindings.n;

    return list_add(compiler, &scope->bindings, &binding, sizeof binding) &&
           (n < LEAST_INDEXED || index_bindings(compiler, scope, n == LEAST_INDEXED ? 0 : n));
}

bool scope_bind(struct compiler *compiler, struct scope *scope, const char *name, mdf_operand operand)
{
    mdf_operand *outputs = mdf_arena_array(&compiler->scratch, 1, sizeof *outputs);
    struct outcome outcome = {outputs, 1, false};

    if (outputs == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    *outputs = operand;
    return scope_bind_outcome(compiler, scope, name, &outcome);
}

const struct binding *scope_find_here(const struct scope *scope, const char *name)
{
    const struct binding *bindings = scope->bindings.items;

    if (scope->bindings.n > LEAST_INDEXED) {
        const size_t *last = name_table_find(&scope->index, name);

        return last != NULL ? &bindings[*last - 1] : NULL;
    }
    for (size_t i = scope->bindings.n; i-- > 0;) {
        if (strcmp(bindings[i].name, name) == 0) {
            return &bindings[i];
        }
    }
    return NULL;
}

/* An outcome of an outer unit as seen from the target's. */
static bool bring(struct target *target, struct unit *from, const struct outcome *found, struct outcome *outcome)
{
    mdf_operand *outputs;

    *outcome = *found;
    if (from == target->unit) {
        return true;
    }
    outputs = mdf_arena_array(&target->compiler->scratch, found->n_outputs, sizeof *outputs);
    if (outputs == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    for (size_t i = 0; i < found->n_outputs; i++) {
        outputs[i] = unit_capture(target, target->unit, from, found->outputs[i]);
        if (outputs[i] == MDF_NO_OPERAND && found->outputs[i] != MDF_NO_OPERAND) {
            return false;
        }
    }
    outcome->outputs = outputs;
    return true;
}

/* What a binding stands for, unless that is a parameter without a value. */
static bool take(struct target *target, const struct scope *scope, const struct binding *binding, struct outcome *outcome)
{
    if (binding->operand != MDF_NO_OPERAND && (unit_flags(scope->unit, binding->operand) & OPERAND_IS_VOID) != 0) {
        compile_error(target->compiler, MDF_MODEL, "the parameter '%s' has no value; give it a value, or a default_initial_value",
                      binding->name);
        return false;
    }
    return bring(target, scope->unit, &binding->outcome, outcome);
}

/* The output port of that name of another node in the graph that a body stands in. */
static bool find_output(struct target *target, struct scope *scope, const char *name, struct outcome *outcome)
{
    struct outcome found = {NULL, 1, false};
    mdf_operand *operand;
    size_t node, output;

    if (scope->graph == NULL || scope->unit == target->unit || !graph_find_output(scope->graph, name, &node, &output) ||
        node == scope->graph->current_node) {
        return false;
    }
    if (scope->graph->is_exact) {
        compile_error(
            target->compiler, MDF_UNSUPPORTED,
            "with exact time nodes do not read '%s' of node '%s' without an edge, as both may run at the same time: lead "
            "it to an input port",
            name, scope->graph->graph->nodes[node].id);
        return false;
    }
    operand = mdf_arena_array(&target->compiler->scratch, 1, sizeof *operand);
    if (operand == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    *operand = graph_output(scope->graph, node, output);
    found.outputs = operand;
    return *operand != MDF_NO_OPERAND && bring(target, scope->unit, &found, outcome);
}

bool scope_find(struct target *target, const char *name, struct outcome *outcome)
{
    struct scope *scope;

    for (scope = target->scope; scope != NULL; scope = scope->outer) {
        const struct binding *binding = scope_find_here(scope, name);

        if (binding != NULL) {
            return take(target, scope, binding, outcome);
        }
        if (find_output(target, scope, name, outcome)) {
            return true;
        }
    }
    return false;
}

bool scope_find_in_node(struct target *target, const char *name, struct outcome *outcome)
{
    struct scope *scope;

    for (scope = target->scope; scope != NULL && scope->graph == NULL; scope = scope->outer) {
        const struct binding *binding = scope_find_here(scope, name);

        if (binding != NULL) {
            return take(target, scope, binding, outcome);
        }
    }
    return false;
}

void scope_offer(const struct scope *scope, struct mdf_nearest *nearest)
{
    for (; scope != NULL; scope = scope->outer) {
        for (size_t i = 0; i < scope->bindings.n; i++) {
            mdf_nearest_offer(nearest, ((const struct binding *)scope->bindings.items)[i].name);
        }
    }
}

mdf_operand scope_as_operand(struct target *target, const struct outcome *outcome)
{
    if (!outcome->several) {
        return outcome->outputs[0];
    }
    return unit_call_python(target, PYTHON_OUTPUTS, outcome->outputs, outcome->n_outputs);
}

bool scope_has_output(const struct target *target, const char *name)
{
    const struct scope *scope = target->scope;
    const struct mdf_graph_node *node;

    while (scope != NULL && scope->graph == NULL) {
        scope = scope->outer;
    }
    if (scope == NULL || target->unit != scope->graph->unit || target->unit->owner == 0) {
        return false;
    }
    node = &scope->graph->graph->nodes[scope->graph->current_node];
    return mdf_model_find_output_port(node, name) < node->n_output_ports;
}
