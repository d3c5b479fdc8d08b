/* json_layout.c - JSON text without white space in, the same with lines and indentation out: what is short stays on one line. */
#include "mdf_c/document/formats.h"

#include <string.h>

enum {
    INDENTATION = 4,
    LINE_WIDTH = 120, /* indentation aside */
    MOST_OBJECTS = 3  /* within each other on one line */
};

struct layout {
    struct mdf_text *text;
    const char *at; /* in the text without white space */
    size_t depth;
};

/* Behind the string, or the one character, at `at`. */
static const char *skip(const char *at)
{
    if (*at == '"') {
        for (at++; *at != '"'; at++) {
            at += *at == '\\';
        }
    }
    return at + 1;
}

static bool opens(char c)
{
    return c == '[' || c == '{';
}

static bool closes(char c)
{
    return c == ']' || c == '}';
}

/* Behind the value at `at`. */
static const char *skip_value(const char *at)
{
    size_t n_open = 0;

    do {
        n_open += opens(*at);
        n_open -= closes(*at);
        at = skip(at);
    } while (n_open > 0 || (*at != ',' && *at != '\0' && !closes(*at)));
    return at;
}

/* Whether the list or object at `at` goes on one line however wide that gets: a list of neither lists nor objects; what is empty,
 * of which lines have nothing to hold. */
static bool is_row(const char *at)
{
    bool is_list = *at == '[';

    for (at++; is_list && *at != ']'; at = skip(at)) {
        is_list = !opens(*at);
    }
    return is_list || closes(*at);
}

/* Whether the list or object at `at` goes on one line behind `width` characters. Looks no further than a line. */
static bool fits(const char *at, size_t width)
{
    size_t n_open = 0, n_objects = 0;

    do {
        const char *next = skip(at);

        n_open += opens(*at);
        n_open -= closes(*at);
        n_objects += *at == '{';
        n_objects -= *at == '}';
        width += (size_t)(next - at) + (*at == ',' || *at == ':');
        at = next;
    } while (n_open > 0 && width <= LINE_WIDTH && n_objects <= MOST_OBJECTS);
    return n_open == 0 && width <= LINE_WIDTH;
}

static void begin_line(struct layout *layout)
{
    mdf_text_append_string(layout->text, "\n");
    for (size_t i = 0; i < layout->depth * INDENTATION; i++) {
        mdf_text_append_string(layout->text, " ");
    }
}

/* Copies up to `end`; a space follows each comma and colon. */
static void copy(struct layout *layout, const char *end)
{
    const char *from = layout->at, *to;

    for (to = from; to < end; to = skip(to)) {
        if (*to == ',' || *to == ':') {
            mdf_text_append(layout->text, from, (size_t)(to + 1 - from));
            mdf_text_append_string(layout->text, " ");
            from = to + 1;
        }
    }
    mdf_text_append(layout->text, from, (size_t)(end - from));
    layout->at = end;
}

/* Lays out the value at layout->at, which begins `width` characters behind the indentation. */
static void lay_out(struct layout *layout, size_t width)
{
    bool is_object = *layout->at == '{', more = true;

    if (!opens(*layout->at) || is_row(layout->at) || fits(layout->at, width)) {
        copy(layout, skip_value(layout->at));
        return;
    }
    copy(layout, layout->at + 1);
    for (layout->depth++; more; layout->at++) {
        const char *entry = layout->at;

        begin_line(layout);
        if (is_object) {
            copy(layout, skip(entry) + 1);
        }
        lay_out(layout, (size_t)(layout->at - entry));
        more = *layout->at == ',';
        mdf_text_append_string(layout->text, more ? "," : "");
    }
    layout->depth--;
    begin_line(layout);
    mdf_text_append_string(layout->text, is_object ? "}" : "]");
}

void mdf_json_lay_out(const char *compact, struct mdf_text *text)
{
    struct layout layout = {.text = text, .at = compact};

    lay_out(&layout, 0);
    mdf_text_append_string(text, "\n");
}
