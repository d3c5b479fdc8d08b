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

/* Arrays that fill a line of the cache begin with one, also in a buffer that had something else, and behind a shape that lies in
 * it. */
Test(value, arrays_begin_with_a_line)
{
    static const int64_t shape[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    struct mdf_value array = {0};
    struct mdf_memory memory;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < 100; i++) {
        int64_t n = (int64_t)(8 + 7919 * i % 500);
        bool has_long_shape = i % 3 == 0;
        void *data = has_long_shape ? mdf_value_make_tensor(&memory, &array, MDF_DTYPE_FLOAT32, 11, shape)
                                    : mdf_value_make_tensor(&memory, &array, MDF_DTYPE_FLOAT64, 1, &n);

        cr_assert_not_null(data);
        cr_expect(i % 5 != 1 || (uintptr_t)data % 64 == 0, "array %zu", i);
        memset(data, 0xFF, has_long_shape ? 2048 * sizeof(float) : (size_t)n * sizeof(double));
        cr_expect_eq(mdf_value_shape(&array)[0], has_long_shape ? 2 : n);
        if (i % 7 == 0) {
            cr_assert_not_null(mdf_value_make_list(&memory, &array, 20));
            cr_assert(mdf_value_append(&memory, &array, &(struct mdf_value){0}));
        }
        if (i % 5 == 0) {
            mdf_value_clear(&memory, &array);
        }
    }
    mdf_value_clear(&memory, &array);
    cr_expect_eq(memory.used_bytes, 0u);
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

/* What becomes nothing looks at nothing: a form that a slot was a view of must not take it for its own again. */
Test(value, nothing_looks_nowhere)
{
    struct mdf_memory memory;
    struct mdf_value view = {0}, array = {0};
    const struct mdf_value nothing = {0};
    const int64_t shape[] = {2, 3};
    double number = 2.5;
    const void *own;

    mdf_memory_init(&memory, NULL, 0);
    mdf_value_borrow_tensor(&memory, &view, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, &number);
    cr_assert(mdf_value_share(&memory, &view, &nothing));
    cr_expect(view.kind == MDF_KIND_NONE && view.length == 0 && view.data == NULL);
    cr_assert_not_null(mdf_value_make_tensor(&memory, &array, MDF_DTYPE_FLOAT64, 2, shape));
    own = array.data;
    cr_assert(mdf_value_share(&memory, &array, &nothing));
    cr_expect(array.kind == MDF_KIND_NONE && array.data == own, "memory of its own stays");
    cr_expect(mdf_value_has_form_of(&array, &nothing), "and no shape");
    mdf_value_clear(&memory, &array);
}

/* Elements outlive their array, whether it is made anew, cleared or written. */
Test(value, share_elements)
{
    struct mdf_memory memory;
    struct mdf_value array, elements[2] = {{0}}, copy = {0};
    int64_t *anew;

    mdf_memory_init(&memory, NULL, 0);
    array = counted(&memory, 2);
    mdf_value_share_element(&elements[0], &array, 0);
    mdf_value_share_element(&elements[1], &array, 3);
    cr_assert(mdf_value_is_scalar(&elements[1]) && elements[1].dtype == MDF_DTYPE_INT64 && elements[1].length == 1);
    cr_expect_null(mdf_value_own_elements(&elements[0]));
    anew = mdf_value_make_tensor(&memory, &array, MDF_DTYPE_INT64, 1, &(const int64_t){4});
    cr_assert(anew != NULL && anew != elements[0].data);
    memset(anew, 0, 4 * sizeof *anew);
    mdf_value_clear(&memory, &elements[0]);
    cr_expect_null(mdf_value_own_elements(&elements[1]), "it is not where the buffer begins");
    cr_expect_eq(*(int64_t *)elements[1].data, 3);
    cr_assert(mdf_value_copy_apart(&memory, &copy, &elements[1]) && mdf_value_make_int(&memory, &elements[1], 7));
    cr_expect(*(int64_t *)copy.data == 3 && *(int64_t *)elements[1].data == 7);
    mdf_value_clear(&memory, &array);
    mdf_value_clear(&memory, &elements[1]);
    mdf_value_clear(&memory, &copy);
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

/* ------------------------------------------------------------------ lists */

static void append_number(struct mdf_memory *memory, struct mdf_value *list, int64_t number)
{
    struct mdf_value item = {0};

    cr_assert(mdf_value_make_int(memory, &item, number) && mdf_value_append(memory, list, &item));
    mdf_value_clear(memory, &item);
}

static int64_t number_in(const struct mdf_value *list, size_t i)
{
    cr_assert_lt(i, list->length);
    return *(const int64_t *)mdf_value_items(list)[i].data;
}

/* Lists that share their items: what is put behind one of them is not seen by the others, whichever is first; and the items of
 * the one that has the room stay where they are. */
Test(value, lists_share_their_items)
{
    struct mdf_memory memory;
    struct mdf_value list = {0}, part = {0}, same = {0}, none = {0};

    mdf_memory_init(&memory, NULL, 0);
    cr_assert_not_null(mdf_value_make_list(&memory, &list, 0));
    for (int64_t i = 0; i < 5; i++) {
        append_number(&memory, &list, i);
    }
    cr_assert(mdf_value_share(&memory, &same, &list));
    cr_assert(mdf_value_share_items(&memory, &part, &list, 1, 4) && mdf_value_share_items(&memory, &none, &list, 5, 0));
    cr_expect(part.length == 4 && part.data == (struct mdf_value *)list.data + 1 && none.length == 0);
    append_number(&memory, &part, 50);
    cr_expect(part.data == (struct mdf_value *)list.data + 1, "there is room behind the last item");
    append_number(&memory, &list, 51);
    append_number(&memory, &none, 52);
    cr_expect(part.length == 5 && list.length == 6 && same.length == 5 && none.length == 1);
    for (size_t i = 0; i < 5; i++) {
        cr_expect_eq(number_in(&list, i), (int64_t)i);
        cr_expect_eq(number_in(&same, i), (int64_t)i);
        cr_expect_eq(number_in(&part, i), i < 4 ? (int64_t)i + 1 : 50);
    }
    cr_expect(number_in(&list, 5) == 51 && number_in(&none, 0) == 52);
    mdf_value_clear(&memory, &list);
    mdf_value_clear(&memory, &same);
    for (int64_t i = 0; i < 20; i++) { /* past the room that there is */
        append_number(&memory, &part, i);
    }
    cr_assert(mdf_value_share_items(&memory, &part, &part, 4, 3));
    append_number(&memory, &part, 99); /* over an item that nobody sees any more */
    cr_expect(part.length == 4 && number_in(&part, 0) == 50 && number_in(&part, 2) == 1 && number_in(&part, 3) == 99);
    mdf_value_clear(&memory, &part);
    mdf_value_clear(&memory, &none);
    cr_expect_eq(atomic_load(&memory.used_bytes), (size_t)0);
}

/* Lists and arrays side by side: all have one shape, or they are no array, whichever says a size first. */
Test(value, lists_and_arrays_side_by_side)
{
    for (int order = 0; order < 2; order++) {
        for (int n = 0; n < 4; n++) { /* items of the list beside an array of two */
            struct mdf_memory memory;
            struct mdf_value list = {0}, array = {0}, *pair, *items;
            int made;

            mdf_memory_init(&memory, NULL, 0);
            pair = mdf_value_make_list(&memory, &list, 2);
            cr_assert_not_null(pair);
            items = mdf_value_make_list(&memory, &pair[order], (size_t)n);
            for (int i = 0; i < n; i++) {
                cr_assert(mdf_value_make_int(&memory, &items[i], 7));
            }
            pair[1 - order] = counted(&memory, 1);
            made = mdf_value_from_nested_list(&memory, &array, &list);
            cr_expect_eq(made, n == 2, "%d items", n);
            cr_expect(made == 0 || (array.length == 4 && ((int64_t *)array.data)[2 * order] == 7));
            mdf_value_clear(&memory, &array);
            mdf_value_clear(&memory, &list);
        }
    }
}

/* A list that is put behind what shares its items (s + [s]) is no item of itself, at whatever depth: it would never be given
 * back. */
Test(value, a_list_behind_its_own_items_is_given_back)
{
    for (int depth = 0; depth < 3; depth++) {
        struct mdf_value list = {0}, longer = {0}, item = {0};
        struct mdf_memory memory;

        mdf_memory_init(&memory, NULL, 0);
        cr_assert_not_null(mdf_value_make_list(&memory, &list, 0));
        append_number(&memory, &list, 1); /* there is room for more now */
        cr_assert(mdf_value_share(&memory, &longer, &list) && mdf_value_share(&memory, &item, &list));
        for (int i = 0; i < depth; i++) {
            struct mdf_value around = {0};
            struct mdf_value *items = mdf_value_make_list(&memory, &around, 1);

            cr_assert(items != NULL && mdf_value_share(&memory, &items[0], &item));
            mdf_value_swap(&around, &item);
            mdf_value_clear(&memory, &around);
        }
        cr_assert(mdf_value_append(&memory, &longer, &item));
        cr_expect_eq(longer.length, 2);
        mdf_value_clear(&memory, &item);
        mdf_value_clear(&memory, &list);
        mdf_value_clear(&memory, &longer);
        cr_expect_eq(atomic_load(&memory.used_bytes), (size_t)0, "in %d lists: %zu bytes", depth,
                     atomic_load(&memory.used_bytes));
    }
}
