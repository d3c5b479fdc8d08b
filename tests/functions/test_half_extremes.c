/* test_half_extremes.c - the largest and smallest of real numbers, of 16 bits above all, which are found in vectors: which of two
 * zeros and which NaN it is stays what the order of the vectors, and of blocks, says (functions/kernel/fold.h). */
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/fold.h"
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_IN_ROW = 1500 };

/* Of two that are equal the first stays. */
static double more_of(double total, double met, bool largest)
{
    return isnan(met) || (largest ? met > total : met < total) ? met : total;
}

static double fold_column(const double *x, size_t n, bool largest)
{
    double total = largest ? -INFINITY : INFINITY;

    for (size_t i = 0; i < n; i++) {
        total = more_of(total, x[i], largest);
    }
    return total;
}

static double fold_row(const double *x, size_t n, bool largest)
{
    size_t first_half = n / 2 / MDF_FOLD_N_LANES * MDF_FOLD_N_LANES;
    double lanes[MDF_EXTREME_PARTS];

    if (n > MDF_FOLD_BLOCK) {
        return more_of(fold_row(x, first_half, largest), fold_row(x + first_half, n - first_half, largest), largest);
    }
    for (size_t lane = 0; lane < MDF_EXTREME_PARTS; lane++) {
        lanes[lane] = largest ? -INFINITY : INFINITY;
    }
    for (size_t i = 0; i < n; i++) {
        lanes[i % MDF_EXTREME_PARTS] = more_of(lanes[i % MDF_EXTREME_PARTS], x[i], largest);
    }
    for (size_t half = MDF_EXTREME_PARTS / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half; lane++) {
            lanes[lane] = more_of(lanes[lane], lanes[lane + half], largest);
        }
    }
    return lanes[0];
}

/* Numbers of 16 bits: many zeros of both signs, and where `kind` says so nothing beyond them, or a NaN now and then. */
static void fill(struct mdf_value *x, bool largest, int kind)
{
    for (size_t i = 0; i < x->length; i++) {
        double number = (double)kernel_pick(0, 2000) / 7 * (largest ? -1 : 1) * (kind == 1 && kernel_pick(0, 9) == 0 ? -1 : 1);

        number = kernel_pick(0, 2) == 0 ? (kernel_pick(0, 1) == 0 ? 0.0 : -0.0) : number;
        number = kind == 2 && kernel_pick(0, 99) == 0 ? (double)NAN : number;
        mdf_convert_elements((mdf_dtype)x->dtype, (char *)x->data + i * 2, MDF_DTYPE_FLOAT64, &number, 1, false);
    }
}

static void check_extremes(bool largest, mdf_dtype dtype, int64_t axis, int kind)
{
    const int64_t shape[] = {kernel_pick(1, 5), kernel_pick(1, 240), kernel_pick(20, kind == 1 ? 240 : 1400)};
    size_t step = (size_t)(axis == 1 ? shape[2] : 1), n = (size_t)shape[axis];
    double terms[MOST_IN_ROW];
    struct kernel_call call;
    struct mdf_value *x;

    kernel_begin(&call, largest ? "ReduceMax" : "ReduceMin", 18);
    kernel_set_int(&call, "keepdims", 0);
    x = kernel_add(&call, dtype, 3, shape, NUMBERS_SHORT, false);
    fill(x, largest, kind);
    kernel_add_integers(&call, &axis, 1);
    kernel_run(&call);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        double wanted;
        uint16_t bits;

        for (size_t k = 0; k < n; k++) {
            terms[k] = kernel_number(x, i / step * step * n + i % step + k * step);
        }
        wanted = axis == 1 ? fold_column(terms, n, largest) : fold_row(terms, n, largest);
        mdf_convert_elements(dtype, &bits, MDF_DTYPE_FLOAT64, &wanted, 1, false);
        cr_assert_eq(memcmp(&bits, (char *)call.outputs[0].data + i * 2, 2), 0, "%s, axis %d, element %zu: %g for %g",
                     mdf_dtype_name(dtype), (int)axis, i, kernel_number(&call.outputs[0], i), wanted);
    }
    kernel_end(&call);
}

Test(half_extremes, zeros_and_nan_stay_those_of_the_order)
{
    for (int i = 0; i < 24; i++) {
        check_extremes(i % 2 == 0, i / 2 % 2 == 0 ? MDF_DTYPE_FLOAT16 : MDF_DTYPE_BFLOAT16, i / 4 % 2 == 0 ? 1 : 2, i / 8 % 3);
    }
}

static void check_row(mdf_dtype dtype, size_t n, bool largest, int kind)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(dtype);
    double numbers[MOST_IN_ROW], wanted, found;
    float narrow[MOST_IN_ROW];

    for (size_t i = 0; i < n; i++) {
        static const double rare[] = {0.0, -0.0, INFINITY, -INFINITY, NAN};

        numbers[i] = kernel_pick(0, 1) == 0 ? rare[kernel_pick(0, kind == 0   ? 1
                                                                  : kind == 1 ? 3
                                                                              : 4)]
                                            : (double)kernel_pick(-9, 9);
        narrow[i] = (float)numbers[i];
    }
    wanted = fold_row(numbers, n, largest);
    found = (largest ? rows->largest : rows->smallest)(n, dtype == MDF_DTYPE_FLOAT32 ? (const void *)narrow : numbers);
    cr_assert((isnan(wanted) && isnan(found)) || (found == wanted && signbit(found) == signbit(wanted)), "%zu of %s: %g for %g",
              n, mdf_dtype_name(dtype), found, wanted);
}

/* Rows of fewer elements than a total has parts, and what is left of longer ones, have the same order. */
Test(half_extremes, short_rows_have_the_order_of_long_ones)
{
    for (size_t n = 0; n < 200; n++) {
        for (int i = 0; i < 12; i++) {
            check_row(i % 2 == 0 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, n, i / 2 % 2 == 0, i / 4);
        }
    }
}
