/* grid_taps.h - for the files of grid_sample.c: which elements points of a grid meet along an axis, for each kind of vector. */
#ifndef MDF_FUNCTIONS_IMAGE_GRID_TAPS_H
#define MDF_FUNCTIONS_IMAGE_GRID_TAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mdf_grid_padding { MDF_GRID_ZEROS = 0, MDF_GRID_BORDER = 1, MDF_GRID_REFLECTION = 2 /* as C source has them */ };

enum { MDF_GRID_POINTS = 256 /* that are worked on at once, at most */ };

struct mdf_context;
struct mdf_grid_sampling;

/* What n points from number `point` on (over all batches) meet along an axis, whose elements lie `stride` apart in a plane:
 * offsets and weights of their first neighbours there, of their second ones, ... */
typedef void mdf_tap_finder(const struct mdf_grid_sampling *job, size_t axis, int64_t stride, size_t point, size_t n,
                            int64_t *offsets, double *weights);

struct mdf_grid_sampling {
    const struct mdf_context *context; /* a point may have many channels */
    mdf_tap_finder *find_taps;
    const void *x;
    const double *grid;
    void *y;
    size_t rank, n_batches, n_channels, n_plane, n_points, n_parts; /* n_parts: pieces of an element, 2 of complex numbers */
    size_t n_taps, n_choices;                                       /* neighbours along an axis; in all */
    const int64_t *sizes;                                           /* of the axes of X */
    enum mdf_grid_padding padding;
    bool align_corners;
};

#if defined(__x86_64__)
mdf_tap_finder mdf_grid_taps_avx512, mdf_grid_taps_avx2;
#endif
mdf_tap_finder mdf_grid_taps_plain;

#endif
