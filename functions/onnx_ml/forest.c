/* forest.c - see forest.h. */
#include "functions/onnx_ml/forest.h"
#include "functions/onnx_ml/scores.h"

#include <math.h>
#include <stdatomic.h>

enum { SCRATCH_NODES = 1, SCRATCH_READY = 2 };

/* Rough time of one step in a tree, to judge what is worth a thread. */
static const double step_ns = 5;

/* ------------------------------------------------------------------ making one */

bool mdf_forest_prepare(struct mdf_call *call, struct mdf_forest *forest, bool *is_new)
{
    const size_t node_words = sizeof *forest->nodes / sizeof(int64_t), share_words = sizeof *forest->shares / sizeof(int64_t);
    const size_t most = SIZE_MAX / 1024;
    int64_t *words;

    _Static_assert(sizeof(struct mdf_tree_node) % sizeof(int64_t) == 0, "nodes lie in an array of int64");
    _Static_assert(sizeof(struct mdf_tree_share) % sizeof(int64_t) == 0, "shares lie in an array of int64");
    if (forest->n_nodes > most || forest->n_roots > most || forest->n_shares > most || forest->n_members > most) {
        return mdf_call_error(call, MDF_LIMIT, "the trees are past all memory");
    }
    *is_new = call->scratch[SCRATCH_READY].kind == MDF_KIND_NONE;
    words = mdf_call_scratch(call, SCRATCH_NODES, MDF_DTYPE_INT64,
                             forest->n_nodes * node_words + forest->n_shares * share_words + forest->n_roots + forest->n_members);
    if (words == NULL || (*is_new && mdf_call_scratch(call, SCRATCH_READY, MDF_DTYPE_BOOL, 1) == NULL)) {
        return false;
    }
    forest->nodes = (struct mdf_tree_node *)words;
    forest->shares = (struct mdf_tree_share *)(forest->nodes + forest->n_nodes);
    forest->roots = (int64_t *)(forest->shares + forest->n_shares);
    forest->members = (double *)(forest->roots + forest->n_roots);
    return true;
}

bool mdf_forest_drop(struct mdf_call *call)
{
    mdf_value_clear(call->context->memory, &call->scratch[SCRATCH_READY]);
    return false;
}

static bool is_within(int64_t first, int64_t n, size_t size)
{
    return first >= 0 && n >= 0 && (uint64_t)first <= size && (uint64_t)n <= size - (size_t)first;
}

bool mdf_forest_check(struct mdf_call *call, const struct mdf_forest *forest, size_t n_targets)
{
    for (size_t i = 0; i < forest->n_nodes; i++) {
        const struct mdf_tree_node *node = &forest->nodes[i];
        bool is_leaf = node->mode == MDF_TREE_LEAF;

        if ((!is_leaf && (!is_within(node->next[0], 1, forest->n_nodes) || !is_within(node->next[1], 1, forest->n_nodes) ||
                          node->feature < 0)) ||
            ((is_leaf || node->mode == MDF_TREE_MEMBER) &&
             !is_within(node->first, node->n, is_leaf ? forest->n_shares : forest->n_members))) {
            mdf_call_error(call, MDF_VALUE, "node %zu of the trees refers to what is not there", i);
            return mdf_forest_drop(call);
        }
    }
    for (size_t i = 0; i < forest->n_shares; i++) {
        if (!is_within(forest->shares[i].target, 1, n_targets)) {
            mdf_call_error(call, MDF_VALUE, "a leaf is of target or class %lld, of %zu", (long long)forest->shares[i].target,
                           n_targets);
            return mdf_forest_drop(call);
        }
    }
    for (size_t i = 0; i < forest->n_roots; i++) {
        if (!is_within(forest->roots[i], 1, forest->n_nodes)) {
            mdf_call_error(call, MDF_VALUE, "tree %zu begins at node %lld, of %zu", i, (long long)forest->roots[i],
                           forest->n_nodes);
            return mdf_forest_drop(call);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ running it */

struct walk {
    const struct mdf_forest *forest;
    enum mdf_tree_aggregate aggregate;
    const double *x;
    double *targets;
    size_t n_features, n_targets;
    atomic_bool circular, no_feature;
};

static bool compare(const struct mdf_forest *forest, const struct mdf_tree_node *node, double x)
{
    switch (node->mode) {
    case MDF_TREE_LEQ:
        return x <= node->split;
    case MDF_TREE_LT:
        return x < node->split;
    case MDF_TREE_GTE:
        return x >= node->split;
    case MDF_TREE_GT:
        return x > node->split;
    case MDF_TREE_EQ:
        return x == node->split;
    case MDF_TREE_NEQ:
        return x != node->split;
    default:
        break;
    }
    for (int64_t i = node->first; i < node->first + node->n; i++) {
        if (forest->members[i] == x) {
            return true;
        }
    }
    return false;
}

/* The leaf of a tree that a row ends in; NULL: the tree is none. */
static const struct mdf_tree_node *find_leaf(struct walk *walk, const double *row, int64_t root)
{
    const struct mdf_forest *forest = walk->forest;
    const struct mdf_tree_node *node = &forest->nodes[root];

    for (size_t steps = 0; node->mode != MDF_TREE_LEAF; steps++) {
        bool truth;

        if (steps > forest->n_nodes || (size_t)node->feature >= walk->n_features) {
            atomic_store(steps > forest->n_nodes ? &walk->circular : &walk->no_feature, true);
            return NULL;
        }
        truth = (node->missing_is_true != 0 && isnan(row[node->feature])) || compare(forest, node, row[node->feature]);
        node = &forest->nodes[node->next[truth]];
    }
    return node;
}

/* Adds what a leaf says. Targets that no leaf has spoken of are NaN until then. */
static void add_shares(const struct walk *walk, const struct mdf_tree_node *leaf, double *targets)
{
    for (int64_t i = leaf->first; i < leaf->first + leaf->n; i++) {
        const struct mdf_tree_share *share = &walk->forest->shares[i];
        double *target = &targets[share->target];

        if (isnan(*target)) {
            *target = share->weight;
        } else if (walk->aggregate == MDF_TREE_MIN || walk->aggregate == MDF_TREE_MAX) {
            bool replace = walk->aggregate == MDF_TREE_MIN ? share->weight < *target : share->weight > *target;

            *target = replace ? share->weight : *target;
        } else {
            *target += share->weight;
            *target = walk->forest->single ? mdf_single(*target) : *target;
        }
    }
}

static void run_rows(void *context, size_t first, size_t last)
{
    struct walk *walk = context;

    for (size_t row = first; row < last; row++) {
        double *targets = walk->targets + row * walk->n_targets;

        for (size_t i = 0; i < walk->n_targets; i++) {
            targets[i] = (double)NAN;
        }
        for (size_t tree = 0; tree < walk->forest->n_roots; tree++) {
            const struct mdf_tree_node *leaf = find_leaf(walk, walk->x + row * walk->n_features, walk->forest->roots[tree]);

            if (leaf == NULL) {
                return;
            }
            add_shares(walk, leaf, targets);
        }
        for (size_t i = 0; i < walk->n_targets; i++) {
            targets[i] = isnan(targets[i])                     ? 0
                         : walk->aggregate == MDF_TREE_AVERAGE ? targets[i] / (double)walk->forest->n_roots
                                                               : targets[i];
            targets[i] = walk->forest->single ? mdf_single(targets[i]) : targets[i];
        }
    }
}

bool mdf_forest_run(struct mdf_call *call, const struct mdf_forest *forest, enum mdf_tree_aggregate aggregate, const double *x,
                    size_t n_rows, size_t n_features, double *targets, size_t n_targets)
{
    struct walk walk = {
        .forest = forest, .aggregate = aggregate, .x = x, .targets = targets, .n_features = n_features, .n_targets = n_targets};

    atomic_init(&walk.circular, false);
    atomic_init(&walk.no_feature, false);
    if (n_targets > 0) {
        mdf_parallel_for(call->context, n_rows, step_ns * 10 * (double)forest->n_roots, run_rows, &walk);
    }
    if (atomic_load(&walk.circular)) {
        return mdf_call_error(call, MDF_VALUE, "the nodes of a tree run in a circle");
    }
    return !atomic_load(&walk.no_feature) ||
           mdf_call_error(call, MDF_VALUE, "a tree looks at a feature that the input, of %zu features, does not have",
                          n_features);
}
