/* element_loops_64.c - the loops of elements.def for int64 and uint64. */
#include "functions/elements/loops/element_loops.h"
#include "functions/elements/loops/whole_division.h"

#if defined(__x86_64__)
/* Divisions have vectors by hand, and these loops for what they leave. */
#define mdf_element_quotient_int64_avx2 quotient_one_by_one
#define mdf_element_floor_quotient_int64_avx2 floor_quotient_one_by_one
#define mdf_element_floor_remainder_int64_avx2 floor_remainder_one_by_one
#define mdf_element_c_remainder_int64_avx2 c_remainder_one_by_one
#define mdf_element_remainder_int64_avx2 remainder_one_by_one
#define mdf_element_modulo_int64_avx2 modulo_one_by_one
#define SUFFIX int64_avx2
#define LOOP_KIND __attribute__((target("avx2"))) static
#define ELEMENT int64_t
#define UNSIGNED_OF uint64_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"
#undef mdf_element_quotient_int64_avx2
#undef mdf_element_floor_quotient_int64_avx2
#undef mdf_element_floor_remainder_int64_avx2
#undef mdf_element_c_remainder_int64_avx2
#undef mdf_element_remainder_int64_avx2
#undef mdf_element_modulo_int64_avx2
#define DIVISION(id, in_vectors)                                                                                          \
    static bool mdf_element_##id##_int64_avx2(void *target, const void *const operands[], const size_t steps[], size_t n, \
                                              const void *settings)                                                       \
    {                                                                                                                     \
        return in_vectors(&(const struct mdf_whole_division){target, operands, steps, n, settings, id##_one_by_one});     \
    }
DIVISION(quotient, mdf_whole_quotients)
DIVISION(floor_quotient, mdf_whole_floor_quotients)
DIVISION(floor_remainder, mdf_whole_floor_remainders)
DIVISION(c_remainder, mdf_whole_remainders)
DIVISION(remainder, mdf_whole_remainders)
DIVISION(modulo, mdf_whole_floor_remainders)
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
