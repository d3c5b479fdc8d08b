/* test_value.c - arrays that change their length, and what belongs to an array alone. */
#include "mdf_c/tensor/value.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* An array of `rank` axes of two items each, filled with 0, 1, 2, ... */
static struct mdf_value counted(struct mdf_memory *memory, size_t rank)
{
    const int64_t twos[] = {2, 2, 2, 2, 2, 2};
    struct mdf_value array = {0};
    int64_t *elements = mdf_value_make_tensor(memory, &array, MDF_DTYPE_INT64, rank, twos);

    cr_assert_not_null(elements);
    for (size_t i = 0; i < array.length; i++) {
        elements[i] = (int64_t)i;
    }
    return array;
}

/* Longer, with the elements that were there; shorter; of ranks whose shape lies in the value, and in the buffer. */
Test(value, lengthen)
{
    static const size_t ranks[] = {1, 2, 4, 5, 6};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct mdf_memory memory;
        struct mdf_value array;
        size_t item = (size_t)1 << (ranks[i] - 1);

        mdf_memory_init(&memory, NULL, 0);
        array = counted(&memory, ranks[i]);
        cr_assert(mdf_value_lengthen(&memory, &array, 1000));
        cr_assert(array.length == 1000 * item && mdf_value_shape(&array)[0] == 1000 && array.rank == ranks[i]);
        cr_assert_eq(mdf_value_own_elements(&array), array.data);
        for (size_t j = 0; j < 2 * item; j++) {
            cr_expect_eq(((int64_t *)array.data)[j], (int64_t)j);
        }
        memset(array.data, 0, array.length * sizeof(int64_t));
        cr_assert(mdf_value_lengthen(&memory, &array, 1) && array.length == item);
        cr_assert(mdf_value_lengthen(&memory, &array, 0) && array.length == 0);
        mdf_value_clear(&memory, &array);
        cr_expect_eq(atomic_load(&memory.used_bytes), (size_t)0);
    }
}

/* What others have a share in, or what is borrowed, stays as it is. */
Test(value, lengthen_what_is_shared)
{
    struct mdf_memory memory;
    struct mdf_value array, other = {0}, borrowed = {0};

    mdf_memory_init(&memory, NULL, 0);
    array = counted(&memory, 2);
    cr_assert(mdf_value_share(&memory, &other, &array));
    cr_assert_null(mdf_value_own_elements(&array));
    mdf_value_borrow_tensor(&memory, &borrowed, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 2, mdf_value_shape(&array), array.data);
    cr_assert_null(mdf_value_own_elements(&borrowed));
    cr_assert(mdf_value_lengthen(&memory, &array, 3) && mdf_value_lengthen(&memory, &borrowed, 3));
    cr_expect(array.data != other.data && borrowed.data != other.data && other.length == 4);
    cr_expect(((int64_t *)array.data)[3] == 3 && ((int64_t *)borrowed.data)[3] == 3);
    mdf_value_clear(&memory, &array);
    mdf_value_clear(&memory, &other);
    mdf_value_clear(&memory, &borrowed);
    cr_expect_eq(atomic_load(&memory.used_bytes), (size_t)0);
}

/* Where memory is refused, or there is no such size, the array is as it was. */
Test(value, lengthen_refused)
{
    static const size_t lengths[] = {100000, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 16, SIZE_MAX / 32};
    struct mdf_memory memory;
    struct mdf_value array, before;

    mdf_memory_init(&memory, NULL, 0);
    array = counted(&memory, 2);
    memory.limit_bytes = 1000;
    before = array;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        cr_expect_not(mdf_value_lengthen(&memory, &array, lengths[i]));
        cr_expect_eq(memcmp(&array, &before, sizeof array), 0);
    }
    mdf_value_clear(&memory, &array);
}
