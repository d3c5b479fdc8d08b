/* onnx_outline.c - the bytes of an ONNX file without its big arrays.
 *
 * protobuf-c copies all that it reads. So that weights are not, messages are read from an outline of the file: the same fields,
 * but where a tensor has one big raw_data (or float_data, double_data, whose bytes are the same), its place in the file. Lengths
 * of the messages around shrink; they keep their number of bytes, with leading zeros. Fields that are not known here are left
 * out. */
#include "mdf_c/document/onnx/onnx_import.h"

struct outline {
    const uint8_t *file;
    struct mdf_text *text;
};

enum { PLACE_OFFSET = 536870909, PLACE_SIZE = 536870910, PLACE_FIELD = 536870911 };

static void put(struct outline *outline, const uint8_t *bytes, size_t size)
{
    mdf_text_append(outline->text, (const char *)bytes, size);
}

/* A field of 8 or 4 bytes. */
static void put_fixed(struct outline *outline, uint32_t number, uint64_t value, size_t size)
{
    uint64_t key = (uint64_t)number << 3 | (size == 8 ? 1 : 5);
    uint8_t bytes[5 + 8];
    size_t n = 0;

    for (; key > 0x7f; key >>= 7) {
        bytes[n++] = (uint8_t)(key & 0x7f) | 0x80;
    }
    bytes[n++] = (uint8_t)key;
    for (size_t i = 0; i < size; i++) {
        bytes[n++] = (uint8_t)(value >> (8 * i));
    }
    put(outline, bytes, n);
}

bool mdf_onnx_is_place(uint32_t field_number)
{
    return field_number >= PLACE_OFFSET;
}

/* Whether a field of a tensor holds elements as they lie in memory, or may do so. */
static bool holds_elements(const struct onnx_field *field)
{
    return field->number == ONNX_FIELD_RAW_DATA || field->number == ONNX_FIELD_FLOAT_DATA ||
           field->number == ONNX_FIELD_DOUBLE_DATA;
}

/* Whether a tensor has all its elements in one field. */
static bool has_one_field(const uint8_t *bytes, const uint8_t *end)
{
    struct onnx_field field;
    size_t n = 0;

    while (bytes < end && mdf_onnx_take_field(&bytes, end, &field)) {
        n += holds_elements(&field);
    }
    return n == 1;
}

static void outline_message(struct outline *outline, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size);

/* A message inside another: its length is known when it is written. */
static void outline_inner(struct outline *outline, const ProtobufCMessageDescriptor *type, const struct onnx_field *field)
{
    size_t length_at = outline->text->length + (size_t)(field->value - field->start), begin, length;

    put(outline, field->start, (size_t)(field->body - field->start));
    begin = outline->text->length;
    outline_message(outline, type, field->body, field->body_size);
    length = outline->text->length - begin;
    for (; length_at < begin && !outline->text->failed; length_at++, length >>= 7) {
        outline->text->bytes[length_at] = (char)((length & 0x7f) | (length_at + 1 < begin ? 0x80 : 0));
    }
}

/* Recursion is bounded by ONNX_MAX_MESSAGE_DEPTH. */
static void outline_message(struct outline *outline, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size)
{
    const uint8_t *from = bytes, *end = bytes + size;
    struct onnx_field field;

    while (bytes < end && mdf_onnx_take_field(&bytes, end, &field)) {
        const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(type, field.number);

        if (known == NULL) {
            continue;
        }
        if (known->type == PROTOBUF_C_TYPE_MESSAGE) {
            outline_inner(outline, known->descriptor, &field);
        } else if (type == &mdf__tensor_proto__descriptor && field.wire_type == ONNX_WIRE_LENGTH &&
                   field.body_size >= MDF_STORE_LEAST_BYTES && holds_elements(&field) && has_one_field(from, end)) {
            put_fixed(outline, PLACE_OFFSET, (uint64_t)(field.body - outline->file), 8);
            put_fixed(outline, PLACE_SIZE, field.body_size, 8);
            put_fixed(outline, PLACE_FIELD, field.number, 4);
        } else {
            put(outline, field.start, (size_t)(bytes - field.start));
        }
    }
}

bool mdf_onnx_outline(const void *bytes, size_t size_bytes, struct mdf_text *text)
{
    struct outline outline = {bytes, text};

    outline_message(&outline, &mdf__model_proto__descriptor, bytes, size_bytes);
    return !text->failed;
}
