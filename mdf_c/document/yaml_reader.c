/* yaml_reader.c - YAML 1.1 into the tree, from the events of libyaml.
 *
 * Scalars mean what PyYAML's SafeLoader reads (yaml_scalar.h), except that timestamps, "=" and "<<" as values stay strings, and
 * keys are the text as it is written. Unlike there, an anchor may be set anew, a duplicate key is warned of, a file without a
 * document is an error, and !!omap is an object. A value that an alias stands for is shared with its anchor: the tree is
 * immutable, so this costs no memory, but whoever walks the tree walks the copies; MDF_DOCUMENT_MAX_ALIAS_NODES bounds them. */
#include "mdf_c/base/name_table.h"
#include "mdf_c/document/formats.h"
#include "mdf_c/document/yaml_mistakes.h"
#include "mdf_c/document/yaml_outline.h"
#include "mdf_c/document/yaml_scalar.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* What a tag of a list or object asks for beyond its kind. */
enum form { FORM_PLAIN, FORM_ORDERED, FORM_PAIRS };

/* What the builder's frame of the same depth does not know. */
struct yaml_frame {
    const char *anchor;
    uint8_t form;
    bool has_merge, is_flow;
};

/* A value that has a name. */
struct anchor {
    const char *name, *text; /* text: of a scalar, as written; else NULL */
    struct mdf_node node;
    size_t n_nodes, height; /* of the value, with all its aliases */
    bool open;              /* the value has not ended yet */
};

/* Where places in the outline lie in the file: those of the line of the last run that stand after it, and those of later lines.
 */
struct shift {
    size_t line, from_column; /* counted from 0, in the outline */
    size_t lines, columns;    /* to be added, modulo the range of size_t */
};

struct yaml_reader {
    struct mdf_tree *tree;
    const struct mdf_yaml_outline *outline; /* NULL: the file itself is read */
    size_t n_runs;                          /* of the outline, that have come */
    struct shift shift;
    yaml_parser_t parser;
    const char *bytes;
    size_t size_bytes;
    struct yaml_frame frames[MDF_DOCUMENT_MAX_DEPTH];
    struct mdf_arena names;           /* of anchors */
    struct name_table anchor_numbers; /* counted from 1 */
    struct anchor *anchors;
    size_t n_anchors, anchors_capacity;
    size_t n_alias_nodes;
};

/* The key of an entry that merges, told from the text "<<" by its address. */
static const char merge_key[] = "<<";

static uint32_t line_of(const yaml_mark_t *mark)
{
    return (uint32_t)mark->line + 1;
}

static uint32_t column_of(const yaml_mark_t *mark)
{
    return (uint32_t)mark->column + 1;
}

/* ------------------------------------------------------------------ errors */

/* Line and column of a byte, for errors below libyaml's notion of a position. */
static bool fail_at_offset(struct yaml_reader *reader, size_t offset, const char *problem)
{
    uint32_t line = 1, column = 1;

    for (size_t i = 0; i < offset && i < reader->size_bytes; i++) {
        if (reader->bytes[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)reader->bytes[i] & 0xc0) != 0x80;
        }
    }
    return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, column, "%s", problem);
}

static bool fail_at_mark(struct yaml_reader *reader, const yaml_mark_t *mark, const char *message)
{
    return mdf_tree_fail(reader->tree, MDF_SYNTAX, line_of(mark), column_of(mark), "%s", message);
}

static bool fail_parser(struct yaml_reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;

    if (parser->error == YAML_MEMORY_ERROR) {
        return mdf_tree_out_of_memory(reader->tree);
    }
    if (parser->error == YAML_READER_ERROR) {
        bool is_text = parser->problem != NULL && strstr(parser->problem, "UTF-8") == NULL;

        return fail_at_offset(reader, parser->problem_offset, is_text ? parser->problem : "this is not UTF-8: save the file so");
    }
    return mdf_yaml_fail(reader->tree, parser, reader->bytes, reader->size_bytes);
}

#define TAG_PREFIX "tag:yaml.org,2002:"

/* A tag as it is usually written. */
static bool fail_tag(struct yaml_reader *reader, const yaml_event_t *event, const yaml_char_t *tag, const char *problem)
{
    const char *text = (const char *)tag, *prefix = "";

    if (strncmp(text, TAG_PREFIX, sizeof TAG_PREFIX - 1) == 0) {
        text += sizeof TAG_PREFIX - 1;
        prefix = "!!";
    }
    return mdf_tree_fail(reader->tree, MDF_SYNTAX, line_of(&event->start_mark), column_of(&event->start_mark),
                         "the tag '%s%.*s' %s", prefix, mdf_clip(text, 200), text, problem);
}

/* ------------------------------------------------------------------ anchors */

/* NULL: there is none of that name. */
static struct anchor *find_anchor(const struct yaml_reader *reader, const char *name)
{
    const size_t *number = name_table_find(&reader->anchor_numbers, name);

    return number != NULL ? &reader->anchors[*number - 1] : NULL;
}

static bool add_anchor(struct yaml_reader *reader, const char *name)
{
    struct anchor *grown = mdf_memory_grow(reader->tree->document->memory, reader->anchors, &reader->anchors_capacity,
                                           reader->n_anchors + 1, sizeof *grown);
    size_t *number;

    if (grown == NULL) {
        return false;
    }
    reader->anchors = grown;
    name = mdf_arena_text(&reader->names, name, strlen(name));
    number = name != NULL ? name_table_add(&reader->anchor_numbers, &reader->names, name) : NULL;
    if (number == NULL) {
        return false;
    }
    grown[reader->n_anchors] = (struct anchor){.name = name};
    *number = ++reader->n_anchors;
    return true;
}

/* The anchor of a name, made where there is none; NULL on error. */
static struct anchor *make_anchor(struct yaml_reader *reader, const char *name)
{
    if (find_anchor(reader, name) == NULL && !add_anchor(reader, name)) {
        mdf_tree_out_of_memory(reader->tree);
        return NULL;
    }
    return find_anchor(reader, name);
}

/* Counts the nodes of a value and its levels; sixteen packed numbers count as one node. */
static void weigh(const struct mdf_node *node, size_t *n_nodes, size_t *height)
{
    size_t n = mdf_node_length(node), i, deepest = 0, n_elements = 1;

    *n_nodes += 1;
    *height = node->kind >= MDF_NODE_LIST;
    if (node->kind == MDF_NODE_NUMBERS) {
        for (i = 0; i < node->as.numbers.rank; i++) {
            n_elements *= (size_t)node->as.numbers.shape[i];
        }
        *n_nodes += n_elements / 16;
        *height = node->as.numbers.rank;
        return;
    }
    for (i = 0; i < n; i++) {
        size_t below = 0;

        weigh(node->kind == MDF_NODE_LIST ? &node->as.list.items[i] : &node->as.object.entries[i].value, n_nodes, &below);
        deepest = below > deepest ? below : deepest;
    }
    *height += deepest;
}

/* Gives a name to a finished value. */
static bool set_anchor(struct yaml_reader *reader, const char *name, const struct mdf_node *node, const char *text)
{
    struct anchor *anchor = make_anchor(reader, name);

    if (anchor == NULL) {
        return false;
    }
    anchor->open = false;
    anchor->node = *node;
    anchor->text = text;
    anchor->n_nodes = 0;
    weigh(node, &anchor->n_nodes, &anchor->height);
    return true;
}

static bool on_alias(struct yaml_reader *reader, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;
    uint32_t line = line_of(&event->start_mark), column = column_of(&event->start_mark);
    struct mdf_tree_frame *frame = mdf_tree_top(reader->tree);
    const struct anchor *anchor = find_anchor(reader, name);
    struct mdf_node node;

    if (anchor == NULL) {
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, column, "there is no anchor before the alias '*%.*s'",
                             mdf_clip(name, 200), name);
    }
    if (anchor->open) {
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, column, "the alias '*%.*s' stands inside the value that it names",
                             mdf_clip(name, 200), name);
    }
    reader->n_alias_nodes += anchor->n_nodes;
    if (reader->n_alias_nodes > MDF_DOCUMENT_MAX_ALIAS_NODES) {
        return mdf_tree_fail(reader->tree, MDF_LIMIT, line, column, "aliases stand for more than %d values in all",
                             MDF_DOCUMENT_MAX_ALIAS_NODES);
    }
    if (reader->tree->depth + anchor->height > MDF_DOCUMENT_MAX_DEPTH) {
        return mdf_tree_fail(reader->tree, MDF_LIMIT, line, column,
                             "with the alias '*%.*s', lists and objects are nested more than %d deep", mdf_clip(name, 200), name,
                             MDF_DOCUMENT_MAX_DEPTH);
    }
    if (frame != NULL && frame->kind == MDF_NODE_OBJECT && frame->key == NULL) {
        if (anchor->text == NULL) {
            return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, column, "a key must be a scalar, not %s",
                                 mdf_node_describe(&anchor->node));
        }
        mdf_tree_key(reader->tree, anchor->text, line, column);
        return true;
    }
    node = anchor->node;
    node.line = line;
    node.column = column;
    return mdf_tree_add(reader->tree, &node);
}

/* ------------------------------------------------------------------ runs of numbers */

/* From a place in the outline to that in the file. */
static void shift_mark(const struct yaml_reader *reader, yaml_mark_t *mark)
{
    if (mark->line == reader->shift.line && mark->column >= reader->shift.from_column) {
        mark->column += reader->shift.columns;
    }
    mark->line += reader->shift.lines;
}

/* Whether an event stands for a run: the word alone, as an item of a list. */
static bool is_run(struct yaml_reader *reader, const yaml_event_t *event)
{
    const struct mdf_tree_frame *frame = mdf_tree_top(reader->tree);

    return reader->n_runs < reader->outline->n_runs && frame != NULL && frame->kind == MDF_NODE_LIST &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event->data.scalar.anchor == NULL &&
           event->data.scalar.tag == NULL && event->data.scalar.length == sizeof MDF_YAML_RUN_WORD - 1 &&
           memcmp(event->data.scalar.value, MDF_YAML_RUN_WORD, sizeof MDF_YAML_RUN_WORD - 1) == 0;
}

/* Adds a run's numbers; `mark` is where the outline has the word. */
static bool on_run(struct yaml_reader *reader, const yaml_mark_t *mark)
{
    yaml_mark_t begin = *mark;
    uint32_t line, column;

    shift_mark(reader, &begin);
    line = line_of(&begin);
    column = column_of(&begin);
    if (!mdf_yaml_run_add(reader->tree, &reader->outline->runs[reader->n_runs], &line, &column)) {
        return false;
    }
    reader->n_runs++;
    reader->shift.line = mark->line;
    reader->shift.from_column = mark->column + sizeof MDF_YAML_RUN_WORD - 1;
    reader->shift.lines = line - 1 - mark->line;
    reader->shift.columns = column - 1 - reader->shift.from_column;
    return true;
}

/* ------------------------------------------------------------------ scalars */

static bool type_of_tag(const yaml_char_t *tag, enum mdf_yaml_type *type)
{
    static const struct {
        const char *tag;
        enum mdf_yaml_type type;
    } tags[] = {
        {"str", MDF_YAML_STRING}, {"null", MDF_YAML_NULL},           {"bool", MDF_YAML_BOOL},   {"int", MDF_YAML_INT},
        {"float", MDF_YAML_REAL}, {"timestamp", MDF_YAML_TIMESTAMP}, {"merge", MDF_YAML_MERGE}, {"value", MDF_YAML_VALUE},
    };
    const char *text = (const char *)tag;

    if (strncmp(text, TAG_PREFIX, sizeof TAG_PREFIX - 1) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (strcmp(text + sizeof TAG_PREFIX - 1, tags[i].tag) == 0) {
            *type = tags[i].type;
            return true;
        }
    }
    return false;
}

static bool is_collection_tag(const yaml_char_t *tag)
{
    static const char *const tags[] = {"seq", "map", "omap", "pairs", "set"};
    const char *text = (const char *)tag;

    return strncmp(text, TAG_PREFIX, sizeof TAG_PREFIX - 1) == 0 && MDF_FIND_WORD(text + sizeof TAG_PREFIX - 1, tags) != SIZE_MAX;
}

/* The type that a scalar's tag, its quotes or its text say. */
static bool scalar_type(struct yaml_reader *reader, const yaml_event_t *event, enum mdf_yaml_type *type)
{
    const yaml_char_t *tag = event->data.scalar.tag;

    *type = MDF_YAML_STRING;
    if (event->data.scalar.plain_implicit) {
        *type = mdf_yaml_resolve((const char *)event->data.scalar.value, event->data.scalar.length);
        return true;
    }
    if (tag == NULL || event->data.scalar.quoted_implicit || strcmp((const char *)tag, "!") == 0 || type_of_tag(tag, type)) {
        return true;
    }
    return fail_tag(reader, event, tag, is_collection_tag(tag) ? "does not fit a scalar" : "is not supported");
}

static bool make_scalar(struct yaml_reader *reader, const yaml_event_t *event, enum mdf_yaml_type type, struct mdf_node *node)
{
    const char *text = (const char *)event->data.scalar.value;
    uint32_t line = line_of(&event->start_mark), column = column_of(&event->start_mark);

    *node = (struct mdf_node){.line = line, .column = column};
    switch (mdf_yaml_construct(node, type, text, event->data.scalar.length, &reader->tree->document->arena)) {
    case MDF_YAML_DONE:
        return true;
    case MDF_YAML_MALFORMED:
        return mdf_tree_fail(reader->tree, MDF_SYNTAX, line, column, "'%.*s' is no %s", mdf_clip(text, 100), text,
                             type == MDF_YAML_BOOL  ? "boolean"
                             : type == MDF_YAML_INT ? "whole number"
                                                    : "number");
    case MDF_YAML_TOO_LARGE:
        return mdf_tree_fail(reader->tree, MDF_LIMIT, line, column, "the number '%.*s' does not fit 64 bits", mdf_clip(text, 100),
                             text);
    default:
        return mdf_tree_out_of_memory(reader->tree);
    }
}

/* The text of a scalar in the arena; NULL on error. */
static const char *key_text(struct yaml_reader *reader, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value, *copy;
    size_t length = event->data.scalar.length;

    if (memchr(text, '\0', length) != NULL) {
        fail_at_mark(reader, &event->start_mark, "a key can not hold the character \\0");
        return NULL;
    }
    copy = mdf_arena_text(&reader->tree->document->arena, text, length);
    if (copy == NULL) {
        mdf_tree_out_of_memory(reader->tree);
    }
    return copy;
}

static bool on_key(struct yaml_reader *reader, const yaml_event_t *event, enum mdf_yaml_type type)
{
    const yaml_char_t *anchor = event->data.scalar.anchor;
    const char *key = merge_key;
    struct mdf_node node;

    if (type == MDF_YAML_MERGE) {
        reader->frames[reader->tree->depth - 1].has_merge = true;
    } else {
        key = key_text(reader, event);
        if (key == NULL) {
            return false;
        }
    }
    if (anchor != NULL && (!make_scalar(reader, event, type, &node) || !set_anchor(reader, (const char *)anchor, &node, key))) {
        return false;
    }
    mdf_tree_key(reader->tree, key, line_of(&event->start_mark), column_of(&event->start_mark));
    return true;
}

/* Warns of what can not be meant. */
static void look_at(struct yaml_reader *reader, const yaml_event_t *event)
{
    const struct mdf_tree_frame *frame = mdf_tree_top(reader->tree);

    if (frame != NULL) {
        mdf_yaml_look_at(reader->tree, event,
                         frame->kind == MDF_NODE_LIST ? MDF_YAML_ITEM
                         : frame->key == NULL         ? MDF_YAML_KEY
                                                      : MDF_YAML_ENTRY_VALUE,
                         reader->frames[reader->tree->depth - 1].is_flow);
    }
}

static bool on_scalar(struct yaml_reader *reader, const yaml_event_t *event)
{
    const struct mdf_tree_frame *frame = mdf_tree_top(reader->tree);
    const yaml_char_t *anchor = event->data.scalar.anchor;
    enum mdf_yaml_type type;
    struct mdf_node node;
    const char *text;

    if (!scalar_type(reader, event, &type)) {
        return false;
    }
    look_at(reader, event);
    if (frame != NULL && frame->kind == MDF_NODE_OBJECT && frame->key == NULL) {
        return on_key(reader, event, type);
    }
    if (!make_scalar(reader, event, type, &node)) {
        return false;
    }
    if (anchor != NULL) {
        text = memchr(event->data.scalar.value, '\0', event->data.scalar.length) == NULL ? key_text(reader, event) : NULL;
        if (!set_anchor(reader, (const char *)anchor, &node, text)) {
            return false;
        }
    }
    return mdf_tree_add(reader->tree, &node);
}

/* ------------------------------------------------------------------ lists and objects */

/* What the tag of a list or object asks for. */
static bool form_of_tag(struct yaml_reader *reader, const yaml_event_t *event, const yaml_char_t *tag, enum mdf_node_kind kind,
                        uint8_t *form)
{
    static const struct {
        const char *tag;
        uint8_t kind, form;
    } tags[] = {
        {TAG_PREFIX "seq", MDF_NODE_LIST, FORM_PLAIN},   {TAG_PREFIX "map", MDF_NODE_OBJECT, FORM_PLAIN},
        {TAG_PREFIX "set", MDF_NODE_OBJECT, FORM_PLAIN}, {TAG_PREFIX "omap", MDF_NODE_LIST, FORM_ORDERED},
        {TAG_PREFIX "pairs", MDF_NODE_LIST, FORM_PAIRS},
    };
    enum mdf_yaml_type ignored;

    *form = FORM_PLAIN;
    if (tag == NULL || strcmp((const char *)tag, "!") == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (strcmp((const char *)tag, tags[i].tag) == 0) {
            *form = tags[i].form;
            return tags[i].kind == kind ||
                   fail_tag(reader, event, tag, kind == MDF_NODE_LIST ? "does not fit a list" : "does not fit an object");
        }
    }
    return fail_tag(reader, event, tag, type_of_tag(tag, &ignored) ? "fits a scalar only" : "is not supported");
}

static bool on_start(struct yaml_reader *reader, const yaml_event_t *event, enum mdf_node_kind kind)
{
    bool is_list = kind == MDF_NODE_LIST;
    const yaml_char_t *name = is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
    const yaml_char_t *tag = is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;
    const struct mdf_tree_frame *frame = mdf_tree_top(reader->tree);
    struct yaml_frame *own;
    struct anchor *anchor = NULL;
    uint8_t form;

    if (frame != NULL && frame->kind == MDF_NODE_OBJECT && frame->key == NULL) {
        return fail_at_mark(reader, &event->start_mark,
                            is_list ? "a key must be a scalar, not a list" : "a key must be a scalar, not an object");
    }
    if (!form_of_tag(reader, event, tag, kind, &form) ||
        !mdf_tree_open(reader->tree, kind, line_of(&event->start_mark), column_of(&event->start_mark))) {
        return false;
    }
    own = &reader->frames[reader->tree->depth - 1];
    *own = (struct yaml_frame){.form = form,
                               .is_flow = is_list ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                                                  : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE};
    if (name != NULL) {
        anchor = make_anchor(reader, (const char *)name);
        if (anchor == NULL) {
            return false;
        }
        anchor->open = true;
        own->anchor = anchor->name;
    }
    return true;
}

/* Appends the entries of an object that is merged. */
static bool merge_object(struct mdf_tree *tree, const struct mdf_node *merged)
{
    if (merged->kind != MDF_NODE_OBJECT) {
        return mdf_tree_fail(tree, MDF_SYNTAX, merged->line, merged->column, "'<<' merges an object or a list of objects, not %s",
                             mdf_node_describe(merged));
    }
    for (size_t i = 0; i < merged->as.object.n; i++) {
        const struct mdf_node_entry *entry = &merged->as.object.entries[i];
        struct mdf_tree_item item = {entry->key, entry->line, entry->column, 0, true, entry->value};

        if (!mdf_tree_push(tree, &item)) {
            return false;
        }
    }
    return true;
}

/* Of a list of objects the earlier ones win, so that they come last. */
static bool merge_value(struct mdf_tree *tree, const struct mdf_node *value)
{
    if (value->kind != MDF_NODE_LIST) {
        return merge_object(tree, value);
    }
    for (size_t i = value->as.list.n; i > 0; i--) {
        if (!merge_object(tree, &value->as.list.items[i - 1])) {
            return false;
        }
    }
    return true;
}

/* Puts what the merge keys of the innermost object bring in before its own entries, which then override it. */
static bool expand_merges(struct mdf_tree *tree)
{
    size_t first = mdf_tree_top(tree)->first_item, end = tree->n_items, i;

    for (i = first; i < end; i++) {
        if (tree->items[i].key == merge_key) {
            struct mdf_node value = tree->items[i].value; /* the stack moves as it grows */

            if (!merge_value(tree, &value)) {
                return false;
            }
        }
    }
    for (i = first; i < end; i++) {
        struct mdf_tree_item item = tree->items[i];

        if (item.key != merge_key && !mdf_tree_push(tree, &item)) {
            return false;
        }
    }
    memmove(tree->items + first, tree->items + end, (tree->n_items - end) * sizeof *tree->items);
    tree->n_items -= end - first;
    return true;
}

/* The object that !!omap means by a list of objects of one entry each, or the list of [key, value] that !!pairs means. */
static bool reshape(struct yaml_reader *reader, uint8_t form, struct mdf_node *node)
{
    struct mdf_tree *tree = reader->tree;
    struct mdf_node list = *node, pair;

    if (!mdf_tree_open(tree, form == FORM_ORDERED ? MDF_NODE_OBJECT : MDF_NODE_LIST, node->line, node->column)) {
        return false;
    }
    for (size_t i = 0; i < mdf_node_length(&list); i++) {
        const struct mdf_node *item = list.kind == MDF_NODE_LIST ? &list.as.list.items[i] : &list;
        const struct mdf_node_entry *entry;

        if (item->kind != MDF_NODE_OBJECT || item->as.object.n != 1) {
            return mdf_tree_fail(tree, MDF_SYNTAX, item->line, item->column,
                                 "an item of !!omap and !!pairs is an object with one entry");
        }
        entry = &item->as.object.entries[0];
        if (form == FORM_ORDERED) {
            mdf_tree_key(tree, entry->key, entry->line, entry->column);
            if (!mdf_tree_add(tree, &entry->value)) {
                return false;
            }
            continue;
        }
        pair = (struct mdf_node){.kind = MDF_NODE_STRING, .line = entry->line, .column = entry->column};
        pair.as.string.bytes = entry->key;
        pair.as.string.length = strlen(entry->key);
        if (!mdf_tree_open(tree, MDF_NODE_LIST, entry->line, entry->column) || !mdf_tree_add(tree, &pair) ||
            !mdf_tree_add(tree, &entry->value) || !mdf_tree_close(tree, &pair, false) || !mdf_tree_add(tree, &pair)) {
            return false;
        }
    }
    return mdf_tree_close(tree, node, true);
}

static bool on_end(struct yaml_reader *reader)
{
    struct yaml_frame own = reader->frames[reader->tree->depth - 1];
    struct mdf_node node;

    if (own.has_merge && !expand_merges(reader->tree)) {
        return false;
    }
    if (!mdf_tree_close(reader->tree, &node, own.anchor != NULL || own.form != FORM_PLAIN)) {
        return false;
    }
    if (own.form != FORM_PLAIN && !reshape(reader, own.form, &node)) {
        return false;
    }
    if (own.anchor != NULL && !set_anchor(reader, own.anchor, &node, NULL)) {
        return false;
    }
    return mdf_tree_add(reader->tree, &node);
}

/* ------------------------------------------------------------------ events */

static bool on_event(struct yaml_reader *reader, const yaml_event_t *event, size_t *n_documents)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return ++*n_documents == 1 ||
               fail_at_mark(reader, &event->start_mark, "a second YAML document begins here; a model is one document");
    case YAML_SCALAR_EVENT:
        return on_scalar(reader, event);
    case YAML_ALIAS_EVENT:
        return on_alias(reader, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(reader, event, MDF_NODE_LIST);
    case YAML_MAPPING_START_EVENT:
        return on_start(reader, event, MDF_NODE_OBJECT);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return on_end(reader);
    default:
        return true;
    }
}

static bool read_events(struct yaml_reader *reader)
{
    size_t n_documents = 0;
    bool ended = false;
    yaml_event_t event;

    while (!ended) {
        bool done;

        if (yaml_parser_parse(&reader->parser, &event) == 0) {
            return fail_parser(reader);
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        if (reader->outline != NULL && event.type == YAML_SCALAR_EVENT && is_run(reader, &event)) {
            done = on_run(reader, &event.start_mark);
        } else {
            shift_mark(reader, &event.start_mark);
            done = on_event(reader, &event, &n_documents);
        }
        yaml_event_delete(&event);
        if (!done) {
            return false;
        }
    }
    return n_documents > 0 || mdf_tree_fail(reader->tree, MDF_SYNTAX, 1, 1, "the file is empty");
}

/* Reads a text, which is that of `outline` where there is one. */
static bool read_text(struct mdf_tree *tree, const char *bytes, size_t size_bytes, const struct mdf_yaml_outline *outline)
{
    struct mdf_memory *memory = tree->document->memory;
    struct yaml_reader *reader = mdf_memory_allocate_zeroed(memory, 1, sizeof *reader);
    bool done;

    if (reader == NULL) {
        return mdf_tree_out_of_memory(tree);
    }
    reader->tree = tree;
    reader->outline = outline;
    reader->shift.line = SIZE_MAX;
    reader->bytes = bytes;
    reader->size_bytes = size_bytes;
    mdf_arena_init(&reader->names, memory);
    if (yaml_parser_initialize(&reader->parser) == 0) {
        done = mdf_tree_out_of_memory(tree);
    } else {
        yaml_parser_set_input_string(&reader->parser, (const yaml_char_t *)bytes, size_bytes);
        done = read_events(reader) && (outline == NULL || reader->n_runs == outline->n_runs);
        yaml_parser_delete(&reader->parser);
    }
    mdf_memory_release(memory, reader->anchors);
    mdf_arena_release(&reader->names);
    mdf_memory_release(memory, reader);
    return done;
}

static void note_warning(void *context, const mdf_error *warning)
{
    (void)warning;
    *(bool *)context = true;
}

/* Reads the outline of a file where it has one. False: nothing has come of it, and the file is to be read; what is wrong with it
 * is found then, and warned of. */
static bool read_outline(struct mdf_tree *tree, const char *bytes, size_t size_bytes)
{
    bool warned = false, done = false;
    struct mdf_warnings warnings = {note_warning, &warned};
    struct mdf_document *document = tree->document;
    struct mdf_yaml_outline outline;
    struct mdf_tree trial;
    mdf_error error = {.code = MDF_OK};

    if (mdf_yaml_outline_make(document->memory, bytes, size_bytes, &outline)) {
        mdf_tree_init(&trial, document, &warnings, &error);
        done = read_text(&trial, outline.text.bytes, outline.text.length, &outline) && !warned;
        mdf_tree_release(&trial);
    }
    mdf_yaml_outline_release(&outline);
    return done;
}

bool mdf_yaml_read(struct mdf_tree *tree, const void *bytes, size_t size_bytes)
{
    return read_outline(tree, bytes, size_bytes) || read_text(tree, bytes, size_bytes, NULL);
}
