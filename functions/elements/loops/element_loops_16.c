/* element_loops_16.c - the loops of elements.def for int16 and uint16. */
#include "functions/elements/loops/element_loops.h"

#define SUFFIX int16
#define ELEMENT int16_t
#define QUOTIENTS_IN float
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define SUFFIX uint16
#define ELEMENT uint16_t
#define QUOTIENTS_IN float
#define UNSIGNED_OF uint32_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
