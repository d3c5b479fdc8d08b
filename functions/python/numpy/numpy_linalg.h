/* numpy_linalg.h - what numpy.linalg has for operators of ONNX. */
#ifndef MDF_FUNCTIONS_NUMPY_LINALG_H
#define MDF_FUNCTIONS_NUMPY_LINALG_H

#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"

/* The inverses of matrices of n rows, which are used up. False, with the error set: one has none. */
bool mdf_invert(struct mdf_call *call, double *matrices, double *inverses, size_t n, size_t n_matrices);
/* The same in C, of a call that gives those of its first input. */
extern const struct mdf_routine mdf_inverse_routine;
#define MDF_INVERSE_DERIVATIVES \
    MDF_DERIVATIVES({0, "-numpy.matmul(gradient.turn(y, True), numpy.matmul(dy, gradient.turn(y, True)))"})

#endif
