/* padded_planes.c - see padded_planes.h. */
#include "functions/onnx/padded_planes.h"

#include "functions/vector_rows.h"

#include <string.h>

enum { MAX_STRIDE = 4, SMALL_PLANE = 1 << 16, LARGEST_PLANE = 1 << 26 };

typedef void (*take_function)(size_t n, const void *x, size_t step, void *y);

#define ELEMENT float
#define TYPE MDF_DTYPE_FLOAT32
#define NAME(x) x##_float32
#include "functions/onnx/padded_rows.inc"
#define ELEMENT double
#define TYPE MDF_DTYPE_FLOAT64
#define NAME(x) x##_float64
#include "functions/onnx/padded_rows.inc"

/* Places along an axis that any window meets. */
static int64_t extent_of(const struct mdf_window_axis *axis)
{
    return (axis->windows - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
}

static size_t phase_of(const struct mdf_window_axis *axis)
{
    return (size_t)(axis->windows + (axis->kernel - 1) * axis->dilation / axis->stride);
}

bool mdf_padded_planes_fit(const struct mdf_taps *taps)
{
    const struct mdf_window_axis *last = &taps->axes[taps->rank - 1];
    double n_plane = (double)phase_of(last) * (double)last->stride;

    for (size_t axis = 0; axis + 1 < taps->rank; axis++) {
        n_plane *= (double)extent_of(&taps->axes[axis]);
    }
    return last->stride <= MAX_STRIDE && taps->array_size > 0 && n_plane <= LARGEST_PLANE &&
           n_plane <= 3 * (double)taps->array_size + SMALL_PLANE;
}

/* Row `row` of a plane with padding, as a row of the array. */
static int64_t source_row(const struct mdf_taps *taps, size_t row)
{
    int64_t source = 0, stride = 1, left = (int64_t)row;

    for (size_t i = taps->rank - 1; i-- > 0;) {
        const struct mdf_window_axis *axis = &taps->axes[i];
        int64_t place = left % extent_of(axis) - axis->pad_begin;

        if (place < 0 || place >= axis->array) {
            return -1;
        }
        left /= extent_of(axis);
        source += place * stride;
        stride *= axis->array;
    }
    return source;
}

/* Element at which window 0 of a run meets a tap: `places` along the axes in front, `last` along the last one, from the padding's
 * begin. */
static int64_t offset_of(const struct mdf_padded_planes *planes, const int64_t *places, int64_t last)
{
    const struct mdf_taps *taps = planes->taps;
    int64_t row = 0;

    for (size_t i = 0; i + 1 < taps->rank; i++) {
        row = row * extent_of(&taps->axes[i]) + places[i];
    }
    return (row * taps->stride + last % taps->stride) * (int64_t)planes->n_phase + last / taps->stride;
}

bool mdf_padded_planes_prepare(struct mdf_workspace *workspace, const struct mdf_taps *taps, struct mdf_padded_planes *planes)
{
    const struct mdf_window_axis *last = &taps->axes[taps->rank - 1];
    int64_t *places, *outer_offsets, *tap_offsets, *sources;

    planes->taps = taps;
    planes->n_rows = 1;
    for (size_t i = 0; i + 1 < taps->rank; i++) {
        planes->n_rows *= (size_t)extent_of(&taps->axes[i]);
    }
    planes->n_phase = phase_of(last);
    planes->n_plane = planes->n_rows * planes->n_phase * (size_t)taps->stride;
    places = mdf_workspace_array(workspace, MDF_DTYPE_INT64, taps->rank + taps->n_outer + taps->n_taps + planes->n_rows);
    if (places == NULL) {
        return false;
    }
    outer_offsets = places + taps->rank;
    tap_offsets = outer_offsets + taps->n_outer;
    sources = tap_offsets + taps->n_taps;
    for (size_t outer = 0; outer < taps->n_outer; outer++) {
        outer_offsets[outer] = offset_of(planes, taps->positions + outer * (taps->rank - 1), 0);
    }
    for (size_t tap = 0; tap < taps->n_taps; tap++) {
        for (size_t i = 0; i < taps->rank; i++) {
            places[i] = taps->offsets[tap * taps->rank + i] + taps->axes[i].pad_begin;
        }
        tap_offsets[tap] = offset_of(planes, places, places[taps->rank - 1]);
    }
    for (size_t row = 0; row < planes->n_rows; row++) {
        sources[row] = source_row(taps, row);
    }
    planes->outer_offsets = outer_offsets;
    planes->tap_offsets = tap_offsets;
    planes->sources = sources;
    return true;
}

void mdf_padded_planes_fill(const struct mdf_padded_planes *planes, mdf_dtype dtype, const void *x, void *to)
{
    (dtype == MDF_DTYPE_FLOAT32 ? fill_plane_float32 : fill_plane_float64)(planes, x, to);
}
