/* transfers.c - PsyNeuLink's transfer, selection and timer functions: an array to one of the same shape. (Those that MDF defines
 * itself, linear, logistic, exponential and tanh, are in functions/standard.) */
#include "functions/psyneulink/psyneulink.h"

static const struct mdf_function_step identity_steps[] = {{"value", "variable0"}, {NULL, NULL}};

static const struct mdf_function_step relu_steps[] = {
    {"x", "gain * (variable0 - bias)"}, {"value", "scale * numpy.maximum(x, leak * x) + offset"}, {NULL, NULL}};

static const struct mdf_function_step gaussian_steps[] = {
    {"bell",
     "numpy.exp(-(variable0 - bias) ** 2 / (2 * standard_deviation ** 2)) / numpy.sqrt(2 * math.pi * standard_deviation)"},
    {"value", "scale * bell + offset"},
    {NULL, NULL}};

/* Items of the first axis are treated one by one where there are several axes and per_item says so. */
#define AXIS                                                                                                                   \
    {"items", "numpy.asarray(variable0)"}, {"is_whole", "not per_item or items.ndim < 2"},                                     \
    {                                                                                                                          \
        "axis",                                                                                                                \
            "None if is_whole else 1 if items.ndim == 2 else (1, 2) if items.ndim == 3 else [i for i in range(1, items.ndim)]" \
    }

static const struct mdf_function_step normalize_steps[] = {
    AXIS,
    {"squares", "numpy.sum(items * items, axis=axis, keepdims=True)"},
    {"length", "numpy.where(squares == 0, 0.0, numpy.sqrt(numpy.where(squares == 0, 1.0, squares)))"}, /* derived as a norm */
    {"value", "items / numpy.maximum(length, eps)"},
    {NULL, NULL}};

/* What is masked counts as minus infinity; an item that is masked wholly gives zeros. Of equal largest elements all are picked,
 * or the first: the one behind which the count of them is still 1. */
static const struct mdf_function_step softmax_steps[] = {
    AXIS,
    {"x", "gain * items"},
    {"shown", "numpy.where(numpy.abs(x) > mask_threshold, x, -numpy.inf) if mask_threshold >= 0 else x"},
    {"peak", "numpy.max(shown, axis=axis, keepdims=True)"},
    {"powers", "numpy.exp(shown - numpy.where(peak == -numpy.inf, 0.0, peak))"},
    {"sums", "numpy.sum(powers, axis=axis, keepdims=True)"},
    {"soft", "powers / numpy.where(sums == 0, 1.0, sums)"},
    {"largest", "soft == numpy.max(soft, axis=axis, keepdims=True)"},
    {"chosen",
     "numpy.logical_and(largest, numpy.cumsum(largest, axis=-1) == 1) if output in ('arg_max', 'arg_max_indicator') else "
     "largest"},
    {"value", "soft if output == 'all' else numpy.where(chosen, soft if output in ('arg_max', 'MAX_VAL') else 1.0, 0.0)"},
    {NULL, NULL}};

/* The mode says it all in one word, or leaves it to direction, abs_val, indicator and tie. */
static const struct mdf_function_step one_hot_steps[] = {
    {"told", "mode != 'deterministic'"},
    {"is_min", "'min' in mode.lower() if told else direction == 'min'"},
    {"is_abs", "'abs' in mode.lower() if told else abs_val"},
    {"is_indicator", "'indicator' in mode.lower() if told else indicator"},
    {"which", "('first' if mode.startswith('arg') else 'all') if told else tie"},
    {"items", "numpy.abs(variable0) if is_abs else numpy.asarray(variable0)"},
    {"extreme", "numpy.min(items) if is_min else numpy.max(items)"},
    {"hits", "items == extreme"},
    {"count", "numpy.cumsum(hits)"},
    {"one", "hits if which == 'all' else "
            "numpy.logical_and(hits, numpy.reshape(count == (1 if which == 'first' else count[-1]), items.shape))"},
    {"value", "numpy.where(one, 1 if is_indicator else extreme, 0)"},
    {NULL, NULL}};

static const struct mdf_function_step hypersphere_steps[] = {
    {"angles", "numpy.ravel(variable0)"},
    {"value", "numpy.append(1.0, numpy.cumprod(numpy.sin(angles))) * numpy.append(numpy.cos(angles), 1.0)"},
    {NULL, NULL}};

static const struct mdf_function_step linear_timer_steps[] = {{"value", "((final - initial) / duration) * variable0 + initial"},
                                                              {NULL, NULL}};
static const struct mdf_function_step accelerating_timer_steps[] = {
    {"x", "numpy.power(variable0 / duration, rate)"},
    {"value", "initial + (final - initial) * x * numpy.exp(x - 1)"},
    {NULL, NULL}};
static const struct mdf_function_step decelerating_timer_steps[] = {
    {"direction", "numpy.where(final > initial, 1, -1)"},
    {"gap", "initial - final - direction"},
    {"value", "gap / numpy.exp(numpy.log(-direction * gap) * numpy.power(variable0 / duration, rate)) + final + direction"},
    {NULL, NULL}};
static const struct mdf_function_step asymptotic_timer_steps[] = {
    {"value", "(initial - final) * numpy.exp(variable0 * numpy.log(tolerance) / duration) + final"}, {NULL, NULL}};

const struct mdf_defined_function mdf_psyneulink_transfers[] = {
    {"identity", "variable0", NULL, NULL, identity_steps, "value"},
    {"dropout", "variable0", NULL, NULL, identity_steps, "value"}, /* which drops only while a model learns */
    {"relu", "variable0 gain=1.0 bias=0.0 leak=0.0 scale=1.0 offset=0.0", NULL, NULL, relu_steps, "value"},
    {"gaussian", "variable0 standard_deviation=1.0 bias=0.0 scale=1.0 offset=0.0", NULL, NULL, gaussian_steps, "value"},
    {"normalize", "variable0 eps=1e-12 per_item=True", NULL, NULL, normalize_steps, "value"},
    {"softmax", "variable0 gain=1.0 mask_threshold=-1.0 per_item=True output:all,arg_max,arg_max_indicator,MAX_VAL,MAX_INDICATOR",
     NULL, NULL, softmax_steps, "value"},
    {"onehot",
     "variable0 "
     "mode:deterministic,arg_max,arg_max_abs,arg_max_indicator,arg_max_abs_indicator,MAX_VAL,MAX_ABS_VAL,MAX_INDICATOR,"
     "MAX_ABS_INDICATOR,arg_min,arg_min_abs,arg_min_indicator,arg_min_abs_indicator,MIN_VAL,MIN_ABS_VAL,MIN_INDICATOR,"
     "MIN_ABS_INDICATOR direction:max,min abs_val=False indicator=False tie:all,first,last",
     NULL, NULL, one_hot_steps, "value"},
    {"hypersphericaltocartesian", "variable0", NULL, NULL, hypersphere_steps, "value"},
    {"angle", "variable0", NULL, NULL, hypersphere_steps, "value"}, /* its former name */
    {"lineartimer", "variable0 initial=1.0 final=0.0 duration=1.0", NULL, NULL, linear_timer_steps, "value"},
    {"acceleratingtimer", "variable0 initial=1.0 final=0.0 duration=1.0 rate=1.0", NULL, NULL, accelerating_timer_steps, "value"},
    {"deceleratingtimer", "variable0 initial=1.0 final=0.0 duration=1.0 rate=1.0", NULL, NULL, decelerating_timer_steps, "value"},
    {"asymptotictimer", "variable0 initial=1.0 final=0.0 duration=1.0 tolerance=0.01", NULL, NULL, asymptotic_timer_steps,
     "value"},
    {NULL, NULL, NULL, NULL, NULL, NULL}};
