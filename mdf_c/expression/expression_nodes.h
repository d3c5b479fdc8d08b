/* expression_nodes.h - making the nodes of a tree.
 *
 * Nodes live in the scanner's arena. What fails sets the scanner's error and gives NULL or false; so does a node or item that is
 * NULL because it failed before. No path from a node down to a leaf gets longer than MDF_EXPRESSION_MAX_CHAIN. */
#ifndef MDF_EXPRESSION_EXPRESSION_NODES_H
#define MDF_EXPRESSION_EXPRESSION_NODES_H

#include "mdf_c/expression/expression.h"
#include "mdf_c/expression/scanner.h"

struct mdf_expression *mdf_expression_make(struct mdf_scanner *scanner, enum mdf_expression_kind kind, size_t offset);
/* The number that is the current token, which is then passed. */
struct mdf_expression *mdf_expression_take_number(struct mdf_scanner *scanner);
/* A node of one or two items. `name`, the operator's, may be NULL. */
struct mdf_expression *mdf_expression_make_unary(struct mdf_scanner *scanner, size_t offset, const char *name,
                                                 struct mdf_expression *operand);
struct mdf_expression *mdf_expression_make_pair(struct mdf_scanner *scanner, enum mdf_expression_kind kind, size_t offset,
                                                const char *name, struct mdf_expression *first, struct mdf_expression *second);

/* Puts an item behind the items of `node`. */
bool mdf_expression_add(struct mdf_scanner *scanner, struct mdf_expression *node, struct mdf_expression *item);
/* Puts a name (an operator, a keyword) behind the `n` names of `node`. */
bool mdf_expression_add_name(struct mdf_scanner *scanner, struct mdf_expression *node, size_t n, const char *name);
/* Counts an item that was put below `node` by other means than mdf_expression_add. */
bool mdf_expression_cover(struct mdf_scanner *scanner, struct mdf_expression *node, const struct mdf_expression *item);
/* Counts `n` more nodes on each path down from `node`. */
bool mdf_expression_deepen(struct mdf_scanner *scanner, struct mdf_expression *node, size_t n);

/* Room for one more than `n` items: `items` itself or a copy of it. All of its room must come from here. */
void *mdf_expression_grow(struct mdf_scanner *scanner, const void *items, size_t n, size_t item_size);

#endif
