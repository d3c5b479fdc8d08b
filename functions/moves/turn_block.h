/* turn_block.h - blocks of elements whose rows are columns where they come from. */
#ifndef MDF_FUNCTIONS_MOVES_TURN_BLOCK_H
#define MDF_FUNCTIONS_MOVES_TURN_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two innermost axes of what is copied between strided places. */
struct mdf_block {
    int64_t rows, columns;
    int64_t target_row, target_column; /* strides, in elements */
    int64_t source_row, source_column;
};

/* Copies the part of a block that this has a fast way for, where it is a matrix that is transposed: its first *rows rows and
 * *columns columns. What is left, which may be all, is the caller's. */
void mdf_turn_block(size_t element_size, void *target, const void *source, const struct mdf_block *block, int64_t *rows,
                    int64_t *columns);
/* The same for a few rows whose elements lie side by side, column by column, at one of the two places: all of the block, or
 * nothing (false). */
bool mdf_interleave_block(size_t element_size, void *target, const void *source, const struct mdf_block *block);

#endif
