/* tokenizer.c - strings cut into tokens: Tokenizer.
 *
 * Comes in: strings, [C] or [N, C]. Goes out: the tokens of each along one more axis, filled up with `pad_value`. Tokens are what
 * `tokenexp` matches, the longest at each place, or what is left between matches of the separators, one after the other. Every
 * byte of a string gets a label while patterns are matched, once; tokens are counted and written from these. Source: Tokenizer of
 * ONNX Runtime's com.microsoft, version 1. */
#include "functions/moves/indexing.h"
#include "functions/text/pattern.h"

#include <string.h>

enum label { OUTSIDE, START, INSIDE };
enum { N_SLOTS = 2, N_STEPS = 4096 };

struct tokenizer_settings {
    int64_t mark, least;
    const char *pad, *token;
    struct mdf_strings separators;
};

static const struct mdf_setting tokenizer_table[] = {
    {"mark", MDF_SETTING_INT, offsetof(struct tokenizer_settings, mark)},
    {"mincharnum", MDF_SETTING_INT, offsetof(struct tokenizer_settings, least)},
    {"pad_value", MDF_SETTING_STRING, offsetof(struct tokenizer_settings, pad)},
    {"tokenexp", MDF_SETTING_STRING, offsetof(struct tokenizer_settings, token)},
    {"separators", MDF_SETTING_STRINGS, offsetof(struct tokenizer_settings, separators)},
    {NULL, MDF_SETTING_INT, 0}};

struct tokenizer {
    struct mdf_call *call;
    const struct mdf_value *strings;
    struct mdf_pattern pattern;
    uint8_t *labels; /* of all strings' bytes, one string behind the other */
    int *steps;
};

static const char *text_at(const struct mdf_value *strings, size_t i, size_t *length)
{
    const char *text = ((char *const *)strings->data)[i];

    *length = text != NULL ? mdf_string_length(text) : 0;
    return text != NULL ? text : "";
}

/* The next token from *end on: where it begins and ends. False when there is none. */
static bool next_token(const uint8_t *labels, size_t length, size_t *begin, size_t *end)
{
    *begin = *end;
    while (*begin < length && labels[*begin] == OUTSIDE) {
        ++*begin;
    }
    if (*begin == length) {
        return false;
    }
    *end = *begin + 1;
    while (*end < length && labels[*end] == INSIDE) {
        ++*end;
    }
    return true;
}

/* The first match from *end on, the longest there. False when there is none, or with the error set. */
static bool next_match(struct tokenizer *t, const char *text, size_t length, uint32_t options, size_t *begin, size_t *end)
{
    int found = pcre2_dfa_match(t->pattern.code, (PCRE2_SPTR)text, length, *end, options | (*end > 0 ? PCRE2_NO_UTF_CHECK : 0),
                                t->pattern.data, t->pattern.matching, t->steps, N_STEPS);

    if (found < 0) {
        return found != PCRE2_ERROR_NOMATCH && mdf_pattern_failed(t->call, found);
    }
    *begin = pcre2_get_ovector_pointer(t->pattern.data)[0];
    *end = pcre2_get_ovector_pointer(t->pattern.data)[1];
    return *begin < *end || mdf_call_error(t->call, MDF_VALUE, "a separator matches an empty text");
}

static void label_matches(struct tokenizer *t, const char *text, size_t length, uint8_t *labels)
{
    size_t begin = 0, end = 0;

    memset(labels, OUTSIDE, length);
    while (next_match(t, text, length, PCRE2_NOTEMPTY, &begin, &end)) {
        memset(labels + begin, INSIDE, end - begin);
        labels[begin] = START;
    }
}

/* Takes a separator out of the tokens that there are so far. */
static void label_between(struct tokenizer *t, const char *text, size_t length, uint8_t *labels)
{
    size_t begin = 0, end = 0;

    while (next_token(labels, length, &begin, &end)) {
        size_t first = 0, last = 0;

        while (next_match(t, text + begin, end - begin, 0, &first, &last)) {
            memset(labels + begin + first, OUTSIDE, last - first);
            if (begin + last < end) {
                labels[begin + last] = START;
            }
        }
    }
}

/* Matches one pattern in all strings. */
static bool label_strings(struct tokenizer *t, const char *pattern, uint32_t options,
                          void label(struct tokenizer *, const char *, size_t, uint8_t *))
{
    uint8_t *labels = t->labels;
    bool done = mdf_pattern_prepare(t->call, &t->pattern, pattern, options);

    for (size_t i = 0; done && i < t->strings->length && !mdf_should_stop(t->call->context); i++) {
        size_t length;
        const char *text = text_at(t->strings, i, &length);

        label(t, text, length, labels);
        labels += length;
        done = t->call->context->error.code == MDF_OK;
    }
    mdf_pattern_release(&t->pattern);
    t->pattern = (struct mdf_pattern){0};
    return done;
}

/* ONNX Runtime takes these two for a wish for characters, ends of lines too. */
static bool wants_characters(const struct tokenizer_settings *settings)
{
    return settings->separators.n == 0   ? strcmp(settings->token, ".") == 0
           : settings->separators.n == 1 ? settings->separators.items[0][0] == '\0'
                                         : false;
}

static bool label_all(struct tokenizer *t, size_t n_bytes)
{
    const struct tokenizer_settings *settings = t->call->settings;
    const struct mdf_strings *separators = &settings->separators;

    if (wants_characters(settings)) {
        return settings->least < 2 ? label_strings(t, ".", PCRE2_DOTALL, label_matches)
                                   : mdf_call_error(t->call, MDF_VALUE, "mincharnum has to be 1 where tokens are characters");
    }
    if (separators->n == 0) {
        return label_strings(t, settings->token, 0, label_matches);
    }
    memset(t->labels, INSIDE, n_bytes);
    for (size_t i = 0, at = 0, length; i < t->strings->length; i++, at += length) {
        text_at(t->strings, i, &length);
        t->labels[at] = START;
    }
    for (size_t i = 0; i < separators->n; i++) {
        if (!label_strings(t, separators->items[i], 0, label_between)) {
            return false;
        }
    }
    return true;
}

/* The next token that is long enough. */
static bool next_long_token(const struct tokenizer *t, const char *text, const uint8_t *labels, size_t length, size_t *begin,
                            size_t *end)
{
    const struct tokenizer_settings *settings = t->call->settings;

    while (next_token(labels, length, begin, end)) {
        int64_t n_characters = 0;

        for (size_t i = *begin; i < *end; i++) {
            n_characters += ((unsigned char)text[i] & 0xc0) != 0x80;
        }
        if (n_characters >= settings->least) {
            return true;
        }
    }
    return false;
}

static size_t count_most(const struct tokenizer *t)
{
    const uint8_t *labels = t->labels;
    size_t n_most = 0, length;

    for (size_t i = 0; i < t->strings->length; i++, labels += length) {
        const char *text = text_at(t->strings, i, &length);
        size_t n = 0, begin = 0, end = 0;

        while (next_long_token(t, text, labels, length, &begin, &end)) {
            n++;
        }
        n_most = n > n_most ? n : n_most;
    }
    return n_most;
}

static bool write_token(struct mdf_call *call, char **place, const char *bytes, size_t length)
{
    *place = mdf_string_new(call->context->memory, bytes, length);
    return *place != NULL || mdf_call_out_of_memory(call);
}

/* One string's tokens, between marks where these are wanted, filled up. */
static bool write_row(const struct tokenizer *t, const char *text, const uint8_t *labels, size_t length, char **row,
                      size_t n_columns)
{
    const struct tokenizer_settings *settings = t->call->settings;
    size_t n = 0, begin = 0, end = 0;
    bool done = settings->mark == 0 || write_token(t->call, &row[n++], "\x02", 1);

    while (done && next_long_token(t, text, labels, length, &begin, &end)) {
        done = write_token(t->call, &row[n++], text + begin, end - begin);
    }
    done = done && (settings->mark == 0 || write_token(t->call, &row[n++], "\x03", 1));
    while (done && n < n_columns) {
        done = write_token(t->call, &row[n++], settings->pad, strlen(settings->pad));
    }
    return done;
}

/* An input without strings has no axis more, as ONNX Runtime has it, but loses its strings' own. */
static char **output_tokens(struct mdf_call *call, const struct mdf_value *x, size_t n_columns)
{
    size_t rank = x->length == 0 ? x->rank : (size_t)x->rank + 1;
    int64_t shape[3] = {0};

    memcpy(shape, mdf_value_shape(x), (rank - 1) * sizeof *shape);
    shape[rank - 1] = (int64_t)n_columns;
    return mdf_call_output(call, 0, MDF_DTYPE_STRING, rank, shape);
}

static bool write_all(const struct tokenizer *t)
{
    const struct tokenizer_settings *settings = t->call->settings;
    const uint8_t *labels = t->labels;
    size_t n_most = count_most(t), n_columns = n_most > 0 ? n_most + (settings->mark != 0 ? 2 : 0) : 0, length;
    char **target = output_tokens(t->call, t->strings, n_columns);
    bool done = target != NULL;

    for (size_t i = 0; done && n_most > 0 && i < t->strings->length; i++, labels += length) {
        const char *text = text_at(t->strings, i, &length);

        done = write_row(t, text, labels, length, target + i * n_columns, n_columns);
    }
    return done;
}

static bool is_usable(struct mdf_call *call, const struct mdf_value *x)
{
    const struct tokenizer_settings *settings = call->settings;

    if (x->rank != 1 && x->rank != 2) {
        return mdf_call_error(call, MDF_SHAPE, "X has %u axes; it has to have 1 or 2", (unsigned)x->rank);
    }
    if (settings->least < 1) {
        return mdf_call_error(call, MDF_VALUE, "mincharnum is %lld; it has to be 1 or more", (long long)settings->least);
    }
    return settings->separators.n > 0 || (settings->token != NULL && settings->token[0] != '\0') ||
           mdf_call_error(call, MDF_VALUE, "there are neither separators nor a tokenexp");
}

static bool tokenizer(struct mdf_call *call)
{
    struct tokenizer t = {.call = call, .strings = mdf_call_tensor(call, 0)};
    struct mdf_workspace workspace;
    size_t n_bytes = 0, length;

    if (t.strings == NULL || !is_usable(call, t.strings) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_UINT8, N_SLOTS)) {
        return false;
    }
    for (size_t i = 0; i < t.strings->length; i++) {
        text_at(t.strings, i, &length);
        n_bytes += length;
    }
    t.steps = mdf_workspace_array(&workspace, MDF_DTYPE_INT32, N_STEPS);
    t.labels = mdf_workspace_array(&workspace, MDF_DTYPE_UINT8,
                                   n_bytes + 1); /* a byte more: an empty string at the end has its start there */
    return t.steps != NULL && t.labels != NULL && label_all(&t, n_bytes) && write_all(&t) && mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_tokenizer[] = {
    {"Tokenizer", 1, 99, tokenizer, tokenizer_table, sizeof(struct tokenizer_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
