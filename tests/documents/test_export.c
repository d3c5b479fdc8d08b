/* test_export.c - models as ONNX: what is written is read again and gives the same bits; what can not be is refused with its place.
 * (python/tests/test_onnx_export.py and tools/check_onnx_export.py hold the files to onnx.checker and ONNX Runtime.) */
#include "mdf_c/mdf.h"
#include "mdf_c/tensor/value.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_SIZE = 2048 };

static mdf_model *load(const char *source, mdf_error *error)
{
    return source[0] == '{' ? mdf_model_load_bytes(source, strlen(source), "json", "m.json", NULL, error)
                            : mdf_model_load_file(source, error);
}

/* A node with one input x of three numbers, and an output port with an expression. */
static const char *model_of(const char *expression)
{
    static char text[TEXT_SIZE];

    snprintf(text, sizeof text,
             "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"shape\": [3], \"default_value\": [0.5, -1.5, 2.0]}, "
             "\"i\": {\"type\": \"int64\", \"shape\": [], \"default_value\": 7}}, \"output_ports\": {\"y\": {\"value\": \"%s\"}}}}}}}}",
             expression);
    return text;
}

/* Saves a model as ONNX, and loads that; NULL with the error set. */
static mdf_model *through_onnx(const char *source, mdf_error *error)
{
    char path[] = "/tmp/mdf_test_export_XXXXXX.onnx";
    mdf_model *model = load(source, error), *again = NULL;
    int file = mkstemps(path, 5);

    cr_assert(file >= 0);
    close(file);
    if (model != NULL && mdf_model_save_file(model, path, error) == MDF_OK) {
        again = mdf_model_load_file(path, error);
    }
    mdf_model_free(model);
    unlink(path);
    return again;
}

static bool are_same(const mdf_value *a, const mdf_value *b)
{
    mdf_tensor x, y;
    size_t n = 1, i;

    if (mdf_value_kind(a) == MDF_KIND_LIST || !mdf_value_tensor(a, &x) || !mdf_value_tensor(b, &y) || x.rank != y.rank ||
        x.dtype != y.dtype) {
        return false;
    }
    for (i = 0; i < x.rank; i++) {
        n *= (size_t)x.shape[i];
        if (x.shape[i] != y.shape[i]) {
            return false;
        }
    }
    for (i = 0; i < n && x.dtype == MDF_DTYPE_FLOAT64; i++) { /* a quotient of logarithms is no log10 to the last bit */
        double p = ((const double *)x.data)[i], q = ((const double *)y.data)[i];

        if (!(p == q || fabs(p - q) <= 1e-14 * fabs(p) || (isnan(p) && isnan(q)))) {
            return false;
        }
    }
    return x.dtype == MDF_DTYPE_FLOAT64 || memcmp(x.data, y.data, n * mdf_dtype_size(x.dtype)) == 0;
}

static void check_same(const char *source)
{
    mdf_error error = {0};
    mdf_model *models[] = {load(source, &error), through_onnx(source, &error)};
    mdf_program *programs[2];
    mdf_state *states[2];
    size_t i, j;

    cr_assert(models[0] != NULL && models[1] != NULL, "%s: %s %s", source, error.path, error.message);
    for (i = 0; i < 2; i++) {
        programs[i] = mdf_compile(models[i], NULL, &error);
        states[i] = mdf_state_new(programs[i], &error);
        cr_assert_eq(mdf_evaluate(states[i], NAN, &error), MDF_OK, "%s: %s: %s", source, i == 0 ? "model" : "ONNX", error.message);
    }
    for (i = 0; i < mdf_program_n_results(programs[0]); i++) {
        const char *name = mdf_program_result_name(programs[0], i);

        for (j = 0; j < mdf_program_n_results(programs[1]) && strcmp(mdf_program_result_name(programs[1], j), name) != 0; j++) {
        }
        cr_expect(are_same(mdf_result_at(states[0], i), mdf_result_at(states[1], j)), "%s: '%s' differs", source, name);
    }
    for (i = 0; i < 2; i++) {
        mdf_state_free(states[i]);
        mdf_program_free(programs[i]);
        mdf_model_free(models[i]);
    }
}

Test(export, examples_give_the_same)
{
    static const char *const paths[] = {"examples/newton_sqrt.json", "examples/elman_rnn.json", "examples/if_unequal_branches.json",
                                        "examples/shared_body.json", "examples/weighted_edges.json", "examples/linear_attention.json",
                                        "examples/multiplication_table.yaml"};
    size_t i;

    for (i = 0; i < sizeof paths / sizeof *paths; i++) {
        check_same(paths[i]);
    }
}

/* A NaN is a value like others where an attribute has a default: Imputer replaces the NaN, not the zeros. */
Test(export, attributes_that_are_nan)
{
    check_same("{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"type\": \"float32\", \"shape\": [1, 3], "
               "\"default_value\": [[0.0, NaN, 2.0]]}}, \"functions\": {\"f\": {\"function\": \"ai.onnx.ml::Imputer\", \"args\": {\"X\": "
               "\"x\", \"imputed_value_floats\": [5.0], \"replaced_value_float\": NaN}}}, \"output_ports\": {\"y\": {\"value\": "
               "\"f\"}}}}}}}}");
}

/* Parts of an array are of its type, which what reads them has to know. */
Test(export, parts_of_an_array)
{
    check_same("{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"type\": \"float32\", \"shape\": [4], \"default_value\": "
               "[1.5, -2.0, 0.25, 3.0]}}, \"parameters\": {\"s\": {\"function\": \"onnx::SplitToSequence\", \"args\": {\"input\": \"x\", \"split\": 2}}, "
               "\"a\": {\"function\": \"onnx::SequenceAt\", \"args\": {\"input_sequence\": \"s\", \"position\": 0}}, "
               "\"b\": {\"function\": \"onnx::SequenceAt\", \"args\": {\"input_sequence\": \"s\", \"position\": 1}}}, "
               "\"output_ports\": {\"y\": {\"value\": \"a - b\"}}}}}}}}");
}

/* A body that is run for each item takes items of several sequences, arrays, and outer values. */
Test(export, sequences_that_are_mapped)
{
    check_same("{\"m\": {\"onnx_opset_version\": \"17\", \"graphs\": {\"g\": {\"metadata\": {\"inputs\": [\"x\"], "
               "\"outputs\": [{\"name\": \"y\", \"port\": \"n.y\"}, {\"name\": \"z\", \"port\": \"n.z\"}]}, \"nodes\": "
               "{\"n\": {\"input_ports\": {\"x\": {\"type\": \"float64\", \"shape\": [4], \"default_value\": [1.0, 2.0, 3.0, "
               "4.0]}}, \"functions\": {\"s\": {\"function\": \"onnx::SplitToSequence\", \"args\": {\"input\": \"x\", "
               "\"split\": \"[1, 3]\"}}, \"f\": {\"function\": \"onnx::SequenceMap\", \"args\": {\"input_sequence\": \"s\", "
               "\"additional_inputs\": [\"s\", \"x\"], \"body\": \"b\"}}, \"c\": {\"function\": \"onnx::ConcatFromSequence\", "
               "\"args\": {\"input_sequence\": \"f[0]\", \"axis\": 0}}, \"d\": {\"function\": \"onnx::ConcatFromSequence\", "
               "\"args\": {\"input_sequence\": \"f[1]\", \"axis\": 0}}}, \"output_ports\": {\"y\": {\"value\": \"c\"}, \"z\": "
               "{\"value\": \"d\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"a\", \"d\", \"e\"], \"outputs\": [\"v\", "
               "\"w\"]}, \"nodes\": {\"B\": {\"input_ports\": {\"a\": {}, \"d\": {}, \"e\": {}}, \"functions\": {\"h\": "
               "{\"function\": \"onnx::Add\", \"args\": {\"A\": \"a\", \"B\": \"d\"}}, \"k\": {\"function\": "
               "\"onnx::ReduceSum\", \"args\": {\"data\": \"e\"}}}, \"output_ports\": {\"v\": {\"value\": \"h * 2\"}, \"w\": "
               "{\"value\": \"h + k + x[1]\"}}}}}}}}");
}

/* A result keeps its name, which is also that of another node's value inside. */
Test(export, a_result_with_the_name_of_an_operator)
{
    check_same("{\"m\": {\"graphs\": {\"g\": {\"metadata\": {\"outputs\": [{\"name\": \"Relu\", \"port\": \"n.y\"}]}, \"nodes\": {\"n\": "
               "{\"input_ports\": {\"x\": {\"default_value\": [1.5, -2.0]}}, \"functions\": {\"f\": {\"function\": \"onnx::Relu\", \"args\": "
               "{\"X\": \"x\"}}, \"h\": {\"function\": \"onnx::Neg\", \"args\": {\"X\": \"f\"}}}, \"output_ports\": {\"y\": "
               "{\"value\": \"h\"}}}}}}}}");
}

/* The least whole number is one like others too. */
Test(export, attributes_that_are_the_least_number)
{
    static const char source[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"type\": \"int64\", \"shape\": [1, 3], "
        "\"default_value\": [[0, -9223372036854775808, 2]]}}, \"functions\": {\"f\": {\"function\": \"ai.onnx.ml::Imputer\", "
        "\"args\": {\"X\": \"x\", \"imputed_value_int64s\": [5], \"replaced_value_int64\": -9223372036854775808}}}, "
        "\"output_ports\": {\"y\": {\"value\": \"f\"}}}}}}}}";
    static const int64_t wanted[] = {0, 5, 2};
    mdf_error error = {0};
    mdf_model *model = load(source, &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);

    cr_assert_eq(mdf_evaluate(state, NAN, &error), MDF_OK, "%s", error.message);
    cr_expect(memcmp(mdf_result_at(state, 0)->data, wanted, sizeof wanted) == 0);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    check_same(source);
}

/* Calls of a version before the model's, whose attributes are inputs by now. */
Test(export, attributes_that_became_inputs)
{
    static const char *const calls[] = {
        "{\"function\": \"onnx::ReduceMax\", \"args\": {\"data\": \"x\", \"axes\": [1], \"keepdims\": 0}",
        "{\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"x\", \"axes\": [0]}",
        "{\"function\": \"onnx::Unsqueeze\", \"args\": {\"data\": \"x\", \"axes\": [0, 2]}",
        "{\"function\": \"onnx::Split\", \"args\": {\"input\": \"x\", \"axis\": 1, \"split\": [1, 2]}"};
    static char source[2048];
    size_t i;

    for (i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(source, sizeof source,
                 "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": "
                 "{\"type\": "
                 "\"float32\", \"shape\": [2, 3], \"default_value\": [[1, 5, 2], [4, 3, 6]]}}, \"functions\": {\"f\": %s, "
                 "\"metadata\": "
                 "{\"onnx_opset_version\": 11}}}, \"output_ports\": {\"y\": {\"value\": \"%s\"}}}}}}}}",
                 calls[i], i == 3 ? "f[0]" : "f");
        check_same(source);
    }
}

/* A call of a later version than the model's raises the opset of what is written: before version 20 that mode is called otherwise. */
Test(export, calls_of_later_versions)
{
    static const char source[] =
        "{\"m\": {\"onnx_opset_version\": \"17\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {\"type\": \"float32\", "
        "\"shape\": [1, 1, 1, 2], \"default_value\": [[[[1, 3]]]]}, \"g\": {\"type\": \"float32\", \"shape\": [1, 1, 1, 2], \"default_value\": "
        "[[[[0, 0]]]]}}, \"functions\": {\"f\": {\"function\": \"onnx::GridSample\", \"args\": {\"X\": \"x\", \"grid\": \"g\", \"mode\": "
        "\"linear\"}, \"metadata\": {\"onnx_opset_version\": 20}}}, \"output_ports\": {\"y\": {\"value\": \"f\"}}}}}}}}";
    char path[] = "/tmp/mdf_test_export_XXXXXX.json", text[TEXT_SIZE] = "";
    mdf_error error = {0};
    mdf_model *model = through_onnx(source, &error);
    int descriptor = mkstemps(path, 5);
    FILE *file;

    cr_assert(model != NULL && descriptor >= 0, "%s", error.message);
    close(descriptor);
    cr_assert_eq(mdf_model_save_file(model, path, &error), MDF_OK, "%s", error.message);
    file = fopen(path, "r");
    cr_assert(file != NULL && fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    unlink(path);
    mdf_model_free(model);
    cr_expect(strstr(text, "\"onnx_opset_version\": \"20\"") != NULL, "%s", text);
    check_same(source);
}

/* The number of axes of a result that no rule infers is that which it has in an evaluation, for which inputs of strings get some too. */
Test(export, a_rank_is_found_where_inputs_are_strings)
{
    mdf_error error = {0};
    mdf_model *model = through_onnx(
        "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"metadata\": {\"inputs\": [\"c\", \"s\", \"t\"]}, \"nodes\": {\"n\": {\"input_ports\": {\"c\": {\"type\": \"bool\", "
        "\"shape\": []}, \"s\": {\"type\": \"string\", \"shape\": [2]}, \"t\": {\"type\": \"string\", \"shape\": [2, 2]}}, \"functions\": {\"f\": {\"function\": \"onnx::If\", \"args\": "
        "{\"cond\": \"c\", \"then_branch\": \"b\", \"else_branch\": \"d\"}}}, \"output_ports\": {\"y\": {\"value\": \"f\"}}}}}, \"b\": "
        "{\"metadata\": {\"inputs\": [], \"outputs\": [\"v\"]}, \"nodes\": {\"B\": {\"functions\": {\"h\": {\"function\": "
        "\"onnx::Identity\", \"args\": {\"input\": \"s\"}}}, \"output_ports\": {\"v\": {\"value\": \"h\"}}}}}, \"d\": {\"metadata\": {\"inputs\": [], \"outputs\": "
        "[\"w\"]}, \"nodes\": {\"D\": {\"functions\": {\"h\": {\"function\": \"onnx::Identity\", \"args\": {\"input\": \"t\"}}}, "
        "\"output_ports\": {\"w\": {\"value\": \"h\"}}}}}}}}",
        &error);

    cr_assert(model != NULL, "%s: %s", error.path, error.message);
    mdf_model_free(model);
}

/* A result that is a sequence is an Identity of it, which opset 14 has: that is taken where the model names an older one. */
Test(export, a_sequence_of_an_old_opset)
{
    mdf_error error = {0};
    mdf_model *model = through_onnx(
        "{\"m\": {\"onnx_opset_version\": \"11\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": [1.0, 2.0]}, "
        "\"s\": {\"function\": \"onnx::SequenceConstruct\", \"args\": {\"inputs\": [\"x\", \"x\"]}}}, \"output_ports\": {\"y\": "
        "{\"value\": \"s\"}}}}}}}}",
        &error);
    mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;

    cr_assert(state != NULL && mdf_evaluate(state, NAN, &error) == MDF_OK, "%s: %s", error.path, error.message);
    cr_expect_eq(mdf_value_kind(mdf_result_at(state, 0)), MDF_KIND_LIST);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}

/* The number of an evaluation's result "y"; -1: there is nothing. */
static int64_t last_of(const mdf_model *model, const int64_t *numbers)
{
    static const int64_t shape[] = {3};
    const mdf_tensor given = {.dtype = MDF_DTYPE_INT64, .rank = 1, .shape = shape, .data = numbers};
    mdf_error error = {0};
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);
    mdf_tensor found = {0};
    int64_t last = -1;

    cr_assert(mdf_set_input(state, "numbers", &given, &error) == MDF_OK && mdf_evaluate(state, NAN, &error) == MDF_OK, "%s",
              error.message);
    if (mdf_value_tensor(mdf_result_at(state, 0), &found)) {
        last = *(const int64_t *)found.data;
    }
    mdf_state_free(state);
    mdf_program_free(program);
    return last;
}

#define OPTIONAL_MODEL(opset, type) \
    "{\"m\": {\"onnx_opset_version\": \"" opset "\", \"graphs\": {\"main\": {\"nodes\": {\"n\": {\"input_ports\": {\"numbers\": " \
    "{\"type\": \"int64\", \"shape\": [3]}}, \"parameters\": {\"no\": {\"function\": \"onnx::Optional\", \"args\": {" type "}}, " \
    "\"find\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": \"no\", \"body\": \"keep\"}}}, " \
    "\"output_ports\": {\"y\": {\"value\": \"find\"}}}}}, \"keep\": {\"metadata\": {\"inputs\": [\"i\", \"c\", {\"name\": \"kept\", " \
    "\"type\": \"optional(tensor(int64))\"}], \"outputs\": [\"c\", {\"name\": \"now\", \"type\": \"optional(tensor(int64))\"}]}, " \
    "\"nodes\": {\"b\": {\"input_ports\": {\"kept\": {}}, \"parameters\": {\"x\": {\"function\": \"onnx::If\", \"args\": {\"cond\": " \
    "\"numbers[i] > 6\", \"then_branch\": \"yes\", \"else_branch\": \"not\"}}}, \"output_ports\": {\"now\": {\"value\": \"x\"}}}}}, " \
    "\"yes\": {\"nodes\": {\"a\": {\"parameters\": {\"x\": {\"function\": \"onnx::Optional\", \"args\": {\"input\": " \
    "\"numbers[i]\"}}}, \"output_ports\": {\"y\": {\"value\": \"x\"}}}}}, " \
    "\"not\": {\"nodes\": {\"a\": {\"output_ports\": {\"y\": {\"value\": \"kept\"}}}}}}}}"

/* What may not be there is an optional of ONNX: as the state of a Loop, of the branches of an If, and as a result; nothing has the type that
 * the model gives it. */
Test(export, what_may_not_be_there)
{
    static const int64_t some[] = {8, 12, 3}, none[] = {1, 2, 3};
    mdf_error error = {0};
    mdf_model *model = through_onnx(OPTIONAL_MODEL("18", "\"type\": \"tensor(int64)\""), &error);

    cr_assert_not_null(model, "%s: %s", error.path, error.message);
    cr_expect_eq(last_of(model, some), 12);
    cr_expect_eq(last_of(model, none), -1);
    mdf_model_free(model);
    cr_expect_null(through_onnx(OPTIONAL_MODEL("18", ""), &error));
    cr_expect_not_null(strstr(error.message, "the type of what is not there is not known"), "%s", error.message);
    error = (mdf_error){0};
    cr_expect_null(through_onnx(OPTIONAL_MODEL("15", "\"type\": \"tensor(int64)\""), &error));
    cr_expect_not_null(strstr(error.message, "opset"), "%s", error.message);
}

/* An input that may not be given stays one. */
Test(export, inputs_that_are_optional)
{
    mdf_error error = {0};
    mdf_model *model = through_onnx("tests/data/onnx/optional_input.onnx", &error);
    mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;
    mdf_state *state = program != NULL ? mdf_state_new(program, &error) : NULL;
    mdf_tensor found = {0};

    cr_assert(state != NULL && mdf_evaluate(state, NAN, &error) == MDF_OK, "%s: %s", error.path, error.message);
    cr_assert(mdf_value_tensor(mdf_result_at(state, 0), &found) && found.dtype == MDF_DTYPE_BOOL);
    cr_expect_not(*(const bool *)found.data);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}

static void count_warning(void *context, const mdf_error *warning)
{
    cr_expect_not_null(warning->message);
    ++*(size_t *)context;
}

/* A Loop without a condition, in a branch, is written with one that is true, a constant of the outermost graph: nobody is warned that it may be
 * false. */
Test(export, a_loop_in_a_branch_goes_on)
{
    mdf_error error = {0};
    mdf_model *model = through_onnx(
        "{\"m\": {\"onnx_opset_version\": \"18\", \"graphs\": {\"main\": {\"nodes\": {\"n\": {\"input_ports\": {\"c\": {\"type\": \"bool\", "
        "\"shape\": []}}, \"parameters\": {\"x\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"c\", \"then_branch\": \"yes\", "
        "\"else_branch\": \"no\"}}}, \"output_ports\": {\"y\": {\"value\": \"x\"}}}}}, \"no\": {\"nodes\": {\"a\": {\"output_ports\": "
        "{\"y\": {\"value\": \"1.0\"}}}}}, \"yes\": {\"nodes\": {\"a\": {\"parameters\": {\"x\": {\"function\": \"onnx::Loop\", "
        "\"args\": {\"M\": 3, \"v_initial\": \"1.0\", \"body\": \"step\"}}}, \"output_ports\": {\"y\": {\"value\": \"x\"}}}}}, \"step\": "
        "{\"metadata\": {\"inputs\": [\"i\", \"go\", \"s\"], \"outputs\": [\"go\", \"t\"]}, \"nodes\": {\"b\": {\"input_ports\": "
        "{\"s\": {}}, \"output_ports\": {\"t\": {\"value\": \"s * 2\"}}}}}}}}",
        &error);
    size_t n_warnings = 0;
    mdf_program *program;

    cr_assert_not_null(model, "%s: %s", error.path, error.message);
    program = mdf_compile(model, &(mdf_options){.warning = count_warning, .warning_context = &n_warnings}, &error);
    cr_assert_not_null(program, "%s", error.message);
    cr_expect_eq(n_warnings, 0);
    mdf_program_free(program);
    mdf_model_free(model);
}

/* What a loop stacks without a single iteration has the shape that its body declares. */
Test(export, a_loop_without_iterations_has_the_declared_shape)
{
    check_same("{\"m\": {\"graphs\": {\"g\": {\"metadata\": {\"outputs\": [{\"name\": \"y\", \"port\": \"n.y\"}]}, \"nodes\": {\"n\": "
               "{\"parameters\": {\"x\": {\"value\": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}, \"k\": {\"value\": [0.5]}, \"f\": {\"function\": "
               "\"onnx::Loop\", \"args\": {\"M\": 3, \"cond\": false, \"v_initial\": \"[x]\", \"body\": \"b\"}}}, \"output_ports\": "
               "{\"y\": {\"value\": \"f[1]\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c_out\", "
               "\"s_out\", {\"name\": \"z\", \"type\": \"float64\", \"shape\": [2, 3]}]}, \"nodes\": {\"B\": {\"input_ports\": {\"c\": {}, "
               "\"s\": {}}, \"functions\": {\"h\": {\"function\": \"onnx::Gemm\", \"args\": {\"A\": \"s\", \"B\": \"k\"}}}, "
               "\"output_ports\": {\"c_out\": {\"value\": \"c\"}, \"s_out\": {\"value\": \"s\"}, \"z\": {\"value\": \"h\"}}}}}}}}");
}

Test(export, expressions_give_the_same)
{
    static const char *const expressions[] = {
        "x + 1", "2 * x - x / 3", "x ** 2", "-x", "abs(x)", "x > 0", "x == 2", "x != 2", "(x > 0) & (x < 1)", "not i",
        "x // 0.4", "x % 0.4", "-x % 0.7", "i // 2", "i % 4", "-i // 2", "-i % 4", "i / 2", "i * 2", "i ** 2",
        "numpy.exp(x)", "numpy.sin(x) + numpy.cos(x)", "numpy.tanh(x)", "numpy.sqrt(abs(x))", "numpy.log(abs(x) + 1)",
        "numpy.log10(abs(x))", "numpy.log2(abs(x))", "numpy.square(x)", "numpy.degrees(x)", "numpy.trunc(x)", "numpy.floor(x)",
        "numpy.ceil(x)", "numpy.rint(x)", "numpy.sign(x)", "numpy.maximum(x, 0.25)", "numpy.minimum(x, i)", "numpy.hypot(x, 2)",
        "numpy.where(x > 0, x, 10)", "numpy.clip(x, -1, 1)", "numpy.sum(x)", "numpy.mean(x)", "numpy.max(x)", "numpy.prod(x)",
        "numpy.argmax(x)", "numpy.isfinite(x)", "numpy.isnan(x)", "x[0]", "x[-1]", "x[1:]", "x[::-1]", "x[i - 6]",
        "numpy.reshape(x, (3, 1))", "numpy.outer(x, x)" /* moves and products */, "numpy.dot(x, x)", "x @ x", "numpy.concatenate((x, x))",
        "numpy.stack((x, 2 * x))", "numpy.array([x[0], 1, i])", "[x[0], x[1]][1]", "x[0] if i > 3 else x[1]", "x if i < 3 else 2 * x",
        "1.0 if i > 3 else 0.5", "x[0] > 0 and x[1]", "x[0] < 0 or x[2]", "sum([v * 2 for v in [x[0], x[1]]])" /* unrolled */,
        "numpy.array([k * x[k] for k in range(3)])", "max(x[0], x[1], 0.75)", "min(i, 3)", "float(i)", "int(x[2])", "len(x)",
        "x.shape[0]", "numpy.transpose(numpy.reshape(x, (3, 1)))", "math.log(i, 3)", "x.sum() + x.mean()", "numpy.roll(x, 1)",
        "numpy.full_like(x, 2.5)", "numpy.maximum(x > 0, x > 1)", "numpy.clip(x, None, 1)", "math.log(i)", "(x > 0) ^ (x < 1)",
        "numpy.cosh(x)", "numpy.tan(x)", "max([x[0], x[1]])", "numpy.fmod(x, 0.4)",
        "not x[:1]", "float(x[1:2])", "int(x[2:])", "x * [i, 2, 3]", "x > [i, x[0], 0.0]", "([x[0]] if i > 3 else [x[1]])[0]",
        "numpy.array([i, x[0]] if i > 3 else [x[0], i]) * 2"};
    size_t i, n_refused = 0;

    for (i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        mdf_error error = {0};
        mdf_model *model = through_onnx(model_of(expressions[i]), &error);

        if (model == NULL) {
            cr_expect(strcmp(expressions[i], "numpy.outer(x, x)") == 0 || strncmp(expressions[i], "sum(", 4) == 0, "%s: %s",
                      expressions[i], error.message);
            n_refused++;
            continue;
        }
        mdf_model_free(model);
        check_same(model_of(expressions[i]));
    }
    cr_expect(n_refused <= 2);
}

/* What keeps its value is an input and an output: handed on, it gives what the evaluations give. */
Test(export, states_are_handed_on)
{
    static const char source[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"s\": {\"value\": \"s * 0.5 + 1\", \"default_initial_value\": 3}, "
        "\"v\": {\"default_initial_value\": 1.0, \"time_derivative\": \"-v\"}}, \"output_ports\": {\"y\": {\"value\": \"s\"}, "
        "\"w\": {\"value\": \"v\"}}}}}}}}";
    mdf_error error = {0};
    mdf_model *model = load(source, &error), *written = through_onnx(source, &error);
    mdf_program *program = mdf_compile(model, NULL, &error), *other = mdf_compile(written, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error), *step = mdf_state_new(other, &error);
    const double dt = 0.125;
    int i;

    cr_assert(step != NULL, "%s %s", error.path, error.message);
    for (i = 0; i < 4; i++) {
        mdf_tensor tensor = {MDF_DTYPE_FLOAT64, 0, NULL, &dt}, ours, theirs;
        size_t j;

        cr_assert_eq(mdf_evaluate(state, i == 0 ? NAN : dt, &error), MDF_OK);
        if (i > 0) {
            cr_assert_eq(mdf_set_input(step, "dt", &tensor, &error), MDF_OK, "%s", error.message);
        }
        cr_assert_eq(mdf_evaluate(step, NAN, &error), MDF_OK, "%s", error.message);
        for (j = 0; j < mdf_program_n_results(other); j++) {
            const char *name = mdf_program_result_name(other, j);

            cr_assert(mdf_value_tensor(mdf_result_at(step, j), &theirs));
            if (strcmp(name, "n.s.next") == 0 || strcmp(name, "n.v.next") == 0) {
                char input[16];

                snprintf(input, sizeof input, "%.3s", name);
                cr_assert_eq(mdf_set_input(step, input, &theirs, &error), MDF_OK, "%s", error.message);
            } else {
                cr_assert(mdf_value_tensor(mdf_output(state, "n", name), &ours));
                cr_assert_float_eq(*(const double *)ours.data, *(const double *)theirs.data, 0, "%s in step %d", name, i);
            }
        }
    }
    mdf_state_free(state);
    mdf_state_free(step);
    mdf_program_free(program);
    mdf_program_free(other);
    mdf_model_free(model);
    mdf_model_free(written);
}

Test(export, what_has_no_form_is_refused_with_its_place)
{
    static const struct {
        const char *expression, *why;
    } refused[] = {{"numpy.random.rand()", "draws random numbers"},
                   {"numpy.sort(x)", "has no form in ONNX"},
                   {"x[numpy.argmax(x):]", "not known before it runs"},
                   {"[x[0]] + [x[1]]", "'+' gives no array"},
                   {"numpy.sum([x[0], i] * 2)", "'*' gives no array"},
                   {"[x[0]] == [x[1]]", "'==' of a list is not that of an array"},
                   {"not [x[0]]", "of a list is not that of an array"},
                   {"numpy.array(([x[0]] if i > 3 else [x[1]]) + [i])", "'+' gives no array"},
                   {"([x[0]] if i > 3 else [x[1]]) and i", "whether a list has items is not known"}};
    mdf_error error = {0};
    size_t i;

    for (i = 0; i < sizeof refused / sizeof *refused; i++) {
        error = (mdf_error){0};
        cr_expect_null(through_onnx(model_of(refused[i].expression), &error), "%s", refused[i].expression);
        cr_expect_eq(error.code, MDF_UNSUPPORTED, "%s: %s", refused[i].expression, error.message);
        cr_expect_not_null(strstr(error.message, refused[i].why), "%s", error.message);
        cr_expect_not_null(strstr(error.path, "node 'n', output port 'y'"), "%s", error.path);
        cr_expect(error.line == 1);
    }
    error = (mdf_error){0};
    cr_expect_null(through_onnx("{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"a\": {\"output_ports\": {\"y\": {\"value\": \"1\"}}}}, "
                                "\"conditions\": {\"node_specific\": {\"a\": {\"type\": \"TimeInterval\", \"kwargs\": {\"start\": 2}}}}}}}}",
                                &error));
    cr_expect_not_null(strstr(error.message, "a condition that looks at values, at time"), "%s", error.message);
    error = (mdf_error){0}; /* as of an .onnx file whose input has no shape: onnx.checker takes none */
    cr_expect_null(through_onnx("{\"m\": {\"graphs\": {\"g\": {\"metadata\": {\"inputs\": [{\"name\": \"x\", \"type\": \"float32\"}], "
                                "\"outputs\": [\"y\"]}, \"nodes\": {\"a\": {\"input_ports\": {\"x\": {\"type\": \"float32\"}}, "
                                "\"output_ports\": {\"y\": {\"value\": \"-x\"}}}}}}}}",
                                &error));
    cr_expect_not_null(strstr(error.message, "the input 'x' has a type and no shape"), "%s", error.message);
}

/* What is no instruction has a place too: the port, the parameter, the node, or the graph. */
Test(export, what_no_instruction_is_about_is_refused_with_its_place)
{
    static const struct {
        const char *nodes, *why, *path;
        int column;
    } refused[] = {
        {"{\"a\": {\"parameters\": {\"s\": {\"default_initial_value\": 1.0, \"value\": \"numpy.array([s * 1.0, 2.0])\"}}, "
         "\"output_ports\": {\"y\": {\"value\": \"numpy.sum(s)\"}}}}",
         "the state 'a.s' changes its shape: begin it in the shape", "node 'a', parameter 's'", 61},
        {"{\"a\": {\"parameters\": {\"s\": {\"default_initial_value\": [0.0, 0.0], \"value\": \"s + 1 if numpy.sum(2 * s) > 5 else 0.5\"}}, "
         "\"output_ports\": {\"y\": {\"value\": \"s\"}}}}",
         "the state 'a.s' changes its shape: begin it in the shape", "node 'a', parameter 's'", 61},
        {"{\"a\": {\"parameters\": {\"p\": {\"value\": 1}}}}", "the graph yields nothing: give a node", "graph 'g'", 24},
        {"{\"a\": {\"repeat_until_finished\": 3, \"parameters\": {\"s\": {\"default_initial_value\": 0, \"value\": \"s + 1\"}, "
         "\"is_finished\": {\"value\": \"s > 2\"}}, \"output_ports\": {\"y\": {\"value\": \"s\"}}}}",
         "the node runs until it is finished", "node 'a'", 40},
    };
    char model[500];

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        mdf_error error = {0};

        snprintf(model, sizeof model, "{\"m\": {\"graphs\": {\"g\": {\"nodes\": %s}}}}", refused[i].nodes);
        cr_expect_null(through_onnx(model, &error), "%s", model);
        cr_expect_not_null(strstr(error.message, refused[i].why), "%s", error.message);
        cr_expect_str_eq(error.path, refused[i].path, "%s: %s", error.path, error.message);
        cr_expect(error.line == 1 && error.column == refused[i].column, "%s: column %d", error.message, error.column);
    }
}

Test(export, conditions_that_are_the_same_in_each_evaluation_are_written_out)
{
    mdf_error error = {0};
    mdf_model *model = through_onnx("examples/slow_and_fast.yaml", &error);

    cr_expect_not_null(model, "%s", error.message);
    mdf_model_free(model);
}
