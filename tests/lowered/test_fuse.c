/* test_fuse.c - loops that run equally often become one (mdf_c/lower/loops/lower_fuse.c): which do, what is told of those that do
 * not, and the bits of the plain way in any case. */
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "mdf_c/run/whole/whole.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 15, N_EVALUATIONS = 4 };

#define ROWS "[[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [-4.0, 0.125, 2.0], [1.5, 1.0, -0.75]]"
#define SCAN_OF(name, start, rows, more, body)                                                                           \
    "\"" name "\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": [\"" start "\", \"" rows \
    "\"], \"num_scan_inputs\": 1, " more "\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}, \"u\": {}}, " body "}}}}}"
#define FILTER "\"output_ports\": {\"n\": {\"value\": \"s + 0.5 * (u - s)\"}, \"y\": {\"value\": \"2.0 * s - u\"}}"
#define SCAN(name, start, rows) SCAN_OF(name, start, rows, "", FILTER)
#define BACKWARDS "\"scan_input_directions\": [1], "
#define BACKWARDS_OUT "\"scan_output_directions\": [1], "
#define PRODUCT                                                                                                            \
    "\"functions\": {\"p\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"u\", \"B\": \"w\"}}}, \"output_ports\": " \
    "{\"n\": {\"value\": \"s + p\"}, \"y\": {\"value\": \"s\"}}"
#define CAPTURE "\"output_ports\": {\"n\": {\"value\": \"s + a[1][0]\"}, \"y\": {\"value\": \"u + s\"}}"
#define WIDE "\"output_ports\": {\"n\": {\"value\": \"s * large + u\"}, \"y\": {\"value\": \"2.0 * s\"}}"

/* A state that has the type of its first run in all others, so that no run stands before the loop. */
#define TYPED "zero.astype(numpy.float64)"
/* A Loop that takes an item by an index, which `i` says. */
#define LOOP(name, start, rows, index)                                                                                          \
    "\"" name "\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 4, \"cond\": true, \"v_initial\": [\"" start                \
    "\"], \"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"functions\": {\"u\": "           \
    "{\"function\": \"onnx::Gather\", \"args\": {\"data\": \"" rows "\", \"indices\": \"" index                                 \
    "\"}}}, \"output_ports\": {\"c\": {\"value\": \"c\"}, \"n\": {\"value\": \"s + 0.5 * (u - s)\"}, \"y\": {\"value\": \"2.0 " \
    "* s - u\"}}}}}}}"

/* One node whose functions are these, of which `r` is shown. */
#define MODEL                                                                                                                \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": " \
    "\"numpy.array(%s)\"}, \"zero\": {\"value\": \"numpy.array(%s)\"}, %s}, \"output_ports\": {\"o\": {\"value\": \"r\"}}}}}}}}"

struct succession {
    const char *functions, *piece; /* what is told of the last two loops; NULL: nothing */
    const char *rows, *zero;
};

static char how[TEXT_SIZE]; /* what explain says of the last run */

static const void *run(struct engine *engine, const char *model, bool plain, size_t *n_bytes)
{
    const mdf_options options = {.plain = plain, .n_threads = 1}; /* else two may run at the same time: test_concurrent.c */
    const void *elements;

    cr_assert(engine_begin(engine, model, &options) && engine_evaluate(engine, N_EVALUATIONS) == MDF_OK, "%s: %s", model,
              engine->error.message);
    mdf_explain(engine->state, how, sizeof how);
    elements = engine_output(engine, "n", "o", n_bytes);
    cr_assert_not_null(elements, "%s", model);
    return elements;
}

static void expect_same(const struct succession *succession)
{
    static char model[TEXT_SIZE];
    struct engine plain, lowered;
    const void *expected, *result;
    size_t n, n_lowered;

    cr_assert_lt(snprintf(model, sizeof model, MODEL, succession->rows != NULL ? succession->rows : ROWS,
                          succession->zero != NULL ? succession->zero : "[0.0, 0.0, 0.0]", succession->functions),
                 TEXT_SIZE);
    expected = run(&plain, model, true, &n);
    result = run(&lowered, model, false, &n_lowered);
    cr_expect(n == n_lowered && memcmp(expected, result, n) == 0, "%s", succession->functions);
    cr_expect(succession->piece != NULL ? strstr(how, succession->piece) != NULL : strstr(how, "one loop") == NULL, "%s: %s",
              succession->functions, how);
    engine_end(&plain);
    engine_end(&lowered);
}

#define ONE "\n      one loop with that of node 'n', parameter 'a'\n"
#define APART "\n      not one loop with that of node 'n', parameter 'a', as "
#define SHOWN(value) ", \"r\": {\"value\": \"" value "\"}"

Test(fuse, same_bits)
{
    static const struct succession cases[] = {
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "a[1]") SHOWN("b[1]"), ONE, NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "a[1]") SHOWN("numpy.concatenate((a[1], b[1]))"), ONE, NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "a[1]") "," SCAN("c", "zero", "b[1]") SHOWN("c[1] + a[0]"), ONE, NULL,
         NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "a[1]") SHOWN("b[1]"), ONE, "[1.0, 2.0, 3.0]", "0.0"},
        {SCAN("a", "zero", "x") "," SCAN_OF("b", "zero", "a[1]", BACKWARDS, FILTER) SHOWN("b[1]"),
         APART "it goes through the items the other way round\n", NULL, NULL},
        {SCAN_OF("a", "zero", "x", BACKWARDS_OUT, FILTER) "," SCAN_OF("b", "zero", "a[1]", BACKWARDS, FILTER) SHOWN("b[1]"), ONE,
         NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN_OF("b", "zero", "x", BACKWARDS BACKWARDS_OUT, FILTER) SHOWN("a[1] + b[1]"), ONE, NULL,
         NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "a[0]", "x") SHOWN("b[1]"),
         APART "it needs what the other one has made of all items\n", NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN_OF("b", "zero", "a[1]", "", CAPTURE) SHOWN("b[1]"),
         APART "it needs what the other one has made of all items\n", NULL, NULL},
        /* with what yields its items, though another one is nearer */
        {SCAN("a", "zero", "x") "," SCAN_OF("z", "zero", "a[1]", BACKWARDS, FILTER) "," SCAN("b", "zero", "a[1]")
             SHOWN("b[1] + z[1]"),
         ONE, NULL, NULL},
        /* items by the number of the run, forward and backward */
        {LOOP("a", TYPED, "x", "i") "," LOOP("b", TYPED, "a[1]", "i") SHOWN("b[1] + b[0]"), ONE, NULL, NULL},
        {SCAN("a", TYPED, "x") "," LOOP("b", TYPED, "a[1]", "i") SHOWN("b[1] + a[1]"), ONE, NULL, NULL},
        {LOOP("a", TYPED, "x", "3 - i") "," SCAN("b", TYPED, "a[1]") SHOWN("b[1] + a[1]"), ONE, NULL, NULL},
        {LOOP("a", TYPED, "x", "i") "," LOOP("b", TYPED, "a[1]", "3 - i") SHOWN("b[1]"),
         APART "it goes through the items the other way round\n", NULL, NULL},
        {LOOP("a", TYPED, "x", "i") "," LOOP("b", TYPED, "a[1]", "2 - i") SHOWN("b[1]"),
         APART "it needs what the other one has made of all items\n", NULL, NULL},
        {LOOP("a", TYPED, "x", "i") "," LOOP("b", TYPED, "a[1]", "i") SHOWN("b[1]"), ONE, "[1.0, 2.0, 3.0, 4.0]", "0.0"},
        /* what is made of each item is made in the loop */
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "2.0 * a[1] + x") SHOWN("b[1]"), ONE, NULL, NULL},
        {SCAN("a", "zero", "x") ", \"t\": {\"value\": \"a[1] * numpy.array([1.0, -0.5, 2.0]) - 1.0\"}," SCAN("b", "zero", "t")
             SHOWN("b[1] + t"),
         ONE, NULL, NULL},
        {SCAN("a", "zero", "x") ", \"t\": {\"value\": \"numpy.abs(a[1]) + x\"}," SCAN("b", "zero", "t") SHOWN("b[1]"), ONE,
         "[1.0, -2.0, 3.0]", "0.0"},
        {SCAN("a", "zero", "x") ", \"t\": {\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"a[1]\", \"axes\": "
                                "\"numpy.array([1])\", \"keepdims\": 1}}," SCAN("b", "zero", "a[1] - t") SHOWN("b[1]"),
         ONE, NULL, NULL},
        {SCAN("a", "zero", "x") ", \"t\": {\"function\": \"onnx::Reshape\", \"args\": {\"data\": \"a[1]\", \"shape\": "
                                "\"numpy.array([4, 3, 1])\"}}," SCAN("b", "numpy.zeros((3, 1))", "t") SHOWN("b[1]"),
         ONE, NULL, NULL},
        {SCAN_OF("a", "zero", "x", BACKWARDS_OUT, FILTER) "," SCAN_OF("b", "zero", "2.0 * a[1] + x", BACKWARDS, FILTER)
             SHOWN("b[1]"),
         ONE, NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "a[1] - numpy.sum(a[1])") SHOWN("b[1]"),
         APART "it needs what the other one has made of all items\n", NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "a[1][::-1]") SHOWN("b[1]"),
         APART "it needs what the other one has made of all items\n", NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "numpy.tanh(a[1])") SHOWN("b[1]"),
         APART "a function between them takes less for all items at once than for one by one\n", NULL, NULL},
        /* what is between, and needs the first or not, is done behind or in front */
        {SCAN("a", "zero", "x") ", \"t\": {\"value\": \"2.0 * a[1]\"}, \"q\": {\"value\": \"numpy.sin(x)\"}," SCAN(
             "b", "q[1]", "a[1]") SHOWN("b[1] + t"),
         ONE, NULL, NULL},
        {"\"w\": {\"function\": \"onnx::ConstantOfShape\", \"args\": {\"input\": [30, 30], \"value\": "
         "\"numpy.array([0.03125])\"}}, "
         "\"e\": {\"value\": \"numpy.ones((20, 1, 30))\"}, \"f\": {\"value\": \"numpy.zeros((1, 30))\"}," SCAN(
             "a", "f", "e") "," SCAN_OF("b", "f", "a[1]", "", PRODUCT) SHOWN("b[1]"),
         APART "it multiplies the items by a matrix, many of them at once\n", NULL, NULL},
        {"\"large\": {\"value\": \"numpy.ones((12000,))\"}, \"e\": {\"value\": \"numpy.ones((3, 12000))\"}," SCAN_OF(
             "a", "large", "e", "", WIDE) "," SCAN_OF("b", "large", "a[1]", "", WIDE) SHOWN("b[1]"),
         APART "what both go through in a run is larger than a cache\n", NULL, NULL},
        {"\"z\": {\"value\": \"numpy.zeros((300,))\"}, \"e\": {\"value\": \"numpy.ones((3, 300))\"}," SCAN(
             "a", "z", "e") "," SCAN("b", "z", "e") SHOWN("a[1] + b[1]"),
         APART "they share only what they read, and neither waits for what it computes\n", NULL, NULL},
        {SCAN("a", "zero", "x") "," SCAN("b", "zero", "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]")
             SHOWN("numpy.concatenate((a[1], b[1]))"),
         NULL, NULL, NULL},
    };

    if (!mdf_machine_has_vectors(MDF_DTYPE_FLOAT32) || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
        cr_skip(); /* what becomes a nest is another there */
    }
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_same(&cases[i]);
    }
}

/* ------------------------------------------------------------------ what lies between two nodes */

#define NODE(name, ports, parameters) \
    "\"" name "\": {" ports "\"parameters\": {" parameters "}, \"output_ports\": {\"all\": {\"value\": \"s[1]\"}}}"
#define EDGE(from, to)                                                                                                    \
    "\"" from to "\": {\"sender\": \"" from "\", \"receiver\": \"" to "\", \"sender_port\": \"all\", \"receiver_port\": " \
    "\"x\"}"
#define PORT "\"input_ports\": {\"x\": {}}, "

static const char layers[] =
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {"
    "\"in\": {\"parameters\": {\"range\": {\"function\": \"onnx::Range\", \"args\": {\"start\": 0.0, \"limit\": 15000.0, "
    "\"delta\": 1.0}}, \"rows\": {\"function\": \"onnx::Reshape\", \"args\": {\"data\": \"numpy.sin(range)\", \"shape\": "
    "\"numpy.array([3000, 5])\"}}}, \"output_ports\": {\"all\": {\"value\": \"rows\"}}}, " NODE(
        "a", PORT,
        SCAN("s", "numpy.zeros(5)", "x")) "," NODE("b", PORT,
                                                   SCAN("s", "numpy.zeros(5)",
                                                        "x")) "," NODE("n", PORT,
                                                                       SCAN("s", "numpy.zeros(5)",
                                                                            "x")) "}, "
                                                                                  "\"edges\": {" EDGE("in", "a") "," EDGE(
                                                                                      "a", "b") "," EDGE("b", "n") "}}}}}";

static const double *all_of(const mdf_state *state, const char *node)
{
    mdf_tensor result;

    cr_assert(mdf_value_tensor(mdf_output(state, node, "all"), &result) && result.rank == 2 && result.shape[0] == 3000, "%s",
              node);
    return result.data;
}

static void evaluate(struct engine *engine, int n)
{
    for (int i = 0; i < n; i++) {
        cr_assert_eq(mdf_evaluate(engine->state, NAN, &engine->error), MDF_OK, "%s", engine->error.message);
    }
}

static void expect_layers(const struct engine *engine, const struct engine *plain)
{
    static const char *const nodes[] = {"b", "n", "a", "in"};

    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        cr_expect_eq(memcmp(all_of(engine->state, nodes[i]), all_of(plain->state, nodes[i]), 15000 * sizeof(double)), 0, "%s",
                     nodes[i]);
    }
}

/* Large arrays that loops alone go through are not there, until somebody asks for one of them. */
Test(fuse, what_is_gone_is_made_again)
{
    const mdf_options plainly = {.plain = true};
    struct engine plain, engine;
    mdf_state *copy;

    cr_assert(engine_begin(&plain, layers, &plainly), "%s", plain.error.message);
    cr_assert(engine_begin(&engine, layers, NULL), "%s", engine.error.message);
    evaluate(&plain, N_EVALUATIONS);
    evaluate(&engine, N_EVALUATIONS);
    cr_expect_eq(memcmp(all_of(engine.state, "n"), all_of(plain.state, "n"), 15000 * sizeof(double)), 0);
    cr_expect(engine.state->whole->has_gone);
    mdf_explain(engine.state, how, sizeof how);
    cr_expect(strstr(how, "      one loop with that of node 'a', parameter 's'\n") != NULL, "%s", how);
    expect_layers(&engine, &plain);
    evaluate(&engine, 1);
    cr_expect(!engine.state->whole->has_gone); /* somebody has asked */
    expect_layers(&engine, &plain);
    mdf_state_free(engine.state);
    engine.state = mdf_state_new(engine.program, &engine.error);
    cr_assert_not_null(engine.state);
    evaluate(&engine, N_EVALUATIONS);
    copy = mdf_state_new(engine.program, &engine.error);
    cr_assert(copy != NULL && mdf_state_copy(copy, engine.state, &engine.error) == MDF_OK, "%s", engine.error.message);
    expect_layers(&engine, &plain);
    mdf_state_free(engine.state);
    engine.state = copy;
    expect_layers(&engine, &plain);
    cr_assert_eq(mdf_state_reset(engine.state, 0, &engine.error), MDF_OK);
    evaluate(&engine, 2);
    expect_layers(&engine, &plain);
    engine_end(&plain);
    engine_end(&engine);
}

#define LIST                                                                                                                 \
    "\"functions\": {\"c\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": \"x\", \"to\": 1}}, \"s\": {\"function\": " \
    "\"onnx::SplitToSequence\", \"args\": {\"input\": \"c\", \"axis\": 0, \"keepdims\": 0}}}, "
#define SUM                                                                                                                     \
    "\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 4, \"v_initial\": [\"numpy.zeros(3)\"], \"body\": {\"nodes\": "    \
    "{\"b\": "                                                                                                                  \
    "{\"input_ports\": {\"i\": {}, \"go\": {}, \"s\": {}}, \"functions\": {\"a\": {\"function\": \"onnx::SequenceAt\", "        \
    "\"args\": "                                                                                                                \
    "{\"input_sequence\": \"x\", \"position\": \"i\"}}}, \"output_ports\": {\"go\": {\"value\": \"True\"}, \"n\": {\"value\": " \
    "\"0.5 * s + a\"}}}}}}}"

static const char items[] =
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {"
    "\"a\": {\"parameters\": {" SCAN("r", "numpy.zeros(3)", ROWS) "}, \"output_ports\": {\"all\": {\"value\": \"r[1]\"}}}, "
                                                                  "\"in\": {" PORT LIST
                                                                  "\"output_ports\": {\"all\": {\"value\": \"s\"}}}, "
                                                                  "\"sum\": {" PORT "\"parameters\": {" SUM
                                                                  "}, \"output_ports\": {\"all\": {\"value\": \"l\"}}}}, "
                                                                  "\"edges\": {" EDGE("a", "in") "," EDGE("in", "sum") "}}}}}";

static void expect_items(const struct engine *engine, const struct engine *plain)
{
    const mdf_value *list = mdf_output(engine->state, "in", "all"), *expected = mdf_output(plain->state, "in", "all");

    cr_assert_not_null(list);
    cr_expect(mdf_value_equal(list, expected));
    cr_expect(mdf_value_equal(mdf_output(engine->state, "sum", "all"), mdf_output(plain->state, "sum", "all")));
}

/* The same of a list whose items are the rows of an array. */
Test(fuse, a_list_that_is_gone_is_made_again)
{
    const mdf_options plainly = {.plain = true};
    struct engine plain, engine;

    cr_assert(engine_begin(&plain, items, &plainly), "%s", plain.error.message);
    cr_assert(engine_begin(&engine, items, NULL), "%s", engine.error.message);
    evaluate(&plain, N_EVALUATIONS);
    evaluate(&engine, N_EVALUATIONS);
    mdf_explain(engine.state, how, sizeof how);
    cr_expect(engine.state->whole->has_gone, "%s", how);
    expect_items(&engine, &plain);
    cr_expect(!engine.state->whole->has_gone);
    evaluate(&engine, 2);
    expect_items(&engine, &plain);
    engine_end(&plain);
    engine_end(&engine);
}
