/* numpy_quantiles.c - numpy's quantiles, written out as others of its functions: median nanmedian quantile percentile
 * nanquantile nanpercentile.
 *
 * What is reduced stands in rows, in ascending order, NaN at the end. Source: numpy 2.4, "Order statistics". */
#include "functions/python/numpy/written_out.h"

/* The axes that are reduced behind the others: sizes of these, and how many elements `m` are reduced. No condition here hangs on
 * a shape or type, or ONNX's Gradient could not go through it. */
#define AXES_BEHIND                                                                                          \
    STEP("n", "numpy.ndim(a) if axis is None else numpy.size(axis)"),                                        \
        STEP("moved", "numpy.asarray(a) if axis is None else numpy.moveaxis(a, axis, numpy.arange(-n, 0))"), \
        STEP("kept", SIZES("moved") "[:numpy.ndim(a) - n]"), STEP("m", "numpy.prod(" SIZES("moved") "[numpy.ndim(a) - n:])")
/* What is reduced, in order, and where each row begins. */
#define ROWS \
    STEP("rows", "numpy.sort(numpy.reshape(moved, [numpy.prod(kept), m]))"), STEP("first", "m * numpy.arange(numpy.prod(kept))")
#define QUANTILES(name, formals, ...) WRITTEN_OUT(name, 0, formals, AXES_BEHIND, ROWS, __VA_ARGS__)
/* The elements at one place or several of each row. */
#define ELEMENTS(places) "numpy.reshape(numpy.take(numpy.ravel(rows), numpy.ravel(" places ")), numpy.shape(" places "))"
#define SHAPED(front, result)                                                \
    STEP("found", result), RESULT("numpy.reshape(found, numpy.append(" front \
                                  ", kept if keepdims is None else " SIZES("numpy.any(a, axis, keepdims=keepdims)") "))")
/* How many elements of a row count, and whether there is a result of it. */
#define ALL_COUNT STEP("count", "m"), STEP("is_there", "rows[:, -1] == rows[:, -1]")
#define NUMBERS_COUNT \
    STEP("numbers", "numpy.sum(rows == rows, -1)"), STEP("count", "numpy.maximum(numbers, 1)"), STEP("is_there", "numbers > 0")

#define IS_BETWEEN "method is None or method == 'linear' or method == 'midpoint'"
#define METHODS ": the method is linear, lower, higher, midpoint or nearest"
/* At a share of the way: one of both elements there, or between them, where numpy's interpolation meets both ends exactly. */
#define QUANTILE(name, whole, counting)                                                                                        \
    QUANTILES(name, "a q axis= method=! keepdims=", counting, STEP("share", "numpy.asarray(q) / " whole),                      \
              STEP("asked", "operator.refuse('" name ": what is asked for is not between 0 and " whole                         \
                            "', numpy.expand_dims(numpy.ravel(share), 1), numpy.all((share >= 0) & (share <= 1)))"),           \
              STEP("at", "asked * (count - 1)"), STEP("below", "first + numpy.astype(numpy.floor(at), 'int64')"),              \
              STEP("above", "first + numpy.astype(numpy.ceil(at), 'int64')"),                                                  \
              STEP("nearest", "first + numpy.astype(numpy.rint(at), 'int64')"),                                                \
              STEP("place", "above if " IS_BETWEEN " or method == 'higher' else below if method == 'lower' else nearest if "   \
                            "method == 'nearest' else operator.refuse('" name METHODS "')"),                                   \
              STEP("element", ELEMENTS("place")), STEP("a_side", "1.0 * " ELEMENTS("below")), STEP("b_side", "1.0 * element"), \
              STEP("part", "0.5 if method == 'midpoint' else at - numpy.floor(at)"),                                           \
              STEP("between", "numpy.where(part >= 0.5, b_side - (b_side - a_side) * (1.0 - part), "                           \
                              "a_side + (b_side - a_side) * part)"),                                                           \
              SHAPED(SIZES("share"),                                                                                           \
                     "numpy.where(is_there, numpy.where(below == above, a_side, between), numpy.nan) if " IS_BETWEEN           \
                     " else numpy.where(is_there, element, numpy.nan) if (element * 1.0).dtype == element.dtype "              \
                     "else element"))

const struct mdf_operator mdf_operators_python_numpy_quantiles[] = {
    WRITTEN_OUT(
        "numpy.median", 0, "a axis= keepdims=!", AXES_BEHIND,
        STEP("ordered", "numpy.sort(numpy.reshape(moved, numpy.append(kept, m)))"),
        STEP("last", "numpy.sum(ordered[..., m - 1:], -1)"),
        STEP("middle", "numpy.where(last == last, numpy.mean(ordered[..., (m - 1) // 2:m // 2 + 1], -1), numpy.nan)"),
        RESULT("middle if keepdims is None else numpy.reshape(middle, numpy.shape(numpy.any(a, axis, keepdims=keepdims)))")),
    /* The mean of those in the middle. */
    QUANTILES("numpy.nanmedian", "a axis= keepdims=!", NUMBERS_COUNT, STEP("below", "first + (count - 1) // 2"),
              STEP("above", "first + count // 2"), STEP("a_side", ELEMENTS("below")), STEP("b_side", ELEMENTS("above")),
              SHAPED("numpy.zeros([0], numpy.int64)", "numpy.where(is_there, numpy.where(below == above, a_side, "
                                                      "(a_side + 1.0 * b_side) / 2.0), numpy.nan)")),
    QUANTILE("numpy.quantile", "1", ALL_COUNT),
    QUANTILE("numpy.percentile", "100", ALL_COUNT),
    QUANTILE("numpy.nanquantile", "1", NUMBERS_COUNT),
    QUANTILE("numpy.nanpercentile", "100", NUMBERS_COUNT),
    {NULL}};
