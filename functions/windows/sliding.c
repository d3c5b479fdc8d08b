/* sliding.c - see sliding.h. Source: the text of ONNX Conv, ConvTranspose, AveragePool and MaxPool. */
#include "functions/windows/sliding.h"

#include "mdf_c/base/sizes.h"
#include "mdf_c/base/text.h"

#include <string.h>

/* Sizes beyond these can not be meant, and would overflow. */
static const int64_t max_attribute = INT32_MAX, max_size = INT64_C(1) << 60;

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return floor_divide(a - 1, b) + 1;
}

static bool read_auto_pad(struct mdf_call *call, const char *text, enum mdf_auto_pad *auto_pad)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    size_t i = text == NULL || text[0] == '\0' ? MDF_PAD_EXPLICIT : MDF_FIND_WORD(text, names);

    *auto_pad = (enum mdf_auto_pad)i;
    return i != SIZE_MAX ||
           mdf_call_error(call, MDF_VALUE, "auto_pad is '%s', not NOTSET, SAME_UPPER, SAME_LOWER or VALID", text);
}

static bool check_list(struct mdf_call *call, const char *name, const struct mdf_ints *list, size_t n, int64_t least)
{
    if (list->items == NULL || list->n == 0) {
        return true;
    }
    if (list->n != n) {
        return mdf_call_error(call, MDF_SHAPE, "%s has %zu numbers, not %zu", name, list->n, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (list->items[i] < least || list->items[i] > max_attribute) {
            return mdf_call_error(call, MDF_VALUE, "%s[%zu] is %lld", name, i, (long long)list->items[i]);
        }
    }
    return true;
}

static int64_t item_or(const struct mdf_ints *list, size_t i, int64_t otherwise)
{
    return list->items != NULL && i < list->n ? list->items[i] : otherwise;
}

static bool read_axis(struct mdf_call *call, const struct mdf_window_settings *settings, size_t rank, size_t i, int64_t size,
                      const int64_t *kernel, struct mdf_window_axis *axis)
{
    axis->array = size;
    axis->kernel = item_or(&settings->kernel_shape, i, kernel != NULL ? kernel[i] : 0);
    axis->stride = item_or(&settings->strides, i, 1);
    axis->dilation = item_or(&settings->dilations, i, 1);
    axis->pad_begin = item_or(&settings->pads, i, 0);
    axis->pad_end = item_or(&settings->pads, i + rank, 0);
    axis->windows = 0;
    if (kernel != NULL && axis->kernel != kernel[i]) {
        return mdf_call_error(call, MDF_SHAPE, "kernel_shape[%zu] is %lld but the weights have size %lld there", i,
                              (long long)axis->kernel, (long long)kernel[i]);
    }
    if (axis->kernel < 1 || axis->kernel > max_attribute) {
        return mdf_call_error(call, MDF_VALUE, "the kernel has size %lld on axis %zu", (long long)axis->kernel, i);
    }
    if (size > max_size) {
        return mdf_call_error(call, MDF_LIMIT, "the input has size %lld on spatial axis %zu", (long long)size, i);
    }
    return true;
}

bool mdf_windows_read(struct mdf_workspace *workspace, const struct mdf_window_settings *settings, const struct mdf_value *array,
                      const int64_t *kernel, struct mdf_windows *windows)
{
    const size_t axis_size = sizeof(struct mdf_window_axis) / sizeof(int64_t);
    struct mdf_call *call = workspace->call;
    size_t rank = array->rank < 2 ? 0 : array->rank - 2;
    int64_t *room = mdf_workspace_array(workspace, MDF_DTYPE_INT64, rank * (axis_size + 1) + 2);

    if (room == NULL) {
        return false;
    }
    if (rank == 0) {
        return mdf_call_error(call, MDF_SHAPE, "X has rank %u, but needs a batch, a channel and at least one spatial axis",
                              array->rank);
    }
    windows->rank = rank;
    windows->axes = (struct mdf_window_axis *)room;
    windows->shape = room + rank * axis_size;
    if (!read_auto_pad(call, settings->auto_pad, &windows->auto_pad) ||
        !check_list(call, "kernel_shape", &settings->kernel_shape, rank, 1) ||
        !check_list(call, "strides", &settings->strides, rank, 1) ||
        !check_list(call, "dilations", &settings->dilations, rank, 1) ||
        !check_list(call, "pads", &settings->pads, 2 * rank, 0)) {
        return false;
    }
    for (size_t i = 0; i < rank; i++) {
        if (!read_axis(call, settings, rank, i, mdf_value_shape(array)[i + 2], kernel, &windows->axes[i])) {
            return false;
        }
    }
    return true;
}

static void pad_to_same(struct mdf_window_axis *axis, int64_t extent, bool upper)
{
    int64_t total;

    axis->windows = ceil_divide(axis->array, axis->stride);
    total = (axis->windows - 1) * axis->stride + extent - axis->array;
    total = total > 0 ? total : 0;
    axis->pad_begin = upper ? total / 2 : total - total / 2;
    axis->pad_end = total - axis->pad_begin;
}

bool mdf_windows_count(struct mdf_call *call, const struct mdf_window_settings *settings, struct mdf_windows *windows)
{
    bool ceil_mode = mdf_is_set(settings->ceil_mode);

    for (size_t i = 0; i < windows->rank; i++) {
        struct mdf_window_axis *axis = &windows->axes[i];
        int64_t extent = (axis->kernel - 1) * axis->dilation + 1, room;

        if (windows->auto_pad == MDF_PAD_SAME_UPPER || windows->auto_pad == MDF_PAD_SAME_LOWER) {
            pad_to_same(axis, extent, windows->auto_pad == MDF_PAD_SAME_UPPER);
            continue;
        }
        if (windows->auto_pad == MDF_PAD_VALID) {
            axis->pad_begin = axis->pad_end = 0;
        }
        room = axis->array + axis->pad_begin + axis->pad_end - extent;
        axis->windows = (ceil_mode ? ceil_divide(room, axis->stride) : floor_divide(room, axis->stride)) + 1;
        if (axis->windows < 0) {
            return mdf_call_error(call, MDF_SHAPE, "the kernel spans %lld positions of axis %zu, which has %lld with padding",
                                  (long long)extent, i, (long long)(room + extent));
        }
        /* A window that would begin behind the array, in the padding, is not one. */
        if (ceil_mode && axis->windows > 0 && (axis->windows - 1) * axis->stride >= axis->array + axis->pad_begin) {
            axis->windows--;
        }
    }
    return true;
}

/* The number of the element of a plane that a tap of a window meets; 0: it is padding. */
static int64_t find_place(const struct mdf_windows *windows, int64_t tap, int64_t window)
{
    int64_t place = 0, size = 1;

    for (size_t i = windows->rank; i-- > 0;) {
        const struct mdf_window_axis *axis = &windows->axes[i];
        int64_t at = window % axis->windows * axis->stride + tap % axis->kernel * axis->dilation - axis->pad_begin;

        if (at < 0 || at >= axis->array) {
            return 0;
        }
        place += at * size;
        size *= axis->array;
        tap /= axis->kernel;
        window /= axis->windows;
    }
    return place + 1;
}

bool mdf_windows_places(struct mdf_call *call, const struct mdf_windows *windows, int64_t n, int64_t c)
{
    int64_t shape[4] = {n, c, 1, 1}, size = 1, *places, *first;
    size_t n_plane;

    for (size_t i = 0; i < windows->rank; i++) {
        shape[2] *= windows->axes[i].kernel;
        shape[3] *= windows->axes[i].windows;
        size *= windows->axes[i].array;
    }
    n_plane = (size_t)(shape[2] * shape[3]);
    places = mdf_call_output(call, 0, MDF_DTYPE_INT64, 4, shape);
    if (places == NULL) {
        return false;
    }
    first = places;
    for (int64_t plane = 0; plane < n * c; plane++) {
        for (size_t i = 0; i < n_plane; i++, places++) {
            *places = plane == 0      ? find_place(windows, (int64_t)i / shape[3], (int64_t)i % shape[3])
                      : first[i] == 0 ? 0
                                      : first[i] + plane * size;
        }
    }
    return true;
}

void mdf_windows_write(const struct mdf_windows *windows, int64_t *numbers)
{
    for (size_t i = 0; i < windows->rank; i++, numbers += 6) {
        const struct mdf_window_axis *axis = &windows->axes[i];
        const int64_t six[] = {axis->array, axis->windows, axis->kernel, axis->stride, axis->dilation, axis->pad_begin};

        memcpy(numbers, six, sizeof six);
    }
}

size_t mdf_windows_bytes_met(const struct mdf_windows *windows)
{
    size_t n_outer = 1, n_taps = 1;

    for (size_t i = 0; i < windows->rank; i++) {
        n_outer *= i + 1 < windows->rank ? (size_t)windows->axes[i].windows : 1;
        n_taps *= (size_t)windows->axes[i].kernel;
    }
    return (n_outer + 3) * n_taps * sizeof(int64_t);
}

bool mdf_windows_meet_few(const int64_t *numbers, int64_t rank, int64_t n, int64_t most)
{
    for (int64_t i = 0; i < rank && n <= most; i++) {
        n = numbers[6 * i + 1] > most || numbers[6 * i + 2] > most ? most + 1 : n * numbers[6 * i + 1];
        n = n > most ? n : n * numbers[6 * i + 2];
    }
    return n <= most;
}

bool mdf_windows_meet_few_products(const int64_t counts[4], const int64_t *numbers, int64_t rank, int64_t most)
{
    int64_t n = 1;

    for (size_t i = 0; i < 4 && n <= most; i++) {
        n = counts[i] > most ? most + 1 : n * counts[i];
    }
    return mdf_windows_meet_few(numbers, rank, n, most);
}

/* ------------------------------------------------------------------ taps */

/* The taps of an axis that meet the array in some window. */
static void clip_axis(const struct mdf_window_axis *axis, bool clip, int64_t *first, int64_t *last)
{
    int64_t furthest = axis->windows > 0 ? (axis->windows - 1) * axis->stride : 0;

    *first = clip ? mdf_clamp(ceil_divide(axis->pad_begin - furthest, axis->dilation), 0, axis->kernel) : 0;
    *last = clip ? mdf_clamp(ceil_divide(axis->array + axis->pad_begin, axis->dilation), *first, axis->kernel) : axis->kernel;
}

static bool count_taps(struct mdf_call *call, const struct mdf_windows *windows, bool clip, struct mdf_taps *taps)
{
    size_t n_taps = 1, n_outer = 1, array_size = 1;
    bool fits = true;

    for (size_t i = 0; i < windows->rank; i++) {
        const struct mdf_window_axis *axis = &windows->axes[i];
        int64_t first, last;

        clip_axis(axis, clip, &first, &last);
        fits = fits && mdf_size_multiply(n_taps, (size_t)(last - first), &n_taps) &&
               mdf_size_multiply(array_size, (size_t)axis->array, &array_size) &&
               (i + 1 == windows->rank || mdf_size_multiply(n_outer, (size_t)axis->windows, &n_outer));
        taps->n_last = (size_t)(last - first);
    }
    taps->n_taps = n_taps;
    taps->n_outer = n_outer;
    taps->array_size = array_size;
    return fits || mdf_call_error(call, MDF_LIMIT, "the windows are more than any memory holds");
}

static void lay_out_offsets(const struct mdf_windows *windows, bool clip, size_t n_taps, int64_t *offsets)
{
    for (size_t tap = 0; tap < n_taps; tap++) {
        size_t left = tap;

        for (size_t i = windows->rank; i-- > 0;) {
            const struct mdf_window_axis *axis = &windows->axes[i];
            int64_t first, last;

            clip_axis(axis, clip, &first, &last);
            offsets[tap * windows->rank + i] =
                (first + (int64_t)(left % (size_t)(last - first))) * axis->dilation - axis->pad_begin;
            left /= (size_t)(last - first);
        }
    }
}

static void lay_out_positions(const struct mdf_windows *windows, size_t n_outer, int64_t *positions)
{
    size_t n_axes = windows->rank - 1;

    for (size_t outer = 0; outer < n_outer; outer++) {
        size_t left = outer;

        for (size_t i = n_axes; i-- > 0;) {
            positions[outer * n_axes + i] = (int64_t)(left % (size_t)windows->axes[i].windows) * windows->axes[i].stride;
            left /= (size_t)windows->axes[i].windows;
        }
    }
}

bool mdf_taps_prepare(struct mdf_workspace *workspace, const struct mdf_windows *windows, bool clip, struct mdf_taps *taps)
{
    const struct mdf_window_axis *last_axis = &windows->axes[windows->rank - 1];
    int64_t *offsets, *positions, *first, *last;

    taps->rank = windows->rank;
    taps->axes = windows->axes;
    taps->n_run = last_axis->windows;
    taps->stride = last_axis->stride;
    if (!count_taps(workspace->call, windows, clip, taps)) {
        return false;
    }
    offsets = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, taps->n_taps, taps->rank + 2);
    positions = offsets == NULL ? NULL : mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, taps->n_outer, taps->rank - 1);
    if (positions == NULL) {
        return false;
    }
    lay_out_offsets(windows, clip, taps->n_taps, offsets);
    lay_out_positions(windows, taps->n_outer, positions);
    first = offsets + taps->n_taps * taps->rank;
    last = first + taps->n_taps;
    for (size_t tap = 0; tap < taps->n_taps; tap++) {
        int64_t offset = offsets[tap * taps->rank + taps->rank - 1];

        first[tap] = mdf_clamp(ceil_divide(-offset, taps->stride), 0, taps->n_run);
        last[tap] = mdf_clamp(ceil_divide(last_axis->array - offset, taps->stride), first[tap], taps->n_run);
    }
    taps->offsets = offsets;
    taps->positions = positions;
    taps->first = first;
    taps->last = last;
    return true;
}
