/* regex.c - strings matched whole: RegexFullMatch.
 *
 * Comes in: strings. Goes out: for each whether the pattern matches all of it. The pattern is RE2's syntax, of which PCRE2, that
 * matches here, knows nearly all with the same meaning. Steps and memory of a match are bounded: past the bound is an error.
 * Source: ONNX RegexFullMatch 20. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "functions/kernel/workspace.h"

#include <pcre2.h>
#include <string.h>

struct regex_settings {
    const char *pattern;
};

static const struct mdf_setting regex_table[] = {{"pattern", MDF_SETTING_STRING, offsetof(struct regex_settings, pattern)},
                                                 {NULL, MDF_SETTING_INT, 0}};

enum { MOST_STEPS = 5000000, MOST_KIBIBYTES = 20000, MESSAGE_SIZE = 200 };

/* What a match needs; all come from the state's memory. */
struct matcher {
    pcre2_general_context *general;
    pcre2_compile_context *compiling;
    pcre2_match_context *matching;
    pcre2_code *code;
    pcre2_match_data *data;
};

static void *allocate(PCRE2_SIZE size_bytes, void *memory)
{
    return mdf_memory_allocate(memory, size_bytes);
}

static void release(void *block, void *memory)
{
    mdf_memory_release(memory, block);
}

static void let_go(struct matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    pcre2_code_free(matcher->code);
    pcre2_match_context_free(matcher->matching);
    pcre2_compile_context_free(matcher->compiling);
    pcre2_general_context_free(matcher->general);
}

static bool prepare(struct mdf_call *call, struct matcher *matcher)
{
    const struct regex_settings *settings = call->settings;
    const char *pattern = settings->pattern != NULL ? settings->pattern : "";
    char message[MESSAGE_SIZE];
    PCRE2_SIZE place;
    int fault = 0;

    matcher->general = pcre2_general_context_create(allocate, release, call->context->memory);
    matcher->compiling = matcher->general == NULL ? NULL : pcre2_compile_context_create(matcher->general);
    matcher->matching = matcher->compiling == NULL ? NULL : pcre2_match_context_create(matcher->general);
    if (matcher->matching == NULL) {
        return mdf_call_out_of_memory(call);
    }
    pcre2_set_match_limit(matcher->matching, MOST_STEPS);
    pcre2_set_heap_limit(matcher->matching, MOST_KIBIBYTES);
    matcher->code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
                                  PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
                                      PCRE2_ANCHORED | PCRE2_ENDANCHORED,
                                  &fault, &place, matcher->compiling);
    if (matcher->code == NULL) {
        if (fault == PCRE2_ERROR_NOMEMORY || fault == PCRE2_ERROR_HEAP_FAILED) {
            return mdf_call_out_of_memory(call);
        }
        pcre2_get_error_message(fault, (PCRE2_UCHAR *)message, sizeof message);
        return mdf_call_error(call, MDF_VALUE, "the pattern is wrong at its character %zu: %s", (size_t)place + 1, message);
    }
    matcher->data = pcre2_match_data_create_from_pattern(matcher->code, matcher->general);
    return matcher->data != NULL || mdf_call_out_of_memory(call);
}

static bool match(struct mdf_call *call, const struct matcher *matcher, const char *text, size_t length, uint8_t *matches)
{
    int found = pcre2_match(matcher->code, (PCRE2_SPTR)text, length, 0, 0, matcher->data, matcher->matching);
    char message[MESSAGE_SIZE];

    *matches = found >= 0;
    if (found >= PCRE2_ERROR_NOMATCH) {
        return true;
    }
    if (found == PCRE2_ERROR_NOMEMORY) {
        return mdf_call_out_of_memory(call);
    }
    pcre2_get_error_message(found, (PCRE2_UCHAR *)message, sizeof message);
    return mdf_call_error(call, MDF_LIMIT, "the pattern is too costly to match: %s", message);
}

static bool regex_full_match(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct matcher matcher = {0};
    uint8_t *y;
    bool done;

    if (x == NULL) {
        return false;
    }
    y = mdf_call_output(call, 0, MDF_DTYPE_BOOL, x->rank, mdf_value_shape(x));
    done = y != NULL && prepare(call, &matcher);
    for (size_t i = 0; done && i < x->length && !mdf_should_stop(call->context); i++) {
        const char *text = ((char *const *)x->data)[i];

        done = match(call, &matcher, text != NULL ? text : "", text != NULL ? mdf_string_length(text) : 0, &y[i]);
    }
    let_go(&matcher);
    return done;
}

const struct mdf_operator mdf_operators_regex[] = {
    {"RegexFullMatch", 20, 99, regex_full_match, regex_table, sizeof(struct regex_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
