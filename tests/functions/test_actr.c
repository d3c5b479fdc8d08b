/* test_actr.c - the functions of ACT-R and of drift diffusion, and the generators that they draw from, against what the reference
 * and numpy yield (tests/data/actr_cases.json, see generate_actr_cases.py); messages; failing allocations. */
#include "functions/kernel/call.h"
#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cases of one section; the caller gives the whole file back. */
static json_t *load_section(const char *name, json_t **file)
{
    json_error_t error;

    *file = json_load_file("tests/data/actr_cases.json", 0, &error);
    cr_assert_not_null(*file, "%s", error.text);
    cr_assert(json_array_size(json_object_get(*file, name)) > 0, "%s", name);
    return json_object_get(*file, name);
}

static uint64_t seed_of(const json_t *one)
{
    return strtoull(json_string_value(json_object_get(one, "seed")), NULL, 10);
}

/* ------------------------------------------------------------------ models */

/* A node 'n' whose output 'o' is a call of the function. Arguments are written into the model, or come through ports called as
 * they are. */
static struct engine begin_call(const char *function, json_t *args, bool through_ports, const mdf_options *options)
{
    json_t *ports = json_object(), *given = json_object(), *model, *value;
    const char *name;
    struct engine run;
    char *text;

    json_object_foreach(args, name, value)
    {
        if (through_ports) {
            json_object_set_new(ports, name, json_object());
            json_object_set_new(given, name, json_string(name));
        } else if (json_is_string(value)) {
            json_object_set_new(given, name, json_sprintf("'%s'", json_string_value(value)));
        } else {
            json_object_set(given, name, value);
        }
    }
    model = json_pack("{s:{s:{s:{s:{s:{s:o, s:{s:{s:s, s:o}}, s:{s:{s:s}}}}}}}}", "m", "graphs", "g", "nodes", "n", "input_ports",
                      ports, "functions", "f", "function", function, "args", given, "output_ports", "o", "value", "f");
    text = json_dumps(model, JSON_REAL_PRECISION(17));
    engine_begin(&run, text, options);
    json_object_foreach(args, name, value)
    {
        char *input = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

        if (through_ports && run.error.code == MDF_OK) {
            mdf_set_input_json(run.state, name, input, &run.error);
        }
        free(input);
    }
    free(text);
    json_decref(model);
    return run;
}

/* Evaluates once more; the output as JSON, NULL where that fails. */
static json_t *step(struct engine *run)
{
    struct mdf_memory memory;
    struct mdf_text text;
    json_t *result;

    if (run->error.code != MDF_OK || mdf_evaluate(run->state, (double)NAN, &run->error) != MDF_OK) {
        return NULL;
    }
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_write_json_value(&text, mdf_output(run->state, "n", "o"), false, NULL);
    result = json_loads(text.bytes, JSON_DECODE_ANY, NULL);
    mdf_text_release(&text);
    return result;
}

/* ------------------------------------------------------------------ the functions of ACT-R */

/* Compares texts, so that the order of entries counts. */
static void expect_result(const json_t *one, struct engine *run, const char *way)
{
    char *call = json_dumps(one, 0), *wanted = json_dumps(json_object_get(one, "result"), JSON_ENCODE_ANY), *got;
    json_t *result = step(run);

    if (json_is_true(json_object_get(one, "refused"))) {
        cr_expect_neq(run->error.code, MDF_OK, "%s, %s: is not refused", call, way);
    } else {
        cr_expect_eq(run->error.code, MDF_OK, "%s, %s: %s", call, way, run->error.message);
        got = result != NULL ? json_dumps(result, JSON_ENCODE_ANY) : NULL;
        cr_expect(got != NULL && strcmp(got, wanted) == 0, "%s, %s: %s", call, way, got != NULL ? got : "nothing");
        free(got);
    }
    json_decref(result);
    free(call);
    free(wanted);
}

Test(actr, functions_yield_what_the_reference_does)
{
    json_t *file, *cases = load_section("calls", &file), *one;
    size_t i;

    json_array_foreach(cases, i, one)
    {
        for (int through_ports = 0; through_ports < 2; through_ports++) {
            struct engine run = begin_call(json_string_value(json_object_get(one, "function")), json_object_get(one, "args"),
                                           through_ports, NULL);

            expect_result(one, &run, through_ports ? "through ports" : "in args");
            engine_end(&run);
        }
    }
    json_decref(file);
}

/* A production is chosen as Python's random chooses with the same seed. */
Test(actr, choices_are_those_of_python)
{
    json_t *file, *cases = load_section("choices", &file), *one;
    size_t i;

    json_array_foreach(cases, i, one)
    {
        mdf_options options = {.seed = seed_of(one)};
        json_t *args = json_object(), *productions = json_array(), *chosen, *wanted;
        struct engine run;
        size_t k;

        for (json_int_t n = 0; n < json_integer_value(json_object_get(one, "n")); n++) {
            json_array_append_new(productions, json_pack("{s:I}", "number", n));
        }
        json_object_set_new(args, "productions", productions);
        run = begin_call("conflict_resolution_function", args, false, &options);
        json_array_foreach(json_object_get(one, "chosen"), k, wanted)
        {
            chosen = step(&run);
            cr_expect(json_equal(json_object_get(chosen, "number"), wanted), "case %zu, choice %zu: %s", i, k, run.error.message);
            json_decref(chosen);
        }
        engine_end(&run);
        json_decref(args);
    }
    json_decref(file);
}

/* Objects in expressions, which such models compare with {}. */
Test(actr, objects_in_expressions)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {{"{} == {}", "true"},
                 {"{'a': 1} == {}", "false"},
                 {"{'a': [1, 2], 'b': {'c': 'd'}, 'a': 3}", "{\"a\": 3, \"b\": {\"c\": \"d\"}}"},
                 {"{'a': 1, 'b': 2.5}['b']", "2.5"},
                 {"5 if {} else 6", "6"},
                 {"3 == {}", "false"},
                 {"[1, 2] != {}", "true"},
                 {"'a' in {'a': 1}", "true"},
                 {"{1: 2}", NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        struct engine run;
        json_t *value;
        char *got;

        snprintf(text, sizeof text,
                 "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"output_ports\": {\"o\": {\"value\": \"%s\"}}}}}}}}",
                 cases[i].text);
        engine_begin(&run, text, NULL);
        value = step(&run);
        got = value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
        if (cases[i].wanted == NULL) {
            cr_expect_not_null(strstr(run.error.message, "the key of an object is an int, not a string"), "%s",
                               run.error.message);
        } else {
            cr_expect(got != NULL && strcmp(got, cases[i].wanted) == 0, "%s: %s%s", cases[i].text, got != NULL ? got : "",
                      run.error.message);
        }
        free(got);
        json_decref(value);
        engine_end(&run);
    }
}

/* ------------------------------------------------------------------ drift diffusion */

/* 1e-12: times are whole numbers of steps, of whose sum with the non-decision time the last bits may differ; deviates differ as
 * the logarithms of C libraries do. */
static void expect_times(const json_t *got, const json_t *wanted, size_t number)
{
    cr_expect_eq(json_array_size(got), json_array_size(wanted), "case %zu", number);
    if (json_is_number(wanted)) {
        cr_expect(fabs(json_number_value(got) - json_number_value(wanted)) <= 1e-12, "case %zu: %.17g, not %.17g", number,
                  json_number_value(got), json_number_value(wanted));
    }
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        expect_times(json_array_get(got, i), json_array_get(wanted, i), number);
    }
}

Test(ddm, trials_are_those_of_the_reference)
{
    json_t *file, *cases = load_section("trials", &file), *one;
    size_t i;

    json_array_foreach(cases, i, one)
    {
        mdf_options options = {.seed = seed_of(one), .n_threads = (int)(i % 3)};
        struct engine run = begin_call("drift_diffusion_integrator", json_object_get(one, "args"), i % 2 == 0, &options);
        json_t *times = step(&run);

        cr_expect_eq(run.error.code, MDF_OK, "case %zu: %s", i, run.error.message);
        expect_times(times, json_object_get(one, "times"), i);
        json_decref(times);
        engine_end(&run);
    }
    json_decref(file);
}

/* ------------------------------------------------------------------ generators */

/* 1e-15: the logarithm of another C library may differ in its last bit. */
Test(random, numbers_are_those_of_numpy_and_python)
{
    static const char *const sections[] = {"normals", "uniforms"};

    for (size_t section = 0; section < 2; section++) {
        json_t *file, *cases = load_section(sections[section], &file), *one, *wanted;
        size_t i, k;

        json_array_foreach(cases, i, one)
        {
            struct mdf_context context = {.seed = seed_of(one)};

            json_array_foreach(json_object_get(one, "numbers"), k, wanted)
            {
                double number = 0;

                for (int skipped = 0; skipped < 7; skipped++) { /* the file has the first of seven */
                    double drawn = section == 0 ? mdf_twister_normal(mdf_random_as_numpy(&context))
                                                : mdf_twister_uniform(mdf_random_as_python(&context));

                    number = skipped == 0 ? drawn : number;
                }
                cr_expect(fabs(number - json_real_value(wanted)) <= 1e-15 * fabs(number), "%s, seed %zu, number %zu: %.17g",
                          sections[section], i, k, number);
            }
        }
        json_decref(file);
    }
}

/* One parameter an expression, evaluated in order: all draw from one stream. 1e-12 as for trials. */
Test(random, expressions_draw_as_numpy_does)
{
    json_t *file, *cases = load_section("expressions", &file), *one, *pair;
    size_t i, k;

    json_array_foreach(cases, i, one)
    {
        mdf_options options = {.seed = seed_of(one)};
        json_t *parameters = json_object(), *model, *values, *wanted = json_object_get(one, "numbers");
        char *text, name[32], list[400] = "[";
        struct engine run;

        json_array_foreach(wanted, k, pair)
        {
            snprintf(name, sizeof name, "p%zu", k);
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s,", name);
            json_object_set_new(parameters, name, json_pack("{s:O}", "value", json_array_get(pair, 0)));
        }
        strcat(list, "]");
        model = json_pack("{s:{s:{s:{s:{s:{s:o, s:{s:{s:s}}}}}}}}", "m", "graphs", "g", "nodes", "n", "parameters", parameters,
                          "output_ports", "o", "value", list);
        text = json_dumps(model, 0);
        engine_begin(&run, text, &options);
        values = step(&run);
        cr_expect_eq(run.error.code, MDF_OK, "%s", run.error.message);
        json_array_foreach(wanted, k, pair)
        {
            expect_times(json_array_get(values, k), json_array_get(pair, 1), k);
        }
        json_decref(values);
        json_decref(model);
        free(text);
        engine_end(&run);
    }
    json_decref(file);
}

/* What has to be constant is known before there is a seed. */
Test(random, constants_draw_nothing)
{
    struct engine run;

    engine_begin(&run,
                 "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"default_value\": "
                 "\"1 + numpy.random.rand()\"}}}}}}}}",
                 NULL);
    cr_expect_not_null(strstr(run.error.message, "'numpy.random.rand' draws random numbers; a constant is needed here"), "%s",
                       run.error.message);
    engine_end(&run);
}

/* What the reference can not show: numbers below bounds past 32 bits. From Python: random.seed(3), then
 * random.randrange of each. */
Test(random, bounds_past_32_bits)
{
    struct mdf_twister twister = {0};

    mdf_twister_seed_as_python(&twister, 3);
    cr_expect_eq(mdf_twister_below(&twister, UINT64_C(1) << 40), UINT64_C(285805288266));
    cr_expect_eq(mdf_twister_below(&twister, (UINT64_C(1) << 40) - 1), UINT64_C(1006611292580));
    cr_expect_eq(mdf_twister_below(&twister, UINT64_MAX), UINT64_C(8744744311366254845));
    cr_expect_eq(mdf_twister_below(&twister, 7), UINT64_C(5));
}

/* ------------------------------------------------------------------ messages */

static void expect_message(const char *function, const char *args, const mdf_options *options, const char *message)
{
    json_t *values = json_loads(args, 0, NULL);
    struct engine run = begin_call(function, values, true, options);
    char text[2000];

    json_decref(step(&run));
    mdf_error_format(&run.error, text, sizeof text);
    cr_expect_neq(run.error.code, MDF_OK, "%s of %s is not refused", function, args);
    cr_expect_not_null(strstr(text, message), "'%s', not '%s'", text, message);
    engine_end(&run);
    json_decref(values);
}

Test(actr, messages)
{
    static const struct {
        const char *function, *args, *message;
    } cases[] = {
        {"chunk_to_string", "{\"chunk\": 3}", "function 'f': actr.chunk_to_string: the chunk is an int, not an object"},
        {"chunk_to_string", "{\"chunk\": {\"a\": [1]}}", "entry 'a' of the chunk is int64[1], not a string"},
        {"chunk_to_string", "{}", "function 'chunk_to_string' needs the argument 'chunk': give it in args"},
        {"chunk_to_strin", "{}", "did you mean 'chunk_to_string'?"},
        {"change_goal", "{\"pattern\": {}, \"curr_goal\": \"x\"}", "the goal is a string, not an object"},
        {"retrieve_chunk", "{\"pattern\": {\"b\": \"r\", \"s\": \"a$\"}, \"dm_chunks\": [], \"types\": {}}",
         "the word 'a$' of the pattern is no literal, no '=variable', and no '-=variable'"},
        {"retrieve_chunk", "{\"pattern\": {\"b\": \"r\", \"s\": \"1:a b\"}, \"dm_chunks\": [], \"types\": {}}",
         "the word 'b' of the pattern stands for a slot by its place, behind one that names its slot"},
        {"retrieve_chunk", "{\"pattern\": {\"b\": \"r\", \"s\": \"1:\"}, \"dm_chunks\": [], \"types\": {}}",
         "the word '1:' of the pattern names a slot without a value"},
        {"retrieve_chunk", "{\"pattern\": {\"b\": \"r\"}, \"dm_chunks\": [{\"a\": \"b c\"}], \"types\": {}}",
         "types has no entry 'b', the type of the chunk that matches"},
        {"retrieve_chunk", "{\"pattern\": {\"b\": \"r\"}, \"dm_chunks\": [{\"a\": \"b c\"}], \"types\": {\"b\": []}}",
         "the entry 'b' of types has no text for slot 1 of a chunk with 1"},
        {"pattern_matching_function", "{\"productions\": [{}], \"goal\": {}, \"retrieval\": {}}",
         "the production has no entry 'lhs'"},
        {"pattern_matching_function", "{\"productions\": [{}, 3], \"goal\": {}, \"retrieval\": {}}",
         "item 1 of productions is an int, not an object"},
        {"pattern_matching_function", "{\"productions\": [{\"lhs\": [{}]}], \"goal\": {}, \"retrieval\": {}}",
         "a side of the production has no entry 'buffer'"},
        {"pattern_matching_function", "{\"productions\": [{\"lhs\": [{\"buffer\": 1}]}], \"goal\": {}, \"retrieval\": {}}",
         "entry 'buffer' of a side of the production is an int, not a string"},
        {"match_production", "{\"production\": {\"lhs\": []}, \"context\": {\"goal\": {\"a\": 1}}}",
         "entry 'a' of a buffer of the context is an int, not a string"},
        {"update_goal", "{\"production\": {\"rhs\": [{\"buffer\": \"goal\"}]}}", "the production has no entry 'bindings'"},
        {"update_buffer", "{\"production\": {}, \"buffer\": 1}", "the buffer is an int, not a string"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_message(cases[i].function, cases[i].args, NULL, cases[i].message);
    }
}

/* A text of many words takes no time out of proportion: it is refused. */
Test(actr, bounds)
{
    enum { N_WORDS = 2000 };
    char *words = calloc(N_WORDS + 1, 2);
    json_t *args;
    struct engine run;

    for (size_t i = 0; i < N_WORDS; i++) {
        memcpy(words + 2 * i, "a ", 2);
    }
    args = json_pack("{s:{s:s, s:s}, s:[], s:{}}", "pattern", "buffer", "retrieval", "s", words, "dm_chunks", "types");
    run = begin_call("retrieve_chunk", args, false, NULL);
    json_decref(step(&run));
    cr_expect_eq(run.error.code, MDF_LIMIT, "%s", run.error.message);
    engine_end(&run);
    json_decref(args);
    free(words);
}

Test(ddm, messages)
{
    mdf_options bounded = {.max_iterations = 20};

    expect_message("drift_diffusion_integrator",
                   "{\"starting_point\": 0.5, \"non_decision_time\": 0, \"drift_rate\": 0, \"threshold\": 1, \"noise\": 0}", NULL,
                   "without noise, and with a drift rate of 0, the particle stays at 0.5 and never crosses the threshold 1");
    expect_message("drift_diffusion_integrator",
                   "{\"starting_point\": 0, \"non_decision_time\": 0, \"drift_rate\": 1, \"threshold\": 1, \"noise\": -1}", NULL,
                   "the noise is -1: a standard deviation is not negative");
    expect_message("drift_diffusion_integrator",
                   "{\"starting_point\": 0, \"non_decision_time\": 0, \"drift_rate\": 1, \"threshold\": 100}", &bounded,
                   "the particle has not crossed the threshold 100 after 20 steps");
    expect_message("drift_diffusion_integrator",
                   "{\"starting_point\": [0, 1], \"non_decision_time\": [0, 1, 2], \"drift_rate\": 1, \"threshold\": 1}", NULL,
                   "the shapes of the arguments do not broadcast");
    expect_message("drift_diffusion_integrator", "{\"starting_point\": 0, \"non_decision_time\": 0, \"drift_rate\": 1}", NULL,
                   "needs the argument 'threshold'");
}

/* ------------------------------------------------------------------ memory */

/* Whichever allocation fails, the error says so and all memory is given back. */
Test(actr, a_failing_allocation_is_an_error_like_any_other)
{
    static const char *const calls[][2] = {
        {"chunk_to_string", "{\"chunk\": {\"a\": \"b\", \"c\": \"d\"}}"},
        {"change_goal", "{\"pattern\": {\"a\": \"b\"}, \"curr_goal\": {\"a\": \"c\", \"d\": \"e\"}}"},
        {"retrieve_chunk",
         "{\"pattern\": {\"b\": \"r\", \"s\": \"=a =b\"}, \"dm_chunks\": [{\"a\": \"b c\"}], \"types\": {\"b\": [\"x\"]}}"},
        {"pattern_matching_function",
         "{\"productions\": [{\"lhs\": [{\"buffer\": \"goal\", \"a\": \"=x\"}]}], \"goal\": {\"a\": \"b\"}, "
         "\"retrieval\": {}}"},
        {"conflict_resolution_function", "{\"productions\": [{\"a\": 1}, {\"a\": 2}]}"},
        {"update_goal", "{\"production\": {\"rhs\": [{\"buffer\": \"goal\", \"a\": \"=x\"}], \"bindings\": {\"x\": \"y\"}}}"},
        {"drift_diffusion_integrator",
         "{\"starting_point\": [0, 0.5], \"non_decision_time\": 0, \"drift_rate\": 1, \"threshold\": 1}"}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        mdf_status status = MDF_OUT_OF_MEMORY;
        json_t *args = json_loads(calls[i][1], 0, NULL);

        for (size_t n = 1; status != MDF_OK && n < 5000; n++) {
            struct counter counter = {.fail_at = n};
            mdf_allocator allocator = failing_allocator(&counter);
            mdf_options options = {.allocator = &allocator};
            struct engine run = begin_call(calls[i][0], args, n % 2 == 0, &options);

            json_decref(step(&run));
            status = run.error.code;
            engine_end(&run);
            cr_assert(status == MDF_OK || status == MDF_OUT_OF_MEMORY, "%s, allocation %zu: %s", calls[i][0], n,
                      run.error.message);
            cr_assert_eq(counter.n_blocks, (size_t)0, "%s, allocation %zu leaks", calls[i][0], n);
        }
        cr_expect_eq(status, MDF_OK);
        json_decref(args);
    }
}
