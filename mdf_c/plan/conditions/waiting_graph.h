/* waiting_graph.h - who waits for whom, as graph structure conditions change it: the senders of each node. */
#ifndef MDF_PLAN_CONDITIONS_WAITING_GRAPH_H
#define MDF_PLAN_CONDITIONS_WAITING_GRAPH_H

#include "mdf_c/plan/compiler.h"

/* A set of nodes: ascending, each once. */
struct node_set {
    size_t *items;
    size_t n, capacity;
};

struct waiting_graph {
    struct compiler *compiler; /* memory lies in its scratch */
    size_t n_nodes;
    struct node_set *senders; /* of each node */
    size_t *waiting;          /* room for a search */
};

bool set_contains(const struct node_set *set, size_t node);
bool set_add(struct compiler *compiler, struct node_set *set, size_t node);
/* Whether it was there. */
bool set_remove(struct node_set *set, size_t node);
bool set_copy(struct compiler *compiler, struct node_set *target, const struct node_set *source);
bool sets_equal(const struct node_set *a, const struct node_set *b);

bool waiting_graph_new(struct waiting_graph *graph, struct compiler *compiler, size_t n_nodes);
bool waiting_graph_copy(struct waiting_graph *target, const struct waiting_graph *source);
/* The nodes that wait for `node`. */
bool waiting_graph_receivers(const struct waiting_graph *graph, size_t node, struct node_set *receivers);
/* Marks the nodes from which `node` can be reached along edges (itself only where it lies on a circle): its ancestors. `marks`
 * has an entry a node. */
void waiting_graph_ancestors(const struct waiting_graph *graph, size_t node, bool *marks);

/* A circle of nodes, each a sender of the next, the last of the first. */
struct circle {
    size_t *nodes;
    size_t n;
};
/* All simple circles. False with the error set, also where there are too many to go through. */
bool waiting_graph_circles(const struct waiting_graph *graph, struct list *circles);

#endif
