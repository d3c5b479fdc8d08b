/* test_compile_loops.c - where generated source has what its loops read and write. What they compute is compared in
 * test_compile.c. */
#include "tests/support/compile_runs.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compile_loops, .init = compile_set_up, .fini = compile_tear_down);

/* In both runs of each node, the first one and the later ones. */
Test(compile_loops, short_states_lie_beside_their_stacks)
{
    char *output = compile_source_of("tests/data/compile/beside.yaml");

    cr_expect_eq(count_words(output, "    double s_2[20];"), 2u, "%s", output);
    cr_expect_eq(count_words(output, "    double s_2[128];"), 2u, "%s", output);
    cr_expect_eq(count_words(output, "    double s_2["), 4u, "%s", output);
    cr_expect_eq(count_words(output, "[i] = next_3;\n            s_2[i] = next_3;"), 2u, "%s", output);
    free(output);
}

/* Those that loops of many runs read are copied before. */
Test(compile_loops, short_inputs_have_places_of_their_own)
{
    char *output = compile_source_of("tests/data/compile/short_inputs.yaml");

    cr_expect_eq(count_words(output, ", s->many_many_k, sizeof "), 1u, "%s", output);
    cr_expect(strstr(output, ", s->few_few_k, sizeof ") == NULL && strstr(output, ", s->short_short_k, sizeof ") == NULL, "%s",
              output);
    free(output);
}

/* As many as fill a power of two: the rest would be begun and joined for nothing. */
Test(compile_loops, folds_of_few_elements_have_few_lanes)
{
    char *output = compile_source_of("tests/data/compile/few_elements.yaml");

    cr_expect(strstr(output, "mdf_largest_of_4_float32(") != NULL && strstr(output, "mdf_smallest_of_4_float32(") != NULL, "%s",
              output);
    cr_expect(strstr(output, "_of_8_") == NULL && strstr(output, "_of_16_") == NULL && strstr(output, "_of_64_") == NULL, "%s",
              output);
    free(output);
}

/* A compiler may store totals in pieces of 32 bytes: a wider load would wait until these have reached the cache. */
Test(compile_loops, totals_are_joined_in_pieces_of_32_bytes)
{
    char *output = compile_source_of("tests/data/compile/short_rows.yaml");

    cr_expect(strstr(output, "(part_1 + part_3)") != NULL && strstr(output, "vector_size(64)") == NULL, "%s", output);
    free(output);
}

/* The largest number of a long row is found in lanes, its place then. */
Test(compile_loops, places_in_long_rows_are_found_in_two_passes)
{
    char *output = compile_source_of("tests/data/compile/row_places.yaml");

    cr_expect(strstr(output, "largest = mdf_first_largest_float32(row, 100);") != NULL, "%s", output);
    cr_expect(strstr(output, "mdf_last_smallest_int64(row_20, 100);") != NULL, "%s", output);
    free(output);
}

/* Pieces of a row: behind a clamp what is loaded lies side by side; as it stands where an index counts from the back. */
Test(compile_loops, clamped_places_are_lines_in_pieces)
{
    char *output = compile_source_of("tests/data/compile/clamped_places.yaml -g g");

    cr_expect_eq(count_words(output, "const int64_t begin"), 4u, "%s", output);
    cr_expect_eq(count_words(output, "mdf_item_of_row("), 5u, "%s", output); /* its own text, and of each nest as it stands */
    free(output);
}

/* Of two numbers in a loop, by helpers that leave NaN to a jump, and of lanes, by helpers of two steps; of several pairs along a row as
 * one condition. */
Test(compile_loops, extremes_are_found_in_two_steps)
{
    char *output = compile_source_of("tests/data/compile/extremes.yaml -g g");

    cr_expect(strstr(output, "const double least = mdf_smaller_alone_float64(first, second);") != NULL &&
                  strstr(output, "const double turned = mdf_maximum_alone_float64(second, first);") != NULL,
              "%s", output);
    cr_expect(strstr(output, "largest[i] = mdf_larger_float64(wide_4, largest[i]);") != NULL, "%s", output);
    cr_expect(strstr(output, "(t < t_2) + (t != t) != 0 ? t : t_2;") != NULL, "%s", output);
    free(output);
}

/* The totals of a row begin, take few products, and are used in one loop over the row, which compilers may write out where it
 * fills no vectors. */
Test(compile_loops, totals_of_small_products_stay_in_registers)
{
    char *output = compile_source_of("tests/data/compile/small_products.yaml");

    cr_expect_eq(count_words(output, "0;\n            float total = sum[j];"), 1u, "%s", output);
    cr_expect(strstr(output, "sum[j] = total;\n            const float t_5 = fabsf(sum[j]);") != NULL, "%s", output);
    cr_expect(strstr(output, "s->n_c[i * 10 + 9] * s->n_d[j + 9 * 3];") != NULL, "%s", output);
    cr_expect_eq(count_words(output, "{\n        MDF_INDEPENDENT for (size_t"), 3u, "%s", output);
    free(output);
}

/* An element that is one along the row that goes innermost is read before it: behind stores in the row, compilers would not know
 * that it is the same. */
Test(compile_loops, what_is_one_along_a_row_is_read_before_it)
{
    char *output = compile_source_of("tests/data/compile/outer_products.yaml");

    cr_expect_eq(
        count_words(output, "{\n        const double changed = s->n_a[j];\n        MDF_INDEPENDENT for (size_t i = 0; i < 24;"),
        2u, "%s", output);
    cr_expect_eq(count_words(output, "n_a[j]"), 2u, "%s", output);
    free(output);
}

/* Along a row that goes innermost: what is kept for a later loop, and two arrays that are stored between in one loop. */
Test(compile_loops, kept_rows_lie_along_their_loop)
{
    char *output = compile_source_of("tests/data/compile/shared_rows.yaml");

    cr_expect(strstr(output, "t_5[i + j * 70] = t_4;") != NULL, "%s", output);
    cr_expect(
        strstr(output, "moved[i * 3 + 0] = share_2 * s->n_x[i];\n            const float share_3 = t_5[i + 1 * 70] / sum[i];") !=
            NULL,
        "%s", output);
    free(output);
}

/* What is accepted by a test that takes long, or stays, is left by a jump. */
Test(compile_loops, states_that_are_accepted)
{
    char *output = compile_source_of("tests/data/dumps/accepted.yaml");

    cr_expect_eq(count_words(output, "MDF_JUMP;"), 4u, "%s", output);
    free(output);
}

/* Extremes of up to four reals, of which nothing else is made, are loaded one by one; remainders by powers of two are last bits.
 */
Test(compile_loops, few_extremes_have_no_loops)
{
    char *output = compile_source_of("tests/data/compile/few_extremes.yaml");

    cr_expect(strstr(output, "= mdf_largest_of_few_4_float32(number, number_2, number_3, number_4);") != NULL, "%s", output);
    cr_expect(strstr(output, "= mdf_smallest_of_few_3_float64(") != NULL && strstr(output, "lanes[") == NULL, "%s", output);
    cr_expect(strstr(output, "s->n_rest_too[i] = (int64_t)((uint64_t)at_4 & 3);") != NULL, "%s", output);
    free(output);
}

/* Elements at places in memory are loaded as they lie where some places are in succession; one that is not there is refused. */
Test(compile_loops, neighbours_are_loaded_together)
{
    char *output = compile_source_of("tests/data/compile/neighbours.yaml");

    cr_expect_eq(count_words(output, "mdf_side_by_side(&"), 4u, "%s", output);
    cr_expect(strstr(output, "const size_t item = (size_t)s->n_shift[i_block];") != NULL, "%s", output);
    free(output);
    output = compile_new_output();
    cr_expect_eq(compile_run(output, "$BUILD/mdf-run --compile tests/data/compile/neighbours.yaml -n 5 "
                                     "--inputs tests/data/compile/neighbours.json 2>&1"),
                 1);
    cr_expect(strstr(output, "an index is out of range (compiled) (step 5)") != NULL, "%s", output);
    free(output);
}

/* A sum of few numbers is written out also where something is stored along them, which is stored between one another; but not of
 * quotients, which would be made twice. */
Test(compile_loops, sums_are_written_out_beside_what_is_stored)
{
    char *output = compile_source_of("tests/data/compile/pulls.yaml");

    cr_expect(strstr(output, "n_pull[i * 40 + j * 2 + 0] = ") != NULL && strstr(output, "n_pull[i * 40 + j * 2 + 1] = ") != NULL,
              "%s", output);
    cr_expect(strstr(output, "n_pull_3[i * 54 + j * 3 + 2] = ") != NULL &&
                  strstr(output, "n_shares[(i_block + i) * 3 + 2]") != NULL,
              "%s", output);
    cr_expect_eq(count_words(output, "    double sum["), 1u, "%s", output); /* of the quotients */
    cr_expect(strstr(output, "float sum[") == NULL, "%s", output);
    free(output);
}

/* Numbers of one function that fill a vector of 32 bytes are one call, but for what hangs on one of them, and where vectors are
 * of runs. */
Test(compile_loops, numbers_of_one_function_are_one_call)
{
    char *output = compile_source_of("tests/data/compile/numbers_of_functions.yaml -g g");

    cr_expect(strstr(output, "    mdf_exp_float64_of_6(numbers);") != NULL && strstr(output, "= mdf_exp_float64(c);") != NULL,
              "%s", output);
    cr_expect(strstr(output, "    mdf_tanh_float32_of_8(numbers_2);") != NULL && strstr(output, "tanh_float64_of_") == NULL, "%s",
              output);
    cr_expect(strstr(output, "numbers_3") == NULL, "%s", output); /* of a loop whose runs may be vectors */
    free(output);
    output = compile_source_of("tests/data/compile/numbers_of_functions.yaml -g g --lanes 4"); /* vectors are of lanes */
    cr_expect(strstr(output, "numbers[") == NULL, "%s", output);
    free(output);
}

/* Four rows of a state that grows go into totals at a time, those that are left one by one. */
Test(compile_loops, totals_along_what_grows_take_several_rows)
{
    char *output = compile_source_of("tests/data/compile/grown_heads.yaml -g g");

    cr_expect(strstr(output, "for (size_t k = 0; k < n - n % 4; k += 4) {") != NULL &&
                  strstr(output, "for (size_t k = n - n % 4; k < n; k++) {") != NULL,
              "%s", output);
    free(output);
}

/* Where an extreme stands, of several rows side by side: no store is made for some of them only, and there are no jumps. */
Test(compile_loops, places_of_several_rows_are_chosen)
{
    char *output = compile_source_of("tests/data/compile/onnx.json");

    cr_expect_geq(count_words(output, "const bool taken"), 2u);
    cr_expect_eq(count_words(output, "const bool taken"), count_words(output, " == 0) | ("));
    cr_expect(strstr(output, "[i] = taken ? (int64_t)") != NULL);
    free(output);
}

/* Compilers take more for limits of what is given to exp than for limits of what comes out. */
Test(compile_loops, exp_is_limited_behind)
{
    char *output = compile_source_of("tests/data/compile/exp_range.yaml");

    cr_expect(strstr(output, "return x < -104.0f ? 0.0f : y;") != NULL && strstr(output, "mdf_not_below_float32") == NULL, "%s",
              output);
    free(output);
}

/* What C's library has to compute some elements of is computed once more, where there are such; a state as it was before. */
Test(compile_loops, loops_go_without_functions_of_the_library)
{
    char *output = compile_source_of("tests/data/compile/far.yaml"), *expected = compile_new_output();

    cr_expect_eq(count_words(output, "uint32_t far = 0;"), 3u, "%s", output);
    cr_expect(strstr(output, "memcpy(old, ") != NULL && strstr(output, ", old, sizeof old);") != NULL, "%s", output);
    cr_assert_eq(compile_run(expected, "$BUILD/mdf-run tests/data/compile/far.yaml --typed --plain"), 0, "%s", expected);
    cr_assert_eq(compile_run(output, "$BUILD/mdf-run tests/data/compile/far.yaml --typed --compile"), 0, "%s", output);
    cr_expect_str_eq(output, expected);
    free(output);
    free(expected);
}

/* A lattice whose edges meet is read where it lies: the pieces that C source copies stand in front, behind copies of whole slices
 * that nobody reads, so that what computes is one nest, cut into boxes. */
Test(compile_loops, lattices_are_read_without_copies)
{
    char *output = compile_source_of("tests/data/dumps/torus.yaml");

    cr_expect(strstr(output, "loop_now[176] + loop_now[16];") != NULL, "%s", output);
    cr_expect_eq(count_words(output, " * 0.375;"), 9u, "%s", output);
    cr_expect(strstr(output, "corner[") == NULL && strstr(output, "down[") == NULL, "%s", output);
    free(output);
}

/* Rows of rows whose last elements fill no vector are gone through in blocks, the last of which ends with the row. */
Test(compile_loops, last_elements_are_in_a_vector)
{
    char *output = compile_source_of("tests/data/compile/row_ends.yaml");

    cr_expect(strstr(output, "j = j_block < 14 ? j_block : 14, j_end = j + 16; j != j_end; j++)") != NULL &&
                  strstr(output, "j = j_block < 6 ? j_block : 6, j_end = j + 8; j != j_end; j++)") != NULL,
              "%s", output);
    cr_expect(strstr(output, "j < 30; j++)") != NULL && strstr(output, "j < 18; j++)") != NULL, "%s", output);
    free(output);
}

/* A loop that ends by its condition has no second jump for a trip count that no loop reaches; an index counts from the front. */
Test(compile_loops, conditions_alone_end_loops)
{
    char *output = compile_source_of("tests/data/compile/parents.yaml"), *expected = compile_new_output();

    cr_expect(strstr(output, "; going_on; run++)") != NULL && strstr(output, "INT64_C(9223372036854775807)") == NULL, "%s",
              output);
    cr_expect(strstr(output, "if (MDF_LIKELY((uint64_t)index < (uint64_t)n))") != NULL, "%s", output);
    cr_assert_eq(compile_run(expected, "$BUILD/mdf-run tests/data/compile/parents.yaml --typed --plain"), 0, "%s", expected);
    cr_assert_eq(compile_run(output, "$BUILD/mdf-run tests/data/compile/parents.yaml --typed --compile"), 0, "%s", output);
    cr_expect_str_eq(output, expected);
    free(output);
    free(expected);
}

/* What is made whole is cut off without a branch where no whole number is made real again; where one is, gcc would keep a sign
 * of 0 (r489 of numpy.json). */
Test(compile_loops, indices_are_cut_off_as_they_are)
{
    char *output = compile_source_of("tests/data/compile/boxes.yaml");

    cr_expect(strstr(output, "mdf_float32_as_int64_alone(") != NULL && strstr(output, "x > -1 && x < 1") == NULL, "%s", output);
    free(output);
}

/* What a nest stores once, and another one folds as each of many elements, is not made as often where both become one nest. */
Test(compile_loops, what_is_stored_once_is_made_once)
{
    char *output = compile_new_output();

    cr_assert_eq(compile_run(output, "$BUILD/mdf-run tests/data/compile/stored_once.yaml --steps 1 --explain 2>&1"), 0, "%s",
                 output);
    cr_expect(strstr(output, "lowered") != NULL && strstr(output, "a mistake in the engine") == NULL, "%s", output);
    free(output);
}

/* What either branch of an If puts behind a state is put into its stack. */
Test(compile_loops, branches_put_into_one_stack)
{
    char *output = compile_new_output();

    cr_expect_eq(compile_run(output, "for way in --plain --compile; do CC=tests/random/cc_fast.sh $BUILD/mdf-run $way "
                                     "tests/data/compile/grown_by_either.yaml --typed --trace -n 2 || exit 1; done | sort | "
                                     "uniq -u | grep . && exit 1; true 2>&1"),
                 0, "%s", output);
    free(output);
}

/* A model of one node gives a number after so many steps, compiled, and after two more it is refused. */
static void expect_past_64_bits(const char *model, int n, const char *number, const char *message)
{
    char *output = compile_new_output();

    compile_write_file("power.yaml", model);
    cr_expect_eq(
        compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/power.yaml -n %d 2>&1", compile_folder, n),
        0);
    cr_expect(strstr(output, number) != NULL, "%s", output);
    cr_expect_eq(compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/power.yaml -n %d 2>&1",
                             compile_folder, n + 2),
                 1);
    cr_expect(strstr(output, message) != NULL, "%s", output);
    free(output);
}

/* Nor is a power of Python's whole numbers what a loop of elements leaves of it: by a constant, and by what changes. */
Test(compile_loops, powers_past_64_bits_are_none)
{
    expect_past_64_bits("m: {graphs: {g: {nodes: {A: {parameters: {p: {default_initial_value: 1, value: p + p}}, "
                        "output_ports: {o: {value: p ** 5}}}}}}}",
                        12, "\"o\": 1152921504606846976", "a whole number past 64 bits (compiled) (step 13)");
    expect_past_64_bits("m: {graphs: {g: {nodes: {A: {parameters: {p: {default_initial_value: 0, value: p + 1}}, "
                        "output_ports: {o: {value: (-2) ** p}}}}}}}",
                        62, "\"o\": 4611686018427387904", "a whole number past 64 bits (compiled)");
    expect_past_64_bits("m: {graphs: {g: {nodes: {A: {parameters: {p: {default_initial_value: 0, value: p + 1}}, "
                        "output_ports: {o: {value: math.factorial(p)}}}}}}}",
                        20, "\"o\": 2432902008176640000", "a result past 64 bits (compiled)");
}

/* A Loop that is written out run by run runs as often as it did when it was compiled, and an If whose branches give arrays of
 * different shapes takes the same one. */
Test(compile_loops, other_runs_of_changing_shapes_are_refused)
{
    static const char *const inputs[] = {"[{\"n\": 4}, {\"n\": 3}]", "[{\"bound\": 6.0}, {\"bound\": 7.0}]",
                                        "[{\"side\": true}, {\"side\": false}]"},
                             *const nodes[] = {"node 'beams': types, shapes, or", "node 'until': types, shapes, or",
                                               "node 'either': types, shapes, or"};
    char *output = compile_new_output();
    size_t i;

    for (i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        compile_write_file("inputs.json", inputs[i]);
        cr_expect_eq(compile_run(output,
                                 "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile tests/data/compile/written_out.yaml "
                                 "--inputs %s/inputs.json -n 2 2>&1",
                                 compile_folder),
                     1);
        cr_expect(strstr(output, nodes[i]) != NULL, "%s", output);
    }
    free(output);
}
