/* element_loops_32.c - the loops of elements.def for int32 and uint32. */
#include "functions/elements/loops/element_loops.h"

#if defined(__x86_64__)
#define SUFFIX int32_avx2
#define LOOP_KIND __attribute__((target("avx2"))) static
#define ELEMENT int32_t
#define QUOTIENTS_IN double
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
#define HAS_AVX2
#endif

#define SUFFIX int32
#define ELEMENT int32_t
#define QUOTIENTS_IN double
#define UNSIGNED_OF uint32_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define SUFFIX uint32
#define ELEMENT uint32_t
#define UNSIGNED_OF uint32_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
