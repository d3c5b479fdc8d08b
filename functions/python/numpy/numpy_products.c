/* numpy_products.c - see numpy_products.h: matmul dot einsum convolve correlate.
 *
 * All sums of products go through the matrix product that the heavy operators share. Source: numpy 2.4, "Linear algebra". */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element.h"
#include "functions/kernel/routine.h"
#include "functions/products/einsum.h"
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
    mdf_dtype dtype = mdf_ufunc_dtype(call, MDF_UFUNC_SHARED, 2, operands),
              computed = dtype == MDF_DTYPE_BOOL ? MDF_DTYPE_INT64 : dtype;
    struct mdf_python_type type = {MDF_DTYPE_BOOL, typed};
    struct mdf_value *slots = mdf_python_slots(call), *product;

    if (slots == NULL || dtype == MDF_DTYPE_NONE || dtype == MDF_DTYPE_STRING || mdf_dtype_kind(dtype) == 'c') {
        return slots != NULL && dtype != MDF_DTYPE_NONE && mdf_python_refuse(call, a, b);
    }
    for (size_t i = 0; i < 2; i++) {
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

/* ------------------------------------------------------------------ dot */

/* Over the last axis of a and the last but one of b, of more than two: the product of matrices of their rows and columns. */
static bool dot_of_stack(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b)
{
    struct mdf_value *slots = mdf_python_slots(call);
    size_t n_rows = a->rank - 1, n_stacks = b->rank - 2;
    int64_t *order = mdf_python_sizes(call, SLOT_ORDER, b->rank),
            *shape = mdf_python_sizes(call, SLOT_SHAPE, n_rows + b->rank - 1);
    int64_t left[2], right[2], size = mdf_value_shape(a)[n_rows];

    if (order == NULL || shape == NULL || size != mdf_value_shape(b)[n_stacks]) {
        return shape != NULL && mdf_call_error(call, MDF_SHAPE, "the sizes %lld and %lld of summed axes differ", (long long)size,
                                               (long long)mdf_value_shape(b)[n_stacks]);
    }
    memcpy(shape, mdf_value_shape(a), n_rows * sizeof *shape);
    order[0] = (int64_t)n_stacks;
    for (size_t i = 0; i <= n_stacks; i++) {
        size_t axis = i < n_stacks ? i : n_stacks + 1;

        order[1 + i] = (int64_t)axis;
        shape[n_rows + i] = mdf_value_shape(b)[axis];
    }
    left[0] = (int64_t)mdf_axes_product(shape, 0, n_rows);
    right[1] = (int64_t)mdf_axes_product(shape, n_rows, n_rows + n_stacks + 1);
    left[1] = right[0] = size;
    return mdf_numpy_transpose(call, &slots[SLOT_OTHER_PRODUCT], b, order) &&
           mdf_python_reshape(call, &slots[SLOT_LEFT], a, 2, left) &&
           mdf_python_reshape(call, &slots[SLOT_RIGHT], &slots[SLOT_OTHER_PRODUCT], 2, right) &&
           mdf_numpy_matmul(call, &slots[SLOT_PRODUCT], &slots[SLOT_LEFT], &slots[SLOT_RIGHT]) &&
           mdf_python_reshape(call, mdf_call_target(call, 0), &slots[SLOT_PRODUCT], n_rows + n_stacks + 1, shape);
}

static bool run_dot(struct mdf_call *call)
{
    const struct mdf_value *pair[2];

    if (!read_pair(call, pair)) {
        return false;
    }
    if (pair[0]->rank == 0 || pair[1]->rank == 0) {
        return mdf_ufunc_apply(call, mdf_call_target(call, 0), &mdf_ufunc_multiply, pair, NULL);
    }
    return pair[1]->rank <= 2 ? mdf_numpy_matmul(call, mdf_call_target(call, 0), pair[0], pair[1])
                              : dot_of_stack(call, pair[0], pair[1]);
}

/* ------------------------------------------------------------------ einsum */

/* Slots for as many terms as there are, and what goes back to one of them has two more. */
static size_t slot_of_term(size_t i)
{
    return i < MDF_SLOT_INNER_CALL ? i : MDF_SLOT_OWN + i - MDF_SLOT_INNER_CALL;
}

/* A kernel on the inputs, of which the first ones are brought to the type that they share; truths are counted. */
static bool einsum_of_shared(struct mdf_call *call, bool (*kernel)(struct mdf_call *call))
{
    enum { N_SHARED = MDF_EINSUM_MOST_TERMS + 2 };
    const struct mdf_value *inputs[N_SHARED + 1], *shared[N_SHARED];
    struct mdf_value *slots = mdf_python_slots(call),
                     *target = mdf_call_target(call, 0), *const outputs[1] = {&slots[SLOT_ORDER]};
    struct mdf_call inner = *call;
    struct mdf_python_type type = {MDF_DTYPE_NONE, false};
    size_t n = 0;

    for (size_t i = 0; i < call->n_inputs; i++) {
        inputs[i] = mdf_call_input(call, i);
        if (i < N_SHARED && inputs[i] != NULL) {
            inputs[i] = shared[n] = mdf_python_array(call, inputs[i], slot_of_term(i));
            if (inputs[i] == NULL) {
                return false;
            }
            type.typed = type.typed || inputs[i]->strength == MDF_STRENGTH_TYPED;
            n++;
        }
    }
    type.dtype = n > 0 ? mdf_ufunc_dtype(call, MDF_UFUNC_SHARED, n, shared) : MDF_DTYPE_INT64;
    for (size_t i = 0; i < N_SHARED && i < call->n_inputs && type.dtype != MDF_DTYPE_NONE; i++) {
        mdf_dtype dtype = type.dtype == MDF_DTYPE_BOOL ? MDF_DTYPE_INT64 : type.dtype;

        if (inputs[i] != NULL && (inputs[i] = mdf_python_array_of(call, inputs[i], dtype, slot_of_term(i))) == NULL) {
            return false;
        }
    }
    inner.inputs = inputs;
    inner.outputs = outputs;
    inner.n_outputs = 1;
    inner.scratch = &slots[MDF_SLOT_INNER_CALL];
    return type.dtype != MDF_DTYPE_NONE && kernel(&inner) && mdf_python_convert(call, target, &slots[SLOT_ORDER], type);
}

/* "subscripts *operands". */
static bool run_einsum(struct mdf_call *call)
{
    return call->n_inputs <= MDF_EINSUM_MOST_TERMS + 2
               ? einsum_of_shared(call, mdf_einsum)
               : mdf_call_error(call, MDF_LIMIT, "%zu operands are too many: at most %d may be", call->n_inputs,
                                MDF_EINSUM_MOST_TERMS + 2);
}

static bool run_einsum_back(struct mdf_call *call)
{
    return einsum_of_shared(call, mdf_einsum_back);
}

static const struct mdf_operator einsum_back = {"numpy.einsum",
                                                0,
                                                0,
                                                run_einsum_back,
                                                mdf_einsum_settings,
                                                sizeof(struct mdf_einsum_settings),
                                                MDF_OPERATOR_KEEPS_INPUTS,
                                                NULL};

/* ------------------------------------------------------------------ convolve, correlate */

/* Part [first, last) of the whole convolution that a mode asks for. The middle of a correlation (`turned`) with a longer row is
 * that of the longer one with the shorter, backward. */
static bool read_mode(struct mdf_call *call, bool turned, const char *otherwise, int64_t n, int64_t m, int64_t *first,
                      int64_t *last)
{
    const struct mdf_value *given = mdf_python_given(call, 2);
    int64_t longer = n > m ? n : m, shorter = n > m ? m : n;
    size_t length;
    const char *mode = given == NULL ? otherwise : mdf_python_text(given, &length);

    if (strcmp(mode, "full") == 0) {
        *first = 0;
        *last = n + m - 1;
    } else if (strcmp(mode, "same") == 0) {
        *first = (shorter - 1 + (turned && n < m)) / 2;
        *last = *first + longer;
    } else if (strcmp(mode, "valid") == 0) {
        *first = shorter - 1;
        *last = longer;
    } else {
        return mdf_call_error(call, MDF_VALUE, "the mode is 'full', 'same' or 'valid', not '%.80s'", mode);
    }
    return true;
}

#define ROUTINES "functions/python/numpy/convolve_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/python/numpy/convolve_routine.inc"
#include "functions/kernel/routine_wholes.inc"

/* What the function makes elements [first, last) with; false where the mode is none. */
static bool plan_sums(struct mdf_call *call, const struct mdf_value *const pair[2], bool turned, const char *mode,
                      int64_t whole[5])
{
    whole[0] = (int64_t)pair[0]->length;
    whole[1] = (int64_t)pair[1]->length;
    whole[2] = turned;
    return read_mode(call, turned, mode, whole[0], whole[1], &whole[3], &whole[4]);
}

static bool convolve(struct mdf_call *call, bool turned, const char *mode)
{
    const struct mdf_value *pair[2];
    struct mdf_value *slots = mdf_python_slots(call);
    struct mdf_python_type type;
    enum { SUMS_BETWEEN_LOOKS = 8 }; /* for a request to stop: a sum may have millions of terms */
    int64_t whole[5], n, last;
    mdf_dtype dtype, carrier;
    char *results;

    if (slots == NULL || !read_pair(call, pair)) {
        return false;
    }
    if (pair[0]->rank > 1 || pair[1]->rank > 1 || pair[0]->length == 0 || pair[1]->length == 0) {
        return mdf_call_error(call, MDF_SHAPE, "two rows with elements are needed");
    }
    dtype = mdf_ufunc_dtype(call, MDF_UFUNC_SHARED, 2, pair);
    if (dtype == MDF_DTYPE_NONE || !plan_sums(call, pair, turned, mode, whole)) {
        return false;
    }
    type.dtype = dtype;
    type.typed = pair[0]->strength == MDF_STRENGTH_TYPED || pair[1]->strength == MDF_STRENGTH_TYPED;
    carrier = mdf_dtype_kind(dtype) == 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    pair[0] = mdf_python_array_of(call, pair[0], carrier, MDF_SLOT_OPERANDS);
    pair[1] = pair[0] == NULL ? NULL : mdf_python_array_of(call, pair[1], carrier, MDF_SLOT_OPERANDS + 1);
    last = whole[4];
    n = last - whole[3];
    results = pair[1] == NULL ? NULL : mdf_python_make(call, &slots[SLOT_PRODUCT], carrier, MDF_STRENGTH_LITERAL, 1, &n);
    for (size_t i = 0; results != NULL && whole[3] < last && !mdf_should_stop_at(call->context, i, 1); i++) {
        void *const out[1] = {results + i * SUMS_BETWEEN_LOOKS * sizeof(double)};
        const void *const in[2] = {pair[0]->data, pair[1]->data};

        whole[4] = last - whole[3] < SUMS_BETWEEN_LOOKS ? last : whole[3] + SUMS_BETWEEN_LOOKS;
        (carrier == MDF_DTYPE_FLOAT64 ? mdf_convolved_float64 : mdf_convolved_int64)(out, in, whole, NULL, NULL);
        whole[3] = whole[4];
    }
    return results != NULL && mdf_python_convert(call, mdf_call_target(call, 0), &slots[SLOT_PRODUCT], type);
}

/* Both rows are of the type of the result. */
static bool plan_convolution(struct mdf_call *call, bool turned, const char *mode, struct mdf_routine_plan *plan)
{
    const struct mdf_value *const pair[2] = {call->inputs[0], call->inputs[1]}, *given = mdf_python_given(call, 2);

    plan->function = "convolved";
    plan->dtype = (mdf_dtype)call->outputs[0]->dtype;
    return mdf_dtype_kind(plan->dtype) != 'b' && pair[0]->dtype == (uint8_t)plan->dtype &&
           pair[1]->dtype == (uint8_t)plan->dtype && (given == NULL || given->data != NULL) && mdf_routine_room(plan, 5, 0) &&
           plan_sums(call, pair, turned, mode, plan->whole);
}

static mdf_routine_function convolution_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_PRODUCTS = 1 << 12 };

    if (plan->whole[0] > MOST_PRODUCTS || plan->whole[1] > MOST_PRODUCTS || plan->whole[0] * plan->whole[1] > MOST_PRODUCTS) {
        return NULL;
    }
    return plan->dtype == MDF_DTYPE_INT64 ? mdf_convolved_int64 : MDF_ROUTINE_OF_REALS(plan, convolved);
}

static bool plan_convolve(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_convolution(call, false, "full", plan);
}

static bool plan_correlate(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_convolution(call, true, "valid", plan);
}

#define CONVOLUTION(plan)                                                        \
    .routine = &(const struct mdf_routine)                                       \
    {                                                                            \
        plan, .takes_halves = true, .lists = 3, .function = convolution_function \
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
 * these, `more` halves behind it. */
#define CONVOLVED(v, more)                                                                                                       \
    .meaning = MDF_MEANING("result", NULL,                                                                                       \
                           {"apart", "numpy.expand_dims(numpy.arange(x0.size + x1.size - 1), 1) - numpy.arange(x0.size)", NULL}, \
                           {"met", "gradient.take(" v ", numpy.where((apart >= 0) & (apart < x1.size), apart + 1, 0))", NULL},   \
                           {"all", "numpy.matmul(met, x0)", NULL},                                                               \
                           {"result", "numpy.take(all, numpy.arange(y.size) + (all.size - y.size + " more ") // 2)", NULL})

const struct mdf_operator mdf_operators_python_numpy_products[] = {
    MDF_FUNCTION("operator.matmul", run_matmul_operator, 0, "a b", .derivatives = mdf_derivatives_matmul, .form = MDF_FORM_MATMUL,
                 .nodes = "MatMul(a, b)"),
    MDF_FUNCTION("numpy.matmul", run_matmul, 0, "x1 x2", .derivatives = mdf_derivatives_matmul, .form = MDF_FORM_MATMUL,
                 .nodes = "MatMul(a, b)"),
    MDF_FUNCTION("numpy.dot", run_dot, MDF_OPERATOR_METHOD, "a b", MDF_ELEMENT(dot), .form = MDF_FORM_DOT,
                 .nodes = "MatMul(a, b)",
                 .derivatives = MDF_DERIVATIVES({0, OF_DOT("dy * x1", "numpy.matmul(gradient.product_of_matrices(dy, x0, x1), "
                                                                      "gradient.turn(gradient.column(x1), True))")},
                                                {1, OF_DOT("dy * x0", "gradient.without_column(numpy.matmul(gradient.turn("
                                                                      "gradient.row(x0), True), "
                                                                      "gradient.product_of_matrices(dy, x0, x1)), x1)")})),
    {"numpy.einsum", 0, 0, run_einsum, mdf_einsum_settings, sizeof(struct mdf_einsum_settings), MDF_OPERATOR_KEEPS_INPUTS,
     "subscripts=@equation *operands optimize=*", .meaning = &(const struct mdf_meaning){.helper = &einsum_back},
     .derivatives = mdf_einsum_derivatives, .form = MDF_FORM_EINSUM},
    MDF_FUNCTION("numpy.convolve", run_convolve, 0, "a v mode=", CONVOLUTION(plan_convolve), CONVOLVED("x1", "0")),
    MDF_FUNCTION("numpy.correlate", run_correlate, 0, "a v mode=", CONVOLUTION(plan_correlate),
                 CONVOLVED("numpy.flip(x1)", "int(x0.size < x1.size)")),
    {NULL}};
