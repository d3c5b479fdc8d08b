/* unary.c - functions of one number, and Identity.
 *
 * Reals are computed in their own type, whole numbers wrap. Sources: the ONNX operators of the names in the table. */
#include "functions/elements/elementwise.h"
#include "functions/elements/vector_math.h"
#include "functions/kernel/operator.h"

#include <math.h>

/* ------------------------------------------------------------------ loops */

#define OPERATION arc_cosine
#define UNARY(x) MATH(acos)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION arc_cosine_hyperbolic
#define UNARY(x) MATH(acosh)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION arc_sine
#define UNARY(x) MATH(asin)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION arc_sine_hyperbolic
#define UNARY(x) MATH(asinh)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION arc_tangent
#define UNARY(x) MATH(atan)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION arc_tangent_hyperbolic
#define UNARY(x) MATH(atanh)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION ceiling
#define UNARY(x) MATH(ceil)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION cosine
#define UNARY(x) MATH(cos)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION cosine_hyperbolic
#define UNARY(x) MATH(cosh)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION exponential
#define ONLY_FLOAT64
#define UNARY(x) MATH(exp)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION floor_of
#define UNARY(x) MATH(floor)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION logarithm
#define UNARY(x) MATH(log)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION reciprocal
#define UNARY(x) 1 / x
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* What a magnitude is added to so that no place is left for a fraction; larger ones have none, NaN and infinity stay. */
#define WITHOUT_FRACTION (sizeof(ELEMENT) == 4 ? (ELEMENT)0x1p23 : (ELEMENT)0x1p52)

#define OPERATION round_to_even
#define UNARY(x) MATH(fabs)(x) < WITHOUT_FRACTION ? MATH(copysign)((MATH(fabs)(x) + WITHOUT_FRACTION) - WITHOUT_FRACTION, x) : x
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION sine
#define UNARY(x) MATH(sin)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION sine_hyperbolic
#define UNARY(x) MATH(sinh)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION square_root
#define UNARY(x) MATH(sqrt)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION tangent
#define UNARY(x) MATH(tan)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION tangent_hyperbolic
#define ONLY_FLOAT64
#define UNARY(x) MATH(tanh)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION softsign
#define UNARY(x) x / (1 + MATH(fabs)(x))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* For large |x| the naive form would be infinity by infinity. */
#define OPERATION sigmoid
#define ONLY_FLOAT64
#define UNARY(x) x >= 0 ? 1 / (1 + MATH(exp)(-x)) : MATH(exp)(x) / (1 + MATH(exp)(x))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* log(1 + exp(x)), without exp overflowing. */
#define OPERATION softplus
#define UNARY(x) (x > 0 ? x : 0) + MATH(log1p)(MATH(exp)(-MATH(fabs)(x)))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION absolute
#define UNARY(x) MATH(fabs)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION absolute
#define UNARY(x) x < 0 ? (ELEMENT)(0 - (WIDE)x) : x
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION absolute
#define UNARY(x) x
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION negative
#define UNARY(x) -x
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION negative
#define UNARY(x) 0 - (WIDE)x
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

/* NaN stays. */
#define OPERATION positive_part
#define UNARY(x) !(x <= 0) ? x : 0
#include "functions/elements/elementwise_reals.inc"
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION sign
#define UNARY(x) x != x ? x : (ELEMENT)((x > 0) - (x < 0))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION sign
#define UNARY(x) (x > 0) - (x < 0)
#include "functions/elements/elementwise_signed.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION sign
#define UNARY(x) x > 0
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION error_function
#define ONLY_FLOAT64
#define UNARY(x) MATH(erf)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* Rounded to float32 first, as in the reference: 1 from 4 on. */
#define OPERATION error_function
#define UNARY(x) (float)erf((double)x)
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION negation
#define UNARY(x) x == 0
#include "functions/elements/elementwise_bool.inc"

#include "functions/elements/elementwise_end.inc"

/* Loops over float32 in vectors. */
#define VECTOR_LOOP(name, map)                                                                                                   \
    static bool name##_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings) \
    {                                                                                                                            \
        (void)steps;                                                                                                             \
        (void)settings;                                                                                                          \
        mdf_vector_math()->map(n, operands[0], target);                                                                          \
        return true;                                                                                                             \
    }

VECTOR_LOOP(exponential, exp)
VECTOR_LOOP(tangent_hyperbolic, tanh)
VECTOR_LOOP(sigmoid, sigmoid)
VECTOR_LOOP(error_function, erf)

/* ------------------------------------------------------------------ operations */

/* The kernel of an operation on input 0: its table of loops, and what an element costs. */
#define UNARY_KERNEL(name, cost, ...)                                                            \
    static bool run_##name(struct mdf_call *call)                                                \
    {                                                                                            \
        static const struct mdf_operation operation = {.loops = {__VA_ARGS__}, .cost_ns = cost}; \
                                                                                                 \
        return mdf_elementwise_call(call, &operation, 1, NULL);                                  \
    }

UNARY_KERNEL(arc_cosine, 10, MDF_LOOPS_REALS(arc_cosine))
UNARY_KERNEL(arc_cosine_hyperbolic, 10, MDF_LOOPS_REALS(arc_cosine_hyperbolic))
UNARY_KERNEL(arc_sine, 10, MDF_LOOPS_REALS(arc_sine))
UNARY_KERNEL(arc_sine_hyperbolic, 10, MDF_LOOPS_REALS(arc_sine_hyperbolic))
UNARY_KERNEL(arc_tangent, 10, MDF_LOOPS_REALS(arc_tangent))
UNARY_KERNEL(arc_tangent_hyperbolic, 10, MDF_LOOPS_REALS(arc_tangent_hyperbolic))
UNARY_KERNEL(ceiling, 2, MDF_LOOPS_REALS(ceiling))
UNARY_KERNEL(cosine, 10, MDF_LOOPS_REALS(cosine))
UNARY_KERNEL(cosine_hyperbolic, 10, MDF_LOOPS_REALS(cosine_hyperbolic))
UNARY_KERNEL(exponential, 1, MDF_LOOPS_REALS(exponential))
UNARY_KERNEL(floor_of, 2, MDF_LOOPS_REALS(floor_of))
UNARY_KERNEL(logarithm, 10, MDF_LOOPS_REALS(logarithm))
UNARY_KERNEL(reciprocal, 1, MDF_LOOPS_REALS(reciprocal))
UNARY_KERNEL(round_to_even, 2, MDF_LOOPS_REALS(round_to_even))
UNARY_KERNEL(sine, 10, MDF_LOOPS_REALS(sine))
UNARY_KERNEL(sine_hyperbolic, 10, MDF_LOOPS_REALS(sine_hyperbolic))
UNARY_KERNEL(square_root, 2, MDF_LOOPS_REALS(square_root))
UNARY_KERNEL(tangent, 10, MDF_LOOPS_REALS(tangent))
UNARY_KERNEL(tangent_hyperbolic, 1, MDF_LOOPS_REALS(tangent_hyperbolic))
UNARY_KERNEL(softsign, 1, MDF_LOOPS_REALS(softsign))
UNARY_KERNEL(sigmoid, 1, MDF_LOOPS_REALS(sigmoid))
UNARY_KERNEL(softplus, 20, MDF_LOOPS_REALS(softplus))
UNARY_KERNEL(absolute, 0, MDF_LOOPS_REALS(absolute), MDF_LOOPS_INTEGERS(absolute))
UNARY_KERNEL(negative, 0, MDF_LOOPS_REALS(negative), MDF_LOOPS_SIGNED(negative))
UNARY_KERNEL(sign, 0, MDF_LOOPS_REALS(sign), MDF_LOOPS_INTEGERS(sign))
UNARY_KERNEL(error_function, 1, MDF_LOOPS_REALS(error_function), MDF_LOOPS_INTEGERS(error_function))
UNARY_KERNEL(negation, 0, MDF_LOOPS_BOOL(negation))

static bool positive_part_limits(mdf_dtype dtype, const void *settings, struct mdf_limits *limits)
{
    (void)dtype;
    (void)settings;
    *limits = (struct mdf_limits){0.0, INFINITY, 0.0};
    return true;
}

static bool run_positive_part(struct mdf_call *call)
{
    static const struct mdf_operation operation = {.loops = {MDF_LOOPS_REALS(positive_part), MDF_LOOPS_SIGNED(positive_part)},
                                                   .limits = positive_part_limits};

    return mdf_elementwise_call(call, &operation, 1, NULL);
}

/* Any kind of value: arrays, sequences, an optional that holds nothing. */
static bool run_identity(struct mdf_call *call)
{
    return mdf_call_output_copy(call, 0, mdf_call_input(call, 0));
}

const struct mdf_operator mdf_operators_unary[] = {{"Abs", 1, 99, run_absolute, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Acos", 7, 99, run_arc_cosine, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Acosh", 9, 99, run_arc_cosine_hyperbolic, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Asin", 7, 99, run_arc_sine, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Asinh", 9, 99, run_arc_sine_hyperbolic, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Atan", 7, 99, run_arc_tangent, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Atanh", 9, 99, run_arc_tangent_hyperbolic, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Ceil", 1, 99, run_ceiling, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Cos", 7, 99, run_cosine, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Cosh", 9, 99, run_cosine_hyperbolic, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Erf", 9, 99, run_error_function, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Exp", 1, 99, run_exponential, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Floor", 1, 99, run_floor_of, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Identity", 1, 99, run_identity, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Log", 1, 99, run_logarithm, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Neg", 1, 99, run_negative, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Not", 1, 99, run_negation, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Reciprocal", 1, 99, run_reciprocal, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Relu", 1, 99, run_positive_part, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Round", 11, 99, run_round_to_even, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Sigmoid", 1, 99, run_sigmoid, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Sign", 9, 99, run_sign, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Sin", 7, 99, run_sine, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Sinh", 9, 99, run_sine_hyperbolic, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Softplus", 1, 99, run_softplus, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Softsign", 1, 99, run_softsign, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Sqrt", 1, 99, run_square_root, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Tan", 7, 99, run_tangent, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {"Tanh", 1, 99, run_tangent_hyperbolic, NULL, 0, MDF_OPERATOR_PURE, NULL},
                                                   {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
