/* utf8.c - see utf8.h. */
#include "mdf_c/base/utf8.h"

#include <stdio.h>
#include <string.h>

uint32_t mdf_utf8_decode(const unsigned char *bytes, size_t length)
{
    uint32_t code = length == 1 ? bytes[0] : bytes[0] & (0x7fU >> length);

    for (size_t i = 1; i < length; i++) {
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    return code;
}

size_t mdf_utf8_sequence(const unsigned char *bytes, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = bytes[0] < 0x80             ? 1
                    : (bytes[0] & 0xe0) == 0xc0 ? 2
                    : (bytes[0] & 0xf0) == 0xe0 ? 3
                    : (bytes[0] & 0xf8) == 0xf0 ? 4
                                                : 0,
           i;
    uint32_t code;

    if (length <= 1) {
        return length;
    }
    if (length > size) {
        return 0;
    }
    for (i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    code = mdf_utf8_decode(bytes, length);
    return code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : length;
}

/* Whether there are eight bytes more, all of ASCII. */
static bool is_ascii_word(const unsigned char *at, size_t size)
{
    uint64_t word;

    if (size < sizeof word) {
        return false;
    }
    memcpy(&word, at, sizeof word);
    return (word & UINT64_C(0x8080808080808080)) == 0;
}

size_t mdf_utf8_valid_length(const char *bytes, size_t size)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t i = 0, length;

    while (i < size) {
        length = is_ascii_word(at + i, size - i) ? sizeof(uint64_t) : at[i] < 0x80 ? 1 : mdf_utf8_sequence(at + i, size - i);
        if (length == 0) {
            break;
        }
        i += length;
    }
    return i;
}

/* C0, DEL, C1; separators of lines and paragraphs; what marks, embeds, overrides and isolates directions (UAX #9). */
bool mdf_is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0x061c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t mdf_visible_character(const unsigned char *bytes, size_t size, char out[MDF_VISIBLE_SIZE], size_t *n_read)
{
    static const char short_codes[] = "\n\r\t", short_names[] = "nrt";
    size_t length = mdf_utf8_sequence(bytes, size);
    uint32_t code = length > 0 ? mdf_utf8_decode(bytes, length) : bytes[0];
    const char *found = code != 0 && code < 0x20 ? strchr(short_codes, (int)code) : NULL;

    *n_read = length > 0 ? length : 1;
    if (length > 0 && !mdf_is_hidden(code)) {
        memcpy(out, bytes, length);
        out[length] = '\0';
        return length;
    }
    if (found != NULL) {
        return (size_t)snprintf(out, MDF_VISIBLE_SIZE, "\\%c", short_names[found - short_codes]);
    }
    return (size_t)snprintf(out, MDF_VISIBLE_SIZE, length > 1 ? "\\u%04x" : "\\x%02x", (unsigned)(code & 0xffff));
}

void mdf_visible_text(const char *text, char *out, size_t size)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strlen(text), used = 0, length, n_read;
    char shown[MDF_VISIBLE_SIZE];

    while (left > 0) {
        length = mdf_visible_character(at, left, shown, &n_read);
        if (used + length >= size) {
            break;
        }
        memcpy(out + used, shown, length);
        used += length;
        at += n_read;
        left -= n_read;
    }
    out[used] = '\0';
}
