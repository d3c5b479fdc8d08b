/* builtins_sequences.c - Python's lists, and its builtin functions of sequences: list tuple range enumerate zip reversed sorted
 * sum min max any all, and the displays [a, b], (a, b) and {a: b}.
 *
 * What yields its items one by one in Python is a list here. Source: the Python library reference, "Built-in Functions". */
#include "functions/kernel/derivatives.h"
#include "functions/folds/ordering.h"
#include "functions/elements/element_helpers.h"
#include "functions/python/python_operations.h"

/* Of an object that an expression writes out: each key is compared with all before it. */
enum { MOST_DICT_ENTRIES = 10000 };

enum { SLOT_ITEM = MDF_SLOT_OWN, SLOT_SUM, SLOT_OTHER_SUM, SLOT_OTHER_ITEM };

/* ------------------------------------------------------------------ lists */

static bool share(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *source)
{
    return mdf_value_share(call->context->memory, target, source) || mdf_call_out_of_memory(call);
}

/* "*items". */
static bool run_build(struct mdf_call *call)
{
    struct mdf_value *items = mdf_python_make_list(call, mdf_call_target(call, 0), call->n_inputs);

    for (size_t i = 0; items != NULL && i < call->n_inputs; i++) {
        if (!share(call, &items[i], call->inputs[i])) {
            return false;
        }
    }
    return items != NULL;
}

/* "*items": key, value, key, value, ... Of one key the last value counts, at the place of the first. */
static bool run_build_dict(struct mdf_call *call)
{
    struct mdf_value *target = mdf_call_target(call, 0);
    struct mdf_value *items = mdf_value_make_dict(call->context->memory, target, call->n_inputs / 2);
    char text[MDF_PYTHON_KIND_TEXT_SIZE];
    size_t k, n = 0;

    if (items == NULL) {
        return mdf_call_out_of_memory(call);
    }
    if (call->n_inputs / 2 > MOST_DICT_ENTRIES) {
        return mdf_call_error(call, MDF_LIMIT, "an object of more than %d entries", MOST_DICT_ENTRIES);
    }
    for (size_t i = 0; i + 1 < call->n_inputs; i += 2) {
        const struct mdf_value *key = call->inputs[i];

        if (!mdf_python_is_string(key)) {
            return mdf_call_error(call, MDF_TYPE, "the key of an object is %s, not a string", mdf_python_kind(key, text));
        }
        for (k = 0; k < n && !mdf_value_equal(&items[2 * k], key); k++) {
        }
        n = k == n ? n + 1 : n;
        if (!share(call, &items[2 * k], key) || !share(call, &items[2 * k + 1], call->inputs[i + 1])) {
            return false;
        }
    }
    target->length = n;
    return true;
}

/* `target` becomes the list of the items of a value, from the last where `backward`. */
static bool list_items(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *iterable, bool backward)
{
    size_t n;
    struct mdf_value *items;

    if (!mdf_python_check_iterable(call, iterable)) {
        return false;
    }
    n = mdf_python_length(iterable);
    if (n > MDF_PYTHON_MAX_ITEMS) {
        return mdf_call_error(call, MDF_LIMIT, "a list of more than %d items", MDF_PYTHON_MAX_ITEMS);
    }
    items = mdf_python_make_list(call, target, n);
    for (size_t i = 0; items != NULL && i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK) ||
            !mdf_python_take_item(call, &items[i], iterable, backward ? n - 1 - i : i)) {
            return false;
        }
    }
    return items != NULL;
}

/* "iterable=". */
static bool run_list(struct mdf_call *call)
{
    struct mdf_value *target = mdf_call_target(call, 0);

    return mdf_call_input(call, 0) == NULL ? mdf_python_make_list(call, target, 0) != NULL
                                           : list_items(call, target, call->inputs[0], false);
}

static bool run_reversed(struct mdf_call *call)
{
    return list_items(call, mdf_call_target(call, 0), call->inputs[0], true);
}

/* "start stop= step=": a single bound is where to stop. */
static bool run_range(struct mdf_call *call)
{
    bool single = mdf_python_given(call, 1) == NULL;
    int64_t start = 0, stop, step, *elements, size;
    uint64_t distance, n = 0;

    if (!mdf_call_integer(call, single ? 0 : 1, &stop) || (!single && !mdf_call_integer(call, 0, &start)) ||
        !mdf_python_integer(call, 2, 1, &step)) {
        return false;
    }
    if (step == 0) {
        return mdf_call_error(call, MDF_VALUE, "a range in steps of zero");
    }
    if (step > 0 ? start < stop : start > stop) {
        distance = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
        n = (distance - 1) / mdf_magnitude(step) + 1;
    }
    if (n > MDF_PYTHON_MAX_ITEMS) {
        return mdf_call_error(call, MDF_LIMIT, "a range of more than %d numbers", MDF_PYTHON_MAX_ITEMS);
    }
    size = (int64_t)n;
    elements = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_INT64, MDF_STRENGTH_PYTHON, 1, &size);
    for (int64_t i = 0; elements != NULL && i < size; i++) {
        elements[i] = (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)step);
    }
    return elements != NULL;
}

/* "iterable start=": pairs of number and item. */
static bool run_enumerate(struct mdf_call *call)
{
    const struct mdf_value *iterable = call->inputs[0];
    struct mdf_value *target = mdf_call_target(call, 0), *items, *pair;
    int64_t start;

    if (!mdf_python_integer(call, 1, 0, &start) || !list_items(call, target, iterable, false)) {
        return false;
    }
    items = target->data;
    for (size_t i = 0; i < target->length && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        pair = mdf_python_make_list(call, &items[i], 2);
        if (pair == NULL || !mdf_python_make_int(call, &pair[0], (int64_t)((uint64_t)start + i)) ||
            !mdf_python_take_item(call, &pair[1], iterable, i)) {
            return false;
        }
    }
    return true;
}

/* "*iterables": as many tuples as the shortest has items. */
static bool run_zip(struct mdf_call *call)
{
    size_t n = call->n_inputs == 0 ? 0 : SIZE_MAX;
    struct mdf_value *items, *tuple;

    for (size_t k = 0; k < call->n_inputs; k++) {
        if (!mdf_python_check_iterable(call, call->inputs[k])) {
            return false;
        }
        n = mdf_python_length(call->inputs[k]) < n ? mdf_python_length(call->inputs[k]) : n;
    }
    items = mdf_python_make_list(call, mdf_call_target(call, 0), n);
    for (size_t i = 0; items != NULL && i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        tuple = mdf_python_make_list(call, &items[i], call->n_inputs);
        for (size_t k = 0; tuple != NULL && k < call->n_inputs; k++) {
            if (!mdf_python_take_item(call, &tuple[k], call->inputs[k], i)) {
                return false;
            }
        }
        if (tuple == NULL) {
            return false;
        }
    }
    return items != NULL;
}

/* ------------------------------------------------------------------ sorted */

struct sorting {
    struct mdf_call *call;
    const struct mdf_value *items;
    bool backward, failed;
};

/* Whether item `a` has to stand behind item `b`. A comparison that fails is remembered; the rest is then left as it is. */
static int must_swap(const void *context, int64_t a, int64_t b)
{
    struct sorting *const *place = context, *sorting = *place;
    const struct mdf_value *x = &sorting->items[a], *y = &sorting->items[b];
    bool behind = false;

    if (!sorting->failed) {
        sorting->failed = !mdf_python_less(sorting->call, sorting->backward ? x : y, sorting->backward ? y : x, &behind);
    }
    return behind;
}

/* The greatest of all goes to the end, then that of the others. */
static void sort_by_neighbours(int64_t *order, size_t n, struct sorting *const *place)
{
    for (size_t end = n; end > 1; end--) {
        for (size_t i = 0; i + 1 < end; i++) {
            int64_t first = order[i];

            if (must_swap(place, order[i], order[i + 1]) != 0) {
                order[i] = order[i + 1];
                order[i + 1] = first;
            }
        }
    }
}

/* "iterable reverse=". */
static bool run_sorted(struct mdf_call *call)
{
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0), *items;
    struct sorting sorting = {.call = call}, *place = &sorting;
    int64_t *order;
    size_t n;

    if (slots == NULL || !mdf_python_truth(call, 1, false, &sorting.backward) ||
        !list_items(call, &slots[SLOT_ITEM], call->inputs[0], false)) {
        return false;
    }
    n = slots[SLOT_ITEM].length;
    sorting.items = slots[SLOT_ITEM].data;
    order = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_INT64, 2 * n + 1);
    if (order == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        order[i] = (int64_t)i;
    }
    if (n <= MDF_SORTED_BY_NEIGHBOURS) {
        sort_by_neighbours(order, n, &place);
    } else if (!mdf_merge_sort(call->context->stop, order, order + n, n, must_swap, &place)) {
        return false;
    }
    items = sorting.failed ? NULL : mdf_python_make_list(call, target, n);
    for (size_t i = 0; items != NULL && i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (!share(call, &items[i], &sorting.items[order[i]])) {
            return false;
        }
    }
    return items != NULL;
}

/* ------------------------------------------------------------------ sum */

/* The sum, in order, of a row of float64: 0 + x[0] + x[1] ... */
static bool sum_row(struct mdf_call *call, const struct mdf_value *row)
{
    double sum = 0, *element = mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_FLOAT64,
                                               (enum mdf_strength)row->strength, 0, NULL);

    for (size_t i = 0; i < row->length; i++) {
        sum += ((const double *)row->data)[i];
    }
    if (element != NULL) {
        *element = sum;
    }
    return element != NULL;
}

/* "iterable start=". */
static bool run_sum(struct mdf_call *call)
{
    const struct mdf_value *iterable = call->inputs[0], *start = mdf_call_input(call, 1);
    struct mdf_value *slots = mdf_python_slots(call), *sum, *next;
    size_t n;

    if (slots == NULL || !mdf_python_check_iterable(call, iterable)) {
        return false;
    }
    n = mdf_python_length(iterable);
    if (start == NULL && n > 0 && iterable->kind == MDF_KIND_TENSOR && iterable->rank == 1 &&
        iterable->dtype == MDF_DTYPE_FLOAT64 && call->context->real == MDF_DTYPE_FLOAT64) {
        return sum_row(call, iterable);
    }
    sum = &slots[SLOT_SUM];
    next = &slots[SLOT_OTHER_SUM];
    if (start != NULL ? !mdf_python_copy(call, sum, start) : !mdf_python_make_int(call, sum, 0)) {
        return false;
    }
    if (mdf_python_is_string(sum)) {
        return mdf_python_refuse(call, sum, NULL);
    }
    for (size_t i = 0; i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        struct mdf_value *done = next;

        if (!mdf_python_take_item(call, &slots[SLOT_ITEM], iterable, i) || !mdf_python_add(call, next, sum, &slots[SLOT_ITEM])) {
            return false;
        }
        next = sum;
        sum = done;
    }
    return mdf_python_copy(call, mdf_call_target(call, 0), sum);
}

/* ------------------------------------------------------------------ min, max, any, all */

/* Item `i` of what is chosen from: the arguments, or the items of the only one. NULL with the error set. */
static const struct mdf_value *candidate(struct mdf_call *call, size_t i, size_t slot)
{
    struct mdf_value *slots = mdf_python_slots(call);

    if (call->n_inputs > 1) {
        return call->inputs[i];
    }
    if (call->inputs[0]->kind == MDF_KIND_LIST) {
        return &mdf_value_items(call->inputs[0])[i];
    }
    return slots != NULL && mdf_python_take_item(call, &slots[slot], call->inputs[0], i) ? &slots[slot] : NULL;
}

/* "*args": the first of the least, or of the greatest. */
static bool choose(struct mdf_call *call, bool greatest)
{
    size_t n = call->n_inputs, best_slot = SLOT_ITEM;
    const struct mdf_value *best, *next;
    bool better;

    if (n == 1) {
        if (!mdf_python_check_iterable(call, call->inputs[0])) {
            return false;
        }
        n = mdf_python_length(call->inputs[0]);
    }
    if (n == 0) {
        return mdf_call_error(call, MDF_VALUE, "there is nothing to choose from");
    }
    best = candidate(call, 0, best_slot);
    for (size_t i = 1; best != NULL && i < n; i++) {
        size_t next_slot = best_slot == SLOT_ITEM ? SLOT_OTHER_ITEM : SLOT_ITEM;

        next = candidate(call, i, next_slot);
        if (next == NULL || !mdf_python_less(call, greatest ? best : next, greatest ? next : best, &better)) {
            return false;
        }
        if (better) {
            best = next;
            best_slot = next_slot;
        }
    }
    return best != NULL && mdf_python_copy(call, mdf_call_target(call, 0), best);
}

static bool run_min(struct mdf_call *call)
{
    return choose(call, false);
}

static bool run_max(struct mdf_call *call)
{
    return choose(call, true);
}

/* Whether an item has the truth `wanted`. */
static bool find_truth(struct mdf_call *call, bool wanted, bool *found)
{
    const struct mdf_value *iterable = call->inputs[0];
    struct mdf_value *slots = mdf_python_slots(call);
    bool truth;

    *found = false;
    if (slots == NULL || !mdf_python_check_iterable(call, iterable)) {
        return false;
    }
    for (size_t i = 0; i < mdf_python_length(iterable) && !*found; i++) {
        if (!mdf_python_take_item(call, &slots[SLOT_ITEM], iterable, i) ||
            !mdf_python_truth_of(call, &slots[SLOT_ITEM], &truth)) {
            return false;
        }
        *found = truth == wanted;
    }
    return true;
}

static bool run_any(struct mdf_call *call)
{
    bool found;

    return find_truth(call, true, &found) && mdf_python_make_bool(call, mdf_call_target(call, 0), found);
}

static bool run_all(struct mdf_call *call)
{
    bool found;

    return find_truth(call, false, &found) && mdf_python_make_bool(call, mdf_call_target(call, 0), !found);
}

/* Each that equals the result gets its share, of several arguments or of the items of one. */
#define SHARE "dy * (numpy.asarray(x) == y) / sum([numpy.sum(numpy.asarray(other) == y) * 1.0 for other in xs])"

const struct mdf_operator mdf_operators_python_builtins_sequences[] = {
    MDF_FUNCTION("build_list", run_build, 0, "*items", .form = MDF_FORM_LIST),
    MDF_FUNCTION("build_tuple", run_build, 0, "*items", .form = MDF_FORM_LIST),
    MDF_FUNCTION("build_dict", run_build_dict, 0, "*items"),
    MDF_FUNCTION("list", run_list, 0, "iterable=", .written_out = MDF_WRITTEN_OUT_ITEMS),
    MDF_FUNCTION("tuple", run_list, 0, "iterable=", .written_out = MDF_WRITTEN_OUT_ITEMS),
    MDF_FUNCTION("range", run_range, 0, "start stop= step="),
    MDF_FUNCTION("enumerate", run_enumerate, 0, "iterable start=", .written_out = MDF_WRITTEN_OUT_NUMBERED),
    MDF_FUNCTION("zip", run_zip, 0, "*iterables", .written_out = MDF_WRITTEN_OUT_TOGETHER),
    MDF_FUNCTION("reversed", run_reversed, 0, "sequence", .written_out = MDF_WRITTEN_OUT_BACKWARD),
    MDF_FUNCTION("sorted", run_sorted, 0, "iterable reverse=", .written_out = MDF_WRITTEN_OUT_SORTED),
    MDF_FUNCTION("sum", run_sum, MDF_OPERATOR_ALIKE,
                 "iterable start=", .derivatives = MDF_DERIVATIVES({0, "dy + numpy.zeros_like(x0)"}, {1, "dy"}),
                 .written_out = MDF_WRITTEN_OUT_SUM),
    MDF_FUNCTION("min", run_min, MDF_OPERATOR_ALIKE, "*args", .derivatives = MDF_DERIVATIVES({MDF_DERIVATIVE_ANY, SHARE}),
                 .form = MDF_FORM_LEAST, .written_out = MDF_WRITTEN_OUT_ARGUMENTS,
                 .nodes = "Where(Less(b, a), b, a)"), /* the first of those that are equal */
    MDF_FUNCTION("max", run_max, MDF_OPERATOR_ALIKE, "*args", .derivatives = MDF_DERIVATIVES({MDF_DERIVATIVE_ANY, SHARE}),
                 .form = MDF_FORM_GREATEST, .written_out = MDF_WRITTEN_OUT_ARGUMENTS,
                 .nodes = "Where(Greater(b, a), b, a)"),
    MDF_FUNCTION("any", run_any, 0, "iterable", .derivatives = mdf_derivatives_flat, .written_out = MDF_WRITTEN_OUT_ANY),
    MDF_FUNCTION("all", run_all, 0, "iterable", .derivatives = mdf_derivatives_flat, .written_out = MDF_WRITTEN_OUT_ALL),
    {NULL}};
