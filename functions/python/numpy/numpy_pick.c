/* numpy_pick.c - numpy's functions that pick elements of an array: diag diagonal tril triu take flatnonzero.
 *
 * Source: numpy 2.4, "Building matrices", "Indexing routines". */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/python/numpy/numpy_arrange.h"

#include <string.h>

enum { SLOT_SHAPE = MDF_SLOT_OWN, SLOT_HELD };

/* ------------------------------------------------------------------ diagonals and triangles */

/* Of a row the matrix that has it as its diagonal `k`. */
static bool put_diagonal(struct mdf_call *call, const struct mdf_value *row, int64_t k)
{
    int64_t shape[2], n = (int64_t)row->length, i, first_row, first_column;
    mdf_dtype dtype = (mdf_dtype)row->dtype;
    void *elements;

    if (k == INT64_MIN || __builtin_add_overflow(n, k < 0 ? -k : k, &shape[0])) {
        return mdf_call_error(call, MDF_VALUE, "diagonal %lld is out of reach", (long long)k);
    }
    first_row = k < 0 ? -k : 0;
    first_column = k > 0 ? k : 0;
    shape[1] = shape[0];
    elements = mdf_python_make_like(call, mdf_call_target(call, 0), row, 2, shape);
    if (elements == NULL || !mdf_elements_fill(call, dtype, elements, mdf_call_target(call, 0)->length, NULL)) {
        return false;
    }
    for (i = 0; i < n; i++) {
        mdf_elements_copy(call, dtype,
                          mdf_element_to_write(dtype, elements, (size_t)((first_row + i) * shape[1] + first_column + i)),
                          mdf_element_at(dtype, row->data, (size_t)i), 1);
    }
    return true;
}

/* Length of diagonal `k` of a matrix. */
static int64_t diagonal_length(const int64_t *shape, int64_t k)
{
    int64_t rows = k < 0 ? (k < -shape[0] ? 0 : shape[0] + k) : shape[0],
            columns = k > 0 ? (k > shape[1] ? 0 : shape[1] - k) : shape[1];

    return rows < columns ? rows : columns;
}

static bool take_diagonal(struct mdf_call *call, const struct mdf_value *matrix, int64_t k)
{
    const int64_t *shape = mdf_value_shape(matrix);
    int64_t n = diagonal_length(shape, k), i, first_row = k < 0 && n > 0 ? -k : 0, first_column = k > 0 && n > 0 ? k : 0;
    mdf_dtype dtype = (mdf_dtype)matrix->dtype;
    void *elements = mdf_python_make_like(call, mdf_call_target(call, 0), matrix, 1, &n);

    for (i = 0; elements != NULL && i < n; i++) {
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, (size_t)i),
                          mdf_element_at(dtype, matrix->data, (size_t)((first_row + i) * shape[1] + first_column + i)), 1);
    }
    return elements != NULL;
}

/* "v k=". */
static bool run_diag(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t k;

    if (array == NULL || !mdf_python_integer(call, 1, 0, &k)) {
        return false;
    }
    if (array->rank == 1) {
        return put_diagonal(call, array, k);
    }
    return array->rank == 2
               ? take_diagonal(call, array, k)
               : mdf_call_error(call, MDF_SHAPE, "an array of rank %zu is neither row nor matrix", (size_t)array->rank);
}

/* "a offset=". */
static bool run_diagonal(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t k;

    if (array == NULL || !mdf_python_integer(call, 1, 0, &k)) {
        return false;
    }
    return array->rank == 2 ? take_diagonal(call, array, k)
                            : mdf_call_error(call, MDF_SHAPE, "an array of rank %zu is no matrix", (size_t)array->rank);
}

/* Input 0 with zeros above (`lower`) or below diagonal `k` of its matrices. */
static bool keep_triangle(struct mdf_call *call, bool lower)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    struct mdf_value *target = mdf_call_target(call, 0);
    mdf_dtype dtype;
    size_t rows, columns;
    int64_t k;
    void *elements;

    if (array == NULL || mdf_python_slots(call) == NULL || !mdf_python_integer(call, 1, 0, &k)) {
        return false;
    }
    if (array->rank == 1) { /* as numpy: each row of a square matrix */
        int64_t shape[2] = {(int64_t)array->length, (int64_t)array->length};

        array = mdf_numpy_broadcast(call, &mdf_python_slots(call)[SLOT_HELD], array, 2, shape)
                    ? &mdf_python_slots(call)[SLOT_HELD]
                    : NULL;
    } else if (array->rank == 0) {
        return mdf_call_error(call, MDF_SHAPE, "a scalar is no matrix");
    }
    if (array == NULL) {
        return false;
    }
    dtype = (mdf_dtype)array->dtype;
    rows = (size_t)mdf_value_shape(array)[array->rank - 2];
    columns = (size_t)mdf_value_shape(array)[array->rank - 1];
    elements = mdf_python_make_like(call, target, array, array->rank, mdf_value_shape(array));
    if (elements == NULL || !mdf_elements_fill(call, dtype, elements, target->length, NULL)) {
        return false;
    }
    for (size_t i = 0; i < array->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        int64_t distance = (int64_t)(i % columns) - (int64_t)(i / columns % rows);

        if (lower ? distance <= k : distance >= k) {
            mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, i), mdf_element_at(dtype, array->data, i), 1);
        }
    }
    return true;
}

static bool run_tril(struct mdf_call *call)
{
    return keep_triangle(call, true);
}

static bool run_triu(struct mdf_call *call)
{
    return keep_triangle(call, false);
}

/* ------------------------------------------------------------------ take, where true */

/* Copies blocks of `inner` elements by number, for each of `outer` rows of `n` blocks. */
static bool take_blocks(struct mdf_call *call, const struct mdf_value *array, size_t axis, const struct mdf_value *indices,
                        void *elements)
{
    const int64_t *shape = mdf_value_shape(array), *numbers = indices->data;
    size_t inner = mdf_axes_product(shape, axis + 1, array->rank), outer = mdf_axes_product(shape, 0, axis), to = 0, row, i, at;
    mdf_dtype dtype = (mdf_dtype)array->dtype;

    for (i = 0; i < indices->length; i++) {
        if (!mdf_index_check(call, numbers[i], i, axis, shape[axis], &at)) {
            return false;
        }
    }
    for (row = 0; inner > 0 && row < outer && !mdf_should_stop_at(call->context, (size_t)row, MDF_ITEMS_PER_LOOK); row++) {
        for (i = 0; i < indices->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
            at = (size_t)(numbers[i] < 0 ? numbers[i] + shape[axis] : numbers[i]);
            mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, to),
                              mdf_element_at(dtype, array->data, (row * (size_t)shape[axis] + at) * inner), inner);
            to += inner;
        }
    }
    return true;
}

/* "a indices axis=": without an axis of the flattened array. */
static bool run_take(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *indices;
    size_t axis, n;
    int64_t *shape;
    void *elements;

    if (array == NULL || mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n) == NULL) {
        return false;
    }
    indices = mdf_python_array_of(call, call->inputs[1], MDF_DTYPE_INT64, MDF_SLOT_OPERANDS + 1);
    array = indices == NULL ? NULL : mdf_numpy_along(call, array, &axis);
    shape = array == NULL ? NULL : mdf_python_sizes(call, SLOT_SHAPE, array->rank + indices->rank);
    if (shape == NULL) {
        return false;
    }
    memcpy(shape, mdf_value_shape(array), axis * sizeof *shape);
    memcpy(shape + axis, mdf_value_shape(indices), indices->rank * sizeof *shape);
    memcpy(shape + axis + indices->rank, mdf_value_shape(array) + axis + 1, (array->rank - axis - 1) * sizeof *shape);
    elements = mdf_python_make_like(call, mdf_call_target(call, 0), array, array->rank - 1 + indices->rank, shape);
    return elements != NULL && take_blocks(call, array, axis, indices, elements);
}

/* numpy.flatnonzero. */
static bool run_flatnonzero(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *truths;
    int64_t n = 0, *numbers;
    size_t k = 0;

    truths = array == NULL ? NULL : mdf_python_array_of(call, array, MDF_DTYPE_BOOL, MDF_SLOT_OPERANDS);
    if (truths == NULL) {
        return false;
    }
    for (size_t i = 0; i < truths->length; i++) {
        n += ((const uint8_t *)truths->data)[i] != 0;
    }
    numbers = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &n);
    for (size_t i = 0; numbers != NULL && i < truths->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK);
         i++) {
        if (((const uint8_t *)truths->data)[i] != 0) {
            numbers[k++] = (int64_t)i;
        }
    }
    return numbers != NULL;
}

const struct mdf_operator mdf_operators_python_numpy_pick[] = {
    MDF_FUNCTION("numpy.diag", run_diag, 0, "v k=", .move = MDF_MOVE(1, .zeros = true)),
    MDF_FUNCTION("numpy.diagonal", run_diagonal, MDF_OPERATOR_METHOD, "a offset=", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.tril", run_tril, 0, "m k=", .move = MDF_MOVE(1, .zeros = true)),
    MDF_FUNCTION("numpy.triu", run_triu, 0, "m k=", .move = MDF_MOVE(1, .zeros = true)),
    MDF_FUNCTION("numpy.take", run_take, MDF_OPERATOR_METHOD, "a indices axis=", .move = MDF_MOVE(1, .chooses = true)),
    MDF_FUNCTION("numpy.flatnonzero", run_flatnonzero, 0, "a", .derivatives = mdf_derivatives_flat),
    {NULL}};
