/* lower_put.c - PUT for calls that put one element, or one row, into an array at an index: ScatterElements and ScatterND with a
 * single index. See lowering.h. */
#include "functions/moves/indexing.h"
#include "mdf_c/lower/trial.h"

#include <string.h>

/* Whether what the call puts replaces what was there. */
static bool replaces(const struct trial *trial)
{
    const char *const *reduction = lowering_setting(trial->source->operator, trial->source->settings, "reduction");

    return reduction == NULL || *reduction == NULL || strcmp(*reduction, "none") == 0;
}

/* ScatterElements of one element: all indices but that along the axis are 0. */
static bool put_element(const struct trial *trial, struct mdf_lowered_put *put)
{
    const struct mdf_value *data = trial->effective[0];
    size_t axis = lowering_axis(trial->source, data->rank, 0);
    int64_t strides[MDF_INLINE_RANK];

    if (trial->effective[1]->length != 1 || axis >= data->rank) {
        return false;
    }
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    *put = (struct mdf_lowered_put){.n_indices = 1, .steps = {strides[axis]}, .limits = {mdf_value_shape(data)[axis]}};
    return true;
}

/* ScatterND of one row: the indices are those of the first axes. */
static bool put_row(const struct trial *trial, struct mdf_lowered_put *put)
{
    const struct mdf_value *data = trial->effective[0], *indices = trial->effective[1];
    int64_t strides[MDF_INLINE_RANK];

    if (indices->rank == 0 || indices->length == 0 || indices->length > data->rank ||
        mdf_value_shape(indices)[indices->rank - 1] != (int64_t)indices->length) {
        return false;
    }
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    *put = (struct mdf_lowered_put){.n_indices = indices->length};
    memcpy(put->steps, strides, put->n_indices * sizeof *strides);
    memcpy(put->limits, mdf_value_shape(data), put->n_indices * sizeof *put->limits);
    return true;
}

static bool find_put(const struct lowering *lowering, const struct trial *trial, struct mdf_lowered_put *put)
{
    const enum mdf_form form = trial->source->operator->form;
    size_t i;

    if ((form != MDF_FORM_SCATTER_ELEMENTS && form != MDF_FORM_SCATTER_ND) || trial->n != 3 || trial->outputs[0] == NULL ||
        !replaces(trial)) {
        return false;
    }
    for (i = 0; i < 3; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || trial->effective[i]->kind != MDF_KIND_TENSOR ||
            lowering->facts[trial->ids[i]].is_open) {
            return false;
        }
    }
    return trial->effective[0]->length > 1 && trial->effective[0]->rank <= MDF_INLINE_RANK && trial->effective[2]->length > 0 &&
           trial->effective[2]->dtype == trial->effective[0]->dtype && trial->results[0].dtype == trial->effective[0]->dtype &&
           (trial->effective[1]->dtype == MDF_DTYPE_INT64 ||
            (trial->effective[1]->dtype == MDF_DTYPE_INT32 && trial->effective[1]->length == 1)) &&
           (form == MDF_FORM_SCATTER_ND ? put_row(trial, put) : put_element(trial, put));
}

bool lowering_put(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_PUT, .n_in = 3};
    struct mdf_lowered_put put;

    *taken = find_put(lowering, trial, &put);
    if (!*taken) {
        return true;
    }
    op.of.put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *op.of.put);
    if (op.of.put == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *op.of.put = put;
    op.dtype = trial->effective[0]->dtype;
    op.in[0] = trial->ids[0];
    op.in[1] = trial->ids[2];
    op.in[2] = lowering_cast(lowering, trial->ids[1], MDF_DTYPE_INT64);
    return op.in[2] != MDF_LOWERED_NONE &&
           lowering_bind(lowering, scope, trial->source->outputs[0], lowering_add_element_op(lowering, op, &trial->results[0]));
}
