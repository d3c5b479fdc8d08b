/* test_lower.c - the lowered form of nodes and loops gives what their instructions give as they stand, bit for bit, whatever
 * comes up in between: results past 64 bits, divisions by zero, values that change type or shape. */
#include "mdf_c/base/text.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/lowered/print_lowered.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ running both ways */

static struct mdf_memory memory;

static void begin(struct engine *engine, const char *text, const char *path, bool plain)
{
    mdf_options options = {.plain = plain, .seed = 7};

    if (text != NULL) {
        engine_begin(engine, text, &options);
    } else {
        memset(engine, 0, sizeof *engine);
        engine->model = mdf_model_load_file(path, &engine->error);
        engine_begin_model(engine, &options);
    }
    cr_assert_not_null(engine->state, "%s: %s", path != NULL ? path : text, engine->error.message);
}

/* All outputs with their types, or the error. The text is the caller's, in `memory`. */
static void step(struct engine *engine, double dt, struct mdf_text *text)
{
    size_t i, j;

    memset(&engine->error, 0, sizeof engine->error);
    text->length = 0;
    if (mdf_evaluate(engine->state, dt, &engine->error) != MDF_OK) {
        mdf_text_append_string(text, engine->error.message);
        return;
    }
    for (i = 0; i < mdf_program_n_nodes(engine->program); i++) {
        for (j = 0; j < mdf_program_n_outputs(engine->program, i); j++) {
            mdf_text_printf(text, "%s.%s ", mdf_program_node_id(engine->program, i),
                            mdf_program_output_id(engine->program, i, j));
            mdf_write_json_value(text, mdf_output_at(engine->state, i, j), true, NULL);
            mdf_text_append_string(text, "\n");
        }
    }
}

/* How a node runs: with the whole graph, or by itself. */
static const struct mdf_fast *fast_of(const struct engine *engine, size_t node)
{
    const struct mdf_fast *whole = &engine->state->whole->single.fast;

    return whole->lowered != NULL ? whole : &engine->state->nodes[node].fast;
}

/* Runs a model both ways. Returns why its first node is not lowered at the end; NULL: it is. */
static const char *compare(const char *text, const char *path, int n_steps, double dt)
{
    struct engine plain, lowered;
    struct mdf_text want, got;
    const char *why;

    begin(&plain, text, path, true);
    begin(&lowered, text, path, false);
    mdf_text_init(&want, &memory);
    mdf_text_init(&got, &memory);
    for (int i = 0; i < n_steps; i++) {
        step(&plain, i == 0 ? (double)NAN : dt, &want);
        step(&lowered, i == 0 ? (double)NAN : dt, &got);
        cr_expect_str_eq(got.bytes, want.bytes, "%s, step %d", path != NULL ? path : text, i);
    }
    why = fast_of(&lowered, 0)->lowered != NULL                     ? NULL
          : fast_of(&lowered, 0)->refusal.reason != MDF_REFUSED_NOT ? mdf_refusal_text(fast_of(&lowered, 0)->refusal.reason)
                                                                    : "never tried";
    mdf_text_release(&want);
    mdf_text_release(&got);
    engine_end(&plain);
    engine_end(&lowered);
    return why;
}

/* ------------------------------------------------------------------ nodes */

#define NODE(parts) "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {" parts "}}}}}}"
#define PARAMETER(text) NODE("\"parameters\": {" text "}, \"output_ports\": {\"o\": {\"value\": \"p\"}}")
#define STATE(value, initial) PARAMETER("\"p\": {\"value\": \"" value "\", \"default_initial_value\": " initial "}")

/* u is a real number, or the whole number 0. */
#define OF_TWO_TYPES(value, other)                                                                                        \
    NODE("\"parameters\": {\"x\": {\"value\": \"math.cos(x * 3)\", \"default_initial_value\": -2.0}, \"u\": {\"value\": " \
         "\"1.5 * x if x < 0 else 0\"}, \"p\": {\"value\": \"" value                                                      \
         "\"}}, \"output_ports\": {\"o\": {\"value\": \"p\"}, \"q\": {\"value\": \"" other "\"}}")

/* A state that each run of a Loop makes longer, s, then j, and looks at. */
#define GROWS(initial, parameters) GROWS_BY("[s, w]", "0", initial, parameters)
#define GROWS_BY(joined, axis, initial, parameters)                                                                              \
    NODE(                                                                                                                        \
        "\"parameters\": {\"p\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 9, \"v_initial\": \"[" initial                 \
        "]\", \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\", \"o\"]}, "        \
        "\"nodes\": {\"k\": {\"input_ports\": {\"i\": {}, \"s\": {}}, \"parameters\": {\"w\": {\"value\": \"numpy.array([[0.5, " \
        "-1.5]]) * i\"}, \"j\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": \"" joined "\", \"axis\": " axis         \
        "}}" parameters "}, \"output_ports\": {\"t\": {\"value\": \"j\"}, \"o\": {\"value\": \"y\"}}}}}}}}}, "                   \
        "\"output_ports\": {\"o\": {\"value\": \"p[1]\"}, \"r\": {\"value\": \"p[0]\"}}")
#define CALL(id, function, arguments) ", \"" id "\": {\"function\": \"onnx::" function "\", \"args\": {" arguments "}}"

/* What an If leaves, an array or its sum, and what comes of that. */
#define EITHER(condition)                                                                                                        \
    NODE(                                                                                                                        \
        "\"parameters\": {\"k\": {\"value\": \"k + 1\", \"default_initial_value\": 0}, \"x\": {\"value\": \"k * "                \
        "numpy.array([0.5, 1.5, -2.5])\"}, \"c\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"" condition                \
        "\", \"then_branch\": {\"t\": {\"nodes\": {\"t\": {\"input_ports\": {\"x\": {}}, \"output_ports\": {\"o\": {\"value\": " \
        "\"numpy.sum(x)\"}}}}}}, \"else_branch\": {\"e\": {\"nodes\": {\"e\": {\"input_ports\": {\"x\": {}}, \"output_ports\": " \
        "{\"o\": {\"value\": \"x\"}}}}}}}}, \"p\": {\"value\": \"c * 2 + 1\"}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}")

struct lowered_case {
    const char *model;
    bool is_lowered; /* at the end */
};

static const struct lowered_case cases[] = {
    {STATE("p * 1.5 - 0.25", "1.0"), true},
    {STATE("p + 1", "0"), true},
    {STATE("(p * 7 + 3) // 4 % 11 - (-p) // 3", "5"), true},
    {STATE("-p ** 2 + math.sin(p) * math.exp(-p)", "0.3"), true},
    {STATE("p * p", "3"), true}, /* a real past 64 bits: lowered anew */
    {STATE("p / (3 - p) if p < 2 else 0.5", "0.5"), true},
    {STATE("1 / p if p != 0 else 4.0", "0.0"), true}, /* the branch that is not taken would fail */
    {STATE("p + 1 if p < 20 else p + 0.5", "0"), false},
    {STATE("[p][p > 0]", "-1.5"), false},                                /* an item of a list: of an array it would be a mask */
    {STATE("p + (2 < p < 9) + (p > 3 and p < 7 or p == 1)", "0"), true}, /* a whole number plus a truth */
    {STATE("[p[1], p[0] + 1]", "[1, 2]"), false},
    {STATE("numpy.sum([p, 1.0] if p < 2.0 else [0.5, -p]) * 0.75", "0.5"), true}, /* each item is taken by itself */
    {STATE("([p, 1] if p < 2 else [0.5, 3])[0] + 0.5", "0.5"), true},
    {STATE("p * 0.5 + numpy.array([1.0, 2.0, 3.0])", "[[0.5, 1.5, 2.5], [1.0, 2.0, 3.0]]"), true},
    {STATE("numpy.where(p > 2.0, p - 2.0, p * 1.25)", "[0.5, 1.5, 2.5, 7.0, 1e300]"), true},
    {STATE("numpy.tanh(p) + numpy.sum(p) * 0.01", "[0.5, -1.5, 2.5]"), true},
    {PARAMETER("\"p\": {\"default_initial_value\": 1.0, \"time_derivative\": \"-p * r + 0.1\"}, \"r\": {\"value\": 0.7}"), true},
    {PARAMETER(
         "\"p\": {\"default_initial_value\": [1.0, 2.0], \"time_derivative\": \"p * p - 3.0\", \"conditions\": [{\"id\": \"c\", "
         "\"test\": \"p > 2.5\", \"value\": \"0.125\"}]}"),
     true},
    {PARAMETER("\"a\": {\"value\": 0.5}, \"p\": {\"value\": \"a * 2\"}"), true}, /* nothing is left to compute */
    {STATE("p + numpy.random.rand()", "0.0"), true},
    /* Once the power is no whole number a run leaves the form, behind a draw of more words than the generator has at a time: what
     * was drawn is drawn again. */
    {PARAMETER("\"u\": {\"value\": \"numpy.random.rand(400)\"}, \"k\": {\"value\": \"k + 1\", \"default_initial_value\": 0}, "
               "\"w\": {\"value\": \"psyneulink.draw_normal([1], 7, u)\"}, \"p\": {\"value\": \"numpy.sum(u) + "
               "numpy.sum(w) * 2 ** (40 - k)\"}"),
     true},
    /* A state of each sequence of a batch that is real from the second item on. */
    {"{\"m\": {\"onnx_opset_version\": \"8\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": \"p * "
     "numpy.array([[0.5, 1.5, 2.0], [4.0, -1.0, 0.25]])\"}, \"p\": {\"value\": \"p + 1\", \"default_initial_value\": 0}, \"z\": "
     "{\"value\": "
     "[0, 3]}, \"s\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": \"[z, x]\", "
     "\"num_scan_inputs\": 1, "
     "\"directions\": [1], \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"a\", \"v\"], \"outputs\": [\"t\", \"y\"]}, "
     "\"nodes\": {\"k\": "
     "{\"input_ports\": {\"a\": {}, \"v\": {}}, \"output_ports\": {\"t\": {\"value\": \"a + v\"}, \"y\": {\"value\": \"a * 2 + "
     "v\"}}}}}}}}}, "
     "\"output_ports\": {\"o\": {\"value\": \"s[0]\"}, \"q\": {\"value\": \"s[1]\"}}}}}}}}",
     true},
    /* no elements, converted for an operator */
    {NODE(
         "\"parameters\": {\"x\": {\"value\": \"numpy.ones(0) > 0\"}, \"p\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, "
         "\"v_initial\": \"[x]\", \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", "
         "\"s\", \"y\"]}, \"nodes\": {\"k\": {\"input_ports\": {\"s\": {}}, \"parameters\": {\"t\": {\"function\": "
         "\"onnx::Tanh\", \"args\": {\"input\": \"s\"}}}, \"output_ports\": {\"y\": {\"value\": \"t\"}}}}}}}}}, "
         "\"output_ports\": "
         "{\"o\": {\"value\": \"p[1]\"}}"),
     true},
    /* keys that are their own values, from one and from none on */
    {GROWS("numpy.array([[0.25, 0.75]])",
           CALL("a", "Transpose", "\"data\": \"j\"") CALL("b", "MatMul", "\"A\": \"w\", \"B\": \"a\"")
               CALL("e", "Softmax", "\"input\": \"b\"") CALL("y", "MatMul", "\"A\": \"e\", \"B\": \"j\"")),
     true},
    {GROWS("numpy.zeros((0, 2))", CALL("a", "Transpose", "\"data\": \"j\"") CALL("b", "MatMul", "\"A\": \"w\", \"B\": \"a\"")
                                      CALL("y", "ReduceMax", "\"data\": \"b\"")),
     true},
    /* before it: the state is what Concat makes; along an axis behind one of several, which is the first of the stack */
    {GROWS_BY("[w, s]", "0", "numpy.float64(numpy.array([[0.25, 0.75]]))",
              CALL("y", "ReduceSum", "\"data\": \"s\", \"keepdims\": 0")),
     true},
    {GROWS_BY("[s, x]", "1", "numpy.float64(numpy.array([[0.25], [0.75]]))",
              CALL("x", "Transpose", "\"data\": \"w\"") CALL("a", "Softmax", "\"input\": \"j\", \"axis\": 1")
                  CALL("b", "Mul", "\"A\": \"a\", \"B\": \"j\"") CALL("y", "ReduceSum", "\"data\": \"b\", \"keepdims\": 0")),
     true},
    /* an array or its sum: the branch that is taken at first, until it is the other one too often */
    {EITHER("k != 9"), true},
    {EITHER("k % 2 == 0"), false},
    /* the branch that is never taken would fail */
    {NODE("\"parameters\": {\"x\": {\"value\": \"x * 0.5\", \"default_initial_value\": [1.5, -2.5, 3.5]}, \"p\": {\"function\": "
          "\"onnx::If\", \"args\": {\"cond\": \"x[0] < 4\", \"then_branch\": {\"t\": {\"nodes\": {\"t\": {\"input_ports\": "
          "{\"x\": {}}, \"output_ports\": {\"o\": {\"value\": \"x + 1\"}}}}}}, \"else_branch\": {\"e\": {\"nodes\": {\"e\": "
          "{\"input_ports\": {\"x\": {}}, \"output_ports\": {\"o\": {\"value\": \"x + numpy.array([1.0, 2.0])\"}}}}}}}}}, "
          "\"output_ports\": {\"o\": {\"value\": \"p\"}}"),
     true},
    /* a real or a whole number, as a condition says: computed with, compared, left in a port, chosen again */
    {OF_TWO_TYPES("2 * u + x", "u / 2"), true},
    {OF_TWO_TYPES("u", "u + 1"), true},
    {OF_TWO_TYPES("u if u < -1 else 0", "u > -1"), true},
    {OF_TWO_TYPES("u if x < 0.3 else 0 if x > 0.5 else x", "numpy.sin(u) * 2 - u"), true},
    {OF_TWO_TYPES("(u + 1) * 3 if u else False", "abs(u)"), false}, /* of three types */
    {OF_TWO_TYPES("u if x < 0.3 else 1", "u"), true},               /* of two whole numbers */
    /* also where passes are a loop, which carries values of one type */
    {"{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": \"math.cos(x * 3)\", "
     "\"default_initial_value\": -2.0}, \"u\": {\"value\": \"1.5 * x if x < 0 else 0\"}}, \"output_ports\": {\"o\": {\"value\": "
     "\"u\"}}}, \"k\": {\"parameters\": {\"c\": {\"value\": \"c + 1\", \"default_initial_value\": 0}}, \"output_ports\": {\"o\": "
     "{\"value\": \"c\"}}}}, \"conditions\": {\"node_specific\": {\"k\": {\"type\": \"EveryNCalls\", \"kwargs\": "
     "{\"dependency\": "
     "\"n\", \"n\": 2}}}, \"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": "
     "3}}}}}}}}",
     true},
    /* a few elements put into an array of a type that nests do not load */
    {PARAMETER("\"d\": {\"value\": \"d + 1.5\", \"default_initial_value\": 0.5}, \"u\": {\"function\": \"onnx::Cast\", \"args\": "
               "{\"input\": \"numpy.array([d, 2 * d, 3 * d])\", \"to\": 10}}, \"p\": {\"function\": \"onnx::ScatterElements\", "
               "\"args\": {\"data\": \"u\", \"indices\": \"[0, 2, 1]\", \"updates\": \"u\"}}"),
     true},
    /* as it was, and what comes of its shape */
    {GROWS("numpy.array([[0.25, 0.75]])",
           CALL("n", "Shape", "\"data\": \"s\"") CALL("e", "Expand", "\"input\": \"w\", \"shape\": \"n\"")
               CALL("a", "Sub", "\"A\": \"s\", \"B\": \"w\"") CALL("d", "Add", "\"A\": \"a\", \"B\": \"e\"")
                   CALL("y", "ReduceSumSquare", "\"data\": \"d\", \"keepdims\": 0")),
     true},
    /* with something else behind it than what becomes of it */
    {GROWS("numpy.array([[0.25, 0.75]])", CALL("e", "Concat", "\"inputs\": \"[s, w, w]\", \"axis\": 0")
                                              CALL("y", "ReduceSumSquare", "\"data\": \"e\", \"keepdims\": 0")),
     true},
};

/* A state of reals, 0, -0, NaN and infinities among them, that goes through an operator of ONNX. */
#define THROUGH(type, function, arguments)                                                                                    \
    PARAMETER("\"s\": {\"value\": \"-1.25 * s\", \"default_initial_value\": \"numpy." type                                    \
              "(numpy.array([-7.5, -2.5, -1.0, -0.1, 0.0, -0.0, 0.3, 1.0, 2.5, 8.0, numpy.inf, -numpy.inf, numpy.nan]))\"}, " \
              "\"p\": {\"function\": \"onnx::" function "\", \"args\": {" arguments "}}")

/* Rows longer than there are lanes, in which zeros of both signs and NaN are met in several; the largest of one is NaN. */
#define EXTREMES(type, function)                                                                                            \
    PARAMETER("\"r\": {\"value\": \"numpy.floor(7.0 * numpy.sin(numpy.reshape(numpy.arange(450.0), (3, 150))))\"}, \"s\": " \
              "{\"value\": \"-0.75 * s\", \"default_initial_value\": \"numpy." type                                         \
              "(numpy.where(r > 5.0, numpy.nan, numpy.where(numpy.abs(r) < 3.0, r * numpy.array([[0.0], [-0.0], [1.0]]), "  \
              "r)))\"}, \"p\": "                                                                                            \
              "{\"function\": \"onnx::" function "\", \"args\": {\"data\": \"s\", \"axes\": [1]}}")

static const struct {
    const char *model;
    bool has_codes; /* else it is a loop */
} composed[] = {{THROUGH("float64", "Softsign", "\"input\": \"s\""), true},
                {THROUGH("float32", "Softsign", "\"input\": \"s\""), true},
                {THROUGH("float64", "Relu", "\"X\": \"s\""), true},
                {THROUGH("float32", "LeakyRelu", "\"X\": \"s\", \"alpha\": 0.3"), true},
                {THROUGH("float64", "ThresholdedRelu", "\"X\": \"s\", \"alpha\": 0.3"), true},
                {THROUGH("float64", "HardSigmoid", "\"X\": \"s\", \"alpha\": 0.3, \"beta\": 0.4"), true},
                {THROUGH("float32", "HardSigmoid", "\"X\": \"s\", \"alpha\": 0.3, \"beta\": 0.4"), true},
                {THROUGH("float64", "HardSwish", "\"X\": \"s\""), true},
                {THROUGH("float32", "Shrink", "\"input\": \"s\", \"lambd\": 0.3, \"bias\": 0.1"), true},
                {THROUGH("float64", "Reciprocal", "\"X\": \"s\""), true},
                {THROUGH("float64", "PRelu", "\"X\": \"s\", \"slope\": \"s\""), true},
                {THROUGH("float64", "Softplus", "\"X\": \"s\""), false}, /* in part */
                {THROUGH("float32", "Softplus", "\"X\": \"s\""), false},
                {THROUGH("float64", "Sigmoid", "\"X\": \"s\""), false},
                {THROUGH("float64", "Mish", "\"X\": \"s\""), false},
                {THROUGH("float32", "Elu", "\"X\": \"s\", \"alpha\": 0.3"), false},
                {THROUGH("float64", "Softmax", "\"input\": \"s\", \"axis\": -1"), false}, /* not a call of the kernel */
                {EXTREMES("float64", "ReduceMax"), true},
                {EXTREMES("float64", "ReduceMin"), true},
                {EXTREMES("float32", "ReduceMax"), true}};

static void write_no_name(const void *context, struct mdf_text *text, const struct mdf_value *value)
{
    (void)context;
    (void)value;
    mdf_text_append_string(text, "a value");
}

/* A function of elements that is made of functions with codes becomes these, as the same expression does. */
Test(lower, functions_of_elements_are_made_of_codes)
{
    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++) {
        const char *why = compare(composed[i].model, NULL, 9, NAN);
        const struct mdf_lowered_names names = {.write = write_no_name};
        struct engine lowered;
        struct mdf_text text;

        cr_assert_null(why, "%s: %s", composed[i].model, why);
        begin(&lowered, composed[i].model, NULL, false);
        for (int step = 0; step < 4; step++) {
            cr_assert_eq(mdf_evaluate(lowered.state, NAN, &lowered.error), MDF_OK, "%s", lowered.error.message);
        }
        mdf_text_init(&text, &memory);
        mdf_lowered_print(&text, fast_of(&lowered, 0)->lowered, &names);
        /* without vectors of machine code the kernel is as fast as a nest */
        if (composed[i].has_codes || mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
            cr_expect_eq(strstr(text.bytes, "= elements ") == NULL, composed[i].has_codes, "%s", text.bytes);
        }
        mdf_text_release(&text);
        engine_end(&lowered);
    }
}

/* What a branch computes on its way is no value that lasts: it is neither taken from the run before nor left for the next. */
Test(lower, temporaries_of_branches_do_not_last)
{
    static const char model[] =
        PARAMETER("\"s\": {\"value\": \"(3 * s + 1) % 7 - 2\", \"default_initial_value\": 0.5}, "
                  "\"p\": {\"value\": \"s / (1 - numpy.exp(-s)) if abs(s) > 1 else (numpy.cos(s * 2) + 1 if s > 0 else "
                  "numpy.sin(s * 3) + 1)\"}");
    const struct mdf_lowered_names names = {.write = write_no_name};
    const char *why;
    struct engine lowered;
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    why = compare(model, NULL, 20, NAN);
    cr_assert_null(why, "%s", why);
    begin(&lowered, model, NULL, false);
    for (int step = 0; step < 4; step++) {
        cr_assert_eq(mdf_evaluate(lowered.state, NAN, &lowered.error), MDF_OK, "%s", lowered.error.message);
    }
    mdf_text_init(&text, &memory);
    mdf_lowered_print(&text, fast_of(&lowered, 0)->lowered, &names);
    cr_expect_eq(count_words(text.bytes, "input "), 1, "%s", text.bytes);  /* s */
    cr_expect_eq(count_words(text.bytes, " or "), 2, "%s", text.bytes);    /* p, of both conditions */
    cr_expect_eq(count_words(text.bytes, "output "), 3, "%s", text.bytes); /* s, p, the output port */
    mdf_text_release(&text);
    engine_end(&lowered);
}

/* A product of a matrix of constants and a vector, whole numbers or reals. */
#define MEETS(first, product, matrix)                                                                                           \
    PARAMETER("\"s\": {\"value\": \"(3 * s + 1) % 7 - 2\", \"default_initial_value\": " first "}, \"w\": {\"value\": \"" matrix \
              "\"}, \"p\": {\"value\": \"" product "\"}")
#define WHOLE "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"
#define REAL \
    "\"numpy.where(numpy.arange(12) == 3, numpy.inf, numpy.where(numpy.arange(12) == 7, numpy.nan, numpy.arange(12) * 0.5))\""

static const struct {
    const char *model;
    bool is_sparse;
} multiplied[] = {{MEETS(WHOLE, "w @ s", "-0.5 * numpy.eye(12)"), true},
                  {MEETS(WHOLE, "s @ w", "numpy.eye(12) + 0.25 * numpy.eye(12, k=-1)"), true},
                  {MEETS(WHOLE, "w @ s", "numpy.roll(numpy.eye(12), 3) - 0.1 * numpy.eye(12, k=2)"), true},
                  {MEETS(WHOLE, "w @ s", "0.1 * numpy.eye(12) + 0.7 * numpy.eye(12, k=1) - 1.3 * numpy.eye(12, k=4)"), true},
                  {MEETS(WHOLE, "numpy.float32(w) @ (s > 2)", "numpy.eye(5, 12) * 0.3"), true},
                  {MEETS(WHOLE, "w @ s", "numpy.zeros((4, 12))"), true},
                  /* 0 times what is infinite or NaN is NaN; too much */
                  {MEETS(WHOLE, "w @ s", "numpy.eye(12) * numpy.inf"), false},
                  {MEETS(REAL, "w @ s", "numpy.eye(12)"), false},
                  {MEETS(WHOLE, "w @ s", "numpy.eye(12) + numpy.eye(12, k=1) + numpy.eye(12, k=2) + numpy.eye(12, k=3)"), false}};

/* Of constants what is 0 is not multiplied, where that changes no bit. */
Test(lower, sparse_products)
{
    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof multiplied / sizeof *multiplied; i++) {
        const char *why = compare(multiplied[i].model, NULL, 9, NAN);
        const struct mdf_lowered_names names = {.write = write_no_name};
        struct engine lowered;
        struct mdf_text text;

        cr_assert_null(why, "%s: %s", multiplied[i].model, why);
        begin(&lowered, multiplied[i].model, NULL, false);
        for (int step = 0; step < 4; step++) {
            cr_assert_eq(mdf_evaluate(lowered.state, NAN, &lowered.error), MDF_OK, "%s", lowered.error.message);
        }
        mdf_text_init(&text, &memory);
        mdf_lowered_print(&text, fast_of(&lowered, 0)->lowered, &names);
        cr_expect_eq(strstr(text.bytes, "= call ") == NULL && strstr(text.bytes, "= sum ") == NULL,
                     multiplied[i].is_sparse && mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s\n%s", multiplied[i].model,
                     text.bytes);
        mdf_text_release(&text);
        engine_end(&lowered);
    }
}

/* A Loop that loads an element of its state, at its number plus one constant, and puts what comes of that at its number plus
 * another one; then, perhaps, something else. */
#define RECURRENCE(runs, load, put, more, next)                                                                                \
    NODE("\"parameters\": {\"p\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": " runs                                      \
         ", \"v_initial\": [\"numpy.sqrt(numpy.arange(12.0))\"], \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"i\", "       \
         "\"c\", \"x\"], \"outputs\": [\"c\", \"y\", \"o\"]}, \"nodes\": {\"k\": {\"input_ports\": {\"i\": {}, \"x\": "        \
         "{}}, \"functions\": {\"n\": {\"function\": \"onnx::Reshape\", \"args\": {\"data\": \"i\", \"shape\": "               \
         "\"[1]\"}}" CALL("a", "Add", "\"A\": \"n\", \"B\": \"[" load "]\"")                                                   \
             CALL("b", "Add", "\"A\": \"n\", \"B\": \"[" put "]\"") CALL("l", "Gather", "\"data\": \"x\", \"indices\": \"a\"") \
                 CALL("h", "Mul", "\"A\": \"l\", \"B\": 0.5") CALL("v", "Add", "\"A\": \"h\", \"B\": 1.25")                    \
                     CALL("z", "ScatterElements", "\"data\": \"x\", \"indices\": \"b\", \"updates\": \"v\"") more              \
         "}, \"output_ports\": {\"y\": {\"value\": \"" next "\"}, \"o\": {\"value\": \"l\"}}}}}}}}}, \"output_ports\": "       \
         "{\"o\": {\"value\": \"p[0]\"}, \"r\": {\"value\": \"p[1]\"}}")
#define PUT_AT(at)                                        \
    CALL("d", "Add", "\"A\": \"n\", \"B\": \"[" at "]\"") \
    CALL("e", "ScatterElements", "\"data\": \"z\", \"indices\": \"d\", \"updates\": \"h\"")
#define PUT_IN_THE_FIFTH CALL("e", "ScatterElements", "\"data\": \"z\", \"indices\": \"[5]\", \"updates\": \"h\"")

static const struct {
    const char *model;
    size_t n_states; /* 0: not asked */
} recurrences[] = {{RECURRENCE("11", "0", "1", "", "z"), 2},
                   {RECURRENCE("12", "-1", "0", "", "z"), 2}, /* the first run takes the last element */
                   {RECURRENCE("9", "2", "3", "", "z"), 2},
                   {RECURRENCE("11", "0", "1", PUT_AT("-1"), "e"), 2},
                   {RECURRENCE("10", "0", "1", PUT_AT("2"), "e"), 2},
                   {RECURRENCE("11", "0", "1", PUT_AT("1"), "e"), 2}, /* the later one counts */
                   {RECURRENCE("10", "0", "2", "", "z"), 1},
                   {RECURRENCE("11", "1", "0", "", "z"), 1},
                   {RECURRENCE("11", "0", "1", PUT_IN_THE_FIFTH, "e"), 1},
                   {RECURRENCE("1", "0", "1", PUT_AT("-11"), "e"), 0}, /* the same element, from the end */
                   {RECURRENCE("12", "0", "1", "", "z"), 0},           /* past the end */
                   {RECURRENCE("3", "0", "-11", PUT_AT("1"), "e"), 2},
                   {RECURRENCE("0", "0", "1", "", "z"), 0}};

Test(lower, elements_that_the_next_run_loads)
{
    const struct mdf_lowered_names names = {.write = write_no_name};
    struct engine lowered;
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof recurrences / sizeof *recurrences; i++) {
        const char *why = compare(recurrences[i].model, NULL, 9, NAN);

        if (recurrences[i].n_states == 0 || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
            continue;
        }
        cr_assert_null(why, "%s: %s", recurrences[i].model, why);
        begin(&lowered, recurrences[i].model, NULL, false);
        for (int step = 0; step < 4; step++) {
            cr_assert_eq(mdf_evaluate(lowered.state, NAN, &lowered.error), MDF_OK, "%s", lowered.error.message);
        }
        mdf_text_init(&text, &memory);
        mdf_lowered_print(&text, fast_of(&lowered, 0)->lowered, &names);
        cr_expect_eq(count_words(text.bytes, " state "), recurrences[i].n_states, "%s\n%s", recurrences[i].model, text.bytes);
        mdf_text_release(&text);
        engine_end(&lowered);
    }
}

Test(lower, nodes_compute_what_their_instructions_say)
{
    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = compare(cases[i].model, NULL, 60, 0.01);

        cr_expect(cases[i].is_lowered == (why == NULL), "%s: %s", cases[i].model, why != NULL ? why : "lowered");
    }
}

/* States of the only loop. */
static size_t count_states(const struct mdf_lowered *lowered)
{
    size_t i;

    for (i = 0; i < lowered->region.n_ops && lowered->region.ops[i].code != MDF_LOWERED_LOOP; i++) {
    }
    cr_assert_lt(i, lowered->region.n_ops);
    return lowered->region.ops[i].of.loop->n_states;
}

/* A state that a Loop's body hands on as it is, through Identity or not, is not carried, unless its type changes. */
Test(lower, states_that_stay)
{
#define STAYS(initial, next)                                                                                        \
    NODE("\"parameters\": {\"d\": {\"value\": \"d * 0.5\", \"default_initial_value\": 4.0}, \"p\": {\"function\": " \
         "\"onnx::Loop\", \"args\": {\"M\": 9, \"v_initial\": \"[" initial                                          \
         ", d + numpy.array([0.5, 1.5])]\", \"body\": {\"b\": "                                                     \
         "{\"metadata\": {\"inputs\": [\"i\", \"c\", \"u\", \"s\"], \"outputs\": [\"c\", \"v\", \"t\"]}, "          \
         "\"nodes\": {\"k\": {\"input_ports\": {\"s\": {}, \"u\": {}}, \"parameters\": {\"w\": " next "}, "         \
         "\"output_ports\": {\"v\": {\"value\": \"w\"}, \"t\": {\"value\": \"s * u\"}}}}}}}}}, "                    \
         "\"output_ports\": {\"o\": {\"value\": \"p[0]\"}, \"r\": {\"value\": \"p[1]\"}}")
    static const struct {
        const char *model;
        size_t n_states;
    } staying[] = {{STAYS("d * numpy.array([1.5, 2.5])", "{\"function\": \"onnx::Identity\", \"args\": {\"input\": \"u\"}}"), 1},
                   {STAYS("d * numpy.array([1.5, 2.5])", "{\"value\": \"u\"}"), 1},
                   {STAYS("d * numpy.array([1.5, 2.5])", "{\"value\": \"u + 0.5\"}"), 2}};
    struct engine lowered;
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof staying / sizeof *staying; i++) {
        cr_expect_null(compare(staying[i].model, NULL, 20, 0.01), "%s", staying[i].model);
        begin(&lowered, staying[i].model, NULL, false);
        mdf_text_init(&text, &memory);
        for (int j = 0; j < 20; j++) {
            step(&lowered, 0.01, &text);
        }
        cr_assert_not_null(fast_of(&lowered, 0)->lowered);
        cr_expect_eq(count_states(fast_of(&lowered, 0)->lowered), staying[i].n_states, "%s", staying[i].model);
        mdf_text_release(&text);
        engine_end(&lowered);
    }
}

/* A model gives the same either way for these inputs, one after the other: values, or the same errors. */
static void expect_same_steps(const char *model, const char *const *inputs, size_t n)
{
    struct engine plain, lowered;
    struct mdf_text want, got;

    mdf_memory_init(&memory, NULL, 0);
    begin(&plain, model, NULL, true);
    begin(&lowered, model, NULL, false);
    mdf_text_init(&want, &memory);
    mdf_text_init(&got, &memory);
    for (size_t i = 0; i < n; i++) {
        mdf_set_input_json(plain.state, "x", inputs[i], NULL);
        mdf_set_input_json(lowered.state, "x", inputs[i], NULL);
        step(&plain, NAN, &want);
        step(&lowered, NAN, &got);
        cr_expect_str_eq(got.bytes, want.bytes, "%s: %s", model, inputs[i]);
    }
    mdf_text_release(&want);
    mdf_text_release(&got);
    engine_end(&plain);
    engine_end(&lowered);
}

/* Inputs of other types and shapes. */
Test(lower, other_forms_are_lowered_anew_or_given_up)
{
    static const char *const inputs[] = {
        "1",    "2",  "3",     "0.5", "0.25", "[1.5, 2.5]", "[1, 2]", "[[1.0], [2.0]]", "4", "5", "9223372036854775807",
        "true", "[]", "[0.5]", "6.0"};

    expect_same_steps(NODE("\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {\"value\": \"x * 2 + 1\"}}, \"output_ports\": "
                           "{\"o\": {\"value\": \"p\"}}"),
                      inputs, sizeof inputs / sizeof *inputs);
}

/* A kernel that runs one loop, on its inputs with other axes: an operand that is a column is no row of as many elements, also
 * where the first results are the same either way. */
Test(lower, operands_with_other_axes_than_the_inputs)
{
    static const char *const inputs[] = {"[1.0, 1.0, 1.0]", "[1.0, 1.0, 1.0]", "[1.0, 1.0, 1.0]", "[1.5, 2.5, 4.5]",
                                         "[-1.0, 0.0, 8.0]"};

    expect_same_steps(
        NODE("\"input_ports\": {\"x\": {\"shape\": [3], \"type\": \"float64\"}, "
             "\"y\": {\"shape\": [3], \"type\": \"float64\", \"default_value\": [0.5, 2.0, 3.25]}}, "
             "\"parameters\": {\"p\": {\"value\": \"numpy.outer(x, y)\"}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}"),
        inputs, sizeof inputs / sizeof *inputs);
}

/* Sequences have no items of bfloat16: what a branch is refused for is so when it is taken at last, also if nobody reads it. */
Test(lower, types_are_looked_at_before_a_branch_is_taken)
{
    static const char *const calls[] = {"\"onnx::SequenceConstruct\", \"args\": {\"inputs\": [\"b\"]}",
                                        "\"onnx::SplitToSequence\", \"args\": {\"input\": \"b\"}"},
                             *const inputs[] = {"0", "0", "0", "0", "1", "1", "1", "0"};
    static char model[1024];

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(
            model, sizeof model,
            NODE("\"input_ports\": {\"x\": {}}, \"parameters\": {\"b\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": "
                 "[0.5, 1.5], \"to\": 16}}, \"p\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"x > 0\", "
                 "\"then_branch\": {\"nodes\": {\"t\": {\"parameters\": {\"q\": {\"function\": %s}}, "
                 "\"output_ports\": {\"y\": {\"value\": 1.0}}}}}, \"else_branch\": {\"nodes\": {\"t\": {\"output_ports\": "
                 "{\"y\": {\"value\": 2.0}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}"),
            calls[i]);
        expect_same_steps(model, inputs, sizeof inputs / sizeof *inputs);
    }
}

/* The condition that a body gets is a truth of that type, also in a run before the loop: no number of a type becomes it. */
Test(lower, bodies_get_a_typed_condition)
{
    static const char *const inputs[] = {"0", "0", "0", "1", "0"};

    expect_same_steps(
        NODE("\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 2, "
             "\"cond\": true, \"v_initial\": [\"numpy.int64(x)\"], \"body\": {\"metadata\": {\"inputs\": [\"i\", \"g\", "
             "\"s\"], \"outputs\": [\"c\", \"d\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"g\": {}, \"s\": {}}, "
             "\"output_ports\": {\"c\": {\"value\": \"s < 0.5\"}, \"d\": {\"value\": \"g\"}}}}}}}}, \"output_ports\": "
             "{\"o\": {\"value\": \"p\"}}"),
        inputs, sizeof inputs / sizeof *inputs);
}

/* Products of all elements: those of a number are a number, those of an array have twice its axes, in each run of the body. */
#define PRODUCTS                                                                                                               \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, "         \
    "\"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 7, \"v_initial\": \"[x]\", \"body\": \"b\"}}}, " \
    "\"output_ports\": {\"o\": {\"value\": \"l\"}}}}}, "                                                                       \
    "\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"n\": "              \
    "{\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, "                                                                    \
    "\"output_ports\": {\"t\": {\"value\": \"numpy.tensordot(s, s, 0)\"}}}}}}}}"

static const struct mdf_fast *fast_of_loop(const struct engine *engine)
{
    const struct mdf_frame *frame = engine->state->frame;
    size_t i = 0;

    while (i + 1 < mdf_frame_code(frame)->n_calls && mdf_frame_kept(frame, i) == NULL) {
        i++;
    }
    cr_assert_not_null(mdf_frame_kept(frame, i));
    return mdf_frame_kept(frame, i);
}

/* A life of a state may bring what can be lowered, where earlier ones did not; but not each life pays for a try in vain. */
Test(lower, loops_refused_in_all_lives_are_tried_less_often)
{
    enum { N_LIVES = 200, MOST_TRIES = 8 };
    struct engine plain, lowered;
    struct mdf_text want, got;

    mdf_memory_init(&memory, NULL, 0);
    begin(&plain, PRODUCTS, NULL, true);
    begin(&lowered, PRODUCTS, NULL, false);
    mdf_text_init(&want, &memory);
    mdf_text_init(&got, &memory);
    for (int i = 0; i < 2 * N_LIVES; i++) {
        const char *x = i < N_LIVES ? "[0.5]" : "0.5";

        cr_assert_eq(mdf_state_reset(plain.state, 0, NULL), MDF_OK);
        cr_assert_eq(mdf_state_reset(lowered.state, 0, NULL), MDF_OK);
        mdf_set_input_json(plain.state, "x", x, NULL);
        mdf_set_input_json(lowered.state, "x", x, NULL);
        step(&plain, NAN, &want);
        step(&lowered, NAN, &got);
        cr_expect_str_eq(got.bytes, want.bytes, "life %d", i);
        if (i == N_LIVES - 1) {
            cr_expect_null(fast_of_loop(&lowered)->lowered);
            cr_expect(fast_of_loop(&lowered)->n_refused <= MOST_TRIES, "%u tries", fast_of_loop(&lowered)->n_refused);
        }
    }
    cr_expect_not_null(fast_of_loop(&lowered)->lowered, "it is tried again after some time");
    mdf_text_release(&want);
    mdf_text_release(&got);
    engine_end(&plain);
    engine_end(&lowered);
}

/* ------------------------------------------------------------------ large results */

/* Rows of 500 numbers, 20 times, from a scalar that each evaluation makes anew. */
#define ROWS                                                                                                               \
    NODE("\"parameters\": {\"p\": {\"value\": \"p + 1.0\", \"default_initial_value\": 0.5}, \"xs\": {\"value\": "          \
         "\"numpy.ones((20, 500)) * p\"}, \"r\": {\"function\": \"onnx::Scan\", \"args\": "                                \
         "{\"initial_state_and_scan_inputs\": \"[numpy.zeros(500), xs]\", \"num_scan_inputs\": 1, \"body\": {\"b\": "      \
         "{\"metadata\": {\"inputs\": [\"s\", \"x\"], \"outputs\": [\"n.o\", \"n.q\"]}, \"nodes\": {\"n\": "               \
         "{\"input_ports\": {\"s\": {}, \"x\": {}}, \"output_ports\": {\"o\": {\"value\": \"s + x\"}, \"q\": {\"value\": " \
         "\"s * x\"}}}}}}}}}, \"output_ports\": {\"last\": {\"value\": \"r\"}, \"all\": {\"value\": \"r\"}}")

#define TANH_OF(n, more)                                                                                                     \
    NODE("\"input_ports\": {\"x\": {\"shape\": [" n "]}}, \"parameters\": {\"p\": {\"function\": \"onnx::Tanh\", \"args\": " \
         "{\"input\": \"x" more "\"}}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}")

/* A single function of a long array is left to its kernel, which has threads; of a short one it is not. */
Test(lower, single_functions_of_long_arrays_are_not_lowered)
{
    mdf_memory_init(&memory, NULL, 0);
    cr_expect_null(compare(TANH_OF("1000", ""), NULL, 4, NAN));
    cr_expect_not_null(compare(TANH_OF("32768", ""), NULL, 4, NAN));
    cr_expect_null(compare(TANH_OF("32768", " + 0.5"), NULL, 4, NAN));
}

/* onnx::Add of a matrix and a row, in an element type by its number in ONNX. */
#define BROADCAST_IN(type)                                                                                                       \
    NODE("\"input_ports\": {\"x\": {\"shape\": [20, 30]}, \"y\": {\"shape\": [30]}}, \"parameters\": {"                          \
         "\"a\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": \"x\", \"to\": " type "}}, "                               \
         "\"b\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": \"y\", \"to\": " type "}}, "                               \
         "\"s\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"a\", \"B\": \"b\"}}, "                                        \
         "\"t\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"s\", \"B\": \"a\"}}}, \"output_ports\": {\"o\": {\"value\": " \
         "\"t\"}}")

/* The lowered form of the only node of a model that has become stable; engine_end lets go of it. */
static const struct mdf_lowered *lower_node(struct engine *engine, const char *model)
{
    const struct mdf_lowered *lowered;

    begin(engine, model, NULL, false);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(mdf_evaluate(engine->state, NAN, &engine->error), MDF_OK, "%s", engine->error.message);
    }
    lowered = fast_of(engine, 0)->lowered;
    cr_assert_not_null(lowered);
    return lowered;
}

static bool has_nest_over_axes(const char *model)
{
    struct engine engine;
    const struct mdf_lowered *lowered = lower_node(&engine, model);
    bool has = false;

    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        has = has || (lowered->region.ops[i].code == MDF_LOWERED_NEST && lowered->region.ops[i].of.nest->n_axes > 1);
    }
    engine_end(&engine);
    return has;
}

/* A call that repeats an operand is a nest where machine code has vectors of its type; else its kernel is faster. */
Test(lower, nests_are_made_where_there_are_vectors)
{
    mdf_memory_init(&memory, NULL, 0);
    cr_expect_eq(has_nest_over_axes(BROADCAST_IN("1")), mdf_machine_has_vectors(MDF_DTYPE_FLOAT32));
    cr_expect_eq(has_nest_over_axes(BROADCAST_IN("2")), mdf_machine_has_vectors(MDF_DTYPE_UINT8));
    cr_expect_null(compare(BROADCAST_IN("2"), NULL, 4, NAN));
}

#define ONE_BY_ONE(first)                                                          \
    PARAMETER("\"s\": {\"value\": \"-0.5 * s\", \"default_initial_value\": " first \
              "}, \"w\": {\"value\": [[0.25]]}, \"p\": {\"value\": \"s @ w\"}")

/* The projections between mechanisms of one unit: a call of the kernel would take many times what is computed. */
Test(lower, a_product_of_two_numbers_is_a_nest)
{
    static const char *const models[] = {ONE_BY_ONE("[8.0]"), ONE_BY_ONE("[[-0.0], [3.0]]")};

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct engine engine;
        const struct mdf_lowered *lowered = lower_node(&engine, models[i]);

        cr_expect_null(compare(models[i], NULL, 9, NAN));
        for (size_t k = 0; k < lowered->region.n_ops && mdf_machine_has_vectors(MDF_DTYPE_FLOAT64); k++) {
            cr_expect_neq(lowered->region.ops[k].code, MDF_LOWERED_CALL);
        }
        engine_end(&engine);
    }
}

/* A result that is large is made where the one before was: a state does not hold two of them. */
Test(lower, large_results_are_made_where_they_were)
{
    struct engine lowered;
    mdf_tensor before, after;

    mdf_memory_init(&memory, NULL, 0);
    cr_expect_null(compare(ROWS, NULL, 9, NAN));
    begin(&lowered, ROWS, NULL, false);
    for (int i = 0; i < 9; i++) {
        after = before = (mdf_tensor){0};
        mdf_value_tensor(mdf_output(lowered.state, "n", "all"), &before);
        cr_assert_eq(mdf_evaluate(lowered.state, NAN, &lowered.error), MDF_OK, "%s", lowered.error.message);
        cr_assert(mdf_value_tensor(mdf_output(lowered.state, "n", "all"), &after));
        cr_expect(i < 4 || after.data == before.data, "evaluation %d", i);
    }
    engine_end(&lowered);
}

/* ------------------------------------------------------------------ examples */

static void compare_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    size_t n = 0;

    cr_assert_not_null(directory, "%s", folder);
    while ((entry = readdir(directory)) != NULL) {
        const char *suffix = strrchr(entry->d_name, '.');
        char path[512];

        if (suffix != NULL && (strcmp(suffix, ".json") == 0 || strcmp(suffix, ".yaml") == 0)) {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            compare(NULL, path, 8, 0.01);
            n++;
        }
    }
    closedir(directory);
    cr_expect(n > 5, "%zu examples in %s", n, folder);
}

Test(lower, examples_give_the_same_either_way)
{
    mdf_memory_init(&memory, NULL, 0);
    compare_folder("examples");
    compare_folder("examples/control_flow");
}

/* `v` becomes a power of itself, and does not grow or vanish. */
#define POWER_OF(initial, exponent)                                                                                 \
    NODE("\"parameters\": {\"v\": {\"default_initial_value\": " initial ", \"value\": \"0.9 - 0.3 * v ** " exponent \
         "\"}}, \"output_ports\": {\"o\": {\"value\": \"v\"}}")

/* Whether something but a code of the lowered form computes elements. */
static bool calls_functions(const char *model)
{
    struct engine engine;
    const struct mdf_lowered *lowered = lower_node(&engine, model);
    bool calls = false;

    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        const struct mdf_lowered_op *op = &lowered->region.ops[i];

        calls = calls || op->code == MDF_LOWERED_FUNCTION || op->code == MDF_LOWERED_ELEMENTS || op->code == MDF_LOWERED_CALL;
        for (size_t k = 0; op->code == MDF_LOWERED_NEST && k < op->of.nest->n_steps; k++) {
            calls =
                calls || (op->of.nest->steps[k].kind == MDF_NEST_ELEMENT && op->of.nest->steps[k].code == MDF_LOWERED_ELEMENTS);
        }
    }
    engine_end(&engine);
    return calls;
}

/* Of numbers and arrays; a number's that is too large is an error as in Python. */
/* An index that is loaded at another one, which is loaded at a third: each may count from the end, and is looked at; past the end
 * both ways say so. */
#define CHAIN(table)                                                                                                           \
    NODE("\"parameters\": {\"p\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": \"numpy.array(" table                   \
         ")\", \"to\": 7}}, "                                                                                                  \
         "\"f\": {\"function\": \"onnx::Cast\", \"args\": {\"input\": \"numpy.array(2)\", \"to\": 7}}, \"l\": {\"function\": " \
         "\"onnx::Loop\", \"args\": {\"M\": 40, \"v_initial\": \"[f]\", \"body\": {\"nodes\": {\"b\": {\"input_ports\": "      \
         "{\"i\": {}, "                                                                                                        \
         "\"c\": {}, \"x\": {}}, \"functions\": {\"y\": {\"function\": \"onnx::Gather\", \"args\": {\"data\": \"p\", "         \
         "\"indices\": \"x\"}}, \"z\": {\"function\": \"onnx::Gather\", \"args\": {\"data\": \"p\", \"indices\": \"y\"}}}, "   \
         "\"output_ports\": {\"d\": {\"value\": \"c\"}, \"t\": {\"value\": \"z\"}, \"s\": {\"value\": \"y\"}}}}}}}}, "         \
         "\"output_ports\": {\"o\": {\"value\": \"l[0]\"}, \"s\": {\"value\": \"l[1]\"}}")

Test(lower, indices_that_are_loaded_at_indices)
{
    mdf_memory_init(&memory, NULL, 0);
    cr_expect_null(compare(CHAIN("[3, 5, -1, 1, 0, -6, 4]"), NULL, 9, NAN));
    cr_expect_null(compare(CHAIN("[1, 2, 0]"), NULL, 9, NAN));
    compare(CHAIN("[1, 7, 1, 0, 3, 2, 6]"), NULL, 9, NAN);
    compare(CHAIN("[1, -8, 1, 0, 3, 2, 6]"), NULL, 9, NAN);
}

Test(lower, powers_to_2_and_3_are_products)
{
    mdf_memory_init(&memory, NULL, 0);
    for (int i = 0; i < 2; i++) {
        cr_expect_not(calls_functions(i == 0 ? POWER_OF("0.5", "3") : POWER_OF("[0.5, 0.25, -0.5]", "3")));
        cr_expect_not(calls_functions(i == 0 ? POWER_OF("0.5", "2") : POWER_OF("[0.5, 0.25, -0.5]", "2")));
        cr_expect(calls_functions(i == 0 ? POWER_OF("0.5", "4") : POWER_OF("[0.5, 0.25, -0.5]", "4")));
        cr_expect_null(compare(i == 0 ? POWER_OF("0.5", "3") : POWER_OF("[0.5, 0.25, -0.5]", "3"), NULL, 60, NAN));
    }
    compare(NODE("\"parameters\": {\"v\": {\"default_initial_value\": 1.5, \"value\": \"v ** 3\"}}, \"output_ports\": "
                 "{\"o\": {\"value\": \"v\"}}"),
            NULL, 12, NAN);
}

#define FOLD_OF_ONE(function, one)                                                                                            \
    NODE("\"parameters\": {\"x\": {\"value\": \"0.75 * x + 1\", \"default_initial_value\": -2.0}, \"a\": {\"function\": "     \
         "\"onnx::" function "\", \"args\": {\"data_0\": \"[" one "]\"}}, \"p\": {\"value\": \"a * 3\"}}, \"output_ports\": " \
         "{\"a\": {\"value\": \"a\"}, \"p\": {\"value\": \"p\"}}")

/* What is folded over its operands is the operand itself where there is one, of any type and shape. */
Test(lower, a_fold_over_one_operand)
{
#define FOLDS_OF_ONE(one) FOLD_OF_ONE("Sum", one), FOLD_OF_ONE("Mean", one), FOLD_OF_ONE("Max", one), FOLD_OF_ONE("Min", one)
    static const char *const models[] = {FOLDS_OF_ONE("x"), FOLDS_OF_ONE("numpy.float32(x)"), FOLDS_OF_ONE("x * numpy.arange(3)"),
                                         FOLD_OF_ONE("Max", "int(4 * x)"), FOLD_OF_ONE("Min", "int(4 * x)")};
    size_t i;

    mdf_memory_init(&memory, NULL, 0);
    for (i = 0; i < sizeof models / sizeof *models; i++) {
        cr_expect_null(compare(models[i], NULL, 9, NAN), "%s", models[i]);
    }
}

/* A truth that stands many times in what is summed counts as often: the count that takes the sum's place goes along the same
 * axes. */
Test(lower, a_count_of_one_truth)
{
    static const char model[] = NODE(
        "\"parameters\": {\"x\": {\"value\": [true], \"metadata\": {\"type\": \"bool\"}}, \"p\": {\"function\": \"onnx::Loop\", "
        "\"args\": {\"M\": 3, \"v_initial\": \"[x]\", \"body\": {\"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], "
        "\"outputs\": [\"c\", \"t\", \"o\"]}, \"nodes\": {\"k\": {\"input_ports\": {\"i\": {}, \"s\": {}}, \"parameters\": "
        "{\"l\": "
        "{\"function\": \"onnx::Tile\", \"args\": {\"input\": \"s\", \"repeats\": [4]}}, \"f\": {\"function\": \"onnx::Cast\", "
        "\"args\": {\"input\": \"l\", \"to\": 1}}, \"r\": {\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"f\", "
        "\"keepdims\": 0}}}, \"output_ports\": {\"t\": {\"value\": \"numpy.logical_not(s)\"}, \"o\": {\"value\": "
        "\"r\"}}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"p[1]\"}, \"r\": {\"value\": \"p[0]\"}}");

    mdf_memory_init(&memory, NULL, 0);
    cr_expect_null(compare(model, NULL, 4, NAN));
}
