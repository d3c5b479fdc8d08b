/* gradient_places.c - more of what the rules for derivatives need (see gradients.c): where elements lie that indices name, stacks
 * of products, functions of one number.
 *
 * Comes in: arrays and indices. Goes out: numbers of elements, from 1 on, as gradient.take and gradient.send_back have them. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/python/python_values.h"

#include <math.h>
#include <string.h>

enum { SLOT_FIRST = MDF_SLOT_OWN, SLOT_SECOND, SLOT_THIRD, SLOT_SIZES };

/* "a indices axis=": the number of the element of `a` that each index names along an axis, at the index's own place on the
 * others; no axis: of `a` as a row. */
static bool run_along(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST), *indices = mdf_call_tensor(call, 1);
    const int64_t *items;
    int64_t given = 0, *numbers, inner = 1, n, n_indices;
    size_t axis = 0, n_items = 0;
    bool is_row = mdf_python_given(call, 2) == NULL;

    items = a != NULL && indices != NULL ? mdf_call_integers(call, 1, MDF_SCRATCH_AXES, &n_items) : NULL;
    if (items == NULL || (!is_row && (!mdf_python_integer(call, 2, 0, &given) || !mdf_call_axis(call, given, a->rank, &axis)))) {
        return false;
    }
    if (!is_row && a->rank != indices->rank) {
        return mdf_call_error(call, MDF_SHAPE, "indices of rank %u do not fit rank %u", indices->rank, a->rank);
    }
    for (size_t i = axis + 1; !is_row && i < a->rank; i++) {
        inner *= mdf_value_shape(a)[i];
    }
    n = is_row ? (int64_t)a->length : mdf_value_shape(a)[axis];
    n_indices = is_row ? (int64_t)n_items : mdf_value_shape(indices)[axis];
    numbers = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, indices->rank,
                              mdf_value_shape(indices));
    for (size_t i = 0; numbers != NULL && i < n_items; i++) {
        int64_t at = items[i] < 0 ? items[i] + n : items[i];

        if (at < 0 || at >= n) {
            return mdf_call_error(call, MDF_VALUE, "there is no element %lld", (long long)items[i]);
        }
        numbers[i] = 1 + ((int64_t)i / inner / n_indices * n + at) * inner + (int64_t)i % inner;
    }
    return numbers != NULL;
}

/* "a x w is_behind": items of x, or of the products of those by w, as matrices with as many axes before them as the products
 * have: a stack of vectors as one of matrices of one row (w stands behind them) or column. */
static bool run_items(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST), *x = mdf_python_input_array(call, 1, SLOT_SECOND),
                           *w = mdf_python_input_array(call, 2, SLOT_THIRD);
    size_t rank, n_more, n;
    bool is_behind, is_vector;
    int64_t *shape;

    if (a == NULL || x == NULL || w == NULL || !mdf_python_truth(call, 3, true, &is_behind)) {
        return false;
    }
    is_vector = x->rank == 2;
    n = (size_t)a->rank + is_vector;
    rank = is_vector || x->rank - 1u < w->rank ? w->rank + 1u : x->rank;
    if (a->rank < 2 || rank < n) {
        return mdf_call_error(call, MDF_SHAPE, "stacks of rank %u and %u do not fit", a->rank, x->rank);
    }
    n_more = rank - n;
    shape = mdf_python_sizes(call, SLOT_SIZES, rank);
    for (size_t i = 0, from = 0; shape != NULL && i < rank; i++) {
        bool is_new = (i > 0 && i <= n_more) || (is_vector && i == rank - (is_behind ? 2 : 1));

        shape[i] = is_new ? 1 : mdf_value_shape(a)[from++];
    }
    return shape != NULL && mdf_python_reshape(call, mdf_call_target(call, 0), a, rank, shape);
}

/* "a": zeros in its shape and type; the number 0 where it is nothing: no arm of a condition has written it. */
static bool run_zeros(struct mdf_call *call)
{
    const struct mdf_value *a = call->inputs[0]->kind != MDF_KIND_NONE ? mdf_python_input_array(call, 0, SLOT_FIRST) : NULL;
    void *target;

    if (call->inputs[0]->kind == MDF_KIND_NONE) {
        return mdf_value_make_double(call->context->memory, mdf_call_target(call, 0), 0.0) || mdf_call_out_of_memory(call);
    }
    target = a != NULL ? mdf_python_make_like(call, mdf_call_target(call, 0), a, a->rank, mdf_value_shape(a)) : NULL;
    return target != NULL && mdf_elements_fill(call, (mdf_dtype)a->dtype, target, a->length, NULL);
}

/* "what": an error. */
static bool run_refuse(struct mdf_call *call)
{
    const struct mdf_value *what = call->inputs[0];

    return mdf_call_error(call, MDF_UNSUPPORTED, "there is no derivative of %s",
                          what->kind == MDF_KIND_TENSOR && what->dtype == MDF_DTYPE_STRING ? *(char *const *)what->data : "this");
}

/* The derivative of lgamma: for large x by its expansion, of small ones by psi(x) = psi(x + 1) - 1 / x, of negative ones by
 * reflection. Source: Abramowitz and Stegun, 6.3. */
static double digamma(double x)
{
    double sum = 0, square;

    if (x <= 0) {
        return x == floor(x) ? (double)NAN : digamma(1 - x) - M_PI / tan(M_PI * x);
    }
    for (; x < 10; x++) {
        sum -= 1 / x;
    }
    square = 1 / (x * x);
    return sum + log(x) - 0.5 / x -
           square * (1.0 / 12 -
                     square * (1.0 / 120 -
                               square * (1.0 / 252 - square * (1.0 / 240 - square * (1.0 / 132 - square * (691.0 / 32760))))));
}

/* The derivative of that. */
static double trigamma(double x)
{
    double sum = 0, square;

    if (x <= 0) {
        double sine = sin(M_PI * x);

        return x == floor(x) ? (double)NAN : M_PI * M_PI / (sine * sine) - trigamma(1 - x);
    }
    for (; x < 10; x++) {
        sum += 1 / (x * x);
    }
    square = 1 / (x * x);
    return sum + 1 / x + square / 2 +
           square / x *
               (1.0 / 6 -
                square * (1.0 / 30 - square * (1.0 / 42 - square * (1.0 / 30 - square * (5.0 / 66 - square * (691.0 / 2730))))));
}

static bool run_digamma(struct mdf_call *call)
{
    return mdf_python_run_real(call, digamma);
}

static bool run_trigamma(struct mdf_call *call)
{
    return mdf_python_run_real(call, trigamma);
}

enum { FIRST = 1, SECOND = 2, THIRD = 4 };

const struct mdf_operator mdf_operators_python_gradient_places[] = {
    MDF_FUNCTION("gradient.along", run_along, 0, "a indices axis=", .derivatives = mdf_derivatives_flat, .by_form = FIRST),
    MDF_FUNCTION("gradient.items", run_items, 0, "a x w is_behind", .derivatives = mdf_derivatives_reshaped,
                 .move = MDF_MOVE(1, .in_order = true), .by_form = SECOND | THIRD),
    MDF_FUNCTION("gradient.zeros", run_zeros, 0, "a", .derivatives = mdf_derivatives_flat, .by_form = FIRST),
    MDF_FUNCTION("gradient.refuse", run_refuse, 0, "what", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("gradient.digamma", run_digamma, 0, "x", .derivatives = MDF_DERIVATIVES({0, "dy * gradient.trigamma(x0)"})),
    MDF_FUNCTION("gradient.trigamma", run_trigamma, 0, "x"),
    {NULL}};
