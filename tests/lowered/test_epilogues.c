/* test_epilogues.c - limits that a convolution puts on its result for the node behind it: all values that can be looked at have
 * the bits that they have where instructions are run as they stand, the convolution's own, which it has not written, included. */
#include "mdf_c/run/epilogues.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RUNS = 4 };

/* A convolution of `channels` channels of rows by columns to `outputs` ones, and what is done to its result. */
struct example {
    int channels, outputs, groups, kernel, stride, rows, columns;
    const char *operation; /* node "b" */
    const char *more;      /* other nodes and edges: ", ..." */
    bool is_fused;
};

#define RELU "\"function\": \"onnx::Relu\", \"args\": {\"X\": \"x\"}"
#define CLIP(low, high) "\"function\": \"onnx::Clip\", \"args\": {\"input\": \"x\", \"min\": " low ", \"max\": " high "}"

static const struct example examples[] = {
    {3, 5, 1, 3, 1, 9, 40, RELU, NULL, true},
    {3, 13, 1, 3, 2, 9, 40, CLIP("-0.5", "0.25"), NULL, true},
    {40, 30, 1, 3, 1, 5, 7, CLIP("-0.0", "6"), NULL, true}, /* depths of more than one block, tiles that stick out */
    {64, 32, 1, 1, 1, 13, 29, RELU, NULL, true},
    {6, 6, 6, 3, 1, 12, 33, RELU, NULL, true},
    {6, 12, 6, 5, 2, 12, 33, CLIP("0.5", "-0.5"), NULL, true},
    {4, 4, 4, 2, 1, 8, 19, CLIP("0", "6"), NULL, true},
    {12, 6, 2, 3, 1, 9, 21, RELU, NULL, true},
    {3, 5, 1, 3, 1, 9, 40, CLIP("NaN", "1"), NULL, false}, /* a bound that is NaN is no limit */
    {3, 5, 1, 3, 1, 9, 40, "\"function\": \"onnx::Neg\", \"args\": {\"X\": \"x\"}", NULL, false},
    /* The convolution has another reader. */
    {3, 5, 1, 3, 1, 9, 40, RELU,
     "\"c\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {\"value\": \"x * 2\"}}, \"output_ports\": {\"y\": "
     "{\"value\": "
     "\"p\"}}}",
     false},
};

/* Weights of shape [outputs, channels of a group, kernel, kernel] as nested lists. */
static size_t write_weights(const struct example *example, char *text, size_t size)
{
    size_t shape[4] = {(size_t)example->outputs, (size_t)(example->channels / example->groups), (size_t)example->kernel,
                       (size_t)example->kernel};
    size_t n = shape[0] * shape[1] * shape[2] * shape[3], at = 0;
    unsigned seed = 5;

    for (size_t i = 0; i < n; i++) {
        size_t block = 1;

        for (size_t axis = 4; axis-- > 0;) {
            block *= shape[axis];
            at += (size_t)snprintf(text + at, size - at, "%s", i % block == 0 ? "[" : "");
        }
        at += (size_t)snprintf(text + at, size - at, "%.3f", rand_r(&seed) % 2000 / 1000.0 - 1);
        block = 1;
        for (size_t axis = 4; axis-- > 0;) {
            block *= shape[axis];
            at += (size_t)snprintf(text + at, size - at, "%s", (i + 1) % block == 0 ? "]" : "");
        }
        at += (size_t)snprintf(text + at, size - at, "%s", i + 1 < n ? ", " : "");
    }
    return at;
}

static void write_model(const struct example *example, char *text, size_t size)
{
    size_t at;

    at = (size_t)snprintf(
        text, size,
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"w\": "
        "{\"value\": ");
    at += write_weights(example, text + at, size - at);
    at += (size_t)snprintf(
        text + at, size - at,
        ", \"metadata\": {\"type\": \"float32\"}}, \"c\": "
        "{\"function\": \"onnx::Conv\", \"args\": {\"X\": \"x\", \"W\": \"w\", \"group\": %d, \"strides\": [%d, %d],"
        " \"pads\": [1, 1, 1, 1]}}}, \"output_ports\": {\"y\": {\"value\": \"c\"}}}",
        example->groups, example->stride, example->stride);
    at += (size_t)snprintf(
        text + at, size - at,
        ", \"b\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {%s}}, \"output_ports\": {\"y\": "
        "{\"value\": \"p\"}}}%s%s}, \"edges\": {\"e\": {\"sender\": \"a\", \"sender_port\": \"y\", \"receiver\": "
        "\"b\", \"receiver_port\": \"x\"}%s}}}}}",
        example->operation, example->more != NULL ? ", " : "", example->more != NULL ? example->more : "",
        example->more != NULL ? ", \"f\": {\"sender\": \"a\", \"sender_port\": \"y\", \"receiver\": \"c\", "
                                "\"receiver_port\": \"x\"}"
                              : "");
    cr_assert(at < size);
}

static void begin(struct engine *run, const char *text, bool plain)
{
    mdf_options options = {.plain = plain, .n_threads = 2};

    cr_assert(engine_begin(run, text, &options), "%s: %s", run->error.path, run->error.message);
}

static void evaluate(struct engine *run, const mdf_tensor *x)
{
    cr_assert_eq(mdf_set_input(run->state, "a.x", x, &run->error), MDF_OK);
    cr_assert_eq(mdf_evaluate(run->state, NAN, &run->error), MDF_OK, "%s", run->error.message);
}

static void check_same(const mdf_value *value, const mdf_value *plain, const char *what, size_t example)
{
    mdf_tensor is, wanted;
    size_t n = 1;

    cr_assert(mdf_value_tensor(value, &is) && mdf_value_tensor(plain, &wanted) && is.dtype == MDF_DTYPE_FLOAT32 &&
              is.dtype == wanted.dtype && is.rank == wanted.rank);
    for (size_t i = 0; i < is.rank; i++) {
        cr_assert(is.shape[i] == wanted.shape[i]);
        n *= (size_t)is.shape[i];
    }
    cr_assert(memcmp(is.data, wanted.data, n * sizeof(float)) == 0, "example %zu: %s differs", example, what);
}

static void check_example(size_t number)
{
    const struct example *example = &examples[number];
    int64_t shape[4] = {1, example->channels, example->rows, example->columns};
    size_t n = (size_t)(shape[1] * shape[2] * shape[3]);
    char *text = malloc(1 << 18);
    float *elements = malloc(n * sizeof *elements);
    const mdf_tensor x = {MDF_DTYPE_FLOAT32, 4, shape, elements};
    unsigned seed = 3;
    struct engine run, plain;

    write_model(example, text, 1 << 18);
    begin(&run, text, false);
    begin(&plain, text, true);
    for (size_t round = 0; round < N_RUNS; round++) {
        for (size_t i = 0; i < n; i++) {
            elements[i] = (float)(rand_r(&seed) % 2000) / 1000 - 1;
        }
        elements[rand_r(&seed) % n] = round == 1 ? NAN : round == 2 ? -INFINITY : -0.0f;
        evaluate(&run, &x);
        evaluate(&plain, &x);
        if (round != 2) { /* what is not asked for in one round must not be taken for known in the next */
            check_same(mdf_part_at(run.state, 1, MDF_PART_INPUT, 0, 0), mdf_part_at(plain.state, 1, MDF_PART_INPUT, 0, 0),
                       "what the node gets", number);
            check_same(mdf_output(run.state, "a", "y"), mdf_output(plain.state, "a", "y"), "the convolution", number);
        }
        check_same(mdf_output(run.state, "b", "y"), mdf_output(plain.state, "b", "y"), "the result", number);
    }
    cr_assert_null(plain.state->epilogues);
    cr_assert_eq(run.state->epilogues != NULL && run.state->epilogues->of_producer[0] != NULL, example->is_fused, "example %zu",
                 number);
    engine_end(&run);
    engine_end(&plain);
    free(elements);
    free(text);
}

Test(epilogues, have_the_bits_of_plain_runs)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        check_example(i);
    }
}

/* A convolution of constants, which is a constant where it is lowered, and a node that a text is no input of. */
static const char constants[] =
    "{\"m\": {\"graphs\": {\"g\": {\"parameters\": {\"x\": {\"value\": [[[[1.0, -2.0, 3.0], [0.5, 0.25, -1.0], [2.0, 1.0, -3.0]]]], "
    "\"metadata\": {\"type\": \"float64\"}}, \"w\": {\"value\": [[[[1.0, -0.5], [0.25, 2.0]]]], \"metadata\": {\"type\": \"float64\"}}}, "
    "\"nodes\": {\"t\": {\"input_ports\": {\"v\": {}}, \"parameters\": {\"q\": {\"function\": \"onnx::Pad\", \"args\": {\"data\": \"v\", "
    "\"pads\": [1, 1]}}}, \"output_ports\": {\"y\": {\"value\": \"q\"}}}, \"a\": {\"parameters\": {\"c\": {\"function\": \"onnx::Conv\", "
    "\"args\": {\"X\": \"x\", \"W\": \"w\"}}}, \"output_ports\": {\"y\": {\"value\": \"c\"}}}, \"b\": {\"input_ports\": {\"x\": {}}, "
    "\"parameters\": {\"p\": {" RELU "}}, \"output_ports\": {\"y\": {\"value\": \"p\"}}}}, "
    "\"edges\": {\"e\": {\"sender\": \"a\", \"sender_port\": \"y\", \"receiver\": \"b\", \"receiver_port\": \"x\"}}}}}}";

static mdf_status evaluate_with(struct engine *run, const char *json)
{
    cr_assert_eq(mdf_set_input_json(run->state, "t.v", json, &run->error), MDF_OK);
    return mdf_evaluate(run->state, NAN, &run->error);
}

/* The graph is lowered, then, as a text comes, each node by itself: what lowered code makes it does not limit. */
Test(epilogues, are_not_taken_for_done_where_the_producer_is_lowered)
{
    struct engine run;
    mdf_tensor result;

    begin(&run, constants, false);
    for (int i = 0; i < N_RUNS; i++) {
        cr_assert_eq(evaluate_with(&run, "[1.0, 2.0]"), MDF_OK, "%s", run.error.message);
    }
    mdf_state_free(run.state); /* the next one has what it has learned, without its values */
    run.state = mdf_state_new(run.program, &run.error);
    cr_assert(run.state != NULL);
    for (int i = 0; i < 2; i++) {
        cr_assert_neq(evaluate_with(&run, "\"text\""), MDF_OK);
    }
    for (int i = 0; i < N_RUNS; i++) {
        cr_assert_eq(evaluate_with(&run, "[1.0, 2.0]"), MDF_OK, "%s", run.error.message);
        cr_expect(mdf_value_tensor(mdf_output(run.state, "b", "y"), &result), "evaluation %d", i);
    }
    engine_end(&run);
}
