/* quantised_product.c - products and convolutions of quantised numbers: MatMulInteger, QLinearMatMul, ConvInteger, QLinearConv.
 *
 * Comes in: integers of 8 bits (QLinearMatMul: also float8), each array with a zero point and, in the QLinear forms, a scale.
 * Goes out: the sums of products as int32 or, in the QLinear forms, scaled, rounded to even and saturated. Computed in float64,
 * which holds every such sum exactly. Source: the ONNX operators of these names, all versions. */
#include "functions/matrix_product.h"
#include "functions/onnx/conv.h"

#include <math.h>

/* How an array of numbers goes with a larger one: element i of that with number `of(i)`. */
struct repeated {
    const double *numbers;
    const struct mdf_value *shape_of; /* NULL: one number for all */
    size_t n_period, n_inner;         /* one number a slice along an axis: i / n_inner % n_period */
    bool along_axis;
};

/* Which number goes with element `i` of an array of that rank and shape. */
static double number_for(const struct repeated *repeated, size_t rank, const int64_t *shape, size_t i)
{
    size_t offset = 0, stride = 1, own_rank;

    if (repeated->shape_of == NULL) {
        return repeated->numbers[0];
    }
    if (repeated->along_axis) {
        return repeated->numbers[i / repeated->n_inner % repeated->n_period];
    }
    own_rank = repeated->shape_of->rank;
    for (size_t axis = rank; axis-- > rank - own_rank;) {
        size_t own = (size_t)mdf_value_shape(repeated->shape_of)[axis - (rank - own_rank)];

        offset += own == 1 ? 0 : i % (size_t)shape[axis] * stride;
        stride *= own;
        i /= (size_t)shape[axis];
    }
    return repeated->numbers[offset];
}

/* Reads input `i`, which has one number, one for each slice along `axis`, or a shape that broadcasts. Omitted: `otherwise`. */
static bool read_repeated(struct mdf_workspace *workspace, size_t i, size_t rank, const int64_t *shape, size_t axis,
                          const double *otherwise, struct repeated *repeated)
{
    const struct mdf_value *value = mdf_call_input(workspace->call, i);
    bool fits;

    *repeated = (struct repeated){otherwise, NULL, 1, 1, false};
    if (value == NULL) {
        return true;
    }
    repeated->numbers = mdf_workspace_input(workspace, i);
    if (repeated->numbers == NULL || value->length == 1) {
        return repeated->numbers != NULL;
    }
    repeated->shape_of = value;
    repeated->along_axis = value->rank == 1 && axis < rank;
    if (repeated->along_axis) {
        repeated->n_period = value->length;
        for (size_t later = axis + 1; later < rank; later++) {
            repeated->n_inner *= (size_t)(shape[later] > 0 ? shape[later] : 1);
        }
    }
    fits = repeated->along_axis ? (int64_t)value->length == shape[axis] : value->rank <= rank;
    for (size_t own = 0; fits && !repeated->along_axis && own < value->rank; own++) {
        int64_t size = mdf_value_shape(value)[own];

        fits = size == 1 || size == shape[rank - value->rank + own];
    }
    return fits || mdf_call_error(workspace->call, MDF_SHAPE, "input %zu does not fit the array that it belongs to", i + 1);
}

/* How many adjacent elements, of `n` in all, go with the same number. */
static size_t run_of(const struct repeated *repeated, size_t n)
{
    return repeated->shape_of == NULL ? n : repeated->along_axis ? repeated->n_inner : 1;
}

/* Input `i` less its zero point, input `zero`; NULL with the error set. */
static const double *centre(struct mdf_workspace *workspace, size_t i, size_t zero, size_t axis)
{
    static const double none = 0;
    const struct mdf_value *value = mdf_call_tensor(workspace->call, i);
    struct repeated zeros;
    double *target;

    if (value == NULL || !read_repeated(workspace, zero, value->rank, mdf_value_shape(value), axis, &none, &zeros)) {
        return NULL;
    }
    target = mdf_workspace_array(workspace, MDF_DTYPE_FLOAT64, value->length);
    if (target != NULL && value->length > 0) {
        mdf_convert_elements(MDF_DTYPE_FLOAT64, target, (mdf_dtype)value->dtype, value->data, value->length, false);
        for (size_t first = 0, n = run_of(&zeros, value->length); first < value->length; first += n) {
            double number = number_for(&zeros, value->rank, mdf_value_shape(value), first);

            for (size_t element = 0; element < n; element++) {
                target[first + element] -= number;
            }
        }
    }
    return target;
}

/* What turns sums into quantised results. */
struct requantisation {
    struct repeated x_scale, weight_scale, y_scale, y_zero;
};

/* Scaled, rounded to even and saturated; NaN: the lowest. Cut off first, where no zero point could bring a number back into
 * range, so that a sum that has no place for a fraction rounds it. */
static void requantise_whole(size_t n, double scale, double zero, double low, double high, double *y)
{
    const double limit = 0x1p40, without_fraction = 0x1.8p52;

    for (size_t i = 0; i < n; i++) {
        double scaled = y[i] * scale, cut = scaled > -limit ? (scaled < limit ? scaled : limit) : -limit;
        double shifted = (cut + without_fraction) - without_fraction + zero;

        y[i] = shifted > low ? (shifted < high ? shifted : high) : low;
    }
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Scales, rounds and saturates the results in place. */
static void requantise(const struct requantisation *by, mdf_dtype dtype, size_t rank, const int64_t *shape, size_t n, double *y)
{
    double low = dtype == MDF_DTYPE_INT8 ? -128 : 0, high = dtype == MDF_DTYPE_INT8 ? 127 : 255;
    size_t n_run = smaller(smaller(run_of(&by->x_scale, n), run_of(&by->weight_scale, n)),
                           smaller(run_of(&by->y_scale, n), run_of(&by->y_zero, n)));

    for (size_t first = 0; first < n; first += n_run) {
        float scale = (float)number_for(&by->x_scale, rank, shape, first) *
                      (float)number_for(&by->weight_scale, rank, shape, first) /
                      (float)number_for(&by->y_scale, rank, shape, first);
        double zero = number_for(&by->y_zero, rank, shape, first);

        if (mdf_dtype_kind(dtype) != 'f') {
            requantise_whole(n_run, (double)scale, zero, low, high, y + first);
            continue;
        }
        for (size_t i = first; i < first + n_run; i++) {
            y[i] = y[i] * (double)scale + zero;
        }
    }
}

/* ------------------------------------------------------------------ matrices */

static bool multiply(struct mdf_workspace *workspace, size_t b_input, const double *a, const double *b, mdf_dtype dtype,
                     struct mdf_matrix_product *plan, double **y)
{
    struct mdf_call *call = workspace->call;

    if (!mdf_matrix_product_plan(workspace, call->inputs[0], call->inputs[b_input], plan)) {
        return false;
    }
    *y = mdf_workspace_output(workspace, 0, dtype, plan->rank, plan->shape);
    return *y != NULL && mdf_matrix_product_run(workspace, plan, a, b, false, *y);
}

/* The axis that numbers of a first operand go along: its rows; and of a second one: its columns. */
static size_t row_axis(const struct mdf_value *a)
{
    return a == NULL || a->rank < 2 ? SIZE_MAX : a->rank - 2;
}

static size_t column_axis(const struct mdf_value *b)
{
    return b == NULL || b->rank < 2 ? SIZE_MAX : b->rank - 1;
}

static bool matmul_integer(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct mdf_matrix_product plan;
    const double *a, *b;
    double *y;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 8)) {
        return false;
    }
    a = centre(&workspace, 0, 2, row_axis(mdf_call_input(call, 0)));
    b = a == NULL ? NULL : centre(&workspace, 1, 3, column_axis(mdf_call_input(call, 1)));
    return b != NULL && multiply(&workspace, 1, a, b, MDF_DTYPE_INT32, &plan, &y) && mdf_workspace_end(&workspace);
}

static bool qlinear_matmul(struct mdf_call *call)
{
    static const double none = 0, one = 1;
    const struct mdf_value *zero = mdf_call_input(call, 7);
    struct mdf_workspace workspace;
    struct mdf_matrix_product plan;
    struct requantisation by;
    const double *a, *b;
    mdf_dtype dtype;
    size_t rows, columns, n;
    double *y;

    if (!mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 13)) {
        return false;
    }
    a = centre(&workspace, 0, 2, row_axis(mdf_call_input(call, 0)));
    b = a == NULL ? NULL : centre(&workspace, 3, 5, column_axis(mdf_call_input(call, 3)));
    if (b == NULL) {
        return false;
    }
    dtype = (mdf_dtype)(zero != NULL ? zero : call->inputs[0])->dtype;
    if (!multiply(&workspace, 3, a, b, dtype, &plan, &y) || !mdf_workspace_product(call, plan.shape, 0, plan.rank, &n)) {
        return false;
    }
    columns = call->inputs[3]->rank > 1 ? plan.rank - 1 : SIZE_MAX;
    rows = call->inputs[0]->rank > 1 ? plan.rank - (columns == SIZE_MAX ? 1 : 2) : SIZE_MAX;
    if (!read_repeated(&workspace, 1, plan.rank, plan.shape, rows, &one, &by.x_scale) ||
        !read_repeated(&workspace, 4, plan.rank, plan.shape, columns, &one, &by.weight_scale) ||
        !read_repeated(&workspace, 6, plan.rank, plan.shape, rows, &one, &by.y_scale) ||
        !read_repeated(&workspace, 7, plan.rank, plan.shape, rows, &none, &by.y_zero)) {
        return false;
    }
    requantise(&by, dtype, plan.rank, plan.shape, n, y);
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ convolutions */

static bool conv_integer(struct mdf_call *call)
{
    struct mdf_workspace workspace;
    struct mdf_conv_plan plan;
    const double *x, *weights;
    double *y;

    if (mdf_call_tensor(call, 0) == NULL || mdf_call_tensor(call, 1) == NULL ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, MDF_CONV_ARRAYS + 5) ||
        !mdf_conv_read(&workspace, call->settings, call->inputs[0], call->inputs[1], NULL, &plan)) {
        return false;
    }
    x = centre(&workspace, 0, 2, SIZE_MAX);
    weights = x == NULL ? NULL : centre(&workspace, 1, 3, 0);
    y = weights == NULL ? NULL : mdf_workspace_output(&workspace, 0, MDF_DTYPE_INT32, plan.windows.rank + 2, plan.windows.shape);
    return y != NULL && mdf_conv_run(&workspace, &plan, x, weights, NULL, y) && mdf_workspace_end(&workspace);
}

static bool qlinear_conv(struct mdf_call *call)
{
    static const double none = 0, one = 1;
    const struct mdf_value *zero = mdf_call_input(call, 7), *bias = mdf_call_input(call, 8);
    const double *x, *weights, *bias_elements = NULL;
    struct mdf_workspace workspace;
    struct mdf_conv_plan plan;
    struct requantisation by;
    mdf_dtype dtype;
    size_t rank, n;
    double *y;

    if (mdf_call_tensor(call, 0) == NULL || mdf_call_tensor(call, 3) == NULL ||
        (bias != NULL && mdf_call_tensor(call, 8) == NULL) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, MDF_CONV_ARRAYS + 10) ||
        !mdf_conv_read(&workspace, call->settings, call->inputs[0], call->inputs[3], bias, &plan)) {
        return false;
    }
    rank = plan.windows.rank + 2;
    dtype = (mdf_dtype)(zero != NULL ? zero : call->inputs[0])->dtype;
    x = centre(&workspace, 0, 2, SIZE_MAX);
    weights = x == NULL ? NULL : centre(&workspace, 3, 5, 0);
    bias_elements = bias == NULL || weights == NULL ? NULL : mdf_workspace_input(&workspace, 8);
    y = weights == NULL || (bias != NULL && bias_elements == NULL)
            ? NULL
            : mdf_workspace_output(&workspace, 0, dtype, rank, plan.windows.shape);
    if (y == NULL || !mdf_conv_run(&workspace, &plan, x, weights, bias_elements, y) ||
        !mdf_workspace_product(call, plan.windows.shape, 0, rank, &n) ||
        !read_repeated(&workspace, 1, rank, plan.windows.shape, SIZE_MAX, &one, &by.x_scale) ||
        !read_repeated(&workspace, 4, rank, plan.windows.shape, 1, &one, &by.weight_scale) ||
        !read_repeated(&workspace, 6, rank, plan.windows.shape, SIZE_MAX, &one, &by.y_scale) ||
        !read_repeated(&workspace, 7, rank, plan.windows.shape, SIZE_MAX, &none, &by.y_zero)) {
        return false;
    }
    requantise(&by, dtype, rank, plan.windows.shape, n, y);
    return mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_quantised_product[] = {
    {"MatMulInteger", 10, 99, matmul_integer, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"QLinearMatMul", 10, 99, qlinear_matmul, NULL, 0, MDF_OPERATOR_PURE, NULL},
    {"ConvInteger", 10, 99, conv_integer, mdf_conv_setting_table, sizeof(struct mdf_conv_settings), MDF_OPERATOR_PURE, NULL},
    {"QLinearConv", 10, 99, qlinear_conv, mdf_conv_setting_table, sizeof(struct mdf_conv_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
