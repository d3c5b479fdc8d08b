/* numpy_reduce.c - see numpy_reduce.h: sum prod mean max min any all argmax argmin nanmax nanmin.
 *
 * Sums are added in numpy's order, so that results equal numpy's to the last bit. Source: numpy 2.4, "Statistics", "Sums,
 * products, differences". */
#include "functions/kernel/derivatives.h"
#include "functions/python/numpy/numpy_reduce.h"

#include "functions/elements/element.h"
#include "functions/kernel/fold.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

enum { SLOT_LAID_OUT = MDF_SLOT_OWN, SLOT_RESULT, SLOT_AXES };

#define ELEMENT double
#define WIDE double
#define REAL
#define NAME(x) x##_float64
#include "functions/python/numpy/numpy_reduce.inc"

#define ELEMENT float
#define WIDE float
#define REAL
#define NAME(x) x##_float32
#include "functions/python/numpy/numpy_reduce.inc"

#define ELEMENT int64_t
#define WIDE uint64_t
#define NAME(x) x##_int64
#include "functions/python/numpy/numpy_reduce.inc"

#define ELEMENT uint64_t
#define WIDE uint64_t
#define NAME(x) x##_uint64
#include "functions/python/numpy/numpy_reduce.inc"

/* ------------------------------------------------------------------ layout */

mdf_dtype mdf_numpy_carrier(mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'b':
    case 'i':
        return MDF_DTYPE_INT64;
    case 'u':
        return MDF_DTYPE_UINT64;
    case 'f':
        return dtype == MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
    default:
        return MDF_DTYPE_NONE;
    }
}

const struct mdf_value *mdf_numpy_carried(struct mdf_call *call, const struct mdf_value *array, mdf_dtype dtype)
{
    array = mdf_python_array_of(call, array, dtype, MDF_SLOT_OPERANDS);
    return array == NULL ? NULL : mdf_python_array_of(call, array, mdf_numpy_carrier(dtype), MDF_SLOT_OPERANDS);
}

/* Marks the axes that are reduced. */
static bool read_axes(struct mdf_call *call, size_t rank, const struct mdf_value *axis, bool *reduced)
{
    const struct mdf_value *axes;
    size_t at;

    for (size_t i = 0; i < rank; i++) {
        reduced[i] = axis == NULL;
    }
    if (axis == NULL) {
        return true;
    }
    axes = mdf_python_array_of(call, axis, MDF_DTYPE_INT64, SLOT_AXES);
    for (size_t i = 0; axes != NULL && i < axes->length; i++) {
        if (rank == 0 && mdf_numpy_is_only_axis(((const int64_t *)axes->data)[i])) {
            continue;
        }
        if (!mdf_call_axis(call, ((const int64_t *)axes->data)[i], rank, &at)) {
            return false;
        }
        if (reduced[at]) {
            return mdf_call_error(call, MDF_VALUE, "axis %zu is named twice", at);
        }
        reduced[at] = true;
    }
    return axes != NULL;
}

/* Sizes of rows and of the result; whether the items of rows are adjacent as they are. */
static bool measure(const struct mdf_value *array, const bool *reduced, bool keeps_axes, int64_t *result_shape,
                    struct mdf_rows *rows)
{
    const int64_t *shape = mdf_value_shape(array);
    bool adjacent = true, in_segment = true;

    rows->n_rows = rows->n_items = rows->segment = 1;
    rows->rank = 0;
    rows->shape = result_shape;
    for (size_t axis = 0; axis < array->rank; axis++) {
        if (!reduced[axis] || keeps_axes) {
            result_shape[rows->rank++] = reduced[axis] ? 1 : shape[axis];
        }
    }
    for (size_t axis = array->rank; axis-- > 0;) {
        if (shape[axis] == 1) {
            continue;
        }
        if (reduced[axis]) {
            adjacent = adjacent && in_segment;
            rows->n_items *= (size_t)shape[axis];
            rows->segment *= in_segment ? (size_t)shape[axis] : 1;
        } else {
            in_segment = false;
            rows->n_rows *= (size_t)shape[axis];
        }
    }
    return adjacent;
}

/* Copies the array with the reduced axes behind the others. */
static bool rearrange(struct mdf_call *call, const struct mdf_value *array, const bool *reduced, struct mdf_rows *rows)
{
    struct mdf_value *slots = mdf_python_slots(call);
    size_t rank = array->rank, n = 0;
    int64_t *strides, length = (int64_t)array->length;
    struct mdf_box box;
    void *elements;

    if (slots == NULL || !mdf_box_prepare(call, rank, rank, &box, &strides)) {
        return false;
    }
    elements = mdf_python_make(call, &slots[SLOT_LAID_OUT], (mdf_dtype)array->dtype, MDF_STRENGTH_LITERAL, 1, &length);
    if (elements == NULL) {
        return false;
    }
    mdf_strides(rank, mdf_value_shape(array), strides);
    for (size_t axis = 0; axis < 2 * rank; axis++) {
        size_t own = axis % rank;

        if (reduced[own] == (axis >= rank)) {
            box.shape[n] = mdf_value_shape(array)[own];
            box.source_strides[n++] = strides[own];
        }
    }
    mdf_strides(rank, box.shape, box.target_strides);
    mdf_box_copy(call, &box, (mdf_dtype)array->dtype, elements, array->data);
    rows->items = elements;
    return true;
}

bool mdf_numpy_lay_out(struct mdf_call *call, const struct mdf_value *array, const struct mdf_value *axis, bool keeps_axes,
                       struct mdf_rows *rows)
{
    size_t rank = array->rank;
    int64_t *shape = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_INT64, 2 * rank + 1);
    bool *reduced;

    if (shape == NULL) {
        return false;
    }
    reduced = (bool *)(shape + rank);
    if (!read_axes(call, rank, axis, reduced)) {
        return false;
    }
    rows->items = array->data;
    return measure(array, reduced, keeps_axes, shape, rows) || array->length == 0 || rearrange(call, array, reduced, rows);
}

/* ------------------------------------------------------------------ reducing */

static mdf_dtype type_reduced_in(const struct mdf_context *context, const struct mdf_reduction *reduction, mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);
    bool whole = kind == 'b' || kind == 'i' || kind == 'u';

    switch (reduction->types) {
    case MDF_REDUCED_SUM:
        return mdf_python_sum_dtype(dtype);
    case MDF_REDUCED_REAL:
        return whole ? context->real : dtype;
    default:
        return dtype;
    }
}

static mdf_reducer reducer_for(const struct mdf_reduction *reduction, mdf_dtype carrier)
{
    switch (carrier) {
    case MDF_DTYPE_FLOAT32:
        return reduction->of_float32;
    case MDF_DTYPE_FLOAT64:
        return reduction->of_float64;
    case MDF_DTYPE_INT64:
        return reduction->of_int64;
    default:
        return reduction->of_uint64;
    }
}

/* Reduces row by row into a target of the type that the reducer writes. */
static bool reduce_rows(struct mdf_call *call, struct mdf_value *target, const struct mdf_reduction *reduction, mdf_dtype carrier,
                        mdf_dtype written, const struct mdf_rows *rows)
{
    struct mdf_reducing reducing = {rows->n_items, rows->segment, NULL};
    mdf_reducer reducer = reducer_for(reduction, carrier);
    void *results = mdf_python_make(call, target, written, MDF_STRENGTH_LITERAL, rows->rank, rows->shape);

    if (results != NULL) {
        reducing.room = mdf_call_scratch(call, MDF_SCRATCH_AXES, MDF_DTYPE_FLOAT64, reduction->needs_room ? rows->n_items : 0);
    }
    for (size_t i = 0;
         reducing.room != NULL && i < rows->n_rows && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        reducer(&reducing, mdf_element_at(carrier, rows->items, i * rows->n_items), mdf_element_to_write(written, results, i));
    }
    return reducing.room != NULL;
}

/* `target` becomes the reduction of `array` along `axis` (a whole number, a list of them; NULL: all). `dtype`: the type asked
 * for, or none. Uses the slots from MDF_SLOT_OWN to MDF_SLOT_OWN + 2, and operand slot 0. */
static bool reduce_as(struct mdf_call *call, struct mdf_value *target, const struct mdf_reduction *reduction,
                      const struct mdf_value *array, const struct mdf_value *axis, bool keeps_axes, struct mdf_python_type dtype)
{
    mdf_dtype reduced =
        dtype.dtype != MDF_DTYPE_NONE ? dtype.dtype : type_reduced_in(call->context, reduction, (mdf_dtype)array->dtype);
    mdf_dtype carrier = mdf_numpy_carrier(reduced), result = reduction->result != MDF_DTYPE_NONE ? reduction->result : reduced;
    mdf_dtype written = reduction->result != MDF_DTYPE_NONE ? reduction->result : carrier;
    enum mdf_strength strength = dtype.typed ? MDF_STRENGTH_TYPED : mdf_numpy_strength(array);
    const struct mdf_value *carried;
    struct mdf_value *slots;
    struct mdf_rows rows;

    if (carrier == MDF_DTYPE_NONE || reducer_for(reduction, carrier) == NULL) {
        return mdf_python_refuse(call, array, NULL);
    }
    carried = mdf_numpy_carried(call, array, reduced);
    slots = mdf_python_slots(call);
    if (carried == NULL || slots == NULL || !mdf_numpy_lay_out(call, carried, axis, keeps_axes, &rows)) {
        return false;
    }
    if (reduction->needs_items && rows.n_items == 0) {
        return mdf_call_error(call, MDF_VALUE, "there are no items to choose from");
    }
    if (!reduce_rows(call, written == result ? target : &slots[SLOT_RESULT], reduction, carrier, written, &rows)) {
        return false;
    }
    if (written != result && !mdf_value_convert(call->context->memory, target, &slots[SLOT_RESULT], result)) {
        return mdf_call_out_of_memory(call);
    }
    target->strength = (uint8_t)strength;
    return true;
}

/* ------------------------------------------------------------------ kernels */

#define ALL_TYPES(name) name##_float32, name##_float64, name##_int64, name##_uint64
#define REAL_TYPES(name) name##_float32, name##_float64, NULL, NULL
#define NAN_TYPES(name, whole) nan_##name##_float32, nan_##name##_float64, whole##_int64, whole##_uint64

static const struct mdf_reduction numpy_sum = {MDF_REDUCED_SUM, MDF_DTYPE_NONE, ALL_TYPES(sum), false, false};
static const struct mdf_reduction mean = {MDF_REDUCED_REAL, MDF_DTYPE_NONE, REAL_TYPES(mean), false, false};
static const struct mdf_reduction maximum = {MDF_REDUCED_SAME, MDF_DTYPE_NONE, ALL_TYPES(largest), true, false};
static const struct mdf_reduction minimum = {MDF_REDUCED_SAME, MDF_DTYPE_NONE, ALL_TYPES(smallest), true, false};
static const struct mdf_reduction product = {MDF_REDUCED_SUM, MDF_DTYPE_NONE, ALL_TYPES(product), false, false};
static const struct mdf_reduction any = {MDF_REDUCED_SAME, MDF_DTYPE_BOOL, ALL_TYPES(any), false, false};
static const struct mdf_reduction all = {MDF_REDUCED_SAME, MDF_DTYPE_BOOL, ALL_TYPES(all), false, false};
static const struct mdf_reduction position_of_largest = {MDF_REDUCED_SAME, MDF_DTYPE_INT64, ALL_TYPES(position_of_largest), true,
                                                         false};
static const struct mdf_reduction position_of_smallest = {MDF_REDUCED_SAME, MDF_DTYPE_INT64, ALL_TYPES(position_of_smallest),
                                                          true, false};
static const struct mdf_reduction nan_largest = {MDF_REDUCED_SAME, MDF_DTYPE_NONE, NAN_TYPES(largest, largest), true, true};
static const struct mdf_reduction nan_smallest = {MDF_REDUCED_SAME, MDF_DTYPE_NONE, NAN_TYPES(smallest, smallest), true, true};

/* Where a reduction's arguments stand among its formals; SIZE_MAX: it has none. */
struct places {
    size_t dtype, keepdims;
};

static const struct places sum_places = {2, 3}, plain_places = {SIZE_MAX, 2};

static bool reduce(struct mdf_call *call, const struct mdf_reduction *reduction, const struct places *places)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS + 1);
    struct mdf_python_type dtype;
    bool keeps_axes;

    return array != NULL && mdf_python_type(call, places->dtype, &dtype) &&
           mdf_python_truth(call, places->keepdims, false, &keeps_axes) &&
           reduce_as(call, mdf_call_target(call, 0), reduction, array, mdf_python_given(call, 1), keeps_axes, dtype);
}

#define KERNEL(name, reduction, places)               \
    static bool name(struct mdf_call *call)           \
    {                                                 \
        return reduce(call, &(reduction), &(places)); \
    }

KERNEL(run_sum, numpy_sum, sum_places)
KERNEL(run_product, product, sum_places)
KERNEL(run_mean, mean, sum_places)

/* The largest or smallest; of reals as ONNX finds them, in lanes. Of nothing there is none. */
static bool find_extreme(struct mdf_call *call, const struct mdf_reduction *reduction)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS + 1);

    if (array == NULL || mdf_dtype_kind((mdf_dtype)array->dtype) != 'f' || array->length == 0) {
        return array != NULL && reduce(call, reduction, &plain_places);
    }
    if (!mdf_reduce(call, array, 0, NULL)) {
        return false;
    }
    mdf_call_target(call, 0)->strength = (uint8_t)mdf_numpy_strength(array);
    return true;
}

static bool run_max(struct mdf_call *call)
{
    return find_extreme(call, &maximum);
}

static bool run_min(struct mdf_call *call)
{
    return find_extreme(call, &minimum);
}

KERNEL(run_nan_largest, nan_largest, plain_places)
KERNEL(run_nan_smallest, nan_smallest, plain_places)
KERNEL(run_any, any, plain_places)
KERNEL(run_all, all, plain_places)

/* argmax, argmin: of one axis, or of all elements in their order. */
static bool find_position(struct mdf_call *call, const struct mdf_reduction *reduction)
{
    const struct mdf_value *axis = mdf_python_given(call, 1);

    if (axis != NULL && !mdf_value_is_scalar(axis)) {
        return mdf_call_error(call, MDF_TYPE, "the axis is not one whole number");
    }
    return reduce(call, reduction, &plain_places);
}

static bool run_argmax(struct mdf_call *call)
{
    return find_position(call, &position_of_largest);
}

static bool run_argmin(struct mdf_call *call)
{
    return find_position(call, &position_of_smallest);
}

/* ------------------------------------------------------------------ what those see who lower a reduction or write it as C */

/* Where an argument stands among the formals. */
static size_t place_of(const char *formals, const char *argument)
{
    const char *found = strstr(formals, argument);
    size_t place = 0;

    for (; found != NULL && formals < found; formals++) {
        place += *formals == ' ';
    }
    return found != NULL ? place : SIZE_MAX;
}

static bool find_axes(struct mdf_call *call, size_t rank, bool *reduced, bool *keeps)
{
    return mdf_python_truth(call, place_of(call->operator->formals, "keepdims="), false, keeps) &&
           read_axes(call, rank, mdf_python_given(call, 1), reduced);
}

static const struct mdf_fold_way sum_way = {"sum", MDF_FOLD_ZERO, MDF_ELEMENT(kept), MDF_ELEMENT(add)},
                                 product_way = {"product", MDF_FOLD_ONE, MDF_ELEMENT(kept), MDF_ELEMENT(multiply)},
                                 any_way = {"any", MDF_FOLD_ZERO, MDF_ELEMENT(kept), MDF_ELEMENT(logical_or)},
                                 all_way = {"all", MDF_FOLD_ONE, MDF_ELEMENT(kept), MDF_ELEMENT(logical_and)};

#define FOLD(the_way, the_order, ...)                                                                                    \
    .fold = &(const struct mdf_fold)                                                                                     \
    {                                                                                                                    \
        .way = &(the_way), .totals = MDF_FOLD_RESULT, .order = the_order, .after = MDF_ELEMENT(kept), .axes = find_axes, \
        __VA_ARGS__                                                                                                      \
    }

static const struct mdf_fold place_of_largest = {.result = MDF_FOLD_PLACE_OF_LARGEST, .axes = find_axes},
                             place_of_smallest = {.result = MDF_FOLD_PLACE_OF_SMALLEST, .axes = find_axes};

/* Along no axes, (), nothing is reduced. */
#define ALONG "x0, x1, x1 is None)"
#define SPREAD_OF(what) "gradient.spread(" what ", " ALONG
#define SPREAD SPREAD_OF("dy")
/* Each of the largest or smallest gets the same share. */
#define IS_CHOSEN(what) "(x0 == " SPREAD_OF(what) ")"
#define SHARE_OF(what) \
    SPREAD " * " IS_CHOSEN(what) " / " SPREAD_OF("gradient.sum_to(1.0 * " IS_CHOSEN(what) ", gradient.kept(" ALONG ")")
#define SHARE SHARE_OF("y")

const struct mdf_operator mdf_operators_python_numpy_reduce[] = {
    MDF_FUNCTION("numpy.sum", run_sum, MDF_OPERATOR_METHOD,
                 "a axis= dtype= keepdims=! initial=>numpy.add where=?operator.sum_where",
                 FOLD(sum_way, MDF_FOLD_PAIRWISE, .divides = false), .derivatives = MDF_DERIVATIVES({0, SPREAD})),
    MDF_FUNCTION("numpy.prod", run_product, MDF_OPERATOR_METHOD,
                 "a axis= dtype= keepdims=! initial=>numpy.multiply where=?operator.prod_where",
                 FOLD(product_way, MDF_FOLD_IN_ORDER, .divides = false),
                 .derivatives = MDF_DERIVATIVES({0, SPREAD " * gradient.others(" ALONG})),
    MDF_FUNCTION("numpy.mean", run_mean, MDF_OPERATOR_METHOD, "a axis= dtype= keepdims=! where=?operator.mean_where",
                 FOLD(sum_way, MDF_FOLD_PAIRWISE, .divides = true),
                 .derivatives = MDF_DERIVATIVES({0, SPREAD " * (y.size / max(x0.size, 1))"}), .called = " avg "),
    MDF_FUNCTION("numpy.max", run_max, MDF_OPERATOR_METHOD, "a axis= keepdims=! initial=>numpy.maximum",
                 FOLD(mdf_fold_ways[MDF_FOLD_WAY_maximum], MDF_FOLD_LANES, .needs_items = true),
                 .derivatives = MDF_DERIVATIVES({0, SHARE})),
    MDF_FUNCTION("numpy.amax", run_max, 0, "a axis= keepdims=! initial=>numpy.maximum",
                 FOLD(mdf_fold_ways[MDF_FOLD_WAY_maximum], MDF_FOLD_LANES, .needs_items = true),
                 .derivatives = MDF_DERIVATIVES({0, SHARE})),
    MDF_FUNCTION("numpy.min", run_min, MDF_OPERATOR_METHOD, "a axis= keepdims=! initial=>numpy.minimum",
                 FOLD(mdf_fold_ways[MDF_FOLD_WAY_minimum], MDF_FOLD_LANES, .needs_items = true),
                 .derivatives = MDF_DERIVATIVES({0, SHARE})),
    MDF_FUNCTION("numpy.amin", run_min, 0, "a axis= keepdims=! initial=>numpy.minimum",
                 FOLD(mdf_fold_ways[MDF_FOLD_WAY_minimum], MDF_FOLD_LANES, .needs_items = true),
                 .derivatives = MDF_DERIVATIVES({0, SHARE})),
    MDF_FUNCTION("numpy.any", run_any, MDF_OPERATOR_METHOD, "a axis= keepdims=! where=?operator.any_where",
                 FOLD(any_way, MDF_FOLD_IN_ORDER, .truths = true), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.all", run_all, MDF_OPERATOR_METHOD, "a axis= keepdims=! where=?operator.all_where",
                 FOLD(all_way, MDF_FOLD_IN_ORDER, .truths = true), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.argmax", run_argmax, MDF_OPERATOR_METHOD, "a axis= keepdims=!", .fold = &place_of_largest,
                 .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.argmin", run_argmin, MDF_OPERATOR_METHOD, "a axis= keepdims=!", .fold = &place_of_smallest,
                 .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.nanmax", run_nan_largest, 0, "a axis= keepdims=!",
                 FOLD(mdf_fold_ways[MDF_FOLD_WAY_maximum], MDF_FOLD_IN_ORDER, .needs_items = true, .skips_nan = true),
                 .derivatives = MDF_DERIVATIVES({0, SHARE})),
    MDF_FUNCTION("numpy.nanmin", run_nan_smallest, 0, "a axis= keepdims=!",
                 FOLD(mdf_fold_ways[MDF_FOLD_WAY_minimum], MDF_FOLD_IN_ORDER, .needs_items = true, .skips_nan = true),
                 .derivatives = MDF_DERIVATIVES({0, SHARE})),
    {NULL}};
