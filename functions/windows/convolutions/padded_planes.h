/* padded_planes.h - planes laid out anew for windows that slide over them: with their padding, and split by the strides into
 * phases. Along an axis, element j of phase p is the plane's element j * stride + p. Windows that are adjacent along an axis then
 * meet a tap in elements that are adjacent along it, and a window's element is the same distance from window 0's for each tap.
 * Or, dense: along the last axis there is a row for each tap in place of each phase, of what that one meets in each window. Rows
 * of windows then lie one behind the other without a gap, and vectors have no lanes between them; planes take more room. */
#ifndef MDF_FUNCTIONS_PADDED_PLANES_H
#define MDF_FUNCTIONS_PADDED_PLANES_H

#include "functions/windows/sliding.h"

struct mdf_padded_planes {
    const struct mdf_taps *taps;
    size_t n_rows, n_phase_rows; /* rows along the last axis: of all phases along the other axes; of one of these */
    size_t n_row;                /* elements of a row */
    size_t n_last_phases;        /* phases along the last axis, or taps */
    int64_t phase_step;          /* elements of the array between these */
    bool is_dense;
    size_t n_plane; /* elements of a plane */
    /* Window w of the run at `outer` meets tap t at element outer_offsets[outer] + w + tap_offsets[t]. */
    const int64_t *outer_offsets, *tap_offsets;
    const int64_t *sources; /* by row: the row of the array, or -1: padding */
    /* Where rows are short: by element, its number in the array, or the number behind the last one: padding; else NULL. */
    const uint32_t *numbers;
    uint32_t padding; /* an element of padding, 0 once prepared */
};

/* Whether planes are to be laid out for such taps (none of them left out): most is not padding. */
bool mdf_padded_planes_fit(const struct mdf_taps *taps);
/* Plans the layout. Takes an array of the workspace. False with the error set. */
bool mdf_padded_planes_prepare(struct mdf_workspace *workspace, const struct mdf_taps *taps, bool is_dense,
                               struct mdf_padded_planes *planes);
/* Whether a dense layout is worth its room, where vectors of so many lanes meet each tap for `n_outputs` outputs, and up to
 * `n_left` windows at the end take no vector. */
bool mdf_padded_planes_are_dense(const struct mdf_taps *taps, size_t lanes, size_t n_left, size_t n_outputs);
/* Lays out one plane, of float32, float64 or uint32. */
void mdf_padded_planes_fill(const struct mdf_padded_planes *planes, mdf_dtype dtype, const void *x, void *to);

#endif
