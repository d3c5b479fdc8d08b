/* test_operators_page.c - docs/operators.md and schemas/mdf.schema.json are what the tables say. */
#include "mdf_c/write/model_schema.h"
#include "mdf_c/write/operators_page.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_page(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *page = calloc(1, 1 << 20);

    cr_assert_not_null(file);
    cr_assert_not_null(page);
    cr_assert_lt(fread(page, 1, (1 << 20) - 1, file), (size_t)(1 << 20) - 1);
    fclose(file);
    return page;
}

static void expect_fresh(const char *path, void (*write)(struct mdf_text *text), const char *command)
{
    struct mdf_memory memory;
    struct mdf_text text;
    char *page = read_page(path);

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write(&text);
    cr_assert(!text.failed);
    cr_expect(strcmp(text.bytes, page) == 0, "%s is stale: %s > %s", path, command, path);
    mdf_text_release(&text);
    free(page);
}

Test(operators_page, is_not_stale)
{
    expect_fresh("docs/operators.md", mdf_write_operators_page, "build/mdf-run --ops");
}

Test(model_schema, is_not_stale)
{
    expect_fresh("schemas/mdf.schema.json", mdf_write_model_schema, "build/mdf-run --schema");
}
