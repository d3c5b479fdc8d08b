/* pad.c - arrays made larger or smaller at their borders: Pad, CenterCropPad.
 *
 * Comes in: an array and, per axis, how many elements to add before and after (negative: to remove). Goes out: the padded
 * array. Constant padding fills the output and copies the array into it; the other modes look up, per axis, the source index
 * of every output index, of the array as it is after negative padding was cut off. Source: ONNX Pad, CenterCropPad, all
 * versions; numpy.pad for reflections and wraps that go round more than once. */
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"
#include "functions/moves/pad.h"
#include "functions/moves/words.h"

#include <string.h>

struct pad_settings {
    const char *mode;
    double value;                   /* versions 1, 2; an input from version 11 on */
    struct mdf_ints paddings, pads; /* versions 1 and 2; an input from version 11 on */
};

static const struct mdf_setting pad_table[] = {{"mode", MDF_SETTING_STRING, offsetof(struct pad_settings, mode)},
                                               {"value", MDF_SETTING_FLOAT, offsetof(struct pad_settings, value)},
                                               {"paddings", MDF_SETTING_INTS, offsetof(struct pad_settings, paddings)},
                                               {"pads", MDF_SETTING_INTS, offsetof(struct pad_settings, pads)},
                                               {NULL, MDF_SETTING_INT, 0}};

struct center_settings {
    struct mdf_ints axes;
};

static const struct mdf_setting center_table[] = {{"axes", MDF_SETTING_INTS, offsetof(struct center_settings, axes)},
                                                  {NULL, MDF_SETTING_INT, 0}};

/* What is added before and after each axis; arrays of the input's rank. */
struct margins {
    int64_t *before, *after;
};

/* Sizes of the output; false with the error set. Of constant padding, too, something may be removed: the other modes need what is
 * left of the array. */
static bool padded_shape(struct mdf_call *call, const struct mdf_value *data, const struct margins *margins,
                         enum mdf_padding mode, int64_t *shape)
{
    const int64_t *sizes = mdf_value_shape(data);

    for (size_t axis = 0; axis < data->rank; axis++) {
        int64_t before = margins->before[axis], after = margins->after[axis], cut_before, cut_after;
        bool overflow = before < -INT64_MAX || after < -INT64_MAX;

        overflow = overflow || __builtin_add_overflow(sizes[axis], before, &shape[axis]);
        overflow = overflow || __builtin_add_overflow(shape[axis], after, &shape[axis]);
        cut_before = !overflow && mode != MDF_PADDING_CONSTANT && before < 0 ? -before : 0;
        cut_after = !overflow && mode != MDF_PADDING_CONSTANT && after < 0 ? -after : 0;
        if (overflow || shape[axis] < 0 || cut_before > sizes[axis] || cut_after > sizes[axis] - cut_before) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu of size %lld can not be padded by %lld before and %lld after", axis,
                                  (long long)sizes[axis], (long long)before, (long long)after);
        }
    }
    return true;
}

/* Fills the output with one element (NULL: zeros) and copies what remains of the array into it. */
static bool pad_constant(struct mdf_call *call, const struct mdf_value *data, const struct margins *margins, const int64_t *shape,
                         const void *element, struct mdf_box *box)
{
    mdf_dtype dtype = (mdf_dtype)data->dtype;
    const int64_t *sizes = mdf_value_shape(data);
    void *target = mdf_call_output(call, 0, dtype, data->rank, shape);
    size_t to = 0, from = 0;

    if (target == NULL || !mdf_elements_fill(call, dtype, target, mdf_axes_product(shape, 0, data->rank), element)) {
        return false;
    }
    if (data->length == 0 || mdf_axes_product(shape, 0, data->rank) == 0) {
        return true;
    }
    mdf_strides(data->rank, shape, box->target_strides);
    mdf_strides(data->rank, sizes, box->source_strides);
    for (size_t axis = 0; axis < data->rank; axis++) {
        int64_t before = margins->before[axis], first = before > 0 ? before : 0, last = sizes[axis] + before;

        last = last < shape[axis] ? last : shape[axis];
        if (first >= last) {
            return true;
        }
        box->shape[axis] = last - first;
        to += (size_t)(first * box->target_strides[axis]);
        from += (size_t)((first - before) * box->source_strides[axis]);
    }
    mdf_box_copy(call, box, dtype, mdf_element_to_write(dtype, target, to), mdf_element_at(dtype, data->data, from));
    return true;
}

const char *const mdf_padding_names[MDF_PADDING_N] = {"constant", "reflect", "edge", "wrap", "symmetric"};

int64_t mdf_padding_index(enum mdf_padding padding, int64_t index, int64_t n)
{
    int64_t twice = padding == MDF_PADDING_SYMMETRIC, period = padding == MDF_PADDING_WRAP ? n : 2 * (n - 1 + twice);

    if (padding == MDF_PADDING_EDGE || n == 1) {
        return index < 0 ? 0 : index >= n ? n - 1 : index;
    }
    index %= period;
    index = index < 0 ? index + period : index;
    return index < n ? index : period - twice - index;
}

void mdf_padding_advance(size_t rank, const int64_t *shape, int64_t *index)
{
    for (size_t axis = rank; axis-- > 0 && ++index[axis] == shape[axis];) {
        index[axis] = 0;
    }
}

/* Output indices [first, last) of an axis are what the array has there, side by side; the others have to be looked up. */
struct inside {
    int64_t first, last;
};

/* Writes, for every axis, the source offset of each of its output indices into `offsets`, one axis behind the other; *columns is
 * what lies inside of the last one, of which only the first offset is written. */
static bool map_axes(struct mdf_call *call, const struct mdf_value *data, const struct margins *margins, const int64_t *shape,
                     enum mdf_padding mode, const int64_t *strides, int64_t *offsets, struct inside *columns)
{
    for (size_t axis = 0; axis < data->rank; offsets += shape[axis], axis++) {
        int64_t before = margins->before[axis], after = margins->after[axis], cut = before < 0 ? -before : 0;
        int64_t n = mdf_value_shape(data)[axis] - cut + (after < 0 ? after : 0), first = before > 0 ? before : 0;

        if (n == 0 && shape[axis] > 0) {
            return mdf_call_error(call, MDF_SHAPE, "axis %zu has nothing to pad with", axis);
        }
        *columns = (struct inside){first, first + n};
        for (int64_t i = 0; i < first; i++) {
            offsets[i] = (cut + mdf_padding_index(mode, i - first, n)) * strides[axis];
        }
        for (int64_t i = first, end = axis + 1 < data->rank ? first + n : first + 1; i < end; i++) {
            offsets[i] = (cut + i - first) * strides[axis];
        }
        for (int64_t i = first + n; i < shape[axis]; i++) {
            offsets[i] = (cut + mdf_padding_index(mode, i - first, n)) * strides[axis];
        }
    }
    return true;
}

/* A row whose columns lie at `columns` of `source`: those inside, [first, last), as a whole, the others one by one. */
#define COPY_ROW(name, word)                                                                                        \
    static void name(void *target, const void *source, const int64_t *columns, size_t n, size_t first, size_t last) \
    {                                                                                                               \
        const word *from = source;                                                                                  \
        word *to = target;                                                                                          \
                                                                                                                    \
        for (size_t i = 0; i < first; i++) {                                                                        \
            to[i] = from[columns[i]];                                                                               \
        }                                                                                                           \
        memcpy(to + first, from + columns[first], (last - first) * sizeof *to);                                     \
        for (size_t i = last; i < n; i++) {                                                                         \
            to[i] = from[columns[i]];                                                                               \
        }                                                                                                           \
    }
COPY_ROW(copy_row_8, mdf_word8)
COPY_ROW(copy_row_16, mdf_word16)
COPY_ROW(copy_row_32, mdf_word32)
COPY_ROW(copy_row_64, mdf_word64)
COPY_ROW(copy_row_128, mdf_word128)
#undef COPY_ROW

typedef void (*copy_row)(void *target, const void *source, const int64_t *columns, size_t n, size_t first, size_t last);

/* NULL: strings, which are shared one by one, and what has no word of its size. */
static copy_row choose_row(mdf_dtype dtype)
{
    if (dtype == MDF_DTYPE_STRING) {
        return NULL;
    }
    switch (mdf_dtype_size(dtype)) {
    case 1:
        return copy_row_8;
    case 2:
        return copy_row_16;
    case 4:
        return copy_row_32;
    case 8:
        return copy_row_64;
    case 16:
        return copy_row_128;
    default:
        return NULL;
    }
}

/* One row through its columns' offsets; `copy`: NULL where elements are copied one by one. */
static void copy_columns(struct mdf_call *call, mdf_dtype dtype, copy_row copy, void *target, const void *source,
                         const int64_t *columns, size_t n, const struct inside *inside)
{
    size_t first = (size_t)inside->first, last = (size_t)inside->last, length;

    if (copy != NULL) {
        copy(target, source, columns, n, first, last);
        return;
    }
    for (size_t column = 0; column < n; column += length) {
        length = column == first ? last - first : 1;
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, column),
                          mdf_element_at(dtype, source, (size_t)columns[column]), length);
    }
}

/* Copies through the offsets that map_axes wrote: planes of rows, which the axes before the last two say where they begin. */
static void copy_mapped(struct mdf_call *call, mdf_dtype dtype, void *target, const void *source, size_t rank,
                        const int64_t *shape, const int64_t *offsets, const struct inside *inside, int64_t *index)
{
    static const int64_t none = 0;
    size_t n = mdf_axes_product(shape, 0, rank), n_columns = rank > 0 ? (size_t)shape[rank - 1] : 1;
    size_t n_rows = rank > 1 ? (size_t)shape[rank - 2] : 1, n_outer = rank > 1 ? rank - 2 : 0, size = mdf_dtype_size(dtype);
    const int64_t *rows = rank > 1 ? offsets : &none, *columns;
    copy_row copy = choose_row(dtype);
    char *to = target;

    for (size_t axis = 0; axis < n_outer; axis++) {
        rows += shape[axis];
    }
    columns = rank > 1 ? rows + n_rows : rank > 0 ? offsets : &none;
    memset(index, 0, rank * sizeof *index);
    for (size_t at = 0; at < n; at += n_rows * n_columns) {
        const int64_t *of_axis = offsets;
        int64_t plane = 0;

        for (size_t axis = 0; axis < n_outer; axis++) {
            plane += of_axis[index[axis]];
            of_axis += shape[axis];
        }
        for (size_t row = 0; row < n_rows; row++, to += n_columns * size) {
            copy_columns(call, dtype, copy, to, (const char *)source + (size_t)(plane + rows[row]) * size, columns, n_columns,
                         inside);
        }
        mdf_padding_advance(n_outer, shape, index);
    }
}

static bool pad_mapped(struct mdf_call *call, const struct mdf_value *data, const struct margins *margins, const int64_t *shape,
                       enum mdf_padding mode, struct mdf_box *box)
{
    size_t n_offsets = 0;
    int64_t *offsets;
    struct inside columns = {0, 1};
    void *target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, data->rank, shape);

    if (target == NULL || mdf_axes_product(shape, 0, data->rank) == 0) {
        return target != NULL;
    }
    for (size_t axis = 0; axis < data->rank; axis++) {
        n_offsets += (size_t)shape[axis];
    }
    offsets = mdf_call_scratch(call, MDF_SCRATCH_SECOND, MDF_DTYPE_INT64, n_offsets + 1);
    if (offsets == NULL) {
        return false;
    }
    mdf_strides(data->rank, mdf_value_shape(data), box->source_strides);
    if (!map_axes(call, data, margins, shape, mode, box->source_strides, offsets, &columns)) {
        return false;
    }
    copy_mapped(call, (mdf_dtype)data->dtype, target, data->data, data->rank, shape, offsets, &columns, box->index);
    return true;
}

/* ------------------------------------------------------------------ reading what is asked for */

static bool read_mode(struct mdf_call *call, enum mdf_padding *mode)
{
    const struct pad_settings *settings = call->settings;

    for (int i = 0; i < MDF_PADDING_N_OF_ONNX; i++) {
        if (settings->mode == NULL || strcmp(settings->mode, mdf_padding_names[i]) == 0) {
            *mode = (enum mdf_padding)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "unknown mode '%s'", settings->mode);
}

/* Spreads pads, which are those before and then those after each of `n_axes` axes, over the margins. */
static bool spread_pads(struct mdf_call *call, const struct mdf_value *data, const int64_t *pads, size_t n_pads,
                        const struct margins *margins)
{
    const int64_t *axes = NULL;
    size_t n_axes = data->rank, axis;

    if (mdf_call_input(call, 3) != NULL) {
        axes = mdf_call_integers(call, 3, MDF_SCRATCH_SECOND, &n_axes);
        if (axes == NULL) {
            return false;
        }
    }
    if (n_pads / 2 != n_axes || n_pads % 2 != 0) {
        return mdf_call_error(call, MDF_SHAPE, "there are %zu pads for %zu axes; two for each are needed", n_pads, n_axes);
    }
    for (size_t i = 0; i < n_axes; i++) {
        if (!mdf_call_axis(call, axes != NULL ? axes[i] : (int64_t)i, data->rank, &axis)) {
            return false;
        }
        margins->before[axis] = pads[i];
        margins->after[axis] = pads[n_axes + i];
    }
    return true;
}

/* The element to pad with: input 2 or the attribute, whose element is written to `room`; *element NULL: zero. */
static bool read_element(struct mdf_call *call, mdf_dtype dtype, char room[16], const void **element)
{
    const struct pad_settings *settings = call->settings;
    const struct mdf_value *constant = mdf_call_input(call, 2);

    *element = NULL;
    if (constant != NULL) {
        if (mdf_call_tensor(call, 2) == NULL) {
            return false;
        }
        if (constant->length != 1 || constant->dtype != dtype) {
            return mdf_call_error(call, MDF_SHAPE, "the constant value must be one element of type %s", mdf_dtype_name(dtype));
        }
        *element = constant->data;
    } else if ((settings->pads.items != NULL || settings->paddings.items != NULL) && dtype != MDF_DTYPE_STRING) {
        mdf_convert_elements(dtype, room, MDF_DTYPE_FLOAT64, &settings->value, 1, false);
        *element = room;
    }
    return true;
}

static bool pad(struct mdf_call *call)
{
    const struct pad_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *pads = settings->pads.items != NULL ? settings->pads.items : settings->paddings.items;
    size_t n_pads = settings->pads.items != NULL ? settings->pads.n : settings->paddings.n, rank;
    struct margins margins;
    struct mdf_box box;
    int64_t *shape;
    _Alignas(16) char room[16];
    const void *element;
    enum mdf_padding mode = MDF_PADDING_CONSTANT;

    if (data != NULL && (pads == NULL || mdf_call_input(call, 1) != NULL)) {
        pads = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n_pads);
    }
    rank = data != NULL ? data->rank : 0;
    if (data == NULL || pads == NULL || !read_mode(call, &mode) || !mdf_box_prepare(call, rank, 3 * rank, &box, &shape)) {
        return false;
    }
    margins.before = shape + rank;
    margins.after = shape + 2 * rank;
    memset(margins.before, 0, 2 * rank * sizeof *margins.before);
    if (!spread_pads(call, data, pads, n_pads, &margins) || !padded_shape(call, data, &margins, mode, shape) ||
        !read_element(call, (mdf_dtype)data->dtype, room, &element)) {
        return false;
    }
    return mode == MDF_PADDING_CONSTANT ? pad_constant(call, data, &margins, shape, element, &box)
                                        : pad_mapped(call, data, &margins, shape, mode, &box);
}

static bool center_crop_pad(struct mdf_call *call)
{
    const struct center_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *wanted;
    int64_t *shape;
    size_t n, rank, axis;
    struct margins margins;
    struct mdf_box box;

    wanted = data != NULL ? mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n) : NULL;
    rank = data != NULL ? data->rank : 0;
    if (wanted == NULL || !mdf_box_prepare(call, rank, 3 * rank, &box, &shape)) {
        return false;
    }
    margins.before = shape + rank;
    margins.after = shape + 2 * rank;
    memset(margins.before, 0, 2 * rank * sizeof *margins.before);
    if (n != (settings->axes.items != NULL ? settings->axes.n : rank)) {
        return mdf_call_error(call, MDF_SHAPE, "%zu sizes are given for %zu axes", n,
                              settings->axes.items != NULL ? settings->axes.n : rank);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t difference;

        if (!mdf_call_axis(call, settings->axes.items != NULL ? settings->axes.items[i] : (int64_t)i, rank, &axis)) {
            return false;
        }
        if (wanted[i] < 0) {
            return mdf_call_error(call, MDF_SHAPE, "axis %zu is wanted with size %lld", axis, (long long)wanted[i]);
        }
        difference = wanted[i] - mdf_value_shape(data)[axis];
        margins.before[axis] = difference / 2; /* toward zero: the odd element goes to, or comes from, the end */
        margins.after[axis] = difference - difference / 2;
    }
    return padded_shape(call, data, &margins, MDF_PADDING_CONSTANT, shape) &&
           pad_constant(call, data, &margins, shape, NULL, &box);
}

const struct mdf_operator mdf_operators_pad[] = {
    {"Pad", 1, 99, pad, pad_table, sizeof(struct pad_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .fills = 2, .shapes = true), .infer = &mdf_rule_pad},
    {"CenterCropPad", 18, 99, center_crop_pad, center_table, sizeof(struct center_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .zeros = true, .shapes = true), .infer = &mdf_rule_center_crop_pad},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
