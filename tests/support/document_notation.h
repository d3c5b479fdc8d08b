/* document_notation.h - what the tests of documents share: a tree as text, and a parse that checks itself.
 *
 * The notation shows how values are held: numbers, "strings", [lists] and {objects} as in JSON; packed numbers as
 * int64[2,2](1 2 3 4); whole numbers past 64 bits as #digits. */
#ifndef TESTS_DOCUMENT_NOTATION_H
#define TESTS_DOCUMENT_NOTATION_H

#include "mdf_c/document/document.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static struct mdf_memory memory;
static char warned[2048];
static int n_warnings;

static inline void on_warning(void *context, const mdf_error *warning)
{
    (void)context;
    mdf_error_format(warning, warned, sizeof warned);
    n_warnings++;
}

static const struct mdf_warnings warnings = {on_warning, NULL};

static inline void set_up(void)
{
    mdf_memory_init(&memory, NULL, 0);
    warned[0] = '\0';
    n_warnings = 0;
}

static inline void tear_down(void)
{
    cr_assert_eq(atomic_load(&memory.used_bytes), 0, "memory is leaked");
}

static inline void dump(struct mdf_text *text, const struct mdf_node *node);

static inline void dump_numbers(struct mdf_text *text, const struct mdf_node *node)
{
    size_t n = 1, i;
    char number[MDF_NUMBER_TEXT_SIZE];

    mdf_text_printf(text, "%s[", mdf_dtype_name((mdf_dtype)node->packed_dtype));
    for (i = 0; i < node->as.numbers.rank; i++) {
        mdf_text_printf(text, "%s%" PRId64, i > 0 ? "," : "", node->as.numbers.shape[i]);
        n *= (size_t)node->as.numbers.shape[i];
    }
    mdf_text_append_string(text, "](");
    for (i = 0; i < n; i++) {
        mdf_text_append_string(text, i > 0 ? " " : "");
        if (node->packed_dtype == MDF_DTYPE_INT64) {
            mdf_text_printf(text, "%" PRId64, ((const int64_t *)node->as.numbers.elements)[i]);
        } else if (node->packed_dtype == MDF_DTYPE_FLOAT64) {
            mdf_text_append(text, number, mdf_format_float64(((const double *)node->as.numbers.elements)[i], number));
        } else {
            mdf_text_printf(text, "%d", ((const bool *)node->as.numbers.elements)[i]);
        }
    }
    mdf_text_append_string(text, ")");
}

static inline void dump_items(struct mdf_text *text, const struct mdf_node *node)
{
    bool is_list = node->kind == MDF_NODE_LIST;
    size_t i;

    mdf_text_append_string(text, is_list ? "[" : "{");
    for (i = 0; i < mdf_node_length(node); i++) {
        mdf_text_append_string(text, i > 0 ? ", " : "");
        if (!is_list) {
            mdf_text_printf(text, "%s: ", node->as.object.entries[i].key);
        }
        dump(text, is_list ? &node->as.list.items[i] : &node->as.object.entries[i].value);
    }
    mdf_text_append_string(text, is_list ? "]" : "}");
}

static inline void dump(struct mdf_text *text, const struct mdf_node *node)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    switch (node->kind) {
    case MDF_NODE_NULL:
        mdf_text_append_string(text, "null");
        break;
    case MDF_NODE_BOOL:
        mdf_text_append_string(text, node->as.truth ? "true" : "false");
        break;
    case MDF_NODE_INT:
        mdf_text_printf(text, "%" PRId64, node->as.integer);
        break;
    case MDF_NODE_REAL:
        if (node->digits != NULL) {
            mdf_text_printf(text, "#%s", node->digits);
        } else {
            mdf_text_append(text, number, mdf_format_float64(node->as.real, number));
        }
        break;
    case MDF_NODE_STRING:
        mdf_text_append_string(text, "\"");
        mdf_text_append(text, node->as.string.bytes, node->as.string.length);
        mdf_text_append_string(text, "\"");
        break;
    case MDF_NODE_NUMBERS:
        dump_numbers(text, node);
        break;
    default:
        dump_items(text, node);
        break;
    }
}

static inline struct mdf_document *parse_bytes(const char *format, const char *bytes, size_t size, mdf_error *error)
{
    char *exact = malloc(size > 0 ? size : 1); /* so that a sanitizer sees a read past the end */
    struct mdf_document *document;

    memset(error, 0, sizeof *error);
    memcpy(exact, bytes, size);
    document = mdf_document_parse(&memory, format, "file", exact, size, &warnings, error);
    free(exact);
    cr_assert((document == NULL) == (error->code != MDF_OK));
    return document;
}

static inline struct mdf_document *parse(const char *format, const char *text)
{
    mdf_error error;
    struct mdf_document *document = parse_bytes(format, text, strlen(text), &error);

    cr_assert(document != NULL, "%s: %u:%u: %s", text, error.line, error.column, error.message);
    return document;
}

static inline bool write_tree(const struct mdf_node *root, const char *format, struct mdf_text *text, mdf_error *error)
{
    bool done;

    mdf_text_init(text, &memory);
    memset(error, 0, sizeof *error);
    done = mdf_document_write(root, format, text, error);
    cr_assert(done == (error->code == MDF_OK));
    return done;
}

#endif
