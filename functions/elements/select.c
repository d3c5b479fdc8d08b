/* select.c - choosing among values and asking about them: Where Clip IsInf.
 *
 * NaN goes through Clip; where the lower bound is above the upper one, the upper one wins, as in numpy. Sources: the ONNX
 * operators of these names. */
#include "functions/elements/element.h"
#include "functions/elements/vectors/vector_rows.h"
#include "functions/elements/where.h"
#include "functions/kernel/derivatives.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ Where */

static bool run_where(struct mdf_call *call)
{
    return mdf_elementwise_call(call, &mdf_where, 3, NULL);
}

/* ------------------------------------------------------------------ Clip */

#define AT_LEAST(x, low) ((x) < (low) || (low) != (low) ? (low) : (x))
#define AT_MOST(x, high) ((x) > (high) || (high) != (high) ? (high) : (x))

#define OPERATION confine
#define SETTINGS void *const
#define PREPARE                                                           \
    ELEMENT low = given[0] != NULL ? *(const ELEMENT *)given[0] : LOWEST; \
    ELEMENT high = given[1] != NULL ? *(const ELEMENT *)given[1] : LARGEST;
#define UNARY(x) AT_MOST(AT_LEAST(x, low), high)
#include "functions/elements/loops/elementwise_signed.inc"
#include "functions/elements/loops/elementwise_unsigned.inc"

#include "functions/elements/loops/elementwise_end.inc"

#define CONFINE_REALS(type, name, dtype)                                                                                         \
    static bool confine_##name(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings) \
    {                                                                                                                            \
        const type lowest = -(type)INFINITY, largest = (type)INFINITY;                                                           \
        void *const *given = settings;                                                                                           \
                                                                                                                                 \
        (void)steps;                                                                                                             \
        mdf_vector_rows(dtype)->confine(n, operands[0], given[0] != NULL ? given[0] : &lowest,                                   \
                                        given[1] != NULL ? given[1] : &largest, target);                                         \
        return true;                                                                                                             \
    }
CONFINE_REALS(float, float32, MDF_DTYPE_FLOAT32)
CONFINE_REALS(double, float64, MDF_DTYPE_FLOAT64)

static bool confine_limits(mdf_dtype dtype, const void *settings, struct mdf_limits *limits)
{
    const void *const *given = settings;

    *limits = (struct mdf_limits){-INFINITY, INFINITY, -0.0};
    if (given[0] != NULL) {
        limits->low = mdf_element_to_double(dtype, given[0]);
    }
    if (given[1] != NULL) {
        limits->high = mdf_element_to_double(dtype, given[1]);
    }
    return !isnan(limits->low) && !isnan(limits->high);
}

static const struct mdf_operation confine = {.loops = {MDF_LOOPS_REALS(confine), MDF_LOOPS_INTEGERS(confine)},
                                             .limits = confine_limits};

struct clip_settings {
    double low, high;
};

static const struct mdf_setting clip_settings[] = {{"min", MDF_SETTING_FLOAT, offsetof(struct clip_settings, low)},
                                                   {"max", MDF_SETTING_FLOAT, offsetof(struct clip_settings, high)},
                                                   {NULL, MDF_SETTING_INT, 0}};

/* What the loops get, kept with the call: they may run after it (functions/elements/epilogue.h). */
struct bounds {
    void *pointers[2]; /* NULL: none */
    uint64_t elements[2];
};

enum { SCRATCH_BOUNDS = 2 };

static struct bounds *begin_bounds(struct mdf_call *call)
{
    struct bounds *bounds = mdf_call_scratch(call, SCRATCH_BOUNDS, MDF_DTYPE_UINT8, sizeof *bounds);

    if (bounds != NULL) {
        memset(bounds, 0, sizeof *bounds);
    }
    return bounds;
}

/* Versions 1 and 6: bounds are attributes. */
static bool run_clip_by_attributes(struct mdf_call *call)
{
    const struct clip_settings *given = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    mdf_dtype carrier = x != NULL ? mdf_elementwise_carrier((mdf_dtype)x->dtype) : MDF_DTYPE_NONE;
    double given_bounds[2] = {given->low, given->high};
    struct bounds *bounds = x != NULL ? begin_bounds(call) : NULL;

    for (size_t i = 0; bounds != NULL && i < 2; i++) {
        if (!isnan(given_bounds[i])) {
            mdf_convert_elements(carrier, &bounds->elements[i], MDF_DTYPE_FLOAT64, &given_bounds[i], 1, false);
            bounds->pointers[i] = &bounds->elements[i];
        }
    }
    return bounds != NULL && mdf_elementwise_call(call, &confine, 1, bounds->pointers);
}

/* Bounds are optional inputs, of the type of the data and with one element. */
static bool run_clip(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    mdf_dtype dtype = x != NULL ? (mdf_dtype)x->dtype : MDF_DTYPE_NONE, carrier = mdf_elementwise_carrier(dtype);
    struct bounds *bounds = x != NULL ? begin_bounds(call) : NULL;

    for (size_t i = 0; bounds != NULL && i < 2; i++) {
        const struct mdf_value *bound = mdf_call_input(call, i + 1);

        if (bound == NULL) {
            continue;
        }
        if (!mdf_value_is_tensor(bound) || bound->length != 1 || bound->dtype != dtype) {
            char text[128];

            mdf_value_describe(bound, text, sizeof text);
            return mdf_call_error(call, MDF_SHAPE, "input '%s' is %s, not one %s", clip_settings[i].name, text,
                                  mdf_dtype_name(dtype));
        }
        mdf_convert_elements(carrier, &bounds->elements[i], dtype, bound->data, 1, false);
        bounds->pointers[i] = &bounds->elements[i];
    }
    return bounds != NULL && mdf_elementwise_call(call, &confine, 1, bounds->pointers);
}

/* ------------------------------------------------------------------ IsInf */

struct infinity_settings {
    int64_t detect_negative, detect_positive;
};

static const struct mdf_setting infinity_settings[] = {
    {"detect_negative", MDF_SETTING_INT, offsetof(struct infinity_settings, detect_negative)},
    {"detect_positive", MDF_SETTING_INT, offsetof(struct infinity_settings, detect_positive)},
    {NULL, MDF_SETTING_INT, 0}};

static const struct mdf_element *infinity_of(const void *settings)
{
    const struct infinity_settings *given = settings;
    bool negative = given->detect_negative != 0, positive = given->detect_positive != 0;

    return negative && positive ? MDF_ELEMENT(is_infinite)
           : negative           ? MDF_ELEMENT(is_negative_infinity)
           : positive           ? MDF_ELEMENT(is_positive_infinity)
                                : MDF_ELEMENT(never);
}

const struct mdf_operator mdf_operators_select[] = {
    {"Where", 9, 99, run_where, NULL, 0, MDF_OPERATOR_PURE, NULL, MDF_ELEMENT(select)},
    {"Clip", 1, 10, run_clip_by_attributes, clip_settings, sizeof(struct clip_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_clip, .form = MDF_FORM_CLIP, .infer = &mdf_rule_same},
    {"Clip", 11, 99, run_clip, NULL, 0, MDF_OPERATOR_PURE, NULL, .derivatives = mdf_derivatives_clip, .form = MDF_FORM_CLIP,
     .infer = &mdf_rule_same},
    {"IsInf", 10, 99, mdf_element_call, infinity_settings, sizeof(struct infinity_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .element_of = infinity_of, .infer = &mdf_rule_same},
    {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
