/* test_nest_forms.c - what nests of small models are made into: what mdf-run --dump says of them, and that results are as by
 * --plain. */
#include "mdf_c/machine/emit.h"
#include "tests/support/cli_calls.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(nest_forms, .init = cli_set_up, .fini = cli_tear_down);

/* A place that is looked for along one axis, with as many lanes as extremes have, is found in a nest of its own: that which reads
 * there has an axis more, and would be too long for machine code. */
Test(nest_forms, numbers_in_front_of_rows)
{
    const char *text = dump_whole("tests/data/dumps/best_row.yaml");

    expect_same_ways("tests/data/dumps/best_row.yaml", true);
    cr_expect(strstr(text, "nest over 40  ;") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* An index of the least of some distances is found as int32, as many in a vector as there are of float32, and made int64 in a nest
 * of its own; it is where sums are scattered to, from the end of some rows as well as from their beginning. A line of bytes times a
 * matrix is a routine. */
Test(nest_forms, nearest_of_centres)
{
    const char *text = dump_whole("tests/data/dumps/nearest.yaml");

    expect_same_ways("tests/data/dumps/nearest.yaml", true);
    cr_expect((strstr(text, "int32 = first_minimum") != NULL && strstr(text, "int64 = first_minimum") == NULL &&
               strstr(text, "int32[1,48] = routine MatMulInteger(") != NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
              "%s", text);
}

/* Slices of a line that is padded are read in the line itself, by one nest for its ends and one for all between them. */
Test(nest_forms, lines_with_a_border)
{
    const char *text = dump_whole("tests/data/dumps/padded_line.yaml");

    expect_same_ways("tests/data/dumps/padded_line.yaml", true);
    cr_expect(
        (strstr(text, "nest over 68  ;") != NULL && strstr(text, "nest over 70") == NULL && strstr(text, "= part") == NULL) ||
            !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
        "%s", text);
    cr_expect_str_eq(cli_call("mdf-run tests/data/dumps/padded_line.yaml --dump c | grep -c 'for (size_t'")->output, "1\n");
}

/* Where a function is called, the ends of a shifted line are no nests of their own, which would call it for one place each. */
Test(nest_forms, functions_of_shifted_lines)
{
    expect_same_ways("tests/data/dumps/shifted.yaml", true);
    cr_expect_str_eq(cli_call("mdf-run tests/data/dumps/shifted.yaml --dump c | grep -c '= mdf_exp_float32('")->output, "1\n");
}

/* Truths of a column that choose rows are compared in C: compilers make no vectors of what a bool chooses. */
Test(nest_forms, truths_in_front_of_rows)
{
    static char text[CLI_TEXT_SIZE];

    expect_same_ways("tests/data/dumps/masked_rows.yaml", true);
    strcpy(text, cli_call("mdf-run tests/data/dumps/masked_rows.yaml --dump c | grep 'const bool'")->output);
    cr_expect(strstr(text, " = (*(const unsigned char *)&") != NULL, "%s", text);
}

/* A function of two arrays that is made of others, as the larger one, is so in a nest too, where one of them repeats; nor is a
 * function called to know which scores are NaN. */
Test(nest_forms, functions_made_of_others_in_nests)
{
    const char *text = dump_whole("tests/data/dumps/overlaps.yaml");

    expect_same_ways("tests/data/dumps/overlaps.yaml", true);
    cr_expect(
        (strstr(text, "elements Max") == NULL && strstr(text, "elements Min") == NULL && strstr(text, "elements of") == NULL) ||
            !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
        "%s", text);
}

/* Truths beside numbers, in rows that are no multiples of 64, are made int32 in front of the loops that compare them. */
Test(nest_forms, truths_along_short_rows)
{
    static char text[CLI_TEXT_SIZE];

    expect_same_ways("tests/data/compile/short_masks.yaml", true);
    strcpy(text, cli_call("mdf-run tests/data/compile/short_masks.yaml --dump c | grep -E '(int32_t|\\? 1 : 0)'")->output);
    cr_expect(strstr(text, "] ? 1 : 0;") != NULL && strstr(text, "    int32_t ") != NULL, "%s", text);
}

/* In C a product of two numbers for each of many boxes is a multiplication, and no array of totals. */
Test(nest_forms, short_products)
{
    static char text[CLI_TEXT_SIZE];

    strcpy(text, cli_call("mdf-run tests/data/dumps/overlaps.yaml --dump c | grep -E 'product|double t'")->output);
    cr_expect(strstr(text, "const double t_") != NULL && strstr(text, "product[") == NULL, "%s", text);
}

/* Convolutions of one window, in which output channels are summed side by side: of eight, of fewer, in blocks, in groups. */
Test(nest_forms, convolutions_of_one_window)
{
    const char *text = dump_whole("tests/data/compile/single_windows.yaml");

    expect_same_ways("tests/data/compile/single_windows.yaml", true);
    cr_expect(strstr(text, "= routine Conv") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* Convolutions of few products are nests, of which what their padding is laid out for, and what is made of them, are parts. */
Test(nest_forms, convolutions_of_few_products)
{
    const char *text = dump_whole("tests/data/dumps/convolutions.yaml");

    expect_same_ways("tests/data/dumps/convolutions.yaml", true);
    cr_expect((strstr(text, " Conv(") == NULL && strstr(text, " sum r") != NULL) || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s",
              text);
    cr_expect_str_eq(cli_call("mdf-run tests/data/dumps/convolutions.yaml --dump c | grep -c 'convolve'")->output, "0\n");
}

/* What a model computes twice of the same values is computed once: numbers, arrays, what moves read of them too; so is a number
 * that it looks up twice. */
Test(nest_forms, what_is_written_twice)
{
    const char *text = dump_whole("tests/data/dumps/written_twice.yaml"), *sine = strstr(text, " = elements sin");
    const char *found = strstr(text, "by 1 of 6");
    const char *cosine = strstr(text, " = elements cos");

    expect_same_ways("tests/data/dumps/written_twice.yaml", true);
    sine = sine != NULL ? sine : strstr(text, " = function");
    cr_expect(sine == NULL || strstr(sine + 1, "sin v") == NULL, "%s", text);
    cr_expect(cosine == NULL || strstr(cosine + 1, " = elements cos") == NULL, "%s", text);
    cr_expect(found == NULL || strstr(found + 1, "by 1 of 6") == NULL, "%s", text);
}

/* Elements of a small matrix that is put together of numbers are read where these are: it is not stored. */
Test(nest_forms, matrices_put_together_of_numbers)
{
    const char *text = dump_whole("tests/data/dumps/put_together.yaml");

    expect_same_ways("tests/data/dumps/put_together.yaml", true);
    cr_expect(strstr(text, "float32[2,2]") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
    cr_expect_eq(count_in("tests/data/dumps/put_together.yaml --dump c", "[4];"), 0);
}

/* What is put together only to be put together with more is stored where the whole is; what is looked at besides is copied there.
 */
Test(nest_forms, borders_around_borders)
{
    const char *text = dump_whole("tests/data/dumps/bordered.yaml"), *copy = strstr(text, "nest over 28 ");

    cr_expect((copy != NULL && strstr(copy + 1, "nest over 28 ") == NULL) || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s",
              text);
    expect_same_ways("tests/data/dumps/bordered.yaml", true);
}

/* A fold of what is made of other folds is a nest of its own where machine code would have these written out for each total. */
Test(nest_forms, sums_of_the_least_of_sums)
{
    const char *text = dump_whole("tests/data/dumps/least_of_all.yaml");

    cr_expect(strstr(text, "nest over 32 ") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
    expect_same_ways("tests/data/dumps/least_of_all.yaml", true);
}

/* A nest that stores nothing, as nobody reads its remainders, stays whole: there is nothing that a second one would do. */
Test(nest_forms, remainders_that_nobody_reads)
{
    const char *text = dump_whole("tests/data/dumps/unseen_remainders.yaml");

    expect_same_ways("tests/data/dumps/unseen_remainders.yaml", true);
    cr_expect(strstr(text, "int64 = floor_remainder r") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}
