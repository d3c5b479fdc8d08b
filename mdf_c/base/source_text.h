/* source_text.h - places in the text of a file: lines, words, and where a byte of a scalar's value is written.
 *
 * Lines and columns are counted from 1, columns in characters. Nothing here fails: what can not be told is false or 0. */
#ifndef MDF_BASE_SOURCE_TEXT_H
#define MDF_BASE_SOURCE_TEXT_H

#include "mdf_c/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

#define MDF_GIVEN_FILE "parameters"

/* The text of a file; `bytes` NULL: it is not known. */
struct mdf_source {
    const char *bytes;
    size_t size;
    const struct mdf_source_mark *marks; /* in their order; NULL: places are looked for from the first line on */
    size_t n_marks;
    const struct mdf_source *given; /* of the parameters that were given beside the file, called MDF_GIVEN_FILE; NULL: none */
};

/* Where a character stands, from which others are found. */
struct mdf_source_mark {
    size_t byte;
    int line, column;
};

/* Marks a text every so often, so that a place is found in a time that does not grow with the text, were it all one line. Without
 * room in the arena it goes without marks. */
void mdf_source_mark(struct mdf_source *source, struct mdf_arena *arena);

/* A line without its end; of a very long one what stands around a place. */
struct mdf_source_line {
    const char *bytes;
    size_t length, at; /* at: the byte of the place */
};

bool mdf_source_find_line(const struct mdf_source *source, int line, int column, struct mdf_source_line *found);
/* The byte of a line at which a column begins; its length past the end. */
size_t mdf_source_byte_of(const char *line, size_t length, int column);
/* Characters in so many bytes. */
int mdf_source_count(const char *bytes, size_t length);
/* Bytes of the word at a place of a line: a name with its points and colons, a number, a text with its quotes; of anything else
 * one character. */
size_t mdf_source_word(const char *line, size_t length, size_t at);

/* Moves *line and *column from where a scalar of JSON or YAML begins (its quote, the sign of its block) to where byte `offset` of
 * its value is written: escapes, folded lines and indentation count. `value` may also be a part of what the scalar holds. False:
 * it is not found, and the place is as it was. */
bool mdf_source_locate(const struct mdf_source *source, const char *value, size_t offset, int *line, int *column);

#endif
