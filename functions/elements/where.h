/* where.h - elements of one array or of another: the operation behind onnx::Where and numpy.where. */
#ifndef MDF_FUNCTIONS_ELEMENTS_WHERE_H
#define MDF_FUNCTIONS_ELEMENTS_WHERE_H

#include "functions/elements/elementwise.h"

/* Operand 1 where operand 0 (bool) is true, else operand 2; of any one type. */
extern const struct mdf_operation mdf_where;

#endif
