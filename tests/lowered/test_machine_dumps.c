/* test_machine_dumps.c - what is not in the machine code that mdf-run --dump shows: indices are not asked of which it is known
 * before between which numbers they are, and nothing is computed twice or copied needlessly. Results are as by --plain. */
#include "mdf_c/machine/emit.h"
#include "tests/support/cli_calls.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(machine_dumps, .init = cli_set_up, .fini = cli_tear_down);

/* How often the code of a model has these bytes, which may go on from one line to the next. */
static size_t count_bytes(const char *model, const char *bytes)
{
    const char *at = cli_call("mdf-run %s -n 4 --dump machine | tr -d '\\n' | sed 's/  [0-9a-f]*  / /g'", model)->output;
    size_t n = 0;

    for (; (at = strstr(at, bytes)) != NULL; at++) {
        n++;
    }
    return n;
}

static void expect_plain(const char *model)
{
    const struct cli_outcome *outcome = cli_call("mdf-run %s -n 4 --typed --plain -o %s/plain.json", model, cli_folder);

    cr_assert_eq(outcome->exit_status, 0, "%s", outcome->errors);
    outcome = cli_call("mdf-run %s -n 4 --typed -o %s/way.json && cmp %s/plain.json %s/way.json", model, cli_folder, cli_folder,
                       cli_folder);
    cr_expect_eq(outcome->exit_status, 0, "%s: %s%s", model, outcome->output, outcome->errors);
}

/* Remainders, limits, numbers of runs (83 f8 05: compare with 5). */
Test(machine_dumps, known_places)
{
    size_t n = count_bytes("tests/data/dumps/known_places.yaml", "83 f8 05");

    cr_expect_lt(n, 20, "%zu", n);
    expect_plain("tests/data/dumps/known_places.yaml");
}

/* An index is asked once in a region, with what is around it (compare with 7, jump), here of two forms; in front, in a branch,
 * and behind both. */
Test(machine_dumps, indices_that_are_asked_once)
{
    cr_expect_leq(count_bytes("tests/data/dumps/asked_once.yaml", "07 0f 83"), 16);
    expect_plain("tests/data/dumps/asked_once.yaml");
}

/* The use of large vectors ends in front of calls (call rax) and where code returns, not behind each nest. */
Test(machine_dumps, large_vectors_end_in_front_of_calls)
{
    const char *model = "tests/data/dumps/row_puts.yaml";

    size_t n = count_bytes(model, "c5 f8 77"), n_calls = count_bytes(model, "ff d0"),
           n_returns = count_bytes(model, "5b c5 f8 77 c3");

    cr_expect_eq(n, n_calls + n_returns, "%zu %zu %zu", n, n_calls, n_returns);
    expect_plain(model);
}

/* The number of a run where the number of runs is known to be below 7 (compare with 7, jump if it is not below); numbers that are
 * copies are not copied. */
Test(machine_dumps, numbers_of_inner_runs)
{
    const char *model = "tests/data/dumps/inner_runs.yaml";

    cr_expect_eq(count_bytes(model, "07 0f 83"), 0);
    cr_expect(strstr(cli_call("mdf-run %s --dump lowered | sed 's/  ;.*//'", model)->output, "[1] = copy") == NULL ||
              !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)); /* calls, not nests, take the elements then */
    expect_plain(model);
}

/* What is accepted by a test that takes long, or stays: only in the first run, which is written out, is it chosen by a mask or by a
 * move on a condition. */
Test(machine_dumps, states_that_are_accepted)
{
    cr_expect_leq(count_bytes("tests/data/dumps/accepted.yaml", "0f 47"), 1);
    expect_plain("tests/data/dumps/accepted.yaml");
}

/* A place among 12 that is made of two indices, each of which has been asked; of a real that is nothing but an index it is not asked
 * before whether it is a whole number (compare with 1, jump where that overflows): the lowest one, which stands for what is none, is
 * no index. */
Test(machine_dumps, places_of_two_indices)
{
    cr_expect_eq(count_bytes("tests/data/dumps/boxes.yaml", "83 f8 01 0f 80"), 0);
    cr_expect_eq(count_bytes("tests/data/dumps/boxes.yaml", "f8 0c 0f 83"), 0);
    expect_plain("tests/data/dumps/boxes.yaml");
}

/* A short row of a table is read where it lies, by the nest that adds to it. */
Test(machine_dumps, short_rows_where_they_lie)
{
    const char *model = "tests/data/dumps/row_update.yaml",
               *at = cli_call("mdf-run %s -n 4 --dump lowered | sed '/^a loop/,$d;1,/^loop/d'", model)->output;
    size_t n = 0;

    for (; (at = strstr(at, "nest over 4")) != NULL; at++) {
        n++;
    }
    cr_expect(n == 1 || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%zu", n);
    expect_plain(model);
}

/* What a sum over all runs begins as may be what each of them stacks. */
Test(machine_dumps, sums_of_what_is_stacked)
{
    const char *model = "tests/data/dumps/stacked_as_it_begins.yaml";

    cr_expect(strstr(cli_call("mdf-run %s -n 4 --explain", model)->output, "mistake") == NULL);
    expect_plain(model);
}

/* A remainder of two numbers of which there is a quotient is made of that, whatever their signs are (48 f7 f9: idiv rcx). */
Test(machine_dumps, remainders_of_quotients)
{
    const char *model = "tests/data/dumps/coordinates.yaml";

    cr_expect_leq(count_bytes(model, "48 f7 f9"), 4); /* the first run and the others, of the whole and of the Scan by itself */
    expect_plain(model);
}

/* What hangs on whether a state begins anew, or stays, is done in branches, in C too. */
Test(machine_dumps, states_that_begin_anew)
{
    const char *model = "tests/data/dumps/refractory.yaml",
               *at = cli_call("mdf-run %s -n 4 --dump lowered | sed '/^a loop/,$d;1,/^loop/d'", model)->output;
    size_t n = 0;

    for (; (at = strstr(at, "\n  if v")) != NULL; at++) {
        n++;
    }
    cr_expect_eq(n, 3, "%zu", n);
    cr_expect(strstr(cli_call("mdf-run %s -n 4 --dump c", model)->output, "if (spikes") != NULL);
    expect_plain(model);
    model = "tests/data/dumps/last_step.yaml"; /* what else ends the loop */
    cr_expect(strstr(cli_call("mdf-run %s -n 4 --dump lowered", model)->output, "\n  if v") != NULL);
    expect_plain(model);
}

/* An element of a row of a table is loaded from the table; past the end it is the error that it is, also once there is code. */
Test(machine_dumps, elements_of_rows)
{
    static const char *const wrong[] = {"\"rows\": [3, 0, 0, 0, 0]", "\"rows\": [-4, 0, 0, 0, 0]", "\"columns\": [4, 0, 0, 0, 0]",
                                        "\"columns\": [0, 0, 0, 0, -5]"};
    const char *model = "tests/data/dumps/row_elements.yaml";
    char path[CLI_PATH_SIZE];
    size_t i;

    cr_expect(strstr(cli_call("mdf-run %s -n 4 --dump lowered", model)->output, "by 1 of 12") != NULL ||
              !mdf_machine_has_vectors(MDF_DTYPE_INT64));
    cr_expect(strstr(cli_call("mdf-run %s --dump c", model)->output, ", 12, &beyond)]") != NULL);
    expect_plain(model);
    snprintf(path, sizeof path, "%s/inputs.json", cli_folder);
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct cli_outcome *outcome;
        FILE *file = fopen(path, "w");

        cr_assert(file != NULL && fprintf(file, "[{}, {}, {}, {}, {%s}]", wrong[i]) > 0 && fclose(file) == 0);
        outcome = cli_call("mdf-run %s -n 5 --inputs %s --quiet", model, path);
        cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, "out of range") != NULL, "%s: %s", wrong[i],
                  outcome->errors);
    }
}

/* What bails out while another number waits leaves the stack as it was. */
Test(machine_dumps, indices_past_the_end_while_others_wait)
{
    const struct cli_outcome *outcome =
        cli_call("mdf-run tests/data/dumps/past_rows.yaml --inputs tests/data/dumps/past_rows_inputs.json -n 4 --quiet");

    cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, "(iteration 2 of onnx::Loop) (step 4)") != NULL, "%d: %s",
              outcome->exit_status, outcome->errors);
}

/* Sums that a function is called on, and that its results meet, are made in front of the call only. */
Test(machine_dumps, sums_in_front_of_calls)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/summed_calls.yaml --dump machine | "
                                                 "sed -n '/^nest over 16, 4/,/^[a-z]/p' | grep -c '^ '");

    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_FLOAT32) || atoi(outcome->output) < 80, "%s lines", outcome->output);
    expect_plain("tests/data/dumps/summed_calls.yaml");
}

/* Whether four indices are neighbours (compare with 15) is found once for all tables that are read by them. */
Test(machine_dumps, tables_read_by_the_same_indices)
{
    const char *model = "tests/data/dumps/same_indices.yaml";
    size_t n = count_bytes(model, "83 f8 0f");

    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_INT64) || n == 4, "%zu", n);
    expect_plain(model);
}

/* float16 and bfloat16 are computed with by conversions to float32 and back; no kernel is called, nor a function. */
Test(machine_dumps, halves)
{
    const char *model = "tests/data/dumps/halves.yaml";
    const char *told = cli_call("mdf-run %s --dump nests", model)->output;

    cr_expect((strstr(told, "float16 = cast") != NULL && strstr(told, "bfloat16 = select") != NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT16),
              "%s", told);
    cr_expect(strstr(cli_call("mdf-run %s --explain", model)->output, "calls kernels") == NULL ||
              !mdf_machine_has_vectors(MDF_DTYPE_FLOAT16));
    expect_plain(model);
}

/* A number beside a half is rounded to one first, whatever the elements were when the form was made. */
Test(machine_dumps, numbers_beside_halves)
{
    expect_plain("tests/data/compile/half_numbers.yaml --trace --inputs tests/data/compile/half_numbers.json");
}
