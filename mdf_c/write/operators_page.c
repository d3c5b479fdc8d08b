/* operators_page.c - see operators_page.h. Read off the schemas and the tables of kernels, so that it says what is there. */
#include "mdf_c/write/operators_page.h"

#include "functions/kernel/operator.h"
#include "schemas/onnx_schema.h"

#include <string.h>

static const char head[] =
    "# Operators\n\n"
    "Made by `mdf-run --ops`; a test compares it. A function `onnx::NAME`, or `DOMAIN::NAME`, is the "
    "operator of the version that the model's\n"
    "opset selects. Versions are the opset versions that an operator was changed in, as far as there are "
    "kernels for them. Types are those of the\n"
    "newest: reals are float16, bfloat16, float32 and float64; integers are of 8 to 64 bits, signed and "
    "not; small integers of 2 and 4 bits.\n\n"
    "All run. *lowered*: how a call of arrays stands in lowered programs (`docs/explain.md`): an op of elements or a copy, a nest "
    "(within loops, of small arrays,\n"
    "and where C is written; else a call), a product, control flow, or a call of the kernel. *C*: whether `mdf-compile` has a form of it; a call of nothing but constants needs "
    "none. *derivative*: whether gradients\n"
    "go through it; 0: it is flat. What is missing has its reason in `tests/data/missing_columns.txt`.\n";

/* Sets of types that have one name. */
static const struct {
    const char *name;
    mdf_dtype_set types;
} groups[] = {
    {"reals", MDF_DTYPE_BIT(MDF_DTYPE_FLOAT16) | MDF_DTYPE_BIT(MDF_DTYPE_BFLOAT16) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT32) |
                  MDF_DTYPE_BIT(MDF_DTYPE_FLOAT64)},
    {"integers", MDF_DTYPE_BIT(MDF_DTYPE_INT8) | MDF_DTYPE_BIT(MDF_DTYPE_INT16) | MDF_DTYPE_BIT(MDF_DTYPE_INT32) |
                     MDF_DTYPE_BIT(MDF_DTYPE_INT64) | MDF_DTYPE_BIT(MDF_DTYPE_UINT8) | MDF_DTYPE_BIT(MDF_DTYPE_UINT16) |
                     MDF_DTYPE_BIT(MDF_DTYPE_UINT32) | MDF_DTYPE_BIT(MDF_DTYPE_UINT64)},
    {"small integers", MDF_DTYPE_BIT(MDF_DTYPE_INT2) | MDF_DTYPE_BIT(MDF_DTYPE_INT4) | MDF_DTYPE_BIT(MDF_DTYPE_UINT2) |
                           MDF_DTYPE_BIT(MDF_DTYPE_UINT4)},
    {"float8", MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E4M3FN) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E4M3FNUZ) |
                   MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E5M2) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E5M2FNUZ)},
    {"complex", MDF_DTYPE_BIT(MDF_DTYPE_COMPLEX64) | MDF_DTYPE_BIT(MDF_DTYPE_COMPLEX128)},
};

static void add_name(struct mdf_text *text, const char *name, bool *first)
{
    mdf_text_printf(text, "%s%s", *first ? "" : ", ", name);
    *first = false;
}

static void add_types(struct mdf_text *text, mdf_dtype_set types)
{
    bool first = true;

    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        if ((types & groups[i].types) == groups[i].types) {
            add_name(text, groups[i].name, &first);
            types &= ~groups[i].types;
        }
    }
    for (int dtype = 0; dtype < MDF_DTYPE_COUNT; dtype++) {
        if ((types & MDF_DTYPE_BIT(dtype)) != 0) {
            add_name(text, mdf_dtype_name((mdf_dtype)dtype), &first);
        }
    }
}

static void add_formal_types(struct mdf_text *text, const struct mdf_formal *formal)
{
    add_types(text, formal->tensor_types);
    if (formal->sequence_types != 0) {
        mdf_text_printf(text, "%ssequences of ", formal->tensor_types != 0 ? "; " : "");
        add_types(text, formal->sequence_types);
    }
    if (formal->optional_types != 0) {
        mdf_text_append_string(text, formal->tensor_types != 0 || formal->sequence_types != 0 ? "; optionals" : "optionals");
    }
    if (formal->maps) {
        mdf_text_append_string(text, formal->tensor_types != 0 ? "; maps" : "maps");
    }
}

/* Inputs that share a type are named together. */
static void add_inputs(struct mdf_text *text, const struct mdf_schema *schema)
{
    for (size_t i = 0; i < schema->n_inputs; i++) {
        const struct mdf_formal *formal = &schema->inputs[i];
        bool seen = false;

        for (size_t j = 0; j < i; j++) {
            seen = seen || strcmp(schema->inputs[j].type, formal->type) == 0;
        }
        if (seen) {
            continue;
        }
        mdf_text_append_string(text, i == 0 ? "" : "<br>");
        for (size_t j = i; j < schema->n_inputs; j++) {
            if (strcmp(schema->inputs[j].type, formal->type) == 0) {
                mdf_text_printf(text, "%s`%s`", j == i ? "" : " ", schema->inputs[j].name);
            }
        }
        mdf_text_append_string(text, ": ");
        add_formal_types(text, formal);
    }
    if (schema->n_inputs == 0) {
        mdf_text_append_string(text, "no inputs");
    }
}

/* The columns that follow from the row. */
static void add_ways(struct mdf_text *text, const struct mdf_operator *row)
{
    struct mdf_operator_ways ways = mdf_operator_ways(row);

    mdf_text_printf(text, "%s | %s | %s |", ways.lowered, ways.has_c ? "yes" : "no",
                    ways.derivative != NULL ? ways.derivative : "no");
}

/* The functions of expressions, by name. */
static void add_functions(struct mdf_text *text)
{
    const struct mdf_operator *row;

    mdf_text_append_string(text, "\n## Functions of expressions\n\n| function | lowered | C | derivative |\n|---|---|---|---|\n");
    for (size_t i = 0; (row = mdf_operator_python_at(i)) != NULL; i++) {
        if (strncmp(row->name, "gradient.", strlen("gradient.")) != 0 && strncmp(row->name, "build_", strlen("build_")) != 0) {
            mdf_text_printf(text, "| %s | ", row->name);
            add_ways(text, row);
            mdf_text_append_string(text, "\n");
        }
    }
}

/* The row of the operator that begins at `first` of the schemas; returns the number of the one behind it. */
static size_t add_operator(struct mdf_text *text, size_t first)
{
    const struct mdf_schema *schema = mdf_schema_at(first), *newest = NULL, *next;
    size_t i = first;

    for (;
         (next = mdf_schema_at(i)) != NULL && strcmp(next->domain, schema->domain) == 0 && strcmp(next->name, schema->name) == 0;
         i++) {
        if (mdf_operator_onnx(next->name, next->since) == NULL) {
            continue;
        }
        if (newest == NULL) {
            mdf_text_printf(text, "| %s | %d", schema->name, next->since);
        } else {
            mdf_text_printf(text, ", %d", next->since);
        }
        newest = next;
    }
    if (newest != NULL) {
        mdf_text_append_string(text, newest->deprecated ? " (deprecated) | " : " | ");
        add_ways(text, mdf_operator_onnx(newest->name, newest->since));
        mdf_text_append_string(text, " ");
        add_inputs(text, newest);
        mdf_text_append_string(text, " |\n");
    }
    return i;
}

void mdf_write_operators_page(struct mdf_text *text)
{
    const struct mdf_schema *schema;
    const char *domain = NULL;
    size_t i = 0;

    mdf_text_append_string(text, head);
    while ((schema = mdf_schema_at(i)) != NULL) {
        if (domain == NULL || strcmp(schema->domain, domain) != 0) {
            domain = schema->domain;
            mdf_text_printf(
                text,
                "\n## %s\n\n| operator | versions | lowered | C | derivative | types of inputs |\n|---|---|---|---|---|---|\n",
                mdf_schema_prefix(schema));
        }
        i = add_operator(text, i);
    }
    add_functions(text);
}
