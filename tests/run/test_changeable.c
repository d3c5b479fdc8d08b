/* test_changeable.c - parameters that a state sets for itself, and states that are made as new again: each value gives the bits
 * that it gives when it stands in the model. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
    mdf_error error;
    mdf_model *model;
    mdf_program *program;
    mdf_state *state;
};

static bool compile(struct fixture *fixture, const char *nodes, const char *parameter)
{
    char text[4096];

    memset(fixture, 0, sizeof *fixture);
    snprintf(text, sizeof text, "{\"m\": {\"graphs\": {\"g\": {%s}}}}", nodes);
    fixture->model = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &fixture->error);
    cr_assert_not_null(fixture->model, "%s", fixture->error.message);
    fixture->program = parameter != NULL ? mdf_compile_changeable(fixture->model, &parameter, 1, NULL, &fixture->error)
                                         : mdf_compile(fixture->model, NULL, &fixture->error);
    fixture->state = fixture->program != NULL ? mdf_state_new(fixture->program, &fixture->error) : NULL;
    return fixture->state != NULL;
}

static void end(struct fixture *fixture)
{
    mdf_state_free(fixture->state);
    mdf_program_free(fixture->program);
    mdf_model_free(fixture->model);
}

static void set(struct fixture *fixture, const char *name, double value)
{
    mdf_tensor tensor = {MDF_DTYPE_FLOAT64, 0, NULL, &value};

    cr_assert_eq(mdf_set_parameter(fixture->state, name, &tensor, &fixture->error), MDF_OK, "%s", fixture->error.message);
}

/* The first element of the first output port after some steps. */
static double run(struct fixture *fixture, int n_steps)
{
    mdf_tensor tensor;
    int i;

    for (i = 0; i < n_steps; i++) {
        cr_assert_eq(mdf_evaluate(fixture->state, i == 0 ? strtod("nan", NULL) : 0.25, &fixture->error), MDF_OK, "%s",
                     fixture->error.message);
    }
    cr_assert(mdf_value_tensor(mdf_output_at(fixture->state, 0, 0), &tensor));
    cr_assert(tensor.dtype == MDF_DTYPE_FLOAT64 || tensor.dtype == MDF_DTYPE_INT64 || tensor.dtype == MDF_DTYPE_FLOAT32);
    return tensor.dtype == MDF_DTYPE_INT64     ? (double)*(const int64_t *)tensor.data
           : tensor.dtype == MDF_DTYPE_FLOAT32 ? (double)*(const float *)tensor.data
                                               : *(const double *)tensor.data;
}

#define PORTS "\"output_ports\": {\"y\": {\"value\": \"v\"}}"
/* Each model has @ where the parameter's constant stands; `value` is set instead of 0.5. */
struct place {
    const char *name, *parameter, *nodes;
    int n_steps;
};

static const struct place places[] = {
    {"a value in an expression", "n.k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": @}, \"v\": {\"value\": \"k * 3 + k\"}}, " PORTS "}}", 1},
    {"a bare name stands for every node's", "k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": @}, \"v\": {\"value\": \"k * 3\"}}, " PORTS "}}", 1},
    {"a number written as text", "k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": \"@\"}, \"v\": {\"value\": \"k * 3\"}}, " PORTS "}}", 1},
    {"an output port that is the parameter", "v", "\"nodes\": {\"n\": {\"parameters\": {\"v\": {\"value\": @}}, " PORTS "}}", 1},
    {"an initial value", "n.v",
     "\"nodes\": {\"n\": {\"parameters\": {\"v\": {\"default_initial_value\": @, \"time_derivative\": \"-v * v\"}}, " PORTS "}}",
     9},
    {"a value beside a derivative", "n.v",
     "\"nodes\": {\"n\": {\"parameters\": {\"v\": {\"value\": @, \"time_derivative\": \"-v\"}}, " PORTS "}}", 3},
    {"a value with a condition", "n.v",
     "\"nodes\": {\"n\": {\"parameters\": {\"a\": {\"value\": \"a + 1\", \"default_initial_value\": 0}, \"v\": {\"value\": @, "
     "\"conditions\": [{\"id\": \"c\", \"test\": \"a > 5\", \"value\": \"a\"}]}}, " PORTS "}}",
     4},
    {"a declared type", "n.k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": @, \"metadata\": {\"type\": \"float32\", \"shape\": []}}, "
     "\"v\": {\"value\": \"k * 3\"}}, " PORTS "}}",
     1},
    {"an argument of a function", "n.k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": @}, \"v\": {\"function\": \"logistic\", \"args\": {\"variable0\": "
     "\"k\", \"gain\": \"k\", \"bias\": 0, \"offset\": 0}}}, " PORTS "}}",
     1},
    {"an argument of an operator", "n.k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": @}, \"v\": {\"function\": \"onnx::Exp\", \"args\": {\"input\": "
     "\"k\"}}}, " PORTS "}}",
     1},
    {"a parameter of the graph", "k",
     "\"parameters\": {\"k\": @}, \"nodes\": {\"n\": {\"parameters\": {\"v\": {\"value\": \"k * 3\"}}, " PORTS "}}", 1},
    {"a parameter that a body captures", "n.k",
     "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": @}, \"v\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"k "
     "> "
     "1\", \"then_branch\": {\"nodes\": {\"a\": {\"output_ports\": {\"o\": {\"value\": \"k * 2\"}}}}}, \"else_branch\": "
     "{\"nodes\": "
     "{\"b\": {\"output_ports\": {\"o\": {\"value\": \"k * 5\"}}}}}}}}, " PORTS "}}",
     1},
    {"a parameter in a body", "inner.k",
     "\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": 2.0}, \"v\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, "
     "\"v_initial\": \"[x]\", \"body\": {\"nodes\": {\"inner\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, "
     "\"parameters\": "
     "{\"k\": {\"value\": @}, \"t\": {\"value\": \"s * k + 1\"}, \"go\": {\"value\": true}}, \"output_ports\": {\"go\": "
     "{\"value\": \"go\"}, \"out\": {\"value\": \"t\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": "
     "[\"go\", \"out\"]}}}}}, " PORTS "}}",
     1},
    {"a parameter in a graph within a node", "inner.k",
     "\"nodes\": {\"n\": {\"graph\": {\"nodes\": {\"inner\": {\"parameters\": {\"k\": {\"value\": @}, \"v\": {\"value\": \"v + "
     "k\", \"default_initial_value\": 0}}, \"output_ports\": {\"v\": {\"value\": \"v\"}}}}}, " PORTS "}}",
     3},
};

/* The nodes with the constant in its place. */
static void write_nodes(char *text, size_t size, const char *nodes, const char *constant)
{
    const char *gap = strchr(nodes, '@');

    cr_assert_not_null(gap);
    snprintf(text, size, "%.*s%s%s", (int)(gap - nodes), nodes, constant, gap + 1);
}

Test(changeable, a_value_that_is_set_gives_what_it_gives_in_the_model)
{
    size_t i;

    for (i = 0; i < sizeof places / sizeof *places; i++) {
        const struct place *place = &places[i];
        const char *const texts[] = {"0.5", "1.75"};
        char nodes[2048];
        struct fixture written, given;
        double expected[2], found;
        int j;

        for (j = 0; j < 2; j++) {
            write_nodes(nodes, sizeof nodes, place->nodes, texts[j]);
            cr_assert(compile(&written, nodes, NULL), "%s: %s", place->name, written.error.message);
            expected[j] = run(&written, place->n_steps);
            end(&written);
        }
        cr_assert_neq(expected[0], expected[1], "%s: the value makes no difference", place->name);
        write_nodes(nodes, sizeof nodes, place->nodes, texts[0]);
        cr_assert(compile(&given, nodes, place->parameter), "%s: %s: %s", place->name, given.error.path, given.error.message);
        found = run(&given, place->n_steps);
        cr_assert_eq(found, expected[0], "%s: %.17g, not %.17g, where nothing is set", place->name, found, expected[0]);
        cr_assert_eq(mdf_state_reset(given.state, 0, &given.error), MDF_OK);
        set(&given, place->parameter, 1.75);
        found = run(&given, place->n_steps);
        cr_assert_eq(found, expected[1], "%s: %.17g, not %.17g", place->name, found, expected[1]);
        cr_assert_eq(mdf_state_reset(given.state, 0, &given.error), MDF_OK);
        found = run(&given, place->n_steps);
        cr_assert_eq(found, expected[0], "%s: %.17g, not %.17g, after a reset", place->name, found, expected[0]);
        end(&given);
    }
}

/* What can not be changed, and what the message says. */
static const struct {
    const char *nodes, *parameter, *message;
} refused[] = {
    {"\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": 1}, \"v\": {\"value\": \"k\"}}, " PORTS "}}", "n.kk",
     "no parameter is called 'n.kk'; did you mean 'n.k'?"},
    {"\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": 1}, \"v\": {\"value\": \"k + 1\"}}, " PORTS "}}", "n.v",
     "name what it is computed from instead"},
    {"\"nodes\": {\"n\": {\"parameters\": {\"axis\": {\"value\": 0}, \"v\": {\"function\": \"onnx::Softmax\", \"args\": "
     "{\"input\": "
     "[1.0, 2.0]}}}, " PORTS "}}",
     "axis", "attribute 'axis' of onnx::Softmax can not be kept changeable"},
    {"\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": 0}, \"v\": {\"function\": \"onnx::Softmax\", \"args\": {\"input\": "
     "[1.0, 2.0], \"axis\": \"k\"}}}, " PORTS "}}",
     "n.k", "attribute 'axis' of onnx::Softmax can not be kept changeable"},
    {"\"parameters\": {\"k\": 1, \"j\": \"k + 1\"}, \"nodes\": {\"n\": {\"parameters\": {\"v\": {\"value\": \"j\"}}, " PORTS "}}",
     "k", "a constant is needed here"},
};

Test(changeable, what_is_fixed_when_the_model_is_compiled_is_refused)
{
    size_t i;

    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct fixture fixture;

        cr_assert(!compile(&fixture, refused[i].nodes, refused[i].parameter), "'%s' was kept changeable", refused[i].parameter);
        cr_assert_not_null(strstr(fixture.error.message, refused[i].message), "%s", fixture.error.message);
        /* a name that the caller has wrong is at no place of the file */
        cr_assert_eq(fixture.error.line > 0, fixture.error.code != MDF_NAME);
        end(&fixture);
    }
}

Test(changeable, a_parameter_is_set_before_the_first_evaluation_only)
{
    struct fixture fixture;
    double value = 2;
    int64_t shape[] = {1};
    mdf_tensor tensor = {MDF_DTYPE_FLOAT64, 0, NULL, &value}, vector = {MDF_DTYPE_FLOAT64, 1, shape, &value};

    cr_assert(compile(&fixture,
                      "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": 1.0, \"metadata\": {\"type\": \"float64\", "
                      "\"shape\": []}}, \"v\": {\"value\": \"k\"}}, " PORTS "}}",
                      "k"));
    cr_assert_eq(mdf_set_parameter(fixture.state, "v", &tensor, &fixture.error), MDF_NAME);
    memset(&fixture.error, 0, sizeof fixture.error);
    cr_assert_eq(mdf_set_parameter(fixture.state, "k", &vector, &fixture.error), MDF_SHAPE);
    cr_assert_str_eq(fixture.error.path, "node 'n', parameter 'k'");
    memset(&fixture.error, 0, sizeof fixture.error);
    run(&fixture, 1);
    cr_assert_eq(mdf_set_parameter(fixture.state, "k", &tensor, &fixture.error), MDF_USAGE);
    end(&fixture);
}

Test(changeable, a_reset_state_draws_as_a_new_one_with_that_seed)
{
    static const char nodes[] = "\"nodes\": {\"n\": {\"parameters\": {\"v\": {\"value\": \"v + numpy.random.normal()\", "
                                "\"default_initial_value\": 0}}, " PORTS "}}";
    struct fixture fixture;
    mdf_options options = {.seed = 7};
    mdf_program *seeded;
    double first, expected;

    cr_assert(compile(&fixture, nodes, NULL), "%s", fixture.error.message);
    first = run(&fixture, 5);
    seeded = mdf_compile(fixture.model, &options, &fixture.error);
    mdf_state_reset(fixture.state, 7, &fixture.error);
    expected = run(&fixture, 5);
    cr_assert_neq(expected, first);
    mdf_state_free(fixture.state);
    fixture.state = mdf_state_new(seeded, &fixture.error);
    cr_assert_eq(run(&fixture, 5), expected);
    mdf_state_reset(fixture.state, 0, &fixture.error);
    cr_assert_eq(run(&fixture, 5), first);
    mdf_state_free(fixture.state);
    fixture.state = NULL;
    mdf_program_free(seeded);
    end(&fixture);
}

Test(changeable, a_reset_schedule_begins_anew)
{
    static const char nodes[] =
        "\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"default_value\": 0}}, \"parameters\": {\"v\": {\"value\": \"v + x + "
        "1\", "
        "\"default_initial_value\": 0}}, " PORTS "}, \"b\": {\"parameters\": {\"c\": {\"value\": \"c + 1\", "
        "\"default_initial_value\": 0}}, \"output_ports\": {\"c\": {\"value\": \"c\"}}}}, \"edges\": {\"e\": {\"sender\": \"b\", "
        "\"sender_port\": \"c\", \"receiver\": \"n\", \"receiver_port\": \"x\"}}, \"conditions\": {\"node_specific\": {\"b\": "
        "{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"n\", \"n\": 2}}}}";
    struct fixture fixture;
    double first;

    cr_assert(compile(&fixture, nodes, NULL), "%s", fixture.error.message);
    first = run(&fixture, 7);
    cr_assert_eq(mdf_state_reset(fixture.state, 0, &fixture.error), MDF_OK);
    cr_assert_eq(run(&fixture, 7), first);
    end(&fixture);
}

/* What keeps nothing but its parameters stays in its lowered form from one life to the next, each with its own values; where an
 * evaluation leaves another value in the parameter, a new life begins as the first one did. */
Test(changeable, lowered_forms_outlast_resets)
{
    static const char *const nodes[] = {
        "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": 0.5}, \"v\": {\"value\": \"k * 3 + k\"}}, " PORTS "}}",
        "\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": \"4 * k\", \"default_initial_value\": 0.5}, \"v\": {\"value\": "
        "\"k\"}}, " PORTS "}}"};

    for (size_t i = 0; i < 2; i++) {
        struct fixture fixture;
        char text[1000];

        cr_assert(compile(&fixture, nodes[i], "n.k"), "%s", fixture.error.message);
        for (int life = 0; life < 6; life++) {
            double k = life % 2 == 0 ? 0.25 * life : 0.5, got;

            cr_assert_eq(mdf_state_reset(fixture.state, 0, &fixture.error), MDF_OK);
            if (life % 2 == 0) {
                set(&fixture, "n.k", k);
            }
            got = run(&fixture, 1);
            cr_expect_float_eq(got, 4 * k, 0, "%s, life %d: %g", nodes[i], life, got);
        }
        mdf_explain(fixture.state, text, sizeof text);
        cr_expect_eq(strstr(text, "graph 'g': lowered") != NULL, i == 0, "%s", text);
        end(&fixture);
    }
}
