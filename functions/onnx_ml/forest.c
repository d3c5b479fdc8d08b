/* forest.c - see forest.h. */
#include "functions/onnx_ml/forest.h"
#include "functions/onnx_ml/scores.h"

#include <math.h>
#include <stdatomic.h>

enum { SCRATCH_NODES = 1, SCRATCH_READY = 2, LANES = 8 };

/* Rough time of one step in a tree, to judge what is worth a thread. */
static const double step_ns = 2.5;

/* ------------------------------------------------------------------ making one */

size_t mdf_forest_known_roots(const struct mdf_call *call)
{
    const struct mdf_value *ready = &call->scratch[SCRATCH_READY];

    return ready->kind == MDF_KIND_NONE ? 0 : (size_t) * (const int64_t *)ready->data;
}

bool mdf_forest_prepare(struct mdf_call *call, struct mdf_forest *forest, bool *is_new)
{
    const size_t node_words = (sizeof *forest->nodes + sizeof *forest->steps) / sizeof(int64_t);
    const size_t share_words = sizeof *forest->shares / sizeof(int64_t), walk_words = sizeof *forest->walks / sizeof(int64_t);
    const size_t most = SIZE_MAX / 1024;
    int64_t *words, *n_roots;

    _Static_assert(sizeof(struct mdf_tree_node) % sizeof(int64_t) == 0, "nodes lie in an array of int64");
    _Static_assert(sizeof(struct mdf_tree_step) % sizeof(int64_t) == 0, "steps lie in an array of int64");
    _Static_assert(sizeof(struct mdf_tree_share) % sizeof(int64_t) == 0, "shares lie in an array of int64");
    if (forest->n_nodes > most || forest->n_roots > most || forest->n_shares > most || forest->n_members > most) {
        return mdf_call_error(call, MDF_LIMIT, "the trees are past all memory");
    }
    *is_new = call->scratch[SCRATCH_READY].kind == MDF_KIND_NONE;
    words = mdf_call_scratch(call, SCRATCH_NODES, MDF_DTYPE_INT64,
                             walk_words + forest->n_nodes * node_words + forest->n_shares * share_words + forest->n_roots +
                                 forest->n_members);
    n_roots = words != NULL && *is_new ? mdf_call_scratch(call, SCRATCH_READY, MDF_DTYPE_INT64, 1) : NULL;
    if (words == NULL || (*is_new && n_roots == NULL)) {
        return false;
    }
    if (n_roots != NULL) {
        *n_roots = (int64_t)forest->n_roots;
    }
    forest->walks = (struct mdf_tree_walks *)words;
    forest->nodes = (struct mdf_tree_node *)(forest->walks + 1);
    forest->steps = (struct mdf_tree_step *)(forest->nodes + forest->n_nodes);
    forest->shares = (struct mdf_tree_share *)(forest->steps + forest->n_nodes);
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

/* The kind of all comparisons, and how many features they look at; false: walks of several rows are not made of them. */
static bool has_walks(const struct mdf_forest *forest, int64_t *mode, int64_t *n_features)
{
    *mode = MDF_TREE_LEAF;
    *n_features = 1; /* a leaf looks at one too */
    for (size_t i = 0; i < forest->n_nodes; i++) {
        const struct mdf_tree_node *node = &forest->nodes[i];

        if (node->mode == MDF_TREE_LEAF) {
            continue;
        }
        if ((*mode != MDF_TREE_LEAF && *mode != node->mode) || node->feature >= INT32_MAX) {
            return false;
        }
        *mode = node->mode;
        *n_features = node->feature >= *n_features ? node->feature + 1 : *n_features;
    }
    return *mode <= MDF_TREE_GT && forest->n_nodes <= INT32_MAX;
}

static void make_steps(const struct mdf_forest *forest)
{
    struct mdf_tree_walks *walks = forest->walks;

    if (!has_walks(forest, &walks->mode, &walks->n_features)) {
        walks->mode = MDF_TREE_LEAF;
        return;
    }
    for (size_t i = 0; i < forest->n_nodes; i++) {
        const struct mdf_tree_node *node = &forest->nodes[i];
        bool is_leaf = node->mode == MDF_TREE_LEAF;

        forest->steps[i] = (struct mdf_tree_step){
            .split = node->split,
            .next = {(int32_t)(is_leaf ? (int64_t)i : node->next[0]), (int32_t)(is_leaf ? (int64_t)i : node->next[1])},
            .feature = is_leaf ? 0 : (int32_t)node->feature,
            .missing_is_true = node->missing_is_true != 0};
    }
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
    make_steps(forest);
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

/* Goes from each node on to the leaf, side by side: a step waits for the one before in its tree, not for those of others. False:
 * some run in a circle. `mode` is a constant where this is used. */
static inline __attribute__((always_inline)) bool descend(const struct mdf_forest *forest, enum mdf_tree_mode mode,
                                                          const double *const rows[LANES], int64_t at[LANES])
{
    for (size_t n = 0; n <= forest->n_nodes; n++) {
        int64_t moved = 0;

#pragma GCC unroll 8
        for (size_t i = 0; i < LANES; i++) {
            const struct mdf_tree_step *step = &forest->steps[at[i]];
            double x = rows[i][step->feature], split = step->split;
            bool truth = mode == MDF_TREE_LEQ   ? x <= split
                         : mode == MDF_TREE_LT  ? x < split
                         : mode == MDF_TREE_GTE ? x >= split
                                                : x > split;
            int64_t next = step->next[truth | (step->missing_is_true & (x != x))];

            moved |= next ^ at[i];
            at[i] = next;
        }
        if (moved == 0) {
            return true;
        }
    }
    return false;
}

static bool descend_by(const struct mdf_forest *forest, const double *const rows[LANES], int64_t at[LANES])
{
    switch (forest->walks->mode) {
    case MDF_TREE_LEQ:
        return descend(forest, MDF_TREE_LEQ, rows, at);
    case MDF_TREE_LT:
        return descend(forest, MDF_TREE_LT, rows, at);
    case MDF_TREE_GTE:
        return descend(forest, MDF_TREE_GTE, rows, at);
    default:
        return descend(forest, MDF_TREE_GT, rows, at);
    }
}

/* Where a block of rows and trees is under way: at most LANES pairs, tree by tree. */
struct block {
    size_t row, n_rows, tree, n_trees;
    const double *rows[LANES]; /* of each pair; those that are too many go where the first one goes */
    int64_t at[LANES];
};

static void begin_block(const struct walk *walk, struct block *block)
{
    size_t n = 0;

    for (size_t tree = block->tree; tree < block->tree + block->n_trees; tree++) {
        for (size_t row = block->row; row < block->row + block->n_rows; row++) {
            block->rows[n] = walk->x + row * walk->n_features;
            block->at[n++] = walk->forest->roots[tree];
        }
    }
    for (; n < LANES; n++) {
        block->rows[n] = block->rows[0];
        block->at[n] = block->at[0];
    }
}

/* The leaves of all pairs; false: a tree is none. */
static bool find_leaves(struct walk *walk, struct block *block, const struct mdf_tree_node *leaves[LANES])
{
    const struct mdf_forest *forest = walk->forest;
    bool is_even = forest->walks->mode != MDF_TREE_LEAF && walk->n_features >= (size_t)forest->walks->n_features;

    begin_block(walk, block);
    if (is_even && !descend_by(forest, block->rows, block->at)) {
        atomic_store(&walk->circular, true);
        return false;
    }
    for (size_t i = 0; i < block->n_rows * block->n_trees; i++) {
        leaves[i] = find_leaf(walk, block->rows[i], block->at[i]); /* from there, where it is even */
        if (leaves[i] == NULL) {
            return false;
        }
    }
    return true;
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

static void finish_targets(const struct walk *walk, double *targets)
{
    for (size_t i = 0; i < walk->n_targets; i++) {
        targets[i] = isnan(targets[i])                     ? 0
                     : walk->aggregate == MDF_TREE_AVERAGE ? targets[i] / (double)walk->forest->n_roots
                                                           : targets[i];
        targets[i] = walk->forest->single ? mdf_single(targets[i]) : targets[i];
    }
}

/* At most LANES rows, each by the trees in their order. */
static bool run_block(struct walk *walk, size_t row, size_t n_rows)
{
    size_t n_roots = walk->forest->n_roots, most = LANES / n_rows, n_targets = walk->n_targets;
    double *targets = walk->targets + row * n_targets;
    const struct mdf_tree_node *leaves[LANES];

    for (size_t i = 0; i < n_rows * n_targets; i++) {
        targets[i] = (double)NAN;
    }
    for (size_t tree = 0; tree < n_roots; tree += most) {
        struct block block = {row, n_rows, tree, most < n_roots - tree ? most : n_roots - tree, {NULL}, {0}};
        const struct mdf_tree_node **leaf = leaves;

        if (!find_leaves(walk, &block, leaves)) {
            return false;
        }
        for (size_t k = 0; k < block.n_trees; k++) {
            for (size_t i = 0; i < n_rows; i++) {
                add_shares(walk, *leaf++, targets + i * n_targets);
            }
        }
    }
    for (size_t i = 0; i < n_rows; i++) {
        finish_targets(walk, targets + i * n_targets);
    }
    return true;
}

static void run_rows(void *context, size_t first, size_t last)
{
    for (size_t row = first; row < last; row += LANES) {
        if (!run_block(context, row, last - row < LANES ? last - row : LANES)) {
            return;
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
