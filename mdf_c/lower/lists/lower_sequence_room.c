/* lower_sequence_room.c - positions in sequences that are computed; and sequences of which only a run knows how many items they
 * have, as an array with room for more and a number: states of Loops that put something into them, or take something out, in one
 * branch only, or at any place. The array is as long as the loop can make it; where it is too short after all, it bails out. See
 * sequence_call.h and lower_loops.h.
 *
 * Comes in: such a Loop, which has been refused as one whose sequences are rows, or only grow. Goes out: two states for each such
 * sequence. Behind a loop of the whole region
 * the items that there are become a sequence of open rows, where somebody looks at it, or all items. */
#include "mdf_c/lower/lists/sequence_call.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/terms.h"

#include "functions/elements/element.h"

#include <string.h>

enum { MOST_ROOM = 1 << 16, MOST_ELEMENTS = 1 << 22 };

/* ------------------------------------------------------------------ positions */

mdf_lowered_id sequence_number(const struct sequence_call *call, size_t i)
{
    bool is_given;
    mdf_lowered_id id = sequence_input(call, i, &is_given);
    const struct mdf_value *number = id == MDF_LOWERED_NONE ? NULL : lowering_example(call->lowering, id);
    struct mdf_value scalar = {0};

    if (number == NULL || number->kind != MDF_KIND_TENSOR || number->length != 1 ||
        (number->dtype != MDF_DTYPE_INT64 && number->dtype != MDF_DTYPE_INT32)) {
        return MDF_LOWERED_NONE;
    }
    mdf_value_borrow_tensor(call->lowering->memory, &scalar, (mdf_dtype)number->dtype, (enum mdf_strength)number->strength, 0,
                            NULL, number->data);
    return number->rank == 0                          ? id
           : lowering_is_constant(call->lowering, id) ? lowering_add_constant(call->lowering, &scalar, false)
                                                      : lowering_convert(call->lowering, id, &scalar);
}

mdf_lowered_id sequence_position(const struct sequence_call *call, size_t input, mdf_lowered_id n, bool at_end)
{
    struct lowering *lowering = call->lowering;
    mdf_lowered_id given = sequence_number(call, input), zero = mdf_term_whole(lowering, 0), sum, outside;
    struct lowering_range range, all;

    given =
        given == MDF_LOWERED_NONE || n == MDF_LOWERED_NONE ? MDF_LOWERED_NONE : lowering_cast(lowering, given, MDF_DTYPE_INT64);
    if (given == MDF_LOWERED_NONE || (lowering_find_range(lowering, given, &range) && range.low >= 0 &&
                                      lowering_find_range(lowering, n, &all) && range.high < all.low + at_end)) {
        return given;
    }
    sum = mdf_term_compute(lowering, MDF_LOWERED_ADD, false, given, n);
    outside = mdf_term_or(lowering, mdf_term_compute(lowering, MDF_LOWERED_LESS, false, sum, zero),
                          mdf_term_compute(lowering, at_end ? MDF_LOWERED_GREATER : MDF_LOWERED_GREATER_EQUAL, false, given, n));
    return lowering_bail_out_if(lowering, outside)
               ? mdf_term_choose(lowering, mdf_term_compute(lowering, MDF_LOWERED_LESS, false, given, zero), sum, given)
               : MDF_LOWERED_NONE;
}

/* Which row each of n is, where from a position on they are those one further: `row + (position <= row)`, or `-`; `first` more.
 */
static mdf_lowered_id find_moved(const struct sequence_call *call, mdf_lowered_id position, size_t n,
                                 const struct mdf_element *by, double first)
{
    struct nest_draft *draft = draft_new(call->lowering);
    const struct mdf_nest_view view = {.id = position, .at = MDF_NEST_NONE};
    const int64_t stride = 1;
    uint8_t axis, in[2], row;

    if (draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    axis = draft_axis(draft, (int64_t)n);
    in[0] = draft_load_elements(call->lowering, draft, &view, 0, NULL, NULL);
    in[1] = row = draft_count(call->lowering, draft, MDF_DTYPE_INT64, n, axis);
    in[1] = draft_cast(draft, draft_apply(call->lowering, draft, MDF_ELEMENT(less_or_equal), in), MDF_DTYPE_INT64);
    in[0] = row;
    if (first != 0) {
        const uint8_t terms[] = {row, draft_number(call->lowering, draft, MDF_DTYPE_INT64, first)};

        in[0] = draft_apply(call->lowering, draft, MDF_ELEMENT(add), terms);
    }
    return lowering_add_computed_nest(call->lowering, draft, draft_apply(call->lowering, draft, by, in), n, 1, &axis, &stride);
}

/* An item as row number `position`. */
static mdf_lowered_id put_row(const struct sequence_call *call, mdf_lowered_id rows, mdf_lowered_id item, mdf_lowered_id position)
{
    struct lowering *lowering = call->lowering;
    struct mdf_lowered_put *put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *put);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_PUT, .n_in = 3, .in = {rows, item, position}};

    if (put == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    if (rows == MDF_LOWERED_NONE) {
        return rows;
    }
    *put = (struct mdf_lowered_put){.n_indices = 1,
                                    .steps = {(int64_t)lowering_example(lowering, item)->length},
                                    .limits = {mdf_value_shape(lowering_example(lowering, rows))[0]}};
    op.of.put = put;
    op.dtype = lowering_example(lowering, rows)->dtype;
    return lowering_add_element_op(lowering, op, lowering_example(lowering, rows));
}

mdf_lowered_id sequence_insert_at(const struct sequence_call *call, mdf_lowered_id item, mdf_lowered_id position, size_t n_rows)
{
    mdf_lowered_id from = position == MDF_LOWERED_NONE ? position : find_moved(call, position, n_rows, MDF_ELEMENT(subtract), 0);

    from = from == MDF_LOWERED_NONE ? from : lowering_item_at(call->lowering, call->rows, from); /* in front of row 0 the last */
    return put_row(call, from, item, position);
}

mdf_lowered_id sequence_erase_at(const struct sequence_call *call, mdf_lowered_id position, int64_t n)
{
    mdf_lowered_id from;

    if (position != MDF_LOWERED_NONE && n == 2) { /* an array of one number would be no scalar */
        from = mdf_term_compute(call->lowering, MDF_LOWERED_SUBTRACT, false, mdf_term_whole(call->lowering, 1), position);
        from = from == MDF_LOWERED_NONE ? from : lowering_item_at(call->lowering, call->rows, from);
        return from == MDF_LOWERED_NONE ? from : sequence_row(call, from);
    }
    from = position == MDF_LOWERED_NONE ? position : find_moved(call, position, (size_t)n - 1, MDF_ELEMENT(add), 0);
    return from == MDF_LOWERED_NONE ? from : lowering_item_at(call->lowering, call->rows, from);
}

/* ------------------------------------------------------------------ sequences with room */

/* A list of one item, which stands for how many there are. */
static const struct mdf_value *keep_list_of_one(struct lowering *lowering, const struct mdf_value *rows)
{
    struct mdf_value *list = lowering_keep_value(lowering), *items;
    void *elements = NULL;

    items = list == NULL ? NULL : mdf_value_make_list(lowering->memory, list, 1);
    if (items != NULL) {
        elements =
            mdf_value_make_tensor(lowering->memory, items, (mdf_dtype)rows->dtype, rows->rank - 1u, mdf_value_shape(rows) + 1);
    }
    if (elements == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    memcpy(elements, rows->data, items->length * mdf_dtype_size((mdf_dtype)rows->dtype));
    list->dtype = rows->dtype;
    return list;
}

/* ... `like` is a list, of which that is one. */
static mdf_lowered_id add_list(struct lowering *lowering, const struct mdf_value *like, struct room room)
{
    struct room *kept = mdf_arena_allocate(&lowering->scratch, sizeof *kept);
    mdf_lowered_id id = kept == NULL ? MDF_LOWERED_NONE : lowering_add_placeholder(lowering, like);

    if (kept == NULL) {
        lowering_out_of_memory(lowering);
    }
    if (id != MDF_LOWERED_NONE) {
        *kept = room;
        lowering->facts[id].room = kept;
        lowering->facts[id].depth = lowering->facts[room.count].depth;
        if (room.rows != MDF_LOWERED_NONE && lowering->facts[room.rows].depth > lowering->facts[id].depth) {
            lowering->facts[id].depth = lowering->facts[room.rows].depth;
        }
    }
    return id;
}

mdf_lowered_id lowering_add_room(struct lowering *lowering, mdf_lowered_id rows, mdf_lowered_id count)
{
    const struct mdf_value *list = rows == MDF_LOWERED_NONE || count == MDF_LOWERED_NONE
                                       ? NULL
                                       : keep_list_of_one(lowering, lowering_example(lowering, rows));

    return list == NULL ? MDF_LOWERED_NONE : add_list(lowering, list, (struct room){.rows = rows, .count = count});
}

static mdf_lowered_id add_zeros(struct lowering *lowering, const struct mdf_value *item, size_t n)
{
    int64_t shape[MDF_INLINE_RANK];
    struct mdf_value zeros = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;
    void *elements;

    shape[0] = (int64_t)n;
    memcpy(shape + 1, mdf_value_shape(item), item->rank * sizeof *shape);
    elements = mdf_value_make_tensor(lowering->memory, &zeros, (mdf_dtype)item->dtype, item->rank + 1u, shape);
    if (elements == NULL) {
        lowering_out_of_memory(lowering);
    } else {
        memset(elements, 0, zeros.length * mdf_dtype_size((mdf_dtype)zeros.dtype));
        id = lowering_keep_constant(lowering, &zeros);
    }
    mdf_value_clear(lowering->memory, &zeros);
    return id;
}

/* The form of an item of an array of rows. */
static struct mdf_value item_form(const struct mdf_value *rows)
{
    struct mdf_value item = *rows;

    item.rank--;
    memmove(item.shape.sizes, item.shape.sizes + 1, item.rank * sizeof *item.shape.sizes);
    return item;
}

static bool is_empty_list(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *list = lowering_example(lowering, id);

    return list->kind == MDF_KIND_LIST && list->length == 0 && list->dtype != MDF_DTYPE_NONE &&
           lowering_is_constant(lowering, id);
}

/* The rows of any sequence in as much room as `like` is, and how many they are; false, which may be no refusal: it has no place
 * there. */
static bool take_room(struct lowering *lowering, mdf_lowered_id id, mdf_lowered_id like, mdf_lowered_id *rows,
                      mdf_lowered_id *count)
{
    const struct mdf_value *all = lowering_example(lowering, like);
    const struct mdf_value item = item_form(all);
    mdf_lowered_id parts[2];
    int64_t n;

    if (lowering->facts[id].room != NULL) {
        *rows = lowering->facts[id].room->rows;
        *count = lowering->facts[id].room->count;
        return *rows != MDF_LOWERED_NONE && mdf_value_has_form_of(lowering_example(lowering, *rows), all);
    }
    if (is_empty_list(lowering, id)) {
        *rows = like;
        *count = mdf_term_whole(lowering, 0);
        return lowering_example(lowering, id)->dtype == all->dtype && *count != MDF_LOWERED_NONE;
    }
    parts[0] = lowering_find_rows(lowering, id);
    if (parts[0] == MDF_LOWERED_NONE || lowering->facts[parts[0]].is_open || lowering->facts[parts[0]].growth != NULL) {
        return false;
    }
    n = mdf_value_shape(lowering_example(lowering, parts[0]))[0];
    parts[1] = n < mdf_value_shape(all)[0] ? add_zeros(lowering, &item, (size_t)(mdf_value_shape(all)[0] - n)) : MDF_LOWERED_NONE;
    *rows = n > mdf_value_shape(all)[0] || lowering_has_failed(lowering)
                ? MDF_LOWERED_NONE
                : lowering_join(lowering, parts, n < mdf_value_shape(all)[0] ? 2 : 1);
    *count = mdf_term_whole(lowering, n);
    return *rows != MDF_LOWERED_NONE && *count != MDF_LOWERED_NONE &&
           mdf_value_has_form_of(lowering_example(lowering, *rows), all);
}

mdf_lowered_id lowering_merge_rooms(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a,
                                    mdf_lowered_id b)
{
    mdf_lowered_id like = lowering->facts[a].room != NULL ? a : b, rows[2], counts[2];

    if (lowering->facts[like].room == NULL || lowering->facts[like].room->rows == MDF_LOWERED_NONE ||
        (lowering->facts[a].room == NULL && !lowering_is_constant(lowering, a)) ||
        (lowering->facts[b].room == NULL && !lowering_is_constant(lowering, b)) ||
        !take_room(lowering, a, lowering->facts[like].room->rows, &rows[0], &counts[0]) ||
        !take_room(lowering, b, lowering->facts[like].room->rows, &rows[1], &counts[1])) {
        return MDF_LOWERED_NONE;
    }
    rows[0] = lowering_merge(lowering, branches, rows[0], rows[1]);
    counts[0] = lowering_merge(lowering, branches, counts[0], counts[1]);
    return rows[0] == MDF_LOWERED_NONE || counts[0] == MDF_LOWERED_NONE ? MDF_LOWERED_NONE
                                                                        : lowering_add_room(lowering, rows[0], counts[0]);
}

mdf_lowered_id lowering_cut_room(struct lowering *lowering, mdf_lowered_id sequence)
{
    mdf_lowered_id rows = lowering->facts[sequence].room->rows, count = lowering->facts[sequence].room->count;
    static const int64_t one = 1;
    struct mdf_value all = {0};

    if (rows == MDF_LOWERED_NONE || lowering->is_for_source || lowering->region->depth > 0) {
        lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    mdf_value_borrow_tensor(lowering->memory, &all, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL,
                            mdf_value_shape(lowering_example(lowering, rows)));
    return lowering_bail_out_if(lowering,
                                mdf_term_compute(lowering, MDF_LOWERED_LESS, false, count, mdf_term_whole(lowering, 1))) &&
                   lowering_open(lowering, count, &all)
               ? lowering_items_to(lowering, rows, lowering_reshape(lowering, count, &one, 1))
               : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ calls */

/* The first one says of what form all are. */
static mdf_lowered_id learn_form(const struct sequence_call *call, mdf_lowered_id sequence, mdf_lowered_id item)
{
    struct mdf_value *kept = lowering_keep_value(call->lowering);
    const struct mdf_value *form = lowering_example(call->lowering, item);

    if (kept != NULL && sequence_fits(call, item) && form->dtype == lowering_example(call->lowering, sequence)->dtype) {
        *kept = *form;
        kept->buffer = NULL; /* which lives as long as the fact; only its form is looked at */
        kept->data = NULL;
        *call->lowering->facts[sequence].room->item_form = kept;
    }
    lowering_fail(call->lowering, MDF_REFUSED_CHANGING_STATE);
    return MDF_LOWERED_NONE;
}

static mdf_lowered_id change_count(struct lowering *lowering, mdf_lowered_id count, enum mdf_lowered_code code)
{
    return mdf_term_compute(lowering, code, false, count, mdf_term_whole(lowering, 1));
}

static mdf_lowered_id insert(const struct sequence_call *call, mdf_lowered_id sequence)
{
    struct lowering *lowering = call->lowering;
    mdf_lowered_id count = lowering->facts[sequence].room->count, position, rows;
    bool is_given, has_position;
    mdf_lowered_id item = sequence_input(call, 1, &is_given);

    if (item == MDF_LOWERED_NONE || call->rows == MDF_LOWERED_NONE) {
        return item == MDF_LOWERED_NONE ? item : learn_form(call, sequence, item);
    }
    position = sequence_input(call, 2, &has_position);
    if (!sequence_fits(call, item) || lowering_has_failed(lowering)) {
        return MDF_LOWERED_NONE;
    }
    if (has_position) {
        int64_t room = mdf_value_shape(lowering_example(lowering, call->rows))[0];

        position = sequence_position(call, 2, count, true);
        rows = position != MDF_LOWERED_NONE &&
                       lowering_bail_out_if(lowering, mdf_term_compute(lowering, MDF_LOWERED_GREATER_EQUAL, false, count,
                                                                       mdf_term_whole(lowering, room)))
                   ? sequence_insert_at(call, item, position, (size_t)room)
                   : MDF_LOWERED_NONE;
    } else {
        rows = put_row(call, call->rows, item, count);
    }
    return lowering_add_room(lowering, rows, change_count(lowering, count, MDF_LOWERED_ADD));
}

static mdf_lowered_id erase(const struct sequence_call *call, mdf_lowered_id sequence)
{
    struct lowering *lowering = call->lowering;
    mdf_lowered_id count = lowering->facts[sequence].room->count, position, rows = call->rows;
    int64_t room = mdf_value_shape(lowering_example(lowering, rows))[0];
    bool has_position;

    sequence_input(call, 1, &has_position);
    if (lowering_has_failed(lowering)) {
        return MDF_LOWERED_NONE;
    }
    if (has_position) { /* rows counted from the end, so that behind the last one comes any */
        position = sequence_position(call, 1, count, false);
        position =
            position == MDF_LOWERED_NONE ? position : find_moved(call, position, (size_t)room, MDF_ELEMENT(add), -(double)room);
        rows = position == MDF_LOWERED_NONE ? position : lowering_item_at(lowering, rows, position);
    } else if (!lowering_bail_out_if(lowering,
                                     mdf_term_compute(lowering, MDF_LOWERED_LESS, false, count, mdf_term_whole(lowering, 1)))) {
        return MDF_LOWERED_NONE;
    }
    return lowering_add_room(lowering, rows, change_count(lowering, count, MDF_LOWERED_SUBTRACT));
}

mdf_lowered_id sequence_in_room(struct sequence_call *call, mdf_lowered_id sequence)
{
    const struct room *room = call->lowering->facts[sequence].room;
    mdf_lowered_id position;

    call->rows = room->rows;
    if (call->source->operator->form == MDF_FORM_SEQUENCE_INSERT) {
        return insert(call, sequence);
    }
    if (call->source->operator->form == MDF_FORM_SEQUENCE_LENGTH) {
        return room->count;
    }
    if (call->rows == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    if (call->source->operator->form == MDF_FORM_SEQUENCE_ERASE) {
        return erase(call, sequence);
    }
    position = sequence_position(call, 1, room->count, false);
    return position == MDF_LOWERED_NONE ? position : lowering_item_at(call->lowering, call->rows, position);
}

/* ------------------------------------------------------------------ states */

/* How many items calls of a body may put into sequences, each once in a run. */
static size_t count_inserts(const struct mdf_code *code)
{
    size_t n = 0;

    for (size_t i = 0; i < code->n_calls; i++) {
        n += code->calls[i].operator->form == MDF_FORM_SEQUENCE_INSERT;
    }
    for (size_t i = 0; i < code->n_bodies; i++) {
        n += count_inserts(code->bodies[i]);
    }
    return n;
}

bool loop_find_room(struct loop *loop, const struct loop_bounds *bounds)
{
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];
    uint64_t n_runs = bounds->n_runs;

    if (bounds->n_runs == SIZE_MAX && bounds->trip_count != MDF_LOWERED_NONE &&
        lowering_is_constant(loop->lowering, bounds->trip_count)) {
        n_runs = (uint64_t) * (const int64_t *)lowering_example(loop->lowering, bounds->trip_count)->data;
    }
    if (n_runs == 0 || n_runs > MOST_ROOM) {
        return lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_STATE);
    }
    loop->room = (size_t)n_runs * count_inserts(body) + 1; /* an array of one number would be no scalar */
    return loop->room <= MOST_ROOM || lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_STATE);
}

bool loop_read_room(struct loop *loop, size_t i, mdf_lowered_id id)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_value *list = lowering_example(lowering, id), *form;
    mdf_lowered_id parts[2];
    struct mdf_value item;

    loop->counts[i] = MDF_LOWERED_NONE;
    if (loop->item_forms == NULL || list->kind != MDF_KIND_LIST || list->dtype == MDF_DTYPE_NONE) {
        return true;
    }
    if (lowering->facts[id].room != NULL) {
        loop->counts[i] = lowering->facts[id].room->count;
        loop->initial[i] = lowering->facts[id].room->rows;
        return loop->initial[i] != MDF_LOWERED_NONE;
    }
    form = loop->item_forms[i];
    if (is_empty_list(lowering, id)) {
        loop->initial[i] = form == NULL ? id : add_zeros(lowering, form, loop->room);
        loop->counts[i] = mdf_term_whole(lowering, 0);
        return loop->initial[i] != MDF_LOWERED_NONE && loop->room > 0;
    }
    parts[0] = lowering_find_rows(lowering, id);
    if (parts[0] == MDF_LOWERED_NONE || lowering->facts[parts[0]].is_open || lowering->facts[parts[0]].growth != NULL) {
        return !lowering_has_failed(lowering);
    }
    form = lowering_example(lowering, parts[0]);
    item = item_form(form);
    if ((form->length / (size_t)mdf_value_shape(form)[0]) * (loop->room + 1) > MOST_ELEMENTS) {
        return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
    }
    loop->counts[i] = mdf_term_whole(lowering, mdf_value_shape(form)[0]);
    parts[1] = loop->room > 0 ? add_zeros(lowering, &item, loop->room) : MDF_LOWERED_NONE;
    loop->initial[i] = lowering_has_failed(lowering) ? MDF_LOWERED_NONE : lowering_join(lowering, parts, loop->room > 0 ? 2 : 1);
    return loop->initial[i] != MDF_LOWERED_NONE;
}

/* One of no item yet, whose form its first one will tell. */
static mdf_lowered_id add_unformed(struct loop *loop, size_t i)
{
    mdf_lowered_id id =
        add_list(loop->lowering, lowering_example(loop->lowering, loop->initial[i]),
                 (struct room){.rows = MDF_LOWERED_NONE, .count = loop->counts[i], .item_form = &loop->item_forms[i]});

    if (id != MDF_LOWERED_NONE) {
        loop->lowering->facts[id].depth = loop->region.depth;
    }
    return id;
}

/* In the example there is one item at least. */
static bool show_one(struct lowering *lowering, mdf_lowered_id count)
{
    int64_t *example =
        count == MDF_LOWERED_NONE ? NULL : mdf_value_writable(lowering->memory, &lowering->facts[count].example);

    if (example != NULL) {
        *example = 1;
    }
    return example != NULL || lowering_out_of_memory(lowering);
}

bool loop_add_room_state(struct loop *loop, size_t i, size_t formal)
{
    struct lowering *lowering = loop->lowering;
    mdf_lowered_id count, rows;

    if (lowering_example(lowering, loop->initial[i])->kind == MDF_KIND_LIST) {
        return lowering_bind(lowering, &loop->inner, loop->body->formals[formal], add_unformed(loop, i));
    }
    count = loop_add_part(loop, i, loop->counts[i], true);
    if (!show_one(lowering, count)) {
        return false;
    }
    rows = loop_add_part(loop, i, loop->initial[i], false);
    return lowering_bind(lowering, &loop->inner, loop->body->formals[formal], lowering_add_room(lowering, rows, count));
}

bool loop_yield_room(struct loop *loop, size_t i, mdf_lowered_id *id)
{
    size_t k;

    if (lowering_example(loop->lowering, loop->initial[i])->kind == MDF_KIND_LIST) {
        return lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_STATE);
    }
    for (k = 0; loop->numbers[k] != i || loop->is_truth[k]; k++) {
    }
    return take_room(loop->lowering, *id, loop->result->states[k].parameter, id, &loop->truths[i]) ||
           lowering_fail(loop->lowering, MDF_REFUSED_CHANGING_STATE);
}
