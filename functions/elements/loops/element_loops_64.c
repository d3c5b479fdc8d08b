/* element_loops_64.c - the loops of elements.def for int64 and uint64. */
#include "functions/elements/loops/element_loops.h"

#if defined(__x86_64__)
#define SUFFIX int64_avx2
#define LOOP_KIND __attribute__((target("avx2"))) static
#define ELEMENT int64_t
#define UNSIGNED_OF uint64_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
#define HAS_AVX2
#endif

#define SUFFIX int64
#define ELEMENT int64_t
#define UNSIGNED_OF uint64_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define SUFFIX uint64
#define ELEMENT uint64_t
#define UNSIGNED_OF uint64_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
