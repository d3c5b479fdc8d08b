/* unique.c - Unique: which elements, or parts along an axis, there are, each once.
 *
 * Comes in: an array. Goes out: the distinct parts, sorted or in the order in which they first occur; where each occurs first;
 * for every part its place in the output; how often each occurs. Parts are compared element by element; NaN equals NaN and is
 * the largest, strings compare by bytes (which is by code points). Source: ONNX Unique 11 and later, numpy.unique. */
#include "functions/folds/ordering.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"

#include <string.h>

struct unique_settings {
    int64_t axis;
    int64_t sorted;
};

static const struct mdf_setting unique_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct unique_settings, axis)},
                                                  {"sorted", MDF_SETTING_INT, offsetof(struct unique_settings, sorted)},
                                                  {NULL, MDF_SETTING_INT, 0}};

/* The array as parts: part i has `outer` rows of `inner` elements, and each row of the array has all parts side by side. */
struct parts {
    mdf_dtype dtype;
    const void *elements;
    size_t n, outer, inner;
    size_t keys_per_element; /* 2 for complex numbers, 0 for strings */
    uint64_t *keys;          /* in the order of the elements; real before imaginary */
};

/* What is known of the groups of equal parts; all arrays have n_parts entries. */
struct groups {
    size_t n;
    int64_t *order; /* parts, sorted; of equal ones the first comes first */
    int64_t *spare;
    int64_t *of_part; /* the group of each part */
    int64_t *first;   /* the first part of each group */
    int64_t *count;
};

static int compare_keys(const uint64_t *a, const uint64_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

static int compare_parts(const void *context, int64_t a, int64_t b)
{
    const struct parts *parts = context;

    for (size_t row = 0; row < parts->outer; row++) {
        size_t a_first = (row * parts->n + (size_t)a) * parts->inner, b_first = (row * parts->n + (size_t)b) * parts->inner;
        int order = 0;

        if (parts->keys_per_element > 0) {
            order = compare_keys(parts->keys + a_first * parts->keys_per_element, parts->keys + b_first * parts->keys_per_element,
                                 parts->inner * parts->keys_per_element);
        }
        for (size_t i = 0; parts->keys_per_element == 0 && order == 0 && i < parts->inner; i++) {
            order =
                mdf_string_compare(((char *const *)parts->elements)[a_first + i], ((char *const *)parts->elements)[b_first + i]);
        }
        if (order != 0) {
            return order;
        }
    }
    return 0;
}

/* Writes the keys of all elements into scratch. */
static bool make_keys(struct mdf_call *call, const struct mdf_value *data, struct parts *parts)
{
    char kind = mdf_dtype_kind(parts->dtype);
    size_t n = data->length;

    parts->keys_per_element = kind == 's' ? 0 : kind == 'c' ? 2 : 1;
    if (!mdf_size_multiply(n, parts->keys_per_element, &n) || n == SIZE_MAX) {
        return mdf_call_out_of_memory(call);
    }
    parts->keys = mdf_call_scratch(call, MDF_SCRATCH_FIRST, MDF_DTYPE_UINT64, n + 1);
    if (parts->keys == NULL) {
        return false;
    }
    if (kind == 'c') { /* real and imaginary parts alternate, in the array as among the keys */
        mdf_order_keys(parts->dtype == MDF_DTYPE_COMPLEX64 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64, data->data, 1, n, false,
                       MDF_NAN_LAST, parts->keys);
    } else if (kind != 's') {
        mdf_order_keys(parts->dtype, data->data, 1, n, false, MDF_NAN_LAST, parts->keys);
    }
    return true;
}

/* Replaces the groups' order by that of their first parts. */
static void order_by_occurrence(size_t n_parts, struct groups *groups)
{
    memset(groups->spare, -1, n_parts * sizeof *groups->spare); /* old group -> new group */
    groups->n = 0;
    for (size_t part = 0; part < n_parts; part++) {
        int64_t *renamed = &groups->spare[groups->of_part[part]];

        if (*renamed < 0) {
            *renamed = (int64_t)groups->n;
            groups->first[groups->n] = (int64_t)part;
            groups->count[groups->n++] = 0;
        }
        groups->of_part[part] = *renamed;
        groups->count[*renamed]++;
    }
}

static bool make_groups(struct mdf_call *call, const struct parts *parts, bool sorted, struct groups *groups)
{
    size_t n = parts->n, n_room;
    int64_t *room;

    if (!mdf_size_multiply(n, 5, &n_room) || n_room == SIZE_MAX) {
        return mdf_call_out_of_memory(call);
    }
    room = mdf_call_scratch(call, MDF_SCRATCH_SECOND, MDF_DTYPE_INT64, n_room + 1);
    if (room == NULL) {
        return false;
    }
    *groups = (struct groups){0, room, room + n, room + 2 * n, room + 3 * n, room + 4 * n};
    for (size_t i = 0; i < n; i++) {
        groups->order[i] = (int64_t)i;
    }
    if (parts->outer == 1 && parts->inner == 1 && parts->keys_per_element == 1) {
        if (!mdf_sort_by_keys(call->context->stop, groups->order, groups->spare, n, parts->keys)) {
            return false;
        }
    } else if (!mdf_merge_sort(call->context->stop, groups->order, groups->spare, n, compare_parts, parts)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || compare_parts(parts, groups->order[i - 1], groups->order[i]) != 0) {
            groups->first[groups->n] = groups->order[i];
            groups->count[groups->n++] = 0;
        }
        groups->of_part[groups->order[i]] = (int64_t)groups->n - 1;
        groups->count[groups->n - 1]++;
    }
    if (!sorted && n > 0) {
        order_by_occurrence(n, groups);
    }
    return true;
}

/* Output 0: the first part of each group. */
static bool output_parts(struct mdf_call *call, const struct mdf_value *data, const struct parts *parts,
                         const struct groups *groups, bool flat, size_t axis)
{
    size_t rank = flat ? 1 : data->rank, to = 0;
    struct mdf_box box;
    int64_t *shape;
    void *target;

    if (mdf_call_result(call, 0) == NULL) {
        return true;
    }
    if (!mdf_box_prepare(call, 0, rank, &box, &shape)) {
        return false;
    }
    if (!flat) {
        memcpy(shape, mdf_value_shape(data), rank * sizeof *shape);
    }
    shape[axis] = (int64_t)groups->n;
    target = mdf_call_output(call, 0, parts->dtype, rank, shape);
    if (target == NULL || data->length == 0) {
        return target != NULL;
    }
    for (size_t row = 0; row < parts->outer; row++) {
        for (size_t i = 0; i < groups->n; i++, to += parts->inner) {
            size_t from = (row * parts->n + (size_t)groups->first[i]) * parts->inner;

            mdf_elements_copy(call, parts->dtype, mdf_element_to_write(parts->dtype, target, to),
                              mdf_element_at(parts->dtype, parts->elements, from), parts->inner);
        }
    }
    return true;
}

static bool output_integers(struct mdf_call *call, size_t i, const int64_t *integers, size_t n)
{
    int64_t length = (int64_t)n;
    void *target;

    if (mdf_call_result(call, i) == NULL) {
        return true;
    }
    target = mdf_call_output(call, i, MDF_DTYPE_INT64, 1, &length);
    if (target != NULL) {
        mdf_elements_copy(call, MDF_DTYPE_INT64, target, integers, n);
    }
    return target != NULL;
}

static bool unique(struct mdf_call *call)
{
    const struct unique_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    bool flat = settings->axis == MDF_NOT_GIVEN;
    struct groups groups = {0, NULL, NULL, NULL, NULL, NULL};
    struct parts parts;
    size_t axis = 0;

    if (data == NULL || (!flat && !mdf_call_axis(call, settings->axis, data->rank, &axis))) {
        return false;
    }
    parts = (struct parts){(mdf_dtype)data->dtype, data->data, data->length, 1, 1, 0, NULL};
    if (!flat) {
        parts.n = (size_t)mdf_value_shape(data)[axis];
        parts.outer = data->length == 0 ? 0 : mdf_axes_product(mdf_value_shape(data), 0, axis);
        parts.inner = mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    }
    return make_keys(call, data, &parts) && make_groups(call, &parts, settings->sorted != 0, &groups) &&
           output_parts(call, data, &parts, &groups, flat, axis) && output_integers(call, 1, groups.first, groups.n) &&
           output_integers(call, 2, groups.of_part, parts.n) && output_integers(call, 3, groups.count, groups.n);
}

/* How many groups there are, by the outputs that have an item for each; -1: by none. */
static int64_t n_groups_of(const struct mdf_call *call, size_t axis)
{
    static const size_t outputs[] = {0, 1, 3};

    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        if (outputs[i] < call->n_outputs && call->outputs[outputs[i]] != NULL) {
            return (int64_t)mdf_value_shape(call->outputs[outputs[i]])[outputs[i] == 0 ? axis : 0];
        }
    }
    return -1;
}

static bool plan_unique(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct unique_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0];
    bool flat = settings->axis == MDF_NOT_GIVEN || data->rank == 1;
    size_t axis = 0;

    if ((!flat && (data->length == 0 || !mdf_call_axis(call, settings->axis, data->rank, &axis))) ||
        !mdf_routine_room(plan, 5, 0)) {
        return false;
    }
    plan->function = "unique";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = flat ? (int64_t)data->length : mdf_value_shape(data)[axis];
    plan->whole[1] = n_groups_of(call, axis);
    plan->whole[2] = settings->sorted != 0;
    plan->whole[3] = flat ? 1 : (int64_t)mdf_axes_product(mdf_value_shape(data), 0, axis);
    plan->whole[4] = flat ? 1 : (int64_t)mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    plan->work_bytes = 5 * (size_t)plan->whole[0] * sizeof(int64_t);
    return true;
}

const struct mdf_operator mdf_operators_unique[] = {
    {"Unique", 11, 99, unique, unique_table, sizeof(struct unique_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .routine = &(const struct mdf_routine){plan_unique, .takes_halves = true,
                                            .why = "other numbers of elements are equal than when the model was compiled"},
     .derivatives = MDF_DERIVATIVES({0, "gradient.send_back(dy, self1(x0) + 1 if axis is None else "
                                        "numpy.take(gradient.numbers(x0), numpy.int64(self1(x0)), axis), x0)"}),
     .infer = &mdf_rule_unique},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
