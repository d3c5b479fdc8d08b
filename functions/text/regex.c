/* regex.c - strings matched whole: RegexFullMatch.
 *
 * Comes in: strings. Goes out: for each whether the pattern matches all of it. Source: ONNX RegexFullMatch 20. */
#include "functions/text/pattern.h"

struct regex_settings {
    const char *pattern;
};

static const struct mdf_setting regex_table[] = {{"pattern", MDF_SETTING_STRING, offsetof(struct regex_settings, pattern)},
                                                 {NULL, MDF_SETTING_INT, 0}};

static bool match(struct mdf_call *call, const struct mdf_pattern *pattern, const char *text, size_t length, uint8_t *matches)
{
    int found = pcre2_match(pattern->code, (PCRE2_SPTR)text, length, 0, 0, pattern->data, pattern->matching);

    *matches = found >= 0;
    return found >= PCRE2_ERROR_NOMATCH || mdf_pattern_failed(call, found);
}

static bool regex_full_match(struct mdf_call *call)
{
    const struct regex_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct mdf_pattern pattern = {0};
    uint8_t *y;
    bool done;

    if (x == NULL) {
        return false;
    }
    y = mdf_call_output(call, 0, MDF_DTYPE_BOOL, x->rank, mdf_value_shape(x));
    done = y != NULL && mdf_pattern_prepare(call, &pattern, settings->pattern != NULL ? settings->pattern : "",
                                            PCRE2_MATCH_INVALID_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED);
    for (size_t i = 0; done && i < x->length && !mdf_should_stop(call->context); i++) {
        const char *text = ((char *const *)x->data)[i];

        done = match(call, &pattern, text != NULL ? text : "", text != NULL ? mdf_string_length(text) : 0, &y[i]);
    }
    mdf_pattern_release(&pattern);
    return done;
}

const struct mdf_operator mdf_operators_regex[] = {{"RegexFullMatch", 20, 99, regex_full_match, regex_table,
                                                    sizeof(struct regex_settings), MDF_OPERATOR_PURE, NULL,
                                                    .infer = &mdf_rule_same},
                                                   {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
