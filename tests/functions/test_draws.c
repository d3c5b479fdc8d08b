/* test_draws.c - what PsyNeuLink's functions draw, each from a generator of its own: NumPy's numbers (tests/data/draw_cases.json,
 * see generate_draw_cases.py), where streams begin and begin anew, their distributions, and what is refused. */
#include "mdf_c/mdf.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A node 'n' with an input port 'x' and others, and an output port 'o'. */
static struct engine begin_call(const char *call, const char *ports, const mdf_options *options)
{
    struct engine run;
    char text[1500];

    snprintf(
        text, sizeof text,
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}%s}, \"output_ports\": {\"o\": {\"value\": "
        "\"psyneulink.%s\"}}}}}}}}",
        ports, call);
    engine_begin(&run, text, options);
    cr_assert_not_null(run.state, "%s: %s", call, run.error.message);
    return run;
}

static void set_zeros(struct engine *run, size_t n)
{
    static const double zeros[4096];
    int64_t shape = (int64_t)n;
    const mdf_tensor x = {.dtype = MDF_DTYPE_FLOAT64, .rank = 1, .shape = &shape, .data = zeros};

    cr_assert_eq(mdf_set_input(run->state, "x", &x, &run->error), MDF_OK, "%s", run->error.message);
}

/* Evaluates once more; the numbers of the output, *n of them. */
static const double *draw(struct engine *run, size_t *n)
{
    mdf_tensor tensor;
    size_t i;

    cr_assert_eq(mdf_evaluate(run->state, (double)NAN, &run->error), MDF_OK, "%s", run->error.message);
    cr_assert(mdf_value_tensor(mdf_output(run->state, "n", "o"), &tensor));
    for (*n = 1, i = 0; i < tensor.rank; i++) {
        *n *= (size_t)tensor.shape[i];
    }
    return tensor.data;
}

static double draw_one(struct engine *run)
{
    size_t n;

    return *draw(run, &n);
}

/* ------------------------------------------------------------------ NumPy's numbers */

static void expect_near(const json_t *one, size_t i, double number, const json_t *wanted)
{
    double want = json_number_value(wanted), bound = json_number_value(json_object_get(one, "rtol")) * fabs(want);

    cr_expect(fabs(number - want) <= bound, "%s, number %zu: %.17g, not %.17g", json_string_value(json_object_get(one, "call")),
              i, number, want);
}

/* All at once, and a part in each of several evaluations. */
Test(draws, numbers_are_those_of_numpy)
{
    json_t *cases = json_load_file("tests/data/draw_cases.json", 0, NULL), *one, *wanted;
    size_t i, k, n;

    cr_assert_not_null(cases);
    json_array_foreach(cases, i, one)
    {
        struct engine run = begin_call(json_string_value(json_object_get(one, "call")), "", NULL);
        size_t n_all = (size_t)json_integer_value(json_object_get(one, "n"));
        const double *numbers;

        set_zeros(&run, n_all);
        numbers = draw(&run, &n);
        cr_assert_eq(n, n_all);
        json_array_foreach(json_object_get(one, "numbers"), k, wanted)
        {
            expect_near(one, k, numbers[k], wanted);
        }
        expect_near(one, n - 1, numbers[n - 1], json_object_get(one, "last"));

        mdf_state_reset(run.state, 99, &run.error);
        for (k = 0; k < n_all / 8; k++) {
            set_zeros(&run, 8);
            numbers = draw(&run, &n);
        }
        expect_near(one, n_all - 1, numbers[7], json_object_get(one, "last"));
        engine_end(&run);
    }
    json_decref(cases);
}

/* ------------------------------------------------------------------ streams */

/* A seed that has become another one begins anew, at its first number: also that with which the stream had begun later on. From
 * NumPy: r = RandomState([5]), r.bytes(16), r.uniform(); RandomState([7]).uniform(size=2); RandomState([5]).uniform(size=2). */
Test(draws, another_seed_begins_anew)
{
    static const double wanted[] = {0.7951935655656966, 0.32383276483316237, 0.15084917392450192, 0.6229016948897019,
                                    0.7417869892607294};
    static const char *const seeds[] = {"5", "7", "7", "5.0", "5"};
    struct engine run = begin_call("draw_uniform([2, 5, 4], seed, 0.0)", ", \"seed\": {}", NULL);

    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < 5; i++) {
            mdf_set_input_json(run.state, "seed", seeds[i], &run.error);
            cr_expect_eq(draw_one(&run), wanted[i], "number %zu", i);
        }
        mdf_state_reset(run.state, 0, &run.error);
    }
    engine_end(&run);
}

/* Those without a seed share the numbers of numpy.random; those with one are apart, also of one seed, and in two states. */
Test(draws, each_stream_goes_its_own_way)
{
    static const char call[] = "draw_uniform([0], 3, [0, 0]) - psyneulink.draw_uniform([1], 3, [0, 0]) + 0 * numpy.random.rand()";
    static const char unseeded[] = "draw_uniform([0], -1, 0.0) - x";
    struct engine run = begin_call(call, "", NULL);
    size_t n;

    for (int i = 0; i < 3; i++) {
        const double *numbers = draw(&run, &n);

        cr_expect(n == 2 && numbers[0] == 0 && numbers[1] == 0);
    }
    engine_end(&run);
    run = begin_call(unseeded, "", &(mdf_options){.seed = 42}); /* numpy.random.seed(42); numpy.random.uniform() */
    mdf_set_input_json(run.state, "x", "0.3745401188473625", &run.error);
    cr_expect_eq(draw_one(&run), 0);
    engine_end(&run);
}

/* ------------------------------------------------------------------ distributions */

struct distribution {
    const char *call;
    double mean, variance, fourth; /* moment about the mean, in units of the variance's square */
};

/* Within six standard errors of the mean and of the variance: one in 500 million would pass them by chance, and the seed is
 * fixed. */
Test(draws, moments_are_those_of_the_distributions)
{
    static const struct distribution distributions[] = {{"draw_normal([0], 8, x)", 0, 1, 3},
                                                        {"draw_inverted([0], 8, x)", 0, 1, 3},
                                                        {"draw_uniform([0], 8, x)", 0.5, 1. / 12, 1.8},
                                                        {"draw_exponential([0], 8, x)", 1, 1, 9},
                                                        {"draw_gamma([0], 8, x, 0.4)", 0.4, 0.4, 3 + 6 / 0.4},
                                                        {"draw_gamma([0], 8, x, 3)", 3, 3, 5},
                                                        {"draw_wald([0], 8, x, 2, 6)", 2, 8. / 6, 3 + 15 * 2. / 6},
                                                        {"draw_binomial([0], 8, x, 0.3)", 0.3, 0.21, 3 + (1 - 6 * 0.21) / 0.21},
                                                        {"draw_binomial([0], 8, x, 0.9)", 0.9, 0.09, 3 + (1 - 6 * 0.09) / 0.09}};

    for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++) {
        const struct distribution *one = &distributions[i];
        struct engine run = begin_call(one->call, "", NULL);
        double sum = 0, squares = 0;
        const double *numbers;
        size_t n;

        set_zeros(&run, 4096);
        numbers = draw(&run, &n);
        for (size_t k = 0; k < n; k++) {
            sum += numbers[k];
            squares += (numbers[k] - one->mean) * (numbers[k] - one->mean);
        }
        cr_expect(fabs(sum / (double)n - one->mean) <= 6 * sqrt(one->variance / (double)n), "%s: mean %g", one->call,
                  sum / (double)n);
        cr_expect(fabs(squares / (double)n - one->variance) <= 6 * one->variance * sqrt((one->fourth - 1) / (double)n),
                  "%s: variance %g", one->call, squares / (double)n);
        engine_end(&run);
    }
}

/* The odds are followed; where there are none, nothing is drawn. */
Test(draws, one_element_is_chosen)
{
    struct engine run = begin_call("draw_choice([0], 8, x)", "", NULL);
    double counts[3] = {0};
    size_t n;

    for (int i = 0; i < 2000; i++) {
        const double *chosen;

        mdf_set_input_json(run.state, "x", "[0.25, 0.0, 0.75]", &run.error);
        chosen = draw(&run, &n);
        for (size_t k = 0; k < 3; k++) {
            counts[k] += chosen[k];
        }
    }
    cr_expect(counts[1] == 0 && counts[0] + counts[2] == 2000 && fabs(counts[0] - 500) < 6 * sqrt(2000 * 0.25 * 0.75), "%g",
              counts[0]);
    mdf_set_input_json(run.state, "x", "[0.0, 0.0, 0.0]", &run.error);
    cr_expect_eq(draw_one(&run), 1);
    engine_end(&run);
}

/* ------------------------------------------------------------------ what is refused */

Test(draws, what_is_none_is_refused)
{
    static const char *const calls[][2] = {{"draw_normal([0], 4294967296, 0.0)", "the seed is 4.29497e+09, not below 2**32"},
                                           {"draw_normal([-1], 1, 0.0)", "no generator"},
                                           {"draw_normal([1e9], 1, 0.0)", "no generator"},
                                           {"draw_normal([0, 1, -5], 1, 0.0)", "no generator"},
                                           {"draw_gamma([0], 1, 0.0, -1)", "the shape is -1"},
                                           {"draw_wald([0], 1, 0.0, 0, 1)", "both are to be above 0"},
                                           {"draw_binomial([0], 1, 0.0, 1.5)", "p is 1.5"}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct engine run = begin_call(calls[i][0], "", NULL);

        cr_expect_neq(mdf_evaluate(run.state, (double)NAN, &run.error), MDF_OK, "%s", calls[i][0]);
        cr_expect_not_null(strstr(run.error.message, calls[i][1]), "%s: %s", calls[i][0], run.error.message);
        engine_end(&run);
    }
}
