/* test_operator_versions.c - what operators do in their older versions and with rare attributes, types and numbers: cases that
 * comparing with onnx.reference and ONNX Runtime at random (tests/calls/sweep_operators.py) has found. */
#include "tests/support/engine.h"
#include "tests/support/operator_call.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* `expected` is the result, or what the message of the error holds. */
static const struct {
    const char *opset, *function, *args, *output, *expected;
} cases[] = {
    /* The type that Range computes in has no effect on whole numbers. */
    /* A count and one axis, not a count for each axis. */
    {"1", "onnx::Tile", "\"input\": [[1.0, 2.0], [3.0, 4.0]], \"tiles\": 2, \"axis\": 1", "f",
     "[[1.0, 2.0, 1.0, 2.0], [3.0, 4.0, 3.0, 4.0]]"},
    {"5", "onnx::Tile", "\"input\": [[1.0, 2.0], [3.0, 4.0]], \"tiles\": 2, \"axis\": 2", "f", "axis"},
    {"28", "onnx::Range", "\"start\": 0, \"limit\": 6, \"delta\": 2, \"stash_type\": 2", "f", "[0, 2, 4]"},
    /* A missing number differs from any: only BRANCH_NEQ holds, unless the node says that missing ones go the way of truth. */
    {"15", "ai.onnx.ml::TreeEnsembleRegressor",
     "\"X\": [[NaN], [1.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_NEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], "
     "\"nodes_falsenodeids\": [2, 0, 0], \"target_treeids\": [0, 0], \"target_nodeids\": [1, 2], \"target_ids\": [0, 0], "
     "\"target_weights\": [10.0, 20.0], \"n_targets\": 1",
     "f", "[[10.0], [20.0], [10.0]]"},
    /* One target takes the first weight that a leaf states for it. */
    {"15", "ai.onnx.ml::TreeEnsembleRegressor",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], "
     "\"nodes_falsenodeids\": [2, 0, 0], \"target_treeids\": [0, 0, 0, 0], \"target_nodeids\": [1, 1, 2, 2], \"target_ids\": [0, "
     "0, 0, 0], "
     "\"target_weights\": [3.0, 4.0, 5.0, 6.0], \"n_targets\": 1",
     "f", "[[3.0], [5.0]]"},
    /* Weights of one class, of which one is negative: the other class has the opposite score, not what is left to 1. */
    {"15", "ai.onnx.ml::TreeEnsembleClassifier",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], \"nodes_falsenodeids\": [2, 0, 0], \"class_treeids\": [0, 0], \"class_nodeids\": [1, 2], \"class_ids\": [0, 0], "
     "\"class_weights\": [0.25, -0.5], \"classlabels_int64s\": [4, 7]",
     "f[0]", "[7, 4]"},
    {"15", "ai.onnx.ml::TreeEnsembleClassifier",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], \"nodes_falsenodeids\": [2, 0, 0], \"class_treeids\": [0, 0], \"class_nodeids\": [1, 2], \"class_ids\": [0, 0], "
     "\"class_weights\": [0.25, -0.5], \"classlabels_int64s\": [4, 7]",
     "f[1]", "[[-0.25, 0.25], [0.5, -0.5]]"},
    {"15", "ai.onnx.ml::TreeEnsembleClassifier",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], \"nodes_falsenodeids\": [2, 0, 0], \"class_treeids\": [0, 0], \"class_nodeids\": [1, 2], \"class_ids\": [0, 0], "
     "\"class_weights\": [0.25, 0.75], \"classlabels_int64s\": [4, 7]",
     "f[0]", "[4, 7]"},
    {"15", "ai.onnx.ml::TreeEnsembleClassifier",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], \"nodes_falsenodeids\": [2, 0, 0], \"class_treeids\": [0, 0], \"class_nodeids\": [1, 2], \"class_ids\": [0, 0], "
     "\"class_weights\": [0.25, 0.75], \"classlabels_int64s\": [4, 7]",
     "f[1]", "[[0.75, 0.25], [0.25, 0.75]]"},
    /* The only class there is has one score, which stays as it is. */
    {"15", "ai.onnx.ml::TreeEnsembleClassifier",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], \"nodes_falsenodeids\": [2, 0, 0], \"class_treeids\": [0, 0], \"class_nodeids\": [1, 2], \"class_ids\": [0, 0], "
     "\"class_weights\": [0.25, 1.0], \"classlabels_int64s\": [4], \"post_transform\": \"LOGISTIC\"",
     "f[0]", "[4, 4]"},
    {"15", "ai.onnx.ml::TreeEnsembleClassifier",
     "\"X\": [[0.0], [2.0]], \"nodes_treeids\": [0, 0, 0], \"nodes_nodeids\": [0, 1, 2], \"nodes_featureids\": [0, 0, 0], "
     "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"LEAF\"], \"nodes_values\": [1.0, 0.0, 0.0], \"nodes_truenodeids\": [1, 0, "
     "0], \"nodes_falsenodeids\": [2, 0, 0], \"class_treeids\": [0, 0], \"class_nodeids\": [1, 2], \"class_ids\": [0, 0], "
     "\"class_weights\": [0.25, 1.0], \"classlabels_int64s\": [4], \"post_transform\": \"LOGISTIC\"",
     "f[1]", "[[0.25], [1.0]]"},
    /* The label is that of the largest sum; a transform makes of two of them what is not a number. */
    {"15", "ai.onnx.ml::LinearClassifier",
     "\"X\": [[1.0], [2.0]], \"coefficients\": [0.5, 2.0, -3.0], \"intercepts\": [0.0, 0.0, 0.0], \"classlabels_ints\": [7, 8, "
     "9], "
     "\"post_transform\": \"PROBIT\"",
     "f[0]", "[8, 8]"},
    /* Support vector machines: the bits of ONNX Runtime 1.31.1, which sums in float64 miss. */
    {"15", "ai.onnx.ml::SVMRegressor",
     "\"X\": [[-0.8, -1.32, -0.25], [0.42, 1.14, 0.11]], \"kernel_type\": \"RBF\", \"kernel_params\": [0.3, "
     "0.7, 3.0], \"n_supports\": 3, \"support_vectors\": [-0.55, -0.78, 0.75, 1.63, 0.27, -1.23, -0.96, 1.6, "
     "0.2], \"coefficients\": [-1.73, -0.08, -1.16], \"rho\": [-0.63]",
     "f", "[[-1.871146], [-1.6490972]]"},
    {"15", "ai.onnx.ml::SVMRegressor",
     "\"X\": [[-0.8, -1.32, -0.25], [0.42, 1.14, 0.11]], \"kernel_type\": \"POLY\", \"kernel_params\": [0.3, "
     "0.7, 3.0], \"n_supports\": 3, \"support_vectors\": [-0.49, -0.71, 0.55, -0.06, -0.59, 0.41, 0.83, -1.64, "
     "-0.26], \"coefficients\": [-0.98, -0.17, -1.29], \"rho\": [0.02]",
     "f", "[[-3.3349044], [-0.087888196]]"},
    {"15", "ai.onnx.ml::SVMRegressor",
     "\"X\": [[-0.8, -1.32, -0.25], [0.42, 1.14, 0.11]], \"kernel_type\": \"LINEAR\", \"n_supports\": 3, "
     "\"support_vectors\": [-0.04, -0.3, -1.05, -0.4, -1.09, -1.36, 0.22, -1.11, 1.17], \"coefficients\": "
     "[0.72, -2.0, 0.27], \"rho\": [-1.1]",
     "f", "[[-4.5313315], [1.3969432]]"},
    {"15", "ai.onnx.ml::SVMClassifier",
     "\"X\": [[-0.8, -1.32, -0.25], [0.42, 1.14, 0.11]], \"kernel_type\": \"RBF\", \"kernel_params\": [0.3, "
     "0.7, 3.0], \"vectors_per_class\": [1, 1, 1], \"support_vectors\": [0.03, 0.04, -1.99, -0.23, -0.26, 0.96, "
     "-1.18, 0.74, -1.1], \"coefficients\": [-0.33, -0.84, 1.45, 0.57, 2.43, 0.64], \"rho\": [0.84, 0.84, "
     "-0.61], \"prob_a\": [-0.3, -0.5, -0.7], \"prob_b\": [-0.07, 1.35, -0.4], \"classlabels_ints\": [4, 5, 6]",
     "f[1]", "[[0.29253852, 0.40344092, 0.30402064], [0.29746917, 0.39996403, 0.3025669]]"},
    /* Tokens: the longest match at each place, or what separators leave, one after the other; ONNX Runtime 1.32 says the same. */
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"xaby\", \"\", \"ab c\"], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"tokenexp\": \"a|ab|c\"", "f",
     "[[\"ab\", \"#\"], [\"#\", \"#\"], [\"ab\", \"c\"]]"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"ab cab, dö x\", \"\"], \"mark\": 1, \"mincharnum\": 2, \"pad_value\": \"#\", \"separators\": [\"[ ,]+\", \"b\"]",
     "f", "[[\"\\u0002\", \"ca\", \"dö\", \"\\u0003\"], [\"\\u0002\", \"\\u0003\", \"#\", \"#\"]]"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [[\"aö\"], [\"b\"]], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"separators\": [\"\"]", "f",
     "[[[\"a\", \"ö\"]], [[\"b\", \"#\"]]]"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"aa\", \"bab\"], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"tokenexp\": \"^a|b$\"", "f",
     "[[\"a\"], [\"b\"]]"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"a b\"], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"separators\": [\"x*\"]", "f",
     "a separator matches an empty text"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"ab\"], \"mark\": 0, \"mincharnum\": 2, \"pad_value\": \"#\", \"tokenexp\": \".\"", "f", "mincharnum has to be 1"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"ab\"], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"tokenexp\": \"(\"", "f",
     "the pattern is wrong at its character 2"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"ab\"], \"mark\": 0, \"mincharnum\": 0, \"pad_value\": \"#\", \"tokenexp\": \"a\"", "f", "mincharnum is 0"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [\"ab\"], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"tokenexp\": \"\"", "f",
     "neither separators nor a tokenexp"},
    {"15", "com.microsoft::Tokenizer",
     "\"X\": [[[\"ab\"]]], \"mark\": 0, \"mincharnum\": 1, \"pad_value\": \"#\", \"tokenexp\": \"a\"", "f", "X has 3 axes"},
    /* A list of equal lists is an array, and a sequence where one is due. */
    {"15", "onnx::ConcatFromSequence", "\"input_sequence\": [[1.0, 2.0], [3.0, 4.0]], \"axis\": 0", "f", "[1.0, 2.0, 3.0, 4.0]"},
    {"15", "onnx::ConcatFromSequence", "\"input_sequence\": [[1.0], [3.0]], \"axis\": 1, \"new_axis\": 1", "f", "[[1.0, 3.0]]"},
    {"15", "onnx::ConcatFromSequence", "\"input_sequence\": 1.0, \"axis\": 0", "f", "must be a sequence"},
    {"15", "onnx::SequenceAt", "\"input_sequence\": [[\"a\"], [\"b\"]], \"position\": -1", "f", "[\"b\"]"},
    {"15", "onnx::SequenceLength", "\"input_sequence\": [[1], [2], [3]]", "f", "3"},
    {"15", "onnx::SequenceErase", "\"input_sequence\": [[1], [2], [3]], \"position\": 0", "f", "[[2], [3]]"},
    {"15", "onnx::SequenceInsert", "\"input_sequence\": [[1], [2]], \"tensor\": [7], \"position\": 1", "f", "[[1], [7], [2]]"},
    /* Diagonals far outside. */
    {"22", "onnx::EyeLike", "\"input\": [[1.0, 2.0]], \"k\": -9223372036854775808", "f", "[[0.0, 0.0]]"},
    {"22", "onnx::EyeLike", "\"input\": [[1.0, 2.0]], \"k\": 9223372036854775807", "f", "[[0.0, 0.0]]"},
    {"22", "onnx::EyeLike", "\"input\": [[1.0, 2.0]]", "f", "[[1.0, 0.0]]"},
    /* 2.7 - 0.7 is a cell of two elements in float32, and a little more of the numbers that float32 has for them: two points, not
     * three, along an axis. */
    {"16", "onnx::RoiAlign",
     "\"X\": \"numpy.array([[[[0.0, 1, 4, 9, 16]]]], dtype=numpy.float32)\", \"rois\": \"numpy.array([[0.7, 0.0, 2.7, 1.0]], "
     "dtype=numpy.float32)\", "
     "\"batch_indices\": [0], \"coordinate_transformation_mode\": \"output_half_pixel\"",
     "f", "[[[[3.3000002]]]]"},
    /* numpy's functions of a shape: of lists and numbers, too. */
    {"21", "onnx::Identity", "\"input\": \"numpy.array(numpy.shape([[1, 2], [3, 4], [5, 6]]))\"", "f", "[3, 2]"},
    {"21", "onnx::Identity",
     "\"input\": \"numpy.array([numpy.size([[1, 2, 3], [4, 5, 6]]), numpy.size(numpy.zeros((4, 5)), -1), numpy.size(2.5), "
     "numpy.ndim([[1], [2]]), numpy.ndim(7)])\"",
     "f", "[6, 5, 1, 2, 0]"},
    {"21", "onnx::Identity", "\"input\": \"numpy.size([1, 2], 1)\"", "f", "axis 1"},
    /* Cubics go past the elements that they lie between: integers end at the ends of their type. */
    {"13", "onnx::Resize",
     "\"X\": \"numpy.array([0, 0, 255, 255, 0], dtype=numpy.uint8)\", \"scales\": [2.0], \"mode\": \"cubic\"", "f",
     "[0, 0, 0, 58, 197, 255, 255, 197, 58, 0]"},
};

Test(operator_versions, cases)
{
    char text[OPERATOR_CALL_TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_operator(cases[i].opset, "1", cases[i].function, cases[i].args, cases[i].output, text);
        cr_expect(strstr(text, cases[i].expected) != NULL, "%s %s(%s): %s, not %s", cases[i].function, cases[i].opset,
                  cases[i].args, text, cases[i].expected);
    }
}

/* Identity takes sequences since version 14: before, the items become an array, also where the sequence is lowered, as rows or as
 * items that are known one by one. */
Test(operator_versions, where_no_sequence_is_taken_its_items_are_an_array)
{
    static const char *const sequences[] = {
        "\"s\": {\"function\": \"onnx::SequenceConstruct\", \"args\": {\"inputs\": \"[x, x]\"}}",
        "\"h\": {\"value\": \"x[:1]\"}, \"b\": {\"function\": \"onnx::SequenceConstruct\", \"args\": {\"inputs\": \"[h, x]\"}}, "
        "\"s\": {\"function\": \"onnx::SequenceErase\", \"args\": {\"input_sequence\": \"b\", \"position\": 0}}"};
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"%s\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"type\": "
        "\"float64\", \"shape\": [2]}}, \"parameters\": {%s, \"i\": {\"function\": \"onnx::Identity\", \"args\": {\"input\": "
        "\"s\"}}}, \"output_ports\": {\"o\": {\"value\": \"i\"}}}}}}}}";

    for (int round = 0; round < 8; round++) {
        const mdf_options options = {.plain = round % 4 < 2};
        const char *sequence = sequences[round / 4];
        struct engine engine;
        char text[1024];

        cr_assert_lt((size_t)snprintf(text, sizeof text, model, round % 2 == 0 ? "13" : "14", sequence), sizeof text);
        cr_assert(engine_begin(&engine, text, &options), "%s", engine.error.message);
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(mdf_set_input_json(engine.state, "x", "[1.5, 2.5]", &engine.error), MDF_OK, "%s", engine.error.message);
            cr_assert_eq(mdf_evaluate(engine.state, 0.1, &engine.error), MDF_OK, "%s", engine.error.message);
            cr_expect_eq(mdf_value_kind(mdf_output(engine.state, "n", "o")), round % 2 == 0 ? MDF_KIND_TENSOR : MDF_KIND_LIST,
                         "round %d, evaluation %d", round, i);
        }
        engine_end(&engine);
    }
}
