/* numpy_written_out.c - numpy's functions that are others of them: outer vdot vecdot matvec vecmat trace tri diagflat
 * matrix_transpose ptp count_nonzero nansum nanprod trapezoid var std average nanmean nanvar nanstd inner kron cross tensordot
 * diff gradient delete insert pad rot90 take_along_axis nan_to_num cov corrcoef isin isclose allclose array_equal histogram
 * linalg.norm; and what `where` of sums and the order 'F' of numpy.reshape call.
 *
 * Source: numpy 2.4, their documentation. */
#include "functions/python/numpy/written_out.h"
#include "functions/python/python_values.h"

/* Of a function that does not change with an input, or in jumps. */
#define WRITTEN_OUT_FLAT(name, formals, ...) \
    MDF_FUNCTION(name, NULL, 0, formals, .meaning = MDF_MEANING("result", NULL, __VA_ARGS__), .derivatives = mdf_derivatives_flat)

/* Without NaN, in the place of which a number stands that changes nothing. */
#define WITHOUT_NAN(number) "numpy.where(numpy.not_equal(a, a), " #number ", a)"

/* What is joined to rows. */
#define END(end)                                                                                                                \
    "(numpy.broadcast_to(" end ", numpy.append(" SIZES("rows") "[:-1], 1)) if numpy.ndim(" end ") == 0 else numpy.asarray(" end \
                                                               ") if axis is None else numpy.moveaxis(" end ", axis, -1))"
/* What varies as rows of float64. */
#define VARIABLES(array)                                                                                 \
    "numpy.float64(1.0) * (numpy.atleast_2d(" array ") if rowvar is None or rowvar or numpy.ndim(" array \
    ") < 2 else numpy.transpose(" array "))"
#define LIKE(number) "numpy.full_like(array, " number ")"
/* Which elements count. */
#define THOSE "numpy.broadcast_to(where, numpy.shape(a))"
/* Of what a norm adds up. */
#define ADDED(what) "numpy.sum(" what ", axis, keepdims=keepdims)"
/* How many are numbers. */
#define N_NUMBERS "numpy.sum(numpy.where(numpy.not_equal(a, a), 0.0, 1.0), axis, keepdims=keepdims)"

/* "message value= holds=": the value where a truth holds, else an error: a call has no meaning. */
static bool run_refuse(struct mdf_call *call)
{
    bool holds;
    size_t length;

    if (!mdf_python_truth(call, 2, false, &holds)) {
        return false;
    }
    if (!holds) {
        mdf_error_set(&call->context->error, MDF_VALUE, "%s", mdf_python_text(call->inputs[0], &length));
        return false;
    }
    return mdf_python_copy(call, mdf_call_target(call, 0), call->inputs[1]);
}

const struct mdf_operator mdf_operators_python_numpy_written_out[] = {
    MDF_FUNCTION("operator.refuse", run_refuse, 0,
                 "message value= holds=", .derivatives = MDF_DERIVATIVES({1, "dy"}, {MDF_DERIVATIVE_ANY, NULL})),
    WRITTEN_OUT("operator.sum_where", 0,
                "a axis= dtype= keepdims= where=",
                RESULT("numpy.sum(numpy.where(" THOSE ", a, 0), axis, dtype, keepdims=keepdims)")),
    WRITTEN_OUT("operator.prod_where", 0,
                "a axis= dtype= keepdims= where=",
                RESULT("numpy.prod(numpy.where(" THOSE ", a, 1), axis, dtype, keepdims=keepdims)")),
    WRITTEN_OUT("operator.mean_where", 0, "a axis= dtype= keepdims= where=",
                RESULT("numpy.sum(numpy.where(" THOSE ", a, 0), axis, dtype, keepdims=keepdims) / numpy.sum(numpy.where(" THOSE
                       ", numpy.ones_like(a), 0), axis, dtype, keepdims=keepdims)")),
    WRITTEN_OUT_FLAT("operator.any_where",
                     "a axis= keepdims= where=", RESULT("numpy.any(numpy.where(" THOSE ", a, 0), axis, keepdims=keepdims)")),
    WRITTEN_OUT_FLAT("operator.all_where",
                     "a axis= keepdims= where=", RESULT("numpy.all(numpy.where(" THOSE ", a, 1), axis, keepdims=keepdims)")),
    WRITTEN_OUT("operator.ravel_columns", 0, "a", RESULT("numpy.ravel(numpy.transpose(a))")),
    WRITTEN_OUT("operator.reshape_columns", 0, "a shape",
                RESULT("numpy.transpose(numpy.reshape(numpy.transpose(a), numpy.flip(numpy.ravel(shape))))")),
    WRITTEN_OUT("numpy.linalg.norm", 0, "x ord= axis= keepdims=", STEP("reals", "1.0 * numpy.asarray(x)"),
                STEP("n_axes", "numpy.ndim(reals) if axis is None else numpy.size(axis)"),
                RESULT("operator.norm_root(" ADDED("reals * reals") ") if ord is None and (axis is None or n_axes < 3) or n_axes == "
                       "2 and ord == 'fro' else operator.norm_of_lines(numpy.abs(reals), ord, axis, keepdims) if n_axes == 1 else "
                       "operator.norm_of_matrix(numpy.abs(reals), ord, axis, keepdims)")),
    WRITTEN_OUT("operator.norm_of_lines", 0, "x ord axis= keepdims=",
                STEP("order", "operator.refuse('numpy.linalg.norm: of one axis no norm has a name', ord, not (ord == 'fro' or ord == "
                              "'nuc'))"),
                RESULT("numpy.max(x, axis, keepdims=keepdims) if order == math.inf else numpy.min(x, axis, keepdims=keepdims) if "
                       "order == -math.inf else " ADDED("numpy.where(numpy.not_equal(x, 0), numpy.ones_like(x), "
                       "numpy.zeros_like(x))") " if order == 0 else numpy.sum(x, axis, keepdims=keepdims) if order == 1 else "
                       "operator.norm_root(" ADDED("x * x") ") if order == 2 else operator.norm_of_powers(" ADDED("x ** order")
                       ", order)")),
    WRITTEN_OUT("operator.norm_of_powers", 0, "total ord", STEP("is_zero", "(total == 0) & (ord > 0)"),
                RESULT("numpy.where(is_zero, 0.0, numpy.where(is_zero, 1.0, total) ** (1 / ord))")),
    WRITTEN_OUT("operator.norm_of_matrix", 0, "x ord axis= keepdims=",
                STEP("kind", "operator.refuse('numpy.linalg.norm: norms are those of vectors or matrices, not of more axes', 0 if ord "
                             "== 1 or ord == -1 else 1, (numpy.ndim(x) if axis is None else numpy.size(axis)) < 3)"),
                STEP("along", "operator.refuse('numpy.linalg.norm: norms of matrices are those of one, of order 1, -1, inf, -inf or "
                              "fro', kind, axis is None and (ord == 1 or ord == -1 or ord == math.inf or ord == -math.inf))"),
                STEP("sums", "numpy.sum(x, along, keepdims=True)"),
                RESULT("numpy.max(sums, None, keepdims=keepdims) if ord > 0 else numpy.min(sums, None, keepdims=keepdims)")),
    /* How many lie in each bin, the last of which has both its ends; and the ends of all. */
    WRITTEN_OUT(
        "numpy.histogram", 0, "a bins= range= density= weights=", STEP("n", "10 if bins is None else bins"),
        STEP("low", "0.0 if numpy.ndim(n) > 0 else 1.0 * numpy.min(a) if range is None else 1.0 * range[0]"),
        STEP("high", "0.0 if numpy.ndim(n) > 0 else 1.0 * numpy.max(a) if range is None else 1.0 * range[1]"),
        STEP("apart", "numpy.where(low == high, 0.5, 0.0)"),
        STEP("ends", "numpy.asarray(n) if numpy.ndim(n) > 0 else numpy.linspace(low - apart, high + apart, n + 1)"),
        STEP("edges",
             "operator.refuse('numpy.histogram: the ends of bins are not finite, or go down', ends, numpy.all(ends[1:] >= "
             "ends[:-1]))"),
        STEP("order", "None if weights is None else numpy.argsort(numpy.ravel(a))"),
        STEP("sorted", "numpy.sort(numpy.ravel(a)) if weights is None else numpy.take(numpy.ravel(a), order)"),
        STEP("places", "numpy.append(numpy.searchsorted(sorted, edges[:-1], 'left'), numpy.searchsorted(sorted, edges[-1:], "
                       "'right'))"),
        STEP("counts", "numpy.diff(places if weights is None else numpy.take(numpy.append(0, "
                       "numpy.cumsum(numpy.take(numpy.ravel(weights), order))), places))"),
        RESULT("[counts if density is None or not density else counts / numpy.diff(edges) / numpy.sum(counts), edges]")),
    WRITTEN_OUT("numpy.outer", 0, "a b", RESULT("numpy.expand_dims(numpy.ravel(a), 1) * numpy.ravel(b)")),
    WRITTEN_OUT("numpy.vdot", 0, "a b", RESULT("numpy.dot(numpy.ravel(a), numpy.ravel(b))")),
    WRITTEN_OUT("numpy.vecdot", 0, "x1 x2",
                STEP("products", "numpy.multiply(numpy.asarray(x1)[..., :], numpy.asarray(x2)[..., :])"),
                RESULT("numpy.sum(products, -1, products.dtype)")),
    WRITTEN_OUT("numpy.matvec", 0, "x1 x2", RESULT("numpy.squeeze(numpy.matmul(x1, numpy.expand_dims(x2, -1)), -1)")),
    WRITTEN_OUT("numpy.vecmat", 0, "x1 x2", RESULT("numpy.squeeze(numpy.matmul(numpy.expand_dims(x1, -2), x2), -2)")),
    WRITTEN_OUT("numpy.trace", MDF_OPERATOR_METHOD,
                "a offset=", RESULT("numpy.sum(numpy.diagonal(a, 0 if offset is None else offset), -1)")),
    WRITTEN_OUT_FLAT("numpy.tri", "N M= k=", RESULT("numpy.tril(numpy.ones([N, N if M is None else M]), 0 if k is None else k)")),
    WRITTEN_OUT("numpy.diagflat", 0, "v k=", RESULT("numpy.diag(numpy.ravel(v), 0 if k is None else k)")),
    WRITTEN_OUT("numpy.matrix_transpose", 0, "x", RESULT("numpy.swapaxes(x, -1, -2)")),
    WRITTEN_OUT("numpy.ptp", 0, "a axis= keepdims=!",
                RESULT("numpy.subtract(numpy.max(a, axis, keepdims=keepdims), numpy.min(a, axis, keepdims=keepdims))")),
    WRITTEN_OUT_FLAT("numpy.count_nonzero",
                     "a axis= keepdims=!", RESULT("numpy.sum(numpy.not_equal(a, 0), axis, keepdims=keepdims)")),
    WRITTEN_OUT("numpy.nansum", 0, "a axis= dtype= keepdims=!",
                RESULT("numpy.sum(" WITHOUT_NAN(0) ", axis, dtype, keepdims=keepdims)")),
    WRITTEN_OUT("numpy.nanprod", 0, "a axis= dtype= keepdims=!",
                RESULT("numpy.prod(" WITHOUT_NAN(1) ", axis, dtype, keepdims=keepdims)")),
    WRITTEN_OUT(
        "numpy.trapezoid", 0, "y x= dx= axis=", STEP("rows", "numpy.asarray(y) if axis is None else numpy.moveaxis(y, axis, -1)"),
        STEP("places",
             "None if x is None else numpy.asarray(x) if axis is None or numpy.ndim(x) < 2 else numpy.moveaxis(x, axis, -1)"),
        STEP("apart", "places[..., 1:] - places[..., :-1] if x is not None else 1.0 if dx is None else dx"),
        RESULT("numpy.sum(apart * (rows[..., 1:] + rows[..., :-1]) / 2.0, -1)")),
    WRITTEN_OUT("numpy.var", MDF_OPERATOR_METHOD, "a axis= dtype= ddof=! keepdims=", STEP("reals", "numpy.multiply(a, 1.0)"),
                STEP("apart", "reals - numpy.mean(reals, axis, dtype, keepdims=True)"),
                STEP("total", "numpy.sum(apart * apart, axis, dtype, keepdims=keepdims)"),
                RESULT("total / max(numpy.size(a) / max(numpy.size(total), 1) - (0.0 if ddof is None else ddof), 0.0)")),
    WRITTEN_OUT(
        "numpy.average", 0, "a axis= weights= keepdims=!",
        STEP("share",
             "None if weights is None else weights if numpy.shape(weights) == numpy.shape(a) else "
             "numpy.moveaxis(numpy.reshape(weights, numpy.append(numpy.shape(a)[axis], [1] * (numpy.ndim(a) - 1))), 0, axis)"),
        STEP("total",
             "None if weights is None else numpy.sum(numpy.multiply(numpy.ones_like(a), share), axis, keepdims=keepdims)"),
        RESULT("numpy.mean(a, axis, keepdims=keepdims) if weights is None else numpy.sum(numpy.multiply(a, share), axis, "
               "keepdims=keepdims) / total * (1.0 / float(numpy.all(total)))")),
    WRITTEN_OUT("numpy.nanmean", 0,
                "a axis= dtype= keepdims=!",
                RESULT("numpy.sum(" WITHOUT_NAN(0) ", axis, dtype, keepdims=keepdims) / " N_NUMBERS "")),
    WRITTEN_OUT("numpy.nanvar", 0, "a axis= dtype= ddof=! keepdims=", STEP("reals", "numpy.multiply(a, 1.0)"),
                STEP("apart",
                     "numpy.where(numpy.not_equal(a, a), 0.0, reals - numpy.nanmean(reals, axis, dtype, keepdims=True))"),
                STEP("total", "numpy.sum(apart * apart, axis, dtype, keepdims=keepdims)"),
                STEP("freedom", N_NUMBERS " - (0.0 if ddof is None else ddof)"),
                RESULT("total / numpy.where(freedom > 0, freedom, numpy.nan)")),
    MDF_FUNCTION("numpy.std", NULL, MDF_OPERATOR_METHOD, "a axis= dtype= ddof=! keepdims=",
                 .meaning = MDF_MEANING("result", NULL, 
                                        RESULT("operator.norm_root(numpy.var(a, axis, dtype, ddof=ddof, keepdims=keepdims))")),
                 .called = " sd "),
    WRITTEN_OUT("numpy.nanstd", 0,
                "a axis= dtype= ddof=! keepdims=", RESULT("operator.norm_root(numpy.nanvar(a, axis, dtype, ddof=ddof, keepdims=keepdims))")),
    WRITTEN_OUT("numpy.inner", 0, "a b",
                RESULT("numpy.dot(a, b if numpy.ndim(a) == 0 or numpy.ndim(b) < 2 else numpy.matrix_transpose(b))")),
    WRITTEN_OUT("numpy.kron", 0, "a b", STEP("n", "max(numpy.ndim(a), numpy.ndim(b))"),
                STEP("left", "numpy.expand_dims(a, numpy.append(numpy.arange(2 * (n - numpy.ndim(a))), 2 * numpy.arange(n - "
                             "numpy.ndim(a), n) + 1))"),
                STEP("all",
                     "left * numpy.expand_dims(b, numpy.append(numpy.arange(2 * (n - numpy.ndim(b))), 2 * numpy.arange(n - "
                     "numpy.ndim(b), n)))"),
                RESULT("numpy.reshape(all, numpy.prod(numpy.reshape(" SIZES("all") ", [n, 2]), 1))")),
    WRITTEN_OUT("numpy.cross", 0, "a b", STEP("u", "numpy.reshape(a, numpy.append(" SIZES("a") "[:-1], 3))"),
                STEP("v", "numpy.reshape(b, numpy.append(" SIZES("b") "[:-1], 3))"),
                RESULT("numpy.roll(u, -1, -1) * numpy.roll(v, 1, -1) - numpy.roll(u, 1, -1) * numpy.roll(v, -1, -1)")),
    /* That the sizes of both fit is seen from either side, as 1 would be broadcast. */
    WRITTEN_OUT(
        "numpy.tensordot", 0,
        "a b axes=", STEP("n", "2 if axes is None else axes if numpy.ndim(axes) == 0 else numpy.size(axes[0])"),
        STEP("left",
             "a if axes is None or numpy.ndim(axes) == 0 else numpy.moveaxis(a, numpy.asarray(axes[0]), numpy.arange(-n, 0))"),
        STEP("right",
             "b if axes is None or numpy.ndim(axes) == 0 else numpy.moveaxis(b, numpy.asarray(axes[1]), numpy.arange(n))"),
        STEP("rows", SIZES("left") "[:numpy.ndim(a) - n]"), STEP("columns", SIZES("right") "[n:]"),
        STEP("summed", SIZES("left") "[numpy.ndim(a) - n:]"),
        STEP("first", "numpy.broadcast_to(left, numpy.append(rows, " SIZES("right") "[:n]))"),
        STEP("second", "numpy.broadcast_to(right, numpy.append(summed, columns))"),
        STEP("product", "numpy.matmul(numpy.reshape(first, [numpy.prod(rows), numpy.prod(summed)]), "
                        "numpy.reshape(second, [numpy.prod(summed), numpy.prod(columns)]))"),
        RESULT("numpy.reshape(product, numpy.append(rows, columns))")),
    WRITTEN_OUT(
        "numpy.diff", 0,
        "a n= axis= prepend= append=", STEP("rows", "numpy.asarray(a) if axis is None else numpy.moveaxis(a, axis, -1)"),
        STEP("before", "None if prepend is None else " END("prepend")),
        STEP("behind", "None if append is None else " END("append")),
        STEP("tail", "rows if append is None else numpy.concatenate([rows, behind], -1)"),
        STEP("whole", "tail if prepend is None else numpy.concatenate([before, tail], -1)"),
        STEP("once", "whole[..., 1:] != whole[..., :-1] if whole.dtype == 'bool' else whole[..., 1:] - whole[..., :-1]"),
        STEP("all",
             "rows if n == 0 else once if n is None or n == 1 else numpy.diff(once) if n == 2 else numpy.diff(once, 2) if n "
             "== 3 else numpy.diff(once, 3) if n == 4 else operator.refuse('numpy.diff: the order is 0 to 4')"),
        RESULT("all if axis is None else numpy.moveaxis(all, -1, axis)")),
    /* Of one axis, whose places have one distance. */
    WRITTEN_OUT("numpy.gradient", 0, "f spacing= axis=!",
                STEP("rows", "numpy.multiply(numpy.transpose(f, [0]) if axis is None else numpy.moveaxis(f, axis, -1), 1.0)"),
                STEP("h", "1.0 if spacing is None else float(spacing)"),
                STEP("first", "numpy.expand_dims(rows[..., 1] - rows[..., 0], -1) / h"),
                STEP("last", "numpy.expand_dims(rows[..., -1] - rows[..., -2], -1) / h"),
                STEP("all", "numpy.concatenate([first, (rows[..., 2:] - rows[..., :-2]) / (2.0 * h), last], -1)"),
                RESULT("all if axis is None else numpy.moveaxis(all, -1, axis)")),
    WRITTEN_OUT("numpy.delete", 0,
                "arr obj axis=", STEP("rows", "numpy.ravel(arr) if axis is None else numpy.moveaxis(arr, axis, -1)"),
                STEP("place", "numpy.arange(numpy.shape(rows)[-1])[obj]"),
                STEP("rest", "numpy.concatenate([rows[..., :place], rows[..., place + 1:]], -1)"),
                RESULT("rest if axis is None else numpy.moveaxis(rest, -1, axis)")),
    WRITTEN_OUT(
        "numpy.insert", 0, "arr obj values axis=",
        STEP("rest",
             "operator.insert(numpy.ravel(arr) if axis is None else numpy.moveaxis(arr, axis, 0), numpy.asarray(values), obj)"),
        RESULT("rest if axis is None else numpy.moveaxis(rest, 0, axis)")),
    WRITTEN_OUT(
        "numpy.pad", 0, "array pad_width mode= constant_values=!",
        STEP("fills", "numpy.asarray(False if constant_values is None else constant_values)"),
        RESULT("operator.pad(array, fills, pad_width, 'constant' if mode is None else mode) if constant_values is None or "
               "mode is None or mode == 'constant' else operator.refuse('numpy.pad: this mode takes no constant_values')")),
    /* The axes stand in front meanwhile. Turns that are a number in the text are chosen when that is compiled. */
    WRITTEN_OUT("numpy.rot90", 0, "m k= axes=", STEP("plane", "[0, 1] if axes is None else axes"),
                STEP("by", "1 if k is None else k"), STEP("turns", "by if by == 0 or by == 1 or by == 2 or by == 3 else by % 4"),
                STEP("front", "numpy.moveaxis(m, plane, [0, 1])"),
                STEP("turned", "front if turns == 0 else numpy.swapaxes(numpy.flip(front, 1), 0, 1) if turns == 1 else "
                               "numpy.flip(front, [0, 1]) if turns == 2 else numpy.flip(numpy.swapaxes(front, 0, 1), 1)"),
                RESULT("numpy.moveaxis(turned, [0, 1], plane)")),
    /* By the numbers of elements: those at the beginning of the axis, and how far the others lie behind. */
    WRITTEN_OUT(
        "numpy.take_along_axis", 0, "arr indices axis", STEP("rows", "numpy.ravel(arr) if axis is None else numpy.asarray(arr)"),
        STEP("at", "numpy.arange(numpy.ndim(rows))[0 if axis is None else axis]"),
        STEP("numbers", "numpy.reshape(numpy.arange(numpy.size(rows)), numpy.shape(rows))"),
        STEP("far", "numpy.prod(" SIZES("rows") "[at + 1:])"),
        STEP("row", "numpy.ravel(indices) if numpy.ndim(indices) == numpy.ndim(rows) else "
                    "operator.refuse('numpy.take_along_axis: the indices have another number of axes')"),
        STEP("places", "far * numpy.reshape(numpy.take(numpy.arange(numpy.shape(rows)[at]), row), numpy.shape(indices)) + "
                       "numpy.take(numbers, [0], at)"),
        RESULT("numpy.reshape(numpy.take(numpy.ravel(rows), numpy.ravel(places)), numpy.shape(places))")),
    /* All of one type, which chooses between numbers alone: ONNX's Gradient goes through no choice between arrays. */
    WRITTEN_OUT("numpy.nan_to_num", 0, "x copy=* nan= posinf= neginf=", STEP("array", "numpy.asarray(x)"),
                STEP("type", "array.dtype"),
                STEP("largest",
                     "65504.0 if type == 'float16' else 3.3895313892515355e38 if type == 'bfloat16' else 3.4028234663852886e38 "
                     "if type == 'float32' else 1.7976931348623157e308 if type == 'float64' else 0"),
                STEP("raised", "numpy.where(array == -math.inf, " LIKE("-largest if neginf is None else neginf") ", array)"),
                STEP("finite", "numpy.where(array == math.inf, " LIKE("largest if posinf is None else posinf") ", raised)"),
                RESULT("numpy.where(array != array, " LIKE("0 if nan is None else nan") ", finite)")),
    WRITTEN_OUT(
        "numpy.cov", 0, "m y= rowvar= bias= ddof=", STEP("own", VARIABLES("m")),
        STEP("all", "own if y is None else numpy.concatenate([own, " VARIABLES("y") "], 0)"),
        STEP("apart", "all - numpy.mean(all, 1, keepdims=True)"),
        STEP("freedom", "numpy.shape(all)[1] - (ddof if ddof is not None else 0 if bias else 1)"),
        RESULT("numpy.squeeze(numpy.matmul(apart, numpy.transpose(apart, [1, 0])) * numpy.divide(1.0, max(freedom, 0)))")),
    WRITTEN_OUT("numpy.corrcoef", 0, "x y= rowvar=", STEP("c", "numpy.cov(x, y, rowvar)"),
                STEP("wide", "numpy.sqrt(numpy.diag(numpy.atleast_2d(c)))"),
                RESULT("c / c if numpy.ndim(c) == 0 else numpy.clip(c / numpy.expand_dims(wide, 1) / wide, -1.0, 1.0)")),
    WRITTEN_OUT_FLAT("numpy.isin", "element test_elements assume_unique=* invert=",
                     STEP("found", "numpy.any(numpy.equal(numpy.expand_dims(element, -1), numpy.ravel(test_elements)), -1)"),
                     RESULT("found if invert is None else numpy.not_equal(found, invert)")),
    WRITTEN_OUT_FLAT(
        "numpy.isclose", "a b rtol= atol= equal_nan=", STEP("x", "numpy.astype(a, 'float64')"),
        STEP("y", "numpy.astype(b, 'float64')"),
        STEP("apart", "(1e-8 if atol is None else atol) + (1e-5 if rtol is None else rtol) * numpy.abs(y)"),
        STEP("close", "numpy.where(numpy.isfinite(y), numpy.less_equal(numpy.abs(x - y), apart), numpy.equal(x, y))"),
        RESULT("close if equal_nan is None or not equal_nan else numpy.logical_or(close, numpy.isnan(x) & numpy.isnan(y))")),
    WRITTEN_OUT_FLAT("numpy.allclose",
                     "a b rtol= atol= equal_nan=", RESULT("numpy.all(numpy.isclose(a, b, rtol, atol, equal_nan))")),
    WRITTEN_OUT_FLAT("numpy.array_equal", "a1 a2",
                     RESULT("numpy.all(numpy.equal(a1, a2)) if numpy.shape(a1) == numpy.shape(a2) else False")),
    {NULL}};
