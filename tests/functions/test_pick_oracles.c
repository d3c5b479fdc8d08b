/* test_pick_oracles.c - operators that pick elements or put them elsewhere, against their definitions: blocks of images, axes in
 * another order, elements by index along an axis, those that are not zero, each once; all sizes of elements, NaN and both zeros.
 */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 4, N_CASES = 60 };

/* One type of each size of elements. */
static const mdf_dtype sizes[] = {MDF_DTYPE_UINT8, MDF_DTYPE_FLOAT16, MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, MDF_DTYPE_COMPLEX128};

enum { N_SIZES = sizeof sizes / sizeof *sizes };

/* ------------------------------------------------------------------ blocks of images */

/* Where element (batch, depth, y, x) of the wide image stands in the deep one. */
static size_t deep_place(const int64_t *deep, int64_t block, bool column_first, const int64_t *wide_index)
{
    int64_t depth = deep[1] / block / block, in_block = wide_index[2] % block * block + wide_index[3] % block;
    int64_t index[4] = {wide_index[0], column_first ? wide_index[1] * block * block + in_block : in_block * depth + wide_index[1],
                        wide_index[2] / block, wide_index[3] / block};

    return kernel_place(4, deep, index);
}

static void check_blocks(bool to_space, mdf_dtype dtype)
{
    int64_t block = kernel_pick(1, 4), depth = kernel_pick(1, 3), height = kernel_pick(1, 5);
    int64_t width = kernel_pick(0, 1) == 0 ? kernel_pick(1, 5) : kernel_pick(6, 90);
    int64_t deep[4] = {kernel_pick(1, 2), depth * block * block, height, width}, index[4];
    int64_t wide[4] = {deep[0], depth, height * block, width * block};
    bool column_first = to_space && kernel_pick(0, 1) == 1;
    const struct mdf_value *x;
    struct kernel_call call;

    kernel_begin(&call, to_space ? "DepthToSpace" : "SpaceToDepth", 13);
    kernel_set_int(&call, "blocksize", block);
    if (to_space) {
        kernel_set_text(&call, "mode", column_first ? "CRD" : "DCR");
    }
    x = kernel_add(&call, dtype, 4, to_space ? deep : wide, NUMBERS_WILD, false);
    kernel_run(&call);
    kernel_check_shape(&call, 0, 4, to_space ? wide : deep);
    for (size_t i = 0; i < x->length; i++) {
        size_t at;

        kernel_index(4, wide, i, index);
        at = deep_place(deep, block, column_first, index);
        kernel_check(&call, 0, to_space ? i : at, kernel_number(x, to_space ? at : i), 0);
    }
    kernel_end(&call);
}

Test(pick_oracles, blocks)
{
    for (size_t i = 0; i < N_CASES * N_SIZES; i++) {
        check_blocks(i % 2 == 0, sizes[i % N_SIZES]);
    }
}

/* ------------------------------------------------------------------ axes in another order */

/* Few and many elements along an axis: squares that are turned in registers, what is left beside them, channels of an image. */
static void check_transposed(mdf_dtype dtype)
{
    int64_t shape[3], turned[3], permutation[3] = {0, 1, 2}, index[3], from[3];
    const struct mdf_value *x;
    struct kernel_call call;

    for (size_t axis = 0; axis < 3; axis++) {
        size_t other = (size_t)kernel_pick((int64_t)axis, 2);
        int64_t kept = permutation[axis];

        permutation[axis] = permutation[other];
        permutation[other] = kept;
        shape[axis] = kernel_pick(0, 2) == 0 ? kernel_pick(1, 5) : kernel_pick(1, 75);
    }
    for (size_t axis = 0; axis < 3; axis++) {
        turned[axis] = shape[permutation[axis]];
    }
    kernel_begin(&call, "Transpose", 13);
    kernel_set_ints(&call, "perm", permutation, 3);
    x = kernel_add(&call, dtype, 3, shape, NUMBERS_WILD, false);
    kernel_run(&call);
    kernel_check_shape(&call, 0, 3, turned);
    for (size_t i = 0; i < x->length; i++) {
        kernel_index(3, turned, i, index);
        for (size_t axis = 0; axis < 3; axis++) {
            from[permutation[axis]] = index[axis];
        }
        kernel_check(&call, 0, i, kernel_number(x, kernel_place(3, shape, from)), 0);
    }
    kernel_end(&call);
}

Test(pick_oracles, transposed)
{
    for (size_t i = 0; i < N_CASES * N_SIZES; i++) {
        check_transposed(sizes[i % N_SIZES]);
    }
}

/* ------------------------------------------------------------------ elements by index along an axis */

/* An array, and indices that point into it along an axis, from its begin and from its end. */
struct along {
    struct kernel_call call;
    const struct mdf_value *x, *indices;
    int64_t shape[MAX_RANK], index_shape[MAX_RANK];
    size_t rank, axis;
};

/* `large`: enough indices for several threads, in rows longer than what is looked through at once. */
static void begin_along(struct along *along, const char *name, mdf_dtype dtype, bool large)
{
    struct mdf_value *indices;

    kernel_begin(&along->call, name, 18);
    along->rank = large ? 2 : (size_t)kernel_pick(1, MAX_RANK);
    along->axis = (size_t)kernel_pick(0, (int64_t)along->rank - 1);
    for (size_t i = 0; i < along->rank; i++) {
        along->shape[i] = large ? (i == 0 ? 20 : 2500) : kernel_pick(1, 6);
        along->index_shape[i] = large ? along->shape[i] : kernel_pick(0, i == along->axis ? 8 : along->shape[i]);
    }
    kernel_set_int(&along->call, "axis", (int64_t)along->axis - (kernel_pick(0, 1) == 1 ? (int64_t)along->rank : 0));
    along->x = kernel_add(&along->call, dtype, along->rank, along->shape, NUMBERS_WILD, false);
    indices = kernel_add(&along->call, MDF_DTYPE_INT64, along->rank, along->index_shape, NUMBERS_SHORT, false);
    for (size_t i = 0; i < indices->length; i++) {
        int64_t size = along->shape[along->axis];

        ((int64_t *)indices->data)[i] = kernel_pick(-size, size - 1);
    }
    along->indices = indices;
}

/* Where element i of the indices points. */
static size_t pointed_at(const struct along *along, size_t i)
{
    int64_t index[MAX_RANK], number = kernel_whole(along->indices, i);

    kernel_index(along->rank, along->index_shape, i, index);
    index[along->axis] = number < 0 ? number + along->shape[along->axis] : number;
    return kernel_place(along->rank, along->shape, index);
}

static void check_gather_elements(mdf_dtype dtype, bool large)
{
    struct along along;

    begin_along(&along, "GatherElements", dtype, large);
    kernel_run(&along.call);
    kernel_check_shape(&along.call, 0, along.rank, along.index_shape);
    for (size_t i = 0; i < along.indices->length; i++) {
        kernel_check(&along.call, 0, i, kernel_number(along.x, pointed_at(&along, i)), 0);
    }
    kernel_end(&along.call);
}

static double combined(size_t reduction, double x, double y)
{
    return reduction == 0 ? y : reduction == 1 ? x + y : x > y || isnan(x) ? x : y;
}

/* Several indices point at one place. */
static void check_scatter_elements(mdf_dtype dtype, size_t reduction, bool large)
{
    static const char *const names[] = {"none", "add", "max"};
    const struct mdf_value *updates;
    struct along along;
    double *wanted;

    begin_along(&along, "ScatterElements", dtype, large);
    kernel_set_text(&along.call, "reduction", names[reduction]);
    updates = kernel_add(&along.call, dtype, along.rank, along.index_shape, NUMBERS_WILD, false);
    kernel_run(&along.call);
    kernel_check_shape(&along.call, 0, along.rank, along.shape);
    wanted = malloc(along.x->length * sizeof *wanted);
    for (size_t i = 0; i < along.x->length; i++) {
        wanted[i] = kernel_number(along.x, i);
    }
    for (size_t i = 0; i < updates->length; i++) {
        double *at = &wanted[pointed_at(&along, i)];

        *at = combined(reduction, *at, kernel_number(updates, i));
    }
    for (size_t i = 0; i < along.x->length; i++) {
        kernel_check(&along.call, 0, i, wanted[i], 0);
    }
    free(wanted);
    kernel_end(&along.call);
}

Test(pick_oracles, along_an_axis)
{
    for (size_t i = 0; i < N_CASES * N_SIZES; i++) {
        check_gather_elements(sizes[i % N_SIZES], i < N_SIZES);
        check_scatter_elements(sizes[i % N_SIZES], 0, i < N_SIZES);
        check_scatter_elements(MDF_DTYPE_FLOAT32, i % 3, i < 3);
    }
}

/* The first index that is out of range is named, whatever thread meets it. */
Test(pick_oracles, index_out_of_range)
{
    static const int64_t wrong[] = {INT64_MIN, -2501, 2500, INT64_MAX};

    for (size_t i = 0; i < 4; i++) {
        struct along along;

        begin_along(&along, "GatherElements", MDF_DTYPE_FLOAT32, true);
        ((int64_t *)along.indices->data)[49000] = -9999;
        ((int64_t *)along.indices->data)[1200] = wrong[i];
        along.call.context.n_threads = 3;
        along.call.context.threads = mdf_threads_new(&along.call.memory);
        cr_assert(!along.call.operator->kernel(&along.call.call));
        cr_assert_not_null(strstr(along.call.context.error.message, "(number 1200 of the indices)"), "%s",
                           along.call.context.error.message);
        mdf_threads_free(along.call.context.threads, &along.call.memory);
        kernel_end(&along.call);
    }
}

/* ------------------------------------------------------------------ elements that differ */

/* NaN equals NaN and is the largest. */
static int compare_numbers(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) - isnan(b) : (a > b) - (a < b);
}

/* How many of the elements `first` numbers come before one that is about to be added; `*place`: which equals it. */
static size_t count_lesser(const struct mdf_value *x, const int64_t *first, size_t n, double number, size_t *place)
{
    size_t n_lesser = 0;

    *place = n;
    for (size_t i = 0; i < n; i++) {
        int order = compare_numbers(kernel_number(x, (size_t)first[i]), number);

        n_lesser += order < 0;
        *place = order == 0 ? i : *place;
    }
    return n_lesser;
}

/* All four outputs; of output 0 the element that occurs first stands for its equals. */
static void check_unique(mdf_dtype dtype, bool is_sorted, int64_t n)
{
    int64_t *first = malloc(((size_t)n + 1) * sizeof *first), n_unique = 0;
    const struct mdf_value *x, *number;
    struct kernel_call call;
    size_t place;

    kernel_begin(&call, "Unique", 11);
    kernel_set_int(&call, "sorted", is_sorted);
    call.call.n_outputs = 3;
    x = kernel_add(&call, dtype, 1, &n, NUMBERS_WILD, false);
    number = kernel_run(&call);
    for (int64_t i = 0; i < n; i++) {
        count_lesser(x, first, (size_t)n_unique, kernel_number(x, (size_t)i), &place);
        if (place == (size_t)n_unique) {
            first[n_unique++] = i;
        }
    }
    kernel_check_shape(&call, 0, 1, &n_unique);
    for (int64_t i = 0; i < n_unique; i++) {
        double value = kernel_number(x, (size_t)first[i]);
        size_t at = count_lesser(x, first, (size_t)n_unique, value, &place);

        at = is_sorted ? at : (size_t)i;
        kernel_check(&call, 0, at, value, 0);
        kernel_check(&call, 1, at, (double)first[i], 0);
    }
    for (int64_t i = 0; i < n; i++) {
        double is = kernel_number(number, (size_t)kernel_whole(&call.outputs[2], (size_t)i));

        cr_assert(compare_numbers(is, kernel_number(x, (size_t)i)) == 0);
    }
    kernel_end(&call);
    free(first);
}

static void check_non_zero(mdf_dtype dtype, bool is_large)
{
    int64_t shape[MAX_RANK], index[MAX_RANK], result[2] = {0, 0};
    size_t rank = (size_t)kernel_pick(0, MAX_RANK), n = 0;
    const struct mdf_value *x;
    struct kernel_call call;

    for (size_t i = 0; i < rank; i++) {
        shape[i] = kernel_pick(0, 15) == 0 ? 0 : kernel_pick(1, is_large ? 9 : 4);
    }
    kernel_begin(&call, "NonZero", 13);
    x = kernel_add(&call, dtype, rank, shape, NUMBERS_WILD, false);
    kernel_run(&call);
    result[0] = (int64_t)rank;
    for (size_t i = 0; i < x->length; i++) {
        result[1] += kernel_number(x, i) != 0;
    }
    kernel_check_shape(&call, 0, 2, result);
    for (size_t i = 0; i < x->length; i++) {
        if (kernel_number(x, i) != 0) {
            kernel_index(rank, shape, i, index);
            for (size_t axis = 0; axis < rank; axis++) {
                kernel_check(&call, 0, axis * (size_t)result[1] + n, (double)index[axis], 0);
            }
            n++;
        }
    }
    kernel_end(&call);
}

Test(pick_oracles, elements_that_differ)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, MDF_DTYPE_INT32,
                                       MDF_DTYPE_UINT8,   MDF_DTYPE_FLOAT16, MDF_DTYPE_BOOL};

    for (size_t i = 0; i < 2 * N_CASES; i++) {
        check_unique(dtypes[i % 7], i % 2 == 0, kernel_pick(0, i % 9 == 0 ? 600 : 20));
        check_non_zero(dtypes[i % 7], i % 9 == 0);
    }
}

/* ------------------------------------------------------------------ Range */

static double bounded(mdf_dtype dtype, double number)
{
    return dtype == MDF_DTYPE_FLOAT32 ? (double)(float)number : number;
}

static void check_range(mdf_dtype dtype, int64_t most)
{
    bool is_whole = mdf_dtype_kind(dtype) == 'i';
    double numbers[3] = {(double)kernel_pick(-50, 50) / (is_whole ? 1 : 8), 0, (double)kernel_pick(1, 9) / (is_whole ? 1 : 4)};
    struct kernel_call call;
    int64_t n;

    numbers[2] = kernel_pick(0, 1) == 1 ? numbers[2] : -numbers[2];
    numbers[1] = numbers[0] + numbers[2] * (double)kernel_pick(-2, most) + (is_whole ? 0 : 0.125);
    n = (int64_t)fmax(ceil((numbers[1] - numbers[0]) / numbers[2]), 0);
    kernel_begin(&call, "Range", 11);
    for (size_t i = 0; i < 3; i++) {
        struct mdf_value *bound = kernel_add(&call, dtype, 0, NULL, NUMBERS_SHORT, false);

        mdf_convert_elements(dtype, bound->data, MDF_DTYPE_FLOAT64, &numbers[i], 1, false);
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, 1, &n);
    for (size_t i = 0; i < (size_t)n; i++) {
        kernel_check(&call, 0, i, bounded(dtype, numbers[0] + (double)i * numbers[2]), 0);
    }
    kernel_end(&call);
}

Test(pick_oracles, ranges)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, MDF_DTYPE_INT32};

    for (size_t i = 0; i < N_CASES; i++) {
        check_range(dtypes[i % 4], i % 10 == 0 ? 1000 : 20);
    }
}
