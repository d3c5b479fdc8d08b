/* onnx_bytes.c - see onnx_bytes.h. Source: https://protobuf.dev/programming-guides/encoding. */
#include "mdf_c/export/onnx_bytes.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_LENGTH = 2, WIRE_32_BITS = 5 };
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_STRINGS = 6, TENSOR_NAME = 8, TENSOR_BYTES = 9 };

static void put_varint(struct mdf_text *message, uint64_t number)
{
    char byte;

    do {
        byte = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
        mdf_text_append(message, &byte, 1);
        number >>= 7;
    } while (number > 0);
}

static void put_key(struct mdf_text *message, unsigned field, unsigned wire_type)
{
    put_varint(message, field << 3 | wire_type);
}

void onnx_put_integer(struct mdf_text *message, unsigned field, int64_t integer)
{
    put_key(message, field, WIRE_VARINT);
    put_varint(message, (uint64_t)integer);
}

void onnx_put_float(struct mdf_text *message, unsigned field, float real)
{
    uint32_t bits;
    char bytes[4];

    memcpy(&bits, &real, sizeof bits);
    for (int i = 0; i < 4; i++) {
        bytes[i] = (char)(bits >> (8 * i) & 0xff);
    }
    put_key(message, field, WIRE_32_BITS);
    mdf_text_append(message, bytes, sizeof bytes);
}

static void put_bytes(struct mdf_text *message, unsigned field, const void *bytes, size_t size_bytes)
{
    put_key(message, field, WIRE_LENGTH);
    put_varint(message, size_bytes);
    if (size_bytes > 0) {
        mdf_text_append(message, bytes, size_bytes);
    }
}

void onnx_put_string(struct mdf_text *message, unsigned field, const char *string)
{
    put_bytes(message, field, string, strlen(string));
}

void onnx_put_message(struct mdf_text *message, unsigned field, struct mdf_text *inner)
{
    put_bytes(message, field, inner->bytes, inner->length);
    message->failed |= inner->failed;
    inner->length = 0;
}

/* Elements of 4 and 2 bits lie several in a byte, the first in the lowest bits. */
static void put_packed(struct mdf_text *message, const struct mdf_value *array, unsigned bits)
{
    size_t per_byte = 8 / bits, n = (array->length + per_byte - 1) / per_byte, i, j;
    const uint8_t *elements = array->data;

    put_key(message, TENSOR_BYTES, WIRE_LENGTH);
    put_varint(message, n);
    for (i = 0; i < n; i++) {
        uint8_t byte = 0;

        for (j = 0; j < per_byte && i * per_byte + j < array->length; j++) {
            byte |= (uint8_t)((elements[i * per_byte + j] & ((1u << bits) - 1)) << (j * bits));
        }
        mdf_text_append(message, (const char *)&byte, 1);
    }
}

/* Elements of at least 8 bits, the lowest byte first, as ONNX has them on any machine. */
static void put_elements(struct mdf_text *message, const struct mdf_value *array)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    size_t size_bytes = array->length * mdf_dtype_size(dtype), size = mdf_dtype_size(dtype) / (mdf_dtype_kind(dtype) == 'c' ? 2 : 1), i;
    const char *bytes = array->data;

    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || size == 1) {
        put_bytes(message, TENSOR_BYTES, bytes, size_bytes);
        return;
    }
    put_key(message, TENSOR_BYTES, WIRE_LENGTH);
    put_varint(message, size_bytes);
    for (i = 0; i < size_bytes; i++) {
        mdf_text_append(message, bytes + i / size * size + (size - 1 - i % size), 1);
    }
}

void onnx_put_tensor(struct mdf_text *message, const char *name, const struct mdf_value *array)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;

    for (size_t i = 0; i < array->rank; i++) {
        onnx_put_integer(message, TENSOR_DIMS, mdf_value_shape(array)[i]);
    }
    onnx_put_integer(message, TENSOR_TYPE, mdf_dtype_to_onnx(dtype));
    if (name != NULL) {
        onnx_put_string(message, TENSOR_NAME, name);
    }
    if (dtype == MDF_DTYPE_STRING) {
        for (size_t i = 0; i < array->length; i++) {
            const char *string = ((const char *const *)array->data)[i];

            put_bytes(message, TENSOR_STRINGS, string != NULL ? string : "", mdf_string_length(string));
        }
    } else if (mdf_dtype_bits(dtype) == 4 || mdf_dtype_bits(dtype) == 2) {
        put_packed(message, array, mdf_dtype_bits(dtype));
    } else {
        put_elements(message, array);
    }
}
