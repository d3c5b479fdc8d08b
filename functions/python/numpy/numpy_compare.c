/* numpy_compare.c - numpy's comparisons and truths: less equal ... logical_and ... isnan isposinf.
 *
 * Results are bool. Text is compared byte by byte, which is the order of code points. Source: numpy 2.4, "Logic functions". */
#include "functions/elements/element.h"
#include "functions/python/ufunc.h"

const struct mdf_operator mdf_operators_python_numpy_compare[] = {
    MDF_FUNCTION("numpy.less", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(less)),
    MDF_FUNCTION("numpy.less_equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(less_or_equal)),
    MDF_FUNCTION("numpy.greater", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(greater)),
    MDF_FUNCTION("numpy.greater_equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(greater_or_equal)),
    MDF_FUNCTION("numpy.equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(equal)),
    MDF_FUNCTION("numpy.not_equal", mdf_ufunc_of_compared, 0, "x1 x2", MDF_ELEMENT(not_equal)),
    MDF_FUNCTION("numpy.logical_and", mdf_ufunc_of_truths, 0, "x1 x2", MDF_ELEMENT(logical_and)),
    MDF_FUNCTION("numpy.logical_or", mdf_ufunc_of_truths, 0, "x1 x2", MDF_ELEMENT(logical_or)),
    MDF_FUNCTION("numpy.logical_xor", mdf_ufunc_of_truths, 0, "x1 x2", MDF_ELEMENT(logical_xor)),
    MDF_FUNCTION("numpy.logical_not", mdf_ufunc_of_truths, 0, "x", MDF_ELEMENT(negation)),
    MDF_FUNCTION("numpy.isnan", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(is_nan)),
    MDF_FUNCTION("numpy.isinf", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(is_infinite)),
    MDF_FUNCTION("numpy.isfinite", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(is_finite)),
    MDF_FUNCTION("numpy.signbit", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(has_sign)),
    MDF_FUNCTION("numpy.isposinf", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(is_positive_infinity)),
    MDF_FUNCTION("numpy.isneginf", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(is_negative_infinity)),
    {NULL}};
