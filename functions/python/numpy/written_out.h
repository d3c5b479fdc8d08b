/* written_out.h - rows of functions that have no kernels: a call is compiled to expressions of its arguments, of which those that
 * are left out are None. */
#ifndef MDF_FUNCTIONS_PYTHON_NUMPY_WRITTEN_OUT_H
#define MDF_FUNCTIONS_PYTHON_NUMPY_WRITTEN_OUT_H

#include "functions/kernel/derivatives.h"

#define WRITTEN_OUT(name, flags, formals, ...) \
    MDF_FUNCTION(name, NULL, flags, formals, .meaning = MDF_MEANING("result", NULL, __VA_ARGS__))
#define STEP(name, expression) \
    {                          \
        name, expression, NULL \
    }
#define RESULT(expression) STEP("result", expression)

/* The shape as an array. */
#define SIZES(array) "numpy.asarray(numpy.shape(" array "), numpy.int64)"

#endif
