/* gradients.c - what the rules for derivatives (functions/kernel/derivatives.h) need beyond the functions of numpy.
 *
 * Comes in: gradients g of some later value, and the values that they are to be handed back to. Goes out: gradients in the shape
 * and type of those. Sums are made in float64 and rounded once. An expression of a model can not name these functions: only the
 * rules do. */
#include "functions/elements/element.h"
#include "functions/folds/short_rows.h"
#include "functions/kernel/derivatives.h"
#include "functions/kernel/fold.h"
#include "functions/kernel/move.h"
#include "functions/python/gradients.h"
#include "functions/python/python_values.h"

#include <string.h>

enum { SLOT_FIRST = MDF_SLOT_OWN, SLOT_SECOND, SLOT_THIRD, SLOT_SIZES };

static const int64_t *shape_of(const struct mdf_value *array)
{
    return mdf_value_shape(array);
}

/* Nothing changes smoothly with whole numbers that were declared such. */
static bool is_declared_whole(const struct mdf_value *array)
{
    return array->strength == MDF_STRENGTH_TYPED && mdf_dtype_kind((mdf_dtype)array->dtype) != 'f';
}

/* The target in the shape of `like`: in its type where that and g are real, else in g's. Zeros where `like` is declared whole.
 * NULL with the error set. */
static void *make_gradient(struct mdf_call *call, const struct mdf_value *g, const struct mdf_value *like, mdf_dtype *dtype)
{
    bool is_real = mdf_dtype_kind((mdf_dtype)like->dtype) == 'f' && mdf_dtype_kind((mdf_dtype)g->dtype) == 'f';
    void *target;

    if (mdf_dtype_kind((mdf_dtype)g->dtype) == 'c' || g->dtype == MDF_DTYPE_STRING || like->dtype == MDF_DTYPE_STRING) {
        mdf_call_error(call, MDF_UNSUPPORTED, "there are derivatives by real numbers only");
        return NULL;
    }
    *dtype = (mdf_dtype)(is_real ? like->dtype : g->dtype);
    target = mdf_python_make(call, mdf_call_target(call, 0), *dtype, mdf_numpy_strength(like), like->rank, shape_of(like));
    return target == NULL || !is_declared_whole(like) || mdf_elements_fill(call, *dtype, target, like->length, NULL) ? target
                                                                                                                     : NULL;
}

static bool has_number(const struct mdf_value *like, int64_t number)
{
    return number > 0 && (uint64_t)number <= like->length;
}

/* The sum of the elements of g that are made from each element of `like`, whose numbers, from 1 on, are `numbers`; 0: from none.
 * One alone stays as it is: what is only moved has the sign of its zeros. */
static bool send_back(struct mdf_call *call, const struct mdf_value *g, const int64_t *numbers, const struct mdf_value *like)
{
    double *sums = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_FLOAT64, like->length);
    size_t size = mdf_dtype_size((mdf_dtype)g->dtype);
    mdf_dtype dtype;
    void *target = sums != NULL ? make_gradient(call, g, like, &dtype) : NULL;

    if (target == NULL || is_declared_whole(like)) {
        return target != NULL;
    }
    memset(sums, 0, like->length * sizeof *sums);
    for (size_t i = 0; i < g->length; i++) {
        if (has_number(like, numbers[i])) {
            sums[numbers[i] - 1] = -0.0;
        }
    }
    for (size_t i = 0; i < g->length; i++) {
        if (has_number(like, numbers[i])) {
            sums[numbers[i] - 1] += mdf_element_to_double((mdf_dtype)g->dtype, (const char *)g->data + i * size);
        }
    }
    return mdf_value_convert_elements(call->context->memory, dtype, target, MDF_DTYPE_FLOAT64, sums, like->length, false);
}

/* "g numbers like": the gradient of `like`, whose elements were moved about as the numbers say. */
static bool run_send_back(struct mdf_call *call)
{
    const struct mdf_value *g = mdf_python_input_array(call, 0, SLOT_FIRST), *like = mdf_python_input_array(call, 2, SLOT_SECOND);
    size_t n = 0;
    const int64_t *numbers = g != NULL && like != NULL ? mdf_call_integers(call, 1, MDF_SCRATCH_AXES, &n) : NULL;

    if (numbers == NULL) {
        return false;
    }
    if (n != g->length) {
        return mdf_call_error(call, MDF_SHAPE, "%zu places do not fit %zu elements", n, g->length);
    }
    return send_back(call, g, numbers, like);
}

/* "a numbers": the elements that the numbers name; 0 where they name none. */
static bool run_take(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST), *numbers = mdf_call_tensor(call, 1);
    const int64_t *items;
    char *target;
    size_t size, n;

    items = a != NULL && numbers != NULL ? mdf_call_integers(call, 1, MDF_SCRATCH_AXES, &n) : NULL;
    if (items == NULL) {
        return false;
    }
    target = mdf_python_make_like(call, mdf_call_target(call, 0), a, numbers->rank, shape_of(numbers));
    size = mdf_dtype_size((mdf_dtype)a->dtype);
    for (size_t i = 0; target != NULL && i < numbers->length; i++) {
        if (items[i] > 0 && (uint64_t)items[i] <= a->length) {
            memcpy(target + i * size, (const char *)a->data + (size_t)(items[i] - 1) * size, size);
        } else {
            memset(target + i * size, 0, size);
        }
    }
    return target != NULL;
}

/* "a": an array of its shape that holds 1, 2, 3, ... */
static bool run_numbers(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);
    int64_t *items = NULL;

    if (a != NULL) {
        items = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, a->rank, shape_of(a));
    }
    for (size_t i = 0; items != NULL && i < a->length; i++) {
        items[i] = (int64_t)i + 1;
    }
    return items != NULL;
}

/* "a": an array, typed, as states of loops are. */
static bool run_typed(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);

    if (a == NULL || !mdf_python_copy(call, mdf_call_target(call, 0), a)) {
        return false;
    }
    mdf_call_target(call, 0)->strength = MDF_STRENGTH_TYPED;
    return true;
}

/* "a": whole numbers as reals; typed, as items of a stack are, whose numbers have one type. */
static bool run_as_real(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);
    char kind = a != NULL ? mdf_dtype_kind((mdf_dtype)a->dtype) : '\0';
    mdf_dtype real = call->context->real;
    void *target;

    if (a == NULL || kind == 'f' || kind == 'c' || a->dtype == MDF_DTYPE_STRING) {
        return run_typed(call);
    }
    target = mdf_python_make(call, mdf_call_target(call, 0), real, MDF_STRENGTH_TYPED, a->rank, shape_of(a));
    return target != NULL &&
           mdf_value_convert_elements(call->context->memory, real, target, (mdf_dtype)a->dtype, a->data, a->length, false);
}

/* "a": the same with zeros. */
static bool run_no_numbers(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);
    int64_t *items = NULL;

    if (a != NULL) {
        items = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, a->rank, shape_of(a));
    }
    if (items != NULL) {
        memset(items, 0, a->length * sizeof *items);
    }
    return items != NULL;
}

/* ------------------------------------------------------------------ broadcasting undone */

/* Numbers of the elements of a box of `shape`, where axis i advances by strides[i]. `index` has room for rank sizes. */
static void number_elements(size_t rank, const int64_t *shape, const int64_t *strides, int64_t *index, size_t n, int64_t *numbers)
{
    int64_t at = 1;

    memset(index, 0, rank * sizeof *index);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = at;
        for (size_t axis = rank; axis-- > 0;) {
            at += strides[axis];
            if (++index[axis] < shape[axis]) {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

/* Strides of `small` seen with the axes of a shape that it broadcasts to; false: it does not. */
static bool broadcast_strides(const struct mdf_value *small, size_t rank, const int64_t *shape, int64_t *strides)
{
    int64_t stride = 1;

    if (small->rank > rank) {
        return false;
    }
    memset(strides, 0, rank * sizeof *strides);
    for (size_t k = 0; k < small->rank; k++) {
        int64_t size = shape_of(small)[small->rank - 1 - k];
        size_t axis = rank - 1 - k;

        if (size != 1 && size != shape[axis]) {
            return false;
        }
        strides[axis] = size == 1 ? 0 : stride;
        stride *= size;
    }
    return true;
}

/* g, of as many elements as `like`, in its shape. */
static bool take_shape(struct mdf_call *call, const struct mdf_value *g, const struct mdf_value *like)
{
    mdf_dtype dtype;
    void *target = make_gradient(call, g, like, &dtype);

    return target != NULL &&
           (is_declared_whole(like) ||
            mdf_value_convert_elements(call->context->memory, dtype, target, (mdf_dtype)g->dtype, g->data, g->length, false));
}

/* Axes of g along which sum_to adds: those that `like` has not, or with the size 1. */
static bool find_axes_to_fit(struct mdf_call *call, size_t rank, bool *reduced, bool *keeps)
{
    const struct mdf_value *g = mdf_call_tensor(call, 0), *like = mdf_call_tensor(call, 1);
    size_t n_more;

    if (g == NULL || like == NULL || like->rank > rank) {
        return false;
    }
    n_more = rank - like->rank;
    for (size_t i = 0; i < rank; i++) {
        reduced[i] = i < n_more || (shape_of(like)[i - n_more] == 1 && shape_of(g)[i] != 1);
    }
    *keeps = false;
    return true;
}

/* Whether g was broadcast from `like`, and is of its type. */
static bool is_reduced(const struct mdf_value *g, const struct mdf_value *like)
{
    bool is_real =
        mdf_dtype_kind((mdf_dtype)g->dtype) == 'f' && (g->dtype == like->dtype || mdf_dtype_kind((mdf_dtype)like->dtype) != 'f');

    for (size_t k = 0; k < like->rank && k < g->rank; k++) {
        int64_t size = shape_of(like)[like->rank - 1 - k];

        if (size != 1 && size != shape_of(g)[g->rank - 1 - k]) {
            return false;
        }
    }
    return is_real && like->rank <= g->rank && !is_declared_whole(like);
}

/* "g like": g summed to the shape of what it was broadcast from, in its type. */
static bool run_sum_to(struct mdf_call *call)
{
    const struct mdf_value *g = mdf_python_input_array(call, 0, SLOT_FIRST), *like = mdf_python_input_array(call, 1, SLOT_SECOND);
    int64_t *sizes, *numbers;
    bool done;

    if (g == NULL || like == NULL) {
        return false;
    }
    if (mdf_value_has_shape_of(g, like) && g->dtype == like->dtype && !is_declared_whole(like)) {
        return mdf_python_copy(call, mdf_call_target(call, 0), g);
    }
    if (g->length == like->length) { /* axes of size 1 more or fewer */
        return take_shape(call, g, like);
    }
    if (call->inputs[1]->kind == MDF_KIND_LIST) { /* which of these it was can not be told from here */
        return mdf_call_error(call, MDF_UNSUPPORTED,
                              "there is no derivative of a list that is joined (+), repeated (*) or broadcast to an array: make "
                              "an array of it (numpy.concatenate, numpy.tile, numpy.asarray)");
    }
    if (is_reduced(g, like)) {
        done = mdf_reduce(call, g, like->rank, shape_of(like));
        mdf_call_target(call, 0)->strength = (uint8_t)mdf_numpy_strength(like);
        return done;
    }
    sizes = mdf_python_sizes(call, SLOT_SIZES, 2 * (size_t)g->rank + g->length + 1);
    if (sizes == NULL) {
        return false;
    }
    numbers = sizes + 2 * (size_t)g->rank;
    if (broadcast_strides(like, g->rank, shape_of(g), sizes)) {
        number_elements(g->rank, shape_of(g), sizes, sizes + g->rank, g->length, numbers);
    } else {
        char from[MDF_PYTHON_KIND_TEXT_SIZE], to[MDF_PYTHON_KIND_TEXT_SIZE];

        return mdf_call_error(call, MDF_SHAPE,
                              "a gradient of %s is not one of %s: a state whose shape changes from one iteration to the next "
                              "has no derivative",
                              mdf_python_kind(g, from), mdf_python_kind(like, to));
    }
    return send_back(call, g, numbers, like);
}

/* "g i": item number i of g along its first axis. */
static bool run_item(struct mdf_call *call)
{
    const struct mdf_value *g = mdf_python_input_array(call, 0, SLOT_FIRST);
    size_t size, n;
    int64_t at;
    char *target;

    if (g == NULL || !mdf_python_integer(call, 1, 0, &at)) {
        return false;
    }
    if (g->rank == 0 || at < 0 || at >= shape_of(g)[0]) {
        return mdf_call_error(call, MDF_SHAPE, "a gradient has no item %lld", (long long)at);
    }
    n = mdf_axes_product(shape_of(g), 1, g->rank);
    size = mdf_dtype_size((mdf_dtype)g->dtype) * n;
    target = mdf_python_make_like(call, mdf_call_target(call, 0), g, g->rank - 1u, shape_of(g) + 1);
    if (target != NULL && size > 0) {
        memcpy(target, (const char *)g->data + (size_t)at * size, size);
    }
    return target != NULL;
}

/* "v like": the vector v, a number or an array of the shape of `like`, in that shape, as reals. */
static bool run_vector(struct mdf_call *call)
{
    const struct mdf_value *v = mdf_python_input_array(call, 0, SLOT_FIRST), *like = mdf_python_input_array(call, 1, SLOT_SECOND);
    char is[MDF_PYTHON_KIND_TEXT_SIZE], wanted[MDF_PYTHON_KIND_TEXT_SIZE];
    bool is_real = like != NULL && mdf_dtype_kind((mdf_dtype)like->dtype) == 'f';
    double *elements;
    mdf_dtype dtype;
    void *target;

    if (v == NULL || like == NULL) {
        return false;
    }
    if (v->rank > 0 && !mdf_value_has_shape_of(v, like)) {
        return mdf_call_error(call, MDF_SHAPE, "a vector of %s does not fit %s: it has to have its shape", mdf_python_kind(v, is),
                              mdf_python_kind(like, wanted));
    }
    dtype = is_real ? (mdf_dtype)like->dtype : call->context->real;
    target = mdf_python_make(call, mdf_call_target(call, 0), dtype, MDF_STRENGTH_TYPED, like->rank, shape_of(like));
    elements = target != NULL ? mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_FLOAT64, like->length) : NULL;
    if (elements == NULL || !mdf_value_convert_elements(call->context->memory, MDF_DTYPE_FLOAT64, elements, (mdf_dtype)v->dtype,
                                                        v->data, v->length < like->length ? v->length : like->length, false)) {
        return elements != NULL && mdf_call_out_of_memory(call);
    }
    for (size_t i = 1; v->rank == 0 && i < like->length; i++) {
        elements[i] = elements[0];
    }
    return mdf_value_convert_elements(call->context->memory, dtype, target, MDF_DTYPE_FLOAT64, elements, like->length, false);
}

/* ------------------------------------------------------------------ reductions undone */

/* The shape of `a` with 1 at the axes that were reduced. */
static bool reduced_shape(struct mdf_call *call, const struct mdf_value *a, const int64_t *axes, size_t n_axes, bool all,
                          int64_t *shape)
{
    size_t axis;

    for (size_t i = 0; i < a->rank; i++) {
        shape[i] = all ? 1 : shape_of(a)[i];
    }
    for (size_t i = 0; i < n_axes; i++) {
        if (a->rank == 0 && (axes[i] == 0 || axes[i] == -1)) {
            continue; /* numpy lets a number have one axis */
        }
        if (!mdf_call_axis(call, axes[i], a->rank, &axis)) {
            return false;
        }
        shape[axis] = 1;
    }
    return true;
}

/* Numbers, from 1 on, of the results that elements of `a` went into when it was reduced along the axes that input `at` gives (no
 * axes: all, or none, as input at + 1 says); *n: of results. NULL with the error set. */
const int64_t *gradient_numbers_of_results(struct mdf_call *call, const struct mdf_value *a, size_t at, size_t *n)
{
    const struct mdf_value *given = mdf_python_given(call, at);
    const int64_t *axes = NULL;
    int64_t *sizes, *numbers, stride = 1;
    size_t n_axes = 0;
    bool all = true;

    if (!mdf_python_truth(call, at + 1, true, &all)) {
        return NULL;
    }
    axes = given != NULL ? mdf_python_integers(call, at, MDF_SLOT_OPERANDS, &n_axes) : NULL;
    sizes = given != NULL && axes == NULL ? NULL : mdf_python_sizes(call, SLOT_SIZES, 3 * (size_t)a->rank + a->length + 1);
    if (sizes == NULL || !reduced_shape(call, a, axes, n_axes, all && n_axes == 0, sizes)) {
        return NULL;
    }
    numbers = sizes + 3 * (size_t)a->rank;
    for (size_t i = a->rank; i-- > 0;) { /* strides of the results with all axes kept */
        sizes[a->rank + i] = sizes[i] == 1 ? 0 : stride;
        stride *= sizes[i];
    }
    *n = (size_t)stride;
    number_elements(a->rank, shape_of(a), sizes + a->rank, sizes + 2 * (size_t)a->rank, a->length, numbers);
    return numbers;
}

/* "g a axes none_is_all": g, of what reduced `a` along axes, with the shape of `a`. */
static bool run_spread(struct mdf_call *call)
{
    const struct mdf_value *g = mdf_python_input_array(call, 0, SLOT_FIRST), *a = mdf_python_input_array(call, 1, SLOT_SECOND);
    size_t n = 0, size;
    const int64_t *numbers = g != NULL && a != NULL ? gradient_numbers_of_results(call, a, 2, &n) : NULL;
    char *target;

    if (numbers == NULL) {
        return false;
    }
    if (n != g->length) {
        return mdf_call_error(call, MDF_SHAPE, "a gradient of %zu elements is not one of %zu", g->length, n);
    }
    target = mdf_python_make_like(call, mdf_call_target(call, 0), g, a->rank, shape_of(a));
    size = mdf_dtype_size((mdf_dtype)g->dtype);
    if (target != NULL && n == 1) {
        return mdf_elements_fill(call, (mdf_dtype)g->dtype, target, a->length, g->data);
    }
    for (size_t i = 0; target != NULL && i < a->length; i++) {
        memcpy(target + i * size, (const char *)g->data + (size_t)(numbers[i] - 1) * size, size);
    }
    return target != NULL;
}

/* "a axes none_is_all": zeros, in the shape of what reduces `a` along axes that it keeps. */
static bool run_kept(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST), *given = mdf_python_given(call, 1);
    const int64_t *axes = NULL;
    int64_t *shape;
    size_t n_axes = 0, n;
    bool all = true;
    void *target;

    if (a == NULL || !mdf_python_truth(call, 2, true, &all)) {
        return false;
    }
    axes = given != NULL ? mdf_python_integers(call, 1, MDF_SLOT_OPERANDS, &n_axes) : NULL;
    shape = given != NULL && axes == NULL ? NULL : mdf_python_sizes(call, SLOT_SIZES, a->rank);
    if (shape == NULL || !reduced_shape(call, a, axes, n_axes, all && n_axes == 0, shape)) {
        return false;
    }
    target = mdf_python_make_like(call, mdf_call_target(call, 0), a, a->rank, shape);
    n = mdf_axes_product(shape, 0, a->rank);
    return target != NULL && mdf_elements_fill(call, (mdf_dtype)a->dtype, target, n, NULL);
}

/* "a first": the numbers of the axes of `a` from one on. */
static bool run_axes_from(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_call_tensor(call, 0);
    int64_t axis, n, *axes;

    if (a == NULL || !mdf_python_integer(call, 1, 0, &axis)) {
        return false;
    }
    axis = axis < 0 ? axis + a->rank : axis;
    if (axis < 0 || axis > a->rank) {
        return mdf_call_error(call, MDF_VALUE, "there is no axis %lld", (long long)axis);
    }
    n = a->rank - axis;
    axes = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, &n);
    for (int64_t i = 0; axes != NULL && i < n; i++) {
        axes[i] = axis + i;
    }
    return axes != NULL;
}

/* ------------------------------------------------------------------ matrices */

/* `target` becomes `a` with an axis of size 1 put in at `at`. */
static bool with_axis(struct mdf_call *call, const struct mdf_value *a, size_t at)
{
    int64_t *shape = mdf_python_sizes(call, SLOT_SIZES, (size_t)a->rank + 1);

    if (shape == NULL) {
        return false;
    }
    for (size_t i = 0; i <= a->rank; i++) {
        shape[i] = i < at ? shape_of(a)[i] : i == at ? 1 : shape_of(a)[i - 1];
    }
    return mdf_python_reshape(call, mdf_call_target(call, 0), a, (size_t)a->rank + 1, shape);
}

/* "a": an array of rank 1 as a matrix of one row, or column; others as they are. */
static bool run_row(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);

    return a != NULL && (a->rank == 1 ? with_axis(call, a, 0) : mdf_python_copy(call, mdf_call_target(call, 0), a));
}

static bool run_column(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);

    return a != NULL && (a->rank == 1 ? with_axis(call, a, 1) : mdf_python_copy(call, mdf_call_target(call, 0), a));
}

/* "g a b": g, of the product of a and b, as if both had been matrices. */
static bool run_product_of_matrices(struct mdf_call *call)
{
    const struct mdf_value *g = mdf_python_input_array(call, 0, SLOT_FIRST), *a = mdf_python_input_array(call, 1, SLOT_SECOND),
                           *b = mdf_python_input_array(call, 2, SLOT_THIRD);
    struct mdf_value *target = mdf_call_target(call, 0);
    int64_t *shape;

    if (g == NULL || a == NULL || b == NULL) {
        return false;
    }
    if (a->rank == 1 && b->rank == 1) {
        shape = mdf_python_sizes(call, SLOT_SIZES, 2);
        return shape != NULL && (shape[0] = shape[1] = 1, mdf_python_reshape(call, target, g, 2, shape));
    }
    if ((a->rank == 1 || b->rank == 1) && g->rank > 0) {
        return with_axis(call, g, b->rank == 1 ? g->rank : (size_t)g->rank - 1);
    }
    return a->rank == 1 || b->rank == 1 ? with_axis(call, g, 0) : mdf_python_copy(call, target, g);
}

/* "g a": g without its last axis, of size 1, where `a` has rank 1. */
static bool run_without_column(struct mdf_call *call)
{
    const struct mdf_value *g = mdf_python_input_array(call, 0, SLOT_FIRST), *a = mdf_python_input_array(call, 1, SLOT_SECOND);

    if (g == NULL || a == NULL) {
        return false;
    }
    return a->rank == 1 && g->rank > 0 ? mdf_python_reshape(call, mdf_call_target(call, 0), g, (size_t)g->rank - 1, shape_of(g))
                                       : mdf_python_copy(call, mdf_call_target(call, 0), g);
}

/* The elements of `a` with its last two axes in each other's place. */
static void turn_matrices(const struct mdf_value *a, char *target)
{
    size_t size = mdf_dtype_size((mdf_dtype)a->dtype), rows = (size_t)shape_of(a)[a->rank - 2],
           columns = (size_t)shape_of(a)[a->rank - 1], n = rows * columns;

    for (size_t first = 0; n > 0 && first < a->length; first += n) {
        const char *matrix = (const char *)a->data + first * size;
        char *turned = target + first * size;

        if (mdf_can_turn_rows(size)) {
            mdf_turn_rows(size, turned, matrix, rows, columns);
            continue;
        }
        for (size_t column = 0; column < columns; column++) {
            for (size_t row = 0; row < rows; row++, turned += size) {
                memcpy(turned, matrix + (row * columns + column) * size, size);
            }
        }
    }
}

/* How matrices are laid out in "lines": which sizes of w a line has, where w stands behind or before what it multiplies. */
enum { ROWS_BEHIND, COLUMNS_BEHIND, ROWS_BEFORE, COLUMNS_BEFORE };

/* Elements of a line. */
static int64_t size_of_line(const struct mdf_value *w, int64_t how)
{
    if (w->rank == 1) { /* a column behind, a row before */
        return how == ROWS_BEHIND || how == COLUMNS_BEFORE ? shape_of(w)[0] : 1;
    }
    return shape_of(w)[how == ROWS_BEHIND || how == ROWS_BEFORE ? 0 : 1];
}

/* "a w how": a stack of items of products by w, a matrix or vector, as the rows of one matrix. */
static bool run_lines(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST), *w = mdf_python_input_array(call, 1, SLOT_SECOND);
    int64_t how, shape[2];
    bool is_turned;
    char *target;

    if (a == NULL || w == NULL || !mdf_python_integer(call, 2, 0, &how)) {
        return false;
    }
    if (w->rank < 1 || w->rank > 2) {
        return mdf_call_error(call, MDF_SHAPE, "has lines of a matrix or a vector only");
    }
    shape[1] = size_of_line(w, how);
    shape[0] = shape[1] > 0 ? (int64_t)a->length / shape[1] : 0;
    if ((size_t)(shape[0] * shape[1]) != a->length) {
        return mdf_call_error(call, MDF_SHAPE, "%zu elements are no lines of %lld", a->length, (long long)shape[1]);
    }
    is_turned = a->rank >= 3 && (how == COLUMNS_BEFORE || (how == ROWS_BEFORE && w->rank == 2));
    if (!is_turned) {
        return mdf_python_reshape(call, mdf_call_target(call, 0), a, 2, shape);
    }
    target = mdf_python_make_like(call, mdf_call_target(call, 0), a, 2, shape);
    if (target != NULL) {
        turn_matrices(a, target);
    }
    return target != NULL;
}

/* One item of a stack of products by w: matrices, of which the first axes number them; x and w repeat along some of these. */
struct products {
    const struct mdf_value *w;
    bool is_behind;
    size_t rank, rows, columns, n; /* axes before the matrices; w's sizes; lines that are summed over */
    const int64_t *shape;          /* of those axes */
    const int64_t *x_strides, *w_strides;
};

/* Adds what matrix x times, or by, matrix g gives to the sums of one matrix of w. */
static void add_product(const struct products *products, const double *x, const double *g, double *sums)
{
    for (size_t row = 0; row < products->rows; row++) {
        for (size_t column = 0; column < products->columns; column++) {
            for (size_t i = 0; i < products->n; i++) {
                sums[row * products->columns + column] += products->is_behind
                                                              ? x[i * products->rows + row] * g[i * products->columns + column]
                                                              : g[row * products->n + i] * x[column * products->n + i];
            }
        }
    }
}

/* All matrices of an item. */
static void add_products(const struct products *products, const double *x, const double *g, double *sums, size_t n_matrices)
{
    for (size_t i = 0; i < n_matrices; i++) {
        size_t rest = i, x_at = 0, w_at = 0;

        for (size_t axis = products->rank; axis-- > 0;) {
            size_t index = rest % (size_t)products->shape[axis];

            x_at += index * (size_t)products->x_strides[axis];
            w_at += index * (size_t)products->w_strides[axis];
            rest /= (size_t)products->shape[axis];
        }
        add_product(products, x + x_at * products->n * (products->is_behind ? products->rows : products->columns),
                    g + i * products->n * (products->is_behind ? products->columns : products->rows),
                    sums + w_at * products->rows * products->columns);
    }
}

/* How matrices of a value with n axes before them (the last ones of `rank`) are told: 0 along those that it has not, or of
 * size 1. */
static void find_matrix_strides(const int64_t *shape, size_t n, size_t rank, int64_t *strides)
{
    int64_t stride = 1;

    memset(strides, 0, rank * sizeof *strides);
    for (size_t k = 0; k < n; k++) {
        strides[rank - 1 - k] = shape[n - 1 - k] == 1 ? 0 : stride;
        stride *= shape[n - 1 - k];
    }
}

/* "x g w is_behind": the sum of what each item of g, the gradient of the product of an item of x by w, hands back to w, which has
 * three axes or more and stands behind or before x. */
static bool run_products(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_python_input_array(call, 0, SLOT_FIRST), *g = mdf_python_input_array(call, 1, SLOT_SECOND),
                           *w = mdf_python_input_array(call, 2, SLOT_THIRD);
    struct products products = {.w = w};
    struct mdf_memory *memory = call->context->memory;
    double *xs, *gs, *sums;
    int64_t *strides;
    size_t n_items, n_x, n_g, x_axes;
    mdf_dtype dtype;
    void *target;

    if (x == NULL || g == NULL || w == NULL || !mdf_python_truth(call, 3, true, &products.is_behind)) {
        return false;
    }
    target = make_gradient(call, g, w, &dtype);
    if (target == NULL || x->length == 0 || g->length == 0 || is_declared_whole(w)) {
        return target != NULL && mdf_elements_fill(call, dtype, target, w->length, NULL);
    }
    n_items = (size_t)shape_of(x)[0];
    n_x = x->length / n_items;
    n_g = g->length / n_items;
    x_axes = x->rank > 3 ? x->rank - 3u : 0;
    products.rows = (size_t)shape_of(w)[w->rank - 2];
    products.columns = (size_t)shape_of(w)[w->rank - 1];
    products.n = x->rank == 2 ? 1 : (size_t)shape_of(x)[x->rank - (products.is_behind ? 2 : 1)];
    products.rank = g->rank - (x->rank == 2 ? 2u : 3u);
    products.shape = shape_of(g) + 1;
    strides = mdf_python_sizes(call, SLOT_SIZES, 2 * products.rank);
    xs = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_FLOAT64, x->length + g->length + w->length);
    if (strides == NULL || xs == NULL) {
        return false;
    }
    gs = xs + x->length;
    sums = gs + g->length;
    if (!mdf_value_convert_elements(memory, MDF_DTYPE_FLOAT64, xs, (mdf_dtype)x->dtype, x->data, x->length, false) ||
        !mdf_value_convert_elements(memory, MDF_DTYPE_FLOAT64, gs, (mdf_dtype)g->dtype, g->data, g->length, false)) {
        return mdf_call_out_of_memory(call);
    }
    find_matrix_strides(shape_of(x) + 1, x_axes, products.rank, strides);
    find_matrix_strides(shape_of(w), w->rank - 2u, products.rank, strides + products.rank);
    products.x_strides = strides;
    products.w_strides = strides + products.rank;
    memset(sums, 0, w->length * sizeof *sums);
    for (size_t i = 0; i < n_items; i++) {
        add_products(&products, xs + i * n_x, gs + i * n_g, sums,
                     n_g / products.n / (products.is_behind ? products.columns : products.rows));
    }
    return mdf_value_convert_elements(memory, dtype, target, MDF_DTYPE_FLOAT64, sums, w->length, false);
}

/* "a swap": its last two axes change places where `swap` is true. */
static bool run_turn(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);
    int64_t *shape;
    char *target;
    bool swap;

    if (a == NULL || !mdf_python_truth(call, 1, true, &swap)) {
        return false;
    }
    shape = mdf_python_sizes(call, SLOT_SIZES, a->rank);
    if (shape == NULL || !swap || a->rank < 2) {
        return shape != NULL && mdf_python_copy(call, mdf_call_target(call, 0), a);
    }
    memcpy(shape, shape_of(a), a->rank * sizeof *shape);
    shape[a->rank - 2] = shape_of(a)[a->rank - 1];
    shape[a->rank - 1] = shape_of(a)[a->rank - 2];
    target = mdf_python_make_like(call, mdf_call_target(call, 0), a, a->rank, shape);
    if (target != NULL) {
        turn_matrices(a, target);
    }
    return target != NULL;
}

static const struct mdf_fold sum_to_fit = {.way = &mdf_fold_ways[MDF_FOLD_WAY_sum],
                                           .totals = MDF_FOLD_WIDE,
                                           .order = MDF_FOLD_LANES,
                                           .after = MDF_ELEMENT(kept),
                                           .fits = true,
                                           .axes = find_axes_to_fit};

/* Inputs of which only the form counts, as sets. */
enum { FIRST = 1, SECOND = 2, THIRD = 4 };

/* In rules for products: a stack of x, or of products, as matrices; the products of such by w, which stands behind or before. */
#define AS_ITEMS(what) "gradient.items(" what ", x0, x2, x3)"
#define OF_ITEMS(items, w) "(numpy.matmul(" items ", " w ") if x3 else numpy.matmul(" w ", " items "))"

const struct mdf_operator mdf_operators_python_gradients[] = {
    MDF_FUNCTION("gradient.numbers", run_numbers, 0, "a", .derivatives = mdf_derivatives_flat, .by_form = FIRST),
    MDF_FUNCTION("gradient.no_numbers", run_no_numbers, 0, "a", .derivatives = mdf_derivatives_flat, .by_form = FIRST),
    MDF_FUNCTION("gradient.send_back", run_send_back, 0, "g numbers like",
                 .derivatives = MDF_DERIVATIVES({0, "numpy.reshape(gradient.take(dy, x1), x0.shape)"}, {MDF_DERIVATIVE_ANY, NULL}),
                 .move = MDF_MOVE(1, .zeros = true, .promotes = true), .by_form = THIRD),
    MDF_FUNCTION("gradient.take", run_take, 0, "a numbers", .derivatives = MDF_DERIVATIVES({0, "gradient.send_back(dy, x1, x0)"}),
                 .move = MDF_MOVE(1, .zeros = true)),
    MDF_FUNCTION("gradient.sum_to", run_sum_to, 0, "g like",
                 .derivatives = MDF_DERIVATIVES({0, "gradient.sum_to(dy, x1) + numpy.zeros_like(x0)"}, {MDF_DERIVATIVE_ANY, NULL}),
                 .fold = &sum_to_fit, .by_form = SECOND),
    MDF_FUNCTION("gradient.spread", run_spread, 0, "g a axes= none_is_all=", .move = MDF_MOVE(1), .by_form = SECOND,
                 .derivatives = MDF_DERIVATIVES({0, "gradient.sum_to(dy, gradient.kept(x1, x2, x3 if x3 is not None else True))"},
                                                {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("gradient.kept", run_kept, 0, "a axes= none_is_all=", .derivatives = mdf_derivatives_flat, .by_form = FIRST),
    MDF_FUNCTION("gradient.axes_from", run_axes_from, 0, "a first", .derivatives = mdf_derivatives_flat, .by_form = FIRST),
    MDF_FUNCTION("gradient.row", run_row, 0, "a", .derivatives = mdf_derivatives_reshaped, .move = MDF_MOVE(1, .in_order = true)),
    MDF_FUNCTION("gradient.column", run_column, 0, "a", .derivatives = mdf_derivatives_reshaped,
                 .move = MDF_MOVE(1, .in_order = true)),
    MDF_FUNCTION("gradient.product_of_matrices", run_product_of_matrices, 0, "g a b", .derivatives = mdf_derivatives_reshaped,
                 .move = MDF_MOVE(1, .in_order = true), .by_form = SECOND | THIRD),
    MDF_FUNCTION("gradient.without_column", run_without_column, 0, "g a", .derivatives = mdf_derivatives_reshaped,
                 .move = MDF_MOVE(1, .in_order = true), .by_form = SECOND),
    MDF_FUNCTION("gradient.lines", run_lines, 0, "a w how", .move = MDF_MOVE(1), .by_form = SECOND),
    MDF_FUNCTION("gradient.products", run_products, 0, "x g w is_behind",
                 .derivatives =
                     MDF_DERIVATIVES({0, "numpy.reshape(gradient.sum_to(" OF_ITEMS(
                                             AS_ITEMS("x1"), "gradient.turn(dy, True)") ", " AS_ITEMS("x0") "), x0.shape)"},
                                     {1, "numpy.reshape(" OF_ITEMS(AS_ITEMS("x0"), "dy") ", x1.shape)"}, {2, NULL}),
                 .by_form = THIRD),
    MDF_FUNCTION("gradient.item", run_item, 0, "g i", .move = MDF_MOVE(1)),
    MDF_FUNCTION("gradient.vector", run_vector, 0, "v like", .derivatives = mdf_derivatives_flat,
                 .move = MDF_MOVE(1, .promotes = true), .by_form = SECOND),
    MDF_FUNCTION("gradient.as_real", run_as_real, 0, "a", .derivatives = MDF_DERIVATIVES({0, "dy"}),
                 .move = MDF_MOVE(1, .in_order = true)),
    MDF_FUNCTION("gradient.typed", run_typed, 0, "a", .derivatives = MDF_DERIVATIVES({0, "dy"}),
                 .move = MDF_MOVE(1, .in_order = true)),
    MDF_FUNCTION("gradient.turn", run_turn, 0, "a swap", .derivatives = MDF_DERIVATIVES({0, "gradient.turn(dy, x1)"}),
                 .move = MDF_MOVE(1)),
    {NULL}};
