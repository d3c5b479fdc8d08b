/* conv_planes_kernels.h - for the files of conv_planes.c: what convolves a plane, for each type and kind of vector. Kernels of
 * each size have files of their own, which take the compiler long. */
#ifndef MDF_FUNCTIONS_WINDOWS_CONV_PLANES_KERNELS_H
#define MDF_FUNCTIONS_WINDOWS_CONV_PLANES_KERNELS_H

#include "functions/folds/short_rows.h"
#include "functions/products/fused_vectors.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* One plane and its result. An axis that is not there has size 1. */
struct mdf_plane_geometry {
    int64_t rows, columns; /* of the result */
    int64_t array_rows, array_columns, kernel_rows, kernel_columns;
    int64_t row_stride, stride, row_dilation, dilation, pad_rows, pad_columns;
    const void *zeros;  /* a row of the array */
    const void *limits; /* or NULL */
};

/* A kernel with as many rows as columns: what is known of it when it is compiled. */
struct mdf_square {
    int size, stride, n_rows; /* rows of the result at once */
    bool skips;               /* taps in rows beside the array are left out; else they meet zeros */
    bool looks_ahead;         /* where no tap of some rows is beside the array, a loop without such tests is taken */
    bool is_in_band;          /* the array is a copy of some of its rows, see conv_sevens.inc */
};

enum { MDF_MOST_SQUARE = 7, MDF_MOST_SQUARE_ROWS = 4 };
/* Of kernels with one row: windows that are short enough that all of their row is copied, and elements copied at once. */
enum { MDF_MOST_LINE = 512, MDF_MOST_IN_LINES = 4096 };

typedef void (*mdf_plane_function)(const struct mdf_plane_geometry *geometry, const void *x, const void *weights,
                                   const void *start, void *y);

/* By stride, 1 and 2; those with gaps between the taps, at stride 1, by size, 3 and 5. */
struct mdf_plane_kernels {
    mdf_plane_function of[2];
};
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_threes);
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_fives);
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_sevens);
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_gaps);
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_lines); /* with one row or column */
MDF_DECLARE_FUSED(struct mdf_plane_kernels, mdf_plane_others); /* one for any stride */

/* Of kernels of any size: strides whose phases rows are copied by, and elements of the rows that are copied at once. */
enum { MDF_MOST_PHASES = 4, MDF_MOST_IN_STRIP = 4096 };

/* Elements of one phase of a row, as many as vectors meet: every stride-th one of the row with its zeros. */
static inline int64_t mdf_plane_phase(const struct mdf_plane_geometry *geometry, int64_t lanes)
{
    int64_t met = (geometry->columns + lanes - 1) / lanes * lanes;

    return (met + (geometry->kernel_columns - 1) * geometry->dilation / geometry->stride + lanes - 1) / lanes * lanes;
}

/* Whether so many rows of the array can be copied by phases. */
static inline bool mdf_plane_strip_fits(const struct mdf_plane_geometry *geometry, int64_t lanes, int64_t n_rows)
{
    int64_t pad = geometry->pad_columns, length = mdf_plane_phase(geometry, lanes);

    return geometry->stride <= MDF_MOST_PHASES && pad >= 0 && pad <= MDF_MOST_IN_STRIP && length <= MDF_MOST_IN_STRIP &&
           n_rows <= MDF_MOST_IN_STRIP / (length * geometry->stride);
}

/* Whether those of one row of the result can, in any vectors: what lies above and below is then zeros, else it is left out. */
static inline bool mdf_plane_is_copied(const struct mdf_plane_geometry *geometry)
{
    enum { MOST_LANES = 16 };

    return geometry->row_dilation <= MDF_MOST_IN_STRIP && geometry->row_stride <= MDF_MOST_IN_STRIP &&
           mdf_plane_strip_fits(geometry, MOST_LANES, geometry->kernel_rows);
}

/* As many planes at once as a vector has lanes, one behind the other as weights, starts and results are; elements of one that
 * there is room for, with zeros around its rows, of a kernel, and of a result. */
enum { MDF_SMALL_PLANE = 448, MDF_SMALL_KERNEL = 64, MDF_SMALL_RESULT = 128 };
struct mdf_small_planes {
    int64_t lanes;
    void (*convolve)(const struct mdf_plane_geometry *geometry, bool skips, const void *x, const void *weights,
                     const void *starts, void *y);
};
MDF_DECLARE_FUSED(struct mdf_small_planes, mdf_small_planes);

/* Elements of a row with its zeros: what windows in blocks of 8 meet. */
static inline int64_t mdf_small_width(const struct mdf_plane_geometry *geometry)
{
    return ((geometry->columns + 7) / 8 * 8 - 1) * geometry->stride + (geometry->kernel_columns - 1) * geometry->dilation + 1;
}

#endif
