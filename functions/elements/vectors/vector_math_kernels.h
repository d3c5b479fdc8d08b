/* vector_math_kernels.h - for the files of vector_math.c: one for each kind of vector, and type. */
#ifndef MDF_FUNCTIONS_ELEMENTS_VECTOR_MATH_KERNELS_H
#define MDF_FUNCTIONS_ELEMENTS_VECTOR_MATH_KERNELS_H

#include "functions/elements/float64_tables.inc"
#include "functions/elements/vectors/vector_math.h"
#include "mdf_c/base/processor.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* The loops: their names end with the vectors, and with the type if that is float64. */
#define NAME_FLOAT32(name) name
#define NAME_FLOAT64(name) name##_float64
#define LOOP_IN(id, vectors, kind) \
    bool NAME_##kind(mdf_##id##_loop##_##vectors)(void *, const void *const[], const size_t[], size_t, const void *);
#define VECTORS(id, kind, n_operands, ...) \
    LOOP_IN(id, plain, kind) LOOP_IN(id, avx2, kind) LOOP_IN(id, avx512_half, kind) LOOP_IN(id, avx512, kind)
#include "functions/elements/elements.def"
#undef LOOP_IN

/* The functions of single numbers. */
#define NUMBER_FLOAT32 float
#define NUMBER_FLOAT64 double
#define NUMBER_IN(id, vectors, kind) \
    NUMBER_##kind NAME_##kind(mdf_##id##_number##_##vectors)(NUMBER_##kind, NUMBER_##kind, const void *);
#define VECTORS(id, kind, n_operands, ...) \
    NUMBER_IN(id, plain, kind) NUMBER_IN(id, avx2_few, kind) NUMBER_IN(id, avx512_few, kind)
#include "functions/elements/elements.def"
#undef NUMBER_IN
#undef NUMBER_FLOAT32
#undef NUMBER_FLOAT64
#undef NAME_FLOAT32
#undef NAME_FLOAT64

#if defined(__x86_64__)
extern const struct mdf_vector_math mdf_vector_math_avx512, mdf_vector_math_avx2;
#endif

#endif
