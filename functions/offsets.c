/* offsets.c - see offsets.h. */
#include "functions/offsets.h"

#include <string.h>

/* Whether input 1 fits the indexed array in rank and, off the axis, in size. */
static bool check_shapes(struct mdf_call *call, const struct mdf_value *data, const struct mdf_value *indices, size_t axis)
{
    char data_text[96], indices_text[96];
    bool fits = indices->rank == data->rank;

    for (size_t k = 0; fits && k < data->rank; k++) {
        fits = k == axis || mdf_value_shape(indices)[k] <= mdf_value_shape(data)[k];
    }
    if (fits) {
        return true;
    }
    mdf_value_describe(data, data_text, sizeof data_text);
    mdf_value_describe(indices, indices_text, sizeof indices_text);
    return mdf_call_error(call, MDF_SHAPE, "indices %s do not fit %s: same rank, and no larger off axis %zu, is needed",
                          indices_text, data_text, axis);
}

/* Steps the index of all axes but the last; returns the offset of the row that it then points at, the axis left out. */
static size_t next_row(const struct mdf_value *indices, const int64_t *strides, size_t axis, int64_t *index, size_t row)
{
    for (size_t k = indices->rank - 1; k-- > 0;) {
        size_t stride = k == axis ? 0 : (size_t)strides[k];

        row += stride;
        if (++index[k] < mdf_value_shape(indices)[k]) {
            return row;
        }
        row -= stride * (size_t)index[k];
        index[k] = 0;
    }
    return row;
}

const size_t *mdf_offsets_along(struct mdf_call *call, const struct mdf_value *data, size_t axis)
{
    const struct mdf_value *indices = mdf_call_tensor(call, 1);
    const int64_t *items;
    int64_t *strides, size;
    size_t n, rank = data->rank, *offsets, row = 0, n_columns, column_stride, stride, at;
    struct mdf_box box;

    items =
        indices != NULL && check_shapes(call, data, indices, axis) ? mdf_call_integers(call, 1, MDF_SCRATCH_SECOND, &n) : NULL;
    if (items == NULL || !mdf_box_prepare(call, rank, rank, &box, &strides)) {
        return NULL;
    }
    offsets = mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, n + 1);
    if (offsets == NULL) {
        return NULL;
    }
    mdf_strides(rank, mdf_value_shape(data), strides);
    memset(box.index, 0, rank * sizeof *box.index);
    size = mdf_value_shape(data)[axis];
    n_columns = (size_t)mdf_value_shape(indices)[rank - 1];
    column_stride = axis == rank - 1 ? 0 : 1;
    stride = (size_t)strides[axis];
    for (size_t i = 0; i < n; i += n_columns) {
        for (size_t column = 0; column < n_columns; column++) {
            int64_t item = items[i + column];

            at = (size_t)(item < 0 ? item + size : item);
            if (at >= (size_t)size && !mdf_index_check(call, item, i + column, axis, size, &at)) {
                return NULL;
            }
            offsets[i + column] = row + column * column_stride + at * stride;
        }
        row = next_row(indices, strides, axis, box.index, row);
    }
    return offsets;
}

/* Checks rank, batch axes and tuple length of the indices; *depth is the tuple length. */
static bool check_tuples(struct mdf_call *call, const struct mdf_value *data, const struct mdf_value *indices,
                         size_t n_batch_axes, size_t *depth)
{
    char data_text[96], indices_text[96];
    bool fits = indices->rank > n_batch_axes && data->rank >= n_batch_axes;

    for (size_t k = 0; fits && k < n_batch_axes; k++) {
        fits = mdf_value_shape(indices)[k] == mdf_value_shape(data)[k];
    }
    *depth = fits ? (size_t)mdf_value_shape(indices)[indices->rank - 1] : 0;
    if (fits && *depth <= data->rank - n_batch_axes) {
        return true;
    }
    mdf_value_describe(data, data_text, sizeof data_text);
    mdf_value_describe(indices, indices_text, sizeof indices_text);
    return mdf_call_error(call, MDF_SHAPE, "indices %s do not fit %s with %zu batch axes", indices_text, data_text, n_batch_axes);
}

const size_t *mdf_offsets_of_tuples(struct mdf_call *call, const struct mdf_value *data, size_t n_batch_axes, size_t *n,
                                    size_t *n_block)
{
    const struct mdf_value *indices = mdf_call_tensor(call, 1);
    const int64_t *items, *shape = mdf_value_shape(data);
    int64_t *strides;
    size_t depth, n_items, *offsets, n_batches, n_in_batch, batch_size, at;
    struct mdf_box box;

    items = indices != NULL && check_tuples(call, data, indices, n_batch_axes, &depth)
                ? mdf_call_integers(call, 1, MDF_SCRATCH_SECOND, &n_items)
                : NULL;
    if (items == NULL || !mdf_box_prepare(call, 0, data->rank, &box, &strides)) {
        return NULL;
    }
    if (!mdf_shape_n_elements(indices->rank - 1, mdf_value_shape(indices), n)) { /* tuples of length 0 take no memory */
        mdf_call_error(call, MDF_LIMIT, "there are too many index tuples");
        return NULL;
    }
    offsets = *n < SIZE_MAX ? mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, *n + 1) : NULL;
    if (offsets == NULL) {
        return NULL;
    }
    mdf_strides(data->rank, shape, strides);
    n_batches = mdf_axes_product(shape, 0, n_batch_axes);
    n_in_batch = n_batches == 0 ? 0 : *n / n_batches;
    batch_size = mdf_axes_product(shape, n_batch_axes, data->rank);
    *n_block = mdf_axes_product(shape, n_batch_axes + depth, data->rank);
    for (size_t i = 0; i < *n; i++) {
        offsets[i] = i / n_in_batch * batch_size;
        for (size_t k = 0; k < depth; k++) {
            if (!mdf_index_check(call, items[i * depth + k], i * depth + k, n_batch_axes + k, shape[n_batch_axes + k], &at)) {
                return NULL;
            }
            offsets[i] += at * (size_t)strides[n_batch_axes + k];
        }
    }
    return offsets;
}
