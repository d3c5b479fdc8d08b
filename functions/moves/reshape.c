/* reshape.c - the same elements under another shape, in another order, or repeated.
 *
 * Comes in: an array, and a shape, axes or counts as input or attribute. Goes out: Reshape, Flatten, Squeeze and Unsqueeze
 * share the elements of their input; Expand, Tile, Transpose, DepthToSpace and SpaceToDepth copy them by strides; Shape and
 * Size say what there is. Source: the ONNX operators of these names, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"

#include <string.h>

/* ------------------------------------------------------------------ Reshape, Flatten, Squeeze, Unsqueeze */

struct reshape_settings {
    struct mdf_ints shape; /* version 1 */
    int64_t allow_zero;
};

static const struct mdf_setting reshape_table[] = {{"shape", MDF_SETTING_INTS, offsetof(struct reshape_settings, shape)},
                                                   {"allowzero", MDF_SETTING_INT, offsetof(struct reshape_settings, allow_zero)},
                                                   {NULL, MDF_SETTING_INT, 0}};

static bool output_reshaped(struct mdf_call *call, const struct mdf_value *data, size_t rank, const int64_t *shape)
{
    struct mdf_value *target = mdf_call_target(call, 0);

    if (!mdf_value_reshape(call->context->memory, target, data, rank, shape)) {
        return mdf_call_out_of_memory(call);
    }
    target->strength = MDF_STRENGTH_TYPED;
    return true;
}

/* Fills in the size written as -1 and checks the number of elements. */
static bool complete_shape(struct mdf_call *call, const struct mdf_value *data, size_t rank, int64_t *shape, size_t unknown)
{
    size_t n_known;
    char text[96];

    if (unknown < rank) {
        shape[unknown] = 1;
    }
    mdf_value_describe(data, text, sizeof text);
    if (!mdf_shape_n_elements(rank, shape, &n_known)) {
        return mdf_call_error(call, MDF_SHAPE, "%s can not take the new shape: it has too many elements", text);
    }
    if (unknown < rank) {
        if (n_known == 0 || data->length % n_known != 0) {
            return mdf_call_error(call, MDF_SHAPE, "%s with %zu elements does not fill rows of %zu: axis %zu (-1) has no size",
                                  text, data->length, n_known, unknown);
        }
        shape[unknown] = (int64_t)(data->length / n_known);
    } else if (n_known != data->length) {
        return mdf_call_error(call, MDF_SHAPE, "%s has %zu elements, the new shape has %zu", text, data->length, n_known);
    }
    return true;
}

static bool reshape(struct mdf_call *call)
{
    const struct reshape_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *wanted = settings->shape.items;
    size_t rank = settings->shape.n, unknown = SIZE_MAX;
    struct mdf_box box;
    int64_t *shape;

    if (data != NULL && (wanted == NULL || mdf_call_input(call, 1) != NULL)) {
        wanted = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &rank);
    }
    if (data == NULL || wanted == NULL || !mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    for (size_t axis = 0; axis < rank; axis++) {
        shape[axis] = wanted[axis];
        if (wanted[axis] == -1) {
            if (unknown != SIZE_MAX) {
                return mdf_call_error(call, MDF_SHAPE, "axes %zu and %zu of the new shape are both -1", unknown, axis);
            }
            unknown = axis;
        } else if (wanted[axis] < 0) {
            return mdf_call_error(call, MDF_SHAPE, "axis %zu of the new shape has size %lld", axis, (long long)wanted[axis]);
        } else if (wanted[axis] == 0 && settings->allow_zero != 1) {
            if (axis >= data->rank) {
                return mdf_call_error(call, MDF_SHAPE,
                                      "axis %zu of the new shape is 0 (keep the size), but the input has rank %u", axis,
                                      data->rank);
            }
            shape[axis] = mdf_value_shape(data)[axis];
        }
    }
    return complete_shape(call, data, rank, shape, unknown) && output_reshaped(call, data, rank, shape);
}

struct axis_settings {
    int64_t axis;
};

static const struct mdf_setting axis_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct axis_settings, axis)},
                                                {NULL, MDF_SETTING_INT, 0}};

static bool flatten(struct mdf_call *call)
{
    const struct axis_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t shape[2], axis = settings->axis;

    if (data == NULL) {
        return false;
    }
    if (axis < -(int64_t)data->rank || axis > (int64_t)data->rank) {
        return mdf_call_error(call, MDF_VALUE, "axis %lld is out of range for an input of rank %u", (long long)axis, data->rank);
    }
    axis = axis < 0 ? axis + (int64_t)data->rank : axis;
    shape[0] = (int64_t)mdf_axes_product(mdf_value_shape(data), 0, (size_t)axis);
    shape[1] = (int64_t)mdf_axes_product(mdf_value_shape(data), (size_t)axis, data->rank);
    return output_reshaped(call, data, 2, shape);
}

struct axes_settings {
    struct mdf_ints axes; /* an input from version 13 on */
};

static const struct mdf_setting axes_table[] = {{"axes", MDF_SETTING_INTS, offsetof(struct axes_settings, axes)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* Sets marks[axis] for each of the axes, given as input 1 or attribute; *any tells whether they were given. */
static bool mark_axes(struct mdf_call *call, size_t rank, int64_t *marks, bool *any)
{
    const struct axes_settings *settings = call->settings;
    const int64_t *axes = settings->axes.items;
    size_t n = settings->axes.n, axis;

    memset(marks, 0, rank * sizeof *marks);
    *any = axes != NULL;
    if (mdf_call_input(call, 1) != NULL) {
        axes = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n);
        if (axes == NULL) {
            return false;
        }
        *any = true;
    }
    for (size_t i = 0; *any && i < n; i++) {
        if (!mdf_call_axis(call, axes[i], rank, &axis)) {
            return false;
        }
        if (marks[axis] != 0) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu is given twice", axis);
        }
        marks[axis] = 1;
    }
    return true;
}

static bool squeeze(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *sizes;
    int64_t *marks, *shape;
    struct mdf_box box;
    size_t rank = 0;
    bool any;

    if (data == NULL || !mdf_box_prepare(call, 0, 2 * (size_t)data->rank, &box, &marks) ||
        !mark_axes(call, data->rank, marks, &any)) {
        return false;
    }
    sizes = mdf_value_shape(data);
    shape = marks + data->rank;
    for (size_t axis = 0; axis < data->rank; axis++) {
        if (marks[axis] != 0 && sizes[axis] != 1) {
            return mdf_call_error(call, MDF_SHAPE, "axis %zu has size %lld, not 1", axis, (long long)sizes[axis]);
        }
        if (any ? marks[axis] == 0 : sizes[axis] != 1) {
            shape[rank++] = sizes[axis];
        }
    }
    return output_reshaped(call, data, rank, shape);
}

/* Number of axes that Unsqueeze adds; false where they are not given. */
static bool count_axes(struct mdf_call *call, size_t *n)
{
    const struct axes_settings *settings = call->settings;

    if (mdf_call_input(call, 1) == NULL) {
        *n = settings->axes.n;
        return settings->axes.items != NULL ? true : mdf_call_error(call, MDF_VALUE, "axes are not given");
    }
    return mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, n) != NULL;
}

static bool unsqueeze(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t *shape;
    struct mdf_box box;
    size_t rank, n, from = 0;
    bool any;

    if (data == NULL || !count_axes(call, &n)) {
        return false;
    }
    rank = data->rank + n;
    if (!mdf_box_prepare(call, 0, rank, &box, &shape) || !mark_axes(call, rank, shape, &any)) {
        return false;
    }
    for (size_t axis = 0; axis < rank; axis++) { /* a mark, 1, is the new axis's size */
        if (shape[axis] == 0) {
            shape[axis] = mdf_value_shape(data)[from++];
        }
    }
    return output_reshaped(call, data, rank, shape);
}

/* ------------------------------------------------------------------ Shape, Size */

struct shape_settings {
    int64_t start, end;
};

static const struct mdf_setting shape_table[] = {{"start", MDF_SETTING_INT, offsetof(struct shape_settings, start)},
                                                 {"end", MDF_SETTING_INT, offsetof(struct shape_settings, end)},
                                                 {NULL, MDF_SETTING_INT, 0}};

static int64_t clamp_axis(int64_t axis, int64_t rank)
{
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 ? 0 : axis > rank ? rank : axis;
}

static bool shape_of(struct mdf_call *call)
{
    const struct shape_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t start, end, n, *target;

    if (data == NULL) {
        return false;
    }
    start = settings->start == MDF_NOT_GIVEN ? 0 : clamp_axis(settings->start, data->rank);
    end = settings->end == MDF_NOT_GIVEN ? data->rank : clamp_axis(settings->end, data->rank);
    n = end > start ? end - start : 0;
    target = mdf_call_output(call, 0, MDF_DTYPE_INT64, 1, &n);
    for (int64_t i = 0; target != NULL && i < n; i++) {
        target[i] = mdf_value_shape(data)[start + i];
    }
    return target != NULL;
}

static bool size_of(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t *target = data != NULL ? mdf_call_output(call, 0, MDF_DTYPE_INT64, 0, NULL) : NULL;

    if (target != NULL) {
        *target = (int64_t)data->length;
    }
    return target != NULL;
}

/* ------------------------------------------------------------------ Expand, Tile, Transpose */

static bool expand(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *wanted;
    int64_t *strides;
    size_t n = 0, rank, offset;
    struct mdf_box box;
    void *target;

    wanted = data != NULL ? mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n) : NULL;
    rank = data != NULL && data->rank > n ? data->rank : n;
    if (wanted == NULL || !mdf_box_prepare(call, rank, data->rank, &box, &strides)) {
        return false;
    }
    for (size_t axis = 0; axis < n; axis++) {
        if (wanted[axis] < 0) {
            return mdf_call_error(call, MDF_SHAPE, "axis %zu of the shape has size %lld", axis, (long long)wanted[axis]);
        }
    }
    if (!mdf_broadcast_shape(data->rank, mdf_value_shape(data), n, wanted, box.shape)) {
        char text[96];

        mdf_value_describe(data, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "%s does not broadcast with a shape of rank %zu", text, n);
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, box.shape);
    if (target == NULL) {
        return false;
    }
    mdf_strides(rank, box.shape, box.target_strides);
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    offset = rank - data->rank;
    for (size_t axis = 0; axis < rank; axis++) {
        box.source_strides[axis] = axis < offset || mdf_value_shape(data)[axis - offset] == 1 ? 0 : strides[axis - offset];
    }
    mdf_box_copy(call, &box, (mdf_dtype)data->dtype, target, data->data);
    return true;
}

/* Repeats along each axis: a box of twice the rank, (repeat, element) for each axis. */
static bool tile_by(struct mdf_call *call, const struct mdf_value *data, const int64_t *repeats)
{
    const int64_t *sizes = mdf_value_shape(data);
    size_t rank = data->rank;
    int64_t *shape, *target_strides, *source_strides;
    struct mdf_box box;
    void *target;

    if (!mdf_box_prepare(call, 2 * rank, 3 * rank, &box, &shape)) {
        return false;
    }
    target_strides = shape + rank;
    source_strides = shape + 2 * rank;
    for (size_t axis = 0; axis < rank; axis++) {
        if (repeats[axis] < 0 || __builtin_mul_overflow(sizes[axis], repeats[axis], &shape[axis])) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu of size %lld can not be repeated %lld times", axis,
                                  (long long)sizes[axis], (long long)repeats[axis]);
        }
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, shape);
    if (target == NULL || mdf_axes_product(shape, 0, rank) == 0) {
        return target != NULL;
    }
    mdf_strides(rank, shape, target_strides);
    mdf_strides(rank, sizes, source_strides);
    for (size_t axis = 0; axis < rank; axis++) {
        box.shape[2 * axis] = repeats[axis];
        box.target_strides[2 * axis] = sizes[axis] * target_strides[axis];
        box.source_strides[2 * axis] = 0;
        box.shape[2 * axis + 1] = sizes[axis];
        box.target_strides[2 * axis + 1] = target_strides[axis];
        box.source_strides[2 * axis + 1] = source_strides[axis];
    }
    mdf_box_copy(call, &box, (mdf_dtype)data->dtype, target, data->data);
    return true;
}

static bool tile(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const int64_t *repeats;
    size_t n;

    repeats = data != NULL ? mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n) : NULL;
    if (repeats == NULL) {
        return false;
    }
    if (n != data->rank) {
        return mdf_call_error(call, MDF_SHAPE, "%zu repeats are given for an input of rank %u", n, data->rank);
    }
    return tile_by(call, data, repeats);
}

/* Version 1: a count and one axis. */
static bool tile_axis(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t count, axis, *repeats;
    size_t place;

    if (data == NULL || !mdf_call_integer(call, 1, &count) || !mdf_call_integer(call, 2, &axis) ||
        !mdf_call_axis(call, axis, data->rank, &place)) {
        return false;
    }
    repeats = mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_INT64, data->rank);
    for (size_t k = 0; repeats != NULL && k < data->rank; k++) {
        repeats[k] = k == place ? count : 1;
    }
    return repeats != NULL && tile_by(call, data, repeats);
}

struct transpose_settings {
    struct mdf_ints permutation;
};

static const struct mdf_setting transpose_table[] = {{"perm", MDF_SETTING_INTS, offsetof(struct transpose_settings, permutation)},
                                                     {NULL, MDF_SETTING_INT, 0}};

static bool transpose(struct mdf_call *call)
{
    const struct transpose_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    const struct mdf_ints *permutation = &settings->permutation;
    struct mdf_box box;
    int64_t *strides;
    size_t rank, from;
    void *target;

    rank = data != NULL ? data->rank : 0;
    if (data == NULL || !mdf_box_prepare(call, rank, rank, &box, &strides)) {
        return false;
    }
    if (permutation->items != NULL && permutation->n != rank && permutation->n > 0) {
        return mdf_call_error(call, MDF_SHAPE, "perm has %zu axes, the input has rank %zu", permutation->n, rank);
    }
    mdf_strides(rank, mdf_value_shape(data), strides);
    memset(box.index, 0, rank * sizeof *box.index);
    for (size_t axis = 0; axis < rank; axis++) {
        if (permutation->items == NULL || permutation->n == 0) {
            from = rank - 1 - axis;
        } else if (!mdf_call_axis(call, permutation->items[axis], rank, &from)) {
            return false;
        }
        if (box.index[from]++ != 0) {
            return mdf_call_error(call, MDF_VALUE, "perm has axis %zu twice", from);
        }
        box.shape[axis] = mdf_value_shape(data)[from];
        box.source_strides[axis] = strides[from];
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, box.shape);
    if (target == NULL) {
        return false;
    }
    mdf_strides(rank, box.shape, box.target_strides);
    mdf_box_copy(call, &box, (mdf_dtype)data->dtype, target, data->data);
    return true;
}

/* ------------------------------------------------------------------ DepthToSpace, SpaceToDepth */

struct block_settings {
    int64_t block_size;
    const char *mode;
};

static const struct mdf_setting block_table[] = {{"blocksize", MDF_SETTING_INT, offsetof(struct block_settings, block_size)},
                                                 {"mode", MDF_SETTING_STRING, offsetof(struct block_settings, mode)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* Checks the mode and sizes; *column_first is whether a block's place comes after the depth in the channel axis ("CRD"). */
static bool check_blocks(struct mdf_call *call, const struct mdf_value *data, bool to_space, bool *column_first)
{
    const struct block_settings *settings = call->settings;
    const int64_t *sizes = mdf_value_shape(data);
    int64_t b = settings->block_size;
    char text[96];

    *column_first = settings->mode != NULL && strcmp(settings->mode, "CRD") == 0;
    if (settings->mode != NULL && !*column_first && strcmp(settings->mode, "DCR") != 0) {
        return mdf_call_error(call, MDF_VALUE, "mode '%s' is neither DCR nor CRD", settings->mode);
    }
    mdf_value_describe(data, text, sizeof text);
    if (data->rank != 4) {
        return mdf_call_error(call, MDF_SHAPE, "the input must have 4 axes (batch, channel, height, width), not %s", text);
    }
    if (b <= 0 || (to_space ? sizes[1] % b != 0 || sizes[1] / b % b != 0 : sizes[2] % b != 0 || sizes[3] % b != 0)) {
        return mdf_call_error(call, MDF_SHAPE, "%s can not be cut into blocks of size %lld", text, (long long)b);
    }
    return true;
}

/* Both directions are one transpose of 6 axes: batch, depth, row in the block, column in the block, height, width (as the
 * channels are laid out) against batch, depth, height, row, width, column. */
static bool move_blocks(struct mdf_call *call, bool to_space)
{
    const struct block_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t b = settings->block_size, shape[4], height, width, depth;
    int64_t *deep, *wide;
    const int64_t *sizes;
    struct mdf_box box;
    bool column_first;
    void *target;

    if (data == NULL || !check_blocks(call, data, to_space, &column_first) || !mdf_box_prepare(call, 6, 0, &box, NULL)) {
        return false;
    }
    sizes = mdf_value_shape(data);
    shape[0] = sizes[0];
    shape[1] = to_space ? sizes[1] / b / b : 0;
    shape[2] = to_space ? 0 : sizes[2] / b;
    shape[3] = to_space ? 0 : sizes[3] / b;
    if (to_space ? __builtin_mul_overflow(sizes[2], b, &shape[2]) || __builtin_mul_overflow(sizes[3], b, &shape[3])
                 : __builtin_mul_overflow(sizes[1], b, &shape[1]) || __builtin_mul_overflow(shape[1], b, &shape[1])) {
        return mdf_call_error(call, MDF_LIMIT, "blocks of size %lld make too large an output", (long long)b);
    }
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, 4, shape);
    if (target == NULL || data->length == 0) {
        return target != NULL;
    }
    depth = to_space ? shape[1] : sizes[1];
    height = to_space ? sizes[2] : shape[2];
    width = to_space ? sizes[3] : shape[3];
    deep = to_space ? box.source_strides : box.target_strides;
    wide = to_space ? box.target_strides : box.source_strides;
    memcpy(box.shape, (int64_t[6]){sizes[0], depth, height, b, width, b}, 6 * sizeof(int64_t));
    mdf_strides(6, box.shape, wide);
    deep[0] = wide[0];
    deep[2] = width;
    deep[4] = 1;
    deep[5] = height * width * (column_first ? 1 : depth); /* column in the block */
    deep[3] = deep[5] * b;                                 /* row in the block */
    deep[1] = height * width * (column_first ? b * b : 1);
    mdf_box_copy(call, &box, (mdf_dtype)data->dtype, target, data->data);
    return true;
}

static bool depth_to_space(struct mdf_call *call)
{
    return move_blocks(call, true);
}

static bool space_to_depth(struct mdf_call *call)
{
    return move_blocks(call, false);
}

const struct mdf_operator mdf_operators_reshape[] = {
    {"Reshape", 1, 99, reshape, reshape_table, sizeof(struct reshape_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .in_order = true), .infer = &mdf_rule_reshape},
    {"Flatten", 1, 99, flatten, axis_table, sizeof(struct axis_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .move = MDF_MOVE(1, .in_order = true), .infer = &mdf_rule_flatten},
    {"Squeeze", 1, 99, squeeze, axes_table, sizeof(struct axes_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .in_order = true), .infer = &mdf_rule_squeeze},
    {"Unsqueeze", 1, 99, unsqueeze, axes_table, sizeof(struct axes_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .in_order = true), .infer = &mdf_rule_unsqueeze},
    {"Shape", 1, 99, shape_of, shape_table, sizeof(struct shape_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE, .infer = &mdf_rule_shape_of},
    {"Size", 1, 99, size_of, NULL, 0, MDF_OPERATOR_PURE, NULL, .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE,
     .infer = &mdf_rule_scalar},
    {"Expand", 8, 99, expand, NULL, 0, MDF_OPERATOR_PURE, NULL, .move = MDF_MOVE(1, .shapes = true), .infer = &mdf_rule_expand},
    {"Tile", 1, 5, tile_axis, NULL, 0, MDF_OPERATOR_PURE, NULL, .move = MDF_MOVE(1, .shapes = true), .infer = &mdf_rule_rank},
    {"Tile", 6, 99, tile, NULL, 0, MDF_OPERATOR_PURE, NULL, .move = MDF_MOVE(1, .shapes = true), .infer = &mdf_rule_tile},
    {"Transpose", 1, 99, transpose, transpose_table, sizeof(struct transpose_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1), .infer = &mdf_rule_transpose},
    {"DepthToSpace", 1, 99, depth_to_space, block_table, sizeof(struct block_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1), .infer = &mdf_rule_depth_to_space},
    {"SpaceToDepth", 1, 99, space_to_depth, block_table, sizeof(struct block_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1), .infer = &mdf_rule_space_to_depth},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
