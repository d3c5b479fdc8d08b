/* test_lower_product.c - recurrent nets as Scan bodies: products that are prepared, and those that are computed ahead for many
 * steps, give the bits that the instructions give as they stand; also where memory is refused. */
#include "mdf_c/base/text.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "mdf_c/run/whole/whole.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_INPUTS = 6 };
enum { MOST_LOWERED = 16 /* rows; with more, arrays may be so long that a node is not lowered */ };

/* A net: its sizes, and its body's parameters as text. */
struct net {
    mdf_dtype dtype;
    int64_t n_steps, batch, n_in, n; /* h: batch by n; x: n_steps by batch by n_in */
    const char *body;                /* makes `next` of h, x, W (n_in by n), R (n by n), V (n by n), b (n) */
    bool is_reversed, is_stacked_reversed;
    const char *stacked; /* the parameter that is stacked beside `next`, twice; NULL: `next` */
    const char *lengths; /* of the sequences of a Scan of version 8; NULL: it is one of version 9 */
    int64_t n_sequences;
};

static const char *const bodies[] = {
    "\"s\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"W\"}},"
    "\"k\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"h\", \"B\": \"R\"}},"
    "\"t\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"s\", \"B\": \"k\"}},"
    "\"u\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"t\", \"B\": \"b\"}},"
    "\"next\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"u\"}}",
    /* a bias as the start of sums; the weights lie by columns */
    "\"s\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"x\", \"B\": \"W\", \"C\": \"b\"}},"
    "\"k\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"h\", \"B\": \"R\", \"C\": \"s\"}},"
    "\"l\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"k\", \"B\": \"V\", \"C\": \"b\", \"transB\": 1}},"
    "\"next\": {\"function\": \"onnx::Sigmoid\", \"args\": {\"X\": \"l\"}}",
    /* a start that is no row: it has no axis, or one element */
    "\"o\": {\"function\": \"onnx::ReduceMax\", \"args\": {\"data\": \"b\", \"keepdims\": 0}},"
    "\"p\": {\"function\": \"onnx::ReduceMax\", \"args\": {\"data\": \"b\", \"keepdims\": 1}},"
    "\"s\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"x\", \"B\": \"W\", \"C\": \"o\"}},"
    "\"k\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"h\", \"B\": \"R\", \"C\": \"p\"}},"
    "\"t\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"s\", \"B\": \"k\"}},"
    "\"next\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"t\"}}",
    /* an item by way of a copy; a product that is the state itself */
    "\"y\": {\"function\": \"onnx::Identity\", \"args\": {\"input\": \"x\"}},"
    "\"s\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"y\", \"B\": \"W\"}},"
    "\"t\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"s\", \"B\": \"h\"}},"
    "\"u\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"t\"}},"
    "\"next\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"u\", \"B\": \"V\"}}",
    /* what is computed ahead is the state */
    "\"next\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"W\"}}",
    /* the second matrix changes */
    "\"s\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"W\"}},"
    "\"m\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"R\", \"B\": \"s[0]\"}},"
    "\"k\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"h\", \"B\": \"m\"}},"
    "\"next\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"k\"}}",
    /* the second matrix is the state */
    "\"y\": {\"function\": \"onnx::Transpose\", \"args\": {\"data\": \"x\"}},"
    "\"a\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"y\"}},"
    "\"k\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"a\", \"B\": \"h\"}},"
    "\"next\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"k\"}}",
    /* gates that are parts of products; a part that is a state */
    "\"s\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"W\"}},"
    "\"k\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"h\", \"B\": \"R\"}},"
    "\"two\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": [\"s\", \"k\"], \"axis\": 1}},"
    "\"f\": {\"function\": \"onnx::Split\", \"args\": {\"input\": \"two\", \"axis\": 1}},"
    "\"g\": {\"function\": \"onnx::Sigmoid\", \"args\": {\"X\": \"f[0]\"}},"
    "\"t\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"g\", \"B\": \"f[1]\"}},"
    "\"both\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": [\"t\", \"h\"], \"axis\": 1}},"
    "\"q\": {\"function\": \"onnx::Split\", \"args\": {\"input\": \"both\", \"axis\": 1}},"
    "\"d\": {\"function\": \"onnx::Slice\", \"args\": {\"data\": \"two\", \"starts\": [1], \"ends\": [99999], \"axes\": [1]}},"
    "\"r\": {\"function\": \"onnx::ReduceMean\", \"args\": {\"data\": \"d\", \"axes\": [1]}},"
    "\"m\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"q[0]\", \"B\": \"r\"}},"
    "\"y\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"q[1]\"}},"
    "\"c\": {\"function\": \"onnx::Concat\", \"args\": {\"inputs\": [\"m\", \"y\"], \"axis\": 1}},"
    "\"e\": {\"function\": \"onnx::Split\", \"args\": {\"input\": \"c\", \"axis\": 1}},"
    "\"w\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"e[1]\"}},"
    "\"next\": {\"function\": \"onnx::Identity\", \"args\": {\"input\": \"e[0]\"}}",
    /* products of one input with two matrices */
    "\"s\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"W\"}},"
    "\"z\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"x\", \"B\": \"W\", \"C\": \"b\"}},"
    "\"k\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"h\", \"B\": \"R\"}},"
    "\"g\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"k\", \"B\": \"s\"}},"
    "\"e\": {\"function\": \"onnx::Sigmoid\", \"args\": {\"X\": \"g\"}},"
    "\"w\": {\"function\": \"onnx::Sub\", \"args\": {\"A\": \"h\", \"B\": \"z\"}},"
    "\"v\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"e\", \"B\": \"w\"}},"
    "\"next\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"z\", \"B\": \"v\"}}",
};

/* Those whose `out` is stacked, a product of what is stacked too. */
static const char *const stacked_bodies[] = {
    "\"s\": {\"value\": \"numpy.matmul(x, W)\"}, \"k\": {\"value\": \"numpy.dot(h, R)\"},"
    "\"next\": {\"value\": \"numpy.tanh(s + k)\"}, \"out\": {\"value\": \"numpy.matmul(next, V)\"}",
    "\"k\": {\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"h\", \"B\": \"R\"}},"
    "\"u\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"k\", \"B\": \"b\"}},"
    "\"next\": {\"function\": \"onnx::Tanh\", \"args\": {\"input\": \"u\"}},"
    "\"out\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"next\", \"B\": \"V\", \"C\": \"b\", \"transB\": 1}}",
    /* another shape of the rows; a start that changes */
    "\"next\": {\"value\": \"numpy.tanh(h + 0.1)\"}, \"row\": {\"value\": \"numpy.reshape(next, [1, -1, next.shape[-1]])\"},"
    "\"out\": {\"value\": \"numpy.matmul(row, V)\"}",
    "\"next\": {\"value\": \"numpy.tanh(h + 0.1)\"}, \"d\": {\"value\": \"next[0]\"},"
    "\"out\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"next\", \"B\": \"V\", \"C\": \"d\"}}",
    /* what is stacked is also read in the loop, or is the state */
    "\"out\": {\"value\": \"numpy.matmul(h, V)\"}, \"next\": {\"value\": \"numpy.tanh(out + b)\"}",
    "\"next\": {\"value\": \"numpy.matmul(h, V)\"}, \"out\": {\"value\": \"next\"}",
};

static void write_net(struct mdf_text *text, const struct net *net)
{
    mdf_text_printf(text,
                    "{\"m\": {\"onnx_opset_version\": \"%s\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": "
                    "{\"h0\": {}, \"xs\": {}, \"W\": {}, \"R\": {}, \"V\": {}, \"b\": {}}, \"parameters\": {\"scan\": "
                    "{\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": [\"h0\", \"xs\"], "
                    "\"num_scan_inputs\": 1, ",
                    net->lengths != NULL ? "8" : "16");
    if (net->lengths == NULL) {
        mdf_text_printf(text, "\"scan_input_directions\": [%d], \"scan_output_directions\": [%d, %d, %d], ", net->is_reversed,
                        net->is_stacked_reversed, net->is_stacked_reversed, net->is_stacked_reversed);
    } else {
        mdf_text_printf(text, "\"directions\": [%d], \"sequence_lens\": \"%s\", ", net->is_reversed, net->lengths);
    }
    mdf_text_append_string(
        text,
        "\"body\": {\"cell\": {\"metadata\": {\"inputs\": [\"h\", \"x\"], \"outputs\": [\"h_next\", \"y\", \"z\", \"same\"]}, "
        "\"nodes\": {\"c\": {\"input_ports\": {\"h\": {}, \"x\": {}}, \"parameters\": {");
    mdf_text_append_string(text, net->body);
    mdf_text_printf(
        text,
        "}, \"output_ports\": {\"h_next\": {\"value\": \"next\"}, \"y\": {\"value\": \"%s\"}, \"z\": {\"value\": \"next\"}, "
        "\"same\": {\"value\": \"%s\"}}}}}}}}}, \"output_ports\": {\"last\": {\"value\": \"scan[0]\"}, \"all\": {\"value\": "
        "\"scan[1]\"}, \"others\": {\"value\": \"scan[2]\"}, \"again\": {\"value\": \"scan[3]\"}}}}}}}}",
        net->stacked != NULL ? net->stacked : "next", net->stacked != NULL ? net->stacked : "next");
}

/* Input number `i`, of other numbers for another seed. */
static mdf_status set_input(struct engine *engine, const struct net *net, size_t i, unsigned seed)
{
    static const char *const names[N_INPUTS] = {"h0", "xs", "W", "R", "V", "b"};
    const int64_t shapes[N_INPUTS][4] = {{net->n_sequences, net->batch, net->n},
                                         {net->n_sequences, net->n_steps, net->batch, net->n_in},
                                         {net->n_in, net->n},
                                         {net->n, net->n},
                                         {net->n, net->n},
                                         {net->n}};
    static const size_t ranks[N_INPUTS] = {3, 4, 2, 2, 2, 1};
    size_t first = i < 2 && net->lengths == NULL ? 1 : 0, length = 1;
    mdf_tensor tensor = {.dtype = net->dtype, .rank = ranks[i] - first, .shape = shapes[i] + first};
    mdf_status status;
    double *doubles;
    float *floats;

    for (size_t axis = first; axis < ranks[i]; axis++) {
        length *= (size_t)shapes[i][axis];
    }
    doubles = malloc((length + 1) * sizeof *doubles);
    floats = (float *)(void *)doubles;
    for (size_t j = 0; j < length; j++) {
        double number = (double)(rand_r(&seed) % 2001 - 1000) / (2000 + (int)(rand_r(&seed) % 977));

        if (net->dtype == MDF_DTYPE_FLOAT32) {
            floats[j] = (float)number;
        } else {
            doubles[j] = number;
        }
    }
    tensor.data = doubles;
    status = mdf_set_input(engine->state, names[i], &tensor, &engine->error);
    free(doubles);
    return status;
}

static mdf_status evaluate(struct engine *engine, const struct net *net, unsigned seed)
{
    mdf_status status = MDF_OK;

    memset(&engine->error, 0, sizeof engine->error);
    for (size_t i = 0; i < N_INPUTS && status == MDF_OK; i++) {
        status = set_input(engine, net, i, seed + (unsigned)i);
    }
    return status == MDF_OK ? mdf_evaluate(engine->state, NAN, &engine->error) : status;
}

static void compare_values(const mdf_value *got, const mdf_value *want, const struct net *net, unsigned seed)
{
    size_t n_bytes = want->length * mdf_dtype_size((mdf_dtype)want->dtype);

    cr_assert(got->kind == want->kind && got->dtype == want->dtype && got->length == want->length);
    cr_assert(want->length == 0 || memcmp(got->data, want->data, n_bytes) == 0,
              "%s, %lld steps, batch %lld, %lld to %lld, reversed %d %d, seed %u: %s", mdf_dtype_name(net->dtype),
              (long long)net->n_steps, (long long)net->batch, (long long)net->n_in, (long long)net->n, net->is_reversed,
              net->is_stacked_reversed, seed, net->body);
}

/* The whole graph, or its only node. */
static struct mdf_lowered *lowered_of(const struct mdf_state *state)
{
    return state->whole->single.fast.lowered != NULL ? state->whole->single.fast.lowered : state->nodes[0].fast.lowered;
}

static bool has_product_behind(const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_loop *loop = region->ops[i].code == MDF_LOWERED_LOOP ? region->ops[i].of.loop : NULL;

        for (size_t k = 0; loop != NULL && k < loop->n_products; k++) {
            if (loop->products[k]->is_behind) {
                return true;
            }
        }
    }
    return false;
}

/* Evaluates a net five times both ways, with other weights each time; the last times without machine code. Whether some product
 * is computed behind the loop. */
static bool compare(const struct net *net)
{
    bool is_behind = false;
    struct mdf_memory memory;
    struct engine plain, lowered;
    struct mdf_text text;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_net(&text, net);
    cr_assert(engine_begin(&plain, text.bytes, &(mdf_options){.plain = true}), "%s", plain.error.message);
    cr_assert(engine_begin(&lowered, text.bytes, &(mdf_options){.n_threads = 2}), "%s", lowered.error.message);
    for (unsigned seed = 1; seed < 6; seed++) {
        struct mdf_lowered *fast = lowered_of(lowered.state);
        mdf_status want, got;

        cr_assert(seed < 4 || net->n_steps == 0 || net->batch > MOST_LOWERED || fast != NULL, "%s is not lowered", net->body);
        if (seed >= 4 && fast != NULL) {
            fast->code = NULL;
        }
        want = evaluate(&plain, net, seed);
        got = evaluate(&lowered, net, seed);
        cr_assert(want == got, "%s: %s, %s", net->body, plain.error.message, lowered.error.message);
        for (size_t i = 0; i < 4 && want == MDF_OK; i++) {
            compare_values(mdf_output_at(lowered.state, 0, i), mdf_output_at(plain.state, 0, i), net, seed);
        }
    }
    is_behind = lowered_of(lowered.state) != NULL && has_product_behind(&lowered_of(lowered.state)->region);
    mdf_text_release(&text);
    engine_end(&plain);
    engine_end(&lowered);
    return is_behind;
}

Test(lower_product, nets_give_the_bits_of_their_instructions)
{
    static const int64_t steps[] = {0, 1, 2, 3, 17, 33, 100, 251}, batches[] = {1, 2, 3, 5, 16, 65};
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 8, 16, 19, 33, 64};
    unsigned seed = 5;

    for (size_t i = 0; i < 64; i++) {
        struct net net = {.dtype = rand_r(&seed) % 3 == 0 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32};

        net.body = bodies[i % (sizeof bodies / sizeof *bodies)];
        net.n_steps = steps[(size_t)rand_r(&seed) % 8];
        net.batch = batches[(size_t)rand_r(&seed) % 6];
        net.n_in = sizes[(size_t)rand_r(&seed) % 10];
        net.n = sizes[(size_t)rand_r(&seed) % 10];
        net.is_reversed = rand_r(&seed) % 3 == 0;
        net.is_stacked_reversed = rand_r(&seed) % 3 == 0;
        compare(&net);
    }
}

/* Of each body of a product that is stacked: whether it is computed behind the loop. */
Test(lower_product, stacked_products_are_computed_behind_the_loop)
{
    static const bool is_behind[] = {true, true, true, false, false, false};

    for (size_t i = 0; i < 24; i++) {
        struct net net = {.dtype = i % 2 == 0 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32, .n_in = 19, .n = 64, .stacked = "out"};
        size_t body = i % (sizeof stacked_bodies / sizeof *stacked_bodies);

        net.body = stacked_bodies[body];
        net.n_steps = i < 12 ? 33 : 2;
        net.batch = i % 3 == 0 ? 1 : 5;
        net.is_stacked_reversed = i % 4 >= 2;
        cr_expect_eq(compare(&net), is_behind[body], "%s", net.body);
    }
}

Test(lower_product, long_sums_go_on_from_block_to_block)
{
    struct net net = {.dtype = MDF_DTYPE_FLOAT32, .n_steps = 40, .batch = 3, .n_in = 600, .n = 70, .body = bodies[1]};

    compare(&net);
    net.batch = 1;
    compare(&net);
    net.body = bodies[0];
    net.is_reversed = true;
    compare(&net);
}

/* Sequences of a batch, whose products are computed ahead for as many steps as each has. */
Test(lower_product, sequences_of_a_batch)
{
    static const char *const lengths[] = {"", "numpy.array([40, 40, 40])", "numpy.array([0, 1, 39])", "numpy.array([17, 16, 33])",
                                          "numpy.array([0, 0, 2])"};
    struct net net = {.n_steps = 40, .n_sequences = 3, .batch = 1, .n_in = 19};

    for (size_t i = 0; i < 10; i++) {
        net.dtype = i % 3 == 0 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
        net.body = bodies[i % 2 == 0 ? 0 : 3];
        net.lengths = lengths[i % 5];
        net.n = i % 4 == 0 ? 160 : 64;
        net.is_reversed = i >= 5;
        compare(&net);
    }
}

/* ------------------------------------------------------------------ refused memory */

/* Whichever allocation is refused, there is a result, by the instructions where need be, or an error, and nothing is lost. */
Test(lower_product, any_allocation_may_be_refused)
{
    struct net net = {.dtype = MDF_DTYPE_FLOAT32, .n_steps = 40, .batch = 3, .n_in = 40, .n = 50, .body = bodies[0]};
    struct counter counter = {.fails_once = true};
    mdf_allocator allocator = failing_allocator(&counter);
    struct mdf_memory memory;
    struct mdf_text text;
    bool is_refused = true;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_net(&text, &net);
    for (size_t refused = 1; is_refused; refused++) {
        struct engine engine;

        counter.n_calls = 0;
        counter.fail_at = refused;
        if (engine_begin(&engine, text.bytes, &(mdf_options){.allocator = &allocator})) {
            for (unsigned seed = 1; seed < 3; seed++) {
                if (evaluate(&engine, &net, seed) != MDF_OK) {
                    cr_assert_neq(engine.error.message[0], '\0', "allocation %zu", refused);
                }
            }
        }
        engine_end(&engine);
        is_refused = counter.n_calls >= refused;
        cr_assert_eq(counter.n_blocks, 0, "allocation %zu: %zu blocks are lost", refused, counter.n_blocks);
    }
    mdf_text_release(&text);
}

/* Rows of what is computed ahead are folded: they are no array from outside, which is laid out anew in front of the loop. */
Test(lower_product, what_is_computed_ahead_is_folded)
{
    static const char text[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": \"numpy.sin(numpy.reshape(numpy.arange(1520), "
        "[19, 16, 5]))\"}, \"w\": {\"value\": \"numpy.cos(numpy.reshape(numpy.arange(80), [5, 16]))\"}, \"s\": {\"function\": \"onnx::Scan\", "
        "\"args\": {\"initial_state_and_scan_inputs\": \"[0.0, x]\", \"num_scan_inputs\": 1, \"body\": \"b\"}}}, \"output_ports\": {\"y\": "
        "{\"value\": \"s[1]\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"h\", \"r\"], \"outputs\": [\"h2\", \"z\"]}, \"nodes\": {\"m\": "
        "{\"input_ports\": {\"h\": {}, \"r\": {}}, \"parameters\": {\"p\": {\"value\": \"numpy.matmul(r, w)\"}}, \"output_ports\": {\"h2\": "
        "{\"value\": \"h + 1.0\"}, \"z\": {\"value\": \"numpy.mean(p, 1) + h\"}}}}}}}}";
    struct engine engines[2];
    const void *elements[2];
    size_t n_bytes[2];
    char explained[2000];

    for (int plain = 0; plain < 2; plain++) {
        cr_assert(engine_begin(&engines[plain], text, &(mdf_options){.plain = plain == 1}), "%s", engines[plain].error.message);
        cr_assert_eq(engine_evaluate(&engines[plain], 5), MDF_OK, "%s", engines[plain].error.message);
        elements[plain] = engine_output(&engines[plain], "n", "y", &n_bytes[plain]);
    }
    cr_expect_eq(n_bytes[0], 19 * 16 * sizeof(double));
    cr_expect(n_bytes[0] == n_bytes[1] && memcmp(elements[0], elements[1], n_bytes[0]) == 0);
    mdf_explain(engines[0].state, explained, sizeof explained);
    cr_expect(strstr(explained, "because") == NULL || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64), "%s", explained);
    engine_end(&engines[0]);
    engine_end(&engines[1]);
}
