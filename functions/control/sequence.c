/* sequence.c - sequences and optionals: SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase, SequenceAt,
 * SequenceLength, SplitToSequence, ConcatFromSequence, Optional, OptionalGetElement, OptionalHasElement.
 *
 * A sequence is a list of arrays of one element type, which the list's `dtype` names (MDF_DTYPE_NONE: not known yet; the first
 * array that is inserted decides). An empty optional is a value of kind NONE, a filled one is what it holds. A new sequence
 * shares the arrays of the one it was made from. A list of equal lists in a file is an array; where a sequence is due it is the
 * sequence of its parts along the first axis, as for modeci_mdf. Source: the ONNX operators of these names, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"

#include <string.h>

/* The parts of an array along its first axis, in scratch; NULL with the error set. */
static const struct mdf_value *parts_of(struct mdf_call *call, const struct mdf_value *array)
{
    struct mdf_value *sequence = &call->scratch[MDF_SCRATCH_SECOND];
    size_t n = (size_t)mdf_value_shape(array)[0];
    struct mdf_value *items = mdf_value_make_list(call->context->memory, sequence, n);

    if (items == NULL) {
        mdf_call_out_of_memory(call);
        return NULL;
    }
    sequence->dtype = array->dtype;
    for (size_t i = 0; i < n; i++) {
        if (!mdf_take_part(call, &items[i], array, 0, i, 1, false)) {
            return NULL;
        }
    }
    return sequence;
}

/* Input 0 as a sequence; NULL with the error set. */
static const struct mdf_value *sequence_input(struct mdf_call *call)
{
    const struct mdf_value *value = mdf_call_input(call, 0);
    char text[96] = "nothing";

    if (value != NULL && value->kind == MDF_KIND_LIST) {
        return value;
    }
    if (value != NULL && mdf_value_is_tensor(value) && value->rank > 0) {
        return parts_of(call, value);
    }
    if (value != NULL) {
        mdf_value_describe(value, text, sizeof text);
    }
    mdf_call_error(call, MDF_TYPE, "input 0 must be a sequence, not %s", text);
    return NULL;
}

/* Output 0 as a sequence of `length` items that are to be filled; NULL with the error set. */
static struct mdf_value *output_sequence(struct mdf_call *call, mdf_dtype dtype, size_t length)
{
    struct mdf_value *target = mdf_call_target(call, 0), *items = mdf_value_make_list(call->context->memory, target, length);

    if (items == NULL) {
        mdf_call_out_of_memory(call);
        return NULL;
    }
    target->dtype = (uint8_t)dtype;
    return items;
}

/* Shares `n` items. */
static bool share_items(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *source, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!mdf_value_share(call->context->memory, &target[i], &source[i])) {
            return mdf_call_out_of_memory(call);
        }
    }
    return true;
}

/* Input `i` as a position in [-n, n), or up to n where `at_end`; where it is omitted `missing` is taken. */
static bool read_position(struct mdf_call *call, size_t i, size_t n, bool at_end, int64_t missing, size_t *position)
{
    int64_t given = missing, size = (int64_t)n;

    if (mdf_call_input(call, i) != NULL && !mdf_call_integer(call, i, &given)) {
        return false;
    }
    if (given < -size || given > size || (given == size && !at_end)) {
        return mdf_call_error(call, MDF_VALUE, "position %lld is out of range for a sequence of length %zu", (long long)given, n);
    }
    *position = (size_t)(given < 0 ? given + size : given);
    return true;
}

/* ------------------------------------------------------------------ making and changing sequences */

static bool sequence_construct(struct mdf_call *call)
{
    struct mdf_value *items;
    const struct mdf_value *first = mdf_call_tensor(call, 0), *item;

    items = first != NULL ? output_sequence(call, (mdf_dtype)first->dtype, call->n_inputs) : NULL;
    for (size_t i = 0; items != NULL && i < call->n_inputs; i++) {
        item = mdf_call_tensor(call, i);
        if (item == NULL) {
            return false;
        }
        if (item->dtype != first->dtype) {
            return mdf_call_error(call, MDF_TYPE, "item 0 is %s, item %zu %s", mdf_dtype_name((mdf_dtype)first->dtype), i,
                                  mdf_dtype_name((mdf_dtype)item->dtype));
        }
        if (!share_items(call, &items[i], item, 1)) {
            return false;
        }
    }
    return items != NULL;
}

struct empty_settings {
    mdf_dtype dtype;
};

static const struct mdf_setting empty_table[] = {{"dtype", MDF_SETTING_DTYPE, offsetof(struct empty_settings, dtype)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* Without the attribute it is of float32, as the standard says. */
static bool sequence_empty(struct mdf_call *call)
{
    const struct empty_settings *settings = call->settings;

    return output_sequence(call, settings->dtype != MDF_DTYPE_NONE ? settings->dtype : MDF_DTYPE_FLOAT32, 0) != NULL;
}

/* The array to insert: as it is, or, where its type was not declared, converted in scratch to that of the sequence. */
static const struct mdf_value *item_to_insert(struct mdf_call *call, mdf_dtype dtype, const struct mdf_value *item)
{
    struct mdf_value *converted = &call->scratch[MDF_SCRATCH_FIRST];

    if (item == NULL || dtype == MDF_DTYPE_NONE || item->dtype == dtype) {
        return item;
    }
    if (item->strength == MDF_STRENGTH_TYPED || item->dtype == MDF_DTYPE_STRING || dtype == MDF_DTYPE_STRING) {
        mdf_call_error(call, MDF_TYPE, "an array of %s can not join a sequence of %s", mdf_dtype_name((mdf_dtype)item->dtype),
                       mdf_dtype_name(dtype));
        return NULL;
    }
    if (!mdf_value_convert(call->context->memory, converted, item, dtype)) {
        mdf_call_out_of_memory(call);
        return NULL;
    }
    return converted;
}

/* At the end: the two sequences share their items, so that a loop that appends in each iteration is linear in all. */
static bool append(struct mdf_call *call, const struct mdf_value *sequence, const struct mdf_value *item)
{
    struct mdf_value *result = mdf_call_result(call, 0);

    if (result == NULL) {
        return true;
    }
    if (!mdf_value_share(call->context->memory, result, sequence) || !mdf_value_append(call->context->memory, result, item)) {
        return mdf_call_out_of_memory(call);
    }
    result->dtype = item->dtype;
    return true;
}

static bool sequence_insert(struct mdf_call *call)
{
    const struct mdf_value *sequence = sequence_input(call), *item = sequence != NULL ? mdf_call_tensor(call, 1) : NULL, *old;
    struct mdf_value *items;
    size_t position = 0, n;

    item = item != NULL ? item_to_insert(call, (mdf_dtype)sequence->dtype, item) : NULL;
    if (item == NULL || !read_position(call, 2, sequence->length, true, (int64_t)sequence->length, &position)) {
        return false;
    }
    n = sequence->length;
    if (position == n) {
        return append(call, sequence, item);
    }
    items = output_sequence(call, (mdf_dtype)item->dtype, n + 1);
    if (items == NULL) {
        return false;
    }
    old = mdf_value_items(sequence);
    return share_items(call, items, old, position) && share_items(call, &items[position], item, 1) &&
           share_items(call, items + position + 1, old + position, n - position);
}

/* The first or the last: a part of the old list, so that a queue or a stack costs the same at any length. */
static bool erase_end(struct mdf_call *call, const struct mdf_value *sequence, size_t position)
{
    struct mdf_value *result = mdf_call_result(call, 0);

    return result == NULL ||
           mdf_value_share_items(call->context->memory, result, sequence, position == 0, sequence->length - 1) ||
           mdf_call_out_of_memory(call);
}

static bool sequence_erase(struct mdf_call *call)
{
    const struct mdf_value *sequence = sequence_input(call), *old;
    struct mdf_value *items;
    size_t position = 0;

    if (sequence == NULL || !read_position(call, 1, sequence->length, false, -1, &position)) {
        return false;
    }
    if (position == 0 || position == sequence->length - 1) {
        return erase_end(call, sequence, position);
    }
    items = output_sequence(call, (mdf_dtype)sequence->dtype, sequence->length - 1);
    old = mdf_value_items(sequence);
    return items != NULL && share_items(call, items, old, position) &&
           share_items(call, items + position, old + position + 1, sequence->length - 1 - position);
}

static bool sequence_at(struct mdf_call *call)
{
    const struct mdf_value *sequence = sequence_input(call);
    size_t position = 0;

    return sequence != NULL && read_position(call, 1, sequence->length, false, 0, &position) &&
           mdf_call_output_copy(call, 0, &mdf_value_items(sequence)[position]);
}

static bool sequence_length(struct mdf_call *call)
{
    const struct mdf_value *sequence = sequence_input(call);
    int64_t *target = sequence != NULL ? mdf_call_output(call, 0, MDF_DTYPE_INT64, 0, NULL) : NULL;

    if (target != NULL) {
        *target = (int64_t)sequence->length;
    }
    return target != NULL;
}

/* ------------------------------------------------------------------ SplitToSequence, ConcatFromSequence */

struct split_settings {
    int64_t axis, keep_axis;
};

static const struct mdf_setting split_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct split_settings, axis)},
                                                 {"keepdims", MDF_SETTING_INT, offsetof(struct split_settings, keep_axis)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* How an axis is cut: pieces of one length, the last maybe shorter, or of given lengths. */
struct cuts {
    size_t n;
    int64_t length;
    const int64_t *lengths; /* NULL: all are `length` */
};

static bool read_cuts(struct mdf_call *call, size_t axis, int64_t size, struct cuts *cuts)
{
    const struct mdf_value *split = mdf_call_input(call, 1);
    int64_t total = 0;
    size_t n;
    bool fits = true;

    cuts->length = 1;
    cuts->lengths = NULL;
    if (split != NULL) {
        cuts->lengths = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n);
        if (cuts->lengths == NULL) {
            return false;
        }
    }
    if (split == NULL || split->rank == 0) {
        cuts->length = split != NULL ? cuts->lengths[0] : 1;
        cuts->lengths = NULL;
        if (cuts->length <= 0) {
            return mdf_call_error(call, MDF_VALUE, "pieces of length %lld are asked for", (long long)cuts->length);
        }
        cuts->n = (size_t)(size / cuts->length) + (size % cuts->length != 0);
        return true;
    }
    for (size_t i = 0; i < n && fits; i++) {
        fits = cuts->lengths[i] >= 0 && !__builtin_add_overflow(total, cuts->lengths[i], &total);
    }
    cuts->n = n;
    return fits && total == size ? true
                                 : mdf_call_error(call, MDF_SHAPE, "the %zu given lengths do not make up axis %zu of size %lld",
                                                  n, axis, (long long)size);
}

static bool split_to_sequence(struct mdf_call *call)
{
    const struct split_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    int64_t size, start = 0, length;
    struct mdf_value *items;
    struct cuts cuts = {0, 1, NULL};
    size_t axis;
    bool keep_axis;

    if (data == NULL || !mdf_call_axis(call, settings->axis, data->rank, &axis)) {
        return false;
    }
    size = mdf_value_shape(data)[axis];
    if (!read_cuts(call, axis, size, &cuts)) {
        return false;
    }
    /* Given lengths keep it. The length 1 for all, as exporters of unbind() write it, is what is meant without lengths too, and
     * so does not, as in ONNX Runtime. */
    keep_axis = settings->keep_axis != 0 || cuts.lengths != NULL || cuts.length != 1;
    items = output_sequence(call, (mdf_dtype)data->dtype, cuts.n);
    for (size_t i = 0; items != NULL && i < cuts.n; i++) {
        length = cuts.lengths != NULL ? cuts.lengths[i] : size - start < cuts.length ? size - start : cuts.length;
        if (!mdf_take_part(call, &items[i], data, axis, (size_t)start, (size_t)length, keep_axis)) {
            return false;
        }
        start += length;
    }
    return items != NULL;
}

struct join_settings {
    int64_t axis, new_axis;
};

static const struct mdf_setting join_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct join_settings, axis)},
                                                {"new_axis", MDF_SETTING_INT, offsetof(struct join_settings, new_axis)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* Item `i` of the sequence that is input 0 (once sequence_input has been asked for it). */
static const struct mdf_value *sequence_item(struct mdf_call *call, size_t i)
{
    bool is_list = call->inputs[0]->kind == MDF_KIND_LIST;
    const struct mdf_value *item = &mdf_value_items(is_list ? call->inputs[0] : &call->scratch[MDF_SCRATCH_SECOND])[i];

    if (mdf_value_is_tensor(item)) {
        return item;
    }
    mdf_call_error(call, MDF_TYPE, "item %zu of the sequence is not an array", i);
    return NULL;
}

static bool concat_from_sequence(struct mdf_call *call)
{
    const struct join_settings *settings = call->settings;
    const struct mdf_value *sequence = sequence_input(call);

    return sequence != NULL && mdf_concatenate(call, sequence->length, sequence_item, settings->axis, settings->new_axis == 1);
}

/* ------------------------------------------------------------------ optionals */

/* Optional: what comes in, or nothing; `type` is that of what is not there, which only files of ONNX tell. */
struct optional_settings {
    const char *type;
};

static const struct mdf_setting optional_table[] = {{"type", MDF_SETTING_STRING, offsetof(struct optional_settings, type)},
                                                    {NULL, 0, 0}};

static bool optional(struct mdf_call *call)
{
    return mdf_call_output_copy(call, 0, mdf_call_input(call, 0));
}

static bool has_element(const struct mdf_value *value)
{
    return value != NULL && value->kind != MDF_KIND_NONE;
}

static bool optional_get_element(struct mdf_call *call)
{
    const struct mdf_value *value = mdf_call_input(call, 0);

    return has_element(value) ? mdf_call_output_copy(call, 0, value) : mdf_call_error(call, MDF_VALUE, "the optional is empty");
}

static bool optional_has_element(struct mdf_call *call)
{
    uint8_t *target = mdf_call_output(call, 0, MDF_DTYPE_BOOL, 0, NULL);

    if (target != NULL) {
        *target = has_element(mdf_call_input(call, 0));
    }
    return target != NULL;
}

const struct mdf_operator mdf_operators_sequence[] = {
    {"SequenceConstruct", 11, 99, sequence_construct, NULL, 0, MDF_OPERATOR_PURE, NULL, .form = MDF_FORM_SEQUENCE_CONSTRUCT,
     .infer = &mdf_rule_sequence},
    {"SequenceEmpty", 11, 99, sequence_empty, empty_table, sizeof(struct empty_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_sequence_empty},
    {"SequenceInsert", 11, 99, sequence_insert, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_SEQUENCE_INSERT,
     .infer = &mdf_rule_sequence},
    {"SequenceErase", 11, 99, sequence_erase, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_SEQUENCE_ERASE,
     .infer = &mdf_rule_sequence_of},
    {"SequenceAt", 11, 99, sequence_at, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_SEQUENCE_AT,
     .infer = &mdf_rule_sequence_item},
    {"SequenceLength", 11, 99, sequence_length, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_SEQUENCE_LENGTH,
     .infer = &mdf_rule_scalar},
    {"SplitToSequence", 11, 99, split_to_sequence, split_table, sizeof(struct split_settings),
     MDF_OPERATOR_KEEPS_SCALARS | MDF_OPERATOR_NEEDS_AXIS, NULL, .form = MDF_FORM_SEQUENCE_SPLIT, .infer = &mdf_rule_sequence_of},
    {"ConcatFromSequence", 11, 99, concat_from_sequence, join_table, sizeof(struct join_settings), MDF_OPERATOR_KEEPS_INPUTS,
     NULL, .form = MDF_FORM_SEQUENCE_JOIN, .infer = &mdf_rule_sequence_item},
    {"Optional", 15, 99, optional, optional_table, sizeof(struct optional_settings), MDF_OPERATOR_KEEPS_INPUTS, NULL,
     .form = MDF_FORM_OPTIONAL, .move = MDF_MOVE(1, .in_order = true)},
    {"OptionalGetElement", 15, 99, optional_get_element, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .form = MDF_FORM_OPTIONAL_GET,
     .move = MDF_MOVE(1, .in_order = true)},
    {"OptionalHasElement", 15, 99, optional_has_element, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL,
     .form = MDF_FORM_OPTIONAL_HAS, .derivatives = mdf_derivatives_flat},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
