/* test_pick_oracles.c - operators that pick elements or put them elsewhere, against their definitions: blocks of images, elements
 * by index along an axis, those that are not zero, each once; all sizes of elements, NaN and both zeros. */
#include "tests/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MAX_RANK = 4, N_CASES = 200 };

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
