/* numpy_select.c - numpy's choices and roundings, element by element: where select clip round.
 *
 * Source: numpy 2.4, "where", "clip", "round". */
#include "functions/elements/element.h"
#include "functions/elements/where.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ where */

/* `target` becomes operand 1 where operand 0 is true, else operand 2. */
static bool choose_where(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *const operands[3])
{
    const struct mdf_value *arrays[3];
    enum mdf_strength strength;
    mdf_dtype dtype;

    for (size_t i = 0; i < 3; i++) {
        arrays[i] = mdf_python_array(call, operands[i], MDF_SLOT_OPERANDS + i);
        if (arrays[i] == NULL) {
            return false;
        }
    }
    dtype = mdf_ufunc_dtype(call, MDF_UFUNC_SHARED, 2, arrays + 1);
    for (size_t i = 0; dtype != MDF_DTYPE_NONE && i < 3; i++) {
        arrays[i] = mdf_python_array_of(call, arrays[i], i == 0 ? MDF_DTYPE_BOOL : dtype, MDF_SLOT_OPERANDS + i);
        if (arrays[i] == NULL) {
            return false;
        }
    }
    if (dtype == MDF_DTYPE_NONE) {
        return false;
    }
    strength = mdf_numpy_strength(arrays[1]) > mdf_numpy_strength(arrays[2]) ? mdf_numpy_strength(arrays[1])
                                                                             : mdf_numpy_strength(arrays[2]);
    if (!mdf_elementwise(call, target, &mdf_where, 3, arrays, NULL)) {
        return false;
    }
    target->strength = (uint8_t)strength;
    return true;
}

static bool run_where(struct mdf_call *call)
{
    return choose_where(call, mdf_call_target(call, 0), call->inputs);
}

/* "condlist choicelist default=": of the choices the first whose condition is true. */
static bool run_select(struct mdf_call *call)
{
    const struct mdf_value *conditions = call->inputs[0], *choices = call->inputs[1], *otherwise = mdf_python_given(call, 2);
    struct mdf_value *slots = mdf_python_slots(call), *chosen, *next;

    if (slots == NULL || conditions->kind != MDF_KIND_LIST || choices->kind != MDF_KIND_LIST ||
        conditions->length != choices->length || conditions->length == 0) {
        return slots != NULL && mdf_call_error(call, MDF_VALUE, "a list of conditions and a list of as many choices are needed");
    }
    chosen = &slots[MDF_SLOT_OWN];
    next = &slots[MDF_SLOT_OWN + 1];
    if (otherwise != NULL ? !mdf_python_copy(call, chosen, otherwise) : !mdf_python_make_int(call, chosen, 0)) {
        return false;
    }
    for (size_t i = conditions->length; i-- > 0;) {
        const struct mdf_value *operands[3] = {&mdf_value_items(conditions)[i], &mdf_value_items(choices)[i], chosen};
        struct mdf_value *done = next;

        if (!choose_where(call, next, operands)) {
            return false;
        }
        next = chosen;
        chosen = done;
    }
    return mdf_python_copy(call, mdf_call_target(call, 0), chosen);
}

/* ------------------------------------------------------------------ clip */

/* A bound, which has two names; NULL where there is none, or it is a whole number without type past all that the array may hold,
 * on the side (-1: below, 1: above) where it changes nothing. */
static const struct mdf_value *bound_of(struct mdf_call *call, const struct mdf_value *array, size_t name, int side)
{
    const struct mdf_value *bound = mdf_python_given(call, mdf_python_given(call, name) != NULL ? name : name + 2);
    bool is_past = bound != NULL && mdf_python_is_number(bound) && mdf_python_passes_bounds(bound, (mdf_dtype)array->dtype);

    return is_past && (*(const int64_t *)bound->data < 0) == (side < 0) ? NULL : bound;
}

static bool run_clip(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *operands[2];
    struct mdf_value *slots = mdf_python_slots(call), *raised, *target = mdf_call_target(call, 0);
    const struct mdf_value *low = array == NULL ? NULL : bound_of(call, array, 1, -1);
    const struct mdf_value *high = array == NULL ? NULL : bound_of(call, array, 2, 1);

    if (array == NULL || slots == NULL) {
        return false;
    }
    if (low == NULL || high == NULL) {
        const struct mdf_value *bound = low != NULL ? low : high;

        operands[0] = array;
        operands[1] = bound;
        return bound == NULL
                   ? mdf_ufunc_apply(call, target, &mdf_ufunc_positive, operands, NULL)
                   : mdf_ufunc_apply(call, target, low != NULL ? &mdf_ufunc_maximum : &mdf_ufunc_minimum, operands, NULL);
    }
    raised = &slots[MDF_SLOT_OWN];
    operands[0] = array;
    operands[1] = low;
    if (!mdf_ufunc_apply(call, raised, &mdf_ufunc_maximum, operands, NULL)) {
        return false;
    }
    if (mdf_python_is_number(array)) {
        raised->strength = mdf_python_is_number(low) ? MDF_STRENGTH_PYTHON : raised->strength;
    }
    operands[0] = raised;
    operands[1] = high;
    return mdf_ufunc_apply(call, target, &mdf_ufunc_minimum, operands, NULL);
}

/* ------------------------------------------------------------------ round */

struct rounding {
    double scale;    /* a power of ten */
    bool multiplied; /* rounds x * scale, else x / scale */
};

#define OPERATION round_scaled
#define SETTINGS struct rounding
#define PREPARE ELEMENT scale = (ELEMENT)given->scale;
#define UNARY(x) given->multiplied ? MATH(rint)(x * scale) / scale : MATH(rint)(x / scale) * scale
#include "functions/elements/loops/elementwise_reals.inc"
#include "functions/elements/loops/elementwise_end.inc"

#include "mdf_c/tensor/half_floats.inc"
#include "mdf_c/tensor/small_floats.inc"

/* A whole number to a multiple of a power of ten, by way of float64 as in numpy: past the ends of its type as casts are. */
#define OPERATION round_whole
#define SETTINGS struct rounding
#define UNARY(x) given->multiplied ? x : (ELEMENT)round_to_multiple((double)x, given->scale, BITS + !IS_SIGNED)
static uint64_t round_to_multiple(double x, double scale, int bits)
{
    double rounded = rint(x / scale) * scale;

    return bits > 64   ? mdf_cut_to_uint64(rounded)
           : bits > 32 ? (uint64_t)mdf_cut_to_int64(rounded)
                       : (uint64_t)mdf_cut_to_int32(rounded);
}
#include "functions/elements/loops/elementwise_signed.inc"
#include "functions/elements/loops/elementwise_unsigned.inc"
#include "functions/elements/loops/elementwise_end.inc"

static const struct mdf_operation rounding_operation = {.loops = {MDF_LOOPS_REALS(round_scaled), MDF_LOOPS_INTEGERS(round_whole)},
                                                        .cost_ns = 2};
static const struct mdf_ufunc round_scaled = {&rounding_operation, MDF_UFUNC_SHARED, 1};

bool mdf_ufunc_round(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, int64_t decimals)
{
    bool many = decimals > 400 || decimals < -400; /* past the range of float64 */
    struct rounding rounding = {pow(10, many ? 400 : fabs((double)decimals)), decimals >= 0};
    const struct mdf_value *operand = array;

    if (array->dtype == MDF_DTYPE_BOOL) { /* numpy rounds bool as float16 */
        operand = mdf_python_array_of(call, array, MDF_DTYPE_FLOAT16, MDF_SLOT_OPERANDS);
    }
    return operand != NULL && mdf_ufunc_apply(call, target, &round_scaled, &operand, &rounding);
}

static bool run_round(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    int64_t decimals;

    return array != NULL && mdf_python_integer(call, 1, 0, &decimals) &&
           mdf_ufunc_round(call, mdf_call_target(call, 0), array, decimals);
}

/* Limits have two names each. */
static const struct mdf_derivative clip_derivatives[] = {{0, "dy * (x0 == y)"},
                                                         {1, "dy * ((x0 < x1) & (y == x1))"},
                                                         {2, "dy * ((x0 > x2) & (y == x2))"},
                                                         {3, "dy * ((x0 < x3) & (y == x3))"},
                                                         {4, "dy * ((x0 > x4) & (y == x4))"},
                                                         {MDF_DERIVATIVE_END, NULL}};

const struct mdf_operator mdf_operators_python_numpy_select[] = {
    MDF_FUNCTION("numpy.where", run_where, 0, "condition x y", MDF_ELEMENT(select)),
    MDF_FUNCTION("numpy.select", run_select, 0, "condlist choicelist default=", .written_out = MDF_WRITTEN_OUT_CHOICES),
    MDF_FUNCTION("numpy.clip", run_clip, MDF_OPERATOR_METHOD, "a a_min= a_max= min=! max=", .derivatives = clip_derivatives,
                 .form = MDF_FORM_BOUNDS, .nodes = "Min(Max(Min(Max(a, b), c), d), e)", .called = " clamp "),
    MDF_FUNCTION("numpy.round", run_round, MDF_OPERATOR_METHOD, "a decimals=", MDF_ELEMENT(nearest), .form = MDF_FORM_DECIMALS),
    MDF_FUNCTION("numpy.around", run_round, 0, "a decimals=", MDF_ELEMENT(nearest), .form = MDF_FORM_DECIMALS),
    {NULL}};
