/* source_text.c - see source_text.h. */
#include "mdf_c/base/source_text.h"

#include "mdf_c/base/text.h"

#include <string.h>

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool begins_name(char c)
{
    return mdf_is_word(c) && !mdf_is_digit(c);
}

/* ------------------------------------------------------------------ places */

/* The first character: a byte order mark is none. */
static struct mdf_source_mark first_mark(const struct mdf_source *source)
{
    bool is_marked = source->size >= 3 && memcmp(source->bytes, "\xef\xbb\xbf", 3) == 0;

    return (struct mdf_source_mark){is_marked ? 3 : 0, 1, 1};
}

/* Moves a mark to a later byte. */
static void move_mark(const struct mdf_source *source, struct mdf_source_mark *mark, size_t byte)
{
    const char *newline;

    while ((newline = memchr(source->bytes + mark->byte, '\n', byte - mark->byte)) != NULL) {
        *mark = (struct mdf_source_mark){(size_t)(newline - source->bytes) + 1, mark->line + 1, 1};
    }
    mark->column += mdf_source_count(source->bytes + mark->byte, byte - mark->byte);
    mark->byte = byte;
}

void mdf_source_mark(struct mdf_source *source, struct mdf_arena *arena)
{
    enum { APART = 1024 };
    struct mdf_source_mark *marks = mdf_arena_allocate(arena, (source->size / APART + 1) * sizeof *marks);
    struct mdf_source_mark at = first_mark(source);
    size_t n = 0;

    while (marks != NULL && source->size - at.byte > APART) {
        size_t next = at.byte + APART;

        while (next < source->size && continues(source->bytes[next])) {
            next++;
        }
        move_mark(source, &at, next);
        marks[n++] = at;
    }
    source->marks = marks;
    source->n_marks = n;
}

/* The last mark that does not stand behind a place. */
static struct mdf_source_mark mark_before(const struct mdf_source *source, int line, int column)
{
    size_t low = 0, high = source->n_marks;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mdf_source_mark *mark = &source->marks[middle];

        if (mark->line < line || (mark->line == line && mark->column <= column)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? source->marks[low - 1] : first_mark(source);
}

/* The character at a place, or the end of its line; NULL: there is no such line. */
static const char *find_character(const struct mdf_source *source, int line, int column)
{
    const char *end = source->bytes != NULL ? source->bytes + source->size : NULL, *at;
    struct mdf_source_mark mark;

    if (end == NULL || line < 1) {
        return NULL;
    }
    mark = mark_before(source, line, column);
    for (at = source->bytes + mark.byte; mark.line < line; mark.line++, mark.column = 1, at++) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL) {
            return NULL;
        }
    }
    for (; mark.column < column && at < end && *at != '\n'; mark.column++) {
        for (at++; at < end && continues(*at); at++) {
        }
    }
    return at;
}

/* ------------------------------------------------------------------ lines and words */

bool mdf_source_find_line(const struct mdf_source *source, int line, int column, struct mdf_source_line *found)
{
    enum { REACH = 1 << 14 };
    const char *at = find_character(source, line, column), *first, *end;

    if (at == NULL) {
        return false;
    }
    first = source->bytes + first_mark(source).byte;
    end = source->bytes + source->size;
    for (found->bytes = at; found->bytes > first && found->bytes[-1] != '\n' && at - found->bytes < REACH; found->bytes--) {
    }
    found->at = (size_t)(at - found->bytes);
    for (found->length = found->at; at < end && *at != '\n' && found->length - found->at < REACH; at++) {
        found->length++;
    }
    if (found->length > 0 && found->bytes[found->length - 1] == '\r') {
        found->length--;
    }
    found->at = found->at < found->length ? found->at : found->length;
    return true;
}

size_t mdf_source_byte_of(const char *line, size_t length, int column)
{
    size_t at = 0;

    while (column > 1 && at < length) {
        for (at++; at < length && continues(line[at]); at++) {
        }
        column--;
    }
    return at;
}

int mdf_source_count(const char *bytes, size_t length)
{
    int n = 0;

    for (size_t i = 0; i < length; i++) {
        n += !continues(bytes[i]);
    }
    return n;
}

/* Bytes up to behind the quote that ends what begins with one; to the end of the line where there is none. */
static size_t quoted_length(const char *text, size_t length)
{
    size_t i;

    for (i = 1; i < length && text[i] != text[0]; i++) {
        i += text[0] == '"' && text[i] == '\\';
    }
    return i < length ? i + 1 : length;
}

/* Whether a quote ends a text that begins before it on the line. */
static bool closes_text(const char *line, size_t at)
{
    size_t i = 0;

    while (i < at) {
        i += line[i] == '"' || line[i] == '\'' ? quoted_length(line + i, at + 1 - i) : 1;
    }
    return i == at + 1;
}

size_t mdf_source_word(const char *line, size_t length, size_t at)
{
    size_t end = at;

    if (at >= length) {
        return 0;
    }
    if (line[at] == '"' || line[at] == '\'') {
        return closes_text(line, at) ? 1 : quoted_length(line + at, length - at);
    }
    if (begins_name(line[at])) {
        while (end < length && (mdf_is_word(line[end]) || (line[end] == '.' && end + 1 < length && begins_name(line[end + 1])) ||
                                (line[end] == ':' && end + 2 < length && line[end + 1] == ':' && begins_name(line[end + 2])))) {
            end += line[end] == ':' ? 2 : 1;
        }
        return end - at;
    }
    if (mdf_is_digit(line[at])) {
        while (end < length && (mdf_is_word(line[end]) || line[end] == '.')) {
            end++;
        }
        return end - at;
    }
    for (end++; end < length && continues(line[end]); end++) {
    }
    return end - at;
}

/* ------------------------------------------------------------------ where a byte of a value is written */

/* How a scalar is written. */
enum style { STYLE_PLAIN, STYLE_SINGLE, STYLE_DOUBLE, STYLE_ANY };

struct cursor {
    const char *at, *end;
    int line, column;
    enum style style;
};

static void pass(struct cursor *cursor, size_t n)
{
    for (; n > 0 && cursor->at < cursor->end; n--, cursor->at++) {
        if (*cursor->at == '\n') {
            cursor->line++;
            cursor->column = 1;
        } else {
            cursor->column += cursor->at + 1 >= cursor->end || !continues(cursor->at[1]);
        }
    }
}

static void pass_spaces(struct cursor *cursor)
{
    while (cursor->at < cursor->end && is_space(*cursor->at)) {
        pass(cursor, 1);
    }
}

static void pass_line(struct cursor *cursor)
{
    while (cursor->at < cursor->end && *cursor->at != '\n') {
        pass(cursor, 1);
    }
}

/* Hexadecimal digits of an escape; false: they are not there. */
static bool read_digits(const char *at, const char *end, size_t n, uint32_t *code)
{
    *code = 0;
    for (size_t i = 0; i < n; i++) {
        char c = at + i < end ? at[i] : '\0', low = (char)(c | 0x20);

        if (!mdf_is_digit(c) && (low < 'a' || low > 'f')) {
            return false;
        }
        *code = *code * 16 + (uint32_t)(mdf_is_digit(c) ? c - '0' : low - 'a' + 10);
    }
    return true;
}

/* The character that an escape stands for, in UTF-8: its length, and how many bytes it is written with; 0: it is none. */
static size_t read_escape(const struct cursor *cursor, char out[4], size_t *n_read)
{
    static const char letters[] = "ntrbfave0N_LP";
    static const uint32_t codes[] = {'\n', '\t', '\r', '\b', '\f', '\a', '\v', 27, 0, 0x85, 0xa0, 0x2028, 0x2029};
    const char *at = cursor->at + 1, *letter;
    uint32_t code, second;
    size_t n = 0;

    if (at >= cursor->end) {
        return 0;
    }
    n = *at == 'x' ? 2 : *at == 'u' ? 4 : *at == 'U' ? 8 : 0;
    *n_read = 2 + n;
    if (n > 0) {
        if (!read_digits(at + 1, cursor->end, n, &code)) {
            return 0;
        }
        if (code >= 0xd800 && code < 0xdc00 && at + 6 < cursor->end && at[5] == '\\' && at[6] == 'u' &&
            read_digits(at + 7, cursor->end, 4, &second)) {
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
            *n_read += 6;
        }
        return code <= 0x10ffff ? mdf_utf8_encode(code, out) : 0;
    }
    letter = strchr(letters, *at);
    return mdf_utf8_encode(letter != NULL ? codes[letter - letters] : (unsigned char)*at, out);
}

static bool at_escape(const struct cursor *cursor, char expected)
{
    return *cursor->at == '\\' && (cursor->style == STYLE_DOUBLE || (cursor->style == STYLE_ANY && expected != '\\'));
}

/* Passes white space, be it written as such or as escapes; false: there is none. */
static bool pass_white(struct cursor *cursor)
{
    const char *start = cursor->at;
    size_t n_read, n;
    char out[4];

    while (cursor->at < cursor->end) {
        if (is_space(*cursor->at)) {
            pass(cursor, 1);
            continue;
        }
        if (!at_escape(cursor, ' ')) {
            break;
        }
        n = read_escape(cursor, out, &n_read);
        if (n != 1 || !is_space(out[0])) {
            break;
        }
        pass(cursor, n_read);
    }
    return cursor->at > start;
}

/* Passes what stands for the next bytes of the value; how many. 0: something else stands here. */
static size_t pass_value(struct cursor *cursor, const char *value)
{
    size_t n_read, n = 0;
    char out[4];

    if (cursor->at >= cursor->end) {
        return 0;
    }
    if (at_escape(cursor, *value)) {
        n = read_escape(cursor, out, &n_read);
        if (n == 0 || strncmp(out, value, n) != 0) {
            return 0;
        }
        pass(cursor, n_read);
        return n;
    }
    if (*cursor->at != *value) {
        return 0;
    }
    pass(cursor, cursor->style == STYLE_SINGLE && *value == '\'' ? 2 : 1);
    return 1;
}

/* Follows a value through the text; *cursor is then behind it, *found where its byte `offset` is written. */
static bool follow(struct cursor *cursor, const char *value, size_t offset, struct cursor *found)
{
    size_t length = strlen(value), i = 0, n;

    while (i < length) {
        if (i == offset) {
            *found = *cursor;
        }
        if (is_space(value[i])) { /* folded or indented: so much white space here, so much there */
            for (; i < length && is_space(value[i]); i++) {
                if (i == offset) {
                    *found = *cursor;
                }
            }
            if (!pass_white(cursor) && i < length) {
                return false;
            }
            continue;
        }
        n = pass_value(cursor, value + i);
        if (n == 0) {
            return false;
        }
        if (offset > i && offset < i + n) {
            *found = *cursor;
        }
        i += n;
    }
    if (offset >= length) {
        *found = *cursor;
    }
    return true;
}

/* Goes to the first character of what a scalar holds. */
static void enter_scalar(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == '&' || *cursor->at == '!')) { /* an anchor, a tag */
        while (cursor->at < cursor->end && !is_space(*cursor->at)) {
            pass(cursor, 1);
        }
        pass_spaces(cursor);
    }
    cursor->style = STYLE_PLAIN;
    if (cursor->at < cursor->end && (*cursor->at == '"' || *cursor->at == '\'')) {
        cursor->style = *cursor->at == '"' ? STYLE_DOUBLE : STYLE_SINGLE;
        pass(cursor, 1);
    } else if (cursor->at < cursor->end && (*cursor->at == '|' || *cursor->at == '>')) {
        pass_line(cursor);
        pass_spaces(cursor);
    }
}

/* Whether the value may begin here: asked of thousands of characters before one is followed. */
static bool may_begin(const struct cursor *cursor, const char *value)
{
    return *cursor->at == *value || *cursor->at == '\\' || is_space(*value);
}

/* Where a part of what the scalar holds stands as a word. */
static bool search(struct cursor cursor, const char *part, size_t offset, struct cursor *found)
{
    enum { MOST_SEARCHED = 1 << 16 };
    const char *start = cursor.at, *quote = cursor.style == STYLE_DOUBLE ? "\"" : "'";
    bool is_quoted = cursor.style == STYLE_DOUBLE || cursor.style == STYLE_SINGLE;

    for (cursor.style = STYLE_ANY; cursor.at < cursor.end && cursor.at - start < MOST_SEARCHED; pass(&cursor, 1)) {
        struct cursor trial = cursor;

        if (is_quoted && *cursor.at == *quote && (*quote == '\'' || cursor.at[-1] != '\\')) {
            break;
        }
        if (may_begin(&cursor, part) && (cursor.at == start || !mdf_is_word(cursor.at[-1]) || !mdf_is_word(*part)) &&
            follow(&trial, part, offset, found) &&
            (trial.at >= trial.end || !mdf_is_word(*trial.at) || !mdf_is_word(trial.at[-1]))) {
            return true;
        }
    }
    return false;
}

bool mdf_source_locate(const struct mdf_source *source, const char *value, size_t offset, int *line, int *column)
{
    struct cursor cursor = {NULL, NULL, *line, *column, STYLE_PLAIN}, trial, found;

    cursor.at = *value != '\0' && *column >= 1 ? find_character(source, *line, *column) : NULL;
    if (cursor.at == NULL) {
        return false;
    }
    cursor.end = source->bytes + source->size;
    enter_scalar(&cursor);
    trial = cursor;
    if (!follow(&trial, value, offset, &found) && !search(cursor, value, offset, &found)) {
        return false;
    }
    *line = found.line;
    *column = found.column;
    return true;
}
