/* lower_view.c - calls that only move elements: where those of the result lie in what they come from, so that nests read them
 * there. See lowering.h.
 *
 * It is found by moving numbers: the kernel runs on an array whose elements tell where each lies; if the numbers in the result
 * rise by one step along each dimension, the result is a view. */
#include "mdf_c/lower/trial.h"

#include "functions/kernel/move.h"

#include <string.h>

enum { LONGEST_WHOLE = 1 << 16 }; /* elements; numbering more takes memory that the kernel does not need */
enum { LONGEST_STACK = 1 << 20 }; /* the same of what a loop stacks: it need not be there where its elements are used at once */

int64_t lowering_place_in_view(const struct lowering_view *view, const int64_t *shape, size_t rank, size_t i)
{
    int64_t place = view->first;

    for (size_t d = rank; d-- > 0; i /= (size_t)shape[d]) {
        place += (int64_t)(i % (size_t)shape[d]) * view->strides[d];
    }
    return place;
}

void lowering_number_places(const struct lowering_view *view, const int64_t *shape, size_t rank, int64_t *numbers)
{
    size_t block = 1, m;

    numbers[0] = view->first;
    for (size_t d = rank; d-- > 0; block *= (size_t)shape[d]) {
        for (size_t n = 1; n < (size_t)shape[d]; n += m) { /* as many indices again as are there lie that many strides on */
            m = n < (size_t)shape[d] - n ? n : (size_t)shape[d] - n;
            for (size_t i = 0; i < m * block; i++) {
                numbers[n * block + i] = numbers[i] + (int64_t)n * view->strides[d];
            }
        }
    }
}

/* Each element's place in what the value is a view of: an array of whole numbers of the value's shape. */
static bool number_elements(struct lowering *lowering, mdf_lowered_id id, struct mdf_value *numbered)
{
    const struct mdf_value *form = lowering_example(lowering, id);
    const struct lowering_view *view = &lowering->facts[id].view;
    int64_t *numbers = mdf_value_make_tensor(lowering->memory, numbered, MDF_DTYPE_INT64, form->rank, mdf_value_shape(form));

    if (numbers == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (view->is_there) {
        lowering_number_places(view, mdf_value_shape(form), form->rank, numbers);
    }
    for (size_t i = 0; !view->is_there && i < form->length; i++) {
        numbers[i] = (int64_t)i;
    }
    return true;
}

/* Whether numbers are the first ones, `by` further. */
static bool are_further(const int64_t *numbers, const int64_t *first, size_t n, int64_t by)
{
    int64_t other = 0;

    for (size_t i = 0; i < n; i++) {
        other |= numbers[i] ^ (first[i] + by);
    }
    return other == 0;
}

bool lowering_find_strides(const struct mdf_value *numbered, struct lowering_view *view)
{
    const int64_t *numbers = numbered->data, *shape = mdf_value_shape(numbered);
    size_t block = 1, m;
    bool rise = true;

    view->first = numbers[0];
    for (size_t d = numbered->rank; d-- > 0; block *= (size_t)shape[d]) {
        view->strides[d] = shape[d] == 1 ? 0 : numbers[block] - numbers[0];
        for (size_t n = 1; rise && n < (size_t)shape[d]; n += m) {
            m = n < (size_t)shape[d] - n ? n : (size_t)shape[d] - n;
            rise = are_further(numbers + n * block, numbers, m * block, (int64_t)n * view->strides[d]);
        }
    }
    return rise;
}

static bool is_array(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->length > 1 && value->rank <= MDF_INLINE_RANK;
}

/* Runs the kernel on the numbers; with an index, which is input 1, in its place. */
static bool move_numbers(struct lowering *lowering, struct trial *trial, const struct mdf_value *numbered, const int64_t *index)
{
    const struct mdf_value *data = trial->effective[0], *given = trial->n > 1 ? trial->effective[1] : NULL;
    struct mdf_value replaced = {0};
    bool done;

    if (index != NULL) {
        mdf_value_borrow_tensor(lowering->memory, &replaced, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, given->rank,
                                mdf_value_shape(given), index);
        trial->effective[1] = &replaced;
    }
    trial->effective[0] = numbered;
    done = lowering_run_trial(lowering, trial);
    trial->effective[0] = data;
    if (index != NULL) {
        trial->effective[1] = given;
    }
    return done;
}

/* An index that is not known before, as Gather has: how far the elements of the next one lie from those of the first. */
static bool find_step(struct lowering *lowering, struct trial *trial, const struct mdf_value *numbered,
                      struct lowering_view *view)
{
    const struct mdf_value *whole = trial->effective[0];
    static const int64_t one = 1;
    struct lowering_view second = *view;
    size_t d = lowering_axis(trial->source, whole->rank, 0);

    if (d >= whole->rank || view->at != MDF_LOWERED_NONE) {
        return false; /* only one index is looked for */
    }
    view->at = trial->ids[1];
    view->at_limit = mdf_value_shape(whole)[d];
    if (view->at_limit > 1) {
        if (!move_numbers(lowering, trial, numbered, &one) || !lowering_find_strides(&trial->results[0], &second) ||
            memcmp(second.strides, view->strides, sizeof second.strides) != 0) {
            return false;
        }
        view->at_stride = second.first - view->first;
    }
    return true;
}

static bool has_open_index(const struct lowering *lowering, const struct trial *trial)
{
    return trial->source->operator->form == MDF_FORM_GATHER && trial->n == 2 &&
           trial->ids[1] != MDF_LOWERED_NONE && !lowering_is_constant(lowering, trial->ids[1]) &&
           trial->effective[1]->length == 1 &&
           (trial->effective[1]->dtype == MDF_DTYPE_INT64 || trial->effective[1]->dtype == MDF_DTYPE_INT32);
}

/* Whether it is a loop's stack, or moved from one. */
static bool is_stack(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct lowering_view *view = &lowering->facts[id].view;
    const struct region *region;

    id = view->is_there ? view->id : id;
    region = lowering->facts[id].region;
    for (size_t i = 0; region != NULL && i < region->n_ops; i++) {
        const struct mdf_lowered_loop *loop = region->ops[i].code == MDF_LOWERED_LOOP ? region->ops[i].of.loop : NULL;

        for (size_t j = 0; loop != NULL && j < loop->n_stacks; j++) {
            if (loop->stacks[j].stack == id) {
                return true;
            }
        }
    }
    return false;
}

static size_t longest(const struct lowering *lowering, const struct trial *trial)
{
    return trial->ids[0] != MDF_LOWERED_NONE && is_stack(lowering, trial->ids[0]) ? LONGEST_STACK : LONGEST_WHOLE;
}

static bool is_move(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_move *move = trial->source->operator->move;

    return move != NULL && move->n_data == 1 && !move->zeros && !move->fills && trial->n > 0 &&
           trial->ids[0] != MDF_LOWERED_NONE && is_array(trial->effective[0]) &&
           trial->effective[0]->length <= longest(lowering, trial) && !lowering->facts[trial->ids[0]].is_open &&
           (has_open_index(lowering, trial) || lowering_has_constants(lowering, trial, 1));
}

/* What the results of the call are views of, now that they have ids. */
static void note_results(struct lowering *lowering, struct scope *scope, struct trial *trial, const struct mdf_value *numbered)
{
    const struct lowering_view *from = &lowering->facts[trial->ids[0]].view;
    bool is_open = has_open_index(lowering, trial);

    for (size_t i = 0; i < trial->source->n_outputs; i++) {
        struct lowering_view view = {.is_there = true,
                                     .id = from->is_there ? from->id : trial->ids[0],
                                     .at = from->is_there ? from->at : MDF_LOWERED_NONE,
                                     .at_stride = from->at_stride,
                                     .at_limit = from->at_limit};
        mdf_lowered_id id;

        if (trial->outputs[i] == NULL || !is_array(&trial->results[i]) || trial->results[i].dtype != MDF_DTYPE_INT64 ||
            trial->results[i].length > longest(lowering, trial) || !lowering_find_strides(&trial->results[i], &view)) {
            continue;
        }
        id = lowering_value_of(lowering, scope, trial->source->outputs[i]);
        if (id != MDF_LOWERED_NONE && id != trial->ids[0] && lowering->lowered->values[id].place == MDF_LOWERED_RESULT &&
            lowering->lowered->values[id].form.dtype == lowering->lowered->values[view.id].form.dtype &&
            (!is_open || find_step(lowering, trial, numbered, &view))) {
            lowering->facts[id].view = view;
        }
    }
}

bool lowering_note_views(struct lowering *lowering, struct scope *scope, struct trial *trial)
{
    static const int64_t zero = 0;
    struct mdf_value numbered = {0};

    if (!is_move(lowering, trial)) {
        return true;
    }
    if (number_elements(lowering, trial->ids[0], &numbered) &&
        move_numbers(lowering, trial, &numbered, has_open_index(lowering, trial) ? &zero : NULL)) {
        note_results(lowering, scope, trial, &numbered);
    }
    mdf_value_clear(lowering->memory, &numbered);
    return !lowering_has_failed(lowering);
}
