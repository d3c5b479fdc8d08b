/* byte_winograd.h - convolutions of bytes by windows of 3 by 3 at stride 1, four windows for 16 products a channel instead of 36.
 *
 * Source: A. Lavin, S. Gray, Fast Algorithms for Convolutional Neural Networks (2015), F(2 x 2, 3 x 3), after S. Winograd.
 * Weights are transformed by twice the matrix that has halves, so that all numbers are whole, of 16 bits before they are
 * multiplied, and sums four times what they should be: exact as long as these are less than 2^31. */
#ifndef MDF_FUNCTIONS_BYTE_WINOGRAD_H
#define MDF_FUNCTIONS_BYTE_WINOGRAD_H

#include "functions/windows/convolutions/conv_tiles.h"

struct mdf_byte_winograd {
    const struct mdf_convolution *tiles; /* words are pairs; x, which has no words, is not read */
    const uint8_t *x;                    /* [batch][group][n_channels][plane] */
    uint8_t flip;                        /* makes unsigned bytes of these */
    size_t n_channels;                   /* of a group */
};

/* Arrays and values of the workspace that mdf_byte_winograd_run takes. */
enum { MDF_BYTE_WINOGRAD_ARRAYS = 3 };

/* Whether windows, and channels and outputs of a group, are such that this is exact, and faster than tiles of pairs. */
bool mdf_byte_winograd_fits(const struct mdf_taps *taps, size_t n_channels, size_t n_outputs);
/* What mdf_conv_tiles_run would do with words of x. False with the error set. */
bool mdf_byte_winograd_run(struct mdf_workspace *workspace, const struct mdf_byte_winograd *winograd);

#endif
