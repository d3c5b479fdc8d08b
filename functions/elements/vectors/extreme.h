/* extreme.h - of vectors `x` and `y`, elements of x where they are the larger, or the smaller, or NaN, else those of y.
 *
 * The instructions yield their second operand where one is NaN: where x is one, they are left out. which: max or min; kind: ps or
 * pd; type: of the vectors. */
#ifndef MDF_FUNCTIONS_ELEMENTS_EXTREME_H
#define MDF_FUNCTIONS_ELEMENTS_EXTREME_H

#if defined(__x86_64__)
#include <immintrin.h>

#define MDF_EXTREME_512(which, kind, type, x, y) \
    _mm512_mask_##which##_##kind((type)(x), _mm512_cmp_##kind##_mask((type)(x), (type)(x), _CMP_ORD_Q), (type)(x), (type)(y))
#define MDF_EXTREME_256(which, kind, type, x, y)                                   \
    _mm256_blendv_##kind(_mm256_##which##_##kind((type)(x), (type)(y)), (type)(x), \
                         _mm256_cmp_##kind((type)(x), (type)(x), _CMP_UNORD_Q))
#endif

#endif
