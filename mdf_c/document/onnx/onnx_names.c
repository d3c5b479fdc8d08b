/* onnx_names.c - places for messages, lists and maps of an import, and the ids that names of the file get in MDF.
 *
 * MDF finds a name in the scopes outward from where it stands: the node, its graph, the node around the graph, and so on; a text
 * that no scope has is a number or an expression. So an id is the file's name wherever no scope around has the same id for
 * something else, and the name does not read as a number; else it gets an underscore in front, or a number behind. */
#include "mdf_c/base/error.h"
#include "mdf_c/document/onnx/onnx_import.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ messages */

bool mdf_onnx_fail(struct onnx_import *import, mdf_status status, const char *format, ...)
{
    char message[900];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    message[mdf_utf8_valid_length(message, strlen(message))] = '\0';
    mdf_error_set(import->tree->error, status, "%s", message);
    mdf_error_at(import->tree->error, import->document->file, 0, 0);
    mdf_error_in(import->tree->error, "%s", import->path);
    return false;
}

bool mdf_onnx_out_of_memory(struct onnx_import *import)
{
    return mdf_tree_out_of_memory(import->tree);
}

size_t mdf_onnx_enter(struct onnx_import *import, const char *what, const char *name)
{
    return mdf_place_path_enter(import->path, sizeof import->path, what, name);
}

void mdf_onnx_leave(struct onnx_import *import, size_t length)
{
    import->path[length] = '\0';
}

const char *mdf_onnx_text(const char *text)
{
    return text != NULL ? text : "";
}

/* ------------------------------------------------------------------ lists and maps */

bool mdf_onnx_list_add(struct onnx_import *import, struct onnx_list *list, const void *item)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity < 4 ? 4 : list->capacity * 2;
        void **grown = mdf_arena_array(&import->scratch, capacity, sizeof *grown);

        if (grown == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        if (list->n > 0) {
            memcpy(grown, list->items, list->n * sizeof *grown);
        }
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->n++] = (void *)(uintptr_t)item;
    return true;
}

bool mdf_onnx_map_put(struct onnx_import *import, struct onnx_map *map, const char *key, const void *value)
{
    size_t *number = name_table_add(&map->names, &import->scratch, key);

    if (number == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    if (*number > 0) {
        map->values.items[*number - 1] = (void *)(uintptr_t)value;
    } else if (value != NULL) {
        *number = map->values.n + 1;
        return mdf_onnx_list_add(import, &map->values, value);
    }
    return true;
}

const void *mdf_onnx_map_get(const struct onnx_map *map, const char *key, bool *found)
{
    const size_t *number = name_table_find(&map->names, key);

    if (found != NULL) {
        *found = number != NULL;
    }
    return number != NULL && *number > 0 ? map->values.items[*number - 1] : NULL;
}

bool mdf_onnx_map_has(const struct onnx_map *map, const char *key)
{
    bool found;

    mdf_onnx_map_get(map, key, &found);
    return found;
}

/* ------------------------------------------------------------------ the names of the whole model */

/* Adds a value's name, and the words in it: what an expression could take for names. */
static bool add_name(struct onnx_import *import, const char *name)
{
    const char *from, *to;

    if (name == NULL || mdf_onnx_map_has(&import->names, name)) {
        return true;
    }
    if (!mdf_onnx_map_put(import, &import->names, name, NULL)) {
        return false;
    }
    for (from = name; *from != '\0'; from = to) {
        char *word;

        for (to = from; mdf_is_word(*to); to++) {
        }
        if (to > from && (from > name || *to != '\0')) {
            word = mdf_arena_text(&import->scratch, from, (size_t)(to - from));
            if (word == NULL) {
                return mdf_onnx_out_of_memory(import);
            }
            if (!mdf_onnx_map_has(&import->names, word) && !mdf_onnx_map_put(import, &import->names, word, NULL)) {
                return false;
            }
        }
        to += to == from;
    }
    return true;
}

/* Adds "a" and "a.b" for "a.b.c". */
static bool add_prefixes(struct onnx_import *import, const char *name)
{
    const char *point;

    for (point = strchr(name, '.'); point != NULL; point = strchr(point + 1, '.')) {
        char *prefix = mdf_arena_text(&import->scratch, name, (size_t)(point - name));

        if (prefix == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        if (!mdf_onnx_map_put(import, &import->prefixes, prefix, NULL)) {
            return false;
        }
    }
    return true;
}

/* Notes that something takes a value of that name. */
static bool add_read(struct onnx_import *import, const char *name)
{
    return name == NULL || mdf_onnx_map_has(&import->read, name) || mdf_onnx_map_put(import, &import->read, name, NULL);
}

static bool add_graph(struct onnx_import *import, const Mdf__GraphProto *graph);

static bool add_nodes(struct onnx_import *import, Mdf__NodeProto *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < nodes[i]->n_input; j++) {
            if (!add_name(import, nodes[i]->input[j]) || !add_read(import, nodes[i]->input[j])) {
                return false;
            }
        }
        for (size_t j = 0; j < nodes[i]->n_output; j++) {
            if (!add_name(import, nodes[i]->output[j])) {
                return false;
            }
        }
        for (size_t j = 0; j < nodes[i]->n_attribute; j++) {
            const Mdf__AttributeProto *attribute = nodes[i]->attribute[j];

            if (attribute->g != NULL && !add_graph(import, attribute->g)) {
                return false;
            }
            for (size_t k = 0; k < attribute->n_graphs; k++) {
                if (!add_graph(import, attribute->graphs[k])) {
                    return false;
                }
            }
        }
    }
    return true;
}

static bool add_value_infos(struct onnx_import *import, Mdf__ValueInfoProto *const *infos, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!add_name(import, infos[i]->name) || !add_prefixes(import, mdf_onnx_text(infos[i]->name))) {
            return false;
        }
    }
    return true;
}

/* Recursion is bounded by the depth of messages. */
static bool add_graph(struct onnx_import *import, const Mdf__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        if (!add_name(import, graph->initializer[i]->name)) {
            return false;
        }
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        if (graph->sparse_initializer[i]->values != NULL && !add_name(import, graph->sparse_initializer[i]->values->name)) {
            return false;
        }
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        if (!add_read(import, graph->output[i]->name)) {
            return false;
        }
    }
    return add_value_infos(import, graph->input, graph->n_input) && add_value_infos(import, graph->output, graph->n_output) &&
           add_nodes(import, graph->node, graph->n_node);
}

bool mdf_onnx_collect_names(struct onnx_import *import)
{
    for (size_t i = 0; i < import->model->n_functions; i++) {
        const Mdf__FunctionProto *function = import->model->functions[i];

        if (!add_nodes(import, function->node, function->n_node)) {
            return false;
        }
        for (size_t j = 0; j < function->n_output; j++) {
            if (!add_read(import, function->output[j])) {
                return false;
            }
        }
    }
    return add_graph(import, import->model->graph);
}

/* ------------------------------------------------------------------ ids */

/* Whether the graph, or one around it, has the id already. */
static bool is_taken(const struct onnx_graph *graph, const char *id)
{
    for (;;) {
        if (mdf_onnx_map_has(&graph->ids, id)) {
            return true;
        }
        if (graph->owner == NULL) {
            return false;
        }
        graph = graph->owner->graph;
    }
}

const char *mdf_onnx_numbered(struct onnx_import *import, const char *base)
{
    uintptr_t number = (uintptr_t)mdf_onnx_map_get(&import->numbers, base, NULL) + 1;
    char *text = mdf_arena_printf(&import->document->arena, "%s_%zu", base, (size_t)number);

    if (text == NULL) {
        mdf_onnx_out_of_memory(import);
        return NULL;
    }
    return mdf_onnx_map_put(import, &import->numbers, base, (const void *)number) ? text : NULL;
}

/* A text like `base` that is no name of the model and was not made up before. */
static const char *make_up(struct onnx_import *import, const char *base)
{
    const char *text;

    do {
        text = mdf_onnx_numbered(import, base);
    } while (text != NULL && mdf_onnx_map_has(&import->names, text));
    return text != NULL && mdf_onnx_map_put(import, &import->names, text, NULL) ? text : NULL;
}

/* A text that the tree can hold. */
static bool check_text(struct onnx_import *import, const char *what, const char *text)
{
    return mdf_utf8_valid_length(text, strlen(text)) == strlen(text) ||
           mdf_onnx_fail(import, MDF_SYNTAX, "the name of a%s %s is not valid UTF-8", strchr("aeiou", what[0]) != NULL ? "n" : "",
                         what);
}

const char *mdf_onnx_value_id(struct onnx_import *import, struct onnx_graph *graph, const char *name)
{
    const char *id = name;
    int64_t integer;
    bool is_integer;
    double real;

    if (!check_text(import, "value", name)) {
        return NULL;
    }
    if (mdf_parse_python_number(name, &real, &integer, &is_integer)) {
        id = mdf_arena_printf(&import->document->arena, "_%s", name);
        if (id == NULL) {
            mdf_onnx_out_of_memory(import);
            return NULL;
        }
        id = mdf_onnx_map_has(&import->names, id) ? make_up(import, id) : id;
    }
    if (id != NULL && (*id == '\0' || is_taken(graph, id))) {
        id = make_up(import, *id == '\0' ? "unnamed" : id);
    }
    return id != NULL && mdf_onnx_map_put(import, &graph->ids, id, NULL) ? id : NULL;
}

const char *mdf_onnx_node_id(struct onnx_import *import, struct onnx_graph *graph, const char *name, const char *operator)
{
    const char *base = *name != '\0' ? name : operator, * id = name;

    if (!check_text(import, "node", base)) {
        return NULL;
    }
    while (id != NULL && (*id == '\0' || mdf_onnx_map_has(&graph->node_ids, id) || mdf_onnx_map_has(&import->prefixes, id))) {
        id = mdf_onnx_numbered(import, base);
    }
    return id != NULL && mdf_onnx_map_put(import, &graph->node_ids, id, NULL) ? id : NULL;
}

const char *mdf_onnx_call_id(struct onnx_import *import, const char *operator)
{
    const char *id = mdf_onnx_map_get(&import->call_ids, operator, NULL);

    if (id != NULL) {
        return id;
    }
    if (!check_text(import, "operator", operator)) {
        return NULL;
    }
    id = mdf_onnx_map_has(&import->names, operator) ? make_up(import, operator) : operator;
    return id != NULL && mdf_onnx_map_put(import, &import->call_ids, operator, id) ? id : NULL;
}
