/* test_product_oracles.c - matrix products and Einsum against their definitions: arrays of all ranks that broadcast, integers
 * that wrap, sizes of 0, operands that share labels in any way. */
#include "functions/products/byte_words.h"
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "functions/products/requantise_routine.inc"

enum { MAX_RANK = 5, N_CASES = 150 };

static int64_t pick_size(void)
{
    if (kernel_pick(0, 5) > 0) {
        return kernel_pick(0, 20) == 0 ? 0 : kernel_pick(1, 6);
    }
    return kernel_pick(0, 9) == 0 ? kernel_pick(129, 300) : kernel_pick(17, 70);
}

/* ------------------------------------------------------------------ MatMul */

/* The product of matrices; what lies before the last two axes broadcasts. A vector is a row on the left, a column on the right.
 */
struct matrices {
    int64_t a_shape[MAX_RANK], b_shape[MAX_RANK], result[MAX_RANK];
    size_t a_rank, b_rank, rank; /* of the result with its axes of size 1 for vectors */
    int64_t m, k, n;
};

static struct matrices pick_matrices(void)
{
    struct matrices matrices = {.m = pick_size(), .k = pick_size(), .n = pick_size()};
    size_t n_outer = (size_t)kernel_pick(0, 3), a_outer = (size_t)kernel_pick(0, (int64_t)n_outer), b_outer = n_outer;

    if (kernel_pick(0, 1) == 1) {
        b_outer = a_outer;
        a_outer = n_outer;
    }
    matrices.a_rank = a_outer + 2;
    matrices.b_rank = b_outer + 2;
    matrices.rank = n_outer + 2;
    for (size_t i = 0; i < n_outer; i++) {
        int64_t size = kernel_pick(0, 15) == 0 ? 0 : kernel_pick(1, 3);
        bool in_a = i + a_outer >= n_outer, in_b = i + b_outer >= n_outer;
        int64_t in_a_size = kernel_pick(0, 2) == 0 ? 1 : size, in_b_size = kernel_pick(0, 2) == 0 ? 1 : size;

        matrices.result[i] = (in_a && in_a_size != 1) || (in_b && in_b_size != 1) ? size : 1;
        if (in_a) {
            matrices.a_shape[i + a_outer - n_outer] = in_a_size;
        }
        if (in_b) {
            matrices.b_shape[i + b_outer - n_outer] = in_b_size;
        }
    }
    matrices.a_shape[a_outer] = matrices.result[n_outer] = matrices.m;
    matrices.a_shape[a_outer + 1] = matrices.b_shape[b_outer] = matrices.k;
    matrices.b_shape[b_outer + 1] = matrices.result[n_outer + 1] = matrices.n;
    return matrices;
}

/* The first element of the matrix of an operand that takes part in a matrix of the result. */
static size_t matrix_of(const int64_t *shape, size_t rank, const struct matrices *matrices, const int64_t *index)
{
    size_t place = 0;

    for (size_t i = 0; i + 2 < rank; i++) {
        place = place * (size_t)shape[i] + (shape[i] == 1 ? 0 : (size_t)index[matrices->rank - rank + i]);
    }
    return place * (size_t)(shape[rank - 2] * shape[rank - 1]);
}

struct sums {
    double real;
    int64_t whole; /* wraps */
};

static struct sums multiply(const struct matrices *matrices, const struct mdf_value *a, const struct mdf_value *b,
                            const int64_t *index, int64_t a_zero, int64_t b_zero)
{
    size_t rank = matrices->rank, k = (size_t)matrices->k, n = (size_t)matrices->n;
    size_t row = matrix_of(matrices->a_shape, matrices->a_rank, matrices, index) + (size_t)index[rank - 2] * k;
    size_t column = matrix_of(matrices->b_shape, matrices->b_rank, matrices, index) + (size_t)index[rank - 1];
    struct sums sums = {0, 0};

    for (size_t i = 0; i < k; i++) {
        sums.real += kernel_number(a, row + i) * kernel_number(b, column + i * n);
        sums.whole += (kernel_whole(a, row + i) - a_zero) * (kernel_whole(b, column + i * n) - b_zero);
    }
    return sums;
}

/* What a whole number of a type keeps of a sum. */
static double kept(mdf_dtype dtype, int64_t sum)
{
    return dtype == MDF_DTYPE_INT32    ? (double)(int32_t)(uint32_t)sum
           : dtype == MDF_DTYPE_UINT32 ? (double)(uint32_t)sum
           : dtype == MDF_DTYPE_INT8   ? (double)(int8_t)(uint8_t)sum
                                       : (double)sum;
}

static void check_matmul(mdf_dtype dtype, double tolerance)
{
    struct matrices matrices = pick_matrices();
    bool a_is_row = matrices.a_rank == 2 && kernel_pick(0, 3) == 0, b_is_column = matrices.b_rank == 2 && kernel_pick(0, 3) == 0;
    int64_t result[MAX_RANK], index[MAX_RANK];
    const struct mdf_value *a, *b;
    struct kernel_call call;
    size_t rank = 0;

    if (a_is_row) {
        matrices.m = matrices.a_shape[0] = matrices.result[matrices.rank - 2] = 1;
    }
    if (b_is_column) {
        matrices.n = matrices.b_shape[1] = matrices.result[matrices.rank - 1] = 1;
    }
    for (size_t i = 0; i < matrices.rank; i++) {
        if (!(a_is_row && i + 2 == matrices.rank) && !(b_is_column && i + 1 == matrices.rank)) {
            result[rank++] = matrices.result[i];
        }
    }
    kernel_begin(&call, "MatMul", 13);
    a = kernel_add(&call, dtype, a_is_row ? 1 : matrices.a_rank, a_is_row ? matrices.a_shape + 1 : matrices.a_shape,
                   NUMBERS_SHORT, kernel_pick(0, 3) == 0);
    b = kernel_add(&call, dtype, b_is_column ? 1 : matrices.b_rank, matrices.b_shape, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_index(matrices.rank, matrices.result, i, index);
        kernel_check(&call, 0, i, multiply(&matrices, a, b, index, 0, 0).real, tolerance);
    }
    kernel_end(&call);
}

/* Products of numbers of few digits are exact; results of float16 and bfloat16 are rounded once. */
Test(product_oracles, matmul)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_matmul(MDF_DTYPE_FLOAT32, 0);
        check_matmul(MDF_DTYPE_FLOAT64, 0);
        check_matmul(MDF_DTYPE_INT32, 0);
        check_matmul(MDF_DTYPE_UINT64, 0);
        check_matmul(MDF_DTYPE_FLOAT16, 0.02);
        check_matmul(MDF_DTYPE_BFLOAT16, 0.2);
    }
}

static void check_matmul_integer(mdf_dtype a_dtype, mdf_dtype b_dtype)
{
    struct matrices matrices = pick_matrices();
    const struct mdf_value *a, *b, *zeros[2];
    int64_t index[MAX_RANK];
    struct kernel_call call;

    kernel_begin(&call, "MatMulInteger", 10);
    a = kernel_add(&call, a_dtype, matrices.a_rank, matrices.a_shape, NUMBERS_WILD, false);
    b = kernel_add(&call, b_dtype, matrices.b_rank, matrices.b_shape, NUMBERS_WILD, kernel_pick(0, 1) == 1);
    zeros[0] = kernel_add_quantisation(&call, a_dtype, matrices.m);
    zeros[1] = kernel_add_quantisation(&call, b_dtype, matrices.n);
    kernel_run(&call);
    kernel_check_shape(&call, 0, matrices.rank, matrices.result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        int64_t a_zero, b_zero;

        kernel_index(matrices.rank, matrices.result, i, index);
        a_zero = (int64_t)kernel_number_for(zeros[0], index[matrices.rank - 2]);
        b_zero = (int64_t)kernel_number_for(zeros[1], index[matrices.rank - 1]);
        kernel_check(&call, 0, i, (double)multiply(&matrices, a, b, index, a_zero, b_zero).whole, 0);
    }
    kernel_end(&call);
}

static void check_qlinear_matmul(mdf_dtype a_dtype, mdf_dtype b_dtype, mdf_dtype y_dtype)
{
    struct matrices matrices = pick_matrices();
    const struct mdf_value *a, *b, *scales[3], *zeros[3];
    int64_t index[MAX_RANK];
    struct kernel_call call;

    kernel_begin(&call, "QLinearMatMul", 21);
    a = kernel_add(&call, a_dtype, matrices.a_rank, matrices.a_shape, NUMBERS_WILD, false);
    scales[0] = kernel_add_quantisation(&call, MDF_DTYPE_FLOAT32, matrices.m);
    zeros[0] = kernel_add_quantisation(&call, a_dtype, matrices.m);
    b = kernel_add(&call, b_dtype, matrices.b_rank, matrices.b_shape, NUMBERS_WILD, kernel_pick(0, 1) == 1);
    scales[1] = kernel_add_quantisation(&call, MDF_DTYPE_FLOAT32, matrices.n);
    zeros[1] = kernel_add_quantisation(&call, b_dtype, matrices.n);
    scales[2] = kernel_add_quantisation(&call, MDF_DTYPE_FLOAT32, matrices.m);
    zeros[2] = kernel_add_quantisation(&call, y_dtype, matrices.m);
    kernel_run(&call);
    kernel_check_shape(&call, 0, matrices.rank, matrices.result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        int64_t row, column;
        float scale;

        kernel_index(matrices.rank, matrices.result, i, index);
        row = index[matrices.rank - 2];
        column = index[matrices.rank - 1];
        scale = (float)kernel_number_for(scales[0], row) * (float)kernel_number_for(scales[1], column);
        scale /= (float)kernel_number_for(scales[2], row);
        kernel_check_quantised(&call, i,
                               (double)multiply(&matrices, a, b, index, (int64_t)kernel_number_for(zeros[0], row),
                                                (int64_t)kernel_number_for(zeros[1], column))
                                   .whole,
                               scale, kernel_number_for(zeros[2], row));
    }
    kernel_end(&call);
}

Test(product_oracles, integer_matmul)
{
    static const mdf_dtype bytes[] = {MDF_DTYPE_UINT8, MDF_DTYPE_INT8};

    for (size_t i = 0; i < 4 * N_CASES; i++) {
        check_matmul_integer(bytes[i % 2], bytes[i / 2 % 2]);
        check_qlinear_matmul(bytes[i % 2], bytes[i / 2 % 2], bytes[kernel_pick(0, 1)]);
    }
}

static void check_whole_matmul(mdf_dtype dtype, const int64_t *a_shape, const int64_t *b_shape, bool b_is_constant)
{
    const struct mdf_value *a, *b;
    struct kernel_call call;
    int64_t n = b_shape[1], k = b_shape[0];

    kernel_begin(&call, "MatMul", 13);
    a = kernel_add(&call, dtype, 2, a_shape, NUMBERS_WILD, false);
    b = kernel_add(&call, dtype, 2, b_shape, NUMBERS_WILD, b_is_constant);
    kernel_run(&call);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        int64_t row = (int64_t)i / n, column = (int64_t)i % n;
        uint64_t sum = 0;

        for (int64_t p = 0; p < k; p++) {
            sum += (uint64_t)kernel_whole(a, (size_t)(row * k + p)) * (uint64_t)kernel_whole(b, (size_t)(p * n + column));
        }
        kernel_check(&call, 0, i, kept(dtype, (int64_t)sum), 0);
    }
    kernel_end(&call);
}

/* Whole numbers of any size are multiplied in vectors, and wrap: as rows, as scalar products and as columns. */
Test(product_oracles, whole_matmul_wraps)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_INT32, MDF_DTYPE_UINT32};

    for (size_t i = 0; i < 2 * N_CASES; i++) {
        int64_t m = kernel_pick(1, 20), k = kernel_pick(1, 90), n = kernel_pick(0, 3) == 0 ? 1 : kernel_pick(1, 150);

        check_whole_matmul(dtypes[i % 2], (const int64_t[2]){m, k}, (const int64_t[2]){k, n}, i / 2 % 2 == 1);
    }
}

/* Sums of 32 bits wrap. */
Test(product_oracles, integer_matmul_wraps)
{
    const int64_t a_shape[] = {2, 70000}, b_shape[] = {70000, 3};
    struct mdf_value *a, *b;
    struct kernel_call call;

    kernel_begin(&call, "MatMulInteger", 10);
    a = kernel_add(&call, MDF_DTYPE_UINT8, 2, a_shape, NUMBERS_WILD, false);
    b = kernel_add(&call, MDF_DTYPE_UINT8, 2, b_shape, NUMBERS_WILD, true);
    memset(a->data, 255, a->length);
    memset(b->data, 255, b->length);
    kernel_run(&call);
    for (size_t i = 0; i < 6; i++) {
        kernel_check(&call, 0, i, 255.0 * 255.0 * 70000 - 4294967296.0, 0);
    }
    kernel_end(&call);
}

static void check_other_rows(int64_t k, int64_t n)
{
    static const int64_t rows[] = {9, 1, 9, 2, 3};
    struct mdf_value *a, *b;
    struct kernel_call call;

    kernel_begin(&call, "MatMulInteger", 10);
    a = kernel_add(&call, MDF_DTYPE_UINT8, 2, (const int64_t[2]){9, k}, NUMBERS_SHORT, false);
    b = kernel_add(&call, MDF_DTYPE_INT8, 2, (const int64_t[2]){k, n}, NUMBERS_WILD, true);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t *elements = mdf_value_make_tensor(&call.memory, a, MDF_DTYPE_UINT8, 2, (const int64_t[2]){rows[i], k});

        for (size_t at = 0; at < a->length; at++) {
            elements[at] = (uint8_t)kernel_pick(200, 255);
        }
        kernel_run(&call);
        for (int64_t at = 0; at < rows[i] * n; at++) {
            int64_t sum = 0;

            for (int64_t p = 0; p < k; p++) {
                sum += kernel_whole(a, (size_t)(at / n * k + p)) * kernel_whole(b, (size_t)(p * n + at % n));
            }
            kernel_check(&call, 0, (size_t)at, (double)sum, 0);
        }
    }
    kernel_end(&call);
}

/* A constant matrix is kept in one form for many rows and in another for few, of the same size where it is small. */
Test(product_oracles, integer_matmul_of_other_rows)
{
    check_other_rows(2, 3);
    check_other_rows(37, 21);
}

static void check_gemm(mdf_dtype dtype)
{
    static const double factors[] = {0, 1, -1, 0.5, 2};
    int64_t m = pick_size(), k = pick_size(), n = pick_size(), turn_a = kernel_pick(0, 1), turn_b = kernel_pick(0, 1);
    const int64_t c_shapes[][2] = {{m, n}, {1, n}, {m, 1}, {1, 1}, {n, 0}};
    size_t form = (size_t)kernel_pick(0, 5), c_rank = form == 4 ? 1 : 2;
    bool is_real = mdf_dtype_kind(dtype) == 'f';
    double alpha = is_real ? factors[kernel_pick(0, 4)] : 1, beta = is_real ? factors[kernel_pick(0, 4)] : 1;
    const struct mdf_value *a, *b, *c = NULL;
    struct kernel_call call;

    kernel_begin(&call, "Gemm", 13);
    kernel_set_int(&call, "transA", turn_a);
    kernel_set_int(&call, "transB", turn_b);
    *(double *)kernel_field(&call, "alpha") = alpha;
    *(double *)kernel_field(&call, "beta") = beta;
    a = kernel_add(&call, dtype, 2, turn_a ? (const int64_t[2]){k, m} : (const int64_t[2]){m, k}, NUMBERS_SHORT, false);
    b = kernel_add(&call, dtype, 2, turn_b ? (const int64_t[2]){n, k} : (const int64_t[2]){k, n}, NUMBERS_SHORT,
                   kernel_pick(0, 1) == 1);
    if (form < 5) {
        c = kernel_add(&call, dtype, c_rank, c_shapes[form], NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, 2, (const int64_t[2]){m, n});
    for (int64_t i = 0; i < m * n; i++) {
        int64_t row = i / n, column = i % n;
        double sum = 0;

        for (int64_t p = 0; p < k; p++) {
            sum += kernel_number(a, (size_t)(turn_a ? p * m + row : row * k + p)) *
                   kernel_number(b, (size_t)(turn_b ? column * k + p : p * n + column));
        }
        sum *= alpha;
        if (c != NULL) {
            bool by_row = form == 0 || form == 2, by_column = form != 2 && form != 3;

            sum += beta * kernel_number(c, (size_t)((by_row ? row : 0) * (form == 0 ? n : 1) + (by_column ? column : 0)));
        }
        kernel_check(&call, 0, (size_t)i, mdf_dtype_kind(dtype) == 'f' ? sum : kept(dtype, (int64_t)sum), 0);
    }
    kernel_end(&call);
}

Test(product_oracles, gemm)
{
    for (size_t i = 0; i < 3 * N_CASES; i++) {
        check_gemm(MDF_DTYPE_INT32);
        check_gemm(MDF_DTYPE_UINT32);
        check_gemm(MDF_DTYPE_INT64);
        check_gemm(MDF_DTYPE_FLOAT32);
        check_gemm(MDF_DTYPE_FLOAT64);
    }
}

/* ------------------------------------------------------------------ Einsum */

enum { MAX_LABELS = 6, MAX_OPERANDS = 3 };

/* Labels are numbers from 0 on, letters from 'a' on in the text. */
struct equation {
    size_t n_operands, ranks[MAX_OPERANDS + 1]; /* the last: of the result */
    size_t labels[MAX_OPERANDS + 1][MAX_RANK];
    int64_t sizes[MAX_LABELS];
    char text[64];
};

static struct equation pick_equation(void)
{
    struct equation equation = {.n_operands = (size_t)kernel_pick(1, MAX_OPERANDS)};
    bool used[MAX_LABELS] = {false}, taken[MAX_LABELS] = {false};
    size_t at = 0, *result = equation.labels[equation.n_operands];

    for (size_t i = 0; i < MAX_LABELS; i++) {
        equation.sizes[i] = kernel_pick(0, 30) == 0 ? 0 : kernel_pick(0, 9) == 0 ? kernel_pick(8, 20) : kernel_pick(1, 4);
    }
    for (size_t k = 0; k < equation.n_operands; k++) {
        equation.ranks[k] = (size_t)kernel_pick(0, 4);
        for (size_t i = 0; i < equation.ranks[k]; i++) {
            equation.labels[k][i] = (size_t)kernel_pick(0, MAX_LABELS - 1);
            used[equation.labels[k][i]] = true;
            equation.text[at++] = (char)('a' + equation.labels[k][i]);
        }
        equation.text[at++] = ',';
    }
    memcpy(equation.text + at - 1, "->", 2);
    at++;
    for (size_t i = 0; i < MAX_LABELS && equation.ranks[equation.n_operands] < MAX_RANK; i++) {
        size_t label = (size_t)kernel_pick(0, MAX_LABELS - 1);

        if (used[label] && !taken[label]) {
            taken[label] = true;
            result[equation.ranks[equation.n_operands]++] = label;
            equation.text[at++] = (char)('a' + label);
        }
    }
    return equation;
}

static size_t label_place(const struct equation *equation, size_t operand, const int64_t *index)
{
    size_t place = 0;

    for (size_t i = 0; i < equation->ranks[operand]; i++) {
        size_t label = equation->labels[operand][i];

        place = place * (size_t)equation->sizes[label] + (size_t)index[label];
    }
    return place;
}

static void check_einsum(mdf_dtype dtype)
{
    struct equation equation = pick_equation();
    int64_t shape[MAX_RANK], index[MAX_LABELS], sizes[MAX_LABELS];
    const struct mdf_value *operands[MAX_OPERANDS];
    bool used[MAX_LABELS] = {false};
    struct kernel_call call;
    double *sums;

    kernel_begin(&call, "Einsum", 12);
    kernel_set_text(&call, "equation", equation.text);
    for (size_t k = 0; k <= equation.n_operands; k++) {
        for (size_t i = 0; i < equation.ranks[k]; i++) {
            shape[i] = equation.sizes[equation.labels[k][i]];
            used[equation.labels[k][i]] = true;
        }
        if (k < equation.n_operands) {
            operands[k] = kernel_add(&call, dtype, equation.ranks[k], shape, NUMBERS_SHORT, kernel_pick(0, 2) == 0);
        }
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, equation.ranks[equation.n_operands], shape);
    for (size_t i = 0; i < MAX_LABELS; i++) {
        sizes[i] = used[i] ? equation.sizes[i] : 1;
    }
    sums = calloc(call.outputs[0].length + 1, sizeof *sums);
    for (size_t i = 0; i < kernel_n_elements(MAX_LABELS, sizes); i++) {
        double product = 1;

        kernel_index(MAX_LABELS, sizes, i, index);
        for (size_t k = 0; k < equation.n_operands; k++) {
            product *= kernel_number(operands[k], label_place(&equation, k, index));
        }
        sums[label_place(&equation, equation.n_operands, index)] += product;
    }
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_check(&call, 0, i, mdf_dtype_kind(dtype) == 'f' ? sums[i] : kept(dtype, (int64_t)sums[i]),
                     dtype == MDF_DTYPE_FLOAT32 ? 1e-3 : 0); /* products of three have too many digits */
    }
    free(sums);
    kernel_end(&call);
}

/* Sums over more rows, and of more neighbours, than are taken at once: exact, as their numbers have few digits. */
static void check_einsum_sum(const char *text, mdf_dtype dtype)
{
    const int64_t shape[] = {3, 130, 300}; /* of i, j and k */
    struct kernel_call call;
    const struct mdf_value *x;
    double sums[3 * 300] = {0};

    kernel_begin(&call, "Einsum", 12);
    kernel_set_text(&call, "equation", text);
    x = kernel_add(&call, dtype, 3, shape, NUMBERS_SHORT, false);
    kernel_run(&call);
    for (size_t place = 0; place < 3 * 130 * 300; place++) {
        int64_t index[3];
        size_t at = 0;

        kernel_index(3, shape, place, index);
        for (const char *label = strchr(text, '>') + 1; *label != '\0'; label++) {
            at = at * (size_t)shape[*label - 'i'] + (size_t)index[*label - 'i'];
        }
        sums[at] += kernel_number(x, place);
    }
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_check(&call, 0, i, sums[i], 0);
    }
    kernel_end(&call);
}

Test(product_oracles, einsum_sums_of_one_operand)
{
    static const char *const texts[] = {"ijk->ik", "ijk->k", "ijk->ki", "ijk->ji", "ijk->j", "ijk->"};
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, MDF_DTYPE_INT32};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
            check_einsum_sum(texts[i], dtypes[k]);
        }
    }
}

/* Labels that lie as one axis are summed as one: in the parts that a row of a reduction has, whatever their order in the
 * alphabet. */
Test(product_oracles, einsum_of_all_is_a_reduction_of_all)
{
    static const char *const equations[] = {"ijk->", "kij->", "kj...->..."};
    const int64_t shape[] = {7, 13, 11};

    for (size_t i = 0; i < sizeof equations / sizeof *equations; i++) {
        size_t rank = equations[i][2] == '.' ? 2 : 3;
        struct kernel_call call, fold;
        struct mdf_value *x;

        kernel_begin(&call, "Einsum", 12);
        kernel_set_text(&call, "equation", equations[i]);
        x = kernel_add(&call, MDF_DTYPE_FLOAT64, rank, shape, NUMBERS_SHORT, false);
        for (size_t k = 0; k < x->length; k++) {
            ((double *)x->data)[k] = 1 / (double)(k + 1); /* whose sums are rounded */
        }
        kernel_run(&call);
        kernel_begin(&fold, "ReduceSum", 18);
        kernel_set_int(&fold, "keepdims", 0);
        memcpy(kernel_add(&fold, MDF_DTYPE_FLOAT64, rank, shape, NUMBERS_SHORT, false)->data, x->data,
               x->length * sizeof(double));
        kernel_run(&fold);
        cr_assert_eq(memcmp(call.outputs[0].data, fold.outputs[0].data, sizeof(double)), 0, "%s", equations[i]);
        kernel_end(&fold);
        kernel_end(&call);
    }
}

Test(product_oracles, einsum)
{
    for (size_t i = 0; i < 3 * N_CASES; i++) {
        check_einsum(MDF_DTYPE_FLOAT32);
        check_einsum(MDF_DTYPE_FLOAT64);
        check_einsum(MDF_DTYPE_INT64);
        check_einsum(MDF_DTYPE_INT32);
        check_einsum(MDF_DTYPE_INT8);
    }
}

/* ------------------------------------------------------------------ sums as quantised numbers */

static float pick_scale(void)
{
    static const float odd[] = {0, -0.5f, 0.5f, 1, 1e30f, -1e30f, INFINITY, -INFINITY, NAN, 0x1p-8f};

    return kernel_pick(0, 3) == 0 ? odd[kernel_pick(0, 9)] : (float)kernel_pick(-1000, 1000) / (float)kernel_pick(1, 1000000);
}

/* Lines are what single numbers are: sums at the ends of their range, halves that are rounded to even, scales of any kind. */
static void check_requantised(const struct mdf_byte_words *words)
{
    uint32_t sums[100];
    float scales[100];
    uint8_t results[100];
    size_t n = (size_t)kernel_pick(0, 100);
    bool is_signed = kernel_pick(0, 1) == 1, has_scales = kernel_pick(0, 1) == 1, is_small = kernel_pick(0, 1) == 1;
    struct mdf_requantised_line line = {.scales = has_scales ? scales : NULL,
                                        .scale = is_small ? 0.5f / (float)kernel_pick(1, 4) : pick_scale(),
                                        .zero = (int32_t)kernel_pick(is_signed ? INT8_MIN : 0, is_signed ? INT8_MAX : UINT8_MAX),
                                        .is_signed = is_signed,
                                        .to = results};

    for (size_t i = 0; i < n; i++) {
        int64_t most = kernel_pick(0, 2) == 0 ? INT32_MAX : kernel_pick(0, 1) == 0 ? 100000 : 700;

        sums[i] = (uint32_t)(kernel_pick(0, 9) == 0 ? INT32_MIN : kernel_pick(-most, most));
        scales[i] = is_small ? (float)kernel_pick(-8, 8) / 16 : pick_scale();
    }
    words->requantise(n, sums, &line);
    for (size_t i = 0; i < n; i++) {
        double number = (double)(int32_t)sums[i] * (double)(has_scales ? scales[i] : line.scale);
        int32_t wanted = mdf_requantise(number, true, line.zero, is_signed ? INT8_MIN : 0, is_signed ? INT8_MAX : UINT8_MAX);

        cr_assert_eq(results[i], (uint8_t)wanted, "%g of %d, zero %d", number, (int)(int32_t)sums[i], (int)line.zero);
    }
}

Test(product_oracles, requantised_lines)
{
    for (size_t i = 0; i < 4000; i++) {
        check_requantised(i % 2 == 0 ? mdf_byte_words() : mdf_byte_pairs());
    }
}
