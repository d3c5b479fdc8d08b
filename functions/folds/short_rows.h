/* short_rows.h - matrices of many short rows, turned, so that many rows are folded side by side. */
#ifndef MDF_FUNCTIONS_FOLDS_SHORT_ROWS_H
#define MDF_FUNCTIONS_FOLDS_SHORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/* Elements of a row that counts as short, and how many such rows are worked on at once. */
enum { MDF_SHORT_ROW = 16, MDF_ROWS_AT_ONCE = 64 };

/* Whether mdf_turn_rows is for elements of that size. */
static inline bool mdf_can_turn_rows(size_t element_size)
{
    return element_size == 4 || element_size == 8;
}

/* A matrix transposed: the element in column c of row r goes to c * n_rows + r. */
void mdf_turn_rows(size_t element_size, void *restrict turned, const void *restrict elements, size_t n_rows, size_t n_columns);

#endif
