/* lower_made_list.c - lists that expressions make and go through, whose items are known one by one (lower_list.c):
 * comprehensions, whose instructions are followed item by item, and Python's functions of lists, and of arrays as lists, which
 * come to others of their items. Each call is taken where it is known how many items there are, and these are few. See
 * lowering.h. */
#include "functions/python/python.h"
#include "functions/python/python_values.h"
#include "mdf_c/lower/lowering.h"

#include <string.h>

/* Of a list that is written out; in C source, where it would have no form otherwise; of all comprehensions of the code. */
enum { MOST_ITEMS = 32, MOST_ITEMS_OF_SOURCE = 128, MOST_ITEMS_IN_ALL = 4096 };

static size_t most_items(const struct lowering *lowering)
{
    return lowering->is_for_source ? MOST_ITEMS_OF_SOURCE : MOST_ITEMS;
}

/* ------------------------------------------------------------------ items */

static bool is_list(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(lowering, id);

    return lowering->facts[id].items != NULL ||
           (value->kind == MDF_KIND_LIST && value->dtype == MDF_DTYPE_NONE && lowering_is_constant(lowering, id));
}

/* How many items a list or an array has; false: it is something else, or it is not known. */
static bool count_items(const struct lowering *lowering, mdf_lowered_id id, size_t *n)
{
    const struct mdf_value *value = lowering_example(lowering, id);
    bool is_array =
        value->kind == MDF_KIND_TENSOR && value->rank > 0 && value->dtype != MDF_DTYPE_STRING && !lowering->facts[id].is_open;

    *n = is_list(lowering, id) ? lowering_list_length(lowering, id) : is_array ? (size_t)mdf_value_shape(value)[0] : 0;
    return is_list(lowering, id) || is_array;
}

/* An item of an array, as strong as Python has it. */
static mdf_lowered_id item_of_array(struct lowering *lowering, mdf_lowered_id array, size_t i)
{
    struct mdf_value item = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (!mdf_python_item(lowering->memory, &item, lowering_example(lowering, array), i)) {
        lowering_out_of_memory(lowering);
    } else if (lowering_is_constant(lowering, array)) {
        id = lowering_keep_constant(lowering, &item);
    } else {
        id = lowering_as_strong(lowering, lowering_item(lowering, array, i), item.strength);
    }
    mdf_value_clear(lowering->memory, &item);
    return id;
}

static mdf_lowered_id item_of(struct lowering *lowering, mdf_lowered_id list, size_t i)
{
    return lowering->facts[list].items != NULL ? lowering->facts[list].items[i]
           : is_list(lowering, list) ? lowering_keep_constant(lowering, &mdf_value_items(lowering_example(lowering, list))[i])
                                     : item_of_array(lowering, list, i);
}

/* All of them, and room for some more; NULL: it failed. */
static mdf_lowered_id *find_items(struct lowering *lowering, mdf_lowered_id list, size_t n, size_t n_more)
{
    mdf_lowered_id *items = mdf_arena_array(&lowering->scratch, n + n_more + 1, sizeof *items);

    for (size_t i = 0; items != NULL && i < n; i++) {
        items[i] = item_of(lowering, list, i);
        if (items[i] == MDF_LOWERED_NONE) {
            return NULL;
        }
    }
    if (items == NULL) {
        lowering_out_of_memory(lowering);
    }
    return items;
}

static mdf_lowered_id make_list(struct lowering *lowering, const mdf_lowered_id *items, size_t n)
{
    struct mdf_value empty = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (n > 0) {
        return lowering_add_list(lowering, items, n, MDF_DTYPE_NONE);
    }
    if (mdf_value_make_list(lowering->memory, &empty, 0) == NULL) {
        lowering_out_of_memory(lowering);
    } else {
        id = lowering_keep_constant(lowering, &empty);
    }
    mdf_value_clear(lowering->memory, &empty);
    return id;
}

/* ------------------------------------------------------------------ comprehensions */

static bool append(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    mdf_lowered_id list = lowering_any_value_of(lowering, scope, instruction->a),
                   item = lowering_value_of(lowering, scope, instruction->b), *items;
    size_t n;

    if (list == MDF_LOWERED_NONE || item == MDF_LOWERED_NONE || !count_items(lowering, list, &n) || n >= most_items(lowering)) {
        return lowering_fail(lowering, MDF_REFUSED_LIST);
    }
    items = find_items(lowering, list, n, 1);
    if (items == NULL) {
        return false;
    }
    items[n] = item;
    return lowering_bind(lowering, scope, instruction->a, make_list(lowering, items, n + 1));
}

/* The next item, whose number is known. */
static bool take_next(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction, size_t *next)
{
    mdf_lowered_id all = lowering_any_value_of(lowering, scope, instruction->b),
                   counter = lowering_value_of(lowering, scope, instruction->c), item;
    int64_t number;
    size_t n;

    if (all == MDF_LOWERED_NONE || counter == MDF_LOWERED_NONE || !count_items(lowering, all, &n) ||
        !lowering_is_constant(lowering, counter) || n > most_items(lowering) || lowering->n_written_out >= MOST_ITEMS_IN_ALL) {
        return lowering_fail(lowering, MDF_REFUSED_LIST);
    }
    memcpy(&number, lowering_example(lowering, counter)->data, sizeof number);
    if ((size_t)number >= n) {
        *next = instruction->target;
        return true;
    }
    lowering->n_written_out++;
    item = item_of(lowering, all, (size_t)number);
    number++;
    return item != MDF_LOWERED_NONE && lowering_bind(lowering, scope, instruction->a, item) &&
           lowering_bind(lowering, scope, instruction->c, lowering_add_wholes(lowering, &number, 1, 0));
}

bool lowering_make_list(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction, size_t *next)
{
    return instruction->opcode == MDF_OPCODE_NEXT ? take_next(lowering, scope, instruction, next)
           : instruction->opcode == MDF_OPCODE_APPEND
               ? append(lowering, scope, instruction)
               : lowering_bind(lowering, scope, instruction->a, make_list(lowering, NULL, 0));
}

/* ------------------------------------------------------------------ functions of lists */

/* A call of such a function. */
struct list_call {
    struct lowering *lowering;
    struct scope *scope;
    const struct mdf_code_call *source;
    mdf_lowered_id list;
    size_t n;
    const mdf_lowered_id *items;
};

static mdf_lowered_id call_two(const struct list_call *call, const char *name, mdf_lowered_id a, mdf_lowered_id b)
{
    const mdf_lowered_id both[] = {a, b};

    return a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE ? MDF_LOWERED_NONE
                                                          : lowering_call_python(call->lowering, name, both, 2);
}

static mdf_lowered_id pair_up(const struct list_call *call, mdf_lowered_id a, mdf_lowered_id b)
{
    mdf_lowered_id *pair = mdf_arena_array(&call->lowering->scratch, 2, sizeof *pair);

    if (pair == NULL || a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    pair[0] = a;
    pair[1] = b;
    return make_list(call->lowering, pair, 2);
}

/* One of Python's numbers. */
static mdf_lowered_id add_int(struct lowering *lowering, int64_t number)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, MDF_DTYPE_INT64, MDF_STRENGTH_PYTHON, 0, NULL, &number);
    return lowering_keep_constant(lowering, &value);
}

/* A number that is known, of an input that may be left out; false: it is another one. */
static bool find_known(const struct list_call *call, size_t input, int64_t *number)
{
    mdf_lowered_id id = MDF_LOWERED_NONE;
    const struct mdf_value *value;

    if (input >= call->source->n_inputs || call->source->inputs[input] == MDF_NO_OPERAND) {
        return true;
    }
    id = lowering_any_value_of(call->lowering, call->scope, call->source->inputs[input]);
    value = id == MDF_LOWERED_NONE ? NULL : lowering_example(call->lowering, id);
    if (value == NULL || !lowering_is_constant(call->lowering, id) || value->kind != MDF_KIND_TENSOR || value->rank != 0 ||
        (value->dtype != MDF_DTYPE_INT64 && value->dtype != MDF_DTYPE_BOOL)) {
        return false;
    }
    *number = mdf_element_to_int64((mdf_dtype)value->dtype, value->data);
    return true;
}

/* Each item with its number. */
static mdf_lowered_id number_items(const struct list_call *call)
{
    mdf_lowered_id *pairs = mdf_arena_array(&call->lowering->scratch, call->n + 1, sizeof *pairs);
    int64_t start = 0;

    if (pairs == NULL || !find_known(call, 1, &start) || start < -INT32_MAX || start > INT32_MAX) {
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < call->n; i++) {
        pairs[i] = pair_up(call, add_int(call->lowering, start + (int64_t)i), call->items[i]);
        if (pairs[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    return make_list(call->lowering, pairs, call->n);
}

static mdf_lowered_id turn_round(const struct list_call *call)
{
    mdf_lowered_id *items = find_items(call->lowering, call->list, call->n, 0);

    for (size_t i = 0; items != NULL && i < call->n / 2; i++) {
        mdf_lowered_id first = items[i];

        items[i] = items[call->n - 1 - i];
        items[call->n - 1 - i] = first;
    }
    return items == NULL ? MDF_LOWERED_NONE : make_list(call->lowering, items, call->n);
}

/* The first items of all inputs, the second ones, as long as all have one. */
static mdf_lowered_id put_together(const struct list_call *call)
{
    size_t n_lists = call->source->n_inputs, n = call->n, n_own;
    mdf_lowered_id *lists = mdf_arena_array(&call->lowering->scratch, n_lists, sizeof *lists), *tuples, *tuple;

    for (size_t k = 0; lists != NULL && k < n_lists; k++) {
        lists[k] = call->source->inputs[k] == MDF_NO_OPERAND
                       ? MDF_LOWERED_NONE
                       : lowering_any_value_of(call->lowering, call->scope, call->source->inputs[k]);
        if (lists[k] == MDF_LOWERED_NONE || !count_items(call->lowering, lists[k], &n_own)) {
            return MDF_LOWERED_NONE;
        }
        n = n_own < n ? n_own : n;
    }
    tuples = lists == NULL ? NULL : mdf_arena_array(&call->lowering->scratch, n + 1, sizeof *tuples);
    for (size_t i = 0; tuples != NULL && i < n; i++) {
        tuple = mdf_arena_array(&call->lowering->scratch, n_lists, sizeof *tuple);
        for (size_t k = 0; tuple != NULL && k < n_lists; k++) {
            tuple[k] = item_of(call->lowering, lists[k], i);
            if (tuple[k] == MDF_LOWERED_NONE) {
                return MDF_LOWERED_NONE;
            }
        }
        tuples[i] = tuple == NULL ? MDF_LOWERED_NONE : make_list(call->lowering, tuple, n_lists);
        if (tuples[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    return tuples == NULL ? MDF_LOWERED_NONE : make_list(call->lowering, tuples, n);
}

/* Several items are arguments of the function itself. */
static mdf_lowered_id pass_on(const struct list_call *call)
{
    return call->n < 2 ? (call->n == 0 ? MDF_LOWERED_NONE : call->items[0])
                       : lowering_call_python(call->lowering, call->source->operator->name, call->items, call->n);
}

/* What input 1 says, or a whole number, and all items, one by one. */
static mdf_lowered_id accumulate(const struct list_call *call, const char *name, int64_t start)
{
    mdf_lowered_id total = call->source->n_inputs > 1 && call->source->inputs[1] != MDF_NO_OPERAND
                               ? lowering_value_of(call->lowering, call->scope, call->source->inputs[1])
                               : add_int(call->lowering, start);

    for (size_t i = 0; i < call->n; i++) {
        total = call_two(call, name, total, call->items[i]);
    }
    return total;
}

static bool is_number(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(lowering, id);

    return value->kind == MDF_KIND_TENSOR && value->rank == 0 && value->dtype != MDF_DTYPE_STRING;
}

/* Whether any or all of numbers are true. */
static mdf_lowered_id join_truths(const struct list_call *call, const char *name)
{
    mdf_lowered_id joined = MDF_LOWERED_NONE;

    for (size_t i = 0; i < call->n; i++) {
        mdf_lowered_id truth;

        if (!is_number(call->lowering, call->items[i])) {
            return MDF_LOWERED_NONE;
        }
        truth = lowering_call_python(call->lowering, "bool", &call->items[i], 1);
        joined = i == 0 ? truth : call_two(call, name, joined, truth);
    }
    return joined;
}

/* Whether a number equals one of the items, which are numbers. */
static mdf_lowered_id find_among(const struct list_call *call, bool is_opposite)
{
    mdf_lowered_id item = lowering_any_value_of(call->lowering, call->scope, call->source->inputs[0]), found = MDF_LOWERED_NONE;

    if (item == MDF_LOWERED_NONE || !is_number(call->lowering, item)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < call->n; i++) {
        mdf_lowered_id same =
            is_number(call->lowering, call->items[i]) ? call_two(call, "operator.eq", call->items[i], item) : MDF_LOWERED_NONE;

        same = same == MDF_LOWERED_NONE ? same : lowering_call_python(call->lowering, "bool", &same, 1);
        found = i == 0 ? same : call_two(call, "operator.or_", found, same);
        if (found == MDF_LOWERED_NONE) {
            return found;
        }
    }
    return found == MDF_LOWERED_NONE || !is_opposite ? found : lowering_call_python(call->lowering, "operator.not_", &found, 1);
}

/* Whether there are few, or whole numbers of one type, which are in one order however they are compared. */
static bool may_be_sorted(const struct list_call *call)
{
    for (size_t i = 0; call->n > MDF_SORTED_BY_NEIGHBOURS && i < call->n; i++) {
        const struct mdf_value *value = lowering_example(call->lowering, call->items[i]),
                               *first = lowering_example(call->lowering, call->items[0]);

        if (!is_number(call->lowering, call->items[i]) || mdf_dtype_kind((mdf_dtype)value->dtype) != 'i' ||
            value->dtype != first->dtype || value->strength != first->strength ||
            lowering_is_either(call->lowering, call->items[i])) {
            return false;
        }
    }
    return call->n <= MOST_ITEMS;
}

/* In order, as run_sorted has it of few numbers: of neighbours the one that is less goes in front. */
static mdf_lowered_id sort(const struct list_call *call)
{
    mdf_lowered_id *items = find_items(call->lowering, call->list, call->n, 0);
    int64_t backward = 0;

    if (items == NULL || !may_be_sorted(call) || !find_known(call, 1, &backward)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t end = call->n; end > 1; end--) {
        for (size_t i = 0; i + 1 < end; i++) {
            mdf_lowered_id first = call_two(call, backward != 0 ? "max" : "min", items[i], items[i + 1]);

            items[i + 1] = call_two(call, backward != 0 ? "min" : "max", items[i + 1], items[i]);
            items[i] = first;
            if (first == MDF_LOWERED_NONE || items[i + 1] == MDF_LOWERED_NONE) {
                return MDF_LOWERED_NONE;
            }
        }
    }
    return make_list(call->lowering, items, call->n);
}

/* NONE without a refusal: it is left to the kernel. */
static mdf_lowered_id write_out(const struct list_call *call)
{
    switch (call->source->operator->written_out) {
    case MDF_WRITTEN_OUT_ITEMS:
        return make_list(call->lowering, call->items, call->n);
    case MDF_WRITTEN_OUT_BACKWARD:
        return turn_round(call);
    case MDF_WRITTEN_OUT_NUMBERED:
        return number_items(call);
    case MDF_WRITTEN_OUT_TOGETHER:
        return put_together(call);
    case MDF_WRITTEN_OUT_ARGUMENTS:
        return call->source->n_inputs == 1 ? pass_on(call) : MDF_LOWERED_NONE;
    case MDF_WRITTEN_OUT_SUM:
        return accumulate(call, "operator.add", 0);
    case MDF_WRITTEN_OUT_PRODUCT:
        return accumulate(call, "operator.mul", 1);
    case MDF_WRITTEN_OUT_ANY:
        return join_truths(call, "operator.or_");
    case MDF_WRITTEN_OUT_ALL:
        return join_truths(call, "operator.and_");
    case MDF_WRITTEN_OUT_SORTED:
        return sort(call);
    case MDF_WRITTEN_OUT_CONTAINED:
        return find_among(call, false);
    case MDF_WRITTEN_OUT_NOT_CONTAINED:
        return find_among(call, true);
    case MDF_WRITTEN_OUT_NOT:
    case MDF_WRITTEN_OUT_CHOICES:
        break;
    }
    return MDF_LOWERED_NONE;
}

bool lowering_list_function(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    struct list_call call = {.lowering = lowering, .scope = scope, .source = source};
    bool of_container = source->operator->written_out >= MDF_WRITTEN_OUT_CONTAINED;
    mdf_lowered_id result;

    call.list = lowering_any_value_of(lowering, scope, source->inputs[of_container ? 1 : 0]);
    if (call.list == MDF_LOWERED_NONE || !count_items(lowering, call.list, &call.n) || call.n > most_items(lowering) ||
        (lowering_is_constant(lowering, call.list) && source->n_inputs == 1)) {
        return !lowering_has_failed(lowering);
    }
    call.items = find_items(lowering, call.list, call.n, 0);
    result = call.items == NULL ? MDF_LOWERED_NONE : write_out(&call);
    *taken = result != MDF_LOWERED_NONE;
    return *taken ? lowering_bind(lowering, scope, source->outputs[0], result) : !lowering_has_failed(lowering);
}
