/* onnx_tree.c - small steps of writing a tree, and what can be written without knowing of graphs. */
#include "mdf_c/document/onnx/onnx_import.h"

#include "mdf_c/base/text.h"

#include <string.h>

static bool set_key(struct onnx_import *import, const char *key)
{
    if (key != NULL && mdf_utf8_valid_length(key, strlen(key)) != strlen(key)) {
        return mdf_onnx_fail(import, MDF_SYNTAX, "a name is not valid UTF-8");
    }
    if (key != NULL) {
        mdf_tree_key(import->tree, key, 0, 0);
    }
    return true;
}

bool mdf_onnx_write_node(struct onnx_import *import, const char *key, const struct mdf_node *node)
{
    return set_key(import, key) && mdf_tree_add(import->tree, node);
}

bool mdf_onnx_write_text(struct onnx_import *import, const char *key, const char *text)
{
    struct mdf_node node = {.kind = MDF_NODE_STRING};

    node.as.string.bytes = text;
    node.as.string.length = strlen(text);
    if (mdf_utf8_valid_length(text, node.as.string.length) != node.as.string.length) {
        return mdf_onnx_fail(import, MDF_SYNTAX, "a text is not valid UTF-8");
    }
    return mdf_onnx_write_node(import, key, &node);
}

bool mdf_onnx_open(struct onnx_import *import, const char *key, enum mdf_node_kind kind)
{
    return set_key(import, key) && mdf_tree_open(import->tree, kind, 0, 0);
}

bool mdf_onnx_close(struct onnx_import *import)
{
    struct mdf_node node;

    return mdf_tree_close(import->tree, &node, false) && mdf_tree_add(import->tree, &node);
}

bool mdf_onnx_write_sizes(struct onnx_import *import, const char *key, const int64_t *sizes, size_t n)
{
    if (!mdf_onnx_open(import, key, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_tree_add_number(import->tree, MDF_DTYPE_INT64, (uint64_t)sizes[i], 0, 0)) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

bool mdf_onnx_write_int(struct onnx_import *import, const char *key, int64_t integer)
{
    struct mdf_node node = {.kind = MDF_NODE_INT};

    node.as.integer = integer;
    return mdf_onnx_write_node(import, key, &node);
}

bool mdf_onnx_write_form(struct onnx_import *import, const struct onnx_array *array)
{
    return mdf_onnx_write_text(import, "type", mdf_dtype_name(array->dtype)) &&
           mdf_onnx_write_sizes(import, "shape", array->shape, array->rank);
}

/* Whether a size has a name that is none for readers of a model, which take a text that is a number for that number. */
static bool has_name(const Mdf__TensorShapeProto__Dimension *size)
{
    double real;
    int64_t whole;
    bool is_integer;

    return size->dim_param != NULL && *size->dim_param != '\0' &&
           !mdf_parse_python_number(size->dim_param, &real, &whole, &is_integer);
}

static bool write_shape(struct onnx_import *import, const char *key, const Mdf__TensorShapeProto *shape)
{
    const struct mdf_node nothing = {.kind = MDF_NODE_NULL};
    bool done;

    if (!mdf_onnx_open(import, key, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < shape->n_dim; i++) {
        const Mdf__TensorShapeProto__Dimension *size = shape->dim[i];

        if (size->has_dim_value && size->dim_value >= 0) {
            done = mdf_onnx_write_int(import, NULL, size->dim_value);
        } else if (has_name(size)) {
            done = mdf_onnx_write_text(import, NULL, size->dim_param);
        } else {
            done = mdf_onnx_write_node(import, NULL, &nothing);
        }
        if (!done) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

bool mdf_onnx_write_type(struct onnx_import *import, const Mdf__TypeProto *type)
{
    const Mdf__TensorShapeProto *shape = mdf_onnx_type_shape(type);
    const char *text;

    return mdf_onnx_type_text(import, type, &text) && (text == NULL || mdf_onnx_write_text(import, "type", text)) &&
           (shape == NULL || write_shape(import, "shape", shape));
}

bool mdf_onnx_write_properties(struct onnx_import *import, Mdf__StringStringEntryProto *const *properties, size_t n)
{
    if (n == 0) {
        return true;
    }
    if (!mdf_onnx_open(import, "metadata_props", MDF_NODE_OBJECT)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_onnx_write_text(import, mdf_onnx_text(properties[i]->key), mdf_onnx_text(properties[i]->value))) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

bool mdf_onnx_write_given(struct onnx_import *import, const char *key, const char *text)
{
    return text == NULL || *text == '\0' || mdf_onnx_write_text(import, key, text);
}
