/* test_psyneulink.c - PsyNeuLink's functions: the values that the package computes (tests/data/psyneulink_cases.json, see
 * generate_psyneulink_cases.py), what becomes of their states, and the messages where something is wrong. */
#include "functions/psyneulink/psyneulink.h"
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

static json_t *load_cases(void)
{
    json_error_t error;
    json_t *cases = json_load_file("tests/data/psyneulink_cases.json", 0, &error);

    cr_assert_not_null(cases, "%s", error.text);
    return cases;
}

/* ------------------------------------------------------------------ models */

/* A node 'n' with an input port 'x', made of `parts` in single quotes. */
static struct engine begin_node(const char *parts)
{
    struct engine run;
    char text[2000], *c;

    snprintf(text, sizeof text, "{'m': {'graphs': {'g': {'nodes': {'n': {'input_ports': {'x': {}}, %s}}}}}}", parts);
    for (c = text; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    engine_begin(&run, text, NULL);
    return run;
}

static void step(struct engine *run, const char *x)
{
    if (run->error.code == MDF_OK) {
        mdf_set_input_json(run->state, "x", x, &run->error);
        mdf_evaluate(run->state, (double)NAN, &run->error);
    }
}

/* The only element of output `port`. */
static double number(const struct engine *run, const char *port)
{
    const mdf_value *value = run->error.code == MDF_OK ? mdf_output(run->state, "n", port) : NULL;
    double real = (double)NAN;

    cr_expect_eq(run->error.code, MDF_OK, "%s", run->error.message);
    return value != NULL && mdf_value_to_double(value, &real) ? real : (double)NAN;
}

static void expect_error(const char *parts, const char *message)
{
    struct engine run = begin_node(parts);
    char text[2000];

    step(&run, "1");
    mdf_error_format(&run.error, text, sizeof text);
    cr_expect_neq(run.error.code, MDF_OK, "%s is not refused", parts);
    cr_expect_not_null(strstr(text, message), "'%s', not '%s'", text, message);
    engine_end(&run);
}

/* ------------------------------------------------------------------ the package's values */

static json_t *model_of(const json_t *one)
{
    json_t *function = json_pack("{s:O, s:o, s:O}", "function", json_object_get(one, "function"), "args",
                                 json_deep_copy(json_object_get(one, "args")), "metadata", json_object_get(one, "metadata"));
    json_t *ports = json_object();
    size_t n = json_array_size(json_array_get(json_object_get(one, "outputs"), 0)), i;

    json_object_set_new(json_object_get(function, "args"), "variable0", json_string("x"));
    for (i = 0; i < n; i++) {
        char name[32], value[32];

        snprintf(name, sizeof name, "o%zu", i);
        snprintf(value, sizeof value, n == 1 ? "f" : "f[%zu]", i);
        json_object_set_new(ports, name, json_pack("{s:s}", "value", value));
    }
    return json_pack("{s:{s:{s:{s:{s:{s:{s:{}}, s:{s:o}, s:o}}}}}}", "m", "graphs", "g", "nodes", "n", "input_ports", "x",
                     "functions", "f", function, "output_ports", ports);
}

/* The numbers of a value in nested lists, in order, into `numbers`; how many there are. */
static size_t flatten(const json_t *value, double *numbers, size_t n, size_t most)
{
    if (json_is_number(value) && n < most) {
        numbers[n++] = json_number_value(value);
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        n = flatten(json_array_get(value, i), numbers, n, most);
    }
    return n;
}

static void compare(const json_t *one, const char *port, const mdf_value *value, const json_t *want)
{
    double got[64], wanted, rtol = json_number_value(json_object_get(one, "rtol"));
    struct mdf_memory memory;
    struct mdf_text text;
    json_t *tree;
    size_t n;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_write_json_value(&text, value, false, NULL);
    tree = json_loads(text.bytes, JSON_DECODE_ANY, NULL);
    n = flatten(tree, got, 0, sizeof got / sizeof *got);
    cr_expect_eq(n, json_array_size(want), "%s, %s: %s", json_string_value(json_object_get(one, "name")), port, text.bytes);
    for (size_t i = 0; i < n && i < json_array_size(want); i++) {
        wanted = json_number_value(json_array_get(want, i));
        cr_expect(fabs(got[i] - wanted) <= rtol * (fabs(wanted) > 0.1 ? fabs(wanted) : 0.1), "%s, %s: %.17g, not %.17g",
                  json_string_value(json_object_get(one, "name")), port, got[i], wanted);
    }
    json_decref(tree);
    mdf_text_release(&text);
}

static void run_case(const json_t *one)
{
    json_t *model = model_of(one), *inputs = json_object_get(one, "inputs"), *outputs = json_object_get(one, "outputs");
    char *text = json_dumps(model, JSON_REAL_PRECISION(17)), *input, port[32];
    struct engine run;

    engine_begin(&run, text, NULL);
    for (size_t i = 0; i < json_array_size(inputs) && run.error.code == MDF_OK; i++) {
        json_t *wanted = json_array_get(outputs, i);

        input = json_dumps(json_array_get(inputs, i), JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        step(&run, input);
        free(input);
        for (size_t j = 0; j < json_array_size(wanted) && run.error.code == MDF_OK; j++) {
            snprintf(port, sizeof port, "o%zu", j);
            compare(one, port, mdf_output(run.state, "n", port), json_array_get(wanted, j));
        }
    }
    cr_expect_eq(run.error.code, MDF_OK, "%s: %s", json_string_value(json_object_get(one, "name")), run.error.message);
    engine_end(&run);
    free(text);
    json_decref(model);
}

Test(psyneulink, functions_agree_with_the_package)
{
    json_t *cases = load_cases();

    cr_assert_gt(json_array_size(cases), (size_t)80);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        run_case(json_array_get(cases, i));
    }
    json_decref(cases);
}

/* Functions of the tables are all among the cases, but for those that the package no longer has or that do nothing. */
Test(psyneulink, every_function_has_a_case)
{
    static const struct mdf_defined_function *const families[] = {mdf_psyneulink_integrators,   mdf_psyneulink_transfers,
                                                                  mdf_psyneulink_combinations,  mdf_psyneulink_objectives,
                                                                  mdf_psyneulink_distributions, mdf_psyneulink_learning};
    json_t *cases = load_cases();

    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        for (const struct mdf_defined_function *function = families[f]; function->name != NULL; function++) {
            bool found = strcmp(function->name, "dropout") == 0 || strcmp(function->name, "defaultallocationfunction") == 0;

            for (size_t i = 0; i < json_array_size(cases); i++) {
                const char *name = json_string_value(json_object_get(json_array_get(cases, i), "function"));

                found = found || strcmp(name, function->name) == 0;
            }
            cr_expect(found, "%s has no case", function->name);
        }
    }
    json_decref(cases);
}

Test(psyneulink, functions_without_cases)
{
    struct engine run =
        begin_node("'functions': {'d': {'function': 'dropout', 'args': {'variable0': 'x', 'p': 0.5}}, 'a': {'function': "
                   "'defaultallocationfunction', 'args': {'variable0': '[x, 7]', 'num_control_signals': 2}}}, "
                   "'output_ports': {'o': {'value': 'd'}, 'a0': {'value': 'a[0]'}, 'a1': {'value': 'a[1]'}}");

    step(&run, "3");
    cr_expect_eq(number(&run, "o"), 3);
    cr_expect_eq(number(&run, "a0"), 3);
    cr_expect_eq(number(&run, "a1"), 3);
    engine_end(&run);
}

/* ------------------------------------------------------------------ states */

Test(psyneulink, a_state_starts_at_the_initializer_before_the_previous_value)
{
    struct engine run =
        begin_node("'functions': {'f': {'function': 'simpleintegrator', 'args': {'variable0': 'x', 'previous_value': 5}, "
                   "'metadata': {'type': 'SimpleIntegrator', 'initializer': 100}}, 'g': {'function': 'simpleintegrator', "
                   "'args': {'variable0': 'x', 'previous_value': 5}}}, "
                   "'output_ports': {'o': {'value': 'f'}, 'p': {'value': 'g'}}");

    step(&run, "1");
    cr_expect_eq(number(&run, "o"), 101);
    cr_expect_eq(number(&run, "p"), 6);
    step(&run, "2");
    cr_expect_eq(number(&run, "o"), 103);
    cr_expect_eq(number(&run, "p"), 8);
    engine_end(&run);
}

/* As PsyNeuLink's newer exporter writes it: the node has a parameter that holds the state. */
Test(psyneulink, a_state_may_be_a_parameter_of_the_node)
{
    struct engine run = begin_node(
        "'functions': {'f': {'function': 'interactiveactivationintegrator', 'args': {'variable0': 'x', 'rate': 0.5}}}, "
        "'parameters': {'previous_value': {'default_initial_value': 0.5, 'value': 'f'}}, "
        "'output_ports': {'o': {'value': 'f'}, 'p': {'value': 'previous_value'}}");

    step(&run, "1");
    cr_expect_eq(number(&run, "o"), 0.75);
    step(&run, "1");
    cr_expect_eq(number(&run, "o"), 0.875);
    cr_expect_eq(number(&run, "p"), 0.875);
    engine_end(&run);
}

/* The exporter gives the parameter the function as a whole, also where that yields the time as well. */
Test(psyneulink, a_parameter_with_the_state_takes_its_next_value)
{
    struct engine run =
        begin_node("'functions': {'f': {'function': 'ornsteinuhlenbeckintegrator', 'args': {'variable0': 'x', 'decay': "
                   "-0.5}}}, 'parameters': {'previous_value': {'default_initial_value': [8], 'value': 'f'}}, "
                   "'output_ports': {'o': {'value': 'f[0]'}, 'p': {'value': 'f[1]'}, 'q': {'value': 'previous_value'}}");

    step(&run, "0");
    cr_expect_eq(number(&run, "o"), 4);
    step(&run, "0");
    cr_expect_eq(number(&run, "o"), 2);
    cr_expect_eq(number(&run, "p"), 2);
    cr_expect_eq(number(&run, "q"), 2);
    engine_end(&run);
}

/* Ports of shape [1, n], put together as the exporter does. */
Test(psyneulink, items_may_be_wrapped_in_an_axis)
{
    struct engine run =
        begin_node("'functions': {'f': {'function': 'linearcombination', 'args': {'variable0': 'numpy.array([[[x, 2]], [[3, "
                   "4]]])'}, 'metadata': {'type': 'LinearCombination', 'weights': [[1], [-1]]}}}, 'output_ports': {'o': "
                   "{'value': 'f[0]'}, 'p': {'value': 'f[1]'}}");

    step(&run, "5");
    cr_expect_eq(number(&run, "o"), 2);
    cr_expect_eq(number(&run, "p"), -2);
    engine_end(&run);
}

/* An expression without names of the node is a first value like any other. */
Test(psyneulink, a_state_may_start_at_a_constant_expression)
{
    struct engine run =
        begin_node("'functions': {'f': {'function': 'simpleintegrator', 'args': {'variable0': 'x', 'previous_value': "
                   "'numpy.sqrt(16)'}}}, 'output_ports': {'o': {'value': 'f'}}");

    step(&run, "1");
    step(&run, "1");
    cr_expect_eq(number(&run, "o"), 6);
    engine_end(&run);
}

Test(psyneulink, a_state_may_be_named_in_args)
{
    struct engine run =
        begin_node("'functions': {'f': {'function': 'adaptiveintegrator', 'args': {'variable0': 'x', 'rate': 0.5, "
                   "'previous_value': 'last'}}}, 'parameters': {'last': {'default_initial_value': 8, 'value': 'f'}}, "
                   "'output_ports': {'o': {'value': 'f'}}");

    step(&run, "0");
    cr_expect_eq(number(&run, "o"), 4);
    step(&run, "0");
    cr_expect_eq(number(&run, "o"), 2);
    engine_end(&run);
}

/* A parameter may have the function as well, and the first value may be an expression. */
Test(psyneulink, a_parameter_keeps_the_state_of_its_function)
{
    struct engine run =
        begin_node("'parameters': {'start': {'value': 4}, 'f': {'function': 'accumulatorintegrator', 'args': {'rate': 0.5, "
                   "'increment': 'x', 'initializer': 'start * 2'}}, 'twice': {'value': 'f * 2'}}, "
                   "'output_ports': {'o': {'value': 'f'}, 'p': {'value': 'twice'}}");

    step(&run, "1");
    cr_expect_eq(number(&run, "o"), 5);
    step(&run, "0");
    cr_expect_eq(number(&run, "o"), 2.5);
    cr_expect_eq(number(&run, "p"), 5);
    engine_end(&run);
}

/* Two nodes, or two functions, do not share a state; a state starts anew with each mdf_state. */
Test(psyneulink, states_are_apart)
{
    struct engine run =
        begin_node("'functions': {'f': {'function': 'fitzhughnagumointegrator', 'args': {'variable0': 'x', 't_0': 1.0}}, "
                   "'g': {'function': 'fitzhughnagumointegrator', 'args': {'variable0': 'x', 't_0': 2.0}}}, "
                   "'output_ports': {'o': {'value': 'f[2]'}, 'p': {'value': 'g[2]'}}");
    mdf_state *other = run.program != NULL ? mdf_state_new(run.program, &run.error) : NULL;
    double time = 0;

    step(&run, "1");
    step(&run, "1");
    cr_expect_float_eq(number(&run, "o"), 1.1, 1e-12);
    cr_expect_float_eq(number(&run, "p"), 2.1, 1e-12);
    mdf_set_input_json(other, "x", "1", &run.error);
    mdf_evaluate(other, (double)NAN, &run.error);
    cr_expect(mdf_value_to_double(mdf_output(other, "n", "o"), &time));
    cr_expect_float_eq(time, 1.05, 1e-12);
    mdf_state_free(other);
    engine_end(&run);
}

/* The same seed gives the same noise; without noise there is none. */
Test(psyneulink, noise_comes_from_the_seed)
{
    const char *parts =
        "'functions': {'f': {'function': 'driftdiffusionintegrator', 'args': {'variable0': 'x', 'noise': 1.0}}, 'g': "
        "{'function': 'ornsteinuhlenbeckintegrator', 'args': {'variable0': 'x', 'noise': 1.0}}}, "
        "'output_ports': {'o': {'value': 'f[0]'}, 'p': {'value': 'g[0]'}}";
    struct engine one = begin_node(parts), same = begin_node(parts);

    step(&one, "1");
    step(&same, "1");
    cr_expect_eq(number(&one, "o"), number(&same, "o"));
    cr_expect_eq(number(&one, "p"), number(&same, "p"));
    cr_expect_neq(number(&one, "o"), 1);
    cr_expect_neq(number(&one, "p"), -1);
    engine_end(&one);
    engine_end(&same);
}

/* ------------------------------------------------------------------ memory */

/* A model of one call, run for twelve steps; *n_late is how often the last four asked for memory. (It takes a
 * few for a node to be lowered, or given up; see mdf_c/lower/fast.h.) */
static mdf_status run_counted(const char *function, struct counter *counter, size_t *n_late, mdf_error *error)
{
    mdf_allocator allocator = failing_allocator(counter);
    mdf_options options = {.allocator = &allocator};
    char text[500];
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;

    snprintf(text, sizeof text,
             "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": [[1.0, 2.0], [0.5, 1.5]]}}, "
             "\"functions\": {\"f\": {\"function\": \"%s\", \"args\": {\"variable0\": \"x%s\"}}}, \"output_ports\": {\"o\": "
             "{\"value\": "
             "\"f%s\"}}}}}}}}",
             function, strcmp(function, "energy") == 0 ? "[0]" : "",
             strchr(mdf_defined_function(function)->outputs, ' ') != NULL ? "[0]" : "");
    model = mdf_model_load_bytes(text, strlen(text), "json", "model", &options, error);
    program = model != NULL ? mdf_compile(model, &options, error) : NULL;
    state = program != NULL ? mdf_state_new(program, error) : NULL;
    for (int step = 0; step < 12 && error->code == MDF_OK; step++) {
        *n_late = step < 8 ? counter->n_calls : *n_late;
        mdf_evaluate(state, (double)NAN, error);
        *n_late = step < 8 ? counter->n_calls : *n_late;
    }
    *n_late = counter->n_calls - *n_late;
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    return error->code;
}

/* Once shapes are stable an evaluation asks for no memory, whatever the function. */
Test(psyneulink, steady_functions_allocate_nothing)
{
    static const char *const functions[] = {"accumulatorintegrator",
                                            "simpleintegrator",
                                            "adaptiveintegrator",
                                            "leakycompetingintegrator",
                                            "dualadaptiveintegrator",
                                            "interactiveactivationintegrator",
                                            "driftdiffusionintegrator",
                                            "ornsteinuhlenbeckintegrator",
                                            "fitzhughnagumointegrator",
                                            "driftdiffusionanalytical",
                                            "relu",
                                            "gaussian",
                                            "softmax",
                                            "onehot",
                                            "reduce",
                                            "linearcombination",
                                            "energy",
                                            "distance"};

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct counter counter = {0};
        mdf_error error = {0};
        size_t n_late = 0;

        run_counted(functions[i], &counter, &n_late, &error);
        cr_expect_eq(error.code, MDF_OK, "%s: %s", functions[i], error.message);
        cr_expect_eq(n_late, (size_t)0, "%s: %zu allocations", functions[i], n_late);
        cr_expect_eq(counter.n_blocks, (size_t)0, "%s leaks", functions[i]);
    }
}

/* Whichever allocation fails, the error says so and all memory is given back. */
Test(psyneulink, a_failing_allocation_is_an_error_like_any_other)
{
    static const char *const functions[] = {"fitzhughnagumointegrator", "driftdiffusionanalytical", "distance"};

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        mdf_status status = MDF_OUT_OF_MEMORY;

        for (size_t n = 1; status != MDF_OK && n < 5000; n++) {
            struct counter counter = {.fail_at = n};
            mdf_error error = {0};
            size_t n_late = 0;

            status = run_counted(functions[i], &counter, &n_late, &error);
            cr_assert(status == MDF_OK || status == MDF_OUT_OF_MEMORY, "%s, allocation %zu: %s", functions[i], n, error.message);
            cr_assert_eq(counter.n_blocks, (size_t)0, "%s, allocation %zu leaks", functions[i], n);
        }
        cr_expect_eq(status, MDF_OK);
    }
}

/* ------------------------------------------------------------------ messages */

Test(psyneulink, faults)
{
    expect_error("'functions': {'f': {'function': 'simpleintegrator', 'args': {'rate': 1}}}",
                 "function 'f': function 'simpleintegrator' needs the argument 'variable0': give it in args");
    expect_error("'functions': {'f': {'function': 'simpleintegratr', 'args': {'variable0': 'x'}}}",
                 "did you mean 'simpleintegrator'?");
    expect_error("'functions': {'f': {'function': 'distance', 'args': {'variable0': '[x, x]', 'metric': 'cosinus'}}}",
                 "argument 'metric': must be one of the texts difference,");
    expect_error("'functions': {'f': {'function': 'distance', 'args': {'variable0': '[x, x]', 'metric': 3}}}",
                 "argument 'metric': must be one of the texts difference,");
    expect_error("'functions': {'f': {'function': 'simpleintegrator', 'args': {'variable0': 'x'}, 'metadata': {'type': "
                 "'SimpleIntegrator', 'noise': {'id': 'NormalDist'}}}}",
                 "argument 'noise': the metadata of the function gives an object for it");
    expect_error("'functions': {'f': {'function': 'simpleintegrator', 'args': {'variable0': 'x', 'rate': 'nowhere'}}}",
                 "argument 'rate': name 'nowhere' is not known here");
    expect_error(
        "'parameters': {'p': {'value': 'psyneulink.drift_diffusion([1, 2], 1, 1, 1, 1)'}}, 'output_ports': {'o': {'value': 'p'}}",
        "the arrays have different shapes");
    expect_error("'functions': {'f': {'function': 'gridsearch', 'args': {'variable0': 'x'}}}",
                 "PsyNeuLink's function 'gridsearch' is not covered: it searches by running its composition");
#define MEMORY(name, args, metadata)                                                                                             \
    "'functions': {'f': {'function': '" name "', 'args': {'variable0': '[[x, x], [x, x]]'" args "}, 'metadata': {'type': '" name \
    "'" metadata "}}}, 'output_ports': {'o': {'value': 'f'}}"
    expect_error(MEMORY("contentaddressablememory", "", ", 'distance_function': {'metadata': {'type': 'UserDefinedFunction'}}"),
                 "argument 'distance_type': must be one of the texts Distance");
    expect_error(MEMORY("contentaddressablememory", "", ", 'selection_function': {'metadata': {'type': 'SoftMax'}}"),
                 "argument 'selection_type': must be one of the texts OneHot");
    expect_error(MEMORY("contentaddressablememory", "", ", 'initializer': [[[1, 2], [3, 4]], [[1, 2], [3, 4]]]"),
                 "the initializer has entries that are duplicates");
    expect_error(
        MEMORY("dictionarymemory", ", 'duplicate_keys': 'overwrite'", ", 'initializer': [[[1, 2], [3, 4]], [[1, 2], [3, 5]]]"),
        "the initializer has entries that are duplicates");
    expect_error(MEMORY("contentaddressablememory", "",
                        ", 'initializer': [[[1, 2], [3, 4]]], 'selection_function': {'metadata': {'type': 'OneHot', 'mode': "
                        "'MAX_INDICATOR'}}"),
                 "a selection function that may find several entries sums them up");
#undef MEMORY
}
