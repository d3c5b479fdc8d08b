/* padded_planes.c - see padded_planes.h. A plane lies as [phases along each axis][elements of a phase along each axis]; phases
 * that no tap meets are left out. */
#include "functions/windows/convolutions/padded_planes.h"

#include "functions/elements/vectors/vector_rows.h"

#include <math.h>
#include <string.h>

enum {
    SMALL_PLANE = 1 << 16,
    LARGEST_PLANE = 1 << 26,
    SHORT_ROW = 20,        /* rows of fewer elements take longer to be found than to be copied, */
    NUMBERED_ARRAY = 1024, /* in arrays of up to so many, */
    NUMBERED_PLANE = 4096  /* and planes */
};

typedef void (*take_function)(size_t n, const void *x, size_t step, void *y);

#define ELEMENT float
#define TYPE MDF_DTYPE_FLOAT32
#define NAME(x) x##_float32
#include "functions/windows/convolutions/padded_rows.inc"
#define ELEMENT double
#define TYPE MDF_DTYPE_FLOAT64
#define NAME(x) x##_float64
#include "functions/windows/convolutions/padded_rows.inc"
#define ELEMENT uint32_t
#define TYPE MDF_DTYPE_FLOAT32 /* whose elements are taken as they are */
#define NAME(x) x##_uint32
#include "functions/windows/convolutions/padded_rows.inc"

static int64_t reach_of(const struct mdf_window_axis *axis)
{
    return (axis->kernel - 1) * axis->dilation;
}

static int64_t phases_of(const struct mdf_window_axis *axis)
{
    return axis->stride <= reach_of(axis) ? axis->stride : reach_of(axis) + 1;
}

/* Elements of a phase. */
static int64_t elements_of(const struct mdf_window_axis *axis)
{
    return axis->windows + reach_of(axis) / axis->stride;
}

bool mdf_padded_planes_fit(const struct mdf_taps *taps)
{
    double n_plane = 1;

    for (size_t i = 0; i < taps->rank; i++) {
        n_plane *= (double)phases_of(&taps->axes[i]) * (double)elements_of(&taps->axes[i]);
    }
    return taps->array_size > 0 && n_plane <= LARGEST_PLANE && n_plane <= 3 * (double)taps->array_size + SMALL_PLANE;
}

/* The row of the array that is row `row` of a plane that is laid out; -1: it is padding. */
static int64_t source_row(const struct mdf_padded_planes *planes, size_t row)
{
    const struct mdf_taps *taps = planes->taps;
    int64_t source = 0, size = 1, element = (int64_t)(row % planes->n_phase_rows), phase = (int64_t)(row / planes->n_phase_rows);

    for (size_t i = taps->rank - 1; i-- > 0;) {
        const struct mdf_window_axis *axis = &taps->axes[i];
        int64_t place = element % elements_of(axis) * axis->stride + phase % phases_of(axis) - axis->pad_begin;

        if (place < 0 || place >= axis->array) {
            return -1;
        }
        element /= elements_of(axis);
        phase /= phases_of(axis);
        source += place * size;
        size *= axis->array;
    }
    return source;
}

/* The element that window 0 meets, where that lies at `places` along the axes, from the padding's begin. */
static int64_t offset_of(const struct mdf_padded_planes *planes, const int64_t *places)
{
    const struct mdf_taps *taps = planes->taps;
    int64_t phase = 0, element = 0;

    for (size_t i = 0; i < taps->rank; i++) {
        const struct mdf_window_axis *axis = &taps->axes[i];

        if (planes->is_dense && i + 1 == taps->rank) {
            phase = phase * axis->kernel + places[i] / axis->dilation;
            element *= axis->windows;
        } else {
            phase = phase * phases_of(axis) + places[i] % axis->stride;
            element = element * elements_of(axis) + places[i] / axis->stride;
        }
    }
    return phase * (int64_t)(planes->n_phase_rows * planes->n_row) + element;
}

bool mdf_padded_planes_are_dense(const struct mdf_taps *taps, size_t lanes, size_t n_left, size_t n_outputs)
{
    const double multiply_ns = 0.3, move_ns = 0.1; /* a row of weights with a vector; an element laid out */
    const struct mdf_window_axis *last = &taps->axes[taps->rank - 1];
    size_t windows = taps->n_outer * (size_t)taps->n_run, n_vectors = windows / lanes + (windows % lanes > n_left);
    double n_rows = 1, places = 1, saved, more;

    for (size_t i = 0; i + 1 < taps->rank; i++) {
        if (i > 0 && elements_of(&taps->axes[i]) != taps->axes[i].windows) {
            return false; /* there would be gaps */
        }
        n_rows *= (double)phases_of(&taps->axes[i]) * (double)elements_of(&taps->axes[i]);
        places *= (double)taps->axes[i].windows;
    }
    places *= (double)elements_of(last);
    saved = ceil((places - (double)(elements_of(last) - last->windows)) / (double)lanes) - (double)n_vectors;
    more = n_rows * ((double)last->kernel * (double)last->windows - (double)phases_of(last) * (double)elements_of(last));
    return taps->rank > 1 && saved * multiply_ns * (double)taps->n_taps * (double)n_outputs > 2 * move_ns * more;
}

/* The numbers of an array's elements, laid out as its planes are, with the number of elements for padding. */
static const uint32_t *number_elements(struct mdf_padded_planes *planes, uint32_t *room)
{
    size_t n = planes->taps->array_size;

    for (size_t i = 0; i < n; i++) {
        room[i] = (uint32_t)i;
    }
    planes->numbers = NULL;
    planes->padding = (uint32_t)n;
    fill_plane_uint32(planes, room, room + n);
    return room + n;
}

bool mdf_padded_planes_prepare(struct mdf_workspace *workspace, const struct mdf_taps *taps, bool is_dense,
                               struct mdf_padded_planes *planes)
{
    const struct mdf_window_axis *last = &taps->axes[taps->rank - 1];
    int64_t *places, *outer_offsets, *tap_offsets, *sources;
    size_t n_numbers = 0;

    planes->taps = taps;
    planes->is_dense = is_dense;
    planes->n_row = (size_t)(is_dense ? last->windows : elements_of(last));
    planes->n_last_phases = (size_t)(is_dense ? last->kernel : phases_of(last));
    planes->phase_step = is_dense ? last->dilation : 1;
    planes->n_rows = planes->n_phase_rows = 1;
    for (size_t i = 0; i + 1 < taps->rank; i++) {
        planes->n_phase_rows *= (size_t)elements_of(&taps->axes[i]);
        planes->n_rows *= (size_t)(elements_of(&taps->axes[i]) * phases_of(&taps->axes[i]));
    }
    planes->n_plane = planes->n_rows * planes->n_row * planes->n_last_phases;
    if (planes->n_row < SHORT_ROW && taps->array_size <= NUMBERED_ARRAY && planes->n_plane <= NUMBERED_PLANE) {
        n_numbers = taps->array_size + planes->n_plane;
    }
    places = mdf_workspace_array(workspace, MDF_DTYPE_INT64,
                                 taps->rank + taps->n_outer + taps->n_taps + planes->n_rows + (n_numbers + 1) / 2);
    if (places == NULL) {
        return false;
    }
    outer_offsets = places + taps->rank;
    tap_offsets = outer_offsets + taps->n_outer;
    sources = tap_offsets + taps->n_taps;
    for (size_t outer = 0; outer < taps->n_outer; outer++) {
        memcpy(places, taps->positions + outer * (taps->rank - 1), (taps->rank - 1) * sizeof *places);
        places[taps->rank - 1] = 0;
        outer_offsets[outer] = offset_of(planes, places);
    }
    for (size_t tap = 0; tap < taps->n_taps; tap++) {
        for (size_t i = 0; i < taps->rank; i++) {
            places[i] = taps->offsets[tap * taps->rank + i] + taps->axes[i].pad_begin;
        }
        tap_offsets[tap] = offset_of(planes, places);
    }
    for (size_t row = 0; row < planes->n_rows; row++) {
        sources[row] = source_row(planes, row);
    }
    planes->outer_offsets = outer_offsets;
    planes->tap_offsets = tap_offsets;
    planes->sources = sources;
    planes->numbers = n_numbers > 0 ? number_elements(planes, (uint32_t *)(void *)(sources + planes->n_rows)) : NULL;
    planes->padding = 0;
    return true;
}

void mdf_padded_planes_fill(const struct mdf_padded_planes *planes, mdf_dtype dtype, const void *x, void *to)
{
    if (dtype == MDF_DTYPE_UINT32) {
        fill_plane_uint32(planes, x, to);
    } else {
        (dtype == MDF_DTYPE_FLOAT32 ? fill_plane_float32 : fill_plane_float64)(planes, x, to);
    }
}
