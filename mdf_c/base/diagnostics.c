/* diagnostics.c - see diagnostics.h. */
#include "mdf_c/base/diagnostics.h"

#include "mdf_c/base/error.h"
#include "mdf_c/base/memory.h"
#include "mdf_c/base/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a line that is shown: characters, and how many of them stand before the place at most where it is cut. */
enum { MOST_SHOWN = 120, MOST_BEFORE = 70, MOST_WARNINGS = 10000 };

struct entry {
    mdf_severity severity;
    mdf_error error;
    int end_column, source_column;
    size_t number; /* in the order in which they came */
    bool has_source;
    char code[32];
    char suggestion[128];
    char source[4 * (MOST_SHOWN + 6) + 1];
};

struct mdf_diagnostics {
    struct mdf_memory memory;
    struct entry errors[MDF_MOST_ERRORS];
    size_t n_errors;
    struct entry *warnings;
    size_t n_warnings, capacity;
    struct mdf_source source;
};

mdf_diagnostics *mdf_diagnostics_new(const mdf_allocator *allocator, mdf_error *error)
{
    struct mdf_memory memory;
    struct mdf_diagnostics *list;

    if (allocator != NULL && (allocator->allocate == NULL || allocator->reallocate == NULL || allocator->release == NULL)) {
        mdf_error_set(error, MDF_USAGE, "mdf_allocator: all three functions are required");
        return NULL;
    }
    mdf_memory_init(&memory, allocator, 0);
    list = mdf_memory_allocate_zeroed(&memory, 1, sizeof *list);
    if (list == NULL) {
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    mdf_memory_init(&list->memory, allocator, 0);
    return list;
}

void mdf_diagnostics_free(mdf_diagnostics *list)
{
    struct mdf_memory memory;

    if (list != NULL) {
        mdf_memory_release(&list->memory, list->warnings);
        mdf_memory_init(&memory, &list->memory.allocator, 0);
        mdf_memory_release(&memory, list);
    }
}

void mdf_diagnostics_clear(mdf_diagnostics *list)
{
    if (list != NULL) {
        list->n_errors = list->n_warnings = 0;
    }
}

size_t mdf_diagnostics_length(const mdf_diagnostics *list)
{
    return list != NULL ? list->n_errors + list->n_warnings : 0;
}

size_t mdf_diagnostics_n_errors(const mdf_diagnostics *list)
{
    return list != NULL ? list->n_errors : 0;
}

bool mdf_diagnostics_get(const mdf_diagnostics *list, size_t index, mdf_diagnostic *diagnostic)
{
    const struct entry *entry;

    if (index >= mdf_diagnostics_length(list)) {
        return false;
    }
    entry = index < list->n_warnings ? &list->warnings[index] : &list->errors[index - list->n_warnings];
    if (diagnostic != NULL) {
        *diagnostic = (mdf_diagnostic){
            .severity = entry->severity,
            .code = entry->code,
            .line = entry->error.line,
            .column = entry->error.column,
            .end_column = entry->end_column,
            .file = entry->error.file,
            .path = entry->error.path,
            .message = entry->error.message[0] != '\0' ? entry->error.message : mdf_status_text(entry->error.code),
            .suggestion = entry->suggestion[0] != '\0' ? entry->suggestion : NULL,
            .source = entry->has_source ? entry->source : NULL,
            .source_column = entry->source_column,
        };
    }
    return true;
}

void mdf_diagnostics_look_at(struct mdf_diagnostics *list, const struct mdf_source *source)
{
    if (list != NULL) {
        list->source = source != NULL ? *source : (struct mdf_source){NULL};
    }
}

struct mdf_source mdf_diagnostics_source(const struct mdf_diagnostics *list)
{
    return list->source;
}

/* ------------------------------------------------------------------ what an entry holds beside the error */

/* What a message suggests: mdf_error_suggest ends it so. */
static void find_suggestion(const char *message, char *out, size_t size)
{
    static const char begin[] = "; did you mean '";
    const char *at = NULL, *next, *end;

    for (next = strstr(message, begin); next != NULL; next = strstr(next + 1, begin)) {
        at = next + sizeof begin - 1;
    }
    end = at != NULL ? strstr(at, "'?") : NULL;
    if (end != NULL && (size_t)(end - at) < size) {
        memcpy(out, at, (size_t)(end - at));
        out[end - at] = '\0';
    }
}

/* The word of a code: that of its status in small letters. */
static void name_code(mdf_status status, char *out, size_t size)
{
    static const char *const names[] = {
#define NAME_OF(name, text) #name,
        MDF_STATUS_LIST(NAME_OF)
#undef NAME_OF
    };

    snprintf(out, size, "%s", (size_t)status < sizeof names / sizeof *names ? names[status] : "");
    for (size_t i = 0; out[i] != '\0'; i++) {
        out[i] = out[i] == '_' ? '-' : (char)tolower((unsigned char)out[i]);
    }
}

/* Bytes of `n` characters before a place of a line. */
static size_t step_back(const char *line, size_t at, size_t n)
{
    for (; n > 0 && at > 0; n--) {
        for (at--; at > 0 && ((unsigned char)line[at] & 0xc0) == 0x80; at--) {
        }
    }
    return at;
}

/* Copies a part of a line, each character as one that is seen. */
static void copy_line(struct entry *entry, const char *line, size_t from, size_t to, size_t length)
{
    char *out = entry->source;

    out += sprintf(out, "%s", from > 0 ? "..." : "");
    while (from < to) {
        size_t n = mdf_utf8_sequence((const unsigned char *)line + from, length - from);

        if (n == 0 || mdf_is_hidden(mdf_utf8_decode((const unsigned char *)line + from, n))) {
            *out++ = line[from] == '\t' ? ' ' : '?';
            for (from += n > 0 ? n : 1; n == 0 && from < to && ((unsigned char)line[from] & 0xc0) == 0x80; from++) {
            }
            continue;
        }
        memcpy(out, line + from, n);
        out += n;
        from += n;
    }
    sprintf(out, "%s", to < length ? "..." : "");
}

/* The line of the file, with the word that stands at the place. */
static void show_source(struct entry *entry, const struct mdf_source *source)
{
    struct mdf_source_line line;
    size_t word, from, to;

    if (source->given != NULL && strcmp(entry->error.file, MDF_GIVEN_FILE) == 0) {
        source = source->given;
    }
    if (entry->error.file[0] == '\0' || entry->error.column < 1 ||
        !mdf_source_find_line(source, entry->error.line, entry->error.column, &line)) {
        return;
    }
    word = mdf_source_word(line.bytes, line.length, line.at);
    entry->end_column = entry->error.column + mdf_source_count(line.bytes + line.at, word);
    from = mdf_source_count(line.bytes, line.length) > MOST_SHOWN ? step_back(line.bytes, line.at, MOST_BEFORE) : 0;
    to = from + mdf_source_byte_of(line.bytes + from, line.length - from, MOST_SHOWN + 1);
    entry->source_column = mdf_source_count(line.bytes + from, line.at - from) + 1 + (from > 0 ? 3 : 0);
    entry->has_source = true;
    copy_line(entry, line.bytes, from, to, line.length);
}

/* ------------------------------------------------------------------ adding */

static bool is_same(const struct entry *entry, const mdf_error *error)
{
    return entry->error.line == error->line && entry->error.column == error->column &&
           strcmp(entry->error.message, error->message) == 0 && strcmp(entry->error.path, error->path) == 0;
}

static bool is_there(const struct entry *entries, size_t n, const mdf_error *error)
{
    size_t i;

    for (i = 0; i < n && !is_same(&entries[i], error); i++) {
    }
    return i < n;
}

static struct entry *new_entry(struct mdf_diagnostics *list, mdf_severity severity)
{
    struct entry *grown;

    if (severity == MDF_SEVERITY_ERROR) {
        return list->n_errors < MDF_MOST_ERRORS ? &list->errors[list->n_errors++] : NULL;
    }
    grown = list->n_warnings < MOST_WARNINGS
                ? mdf_memory_grow(&list->memory, list->warnings, &list->capacity, list->n_warnings + 1, sizeof *grown)
                : NULL;
    if (grown == NULL) {
        return NULL;
    }
    list->warnings = grown;
    return &list->warnings[list->n_warnings++];
}

void mdf_diagnostics_note(struct mdf_diagnostics *list, mdf_severity severity, const char *code, const mdf_error *diagnostic)
{
    struct entry *entry;

    if (is_there(severity == MDF_SEVERITY_ERROR ? list->errors : list->warnings,
                 severity == MDF_SEVERITY_ERROR ? list->n_errors : list->n_warnings, diagnostic)) {
        return;
    }
    entry = new_entry(list, severity);
    if (entry == NULL) {
        return;
    }
    memset(entry, 0, sizeof *entry);
    entry->severity = severity;
    entry->error = *diagnostic;
    entry->number = mdf_diagnostics_length(list);
    if (code != NULL) {
        snprintf(entry->code, sizeof entry->code, "%s", code);
    } else {
        name_code(diagnostic->code, entry->code, sizeof entry->code);
    }
    find_suggestion(diagnostic->message, entry->suggestion, sizeof entry->suggestion);
    show_source(entry, &list->source);
}

bool mdf_diagnostics_take(struct mdf_diagnostics *list, mdf_error *error)
{
    if (list == NULL || error->code == MDF_OK || error->code == MDF_OUT_OF_MEMORY || error->code == MDF_LIMIT ||
        error->code == MDF_INTERRUPTED || error->code == MDF_FILE || error->code == MDF_USAGE) {
        return false;
    }
    mdf_diagnostics_note(list, MDF_SEVERITY_ERROR, NULL, error);
    if (list->n_errors >= MDF_MOST_ERRORS) {
        return false;
    }
    memset(error, 0, sizeof *error);
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->error.line != y->error.line) {
        return x->error.line < y->error.line ? -1 : 1;
    }
    if (x->error.column != y->error.column) {
        return x->error.column < y->error.column ? -1 : 1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

void mdf_diagnostics_settle(struct mdf_diagnostics *list, size_t n_before, mdf_error *error)
{
    if (list == NULL) {
        return;
    }
    if (error != NULL && error->code != MDF_OK) {
        mdf_diagnostics_note(list, MDF_SEVERITY_ERROR, NULL, error);
    }
    if (list->n_errors > n_before) {
        qsort(list->errors + n_before, list->n_errors - n_before, sizeof *list->errors, compare_places);
        if (error != NULL) {
            *error = list->errors[n_before].error;
        }
    }
    mdf_diagnostics_look_at(list, NULL);
}
