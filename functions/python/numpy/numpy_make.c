/* numpy_make.c - numpy's functions that make arrays: array zeros ones full arange linspace logspace eye identity, and the types
 * as functions: float64(x), int32(x).
 *
 * What gets no type of its own is an array without declared type. Source: numpy 2.4, "Array creation routines". */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/python/numpy/numpy_arrange.h"
#include "functions/python/python.h"
#include "functions/python/ufunc.h"
#include "mdf_c/base/text.h"

#include <math.h>
#include <string.h>

enum { SLOT_REALS = MDF_SLOT_OWN };

/* ------------------------------------------------------------------ array */

/* "object dtype= copy=* order=C|K|A|F": a copy, of the type asked for. */
static bool run_array(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    struct mdf_value *target = mdf_call_target(call, 0);
    struct mdf_python_type type;

    if (array == NULL || !mdf_python_type(call, 1, &type)) {
        return false;
    }
    if (type.dtype != MDF_DTYPE_NONE) {
        return mdf_python_convert(call, target, array, type);
    }
    if (!mdf_python_copy(call, target, array)) {
        return false;
    }
    target->strength = (uint8_t)mdf_numpy_strength(array);
    return true;
}

/* The same; of a number an array of one element. */
static bool run_contiguous(struct mdf_call *call)
{
    struct mdf_value *target = mdf_call_target(call, 0), *number = &mdf_python_slots(call)[SLOT_REALS];
    int64_t one = 1;

    if (!run_array(call) || target->rank > 0) {
        return target->rank > 0;
    }
    return mdf_python_copy(call, number, target) && mdf_python_reshape(call, target, number, 1, &one);
}

/* "x": reals are their own conjugates; truths are numbers then, as numpy has no loop for them. */
static bool run_conjugate(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);

    if (array != NULL && array->dtype == MDF_DTYPE_BOOL) {
        return mdf_python_convert(call, mdf_call_target(call, 0), array, (struct mdf_python_type){MDF_DTYPE_INT8, true});
    }
    return array != NULL && run_array(call);
}

/* ------------------------------------------------------------------ arrays of one value */

/* The strength of what is made with a type that may not be given. */
static enum mdf_strength strength_of(struct mdf_python_type type)
{
    return type.typed ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL;
}

/* Output 0 becomes an array whose elements are all `number`. */
static bool fill_with(struct mdf_call *call, struct mdf_python_type type, size_t rank, const int64_t *shape, int64_t number)
{
    struct mdf_value *target = mdf_call_target(call, 0);
    void *elements = mdf_python_make(call, target, type.dtype, strength_of(type), rank, shape);
    double element[2] = {0, 0}; /* room for an element of any type */

    if (elements == NULL || (type.dtype == MDF_DTYPE_STRING && number != 0)) {
        return elements != NULL && mdf_call_error(call, MDF_TYPE, "has no meaning for text");
    }
    mdf_convert_elements(type.dtype, element, MDF_DTYPE_INT64, &number, type.dtype == MDF_DTYPE_STRING ? 0 : 1, false);
    return mdf_elements_fill(call, type.dtype, elements, target->length, number == 0 ? NULL : element);
}

/* "shape dtype=": reals where no type is given. */
static bool make_filled(struct mdf_call *call, int64_t number)
{
    struct mdf_python_type type;
    size_t rank;
    const int64_t *shape = mdf_python_integers(call, 0, MDF_SLOT_OPERANDS, &rank);

    if (shape == NULL || !mdf_python_type(call, 1, &type)) {
        return false;
    }
    type.dtype = type.dtype == MDF_DTYPE_NONE ? call->context->real : type.dtype;
    return fill_with(call, type, rank, shape, number);
}

static bool run_zeros(struct mdf_call *call)
{
    return make_filled(call, 0);
}

static bool run_ones(struct mdf_call *call)
{
    return make_filled(call, 1);
}

/* The array that the result is like, whose type it has where input `i` gives none; NULL: the error is set. */
static const struct mdf_value *read_like(struct mdf_call *call, size_t i, struct mdf_python_type *type)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);

    if (array == NULL || !mdf_python_type(call, i, type)) {
        return NULL;
    }
    if (type->dtype == MDF_DTYPE_NONE) {
        type->dtype = (mdf_dtype)array->dtype;
        type->typed = array->strength == MDF_STRENGTH_TYPED;
    }
    return array;
}

/* "a dtype=". */
static bool make_like(struct mdf_call *call, int64_t number)
{
    struct mdf_python_type type;
    const struct mdf_value *array = read_like(call, 1, &type);

    return array != NULL && fill_with(call, type, array->rank, mdf_value_shape(array), number);
}

static bool run_zeros_like(struct mdf_call *call)
{
    return make_like(call, 0);
}

static bool run_ones_like(struct mdf_call *call)
{
    return make_like(call, 1);
}

/* Output 0 becomes a value, or an array of them, broadcast to a shape. */
static bool broadcast_value(struct mdf_call *call, struct mdf_python_type type, size_t rank, const int64_t *shape)
{
    const struct mdf_value *value = mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS + 1);
    struct mdf_value *target = mdf_call_target(call, 0);

    if (value != NULL && type.dtype != MDF_DTYPE_NONE) {
        if (mdf_python_passes_bounds(value, type.dtype)) {
            return mdf_python_out_of_bounds(call, type.dtype);
        }
        value = mdf_python_array_of(call, value, type.dtype, MDF_SLOT_OPERANDS + 1);
    }
    if (value == NULL || !mdf_numpy_broadcast(call, target, value, rank, shape)) {
        return false;
    }
    if (type.dtype != MDF_DTYPE_NONE) {
        target->strength = (uint8_t)strength_of(type);
    }
    return true;
}

/* "shape fill_value dtype= order=C|K|A|F". */
static bool run_full(struct mdf_call *call)
{
    struct mdf_python_type type;
    size_t rank;
    const int64_t *shape = mdf_python_integers(call, 0, MDF_SLOT_OPERANDS, &rank);

    return shape != NULL && mdf_python_type(call, 2, &type) && broadcast_value(call, type, rank, shape);
}

/* "a fill_value dtype= order=C|K|A|F". */
static bool run_full_like(struct mdf_call *call)
{
    struct mdf_python_type type;
    const struct mdf_value *array = read_like(call, 2, &type);

    return array != NULL && broadcast_value(call, type, array->rank, mdf_value_shape(array));
}

/* ------------------------------------------------------------------ ranges */

/* Output 0 becomes the reals in slot SLOT_REALS as another type. */
static bool yield_reals(struct mdf_call *call, struct mdf_python_type type)
{
    type.dtype = type.dtype == MDF_DTYPE_NONE ? call->context->real : type.dtype;
    return mdf_python_convert(call, mdf_call_target(call, 0), &mdf_python_slots(call)[SLOT_REALS], type);
}

static double *make_reals(struct mdf_call *call, int64_t n)
{
    struct mdf_value *slots = mdf_python_slots(call);

    return slots == NULL ? NULL : mdf_python_make(call, &slots[SLOT_REALS], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, 1, &n);
}

/* Number of steps from `start` to before `stop`; -1 with the error set. */
static int64_t count_steps(struct mdf_call *call, double start, double stop, double step)
{
    double n = ceil((stop - start) / step);

    if (step == 0 || isnan(n)) {
        mdf_call_error(call, MDF_VALUE, "a range from %g to %g in steps of %g", start, stop, step);
        return -1;
    }
    if (n > 0x1p60) {
        mdf_call_error(call, MDF_LIMIT, "a range of %g numbers", n);
        return -1;
    }
    return n > 0 ? (int64_t)n : 0;
}

static bool count_in_integers(struct mdf_call *call, const int64_t bounds[3], struct mdf_python_type type)
{
    struct mdf_value *slots = mdf_python_slots(call);
    int64_t n = count_steps(call, (double)bounds[0], (double)bounds[1], (double)bounds[2]), *elements, i;

    elements =
        n < 0 || slots == NULL ? NULL : mdf_python_make(call, &slots[SLOT_REALS], MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &n);
    for (i = 0; elements != NULL && i < n && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        elements[i] = (int64_t)((uint64_t)bounds[0] + (uint64_t)i * (uint64_t)bounds[2]);
    }
    type.dtype = type.dtype == MDF_DTYPE_NONE ? MDF_DTYPE_INT64 : type.dtype;
    return elements != NULL && yield_reals(call, type);
}

/* As numpy: the second number is found by adding the step, the others by multiplying the difference; where whole numbers are asked
 * for, the difference of the first two as such. */
static bool count_in_reals(struct mdf_call *call, const double bounds[3], struct mdf_python_type type)
{
    int64_t n = count_steps(call, bounds[0], bounds[1], bounds[2]), i;
    bool is_whole = type.dtype != MDF_DTYPE_NONE && strchr("iu", mdf_dtype_kind(type.dtype)) != NULL;
    double first = is_whole ? trunc(bounds[0]) : bounds[0], second = bounds[0] + bounds[2];
    double *elements = n < 0 ? NULL : make_reals(call, n), step = (is_whole ? trunc(second) : second) - first;

    for (i = 0; elements != NULL && i < n && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        elements[i] = i == 1 ? second : first + (double)i * step;
    }
    return elements != NULL && yield_reals(call, type);
}

/* "start stop= step= dtype=": a single bound is where to stop. */
static bool run_arange(struct mdf_call *call)
{
    bool single = mdf_python_given(call, 1) == NULL, whole = true;
    int64_t integers[3] = {0, 0, 1};
    double reals[3] = {0, 0, 1};
    struct mdf_python_type type;

    for (size_t i = 0; i < 3; i++) {
        const struct mdf_value *bound = mdf_python_given(call, i);
        size_t place = single && i == 0 ? 1 : i;

        if (bound == NULL) {
            continue;
        }
        if (!mdf_call_real(call, i, &reals[place])) {
            return false;
        }
        whole = whole && mdf_dtype_kind((mdf_dtype)bound->dtype) != 'f';
        integers[place] = whole ? mdf_element_to_int64((mdf_dtype)bound->dtype, bound->data) : 0;
    }
    if (mdf_python_given(call, 0) == NULL || !mdf_python_type(call, 3, &type)) {
        return mdf_call_tensor(call, 0) != NULL && false;
    }
    return whole ? count_in_integers(call, integers, type) : count_in_reals(call, reals, type);
}

/* Writes `n` numbers from `start` to `stop`, as numpy.linspace computes them. */
static void space_evenly(const struct mdf_context *context, double *elements, int64_t n, double start, double stop, bool endpoint)
{
    double difference = stop - start, parts = (double)(endpoint ? n - 1 : n), step = difference / parts;

    for (int64_t i = 0; i < n && !mdf_should_stop_at(context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        elements[i] = parts <= 0 ? (double)i * difference : step == 0 ? (double)i / parts * difference : (double)i * step;
        elements[i] += start;
    }
    if (endpoint && n > 1) {
        elements[n - 1] = stop;
    }
}

/* A bound is one number: of an array, also of one element, numpy makes more axes. */
static bool read_bound(struct mdf_call *call, size_t i, double *bound)
{
    const struct mdf_value *tensor = mdf_call_tensor(call, i);

    if (tensor != NULL && tensor->rank > 0) {
        return mdf_call_error(call, MDF_SHAPE, "input %zu is an array, not one number", i + 1);
    }
    return tensor != NULL && mdf_call_real(call, i, bound);
}

/* Reads "start stop num= endpoint=" and makes the numbers in slot SLOT_REALS; NULL with the error set. */
static double *space_inputs(struct mdf_call *call, int64_t *n)
{
    double start, stop, *elements;
    bool endpoint;

    if (!read_bound(call, 0, &start) || !read_bound(call, 1, &stop) || !mdf_python_integer(call, 2, 50, n) ||
        !mdf_python_truth(call, 3, true, &endpoint)) {
        return NULL;
    }
    elements = make_reals(call, *n);
    if (elements != NULL) {
        space_evenly(call->context, elements, *n, start, stop, endpoint);
    }
    return elements;
}

static void round_down(const struct mdf_context *context, double *elements, int64_t n, struct mdf_python_type type)
{
    char kind = mdf_dtype_kind(type.dtype);

    for (int64_t i = 0; (kind == 'i' || kind == 'u') && i < n && !mdf_should_stop_at(context, (size_t)i, MDF_ITEMS_PER_LOOK);
         i++) {
        elements[i] = floor(elements[i]);
    }
}

/* "start stop num= endpoint= retstep= dtype=". */
static bool run_linspace(struct mdf_call *call)
{
    struct mdf_python_type type;
    int64_t n;
    bool wants_step;
    double *elements;

    if (!mdf_python_type(call, 5, &type) || !mdf_python_truth(call, 4, false, &wants_step)) {
        return false;
    }
    if (wants_step) {
        return mdf_call_error(call, MDF_UNSUPPORTED, "the step can not be asked for");
    }
    elements = space_inputs(call, &n);
    if (elements == NULL) {
        return false;
    }
    round_down(call->context, elements, n, type);
    return yield_reals(call, type);
}

/* "start stop num= endpoint= base= dtype=". */
static bool run_logspace(struct mdf_call *call)
{
    struct mdf_python_type type;
    double base, *elements;
    int64_t n;

    if (!mdf_python_type(call, 5, &type) || !mdf_python_real(call, 4, 10, &base)) {
        return false;
    }
    elements = space_inputs(call, &n);
    for (int64_t i = 0; elements != NULL && i < n && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        elements[i] = pow(base, elements[i]);
    }
    return elements != NULL && yield_reals(call, type);
}

/* ------------------------------------------------------------------ matrices */

/* Output 0 becomes a matrix with ones on its diagonal number `k`. */
static bool make_diagonal_ones(struct mdf_call *call, int64_t n_rows, int64_t n_columns, int64_t k, size_t type_input)
{
    int64_t shape[2] = {n_rows, n_columns}, row, one = 1;
    struct mdf_python_type type;

    if (!mdf_python_type(call, type_input, &type)) {
        return false;
    }
    type.dtype = type.dtype == MDF_DTYPE_NONE ? call->context->real : type.dtype;
    if (type.dtype == MDF_DTYPE_STRING) {
        return mdf_call_error(call, MDF_TYPE, "has no meaning for text");
    }
    if (!fill_with(call, type, 2, shape, 0)) {
        return false;
    }
    for (row = 0; row < n_rows && k < n_columns && k > -n_rows; row++) {
        if (row + k >= 0 && row + k < n_columns) {
            mdf_convert_elements(
                type.dtype, mdf_element_to_write(type.dtype, mdf_call_target(call, 0)->data, (size_t)(row * n_columns + row + k)),
                MDF_DTYPE_INT64, &one, 1, false);
        }
    }
    return true;
}

/* "N M= k= dtype=". */
static bool run_eye(struct mdf_call *call)
{
    int64_t n_rows, n_columns, k;

    return mdf_call_integer(call, 0, &n_rows) && mdf_python_integer(call, 1, n_rows, &n_columns) &&
           mdf_python_integer(call, 2, 0, &k) && make_diagonal_ones(call, n_rows, n_columns, k, 3);
}

/* "n dtype=". */
static bool run_identity(struct mdf_call *call)
{
    int64_t n;

    return mdf_call_integer(call, 0, &n) && make_diagonal_ones(call, n, n, 0, 1);
}

/* ------------------------------------------------------------------ types as functions */

/* Whether a Python int became another number in its new type. */
static bool lost_value(const struct mdf_value *given, const struct mdf_value *made)
{
    char kind = mdf_dtype_kind((mdf_dtype)made->dtype);

    return mdf_python_is_integer(given) && given->dtype == MDF_DTYPE_INT64 && (kind == 'i' || kind == 'u') &&
           (mdf_element_to_int64((mdf_dtype)made->dtype, made->data) != *(const int64_t *)given->data ||
            (kind == 'u' && *(const int64_t *)given->data < 0));
}

static bool convert_text(struct mdf_call *call, const struct mdf_value *string, struct mdf_python_type type)
{
    size_t length;
    const char *text = mdf_python_text(string, &length);
    struct mdf_value number = {0};
    double real;
    int64_t integer;
    bool is_integer;

    if (!mdf_parse_python_number(text, &real, &integer, &is_integer)) {
        return mdf_call_error(call, MDF_VALUE, "'%.80s' is no number", text);
    }
    mdf_value_borrow_tensor(call->context->memory, &number, is_integer ? MDF_DTYPE_INT64 : MDF_DTYPE_FLOAT64, MDF_STRENGTH_PYTHON,
                            0, NULL, is_integer ? (const void *)&integer : (const void *)&real);
    return mdf_python_convert(call, mdf_call_target(call, 0), &number, type);
}

/* What numpy makes of None: no number among reals, false among truths, nothing among whole numbers. */
static bool convert_none(struct mdf_call *call, struct mdf_python_type type)
{
    char kind = mdf_dtype_kind(type.dtype);
    const double nan = NAN;

    if (kind == 'b') {
        return fill_with(call, type, 0, NULL, 0);
    }
    if (kind != 'f') {
        return mdf_call_error(call, MDF_TYPE, "does not apply to None");
    }
    if (!fill_with(call, type, 0, NULL, 0)) {
        return false;
    }
    mdf_convert_elements(type.dtype, mdf_call_target(call, 0)->data, MDF_DTYPE_FLOAT64, &nan, 1, false);
    return true;
}

/* "x=": the type is the last part of the function's own name. */
static bool run_type(struct mdf_call *call)
{
    const struct mdf_value *given = mdf_python_given(call, 0), *array;
    struct mdf_python_type type;

    if (!mdf_python_type_named(call, strrchr(call->operator->name, '.') + 1, &type)) {
        return false;
    }
    if (given == NULL) {
        return mdf_call_input(call, 0) != NULL ? convert_none(call, type) : fill_with(call, type, 0, NULL, 0);
    }
    if (mdf_python_is_string(given)) {
        return convert_text(call, given, type);
    }
    array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    if (array == NULL || !mdf_python_convert(call, mdf_call_target(call, 0), array, type)) {
        return false;
    }
    return !lost_value(given, mdf_call_target(call, 0)) || mdf_call_error(call, MDF_VALUE, "the number is out of bounds");
}

#define TYPE_ROW(name, ...)                                                         \
    {                                                                               \
        name, 0, 0, run_type, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "x=", __VA_ARGS__ \
    }
/* Of whole numbers that may have fewer bits than what is given: a number of Python's that does not fit is an error. */
#define SHORT_ROW(name) TYPE_ROW(name, .derivatives = mdf_derivatives_flat)
#define LONG_ROW(name) TYPE_ROW(name, .derivatives = mdf_derivatives_flat, .move = MDF_MOVE(1, .in_order = true))
#define REAL_ROW(name) TYPE_ROW(name, .derivatives = MDF_DERIVATIVES({0, "dy"}), .move = MDF_MOVE(1, .in_order = true))

const struct mdf_operator mdf_operators_python_numpy_make[] = {
    MDF_FUNCTION("numpy.array", run_array, 0, "object dtype= copy=* order=C|K|A|F subok=* ndmin=>operator.with_axes",
                 .move = MDF_MOVE(1, .in_order = true), .form = MDF_FORM_LIST_ARRAY,
                 .derivatives = MDF_DERIVATIVES({0, "dy"}, {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.asarray", run_array, 0, "a dtype= order=C|K|A|F copy=*", .move = MDF_MOVE(1, .in_order = true),
                 .form = MDF_FORM_LIST_ARRAY, .derivatives = MDF_DERIVATIVES({0, "dy"}, {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.asanyarray", run_array, 0, "a dtype= order=C|K|A|F copy=*", .move = MDF_MOVE(1, .in_order = true),
                 .form = MDF_FORM_LIST_ARRAY, .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.ascontiguousarray", run_contiguous, 0, "a dtype=", .move = MDF_MOVE(1, .in_order = true),
                 .form = MDF_FORM_LIST_ARRAY, .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.copy", run_array, 0, "a order=C|K|A|F", .move = MDF_MOVE(1, .in_order = true),
                 .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.conj", run_conjugate, MDF_OPERATOR_METHOD, "x", .move = MDF_MOVE(1),
                 .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.conjugate", run_conjugate, MDF_OPERATOR_METHOD, "x", .move = MDF_MOVE(1),
                 .derivatives = MDF_DERIVATIVES({0, "dy"})),
    MDF_FUNCTION("numpy.astype", run_array, MDF_OPERATOR_METHOD, "x dtype order=C|K|A|F casting=unsafe subok=* copy=*",
                 .move = MDF_MOVE(1, .in_order = true),
                 .derivatives =
                     MDF_DERIVATIVES({0, "dy if numpy.asarray(0.5).astype(x1) != 0 else dy * 0.0"}, {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.zeros", run_zeros, 0, "shape dtype= order=C|K|A|F", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.ones", run_ones, 0, "shape dtype= order=C|K|A|F", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.empty", run_zeros, 0, "shape dtype= order=C|K|A|F", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.full", run_full, 0, "shape fill_value dtype= order=C|K|A|F",
                 .derivatives = MDF_DERIVATIVES({1, "dy"}, {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.zeros_like", run_zeros_like, 0, "a dtype= order=C|K|A|F", .derivatives = mdf_derivatives_flat,
                 .by_form = 1, .nodes = "Expand(0, Shape(a))"),
    MDF_FUNCTION("numpy.ones_like", run_ones_like, 0, "a dtype= order=C|K|A|F", .derivatives = mdf_derivatives_flat, .by_form = 1,
                 .nodes = "Expand(1, Shape(a))"),
    MDF_FUNCTION("numpy.empty_like", run_zeros_like, 0, "prototype dtype= order=C|K|A|F", .derivatives = mdf_derivatives_flat,
                 .by_form = 1, .nodes = "Expand(0, Shape(a))"),
    MDF_FUNCTION("numpy.full_like", run_full_like, 0, "a fill_value dtype= order=C|K|A|F", .by_form = 1,
                 .nodes = "Expand(b, Shape(a))", .derivatives = MDF_DERIVATIVES({1, "dy"}, {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.arange", run_arange, 0, "start stop= step= dtype=",
                 .derivatives = MDF_DERIVATIVES({0, "0.0 if x1 is None else numpy.sum(dy)"},
                                                {2, "numpy.sum(dy * numpy.arange(y.size))"}, {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.linspace", run_linspace, 0, "start stop num= endpoint= retstep= dtype=",
                 .derivatives = MDF_DERIVATIVES({0, "dy * (1 - numpy.reshape((numpy.arange(y.shape[0]) / max(y.shape[0] - (0 if "
                                                    "x3 is not None and not x3 else 1), 1)), [-1] + [1] * (y.ndim - 1)))"},
                                                {1, "dy * numpy.reshape((numpy.arange(y.shape[0]) / max(y.shape[0] - (0 if x3 is "
                                                    "not None and not x3 else 1), 1)), [-1] + [1] * (y.ndim - 1))"},
                                                {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.logspace", run_logspace, 0, "start stop num= endpoint= base= dtype=",
                 .derivatives =
                     MDF_DERIVATIVES({0, "dy * y * math.log((10.0 if x4 is None else x4)) * (1 - (numpy.arange(y.shape[0]) / "
                                         "max(y.shape[0] - (0 if x3 is not None and not x3 else 1), 1)))"},
                                     {1, "dy * y * math.log((10.0 if x4 is None else x4)) * (numpy.arange(y.shape[0]) / "
                                         "max(y.shape[0] - (0 if x3 is not None and not x3 else 1), 1))"},
                                     {4, "dy * y / x4 * (x0 + (x1 - x0) * (numpy.arange(y.shape[0]) / max(y.shape[0] - (0 if x3 "
                                         "is not None and not x3 else 1), 1)))"},
                                     {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.eye", run_eye, 0, "N M= k= dtype=", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.identity", run_identity, 0, "n dtype=", .derivatives = mdf_derivatives_flat),
    REAL_ROW("numpy.float64"),
    REAL_ROW("numpy.float32"),
    REAL_ROW("numpy.float16"),
    REAL_ROW("numpy.double"),
    REAL_ROW("numpy.single"),
    REAL_ROW("numpy.half"),
    LONG_ROW("numpy.int64"),
    SHORT_ROW("numpy.int32"),
    SHORT_ROW("numpy.int16"),
    SHORT_ROW("numpy.int8"),
    SHORT_ROW("numpy.uint64"),
    SHORT_ROW("numpy.uint32"),
    SHORT_ROW("numpy.uint16"),
    SHORT_ROW("numpy.uint8"),
    LONG_ROW("numpy.int_"),
    LONG_ROW("numpy.intp"),
    SHORT_ROW("numpy.intc"),
    LONG_ROW("numpy.longlong"),
    SHORT_ROW("numpy.uint"),
    LONG_ROW("numpy.bool_"),
    LONG_ROW("numpy.bool"),
    {NULL}};

const struct mdf_operator *mdf_python_full_like(void)
{
    return mdf_operator_python("numpy.full_like");
}
