/* element_loops_reals.c - the loops of elements.def for float32 and float64. */
#include "functions/elements/loops/element_loops.h"

#define SUFFIX float32
#define ELEMENT float
#define MATH(function) function##f
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT32(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#if defined(__x86_64__)
#define SUFFIX float64_avx2
#define LOOP_KIND __attribute__((target("avx2"))) static
#define ELEMENT double
#define MATH(function) function
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT64(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
#define HAS_AVX2
#endif

#define SUFFIX float64
#define ELEMENT double
#define MATH(function) function
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT64(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
