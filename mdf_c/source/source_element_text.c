/* source_element_text.c - expressions of functions/elements/elements.def as rows of source_elements.c have them: $a $b $c, $T $U
 * $f, {attribute}, @helper@. */
#include "mdf_c/source/source_writer.h"

#include <string.h>

/* What an identifier stands for; one that is followed by a name in parentheses stands for that, between `before` and `after`. */
static const struct word {
    const char *name, *before, *after; /* `after` NULL: not followed by any */
} words[] = {
    {"A", "$a", NULL},           {"B", "$b", NULL},
    {"C", "$c", NULL},           {"ELEMENT", "$T", NULL},
    {"UNSIGNED_OF", "$U", NULL}, {"QUOTIENT", "$a / ($b != 0 ? $b : 1)", NULL},
    {"SETTING", "{", "}"},       {"MATH", "", "$f"},
    {"HELPER", "@", "@"},        {"REMAINDER", "$a % ($b != 0 ? $b : 1)", NULL},
};

static const struct word *find_word(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].name) == length && memcmp(words[i].name, text, length) == 0) {
            return &words[i];
        }
    }
    return NULL;
}

/* The characters of the identifier or number that a text begins with; 0: of neither. */
static size_t token_length(const char *text)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", digits[] = "0123456789.";
    size_t n = 0;

    while (text[n] != '\0' && (strchr(letters, text[n]) != NULL || strchr(digits, text[n]) != NULL)) {
        n++;
    }
    return n;
}

const char *mdf_source_element_text(struct mdf_source_writer *writer, const char *text)
{
    struct mdf_text result;
    const char *copy;

    mdf_text_init(&result, writer->memory);
    mdf_text_append_string(&result, "");
    while (*text != '\0') {
        size_t length = token_length(text);
        const struct word *word = find_word(text, length);

        if (word == NULL) {
            length = length > 0 ? length : 1;
            mdf_text_append(&result, text, length);
            text += length;
            continue;
        }
        mdf_text_append_string(&result, word->before);
        text += length;
        if (word->after != NULL) {
            length = token_length(text + 1);
            mdf_text_append(&result, text + 1, length);
            mdf_text_append_string(&result, word->after);
            text += length + 2;
        }
    }
    mdf_source_check(writer, &result);
    copy = result.failed ? "" : mdf_source_text(writer, "%s", result.bytes);
    mdf_text_release(&result);
    return copy;
}
