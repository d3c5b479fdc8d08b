/* verify.h - what has to hold of a lowered form (lowered.h, nest.h), checked: between the passes that make it. */
#ifndef MDF_LOWERED_VERIFY_H
#define MDF_LOWERED_VERIFY_H

#include "mdf_c/base/text.h"
#include "mdf_c/lowered/lowered.h"

/* Values are made before they are read, once, where they can be seen, and have the types and sizes that the ops want; nests are
 * as nest.h says. False: something does not hold, and `why` says what, or memory ran out. */
bool mdf_lowered_verify(const struct mdf_lowered *lowered, struct mdf_text *why);

#endif
