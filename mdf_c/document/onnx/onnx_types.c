/* onnx_types.c - TypeProto as the text that MDF has for a type: numpy's name for arrays, ONNX's spelling for the rest. */
#include "mdf_c/document/onnx/onnx_import.h"

/* The name of an element type: numpy's, or ONNX's spelling where it stands inside tensor(...). */
static bool element_name(struct onnx_import *import, int64_t data_type, bool inside, const char **name)
{
    mdf_dtype dtype = mdf_dtype_from_onnx(data_type);

    if (dtype == MDF_DTYPE_NONE) {
        return mdf_onnx_fail(import, MDF_UNSUPPORTED, "the element type number %lld is not known", (long long)data_type);
    }
    *name = inside && dtype == MDF_DTYPE_FLOAT32   ? "float"
            : inside && dtype == MDF_DTYPE_FLOAT64 ? "double"
                                                   : mdf_dtype_name(dtype);
    return true;
}

/* Puts "form(" and ")" around a text; NULL stays NULL. */
static bool wrap(struct onnx_import *import, const char *form, const char **text)
{
    if (*text != NULL) {
        *text = mdf_arena_printf(&import->document->arena, "%s(%s)", form, *text);
        return *text != NULL || mdf_onnx_out_of_memory(import);
    }
    return true;
}

static bool write_type(struct onnx_import *import, const Mdf__TypeProto *type, bool inside, const char **text);

static bool write_map(struct onnx_import *import, const Mdf__TypeProto__Map *map, const char **text)
{
    const char *key, *value;

    if (map->value_type == NULL) {
        return true;
    }
    if (!element_name(import, map->key_type, true, &key) || !write_type(import, map->value_type, true, &value)) {
        return false;
    }
    if (value != NULL) {
        *text = mdf_arena_printf(&import->document->arena, "map(%s,%s)", key, value);
        return *text != NULL || mdf_onnx_out_of_memory(import);
    }
    return true;
}

/* `inside` another type. Recursion is bounded by the depth of messages. */
static bool write_type(struct onnx_import *import, const Mdf__TypeProto *type, bool inside, const char **text)
{
    *text = NULL;
    if (type->tensor_type != NULL && type->tensor_type->elem_type != 0) {
        return element_name(import, type->tensor_type->elem_type, inside, text) && (!inside || wrap(import, "tensor", text));
    }
    if (type->sparse_tensor_type != NULL && type->sparse_tensor_type->elem_type != 0) {
        return element_name(import, type->sparse_tensor_type->elem_type, true, text) && wrap(import, "sparse_tensor", text);
    }
    if (type->sequence_type != NULL && type->sequence_type->elem_type != NULL) {
        return write_type(import, type->sequence_type->elem_type, true, text) && wrap(import, "seq", text);
    }
    if (type->optional_type != NULL && type->optional_type->elem_type != NULL) {
        return write_type(import, type->optional_type->elem_type, true, text) && wrap(import, "optional", text);
    }
    return type->map_type == NULL || write_map(import, type->map_type, text);
}

bool mdf_onnx_type_text(struct onnx_import *import, const Mdf__TypeProto *type, const char **text)
{
    *text = NULL;
    return type == NULL || write_type(import, type, false, text);
}

const Mdf__TensorShapeProto *mdf_onnx_type_shape(const Mdf__TypeProto *type)
{
    if (type != NULL && type->tensor_type != NULL) {
        return type->tensor_type->shape;
    }
    return type != NULL && type->sparse_tensor_type != NULL ? type->sparse_tensor_type->shape : NULL;
}
