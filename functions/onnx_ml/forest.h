/* forest.h - decision trees, in one form for all operators that have them.
 *
 * A forest is made once for a call, from attributes, and kept in its scratch values 1 and 2. */
#ifndef MDF_FUNCTIONS_ONNX_ML_FOREST_H
#define MDF_FUNCTIONS_ONNX_ML_FOREST_H

#include "functions/kernel/workspace.h"

enum mdf_tree_mode {
    MDF_TREE_LEQ,
    MDF_TREE_LT,
    MDF_TREE_GTE,
    MDF_TREE_GT,
    MDF_TREE_EQ,
    MDF_TREE_NEQ,
    MDF_TREE_MEMBER, /* of the members [first, first + n) */
    MDF_TREE_LEAF    /* with the shares [first, first + n) */
};

struct mdf_tree_node {
    double split;
    int64_t feature;
    int64_t next[2]; /* where the comparison is false, true */
    int64_t first, n;
    int64_t mode, missing_is_true;
};

/* The same node for walks of several rows at a time. A leaf leads to itself. */
struct mdf_tree_step {
    double split;
    int32_t next[2], feature, missing_is_true;
};

/* Of a forest whose comparisons are all of one kind, and no search among members. */
struct mdf_tree_walks {
    int64_t mode;       /* that kind; MDF_TREE_LEAF: there are no such walks */
    int64_t n_features; /* that are looked at: as many have to be there */
};

/* What a leaf adds to a target. */
struct mdf_tree_share {
    int64_t target;
    double weight;
};

struct mdf_forest {
    struct mdf_tree_node *nodes;
    struct mdf_tree_step *steps; /* one a node */
    struct mdf_tree_walks *walks;
    int64_t *roots;
    struct mdf_tree_share *shares;
    double *members;
    size_t n_nodes, n_roots, n_shares, n_members;
    bool single; /* sums are float32 */
};

enum mdf_tree_aggregate { MDF_TREE_AVERAGE, MDF_TREE_SUM, MDF_TREE_MIN, MDF_TREE_MAX };

/* How many trees the call's forest has, if it is there already; else 0. */
size_t mdf_forest_known_roots(const struct mdf_call *call);
/* Room for a forest of these sizes; *is_new: it has to be filled. False with the error set. */
bool mdf_forest_prepare(struct mdf_call *call, struct mdf_forest *forest, bool *is_new);
/* Checks what was filled in: children, features, shares and targets are there; makes the steps. False with the error set; the
 * forest is let go then. */
bool mdf_forest_check(struct mdf_call *call, const struct mdf_forest *forest, size_t n_targets);
/* Lets go of a forest that was not filled. Returns false. */
bool mdf_forest_drop(struct mdf_call *call);

/* The targets of each of `n_rows` rows of `n_features` features: leaves of all trees taken together. False with the error set. */
bool mdf_forest_run(struct mdf_call *call, const struct mdf_forest *forest, enum mdf_tree_aggregate aggregate, const double *x,
                    size_t n_rows, size_t n_features, double *targets, size_t n_targets);

#endif
