/* trees.c - decision trees: TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor.
 *
 * Comes in: rows of features; trees as attributes. Goes out: for each row the weights of the leaves that it ends in, aggregated
 * by target or class; of the classifier the label of the largest, too. Numbers are compared and weights added in float32, one
 * tree after the other, as ONNX Runtime does; in float64 where features or attributes are. Source: ONNX ai.onnx.ml 1, 3, 5. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/lookup.h"
#include "functions/kernel/routine.h"
#include "functions/onnx_ml/forest.h"
#include "functions/onnx_ml/scores.h"
#include "mdf_c/base/text.h"

#include <math.h>
#include <string.h>

/* Attributes of the older two, whose leaves are found by tree and node id. */
struct old_settings {
    struct mdf_ints treeids, nodeids, featureids, true_ids, false_ids, missing, share_treeids, share_nodeids, share_targets;
    struct mdf_floats values, weights, base;
    struct mdf_strings modes;
    const struct mdf_value *values_tensor, *weights_tensor, *base_tensor;
    int64_t n_targets;
    const char *post_transform, *aggregate;
    struct mdf_labels labels;
};

struct new_settings {
    struct mdf_ints roots, featureids, true_ids, false_ids, true_leafs, false_leafs, missing, leaf_targets;
    const struct mdf_value *modes, *splits, *weights, *members;
    int64_t aggregate, post_transform, n_targets;
};

#define OLD(name, type, field)                                         \
    {                                                                  \
        name, MDF_SETTING_##type, offsetof(struct old_settings, field) \
    }
#define OLD_NODES                                                                                                        \
    OLD("nodes_treeids", INTS, treeids), OLD("nodes_nodeids", INTS, nodeids), OLD("nodes_featureids", INTS, featureids), \
        OLD("nodes_truenodeids", INTS, true_ids), OLD("nodes_falsenodeids", INTS, false_ids),                            \
        OLD("nodes_missing_value_tracks_true", INTS, missing), OLD("nodes_values", FLOATS, values),                      \
        OLD("nodes_values_as_tensor", VALUE, values_tensor), OLD("nodes_modes", STRINGS, modes),                         \
        OLD("base_values", FLOATS, base), OLD("base_values_as_tensor", VALUE, base_tensor),                              \
        OLD("post_transform", STRING, post_transform)
static const struct mdf_setting classifier_table[] = {OLD_NODES,
                                                      OLD("class_treeids", INTS, share_treeids),
                                                      OLD("class_nodeids", INTS, share_nodeids),
                                                      OLD("class_ids", INTS, share_targets),
                                                      OLD("class_weights", FLOATS, weights),
                                                      OLD("class_weights_as_tensor", VALUE, weights_tensor),
                                                      OLD("classlabels_int64s", INTS, labels.integers),
                                                      OLD("classlabels_strings", STRINGS, labels.strings),
                                                      {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting regressor_table[] = {OLD_NODES,
                                                     OLD("target_treeids", INTS, share_treeids),
                                                     OLD("target_nodeids", INTS, share_nodeids),
                                                     OLD("target_ids", INTS, share_targets),
                                                     OLD("target_weights", FLOATS, weights),
                                                     OLD("target_weights_as_tensor", VALUE, weights_tensor),
                                                     OLD("n_targets", INT, n_targets),
                                                     OLD("aggregate_function", STRING, aggregate),
                                                     {NULL, MDF_SETTING_INT, 0}};
#define NEW(name, type, field)                                         \
    {                                                                  \
        name, MDF_SETTING_##type, offsetof(struct new_settings, field) \
    }
static const struct mdf_setting ensemble_table[] = {NEW("tree_roots", INTS, roots),
                                                    NEW("nodes_featureids", INTS, featureids),
                                                    NEW("nodes_truenodeids", INTS, true_ids),
                                                    NEW("nodes_falsenodeids", INTS, false_ids),
                                                    NEW("nodes_trueleafs", INTS, true_leafs),
                                                    NEW("nodes_falseleafs", INTS, false_leafs),
                                                    NEW("nodes_missing_value_tracks_true", INTS, missing),
                                                    NEW("leaf_targetids", INTS, leaf_targets),
                                                    NEW("nodes_modes", VALUE, modes),
                                                    NEW("nodes_splits", VALUE, splits),
                                                    NEW("leaf_weights", VALUE, weights),
                                                    NEW("membership_values", VALUE, members),
                                                    NEW("aggregate_function", INT, aggregate),
                                                    NEW("post_transform", INT, post_transform),
                                                    NEW("n_targets", INT, n_targets),
                                                    {NULL, MDF_SETTING_INT, 0}};

enum { N_SLOTS = 9 };

static double element_of(const struct mdf_value *value, size_t i)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;

    return mdf_element_to_double(dtype, (const char *)value->data + i * mdf_dtype_size(dtype));
}

/* Numbers given as a tensor or as floats. */
static double number_of(const struct mdf_value *tensor, const struct mdf_floats *floats, size_t i)
{
    return tensor != NULL ? element_of(tensor, i) : floats->items[i];
}

static size_t count_of(const struct mdf_value *tensor, const struct mdf_floats *floats)
{
    return tensor != NULL ? tensor->length : floats->n;
}

static bool is_numbers(const struct mdf_value *value)
{
    return value == NULL || (mdf_value_is_tensor(value) && mdf_dtype_has_order((mdf_dtype)value->dtype));
}

static bool refuse_lengths(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_VALUE, "the attributes of nodes, or those of leaves, are not of one length, or not numbers");
}

/* ------------------------------------------------------------------ trees by ids */

/* One number for a tree and a node of it, for the look-up: the ids' place in the list of trees, and the node id. */
static bool join_ids(struct mdf_workspace *workspace, const struct mdf_lookup *trees, const struct mdf_ints *treeids,
                     const struct mdf_ints *nodeids, struct mdf_keys *joined)
{
    int64_t *ids = mdf_workspace_array(workspace, MDF_DTYPE_INT64, treeids->n);
    struct mdf_keys wanted = {.integers = treeids->items, .n = treeids->n};

    for (size_t i = 0; ids != NULL && i < treeids->n; i++) {
        int64_t tree = mdf_lookup_find(trees, &wanted, i), node = nodeids->items[i];

        if (tree < 0 || tree > INT32_MAX || node < 0 || node > INT32_MAX) {
            return mdf_call_error(workspace->call, MDF_VALUE, "there is no node %lld in tree %lld", (long long)node,
                                  (long long)treeids->items[i]);
        }
        ids[i] = tree << 32 | node;
    }
    *joined = (struct mdf_keys){.integers = ids, .n = treeids->n};
    return ids != NULL;
}

/* Number of the node with an id in the tree of node `i`; -1: none. */
static int64_t find_node(const struct mdf_lookup *nodes, const struct mdf_keys *ids, size_t i, int64_t id)
{
    int64_t joined = (int64_t)((uint64_t)ids->integers[i] >> 32 << 32 | (uint64_t)(id < 0 || id > INT32_MAX ? UINT32_MAX : id));
    struct mdf_keys wanted = {.integers = &joined, .n = 1};

    return mdf_lookup_find(nodes, &wanted, 0);
}

static bool read_mode(struct mdf_call *call, const char *name, int64_t *mode)
{
    static const char *const names[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};

    for (*mode = 0; *mode <= MDF_TREE_LEAF; ++*mode) {
        if (*mode != MDF_TREE_MEMBER && strcmp(names[*mode], name) == 0) {
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no node mode '%.100s'", name);
}

/* Shares in the order of their leaves: each leaf counts its own, then takes a stretch, then all are dealt out. */
static bool deal_shares(struct mdf_call *call, struct mdf_forest *forest, const struct mdf_lookup *nodes,
                        const struct mdf_keys *leaves)
{
    const struct old_settings *settings = call->settings;
    int64_t first = 0;

    for (size_t i = 0; i < forest->n_shares; i++) {
        int64_t leaf = mdf_lookup_find(nodes, leaves, i);

        if (leaf < 0 || forest->nodes[leaf].mode != MDF_TREE_LEAF) {
            return mdf_call_error(call, MDF_VALUE, "weight %zu is of no leaf", i);
        }
        forest->nodes[leaf].n++;
    }
    for (size_t i = 0; i < forest->n_nodes; i++) {
        forest->nodes[i].first = first;
        first += forest->nodes[i].n;
        forest->nodes[i].n = 0;
    }
    for (size_t i = 0; i < forest->n_shares; i++) {
        struct mdf_tree_node *leaf = &forest->nodes[mdf_lookup_find(nodes, leaves, i)];

        forest->shares[leaf->first + leaf->n++] =
            (struct mdf_tree_share){settings->share_targets.items[i], number_of(settings->weights_tensor, &settings->weights, i)};
    }
    return true;
}

/* The nodes; trees begin at the first node of each tree id. */
static bool fill_nodes(struct mdf_workspace *workspace, struct mdf_forest *forest, const struct mdf_lookup *trees)
{
    struct mdf_call *call = workspace->call;
    const struct old_settings *settings = call->settings;
    struct mdf_keys ids, leaves, treeids = {.integers = settings->treeids.items, .n = settings->treeids.n};
    struct mdf_lookup nodes;
    size_t n_roots = 0;

    if (!join_ids(workspace, trees, &settings->treeids, &settings->nodeids, &ids) || !mdf_lookup_make(workspace, &ids, NULL, &nodes) ||
        !join_ids(workspace, trees, &settings->share_treeids, &settings->share_nodeids, &leaves)) {
        return false;
    }
    for (size_t i = 0; i < forest->n_nodes; i++) {
        struct mdf_tree_node *node = &forest->nodes[i];
        bool is_first;

        *node = (struct mdf_tree_node){.split = number_of(settings->values_tensor, &settings->values, i),
                                       .feature = settings->featureids.items[i],
                                       .next = {find_node(&nodes, &ids, i, settings->false_ids.items[i]),
                                                find_node(&nodes, &ids, i, settings->true_ids.items[i])},
                                       .missing_is_true = i < settings->missing.n && settings->missing.items[i] != 0};
        if (!read_mode(call, settings->modes.items[i], &node->mode)) {
            return false;
        }
        is_first = i == 0 || mdf_lookup_find(trees, &treeids, i) != mdf_lookup_find(trees, &treeids, i - 1);
        if (is_first && i > 0 && mdf_lookup_find(trees, &treeids, i - 1) != (int64_t)i - 1) {
            return mdf_call_error(call, MDF_VALUE, "the nodes of tree %lld do not lie together",
                                  (long long)settings->treeids.items[i - 1]);
        }
        if (is_first && n_roots < forest->n_roots) {
            forest->roots[n_roots++] = (int64_t)i;
        }
    }
    return deal_shares(call, forest, &nodes, &leaves);
}

/* A single target takes one weight of a leaf: scikit-learn's converter repeats a leaf's for each class of a decision path or leaf
 * that it writes as a regressor, and ONNX Runtime takes the first. */
static void take_first_shares(struct mdf_forest *forest)
{
    for (size_t i = 0; i < forest->n_nodes; i++) {
        struct mdf_tree_node *node = &forest->nodes[i];

        if (node->mode == MDF_TREE_LEAF && node->n > 1) {
            node->n = 1;
        }
    }
}

/* Trees lie one behind the other: as many as the id changes. */
static size_t count_trees(const struct mdf_ints *treeids)
{
    size_t n = treeids->n > 0;

    for (size_t i = 1; i < treeids->n; i++) {
        n += treeids->items[i] != treeids->items[i - 1];
    }
    return n;
}

static bool make_old_forest(struct mdf_workspace *workspace, struct mdf_forest *forest, size_t n_targets)
{
    struct mdf_call *call = workspace->call;
    const struct old_settings *settings = call->settings;
    size_t n = settings->treeids.n, n_shares = settings->share_treeids.n, n_roots = mdf_forest_known_roots(call);
    struct mdf_keys treeids = {.integers = settings->treeids.items, .n = n};
    struct mdf_lookup trees;
    bool is_new;

    *forest = (struct mdf_forest){
        .n_nodes = n, .n_roots = n_roots > 0 ? n_roots : count_trees(&settings->treeids), .n_shares = n_shares};
    if (n == 0 || settings->nodeids.n != n || settings->featureids.n != n || settings->true_ids.n != n ||
        settings->false_ids.n != n || settings->modes.n != n || count_of(settings->values_tensor, &settings->values) != n ||
        settings->share_nodeids.n != n_shares || settings->share_targets.n != n_shares ||
        count_of(settings->weights_tensor, &settings->weights) != n_shares || !is_numbers(settings->values_tensor) ||
        !is_numbers(settings->weights_tensor) || !is_numbers(settings->base_tensor)) {
        return refuse_lengths(call);
    }
    if (!mdf_forest_prepare(call, forest, &is_new) || !is_new) {
        return call->context->error.code == MDF_OK;
    }
    if (!mdf_lookup_make(workspace, &treeids, NULL, &trees) || !fill_nodes(workspace, forest, &trees)) {
        return mdf_forest_drop(call);
    }
    if (n_targets == 1) {
        take_first_shares(forest);
    }
    return mdf_forest_check(call, forest, n_targets);
}

/* Adds the base values, one or one a target. */
static bool add_base(struct mdf_call *call, double *targets, size_t n_rows, size_t n_targets, bool single)
{
    const struct old_settings *settings = call->settings;
    size_t n = count_of(settings->base_tensor, &settings->base);

    if (n > 1 && n != n_targets) {
        return mdf_call_error(call, MDF_VALUE, "there are %zu base values for %zu targets or classes", n, n_targets);
    }
    for (size_t i = 0; n > 0 && i < n_rows * n_targets; i++) {
        targets[i] += number_of(settings->base_tensor, &settings->base, n == 1 ? 0 : i % n_targets);
        targets[i] = single ? mdf_single(targets[i]) : targets[i];
    }
    return true;
}

/* Whether features, and numbers given as a tensor or not, are no float64. */
static bool is_single(const struct mdf_call *call, const struct mdf_value *tensor)
{
    return call->n_inputs > 0 && call->inputs[0]->dtype != MDF_DTYPE_FLOAT64 &&
           (tensor == NULL || tensor->dtype != MDF_DTYPE_FLOAT64);
}

/* Rows of targets, base values added. NULL with the error set. */
static double *run_old(struct mdf_workspace *workspace, enum mdf_tree_aggregate aggregate, size_t n_targets, size_t *n_rows)
{
    const struct old_settings *settings = workspace->call->settings;
    bool single = is_single(workspace->call, settings->values_tensor) && is_single(workspace->call, settings->weights_tensor);
    struct mdf_forest forest;
    size_t n_features;
    const double *x;
    double *targets;

    if (!make_old_forest(workspace, &forest, n_targets)) {
        return NULL;
    }
    forest.single = single;
    x = single ? mdf_single_feature_rows(workspace, n_rows, &n_features) : mdf_feature_rows(workspace, n_rows, &n_features);
    targets = x == NULL ? NULL : mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT64, *n_rows, n_targets);
    if (targets == NULL || !mdf_forest_run(workspace->call, &forest, aggregate, x, *n_rows, n_features, targets, n_targets) ||
        !add_base(workspace->call, targets, *n_rows, n_targets, single)) {
        return NULL;
    }
    return targets;
}

/* ------------------------------------------------------------------ TreeEnsembleRegressor, TreeEnsembleClassifier */

static bool aggregate_named(struct mdf_call *call, enum mdf_tree_aggregate *aggregate)
{
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    const struct old_settings *settings = call->settings;
    size_t i = MDF_FIND_WORD(settings->aggregate, names);

    *aggregate = (enum mdf_tree_aggregate)i;
    return i != SIZE_MAX || mdf_call_error(call, MDF_VALUE, "there is no aggregate_function '%.100s'", settings->aggregate);
}

static bool regressor(struct mdf_call *call)
{
    const struct old_settings *settings = call->settings;
    size_t n_targets = settings->n_targets > 0 ? (size_t)settings->n_targets : 1, n_rows = 0;
    enum mdf_tree_aggregate aggregate = MDF_TREE_SUM;
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    double *targets, *y;

    if (!aggregate_named(call, &aggregate) || !mdf_post_transform_named(call, settings->post_transform, &transform) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    y = NULL;
    targets = run_old(&workspace, aggregate, n_targets, &n_rows);
    if (targets != NULL) {
        y = mdf_workspace_output(&workspace, 0, MDF_DTYPE_FLOAT32, 2, (const int64_t[2]){(int64_t)n_rows, (int64_t)n_targets});
    }
    for (size_t row = 0; y != NULL && row < n_rows; row++) {
        memcpy(y + row * n_targets, targets + row * n_targets, n_targets * sizeof *y);
        mdf_post_transform_apply(transform, y + row * n_targets, n_targets);
    }
    return y != NULL && mdf_workspace_end(&workspace);
}

/* Weights of one class only, from whose score that of the other follows: what is left to 1, else its opposite. */
struct two_classes {
    bool binary, left_to_1;
    size_t only;
};

/* Scores that are not transformed can be probabilities where no weight is negative: this is how ONNX Runtime tells. */
static bool can_be_probabilities(const struct old_settings *settings)
{
    for (size_t i = 0; i < settings->share_targets.n; i++) {
        if (number_of(settings->weights_tensor, &settings->weights, i) < 0) {
            return false;
        }
    }
    return true;
}

/* To be called once the lengths of the weights are known to be right. */
static struct two_classes find_two_classes(const struct old_settings *settings, size_t n_classes,
                                           enum mdf_post_transform transform)
{
    const struct mdf_ints *classes = &settings->share_targets;
    struct two_classes two = {.binary = n_classes == 2 && classes->n > 0, .only = classes->n > 0 ? (size_t)classes->items[0] : 0};

    for (size_t i = 1; two.binary && i < classes->n; i++) {
        two.binary = classes->items[i] == classes->items[0];
    }
    two.left_to_1 =
        two.binary && (transform == MDF_POST_PROBIT || (transform == MDF_POST_NONE && can_be_probabilities(settings)));
    return two;
}

/* The score of the only class there is stays as it is, but for PROBIT, as in ONNX Runtime. */
static enum mdf_post_transform transform_of(size_t n_classes, enum mdf_post_transform transform)
{
    return n_classes == 1 && transform != MDF_POST_PROBIT ? MDF_POST_NONE : transform;
}

static void finish_row(const double *targets, size_t n_classes, const struct two_classes *two, enum mdf_post_transform transform,
                       double *scores)
{
    if (two->binary) {
        scores[1] = targets[two->only];
        scores[0] = two->left_to_1 ? mdf_single(1 - scores[1]) : -scores[1];
        mdf_post_transform_apply(transform, scores, 2);
        return;
    }
    memcpy(scores, targets, n_classes * sizeof *scores);
    mdf_post_transform_apply(transform, scores, n_classes);
}

static bool classifier(struct mdf_call *call)
{
    const struct old_settings *settings = call->settings;
    size_t n_classes = mdf_labels_count(&settings->labels), n_rows = 0, n_scores;
    struct two_classes two = {0};
    enum mdf_post_transform transform;
    struct mdf_workspace workspace;
    double *targets, *scores;
    int64_t *classes;

    if (!mdf_post_transform_named(call, settings->post_transform, &transform) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS + 2)) {
        return false;
    }
    if (n_classes == 0) {
        return mdf_call_error(call, MDF_VALUE, "neither classlabels_int64s nor classlabels_strings is given");
    }
    targets = run_old(&workspace, MDF_TREE_SUM, n_classes, &n_rows);
    two = targets != NULL ? find_two_classes(settings, n_classes, transform) : two;
    n_scores = two.binary ? 2 : n_classes;
    transform = transform_of(n_classes, transform);
    scores = targets == NULL ? NULL
                             : mdf_workspace_output(&workspace, 1, MDF_DTYPE_FLOAT32, 2,
                                                    (const int64_t[2]){(int64_t)n_rows, (int64_t)n_scores});
    classes = scores == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_INT64, n_rows);
    if (classes == NULL) {
        return false;
    }
    for (size_t row = 0; row < n_rows; row++) {
        double *of_row = scores + row * n_scores;

        finish_row(targets + row * n_classes, n_classes, &two, transform, of_row);
        classes[row] = n_classes > 1 ? mdf_largest_of(of_row, (int64_t)n_scores) : targets[row] > 0 ? 0 : -1;
    }
    return mdf_workspace_end(&workspace) && mdf_labels_output(call, &settings->labels, classes, n_rows);
}

/* ------------------------------------------------------------------ TreeEnsemble */

/* Where a branch leads: interior nodes come first, then the leaves. */
static int64_t branch_of(const struct mdf_ints *ids, const struct mdf_ints *leafs, size_t i)
{
    int64_t id = ids->items[i];

    return id < 0 || id > INT32_MAX ? -1 : leafs->items[i] != 0 ? (int64_t)ids->n + id : id;
}

static void fill_new_forest(const struct new_settings *settings, struct mdf_forest *forest)
{
    size_t n = settings->featureids.n, member = 0;

    for (size_t i = 0; i < forest->n_members; i++) {
        forest->members[i] = element_of(settings->members, i);
    }
    for (size_t i = 0; i < n; i++) {
        struct mdf_tree_node *node = &forest->nodes[i];

        *node = (struct mdf_tree_node){.split = element_of(settings->splits, i),
                                       .feature = settings->featureids.items[i],
                                       .next = {branch_of(&settings->false_ids, &settings->false_leafs, i),
                                                branch_of(&settings->true_ids, &settings->true_leafs, i)},
                                       .mode = (int64_t)element_of(settings->modes, i),
                                       .missing_is_true = i < settings->missing.n && settings->missing.items[i] != 0};
        if (node->mode == MDF_TREE_MEMBER) { /* sets end in NaN */
            node->first = (int64_t)member;
            while (member < forest->n_members && !isnan(forest->members[member])) {
                member++;
            }
            node->n = (int64_t)member - node->first;
            member += member < forest->n_members;
        }
    }
    for (size_t i = 0; i < forest->n_shares; i++) {
        forest->nodes[n + i] = (struct mdf_tree_node){.mode = MDF_TREE_LEAF, .first = (int64_t)i, .n = 1};
        forest->shares[i] = (struct mdf_tree_share){settings->leaf_targets.items[i], element_of(settings->weights, i)};
    }
    for (size_t i = 0; i < forest->n_roots; i++) {
        forest->roots[i] = settings->roots.items[i];
    }
}

static bool make_new_forest(struct mdf_call *call, struct mdf_forest *forest, size_t n_targets)
{
    const struct new_settings *settings = call->settings;
    size_t n = settings->featureids.n, n_leaves = settings->leaf_targets.n;
    bool is_new;

    if (!is_numbers(settings->modes) || !is_numbers(settings->splits) || !is_numbers(settings->weights) ||
        !is_numbers(settings->members) || settings->modes->length != n || settings->splits->length != n ||
        settings->weights->length != n_leaves || settings->true_ids.n != n || settings->false_ids.n != n ||
        settings->true_leafs.n != n || settings->false_leafs.n != n) {
        return refuse_lengths(call);
    }
    for (size_t i = 0; i < n; i++) {
        double mode = element_of(settings->modes, i);

        if (!(mode >= 0 && mode <= MDF_TREE_MEMBER)) {
            return mdf_call_error(call, MDF_VALUE, "there is no node mode %g", mode);
        }
    }
    *forest = (struct mdf_forest){.n_nodes = n + n_leaves,
                                  .n_roots = settings->roots.n,
                                  .n_shares = n_leaves,
                                  .n_members = settings->members != NULL ? settings->members->length : 0};
    if (!mdf_forest_prepare(call, forest, &is_new) || !is_new) {
        return call->context->error.code == MDF_OK;
    }
    fill_new_forest(settings, forest);
    return mdf_forest_check(call, forest, n_targets);
}

static bool tree_ensemble(struct mdf_call *call)
{
    const struct new_settings *settings = call->settings;
    size_t n_targets = settings->n_targets > 0 ? (size_t)settings->n_targets : 1, n_rows = 0, n_features = 0;
    int64_t transform = settings->post_transform == MDF_NOT_GIVEN ? MDF_POST_NONE : settings->post_transform;
    struct mdf_workspace workspace;
    struct mdf_forest forest;
    const double *x;
    double *y;

    if (settings->aggregate < MDF_TREE_AVERAGE || settings->aggregate > MDF_TREE_MAX || transform < 0 ||
        transform > MDF_POST_PROBIT) {
        return mdf_call_error(call, MDF_VALUE, "there is no aggregate_function %lld, or no post_transform %lld",
                              (long long)settings->aggregate, (long long)transform);
    }
    if (!make_new_forest(call, &forest, n_targets) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS)) {
        return false;
    }
    forest.single = is_single(call, settings->splits) && is_single(call, settings->weights);
    x = forest.single ? mdf_single_feature_rows(&workspace, &n_rows, &n_features)
                      : mdf_feature_rows(&workspace, &n_rows, &n_features);
    y = x == NULL ? NULL
                  : mdf_workspace_output(&workspace, 0, (mdf_dtype)call->inputs[0]->dtype, 2,
                                         (const int64_t[2]){(int64_t)n_rows, (int64_t)n_targets});
    if (y == NULL ||
        !mdf_forest_run(call, &forest, (enum mdf_tree_aggregate)settings->aggregate, x, n_rows, n_features, y, n_targets)) {
        return false;
    }
    for (size_t row = 0; row < n_rows; row++) {
        mdf_post_transform_apply((enum mdf_post_transform)transform, y + row * n_targets, n_targets);
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ as plain C: trees_routine.inc */

enum { N_TREE_NUMBERS = 15, N_NODE_NUMBERS = 7 };

static void write_forest(const struct mdf_forest *forest, int64_t *whole, double *real)
{
    for (size_t i = 0; i < forest->n_nodes; i++, whole += N_NODE_NUMBERS) {
        const struct mdf_tree_node *node = &forest->nodes[i];
        const int64_t numbers[N_NODE_NUMBERS] = {node->feature, node->next[0], node->next[1],        node->first,
                                                 node->n,       node->mode,    node->missing_is_true};

        memcpy(whole, numbers, sizeof numbers);
        *real++ = node->split;
    }
    memcpy(whole, forest->roots, forest->n_roots * sizeof *whole);
    for (size_t i = 0; i < forest->n_shares; i++) {
        whole[forest->n_roots + i] = forest->shares[i].target;
        *real++ = forest->shares[i].weight;
    }
    memcpy(real, forest->members, forest->n_members * sizeof *real);
}

/* What all routines have in common, with room for labels and base values. */
static bool plan_forest(struct mdf_call *call, const struct mdf_forest *forest, size_t n_targets, size_t n_labels, size_t n_base,
                        struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0];
    size_t n_whole = N_TREE_NUMBERS + N_NODE_NUMBERS * forest->n_nodes + forest->n_roots + forest->n_shares + n_labels;

    if (!mdf_routine_room(plan, n_whole, forest->n_nodes + forest->n_shares + forest->n_members + n_base)) {
        return false;
    }
    plan->dtype = (mdf_dtype)x->dtype;
    plan->whole[0] = x->rank == 2 ? mdf_value_shape(x)[0] : 1;
    plan->whole[1] = mdf_value_shape(x)[x->rank - 1];
    plan->whole[2] = (int64_t)n_targets;
    plan->whole[4] = forest->single;
    plan->whole[5] = (int64_t)forest->n_roots;
    plan->whole[7] = (int64_t)forest->n_nodes;
    plan->whole[8] = (int64_t)n_base;
    plan->whole[9] = (int64_t)n_targets;
    plan->whole[10] = (int64_t)n_labels;
    plan->whole[11] = -1;
    plan->whole[12] = (int64_t)forest->n_shares;
    plan->whole[13] = (int64_t)forest->n_members;
    plan->whole[14] = 0;
    write_forest(forest, plan->whole + N_TREE_NUMBERS, plan->real);
    plan->work_bytes = ((size_t)plan->whole[1] + n_targets + 2) * sizeof(double);
    return true;
}

static bool plan_old(struct mdf_call *call, enum mdf_tree_aggregate aggregate, size_t n_targets, size_t n_labels,
                     struct mdf_routine_plan *plan)
{
    const struct old_settings *settings = call->settings;
    size_t n_base = count_of(settings->base_tensor, &settings->base);
    struct mdf_workspace workspace;
    enum mdf_post_transform transform;
    struct mdf_forest forest;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, N_SLOTS) || !make_old_forest(&workspace, &forest, n_targets) ||
        !mdf_post_transform_named(call, settings->post_transform, &transform)) {
        return false;
    }
    forest.single = is_single(call, settings->values_tensor) && is_single(call, settings->weights_tensor);
    if (!plan_forest(call, &forest, n_targets, n_labels, n_base, plan)) {
        return false;
    }
    plan->whole[3] = (int64_t)aggregate;
    plan->whole[6] = (int64_t)transform;
    for (size_t i = 0; i < n_base; i++) {
        plan->real[plan->n_real - n_base + i] = number_of(settings->base_tensor, &settings->base, i);
    }
    return true;
}

static bool plan_regressor(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct old_settings *settings = call->settings;
    enum mdf_tree_aggregate aggregate = MDF_TREE_SUM;

    plan->function = "tree_targets";
    return aggregate_named(call, &aggregate) &&
           plan_old(call, aggregate, settings->n_targets > 0 ? (size_t)settings->n_targets : 1, 0, plan);
}

static bool plan_classifier(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct old_settings *settings = call->settings;
    size_t n = mdf_labels_count(&settings->labels);
    struct two_classes two;

    plan->function = "tree_classes";
    if (settings->labels.strings.items != NULL || !plan_old(call, MDF_TREE_SUM, n, n, plan)) {
        return false;
    }
    plan->whole[6] = (int64_t)transform_of(n, (enum mdf_post_transform)plan->whole[6]);
    if (n == 1 && plan->whole[6] != MDF_POST_NONE) {
        return false; /* the label is that of the score before */
    }
    two = find_two_classes(settings, n, (enum mdf_post_transform)plan->whole[6]);
    if (two.binary) {
        plan->whole[9] = 2;
        plan->whole[11] = (int64_t)two.only;
        plan->whole[14] = two.left_to_1;
    }
    memcpy(plan->whole + plan->n_whole - n, settings->labels.integers.items, n * sizeof *plan->whole);
    return true;
}

static bool plan_ensemble(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct new_settings *settings = call->settings;
    size_t n_targets = settings->n_targets > 0 ? (size_t)settings->n_targets : 1;
    struct mdf_forest forest;

    if (!make_new_forest(call, &forest, n_targets)) {
        return false;
    }
    forest.single = is_single(call, settings->splits) && is_single(call, settings->weights);
    if (!plan_forest(call, &forest, n_targets, 0, 0, plan)) {
        return false;
    }
    plan->function = "tree_elements";
    plan->whole[3] = settings->aggregate;
    plan->whole[6] = settings->post_transform == MDF_NOT_GIVEN ? MDF_POST_NONE : settings->post_transform;
    return true;
}

static const char no_leaf[] = "a tree has no leaf for a row";

const struct mdf_operator mdf_operators_ml_trees[] = {
    {"TreeEnsemble", 5, 99, tree_ensemble, ensemble_table, sizeof(struct new_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .routine = MDF_ROUTINE(plan_ensemble, no_leaf)},
    {"TreeEnsembleClassifier", 1, 99, classifier, classifier_table, sizeof(struct old_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .routine = MDF_ROUTINE(plan_classifier, no_leaf)},
    {"TreeEnsembleRegressor", 1, 99, regressor, regressor_table, sizeof(struct old_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .routine = MDF_ROUTINE(plan_regressor, no_leaf)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
