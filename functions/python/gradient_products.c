/* gradient_products.c - what the rules for derivatives of products of elements need (see gradients.c).
 *
 * Comes in: what is reduced, and along which axes. Goes out: for each element the product of the others; and how that changes. */
#include "functions/kernel/derivatives.h"
#include "functions/products/gemm/gemm.h"
#include "functions/python/gradients.h"
#include "functions/python/numpy/numpy_products.h"

#include <string.h>

enum { SLOT_FIRST = MDF_SLOT_OWN, SLOT_SECOND, SLOT_TURNED, SLOT_LINES };

static double number_at(const struct mdf_value *a, size_t i)
{
    return mdf_element_to_double((mdf_dtype)a->dtype, (const char *)a->data + i * mdf_dtype_size((mdf_dtype)a->dtype));
}

/* others[i] *= the product of what comes before element i among those of one result, from the front or from the back. */
static void multiply_others(const struct mdf_value *a, const int64_t *numbers, size_t n, bool is_backward, double *products,
                            double *others)
{
    for (size_t i = 0; i < n; i++) {
        products[i] = 1;
    }
    for (size_t k = 0; k < a->length; k++) {
        size_t i = is_backward ? a->length - 1 - k : k;
        double *product = &products[numbers[i] - 1];

        others[i] *= *product;
        *product *= number_at(a, i);
    }
}

/* "a axes none_is_all": for each element of `a`, which is reduced along axes, the product of the others of its result. */
static bool run_others(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST);
    size_t n = 0;
    const int64_t *numbers = a != NULL ? gradient_numbers_of_results(call, a, 1, &n) : NULL;
    double *others =
        numbers != NULL ? mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_FLOAT64, a->length + n) : NULL;
    mdf_dtype dtype;
    void *target;

    if (others == NULL) {
        return false;
    }
    if (mdf_dtype_kind((mdf_dtype)a->dtype) == 'c') {
        return mdf_call_error(call, MDF_UNSUPPORTED, "there are derivatives by real numbers only");
    }
    for (size_t i = 0; i < a->length; i++) {
        others[i] = 1;
    }
    multiply_others(a, numbers, n, false, others + a->length, others);
    multiply_others(a, numbers, n, true, others + a->length, others);
    dtype = mdf_dtype_kind((mdf_dtype)a->dtype) == 'f' ? (mdf_dtype)a->dtype : MDF_DTYPE_FLOAT64;
    target = mdf_python_make(call, mdf_call_target(call, 0), dtype, mdf_numpy_strength(a), a->rank, mdf_value_shape(a));
    return target != NULL &&
           mdf_value_convert_elements(call->context->memory, dtype, target, MDF_DTYPE_FLOAT64, others, a->length, false);
}

/* Of the elements of one result so far: their product, and the sum of the products of all but one of them with what that one is
 * weighed by. */
struct progress {
    double all, weighed;
};

static void take_in(struct progress *products, double element, double weight)
{
    products->weighed = products->weighed * element + products->all * weight;
    products->all *= element;
}

/* "a g axes none_is_all": for each element of `a`, which is reduced along axes, the sum over the other elements i of its result
 * of g[i] times the product of the others of both. */
static bool run_pairs(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, SLOT_FIRST), *g = mdf_python_input_array(call, 1, SLOT_SECOND);
    size_t n = 0;
    const int64_t *numbers = a != NULL && g != NULL ? gradient_numbers_of_results(call, a, 2, &n) : NULL;
    double *room =
        numbers != NULL ? mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_FLOAT64, 3 * a->length + 2 * n) : NULL;
    double *sums = room;
    struct progress *before, *totals;
    void *target;

    if (room == NULL) {
        return false;
    }
    if (g->length != a->length || mdf_dtype_kind((mdf_dtype)a->dtype) != 'f' || mdf_dtype_kind((mdf_dtype)g->dtype) != 'f') {
        return mdf_call_error(call, MDF_UNSUPPORTED, "second derivatives of products are of real numbers, one weight for each");
    }
    before = (struct progress *)(room + a->length);
    totals = before + a->length;
    for (size_t pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            totals[i] = (struct progress){1, 0};
        }
        for (size_t k = 0; k < a->length; k++) {
            size_t i = pass == 0 ? k : a->length - 1 - k;
            struct progress *behind = &totals[numbers[i] - 1];

            if (pass == 0) {
                before[i] = *behind;
            } else {
                sums[i] = before[i].weighed * behind->all + before[i].all * behind->weighed;
            }
            take_in(behind, number_at(a, i), number_at(g, i));
        }
    }
    target =
        mdf_python_make(call, mdf_call_target(call, 0), (mdf_dtype)a->dtype, mdf_numpy_strength(a), a->rank, mdf_value_shape(a));
    return target != NULL && mdf_value_convert_elements(call->context->memory, (mdf_dtype)a->dtype, target, MDF_DTYPE_FLOAT64,
                                                        sums, a->length, false);
}

/* Of two arrays as lines of `product->m` and `product->n` elements: the sizes of the product of the first ones, turned, by the
 * others. */
static bool measure_lines(struct mdf_call *call, const struct mdf_value *x, const struct mdf_value *g, const struct mdf_value *w,
                          struct mdf_product *product)
{
    if (w->rank < 1 || w->rank > 2) {
        return mdf_call_error(call, MDF_SHAPE, "has lines of a matrix or a vector only");
    }
    mdf_product_of_lines(product, x->length, mdf_value_shape(w)[0], w->rank == 1 ? 1 : mdf_value_shape(w)[1]);
    if (product->k * product->m != x->length || product->k * product->n != g->length) {
        return mdf_call_error(call, MDF_SHAPE, "%zu and %zu elements are no lines of %zu and %zu", x->length, g->length,
                              product->m, product->n);
    }
    return true;
}

/* Of other types than those of products: as numpy.matmul. */
static bool multiply_others_turned(struct mdf_call *call, const struct mdf_value *x, const struct mdf_value *g,
                                   const struct mdf_product *product)
{
    struct mdf_value *slots = mdf_python_slots(call);
    int64_t turned[2] = {(int64_t)product->m, (int64_t)product->k}, lines[2] = {(int64_t)product->k, (int64_t)product->n};
    size_t size = mdf_dtype_size((mdf_dtype)x->dtype);
    char *target = slots == NULL ? NULL : mdf_python_make_like(call, &slots[SLOT_TURNED], x, 2, turned);

    for (size_t i = 0; target != NULL && i < x->length; i++) {
        memcpy(target + (i % product->m * product->k + i / product->m) * size, (const char *)x->data + i * size, size);
    }
    return target != NULL && mdf_python_reshape(call, &slots[SLOT_LINES], g, 2, lines) &&
           mdf_numpy_matmul(call, mdf_call_target(call, 0), &slots[SLOT_TURNED], &slots[SLOT_LINES]);
}

/* "x g w": of stacks x of factors and g of gradients of products by w behind them, a matrix or vector: the sum of what the
 * products hand back to w, as a matrix. */
static bool run_sum_of_products(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_python_input_array(call, 0, SLOT_FIRST), *g = mdf_python_input_array(call, 1, SLOT_SECOND),
                           *w = mdf_call_tensor(call, 2);
    struct mdf_value *slots = mdf_python_slots(call);
    struct mdf_product product = {0};
    int64_t shape[2];
    bool is_typed;

    if (x == NULL || g == NULL || w == NULL || slots == NULL || !measure_lines(call, x, g, w, &product)) {
        return false;
    }
    if (x->dtype != g->dtype || !mdf_dtype_is_real(x->dtype)) {
        return multiply_others_turned(call, x, g, &product);
    }
    is_typed = x->strength == MDF_STRENGTH_TYPED || g->strength == MDF_STRENGTH_TYPED;
    shape[0] = (int64_t)product.m;
    shape[1] = (int64_t)product.n;
    product.dtype = (mdf_dtype)x->dtype;
    product.a = x->data;
    product.b = g->data;
    product.c = mdf_python_make(call, mdf_call_target(call, 0), product.dtype,
                                is_typed ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL, 2, shape);
    return product.c != NULL && mdf_multiply(call, &slots[SLOT_TURNED], &product);
}

const struct mdf_operator mdf_operators_python_gradient_products[] = {
    MDF_FUNCTION(
        "gradient.sum_of_products", run_sum_of_products, 0, "x g w", .form = MDF_FORM_PRODUCT_OF_LINES, .by_form = 4,
        .meaning = MDF_MEANING(
            "s", NULL, {"s", "numpy.matmul(gradient.turn(gradient.lines(x0, x2, 0), True), gradient.lines(x1, x2, 1))", NULL})),
    MDF_FUNCTION("gradient.others", run_others, 0, "a axes= none_is_all=",
                 .derivatives =
                     MDF_DERIVATIVES({0, "gradient.pairs(x0, numpy.asarray(dy), x1, x2 if x2 is not None else True)"})),
    MDF_FUNCTION("gradient.pairs", run_pairs, 0,
                 "a g axes= none_is_all=", .derivatives = MDF_DERIVATIVES({1, "gradient.pairs(x0, numpy.asarray(dy), x2, x3)"})),
    {NULL}};
