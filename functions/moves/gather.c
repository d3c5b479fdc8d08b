/* gather.c - elements picked by index: Gather, GatherElements, GatherND, Compress, OneHot.
 *
 * Comes in: an array and indices (or a condition). Goes out: what they point at. A negative index counts from the end; one
 * out of range is an error. Source: the ONNX operators of these names, all versions. */
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "functions/moves/along.h"
#include "functions/moves/offsets.h"

#include <string.h>

struct axis_settings {
    int64_t axis;
};

static const struct mdf_setting axis_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct axis_settings, axis)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* Copies, for each of `outer` parts of the array, the blocks of `inner` elements that the indices point at: some parts at a time,
 * as one with as many indices. */
static bool copy_blocks(struct mdf_call *call, const struct mdf_value *data, void *target, const int64_t *indices, size_t n,
                        size_t axis, size_t outer, size_t inner)
{
    enum { MOST_AT_ONCE = 1 << 12 }; /* indices */

    mdf_dtype dtype = (mdf_dtype)data->dtype;
    size_t size = (size_t)mdf_value_shape(data)[axis], n_parts = n > 0 && n < MOST_AT_ONCE ? MOST_AT_ONCE / n : 1, *offsets;

    n_parts = n_parts < outer ? n_parts : outer > 0 ? outer : 1;
    offsets = mdf_call_scratch(call, MDF_SCRATCH_SECOND, MDF_DTYPE_UINT64, n * n_parts);
    if (offsets == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_index_check(call, indices[i], i, axis, (int64_t)size, &offsets[i])) {
            return false;
        }
        offsets[i] *= inner;
    }
    for (size_t i = n; i < n * n_parts; i++) {
        offsets[i] = offsets[i - n] + size * inner;
    }
    for (size_t part = 0; part < outer && !mdf_should_stop(call->context); part += n_parts) {
        mdf_blocks_gather(call, dtype, mdf_element_to_write(dtype, target, part * n * inner),
                          mdf_element_at(dtype, data->data, part * size * inner), offsets,
                          n * (n_parts < outer - part ? n_parts : outer - part), inner);
    }
    return true;
}

static bool gather(struct mdf_call *call)
{
    const struct axis_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0), *indices = mdf_call_tensor(call, 1);
    const int64_t *items, *sizes;
    int64_t *shape;
    size_t axis, n, rank;
    struct mdf_box box;
    void *target;

    if (data == NULL || indices == NULL || !mdf_call_axis(call, settings->axis, data->rank, &axis)) {
        return false;
    }
    items = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n);
    rank = (size_t)data->rank - 1 + indices->rank;
    if (items == NULL || !mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    sizes = mdf_value_shape(data);
    memcpy(shape, sizes, axis * sizeof *shape);
    memcpy(shape + axis, mdf_value_shape(indices), indices->rank * sizeof *shape);
    memcpy(shape + axis + indices->rank, sizes + axis + 1, (data->rank - axis - 1) * sizeof *shape);
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, shape);
    return target != NULL && copy_blocks(call, data, target, items, n, axis, mdf_axes_product(sizes, 0, axis),
                                         mdf_axes_product(sizes, axis + 1, data->rank));
}

static bool gather_elements(struct mdf_call *call)
{
    return mdf_along_gather_all(call, ((const struct axis_settings *)call->settings)->axis);
}

struct batch_settings {
    int64_t n_batch_axes; /* from version 12 on */
};

static const struct mdf_setting batch_table[] = {{"batch_dims", MDF_SETTING_INT, offsetof(struct batch_settings, n_batch_axes)},
                                                 {NULL, MDF_SETTING_INT, 0}};

static bool gather_nd(struct mdf_call *call)
{
    const struct batch_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0), *indices = mdf_call_tensor(call, 1);
    int64_t n_batch_axes = settings->n_batch_axes == MDF_NOT_GIVEN ? 0 : settings->n_batch_axes, *shape;
    const size_t *offsets;
    size_t n, n_block, first_kept, rank;
    struct mdf_box box;
    void *target;

    if (data == NULL || indices == NULL) {
        return false;
    }
    if (n_batch_axes < 0) {
        return mdf_call_error(call, MDF_VALUE, "batch_dims is %lld", (long long)n_batch_axes);
    }
    offsets = mdf_offsets_of_tuples(call, data, (size_t)n_batch_axes, &n, &n_block);
    if (offsets == NULL) {
        return false;
    }
    first_kept = (size_t)n_batch_axes + (size_t)mdf_value_shape(indices)[indices->rank - 1];
    rank = (size_t)indices->rank - 1 + data->rank - first_kept;
    if (!mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    memcpy(shape, mdf_value_shape(indices), ((size_t)indices->rank - 1) * sizeof *shape);
    memcpy(shape + indices->rank - 1, mdf_value_shape(data) + first_kept, (data->rank - first_kept) * sizeof *shape);
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, shape);
    if (target != NULL) {
        mdf_blocks_gather(call, (mdf_dtype)data->dtype, target, data->data, offsets, n, n_block);
    }
    return target != NULL;
}

/* ------------------------------------------------------------------ Compress */

/* Positions of the true elements of input 1, in scratch; NULL with the error set. */
static const int64_t *true_positions(struct mdf_call *call, size_t *n)
{
    const struct mdf_value *condition = mdf_call_tensor(call, 1);
    int64_t *positions =
        condition != NULL ? mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_INT64, condition->length + 1) : NULL;

    *n = 0;
    if (positions == NULL) {
        return NULL;
    }
    if (condition->dtype != MDF_DTYPE_BOOL || condition->rank != 1) {
        char text[96];

        mdf_value_describe(condition, text, sizeof text);
        mdf_call_error(call, MDF_TYPE, "the condition must be a list of bool, not %s", text);
        return NULL;
    }
    for (size_t i = 0; i < condition->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (((const uint8_t *)condition->data)[i] != 0) {
            positions[(*n)++] = (int64_t)i;
        }
    }
    return positions;
}

static bool compress(struct mdf_call *call)
{
    const struct axis_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    bool flat = settings->axis == MDF_NOT_GIVEN;
    const int64_t *positions;
    int64_t *shape;
    size_t n, axis = 0, rank;
    struct mdf_box box;
    struct mdf_value line;
    void *target;

    positions = data != NULL ? true_positions(call, &n) : NULL;
    if (positions == NULL || (!flat && !mdf_call_axis(call, settings->axis, data->rank, &axis))) {
        return false;
    }
    rank = flat ? 1 : data->rank;
    if (!mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    line = *data; /* a borrowed view, of rank 1 where there is no axis */
    if (flat) {
        line.rank = 1;
        line.shape.sizes[0] = (int64_t)data->length;
    }
    memcpy(shape, mdf_value_shape(&line), rank * sizeof *shape);
    shape[axis] = (int64_t)n;
    target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, rank, shape);
    if (target == NULL || mdf_axes_product(shape, 0, rank) == 0) {
        return target != NULL;
    }
    return copy_blocks(call, &line, target, positions, n, axis, mdf_axes_product(shape, 0, axis),
                       mdf_axes_product(shape, axis + 1, rank));
}

/* ------------------------------------------------------------------ OneHot */

/* Writes the `on` element wherever an index points; the output is filled with the `off` element already. */
static void write_ones(struct mdf_call *call, const struct mdf_value *indices, void *target, const struct mdf_value *values,
                       int64_t depth, size_t axis)
{
    mdf_dtype dtype = (mdf_dtype)values->dtype, index_dtype = (mdf_dtype)indices->dtype;
    size_t inner = mdf_axes_product(mdf_value_shape(indices), axis, indices->rank);
    const void *on = mdf_element_at(dtype, values->data, 1);

    for (size_t i = 0; i < indices->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        int64_t index = mdf_element_to_int64(index_dtype, mdf_element_at(index_dtype, indices->data, i));

        if (index >= -depth && index < depth) {
            size_t place = (size_t)(index < 0 ? index + depth : index);

            mdf_elements_copy(
                call, dtype, mdf_element_to_write(dtype, target, (i / inner * (size_t)depth + place) * inner + i % inner), on, 1);
        }
    }
}

static bool one_hot(struct mdf_call *call)
{
    const struct axis_settings *settings = call->settings;
    const struct mdf_value *indices = mdf_call_tensor(call, 0), *depths = mdf_call_tensor(call, 1),
                           *values = mdf_call_tensor(call, 2);
    int64_t depth, *shape;
    size_t axis, rank;
    struct mdf_box box;
    mdf_dtype dtype;
    void *target;

    if (indices == NULL || depths == NULL || values == NULL ||
        !mdf_call_axis(call, settings->axis, (size_t)indices->rank + 1, &axis)) {
        return false;
    }
    if (depths->length != 1 || values->length != 2) {
        return mdf_call_error(call, MDF_SHAPE, "depth must be one number and values two, not %zu and %zu", depths->length,
                              values->length);
    }
    if (indices->dtype == MDF_DTYPE_STRING || depths->dtype == MDF_DTYPE_STRING) {
        return mdf_call_error(call, MDF_TYPE, "indices and depth must be numbers");
    }
    depth = mdf_element_to_int64((mdf_dtype)depths->dtype, depths->data);
    rank = (size_t)indices->rank + 1;
    if (depth < 0 || !mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return depth < 0 ? mdf_call_error(call, MDF_VALUE, "depth is %lld", (long long)depth) : false;
    }
    for (size_t k = 0; k < rank; k++) {
        shape[k] = k == axis ? depth : mdf_value_shape(indices)[k - (k > axis ? 1u : 0u)];
    }
    dtype = (mdf_dtype)values->dtype;
    target = mdf_call_output(call, 0, dtype, rank, shape);
    if (target == NULL || !mdf_elements_fill(call, dtype, target, mdf_axes_product(shape, 0, rank), values->data)) {
        return false;
    }
    write_ones(call, indices, target, values, depth, axis);
    return true;
}

static bool plan_gather_nd(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct batch_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0], *indices = call->inputs[1];
    const int64_t *shape = mdf_value_shape(data);
    size_t n_batch_axes = settings->n_batch_axes == MDF_NOT_GIVEN ? 0 : (size_t)settings->n_batch_axes;
    size_t depth = (size_t)mdf_value_shape(indices)[indices->rank - 1];
    int64_t strides[MDF_INLINE_RANK];

    if (data->rank > MDF_INLINE_RANK || (indices->dtype != MDF_DTYPE_INT64 && indices->dtype != MDF_DTYPE_INT32) ||
        !mdf_routine_room(plan, 6 + 2 * depth, 0)) {
        return false;
    }
    plan->function = "gather_blocks";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = (int64_t)mdf_axes_product(shape, 0, n_batch_axes);
    plan->whole[1] = (int64_t)mdf_axes_product(mdf_value_shape(indices), n_batch_axes, indices->rank - 1u);
    plan->whole[2] = (int64_t)mdf_axes_product(shape, n_batch_axes, data->rank);
    plan->whole[3] = (int64_t)mdf_axes_product(shape, n_batch_axes + depth, data->rank);
    plan->whole[4] = indices->dtype == MDF_DTYPE_INT64;
    plan->whole[5] = (int64_t)depth;
    mdf_strides(data->rank, shape, strides);
    for (size_t k = 0; k < depth; k++) {
        plan->whole[6 + 2 * k] = shape[n_batch_axes + k];
        plan->whole[7 + 2 * k] = strides[n_batch_axes + k];
    }
    return true;
}

static bool plan_compress(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct axis_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0], *truths = call->inputs[1];
    bool flat = settings->axis == MDF_NOT_GIVEN;
    size_t axis = 0;

    if ((!flat && !mdf_call_axis(call, settings->axis, data->rank, &axis)) || !mdf_routine_room(plan, 5, 0)) {
        return false;
    }
    plan->function = "compress";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = flat ? 1 : (int64_t)mdf_axes_product(mdf_value_shape(data), 0, axis);
    plan->whole[1] = flat ? (int64_t)data->length : mdf_value_shape(data)[axis];
    plan->whole[2] = flat ? 1 : (int64_t)mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    plan->whole[3] = (int64_t)truths->length;
    plan->whole[4] = mdf_value_shape(call->outputs[0])[axis];
    plan->work_bytes = truths->length * sizeof(int64_t);
    return true;
}

const struct mdf_operator mdf_operators_gather[] = {
    {"Gather", 1, 99, gather, axis_table, sizeof(struct axis_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .move = MDF_MOVE(1, .chooses = true), .form = MDF_FORM_GATHER, .infer = &mdf_rule_gather},
    {"GatherElements", 11, 99, gather_elements, axis_table, sizeof(struct axis_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .move = MDF_MOVE(1, .chooses = true), .form = MDF_FORM_GATHER_ELEMENTS, .infer = &mdf_rule_gather_elements},
    {"GatherND", 11, 99, gather_nd, batch_table, sizeof(struct batch_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .chooses = true, .by_tuples = true), .routine = MDF_ROUTINE(plan_gather_nd, "an index is out of range"),
     .infer = &mdf_rule_gather_nd},
    {"Compress", 9, 99, compress, axis_table, sizeof(struct axis_settings), MDF_OPERATOR_NEEDS_AXIS, NULL, .move = MDF_MOVE(1),
     .routine = MDF_ROUTINE(plan_compress, "other numbers of truths are true than when the model was compiled"),
     .infer = &mdf_rule_compress},
    {"OneHot", 9, 99, one_hot, axis_table, sizeof(struct axis_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({2, "numpy.array([numpy.sum(dy * (1 - self(x0, x1, numpy.array([0.0, 1.0])))), "
                                        "numpy.sum(dy * self(x0, x1, numpy.array([0.0, 1.0])))])"},
                                    {MDF_DERIVATIVE_ANY, NULL}),
     .form = MDF_FORM_ONE_HOT, .infer = &mdf_rule_one_hot},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
