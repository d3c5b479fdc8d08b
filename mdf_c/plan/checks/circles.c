/* circles.c - nodes that wait for each other in a circle, taken as one: they are considered together, once all that any of them
 * waits for outside of the circle has been. Tarjan, Depth-first search and linear graph algorithms (1972), without recursion. */
#include "mdf_c/plan/compiler.h"

struct search {
    struct graph_builder *builder;
    size_t *number; /* of each node, in the order in which they are found, from 1; 0: not yet */
    size_t *low;    /* the least number that it leads to among those that are open */
    size_t *next;   /* the sender that is looked at next */
    bool *is_open;  /* its circle is not known yet */
    size_t *path;   /* from the first to the node that is looked at */
    size_t *open;   /* nodes that are open */
    size_t n_found, n_path, n_open;
};

/* The nodes open[first..] are a circle: each waits for what one of them waits for outside. */
static bool join(struct search *search, size_t first)
{
    struct graph_builder *builder = search->builder;
    struct list outside = {0};

    if (search->n_open - first < 2) {
        return true;
    }
    for (size_t i = first; i < search->n_open; i++) {
        const struct list *senders = &builder->nodes[search->open[i]].senders;

        for (size_t j = 0; j < senders->n; j++) {
            const size_t *sender = (const size_t *)senders->items + j;

            /* those of circles that are known already have been closed */
            if (!search->is_open[*sender] && !list_add(builder->compiler, &outside, sender, sizeof *sender)) {
                return false;
            }
        }
    }
    for (size_t i = first; i < search->n_open; i++) {
        struct list *senders = &builder->nodes[search->open[i]].senders;

        *senders = (struct list){0};
        for (size_t j = 0; j < outside.n; j++) {
            if (!list_add(builder->compiler, senders, (const size_t *)outside.items + j, sizeof(size_t))) {
                return false;
            }
        }
    }
    return true;
}

static void open_node(struct search *search, size_t node)
{
    search->number[node] = search->low[node] = ++search->n_found;
    search->is_open[node] = true;
    search->path[search->n_path++] = node;
    search->open[search->n_open++] = node;
}

/* Goes on from the last node of the path: to a sender that is not found yet, or back. */
static bool step(struct search *search)
{
    size_t node = search->path[search->n_path - 1], first;
    const struct list *senders = &search->builder->nodes[node].senders;

    while (search->next[node] < senders->n) {
        size_t sender = ((const size_t *)senders->items)[search->next[node]++];

        if (search->number[sender] == 0) {
            open_node(search, sender);
            return true;
        }
        if (search->is_open[sender] && search->number[sender] < search->low[node]) {
            search->low[node] = search->number[sender];
        }
    }
    search->n_path--;
    if (search->n_path > 0 && search->low[node] < search->low[search->path[search->n_path - 1]]) {
        search->low[search->path[search->n_path - 1]] = search->low[node];
    }
    if (search->low[node] < search->number[node]) {
        return true;
    }
    for (first = search->n_open - 1; search->open[first] != node; first--) {
    }
    if (!join(search, first)) {
        return false;
    }
    while (search->n_open > first) {
        search->is_open[search->open[--search->n_open]] = false;
    }
    return true;
}

bool graph_join_circles(struct graph_builder *builder)
{
    struct mdf_arena *scratch = &builder->compiler->scratch;
    size_t n = builder->graph->n_nodes;
    struct search search = {.builder = builder,
                            .number = mdf_arena_array(scratch, n, sizeof *search.number),
                            .low = mdf_arena_array(scratch, n, sizeof *search.low),
                            .next = mdf_arena_array(scratch, n, sizeof *search.next),
                            .is_open = mdf_arena_array(scratch, n, sizeof *search.is_open),
                            .path = mdf_arena_array(scratch, n, sizeof *search.path),
                            .open = mdf_arena_array(scratch, n, sizeof *search.open)};

    if (search.number == NULL || search.low == NULL || search.next == NULL || search.is_open == NULL || search.path == NULL ||
        search.open == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (search.number[i] == 0) {
            open_node(&search, i);
        }
        while (search.n_path > 0) {
            if (!step(&search)) {
                return false;
            }
        }
    }
    return true;
}
