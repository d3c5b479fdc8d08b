/* test_compile_left_out.c - operators of several results of which only some are read: node by node, in loops and in generated C
 * what is read is the same as where all are. */
#include "mdf_c/base/text.h"
#include "tests/support/compile_runs.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(compile_left_out, .init = compile_set_up, .fini = compile_tear_down);

#define ROW "[0.5, -1.0, 2.0, 3.0]"
#define ROWS "[" ROW ", [1.5, 0.25, -2.0, 1.0]]"
#define WEIGHTS "[0.1, 0.2, -0.3, 0.4], [0.5, -0.6, 0.7, 0.1], [-0.2, 0.3, 0.9, -0.4], [1.0, -0.8, 0.6, 0.7]"
#define PORT(name, type, shape, value) \
    "\"" name "\": {\"type\": \"" type "\", \"shape\": [" shape "], \"default_value\": " value "}"
#define REAL(name, shape, value) PORT(name, "float32", shape, value)

/* What operators are given, of which a body makes other numbers in each of its runs: those of float32. */
static const char *const given[] = {"m", "s", "x", "i", "w"};
/* clang-format off */
static const char ports[] =
    REAL("m_given", "2, 4", ROWS) ", "
    REAL("s_given", "4", ROW) ", "
    REAL("x_given", "1, 2, 4", "[" ROWS "]") ", "
    REAL("i_given", "1, 1, 2, 4", "[[" ROWS "]]") ", "
    REAL("w_given", "1, 4, 4", "[[" WEIGHTS "]]") ", "
    PORT("h", "float16", "2, 4", ROWS) ", "
    PORT("l", "int64", "2", "[1, 3]");
/* clang-format on */

/* The arguments are those of float32 by their letters. */
static const struct {
    const char *function, *args;
    unsigned n_outputs;
} rows[] = {
    {"onnx::TopK", "\"X\": \"m\", \"K\": [2]", 2},
    {"onnx::TopK", "\"X\": \"h\", \"K\": [3]", 2},
    {"onnx::Unique", "\"X\": \"m\"", 4},
    {"onnx::Unique", "\"X\": \"m\", \"axis\": 1, \"sorted\": 0", 4},
    {"onnx::MaxPool", "\"X\": \"i\", \"kernel_shape\": [2, 2]", 2},
    {"onnx::LayerNormalization", "\"X\": \"m\", \"Scale\": \"s\", \"axis\": -1", 3},
    {"onnx::DynamicQuantizeLinear", "\"x\": \"m\"", 3},
    {"onnx::RNN", "\"X\": \"x\", \"W\": \"w[:, :3]\", \"R\": \"w[:, :3, :3]\", \"hidden_size\": 3", 2},
    {"onnx::GRU", "\"X\": \"x\", \"W\": \"w[:, :3]\", \"R\": \"w[:, :3, :1]\", \"hidden_size\": 1", 2},
    {"onnx::LSTM", "\"X\": \"x\", \"W\": \"w\", \"R\": \"w[:, :, :1]\", \"hidden_size\": 1", 3},
    {"onnx::SoftmaxCrossEntropyLoss", "\"scores\": \"m\", \"labels\": \"l\"", 2},
    {"onnx::Attention", "\"Q\": \"i\", \"K\": \"i\", \"V\": \"i\", \"past_key\": \"i\", \"past_value\": \"i\"", 4},
    {"onnx::Split", "\"input\": \"s\", \"num_outputs\": 3", 3},
    {"onnx::LinearAttention",
     "\"query\": \"x\", \"key\": \"x\", \"value\": \"x\", \"q_num_heads\": 2, \"kv_num_heads\": 2, \"update_rule\": \"linear\"",
     2},
    {"ai.onnx.ml::LinearClassifier",
     "\"X\": \"m\", \"coefficients\": [0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8], \"intercepts\": [0.1, -0.2], "
     "\"classlabels_ints\": [3, 5]",
     2},
    {"ai.onnx.preview.training::Adagrad", "\"R\": 0.5, \"T\": 1, \"inputs\": \"[m, m, m * m]\"", 2},
    {"ai.onnx.preview.training::Adam", "\"R\": 0.5, \"T\": 3, \"inputs\": \"[m, m, m, m * m]\"", 3},
    {"ai.onnx.preview.training::Momentum",
     "\"R\": 0.5, \"T\": 3, \"inputs\": \"[m, m, m]\", \"alpha\": 0.9, \"beta\": 0.5, \"mode\": \"nesterov\", "
     "\"norm_coefficient\": 0.1",
     2},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

/* All outputs, all but one, and one alone. */
static bool is_asked(unsigned mask, unsigned n)
{
    unsigned n_read = 0;

    for (unsigned i = 0; i < n; i++) {
        n_read += mask >> i & 1;
    }
    return n_read == 1 || n_read + 1 >= n;
}

static void write_outputs(struct mdf_text *text, const char *of, unsigned mask, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (mask >> i & 1) {
            mdf_text_printf(text, ", \"o%u\": {\"value\": \"%s[%u]\"}", i, of, i);
        }
    }
}

/* What a node or a body computes, and of which the outputs of `mask` are read. */
static void write_call(struct mdf_text *text, size_t row, bool is_body)
{
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        mdf_text_printf(text, "\"%s\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"%s_given\", \"B\": %s}}, ", given[i],
                        given[i], is_body ? "\"state\"" : "\"numpy.float32(1)\"");
    }
    mdf_text_printf(text, "\"f\": {\"function\": \"%s\", \"args\": {%s}}", rows[row].function, rows[row].args);
}

static void write_node(struct mdf_text *text, size_t row, unsigned mask)
{
    mdf_text_printf(text, ", \"n%zu_%u\": {\"input_ports\": {%s}, \"parameters\": {", row, mask, ports);
    write_call(text, row, false);
    mdf_text_printf(text, "}, \"output_ports\": {\"h\": {\"value\": \"h\"}");
    write_outputs(text, "f", mask, rows[row].n_outputs);
    mdf_text_printf(text, "}}");
    mdf_text_printf(
        text,
        ", \"l%zu_%u\": {\"input_ports\": {%s}, \"parameters\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": "
        "{\"M\": 3, \"cond\": null, \"v_initial\": \"[numpy.float32(1)]\", \"body\": \"b%zu_%u\"}}}, \"output_ports\": {",
        row, mask, ports, row, mask);
    for (unsigned i = 0, at = 1; i < rows[row].n_outputs; i++) {
        if (mask >> i & 1) {
            mdf_text_printf(text, "%s\"o%u\": {\"value\": \"f[%u]\"}", at > 1 ? ", " : "", i, at);
            at++;
        }
    }
    mdf_text_printf(text, "}}");
}

static void write_body(struct mdf_text *text, size_t row, unsigned mask)
{
    mdf_text_printf(text,
                    ", \"b%zu_%u\": {\"nodes\": {\"step\": {\"input_ports\": {\"number\": {\"type\": \"int64\", \"shape\": []}, "
                    "\"goes_on\": {\"type\": \"bool\", \"shape\": []}, \"state\": {\"type\": \"float32\", \"shape\": []}}, "
                    "\"parameters\": {\"next\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"state\", \"B\": \"state\"}}, ",
                    row, mask);
    write_call(text, row, true);
    mdf_text_printf(text, "}, \"output_ports\": {\"goes_on\": {\"value\": \"goes_on\"}, \"next\": {\"value\": \"next\"}");
    write_outputs(text, "f", mask, rows[row].n_outputs);
    mdf_text_printf(text, "}}}}");
}

/* Writes the model to `text`: each row with the outputs that are asked for, as a node and as a loop. */
static void write_model(struct mdf_text *text)
{
    mdf_text_printf(text, "{\"m\": {\"onnx_opset_version\": \"27\", \"graphs\": {\"g\": {\"nodes\": {\"none\": {\"parameters\": "
                          "{\"one\": {\"value\": 1}}, \"output_ports\": {\"one\": {\"value\": \"one\"}}}");
    for (int bodies = 0; bodies < 2; bodies++) {
        for (size_t row = 0; row < N_ROWS; row++) {
            for (unsigned mask = 1; mask < 1u << rows[row].n_outputs; mask++) {
                if (is_asked(mask, rows[row].n_outputs)) {
                    (bodies ? write_body : write_node)(text, row, mask);
                }
            }
        }
        mdf_text_append_string(text, bodies ? "}}}" : "}}");
    }
}

static size_t size_bytes(const mdf_tensor *tensor)
{
    size_t n = mdf_dtype_size(tensor->dtype);

    for (size_t i = 0; i < tensor->rank; i++) {
        n *= (size_t)tensor->shape[i];
    }
    return n;
}

/* Whether output `output` of a node, or loop, that reads those of `mask` is what it is where all are read. */
static void check_output(const struct engine *engine, char kind, size_t row, unsigned mask, unsigned output)
{
    char nodes[2][32], port[8];
    mdf_tensor found[2];

    snprintf(port, sizeof port, "o%u", output);
    for (int i = 0; i < 2; i++) {
        snprintf(nodes[i], sizeof nodes[i], "%c%zu_%u", kind, row, i == 0 ? mask : (1u << rows[row].n_outputs) - 1);
        cr_assert(mdf_value_tensor(mdf_output(engine->state, nodes[i], port), &found[i]), "%s of %s", port, nodes[i]);
    }
    cr_expect(found[0].dtype == found[1].dtype && size_bytes(&found[0]) == size_bytes(&found[1]) &&
                  memcmp(found[0].data, found[1].data, size_bytes(&found[0])) == 0,
              "%s of %s: %s", port, nodes[0], rows[row].function);
}

Test(compile_left_out, what_is_read_does_not_depend_on_what_else_is)
{
    char *plain = compile_new_output(), *compiled = compile_new_output();
    struct mdf_memory memory;
    struct mdf_text text;
    struct engine engine;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_model(&text);
    compile_write_file("left_out.json", text.bytes);
    cr_assert(engine_begin(&engine, text.bytes, NULL), "%s", engine.error.message);
    cr_assert_eq(mdf_evaluate(engine.state, 0.0, &engine.error), MDF_OK, "%s", engine.error.message);
    for (size_t row = 0; row < N_ROWS; row++) {
        for (unsigned mask = 1; mask < 1u << rows[row].n_outputs; mask++) {
            for (unsigned output = 0; is_asked(mask, rows[row].n_outputs) && output < rows[row].n_outputs; output++) {
                if (mask >> output & 1) {
                    check_output(&engine, 'n', row, mask, output);
                    check_output(&engine, 'l', row, mask, output);
                }
            }
        }
    }
    engine_end(&engine);
    mdf_text_release(&text);
    cr_assert_eq(compile_run(plain, "$BUILD/mdf-run --typed -g g %s/left_out.json 2>&1", compile_folder), 0, "%s", plain);
    cr_assert_eq(compile_run(compiled, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile --typed -g g %s/left_out.json 2>&1",
                             compile_folder),
                 0, "%s", compiled);
    cr_expect_str_eq(compiled, plain);
    free(plain);
    free(compiled);
}

/* What nobody reads is refused as it is where somebody does: b is 4, 3, 2, ... */
Test(compile_left_out, what_is_refused_is_refused_unread)
{
    static const struct {
        const char *unread, *begin, *message;
    } cases[] = {{"function: onnx::Pow, args: {X: s, Y: b}", "[4, 4, 4]", "a whole number to a negative power (compiled) (step 5)"},
                 {"value: s ** b", "[4, 4, 4]", "a whole number to a negative power (compiled) (step 5)"},
                 {"value: s / b", "4", "division by zero (compiled) (step 4)"},
                 {"value: int(math.inf if b < 1 else 2.0)", "4", "a real number does not fit a whole one (compiled) (step 4)"},
                 {"value: math.log(b + 2)", "4", "log_float64 has no finite result (compiled) (step 6)"}};
    char *output = compile_new_output();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(output, COMPILE_OUTPUT_SIZE,
                 "m: {graphs: {g: {nodes: {A: {parameters: {b: {default_initial_value: %s, value: b - 1}, s: {default_initial_value: "
                 "%s, value: s + 1}, q: {%s}}, output_ports: {o: {value: s}}}}}}}",
                 cases[i].begin, cases[i].begin, cases[i].unread);
        compile_write_file("unread.yaml", output);
        cr_expect_eq(
            compile_run(output, "CC=tests/random/cc_fast.sh $BUILD/mdf-run --compile %s/unread.yaml -n 9 2>&1", compile_folder),
            1);
        cr_expect(strstr(output, cases[i].message) != NULL, "%s: %s", cases[i].unread, output);
    }
    free(output);
}
