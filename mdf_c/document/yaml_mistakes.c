/* yaml_mistakes.c - see yaml_mistakes.h. libyaml says what its grammar wanted, and where it noticed; here stands what the writer
 * most probably forgot, and where that is missing, which may be a line above. */
#include "mdf_c/document/yaml_mistakes.h"

#include "mdf_c/base/source_text.h"

#include <stdio.h>
#include <string.h>

/* A line of the text, without what is blank at its ends. */
struct line {
    const char *start, *begin, *end;
    size_t number; /* from 1 */
};

/* What libyaml complains of: the text, the place that it names, the line of that, and that of what it was in. */
struct problem {
    const yaml_parser_t *parser;
    const char *bytes, *end;
    const char *at; /* the place in the text */
    struct line line, above, context;
};

/* ------------------------------------------------------------------ lines */

static struct line trim(const char *start, const char *end, size_t number)
{
    struct line line = {start, start, end, number};

    while (line.begin < line.end && *line.begin == ' ') {
        line.begin++;
    }
    while (line.end > line.begin && strchr(" \t\r", line.end[-1]) != NULL) {
        line.end--;
    }
    return line;
}

/* The line of that number, counted from 1; the last one where there are fewer. */
static struct line line_of_number(const struct problem *problem, size_t number)
{
    const char *start = problem->bytes, *end;
    size_t at = 1;

    for (;;) {
        end = memchr(start, '\n', (size_t)(problem->end - start));
        if (at == number || end == NULL) {
            return trim(start, end != NULL ? end : problem->end, at);
        }
        start = end + 1;
        at++;
    }
}

/* The last line above another that is neither blank nor a comment; an empty one where there is none. */
static struct line line_above(const struct problem *problem, const struct line *line)
{
    const char *end = line->start;
    size_t number = line->number;

    while (end > problem->bytes) {
        const char *start = --end;
        struct line found;

        while (start > problem->bytes && start[-1] != '\n') {
            start--;
        }
        found = trim(start, end, --number);
        if (found.begin < found.end && *found.begin != '#') {
            return found;
        }
        end = start;
    }
    return (struct line){problem->bytes, problem->bytes, problem->bytes, 0};
}

static unsigned indentation(const struct line *line)
{
    return (unsigned)(line->begin - line->start);
}

/* The place of a mark in its line, which may lie behind what is left of that without blanks. */
static const char *place_in(const struct line *line, const yaml_mark_t *mark, const char *end)
{
    return line->start + mdf_source_byte_of(line->start, (size_t)(end - line->start), (int)mark->column + 1);
}

/* Where a value begins in "key: value"; NULL: there is no ': ' in the line, or nothing behind it. `key_end`: its ':' or NULL. */
static const char *value_in(const struct line *line, const char **key_end)
{
    *key_end = NULL;
    for (const char *c = line->begin; c < line->end; c++) {
        if (*c == ':' && (c + 1 == line->end || c[1] == ' ')) {
            *key_end = c;
            return c + 1 < line->end ? c + 2 : NULL;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ which mistake it is */

static bool is_tab(const struct problem *problem)
{
    return problem->at < problem->end && *problem->at == '\t';
}

/* "graphs" alone on the line above this one, which has the first ':'. */
static bool colon_is_missing_above(const struct problem *problem)
{
    const char *key_end, *own_key_end;

    value_in(&problem->above, &key_end);
    value_in(&problem->line, &own_key_end);
    return problem->above.number > 0 && key_end == NULL && own_key_end == problem->at;
}

/* An entry under one that has its value on its own line: "a: 1", and indented below it "b: 2". */
static bool is_indented_too_far(const struct problem *problem)
{
    const char *key_end, *own_key_end;

    value_in(&problem->line, &own_key_end);
    return own_key_end == problem->at && value_in(&problem->above, &key_end) != NULL &&
           indentation(&problem->line) > indentation(&problem->above);
}

static bool stands_behind_value(const struct problem *problem)
{
    return problem->at > problem->line.begin && problem->at < problem->line.end;
}

/* What follows stands further left than where the bracket was opened. */
static bool is_never_closed(const struct problem *problem)
{
    return problem->line.number > problem->context.number &&
           (problem->at >= problem->end || indentation(&problem->line) <= indentation(&problem->context));
}

static bool is_second_colon(const struct problem *problem)
{
    return problem->at < problem->end && *problem->at == ':';
}

static size_t count_of(const struct line *line, char c)
{
    size_t n = 0;

    for (const char *at = line->begin; at < line->end; at++) {
        n += *at == c;
    }
    return n;
}

/* The text goes on to the quotes of a later line. */
static bool quotes_are_open(const struct problem *problem)
{
    return problem->line.number > problem->context.number && count_of(&problem->context, '"') % 2 == 1;
}

static bool has_no_dash(const struct problem *problem)
{
    return indentation(&problem->line) == problem->parser->context_mark.column;
}

static bool is_slashes(const struct problem *problem)
{
    return problem->end - problem->at >= 2 && problem->at[0] == '/' && problem->at[1] == '/';
}

static bool is_equals_sign(const struct problem *problem)
{
    return problem->at < problem->end && *problem->at == '=';
}

enum place { AT_PROBLEM, AT_CONTEXT, BEHIND_ABOVE };

/* In the texts: %L the place where what it is in began, %N how far that is indented, %I how far the line of the problem is, %C
 * the character there, %W the line above, %A how far that is indented, %B the bracket that was opened. The first row that fits
 * counts. */
static const struct mistake {
    const char *problem, *context; /* parts of libyaml's words; NULL: any */
    bool (*fits)(const struct problem *);
    enum place place;
    const char *text;
} mistakes[] = {
    {"cannot start any token", NULL, is_tab, AT_PROBLEM, "a tab stands here: YAML is indented with spaces, not with tabs"},
    {"did not find expected key", "block mapping", is_slashes, AT_PROBLEM, "a comment begins with '#' in YAML"},
    {"did not find expected key", "block mapping", stands_behind_value, AT_PROBLEM,
     "the value before it has ended, and '%C' follows: leave it out, or put the whole text into quotes"},
    {"did not find expected key", "block mapping", NULL, AT_PROBLEM,
     "this line does not fit the object that begins at %L: its entries are 'key: value', each on a line that is indented by %N, "
     "where this one is by %I"},
    {"did not find expected '-' indicator", NULL, has_no_dash, AT_PROBLEM,
     "an item of the list that begins at %L has no '- ' before it; entries of an object have none at all"},
    {"did not find expected '-' indicator", NULL, NULL, AT_PROBLEM,
     "this line does not fit the list that begins at %L: its items begin with '- ', each on a line that is indented by %N, where "
     "this one is by %I"},
    {"could not find expected ':'", NULL, NULL, AT_CONTEXT, "':' is missing behind this key"},
    {"mapping values are not allowed", NULL, colon_is_missing_above, BEHIND_ABOVE, "':' is missing behind '%W'"},
    {"mapping values are not allowed", NULL, is_indented_too_far, AT_PROBLEM,
     "this line is indented by %I, the entry above it by %A, and that has a value already: entries of one object begin in one "
     "column"},
    {"mapping values are not allowed", NULL, NULL, AT_PROBLEM,
     "a second ': ' on this line: put a text that has one into quotes, or an entry on a line of its own"},
    {"block sequence entries are not allowed", NULL, NULL, AT_PROBLEM,
     "a list can not begin here: its items begin with '- ', each on a line of its own under the key"},
    {"did not find expected ',' or", NULL, quotes_are_open, AT_CONTEXT,
     "a text in quotes is not closed on the line on which this '%B' opens"},
    {"did not find expected ',' or", NULL, is_equals_sign, AT_PROBLEM, "an entry is written 'key: value', not with '='"},
    {"did not find expected ',' or", NULL, is_never_closed, AT_CONTEXT, "this '%B' is not closed"},
    {"did not find expected ',' or ']'", NULL, NULL, AT_PROBLEM,
     "',' or ']' is expected here, in the list that opens at %L; a text with brackets, quotes or a comma is put into quotes as a "
     "whole"},
    {"did not find expected ',' or '}'", NULL, is_second_colon, AT_PROBLEM,
     "a second ':' in one entry of the object that opens at %L: is a ',' missing before it? A text with ': ' is put into quotes"},
    {"did not find expected ',' or '}'", NULL, NULL, AT_PROBLEM,
     "',' or '}' is expected here, in the object that opens at %L; a text with brackets, quotes or a comma is put into quotes as "
     "a whole"},
    {"unexpected end of stream", "quoted scalar", NULL, AT_CONTEXT, "this text in quotes is not closed"},
    {"unexpected document indicator", "quoted scalar", NULL, AT_CONTEXT, "this text in quotes is not closed"},
    {"did not find expected node content", NULL, NULL, AT_PROBLEM, "a value is expected here, not '%C'"},
    {"did not find expected <document start>", NULL, NULL, AT_PROBLEM,
     "the document has ended before this line: is it indented less than the first one, or was a bracket closed too early?"},
    {"unknown escape character", NULL, NULL, AT_PROBLEM,
     "'\\' begins an escape in double quotes, and this is none: use single quotes, or '\\\\'"},
    {"alphabetic or numeric character", NULL, NULL, AT_PROBLEM,
     "'&' and '*' begin names of anchors: put a text that begins so, or the whole expression, into quotes"},
    {"expected comment or line break", "block scalar", NULL, AT_CONTEXT,
     "'|' and '>' begin a text on the lines below: put a text that begins so into quotes"},
    {"found unexpected ':'", "plain scalar", NULL, AT_PROBLEM, "within { } and [ ] a text with ':' is put into quotes"},
    {"", "scanning a directive", NULL, AT_CONTEXT, "a line can not begin with '%%': put the text into quotes"},
    {"mapping keys are not allowed", NULL, NULL, AT_PROBLEM, "'? ' begins a key of YAML: put a text that begins so into quotes"},
    {"cannot start any token", NULL, NULL, AT_PROBLEM, "a value can not begin with '%C': put the text into quotes"},
};

/* ------------------------------------------------------------------ the message */

static void fill_in(const struct problem *problem, const char *words, char *text, size_t size)
{
    const yaml_mark_t *begin = &problem->parser->context_mark;
    const char *bracket = place_in(&problem->context, begin, problem->end);
    size_t used = 0;

    for (; *words != '\0' && used + 128 < size; words++) {
        char sign = *words == '%' ? *++words : '\0';
        const char *at = sign == 'B' ? bracket : problem->at;

        if (sign == 'L') {
            used += (size_t)snprintf(text + used, size - used, "%zu:%zu", begin->line + 1, begin->column + 1);
        } else if (sign == 'N' || sign == 'I' || sign == 'A') {
            used += (size_t)snprintf(text + used, size - used, "%u",
                                     sign == 'N'   ? (unsigned)begin->column
                                     : sign == 'I' ? indentation(&problem->line)
                                                   : indentation(&problem->above));
        } else if (sign == 'C' || sign == 'B') {
            used += (size_t)snprintf(text + used, size - used, "%c", (at < problem->end && *at > ' ' ? *at : ' '));
        } else if (sign == 'W') {
            size_t length = (size_t)(problem->above.end - problem->above.begin);

            used += (size_t)snprintf(text + used, size - used, "%.*s", (int)(length < 60 ? length : 60), problem->above.begin);
        } else {
            text[used++] = *words;
        }
        text[used] = '\0';
    }
}

static bool fits(const struct mistake *mistake, const struct problem *problem, const char *words, const char *context)
{
    return strstr(words, mistake->problem) != NULL && (mistake->context == NULL || strstr(context, mistake->context) != NULL) &&
           (mistake->fits == NULL || mistake->fits(problem));
}

static bool fail_by(struct mdf_tree *tree, const struct problem *problem, const struct mistake *mistake)
{
    const yaml_mark_t *mark = mistake->place == AT_CONTEXT ? &problem->parser->context_mark : &problem->parser->problem_mark;
    char text[600] = "";

    fill_in(problem, mistake->text, text, sizeof text);
    if (mistake->place == BEHIND_ABOVE) {
        return mdf_tree_fail(tree, MDF_SYNTAX, (uint32_t)problem->above.number, (uint32_t)mdf_source_count(problem->above.start, (size_t)(problem->above.end - problem->above.start)) + 1,
                             "%s", text);
    }
    return mdf_tree_fail(tree, MDF_SYNTAX, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1, "%s", text);
}

bool mdf_yaml_fail(struct mdf_tree *tree, const yaml_parser_t *parser, const char *bytes, size_t size_bytes)
{
    struct problem problem = {.parser = parser, .bytes = bytes, .end = bytes + size_bytes};
    const char *words = parser->problem != NULL ? parser->problem : "the YAML text is malformed";
    const char *context = parser->context != NULL ? parser->context : "";
    const yaml_mark_t *mark = &parser->problem_mark;

    problem.line = line_of_number(&problem, mark->line + 1);
    problem.at = place_in(&problem.line, mark, problem.end);
    problem.above = line_above(&problem, &problem.line);
    problem.context = line_of_number(&problem, parser->context_mark.line + 1);
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        if (fits(&mistakes[i], &problem, words, context)) {
            return fail_by(tree, &problem, &mistakes[i]);
        }
    }
    if (*context == '\0') {
        return mdf_tree_fail(tree, MDF_SYNTAX, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1, "%s", words);
    }
    return mdf_tree_fail(tree, MDF_SYNTAX, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1,
                         "%s (%.100s, which begins at %zu:%zu)", words, context, parser->context_mark.line + 1,
                         parser->context_mark.column + 1);
}

/* ------------------------------------------------------------------ what is read, but can not be meant */

/* The place of the first bracket `open` that the text does not close; NULL: there is none. */
static const char *find_open(const char *text, size_t length, char open, char close)
{
    const char *at[16];
    size_t n = 0;

    for (size_t i = 0; i < length; i++) {
        if (text[i] == open && n < sizeof at / sizeof *at) {
            at[n++] = text + i;
        } else if (text[i] == close && n > 0) {
            n--;
        }
    }
    return n > 0 ? at[0] : NULL;
}

static bool closes_more(const char *text, size_t length)
{
    int depth = 0;

    for (size_t i = 0; i < length && depth >= 0; i++) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    }
    return depth < 0;
}

/* The ':' of "value:gain", a word with a ':' and no space behind; NULL: it is none. A web address is none either. */
static const char *find_tight_colon(const char *text)
{
    const char *c = text + mdf_identifier_length(text);

    return c > text && *c == ':' && c[1] != '\0' && c[1] != ' ' && c[1] != ':' && strncmp(c, "://", 3) != 0 ? c : NULL;
}

static void warn(struct mdf_tree *tree, uint32_t line, uint32_t column, const char *message)
{
    mdf_warn(tree->warnings, tree->document->file, mdf_position(line), mdf_position(column), NULL, "%s", message);
}

static void warn_of_colon(struct mdf_tree *tree, const char *text, uint32_t line, uint32_t column)
{
    const char *colon = find_tight_colon(text);
    char message[160];

    if (colon != NULL) {
        snprintf(message, sizeof message, "a space is missing behind '%.*s': YAML takes all of it for one text",
                 mdf_clip(text, (size_t)(colon + 1 - text) < 60 ? (size_t)(colon + 1 - text) : 60), text);
        warn(tree, line, column + (uint32_t)(colon - text), message);
    }
}

static void look_at_key(struct mdf_tree *tree, const char *text, size_t length, uint32_t line, uint32_t column)
{
    const char *bracket = find_open(text, length, '{', '}');
    char message[160];

    bracket = bracket != NULL ? bracket : find_open(text, length, '[', ']');
    if (bracket != NULL) {
        snprintf(message, sizeof message, "a key with a '%c' that it does not close: is ': ' missing before it?", *bracket);
        warn(tree, line, column + (uint32_t)(bracket - text), message);
    }
}

static void warn_of_comma(struct mdf_tree *tree, uint32_t line, uint32_t column)
{
    warn(tree, line, column,
         "the ',' before this ends a value of YAML, and the brackets ( ) around it are torn: put the whole text into quotes");
}

void mdf_yaml_look_at(struct mdf_tree *tree, const yaml_event_t *event, enum mdf_yaml_role role, bool is_flow)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    uint32_t line = (uint32_t)event->start_mark.line + 1, column = (uint32_t)event->start_mark.column + 1;
    const struct mdf_tree_frame *frame = mdf_tree_top(tree);

    if (event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE || frame == NULL) {
        return;
    }
    if (role == MDF_YAML_KEY) {
        look_at_key(tree, text, length, line, column);
    } else if (role == MDF_YAML_ITEM && is_flow && closes_more(text, length)) {
        warn_of_comma(tree, line, column);
    } else if (role == MDF_YAML_ENTRY_VALUE && is_flow && length == 0) { /* {a, b}: keys without a value */
        if (closes_more(frame->key, strlen(frame->key))) {
            warn_of_comma(tree, frame->key_line, frame->key_column);
        } else if (strspn(frame->key, "0123456789") == strlen(frame->key)) {
            warn(tree, frame->key_line, frame->key_column,
                 "the ',' before this ends a value: a number is written with '.', as 2.5");
        } else if (strstr(frame->key, " = ") != NULL) {
            warn(tree, frame->key_line, frame->key_column, "an entry is written 'key: value', not with '='");
        } else {
            warn_of_colon(tree, frame->key, frame->key_line, frame->key_column);
        }
    } else if (role == MDF_YAML_ENTRY_VALUE && !is_flow && line > frame->key_line) {
        warn_of_colon(tree, text, line, column);
    }
}
