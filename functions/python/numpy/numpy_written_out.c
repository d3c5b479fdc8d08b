/* numpy_written_out.c - numpy's functions that are others of them: outer vdot vecdot matvec vecmat trace tri diagflat
 * matrix_transpose ptp count_nonzero nansum nanprod trapezoid isin.
 *
 * They have no kernels: a call is compiled to these expressions of its arguments, of which those that are left out are None.
 * Source: numpy 2.4, their documentation. */
#include "functions/kernel/derivatives.h"

#define WRITTEN_OUT(name, flags, formals, ...) \
    MDF_FUNCTION(name, NULL, flags, formals, .meaning = MDF_MEANING("result", NULL, __VA_ARGS__))
/* The same of one that does not change with an input, or in jumps. */
#define WRITTEN_OUT_FLAT(name, formals, ...) \
    MDF_FUNCTION(name, NULL, 0, formals, .meaning = MDF_MEANING("result", NULL, __VA_ARGS__), .derivatives = mdf_derivatives_flat)
#define STEP(name, expression) \
    {                          \
        name, expression, NULL \
    }
#define RESULT(expression) STEP("result", expression)

/* Without NaN, in the place of which a number stands that changes nothing. */
#define WITHOUT_NAN(number) "numpy.where(numpy.isnan(a), " #number ", a)"

const struct mdf_operator mdf_operators_python_numpy_written_out[] = {
    WRITTEN_OUT("numpy.outer", 0, "a b", RESULT("numpy.expand_dims(numpy.ravel(a), 1) * numpy.ravel(b)")),
    WRITTEN_OUT("numpy.vdot", 0, "a b", RESULT("numpy.dot(numpy.ravel(a), numpy.ravel(b))")),
    WRITTEN_OUT("numpy.vecdot", 0, "x1 x2", RESULT("numpy.sum(numpy.multiply(x1, x2), -1)")),
    WRITTEN_OUT("numpy.matvec", 0, "x1 x2", RESULT("numpy.squeeze(numpy.matmul(x1, numpy.expand_dims(x2, -1)), -1)")),
    WRITTEN_OUT("numpy.vecmat", 0, "x1 x2", RESULT("numpy.squeeze(numpy.matmul(numpy.expand_dims(x1, -2), x2), -2)")),
    WRITTEN_OUT("numpy.trace", MDF_OPERATOR_METHOD,
                "a offset=", RESULT("numpy.sum(numpy.diagonal(a, 0 if offset is None else offset), -1)")),
    WRITTEN_OUT_FLAT("numpy.tri", "N M= k=", RESULT("numpy.tril(numpy.ones([N, N if M is None else M]), 0 if k is None else k)")),
    WRITTEN_OUT("numpy.diagflat", 0, "v k=", RESULT("numpy.diag(numpy.ravel(v), 0 if k is None else k)")),
    WRITTEN_OUT("numpy.matrix_transpose", 0, "x", RESULT("numpy.swapaxes(x, -1, -2)")),
    WRITTEN_OUT("numpy.ptp", 0, "a axis= keepdims=",
                RESULT("numpy.subtract(numpy.max(a, axis, keepdims=keepdims), numpy.min(a, axis, keepdims=keepdims))")),
    WRITTEN_OUT_FLAT("numpy.count_nonzero",
                     "a axis= keepdims=", RESULT("numpy.sum(numpy.not_equal(a, 0), axis, keepdims=keepdims)")),
    WRITTEN_OUT("numpy.nansum", 0, "a axis= dtype= keepdims=", RESULT("numpy.sum(" WITHOUT_NAN(0) ", axis, dtype, keepdims)")),
    WRITTEN_OUT("numpy.nanprod", 0, "a axis= dtype= keepdims=", RESULT("numpy.prod(" WITHOUT_NAN(1) ", axis, dtype, keepdims)")),
    WRITTEN_OUT(
        "numpy.trapezoid", 0, "y x= dx= axis=", STEP("rows", "numpy.asarray(y) if axis is None else numpy.moveaxis(y, axis, -1)"),
        STEP("places",
             "None if x is None else numpy.asarray(x) if axis is None or numpy.ndim(x) < 2 else numpy.moveaxis(x, axis, -1)"),
        STEP("apart", "places[..., 1:] - places[..., :-1] if x is not None else 1.0 if dx is None else dx"),
        RESULT("numpy.sum(apart * (rows[..., 1:] + rows[..., :-1]) / 2.0, -1)")),
    WRITTEN_OUT_FLAT("numpy.isin", "element test_elements assume_unique=* invert=",
                     STEP("found", "numpy.any(numpy.equal(numpy.expand_dims(element, -1), numpy.ravel(test_elements)), -1)"),
                     RESULT("found if invert is None else numpy.not_equal(found, invert)")),
    {NULL}};
