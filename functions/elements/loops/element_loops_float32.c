/* element_loops_float32.c - the loops of elements.def for float32. */
#include "functions/elements/loops/element_loops.h"

#if defined(__x86_64__)
#define SUFFIX float32_avx2
#define LOOP_KIND __attribute__((target("avx2"))) static
#define ELEMENT float
#define MATH(function) function##f
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT32(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
#define HAS_AVX2
#endif

#define SUFFIX float32
#define ELEMENT float
#define MATH(function) function##f
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT32(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
