/* test_schema.c - the generated ONNX signatures: look-up by version, and rows that the rest leans on. */
#include "schemas/onnx_schema.h"

#include <criterion/criterion.h>
#include <string.h>

#define FLOATS (MDF_DTYPE_BIT(MDF_DTYPE_FLOAT16) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT32) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT64))

static const struct {
    const char *domain, *name;
    int opset, since; /* since 0: there is no such operator */
} versions[] = {
    {"", "Add", 1, 1},
    {"", "Add", 6, 6},
    {"", "Add", 12, 7},
    {"", "Add", 13, 13},
    {"", "Add", 1000, 14},
    {"ai.onnx", "Add", 15, 14},
    {"", "Gelu", 15, 20}, /* born later: its first version */
    {"", "Abs", 1, 1},    /* the first row */
    {"", "Upsample", 15, 10},
    {"", "Scan", 8, 8},
    {"", "Scan", 9, 9},
    {"", "Ad", 15, 0},
    {"", "", 15, 0},
    {"ai.onnx.ml", "Scaler", 3, 1},
    {"ai.onnx.ml", "Add", 3, 0},
    {"com.microsoft", "Gelu", 1, 0},
    {"ai.onnx.preview.training", "Momentum", 1, 1},
};

Test(schema, finds_the_version_of_an_opset)
{
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        const struct mdf_schema *schema = mdf_schema_find(versions[i].domain, versions[i].name, versions[i].opset);

        cr_assert_eq(schema == NULL ? 0 : schema->since, versions[i].since, "%s-%d", versions[i].name, versions[i].opset);
    }
}

Test(schema, rows_are_sorted_and_found)
{
    const struct mdf_schema *schema, *before = NULL;
    size_t i, k;

    for (i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        cr_assert_eq(mdf_schema_find(schema->domain, schema->name, schema->since), schema, "%s-%d", schema->name, schema->since);
        if (before != NULL) {
            int domains = strcmp(before->domain, schema->domain), names = strcmp(before->name, schema->name);

            cr_assert(domains < 0 || (domains == 0 && (names < 0 || (names == 0 && before->since < schema->since))));
        }
        for (k = 0; k < schema->n_inputs; k++) {
            cr_assert_eq(mdf_schema_input(schema, schema->inputs[k].name), k, "%s-%d", schema->name, schema->since);
        }
        for (k = 0; k < schema->n_attributes; k++) {
            cr_assert_eq(mdf_schema_attribute(schema, schema->attributes[k].name), &schema->attributes[k]);
        }
        before = schema;
    }
    cr_assert_geq(i, (size_t)600);
    cr_assert_geq(mdf_schema_newest_opset(), 20);
}

Test(schema, formals_and_type_variables)
{
    const struct mdf_schema *add = mdf_schema_find("", "Add", 6), *gather = mdf_schema_find("", "Gather", 13);

    cr_assert_eq(add->n_inputs, (size_t)2);
    cr_assert_eq(add->inputs[0].tensor_types & FLOATS, FLOATS);
    cr_assert_eq(add->inputs[0].tensor_types & MDF_DTYPE_BIT(MDF_DTYPE_STRING), 0u);
    cr_assert_geq(add->inputs[0].variable, 0);
    cr_assert_eq(add->inputs[0].variable, add->inputs[1].variable);
    cr_assert_eq(add->inputs[0].variable, add->outputs[0].variable);
    cr_assert_eq(gather->inputs[1].variable, -1);
    cr_assert_eq(gather->inputs[1].tensor_types, MDF_DTYPE_BIT(MDF_DTYPE_INT32) | MDF_DTYPE_BIT(MDF_DTYPE_INT64));
}

Test(schema, variadic_formals_repeat)
{
    const struct mdf_schema *concat = mdf_schema_find("", "Concat", 13), *loop = mdf_schema_find("", "Loop", 21);
    const struct mdf_schema *constant = mdf_schema_find("", "Constant", 13);

    cr_assert_eq(concat->max_inputs, SIZE_MAX);
    cr_assert_eq(mdf_schema_actual_input(concat, 100), &concat->inputs[0]);
    cr_assert_geq(concat->inputs[0].variable, 0);
    cr_assert_eq(mdf_schema_actual_input(loop, 7), &loop->inputs[2]);
    cr_assert_eq(mdf_schema_actual_output(loop, 7), &loop->outputs[0]);
    cr_assert_eq(loop->inputs[2].variable, -1);
    cr_assert(loop->inputs[2].sequence_types != 0 && loop->inputs[2].optional_types != 0);
    cr_assert_eq(loop->inputs[0].option, MDF_FORMAL_OPTIONAL);
    cr_assert_null(mdf_schema_actual_input(constant, 0));
    cr_assert_null(mdf_schema_actual_output(constant, 1));
}

Test(schema, attributes_and_defaults)
{
    const struct mdf_schema *gemm = mdf_schema_find("", "Gemm", 13), *leaky = mdf_schema_find("", "LeakyRelu", 16);
    const struct mdf_schema *lstm = mdf_schema_find("", "LSTM", 14), *loop = mdf_schema_find("", "Loop", 13);
    const struct mdf_schema *encoder = mdf_schema_find("ai.onnx.ml", "LabelEncoder", 2);

    cr_assert_eq(mdf_schema_attribute(gemm, "alpha")->default_float, 1.0);
    cr_assert_eq(mdf_schema_attribute(gemm, "transB")->default_int, 0);
    cr_assert_eq(mdf_schema_attribute(leaky, "alpha")->default_float, 0.01); /* as the standard's text has it */
    cr_assert_str_eq(mdf_schema_attribute(lstm, "direction")->default_string, "forward");
    cr_assert(!mdf_schema_attribute(lstm, "hidden_size")->has_default);
    cr_assert_eq(mdf_schema_attribute(loop, "body")->type, MDF_ATTRIBUTE_GRAPH);
    cr_assert(mdf_schema_attribute(loop, "body")->required);
    cr_assert_str_eq(mdf_schema_attribute(encoder, "default_string")->default_string, "_Unused");
    cr_assert_null(mdf_schema_attribute(gemm, "gamma"));
    cr_assert_eq(mdf_schema_input(gemm, "D"), SIZE_MAX);
}

Test(schema, functions_name_domains)
{
    static const struct {
        const char *function, *domain, *name;
    } cases[] = {{"onnx::Add", "", "Add"},
                 {"ai.onnx.ml::Scaler", "ai.onnx.ml", "Scaler"},
                 {"ai.onnx.preview.training::Adam", "ai.onnx.preview.training", "Adam"},
                 {"ai.onnx.preview::FlexAttention", "ai.onnx.preview", "FlexAttention"},
                 {"com.example::Fused", NULL, NULL},
                 {"ai.onnx.mlx::Scaler", NULL, NULL},
                 {"logistic", NULL, NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = NULL, *domain = mdf_schema_split(cases[i].function, &name);

        cr_expect_eq(domain == NULL, cases[i].domain == NULL, "%s", cases[i].function);
        if (domain != NULL && cases[i].domain != NULL) {
            cr_expect_str_eq(domain, cases[i].domain);
            cr_expect_str_eq(name, cases[i].name);
        }
    }
    cr_assert_str_eq(mdf_schema_prefix(mdf_schema_find("", "Add", 14)), "onnx");
    cr_assert_str_eq(mdf_schema_prefix(mdf_schema_find_anywhere("Scaler", 1)), "ai.onnx.ml");
    cr_assert_null(mdf_schema_find_anywhere("NoSuchOperator", 1));
}

/* The tables of kernels have no domains. */
Test(schema, no_two_domains_share_a_name)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        cr_expect_str_eq(mdf_schema_find_anywhere(schema->name, schema->since)->domain, schema->domain, "%s", schema->name);
    }
}

Test(schema, offers_names)
{
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, "Sofmax");
    mdf_schema_offer("ai.onnx", &nearest);
    cr_assert_str_eq(mdf_nearest_result(&nearest), "Softmax");
    mdf_nearest_begin(&nearest, "Sofmax");
    mdf_schema_offer("ai.onnx.ml", &nearest);
    cr_assert_null(mdf_nearest_result(&nearest));
}
