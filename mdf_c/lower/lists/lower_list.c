/* lower_list.c - lists whose items are known one by one, as [a, b] builds them: no value of the lowered form, but a row of
 * values. An item is taken, or all are laid one behind the other as the array that an operator makes of such a list; where
 * somebody looks at the list itself, its items are outputs (struct mdf_lowered_output). */
#include "functions/kernel/move.h"
#include "functions/python/python.h"
#include "functions/python/python_values.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

/* What the list is now. */
static const struct mdf_value *keep_example(struct lowering *lowering, const mdf_lowered_id *items, size_t n, mdf_dtype dtype)
{
    struct mdf_value *kept = lowering_keep_value(lowering), *values;

    if (kept == NULL) {
        return NULL;
    }
    values = mdf_value_make_list(lowering->memory, kept, n);
    for (size_t i = 0; i < n && values != NULL; i++) {
        if (!mdf_value_copy_apart(lowering->memory, &values[i], lowering_example(lowering, items[i]))) {
            values = NULL;
        }
    }
    if (values == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    kept->dtype = (uint8_t)dtype;
    return kept;
}

mdf_lowered_id lowering_add_list(struct lowering *lowering, const mdf_lowered_id *items, size_t n, mdf_dtype dtype)
{
    const struct mdf_value *example = keep_example(lowering, items, n, dtype);
    mdf_lowered_id id = example != NULL ? lowering_add_placeholder(lowering, example) : MDF_LOWERED_NONE;

    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].items = items;
        lowering->facts[id].n_items = n;
    }
    return id;
}

size_t lowering_list_length(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *example;

    if (id == MDF_LOWERED_NONE || lowering->facts[id].items != NULL) {
        return id == MDF_LOWERED_NONE ? 0 : lowering->facts[id].n_items;
    }
    example = lowering_example(lowering, id);
    return example->kind == MDF_KIND_LIST && example->dtype == MDF_DTYPE_NONE && lowering_is_constant(lowering, id)
               ? mdf_value_n_items(example)
               : 0;
}

const mdf_lowered_id *lowering_items_of(struct lowering *lowering, mdf_lowered_id id)
{
    size_t n = lowering_list_length(lowering, id), i;
    mdf_lowered_id *items;

    if (n == 0 || lowering->facts[id].items != NULL) {
        return n == 0 ? NULL : lowering->facts[id].items;
    }
    items = mdf_arena_array(&lowering->scratch, n, sizeof *items);
    for (i = 0; items != NULL && i < n; i++) {
        items[i] = lowering_keep_constant(lowering, &mdf_value_items(lowering_example(lowering, id))[i]);
        items = items[i] == MDF_LOWERED_NONE ? NULL : items;
    }
    return items;
}

static bool build(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    mdf_lowered_id *items = mdf_arena_array(&lowering->scratch, source->n_inputs, sizeof *items), id;
    bool is_constant = true;

    if (items == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < source->n_inputs; i++) {
        items[i] = lowering_value_of(lowering, scope, source->inputs[i]);
        if (items[i] == MDF_LOWERED_NONE) {
            return false;
        }
        is_constant = is_constant && lowering_is_constant(lowering, items[i]);
    }
    *taken = !is_constant;
    if (is_constant) {
        return true;
    }
    id = lowering_add_list(lowering, items, source->n_inputs, MDF_DTYPE_NONE);
    return id != MDF_LOWERED_NONE && lowering_bind(lowering, scope, source->outputs[0], id);
}

/* The one number that a subscript consists of; false: it is another subscript. */
static bool find_index(const struct lowering *lowering, const struct mdf_code_call *source, mdf_lowered_id index, int64_t *number)
{
    const struct mdf_subscript *subscript = source->settings;
    const struct mdf_value *value = lowering_example(lowering, index);

    if (subscript->n_parts != 1 || subscript->is_tuple || subscript->parts[0].kind != MDF_SUBSCRIPT_INDEX ||
        !lowering_is_constant(lowering, index) || value->kind != MDF_KIND_TENSOR || value->dtype != MDF_DTYPE_INT64 ||
        value->rank != 0) {
        return false;
    }
    memcpy(number, value->data, sizeof *number);
    return true;
}

/* Whether the subscript is a whole number that is not known, of a list of numbers of one type. */
static bool is_index_of_numbers(const struct lowering *lowering, const struct mdf_code_call *source, mdf_lowered_id list,
                                mdf_lowered_id index)
{
    const struct mdf_subscript *subscript = source->settings;
    const struct mdf_value *value = lowering_example(lowering, index),
                           *first = lowering_example(lowering, lowering->facts[list].items[0]);
    size_t n = lowering->facts[list].n_items;

    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *item = lowering_example(lowering, lowering->facts[list].items[i]);

        if (item->kind != MDF_KIND_TENSOR || item->rank != 0 || item->dtype != first->dtype ||
            item->strength != first->strength || item->dtype == MDF_DTYPE_STRING ||
            lowering_is_either(lowering, lowering->facts[list].items[i])) {
            return false;
        }
    }
    return subscript->n_parts == 1 && !subscript->is_tuple && subscript->parts[0].kind == MDF_SUBSCRIPT_INDEX &&
           !lowering_is_constant(lowering, index) && value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_INT64 &&
           value->rank == 0;
}

/* The number at that place of what is an array then. */
static bool take_number(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, mdf_lowered_id list,
                        mdf_lowered_id index)
{
    mdf_lowered_id array = lowering_make_array(lowering, list, false),
                   item = array == MDF_LOWERED_NONE ? array : lowering_item_at(lowering, array, index);

    item = lowering_as_strong(lowering, item, lowering_example(lowering, lowering->facts[list].items[0])->strength);
    return item != MDF_LOWERED_NONE && lowering_bind(lowering, scope, source->outputs[0], item);
}

static bool take_item(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    mdf_lowered_id list = lowering_any_value_of(lowering, scope, source->inputs[0]), index;
    int64_t number, n;

    if (list == MDF_LOWERED_NONE || lowering->facts[list].items == NULL || source->n_inputs != 2) {
        return list != MDF_LOWERED_NONE;
    }
    index = lowering_value_of(lowering, scope, source->inputs[1]);
    n = (int64_t)lowering->facts[list].n_items;
    if (index != MDF_LOWERED_NONE && is_index_of_numbers(lowering, source, list, index)) {
        *taken = true;
        return take_number(lowering, scope, source, list, index);
    }
    if (index == MDF_LOWERED_NONE || !find_index(lowering, source, index, &number) || number < -n || number >= n) {
        return index != MDF_LOWERED_NONE;
    }
    *taken = true;
    return lowering_bind(lowering, scope, source->outputs[0], lowering->facts[list].items[number < 0 ? number + n : number]);
}

mdf_lowered_id lowering_make_array(struct lowering *lowering, mdf_lowered_id list, bool is_numpy)
{
    struct mdf_value array = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if ((lowering_is_constant(lowering, list) || lowering->facts[list].items != NULL) &&
        mdf_value_from_nested_list(lowering->memory, &array, lowering_example(lowering, list)) > 0) {
        array.strength = (uint8_t)(is_numpy ? mdf_numpy_strength(&array) : array.strength);
        id = lowering_is_constant(lowering, list) ? lowering_keep_constant(lowering, &array)
                                                  : lowering_list_as_array(lowering, list, &array);
    }
    mdf_value_clear(lowering->memory, &array);
    return id;
}

static bool take_array(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    mdf_lowered_id list = lowering_any_value_of(lowering, scope, source->inputs[0]);

    if (list == MDF_LOWERED_NONE || lowering->facts[list].items == NULL ||
        (source->n_inputs > 1 && source->inputs[1] != MDF_NO_OPERAND)) {
        return list != MDF_LOWERED_NONE;
    }
    *taken = true;
    return lowering_bind_list_as_array(lowering, scope, source->outputs[0], list, true);
}

bool lowering_list_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    *taken = false;
    if (source->n_inputs == 0 || source->n_outputs != 1 || source->outputs[0] == MDF_NO_OPERAND ||
        source->inputs[0] == MDF_NO_OPERAND) {
        return true;
    }
    switch (source->operator->form) {
    case MDF_FORM_LIST:
        return build(lowering, scope, source, taken);
    case MDF_FORM_LIST_ITEM:
        return take_item(lowering, scope, source, taken);
    case MDF_FORM_LIST_ARRAY:
        return take_array(lowering, scope, source, taken);
    default:
        return source->operator->written_out == MDF_WRITTEN_OUT_NOT || lowering_list_function(lowering, scope, source, taken);
    }
}

/* ------------------------------------------------------------------ as inputs */

/* The items as arrays, lists of numbers among them too. NULL: they are something else, or memory ran out. */
static mdf_lowered_id *find_arrays(struct lowering *lowering, mdf_lowered_id list)
{
    size_t n = lowering->facts[list].n_items;
    mdf_lowered_id *arrays = mdf_arena_array(&lowering->scratch, n, sizeof *arrays);

    if (arrays == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        mdf_lowered_id item = lowering->facts[list].items[i];
        const struct mdf_value *value;

        arrays[i] = lowering_example(lowering, item)->kind == MDF_KIND_LIST ? lowering_make_array(lowering, item, true) : item;
        value = arrays[i] != MDF_LOWERED_NONE ? lowering_example(lowering, arrays[i]) : NULL;
        if (value == NULL || value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING) {
            return NULL;
        }
    }
    return arrays;
}

bool lowering_spread_list(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    const struct mdf_code_call *source = trial->source;
    struct mdf_code_call *spread;
    mdf_operand *inputs;
    mdf_lowered_id list, *items;
    size_t n;

    if (source->operator->of_items == NULL || source->inputs[0] == MDF_NO_OPERAND) {
        return true;
    }
    list = lowering_any_value_of(lowering, scope, source->inputs[0]);
    if (list == MDF_LOWERED_NONE || lowering->facts[list].items == NULL) {
        return list != MDF_LOWERED_NONE;
    }
    items = find_arrays(lowering, list);
    if (items == NULL) {
        return !lowering_has_failed(lowering);
    }
    n = lowering->facts[list].n_items;
    spread = mdf_arena_allocate(&lowering->lowered->arena, sizeof *spread);
    if (spread != NULL) {
        *spread = *source;
        spread->operator= source->operator->of_items;
        spread->n_inputs = n + spread->operator->move->n_behind;
        spread->inputs = inputs = mdf_arena_array(&lowering->lowered->arena, spread->n_inputs, sizeof *inputs);
    }
    if (spread == NULL || inputs == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < spread->n_inputs; i++) {
        size_t from = i < n ? 0 : i - n + 1;

        inputs[i] = from < source->n_inputs ? source->inputs[from] : MDF_NO_OPERAND;
    }
    trial->source = spread;
    trial->items = items;
    trial->n_items = n;
    return true;
}

/* ------------------------------------------------------------------ as an array */

/* An item, a list among them too, as a row of the array: in its type, with one axis more, of size 1. NONE: it does not fit. */
static mdf_lowered_id make_row(struct lowering *lowering, mdf_lowered_id item, const struct mdf_value *array)
{
    const struct mdf_value *value = lowering_example(lowering, item);
    int64_t shape[MDF_INLINE_RANK];
    struct mdf_value row = {0};

    if (value->kind == MDF_KIND_LIST) {
        item = lowering_make_array(lowering, item, false);
        if (item == MDF_LOWERED_NONE) {
            return item;
        }
        value = lowering_example(lowering, item);
    }
    if (value->kind != MDF_KIND_TENSOR || value->rank + 1 != array->rank || array->rank > MDF_INLINE_RANK || value->length == 0 ||
        (value->rank > 0 && memcmp(mdf_value_shape(value), mdf_value_shape(array) + 1, value->rank * sizeof *shape) != 0) ||
        (value->dtype != array->dtype && (mdf_dtype_kind((mdf_dtype)array->dtype) != 'f' || value->dtype == MDF_DTYPE_STRING))) {
        return MDF_LOWERED_NONE;
    }
    item = lowering_cast(lowering, item, (mdf_dtype)array->dtype);
    if (item == MDF_LOWERED_NONE) {
        return item;
    }
    memcpy(shape, mdf_value_shape(array), array->rank * sizeof *shape);
    shape[0] = 1;
    mdf_value_borrow_tensor(lowering->memory, &row, (mdf_dtype)array->dtype, (enum mdf_strength)array->strength, array->rank,
                            shape, lowering_example(lowering, item)->data);
    return lowering_convert(lowering, item, &row);
}

mdf_lowered_id lowering_list_as_array(struct lowering *lowering, mdf_lowered_id list, const struct mdf_value *array)
{
    enum { MOST_AT_ONCE = 5 };
    const struct fact *fact = &lowering->facts[list];
    const mdf_lowered_id *items = fact->items;
    size_t n_items = fact->n_items, n = 0;
    mdf_lowered_id rows[MOST_AT_ONCE];

    if (array->kind != MDF_KIND_TENSOR || array->rank == 0) {
        lowering_fail(lowering, MDF_REFUSED_LIST_TO_ARRAY);
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < n_items; i++) {
        if (n == MOST_AT_ONCE) {
            rows[0] = lowering_join(lowering, rows, n);
            n = 1;
        }
        rows[n] = rows[0] == MDF_LOWERED_NONE && n > 0 ? MDF_LOWERED_NONE : make_row(lowering, items[i], array);
        if (rows[n++] == MDF_LOWERED_NONE) {
            lowering_fail(lowering, MDF_REFUSED_LIST_TO_ARRAY);
            return MDF_LOWERED_NONE;
        }
    }
    return n == 1 ? rows[0] : lowering_join(lowering, rows, n);
}

bool lowering_bind_list_as_array(struct lowering *lowering, struct scope *scope, mdf_operand target, mdf_lowered_id list,
                                 bool is_numpy)
{
    mdf_lowered_id array = lowering_make_array(lowering, list, is_numpy);

    return (array != MDF_LOWERED_NONE && lowering_bind(lowering, scope, target, array)) ||
           lowering_fail(lowering, MDF_REFUSED_LIST_TO_ARRAY);
}
