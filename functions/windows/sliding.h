/* sliding.h - windows that slide over the spatial axes of an array: the geometry of convolutions and pools.
 *
 * Tap t of window w lies, along each axis, at array position w * stride + t * dilation - pad_begin; a position outside the array
 * is padding. A convolution or pool reads the array through the windows; a transposed convolution writes it. */
#ifndef MDF_FUNCTIONS_SLIDING_H
#define MDF_FUNCTIONS_SLIDING_H

#include "functions/kernel/workspace.h"

/* What the attributes say; the first member of the settings of each operator with windows. */
struct mdf_window_settings {
    const char *auto_pad;
    struct mdf_ints kernel_shape, strides, pads, dilations;
    int64_t ceil_mode;
};

#define MDF_WINDOW_SETTINGS                                                                     \
    {"auto_pad", MDF_SETTING_STRING, offsetof(struct mdf_window_settings, auto_pad)},           \
        {"kernel_shape", MDF_SETTING_INTS, offsetof(struct mdf_window_settings, kernel_shape)}, \
        {"strides", MDF_SETTING_INTS, offsetof(struct mdf_window_settings, strides)},           \
        {"pads", MDF_SETTING_INTS, offsetof(struct mdf_window_settings, pads)},                 \
        {"dilations", MDF_SETTING_INTS, offsetof(struct mdf_window_settings, dilations)},       \
    {                                                                                           \
        "ceil_mode", MDF_SETTING_INT, offsetof(struct mdf_window_settings, ceil_mode)           \
    }

struct mdf_window_axis {
    int64_t array, windows; /* sizes */
    int64_t kernel, stride, dilation, pad_begin, pad_end;
};

struct mdf_windows {
    size_t rank; /* at least 1 */
    struct mdf_window_axis *axes;
    int64_t *shape; /* room for rank + 2 sizes, for the kernel's use */
    enum mdf_auto_pad { MDF_PAD_EXPLICIT, MDF_PAD_SAME_UPPER, MDF_PAD_SAME_LOWER, MDF_PAD_VALID } auto_pad;
};

/* Reads the attributes for an array of rank 2 + n; `kernel` are the n sizes of the weights, or NULL: `kernel_shape` has to
 * say. Number of windows and, under auto_pad, padding are not yet known. Takes an array of the workspace. False with the
 * error set. */
bool mdf_windows_read(struct mdf_workspace *workspace, const struct mdf_window_settings *settings, const struct mdf_value *array,
                      const int64_t *kernel, struct mdf_windows *windows);
/* Works out how many windows there are, and the padding; false with the error set. */
bool mdf_windows_count(struct mdf_call *call, const struct mdf_window_settings *settings, struct mdf_windows *windows);

/* Output 0 becomes the numbers of the elements that the windows of n arrays of c planes meet, from 1 on, [n, c, taps, windows]; 0
 * in the padding. What derivatives are made of. */
bool mdf_windows_places(struct mdf_call *call, const struct mdf_windows *windows, int64_t n, int64_t c);

/* The axes as taps_routine.inc has them: six numbers each. */
void mdf_windows_write(const struct mdf_windows *windows, int64_t *numbers);
/* Bytes of what mdf_meet_taps there writes of them. */
size_t mdf_windows_bytes_met(const struct mdf_windows *windows);
/* Whether n times the taps of all windows along such axes are at most so many. */
bool mdf_windows_meet_few(const int64_t *numbers, int64_t rank, int64_t n, int64_t most);
/* The same of a convolution; counts: batches, groups, channels and outputs of a group. */
bool mdf_windows_meet_few_products(const int64_t counts[4], const int64_t *numbers, int64_t rank, int64_t most);

/* The taps, laid out for loops over rows: runs of windows along the last axis, for one position on the outer axes. */
struct mdf_taps {
    size_t rank, n_taps, n_outer; /* taps of a window; positions on all axes but the last */
    size_t n_last;                /* taps along the last axis, the fastest */
    int64_t n_run;                /* windows along the last axis */
    int64_t stride;               /* of the last axis */
    size_t array_size;            /* elements of one array */
    const struct mdf_window_axis *axes;
    const int64_t *offsets;      /* [n_taps][rank]: where tap t of window 0 lies */
    const int64_t *positions;    /* [n_outer][rank - 1]: where window w begins, without the offset */
    const int64_t *first, *last; /* [n_taps]: windows of a run that tap t does not find in the padding */
};

/* Lays out the taps; with `clip`, those that lie in the padding for every window are left out. Takes two arrays of the
 * workspace. False with the error set. */
bool mdf_taps_prepare(struct mdf_workspace *workspace, const struct mdf_windows *windows, bool clip, struct mdf_taps *taps);

/* Where the row along the last axis begins that tap `tap` of the run of windows at `outer` meets; false where it is padding. */
static inline bool mdf_taps_row(const struct mdf_taps *taps, size_t outer, size_t tap, int64_t *row)
{
    const int64_t *offsets = taps->offsets + tap * taps->rank, *positions = taps->positions + outer * (taps->rank - 1);
    int64_t number = 0;

    for (size_t axis = 0; axis + 1 < taps->rank; axis++) {
        int64_t at = positions[axis] + offsets[axis];

        if (at < 0 || at >= taps->axes[axis].array) {
            return false;
        }
        number = number * taps->axes[axis].array + at;
    }
    *row = number * taps->axes[taps->rank - 1].array;
    return true;
}

/* Where the run of windows at `outer` meets tap `tap`: *offset is the array position of window `first` of the run (which may
 * not exist). False where all are in the padding. */
static inline bool mdf_taps_run(const struct mdf_taps *taps, size_t outer, size_t tap, int64_t *offset)
{
    int64_t row;

    if (!mdf_taps_row(taps, outer, tap, &row)) {
        return false;
    }
    *offset = row + taps->offsets[(tap + 1) * taps->rank - 1];
    return taps->first[tap] < taps->last[tap];
}

#endif
