/* onnx_tensor.c - TensorProto as an array: its elements where they lie in the mapped file or the message, if they lie there as in
 * memory; else copied or unpacked, once.
 *
 * raw_data: little-endian, row-major; 4- and 2-bit types packed, the first element in the low bits. Typed fields: float_data,
 * double_data (complex as pairs), int64_data, uint64_data (uint32 too), string_data, and int32_data for all others: 16-bit floats
 * as their bits, 4- and 2-bit types packed into bytes. Source: onnx.proto, TensorProto. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

enum { LOCATION_EXTERNAL = 1 };

bool mdf_onnx_tensor_head(struct onnx_import *import, const int64_t *dims, size_t n_dims, int64_t data_type,
                          struct onnx_array *array, size_t *n_elements)
{
    size_t n_bytes;

    array->dtype = mdf_dtype_from_onnx(data_type);
    array->rank = n_dims;
    array->shape = dims;
    array->store = NULL;
    if (array->dtype == MDF_DTYPE_NONE) {
        return mdf_onnx_fail(import, MDF_UNSUPPORTED, "the element type number %lld is not known", (long long)data_type);
    }
    if (!mdf_shape_n_elements(n_dims, dims, n_elements) ||
        !mdf_size_multiply(*n_elements, mdf_dtype_size(array->dtype), &n_bytes)) {
        return mdf_onnx_fail(import, MDF_SHAPE, "a tensor has a negative size, or more elements than memory could hold");
    }
    return true;
}

/* ------------------------------------------------------------------ elements as nodes */

/* The one element of packed numbers; of a whole number past int64 with its digits. */
static bool scalar_of(struct onnx_import *import, const struct mdf_node *numbers, struct mdf_node *scalar)
{
    char text[MDF_NUMBER_TEXT_SIZE];
    size_t length;

    mdf_node_item(numbers, 0, scalar);
    if (numbers->packed_dtype == MDF_DTYPE_UINT64 && scalar->kind == MDF_NODE_REAL) {
        length = mdf_format_element(MDF_DTYPE_UINT64, numbers->as.numbers.elements, text);
        scalar->digits = mdf_arena_text(&import->document->arena, text, length);
        return scalar->digits != NULL || mdf_onnx_out_of_memory(import);
    }
    return true;
}

bool mdf_onnx_array_of(struct onnx_import *import, struct onnx_array *array, size_t n_elements, void *elements)
{
    bool is_complex = mdf_dtype_kind(array->dtype) == 'c', is_flat = array->rank > ONNX_MAX_NESTED_RANK;
    struct mdf_node numbers = {.kind = MDF_NODE_NUMBERS};
    size_t rank = is_flat ? 1 : array->rank;
    int64_t *shape = mdf_arena_array(&import->document->arena, rank + 1, sizeof *shape);

    elements = elements != NULL ? elements : mdf_arena_allocate(&import->document->arena, 1); /* an empty array */
    if (shape == NULL || elements == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    if (is_flat) {
        shape[0] = (int64_t)n_elements;
    } else if (rank > 0) {
        memcpy(shape, array->shape, rank * sizeof *shape);
    }
    shape[rank] = is_complex ? 2 : 1; /* of complex numbers the two parts; of a scalar an axis that is taken away again */
    numbers.packed_dtype = (uint8_t)(array->dtype == MDF_DTYPE_COMPLEX64    ? MDF_DTYPE_FLOAT32
                                     : array->dtype == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_FLOAT64
                                                                            : array->dtype);
    numbers.as.numbers.rank = is_complex || rank == 0 ? rank + 1 : rank;
    numbers.as.numbers.shape = shape;
    numbers.as.numbers.elements = elements;
    numbers.as.numbers.store = array->store;
    array->data = numbers;
    return rank > 0 || is_complex || scalar_of(import, &numbers, &array->data);
}

/* Strings from `*strings` on, in nested lists. Recursion is bounded by ONNX_MAX_NESTED_RANK. */
static bool nest_strings(struct onnx_import *import, size_t rank, const int64_t *shape, const ProtobufCBinaryData **strings,
                         struct mdf_node *node)
{
    *node = (struct mdf_node){.kind = MDF_NODE_STRING};
    if (rank == 0) {
        const char *bytes = (const char *)(*strings)->data;
        size_t length = (*strings)->len;

        (*strings)++;
        if (mdf_utf8_valid_length(length > 0 ? bytes : "", length) != length) {
            return mdf_onnx_fail(import, MDF_VALUE, "a string is not valid UTF-8");
        }
        node->as.string.length = length;
        node->as.string.bytes = mdf_arena_text(&import->document->arena, length > 0 ? bytes : "", length);
        return node->as.string.bytes != NULL || mdf_onnx_out_of_memory(import);
    }
    node->kind = MDF_NODE_LIST;
    node->as.list.n = (size_t)shape[0];
    node->as.list.items = mdf_arena_array(&import->document->arena, node->as.list.n, sizeof *node->as.list.items);
    if (node->as.list.items == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    for (size_t i = 0; i < node->as.list.n; i++) {
        if (!nest_strings(import, rank - 1, shape + 1, strings, &node->as.list.items[i])) {
            return false;
        }
    }
    return true;
}

static bool strings_of(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array, size_t n_elements)
{
    const ProtobufCBinaryData *strings = tensor->string_data;
    int64_t flat = (int64_t)n_elements;

    if (tensor->n_string_data != n_elements) {
        return mdf_onnx_fail(import, MDF_SHAPE, "a tensor of %zu strings has %zu of them", n_elements, tensor->n_string_data);
    }
    if (array->rank > ONNX_MAX_NESTED_RANK || n_elements == 0) {
        return nest_strings(import, 1, &flat, &strings, &array->data);
    }
    return nest_strings(import, array->rank, array->shape, &strings, &array->data);
}

/* ------------------------------------------------------------------ raw bytes */

/* Elements of 4 or 2 bits, each to a byte of its own; signed ones keep their sign. */
static void unpack_bits(mdf_dtype dtype, size_t n_bits, const uint8_t *packed, size_t n_elements, uint8_t *elements)
{
    unsigned mask = (1U << n_bits) - 1, sign = 1U << (n_bits - 1);
    size_t each = 8 / n_bits;

    for (size_t i = 0; i < n_elements; i++) {
        unsigned bits = (unsigned)packed[i / each] >> (i % each * n_bits) & mask;

        elements[i] = (uint8_t)(mdf_dtype_kind(dtype) == 'i' ? (bits ^ sign) - sign : bits);
    }
}

/* Brings elements of at least 8 bits, copied from a file, into the form that memory has: booleans 0 or 1, the machine's byte
 * order. */
static void normalise(mdf_dtype dtype, size_t n_elements, uint8_t *bytes)
{
    for (size_t i = 0; dtype == MDF_DTYPE_BOOL && i < n_elements; i++) {
        bytes[i] = bytes[i] != 0;
    }
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    size_t n_parts = mdf_dtype_kind(dtype) == 'c' ? 2 : 1, size = mdf_dtype_size(dtype) / n_parts;

    for (size_t i = 0; i < n_elements * n_parts; i++) {
        size_t low = i * size, high = low + size - 1;

        for (; low < high; low++, high--) {
            uint8_t byte = bytes[low];

            bytes[low] = bytes[high];
            bytes[high] = byte;
        }
    }
#endif
}

/* Whether elements can stay in the mapped file that they lie in. */
static bool can_stay(const struct onnx_raw_bytes *raw, mdf_dtype dtype)
{
    size_t alignment = mdf_dtype_kind(dtype) == 'c' ? mdf_dtype_size(dtype) / 2 : mdf_dtype_size(dtype);

    bool is_turned = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && mdf_dtype_size(dtype) > 1;

    return !is_turned && raw->store != NULL && dtype != MDF_DTYPE_BOOL && mdf_dtype_bits(dtype) >= 8 && (uintptr_t)raw->bytes % alignment == 0;
}

/* From the first elements that stay there on, the document holds the mapped file. */
static bool keep_mapping(struct onnx_import *import, struct mdf_store *store)
{
    if (store != import->tree->mapping || import->keeps_mapping) {
        return true;
    }
    import->keeps_mapping = mdf_document_keep(import->document, mdf_store_share(store));
    return import->keeps_mapping || mdf_onnx_out_of_memory(import);
}

/* Copies bytes of a file piece by piece, so that little of it is in memory beside the copy. */
static void copy_out(const struct onnx_raw_bytes *raw, uint8_t *elements)
{
    enum { PIECE_BYTES = 1 << 22 };

    for (size_t first = 0; first < raw->size; first += PIECE_BYTES) {
        size_t n = raw->size - first < PIECE_BYTES ? raw->size - first : PIECE_BYTES;

        memcpy(elements + first, raw->bytes + first, n);
        if (raw->store != NULL) {
            mdf_store_forget(raw->store, raw->bytes + first, n);
        }
    }
}

/* Bytes as in a file to elements as in memory; the same bytes where there is no difference. NULL: out of memory. */
static void *elements_of_bytes(struct onnx_import *import, struct onnx_array *array, size_t n_elements,
                               const struct onnx_raw_bytes *raw)
{
    size_t n_bits = mdf_dtype_bits(array->dtype);
    uint8_t *elements = raw->bytes;

    if (can_stay(raw, array->dtype)) {
        array->store = raw->store;
        return keep_mapping(import, raw->store) ? elements : NULL;
    }
    if (n_bits < 8 || n_elements == 0 || !raw->is_own) {
        elements = mdf_document_elements(import->document, &array->store, n_elements, mdf_dtype_size(array->dtype));
    }
    if (elements == NULL) {
        return NULL;
    }
    if (n_bits < 8) {
        unpack_bits(array->dtype, n_bits, raw->bytes, n_elements, elements);
    } else {
        if (elements != raw->bytes) {
            copy_out(raw, elements);
        }
        normalise(array->dtype, n_elements, elements);
    }
    if (raw->store != NULL) {
        mdf_store_forget(raw->store, raw->bytes, raw->size);
    }
    return elements;
}

/* Number of bytes that elements take in a file. */
static size_t file_bytes(mdf_dtype dtype, size_t n_elements)
{
    size_t n_bits = mdf_dtype_bits(dtype);

    return n_bits >= 8 ? n_elements * (n_bits / 8) : n_elements / (8 / n_bits) + (n_elements % (8 / n_bits) != 0);
}

static bool raw_of(struct onnx_import *import, const Mdf__TensorProto *tensor, bool is_external, struct onnx_array *array,
                   size_t n_elements)
{
    size_t n_bytes = file_bytes(array->dtype, n_elements);
    struct onnx_raw_bytes raw = {.bytes = tensor->raw_data.data, .size = tensor->raw_data.len, .is_own = true};
    void *elements;

    if (is_external) {
        if (!mdf_onnx_external_data(import, tensor, n_bytes, &raw)) {
            return false;
        }
    } else if (tensor->has_place_size) {
        raw.bytes = (uint8_t *)(uintptr_t)import->bytes + tensor->place_offset;
        raw.size = (size_t)tensor->place_size;
        raw.store = import->tree->mapping;
        raw.is_own = false;
    }
    if (raw.size != n_bytes) {
        return mdf_onnx_fail(import, MDF_SHAPE, "a tensor of %zu elements of type %s has %zu bytes of data, where %zu are needed",
                             n_elements, mdf_dtype_name(array->dtype), raw.size, n_bytes);
    }
    elements = elements_of_bytes(import, array, n_elements, &raw);
    return elements != NULL ? mdf_onnx_array_of(import, array, n_elements, elements) : mdf_onnx_out_of_memory(import);
}

/* ------------------------------------------------------------------ typed fields */

static bool has_count(struct onnx_import *import, const struct onnx_array *array, size_t n_elements, size_t wanted, size_t given)
{
    return wanted == given ||
           mdf_onnx_fail(import, MDF_SHAPE, "a tensor of %zu elements of type %s has %zu numbers, where %zu are needed",
                         n_elements, mdf_dtype_name(array->dtype), given, wanted);
}

/* int32_data of 4- and 2-bit types: each number is a byte with several elements. */
static bool packed_of(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array, size_t n_elements)
{
    size_t n_bytes = file_bytes(array->dtype, n_elements), i;
    uint8_t *elements, *packed;

    if (!has_count(import, array, n_elements, n_bytes, tensor->n_int32_data)) {
        return false;
    }
    elements = mdf_document_elements(import->document, &array->store, n_elements, 1);
    packed = mdf_arena_array(&import->scratch, n_bytes, 1);
    if (elements == NULL || packed == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    for (i = 0; i < n_bytes; i++) {
        packed[i] = (uint8_t)tensor->int32_data[i];
    }
    unpack_bits(array->dtype, mdf_dtype_bits(array->dtype), packed, n_elements, elements);
    return mdf_onnx_array_of(import, array, n_elements, elements);
}

/* int32_data of types of 32, 16 or 8 bits: each number is an element, or its bits. */
static bool narrow_of(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array, size_t n_elements)
{
    size_t size = mdf_dtype_size(array->dtype), i;
    uint8_t *elements;

    if (!has_count(import, array, n_elements, n_elements, tensor->n_int32_data)) {
        return false;
    }
    if (array->dtype == MDF_DTYPE_INT32) {
        return mdf_onnx_array_of(import, array, n_elements, tensor->int32_data);
    }
    elements = mdf_document_elements(import->document, &array->store, n_elements, size);
    if (elements == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    for (i = 0; i < n_elements; i++) {
        uint16_t bits = (uint16_t)tensor->int32_data[i];

        if (size == sizeof bits) {
            memcpy(elements + i * size, &bits, size);
        } else {
            elements[i] = array->dtype == MDF_DTYPE_BOOL ? tensor->int32_data[i] != 0 : (uint8_t)bits;
        }
    }
    return mdf_onnx_array_of(import, array, n_elements, elements);
}

/* uint32 in uint64_data. */
static bool uint32_of(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array, size_t n_elements)
{
    uint32_t *elements;

    if (!has_count(import, array, n_elements, n_elements, tensor->n_uint64_data)) {
        return false;
    }
    elements = mdf_document_elements(import->document, &array->store, n_elements, sizeof *elements);
    if (elements == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    for (size_t i = 0; i < n_elements; i++) {
        elements[i] = (uint32_t)tensor->uint64_data[i];
    }
    return mdf_onnx_array_of(import, array, n_elements, elements);
}

static bool typed_of(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array, size_t n_elements)
{
    size_t wanted = mdf_dtype_kind(array->dtype) == 'c' ? n_elements * 2 : n_elements, given;
    void *elements;

    switch (array->dtype) {
    case MDF_DTYPE_FLOAT32:
    case MDF_DTYPE_COMPLEX64:
        elements = tensor->float_data;
        given = tensor->n_float_data;
        break;
    case MDF_DTYPE_FLOAT64:
    case MDF_DTYPE_COMPLEX128:
        elements = tensor->double_data;
        given = tensor->n_double_data;
        break;
    case MDF_DTYPE_INT64:
        elements = tensor->int64_data;
        given = tensor->n_int64_data;
        break;
    case MDF_DTYPE_UINT64:
        elements = tensor->uint64_data;
        given = tensor->n_uint64_data;
        break;
    case MDF_DTYPE_UINT32:
        return uint32_of(import, tensor, array, n_elements);
    default:
        return mdf_dtype_bits(array->dtype) < 8 ? packed_of(import, tensor, array, n_elements)
                                                : narrow_of(import, tensor, array, n_elements);
    }
    return has_count(import, array, n_elements, wanted, given) && mdf_onnx_array_of(import, array, n_elements, elements);
}

/* ------------------------------------------------------------------ the tensor */

/* Whether the elements are bytes: raw_data, or a typed field of the right type that was left out of the outline. */
static bool has_raw_data(const Mdf__TensorProto *tensor, mdf_dtype dtype, size_t n_elements)
{
    if (tensor->has_place_size && tensor->place_field != ONNX_FIELD_RAW_DATA) {
        bool is_single = dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_COMPLEX64,
             is_double = dtype == MDF_DTYPE_FLOAT64 || dtype == MDF_DTYPE_COMPLEX128;

        return tensor->place_field == ONNX_FIELD_FLOAT_DATA ? is_single : is_double;
    }
    return tensor->has_place_size || (tensor->has_raw_data && (tensor->raw_data.len > 0 || n_elements == 0));
}

bool mdf_onnx_tensor(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array)
{
    bool is_external = tensor->data_location == LOCATION_EXTERNAL;
    const struct onnx_array *known;
    struct onnx_array *kept;
    size_t n_elements;
    char *key = mdf_arena_printf(&import->scratch, "%p", (const void *)tensor);

    if (key == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    known = mdf_onnx_map_get(&import->tensors, key, NULL);
    if (known != NULL) { /* a constant of a function that is expanded again */
        *array = *known;
        return true;
    }
    if (tensor->segment != NULL) {
        return mdf_onnx_fail(import, MDF_UNSUPPORTED, "a tensor that is stored in segments can not be read");
    }
    if (!mdf_onnx_tensor_head(import, tensor->dims, tensor->n_dims, tensor->data_type, array, &n_elements)) {
        return false;
    }
    if (array->dtype == MDF_DTYPE_STRING) {
        if (is_external || tensor->raw_data.len > 0 || tensor->has_place_size) {
            return mdf_onnx_fail(import, MDF_MODEL, "strings of a tensor must lie in string_data");
        }
        if (!strings_of(import, tensor, array, n_elements)) {
            return false;
        }
    } else if (is_external || has_raw_data(tensor, array->dtype, n_elements)) {
        if (!raw_of(import, tensor, is_external, array, n_elements)) {
            return false;
        }
    } else if (!typed_of(import, tensor, array, n_elements)) {
        return false;
    }
    kept = mdf_arena_allocate(&import->scratch, sizeof *kept);
    if (kept == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    *kept = *array;
    return mdf_onnx_map_put(import, &import->tensors, key, kept);
}
