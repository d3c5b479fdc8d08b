/* lower_open_order.c - values with one open axis, in front of which axes of more than one index stand (the time in [batch, heads,
 * time, size]). No stride may depend on how long the axis is, so such a value lies with that axis first, and what the model sees
 * is a call that moves the axis back: nests read through it where the elements lie, and a kernel alone needs what it makes. See
 * trial.h.
 *
 * As in lower_view.c it is found by moving numbers whether a call makes such a view, of three lengths of the axis. */
#include "mdf_c/lower/trial.h"
#include "mdf_c/lowered/lowered_parts.h"

#include "functions/kernel/move.h"
#include "functions/moves/indexing.h"

#include <string.h>

enum { FIRST_LENGTH = 3, SECOND_LENGTH = 5 };      /* of the axis that is open */
enum { LONGEST = 1 << 18 };                        /* elements that are numbered */
static const int64_t no_length = INT64_C(1) << 48; /* this and more stands for all: no array has so many elements */

size_t lowering_open_axis(const struct mdf_lowered_value *value)
{
    size_t axis = value->open_axes == 0 ? 0 : mdf_lowered_open_axis(value);

    return value->open_axes == 1u << axis && value->form.rank <= MDF_INLINE_RANK ? axis : MDF_INLINE_RANK;
}

bool lowering_is_open_first(const struct mdf_lowered_value *value)
{
    size_t axis = lowering_open_axis(value), d;

    for (d = 0; axis < MDF_INLINE_RANK && d < axis; d++) {
        if (value->form.shape.sizes[d] != 1) {
            return false;
        }
    }
    return axis < MDF_INLINE_RANK && mdf_lowered_open_stride(value) > 0;
}

bool lowering_move_first(struct lowering *lowering, const struct mdf_value *value, size_t axis, struct mdf_value *moved)
{
    const int64_t *shape = mdf_value_shape(value);
    size_t n_front = mdf_axes_product(shape, 0, axis), n = (size_t)shape[axis], i, d;
    size_t row_bytes = mdf_axes_product(shape, axis + 1, value->rank) * mdf_dtype_size((mdf_dtype)value->dtype);
    int64_t turned[MDF_INLINE_RANK];
    char *to;

    turned[0] = shape[axis];
    for (d = 0; d < value->rank; d++) {
        if (d != axis) {
            turned[d < axis ? d + 1 : d] = shape[d];
        }
    }
    to = mdf_value_make_tensor(lowering->memory, moved, (mdf_dtype)value->dtype, value->rank, turned);
    if (to == NULL) {
        return lowering_out_of_memory(lowering);
    }
    moved->strength = value->strength;
    for (i = 0; i < n_front * n; i++) {
        memcpy(to + (i % n * n_front + i / n) * row_bytes, (const char *)value->data + i * row_bytes, row_bytes);
    }
    return true;
}

void lowering_strides_of_turned(const struct mdf_value *form, size_t axis, int64_t *strides)
{
    int64_t stride = 1;

    for (size_t d = form->rank; d-- > 0;) {
        if (d != axis) {
            strides[d] = form->shape.sizes[d] == 1 ? 0 : stride;
            stride *= form->shape.sizes[d];
        }
    }
    strides[axis] = stride;
}

mdf_lowered_id lowering_move_back(struct lowering *lowering, struct region *region, mdf_lowered_id id, size_t axis)
{
    struct region *inner = lowering->region;

    lowering->region = region;
    id = id == MDF_LOWERED_NONE ? id : lowering_move_axis(lowering, id, 0, axis);
    lowering->region = inner;
    return id;
}

/* ------------------------------------------------------------------ views */

/* What the value is a view of. */
static mdf_lowered_id base_of(const struct lowering *lowering, mdf_lowered_id id)
{
    return lowering->facts[id].view.is_there ? lowering->facts[id].view.id : id;
}

/* An array with the place of each element in what it is a view of, the open axis of that length. */
static bool number_places(struct lowering *lowering, mdf_lowered_id id, size_t axis, int64_t length, struct mdf_value *numbered)
{
    const struct mdf_value *form = &lowering->lowered->values[id].form;
    const struct lowering_view *view = &lowering->facts[id].view;
    int64_t shape[MDF_INLINE_RANK], *numbers;
    size_t n = 1;

    memcpy(shape, mdf_value_shape(form), form->rank * sizeof *shape);
    shape[axis] = length;
    for (size_t d = 0; d < form->rank; d++) {
        n *= (size_t)shape[d];
        if (n == 0 || n > LONGEST) {
            return false;
        }
    }
    numbers = mdf_value_make_tensor(lowering->memory, numbered, MDF_DTYPE_INT64, form->rank, shape);
    if (numbers == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (view->is_there) {
        lowering_number_places(view, shape, form->rank, numbers);
    }
    for (size_t i = 0; !view->is_there && i < n; i++) {
        numbers[i] = (int64_t)i;
    }
    return true;
}

/* What the call makes of these numbers: its rank, shape and strides. False: it fails, or they do not rise in steps. */
static bool move_places(struct lowering *lowering, const struct trial *trial, int64_t length, struct mdf_value *shape,
                        struct lowering_view *view)
{
    mdf_lowered_id id = trial->ids[0];
    struct trial run = {.source = trial->source};
    struct mdf_value numbered = {0};
    bool is_view = false;

    if (number_places(lowering, id, lowering_open_axis(&lowering->lowered->values[id]), length, &numbered) &&
        lowering_begin_trial(lowering, &run)) {
        for (size_t i = 0; i < trial->n; i++) {
            run.ids[i] = trial->ids[i];
            run.given[i] = run.effective[i] = i == 0 ? &numbered : trial->given[i];
        }
        is_view = lowering_run_trial(lowering, &run) && run.results[0].kind == MDF_KIND_TENSOR &&
                  run.results[0].rank <= MDF_INLINE_RANK && run.results[0].length > 0 &&
                  lowering_find_strides(&run.results[0], view);
        *shape = run.results[0];
        lowering_end_trial(lowering, &run);
    }
    mdf_value_clear(lowering->memory, &numbered);
    return is_view;
}

static bool may_be_view(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_move *move = trial->source->operator->move;
    mdf_lowered_id id = trial->n > 0 && trial->items == NULL ? trial->ids[0] : MDF_LOWERED_NONE;

    return move != NULL && move->n_data == 1 && !move->zeros && !move->fills && id != MDF_LOWERED_NONE &&
           lowering->facts[id].is_open && trial->effective[0] == trial->given[0] && lowering_has_constants(lowering, trial, 1) &&
           trial->source->n_outputs == 1 && trial->outputs[0] != NULL && trial->results[0].dtype == trial->given[0]->dtype &&
           lowering_open_axis(&lowering->lowered->values[id]) < MDF_INLINE_RANK &&
           lowering_is_open_first(&lowering->lowered->values[base_of(lowering, id)]);
}

/* The greatest length of its open axis at which a value's elements are numbered. */
static int64_t greatest_length(const struct mdf_lowered_value *value)
{
    size_t axis = lowering_open_axis(value), n = 1, d;

    for (d = 0; d < value->form.rank; d++) {
        n *= d == axis ? 1 : (size_t)value->form.shape.sizes[d];
    }
    return n == 0 ? 0 : (int64_t)(LONGEST / n);
}

/* Whether all of the open axis, and nothing else, is along one axis of the result, where that has been moved at two lengths. */
static bool is_all(const struct lowering *lowering, const struct lowering_view *view, const struct mdf_value *first,
                   const int64_t *lengths, const struct mdf_value *second)
{
    int64_t stride = (int64_t)mdf_lowered_open_stride(&lowering->lowered->values[view->id]);
    size_t n_open = 0;

    for (size_t d = 0; d < first->rank; d++) {
        if (first->shape.sizes[d] != second->shape.sizes[d]) {
            n_open++;
            if (first->shape.sizes[d] != lengths[0] || second->shape.sizes[d] != lengths[1] || view->strides[d] != stride) {
                return false;
            }
        }
    }
    return n_open == 1 && view->first < stride;
}

static bool is_beyond(int64_t number, int64_t length)
{
    return (number >= length && number < no_length) || (number <= -length && number > -no_length);
}

bool lowering_may_cut_beyond(struct lowering *lowering, const struct trial *trial, int64_t length)
{
    const struct mdf_setting *setting = trial->source->operator->settings;
    const char *fields = trial->source->settings;
    bool may_cut = false;

    if (trial->source->operator->move == NULL) {
        return false;
    }
    for (size_t i = 1; i < trial->n; i++) {
        struct mdf_value numbers = {0};

        if (trial->given[i] != NULL && trial->given[i]->kind == MDF_KIND_TENSOR) {
            if (!mdf_value_convert(lowering->memory, &numbers, trial->given[i], MDF_DTYPE_INT64)) {
                return lowering_out_of_memory(lowering);
            }
            for (size_t k = 0; k < numbers.length; k++) {
                may_cut = may_cut || is_beyond(((const int64_t *)numbers.data)[k], length);
            }
            mdf_value_clear(lowering->memory, &numbers);
        }
    }
    for (; setting != NULL && setting->name != NULL; setting++) {
        if (setting->type == MDF_SETTING_INT) {
            may_cut = may_cut || is_beyond(*(const int64_t *)(fields + setting->offset), length);
        } else if (setting->type == MDF_SETTING_INTS) {
            const struct mdf_ints *ints = (const struct mdf_ints *)(fields + setting->offset);

            for (size_t k = 0; ints->items != NULL && k < ints->n; k++) {
                may_cut = may_cut || is_beyond(ints->items[k], length);
            }
        }
    }
    return may_cut;
}

/* Whether the result is such a view: at two short lengths, and where an end may cut what is longer than both (`[:20]`) at a long
 * one. */
static bool find_view(struct lowering *lowering, const struct trial *trial, struct lowering_view *view)
{
    mdf_error kept = lowering->execution->context.error;
    int64_t lengths[3] = {FIRST_LENGTH, SECOND_LENGTH, 0};
    struct mdf_value made[3] = {{0}};
    size_t n_lengths;
    bool is_view;

    *view = (struct lowering_view){0};
    if (!may_be_view(lowering, trial)) {
        return false;
    }
    lengths[2] = greatest_length(&lowering->lowered->values[trial->ids[0]]);
    n_lengths = lowering_may_cut_beyond(lowering, trial, SECOND_LENGTH) ? 3 : 2;
    is_view = (n_lengths == 2 || (lengths[2] > SECOND_LENGTH && !lowering_may_cut_beyond(lowering, trial, lengths[2]))) &&
              move_places(lowering, trial, lengths[0], &made[0], view);
    view->is_there = true;
    view->id = base_of(lowering, trial->ids[0]);
    view->at = MDF_LOWERED_NONE;
    for (size_t i = 1; is_view && i < n_lengths; i++) {
        struct lowering_view other = {0};

        is_view = move_places(lowering, trial, lengths[i], &made[i], &other) && made[i].rank == made[0].rank &&
                  view->first == other.first && memcmp(view->strides, other.strides, sizeof other.strides) == 0 &&
                  is_all(lowering, view, &made[0], (const int64_t[]){lengths[0], lengths[i]}, &made[i]);
    }
    lowering->execution->context.error = kept; /* what a kernel says of numbers is none of the model's */
    return is_view;
}

bool lowering_open_view(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    struct lowering_view view;
    mdf_lowered_id id;

    *taken = find_view(lowering, trial, &view);
    if (!*taken || lowering_has_failed(lowering)) {
        return !lowering_has_failed(lowering);
    }
    id = lowering_add_call(lowering, scope, trial) ? lowering_any_value_of(lowering, scope, trial->source->outputs[0])
                                                   : MDF_LOWERED_NONE;
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].view = view;
        lowering->facts[id].is_bounded = lowering->facts[view.id].is_bounded;
        lowering->facts[id].least = lowering->facts[view.id].least;
    }
    return id != MDF_LOWERED_NONE;
}
