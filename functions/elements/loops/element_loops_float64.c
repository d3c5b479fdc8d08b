/* element_loops_float64.c - the loops of elements.def for float64. */
#include "functions/elements/loops/element_loops.h"

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
