/* derivatives.h - what an operator's result hands back to its inputs: one row an input, given as an expression.
 *
 * An expression sees `dy`, the gradient of output 0; `y`, that output, `y1`, ... the others; `x0`, `x1`, ... the inputs, None
 * where they are omitted; `x`, the input itself, `xs`, a list of all, and `count`, their number; the operator's attributes under
 * their names, None where not given; and, of functions/python/gradients.c, functions that a model can not name. What it yields is
 * summed to the input's shape afterwards. Where a function has a corner, the derivative is one of those of its sides, as in the
 * usual engines: that of Relu and of Abs at 0 is 0. Of several equal largest elements each gets the same share.
 *
 * "self(a, b, ...)" is the operator itself, with its attributes, on other inputs (output 0; "self1": output 1); "places(...)" the
 * helper of its meaning.
 *
 * An operator has rows of its own, or those of its element. One that moves elements needs none: it moves their numbers. One whose
 * meaning is given by expressions (struct mdf_meaning) needs none either: these are derived. */
#ifndef MDF_FUNCTIONS_KERNEL_DERIVATIVES_H
#define MDF_FUNCTIONS_KERNEL_DERIVATIVES_H

#include "functions/kernel/operator.h"

enum { MDF_DERIVATIVE_INPUTS = 10 };

/* Rows of operators whose result does not change with any input; of those that give input 0 another shape; of products of
 * matrices; of limits that are inputs 1 and 2. */
extern const struct mdf_derivative mdf_derivatives_flat[], mdf_derivatives_reshaped[], mdf_derivatives_matmul[],
    mdf_derivatives_clip[];

/* No rows: the result is a list, whose items are elements of the inputs in other places. */
extern const struct mdf_derivative mdf_derivatives_parts[];

/* The row for input `input` of an operator with these attributes; NULL: there is none. */
const struct mdf_derivative *mdf_derivative_find(const struct mdf_operator *row, const void *settings, size_t input);

#endif
