/* test_compile.c - mdf-compile and mdf-run --compile: generated source compiles without a warning and computes, to the last bit,
 * what mdf-run computes; what has no form in C is refused in words. */
#include "tests/support/compile_runs.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compile, .init = compile_set_up, .fini = compile_tear_down);

/* The same numbers, to the last bit; a whole number may be a real one of that value, since a variable of C has one type from the
 * first step on. */
static bool is_same(json_t *a, json_t *b)
{
    const char *key;
    json_t *item;
    size_t i;
    bool same;

    if (json_is_number(a) && json_is_number(b)) {
        double x = json_number_value(a), y = json_number_value(b);

        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (json_is_array(a) && json_is_array(b)) {
        same = json_array_size(a) == json_array_size(b);
        for (i = 0; same && i < json_array_size(a); i++) {
            same = is_same(json_array_get(a, i), json_array_get(b, i));
        }
        return same;
    }
    if (json_is_object(a) && json_is_object(b)) {
        same = json_object_size(a) == json_object_size(b);
        json_object_foreach(a, key, item)
        {
            same = same && json_object_get(b, key) != NULL && is_same(item, json_object_get(b, key));
        }
        return same;
    }
    return json_equal(a, b);
}

/* What mdf-run prints behind its warnings. */
static char *find_results(char *printed)
{
    return *printed == '{' ? printed : strstr(printed, "\n{");
}

/* As JSON; NaN and infinities, which JSON has not, as texts of the same length. */
static json_t *read_results(char *results)
{
    static const char *const words[][2] = {{"-Infinity", "\"lowest\" "}, {"Infinity", "\"most\"  "}, {"NaN", "\"n\""}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        for (char *at = results; (at = strstr(at, words[i][0])) != NULL; at += strlen(words[i][0])) {
            memcpy(at, words[i][1], strlen(words[i][0]));
        }
    }
    return json_loads(results, 0, NULL);
}

/* What mdf-run prints with and without --compile, by the C compiler `compiler` (NULL: that of the environment). */
static void expect_same(const char *compiler, const char *arguments)
{
    char *plain = compile_new_output(), *compiled = compile_new_output();
    char *expected, *results;

    compile_run(plain, "$BUILD/mdf-run %s --quiet 2>&1", arguments);
    compile_run(compiled, "%s%s $BUILD/mdf-run %s --quiet --compile 2>&1", compiler != NULL ? "CC=" : "",
                compiler != NULL ? compiler : "", arguments);
    expected = find_results(plain);
    results = find_results(compiled);
    cr_expect(expected != NULL, "%s: %.300s", arguments, plain);
    cr_expect(results != NULL, "%s --compile: %.300s", arguments, compiled);
    if (expected != NULL && results != NULL && strcmp(expected, results) != 0) { /* as texts most are the same */
        json_t *a = read_results(expected), *b = read_results(results);

        cr_expect(a != NULL && b != NULL && is_same(a, b), "%s: compiled, other numbers", arguments);
        json_decref(a);
        json_decref(b);
    }
    free(plain);
    free(compiled);
}

/* States with derivatives, conditions of parameters, loops and scans, edges with weights, reduce, the scheduler: as users'
 * compilers optimise them. */
Test(compile, computes_the_same)
{
    static const char *const rows[] = {
        "examples/newton_sqrt.json -i a=10.0",
        "examples/cooling.yaml --trace -n 20 --dt 10",
        "examples/cooling.yaml --trace -n 3",
        "examples/fitzhugh_nagumo.yaml --trace -n 50 --dt 0.05",
        "examples/lif_population.json --trace -n 20 --dt 0.001",
        "examples/elman_rnn.json --typed",
        "examples/drift_diffusion.yaml --trace -n 3 --seed 5",
        "examples/race.yaml --trace -n 3",
        "examples/weighted_edges.json --trace -n 3",
        "tests/data/compile/rounded.yaml",           /* compilers leave out no rounding */
        "tests/data/compile/rotations.yaml --typed", /* here neither */
        "tests/data/compile/nested_when.yaml --trace -n 3",
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_same(NULL, rows[i]);
    }
}

/* What it compiles without a word it compiles in a fifth of the time. */
static const char strict_quick[] = "'tests/random/cc_fast.sh -Wall -Wextra -Wpedantic -Werror'";

/* Functions of numpy, Python's operators and functions, ONNX operators, arrays that are moved, reduced and multiplied: on
 * elements of each type that C has, with NaN, infinities, zeros of both signs and the ends of whole numbers; conditions of the
 * scheduler, with all scales and clocks. Their many lines are compiled without optimising, and without a warning. */
static const char *const computed_alike[] = {
    "examples/newton_sqrt.json -i a=10.0 --max-iterations 30",
    "examples/compound_interest.yaml",
    "examples/recurrence.yaml --trace -n 4",
    "examples/shared_body.json",
    "examples/multiplication_table.yaml",
    "examples/slow_and_fast.yaml --trace -n 6",
    "examples/traffic_light.yaml --trace -n 6",
    "tests/data/compile/whole_port.json --trace -n 3", /* a bare int, as PsyNeuLink's exporter means it, keeps fractions */
    "tests/data/compile/fourier.yaml --typed -n 2",
    "tests/data/compile/operators.json --trace -n 2",
    "tests/data/compile/numpy.json --typed --trace -n 2",
    "tests/data/compile/python.json --typed --trace -n 2",
    "tests/data/compile/onnx.json --typed --trace -n 2",
    "tests/data/compile/arrays.json --typed --trace -n 2",
    "tests/data/compile/products.json --typed -n 2",
    "tests/data/compile/features.json --typed --trace -n 2",
    "tests/data/compile/mixed_powers.yaml --typed --trace -n 2",
    "tests/data/compile/half_numbers.yaml --typed -i x=[0.5,0.1,-1.3]",
    "tests/data/compile/top.yaml --typed",
    "tests/data/compile/top_of_windows.yaml --typed -n 3",
    "tests/data/compile/narrow.yaml --typed -n 3",
    "tests/data/compile/truths_as_indices.yaml --typed",
    "tests/data/compile/clamped_places.yaml --typed -g g -n 2",
    "tests/data/compile/extremes.yaml --typed -g g -n 2",
    "tests/data/compile/pulls.yaml --typed",
    "tests/data/compile/small_products.yaml --typed",
    "tests/data/compile/few_extremes.yaml --typed",
    "tests/data/compile/shared_rows.yaml --typed",
    "tests/data/compile/neighbours.yaml --typed",
    "tests/data/compile/neighbours.yaml --trace -n 4 --inputs tests/data/compile/neighbours.json",
    "tests/data/compile/numbers_of_functions.yaml --typed -g g -n 3",
    "tests/data/compile/far_states.yaml --typed --trace -n 6",
    "tests/data/compile/casts.yaml --typed -n 4",
    "tests/data/compile/mixed_types.yaml --typed -n 2",
    "tests/data/compile/bits.yaml --typed -n 4",
    "tests/data/compile/casts_past_whole.yaml --typed -n 2",
    "tests/data/compile/halves.yaml --typed -n 2 -g g",
    "tests/data/compile/single_calls.yaml --typed -n 2",
    "tests/data/compile/prelu_channels.yaml --typed -n 2",
    "tests/data/compile/settled.yaml --typed -n 2",
    "tests/data/compile/routines_in_loops.yaml --typed -n 3",
    "tests/data/compile/scattered.yaml --typed -n 2",
    "tests/data/compile/quantised_loops.yaml --typed --trace -n 2",
    "tests/data/compile/windows_in_loops.yaml --typed -n 3",
    "tests/data/compile/recurrent_in_loops.yaml --typed -n 3",
    "tests/data/compile/first_runs.yaml --typed -n 2",
    "tests/data/dumps/padded_pools.yaml -n 3",
    "tests/data/compile/vectors.yaml --typed",
    "tests/data/compile/slices.yaml --typed -n 2",
    "tests/data/compile/slices.yaml --typed -n 2 -i first=[2] -i length=[1]",
    "tests/data/compile/norms.json --typed --trace -n 2",
    "tests/data/compile/two_totals.yaml --typed",
    "tests/data/compile/short_rows.yaml --typed -n 2",
    "tests/data/compile/few_elements.yaml --typed",
    "tests/data/compile/boxes.yaml --typed",
    "tests/data/compile/gates.yaml --typed -n 2",
    "tests/data/compile/many_pieces.yaml --typed",
    "tests/data/compile/pairs.yaml --typed",
    "tests/data/compile/layers.json --typed -n 2",
    "tests/data/compile/quantised.yaml --typed --trace -n 2",
    "tests/data/compile/pools_of_bytes.yaml --typed -n 2",
    "tests/data/compile/small_types.yaml --typed -n 3",
    "tests/data/compile/images_and_windows.yaml --typed --trace -n 3",
    "tests/data/compile/resize.yaml --typed",
    "tests/data/compile/rois.yaml --typed -n 2",
    "tests/data/compile/inverses.yaml --typed -n 2",
    "tests/data/compile/regions.yaml --typed -n 3 --trace --inputs tests/data/compile/regions.json",
    "tests/data/compile/grid.yaml --typed",
    "tests/data/compile/groups_18.yaml --typed",
    "tests/data/compile/groups_21.yaml --typed",
    "tests/data/compile/norms_with_statistics.yaml --typed -n 2",
    "tests/data/compile/rotary.yaml --typed -n 2",
    "tests/data/compile/attention.yaml --typed -n 2",
    "tests/data/compile/attention_in_loops.yaml --typed -n 3",
    "tests/data/compile/losses.yaml --typed -n 2",
    "tests/data/compile/schedule.json --typed --trace -n 4 -i y=0.25 -i z=0.5",
    "tests/data/compile/flow.yaml --typed --trace -n 4 --dt 0.5",
    "tests/data/compile/times.json --typed --trace -n 4 -i y=0.25 -i z=0.5",
    "tests/data/compile/draws.json --typed --trace -n 6",
    "tests/data/compile/draws.json --typed --trace -n 2 --seed 123456789012 --float32",
    "tests/data/compile/sequences.yaml --typed --trace -n 2",
    "tests/data/compile/sequence_positions.yaml --typed --trace -n 2",
    "tests/data/compile/sequence_rooms.yaml --typed --trace -n 2",
    "tests/data/compile/sequence_rooms.yaml --typed --trace -n 2 -i least=3.5",
    "tests/data/compile/sequence_positions.yaml --typed --trace -n 2 -i at=4 -i runs=3",
    "tests/data/compile/subscripts.yaml --typed --trace -n 3",
    "tests/data/compile/subscripts.yaml --typed --trace -n 3 -i k=-3",
    "tests/data/compile/optionals.yaml --typed --trace -n 3",
    "tests/data/compile/optionals.yaml --typed --trace -n 3 -i least=2.5",
    "tests/data/compile/optionals.yaml --typed --trace -n 3 -i least=9",
    "tests/data/compile/lists.yaml --typed --trace -n 5",
    "tests/data/compile/pairs_and_norms.yaml --typed --trace -n 5",
    "tests/data/compile/early_identity.yaml --typed -n 3",
    "tests/data/compile/outer_products.yaml --typed --trace -n 3",
    "tests/data/compile/grown.yaml --typed --trace -n 2",
    "tests/data/compile/grown_product.yaml --typed --trace -n 4",
    "tests/data/compile/grown_attention.yaml --typed --trace -n 2",
    "tests/data/compile/grown_heads.yaml --typed --trace -n 2",
    "tests/data/compile/grown_from_none.yaml --typed --trace -n 2",
    "tests/data/compile/written_out.yaml --typed --trace -n 2",
    "tests/data/onnx/loop_pieces.onnx --typed -n 2 -i w=[[0.5,1.5],[-2,3],[4,-0.25],[6,1],[8,0.125],[0.75,11]] "
    "-i ends=[0,2,2,6] -i m=3",
    "tests/data/onnx/loop_listed_pieces.onnx --typed -n 2 -i w=[[0.5,1.5],[-2,3],[4,-0.25],[6,1],[8,0.125],[0.75,11]] "
    "-i ends=[0,2,2,6] -i m=3",
    "tests/data/onnx/loop_ranges.onnx --typed -n 2 -i x=[0.5,1,-2,3,4] -i n=4",
    "tests/data/onnx/sequences_of_unequal_arrays.onnx --typed -n 2 -i x=[[0.5,1,2,3,4],[5,6,7,8,9]] "
    "-i y=[[1,2,3,4,5],[6,7,8,9,10],[0.25,0,1,-1,2]] --record joined,part_last,all,n",
    "tests/data/compile/chosen_puts.yaml --typed --trace -n 2",
    "tests/data/compile/rows_made_there.yaml --typed --trace -n 2",
    "tests/data/compile/beside.yaml -n 2",
    "tests/data/compile/short_inputs.yaml -n 2",
    "tests/data/compile/row_places.yaml -n 2",
    "tests/data/compile/row_ends.yaml -n 2",
    "tests/data/compile/exp_range.yaml -n 2",
    "tests/data/compile/succession.yaml -n 3", /* all at once */
    "tests/data/compile/moved_together.yaml -n 2",
    "tests/data/compile/turned_unread.yaml -g read_once --trace -n 2",
    "tests/data/compile/turned_unread.yaml -g only_turned --trace -n 2",
    "tests/data/compile/turned_unread.yaml -g read_twice --trace -n 2",
    "tests/data/compile/succession.yaml --trace -n 3",
    "tests/data/compile/nested.yaml --trace -n 6 --dt 0.1",
    "tests/data/compile/nested.yaml --trace -n 5 --dt 0.5 -i inner.y=2.5 --seed 9",
    "tests/data/compile/corners.yaml --trace -n 4 --dt 0.5 -i spare=1.5 -i beside=2.5",
    "tests/data/compile/strengths.yaml --trace -n 8 --inputs tests/data/compile/strengths.json",
    "tests/data/compile/types.yaml --trace -n 8 --inputs tests/data/compile/strengths.json",
    "tests/data/compile/bounds.yaml --trace -n 8",
    "tests/data/compile/interpolation.yaml --trace -n 40",
    "tests/data/compile/decimals.yaml --trace -n 30",
    "tests/data/compile/whole_numbers.yaml --typed --trace -n 12",
    "tests/data/compile/math_integers.yaml --typed --trace -n 14",
    "tests/data/compile/math_integers.yaml --typed --trace -n 14 -i a=13 -i narrow=17",
    "tests/data/compile/behind.yaml --trace -n 6",
    "tests/data/compile/known_order.yaml -n 5", /* nobody looks at single runs */
    "tests/data/compile/known_order.yaml --trace -n 5",
    "tests/data/compile/not_finite.yaml --trace -n 4",
};

Test(compile, each_function_and_condition_computes_the_same)
{
    size_t i;

    for (i = 0; i < sizeof computed_alike / sizeof *computed_alike; i++) {
        expect_same(strict_quick, computed_alike[i]);
    }
}

/* Header and source, without a warning in strict C11: those too that the compiler has for what it optimises. The others show in
 * what is compiled above. */
Test(compile, source_is_clean)
{
    static const char *const models[] = {"tests/data/compile/nested.yaml", "tests/data/compile/quantised.yaml",
                                         "examples/fitzhugh_nagumo.yaml", "examples/elman_rnn.json",
                                         "examples/traffic_light.yaml"};
    char *output = compile_new_output();
    size_t i;

    for (i = 0; i < sizeof models / sizeof *models; i++) {
        cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s -o %s/model.h 2>&1", models[i], compile_folder), 0, "%s: %s",
                     models[i], output);
        cr_expect_eq(compile_run(output,
                                 "${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Werror -Og -c %s/model.c -o %s/model.o 2>&1",
                                 compile_folder, compile_folder),
                     0, "%s: %.500s", models[i], output);
    }
    free(output);
}

/* Where conditions only count what each evaluation begins anew, runs stand one behind the other: in graphs within nodes too. */
Test(compile, an_order_that_is_known_is_written_as_it_is)
{
    char *output = compile_new_output();

    cr_expect_eq(compile_run(output, "$BUILD/mdf-run tests/data/compile/known_order.yaml --dump c 2>&1 | grep -c 'return "
                                     ".*run_known_order(s);'"),
                 0);
    cr_expect_str_eq(output, "2\n");
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run examples/traffic_light.yaml --dump c 2>&1 | grep -c run_known_order"), 1);
    free(output);
}

/* The interface, as its documentation says: docs/compile.md. */
Test(compile, can_be_embedded)
{
    static const char program[] =
        "#include \"sqrt.h\"\n#include <math.h>\n#include <stdio.h>\n"
        "int main(void)\n{\n    struct root s;\n    double a = 2;\n\n    root_init(&s);\n"
        "    if (root_set_input(&s, root_input_solver_a, &a) != 0 || root_step(&s, NAN) != 0) {\n        return 1;\n    }\n"
        "    printf(\"%.17g %d\\n\", *(const double *)root_output(&s, root_output_solver_x), root_size() == sizeof s);\n"
        "    a = 0;\n    root_set_input(&s, root_input_solver_a, &a);\n"
        "    printf(\"%d \", root_step(&s, NAN));\n    printf(\"%s\\n\", root_message(&s));\n    return 0;\n}\n";
    char *output = compile_new_output();

    compile_write_file("main.c", program);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile examples/newton_sqrt.json --name root -o %s/sqrt.h", compile_folder), 0);
    cr_expect_eq(compile_run(output, "cd %s && ${CC:-cc} -std=c11 -O2 -ffp-contract=off main.c sqrt.c -o main -lm && ./main",
                             compile_folder),
                 0);
    cr_expect_str_eq(output, "1.4142135623730949 1\n1 node 'solver': division by zero\n");
    free(output);
}

/* Random numbers of a state begin from a seed; a state goes on with them, and two of one program have their own. */
Test(compile, a_state_has_random_numbers_of_its_own)
{
    static const char model[] = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"output_ports\": {\"o\": {\"value\": "
                                "\"numpy.random.normal()\"}}}}}}}}";
    static const char program[] =
        "#include \"m.h\"\n#include <math.h>\n#include <stdio.h>\nstatic struct m a, b;\n"
        "static void next(struct m *s)\n{\n    if (m_step(s, NAN) == 0) {\n        printf(\"%.17g \", *(const double "
        "*)m_output(s, m_output_n_o));\n    }\n}\n"
        "int main(void)\n{\n    m_init(&a);\n    m_init(&b);\n    m_seed(&b, 7);\n    next(&a);\n    next(&b);\n    next(&b);\n"
        "    next(&a);\n    m_seed(&a, 7);\n    next(&a);\n    return 0;\n}\n";
    char *output = compile_new_output();

    compile_write_file("m.json", model);
    compile_write_file("main.c", program);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s/m.json --name m -o %s/m.h 2>&1", compile_folder, compile_folder), 0,
                 "%s", output);
    cr_expect_eq(
        compile_run(output,
                    "cd %s && ${CC:-cc} -std=c11 -Wall -Wextra -Werror -O0 -ffp-contract=off main.c m.c -o main -lm && ./main",
                    compile_folder),
        0, "%s", output);
    /* numpy.random.seed(0), two; numpy.random.seed(7), two and the first again */
    cr_expect_str_eq(output, "1.764052345967664 1.690525703800356 -0.46593737054083278 0.40015720836722329 1.690525703800356 ");
    free(output);
}

/* A large input may be lent; a copy of the state has its own. */
Test(compile, large_inputs_can_be_lent)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"metadata\": {\"inputs\": [\"x\", \"y\"], \"outputs\": [\"n.sum\"]}, \"nodes\": "
        "{\"n\": {\"input_ports\": {\"x\": {\"shape\": [1024], \"type\": \"float64\"}, \"y\": {\"shape\": [2], \"type\": "
        "\"float64\"}}, \"output_ports\": {\"sum\": {\"value\": \"x * y[1]\"}}}}}}}}";
    static const char program[] =
        "#include \"m.h\"\n#include <math.h>\n#include <stdio.h>\n#include <string.h>\nstatic struct m s, copy;\n"
        "static double x[1024], y[2] = {0, 2};\n"
        "static double last(struct m *state)\n{\n    if (m_step(state, NAN) != 0) {\n        puts(m_message(state));\n    }\n"
        "    return ((const double *)m_output(state, m_output_n_sum))[1023];\n}\n"
        "int main(void)\n{\n    m_init(&s);\n    m_lend_input(&s, m_input_n_x, x);\n    m_lend_input(&s, m_input_n_y, y);\n"
        "    x[1023] = 3;\n    y[1] = 9;\n    printf(\"%g \", last(&s));\n"
        "    m_set_input(&s, m_input_n_x, x);\n    m_set_input(&s, m_input_n_y, y);\n    copy = s;\n    x[1023] = 4;\n"
        "    printf(\"%g \", last(&s));\n    m_init(&s);\n    memset(&s.copies, 1, sizeof s.copies);\n"
        "    printf(\"%g \", last(&copy));\n    printf(\"%d\\n\", m_lend_input(&s, 2, x));\n    return 0;\n}\n";
    char *output = compile_new_output();

    compile_write_file("m.json", model);
    compile_write_file("main.c", program);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s/m.json -i x=\"$(echo [0%s])\" -i y=[1,2] --name m -o %s/m.h 2>&1",
                             compile_folder, "$(printf ',%.0s1.5' $(seq 1023))", compile_folder),
                 0, "%s", output);
    cr_expect_eq(
        compile_run(output,
                    "cd %s && ${CC:-cc} -std=c11 -Wall -Wextra -Werror -O0 -ffp-contract=off main.c m.c -o main -lm && ./main",
                    compile_folder),
        0, "%s", output);
    cr_expect_str_eq(output, "6 27 27 1\n");
    free(output);
}

/* What has no form in C is named, with what to do; the command line is told from the model. */
Test(compile, refusals_are_clear)
{
    char *output = compile_new_output();

    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile tests/data/compile/no_form.yaml 2>&1"), 1);
    cr_expect(strstr(output, "tests/data/compile/no_form.yaml:10:37: error: node 'n', parameter 'd': it can not be written as C: "
                             "there is no form in C of the operator numpy.unique on elements of type float64") != NULL &&
                  strstr(output, "mdf-run without --compile") != NULL,
              "%s", output);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile examples/cooling.yaml -o %s/x.txt 2>&1", compile_folder), 2);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile examples/cooling.yaml 2>&1"), 2);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile tests/data/nosuch.json -o %s/x.c 2>&1", compile_folder), 1);
    cr_expect_eq(compile_run(output, "CC=/nosuch/cc $BUILD/mdf-compile examples/cooling.yaml -o %s/x.so 2>&1", compile_folder),
                 1);
    cr_expect(strstr(output, "/nosuch/cc") != NULL, "%s", output);
    cr_expect_eq(compile_run(output, "ls %s", compile_folder), 0);
    cr_expect_str_empty(output, "something is left: %s", output);
    free(output);
}

/* Real numbers that wait as whole ones would be cut: they wait as those of the port. */
Test(compile, edges_of_real_and_whole_numbers_wait_as_real_ones)
{
    char *output = compile_new_output(), *expected = compile_new_output();

    cr_expect_eq(compile_run(expected, "$BUILD/mdf-run --typed tests/data/compile/mixed_edges.yaml"), 0, "%s", expected);
    cr_expect(strstr(expected, "0.75") != NULL, "%s", expected);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --typed --compile tests/data/compile/mixed_edges.yaml 2>&1"), 0, "%s",
                 output);
    cr_expect_str_eq(output, expected);
    free(output);
    free(expected);
}

/* An operator on what grows that depends on how long it is now: where there are many runs, the cure is told. */
Test(compile, what_grows_is_refused_where_it_has_no_form)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": 18, \"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {\"shape\": [1], "
        "\"default_value\": [1.5]}}, \"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": %d, "
        "\"v_initial\": \"[x]\", \"body\": \"longer\"}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}}}}, "
        "\"longer\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"b.c\", \"b.s\"]}, \"nodes\": {\"b\": "
        "{\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"parameters\": {\"mean\": {\"function\": \"onnx::ReduceMean\", "
        "\"args\": {\"data\": \"s\", \"keepdims\": 1}}, \"s2\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": "
        "\"[s, mean]\", \"axis\": 0}}}, \"output_ports\": {\"c\": {\"value\": \"c\"}, \"s\": {\"value\": \"s2\"}}}}}}}}";
    static const int n_runs[] = {128, 129};
    char *output = compile_new_output(), text[1200];
    size_t i;

    for (i = 0; i < 2; i++) {
        snprintf(text, sizeof text, model, n_runs[i]);
        compile_write_file("mean.json", text);
        cr_expect_eq(compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/mean.json 2>&1", compile_folder),
                     (int)i, "%s", output);
    }
    cr_expect(strstr(output, "has no form for any length; put functions of elements") != NULL, "%s", output);
    free(output);
}

/* A slice that becomes another one while it runs has no room. */
Test(compile, a_slice_of_another_size_is_refused)
{
    char *output = compile_new_output();

    compile_write_file("inputs.json", "[{}, {\"first\": [0]}, {\"length\": [1]}]");
    cr_expect_eq(compile_run(output,
                             "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile tests/data/compile/slices.yaml -n 3 --inputs "
                             "%s/inputs.json 2>&1",
                             compile_folder),
                 1);
    cr_expect(strstr(output, "node 'cut': a slice is longer or shorter than when the model was compiled") != NULL, "%s", output);
    free(output);
}

/* Loops of a body are written so that compilers make vectors of them: they need not ask whether arrays overlap, rows are found in
 * front of them, functions of numbers and products of matrices have loops of their own, whatever uses what they give; totals of
 * a product take four elements, in their order, before they are stored again. */
Test(compile, loops_become_vectors)
{
    char *output = compile_new_output();

    cr_expect_eq(
        compile_run(output,
                    "$BUILD/mdf-compile tests/data/compile/vectors.yaml -o %s/vectors.c && sed -n '/compute_walk/,/^}/p' "
                    "%s/vectors.c",
                    compile_folder, compile_folder),
        0);
    cr_expect_eq(count_words(output, "MDF_INDEPENDENT for"), 3u, "%s", output);
    cr_expect_eq(count_words(output, "MDF_SHORT for"), 2u, "%s",
                 output); /* of at most 16 runs, which gcc would write out first */
    cr_expect_eq(count_words(output, "mdf_item("), 2u, "%s", output);
    cr_expect(strstr(output, "t_4[i] = t_3;\n            }\n            for") != NULL, "%s", output);
    cr_expect(strstr(output, "scores[i] = sum[i];\n        }\n        int64_t best;") != NULL, "%s", output);
    cr_expect(strstr(output, "for (size_t j = 0; j < 16; j += 4)") != NULL && count_words(output, "total += ") == 4u, "%s",
              output);
    cr_expect_eq(count_words(output, "sum[i] = total;"), 1u, "%s", output);
    free(output);
}

/* What functions give for a piece of some short rows is made before any of these rows is summed. */
Test(compile, functions_of_short_rows_have_loops_of_their_own)
{
    char *output = compile_new_output();

    cr_expect_eq(compile_run(output,
                             "$BUILD/mdf-compile tests/data/compile/short_rows.yaml -o %s/rows.c && sed -n '/compute_n/,/^}/p' "
                             "%s/rows.c",
                             compile_folder, compile_folder),
                 0);
    cr_expect(strstr(output, "for (size_t i = 0; i < 4; i++) {\n            for (size_t j = 0; j < 10; j++)") != NULL, "%s",
              output);
    cr_expect_eq(count_words(output, "_float32(t"), 2u, "%s", output); /* of one row each time */
    cr_expect_eq(count_words(output, "= t_2;\n                }\n            }\n"), 1u, "%s", output);
    free(output);
}

/* Functions of rows that are summed are made for all of them, before a row is summed or when all have been. */
Test(compile, functions_of_sums_have_loops_of_their_own)
{
    char *output = compile_new_output();

    cr_expect_eq(compile_run(output,
                             "$BUILD/mdf-compile tests/data/compile/gates.yaml -o %s/gates.c && sed -n '/compute_n/,/^}/p' "
                             "%s/gates.c | tr -d '\\n ' | sed 's/t_[0-9]*/t/g'",
                             compile_folder, compile_folder),
                 0);
    cr_expect(strstr(output, "=mdf_sigmoid_float32(gate_2);t[j]=t;}for(") != NULL, "%s", output);
    cr_expect(strstr(output, "MDF_SHORTfor(size_tj=0;j<10;j++){constfloatt=mdf_tanh_float32(t[j]);") != NULL, "%s", output);
    free(output);
}

/* What is put at a few places is put there one by one, where the array is; a truth becomes a number by a choice, of which
 * compilers make vectors. */
Test(compile, what_is_put_stays_where_it_is)
{
    char *output = compile_new_output();

    cr_expect_eq(compile_run(output,
                             "$BUILD/mdf-compile tests/data/compile/swaps.yaml -o %s/swaps.c && sed -n '/compute_sort/,/^}/p' "
                             "%s/swaps.c",
                             compile_folder, compile_folder),
                 0);
    cr_expect(strstr(output, "mdf_scatter_elements") == NULL && count_words(output, "memcpy(") <= 2u, "%s", output);
    cr_expect(strstr(output, " ? 1.0 : 0.0;") != NULL, "%s", output);
    free(output);
}

/* What is made of rows of a state is written where it goes; not what is read in another order, or stacked too. */
Test(compile, rows_are_made_where_they_go)
{
    char *output = compile_source_of("tests/data/compile/rows_made_there.yaml");

    cr_expect(strstr(output, "more = l + place") != NULL && strstr(output, "double more[") == NULL, "%s", output);
    cr_expect(strstr(output, "made = m2 + place") != NULL && strstr(output, "double made[16];") != NULL, "%s", output);
    cr_expect(strstr(output, "seen1, 16 * sizeof") != NULL && strstr(output, "first, 16 * sizeof") != NULL, "%s", output);
    free(output);
}

/* Of a schedule, what no condition asks for is not counted, and conditions that can always be told are not looked at for errors.
 */
Test(compile, schedules_count_what_is_asked_for)
{
    char *output = compile_source_of("bench/models/every_n_calls.yaml");

    cr_expect_eq(count_words(output, "s->clocks[0]++"), 1u, "%s", output);
    cr_expect(strstr(output, "s->clocks[1]") == NULL && strstr(output, "s->clocks[3]") == NULL, "%s", output);
    cr_expect(strstr(output, "s->n_sets") == NULL && strstr(output, "is_over(s) ||") == NULL, "%s", output);
    free(output);
}

/* What a node passes on lies where it was made; a state that it is kept in does not. */
Test(compile, what_is_passed_on_has_no_memory_of_its_own)
{
    char *output = compile_source_of("tests/data/compile/aliases.yaml"), *plain = compile_new_output();

    cr_expect(strstr(output, "double made_rows[6];") != NULL && strstr(output, "double last[6];") != NULL, "%s", output);
    cr_expect(strstr(output, "double turned_same[") == NULL && strstr(output, "double kept_last[") == NULL, "%s", output);
    cr_expect_eq(compile_run(plain, "$BUILD/mdf-run tests/data/compile/aliases.yaml -n 3 --trace"), 0);
    cr_expect_eq(
        compile_run(output, "CC=%s $BUILD/mdf-run --compile tests/data/compile/aliases.yaml -n 3 --trace", compile_quick), 0);
    cr_expect_str_eq(output, plain);
    free(plain);
    free(output);
}

/* Nor has what follows from elements that are other ones: places that are not there, more or fewer rows. */
Test(compile, what_elements_decide_is_refused_where_it_has_no_room)
{
    /* An input, its value when the model is compiled, another one, and what is said of that. */
    static const char *const rows[][4] = {
        {"h", "[[-1],[0]]", "[[-4],[0]]", "an index is out of range"},
        {"e", "[[0,-1,2,1],[2,0,-3,2]]", "[[0,3,2,1],[2,0,-3,2]]", "an index is out of range"},
        {"l", "[1,3]", "[1,4]", "an index is out of range"},
        {"t", "[[true,false,false,true],[false,true,true,false],[true,true,false,false]]",
         "[[true,false,false,true],[false,true,true,true],[true,true,false,false]]", "other numbers of elements are not zero"},
        {"limit", "-2.0", "-2.5", "a range has not as many numbers"},
        {"most", "[2]", "[1]", "other numbers of boxes stay"},
        {"over", "[1]", "[0]", "or numbers that a call depends on, other than those that the model was compiled for"},
        {"turned", "[-1,6]", "[6,2]", "or numbers that a call depends on, other than those that the model was compiled for"},
        {"pads", "[0,1,2,0]", "[0,2,1,0]", "or numbers that a call depends on, other than those that the model was compiled for"},
        {"g", "[[0,-1],[2,3],[0,3]]", "[[0,-1],[2,4],[0,3]]", "an index is out of range"},
        {"real_category", "[[3.7,1.0],[2.2,2.9]]", "[[3.7,1.0],[5.2,2.9]]", "an element is of no category"},
        {"kept", "[true,false,true]", "[true,false,false]", "other numbers of truths are true"},
        {"equals", "[4,2,4,-1]", "[4,2,3,-1]", "other numbers of elements are equal"},
        {"labels", "[1,0]", "[1,2]", "a label names none of the classes"},
        {"turned_by", "[[0],[1],[0]]", "[[0],[2],[0]]", "a position names no row of the cosines"},
        {"key_lengths", "[1,0,1]", "[1,-1,1]", "a length of keys is negative"},
    };
    enum { N = sizeof rows / sizeof *rows };
    char *output = compile_new_output();

    expect_same(strict_quick, "tests/data/compile/routines.json --typed -n 2"); /* compiled once for all */

    for (size_t i = 0; i < N; i++) { /* all are given, at last as the model is compiled for them: there is one source */
        char inputs[4096] = "[";

        for (size_t j = 0; j < 3 * N; j++) {
            size_t length = strlen(inputs);

            snprintf(inputs + length, sizeof inputs - length, "%s\"%s\": %s",
                     j == 0       ? "{"
                     : j % N == 0 ? "}, {"
                                  : ", ",
                     rows[j % N][0], rows[j % N][j == N + i ? 2 : 1]);
        }
        compile_write_file("inputs.json", strcat(inputs, "}]"));
        cr_expect_eq(
            compile_run(output,
                        "CC=%s $BUILD/mdf-run --compile tests/data/compile/routines.json -n 3 --inputs %s/inputs.json 2>&1",
                        strict_quick, compile_folder),
            1, "%s", rows[i][0]);
        cr_expect(strstr(output, rows[i][3]) != NULL && strstr(output, "(step 2)") != NULL, "%s: %.300s", rows[i][0], output);
    }
    free(output);
}

/* Numbers that a form depends on stay: which diagonal it is, by how much an array becomes larger. */
Test(compile, other_numbers_that_a_form_depends_on_are_refused)
{
    static const char *const later[] = {"\"k\": 0", "\"lengths\": [3, 2, 2, 3]", "\"factors\": [0.7, 1.6]"};
    char *output = compile_new_output(), inputs[128];

    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        snprintf(inputs, sizeof inputs, "[{\"k\": -1, \"lengths\": [3, 1, 2, 3], \"factors\": [0.7, 1.5]}, {%s}, {}]", later[i]);
        compile_write_file("inputs.json", inputs);
        cr_expect_eq(
            compile_run(output,
                        "CC=%s $BUILD/mdf-run --compile tests/data/compile/settled.yaml -n 3 --inputs %s/inputs.json 2>&1",
                        strict_quick, compile_folder),
            1, "%s", later[i]);
        cr_expect(strstr(output, "other than those that the model was compiled for") != NULL &&
                      strstr(output, "(step 2)") != NULL,
                  "%s: %.300s", later[i], output);
    }
    free(output);
}

/* Where the largest and the smallest stand: along an axis, among all elements; the first of equals, or a NaN. */
Test(compile, places_of_extremes_of_expressions_have_a_form_in_c)
{
    char *output = compile_new_output();

    compile_write_file(
        "places.json",
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"parameters\": {"
        "\"x\": {\"value\": [[1.0, 5.0, 2.0], [7.0, 7.0, -1.0]]}, \"y\": {\"value\": \"numpy.sqrt(x)\"}}, \"output_ports\": {"
        "\"a\": {\"value\": \"numpy.argmax(x)\"}, \"b\": {\"value\": \"x.argmin(1)\"}, "
        "\"c\": {\"value\": \"numpy.argmax(x, axis=0, keepdims=True)\"}, \"d\": {\"value\": \"y.argmax()\"}}}}}}}}");
    cr_expect_eq(compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/places.json 2>&1", compile_folder),
                 0, "%s", output);
    cr_expect(strstr(output, "{\"a\": 3, \"b\": [0, 2], \"c\": [[1, 1, 0]], \"d\": 5}") != NULL, "%s", output);
    free(output);
}

/* Of the sides of a condition only Python's refuses to divide by zero, which is known when it runs; a node behind would have to
 * be told. */
Test(compile, what_hangs_on_the_side_that_was_taken)
{
    static const char behind[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {\"default_value\": "
        "0.5}}, \"output_ports\": {\"o\": {\"value\": \"x if x > 0 else numpy.sin(x)\"}}}, \"B\": "
        "{\"input_ports\": {\"y\": {}}, \"output_ports\": {\"o\": {\"value\": \"1 / y\"}}}}, \"edges\": {\"e\": "
        "{\"sender\": \"A\", \"sender_port\": \"o\", \"receiver\": \"B\", \"receiver_port\": \"y\"}}}}}}";
    char *output = compile_new_output();

    compile_write_file("inputs.json", "[{\"x\": 0.0, \"c\": 2.0}]");
    cr_expect_eq(
        compile_run(
            output,
            "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile tests/data/compile/strengths.yaml --inputs %s/inputs.json 2>&1",
            compile_folder),
        1);
    cr_expect(strstr(output, "division by zero") != NULL, "%s", output);
    compile_write_file("behind.json", behind);
    cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s/behind.json -o %s/behind.c 2>&1", compile_folder, compile_folder), 1);
    cr_expect(strstr(output, "node 'B', output port 'o'") != NULL &&
                  strstr(output, "numpy.divide(a, b) in place of a / b") != NULL,
              "%s", output);
    free(output);
}

/* A node's parameters and what it gives, and what mdf-compile says of them. */
struct refusal {
    const char *node, *message;
};

#define VALUE(text) "\"parameters\": {\"r\": {\"value\": \"" text "\"}}, \"output_ports\": {\"o\": {\"value\": \"r\"}}"
#define CALL(function, arguments)                                                                                      \
    "\"parameters\": {\"r\": {\"function\": \"" function "\", \"args\": {" arguments "}}}, \"output_ports\": {\"o\": " \
    "{\"value\": \"r\"}}"

/* Of each kind one. What can not be written is never written as something else. */
Test(compile, what_has_no_form_is_refused)
{
    static const struct refusal rows[] = {
        {VALUE("numpy.unique(x)"), "there is no form in C of the operator numpy.unique"},
        {CALL("onnx::Pow", "\"X\": \"h\", \"Y\": \"q\""), "the operator Pow on elements of types float16 and float64"},
        {CALL("onnx::Pow", "\"X\": \"w\", \"Y\": \"0.1\""), "the operator Pow on elements of types float32 and float64"},
        {VALUE("numpy.cumsum(h)"), "the operator numpy.cumsum on elements of type float16"},
        {VALUE("numpy.arange(n[0])"), "the operator numpy.arange on elements of type int64"},
        {VALUE("numpy.arange(n[1]).size"), "the operator numpy.arange on elements of type int64"},
        {VALUE("x[x > 2].shape[0]"), "input 2 of the operator operator.getitem is not a constant"},
        {VALUE("x[:n[0]].sum()"), "input 2 of the operator operator.getitem is not a constant"},
        {VALUE("numpy.flatnonzero(x < 0)"), "the operator numpy.flatnonzero on elements of type bool"},
        {VALUE("numpy.ones_like(numpy.unique(x))"), "the operator numpy.unique on elements of type float64"},
        {VALUE("numpy.sum(n, dtype=numpy.float16)"), "the operator numpy.sum on elements of type int64"},
        {VALUE("numpy.mean(t, axis=0, dtype=numpy.float16)"), "the operator numpy.mean on elements of types bool and int64"},
        {VALUE("numpy.random.random(n)"), "there is no form in C of the operator numpy.random.random"},
        {VALUE("numpy.dot(numpy.reshape(x, (1, 2, 2)), numpy.reshape(x, (1, 2, 2)))"),
         "there is no form in C of the operator numpy.dot on elements of types float64 and float64"},
        {VALUE("numpy.bincount(u)"), "the operator numpy.bincount on elements of type uint8"},
        {VALUE("x[n[0]:]"), "input 2 of the operator operator.getitem is not a constant"},
        {VALUE("q and n[0]"), "a value that is not always computed, or not always of one type"},
        {VALUE("numpy.split(x, 2)"), "a value that is a list"},
        {VALUE("numpy.sin(u)"), "the operator numpy.sin on elements of type uint8"},
        {VALUE("'text'"), "error: node 'N', output port 'o': it can not be written as C: it is no array of numbers"},
        {VALUE("[x, q]"), "can not be written as C"},
        {VALUE("min(1, 2.5, q * x[0, 0])"), "min yields one of its values as it is, and these are of several kinds"},
        {VALUE("max(1, q)"), "let all sides of a condition, or all values of min and max, be of the same type: 0.0, not 0"},
        {VALUE("max(0, q)"), "let all sides of a condition, or all values of min and max, be of the same type: 0.0, not 0"},
    };
    static const char ports[] =
        "\"x\": {\"type\": \"float64\", \"shape\": [2, 2], \"default_value\": [[1, 2], [3, 4]]}, \"n\": {\"type\": \"int64\", "
        "\"shape\": [2], \"default_value\": [0, 1]}, \"q\": {\"type\": \"float64\", \"shape\": [], \"default_value\": 0.5}, "
        "\"w\": "
        "{\"type\": \"float32\", \"shape\": [], \"default_value\": 0.5}, \"u\": {\"type\": \"uint8\", \"shape\": [2], "
        "\"default_value\": [1, 2]}, \"t\": {\"type\": \"bool\", \"shape\": [1], \"default_value\": [true]}, \"h\": {\"type\": "
        "\"float16\", \"shape\": [1], \"default_value\": [1]}";
    char *output = compile_new_output(), *text = compile_new_output();
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, COMPILE_OUTPUT_SIZE, "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N\": {\"input_ports\": {%s}, %s}}}}}}",
                 ports, rows[i].node);
        compile_write_file("refused.json", text);
        cr_expect_eq(
            compile_run(output, "$BUILD/mdf-compile %s/refused.json -o %s/refused.c 2>&1", compile_folder, compile_folder), 1,
            "%s", rows[i].node);
        cr_expect(strstr(output, rows[i].message) != NULL && strstr(output, "can not be written as C") != NULL, "%s: %s",
                  rows[i].node, output);
    }
    cr_expect_neq(compile_run(output, "ls %s/refused.c 2>&1", compile_folder), 0, "something is left");
    free(text);
    free(output);
}

/* A refusal tells the line, the column and the place in the model: of a port, a parameter, an output, a condition. */
Test(compile, refusals_have_a_place)
{
    static const struct refusal rows[] = {
        {"\"parameters\": {\"r\": {\"value\": \"x + 1\"},\n \"s\": {\"value\": \"numpy.unique(m)\"}}, "
         "\"output_ports\": {\"o\": {\"value\": \"s\"}}",
         "place.json:4:18: error: node 'N', parameter 's': it can not be written as C: there is no form in C of the operator "
         "numpy.unique"},
        {"\"parameters\": {\"r\": {\"value\": 1}},\n \"output_ports\": {\"p\": {\"value\": \"r\"},\n  \"o\": {\"value\": "
         "\"numpy.bincount(u)\"}}",
         "place.json:5:19: error: node 'N', output port 'o': it can not be written as C: there is no form in C of the "
         "operator numpy.bincount on elements of type uint8"},
        {"\"parameters\": {\n \"r\": {\"value\": \"numpy.split(m, 2)\"}}, \"output_ports\": {\"o\": {\"value\": \"r[0]\"}}",
         "place.json:4:18: error: node 'N', parameter 'r': it can not be written as C: a value that is a list, an object, text "
         "or nothing"},
        {"\"parameters\": {\n \"r\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": \"x * 4\", \"cond\": true, \"v_initial\": "
         "[0.5], "
         "\"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"o\"]}, \"nodes\": {\"k\": "
         "{\"input_ports\": "
         "{\"s\": {}}, \"output_ports\": {\"o\": {\"value\": \"s * s\"}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"r\"}}",
         "place.json:4:7: error: node 'N', parameter 'r': it can not be written as C: a trip count or condition of another type "
         "than int64 and bool; write int(...) around the trip count, bool(...) around the condition"},
    };
    char *output = compile_new_output(), *text = compile_new_output();
    size_t i;

    for (i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(
            text, COMPILE_OUTPUT_SIZE,
            "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N\": {\n\"input_ports\": {\"x\": {\"default_value\": 0.5}, \"u\": "
            "{\"type\": "
            "\"uint8\", \"shape\": [2], \"default_value\": [1, 2]}, \"m\": {\"default_value\": [[1.5, 2], [3, 5]]}},\n%s}}}}}}",
            rows[i].node);
        compile_write_file("place.json", text);
        cr_expect_eq(compile_run(output, "$BUILD/mdf-compile %s/place.json -o %s/place.c 2>&1", compile_folder, compile_folder),
                     1, "%s", rows[i].node);
        cr_expect(strstr(output, rows[i].message) != NULL, "%s: %s", rows[i].node, output);
    }
    free(text);
    free(output);
}

/* Where both that may be chosen are one value there is no choice, of which gcc would warn; the bits are the same. */
Test(compile, no_choice_between_one_value)
{
    char *output = compile_new_output();

    cr_expect_eq(
        compile_run(output,
                    "$BUILD/mdf-compile tests/data/compile/same_operands.yaml -o %s/same.c 2>&1 && ${CC:-cc} -std=c11 -Wall "
                    "-Wextra -Wpedantic -Werror -Wno-unknown-warning-option -Wduplicated-branches -O1 -c %s/same.c -o "
                    "%s/same.o 2>&1",
                    compile_folder, compile_folder, compile_folder),
        0, "%.2000s", output);
    free(output);
    expect_same(compile_quick, "tests/data/compile/same_operands.yaml --typed");
}
