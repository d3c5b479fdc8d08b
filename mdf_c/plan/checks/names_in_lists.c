/* names_in_lists.c - warns of a text in a list that is a name of the node: a list is data, as in the reference engine, and its
 * texts are no expressions. Where text is declared, it is meant. */
#include "mdf_c/plan/compiler.h"

#include <string.h>

static bool is_name_of(const struct mdf_graph_node *node, const char *text)
{
    for (size_t i = 0; i < node->n_parameters; i++) {
        if (strcmp(node->parameters[i].definition.id, text) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < node->n_functions; i++) {
        if (strcmp(node->functions[i].id, text) == 0) {
            return true;
        }
    }
    return mdf_model_find_input_port(node, text) < node->n_input_ports;
}

static void look_at(struct compiler *compiler, const struct mdf_graph_node *node, const struct mdf_node *value,
                    const struct mdf_declaration *declaration)
{
    if (value == NULL || value->kind != MDF_NODE_LIST || declaration->type.dtype == MDF_DTYPE_STRING) {
        return;
    }
    for (size_t i = 0; i < value->as.list.n; i++) {
        const struct mdf_node *item = &value->as.list.items[i];
        struct place place;

        if (item->kind == MDF_NODE_STRING && is_name_of(node, item->as.string.bytes)) {
            place = place_at(compiler, item);
            compile_warning(
                compiler, "in a list '%s' is a text, not the value of that name: write the whole list as one text, \"[%s, ...]\"",
                item->as.string.bytes, item->as.string.bytes);
            place_leave(compiler, place);
            return;
        }
    }
}

void warn_of_names_in_lists(struct compiler *compiler, const struct mdf_graph_node *node)
{
    struct place place;

    for (size_t i = 0; i < node->n_parameters; i++) {
        const struct mdf_parameter *parameter = &node->parameters[i];

        place = place_enter(compiler, "parameter", parameter->definition.id, parameter->definition.source);
        look_at(compiler, node, parameter->definition.function == NULL ? parameter->definition.value : NULL,
                &parameter->declaration);
        place_leave(compiler, place);
    }
    for (size_t i = 0; i < node->n_output_ports; i++) {
        place = place_enter(compiler, "output port", node->output_ports[i].id, node->output_ports[i].source);
        look_at(compiler, node, node->output_ports[i].value, &node->output_ports[i].declaration);
        place_leave(compiler, place);
    }
}
