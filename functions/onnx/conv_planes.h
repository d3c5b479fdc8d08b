/* conv_planes.h - convolution in which each output channel sees one input channel (depthwise). */
#ifndef MDF_FUNCTIONS_CONV_PLANES_H
#define MDF_FUNCTIONS_CONV_PLANES_H

#include "functions/onnx/sliding.h"

struct mdf_conv_planes {
    const struct mdf_taps *taps;    /* none left out */
    const void *x, *weights, *bias; /* bias may be NULL */
    void *y;
    size_t n_planes;        /* of x, batches times channels */
    size_t n_channels;      /* of x; weights and bias are the same for each batch */
    size_t channel_outputs; /* planes of y for each of x */
};

/* Arrays of the workspace that the function below uses. */
enum { MDF_CONV_PLANES_ARRAYS = 2 };

/* Whether this way is meant for such taps: others are taken window by window. */
bool mdf_conv_planes_fit(const struct mdf_taps *taps);
/* Convolves in the workspace's type, float32 or float64. False with the error set. */
bool mdf_conv_planes_run(struct mdf_workspace *workspace, const struct mdf_conv_planes *planes);

#endif
