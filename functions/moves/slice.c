/* slice.c - parts of arrays, and arrays put together: Slice, Split, Concat, ReverseSequence.
 *
 * Comes in: arrays, and where to cut, as inputs or (early versions) attributes. Goes out: dense copies, made by strides.
 * Source: the ONNX operators of these names, all versions. */
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"
#include "mdf_c/base/sizes.h"

#include <string.h>

/* ------------------------------------------------------------------ Slice */

struct slice_settings {
    struct mdf_ints starts, ends, axes; /* version 1; inputs from version 10 on */
};

static const struct mdf_setting slice_table[] = {{"starts", MDF_SETTING_INTS, offsetof(struct slice_settings, starts)},
                                                 {"ends", MDF_SETTING_INTS, offsetof(struct slice_settings, ends)},
                                                 {"axes", MDF_SETTING_INTS, offsetof(struct slice_settings, axes)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* One of starts, ends, axes, steps: attribute or input `i`. *given is false where there is neither. */
static const int64_t *slice_part(struct mdf_call *call, const struct mdf_ints *attribute, size_t i, size_t *n, bool *given)
{
    *n = attribute != NULL ? attribute->n : 0;
    *given = mdf_call_input(call, i) != NULL || (attribute != NULL && attribute->items != NULL);
    if (mdf_call_input(call, i) != NULL) {
        return mdf_call_integers(call, i, MDF_SCRATCH_FIRST, n);
    }
    return attribute != NULL ? attribute->items : NULL;
}

/* The ranges as they are cut, per slice: (axis, start, end, step). */
enum { SLICE_AXIS, SLICE_START, SLICE_END, SLICE_STEP, SLICE_FIELDS };

/* Reads one of the four lists into a field of all slices. */
static bool read_field(struct mdf_call *call, const struct mdf_ints *attribute, size_t input, size_t field, size_t n,
                       int64_t *slices)
{
    static const char *const names[SLICE_FIELDS] = {"axes", "starts", "ends", "steps"};
    size_t n_items;
    bool given;
    const int64_t *items = slice_part(call, attribute, input, &n_items, &given);

    if (given && items == NULL) {
        return false;
    }
    if (given ? n_items != n : field == SLICE_END) {
        return mdf_call_error(call, MDF_SHAPE, "there are %zu starts, but %zu %s", n, n_items, names[field]);
    }
    for (size_t i = 0; i < n; i++) {
        slices[i * SLICE_FIELDS + field] = given ? items[i] : field == SLICE_AXIS ? (int64_t)i : 1;
    }
    return true;
}

/* One range clamped to its axis: *start becomes the first index, the result the number of indices. */
static int64_t count_range(int64_t size, int64_t *start, int64_t end, int64_t step)
{
    uint64_t distance, stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;

    *start = *start < 0 ? *start + size : *start;
    end = end < 0 ? end + size : end;
    *start = step > 0 ? mdf_clamp(*start, 0, size) : mdf_clamp(*start, 0, size - 1);
    end = step > 0 ? mdf_clamp(end, 0, size) : mdf_clamp(end, -1, size - 1);
    if (size == 0 || (step > 0 ? *start >= end : *start <= end)) {
        return 0;
    }
    distance = (uint64_t)(step > 0 ? end - *start : *start - end);
    return (int64_t)((distance - 1) / stride + 1);
}

/* Narrows the box by one slice; adds to *first, the offset of the first element. */
static bool apply_slice(struct mdf_call *call, const struct mdf_value *data, const int64_t *slice, struct mdf_box *box,
                        const int64_t *strides, uint64_t *first)
{
    int64_t start = slice[SLICE_START], step = slice[SLICE_STEP], n;
    size_t axis;

    if (!mdf_call_axis(call, slice[SLICE_AXIS], data->rank, &axis)) {
        return false;
    }
    if (step == 0) {
        return mdf_call_error(call, MDF_VALUE, "the step along axis %zu is 0", axis);
    }
    if (box->index[axis]++ != 0) {
        return mdf_call_error(call, MDF_VALUE, "axis %zu is sliced twice", axis);
    }
    n = count_range(mdf_value_shape(data)[axis], &start, slice[SLICE_END], step);
    box->shape[axis] = n;
    if (n > 0) {
        *first += (uint64_t)start * (uint64_t)strides[axis];
        box->source_strides[axis] = n > 1 ? step * strides[axis] : 0;
    }
    return true;
}

static bool slice(struct mdf_call *call)
{
    const struct slice_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t *slices, *strides;
    uint64_t first = 0;
    struct mdf_box box;
    size_t n, rank;
    bool given;
    void *target;

    if (data == NULL || (slice_part(call, &settings->starts, 1, &n, &given) == NULL && given)) {
        return false;
    }
    rank = data->rank;
    if (n > rank) {
        return mdf_call_error(call, MDF_SHAPE, "there are %zu starts for an input of rank %zu", n, rank);
    }
    if (!mdf_box_prepare(call, rank, rank + n * SLICE_FIELDS, &box, &strides)) {
        return false;
    }
    slices = strides + rank;
    if (!read_field(call, &settings->starts, 1, SLICE_START, n, slices) ||
        !read_field(call, &settings->ends, 2, SLICE_END, n, slices) ||
        !read_field(call, &settings->axes, 3, SLICE_AXIS, n, slices) || !read_field(call, NULL, 4, SLICE_STEP, n, slices)) {
        return false;
    }
    mdf_strides(rank, mdf_value_shape(data), strides);
    for (size_t axis = 0; axis < rank; axis++) {
        box.shape[axis] = mdf_value_shape(data)[axis];
        box.source_strides[axis] = strides[axis];
        box.index[axis] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        if (!apply_slice(call, data, slices + i * SLICE_FIELDS, &box, strides, &first)) {
            return false;
        }
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, box.shape);
    if (target == NULL || mdf_axes_product(box.shape, 0, rank) == 0) {
        return target != NULL;
    }
    mdf_strides(rank, box.shape, box.target_strides);
    mdf_box_copy(call, &box, (mdf_dtype)data->dtype, target, mdf_element_at((mdf_dtype)data->dtype, data->data, (size_t)first));
    return true;
}

/* ------------------------------------------------------------------ Split */

struct split_settings {
    int64_t axis;
    int64_t n_outputs;       /* version 18 */
    struct mdf_ints lengths; /* versions 1 to 11; an input in 1 and from 13 on */
};

static const struct mdf_setting split_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct split_settings, axis)},
                                                 {"num_outputs", MDF_SETTING_INT, offsetof(struct split_settings, n_outputs)},
                                                 {"split", MDF_SETTING_INTS, offsetof(struct split_settings, lengths)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* The lengths as the model gives them; NULL where it gives none, or (*failed) with the error set. */
static const int64_t *split_lengths(struct mdf_call *call, size_t axis, int64_t size, size_t *n, bool *failed)
{
    const struct split_settings *settings = call->settings;
    const int64_t *lengths = settings->lengths.items;
    int64_t total = 0;

    *failed = false;
    *n = settings->lengths.n;
    if (mdf_call_input(call, 1) != NULL) {
        lengths = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, n);
        *failed = lengths == NULL;
    }
    if (lengths == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < *n && !*failed; i++) {
        *failed = lengths[i] < 0 || __builtin_add_overflow(total, lengths[i], &total) || total > size;
    }
    if (*failed || total != size || *n < call->n_outputs) {
        *failed = true;
        mdf_call_error(call, MDF_SHAPE, "the %zu given lengths (for %zu outputs) do not make up axis %zu of size %lld", *n,
                       call->n_outputs, axis, (long long)size);
        return NULL;
    }
    return lengths;
}

/* Equal lengths: from version 18 on the last parts may be shorter, before it the size must divide evenly. */
static bool equal_length(struct mdf_call *call, size_t axis, int64_t size, int64_t *length)
{
    const struct split_settings *settings = call->settings;
    bool given = settings->n_outputs != MDF_NOT_GIVEN;
    int64_t n = given ? settings->n_outputs : (int64_t)call->n_outputs;

    if (n <= 0 || (uint64_t)n < call->n_outputs) {
        return mdf_call_error(call, MDF_VALUE, "num_outputs is %lld, but there are %zu outputs", (long long)n, call->n_outputs);
    }
    if (!given && size % n != 0) {
        return mdf_call_error(call, MDF_SHAPE, "axis %zu of size %lld can not be split into %lld equal parts", axis,
                              (long long)size, (long long)n);
    }
    *length = size / n + (size % n != 0);
    return true;
}

static bool split(struct mdf_call *call)
{
    const struct split_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *lengths;
    int64_t size, start = 0, length, equal = 0;
    size_t axis, n;
    bool failed;

    if (data == NULL || !mdf_call_axis(call, settings->axis == MDF_NOT_GIVEN ? 0 : settings->axis, data->rank, &axis)) {
        return false;
    }
    size = mdf_value_shape(data)[axis];
    lengths = split_lengths(call, axis, size, &n, &failed);
    if (failed || (lengths == NULL && !equal_length(call, axis, size, &equal))) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        length = lengths != NULL ? lengths[i] : size - start < equal ? size - start : equal;
        if (call->outputs[i] != NULL && !mdf_take_part(call, call->outputs[i], data, axis, (size_t)start, (size_t)length, true)) {
            return false;
        }
        start += length;
    }
    return true;
}

/* ------------------------------------------------------------------ Concat */

struct concat_settings {
    int64_t axis;
};

static const struct mdf_setting concat_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct concat_settings, axis)},
                                                  {NULL, MDF_SETTING_INT, 0}};

static bool concat(struct mdf_call *call)
{
    const struct concat_settings *settings = call->settings;

    /* version 1 has a default, 1 */
    return mdf_concatenate(call, call->n_inputs, mdf_call_tensor, settings->axis == MDF_NOT_GIVEN ? 1 : settings->axis, false);
}

/* ------------------------------------------------------------------ ReverseSequence */

struct reverse_settings {
    int64_t batch_axis, time_axis;
};

static const struct mdf_setting reverse_table[] = {{"batch_axis", MDF_SETTING_INT, offsetof(struct reverse_settings, batch_axis)},
                                                   {"time_axis", MDF_SETTING_INT, offsetof(struct reverse_settings, time_axis)},
                                                   {NULL, MDF_SETTING_INT, 0}};

/* Copies time steps [first, first + n) of one batch entry, backward or forward. */
static bool copy_steps(struct mdf_call *call, const struct mdf_value *data, void *target, const size_t axes[2], size_t batch,
                       int64_t first, int64_t n, bool backward)
{
    mdf_dtype dtype = (mdf_dtype)data->dtype;
    struct mdf_box box;
    size_t to, from;

    if (n == 0) {
        return true;
    }
    if (!mdf_box_prepare(call, data->rank, 0, &box, NULL)) {
        return false;
    }
    memcpy(box.shape, mdf_value_shape(data), data->rank * sizeof *box.shape);
    mdf_strides(data->rank, box.shape, box.target_strides);
    memcpy(box.source_strides, box.target_strides, data->rank * sizeof *box.shape);
    to = batch * (size_t)box.target_strides[axes[0]] + (size_t)first * (size_t)box.target_strides[axes[1]];
    from = to + (backward ? (size_t)(n - 1) * (size_t)box.target_strides[axes[1]] : 0);
    box.shape[axes[0]] = 1;
    box.shape[axes[1]] = n;
    box.source_strides[axes[1]] *= backward ? -1 : 1;
    mdf_box_copy(call, &box, dtype, mdf_element_to_write(dtype, target, to), mdf_element_at(dtype, data->data, from));
    return true;
}

static bool reverse_sequence(struct mdf_call *call)
{
    const struct reverse_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *lengths, *shape;
    size_t axes[2], n; /* batch, time */
    void *target;

    if (data == NULL || !mdf_call_axis(call, settings->batch_axis, data->rank, &axes[0]) ||
        !mdf_call_axis(call, settings->time_axis, data->rank, &axes[1])) {
        return false;
    }
    lengths = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n);
    if (lengths == NULL) {
        return false;
    }
    shape = mdf_value_shape(data);
    if (axes[0] == axes[1] || n != (size_t)shape[axes[0]]) {
        return mdf_call_error(call, MDF_SHAPE, "%zu sequence lengths are given for batch axis %zu of size %lld (time axis %zu)",
                              n, axes[0], (long long)shape[axes[0]], axes[1]);
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, data->rank, shape);
    for (size_t batch = 0; target != NULL && batch < n && !mdf_should_stop(call->context); batch++) {
        if (lengths[batch] < 0 || lengths[batch] > shape[axes[1]]) {
            return mdf_call_error(call, MDF_VALUE,
                                  "sequence length %lld of batch entry %zu is out of range for a time axis of size %lld",
                                  (long long)lengths[batch], batch, (long long)shape[axes[1]]);
        }
        if (data->length > 0 &&
            (!copy_steps(call, data, target, axes, batch, 0, lengths[batch], true) ||
             !copy_steps(call, data, target, axes, batch, lengths[batch], shape[axes[1]] - lengths[batch], false))) {
            return false;
        }
    }
    return target != NULL;
}

const struct mdf_operator mdf_operators_slice[] = {
    {"Slice", 1, 99, slice, slice_table, sizeof(struct slice_settings), MDF_OPERATOR_NEEDS_AXIS, NULL, .form = MDF_FORM_SLICE,
     .move = MDF_MOVE(1, .cuts = true), .infer = &mdf_rule_slice},
    {"Split", 1, 99, split, split_table, sizeof(struct split_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .move = MDF_MOVE(1, .cuts = true, .shapes = true), .infer = &mdf_rule_split},
    {"Concat", 1, 99, concat, concat_table, sizeof(struct concat_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .form = MDF_FORM_CONCATENATE, .move = MDF_MOVE(MDF_MOVE_ALL), .infer = &mdf_rule_concat},
    {"ReverseSequence", 10, 99, reverse_sequence, reverse_table, sizeof(struct reverse_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1), .infer = &mdf_rule_same},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
