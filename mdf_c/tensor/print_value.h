/* print_value.h - values as people look at them in dumps. */
#ifndef MDF_TENSOR_PRINT_VALUE_H
#define MDF_TENSOR_PRINT_VALUE_H

#include "mdf_c/base/text.h"
#include "mdf_c/tensor/value.h"

/* "float64[2,3]"; nothing of the elements. */
void mdf_value_print_form(struct mdf_text *text, const struct mdf_value *value);
/* The same with the first elements of an array: "int64[3] 1 2 3", "float64 0.5", "float64[1000] 0.5 0.25 ...". */
void mdf_value_print(struct mdf_text *text, const struct mdf_value *value);

#endif
