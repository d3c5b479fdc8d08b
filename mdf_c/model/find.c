/* find.c - the items of a model's collections by their ids: one after the other where they are few, by a table where they are
 * many. */
#include "mdf_c/model/model.h"

#include <string.h>

enum { FEW = 16 };

const char *mdf_model_id_of(const void *items, size_t index, size_t size)
{
    return *(const char *const *)(const void *)((const char *)items + index * size);
}

size_t mdf_model_find(const struct name_table *names, const void *items, size_t n, size_t size, const char *id)
{
    size_t i;

    if (names->n > 0) {
        const size_t *number = name_table_find(names, id);

        return number != NULL ? *number - 1 : n;
    }
    for (i = 0; i < n && strcmp(mdf_model_id_of(items, i, size), id) != 0; i++) {
    }
    return i;
}

bool mdf_model_index(struct name_table *names, struct mdf_arena *arena, const void *items, size_t n, size_t size)
{
    for (size_t i = 0; n > FEW && i < n; i++) {
        size_t *number = name_table_add(names, arena, mdf_model_id_of(items, i, size));

        if (number == NULL) {
            return false;
        }
        *number = *number == 0 ? i + 1 : *number;
    }
    return true;
}

size_t mdf_model_find_input_port(const struct mdf_graph_node *node, const char *id)
{
    return mdf_model_find(&node->input_port_names, node->input_ports, node->n_input_ports, sizeof *node->input_ports, id);
}

size_t mdf_model_find_output_port(const struct mdf_graph_node *node, const char *id)
{
    return mdf_model_find(&node->output_port_names, node->output_ports, node->n_output_ports, sizeof *node->output_ports, id);
}

struct mdf_definition *mdf_model_find_function(const struct mdf_graph_node *node, const char *id)
{
    size_t i = mdf_model_find(&node->function_names, node->functions, node->n_functions, sizeof *node->functions, id);

    return i < node->n_functions ? &node->functions[i] : NULL;
}

struct mdf_parameter *mdf_model_find_parameter(const struct mdf_graph_node *node, const char *id)
{
    size_t i = node == NULL
                   ? 0
                   : mdf_model_find(&node->parameter_names, node->parameters, node->n_parameters, sizeof *node->parameters, id);

    return node != NULL && i < node->n_parameters ? &node->parameters[i] : NULL;
}

size_t mdf_model_find_node(const struct mdf_graph *graph, const char *id)
{
    return mdf_model_find(&graph->node_names, graph->nodes, graph->n_nodes, sizeof *graph->nodes, id);
}

const char *mdf_node_unit(const struct mdf_node *source)
{
    static const char *const keys[] = {"unit", "units"};
    const struct mdf_node *metadata = source != NULL && source->kind == MDF_NODE_OBJECT ? mdf_node_get(source, "metadata") : NULL;

    for (size_t i = 0; metadata != NULL && metadata->kind == MDF_NODE_OBJECT && i < sizeof keys / sizeof *keys; i++) {
        const struct mdf_node *unit = mdf_node_get(metadata, keys[i]);

        if (unit != NULL && unit->kind == MDF_NODE_STRING && unit->as.string.bytes[0] != '\0') {
            return unit->as.string.bytes;
        }
    }
    return NULL;
}
