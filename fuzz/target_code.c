/* target_code.c - expressions, as a parameter of a model that has values of several kinds; and the C source of a model. */
#include "fuzz/targets.h"
#include "mdf_c/base/utf8.h"
#include "mdf_c/source/source.h"
#include "mdf_c/values/values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXPRESSION_LIMIT_S 0.5

/* ------------------------------------------------------------------ expressions */

enum outcome try_expression(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    static const char before[] =
        "{\"m\": {\"format\": \"ModECI MDF v0.4\", \"graphs\": {\"g\": {\"nodes\": {\"a\": {\"input_ports\": {\"x\": {}, \"y\": "
        "{\"type\": \"int64\"}}, \"parameters\": {\"k\": {\"value\": [1, 2, 3]}, \"t\": {\"value\": 2.5}, \"s\": {\"value\": ";
    static const char after[] = "}}, \"output_ports\": {\"o\": {\"value\": \"s\"}}}}}}}}";
    struct mdf_memory memory;
    enum outcome outcome;
    struct mdf_text text;

    (void)target;
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_text_append(&text, before, sizeof before - 1);
    mdf_write_json_string(&text, bytes, size);
    mdf_text_append(&text, after, sizeof after - 1);
    outcome = try_input(text.bytes, text.length, "json", EXPRESSION_LIMIT_S, complaint);
    mdf_text_release(&text);
    return outcome;
}

/* ------------------------------------------------------------------ C source */

/* Past a comment, a string or a character that begins at a place; the place itself where none does. */
static size_t skip_quoted(const char *text, size_t at)
{
    char quote = text[at];
    const char *end;

    if (quote == '/' && text[at + 1] == '*') {
        end = strstr(text + at + 2, "*/");
        return end != NULL ? (size_t)(end - text) + 2 : at + strlen(text + at);
    }
    if (quote != '"' && quote != '\'') {
        return at;
    }
    for (at++; text[at] != '\0' && text[at] != '\n' && text[at] != quote; at++) {
        at += text[at] == '\\' && text[at + 1] != '\0';
    }
    return at + (text[at] == quote);
}

/* Brackets fit, and strings end on their line. */
static bool is_balanced(const char *text)
{
    char open[256];
    size_t n = 0, at = 0;

    while (text[at] != '\0') {
        size_t behind = skip_quoted(text, at);
        const char *closes = strchr(")(][}{", text[at]);
        char c = text[at];

        if (behind > at) {
            if ((c == '"' || c == '\'') && text[behind - 1] != c) {
                return false;
            }
            at = behind;
            continue;
        }
        at++;
        if (c == '(' || c == '[' || c == '{') {
            if (n == sizeof open) {
                return true; /* deeper than what is looked at */
            }
            open[n++] = c;
        } else if (closes != NULL && (n == 0 || open[--n] != closes[1])) {
            return false;
        }
    }
    return n == 0;
}

static bool has_odd_bytes(const struct mdf_text *text)
{
    size_t i;

    for (i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->bytes[i];

        if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return mdf_utf8_valid_length(text->bytes, text->length) < text->length; /* names keep their letters */
}

static void check_source(const struct mdf_text *source, struct complaint *complaint)
{
    mdf_error none = {0};

    if (source->bytes == NULL || !is_balanced(source->bytes)) {
        complain(complaint, "C source whose brackets or strings do not end", &none);
    } else if (has_odd_bytes(source)) {
        complain(complaint, "C source with bytes that are not plain text", &none);
    }
}

static bool write_source(const mdf_program *program, struct complaint *complaint, mdf_error *error)
{
    struct mdf_source_options how = {.name = "model"};
    mdf_state *state = mdf_state_new(program, error);
    struct mdf_memory memory;
    struct mdf_text source;
    bool done;

    if (state == NULL) {
        return false;
    }
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&source, &memory);
    begin_watch(state, EXPRESSION_LIMIT_S);
    done = mdf_source_warm_up(state, NULL, NULL, 0.01, error) && mdf_source_write(state, &how, &source, NULL, error);
    end_watch();
    if (done) {
        check_source(&source, complaint);
    }
    mdf_text_release(&source);
    mdf_state_free(state);
    return done;
}

enum outcome try_source(const struct fuzz_target *target, const void *bytes, size_t size, struct complaint *complaint)
{
    mdf_options options = limited_options();
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(bytes, size, target->format, "input", &options, &error);
    mdf_program *program = model != NULL ? mdf_compile(model, &options, &error) : NULL;
    bool is_loaded = model != NULL, done;

    complaint->text[0] = '\0';
    mdf_model_free(model);
    done = program != NULL && write_source(program, complaint, &error);
    check_outcome(complaint, "writing C source", done, &error);
    mdf_program_free(program);
    return done ? OUTCOME_EVALUATED : is_loaded ? OUTCOME_LOADED : OUTCOME_REFUSED;
}
