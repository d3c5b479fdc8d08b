/* follow.c - see follow.h. */
#include "functions/elements/follow.h"

struct mdf_follow *mdf_follow_begin(struct mdf_call *call)
{
    const struct mdf_value *followed = mdf_call_result(call, 0);
    struct mdf_follow *follow = call->follow;

    if (follow == NULL || followed == NULL || followed->dtype != follow->dtype || followed->length <= 1) {
        return NULL;
    }
    follow->result =
        mdf_value_make_tensor(call->context->memory, follow->target, follow->dtype, followed->rank, mdf_value_shape(followed));
    follow->is_done = follow->result != NULL;
    if (follow->dtype == MDF_DTYPE_FLOAT32) {
        follow->elements.float32[0] = (float)follow->limits.low;
        follow->elements.float32[1] = (float)follow->limits.high;
        follow->elements.float32[2] = (float)follow->limits.zero;
    } else {
        follow->elements.float64[0] = follow->limits.low;
        follow->elements.float64[1] = follow->limits.high;
        follow->elements.float64[2] = follow->limits.zero;
    }
    return follow->is_done ? follow : NULL;
}
