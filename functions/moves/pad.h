/* pad.h - what stands beyond the ends of an axis that is padded: for Pad and numpy.pad. */
#ifndef MDF_FUNCTIONS_MOVES_PAD_H
#define MDF_FUNCTIONS_MOVES_PAD_H

#include <stddef.h>
#include <stdint.h>

/* A constant; the array turned round at its end elements; its end elements; the array again and again; of numpy alone, the array
 * turned round with its end elements. */
enum mdf_padding {
    MDF_PADDING_CONSTANT,
    MDF_PADDING_REFLECT,
    MDF_PADDING_EDGE,
    MDF_PADDING_WRAP,
    MDF_PADDING_N_OF_ONNX,
    MDF_PADDING_SYMMETRIC = MDF_PADDING_N_OF_ONNX,
    MDF_PADDING_N
};

extern const char *const mdf_padding_names[MDF_PADDING_N];

/* The index in [0, n) that stands at an index, which may lie outside; n > 0. Not of a constant. */
int64_t mdf_padding_index(enum mdf_padding padding, int64_t index, int64_t n);
/* The next index of an array of a shape, row by row; behind the last one, the first. */
void mdf_padding_advance(size_t rank, const int64_t *shape, int64_t *index);

#endif
