/* binary.c - arithmetic of two arrays: Add Sub Mul Div Pow Mod PRelu BitShift BitwiseAnd BitwiseOr BitwiseXor.
 *
 * Whole numbers wrap; their division truncates, by zero it is an error. Sources: the ONNX operators of these names. */
#include "functions/elements/element.h"
#include "functions/elements/limited_broadcast.h"

#include <string.h>

/* That of a function of elements.def. */
#define OPERATION_OF(id) (&mdf_element_operations[MDF_ELEMENT_##id])

/* ------------------------------------------------------------------ kernels */

/* Before version 7 operators have an attribute for broadcasting. */
static bool run_limited(struct mdf_call *call)
{
    return mdf_limited_broadcast_call(call, &mdf_element_operations[call->operator->element->id]);
}

struct mod_settings {
    int64_t fmod;
};

static const struct mdf_setting mod_settings[] = {{"fmod", MDF_SETTING_INT, offsetof(struct mod_settings, fmod)},
                                                  {NULL, MDF_SETTING_INT, 0}};

static const struct mdf_element *mod_of(const void *settings)
{
    const struct mod_settings *given = settings;

    return given->fmod == 1 ? MDF_ELEMENT(remainder) : MDF_ELEMENT(modulo);
}

struct shift_settings {
    const char *direction;
};

static const struct mdf_setting shift_settings[] = {{"direction", MDF_SETTING_STRING, offsetof(struct shift_settings, direction)},
                                                    {NULL, MDF_SETTING_INT, 0}};

static const struct mdf_element *shift_of(const void *settings)
{
    const struct shift_settings *given = settings;
    const char *direction = given->direction != NULL ? given->direction : "";

    return strcmp(direction, "LEFT") == 0    ? MDF_ELEMENT(left_shift)
           : strcmp(direction, "RIGHT") == 0 ? MDF_ELEMENT(right_shift)
                                             : NULL;
}

static bool run_shift(struct mdf_call *call)
{
    const struct shift_settings *given = call->settings;

    return shift_of(given) != NULL ? mdf_element_call(call)
                                   : mdf_call_error(call, MDF_VALUE, "attribute 'direction' is \"%s\", not \"LEFT\" or \"RIGHT\"",
                                                    given->direction != NULL ? given->direction : "");
}

enum { SCRATCH_BASE = 2, SCRATCH_EXPONENT = 3 };

/* Whether the only element of an array is a number that another real type holds as it is. A real one of declared type is in no
 * other, whatever it is. */
static bool fits_real(const struct mdf_value *value, mdf_dtype dtype)
{
    bool is_declared = mdf_dtype_kind((mdf_dtype)value->dtype) == 'f' && value->strength == MDF_STRENGTH_TYPED;
    uint64_t element = 0;
    double real;

    if (value->length != 1 || mdf_dtype_kind(dtype) != 'f' || is_declared) {
        return false;
    }
    real = mdf_element_to_double((mdf_dtype)value->dtype, value->data);
    mdf_convert_elements(dtype, &element, MDF_DTYPE_FLOAT64, &real, 1, false);
    return mdf_element_to_double(dtype, &element) == real;
}

/* Powers of two different types are computed in the type that they share, the result converted to that of the base. */
static bool run_mixed_power(struct mdf_call *call, const struct mdf_value *base, const struct mdf_value *exponent)
{
    mdf_dtype dtype = (mdf_dtype)base->dtype;
    mdf_dtype common = fits_real(exponent, dtype) ? dtype
                                                  : mdf_promote(dtype, MDF_STRENGTH_TYPED, (mdf_dtype)exponent->dtype,
                                                                MDF_STRENGTH_TYPED, MDF_DTYPE_FLOAT64);
    struct mdf_memory *memory = call->context->memory;
    struct mdf_value *result = mdf_call_result(call, 0);
    const struct mdf_value *operands[2] = {base, exponent};

    if (exponent->dtype != common) {
        operands[1] = &call->scratch[SCRATCH_EXPONENT];
        if (!mdf_value_convert(memory, &call->scratch[SCRATCH_EXPONENT], exponent, common)) {
            return mdf_call_out_of_memory(call);
        }
    }
    if (common == dtype) {
        return mdf_elementwise(call, result != NULL ? result : &call->scratch[0], OPERATION_OF(onnx_power), 2, operands, NULL);
    }
    operands[0] = &call->scratch[SCRATCH_BASE];
    if (!mdf_value_convert(memory, &call->scratch[SCRATCH_BASE], base, common)) {
        return mdf_call_out_of_memory(call);
    }
    if (!mdf_elementwise(call, &call->scratch[0], OPERATION_OF(onnx_power), 2, operands, NULL)) {
        return false;
    }
    return result == NULL || mdf_value_convert(memory, result, &call->scratch[0], dtype) || mdf_call_out_of_memory(call);
}

static bool run_power(struct mdf_call *call)
{
    const struct mdf_value *base = mdf_call_tensor(call, 0), *exponent = base != NULL ? mdf_call_tensor(call, 1) : NULL;

    if (exponent == NULL) {
        return false;
    }
    return base->dtype == exponent->dtype ? mdf_elementwise_call(call, OPERATION_OF(onnx_power), 2, NULL)
                                          : run_mixed_power(call, base, exponent);
}

/* Before version 7 the slope never widens the result, and a vector of slopes belongs to the channels, axis 1. */
static bool run_limited_prelu(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *slope = x != NULL ? mdf_call_tensor(call, 1) : NULL;
    struct mdf_value view, *target = mdf_call_result(call, 0);
    const struct mdf_value *operands[2] = {x, &view};
    size_t axis;

    if (slope == NULL) {
        return false;
    }
    axis = x->rank > 1 && slope->rank == 1 ? 1 : x->rank - (x->rank < slope->rank ? x->rank : slope->rank);
    return mdf_align_axes(call, x, slope, axis, &view) &&
           mdf_elementwise(call, target != NULL ? target : &call->scratch[0], OPERATION_OF(scale_negative), 2, operands, NULL);
}

#define LIMITED mdf_limited_broadcast_settings, sizeof(struct mdf_limited_broadcast)

#define LIMITED_ROW(name, id)                                                      \
    {                                                                              \
        name, 1, 6, run_limited, LIMITED, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(id) \
    }
#define ROW(name, since, kernel, id)                                               \
    {                                                                              \
        name, since, 99, kernel, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(id) \
    }

const struct mdf_operator mdf_operators_binary[] = {
    LIMITED_ROW("Add", add),
    ROW("Add", 7, mdf_element_call, add),
    LIMITED_ROW("Sub", subtract),
    ROW("Sub", 7, mdf_element_call, subtract),
    LIMITED_ROW("Mul", multiply),
    ROW("Mul", 7, mdf_element_call, multiply),
    LIMITED_ROW("Div", quotient),
    ROW("Div", 7, mdf_element_call, quotient),
    LIMITED_ROW("Pow", onnx_power),
    ROW("Pow", 7, run_power, onnx_power),
    {"Mod", 10, 99, mdf_element_call, mod_settings, sizeof(struct mod_settings), MDF_OPERATOR_PURE, NULL, .element_of = mod_of},
    {"PRelu", 1, 6, run_limited_prelu, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(scale_negative), .infer = &mdf_rule_same},
    ROW("PRelu", 7, mdf_element_call, scale_negative), /* the slope may widen the result, as engines let it */
    {"BitShift", 11, 99, run_shift, shift_settings, sizeof(struct shift_settings), MDF_OPERATOR_PURE, NULL,
     .element_of = shift_of},
    ROW("BitwiseAnd", 18, mdf_element_call, bitwise_and),
    ROW("BitwiseOr", 18, mdf_element_call, bitwise_or),
    ROW("BitwiseXor", 18, mdf_element_call, bitwise_xor),
    {NULL}};
