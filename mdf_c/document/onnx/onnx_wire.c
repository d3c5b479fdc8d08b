/* onnx_wire.c - fields of protobuf messages, as they follow each other in a file.
 *
 * A field is a key (its number and how it is stored) and its value. Source: https://protobuf.dev/programming-guides/encoding. */
#include "mdf_c/document/onnx/onnx_import.h"

enum { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_32_BITS = 5, MAX_VARINT_BYTES = 10 };

/* Takes a variable-length number off the front. */
static bool take_varint(const uint8_t **bytes, const uint8_t *end, uint64_t *number)
{
    unsigned shift = 0;

    *number = 0;
    for (size_t i = 0; i < MAX_VARINT_BYTES && *bytes < end; i++, shift += 7) {
        uint8_t byte = *(*bytes)++;

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes what follows a field's key. */
static bool take_value(const uint8_t **bytes, const uint8_t *end, struct onnx_field *field)
{
    uint64_t length = 0;

    switch (field->wire_type) {
    case WIRE_VARINT:
        return take_varint(bytes, end, &length);
    case WIRE_64_BITS:
        length = 8;
        break;
    case WIRE_32_BITS:
        length = 4;
        break;
    case ONNX_WIRE_LENGTH:
        if (!take_varint(bytes, end, &length)) {
            return false;
        }
        break;
    default:
        return false;
    }
    if (length > (uint64_t)(end - *bytes)) {
        return false;
    }
    field->body = *bytes;
    field->body_size = (size_t)length;
    *bytes += length;
    return true;
}

bool mdf_onnx_take_field(const uint8_t **bytes, const uint8_t *end, struct onnx_field *field)
{
    uint64_t key;

    *field = (struct onnx_field){.start = *bytes};
    if (!take_varint(bytes, end, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX / 8) {
        return false;
    }
    field->number = (uint32_t)(key >> 3);
    field->wire_type = (unsigned)(key & 7);
    field->value = *bytes;
    return take_value(bytes, end, field);
}
