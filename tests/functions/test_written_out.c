/* test_written_out.c - functions of expressions that have no kernel, but are written out as others, and einsum: what
 * numpy 2.4 gives. */
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* u: [6, -8, 1], v: [0.5, 3, 1.25], a: [[1, 2], [3, 5]], t: [True, False], n: [0, 2, 0], z: [1, NaN, 4]. */
static const struct {
    const char *expression, *result;
} cases[] = {
    {"numpy.outer(u, a[0])", "[[6.0, 12.0], [-8.0, -16.0], [1.0, 2.0]]"},
    {"numpy.outer(a, 2).shape", "[4, 1]"},
    {"numpy.outer(t, t)", "[[true, false], [false, false]]"},
    {"numpy.vdot(a, a)", "39.0"},
    {"numpy.vecdot(a, a)", "[5.0, 34.0]"},
    {"numpy.matvec(a, u[:2])", "[-10.0, -22.0]"},
    {"numpy.vecmat(u[:2], a)", "[-18.0, -28.0]"},
    {"numpy.trace(a)", "6.0"},
    {"a.trace(1)", "2.0"},
    {"numpy.tri(2, 3, k=1)", "[[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]]"},
    {"numpy.diagflat(a[:1], -1)", "[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]"},
    {"numpy.matrix_transpose(a)", "[[1.0, 3.0], [2.0, 5.0]]"},
    {"numpy.ptp(u)", "14.0"},
    {"numpy.ptp(a, axis=1, keepdims=True)", "[[1.0], [2.0]]"},
    {"numpy.ptp([3, 9, 4])", "6"},
    {"numpy.count_nonzero(n)", "1"},
    {"numpy.count_nonzero([[0, 1], [2, 3]], 0)", "[1, 2]"},
    {"numpy.nansum(z)", "5.0"},
    {"numpy.nansum([n, n], 0)", "[0, 4, 0]"},
    {"numpy.nanprod(z, keepdims=True)", "[4.0]"},
    {"numpy.linalg.norm(a)", "6.244997998398398"},
    {"numpy.linalg.norm([3, 4])", "5.0"},
    {"numpy.linalg.norm(a, axis=1, keepdims=True)", "[[2.23606797749979], [5.830951894845301]]"},
    {"numpy.linalg.norm(u, 1)", "15.0"},
    {"numpy.linalg.norm(a, 1, keepdims=True)", "[[7.0]]"},
    {"numpy.linalg.norm([a], None, (1, 2))", "[6.244997998398398]"},
    {"numpy.linalg.norm([a])", "6.244997998398398"},
    {"numpy.trapezoid(u)", "-4.5"},
    {"numpy.trapezoid([1, 2, 3], x=[4, 6, 8])", "8.0"},
    {"numpy.trapezoid(a, [1, 5], axis=0)", "[8.0, 14.0]"},
    {"numpy.trapezoid(a, a, axis=0)", "[4.0, 10.5]"},
    {"numpy.trapezoid(a, dx=0.5)", "[0.75, 2.0]"},
    {"numpy.var(u, ddof=1)", "50.33333333333333"},
    {"numpy.std(n)", "0.9428090415820634"},
    {"a.std(0, keepdims=True)", "[[1.0, 1.5]]"},
    {"numpy.var(u, ddof=3)", "Infinity"},
    {"numpy.average(a, 0)", "[2.0, 3.5]"},
    {"numpy.average(u, weights=v)", "-4.157894736842105"},
    {"numpy.average(a, 1, [3, 1], True)", "[[1.25], [3.5]]"},
    {"numpy.nanmean(z)", "2.5"},
    {"numpy.nanmean([z, z * 3], 0)", "[2.0, NaN, 8.0]"},
    {"numpy.nanvar(z, ddof=1)", "4.5"},
    {"numpy.nanvar(z, ddof=2)", "NaN"},
    {"numpy.nanstd(z)", "1.5"},
    {"numpy.inner(a, u[:2])", "[-10.0, -22.0]"},
    {"numpy.inner(a, a)", "[[5.0, 13.0], [13.0, 34.0]]"},
    {"numpy.inner(2, u)", "[12.0, -16.0, 2.0]"},
    {"numpy.kron(a, [[1, 10]])", "[[1.0, 10.0, 2.0, 20.0], [3.0, 30.0, 5.0, 50.0]]"},
    {"numpy.kron(n, a).shape", "[2, 6]"},
    {"numpy.kron(3, 2)", "6"},
    {"numpy.cross(u, v)", "[-13.0, -7.0, 22.0]"},
    {"numpy.tensordot(a, a)", "39.0"},
    {"numpy.tensordot(a, u, 0).shape", "[2, 2, 3]"},
    {"numpy.tensordot(a, a, [[1], [0]])", "[[7.0, 12.0], [18.0, 31.0]]"},
    {"numpy.tensordot(a, a, ([0, 1], [1, 0]))", "38.0"},
    {"numpy.moveaxis([a, a], [0, 2], [1, 0])", "[[[1.0, 3.0], [1.0, 3.0]], [[2.0, 5.0], [2.0, 5.0]]]"},
    {"numpy.median(u)", "1.0"},
    {"numpy.median([3, 9, 4, 1])", "3.5"},
    {"numpy.median(a, 0)", "[2.0, 3.5]"},
    {"numpy.median([a, a * 3], (0, 2), keepdims=True)", "[[[2.5], [7.0]]]"},
    {"numpy.median(a, keepdims=True)", "[[2.5]]"},
    {"numpy.median([z, v], 1)", "[NaN, 1.25]"},
    {"numpy.median(t)", "0.5"},
    {"numpy.median(u[:0])", "NaN"},
    {"numpy.nanmedian(z)", "2.5"},
    {"numpy.nanmedian([z, z * numpy.nan], 1, keepdims=True)", "[[2.5], [NaN]]"},
    {"numpy.quantile(u, 0.25)", "-3.5"},
    {"numpy.quantile(u, [[0.25, 1]], keepdims=True)", "[[[-3.5], [6.0]]]"},
    {"numpy.quantile([[3, 9, 4, 1]], 0.5, 1, 'higher')", "[4]"},
    {"numpy.quantile([9007199254740993, 0], 1, method='lower')", "9007199254740993"},
    {"numpy.quantile(t, 0.9, method='nearest')", "true"},
    {"numpy.quantile(u, 0.4, method='midpoint')", "-3.5"},
    {"numpy.quantile([z, v], 0.5, -1)", "[NaN, 1.25]"},
    {"numpy.percentile(a, [0, 40], axis=0)", "[[1.0, 2.0], [1.8, 3.2]]"},
    {"numpy.nanquantile([z, z * numpy.nan], [0.5, 1], 1)", "[[2.5, NaN], [4.0, NaN]]"},
    {"numpy.nanpercentile(z, 60, method='nearest')", "4.0"},
    {"numpy.diff(u)", "[-14.0, 9.0]"},
    {"numpy.diff(u, 2)", "[23.0]"},
    {"numpy.diff([1, 4, 9, 16, 26], 3)", "[0, 1]"},
    {"numpy.diff([0, 1, 16, 81, 256], n=4)", "[24]"},
    {"numpy.diff(u, 0)", "[6.0, -8.0, 1.0]"},
    {"numpy.diff(t)", "[true]"},
    {"numpy.diff(u, prepend=1, append=[2.0, 4.0])", "[5.0, -14.0, 9.0, 1.0, 2.0]"},
    {"numpy.diff(a, axis=0, append=a[:1])", "[[2.0, 3.0], [-2.0, -3.0]]"},
    {"numpy.gradient(u)", "[-14.0, -2.5, 9.0]"},
    {"numpy.gradient([1, 4], 0.5)", "[6.0, 6.0]"},
    {"numpy.gradient(a, axis=0)", "[[2.0, 3.0], [2.0, 3.0]]"},
    {"numpy.delete(u, -1)", "[6.0, -8.0]"},
    {"numpy.delete(a, 0, 1)", "[[2.0], [5.0]]"},
    {"numpy.delete([[1, 2], [3, 4]], 2)", "[1, 2, 4]"},
    {"numpy.einsum('ij,jk->ik', a, a)", "[[7.0, 12.0], [18.0, 31.0]]"},
    {"numpy.einsum('ii', [[1, 2], [3, 5]])", "6"},
    {"numpy.einsum('i,j->ij', n, u[:2], optimize=True)", "[[0.0, 0.0], [12.0, -16.0], [0.0, 0.0]]"},
    {"numpy.einsum('i,i', t, t)", "true"},
    {"numpy.einsum('...i,i->...', a, [1, 2])", "[5.0, 13.0]"},
    {"numpy.einsum('i,i,i,i,i,i,i,i', t, n[:2], u[:2], u[:2], u[:2], u[:2], u[:2], [2, 1])", "0.0"},
    {"numpy.einsum('i->i', numpy.float32(v)).dtype", "\"float32\""},
    {"numpy.insert(u, 1, 5)", "[6.0, 5.0, -8.0, 1.0]"},
    {"numpy.insert(n, -1, [5.5, 6])", "[0, 2, 5, 6, 0]"},
    {"numpy.insert(u, 3, v)", "[6.0, -8.0, 1.0, 0.5, 3.0, 1.25]"},
    {"numpy.insert(a, 1, [7, 8], axis=1)", "[[1.0, 7.0, 2.0], [3.0, 8.0, 5.0]]"},
    {"numpy.insert(a, 0, 9, 0)", "[[9.0, 9.0], [1.0, 2.0], [3.0, 5.0]]"},
    {"numpy.pad(u, 1)", "[0.0, 6.0, -8.0, 1.0, 0.0]"},
    {"numpy.pad(n, (0, 2), 'constant', constant_values=(3, 0.5))", "[0, 2, 0, 0, 0]"},
    {"numpy.pad(t, [1, 0])", "[false, true, false]"},
    {"numpy.pad(a, ((1, 0), (0, 1)), constant_values=((7, 0), (0, 9)))", "[[7.0, 7.0, 9.0], [1.0, 2.0, 9.0], [3.0, 5.0, 9.0]]"},
    {"numpy.pad(a, ((0, 0), (0, 2)), mode='edge')", "[[1.0, 2.0, 2.0, 2.0], [3.0, 5.0, 5.0, 5.0]]"},
    {"numpy.pad(u, (2, 5), 'wrap')", "[-8.0, 1.0, 6.0, -8.0, 1.0, 6.0, -8.0, 1.0, 6.0, -8.0]"},
    {"numpy.pad(u, (3, 4), 'reflect')", "[-8.0, 1.0, -8.0, 6.0, -8.0, 1.0, -8.0, 6.0, -8.0, 1.0]"},
    {"numpy.pad(u[:1], 2, 'reflect')", "[6.0, 6.0, 6.0, 6.0, 6.0]"},
    {"numpy.pad(u, (2, 4), 'symmetric')", "[-8.0, 6.0, 6.0, -8.0, 1.0, 1.0, -8.0, 6.0, 6.0]"},
    {"numpy.pad(u[:0], 2)", "[0.0, 0.0, 0.0, 0.0]"},
    {"numpy.pad([[[[[a]]]]], 1).shape", "[3, 3, 3, 3, 3, 4, 4]"},
    {"numpy.rot90(a)", "[[2.0, 5.0], [1.0, 3.0]]"},
    {"numpy.rot90([n, [4, 5, 6]], -1)", "[[4, 0], [5, 2], [6, 0]]"},
    {"numpy.rot90(a, 6)", "[[5.0, 3.0], [2.0, 1.0]]"},
    {"numpy.rot90([a], 1, axes=(1, 2))", "[[[2.0, 5.0], [1.0, 3.0]]]"},
    {"numpy.take_along_axis(a, numpy.argsort(-a, 1), 1)", "[[2.0, 1.0], [5.0, 3.0]]"},
    {"numpy.take_along_axis(a, [[0, -1]], 0)", "[[1.0, 5.0]]"},
    {"numpy.take_along_axis(u[None], [[1], [2]], axis=1)", "[[-8.0], [1.0]]"},
    {"numpy.take_along_axis(a, [3, 0], None)", "[5.0, 1.0]"},
    {"numpy.array(u, ndmin=2)", "[[6.0, -8.0, 1.0]]"},
    {"numpy.array([1, 2], float, ndmin=3)", "[[[1.0, 2.0]]]"},
    {"numpy.array(a, ndmin=1)", "[[1.0, 2.0], [3.0, 5.0]]"},
    {"numpy.nan_to_num(z)", "[1.0, 0.0, 4.0]"},
    {"numpy.nan_to_num(numpy.array([math.inf, 2, -math.inf]))", "[1.7976931348623157e+308, 2.0, -1.7976931348623157e+308]"},
    {"numpy.nan_to_num(numpy.array([math.inf, math.nan, -math.inf]), True, 3, 5, -7.5)", "[5.0, 3.0, -7.5]"},
    {"numpy.nan_to_num(numpy.array([math.inf, -math.inf], 'float16'))", "[65504.0, -65504.0]"},
    {"numpy.nan_to_num(numpy.array([math.inf, -math.inf], 'float32')) * 0.5", "[1.7014117e+38, -1.7014117e+38]"},
    {"numpy.nan_to_num(numpy.array([math.inf, math.nan], 'bfloat16')) / 2 ** 120", "[255.0, 0.0]"},
    {"numpy.nan_to_num(n)", "[0, 2, 0]"},
    {"numpy.nan_to_num(t)", "[true, false]"},
    {"numpy.cov(a)", "[[0.5, 1.0], [1.0, 2.0]]"},
    {"numpy.cov(u[:2], v[:2], bias=True)", "[[49.0, -8.75], [-8.75, 1.5625]]"},
    {"numpy.cov(a, rowvar=False, ddof=0)", "[[1.0, 1.5], [1.5, 2.25]]"},
    {"numpy.cov([3, 5])", "2.0"},
    {"numpy.corrcoef(a[0], a[1])", "[[0.9999999999999999, 0.9999999999999999], [0.9999999999999999, 0.9999999999999999]]"},
    {"numpy.corrcoef(u, u * -2)", "[[0.9999999999999999, -0.9999999999999999], [-0.9999999999999999, 0.9999999999999999]]"},
    {"numpy.corrcoef(u)", "1.0"},
    {"numpy.isclose(v, [0.500001, 3.1, 1.25])", "[true, false, true]"},
    {"numpy.isclose([z, z], z, equal_nan=True)[1]", "[true, true, true]"},
    {"numpy.isclose(z / 0.0, [numpy.inf, 1.0, -numpy.inf])", "[true, false, false]"},
    {"numpy.isclose(3, 3.2, atol=0.25)", "true"},
    {"numpy.allclose(a, a + 1e-9)", "true"},
    {"numpy.allclose(u, u * 1.1, 0.05)", "false"},
    {"numpy.array_equal(u, v)", "false"},
    {"numpy.array_equal([0, 2, 0], n)", "true"},
    {"numpy.array_equal(a, u)", "false"},
    {"numpy.nanmax([z, -z], 1)", "[4.0, -1.0]"},
    {"numpy.nanmin([[1, 4]], keepdims=True)", "[[1]]"},
    {"numpy.nanmax(z[1:2])", "NaN"},
    {"numpy.nanmin(-z / 0.0)", "-Infinity"},
    {"numpy.nan_to_num(z)", "[1.0, 0.0, 4.0]"},
    {"numpy.nan_to_num(z / (z - 1), nan=3, neginf=5)", "[1.7976931348623157e+308, 3.0, 1.3333333333333333]"},
    {"numpy.nan_to_num(numpy.float16([1e9, -1e9]) * 2.0)", "[65504.0, -65504.0]"},
    {"numpy.nan_to_num(n)", "[0, 2, 0]"},
    {"numpy.percentile(u, 30)", "-2.6"},
    {"numpy.percentile(a, [25, 80], 0)", "[[1.5, 2.75], [2.6, 4.4]]"},
    {"numpy.quantile([3, 9, 4, 1], 0.4, method='lower')", "3"},
    {"numpy.quantile([3, 9, 4, 1], 0.4, method='higher')", "4"},
    {"numpy.quantile([3, 9, 4, 1], 0.4, method='midpoint')", "3.5"},
    {"numpy.quantile(numpy.float32(u), 0.75, keepdims=True)", "[3.5]"},
    {"numpy.quantile([z, v], 0.5, 1)", "[NaN, 1.25]"},
    {"numpy.isin(u, [6, 2])", "[true, false, false]"},
    {"numpy.isin([[1, 2]], v, invert=True)", "[[true, true]]"},
};

Test(written_out, gives_what_numpy_does)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000], results[500], expected[500];
        struct engine engine;

        snprintf(
            text, sizeof text,
            "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"u\": {\"value\": [6.0, -8.0, 1.0]}, \"v\": "
            "{\"value\": [0.5, 3.0, 1.25]}, \"a\": {\"value\": [[1.0, 2.0], [3.0, 5.0]]}, \"t\": {\"value\": [true, false]}, "
            "\"n\": {\"value\": [0, 2, 0]}, \"z\": {\"value\": [1.0, NaN, 4.0]}}, \"output_ports\": {\"y\": {\"value\": "
            "\"%s\"}}}}}}}}",
            cases[i].expression);
        snprintf(expected, sizeof expected, "y %s", cases[i].result);
        cr_expect(engine_begin(&engine, text, NULL) && engine_evaluate(&engine, 1) == MDF_OK, "%s: %s", cases[i].expression,
                  engine.error.message);
        if (engine.error.code == MDF_OK) {
            write_results(engine.program, engine.state, results, sizeof results);
            cr_expect_str_eq(results, expected, "%s: %s", cases[i].expression, results);
        }
        engine_end(&engine);
    }
}

/* What is wrong is told of what they are written out as, where the call stands. */
Test(written_out, an_error_stands_at_the_call)
{
    static const struct {
        const char *expression, *message;
    } faults[] = {
        {"1 + numpy.trace(u, shift=1)", "numpy.trace has no argument 'shift'"},
        {"numpy.average(u, weights=u - u)", "division by zero"},
        {"numpy.average(u, weights=[1, 2])", "input 'index' is nothing"},
        {"numpy.cross(u[:2], u[:2])", "2 elements do not fit"},
        {"numpy.tensordot(u, u[:1], 1)", "does not broadcast"},
        {"numpy.tensordot(u[:1], u, 1)", "does not broadcast"},
        {"numpy.gradient([u])", "1 axes are named"},
        {"numpy.gradient(u[:1])", "out of range"},
        {"numpy.gradient(u, u)", "float: does not apply"},
        {"numpy.delete(u, 3)", "index 3 is out of range"},
        {"numpy.delete(u, [0, 1])", "input 'index'"},
        {"numpy.cov([[u]])", "2 axes are named"},
        {"numpy.diff(u, 5)", "numpy.diff: the order is 0 to 4"},
        {"numpy.linalg.norm([[u]], axis=(0, 1, 2))", "numpy.linalg.norm: norms are those of vectors or matrices, not of 3 axes"},
        {"numpy.linalg.norm([[u]], 1)", "not of 3 axes"},
        {"numpy.linalg.norm(u, 'fro')", "the norm 'fro' of 1 axes"},
        {"numpy.einsum(u, u)", "numpy.einsum: 'subscripts' is supported as a text only"},
        {"numpy.einsum()", "numpy.einsum needs the argument 'subscripts'"},
        {"numpy.einsum('i', u, subscripts='i')", "numpy.einsum: 'subscripts' is given twice"},
        {"numpy.einsum('i')", "an equation and at least one input"},
        {"numpy.einsum('ij', u)", "numpy.einsum: term 1 of 'ij' has 2 letters, but the input has rank 1"},
        {"numpy.einsum('i,i,i,i,i,i,i,i,i', u, u, u, u, u, u, u, u, u)", "9 operands are too many"},
        {"numpy.nextafter(numpy.float16(1), numpy.float16(2))", "numpy.nextafter: float16 is not supported: use float32"},
        {"numpy.quantile(u, [0.5, 1.5])", "numpy.quantile: what is asked for is not between 0 and 1"},
        {"numpy.nanpercentile(u, numpy.nan)", "numpy.nanpercentile: what is asked for is not between 0 and 100"},
        {"numpy.quantile(u, 0.5, method='lowest')", "numpy.quantile: the method is linear, lower, higher, midpoint or nearest"},
        {"numpy.quantile(u[:0], 0.5)", "out of range for axis 1 of size 0"},
        {"numpy.insert(u, 4, 1)", "numpy.insert: there is no place 4 among 3 items"},
        {"numpy.insert(u, -4, 1)", "no place -4"},
        {"numpy.insert(numpy.zeros([2 ** 62, 0]), 0, numpy.zeros([2 ** 62, 0]), 0)", "the items together are too long"},
        {"numpy.insert(u, [0, 1], 1)", "input 'place'"},
        {"numpy.insert([u], 0, [1, 2], 0)", "float64[2] does not broadcast"},
        {"numpy.pad(u, (1, -1))", "numpy.pad: axis 0 can not have 1 elements more before and -1 behind"},
        {"numpy.pad(u, [1, 2, 3])", "int64[3] does not broadcast"},
        {"numpy.pad(u, 0.5)", "is not whole numbers"},
        {"numpy.pad(u, 1, 'median')", "'reflect', 'symmetric' or 'wrap', not median"},
        {"numpy.pad(u, 1, 'edge', 3)", "numpy.pad: this mode takes no constant_values"},
        {"numpy.pad(u[:0], 1, 'edge')", "axis 0 has no element to pad with"},
        {"numpy.rot90(u)", "out of range"},
        {"numpy.rot90([u], 2, (1, 1))", "an axis is named twice"},
        {"numpy.take_along_axis([u], [1], 1)", "numpy.take_along_axis: the indices have another number of axes"},
        {"numpy.take_along_axis(u, [3], 0)", "index 3"},
        {"numpy.take_along_axis(u, [1])", "needs the argument 'axis'"},
        {"numpy.array(u, ndmin=65)", "65 axes are too many"},
        {"operator.refuse('x')", "function 'operator.refuse' is not known"},
        {"numpy.moveaxis([u], [0, 0], [0, 1])", "an axis is named twice"},
        {"numpy.moveaxis([u], [0, 1], [1])", "2 axes for 1 places"},
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char text[500];
        struct engine engine;

        snprintf(text, sizeof text,
                 "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"u\": {\"value\": [1.0, 2.0, 4.0]}}, "
                 "\"output_ports\": {\"y\": {\"value\": \"%s\"}}}}}}}}",
                 faults[i].expression);
        cr_expect_not(engine_begin(&engine, text, NULL) && engine_evaluate(&engine, 1) == MDF_OK);
        cr_expect(strstr(engine.error.message, faults[i].message) != NULL, "%s: %s", faults[i].expression, engine.error.message);
        engine_end(&engine);
    }
}
