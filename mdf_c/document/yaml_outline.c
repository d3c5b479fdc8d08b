/* yaml_outline.c - see yaml_outline.h. One pass over the file finds the runs; none of it is read twice. */
#include "mdf_c/document/yaml_outline.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_RUN_BYTES = 32,     /* a shorter one costs libyaml little */
    LEAST_SAVED_BYTES = 4096, /* with less in all the outline costs more than it saves */
    MAX_INTEGER_DIGITS = 18   /* that surely fit int64 */
};

/* A bracket that is open. */
struct bracket {
    const char *inside;
    size_t n_runs; /* that there were before it */
};

struct outliner {
    struct mdf_memory *memory;
    const char *end; /* of the file */
    struct mdf_yaml_outline *outline;
    bool failed;
    struct bracket brackets[MDF_DOCUMENT_MAX_DEPTH];
};

/* ------------------------------------------------------------------ numbers */

static inline const char *skip_digits(const char *at, const char *end)
{
    while (at < end && (unsigned)(*at - '0') <= 9) {
        at++;
    }
    return at;
}

/* The end of the number that begins at `at`, NULL where none does. Forms that JSON, and YAML as a number, both have: others are
 * not for here. */
static inline const char *scan_number(const char *at, const char *end, bool *is_real)
{
    const char *digits, *point;

    at += at < end && *at == '-';
    digits = at;
    at = skip_digits(at, end);
    if (at == digits || (*digits == '0' && at - digits > 1)) {
        return NULL;
    }
    *is_real = at < end && *at == '.';
    if (!*is_real) {
        return at - digits <= MAX_INTEGER_DIGITS ? at : NULL;
    }
    point = at;
    at = skip_digits(at + 1, end);
    if (at == point + 1) {
        return NULL;
    }
    if (end - at > 2 && (*at | 0x20) == 'e') { /* YAML's exponents have a sign */
        digits = at + 2;
        at = at[1] == '-' || at[1] == '+' ? skip_digits(digits, end) : digits;
        return at > digits ? at : NULL;
    }
    return at;
}

/* ------------------------------------------------------------------ finding runs */

static void add_run(struct outliner *outliner, const char *begin, const char *end)
{
    struct mdf_yaml_outline *outline = outliner->outline;
    struct mdf_yaml_run *runs = outline->runs;

    if (end - begin < LEAST_RUN_BYTES || outliner->failed) {
        return;
    }
    if (outline->n_runs == outline->capacity) {
        runs = mdf_memory_grow(outliner->memory, runs, &outline->capacity, outline->n_runs + 1, sizeof *runs);
        if (runs == NULL) {
            outliner->failed = true;
            return;
        }
        outline->runs = runs;
    }
    runs[outline->n_runs++] = (struct mdf_yaml_run){begin, end};
}

static inline const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n')) {
        at++;
    }
    return at;
}

/* From a '[' as far as there are lists of numbers; what lies within the outermost ones that close becomes runs. Returns where it
 * stopped. */
static const char *take_flow(struct outliner *outliner, const char *at)
{
    const char *end = outliner->end, *after;
    bool expects_item = true, is_real;
    size_t depth = 0;

    do {
        struct bracket *bracket = &outliner->brackets[depth];

        if (expects_item && *at == '[') {
            if (depth == MDF_DOCUMENT_MAX_DEPTH) {
                return at;
            }
            *bracket = (struct bracket){at + 1, outliner->outline->n_runs};
            depth++;
            at++;
        } else if (expects_item) {
            after = scan_number(at, end, &is_real);
            if (after == NULL) {
                return at;
            }
            at = after;
            expects_item = false;
        } else if (*at == ',') {
            expects_item = true;
            at++;
        } else if (*at == ']') {
            depth--;
            bracket--;
            outliner->outline->n_runs = bracket->n_runs; /* those within are part of this one */
            add_run(outliner, bracket->inside, at);
            at++;
        } else {
            return at;
        }
        after = at;
        at = depth > 0 ? skip_blanks(at, end) : at;
    } while (depth > 0 && at < end);
    return at;
}

/* The end of a line "- 1.5" whose dash stands `indent` characters into it, without its line break; NULL where it is none. */
static inline const char *scan_item(const char *line, const char *end, size_t indent)
{
    const char *after;
    bool is_real;

    if ((size_t)(end - line) < indent + 3) {
        return NULL;
    }
    for (size_t i = 0; i < indent; i++) {
        if (line[i] != ' ') {
            return NULL;
        }
    }
    if (line[indent] != '-' || line[indent + 1] != ' ') {
        return NULL;
    }
    after = scan_number(line + indent + 2, end, &is_real);
    return after != NULL && after < end && *after == '\n' ? after : NULL;
}

/* From the beginning of a line "- 1.5", or "- - 1.5" of which the last dash counts, as far as there are such lines. Returns where
 * it stopped; the beginning where it is no such line. */
static const char *take_block(struct outliner *outliner, const char *line)
{
    const char *end = outliner->end, *dash = NULL, *at = line, *begin, *after;
    size_t indent;
    bool is_real;

    while (end - at > 2 && (*at == ' ' || (*at == '-' && at[1] == ' '))) {
        dash = *at == '-' ? at : dash;
        at++;
    }
    if (dash == NULL || at != dash + 2) {
        return line;
    }
    indent = (size_t)(dash - line);
    begin = at;
    after = scan_number(at, end, &is_real);
    if (after == NULL || after == end || *after != '\n') {
        return line;
    }
    do {
        at = after;
        after = scan_item(at + 1, end, indent);
    } while (after != NULL);
    add_run(outliner, begin, at);
    return at + 1;
}

static void find_runs(struct outliner *outliner, const char *at)
{
    const char *end = outliner->end, *bracket, *line_break, *after;

    while (at < end && !outliner->failed) {
        after = take_block(outliner, at);
        if (after != at) {
            at = after;
            continue;
        }
        line_break = memchr(at, '\n', (size_t)(end - at));
        line_break = line_break != NULL ? line_break : end;
        while (at < line_break) {
            bracket = memchr(at, '[', (size_t)(line_break - at));
            if (bracket == NULL) {
                break;
            }
            at = take_flow(outliner, bracket);
        }
        at = at > line_break ? at : line_break + 1;
    }
}

/* ------------------------------------------------------------------ the outline */

/* Whether the file has the word that stands for runs. */
static bool has_word(const char *at, const char *end)
{
    const size_t length = sizeof MDF_YAML_RUN_WORD - 1;

    for (; (size_t)(end - at) >= length && (at = memchr(at, *MDF_YAML_RUN_WORD, (size_t)(end - at))) != NULL; at++) {
        if ((size_t)(end - at) >= length && memcmp(at, MDF_YAML_RUN_WORD, length) == 0) {
            return true;
        }
    }
    return false;
}

void mdf_yaml_outline_release(struct mdf_yaml_outline *outline)
{
    mdf_memory_release(outline->text.memory, outline->runs);
    mdf_text_release(&outline->text);
}

bool mdf_yaml_outline_make(struct mdf_memory *memory, const char *bytes, size_t size_bytes, struct mdf_yaml_outline *outline)
{
    struct outliner outliner = {.memory = memory, .end = bytes + size_bytes, .outline = outline};
    const char *at = bytes;
    size_t saved = 0;

    *outline = (struct mdf_yaml_outline){.n_runs = 0};
    mdf_text_init(&outline->text, memory);
    if (size_bytes < LEAST_SAVED_BYTES) {
        return false;
    }
    find_runs(&outliner, bytes);
    for (size_t i = 0; i < outline->n_runs; i++) {
        saved += (size_t)(outline->runs[i].end - outline->runs[i].begin);
    }
    if (outliner.failed || saved < LEAST_SAVED_BYTES || has_word(bytes, outliner.end)) {
        return false;
    }
    for (size_t i = 0; i < outline->n_runs; i++) {
        mdf_text_append(&outline->text, at, (size_t)(outline->runs[i].begin - at));
        mdf_text_append_string(&outline->text, MDF_YAML_RUN_WORD);
        at = outline->runs[i].end;
    }
    mdf_text_append(&outline->text, at, (size_t)(outliner.end - at));
    return !outline->text.failed;
}

/* ------------------------------------------------------------------ numbers of a run */

static bool add_number(struct mdf_tree *tree, const char *at, const char *after, bool is_real, uint32_t line, uint32_t column)
{
    bool negative = *at == '-';
    uint64_t bits = 0;
    double real;

    at += negative;
    if (is_real) {
        real = mdf_parse_real(at, (size_t)(after - at));
        if (isnan(real)) {
            return mdf_tree_out_of_memory(tree);
        }
        real = negative ? -real : real;
        memcpy(&bits, &real, sizeof bits);
        return mdf_tree_add_number(tree, MDF_DTYPE_FLOAT64, bits, line, column);
    }
    for (; at < after; at++) {
        bits = bits * 10 + (uint64_t)(*at - '0');
    }
    return mdf_tree_add_number(tree, MDF_DTYPE_INT64, negative ? 0 - bits : bits, line, column);
}

bool mdf_yaml_run_add(struct mdf_tree *tree, const struct mdf_yaml_run *run, uint32_t *line, uint32_t *column)
{
    const char *at = run->begin, *line_start = at, *after;
    uint32_t first = *column;
    struct mdf_node node;
    bool is_real = false;

    while (at < run->end) {
        after = at + 1;
        *column = first + (uint32_t)(at - line_start);
        if (*at == '\n') {
            ++*line;
            line_start = after;
            first = 1;
        } else if (*at == '[') {
            if (!mdf_tree_open(tree, MDF_NODE_LIST, *line, *column)) {
                return false;
            }
        } else if (*at == ']') {
            if (!mdf_tree_close(tree, &node, false) || !mdf_tree_add(tree, &node)) {
                return false;
            }
        } else if (*at != ' ' && *at != ',' && !(*at == '-' && at[1] == ' ')) {
            after = scan_number(at, run->end, &is_real);
            if (!add_number(tree, at, after, is_real, *line, *column)) {
                return false;
            }
        }
        at = after;
    }
    *column = first + (uint32_t)(at - line_start);
    return true;
}
