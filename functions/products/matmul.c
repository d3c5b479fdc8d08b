/* matmul.c - products of matrices: MatMul, Gemm.
 *
 * Comes in: two arrays (Gemm: matrices, and one to be added). Goes out: their product. Float16 and bfloat16 are computed in
 * float32, integers in 32 or 64 bits, of which the type keeps the low ones. Source: the ONNX operators, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/products/matrix_product.h"

/* Two small matrices of reals, as in the bodies of loops: nothing to broadcast, to convert or to pack. */
static bool is_small(const struct mdf_value *a, const struct mdf_value *b, struct mdf_product *product)
{
    const int64_t *a_shape = mdf_value_shape(a), *b_shape = mdf_value_shape(b);

    if (a->rank != 2 || b->rank != 2 || a->dtype != b->dtype || !mdf_dtype_is_real(a->dtype) || a_shape[1] != b_shape[0] ||
        a->length == 0 || b->length == 0) {
        return false;
    }
    *product = (struct mdf_product){.dtype = (mdf_dtype)a->dtype,
                                    .m = (size_t)a_shape[0],
                                    .n = (size_t)b_shape[1],
                                    .k = (size_t)a_shape[1],
                                    .a = a->data,
                                    .b = b->data,
                                    .a_row = a_shape[1],
                                    .a_column = 1,
                                    .b_row = b_shape[1],
                                    .b_column = 1,
                                    .c_row = b_shape[1],
                                    .alpha = 1};
    return !mdf_product_is_packed(product);
}

bool mdf_matmul(struct mdf_call *call)
{
    const struct mdf_value *a = mdf_call_tensor(call, 0), *b = mdf_call_tensor(call, 1);
    struct mdf_workspace workspace;
    struct mdf_product product;
    struct mdf_matrix_product plan;
    const void *a_elements, *b_elements;
    void *c;

    if (a != NULL && b != NULL && is_small(a, b, &product)) {
        product.c = mdf_call_output(call, 0, product.dtype, 2, (const int64_t[]){(int64_t)product.m, (int64_t)product.n});
        return product.c != NULL && mdf_multiply(call, &call->scratch[MDF_CALL_SCRATCH - 1], &product);
    }
    if (a == NULL || b == NULL || !mdf_workspace_begin(&workspace, call, mdf_product_dtype((mdf_dtype)a->dtype), 6)) {
        return false;
    }
    a_elements = mdf_workspace_input(&workspace, 0);
    b_elements = a_elements == NULL ? NULL : mdf_workspace_input(&workspace, 1);
    if (b_elements == NULL || !mdf_matrix_product_plan(&workspace, a, b, &plan)) {
        return false;
    }
    c = mdf_workspace_output(&workspace, 0, (mdf_dtype)a->dtype, plan.rank, plan.shape);
    return c != NULL && mdf_matrix_product_run(&workspace, &plan, a_elements, b_elements, mdf_call_is_constant(call, 1), c) &&
           mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ Gemm */

struct gemm_settings {
    double alpha, beta;
    int64_t transpose_a, transpose_b;
};

static const struct mdf_setting gemm_table[] = {{"alpha", MDF_SETTING_FLOAT, offsetof(struct gemm_settings, alpha)},
                                                {"beta", MDF_SETTING_FLOAT, offsetof(struct gemm_settings, beta)},
                                                {"transA", MDF_SETTING_INT, offsetof(struct gemm_settings, transpose_a)},
                                                {"transB", MDF_SETTING_INT, offsetof(struct gemm_settings, transpose_b)},
                                                {NULL, MDF_SETTING_INT, 0}};

/* The matrix that is added, times beta. */
struct addend {
    const void *elements;
    int64_t row, column; /* strides; 0: the row or column repeats */
    double beta;
};

#define TEMPLATE "functions/products/matmul_addend.inc"
#include "functions/kernel/of_reals.inc"
#define ELEMENT uint32_t
#define NAME(x) x##_integer32
#include "functions/products/matmul_addend.inc"
#define ELEMENT uint64_t
#define NAME(x) x##_integer64
#include "functions/products/matmul_addend.inc"

static void fill(mdf_dtype dtype, const struct addend *addend, size_t m, size_t n, void *target)
{
    if (dtype == MDF_DTYPE_FLOAT32) {
        fill_float32(addend, m, n, target);
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        fill_float64(addend, m, n, target);
    } else if (mdf_dtype_size(dtype) == sizeof(uint32_t)) {
        fill_integer32(addend, m, n, target);
    } else {
        fill_integer64(addend, m, n, target);
    }
}

/* Strides of C; false with the error set where it does not broadcast to m by n. */
static bool place_addend(struct mdf_call *call, const struct mdf_value *c, size_t m, size_t n, struct addend *addend)
{
    const int64_t *shape = mdf_value_shape(c);
    size_t rows = c->rank > 1 ? (size_t)shape[c->rank - 2] : 1, columns = c->rank > 0 ? (size_t)shape[c->rank - 1] : 1;
    char text[128];

    if (c->rank > 2 || (rows != m && rows != 1) || (columns != n && columns != 1)) {
        mdf_value_describe(c, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "C, %s, does not broadcast to %zu by %zu", text, m, n);
    }
    addend->row = rows == 1 ? 0 : (int64_t)columns;
    addend->column = columns == 1 ? 0 : 1;
    return true;
}

/* Sizes and strides of the product; false with the error set. */
static bool plan_gemm(struct mdf_call *call, struct mdf_product *product)
{
    const struct gemm_settings *settings = call->settings;
    const struct mdf_value *a = mdf_call_tensor(call, 0), *b = mdf_call_tensor(call, 1);
    bool turn_a = settings->transpose_a != 0, turn_b = settings->transpose_b != 0;
    const int64_t *a_shape, *b_shape;

    if (a == NULL || b == NULL) {
        return false;
    }
    if (a->rank != 2 || b->rank != 2) {
        return mdf_call_error(call, MDF_SHAPE, "A and B have to be matrices, but their ranks are %u and %u", a->rank, b->rank);
    }
    a_shape = mdf_value_shape(a);
    b_shape = mdf_value_shape(b);
    product->m = (size_t)a_shape[turn_a ? 1 : 0];
    product->k = (size_t)a_shape[turn_a ? 0 : 1];
    product->n = (size_t)b_shape[turn_b ? 0 : 1];
    if (b_shape[turn_b ? 1 : 0] != (int64_t)product->k) {
        return mdf_call_error(call, MDF_SHAPE, "A' has %zu columns but B' has %lld rows", product->k,
                              (long long)b_shape[turn_b ? 1 : 0]);
    }
    product->a_row = turn_a ? 1 : a_shape[1];
    product->a_column = turn_a ? a_shape[1] : 1;
    product->b_row = turn_b ? 1 : b_shape[1];
    product->b_column = turn_b ? b_shape[1] : 1;
    product->c_row = (int64_t)product->n;
    return true;
}

static bool gemm(struct mdf_call *call)
{
    const struct gemm_settings *settings = call->settings;
    const struct mdf_value *c = mdf_call_input(call, 2);
    struct mdf_product product = {.alpha = settings->alpha};
    struct addend addend = {.beta = settings->beta};
    struct mdf_workspace workspace;
    struct mdf_value *scratch, *kept;
    mdf_dtype dtype;

    if (!plan_gemm(call, &product) || (c != NULL && !place_addend(call, c, product.m, product.n, &addend))) {
        return false;
    }
    dtype = (mdf_dtype)call->inputs[0]->dtype;
    product.dtype = mdf_product_dtype(dtype);
    if (product.alpha != 1 || addend.beta != 1) {
        product.dtype = dtype == MDF_DTYPE_FLOAT64 || mdf_dtype_kind(dtype) != 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
    }
    if (!mdf_workspace_begin(&workspace, call, product.dtype, 6)) {
        return false;
    }
    product.a = mdf_workspace_input(&workspace, 0);
    product.b = mdf_workspace_input(&workspace, 1);
    addend.elements = c != NULL ? mdf_workspace_input(&workspace, 2) : NULL;
    product.c = mdf_workspace_output(&workspace, 0, dtype, 2, (const int64_t[2]){(int64_t)product.m, (int64_t)product.n});
    scratch = mdf_workspace_value(&workspace);
    kept = mdf_workspace_value(&workspace);
    if (product.a == NULL || product.b == NULL || product.c == NULL || scratch == NULL || kept == NULL ||
        (c != NULL && addend.elements == NULL)) {
        return false;
    }
    if (c != NULL) {
        fill(product.dtype, &addend, product.m, product.n, product.c);
        product.add = true;
    }
    if (mdf_call_is_constant(call, 1) && mdf_product_is_packed(&product) && !mdf_product_keep_b(call, kept, true, &product)) {
        return false;
    }
    return mdf_multiply(call, scratch, &product) && mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_matmul[] = {
    {"MatMul", 1, 99, mdf_matmul, NULL, 0, MDF_OPERATOR_PURE, NULL, .derivatives = mdf_derivatives_matmul,
     .form = MDF_FORM_MATMUL, .infer = &mdf_rule_matmul},
    {"Gemm", 1, 99, gemm, gemm_table, sizeof(struct gemm_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives =
         MDF_DERIVATIVES({0, "alpha * gradient.turn(numpy.matmul(dy, gradient.turn(x1, 1 - transB)), transA)"},
                         {1, "alpha * gradient.turn(numpy.matmul(gradient.turn(x0, 1 - transA), dy), transB)"}, {2, "beta * dy"}),
     .form = MDF_FORM_GEMM, .infer = &mdf_rule_gemm},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
