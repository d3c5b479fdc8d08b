/* python_operations.h - Python's operators on values of any kind, for the operator rows and for the builtins that are defined by
 * them.
 *
 * `target` becomes the result; it is no operand and none of the slots for operands (see python_values.h). False with the error
 * set. */
#ifndef MDF_FUNCTIONS_PYTHON_OPERATIONS_H
#define MDF_FUNCTIONS_PYTHON_OPERATIONS_H

#include "functions/python/python_values.h"

bool mdf_python_add(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b);
bool mdf_python_multiply(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b);
bool mdf_python_power(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b);

/* The truth of a == b, a < b. */
bool mdf_python_equal(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, bool *equal);
bool mdf_python_less(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, bool *less);

/* Most items of a list that an expression makes, most bytes of a string. */
enum { MDF_PYTHON_MAX_ITEMS = 10000000, MDF_PYTHON_MAX_TEXT = 100000000 };

#endif
