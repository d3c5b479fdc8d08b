/* pattern.c - regular expressions: compiled, within bounds, by PCRE2. */
#include "functions/text/pattern.h"

#include <string.h>

enum { MOST_STEPS = 5000000, MOST_KIBIBYTES = 20000, MESSAGE_SIZE = 200 };

static void *allocate(PCRE2_SIZE size_bytes, void *memory)
{
    return mdf_memory_allocate(memory, size_bytes);
}

static void release(void *block, void *memory)
{
    mdf_memory_release(memory, block);
}

void mdf_pattern_release(struct mdf_pattern *pattern)
{
    pcre2_match_data_free(pattern->data);
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->matching);
    pcre2_compile_context_free(pattern->compiling);
    pcre2_general_context_free(pattern->general);
}

bool mdf_pattern_prepare(struct mdf_call *call, struct mdf_pattern *pattern, const char *text, uint32_t options)
{
    char message[MESSAGE_SIZE];
    PCRE2_SIZE place;
    int fault = 0;

    pattern->general = pcre2_general_context_create(allocate, release, call->context->memory);
    pattern->compiling = pattern->general == NULL ? NULL : pcre2_compile_context_create(pattern->general);
    pattern->matching = pattern->compiling == NULL ? NULL : pcre2_match_context_create(pattern->general);
    if (pattern->matching == NULL) {
        return mdf_call_out_of_memory(call);
    }
    pcre2_set_match_limit(pattern->matching, MOST_STEPS);
    pcre2_set_heap_limit(pattern->matching, MOST_KIBIBYTES);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, strlen(text), PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY | options,
                      &fault, &place, pattern->compiling);
    if (pattern->code == NULL) {
        if (fault == PCRE2_ERROR_NOMEMORY || fault == PCRE2_ERROR_HEAP_FAILED) {
            return mdf_call_out_of_memory(call);
        }
        pcre2_get_error_message(fault, (PCRE2_UCHAR *)message, sizeof message);
        return mdf_call_error(call, MDF_VALUE, "the pattern is wrong at its character %zu: %s", (size_t)place + 1, message);
    }
    pattern->data = pcre2_match_data_create_from_pattern(pattern->code, pattern->general);
    return pattern->data != NULL || mdf_call_out_of_memory(call);
}

bool mdf_pattern_failed(struct mdf_call *call, int found)
{
    char message[MESSAGE_SIZE];

    if (found == PCRE2_ERROR_NOMEMORY) {
        return mdf_call_out_of_memory(call);
    }
    pcre2_get_error_message(found, (PCRE2_UCHAR *)message, sizeof message);
    if (found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21) {
        return mdf_call_error(call, MDF_VALUE, "a string is no UTF-8: %s", message);
    }
    return mdf_call_error(call, MDF_LIMIT, "the pattern is too costly to match: %s", message);
}
