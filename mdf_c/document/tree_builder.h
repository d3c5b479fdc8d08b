/* tree_builder.h - what the readers of all formats share: a tree grows from a stream of openings, keys, scalars, closings.
 *
 * Here live the rules that hold for every format: how deep values may nest, that of duplicate keys the last wins with a
 * warning, and that numbers are packed. A list of numbers of one type, or a rectangular nest of such lists, becomes one
 * MDF_NODE_NUMBERS node; its elements lie on a stack of eight bytes each while the nest is open, and are copied to the
 * document's arena once, when it turns out how far the nest reaches. */
#ifndef MDF_DOCUMENT_TREE_BUILDER_H
#define MDF_DOCUMENT_TREE_BUILDER_H

#include "mdf_c/base/utf8.h"
#include "mdf_c/document/document.h"

/* A finished value that awaits the end of the list or object around it. */
struct mdf_tree_item {
    const char *key;       /* in an object */
    uint32_t line, column; /* of the key */
    uint32_t place;        /* of its entry in the object */
    bool merged;           /* brought in by a YAML merge key: an own key overrides it without a warning */
    struct mdf_node value;
};

/* One number of a list of numbers that is still open; its position is needed should the list turn out to be mixed. */
struct mdf_tree_scalar {
    uint64_t bits; /* of the int64, float64, or 0 or 1 */
    uint32_t line, column;
};

/* A list or object that is open. */
struct mdf_tree_frame {
    uint8_t kind;          /* MDF_NODE_LIST or MDF_NODE_OBJECT */
    bool packed;           /* a list, all items of which are so far numbers of one type and one shape */
    uint8_t dtype;         /* packed: their type */
    uint32_t line, column; /* of the opening */
    const char *key;       /* object: the key whose value comes next; NULL: a key comes next */
    uint32_t key_line, key_column;
    size_t n_items;
    size_t first_item, first_element; /* on the stacks */
    size_t rank;                      /* packed: of each item, 0 for numbers */
    const int64_t *shape;
};

struct mdf_tree {
    struct mdf_document *document;
    struct mdf_store *mapping; /* in which the bytes that are read lie; NULL: they are gone when the document is there */
    const struct mdf_warnings *warnings;
    mdf_error *error;
    size_t depth;
    struct mdf_tree_frame frames[MDF_DOCUMENT_MAX_DEPTH];
    struct mdf_tree_item *items;
    size_t n_items, items_capacity;
    struct mdf_tree_scalar *scalars; /* of the innermost list alone */
    size_t n_scalars, scalars_capacity;
    uint64_t *elements;
    size_t n_elements, elements_capacity;
    struct mdf_tree_item **sorted;
    size_t sorted_capacity;
};

void mdf_tree_init(struct mdf_tree *tree, struct mdf_document *document, const struct mdf_warnings *warnings, mdf_error *error);
void mdf_tree_release(struct mdf_tree *tree);

/* All functions below return false on error, which is then set. */

/* Sets the error with a position; always false. */
bool mdf_tree_fail(struct mdf_tree *tree, mdf_status status, uint32_t line, uint32_t column, const char *format, ...)
    MDF_PRINTF_LIKE(5, 6);
bool mdf_tree_out_of_memory(struct mdf_tree *tree);

/* The innermost open list or object; NULL: none is open. */
static inline struct mdf_tree_frame *mdf_tree_top(struct mdf_tree *tree)
{
    return tree->depth > 0 ? &tree->frames[tree->depth - 1] : NULL;
}

/* Opens a list or an object. */
bool mdf_tree_open(struct mdf_tree *tree, enum mdf_node_kind kind, uint32_t line, uint32_t column);
/* Gives the key of the value that comes next; `key` lies in the document's arena. */
void mdf_tree_key(struct mdf_tree *tree, const char *key, uint32_t line, uint32_t column);
/* Closes the innermost list or object, whose node goes to `node`; the caller then adds it. Packed numbers have no elements
 * yet (they lie on top of the stack) unless `finish`. */
bool mdf_tree_close(struct mdf_tree *tree, struct mdf_node *node, bool finish);
/* Adds a value to what is open, or makes it the root. */
bool mdf_tree_add(struct mdf_tree *tree, const struct mdf_node *node);
/* Adds an int64, float64 or bool by its bits: the same as mdf_tree_add, without a node for numbers that are packed. */
bool mdf_tree_add_number(struct mdf_tree *tree, mdf_dtype dtype, uint64_t bits, uint32_t line, uint32_t column);
/* Appends to the values of the innermost object. */
bool mdf_tree_push(struct mdf_tree *tree, const struct mdf_tree_item *item);

/* "models.Net.nodes": the keys and item numbers that lead to the place where the next value goes, into `text`. */
void mdf_tree_path(const struct mdf_tree *tree, char *text, size_t size);

/* A position as the caller's mdf_error holds it. */
int mdf_position(uint32_t line_or_column);

/* How many of at most `most` bytes of a text a message shows, so that no character is cut: for "%.*s". */
int mdf_clip(const char *text, size_t most);

#endif
