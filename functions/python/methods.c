/* methods.c - methods of arrays (tolist item copy nonzero conj), lists (index count copy), strings (upper lower strip startswith
 * ...) and objects (keys values items get); and what is read off an array without a call: shape T size ndim dtype real imag.
 *
 * Other methods of arrays are rows of numpy's functions that bear the flag. Sources: numpy 2.4, "The N-dimensional array"; the
 * Python library reference, "Built-in Types". */
#define _GNU_SOURCE /* memmem */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/python/numpy/numpy_arrange.h"
#include "functions/python/python_operations.h"

#include <string.h>

enum { SLOT_ITEM = MDF_SLOT_OWN };

/* ------------------------------------------------------------------ arrays */

/* `target` becomes the Python number that an element is. */
static bool make_number(struct mdf_call *call, struct mdf_value *target, mdf_dtype dtype, const void *element)
{
    double real;

    switch (mdf_dtype_kind(dtype)) {
    case 'b':
        return mdf_python_make_bool(call, target, *(const uint8_t *)element != 0);
    case 'f':
        return mdf_python_make_real(call, target, mdf_element_to_double(dtype, element));
    case 's':
        return mdf_python_make_string(call, target, *(char *const *)element, mdf_string_length(*(char *const *)element));
    case 'i':
    case 'u':
        real = mdf_element_to_double(dtype, element);
        return real >= 0x1p63 ? mdf_python_make_whole(call, target, real)
                              : mdf_python_make_int(call, target, mdf_element_to_int64(dtype, element));
    default:
        return mdf_call_error(call, MDF_TYPE, "has no meaning for elements of type %s", mdf_dtype_name(dtype));
    }
}

/* Elements from *elements on as a list nested as deep as there are axes. */
static bool make_nested(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t axis,
                        const char **elements)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    struct mdf_value *items;
    size_t n;

    if (axis == array->rank) {
        if (!make_number(call, target, dtype, *elements)) {
            return false;
        }
        *elements += mdf_dtype_size(dtype);
        return true;
    }
    n = (size_t)mdf_value_shape(array)[axis];
    items = n > MDF_PYTHON_MAX_ITEMS ? NULL : mdf_python_make_list(call, target, n);
    for (size_t i = 0; items != NULL && i < n && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        if (!make_nested(call, &items[i], array, axis + 1, elements)) {
            return false;
        }
    }
    return items != NULL || mdf_call_error(call, MDF_LIMIT, "a list of more than %d items", MDF_PYTHON_MAX_ITEMS);
}

static bool run_tolist(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_call_tensor(call, 0);
    const char *elements;

    if (array == NULL) {
        return false;
    }
    elements = array->data;
    return make_nested(call, mdf_call_target(call, 0), array, 0, &elements);
}

/* "a *args": the only element, or the one at an index of the flattened array or along each axis. */
static bool run_item(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_call_tensor(call, 0);
    size_t n_indices = call->n_inputs - 1, at = 0, offset = 0;
    int64_t index, size;

    if (array == NULL) {
        return false;
    }
    if (n_indices == 0 ? array->length != 1 : n_indices != 1 && n_indices != array->rank) {
        return mdf_call_error(call, MDF_VALUE, "%zu indices for one of %zu elements", n_indices, array->length);
    }
    for (size_t i = 0; i < n_indices; i++) {
        size = n_indices == 1 ? (int64_t)array->length : mdf_value_shape(array)[i];
        if (!mdf_call_integer(call, i + 1, &index) || !mdf_index_check(call, index, i, i, size, &at)) {
            return false;
        }
        offset = offset * (size_t)size + at;
    }
    return make_number(call, mdf_call_target(call, 0), (mdf_dtype)array->dtype,
                       mdf_element_at((mdf_dtype)array->dtype, array->data, offset));
}

/* Of arrays, lists and objects: results are values of their own anyway. */
static bool run_copy(struct mdf_call *call)
{
    struct mdf_value *target = mdf_call_target(call, 0);

    if (!mdf_python_copy(call, target, call->inputs[0])) {
        return false;
    }
    if (target->kind == MDF_KIND_TENSOR) {
        target->strength = (uint8_t)mdf_numpy_strength(target);
    }
    return true;
}

/* A list with the indices of what is not zero, one row an axis. */
static bool run_nonzero(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *truths;
    int64_t n = 0;
    size_t inner, k;
    struct mdf_value *items;

    truths = array == NULL ? NULL : mdf_python_array_of(call, array, MDF_DTYPE_BOOL, MDF_SLOT_OPERANDS);
    if (truths == NULL) {
        return false;
    }
    if (truths->rank == 0) {
        return mdf_call_error(call, MDF_SHAPE, "a scalar has no indices");
    }
    for (size_t i = 0; i < truths->length; i++) {
        n += ((const uint8_t *)truths->data)[i] != 0;
    }
    items = mdf_python_make_list(call, mdf_call_target(call, 0), truths->rank);
    for (size_t axis = 0; items != NULL && axis < truths->rank; axis++) {
        int64_t *numbers = mdf_python_make(call, &items[axis], MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &n);

        if (numbers == NULL) {
            return false;
        }
        inner = mdf_axes_product(mdf_value_shape(truths), axis + 1, truths->rank);
        for (size_t i = k = 0; i < truths->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
            if (((const uint8_t *)truths->data)[i] != 0) {
                numbers[k++] = (int64_t)(i / inner % (size_t)mdf_value_shape(truths)[axis]);
            }
        }
    }
    return items != NULL;
}

/* ------------------------------------------------------------------ lists and strings */

/* Position of the first item that equals a value, n where none does; the number of such items. */
static bool find_item(struct mdf_call *call, const struct mdf_value *list, const struct mdf_value *value, size_t *first,
                      int64_t *count)
{
    bool equal;

    *first = list->length;
    *count = 0;
    for (size_t i = 0; i < list->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        if (!mdf_python_equal(call, &mdf_value_items(list)[i], value, &equal)) {
            return false;
        }
        *first = equal && *count == 0 ? i : *first;
        *count += equal;
    }
    return true;
}

/* The same of a part of a string; parts that are counted do not overlap. Positions count characters. */
static bool find_part(struct mdf_call *call, const struct mdf_value *string, const struct mdf_value *part, size_t *first,
                      int64_t *count)
{
    size_t length, part_length, i;
    const char *text = mdf_python_text(string, &length), *wanted = mdf_python_text(part, &part_length), *at, *found;

    *count = 0;
    *first = mdf_python_length(string);
    if (!mdf_python_is_string(part)) {
        return mdf_python_refuse(call, string, part);
    }
    if (part_length == 0) {
        *count = (int64_t)*first + 1;
        *first = 0;
        return true;
    }
    for (at = text; (found = memmem(at, length - (size_t)(at - text), wanted, part_length)) != NULL; at = found + part_length) {
        if ((*count)++ == 0) {
            for (*first = 0, i = 0; text + i < found; i++) {
                *first += ((unsigned char)text[i] & 0xc0) != 0x80;
            }
        }
    }
    return true;
}

static bool find(struct mdf_call *call, size_t *first, int64_t *count)
{
    const struct mdf_value *sequence = call->inputs[0];

    if (sequence->kind == MDF_KIND_LIST) {
        return find_item(call, sequence, call->inputs[1], first, count);
    }
    return mdf_python_is_string(sequence) ? find_part(call, sequence, call->inputs[1], first, count)
                                          : mdf_python_refuse(call, sequence, NULL);
}

static bool run_index(struct mdf_call *call)
{
    size_t first;
    int64_t count;

    if (!find(call, &first, &count)) {
        return false;
    }
    return count > 0 ? mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)first)
                     : mdf_call_error(call, MDF_VALUE, "there is no such item");
}

static bool run_count(struct mdf_call *call)
{
    size_t first;
    int64_t count;

    return find(call, &first, &count) && mdf_python_make_int(call, mdf_call_target(call, 0), count);
}

/* A string with letters from `from` on as those from `to` on; letters of ASCII only. */
static bool change_case(struct mdf_call *call, char from, char to)
{
    size_t length;
    const char *text = mdf_python_text(call->inputs[0], &length);
    char *room;

    if (!mdf_python_is_string(call->inputs[0])) {
        return mdf_python_refuse(call, call->inputs[0], NULL);
    }
    room = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_UINT8, length);
    for (size_t i = 0; room != NULL && i < length; i++) {
        room[i] = (char)(text[i] >= from && text[i] < from + 26 ? text[i] - from + to : text[i]);
    }
    return room != NULL && mdf_python_make_string(call, mdf_call_target(call, 0), room, length);
}

static bool run_upper(struct mdf_call *call)
{
    return change_case(call, 'a', 'A');
}

static bool run_lower(struct mdf_call *call)
{
    return change_case(call, 'A', 'a');
}

static bool run_strip(struct mdf_call *call)
{
    size_t length, first = 0;
    const char *text = mdf_python_text(call->inputs[0], &length);

    if (!mdf_python_is_string(call->inputs[0])) {
        return mdf_python_refuse(call, call->inputs[0], NULL);
    }
    for (; length > 0 && strchr(" \t\n\r\f\v", text[length - 1]) != NULL && text[length - 1] != '\0'; length--) {
    }
    for (; first < length && strchr(" \t\n\r\f\v", text[first]) != NULL && text[first] != '\0'; first++) {
    }
    return mdf_python_make_string(call, mdf_call_target(call, 0), text + first, length - first);
}

/* Whether a string has another at its start, or at its end. */
static bool has_at(struct mdf_call *call, bool at_end)
{
    size_t length, part_length;
    const char *text = mdf_python_text(call->inputs[0], &length), *part = mdf_python_text(call->inputs[1], &part_length);

    if (!mdf_python_is_string(call->inputs[0]) || !mdf_python_is_string(call->inputs[1])) {
        return mdf_python_refuse(call, call->inputs[0], call->inputs[1]);
    }
    return mdf_python_make_bool(call, mdf_call_target(call, 0),
                                part_length <= length &&
                                    memcmp(at_end ? text + length - part_length : text, part, part_length) == 0);
}

static bool run_startswith(struct mdf_call *call)
{
    return has_at(call, false);
}

static bool run_endswith(struct mdf_call *call)
{
    return has_at(call, true);
}

/* ------------------------------------------------------------------ objects */

/* The keys (`part` 0), values (1) or pairs (2) of an object as a list. */
static bool list_entries(struct mdf_call *call, size_t part)
{
    const struct mdf_value *object = call->inputs[0], *entries = mdf_value_items(object);
    struct mdf_value *items;

    if (object->kind != MDF_KIND_DICT) {
        return mdf_python_refuse(call, object, NULL);
    }
    items = mdf_python_make_list(call, mdf_call_target(call, 0), object->length);
    for (size_t i = 0; items != NULL && i < object->length; i++) {
        struct mdf_value *pair = part == 2 ? mdf_python_make_list(call, &items[i], 2) : &items[i];

        if (pair == NULL || (part != 1 && !mdf_python_copy(call, &pair[0], &entries[2 * i])) ||
            (part != 0 && !mdf_python_copy(call, part == 2 ? &pair[1] : &pair[0], &entries[2 * i + 1]))) {
            return false;
        }
    }
    return items != NULL;
}

static bool run_keys(struct mdf_call *call)
{
    return list_entries(call, 0);
}

static bool run_values(struct mdf_call *call)
{
    return list_entries(call, 1);
}

static bool run_items(struct mdf_call *call)
{
    return list_entries(call, 2);
}

/* "object key default=". */
static bool run_get(struct mdf_call *call)
{
    const struct mdf_value *object = call->inputs[0], *entries = mdf_value_items(object);

    if (object->kind != MDF_KIND_DICT) {
        return mdf_python_refuse(call, object, NULL);
    }
    for (size_t i = 0; i < object->length; i++) {
        if (mdf_value_equal(&entries[2 * i], call->inputs[1])) {
            return mdf_call_output_copy(call, 0, &entries[2 * i + 1]);
        }
    }
    return mdf_call_output_copy(call, 0, mdf_call_input(call, 2));
}

const struct mdf_operator mdf_operators_python_methods[] = {
    MDF_FUNCTION("numpy.ndarray.tolist", run_tolist, MDF_OPERATOR_METHOD, "a", .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.ndarray.item", run_item, MDF_OPERATOR_METHOD, "a *args",
                 .derivatives =
                     MDF_DERIVATIVES({0, "gradient.send_back(dy, self(gradient.numbers(x0), x1) if x1 is not None else "
                                         "gradient.numbers(x0), x0)"},
                                     {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.ndarray.copy", run_copy, MDF_OPERATOR_METHOD, "a order=C|K|A|F", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.nonzero", run_nonzero, MDF_OPERATOR_METHOD, "a", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("list.index", run_index, MDF_OPERATOR_METHOD, "sequence value"),
    MDF_FUNCTION("list.count", run_count, MDF_OPERATOR_METHOD, "sequence value"),
    MDF_FUNCTION("str.upper", run_upper, MDF_OPERATOR_METHOD, "string"),
    MDF_FUNCTION("str.lower", run_lower, MDF_OPERATOR_METHOD, "string"),
    MDF_FUNCTION("str.strip", run_strip, MDF_OPERATOR_METHOD, "string"),
    MDF_FUNCTION("str.startswith", run_startswith, MDF_OPERATOR_METHOD, "string prefix"),
    MDF_FUNCTION("str.endswith", run_endswith, MDF_OPERATOR_METHOD, "string suffix"),
    MDF_FUNCTION("dict.keys", run_keys, MDF_OPERATOR_METHOD, "object"),
    MDF_FUNCTION("dict.values", run_values, MDF_OPERATOR_METHOD, "object"),
    MDF_FUNCTION("dict.items", run_items, MDF_OPERATOR_METHOD, "object"),
    MDF_FUNCTION("dict.get", run_get, MDF_OPERATOR_METHOD, "object key default="),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};

/* ------------------------------------------------------------------ attributes */

/* "m.shape": Python ints. */
static bool tell_shape(struct mdf_call *call, const struct mdf_value *array)
{
    struct mdf_value *items = array == NULL ? NULL : mdf_python_make_list(call, mdf_call_target(call, 0), array->rank);

    for (size_t axis = 0; items != NULL && axis < array->rank; axis++) {
        if (!mdf_python_make_int(call, &items[axis], mdf_value_shape(array)[axis])) {
            return false;
        }
    }
    return items != NULL;
}

static bool tell_size(struct mdf_call *call, const struct mdf_value *array)
{
    return array != NULL && mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)array->length);
}

static bool tell_ndim(struct mdf_call *call, const struct mdf_value *array)
{
    return array != NULL && mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)array->rank);
}

static bool get_shape(struct mdf_call *call)
{
    return tell_shape(call, mdf_call_tensor(call, 0));
}

static bool get_size(struct mdf_call *call)
{
    return tell_size(call, mdf_call_tensor(call, 0));
}

static bool get_ndim(struct mdf_call *call)
{
    return tell_ndim(call, mdf_call_tensor(call, 0));
}

/* numpy.shape and its kin: the same of lists and numbers too. */
static bool run_shape(struct mdf_call *call)
{
    return tell_shape(call, mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS));
}

static bool run_ndim(struct mdf_call *call)
{
    return tell_ndim(call, mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS));
}

/* numpy.size: of all axes, or of one. */
static bool run_size(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t number;
    size_t axis;

    if (array == NULL || mdf_python_given(call, 1) == NULL) {
        return tell_size(call, array);
    }
    return mdf_python_integer(call, 1, 0, &number) && mdf_call_axis(call, number, array->rank, &axis) &&
           mdf_python_make_int(call, mdf_call_target(call, 0), mdf_value_shape(array)[axis]);
}

static bool get_itemsize(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_call_tensor(call, 0);

    return array != NULL && mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)mdf_dtype_size((mdf_dtype)array->dtype));
}

static bool get_dtype(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_call_tensor(call, 0);
    const char *name = array == NULL ? NULL : mdf_dtype_name((mdf_dtype)array->dtype);

    return name != NULL && mdf_python_make_string(call, mdf_call_target(call, 0), name, strlen(name));
}

static bool get_transpose(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_call_tensor(call, 0);

    return array != NULL && mdf_numpy_transpose(call, mdf_call_target(call, 0), array, NULL);
}

/* The real or imaginary parts of numbers. Python's own numbers yield Python's. */
static bool get_part(struct mdf_call *call, bool imaginary)
{
    const struct mdf_value *array = mdf_call_tensor(call, 0);
    struct mdf_value *target = mdf_call_target(call, 0);
    mdf_dtype dtype, part;
    size_t size;
    char *elements;

    if (array == NULL || array->dtype == MDF_DTYPE_STRING) {
        return array != NULL && mdf_python_refuse(call, array, NULL);
    }
    dtype = (mdf_dtype)array->dtype;
    part = dtype == MDF_DTYPE_COMPLEX64 ? MDF_DTYPE_FLOAT32 : dtype == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_FLOAT64 : dtype;
    elements = mdf_python_make(call, target, part, (enum mdf_strength)array->strength, array->rank, mdf_value_shape(array));
    size = mdf_dtype_size(part);
    if (elements == NULL || array->length == 0) {
        return elements != NULL;
    }
    if (part == dtype) {
        return imaginary ? mdf_elements_fill(call, part, elements, array->length, NULL)
                         : (mdf_elements_copy(call, part, elements, array->data, array->length), true);
    }
    for (size_t i = 0; i < array->length; i++) {
        memcpy(elements + i * size, (const char *)array->data + (2 * i + imaginary) * size, size);
    }
    return true;
}

static bool get_real(struct mdf_call *call)
{
    return get_part(call, false);
}

static bool get_imag(struct mdf_call *call)
{
    return get_part(call, true);
}

const struct mdf_operator mdf_operators_python_attribute[] = {
    MDF_FUNCTION("shape", get_shape, 0, "a", .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE),
    MDF_FUNCTION("size", get_size, 0, "a", .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE),
    MDF_FUNCTION("ndim", get_ndim, 0, "a", .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE),
    MDF_FUNCTION("itemsize", get_itemsize, 0, "a", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("dtype", get_dtype, 0, "a", .derivatives = mdf_derivatives_flat, .by_form = 1),
    MDF_FUNCTION("T", get_transpose, 0, "a", .move = MDF_MOVE(1)),
    MDF_FUNCTION("real", get_real, 0, "a", .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("imag", get_imag, 0, "a", .derivatives = mdf_derivatives_flat),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};

const struct mdf_operator mdf_operators_python_shape[] = {
    MDF_FUNCTION("numpy.shape", run_shape, 0, "a", .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE),
    MDF_FUNCTION("numpy.size", run_size, 0, "a axis=", .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE),
    MDF_FUNCTION("numpy.ndim", run_ndim, 0, "a", .derivatives = mdf_derivatives_flat, .form = MDF_FORM_OF_SHAPE),
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
