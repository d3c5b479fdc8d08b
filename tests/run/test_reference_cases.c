/* test_reference_cases.c - the answers of the Python engine and of ONNX's node tests, from tests/data/reference_cases.json (see
 * generate_reference_cases.py, where the tolerances have their reasons). Read with Jansson, an independent reader. */
#include "functions/kernel/operator.h"
#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "schemas/onnx_schema.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *load_cases(void)
{
    json_error_t error;
    json_t *cases = json_load_file("tests/data/reference_cases.json", 0, &error);

    cr_assert_not_null(cases, "%s", error.text);
    return cases;
}

/* A value as Jansson's tree, through the engine's own JSON. */
static json_t *tree_of(const mdf_value *value, bool typed)
{
    struct mdf_memory memory;
    struct mdf_text text;
    json_t *tree;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_write_json_value(&text, value, typed, NULL);
    tree = json_loads(text.bytes, JSON_DECODE_ANY, NULL);
    mdf_text_release(&text);
    return tree;
}

/* Numbers within the tolerance, all else equal; the Python engine does not tell 1.0 from 1, nor a number from an array of one. */
static bool matches(const json_t *got, const json_t *want, double rtol)
{
    const char *key;
    json_t *item;

    if (json_is_number(got) && json_is_number(want)) {
        double x = json_number_value(got), y = json_number_value(want);

        return fabs(x - y) <= rtol * (fabs(y) > 0.1 ? fabs(y) : 0.1); /* sums of numbers around 1 may cancel to little */
    }
    if (json_is_array(got) && json_array_size(got) == 1 && json_is_number(want)) {
        return matches(json_array_get(got, 0), want, rtol);
    }
    if (json_is_array(got) && json_is_array(want) && json_array_size(got) == json_array_size(want)) {
        for (size_t i = 0; i < json_array_size(got); i++) {
            if (!matches(json_array_get(got, i), json_array_get(want, i), rtol)) {
                return false;
            }
        }
        return true;
    }
    if (json_is_object(got) && json_is_object(want)) {
        json_object_foreach((json_t *)(uintptr_t)want, key, item)
        {
            if (!matches(json_object_get(got, key), item, rtol)) {
                return false;
            }
        }
        return true;
    }
    return json_equal(got, want) ||
           (json_is_boolean(got) && json_is_number(want) && json_is_true(got) == (json_number_value(want) != 0));
}

static void expect_value(const json_t *one, const char *what, const mdf_value *value, const json_t *want)
{
    json_t *got = value != NULL ? tree_of(value, json_is_true(json_object_get(one, "typed"))) : NULL;
    bool same = got != NULL && matches(got, want, json_number_value(json_object_get(one, "rtol")));

    if (!same) {
        char *shown = got != NULL ? json_dumps(got, JSON_ENCODE_ANY) : NULL, *wanted = json_dumps(want, JSON_ENCODE_ANY);

        cr_expect(false, "%s, %s: %.300s, not %.300s", json_string_value(json_object_get(one, "name")), what,
                  shown ? shown : "nothing", wanted);
        free(shown);
        free(wanted);
    }
    json_decref(got);
}

static void compare(const json_t *one, const mdf_program *program, const mdf_state *state)
{
    json_t *expected = json_object_get(one, "expected"), *ports, *want;
    const char *node, *port;

    if (json_is_true(json_object_get(one, "typed"))) {
        for (size_t i = 0; i < mdf_program_n_results(program); i++) {
            node = mdf_program_result_name(program, i);
            expect_value(one, node, mdf_result_at(state, i), json_object_get(expected, node));
        }
        return;
    }
    json_object_foreach(expected, node, ports)
    {
        json_object_foreach(ports, port, want)
        {
            expect_value(one, port, mdf_output(state, node, port), want);
        }
    }
}

static void evaluate(const json_t *one, mdf_state *state, mdf_error *error)
{
    json_t *dt = json_object_get(one, "dt"), *value;
    const char *name;

    for (json_int_t step = 0; step < json_integer_value(json_object_get(one, "steps")) && error->code == MDF_OK; step++) {
        json_object_foreach(json_object_get(one, "inputs"), name, value)
        {
            char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

            mdf_set_input_json(state, name, text, error);
            free(text);
        }
        mdf_evaluate(state, step == 0 || json_is_null(dt) ? (double)NAN : json_number_value(dt), error);
    }
}

static void run_case(const json_t *one)
{
    char *text = json_dumps(json_object_get(one, "model"), JSON_REAL_PRECISION(17)), message[2048];
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "case", NULL, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    if (state != NULL) {
        evaluate(one, state, &error);
    }
    if (error.code != MDF_OK) {
        mdf_error_format(&error, message, sizeof message);
        cr_expect(false, "%s: %s", json_string_value(json_object_get(one, "name")), message);
    } else {
        compare(one, program, state);
    }
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    free(text);
}

Test(reference_cases, agree)
{
    json_t *cases = load_cases();

    cr_assert_gt(json_array_size(cases), (size_t)100);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        run_case(json_array_get(cases, i));
    }
    json_decref(cases);
}

/* Operators that draw random numbers have no answer to compare with. */
static bool draws(const char *name)
{
    static const char *const names[] = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                        "RandomNormalLike", "RandomUniform", "RandomUniformLike"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every text of a tree becomes a key of `texts`. */
static void collect_texts(const json_t *tree, json_t *texts)
{
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_string(tree)) {
        json_object_set_new(texts, json_string_value(tree), json_true());
    }
    json_array_foreach((json_t *)(uintptr_t)tree, i, item)
    {
        collect_texts(item, texts);
    }
    json_object_foreach((json_t *)(uintptr_t)tree, key, item)
    {
        collect_texts(item, texts);
    }
}

/* Every operator with a kernel has a case here; Scan, Loop and If have theirs in test_engine.c. */
Test(reference_cases, every_operator_has_one)
{
    json_t *cases = load_cases(), *texts = json_object();
    const struct mdf_schema *schema;

    collect_texts(cases, texts);
    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        char function[100];

        if (mdf_operator_onnx(schema->name, schema->since) == NULL || draws(schema->name)) {
            continue;
        }
        snprintf(function, sizeof function, "%s::%s", mdf_schema_prefix(schema), schema->name);
        cr_expect_not_null(json_object_get(texts, function), "%s has no case", function);
    }
    json_decref(texts);
    json_decref(cases);
}
