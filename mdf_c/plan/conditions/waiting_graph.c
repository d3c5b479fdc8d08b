/* waiting_graph.c - see waiting_graph.h. */
#include "mdf_c/plan/conditions/waiting_graph.h"

#include <string.h>

/* Steps of the search for circles, whose number may grow exponentially with the graph. */
enum { MOST_STEPS = 2000000 };

/* ------------------------------------------------------------------ sets */

static size_t find_place(const struct node_set *set, size_t node)
{
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (set->items[middle] < node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool set_contains(const struct node_set *set, size_t node)
{
    size_t place = find_place(set, node);

    return place < set->n && set->items[place] == node;
}

static bool set_reserve(struct compiler *compiler, struct node_set *set, size_t n)
{
    size_t *grown;

    if (n <= set->capacity) {
        return true;
    }
    n = n < 4 ? 8 : n * 2;
    grown = mdf_arena_array(&compiler->scratch, n, sizeof *grown);
    if (grown == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (set->n > 0) {
        memcpy(grown, set->items, set->n * sizeof *grown);
    }
    set->items = grown;
    set->capacity = n;
    return true;
}

bool set_add(struct compiler *compiler, struct node_set *set, size_t node)
{
    size_t place = find_place(set, node);

    if (place < set->n && set->items[place] == node) {
        return true;
    }
    if (!set_reserve(compiler, set, set->n + 1)) {
        return false;
    }
    memmove(&set->items[place + 1], &set->items[place], (set->n - place) * sizeof *set->items);
    set->items[place] = node;
    set->n++;
    return true;
}

bool set_remove(struct node_set *set, size_t node)
{
    size_t place = find_place(set, node);

    if (place == set->n || set->items[place] != node) {
        return false;
    }
    set->n--;
    memmove(&set->items[place], &set->items[place + 1], (set->n - place) * sizeof *set->items);
    return true;
}

bool set_copy(struct compiler *compiler, struct node_set *target, const struct node_set *source)
{
    if (!set_reserve(compiler, target, source->n)) {
        return false;
    }
    if (source->n > 0) {
        memcpy(target->items, source->items, source->n * sizeof *target->items);
    }
    target->n = source->n;
    return true;
}

bool sets_equal(const struct node_set *a, const struct node_set *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->items, b->items, a->n * sizeof *a->items) == 0);
}

/* ------------------------------------------------------------------ graphs */

bool waiting_graph_new(struct waiting_graph *graph, struct compiler *compiler, size_t n_nodes)
{
    graph->compiler = compiler;
    graph->n_nodes = n_nodes;
    graph->senders = mdf_arena_array(&compiler->scratch, n_nodes, sizeof *graph->senders);
    graph->waiting = mdf_arena_array(&compiler->scratch, n_nodes + 1, sizeof *graph->waiting);
    if (graph->senders == NULL || graph->waiting == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    return true;
}

bool waiting_graph_copy(struct waiting_graph *target, const struct waiting_graph *source)
{
    if (target->senders == NULL && !waiting_graph_new(target, source->compiler, source->n_nodes)) {
        return false;
    }
    for (size_t i = 0; i < source->n_nodes; i++) {
        if (!set_copy(source->compiler, &target->senders[i], &source->senders[i])) {
            return false;
        }
    }
    return true;
}

bool waiting_graph_receivers(const struct waiting_graph *graph, size_t node, struct node_set *receivers)
{
    receivers->n = 0;
    for (size_t i = 0; i < graph->n_nodes; i++) {
        if (set_contains(&graph->senders[i], node) && !set_add(graph->compiler, receivers, i)) {
            return false;
        }
    }
    return true;
}

void waiting_graph_ancestors(const struct waiting_graph *graph, size_t node, bool *marks)
{
    size_t *waiting = graph->waiting, n = 1;

    memset(marks, 0, graph->n_nodes * sizeof *marks);
    waiting[0] = node;
    while (n > 0) {
        const struct node_set *senders = &graph->senders[waiting[--n]];

        for (size_t i = 0; i < senders->n; i++) {
            if (!marks[senders->items[i]]) {
                marks[senders->items[i]] = true;
                waiting[n++] = senders->items[i];
            }
        }
    }
}

/* ------------------------------------------------------------------ circles */

/* A walk against the edges from the lowest node of a circle, back to it. */
struct walk {
    const struct waiting_graph *graph;
    size_t start;
    size_t *path;   /* path[0] is the start; each is a receiver of the next */
    size_t *branch; /* for each node of the path, which sender comes next */
    bool *on_path;
    bool *useful; /* nodes that the start sends to, at last: only they can close a circle */
    size_t n, n_steps;
    struct list *circles;
};

static bool note_circle(struct walk *walk)
{
    struct compiler *compiler = walk->graph->compiler;
    struct circle circle = {mdf_arena_array(&compiler->scratch, walk->n, sizeof *circle.nodes), walk->n};

    if (circle.nodes == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    for (size_t i = 0; i < walk->n; i++) {
        circle.nodes[i] = walk->path[walk->n - 1 - i];
    }
    return list_add(compiler, walk->circles, &circle, sizeof circle);
}

static void enter_node(struct walk *walk, size_t node)
{
    walk->path[walk->n] = node;
    walk->branch[walk->n++] = 0;
    walk->on_path[node] = true;
}

static bool walk_from(struct walk *walk)
{
    enter_node(walk, walk->start);
    while (walk->n > 0) {
        size_t node = walk->path[walk->n - 1];
        const struct node_set *senders = &walk->graph->senders[node];
        size_t sender;

        if (walk->branch[walk->n - 1] == senders->n) {
            walk->on_path[node] = false;
            walk->n--;
            continue;
        }
        if (++walk->n_steps > MOST_STEPS) {
            compile_error(
                walk->graph->compiler, MDF_LIMIT,
                "the condition closes more circles in the graph than can be gone through; use AddEdgeTo and RemoveEdgeFrom");
            return false;
        }
        sender = senders->items[walk->branch[walk->n - 1]++];
        if (sender == walk->start) {
            if (!note_circle(walk)) {
                return false;
            }
        } else if (sender > walk->start && walk->useful[sender] && !walk->on_path[sender]) {
            enter_node(walk, sender);
        }
    }
    return true;
}

/* The same edges in the other direction. */
static bool reverse(const struct waiting_graph *graph, struct waiting_graph *reversed)
{
    if (!waiting_graph_new(reversed, graph->compiler, graph->n_nodes)) {
        return false;
    }
    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t j = 0; j < graph->senders[i].n; j++) {
            if (!set_add(graph->compiler, &reversed->senders[graph->senders[i].items[j]], i)) {
                return false;
            }
        }
    }
    return true;
}

/* Marks the nodes that are left when those without senders are taken away again and again: none where there is no circle. */
static bool mark_behind_circles(const struct waiting_graph *graph, const struct waiting_graph *reversed, bool *marks)
{
    struct mdf_arena *scratch = &graph->compiler->scratch;
    size_t *n_senders = mdf_arena_array(scratch, graph->n_nodes, sizeof *n_senders);
    size_t *free_nodes = mdf_arena_array(scratch, graph->n_nodes, sizeof *free_nodes), n = 0, i;

    if (n_senders == NULL || free_nodes == NULL) {
        compile_out_of_memory(graph->compiler);
        return false;
    }
    for (i = 0; i < graph->n_nodes; i++) {
        n_senders[i] = graph->senders[i].n;
        marks[i] = n_senders[i] > 0;
        if (n_senders[i] == 0) {
            free_nodes[n++] = i;
        }
    }
    while (n > 0) {
        const struct node_set *receivers = &reversed->senders[free_nodes[--n]];

        for (i = 0; i < receivers->n; i++) {
            if (--n_senders[receivers->items[i]] == 0) {
                marks[receivers->items[i]] = false;
                free_nodes[n++] = receivers->items[i];
            }
        }
    }
    return true;
}

static bool begin_walk(struct walk *walk)
{
    struct mdf_arena *scratch = &walk->graph->compiler->scratch;
    size_t n = walk->graph->n_nodes;

    walk->path = mdf_arena_array(scratch, n, sizeof *walk->path);
    walk->branch = mdf_arena_array(scratch, n, sizeof *walk->branch);
    walk->on_path = mdf_arena_array(scratch, n, sizeof *walk->on_path);
    walk->useful = mdf_arena_array(scratch, n, sizeof *walk->useful);
    if (walk->path == NULL || walk->branch == NULL || walk->on_path == NULL || walk->useful == NULL) {
        compile_out_of_memory(walk->graph->compiler);
        return false;
    }
    return true;
}

bool waiting_graph_circles(const struct waiting_graph *graph, struct list *circles)
{
    bool *behind = mdf_arena_array(&graph->compiler->scratch, graph->n_nodes, sizeof *behind);
    bool *before = mdf_arena_array(&graph->compiler->scratch, graph->n_nodes, sizeof *before);
    struct walk walk = {.graph = graph, .circles = circles};
    struct waiting_graph reversed = {0};

    circles->n = 0;
    if (behind == NULL || before == NULL) {
        compile_out_of_memory(graph->compiler);
        return false;
    }
    if (!reverse(graph, &reversed) || !mark_behind_circles(graph, &reversed, behind) ||
        !mark_behind_circles(&reversed, graph, before)) {
        return false;
    }
    if (memchr(behind, 1, graph->n_nodes * sizeof *behind) == NULL) {
        return true;
    }
    if (!begin_walk(&walk)) {
        return false;
    }
    for (walk.start = 0; walk.start < graph->n_nodes; walk.start++) {
        if (!behind[walk.start] || !before[walk.start]) {
            continue;
        }
        waiting_graph_ancestors(&reversed, walk.start, walk.useful);
        if (walk.useful[walk.start] && !walk_from(&walk)) {
            return false;
        }
    }
    return true;
}
