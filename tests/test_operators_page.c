/* test_operators_page.c - docs/operators.md is what the tables say. */
#include "mdf_c/write/operators_page.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_page(void)
{
    FILE *file = fopen("docs/operators.md", "rb");
    char *page = calloc(1, 1 << 20);

    cr_assert_not_null(file);
    cr_assert_not_null(page);
    cr_assert_lt(fread(page, 1, (1 << 20) - 1, file), (size_t)(1 << 20) - 1);
    fclose(file);
    return page;
}

Test(operators_page, is_not_stale)
{
    struct mdf_memory memory;
    struct mdf_text text;
    char *page = read_page();

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_write_operators_page(&text);
    cr_assert(!text.failed);
    cr_expect(strcmp(text.bytes, page) == 0, "docs/operators.md is stale: build/mdf-run --ops > docs/operators.md");
    mdf_text_release(&text);
    free(page);
}
