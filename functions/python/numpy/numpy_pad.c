/* numpy_pad.c - what numpy.pad and numpy.insert are written out as: an array with more elements before and behind each axis, or
 * within its first one. These have its type.
 *
 * Source: numpy 2.4, numpy.pad (modes constant, edge, reflect, symmetric, wrap), numpy.insert (at one place). */
#include "functions/kernel/move.h"
#include "functions/moves/pad.h"
#include "functions/python/numpy/numpy_arrange.h"

#include <string.h>

enum { SLOT_FILLS = MDF_SLOT_OWN, SLOT_WIDTHS, SLOT_SIZES };

/* The mode that input 3 names; false with the error set. */
static bool read_mode(struct mdf_call *call, enum mdf_padding *mode)
{
    const struct mdf_value *given = call->inputs[3];
    size_t length;

    for (int i = 0; mdf_python_is_string(given) && i < MDF_PADDING_N; i++) {
        if (strcmp(mdf_python_text(given, &length), mdf_padding_names[i]) == 0) {
            *mode = (enum mdf_padding)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_UNSUPPORTED, "the mode is 'constant', 'edge', 'reflect', 'symmetric' or 'wrap'%s%.80s",
                          mdf_python_is_string(given) ? ", not " : "",
                          mdf_python_is_string(given) ? mdf_python_text(given, &length) : "");
}

/* Sizes of what is padded by widths, two for each axis. */
static bool find_sizes(struct mdf_call *call, const struct mdf_value *array, enum mdf_padding mode, const int64_t *widths,
                       int64_t *sizes)
{
    for (size_t axis = 0; axis < array->rank; axis++) {
        int64_t size = mdf_value_shape(array)[axis], before = widths[2 * axis], behind = widths[2 * axis + 1];

        if (before < 0 || behind < 0 || __builtin_add_overflow(size, before, &sizes[axis]) ||
            __builtin_add_overflow(sizes[axis], behind, &sizes[axis])) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu can not have %lld elements more before and %lld behind", axis,
                                  (long long)before, (long long)behind);
        }
        if (size == 0 && mode != MDF_PADDING_CONSTANT && sizes[axis] > 0) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu has no element to pad with", axis);
        }
    }
    return true;
}

/* Number of the element of the array that stands at `index` of the result, or, of the last axis beyond whose ends that lies,
 * *side is the number of its constant. */
static size_t find_place(const struct mdf_value *array, enum mdf_padding mode, const int64_t *widths, const int64_t *index,
                         size_t *side)
{
    size_t at = 0;

    *side = SIZE_MAX;
    for (size_t axis = 0; axis < array->rank; axis++) {
        int64_t size = mdf_value_shape(array)[axis], place = index[axis] - widths[2 * axis];

        if (mode != MDF_PADDING_CONSTANT) {
            place = mdf_padding_index(mode, place, size);
        } else if (place < 0 || place >= size) {
            *side = 2 * axis + (place >= size);
            place = 0;
        }
        at = at * (size_t)size + (size_t)place;
    }
    return at;
}

/* "array fills widths mode": fills and widths are broadcast to two for each axis. */
static bool run_pad(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *fills, *widths;
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0);
    enum mdf_padding mode = MDF_PADDING_CONSTANT;
    int64_t two[2], *sizes;
    mdf_dtype dtype;
    char *elements;
    size_t n;

    if (array == NULL || slots == NULL || !read_mode(call, &mode) ||
        mdf_python_integers(call, 2, MDF_SLOT_OPERANDS + 1, &n) == NULL) {
        return false;
    }
    two[0] = (int64_t)array->rank;
    two[1] = 2;
    dtype = (mdf_dtype)array->dtype;
    widths = mdf_python_array_of(call, call->inputs[2], MDF_DTYPE_INT64, MDF_SLOT_OPERANDS + 1);
    fills = widths == NULL ? NULL : mdf_python_array_of(call, call->inputs[1], dtype, MDF_SLOT_OPERANDS + 2);
    sizes = fills == NULL ? NULL : mdf_python_sizes(call, SLOT_SIZES, 2 * array->rank);
    if (sizes == NULL || !mdf_numpy_broadcast(call, &slots[SLOT_WIDTHS], widths, 2, two) ||
        !mdf_numpy_broadcast(call, &slots[SLOT_FILLS], fills, 2, two) ||
        !find_sizes(call, array, mode, slots[SLOT_WIDTHS].data, sizes)) {
        return false;
    }
    elements = mdf_python_make_like(call, target, array, array->rank, sizes);
    memset(sizes + array->rank, 0, array->rank * sizeof *sizes);
    for (size_t i = 0; elements != NULL && i < target->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        size_t side, at = find_place(array, mode, slots[SLOT_WIDTHS].data, sizes + array->rank, &side);

        mdf_elements_copy(
            call, dtype, mdf_element_to_write(dtype, elements, i),
            side == SIZE_MAX ? mdf_element_at(dtype, array->data, at) : mdf_element_at(dtype, slots[SLOT_FILLS].data, side), 1);
        mdf_padding_advance(array->rank, sizes, sizes + array->rank);
    }
    return elements != NULL;
}

/* "array values place": items of the first axis, in front of the one that stands at a place. */
static bool run_insert(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *values;
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0);
    int64_t place, n, *shape = array == NULL ? NULL : mdf_python_sizes(call, SLOT_SIZES, array->rank);
    mdf_dtype dtype;
    size_t before, n_new;
    char *elements;

    if (shape == NULL || slots == NULL || !mdf_call_integer(call, 2, &place)) {
        return false;
    }
    dtype = (mdf_dtype)array->dtype;
    n = array->rank > 0 ? mdf_value_shape(array)[0] : 0;
    if (array->rank == 0 || place < -n || place > n) {
        return mdf_call_error(call, MDF_VALUE, "there is no place %lld among %lld items", (long long)place, (long long)n);
    }
    if (mdf_python_passes_bounds(call->inputs[1], dtype)) {
        return mdf_call_error(call, MDF_VALUE, "a number is out of bounds for %s", mdf_dtype_name(dtype));
    }
    values = mdf_python_array_of(call, call->inputs[1], dtype, MDF_SLOT_OPERANDS + 1);
    if (values == NULL) {
        return false;
    }
    memcpy(shape, mdf_value_shape(array), array->rank * sizeof *shape);
    shape[0] = values->rank == array->rank ? mdf_value_shape(values)[0] : 1;
    if (!mdf_numpy_broadcast(call, &slots[SLOT_FILLS], values, array->rank, shape)) {
        return false;
    }
    n_new = slots[SLOT_FILLS].length;
    before = (size_t)(place < 0 ? place + n : place) * mdf_axes_product(shape, 1, array->rank);
    if (__builtin_add_overflow(shape[0], n, &shape[0])) {
        return mdf_call_error(call, MDF_LIMIT, "the items together are too long");
    }
    elements = mdf_python_make_like(call, target, array, array->rank, shape);
    if (elements != NULL) {
        mdf_elements_copy(call, dtype, elements, array->data, before);
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, before), slots[SLOT_FILLS].data, n_new);
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, before + n_new),
                          mdf_element_at(dtype, array->data, before), array->length - before);
    }
    return elements != NULL;
}

const struct mdf_operator mdf_operators_python_numpy_pad[] = {
    MDF_FUNCTION("operator.pad", run_pad, 0, "array fills widths mode", .move = MDF_MOVE(2, .shapes = true, .promotes = true)),
    MDF_FUNCTION("operator.insert", run_insert, 0, "array values place", .move = MDF_MOVE(2, .promotes = true)),
    {NULL}};
