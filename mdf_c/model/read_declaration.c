/* read_declaration.c - the shape and type that a port or parameter declares; and the messages of the reader. See reader.h. */
#include "mdf_c/base/error.h"
#include "mdf_c/model/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ messages */

mdf_status mdf_reader_fail(struct mdf_reader *reader, const struct mdf_node *node, mdf_status status, const char *message)
{
    mdf_error_set(reader->error, status, "%s", message);
    mdf_error_at(reader->error, mdf_node_file(reader->document, node), (int)node->line, (int)node->column);
    mdf_error_in(reader->error, "%s", reader->path);
    return status;
}

mdf_status mdf_reader_out_of_memory(struct mdf_reader *reader)
{
    return mdf_memory_error(reader->arena->memory, reader->error);
}

bool mdf_reader_recover(struct mdf_reader *reader, size_t length)
{
    mdf_error error = *reader->error;

    if (error.code != MDF_OK && !mdf_diagnostics_take(reader->list, reader->error)) {
        return false;
    }
    if (error.code != MDF_OK && reader->first.code == MDF_OK) {
        reader->first = error;
    }
    reader->path[length] = '\0';
    return reader->first.code != MDF_OK; /* without an error of its own it follows from one before */
}

void mdf_reader_enter(struct mdf_reader *reader, const char *what, const char *id)
{
    mdf_place_path_enter(reader->path, sizeof reader->path, what, id);
}

void mdf_reader_warn(struct mdf_reader *reader, uint32_t line, uint32_t column, const char *message)
{
    mdf_warn(reader->warnings, reader->document->file, (int)line, (int)column, reader->path, "%s", message);
}

/* ------------------------------------------------------------------ shapes and types */

static mdf_status add_size(struct mdf_reader *reader, const struct mdf_node *node, struct mdf_declaration *declaration,
                           int64_t size)
{
    if (size < 0) {
        return mdf_reader_fail(reader, node, MDF_SHAPE, "a shape has a negative size");
    }
    ((int64_t *)(uintptr_t)declaration->shape)[declaration->rank++] = size;
    return MDF_OK;
}

/* "(2, 3)", "(1,)", "[4]", "()", "5": the older spelling of a shape. */
static mdf_status read_shape_text(struct mdf_reader *reader, const struct mdf_node *node, struct mdf_declaration *declaration)
{
    const char *text = node->as.string.bytes;
    char *end;

    declaration->shape = mdf_arena_array(reader->arena, node->as.string.length + 1, sizeof(int64_t));
    if (declaration->shape == NULL) {
        return mdf_reader_out_of_memory(reader);
    }
    while (*text != '\0') {
        if (strchr("()[], \t", *text) != NULL) {
            text++;
            continue;
        }
        if (add_size(reader, node, declaration, strtoll(text, &end, 10)) != MDF_OK) {
            return MDF_SHAPE;
        }
        if (end == text) {
            return mdf_reader_fail(reader, node, MDF_SHAPE, "a shape given as text must read like \"(2, 3)\"");
        }
        text = end;
    }
    return MDF_OK;
}

/* A size that is written as a text: "3". */
static bool is_size_text(const struct mdf_node *node, int64_t *size)
{
    double real;
    bool is_integer = false;

    return node->kind == MDF_NODE_STRING && mdf_parse_python_number(node->as.string.bytes, &real, size, &is_integer) &&
           is_integer;
}

static mdf_status read_shape_list(struct mdf_reader *reader, const struct mdf_node *node, struct mdf_declaration *declaration)
{
    size_t n = mdf_node_length(node), i;
    int64_t size;

    declaration->shape = mdf_arena_array(reader->arena, n, sizeof(int64_t));
    if (declaration->shape == NULL) {
        return mdf_reader_out_of_memory(reader);
    }
    for (i = 0; i < n; i++) {
        const struct mdf_node *item = node->kind == MDF_NODE_LIST ? &node->as.list.items[i] : node;

        if (item->kind == MDF_NODE_NUMBERS && item->packed_dtype == MDF_DTYPE_INT64 && item->as.numbers.rank == 1) {
            if (add_size(reader, node, declaration, ((const int64_t *)item->as.numbers.elements)[i]) != MDF_OK) {
                return MDF_SHAPE;
            }
        } else if (item->kind == MDF_NODE_INT) {
            if (add_size(reader, item, declaration, item->as.integer) != MDF_OK) {
                return MDF_SHAPE;
            }
        } else if (is_size_text(item, &size)) {
            if (add_size(reader, item, declaration, size) != MDF_OK) {
                return MDF_SHAPE;
            }
        } else if (item->kind == MDF_NODE_NULL || item->kind == MDF_NODE_STRING) {
            ((int64_t *)(uintptr_t)declaration->shape)[declaration->rank++] = -1; /* a named or open axis */
        } else {
            return mdf_reader_fail(reader, item, MDF_SHAPE, "a shape is a list of whole numbers");
        }
    }
    return MDF_OK;
}

mdf_status mdf_reader_declaration(struct mdf_reader *reader, const struct mdf_node *object, struct mdf_declaration *declaration)
{
    const struct mdf_node *shape = mdf_node_get(object, "shape"), *type = mdf_node_get(object, "type");
    char message[160];

    declaration->type.dtype = MDF_DTYPE_NONE;
    if (type != NULL && type->kind == MDF_NODE_STRING) {
        declaration->type_text = type->as.string.bytes;
        if (strcmp(declaration->type_text, "None") == 0) { /* modeci_mdf's exporter from PyTorch writes it where it knows none */
            declaration->type_text = NULL;
        } else if (!mdf_parse_type(declaration->type_text, &declaration->type)) {
            const char *guess = mdf_nearest_type(declaration->type_text);

            snprintf(message, sizeof message, "unknown type '%.60s' is ignored%s%s%s", declaration->type_text,
                     guess != NULL ? "; did you mean '" : "", guess != NULL ? guess : "", guess != NULL ? "'?" : "");
            mdf_reader_warn(reader, type->line, type->column, message);
            declaration->type_text = NULL;
            declaration->type.dtype = MDF_DTYPE_NONE;
        }
    } else if (type != NULL && type->kind != MDF_NODE_NULL) {
        return mdf_reader_fail(reader, type, MDF_MODEL, "a type is a string");
    }
    if (shape == NULL || shape->kind == MDF_NODE_NULL) {
        return MDF_OK;
    }
    declaration->has_shape = true;
    if (shape->kind == MDF_NODE_STRING) {
        return read_shape_text(reader, shape, declaration);
    }
    if (shape->kind == MDF_NODE_LIST || shape->kind == MDF_NODE_NUMBERS) {
        return read_shape_list(reader, shape, declaration);
    }
    return mdf_reader_fail(reader, shape, MDF_SHAPE, "a shape is a list of whole numbers");
}

mdf_status mdf_model_read_declaration(struct mdf_arena *arena, const struct mdf_document *document,
                                      const struct mdf_warnings *warnings, const struct mdf_node *object,
                                      struct mdf_declaration *declaration, mdf_error *error)
{
    struct mdf_reader reader = {arena, document, warnings, error, "", NULL, 0, 0};

    return mdf_reader_declaration(&reader, object, declaration);
}
