/* test_svm.c - support vector machines: sums of kernels in vectors, and of pairs of classes side by side, have the bits of those
 * that are made one by one. */
#include "functions/onnx_ml/scores.h"
#include "functions/onnx_ml/svm_steps.h"
#include "functions/onnx_ml/svm_sums.h"
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_VECTORS = 80, MOST_FEATURES = 9, MOST_CLASSES = 8 };

static double pick_number(bool is_wild)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 0x1p-140, 0x1p127, 0x1p-70};

    return is_wild && kernel_pick(0, 9) == 0 ? wild[kernel_pick(0, 7)]
                                             : (double)((float)kernel_pick(-100000, 100000) / (float)kernel_pick(1, 999));
}

static bool is_same(double x, double y)
{
    return (isnan(x) && isnan(y)) || memcmp(&x, &y, sizeof x) == 0;
}

static void check_blocks(bool is_distance, size_t n_vectors, size_t n, bool is_wild)
{
    double vectors[MOST_VECTORS * MOST_FEATURES], row[MOST_FEATURES], sums[MDF_SVM_BLOCK];
    float blocks[(MOST_VECTORS + MDF_SVM_BLOCK) * MOST_FEATURES];
    mdf_svm_block_sums add = mdf_svm_block_sums_for(is_distance);

    for (size_t i = 0; i < n_vectors * n; i++) {
        double number = pick_number(is_wild);

        vectors[i] = isnan(number) ? 1 : number;
    }
    for (size_t i = 0; i < n; i++) {
        row[i] = pick_number(is_wild);
    }
    cr_assert(mdf_svm_lay_out(n_vectors, n, vectors, blocks));
    for (size_t k = 0; add != NULL && k < n_vectors; k++) {
        double wanted = 0;

        if (k % MDF_SVM_BLOCK == 0) {
            add(n, row, blocks + k * n, sums);
        }
        for (size_t i = 0; i < n; i++) {
            wanted = mdf_svm_step_of(is_distance, wanted, row[i], vectors[k * n + i]);
        }
        cr_assert(is_same(sums[k % MDF_SVM_BLOCK], wanted), "%d: vector %zu of %zu, %zu features: %a for %a", is_distance, k,
                  n_vectors, n, sums[k % MDF_SVM_BLOCK], wanted);
    }
}

Test(svm, sums_in_vectors_are_those_of_each_vector)
{
    for (size_t n_vectors = 1; n_vectors < MOST_VECTORS; n_vectors += 3) {
        for (size_t n = 0; n <= MOST_FEATURES; n++) {
            check_blocks(n % 2 == 0, n_vectors, n, n_vectors % 2 == 0);
            check_blocks(n % 2 != 0, n_vectors, n, n_vectors % 2 != 0);
        }
    }
}

/* Numbers that are none of float32, or are no numbers, are left to the plain way. */
Test(svm, numbers_of_float64_are_not_laid_out)
{
    float blocks[2 * MDF_SVM_BLOCK];

    cr_expect(mdf_svm_lay_out(1, 2, (const double[2]){0.5, 3}, blocks));
    cr_expect_not(mdf_svm_lay_out(1, 2, (const double[2]){0.5, 0.1}, blocks));
    cr_expect_not(mdf_svm_lay_out(1, 2, (const double[2]){NAN, 1}, blocks));
}

/* Rows are regressed several at a time, kernels of a row in blocks: each is what it is alone. */
static void check_regression(int64_t kind, const char *kernel, int64_t n_rows, int64_t n_vectors)
{
    enum { N = 3 };
    double coefficients[MOST_VECTORS], vectors[MOST_VECTORS * N], parameters[] = {0.25, -0.5, 3}, rho[] = {0.125};
    struct kernel_call call;
    const struct mdf_value *x;

    kernel_begin(&call, "SVMRegressor", 1);
    x = kernel_add(&call, MDF_DTYPE_FLOAT32, 2, (const int64_t[]){n_rows, N}, NUMBERS_SHORT, false);
    for (int64_t i = 0; i < n_vectors * N; i++) {
        vectors[i] = (double)kernel_pick(-9, 9) / 8;
        coefficients[i / N] = (double)((float)kernel_pick(-99, 99) / 7.0f);
    }
    kernel_set_text(&call, "kernel_type", kernel);
    kernel_set_int(&call, "n_supports", n_vectors);
    *(struct mdf_floats *)kernel_field(&call, "coefficients") = (struct mdf_floats){coefficients, (size_t)n_vectors};
    *(struct mdf_floats *)kernel_field(&call, "support_vectors") = (struct mdf_floats){vectors, (size_t)(n_vectors * N)};
    *(struct mdf_floats *)kernel_field(&call, "kernel_params") = (struct mdf_floats){parameters, 3};
    *(struct mdf_floats *)kernel_field(&call, "rho") = (struct mdf_floats){rho, 1};
    kernel_run(&call);
    for (int64_t row = 0; row < n_rows; row++) {
        double numbers[N], sum = 0;

        for (int64_t i = 0; i < N; i++) {
            numbers[i] = kernel_number(x, (size_t)(row * N + i));
        }
        for (int64_t k = 0; k < n_vectors; k++) {
            sum = mdf_single(sum + coefficients[k] * mdf_svm_kernel(kind, parameters, numbers, vectors + k * N, N, 0));
        }
        kernel_check(&call, 0, (size_t)row, mdf_single(sum + rho[0]), 0);
    }
    kernel_end(&call);
}

Test(svm, rows_together_are_those_alone)
{
    static const char *const kernels[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};

    for (int64_t i = 0; i < 80; i++) {
        check_regression(i % 4, kernels[i % 4], kernel_pick(1, 19), kernel_pick(1, MOST_VECTORS));
    }
}

/* The sum of a pair as it is defined: the vectors of its first class, then those of the second. */
static double sum_pair(int64_t i, int64_t j, const int64_t *counts, int64_t n_vectors, const double *coefficients,
                       const double *kernels)
{
    int64_t first_i = 0, first_j = 0;
    double sum = 0;

    for (int64_t of = 0; of < j; of++) {
        first_i += of < i ? counts[of] : 0;
        first_j += counts[of];
    }
    for (int64_t k = first_i; k < first_i + counts[i]; k++) {
        sum += mdf_single(coefficients[(j - 1) * n_vectors + k] * kernels[k]);
    }
    for (int64_t k = first_j; k < first_j + counts[j]; k++) {
        sum += mdf_single(coefficients[i * n_vectors + k] * kernels[k]);
    }
    return sum;
}

static void check_pairs(int64_t n_classes)
{
    int64_t counts[MOST_CLASSES], n_vectors = 0, pair = 0;
    double coefficients[MOST_CLASSES * MOST_VECTORS], kernels[MOST_VECTORS], rho[2] = {0.25, -3};
    double sums[MOST_CLASSES * MOST_CLASSES], votes[MOST_CLASSES], wanted[MOST_CLASSES] = {0};

    for (int64_t i = 0; i < n_classes; i++) {
        counts[i] = kernel_pick(0, MOST_VECTORS / MOST_CLASSES);
        n_vectors += counts[i];
    }
    for (int64_t i = 0; i < n_classes * n_vectors; i++) {
        coefficients[i] = pick_number(false);
    }
    for (int64_t i = 0; i < n_vectors; i++) {
        kernels[i] = pick_number(false);
    }
    mdf_svm_pairs(n_classes, counts, n_vectors, coefficients, rho, 2, kernels, sums, votes);
    for (int64_t i = 0; i < n_classes; i++) {
        for (int64_t j = i + 1; j < n_classes; j++, pair++) {
            double sum = sum_pair(i, j, counts, n_vectors, coefficients, kernels) + (pair < 2 ? rho[pair] : 0);

            cr_assert(is_same(sums[pair], mdf_single(sum)), "pair %d of %d classes", (int)pair, (int)n_classes);
            wanted[sum > 0 ? i : j]++;
        }
    }
    cr_assert_eq(memcmp(votes, wanted, (size_t)n_classes * sizeof *votes), 0);
}

Test(svm, sums_of_pairs_are_those_of_each_pair)
{
    for (int i = 0; i < 200; i++) {
        check_pairs(1 + i % MOST_CLASSES);
    }
}
