/* test_operators.c - what operators do with values at the edge, and refuse; the Fourier transform against its definition; image
 * files that are cut short or changed. What operators compute stands in reference_cases.json. */
#include "functions/signal/fourier.h"
#include "mdf_c/mdf.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/operator_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = OPERATOR_CALL_TEXT_SIZE };

/* `expected` is the result, or what the message of the error holds. */
static const struct {
    const char *function, *args, *expected;
} cases[] = {
    /* Resize: nothing to resize; scales and sizes that are none. */
    {"onnx::Resize", "\"X\": [[1.0, 2.0]], \"scales\": [1.0, -2.0]", "not a number greater than 0"},
    {"onnx::Resize", "\"X\": [[1.0, 2.0]], \"scales\": [1.0, 1e300]", "not a number greater than 0"},
    {"onnx::Resize", "\"X\": [[1.0, 2.0]], \"scales\": [1.0, NaN]", "not a number greater than 0"},
    {"onnx::Resize", "\"X\": [[1.0, 2.0]], \"scales\": [2.0]", "1 numbers for 2 axes"},
    {"onnx::Resize", "\"X\": [[1.0, 2.0]], \"scales\": [1.0, 2.0], \"sizes\": [1, 4]", "both given"},
    {"onnx::Resize", "\"X\": [[1.0, 2.0]], \"sizes\": [1, 0], \"mode\": \"linear\"", "[[]]"},
    /* A scale of float32 that is meant for a size leads to it: 3 times it is less than 5, but not in float32. */
    {"onnx::Resize", "\"X\": [1.0, 2.0, 3.0], \"scales\": [1.6666666269302368]", "[1.0, 1.0, 2.0, 3.0, 3.0]"},
    /* 0.1 is 0.1 of float32, and 1 by it 10. */
    {"onnx::Resize",
     "\"X\": [[0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]], \"scales\": [1.0, 0.1], "
     "\"coordinate_transformation_mode\": \"asymmetric\", \"nearest_mode\": \"floor\"",
     "[[0.0, 10.0]]"},
    {"onnx::Resize",
     "\"X\": [[1.0, 2.0]], \"sizes\": [1, 4], \"mode\": \"linear\", \"coordinate_transformation_mode\": "
     "\"align_corners\"",
     "[[1.0, 1.3333333333333333, 1.6666666666666665, 2.0]]"},
    {"onnx::Resize", "\"X\": [[1, 2]], \"sizes\": [1, 3], \"mode\": \"linear\"", "[[1, 2, 2]]"},
    {"onnx::Resize",
     "\"X\": [1.0, 2.0], \"roi\": [-1e300, 1e300], \"sizes\": [3], \"coordinate_transformation_mode\": "
     "\"tf_crop_and_resize\", \"extrapolation_value\": 7.0",
     "[7.0, 1.0, 7.0]"},
    /* 0.1 is a little more in float32, but five times as much is one half, between two elements, there. */
    {"onnx::Resize",
     "\"X\": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], \"roi\": \"numpy.array([0.1, 0.8], dtype='float32')\", \"sizes\": [4], "
     "\"coordinate_transformation_mode\": \"tf_crop_and_resize\"",
     "[0.0, 2.0, 3.0, 4.0]"},
    {"onnx::Resize", "\"X\": [1.0, 2.0], \"sizes\": [3], \"mode\": \"bicubic\"", "there is no mode 'bicubic'"},
    /* Symmetric places are: one of six is in the middle, of which the third element is the nearest from below. */
    {"onnx::Resize",
     "\"X\": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], \"scales\": [0.3], \"coordinate_transformation_mode\": \"half_pixel_symmetric\"",
     "[2.0]"},
    /* Padding is removed like what it pads, as far as there is any. */
    {"onnx::Pad", "\"data\": [1.0, 2.0], \"pads\": [3, -3], \"constant_value\": 7.0", "[7.0, 7.0]"},
    {"onnx::Pad", "\"data\": [1.0, 2.0], \"pads\": [-3, 4], \"constant_value\": 7.0", "[7.0, 7.0, 7.0]"},
    {"onnx::Pad", "\"data\": [[1.0, 2.0], [3.0, 4.0]], \"pads\": [-1, 1, 1, -1]", "[[0.0, 3.0], [0.0, 0.0]]"},
    {"onnx::Pad", "\"data\": [1.0, 2.0], \"pads\": [3, -6]", "can not be padded by 3 before and -6 after"},
    {"onnx::Pad", "\"data\": [1.0, 2.0], \"pads\": [3, -3], \"mode\": \"edge\"", "can not be padded by 3 before and -3 after"},
    /* An index is looked at even where nothing is picked. */
    {"onnx::Gather", "\"data\": [[], []], \"indices\": [2]", "out of range for axis 0 of size 2"},
    {"onnx::Gather", "\"data\": [[], []], \"indices\": [-2]", "[[]]"},
    /* An axis twice is that axis; of a number the largest element stands at 0; any number but 0 selects the last. */
    {"onnx::ReduceMax", "\"data\": [[1.0, 2.0], [4.0, 3.0]], \"axes\": [1, -1], \"keepdims\": 0", "[2.0, 4.0]"},
    {"onnx::ArgMax", "\"data\": 2.5", "0"},
    {"onnx::ArgMin", "\"data\": 2.5, \"axis\": 1", "axis 1 is out of range"},
    {"onnx::ArgMax", "\"data\": [2.0, 1.0, 2.0], \"keepdims\": 0, \"select_last_index\": 2", "2"},
    /* Of an alpha of 0, 0 times infinity is not a number. */
    {"onnx::Celu", "\"X\": [1.0, -1.0, 0.0], \"alpha\": 0.0", "[NaN, -0.0, NaN]"},
    {"onnx::Celu", "\"X\": [1.0, Infinity, 0.0], \"alpha\": -1.0", "[1.0, Infinity, 0.0]"},
    {"onnx::PRelu", "\"X\": -2.0, \"slope\": [0.5, 3.0]", "[-1.0, -6.0]"},
    {"onnx::PRelu", "\"X\": [[-2.0], [1.0]], \"slope\": [0.5, 3.0]", "[[-1.0, -6.0], [1.0, 1.0]]"},
    /* No text is of a category that is a number. */
    {"ai.onnx.ml::OneHotEncoder", "\"X\": [1.0, 2.0], \"cats_strings\": [\"1\", \"b\"]", "[[0.0, 0.0], [0.0, 0.0]]"},
    {"ai.onnx.ml::OneHotEncoder", "\"X\": [1.0], \"cats_strings\": [\"1\"], \"zeros\": 0", "is of no category"},
    /* Along an axis: a number without axes and declared type is an array of one; one with a declared type is none. */
    {"onnx::Softmax", "\"input\": 2.5", "[1.0]"},
    {"onnx::LogSoftmax", "\"input\": 2.5, \"axis\": -1", "[0.0]"},
    {"onnx::Hardmax", "\"input\": 2.5", "[1.0]"},
    {"onnx::CumSum", "\"x\": 2.5, \"axis\": 0", "[2.5]"},
    {"onnx::CumSum", "\"x\": [-0.0, -0.0, 0.0], \"axis\": 0", "[-0.0, -0.0, 0.0]"},
    {"onnx::CumSum", "\"x\": [-0.0, -0.0], \"axis\": 0, \"exclusive\": 1", "[0.0, 0.0]"},
    {"onnx::Concat", "\"inputs\": [1.5, 2.5], \"axis\": 0", "[1.5, 2.5]"},
    {"onnx::Slice", "\"data\": 2.5, \"starts\": 0, \"ends\": 9", "[2.5]"},
    {"onnx::Gather", "\"data\": 2.5, \"indices\": [0, 0]", "[2.5, 2.5]"},
    {"onnx::Flatten", "\"input\": 2.5", "[[2.5]]"},
    {"onnx::LpNormalization", "\"input\": -2.5", "[-1.0]"},
    {"onnx::LayerNormalization", "\"X\": 2.5, \"Scale\": 3.0, \"B\": 0.5", "[0.5]"},
    {"onnx::Unique", "\"X\": 2.5, \"axis\": 0", "[2.5]"},
    /* The sum so far is broadcast to more elements by what comes last. */
    {"onnx::Mean",
     "\"data_0\": [[1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 5.0, 6.0], [[2.0, 3.0, 4.0, 5.0], [5.0, 6.0, 7.0, 8.0], [8.0, 9.0, 10.0, "
     "11.0]]]",
     "[[2.0, 3.0, 4.0, 5.0], [3.0, 4.0, 5.0, 6.0], [4.0, 5.0, 6.0, 7.0]]"},
    {"onnx::Mean", "\"data_0\": [[1.0, 2.0], [3.0, 4.0], [2.0, 2.0], [[2.0, 4.0], [6.0, 8.0], [10.0, 12.0]]]",
     "[[2.0, 3.0], [3.0, 4.0], [4.0, 5.0]]"},
    /* Real attributes are float32, given or by default. */
    {"onnx::LeakyRelu", "\"X\": -1.0", "-0.009999999776482582"},
    {"onnx::LeakyRelu", "\"X\": -1.0, \"alpha\": 0.1", "-0.10000000149011612"},
    {"onnx::LeakyRelu", "\"X\": -1.0, \"alpha\": 1e39", "attribute 'alpha' must be within float32"},
    {"ai.onnx.ml::Normalizer", "\"X\": [[3.0, 4.0]], \"norm\": \"L\\u0000\"", "attribute 'norm' has a NUL byte"},
    /* GridSample: points at infinity, and nowhere. */
    {"onnx::GridSample", "\"X\": [[[[1.0, 2.0]]]], \"grid\": [[[[Infinity, 0.0], [NaN, NaN], [1e300, 0.0]]]]",
     "[[[[0.0, 0.0, 0.0]]]]"},
    {"onnx::GridSample", "\"X\": [[[[1.0, 2.0]]]], \"grid\": [[[[Infinity, 0.0], [-1e300, 0.0]]]], \"padding_mode\": \"border\"",
     "[[[[2.0, 1.0]]]]"},
    {"onnx::GridSample",
     "\"X\": [[[[1.0, 2.0]]]], \"grid\": [[[[Infinity, NaN]]]], \"padding_mode\": \"reflection\", \"mode\": "
     "\"nearest\"",
     "[[[[1.0]]]]"},
    {"onnx::GridSample", /* at a border each of four neighbours is brought inside, not the point between them */
     "\"X\": [[[[1.0, 2.0]]]], \"grid\": [[[[1.0, 0.0], [0.5, 0.0]]]], \"padding_mode\": \"border\", \"mode\": \"cubic\"",
     "[[[[2.09375, 2.0]]]]"},
    {"onnx::GridSample", "\"X\": [[[1.0, 2.0]]], \"grid\": [[[[0.0, 0.0]]]]", "does not fit X"},
    {"onnx::GridSample", "\"X\": [[[[]]]], \"grid\": [[[[0.0, 0.0]]]]", "X has no elements to sample"},
    {"onnx::Resize", "\"X\": [[]], \"sizes\": [1, 3]", "an axis of 0 elements can not be resized to 3"},
    /* Pools: windows that dilations carry over all elements; kernels larger than the array. */
    {"onnx::AveragePool", "\"X\": [[[5.0, 5.0]]], \"kernel_shape\": [2], \"dilations\": [3], \"pads\": [1, 1]", "[[[0.0]]]"},
    {"onnx::AveragePool", "\"X\": [[[5.0, 6.0]]], \"kernel_shape\": [3], \"strides\": [2], \"ceil_mode\": 1", "[[[5.5]]]"},
    {"onnx::AveragePool", "\"X\": [[[5.0, 6.0]]], \"kernel_shape\": [3]", "[[[]]]"},
    {"onnx::AveragePool", "\"X\": [[[5.0, 6.0]]], \"kernel_shape\": [4]", "spans 4 positions of axis 0, which has 2"},
    /* Attention. */
    {"onnx::Attention", "\"Q\": [[[[1.0, 0.0]]]], \"K\": [[[[1.0]]]], \"V\": [[[[1.0]]]]", "do not fit"},
    {"onnx::Attention", "\"Q\": [[[1.0, 0.0, 1.0]]], \"K\": [[[1.0]]], \"V\": [[[1.0]]]", "number of heads must be given"},
    {"onnx::Attention",
     "\"Q\": [[[[1.0]]]], \"K\": [[[[1.0], [2.0]]]], \"V\": [[[[1.0], [3.0]]]], \"attn_mask\": [[false, false]]", "[[[[0.0]]]]"},
    {"onnx::Attention", "\"Q\": [[[[1.0]]]], \"K\": [[[[1.0], [2.0]]]], \"V\": [[[[1.0], [3.0]]]], \"attn_mask\": [[true]]",
     "[[[[1.0]]]]"},
    {"onnx::Attention", "\"Q\": [[[[1.0]]]], \"K\": [[[[1.0]]]], \"V\": [[[[1.0]]]], \"past_key\": [[[[1.0]]]]",
     "given together"},
    {"onnx::Attention", "\"Q\": [[[[1.0]]]], \"K\": [[[[1.0]]]], \"V\": [[[[1.0]]]], \"nonpad_kv_seqlen\": [-1]", "is -1"},
    {"onnx::RotaryEmbedding", "\"X\": [[[[1.0, 2.0]]]], \"cos_cache\": [[1.0]], \"sin_cache\": [[0.0]], \"position_ids\": [[4]]",
     "not one of the 1 rows"},
    {"onnx::LinearAttention",
     "\"query\": [[[1.0]]], \"key\": [[[1.0]]], \"value\": [[[1.0]]], \"q_num_heads\": 1, \"kv_num_heads\": 1, \"update_rule\": "
     "\"gated\"",
     "needs the input 'decay'"},
    {"onnx::CausalConvWithState", "\"input\": [[[1.0, 2.0]]], \"weight\": [[[1.0]], [[2.0]]]", "weight has shape"},
    {"onnx::SwiGLU", "\"A\": [1.0, 2.0], \"B\": [1.0]", "B has shape [1], not [2]"},
    /* Points of a region at whole places stay there, and so within the array. */
    {"onnx::RoiAlign",
     "\"X\": [[[[1.0], [2.0], [3.0], [4.0]]]], \"rois\": [[-4.0, 0.0, 7.0, 3.0]], \"batch_indices\": [0], \"spatial_scale\": 2.0",
     "[[[[0.3181818181818182]]]]"},
    /* Signals. */
    {"onnx::BlackmanWindow", "\"size\": 3, \"periodic\": 0, \"output_datatype\": 11", "[0.0, 1.0, 0.0]"},
    {"onnx::BlackmanWindow", "\"size\": 3, \"periodic\": 0, \"output_datatype\": 7", "[0, 1, 0]"},
    {"onnx::DFT", "\"input\": [[[1.0], [2.0]]], \"dft_length\": 0", "length 0 is not possible"},
    {"onnx::DFT", "\"input\": [[[1.0], [2.0]]], \"dft_length\": 3, \"axis\": -1", "real and imaginary parts"},
    {"onnx::DFT", "\"input\": [[[1.0, 2.0], [2.0, 0.0]]], \"onesided\": 1", "needs real numbers"},
    {"onnx::DFT", "\"input\": [[[1.0], [2.0]]], \"dft_length\": 1", "[[[1.0, 0.0]]]"},
    {"onnx::STFT", "\"signal\": [[[1.0], [2.0]]], \"frame_step\": 0, \"frame_length\": 2", "can not be cut"},
    {"onnx::MelWeightMatrix",
     "\"num_mel_bins\": 4, \"dft_length\": 8, \"sample_rate\": 10, \"lower_edge_hertz\": 0.0, \"upper_edge_hertz\": 1e6",
     "lies past the last"},
    {"onnx::Col2Im", "\"input\": [[[1.0], [2.0]]], \"image_shape\": [2, 2], \"block_shape\": [1, 5]", "are needed"},
    {"onnx::Col2Im", "\"input\": [[[1], [2]]], \"image_shape\": [1, 2], \"block_shape\": [1, 2]", "[[[[1, 2]]]]"},
    {"onnx::Col2Im", "\"input\": [[[\"a\"]]], \"image_shape\": [1, 1], \"block_shape\": [1, 1]", "can not be added"},
    /* A bare number is a length for all parts, a list has one for each. */
    {"com.microsoft::Inverse", "\"X\": [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]]", "matrix number 1 of 2 is singular"},
    {"onnx::SplitToSequence", "\"input\": [1, 2, 3, 4], \"split\": 2", "[[1, 2], [3, 4]]"},
    {"onnx::SplitToSequence", "\"input\": [1, 2, 3], \"split\": 1, \"keepdims\": 0", "[1, 2, 3]"},
    {"onnx::SplitToSequence", "\"input\": [1, 2], \"split\": [1, 1], \"keepdims\": 0", "[[1], [2]]"},
    {"onnx::SplitToSequence", "\"input\": [1, 2, 3], \"split\": 2, \"keepdims\": 0", "[[1, 2], [3]]"},
    {"onnx::SplitToSequence", "\"input\": [1, 2, 3, 4], \"split\": [4]", "[[1, 2, 3, 4]]"},
    {"onnx::SplitToSequence", "\"input\": [1, 2, 3, 4], \"split\": [2]", "do not make up axis 0"},
    /* So is a bare index an array of one; a place in two axes needs two. */
    {"onnx::GatherElements", "\"data\": [1.0, 2.0, 3.0], \"indices\": 1", "[2.0]"},
    {"onnx::GatherElements", "\"data\": [[1.0, 2.0, 3.0]], \"indices\": 1", "indices int64[1] do not fit float64[1,3]"},
    {"onnx::ScatterElements", "\"data\": [1.0, 2.0, 3.0], \"indices\": 1, \"updates\": 5.0", "[1.0, 5.0, 3.0]"},
    {"onnx::ScatterElements", "\"data\": [1.0, 2.0, 3.0], \"indices\": 1, \"updates\": [5.0, 6.0]", "do not have the shape"},
    /* Texts. */
    {"onnx::RegexFullMatch", "\"X\": [], \"pattern\": \"a\"", "[]"},
    {"onnx::StringConcat", "\"X\": [\"a\"], \"Y\": [[]]", "have different types"},
    {"onnx::RegexFullMatch", "\"X\": [\"a\"], \"pattern\": \"(a\"", "the pattern is wrong at its character 3"},
    {"onnx::RegexFullMatch", "\"X\": [\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"], \"pattern\": \"(a+)+(a+)+(a+)+[cd]\"",
     "too costly"},
    {"onnx::RegexFullMatch", "\"X\": [\"ab\\n\", \"ab\", \"xab\"], \"pattern\": \"ab$\"", "[false, true, false]"},
    {"onnx::TfIdfVectorizer",
     "\"X\": [1, 2], \"mode\": \"TF\", \"ngram_counts\": [0, 1], \"ngram_indexes\": [0, 1], \"pool_int64s\": [1, 1, 2, 3], "
     "\"max_skip_count\": 0, \"min_gram_length\": 1, \"max_gram_length\": 2",
     "does not cut the pool"},
    {"onnx::TfIdfVectorizer",
     "\"X\": [1, 2], \"mode\": \"TF\", \"ngram_counts\": [0, 1], \"ngram_indexes\": [0, 1], \"pool_int64s\": [1, 1, 2], "
     "\"max_skip_count\": 9000000000000000000, \"min_gram_length\": 1, \"max_gram_length\": 2",
     "[1.0, 1.0]"},
    /* ai.onnx.ml */
    {"ai.onnx.ml::Scalr", "\"X\": [1.0]", "did you mean 'ai.onnx.ml::Scaler'?"},
    {"ai.onnx.ml::Scaler", "\"X\": [[1.0, 2.0]], \"scale\": [1.0, 2.0, 3.0]", "'scale' has 3 numbers for 2 features"},
    /* One intercept of two is neither's; a 0 is none. */
    {"ai.onnx.ml::LinearRegressor",
     "\"X\": [[1.0, 2.0]], \"coefficients\": [1.0, 2.0, 3.0, 4.0], \"targets\": 2, \"intercepts\": [0.5]",
     "there are 1 intercepts for 2 sums"},
    {"ai.onnx.ml::LinearRegressor",
     "\"X\": [[1.0, 2.0]], \"coefficients\": [1.0, 2.0, 3.0, 4.0], \"targets\": 2, \"intercepts\": [0.0]", "[[5.0, 11.0]]"},
    {"ai.onnx.ml::LinearClassifier",
     "\"X\": [[1.0]], \"coefficients\": [1.0, 2.0], \"classlabels_ints\": [3, 4], \"intercepts\": [0.5, 1.0, 2.0]",
     "there are 3 intercepts for 2 sums"},
    {"ai.onnx.ml::LabelEncoder", "\"X\": [\"b\", \"?\"], \"classes_strings\": [\"a\", \"b\"]", "[1, -1]"}, /* version 1 */
    {"ai.onnx.ml::CastMap", "\"X\": 1", "must be an object"},
    {"ai.onnx.preview.training::Momentum",
     "\"R\": 0.5, \"T\": 1, \"inputs\": [1.0, 2.0], \"alpha\": 0.5, \"beta\": 0.5, \"norm_coefficient\": 0.0, \"mode\": "
     "\"standard\"",
     "are not variables"},
    {"ai.onnx.preview.training::Gradient", "\"Inputs\": [1.0], \"xs\": [\"x\"], \"y\": \"y\"", "no value 'y' to derive by"},
};

Test(operators, edges)
{
    char text[TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        call_operator("28", "1", cases[i].function, cases[i].args, "f", text);
        cr_expect(strstr(text, cases[i].expected) != NULL, "%s(%s): %s, not %s", cases[i].function, cases[i].args, text,
                  cases[i].expected);
    }
}

/* ------------------------------------------------------------------ memory that runs out */

/* Wherever memory runs out in an evaluation there is an error and nothing is lost. The model is compiled with enough of it. */
Test(operators, out_of_memory)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct counter counter = {.fails_once = true};
        mdf_allocator allocator = failing_allocator(&counter);
        mdf_options options = {.allocator = &allocator};
        char source[TEXT_SIZE];
        mdf_error error = {0};
        mdf_model *model;
        mdf_program *program;
        mdf_status status = MDF_OUT_OF_MEMORY;

        snprintf(source, sizeof source, OPERATOR_CALL_FORM, "28", "1", cases[i].function, cases[i].args, "f");
        model = mdf_model_load_bytes(source, strlen(source), "json", "model", &options, &error);
        program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
        for (size_t n = 1; program != NULL && status == MDF_OUT_OF_MEMORY && n <= 5000; n++) {
            mdf_state *state;

            error = (mdf_error){0};
            counter.fail_at = counter.n_calls + n;
            state = mdf_state_new(program, &error);
            if (state != NULL) {
                mdf_evaluate(state, (double)NAN, &error);
            }
            counter.fail_at = 0;
            status = error.code;
            mdf_state_free(state);
        }
        cr_expect(program == NULL || status != MDF_OUT_OF_MEMORY, "%s(%s) never had enough", cases[i].function, cases[i].args);
        mdf_program_free(program);
        mdf_model_free(model);
        cr_expect_eq(counter.n_blocks, 0, "%s(%s) lost %zu blocks", cases[i].function, cases[i].args, counter.n_blocks);
    }
}

/* Trees by node; each fault leads out of them. */
Test(operators, trees_that_are_none)
{
    static const char form[] =
        "\"X\": [[1.0]], \"tree_roots\": [%s], \"nodes_featureids\": [%s], \"nodes_modes\": [0], \"nodes_splits\": "
        "[0.5], \"nodes_truenodeids\": [0], \"nodes_falsenodeids\": [%s], \"nodes_trueleafs\": [1], "
        "\"nodes_falseleafs\": [%s], \"leaf_targetids\": [%s], \"leaf_weights\": [2.5]";
    static const struct {
        const char *root, *feature, *child, *is_leaf, *target, *expected;
    } trees[] = {{"0", "0", "0", "1", "0", "[[2.5]]"},
                 {"1", "0", "0", "1", "0", "[[2.5]]"},
                 {"2", "0", "0", "1", "0", "begins at node 2"},
                 {"0", "0", "0", "0", "0", "in a circle"},
                 {"0", "3", "0", "1", "0", "does not have"},
                 {"0", "0", "1", "1", "0", "refers to what is not there"},
                 {"0", "0", "0", "1", "1", "of target or class 1"}};
    char args[1024], text[TEXT_SIZE];

    for (size_t i = 0; i < sizeof trees / sizeof *trees; i++) {
        snprintf(args, sizeof args, form, trees[i].root, trees[i].feature, trees[i].child, trees[i].is_leaf, trees[i].target);
        call_operator("21", "5", "ai.onnx.ml::TreeEnsemble", args, "f", text);
        cr_expect(strstr(text, trees[i].expected) != NULL, "tree %zu: %s, not %s", i, text, trees[i].expected);
    }
}

/* Three trees, the second a leaf alone: by rows, by trees and one by one where not all comparisons are of one kind. Of rows of
 * (a, b), those of log of negative numbers NaN, which goes on as true where the first node says so. */
static double sum_of_trees(double a, double b, bool turned)
{
    double first = a <= -0.3 || isnan(a) ? 1 : (turned && isnan(b)) || b <= -0.6 ? 2 : 4;

    return first + 8 + ((turned && isnan(b)) || b <= -1 ? 16 : 32);
}

Test(operators, trees_are_walked_side_by_side)
{
    static const char form[] =
        "\"X\": \"numpy.log(numpy.sin(numpy.arange(%d.0) * 1.3 + 0.4)).reshape(%d, 2)\", \"n_targets\": 1, "
        "\"nodes_treeids\": [0, 0, 0, 0, 0, 1, 2, 2, 2], \"nodes_nodeids\": [0, 1, 2, 3, 4, 0, 0, 1, 2], "
        "\"nodes_featureids\": [0, 0, 1, 0, 0, 0, 1, 0, 0], \"nodes_values\": [-0.3, 0, -0.6, 0, 0, 0, -1.0, 0, 0], "
        "\"nodes_modes\": [\"BRANCH_LEQ\", \"LEAF\", \"%s\", \"LEAF\", \"LEAF\", \"LEAF\", \"%s\", \"LEAF\", \"LEAF\"], "
        "\"nodes_truenodeids\": [1, 0, %s, 0, 0, 0, %s, 0, 0], \"nodes_falsenodeids\": [2, 0, %s, 0, 0, 0, %s, 0, 0], "
        "\"nodes_missing_value_tracks_true\": [1, 0, 0, 0, 0, 0, 0, 0, 0], \"target_treeids\": [0, 0, 0, 1, 2, 2], "
        "\"target_nodeids\": [1, 3, 4, 0, 1, 2], \"target_ids\": [0, 0, 0, 0, 0, 0], "
        "\"target_weights\": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]";
    static const int n_rows[] = {1, 2, 3, 7, 8, 9, 21};

    for (size_t i = 0; i < 2 * sizeof n_rows / sizeof *n_rows; i++) {
        bool turned = i % 2 == 1; /* the comparisons of b the other way round */
        const char *mode = turned ? "BRANCH_GT" : "BRANCH_LEQ", *low = turned ? "4" : "3", *high = turned ? "3" : "4";
        char args[2048], text[OPERATOR_CALL_TEXT_SIZE], expected[1024] = "[";
        int n = n_rows[i / 2];

        for (int row = 0; row < n; row++) {
            double a = log(sin(2 * row * 1.3 + 0.4)), b = log(sin((2 * row + 1) * 1.3 + 0.4));

            snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s[%.1f]", row > 0 ? ", " : "",
                     sum_of_trees(a, b, turned));
        }
        snprintf(args, sizeof args, form, 2 * n, n, mode, mode, low, turned ? "2" : "1", high, turned ? "1" : "2");
        call_operator("21", "3", "ai.onnx.ml::TreeEnsembleRegressor", args, "f", text);
        strcat(expected, "]");
        cr_expect_str_eq(text, expected, "%d rows, %s", n, mode);
    }
}

/* ------------------------------------------------------------------ the Fourier transform */

/* Lengths of one factor, several, primes below and above the largest radix. The tolerance: some digits of float64 for sums of n
 * numbers around 1. */
Test(operators, fourier_transform_is_its_definition)
{
    static const size_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 30, 61, 64, 67, 97, 100, 101, 122, 128, 134, 243, 257};
    const double pi = acos(-1);

    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        size_t n = lengths[l], n_table, n_work;
        struct mdf_fourier plan;
        double *table, *work, *in = malloc(2 * n * sizeof *in), *out = malloc(2 * n * sizeof *out);

        cr_assert(mdf_fourier_sizes(n, &n_table, &n_work));
        table = malloc(n_table * sizeof *table);
        work = malloc((n_work + 1) * sizeof *work);
        for (size_t i = 0; i < 2 * n; i++) {
            in[i] = sin((double)(i * i + 1));
        }
        mdf_fourier_prepare(&plan, n, table, work, NULL);
        mdf_fourier_run(&plan, in, out, work);
        for (size_t k = 0; k < n; k++) {
            double real = 0, imaginary = 0;

            for (size_t j = 0; j < n; j++) {
                double angle = -2 * pi * (double)(j * k % n) / (double)n;

                real += in[2 * j] * cos(angle) - in[2 * j + 1] * sin(angle);
                imaginary += in[2 * j] * sin(angle) + in[2 * j + 1] * cos(angle);
            }
            cr_expect(fabs(out[2 * k] - real) < 1e-12 * (double)n && fabs(out[2 * k + 1] - imaginary) < 1e-12 * (double)n,
                      "length %zu, element %zu: %g + %gi, not %g + %gi", n, k, out[2 * k], out[2 * k + 1], real, imaginary);
        }
        free(table);
        free(work);
        free(in);
        free(out);
    }
    cr_assert_not(mdf_fourier_sizes(SIZE_MAX / 2, &(size_t){0}, &(size_t){0}));
}

/* ------------------------------------------------------------------ images */

static void decode(const unsigned char *bytes, size_t n, char text[TEXT_SIZE])
{
    char *args = malloc(8 * n + 100);
    int length = sprintf(args, "\"encoded_stream\": [");

    for (size_t i = 0; i < n; i++) {
        length += sprintf(args + length, "%s%d", i > 0 ? "," : "", bytes[i]);
    }
    sprintf(args + length, "]");
    call_operator("20", "1", "onnx::ImageDecoder", args, "f", text);
    free(args);
}

/* Two pixels, red and blue, of one row; the rows of a bitmap end at a multiple of 4 bytes. */
static const unsigned char bitmap[] = {'B', 'M', 62, 0, 0, 0, 0, 0,  0, 0, 54, 0, 0, 0, 40,  0,   0, 0, 2, 0, 0,
                                       0,   1,   0,  0, 0, 1, 0, 24, 0, 0, 0,  0, 0, 8, 0,   0,   0, 0, 0, 0, 0,
                                       0,   0,   0,  0, 0, 0, 0, 0,  0, 0, 0,  0, 0, 0, 255, 255, 0, 0, 0, 0};
static const char pixmap[] = "P3 # two pixels\n2 1 255 255 0 0  0 0 255";

Test(operators, images_without_a_library)
{
    char text[TEXT_SIZE];

    decode(bitmap, sizeof bitmap, text);
    cr_expect_str_eq(text, "[[[255, 0, 0], [0, 0, 255]]]");
    decode((const unsigned char *)pixmap, sizeof pixmap - 1, text);
    cr_expect_str_eq(text, "[[[255, 0, 0], [0, 0, 255]]]");
    decode((const unsigned char *)"P4 3 1 \xa0", 8, text);
    cr_expect_str_eq(text, "[[[0, 0, 0], [255, 255, 255], [0, 0, 0]]]");
    decode((const unsigned char *)"no image", 8, text);
    cr_expect_str_eq(text, "[]");
    decode((const unsigned char *)"P5 99999999 99999999 255\n", 25, text);
    cr_expect(strstr(text, "claims 99999999 by 99999999 pixels") != NULL, "%s", text);
}

/* What is cut short or changed ends in an empty array, an image or an error, never in a crash. */
Test(operators, damaged_images)
{
    unsigned char changed[sizeof bitmap];
    char text[TEXT_SIZE];

    for (size_t n = 0; n < sizeof bitmap; n++) {
        decode(bitmap, n, text);
        cr_expect_str_eq(text, "[]", "%zu bytes: %s", n, text);
    }
    for (size_t n = 0; n + 1 < sizeof pixmap; n++) {
        decode((const unsigned char *)pixmap, n, text);
    }
    for (size_t i = 2; i < sizeof bitmap; i++) {
        memcpy(changed, bitmap, sizeof bitmap);
        changed[i] ^= 0x81;
        decode(changed, sizeof changed, text);
        cr_expect_neq(text[0], '\0');
    }
}
