/* mutate_message.c - see mutate_message.h. */
#include "fuzz/mutate_message.h"

#include "fuzz/words.h"

#include "build/generated/onnx.pb-c.h"
#include <string.h>

enum { DEEPEST_MESSAGE = 40, MOST_VARINT_BYTES = 10, N_TRIALS = 20 };

/* ------------------------------------------------------------------ the bytes of messages */

struct field {
    size_t start, value, body, end; /* places of the key, of what follows it, of the bytes behind a length, of the end */
    unsigned wire_type;
    uint64_t number;
};

/* A field, and the messages that it lies in. */
struct place {
    struct field field;
    const ProtobufCMessageDescriptor *message; /* NULL: not known */
    const ProtobufCFieldDescriptor *kind;      /* NULL: not known */
    size_t from, end;                          /* of the fields of that message */
    size_t depth;
    struct {
        size_t value, body; /* of the length and of the fields of a message around it */
    } around[DEEPEST_MESSAGE];
};

static bool take_varint(const struct mdf_text *bytes, size_t *at, size_t end, uint64_t *number)
{
    unsigned shift = 0;

    *number = 0;
    while (*at < end && shift < 64) {
        unsigned char byte = (unsigned char)bytes->bytes[(*at)++];

        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
        shift += 7;
    }
    return false;
}

static bool take_field(const struct mdf_text *bytes, size_t at, size_t end, struct field *field)
{
    uint64_t key, length = 0;

    field->start = at;
    if (!take_varint(bytes, &at, end, &key) || key >> 3 == 0) {
        return false;
    }
    field->value = at;
    field->number = key >> 3;
    field->wire_type = (unsigned)(key & 7);
    if ((field->wire_type == 0 || field->wire_type == 2) && !take_varint(bytes, &at, end, &length)) {
        return false;
    }
    length = field->wire_type == 2 ? length : field->wire_type == 1 ? 8 : field->wire_type == 5 ? 4 : 0;
    field->body = at;
    field->end = at + (size_t)length;
    return length <= end - at && (field->wire_type < 3 || field->wire_type == 5);
}

/* Number of fields that fill [from, end); 0 where it is not that. */
static size_t n_fields(const struct mdf_text *bytes, size_t from, size_t end)
{
    struct field field;
    size_t n = 0;

    for (; from < end; from = field.end, n++) {
        if (!take_field(bytes, from, end, &field)) {
            return 0;
        }
    }
    return n;
}

static void find_field(const struct mdf_text *bytes, size_t from, size_t end, size_t index, struct field *field)
{
    size_t i;

    for (i = 0; i <= index; i++, from = field->end) {
        take_field(bytes, from, end, field);
    }
}

static size_t put_varint(unsigned char *target, uint64_t number)
{
    size_t n = 0;

    for (; number > 0x7f; number >>= 7) {
        target[n++] = (unsigned char)(number & 0x7f) | 0x80;
    }
    target[n++] = (unsigned char)number;
    return n;
}

/* ------------------------------------------------------------------ places */

static const ProtobufCMessageDescriptor *message_of(const struct place *place)
{
    return place->kind != NULL && place->kind->type == PROTOBUF_C_TYPE_MESSAGE ? place->kind->descriptor : NULL;
}

static bool is_message(const struct mdf_text *bytes, const struct place *place)
{
    return place->field.wire_type == 2 && place->depth + 1 < DEEPEST_MESSAGE &&
           (place->kind == NULL || place->kind->type == PROTOBUF_C_TYPE_MESSAGE) &&
           n_fields(bytes, place->field.body, place->field.end) > 0;
}

/* A field somewhere in the messages; false where there is none. */
static bool pick(struct random_source *random, const struct mdf_text *bytes, struct place *place)
{
    size_t n = n_fields(bytes, 0, bytes->length);

    memset(place, 0, sizeof *place);
    place->message = &mdf__model_proto__descriptor;
    place->end = bytes->length;
    while (n > 0) {
        find_field(bytes, place->from, place->end, random_below(random, n), &place->field);
        place->kind = place->message != NULL
                          ? protobuf_c_message_descriptor_get_field(place->message, (unsigned)place->field.number)
                          : NULL;
        if (!is_message(bytes, place) || random_below(random, 6) == 0) {
            return true;
        }
        place->around[place->depth].value = place->field.value;
        place->around[place->depth++].body = place->field.body;
        place->message = message_of(place);
        place->from = place->field.body;
        place->end = place->field.end;
        n = n_fields(bytes, place->from, place->end);
    }
    return false;
}

/* Puts other bytes in the place of [from, to) in the message of a place, and the lengths around it right. */
static void replace_in(struct mdf_text *bytes, const struct place *place, size_t from, size_t to, const void *with, size_t size)
{
    size_t before = bytes->length, i;

    replace_bytes(bytes, from, to, with, size);
    for (i = place->depth; i > 0 && bytes->length != before; i--) {
        size_t at = place->around[i - 1].value, grown = bytes->length - before; /* may wrap around, as it is added only */
        unsigned char number[MOST_VARINT_BYTES];
        uint64_t length;

        take_varint(bytes, &at, bytes->length, &length);
        replace_bytes(bytes, place->around[i - 1].value, place->around[i - 1].body, number, put_varint(number, length + grown));
    }
}

/* ------------------------------------------------------------------ values */

/* Another number, or another size of a text: small, large, negative. */
static uint64_t odd_number(struct random_source *random)
{
    static const uint64_t numbers[] = {0,           1,
                                       2,           3,
                                       5,           7,
                                       8,           16,
                                       127,         128,
                                       1000,        65536,
                                       0x7fffffffU, 0x80000000U,
                                       UINT32_MAX,  1ULL << 32,
                                       1ULL << 40,  1ULL << 62,
                                       1ULL << 63,  INT64_MAX,
                                       UINT64_MAX,  UINT64_MAX - 1};

    return random_below(random, 3) == 0 ? random_below(random, 30)
                                        : numbers[random_below(random, sizeof numbers / sizeof *numbers)];
}

/* A text of the file: names refer to each other. */
static bool pick_text(struct random_source *random, const struct mdf_text *bytes, struct place *place)
{
    size_t i;

    for (i = 0; i < N_TRIALS; i++) {
        if (pick(random, bytes, place) && place->kind != NULL && place->kind->type == PROTOBUF_C_TYPE_STRING &&
            place->field.wire_type == 2) {
            return true;
        }
    }
    return false;
}

/* An operator's name, another text of the file, or a word. */
static void append_text(struct random_source *random, const struct mdf_text *bytes, struct mdf_text *made)
{
    struct place other;
    char text[WORD_SIZE];
    const char *word, *colons;

    if (random_below(random, 3) != 0 && pick_text(random, bytes, &other)) {
        mdf_text_append(made, bytes->bytes + other.field.body, other.field.end - other.field.body);
        return;
    }
    word = random_below(random, 4) == 0 ? random_key(random) : random_word(random, text);
    colons = strstr(word, "::");
    mdf_text_append_string(made, colons != NULL ? colons + 2 : word);
}

static uint64_t number_for(struct random_source *random, const ProtobufCFieldDescriptor *kind)
{
    const ProtobufCEnumDescriptor *values = kind->type == PROTOBUF_C_TYPE_ENUM ? kind->descriptor : NULL;

    return values != NULL && random_below(random, 5) != 0
               ? (uint64_t)(int64_t)values->values[random_below(random, values->n_values)].value
               : odd_number(random);
}

/* A field of a kind with a value made up. */
static void append_field(struct random_source *random, const struct mdf_text *bytes, const ProtobufCFieldDescriptor *kind,
                         struct mdf_text *made)
{
    static const char noise[] = "\0\0\200?\0\0\0@\1\2\3\377\376\0\1\200";
    unsigned char head[2 * MOST_VARINT_BYTES], number[MOST_VARINT_BYTES];
    struct mdf_text body;
    size_t size;

    mdf_text_init(&body, made->memory);
    if (kind->type == PROTOBUF_C_TYPE_STRING) {
        append_text(random, bytes, &body);
    } else if (kind->type == PROTOBUF_C_TYPE_BYTES || kind->type == PROTOBUF_C_TYPE_FLOAT ||
               kind->type == PROTOBUF_C_TYPE_DOUBLE) {
        mdf_text_append(&body, noise, random_below(random, sizeof noise));
    } else if (kind->type != PROTOBUF_C_TYPE_MESSAGE) {
        size = put_varint(head, (uint64_t)kind->id << 3);
        size += put_varint(head + size, number_for(random, kind));
        mdf_text_append(made, (char *)head, size);
        return;
    }
    size = put_varint(head, (uint64_t)kind->id << 3 | 2);
    mdf_text_append(made, (char *)head, size);
    mdf_text_append(made, (char *)number, put_varint(number, body.length));
    mdf_text_append(made, body.bytes, body.length);
    mdf_text_release(&body);
}

static void change_bytes(struct random_source *random, struct mdf_text *bytes, const struct place *place)
{
    const struct field *field = &place->field;

    if (field->end == field->body) {
        return;
    }
    bytes->bytes[field->body + random_below(random, field->end - field->body)] ^= (char)(1 << random_below(random, 8));
}

static void change_value(struct random_source *random, struct mdf_text *bytes, const struct place *place)
{
    const struct field *field = &place->field;
    unsigned char number[MOST_VARINT_BYTES];
    struct mdf_text made;

    if (place->kind == NULL || (field->wire_type != 0 && place->kind->type != PROTOBUF_C_TYPE_STRING)) {
        if (field->wire_type == 0) {
            replace_in(bytes, place, field->value, field->end, number, put_varint(number, odd_number(random)));
        } else {
            change_bytes(random, bytes, place);
        }
    } else if (field->wire_type == 0) {
        replace_in(bytes, place, field->value, field->end, number, put_varint(number, number_for(random, place->kind)));
    } else {
        mdf_text_init(&made, bytes->memory);
        append_field(random, bytes, place->kind, &made);
        replace_in(bytes, place, field->start, field->end, made.bytes, made.length);
        mdf_text_release(&made);
    }
}

/* ------------------------------------------------------------------ changes */

/* Another field of the same message stands beside it, or in its place. */
static void repeat_field(struct random_source *random, struct mdf_text *bytes, const struct place *place, bool instead)
{
    struct mdf_text copy;
    struct field other;

    find_field(bytes, place->from, place->end, random_below(random, n_fields(bytes, place->from, place->end)), &other);
    mdf_text_init(&copy, bytes->memory);
    mdf_text_append(&copy, bytes->bytes + other.start, other.end - other.start);
    replace_in(bytes, place, place->field.start, instead ? place->field.end : place->field.start, copy.bytes, copy.length);
    mdf_text_release(&copy);
}

/* A field that the message may have. */
static void add_field(struct random_source *random, struct mdf_text *bytes, const struct place *place)
{
    struct mdf_text made;

    if (place->message == NULL || place->message->n_fields == 0) {
        return;
    }
    mdf_text_init(&made, bytes->memory);
    append_field(random, bytes, &place->message->fields[random_below(random, place->message->n_fields)], &made);
    replace_in(bytes, place, place->field.end, place->field.end, made.bytes, made.length);
    mdf_text_release(&made);
}

void mutate_message(struct random_source *random, struct mdf_text *bytes)
{
    struct place place;

    if (!pick(random, bytes, &place)) {
        return;
    }
    switch (random_below(random, 8)) {
    case 0:
        replace_in(bytes, &place, place.field.start, place.field.end, "", 0);
        break;
    case 1:
        repeat_field(random, bytes, &place, false);
        break;
    case 2:
        repeat_field(random, bytes, &place, true);
        break;
    case 3:
        add_field(random, bytes, &place);
        break;
    default:
        change_value(random, bytes, &place);
    }
}

void graft_message(struct random_source *random, struct mdf_text *bytes, const struct mdf_text *other)
{
    struct place taken, target;
    size_t i;

    for (i = 0; i < N_TRIALS; i++) {
        if (pick(random, other, &taken) && pick(random, bytes, &target) && taken.message == target.message) {
            bool instead = taken.field.number == target.field.number && random_below(random, 2) == 0;

            replace_in(bytes, &target, instead ? target.field.start : target.field.end, target.field.end,
                       other->bytes + taken.field.start, taken.field.end - taken.field.start);
            return;
        }
    }
}
