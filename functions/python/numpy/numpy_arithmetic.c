/* numpy_arithmetic.c - numpy's arithmetic on arrays: add subtract multiply divide floor_divide remainder power maximum minimum
 * negative absolute square, bits, greatest divisors: functions of elements.def.
 *
 * Whole numbers wrap; division of a whole number by zero gives 0, of a real one an infinity or NaN. Source: numpy 2.4, "Universal
 * functions". */
#include "functions/elements/element.h"
#include "functions/python/ufunc.h"

#define UFUNC(id, types, n_operands)                                 \
    {                                                                \
        &mdf_element_operations[MDF_ELEMENT_##id], types, n_operands \
    }

static const struct mdf_ufunc square = UFUNC(square, MDF_UFUNC_NUMBERS, 1), reciprocal = UFUNC(reciprocal, MDF_UFUNC_NUMBERS, 1),
                              square_root = UFUNC(square_root, MDF_UFUNC_REALS, 1), power = UFUNC(power, MDF_UFUNC_NUMBERS, 2);

bool mdf_ufunc_power(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *const operands[2])
{
    const struct mdf_value *base = operands[0], *exponent = operands[1];
    bool real_base = base->kind == MDF_KIND_TENSOR && base->rank > 0 && mdf_dtype_kind((mdf_dtype)base->dtype) == 'f';
    double number;

    if (real_base && mdf_value_is_scalar(exponent) && mdf_value_to_double(exponent, &number) &&
        mdf_python_promote(call->context, base, exponent) == base->dtype) {
        const struct mdf_ufunc *way = number == 2 ? &square : number == 0.5 ? &square_root : number == -1 ? &reciprocal : NULL;

        if (way != NULL) {
            return mdf_ufunc_apply(call, target, way, operands, NULL);
        }
    }
    return mdf_ufunc_apply(call, target, &power, operands, NULL);
}

static bool run_power(struct mdf_call *call)
{
    if (mdf_call_input(call, 0) == NULL || mdf_call_input(call, 1) == NULL) {
        return mdf_call_tensor(call, mdf_call_input(call, 0) == NULL ? 0 : 1) != NULL;
    }
    return mdf_ufunc_power(call, mdf_call_target(call, 0), call->inputs);
}

const struct mdf_operator mdf_operators_python_numpy_arithmetic[] = {
    MDF_FUNCTION("numpy.add", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(add)),
    MDF_FUNCTION("numpy.subtract", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(subtract)),
    MDF_FUNCTION("numpy.multiply", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(multiply)),
    MDF_FUNCTION("numpy.divide", mdf_ufunc_of_quotient, 0, "x1 x2", MDF_ELEMENT(divide)),
    MDF_FUNCTION("numpy.true_divide", mdf_ufunc_of_quotient, 0, "x1 x2", MDF_ELEMENT(divide)),
    MDF_FUNCTION("numpy.floor_divide", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(floor_quotient)),
    MDF_FUNCTION("numpy.mod", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(floor_remainder), .called = " rem "),
    MDF_FUNCTION("numpy.remainder", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(floor_remainder)),
    MDF_FUNCTION("numpy.fmod", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(c_remainder)),
    MDF_FUNCTION("numpy.power", run_power, 0, "x1 x2", MDF_ELEMENT(power)),
    MDF_FUNCTION("numpy.pow", run_power, 0, "x1 x2", MDF_ELEMENT(power)),
    MDF_FUNCTION("numpy.float_power", mdf_ufunc_of_float64, 0, "x1 x2", MDF_ELEMENT(power)),
    MDF_FUNCTION("numpy.maximum", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(maximum)),
    MDF_FUNCTION("numpy.minimum", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(minimum)),
    MDF_FUNCTION("numpy.fmax", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(maximum_number)),
    MDF_FUNCTION("numpy.fmin", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(minimum_number)),
    MDF_FUNCTION("numpy.bitwise_and", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(bitwise_and)),
    MDF_FUNCTION("numpy.bitwise_or", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(bitwise_or)),
    MDF_FUNCTION("numpy.bitwise_xor", mdf_ufunc_of_shared, 0, "x1 x2", MDF_ELEMENT(bitwise_xor)),
    MDF_FUNCTION("numpy.left_shift", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(left_shift)),
    MDF_FUNCTION("numpy.bitwise_left_shift", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(left_shift)),
    MDF_FUNCTION("numpy.right_shift", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(right_shift)),
    MDF_FUNCTION("numpy.bitwise_right_shift", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(right_shift)),
    MDF_FUNCTION("numpy.gcd", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(greatest_divisor)),
    MDF_FUNCTION("numpy.lcm", mdf_ufunc_of_numbers, 0, "x1 x2", MDF_ELEMENT(least_multiple)),
    MDF_FUNCTION("numpy.negative", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(negative)),
    MDF_FUNCTION("numpy.positive", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(positive)),
    MDF_FUNCTION("numpy.abs", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(absolute)),
    MDF_FUNCTION("numpy.absolute", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(absolute)),
    MDF_FUNCTION("numpy.sign", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(sign), .called = " sgn "),
    MDF_FUNCTION("numpy.square", mdf_ufunc_of_numbers, 0, "x", MDF_ELEMENT(square), .called = " sqr "),
    MDF_FUNCTION("numpy.reciprocal", mdf_ufunc_of_numbers, 0, "x", MDF_ELEMENT(reciprocal)),
    MDF_FUNCTION("numpy.sqrt", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(square_root)),
    MDF_FUNCTION("operator.norm_root", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(norm_root)),
    MDF_FUNCTION("numpy.invert", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(complement)),
    MDF_FUNCTION("numpy.bitwise_not", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(complement)),
    MDF_FUNCTION("numpy.bitwise_invert", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(complement)),
    {NULL}};
