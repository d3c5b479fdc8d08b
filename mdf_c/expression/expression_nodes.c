/* expression_nodes.c - see expression_nodes.h. */
#include "mdf_c/expression/expression_nodes.h"

#include <string.h>

/* A node as it is allocated. */
struct measured {
    struct mdf_expression expression;
    size_t height; /* nodes on the longest path from it down to a leaf, itself left out */
};

struct mdf_expression *mdf_expression_make(struct mdf_scanner *scanner, enum mdf_expression_kind kind, size_t offset)
{
    struct measured *node = NULL;

    if (!scanner->failed) {
        node = mdf_arena_allocate(scanner->arena, sizeof *node);
        if (node == NULL) {
            mdf_scanner_out_of_memory(scanner);
        }
    }
    if (node == NULL) {
        return NULL;
    }
    node->expression.kind = kind;
    node->expression.offset = offset;
    return &node->expression;
}

struct mdf_expression *mdf_expression_take_number(struct mdf_scanner *scanner)
{
    const struct mdf_token *token = &scanner->token;
    bool real = token->kind == MDF_TOKEN_REAL;
    struct mdf_expression *node = mdf_expression_make(scanner, real ? MDF_EXPRESSION_REAL : MDF_EXPRESSION_INT, token->offset);

    if (node == NULL) {
        return NULL;
    }
    if (real) {
        node->as.real = token->as.real;
    } else {
        node->as.integer = token->as.integer;
    }
    mdf_scanner_advance(scanner);
    return node;
}

struct mdf_expression *mdf_expression_make_unary(struct mdf_scanner *scanner, size_t offset, const char *name,
                                                 struct mdf_expression *operand)
{
    struct mdf_expression *node = mdf_expression_make(scanner, MDF_EXPRESSION_UNARY, offset);

    if (!mdf_expression_add(scanner, node, operand)) {
        return NULL;
    }
    node->name = name;
    return node;
}

struct mdf_expression *mdf_expression_make_pair(struct mdf_scanner *scanner, enum mdf_expression_kind kind, size_t offset,
                                                const char *name, struct mdf_expression *first, struct mdf_expression *second)
{
    struct mdf_expression *node = mdf_expression_make(scanner, kind, offset);

    if (!mdf_expression_add(scanner, node, first) || !mdf_expression_add(scanner, node, second)) {
        return NULL;
    }
    node->name = name;
    return node;
}

/* The room doubles whenever it is full, which is when `n` is a power of two (or 0): no capacity needs to be kept. */
void *mdf_expression_grow(struct mdf_scanner *scanner, const void *items, size_t n, size_t item_size)
{
    void *grown;

    if ((n & (n - 1)) != 0) {
        return (void *)(uintptr_t)items; /* the tree is not handed out yet: its arrays may still be written */
    }
    grown = mdf_arena_array(scanner->arena, n == 0 ? 1 : 2 * n, item_size);
    if (grown == NULL) {
        mdf_scanner_out_of_memory(scanner);
    } else if (n > 0) {
        memcpy(grown, items, n * item_size);
    }
    return grown;
}

static bool raise_height(struct mdf_scanner *scanner, struct mdf_expression *node, size_t height)
{
    struct measured *measured = (struct measured *)node;

    if (height > MDF_EXPRESSION_MAX_CHAIN) {
        mdf_scanner_fail(scanner, node->offset, "more than %d operations follow each other", MDF_EXPRESSION_MAX_CHAIN);
        return false;
    }
    measured->height = height > measured->height ? height : measured->height;
    return true;
}

bool mdf_expression_cover(struct mdf_scanner *scanner, struct mdf_expression *node, const struct mdf_expression *item)
{
    return raise_height(scanner, node, ((const struct measured *)item)->height + 1);
}

bool mdf_expression_deepen(struct mdf_scanner *scanner, struct mdf_expression *node, size_t n)
{
    return raise_height(scanner, node, ((const struct measured *)node)->height + n);
}

bool mdf_expression_add(struct mdf_scanner *scanner, struct mdf_expression *node, struct mdf_expression *item)
{
    struct mdf_expression **items;

    if (node == NULL || item == NULL) {
        return false;
    }
    items = mdf_expression_grow(scanner, node->as.list.items, node->as.list.n, sizeof *items);
    if (items == NULL) {
        return false;
    }
    items[node->as.list.n++] = item;
    node->as.list.items = items;
    return mdf_expression_cover(scanner, node, item);
}

bool mdf_expression_add_name(struct mdf_scanner *scanner, struct mdf_expression *node, size_t n, const char *name)
{
    const char **names = mdf_expression_grow(scanner, node->names, n, sizeof *names);

    if (names == NULL) {
        return false;
    }
    names[n] = name;
    node->names = names;
    return true;
}

size_t mdf_expression_n_items(const struct mdf_expression *tree)
{
    if (tree == NULL) {
        return 0;
    }
    switch (tree->kind) {
    case MDF_EXPRESSION_INT:
    case MDF_EXPRESSION_REAL:
    case MDF_EXPRESSION_STRING:
    case MDF_EXPRESSION_TRUE:
    case MDF_EXPRESSION_FALSE:
    case MDF_EXPRESSION_NONE:
    case MDF_EXPRESSION_ELLIPSIS:
    case MDF_EXPRESSION_NAME:
        return 0;
    case MDF_EXPRESSION_LIST:
    case MDF_EXPRESSION_TUPLE:
    case MDF_EXPRESSION_DICT:
    case MDF_EXPRESSION_UNARY:
    case MDF_EXPRESSION_BINARY:
    case MDF_EXPRESSION_COMPARE:
    case MDF_EXPRESSION_AND:
    case MDF_EXPRESSION_OR:
    case MDF_EXPRESSION_CONDITIONAL:
    case MDF_EXPRESSION_CALL:
    case MDF_EXPRESSION_ATTRIBUTE:
    case MDF_EXPRESSION_SUBSCRIPT:
    case MDF_EXPRESSION_SLICE:
    case MDF_EXPRESSION_COMPREHENSION:
        return tree->as.list.n;
    }
    return 0;
}

const char *mdf_expression_dotted(struct mdf_arena *arena, const struct mdf_expression *tree)
{
    const char *prefix;

    if (tree->kind == MDF_EXPRESSION_NAME) {
        return tree->as.text.bytes;
    }
    prefix = tree->kind == MDF_EXPRESSION_ATTRIBUTE ? mdf_expression_dotted(arena, tree->as.list.items[0]) : NULL;
    return prefix != NULL ? mdf_arena_printf(arena, "%s.%s", prefix, tree->name) : NULL;
}
