/* onnx_messages.c - the bytes of an ONNX file as messages, through protobuf-c.
 *
 * protobuf-c calls itself for messages within messages, merges those that should stand once, and takes memory for each: before it
 * may, a walk over the bytes finds out how deep and how many they are. It then reads an outline, without the big arrays. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

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

/* Checks one message and those inside it. Recursion is bounded by ONNX_MAX_MESSAGE_DEPTH. */
static bool check_message(struct walk *walk, const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t size,
                          size_t depth)
{
    const uint8_t *end = bytes + size;
    struct onnx_field field;
    uint64_t seen = 0, bit;

    if (depth > ONNX_MAX_MESSAGE_DEPTH || ++walk->n_messages > ONNX_MAX_MESSAGES) {
        return mdf_tree_fail(walk->tree, MDF_LIMIT, 0, 0, "the model has messages more than %d deep, or more than %d of them",
                             ONNX_MAX_MESSAGE_DEPTH, ONNX_MAX_MESSAGES);
    }
    while (bytes < end) {
        const ProtobufCFieldDescriptor *known;

        if (!mdf_onnx_take_field(&bytes, end, &field) || mdf_onnx_is_place(field.number)) {
            return malformed(walk);
        }
        known = protobuf_c_message_descriptor_get_field(type, field.number);
        if (known != NULL && known->type == PROTOBUF_C_TYPE_STRING && field.wire_type == ONNX_WIRE_LENGTH &&
            memchr(field.body, '\0', field.body_size) != NULL) {
            return mdf_tree_fail(walk->tree, MDF_SYNTAX, 0, 0,
                                 "the %s of a %s has a NUL byte in it, where a reader in C would cut it off", known->name,
                                 type->short_name);
        }
        if (known == NULL || known->type != PROTOBUF_C_TYPE_MESSAGE) {
            continue;
        }
        bit = (uint64_t)1 << (size_t)(known - type->fields);
        if (field.wire_type != ONNX_WIRE_LENGTH || (known->label != PROTOBUF_C_LABEL_REPEATED && (seen & bit) != 0)) {
            return malformed(walk);
        }
        seen |= bit;
        if (!check_message(walk, known->descriptor, field.body, field.body_size, depth + 1)) {
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
    Mdf__ModelProto *model = NULL;
    struct mdf_text outline;

    if (size_bytes == 0) {
        mdf_tree_fail(tree, MDF_SYNTAX, 0, 0, "this is not an ONNX model: the file is empty");
        return NULL;
    }
    if (!check_message(&walk, &mdf__model_proto__descriptor, bytes, size_bytes, 1)) {
        return NULL;
    }
    mdf_text_init(&outline, tree->document->memory);
    if (mdf_onnx_outline(bytes, size_bytes, &outline)) {
        model = mdf__model_proto__unpack(&allocator, outline.length, (const uint8_t *)outline.bytes);
    } else {
        source.refused = true;
    }
    mdf_text_release(&outline);
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
