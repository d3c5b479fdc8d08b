/* limited_broadcast.h - the broadcasting of ONNX before opset 7: the second operand is stretched, where the attribute
 * `broadcast` says so, and its axes stand at the end of the first one's, or from the attribute `axis` on. */
#ifndef MDF_FUNCTIONS_ELEMENTS_LIMITED_BROADCAST_H
#define MDF_FUNCTIONS_ELEMENTS_LIMITED_BROADCAST_H

#include "functions/elements/elementwise.h"
#include "functions/kernel/operator.h"

struct mdf_limited_broadcast {
    int64_t axis, broadcast;
};
extern const struct mdf_setting mdf_limited_broadcast_settings[];

/* Output 0 becomes the operation's result on inputs 0 and 1; call->settings is a struct mdf_limited_broadcast. */
bool mdf_limited_broadcast_call(struct mdf_call *call, const struct mdf_operation *operation);

/* `view` becomes an array that borrows the elements of `b`, its axes put at `axis` of an array `a`, the other axes having size 1.
 * False, with the error set, where its sizes are not those of `a` (or 1) there. Uses scratch value 2. */
bool mdf_align_axes(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, size_t axis,
                    struct mdf_value *view);

#endif
