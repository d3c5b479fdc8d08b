/* subscript.c - Python's subscripts: x[1], x[-1, 2:], x[::-1], x[..., None], x[mask], x[[0, 2]], object["key"].
 *
 * Arrays follow numpy's "Indexing on ndarrays": whole numbers and slices are basic; where there is an array, a list or a mask,
 * all of these and the whole numbers are broadcast together, and their axes stand where the first of them does, or in front where
 * slices, None or "..." part them. Lists and strings take a whole number or a slice, objects a key. Results are copies. */
#include "functions/kernel/move.h"
#include "functions/python/python_values.h"

#include <string.h>

enum { SLOT_INDICES = MDF_SLOT_OWN, SLOT_TABLES = MDF_SLOT_OWN + 1 };

/* ------------------------------------------------------------------ slices */

struct range {
    int64_t start, step, n;
};

/* A bound of a slice of `size` items, as Python reads it: negative ones count from the end, all are brought into [low, high]. */
static int64_t fit_bound(int64_t bound, int64_t size, int64_t low, int64_t high)
{
    if (bound < 0) {
        bound = bound < -size ? low : bound + size;
    }
    return bound < low ? low : bound > high ? high : bound;
}

/* Reads the operands of a slice from number *next on. None counts as left out. */
static bool read_slice(struct mdf_call *call, const struct mdf_subscript_part *part, size_t *next, int64_t size,
                       struct range *range)
{
    int64_t low, high, stop;
    size_t start_operand = 0, stop_operand = 0, step_operand = 0;

    start_operand = part->has_start ? (*next)++ : SIZE_MAX;
    stop_operand = part->has_stop ? (*next)++ : SIZE_MAX;
    step_operand = part->has_step ? (*next)++ : SIZE_MAX;
    if (!mdf_python_integer(call, step_operand, 1, &range->step)) {
        return false;
    }
    if (range->step == 0) {
        return mdf_call_error(call, MDF_VALUE, "a slice with a step of zero");
    }
    range->step = range->step == INT64_MIN ? -INT64_MAX : range->step;
    low = range->step > 0 ? 0 : -1;
    high = range->step > 0 ? size : size - 1;
    if (!mdf_python_integer(call, start_operand, range->step > 0 ? 0 : INT64_MAX, &range->start) ||
        !mdf_python_integer(call, stop_operand, range->step > 0 ? INT64_MAX : INT64_MIN, &stop)) {
        return false;
    }
    range->start = fit_bound(range->start, size, low, high);
    stop = fit_bound(stop, size, low, high);
    if (range->step > 0) {
        range->n = stop > range->start ? (stop - range->start - 1) / range->step + 1 : 0;
    } else {
        range->n = stop < range->start ? (range->start - stop - 1) / -range->step + 1 : 0;
    }
    return true;
}

static bool refuse_index(struct mdf_call *call, int64_t index, int64_t size)
{
    return mdf_call_error(call, MDF_VALUE, "index %lld is out of range for %lld items", (long long)index, (long long)size);
}

/* ------------------------------------------------------------------ lists, strings, objects */

static bool take_items(struct mdf_call *call, const struct mdf_value *list, struct range range)
{
    struct mdf_value *items = mdf_python_make_list(call, mdf_call_target(call, 0), (size_t)range.n);

    for (int64_t i = 0; items != NULL && i < range.n && !mdf_should_stop_at(call->context, (size_t)i, MDF_ITEMS_PER_LOOK); i++) {
        if (!mdf_value_share(call->context->memory, &items[i], &mdf_value_items(list)[range.start + i * range.step])) {
            return mdf_call_out_of_memory(call);
        }
    }
    return items != NULL;
}

/* Characters of a string: where each begins is found once. */
static bool take_characters(struct mdf_call *call, const struct mdf_value *string, struct range range)
{
    size_t length, n = 0, used = 0;
    const char *text = mdf_python_text(string, &length);
    int64_t *starts = mdf_call_scratch(call, MDF_SCRATCH_AXES, MDF_DTYPE_INT64, length + 1), k;
    char *room = starts == NULL ? NULL : mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_UINT8, length);

    if (room == NULL) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            starts[n++] = (int64_t)i;
        }
    }
    starts[n] = (int64_t)length;
    for (k = 0; k < range.n; k++) {
        int64_t at = range.start + k * range.step;
        size_t size = (size_t)(starts[at + 1] - starts[at]);

        memcpy(room + used, text + starts[at], size);
        used += size;
    }
    return mdf_python_make_string(call, mdf_call_target(call, 0), room, used);
}

static bool get_of_sequence(struct mdf_call *call, const struct mdf_subscript *subscript, const struct mdf_value *sequence)
{
    int64_t size = (int64_t)mdf_python_length(sequence), index;
    struct range range;
    size_t next = 1;
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (subscript->is_tuple || subscript->n_parts != 1 || subscript->parts[0].kind > MDF_SUBSCRIPT_SLICE) {
        return mdf_call_error(call, MDF_TYPE, "%s takes one whole number or slice", mdf_python_kind(sequence, text));
    }
    if (subscript->parts[0].kind == MDF_SUBSCRIPT_SLICE) {
        return read_slice(call, &subscript->parts[0], &next, size, &range) &&
               (sequence->kind == MDF_KIND_LIST ? take_items(call, sequence, range) : take_characters(call, sequence, range));
    }
    if (call->inputs[1]->kind == MDF_KIND_LIST || mdf_python_is_string(call->inputs[1])) {
        return mdf_call_error(call, MDF_TYPE, "%s takes one whole number or slice", mdf_python_kind(sequence, text));
    }
    if (!mdf_call_integer(call, 1, &index)) {
        return false;
    }
    if (index < -size || index >= size) {
        return refuse_index(call, index, size);
    }
    return mdf_python_take_item(call, mdf_call_target(call, 0), sequence, (size_t)(index < 0 ? index + size : index));
}

static bool get_of_object(struct mdf_call *call, const struct mdf_subscript *subscript, const struct mdf_value *object)
{
    const struct mdf_value *key = mdf_call_input(call, 1), *entries = mdf_value_items(object);
    size_t length;

    if (subscript->is_tuple || subscript->n_parts != 1 || subscript->parts[0].kind != MDF_SUBSCRIPT_INDEX ||
        !mdf_python_is_string(key)) {
        return mdf_call_error(call, MDF_TYPE, "an object takes one key");
    }
    for (size_t i = 0; i < object->length; i++) {
        if (mdf_value_equal(&entries[2 * i], key)) {
            return mdf_python_copy(call, mdf_call_target(call, 0), &entries[2 * i + 1]);
        }
    }
    return mdf_call_error(call, MDF_NAME, "the object has no key '%.80s'", mdf_python_text(key, &length));
}

/* ------------------------------------------------------------------ subscripts of arrays */

/* One array of indices: what it selects from one axis of the source, or a truth that selects from none. */
struct selector {
    const int64_t *indices;
    size_t rank;
    const int64_t *shape;
    int64_t stride, size; /* of the source axis */
    size_t axis;
};

/* A subscript as it is read: result axes in order, and selectors. Results of selectors stand behind the first n_before axes. */
struct reading {
    const struct mdf_value *array;
    int64_t *strides; /* of the source */
    size_t axis;      /* next of the source */
    int64_t offset;
    int64_t *result_shape, *result_strides; /* axes of slices, None and "..." */
    size_t n_result_axes;
    struct selector *selectors;
    size_t n_selectors, n_slots_used;
    bool broadcasts; /* there is an array among the indices: whole numbers are broadcast with it */
    bool parted;     /* something stands between selectors */
    bool left;       /* something stands behind the last selector */
    size_t n_before;
};

static bool is_mask(const struct mdf_value *index)
{
    return index->kind == MDF_KIND_TENSOR && index->dtype == MDF_DTYPE_BOOL;
}

static bool is_single(const struct mdf_value *index)
{
    return index->kind == MDF_KIND_TENSOR && index->rank == 0 && index->dtype != MDF_DTYPE_BOOL;
}

static void add_result_axis(struct reading *reading, int64_t size, int64_t stride)
{
    reading->result_shape[reading->n_result_axes] = size;
    reading->result_strides[reading->n_result_axes++] = stride;
    reading->left = reading->n_selectors > 0;
}

/* Takes one more selector; those before it that something stands behind are apart from it. */
static struct selector *add_selector(struct reading *reading)
{
    if (reading->n_selectors == 0) {
        reading->n_before = reading->n_result_axes;
    }
    reading->parted = reading->parted || reading->left;
    return &reading->selectors[reading->n_selectors++];
}

static int64_t source_size(const struct reading *reading, size_t axis)
{
    return mdf_value_shape(reading->array)[axis];
}

static bool read_single(struct mdf_call *call, struct reading *reading, size_t operand)
{
    int64_t index, size = source_size(reading, reading->axis);
    size_t at;

    if (!mdf_call_integer(call, operand, &index) || !mdf_index_check(call, index, 0, reading->axis, size, &at)) {
        return false;
    }
    reading->offset += (int64_t)at * reading->strides[reading->axis++];
    if (reading->broadcasts) { /* a selector of one index, taken already */
        static const int64_t zero = 0;
        struct selector *selector = add_selector(reading);

        *selector = (struct selector){&zero, 0, NULL, 0, 1, reading->axis - 1};
    }
    return true;
}

/* Numbers the true elements of a mask, one list of numbers an axis. */
static bool number_mask(struct mdf_call *call, const struct mdf_value *mask, struct mdf_value *slot, size_t *n_true)
{
    const uint8_t *truths = mask->data;
    const int64_t *shape = mdf_value_shape(mask);
    int64_t *numbers, size[2] = {(int64_t)(mask->rank > 0 ? mask->rank : 1), 0};
    size_t n = 0;

    for (size_t i = 0; i < mask->length; i++) {
        size[1] += truths[i] != 0;
    }
    *n_true = (size_t)size[1];
    numbers = mdf_python_make(call, slot, MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 2, size);
    for (size_t i = 0; numbers != NULL && i < mask->length; i++) {
        size_t rest = i;

        if (truths[i] == 0) {
            continue;
        }
        numbers[n] = 0; /* of a mask without axes */
        for (size_t axis = mask->rank; axis-- > 0;) {
            numbers[axis * *n_true + n] = (int64_t)(rest % (size_t)shape[axis]);
            rest /= (size_t)shape[axis];
        }
        n++;
    }
    return numbers != NULL;
}

static bool refuse_mask(struct mdf_call *call, const struct reading *reading, const struct mdf_value *mask)
{
    char array_text[MDF_PYTHON_KIND_TEXT_SIZE], mask_text[MDF_PYTHON_KIND_TEXT_SIZE];

    mdf_value_describe(reading->array, array_text, sizeof array_text);
    mdf_value_describe(mask, mask_text, sizeof mask_text);
    return mdf_call_error(call, MDF_SHAPE, "the mask %s does not fit %s from axis %zu on", mask_text, array_text, reading->axis);
}

static bool read_mask(struct mdf_call *call, struct reading *reading, const struct mdf_value *mask)
{
    struct mdf_value *slot = (struct mdf_value *)call->scratch[MDF_PYTHON_SCRATCH_SLOTS].data + SLOT_TABLES;
    struct mdf_value *tables = slot->data, *table = &tables[reading->n_slots_used++];
    size_t n_true;

    for (size_t i = 0; i < mask->rank; i++) {
        if (reading->axis + i >= reading->array->rank || source_size(reading, reading->axis + i) != mdf_value_shape(mask)[i]) {
            return refuse_mask(call, reading, mask);
        }
    }
    if (!number_mask(call, mask, table, &n_true)) {
        return false;
    }
    for (size_t i = 0; i < (mask->rank > 0 ? mask->rank : 1); i++) {
        struct selector *selector = add_selector(reading);
        bool real_axis = mask->rank > 0;

        selector->indices = (const int64_t *)table->data + i * n_true;
        selector->rank = 1;
        selector->shape = &mdf_value_shape(table)[1];
        selector->stride = real_axis ? reading->strides[reading->axis] : 0;
        selector->size = real_axis ? source_size(reading, reading->axis) : 1;
        selector->axis = reading->axis;
        reading->axis += real_axis;
    }
    return true;
}

/* An index that is an array or a list of whole numbers. */
static bool read_indices(struct mdf_call *call, struct reading *reading, const struct mdf_value *index)
{
    struct mdf_value *slot = (struct mdf_value *)call->scratch[MDF_PYTHON_SCRATCH_SLOTS].data + SLOT_TABLES;
    struct mdf_value *table = (struct mdf_value *)slot->data + reading->n_slots_used++;
    char kind = mdf_dtype_kind((mdf_dtype)index->dtype), text[MDF_PYTHON_KIND_TEXT_SIZE];
    struct selector *selector;

    if (kind != 'i' && kind != 'u' && index->length > 0) {
        return mdf_call_error(call, MDF_TYPE, "%s is no index", mdf_python_kind(index, text));
    }
    if (!mdf_value_convert(call->context->memory, table, index, MDF_DTYPE_INT64)) {
        return mdf_call_out_of_memory(call);
    }
    selector = add_selector(reading);
    selector->indices = table->data;
    selector->rank = table->rank;
    selector->shape = mdf_value_shape(table);
    selector->stride = reading->strides[reading->axis];
    selector->size = source_size(reading, reading->axis);
    selector->axis = reading->axis++;
    return true;
}

static bool refuse_count(struct mdf_call *call, const struct mdf_value *array)
{
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    return mdf_call_error(call, MDF_VALUE, "too many indices for %s%s", mdf_python_kind(array, text),
                          mdf_value_is_tensor(array) && array->rank == 0 ? ", which is read without an index" : "");
}

static bool read_index(struct mdf_call *call, struct reading *reading, size_t operand)
{
    const struct mdf_value *index = call->inputs[operand];

    if (index->kind == MDF_KIND_NONE) {
        add_result_axis(reading, 1, 0);
        return true;
    }
    index = mdf_python_array(call, index, MDF_SLOT_OPERANDS);
    if (index == NULL) {
        return false;
    }
    if (is_mask(index)) {
        return read_mask(call, reading, index);
    }
    if (reading->axis >= reading->array->rank) {
        return refuse_count(call, reading->array);
    }
    return is_single(index) ? read_single(call, reading, operand) : read_indices(call, reading, index);
}

static void skip_axes(struct reading *reading, size_t n)
{
    for (; n > 0; n--) {
        add_result_axis(reading, source_size(reading, reading->axis), reading->strides[reading->axis]);
        reading->axis++;
    }
}

/* What the operands say before they are read: how many source axes they take, whether there is an array. */
struct census {
    size_t n_axes, n_selectors, n_tables, n_ellipses;
    bool broadcasts;
};

static size_t list_rank(const struct mdf_value *index)
{
    return index->kind == MDF_KIND_LIST ? (index->length > 0 ? list_rank(mdf_value_items(index)) : 0) + 1 : index->rank;
}

static bool list_of_truths(const struct mdf_value *index)
{
    return index->kind == MDF_KIND_LIST ? index->length > 0 && list_of_truths(mdf_value_items(index)) : is_mask(index);
}

static struct census take_census(const struct mdf_call *call, const struct mdf_subscript *subscript)
{
    struct census census = {0};
    size_t next = 1;

    for (size_t i = 0; i < subscript->n_parts; i++) {
        const struct mdf_subscript_part *part = &subscript->parts[i];

        if (part->kind == MDF_SUBSCRIPT_INDEX) {
            const struct mdf_value *index = call->inputs[next++];
            size_t n = list_of_truths(index) ? list_rank(index) : index->kind != MDF_KIND_NONE;

            census.n_axes += n;
            census.n_selectors += n > 0 ? n : 1;
            census.n_tables++;
            census.broadcasts = census.broadcasts || (index->kind != MDF_KIND_NONE && !is_single(index));
        } else if (part->kind == MDF_SUBSCRIPT_SLICE) {
            next += (size_t)part->has_start + part->has_stop + part->has_step;
            census.n_axes++;
        }
        census.n_ellipses += part->kind == MDF_SUBSCRIPT_ELLIPSIS;
    }
    return census;
}

/* Room for what the reading of a subscript notes down. */
static bool make_room(struct mdf_call *call, const struct mdf_subscript *subscript, const struct census *census,
                      struct reading *reading)
{
    struct mdf_value *slots = mdf_python_slots(call);
    size_t n_axes = reading->array->rank + subscript->n_parts + 1, rank = reading->array->rank + 1;
    int64_t *room, size = (int64_t)(census->n_selectors * sizeof *reading->selectors + 1);

    if (slots == NULL) {
        return false;
    }
    if (census->n_tables > 0 && (slots[SLOT_TABLES].kind != MDF_KIND_LIST || slots[SLOT_TABLES].length < census->n_tables) &&
        mdf_python_make_list(call, &slots[SLOT_TABLES], census->n_tables) == NULL) {
        return false;
    }
    reading->selectors = mdf_python_make(call, &slots[SLOT_INDICES], MDF_DTYPE_UINT8, MDF_STRENGTH_LITERAL, 1, &size);
    room = reading->selectors == NULL ? NULL
                                      : mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_INT64, rank + 2 * n_axes);
    if (room == NULL) {
        return false;
    }
    reading->strides = room;
    reading->result_shape = room + rank;
    reading->result_strides = room + rank + n_axes;
    mdf_strides(reading->array->rank, mdf_value_shape(reading->array), reading->strides);
    return true;
}

static bool read_part(struct mdf_call *call, struct reading *reading, const struct mdf_subscript_part *part, size_t *next,
                      size_t n_skipped)
{
    struct range range;

    switch (part->kind) {
    case MDF_SUBSCRIPT_INDEX:
        return read_index(call, reading, (*next)++);
    case MDF_SUBSCRIPT_SLICE:
        if (!read_slice(call, part, next, source_size(reading, reading->axis), &range)) {
            return false;
        }
        reading->offset += range.n > 0 ? range.start * reading->strides[reading->axis] : 0;
        add_result_axis(reading, range.n, range.n > 1 ? range.step * reading->strides[reading->axis] : 0);
        reading->axis++;
        return true;
    case MDF_SUBSCRIPT_ELLIPSIS:
        reading->left = reading->n_selectors > 0;
        skip_axes(reading, n_skipped);
        return true;
    case MDF_SUBSCRIPT_NEWAXIS:
        add_result_axis(reading, 1, 0);
        return true;
    }
    return false;
}

static bool read_subscript(struct mdf_call *call, const struct mdf_subscript *subscript, struct reading *reading)
{
    struct census census = take_census(call, subscript);
    size_t rank = reading->array->rank, next = 1;

    if (census.n_axes > rank) {
        return refuse_count(call, reading->array);
    }
    if (census.n_ellipses > 1) {
        return mdf_call_error(call, MDF_VALUE, "a subscript with more than one '...'");
    }
    reading->broadcasts = census.broadcasts;
    if (!make_room(call, subscript, &census, reading)) {
        return false;
    }
    for (size_t i = 0; i < subscript->n_parts; i++) {
        if (!read_part(call, reading, &subscript->parts[i], &next, rank - census.n_axes)) {
            return false;
        }
    }
    skip_axes(reading, rank - reading->axis);
    if (reading->parted) {
        reading->n_before = 0;
    }
    return true;
}

/* ------------------------------------------------------------------ elements of arrays */

/* Copies the elements of slices alone. */
static bool copy_slices(struct mdf_call *call, const struct reading *reading)
{
    mdf_dtype dtype = (mdf_dtype)reading->array->dtype;
    struct mdf_value *target = mdf_call_target(call, 0);
    void *elements =
        mdf_python_make(call, target, dtype, mdf_numpy_strength(reading->array), reading->n_result_axes, reading->result_shape);
    struct mdf_box box;

    if (elements == NULL || !mdf_box_prepare(call, reading->n_result_axes, 0, &box, NULL)) {
        return false;
    }
    if (target->length == 0) {
        return true;
    }
    if (box.rank > 0) {
        memcpy(box.shape, reading->result_shape, box.rank * sizeof *box.shape);
        memcpy(box.source_strides, reading->result_strides, box.rank * sizeof *box.source_strides);
        mdf_strides(box.rank, reading->result_shape, box.target_strides);
    }
    mdf_box_copy(call, &box, dtype, elements, mdf_element_at(dtype, reading->array->data, (size_t)reading->offset));
    return true;
}

/* Broadcasts the selectors' shapes: the sizes of the `rank` axes and the number of elements that they select together. */
static bool broadcast_selectors(struct mdf_call *call, const struct reading *reading, int64_t *shape, size_t rank, size_t *n)
{
    for (size_t i = 0; i < rank; i++) {
        shape[i] = 1;
    }
    for (size_t i = 0; i < reading->n_selectors; i++) {
        const struct selector *selector = &reading->selectors[i];

        if (!mdf_broadcast_shape(rank, shape, selector->rank, selector->shape, shape)) {
            return mdf_call_error(call, MDF_SHAPE, "the arrays of indices do not broadcast");
        }
    }
    return mdf_shape_n_elements(rank, shape, n) || mdf_call_error(call, MDF_LIMIT, "too many indices together");
}

/* Number, in the selector's own array, of the index at number `i` of the broadcast ones. */
static size_t own_number(const struct selector *selector, const int64_t *shape, size_t rank, size_t i)
{
    size_t number = 0, stride = 1;

    for (size_t axis = rank; axis-- > rank - selector->rank;) {
        size_t at = i % (size_t)shape[axis], size = (size_t)selector->shape[axis + selector->rank - rank];

        number += size == 1 ? 0 : at * stride;
        stride *= size;
        i /= (size_t)shape[axis];
    }
    return number;
}

/* Where each broadcast index points in the source. */
static bool find_offsets(struct mdf_call *call, const struct reading *reading, const int64_t *shape, size_t rank, size_t n,
                         int64_t *offsets)
{
    size_t at;

    for (size_t i = 0; i < n; i++) {
        offsets[i] = reading->offset;
    }
    for (size_t k = 0; k < reading->n_selectors; k++) {
        const struct selector *selector = &reading->selectors[k];
        bool whole = selector->rank == rank && memcmp(selector->shape, shape, rank * sizeof *shape) == 0;

        for (size_t i = 0; i < n; i++) {
            size_t number = whole ? i : own_number(selector, shape, rank, i);

            if (!mdf_index_check(call, selector->indices[number], number, selector->axis, selector->size, &at)) {
                return false;
            }
            offsets[i] += (int64_t)at * selector->stride;
        }
    }
    return true;
}

/* A walk through some axes of slices: steps to the next element, false at the end. */
static bool step_index(size_t rank, const int64_t *shape, const int64_t *strides, int64_t *index, int64_t *offset)
{
    for (size_t axis = rank; axis-- > 0;) {
        *offset += strides[axis];
        if (++index[axis] < shape[axis]) {
            return true;
        }
        *offset -= strides[axis] * shape[axis];
        index[axis] = 0;
    }
    return false;
}

/* Copies, for each element of the axes before the selected ones, for each selected place, the elements of the axes behind. */
static void copy_selected(struct mdf_call *call, const struct reading *reading, const int64_t *offsets, size_t n, int64_t *index,
                          char *target)
{
    size_t n_before = reading->n_before, n_behind = reading->n_result_axes - n_before, n_inner = 1;
    const int64_t *shape = reading->result_shape, *strides = reading->result_strides;
    mdf_dtype dtype = (mdf_dtype)reading->array->dtype;
    size_t size = mdf_dtype_size(dtype);
    int64_t outer = 0, inner;

    for (size_t i = n_behind; i-- > 0 && (shape[n_before + i] == 1 || strides[n_before + i] == (int64_t)n_inner);) {
        n_inner *= (size_t)shape[n_before + i];
        n_behind--;
    }
    memset(index, 0, (reading->n_result_axes + 1) * sizeof *index);
    do {
        for (size_t i = 0; i < n && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
            inner = 0;
            do {
                mdf_elements_copy(call, dtype, target,
                                  mdf_element_at(dtype, reading->array->data, (size_t)(offsets[i] + outer + inner)), n_inner);
                target += n_inner * size;
            } while (step_index(n_behind, shape + n_before, strides + n_before, index + n_before, &inner));
        }
    } while (step_index(n_before, shape, strides, index, &outer));
}

/* The rank that the selectors' shapes broadcast to. */
static size_t broadcast_rank(const struct reading *reading)
{
    size_t rank = 0;

    for (size_t i = 0; i < reading->n_selectors; i++) {
        rank = reading->selectors[i].rank > rank ? reading->selectors[i].rank : rank;
    }
    return rank;
}

/* Copies what selectors and slices select together. */
static bool gather(struct mdf_call *call, const struct reading *reading)
{
    size_t rank = broadcast_rank(reading), n_axes = reading->n_result_axes, n_before = reading->n_before, n;
    struct mdf_value *target = mdf_call_target(call, 0), *slots = mdf_python_slots(call);
    int64_t *shape = slots == NULL ? NULL : mdf_call_scratch(call, MDF_SCRATCH_AXES, MDF_DTYPE_INT64, 2 * n_axes + 2 * rank + 1);
    int64_t *selected, *index, *offsets, n_offsets;
    char *elements;

    if (shape == NULL) {
        return false;
    }
    selected = shape + n_axes + rank;
    index = selected + rank;
    if (!broadcast_selectors(call, reading, selected, rank, &n)) {
        return false;
    }
    n_offsets = (int64_t)n;
    offsets = mdf_python_make(call, &slots[MDF_SLOT_OPERANDS], MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &n_offsets);
    if (offsets == NULL || !find_offsets(call, reading, selected, rank, n, offsets)) {
        return false;
    }
    memcpy(shape, reading->result_shape, n_before * sizeof *shape);
    memcpy(shape + n_before, selected, rank * sizeof *shape);
    memcpy(shape + n_before + rank, reading->result_shape + n_before, (n_axes - n_before) * sizeof *shape);
    elements =
        mdf_python_make(call, target, (mdf_dtype)reading->array->dtype, mdf_numpy_strength(reading->array), n_axes + rank, shape);
    if (elements != NULL && target->length > 0) {
        copy_selected(call, reading, offsets, n, index, elements);
    }
    return elements != NULL;
}

/* The most common subscripts: one whole number of an array of rank 1. False where it is another. */
static bool get_element(struct mdf_call *call, const struct mdf_subscript *subscript, const struct mdf_value *array, bool *done)
{
    const struct mdf_value *index = mdf_call_input(call, 1);
    int64_t at, size = array->rank == 1 ? mdf_value_shape(array)[0] : 0;

    if (array->rank != 1 || subscript->n_parts != 1 || subscript->parts[0].kind != MDF_SUBSCRIPT_INDEX ||
        !mdf_value_is_scalar(index) || index->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    at = *(const int64_t *)index->data;
    *done = at >= -size && at < size
                ? mdf_python_take_item(call, mdf_call_target(call, 0), array, (size_t)(at < 0 ? at + size : at))
                : refuse_index(call, at, size);
    return true;
}

static bool get_of_array(struct mdf_call *call, const struct mdf_subscript *subscript, const struct mdf_value *array)
{
    struct reading reading = {.array = array};
    bool done = false;

    if (get_element(call, subscript, array, &done)) {
        return done;
    }
    if (!read_subscript(call, subscript, &reading)) {
        return false;
    }
    return reading.n_selectors > 0 ? gather(call, &reading) : copy_slices(call, &reading);
}

static bool run_getitem(struct mdf_call *call)
{
    const struct mdf_value *object = call->inputs[0];
    const struct mdf_subscript *subscript = call->settings;
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (object->kind == MDF_KIND_LIST || mdf_python_is_string(object)) {
        return get_of_sequence(call, subscript, object);
    }
    if (object->kind == MDF_KIND_DICT) {
        return get_of_object(call, subscript, object);
    }
    if (object->kind == MDF_KIND_NONE || mdf_python_is_number(object)) {
        return mdf_call_error(call, MDF_TYPE, "%s has no items", mdf_python_kind(object, text));
    }
    return get_of_array(call, subscript, object);
}

const struct mdf_operator mdf_operators_python_subscript[] = {
    {"operator.getitem", 0, 0, run_getitem, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, "object *index", .move = MDF_MOVE(1),
     .form = MDF_FORM_LIST_ITEM},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL},
};
