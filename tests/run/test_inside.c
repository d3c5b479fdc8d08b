/* test_inside.c - looking inside an evaluation: values in bodies by iteration, and where the time goes. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

struct fixture {
    mdf_error error;
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
};

static void begin(struct fixture *fixture, const char *path, const char *text, unsigned what, bool plain)
{
    mdf_options options = {.plain = plain, .n_threads = 1};

    *fixture = (struct fixture){.model = NULL};
    fixture->model = text != NULL ? mdf_model_load_bytes(text, strlen(text), "json", NULL, NULL, &fixture->error)
                                  : mdf_model_load_file(path, &fixture->error);
    fixture->program = mdf_compile(fixture->model, &options, &fixture->error);
    fixture->state = mdf_state_new(fixture->program, &fixture->error);
    cr_assert_eq(mdf_state_inspect(fixture->state, what, &fixture->error), MDF_OK, "%s", fixture->error.message);
}

static void end(struct fixture *fixture)
{
    mdf_state_free(fixture->state);
    mdf_program_free(fixture->program);
    mdf_model_free(fixture->model);
}

static const mdf_value *entry(const mdf_value *object, const char *key)
{
    size_t i;

    for (i = 0; i < mdf_value_length(object); i++) {
        if (strcmp(mdf_value_key(object, i), key) == 0) {
            return mdf_value_item(object, i);
        }
    }
    cr_assert_fail("there is no entry '%s'", key);
    return NULL;
}

static double number(const mdf_value *value)
{
    mdf_tensor tensor;

    cr_assert(mdf_value_tensor(value, &tensor));
    return tensor.dtype == MDF_DTYPE_INT64 ? (double)*(const int64_t *)tensor.data : *(const double *)tensor.data;
}

static const char *text(const mdf_value *value)
{
    mdf_tensor tensor;

    cr_assert(mdf_value_tensor(value, &tensor) && tensor.dtype == MDF_DTYPE_STRING);
    return *(const char *const *)tensor.data;
}

Test(inside, each_iteration_of_a_loop_is_told)
{
    const mdf_value *calls, *iterations, *inputs, *outputs = NULL;
    struct fixture fixture;
    size_t n, i;

    begin(&fixture, "examples/newton_sqrt.json", NULL, MDF_INSPECT_BODIES, false);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK);
    calls = entry(mdf_state_bodies(fixture.state), "solver");
    cr_assert_eq(mdf_value_length(calls), 1);
    cr_assert_str_eq(text(entry(mdf_value_item(calls, 0), "operator")), "onnx::Loop");
    cr_assert_str_eq(text(entry(mdf_value_item(calls, 0), "body")), "improve");
    iterations = entry(mdf_value_item(calls, 0), "iterations");
    n = mdf_value_length(iterations);
    cr_assert_eq(n, (size_t)number(mdf_output(fixture.state, "solver", "iterations")));
    for (i = 0; i < n; i++) { /* each begins with what the one before made */
        inputs = entry(mdf_value_item(iterations, i), "inputs");
        outputs = entry(entry(mdf_value_item(iterations, i), "outputs"), "step");
        cr_assert_eq(number(entry(inputs, "n")), (double)i);
        cr_assert_eq(number(entry(outputs, "count")), (double)i + 1);
        if (i + 1 < n) {
            cr_assert_eq(number(entry(outputs, "better")), number(entry(entry(mdf_value_item(iterations, i + 1), "inputs"), "x")));
        }
    }
    cr_assert_eq(number(entry(outputs, "better")), number(mdf_output(fixture.state, "solver", "x")));
    end(&fixture);
}

static const char nested[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 2, "
    "\"v_initial\": \"[0]\", \"body\": \"outer\"}}}, \"output_ports\": {\"y\": {\"value\": \"f\"}}}}}, "
    "\"outer\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"a\"], \"outputs\": [\"go\", \"sum\"]}, \"nodes\": {\"o\": {"
    "\"input_ports\": {\"a\": {}, \"i\": {}}, \"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": \"i + 1\", "
    "\"v_initial\": \"[a]\", \"body\": \"inner\"}}}, \"output_ports\": {\"go\": {\"value\": \"1 > 0\"}, \"sum\": {\"value\": \"f\"}}}}}, "
    "\"inner\": {\"metadata\": {\"inputs\": [\"j\", \"c\", \"b\"], \"outputs\": [\"go\", \"next\"]}, \"nodes\": {\"p\": {"
    "\"input_ports\": {\"b\": {}, \"j\": {}}, \"output_ports\": {\"go\": {\"value\": \"1 > 0\"}, \"next\": {\"value\": \"b + 10 * j + 1\"}}}}}}}}";

Test(inside, bodies_in_bodies_are_told_in_each_evaluation_anew)
{
    const mdf_value *outer, *inner;
    struct fixture fixture;
    int round;

    begin(&fixture, NULL, nested, MDF_INSPECT_BODIES, false);
    for (round = 0; round < 4; round++) {
        cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK, "%s", fixture.error.message);
        outer = entry(mdf_value_item(entry(mdf_state_bodies(fixture.state), "n"), 0), "iterations");
        cr_assert_eq(mdf_value_length(outer), 2);
        inner = entry(mdf_value_item(entry(entry(mdf_value_item(outer, 1), "bodies"), "o"), 0), "iterations");
        cr_assert_eq(mdf_value_length(inner), 2);
        cr_assert_eq(number(entry(entry(entry(mdf_value_item(inner, 1), "outputs"), "p"), "next")),
                     number(mdf_output(fixture.state, "n", "y")));
    }
    end(&fixture);
}

/* The own times of all places add up to the total, whichever way nodes run. */
static void check_profile(const char *path, double dt, bool plain, size_t n_steps)
{
    const mdf_value *profile, *places;
    struct fixture fixture;
    double sum_s = 0;
    size_t i;

    begin(&fixture, path, NULL, MDF_INSPECT_PROFILE, plain);
    for (i = 0; i < n_steps; i++) {
        cr_assert_eq(mdf_evaluate(fixture.state, i == 0 ? NAN : dt, &fixture.error), MDF_OK);
    }
    profile = mdf_state_profile(fixture.state);
    cr_assert_eq(number(entry(profile, "evaluations")), (double)n_steps);
    places = entry(profile, "places");
    for (i = 0; i < mdf_value_length(places); i++) {
        double self_s = number(entry(mdf_value_item(places, i), "self_s"));

        cr_assert(self_s > -1e-9);
        sum_s += self_s;
    }
    cr_assert(fabs(sum_s - number(entry(profile, "total_s"))) < 1e-9 + 1e-6 * sum_s, "%g %g", sum_s,
              number(entry(profile, "total_s")));
    cr_assert_eq(strstr(text(entry(mdf_value_item(entry(profile, "operators"), 0), "name")), "lowered") != NULL && plain, false);
    end(&fixture);
}

Test(inside, times_add_up)
{
    check_profile("examples/newton_sqrt.json", NAN, false, 6);
    check_profile("examples/newton_sqrt.json", NAN, true, 6);
    check_profile("examples/lif_population.json", 0.1, false, 20);
    check_profile("examples/slow_and_fast.yaml", NAN, false, 6);
}

Test(inside, what_is_lowered_is_told_so_and_what_is_not_by_operator)
{
    struct fixture fixture;
    char stacks[4096];
    int i;

    begin(&fixture, "examples/newton_sqrt.json", NULL, MDF_INSPECT_PROFILE, true);
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK);
    cr_assert(mdf_state_profile_stacks(fixture.state, stacks, sizeof stacks) > 0);
    cr_assert_not_null(strstr(stacks, "root;solver;onnx::Loop;improve;step;abs "), "%s", stacks);
    end(&fixture);
    begin(&fixture, "examples/lif_population.json", NULL, MDF_INSPECT_PROFILE, false);
    for (i = 0; i < 8; i++) {
        cr_assert_eq(mdf_evaluate(fixture.state, i == 0 ? NAN : 0.1, &fixture.error), MDF_OK);
    }
    mdf_state_profile_stacks(fixture.state, stacks, sizeof stacks);
    cr_assert_not_null(strstr(stacks, "lowered "), "%s", stacks);
    end(&fixture);
}

Test(inside, it_must_be_said_before_the_first_evaluation)
{
    struct fixture fixture;

    begin(&fixture, "examples/newton_sqrt.json", NULL, 0, false);
    cr_assert_null(mdf_state_bodies(fixture.state));
    cr_assert_null(mdf_state_profile(fixture.state));
    cr_assert_eq(mdf_evaluate(fixture.state, NAN, &fixture.error), MDF_OK);
    cr_assert_eq(mdf_state_inspect(fixture.state, MDF_INSPECT_BODIES, NULL), MDF_USAGE);
    cr_assert_eq(mdf_state_inspect(fixture.state, 16, NULL), MDF_USAGE);
    cr_assert_eq(mdf_state_inspect(NULL, MDF_INSPECT_BODIES, NULL), MDF_USAGE);
    end(&fixture);
}
