/* test_inference.c - what can be known before a model runs: faults of Scan, Loop and If that are refused when the model is
 * compiled, and models near to them that are not. No model here is evaluated. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* One node "n" that calls an operator; all in YAML's flow style. */
struct row {
    const char *opset;
    const char *ports; /* input ports of the node */
    const char *function;
    const char *args;
    const char *error; /* in the message; NULL: the model is right */
};

/* A body with a node for each of its values. */
#define BODY(inputs, nodes, outputs) "{metadata: {inputs: [" inputs "], outputs: [" outputs "]}, nodes: {" nodes "}}"
#define PORT(name, type, shape) name ": {type: " type ", shape: \"" shape "\"}"
#define NODE(id, ports, function, args, output)                                                                                  \
    id ": {input_ports: {" ports "}, functions: {f: {function: 'onnx::" function "', args: {" args "}}}, output_ports: {" output \
       ": {value: f}}}"
#define ADD(a, b, sum) NODE("add_" sum, a ": {}, " b ": {}", "Add", "A: " a ", B: " b, sum)
#define CAST(from, to, type) NODE("cast_" to, from ": {}", "Cast", "input: " from ", to: " type, to)
#define STACK(from, to) NODE("stack_" to, from ": {}", "Concat", "inputs: '[" from ", " from "]', axis: 0", to)

#define CALL(id, function, args) id ": {function: 'onnx::" function "', args: {" args "}}"
/* An item of what a call of a body's node gives. */
#define ITEM_OF(ports, calls)                                    \
    "item: {input_ports: {" ports ", i: {}}, functions: {" calls \
    ", " CALL("at", "SequenceAt", "input_sequence: parts, position: i") "}, output_ports: {t: {value: at}}}"

#define SUM_BODY BODY("s, x", ADD("s", "x", "t"), "t, t")
#define SCAN_PORTS(state, sequence) PORT("s0", "float32", state) ", " PORT("xs", "float32", sequence)
#define SCAN_ARGS "initial_state_and_scan_inputs: '[s0, xs]', num_scan_inputs: 1, body: "
#define LOOP_BODY(nodes, outputs) BODY("i, c, s", nodes, outputs)
#define LOOP_ARGS "M: m, cond: c, v_initial: '[s0]', body: "
#define LOOP_PORTS PORT("m", "int64", "()") ", " PORT("c", "bool", "()") ", " PORT("s0", "float32", "(2,)")

static const struct row scans[] = {
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY, NULL},
    {"16", SCAN_PORTS("(1,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_input_axes: [1]",
     "enters the body as float32[1] and leaves it as float32[5]"},
    {"16", SCAN_PORTS("(5,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_input_axes: [-1]", NULL},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_input_axes: [2]",
     "scan_input_axes: axis 2 is out of range"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_input_axes: [0, 0]",
     "scan_input_axes has 2 entries, but there are 1 scan inputs"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_output_axes: [-3]", "scan_output_axes: axis -3"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_output_axes: []", "scan_output_axes has 0 entries"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_input_directions: [2]", "must be 0 (forward) or 1"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_output_directions: [-1]", "must be 0 (forward) or 1"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", scan_output_directions: [0, 1]",
     "scan_output_directions has 2 entries, but there are 1 scan outputs"},
    {"16", SCAN_PORTS("(2,)", "()"), "Scan", SCAN_ARGS SUM_BODY, "scan input 0 is a scalar"},
    {"16", SCAN_PORTS("(3,)", "(5, 2)"), "Scan", SCAN_ARGS BODY("s, x", STACK("s", "t"), "t"),
     "enters the body as float32[3] and leaves it as float32[6]"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS BODY("s, x", CAST("s", "t", "7"), "t"),
     "state variable 0 enters the body as float32[2] and leaves it as int64[2]"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS BODY("s, {name: x, type: float64}", ADD("s", "x", "t"), "t"),
     "declares its input 'x' as float64, but onnx::Scan hands in float32[2]"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan",
     SCAN_ARGS BODY("s, {name: x, type: float32, shape: [3]}", ADD("s", "x", "t"), "t"),
     "declares its input 'x' as float32[3], but onnx::Scan hands in float32[2]"},
    {"16", PORT("xs", "float32", "(5, 2)") ", " PORT("ys", "float32", "(4, 2)"), "Scan",
     "initial_state_and_scan_inputs: '[xs, ys]', num_scan_inputs: 2, body: " BODY("x, y", ADD("x", "y", "t"), "t"),
     "the length of the sequence differs between the inputs: 5 and 4"},
    {"16", PORT("xs", "float32", "(5, 2)"), "Scan", "initial_state_and_scan_inputs: '[xs]', num_scan_inputs: 2, body: " SUM_BODY,
     "num_scan_inputs must be between 1 and the 1 inputs given"},
    {"16", SCAN_PORTS("(2,)", "(5, 2)"), "Scan", SCAN_ARGS BODY("s", STACK("s", "t"), "t"),
     "has 1 input, but onnx::Scan with 1 state variable and 1 scan input needs 2"},
    {"9", PORT("s0", "bfloat16", "(2,)") ", " PORT("xs", "float32", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY,
     "can not be bfloat16[2]: version 16 is the first to allow it"},
    {"16", PORT("s0", "seq(tensor(float))", "(2,)") ", " PORT("xs", "float32", "(5, 2)"), "Scan", SCAN_ARGS SUM_BODY,
     "input 0 can not be a sequence of float32"},
    /* version 8 */
    {"8", SCAN_PORTS("(3, 2)", "(3, 5, 2)"), "Scan", SCAN_ARGS SUM_BODY, NULL},
    {"8", SCAN_PORTS("(3, 2)", "(4, 5, 2)"), "Scan", SCAN_ARGS SUM_BODY, "the batch size differs between the inputs: 3 and 4"},
    {"8", SCAN_PORTS("(3, 2)", "(3,)"), "Scan", SCAN_ARGS SUM_BODY, "scan input 0 is a scalar"},
    {"8", SCAN_PORTS("()", "(3, 5, 2)"), "Scan", SCAN_ARGS SUM_BODY, "it has no batch axis"},
    {"8", SCAN_PORTS("(3, 2)", "(3, 5, 2)"), "Scan", SCAN_ARGS SUM_BODY ", directions: [0, 0]", "directions has 2 entries"},
    {"8", SCAN_PORTS("(3, 2)", "(3, 5, 2)") ", " PORT("n", "int64", "(2,)"), "Scan", "sequence_lens: n, " SCAN_ARGS SUM_BODY,
     "the batch size differs between the inputs: 2 and 3"},
    {"8", SCAN_PORTS("(3, 2)", "(3, 5, 2)") ", " PORT("n", "int64", "(3, 1)"), "Scan", "sequence_lens: n, " SCAN_ARGS SUM_BODY,
     "sequence_lens must be a list"},
};

static const struct row loops[] = {
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, t, t"), NULL},
    /* a state may change its shape, not its type */
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(STACK("s", "t"), "c, t"), NULL},
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(CAST("s", "t", "11"), "c, t"),
     "state variable 0 enters the body as float32[2] and leaves it as float64"},
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(NODE("q", "s: {}", "SequenceConstruct", "inputs: '[s]'", "t"), "c, t"),
     "enters the body as float32[2] and leaves it as a sequence of float32"},
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(NODE("q", "s: {}", "SequenceConstruct", "inputs: '[s]'", "t"), "c, s, t"),
     "scan output 0 must be an array, not a sequence"},
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(CAST("c", "d", "7") ", " ADD("s", "s", "t"), "d, t"),
     "the condition that the body yields must be one boolean, not int64"},
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS BODY("{name: i, type: int32}, c, s", ADD("s", "s", "t"), "c, t"),
     "declares its input 'i' as int32, but onnx::Loop hands in int64"},
    {"16", LOOP_PORTS, "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c"), "has 1 output,"},
    {"16", PORT("m", "float32", "()") ", c: {}, s0: {}", "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, t"),
     "the trip count M must be one whole number (int64), not float32[]"},
    {"16", PORT("m", "int64", "(2,)") ", c: {}, s0: {}", "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, t"), "not int64[2]"},
    {"16", PORT("m", "int64", "(1,)") ", c: {}, s0: {}", "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, t"), NULL},
    {"16", PORT("c", "int64", "()") ", m: {}, s0: {}", "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, t"),
     "the condition cond must be one boolean, not int64[]"},
    {"11", PORT("s0", "seq(tensor(float))", "()") ", m: {}, c: {}", "Loop",
     LOOP_ARGS LOOP_BODY(NODE("q", "s: {}", "SequenceErase", "input_sequence: s", "t"), "c, t"),
     "version 13 is the first to allow it"},
    {"13", PORT("s0", "seq(tensor(float))", "()") ", m: {}, c: {}", "Loop",
     LOOP_ARGS LOOP_BODY(NODE("q", "s: {}", "SequenceErase", "input_sequence: s", "t"), "c, t"), NULL},
    /* parts of an array are of its type; what is left of a sequence that is not known is not known, whatever the position is */
    {"16", LOOP_PORTS, "Loop",
     LOOP_ARGS LOOP_BODY(
         ITEM_OF("s: {}", CALL("d", "Cast", "input: s, to: 11") ", " CALL("parts", "SplitToSequence", "input: d")), "c, t"),
     "state variable 0 enters the body as float32[2] and leaves it as float64"},
    {"16", LOOP_PORTS ", q: {}", "Loop",
     LOOP_ARGS LOOP_BODY(ITEM_OF("q: {}", CALL("parts", "SequenceErase", "input_sequence: q, position: i")), "c, t"), NULL},
    {"16", PORT("s0", "float8_e4m3fn", "()") ", m: {}, c: {}", "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, s"),
     "version 19 is the first to allow it"},
    {"19", PORT("s0", "uint4", "()") ", m: {}, c: {}", "Loop", LOOP_ARGS LOOP_BODY(ADD("s", "s", "t"), "c, s"),
     "version 21 is the first to allow it"},
};

#define IF_PORTS PORT("c", "bool", "()") ", " PORT("x", "float32", "(2,)")
#define BRANCHES(a, b) "cond: c, then_branch: " a ", else_branch: " b
#define SAME BODY("", ADD("x", "x", "a"), "a")
#define LONGER BODY("", STACK("x", "a"), "a")
#define INTEGER BODY("", CAST("x", "a", "7"), "a")
#define SEQUENCE BODY("", NODE("q", "x: {}", "SequenceConstruct", "inputs: '[x]'", "a"), "a")

static const struct row ifs[] = {
    {"16", IF_PORTS, "If", BRANCHES(SAME, SAME), NULL},
    {"11", IF_PORTS, "If", BRANCHES(SAME, LONGER), NULL},
    {"10", IF_PORTS, "If", BRANCHES(SAME, LONGER),
     "then_branch gives float32[2], else_branch float32[4] (shapes may differ from version 11 on)"},
    {"16", IF_PORTS, "If", BRANCHES(SAME, INTEGER), "then_branch gives float32[2], else_branch int64[2]"},
    {"16", IF_PORTS, "If", BRANCHES(SAME, SEQUENCE), "then_branch gives float32[2], else_branch a sequence of float32"},
    {"13", IF_PORTS, "If", BRANCHES(SEQUENCE, SEQUENCE), NULL},
    {"11", IF_PORTS, "If", BRANCHES(SEQUENCE, SEQUENCE),
     "output 0 of version 11 can not be a sequence of float32: version 13 is the first"},
    {"16", IF_PORTS, "If", BRANCHES(SAME, BODY("", ADD("x", "x", "a"), "a, a")), "yield 1 and 2 values"},
    {"16", IF_PORTS, "If", "cond: c, then_branch: " SAME, "needs the attribute 'else_branch'"},
    {"16", PORT("c", "int64", "()") ", x: {}", "If", BRANCHES(SAME, SAME), "the condition must be one boolean, not int64[]"},
    {"16", PORT("c", "bool", "(2,)") ", x: {}", "If", BRANCHES(SAME, SAME), "the condition must be one boolean, not bool[2]"},
    {"16", PORT("c", "bool", "(1, 1)") ", x: {}", "If", BRANCHES(SAME, SAME), NULL},
};

/* Shapes through operators, seen where a Scan's state would change: the state is of 6 elements, or of 2 by 3. */
#define THROUGH(state, function, args, error)                                                                                   \
    {                                                                                                                           \
        "16", SCAN_PORTS(state, "(5, 2)"), "Scan", SCAN_ARGS BODY("s, x", NODE("q", "s: {}, x: {}", function, args, "t"), "t"), \
            error                                                                                                               \
    }

static const struct row shapes[] = {
    THROUGH("(6,)", "Relu", "X: s", NULL),
    THROUGH("(2, 3)", "Transpose", "data: s", "leaves it as float32[3,2]"),
    THROUGH("(2, 3)", "Transpose", "data: s, perm: [0, 1]", NULL),
    THROUGH("(2, 3)", "MatMul", "A: x, B: s", "leaves it as float32[3]"),
    THROUGH("(2, 3)", "Gemm", "A: s, B: s, transB: 1", "leaves it as float32[2,2]"),
    THROUGH("(2, 3)", "ReduceMax", "data: s, axes: [1], keepdims: 0", "leaves it as float32[2]"),
    THROUGH("(2, 3)", "ReduceMax", "data: s, axes: [-2]", "leaves it as float32[1,3]"),
    THROUGH("(2, 3)", "Unsqueeze", "data: s, axes: [0, -1]", "leaves it as float32[1,2,3,1]"),
    THROUGH("(2, 3)", "ArgMax", "data: s, axis: 1", "leaves it as int64[2,1]"),
    THROUGH("(2, 3)", "Gather", "data: s, indices: [0, 1, 1]", "leaves it as float32[3,3]"),
    THROUGH("(2, 3)", "Reshape", "data: s, shape: [0, -1]", NULL),
    THROUGH("(2, 3)", "Reshape", "data: s, shape: [3, 2]", "leaves it as float32[3,2]"),
    THROUGH("(2, 3)", "Concat", "inputs: '[s, s]', axis: 1", "leaves it as float32[2,6]"),
    THROUGH("(2, 3)", "Shape", "data: s", "leaves it as int64[2]"),
    THROUGH("(2, 3)", "Size", "data: s", "leaves it as int64[]"),
    THROUGH("(2, 3)", "Slice", "data: s, starts: [0], ends: [1], axes: [0]", "leaves it as float32[1,3]"),
    THROUGH("(2, 3)", "Slice", "data: s, starts: [-1], ends: [-9], axes: [1], steps: [-2]", "leaves it as float32[2,2]"),
    THROUGH("(2, 3)", "Slice", "data: s, starts: [0], ends: [9], axes: [0]", NULL),
    THROUGH("(2, 3)", "Reshape", "data: s, shape: [-1, 2]", "leaves it as float32[3,2]"),
    THROUGH("(2, 3)", "Flatten", "input: s, axis: -2", "leaves it as float32[1,6]"),
    THROUGH("(1, 2)", "Expand", "input: s, shape: [3, 1]", "leaves it as float32[3,2]"),
    THROUGH("(2, 3)", "Tile", "input: s, repeats: [1, 2]", "leaves it as float32[2,6]"),
    THROUGH("(2, 3)", "Pad", "data: s, pads: [0, 1, 0, -2]", "leaves it as float32[2,2]"),
    THROUGH("(2, 3)", "GatherND", "data: s, indices: [[1], [0], [0]]", "leaves it as float32[3,3]"),
    THROUGH("(2, 3)", "GatherElements", "data: s, indices: [[1, 0, 0]]", "leaves it as float32[1,3]"),
    THROUGH("(2, 3)", "OneHot", "indices: s, depth: 4, values: [0.0, 1.0], axis: 1", "[2,4,3]"),
    THROUGH("(1, 3)", "Squeeze", "data: s", "leaves it as float32[3]"),
    THROUGH("(2, 3, 3)", "Det", "X: s", "leaves it as float32[2]"),
    THROUGH("(1, 1, 7)", "MaxPool", "X: s, kernel_shape: [3], strides: [2], ceil_mode: 1, pads: [1, 1]",
            "leaves it as float32[1,1,4]"),
    THROUGH("(1, 1, 7)", "AveragePool", "X: s, kernel_shape: [3], strides: [2], auto_pad: SAME_UPPER",
            "leaves it as float32[1,1,4]"),
    THROUGH("(1, 2, 7)", "Conv", "X: s, W: [[[1.0, 1.0], [1.0, 1.0]]], dilations: [2]", "leaves it as float32[1,1,5]"),
    THROUGH("(1, 1, 4)", "ConvTranspose", "X: s, W: [[[1.0, 1.0]]], strides: [2]", "leaves it as float32[1,1,8]"),
    THROUGH("(1, 4, 2, 2)", "DepthToSpace", "input: s, blocksize: 2", "leaves it as float32[1,1,4,4]"),
    THROUGH("(2, 3)", "Einsum", "Inputs: '[s, s]', equation: 'ij,kj->ki'", "leaves it as float32[2,2]"),
    THROUGH("(2, 3)", "NonZero", "X: s", "leaves it as int64[2,?]"),
    THROUGH("(2, 3)", "Greater", "A: s, B: s", "leaves it as bool[2,3]"),
    THROUGH("(1, 2)", "Add", "A: s, B: [[1.0], [2.0], [3.0]]", "leaves it as float32[3,2]"),
    THROUGH("(2,)", "ConstantOfShape", "input: [2]", NULL),
    THROUGH("(1, 2, 4, 5)", "GridSample", "X: s, grid: [[[[0.0, 0.5]], [[0.0, 0.5]], [[1.0, 0.5]]]]",
            "leaves it as float32[1,2,3,1]"),
    THROUGH("(1, 2, 3)", "AffineGrid", "theta: s, size: [1, 1, 4, 5]", "leaves it as float32[1,4,5,2]"),
    THROUGH("(1, 1, 4, 6)", "Resize", "X: s, scales: [1.0, 1.0, 0.5, 1.5]", "leaves it as float32[1,1,2,9]"),
    THROUGH("(1, 1, 4, 6)", "Resize", "X: s, sizes: [1, 1, 3, 9]", "leaves it as float32[1,1,3,9]"),
    THROUGH("(1, 12, 4)", "Col2Im", "input: s, image_shape: [3, 3], block_shape: [2, 2]", "leaves it as float32[1,3,3,3]"),
    THROUGH("(1, 9, 1)", "DFT", "input: s, onesided: 1", "leaves it as float32[1,5,2]"),
    THROUGH("(1, 9)", "STFT", "signal: s, frame_step: 2, frame_length: 4", "leaves it as float32[1,3,3,2]"),
    THROUGH("(2, 3)", "SoftmaxCrossEntropyLoss", "scores: s, labels: [0, 2], reduction: none", "leaves it as float32[2]"),
    THROUGH("(2, 3)", "SoftmaxCrossEntropyLoss", "scores: s, labels: [0, 2]", "leaves it as float32[]"),
    /* Sizes that are computed from a shape. */
    {"16", SCAN_PORTS("(2, 3)", "(5, 2)"), "Scan",
     SCAN_ARGS BODY(
         "s, x",
         "q: {input_ports: {s: {}, x: {}}, functions: {" CALL("d", "Shape", "data: s") ", " CALL(
             "e", "Mul", "A: d, B: d") ", " CALL("f", "ConstantOfShape", "input: e") "}, output_ports: {t: {value: f}}}",
         "t"),
     "leaves it as any type[4,9]"},
};

static void compile(const struct row *row, mdf_error *error)
{
    static char text[6000];
    mdf_model *model;
    int length = snprintf(text, sizeof text,
                          "m: {onnx_opset_version: '%s', graphs: {g: {nodes: {n: {input_ports: {%s}, functions: {p: {function: "
                          "'onnx::%s', args: {%s}}}, output_ports: {o: {value: p}}}}}}}\n",
                          row->opset, row->ports, row->function, row->args);

    cr_assert(length > 0 && (size_t)length < sizeof text);
    model = mdf_model_load_bytes(text, (size_t)length, "yaml", "model.yaml", NULL, error);
    cr_assert_not_null(model, "%s\n%s", error->message, text);
    mdf_program_free(mdf_compile(model, NULL, error));
    mdf_model_free(model);
}

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mdf_error error = {0};

        compile(&rows[i], &error);
        if (rows[i].error == NULL) {
            cr_expect_eq(error.code, MDF_OK, "row %zu: %s: %s", i, error.path, error.message);
        } else {
            cr_expect(strstr(error.message, rows[i].error) != NULL, "row %zu: '%s', want '%s'", i, error.message, rows[i].error);
            cr_expect(error.line == 1 && strstr(error.path, "node 'n'") != NULL, "row %zu: %d %s", i, error.line, error.path);
        }
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

Test(inference, scan)
{
    CHECK(scans);
}

Test(inference, loop)
{
    CHECK(loops);
}

Test(inference, if_)
{
    CHECK(ifs);
}

Test(inference, shapes_through_operators)
{
    CHECK(shapes);
}
