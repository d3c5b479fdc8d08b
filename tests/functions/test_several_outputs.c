/* test_several_outputs.c - operators with several outputs, by index: f[0], f[-1], f[k], f[1:], and from within bodies; how many
 * outputs a variadic one has, by its arguments or by what the model reads. */
#include "mdf_c/mdf.h"
#include "tests/support/engine.h"
#include "tests/support/operator_call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define X "\"input\": [4.0, 1.0, 3.0, 2.0]"
#define TOPK "\"X\": [4.0, 1.0, 3.0], \"K\": [2]"
#define COMPUTED X ", \"split\": \"[len([1]), len([1, 2, 3])]\"" /* of a length that is not known before the model runs */
#define ADAGRAD                                                                                          \
    "\"R\": 0.5, \"T\": 1, \"inputs\": [[4.0], [2.0], [1.0]], \"decay_factor\": 0.0, \"epsilon\": 0.0, " \
    "\"norm_coefficient\": 0.0"

/* `expected` is the result, or what the message of the error holds. */
static const struct {
    const char *opset, *function, *args, *output, *expected;
} cases[] = {
    /* A number of outputs that the call says makes f a list, however few the model reads. */
    {"18", "onnx::Split", X ", \"num_outputs\": 2", "f[0]", "[4.0, 1.0]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 2", "f[-1]", "[3.0, 2.0]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 2", "f[len([1])]", "[3.0, 2.0]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 2", "f[0:2]", "[[4.0, 1.0], [3.0, 2.0]]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 2", "f[1] - f[0]", "[-1.0, 1.0]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 2", "f[2]", "'f' has 2 outputs: there is no output 2"},
    {"18", "onnx::Split", X ", \"num_outputs\": 1", "f[0]", "4.0"},
    {"18", "onnx::Split", X ", \"num_outputs\": 3", "f[1]", "[3.0, 2.0]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 0", "f[0]", "num_outputs is 0"},
    {"18", "onnx::Split", X ", \"num_outputs\": 1099511627776", "f[0]", "[4.0]"},
    {"18", "onnx::Split", X ", \"num_outputs\": 1099511627776", "f[-1]", "their number is too large"},
    {"15", "onnx::Split", X ", \"split\": [1, 3]", "f[0]", "[4.0]"},
    {"15", "onnx::Split", X ", \"split\": [1, 3]", "f[-1]", "[1.0, 3.0, 2.0]"},
    {"15", "onnx::Split", X ", \"split\": [4]", "f[0]", "4.0"},
    {"11", "onnx::Split", X ", \"split\": [1, 3]", "f[0]", "[4.0]"},
    {"15", "onnx::Split", COMPUTED, "f[0]", "[4.0]"},
    {"15", "onnx::Split", COMPUTED, "f[1]", "[1.0, 3.0, 2.0]"},
    {"15", "onnx::Split", COMPUTED, "f[-1]", "their number is not known before it runs"},
    /* Where nothing says it, as many as the model reads. */
    {"15", "onnx::Split", X, "f[0]", "4.0"},
    {"15", "onnx::Split", X, "f[1]", "[3.0, 2.0]"},
    /* A fixed number of outputs. */
    {"15", "onnx::TopK", TOPK, "f", "[4.0, 3.0]"},
    {"15", "onnx::TopK", TOPK, "f[-1]", "[0, 2]"},
    {"15", "onnx::TopK", TOPK, "f[len([1])]", "[0, 2]"},
    {"15", "onnx::TopK", TOPK, "f[1:]", "[[0, 2]]"},
    {"15", "onnx::TopK", TOPK, "f[2]", "'f' has 2 outputs: there is no output 2"},
    {"15", "onnx::TopK", TOPK, "f[1][0]", "0"},
    /* Variadic outputs that follow inputs. */
    {"15", "ai.onnx.preview.training::Adagrad", ADAGRAD, "f[0]", "[3.55"},
    {"15", "ai.onnx.preview.training::Adagrad", ADAGRAD, "f[-1]", "[5.0]"},
};

Test(several_outputs, by_index)
{
    char text[OPERATOR_CALL_TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_operator(cases[i].opset, "1", cases[i].function, cases[i].args, cases[i].output, text);
        cr_expect(strstr(text, cases[i].expected) != NULL, "%s(%s) %s: %s, not %s", cases[i].function, cases[i].args,
                  cases[i].output, text, cases[i].expected);
    }
}

/* A body that is given by the id of a graph takes an output that nothing else in the node reads. */
Test(several_outputs, captured_by_a_body_of_the_model)
{
    static const char form[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {"
        "\"f\": {\"function\": \"onnx::TopK\", \"args\": {\"X\": [4.0, 1.0, 3.0], \"K\": [2]}}, "
        "\"z\": {\"function\": \"onnx::If\", \"args\": {\"cond\": true, \"then_branch\": \"b\", \"else_branch\": \"b\"}}}, "
        "\"output_ports\": {\"o\": {\"value\": \"z\"}}}}}, "
        "\"b\": {\"nodes\": {\"c\": {\"output_ports\": {\"p\": {\"value\": \"%s\"}}}}}}}}";
    static const char *const outputs[] = {"f[1]", "f[-1]"};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        char text[sizeof form + 20];
        struct engine engine;
        mdf_tensor places;

        snprintf(text, sizeof text, form, outputs[i]);
        cr_assert(engine_begin(&engine, text, NULL), "%s", engine.error.message);
        cr_assert_eq(mdf_evaluate(engine.state, 0.0, &engine.error), MDF_OK, "%s", engine.error.message);
        cr_assert(mdf_value_tensor(mdf_output(engine.state, "n", "o"), &places) && places.dtype == MDF_DTYPE_INT64);
        cr_assert(places.rank == 1 && places.shape[0] == 2);
        cr_assert(((const int64_t *)places.data)[0] == 0 && ((const int64_t *)places.data)[1] == 2);
        engine_end(&engine);
    }
}
