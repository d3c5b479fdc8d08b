/* nest_pieces.h - an axis of a nest in pieces, in each of which places that were found element by element are a straight line.
 *
 * A place that a clamp keeps in range, as in x[max(i - w, 0)], is a number up to where the clamp ends, and i - w behind: what is
 * loaded there is one element, or lies in a row. So is what is compared with such an index the same truth in a piece, and choices
 * by it are none. Where the pieces end is found when it runs, and whether all places are in range: else, as where an index counts
 * from the back, the nest is done as it stands. */
#ifndef MDF_SOURCE_NEST_PIECES_H
#define MDF_SOURCE_NEST_PIECES_H

#include "mdf_c/lowered/nest.h"
#include "mdf_c/source/source_writer.h"

enum { NEST_MOST_LINES = 8, NEST_MOST_CUTS = 2, NEST_MOST_PIECES = 1 << NEST_MOST_CUTS };

/* A register that is `begin` at index 0 of the axis, and `slope`, 1 or -1, more at the next index. */
struct nest_line {
    uint8_t step;
    int8_t slope;
    const char *begin; /* a variable of C */
};

struct nest_piece {
    struct mdf_lowered_nest nest;
    const char *from, *to;               /* the indices that it goes through, from one to the other: variables or numbers */
    uint8_t places[MDF_NEST_MOST_STEPS]; /* of a load along a line: its number; MDF_NEST_NONE: of none */
};

struct nest_pieces {
    size_t axis;
    struct nest_line lines[NEST_MOST_LINES];
    size_t n_lines;
    struct nest_piece all[NEST_MOST_PIECES];
    size_t n;
    const char *condition; /* under which they may be done */
};

/* The pieces, after lines of C within a block, which is open then, that find where they end. *made NULL: there are none, and
 * nothing is written. False: memory was refused. */
bool nest_pieces_make(struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest, struct nest_pieces **made);

#endif
