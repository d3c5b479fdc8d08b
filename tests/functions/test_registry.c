/* test_registry.c - every kernel row names an operator, versions and attributes that ONNX has; look-ups find the rows;
 * docs/expressions.md names all functions of expressions, and no others. */
#include "functions/kernel/operator.h"
#include "schemas/onnx_schema.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define MDF_OPERATOR_TABLE(table, family) extern const struct mdf_operator table[];
#include "build/generated/operator_tables.inc"
#undef MDF_OPERATOR_TABLE

static const struct {
    const char *name;
    const struct mdf_operator *rows;
} tables[] = {
#define MDF_OPERATOR_TABLE(table, family) {#table, table},
#include "build/generated/operator_tables.inc"
#undef MDF_OPERATOR_TABLE
};

enum { N_TABLES = sizeof tables / sizeof *tables };

static bool is_python(size_t table)
{
    return strncmp(tables[table].name, "mdf_operators_python_", strlen("mdf_operators_python_")) == 0;
}

/* Families share the layout of their settings (convolutions and pools, say), so a name need not be the row's own: it is the name
 * of some operator's attribute. */
static bool is_attribute(const char *name)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        if (mdf_schema_attribute(schema, name) != NULL) {
            return true;
        }
    }
    return false;
}

static size_t n_rows_of(const char *name, int version)
{
    size_t n = 0;

    for (size_t t = 0; t < N_TABLES; t++) {
        for (const struct mdf_operator *row = tables[t].rows; !is_python(t) && row->name != NULL; row++) {
            n += strcmp(row->name, name) == 0 && row->since <= version && version <= row->until;
        }
    }
    return n;
}

Test(registry, onnx_rows_name_what_the_schemas_have)
{
    for (size_t t = 0; t < N_TABLES; t++) {
        for (const struct mdf_operator *row = tables[t].rows; !is_python(t) && row->name != NULL; row++) {
            bool known = false;
            const struct mdf_schema *schema;

            for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
                known = known || (strcmp(schema->name, row->name) == 0 && schema->since == row->since);
            }
            cr_expect(known, "%s: %s has no version %d", tables[t].name, row->name, row->since);
            cr_expect_not_null(row->kernel, "%s: %s", tables[t].name, row->name);
            for (const struct mdf_setting *setting = row->settings; setting != NULL && setting->name != NULL; setting++) {
                cr_expect(is_attribute(setting->name), "%s: %s has no '%s'", tables[t].name, row->name, setting->name);
                cr_expect_lt(setting->offset, row->settings_size);
            }
        }
    }
}

Test(registry, a_version_has_one_row_at_most)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        const struct mdf_operator *row = mdf_operator_onnx(schema->name, schema->since);
        size_t n = n_rows_of(schema->name, schema->since);

        cr_expect_leq(n, (size_t)1, "%s-%d", schema->name, schema->since);
        cr_expect_eq(row != NULL, n > 0, "%s-%d", schema->name, schema->since);
    }
}

Test(registry, every_version_has_a_kernel)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        cr_expect_not_null(mdf_operator_onnx(schema->name, schema->since), "%s-%d", schema->name, schema->since);
    }
}

/* Attributes that change no result here; NULL: of whichever operator. */
static const struct {
    const char *operator, * attribute, *reason;
} without_effect[] = {
    {NULL, "consumed_inputs", "a hint to share memory"},
    {NULL, "output_sequence", "outputs that nobody reads are not made"},
    {NULL, "nodes_hitrates", "a hint which nodes are visited often"},
    {NULL, "nodes_hitrates_as_tensor", "the same"},
    {"Constant", "sparse_value", "the reader of ONNX files makes it a value"},
    {"Dropout", "ratio", "the versions that infer only"},
    {"Gemm", "broadcast", "shapes that fit need no leave"},
    {"GroupNormalization", "stash_type", "computed in float32 or better"},
    {"LinearAttention", "chunk_size", "a hint how to divide the work"},
    {"LinearClassifier", "multi_class", "scores are the same; post_transform makes of them what is meant"},
    {"StringNormalizer", "locale", "texts are UTF-8, and case is Unicode's"},
    {"TopK", "sorted", "any order is right where none is asked for"},
};

static bool has_no_effect(const struct mdf_schema *schema, const char *attribute)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++) {
        if (strcmp(without_effect[i].attribute, attribute) == 0 &&
            (without_effect[i].operator== NULL || strcmp(without_effect[i].operator, schema->name) == 0)) {
            return true;
        }
    }
    return false;
}

Test(registry, kernels_read_all_attributes)
{
    const struct mdf_schema *schema;

    for (size_t i = 0; (schema = mdf_schema_at(i)) != NULL; i++) {
        const struct mdf_operator *row = mdf_operator_onnx(schema->name, schema->since);

        for (size_t a = 0; row != NULL && a < schema->n_attributes; a++) {
            const char *name = schema->attributes[a].name;
            const struct mdf_setting *setting = row->settings;

            while (setting != NULL && setting->name != NULL && strcmp(setting->name, name) != 0) {
                setting++;
            }
            cr_expect((setting != NULL && setting->name != NULL) || has_no_effect(schema, name), "%s-%d does not read '%s'",
                      schema->name, schema->since, name);
        }
    }
}

Test(registry, python_rows_are_found)
{
    for (size_t t = 0; t < N_TABLES; t++) {
        for (const struct mdf_operator *row = tables[t].rows; is_python(t) && row->name != NULL; row++) {
            bool attribute = strcmp(tables[t].name, "mdf_operators_python_attribute") == 0;

            cr_expect_eq(attribute ? mdf_operator_attribute(row->name) : mdf_operator_python(row->name), row, "%s", row->name);
            cr_expect_eq(row->since, 0, "%s", row->name);
            cr_expect_not_null(row->formals, "%s", row->name);
            cr_expect(row->kernel != NULL || row->meaning != NULL, "%s", row->name);
        }
    }
    cr_assert_null(mdf_operator_python("numpy.no_such_function"));
    cr_assert_null(mdf_operator_onnx("NoSuchOperator", 1));
}

Test(registry, offers_names)
{
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, "numpy.logadexp");
    mdf_operator_offer_python(&nearest);
    cr_assert_str_eq(mdf_nearest_result(&nearest), "numpy.logaddexp");
}

/* ------------------------------------------------------------------ columns */

/* Whether the list says that a row has no `column` ("C", "derivative"): names stand behind "column: reason". */
static bool is_listed(const char *list, const char *column, const char *name)
{
    size_t length = strlen(name), n_column = strlen(column);
    bool inside = false;

    for (const char *line = list; *line != '\0'; line += strcspn(line, "\n") + 1) {
        const char *end = line + strcspn(line, "\n");

        if (line[0] != ' ') {
            inside = strncmp(line, column, n_column) == 0 && line[n_column] == ':';
            continue;
        }
        for (const char *word = line + strspn(line, " "); inside && word < end; word += strspn(word, " ")) {
            size_t n = strcspn(word, " \n");

            if (n == length && memcmp(word, name, n) == 0) {
                return true;
            }
            word += n;
        }
    }
    return false;
}

static void check_columns(const char *list, const struct mdf_operator *row)
{
    struct mdf_operator_ways ways = mdf_operator_ways(row);

    cr_expect_eq(is_listed(list, "C", row->name), !ways.has_c, "%s %s", row->name,
                 ways.has_c ? "has a form in C, and is listed" : "has no form in C, and no reason");
    cr_expect_eq(is_listed(list, "derivative", row->name), ways.derivative == NULL, "%s %s", row->name,
                 ways.derivative != NULL ? "has a derivative, and is listed" : "has no derivative, and no reason");
}

Test(registry, what_a_row_has_not_has_a_reason)
{
    static char list[1 << 16];
    FILE *stream = fopen("tests/data/missing_columns.txt", "rb");

    cr_assert_not_null(stream);
    cr_assert_lt(fread(list, 1, sizeof list - 2, stream), sizeof list - 2);
    fclose(stream);
    for (size_t t = 0; t < N_TABLES; t++) {
        for (const struct mdf_operator *row = tables[t].rows; row->name != NULL; row++) {
            check_columns(list, row);
        }
    }
}

/* ------------------------------------------------------------------ docs/expressions.md */

enum { PAGE_SIZE = 1 << 16 };

static void read_page(char page[PAGE_SIZE])
{
    FILE *stream = fopen("docs/expressions.md", "rb");
    size_t n;

    cr_assert(stream != NULL);
    n = fread(page, 1, PAGE_SIZE - 1, stream);
    cr_assert(n < PAGE_SIZE - 1);
    page[n] = '\0';
    fclose(stream);
}

static bool begins(const char *name, const char *const *prefixes, size_t *length)
{
    for (; *prefixes != NULL; prefixes++) {
        *length = strlen(*prefixes);
        if (strncmp(name, *prefixes, *length) == 0) {
            return true;
        }
    }
    *length = 0;
    return false;
}

/* A function as the page writes it: without the module, and a method by its name alone. */
static const char *name_on_page(const char *name)
{
    static const char *const prefixes[] = {"numpy.ndarray.", "numpy.", "list.", "str.", "dict.", NULL};
    size_t length;

    begins(name, prefixes, &length);
    return name + length;
}

/* What the compiler calls for operators, lists and derivatives, and what other pages tell of. */
static bool is_elsewhere(const char *name)
{
    static const char *const prefixes[] = {"operator.", "gradient.", "build_", "outputs", "actr.", "ddm.", "psyneulink.", NULL};
    size_t length;

    return begins(name, prefixes, &length);
}

Test(registry, the_page_of_expressions_has_every_function)
{
    static char page[PAGE_SIZE];
    char quoted[80];

    read_page(page);
    for (size_t t = 0; t < N_TABLES; t++) {
        for (const struct mdf_operator *row = tables[t].rows; is_python(t) && row->name != NULL; row++) {
            snprintf(quoted, sizeof quoted, "`%s`", name_on_page(row->name));
            cr_expect(is_elsewhere(row->name) || strstr(page, quoted) != NULL, "docs/expressions.md has no %s (%s)", quoted,
                      row->name);
        }
    }
}

Test(registry, the_page_of_expressions_has_no_function_that_is_not_there)
{
    static char page[PAGE_SIZE];
    char *at, *end, name[80];

    read_page(page);
    at = strstr(page, "\n- numpy, ");
    end = at != NULL ? strstr(at, "\n- Methods of arrays") : NULL;
    cr_assert(end != NULL);
    *end = '\0';
    for (at = strchr(at, '`'); at != NULL; at = strchr(strchr(at + 1, '`') + 1, '`')) {
        int length = (int)(strchr(at + 1, '`') - at - 1);

        snprintf(name, sizeof name, "numpy.%.*s", length, at + 1);
        cr_expect(mdf_operator_python(name) != NULL || mdf_operator_method(name + strlen("numpy.")) != NULL,
                  "docs/expressions.md: there is no %s", name);
    }
}
