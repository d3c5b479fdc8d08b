/* error.c - see error.h. */
#include "mdf_c/base/error.h"

#include "mdf_c/base/utf8.h"

#include <stdio.h>
#include <string.h>

/* All that stands in an error gets there by this function. Names and texts of a file may hold what a terminal obeys: it is shown,
 * not done. */
static void write_visibly(char *out, size_t size, const char *format, va_list arguments) MDF_PRINTF_LIKE(3, 0);

static void write_visibly(char *out, size_t size, const char *format, va_list arguments)
{
    char text[sizeof((mdf_error *)0)->message];
    int length = vsnprintf(text, sizeof text, format, arguments);

    if (length >= (int)sizeof text) { /* the last character may have been cut */
        size_t end = sizeof text - 1;

        while (end > 0 && ((unsigned char)text[end - 1] & 0xc0) == 0x80) {
            end--;
        }
        text[end - (end > 0 && ((unsigned char)text[end - 1] & 0x80) != 0)] = '\0';
    }
    mdf_visible_text(text, out, size);
}

const char *mdf_status_text(mdf_status status)
{
    static const char *const texts[] = {
#define MDF_STATUS_TEXT(name, text) text,
        MDF_STATUS_LIST(MDF_STATUS_TEXT)
#undef MDF_STATUS_TEXT
    };

    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}

mdf_status mdf_error_set_v(mdf_error *error, mdf_status status, const char *format, va_list arguments)
{
    if (error != NULL && error->code == MDF_OK) {
        error->code = status;
        write_visibly(error->message, sizeof error->message, format, arguments);
    }
    return status;
}

mdf_status mdf_error_set(mdf_error *error, mdf_status status, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    mdf_error_set_v(error, status, format, arguments);
    va_end(arguments);
    return status;
}

void mdf_error_at(mdf_error *error, const char *file, int line, int column)
{
    if (error == NULL || error->code == MDF_OK) {
        return;
    }
    if (error->file[0] == '\0' && file != NULL) {
        mdf_visible_text(file, error->file, sizeof error->file);
    }
    if (error->line == 0) {
        error->line = line;
        error->column = column;
    }
}

void mdf_error_in(mdf_error *error, const char *format, ...)
{
    va_list arguments;

    if (error != NULL && error->code != MDF_OK && error->path[0] == '\0') {
        va_start(arguments, format);
        write_visibly(error->path, sizeof error->path, format, arguments);
        va_end(arguments);
    }
}

void mdf_error_append(mdf_error *error, const char *format, ...)
{
    va_list arguments;
    size_t length;

    if (error == NULL || error->code == MDF_OK) {
        return;
    }
    length = strlen(error->message);
    va_start(arguments, format);
    write_visibly(error->message + length, sizeof error->message - length, format, arguments);
    va_end(arguments);
}

void mdf_error_suggest(mdf_error *error, const char *guess)
{
    if (guess != NULL) {
        mdf_error_append(error, "; did you mean '%s'?", guess);
    }
}

size_t mdf_error_format(const mdf_error *error, char *text, size_t size)
{
    char position[320] = "";
    int length;

    size = text != NULL ? size : 0;
    if (error == NULL) {
        snprintf(text, size, "%s", "");
        return 0;
    }
    if (error->file[0] != '\0' && error->line > 0) {
        snprintf(position, sizeof position, "%.*s:%d:%d: ", (int)sizeof error->file - 1, error->file, error->line, error->column);
    } else if (error->file[0] != '\0') {
        snprintf(position, sizeof position, "%.*s: ", (int)sizeof error->file - 1, error->file);
    }
    /* With the length that each may have: the caller's error may never have been written. */
    length = snprintf(text, size, "%serror: %.*s%s%.*s", position, (int)sizeof error->path - 1, error->path,
                      error->path[0] != '\0' ? ": " : "", (int)sizeof error->message - 1,
                      error->message[0] != '\0' ? error->message : mdf_status_text(error->code));
    return length < 0 ? 0 : (size_t)length;
}

void mdf_nearest_begin(struct mdf_nearest *nearest, const char *name)
{
    nearest->name = name;
    nearest->best = NULL;
    nearest->best_distance = strlen(name) / 3 + 1;
}

enum { NEAREST_LENGTH = 63 };

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Edits that make one text of the other, letter case aside: a character more, less or another, or two that change places. Texts
 * of at most NEAREST_LENGTH bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t rows[3][NEAREST_LENGTH + 1], length = strlen(b), i, j;

    for (j = 0; j <= length; j++) {
        rows[0][j] = j;
    }
    for (i = 1; a[i - 1] != '\0'; i++) {
        size_t *row = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        row[0] = i;
        for (j = 1; j <= length; j++) {
            size_t cost = last[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));

            cost = last[j] + 1 < cost ? last[j] + 1 : cost;
            cost = row[j - 1] + 1 < cost ? row[j - 1] + 1 : cost;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                before[j - 2] + 1 < cost) {
                cost = before[j - 2] + 1;
            }
            row[j] = cost;
        }
    }
    return rows[strlen(a) % 3][length];
}

/* What stands behind the last '.' or ':' of a name. */
static const char *last_part(const char *name)
{
    const char *part = name;

    for (; *name != '\0'; name++) {
        part = (*name == '.' || *name == ':') && name[1] != '\0' ? name + 1 : part;
    }
    return part;
}

/* "exp" for "numpy.exp", "torch.relu" for "onnx::Relu": the name in another domain. */
static bool has_same_last_part(const char *name, const char *candidate)
{
    const char *part = last_part(name), *candidate_part = last_part(candidate);

    return candidate_part != candidate && strlen(part) > 1 && strlen(part) == strlen(candidate_part) &&
           distance(part, candidate_part) == 0;
}

void mdf_nearest_offer(struct mdf_nearest *nearest, const char *candidate)
{
    size_t length = strlen(nearest->name), candidate_length = strlen(candidate), longer, shorter, d;

    if (length > NEAREST_LENGTH || candidate_length > NEAREST_LENGTH) {
        return;
    }
    if (has_same_last_part(nearest->name, candidate)) {
        if (nearest->best == NULL || nearest->best_distance > 1 ||
            distance(nearest->name, candidate) < distance(nearest->name, nearest->best)) {
            nearest->best = candidate;
            nearest->best_distance = 1;
        }
        return;
    }
    d = distance(nearest->name, candidate);
    longer = length > candidate_length ? length : candidate_length;
    shorter = length + candidate_length - longer;
    if ((2 * d >= longer && d != longer - shorter) || d > shorter) {
        return; /* half of it is another: a guess, no likeness */
    }
    if (d < nearest->best_distance || (d == nearest->best_distance && nearest->best == NULL)) {
        nearest->best = candidate;
        nearest->best_distance = d;
    }
}

const char *mdf_nearest_result(const struct mdf_nearest *nearest)
{
    return nearest->best;
}

/* ------------------------------------------------------------------ paths of places */

/* Every node, port and function that is read or compiled is entered: there is no printf in it. */
static size_t put(char *path, size_t used, size_t size, const char *text)
{
    size_t length = strlen(text), room = size - 1 - used;

    length = length < room ? length : room;
    memcpy(path + used, text, length);
    return used + length;
}

size_t mdf_place_path_enter(char *path, size_t size, const char *what, const char *id)
{
    size_t before = strlen(path), used = before;

    used = put(path, used, size, used > 0 ? ", " : "");
    used = put(path, used, size, what);
    used = put(path, used, size, " '");
    used = put(path, used, size, id);
    used = put(path, used, size, "'");
    path[before + mdf_utf8_valid_length(path + before, used - before)] = '\0';
    return before;
}
