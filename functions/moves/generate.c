/* generate.c - arrays made from little: Constant, ConstantOfShape, Range, EyeLike, Trilu.
 *
 * Comes in: attributes, a shape, bounds, or an array whose shape counts. Goes out: the array. Source: the ONNX operators of
 * these names, all versions. A sparse constant is an error. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"
#include "mdf_c/base/sizes.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ Constant, ConstantOfShape */

struct constant_settings {
    const struct mdf_value *value;
    double real;
    struct mdf_floats reals;
    int64_t integer;
    struct mdf_ints integers;
    const char *string;
    struct mdf_strings strings;
};

static const struct mdf_setting constant_table[] = {
    {"value", MDF_SETTING_VALUE, offsetof(struct constant_settings, value)},
    {"value_float", MDF_SETTING_FLOAT, offsetof(struct constant_settings, real)},
    {"value_floats", MDF_SETTING_FLOATS, offsetof(struct constant_settings, reals)},
    {"value_int", MDF_SETTING_INT, offsetof(struct constant_settings, integer)},
    {"value_ints", MDF_SETTING_INTS, offsetof(struct constant_settings, integers)},
    {"value_string", MDF_SETTING_STRING, offsetof(struct constant_settings, string)},
    {"value_strings", MDF_SETTING_STRINGS, offsetof(struct constant_settings, strings)},
    {NULL, MDF_SETTING_INT, 0}};

/* A constant that is one item (`rank` 0) or a list of them. */
static bool constant_reals(struct mdf_call *call, size_t rank, const double *reals, size_t n)
{
    int64_t size = (int64_t)n;
    float *target = mdf_call_output(call, 0, MDF_DTYPE_FLOAT32, rank, &size);

    for (size_t i = 0; target != NULL && i < n; i++) {
        target[i] = (float)reals[i];
    }
    return target != NULL;
}

static bool constant_integers(struct mdf_call *call, size_t rank, const int64_t *integers, size_t n)
{
    int64_t size = (int64_t)n, *target = mdf_call_output(call, 0, MDF_DTYPE_INT64, rank, &size);

    for (size_t i = 0; target != NULL && i < n; i++) {
        target[i] = integers[i];
    }
    return target != NULL;
}

static bool constant_strings(struct mdf_call *call, size_t rank, const char *const *strings, size_t n)
{
    int64_t size = (int64_t)n;
    char **target = mdf_call_output(call, 0, MDF_DTYPE_STRING, rank, &size);

    for (size_t i = 0; target != NULL && i < n; i++) {
        target[i] = mdf_string_new(call->context->memory, strings[i], strlen(strings[i]));
        if (target[i] == NULL) {
            return mdf_call_out_of_memory(call);
        }
    }
    return target != NULL;
}

/* The value is an array of the rank it was written with, a scalar too: not a bare number that may stand for an array of one. */
static bool constant_value(struct mdf_call *call, const struct mdf_value *value)
{
    struct mdf_value *result = mdf_call_result(call, 0);

    if (!mdf_call_output_copy(call, 0, value)) {
        return false;
    }
    if (result != NULL && result->strength == MDF_STRENGTH_PYTHON) {
        result->strength = MDF_STRENGTH_LITERAL;
    }
    return true;
}

static bool constant(struct mdf_call *call)
{
    const struct constant_settings *settings = call->settings;

    if (settings->value != NULL) {
        return constant_value(call, settings->value);
    }
    if (settings->reals.items != NULL) {
        return constant_reals(call, 1, settings->reals.items, settings->reals.n);
    }
    if (settings->integers.items != NULL) {
        return constant_integers(call, 1, settings->integers.items, settings->integers.n);
    }
    if (settings->strings.items != NULL) {
        return constant_strings(call, 1, settings->strings.items, settings->strings.n);
    }
    if (settings->string != NULL) {
        return constant_strings(call, 0, &settings->string, 1);
    }
    if (settings->integer != MDF_NOT_GIVEN) {
        return constant_integers(call, 0, &settings->integer, 1);
    }
    if (!isnan(settings->real)) {
        return constant_reals(call, 0, &settings->real, 1);
    }
    return mdf_call_error(call, MDF_UNSUPPORTED,
                          "none of the attributes value, value_float(s), value_int(s), value_string(s) is given "
                          "(sparse_value is not supported)");
}

struct fill_settings {
    const struct mdf_value *value;
};

static const struct mdf_setting fill_table[] = {{"value", MDF_SETTING_VALUE, offsetof(struct fill_settings, value)},
                                                {NULL, MDF_SETTING_INT, 0}};

static bool constant_of_shape(struct mdf_call *call)
{
    const struct fill_settings *settings = call->settings;
    const struct mdf_value *value = settings->value;
    mdf_dtype dtype = value != NULL ? (mdf_dtype)value->dtype : MDF_DTYPE_FLOAT32;
    const int64_t *shape;
    size_t rank;
    void *target;

    if (value != NULL && (!mdf_value_is_tensor(value) || value->length != 1)) {
        return mdf_call_error(call, MDF_SHAPE, "the value must be an array of one element");
    }
    shape = mdf_call_integers(call, 0, MDF_SCRATCH_FIRST, &rank);
    target = shape != NULL ? mdf_call_output(call, 0, dtype, rank, shape) : NULL;
    return target != NULL &&
           mdf_elements_fill(call, dtype, target, mdf_axes_product(shape, 0, rank), value != NULL ? value->data : NULL);
}

/* ------------------------------------------------------------------ Range */

struct range_settings {
    int64_t stash_type; /* from version 27 on */
};

static const struct mdf_setting range_table[] = {{"stash_type", MDF_SETTING_INT, offsetof(struct range_settings, stash_type)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* Numbers that are worked out before they are converted together. */
enum { N_AT_ONCE = 256 };

static int64_t n_at_once(int64_t n_left)
{
    return n_left < N_AT_ONCE ? n_left : N_AT_ONCE;
}

static bool range_of_integers(struct mdf_call *call, mdf_dtype dtype, const int64_t bounds[3])
{
    int64_t start = bounds[0], limit = bounds[1], delta = bounds[2], n = 0, values[N_AT_ONCE];
    uint64_t distance, step = delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
    void *target;

    if (delta == 0) {
        return mdf_call_error(call, MDF_VALUE, "delta is 0");
    }
    if (delta > 0 ? start < limit : start > limit) {
        distance = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
        distance = (distance - 1) / step + 1;
        n = distance > INT64_MAX ? INT64_MAX : (int64_t)distance; /* which no memory holds */
    }
    target = mdf_call_output(call, 0, dtype, 1, &n);
    for (int64_t first = 0; target != NULL && first < n; first += N_AT_ONCE) {
        for (int64_t i = 0; i < n_at_once(n - first); i++) {
            values[i] = (int64_t)((uint64_t)start + (uint64_t)(first + i) * (uint64_t)delta);
        }
        mdf_convert_elements(dtype, mdf_element_to_write(dtype, target, (size_t)first), MDF_DTYPE_INT64, values,
                             (size_t)n_at_once(n - first), false);
    }
    return target != NULL;
}

static bool range_of_reals(struct mdf_call *call, mdf_dtype dtype, const double bounds[3])
{
    double start = bounds[0], delta = bounds[2], count = ceil((bounds[1] - start) / delta), values[N_AT_ONCE];
    int64_t n;
    void *target;

    if (!(delta < 0 || delta > 0) || isnan(count)) {
        return mdf_call_error(call, MDF_VALUE, "there is no range from %g to %g by %g", start, bounds[1], delta);
    }
    if (count >= 0x1p62) {
        return mdf_call_error(call, MDF_LIMIT, "a range from %g to %g by %g has too many elements", start, bounds[1], delta);
    }
    n = count > 0 ? (int64_t)count : 0;
    target = mdf_call_output(call, 0, dtype, 1, &n);
    for (int64_t first = 0; target != NULL && first < n; first += N_AT_ONCE) {
        for (int64_t i = 0; i < n_at_once(n - first); i++) {
            values[i] = start + (double)(first + i) * delta;
        }
        mdf_convert_elements(dtype, mdf_element_to_write(dtype, target, (size_t)first), MDF_DTYPE_FLOAT64, values,
                             (size_t)n_at_once(n - first), false);
    }
    return target != NULL;
}

static bool range(struct mdf_call *call)
{
    const struct range_settings *settings = call->settings;
    const struct mdf_value *bounds[3];
    int64_t integers[3];
    double reals[3];
    char kind;

    for (size_t i = 0; i < 3; i++) {
        bounds[i] = mdf_call_tensor(call, i);
        if (bounds[i] == NULL) {
            return false;
        }
        kind = mdf_dtype_kind((mdf_dtype)bounds[i]->dtype);
        if (bounds[i]->length != 1 || bounds[i]->dtype != bounds[0]->dtype || kind == 's' || kind == 'c') {
            return mdf_call_error(call, MDF_TYPE, "start, limit and delta must be numbers of one type");
        }
        integers[i] = mdf_element_to_int64((mdf_dtype)bounds[i]->dtype, bounds[i]->data);
        reals[i] = mdf_element_to_double((mdf_dtype)bounds[i]->dtype, bounds[i]->data);
    }
    /* It has no effect on other types. */
    if (mdf_dtype_is_half((mdf_dtype)bounds[0]->dtype) && settings->stash_type != MDF_NOT_GIVEN && settings->stash_type != 1 &&
        settings->stash_type != 11) {
        return mdf_call_error(call, MDF_VALUE, "stash_type %lld is neither 1 (float) nor 11 (double)",
                              (long long)settings->stash_type);
    }
    /* Reals are computed in float64, whatever the stash type, and rounded once. */
    return mdf_dtype_kind((mdf_dtype)bounds[0]->dtype) == 'f' ? range_of_reals(call, (mdf_dtype)bounds[0]->dtype, reals)
                                                              : range_of_integers(call, (mdf_dtype)bounds[0]->dtype, integers);
}

static bool plan_range(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    if (!mdf_routine_room(plan, 1, 0)) {
        return false;
    }
    plan->dtype = (mdf_dtype)call->inputs[0]->dtype;
    plan->function = mdf_dtype_kind(plan->dtype) == 'f' ? "real_range" : "whole_range";
    plan->whole[0] = (int64_t)call->outputs[0]->length;
    return true;
}

/* ------------------------------------------------------------------ EyeLike, Trilu */

struct eye_settings {
    mdf_dtype dtype;
    int64_t k;
};

static const struct mdf_setting eye_table[] = {{"dtype", MDF_SETTING_DTYPE, offsetof(struct eye_settings, dtype)},
                                               {"k", MDF_SETTING_INT, offsetof(struct eye_settings, k)},
                                               {NULL, MDF_SETTING_INT, 0}};

static bool eye_like(struct mdf_call *call)
{
    const struct eye_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t k = settings->k; /* 0 by default */
    _Alignas(16) char one[16];
    const uint8_t truth = 1;
    const int64_t *shape;
    mdf_dtype dtype;
    void *target;

    if (data == NULL) {
        return false;
    }
    if (data->rank != 2) {
        return mdf_call_error(call, MDF_SHAPE, "the input must be a matrix, not of rank %u", data->rank);
    }
    shape = mdf_value_shape(data);
    dtype = settings->dtype != MDF_DTYPE_NONE ? settings->dtype : (mdf_dtype)data->dtype;
    if (!mdf_convert_elements(dtype, one, MDF_DTYPE_BOOL, &truth, 1, false)) {
        return mdf_call_error(call, MDF_TYPE, "there is no 1 of type %s", mdf_dtype_name(dtype));
    }
    target = mdf_call_output(call, 0, dtype, 2, shape);
    if (target == NULL || !mdf_elements_fill(call, dtype, target, (size_t)shape[0] * (size_t)shape[1], NULL)) {
        return false;
    }
    for (int64_t row = k < 0 && k > -shape[0] ? -k : 0; k > -shape[0] && k < shape[1] && row < shape[0] && row < shape[1] - k;
         row++) {
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, (size_t)(row * shape[1] + row + k)), one, 1);
    }
    return true;
}

struct triangle_settings {
    int64_t upper;
};

static const struct mdf_setting triangle_table[] = {{"upper", MDF_SETTING_INT, offsetof(struct triangle_settings, upper)},
                                                    {NULL, MDF_SETTING_INT, 0}};

static bool triangle(struct mdf_call *call)
{
    const struct triangle_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    mdf_dtype dtype = data != NULL ? (mdf_dtype)data->dtype : MDF_DTYPE_NONE;
    int64_t k = 0, n_rows, n_columns;
    void *target;

    if (data == NULL || (mdf_call_input(call, 1) != NULL && !mdf_call_integer(call, 1, &k))) {
        return false;
    }
    if (data->rank < 2) {
        return mdf_call_error(call, MDF_SHAPE, "the input must be a matrix or several, not of rank %u", data->rank);
    }
    target = mdf_call_output(call, 0, dtype, data->rank, mdf_value_shape(data));
    if (target == NULL || data->length == 0) {
        return target != NULL;
    }
    n_rows = mdf_value_shape(data)[data->rank - 2];
    n_columns = mdf_value_shape(data)[data->rank - 1];
    k = mdf_clamp(k, -n_rows, n_columns);
    for (size_t row = 0; row < data->length / (size_t)n_columns; row++) {
        /* the first column of the upper triangle; the lower one goes up to and including diagonal k */
        int64_t first = mdf_clamp((int64_t)(row % (size_t)n_rows) + k + (settings->upper == 0), 0, n_columns);
        size_t start = row * (size_t)n_columns, kept = settings->upper == 0 ? start : start + (size_t)first;
        size_t n_kept = (size_t)(settings->upper == 0 ? first : n_columns - first),
               zeroed = settings->upper == 0 ? start + (size_t)first : start;

        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, kept), mdf_element_at(dtype, data->data, kept),
                          n_kept);
        if (!mdf_elements_fill(call, dtype, mdf_element_to_write(dtype, target, zeroed), (size_t)n_columns - n_kept, NULL)) {
            return false;
        }
    }
    return true;
}

static bool plan_triangle(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct triangle_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0], *k = call->n_inputs > 1 ? call->inputs[1] : NULL;

    if (k == NULL || k->dtype != MDF_DTYPE_INT64 || k->length != 1 || data->rank < 2 || data->length == 0 ||
        !mdf_routine_room(plan, 4, 0)) {
        return false;
    }
    plan->function = "triangle";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[1] = mdf_value_shape(data)[data->rank - 2];
    plan->whole[2] = mdf_value_shape(data)[data->rank - 1];
    plan->whole[0] = (int64_t)data->length / plan->whole[2];
    plan->whole[3] = settings->upper != 0;
    return true;
}

const struct mdf_operator mdf_operators_generate[] = {
    {"Constant", 1, 99, constant, constant_table, sizeof(struct constant_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = mdf_derivatives_flat, .infer = &mdf_rule_constant},
    {"ConstantOfShape", 9, 99, constant_of_shape, fill_table, sizeof(struct fill_settings), MDF_OPERATOR_PURE, NULL,
     .form = MDF_FORM_FILL, .derivatives = mdf_derivatives_flat, .infer = &mdf_rule_constant_of_shape},
    {"Range", 11, 99, range, range_table, sizeof(struct range_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives = MDF_DERIVATIVES({0, "numpy.sum(dy)"}, {1, NULL}, {2, "numpy.sum(dy * numpy.arange(y.size))"}),
     .infer = &mdf_rule_range,
     .routine = &(const struct mdf_routine){plan_range, .takes_halves = true,
                                            .why = "a range has not as many numbers as when the model was compiled"}},
    {"EyeLike", 9, 99, eye_like, eye_table, sizeof(struct eye_settings), MDF_OPERATOR_PURE, NULL, .form = MDF_FORM_OF_SHAPE,
     .derivatives = mdf_derivatives_flat, .infer = &mdf_rule_like},
    {"Trilu", 14, 99, triangle, triangle_table, sizeof(struct triangle_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .zeros = true), .infer = &mdf_rule_same, .routine = MDF_ROUTINE(plan_triangle, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
