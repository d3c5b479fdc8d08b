/* numpy_products.h - products of arrays. */
#ifndef MDF_FUNCTIONS_NUMPY_PRODUCTS_H
#define MDF_FUNCTIONS_NUMPY_PRODUCTS_H

#include "functions/python/python_values.h"

/* `target` becomes numpy.matmul of two arrays of any numeric types. It is none of them, and no operand slot. */
bool mdf_numpy_matmul(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b);

#endif
