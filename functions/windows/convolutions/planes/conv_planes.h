/* conv_planes.h - convolution over one or two axes in which each output channel sees one input channel (depthwise). */
#ifndef MDF_FUNCTIONS_CONV_PLANES_H
#define MDF_FUNCTIONS_CONV_PLANES_H

#include "functions/windows/sliding.h"

struct mdf_conv_planes {
    const struct mdf_windows *windows;
    const void *x, *weights, *bias; /* bias may be NULL */
    void *y;
    size_t n_planes;        /* of x, batches times channels */
    size_t n_channels;      /* of x; weights and bias are the same for each batch */
    size_t channel_outputs; /* planes of y for each of x */
    const void *limits;     /* three elements, see functions/elements/epilogue.h, put on y; NULL: none */
};

/* Whether this way is meant for such windows: one or two axes, adjacent windows at most two elements apart. */
bool mdf_conv_planes_fit(const struct mdf_windows *windows);
/* Whether taps in rows of padding are left out; else they meet zeros. */
bool mdf_conv_planes_skip_rows(const struct mdf_windows *windows);
/* Convolves in the workspace's type, float32 or float64; there are windows, and elements. Takes an array of the workspace. Where
 * the processor has fused multiplication and addition it is used, so that last bits may differ from one to another. False with
 * the error set. */
bool mdf_conv_planes_run(struct mdf_workspace *workspace, const struct mdf_conv_planes *planes);

#endif
