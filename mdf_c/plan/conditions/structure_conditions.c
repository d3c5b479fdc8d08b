/* structure_conditions.c - BeforeNode(s), WithNode, AfterNode(s), AddEdgeTo, RemoveEdgeFrom: they change who waits for whom, in
 * the order of the file, before anything runs. Values still flow along the edges of the model. See docs/scheduling.md. */
#include "mdf_c/plan/conditions/conditions.h"
#include "mdf_c/plan/conditions/waiting_graph.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* How a set of neighbours and another one make a new one. */
enum operation {
    OPERATION_KEEP,
    OPERATION_REPLACE,
    OPERATION_DISCARD,
    OPERATION_INTERSECTION,
    OPERATION_UNION,
    OPERATION_MERGE, /* the same */
    OPERATION_DIFFERENCE,
    OPERATION_INVERSE_DIFFERENCE,
    OPERATION_SYMMETRIC_DIFFERENCE,
    OPERATION_COUNT
};

static const char *const operation_names[OPERATION_COUNT] = {
    "KEEP", "REPLACE", "DISCARD", "INTERSECTION", "UNION", "MERGE", "DIFFERENCE", "INVERSE_DIFFERENCE", "SYMMETRIC_DIFFERENCE"};

/* A graph structure condition. */
struct structure {
    enum structure_kind kind;
    const struct mdf_node *source;
    size_t owner;
    const uint32_t *subjects; /* the nodes that it names */
    size_t n_subjects;
    enum operation owner_senders, owner_receivers;
    enum operation *subject_senders, *subject_receivers; /* of each subject */
    bool reconnect, remove_self_edges, prune, ignore_conflicts;
};

/* ------------------------------------------------------------------ arguments */

/* "MERGE", in any case. */
static bool parse_operation(struct condition_builder *builder, const struct condition_call *call, const char *formal,
                            const struct mdf_node *node, enum operation *operation)
{
    struct mdf_nearest nearest;
    char name[32];
    size_t j;

    for (size_t i = 0; node->kind == MDF_NODE_STRING && i < OPERATION_COUNT; i++) {
        const char *text =
            strncmp(node->as.string.bytes, "Operation.", 10) == 0 ? node->as.string.bytes + 10 : node->as.string.bytes;

        for (j = 0; j + 1 < sizeof name && text[j] != '\0'; j++) {
            name[j] = (char)toupper((unsigned char)text[j]);
        }
        name[j] = '\0';
        if (strcmp(name, operation_names[i]) == 0) {
            *operation = (enum operation)i;
            return true;
        }
    }
    mdf_nearest_begin(&nearest, node->kind == MDF_NODE_STRING ? name : "");
    for (size_t i = 0; i < OPERATION_COUNT; i++) {
        mdf_nearest_offer(&nearest, operation_names[i]);
    }
    return condition_fault(builder, call, node, "'%s' must be an operation on sets of nodes: %s", formal,
                           mdf_nearest_result(&nearest) != NULL
                               ? mdf_nearest_result(&nearest)
                               : "KEEP, REPLACE, DISCARD, INTERSECTION, UNION, MERGE, DIFFERENCE, "
                                 "INVERSE_DIFFERENCE or SYMMETRIC_DIFFERENCE");
}

static bool read_operation(struct condition_builder *builder, const struct condition_call *call, const char *formal,
                           enum operation *operation)
{
    const struct mdf_node *node = condition_argument(call, formal);

    return node == NULL || parse_operation(builder, call, formal, node, operation);
}

/* One operation for all subjects, or an object {node: operation}. */
static bool read_subject_operations(struct condition_builder *builder, const struct condition_call *call, const char *formal,
                                    const struct structure *structure, enum operation usual, enum operation **operations)
{
    const struct mdf_node *node = condition_argument(call, formal);

    *operations = mdf_arena_array(&builder->compiler->scratch, structure->n_subjects, sizeof **operations);
    if (*operations == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (size_t i = 0; i < structure->n_subjects; i++) {
        const char *id = builder->graph->graph->nodes[structure->subjects[i]].id;
        const struct mdf_node *own = node != NULL && node->kind == MDF_NODE_OBJECT ? mdf_node_get(node, id) : node;

        (*operations)[i] = usual;
        if (node != NULL && own == NULL) {
            return condition_fault(builder, call, node, "'%s' has no operation for node '%.60s'", formal, id);
        }
        if (own != NULL && !parse_operation(builder, call, formal, own, &(*operations)[i])) {
            return false;
        }
    }
    if (node != NULL && node->kind == MDF_NODE_OBJECT && node->as.object.n > structure->n_subjects) {
        return condition_fault(builder, call, node, "'%s' has an operation for a node that the condition does not name", formal);
    }
    return true;
}

static bool read_subjects(struct condition_builder *builder, const struct condition_call *call, struct structure *structure)
{
    const char *formal = call->row->formals[0].name;
    uint32_t first, n, *subjects;

    if (!condition_nodes(builder, call, formal, &first, &n)) {
        return false;
    }
    if (n == 0 || (n > 1 && strcmp(formal, "node") == 0)) {
        return condition_fault(builder, call, condition_argument(call, formal),
                               n == 0 ? "'%s' must name a node" : "'%s' must name one node", formal);
    }
    subjects = mdf_arena_array(&builder->compiler->scratch, n, sizeof *subjects);
    if (subjects == NULL) {
        compile_out_of_memory(builder->compiler);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        subjects[i] = ((const uint32_t *)builder->node_lists.items)[first + i];
        if (subjects[i] == structure->owner) {
            return condition_fault(builder, call, condition_argument(call, formal), "the node can not be placed beside itself");
        }
    }
    structure->subjects = subjects;
    structure->n_subjects = n;
    return true;
}

static bool read_operations(struct condition_builder *builder, const struct condition_call *call, struct structure *structure)
{
    enum operation subject_senders = OPERATION_KEEP;

    switch (structure->kind) {
    case STRUCTURE_BEFORE:
        structure->owner_senders = OPERATION_MERGE;
        break;
    case STRUCTURE_WITH:
        structure->owner_senders = subject_senders = OPERATION_MERGE;
        break;
    case STRUCTURE_AFTER:
        structure->owner_receivers = subject_senders = OPERATION_MERGE;
        break;
    case STRUCTURE_ADD_EDGE:
    case STRUCTURE_REMOVE_EDGE:
        return true;
    }
    return read_operation(builder, call, "owner_senders", &structure->owner_senders) &&
           read_operation(builder, call, "owner_receivers", &structure->owner_receivers) &&
           read_subject_operations(builder, call, "subject_senders", structure, subject_senders, &structure->subject_senders) &&
           read_subject_operations(builder, call, "subject_receivers", structure, OPERATION_KEEP,
                                   &structure->subject_receivers) &&
           condition_flag(builder, call, "reconnect_non_subject_receivers", &structure->reconnect) &&
           condition_flag(builder, call, "remove_new_self_referential_edges", &structure->remove_self_edges) &&
           condition_flag(builder, call, "prune_cycles", &structure->prune) &&
           condition_flag(builder, call, "ignore_conflicts", &structure->ignore_conflicts);
}

bool build_structure(struct condition_builder *builder, const struct condition_call *call)
{
    struct structure structure = {.kind = (enum structure_kind)call->row->detail,
                                  .source = call->source,
                                  .owner = builder->owner,
                                  .reconnect = true,
                                  .remove_self_edges = true,
                                  .prune = true};

    if (builder->owner == SIZE_MAX) {
        return condition_fault(builder, call, NULL, "it changes the order of nodes; it can not end an evaluation");
    }
    if (builder->depth > 1) {
        return condition_fault(builder, call, NULL,
                               "it changes the order of nodes; it can not be part of another condition. A node may have "
                               "a list of conditions");
    }
    return read_subjects(builder, call, &structure) && read_operations(builder, call, &structure) &&
           list_add(builder->compiler, &builder->structures, &structure, sizeof structure);
}

/* ------------------------------------------------------------------ operations on sets */

static bool operate(struct compiler *compiler, enum operation operation, const struct node_set *source,
                    const struct node_set *comparison, struct node_set *result)
{
    /* Which nodes stay: those of the source alone, of both, of the comparison alone. */
    static const struct {
        bool source, both, comparison;
    } kept[OPERATION_COUNT] = {
        [OPERATION_KEEP] = {true, true, false},
        [OPERATION_REPLACE] = {false, true, true},
        [OPERATION_DISCARD] = {false, false, false},
        [OPERATION_INTERSECTION] = {false, true, false},
        [OPERATION_UNION] = {true, true, true},
        [OPERATION_MERGE] = {true, true, true},
        [OPERATION_DIFFERENCE] = {true, false, false},
        [OPERATION_INVERSE_DIFFERENCE] = {false, false, true},
        [OPERATION_SYMMETRIC_DIFFERENCE] = {true, false, true},
    };

    for (size_t i = 0; i < source->n; i++) {
        bool in_both = set_contains(comparison, source->items[i]);

        if ((in_both ? kept[operation].both : kept[operation].source) && !set_add(compiler, result, source->items[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < comparison->n; i++) {
        if (kept[operation].comparison && !set_contains(source, comparison->items[i]) &&
            !set_add(compiler, result, comparison->items[i])) {
            return false;
        }
    }
    return true;
}

static bool add_all(struct compiler *compiler, struct node_set *target, const struct node_set *source)
{
    for (size_t i = 0; i < source->n; i++) {
        if (!set_add(compiler, target, source->items[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ one condition at work */

/* New neighbours of the owner (number 0) and of the subjects (from 1 on). */
struct neighbours {
    size_t node;
    struct node_set senders, receivers;
};

struct work {
    struct condition_builder *builder;
    struct compiler *compiler;
    const struct structure *structure;
    struct waiting_graph base;  /* before the condition */
    struct waiting_graph graph; /* what becomes of it */
    struct neighbours *neighbours;
    bool *marks, *owner_marks, *circle_marks; /* room for an entry a node */
};

static bool is_subject(const struct structure *structure, size_t node)
{
    for (size_t i = 0; i < structure->n_subjects; i++) {
        if (structure->subjects[i] == node) {
            return true;
        }
    }
    return false;
}

/* The nodes are where the condition wants them already: it does nothing. */
static bool is_in_place(const struct work *work)
{
    const struct structure *structure = work->structure;

    for (size_t i = 0; i < structure->n_subjects; i++) {
        size_t subject = structure->subjects[i];
        const struct node_set *senders = &work->base.senders[structure->owner];

        if (structure->kind == STRUCTURE_BEFORE  ? !set_contains(&work->base.senders[subject], structure->owner)
            : structure->kind == STRUCTURE_AFTER ? !set_contains(senders, subject)
                                                 : !sets_equal(&work->base.senders[subject], senders)) {
            return false;
        }
    }
    return true;
}

/* Edges that the condition is about stay, whatever circle they lie on. */
static bool is_required(const struct structure *structure, size_t sender, size_t receiver)
{
    switch (structure->kind) {
    case STRUCTURE_BEFORE:
        return sender == structure->owner && is_subject(structure, receiver);
    case STRUCTURE_AFTER:
        return receiver == structure->owner && is_subject(structure, sender);
    case STRUCTURE_WITH:
    case STRUCTURE_ADD_EDGE:
    case STRUCTURE_REMOVE_EDGE:
        return receiver == structure->owner || is_subject(structure, receiver);
    }
    return true;
}

static bool find_neighbours(struct work *work)
{
    const struct structure *structure = work->structure;
    struct compiler *compiler = work->compiler;
    struct node_set subject_senders = {0}, subject_receivers = {0}, owner_receivers = {0}, receivers = {0};
    const struct node_set *owner_senders = &work->graph.senders[structure->owner];

    work->neighbours = mdf_arena_array(&compiler->scratch, structure->n_subjects + 1, sizeof *work->neighbours);
    if (work->neighbours == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (!waiting_graph_receivers(&work->graph, structure->owner, &owner_receivers)) {
        return false;
    }
    for (size_t i = 0; i < structure->n_subjects; i++) {
        struct neighbours *own = &work->neighbours[i + 1];
        const struct node_set *senders = &work->graph.senders[structure->subjects[i]];

        own->node = structure->subjects[i];
        if (!waiting_graph_receivers(&work->graph, own->node, &receivers) ||
            !operate(compiler, structure->subject_senders[i], senders, owner_senders, &own->senders) ||
            !operate(compiler, structure->subject_receivers[i], &receivers, &owner_receivers, &own->receivers) ||
            !add_all(compiler, &subject_senders, senders) || !add_all(compiler, &subject_receivers, &receivers)) {
            return false;
        }
    }
    work->neighbours[0].node = structure->owner;
    return operate(compiler, structure->owner_senders, owner_senders, &subject_senders, &work->neighbours[0].senders) &&
           operate(compiler, structure->owner_receivers, &owner_receivers, &subject_receivers, &work->neighbours[0].receivers);
}

static const struct neighbours *neighbours_of(const struct work *work, size_t node)
{
    for (size_t i = 0; i <= work->structure->n_subjects; i++) {
        if (work->neighbours[i].node == node) {
            return &work->neighbours[i];
        }
    }
    return NULL;
}

/* Two operations that disagree about an edge: one makes it, the other does not. */
static bool check_conflict(struct work *work, size_t sender, size_t receiver)
{
    const struct neighbours *of_sender = neighbours_of(work, sender), *of_receiver = neighbours_of(work, receiver);
    const struct mdf_graph_node *nodes = work->builder->graph->graph->nodes;
    bool sends, receives;

    if (work->structure->ignore_conflicts || of_sender == NULL || of_receiver == NULL) {
        return true;
    }
    sends = set_contains(&of_sender->receivers, receiver);
    receives = set_contains(&of_receiver->senders, sender);
    if (sends == receives) {
        return true;
    }
    compile_error(work->compiler, MDF_MODEL,
                  "the operations on senders and on receivers disagree about an edge from '%.60s' to '%.60s'; change one of "
                  "them, or set ignore_conflicts",
                  nodes[sender].id, nodes[receiver].id);
    return false;
}

static bool apply_senders(struct work *work, const struct neighbours *own)
{
    for (size_t i = 0; i < own->senders.n; i++) {
        if (!check_conflict(work, own->senders.items[i], own->node)) {
            return false;
        }
    }
    return set_copy(work->compiler, &work->graph.senders[own->node], &own->senders);
}

static bool apply_receivers(struct work *work, const struct neighbours *own)
{
    for (size_t i = 0; i < work->graph.n_nodes; i++) {
        if (!set_contains(&own->receivers, i)) {
            set_remove(&work->graph.senders[i], own->node);
        } else if (!check_conflict(work, own->node, i) || !set_add(work->compiler, &work->graph.senders[i], own->node)) {
            return false;
        }
    }
    return true;
}

/* The edges that make the place, besides the operations. */
static bool connect_owner(struct work *work)
{
    const struct structure *structure = work->structure;
    struct node_set *owner = &work->graph.senders[structure->owner];

    for (size_t i = 0; i < structure->n_subjects; i++) {
        struct node_set *subject = &work->graph.senders[structure->subjects[i]];
        bool done = true;

        if (structure->kind == STRUCTURE_BEFORE) {
            done = set_add(work->compiler, subject, structure->owner);
        } else if (structure->kind == STRUCTURE_AFTER) {
            done = set_add(work->compiler, owner, structure->subjects[i]);
        } else {
            done = add_all(work->compiler, owner, subject) && set_copy(work->compiler, subject, owner);
        }
        if (!done) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ circles */

/* Whether the owner gives way in front (its edge to the next node of a circle goes) or behind (the edge into it). */
static bool gives_way_in_front(struct work *work, const struct circle *circle)
{
    const struct structure *structure = work->structure;
    bool is_ancestor = true, is_descendant = true, some_in_circle = false;

    memset(work->circle_marks, 0, work->base.n_nodes * sizeof *work->circle_marks);
    for (size_t i = 0; circle != NULL && i < circle->n; i++) {
        work->circle_marks[circle->nodes[i]] = true;
        some_in_circle = some_in_circle || is_subject(structure, circle->nodes[i]);
    }
    waiting_graph_ancestors(&work->base, structure->owner, work->owner_marks);
    for (size_t i = 0; i < structure->n_subjects; i++) {
        if (some_in_circle && !work->circle_marks[structure->subjects[i]]) {
            continue;
        }
        waiting_graph_ancestors(&work->base, structure->subjects[i], work->marks);
        is_ancestor = is_ancestor && work->marks[structure->owner];
        is_descendant = is_descendant && work->owner_marks[structure->subjects[i]];
    }
    return is_ancestor || !is_descendant;
}

static void break_circle(struct work *work, const struct circle *circle)
{
    const struct structure *structure = work->structure;

    for (size_t i = 0; i < circle->n; i++) {
        size_t sender = circle->nodes[i], receiver = circle->nodes[(i + 1) % circle->n],
               next = circle->nodes[(i + 2) % circle->n];

        if (receiver == structure->owner) {
            bool in_front = gives_way_in_front(work, circle);

            if (in_front && !is_required(structure, receiver, next)) {
                set_remove(&work->graph.senders[next], receiver);
            } else if (!in_front && !is_required(structure, sender, receiver)) {
                set_remove(&work->graph.senders[receiver], sender);
            }
        } else if (sender != structure->owner && set_contains(&work->base.senders[sender], receiver) &&
                   !is_required(structure, sender, receiver)) {
            set_remove(&work->graph.senders[receiver], sender); /* the base had it the other way round */
        }
    }
}

static int compare_circles(const void *a, const void *b)
{
    size_t x = ((const struct circle *)a)->n, y = ((const struct circle *)b)->n;

    return x > y ? -1 : x < y;
}

static bool is_whole(const struct waiting_graph *graph, const struct circle *circle)
{
    for (size_t i = 0; i < circle->n; i++) {
        if (!set_contains(&graph->senders[circle->nodes[(i + 1) % circle->n]], circle->nodes[i])) {
            return false;
        }
    }
    return true;
}

/* Breaks the circles that the condition has closed, long ones first, as far as that is possible: what is left is an error when
 * the order of the nodes is made. */
static bool prune_circles(struct work *work)
{
    struct list circles = {0};
    size_t n_before = SIZE_MAX;

    while (waiting_graph_circles(&work->graph, &circles)) {
        if (circles.n == 0 || circles.n == n_before) {
            return true;
        }
        n_before = circles.n;
        qsort(circles.items, circles.n, sizeof(struct circle), compare_circles);
        for (size_t i = 0; i < circles.n; i++) {
            const struct circle *circle = (const struct circle *)circles.items + i;

            if (is_whole(&work->graph, circle)) {
                break_circle(work, circle);
            }
        }
    }
    return false;
}

/* Where every circle goes through the owner and it names one node, no circle need be listed: the owner's edges that lie on one
 * go. */
static void prune_at_owner(struct work *work)
{
    const struct structure *structure = work->structure;
    struct waiting_graph *graph = &work->graph;
    struct node_set *senders = &graph->senders[structure->owner];

    if (gives_way_in_front(work, NULL)) {
        waiting_graph_ancestors(graph, structure->owner, work->marks);
        for (size_t i = 0; i < graph->n_nodes; i++) {
            if (work->marks[i] && !is_required(structure, structure->owner, i)) {
                set_remove(&graph->senders[i], structure->owner);
            }
        }
        return;
    }
    for (size_t i = senders->n; i > 0; i--) {
        size_t sender = senders->items[i - 1];

        waiting_graph_ancestors(graph, sender, work->marks);
        if (work->marks[structure->owner] && !is_required(structure, sender, structure->owner)) {
            set_remove(senders, sender);
        }
    }
}

/* Whether an edge that is not the owner's runs against one of the base: then circles may be broken elsewhere too. */
static bool has_turned_edge(const struct work *work)
{
    size_t owner = work->structure->owner;

    for (size_t i = 0; i < work->graph.n_nodes; i++) {
        for (size_t j = 0; i != owner && j < work->graph.senders[i].n; j++) {
            size_t sender = work->graph.senders[i].items[j];

            if (sender != owner && set_contains(&work->base.senders[sender], i)) {
                return true;
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------ what was broken */

/* The owner's old senders and receivers stay in their order, where the owner no longer stands between them. */
static bool reconnect(struct work *work)
{
    const struct node_set *senders = &work->base.senders[work->structure->owner];
    size_t owner = work->structure->owner;
    struct node_set receivers = {0};

    if (!waiting_graph_receivers(&work->base, owner, &receivers)) {
        return false;
    }
    for (size_t i = 0; i < senders->n; i++) {
        size_t sender = senders->items[i];

        waiting_graph_ancestors(&work->graph, sender, work->marks);
        for (size_t j = 0; j < receivers.n; j++) {
            size_t receiver = receivers.items[j];
            bool is_broken =
                !set_contains(&work->graph.senders[receiver], owner) || !set_contains(&work->graph.senders[owner], sender);

            if (!is_subject(work->structure, receiver) && is_broken && !work->marks[receiver] && receiver != sender &&
                !set_add(work->compiler, &work->graph.senders[receiver], sender)) {
                return false;
            }
        }
    }
    return true;
}

static void remove_self_edges(struct work *work)
{
    for (size_t i = 0; i < work->graph.n_nodes; i++) {
        if (!set_contains(&work->base.senders[i], i)) {
            set_remove(&work->graph.senders[i], i);
        }
    }
}

static bool place_nodes(struct work *work)
{
    const struct structure *structure = work->structure;

    if (is_in_place(work)) {
        return true;
    }
    for (size_t i = 0; i < structure->n_subjects; i++) {
        set_remove(&work->graph.senders[structure->subjects[i]], structure->owner);
        set_remove(&work->graph.senders[structure->owner], structure->subjects[i]);
    }
    if (!find_neighbours(work)) {
        return false;
    }
    for (size_t i = 0; i <= structure->n_subjects; i++) {
        if (!apply_senders(work, &work->neighbours[i])) {
            return false;
        }
    }
    for (size_t i = 0; i <= structure->n_subjects; i++) {
        if (!apply_receivers(work, &work->neighbours[i])) {
            return false;
        }
    }
    if (!connect_owner(work)) {
        return false;
    }
    if (structure->remove_self_edges) {
        remove_self_edges(work);
    }
    if (structure->prune && structure->n_subjects == 1 && !has_turned_edge(work)) {
        prune_at_owner(work);
    } else if (structure->prune && !prune_circles(work)) {
        return false;
    }
    return !structure->reconnect || reconnect(work);
}

static bool change_edge(struct work *work)
{
    const struct structure *structure = work->structure;
    size_t owner = structure->owner, node = structure->subjects[0];
    const struct mdf_graph_node *nodes = work->builder->graph->graph->nodes;

    if (structure->kind == STRUCTURE_ADD_EDGE) {
        return set_add(work->compiler, &work->graph.senders[node], owner);
    }
    if (!set_remove(&work->graph.senders[owner], node)) {
        compile_warning(work->compiler, "RemoveEdgeFrom: node '%.60s' does not wait for '%.60s'", nodes[owner].id,
                        nodes[node].id);
    }
    return true;
}

/* ------------------------------------------------------------------ all of them */

static bool read_graph(struct condition_builder *builder, struct waiting_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        const struct list *senders = &builder->graph->nodes[i].senders;

        for (size_t j = 0; j < senders->n; j++) {
            if (!set_add(builder->compiler, &graph->senders[i], ((const size_t *)senders->items)[j])) {
                return false;
            }
        }
    }
    return true;
}

static void write_graph(struct condition_builder *builder, const struct waiting_graph *graph)
{
    for (size_t i = 0; i < graph->n_nodes; i++) {
        builder->graph->nodes[i].senders =
            (struct list){graph->senders[i].items, graph->senders[i].n, graph->senders[i].capacity};
    }
}

static bool apply(struct work *work)
{
    const struct structure *structure = work->structure;
    struct place place = place_enter(work->compiler, "condition of node", work->builder->graph->graph->nodes[structure->owner].id,
                                     structure->source);
    bool is_edge = structure->kind == STRUCTURE_ADD_EDGE || structure->kind == STRUCTURE_REMOVE_EDGE, done;

    done = waiting_graph_copy(&work->base, &work->graph) && (is_edge ? change_edge(work) : place_nodes(work));
    place_leave(work->compiler, place);
    return done;
}

bool condition_apply_structures(struct condition_builder *builder)
{
    struct compiler *compiler = builder->compiler;
    struct work work = {.builder = builder, .compiler = compiler};
    size_t n = builder->graph->graph->n_nodes;

    if (builder->structures.n == 0) {
        return true;
    }
    work.marks = mdf_arena_array(&compiler->scratch, n, sizeof *work.marks);
    work.owner_marks = mdf_arena_array(&compiler->scratch, n, sizeof *work.owner_marks);
    work.circle_marks = mdf_arena_array(&compiler->scratch, n, sizeof *work.circle_marks);
    if (work.marks == NULL || work.owner_marks == NULL || work.circle_marks == NULL) {
        compile_out_of_memory(compiler);
        return false;
    }
    if (!waiting_graph_new(&work.graph, compiler, n) || !read_graph(builder, &work.graph)) {
        return false;
    }
    for (size_t i = 0; i < builder->structures.n; i++) {
        work.structure = (const struct structure *)builder->structures.items + i;
        if (!apply(&work)) {
            return false;
        }
    }
    write_graph(builder, &work.graph);
    return true;
}
