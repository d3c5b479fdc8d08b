/* test_mapped.c - loops whose runs do not hang on each other become loop nests (mdf_c/lower/nests/lower_mapped.c), or do several of
 * them side by side (mdf_c/lower/lanes/lower_outer_loop.c): which do, and the bits of the plain way in any case. */
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "mdf_c/run/whole/whole.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 14, N_EVALUATIONS = 4 };

#define POINTS "numpy.sin(numpy.arange(120.0).reshape(30, 4))"
#define CALL(name, function, arguments) "\"" name "\": {\"function\": \"onnx::" function "\", \"args\": {" arguments "}}"
#define SCAN_OF(name, rows, more, body)                                                                              \
    CALL(name, "Scan",                                                                                               \
         "\"initial_state_and_scan_inputs\": [\"" rows "\"], \"num_scan_inputs\": 1, " more "\"body\": {\"nodes\": " \
         "{\"b\": {\"input_ports\": {\"u\": {}}, " body "}}}")
#define SCAN(name, more, body) SCAN_OF(name, "x", more, body)
#define LOOP(name, n, body) \
    CALL(name, "Loop",      \
         "\"M\": " n ", \"v_initial\": [], \"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}}, " body "}}}")
#define YIELD(value) "\"output_ports\": {\"y\": {\"value\": \"" value "\"}}"
#define SQUARES CALL("d", "ReduceSumSquare", "\"data\": \"p - u\", \"axes\": \"numpy.array([1])\", \"keepdims\": 0")
#define DISTANCES "\"functions\": {" SQUARES "}, " YIELD("d")
#define BACKWARDS "\"scan_input_directions\": [1], "
#define BACKWARDS_OUT "\"scan_output_directions\": [1], "
#define GATHER CALL("a", "Gather", "\"data\": \"x\", \"indices\": \"i\", \"axis\": 0")
#define OF_LOOP(value) \
    "\"functions\": {" GATHER "}, \"output_ports\": {\"go\": {\"value\": \"c\"}, \"y\": {\"value\": \"" value "\"}}"
#define SHOWN(value) ", \"r\": {\"value\": \"" value "\"}"

/* One node whose functions are these, of which `r` is shown. */
#define MODEL                                                                                                                \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": " \
    "\"" POINTS "\"}, \"p\": {\"value\": \"numpy.cos(numpy.arange(36.0).reshape(9, 4))\"}, %s}, \"output_ports\": {\"o\": "  \
    "{\"value\": \"r\"}}}}}}}}"

struct mapped {
    const char *functions;
    size_t n_loops; /* that are left */
};

static char how[TEXT_SIZE]; /* what explain says of the last run */

static const void *run(struct engine *engine, const char *model, bool plain, size_t *n_bytes)
{
    const mdf_options options = {.plain = plain};
    const void *elements;

    cr_assert(engine_begin(engine, model, &options) && engine_evaluate(engine, N_EVALUATIONS) == MDF_OK, "%s: %s", model,
              engine->error.message);
    mdf_explain(engine->state, how, sizeof how);
    elements = engine_output(engine, "n", "o", n_bytes);
    cr_assert_not_null(elements, "%s", model);
    return elements;
}

static size_t count_loops(const struct mdf_lowered *lowered)
{
    size_t n = 0, i;

    if (lowered == NULL) {
        return SIZE_MAX;
    }
    for (i = 0; i < lowered->region.n_ops; i++) {
        n += lowered->region.ops[i].code == MDF_LOWERED_LOOP;
    }
    return n;
}

/* Both ways give the same bits; `count` counts in the lowered form what there are to be `n` of. */
static void expect_same(const char *functions, size_t (*count)(const struct mdf_lowered *lowered), size_t n)
{
    static char model[TEXT_SIZE];
    struct engine plain, lowered;
    const void *expected, *result;
    size_t n_bytes, n_lowered;

    cr_assert_lt(snprintf(model, sizeof model, MODEL, functions), TEXT_SIZE);
    expected = run(&plain, model, true, &n_bytes);
    result = run(&lowered, model, false, &n_lowered);
    cr_expect(n_bytes == n_lowered && memcmp(expected, result, n_bytes) == 0, "%s", functions);
    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_FLOAT64) || count(lowered.state->whole->single.fast.lowered) == n, "%s: %s",
              functions, how);
    engine_end(&plain);
    engine_end(&lowered);
}

Test(mapped, same_bits)
{
    static const struct mapped cases[] = {
        {SCAN("a", "", DISTANCES) SHOWN("a"), 0},
        {SCAN("a", BACKWARDS, DISTANCES) SHOWN("a"), 0},
        {SCAN("a", BACKWARDS_OUT, DISTANCES) SHOWN("a * 2.0"), 0},
        {SCAN("a", "\"scan_input_axes\": [1], ", YIELD("u * u - 1.0")) SHOWN("a"), 0},
        {SCAN("a", "\"scan_output_axes\": [1], ", DISTANCES) SHOWN("a"), 0},
        {SCAN("a", "", "\"output_ports\": {\"y\": {\"value\": \"u * 2.0\"}, \"z\": {\"value\": \"u + p[3]\"}}")
             SHOWN("a[0] * a[1]"),
         0},
        /* what is made of the stack joins the nest */
        {SCAN("a", "", DISTANCES) "," CALL("t", "Transpose", "\"data\": \"a\", \"perm\": [1, 0]") "," CALL(
             "s", "Sqrt", "\"X\": \"t\"") SHOWN("s + t"),
         0},
        /* one number for each run */
        {SCAN("a", "", "\"functions\": {" CALL("d", "ReduceSum", "\"data\": \"u * u\", \"keepdims\": 0") "}, " YIELD("d"))
             SHOWN("a"),
         0},
        {SCAN_OF("a", "numpy.arange(50.0)", "", YIELD("u * p")) SHOWN("a"), 0},
        /* by the number of the run */
        {LOOP("a", "30", OF_LOOP("numpy.tanh(p * a)")) SHOWN("a"), 0},
        {LOOP("a", "7", OF_LOOP("p - a")) SHOWN("a"), 0},
        {LOOP("a", "7", OF_LOOP("a * i")) SHOWN("a"), 1},
        /* a loop in a loop */
        {SCAN("a", "",
              "\"functions\": {" SCAN_OF("e", "p", "", "\"output_ports\": {\"y\": {\"value\": \"u * 3.0 + 1.0\"}}") "}, " YIELD(
                  "e - u")) SHOWN("a"),
         0},
        /* an item that is stored in parts, each by a nest */
        {SCAN("a", "",
              "\"functions\": {" CALL("c", "Concat", "\"inputs\": \"[u, u]\", \"axis\": 0") "}, " YIELD("c")) SHOWN("a"),
         1},
        /* a state goes from run to run */
        {CALL("a", "Scan",
              "\"initial_state_and_scan_inputs\": [\"numpy.zeros((4,))\", \"x\"], \"num_scan_inputs\": 1, \"body\": {\"nodes\": "
              "{\"b\": {\"input_ports\": {\"s\": {}, \"u\": {}}, \"output_ports\": {\"n\": {\"value\": \"0.5 * s + u\"}, "
              "\"y\": {\"value\": \"s - u\"}}}}}") SHOWN("a[1]"),
         1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_same(cases[i].functions, count_loops, cases[i].n_loops);
    }
}

/* ------------------------------------------------------------------ what hangs on no state */

#define COUNTS                                                                                                           \
    CALL("a", "Scan",                                                                                                    \
         "\"initial_state_and_scan_inputs\": [\"numpy.array(3)\", \"numpy.array(0)\", \"numpy.sin(numpy.arange(90.0))\"], " \
         "\"num_scan_inputs\": 1, %s\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"n\": {}, \"k\": {}, \"u\": {}}, "     \
         "\"functions\": {" CALL("t", "Less", "\"A\": \"numpy.exp(u)\", \"B\": 1.2") "," CALL(                             \
             "c", "Cast", "\"input\": \"t\", \"to\": 7") "," CALL("m", "Add", "\"A\": \"n\", \"B\": \"c\"") "," CALL(         \
             "l", "Add", "\"A\": \"c\", \"B\": \"k\"") "}, \"output_ports\": {\"n\": {\"value\": \"m\"}, \"k\": "                \
         "{\"value\": \"l\"}, \"y\": {\"value\": \"%s\"}}}}}")
#define ACCEPTED                                                                                                         \
    CALL("a", "Scan",                                                                                                    \
         "\"initial_state_and_scan_inputs\": [\"numpy.array(0.25)\", \"numpy.sin(numpy.arange(90.0))\"], "                 \
         "\"num_scan_inputs\": 1, %s\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}, \"u\": {}}, "                 \
         "\"functions\": {" CALL("e", "Exp", "\"input\": \"u * 0.5\"") "," CALL("t", "Less", "\"A\": \"e\", \"B\": \"s + 1.0\"") "," CALL( \
             "w", "Where", "\"condition\": \"t\", \"X\": \"s + u\", \"Y\": \"s * 0.5\"") "}, \"output_ports\": {\"s\": "    \
         "{\"value\": \"w\"}, \"y\": {\"value\": \"%s\"}}}}}")

static size_t count_functions(const struct mdf_lowered *lowered)
{
    size_t n = 0, i, k;

    for (i = 0; lowered != NULL && i < lowered->region.n_ops; i++) {
        const struct mdf_lowered_op *op = &lowered->region.ops[i];

        for (k = 0; op->code == MDF_LOWERED_LOOP && k < op->of.loop->body.n_ops; k++) {
            n += op->of.loop->body.ops[k].code == MDF_LOWERED_ELEMENTS;
        }
    }
    return n;
}

/* A state that begins as what is added to it in each run. */
#define ADDED_TO_ITSELF                                                                                               \
    "\"z\": {\"value\": \"numpy.array(2)\"}, " CALL(                                                                  \
        "a", "Scan",                                                                                                  \
        "\"initial_state_and_scan_inputs\": [\"z\", \"z\", \"numpy.sin(numpy.arange(9.0))\"], "                       \
        "\"num_scan_inputs\": 1, \"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"n\": {}, \"k\": {}, \"u\": {}}, " \
        "\"functions\": {" CALL("l", "Add", "\"A\": \"k\", \"B\": \"n\"") "}, \"output_ports\": {\"n\": {\"value\": " \
                                                                          "\"n\"}, \"k\": {\"value\": \"l\"}}}}}")

/* Whole numbers that are summed over all runs, and stacks of what hangs on no state, are a nest; of a loop with other states, what
 * a function takes part in is computed in front of it. */
Test(mapped, what_hangs_on_no_state_goes_ahead)
{
    static const char *const ways[] = {"", BACKWARDS, BACKWARDS_OUT}, *const stacked[] = {"u + 1.0", "m", "e"};
    char functions[TEXT_SIZE];
    size_t i, k;

    for (i = 0; i < 3; i++) {
        for (k = 0; k < 2; k++) {
            snprintf(functions, sizeof functions, COUNTS SHOWN("a[0] + 100 * a[1] + a[2]"), ways[i], stacked[k]);
            expect_same(functions, count_loops, k + (k == 0 && i == 2)); /* a sum so far hangs on the runs before */
            snprintf(functions, sizeof functions, ACCEPTED SHOWN("a[0] + a[1]"), ways[i], stacked[2 * k]);
            expect_same(functions, count_functions, k); /* what is stacked stays in the loop */
        }
    }
    expect_same(ADDED_TO_ITSELF SHOWN("a[0] + a[1]"), count_loops, 1);
}

/* ------------------------------------------------------------------ what is moved when it is there */

#define TOTAL CALL("d", "ReduceSum", "\"data\": \"numpy.abs(x - u)\", \"axes\": \"numpy.array([1])\", \"keepdims\": 0")
#define LARGE SCAN("a", "", "\"functions\": {" TOTAL "}, " YIELD("d"))
#define TRANSPOSED(name, of) CALL(name, "Transpose", "\"data\": \"" of "\", \"perm\": [1, 0]")

static size_t count_calls(const struct mdf_lowered *lowered)
{
    size_t n = 0, i;

    for (i = 0; lowered != NULL && i < lowered->region.n_ops; i++) {
        n += lowered->region.ops[i].code == MDF_LOWERED_CALL;
    }
    return n;
}

/* What a nest makes only to be transposed is stored so. */
Test(mapped, stored_where_it_is_moved_to)
{
    expect_same(LARGE "," TRANSPOSED("r", "a"), count_calls, 0);
    expect_same(LARGE "," TRANSPOSED("t", "a") "," TRANSPOSED("r", "t"), count_calls, 1);
}

/* ------------------------------------------------------------------ several runs side by side */

#define STATE_LOOP(name, n, state, go, next)                                                                                 \
    CALL(name, "Loop",                                                                                                       \
         "\"M\": " n ", \"cond\": true, \"v_initial\": [\"" state "\"], \"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": " \
         "{}, \"s\": {}}, \"output_ports\": {\"go\": {\"value\": \"" go "\"}, \"s\": {\"value\": \"" next "\"}}}}}")
#define ROOT STATE_LOOP("r", "40", "u", "abs(0.5 * (s + (u * u + 2.0) / s) - s) > 1e-12", "0.5 * (s + (u * u + 2.0) / s)")
#define COUNT STATE_LOOP("r", "\"u + 1\"", "u * 0.5", "c", "s + i")
#define SIDES(a, b)                                                                                                              \
    CALL("r", "If",                                                                                                              \
         "\"cond\": \"u > 0.0\", \"then_branch\": {\"nodes\": {\"t\": {\"output_ports\": {\"y\": {\"value\": \"" a "\"}}}}}, " \
         "\"else_branch\": {\"nodes\": {\"e\": {\"output_ports\": {\"y\": {\"value\": \"" b "\"}}}}}")
#define SUMS                                                                                                                     \
    CALL("r", "Scan",                                                                                                            \
         "\"initial_state_and_scan_inputs\": [\"0.0\", \"u\"], \"num_scan_inputs\": 1, \"body\": {\"nodes\": {\"b\": "           \
         "{\"input_ports\": {\"s\": {}, \"v\": {}}, \"output_ports\": {\"n\": {\"value\": \"numpy.tanh(s + v)\"}, \"y\": "       \
         "{\"value\": \"s * v\"}}}}}")
#define RUNS(n) "numpy.arange(" n ") * 0.7 - 3.0"
#define ROWS(n) "numpy.sin(numpy.arange(" n " * 5.0).reshape(" n ", 5))"
#define RESULT(functions, value) "\"functions\": {" functions "}, " YIELD(value)

static size_t count_lanes(const struct mdf_lowered *lowered)
{
    size_t n = 0, i;

    for (i = 0; lowered != NULL && i < lowered->region.n_ops; i++) {
        n += lowered->region.ops[i].code == MDF_LOWERED_LOOP && lowered->region.ops[i].of.loop->n_lanes > 0;
    }
    return n;
}

Test(mapped, side_by_side)
{
    static const struct {
        const char *functions;
        size_t n_lanes;
    } cases[] = {
        {SCAN_OF("a", RUNS("40"), "", RESULT(ROOT, "r")) SHOWN("a"), 1},
        {SCAN_OF("a", RUNS("64"), "", RESULT(ROOT, "r")) SHOWN("a"), 1},
        {SCAN_OF("a", RUNS("70"), BACKWARDS, RESULT(ROOT, "r")) SHOWN("a"), 1},
        {SCAN_OF("a", RUNS("23"), BACKWARDS_OUT, RESULT(ROOT, "r")) SHOWN("a"), 1},
        {SCAN_OF("a", RUNS("24"), BACKWARDS BACKWARDS_OUT, RESULT(ROOT, "r")) SHOWN("a"), 1},
        {SCAN_OF("a", RUNS("7"), "", RESULT(ROOT, "r")) SHOWN("a"), 0}, /* too few */
        {SCAN_OF("a", RUNS("9"), "", RESULT(SIDES("u * 2.0", "1.0 / u"), "r + 1.0")) SHOWN("a"), 1},
        {SCAN_OF("a", ROWS("19"), BACKWARDS, RESULT(SUMS, "r[1]")) SHOWN("a"), 1},
        {SCAN_OF("a", ROWS("16"), BACKWARDS_OUT, RESULT(SUMS, "r[0] * u")) SHOWN("a"), 1},
        {LOOP("a", "30", "\"functions\": {" GATHER "," STATE_LOOP("r", "5", "a[0]", "c", "s * a[1] + i") "}, \"output_ports\": {\"go\": {\"value\": \"c\"}, \"y\": {\"value\": \"r + i\"}}") SHOWN("a"),
         1},
        /* each as many times as it says itself */
        {SCAN_OF("a", "numpy.arange(33)", "", RESULT(COUNT, "r")) SHOWN("a"), 1},
        /* the same in all runs */
        {SCAN_OF("a", RUNS("12"), "", RESULT(STATE_LOOP("r", "5", "x[0][0]", "c", "s * 0.5"), "r + u")) SHOWN("a"), 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_same(cases[i].functions, count_lanes, cases[i].n_lanes);
        cr_expect((strstr(how, "runs side by side") != NULL) == (cases[i].n_lanes > 0) ||
                      !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64),
                  "%s", how);
    }
}

#define EDGE(from, to) \
    "\"" from to "\": {\"sender\": \"" from "\", \"sender_port\": \"o\", \"receiver\": \"" to "\", \"receiver_port\": \"i\"}"
#define NODE(name, function)                                                                                              \
    "\"" name "\": {\"input_ports\": {\"i\": {}}, \"parameters\": {" function "}, \"output_ports\": {\"o\": {\"value\": " \
                                                                              "\"f\"}}}"

#define NODES_OF(nodes, edges) \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {" nodes "}, \"edges\": {" edges "}}}}}"

/* Distances of 150 points to 60 others, the other way round, and their roots. */
#define DISTANCES_OF_POINTS                                                                                        \
    "\"a\": {\"parameters\": {\"x\": {\"value\": \"numpy.sin(numpy.arange(600.0).reshape(150, 4))\"}, \"p\": "      \
    "{\"value\": \"numpy.cos(numpy.arange(240.0).reshape(60, 4))\"}, " SCAN("f", "", DISTANCES) "}, \"output_ports\": " \
    "{\"o\": {\"value\": \"f\"}}}"
#define TURNED CALL("f", "Transpose", "\"data\": \"i\", \"perm\": [1, 0]")
#define ROOTS CALL("f", "Sqrt", "\"X\": \"i\"")
static const char roots[] =
    NODES_OF(DISTANCES_OF_POINTS ", " NODE("t", TURNED) ", " NODE("s", ROOTS), EDGE("a", "t") ", " EDGE("t", "s"));

/* Neither the stack nor what it is the other way round is there after an evaluation, until somebody asks. */
Test(mapped, a_stack_that_is_gone_is_made_again)
{
    static const char *const nodes[] = {"s", "t", "a"};
    const mdf_options plainly = {.plain = true};
    struct engine plain, engine;

    cr_assert(engine_begin(&plain, roots, &plainly), "%s", plain.error.message);
    cr_assert(engine_begin(&engine, roots, NULL), "%s", engine.error.message);
    cr_assert_eq(engine_evaluate(&plain, N_EVALUATIONS), MDF_OK, "%s", plain.error.message);
    cr_assert_eq(engine_evaluate(&engine, N_EVALUATIONS), MDF_OK, "%s", engine.error.message);
    cr_expect_eq(engine.state->whole->has_gone, mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)); /* else there are no such nests */
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        cr_expect(mdf_value_equal(mdf_output(engine.state, nodes[i], "o"), mdf_output(plain.state, nodes[i], "o")), "%s",
                  nodes[i]);
    }
    cr_expect(!engine.state->whole->has_gone);
    engine_end(&plain);
    engine_end(&engine);
}

/* What is written down after each step is the stack of the loop over steps, in the caller's memory. */
Test(mapped, a_stack_that_is_written_down_stays)
{
    enum { N = 700, WIDTH = 6 };
    static const char model[] =
        NODES_OF("\"n\": {\"input_ports\": {\"x\": {}}, \"parameters\": {" CALL("f", "Tile", "\"input\": \"x\", \"repeats\": 1") "}, \"output_ports\": {\"o\": {\"value\": \"f\"}}}",
                 "");
    static double given[N * WIDTH], written[N * WIDTH];
    const int64_t shape[] = {WIDTH};
    const mdf_record record = {.dtype = MDF_DTYPE_FLOAT64, .rank = 1, .shape = shape, .size_bytes = WIDTH * sizeof *written, .data = written};
    const mdf_series series = {"x", {MDF_DTYPE_FLOAT64, 1, shape, given}, WIDTH * sizeof *given};
    uint64_t n_done, n_recorded;
    const struct mdf_fast *form;
    struct engine engine;

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        given[i] = (double)i;
    }
    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    for (int i = 0; i < N_EVALUATIONS; i++) {
        cr_assert_eq(mdf_set_input(engine.state, "x", &series.value, &engine.error), MDF_OK);
        cr_assert_eq(mdf_evaluate(engine.state, NAN, &engine.error), MDF_OK);
    }
    engine.state->whole->fewest_in_series = N / 2;
    cr_assert_eq(mdf_evaluate_series(engine.state, &series, 1, N, NAN, NAN, 0, &record, 1, &n_done, &n_recorded, &engine.error),
                 MDF_OK, "%s", engine.error.message);
    cr_assert(n_done == N && n_recorded == N);
    form = mdf_whole_series_form(engine.state->whole);
    cr_expect(!mdf_machine_has_vectors(MDF_DTYPE_FLOAT64) || (form != NULL && form->n_runs > 0), "it is not lowered as a series");
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        cr_expect_eq(written[i], (double)i, "element %zu", i);
    }
    engine_end(&engine);
}

/* A number that goes to each item of a stack is loaded within the axis, not in front of the nest that counts. */
Test(mapped, a_count_within_a_scan_starts_with_a_number)
{
    static const char *const inputs[][2] = {
        {"v1", "1"}, {"v2", "{\"type\": \"int64\", \"shape\": [2], \"data\": [-3, -1]}"}, {"v3", "1"}, {"v4", "1"}};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file("tests/data/onnx/scanned_count.onnx", &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);

    cr_assert_not_null(state, "%s", error.message);
    for (size_t step = 0; step < 4; step++) {
        for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
            cr_assert_eq(mdf_set_input_json(state, inputs[i][0], inputs[i][1], &error), MDF_OK, "%s", error.message);
        }
        cr_assert_eq(mdf_evaluate(state, NAN, &error), MDF_OK, "%s", error.message);
    }
    mdf_explain(state, how, sizeof how);
    cr_expect_null(strstr(how, "a mistake in the engine"), "%s", how);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}
