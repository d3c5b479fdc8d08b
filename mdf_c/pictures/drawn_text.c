/* drawn_text.c - see drawn_text.h. */
#include "mdf_c/pictures/drawn_text.h"

#include "mdf_c/document/tree_builder.h"

size_t mdf_drawn_character(const char *bytes, size_t length, const char **instead)
{
    const unsigned char *c = (const unsigned char *)bytes;
    size_t n = c[0] < 0x80 ? 1 : mdf_utf8_sequence(c, length);

    *instead = NULL;
    if (c[0] == '\n' || c[0] == '\r' || c[0] == '\t') {
        *instead = " ";
    } else if (n == 0 || c[0] < 0x20 || c[0] == 0x7f || (n == 2 && c[0] == 0xc2 && c[1] < 0xa0) ||
               (n == 3 && c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe)) {
        *instead = "\xef\xbf\xbd";
    }
    return n > 0 ? n : 1;
}

size_t mdf_drawn_clip(const char *bytes, size_t length, size_t most)
{
    const char *instead;
    size_t i, n_characters;

    for (i = n_characters = 0; i < length && n_characters < most; n_characters++) {
        i += mdf_drawn_character(bytes + i, length - i, &instead);
    }
    return i;
}
