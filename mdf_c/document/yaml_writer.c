/* yaml_writer.c - a tree as YAML text, through libyaml's emitter.
 *
 * The text reads back to the same tree, and in PyYAML to the same values: a string that would be taken for something else
 * is quoted (yaml_scalar.h tells), reals are written as YAML 1.1 knows them ("1.0e-05", ".inf"). Layout: blocks
 * indented by four; what is short, and the last axis of packed numbers, in brackets on one line. */
#include "mdf_c/document/formats.h"
#include "mdf_c/document/yaml_scalar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* Called by libyaml with finished text; 0 tells it to stop. */
static int write_bytes(void *context, unsigned char *bytes, size_t size)
{
    struct mdf_text *text = context;

    mdf_text_append(text, (const char *)bytes, size);
    return !text->failed;
}

/* An event that could not be made (`made` 0) counts as failed. */
static bool emit(yaml_emitter_t *emitter, yaml_event_t *event, int made)
{
    return made != 0 && yaml_emitter_emit(emitter, event) != 0;
}

static yaml_char_t *as_yaml(const char *text)
{
    return (yaml_char_t *)(uintptr_t)text;
}

/* A scalar whose plain form reads back as what is meant. */
static bool emit_plain(yaml_emitter_t *emitter, const char *text, size_t length)
{
    yaml_event_t event;

    return emit(emitter, &event,
                yaml_scalar_event_initialize(&event, NULL, NULL, as_yaml(text), (int)length, 1, 0, YAML_PLAIN_SCALAR_STYLE));
}

static bool has_break_or_control(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool emit_string(yaml_emitter_t *emitter, const char *text, size_t length)
{
    yaml_scalar_style_t style = has_break_or_control(text, length) ? YAML_DOUBLE_QUOTED_SCALAR_STYLE : YAML_ANY_SCALAR_STYLE;
    int plain = mdf_yaml_resolve(text, length) == MDF_YAML_STRING;
    yaml_event_t event;

    return emit(emitter, &event, yaml_scalar_event_initialize(&event, NULL, NULL, as_yaml(text), (int)length, plain, 1, style));
}

static bool emit_real(yaml_emitter_t *emitter, double real)
{
    char text[MDF_NUMBER_TEXT_SIZE], with_point[MDF_NUMBER_TEXT_SIZE + 2];
    size_t length = mdf_format_float64(real, text);
    const char *exponent;

    if (strcmp(text, "NaN") == 0) {
        return emit_plain(emitter, ".nan", 4);
    }
    if (strcmp(text, "Infinity") == 0) {
        return emit_plain(emitter, ".inf", 4);
    }
    if (strcmp(text, "-Infinity") == 0) {
        return emit_plain(emitter, "-.inf", 5);
    }
    exponent = strchr(text, 'e');
    if (exponent == NULL || strchr(text, '.') != NULL) {
        return emit_plain(emitter, text, length);
    }
    snprintf(with_point, sizeof with_point, "%.*s.0%s", (int)(exponent - text), text, exponent);
    return emit_plain(emitter, with_point, length + 2);
}

static bool emit_int(yaml_emitter_t *emitter, int64_t integer)
{
    char text[MDF_NUMBER_TEXT_SIZE];
    int length = snprintf(text, sizeof text, "%" PRId64, integer);

    return emit_plain(emitter, text, (size_t)length);
}

/* ------------------------------------------------------------------ what goes on one line */

enum {
    LINE_WIDTH = 100, /* indentation aside, roughly */
    MOST_OBJECTS = 3  /* within each other on one line */
};

/* Whether a list or object is short: takes its width off *room, which it leaves where it is longer. */
static bool is_short(const struct mdf_node *node, size_t n_objects, size_t *room);

static bool takes(size_t width, size_t *room)
{
    bool fits = width <= *room;

    *room -= fits ? width : *room;
    return fits;
}

static bool is_short_item(const struct mdf_node *list, size_t index, size_t n_objects, size_t *room)
{
    struct mdf_node item;

    return takes(2, room) && mdf_node_item(list, index, &item) && is_short(&item, n_objects, room);
}

static bool is_short(const struct mdf_node *node, size_t n_objects, size_t *room)
{
    char number[MDF_NUMBER_TEXT_SIZE];
    size_t n = mdf_node_length(node), i;
    bool fits = true;

    switch (node->kind) {
    case MDF_NODE_STRING:
        return takes(node->as.string.length, room);
    case MDF_NODE_REAL:
        return takes(mdf_format_float64(node->as.real, number), room);
    case MDF_NODE_INT:
        return takes((size_t)snprintf(number, sizeof number, "%" PRId64, node->as.integer), room);
    case MDF_NODE_OBJECT:
        fits = n_objects < MOST_OBJECTS;
        for (i = 0; i < n && fits; i++) {
            const struct mdf_node_entry *entry = &node->as.object.entries[i];

            fits = takes(strlen(entry->key) + 4, room) && is_short(&entry->value, n_objects + 1, room);
        }
        return fits;
    case MDF_NODE_LIST:
    case MDF_NODE_NUMBERS:
        for (i = 0; i < n && fits; i++) {
            fits = is_short_item(node, i, n_objects, room);
        }
        return fits;
    default:
        return takes(4, room);
    }
}

static bool goes_on_one_line(const struct mdf_node *node)
{
    size_t room = LINE_WIDTH;

    return mdf_node_length(node) == 0 || (node->kind == MDF_NODE_NUMBERS && node->as.numbers.rank == 1) ||
           is_short(node, 0, &room);
}

/* ------------------------------------------------------------------ structure */

static bool emit_node(yaml_emitter_t *emitter, const struct mdf_node *node);

/* Whole numbers past int64, which no node has room for. */
static bool emit_wide(yaml_emitter_t *emitter, const struct mdf_node *numbers, size_t index)
{
    char text[MDF_NUMBER_TEXT_SIZE];
    size_t length = mdf_format_element(MDF_DTYPE_UINT64, (const uint64_t *)numbers->as.numbers.elements + index, text);

    return emit_plain(emitter, text, length);
}

static bool emit_list(yaml_emitter_t *emitter, const struct mdf_node *node)
{
    size_t n = mdf_node_length(node), i;
    bool is_row = goes_on_one_line(node);
    yaml_event_t event;
    struct mdf_node item;

    if (!emit(emitter, &event,
              yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                                   is_row ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE))) {
        return false;
    }
    for (i = 0; i < n; i++) {
        bool is_wide = node->kind == MDF_NODE_NUMBERS && node->packed_dtype == MDF_DTYPE_UINT64 && node->as.numbers.rank == 1;

        if (is_wide ? !emit_wide(emitter, node, i) : !mdf_node_item(node, i, &item) || !emit_node(emitter, &item)) {
            return false;
        }
    }
    return emit(emitter, &event, yaml_sequence_end_event_initialize(&event));
}

static bool emit_object(yaml_emitter_t *emitter, const struct mdf_node *node)
{
    bool is_row = goes_on_one_line(node);
    yaml_event_t event;

    if (!emit(emitter, &event,
              yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                                  is_row ? YAML_FLOW_MAPPING_STYLE : YAML_BLOCK_MAPPING_STYLE))) {
        return false;
    }
    for (size_t i = 0; i < node->as.object.n; i++) {
        const struct mdf_node_entry *entry = &node->as.object.entries[i];

        if (!emit_string(emitter, entry->key, strlen(entry->key)) || !emit_node(emitter, &entry->value)) {
            return false;
        }
    }
    return emit(emitter, &event, yaml_mapping_end_event_initialize(&event));
}

static bool emit_node(yaml_emitter_t *emitter, const struct mdf_node *node)
{
    switch (node->kind) {
    case MDF_NODE_NULL:
        return emit_plain(emitter, "null", 4);
    case MDF_NODE_BOOL:
        return node->as.truth ? emit_plain(emitter, "true", 4) : emit_plain(emitter, "false", 5);
    case MDF_NODE_INT:
        return emit_int(emitter, node->as.integer);
    case MDF_NODE_REAL:
        return node->digits != NULL ? emit_plain(emitter, node->digits, strlen(node->digits)) : emit_real(emitter, node->as.real);
    case MDF_NODE_STRING:
        return emit_string(emitter, node->as.string.bytes, node->as.string.length);
    case MDF_NODE_OBJECT:
        return emit_object(emitter, node);
    default:
        return emit_list(emitter, node);
    }
}

static bool emit_stream(yaml_emitter_t *emitter, const struct mdf_node *root)
{
    yaml_event_t event;

    return emit(emitter, &event, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING)) &&
           emit(emitter, &event, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1)) && emit_node(emitter, root) &&
           emit(emitter, &event, yaml_document_end_event_initialize(&event, 1)) &&
           emit(emitter, &event, yaml_stream_end_event_initialize(&event));
}

bool mdf_yaml_write(const struct mdf_node *root, struct mdf_text *text, mdf_error *error)
{
    yaml_emitter_t emitter;
    bool done;

    if (yaml_emitter_initialize(&emitter) == 0) {
        mdf_memory_error(text->memory, error);
        return false;
    }
    yaml_emitter_set_output(&emitter, write_bytes, text);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_emitter_set_indent(&emitter, 4);
    yaml_emitter_set_width(&emitter, -1);
    done = emit_stream(&emitter, root);
    if (!done && !text->failed && emitter.error == YAML_EMITTER_ERROR) {
        mdf_error_set(error, MDF_VALUE, "the tree can not be written as YAML: %s",
                      emitter.problem != NULL ? emitter.problem : "refused");
    } else if (!done) {
        mdf_memory_error(text->memory, error);
    }
    yaml_emitter_delete(&emitter);
    return done;
}
