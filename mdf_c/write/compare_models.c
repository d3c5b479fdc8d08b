/* compare_models.c - see compare_models.h. Both trees are gone through together, an entry of one beside that of the same key of the
 * other; where only one has it, the other's is what it is by default. */
#include "mdf_c/write/compare_models.h"

#include "schemas/onnx_schema.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BYTES_SHOWN = 60, MOST_DEPTH = MDF_DOCUMENT_MAX_DEPTH };

struct comparison {
    struct mdf_text *text;
    const char *keys[MOST_DEPTH + 2]; /* of the place that is looked at */
    size_t depth;
    size_t n_differences;
    const struct mdf_schema *schema; /* of the function whose args are looked at; NULL: none */
    int opsets[2];
};

/* ------------------------------------------------------------------ telling */

static void append_place(struct comparison *comparison)
{
    for (size_t i = 0; i < comparison->depth; i++) {
        mdf_text_append_string(comparison->text, i > 0 ? "." : "");
        mdf_text_append_visible(comparison->text, comparison->keys[i]);
    }
    if (comparison->depth == 0) {
        mdf_text_append_string(comparison->text, "model");
    }
}

/* A value on one line, and no longer than people read. */
static void append_value(struct mdf_text *text, const struct mdf_node *node)
{
    struct mdf_text whole;
    size_t length;

    if (node == NULL) {
        mdf_text_append_string(text, "nothing");
        return;
    }
    mdf_text_init(&whole, text->memory);
    if (!mdf_document_write(node, "json", &whole, NULL)) {
        text->failed = true;
    }
    while (whole.length > 0 && whole.bytes[whole.length - 1] == '\n') {
        whole.length--;
    }
    length = whole.length < MOST_BYTES_SHOWN ? whole.length : MOST_BYTES_SHOWN;
    while (length > 0 && length < whole.length && ((unsigned char)whole.bytes[length] & 0xc0) == 0x80) {
        length--; /* not amid a character */
    }
    for (size_t i = 0; i < length; i++) {
        if (whole.bytes[i] != '\n') {
            mdf_text_append(text, &whole.bytes[i], 1);
        } else {
            for (mdf_text_append(text, " ", 1); i + 1 < length && whole.bytes[i + 1] == ' '; i++) {
            }
        }
    }
    mdf_text_append_string(text, length < whole.length ? " ..." : "");
    mdf_text_release(&whole);
}

static void tell(struct comparison *comparison, const struct mdf_node *a, const struct mdf_node *b)
{
    comparison->n_differences++;
    mdf_text_append_string(comparison->text, a == NULL ? "+ " : b == NULL ? "- " : "~ ");
    append_place(comparison);
    mdf_text_append_string(comparison->text, ": ");
    if (a != NULL) {
        append_value(comparison->text, a);
    }
    mdf_text_append_string(comparison->text, a != NULL && b != NULL ? " -> " : "");
    if (b != NULL) {
        append_value(comparison->text, b);
    }
    mdf_text_append_string(comparison->text, "\n");
}

/* ------------------------------------------------------------------ what is left out */

/* Parts of a model that may be empty as well as not be there. */
static bool is_part(const char *key)
{
    static const char *const parts[] = {"nodes",       "edges",      "parameters", "functions", "input_ports", "output_ports",
                                        "conditions", "metadata", "args",       "notes"};

    return MDF_FIND_WORD(key, parts) != SIZE_MAX;
}

static bool is_empty(const char *key, const struct mdf_node *node)
{
    return node->kind == MDF_NODE_NULL ||
           (is_part(key) && ((node->kind == MDF_NODE_OBJECT && node->as.object.n == 0) ||
                             (node->kind == MDF_NODE_LIST && node->as.list.n == 0)));
}

/* Whether what is looked at is `up` levels below that key. */
static bool is_under(const struct comparison *comparison, size_t up, const char *key)
{
    return comparison->depth >= up && strcmp(comparison->keys[comparison->depth - up], key) == 0;
}

static bool is_text(const struct mdf_node *node, const char *text)
{
    return node->kind == MDF_NODE_STRING && strcmp(node->as.string.bytes, text) == 0;
}

static bool is_number(const struct mdf_node *node, double number)
{
    return (node->kind == MDF_NODE_INT && (double)node->as.integer == number) ||
           (node->kind == MDF_NODE_REAL && node->as.real == number);
}

/* An attribute of an onnx:: function that the standard gives the same value. */
static bool is_schema_default(const struct comparison *comparison, const char *key, const struct mdf_node *node)
{
    const struct mdf_schema_attribute *attribute =
        comparison->schema != NULL ? mdf_schema_attribute(comparison->schema, key) : NULL;

    if (attribute == NULL || !attribute->has_default) {
        return false;
    }
    switch (attribute->type) {
    case MDF_ATTRIBUTE_INT:
        return node->kind == MDF_NODE_INT && node->as.integer == attribute->default_int;
    case MDF_ATTRIBUTE_FLOAT:
        return is_number(node, attribute->default_float);
    case MDF_ATTRIBUTE_STRING:
        return attribute->default_string != NULL && is_text(node, attribute->default_string);
    default:
        return false;
    }
}

/* Whether an entry says no more than leaving it out does. */
static bool is_default(const struct comparison *comparison, const char *key, const struct mdf_node *node)
{
    const struct mdf_node *weight = node->kind == MDF_NODE_OBJECT && node->as.object.n == 1 ? mdf_node_get(node, "weight") : NULL;

    return is_empty(key, node) ||
           (is_under(comparison, 2, "input_ports") && strcmp(key, "reduce") == 0 && is_text(node, "overwrite")) ||
           (is_under(comparison, 2, "edges") && strcmp(key, "parameters") == 0 && weight != NULL && is_number(weight, 1)) ||
           (is_under(comparison, 1, "args") && is_schema_default(comparison, key, node));
}

/* What the document says of itself, or says again: that of the model is compared by itself. */
static bool is_about_writer(const struct comparison *comparison, const char *key)
{
    return comparison->depth == 0 && (strcmp(key, "format") == 0 || strcmp(key, "generating_application") == 0 ||
                                      strcmp(key, "onnx_opset_version") == 0 || strcmp(key, "id") == 0);
}

/* ------------------------------------------------------------------ values */

static void compare(struct comparison *comparison, const struct mdf_node *a, const struct mdf_node *b);

static bool are_same_reals(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Packed numbers of two types are the same where one is the other, written more narrowly (an array of a file from ONNX). */
static bool are_same_scalars(const struct mdf_node *a, const struct mdf_node *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    switch ((enum mdf_node_kind)a->kind) {
    case MDF_NODE_NULL:
        return true;
    case MDF_NODE_BOOL:
        return a->as.truth == b->as.truth;
    case MDF_NODE_INT:
        return a->as.integer == b->as.integer;
    case MDF_NODE_REAL:
        return are_same_reals(a->as.real, b->as.real) &&
               ((a->digits == NULL) == (b->digits == NULL) && (a->digits == NULL || strcmp(a->digits, b->digits) == 0));
    case MDF_NODE_STRING:
        return a->as.string.length == b->as.string.length &&
               memcmp(a->as.string.bytes, b->as.string.bytes, a->as.string.length) == 0;
    case MDF_NODE_LIST:
    case MDF_NODE_NUMBERS:
    case MDF_NODE_OBJECT:
        break;
    }
    return false;
}

static bool is_list(const struct mdf_node *node)
{
    return node->kind == MDF_NODE_LIST || node->kind == MDF_NODE_NUMBERS;
}

/* Whether two lists, packed or not, have the same items. */
static bool are_same_lists(const struct mdf_node *a, const struct mdf_node *b)
{
    size_t n = mdf_node_length(a), i;

    if (n != mdf_node_length(b)) {
        return false;
    }
    if (a->kind == MDF_NODE_NUMBERS && b->kind == MDF_NODE_NUMBERS && a->packed_dtype == b->packed_dtype &&
        a->as.numbers.rank == b->as.numbers.rank) {
        size_t n_elements = 1;

        for (i = 0; i < a->as.numbers.rank; i++) {
            if (a->as.numbers.shape[i] != b->as.numbers.shape[i]) {
                return false;
            }
            n_elements *= (size_t)a->as.numbers.shape[i];
        }
        return n_elements == 0 || mdf_elements_same((mdf_dtype)a->packed_dtype, a->as.numbers.elements, b->as.numbers.elements, n_elements);
    }
    for (i = 0; i < n; i++) {
        struct mdf_node x, y;

        if (!mdf_node_item(a, i, &x) || !mdf_node_item(b, i, &y) ||
            !(is_list(&x) && is_list(&y) ? are_same_lists(&x, &y) : are_same_scalars(&x, &y))) {
            return false;
        }
    }
    return true;
}

/* Items that are objects (of an interface, say) one by one; other lists as a whole. */
static void compare_lists(struct comparison *comparison, const struct mdf_node *a, const struct mdf_node *b)
{
    size_t n = mdf_node_length(a), i;
    char key[32];

    if (a->kind != MDF_NODE_LIST || b->kind != MDF_NODE_LIST || n != b->as.list.n || comparison->depth >= MOST_DEPTH) {
        if (!are_same_lists(a, b)) {
            tell(comparison, a, b);
        }
        return;
    }
    for (i = 0; i < n; i++) {
        snprintf(key, sizeof key, "[%zu]", i);
        comparison->keys[comparison->depth++] = key;
        compare(comparison, &a->as.list.items[i], &b->as.list.items[i]);
        comparison->depth--;
    }
}

/* ------------------------------------------------------------------ objects */

/* The schema of the function whose definition an object is: {"function": "onnx::Gemm", "args": {...}}, or {"onnx::Gemm": args}. */
static const struct mdf_schema *schema_of(const struct comparison *comparison, const struct mdf_node *object)
{
    const struct mdf_node *function = mdf_node_get(object, "function");
    const char *name, *domain;

    if (function == NULL || function->kind != MDF_NODE_STRING) {
        return NULL;
    }
    domain = mdf_schema_split(function->as.string.bytes, &name);
    return domain != NULL ? mdf_schema_find(domain, name, comparison->opsets[0]) : NULL;
}

static void compare_entry(struct comparison *comparison, const char *key, const struct mdf_node *a, const struct mdf_node *b)
{
    if ((a == NULL || is_default(comparison, key, a)) && (b == NULL || is_default(comparison, key, b))) {
        return;
    }
    comparison->keys[comparison->depth++] = key;
    if (a == NULL || b == NULL) {
        tell(comparison, a, b);
    } else {
        compare(comparison, a, b);
    }
    comparison->depth--;
}

static void compare_objects(struct comparison *comparison, const struct mdf_node *a, const struct mdf_node *b)
{
    const struct mdf_schema *outer = comparison->schema, *own = schema_of(comparison, a);

    if (own != NULL && own == schema_of(comparison, b)) {
        comparison->schema = own;
    }
    for (size_t i = 0; i < a->as.object.n; i++) {
        const struct mdf_node_entry *entry = &a->as.object.entries[i];

        if (!is_about_writer(comparison, entry->key)) {
            compare_entry(comparison, entry->key, &entry->value, mdf_node_get(b, entry->key));
        }
    }
    for (size_t i = 0; i < b->as.object.n; i++) {
        const struct mdf_node_entry *entry = &b->as.object.entries[i];

        if (mdf_node_get(a, entry->key) == NULL && !is_about_writer(comparison, entry->key)) {
            compare_entry(comparison, entry->key, NULL, &entry->value);
        }
    }
    comparison->schema = outer;
}

static void compare(struct comparison *comparison, const struct mdf_node *a, const struct mdf_node *b)
{
    if (comparison->depth >= MOST_DEPTH) {
        return;
    }
    if (a->kind == MDF_NODE_OBJECT && b->kind == MDF_NODE_OBJECT) {
        compare_objects(comparison, a, b);
    } else if (is_list(a) && is_list(b)) {
        compare_lists(comparison, a, b);
    } else if (!are_same_scalars(a, b)) {
        tell(comparison, a, b);
    }
}

bool mdf_compare_models(const struct mdf_model *a, const struct mdf_model *b, struct mdf_text *text, size_t *n_differences)
{
    struct comparison comparison = {.text = text, .opsets = {a->opset, b->opset}};

    if (strcmp(a->id, b->id) != 0) {
        comparison.n_differences++;
        mdf_text_append_string(text, "~ id: ");
        mdf_text_append_visible(text, a->id);
        mdf_text_append_string(text, " -> ");
        mdf_text_append_visible(text, b->id);
        mdf_text_append_string(text, "\n");
    }
    if (a->opset != b->opset) {
        comparison.n_differences++;
        mdf_text_printf(text, "~ onnx_opset_version: %d -> %d\n", a->opset, b->opset);
    }
    if (a->dialect != b->dialect) {
        comparison.n_differences++;
        mdf_text_append_string(text, "~ generating_application: one of them is read in PsyNeuLink's dialect\n");
    }
    compare_objects(&comparison, a->source, b->source);
    *n_differences = comparison.n_differences;
    return !text->failed;
}
