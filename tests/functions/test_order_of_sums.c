/* test_order_of_sums.c - sums are found in the order that docs/lowered.md has: of rows, in parts, and of columns, row by row. */
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/fold.h"
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MAX_SHORT_ROW = 20 };

/* Sums of many rows, each column's in the order of the rows, in float64; of more columns than are summed at once. */
static void check_column_sums(mdf_dtype dtype)
{
    const int64_t shape[] = {kernel_pick(1, 3), kernel_pick(1, 40), kernel_pick(1, kernel_pick(0, 1) == 0 ? 40 : 2500)}, axis = 1;
    const int64_t result[] = {shape[0], 1, shape[2]};
    const struct mdf_value *x;
    struct kernel_call call;

    kernel_begin(&call, "ReduceSum", 13);
    x = kernel_add(&call, dtype, 3, shape, NUMBERS_WILD, false);
    kernel_add_integers(&call, &axis, 1);
    kernel_run(&call);
    kernel_check_shape(&call, 0, 3, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        size_t n = (size_t)shape[2], first = i / n * (size_t)shape[1] * n + i % n;
        double sum = 0;

        for (size_t row = 0; row < (size_t)shape[1]; row++) {
            sum += kernel_number(x, first + row * n);
        }
        kernel_check(&call, 0, i, dtype == MDF_DTYPE_FLOAT32 ? (double)(float)sum : sum, 0);
    }
    kernel_end(&call);
}

Test(order_of_sums, sums_of_columns)
{
    for (size_t i = 0; i < 60; i++) {
        check_column_sums(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64);
    }
}

/* The sum of a row as docs/lowered.md has it: element i in part i % n_parts, parts in halves. */
static double sum_in_parts(const double *terms, size_t n, size_t n_parts)
{
    double parts[MDF_SUM_PARTS] = {0}; /* the most that there are */

    for (size_t i = 0; i < n; i++) {
        parts[i % n_parts] += terms[i];
    }
    for (size_t half = n_parts / 2; half > 0; half /= 2) {
        for (size_t part = 0; part < half; part++) {
            parts[part] += parts[part + half];
        }
    }
    return parts[0];
}

/* Rows of numbers whose sums hang on the order. */
static void check_short_rows(const char *name, mdf_dtype dtype, size_t n_rows, size_t n)
{
    const int64_t shape[] = {(int64_t)n_rows, (int64_t)n}, wanted_shape[] = {(int64_t)n_rows}, last_axis[] = {1};
    bool is_square = strcmp(name, "ReduceSumSquare") == 0;
    double terms[MAX_SHORT_ROW];
    struct kernel_call call;
    struct mdf_value *x;

    kernel_begin(&call, name, 13);
    x = kernel_add(&call, dtype, 2, shape, NUMBERS_SHORT, false);
    for (size_t i = 0; i < x->length; i++) {
        double number = (double)kernel_pick(-1000000000, 1000000000) / 3e9 * (kernel_pick(0, 3) == 0 ? 1e6 : 1);

        mdf_convert_elements(dtype, (char *)x->data + i * mdf_dtype_size(dtype), MDF_DTYPE_FLOAT64, &number, 1, false);
    }
    if (is_square) {
        kernel_set_ints(&call, "axes", last_axis, 1);
    } else {
        kernel_add_integers(&call, last_axis, 1);
    }
    kernel_set_int(&call, "keepdims", 0);
    kernel_run(&call);
    kernel_check_shape(&call, 0, 1, wanted_shape);
    for (size_t row = 0; row < n_rows; row++) {
        double wanted;

        for (size_t i = 0; i < n; i++) {
            double number = kernel_number(x, row * n + i);

            terms[i] = is_square ? number * number : number;
        }
        wanted = sum_in_parts(terms, n, MDF_FOLD_N_LANES);
        kernel_check(&call, 0, row, dtype == MDF_DTYPE_FLOAT32 ? (double)(float)wanted : wanted, 0);
    }
    kernel_end(&call);
}

/* Many of them are folded side by side: the bits are those of the order that each has alone. */
Test(order_of_sums, short_rows_keep_their_order)
{
    static const size_t counts[] = {1, 2, 3, 5, 63, 64, 65, 130};

    for (size_t n = 1; n <= MAX_SHORT_ROW; n++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_short_rows("ReduceSumSquare", MDF_DTYPE_FLOAT32, counts[i], n);
            check_short_rows("ReduceSumSquare", MDF_DTYPE_FLOAT64, counts[i], n);
            check_short_rows("ReduceSum", MDF_DTYPE_FLOAT64, counts[i], n);
            if (n <= 16) { /* of more float32 go through 16 lanes */
                check_short_rows("ReduceSum", MDF_DTYPE_FLOAT32, counts[i], n);
            }
        }
    }
}

/* Of rows that are summed several at a time, and of the few that are left, the same bits in vectors of each width. */
Test(order_of_sums, sums_of_rows)
{
    enum { MOST_ROWS = 19, MOST = 50 };
    static double wide[MOST_ROWS * MOST], totals[MOST_ROWS];
    static float narrow[MOST_ROWS * MOST];

    for (size_t i = 0; i < MOST_ROWS * MOST; i++) {
        narrow[i] = (float)kernel_pick(-1000000, 1000000) / (float)kernel_pick(1, 1000000);
        wide[i] = (double)narrow[i];
    }
    for (size_t n = 0; n <= MOST; n++) {
        for (size_t n_rows = 0; n_rows <= MOST_ROWS; n_rows++) {
            for (size_t is_wide = 0; is_wide < 2; is_wide++) {
                mdf_vector_rows(is_wide ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32)
                    ->sums(n_rows, n, is_wide ? (const void *)wide : narrow, totals);
                for (size_t row = 0; row < n_rows; row++) {
                    double expected = sum_in_parts(wide + row * n, n, MDF_SUM_PARTS);

                    cr_assert(memcmp(&totals[row], &expected, sizeof expected) == 0, "%zu rows of %zu", n_rows, n);
                }
            }
        }
    }
}

/* A convolution of arrays of a few windows; `weights_are_constant`: which may be kept packed, for a product. */
static void convolve(struct kernel_call *call, int64_t shapes[2][4], const int64_t *pads, bool weights_are_constant)
{
    kernel_begin(call, "Conv", 11);
    for (size_t i = 0; i < 2; i++) {
        struct mdf_value *array =
            kernel_add(call, MDF_DTYPE_FLOAT32, 4, shapes[i], NUMBERS_SHORT, i == 1 && weights_are_constant);

        for (size_t k = 0; k < array->length; k++) {
            ((float *)array->data)[k] = 1 / (float)(k % 1009 + i + 1); /* whose sums are rounded */
        }
    }
    kernel_add(call, MDF_DTYPE_FLOAT32, 1, &shapes[1][0], NUMBERS_SHORT, true);
    memset(((float *)(void *)call->inputs[2].data), 0, (size_t)shapes[1][0] * sizeof(float));
    kernel_set_ints(call, "pads", pads, 4);
    kernel_run(call);
}

/* Windows too few for a vector of them are a product, of all arrays at once: summed as in tiles, which constant weights tell. */
Test(order_of_sums, convolutions_of_few_windows)
{
    static const int64_t arrays[][4] = {{8, 40, 2, 2}, {1, 40, 2, 2}, {7, 33, 3, 3}, {5, 40, 2, 3}, {1, 40, 1, 4}};
    static const int64_t weights[][4] = {{35, 40, 3, 3}, {70, 40, 3, 3}, {17, 33, 3, 3}, {48, 40, 2, 3}, {20, 40, 1, 3}};
    static const int64_t pads[][4] = {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 0, 1}, {0, 1, 0, 1}};

    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        int64_t shapes[2][4];
        struct kernel_call kept, given;

        memcpy(shapes[0], arrays[i], sizeof *arrays);
        memcpy(shapes[1], weights[i], sizeof *weights);
        convolve(&kept, shapes, pads[i], true);
        convolve(&given, shapes, pads[i], false);
        cr_assert_eq(kept.outputs[0].length, given.outputs[0].length);
        cr_expect_eq(memcmp(kept.outputs[0].data, given.outputs[0].data, kept.outputs[0].length * sizeof(float)), 0, "case %zu",
                     i);
        kernel_end(&kept);
        kernel_end(&given);
    }
}
