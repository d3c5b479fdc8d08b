/* onnx_messages.c - the bytes of an ONNX file as messages, through protobuf-c.
 *
 * protobuf-c calls itself for messages within messages, merges those that should stand once, and takes memory for each: before it
 * may, a walk over the bytes finds out how deep and how many they are. */
#include "mdf_c/document/onnx_import.h"

enum { WIRE_VARINT = 0, WIRE_64_BITS = 1, WIRE_LENGTH = 2, WIRE_32_BITS = 5, MAX_VARINT_BYTES = 10 };

/* ------------------------------------------------------------------ the walk */

struct walk {
    struct mdf_tree *tree;
    size_t n_messages;
};

static bool malformed(struct walk *walk)
{
    return mdf_tree_fail(walk->tree, MDF_SYNTAX, 0, 0,
                         "this is not an ONNX model: its bytes are not messages of protobuf, or some are missing");
}

/* Takes a variable-length number off the front. */
static bool take_varint(const uint8_t **bytes, const uint8_t *end, uint64_t *number)
{
    unsigned shift = 0;
    size_t i;

    *number = 0;
    for (i = 0; i < MAX_VARINT_BYTES && *bytes < end; i++, shift += 7) {
        uint8_t byte = *(*bytes)++;

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes what follows a field's key; *body and *size are its bytes where it has a length. */
static bool take_field(const uint8_t **bytes, const uint8_t *end, unsigned wire_type, const uint8_t **body, size_t *size)
{
    uint64_t length = 0;

    *body = *bytes;
    *size = 0;
    switch (wire_type) {
    case WIRE_VARINT:
        return take_varint(bytes, end, &length);
    case WIRE_64_BITS:
        length = 8;
        break;
    case WIRE_32_BITS:
        length = 4;
        break;
    case WIRE_LENGTH:
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
    *body = *bytes;
    *size = (size_t)length;
    *bytes += length;
    return true;
}

/* Checks one message and those inside it. Recursion is bounded by ONNX_MAX_MESSAGE_DEPTH. */
static bool check_message(struct walk *walk, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size,
                          size_t depth)
{
    const uint8_t *end = bytes + size, *body;
    uint64_t key, seen = 0, bit;
    size_t body_size;

    if (depth > ONNX_MAX_MESSAGE_DEPTH || ++walk->n_messages > ONNX_MAX_MESSAGES) {
        return mdf_tree_fail(walk->tree, MDF_LIMIT, 0, 0, "the model has messages more than %d deep, or more than %d of them",
                             ONNX_MAX_MESSAGE_DEPTH, ONNX_MAX_MESSAGES);
    }
    while (bytes < end) {
        const ProtobufCFieldDescriptor *field;

        if (!take_varint(&bytes, end, &key) || key >> 3 == 0 || key >> 3 > UINT32_MAX / 8 ||
            !take_field(&bytes, end, (unsigned)(key & 7), &body, &body_size)) {
            return malformed(walk);
        }
        field = protobuf_c_message_descriptor_get_field(type, (unsigned)(key >> 3));
        if (field == NULL || field->type != PROTOBUF_C_TYPE_MESSAGE) {
            continue;
        }
        bit = (uint64_t)1 << (size_t)(field - type->fields);
        if ((key & 7) != WIRE_LENGTH || (field->label != PROTOBUF_C_LABEL_REPEATED && (seen & bit) != 0)) {
            return malformed(walk);
        }
        seen |= bit;
        if (!check_message(walk, field->descriptor, body, body_size, depth + 1)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ unpacking */

/* What protobuf-c takes memory from. */
struct source {
    struct mdf_memory *memory;
    bool refused;
};

static void *allocate(void *context, size_t size)
{
    struct source *source = context;
    void *block = mdf_memory_allocate(source->memory, size);

    source->refused |= block == NULL;
    return block;
}

static void release(void *context, void *block)
{
    mdf_memory_release(((struct source *)context)->memory, block);
}

const Mdf__ModelProto *mdf_onnx_unpack(struct mdf_tree *tree, const void *bytes, size_t size_bytes)
{
    struct source source = {tree->document->memory, false};
    ProtobufCAllocator allocator = {allocate, release, &source};
    struct walk walk = {.tree = tree};
    Mdf__ModelProto *model;

    if (size_bytes == 0) {
        mdf_tree_fail(tree, MDF_SYNTAX, 0, 0, "this is not an ONNX model: the file is empty");
        return NULL;
    }
    if (!check_message(&walk, &mdf__model_proto__descriptor, bytes, size_bytes, 1)) {
        return NULL;
    }
    model = mdf__model_proto__unpack(&allocator, size_bytes, bytes);
    if (model == NULL) {
        if (source.refused) {
            mdf_tree_out_of_memory(tree);
        } else {
            malformed(&walk);
        }
        return NULL;
    }
    tree->document->messages = model;
    return model;
}

void mdf_onnx_release(struct mdf_document *document)
{
    struct source source = {document->memory, false};
    ProtobufCAllocator allocator = {allocate, release, &source};

    mdf__model_proto__free_unpacked(document->messages, &allocator);
    document->messages = NULL;
}
