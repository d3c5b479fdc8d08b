/* epilogue.h - limits (Relu, Clip) put on the result of a call, which its kernel may do before it writes that.
 *
 * The evaluator hangs them on call->epilogue where nothing else reads the result. A kernel that can asks mdf_epilogue_begin once
 * its output is made, and writes its elements, limited, to mdf_epilogue_result instead. The bits are those of the operation by
 * itself; where it is not done it is left to its own call. */
#ifndef MDF_FUNCTIONS_ELEMENTS_EPILOGUE_H
#define MDF_FUNCTIONS_ELEMENTS_EPILOGUE_H

#include "functions/elements/elementwise.h"

struct mdf_epilogue {
    struct mdf_value *target;
    mdf_dtype dtype; /* FLOAT32 or FLOAT64 */
    struct mdf_limits limits;
    bool is_done; /* in this run of the call */
    void *result; /* elements of the target */
    union {
        float float32[3];
        double float64[3];
    } elements; /* low, high, zero */
};

/* Readies the operation that follows output 0 of the call, and says that it is done, where the output's type allows it. NULL:
 * there is none, or memory ran out, and the kernel need do nothing. */
struct mdf_epilogue *mdf_epilogue_begin(struct mdf_call *call);

/* Where the kernel writes its elements. */
static inline void *mdf_epilogue_result(const struct mdf_epilogue *epilogue)
{
    return epilogue->result;
}

/* Three elements of the type, low, high and zero, to be put on x so: x < low ? low : x, of that x > high ? high : x, plus zero.
 */
static inline const void *mdf_epilogue_limits(const struct mdf_epilogue *epilogue)
{
    return &epilogue->elements;
}

#endif
