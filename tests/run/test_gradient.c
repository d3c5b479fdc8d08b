/* test_gradient.c - Gradient against differences: each rule's derivative by each input, of a weighted sum of the result's
 * elements. */
#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/refused_pieces.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_ELEMENTS = 64, TEXT_SIZE = 8000 };

/* Inputs a and b: shapes, and where their elements lie; no shape: no such input. The elements are spread evenly and not in order,
 * so that none are equal and none lie at a corner. */
struct argument {
    const char *shape;
    double low, high;
};

static const struct {
    const char *function, *args; /* of node f; its result is "y" */
    struct argument a, b;
    const char *opset; /* NULL: the newest */
} cases[] = {
    {"onnx::Identity", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Neg", "\"X\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Abs", "\"X\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Exp", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Log", "\"input\": \"a\"", {"2,3", 0.5, 2}, {0}, NULL},
    {"onnx::Sqrt", "\"X\": \"a\"", {"2,3", 0.5, 2}, {0}, NULL},
    {"onnx::Reciprocal", "\"X\": \"a\"", {"2,3", 0.5, 2}, {0}, NULL},
    {"onnx::Sin", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Cos", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Tan", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Asin", "\"input\": \"a\"", {"2,3", -0.9, 0.9}, {0}, NULL},
    {"onnx::Acos", "\"input\": \"a\"", {"2,3", -0.9, 0.9}, {0}, NULL},
    {"onnx::Atan", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Sinh", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Cosh", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Tanh", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Asinh", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Acosh", "\"input\": \"a\"", {"2,3", 1.2, 3}, {0}, NULL},
    {"onnx::Atanh", "\"input\": \"a\"", {"2,3", -0.9, 0.9}, {0}, NULL},
    {"onnx::Erf", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Sigmoid", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Softplus", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Softsign", "\"input\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Relu", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::LeakyRelu", "\"X\": \"a\", \"alpha\": 0.2", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::PRelu", "\"X\": \"a\", \"slope\": \"b\"", {"2,3", -2, 2}, {"3", 0.1, 0.5}, NULL},
    {"onnx::ThresholdedRelu", "\"X\": \"a\", \"alpha\": 0.3", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Elu", "\"X\": \"a\", \"alpha\": 0.7", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Selu", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Celu", "\"X\": \"a\", \"alpha\": 0.7", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::HardSigmoid", "\"X\": \"a\", \"alpha\": 0.5", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::HardSwish", "\"X\": \"a\"", {"2,3", -5, 5}, {0}, NULL},
    {"onnx::Swish", "\"X\": \"a\", \"alpha\": 1.5", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Mish", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Gelu", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Gelu", "\"X\": \"a\", \"approximate\": \"tanh\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Shrink", "\"input\": \"a\", \"lambd\": 0.7, \"bias\": 0.2", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Clip", "\"input\": \"a\", \"min\": \"b\", \"max\": 1.1", {"2,3", -2, 2}, {"", -0.5, -0.5}, NULL},
    {"onnx::Clip", "\"input\": \"a\", \"min\": -0.5", {"2,3", -2, 2}, {0}, "6"},
    {"onnx::Floor", "\"X\": \"a\"", {"2,3", -2, 2}, {0}, NULL},
    {"onnx::Add", "\"A\": \"a\", \"B\": \"b\"", {"2,3", -2, 2}, {"2,1", -1, 1}, NULL},
    {"onnx::Sub", "\"A\": \"a\", \"B\": \"b\"", {"3", -2, 2}, {"2,1,3", -1, 1}, NULL},
    {"onnx::Mul", "\"A\": \"a\", \"B\": \"b\"", {"2,3", -2, 2}, {"", 0.7, 0.7}, NULL},
    {"onnx::Div", "\"A\": \"a\", \"B\": \"b\"", {"2,3", -2, 2}, {"3", 0.5, 2}, NULL},
    {"onnx::Pow", "\"X\": \"a\", \"Y\": \"b\"", {"2,3", 0.5, 2}, {"3", -1, 2}, NULL},
    {"onnx::Sum", "\"data_0\": \"[a, b, a]\"", {"2,3", -2, 2}, {"3", -1, 1}, NULL},
    {"onnx::Mean", "\"data_0\": \"[a, b, a]\"", {"2,3", -2, 2}, {"3", -1, 1}, NULL},
    {"onnx::Max", "\"data_0\": \"[a, b]\"", {"2,3", -2, 2}, {"3", -1.1, 1}, NULL},
    {"onnx::Min", "\"data_0\": \"[a, b]\"", {"2,3", -2, 2}, {"3", -1.1, 1}, NULL},
    {"onnx::MatMul", "\"A\": \"a\", \"B\": \"b\"", {"2,3", -1, 1}, {"3,4", -1, 1}, NULL},
    {"onnx::MatMul", "\"A\": \"a\", \"B\": \"b\"", {"3", -1, 1}, {"3", -1, 1}, NULL},
    {"onnx::MatMul", "\"A\": \"a\", \"B\": \"b\"", {"3", -1, 1}, {"2,3,2", -1, 1}, NULL},
    {"onnx::MatMul", "\"A\": \"a\", \"B\": \"b\"", {"2,2,3", -1, 1}, {"3", -1, 1}, NULL},
    {"onnx::MatMul", "\"A\": \"a\", \"B\": \"b\"", {"2,2,3", -1, 1}, {"1,3,2", -1, 1}, NULL},
    {"onnx::Gemm", "\"A\": \"a\", \"B\": \"b\", \"C\": [1.0, 2.0], \"alpha\": 0.5", {"2,3", -1, 1}, {"3,2", -1, 1}, NULL},
    {"onnx::Gemm", "\"A\": \"a\", \"B\": \"b\", \"transA\": 1", {"3,2", -1, 1}, {"3,2", -1, 1}, NULL},
    {"onnx::Gemm", "\"A\": \"a\", \"B\": \"b\", \"transA\": 1, \"transB\": 1", {"3,2", -1, 1}, {"2,3", -1, 1}, NULL},
    {"onnx::Gemm",
     "\"A\": [[1.0, 2.0]], \"B\": \"a\", \"C\": \"b\", \"beta\": 2.0, \"transB\": 1",
     {"3,2", -1, 1},
     {"3", 0, 1},
     NULL},
    {"onnx::ReduceSum", "\"data\": \"a\", \"axes\": [1], \"keepdims\": 0", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::ReduceSum", "\"data\": \"a\", \"noop_with_empty_axes\": 1", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceMean", "\"data\": \"a\", \"axes\": [-1]", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::ReduceMean", "\"data\": \"a\", \"axes\": [0, 2], \"keepdims\": 0", {"2,3,2", -1, 1}, {0}, "11"},
    {"onnx::ReduceSumSquare", "\"data\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceL1", "\"data\": \"a\", \"axes\": [0]", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceL2", "\"data\": \"a\", \"axes\": [0]", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceLogSum", "\"data\": \"a\", \"axes\": [0]", {"2,3", 0.5, 1}, {0}, NULL},
    {"onnx::ReduceLogSumExp", "\"data\": \"a\", \"axes\": [1]", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceMax", "\"data\": \"a\", \"axes\": [1], \"keepdims\": 0", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceMin", "\"data\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::ReduceProd", "\"data\": \"a\", \"axes\": [1], \"keepdims\": 0", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::ReduceProd", "\"data\": \"a * (a > -0.9)\"", {"2,3", -1, 1}, {0}, NULL}, /* one of them is 0 */
    {"onnx::ReduceProd", "\"data\": \"a\", \"noop_with_empty_axes\": 1", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::CumSum", "\"x\": \"a\", \"axis\": 1", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::CumSum", "\"x\": \"a\", \"axis\": -1, \"exclusive\": 1", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::CumSum", "\"x\": \"a\", \"axis\": 0, \"exclusive\": 1, \"reverse\": 1", {"3,2", -1, 1}, {0}, NULL},
    {"onnx::CumSum", "\"x\": \"a\", \"axis\": 0, \"reverse\": 1", {"3,2", -1, 1}, {0}, NULL},
    {"onnx::LayerNormalization", "\"X\": \"a\", \"Scale\": \"b\"", {"2,3", -1, 1}, {"3", 0.5, 2}, NULL},
    {"onnx::LayerNormalization",
     "\"X\": \"a * 2\", \"Scale\": [[0.5, 2.0], [1.0, 1.5]], \"B\": \"b\", \"axis\": 1, \"epsilon\": 0.1",
     {"3,2,2", -1, 1},
     {"2,2", 0.5, 2},
     NULL},
    {"onnx::RMSNormalization", "\"X\": \"a\", \"scale\": \"b\", \"axis\": -2", {"2,3,2", -1, 1}, {"3,2", 0.5, 2}, NULL},
    {"onnx::InstanceNormalization",
     "\"input\": \"a\", \"scale\": \"b\", \"B\": [1.0, 2.0], \"epsilon\": 0.1",
     {"2,2,2,2", -1, 1},
     {"2", 0.5, 2},
     NULL},
    {"onnx::InstanceNormalization",
     "\"input\": \"a\", \"scale\": [0.5, 2.0], \"B\": \"b\"",
     {"1,2,4", -1, 1},
     {"2", 0.5, 2},
     NULL},
    {"onnx::LpNormalization", "\"input\": \"a\"", {"2,3", 0.2, 1}, {0}, NULL},
    {"onnx::LpNormalization", "\"input\": \"a\", \"p\": 1, \"axis\": 0", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::GlobalAveragePool", "\"X\": \"a\"", {"1,2,2,3", -1, 1}, {0}, NULL},
    {"onnx::Softmax", "\"input\": \"a\", \"axis\": 1", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::Softmax", "\"input\": \"a\", \"axis\": 1", {"2,3,2", -1, 1}, {0}, "11"},
    {"onnx::LogSoftmax", "\"input\": \"a\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::LogSoftmax", "\"input\": \"a\", \"axis\": 0", {"2,3", -1, 1}, {0}, "11"},
    {"onnx::Reshape", "\"data\": \"a\", \"shape\": [3, 2]", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Flatten", "\"input\": \"a\"", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::Squeeze", "\"data\": \"a\"", {"1,3,1", -1, 1}, {0}, NULL},
    {"onnx::Unsqueeze", "\"data\": \"a\", \"axes\": [0]", {"3", -1, 1}, {0}, NULL},
    {"onnx::Transpose", "\"data\": \"a\", \"perm\": [2, 0, 1]", {"2,3,2", -1, 1}, {0}, NULL},
    {"onnx::Expand", "\"input\": \"a\", \"shape\": [2, 3, 2]", {"3,1", -1, 1}, {0}, NULL},
    {"onnx::Tile", "\"input\": \"a\", \"repeats\": [2, 3]", {"2,2", -1, 1}, {0}, NULL},
    {"onnx::Concat", "\"inputs\": \"[a, b, a]\", \"axis\": 1", {"2,3", -1, 1}, {"2,1", -1, 1}, NULL},
    {"onnx::Slice",
     "\"data\": \"a\", \"starts\": [-1], \"ends\": [-9], \"axes\": [1], \"steps\": [-2]",
     {"2,4", -1, 1},
     {0},
     NULL},
    {"onnx::Gather", "\"data\": \"a\", \"indices\": [2, 0, 2], \"axis\": 1", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::GatherElements", "\"data\": \"a\", \"indices\": [[1, 1, 0]], \"axis\": 0", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::GatherND", "\"data\": \"a\", \"indices\": [[1, 2], [1, 2]]", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Compress", "\"input\": \"a\", \"condition\": [false, true], \"axis\": 0", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Pad", "\"data\": \"a\", \"pads\": [1, 0, 0, 2], \"mode\": \"reflect\"", {"2,3", -1, 1}, {0}, NULL},
    {"onnx::Pad", "\"data\": \"a\", \"pads\": [1, 0, 0, 2], \"constant_value\": \"b\"", {"2,3", -1, 1}, {"", 2, 2}, NULL},
    {"onnx::Pad", "\"data\": \"a\", \"pads\": [1, 0, 0, 2], \"value\": 3.0", {"2,3", -1, 1}, {0}, "2"},
    {"onnx::Where", "\"condition\": [true, false, true], \"X\": \"a\", \"Y\": \"b\"", {"2,3", -1, 1}, {"2,1", -1, 1}, NULL},
    {"onnx::Trilu", "\"input\": \"a\", \"upper\": 0", {"3,3", -1, 1}, {0}, NULL},
    {"onnx::DepthToSpace", "\"input\": \"a\", \"blocksize\": 2", {"1,4,2,1", -1, 1}, {0}, NULL},
    {"onnx::SpaceToDepth", "\"input\": \"a\", \"blocksize\": 2", {"1,1,2,4", -1, 1}, {0}, NULL},
    {"onnx::ReverseSequence", "\"input\": \"a\", \"sequence_lens\": [1, 2]", {"2,2", -1, 1}, {0}, NULL},
    {"onnx::Cast", "\"input\": \"a\", \"to\": 11", {"2,3", -1, 1}, {0}, NULL},
};

struct array {
    size_t n, rank;
    int64_t shape[8];
    double items[MOST_ELEMENTS];
};

static void fill(const struct argument *argument, struct array *array)
{
    const char *text = argument->shape;
    char *after;

    array->n = 1;
    array->rank = 0;
    while (*text != '\0') {
        array->shape[array->rank] = strtoll(text, &after, 10);
        array->n *= (size_t)array->shape[array->rank++];
        text = after + (*after == ',');
    }
    for (size_t i = 0; i < array->n; i++) { /* 29 is prime to all numbers of elements here */
        array->items[i] =
            argument->low + (argument->high - argument->low) * ((double)(29 * i % array->n) + 0.37) / (double)array->n;
    }
}

static const char model_form[] =
    "{\"m\": {\"onnx_opset_version\": \"%s\", \"graphs\": {\"g\": {\"nodes\": {"
    "\"f\": {\"input_ports\": {\"a\": {\"type\": \"float64\"}%s}, \"parameters\": {\"p\": {\"function\": \"%s\", \"args\": "
    "{%s}}}, "
    "\"output_ports\": {\"y\": {\"value\": \"p\"}}}, "
    "\"w\": {\"input_ports\": {\"y_in\": {}}, \"output_ports\": {\"z\": {\"value\": "
    "\"numpy.sum(y_in * numpy.cos(numpy.reshape(numpy.arange(1.0 * y_in.size), y_in.shape)))\"}}}, "
    "\"d\": {\"input_ports\": {\"a\": {\"type\": \"float64\"}%s}, \"parameters\": {\"q\": {\"function\": "
    "\"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [\"a\"%s], \"xs\": [\"a\"%s], \"y\": \"z\"}}}, "
    "\"output_ports\": {\"da\": {\"value\": \"%s\"}%s}}}, "
    "\"edges\": {\"e\": {\"sender\": \"f\", \"sender_port\": \"y\", \"receiver\": \"w\", \"receiver_port\": \"y_in\"}}}}}}";

static bool set(struct engine *run, const char *name, const struct array *array)
{
    const mdf_tensor tensor = {MDF_DTYPE_FLOAT64, array->rank, array->shape, array->items};

    return mdf_set_input(run->state, name, &tensor, &run->error) == MDF_OK;
}

/* The weighted sum z; NaN on an error. */
static double evaluate(struct engine *run, const struct array *a, const struct array *b)
{
    mdf_tensor z;

    if (!set(run, "a", a) || (b->n > 0 && !set(run, "b", b)) || mdf_evaluate(run->state, (double)NAN, &run->error) != MDF_OK ||
        !mdf_value_tensor(mdf_output(run->state, "w", "z"), &z) || z.dtype != MDF_DTYPE_FLOAT64) {
        return (double)NAN;
    }
    return *(const double *)z.data;
}

/* dz/dx, of shape and type of x, against (z(x + h) - z(x - h)) / 2h. A quotient of differences with h = 1e-5 has errors of h^2
 * and of 1e-16 / h, times derivatives below 100. */
static void compare(struct engine *run, const char *port, struct array *x, const struct array *a, const struct array *b,
                    const char *name)
{
    const double h = 1e-5;
    double derivatives[MOST_ELEMENTS];
    mdf_tensor got = {0};

    cr_expect(!isnan(evaluate(run, a, b)), "%s: %s", name, run->error.message);
    if (run->error.code != MDF_OK) {
        return;
    }
    cr_assert(mdf_value_tensor(mdf_output(run->state, "d", port), &got), "%s", name);
    cr_expect(got.dtype == MDF_DTYPE_FLOAT64 && got.rank == x->rank, "%s by %s", name, port);
    for (size_t i = 0; i < got.rank && i < x->rank; i++) {
        cr_assert_eq(got.shape[i], x->shape[i], "%s by %s", name, port);
    }
    memcpy(derivatives, got.data, x->n * sizeof *derivatives);
    for (size_t i = 0; i < x->n; i++) {
        double kept = x->items[i], above, below;

        x->items[i] = kept + h;
        above = evaluate(run, a, b);
        x->items[i] = kept - h;
        below = evaluate(run, a, b);
        x->items[i] = kept;
        cr_expect_lt(fabs(derivatives[i] - (above - below) / (2 * h)), 1e-7, "%s by %s, element %zu: %.9g, not %.9g", name, port,
                     i, derivatives[i], (above - below) / (2 * h));
    }
}

static void write_model(size_t k, char source[TEXT_SIZE])
{
    bool binary = cases[k].b.shape != NULL;

    snprintf(source, TEXT_SIZE, model_form, cases[k].opset != NULL ? cases[k].opset : "28",
             binary ? ", \"b\": {\"type\": \"float64\"}" : "", cases[k].function, cases[k].args,
             binary ? ", \"b\": {\"type\": \"float64\"}" : "", binary ? ", \"b\"" : "", binary ? ", \"b\"" : "",
             binary ? "q[0]" : "q", binary ? ", \"db\": {\"value\": \"q[1]\"}" : "");
}

Test(gradient, equals_differences)
{
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        bool binary = cases[k].b.shape != NULL;
        struct array a, b = {0};
        char source[TEXT_SIZE];
        struct engine run;

        fill(&cases[k].a, &a);
        if (binary) {
            fill(&cases[k].b, &b);
        }
        write_model(k, source);
        if (engine_begin(&run, source, NULL)) {
            compare(&run, "da", &a, &a, &b, cases[k].function);
            if (binary) {
                compare(&run, "db", &b, &a, &b, cases[k].function);
            }
        }
        cr_expect_eq(run.error.code, MDF_OK, "%s(%s): %s", cases[k].function, cases[k].args, run.error.message);
        engine_end(&run);
    }
}

/* Expressions of a, whose functions are those of ONNX's operators and have their rules. */
static const struct {
    const char *expression;
    struct argument a;
} expressions[] = {
    {"numpy.arcsin(a)", {"2,3", -0.9, 0.9}},
    {"numpy.arccos(a)", {"2,3", -0.9, 0.9}},
    {"numpy.arctan(a)", {"2,3", -1, 1}},
    {"numpy.arcsinh(a)", {"2,3", -1, 1}},
    {"numpy.arccosh(a)", {"2,3", 1.2, 3}},
    {"numpy.arctanh(a)", {"2,3", -0.9, 0.9}},
    {"numpy.tan(a)", {"2,3", -1, 1}},
    {"numpy.cbrt(a)", {"2,3", 0.5, 2}},
    {"numpy.exp2(a)", {"2,3", -1, 1}},
    {"numpy.expm1(a)", {"2,3", -1, 1}},
    {"numpy.log2(a)", {"2,3", 0.5, 2}},
    {"numpy.log10(a)", {"2,3", 0.5, 2}},
    {"numpy.square(a)", {"2,3", -1, 1}},
    {"numpy.reciprocal(a)", {"2,3", 0.5, 2}},
    {"numpy.degrees(a)", {"2,3", -1, 1}},
    {"numpy.radians(a)", {"2,3", -1, 1}},
    {"numpy.absolute(a)", {"2,3", -1, 1}},
    {"abs(a)", {"2,3", -1, 1}},
    {"a * numpy.floor(a)", {"2,3", -3, 3}},
    {"a * numpy.rint(a)", {"2,3", -3, 3}},
    {"math.erf(a)", {"", -1, 1}},
    {"math.erfc(a)", {"", -1, 1}},
    {"math.atanh(a)", {"", -0.9, 0.9}},
    {"math.log(a)", {"", 0.5, 2}},
    {"math.log(a, 2)", {"", 0.5, 2}},
    {"math.log(2, a)", {"", 1.5, 3}},
    {"numpy.arctan2(a, 2)", {"2,3", -1, 1}},
    {"numpy.arctan2(2, a)", {"2,3", 0.5, 2}},
    {"numpy.hypot(a, 2)", {"2,3", -1, 1}},
    {"a % 0.7", {"2,3", -1, 1}},
    {"7.0 % a", {"2,3", 1.5, 3}},
    {"numpy.fmod(7.0, -a)", {"2,3", 1.5, 3}},
    {"a * (a // 0.7)", {"2,3", -1, 1}},
    {"numpy.logaddexp(a, 0.5)", {"2,3", -1, 1}},
    {"numpy.logaddexp(0.5, a)", {"2,3", -1, 1}},
    {"numpy.logaddexp2(a, numpy.sin(a))", {"2,3", -1, 1}},
    {"numpy.sinc(a)", {"2,3", -1, 1}},
    {"numpy.copysign(a, -2)", {"2,3", -1, 1}},
    {"numpy.max(a * a, 1)[1] * a", {"2,3", -1, 1}},
    {"numpy.min(a, axis=0, keepdims=True)", {"2,3", -1, 1}},
    {"numpy.sum(numpy.prod(a, axis=1) * a[:, 0])", {"2,3", -1, 1}},
    {"numpy.prod(a * (a > 0))", {"2,3", -1, 1}}, /* more than one is 0 */
    {"numpy.sum(numpy.ptp(a, 1) * [2, 3])", {"2,3", -1, 1}},
    {"numpy.var(a)", {"2,3", -1, 1}},
    {"numpy.std(a, axis=0, ddof=1)", {"3,2", -1, 1}},
    {"numpy.sum(numpy.nansum(numpy.where(a < 0, a * a, numpy.nan), 1) * [2, 3])", {"2,3", -1, 1}},
    {"numpy.nanmean(numpy.where(a < 0.7, a * a, numpy.nan), 0)", {"2,3", -1, 1}},
    {"numpy.nanmax(numpy.where(a < 0.7, a * a, numpy.nan), 0)", {"2,3", -1, 1}},
    {"numpy.nanmin(a * a, 1, keepdims=True)", {"2,3", -1, 1}},
    {"numpy.quantile(a * a, [0.3, 1], 0)", {"2,3", -1, 1}},
    {"numpy.nanpercentile(a * a, 40, method='midpoint')", {"2,3", -1, 1}},
    {"numpy.nan_to_num(a * a)", {"2,3", -1, 1}},
    {"numpy.nanmedian(a * a, 0)", {"2,3", -1, 1}},
    {"numpy.median(a * a, 1, keepdims=True)", {"2,3", -1, 1}},
    {"numpy.rot90(a * a)", {"3,3", -1, 1}},
    {"numpy.rot90(a * a, 2, (1, 0))", {"2,3", -1, 1}},
    {"numpy.sum(a * a, 0, where=a > 0)", {"2,3", -1, 1}},
    {"numpy.reshape(numpy.ravel(a * a, 'F'), [2, 3], 'F')", {"2,3", -1, 1}},
    {"numpy.pad(a * a, 1)[1:-1, :3]", {"2,3", -1, 1}},
    {"numpy.einsum('ij,kj->', a, a)", {"2,3", -1, 1}},
    {"numpy.sum(numpy.cumsum(a) * numpy.arange(6.0))", {"2,3", -1, 1}},
    {"numpy.cumsum(a, axis=1) * a", {"2,3,2", -1, 1}},
    {"numpy.sum(numpy.outer(a, numpy.sin(a[0])) * [1, 2, 3])", {"2,3", -1, 1}},
    {"numpy.sum(numpy.linalg.det(a + numpy.eye(3)) * [2, 3])", {"2,3,3", -1, 1}},
    {"numpy.linalg.inv(a + 2 * numpy.eye(2))", {"2,2", -1, 1}},
    {"numpy.linalg.solve(a + 2 * numpy.eye(2), a[0] * [2, 3])", {"2,2", -1, 1}},
    {"numpy.linalg.solve(a + 2 * numpy.eye(2), a * a)", {"2,2", -1, 1}},
    /* what only moves elements */
    {"numpy.sum(numpy.transpose(a) * numpy.sin(a).T * [[1, 2], [3, 4], [5, 6]])", {"2,3", -1, 1}},
    {"numpy.sum(numpy.swapaxes(a, 0, 1) * [[1, 2], [3, 4], [5, 6]])", {"2,3", -1, 1}},
    {"numpy.flip(a) * a", {"2,3", -1, 1}},
    {"numpy.roll(a, 1) * a", {"2,3", -1, 1}},
    {"numpy.sum(numpy.tile(a, 2) * [1, 2, 3, 4, 5, 6])", {"2,3", -1, 1}},
    {"numpy.sum(numpy.repeat(a, 2) * numpy.arange(12.0))", {"2,3", -1, 1}},
    {"numpy.sum(numpy.diagonal(a) * [2, 3])", {"2,3", -1, 1}},
    {"numpy.sum(numpy.diag(a[0]) * [2, 3, 4])", {"2,3", -1, 1}},
    {"numpy.broadcast_to(a, (2, 2, 3))", {"2,3", -1, 1}},
    {"numpy.expand_dims(a, 1) * a", {"2,3", -1, 1}},
    {"a[1] * a[0, ::-1]", {"2,3", -1, 1}},
    {"a[:, numpy.array([0, 2, 0])]", {"2,3", -1, 1}},
};

Test(gradient, of_expressions_equals_differences)
{
    static const char form[] =
        "{\"m\": {\"onnx_opset_version\": \"28\", \"graphs\": {\"g\": {\"nodes\": {"
        "\"w\": {\"input_ports\": {\"a\": {\"type\": \"float64\"}}, \"parameters\": {\"y\": {\"value\": \"%s\"}}, "
        "\"output_ports\": {\"z\": {\"value\": \"numpy.sum(y * numpy.cos(numpy.reshape(numpy.arange(1.0 * a.size), "
        "a.shape)))\"}}}, "
        "\"d\": {\"input_ports\": {\"a\": {\"type\": \"float64\"}}, \"parameters\": {\"q\": {\"function\": "
        "\"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [\"a\"], \"xs\": [\"a\"], \"y\": \"z\"}}}, "
        "\"output_ports\": {\"da\": {\"value\": \"q\"}}}}}}}}";

    for (size_t k = 0; k < sizeof expressions / sizeof *expressions; k++) {
        struct array a, none = {0};
        char source[TEXT_SIZE];
        struct engine run;

        fill(&expressions[k].a, &a);
        snprintf(source, sizeof source, form, expressions[k].expression);
        if (engine_begin(&run, source, NULL)) {
            compare(&run, "da", &a, &a, &none, expressions[k].expression);
        }
        cr_expect_eq(run.error.code, MDF_OK, "%s: %s", expressions[k].expression, run.error.message);
        engine_end(&run);
    }
}

/* ------------------------------------------------------------------ by hand */

/* A graph of nodes, the last of them a call of Gradient; what its port "d" holds, or the message of the error. */
static const struct {
    const char *nodes, *edges, *expected;
} graphs[] = {
    /* the second derivative of x^3, by a gradient of a gradient */
    {"\"f\": {\"parameters\": {\"x\": {\"value\": [2.0, 3.0]}, \"p\": {\"function\": \"onnx::Pow\", \"args\": {\"X\": \"x\", "
     "\"Y\": 3.0}}}, "
     "\"output_ports\": {\"x_out\": {\"value\": \"x\"}, \"y\": {\"value\": \"p\"}}}, "
     "\"g\": {\"input_ports\": {\"i\": {}}, \"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", "
     "\"args\": "
     "{\"Inputs\": [\"i\"], \"xs\": [\"x_out\"], \"y\": \"y\"}}}, \"output_ports\": {\"dy\": {\"value\": \"q\"}}}, "
     "\"h\": {\"input_ports\": {\"i\": {}}, \"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", "
     "\"args\": "
     "{\"Inputs\": [\"i\"], \"xs\": [\"x_out\"], \"y\": \"dy\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}",
     "\"e\": {\"sender\": \"f\", \"sender_port\": \"x_out\", \"receiver\": \"g\", \"receiver_port\": \"i\"}, "
     "\"k\": {\"sender\": \"f\", \"sender_port\": \"x_out\", \"receiver\": \"h\", \"receiver_port\": \"i\"}",
     "[12.0, 18.0]"},
    /* at another point than where the graph is */
    {"\"f\": {\"parameters\": {\"x\": {\"value\": 2.0}}, \"output_ports\": {\"o\": {\"value\": \"x\"}}}, "
     "\"s\": {\"input_ports\": {\"i\": {}}, \"parameters\": {\"p\": {\"function\": \"onnx::Mul\", \"args\": {\"A\": \"i\", "
     "\"B\": \"i\"}}}, "
     "\"output_ports\": {\"y\": {\"value\": \"p\"}}}, "
     "\"g\": {\"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [[5.0, "
     "7.0]], \"xs\": "
     "[\"f.o\"], \"y\": \"s.y\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}",
     "\"e\": {\"sender\": \"f\", \"sender_port\": \"o\", \"receiver\": \"s\", \"receiver_port\": \"i\"}", "[10.0, 14.0]"},
    /* what y does not depend on; the node that calls stands first */
    {"\"g\": {\"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [[5.0, "
     "7.0]], \"xs\": "
     "[\"o\"], \"y\": \"y\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}, "
     "\"f\": {\"parameters\": {\"x\": {\"value\": [2.0, 3.0]}}, \"output_ports\": {\"o\": {\"value\": \"x\"}, \"y\": {\"value\": "
     "\"3 * "
     "4.0\"}}}",
     "", "[0.0, 0.0]"},
    /* expressions have derivatives too */
    {"\"f\": {\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}}, \"output_ports\": {\"o\": {\"value\": \"x\"}}}, "
     "\"s\": {\"input_ports\": {\"i\": {}}, \"output_ports\": {\"y\": {\"value\": \"numpy.sum(i ** 2 / 2) * 3 - i\"}}}, "
     "\"g\": {\"input_ports\": {\"i\": {}}, \"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", "
     "\"args\": "
     "{\"Inputs\": [\"i\"], \"xs\": [\"o\"], \"y\": \"y\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}",
     "\"e\": {\"sender\": \"f\", \"sender_port\": \"o\", \"receiver\": \"s\", \"receiver_port\": \"i\"}, "
     "\"k\": {\"sender\": \"f\", \"sender_port\": \"o\", \"receiver\": \"g\", \"receiver_port\": \"i\"}",
     "[5.0, 11.0]"},
    /* errors */
    {"\"f\": {\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}, \"p\": {\"function\": \"onnx::BitCast\", \"args\": {\"input\": "
     "\"x\", \"to\": 7}}}, "
     "\"output_ports\": {\"o\": {\"value\": \"x\"}, \"y\": {\"value\": \"p\"}}}, "
     "\"g\": {\"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [1.0], "
     "\"xs\": [\"o\"], "
     "\"y\": \"y\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}",
     "", "there is no derivative of onnx::BitCast by its input 1 (node 'f', parameter 'p'"},
    {"\"g\": {\"parameters\": {\"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", \"args\": {\"Inputs\": [1.0], "
     "\"xs\": [\"o\"], "
     "\"y\": \"nowhere\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}",
     "", "the graph has no value 'nowhere' to derive by"},
    {"\"g\": {\"parameters\": {\"x\": {\"value\": 1.0}, \"q\": {\"function\": \"ai.onnx.preview.training::Gradient\", \"args\": "
     "{\"Inputs\": "
     "[1.0, 2.0], \"xs\": [\"o\"], \"y\": \"o\"}}}, \"output_ports\": {\"d\": {\"value\": \"q\"}}}, "
     "\"f\": {\"output_ports\": {\"o\": {\"value\": \"1.0\"}}}",
     "", "2 inputs for the 1 values"},
    {"\"g\": {\"output_ports\": {\"d\": {\"value\": \"gradient.turn(1, 2)\"}}}", "", "function 'gradient.turn' is not known"},
};

static void write_graph(size_t k, char source[TEXT_SIZE])
{
    snprintf(source, TEXT_SIZE,
             "{\"m\": {\"onnx_opset_version\": \"28\", \"graphs\": {\"g\": {\"nodes\": {%s}, \"edges\": {%s}}}}}",
             graphs[k].nodes, graphs[k].edges);
}

Test(gradient, of_graphs)
{
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
        char source[TEXT_SIZE], text[TEXT_SIZE] = "";
        struct engine run;

        write_graph(k, source);
        if (engine_begin(&run, source, NULL) && mdf_evaluate(run.state, (double)NAN, &run.error) == MDF_OK) {
            const mdf_value *value = mdf_output(run.state, k == 0 ? "h" : "g", "d");
            struct mdf_memory memory;
            struct mdf_text out;

            mdf_memory_init(&memory, NULL, 0);
            mdf_text_init(&out, &memory);
            mdf_write_json_value(&out, value, false, NULL);
            snprintf(text, sizeof text, "%s", out.bytes);
            mdf_text_release(&out);
        } else {
            snprintf(text, sizeof text, "%s", run.error.message);
        }
        cr_expect(strstr(text, graphs[k].expected) != NULL, "graph %zu: %s, not %s", k, text, graphs[k].expected);
        engine_end(&run);
    }
}

/* ------------------------------------------------------------------ memory that runs out */

/* Wherever memory runs out, while code for derivatives is made or while it runs, there is an error and nothing is lost. */
Test(gradient, any_allocation_may_fail)
{
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
        mdf_status status = MDF_OUT_OF_MEMORY;
        char source[TEXT_SIZE];

        write_graph(k, source);
        for (size_t n = 1; status == MDF_OUT_OF_MEMORY && n <= 20000; n++) {
            struct counter counter = {.fails_once = true};
            mdf_allocator allocator = failing_allocator(&counter);
            mdf_options options = {.allocator = &allocator};
            mdf_error error = {0};
            mdf_model *model = mdf_model_load_bytes(source, strlen(source), "json", "model", &options, &error);
            mdf_program *program;
            mdf_state *state;

            cr_assert_not_null(model, "%s", error.message);
            counter.fail_at = counter.n_calls + n;
            program = mdf_compile(model, &options, &error);
            state = program != NULL ? mdf_state_new(program, &error) : NULL;
            if (state != NULL) {
                mdf_evaluate(state, (double)NAN, &error);
            }
            status = error.code;
            mdf_state_free(state);
            mdf_program_free(program);
            mdf_model_free(model);
            cr_assert_eq(counter.n_blocks, 0, "graph %zu lost %zu blocks where allocation %zu fails", k, counter.n_blocks, n);
        }
        cr_expect_neq(status, MDF_OUT_OF_MEMORY, "graph %zu never had enough", k);
    }
}

/* The same of each piece: of each case some, of all cases together any. */
Test(gradient, pieces_of_memory_may_be_refused)
{
    char source[TEXT_SIZE];

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        write_model(k, source);
        expect_pieces_refused(source, &(struct piece_run){.format = "json", .dt = NAN, .first = 1 + 11 * k % 100, .stride = 100});
    }
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
        write_graph(k, source);
        expect_pieces_refused(source, &(struct piece_run){.format = "json", .steps = 1, .dt = NAN});
    }
}
