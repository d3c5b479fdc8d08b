/* lower_others.c - calls that come to others: limits, and items of arrays in Python's way. Each is taken where the others give
 * the bits of its kernel on the examples. See trial.h. */
#include "mdf_c/lower/trial.h"

#include "functions/python/python.h"

#include <string.h>

/* Whether a value that was made in place of a call's result is the same on the examples. */
bool lowering_is_result(const struct lowering *lowering, const struct trial *trial, mdf_lowered_id id)
{
    const struct mdf_value *result = &trial->results[0];

    return id != MDF_LOWERED_NONE && mdf_value_has_form_of(lowering_example(lowering, id), result) &&
           memcmp(lowering_example(lowering, id)->data, result->data,
                  result->length * mdf_dtype_size((mdf_dtype)result->dtype)) == 0;
}

/* A function between two limits in a loop is the larger one of elements and the lower limit, then the smaller one of that and
 * the upper limit, which are operations of the processor; *taken: the call is such a one. */
bool lowering_limit_elements(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    mdf_lowered_id id = trial->ids[0];

    *taken = false;
    if (trial->source->operator->form != MDF_FORM_CLIP || lowering->is_for_source ||
        lowering->region->kind != REGION_BODY || trial->n<2 || id == MDF_LOWERED_NONE || trial->source->
        operator->settings != NULL) {
        return true;
    }
    for (size_t i = 1; i < trial->n; i++) {
        const struct mdf_value *limit = trial->ids[i] != MDF_LOWERED_NONE ? trial->effective[i] : NULL;

        if (limit != NULL && (limit->kind != MDF_KIND_TENSOR || limit->rank != 0 || limit->dtype != trial->results[0].dtype ||
                              limit->dtype == MDF_DTYPE_BOOL)) {
            return true;
        }
    }
    for (size_t i = 1; i < trial->n && id != MDF_LOWERED_NONE; i++) {
        id = trial->ids[i] != MDF_LOWERED_NONE ? lowering_limit(lowering, trial->ids[i], id, i == 1) : id;
    }
    *taken = lowering_is_result(lowering, trial, id);
    return !lowering_has_failed(lowering) && (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], id));
}

/* How many operands a part of a subscript has. */
static size_t count_operands(const struct mdf_subscript_part *part)
{
    return part->kind == MDF_SUBSCRIPT_INDEX   ? 1
           : part->kind == MDF_SUBSCRIPT_SLICE ? (size_t)part->has_start + part->has_stop + part->has_step
                                               : 0;
}

static bool takes_axis(const struct mdf_subscript_part *part)
{
    return part->kind == MDF_SUBSCRIPT_INDEX || part->kind == MDF_SUBSCRIPT_SLICE;
}

/* Whether all indices of a subscript of an array are whole numbers, some of which are not known before. */
static bool takes_numbers(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_subscript *subscript = trial->source->settings;
    const struct mdf_value *array = trial->effective[0];
    bool is_known = true;
    size_t operand = 1, n_axes = 0;

    if (array->kind != MDF_KIND_TENSOR || array->dtype == MDF_DTYPE_STRING || trial->ids[0] == MDF_LOWERED_NONE ||
        lowering->facts[trial->ids[0]].is_open) {
        return false;
    }
    for (size_t i = 0; i < subscript->n_parts; i++) {
        const struct mdf_value *index = subscript->parts[i].kind == MDF_SUBSCRIPT_INDEX ? trial->effective[operand] : NULL;

        if (index != NULL && (trial->ids[operand] == MDF_LOWERED_NONE || index->kind != MDF_KIND_TENSOR || index->rank != 0 ||
                              index->dtype != MDF_DTYPE_INT64)) {
            return false;
        }
        is_known = is_known && (index == NULL || lowering_is_constant(lowering, trial->ids[operand]));
        n_axes += takes_axis(&subscript->parts[i]);
        operand += count_operands(&subscript->parts[i]);
    }
    return !is_known && operand == trial->n && n_axes <= array->rank;
}

/* The items at all indices of a subscript, one axis after the other from the first on, and what its other parts make of that. */
static mdf_lowered_id take_items(struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_subscript *subscript = trial->source->settings;
    struct mdf_subscript *rest = mdf_arena_allocate(&lowering->lowered->arena, sizeof *rest);
    struct mdf_subscript_part *parts = mdf_arena_array(&lowering->lowered->arena, subscript->n_parts, sizeof *parts);
    mdf_lowered_id *inputs = mdf_arena_array(&lowering->scratch, trial->n, sizeof *inputs), id = trial->ids[0];
    size_t operand = 1, n = 1, axis = 0, n_left = 0;

    if (rest == NULL || parts == NULL || inputs == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    for (size_t i = 0; i < subscript->n_parts; i++) { /* that name an axis */
        n_left += takes_axis(&subscript->parts[i]);
    }
    n_left = trial->effective[0]->rank - n_left; /* axes that the ellipsis stands for */
    *rest = (struct mdf_subscript){.parts = parts, .is_tuple = true};
    for (size_t i = 0; i < subscript->n_parts && id != MDF_LOWERED_NONE; i++) {
        const struct mdf_subscript_part *part = &subscript->parts[i];

        if (part->kind == MDF_SUBSCRIPT_INDEX) {
            id = lowering_item_along(lowering, id, trial->ids[operand++], axis);
            continue;
        }
        parts[rest->n_parts++] = *part;
        for (size_t k = count_operands(part); k > 0; k--) {
            inputs[n++] = trial->ids[operand++];
        }
        axis += part->kind == MDF_SUBSCRIPT_ELLIPSIS ? n_left : part->kind == MDF_SUBSCRIPT_SLICE;
    }
    inputs[0] = id;
    return id == MDF_LOWERED_NONE || rest->n_parts == 0 ? id
                                                        : lowering_call_row(lowering, trial->source->operator, rest, inputs, n);
}

/* Python's x[i], x[i, j] and x[i, 1:] of an array and whole numbers that are not known before are items, read where they lie;
 * *taken: the call is such a one. */
bool lowering_take_item(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    mdf_lowered_id id;

    *taken = false;
    if (trial->source->operator->form != MDF_FORM_LIST_ITEM || !takes_numbers(lowering, trial)) {
        return true;
    }
    id = take_items(lowering, trial);
    *taken = lowering_is_result(lowering, trial, id);
    return !lowering_has_failed(lowering) && (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], id));
}
