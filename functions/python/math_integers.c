/* math_integers.c - Python's module math: functions of and to whole numbers: floor ceil trunc factorial comb perm gcd lcm isqrt
 * prod.
 *
 * Results past 64 bits are float64; past its range they are errors. Source: the Python library reference, "math", version 3.11.
 */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element_helpers.h"
#include "functions/kernel/routine.h"
#include "functions/python/python_operations.h"

#include "functions/kernel/number_routine.inc"
#include "functions/python/math_integers_routine.inc"

/* ------------------------------------------------------------------ whole parts */

/* Writes what a rounding makes of a number; whole numbers stay. */
static bool yield_whole(struct mdf_call *call, double (*rounding)(double))
{
    const struct mdf_value *value = mdf_call_tensor(call, 0);
    double x;

    if (value == NULL || !mdf_call_real(call, 0, &x)) {
        return false;
    }
    if (mdf_dtype_kind((mdf_dtype)value->dtype) == 'f' || (value->dtype == MDF_DTYPE_UINT64 && x >= 0x1p63)) {
        return mdf_python_make_whole(call, mdf_call_target(call, 0), rounding(x));
    }
    return mdf_python_make_int(call, mdf_call_target(call, 0), mdf_element_to_int64((mdf_dtype)value->dtype, value->data));
}

static bool run_floor(struct mdf_call *call)
{
    return yield_whole(call, floor);
}

static bool run_ceil(struct mdf_call *call)
{
    return yield_whole(call, ceil);
}

static bool run_trunc(struct mdf_call *call)
{
    return yield_whole(call, trunc);
}

/* ------------------------------------------------------------------ products */

static bool yield_exact(struct mdf_call *call, uint64_t exact)
{
    return mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)exact);
}

/* What passes 64 bits. */
static bool yield_rounded(struct mdf_call *call, double rounded)
{
    return isinf(rounded) ? mdf_call_error(call, MDF_VALUE, "the result is too large")
                          : mdf_python_make_whole(call, mdf_call_target(call, 0), rounded);
}

/* Reads input `i` as a whole number that is not negative. */
static bool read_count(struct mdf_call *call, size_t i, int64_t *count)
{
    if (!mdf_call_integer(call, i, count)) {
        return false;
    }
    return *count >= 0 || mdf_call_error(call, MDF_VALUE, "%lld is negative", (long long)*count);
}

/* n (n - 1) ... of k factors, until float64 has overflowed where it passes 64 bits. */
static bool yield_falling_product(struct mdf_call *call, int64_t n, int64_t k)
{
    uint64_t exact;
    double rounded = 1;

    if (mdf_falling_product(n, k, &exact)) {
        return yield_exact(call, exact);
    }
    for (int64_t i = 0; i < k && !isinf(rounded); i++) {
        rounded *= (double)(n - i);
    }
    return yield_rounded(call, rounded);
}

static bool run_factorial(struct mdf_call *call)
{
    int64_t n;

    return read_count(call, 0, &n) && yield_falling_product(call, n, n);
}

/* "n k=". */
static bool run_perm(struct mdf_call *call)
{
    int64_t n, k;

    if (!read_count(call, 0, &n)) {
        return false;
    }
    k = n;
    return (mdf_python_given(call, 1) == NULL || read_count(call, 1, &k)) && yield_falling_product(call, n, k);
}

/* n over k. */
static bool run_comb(struct mdf_call *call)
{
    uint64_t exact;
    double rounded = 1;
    int64_t n, k;

    if (!read_count(call, 0, &n) || !read_count(call, 1, &k)) {
        return false;
    }
    if (mdf_combinations(n, k, &exact)) {
        return yield_exact(call, exact);
    }
    k = k > n - k ? n - k : k;
    for (int64_t i = 1; i <= k && !isinf(rounded); i++) {
        rounded = rounded * (double)(n - k + i) / (double)i;
    }
    return yield_rounded(call, rounded);
}

static bool run_isqrt(struct mdf_call *call)
{
    int64_t n;

    return read_count(call, 0, &n) && yield_exact(call, (uint64_t)mdf_whole_root(n));
}

/* ------------------------------------------------------------------ divisors */

/* "*integers". */
static bool run_gcd(struct mdf_call *call)
{
    uint64_t divisor = 0;
    int64_t integer;

    for (size_t i = 0; i < call->n_inputs; i++) {
        if (!mdf_call_integer(call, i, &integer)) {
            return false;
        }
        divisor = mdf_common_divisor(divisor, mdf_magnitude(integer));
    }
    return divisor > INT64_MAX ? mdf_python_make_whole(call, mdf_call_target(call, 0), (double)divisor)
                               : yield_exact(call, divisor);
}

static bool run_lcm(struct mdf_call *call)
{
    uint64_t multiple = 1;
    double rounded = 1;
    bool fits = true, is_zero = false;
    int64_t integer;

    for (size_t i = 0; i < call->n_inputs; i++) {
        uint64_t factor;

        if (!mdf_call_integer(call, i, &integer)) {
            return false;
        }
        is_zero = is_zero || integer == 0;
        if (!is_zero) {
            factor = mdf_magnitude(integer) / (fits ? mdf_common_divisor(multiple, mdf_magnitude(integer)) : 1);
            rounded *= (double)factor;
            fits = fits && mdf_multiply_count(&multiple, factor);
        }
    }
    return is_zero || fits ? yield_exact(call, is_zero ? 0 : multiple) : yield_rounded(call, rounded);
}

/* ------------------------------------------------------------------ functions of C */

/* One that reads numbers by their types; a result past 64 bits is none of int64. */
static bool plan_integers(struct mdf_call *call, const char *function, struct mdf_routine_plan *plan)
{
    if (call->outputs[0]->dtype != MDF_DTYPE_INT64 || !mdf_routine_room(plan, 1 + call->n_inputs, 0)) {
        return false;
    }
    plan->function = function;
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)call->n_inputs;
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_value *input = mdf_python_given(call, i);

        if (input != NULL && (mdf_dtype_is_real((mdf_dtype)input->dtype) || input->dtype == MDF_DTYPE_UINT64 ||
                              !mdf_routine_kind(input, MDF_DTYPE_FLOAT64, &plan->whole[1 + i]))) {
            return false;
        }
    }
    return true;
}

/* The plan of a function, and what lowered loops call. */
#define INTEGERS(name)                                                            \
    static bool plan_##name(struct mdf_call *call, struct mdf_routine_plan *plan) \
    {                                                                             \
        return plan_integers(call, "math_" #name, plan);                          \
    }                                                                             \
    static mdf_routine_function find_##name(const struct mdf_routine_plan *plan)  \
    {                                                                             \
        (void)plan;                                                               \
        return mdf_math_##name;                                                   \
    }

INTEGERS(comb)
INTEGERS(factorial)
INTEGERS(gcd)
INTEGERS(isqrt)
INTEGERS(lcm)
INTEGERS(perm)

#define OF_INTEGERS(name) \
    (&(const struct mdf_routine){plan_##name, .function = find_##name, .why = "a number is negative, or a result past 64 bits"})

/* ------------------------------------------------------------------ prod */

/* "iterable start=": by Python's own multiplication. */
static bool run_prod(struct mdf_call *call)
{
    const struct mdf_value *iterable = call->inputs[0], *start = mdf_call_input(call, 1);
    struct mdf_value *slots = mdf_python_slots(call), *product, *next, *item;

    if (slots == NULL || !mdf_python_check_iterable(call, iterable)) {
        return false;
    }
    item = &slots[MDF_SLOT_OWN];
    product = &slots[MDF_SLOT_OWN + 1];
    next = &slots[MDF_SLOT_OWN + 2];
    if (start != NULL ? !mdf_python_copy(call, product, start) : !mdf_python_make_int(call, product, 1)) {
        return false;
    }
    for (size_t i = 0; i < mdf_python_length(iterable); i++) {
        struct mdf_value *done = next;

        if (!mdf_python_take_item(call, item, iterable, i) || !mdf_python_multiply(call, next, product, item)) {
            return false;
        }
        next = product;
        product = done;
    }
    return mdf_python_copy(call, mdf_call_target(call, 0), product);
}

const struct mdf_operator mdf_operators_python_math_integers[] = {
    MDF_FUNCTION("math.ceil", run_ceil, 0, "x", .form = MDF_FORM_CEILING, .derivatives = mdf_derivatives_flat,
                 .called = " ceiling "),
    MDF_FUNCTION("math.comb", run_comb, 0, "n k", .routine = OF_INTEGERS(comb), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.factorial", run_factorial, 0, "x", .routine = OF_INTEGERS(factorial), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.floor", run_floor, 0, "x", .form = MDF_FORM_FLOOR, .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.gcd", run_gcd, 0, "*integers", .routine = OF_INTEGERS(gcd), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.isqrt", run_isqrt, 0, "n", .routine = OF_INTEGERS(isqrt), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.lcm", run_lcm, 0, "*integers", .routine = OF_INTEGERS(lcm), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.perm", run_perm, 0, "n k=", .routine = OF_INTEGERS(perm), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.prod", run_prod, 0, "iterable start=",
                 .derivatives = MDF_DERIVATIVES({0, "dy * (1 if x1 is None else x1) * gradient.others(numpy.asarray(x0))"},
                                                {1, "dy * numpy.prod(numpy.asarray(x0))"}),
                 .written_out = MDF_WRITTEN_OUT_PRODUCT),
    MDF_FUNCTION("math.trunc", run_trunc, 0, "x", .form = MDF_FORM_NUMBER, .derivatives = mdf_derivatives_flat,
                 .called = " truncate "),
    {NULL}};
