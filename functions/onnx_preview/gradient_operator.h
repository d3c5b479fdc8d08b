/* gradient_operator.h - what the operator Gradient is told: which values, by name. */
#ifndef MDF_FUNCTIONS_ONNX_PREVIEW_GRADIENT_OPERATOR_H
#define MDF_FUNCTIONS_ONNX_PREVIEW_GRADIENT_OPERATOR_H

#include "functions/kernel/operator.h"

struct mdf_gradient_settings {
    struct mdf_strings xs, zs; /* the operator's inputs stand for these values, in this order; it yields a gradient by each x */
    const char *y;             /* the value whose gradients they are */
};

#endif
