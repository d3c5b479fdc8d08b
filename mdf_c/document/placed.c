/* placed.c - a tree as values that keep the places where they stand. Comes in: a node. Goes out: lists [line, column, what stands
 * there], for callers who read files of their own. Recursion is bounded by the reader's limit on depth. */
#include "mdf_c/document/document.h"

#include <string.h>

/* Makes `value` the list [line, column, NONE]; returns its last item, NULL when out of memory. */
static struct mdf_value *make_place(struct mdf_memory *memory, struct mdf_value *value, uint32_t line, uint32_t column)
{
    struct mdf_value *items = mdf_value_make_list(memory, value, 3);

    if (items == NULL || !mdf_value_make_int(memory, &items[0], line) || !mdf_value_make_int(memory, &items[1], column)) {
        return NULL;
    }
    return &items[2];
}

static bool place_items(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *list, mdf_error *error)
{
    struct mdf_value *items = mdf_value_make_list(memory, value, list->as.list.n);

    for (size_t i = 0; items != NULL && i < list->as.list.n; i++) {
        if (!mdf_node_to_placed(memory, &items[i], &list->as.list.items[i], error)) {
            return false;
        }
    }
    if (items == NULL) {
        mdf_memory_error(memory, error);
    }
    return items != NULL;
}

static bool place_entries(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *object, mdf_error *error)
{
    struct mdf_value *items = mdf_value_make_dict(memory, value, object->as.object.n);
    bool done = items != NULL;

    for (size_t i = 0; done && i < object->as.object.n; i++) {
        const struct mdf_node_entry *entry = &object->as.object.entries[i];
        struct mdf_value *place = NULL;

        if (mdf_value_make_string(memory, &items[2 * i], entry->key, strlen(entry->key))) {
            place = make_place(memory, &items[2 * i + 1], entry->line, entry->column);
        }
        done = place != NULL;
        if (done && !mdf_node_to_placed(memory, place, &entry->value, error)) {
            return false;
        }
    }
    if (!done) {
        mdf_memory_error(memory, error);
    }
    return done;
}

bool mdf_node_to_placed(struct mdf_memory *memory, struct mdf_value *value, const struct mdf_node *node, mdf_error *error)
{
    struct mdf_value *inner = make_place(memory, value, node->line, node->column);

    if (inner == NULL) {
        mdf_memory_error(memory, error);
        return false;
    }
    if (node->kind == MDF_NODE_LIST) {
        return place_items(memory, inner, node, error);
    }
    if (node->kind == MDF_NODE_OBJECT) {
        return place_entries(memory, inner, node, error);
    }
    return mdf_node_to_value(memory, inner, node, false, error);
}
