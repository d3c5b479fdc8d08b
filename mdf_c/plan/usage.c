/* usage.c - how the outputs of a function are referred to in its node: as f, or as f[0], f[1]. */
#include "mdf_c/plan/compiler.h"

#include <stdlib.h>
#include <string.h>

/* What one node refers to, found once for all names. */
struct usages {
    const struct mdf_graph_node *node;
    struct name_table names; /* the place of each in `items`, counted from 1 */
    struct list items;       /* struct usage */
    struct list bodies;      /* const struct mdf_graph *: those that were gone through */
    bool has_bodies;         /* a text may name a graph of the model, which then refers to what it captures */
    bool failed;             /* memory ran out */
};

static struct usage *usage_of(struct compiler *compiler, struct usages *usages, const char *name)
{
    static const struct usage none = {.max_index = -1};
    size_t *number = name_table_add(&usages->names, &compiler->scratch, name);

    if (number == NULL) {
        compile_out_of_memory(compiler);
    }
    if (number == NULL || (*number == 0 && !list_add(compiler, &usages->items, &none, sizeof none))) {
        usages->failed = true;
        return NULL;
    }
    if (*number == 0) {
        *number = usages->items.n;
    }
    return (struct usage *)usages->items.items + *number - 1;
}

/* The name stands for all outputs. */
static void note_whole(struct compiler *compiler, struct usages *usages, const char *name)
{
    struct usage *usage = usage_of(compiler, usages, name);

    if (usage != NULL) {
        usage->elsewhere = true;
    }
}

static void note_index(struct compiler *compiler, struct usages *usages, const char *name, int64_t index)
{
    struct usage *usage = usage_of(compiler, usages, name);

    if (usage != NULL) {
        usage->max_index = index > usage->max_index ? index : usage->max_index;
        usage->as_list |= index < 0;
    }
}

/* The name stands for a list that is indexed. */
static void note_list(struct compiler *compiler, struct usages *usages, const char *name)
{
    struct usage *usage = usage_of(compiler, usages, name);

    if (usage != NULL) {
        usage->as_list = true;
    }
}

/* f[...] */
static void note_subscript(struct compiler *compiler, struct usages *usages, const char *name, const struct mdf_expression *index)
{
    if (index->kind == MDF_EXPRESSION_INT) {
        note_index(compiler, usages, name, index->as.integer);
    } else {
        note_list(compiler, usages, name);
    }
}

static void find_in_tree(struct compiler *compiler, struct usages *usages, const struct mdf_expression *tree)
{
    size_t n = mdf_expression_n_items(tree), first = 0, i;

    if (n == 0) {
        if (tree != NULL && tree->kind == MDF_EXPRESSION_NAME) {
            note_whole(compiler, usages, tree->as.text.bytes);
        }
        return;
    }
    if (tree->kind == MDF_EXPRESSION_SUBSCRIPT && tree->as.list.items[0]->kind == MDF_EXPRESSION_NAME) {
        note_subscript(compiler, usages, tree->as.list.items[0]->as.text.bytes, tree->as.list.items[1]);
        first = 1;
    }
    for (i = first; i < n; i++) {
        find_in_tree(compiler, usages, tree->as.list.items[i]);
    }
}

/* An id may be no name of an expression ("a/b"): a text that is the id and an index refers to it all the same. */
static void find_in_text(struct compiler *compiler, struct usages *usages, const char *text)
{
    const char *bracket = strrchr(text, '[');
    struct mdf_expression *tree;

    if (is_bare_name(text)) { /* it is noted as a whole already */
        return;
    }
    if (bracket != NULL) {
        char *end, *name = mdf_arena_text(&compiler->scratch, text, (size_t)(bracket - text));
        long long index = strtoll(bracket + 1, &end, 10);

        if (name == NULL) {
            compile_out_of_memory(compiler);
            usages->failed = true;
            return;
        }
        if (strcmp(end, "]") == 0) {
            note_index(compiler, usages, name, index);
        }
    }
    if (!try_parse(compiler, text, &tree)) {
        usages->failed = true;
        return;
    }
    find_in_tree(compiler, usages, tree);
}

static void find_in_node(struct compiler *compiler, struct usages *usages, const struct mdf_node *node);

/* A body that is given by the id of a graph. */
static void find_in_body(struct compiler *compiler, struct usages *usages, const char *id)
{
    const struct mdf_graph *graph = usages->has_bodies ? mdf_model_find_graph(compiler->model, id) : NULL;

    for (size_t i = 0; graph != NULL && i < usages->bodies.n; i++) {
        if (((const struct mdf_graph **)usages->bodies.items)[i] == graph) {
            return;
        }
    }
    if (graph != NULL && list_add(compiler, &usages->bodies, &graph, sizeof graph)) {
        find_in_node(compiler, usages, graph->source);
    }
}

static void find_in_node(struct compiler *compiler, struct usages *usages, const struct mdf_node *node)
{
    struct list pieces = {0};

    if (node == NULL) {
        return;
    }
    if (node->kind == MDF_NODE_OBJECT) {
        for (size_t i = 0; i < node->as.object.n; i++) {
            find_in_node(compiler, usages, &node->as.object.entries[i].value);
        }
        return;
    }
    if (node->kind != MDF_NODE_STRING && node->kind != MDF_NODE_LIST) {
        return;
    }
    if (!split_variadic(compiler, node, &pieces)) {
        usages->failed = true;
        return;
    }
    for (size_t i = 0; i < pieces.n; i++) {
        const struct mdf_node *piece = ((const struct mdf_node **)pieces.items)[i];

        if (piece->kind == MDF_NODE_STRING) {
            note_whole(compiler, usages, piece->as.string.bytes);
            find_in_text(compiler, usages, piece->as.string.bytes);
            find_in_body(compiler, usages, piece->as.string.bytes);
        }
    }
}

static void find_in_parameter(struct compiler *compiler, struct usages *usages, const struct mdf_parameter *parameter)
{
    find_in_node(compiler, usages, parameter->definition.args);
    find_in_node(compiler, usages, parameter->definition.value);
    find_in_node(compiler, usages, parameter->time_derivative);
    find_in_node(compiler, usages, parameter->default_initial_value);
    for (size_t i = 0; i < parameter->n_conditions; i++) {
        find_in_node(compiler, usages, parameter->conditions[i].test);
        find_in_node(compiler, usages, parameter->conditions[i].value);
    }
}

/* An output port that holds a bare id uses that function, and refers to nothing else; an id that is no name of an expression may
 * be one that has others in it. */
static void find_in_output(struct compiler *compiler, struct usages *usages, const struct mdf_node *value)
{
    struct usage *usage;

    if (value == NULL || value->kind != MDF_NODE_STRING) {
        find_in_node(compiler, usages, value);
        return;
    }
    usage = usage_of(compiler, usages, value->as.string.bytes);
    if (usage != NULL) {
        struct usage before = *usage;

        before.n_ports++;
        find_in_node(compiler, usages, value);
        usage = usage_of(compiler, usages, value->as.string.bytes);
        if (usage != NULL) {
            *usage = before;
        }
    }
}

/* Whether the function has attributes that are graphs. */
static bool takes_bodies(const struct compiler *compiler, const struct mdf_definition *definition)
{
    const struct mdf_schema *schema = definition->function != NULL ? find_called_schema(compiler, definition) : NULL;

    for (size_t i = 0; schema != NULL && i < schema->n_attributes; i++) {
        if (schema->attributes[i].type == MDF_ATTRIBUTE_GRAPH) {
            return true;
        }
    }
    return false;
}

/* What a node refers to, kept until another node is asked about; NULL with the error set. */
static struct usages *find_usages(struct compiler *compiler, const struct mdf_graph_node *node)
{
    struct usages *usages = compiler->usages;

    if (usages != NULL && usages->node == node) {
        return usages;
    }
    compiler->usages = NULL;
    usages = mdf_arena_allocate(&compiler->scratch, sizeof *usages);
    if (usages == NULL) {
        compile_out_of_memory(compiler);
        return NULL;
    }
    usages->node = node;
    for (size_t i = 0; i < node->n_functions && !usages->has_bodies; i++) {
        usages->has_bodies = takes_bodies(compiler, &node->functions[i]);
    }
    for (size_t i = 0; i < node->n_parameters && !usages->has_bodies; i++) {
        usages->has_bodies = takes_bodies(compiler, &node->parameters[i].definition);
    }
    for (size_t i = 0; i < node->n_output_ports; i++) {
        find_in_output(compiler, usages, node->output_ports[i].value);
    }
    for (size_t i = 0; i < node->n_functions; i++) {
        find_in_node(compiler, usages, node->functions[i].args);
        find_in_node(compiler, usages, node->functions[i].value);
    }
    for (size_t i = 0; i < node->n_parameters; i++) {
        find_in_parameter(compiler, usages, &node->parameters[i]);
    }
    compiler->usages = usages->failed ? NULL : usages;
    return compiler->usages;
}

bool find_usage(struct compiler *compiler, const struct mdf_graph_node *node, const char *id, struct usage *usage)
{
    const struct usages *usages = find_usages(compiler, node);
    const size_t *number = usages != NULL ? name_table_find(&usages->names, id) : NULL;

    *usage = (struct usage){.max_index = -1};
    if (number != NULL) {
        *usage = ((const struct usage *)usages->items.items)[*number - 1];
    }
    return usages != NULL;
}
