/* derivatives.h - what an operator's result hands back to its inputs: one row an input, given as an expression.
 *
 * An expression sees `dy`, the gradient of output 0; `y`, that output; `x0`, `x1`, ... the inputs, None where they are omitted;
 * `x`, the input itself, `xs`, a list of all, and `count`, their number; the operator's attributes under their names, None where
 * not given; and, of functions/python/gradients.c, functions that a model can not name. What it yields is summed to the input's
 * shape afterwards. */
#ifndef MDF_FUNCTIONS_KERNEL_DERIVATIVES_H
#define MDF_FUNCTIONS_KERNEL_DERIVATIVES_H

#include "functions/kernel/operator.h"

enum { MDF_DERIVATIVE_INPUTS = 6, MDF_DERIVATIVE_ANY = -1 };

struct mdf_derivative {
    const char *name;       /* of the operator's row; NULL ends the table */
    int input;              /* its number; MDF_DERIVATIVE_ANY: any */
    const char *expression; /* NULL: nothing, the result does not change with it */
    bool moves; /* the result is elements of the inputs, moved about: there is no expression, the operator itself moves
                   the numbers of the elements */
    bool fills; /* ... and puts something in between that is not an input */
    int until;  /* version; 0: all */
};

/* The row for input `input` of an operator; NULL: there is none. */
const struct mdf_derivative *mdf_derivative_find(const struct mdf_operator *row, int version, size_t input);

#endif
