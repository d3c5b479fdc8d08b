/* float64_functions.c - float64_functions.inc for numbers: mdf_exp_float64 and its kin, which vectors and generated C agree with.
 */
#include "functions/elements/element_helpers.h"
#include "functions/elements/float64_tables.inc"

#define INLINE static inline
#define ELEMENT double
#define UNSIGNED_OF uint64_t
#define HELPER(function) number_##function
#define ALL(number) (number)
#define CHOOSE(condition, a, b) ((condition) ? (a) : (b))
#define BITS_OF(x) mdf_bits_float64(x)
#define OF_BITS(bits) mdf_of_bits_float64(bits)
#define NOT_ABOVE(limit, x) mdf_not_above_float64(limit, x)
#define NOT_BELOW(limit, x) mdf_not_below_float64(limit, x)
#define SCALE(y, n) number_scale_float64(y, n)
#define TAKE(rows, i) (rows)[i]
#define PATCHED(condition, y, function, x) ((condition) ? function(x) : (y))
#define PATCHED_2(condition, y, function, a, b) ((condition) ? function(a, b) : (y))
#define SQRT(x) sqrt(x)
#include "functions/elements/float64_functions.inc"

#define DEFINITION(function)                   \
    double mdf_##function##_float64(double x)  \
    {                                          \
        return number_##function##_float64(x); \
    }
MDF_FLOAT64_FUNCTION_LIST(DEFINITION)

double mdf_power_float64(double base, double exponent)
{
    return number_power_float64(base, exponent);
}
