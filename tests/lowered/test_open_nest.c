/* test_open_nest.c - what grows in a loop is gone through by nests with an open axis (mdf_c/lowered/nest.h): from one row to more
 * than a block of a sum, with the bits of the plain way. */
#include "mdf_c/machine/emit.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 14 };

/* A state of rows of 5 of an element type, 600 times longer by the tangent of what has been made of it, as `functions` say. */
#define MODEL                                                                                                                   \
    "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"f\": {\"function\": " \
    "\"onnx::Cast\", \"args\": {\"input\": \"numpy.array([[0.5, -1.25, 2.0, 0.0, -0.75]])\", \"to\": %d}}, \"q\": "             \
    "{\"function\": \"onnx::Cast\", \"args\": {\"input\": \"numpy.array([0.3, -0.7, 1.1, 0.2, -1.6])\", \"to\": %d}}, "         \
    "\"l\": {\"function\": "                                                                                                    \
    "\"onnx::Loop\", \"args\": {\"M\": 600, \"v_initial\": \"[f]\", \"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"i\": "   \
    "{}, \"c\": {}, \"s\": {}}, \"functions\": {%s, \"w\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"r\"}}, "      \
    "\"e\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"w\", \"B\": \"q\"}}, \"u\": {\"function\": \"onnx::Reshape\", "   \
    "\"args\": {\"data\": \"e\", \"shape\": \"numpy.array([1, 5])\"}}, \"k\": {\"function\": \"onnx::Concat\", \"args\": "      \
    "{\"inputs\": \"[s, u]\", \"axis\": 0}}}, \"output_ports\": {\"d\": {\"value\": \"c\"}, \"t\": {\"value\": \"k\"}}}}}}}}, " \
    "\"output_ports\": {\"o\": {\"value\": \"l\"}}}}}}}}"
#define CALL(name, function, arguments) "\"" name "\": {\"function\": \"onnx::" function "\", \"args\": {" arguments "}}"
#define REDUCE(name, function, data, axes) \
    CALL(name, function, "\"data\": \"" data "\", \"axes\": \"numpy.array([" axes "])\", \"keepdims\": 1")
#define BINARY(name, function, a, b) CALL(name, function, "\"A\": \"" a "\", \"B\": \"" b "\"")

struct growth {
    const char *functions; /* that make r, of one element or a row, from s */
    bool calls;            /* a kernel is left among them */
};

static char how[TEXT_SIZE]; /* what explain says of the last run */

/* Some evaluations, by the end of which all is lowered that can be; the plain way needs one. The rows that the state has, then;
 * whether all of the loop is lowered. */
static const void *run(struct engine *engine, const char *model, bool plain, size_t *n_bytes, bool *is_lowered)
{
    const mdf_options options = {.plain = plain};
    mdf_tensor rows;

    cr_assert(engine_begin(engine, model, &options), "%s: %s", model, engine->error.message);
    cr_assert_eq(engine_evaluate(engine, plain ? 1 : 4), MDF_OK, "%s: %s", model, engine->error.message);
    mdf_explain(engine->state, how, sizeof how);
    *is_lowered = strstr(how, "calls kernels") == NULL && strstr(how, "bodies step by step") == NULL;
    cr_assert(mdf_value_tensor(mdf_output(engine->state, "n", "o"), &rows));
    cr_assert(rows.rank == 2 && rows.shape[0] == 601 && rows.shape[1] == 5, "%s", model);
    *n_bytes = 601 * 5 * (rows.dtype == MDF_DTYPE_FLOAT32 ? sizeof(float) : sizeof(double));
    return rows.data;
}

static void expect_same(const struct growth *growth, int type)
{
    static char model[TEXT_SIZE];
    struct engine plain, lowered;
    bool is_plain_lowered, is_lowered;
    size_t n, n_lowered;
    const void *expected, *rows;

    cr_assert_lt(snprintf(model, sizeof model, MODEL, type, type, growth->functions), TEXT_SIZE);
    expected = run(&plain, model, true, &n, &is_plain_lowered);
    rows = run(&lowered, model, false, &n_lowered, &is_lowered);
    cr_expect(n == n_lowered && memcmp(expected, rows, n) == 0, "%s", growth->functions);
    /* without vectors kernels are as fast */
    cr_expect_eq(is_lowered, !growth->calls && mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s: %s", growth->functions, how);
    engine_end(&plain);
    engine_end(&lowered);
}

Test(open_nest, same_bits)
{
    static const struct growth cases[] = {
        {REDUCE("r", "ReduceSum", "s", "0"), false},
        {REDUCE("r", "ReduceSumSquare", "s", "0, 1"), true},
        {BINARY("x", "Sub", "s", "q") "," REDUCE("d", "ReduceSumSquare", "x", "1") "," REDUCE("r", "ReduceMin", "d", "0"), false},
        {BINARY("x", "Mul", "s", "q") "," REDUCE("d", "ReduceSum", "x", "1") "," REDUCE("r", "ReduceL2", "d", "0"), false},
        {BINARY("x", "Mul", "s", "q") "," REDUCE("d", "ReduceMax", "x", "1") "," REDUCE("r", "ReduceL1", "d", "0, 1"), false},
        {REDUCE("d", "ReduceMax", "s", "0") "," BINARY("x", "Sub", "s", "d") "," REDUCE("r", "ReduceProd", "x", "0"), false},
        {CALL("x", "Transpose", "\"data\": \"s\", \"perm\": [1, 0]") "," BINARY("d", "MatMul", "q",
                                                                                "x") "," REDUCE("r", "ReduceMin", "d", "0"),
         false},
        {BINARY("x", "MatMul", "s", "q") "," REDUCE("r", "ReduceSum", "x", "0"), false},
        {REDUCE("r", "ReduceMean", "s", "0"), true}, /* divides by what is known only then */
        {CALL("x", "Softmax", "\"input\": \"s\", \"axis\": 0") "," REDUCE("r", "ReduceSumSquare", "x", "0"), true}};
    size_t i;
    int type;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (type = 1; type <= 11; type += 10) { /* float32, float64 */
            expect_same(&cases[i], type);
        }
    }
}

/* A state that grows in a loop that a condition ends, past the room that it had: two rows in each run, whose sums along rows read
 * the state by columns, before and behind what is put there. The bits are those of the plain way. */
#define CONCAT(name, inputs) CALL(name, "Concat", "\"inputs\": \"[" inputs "]\", \"axis\": 0")
#define NEAREST \
    BINARY("x", "Sub", "s", "p") "," REDUCE("d", "ReduceSumSquare", "x", "1") "," REDUCE("m", "ReduceMin", "d", "0, 1")
#define NEW_ROWS BINARY("y", "Mul", "p", "m") "," CALL("t", "Sin", "\"input\": \"y\"") "," BINARY("a", "Add", "t", "q")
#define LONGER CONCAT("u", "t, a") "," CONCAT("k", "s, u")
#define LARGEST BINARY("z", "Mul", "k", "a") "," REDUCE("e", "ReduceSum", "z", "1") "," REDUCE("o", "ReduceMax", "e", "0")
#define ENDED_LOOP                                                                                                               \
    "\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"cond\": true, \"v_initial\": \"[f, q]\", \"body\": {\"nodes\": {\"b\": " \
    "{\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}, \"p\": {}}, \"functions\": {" NEAREST "," NEW_ROWS "," LONGER           \
    "," LARGEST                                                                                                                  \
    "}, \"output_ports\": {\"g\": {\"value\": \"(i < %d) == (m[0, 0] >= 0)\"}, \"k\": {\"value\": \"k\"}, \"a\": {\"value\": "   \
    "\"a\"}, \"e\": {\"value\": \"o\"}}}}}}}"
#define ROWS_OF(name, rows) CALL(name, "Cast", "\"input\": \"numpy.array([" rows "])\", \"to\": %d")
#define ENDED                                                                                                                    \
    "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {" ROWS_OF(               \
        "f", "[%s], [%s]") "," ROWS_OF("q", "[%s]") "," ENDED_LOOP "}, \"output_ports\": {\"k\": {\"value\": \"l[0]\"}, \"e\": " \
                                                    "{\"value\": \"l[2]\"}}}}}}}}"

static const char *run_ended(struct engine *engine, bool plain, int type, int n, const char *const *rows, const char *port,
                             mdf_tensor *value)
{
    const mdf_options options = {.plain = plain};
    static char model[TEXT_SIZE];

    cr_assert_lt(snprintf(model, sizeof model, ENDED, rows[0], rows[1], type, rows[2], type, n), TEXT_SIZE);
    cr_assert(engine_begin(engine, model, &options), "%s: %s", model, engine->error.message);
    cr_assert_eq(engine_evaluate(engine, 4), MDF_OK, "%s: %s", model, engine->error.message);
    cr_assert(mdf_value_tensor(mdf_output(engine->state, "n", port), value));
    mdf_explain(engine->state, how, sizeof how);
    return how;
}

Test(open_nest, columns_have_room_for_more)
{
    static const int lengths[] = {0, 5, 30, 300}, types[] = {1, 11};
    static const char *const rows[][3] = {{"0.5, -1.25, 2.0", "0.25, 1.5, -0.0", "0.3, -0.7, 1.1"},
                                          {"0.5, -1.25, 2.0, 0.125, 3.0, -0.5, 0.75, 1.0, -2.0, 0.0, 1.5, -1.0",
                                           "0.25, 1.5, -0.0, 2.0, 0.5, 1.0, -3.0, 0.25, 1.25, -0.5, 0.0, 2.5",
                                           "0.3, -0.7, 1.1, 0.4, -0.2, 0.9, 0.1, -1.3, 0.6, 0.8, -0.4, 0.2"}};
    static const size_t n_columns[] = {3, 12};
    struct engine plain, lowered;
    mdf_tensor expected, is;

    for (size_t i = 0; i < 32; i++) {
        int n = lengths[i / 4 % 4], type = types[i / 2 % 2];
        size_t of = i / 16;
        const char *port = i % 2 == 0 ? "k" : "e";

        run_ended(&plain, true, type, n, rows[of], port, &expected);
        cr_expect_null(strstr(run_ended(&lowered, false, type, n, rows[of], port, &is), "step by step"), "%s", how);
        cr_assert(is.rank == expected.rank && is.shape[0] == expected.shape[0] && is.dtype == expected.dtype);
        cr_expect_eq(
            memcmp(is.data, expected.data,
                   (size_t)is.shape[0] * (port[0] == 'k' ? n_columns[of] : 1) * (type == 1 ? sizeof(float) : sizeof(double))),
            0, "%s of type %d for %d", port, type, n);
        engine_end(&plain);
        engine_end(&lowered);
    }
}

/* A loop of as many runs as `m` says; what it stacks is read beside it, by a kernel and by a nest. */
#define SUMS REDUCE("r", "ReduceSum", "l", "1") "," CALL("x", "CumSum", "\"x\": \"r\", \"axis\": 0")
#define STACKED                                                                                                              \
    "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"m\": {\"type\": " \
    "\"int64\", \"shape\": []}}, \"parameters\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": \"m\", "           \
    "\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}}, \"functions\": {\"x\": {\"function\": "         \
    "\"onnx::Cast\", \"args\": {\"input\": \"numpy.array([1, 3, 5, 7]) * i\", \"to\": 1}}}, \"output_ports\": {\"d\": "      \
    "{\"value\": \"c\"}, \"t\": {\"value\": \"x\"}}}}}}}, " SUMS "}, \"output_ports\": {\"r\": {\"value\": \"r\"}, \"x\": "  \
    "{\"value\": \"x\"}}}}}}}}"

static mdf_status run_stacked(struct engine *engine, bool plain, int m)
{
    const mdf_options options = {.plain = plain};
    mdf_status status = MDF_OK;
    char number[16];

    cr_assert(engine_begin(engine, STACKED, &options), "%s", engine->error.message);
    for (int i = 0; i < 8 && status == MDF_OK; i++) {
        snprintf(number, sizeof number, "%d", i < 4 ? 3 : m);
        cr_assert_eq(mdf_set_input_json(engine->state, "m", number, &engine->error), MDF_OK, "%s", engine->error.message);
        status = mdf_evaluate(engine->state, i == 0 ? (double)NAN : 0.1, &engine->error);
    }
    return status;
}

Test(open_nest, stacks_are_read_beside_their_loop)
{
    static const int numbers[] = {3, 1, 600, 0, -1};
    struct engine plain, lowered;
    mdf_tensor expected, is;
    int64_t n;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        mdf_status status = run_stacked(&plain, true, numbers[i]);

        cr_expect_eq(run_stacked(&lowered, false, numbers[i]), status, "%d: %s", numbers[i], lowered.error.message);
        for (int port = 0; port < 2 && status == MDF_OK; port++) {
            const char *name = port == 0 ? "r" : "x";

            cr_assert(mdf_value_tensor(mdf_output(plain.state, "n", name), &expected));
            cr_assert(mdf_value_tensor(mdf_output(lowered.state, "n", name), &is));
            cr_assert(is.rank == expected.rank && is.dtype == expected.dtype, "%s for %d", name, numbers[i]);
            n = is.rank == 0 ? 1 : is.rank == 2 ? is.shape[0] * is.shape[1] : is.shape[0];
            cr_assert(is.rank == 0 || is.shape[0] == expected.shape[0], "%s for %d", name, numbers[i]);
            cr_expect(n == 0 || memcmp(is.data, expected.data, (size_t)n * sizeof(float)) == 0, "%s for %d", name, numbers[i]);
        }
        mdf_explain(lowered.state, how, sizeof how);
        cr_expect_eq(strstr(how, "step by step") == NULL, numbers[i] > 0, "%d: %s", numbers[i], how);
        engine_end(&plain);
        engine_end(&lowered);
    }
}

static void evaluate(struct engine *engine, const char *model)
{
    cr_assert(engine_begin(engine, model, NULL), "%s", engine->error.message);
    cr_assert_eq(engine_evaluate(engine, 4), MDF_OK, "%s", engine->error.message);
}

/* What is scanned has no row: the state stays. */
Test(open_nest, a_scan_of_nothing)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"f\": {\"value\": "
        "\"numpy.array([3.0, 4.0])\"}, \"e\": {\"value\": \"numpy.array([[1.0, 2.0]])[0:0]\"}, \"l\": {\"function\": "
        "\"onnx::Scan\", \"args\": {\"num_scan_inputs\": 1, \"initial_state_and_scan_inputs\": \"[f, e]\", \"body\": {\"nodes\": "
        "{\"b\": {\"input_ports\": {\"s\": {}, \"x\": {}}, \"output_ports\": {\"t\": {\"value\": \"s + x\"}}}}}}}}, "
        "\"output_ports\": {\"o\": {\"value\": \"l\"}}}}}}}}";
    struct engine engine;
    mdf_tensor state;

    evaluate(&engine, model);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "o"), &state));
    cr_assert(state.rank == 1 && state.shape[0] == 2 && state.dtype == MDF_DTYPE_FLOAT64);
    cr_expect(((const double *)state.data)[0] == 3 && ((const double *)state.data)[1] == 4);
    mdf_explain(engine.state, how, sizeof how);
    cr_expect(strstr(how, "step by step") == NULL, "%s", how);
    engine_end(&engine);
}

/* The elements that are not zero, as many as there are, found by their places and summed: machine code loads no lane of the rest
 * from a place that nothing says. */
#define CHOSEN                                                                                                               \
    "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"v\": {\"type\": " \
    "\"float64\", \"shape\": [40]}}, \"parameters\": {" CALL("z", "NonZero", "\"X\": \"v\"") "," CALL(                       \
        "t", "Transpose",                                                                                                    \
        "\"data\": \"z\"") "," CALL("e", "GatherND",                                                                         \
                                    "\"data\": \"v\", \"indices\": \"t\"") "," REDUCE("r", "ReduceSum", "e",                 \
                                                                                      "0") "}, \"output_ports\": {\"o\": "   \
                                                                                           "{\"value\": \"r\"}}}}}}}}"

static double sum_chosen(struct engine *engine, int n, mdf_error *error)
{
    double values[40] = {0};
    static const int64_t shape[] = {40};
    const mdf_tensor tensor = {.dtype = MDF_DTYPE_FLOAT64, .rank = 1, .shape = shape, .data = values};
    mdf_tensor sum;

    for (int i = 0; i < n; i++) {
        values[i * 7 % 40] = 0.1 * i + 0.3;
    }
    cr_assert_eq(mdf_set_input(engine->state, "v", &tensor, error), MDF_OK, "%s", error->message);
    cr_assert_eq(mdf_evaluate(engine->state, 0.1, error), MDF_OK, "%s", error->message);
    cr_assert(mdf_value_tensor(mdf_output(engine->state, "n", "o"), &sum));
    return ((const double *)sum.data)[0];
}

Test(open_nest, elements_at_computed_places_are_folded)
{
    const mdf_options options = {.plain = true};
    struct engine plain, lowered;

    cr_assert(engine_begin(&plain, CHOSEN, &options), "%s", plain.error.message);
    cr_assert(engine_begin(&lowered, CHOSEN, NULL), "%s", lowered.error.message);
    for (int i = 0; i < 400; i++) {
        int n = i % 3 == 2 ? 0 : i * 11 % 40; /* where there are none, the sum is 0, and nothing bails out */
        double expected = sum_chosen(&plain, n, &plain.error), sum = sum_chosen(&lowered, n, &lowered.error);

        cr_expect_eq(expected, sum, "%d: %a is %a", n, expected, sum);
    }
    mdf_explain(lowered.state, how, sizeof how);
    /* without vectors kernels are as fast */
    cr_expect_eq(strstr(how, "step by step") == NULL && strstr(how, "GatherND") == NULL,
                 mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", how);
    engine_end(&plain);
    engine_end(&lowered);
}

/* What a node's loop stacks, as many as another node's value says, where the node may not run: of no one form, and so not made
 * one of two ways. */
Test(open_nest, what_is_as_long_as_it_comes_is_not_one_of_two_ways)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"f\": {\"function\": "
        "\"onnx::If\", \"args\": {\"cond\": \"0\", \"then_branch\": {\"nodes\": {\"t\": {\"output_ports\": {\"y\": {\"value\": "
        "\"2.0\"}}}}}, \"else_branch\": {\"nodes\": {\"e\": {\"output_ports\": {\"z\": {\"value\": \"x + 1\"}}}}}}}}, "
        "\"output_ports\": {\"o\": {\"value\": \"f\"}}}, \"n\": {\"input_ports\": {\"m\": {}}, \"parameters\": {\"l\": "
        "{\"function\": \"onnx::Loop\", \"args\": {\"M\": \"1 + m\", \"body\": {\"metadata\": {\"inputs\": [\"i\", \"c\"]}, "
        "\"nodes\": {\"b\": {\"output_ports\": {\"d\": {\"value\": \"i < 2\"}, \"t\": {\"value\": \"0\"}}}}}}}}, "
        "\"output_ports\": {\"r\": {\"value\": \"l\"}}}}, \"edges\": {\"e\": {\"sender\": \"a\", \"sender_port\": \"o\", "
        "\"receiver\": \"n\", \"receiver_port\": \"m\"}}, \"conditions\": {\"termination\": {\"environment_state_update\": "
        "{\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": 1}}}}}}}}";
    struct engine engine;
    mdf_tensor stacked;

    evaluate(&engine, model);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "r"), &stacked));
    cr_expect(stacked.rank == 1 && stacked.shape[0] == 2);
    mdf_explain(engine.state, how, sizeof how);
    cr_expect_null(strstr(how, "a mistake in the engine"), "%s", how);
    engine_end(&engine);
}

/* An end that short arrays do not reach cuts those that have grown past it: not all of them is gone through. */
Test(open_nest, an_end_cuts_what_has_grown_past_it)
{
    static const struct cut {
        const char *expression;
        double expected;
    } cuts[] = {{"numpy.arange(300.)[:i + 1][:20].sum()", 35530},
                {"numpy.arange(300.)[:i + 1][:20].max()", 3610},
                {"(numpy.arange(300.)[:i + 1][:20] * 2).sum()", 71060},
                {"numpy.arange(300.)[:i + 1][-20:].sum()", 361330},
                {"numpy.arange(300.)[:i + 1][::-1][:20].sum()", 361330},
                {"numpy.arange(300.)[i:][:5].max()", 20700},
                {"numpy.arange(300.)[:i + 1][::-1].sum()", 1333300},
                {"numpy.triu(numpy.arange(400.).reshape(200, 2)[:i + 1], 100).sum()", 0}, /* zeros, of which nothing is read */
                {"numpy.arange(3000.)[:i * 15][:600].sum()", 31056900},
                {"numpy.arange(3000.)[:i * 15 + 1][-600:].max()", 298500},
                {"numpy.arange(900000.)[:i * 3 + 1 + (i == 199) * 800000][:300000].max()", 359102}};
    static char model[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct engine engine;
        mdf_tensor sum;

        cr_assert_lt(
            snprintf(model, sizeof model,
                     "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"l\": {\"function\": "
                     "\"onnx::Loop\", \"args\": {\"M\": 200, \"v_initial\": [\"0.0\"], \"body\": {\"metadata\": {\"inputs\": "
                     "[\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"b\": {\"output_ports\": {\"t\": "
                     "{\"value\": \"s + %s\"}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}}}}}}}",
                     cuts[i].expression),
            TEXT_SIZE);
        evaluate(&engine, model);
        cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "o"), &sum));
        cr_expect(sum.rank == 0 && *(const double *)sum.data == cuts[i].expected, "%s: %g", cuts[i].expression,
                  *(const double *)sum.data);
        mdf_explain(engine.state, how, sizeof how);
        cr_expect_null(strstr(how, "a mistake in the engine"), "%s: %s", cuts[i].expression, how);
        engine_end(&engine);
    }
}

/* What a loop of no runs would put behind a state is not there: the state is as it was. */
Test(open_nest, a_loop_of_no_runs_leaves_the_state_that_it_would_make_longer)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"l\": {\"function\": \"onnx::Scan\", \"args\": "
        "{\"num_scan_inputs\": 1, \"initial_state_and_scan_inputs\": \"[numpy.arange(6.0).reshape(3, 2)]\", \"body\": "
        "{\"metadata\": {\"inputs\": [\"x\"], \"outputs\": [\"y\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"x\": {}}, "
        "\"parameters\": {\"k\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 0, \"v_initial\": \"[x]\", \"body\": "
        "{\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"b\": "
        "{\"input_ports\": {\"s\": {}}, \"functions\": {" CONCAT(
            "q", "s, numpy.array([0.0])") "}, \"output_ports\": {\"t\": {\"value\": \"q\"}}}}}}}}, \"output_ports\": {\"y\": "
                                          "{\"value\": \"k\"}}}}}}}}, \"output_ports\": {\"o\": {\"value\": \"l\"}}}}}}}}";
    static const double expected[] = {0, 1, 2, 3, 4, 5};
    struct engine engine;
    mdf_tensor rows;

    evaluate(&engine, model);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "o"), &rows));
    cr_assert(rows.rank == 2 && rows.shape[0] == 3 && rows.shape[1] == 2);
    cr_expect_arr_eq(rows.data, expected, sizeof expected);
    engine_end(&engine);
}

/* Whether a call makes a view of a state that grows is looked at in short arrays, where no number of it may cut longer ones. */
Test(open_nest, views_of_what_grows_take_little_to_be_found)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"l\": "
        "{\"function\": "
        "\"onnx::Loop\", \"args\": {\"M\": 4, \"v_initial\": \"[numpy.array([0.5, 1.0])]\", \"body\": {\"metadata\": "
        "{\"inputs\": [\"i\", "
        "\"c\", \"s\"], \"outputs\": [\"c\", \"t\", \"e\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"s\": {}}, \"functions\": "
        "{" CALL("v", "Unsqueeze", "\"data\": \"s\", \"axes\": \"numpy.array([0])\"") "," CONCAT(
            "q",
            "s, numpy.array([0.5])") "," CALL("r", "ReduceSum",
                                              "\"data\": \"v\", \"keepdims\": 0") "}, \"output_ports\": {\"t\": {\"value\": "
                                                                                  "\"q\"}, \"e\": {\"value\": \"r\"}}}}}}}}, "
                                                                                  "\"output_ports\": {\"o\": {\"value\": "
                                                                                  "\"l[1]\"}}}}}}}}";
    static const double expected[] = {1.5, 2, 2.5, 3};
    struct engine engine;
    mdf_tensor sums;

    evaluate(&engine, model);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "o"), &sums));
    cr_assert(sums.rank == 1 && sums.shape[0] == 4);
    cr_expect_arr_eq(sums.data, expected, sizeof expected);
    cr_expect_lt(mdf_state_peak_bytes(engine.state), 1 << 21); /* a quarter of it; numbering the elements of long arrays: twice */
    engine_end(&engine);
}

/* An inner loop whose first runs stand before it, as its state gets more axes, looks at the state of the outer one in each of
 * them: also where the one that looked first was taken back. */
Test(open_nest, what_was_taken_back_is_looked_at_again)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"l\": "
        "{\"function\": \"onnx::Loop\", \"args\": {\"M\": 4, \"v_initial\": \"[numpy.array([0.5, 1.0])]\", \"body\": "
        "{\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"b\": {\"input_ports\": "
        "{\"s\": {}}, \"parameters\": {\"k\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 2, \"v_initial\": "
        "\"[numpy.array(1.0)]\", \"body\": {\"metadata\": {\"inputs\": [\"j\", \"d\", \"u\"], \"outputs\": [\"d\", \"w\"]}, "
        "\"nodes\": {\"e\": {\"input_ports\": {\"u\": {}}, \"functions\": {\"r\": {\"function\": \"onnx::ReduceSum\", \"args\": "
        "{\"data\": \"s\", \"keepdims\": 0}}, \"a\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"u\", \"B\": \"r\"}}, "
        "\"v\": {\"function\": \"onnx::Unsqueeze\", \"args\": {\"data\": \"a\", \"axes\": \"numpy.array([0])\"}}}, "
        "\"output_ports\": {\"w\": {\"value\": \"v\"}}}}}}}, \"f\": {\"function\": \"onnx::Reshape\", \"args\": {\"data\": "
        "\"k\", \"shape\": \"numpy.array([1])\"}}, \"q\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": \"[s, f]\", "
        "\"axis\": 0}}}, \"output_ports\": {\"t\": {\"value\": \"q\"}}}}}}}}, \"output_ports\": {\"o\": {\"value\": "
        "\"l\"}}}}}}}}";
    static const double expected[] = {0.5, 1, 4, 12, 36, 108};
    struct engine engine;
    mdf_tensor rows;

    evaluate(&engine, model);
    cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "o"), &rows));
    cr_assert(rows.rank == 1 && rows.shape[0] == 6);
    cr_expect_arr_eq(rows.data, expected, sizeof expected);
    mdf_explain(engine.state, how, sizeof how);
    cr_expect_null(strstr(how, "a mistake in the engine"), "%s", how);
    engine_end(&engine);
}

/* Pieces that begin and end where a state says have other lengths in each run: what the state becomes tells so. */
Test(open_nest, a_state_says_where_pieces_end)
{
    static const char *const files[] = {"tests/data/onnx/loop_pieces.onnx", "tests/data/onnx/loop_listed_pieces.onnx"};
    static const int64_t ends[][4] = {{0, 2, 3, 6}, {0, 2, 3, 6}, {0, 2, 3, 6}, {1, 5, 5, 6}, {1, 5, 5, 6}};
    const float w[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const int64_t n = 3;

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_file(files[i], &error);
        mdf_program *program = mdf_compile(model, NULL, &error);
        mdf_state *state = mdf_state_new(program, &error);
        mdf_tensor rows;

        cr_assert_not_null(state, "%s", error.message);
        for (size_t step = 0; step < sizeof ends / sizeof *ends; step++) {
            const mdf_tensor all = {.dtype = MDF_DTYPE_FLOAT32, .rank = 2, .shape = (const int64_t[]){6, 2}, .data = w};
            const mdf_tensor places = {.dtype = MDF_DTYPE_INT64, .rank = 1, .shape = (const int64_t[]){4}, .data = ends[step]};
            const mdf_tensor count = {.dtype = MDF_DTYPE_INT64, .data = &n};

            cr_assert_eq(mdf_set_input(state, "w", &all, &error), MDF_OK, "%s", error.message);
            cr_assert_eq(mdf_set_input(state, "ends", &places, &error), MDF_OK, "%s", error.message);
            cr_assert_eq(mdf_set_input(state, "m", &count, &error), MDF_OK, "%s", error.message);
            cr_assert_eq(mdf_evaluate(state, NAN, &error), MDF_OK, "%s", error.message);
            cr_assert(mdf_value_tensor(mdf_result_at(state, 0), &rows));
            cr_assert(rows.rank == 3 && rows.shape[0] == 3 && rows.shape[1] == 1 && rows.shape[2] == 2);
            for (size_t k = 0; k < 6; k++) {
                float sum = 0;

                for (int64_t row = ends[step][k / 2]; row < ends[step][k / 2 + 1]; row++) {
                    sum += w[2 * row + (int64_t)(k % 2)];
                }
                cr_expect_eq(((const float *)rows.data)[k], sum, "%s: step %zu, %zu", files[i], step, k);
            }
        }
        mdf_explain(state, how, sizeof how);
        cr_expect(strstr(how, "': lowered") != NULL && strstr(how, "step by step") == NULL, "%s: %s", files[i], how);
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(model);
    }
}
