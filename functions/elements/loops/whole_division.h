/* whole_division.h - quotients and remainders of int64 numbers in vectors, for element_loops_64.c: processors have no division of
 * whole numbers there, but one of reals, which is as good as long as numbers are not too large. */
#ifndef MDF_FUNCTIONS_ELEMENTS_WHOLE_DIVISION_H
#define MDF_FUNCTIONS_ELEMENTS_WHOLE_DIVISION_H

#include "functions/elements/elementwise.h"

#if defined(__x86_64__)

/* The operands of a loop over int64 elements (elementwise.h), and the loop that computes the same one by one: that is called
 * where a divisor is 0, and for stretches in which a number is not in [-2^51, 2^51). Only where mdf_has_avx2(). */
struct mdf_whole_division {
    void *target;
    const void *const *operands;
    const size_t *steps;
    size_t n;
    const void *settings;
    mdf_loop one_by_one;
};

/* Towards 0; then, rounded down, as numpy and ONNX's Mod have them. False: refused, as by `one_by_one`. */
bool mdf_whole_quotients(const struct mdf_whole_division *division);
bool mdf_whole_remainders(const struct mdf_whole_division *division);
bool mdf_whole_floor_quotients(const struct mdf_whole_division *division);
bool mdf_whole_floor_remainders(const struct mdf_whole_division *division);

#endif

#endif
