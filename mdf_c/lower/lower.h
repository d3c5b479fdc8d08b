/* lower.h - makes the lowered form (lowered.h) of instructions of a frame. */
#ifndef MDF_LOWER_LOWER_H
#define MDF_LOWER_LOWER_H

#include "mdf_c/code/code.h"
#include "mdf_c/lower/lowered.h"

struct mdf_lowering_range {
    size_t first, end; /* instructions [first, end) */
};

struct mdf_lowering_request {
    struct mdf_frame *frame;                 /* its values that go in are all there */
    const struct mdf_lowering_range *ranges; /* run one after the other */
    size_t n_ranges;
    /* For each slot of the frame's code, whether anything but these instructions looks at it; NULL: at all. */
    const bool *is_observed;
};

/* Lowers instructions. What a kernel makes of types and shapes is found out by running it, once, on the values that are there; so
 * the cost is that of one run and some microseconds. NULL: they can not be lowered; *why says in a few words why not ("a list").
 */
struct mdf_lowered *mdf_lower(const struct mdf_lowering_request *request, const char **why);

#endif
