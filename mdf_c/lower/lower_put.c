/* lower_put.c - PUT for calls that put one element, or one row, into an array at an index: ScatterElements and ScatterND with a
 * single index; with a few of them a PUT for each, one after the other. Where an update is added to what is there, or multiplies
 * it, a nest in front of the PUT does that. See lowering.h. */
#include "functions/elements/element.h"
#include "functions/moves/indexing.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

enum { MOST_PUTS = 8 };

static const char *reduction_of(const struct trial *trial)
{
    const char *const *reduction = mdf_code_setting(trial->source, "reduction");

    return reduction == NULL || *reduction == NULL ? "none" : *reduction;
}

/* Whether what the call puts replaces what was there. */
static bool replaces(const struct trial *trial)
{
    return strcmp(reduction_of(trial), "none") == 0;
}

/* What the call makes of what was there and an update, in types of which nests compute; NULL: it is not such a one. */
static const struct mdf_element *combination(const struct trial *trial)
{
    mdf_dtype dtype = (mdf_dtype)trial->effective[0]->dtype;

    return !lowering_casts(dtype) || dtype == MDF_DTYPE_BOOL ? NULL
           : strcmp(reduction_of(trial), "add") == 0         ? MDF_ELEMENT(add)
           : strcmp(reduction_of(trial), "mul") == 0         ? MDF_ELEMENT(multiply)
                                                             : NULL;
}

/* ScatterElements of one element: all indices but that along the axis are 0; of several: of a row. */
static bool put_element(const struct trial *trial, struct mdf_lowered_put *put)
{
    const struct mdf_value *data = trial->effective[0];
    size_t axis = lowering_axis(trial->source, data->rank, 0);
    int64_t strides[MDF_INLINE_RANK];

    if (axis >= data->rank ||
        (trial->effective[1]->length != 1 && (data->rank != 1 || trial->effective[1]->length != trial->effective[2]->length))) {
        return false;
    }
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    *put = (struct mdf_lowered_put){.n_indices = 1, .steps = {strides[axis]}, .limits = {mdf_value_shape(data)[axis]}};
    return true;
}

/* ScatterND of rows: the indices of each are those of the first axes. */
static bool put_row(const struct trial *trial, struct mdf_lowered_put *put)
{
    const struct mdf_value *data = trial->effective[0], *indices = trial->effective[1];
    int64_t strides[MDF_INLINE_RANK], depth;

    depth = indices->rank == 0 || indices->length == 0 ? 0 : mdf_value_shape(indices)[indices->rank - 1];
    if (depth == 0 || depth > (int64_t)data->rank) {
        return false;
    }
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    *put = (struct mdf_lowered_put){.n_indices = (size_t)depth};
    memcpy(put->steps, strides, put->n_indices * sizeof *strides);
    memcpy(put->limits, mdf_value_shape(data), put->n_indices * sizeof *put->limits);
    return true;
}

/* Whether it is one update, at an index, or at several that a nest brings to one place (lowering_find_place). */
static bool has_place(const struct trial *trial, const struct mdf_lowered_put *put)
{
    size_t i;

    for (i = 1; i < put->n_indices && put->limits[i] > 1 && put->limits[i] <= DRAFT_LONGEST_AXIS; i++) {
    }
    return i >= put->n_indices && trial->effective[1]->length == put->n_indices;
}

static bool find_put(const struct lowering *lowering, const struct trial *trial, struct mdf_lowered_put *put)
{
    const enum mdf_form form = trial->source->operator->form;

    if ((form != MDF_FORM_SCATTER_ELEMENTS && form != MDF_FORM_SCATTER_ND) || trial->n != 3 || trial->outputs[0] == NULL) {
        return false;
    }
    for (size_t i = 0; i < 3; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || trial->effective[i]->kind != MDF_KIND_TENSOR ||
            lowering->facts[trial->ids[i]].is_open) {
            return false;
        }
    }
    return trial->effective[0]->length > 1 && trial->effective[0]->rank <= MDF_INLINE_RANK && trial->effective[2]->length > 0 &&
           trial->effective[2]->dtype == trial->effective[0]->dtype && trial->results[0].dtype == trial->effective[0]->dtype &&
           (trial->effective[1]->dtype == MDF_DTYPE_INT64 ||
            (trial->effective[1]->dtype == MDF_DTYPE_INT32 && trial->effective[1]->length == 1)) &&
           (form == MDF_FORM_SCATTER_ND ? put_row(trial, put) : put_element(trial, put)) &&
           (replaces(trial) || (combination(trial) != NULL && has_place(trial, put) &&
                                (form == MDF_FORM_SCATTER_ND || trial->effective[0]->rank == 1)));
}

/* The place among all elements of the axes that indices are of, as one for all of them. */
static void flatten(struct mdf_lowered_put *put)
{
    int64_t limit = 1;

    for (size_t i = 0; i < put->n_indices; i++) {
        limit *= put->limits[i];
    }
    *put = (struct mdf_lowered_put){.n_indices = 1, .steps = {put->steps[put->n_indices - 1]}, .limits = {limit}};
}

/* Where a single tuple of indices leads to, as a number: what lies there is looked up, and put there again. */
static mdf_lowered_id add_place(struct lowering *lowering, const struct trial *trial, struct mdf_lowered_put *put)
{
    struct nest_draft *draft = draft_new(lowering);
    uint8_t none[MDF_INLINE_RANK], place;

    memset(none, DRAFT_NO_AXIS, sizeof none);
    place = draft == NULL ? 0 : lowering_find_place(lowering, draft, trial, put->n_indices, none);
    if (draft == NULL || draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    flatten(put);
    return lowering_add_computed_nest(lowering, draft, place, 1, 0, NULL, NULL);
}

/* What lies at an index, combined with an update. */
static mdf_lowered_id combine(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_put *put,
                              mdf_lowered_id array, mdf_lowered_id update, mdf_lowered_id index)
{
    struct nest_draft *draft =
        array != MDF_LOWERED_NONE && update != MDF_LOWERED_NONE && index != MDF_LOWERED_NONE ? draft_new(lowering) : NULL;
    const struct mdf_nest_view of_index = {.id = index, .at = MDF_NEST_NONE}, added = {.id = update, .at = MDF_NEST_NONE};
    struct mdf_nest_view there = {.id = array, .at_stride = put->steps[0], .at_limit = put->limits[0]};
    const int64_t strides[] = {1};
    size_t length = draft != NULL ? lowering_example(lowering, update)->length : 0, rank = length > 1;
    uint8_t axes[1] = {DRAFT_NO_AXIS}, in[2];

    if (draft == NULL) {
        return MDF_LOWERED_NONE;
    }
    if (rank > 0) {
        axes[0] = draft_axis(draft, (int64_t)length);
    }
    there.at = draft_load_elements(lowering, draft, &of_index, 0, NULL, NULL);
    if (draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    in[0] = draft_load_elements(lowering, draft, &there, rank, axes, strides);
    in[1] = draft_load_elements(lowering, draft, &added, rank, axes, strides);
    return lowering_add_computed_nest(lowering, draft, draft_apply(lowering, draft, combination(trial), in), length, rank, axes,
                                      strides);
}

mdf_lowered_id lowering_find_element(const struct lowering *lowering, mdf_lowered_id id, size_t i)
{
    for (size_t at = lowering->region->n_ops; at-- > 0;) {
        const struct mdf_lowered_op *op = &lowering->region->ops[at];

        for (size_t k = 0; op->code == MDF_LOWERED_NEST && op->of.nest->n_axes == 0 && k < op->of.nest->n_steps; k++) {
            const struct mdf_nest_step *store = &op->of.nest->steps[k];
            const struct mdf_nest_view *from = &op->of.nest->steps[store->in[0]].view;

            if (store->kind == MDF_NEST_STORE && store->view.id == id && store->view.first == (int64_t)i &&
                op->of.nest->steps[store->in[0]].kind == MDF_NEST_LOAD && from->at == MDF_NEST_NONE &&
                lowering->lowered->values[from->id].is_scalar) {
                return from->id;
            }
        }
    }
    return MDF_LOWERED_NONE;
}

/* Elements [first, first + n) of an array, as a row. */
static mdf_lowered_id take(struct lowering *lowering, mdf_lowered_id id, size_t first, size_t n)
{
    const struct mdf_nest_view view = {.id = id, .first = (int64_t)first, .at = MDF_NEST_NONE};
    const int64_t strides[] = {1};
    mdf_lowered_id element = n == 1 ? lowering_find_element(lowering, id, first) : MDF_LOWERED_NONE;
    struct nest_draft *draft = NULL;
    uint8_t axes[1] = {DRAFT_NO_AXIS};
    size_t rank = n > 1;

    if (lowering_example(lowering, id)->length == n) {
        return id;
    }
    if (element != MDF_LOWERED_NONE || (draft = draft_new(lowering)) == NULL) {
        return element;
    }
    if (rank > 0) {
        axes[0] = draft_axis(draft, (int64_t)n);
    }
    return lowering_add_computed_nest(lowering, draft, draft_load_elements(lowering, draft, &view, rank, axes, strides), n, rank,
                                      axes, strides);
}

mdf_lowered_id lowering_look_through_copy(const struct lowering *lowering, mdf_lowered_id id)
{
    size_t at = lowering->region->n_ops;

    while (at-- > 0) {
        const struct mdf_lowered_op *op = &lowering->region->ops[at];

        if (op->code == MDF_LOWERED_COPY && op->out == id) {
            return op->in[0];
        }
    }
    return id;
}

/* The index of what is put, number `i`: one for all axes, where the numbers that say it are known to be on theirs, or where what
 * lies there is looked up too. */
static mdf_lowered_id take_index(struct lowering *lowering, const struct trial *trial, struct mdf_lowered_put *put,
                                 mdf_lowered_id indices, size_t i)
{
    mdf_lowered_id flat = put->n_indices < 2
                              ? MDF_LOWERED_NONE
                              : lowering_flatten_index(lowering, indices, i * put->n_indices, put->n_indices, put->limits);

    if (flat == MDF_LOWERED_NONE) {
        return put->n_indices > 1 && !replaces(trial) ? add_place(lowering, trial, put)
                                                      : take(lowering, indices, i * put->n_indices, put->n_indices);
    }
    flatten(put);
    return flat;
}

bool lowering_put(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    struct mdf_lowered_put put;
    mdf_lowered_id result = trial->ids[0], indices;
    size_t n, length;

    *taken = find_put(lowering, trial, &put);
    n = *taken ? trial->effective[1]->length / put.n_indices : 0;
    length = *taken && n > 0 ? trial->effective[2]->length / n : 0;
    /* For C source, where rows of several elements would stand alone, elements only. */
    *taken = n == 1 || (n > 1 && n <= MOST_PUTS && length * n == trial->effective[2]->length &&
                        (!lowering->is_for_source || (length == 1 && put.n_indices == 1)) &&
                        lowering_casts((mdf_dtype)trial->effective[2]->dtype)); /* what a nest can load */
    if (!*taken) {
        return true;
    }
    indices = lowering_look_through_copy(lowering, lowering_cast(lowering, trial->ids[1], MDF_DTYPE_INT64));
    for (size_t i = 0; i < n && indices != MDF_LOWERED_NONE && result != MDF_LOWERED_NONE; i++) {
        struct mdf_lowered_op op = {.code = MDF_LOWERED_PUT, .dtype = trial->effective[0]->dtype, .n_in = 3, .in = {result}};

        op.of.put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *op.of.put);
        if (op.of.put == NULL) {
            return lowering_out_of_memory(lowering);
        }
        *op.of.put = put;
        op.in[1] = take(lowering, trial->ids[2], i * length, length);
        op.in[2] = take_index(lowering, trial, op.of.put, indices, i);
        op.in[1] = replaces(trial) ? op.in[1] : combine(lowering, trial, op.of.put, result, op.in[1], op.in[2]);
        result = op.in[1] != MDF_LOWERED_NONE && op.in[2] != MDF_LOWERED_NONE
                     ? lowering_add_element_op(lowering, op, &trial->results[0])
                     : MDF_LOWERED_NONE;
    }
    return indices != MDF_LOWERED_NONE && lowering_bind(lowering, scope, trial->source->outputs[0], result);
}
