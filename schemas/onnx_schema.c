/* onnx_schema.c - look-ups in the generated table of ONNX operator signatures. See onnx_schema.h. */
#include "schemas/onnx_schema.h"

#include <string.h>

#include "schemas/onnx_schema_data.inc"

static const size_t n_schemas = sizeof schemas / sizeof *schemas;

static const char *canonical_domain(const char *domain)
{
    return strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* Order of the rows; the version aside. */
static int compare(const struct mdf_schema *schema, const char *domain, const char *name)
{
    int order = strcmp(schema->domain, domain);

    return order != 0 ? order : strcmp(schema->name, name);
}

/* The first row that does not lie before (domain, name). */
static size_t lower_bound(const char *domain, const char *name)
{
    size_t first = 0, last = n_schemas;

    while (first < last) {
        size_t middle = first + (last - first) / 2;

        if (compare(&schemas[middle], domain, name) < 0) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

const struct mdf_schema *mdf_schema_find(const char *domain, const char *name, int opset)
{
    size_t i;

    domain = canonical_domain(domain);
    i = lower_bound(domain, name);
    if (i == n_schemas || compare(&schemas[i], domain, name) != 0) {
        return NULL;
    }
    while (i + 1 < n_schemas && compare(&schemas[i + 1], domain, name) == 0 && schemas[i + 1].since <= opset) {
        i++;
    }
    return &schemas[i];
}

/* The first row of the domain behind that of row `i`; the number of rows after the last. */
static size_t next_domain(size_t i)
{
    const char *domain = schemas[i].domain;
    size_t last = n_schemas;

    while (i < last) {
        size_t middle = i + (last - i) / 2;

        if (strcmp(schemas[middle].domain, domain) == 0) {
            i = middle + 1;
        } else {
            last = middle;
        }
    }
    return i;
}

int mdf_schema_only_version(const char *domain)
{
    size_t first = lower_bound(domain, ""), i = first;

    while (i < n_schemas && strcmp(schemas[i].domain, domain) == 0 && schemas[i].since == schemas[first].since) {
        i++;
    }
    return i > first && (i == n_schemas || strcmp(schemas[i].domain, domain) != 0) ? schemas[first].since : 0;
}

const char *mdf_schema_prefix(const struct mdf_schema *schema)
{
    return schema->domain[0] == '\0' ? "onnx" : schema->domain;
}

const char *mdf_schema_split(const char *function, const char **name)
{
    size_t length;

    for (size_t i = 0; i < n_schemas; i = next_domain(i)) {
        length = strlen(mdf_schema_prefix(&schemas[i]));
        if (strncmp(function, mdf_schema_prefix(&schemas[i]), length) == 0 && strncmp(function + length, "::", 2) == 0) {
            *name = function + length + 2;
            return schemas[i].domain;
        }
    }
    return NULL;
}

const struct mdf_schema *mdf_schema_find_anywhere(const char *name, int version)
{
    const struct mdf_schema *schema = NULL;

    for (size_t i = 0; i < n_schemas && schema == NULL; i = next_domain(i)) {
        schema = mdf_schema_find(schemas[i].domain, name, version);
    }
    return schema;
}

const struct mdf_schema_attribute *mdf_schema_attribute(const struct mdf_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->n_attributes; i++) {
        if (strcmp(schema->attributes[i].name, name) == 0) {
            return &schema->attributes[i];
        }
    }
    return NULL;
}

size_t mdf_schema_input(const struct mdf_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->n_inputs; i++) {
        if (strcmp(schema->inputs[i].name, name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t mdf_schema_first_yield(const struct mdf_schema *schema)
{
    return mdf_schema_attribute(schema, "body") != NULL && mdf_schema_input(schema, "cond") != SIZE_MAX;
}

static const struct mdf_formal *actual(const struct mdf_formal *formals, size_t n, size_t i)
{
    if (i < n) {
        return &formals[i];
    }
    return n > 0 && formals[n - 1].option == MDF_FORMAL_VARIADIC ? &formals[n - 1] : NULL;
}

const struct mdf_formal *mdf_schema_actual_input(const struct mdf_schema *schema, size_t i)
{
    return actual(schema->inputs, schema->n_inputs, i);
}

const struct mdf_formal *mdf_schema_actual_output(const struct mdf_schema *schema, size_t i)
{
    return actual(schema->outputs, schema->n_outputs, i);
}

const struct mdf_schema *mdf_schema_at(size_t i)
{
    return i < n_schemas ? &schemas[i] : NULL;
}

int mdf_schema_newest_opset(void)
{
    return NEWEST_OPSET;
}

void mdf_schema_offer(const char *domain, struct mdf_nearest *nearest)
{
    domain = canonical_domain(domain);
    for (size_t i = lower_bound(domain, ""); i < n_schemas && strcmp(schemas[i].domain, domain) == 0; i++) {
        mdf_nearest_offer(nearest, schemas[i].name);
    }
}
