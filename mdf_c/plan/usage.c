/* usage.c - how the outputs of a function are referred to in its node: as f, or as f[0], f[1]. */
#include "mdf_c/plan/compiler.h"

#include <stdlib.h>
#include <string.h>

struct finder {
    struct compiler *compiler;
    const char *id;
    struct usage *usage;
};

static void note_index(struct finder *finder, int64_t index)
{
    if (index > finder->usage->max_index) {
        finder->usage->max_index = index;
    }
    if (index < 0) {
        finder->usage->elsewhere = true; /* f[-1]: all outputs are needed */
    }
}

static void find_in_tree(struct finder *finder, const struct mdf_expression *tree)
{
    size_t i;

    if (tree == NULL) {
        return;
    }
    switch (tree->kind) {
    case MDF_EXPRESSION_INT:
    case MDF_EXPRESSION_REAL:
    case MDF_EXPRESSION_STRING:
    case MDF_EXPRESSION_TRUE:
    case MDF_EXPRESSION_FALSE:
    case MDF_EXPRESSION_NONE:
    case MDF_EXPRESSION_ELLIPSIS:
        return;
    case MDF_EXPRESSION_NAME:
        if (strcmp(tree->as.text.bytes, finder->id) == 0) {
            finder->usage->elsewhere = true;
        }
        return;
    case MDF_EXPRESSION_SUBSCRIPT:
        if (tree->as.list.items[0]->kind == MDF_EXPRESSION_NAME &&
            strcmp(tree->as.list.items[0]->as.text.bytes, finder->id) == 0 &&
            tree->as.list.items[1]->kind == MDF_EXPRESSION_INT) {
            note_index(finder, tree->as.list.items[1]->as.integer);
            return;
        }
        break;
    default:
        break;
    }
    for (i = 0; i < tree->as.list.n; i++) {
        find_in_tree(finder, tree->as.list.items[i]);
    }
}

static bool find_in_text(struct finder *finder, const char *text)
{
    size_t length = strlen(finder->id), offset;
    mdf_error ignored = {0};
    struct mdf_expression *tree;
    char *end;

    if (strcmp(text, finder->id) == 0) {
        finder->usage->elsewhere = true;
        return true;
    }
    if (strstr(text, finder->id) == NULL) {
        return true;
    }
    if (strncmp(text, finder->id, length) == 0 && text[length] == '[') {
        long long index = strtoll(text + length + 1, &end, 10);

        if (strcmp(end, "]") == 0) {
            note_index(finder, index);
            return true;
        }
    }
    tree = mdf_expression_parse(&finder->compiler->scratch, text, &offset, &ignored);
    find_in_tree(finder, tree);
    return true;
}

static bool find_in_node(struct finder *finder, const struct mdf_node *node)
{
    struct list pieces = {0};
    size_t i;

    if (node == NULL) {
        return true;
    }
    if (node->kind == MDF_NODE_OBJECT) {
        for (i = 0; i < node->as.object.n; i++) {
            if (!find_in_node(finder, &node->as.object.entries[i].value)) {
                return false;
            }
        }
        return true;
    }
    if (node->kind != MDF_NODE_STRING && node->kind != MDF_NODE_LIST) {
        return true;
    }
    if (!split_variadic(finder->compiler, node, &pieces)) {
        return false;
    }
    for (i = 0; i < pieces.n; i++) {
        const struct mdf_node *piece = ((const struct mdf_node **)pieces.items)[i];

        if (piece->kind == MDF_NODE_STRING && !find_in_text(finder, piece->as.string.bytes)) {
            return false;
        }
    }
    return true;
}

bool find_usage(struct compiler *compiler, const struct mdf_graph_node *node, const char *id, struct usage *usage)
{
    struct finder finder = {compiler, id, usage};
    bool found = true;
    size_t i, j;

    *usage = (struct usage){0, false, -1};
    for (i = 0; i < node->n_output_ports; i++) {
        const struct mdf_node *value = node->output_ports[i].value;

        if (value != NULL && value->kind == MDF_NODE_STRING && strcmp(value->as.string.bytes, id) == 0) {
            usage->n_ports++;
        } else {
            found = found && find_in_node(&finder, value);
        }
    }
    for (i = 0; i < node->n_functions; i++) {
        found = found && find_in_node(&finder, node->functions[i].args) && find_in_node(&finder, node->functions[i].value);
    }
    for (i = 0; i < node->n_parameters; i++) {
        const struct mdf_parameter *parameter = &node->parameters[i];

        found = found && find_in_node(&finder, parameter->definition.args) &&
                find_in_node(&finder, parameter->definition.value) && find_in_node(&finder, parameter->time_derivative) &&
                find_in_node(&finder, parameter->default_initial_value);
        for (j = 0; j < parameter->n_conditions; j++) {
            found = found && find_in_node(&finder, parameter->conditions[j].test) &&
                    find_in_node(&finder, parameter->conditions[j].value);
        }
    }
    return found;
}
