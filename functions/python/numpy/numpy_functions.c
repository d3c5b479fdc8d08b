/* numpy_functions.c - numpy's functions of reals: sin exp log arctan2 hypot ...; floor ceil trunc rint; heaviside sinc: functions
 * of elements.def.
 *
 * Whole numbers become reals first. Errors of domain give NaN or an infinity. Source: numpy 2.4, "Mathematical functions". */
#include "functions/elements/element.h"
#include "functions/python/ufunc.h"

/* Halves are computed as float32, whose neighbours lie nearer. */
static bool run_next_after(struct mdf_call *call)
{
    mdf_dtype dtype = mdf_ufunc_of_reals(call) ? (mdf_dtype)mdf_call_target(call, 0)->dtype : MDF_DTYPE_NONE;

    return dtype != MDF_DTYPE_NONE &&
           (mdf_dtype_size(dtype) > 2 ||
            mdf_call_error(call, MDF_UNSUPPORTED, "%s is not supported: use float32", mdf_dtype_name(dtype)));
}

const struct mdf_operator mdf_operators_python_numpy_functions[] = {
    MDF_FUNCTION("numpy.cbrt", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(cube_root)),
    MDF_FUNCTION("numpy.exp", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(exponential)),
    MDF_FUNCTION("numpy.exp2", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(exponential_base_two)),
    MDF_FUNCTION("numpy.expm1", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(exponential_minus_one)),
    MDF_FUNCTION("numpy.log", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(logarithm), .called = " ln "),
    MDF_FUNCTION("numpy.log2", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(logarithm_base_two)),
    MDF_FUNCTION("numpy.log10", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(logarithm_base_ten), .called = " lg "),
    MDF_FUNCTION("numpy.log1p", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(logarithm_of_one_more)),
    MDF_FUNCTION("numpy.sin", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(sine)),
    MDF_FUNCTION("numpy.cos", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(cosine)),
    MDF_FUNCTION("numpy.tan", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(tangent), .called = " tg "),
    MDF_FUNCTION("numpy.arcsin", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_sine)),
    MDF_FUNCTION("numpy.asin", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_sine)),
    MDF_FUNCTION("numpy.arccos", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_cosine)),
    MDF_FUNCTION("numpy.acos", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_cosine)),
    MDF_FUNCTION("numpy.arctan", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_tangent)),
    MDF_FUNCTION("numpy.atan", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_tangent)),
    MDF_FUNCTION("numpy.sinh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(sine_hyperbolic)),
    MDF_FUNCTION("numpy.cosh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(cosine_hyperbolic)),
    MDF_FUNCTION("numpy.tanh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(tangent_hyperbolic)),
    MDF_FUNCTION("numpy.arcsinh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_sine_hyperbolic)),
    MDF_FUNCTION("numpy.asinh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_sine_hyperbolic)),
    MDF_FUNCTION("numpy.arccosh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_cosine_hyperbolic)),
    MDF_FUNCTION("numpy.acosh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_cosine_hyperbolic)),
    MDF_FUNCTION("numpy.arctanh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_tangent_hyperbolic)),
    MDF_FUNCTION("numpy.atanh", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(arc_tangent_hyperbolic)),
    MDF_FUNCTION("numpy.fabs", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(absolute)),
    MDF_FUNCTION("numpy.degrees", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(degrees)),
    MDF_FUNCTION("numpy.rad2deg", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(degrees)),
    MDF_FUNCTION("numpy.radians", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(radians)),
    MDF_FUNCTION("numpy.deg2rad", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(radians)),
    MDF_FUNCTION("numpy.rint", mdf_ufunc_of_reals, 0, "x", MDF_ELEMENT(nearest)),
    MDF_FUNCTION("numpy.floor", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(floor)),
    MDF_FUNCTION("numpy.ceil", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(ceiling)),
    MDF_FUNCTION("numpy.trunc", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(truncated)),
    MDF_FUNCTION("numpy.fix", mdf_ufunc_of_shared, 0, "x", MDF_ELEMENT(truncated)),
    MDF_FUNCTION("numpy.sinc", mdf_ufunc_of_quotient, 0, "x", MDF_ELEMENT(cardinal_sine)),
    MDF_FUNCTION("numpy.arctan2", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(arc_tangent_of_two)),
    MDF_FUNCTION("numpy.atan2", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(arc_tangent_of_two)),
    MDF_FUNCTION("numpy.hypot", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(hypotenuse)),
    MDF_FUNCTION("numpy.copysign", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(copy_sign)),
    MDF_FUNCTION("numpy.nextafter", run_next_after, 0, "x1 x2", MDF_ELEMENT(next_after)),
    MDF_FUNCTION("numpy.heaviside", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(step), .called = " step "),
    MDF_FUNCTION("numpy.logaddexp", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(log_sum)),
    MDF_FUNCTION("numpy.logaddexp2", mdf_ufunc_of_reals, 0, "x1 x2", MDF_ELEMENT(log2_sum)),
    {NULL}};
