/* math_integers.c - Python's module math: functions of and to whole numbers: floor ceil trunc factorial comb perm gcd lcm isqrt
 * prod.
 *
 * Results past 64 bits are float64; past its range they are errors. Source: the Python library reference, "math", version 3.11.
 */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element_helpers.h"
#include "functions/python/python_operations.h"

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

/* A whole product that may pass 64 bits. */
struct product {
    uint64_t exact;
    double rounded;
    bool passed;
};

static void multiply(struct product *product, uint64_t factor)
{
    product->rounded *= (double)factor;
    product->passed =
        product->passed || __builtin_mul_overflow(product->exact, factor, &product->exact) || product->exact > INT64_MAX;
}

static bool yield_product(struct mdf_call *call, const struct product *product)
{
    if (!product->passed) {
        return mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)product->exact);
    }
    if (isinf(product->rounded)) {
        return mdf_call_error(call, MDF_VALUE, "the result is too large");
    }
    return mdf_python_make_whole(call, mdf_call_target(call, 0), product->rounded);
}

/* Reads input `i` as a whole number that is not negative. */
static bool read_count(struct mdf_call *call, size_t i, int64_t *count)
{
    if (!mdf_call_integer(call, i, count)) {
        return false;
    }
    return *count >= 0 || mdf_call_error(call, MDF_VALUE, "%lld is negative", (long long)*count);
}

/* n (n - 1) ... of k factors. Stops where float64 has overflowed. */
static struct product falling_product(int64_t n, int64_t k)
{
    struct product product = {1, 1, false};
    int64_t i;

    for (i = 0; i < k && !isinf(product.rounded); i++) {
        multiply(&product, (uint64_t)(n - i));
    }
    return product;
}

static bool run_factorial(struct mdf_call *call)
{
    struct product product;
    int64_t n;

    if (!read_count(call, 0, &n)) {
        return false;
    }
    product = falling_product(n, n > 200 ? 200 : n);
    return yield_product(call, &product);
}

/* "n k=". */
static bool run_perm(struct mdf_call *call)
{
    struct product product = {0, 0, false};
    int64_t n, k;

    if (!read_count(call, 0, &n)) {
        return false;
    }
    k = n;
    if (mdf_python_given(call, 1) != NULL && !read_count(call, 1, &k)) {
        return false;
    }
    if (k <= n) {
        product = falling_product(n, k);
    }
    return yield_product(call, &product);
}

/* n over k: each partial product is itself a whole number, so that the division is exact while it fits. */
static bool run_comb(struct mdf_call *call)
{
    struct product product = {1, 1, false};
    int64_t n, k, i;

    if (!read_count(call, 0, &n) || !read_count(call, 1, &k)) {
        return false;
    }
    if (k > n) {
        return mdf_python_make_int(call, mdf_call_target(call, 0), 0);
    }
    k = k > n - k ? n - k : k;
    for (i = 1; i <= k && !isinf(product.rounded); i++) {
        uint64_t factor = (uint64_t)(n - k + i), common = mdf_common_divisor(product.exact, (uint64_t)i);

        product.rounded = product.rounded * (double)factor / (double)i;
        if (!product.passed) {
            product.exact /= common;
            product.passed = __builtin_mul_overflow(product.exact, factor / ((uint64_t)i / common), &product.exact) ||
                             product.exact > INT64_MAX;
        }
    }
    return yield_product(call, &product);
}

/* ------------------------------------------------------------------ divisors */

/* "*integers". */
static bool run_gcd(struct mdf_call *call)
{
    uint64_t divisor = 0;
    int64_t integer;
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if (!mdf_call_integer(call, i, &integer)) {
            return false;
        }
        divisor = mdf_common_divisor(divisor, mdf_magnitude(integer));
    }
    return divisor > INT64_MAX ? mdf_python_make_whole(call, mdf_call_target(call, 0), (double)divisor)
                               : mdf_python_make_int(call, mdf_call_target(call, 0), (int64_t)divisor);
}

static bool run_lcm(struct mdf_call *call)
{
    struct product multiple = {1, 1, false};
    int64_t integer;
    bool zero = false;
    size_t i;

    for (i = 0; i < call->n_inputs; i++) {
        if (!mdf_call_integer(call, i, &integer)) {
            return false;
        }
        zero = zero || integer == 0;
        if (!zero) {
            multiply(&multiple,
                     mdf_magnitude(integer) / (multiple.passed ? 1 : mdf_common_divisor(multiple.exact, mdf_magnitude(integer))));
        }
    }
    return zero ? mdf_python_make_int(call, mdf_call_target(call, 0), 0) : yield_product(call, &multiple);
}

static bool run_isqrt(struct mdf_call *call)
{
    int64_t n, root;

    if (!read_count(call, 0, &n)) {
        return false;
    }
    root = (int64_t)sqrt((double)n);
    for (; root > 0 && root > n / root; root--) {
    }
    for (; root + 1 <= n / (root + 1); root++) {
    }
    return mdf_python_make_int(call, mdf_call_target(call, 0), root);
}

/* ------------------------------------------------------------------ prod */

/* "iterable start=": by Python's own multiplication. */
static bool run_prod(struct mdf_call *call)
{
    const struct mdf_value *iterable = call->inputs[0], *start = mdf_call_input(call, 1);
    struct mdf_value *slots = mdf_python_slots(call), *product, *next, *item;
    size_t i;

    if (slots == NULL || !mdf_python_check_iterable(call, iterable)) {
        return false;
    }
    item = &slots[MDF_SLOT_OWN];
    product = &slots[MDF_SLOT_OWN + 1];
    next = &slots[MDF_SLOT_OWN + 2];
    if (start != NULL ? !mdf_python_copy(call, product, start) : !mdf_python_make_int(call, product, 1)) {
        return false;
    }
    for (i = 0; i < mdf_python_length(iterable); i++) {
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
    MDF_FUNCTION("math.comb", run_comb, 0, "n k", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.factorial", run_factorial, 0, "x", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.floor", run_floor, 0, "x", .form = MDF_FORM_FLOOR, .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.gcd", run_gcd, 0, "*integers", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.isqrt", run_isqrt, 0, "n", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.lcm", run_lcm, 0, "*integers", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.perm", run_perm, 0, "n k=", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("math.prod", run_prod, 0, "iterable start=",
                 .derivatives = MDF_DERIVATIVES({0, "dy * (1 if x1 is None else x1) * gradient.others(numpy.asarray(x0))"},
                                                {1, "dy * numpy.prod(numpy.asarray(x0))"}),
                 .written_out = MDF_WRITTEN_OUT_PRODUCT),
    MDF_FUNCTION("math.trunc", run_trunc, 0, "x", .form = MDF_FORM_NUMBER, .derivatives = mdf_derivatives_flat,
                 .called = " truncate "),
    {NULL}};
