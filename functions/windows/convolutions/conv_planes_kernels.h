/* conv_planes_kernels.h - for the files of conv_planes.c: what convolves a plane, for each type and kind of vector. */
#ifndef MDF_FUNCTIONS_WINDOWS_CONV_PLANES_KERNELS_H
#define MDF_FUNCTIONS_WINDOWS_CONV_PLANES_KERNELS_H

#include "functions/products/fused_vectors.h"

/* One plane and its result. An axis that is not there has size 1. */
struct mdf_plane_geometry {
    int64_t rows, columns; /* of the result */
    int64_t array_rows, array_columns, kernel_rows, kernel_columns;
    int64_t row_stride, stride, row_dilation, dilation, pad_rows, pad_columns;
    const void *zeros;  /* a row of the array */
    const void *limits; /* or NULL */
};

typedef void (*mdf_plane_function)(const struct mdf_plane_geometry *geometry, const void *x, const void *weights,
                                   const void *start, void *y);

/* For kernels of 3 by 3, 5 by 5 and 7 by 7 at strides 1 and 2, of 3 by 3 and 5 by 5 with gaps at stride 1, and any other. */
struct mdf_plane_kernels {
    mdf_plane_function three[2], five[2], seven[2], dilated_three, dilated_five, any[2];
};
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_kernels);

#endif
