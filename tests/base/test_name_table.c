/* test_name_table.c - names and a number for each. */
#include "mdf_c/base/name_table.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(name_table, finds_what_was_added)
{
    enum { N = 5000 };
    static char names[N][8];
    struct name_table table = {0};
    struct mdf_memory memory;
    struct mdf_arena arena;
    size_t i, *number;

    mdf_memory_init(&memory, NULL, 0);
    mdf_arena_init(&arena, &memory);
    cr_expect_null(name_table_find(&table, "n1"));
    for (i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        number = name_table_add(&table, &arena, names[i]);
        cr_assert(number != NULL && *number == 0);
        *number = i + 1;
    }
    for (i = 0; i < N; i++) {
        number = name_table_add(&table, &arena, names[i]);
        cr_assert(number != NULL && *number == i + 1);
        cr_assert_eq(name_table_find(&table, names[i]), number);
    }
    cr_expect_eq(table.n, N);
    cr_expect_null(name_table_find(&table, ""));
    cr_expect_null(name_table_find(&table, "n5000"));
    mdf_arena_release(&arena);
}

Test(name_table, memory_may_run_out)
{
    struct name_table table = {0};
    struct mdf_memory memory;
    struct mdf_arena arena;

    mdf_memory_init(&memory, NULL, 1);
    mdf_arena_init(&arena, &memory);
    cr_expect_null(name_table_add(&table, &arena, "x"));
    cr_expect_null(name_table_find(&table, "x"));
    mdf_arena_release(&arena);
}
