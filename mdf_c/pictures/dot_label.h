/* dot_label.h - what the files that write DOT share: labels, which are tables in Graphviz's HTML-like language, as upstream draws
 * them.
 *
 * Nothing here fails: a text that ran out of memory says so at the end (struct mdf_text). */
#ifndef MDF_PICTURES_DOT_LABEL_H
#define MDF_PICTURES_DOT_LABEL_H

#include "mdf_c/pictures/write_dot.h"

/* Upstream's colours. */
#define MDF_DOT_COLOR_MAIN "#444444"
#define MDF_DOT_COLOR_PARAMETER "#1666ff"
#define MDF_DOT_COLOR_INPUT "#188855"
#define MDF_DOT_COLOR_FUNCTION "#441199"
#define MDF_DOT_COLOR_OUTPUT "#cc3355"
#define MDF_DOT_COLOR_CONDITION "#ffa10d" /* what Graphviz makes of upstream's five digits */

/* A label under construction. */
struct mdf_dot_label {
    struct mdf_text *dot;
    struct mdf_text words;             /* a value as plain text, before it is escaped */
    const struct mdf_graph_node *node; /* whose names have colours; NULL: none have */
    enum mdf_detail detail;
    int opset;
    size_t start; /* where in `dot` it begins */
};

/* --- dot_text.c */
/* Bytes as text of an HTML-like label. Those that are not UTF-8 and control characters become U+FFFD, line breaks blanks. */
void mdf_dot_escape(struct mdf_text *dot, const char *bytes, size_t length);
/* A name, cut where it is overlong, in a color (NULL: that of its surroundings). */
void mdf_dot_name(struct mdf_dot_label *label, const char *color, const char *name);
/* A value or expression, cut where it is long; names of the node have their colors. */
void mdf_dot_value(struct mdf_dot_label *label, const struct mdf_node *value);
/* Whether a value is an expression in which that name stands. */
bool mdf_dot_mentions(const struct mdf_node *value, const char *name);
/* "(2, 3)" */
void mdf_dot_shape(struct mdf_text *dot, size_t rank, const int64_t *shape);

/* --- dot_condition.c */
/* A scheduling condition as a phrase: "every 2 calls of A". */
void mdf_dot_condition(struct mdf_dot_label *label, const struct mdf_node *condition);

/* --- dot_node.c */
/* The table that stands in a node. `condition` is the node's own; NULL: none. */
void mdf_dot_node_table(struct mdf_dot_label *label, const struct mdf_graph_node *node, const struct mdf_node *condition);
/* The tables of what belongs to the graph as a whole. */
void mdf_dot_termination_table(struct mdf_dot_label *label, const struct mdf_node *terminations);
void mdf_dot_parameters_table(struct mdf_dot_label *label, const struct mdf_graph *graph);
/* The name and the value of each parameter of an edge, a line each. */
void mdf_dot_edge_lines(struct mdf_dot_label *label, const struct mdf_edge *edge);

#endif
