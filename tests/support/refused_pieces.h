/* refused_pieces.h - pieces of memory that are refused one at a time.
 *
 * An allocator that fails (failing_allocator.h) refuses whole chunks of an arena; here each piece that the library cuts from one,
 * each item that the compiler adds to a list, and each block can be what is refused. The linker puts the functions of
 * refused_pieces.c before those of the library (--wrap, see the Makefile). */
#ifndef MDF_TESTS_REFUSED_PIECES_H
#define MDF_TESTS_REFUSED_PIECES_H

#include "mdf_c/mdf.h"

/* From now on pieces that are asked for are counted, and number `at` is refused, counted from 1; 0: none is. */
void pieces_begin(size_t at);
/* How many were asked for since; none is counted or refused any more. */
size_t pieces_end(void);

/* Compiles and evaluates a model once for each piece `first`, `first` + `stride`, ...: what it then computes or says is the same
 * as with all of them, or it says that memory ran out; and nothing is lost. A
 * model that can not be loaded is passed over. `format` as for mdf_model_load_bytes. */
struct piece_run {
    const char *format;
    const mdf_options *options; /* all but their allocator; NULL: none */
    int steps;
    double dt;
    size_t first, stride; /* 0: 1 */
};
void expect_pieces_refused(const char *model, const struct piece_run *run);

#endif
