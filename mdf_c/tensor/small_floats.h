/* small_floats.h - what floats of 8 bits and fewer look like. */
#ifndef MDF_TENSOR_SMALL_FLOATS_H
#define MDF_TENSOR_SMALL_FLOATS_H

#include "mdf_c/tensor/dtype.h"

enum { MDF_SMALL_FORMAT = 7 };

/* The format of a type, as small_floats.inc has it; NULL: it is none, or float8_e8m0fnu. */
const int64_t *mdf_small_float_format(mdf_dtype dtype);

#endif
