/* offsets.c - see offsets.h. */
#include "functions/moves/offsets.h"

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
        if (mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK)) {
            return NULL;
        }
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
