/* lower_move.c - NEST ops for calls that only move elements, where they are to be written out: each result is made of pieces
 * whose elements lie evenly in one input, a nest for each, or gathered by a table. See lowering.h.
 *
 * Where elements go is found by running the kernel on positions (functions/kernel/move.h). */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lower/trial.h"

#include "mdf_c/machine/emit.h"

#include "functions/elements/element.h"
#include "functions/kernel/move.h"

#include "functions/moves/indexing.h"

#include <string.h>

enum {
    MOST_PIECES = 256,
    MOST_PIECES_OF_ONE = 32, /* of one input, whose elements can be gathered by a table */
    INPUT_SHIFT = 44,
    MOST_PIECES_RUN = 8,      /* where the kernel could be called */
    MOST_PIECES_IN_LOOP = 27, /* there, of so many elements each: margins of three axes */
    LEAST_OF_PIECE = 16,
    MOST_MOVED_RUN = 8192, /* elements, where the kernel could be called */
    MOST_GATHERED_RUN = 512
};

/* A result in the making. Its elements are numbers: that of an input, shifted, and the place in it. What is put in between is
 * one more input, of one element. */
struct moving {
    struct lowering *lowering;
    const struct mdf_value *form;
    mdf_lowered_id out;
    const mdf_lowered_id *inputs;
    struct region *region;
    int64_t *places;
    size_t steps[MDF_INLINE_RANK]; /* of the result's dimensions, in elements */
    struct piece *pieces;
    size_t n_pieces;
};

/* A box of the result whose elements lie evenly. */
struct piece {
    size_t from[MDF_INLINE_RANK], n[MDF_INLINE_RANK];
};

/* ------------------------------------------------------------------ pieces */

static int64_t input_of(int64_t place)
{
    return place >> INPUT_SHIFT;
}

/* Whether slices `i` and `i + 1` along a dimension, from the box so far on, go on as `i - 1` and `i` (`is_longer`), and alike
 * along the dimensions before. */
static bool goes_on(const struct moving *moving, const struct piece *box, size_t dimension, size_t i, bool is_longer)
{
    const int64_t *places = moving->places;
    size_t step = moving->steps[dimension], start = i * step;

    for (size_t d = 0; d < dimension; d++) {
        start += box->from[d] * moving->steps[d];
    }
    for (size_t k = start; k < start + step; k++) {
        if (input_of(places[k]) != input_of(places[k + step]) ||
            (is_longer && places[k + step] - places[k] != places[k] - places[k - step])) {
            return false;
        }
        for (size_t d = 0; d < dimension; d++) {
            if (box->n[d] > 1 &&
                places[k + moving->steps[d]] - places[k] != places[k + step + moving->steps[d]] - places[k + step]) {
                return false;
            }
        }
    }
    return true;
}

/* How many slices along a dimension go on evenly from where the box begins. Of two, behind which more go on evenly in another
 * way, the second one belongs to these: what is wrapped around an edge stays apart from what lies within. */
static size_t count_slices(const struct moving *moving, struct piece box, size_t dimension)
{
    size_t extent = (size_t)mdf_value_shape(moving->form)[dimension], i = box.from[dimension], n = 1;

    while (i + n < extent && goes_on(moving, &box, dimension, i + n - 1, n > 1)) {
        n++;
    }
    return n == 2 && i + 3 < extent && goes_on(moving, &box, dimension, i + 1, false) &&
                   goes_on(moving, &box, dimension, i + 2, true)
               ? 1
               : n;
}

/* Cuts the box along a dimension and those behind it. False: there are too many pieces. */
static bool cut(struct moving *moving, struct piece box, size_t dimension)
{
    size_t n;

    if (dimension == moving->form->rank) {
        if (moving->n_pieces == MOST_PIECES) {
            return false;
        }
        moving->pieces[moving->n_pieces++] = box;
        return true;
    }
    n = (size_t)mdf_value_shape(moving->form)[dimension];
    for (size_t i = 0; i < n; i += box.n[dimension]) {
        box.from[dimension] = i;
        box.n[dimension] = count_slices(moving, box, dimension);
        if (!cut(moving, box, dimension + 1)) {
            return false;
        }
    }
    return true;
}

static bool add_op(struct moving *moving, const struct nest_draft *draft)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};

    op.of.nest = draft_finish(moving->lowering, draft);
    return op.of.nest != NULL && lowering_add_op(moving->lowering, moving->region, &op);
}

/* Where an element of a view lies, by its place in the value that is one. */
static int64_t place_in(const struct lowering_view *view, const struct mdf_value *form, int64_t place)
{
    int64_t there = view->first;

    for (size_t d = form->rank; d-- > 0; place /= mdf_value_shape(form)[d]) {
        there += place % mdf_value_shape(form)[d] * view->strides[d];
    }
    return there;
}

/* The place in its input of element number `i` of a piece, which begins at `first`, with so many elements from each index of a
 * dimension to the next. */
static int64_t place_of_element(const struct moving *moving, const struct piece *piece, int64_t first, const int64_t *strides,
                                size_t i)
{
    for (size_t d = moving->form->rank; d-- > 0; i /= piece->n[d]) {
        first += (int64_t)(i % piece->n[d]) * strides[d];
    }
    return first;
}

/* Where the elements of a piece lie in what its input was moved from, so that nobody has to make that input: instead of in the
 * input, if they lie evenly there. */
static void see_through(const struct moving *moving, const struct piece *piece, struct mdf_nest_view *source, int64_t *strides)
{
    const struct lowering_view *view = &moving->lowering->facts[source->id].view;
    const struct mdf_value *form = lowering_example(moving->lowering, source->id);
    int64_t first, there[MDF_INLINE_RANK] = {0};
    size_t n = 1;

    if (!view->is_there || view->at != MDF_LOWERED_NONE) {
        return;
    }
    first = place_in(view, form, source->first);
    for (size_t d = 0; d < moving->form->rank; d++) {
        there[d] = piece->n[d] > 1 ? place_in(view, form, source->first + strides[d]) - first : 0;
        n *= piece->n[d];
    }
    for (size_t i = 0; i < n; i++) {
        if (place_in(view, form, place_of_element(moving, piece, source->first, strides, i)) !=
            place_of_element(moving, piece, first, there, i)) {
            return;
        }
    }
    source->id = view->id;
    source->first = first;
    memcpy(strides, there, sizeof there);
}

static bool add_piece(struct moving *moving, const struct piece *piece)
{
    struct mdf_nest_view source = {.at = MDF_NEST_NONE}, target = {.id = moving->out, .at = MDF_NEST_NONE};
    struct nest_draft *draft = draft_new(moving->lowering);
    int64_t from[MDF_INLINE_RANK] = {0}, to[MDF_INLINE_RANK] = {0}, first;
    uint8_t axes[MDF_INLINE_RANK], in;
    size_t start = 0;

    if (draft == NULL) {
        return false;
    }
    for (size_t d = 0; d < moving->form->rank; d++) {
        start += piece->from[d] * moving->steps[d];
    }
    first = moving->places[start];
    for (size_t d = 0; d < moving->form->rank; d++) {
        axes[d] = draft_axis(draft, (int64_t)piece->n[d]);
        to[d] = (int64_t)moving->steps[d];
        from[d] = piece->n[d] > 1 ? moving->places[start + moving->steps[d]] - first : 0;
    }
    source.id = moving->inputs[input_of(first)];
    source.first = first & ((INT64_C(1) << INPUT_SHIFT) - 1);
    target.first = (int64_t)start;
    see_through(moving, piece, &source, from);
    in = draft_load_elements(moving->lowering, draft, &source, moving->form->rank, axes, from);
    draft_store_elements(moving->lowering, draft, in, &target, moving->form->rank, axes, to);
    return add_op(moving, draft);
}

/* ------------------------------------------------------------------ tables */

/* An array of all elements of the result in a row. */
static mdf_lowered_id add_table(struct moving *moving, mdf_dtype dtype, const void *elements)
{
    int64_t length = (int64_t)moving->form->length;
    struct mdf_value table = {0};

    mdf_value_borrow_tensor(moving->lowering->memory, &table, dtype, MDF_STRENGTH_TYPED, 1, &length, elements);
    return lowering_add_constant(moving->lowering, &table, false);
}

/* Each element of one input (number 0) or of what is put in between (number 1) by an index. */
static bool gather_by_table(struct moving *moving)
{
    static const int64_t strides[2][1] = {{0}, {1}};
    struct mdf_nest_view source = {.id = moving->inputs[0], .at_stride = 1}, target = {.id = moving->out, .at = MDF_NEST_NONE};
    struct lowering *lowering = moving->lowering;
    size_t n = moving->form->length;
    bool *is_there = mdf_arena_array(&lowering->scratch, n, sizeof *is_there), all = true;
    struct nest_draft *draft = draft_new(lowering);
    mdf_lowered_id indices, mask;
    uint8_t axis, in[MDF_MAX_OPERANDS];

    if (draft == NULL || is_there == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < n; i++) {
        is_there[i] = input_of(moving->places[i]) == 0;
        all = all && is_there[i];
        moving->places[i] = is_there[i] ? moving->places[i] : 0;
    }
    indices = add_table(moving, MDF_DTYPE_INT64, moving->places);
    mask = add_table(moving, MDF_DTYPE_BOOL, is_there);
    if (indices == MDF_LOWERED_NONE || mask == MDF_LOWERED_NONE) {
        return false;
    }
    axis = draft_axis(draft, (int64_t)n);
    in[0] = draft_load(lowering, draft, mask, &axis);
    source.at = draft_load(lowering, draft, indices, &axis);
    source.at_limit = (int64_t)lowering->lowered->values[source.id].form.length;
    in[1] = draft_load_elements(lowering, draft, &source, 1, &axis, strides[0]);
    if (!all) {
        in[2] = draft_load(lowering, draft, moving->inputs[1], NULL);
        in[1] = draft_apply(lowering, draft, MDF_ELEMENT(select), in);
    }
    draft_store_elements(lowering, draft, in[1], &target, 1, &axis, strides[1]);
    return add_op(moving, draft);
}

/* ------------------------------------------------------------------ results */

/* What is put in between: an input, or as the example of the result has it. */
static mdf_lowered_id find_filling(struct lowering *lowering, const struct trial *trial, const struct mdf_value *result,
                                   size_t at)
{
    mdf_dtype dtype = (mdf_dtype)result->dtype;
    size_t input = trial->source->operator->move->fills;
    struct mdf_value element = {0};

    if (input > 0 && input < trial->n && trial->ids[input] != MDF_LOWERED_NONE) {
        return trial->ids[input];
    }
    mdf_value_borrow_tensor(lowering->memory, &element, dtype, MDF_STRENGTH_TYPED, 0, NULL,
                            (const char *)result->data + at * mdf_dtype_size(dtype));
    return lowering_add_constant(lowering, &element, false);
}

static bool becomes(const struct mdf_move *move, const struct mdf_value *input, const struct mdf_value *result)
{
    return input->dtype == result->dtype ||
           (move->promotes && lowering_casts((mdf_dtype)input->dtype) && lowering_casts((mdf_dtype)result->dtype));
}

/* Numbers the places by input: `inputs` are those that are moved, and what is put in between. False: the operator makes elements
 * of other types, or memory was refused. */
static bool number_places(struct lowering *lowering, const struct trial *trial, size_t n_data, const struct mdf_value *positions,
                          const struct mdf_value *result, mdf_lowered_id *inputs, size_t *n_used)
{
    int64_t *places = positions->data;
    size_t k;

    *n_used = n_data;
    for (size_t i = 0; i < result->length; i++) {
        int64_t place = places[i];

        if (place == MDF_POSITION_NONE) {
            inputs[n_data] = *n_used == n_data ? find_filling(lowering, trial, result, i) : inputs[n_data];
            *n_used = n_data + 1;
            if (inputs[n_data] == MDF_LOWERED_NONE) {
                return false;
            }
            places[i] = (int64_t)n_data << INPUT_SHIFT;
            continue;
        }
        for (k = 0; k < n_data; k++) {
            int64_t n = trial->effective[k] != NULL ? (int64_t)trial->effective[k]->length : 0;

            if (place < n) {
                break;
            }
            place -= n;
        }
        if (k == n_data || !becomes(trial->source->operator->move, trial->effective[k], result)) {
            return false;
        }
        places[i] = ((int64_t)k << INPUT_SHIFT) + place;
    }
    return true;
}

/* Whether a nest moves elements as fast as the kernel does, where that could be called. */
static bool is_worth_it(const struct lowering *lowering, const struct mdf_value *result)
{
    return lowering->is_for_source || (result->length <= MOST_MOVED_RUN && mdf_machine_has_vectors((mdf_dtype)result->dtype));
}

static bool may_move(const struct lowering *lowering, const struct trial *trial, size_t n_data)
{
    bool is_read = false;
    size_t i;

    for (i = 0; i < n_data; i++) {
        if (trial->ids[i] != MDF_LOWERED_NONE &&
            (trial->effective[i]->kind != MDF_KIND_TENSOR || lowering->facts[trial->ids[i]].is_open)) {
            return false;
        }
    }
    for (; i < trial->n; i++) {
        if (trial->ids[i] != MDF_LOWERED_NONE &&
            i != trial->source->operator->move->fills && !lowering_is_constant(lowering, trial->ids[i])) {
            return false;
        }
    }
    for (i = 0; i < trial->source->n_outputs; i++) {
        if (trial->outputs[i] != NULL && (trial->results[i].kind != MDF_KIND_TENSOR || trial->results[i].rank > MDF_INLINE_RANK ||
                                          !is_worth_it(lowering, &trial->results[i]))) {
            return false;
        }
        is_read = is_read || (trial->outputs[i] != NULL && trial->results[i].length > 0);
    }
    return is_read && n_data > 0 && n_data < MDF_NEST_MOST_STEPS;
}

/* The positions of all results, which the caller clears. False without a refusal: the kernel does not tell. */
static bool find_positions(struct lowering *lowering, struct trial *trial, struct mdf_value *positions)
{
    struct mdf_context *context = &lowering->execution->context;
    mdf_error kept = context->error;
    bool done;

    context->error = (mdf_error){0};
    done = mdf_move_positions(&trial->call, trial->source->operator->move, positions);
    if (!done && context->error.code == MDF_OUT_OF_MEMORY) {
        lowering_out_of_memory(lowering);
    }
    context->error = kept;
    return done;
}

static mdf_lowered_id add_result(struct lowering *lowering, const struct mdf_value *result, const struct region *region)
{
    mdf_lowered_id id = lowering_add_value(lowering, MDF_LOWERED_RESULT, result);

    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].depth = region->depth;
        lowering->facts[id].region = region;
        lowering->facts[id].is_nested = true;
    }
    return id;
}

static void measure_steps(struct moving *moving)
{
    const int64_t *shape = mdf_value_shape(moving->form);

    for (size_t i = moving->form->rank; i-- > 0;) {
        moving->steps[i] = i + 1 < moving->form->rank ? moving->steps[i + 1] * (size_t)shape[i + 1] : 1;
    }
}

static bool add_pieces(struct moving *moving)
{
    for (size_t i = 0; i < moving->n_pieces; i++) {
        if (!add_piece(moving, &moving->pieces[i])) {
            return false;
        }
    }
    return true;
}

/* Whether elements that lie in many pieces are gathered one by one in less than a kernel takes, which looks at types and shapes.
 */
static bool may_gather(const struct lowering *lowering, const struct mdf_value *result)
{
    return lowering->is_for_source || (lowering->region->kind == REGION_BODY && result->length <= MOST_GATHERED_RUN);
}

/* Of one input, whose elements can be gathered or moved by a kernel. */
static size_t most_pieces_of_one(const struct lowering *lowering, const struct mdf_value *result)
{
    size_t n = lowering->region->kind == REGION_BODY ? result->length / LEAST_OF_PIECE : 0;

    if (lowering->is_for_source) {
        return MOST_PIECES_OF_ONE;
    }
    return n < MOST_PIECES_RUN ? MOST_PIECES_RUN : n < MOST_PIECES_IN_LOOP ? n : MOST_PIECES_IN_LOOP;
}

/* One result; where it has no elements, a constant. *taken is false where there is no nest for it: nothing was added, then. */
static bool move_result(struct lowering *lowering, struct trial *trial, size_t number, const struct mdf_value *positions,
                        mdf_lowered_id *out, bool *taken)
{
    const struct mdf_value *result = &trial->results[number];
    size_t n_data = mdf_move_data(trial->source->operator->move, trial->n), n_used, i;
    mdf_lowered_id *inputs = mdf_arena_array(&lowering->scratch, n_data + 1, sizeof *inputs);
    struct moving moving = {.lowering = lowering, .form = result, .inputs = inputs, .places = positions->data};
    struct piece whole = {{0}, {0}};
    bool is_cut;

    *taken = result->length == 0;
    if (*taken) {
        *out = lowering_add_constant(lowering, result, false);
        return *out != MDF_LOWERED_NONE;
    }
    moving.pieces = mdf_arena_array(&lowering->scratch, MOST_PIECES, sizeof *moving.pieces);
    if (inputs == NULL || moving.pieces == NULL) {
        return lowering_out_of_memory(lowering);
    }
    memcpy(inputs, trial->ids, n_data * sizeof *inputs);
    if (positions->length != result->length || !number_places(lowering, trial, n_data, positions, result, inputs, &n_used)) {
        return !lowering_has_failed(lowering);
    }
    measure_steps(&moving);
    is_cut = cut(&moving, whole, 0) && (n_data > 1 || moving.n_pieces <= most_pieces_of_one(lowering, result));
    if ((!is_cut && (n_data > 1 || !may_gather(lowering, result))) ||
        (!lowering->is_for_source && moving.n_pieces > MOST_PIECES_RUN && n_data > 1)) {
        return true;
    }
    for (i = 0; i < n_data && trial->source->operator->move->promotes; i++) {
        inputs[i] = lowering_cast(lowering, inputs[i], (mdf_dtype)result->dtype);
        if (inputs[i] == MDF_LOWERED_NONE && trial->ids[i] != MDF_LOWERED_NONE) {
            return false;
        }
    }
    moving.region = lowering_place_of(lowering, trial);
    moving.out = *out = add_result(lowering, result, moving.region);
    if (*out == MDF_LOWERED_NONE) {
        return false;
    }
    *taken = true;
    return is_cut ? add_pieces(&moving) : gather_by_table(&moving);
}

/* ------------------------------------------------------------------ arrays with a number around them */

/* The place in the inner array of element `i` of the outer one; that of the number, as a second input, where there is none. */
static int64_t place_within(const struct mdf_value *outer, const struct mdf_value *inner, const int64_t *before, size_t i)
{
    int64_t place = 0, size = 1;

    for (size_t d = outer->rank; d-- > 0; size *= mdf_value_shape(inner)[d], i /= (size_t)mdf_value_shape(outer)[d]) {
        int64_t at = (int64_t)(i % (size_t)mdf_value_shape(outer)[d]) - before[d];

        if (at < 0 || at >= mdf_value_shape(inner)[d]) {
            return INT64_C(1) << INPUT_SHIFT;
        }
        place += at * size;
    }
    return place;
}

/* Where all elements come from, and the example of what they are. */
static void fill_example(const struct moving *moving, const struct mdf_value *inner, const struct mdf_value *number,
                         const int64_t *before)
{
    size_t size_bytes = mdf_dtype_size((mdf_dtype)inner->dtype), i;

    for (i = 0; i < moving->form->length; i++) {
        int64_t place = moving->places[i] = place_within(moving->form, inner, before, i);
        const char *from = input_of(place) == 0 ? (const char *)inner->data + (size_t)place * size_bytes : number->data;

        memcpy((char *)moving->form->data + i * size_bytes, from, size_bytes);
    }
}

static mdf_lowered_id surround(struct lowering *lowering, const mdf_lowered_id *inputs, const int64_t *before,
                               const struct mdf_value *outer)
{
    struct moving moving = {.lowering = lowering, .form = outer, .inputs = inputs, .out = MDF_LOWERED_NONE};
    struct piece whole = {{0}, {0}};

    moving.places = mdf_arena_array(&lowering->scratch, outer->length, sizeof *moving.places);
    moving.pieces = mdf_arena_array(&lowering->scratch, MOST_PIECES, sizeof *moving.pieces);
    if (moving.places == NULL || moving.pieces == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    measure_steps(&moving);
    fill_example(&moving, lowering_example(lowering, inputs[0]), lowering_example(lowering, inputs[1]), before);
    if (!cut(&moving, whole, 0)) {
        return MDF_LOWERED_NONE;
    }
    moving.region = lowering_place(lowering, lowering->facts[inputs[0]].depth);
    moving.out = add_result(lowering, outer, moving.region);
    return moving.out != MDF_LOWERED_NONE && add_pieces(&moving) ? moving.out : MDF_LOWERED_NONE;
}

mdf_lowered_id lowering_surround(struct lowering *lowering, mdf_lowered_id id, const int64_t *before, const int64_t *sizes,
                                 double real)
{
    mdf_dtype dtype = (mdf_dtype)lowering_example(lowering, id)->dtype;
    mdf_lowered_id inputs[2] = {id, MDF_LOWERED_NONE}, out = MDF_LOWERED_NONE;
    struct mdf_value number = {0}, outer = {0};
    double element = 0;

    mdf_convert_elements(dtype, &element, MDF_DTYPE_FLOAT64, &real, 1, false);
    mdf_value_borrow_tensor(lowering->memory, &number, dtype, MDF_STRENGTH_TYPED, 0, NULL, &element);
    inputs[1] = lowering_add_constant(lowering, &number, false);
    if (mdf_value_make_tensor(lowering->memory, &outer, dtype, lowering_example(lowering, id)->rank, sizes) == NULL) {
        lowering_out_of_memory(lowering);
    } else if (inputs[1] != MDF_LOWERED_NONE) {
        out = surround(lowering, inputs, before, &outer);
    }
    mdf_value_clear(lowering->memory, &outer);
    return out;
}

/* ------------------------------------------------------------------ indices that are not known before */

/* Gather, GatherElements, and ArrayFeatureExtractor, which are along an axis. */
static bool has_open_indices(const struct lowering *lowering, const struct trial *trial)
{
    enum mdf_form form = trial->source->operator->form;

    return (form == MDF_FORM_GATHER || form == MDF_FORM_GATHER_ELEMENTS || form == MDF_FORM_GATHER_FEATURES) && trial->n == 2 &&
           trial->source->n_outputs == 1 && trial->ids[0] != MDF_LOWERED_NONE && trial->ids[1] != MDF_LOWERED_NONE &&
           trial->outputs[0] != NULL && !lowering_is_constant(lowering, trial->ids[1]) &&
           !lowering->facts[trial->ids[0]].is_open && !lowering->facts[trial->ids[1]].is_open && trial->results[0].length > 0 &&
           trial->results[0].rank <= MDF_INLINE_RANK &&
           (trial->effective[1]->dtype == MDF_DTYPE_INT64 || trial->effective[1]->dtype == MDF_DTYPE_INT32);
}

/* A load of input 0 whose index along one axis is `in`; that of dimension d goes along axes[d]. */
static mdf_lowered_id add_gather(struct moving *moving, struct nest_draft *draft, const struct trial *trial, size_t axis,
                                 uint8_t in, const uint8_t *data_axes, const uint8_t *axes)
{
    const struct mdf_value *data = trial->effective[0];
    struct mdf_nest_view view = {.id = trial->ids[0], .at_limit = mdf_value_shape(data)[axis]};
    struct lowering *lowering = moving->lowering;
    int64_t strides[MDF_INLINE_RANK];

    mdf_strides(data->rank, mdf_value_shape(data), strides);
    view.at = draft_cast(draft, in, MDF_DTYPE_INT64);
    view.at_stride = strides[axis];
    in = draft_load_elements(lowering, draft, &view, data->rank, data_axes, strides);
    moving->out = add_result(lowering, &trial->results[0], moving->region);
    if (moving->out == MDF_LOWERED_NONE) {
        return moving->out;
    }
    draft_store(lowering, draft, in, moving->out, axes);
    return add_op(moving, draft) ? moving->out : MDF_LOWERED_NONE;
}

/* The dimensions of the result are those before the axis, those of the indices, and those behind it; of GatherElements, those of
 * the indices alone; of ArrayFeatureExtractor those before the last one, of which there is one at least, and the indices as a
 * row. */
static mdf_lowered_id gather(struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_value *data = trial->effective[0], *indices = trial->effective[1], *result = &trial->results[0];
    enum mdf_form form = trial->source->operator->form;
    size_t axis = lowering_axis(trial->source, data->rank, form == MDF_FORM_GATHER_FEATURES ? data->rank - 1u : 0),
           rank = form == MDF_FORM_GATHER            ? data->rank - 1u + indices->rank
                  : form == MDF_FORM_GATHER_FEATURES ? (data->rank == 1 ? 2 : data->rank)
                                                     : data->rank,
           d;
    uint8_t axes[MDF_INLINE_RANK], in, data_axes[MDF_INLINE_RANK];
    struct mdf_nest_view row = {.id = trial->ids[1], .at = MDF_NEST_NONE};
    struct moving moving = {.lowering = lowering, .region = lowering_place_of(lowering, trial)};
    struct nest_draft *draft = draft_new(lowering);

    if (draft == NULL || axis >= data->rank || result->rank != rank) {
        return MDF_LOWERED_NONE;
    }
    for (d = 0; d < result->rank; d++) {
        axes[d] = draft_axis(draft, mdf_value_shape(result)[d]);
    }
    for (d = 0; d < data->rank; d++) {
        data_axes[d] = d == axis ? DRAFT_NO_AXIS : axes[form != MDF_FORM_GATHER || d < axis ? d : d - 1 + indices->rank];
    }
    in = form == MDF_FORM_GATHER_FEATURES
             ? draft_load_elements(lowering, draft, &row, 1, &axes[rank - 1], (const int64_t[]){1})
             : draft_load(lowering, draft, trial->ids[1], form == MDF_FORM_GATHER_ELEMENTS ? axes : axes + axis);
    return add_gather(&moving, draft, trial, axis, in, data_axes, axes);
}

/* ------------------------------------------------------------------ slices whose ends are not known before */

/* A slice in the making, and the axes that are cut; steps are those of the data's dimensions. */
struct slicing {
    struct lowering *lowering;
    const struct trial *trial;
    struct nest_draft *draft;
    size_t n_axes;
    int64_t axes[MDF_INLINE_RANK], steps[MDF_INLINE_RANK];
};

static bool is_list_of_integers(const struct mdf_value *value, size_t n)
{
    return value->kind == MDF_KIND_TENSOR && value->rank == 1 && value->length == n &&
           (value->dtype == MDF_DTYPE_INT64 || value->dtype == MDF_DTYPE_INT32);
}

/* Integers of an input, all of them 1 or their number in a row where it is not given; false: they are no constants. */
static bool read_constants(const struct slicing *slicing, size_t input, size_t n, bool are_axes, int64_t *integers)
{
    const struct trial *trial = slicing->trial;
    const struct mdf_value *value;

    for (size_t i = 0; i < n; i++) {
        integers[i] = are_axes ? (int64_t)i : 1;
    }
    if (input >= trial->n || trial->ids[input] == MDF_LOWERED_NONE) {
        return true;
    }
    value = trial->effective[input];
    if (!is_list_of_integers(value, n) || !lowering_is_constant(slicing->lowering, trial->ids[input])) {
        return false;
    }
    mdf_convert_elements(MDF_DTYPE_INT64, integers, (mdf_dtype)value->dtype, value->data, n, false);
    return true;
}

/* Which axes are cut, by which steps; false: nests do not cut so. */
static bool find_cut_axes(struct slicing *slicing)
{
    const struct trial *trial = slicing->trial;
    const struct mdf_value *data = trial->effective[0];
    int64_t steps[MDF_INLINE_RANK];
    size_t n;

    if (trial->source->operator->form != MDF_FORM_SLICE || trial->n<3 || trial->outputs[0] == NULL ||
        trial->ids[0] == MDF_LOWERED_NONE || trial->ids[1] == MDF_LOWERED_NONE || trial->ids[2] == MDF_LOWERED_NONE) {
        return false;
    }
    n = trial->effective[1]->length;
    if (n == 0 || n > data->rank || data->rank > MDF_INLINE_RANK || trial->results[0].length == 0 ||
        slicing->lowering->facts[trial->ids[0]].is_open || !is_list_of_integers(trial->effective[1], n) ||
        !is_list_of_integers(trial->effective[2], n) || !read_constants(slicing, 3, n, true, slicing->axes) ||
        !read_constants(slicing, 4, n, false, steps)) {
        return false;
    }
    for (size_t i = 0; i < data->rank; i++) {
        slicing->steps[i] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t *axis = &slicing->axes[i];

        *axis += *axis < 0 ? (int64_t)data->rank : 0;
        if (*axis < 0 || *axis >= (int64_t)data->rank || steps[i] < 1) {
            return false;
        }
        /* Steps past the end are as good as one of all elements. */
        slicing->steps[*axis] = steps[i] < mdf_value_shape(data)[*axis] ? steps[i] : mdf_value_shape(data)[*axis];
        for (size_t j = 0; j < i; j++) {
            if (slicing->axes[j] == *axis) {
                return false;
            }
        }
    }
    slicing->n_axes = n;
    return true;
}

static uint8_t apply(struct slicing *slicing, const struct mdf_element *element, uint8_t a, uint8_t b, uint8_t c)
{
    return draft_apply(slicing->lowering, slicing->draft, element, (const uint8_t[MDF_MAX_OPERANDS]){a, b, c});
}

static uint8_t number(struct slicing *slicing, int64_t whole)
{
    return draft_number(slicing->lowering, slicing->draft, MDF_DTYPE_INT64, (double)whole);
}

/* Entry `i` of the starts or ends, as a place from 0 to `length`: a negative one counts from the end. */
static uint8_t load_end(struct slicing *slicing, size_t input, size_t i, int64_t length)
{
    const struct mdf_nest_view view = {.id = slicing->trial->ids[input], .first = (int64_t)i, .at = MDF_NEST_NONE};
    uint8_t zero = number(slicing, 0), whole = number(slicing, length), at;

    at =
        draft_cast(slicing->draft, draft_load_elements(slicing->lowering, slicing->draft, &view, 0, NULL, NULL), MDF_DTYPE_INT64);
    at = apply(slicing, MDF_ELEMENT(select), apply(slicing, MDF_ELEMENT(less), at, zero, 0),
               apply(slicing, MDF_ELEMENT(add), at, whole, 0), at);
    at = apply(slicing, MDF_ELEMENT(select), apply(slicing, MDF_ELEMENT(less), at, zero, 0), zero, at);
    return apply(slicing, MDF_ELEMENT(select), apply(slicing, MDF_ELEMENT(less), whole, at, 0), whole, at);
}

/* Where the slice begins in the data, in units of so many elements; `limit` or more where it is not as large as the example. */
static uint8_t find_begin(struct slicing *slicing, const int64_t *strides, int64_t unit, int64_t limit)
{
    const int64_t *shape = mdf_value_shape(slicing->trial->effective[0]), *left = mdf_value_shape(&slicing->trial->results[0]);
    uint8_t begin = number(slicing, 0), zero = begin, outside = number(slicing, limit);

    for (size_t i = 0; i < slicing->n_axes; i++) {
        int64_t axis = slicing->axes[i];
        int64_t longest = left[axis] * slicing->steps[axis], too_short = longest - slicing->steps[axis];
        uint8_t start = load_end(slicing, 1, i, shape[axis]), end = load_end(slicing, 2, i, shape[axis]);
        uint8_t n = apply(slicing, MDF_ELEMENT(subtract), end, start, 0);
        uint8_t is_longer = apply(slicing, MDF_ELEMENT(less), number(slicing, longest), n, 0);
        uint8_t is_shorter = apply(slicing, MDF_ELEMENT(less), n, number(slicing, too_short + 1), 0);

        start = strides[axis] == unit ? start
                                      : apply(slicing, MDF_ELEMENT(multiply), start, number(slicing, strides[axis] / unit), 0);
        begin = apply(slicing, MDF_ELEMENT(add), begin, start, 0);
        begin = apply(slicing, MDF_ELEMENT(add), begin, apply(slicing, MDF_ELEMENT(select), is_longer, outside, zero), 0);
        begin = apply(slicing, MDF_ELEMENT(add), begin, apply(slicing, MDF_ELEMENT(select), is_shorter, outside, zero), 0);
    }
    return begin;
}

/* Number `i` of the starts or ends, where it is a value of its own. */
static mdf_lowered_id find_end(const struct slicing *slicing, size_t input, size_t i)
{
    mdf_lowered_id id = slicing->trial->ids[input];

    return slicing->n_axes == 1 ? id : lowering_find_element(slicing->lowering, id, i);
}

/* Where a window begins, in units of so many elements: a slice whose ends are so far apart as in the example, and which is not in
 * front of its array, whatever the numbers are. Of one axis it may be past the end, which the load looks after. NONE without a
 * refusal: it is none. */
static mdf_lowered_id find_window(const struct slicing *slicing, const int64_t *strides, int64_t unit)
{
    const int64_t *shape = mdf_value_shape(slicing->trial->effective[0]), *left = mdf_value_shape(&slicing->trial->results[0]);
    struct lowering *lowering = slicing->lowering;
    mdf_lowered_id begin = MDF_LOWERED_NONE;

    for (size_t i = 0; i < slicing->n_axes; i++) {
        int64_t axis = slicing->axes[i], longest = left[axis] * slicing->steps[axis], n;
        mdf_lowered_id start = find_end(slicing, 1, i), end = find_end(slicing, 2, i);
        struct lowering_range range;

        if (start == MDF_LOWERED_NONE || end == MDF_LOWERED_NONE || !lowering_find_range(lowering, start, &range) ||
            !lowering_find_difference(lowering, end, start, &n) || range.low < 0 || n > longest ||
            n <= longest - slicing->steps[axis] ||
            (slicing->n_axes > 1 && range.high > shape[axis] - 1 - longest + slicing->steps[axis])) {
            return MDF_LOWERED_NONE;
        }
        start = lowering_cast(lowering, start, MDF_DTYPE_INT64);
        start = strides[axis] == unit ? start
                                      : mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY, false, start,
                                                         mdf_term_whole(lowering, strides[axis] / unit));
        begin = i == 0 ? start : mdf_term_compute(lowering, MDF_LOWERED_ADD, false, begin, start);
    }
    return begin;
}

/* A load from where the slice begins. */
static mdf_lowered_id slice(struct slicing *slicing)
{
    const struct trial *trial = slicing->trial;
    const struct mdf_value *data = trial->effective[0], *result = &trial->results[0];
    struct moving moving = {.lowering = slicing->lowering, .region = lowering_place_of(slicing->lowering, trial)};
    struct mdf_nest_view view = {.id = trial->ids[0], .at_limit = 1, .cuts = true};
    mdf_lowered_id window;
    int64_t strides[MDF_INLINE_RANK], left;
    uint8_t axes[MDF_INLINE_RANK], in;

    slicing->draft = draft_new(slicing->lowering);
    if (slicing->draft == NULL || result->rank != data->rank) {
        return MDF_LOWERED_NONE;
    }
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    view.at_stride = slicing->n_axes == 1 ? strides[slicing->axes[0]] : 1;
    for (size_t d = 0; d < data->rank; d++) {
        axes[d] = draft_axis(slicing->draft, mdf_value_shape(result)[d]);
        left = mdf_value_shape(data)[d] - 1 - (mdf_value_shape(result)[d] - 1) * slicing->steps[d];
        view.at_limit += left * strides[d] / view.at_stride;
    }
    window = find_window(slicing, strides, view.at_stride);
    view.at = window != MDF_LOWERED_NONE ? draft_load(slicing->lowering, slicing->draft, window, NULL)
                                         : find_begin(slicing, strides, view.at_stride, view.at_limit);
    for (size_t d = 0; d < data->rank; d++) {
        strides[d] *= slicing->steps[d];
    }
    in = draft_load_elements(slicing->lowering, slicing->draft, &view, data->rank, axes, strides);
    if (slicing->draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    moving.out = add_result(slicing->lowering, result, moving.region);
    if (moving.out == MDF_LOWERED_NONE) {
        return moving.out;
    }
    draft_store(slicing->lowering, slicing->draft, in, moving.out, axes);
    return add_op(&moving, slicing->draft) ? moving.out : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ calls */

bool lowering_move(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    const struct mdf_move *move = trial->source->operator->move;
    size_t n = trial->source->n_outputs;
    struct mdf_value *positions = mdf_arena_array(&lowering->scratch, n, sizeof *positions);
    mdf_lowered_id *outs = mdf_arena_array(&lowering->scratch, n, sizeof *outs);
    struct slicing slicing = {.lowering = lowering, .trial = trial};
    bool done = true, slices;

    *taken = false;
    if (positions == NULL || outs == NULL) {
        return lowering_out_of_memory(lowering);
    }
    slices = !lowering_has_constants(lowering, trial, 1) && find_cut_axes(&slicing);
    if ((slices || has_open_indices(lowering, trial)) && is_worth_it(lowering, &trial->results[0])) {
        outs[0] = slices ? slice(&slicing) : gather(lowering, trial);
        *taken = outs[0] != MDF_LOWERED_NONE;
        return *taken ? lowering_bind(lowering, scope, trial->source->outputs[0], outs[0]) : !lowering_has_failed(lowering);
    }
    if (is_worth_it(lowering, &trial->results[0]) && (outs[0] = lowering_gather_nd(lowering, trial)) != MDF_LOWERED_NONE) {
        *taken = true;
        return lowering_bind(lowering, scope, trial->source->outputs[0], outs[0]);
    }
    if (lowering_has_failed(lowering) || !may_move(lowering, trial, mdf_move_data(move, trial->n))) {
        return !lowering_has_failed(lowering);
    }
    *taken = find_positions(lowering, trial, positions);
    for (size_t i = 0; i < n && done && *taken; i++) {
        done = trial->outputs[i] == NULL || move_result(lowering, trial, i, &positions[i], &outs[i], taken);
    }
    for (size_t i = 0; i < n; i++) {
        mdf_value_clear(lowering->memory, &positions[i]);
    }
    for (size_t i = 0; i < n && done && *taken; i++) {
        done = trial->outputs[i] == NULL || lowering_bind(lowering, scope, trial->source->outputs[i], outs[i]);
    }
    return done && !lowering_has_failed(lowering);
}
