/* sequence_call.h - for the files that lower calls of sequences: a call, its inputs, and positions that are computed. */
#ifndef MDF_LOWER_SEQUENCE_CALL_H
#define MDF_LOWER_SEQUENCE_CALL_H

#include "mdf_c/lower/loops/lower_loops.h"

/* A call with its sequence, input 0: rows, or items that are known one by one. */
struct sequence_call {
    struct lowering *lowering;
    struct scope *scope;
    const struct mdf_code_call *source;
    mdf_lowered_id rows;
    const mdf_lowered_id *items; /* NULL: it is one of rows */
    size_t n_items;
};

/* --- lower_sequence.c */
/* Input `i`, as calls read it; NONE where it is left out, *is_given says which, or on failure. */
mdf_lowered_id sequence_input(const struct sequence_call *call, size_t i, bool *is_given);
/* Whether a value can be an item, and has the form of the rows, if there are any. */
bool sequence_fits(const struct sequence_call *call, mdf_lowered_id item);
/* An item as a row: in the form of the others. */
mdf_lowered_id sequence_row(const struct sequence_call *call, mdf_lowered_id item);

/* --- lower_sequence_room.c */
/* Input `i` as a number, also where that is an array of one; NONE: it is none. */
mdf_lowered_id sequence_number(const struct sequence_call *call, size_t i);
/* A position among n items, or where `at_end` right behind them, counted from the first: any other bails out. */
mdf_lowered_id sequence_position(const struct sequence_call *call, size_t input, mdf_lowered_id n, bool at_end);
/* As many rows, those from a position on moved back by one, and an item there, of their form. */
mdf_lowered_id sequence_insert_at(const struct sequence_call *call, mdf_lowered_id item, mdf_lowered_id position, size_t n_rows);
/* All of n rows but the one at a position. */
mdf_lowered_id sequence_erase_at(const struct sequence_call *call, mdf_lowered_id position, int64_t n);
/* What a call gives whose sequence is one in an array with room for more; NONE: it is refused. */
mdf_lowered_id sequence_in_room(struct sequence_call *call, mdf_lowered_id sequence);

#endif
