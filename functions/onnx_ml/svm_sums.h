/* svm_sums.h - the sums that kernels of support vectors are made of, of a row with MDF_SVM_BLOCK vectors at a time. They have the
 * bits of those of svm_steps_routine.inc. */
#ifndef MDF_FUNCTIONS_ONNX_ML_SVM_SUMS_H
#define MDF_FUNCTIONS_ONNX_ML_SVM_SUMS_H

#include <stdbool.h>
#include <stddef.h>

enum { MDF_SVM_BLOCK = 32 };

/* row: n numbers of float32; block: [n][MDF_SVM_BLOCK]. */
typedef void (*mdf_svm_block_sums)(size_t n, const double *row, const float *block, double sums[MDF_SVM_BLOCK]);

/* Of scalar products, or of distances; NULL where the processor has no vectors for it. */
mdf_svm_block_sums mdf_svm_block_sums_for(bool is_distance);

/* Whole blocks for so many vectors, whose last one is filled up with zeros. */
size_t mdf_svm_count_blocks(size_t n_vectors);
/* Lays `n_vectors` rows of n numbers out as blocks; false: one of them is none of float32. */
bool mdf_svm_lay_out(size_t n_vectors, size_t n, const double *vectors, float *blocks);

#endif
