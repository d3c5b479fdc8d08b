/* lower_gather_nd.c - NESTs for GatherND by indices that are not known before. See lowering.h.
 *
 * A load has one index. That of several axes is their place among all of these; each index is brought to its axis by a row of
 * numbers before, from the end where it is negative, so that none reaches into the row beside. Along a first axis that is too
 * long for that, an index is held near it: what is past it still is, and no multiple of it wraps. */
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lower/trial.h"

#include "functions/elements/element.h"
#include "functions/kernel/move.h"
#include "functions/moves/indexing.h"

/* How many axes of the data the indices are of; 0: it is not covered. */
static size_t find_depth(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_value *data, *indices;
    const int64_t *batch_dims = mdf_code_setting(trial->source, "batch_dims");
    int64_t depth;

    if (trial->source->operator->move == NULL || !trial->source->operator->move->by_tuples || trial->n != 2 ||
        trial->outputs[0] == NULL || trial->ids[0] == MDF_LOWERED_NONE || trial->ids[1] == MDF_LOWERED_NONE ||
        lowering_is_constant(lowering, trial->ids[1]) ||
        lowering->facts[trial->ids[0]].is_open || lowering->facts[trial->ids[1]].is_open) {
        return 0;
    }
    data = trial->effective[0];
    indices = trial->effective[1];
    if (data->kind != MDF_KIND_TENSOR || indices->kind != MDF_KIND_TENSOR || data->rank > MDF_INLINE_RANK || indices->rank == 0 ||
        indices->rank > MDF_INLINE_RANK || trial->results[0].length == 0 || trial->results[0].rank > MDF_INLINE_RANK ||
        data->length < 2 || (indices->dtype != MDF_DTYPE_INT64 && indices->dtype != MDF_DTYPE_INT32) ||
        (batch_dims != NULL && mdf_is_set(*batch_dims))) {
        return 0;
    }
    depth = mdf_value_shape(indices)[indices->rank - 1];
    return depth > 0 && depth <= (int64_t)data->rank ? (size_t)depth : 0;
}

/* a * size + b, in the example too. */
static mdf_lowered_id add_index(struct lowering *lowering, mdf_lowered_id a, int64_t size, mdf_lowered_id b)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_MULTIPLY, .dtype = MDF_DTYPE_INT64, .n_in = 2, .in = {a}};
    struct mdf_value example = {0};
    int64_t place;

    op.in[1] = mdf_term_whole(lowering, size);
    b = lowering_cast(lowering, b, MDF_DTYPE_INT64);
    if (a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    place = *(const int64_t *)lowering_example(lowering, a)->data * size;
    mdf_value_borrow_tensor(lowering->memory, &example, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &place);
    op.in[0] = lowering_add_element_op(lowering, op, &example);
    op.in[1] = b;
    op.code = MDF_LOWERED_ADD;
    place += *(const int64_t *)lowering_example(lowering, b)->data;
    mdf_value_borrow_tensor(lowering->memory, &example, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &place);
    return lowering_add_element_op(lowering, op, &example);
}

mdf_lowered_id lowering_flatten_index(struct lowering *lowering, mdf_lowered_id indices, size_t first, size_t n,
                                      const int64_t *sizes)
{
    mdf_lowered_id numbers[MDF_INLINE_RANK], place;
    struct lowering_range range;

    for (size_t i = 0; i < n; i++) {
        numbers[i] = lowering_find_element(lowering, indices, first + i);
        if (numbers[i] == MDF_LOWERED_NONE || !lowering_find_range(lowering, numbers[i], &range) || range.low < 0 ||
            range.high >= sizes[i]) {
            return MDF_LOWERED_NONE;
        }
    }
    place = n == 0 ? MDF_LOWERED_NONE : lowering_cast(lowering, numbers[0], MDF_DTYPE_INT64);
    for (size_t i = 1; i < n; i++) {
        place = add_index(lowering, place, sizes[i], numbers[i]);
    }
    return place;
}

/* The index `in`, from 0 on, of an axis of so many elements. */
static uint8_t bring_to_axis(struct lowering *lowering, struct nest_draft *draft, uint8_t in, int64_t size)
{
    int64_t *numbers = size > DRAFT_LONGEST_AXIS ? NULL : mdf_arena_array(&lowering->scratch, (size_t)size, sizeof *numbers), i;
    struct mdf_nest_view view = {.at = in, .at_stride = 1, .at_limit = size};
    struct mdf_value row = {0};

    if (numbers == NULL) {
        draft->has_failed = true;
        return in;
    }
    for (i = 0; i < size; i++) {
        numbers[i] = i;
    }
    mdf_value_borrow_tensor(lowering->memory, &row, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, &size, numbers);
    view.id = lowering_add_constant(lowering, &row, false);
    if (size == 1 || view.id == MDF_LOWERED_NONE) {
        draft->has_failed = true; /* one element is no array */
        return in;
    }
    return draft_load_elements(lowering, draft, &view, 0, NULL, NULL);
}

static uint8_t hold_near_axis(struct lowering *lowering, struct nest_draft *draft, uint8_t in, int64_t size)
{
    uint8_t past = draft_number(lowering, draft, MDF_DTYPE_INT64, (double)size), before, is_past, is_before;

    is_past = draft_apply(lowering, draft, MDF_ELEMENT(less), (const uint8_t[]){past, in});
    in = draft_apply(lowering, draft, MDF_ELEMENT(select), (const uint8_t[MDF_MAX_OPERANDS]){is_past, past, in});
    before = draft_number(lowering, draft, MDF_DTYPE_INT64, (double)(-1 - size));
    is_before = draft_apply(lowering, draft, MDF_ELEMENT(less), (const uint8_t[]){in, before});
    return draft_apply(lowering, draft, MDF_ELEMENT(select), (const uint8_t[MDF_MAX_OPERANDS]){is_before, before, in});
}

uint8_t lowering_find_place(struct lowering *lowering, struct nest_draft *draft, const struct trial *trial, size_t depth,
                            const uint8_t *axes)
{
    const struct mdf_value *indices = trial->effective[1];
    const int64_t *shape = mdf_value_shape(trial->effective[0]);
    int64_t strides[MDF_INLINE_RANK];
    uint8_t place = 0;

    mdf_strides(indices->rank, mdf_value_shape(indices), strides);
    for (size_t i = 0; i < depth && !draft->has_failed; i++) {
        mdf_lowered_id known = indices->length == depth ? lowering_find_element(lowering, trial->ids[1], i) : MDF_LOWERED_NONE;
        const struct mdf_nest_view of_number = {.id = known, .at = MDF_NEST_NONE},
                                   of_array = {.id = trial->ids[1], .first = (int64_t)i, .at = MDF_NEST_NONE};
        uint8_t in = known != MDF_LOWERED_NONE
                         ? draft_load_elements(lowering, draft, &of_number, 0, NULL, NULL)
                         : draft_load_elements(lowering, draft, &of_array, indices->rank - 1u, axes, strides);

        in = draft_cast(draft, in, MDF_DTYPE_INT64);
        if (depth > 1) {
            in = i > 0 || (shape[i] > 1 && shape[i] <= DRAFT_LONGEST_AXIS) ? bring_to_axis(lowering, draft, in, shape[i])
                                                                           : hold_near_axis(lowering, draft, in, shape[i]);
        }
        if (i > 0) {
            uint8_t size = draft_number(lowering, draft, MDF_DTYPE_INT64, (double)shape[i]);

            place = draft_apply(lowering, draft, MDF_ELEMENT(multiply), (const uint8_t[]){place, size});
            in = draft_apply(lowering, draft, MDF_ELEMENT(add), (const uint8_t[]){place, in});
        }
        place = in;
    }
    return place;
}

/* The place that all indices of a single tuple say, if these are known to be on their axes: so C source has a nest, too. */
static mdf_lowered_id find_single(struct lowering *lowering, const struct trial *trial, size_t depth)
{
    return depth == 0 || trial->effective[1]->length != depth
               ? MDF_LOWERED_NONE
               : lowering_flatten_index(lowering, lowering_look_through_copy(lowering, trial->ids[1]), 0, depth,
                                        mdf_value_shape(trial->effective[0]));
}

mdf_lowered_id lowering_gather_nd(struct lowering *lowering, const struct trial *trial)
{
    size_t depth = find_depth(lowering, trial), n_before, d;
    mdf_lowered_id single = find_single(lowering, trial, depth);
    bool has_nest = depth > 0 && (single != MDF_LOWERED_NONE || !lowering->is_for_source);
    struct nest_draft *draft = has_nest ? draft_new(lowering) : NULL;
    const struct mdf_value *data = trial->effective[0], *result = &trial->results[0];
    struct mdf_nest_view view = {.id = trial->ids[0], .at_stride = 1, .at_limit = 1};
    uint8_t axes[MDF_INLINE_RANK], data_axes[MDF_INLINE_RANK], in;
    int64_t strides[MDF_INLINE_RANK];

    if (draft == NULL || result->rank + depth + 1 != data->rank + trial->effective[1]->rank) {
        return MDF_LOWERED_NONE;
    }
    for (d = 0; d < result->rank; d++) {
        axes[d] = draft_axis(draft, mdf_value_shape(result)[d]);
    }
    n_before = trial->effective[1]->rank - 1u;
    for (d = 0; d < data->rank; d++) {
        data_axes[d] = d < depth ? DRAFT_NO_AXIS : axes[n_before + d - depth];
        view.at_limit *= d < depth ? mdf_value_shape(data)[d] : 1;
        view.at_stride *= d < depth ? 1 : mdf_value_shape(data)[d];
    }
    view.at = single != MDF_LOWERED_NONE ? draft_load(lowering, draft, single, NULL)
                                         : lowering_find_place(lowering, draft, trial, depth, axes);
    if (draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    in = draft_load_elements(lowering, draft, &view, data->rank, data_axes, strides);
    return lowering_add_nest(lowering, draft, in, result, axes);
}
