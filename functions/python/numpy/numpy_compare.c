/* numpy_compare.c - numpy's comparisons and truths: less equal ... logical_and ... isnan isclose array_equal.
 *
 * Results are bool. Text is compared byte by byte, which is the order of code points. Source: numpy 2.4, "Logic functions". */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

struct closeness {
    double relative, absolute;
    bool equal_nan;
};

#define OPERATION is_close
#define RESULT uint8_t
#define SETTINGS struct closeness
#define BINARY(a, b)                                                                                \
    isfinite(b) ? fabs((double)a - (double)b) <= given->absolute + given->relative *fabs((double)b) \
                : a == b || (given->equal_nan && a != a && b != b)
#include "functions/elements/loops/elementwise_reals.inc"
#include "functions/elements/loops/elementwise_end.inc"

static const struct mdf_operation close_operation = {.loops = {MDF_LOOPS_REALS(is_close)}, .result = MDF_RESULT_BOOL};
static const struct mdf_ufunc is_close = {&close_operation, MDF_UFUNC_QUOTIENT, 2};

static bool read_closeness(struct mdf_call *call, struct closeness *closeness)
{
    return mdf_python_real(call, 2, 1e-5, &closeness->relative) && mdf_python_real(call, 3, 1e-8, &closeness->absolute) &&
           mdf_python_truth(call, 4, false, &closeness->equal_nan);
}

static bool run_is_close(struct mdf_call *call)
{
    struct closeness closeness;

    return read_closeness(call, &closeness) && mdf_ufunc_call(call, &is_close, &closeness);
}

static bool all_true(const struct mdf_value *truths)
{
    return truths->length == 0 || memchr(truths->data, 0, truths->length) == NULL;
}

static bool run_all_close(struct mdf_call *call)
{
    struct mdf_value *slots = mdf_python_slots(call);
    struct closeness closeness;

    return slots != NULL && read_closeness(call, &closeness) &&
           mdf_ufunc_apply(call, &slots[MDF_SLOT_OWN], &is_close, call->inputs, &closeness) &&
           mdf_python_make_bool(call, mdf_call_target(call, 0), all_true(&slots[MDF_SLOT_OWN]));
}

static bool run_array_equal(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    const struct mdf_value *b = a == NULL ? NULL : mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS + 1), *operands[2] = {a, b};
    struct mdf_value *slots = b == NULL ? NULL : mdf_python_slots(call), *target = mdf_call_target(call, 0);

    if (slots == NULL) {
        return false;
    }
    if (!mdf_value_has_shape_of(a, b)) {
        return mdf_python_make_bool(call, target, false);
    }
    return mdf_ufunc_apply(call, &slots[MDF_SLOT_OWN], &mdf_ufunc_equal, operands, NULL) &&
           mdf_python_make_bool(call, target, all_true(&slots[MDF_SLOT_OWN]));
}

const struct mdf_operator mdf_operators_python_numpy_compare[] = {
    MDF_FUNCTION("numpy.less", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(less)),
    MDF_FUNCTION("numpy.less_equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(less_or_equal)),
    MDF_FUNCTION("numpy.greater", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(greater)),
    MDF_FUNCTION("numpy.greater_equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(greater_or_equal)),
    MDF_FUNCTION("numpy.equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(equal)),
    MDF_FUNCTION("numpy.not_equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(not_equal)),
    MDF_FUNCTION("numpy.logical_and", mdf_ufunc_of_truths, 0, "x1 x2", MDF_ELEMENT(logical_and)),
    MDF_FUNCTION("numpy.logical_or", mdf_ufunc_of_truths, 0, "x1 x2", MDF_ELEMENT(logical_or)),
    MDF_FUNCTION("numpy.logical_xor", mdf_ufunc_of_truths, 0, "x1 x2", MDF_ELEMENT(logical_xor)),
    MDF_FUNCTION("numpy.logical_not", mdf_ufunc_of_truths, 0, "x", MDF_ELEMENT(negation)),
    MDF_FUNCTION("numpy.isnan", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(is_nan)),
    MDF_FUNCTION("numpy.isinf", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(is_infinite)),
    MDF_FUNCTION("numpy.isfinite", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(is_finite)),
    MDF_FUNCTION("numpy.signbit", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(has_sign)),
    MDF_FUNCTION("numpy.isposinf", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(is_positive_infinity)),
    MDF_FUNCTION("numpy.isneginf", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(is_negative_infinity)),
    MDF_FUNCTION("numpy.isclose", run_is_close, 0, "a b rtol= atol= equal_nan=", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.allclose", run_all_close, 0, "a b rtol= atol= equal_nan=", .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.array_equal", run_array_equal, 0, "a1 a2", .derivatives = mdf_derivatives_flat),
    {NULL}};
