/* numpy_products.c - see numpy_products.h: matmul dot inner tensordot kron cross convolve correlate.
 *
 * All sums of products go through the matrix product that the heavy operators share. Source: numpy 2.4, "Linear algebra". */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element.h"
#include "functions/products/gemm/gemm.h"
#include "functions/python/numpy/numpy_arrange.h"
#include "functions/python/numpy/numpy_products.h"
#include "functions/python/numpy/numpy_reduce.h"
#include "functions/python/ufunc.h"

#include <string.h>

enum { SLOT_LEFT = MDF_SLOT_OWN, SLOT_RIGHT, SLOT_SHAPE, SLOT_PRODUCT, SLOT_OTHER_PRODUCT, SLOT_ORDER };

/* ------------------------------------------------------------------ matmul */

/* The product of operands of one type, in a call inside this one. */
static bool multiply_matrices(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *const operands[2])
{
    struct mdf_value *slots = mdf_python_slots(call), *const outputs[1] = {target};
    struct mdf_call inner = *call;

    if (slots == NULL) {
        return false;
    }
    inner.inputs = operands;
    inner.n_inputs = 2;
    inner.outputs = outputs;
    inner.n_outputs = 1;
    inner.scratch = &slots[MDF_SLOT_INNER_CALL];
    return mdf_matmul(&inner);
}

bool mdf_numpy_matmul(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    const struct mdf_value *operands[2] = {a, b};
    bool typed = a->strength == MDF_STRENGTH_TYPED || b->strength == MDF_STRENGTH_TYPED;
    mdf_dtype dtype = mdf_ufunc_shared_dtype(call, 2, operands), computed = dtype == MDF_DTYPE_BOOL ? MDF_DTYPE_INT64 : dtype;
    struct mdf_python_type type = {MDF_DTYPE_BOOL, typed};
    struct mdf_value *slots = mdf_python_slots(call), *product;
    size_t i;

    if (slots == NULL || dtype == MDF_DTYPE_NONE || dtype == MDF_DTYPE_STRING || mdf_dtype_kind(dtype) == 'c') {
        return slots != NULL && dtype != MDF_DTYPE_NONE && mdf_python_refuse(call, a, b);
    }
    for (i = 0; i < 2; i++) {
        operands[i] = mdf_python_array_of(call, operands[i], computed, MDF_SLOT_OPERANDS + i);
        if (operands[i] == NULL) {
            return false;
        }
    }
    product = dtype == MDF_DTYPE_BOOL ? &slots[SLOT_OTHER_PRODUCT] : target;
    if (!multiply_matrices(call, product, operands)) {
        return false;
    }
    product->strength = (uint8_t)(typed ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL);
    return product == target || mdf_python_convert(call, target, product, type);
}

/* Inputs 0 and 1 as arrays. */
static bool read_pair(struct mdf_call *call, const struct mdf_value *pair[2])
{
    pair[0] = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    pair[1] = pair[0] == NULL ? NULL : mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS + 1);
    return pair[1] != NULL;
}

static bool run_matmul(struct mdf_call *call)
{
    const struct mdf_value *pair[2];

    return read_pair(call, pair) && mdf_numpy_matmul(call, mdf_call_target(call, 0), pair[0], pair[1]);
}

/* "@" is not for Python's own values. */
static bool run_matmul_operator(struct mdf_call *call)
{
    const struct mdf_value *a = call->inputs[0], *b = call->inputs[1];
    bool a_is_array = a->kind == MDF_KIND_TENSOR && !mdf_python_is_number(a),
         b_is_array = b->kind == MDF_KIND_TENSOR && !mdf_python_is_number(b);

    return a_is_array || b_is_array ? run_matmul(call) : mdf_python_refuse(call, a, b);
}

/* ------------------------------------------------------------------ dot and its like */

static bool multiply_elements(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a,
                              const struct mdf_value *b)
{
    const struct mdf_value *operands[2] = {a, b};

    return mdf_ufunc_apply(call, target, &mdf_ufunc_multiply, operands, NULL);
}

/* Slot `slot` becomes a matrix of `rows` rows of the array whose axes stand in `order` (NULL: as they are). */
static bool make_matrix(struct mdf_call *call, size_t slot, const struct mdf_value *array, const int64_t *order, size_t rows)
{
    struct mdf_value *slots = mdf_python_slots(call), *ordered = &slots[SLOT_OTHER_PRODUCT];
    int64_t shape[2] = {(int64_t)rows, rows > 0 ? (int64_t)(array->length / rows) : 0};

    if (order != NULL) {
        if (!mdf_numpy_transpose(call, ordered, array, order)) {
            return false;
        }
        array = ordered;
    }
    return mdf_python_reshape(call, &slots[slot], array, 2, shape);
}

/* Axes of a contraction: which of an operand are summed over. */
struct contraction {
    const int64_t *a_axes, *b_axes;
    size_t n;
};

static bool is_summed(const int64_t *axes, size_t n, size_t axis)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (axes[i] == (int64_t)axis) {
            return true;
        }
    }
    return false;
}

/* Writes the axes that are not summed over; their number, and the product of their sizes. */
static size_t list_free_axes(const struct mdf_value *array, const int64_t *axes, size_t n, int64_t *free, size_t *product)
{
    size_t n_free = 0, axis;

    *product = 1;
    for (axis = 0; axis < array->rank; axis++) {
        if (!is_summed(axes, n, axis)) {
            free[n_free++] = (int64_t)axis;
            *product *= (size_t)mdf_value_shape(array)[axis];
        }
    }
    return n_free;
}

/* Checks that the summed axes have equal sizes; the product of the sizes. */
static bool measure_sum(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b,
                        const struct contraction *axes, size_t *k)
{
    char a_text[MDF_PYTHON_KIND_TEXT_SIZE], b_text[MDF_PYTHON_KIND_TEXT_SIZE];
    size_t i;

    *k = 1;
    for (i = 0; i < axes->n; i++) {
        if (mdf_value_shape(a)[axes->a_axes[i]] != mdf_value_shape(b)[axes->b_axes[i]]) {
            mdf_value_describe(a, a_text, sizeof a_text);
            mdf_value_describe(b, b_text, sizeof b_text);
            return mdf_call_error(call, MDF_SHAPE, "the sizes of summed axes differ: axis %lld of %s, axis %lld of %s",
                                  (long long)axes->a_axes[i], a_text, (long long)axes->b_axes[i], b_text);
        }
        *k *= (size_t)mdf_value_shape(a)[axes->a_axes[i]];
    }
    return true;
}

/* Output 0 becomes the sum of products over pairs of axes; its axes are the free ones of a, then those of b. */
static bool contract(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, const struct contraction *axes)
{
    struct mdf_value *slots = mdf_python_slots(call);
    int64_t *order = mdf_python_sizes(call, SLOT_ORDER, a->rank + b->rank),
            *shape = mdf_python_sizes(call, SLOT_SHAPE, a->rank + b->rank);
    size_t n_free, n_own, m, n, k, i;

    if (order == NULL || shape == NULL || !measure_sum(call, a, b, axes, &k)) {
        return false;
    }
    n_free = list_free_axes(a, axes->a_axes, axes->n, order, &m);
    for (i = 0; i < n_free; i++) {
        shape[i] = mdf_value_shape(a)[order[i]];
    }
    memcpy(order + n_free, axes->a_axes, axes->n * sizeof *order);
    if (!make_matrix(call, SLOT_LEFT, a, order, m)) {
        return false;
    }
    n_own = list_free_axes(b, axes->b_axes, axes->n, order + axes->n, &n);
    memcpy(order, axes->b_axes, axes->n * sizeof *order);
    for (i = 0; i < n_own; i++) {
        shape[n_free + i] = mdf_value_shape(b)[order[axes->n + i]];
    }
    if (!make_matrix(call, SLOT_RIGHT, b, order, k)) {
        return false;
    }
    if (m == 0 || k == 0) { /* sizes that a matrix without elements does not show */
        int64_t left[2] = {(int64_t)m, (int64_t)k}, right[2] = {(int64_t)k, (int64_t)n};

        if (mdf_python_make(call, &slots[SLOT_LEFT], (mdf_dtype)a->dtype, (enum mdf_strength)a->strength, 2, left) == NULL ||
            mdf_python_make(call, &slots[SLOT_RIGHT], (mdf_dtype)b->dtype, (enum mdf_strength)b->strength, 2, right) == NULL) {
            return false;
        }
        memset(slots[SLOT_LEFT].data, 0, slots[SLOT_LEFT].length * mdf_dtype_size((mdf_dtype)a->dtype));
        memset(slots[SLOT_RIGHT].data, 0, slots[SLOT_RIGHT].length * mdf_dtype_size((mdf_dtype)b->dtype));
    }
    return mdf_numpy_matmul(call, &slots[SLOT_PRODUCT], &slots[SLOT_LEFT], &slots[SLOT_RIGHT]) &&
           mdf_python_reshape(call, mdf_call_target(call, 0), &slots[SLOT_PRODUCT], n_free + n_own, shape);
}

/* numpy.dot: over the last axis of a and the last but one of b. */
static bool run_dot(struct mdf_call *call)
{
    const struct mdf_value *pair[2];
    int64_t a_axis, b_axis;
    struct contraction axes = {&a_axis, &b_axis, 1};

    if (!read_pair(call, pair)) {
        return false;
    }
    if (pair[0]->rank == 0 || pair[1]->rank == 0) {
        return multiply_elements(call, mdf_call_target(call, 0), pair[0], pair[1]);
    }
    if (pair[1]->rank <= 2) {
        return mdf_numpy_matmul(call, mdf_call_target(call, 0), pair[0], pair[1]);
    }
    a_axis = (int64_t)pair[0]->rank - 1;
    b_axis = (int64_t)pair[1]->rank - 2;
    return contract(call, pair[0], pair[1], &axes);
}

/* numpy.inner: over the last axes of both. */
static bool run_inner(struct mdf_call *call)
{
    const struct mdf_value *pair[2];
    int64_t a_axis, b_axis;
    struct contraction axes = {&a_axis, &b_axis, 1};

    if (!read_pair(call, pair)) {
        return false;
    }
    if (pair[0]->rank == 0 || pair[1]->rank == 0) {
        return multiply_elements(call, mdf_call_target(call, 0), pair[0], pair[1]);
    }
    a_axis = (int64_t)pair[0]->rank - 1;
    b_axis = (int64_t)pair[1]->rank - 1;
    return contract(call, pair[0], pair[1], &axes);
}

/* Reads axes of one operand of tensordot: a number or a list, made non-negative, kept in the slots of sizes. */
static bool read_summed(struct mdf_call *call, const struct mdf_value *given, const struct mdf_value *array, size_t slot,
                        const int64_t **axes, size_t *n)
{
    const struct mdf_value *numbers = mdf_python_array_of(call, given, MDF_DTYPE_INT64, MDF_SLOT_OPERANDS + 2);
    int64_t *own = numbers == NULL ? NULL : mdf_python_sizes(call, slot, numbers->length);
    size_t i, at;

    if (own == NULL) {
        return false;
    }
    for (i = 0; i < numbers->length; i++) {
        if (!mdf_call_axis(call, ((const int64_t *)numbers->data)[i], array->rank, &at)) {
            return false;
        }
        if (is_summed(own, i, at)) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu is named twice", at);
        }
        own[i] = (int64_t)at;
    }
    *axes = own;
    *n = numbers->length;
    return true;
}

/* "a b axes=": a number of axes (the last of a, the first of b), or two lists of axes. */
static bool run_tensordot(struct mdf_call *call)
{
    enum { SLOT_A_AXES = SLOT_PRODUCT, SLOT_B_AXES = SLOT_ORDER + 1 };
    const struct mdf_value *pair[2], *given = mdf_python_given(call, 2);
    struct contraction axes;
    int64_t n = 2, *own, i;
    size_t n_b;

    if (!read_pair(call, pair)) {
        return false;
    }
    if (given != NULL && given->kind == MDF_KIND_LIST && given->length == 2) {
        if (!read_summed(call, &mdf_value_items(given)[0], pair[0], SLOT_A_AXES, &axes.a_axes, &axes.n) ||
            !read_summed(call, &mdf_value_items(given)[1], pair[1], SLOT_B_AXES, &axes.b_axes, &n_b)) {
            return false;
        }
        return axes.n == n_b ? contract(call, pair[0], pair[1], &axes)
                             : mdf_call_error(call, MDF_SHAPE, "%zu axes for %zu axes", axes.n, n_b);
    }
    if (!mdf_python_integer(call, 2, 2, &n)) {
        return false;
    }
    if (n < 0 || n > (int64_t)pair[0]->rank || n > (int64_t)pair[1]->rank) {
        return mdf_call_error(call, MDF_VALUE, "%lld axes of arrays of ranks %zu and %zu", (long long)n, (size_t)pair[0]->rank,
                              (size_t)pair[1]->rank);
    }
    own = mdf_python_sizes(call, SLOT_B_AXES, 2 * (size_t)n);
    for (i = 0; own != NULL && i < n; i++) {
        own[i] = (int64_t)pair[0]->rank - n + i;
        own[n + i] = i;
    }
    axes = (struct contraction){own, own == NULL ? NULL : own + n, (size_t)n};
    return own != NULL && contract(call, pair[0], pair[1], &axes);
}

/* numpy.kron: each element of a times the whole of b. */
static bool run_kron(struct mdf_call *call)
{
    const struct mdf_value *pair[2];
    struct mdf_value *slots = mdf_python_slots(call);
    size_t rank, axis;
    int64_t *shape;

    if (slots == NULL || !read_pair(call, pair)) {
        return false;
    }
    rank = pair[0]->rank > pair[1]->rank ? pair[0]->rank : pair[1]->rank;
    shape = mdf_python_sizes(call, SLOT_SHAPE, 5 * rank);
    if (shape == NULL) {
        return false;
    }
    for (axis = 0; axis < rank; axis++) {
        int64_t a = axis + pair[0]->rank < rank ? 1 : mdf_value_shape(pair[0])[axis + pair[0]->rank - rank];
        int64_t b = axis + pair[1]->rank < rank ? 1 : mdf_value_shape(pair[1])[axis + pair[1]->rank - rank];

        shape[rank + 2 * axis] = a;
        shape[rank + 2 * axis + 1] = shape[3 * rank + 2 * axis] = 1;
        shape[3 * rank + 2 * axis + 1] = b;
        if (__builtin_mul_overflow(a, b, &shape[axis])) {
            return mdf_call_error(call, MDF_LIMIT, "the result would have more elements than any memory");
        }
    }
    return mdf_python_reshape(call, &slots[SLOT_LEFT], pair[0], 2 * rank, shape + rank) &&
           mdf_python_reshape(call, &slots[SLOT_RIGHT], pair[1], 2 * rank, shape + 3 * rank) &&
           multiply_elements(call, &slots[SLOT_PRODUCT], &slots[SLOT_LEFT], &slots[SLOT_RIGHT]) &&
           mdf_python_reshape(call, mdf_call_target(call, 0), &slots[SLOT_PRODUCT], rank, shape);
}

/* ------------------------------------------------------------------ cross, trace */

/* Slot `slot` becomes an array of triples with each turned by `shift`. */
static bool turn_triples(struct mdf_call *call, size_t slot, const struct mdf_value *array, size_t shift)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    void *elements = mdf_python_make(call, &mdf_python_slots(call)[slot], dtype, (enum mdf_strength)array->strength, array->rank,
                                     mdf_value_shape(array));
    size_t i;

    for (i = 0; elements != NULL && i < array->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        size_t from = i - i % 3 + (i % 3 + shift) % 3;

        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, i), mdf_element_at(dtype, array->data, from), 1);
    }
    return elements != NULL;
}

/* numpy.cross of triples in the last axes. */
static bool run_cross(struct mdf_call *call)
{
    const struct mdf_value *pair[2], *operands[2];
    struct mdf_value *slots = mdf_python_slots(call);
    size_t i;

    if (slots == NULL || !read_pair(call, pair)) {
        return false;
    }
    for (i = 0; i < 2; i++) {
        if (pair[i]->rank == 0 || mdf_value_shape(pair[i])[pair[i]->rank - 1] != 3) {
            return mdf_call_error(call, MDF_SHAPE, "the last axis is not of size 3");
        }
    }
    operands[0] = &slots[SLOT_PRODUCT];
    operands[1] = &slots[SLOT_OTHER_PRODUCT];
    return turn_triples(call, SLOT_LEFT, pair[0], 1) && turn_triples(call, SLOT_RIGHT, pair[1], 2) &&
           multiply_elements(call, &slots[SLOT_PRODUCT], &slots[SLOT_LEFT], &slots[SLOT_RIGHT]) && read_pair(call, pair) &&
           turn_triples(call, SLOT_LEFT, pair[0], 2) && turn_triples(call, SLOT_RIGHT, pair[1], 1) &&
           multiply_elements(call, &slots[SLOT_OTHER_PRODUCT], &slots[SLOT_LEFT], &slots[SLOT_RIGHT]) &&
           mdf_ufunc_apply(call, mdf_call_target(call, 0), &mdf_ufunc_subtract, operands, NULL);
}

/* ------------------------------------------------------------------ convolve, correlate */

/* Part [first, last) of the whole convolution that a mode asks for. */
static bool read_mode(struct mdf_call *call, const char *otherwise, int64_t n, int64_t m, int64_t *first, int64_t *last)
{
    const struct mdf_value *given = mdf_python_given(call, 2);
    int64_t longer = n > m ? n : m, shorter = n > m ? m : n;
    size_t length;
    const char *mode = given == NULL ? otherwise : mdf_python_text(given, &length);

    if (strcmp(mode, "full") == 0) {
        *first = 0;
        *last = n + m - 1;
    } else if (strcmp(mode, "same") == 0) {
        *first = (shorter - 1) / 2;
        *last = *first + longer;
    } else if (strcmp(mode, "valid") == 0) {
        *first = shorter - 1;
        *last = longer;
    } else {
        return mdf_call_error(call, MDF_VALUE, "the mode is 'full', 'same' or 'valid', not '%.80s'", mode);
    }
    return true;
}

enum { SUMS_BETWEEN_LOOKS = 8 }; /* for a request to stop: a sum may have millions of terms */

/* Elements [first, last) of the convolution of rows a and b, b taken backward where `turned`. */
#define CONVOLVE(name, type, wide)                                                                                       \
    static void name(const struct mdf_context *context, const type *a, int64_t n, const type *b, int64_t m, bool turned, \
                     int64_t first, int64_t last, type *results)                                                         \
    {                                                                                                                    \
        for (int64_t i = first; i < last && !mdf_should_stop_at(context, (size_t)i, SUMS_BETWEEN_LOOKS); i++) {          \
            wide sum = 0;                                                                                                \
                                                                                                                         \
            for (int64_t k = i < m ? 0 : i - m + 1; k < n && k <= i; k++) {                                              \
                sum += (wide)a[k] * (wide)b[turned ? m - 1 - (i - k) : i - k];                                           \
            }                                                                                                            \
            results[i - first] = (type)sum;                                                                              \
        }                                                                                                                \
    }

CONVOLVE(convolve_reals, double, double)
CONVOLVE(convolve_integers, int64_t, uint64_t)

static bool convolve(struct mdf_call *call, bool turned, const char *mode)
{
    const struct mdf_value *pair[2];
    struct mdf_value *slots = mdf_python_slots(call);
    struct mdf_python_type type;
    int64_t first = 0, last = 0, n;
    mdf_dtype dtype, carrier;
    void *results;

    if (slots == NULL || !read_pair(call, pair)) {
        return false;
    }
    if (pair[0]->rank > 1 || pair[1]->rank > 1 || pair[0]->length == 0 || pair[1]->length == 0) {
        return mdf_call_error(call, MDF_SHAPE, "two rows with elements are needed");
    }
    dtype = mdf_ufunc_shared_dtype(call, 2, pair);
    if (dtype == MDF_DTYPE_NONE || !read_mode(call, mode, (int64_t)pair[0]->length, (int64_t)pair[1]->length, &first, &last)) {
        return false;
    }
    type.dtype = dtype;
    type.typed = pair[0]->strength == MDF_STRENGTH_TYPED || pair[1]->strength == MDF_STRENGTH_TYPED;
    carrier = mdf_dtype_kind(dtype) == 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    pair[0] = mdf_python_array_of(call, pair[0], carrier, MDF_SLOT_OPERANDS);
    pair[1] = pair[0] == NULL ? NULL : mdf_python_array_of(call, pair[1], carrier, MDF_SLOT_OPERANDS + 1);
    n = last - first;
    results = pair[1] == NULL ? NULL : mdf_python_make(call, &slots[SLOT_PRODUCT], carrier, MDF_STRENGTH_LITERAL, 1, &n);
    if (results == NULL) {
        return false;
    }
    if (carrier == MDF_DTYPE_FLOAT64) {
        convolve_reals(call->context, pair[0]->data, (int64_t)pair[0]->length, pair[1]->data, (int64_t)pair[1]->length, turned,
                       first, last, results);
    } else {
        convolve_integers(call->context, pair[0]->data, (int64_t)pair[0]->length, pair[1]->data, (int64_t)pair[1]->length, turned,
                          first, last, results);
    }
    return mdf_python_convert(call, mdf_call_target(call, 0), &slots[SLOT_PRODUCT], type);
}

static bool run_convolve(struct mdf_call *call)
{
    return convolve(call, false, "full");
}

static bool run_correlate(struct mdf_call *call)
{
    return convolve(call, true, "valid");
}

/* Of numbers, and of up to two axes, where it is a product of matrices; there is none of more: no item of a list of one. */
#define OF_DOT(of_number, of_matrices)                                                            \
    "(" of_number " if numpy.array(x0).ndim == 0 or numpy.array(x1).ndim == 0 else [" of_matrices \
    "][int(numpy.array(x1).ndim > 2)])"

/* Of convolutions: all products of `a` and what of `v`, or of that turned round, each meets; the result is in the middle of
 * these. */
#define CONVOLVED(v)                                                                                                             \
    .meaning = MDF_MEANING("result", NULL,                                                                                       \
                           {"apart", "numpy.expand_dims(numpy.arange(x0.size + x1.size - 1), 1) - numpy.arange(x0.size)", NULL}, \
                           {"met", "gradient.take(" v ", numpy.where((apart >= 0) & (apart < x1.size), apart + 1, 0))", NULL},   \
                           {"all", "numpy.matmul(met, x0)", NULL},                                                               \
                           {"result", "numpy.take(all, numpy.arange(y.size) + (all.size - y.size) // 2)", NULL})

const struct mdf_operator mdf_operators_python_numpy_products[] = {
    MDF_FUNCTION("operator.matmul", run_matmul_operator, 0, "a b", .derivatives = mdf_derivatives_matmul,
                 .form = MDF_FORM_MATMUL, .nodes = "MatMul(a, b)"),
    MDF_FUNCTION("numpy.matmul", run_matmul, 0, "x1 x2", .derivatives = mdf_derivatives_matmul, .form = MDF_FORM_MATMUL,
                 .nodes = "MatMul(a, b)"),
    MDF_FUNCTION("numpy.dot", run_dot, MDF_OPERATOR_METHOD, "a b", MDF_ELEMENT(dot), .form = MDF_FORM_DOT, .nodes = "MatMul(a, b)",
                 .derivatives = MDF_DERIVATIVES({0, OF_DOT("dy * x1", "numpy.matmul(gradient.product_of_matrices(dy, x0, x1), "
                                                                      "gradient.turn(gradient.column(x1), True))")},
                                                {1, OF_DOT("dy * x0", "gradient.without_column(numpy.matmul(gradient.turn("
                                                                      "gradient.row(x0), True), "
                                                                      "gradient.product_of_matrices(dy, x0, x1)), x1)")})),
    MDF_FUNCTION("numpy.inner", run_inner, 0, "a b",
                 .meaning =
                     MDF_MEANING("result", NULL,
                                 {"result",
                                  "x0 * x1 if x0.ndim == 0 or x1.ndim == 0 else numpy.reshape(numpy.matmul(numpy.reshape(x0, "
                                  "[-1, x0.shape[-1]]), numpy.transpose(numpy.reshape(x1, [-1, x1.shape[-1]]))), y.shape)",
                                  NULL})),
    MDF_FUNCTION(
        "numpy.tensordot", run_tensordot, 0, "a b axes=",
        .meaning = MDF_MEANING(
            "result", NULL, {"pair", "[[], []] if x2 is None else x2", NULL},
            {"n", "2 if x2 is None else int(x2) if numpy.asarray(x2).ndim == 0 else numpy.asarray(x2[0]).size", NULL},
            {"first",
             "x0 if x2 is None or numpy.asarray(x2).ndim == 0 else numpy.transpose(x0, [i for i in range(x0.ndim) if i not in "
             "[(j + x0.ndim) % x0.ndim for j in x2[0]]] + [(j + x0.ndim) % x0.ndim for j in x2[0]])",
             NULL},
            {"second",
             "x1 if x2 is None or numpy.asarray(x2).ndim == 0 else numpy.transpose(x1, [(j + x1.ndim) % x1.ndim for j in x2[1]] "
             "+ [i for i in range(x1.ndim) if i not in [(j + x1.ndim) % x1.ndim for j in x2[1]]])",
             NULL},
            {"size", "int(numpy.prod(numpy.array([1] + [second.shape[i] for i in range(n)])))", NULL},
            {"result",
             "numpy.reshape(numpy.matmul(numpy.reshape(first, [-1, size]), numpy.reshape(second, [size, -1])), y.shape)", NULL})),
    MDF_FUNCTION("numpy.kron", run_kron, 0, "a b",
                 .meaning =
                     MDF_MEANING("result", NULL, {"n", "y.ndim", NULL},
                                 {"a", "numpy.reshape(x0, [1] * (n - x0.ndim) + [s for s in x0.shape])", NULL},
                                 {"b", "numpy.reshape(x1, [1] * (n - x1.ndim) + [s for s in x1.shape])", NULL},
                                 {"result",
                                  "numpy.reshape(numpy.reshape(a, [a.shape[i // 2] if i % 2 == 0 else 1 for i in range(2 * n)]) "
                                  "* numpy.reshape(b, [b.shape[i // 2] if i % 2 == 1 else 1 for i in range(2 * n)]), y.shape)",
                                  NULL})),
    MDF_FUNCTION(
        "numpy.cross", run_cross, 0, "a b",
        .meaning = MDF_MEANING(
            "result", NULL,
            {"a", "x0 if x0.shape[-1] == 3 and x1.shape[-1] == 3 else gradient.refuse('products of vectors of two numbers')",
             NULL},
            {"result",
             "numpy.take(a, [1, 2, 0], -1) * numpy.take(x1, [2, 0, 1], -1) - numpy.take(a, [2, 0, 1], -1) * numpy.take(x1, [1, "
             "2, 0], -1)",
             NULL})),
    MDF_FUNCTION("numpy.convolve", run_convolve, 0, "a v mode=", CONVOLVED("x1")),
    MDF_FUNCTION("numpy.correlate", run_correlate, 0, "a v mode=", CONVOLVED("numpy.flip(x1)")),
    {NULL}};
