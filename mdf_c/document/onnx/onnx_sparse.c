/* onnx_sparse.c - SparseTensorProto as a dense array: zeros (empty strings) but where an index says.
 *
 * Indices are int64: one number an element, in the row-major order of the dense array, or one row of coordinates an element. */
#include "mdf_c/document/onnx/onnx_import.h"

#include <string.h>

/* The place of element number `i` in the dense array; false where an index lies outside. */
static bool place_of(const struct onnx_array *dense, size_t n_dense, const int64_t *indices, bool has_rows, size_t i,
                     size_t *place)
{
    if (!has_rows) {
        *place = (size_t)indices[i];
        return indices[i] >= 0 && *place < n_dense;
    }
    *place = 0;
    for (size_t axis = 0; axis < dense->rank; axis++) {
        int64_t index = indices[i * dense->rank + axis];

        if (index < 0 || index >= dense->shape[axis]) {
            return false;
        }
        *place = *place * (size_t)dense->shape[axis] + (size_t)index;
    }
    return true;
}

static bool scatter(struct onnx_import *import, struct onnx_array *dense, size_t n_dense, const struct onnx_array *values,
                    size_t n_values, const struct onnx_array *indices)
{
    size_t size = mdf_dtype_size(dense->dtype), n_bytes, place, i;
    const int64_t *at = indices->data.as.numbers.elements;
    const char *from = values->data.as.numbers.elements;
    char *elements;

    if (!mdf_size_multiply(n_dense, size, &n_bytes) || n_bytes > ONNX_MAX_DENSE_BYTES) {
        return mdf_onnx_fail(import, MDF_LIMIT, "a sparse tensor would need more than %zu bytes as a dense one",
                             ONNX_MAX_DENSE_BYTES);
    }
    elements = mdf_arena_array(&import->document->arena, n_dense, size);
    if (elements == NULL) {
        return mdf_onnx_out_of_memory(import);
    }
    for (i = 0; i < n_values; i++) {
        if (!place_of(dense, n_dense, at, indices->rank == 2, i, &place)) {
            return mdf_onnx_fail(import, MDF_VALUE, "index number %zu of a sparse tensor lies outside it", i);
        }
        memcpy(elements + place * size, from + i * size, size);
    }
    return mdf_onnx_array_of(import, dense, n_dense, elements);
}

bool mdf_onnx_sparse(struct onnx_import *import, const Mdf__SparseTensorProto *sparse, struct onnx_array *array)
{
    struct onnx_array values, indices;
    size_t n_values, n_dense;

    if (sparse->values == NULL || sparse->indices == NULL) {
        return mdf_onnx_fail(import, MDF_MODEL, "a sparse tensor has no values or no indices");
    }
    if (!mdf_onnx_tensor(import, sparse->values, &values) || !mdf_onnx_tensor(import, sparse->indices, &indices) ||
        !mdf_onnx_tensor_head(import, sparse->dims, sparse->n_dims, sparse->values->data_type, array, &n_dense)) {
        return false;
    }
    if (array->dtype == MDF_DTYPE_STRING) {
        return mdf_onnx_fail(import, MDF_UNSUPPORTED, "a sparse tensor of strings can not be read");
    }
    n_values = values.rank == 1 ? (size_t)values.shape[0] : 0;
    if (values.rank != 1 || indices.dtype != MDF_DTYPE_INT64 || indices.rank < 1 || indices.rank > 2 ||
        (size_t)indices.shape[0] != n_values || (indices.rank == 2 && (size_t)indices.shape[1] != array->rank)) {
        return mdf_onnx_fail(
            import, MDF_SHAPE,
            "the indices of a sparse tensor do not fit its values: they must be int64, one, or one row, a value");
    }
    return scatter(import, array, n_dense, &values, n_values, &indices);
}
