/* lower_sequence.c - ONNX's sequences whose items are arrays of one form: no values of the lowered form, but the rows of one
 * array. What makes, changes or reads a sequence does so with the rows: SequenceAt gathers one, SequenceInsert joins. Where
 * somebody looks at the sequence itself, its items are looked at where they lie (struct mdf_lowered_output). A sequence that was
 * empty before a loop has rows behind it only (lower_growth.c). Of one whose items differ in form these are known one by one, as
 * those of a list (lower_list.c), as long as positions are known too. See lowering.h. */
#include "mdf_c/lower/lists/sequence_call.h"

#include "functions/elements/element.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lower/trial.h"
#include "mdf_c/tensor/rows.h"

#include <string.h>

enum { MOST_ROWS = 1 << 16 }; /* of a sequence: an example has an array for each */

/* ------------------------------------------------------------------ sequences and their rows */

/* The items of a list as rows of an array, which the caller clears; false: they are not of one form, or memory ran out. */
static bool stack_items(struct lowering *lowering, const struct mdf_value *list, struct mdf_value *rows)
{
    struct mdf_value form;
    void *elements;

    if (!mdf_rows_form(list, &form) || form.length == 0) {
        return false;
    }
    elements = mdf_value_make_tensor(lowering->memory, rows, (mdf_dtype)form.dtype, form.rank, form.shape.sizes);
    if (elements == NULL) {
        return lowering_out_of_memory(lowering);
    }
    mdf_rows_copy(list, elements);
    return true;
}

static mdf_lowered_id keep_rows(struct lowering *lowering, mdf_lowered_id sequence)
{
    struct mdf_value rows = {0};
    mdf_lowered_id id = stack_items(lowering, lowering_example(lowering, sequence), &rows)
                            ? lowering_keep_constant(lowering, &rows)
                            : MDF_LOWERED_NONE;

    mdf_value_clear(lowering->memory, &rows);
    return id;
}

mdf_lowered_id lowering_find_rows(struct lowering *lowering, mdf_lowered_id sequence)
{
    const struct fact *fact = &lowering->facts[sequence];

    if (fact->is_sequence) {
        return fact->rows;
    }
    if (fact->room != NULL) {
        return lowering_cut_room(lowering, sequence);
    }
    return lowering_example(lowering, sequence)->kind == MDF_KIND_LIST && lowering_is_constant(lowering, sequence)
               ? keep_rows(lowering, sequence)
               : MDF_LOWERED_NONE;
}

mdf_lowered_id lowering_meet_sequence(struct lowering *lowering, const struct mdf_value *sequence)
{
    struct mdf_value rows = {0}, *kept;
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (stack_items(lowering, sequence, &rows) && (kept = lowering_keep_value(lowering)) != NULL) {
        mdf_value_swap(kept, &rows);
        id = lowering_add_value(lowering, MDF_LOWERED_INPUT, kept);
    }
    mdf_value_clear(lowering->memory, &rows);
    if (id == MDF_LOWERED_NONE) {
        return id;
    }
    lowering->lowered->values[id].source = sequence;
    lowering->lowered->values[id].is_list = true;
    return lowering_add_sequence(lowering, id);
}

/* The list of an array's rows as they are in the example. */
static const struct mdf_value *keep_list(struct lowering *lowering, const struct mdf_value *rows)
{
    struct mdf_value *list = lowering_keep_value(lowering), *items;
    size_t n = (size_t)mdf_value_shape(rows)[0], n_bytes = rows->length / n * mdf_dtype_size((mdf_dtype)rows->dtype), i;

    items = list == NULL ? NULL : mdf_value_make_list(lowering->memory, list, n);
    for (i = 0; items != NULL && i < n; i++) {
        void *elements = mdf_value_make_tensor(lowering->memory, &items[i], (mdf_dtype)rows->dtype, rows->rank - 1u,
                                               mdf_value_shape(rows) + 1);

        if (elements == NULL) {
            items = NULL;
        } else {
            memcpy(elements, (const char *)rows->data + i * n_bytes, n_bytes);
        }
    }
    if (items == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    list->dtype = rows->dtype;
    return list;
}

mdf_lowered_id lowering_add_sequence(struct lowering *lowering, mdf_lowered_id rows)
{
    const struct mdf_value *example = rows == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, rows), *list;
    mdf_lowered_id id;

    if (example == NULL) {
        return MDF_LOWERED_NONE;
    }
    if (example->kind != MDF_KIND_TENSOR || example->strength != MDF_STRENGTH_TYPED || example->rank == 0 ||
        example->length == 0 || mdf_value_shape(example)[0] > MOST_ROWS) {
        lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, example, NULL);
        return MDF_LOWERED_NONE;
    }
    list = keep_list(lowering, example);
    id = list == NULL ? MDF_LOWERED_NONE : lowering_add_placeholder(lowering, list);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].is_sequence = true;
        lowering->facts[id].rows = rows;
        lowering->facts[id].depth = lowering->facts[rows].depth;
    }
    return id;
}

/* ------------------------------------------------------------------ items that are known one by one */

/* Whether a value can be an item: an array of numbers whose shape is known. */
static bool is_item(const struct lowering *lowering, mdf_lowered_id item)
{
    const struct mdf_value *value = lowering_example(lowering, item);

    return value->kind == MDF_KIND_TENSOR && value->strength == MDF_STRENGTH_TYPED && value->rank < MDF_INLINE_RANK &&
           value->length > 0 && value->dtype != MDF_DTYPE_STRING && !lowering->facts[item].is_open;
}

mdf_lowered_id lowering_add_items(struct lowering *lowering, const mdf_lowered_id *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (items[i] == MDF_LOWERED_NONE || !is_item(lowering, items[i]) ||
            lowering_example(lowering, items[i])->dtype != lowering_example(lowering, items[0])->dtype) {
            lowering_fail(lowering, MDF_REFUSED_CHANGING_LIST);
            return MDF_LOWERED_NONE;
        }
    }
    return lowering_add_list(lowering, items, n, (mdf_dtype)lowering_example(lowering, items[0])->dtype);
}

const mdf_lowered_id *lowering_sequence_items(struct lowering *lowering, mdf_lowered_id sequence, size_t *n)
{
    const struct mdf_value *list = lowering_example(lowering, sequence);
    mdf_lowered_id *items;

    if (list->kind != MDF_KIND_LIST || list->dtype == MDF_DTYPE_NONE || list->dtype == MDF_DTYPE_STRING || list->length == 0) {
        return NULL;
    }
    *n = mdf_value_n_items(list);
    if (lowering->facts[sequence].items != NULL || !lowering_is_constant(lowering, sequence)) {
        return lowering->facts[sequence].items;
    }
    items = mdf_arena_array(&lowering->scratch, *n, sizeof *items);
    if (items == NULL) {
        lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; items != NULL && i < *n; i++) {
        items[i] = lowering_keep_constant(lowering, &mdf_value_items(list)[i]);
        items = items[i] == MDF_LOWERED_NONE ? NULL : items;
    }
    return items;
}

/* ------------------------------------------------------------------ calls */

/* Whether a call takes an array of that type: what has never run, in a branch or a loop without runs, nobody has asked. */
static bool takes_type(const struct sequence_call *call, size_t i, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(call->lowering, id);

    return value->kind != MDF_KIND_TENSOR || call->source->signature == NULL ||
           (call->source->signature->inputs[i].tensors & MDF_DTYPE_BIT((mdf_dtype)value->dtype)) != 0;
}

mdf_lowered_id sequence_input(const struct sequence_call *call, size_t i, bool *is_given)
{
    mdf_operand operand = i < call->source->n_inputs ? call->source->inputs[i] : MDF_NO_OPERAND;
    mdf_lowered_id id = operand == MDF_NO_OPERAND ? MDF_LOWERED_NONE : lowering_operand(call->lowering, call->scope, operand);

    if (id != MDF_LOWERED_NONE && call->source->signature != NULL && call->source->signature->inputs[i].sequences == 0 &&
        lowering_example(call->lowering, id)->kind == MDF_KIND_LIST) {
        id = lowering_make_array(call->lowering, id, false);
    }
    if (id != MDF_LOWERED_NONE && !takes_type(call, i, id)) {
        lowering_fail(call->lowering, MDF_REFUSED_WRONG_INPUTS);
        id = MDF_LOWERED_NONE;
    }

    *is_given =
        operand != MDF_NO_OPERAND && (id == MDF_LOWERED_NONE || lowering_example(call->lowering, id)->kind != MDF_KIND_NONE);
    return *is_given ? id : MDF_LOWERED_NONE;
}

static bool has_input(const struct sequence_call *call, size_t input)
{
    bool is_given;

    sequence_input(call, input, &is_given);
    return is_given;
}

/* Whether a position is given that is not known before. */
static bool is_computed(const struct sequence_call *call, size_t i)
{
    bool is_given;
    mdf_lowered_id id = sequence_input(call, i, &is_given);

    return id != MDF_LOWERED_NONE && !lowering_is_constant(call->lowering, id);
}

static mdf_lowered_id refuse(const struct sequence_call *call)
{
    struct lowering *lowering = call->lowering;

    if (is_computed(call, call->source->operator->form == MDF_FORM_SEQUENCE_INSERT ? 2 : 1)) {
        lowering_fail(lowering, MDF_REFUSED_UNKNOWN_PLACE);
    } else if (call->rows == MDF_LOWERED_NONE) {
        lowering_fail(lowering, MDF_REFUSED_CHANGING_LIST);
    } else {
        lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, lowering_example(lowering, call->rows), NULL);
    }
    return MDF_LOWERED_NONE;
}

/* How many items there are, where that is known; 0: it is not. */
static size_t count_rows(const struct sequence_call *call)
{
    const struct fact *fact = &call->lowering->facts[call->rows];

    return fact->is_open || fact->growth != NULL ? 0 : (size_t)mdf_value_shape(lowering_example(call->lowering, call->rows))[0];
}

/* A position that is known, from 0 on, of n; `missing` where it is left out. False: it is not known, or past the end. */
static bool read_position(const struct sequence_call *call, size_t input, int64_t n, int64_t missing, int64_t *position)
{
    bool is_given;
    mdf_lowered_id id = sequence_input(call, input, &is_given);

    *position = missing;
    if (is_given && (id == MDF_LOWERED_NONE || !lowering_is_constant(call->lowering, id) ||
                     !mdf_value_to_int64(lowering_example(call->lowering, id), position))) {
        return false;
    }
    *position += *position < 0 ? n : 0;
    return *position >= 0 && *position <= n;
}

/* Rows [first, end); NONE without a refusal: there are none. */
static mdf_lowered_id take_rows(const struct sequence_call *call, int64_t first, int64_t end)
{
    return first < end ? lowering_items(call->lowering, call->rows, (size_t)first, (size_t)end) : MDF_LOWERED_NONE;
}

/* Arrays one behind the other; those that are NONE are none. */
static mdf_lowered_id join_rows(const struct sequence_call *call, const mdf_lowered_id *parts, size_t n)
{
    mdf_lowered_id there[3];
    size_t n_there = 0;

    for (size_t i = 0; i < n; i++) {
        if (parts[i] != MDF_LOWERED_NONE) {
            there[n_there++] = parts[i];
        }
    }
    return lowering_has_failed(call->lowering) || n_there == 0 ? MDF_LOWERED_NONE : lowering_join(call->lowering, there, n_there);
}

bool sequence_fits(const struct sequence_call *call, mdf_lowered_id item)
{
    const struct mdf_value *value = lowering_example(call->lowering, item);
    const struct mdf_value *rows = call->rows == MDF_LOWERED_NONE ? NULL : lowering_example(call->lowering, call->rows);

    return is_item(call->lowering, item) &&
           (rows == NULL || (value->dtype == rows->dtype && value->rank + 1 == rows->rank &&
                             (value->rank == 0 ||
                              memcmp(mdf_value_shape(value), mdf_value_shape(rows) + 1, value->rank * sizeof(int64_t)) == 0)));
}

mdf_lowered_id sequence_row(const struct sequence_call *call, mdf_lowered_id item)
{
    const struct mdf_value *value = lowering_example(call->lowering, item);
    int64_t shape[MDF_INLINE_RANK];

    if (!sequence_fits(call, item)) {
        lowering_fail_about(call->lowering, MDF_REFUSED_NO_NUMBERS, value, NULL);
        return MDF_LOWERED_NONE;
    }
    shape[0] = 1;
    memcpy(shape + 1, mdf_value_shape(value), value->rank * sizeof *shape);
    return value->length == 1 ? lowering_copy_with_axis(call->lowering, item)
                              : lowering_reshape(call->lowering, item, shape, value->rank + 1u);
}

/* Room for items that last. */
static mdf_lowered_id *make_items(const struct sequence_call *call, size_t n)
{
    mdf_lowered_id *items = mdf_arena_array(&call->lowering->scratch, n, sizeof *items);

    if (items == NULL) {
        lowering_out_of_memory(call->lowering);
    }
    return items;
}

/* SequenceConstruct. */
static mdf_lowered_id construct(struct sequence_call *call)
{
    size_t n = call->source->n_inputs, n_fitting = 0;
    mdf_lowered_id *items = make_items(call, n);
    bool is_given;

    for (size_t i = 0; items != NULL && i < n; i++) {
        items[i] = sequence_input(call, i, &is_given);
        if (items[i] == MDF_LOWERED_NONE) {
            lowering_fail(call->lowering, MDF_REFUSED_LEFT_OUT);
            return MDF_LOWERED_NONE;
        }
        if (n_fitting == i && sequence_fits(call, items[i])) {
            const mdf_lowered_id parts[2] = {call->rows, sequence_row(call, items[i])};

            call->rows = join_rows(call, parts, 2);
            n_fitting += call->rows != MDF_LOWERED_NONE;
        }
    }
    if (items == NULL || lowering_has_failed(call->lowering)) {
        return MDF_LOWERED_NONE;
    }
    return n_fitting == n ? lowering_add_sequence(call->lowering, call->rows) : lowering_add_items(call->lowering, items, n);
}

/* SequenceInsert where items are known one by one, or become so: of rows they are taken out. */
static mdf_lowered_id insert_item(const struct sequence_call *call, mdf_lowered_id item)
{
    int64_t n = call->items != NULL ? (int64_t)call->n_items : (int64_t)count_rows(call), position, i;
    mdf_lowered_id *items = make_items(call, (size_t)n + 1);

    if (items == NULL || n == 0 || !read_position(call, 2, n, n, &position)) {
        return refuse(call);
    }
    for (i = 0; i <= n; i++) {
        size_t from = (size_t)(i - (i > position));

        items[i] = i == position         ? item
                   : call->items != NULL ? call->items[from]
                                         : lowering_item(call->lowering, call->rows, from);
    }
    return lowering_has_failed(call->lowering) ? MDF_LOWERED_NONE : lowering_add_items(call->lowering, items, (size_t)n + 1);
}

static mdf_lowered_id insert(const struct sequence_call *call)
{
    bool is_given;
    mdf_lowered_id item = sequence_input(call, 1, &is_given), row;
    int64_t n, position;
    mdf_lowered_id parts[3];

    if (item == MDF_LOWERED_NONE) {
        return item;
    }
    if (call->items != NULL ||
        (call->rows != MDF_LOWERED_NONE && count_rows(call) > 0 && is_item(call->lowering, item) && !sequence_fits(call, item))) {
        return insert_item(call, item);
    }
    row = sequence_row(call, item);
    if (row == MDF_LOWERED_NONE) {
        return row;
    }
    if (call->rows == MDF_LOWERED_NONE) {
        return read_position(call, 2, 0, 0, &position) ? lowering_add_sequence(call->lowering, row) : MDF_LOWERED_NONE;
    }
    n = (int64_t)count_rows(call);
    if (call->lowering->facts[call->rows].growth != NULL && !has_input(call, 2)) {
        return lowering_add_sequence(call->lowering, lowering_append_row(call->lowering, call->rows, row));
    }
    if (n > 0 && is_computed(call, 2)) {
        return lowering_add_sequence(
            call->lowering,
            sequence_insert_at(call, item, sequence_position(call, 2, mdf_term_whole(call->lowering, n), true), (size_t)n + 1));
    }
    if (n == 0 || !read_position(call, 2, n, n, &position)) {
        return refuse(call);
    }
    parts[0] = take_rows(call, 0, position);
    parts[1] = row;
    parts[2] = take_rows(call, position, n);
    return lowering_add_sequence(call->lowering, join_rows(call, parts, 3));
}

static mdf_lowered_id erase_item(const struct sequence_call *call)
{
    int64_t n = (int64_t)call->n_items, position, i;
    mdf_lowered_id *items = make_items(call, (size_t)n);

    if (items == NULL || n < 2 || !read_position(call, 1, n, n - 1, &position) || position == n) {
        return refuse(call);
    }
    for (i = 0; i < n - 1; i++) {
        items[i] = call->items[i + (i >= position)];
    }
    return lowering_add_items(call->lowering, items, (size_t)n - 1);
}

static mdf_lowered_id erase(const struct sequence_call *call)
{
    int64_t n = (int64_t)count_rows(call), position;
    mdf_lowered_id parts[2];

    if (n > 1 && is_computed(call, 1)) {
        return lowering_add_sequence(
            call->lowering, sequence_erase_at(call, sequence_position(call, 1, mdf_term_whole(call->lowering, n), false), n));
    }
    if (n < 2 || !read_position(call, 1, n, -1, &position) || position == n) {
        return refuse(call);
    }
    parts[0] = take_rows(call, 0, position);
    parts[1] = take_rows(call, position + 1, n);
    return lowering_add_sequence(call->lowering, join_rows(call, parts, 2));
}

/* SequenceAt: an index past the end bails out, or is an error of the kernel. */
static mdf_lowered_id take_item(const struct sequence_call *call)
{
    mdf_lowered_id index = sequence_number(call, 1);

    return index == MDF_LOWERED_NONE ? refuse(call) : lowering_item_at(call->lowering, call->rows, index);
}

/* The rows that a state begins with, one for each run before this one, and one that has been put behind them. */
static mdf_lowered_id count_grown(const struct sequence_call *call, const struct growth *growth)
{
    int64_t n = mdf_value_shape(lowering_example(call->lowering, call->rows))[0]; /* as the state begins */

    return mdf_term_compute(call->lowering, MDF_LOWERED_ADD, false, growth->loop->number,
                            mdf_term_whole(call->lowering, n + (growth->item != MDF_LOWERED_NONE)));
}

static mdf_lowered_id count(const struct sequence_call *call)
{
    int64_t n = (int64_t)count_rows(call);

    const struct growth *growth = call->lowering->facts[call->rows].growth;

    return n > 0            ? lowering_add_wholes(call->lowering, &n, 1, 0)
           : growth != NULL ? count_grown(call, growth)
                            : lowering_count_items(call->lowering, call->rows);
}

/* The length of each part that SplitToSequence makes of an axis of that size, and whether it was given for each of them; 0: they
 * differ, or are not known. */
static int64_t find_part(const struct sequence_call *call, int64_t size, bool *are_lengths)
{
    bool is_given;
    mdf_lowered_id id = sequence_input(call, 1, &is_given);
    const struct mdf_value *given = id == MDF_LOWERED_NONE ? NULL : lowering_example(call->lowering, id);
    const int64_t *lengths;
    size_t i;

    *are_lengths = false;
    if (!is_given) {
        return 1;
    }
    if (given == NULL || !lowering_is_constant(call->lowering, id) || given->kind != MDF_KIND_TENSOR ||
        given->dtype != MDF_DTYPE_INT64 || given->length == 0) {
        return 0;
    }
    lengths = given->data;
    *are_lengths = given->rank > 0;
    for (i = 1; i < given->length && lengths[i] == lengths[0]; i++) {
    }
    return i < given->length || lengths[0] <= 0 || size % lengths[0] != 0 ||
                   (given->rank > 0 && size / lengths[0] != (int64_t)given->length)
               ? 0
               : lengths[0];
}

/* SplitToSequence into parts of several lengths, each of which is known. */
static mdf_lowered_id split_items(const struct sequence_call *call, mdf_lowered_id whole, size_t axis)
{
    struct lowering *lowering = call->lowering;
    bool is_given;
    mdf_lowered_id id = sequence_input(call, 1, &is_given), *items, moved;
    const struct mdf_value *given = id == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, id);
    int64_t size = mdf_value_shape(lowering_example(lowering, whole))[axis], first = 0, length;
    size_t n;

    if (given == NULL || !lowering_is_constant(lowering, id) || given->kind != MDF_KIND_TENSOR ||
        given->dtype != MDF_DTYPE_INT64 || given->length == 0 || *(const int64_t *)given->data <= 0) {
        return refuse(call);
    }
    length = *(const int64_t *)given->data;
    n = given->rank > 0 ? given->length : (size_t)(size / length + (size % length != 0));
    items = n > MOST_ROWS ? NULL : make_items(call, n);
    moved = items == NULL ? MDF_LOWERED_NONE : lowering_move_axis(lowering, whole, axis, 0);
    for (size_t i = 0; i < n && moved != MDF_LOWERED_NONE; i++, first += length) {
        length = given->rank > 0 ? ((const int64_t *)given->data)[i] : length;
        length = given->rank == 0 && length > size - first ? size - first : length;
        items[i] = length > 0 && length <= size - first ? lowering_items(lowering, moved, (size_t)first, (size_t)(first + length))
                                                        : MDF_LOWERED_NONE;
        items[i] = items[i] == MDF_LOWERED_NONE ? items[i] : lowering_move_axis(lowering, items[i], 0, axis);
        moved = items[i] == MDF_LOWERED_NONE ? items[i] : moved;
    }
    return moved == MDF_LOWERED_NONE || first != size ? refuse(call) : lowering_add_items(call->lowering, items, n);
}

/* Whether parts of a value can be rows; else it is refused. */
static bool may_be_split(struct lowering *lowering, mdf_lowered_id whole)
{
    const struct mdf_value *value = lowering_example(lowering, whole);

    if (value->kind != MDF_KIND_TENSOR || value->dtype == MDF_DTYPE_STRING || value->length == 0) {
        return lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, value, NULL);
    }
    return lowering->facts[whole].is_open          ? lowering_fail(lowering, MDF_REFUSED_GROWN)
           : value->rank + 1 >= MDF_INLINE_RANK    ? lowering_fail(lowering, MDF_REFUSED_MANY_AXES)
           : value->strength != MDF_STRENGTH_TYPED ? lowering_fail_about(lowering, MDF_REFUSED_NO_FIT, value, NULL)
                                                   : true;
}

static mdf_lowered_id split(const struct sequence_call *call)
{
    struct lowering *lowering = call->lowering;
    const int64_t *keeps = mdf_code_setting(call->source, "keepdims");
    bool is_given, are_lengths, keeps_axis;
    mdf_lowered_id whole = sequence_input(call, 0, &is_given), rows;
    const struct mdf_value *value = whole == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, whole);
    int64_t shape[MDF_INLINE_RANK + 2], size, part;
    size_t axis, rank = 0;

    if (whole == MDF_LOWERED_NONE || !may_be_split(lowering, whole) ||
        (axis = lowering_axis(call->source, value->rank, 0)) >= value->rank) {
        lowering_fail(lowering, MDF_REFUSED_WRONG_INPUTS);
        return MDF_LOWERED_NONE;
    }
    size = mdf_value_shape(value)[axis];
    part = find_part(call, size, &are_lengths);
    if (part == 0) {
        return split_items(call, whole, axis);
    }
    keeps_axis = are_lengths || part != 1 || keeps == NULL || *keeps != 0; /* as its kernel does */
    for (size_t d = 0; d < value->rank; d++) {
        shape[rank++] = d == axis ? size / part : mdf_value_shape(value)[d];
        if (d == axis && keeps_axis) {
            shape[rank++] = part;
        }
    }
    rows = keeps_axis ? lowering_reshape(call->lowering, whole, shape, rank) : whole;
    return rows == MDF_LOWERED_NONE ? rows : lowering_add_sequence(lowering, lowering_move_axis(lowering, rows, axis, 0));
}

/* ConcatFromSequence. */
static mdf_lowered_id join(const struct sequence_call *call)
{
    struct lowering *lowering = call->lowering;
    const int64_t *new_axis = mdf_code_setting(call->source, "new_axis");
    const struct mdf_value *value = lowering_example(lowering, call->rows);
    bool joins = new_axis == NULL || *new_axis != 1;
    size_t rank = value->rank - joins, axis = lowering_axis(call->source, rank, 0), d, n = 0;
    int64_t shape[MDF_INLINE_RANK];
    mdf_lowered_id moved;

    if (rank == 0 || axis >= rank) {
        return refuse(call);
    }
    moved = axis > 0 ? lowering_move_axis(lowering, call->rows, 0, axis) : call->rows;
    if (moved == MDF_LOWERED_NONE || !joins) {
        return moved;
    }
    for (d = 0; d <= rank; d++) {
        if (d != axis) {
            shape[n++] = d == axis + 1 ? -1 : mdf_value_shape(lowering_example(lowering, moved))[d];
        }
    }
    return lowering_reshape(call->lowering, moved, shape, n);
}

/* Arrays one behind the other along an axis, a few at a time. */
static mdf_lowered_id join_along(const struct sequence_call *call, const mdf_lowered_id *arrays, size_t n, size_t axis)
{
    enum { MOST_AT_ONCE = 5 };
    mdf_lowered_id parts[MOST_AT_ONCE];
    size_t n_parts = 0;

    for (size_t i = 0; i < n; i++) {
        if (n_parts == MOST_AT_ONCE) {
            parts[0] = lowering_join(call->lowering, parts, n_parts);
            n_parts = 1;
        }
        parts[n_parts] =
            lowering_has_failed(call->lowering) ? MDF_LOWERED_NONE : lowering_move_axis(call->lowering, arrays[i], axis, 0);
        if (parts[n_parts++] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    parts[0] = lowering_has_failed(call->lowering) ? MDF_LOWERED_NONE : lowering_join(call->lowering, parts, n_parts);
    return parts[0] == MDF_LOWERED_NONE ? parts[0] : lowering_move_axis(call->lowering, parts[0], 0, axis);
}

/* Whether items have one rank, and one shape but for an axis. */
static bool may_be_joined(const struct sequence_call *call, size_t axis)
{
    const struct mdf_value *first = lowering_example(call->lowering, call->items[0]);

    for (size_t i = 0; i < call->n_items; i++) {
        const struct mdf_value *value = lowering_example(call->lowering, call->items[i]);

        for (size_t d = 0; value->rank == first->rank && d < first->rank; d++) {
            if (d != axis && mdf_value_shape(value)[d] != mdf_value_shape(first)[d]) {
                return false;
            }
        }
        if (value->rank != first->rank) {
            return false;
        }
    }
    return axis < first->rank;
}

static mdf_lowered_id join_items(const struct sequence_call *call)
{
    const int64_t *new_axis = mdf_code_setting(call->source, "new_axis");
    size_t rank = lowering_example(call->lowering, call->items[0])->rank, axis = lowering_axis(call->source, rank, 0);

    return (new_axis != NULL && *new_axis == 1) || !may_be_joined(call, axis)
               ? refuse(call)
               : join_along(call, call->items, call->n_items, axis);
}

/* What a call gives whose sequence has items that are known one by one. */
static mdf_lowered_id run_on_items(const struct sequence_call *call)
{
    int64_t n = (int64_t)call->n_items, position;

    switch (call->source->operator->form) {
    case MDF_FORM_SEQUENCE_INSERT:
        return insert(call);
    case MDF_FORM_SEQUENCE_ERASE:
        return erase_item(call);
    case MDF_FORM_SEQUENCE_AT:
        return read_position(call, 1, n, n, &position) && position < n ? call->items[position] : refuse(call);
    case MDF_FORM_SEQUENCE_LENGTH:
        return lowering_add_wholes(call->lowering, &n, 1, 0);
    case MDF_FORM_SEQUENCE_JOIN:
        return join_items(call);
    default:
        return refuse(call);
    }
}

/* What a call gives that has a sequence, or makes one; NONE without a refusal: it is no such call. */
static mdf_lowered_id run(struct sequence_call *call)
{
    switch (call->source->operator->form) {
    case MDF_FORM_SEQUENCE_CONSTRUCT:
        return construct(call);
    case MDF_FORM_SEQUENCE_SPLIT:
        return split(call);
    case MDF_FORM_SEQUENCE_INSERT:
        return insert(call);
    case MDF_FORM_SEQUENCE_ERASE:
        return erase(call);
    case MDF_FORM_SEQUENCE_AT:
        return take_item(call);
    case MDF_FORM_SEQUENCE_LENGTH:
        return count(call);
    case MDF_FORM_SEQUENCE_JOIN:
        return join(call);
    default:
        return MDF_LOWERED_NONE;
    }
}

/* Whether the call takes no sequence, so that the items of one become an array (trial.c): Identity before version 14. */
static bool takes_arrays(const struct mdf_code_call *source)
{
    const struct mdf_signature_input *first = source->signature == NULL ? NULL : &source->signature->inputs[0];

    return first != NULL && first->sequences == 0 && !first->formal->maps;
}

/* Whether a call hands on a sequence whose items are known one by one, as it is. */
static bool hands_items_on(const struct lowering *lowering, mdf_lowered_id id, const struct mdf_code_call *source)
{
    return source->operator->element == MDF_ELEMENT(kept) &&
           (lowering->facts[id].room != NULL ||
            (lowering->facts[id].items != NULL && lowering_example(lowering, id)->dtype != MDF_DTYPE_NONE));
}

/* The sequence that a call reads; NONE without a refusal: it reads none. */
static mdf_lowered_id find_sequence(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    enum mdf_form form = source->operator->form;
    bool takes_sequence =
        form >= MDF_FORM_SEQUENCE_INSERT && form <= MDF_FORM_SEQUENCE_JOIN && form != MDF_FORM_SEQUENCE_SPLIT;
    mdf_lowered_id found = MDF_LOWERED_NONE;

    for (size_t i = 0; i < source->n_inputs; i++) {
        mdf_lowered_id id =
            source->inputs[i] == MDF_NO_OPERAND ? MDF_LOWERED_NONE : lowering_any_value_of(lowering, scope, source->inputs[i]);

        if (lowering_has_failed(lowering)) {
            return MDF_LOWERED_NONE;
        }
        if (i == 0 && id != MDF_LOWERED_NONE &&
            (takes_sequence || lowering->facts[id].is_sequence || hands_items_on(lowering, id, source))) {
            found = id;
        } else if (id != MDF_LOWERED_NONE && (lowering->facts[id].is_sequence || lowering->facts[id].room != NULL)) {
            lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, lowering_example(lowering, id), NULL);
            return MDF_LOWERED_NONE;
        }
    }
    return found;
}

/* Whether a sequence has no item yet, and takes such as the call inserts. */
static bool is_empty(const struct sequence_call *call, mdf_lowered_id sequence)
{
    const struct mdf_value *list = lowering_example(call->lowering, sequence);
    mdf_lowered_id item = call->source->n_inputs < 2 || lowering_has_failed(call->lowering)
                              ? MDF_LOWERED_NONE
                              : lowering_any_value_of(call->lowering, call->scope, call->source->inputs[1]);

    return list->kind == MDF_KIND_LIST && list->length == 0 && lowering_is_constant(call->lowering, sequence) &&
           item != MDF_LOWERED_NONE && lowering_example(call->lowering, item)->dtype == list->dtype;
}

/* An array in the place of a sequence, whose items are its rows: what Identity before version 14 makes of one. */
static bool is_array(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *value = lowering_example(lowering, id);

    return value->kind == MDF_KIND_TENSOR && value->strength == MDF_STRENGTH_TYPED && value->rank > 0 && value->length > 0 &&
           value->dtype != MDF_DTYPE_STRING && !lowering->facts[id].is_open;
}

bool lowering_sequence_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken)
{
    enum mdf_form form = source->operator->form;
    bool makes = form == MDF_FORM_SEQUENCE_CONSTRUCT || form == MDF_FORM_SEQUENCE_SPLIT;
    struct sequence_call call = {.lowering = lowering, .scope = scope, .source = source, .rows = MDF_LOWERED_NONE};
    mdf_lowered_id id = makes ? MDF_LOWERED_NONE : find_sequence(lowering, scope, source), result;

    *taken = false;
    if (lowering_has_failed(lowering) || (!makes && (id == MDF_LOWERED_NONE || takes_arrays(source)))) {
        return !lowering_has_failed(lowering);
    }
    if (id != MDF_LOWERED_NONE && source->operator->element == MDF_ELEMENT(kept)) {
        result = id;
    } else if (id != MDF_LOWERED_NONE && lowering->facts[id].room != NULL && form != MDF_FORM_SEQUENCE_JOIN) {
        result = sequence_in_room(&call, id);
    } else {
        call.rows = makes || is_array(lowering, id) ? id : lowering_find_rows(lowering, id);
        call.items = makes || call.rows != MDF_LOWERED_NONE ? NULL : lowering_sequence_items(lowering, id, &call.n_items);
        if (call.rows == MDF_LOWERED_NONE && !makes && call.items == NULL &&
            !(form == MDF_FORM_SEQUENCE_INSERT && is_empty(&call, id))) {
            return !lowering_has_failed(lowering); /* a list of another kind */
        }
        result = call.items != NULL ? run_on_items(&call) : run(&call);
    }
    *taken = true;
    return result == MDF_LOWERED_NONE ? lowering_fail(lowering, MDF_REFUSED_CHANGING_LIST)
                                      : lowering_bind(lowering, scope, source->outputs[0], result);
}
