/* element_loops_8.c - the loops of elements.def for int8, uint8 and truth values. */
#include "functions/elements/loops/element_loops.h"

#define SUFFIX int8
#define ELEMENT int8_t
#define QUOTIENTS_IN float
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define SUFFIX uint8
#define ELEMENT uint8_t
#define QUOTIENTS_IN float
#define UNSIGNED_OF uint32_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define SUFFIX bool8
#define ELEMENT uint8_t
#define UNSIGNED_OF uint32_t
#define HAS_BOOL(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
