/* ufunc.c - see ufunc.h. */
#include "functions/python/ufunc.h"

#include "functions/elements/element.h"

/* An operand as an array, its own elements converted to no other type yet; NULL with the error set. */
static const struct mdf_value *array_of(struct mdf_call *call, const struct mdf_value *operand, size_t i)
{
    return operand->kind == MDF_KIND_TENSOR ? operand : mdf_python_array(call, operand, MDF_SLOT_OPERANDS + i);
}

static bool is_integer_type(mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);

    return kind == 'i' || kind == 'u';
}

static bool any_passes_bounds(size_t n_operands, const struct mdf_value *const operands[], mdf_dtype dtype)
{
    for (size_t i = 0; i < n_operands; i++) {
        if (mdf_python_passes_bounds(operands[i], dtype)) {
            return true;
        }
    }
    return false;
}

/* Whatever whole numbers without declared type are. */
static mdf_dtype shared_dtype(struct mdf_call *call, size_t n_operands, const struct mdf_value *const operands[])
{
    struct mdf_value met = {.dtype = (uint8_t)mdf_python_dtype_of(call->context, operands[0]), .strength = operands[0]->strength};

    for (size_t i = 1; i < n_operands; i++) {
        mdf_dtype dtype = mdf_python_promote(call->context, &met, operands[i]);

        if (dtype == MDF_DTYPE_NONE) {
            mdf_python_refuse(call, operands[0], operands[i]);
            return MDF_DTYPE_NONE;
        }
        met.dtype = (uint8_t)dtype;
        met.strength = operands[i]->strength > met.strength ? operands[i]->strength : met.strength;
    }
    return (mdf_dtype)met.dtype;
}

/* Whether whole numbers are computed with as such. */
static bool stays_whole(enum mdf_ufunc_types types)
{
    return types == MDF_UFUNC_SHARED || types == MDF_UFUNC_NUMBERS || types == MDF_UFUNC_COMPARED;
}

/* The narrowest real type that holds what each operand with a declared type may hold, where all of them together are of `dtype`:
 * int16 and uint16 meet in int32, both fit into float32. */
static mdf_dtype real_dtype(struct mdf_call *call, size_t n_operands, const struct mdf_value *const operands[], mdf_dtype dtype)
{
    mdf_dtype widest = MDF_DTYPE_BOOL;

    if (!is_integer_type(dtype)) {
        return mdf_python_real_for(call->context, dtype);
    }
    for (size_t i = 0; i < n_operands; i++) {
        mdf_dtype own = operands[i]->strength == MDF_STRENGTH_TYPED ? (mdf_dtype)operands[i]->dtype : dtype;

        widest = mdf_dtype_size(own) > mdf_dtype_size(widest) ? own : widest;
    }
    return mdf_python_real_for(call->context, widest);
}

mdf_dtype mdf_ufunc_dtype(struct mdf_call *call, enum mdf_ufunc_types types, size_t n_operands,
                          const struct mdf_value *const operands[])
{
    mdf_dtype dtype = shared_dtype(call, n_operands, operands);

    if (dtype == MDF_DTYPE_NONE) {
        return dtype;
    }
    if (stays_whole(types) && any_passes_bounds(n_operands, operands, dtype)) {
        if (types != MDF_UFUNC_COMPARED) {
            mdf_python_out_of_bounds(call, dtype);
            return MDF_DTYPE_NONE;
        }
        return dtype == MDF_DTYPE_UINT64 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    }
    switch (types) {
    case MDF_UFUNC_NUMBERS:
        return dtype == MDF_DTYPE_BOOL ? MDF_DTYPE_INT8 : dtype;
    case MDF_UFUNC_REALS:
        return real_dtype(call, n_operands, operands, dtype);
    case MDF_UFUNC_QUOTIENT:
        return is_integer_type(dtype) || dtype == MDF_DTYPE_BOOL ? call->context->real : dtype;
    case MDF_UFUNC_FLOAT64:
        return MDF_DTYPE_FLOAT64;
    case MDF_UFUNC_TRUTHS:
        return MDF_DTYPE_BOOL;
    default:
        return dtype;
    }
}

bool mdf_ufunc_apply(struct mdf_call *call, struct mdf_value *target, const struct mdf_ufunc *ufunc,
                     const struct mdf_value *const operands[], const void *settings)
{
    const struct mdf_value *arrays[MDF_MAX_OPERANDS] = {NULL};
    enum mdf_strength strength = MDF_STRENGTH_LITERAL;
    size_t n = ufunc->n_operands;
    mdf_dtype dtype;

    for (size_t i = 0; i < n; i++) {
        arrays[i] = array_of(call, operands[i], i);
        if (arrays[i] == NULL) {
            return false;
        }
        strength = arrays[i]->strength == MDF_STRENGTH_TYPED ? MDF_STRENGTH_TYPED : strength;
    }
    dtype = mdf_ufunc_dtype(call, ufunc->types, n, arrays);
    for (size_t i = 0; dtype != MDF_DTYPE_NONE && i < n; i++) {
        arrays[i] = mdf_python_array_of(call, arrays[i], dtype, MDF_SLOT_OPERANDS + i);
        if (arrays[i] == NULL) {
            return false;
        }
    }
    if (dtype == MDF_DTYPE_NONE || !mdf_elementwise(call, target, ufunc->operation, n, arrays, settings)) {
        return false;
    }
    target->strength = (uint8_t)strength;
    return true;
}

static bool call_element(struct mdf_call *call, enum mdf_ufunc_types types)
{
    const struct mdf_element *element = call->operator->element;
    const struct mdf_ufunc ufunc = {&mdf_element_operations[element->id], types, element->n_operands};

    for (size_t i = 0; i < ufunc.n_operands; i++) {
        if (mdf_call_input(call, i) == NULL) {
            return mdf_call_tensor(call, i) != NULL;
        }
    }
    return mdf_ufunc_apply(call, mdf_call_target(call, 0), &ufunc, call->inputs, NULL);
}

#define KERNEL(name, types)               \
    bool name(struct mdf_call *call)      \
    {                                     \
        return call_element(call, types); \
    }

KERNEL(mdf_ufunc_of_shared, MDF_UFUNC_SHARED)
KERNEL(mdf_ufunc_of_numbers, MDF_UFUNC_NUMBERS)
KERNEL(mdf_ufunc_of_reals, MDF_UFUNC_REALS)
KERNEL(mdf_ufunc_of_quotient, MDF_UFUNC_QUOTIENT)
KERNEL(mdf_ufunc_of_float64, MDF_UFUNC_FLOAT64)
KERNEL(mdf_ufunc_of_truths, MDF_UFUNC_TRUTHS)
KERNEL(mdf_ufunc_of_compared, MDF_UFUNC_COMPARED)

/* ------------------------------------------------------------------ those that other functions call */

#define UFUNC(name, id, types, n_operands) \
    const struct mdf_ufunc mdf_ufunc_##name = {&mdf_element_operations[MDF_ELEMENT_##id], types, n_operands}

UFUNC(add, add, MDF_UFUNC_SHARED, 2);
UFUNC(subtract, subtract, MDF_UFUNC_SHARED, 2);
UFUNC(multiply, multiply, MDF_UFUNC_SHARED, 2);
UFUNC(divide, divide, MDF_UFUNC_QUOTIENT, 2);
UFUNC(floor_divide, floor_quotient, MDF_UFUNC_NUMBERS, 2);
UFUNC(remainder, floor_remainder, MDF_UFUNC_NUMBERS, 2);
UFUNC(bitwise_and, bitwise_and, MDF_UFUNC_SHARED, 2);
UFUNC(bitwise_or, bitwise_or, MDF_UFUNC_SHARED, 2);
UFUNC(bitwise_xor, bitwise_xor, MDF_UFUNC_SHARED, 2);
UFUNC(left_shift, left_shift, MDF_UFUNC_NUMBERS, 2);
UFUNC(right_shift, right_shift, MDF_UFUNC_NUMBERS, 2);
UFUNC(negative, negative, MDF_UFUNC_SHARED, 1);
UFUNC(positive, positive, MDF_UFUNC_SHARED, 1);
UFUNC(absolute, absolute, MDF_UFUNC_SHARED, 1);
UFUNC(invert, complement, MDF_UFUNC_SHARED, 1);
UFUNC(maximum, maximum, MDF_UFUNC_SHARED, 2);
UFUNC(minimum, minimum, MDF_UFUNC_SHARED, 2);
UFUNC(less, less, MDF_UFUNC_COMPARED, 2);
UFUNC(less_equal, less_or_equal, MDF_UFUNC_COMPARED, 2);
UFUNC(greater, greater, MDF_UFUNC_COMPARED, 2);
UFUNC(greater_equal, greater_or_equal, MDF_UFUNC_COMPARED, 2);
UFUNC(equal, equal, MDF_UFUNC_COMPARED, 2);
UFUNC(not_equal, not_equal, MDF_UFUNC_COMPARED, 2);
