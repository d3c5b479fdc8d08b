/* padded_planes.h - planes laid out anew for windows that slide over them: with their padding, and each row along the last axis
 * split by the stride into phases, element j of phase p being the row's element j * stride + p. Adjacent windows of a run then
 * meet a tap in adjacent elements. */
#ifndef MDF_FUNCTIONS_PADDED_PLANES_H
#define MDF_FUNCTIONS_PADDED_PLANES_H

#include "functions/onnx/sliding.h"

enum { MDF_PADDED_SLACK = 64 /* elements behind the last plane's last that may be read; the user sets them */ };

struct mdf_padded_planes {
    const struct mdf_taps *taps;
    size_t n_rows;  /* of a plane, with padding */
    size_t n_phase; /* elements of one phase of a row */
    size_t n_plane; /* elements of a plane */
    /* Window w of the run at `outer` meets tap t at element outer_offsets[outer] + tap_offsets[t] + w. */
    const int64_t *outer_offsets, *tap_offsets;
    const int64_t *sources; /* by row: the row of the array, or -1: padding */
};

/* Whether planes are to be laid out for such taps (none of them left out): their strides are small, and most is not padding. */
bool mdf_padded_planes_fit(const struct mdf_taps *taps);
/* Plans the layout. Takes an array of the workspace. False with the error set. */
bool mdf_padded_planes_prepare(struct mdf_workspace *workspace, const struct mdf_taps *taps, struct mdf_padded_planes *planes);
/* Lays out one plane, of float32 or float64. */
void mdf_padded_planes_fill(const struct mdf_padded_planes *planes, mdf_dtype dtype, const void *x, void *to);

#endif
