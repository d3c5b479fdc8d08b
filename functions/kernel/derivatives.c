/* derivatives.c - derivatives of operators and functions by their inputs. See derivatives.h.
 *
 * Where a function has a corner, the derivative is one of those of its sides, as in the usual engines: that of Relu and of Abs at
 * 0 is 0. Of several equal largest elements each gets the same share. */
#include "functions/kernel/derivatives.h"

#include "functions/elements/element.h"

#include <string.h>

#define BY(name, input, expression)              \
    {                                            \
        name, input, expression, false, false, 0 \
    }
#define MOVES(name)                                    \
    {                                                  \
        name, MDF_DERIVATIVE_ANY, NULL, true, false, 0 \
    }
#define IS_FLAT(name)                                   \
    {                                                   \
        name, MDF_DERIVATIVE_ANY, NULL, false, false, 0 \
    }
/* Of a reduction: an expression of s, which is dy with the input's shape. */
#define AXES "x1 if x1 is not None else axes"
#define SPREAD(what) "gradient.spread(" what ", x0, " AXES ", not noop_with_empty_axes)"
/* Of the larger or smaller of several: each that equals the result gets its share. */
#define SHARE "dy * (x == y) / sum([(other == y) * 1.0 for other in xs])"

/* y / x0 of what yields x0 times something that is 1/2 at 0. */
#define FRACTION "numpy.where(x0 == 0, 0.5, y / numpy.where(x0 == 0, 1.0, x0))"
/* The same of reductions. */
#define IS_CHOSEN "(x0 == " SPREAD("y") ")"
#define SHARE_OF_AXES \
    SPREAD("dy")      \
    " * " IS_CHOSEN " / " SPREAD("gradient.sum_to(1.0 * " IS_CHOSEN ", gradient.kept(x0, " AXES ", not noop_with_empty_axes))")
/* The sum along all axes from `axis` on, with the shape of y. */
#define FLAT_AXES "gradient.axes_from(y, axis), False"
#define FLAT_SUM(what) "gradient.spread(gradient.sum_to(" what ", gradient.kept(y, " FLAT_AXES ")), y, " FLAT_AXES ")"

static const struct mdf_derivative rows[] = {
    /* element by element */
    BY("Cast", 0, "dy"),
    BY("CastLike", 0, "dy"),
    IS_FLAT("CastLike"),
    /* x times a function of x, which is y / x */
    BY("Gelu", 0,
       "dy * (" FRACTION " + 2 * x0 * " FRACTION " * (1 - " FRACTION ") * math.sqrt(2 / math.pi) * (1 + 0.134145 * x0 * x0) "
       "if approximate == 'tanh' else " FRACTION " + x0 * numpy.exp(-x0 * x0 / 2) / math.sqrt(2 * math.pi))"),
    BY("Clip", 0, "dy * (x0 == y)"),
    BY("Clip", 1, "dy * ((x0 < x1) & (y == x1))"),
    BY("Clip", 2, "dy * ((x0 > x2) & (y == x2))"),
    IS_FLAT("Hardmax"),
    /* two and more operands */
    BY("Mean", MDF_DERIVATIVE_ANY, "dy / count"),
    BY("Max", MDF_DERIVATIVE_ANY, SHARE),
    BY("Min", MDF_DERIVATIVE_ANY, SHARE),
    /* matrices */
    BY("MatMul", 0, "numpy.matmul(gradient.product_of_matrices(dy, x0, x1), gradient.turn(gradient.column(x1), True))"),
    BY("MatMul", 1,
       "gradient.without_column(numpy.matmul(gradient.turn(gradient.row(x0), True), "
       "gradient.product_of_matrices(dy, x0, x1)), x1)"),
    BY("Gemm", 0, "alpha * gradient.turn(numpy.matmul(dy, gradient.turn(x1, 1 - transB)), transA)"),
    BY("Gemm", 1, "alpha * gradient.turn(numpy.matmul(gradient.turn(x0, 1 - transA), dy), transB)"),
    BY("Gemm", 2, "beta * dy"),
    /* reductions */
    BY("ReduceSum", 0, SPREAD("dy")),
    BY("ReduceMean", 0, SPREAD("dy") " * (y.size / x0.size)"),
    BY("ReduceSumSquare", 0, "2 * x0 * " SPREAD("dy")),
    BY("ReduceL1", 0, "numpy.sign(x0) * " SPREAD("dy")),
    BY("ReduceL2", 0, "x0 * " SPREAD("dy / y")),
    BY("ReduceLogSum", 0, SPREAD("dy / numpy.exp(y)")),
    BY("ReduceLogSumExp", 0, SPREAD("dy") " * numpy.exp(x0 - " SPREAD("y") ")"),
    BY("ReduceMax", 0, SHARE_OF_AXES),
    BY("ReduceMin", 0, SHARE_OF_AXES),
    BY("GlobalAveragePool", 0, "dy * numpy.ones_like(x0) * (y.size / x0.size)"),
    {"Softmax", 0, "y * (dy - " FLAT_SUM("dy * y") ")", false, false, 12},
    {"LogSoftmax", 0, "dy - numpy.exp(y) * " FLAT_SUM("dy"), false, false, 12},
    BY("Softmax", 0, "y * (dy - numpy.sum(dy * y, axis=axis, keepdims=True))"),
    BY("LogSoftmax", 0, "dy - numpy.exp(y) * numpy.sum(dy, axis=axis, keepdims=True)"),
    IS_FLAT("ArgMax"),
    IS_FLAT("ArgMin"),
    IS_FLAT("Shape"),
    IS_FLAT("Size"),
    /* elements moved about */
    MOVES("Reshape"),
    MOVES("Flatten"),
    MOVES("Squeeze"),
    MOVES("Unsqueeze"),
    MOVES("Transpose"),
    MOVES("Expand"),
    MOVES("Tile"),
    MOVES("Concat"),
    MOVES("Split"),
    MOVES("Slice"),
    MOVES("Gather"),
    MOVES("GatherElements"),
    MOVES("GatherND"),
    MOVES("Compress"),
    {"Pad", 0, NULL, true, true, 10},
    MOVES("Pad"),
    MOVES("Where"),
    MOVES("Trilu"),
    MOVES("DepthToSpace"),
    MOVES("SpaceToDepth"),
    MOVES("ReverseSequence"),
    MOVES("CenterCropPad"),
    /* functions of expressions, of which the rules above are made: so gradients have gradients */
    BY("math.log", 0, "dy / x0 if x1 is None else dy / (x0 * math.log(x1))"),
    BY("math.log", 1, "-dy * y / (x1 * math.log(x1))"),
    IS_FLAT("numpy.ones_like"),
    IS_FLAT("numpy.zeros_like"),
    IS_FLAT("shape"),
    IS_FLAT("size"),
    IS_FLAT("ndim"),
    BY("numpy.where", 1, "numpy.where(x0, dy, 0.0)"),
    BY("numpy.where", 2, "numpy.where(x0, 0.0, dy)"),
    IS_FLAT("numpy.where"),
    BY("numpy.sum", 0, "gradient.spread(dy, x0, x1)"),
    BY("numpy.mean", 0, "gradient.spread(dy, x0, x1) * (y.size / x0.size)"),
    BY("numpy.matmul", 0, "numpy.matmul(gradient.product_of_matrices(dy, x0, x1), gradient.turn(gradient.column(x1), True))"),
    BY("numpy.matmul", 1,
       "gradient.without_column(numpy.matmul(gradient.turn(gradient.row(x0), True), "
       "gradient.product_of_matrices(dy, x0, x1)), x1)"),
    BY("operator.matmul", 0, "numpy.matmul(gradient.product_of_matrices(dy, x0, x1), gradient.turn(gradient.column(x1), True))"),
    BY("operator.matmul", 1,
       "gradient.without_column(numpy.matmul(gradient.turn(gradient.row(x0), True), "
       "gradient.product_of_matrices(dy, x0, x1)), x1)"),
    BY("numpy.reshape", 0, "numpy.reshape(dy, x0.shape)"),
    BY("numpy.ravel", 0, "numpy.reshape(dy, x0.shape)"),
    BY("gradient.row", 0, "numpy.reshape(dy, x0.shape)"),
    BY("gradient.column", 0, "numpy.reshape(dy, x0.shape)"),
    BY("gradient.product_of_matrices", 0, "numpy.reshape(dy, x0.shape)"),
    BY("gradient.without_column", 0, "numpy.reshape(dy, x0.shape)"),
    BY("gradient.turn", 0, "gradient.turn(dy, x1)"),
    BY("gradient.sum_to", 0, "dy + numpy.zeros_like(x0)"),
    BY("gradient.spread", 0, "gradient.sum_to(dy, gradient.kept(x1, x2, x3 if x3 is not None else True))"),
    BY("gradient.send_back", 0, "gradient.take(dy, x1)"),
    BY("gradient.take", 0, "gradient.send_back(dy, x1, x0)"),
    IS_FLAT("gradient.product_of_matrices"),
    IS_FLAT("gradient.without_column"),
    IS_FLAT("gradient.sum_to"),
    IS_FLAT("gradient.spread"),
    IS_FLAT("gradient.send_back"),
    IS_FLAT("gradient.numbers"),
    IS_FLAT("gradient.no_numbers"),
    IS_FLAT("gradient.kept"),
    IS_FLAT("gradient.axes_from"),
    {NULL, 0, NULL, false, false, 0},
};

/* Those of elements.def, which hold for all operators that compute the element. */
static const struct {
    enum mdf_element_id id;
    struct mdf_derivative derivative;
} element_rows[] = {
#define DERIVATIVE(id, input, expression) {MDF_ELEMENT_##id, BY(#id, input, expression)},
#define FLAT(id) {MDF_ELEMENT_##id, IS_FLAT(#id)},
#include "functions/elements/elements.def"
};

static const struct mdf_derivative *find_of_element(const struct mdf_element *element, size_t input)
{
    size_t i;

    for (; element != NULL; element = element->base) {
        for (i = 0; i < sizeof element_rows / sizeof *element_rows; i++) {
            const struct mdf_derivative *derivative = &element_rows[i].derivative;

            if (element_rows[i].id == element->id &&
                (derivative->input == MDF_DERIVATIVE_ANY || (size_t)derivative->input == input)) {
                return derivative;
            }
        }
    }
    return NULL;
}

const struct mdf_derivative *mdf_derivative_find(const struct mdf_operator *row, int version, size_t input)
{
    const struct mdf_derivative *derivative;

    for (derivative = rows; derivative->name != NULL; derivative++) {
        if (strcmp(derivative->name, row->name) == 0 && (derivative->until == 0 || version <= derivative->until) &&
            (derivative->input == MDF_DERIVATIVE_ANY || (size_t)derivative->input == input)) {
            return derivative;
        }
    }
    return find_of_element(row->element, input);
}
