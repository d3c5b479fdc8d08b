/* ufunc.h - numpy's universal functions: an elementwise operation, and the type in which its operands meet.
 *
 * Operands are arrays, Python numbers and nested lists of any types. They are brought to one type by numpy's rules (NEP 50:
 * Python numbers, and arrays without declared type, give way) and broadcast. The result is TYPED where an operand is, else
 * LITERAL. */
#ifndef MDF_FUNCTIONS_UFUNC_H
#define MDF_FUNCTIONS_UFUNC_H

#include "functions/elements/elementwise.h"
#include "functions/python/python_values.h"

enum mdf_ufunc_types {
    MDF_UFUNC_SHARED,   /* the type that the operands share */
    MDF_UFUNC_NUMBERS,  /* the same; bool becomes int8 */
    MDF_UFUNC_REALS,    /* the same; whole numbers become the narrowest real type that numpy uses for them */
    MDF_UFUNC_QUOTIENT, /* the same; whole numbers become context->real */
    MDF_UFUNC_FLOAT64,  /* float64 */
    MDF_UFUNC_TRUTHS,   /* bool, "not zero" */
    MDF_UFUNC_COMPARED  /* the type that they share, or one that holds a Python number which that type does not */
};

struct mdf_ufunc {
    const struct mdf_operation *operation;
    enum mdf_ufunc_types types;
    size_t n_operands;
};

/* `target`, which is no operand and none of the slots for operands, becomes the result. False with the error set. */
bool mdf_ufunc_apply(struct mdf_call *call, struct mdf_value *target, const struct mdf_ufunc *ufunc,
                     const struct mdf_value *const operands[], const void *settings);
/* The kernels of functions that are nothing but the element of their row, by the type in which its operands meet. */
bool mdf_ufunc_of_shared(struct mdf_call *call);
bool mdf_ufunc_of_numbers(struct mdf_call *call);
bool mdf_ufunc_of_reals(struct mdf_call *call);
bool mdf_ufunc_of_quotient(struct mdf_call *call);
bool mdf_ufunc_of_float64(struct mdf_call *call);
bool mdf_ufunc_of_truths(struct mdf_call *call);
bool mdf_ufunc_of_compared(struct mdf_call *call);
/* The type in which arrays meet; NONE with the error set where there is none, or where it does not hold a whole number that has
 * no declared type. */
mdf_dtype mdf_ufunc_dtype(struct mdf_call *call, enum mdf_ufunc_types types, size_t n_operands,
                          const struct mdf_value *const operands[]);

/* The functions that Python's operators call on arrays. */
extern const struct mdf_ufunc mdf_ufunc_add, mdf_ufunc_subtract, mdf_ufunc_multiply, mdf_ufunc_divide, mdf_ufunc_floor_divide,
    mdf_ufunc_remainder, mdf_ufunc_bitwise_and, mdf_ufunc_bitwise_or, mdf_ufunc_bitwise_xor, mdf_ufunc_left_shift,
    mdf_ufunc_right_shift, mdf_ufunc_negative, mdf_ufunc_positive, mdf_ufunc_absolute, mdf_ufunc_invert, mdf_ufunc_maximum,
    mdf_ufunc_minimum;
extern const struct mdf_ufunc mdf_ufunc_less, mdf_ufunc_less_equal, mdf_ufunc_greater, mdf_ufunc_greater_equal, mdf_ufunc_equal,
    mdf_ufunc_not_equal;
/* Powers: a number as exponent of reals has its own fast and exact ways, as in numpy. Operands as for mdf_ufunc_apply. */
bool mdf_ufunc_power(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *const operands[2]);
/* numpy.round. */
bool mdf_ufunc_round(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, int64_t decimals);

#endif
