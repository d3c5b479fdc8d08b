/* limited_broadcast.c - see limited_broadcast.h. Source: Add-1 and Add-6 of ONNX. */
#include "functions/elements/limited_broadcast.h"

#include <string.h>

enum { SCRATCH_SHAPE = 2 };

const struct mdf_setting mdf_limited_broadcast_settings[] = {
    {"axis", MDF_SETTING_INT, offsetof(struct mdf_limited_broadcast, axis)},
    {"broadcast", MDF_SETTING_INT, offsetof(struct mdf_limited_broadcast, broadcast)},
    {NULL, MDF_SETTING_INT, 0}};

static bool refuse_shapes(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, const char *why)
{
    char a_text[128], b_text[128];

    mdf_value_describe(a, a_text, sizeof a_text);
    mdf_value_describe(b, b_text, sizeof b_text);
    return mdf_call_error(call, MDF_SHAPE, "%s and %s %s", a_text, b_text, why);
}

bool mdf_align_axes(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, size_t axis,
                    struct mdf_value *view)
{
    const int64_t *a_shape = mdf_value_shape(a), *b_shape = mdf_value_shape(b);
    int64_t *shape = view->shape.sizes;

    if (b->rank > a->rank || axis > a->rank - b->rank) {
        return refuse_shapes(call, a, b, "do not fit: the second has too many axes");
    }
    for (size_t i = 0; i < b->rank; i++) {
        if (b_shape[i] != 1 && b_shape[i] != a_shape[axis + i]) {
            return refuse_shapes(call, a, b, "do not fit from that axis on");
        }
    }
    *view = *b;
    view->buffer = NULL;
    view->rank = a->rank;
    if (a->rank > MDF_INLINE_RANK) {
        shape = mdf_call_scratch(call, SCRATCH_SHAPE, MDF_DTYPE_INT64, a->rank);
        if (shape == NULL) {
            return false;
        }
        view->shape.large = shape;
    }
    for (size_t i = 0; i < a->rank; i++) {
        shape[i] = i < axis || i >= axis + b->rank ? 1 : b_shape[i - axis];
    }
    return true;
}

bool mdf_limited_broadcast_call(struct mdf_call *call, const struct mdf_operation *operation)
{
    const struct mdf_limited_broadcast *given = call->settings;
    const struct mdf_value *a = mdf_call_tensor(call, 0), *b = a != NULL ? mdf_call_tensor(call, 1) : NULL;
    struct mdf_value view, *target = mdf_call_result(call, 0);
    const struct mdf_value *operands[2] = {a, &view};
    size_t axis;

    if (b == NULL) {
        return false;
    }
    if (!mdf_is_set(given->broadcast)) {
        if (!mdf_value_has_shape_of(a, b)) {
            return refuse_shapes(call, a, b, "differ in shape, and the attribute 'broadcast' is 0");
        }
        return mdf_elementwise_call(call, operation, 2, NULL);
    }
    axis = a->rank > b->rank ? a->rank - b->rank : 0;
    if (given->axis != MDF_NOT_GIVEN && b->rank > 0 && !mdf_call_axis(call, given->axis, a->rank, &axis)) {
        return false;
    }
    return mdf_align_axes(call, a, b, axis, &view) &&
           mdf_elementwise(call, target != NULL ? target : &call->scratch[0], operation, 2, operands, NULL);
}
