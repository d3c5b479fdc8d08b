/* event_ports.c - the output ports that a node has by the events in its metadata: docs/time.md, Events.
 *
 * Comes in: metadata {"events": {ID: {"crosses": EXPRESSION, "direction": "rising" or "falling"}}}. Goes out: the node with
 * output ports ID, the number of times that the expression has crossed zero so, and ID_time, when it did so last. The parameters
 * that they show are made when the node is compiled (mdf_c/plan/node_events.c). */
#include "mdf_c/model/reader.h"

#include <string.h>

static mdf_status check_event(struct mdf_reader *reader, const struct mdf_node_entry *entry)
{
    const struct mdf_node *crosses = mdf_node_get(&entry->value, "crosses"),
                          *direction = mdf_node_get(&entry->value, "direction");

    if (crosses == NULL || crosses->kind != MDF_NODE_STRING) {
        return mdf_reader_fail(
            reader, &entry->value, MDF_MODEL,
            "an event needs 'crosses', an expression whose value crosses zero then: {\"crosses\": \"v - 30\"}");
    }
    if (direction != NULL && (direction->kind != MDF_NODE_STRING || (strcmp(direction->as.string.bytes, "rising") != 0 &&
                                                                     strcmp(direction->as.string.bytes, "falling") != 0))) {
        return mdf_reader_fail(reader, direction, MDF_MODEL,
                               "the 'direction' of an event is 'rising' or 'falling'; for both, write two events");
    }
    return MDF_OK;
}

static bool add_port(struct mdf_reader *reader, struct mdf_graph_node *node, const struct mdf_node *source, const char *id)
{
    struct mdf_node *text = mdf_arena_allocate(reader->arena, sizeof *text);

    if (text == NULL || id == NULL) {
        return false;
    }
    *text = (struct mdf_node){.kind = MDF_NODE_STRING, .is_given = source->is_given, .line = source->line, .column = source->column};
    text->as.string.bytes = id;
    text->as.string.length = strlen(id);
    if (mdf_model_find_output_port(node, id) == node->n_output_ports) {
        node->output_ports[node->n_output_ports++] =
            (struct mdf_output_port){.id = id, .source = source, .value = text, .declaration.type.dtype = MDF_DTYPE_NONE};
    }
    return true;
}

mdf_status mdf_reader_add_event_ports(struct mdf_reader *reader, struct mdf_graph_node *node)
{
    const struct mdf_node *metadata = mdf_node_get(node->source, "metadata"),
                          *events = metadata != NULL ? mdf_node_get(metadata, "events") : NULL;
    size_t n = events != NULL && events->kind == MDF_NODE_OBJECT ? events->as.object.n : 0;
    struct mdf_output_port *ports = mdf_arena_array(reader->arena, node->n_output_ports + 2 * n, sizeof *ports);

    if (ports == NULL) {
        return mdf_reader_out_of_memory(reader);
    }
    if (n == 0) {
        return MDF_OK;
    }
    if (node->n_output_ports > 0) {
        memcpy(ports, node->output_ports, node->n_output_ports * sizeof *ports);
    }
    node->output_ports = ports;
    node->output_port_names = (struct name_table){0}; /* made anew for those that are there at the end */
    for (size_t i = 0; i < n; i++) {
        const struct mdf_node_entry *entry = &events->as.object.entries[i];
        size_t length = strlen(reader->path);
        mdf_status status;

        mdf_reader_enter(reader, "event", entry->key);
        status = check_event(reader, entry);
        if (status != MDF_OK) {
            return status;
        }
        reader->path[length] = '\0';
        if (!add_port(reader, node, &entry->value, entry->key) ||
            !add_port(reader, node, &entry->value, mdf_arena_printf(reader->arena, "%s_time", entry->key))) {
            return mdf_reader_out_of_memory(reader);
        }
    }
    return mdf_model_index(&node->output_port_names, reader->arena, ports, node->n_output_ports, sizeof *ports)
               ? MDF_OK
               : mdf_reader_out_of_memory(reader);
}
