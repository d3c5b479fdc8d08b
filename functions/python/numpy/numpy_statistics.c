/* numpy_statistics.c - numpy's functions of ordered values: unique searchsorted digitize, interp bincount.
 *
 * Source: numpy 2.4, "Set routines", "searchsorted", "interp". */
#include "functions/kernel/derivatives.h"
#include "functions/folds/ordering.h"
#include "functions/python/numpy/numpy_rows.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

enum { SLOT_ORDER = MDF_SLOT_OWN + 3, SLOT_RESULTS, SLOT_KEYS };

/* ------------------------------------------------------------------ unique */

/* Whether two elements of an array are equal; NaN equals NaN. */
static bool same_element(const struct mdf_value *array, int64_t a, int64_t b)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    const void *x = mdf_element_at(dtype, array->data, (size_t)a), *y = mdf_element_at(dtype, array->data, (size_t)b);
    double u, v;

    if (dtype == MDF_DTYPE_STRING) {
        return mdf_string_compare(*(char *const *)x, *(char *const *)y) == 0;
    }
    if (mdf_dtype_kind(dtype) != 'f') {
        return memcmp(x, y, mdf_dtype_size(dtype)) == 0;
    }
    u = mdf_element_to_double(dtype, x);
    v = mdf_element_to_double(dtype, y);
    return u == v || (isnan(u) && isnan(v));
}

/* What unique yields besides the elements. */
struct unique {
    int64_t *first, *inverse, *counts;
};

/* Goes through the elements in order; the number of different ones. */
static size_t number_unique(const struct mdf_context *context, const struct mdf_value *array, const int64_t *order,
                            struct unique *unique)
{
    size_t n = 0;

    for (size_t i = 0; i < array->length && !mdf_should_stop_at(context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (i == 0 || !same_element(array, order[i - 1], order[i])) {
            unique->first[n] = order[i];
            unique->counts[n++] = 0;
        }
        unique->counts[n - 1]++;
        unique->inverse[order[i]] = (int64_t)n - 1;
    }
    return n;
}

static bool make_unique(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array,
                        const struct unique *unique, size_t n)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;
    int64_t size = (int64_t)n;
    void *elements = mdf_python_make(call, target, dtype, mdf_numpy_strength(array), 1, &size);

    for (size_t i = 0; elements != NULL && i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, elements, i),
                          mdf_element_at(dtype, array->data, (size_t)unique->first[i]), 1);
    }
    return elements != NULL;
}

static bool make_integers(struct mdf_call *call, struct mdf_value *target, const int64_t *integers, size_t rank,
                          const int64_t *shape)
{
    int64_t *elements = mdf_python_make(call, target, MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, rank, shape);

    if (elements != NULL && target->length > 0) {
        memcpy(elements, integers, target->length * sizeof *elements);
    }
    return elements != NULL;
}

/* "ar return_index= return_inverse= return_counts=": the elements alone, or a list of what is asked for. */
static bool yield_unique(struct mdf_call *call, const struct mdf_value *array, const struct unique *unique, size_t n)
{
    struct mdf_value *target = mdf_call_target(call, 0), *items;
    bool index, inverse, counts, done;
    int64_t size = (int64_t)n;
    size_t used = 1;

    if (!mdf_python_truth(call, 1, false, &index) || !mdf_python_truth(call, 2, false, &inverse) ||
        !mdf_python_truth(call, 3, false, &counts)) {
        return false;
    }
    if (!index && !inverse && !counts) {
        return make_unique(call, target, array, unique, n);
    }
    items = mdf_python_make_list(call, target, 1 + (size_t)index + inverse + counts);
    done = items != NULL && make_unique(call, &items[0], array, unique, n);
    if (index) {
        done = done && make_integers(call, &items[used++], unique->first, 1, &size);
    }
    if (inverse) {
        done = done && make_integers(call, &items[used++], unique->inverse, array->rank, mdf_value_shape(array));
    }
    return done && (!counts || make_integers(call, &items[used], unique->counts, 1, &size));
}

static bool run_unique(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    struct mdf_value *slots = mdf_python_slots(call);
    int64_t *order, size;
    struct unique unique;
    size_t n;

    if (array == NULL || slots == NULL || mdf_dtype_kind((mdf_dtype)array->dtype) == 'c') {
        return array != NULL && slots != NULL && mdf_python_refuse(call, array, NULL);
    }
    size = (int64_t)array->length;
    if (__builtin_mul_overflow(size, 4, &size)) {
        return mdf_call_out_of_memory(call);
    }
    order = mdf_python_make(call, &slots[SLOT_ORDER], MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &size);
    if (order == NULL || !mdf_numpy_order(call, (mdf_dtype)array->dtype, array->data, array->length, order)) {
        return false;
    }
    unique.first = order + array->length;
    unique.inverse = unique.first + array->length;
    unique.counts = unique.inverse + array->length;
    n = number_unique(call->context, array, order, &unique);
    return yield_unique(call, array, &unique, n);
}

/* ------------------------------------------------------------------ searching */

/* Keys of an array's elements that order as they do; see ordering.h. */
static uint64_t *keys_of(struct mdf_call *call, const struct mdf_value *array, size_t slot)
{
    int64_t size = (int64_t)array->length;
    uint64_t *keys = mdf_python_make(call, &mdf_python_slots(call)[slot], MDF_DTYPE_UINT64, MDF_STRENGTH_LITERAL, 1, &size);

    if (keys != NULL) {
        mdf_order_keys((mdf_dtype)array->dtype, array->data, 1, array->length, false, MDF_NAN_LAST, keys);
    }
    return keys;
}

/* Number of keys below `key`, or with `equal_too` not above it. */
static int64_t count_below(const uint64_t *keys, size_t n, uint64_t key, bool equal_too)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (keys[middle] < key || (equal_too && keys[middle] == key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int64_t)low;
}

#define FALLING_BINS "the bins must rise or fall from first to last"

enum search {
    EQUAL_BELOW = 1, /* what equals a value counts as below it */
    MAY_FALL = 2     /* the array may be ordered the other way round */
};

/* Keys that fall are put the other way round; -1: they neither rise nor fall. */
static int make_rising(uint64_t *keys, size_t n)
{
    bool rises = false, falls = false;

    for (size_t i = 1; i < n; i++) {
        rises = rises || keys[i - 1] < keys[i];
        falls = falls || keys[i - 1] > keys[i];
    }
    for (size_t i = 0; falls && i < n / 2; i++) {
        uint64_t key = keys[i];

        keys[i] = keys[n - 1 - i];
        keys[n - 1 - i] = key;
    }
    return rises && falls ? -1 : falls;
}

/* Output 0: where each of the `values` is to be put into the ordered `array`; `how`: flags of enum search. */
static bool search(struct mdf_call *call, const struct mdf_value *array, const struct mdf_value *values, unsigned how)
{
    const struct mdf_value *operands[2] = {array, values};
    mdf_dtype dtype = mdf_ufunc_dtype(call, MDF_UFUNC_COMPARED, 2, operands);
    const uint64_t *wanted;
    uint64_t *keys;
    int64_t *places;
    int falls = 0;

    if (dtype == MDF_DTYPE_NONE || dtype == MDF_DTYPE_STRING || mdf_dtype_kind(dtype) == 'c') {
        return dtype != MDF_DTYPE_NONE && mdf_python_refuse(call, array, NULL);
    }
    if (array->rank != 1) {
        return mdf_call_error(call, MDF_SHAPE, "the ordered array has rank %zu, not 1", (size_t)array->rank);
    }
    array = mdf_python_array_of(call, array, dtype, MDF_SLOT_OPERANDS);
    values = array == NULL ? NULL : mdf_python_array_of(call, values, dtype, MDF_SLOT_OPERANDS + 1);
    keys = values == NULL ? NULL : keys_of(call, array, SLOT_KEYS);
    falls = keys != NULL && (how & MAY_FALL) != 0 ? make_rising(keys, array->length) : 0;
    if (falls < 0) {
        return mdf_call_error(call, MDF_VALUE, FALLING_BINS);
    }
    wanted = keys == NULL ? NULL : keys_of(call, values, SLOT_ORDER);
    places = wanted == NULL ? NULL
                            : mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, values->rank,
                                              mdf_value_shape(values));
    for (size_t i = 0; places != NULL && i < values->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK);
         i++) {
        int64_t below = count_below(keys, array->length, wanted[i], (how & EQUAL_BELOW) != 0);

        places[i] = falls ? (int64_t)array->length - below : below;
    }
    return places != NULL;
}

/* order_routine.inc; `at`: which input the ordered array is. */
static bool plan_search(struct mdf_call *call, size_t at, unsigned how, struct mdf_routine_plan *plan)
{
    const struct mdf_value *const operands[2] = {call->inputs[at], call->inputs[1 - at]};
    bool is_real = mdf_dtype_kind((mdf_dtype)operands[0]->dtype) == 'f' || mdf_dtype_kind((mdf_dtype)operands[1]->dtype) == 'f';

    if (operands[0]->kind != MDF_KIND_TENSOR || operands[0]->rank != 1 || operands[1]->kind != MDF_KIND_TENSOR ||
        (operands[0]->dtype != operands[1]->dtype && !is_real) || !mdf_routine_room(plan, 7, 0)) {
        return false;
    }
    plan->dtype = mdf_ufunc_dtype(call, MDF_UFUNC_COMPARED, 2, operands);
    plan->function = "searched";
    plan->whole[0] = (int64_t)operands[0]->length;
    plan->whole[1] = (int64_t)operands[1]->length;
    plan->whole[2] = (how & EQUAL_BELOW) != 0;
    plan->whole[3] = (how & MAY_FALL) != 0;
    plan->whole[4] = (int64_t)at;
    for (size_t i = 0; i < 2; i++) { /* whole numbers past 2^53 would be others */
        if (call->inputs[i]->dtype != (uint8_t)plan->dtype &&
            (!mdf_dtype_is_real(plan->dtype) ||
             !mdf_routine_kind(call->inputs[i], MDF_DTYPE_NONE, &plan->whole[5 + i]))) {
            return false;
        }
    }
    return true;
}

static bool is_how_known(struct mdf_call *call)
{
    const struct mdf_value *how = mdf_python_given(call, 2);

    return how == NULL || how->data != NULL;
}

static bool read_side(struct mdf_call *call, unsigned *how)
{
    const struct mdf_value *side = mdf_python_given(call, 2);
    size_t length;
    const char *text = side == NULL ? "left" : mdf_python_text(side, &length);

    if (strcmp(text, "left") != 0 && strcmp(text, "right") != 0) {
        return mdf_call_error(call, MDF_VALUE, "the side is 'left' or 'right'");
    }
    *how = text[0] == 'r' ? EQUAL_BELOW : 0;
    return true;
}

static bool read_right(struct mdf_call *call, unsigned *how)
{
    bool right;

    if (!mdf_python_truth(call, 2, false, &right)) {
        return false;
    }
    *how = MAY_FALL | (right ? 0 : EQUAL_BELOW);
    return true;
}

static bool run_searchsorted(struct mdf_call *call)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    const struct mdf_value *values = array == NULL ? NULL : mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS + 1);
    unsigned how = 0;

    return values != NULL && read_side(call, &how) && search(call, array, values, how);
}

static bool plan_searchsorted(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    unsigned how = 0;

    return is_how_known(call) && read_side(call, &how) && plan_search(call, 0, how, plan);
}

static bool run_digitize(struct mdf_call *call)
{
    const struct mdf_value *values = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS + 1);
    const struct mdf_value *bins = values == NULL ? NULL : mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS);
    unsigned how = 0;

    return bins != NULL && read_right(call, &how) && search(call, bins, values, how);
}

static bool plan_digitize(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    unsigned how = 0;

    return is_how_known(call) && read_right(call, &how) && plan_search(call, 1, how, plan);
}

#define SEARCH_ROUTINE(plan, why_not) \
    (&(const struct mdf_routine){plan, .why = why_not, .takes_halves = true, .lists = 3, .function = mdf_searched_function})

/* ------------------------------------------------------------------ interpolation, counting */

struct curve {
    const double *x, *y;
    size_t n;
    double left, right;
};

/* The value at `x` of the line through a curve's points, as numpy computes it. */
static double value_at(const struct curve *curve, double x)
{
    size_t low = 0, high = curve->n;
    double slope, value;

    if (isnan(x)) {
        return x;
    }
    if (x > curve->x[curve->n - 1] || x < curve->x[0]) {
        return x < curve->x[0] ? curve->left : curve->right;
    }
    while (low < high) { /* the number of points not above x */
        size_t middle = low + (high - low) / 2;

        if (x >= curve->x[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low = low > 0 ? low - 1 : 0;
    if (low == curve->n - 1 || curve->x[low] == x) {
        return curve->y[low];
    }
    slope = (curve->y[low + 1] - curve->y[low]) / (curve->x[low + 1] - curve->x[low]);
    value = slope * (x - curve->x[low]) + curve->y[low];
    if (isnan(value)) {
        value = slope * (x - curve->x[low + 1]) + curve->y[low + 1];
    }
    return isnan(value) && curve->y[low] == curve->y[low + 1] ? curve->y[low] : value;
}

static const struct mdf_value *real_input(struct mdf_call *call, size_t i, size_t slot)
{
    const struct mdf_value *array = mdf_python_input_array(call, i, slot);

    return array == NULL ? NULL : mdf_python_array_of(call, array, MDF_DTYPE_FLOAT64, slot);
}

static bool run_interp(struct mdf_call *call)
{
    const struct mdf_value *at = real_input(call, 0, MDF_SLOT_OPERANDS), *x, *y;
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0);
    struct mdf_python_type type = {call->context->real, false};
    struct curve curve;
    double *values;

    x = at == NULL ? NULL : real_input(call, 1, MDF_SLOT_OPERANDS + 1);
    y = x == NULL ? NULL : real_input(call, 2, MDF_SLOT_OPERANDS + 2);
    if (y == NULL || slots == NULL) {
        return false;
    }
    if (x->rank != 1 || y->rank != 1 || x->length != y->length || x->length == 0) {
        return mdf_call_error(call, MDF_SHAPE, "the points have %zu and %zu coordinates", x->length, y->length);
    }
    curve.x = x->data;
    curve.y = y->data;
    curve.n = x->length;
    values = mdf_python_make(call, &slots[SLOT_RESULTS], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, at->rank, mdf_value_shape(at));
    if (values == NULL || !mdf_python_real(call, 3, curve.y[0], &curve.left) ||
        !mdf_python_real(call, 4, curve.y[curve.n - 1], &curve.right)) {
        return false;
    }
    for (size_t i = 0; i < at->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        values[i] = value_at(&curve, ((const double *)at->data)[i]);
    }
    return mdf_python_convert(call, target, &slots[SLOT_RESULTS], type);
}

/* Number of bins that the whole numbers need; SIZE_MAX with the error set. */
static size_t count_bins(struct mdf_call *call, const int64_t *numbers, size_t n)
{
    int64_t least;

    if (!mdf_python_integer(call, 2, 0, &least)) {
        return SIZE_MAX;
    }
    for (size_t i = 0; i < n; i++) {
        if (numbers[i] < 0 || numbers[i] == INT64_MAX) {
            mdf_call_error(call, MDF_VALUE, "%lld can not be counted in a bin", (long long)numbers[i]);
            return SIZE_MAX;
        }
        least = numbers[i] >= least ? numbers[i] + 1 : least;
    }
    return least < 0 ? 0 : (size_t)least;
}

/* "x weights= minlength=". */
static bool run_bincount(struct mdf_call *call)
{
    size_t n, n_bins;
    const int64_t *numbers = mdf_python_integers(call, 0, MDF_SLOT_OPERANDS, &n);
    const struct mdf_value *weights =
        numbers != NULL && mdf_python_given(call, 1) != NULL ? real_input(call, 1, MDF_SLOT_OPERANDS + 1) : NULL;
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0);
    struct mdf_python_type type = {call->context->real, false};
    bool weighted = numbers != NULL && mdf_python_given(call, 1) != NULL;
    void *bins;
    int64_t size;

    if (numbers == NULL || slots == NULL || (weighted && weights == NULL)) {
        return false;
    }
    if (weighted && weights->length != n) {
        return mdf_call_error(call, MDF_SHAPE, "%zu weights for %zu numbers", weights->length, n);
    }
    n_bins = count_bins(call, numbers, n);
    size = (int64_t)n_bins;
    bins = n_bins == SIZE_MAX ? NULL
                              : mdf_python_make(call, weighted ? &slots[SLOT_RESULTS] : target,
                                                weighted ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &size);
    if (bins == NULL) {
        return false;
    }
    memset(bins, 0, n_bins * sizeof(int64_t));
    for (size_t i = 0; i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (weighted) {
            ((double *)bins)[numbers[i]] += ((const double *)weights->data)[i];
        } else {
            ((int64_t *)bins)[numbers[i]]++;
        }
    }
    return !weighted || mdf_python_convert(call, target, &slots[SLOT_RESULTS], type);
}

const struct mdf_operator mdf_operators_python_numpy_statistics[] = {
    MDF_FUNCTION("numpy.unique", run_unique, 0, "ar return_index= return_inverse= return_counts=",
                 .derivatives =
                     MDF_DERIVATIVES({0, "numpy.reshape(numpy.matmul(dy, 1.0 * (numpy.expand_dims(y, 1) == numpy.ravel(x0)) / "
                                         "numpy.sum(numpy.expand_dims(y, 1) == numpy.ravel(x0), 1, keepdims=True)), x0.shape)"},
                                     {MDF_DERIVATIVE_ANY, NULL})),
    MDF_FUNCTION("numpy.searchsorted", run_searchsorted, 0, "a v side=", .routine = SEARCH_ROUTINE(plan_searchsorted, NULL),
                 .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.digitize", run_digitize, 0, "x bins right=", .routine = SEARCH_ROUTINE(plan_digitize, FALLING_BINS),
                 .derivatives = mdf_derivatives_flat),
    MDF_FUNCTION("numpy.interp", run_interp, 0, "x xp fp left= right=", .form = MDF_FORM_INTERPOLATE,
                 .meaning = MDF_MEANING(
                     "result", NULL,
                     {"at", "numpy.clip(numpy.searchsorted(x1, x0, 'right') - 1, 0, max(x1.size - 2, 0))", NULL},
                     {"next", "numpy.minimum(at + 1, x1.size - 1)", NULL}, {"x_low", "numpy.take(x1, at)", NULL},
                     {"y_low", "numpy.take(x2, at)", NULL},
                     {"slope", "(numpy.take(x2, next) - y_low) / numpy.where(next > at, numpy.take(x1, next) - x_low, 1.0)", NULL},
                     {"inside", "y_low + (x0 - x_low) * slope", NULL}, {"left", "x2[0] if x3 is None else x3", NULL},
                     {"right", "x2[-1] if x4 is None else x4", NULL},
                     {"result", "numpy.where(x0 < x1[0], left, numpy.where(x0 > x1[-1], right, inside))", NULL})),
    MDF_FUNCTION("numpy.bincount", run_bincount, 0,
                 "x weights= minlength=", .derivatives = MDF_DERIVATIVES({1, "numpy.take(dy, x0)"}, {MDF_DERIVATIVE_ANY, NULL})),
    {NULL}};
