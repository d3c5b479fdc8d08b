/* svm_sums.c - see svm_sums.h. Each lane is a vector's sum. A step of a distance is three operations of float32, which a
 * difference, a product and a sum in float64 that are rounded to float32 are too; one of a scalar product is fused. */
#include "functions/onnx_ml/svm_sums.h"

#include "mdf_c/base/processor.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum { FLOATS = 8 };

__attribute__((target("avx2,fma"), always_inline)) static inline void add_up(bool is_distance, size_t n, const double *row,
                                                                             const float *block, double sums[MDF_SVM_BLOCK])
{
    __m256 totals[MDF_SVM_BLOCK / FLOATS];
    float narrow[MDF_SVM_BLOCK];

    for (int v = 0; v < MDF_SVM_BLOCK / FLOATS; v++) {
        totals[v] = _mm256_setzero_ps();
    }
    for (size_t i = 0; i < n; i++, block += MDF_SVM_BLOCK) {
        __m256 x = _mm256_set1_ps((float)row[i]);

#pragma GCC unroll 4
        for (int v = 0; v < MDF_SVM_BLOCK / FLOATS; v++) {
            __m256 y = _mm256_loadu_ps(block + v * FLOATS), difference = _mm256_sub_ps(x, y);

            totals[v] =
                is_distance ? _mm256_add_ps(totals[v], _mm256_mul_ps(difference, difference)) : _mm256_fmadd_ps(x, y, totals[v]);
        }
    }
    for (int v = 0; v < MDF_SVM_BLOCK / FLOATS; v++) {
        _mm256_storeu_ps(narrow + v * FLOATS, totals[v]);
    }
    for (int k = 0; k < MDF_SVM_BLOCK; k++) {
        sums[k] = (double)narrow[k];
    }
}

__attribute__((target("avx2,fma"))) static void add_distances(size_t n, const double *row, const float *block,
                                                              double sums[MDF_SVM_BLOCK])
{
    add_up(true, n, row, block, sums);
}

__attribute__((target("avx2,fma"))) static void add_products(size_t n, const double *row, const float *block,
                                                             double sums[MDF_SVM_BLOCK])
{
    add_up(false, n, row, block, sums);
}

mdf_svm_block_sums mdf_svm_block_sums_for(bool is_distance)
{
    return !mdf_has_avx2() ? NULL : is_distance ? add_distances : add_products;
}
#else
mdf_svm_block_sums mdf_svm_block_sums_for(bool is_distance)
{
    (void)is_distance;
    return NULL;
}
#endif

size_t mdf_svm_count_blocks(size_t n_vectors)
{
    return (n_vectors + MDF_SVM_BLOCK - 1) / MDF_SVM_BLOCK;
}

bool mdf_svm_lay_out(size_t n_vectors, size_t n, const double *vectors, float *blocks)
{
    for (size_t k = 0; k < mdf_svm_count_blocks(n_vectors) * MDF_SVM_BLOCK; k++) {
        size_t to = k / MDF_SVM_BLOCK * MDF_SVM_BLOCK * n + k % MDF_SVM_BLOCK;

        for (size_t i = 0; i < n; i++, to += MDF_SVM_BLOCK) {
            double number = k < n_vectors ? vectors[k * n + i] : 0;

            if ((double)(float)number != number) {
                return false;
            }
            blocks[to] = (float)number;
        }
    }
    return true;
}
