/* test_buffer_reuse.c - large arrays whose memory passes on within an evaluation: results, and everything that is asked for by
 * name afterwards, have the bits of plain runs; evaluations allocate nothing once they are steady. Spare blocks of memory. */
#include "mdf_c/run/buffer_reuse.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The lowered form of each node, that of the sum aside, is given up after some evaluations; only then arrays are let go. */
enum { CHANNELS = 4, SIZE = 96, N_ELEMENTS = CHANNELS * SIZE * SIZE, ROUNDS_TO_SETTLE = 10 };

#define UNARY(name, function, port)                                                                               \
    "\"" name "\": {\"input_ports\": {\"x\": {}}, \"functions\": {\"" name "\": {\"function\": \"onnx::" function \
    "\", \"args\": {\"" port "\": \"x\"}}}, \"output_ports\": {\"y\": {\"value\": \"" name "\"}}}"
#define EDGE(name, from, to, port)                                                                                               \
    "\"" name "\": {\"sender\": \"" from "\", \"sender_port\": \"y\", \"receiver\": \"" to "\", \"receiver_port\": \"" port "\"" \
    "}"

/* A convolution, the limits that follow it, and a sum of what two nodes made at different times. */
static void write_model(char *text, size_t size)
{
    size_t at =
        (size_t)snprintf(text, size,
                         "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"conv\": {\"input_ports\": {\"x\": {}}, \"parameters\": "
                         "{\"w\": {\"value\": [");

    for (int i = 0; i < CHANNELS * CHANNELS; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s[[%d.5, 0.25], [-1.5, %d.125]]%s", i % CHANNELS == 0 ? "[" : "", i % 3,
                               i % 2,
                               i % CHANNELS < CHANNELS - 1   ? ", "
                               : i + 1 < CHANNELS * CHANNELS ? "], "
                                                             : "]");
    }
    at += (size_t)snprintf(
        text + at, size - at,
        "]}}, \"functions\": {\"conv\": {\"function\": \"onnx::Conv\", \"args\": "
        "{\"X\": "
        "\"x\", \"W\": \"w\", \"auto_pad\": \"SAME_UPPER\"}}}, \"output_ports\": {\"y\": {\"value\": "
        "\"conv\"}}}, " UNARY("relu", "Relu", "X") ", " UNARY(
            "tanh", "Tanh",
            "input") ", \"sum\": {\"input_ports\": {\"a\": {}, \"b\": {}}, \"functions\": {\"sum\": "
                     "{\"function\": \"onnx::Add\", \"args\": {\"A\": \"a\", \"B\": \"b\"}}}, "
                     "\"output_ports\": {\"y\": {\"value\": \"sum\"}}}, " UNARY("last", "Exp", "input") "}, \"edges\": {" EDGE(
                         "e", "conv", "relu", "x") ", " EDGE("f", "relu", "tanh",
                                                             "x") ", " EDGE("g", "relu", "sum",
                                                                            "a") ", " EDGE("h", "tanh", "sum",
                                                                                           "b") ", " EDGE("i",
                                                                                                          "su"
                                                                                                          "m",
                                                                                                          "las"
                                                                                                          "t",
                                                                                                          "x") "}}}}}");
    cr_assert(at < size);
}

struct pair {
    struct engine run, plain;
    float *elements;
    unsigned seed;
};

static void begin(struct pair *pair)
{
    char *text = malloc(1 << 16);
    mdf_options options = {.n_threads = 2}, plain = {.n_threads = 1, .plain = true};

    memset(pair, 0, sizeof *pair);
    write_model(text, 1 << 16);
    cr_assert(engine_begin(&pair->run, text, &options), "%s: %s", pair->run.error.path, pair->run.error.message);
    cr_assert(engine_begin(&pair->plain, text, &plain));
    pair->elements = malloc(N_ELEMENTS * sizeof *pair->elements);
    free(text);
}

static void end(struct pair *pair)
{
    engine_end(&pair->run);
    engine_end(&pair->plain);
    free(pair->elements);
}

static void evaluate(struct pair *pair)
{
    static const int64_t shape[4] = {1, CHANNELS, SIZE, SIZE};
    const mdf_tensor x = {MDF_DTYPE_FLOAT32, 4, shape, pair->elements};

    for (size_t i = 0; i < N_ELEMENTS; i++) {
        pair->elements[i] = (float)(rand_r(&pair->seed) % 2000) / 1000 - 1;
    }
    cr_assert_eq(mdf_set_input(pair->run.state, "conv.x", &x, &pair->run.error), MDF_OK);
    cr_assert_eq(mdf_set_input(pair->plain.state, "conv.x", &x, &pair->plain.error), MDF_OK);
    cr_assert_eq(mdf_evaluate(pair->run.state, NAN, &pair->run.error), MDF_OK, "%s", pair->run.error.message);
    cr_assert_eq(mdf_evaluate(pair->plain.state, NAN, &pair->plain.error), MDF_OK);
}

static void check_values(const mdf_value *value, const mdf_value *plain, const char *what)
{
    mdf_tensor is, wanted;

    cr_assert(mdf_value_tensor(value, &is) && mdf_value_tensor(plain, &wanted), "%s", what);
    cr_assert(is.dtype == MDF_DTYPE_FLOAT32 && wanted.dtype == is.dtype && is.rank == 4 && wanted.rank == 4);
    cr_assert(memcmp(is.shape, wanted.shape, 4 * sizeof *is.shape) == 0, "%s", what);
    cr_assert(memcmp(is.data, wanted.data, N_ELEMENTS * sizeof(float)) == 0, "%s", what);
}

static void check_output(const struct pair *pair, const char *node)
{
    check_values(mdf_output(pair->run.state, node, "y"), mdf_output(pair->plain.state, node, "y"), node);
}

static void warm_up(struct pair *pair)
{
    for (size_t round = 0; round < ROUNDS_TO_SETTLE; round++) {
        evaluate(pair);
        check_output(pair, "last");
    }
    cr_assert_eq(pair->run.state->reuse->n_gone, 3, "%zu", pair->run.state->reuse->n_gone);
}

Test(buffer_reuse, what_is_gone_is_made_again)
{
    static const char *const nodes[] = {"relu", "conv", "sum", "tanh", "last"};

    for (size_t first = 0; first < 5; first++) {
        struct pair pair;

        begin(&pair);
        warm_up(&pair);
        for (size_t i = 0; i < 5; i++) {
            check_output(&pair, nodes[(first + i) % 5]);
        }
        cr_assert_eq(pair.run.state->reuse->n_gone, 0);
        evaluate(&pair);
        cr_assert_eq(pair.run.state->reuse->n_gone, 0);
        for (size_t i = 0; i < 5; i++) {
            check_output(&pair, nodes[(first + i) % 5]);
        }
        end(&pair);
    }
}

Test(buffer_reuse, ports_and_functions_are_made_again)
{
    struct pair pair;

    begin(&pair);
    warm_up(&pair);
    check_values(mdf_part_at(pair.run.state, 3, MDF_PART_INPUT, 1, 0), mdf_part_at(pair.plain.state, 3, MDF_PART_INPUT, 1, 0),
                 "what the sum gets");
    check_values(mdf_part_at(pair.run.state, 1, MDF_PART_INPUT, 0, 0), mdf_part_at(pair.plain.state, 1, MDF_PART_INPUT, 0, 0),
                 "what the limits get");
    end(&pair);
}

Test(buffer_reuse, a_new_beginning_forgets)
{
    struct pair pair;

    begin(&pair);
    warm_up(&pair);
    cr_assert_eq(mdf_state_reset(pair.run.state, 1, &pair.run.error), MDF_OK);
    cr_assert_eq(pair.run.state->reuse->n_gone, 0);
    evaluate(&pair);
    check_output(&pair, "sum");
    end(&pair);
}

Test(buffer_reuse, steady_evaluations_allocate_nothing)
{
    struct pair pair;
    size_t n_before;

    begin(&pair);
    warm_up(&pair);
    n_before = pair.run.state->shared->memory.n_allocations;
    for (size_t round = 0; round < 3; round++) {
        evaluate(&pair);
        check_output(&pair, "last");
    }
    cr_assert_eq(pair.run.state->shared->memory.n_allocations, n_before);
    end(&pair);
}

Test(buffer_reuse, spare_blocks)
{
    enum { LARGE = 1 << 17 };
    struct mdf_memory memory;
    void *blocks[2], *small;

    mdf_memory_init(&memory, NULL, 5 * LARGE);
    cr_assert(mdf_memory_keep_spares(&memory));
    blocks[0] = mdf_memory_allocate(&memory, LARGE);
    blocks[1] = mdf_memory_allocate(&memory, 2 * LARGE);
    mdf_memory_release(&memory, blocks[0]);
    mdf_memory_release(&memory, blocks[1]);
    cr_assert_eq(mdf_memory_allocate(&memory, LARGE - 100), blocks[0], "the smallest block that is large enough");
    small = mdf_memory_allocate(&memory, LARGE / 4);
    cr_assert_neq(small, blocks[1], "a block is not wasted on a small thing");
    mdf_memory_release(&memory, small);
    small = mdf_memory_allocate(&memory, 3 * LARGE);
    cr_assert_not_null(small, "spare blocks are let go before memory is refused");
    cr_assert_not(memory.limit_hit);
    cr_assert_null(mdf_memory_allocate(&memory, LARGE));
    cr_assert(memory.limit_hit);
    mdf_memory_release(&memory, small);
    mdf_memory_release(&memory, blocks[0]);
    mdf_memory_drop_spares(&memory);
    cr_assert_eq(memory.used_bytes, 0);
}
