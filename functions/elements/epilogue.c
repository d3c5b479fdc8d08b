/* epilogue.c - see epilogue.h. */
#include "functions/elements/epilogue.h"

struct mdf_epilogue *mdf_epilogue_begin(struct mdf_call *call)
{
    const struct mdf_value *made = mdf_call_result(call, 0);
    struct mdf_epilogue *epilogue = call->epilogue;

    if (epilogue == NULL || made == NULL || made->dtype != epilogue->dtype || made->length <= 1) {
        return NULL;
    }
    epilogue->result =
        mdf_value_make_tensor(call->context->memory, epilogue->target, epilogue->dtype, made->rank, mdf_value_shape(made));
    epilogue->is_done = epilogue->result != NULL;
    if (epilogue->dtype == MDF_DTYPE_FLOAT32) {
        epilogue->elements.float32[0] = (float)epilogue->limits.low;
        epilogue->elements.float32[1] = (float)epilogue->limits.high;
        epilogue->elements.float32[2] = (float)epilogue->limits.zero;
    } else {
        epilogue->elements.float64[0] = epilogue->limits.low;
        epilogue->elements.float64[1] = epilogue->limits.high;
        epilogue->elements.float64[2] = epilogue->limits.zero;
    }
    return epilogue->is_done ? epilogue : NULL;
}
