/* test_concurrent.c - two loops that run at the same time, on two threads (mdf_c/lower/loops/lower_concurrent.c): which do, and
 * the bits of the plain way in any case. tests/support/early_code.c makes them worth it. */
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "mdf_c/run/whole/whole.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 14, N_EVALUATIONS = 5 };

#define SCAN_OF(name, start, rows, more, body)                                                                           \
    "\"" name "\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": [\"" start "\", \"" rows \
    "\"], \"num_scan_inputs\": 1, " more "\"body\": {\"nodes\": {\"b\": {\"input_ports\": {\"s\": {}, \"u\": {}}, " body "}}}}}"
#define PRODUCT_OF(of)                                                                                                          \
    "\"functions\": {\"p\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"" of "\", \"B\": \"w\"}}}, \"output_ports\": " \
    "{\"n\": {\"value\": \"numpy.tanh(0.5 * s + p)\"}, \"y\": {\"value\": \"s - p\"}}"
#define LAYER PRODUCT_OF("u")
#define RECURRENT PRODUCT_OF("s + u")
#define BACKWARDS "\"scan_input_directions\": [1], "
#define BACKWARDS_OUT "\"scan_output_directions\": [1], "
/* A state that is one number, and what there is an error in the 30th run of. */
#define NUMBER "\"output_ports\": {\"n\": {\"value\": \"0.5 * s + u[0] * c\"}, \"y\": {\"value\": \"numpy.arctan(s * u)\"}}"
#define FAULT "\"output_ports\": {\"n\": {\"value\": \"s + 1.0\"}, \"y\": {\"value\": \"u + large[int(s)]\"}}"
#define BOTH(second) \
    "      not one loop with that of node 'n', parameter 'a', as " second "; they run at the same time, on two threads\n"
#define MULTIPLIED "it multiplies the items by a matrix, many of them at once"

/* One node whose functions are these, of which `r` is shown. */
#define MODEL                                                                                                                    \
    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {"                        \
    "\"c\": {\"value\": \"c + 0.25\", \"default_initial_value\": 0.5}, \"z\": {\"value\": \"numpy.zeros((1, 40)) + c\"}, "       \
    "\"w\": {\"function\": \"onnx::ConstantOfShape\", \"args\": {\"input\": [40, 40], \"value\": \"numpy.array([0.03125])\"}}, " \
    "\"x\": {\"value\": \"numpy.sin(numpy.reshape(numpy.arange(2400.0), (60, 1, 40)))\"}, "                                      \
    "\"large\": {\"value\": \"numpy.ones(%d)\"}, %s}, \"output_ports\": {\"o\": {\"value\": \"r\"}}}}}}}}"

struct two {
    const char *functions, *piece; /* what is told of them; NULL: nothing of two threads */
};

static char how[1 << 15]; /* what explain says of the last run */

static void begin(struct engine *engine, const char *functions, int n_large, const mdf_options *options)
{
    static char model[TEXT_SIZE];

    cr_assert_lt(snprintf(model, sizeof model, MODEL, n_large, functions), TEXT_SIZE);
    cr_assert(engine_begin(engine, model, options), "%s: %s", model, engine->error.message);
}

static void evaluate(struct engine *engine, const char *functions)
{
    cr_assert_eq(engine_evaluate(engine, N_EVALUATIONS), MDF_OK, "%s: %s", functions, engine->error.message);
    mdf_explain(engine->state, how, sizeof how);
}

static void expect_same(const struct two *two)
{
    const mdf_options plainly = {.plain = true}, options = {.n_threads = 2};
    struct engine plain, engine;
    mdf_state *copy;

    begin(&plain, two->functions, 60, &plainly);
    begin(&engine, two->functions, 60, &options);
    evaluate(&plain, two->functions);
    evaluate(&engine, two->functions);
    cr_expect(mdf_value_equal(mdf_output(engine.state, "n", "o"), mdf_output(plain.state, "n", "o")), "%s", two->functions);
    cr_expect(two->piece != NULL ? strstr(how, two->piece) != NULL : strstr(how, "at the same time") == NULL, "%s: %s",
              two->functions, how);
    copy = mdf_state_new(engine.program, &engine.error);
    cr_assert(copy != NULL && mdf_state_copy(copy, engine.state, &engine.error) == MDF_OK, "%s", engine.error.message);
    cr_assert_eq(mdf_evaluate(copy, 0.1, &engine.error), MDF_OK);
    cr_assert_eq(mdf_evaluate(plain.state, 0.1, &engine.error), MDF_OK);
    cr_expect(mdf_value_equal(mdf_output(copy, "n", "o"), mdf_output(plain.state, "n", "o")), "%s", two->functions);
    mdf_state_free(copy);
    engine_end(&plain);
    engine_end(&engine);
}

#define R(value) ", \"r\": {\"value\": \"" value "\"}"

Test(concurrent, same_bits)
{
    static const struct two cases[] = {
        /* layer by layer: the second multiplies blocks of items as they are there */
        {SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF("b", "z", "a[1]", "", LAYER) R("b[1] + b[0]"), BOTH(MULTIPLIED)},
        {SCAN_OF("a", "z", "x", BACKWARDS BACKWARDS_OUT, RECURRENT) "," SCAN_OF("b", "z", "a[1]", BACKWARDS, LAYER)
             R("b[1] + a[0]"),
         BOTH(MULTIPLIED)},
        /* forward and backward */
        {SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF("b", "z", "x", BACKWARDS BACKWARDS_OUT, RECURRENT) R("a[1] + b[1]"),
         BOTH("they share only what they read, and neither waits for what it computes")},
        /* what is between, and needs the first or not, is done behind or in front */
        {SCAN_OF(
             "a", "z", "x", "",
             RECURRENT) ", \"t\": {\"value\": \"numpy.sum(a[1])\"}, \"q\": {\"value\": \"numpy.cos(x) * c\"}," SCAN_OF("b",
                                                                                                                       "z + q[0]",
                                                                                                                       "a[1]", "",
                                                                                                                       LAYER)
             R("t + q + b[1]"),
         BOTH(MULTIPLIED)},
        /* numbers that both read, and leave */
        {SCAN_OF("a", "c * 2.0", "x[:, 0]", "", NUMBER) "," SCAN_OF("b", "c", "x[5:, 0]", BACKWARDS, NUMBER)
             R("a[1] * b[0] + numpy.sum(b[1]) * a[0] + c"),
         BOTH("neither needs what the other one makes")},
        /* what is put into what the first reads is put behind both, not between them */
        {"\"v\": {\"function\": \"onnx::ScatterElements\", \"args\": {\"data\": \"x\", \"indices\": \"numpy.zeros((1, 1, 1), "
         "dtype=int)\", \"updates\": \"numpy.reshape(c, (1, 1, 1))\"}}, " SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF(
             "b", "z", "a[1]", "", LAYER) R("b[1] + v[0]"),
         BOTH(MULTIPLIED)},
        /* not: the other way round, all items, a state */
        {SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF("b", "z", "a[1]", BACKWARDS, LAYER) R("b[1]"), NULL},
        {SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF("b", "a[0]", "x", "", RECURRENT) R("b[1]"), NULL},
        {SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF("b", "z", "a[1] - numpy.sum(a[1])", "", LAYER) R("b[1]"), NULL},
    };

    if (!mdf_machine_has_vectors(MDF_DTYPE_FLOAT64)) {
        cr_skip(); /* what becomes a nest is another there */
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_same(&cases[i]);
    }
}

/* Where one of them meets an error, nothing hangs, and it is that of the plain way. */
Test(concurrent, errors)
{
    static const char *const functions[] = {
        SCAN_OF("a", "0.0", "x[:, 0]", "", FAULT) "," SCAN_OF("b", "z", "a[1]", "", LAYER) R("b[1]"),
        SCAN_OF("a", "z", "x", "", RECURRENT) "," SCAN_OF("b", "0.0", "a[1]", "", FAULT) R("b[1]"),
    };
    const mdf_options plainly = {.plain = true}, options = {.n_threads = 2};

    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        struct engine plain, engine;

        begin(&plain, functions[i], 30, &plainly);
        begin(&engine, functions[i], 30, &options);
        for (int n = 0; n < N_EVALUATIONS; n++) {
            cr_assert_neq(mdf_evaluate(plain.state, NAN, &plain.error), MDF_OK);
            cr_assert_neq(mdf_evaluate(engine.state, NAN, &engine.error), MDF_OK);
            cr_expect_str_eq(engine.error.message, plain.error.message);
        }
        engine_end(&plain);
        engine_end(&engine);
    }
}
