/* vector_math.h - exp, tanh and their kin of whole arrays of float32 and float64, in the widest vectors that the processor has.
 *
 * An element's result depends on the element alone: it is the same at each place of an array, for any number of elements and on
 * every processor (multiplications and additions of float32 are fused everywhere, where the processor can not by fmaf, which is
 * slow; of float64 nowhere). Bounds of errors are those of docs/elements.md. Infinities, NaN, signed zeros and subnormal numbers
 * come out as from the C library; gelu of -infinity is NaN, as x Phi(x) is. The plain form of each is what the C library has in
 * float64; test_vector_math.c compares. */
#ifndef MDF_FUNCTIONS_ELEMENTS_VECTOR_MATH_H
#define MDF_FUNCTIONS_ELEMENTS_VECTOR_MATH_H

#include "functions/elements/element.h"

enum {
#define VECTORS(id, kind, n_operands, ...) MDF_VECTORS_##id##_##kind,
#include "functions/elements/elements.def"
    MDF_VECTORS_COUNT
};

enum { MDF_EXP_SUM_PARTS = 16 }; /* of exp_sum: element i in part i % 16, whatever the width of vectors; parts in halves */

struct mdf_vector_math {
    mdf_loop loops[MDF_VECTORS_COUNT]; /* of elements.def; `target` may be an operand */
    mdf_number_function numbers[MDF_VECTORS_COUNT];
    /* y = exp(x - shift), if y is not NULL (it may be x), where shift is the largest x, at least of those that are not NaN;
     * returns the sum of these, in an order that depends on n alone. */
    double (*exp_sum)(size_t n, const float *x, float shift, float *y);
    /* The largest element that is not NaN; -infinity where there is none. */
    float (*largest)(size_t n, const float *x);
    void (*multiply)(size_t n, float factor, float *y);                              /* each element */
    void (*subtract)(size_t n, const float *x, float first, float second, float *y); /* y = x - first - second */
};

const struct mdf_vector_math *mdf_vector_math(void);
/* What any processor has. */
extern const struct mdf_vector_math mdf_vector_math_plain;

#endif
