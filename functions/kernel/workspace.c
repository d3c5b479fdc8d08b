/* workspace.c - see workspace.h. */
#include "functions/kernel/workspace.h"

#include "functions/elements/elementwise.h"

#include <stdio.h>

enum { SHAPE_TEXT_SIZE = 160 };

mdf_dtype mdf_workspace_dtype(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
}

bool mdf_workspace_begin(struct mdf_workspace *workspace, struct mdf_call *call, mdf_dtype dtype, size_t n_slots)
{
    struct mdf_value *list = &call->scratch[MDF_SCRATCH_WORKSPACE];

    if (list->kind != MDF_KIND_LIST || list->length < n_slots) {
        if (mdf_value_make_list(call->context->memory, list, n_slots) == NULL) {
            return mdf_call_out_of_memory(call);
        }
    }
    mdf_elementwise_note_workspace(call, dtype);
    workspace->call = call;
    workspace->dtype = dtype;
    workspace->slots = list->data;
    workspace->n_slots = n_slots;
    workspace->n_used = 0;
    workspace->n_pending = 0;
    return true;
}

struct mdf_value *mdf_workspace_value(struct mdf_workspace *workspace)
{
    if (workspace->n_used >= workspace->n_slots) {
        mdf_call_error(workspace->call, MDF_LIMIT, "the kernel uses more than its %zu working arrays", workspace->n_slots);
        return NULL;
    }
    return &workspace->slots[workspace->n_used++];
}

const void *mdf_workspace_input(struct mdf_workspace *workspace, size_t i)
{
    static const double nothing = 0;
    struct mdf_value *slot = mdf_workspace_value(workspace);
    const struct mdf_value *value = mdf_call_tensor(workspace->call, i);

    if (slot == NULL || value == NULL) {
        return NULL;
    }
    if (value->length == 0) {
        return &nothing;
    }
    if (value->dtype == workspace->dtype) {
        return value->data;
    }
    if (mdf_dtype_kind((mdf_dtype)value->dtype) == 's') {
        mdf_call_error(workspace->call, MDF_TYPE, "input %zu is text, not numbers", i + 1);
        return NULL;
    }
    if (!mdf_value_convert(workspace->call->context->memory, slot, value, workspace->dtype)) {
        mdf_call_out_of_memory(workspace->call);
        return NULL;
    }
    return slot->data;
}

void *mdf_workspace_output(struct mdf_workspace *workspace, size_t i, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct mdf_value *slot = mdf_workspace_value(workspace);
    void *elements = slot == NULL ? NULL : mdf_call_output(workspace->call, i, dtype, rank, shape);

    if (elements == NULL || dtype == workspace->dtype) {
        return elements;
    }
    elements = mdf_value_make_tensor(workspace->call->context->memory, slot, workspace->dtype, rank, shape);
    if (elements == NULL) {
        mdf_call_out_of_memory(workspace->call);
        return NULL;
    }
    if (workspace->n_pending < MDF_WORKSPACE_OUTPUTS) {
        workspace->pending[workspace->n_pending].output = i;
        workspace->pending[workspace->n_pending++].elements = elements;
    }
    return elements;
}

void *mdf_workspace_array(struct mdf_workspace *workspace, mdf_dtype dtype, size_t n)
{
    struct mdf_value *slot = mdf_workspace_value(workspace);
    int64_t size = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    void *elements = slot == NULL ? NULL : mdf_value_make_tensor(workspace->call->context->memory, slot, dtype, 1, &size);

    if (elements == NULL && slot != NULL) {
        mdf_call_out_of_memory(workspace->call);
    }
    return elements;
}

void *mdf_workspace_matrix(struct mdf_workspace *workspace, mdf_dtype dtype, size_t rows, size_t columns)
{
    size_t n;

    return mdf_workspace_array(workspace, dtype, mdf_size_multiply(rows, columns, &n) ? n : SIZE_MAX);
}

bool mdf_workspace_end(struct mdf_workspace *workspace)
{
    for (size_t i = 0; i < workspace->n_pending; i++) {
        struct mdf_value *output = mdf_call_result(workspace->call, workspace->pending[i].output);

        if (output != NULL && output->length > 0 &&
            !mdf_value_convert_elements(workspace->call->context->memory, (mdf_dtype)output->dtype, output->data,
                                        workspace->dtype, workspace->pending[i].elements, output->length, true)) {
            return false;
        }
    }
    return true;
}

bool mdf_workspace_product(struct mdf_call *call, const int64_t *shape, size_t first, size_t last, size_t *product)
{
    if (first < last && !mdf_shape_n_elements(last - first, shape + first, product)) {
        return mdf_call_error(call, MDF_LIMIT, "an array would have more elements than any memory");
    }
    if (first >= last) {
        *product = 1;
    }
    return true;
}

static void describe_shape(size_t rank, const int64_t *shape, char text[SHAPE_TEXT_SIZE])
{
    size_t length = (size_t)snprintf(text, SHAPE_TEXT_SIZE, "[");

    for (size_t axis = 0; axis < rank && length < SHAPE_TEXT_SIZE - 32; axis++) {
        length +=
            (size_t)snprintf(text + length, SHAPE_TEXT_SIZE - length, "%s%lld", axis == 0 ? "" : ",", (long long)shape[axis]);
    }
    snprintf(text + length, SHAPE_TEXT_SIZE - length, "]");
}

bool mdf_workspace_check_shape(struct mdf_call *call, const char *what, const struct mdf_value *value, size_t rank,
                               const int64_t *shape)
{
    char is[SHAPE_TEXT_SIZE], wanted[SHAPE_TEXT_SIZE];
    bool same = value->rank == rank;

    for (size_t axis = 0; same && axis < rank; axis++) {
        same = mdf_value_shape(value)[axis] == shape[axis];
    }
    if (same) {
        return true;
    }
    describe_shape(value->rank, mdf_value_shape(value), is);
    describe_shape(rank, shape, wanted);
    return mdf_call_error(call, MDF_SHAPE, "%s has shape %s, not %s", what, is, wanted);
}
