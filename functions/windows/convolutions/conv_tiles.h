/* conv_tiles.h - convolution in tiles: some output channels of some windows, summed in registers over channels and taps. The
 * windows meet a tap in elements that are read where they lie: in planes laid out with their padding, or, where windows are
 * single elements, in the array itself. */
#ifndef MDF_FUNCTIONS_CONV_TILES_H
#define MDF_FUNCTIONS_CONV_TILES_H

#include "functions/products/gemm/gemm.h"
#include "functions/windows/sliding.h"

struct mdf_convolution {
    const struct mdf_taps *taps;    /* none left out */
    const void *x, *weights, *bias; /* bias may be NULL */
    void *y;
    size_t n_batches, n_groups, group_channels, group_outputs;
    bool is_pointwise;                  /* the windows are the elements of the array */
    bool weights_are_constant;          /* the same in each run of the call */
    const void *limits;                 /* three elements, see functions/elements/epilogue.h, put on y; NULL: none */
    mdf_dtype dtype;                    /* FLOAT32, FLOAT64, or UINT32: words of bytes */
    enum mdf_product_elements elements; /* of words, the bytes of the weights are signed */
    uint32_t padding;                   /* a word of padding; 0 with reals */
};

/* Arrays and values of the workspace that mdf_conv_tiles_run takes. */
enum { MDF_CONV_TILES_ARRAYS = 5 };

/* Whether this way is meant for such windows: there are some, and most of what is laid out is not padding. */
bool mdf_conv_tiles_fit(const struct mdf_convolution *tiles);
/* Products that are summed in one go, of windows of so many taps. */
size_t mdf_conv_tiles_block(size_t n_taps);
/* Convolves. Each element is summed channel by channel, tap by tap, with fused
 * multiplication and addition where the processor has it, so that last bits of reals may differ from one to another. False with
 * the error set. */
bool mdf_conv_tiles_run(struct mdf_workspace *workspace, const struct mdf_convolution *tiles);

#endif
