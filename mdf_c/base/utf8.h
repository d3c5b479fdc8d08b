/* utf8.h - UTF-8: what is well-formed, and what may be shown on a terminal. */
#ifndef MDF_BASE_UTF8_H
#define MDF_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at `bytes` (of `size` > 0 bytes), 0 where it is malformed: overlong forms, surrogates and
 * numbers past U+10FFFF are. */
size_t mdf_utf8_sequence(const unsigned char *bytes, size_t size);
/* Number of leading bytes that are well-formed UTF-8. */
size_t mdf_utf8_valid_length(const char *bytes, size_t size);

/* The number of a character, `length` bytes that are well-formed. */
uint32_t mdf_utf8_decode(const unsigned char *bytes, size_t length);

/* Whether a character is not seen but obeyed: control characters by terminals, those that turn the direction of a text by
 * whatever shows it, which then looks like another text. */
bool mdf_is_hidden(uint32_t code);

enum { MDF_VISIBLE_SIZE = 8 };

/* What stands for the first character of `bytes` (of `size` > 0 bytes) where people read it: hidden characters and bytes that are
 * no UTF-8 are written as \n, \x1b, \u202e, \xff; all others, backslashes too, stay what they are. Terminated, its length;
 * *n_read bytes have been taken. */
size_t mdf_visible_character(const unsigned char *bytes, size_t size, char out[MDF_VISIBLE_SIZE], size_t *n_read);

/* Writes a text so, cut after a whole character where `out` (of `size` > 0 bytes) has no room for more; terminated. */
void mdf_visible_text(const char *text, char *out, size_t size);

#endif
