/* activation.c - activation functions with attributes: Celu Elu Gelu HardSigmoid HardSwish LeakyRelu Mish Selu Shrink SwiGLU
 * Swish ThresholdedRelu.
 *
 * NaN gives NaN (ThresholdedRelu: 0, as the comparison in its definition says). Sources: the ONNX operators of these names. */
#include "functions/elements/elementwise.h"
#include "functions/elements/vector_math.h"
#include "functions/elements/vector_rows.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

/* What the operators have as attributes, each some of them. */
struct activation_settings {
    double alpha, beta, gamma, bias, lambda;
    const char *approximate;
};

/* ------------------------------------------------------------------ loops */

#define ATTRIBUTE(name) (ELEMENT) given->name

#define OPERATION celu
#define ONLY_FLOAT64
#define SETTINGS struct activation_settings
#define UNARY(x) x > 0 ? x : ATTRIBUTE(alpha) * MATH(expm1)(x / ATTRIBUTE(alpha))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION elu
#define ONLY_FLOAT64
#define SETTINGS struct activation_settings
#define UNARY(x) x >= 0 ? x : ATTRIBUTE(alpha) * MATH(expm1)(x)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION leaky_relu
#define SETTINGS struct activation_settings
#define PREPARE const ELEMENT slope = ATTRIBUTE(alpha);
#define UNARY(x) x < 0 ? slope *x : x
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION selu
#define ONLY_FLOAT64
#define SETTINGS struct activation_settings
#define UNARY(x) ATTRIBUTE(gamma) * (x > 0 ? x : ATTRIBUTE(alpha) * MATH(expm1)(x))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION thresholded_relu
#define SETTINGS struct activation_settings
#define UNARY(x) x > ATTRIBUTE(alpha) ? x : 0
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define CLAMP_TO_UNIT(x) ((x) < 0 ? 0 : (x) > 1 ? 1 : (x))

#define OPERATION hard_sigmoid
#define ONLY_FLOAT64
#define SETTINGS struct activation_settings
#define UNARY(x) CLAMP_TO_UNIT(ATTRIBUTE(alpha) * x + ATTRIBUTE(beta))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION hard_swish
#define UNARY(x) x *CLAMP_TO_UNIT(x / 6 + (ELEMENT)0.5)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* x * sigmoid(alpha * x); exp(-infinity) is 0 where the exponential overflows otherwise. */
#define OPERATION swish
#define ONLY_FLOAT64
#define SETTINGS struct activation_settings
#define UNARY(x) x / (1 + MATH(exp)(-ATTRIBUTE(alpha) * x))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION swiglu
#define ONLY_FLOAT64
#define SETTINGS struct activation_settings
#define BINARY(a, b) a / (1 + MATH(exp)(-ATTRIBUTE(alpha) * a)) * b
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION mish
#define ONLY_FLOAT64
#define UNARY(x) x *MATH(tanh)((x > 0 ? x : 0) + MATH(log1p)(MATH(exp)(-MATH(fabs)(x))))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

/* x * Phi(x); erfc keeps its digits where 1 + erf would lose them. */
#define OPERATION gelu
#define ONLY_FLOAT64
#define UNARY(x) x *(ELEMENT)0.5 * MATH(erfc)(x * (ELEMENT)-0.70710678118654752440)
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION gelu_tanh
#define ONLY_FLOAT64
#define UNARY(x) x *(ELEMENT)0.5 * (1 + MATH(tanh)((ELEMENT)0.79788456080286535588 * (x + (ELEMENT)0.044715 * x * x * x)))
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

#define OPERATION shrink
#define SETTINGS struct activation_settings
#define UNARY(x) x<-ATTRIBUTE(lambda) ? x + ATTRIBUTE(bias) : x> ATTRIBUTE(lambda) ? x - ATTRIBUTE(bias) : 0
#include "functions/elements/elementwise_reals.inc"

#include "functions/elements/elementwise_end.inc"

static bool gelu_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    (void)steps;
    (void)settings;
    mdf_vector_math()->gelu(n, operands[0], target);
    return true;
}

static bool hard_sigmoid_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    enum { N_BUFFER = 512 };
    const struct mdf_vector_rows *rows = mdf_vector_rows(MDF_DTYPE_FLOAT32);
    const struct activation_settings *given = settings;
    const float zero = 0, one = 1;
    float lines[N_BUFFER];

    (void)steps;
    for (size_t done = 0, n_some; done < n; done += n_some) {
        n_some = n - done < N_BUFFER ? n - done : N_BUFFER;
        rows->normalise(n_some, (const float *)operands[0] + done, 0, given->alpha, given->beta, lines);
        rows->confine(n_some, lines, &zero, &one, (float *)target + done);
    }
    return true;
}

static bool celu_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const struct activation_settings *given = settings;
    const float *x = operands[0], alpha = (float)given->alpha;
    float *y = target;

    (void)steps;
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i] / alpha;
    }
    mdf_vector_math()->expm1(n, y, y);
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i] > 0 ? x[i] : alpha * y[i];
    }
    return true;
}

/* gamma (x or, below 0, alpha (exp(x) - 1)). */
static void exponential_units(size_t n, const float *x, float alpha, float gamma, float *y)
{
    mdf_vector_math()->expm1(n, x, y);
    for (size_t i = 0; i < n; i++) {
        y[i] = gamma * (x[i] >= 0 ? x[i] : alpha * y[i]);
    }
}

static bool elu_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const struct activation_settings *given = settings;

    (void)steps;
    exponential_units(n, operands[0], (float)given->alpha, 1, target);
    return true;
}

static bool selu_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const struct activation_settings *given = settings;

    (void)steps;
    exponential_units(n, operands[0], (float)given->alpha, (float)given->gamma, target);
    return true;
}

/* With w = e (e + 2) of e = exp(x), tanh(log(1 + e)) = w / (w + 2), which is 1 long before e overflows. */
static bool mish_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const float *x = operands[0], most = 20;
    float *y = target;

    (void)steps;
    (void)settings;
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i] > most ? most : x[i];
    }
    mdf_vector_math()->exp(n, y, y);
    for (size_t i = 0; i < n; i++) {
        float w = y[i] * (y[i] + 2);

        y[i] = x[i] * (w / (w + 2));
    }
    return true;
}

static bool gelu_tanh_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const float *x = operands[0];
    float *y = target;

    (void)steps;
    (void)settings;
    for (size_t i = 0; i < n; i++) {
        y[i] = 0.79788456080286535588f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
    }
    mdf_vector_math()->tanh(n, y, y);
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i] * 0.5f * (1 + y[i]);
    }
    return true;
}

/* x / (1 + exp(-alpha x)). */
static void swish_elements(const struct activation_settings *given, size_t n, const float *x, size_t step, float *y)
{
    float alpha = (float)given->alpha;

    for (size_t i = 0; i < n; i++) {
        y[i] = -alpha * x[i * step];
    }
    mdf_vector_math()->exp(n, y, y);
    for (size_t i = 0; i < n; i++) {
        y[i] = x[i * step] / (1 + y[i]);
    }
}

static bool swish_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    (void)steps;
    swish_elements(settings, n, operands[0], 1, target);
    return true;
}

static bool swiglu_float32(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const float *b = operands[1];
    float *y = target;

    swish_elements(settings, n, operands[0], steps[0], y);
    for (size_t i = 0; i < n; i++) {
        y[i] *= b[i * steps[1]];
    }
    return true;
}

/* Whole numbers shrink as reals and are cut off again, at the ends of their range too. */
static double shrink_real(double x, const struct activation_settings *given)
{
    return x < -given->lambda ? x + given->bias : x > given->lambda ? x - given->bias : 0;
}


#define OPERATION shrink
#define SETTINGS struct activation_settings
#define UNARY(x) MDF_TO_WHOLE(ELEMENT, shrink_real((double)x, given), LOWEST, LARGEST)
#include "functions/elements/elementwise_signed.inc"
#include "functions/elements/elementwise_unsigned.inc"

#include "functions/elements/elementwise_end.inc"

/* ------------------------------------------------------------------ operations */

#define ATTRIBUTE_ROW(name, field, type)                        \
    {                                                           \
        name, type, offsetof(struct activation_settings, field) \
    }
static const struct mdf_setting activation_settings[] = {ATTRIBUTE_ROW("alpha", alpha, MDF_SETTING_FLOAT),
                                                         ATTRIBUTE_ROW("beta", beta, MDF_SETTING_FLOAT),
                                                         ATTRIBUTE_ROW("gamma", gamma, MDF_SETTING_FLOAT),
                                                         ATTRIBUTE_ROW("bias", bias, MDF_SETTING_FLOAT),
                                                         ATTRIBUTE_ROW("lambd", lambda, MDF_SETTING_FLOAT),
                                                         ATTRIBUTE_ROW("approximate", approximate, MDF_SETTING_STRING),
                                                         {NULL, MDF_SETTING_INT, 0}};

#define ACTIVATION_KERNEL(name, cost, ...)                                                       \
    static bool run_##name(struct mdf_call *call)                                                \
    {                                                                                            \
        static const struct mdf_operation operation = {.loops = {__VA_ARGS__}, .cost_ns = cost}; \
                                                                                                 \
        return mdf_elementwise_call(call, &operation, 1, call->settings);                        \
    }
ACTIVATION_KERNEL(celu, 1, MDF_LOOPS_REALS(celu))
ACTIVATION_KERNEL(elu, 1, MDF_LOOPS_REALS(elu))
ACTIVATION_KERNEL(gelu, 1, MDF_LOOPS_REALS(gelu))
ACTIVATION_KERNEL(gelu_tanh, 1, MDF_LOOPS_REALS(gelu_tanh))
ACTIVATION_KERNEL(hard_sigmoid, 0, MDF_LOOPS_REALS(hard_sigmoid))
ACTIVATION_KERNEL(hard_swish, 1, MDF_LOOPS_REALS(hard_swish))
ACTIVATION_KERNEL(leaky_relu, 0, MDF_LOOPS_REALS(leaky_relu))
ACTIVATION_KERNEL(mish, 1, MDF_LOOPS_REALS(mish))
ACTIVATION_KERNEL(selu, 1, MDF_LOOPS_REALS(selu))
ACTIVATION_KERNEL(swish, 1, MDF_LOOPS_REALS(swish))
ACTIVATION_KERNEL(thresholded_relu, 0, MDF_LOOPS_REALS(thresholded_relu))
ACTIVATION_KERNEL(shrink, 1, MDF_LOOPS_REALS(shrink), MDF_LOOPS_INTEGERS(shrink))

static bool run_gelu_by_name(struct mdf_call *call)
{
    const struct activation_settings *given = call->settings;

    if (given->approximate == NULL || strcmp(given->approximate, "none") == 0) {
        return run_gelu(call);
    }
    if (strcmp(given->approximate, "tanh") == 0) {
        return run_gelu_tanh(call);
    }
    return mdf_call_error(call, MDF_VALUE, "attribute 'approximate' is \"%s\", not \"none\" or \"tanh\"", given->approximate);
}

static bool run_swiglu(struct mdf_call *call)
{
    static const struct mdf_operation operation = {.loops = {MDF_LOOPS_REALS(swiglu)}, .cost_ns = 1};
    const struct mdf_value *a = mdf_call_tensor(call, 0), *b = a != NULL ? mdf_call_tensor(call, 1) : NULL;

    return b != NULL && mdf_workspace_check_shape(call, "B", b, a->rank, mdf_value_shape(a)) &&
           mdf_elementwise_call(call, &operation, 2, call->settings);
}

#define SETTINGS_TABLE activation_settings, sizeof(struct activation_settings)

const struct mdf_operator mdf_operators_activation[] = {
    {"Celu", 12, 99, run_celu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"Elu", 1, 99, run_elu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"Gelu", 20, 99, run_gelu_by_name, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"HardSigmoid", 1, 99, run_hard_sigmoid, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"HardSwish", 14, 99, run_hard_swish, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"LeakyRelu", 1, 99, run_leaky_relu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"Mish", 18, 99, run_mish, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"Selu", 1, 99, run_selu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"Shrink", 9, 99, run_shrink, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"SwiGLU", 28, 99, run_swiglu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"Swish", 24, 99, run_swish, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {"ThresholdedRelu", 10, 99, run_thresholded_relu, SETTINGS_TABLE, MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
