/* matrix_product.c - see matrix_product.h. */
#include "functions/products/matrix_product.h"

#include <string.h>

/* Size of axis `axis` of the batch axes of an operand, aligned at the right; 1 where it has none there. */
static int64_t batch_size(const struct mdf_value *operand, size_t axis, size_t n_axes)
{
    size_t n_own = operand->rank > 2 ? operand->rank - 2 : 0;

    return axis + n_own < n_axes ? 1 : mdf_value_shape(operand)[axis + n_own - n_axes];
}

static void batch_strides(const struct mdf_value *operand, size_t n_axes, size_t n_matrix, int64_t *strides)
{
    int64_t stride = (int64_t)n_matrix;

    for (size_t axis = n_axes; axis-- > 0;) {
        int64_t size = batch_size(operand, axis, n_axes);

        strides[axis] = size == 1 ? 0 : stride;
        stride *= size;
    }
}

static bool refuse(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b)
{
    char a_text[128], b_text[128];

    mdf_value_describe(a, a_text, sizeof a_text);
    mdf_value_describe(b, b_text, sizeof b_text);
    return mdf_call_error(call, MDF_SHAPE, "%s and %s can not be multiplied as matrices", a_text, b_text);
}

/* Shape of the result: batch axes, then rows and columns where the operands have them. */
static bool plan_shape(struct mdf_workspace *workspace, const struct mdf_value *a, const struct mdf_value *b,
                       struct mdf_matrix_product *plan, int64_t *shape)
{
    for (size_t axis = 0; axis < plan->n_batch_axes; axis++) {
        int64_t a_size = batch_size(a, axis, plan->n_batch_axes), b_size = batch_size(b, axis, plan->n_batch_axes);

        if (a_size != b_size && a_size != 1 && b_size != 1) {
            return refuse(workspace->call, a, b);
        }
        shape[axis] = a_size == 1 ? b_size : a_size;
    }
    plan->rank = plan->n_batch_axes;
    if (a->rank > 1) {
        shape[plan->rank++] = (int64_t)plan->m;
    }
    if (b->rank > 1) {
        shape[plan->rank++] = (int64_t)plan->n;
    }
    return mdf_workspace_product(workspace->call, shape, 0, plan->n_batch_axes, &plan->n_batches);
}

bool mdf_matrix_product_plan(struct mdf_workspace *workspace, const struct mdf_value *a, const struct mdf_value *b,
                             struct mdf_matrix_product *plan)
{
    size_t n_axes = a->rank > b->rank ? a->rank : b->rank;
    int64_t *axes = mdf_workspace_array(workspace, MDF_DTYPE_INT64, 3 * n_axes + 2), *a_strides, *b_strides;
    const int64_t *a_shape = mdf_value_shape(a), *b_shape = mdf_value_shape(b);

    if (axes == NULL) {
        return false;
    }
    if (a->rank == 0 || b->rank == 0 || a_shape[a->rank - 1] != b_shape[b->rank > 1 ? b->rank - 2 : 0]) {
        return refuse(workspace->call, a, b);
    }
    a_strides = axes + n_axes + 2;
    b_strides = a_strides + n_axes;
    plan->n_batch_axes = n_axes > 2 ? n_axes - 2 : 0;
    plan->m = a->rank > 1 ? (size_t)a_shape[a->rank - 2] : 1;
    plan->k = (size_t)a_shape[a->rank - 1];
    plan->n = b->rank > 1 ? (size_t)b_shape[b->rank - 1] : 1;
    if (!plan_shape(workspace, a, b, plan, axes)) {
        return false;
    }
    if (a->length > 0 && b->length > 0) {
        batch_strides(a, plan->n_batch_axes, plan->m * plan->k, a_strides);
        batch_strides(b, plan->n_batch_axes, plan->k * plan->n, b_strides);
    } else {
        memset(a_strides, 0, 2 * n_axes * sizeof *a_strides);
    }
    plan->dtype = workspace->dtype;
    plan->elements = MDF_PRODUCT_OF_NUMBERS;
    plan->shape = plan->batch_shape = axes;
    plan->a_strides = a_strides;
    plan->b_strides = b_strides;
    return true;
}

struct place {
    const struct mdf_matrix_product *plan;
    const char *a, *b;
    char *c;
    size_t size_bytes;
};

void mdf_matrix_product_place(const struct mdf_matrix_product *plan, size_t batch, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (size_t axis = plan->n_batch_axes; axis-- > 0;) {
        int64_t index = (int64_t)(batch % (size_t)plan->batch_shape[axis]);

        batch /= (size_t)plan->batch_shape[axis];
        *a += index * plan->a_strides[axis];
        *b += index * plan->b_strides[axis];
    }
}

static void locate(const void *context, size_t batch, struct mdf_product *product)
{
    const struct place *place = context;
    const struct mdf_matrix_product *plan = place->plan;
    int64_t a, b, size_bytes = (int64_t)place->size_bytes;

    mdf_matrix_product_place(plan, batch, &a, &b);
    product->a = place->a + a * size_bytes;
    product->b = place->b + b * size_bytes;
    product->c = place->c + batch * plan->m * plan->n * place->size_bytes;
}

/* Whether one matrix multiplies all of the first operand, whose batches then are further rows. */
static bool has_one_second(const struct mdf_matrix_product *plan)
{
    int64_t stride = (int64_t)(plan->m * plan->k);

    for (size_t axis = plan->n_batch_axes; axis-- > 0;) {
        if (plan->batch_shape[axis] != 1 && (plan->b_strides[axis] != 0 || plan->a_strides[axis] != stride)) {
            return false;
        }
        stride *= plan->batch_shape[axis];
    }
    return true;
}

bool mdf_matrix_product_run(struct mdf_workspace *workspace, const struct mdf_matrix_product *plan, const void *a, const void *b,
                            bool b_is_constant, void *c)
{
    struct mdf_product product = {.dtype = plan->dtype,
                                  .elements = plan->elements,
                                  .m = plan->m,
                                  .n = plan->n,
                                  .k = plan->k,
                                  .a = a,
                                  .b = b,
                                  .c = c,
                                  .alpha = 1};
    struct place place = {plan, a, b, c, mdf_dtype_size(plan->dtype)};
    struct mdf_value *scratch = mdf_workspace_value(workspace), *kept = mdf_workspace_value(workspace);

    if (scratch == NULL || kept == NULL) {
        return false;
    }
    if (plan->n_batches == 0 || plan->m == 0 || plan->n == 0) {
        return true;
    }
    product.a_row = (int64_t)plan->k;
    product.a_column = product.b_column = 1;
    product.b_row = product.c_row = (int64_t)plan->n;
    if (plan->k > 0 && has_one_second(plan)) {
        product.m *= plan->n_batches;
        if (b_is_constant && mdf_product_is_packed(&product) && !mdf_product_keep_b(workspace->call, kept, true, &product)) {
            return false;
        }
        return mdf_multiply(workspace->call, scratch, &product);
    }
    return mdf_multiply_batch(workspace->call, scratch, &product, plan->n_batches, locate, &place);
}
