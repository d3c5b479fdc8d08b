/* lower.h - makes the lowered form (lowered.h) of instructions of a frame. */
#ifndef MDF_LOWER_LOWER_H
#define MDF_LOWER_LOWER_H

#include "mdf_c/code/code.h"
#include "mdf_c/lower/lowered.h"

/* Lowers the instructions [first, end) of a frame, whose values that go in are all there. NULL: they can not be lowered; *why
 * says in a few words why not ("a list", "out of memory"). */
struct mdf_lowered *mdf_lower(struct mdf_frame *frame, size_t first, size_t end, const char **why);

#endif
