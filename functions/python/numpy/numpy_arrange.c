/* numpy_arrange.c - see numpy_arrange.h: reshape ravel transpose swapaxes moveaxis expand_dims squeeze flip roll broadcast_to
 * tile repeat atleast_1d.
 *
 * Results are copies. Source: numpy 2.4, "Array manipulation routines". */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/python/numpy/numpy_arrange.h"

#include <string.h>

enum { SLOT_SHAPE = MDF_SLOT_OWN, SLOT_HELD };

/* ------------------------------------------------------------------ shared with other files */

bool mdf_numpy_broadcast(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t rank,
                         const int64_t *shape)
{
    size_t missing = rank - array->rank;
    const int64_t *own = mdf_value_shape(array);
    char text[MDF_PYTHON_KIND_TEXT_SIZE];
    bool fits = rank >= array->rank;
    struct mdf_box box;
    int64_t *strides;
    void *elements;

    for (size_t axis = 0; fits && axis < array->rank; axis++) {
        fits = own[axis] == 1 || own[axis] == shape[missing + axis];
    }
    if (!fits) {
        mdf_value_describe(array, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "%s does not broadcast to that shape of rank %zu", text, rank);
    }
    elements = mdf_python_make_like(call, target, array, rank, shape);
    if (elements == NULL || !mdf_box_prepare(call, rank, array->rank, &box, &strides)) {
        return false;
    }
    if (target->length == 0) {
        return true;
    }
    mdf_strides(array->rank, own, strides);
    for (size_t axis = 0; axis < rank; axis++) {
        box.shape[axis] = mdf_value_shape(target)[axis];
        box.source_strides[axis] = axis < missing || own[axis - missing] == 1 ? 0 : strides[axis - missing];
    }
    mdf_strides(rank, box.shape, box.target_strides);
    mdf_box_copy(call, &box, (mdf_dtype)array->dtype, elements, array->data);
    return true;
}

bool mdf_numpy_transpose(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, const int64_t *order)
{
    size_t rank = array->rank;
    struct mdf_box box;
    int64_t *strides;
    void *elements;

    if (!mdf_box_prepare(call, rank, rank, &box, &strides)) {
        return false;
    }
    mdf_strides(rank, mdf_value_shape(array), strides);
    for (size_t axis = 0; axis < rank; axis++) {
        size_t from = order == NULL ? rank - 1 - axis : (size_t)order[axis];

        box.shape[axis] = mdf_value_shape(array)[from];
        box.source_strides[axis] = strides[from];
    }
    mdf_strides(rank, box.shape, box.target_strides);
    elements = mdf_python_make_like(call, target, array, rank, box.shape);
    if (elements != NULL) {
        mdf_box_copy(call, &box, (mdf_dtype)array->dtype, elements, array->data);
    }
    return elements != NULL;
}

/* ------------------------------------------------------------------ shapes */

/* Fills in a size of -1; false with the error set where the sizes do not fit. */
static bool resolve_shape(struct mdf_call *call, size_t n_elements, size_t rank, int64_t *shape)
{
    size_t free = SIZE_MAX, n = 1;
    bool fits = true;

    for (size_t i = 0; i < rank && fits; i++) {
        if (shape[i] == -1 && free == SIZE_MAX) {
            free = i;
        } else {
            fits = shape[i] >= 0 && (int64_t)(size_t)shape[i] == shape[i] && mdf_size_multiply(n, (size_t)shape[i], &n);
        }
    }
    if (fits && free != SIZE_MAX) {
        fits = n > 0 && n_elements % n == 0;
        shape[free] = fits ? (int64_t)(n_elements / n) : 0;
        n = n_elements;
    }
    return (fits && n == n_elements) || mdf_call_error(call, MDF_SHAPE, "%zu elements do not fit the new shape", n_elements);
}

/* Output 0 becomes input 0 with the shape in slot SLOT_SHAPE. */
static bool reshape_to(struct mdf_call *call, const struct mdf_value *array, size_t rank, int64_t *shape)
{
    return resolve_shape(call, array->length, rank, shape) &&
           mdf_python_reshape(call, mdf_call_target(call, 0), array, rank, shape);
}

/* Sizes given as one list, or (`many`) as inputs from number `first` on; a copy in slot SLOT_SHAPE. */
static int64_t *read_sizes(struct mdf_call *call, size_t first, bool many, size_t *n)
{
    size_t n_given = call->n_inputs > first ? call->n_inputs - first : 0;
    const struct mdf_value *only = mdf_call_input(call, first);
    const int64_t *integers;
    int64_t *sizes;

    if (many && (n_given != 1 || mdf_value_is_scalar(only))) {
        sizes = mdf_python_sizes(call, SLOT_SHAPE, n_given);
        for (size_t i = 0; sizes != NULL && i < n_given; i++) {
            if (!mdf_call_integer(call, first + i, &sizes[i])) {
                return NULL;
            }
        }
        *n = n_given;
        return sizes;
    }
    integers = mdf_python_integers(call, first, MDF_SLOT_OPERANDS + 1, n);
    sizes = integers == NULL ? NULL : mdf_python_sizes(call, SLOT_SHAPE, *n);
    if (sizes != NULL) {
        memcpy(sizes, integers, *n * sizeof *sizes);
    }
    return sizes;
}

static bool reshape(struct mdf_call *call, bool many)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t rank;
    int64_t *shape = array == NULL ? NULL : read_sizes(call, 1, many, &rank);

    return shape != NULL && reshape_to(call, array, rank, shape);
}

/* "a n": with axes of one element in front, as many as make it n. */
static bool run_with_axes(struct mdf_call *call)
{
    enum { MOST_AXES = 64 }; /* numpy's */
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t n, *shape, missing;

    if (array == NULL || !mdf_call_integer(call, 1, &n)) {
        return false;
    }
    if (n > MOST_AXES) {
        return mdf_call_error(call, MDF_LIMIT, "%lld axes are too many: at most %d may be", (long long)n, MOST_AXES);
    }
    missing = n > (int64_t)array->rank ? n - (int64_t)array->rank : 0;
    shape = mdf_python_sizes(call, SLOT_SHAPE, (size_t)missing + array->rank);
    for (int64_t i = 0; shape != NULL && i < missing + (int64_t)array->rank; i++) {
        shape[i] = i < missing ? 1 : mdf_value_shape(array)[i - missing];
    }
    return shape != NULL && reshape_to(call, array, (size_t)missing + array->rank, shape);
}

static bool run_reshape(struct mdf_call *call)
{
    return reshape(call, false);
}

static bool run_reshape_method(struct mdf_call *call)
{
    return reshape(call, true);
}

static bool run_ravel(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t size = array == NULL ? 0 : (int64_t)array->length;

    return array != NULL && mdf_python_reshape(call, mdf_call_target(call, 0), array, 1, &size);
}

/* Axes of size 1 put into the places that are marked; numpy.expand_dims. */
static bool run_expand_dims(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t n, rank, at, next = 0;
    const int64_t *axes = array == NULL ? NULL : mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n);
    int64_t *shape = axes == NULL ? NULL : mdf_python_sizes(call, SLOT_SHAPE, array->rank + n);

    if (shape == NULL) {
        return false;
    }
    rank = array->rank + n;
    for (size_t i = 0; i < rank; i++) {
        shape[i] = -1;
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_call_axis(call, axes[i], rank, &at)) {
            return false;
        }
        if (shape[at] == 1) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu is named twice", at);
        }
        shape[at] = 1;
    }
    for (size_t i = 0; i < rank; i++) {
        shape[i] = shape[i] == 1 ? 1 : mdf_value_shape(array)[next++];
    }
    return mdf_python_reshape(call, mdf_call_target(call, 0), array, rank, shape);
}

/* "a axis=": axes of size 1 left out, all or those named. */
static bool run_squeeze(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t n = 0, at, rank = 0;
    bool named = mdf_python_given(call, 1) != NULL;
    const int64_t *axes = array != NULL && named ? mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n) : NULL;
    int64_t *shape = array == NULL || (named && axes == NULL) ? NULL : mdf_python_sizes(call, SLOT_SHAPE, array->rank);

    if (shape == NULL) {
        return false;
    }
    for (size_t i = 0; i < array->rank; i++) {
        shape[i] = !named && mdf_value_shape(array)[i] == 1 ? -1 : mdf_value_shape(array)[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_call_axis(call, axes[i], array->rank, &at)) {
            return false;
        }
        if (shape[at] != 1) {
            return mdf_call_error(call, MDF_SHAPE, "axis %zu has size %lld, not 1", at, (long long)mdf_value_shape(array)[at]);
        }
        shape[at] = -1;
    }
    for (size_t i = 0; i < array->rank; i++) {
        if (shape[i] >= 0) {
            shape[rank++] = shape[i];
        }
    }
    return mdf_python_reshape(call, mdf_call_target(call, 0), array, rank, shape);
}

/* Input 0 with axes of size 1 added up to a rank: in front, except that numpy.atleast_3d puts the last one behind. */
static bool raise_rank(struct mdf_call *call, size_t least)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t rank, missing;
    int64_t *shape;

    if (array == NULL) {
        return false;
    }
    rank = array->rank < least ? least : array->rank;
    shape = mdf_python_sizes(call, SLOT_SHAPE, rank);
    missing = rank - array->rank;
    if (least == 3 && missing > 0 && array->rank > 0) {
        missing--; /* one is behind */
    }
    for (size_t i = 0; shape != NULL && i < rank; i++) {
        shape[i] = i < missing || i >= missing + array->rank ? 1 : mdf_value_shape(array)[i - missing];
    }
    return shape != NULL && mdf_python_reshape(call, mdf_call_target(call, 0), array, rank, shape);
}

static bool run_atleast_1d(struct mdf_call *call)
{
    return raise_rank(call, 1);
}

static bool run_atleast_2d(struct mdf_call *call)
{
    return raise_rank(call, 2);
}

static bool run_atleast_3d(struct mdf_call *call)
{
    return raise_rank(call, 3);
}

static bool run_broadcast_to(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t rank;
    const int64_t *shape = array == NULL ? NULL : mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &rank);

    return shape != NULL && mdf_numpy_broadcast(call, mdf_call_target(call, 0), array, rank, shape);
}

/* ------------------------------------------------------------------ order of axes */

/* Checks that `order` names each axis once, and makes it non-negative. */
static bool check_order(struct mdf_call *call, size_t rank, size_t n, int64_t *order)
{
    size_t at;

    if (n != rank) {
        return mdf_call_error(call, MDF_VALUE, "%zu axes are named of an array of rank %zu", n, rank);
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_call_axis(call, order[i], rank, &at)) {
            return false;
        }
        order[i] = (int64_t)at;
        for (size_t k = 0; k < i; k++) {
            if (order[k] == order[i]) {
                return mdf_call_error(call, MDF_VALUE, "axis %zu is named twice", at);
            }
        }
    }
    return true;
}

static bool transpose(struct mdf_call *call, bool many)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t *order = NULL;
    size_t n;

    if (array == NULL) {
        return false;
    }
    if (mdf_python_given(call, 1) != NULL) {
        order = read_sizes(call, 1, many, &n);
        if (order == NULL || !check_order(call, array->rank, n, order)) {
            return false;
        }
    }
    return mdf_numpy_transpose(call, mdf_call_target(call, 0), array, order);
}

static bool run_transpose(struct mdf_call *call)
{
    return transpose(call, false);
}

static bool run_transpose_method(struct mdf_call *call)
{
    return transpose(call, true);
}

/* Reads inputs 1 and 2 as axes of the array. */
static bool read_two_axes(struct mdf_call *call, const struct mdf_value *array, size_t *a, size_t *b)
{
    int64_t first, second;

    return mdf_call_integer(call, 1, &first) && mdf_call_integer(call, 2, &second) &&
           mdf_call_axis(call, first, array->rank, a) && mdf_call_axis(call, second, array->rank, b);
}

static bool run_swapaxes(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t *order;
    size_t a, b;

    if (array == NULL || !read_two_axes(call, array, &a, &b)) {
        return false;
    }
    order = mdf_python_sizes(call, SLOT_SHAPE, array->rank);
    for (size_t i = 0; order != NULL && i < array->rank; i++) {
        order[i] = (int64_t)(i == a ? b : i == b ? a : i);
    }
    return order != NULL && mdf_numpy_transpose(call, mdf_call_target(call, 0), array, order);
}

/* One axis, or several: order[to] becomes from; -1 elsewhere. */
static bool place_axes(struct mdf_call *call, size_t rank, int64_t *order)
{
    size_t n, n_places, from, to;
    const int64_t *axes = mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n);
    const int64_t *places = axes == NULL ? NULL : mdf_python_integers(call, 2, MDF_SLOT_OPERANDS + 2, &n_places);

    if (places == NULL || n != n_places) {
        return places != NULL && mdf_call_error(call, MDF_VALUE, "%zu axes for %zu places", n, n_places);
    }
    for (size_t axis = 0; axis < rank; axis++) {
        order[axis] = -1;
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_call_axis(call, axes[i], rank, &from) || !mdf_call_axis(call, places[i], rank, &to)) {
            return false;
        }
        for (size_t axis = 0; axis < rank; axis++) {
            if (order[axis] == (int64_t)from || (axis == to && order[axis] >= 0)) {
                return mdf_call_error(call, MDF_VALUE, "an axis is named twice");
            }
        }
        order[to] = (int64_t)from;
    }
    return true;
}

static bool is_placed(const int64_t *order, size_t rank, size_t axis)
{
    for (size_t i = 0; i < rank; i++) {
        if (order[i] == (int64_t)axis) {
            return true;
        }
    }
    return false;
}

static bool run_moveaxis(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t *order = array == NULL ? NULL : mdf_python_sizes(call, SLOT_SHAPE, array->rank);
    size_t next = 0;

    if (order == NULL || !place_axes(call, array->rank, order)) {
        return false;
    }
    for (size_t axis = 0; axis < array->rank; axis++) {
        for (; order[axis] < 0; next++) {
            order[axis] = is_placed(order, array->rank, next) ? -1 : (int64_t)next;
        }
    }
    return mdf_numpy_transpose(call, mdf_call_target(call, 0), array, order);
}

/* ------------------------------------------------------------------ order along axes */

/* Output 0 becomes input 0 with the marked axes reversed. */
static bool reverse(struct mdf_call *call, const struct mdf_value *array, const bool *reversed)
{
    size_t rank = array->rank;
    int64_t offset = 0, *strides;
    struct mdf_box box;
    void *elements = mdf_python_make_like(call, mdf_call_target(call, 0), array, rank, mdf_value_shape(array));

    if (elements == NULL || !mdf_box_prepare(call, rank, rank, &box, &strides)) {
        return false;
    }
    if (array->length == 0) {
        return true;
    }
    mdf_strides(rank, mdf_value_shape(array), strides);
    for (size_t axis = 0; axis < rank; axis++) {
        box.shape[axis] = mdf_value_shape(array)[axis];
        box.target_strides[axis] = strides[axis];
        box.source_strides[axis] = reversed[axis] ? -strides[axis] : strides[axis];
        offset += reversed[axis] ? strides[axis] * (box.shape[axis] - 1) : 0;
    }
    mdf_box_copy(call, &box, (mdf_dtype)array->dtype, elements,
                 mdf_element_at((mdf_dtype)array->dtype, array->data, (size_t)offset));
    return true;
}

/* "m axis=". */
static bool run_flip(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t n = 0, at;
    bool named = mdf_python_given(call, 1) != NULL, *reversed;
    const int64_t *axes = array != NULL && named ? mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n) : NULL;

    if (array == NULL || (named && axes == NULL)) {
        return false;
    }
    reversed = (bool *)mdf_python_sizes(call, SLOT_SHAPE, array->rank);
    if (reversed == NULL) {
        return false;
    }
    for (size_t i = 0; i < array->rank; i++) {
        reversed[i] = !named;
    }
    for (size_t i = 0; i < n; i++) {
        if (!mdf_call_axis(call, axes[i], array->rank, &at)) {
            return false;
        }
        reversed[at] = true;
    }
    return reverse(call, array, reversed);
}

static bool flip_axis(struct mdf_call *call, size_t axis)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    bool *reversed;

    if (array == NULL) {
        return false;
    }
    if (array->rank <= axis) {
        return mdf_call_error(call, MDF_SHAPE, "an array of rank %zu is needed, at least", axis + 1);
    }
    reversed = (bool *)mdf_python_sizes(call, SLOT_SHAPE, array->rank);
    for (size_t i = 0; reversed != NULL && i < array->rank; i++) {
        reversed[i] = i == axis;
    }
    return reversed != NULL && reverse(call, array, reversed);
}

static bool run_flipud(struct mdf_call *call)
{
    return flip_axis(call, 0);
}

static bool run_fliplr(struct mdf_call *call)
{
    return flip_axis(call, 1);
}

/* `target` becomes the array, seen as `outer` rows of `n` blocks of `inner` elements, with the blocks turned by `shift`. */
static bool roll_blocks(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t n, size_t inner,
                        int64_t shift)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    void *elements = mdf_python_make_like(call, target, array, array->rank, mdf_value_shape(array));
    size_t row_length = n * inner, first;

    if (elements == NULL || array->length == 0) {
        return elements != NULL;
    }
    first = (size_t)((shift % (int64_t)n + (int64_t)n) % (int64_t)n) * inner;
    for (size_t row = 0; row < array->length && !mdf_should_stop(call->context); row += row_length) {
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, row + first),
                          mdf_element_at(dtype, array->data, row), row_length - first);
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, row),
                          mdf_element_at(dtype, array->data, row + row_length - first), first);
    }
    return true;
}

/* What several turns of `n` elements come to, one after the other. */
static int64_t sum_of_shifts(const int64_t *shifts, size_t n_shifts, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n_shifts && n > 0; i++) {
        sum = (sum + shifts[i] % (int64_t)n) % (int64_t)n;
    }
    return sum;
}

/* "a shift axis=": without an axis the elements are turned as if they stood in one row, by all shifts together. */
static bool run_roll(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t n_shifts, n_axes, at;
    struct mdf_value *target = mdf_call_target(call, 0), *slots = mdf_python_slots(call);
    const int64_t *shifts = array == NULL ? NULL : mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n_shifts), *axes;

    if (shifts == NULL || slots == NULL || n_shifts == 0) {
        return shifts != NULL && slots != NULL && mdf_python_copy(call, target, array);
    }
    if (mdf_python_given(call, 2) == NULL) {
        return roll_blocks(call, target, array, array->length, 1, sum_of_shifts(shifts, n_shifts, array->length));
    }
    axes = mdf_python_integers(call, 2, MDF_SLOT_OPERANDS + 2, &n_axes);
    if (axes == NULL || !mdf_python_copy(call, &slots[SLOT_HELD], array)) {
        return false;
    }
    if (n_shifts != n_axes && n_shifts != 1 && n_axes != 1) {
        return mdf_call_error(call, MDF_SHAPE, "%zu shifts for %zu axes", n_shifts, n_axes);
    }
    for (size_t i = 0; i < (n_shifts > n_axes ? n_shifts : n_axes); i++) {
        const int64_t *shape = mdf_value_shape(&slots[SLOT_HELD]);

        if (!mdf_call_axis(call, axes[n_axes == 1 ? 0 : i], array->rank, &at) ||
            !roll_blocks(call, target, &slots[SLOT_HELD], (size_t)shape[at], mdf_axes_product(shape, at + 1, array->rank),
                         shifts[n_shifts == 1 ? 0 : i]) ||
            !mdf_python_copy(call, &slots[SLOT_HELD], target)) {
            return false;
        }
    }
    return mdf_python_copy(call, target, &slots[SLOT_HELD]);
}

/* ------------------------------------------------------------------ repetition */

/* "A reps": the array beside itself, along as many axes as are named. */
static bool run_tile(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t n, rank;
    const int64_t *repeats = array == NULL ? NULL : mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n);
    int64_t *shape, *split, *whole;

    if (repeats == NULL) {
        return false;
    }
    rank = array->rank > n ? array->rank : n;
    shape = mdf_python_sizes(call, SLOT_SHAPE, 5 * rank);
    if (shape == NULL) {
        return false;
    }
    split = shape + rank; /* each axis as copies times size */
    whole = split + 2 * rank;
    for (size_t axis = 0; axis < rank; axis++) {
        int64_t size = axis + array->rank < rank ? 1 : mdf_value_shape(array)[axis + array->rank - rank];
        int64_t copies = axis + n < rank ? 1 : repeats[axis + n - rank];

        if (copies < 0 || __builtin_mul_overflow(size, copies, &shape[axis])) {
            return mdf_call_error(call, MDF_VALUE, "%lld copies of axis %zu", (long long)copies, axis);
        }
        split[2 * axis] = 1;
        split[2 * axis + 1] = size;
        whole[2 * axis] = copies;
        whole[2 * axis + 1] = size;
    }
    return mdf_python_reshape(call, &mdf_python_slots(call)[SLOT_HELD], array, 2 * rank, split) &&
           mdf_numpy_broadcast(call, &mdf_python_slots(call)[SLOT_HELD + 1], &mdf_python_slots(call)[SLOT_HELD], 2 * rank,
                               whole) &&
           mdf_python_reshape(call, mdf_call_target(call, 0), &mdf_python_slots(call)[SLOT_HELD + 1], rank, shape);
}

/* Each block of `inner` elements as often as `repeats` says. */
static bool repeat_blocks(struct mdf_call *call, const struct mdf_value *array, size_t axis, const int64_t *repeats,
                          size_t n_repeats)
{
    struct mdf_value *target = mdf_call_target(call, 0);
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    size_t n = (size_t)mdf_value_shape(array)[axis], inner = mdf_axes_product(mdf_value_shape(array), axis + 1, array->rank);
    size_t outer = mdf_axes_product(mdf_value_shape(array), 0, axis), to = 0, i;
    int64_t *shape = mdf_python_sizes(call, SLOT_SHAPE, array->rank), k;
    void *elements;

    if (shape == NULL) {
        return false;
    }
    memcpy(shape, mdf_value_shape(array), array->rank * sizeof *shape);
    shape[axis] = 0;
    for (i = 0; i < n; i++) {
        int64_t repeat = repeats[n_repeats == 1 ? 0 : i];

        if (repeat < 0 || __builtin_add_overflow(shape[axis], repeat, &shape[axis])) {
            return mdf_call_error(call, MDF_VALUE, "an element can not be repeated %lld times", (long long)repeat);
        }
    }
    elements = mdf_python_make_like(call, target, array, array->rank, shape);
    for (i = 0;
         elements != NULL && inner > 0 && i < outer * n && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK);
         i++) {
        for (k = 0; k < repeats[n_repeats == 1 ? 0 : i % n] && !mdf_should_stop_at(call->context, (size_t)k, MDF_ITEMS_PER_LOOK);
             k++) {
            mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, to),
                              mdf_element_at(dtype, array->data, i * inner), inner);
            to += inner;
        }
    }
    return elements != NULL;
}

const struct mdf_value *mdf_numpy_along(struct mdf_call *call, const struct mdf_value *array, size_t *axis)
{
    int64_t length = (int64_t)array->length, number;
    struct mdf_value *slots = mdf_python_slots(call);

    *axis = 0;
    if (mdf_python_given(call, 2) == NULL) {
        return slots != NULL && mdf_python_reshape(call, &slots[SLOT_HELD], array, 1, &length) ? &slots[SLOT_HELD] : NULL;
    }
    return mdf_call_integer(call, 2, &number) && mdf_call_axis(call, number, array->rank, axis) ? array : NULL;
}

/* "a repeats axis=": without an axis of the flattened array. */
static bool run_repeat(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    size_t n, axis;
    const int64_t *repeats = array == NULL ? NULL : mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n);

    if (repeats == NULL) {
        return false;
    }
    array = mdf_numpy_along(call, array, &axis);
    if (array == NULL) {
        return false;
    }
    if (n != 1 && (int64_t)n != mdf_value_shape(array)[axis]) {
        return mdf_call_error(call, MDF_SHAPE, "%zu numbers of repeats for %lld elements", n,
                              (long long)mdf_value_shape(array)[axis]);
    }
    return repeat_blocks(call, array, axis, repeats, n);
}

const struct mdf_operator mdf_operators_python_numpy_arrange[] = {
    MDF_FUNCTION("numpy.reshape", run_reshape, 0, "a shape order=C|F>operator.reshape_columns",
                 .move = MDF_MOVE(1, .in_order = true), .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.ndarray.reshape", run_reshape_method, MDF_OPERATOR_METHOD, "a *shape order=C",
                 .move = MDF_MOVE(1, .in_order = true), .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.ravel", run_ravel, MDF_OPERATOR_METHOD, "a order=C|F>operator.ravel_columns",
                 .move = MDF_MOVE(1, .in_order = true), .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.ndarray.flatten", run_ravel, MDF_OPERATOR_METHOD, "a order=C|F>operator.ravel_columns",
                 .move = MDF_MOVE(1, .in_order = true), .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("operator.with_axes", run_with_axes, 0, "a n", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.expand_dims", run_expand_dims, 0, "a axis", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.squeeze", run_squeeze, MDF_OPERATOR_METHOD, "a axis=", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.atleast_1d", run_atleast_1d, 0, "a", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.atleast_2d", run_atleast_2d, 0, "a", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.atleast_3d", run_atleast_3d, 0, "a", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = mdf_derivatives_reshaped),
    MDF_FUNCTION("numpy.broadcast_to", run_broadcast_to, 0, "array shape", .move = MDF_MOVE(1, .shapes = true)),
    MDF_FUNCTION("numpy.transpose", run_transpose, 0, "a axes=", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.permute_dims", run_transpose, 0, "a axes=", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.ndarray.transpose", run_transpose_method, MDF_OPERATOR_METHOD, "a *axes", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.swapaxes", run_swapaxes, MDF_OPERATOR_METHOD, "a axis1 axis2", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.moveaxis", run_moveaxis, 0, "a source destination", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.flip", run_flip, 0, "m axis=", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.fliplr", run_fliplr, 0, "m", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.flipud", run_flipud, 0, "m", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.roll", run_roll, 0, "a shift axis=", .move = MDF_MOVE(1)),
    MDF_FUNCTION("numpy.tile", run_tile, 0, "A reps", .move = MDF_MOVE(1, .shapes = true)),
    MDF_FUNCTION("numpy.repeat", run_repeat, MDF_OPERATOR_METHOD, "a repeats axis=", .move = MDF_MOVE(1)),
    {NULL}};
