/* scores.h - what models of ai.onnx.ml do with scores: transform them, and name the class of the largest. */
#ifndef MDF_FUNCTIONS_ONNX_ML_SCORES_H
#define MDF_FUNCTIONS_ONNX_ML_SCORES_H

#include "functions/kernel/workspace.h"

#include <math.h>

/* gcc before 14 leaves out (double)(float)x where it makes vectors of statements. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14
#pragma GCC optimize("no-tree-slp-vectorize")
#endif
#include "functions/onnx_ml/scores_routine.inc"

enum mdf_post_transform {
    MDF_POST_NONE,
    MDF_POST_SOFTMAX,
    MDF_POST_LOGISTIC,
    MDF_POST_SOFTMAX_ZERO, /* softmax, in which a score of zero stays (nearly) zero */
    MDF_POST_PROBIT
};

/* The transform of a name; false with the error set. */
bool mdf_post_transform_named(struct mdf_call *call, const char *name, enum mdf_post_transform *transform);
/* Transforms a row of scores, in float32. */
void mdf_post_transform_apply(enum mdf_post_transform transform, double *scores, size_t n);

/* Rows and features of input 0, which is of rank 2, or of rank 1 (one row), in the workspace's type, float64. NULL with the error
 * set. */
const double *mdf_feature_rows(struct mdf_workspace *workspace, size_t *n_rows, size_t *n_features);
/* The same, each the float32 nearest to it. */
const double *mdf_single_feature_rows(struct mdf_workspace *workspace, size_t *n_rows, size_t *n_features);

/* Class labels: strings or integers. */
struct mdf_labels {
    struct mdf_strings strings;
    struct mdf_ints integers;
};

size_t mdf_labels_count(const struct mdf_labels *labels);
/* Output 0: for each row the label of its class; class -1: no label, 0 or the empty string. False with the error set. */
bool mdf_labels_output(struct mdf_call *call, const struct mdf_labels *labels, const int64_t *classes, size_t n_rows);

#endif
