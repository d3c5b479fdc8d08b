/* text.h - a growing text, and numbers as text and back. */
#ifndef MDF_BASE_TEXT_H
#define MDF_BASE_TEXT_H

#include "mdf_c/base/memory.h"
#include "mdf_c/base/printf_like.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

/* Whether texts are the same: of many names that are compared with one, most differ in the first letter. */
static inline bool mdf_text_is(const char *text, const char *name)
{
    return text[0] == name[0] && strcmp(text, name) == 0;
}

/* Whether `length` bytes, which a zero may be among, are a text. */
static inline bool mdf_bytes_are(const char *bytes, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(bytes, text, length) == 0;
}

/* A text under construction. A failed append sets `failed` and makes later ones do nothing: check once at the end. */
struct mdf_text {
    struct mdf_memory *memory;
    char *bytes; /* terminated after every append; NULL while empty */
    size_t length, capacity;
    bool failed;
};

void mdf_text_init(struct mdf_text *text, struct mdf_memory *memory);
void mdf_text_release(struct mdf_text *text);
void mdf_text_append(struct mdf_text *text, const char *bytes, size_t length);
void mdf_text_append_string(struct mdf_text *text, const char *string);
/* The same as people read it: what a terminal would obey is shown (utf8.h). */
void mdf_text_append_visible(struct mdf_text *text, const char *string);
void mdf_text_printf(struct mdf_text *text, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
void mdf_text_vprintf(struct mdf_text *text, const char *format, va_list arguments) MDF_PRINTF_LIKE(2, 0);

/* Characters of ASCII, whatever the locale. */
static inline bool mdf_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool mdf_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Of a word: a letter, a digit, '_', or a byte of what is not ASCII. */
static inline bool mdf_is_word(char c)
{
    return mdf_is_letter(c) || mdf_is_digit(c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The first character of an identifier of ASCII, and all others. */
static inline bool mdf_begins_identifier(char c)
{
    return mdf_is_letter(c) || c == '_';
}

static inline bool mdf_is_in_identifier(char c)
{
    return mdf_begins_identifier(c) || mdf_is_digit(c);
}

/* The length of the identifier, of ASCII, that a text begins with; 0: it begins with none. */
size_t mdf_identifier_length(const char *text);

/* Which of n words a text is; SIZE_MAX: none. */
size_t mdf_find_word(const char *text, const char *const *words, size_t n);
#define MDF_FIND_WORD(text, words) mdf_find_word(text, words, sizeof(words) / sizeof *(words))

/* Writes a character in UTF-8, at most 4 bytes; how many. */
size_t mdf_utf8_encode(uint32_t code, char *out);

/* Whether `text` is longer than `suffix` and ends with it. */
bool mdf_ends_with(const char *text, const char *suffix);

enum { MDF_NUMBER_TEXT_SIZE = 48 };

/* The fewest digits that read back to the same float64 (or float32): "0.1", "1e-05", "3.0", "NaN", "-Infinity". The
 * result always shows that it is a real number (has '.', 'e' or is one of the three tokens). Returns the length. */
size_t mdf_format_float64(double value, char text[MDF_NUMBER_TEXT_SIZE]);
size_t mdf_format_float32(float value, char text[MDF_NUMBER_TEXT_SIZE]);

/* Reads a decimal real number "-12.5e3" of `length` bytes that is known to have JSON's form; correctly rounded,
 * whatever the locale. Overflow gives an infinity. */
double mdf_parse_real(const char *text, size_t length);

/* What Python's int() and float() accept, white space and underscores included ("12", " 1_000 ", "1e-3", "inf", "-nan").
 * False: not such a text. *is_integer and *integer are set where int() accepts it and it fits. */
bool mdf_parse_python_number(const char *text, double *real, int64_t *integer, bool *is_integer);

#endif
