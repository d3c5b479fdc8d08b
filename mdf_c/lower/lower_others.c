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
    size_t i;

    *taken = false;
    if (trial->source->operator->form != MDF_FORM_CLIP || lowering->is_for_source ||
        lowering->region->kind != REGION_BODY || trial->n<2 || id == MDF_LOWERED_NONE || trial->source->
        operator->settings != NULL) {
        return true;
    }
    for (i = 1; i < trial->n; i++) {
        const struct mdf_value *limit = trial->ids[i] != MDF_LOWERED_NONE ? trial->effective[i] : NULL;

        if (limit != NULL && (limit->kind != MDF_KIND_TENSOR || limit->rank != 0 || limit->dtype != trial->results[0].dtype ||
                              limit->dtype == MDF_DTYPE_BOOL)) {
            return true;
        }
    }
    for (i = 1; i < trial->n && id != MDF_LOWERED_NONE; i++) {
        id = trial->ids[i] != MDF_LOWERED_NONE ? lowering_limit(lowering, trial->ids[i], id, i == 1) : id;
    }
    *taken = lowering_is_result(lowering, trial, id);
    return !lowering_has_failed(lowering) && (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], id));
}

/* Python's x[i] of an array and a whole number that is not known before is an item, read where it lies; *taken: the call is such
 * a one. */
bool lowering_take_item(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    const struct mdf_subscript *subscript = trial->source->settings;
    const struct mdf_value *array = trial->effective[0], *index = trial->n == 2 ? trial->effective[1] : NULL;
    mdf_lowered_id id;

    *taken = false;
    if (trial->source->operator->form != MDF_FORM_LIST_ITEM || index == NULL || trial->ids[0] == MDF_LOWERED_NONE ||
        trial->ids[1] == MDF_LOWERED_NONE || subscript->n_parts != 1 || subscript->is_tuple || subscript->parts[0]
            .kind != MDF_SUBSCRIPT_INDEX || array->kind != MDF_KIND_TENSOR || array->rank == 0 ||
        array->dtype == MDF_DTYPE_STRING || index->kind != MDF_KIND_TENSOR || index->rank != 0 ||
        index->dtype != MDF_DTYPE_INT64 || lowering_is_constant(lowering, trial->ids[1]) ||
        lowering->facts[trial->ids[0]].is_open) {
        return true;
    }
    id = lowering_item_at(lowering, trial->ids[0], trial->ids[1]);
    *taken = lowering_is_result(lowering, trial, id);
    return !lowering_has_failed(lowering) && (!*taken || lowering_bind(lowering, scope, trial->source->outputs[0], id));
}
