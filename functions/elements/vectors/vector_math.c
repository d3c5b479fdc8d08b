/* vector_math.c - see vector_math.h. */
#include "functions/elements/vectors/vector_math_kernels.h"

const struct mdf_vector_math *mdf_vector_math(void)
{
    return MDF_WIDEST(&mdf_vector_math);
}
