/* drawn_text.h - which characters of a model's texts can stand in a picture: those of XML 1.0, which SVG is written in, without
 * control characters. */
#ifndef MDF_PICTURES_DRAWN_TEXT_H
#define MDF_PICTURES_DRAWN_TEXT_H

#include "mdf_c/base/text.h"

/* "..." where a text was cut, as one character. */
#define MDF_DRAWN_ELLIPSIS "\xe2\x80\xa6"

/* Bytes of the character at `bytes` (of `length` > 0), at least 1. *instead is what stands for it where it can not stand for
 * itself: a blank for line breaks and tabs, U+FFFD for what is no character; else NULL. */
size_t mdf_drawn_character(const char *bytes, size_t length, const char **instead);
/* Bytes of the first `most` characters. */
size_t mdf_drawn_clip(const char *bytes, size_t length, size_t most);

#endif
