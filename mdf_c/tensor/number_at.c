/* number_at.c - one number out of a value. See value.h. */
#include "mdf_c/tensor/value.h"

/* An index of Python: from the end where it is negative. */
static bool normalise(int64_t index, uint64_t n, uint64_t *position)
{
    if (index < 0) {
        *position = n - (uint64_t) - (index + 1) - 1;
        return (uint64_t) - (index + 1) < n;
    }
    *position = (uint64_t)index;
    return *position < n;
}

/* The single element that is left of an array once the indices are applied to its first axes. */
static bool array_number(const struct mdf_value *value, const int64_t *indices, size_t n_indices, double *number)
{
    const int64_t *shape = mdf_value_shape(value);
    size_t first = 0, n_each = value->length;
    uint64_t position;

    if (n_indices > value->rank || value->dtype >= MDF_DTYPE_COUNT || mdf_dtype_kind((mdf_dtype)value->dtype) == 's' ||
        mdf_dtype_kind((mdf_dtype)value->dtype) == 'c') {
        return false;
    }
    for (size_t i = 0; i < n_indices; i++) {
        if (!normalise(indices[i], (uint64_t)shape[i], &position) || n_each == 0) {
            return false;
        }
        n_each /= (size_t)shape[i];
        first += (size_t)position * n_each;
    }
    if (n_each != 1) {
        return false;
    }
    *number = mdf_element_to_double((mdf_dtype)value->dtype,
                                    (const char *)value->data + first * mdf_dtype_size((mdf_dtype)value->dtype));
    return true;
}

bool mdf_value_number_at(const struct mdf_value *value, const int64_t *indices, size_t n_indices, double *number)
{
    uint64_t position;

    while (value->kind == MDF_KIND_LIST && n_indices > 0) {
        if (!normalise(indices[0], value->length, &position)) {
            return false;
        }
        value = &mdf_value_items(value)[position];
        indices++;
        n_indices--;
    }
    return value->kind == MDF_KIND_TENSOR && array_number(value, indices, n_indices, number);
}
