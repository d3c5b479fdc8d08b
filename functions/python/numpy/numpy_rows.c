/* numpy_rows.c - see numpy_rows.h: sort argsort cumsum cumprod.
 *
 * Source: numpy 2.4, "Sorting, searching, and counting", "Sums, products, differences". */
#include "functions/kernel/derivatives.h"
#include "functions/folds/ordering.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"
#include "functions/python/numpy/numpy_arrange.h"
#include "functions/python/numpy/numpy_rows.h"
#include "functions/python/ufunc.h"

#include <string.h>

enum { SLOT_RESULTS = MDF_SLOT_OWN + 3, SLOT_FIRST_PART = MDF_SLOT_OWN + 4, SLOT_LAST_PART };

/* ------------------------------------------------------------------ rows */

/* Copies rows back to where they lie along an axis. */
static bool put_rows(struct mdf_call *call, void *target, const struct mdf_value *rows, const struct mdf_value *array,
                     size_t axis)
{
    size_t rank = array->rank;
    int64_t *strides, stride = mdf_value_shape(array)[axis];
    struct mdf_box box;

    if (!mdf_box_prepare(call, rank, 0, &box, &strides)) {
        return false;
    }
    memcpy(box.shape, mdf_value_shape(array), rank * sizeof *box.shape);
    mdf_strides(rank, box.shape, box.target_strides);
    for (size_t i = rank; i-- > 0;) {
        box.source_strides[i] = i == axis ? 1 : stride;
        stride *= i == axis ? 1 : box.shape[i];
    }
    mdf_box_copy(call, &box, (mdf_dtype)rows->dtype, target, rows->data);
    return true;
}

static bool run_rows(struct mdf_call *call, const struct mdf_value *array, const struct mdf_rows *rows, char *results,
                     mdf_dtype result, mdf_row_function function)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;

    for (size_t i = 0; rows->n_items > 0 && i < rows->n_rows && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK);
         i++) {
        if (!function(call, dtype, mdf_element_at(dtype, rows->items, i * rows->n_items), rows->n_items,
                      mdf_element_to_write(result, results, i * rows->n_items))) {
            return false;
        }
    }
    return true;
}

/* `target` becomes an array of type `result` that has, along `axis` (a whole number; NULL: of the flattened array), what
 * `function` makes of the rows. Uses slots MDF_SLOT_OWN to MDF_SLOT_OWN + 3. */
static bool map_rows(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, const struct mdf_value *axis,
                     mdf_dtype result, mdf_row_function function)
{
    struct mdf_value *slots = mdf_python_slots(call), *made = target;
    int64_t number = -1, length = (int64_t)array->length;
    struct mdf_rows rows;
    size_t at = 0;
    void *results;

    if (slots == NULL || (axis != NULL && !mdf_value_to_int64(axis, &number))) {
        return slots != NULL && mdf_call_error(call, MDF_TYPE, "the axis is not one whole number");
    }
    if (array->rank == 0 && mdf_numpy_is_only_axis(number)) {
        axis = NULL;
    }
    if ((axis != NULL && !mdf_call_axis(call, number, array->rank, &at)) || !mdf_numpy_lay_out(call, array, axis, false, &rows)) {
        return false;
    }
    if (axis != NULL && at + 1 < array->rank) {
        made = &slots[SLOT_RESULTS];
    }
    results = axis == NULL || made != target
                  ? mdf_python_make(call, made, result, mdf_numpy_strength(array), 1, &length)
                  : mdf_python_make(call, made, result, mdf_numpy_strength(array), array->rank, mdf_value_shape(array));
    if (results == NULL || !run_rows(call, array, &rows, results, result, function)) {
        return false;
    }
    if (made == target) {
        return true;
    }
    results = mdf_python_make(call, target, result, mdf_numpy_strength(array), array->rank, mdf_value_shape(array));
    return results != NULL && (array->length == 0 || put_rows(call, results, made, array, at));
}

/* ------------------------------------------------------------------ order */

static int compare_texts(const void *context, int64_t a, int64_t b)
{
    char *const *texts = context;

    return mdf_string_compare(texts[a], texts[b]);
}

bool mdf_numpy_order(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, int64_t *order)
{
    size_t n_words;
    int64_t *spare;
    uint64_t *keys;

    if (!mdf_size_multiply(n, 2, &n_words)) {
        return mdf_call_out_of_memory(call);
    }
    spare = mdf_call_scratch(call, MDF_SCRATCH_AXES, MDF_DTYPE_INT64, n_words);
    if (spare == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (int64_t)i;
    }
    if (dtype == MDF_DTYPE_STRING) {
        return mdf_merge_sort(call->context->stop, order, spare, n, compare_texts, items);
    }
    keys = (uint64_t *)spare + n;
    mdf_order_keys(dtype, items, 1, n, false, MDF_NAN_LAST, keys);
    return mdf_sort_by_keys(call->context->stop, order, spare, n, keys);
}

static bool order_row(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, void *results)
{
    return mdf_numpy_order(call, dtype, items, n, results);
}

static bool sort_row(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, void *results)
{
    int64_t size = (int64_t)n, *order = mdf_python_make(call, &mdf_python_slots(call)[SLOT_FIRST_PART], MDF_DTYPE_INT64,
                                                        MDF_STRENGTH_LITERAL, 1, &size);

    if (order == NULL || !mdf_numpy_order(call, dtype, items, n, order)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, results, i), mdf_element_at(dtype, items, (size_t)order[i]),
                          1);
    }
    return true;
}

/* "a axis=": the axis is the last where it is not given, and none where it is None. */
static bool sort_along(struct mdf_call *call, bool numbers)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *axis = mdf_call_input(call, 1);
    struct mdf_value last = {0};
    const int64_t minus_one = -1;

    if (array == NULL) {
        return false;
    }
    if (mdf_dtype_kind((mdf_dtype)array->dtype) == 'c' || (array->rank == 0 && !numbers)) {
        return mdf_python_refuse(call, array, NULL);
    }
    mdf_value_borrow_tensor(call->context->memory, &last, MDF_DTYPE_INT64, MDF_STRENGTH_PYTHON, 0, NULL, &minus_one);
    return map_rows(call, mdf_call_target(call, 0), array, axis == NULL ? &last : mdf_python_given(call, 1),
                    numbers ? MDF_DTYPE_INT64 : (mdf_dtype)array->dtype, numbers ? order_row : sort_row);
}

static bool run_sort(struct mdf_call *call)
{
    return sort_along(call, false);
}

static bool run_argsort(struct mdf_call *call)
{
    return sort_along(call, true);
}

/* Lines of an array along an axis (NULL: all of it is one): how many one behind the other, elements of one, their distance. */
static bool plan_lines(struct mdf_call *call, const struct mdf_value *axis, struct mdf_routine_plan *plan)
{
    const struct mdf_value *array = call->inputs[0];
    int64_t number;
    size_t at = 0;

    plan->dtype = (mdf_dtype)array->dtype;
    plan->whole[0] = plan->whole[2] = 1;
    plan->whole[1] = (int64_t)array->length;
    if (axis == NULL || array->rank == 0) {
        return true;
    }
    if (axis->data == NULL || !mdf_value_to_int64(axis, &number) || !mdf_call_axis(call, number, array->rank, &at)) {
        return false;
    }
    plan->whole[0] = (int64_t)mdf_axes_product(mdf_value_shape(array), 0, at);
    plan->whole[1] = mdf_value_shape(array)[at];
    plan->whole[2] = (int64_t)mdf_axes_product(mdf_value_shape(array), at + 1, array->rank);
    return true;
}

/* order_routine.inc */
static bool plan_order(struct mdf_call *call, bool numbers, struct mdf_routine_plan *plan)
{
    const int64_t minus_one = -1;
    struct mdf_value last = {0};
    char kind = mdf_dtype_kind((mdf_dtype)call->inputs[0]->dtype);

    mdf_value_borrow_tensor(call->context->memory, &last, MDF_DTYPE_INT64, MDF_STRENGTH_PYTHON, 0, NULL, &minus_one);
    if ((kind != 'f' && kind != 'i' && kind != 'u') || !mdf_routine_room(plan, 6, 0) ||
        !plan_lines(call, mdf_call_input(call, 1) == NULL ? &last : mdf_python_given(call, 1), plan)) {
        return false;
    }
    plan->function = "in_order";
    plan->whole[3] = plan->whole[1];
    plan->whole[5] = numbers;
    plan->work_bytes = 2 * (size_t)plan->whole[1] * sizeof(int64_t);
    return true;
}

static bool plan_sort(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_order(call, false, plan);
}

static bool plan_argsort(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_order(call, true, plan);
}

#define ORDER_ROUTINE(plan) \
    (&(const struct mdf_routine){plan, .by_axis = true, .takes_halves = true, .lists = 1, .function = mdf_in_order_function})

/* ------------------------------------------------------------------ running sums and products */

#define RUNNING(name, type, wide, sign)                                                             \
    static void name(const struct mdf_context *context, const type *items, size_t n, type *results) \
    {                                                                                               \
        type running = items[0];                                                                    \
                                                                                                    \
        results[0] = running;                                                                       \
        for (size_t i = 1; i < n && !mdf_should_stop_at(context, i, MDF_ITEMS_PER_LOOK); i++) {     \
            running = (type)((wide)running sign(wide) items[i]);                                    \
            results[i] = running;                                                                   \
        }                                                                                           \
    }

RUNNING(add_float64, double, double, +)
RUNNING(add_float32, float, float, +)
RUNNING(add_int64, int64_t, uint64_t, +)
RUNNING(multiply_float64, double, double, *)
RUNNING(multiply_float32, float, float, *)
RUNNING(multiply_int64, int64_t, uint64_t, *)

static bool add_row(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, void *results)
{
    if (dtype == MDF_DTYPE_FLOAT64) {
        add_float64(call->context, items, n, results);
    } else if (dtype == MDF_DTYPE_FLOAT32) {
        add_float32(call->context, items, n, results);
    } else {
        add_int64(call->context, items, n, results);
    }
    return true;
}

static bool multiply_row(struct mdf_call *call, mdf_dtype dtype, const void *items, size_t n, void *results)
{
    if (dtype == MDF_DTYPE_FLOAT64) {
        multiply_float64(call->context, items, n, results);
    } else if (dtype == MDF_DTYPE_FLOAT32) {
        multiply_float32(call->context, items, n, results);
    } else {
        multiply_int64(call->context, items, n, results);
    }
    return true;
}

static bool cumulate(struct mdf_call *call, mdf_row_function function)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS + 1), *carried;
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0), *made;
    struct mdf_python_type type;
    mdf_dtype dtype, carrier;

    if (array == NULL || slots == NULL || !mdf_python_type(call, 2, &type)) {
        return false;
    }
    dtype = type.dtype != MDF_DTYPE_NONE ? type.dtype : mdf_python_sum_dtype((mdf_dtype)array->dtype);
    carrier = mdf_numpy_carrier(dtype);
    if (carrier == MDF_DTYPE_NONE) {
        return mdf_python_refuse(call, array, NULL);
    }
    carried = mdf_numpy_carried(call, array, dtype);
    made = carrier == dtype ? target : &slots[SLOT_LAST_PART];
    if (carried == NULL || !map_rows(call, made, carried, mdf_python_given(call, 1), carrier, function)) {
        return false;
    }
    if (made != target && !mdf_value_convert(call->context->memory, target, made, dtype)) {
        return mdf_call_out_of_memory(call);
    }
    target->strength = (uint8_t)(type.typed ? MDF_STRENGTH_TYPED : mdf_numpy_strength(array));
    return true;
}

static bool run_cumsum(struct mdf_call *call)
{
    return cumulate(call, add_row);
}

static bool run_cumprod(struct mdf_call *call)
{
    return cumulate(call, multiply_row);
}

/* Its input has been brought to the type of the result: running_routine.inc. */
static bool plan_running(struct mdf_call *call, bool product, struct mdf_routine_plan *plan)
{
    mdf_dtype dtype = (mdf_dtype)call->outputs[0]->dtype;

    if (mdf_numpy_carrier(dtype) != dtype || call->inputs[0]->dtype != (uint8_t)dtype || !mdf_routine_room(plan, 4, 0)) {
        return false;
    }
    plan->function = "running";
    plan->whole[3] = product;
    return plan_lines(call, mdf_python_given(call, 1), plan);
}

static bool plan_cumsum(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_running(call, false, plan);
}

static bool plan_cumprod(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_running(call, true, plan);
}

#define RUNNING_ROUTINE(plan) (&(const struct mdf_routine){plan, .by_axis = true, .lists = 1, .takes_result_type = true})

static const struct mdf_meaning_scan running_product = {
    "before:first", "item:items", (const struct mdf_meaning_step[]){{"product", "before * item", NULL}, {NULL, NULL, NULL}},
    "product product"};

const struct mdf_operator mdf_operators_python_numpy_rows[] = {
    MDF_FUNCTION("numpy.sort", run_sort, 0, "a axis= kind=quicksort|stable|mergesort|heapsort stable=*",
                 .routine = ORDER_ROUTINE(plan_sort),
                 .derivatives = MDF_DERIVATIVES({0, "gradient.send_back(dy, gradient.along(x0, numpy.argsort(x0, -1 if x1 is "
                                                    "None else x1), -1 if x1 is None else x1), x0)"})),
    MDF_FUNCTION("numpy.argsort", run_argsort, MDF_OPERATOR_METHOD, "a axis= kind=quicksort|stable|mergesort|heapsort stable=*",
                 .routine = ORDER_ROUTINE(plan_argsort), .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.cumsum", run_cumsum, MDF_OPERATOR_METHOD, "a axis= dtype=", .routine = RUNNING_ROUTINE(plan_cumsum),
                 .derivatives =
                     MDF_DERIVATIVES({0, "numpy.reshape(numpy.flip(numpy.cumsum(numpy.flip(dy, x1), x1), x1), x0.shape)"})),
    MDF_FUNCTION("numpy.cumprod", run_cumprod, MDF_OPERATOR_METHOD, "a axis= dtype=", .routine = RUNNING_ROUTINE(plan_cumprod),
                 .meaning =
                     MDF_MEANING("result", NULL, {"items", "numpy.ravel(x0) if x1 is None else numpy.moveaxis(x0, x1, 0)", NULL},
                                 {"first", "numpy.ones(items.shape[1:])", NULL}, {"last all", NULL, &running_product},
                                 {"result", "all if x1 is None else numpy.moveaxis(all, 0, x1)", NULL})),
    {NULL}};
