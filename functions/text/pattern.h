/* pattern.h - regular expressions, for operators on strings.
 *
 * A pattern is RE2's syntax, of which PCRE2, that matches here, knows nearly all with the same meaning. Steps and memory of a
 * match are bounded: past the bound is an error. */
#ifndef MDF_FUNCTIONS_TEXT_PATTERN_H
#define MDF_FUNCTIONS_TEXT_PATTERN_H

#include "functions/kernel/workspace.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* What a match needs; all come from the state's memory. Begins as {0}. */
struct mdf_pattern {
    pcre2_general_context *general;
    pcre2_compile_context *compiling;
    pcre2_match_context *matching;
    pcre2_code *code;
    pcre2_match_data *data;
};

/* Compiles a pattern with PCRE2's options. False with the error set; mdf_pattern_release is called in any case. */
bool mdf_pattern_prepare(struct mdf_call *call, struct mdf_pattern *pattern, const char *text, uint32_t options);
void mdf_pattern_release(struct mdf_pattern *pattern);
/* What PCRE2 said of a match that is none and no lack of one, as the call's error. False. */
bool mdf_pattern_failed(struct mdf_call *call, int found);

#endif
