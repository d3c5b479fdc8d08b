/* onnx_attributes.c - attributes as values of the tree: numbers, texts, lists of them; arrays in the typed form {"type", "shape",
 * "data"}. Reals of attributes are float32: they get the fewest digits that read back to the same. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

enum { ATTRIBUTE_TYPE_PROTOS = 14 };

int mdf_onnx_attribute_type(const Mdf__AttributeProto *attribute)
{
    if (attribute->type != 0) {
        return attribute->type;
    }
    return attribute->has_f              ? MDF_ATTRIBUTE_FLOAT
           : attribute->has_i            ? MDF_ATTRIBUTE_INT
           : attribute->has_s            ? MDF_ATTRIBUTE_STRING
           : attribute->t != NULL        ? MDF_ATTRIBUTE_TENSOR
           : attribute->g != NULL        ? MDF_ATTRIBUTE_GRAPH
           : attribute->n_floats > 0     ? MDF_ATTRIBUTE_FLOATS
           : attribute->n_ints > 0       ? MDF_ATTRIBUTE_INTS
           : attribute->n_strings > 0    ? MDF_ATTRIBUTE_STRINGS
           : attribute->n_tensors > 0    ? MDF_ATTRIBUTE_TENSORS
           : attribute->n_graphs > 0     ? MDF_ATTRIBUTE_GRAPHS
           : attribute->sparse_tensor    ? MDF_ATTRIBUTE_SPARSE_TENSOR
           : attribute->n_sparse_tensors ? MDF_ATTRIBUTE_SPARSE_TENSORS
           : attribute->tp != NULL       ? MDF_ATTRIBUTE_TYPE
                                         : 0;
}

/* ------------------------------------------------------------------ constants */

static bool array_of(struct onnx_import *import, struct onnx_array *array, mdf_dtype dtype, bool is_list, size_t n,
                     const void *elements)
{
    int64_t *shape = mdf_arena_array(&import->scratch, 1, sizeof *shape);

    if (shape == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    *shape = (int64_t)n;
    *array = (struct onnx_array){.dtype = dtype, .rank = is_list, .shape = shape};
    return mdf_onnx_array_of(import, array, n, (void *)(uintptr_t)elements);
}

/* Strings as a tensor, so that they are read as any other. */
static bool strings_of(struct onnx_import *import, struct onnx_array *array, bool is_list, size_t n, ProtobufCBinaryData *strings)
{
    Mdf__TensorProto *tensor = mdf_arena_allocate(&import->scratch, sizeof *tensor);
    int64_t *shape = mdf_arena_array(&import->scratch, 1, sizeof *shape);

    if (tensor == NULL || shape == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    *shape = (int64_t)n;
    mdf__tensor_proto__init(tensor);
    tensor->dims = shape;
    tensor->n_dims = is_list;
    tensor->data_type = mdf_dtype_to_onnx(MDF_DTYPE_STRING);
    tensor->string_data = strings;
    tensor->n_string_data = n;
    return mdf_onnx_tensor(import, tensor, array);
}

static bool constant_of(struct onnx_import *import, const Mdf__AttributeProto *attribute, struct onnx_array *array)
{
    ProtobufCBinaryData *text;

    switch (mdf_onnx_attribute_type(attribute)) {
    case MDF_ATTRIBUTE_TENSOR:
        return attribute->t != NULL ? mdf_onnx_tensor(import, attribute->t, array)
                                    : mdf_onnx_fail(import, MDF_MODEL, "a constant has no tensor");
    case MDF_ATTRIBUTE_SPARSE_TENSOR:
        return attribute->sparse_tensor != NULL ? mdf_onnx_sparse(import, attribute->sparse_tensor, array)
                                                : mdf_onnx_fail(import, MDF_MODEL, "a constant has no tensor");
    case MDF_ATTRIBUTE_FLOAT:
        return array_of(import, array, MDF_DTYPE_FLOAT32, false, 1, &attribute->f);
    case MDF_ATTRIBUTE_FLOATS:
        return array_of(import, array, MDF_DTYPE_FLOAT32, true, attribute->n_floats, attribute->floats);
    case MDF_ATTRIBUTE_INT:
        return array_of(import, array, MDF_DTYPE_INT64, false, 1, &attribute->i);
    case MDF_ATTRIBUTE_INTS:
        return array_of(import, array, MDF_DTYPE_INT64, true, attribute->n_ints, attribute->ints);
    case MDF_ATTRIBUTE_STRING:
        text = mdf_arena_allocate(&import->scratch, sizeof *text);
        if (text == NULL) {
            return mdf_onnx_out_of_memory(import);
        }
        *text = attribute->s;
        return strings_of(import, array, false, 1, text);
    case MDF_ATTRIBUTE_STRINGS:
        return strings_of(import, array, true, attribute->n_strings, attribute->strings);
    default:
        return mdf_onnx_fail(import, MDF_MODEL, "the attribute '%.100s' gives a Constant no value",
                             mdf_onnx_text(attribute->name));
    }
}

bool mdf_onnx_constant(struct onnx_import *import, const struct onnx_constant *constant, struct onnx_array *array)
{
    if (constant->tensor != NULL) {
        return mdf_onnx_tensor(import, constant->tensor, array);
    }
    return constant->sparse != NULL ? mdf_onnx_sparse(import, constant->sparse, array)
                                    : constant_of(import, constant->attribute, array);
}

/* ------------------------------------------------------------------ attributes */

static bool write_array(struct onnx_import *import, const char *key, const struct onnx_array *array)
{
    return mdf_onnx_open(import, key, MDF_NODE_OBJECT) && mdf_onnx_write_form(import, array) &&
           mdf_onnx_write_node(import, "data", &array->data) && mdf_onnx_close(import);
}

static bool write_tensors(struct onnx_import *import, const char *key, const Mdf__AttributeProto *attribute)
{
    struct onnx_array array;

    if (!mdf_onnx_open(import, key, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < attribute->n_tensors; i++) {
        if (!mdf_onnx_tensor(import, attribute->tensors[i], &array) || !write_array(import, NULL, &array)) {
            return false;
        }
    }
    for (size_t i = 0; i < attribute->n_sparse_tensors; i++) {
        if (!mdf_onnx_sparse(import, attribute->sparse_tensors[i], &array) || !write_array(import, NULL, &array)) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

static bool write_type(struct onnx_import *import, const char *key, const Mdf__TypeProto *type)
{
    const struct mdf_node nothing = {.kind = MDF_NODE_NULL};
    const char *text;

    return mdf_onnx_type_text(import, type, &text) &&
           (text != NULL ? mdf_onnx_write_text(import, key, text) : mdf_onnx_write_node(import, key, &nothing));
}

static bool write_types(struct onnx_import *import, const char *key, const Mdf__AttributeProto *attribute)
{
    if (!mdf_onnx_open(import, key, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < attribute->n_type_protos; i++) {
        if (!write_type(import, NULL, attribute->type_protos[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

/* Reals as the numbers that their digits say, which a JSON file would give too. */
static bool write_reals(struct onnx_import *import, const char *key, const Mdf__AttributeProto *attribute)
{
    struct mdf_node numbers = {.kind = MDF_NODE_NUMBERS, .packed_dtype = MDF_DTYPE_FLOAT32}, item;
    int64_t n = (int64_t)attribute->n_floats;

    numbers.as.numbers.rank = 1;
    numbers.as.numbers.shape = &n;
    numbers.as.numbers.elements = attribute->floats;
    if (!mdf_onnx_open(import, key, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; mdf_node_item(&numbers, i, &item); i++) {
        if (!mdf_tree_add(import->tree, &item)) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}

bool mdf_onnx_write_attribute(struct onnx_import *import, const char *key, const Mdf__AttributeProto *attribute)
{
    size_t place = mdf_onnx_enter(import, "attribute", key);
    struct onnx_array array;
    bool done;

    switch (mdf_onnx_attribute_type(attribute)) {
    case MDF_ATTRIBUTE_TENSOR:
    case MDF_ATTRIBUTE_SPARSE_TENSOR:
        done = constant_of(import, attribute, &array) && write_array(import, key, &array);
        break;
    case MDF_ATTRIBUTE_TENSORS:
    case MDF_ATTRIBUTE_SPARSE_TENSORS:
        done = write_tensors(import, key, attribute);
        break;
    case MDF_ATTRIBUTE_TYPE:
        done = write_type(import, key, attribute->tp);
        break;
    case ATTRIBUTE_TYPE_PROTOS:
        done = write_types(import, key, attribute);
        break;
    case MDF_ATTRIBUTE_FLOATS:
        done = write_reals(import, key, attribute);
        break;
    case MDF_ATTRIBUTE_INTS:
        done = mdf_onnx_write_sizes(import, key, attribute->ints, attribute->n_ints);
        break;
    case MDF_ATTRIBUTE_FLOAT:
    case MDF_ATTRIBUTE_INT:
    case MDF_ATTRIBUTE_STRING:
    case MDF_ATTRIBUTE_STRINGS:
        done = constant_of(import, attribute, &array) && mdf_onnx_write_node(import, key, &array.data);
        break;
    default:
        return mdf_onnx_fail(import, MDF_MODEL, "an attribute of type number %d can not be read", mdf_onnx_attribute_type(attribute));
    }
    mdf_onnx_leave(import, place);
    return done;
}

/* ------------------------------------------------------------------ attributes that name values */

/* The id of the value that a text names where the attribute stands; the text itself where it names none. */
static const char *id_of(struct onnx_import *import, const struct onnx_attribute *attribute, const ProtobufCBinaryData *text)
{
    const char *name = mdf_arena_text(&import->document->arena, text->len > 0 ? (const char *)text->data : "", text->len);
    const struct onnx_value *value = NULL;
    const struct onnx_scope *scope;

    for (scope = attribute->scope; name != NULL && scope != NULL && value == NULL; scope = scope->outer) {
        value = mdf_onnx_map_get(&scope->values, name, NULL);
    }
    return value != NULL ? value->id : name;
}

static bool write_id(struct onnx_import *import, const char *key, const struct onnx_attribute *attribute,
                     const ProtobufCBinaryData *text)
{
    const char *id = id_of(import, attribute, text);

    if (id == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    if (mdf_utf8_valid_length(id, strlen(id)) != strlen(id)) {
        return mdf_onnx_fail(import, MDF_SYNTAX, "the attribute '%.100s' is not valid UTF-8", attribute->name);
    }
    return mdf_onnx_write_text(import, key, id);
}

bool mdf_onnx_write_names(struct onnx_import *import, const struct onnx_attribute *attribute)
{
    if (mdf_onnx_attribute_type(attribute->source) == MDF_ATTRIBUTE_STRING) {
        return write_id(import, attribute->name, attribute, &attribute->source->s);
    }
    if (!mdf_onnx_open(import, attribute->name, MDF_NODE_LIST)) {
        return false;
    }
    for (size_t i = 0; i < attribute->source->n_strings; i++) {
        if (!write_id(import, NULL, attribute, &attribute->source->strings[i])) {
            return false;
        }
    }
    return mdf_onnx_close(import);
}
