/* element_loops.h - the loops over arrays of the functions of elements.def; for the files of element_loops.c, each of which has
 * those of some types. */
#ifndef MDF_FUNCTIONS_ELEMENTS_ELEMENT_LOOPS_H
#define MDF_FUNCTIONS_ELEMENTS_ELEMENT_LOOPS_H

#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"

#include "mdf_c/base/processor.h"

#include <math.h>

enum { MDF_WORTH_VECTORS = 32 }; /* elements of which wider vectors are asked for */

#define OF_TYPE(id, dtype, loop) \
    bool loop(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings);
#include "functions/elements/loops/element_loops_each.inc"

#define HELPER(name) mdf_##name

#endif
