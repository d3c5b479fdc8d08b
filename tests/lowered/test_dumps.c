/* test_dumps.c - windows on what the engine makes of models: what mdf-run --dump and --explain say, and that results are as by
 * --plain.
 */
#include "mdf_c/machine/emit.h"
#include "tests/support/cli_calls.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(dumps, .init = cli_set_up, .fini = cli_tear_down);

/* What a way of running writes in so many steps is, to the byte, what the plain one does. */
static void expect_plain(const char *model, int n_steps, const char *way)
{
    const struct cli_outcome *outcome = cli_call("mdf-run %s -n %d --plain -o %s/plain.json", model, n_steps, cli_folder);

    cr_assert_eq(outcome->exit_status, 0, "%s", outcome->errors);
    outcome = cli_call("mdf-run %s -n %d %s -o %s/way.json && cmp %s/plain.json %s/way.json", model, n_steps, way, cli_folder,
                       cli_folder, cli_folder);
    cr_expect_eq(outcome->exit_status, 0, "%s %s: %s%s", model, way, outcome->output, outcome->errors);
}

/* The forms of small models, as they were when somebody last looked at them. Where these texts change, the engine has come to
 * do something else: look whether that was meant. */
Test(dumps, texts)
{
    static const struct {
        const char *arguments, *file;
    } cases[] = {
        {"examples/newton_sqrt.json -i a=10 --dump code", "newton_code.txt"},
        {"examples/newton_sqrt.json -i a=10 --check --dump code", "newton_code.txt"},
        {"examples/newton_sqrt.json -i a=10 --dump lowered", "newton_lowered.txt"},
        {"tests/data/dumps/timed.json --dump schedule", "timed_schedule.txt"},
        {"tests/data/dumps/timed.json --check --dump schedule", "timed_schedule.txt"},
        {"examples/newton_sqrt.json -i a=10 --dump machine", "newton_machine.txt"},
        {"examples/newton_sqrt.json --plain --dump lowered", "plain_lowered.txt"},
        {"tests/data/dumps/whole_choices.yaml --dump lowered", "whole_choices_lowered.txt"},
        {"tests/data/dumps/counted.yaml --dump lowered", "counted_lowered.txt"},
        {"tests/data/dumps/moves.yaml -i idle=0 --dump nests", "moves_nests.txt"},
        {"tests/data/dumps/growing.yaml --dump nests", "growing_nests.txt"},
        {"tests/data/dumps/no_runs.yaml -n 3 --dump lowered", "no_runs_nests.txt"},
        {"tests/data/dumps/life.yaml --dump nests", "life_nests.txt"},
        {"tests/data/dumps/rows.yaml --dump nests", "rows_nests.txt"},
        {"tests/data/dumps/windows.yaml --dump nests", "windows_nests.txt"},
        {"tests/data/dumps/ranks.yaml --dump nests", "ranks_nests.txt"},
        {"tests/data/dumps/counts.yaml --dump nests", "counts_nests.txt"},
        {"tests/data/dumps/repeated.yaml --dump nests", "repeated_nests.txt"},
        {"tests/data/dumps/distances.yaml --dump nests", "distances_nests.txt"},
        {"tests/data/dumps/short_rows.yaml --dump nests", "short_rows_nests.txt"},
        {"tests/data/dumps/backward.yaml --dump nests", "backward_nests.txt"},
        {"tests/data/dumps/log_forward.yaml --float32 --dump nests", "log_forward_nests.txt"},
        {"tests/data/dumps/decayed.yaml --float32 --dump nests", "decayed_nests.txt"},
        {"tests/data/dumps/first_passage.yaml --sweep tests/data/dumps/first_passage_sweep.yaml --dump nests",
         "first_passage_nests.txt"},
        {"tests/data/dumps/first_passage.yaml --sweep tests/data/dumps/first_passage_sweep.yaml --float32 --dump nests",
         "first_passage_float32_nests.txt"},
        {"tests/data/dumps/first_passage.yaml --sweep tests/data/dumps/first_passage_sweep.yaml --lanes 1 --dump lowered",
         "no_lanes.txt"}};
    char path[CLI_PATH_SIZE], expected[CLI_TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cli_outcome *outcome = cli_call("mdf-run %s", cases[i].arguments);

        if (strstr(cases[i].file, "_nests.txt") != NULL && !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
            continue; /* there are no nests: kernels are as fast */
        }
        snprintf(path, sizeof path, "tests/data/dumps/%s", cases[i].file);
        cli_read_file(path, expected);
        cr_expect(outcome->exit_status == 0, "%s: %s", cases[i].arguments, outcome->errors);
        cr_expect(strcmp(outcome->output, expected) == 0 || strstr(outcome->output, "\nno machine code: ") != NULL, "%s gives %s",
                  cases[i].arguments, outcome->output);
    }
}

Test(dumps, dump_of_source_is_what_the_compiler_gets)
{
    static char source[CLI_TEXT_SIZE];
    const struct cli_outcome *outcome;

    cr_expect(cli_call("mdf-compile examples/cooling.yaml -o %s/m.c", cli_folder)->exit_status == 0);
    cli_read_file(cli_in_folder("m.c"), source);
    outcome = cli_call("mdf-run examples/cooling.yaml --dump c");
    cr_expect_str_eq(outcome->output, source, "%s", outcome->output);
}

/* A Scan along any axes is lowered, and has a form in C. */
Test(dumps, a_scan_along_the_last_axis)
{
    static const char results[] = "{\"last\": [5.25, 0.25], \"all\": [[5.25, 2.5, 1.0], [0.25, 0.5, 0.0]]}";
    static const char *const ways[] = {"", "--plain", "--compile"};
    const struct cli_outcome *outcome;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        outcome = cli_call("mdf-run tests/data/dumps/last_axis.yaml %s", ways[i]);
        cr_expect(strstr(outcome->output, results) != NULL, "%s: %s%s", ways[i], outcome->output, outcome->errors);
    }
    outcome = cli_call("mdf-run tests/data/dumps/last_axis.yaml --explain");
    cr_expect(strstr(outcome->output, "step by step") == NULL, "%s", outcome->output);
}

/* Items along another axis than the first are read where they lie, without a copy that has them in front. */
Test(dumps, items_along_other_axes)
{
    const char *text = dump_whole("tests/data/dumps/along.yaml -g g");

    expect_same_ways("tests/data/dumps/along.yaml -g g", true);
    expect_same_ways("tests/data/dumps/along.yaml -g settled", false);
    cr_expect(strstr(text, "by 160, 1 at r") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* What is put behind a state that grows is put there as it was made, and not as a copy of another shape. */
Test(dumps, rows_behind_a_state)
{
    const char *text = dump_whole("tests/data/dumps/grown_rows.yaml");

    expect_same_ways("tests/data/dumps/grown_rows.yaml", true);
    cr_expect(strstr(text, "= stack (") != NULL && strstr(text, "= copy") == NULL, "%s", text);
}

/* A sum along an axis that leads to one element again and again has as many terms as the axis has indices; the type in which
 * powers are computed may hang on an exponent. */
Test(dumps, folds_of_one_place_and_powers_of_two_types)
{
    expect_same_ways("tests/data/dumps/one_place.yaml", true);
    expect_same_ways("tests/data/dumps/powers.yaml -g g", true);
    expect_plain("tests/data/dumps/powers.yaml -g alone --inputs tests/data/dumps/powers.json", 6, "");
}

/* Numbers of ONNX's operators are drawn without their kernels; one, or a few, uniform ones without a call. */
Test(dumps, random_numbers)
{
    const char *text = dump_whole("tests/data/dumps/drawn.yaml");

    expect_same_ways("tests/data/dumps/drawn.yaml", false);
    cr_expect(strstr(text, "= call ") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
    cr_expect(strstr(text, "= draw RandomNormalLike(") != NULL, "%s", text);
}

/* A Softmax of few elements, in loops of more of them in short lines, is a nest, infinities and NaN among them. */
Test(dumps, softmaxes_in_loops)
{
    const char *text = dump_whole("tests/data/dumps/softmaxes.yaml");

    expect_same_ways("tests/data/dumps/softmaxes.yaml", true);
    cr_expect(strstr(text, "call Softmax") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* A state that a loop of the body leaves in its stack is not where the state around it lies: the form held otherwise, and was not
 * taken. */
Test(dumps, states_left_in_stacks)
{
    const char *text = dump_whole("tests/data/dumps/left_in_stacks.yaml");

    expect_same_ways("tests/data/dumps/left_in_stacks.yaml", true);
    cr_expect(strstr(text, ", two buffers") != NULL && strstr(text, ", in its stack") != NULL, "%s", text);
}

/* A state of short rows that becomes an array from outside is not turned: no nest makes what it is next. */
Test(dumps, states_from_outside)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/from_outside.yaml --explain");

    cr_expect(strstr(outcome->output, "graph 'g': lowered") != NULL, "%s", outcome->output);
    expect_same_ways("tests/data/dumps/from_outside.yaml", true);
}

/* What is turned along an axis is no array of its own for what reads it, but for what folds it, or is called with it; a box of an
 * array's edge is a nest of its own. */
Test(dumps, what_is_turned_is_read_where_it_lies)
{
    const char *text = dump_whole("tests/data/dumps/torus.yaml");

    expect_same_ways("tests/data/dumps/torus.yaml", true);
    cr_expect(strstr(text, "nest over 10, 13") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", text);
    cr_expect(strstr(text, "nest over 38 ") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", text);
    cr_expect(strstr(text, "nest over 39 ") == NULL, "%s", text);
}

/* Two fields in a border of what lies at their other edges are one nest, with axes in one order, and so no border is made. */
Test(dumps, fields_in_a_border_are_one_nest)
{
    const char *text = dump_whole("tests/data/dumps/reaction.yaml");

    expect_same_ways("tests/data/dumps/reaction.yaml", true);
    cr_expect((strstr(text, "nest over 10, 10 ") != NULL && strstr(text, "padded") == NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64),
              "%s", text);
}

/* Two numbers that were float32 are added in float32 where their sum is rounded to it, and in float64 where a mean is. */
Test(dumps, sums_of_two_are_of_float32)
{
    const char *text = dump_whole("tests/data/dumps/sums_of_two.yaml");

    expect_same_ways("tests/data/dumps/sums_of_two.yaml", true);
    cr_expect(strstr(text, "float32 = sum r") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
    cr_expect(strstr(text, "float64 = sum r") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* Of totals in the lanes of a vector, only those that have an element are joined (7d 39: the upper half of a vector). */
Test(dumps, few_lanes_are_joined)
{
    static const char machine[] = "tests/data/dumps/few_lanes.yaml --dump machine | tr -d '\\n' | sed 's/  [0-9a-f]*  / /g'";

    expect_same_ways("tests/data/dumps/few_lanes.yaml", true);
    cr_expect_eq(count_in(machine, "c4 e3 7d 39") + count_in(machine, "c4 63 7d 39") + count_in(machine, "c4 c3 7d 39") +
                     count_in(machine, "c4 43 7d 39"),
                 0);
}

/* Limits in loops are choices of a number, of which processors have one operation: no function of elements is called, and a
 * constant limit is not asked whether it is NaN. */
Test(dumps, limits_are_choices)
{
    const char *text = dump_whole("tests/data/dumps/limits.yaml");

    expect_same_ways("tests/data/dumps/limits.yaml", true);
    cr_expect(strstr(text, " elements ") == NULL && strstr(text, "call Clip") == NULL, "%s", text);
    cr_expect(strstr(text, " = not v") == NULL && strstr(text, " = select v") != NULL, "%s", text);
}

/* In a loop the elements of arrays of a few are numbers of their own, and so is a state. */
Test(dumps, systems_of_a_few_variables)
{
    const char *text = dump_whole("tests/data/dumps/systems.yaml");
    bool has_vectors = mdf_machine_has_vectors(MDF_DTYPE_FLOAT32);

    expect_same_ways("tests/data/dumps/systems.yaml", true);
    cr_expect(!has_vectors || (strstr(text, "float32[3] = v") == NULL && strstr(text, "float32[2,2] = v") == NULL), "%s", text);
    cr_expect(!has_vectors || (strstr(text, " = sum r") == NULL && strstr(text, " = maximum r") == NULL), "%s", text);
}

/* In a loop no kernel is called to fold all of a small array, or several dimensions at its end. */
Test(dumps, folds_of_whole_arrays_in_loops)
{
    const char *text = dump_whole("tests/data/dumps/whole_folds.yaml");

    expect_same_ways("tests/data/dumps/whole_folds.yaml", true);
    cr_expect(strstr(text, " = call ") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", text);
}

/* Nor for small layers. */
Test(dumps, small_layers_in_loops)
{
    const char *text = dump_whole("tests/data/dumps/small_layers.yaml");

    expect_same_ways("tests/data/dumps/small_layers.yaml", true);
    cr_expect(strstr(text, " = call ") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* Nor for sums by Einsum, and for a few lines that are normalised. */
Test(dumps, small_norms_in_loops)
{
    const char *text = dump_whole("tests/data/dumps/small_norms.yaml");

    expect_same_ways("tests/data/dumps/small_norms.yaml", true);
    cr_expect(strstr(text, " = call ") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%s", text);
}

/* Nor for pools, with padding or without, and folds of one element. */
Test(dumps, small_pools_in_loops)
{
    static const char *const models[] = {"tests/data/dumps/small_pools.yaml", "tests/data/dumps/padded_pools.yaml"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const char *text = dump_whole(models[i]);

        expect_same_ways(models[i], true);
        cr_expect((strstr(text, " = call ") == NULL && strstr(text, "Pool(") == NULL) ||
                      !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
                  "%s", text);
    }
}

/* Nor for moves whose results lie in many pieces. */
Test(dumps, scattered_moves_in_loops)
{
    const char *text = dump_whole("tests/data/dumps/scattered_moves.yaml");

    expect_same_ways("tests/data/dumps/scattered_moves.yaml", true);
    cr_expect((strstr(text, "call Pad") == NULL && strstr(text, "call Gather") == NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
              "%s", text);
}

/* Nor for places of extremes of a row, whatever its elements are. */
Test(dumps, places_in_rows)
{
    const char *text = dump_whole("tests/data/dumps/places_in_rows.yaml");

    expect_same_ways("tests/data/dumps/places_in_rows.yaml", true);
    cr_expect((strstr(text, "call Arg") == NULL && strstr(text, "_minimum r") == NULL) ||
                  !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32),
              "%s", text);
}

/* What one branch puts into a sequence is put into an array where it lies; a list of what is there is made behind the loop, and
 * where nothing is, the instructions run as they stand. */
Test(dumps, sequences_with_room)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/filtered.yaml -n 4 --dump lowered");

    cr_expect(strstr(outcome->output, " float32[9,3] = put v") != NULL && strstr(outcome->output, " of 9, in place  ;") != NULL &&
                  strstr(outcome->output, " float32[0,3] = call Slice(") != NULL,
              "%.9000s", outcome->output);
    expect_plain("tests/data/dumps/filtered.yaml", 4, "");
    expect_plain("tests/data/dumps/filtered.yaml -i least=99", 4, "");
    expect_plain("tests/data/compile/sequence_rooms.yaml", 4, "");
}

/* Calls in loops that a function of plain C does, with the bits of the kernel; what nobody reads it does not make. */
Test(dumps, routines_in_loops)
{
    static const struct {
        const char *model, *lines[8];
        bool is_whole; /* no kernel is called */
    } cases[] = {
        {"tests/data/compile/top_of_windows.yaml",
         {" float64[5], - = routine TopK(", " float64[3], v", "  -, v", " int32[1,25], - = routine TopK("},
         false},
        {"tests/data/compile/routines_in_loops.yaml",
         {"routine CumSum(", "routine ScatterElements(", "routine ScatterND(", "routine DFT(", "routine STFT("},
         true}, /* OneHot, ArgMax and ArgMin are nests */
        {"tests/data/compile/math_integers.yaml",
         {"routine math.gcd(", "routine math.lcm(", "routine math.comb(", "routine math.perm(", "routine math.factorial(",
          "routine math.isqrt("},
         false},
        {"tests/data/compile/scattered.yaml", {"int64[8] = routine ScatterElements("}, false},
        {"tests/data/dumps/nearest.yaml", {"routine ScatterND("}, false},
        {"tests/data/compile/quantised_loops.yaml",
         {"routine QuantizeLinear(", "routine MatMulInteger(", "routine DequantizeLinear(", "routine DynamicQuantizeLinear(",
          "routine QLinearMatMul(", "routine ConvInteger(", "routine QLinearConv("},
         true},
        {"tests/data/compile/recurrent_in_loops.yaml",
         {"float32[3,1,2,3], -, v", "-, v", "routine LSTM(", "float32[3,2,2,3], v", "routine GRU(",
          "float64[1,1,5] = routine RNN("},
         true},
        {"tests/data/compile/windows_in_loops.yaml",
         {"float32[1,2,5,4] = routine ConvTranspose(", "float64[1,2,10] = routine ConvTranspose(",
          "float32[1,2,3,4] = routine Resize(", "float32[1,2,6,6] = routine Resize(", "float64[1,2,5] = routine Resize("},
         true},
        {"tests/data/compile/attention_in_loops.yaml",
         {" float32[1,1,6], v", " float32[1,2,4,3] = routine LinearAttention(", "  -, v",
          " float32[1,1,6], - = routine LinearAttention("},
         true},
    };
    const struct cli_outcome *outcome;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_plain(cases[i].model, 3, "");
        outcome = cli_call("mdf-run %s -n 3 --dump lowered", cases[i].model);
        for (size_t j = 0; cases[i].lines[j] != NULL; j++) {
            cr_expect(strstr(outcome->output, cases[i].lines[j]) != NULL, "%s: %.9000s", cases[i].lines[j], outcome->output);
        }
        cr_expect(!cases[i].is_whole || strstr(outcome->output, " call ") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64),
                  "%.9000s", outcome->output);
    }
}

/* Rows that are known before are compared with numbers in int32, wherever these lie. */
Test(dumps, narrow_comparisons)
{
    static const char model[] = "tests/data/compile/narrow.yaml";
    const struct cli_outcome *outcome;

    expect_plain(model, 3, "");
    outcome = cli_call("mdf-run %s -n 3 --dump lowered", model);
    cr_expect(strstr(outcome->output, " int32 scalar = cast v") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%.9000s",
              outcome->output);
}

/* What is computed in 32 bits before a sum in float64 has a nest of its own, whose vectors have twice as many lanes. */
Test(dumps, sums_of_64_bits_apart)
{
    const char *text = dump_whole("tests/data/dumps/resampled.yaml -n 3");

    expect_same_ways("tests/data/dumps/resampled.yaml", true);
    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_FLOAT32) ||
                  (strstr(text, "nest over 40, 40 ") != NULL && strstr(text, "nest over 40 ") != NULL &&
                   strstr(text, "r4@1 int32 = sum r3") != NULL && strstr(text, "r1@1 float64 = cast r0") != NULL),
              "%s", text);
}

/* Short rows that nests make for nests lie as columns, but where one of these goes through all of them as one row. */
Test(dumps, columns_between_nests)
{
    const char *text = dump_whole("tests/data/dumps/forces.yaml -n 3");

    expect_same_ways("tests/data/dumps/forces.yaml", true);
    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_FLOAT32) ||
                  (strstr(text, "by 24, 1, 12") != NULL && strstr(text, "from 15 by 24, 1") != NULL &&
                   strstr(text, " by 24, 2, 1") != NULL),
              "%s", text);
}

/* Whole numbers are int32 where it is known between which others they lie: the same comes out, also where a sum of 64 bits wraps,
 * and an index past the end is the same error. */
Test(dumps, known_numbers)
{
    static const char model[] = "tests/data/dumps/known_numbers.yaml";
    static char errors[CLI_TEXT_SIZE];
    const struct cli_outcome *outcome;
    const char *text = dump_whole("tests/data/dumps/known_numbers.yaml -n 3");

    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_FLOAT32) ||
                  (strstr(text, "int32 = first_minimum r") != NULL && strstr(text, "int32 = sum r") != NULL &&
                   strstr(text, "int32 = subtract r") != NULL && strstr(text, "int64 = ") == NULL),
              "%s", text);
    expect_same_ways("tests/data/dumps/known_numbers.yaml -g g", true);
    expect_same_ways("tests/data/dumps/known_numbers.yaml -g far", true);
    strcpy(errors, cli_call("mdf-run %s -g beyond -n 3 --plain", model)->errors);
    outcome = cli_call("mdf-run %s -g beyond -n 3", model);
    cr_expect(outcome->exit_status == 1 && errors[0] != '\0', "%s", outcome->output);
    cr_expect_str_eq(outcome->errors, errors);
}

/* What a run puts, of two elements put at once, is handed on to the next one, and an index that has been found to be there is not
 * asked again (83 fe 0c: compare with 12). */
Test(dumps, pairs)
{
    static const char model[] = "tests/data/dumps/pairs.yaml";
    const char *place = dump_whole(model);
    size_t n = 0;

    if (!mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
        return;
    }
    for (; (place = strstr(place, " state v")) != NULL; place++) {
        n++;
    }
    cr_expect_eq(n, 5, "%zu", n); /* of three arrays, and in the two inner loops the element */
    place = cli_call("mdf-run %s -n 3 --dump machine | tr -d '\\n' | sed 's/  [0-9a-f]\\{4\\}  / /g'", model)->output;
    for (n = 0; (place = strstr(place, " 83 f")) != NULL; place++) {
        n += strncmp(place + 6, " 0c", 3) == 0;
    }
    cr_expect_leq(n, 8, "%zu", n);
    expect_same_ways(model, false);
}

/* How many lines with these words follow one another, at most. */
static size_t longest_stretch(const char *text, const char *words)
{
    size_t n = 0, most = 0;

    while (*text != '\0') {
        const char *end = text + strcspn(text, "\n"), *found = strstr(text, words);

        n = found != NULL && found < end ? n + 1 : 0;
        most = n > most ? n : most;
        text = *end == '\n' ? end + 1 : end;
    }
    return most;
}

/* Numbers that one function makes are made one behind the other, unless one hangs on another. */
Test(dumps, functions_beside)
{
    static const char model[] = "tests/data/dumps/neuron.yaml";
    const char *text = cli_call("mdf-run %s --dump lowered | sed -n '/^loop/,/^output/p; /^output/q; s/  ;.*//'", model)->output;

    cr_expect_eq(longest_stretch(text, " elements Exp "), 6, "%s", text);
    cr_expect_eq(longest_stretch(text, " elements Tanh "), 1, "%s", text);
    expect_same_ways(model, true);
    expect_same_ways("tests/data/dumps/neuron.yaml --float32", false);
    cr_expect(strstr(cli_call("mdf-run %s -n 3 --explain", model)->output, "does not hold") == NULL);
}

/* Runs that do little but load from places that they find, each as often as it needs, are not done side by side. */
Test(dumps, searches)
{
    static const char model[] = "tests/data/dumps/search.yaml";
    const struct cli_outcome *outcome;

    expect_plain(model, 3, "");
    expect_plain(model, 3, "--compile");
    outcome = cli_call("mdf-run %s -n 3 --dump lowered", model);
    cr_expect(strstr(outcome->output, "loop 17 runs  ;") != NULL, "%.9000s", outcome->output);
}

/* Sums of a few numbers for each of many rows are additions in C, with the bits of sums, and of products that need no rounding
 * where these were float32; their extremes are choices. */
Test(dumps, short_sums_in_c)
{
    static const char model[] = "tests/data/dumps/short_sums.yaml";
    const struct cli_outcome *outcome;

    expect_plain(model, 1, "--compile");
    outcome = cli_call("mdf-run %s --dump c | sed -n '/compute_rows/,/^}/p'", model);
    cr_expect(strstr(outcome->output, " = mdf_add_exact_product(") != NULL, "%s", outcome->output);
    cr_expect(strstr(outcome->output, "0.0 + ") != NULL && strstr(outcome->output, "sum[") == NULL &&
                  strstr(outcome->output, "largest[") == NULL && strstr(outcome->output, "smallest[") == NULL,
              "%s", outcome->output);
}

/* Totals in lanes are set, and added to, in loops over the lanes; what is left of a row has one of its own, behind which the
 * lanes are joined one by one. */
Test(dumps, sums_in_lanes_in_c)
{
    static const char model[] = "tests/data/dumps/lanes.yaml";
    const struct cli_outcome *outcome;

    expect_plain(model, 1, "--compile");
    outcome = cli_call("mdf-run %s --dump c | sed -n '/compute_even/,/^}/p'", model);
    cr_expect(strstr(outcome->output, "MDF_SHORT for (size_t lane = 0; lane < 8; lane++)") != NULL &&
                  strstr(outcome->output, "MDF_SHORT for (size_t k_lane = 0; k_lane < 8; k_lane++)") != NULL &&
                  strstr(outcome->output, "sum[k_lane] = mdf_add_exact_product(") != NULL &&
                  strstr(outcome->output, "mdf_sum_of_8_float64(sum)") != NULL,
              "%s", outcome->output);
    outcome = cli_call("mdf-run %s --dump c | sed -n '/compute_uneven/,/^}/p'", model);
    cr_expect(strstr(outcome->output, "k_block < 40; k_block += 8)") != NULL && strstr(outcome->output, "k_lane < 2;") != NULL &&
                  strstr(outcome->output, " = mdf_sum_of_8_float64_singly(sum);") != NULL,
              "%s", outcome->output);
}

/* Short rows that are summed for each of a few others, over which something is folded then, are additions in C too. */
Test(dumps, sums_in_front_of_folds_in_c)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/lanes.yaml --dump c | sed -n '/compute_near/,/^}/p'");

    cr_expect(strstr(outcome->output, "smallest[i] = taken ? (int64_t)j : smallest[i];") != NULL &&
                  strstr(outcome->output, "sum[") == NULL,
              "%s", outcome->output);
}

/* Nests whose short rows are folded have the bits that they have otherwise where these lie by columns: a state of a loop, and an
 * array from outside of which what is made is folded, too. */
static void expect_columns(const char *model)
{
    static const char *const ways[] = {"", "--compile", "--float32", "--float32 --compile"};
    const struct cli_outcome *outcome;

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        outcome = cli_call("mdf-run %s --plain %s -o %s/plain.json", model, i < 2 ? "" : "--float32", cli_folder);
        cr_assert_eq(outcome->exit_status, 0, "%s", outcome->errors);
        outcome = cli_call("mdf-run %s %s -o %s/way.json && cmp %s/plain.json %s/way.json", model, ways[i], cli_folder,
                           cli_folder, cli_folder);
        cr_expect_eq(outcome->exit_status, 0, "%s: %s%s", ways[i], outcome->output, outcome->errors);
    }
}

Test(dumps, short_rows_by_columns)
{
    const struct cli_outcome *outcome;

    expect_columns("tests/data/dumps/short_rows.yaml");
    expect_columns("tests/data/dumps/backward.yaml");
    outcome = cli_call("mdf-run tests/data/dumps/short_rows.yaml --dump c");
    cr_expect(strstr(outcome->output, "[i * 20 + j] = ") != NULL, "%s", outcome->output);
}

/* So do rows that are longer than vectors, where totals are joined in pairs; where the other factor begins is known when it runs.
 */
Test(dumps, longer_rows_by_columns)
{
    static const char model[] = "tests/data/dumps/scaling.yaml";
    const struct cli_outcome *outcome;

    expect_columns(model);
    outcome = cli_call("mdf-run %s --dump nests", model);
    cr_expect(strstr(outcome->output, " by 1, 40\n") != NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%.9000s",
              outcome->output);
    cr_expect(strstr(outcome->output, " by 40, 1\n  r1@0 int64") == NULL, "%.9000s", outcome->output);
    expect_columns("tests/data/dumps/long_rows.yaml");
    outcome = cli_call("mdf-run tests/data/dumps/long_rows.yaml --dump c | sed -n '/compute_rows/,/^}/p'");
    cr_expect(strstr(outcome->output, "lane") == NULL && strstr(outcome->output, "row[") == NULL, "%.9000s", outcome->output);
}

/* A state whose rows are folded, also with one of its own that a number says, lies by columns; all that the loop does with it
 * goes along these then. */
Test(dumps, states_of_longer_rows_by_columns)
{
    static const char model[] = "tests/data/dumps/factors.yaml";
    const struct cli_outcome *outcome;

    expect_columns(model);
    outcome = cli_call("mdf-run %s --dump c | sed -n '/compute_cholesky/,/^}/p'", model);
    cr_expect(strstr(outcome->output, "[i * 24 + j] * ") == NULL && strstr(outcome->output, "[i + j * 24] * ") != NULL, "%.9000s",
              outcome->output);
}

/* A matrix of few columns is not prepared for products in a loop: these are nests, which need nothing turned in front of them. */
Test(dumps, products_of_few_columns)
{
    const struct cli_outcome *outcome;

    expect_columns("tests/data/dumps/centres.yaml");
    outcome = cli_call("mdf-run tests/data/dumps/centres.yaml --dump lowered");
    cr_expect(strstr(outcome->output, "product ") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT32), "%.9000s",
              outcome->output);
}

/* Rows that do not end where lines of the cache do are moved in vectors of half a line: one of a whole line would lie in two. */
Test(dumps, rows_within_lines)
{
    const struct cli_outcome *outcome;

    expect_columns("tests/data/dumps/lines.yaml");
    outcome = cli_call("mdf-run tests/data/dumps/lines.yaml --dump machine");
    cr_expect(strstr(outcome->output, " 62 f1 7c 48 ") == NULL, "%.9000s", outcome->output); /* of floats, 64 bytes */
}

/* Scans in succession are one, and have a form in C; what lies between them is there where it is looked at. */
Test(dumps, scans_in_succession)
{
    static const char model[] = "tests/data/dumps/succession.yaml";
    const struct cli_outcome *outcome;

    expect_plain(model, 5, "");
    expect_plain(model, 5, "--compile");
    outcome = cli_call("mdf-run %s --explain", model);
    cr_expect(strstr(outcome->output, "      one loop with that of node 'one', parameter 'scan'\n  node 'scaled': with the") !=
                  NULL,
              "%s", outcome->output);
}

/* So are those of version 8, whatever stands in their bodies. */
Test(dumps, scans_of_a_batch)
{
    static const char model[] = "tests/data/dumps/batches.yaml";
    static const char results[] = "{\"last\": [[4.0, 6.0], [10.0, 20.0], [2.0, 9.75]], \"all\": [[[1.5, 2.0], [0.5, 1.0], [0.0, "
                                  "0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]], [[2.0, 4.0], [-1.0, 0.125], [-0.5, 0.25]]]";
    static const char *const lengths[] = {"[2, 0, 3]", "[0, 0, 0]", "[3, 3, 3]", "[0, 0, 1]", "[0, 4, 0]", "[-1, 0, 0]"};
    static char want[CLI_TEXT_SIZE];
    const struct cli_outcome *outcome;

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        outcome = cli_call("mdf-run %s --plain -n 4 -i 'lengths=%s'", model, lengths[i]);
        cr_expect_eq(outcome->exit_status, i < 4 ? 0 : 1);
        snprintf(want, sizeof want, "%s", i < 4 ? outcome->output : outcome->errors);
        outcome = cli_call("mdf-run %s -n 4 -i 'lengths=%s'", model, lengths[i]);
        cr_expect_str_eq(i < 4 ? outcome->output : outcome->errors, want);
    }
    outcome = cli_call("mdf-run %s --plain", model);
    cr_expect(strstr(outcome->output, results) != NULL, "%s", outcome->output);
    snprintf(want, sizeof want, "%s", outcome->output);
    cr_expect_str_eq(cli_call("mdf-run %s --compile", model)->output, want);
    outcome = cli_call("mdf-run %s --explain -n 4", model);
    cr_expect(strstr(outcome->output, "step by step") == NULL, "%s", outcome->output);
}

/* Lengths that no sequence has are refused by what was compiled, too; where no sequence has an item, it gives zeros if the body
 * declares of which type and shape, and else is made for other ones. */
Test(dumps, lengths_of_sequences_change)
{
#define MEANS "examples/control_flow/ragged_means.yaml"
#define FIRST "{\"lengths\": [3, 2, 1]}, "
#define ROW(first) "[" first ", 0.0, 0.0, 0.0]"
    static const struct {
        const char *model, *lengths, *text;
        int exit_status;
    } cases[] = {
        {MEANS, "[0, 1, 0]", "\"means\": [" ROW("0.0") ", " ROW("1.0") ", " ROW("0.0") "]", 0},
        {MEANS, "[0, 0, 0]", "\"means\": [" ROW("0.0") ", " ROW("0.0") ", " ROW("0.0") "]", 0},
        {MEANS, "[5, 2, 1]", "is longer than there is room for", 1},
        {MEANS, "[4, 2, -1]", "or of negative length", 1},
        {"tests/data/dumps/batches.yaml", "[0, 0, 0]", "than those that the model was compiled for", 1},
    };
    const struct cli_outcome *outcome;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *stream = fopen(cli_in_folder("lengths.json"), "w");

        cr_assert_not_null(stream);
        fprintf(stream, "[" FIRST FIRST FIRST "{\"lengths\": %s}]", cases[i].lengths);
        fclose(stream);
        outcome = cli_call("mdf-run %s --compile -n 4 --inputs %s/lengths.json", cases[i].model, cli_folder);
        cr_expect_eq(outcome->exit_status, cases[i].exit_status, "%s: %s", cases[i].lengths, outcome->errors);
        cr_expect(strstr(cases[i].exit_status == 0 ? outcome->output : outcome->errors, cases[i].text) != NULL, "%s: %s%s",
                  cases[i].lengths, outcome->output, outcome->errors);
        if (cases[i].exit_status == 0) {
            outcome = cli_call("mdf-run %s --plain -n 4 --inputs %s/lengths.json", cases[i].model, cli_folder);
            cr_expect(strstr(outcome->output, cases[i].text) != NULL, "%s: %s", cases[i].lengths, outcome->output);
        }
    }
}

/* An index is looked at in machine code also where nobody reads what stands there, and there is one element only. */
Test(dumps, an_index_that_nobody_needs)
{
    const struct cli_outcome *outcome = cli_call("mdf-run tests/data/dumps/moves.yaml -i idle=0 -i runs=2");

    cr_expect(outcome->exit_status == 1 && strstr(outcome->errors, "index 1 (number 0 of the indices) is out of range") != NULL,
              "%s", outcome->errors);
}

/* A state that is read behind its loop lies where what it becomes does, which an If in the body may leave as it was: in machine
 * code a sum is one addition, and nothing jumps over an empty branch. */
Test(dumps, states_that_are_read_behind_their_loops)
{
    static const char model[] = "bench/models/every_n_calls.yaml";
    const struct cli_outcome *outcome;

    expect_plain(model, 40, "");
    outcome = cli_call("mdf-run %s -n 40 --dump machine | sed -n '/^evaluations in a row/,$p' | sed '/^node /,$d'", model);
    if (strstr(outcome->output, "add_exact") != NULL) {
        outcome = cli_call("mdf-run %s -n 40 --dump machine | sed -n '/^evaluations in a row/,$p' | sed '/^node /,$d' | "
                           "grep -A 1 -E 'add_exact|^else' | grep -cE '^  [0-9a-f]{4}  (4. (03|83) |.*e9 )'",
                           model);
        cr_expect_str_eq(outcome->output, "3\n", "%s", outcome->output);
    }
}

/* In place of JSON, which the output file still gets; behind the schedule. */
Test(dumps, explanation)
{
    const struct cli_outcome *outcome =
        cli_call("mdf-run tests/data/two_nodes.json --explain --schedule -n 1 -o %s/e.json", cli_folder);
    char text[CLI_TEXT_SIZE];

    cr_expect(strncmp(outcome->output, "step 1\n  pass 1   A | B\ngraph 'chain': node by node\n", 50) == 0, "%s",
              outcome->output);
    cli_read_file(cli_in_folder("e.json"), text);
    cr_expect(strncmp(text, "{\"model\": \"two_nodes\"", 21) == 0, "%s", text);
    outcome = cli_call("mdf-run tests/data/two_nodes.json --explain");
    cr_expect(strncmp(outcome->output, "graph 'chain': lowered, ", 24) == 0 &&
                  strstr(outcome->output, "\n  node 'A': with the graph\n  node 'B': with the graph\n") != NULL,
              "%s", outcome->output);
}
