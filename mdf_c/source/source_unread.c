/* source_unread.c - definitions in a function's text that nothing reads. What is written is what the lowered form needs
 * (source_uses.c); some of it turns out to be a constant, or of no elements, only as its text is made. */
#include "mdf_c/base/name_table.h"
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* Of a function's text, by identifier: how often it stands there (members of a state do not count), and in how many lines that do
 * nothing but declare it, or set it. */
struct function_text {
    struct mdf_source_writer *writer;
    struct name_table mentions, settings;
};

/* The number of an identifier, which is added where it is not there; NULL: memory was refused. */
static size_t *number_of(struct function_text *text, struct name_table *table, const char *first, size_t length)
{
    char buffer[128];
    const char *name = buffer;
    size_t *found;

    if (length < sizeof buffer) {
        memcpy(buffer, first, length);
        buffer[length] = '\0';
    } else {
        name = mdf_source_text(text->writer, "%.*s", (int)length, first);
    }
    found = name_table_find(table, name);
    found = found != NULL ? found : name_table_add(table, &text->writer->arena, mdf_source_text(text->writer, "%s", name));
    if (found == NULL) {
        mdf_source_out_of_memory(text->writer);
    }
    return found;
}

static bool is_member(const char *from, const char *first)
{
    return (first > from && first[-1] == '.') || (first > from + 1 && first[-1] == '>' && first[-2] == '-');
}

/* Adds `by` for each identifier of a text. */
static bool count_mentions(struct function_text *text, const char *from, const char *end, size_t by)
{
    const char *at = from;

    while (at < end) {
        const char *first = at;
        size_t *n;

        while (at < end && mdf_is_in_identifier(*at)) {
            at++;
        }
        if (at == first || !mdf_begins_identifier(*first) || is_member(from, first)) {
            at += at == first;
            continue;
        }
        n = number_of(text, &text->mentions, first, (size_t)(at - first));
        if (n == NULL) {
            return false;
        }
        *n += by;
    }
    return true;
}

/* Whether a definition does nothing but compute: it calls nothing that changes the state or a variable. */
static bool is_pure(const char *from, const char *end)
{
    for (; from + 2 < end; from++) {
        bool is_argument = from[0] == '(' || (from[0] == ' ' && from[-1] == ',');

        if (is_argument && (from[1] == '&' || (from[1] == 's' && !mdf_is_in_identifier(from[2]) && from[2] != '-'))) {
            return false;
        }
    }
    return true;
}

/* The name that a line declares or sets, "TYPE NAME;", "TYPE NAME[...];", "NAME = ...;" or "const TYPE NAME = ...;"; NULL: it
 * does something else, or more. */
static const char *set_name(const char *line, const char *end, size_t *length)
{
    const char *stop, *at;
    bool sets;

    while (line < end && *line == ' ') {
        line++;
    }
    if (end - line < 4 || end[-1] != ';' || strncmp(line, "return ", 7) == 0) {
        return NULL;
    }
    for (stop = line; stop + 3 < end && memcmp(stop, " = ", 3) != 0; stop++) {
    }
    sets = stop + 3 < end;
    if (!sets) {
        stop = memchr(line, '[', (size_t)(end - line));
        stop = stop != NULL ? stop : end - 1;
    }
    for (*length = 0; stop - *length > line && mdf_is_in_identifier(stop[-1 - (long)*length]); ++*length) {
    }
    for (at = line; at < stop - *length; at++) { /* its type */
        if (!mdf_is_in_identifier(*at) && *at != ' ' && *at != '*') {
            return NULL;
        }
    }
    if (*length == 0 || (sets ? !is_pure(stop, end) || (at != line && strncmp(line, "const ", 6) != 0) : at == line)) {
        return NULL;
    }
    return at;
}

/* Behind the last byte of a text, which may have no bytes at all: no address is moved then. */
static char *end_of(const struct mdf_text *lines)
{
    return lines->length > 0 ? lines->bytes + lines->length : lines->bytes;
}

/* Where the line before `end` begins. */
static char *line_before(const struct mdf_text *lines, char *end)
{
    char *line = end - 1;

    while (line > lines->bytes && line[-1] != '\n') {
        line--;
    }
    return line;
}

static bool count(struct function_text *text, const struct mdf_text *lines)
{
    char *end = end_of(lines), *line;

    for (; end > lines->bytes; end = line) {
        size_t length, *n;
        const char *name;

        line = line_before(lines, end);
        name = set_name(line, end - 1, &length);
        n = name != NULL ? number_of(text, &text->settings, name, length) : NULL;
        if (n != NULL) {
            ++*n;
        } else if (name != NULL) {
            return false;
        }
    }
    return count_mentions(text, lines->bytes, end_of(lines), 1);
}

/* Takes out, from the last line to the first, those that set what nothing reads. */
static bool drop(struct function_text *text, struct mdf_text *lines)
{
    char *kept = end_of(lines), *end = kept, *line;

    for (; end > lines->bytes; end = line) {
        size_t length, *settings = NULL, *mentions = NULL;
        const char *name;

        line = line_before(lines, end);
        name = set_name(line, end - 1, &length);
        if (name != NULL && ((settings = number_of(text, &text->settings, name, length)) == NULL ||
                             (mentions = number_of(text, &text->mentions, name, length)) == NULL)) {
            return false;
        }
        if (name == NULL || *settings != *mentions) {
            kept -= end - line;
            memmove(kept, line, (size_t)(end - line));
        } else if (!count_mentions(text, line, end, (size_t)-1)) {
            return false;
        } else {
            --*settings;
        }
    }
    if (lines->length > 0) {
        lines->length = (size_t)(end_of(lines) - kept);
        memmove(lines->bytes, kept, lines->length + 1);
    }
    return true;
}

void mdf_source_drop_unread(struct mdf_source_writer *writer)
{
    struct function_text text = {.writer = writer};
    struct mdf_text *body = &writer->body, *declarations = &writer->declarations;

    if (!body->failed && !declarations->failed && count(&text, body) && count(&text, declarations) && drop(&text, body)) {
        drop(&text, declarations);
    }
}

void mdf_source_drop_unread_constants(struct mdf_source_writer *writer, const struct mdf_text *functions)
{
    struct function_text text = {.writer = writer};
    struct mdf_text *constants = &writer->constants;
    const struct mdf_source_constant *constant; /* from the last to the first */

    if (constants->failed || functions->failed || functions->length == 0 ||
        !count_mentions(&text, functions->bytes, end_of(functions), 1)) {
        return;
    }
    for (constant = writer->constant_list; constant != NULL; constant = constant->next) {
        if (name_table_find(&text.mentions, constant->name) == NULL) {
            memmove(constants->bytes + constant->begin, constants->bytes + constant->end, constants->length - constant->end + 1);
            constants->length -= constant->end - constant->begin;
        }
    }
}
