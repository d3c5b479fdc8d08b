/* numpy_join.c - numpy's functions that join arrays and split them: concatenate stack vstack hstack dstack column_stack append,
 * split array_split, meshgrid.
 *
 * The arrays are brought to the type that they share. Source: numpy 2.4, "Joining arrays", "Splitting arrays". */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/python/numpy/numpy_arrange.h"
#include "functions/python/ufunc.h"

#include <string.h>

enum { SLOT_ITEMS = MDF_SLOT_OWN, SLOT_SHAPED, SLOT_ITEM, MOST_PARTS = 10000000 };

/* ------------------------------------------------------------------ items */

/* How an item's shape is changed before it is joined. */
enum shaping { SHAPED_AS_IS, SHAPED_FLAT, SHAPED_RANK_1, SHAPED_RANK_2, SHAPED_RANK_3, SHAPED_COLUMN };

/* The shape of an item of rank below 3 after shaping; its rank. */
static size_t shape_small(enum shaping shaping, const struct mdf_value *item, int64_t shape[3])
{
    int64_t first = item->rank > 0 ? mdf_value_shape(item)[0] : 1, second = item->rank > 1 ? mdf_value_shape(item)[1] : 1;

    shape[0] = first;
    shape[1] = second;
    shape[2] = 1;
    switch (shaping) {
    case SHAPED_RANK_2:
        shape[0] = item->rank > 1 ? first : 1;
        shape[1] = item->rank > 1 ? second : first;
        return 2;
    case SHAPED_RANK_3:
        shape[0] = item->rank > 1 ? first : 1;
        shape[1] = item->rank > 1 ? second : first;
        return 3;
    case SHAPED_COLUMN:
        return 2;
    default:
        return item->rank > 1 ? 2 : 1;
    }
}

/* `target` becomes an item in the shape in which it is joined. */
static bool shape_item(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *item, enum shaping shaping)
{
    int64_t shape[3] = {(int64_t)item->length, 1, 1};

    if (shaping == SHAPED_FLAT) {
        return mdf_python_reshape(call, target, item, 1, shape);
    }
    if (shaping == SHAPED_AS_IS || item->rank > 2) {
        return mdf_python_copy(call, target, item);
    }
    return mdf_python_reshape(call, target, item, shape_small(shaping, item, shape), shape);
}

/* Puts value number `i` among the items. */
static bool add_item(struct mdf_call *call, size_t i, const struct mdf_value *value, enum shaping shaping)
{
    const struct mdf_value *array = mdf_python_array(call, value, MDF_SLOT_OPERANDS);
    struct mdf_value *slots = mdf_python_slots(call);

    return array != NULL && slots != NULL && shape_item(call, (struct mdf_value *)slots[SLOT_ITEMS].data + i, array, shaping);
}

/* Makes room for `n` items. */
static bool begin_items(struct mdf_call *call, size_t n)
{
    struct mdf_value *slots = mdf_python_slots(call), *list = slots == NULL ? NULL : &slots[SLOT_ITEMS];

    if (list == NULL) {
        return false;
    }
    return (list->kind == MDF_KIND_LIST && list->length == n) || mdf_python_make_list(call, list, n) != NULL;
}

/* Whether the items are inputs of their own; else the first input is a list of them. */
static bool has_items_as_inputs(const struct mdf_call *call)
{
    return call->operator->of_items == NULL;
}

/* The input behind the items. */
static size_t behind_items(const struct mdf_call *call)
{
    return has_items_as_inputs(call) ? call->n_inputs - 1 : 1;
}

static bool take_inputs(struct mdf_call *call, enum shaping shaping, size_t n)
{
    if (!begin_items(call, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!add_item(call, i, call->inputs[i], shaping)) {
            return false;
        }
    }
    return true;
}

/* Takes the items of a list or the parts of an array; or the inputs, `n_behind` of which are others. */
static bool read_items(struct mdf_call *call, enum shaping shaping, size_t n_behind, size_t *n)
{
    const struct mdf_value *sequence = call->inputs[0];
    struct mdf_value *slots = mdf_python_slots(call);

    if (has_items_as_inputs(call)) {
        *n = call->n_inputs - n_behind;
        return take_inputs(call, shaping, *n);
    }
    if (slots == NULL || !mdf_python_check_iterable(call, sequence)) {
        return false;
    }
    *n = mdf_python_length(sequence);
    if (*n == 0) {
        return mdf_call_error(call, MDF_VALUE, "there is nothing to join");
    }
    if (!begin_items(call, *n)) {
        return false;
    }
    for (size_t i = 0; i < *n; i++) {
        const struct mdf_value *item = &slots[SLOT_ITEM];

        if (sequence->kind == MDF_KIND_LIST) {
            item = &mdf_value_items(sequence)[i];
        } else if (!mdf_python_take_item(call, &slots[SLOT_ITEM], sequence, i)) {
            return false;
        }
        if (!add_item(call, i, item, shaping)) {
            return false;
        }
    }
    return true;
}

/* Brings the items to the type that they share. */
static bool unify_items(struct mdf_call *call, size_t n, enum mdf_strength *strength)
{
    struct mdf_value *items = mdf_python_slots(call)[SLOT_ITEMS].data;
    struct mdf_value met = {.dtype = (uint8_t)mdf_python_dtype_of(call->context, &items[0]), .strength = items[0].strength};

    for (size_t i = 1; i < n; i++) {
        mdf_dtype dtype = mdf_python_promote(call->context, &met, &items[i]);

        if (dtype == MDF_DTYPE_NONE) {
            return mdf_python_refuse(call, &items[0], &items[i]);
        }
        met.dtype = (uint8_t)dtype;
        met.strength = items[i].strength > met.strength ? items[i].strength : met.strength;
    }
    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *converted;

        if (mdf_python_passes_bounds(&items[i], (mdf_dtype)met.dtype)) {
            return mdf_python_out_of_bounds(call, (mdf_dtype)met.dtype);
        }
        converted = mdf_python_array_of(call, &items[i], (mdf_dtype)met.dtype, MDF_SLOT_OPERANDS);

        if (converted == NULL || (converted != &items[i] && !mdf_python_copy(call, &items[i], converted))) {
            return false;
        }
    }
    *strength = met.strength == MDF_STRENGTH_TYPED ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL;
    return true;
}

static const struct mdf_value *item_at(struct mdf_call *call, size_t i)
{
    struct mdf_value *slots = mdf_python_slots(call);

    return slots == NULL ? NULL : (const struct mdf_value *)slots[SLOT_ITEMS].data + i;
}

static bool join_items(struct mdf_call *call, size_t n, int64_t axis, bool new_axis)
{
    enum mdf_strength strength = MDF_STRENGTH_LITERAL;

    if (!unify_items(call, n, &strength) || !mdf_concatenate(call, n, item_at, axis, new_axis)) {
        return false;
    }
    mdf_call_target(call, 0)->strength = (uint8_t)strength;
    return true;
}

/* ------------------------------------------------------------------ joining */

/* "arrays axis=": the first axis where it is not given; None: of the flattened arrays. */
static bool run_concatenate(struct mdf_call *call)
{
    size_t behind = behind_items(call);
    const struct mdf_value *axis = mdf_call_input(call, behind);
    bool flat = axis != NULL && axis->kind == MDF_KIND_NONE;
    int64_t number;
    size_t n;

    return mdf_python_integer(call, behind, 0, &number) && read_items(call, flat ? SHAPED_FLAT : SHAPED_AS_IS, 1, &n) &&
           join_items(call, n, number, false);
}

static bool run_stack(struct mdf_call *call)
{
    int64_t axis;
    size_t n;

    return mdf_python_integer(call, behind_items(call), 0, &axis) && read_items(call, SHAPED_AS_IS, 1, &n) &&
           join_items(call, n, axis, true);
}

static bool run_vstack(struct mdf_call *call)
{
    size_t n;

    return read_items(call, SHAPED_RANK_2, 0, &n) && join_items(call, n, 0, false);
}

static bool run_hstack(struct mdf_call *call)
{
    size_t n;

    return read_items(call, SHAPED_RANK_1, 0, &n) && join_items(call, n, item_at(call, 0)->rank > 1, false);
}

static bool run_dstack(struct mdf_call *call)
{
    size_t n;

    return read_items(call, SHAPED_RANK_3, 0, &n) && join_items(call, n, 2, false);
}

static bool run_column_stack(struct mdf_call *call)
{
    size_t n;

    return read_items(call, SHAPED_COLUMN, 0, &n) && join_items(call, n, 1, false);
}

/* "arr values axis=". */
static bool run_append(struct mdf_call *call)
{
    enum shaping shaping = mdf_python_given(call, 2) == NULL ? SHAPED_FLAT : SHAPED_AS_IS;
    int64_t axis;

    return mdf_python_integer(call, 2, 0, &axis) && begin_items(call, 2) && add_item(call, 0, call->inputs[0], shaping) &&
           add_item(call, 1, call->inputs[1], shaping) && join_items(call, 2, axis, false);
}

/* ------------------------------------------------------------------ splitting */

/* Part `i` of `n_parts` of an axis of a size; parts of even size, the first ones longer where it does not divide. */
static void even_part(int64_t size, int64_t n_parts, int64_t i, int64_t *first, int64_t *last)
{
    int64_t length = size / n_parts, n_longer = size % n_parts;

    *first = i * length + (i < n_longer ? i : n_longer);
    *last = *first + length + (i < n_longer);
}

/* A bound of a slice, as Python reads it. */
static int64_t fit(int64_t bound, int64_t size)
{
    bound = bound < 0 ? (bound < -size ? 0 : bound + size) : bound;
    return bound > size ? size : bound;
}

/* "ary indices_or_sections axis=": a list of parts. */
static bool split(struct mdf_call *call, bool even)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *sections = mdf_python_given(call, 1);
    size_t n, at;
    const int64_t *bounds = array == NULL ? NULL : mdf_python_integers(call, 1, MDF_SLOT_OPERANDS + 1, &n);
    int64_t axis, size, n_parts, first, last;
    struct mdf_value *items;

    if (bounds == NULL || !mdf_python_integer(call, 2, 0, &axis) || !mdf_call_axis(call, axis, array->rank, &at)) {
        return false;
    }
    size = mdf_value_shape(array)[at];
    n_parts = mdf_value_is_scalar(sections) ? bounds[0] : (int64_t)n + 1;
    if (n_parts <= 0 || n_parts > MOST_PARTS || (even && mdf_value_is_scalar(sections) && size % n_parts != 0)) {
        return mdf_call_error(call, MDF_VALUE, "an axis of size %lld can not be split into %lld equal parts", (long long)size,
                              (long long)n_parts);
    }
    items = mdf_python_make_list(call, mdf_call_target(call, 0), (size_t)n_parts);
    for (int64_t i = 0; items != NULL && i < n_parts; i++) {
        if (mdf_value_is_scalar(sections)) {
            even_part(size, n_parts, i, &first, &last);
        } else {
            first = i == 0 ? 0 : fit(bounds[i - 1], size);
            last = i + 1 == n_parts ? size : fit(bounds[i], size);
        }
        last = last < first ? first : last;
        if (!mdf_take_part(call, &items[i], array, at, (size_t)first, (size_t)(last - first), true)) {
            return false;
        }
        items[i].strength = (uint8_t)mdf_numpy_strength(array);
    }
    return items != NULL;
}

static bool run_split(struct mdf_call *call)
{
    return split(call, true);
}

static bool run_array_split(struct mdf_call *call)
{
    return split(call, false);
}

/* ------------------------------------------------------------------ meshgrid */

/* "*xi": of n rows n arrays with an axis for each row, the first two `crossed` in the order y, x. */
static bool make_grids(struct mdf_call *call, bool crossed)
{
    struct mdf_value *slots = mdf_python_slots(call), *items;
    size_t n = call->n_inputs;
    int64_t *shape, *own;

    if (slots == NULL || !take_inputs(call, SHAPED_FLAT, n)) {
        return false;
    }
    shape = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_INT64, 2 * n + 1);
    items = shape == NULL ? NULL : mdf_python_make_list(call, mdf_call_target(call, 0), n);
    if (items == NULL) {
        return false;
    }
    own = shape + n;
    for (size_t i = 0; i < n; i++) {
        shape[crossed && n > 1 && i < 2 ? 1 - i : i] = (int64_t)item_at(call, i)->length;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            own[k] = 1;
        }
        own[crossed && n > 1 && i < 2 ? 1 - i : i] = (int64_t)item_at(call, i)->length;
        if (!mdf_python_reshape(call, &slots[SLOT_SHAPED], item_at(call, i), n, own) ||
            !mdf_numpy_broadcast(call, &items[i], &slots[SLOT_SHAPED], n, shape)) {
            return false;
        }
    }
    return true;
}

static bool run_meshgrid(struct mdf_call *call)
{
    return make_grids(call, true);
}

static bool run_meshgrid_ij(struct mdf_call *call)
{
    return make_grids(call, false);
}

/* The row of a function that joins a list, and what it is where the items of the list are inputs. */
#define JOIN(name, kernel, formals, n_others)                          \
    MDF_FUNCTION(name, kernel, 0, formals,                             \
                 .of_items = &(const struct mdf_operator)MDF_FUNCTION( \
                     name, kernel, 0, NULL, .move = MDF_MOVE(MDF_MOVE_ALL, .n_behind = n_others, .promotes = true)))

const struct mdf_operator mdf_operators_python_numpy_join[] = {
    JOIN("numpy.concatenate", run_concatenate, "arrays axis=", 1),
    JOIN("numpy.concat", run_concatenate, "arrays axis=", 1),
    JOIN("numpy.stack", run_stack, "arrays axis=", 1),
    JOIN("numpy.vstack", run_vstack, "tup", 0),
    JOIN("numpy.hstack", run_hstack, "tup", 0),
    JOIN("numpy.dstack", run_dstack, "tup", 0),
    JOIN("numpy.column_stack", run_column_stack, "tup", 0),
    MDF_FUNCTION("numpy.append", run_append, 0, "arr values axis=", .move = MDF_MOVE(2, .promotes = true)),
    MDF_FUNCTION("numpy.split", run_split, 0, "ary indices_or_sections axis=", .derivatives = mdf_derivatives_parts),
    MDF_FUNCTION("numpy.array_split", run_array_split, 0, "ary indices_or_sections axis=", .derivatives = mdf_derivatives_parts),
    MDF_FUNCTION("numpy.meshgrid", run_meshgrid, 0, "*xi indexing=xy|ij>operator.meshgrid_ij copy=*",
                 .derivatives = mdf_derivatives_parts),
    MDF_FUNCTION("operator.meshgrid_ij", run_meshgrid_ij, 0, "*xi", .derivatives = mdf_derivatives_parts),
    {NULL}};
