/* test_table_forms.c - what loops are made into that put rows and numbers into arrays: what mdf-run --dump says of them, and that
 * results are as by --plain. */
#include "mdf_c/machine/emit.h"
#include "tests/support/cli_calls.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(table_forms, .init = cli_set_up, .fini = cli_tear_down);

/* Rows that are put, added to or multiplied by others at an index are written where the state lies, by no kernel and no routine.
 */
Test(table_forms, rows_are_put_where_they_lie)
{
    const char *text = dump_whole("tests/data/dumps/row_puts.yaml -n 4");

    expect_same_ways("tests/data/dumps/row_puts.yaml", true);
    expect_same_ways("tests/data/dumps/thin_puts.yaml", true);
    cr_expect((strstr(text, "= call Scatter") == NULL && strstr(text, "= routine Scatter") == NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
              "%s", text);
}

/* What is put into what a nest makes of a state is put where the state lies, which the nest has made there. */
Test(table_forms, puts_into_what_is_made)
{
    const char *text = dump_whole("tests/data/dumps/made_and_put.yaml -n 4");

    expect_same_ways("tests/data/dumps/made_and_put.yaml", true);
    expect_same_ways("tests/data/dumps/made_within.yaml", true);
    cr_expect(strstr(text, " two buffers") == NULL, "%s", text);
}

/* So is what is put into a few numbers that are made one by one, in machine code too, which is made after some evaluations. */
Test(table_forms, puts_into_a_few_that_are_made)
{
    const struct cli_outcome *outcome;

    expect_same_ways("tests/data/dumps/few_made_and_put.yaml", true);
    outcome = cli_call("mdf-run tests/data/dumps/few_made_and_put.yaml -n 20000");
    cr_expect(strstr(outcome->output, "[18, 18, 12]") != NULL, "%s", outcome->output);
}

/* What is put into what nests make of other places of a state is put where they make it, and not into a copy. */
Test(table_forms, states_put_beside)
{
    const char *text = dump_whole("tests/data/dumps/made_beside.yaml -n 4");

    expect_same_ways("tests/data/dumps/made_beside.yaml", true);
    cr_expect(
        (count_in("tests/data/dumps/made_beside.yaml -n 4 --dump lowered | grep buffers", "two buffers, exchanged for v") == 4 &&
         strstr(text, " takes over v") != NULL) ||
            !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
        "%s", text);
    cr_expect_str_eq(cli_call("mdf-run tests/data/dumps/made_beside.yaml --dump c | grep -cE 'memcpy.[a-z_]*_then, '")->output,
                     "0\n");
}

/* What goes beyond the least so far is taken in a branch, with where it is: few runs find such, and no run waits for the test. */
Test(table_forms, the_least_so_far_is_foreseen)
{
    const char *text = dump_whole("tests/data/dumps/least_so_far.yaml");

    cr_expect(strstr(text, "  if v") != NULL && strstr(text, "select") == NULL, "%s", text);
    expect_same_ways("tests/data/dumps/least_so_far.yaml", true);
    expect_same_ways("tests/data/dumps/least_so_far.yaml -i first=-100", true);
}

/* A long row is made where it is put, where what is loaded of the table is what it replaces or lies apart from it: in machine
 * code, which is made after some evaluations, and in C. */
Test(table_forms, long_rows_are_made_where_they_are_put)
{
    static const char *const cases[] = {"away=32", "away=31", "away=-31", "away=-32", "away=0",
                                        "away=1",  "away=-1", "away=48",  "first=-9"};
    const char *text = dump_whole("tests/data/dumps/long_blocks.yaml -n 4");
    static char expected[CLI_TEXT_SIZE];
    size_t i;

    cr_expect(strstr(text, "in place, made there") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", text);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        strcpy(expected, cli_call("mdf-run tests/data/dumps/long_blocks.yaml -i %s --plain", cases[i])->output);
        cr_assert(strstr(expected, "\"results\"") != NULL);
        text = cli_call("mdf-run tests/data/dumps/long_blocks.yaml -i %s -n 2000", cases[i])->output;
        cr_expect_str_eq(strstr(text, "\"results\""), strstr(expected, "\"results\""), "%s", cases[i]);
        text = cli_call("mdf-run tests/data/dumps/long_blocks.yaml -i %s --compile", cases[i])->output;
        cr_expect_str_eq(strstr(text, "\"results\""), strstr(expected, "\"results\""), "%s", cases[i]);
    }
}

/* An element that all runs of a loop go on with at one place is a number meanwhile, but where the table is looked at elsewhere.
 */
Test(table_forms, elements_are_kept_as_numbers)
{
    static const char *const cases[] = {
        "", " -i at=-2", " -i at=8 -i away=-8", " -i n=0", " -i n=0 -i at=4 -i away=77", " -i row=-1 -i n=3"};
    static const char *const ways[] = {"", "--plain", "--compile"};
    const char *text = dump_whole("tests/data/dumps/kept_elements.yaml -n 4"), *of_nine = strstr(text, " by 1 of 9, in place");
    size_t i;

    cr_expect((of_nine != NULL && strstr(of_nine + 1, " by 1 of 9, in place") == NULL &&
               strstr(text, " by 1 of 12, in place") != NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64),
              "%s", text); /* of 9, only that of `shifted` is in its loop */
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[128];

        snprintf(command, sizeof command, "tests/data/dumps/kept_elements.yaml%s", cases[i]);
        expect_same_ways(command, true);
    }
    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        cr_expect_neq(cli_call("mdf-run tests/data/dumps/kept_elements.yaml -n 4 -i at=9 %s", ways[i])->exit_status, 0);
    }
}

/* Places in a table of two axes are numbers, of which what stays is made in front of the loop; an index past its axis is refused
 * by the runs that look there, if there are any. */
Test(table_forms, places_are_numbers)
{
    static const char *const cases[] = {"", " -i first=-1", " -i first=1", " -i first=9 -i m=0", " -i n=0", " -i n=4 -i m=0"};
    static const char *const wrong[] = {"-i first=5",           "-i n=4",           "-i m=5",
                                        "-i first=5 --compile", "-i n=4 --compile", "-i m=5 --compile"};
    const char *text = dump_whole("tests/data/dumps/place_numbers.yaml -n 4"), *loop = strstr(text, "loop v");
    size_t i;

    loop = loop != NULL ? strstr(loop + 1, "loop v") : NULL;
    cr_expect(loop != NULL && strstr(loop, " = multiply r") == NULL, "%s", text);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[128];

        snprintf(command, sizeof command, "tests/data/dumps/place_numbers.yaml%s", cases[i]);
        expect_same_ways(command, true);
    }
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cr_expect_neq(cli_call("mdf-run tests/data/dumps/place_numbers.yaml -n 4 %s", wrong[i])->exit_status, 0);
    }
}

/* Elements that a loop goes through one by one are loaded, computed and put several at once, but where a run loads what one
 * shortly before it has put, or counts from the end. */
Test(table_forms, elements_are_put_in_blocks)
{
    static const char *const cases[] = {"",
                                        " -i away=-1",
                                        " -i away=1",
                                        " -i away=-7",
                                        " -i away=7",
                                        " -i away=-8",
                                        " -i away=8",
                                        " -i first=3 -i away=-9",
                                        " -i first=-5 -i away=2",
                                        " -i n=7 -i m=17",
                                        " -i n=0 -i m=8",
                                        " -i n=-3 -i m=-9"};
    const char *text = dump_whole("tests/data/dumps/blocks.yaml -n 4");
    size_t i;

    cr_expect((strstr(text, "nest over 8") != NULL && strstr(text, "by 1 of 33, in place") != NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64),
              "%s", text);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[128];

        snprintf(command, sizeof command, "tests/data/dumps/blocks.yaml%s", cases[i]);
        expect_same_ways(command, true);
    }
    text = cli_call("mdf-run tests/data/dumps/blocks.yaml --sweep tests/data/dumps/blocks_sweep.yaml --explain")->output;
    cr_expect(strstr(text, "side by side") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", text);
}

/* No block is longer than the table into which it is put. */
Test(table_forms, short_tables_have_no_blocks)
{
    const char *text = dump_whole("tests/data/dumps/short_table.yaml -n 4");

    expect_same_ways("tests/data/dumps/short_table.yaml", true);
    cr_expect(strstr(text, ", in place\n") != NULL, "%s", text);
}

/* A state that is what another one was takes its buffer over, or looks where it did; of two that change places one is copied. */
Test(table_forms, states_that_take_over_others)
{
    const char *text = dump_whole("tests/data/dumps/taken_over.yaml -n 4"), *found = text;
    size_t n = 0;

    expect_same_ways("tests/data/dumps/taken_over.yaml", true);
    for (; (found = strstr(found, ", takes over v")) != NULL; found++) {
        n++;
    }
    cr_expect(n == 5 && strstr(text, "in its stack, takes over") != NULL, "%s", text);
}

/* What is put where a state lies may be what another state goes on from: that one has two buffers. */
Test(table_forms, puts_of_another_state_go_on)
{
    const char *text = dump_whole("tests/data/dumps/swapped_puts.yaml -n 4");

    expect_same_ways("tests/data/dumps/swapped_puts.yaml", true);
    cr_expect(strstr(text, ", in place\n") != NULL && strstr(text, ", two buffers\n") != NULL, "%s", text);
}

/* What two states are next is made for one of them, and copied for the other. */
Test(table_forms, a_put_is_next_of_two_states)
{
    const char *text = dump_whole("tests/data/dumps/shared_put.yaml -n 4");

    expect_same_ways("tests/data/dumps/shared_put.yaml", true);
    cr_expect(strstr(text, "two buffers\n") != NULL, "%s", text);
}

/* What is added at two indices, from the end too, is looked up and put at one place, of which only a number knows; what is not on
 * its axis is refused, also where its multiples wrap. */
Test(table_forms, boxes_are_counted_at_one_place)
{
    static const char *const ways[] = {"", "--plain", "--compile"}, *const wrong[] = {
                                                                        "0.0, 3.0",          "4.0, 0.0",
                                                                        "0.0, -4.0",         "-5.0, 0.0",
                                                                        "6.1489147e18, 0.0", "0.0, 1e30",
                                                                        "0.0, NaN",          "-9.223372036854775808e18, 0.0"};
    const char *text = dump_whole("tests/data/dumps/boxes.yaml -n 4");

    expect_same_ways("tests/data/dumps/boxes.yaml", true);
    cr_expect(strstr(text, " by 1 of 12, in place") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_INT64), "%s", text);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong * sizeof ways / sizeof *ways; i++) {
        const char *of = wrong[i / (sizeof ways / sizeof *ways)], *way = ways[i % (sizeof ways / sizeof *ways)];
        const struct cli_outcome *outcome = cli_call(
            "mdf-run tests/data/dumps/boxes.yaml -i 'points=[[0, 0], [0, 0], [0, 0], [%s], [0, 0]]' -n 3 --quiet %s", of, way);

        cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, "out of range") != NULL, "%s %s: %s%s", of, way,
                  outcome->output, outcome->errors);
    }
}

/* A few elements that are found at an index in an array into which runs put numbers are loaded one by one: a load of all of them
 * would wait until what was just put is in memory. */
Test(table_forms, few_elements_of_what_is_put)
{
    const char *text = dump_whole("tests/data/dumps/worths.yaml -n 4");

    expect_same_ways("tests/data/dumps/worths.yaml", true);
    cr_expect(strstr(text, " = maximum r") == NULL && strstr(text, " = sum r") == NULL, "%s", text);
    cr_expect(strstr(text, " from 3 at r0 by 4 of 4") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* An element of a table is looked up at two indices, of which the first one's multiples may wrap; past a longest axis too. */
Test(table_forms, indices_of_tables_that_would_wrap)
{
    static const char *const ways[] = {"", "--plain", "--compile"};
    static const struct {
        const char *model, *first, *results;
    } cases[] = {{"far_tables.yaml -g short", "1152921504606846976", NULL},
                 {"far_tables.yaml -g short", "-4", "[2.0]"},
                 {"far_tables.yaml -g long", "4611686018427387904", NULL},
                 {"far_tables.yaml -g long", "70000", NULL},
                 {"far_tables.yaml -g long", "-70001", NULL},
                 {"far_tables.yaml -g long", "-70000", "[2.0]"},
                 {"far_tables.yaml -g long", "69999", "[279998.0]"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
            const struct cli_outcome *outcome =
                cli_call("mdf-run tests/data/dumps/%s -i 'places=[[0, 0], [0, 0], [%s, 1]]' -n 4 --quiet %s", cases[i].model,
                         cases[i].first, ways[way]);

            cr_expect(cases[i].results == NULL ? outcome->exit_status == 1 && strstr(outcome->errors, "out of range") != NULL
                                               : strstr(outcome->output, cases[i].results) != NULL,
                      "%s %s %s: %s%s", cases[i].model, cases[i].first, ways[way], outcome->output, outcome->errors);
        }
    }
}

/* A state that loops of the body go on with lies in one place, but where the outer loop looks at what it was before; an element
 * of a table, whose place both numbers say, is carried to the next run as that of a row is. */
Test(table_forms, tables_lie_in_one_place)
{
    static const struct {
        const char *words;
        size_t n;
    } cases[] = {{"two buffers", 1}, {"[1] = v", 8}, {"call GatherND", 0}};
    const struct cli_outcome *outcome;
    size_t n_calls, i;

    expect_same_ways("tests/data/dumps/tables.yaml", true);
    outcome = cli_call("mdf-run tests/data/dumps/tables.yaml -n 4 --dump lowered | sed 's/  ;.*//; /^constant/d; /^a loop/,$d'");
    for (i = 0; i < sizeof cases / sizeof *cases && mdf_machine_has_vectors(MDF_DTYPE_INT64); i++) {
        const char *at = outcome->output;
        size_t n = 0;

        for (; (at = strstr(at, cases[i].words)) != NULL; at++) {
            n++;
        }
        cr_expect_eq(n, cases[i].n, "%s: %zu\n%s", cases[i].words, n, outcome->output);
    }
    n_calls = count_in("tests/data/dumps/tables.yaml -n 4 --dump machine | tr -d '\\n' | sed 's/  [0-9a-f]*  / /g'", "ff d0");
    cr_expect_lt(n_calls, 46, "%zu: loops whose states lie in those around call nothing to begin and end", n_calls);
}

/* A row that a nest has made is copied in machine code by one load and one store of 32 bytes each, and nobody compares where it
 * lies. */
Test(table_forms, rows_are_put_in_large_pieces)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/row_puts.yaml --dump machine | "
                                                 "sed -n '/= put .* by 8 of 4, in place/,/^[a-z]/p' | grep '^ ' | cut -c9- | "
                                                 "tr '\\n' ' '");

    cr_expect((strstr(outcome->output, "c5 7c 10 38 c5 7c 11 3a") != NULL && strstr(outcome->output, "48 3b c2") == NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
              "%s", outcome->output);
}

/* Python's x[i] by a number that is not known before is read where it lies, and past the end it is the error that it is. */
Test(table_forms, items_are_read_where_they_lie)
{
    static const char *const ways[] = {"", "--plain", "--compile"};
    const char *text = dump_whole("tests/data/dumps/items.yaml -n 4");
    size_t i;

    expect_same_ways("tests/data/dumps/items.yaml", true);
    cr_expect(strstr(text, "call operator.getitem") == NULL && strstr(text, "by 8 of 5") != NULL, "%s", text);
    for (i = 0; i < sizeof ways / sizeof *ways; i++) {
        const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/items.yaml -n 3 -i first=7 %s", ways[i]);

        cr_expect(outcome->exit_status != 0 &&
                      strstr(outcome->errors, "index 7 (number 0 of the indices) is out of range") != NULL,
                  "%s: %s", ways[i], outcome->errors);
    }
}

/* What the sides of a condition put into a state is put where the state lies, in one of them or behind it. */
Test(table_forms, puts_of_conditions)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/compile/chosen_puts.yaml -n 4 --dump lowered");
    const char *at = outcome->output, *end = strstr(at, "\na loop, node"); /* behind the whole: the same by itself */
    size_t n_in_place = 0, n_puts = 0;

    for (; (at = strstr(at, " = put ")) != NULL && (end == NULL || at < end); at++) {
        n_puts++;
        n_in_place += strstr(at, "\n") > strstr(at, ", in place  ;");
    }
    cr_expect((n_in_place == n_puts && n_puts == 9) || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%.9000s", outcome->output);
}
