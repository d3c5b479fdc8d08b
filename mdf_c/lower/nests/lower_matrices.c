/* lower_matrices.c - NEST ops for products of matrices: MatMul, Gemm, numpy's matmul and dot. See lowering.h.
 *
 * A product is a fold of products, in the order in which the kernel sums (functions/products/gemm/gemm.h). Nests that run here
 * are small ones in the bodies of loops; for C source all are nests. */
#include "mdf_c/lower/nests/matrices.h"
#include "mdf_c/lower/trial.h"

#include "functions/elements/element.h"

#include <string.h>

enum {
    FEWEST_PREPARED = 8, /* columns */
    MOST_PRODUCTS = 1 << 16,
    SMALL_MATRIX = 64 /* elements: to prepare a smaller one for products is not worth it */
};

/* ------------------------------------------------------------------ sums */

mdf_dtype matrices_dtype(mdf_dtype dtype)
{
    return mdf_dtype_is_real(dtype) ? dtype : mdf_dtype_is_whole(dtype) ? MDF_DTYPE_INT64 : MDF_DTYPE_NONE;
}

bool matrices_run_here(const struct mdf_product *product, size_t n)
{
    return mdf_dtype_kind(product->dtype) == 'f' && product->k > 0 && n <= MOST_PRODUCTS &&
           mdf_product_order(product) != MDF_PRODUCT_IN_BLOCKS;
}

/* A register gets all axes of what it is for, or the loops of another operand would not hold it; but one element stays one. */
static uint8_t widen(struct matrices *matrices, uint8_t in, unsigned axes)
{
    struct draft_step *step = &matrices->draft->steps[in];

    step->axes |= (uint8_t)(step->axes != 0 ? axes : 0);
    return in;
}

uint8_t matrices_load(struct matrices *matrices, const struct matrices_operand *operand, unsigned axes)
{
    struct mdf_nest_view view = {.id = operand->id, .at = MDF_NEST_NONE};
    uint8_t loaded = operand->strides == NULL ? draft_load(matrices->lowering, matrices->draft, operand->id, operand->axes)
                                              : draft_load_elements(matrices->lowering, matrices->draft, &view, operand->rank,
                                                                    operand->axes, operand->strides);

    uint8_t cast = draft_cast(matrices->draft, loaded, matrices->dtype);

    return cast != loaded ? widen(matrices, cast, axes) : cast;
}

/* A function of two registers, over axes of its own. */
static uint8_t apply(struct matrices *matrices, const struct mdf_element *element, uint8_t a, uint8_t b, unsigned axes)
{
    uint8_t made = draft_apply(matrices->lowering, matrices->draft, element, (const uint8_t[]){a, b});

    return matrices->draft->has_failed ? 0 : widen(matrices, made, axes);
}

static uint8_t number(struct matrices *matrices, double real)
{
    return draft_number(matrices->lowering, matrices->draft, matrices->dtype, real);
}

static bool is_scaled(const struct matrices *matrices)
{
    return matrices->alpha < 1 || matrices->alpha > 1;
}

static uint8_t scale(struct matrices *matrices, uint8_t x, unsigned axes)
{
    return is_scaled(matrices) ? apply(matrices, MDF_ELEMENT(multiply), number(matrices, matrices->alpha), x, axes) : x;
}

/* What the sum is added to, or, in place of 0, is one. */
static uint8_t add_start(struct matrices *matrices, uint8_t sum)
{
    return matrices->start == MDF_NEST_NONE ? sum : apply(matrices, MDF_ELEMENT(add), matrices->start, sum, 0);
}

static uint8_t add_to_zero(struct matrices *matrices, uint8_t sum)
{
    return apply(matrices, MDF_ELEMENT(add), number(matrices, 0), sum, 0);
}

/* fma(x, y, 0): the product, but for one that is exactly 0, which is no -0. */
static uint8_t multiply_to_zero(struct matrices *matrices, uint8_t x, uint8_t y)
{
    struct nest_draft *draft = matrices->draft;
    uint8_t product = apply(matrices, MDF_ELEMENT(multiply), x, y, 0), zero = number(matrices, 0), in[MDF_MAX_OPERANDS];
    unsigned all = (1u << draft->n_axes) - 1;

    in[0] = apply(matrices, MDF_ELEMENT(logical_or), apply(matrices, MDF_ELEMENT(equal), x, zero, all),
                  apply(matrices, MDF_ELEMENT(equal), y, zero, all), 0);
    in[1] = add_to_zero(matrices, product);
    in[2] = product;
    return draft_apply(matrices->lowering, draft, MDF_ELEMENT(select), in);
}

/* Of one product. */
static uint8_t sum_one(struct matrices *matrices, uint8_t x, uint8_t y)
{
    bool is_fused = matrices->order == MDF_PRODUCT_IN_BLOCKS && mdf_product_is_fused(matrices->dtype);
    uint8_t sum;

    if (is_fused) {
        return add_start(matrices, multiply_to_zero(matrices, x, y));
    }
    sum = apply(matrices, MDF_ELEMENT(multiply), x, y, 0);
    if (matrices->order == MDF_PRODUCT_DOT) {
        sum = scale(matrices, add_to_zero(matrices, sum), 0);
    }
    return matrices->start != MDF_NEST_NONE ? add_start(matrices, sum) : add_to_zero(matrices, sum);
}

/* Whether the axes that are summed are as many as their order has. */
static void need_one_axis(struct matrices *matrices)
{
    matrices->draft->has_failed = matrices->draft->has_failed || matrices->n_summed != 1;
}

static uint8_t begin_with_start(struct matrices *matrices, uint8_t sum)
{
    struct mdf_nest_step *step = &matrices->draft->steps[sum].step;

    if (matrices->start != MDF_NEST_NONE) {
        step->has_start = true;
        step->in[step->n_in++] = matrices->start;
    }
    return sum;
}

static uint8_t sum_dot(struct matrices *matrices, uint8_t product, size_t n)
{
    unsigned lanes = n < MDF_DOT_PARTS ? 1 : MDF_DOT_PARTS;
    uint8_t sum;

    if (lanes > 1) {
        need_one_axis(matrices);
    }
    sum = draft_fold(matrices->draft, MDF_NEST_SUM, product, matrices->n_summed, matrices->summed, lanes);
    matrices->draft->steps[sum].step.order = lanes > 1 && n % MDF_DOT_PARTS != 0 ? MDF_NEST_WITH_REST : MDF_NEST_IN_LANES;
    sum = scale(matrices, sum, 0);
    return matrices->start == MDF_NEST_NONE && is_scaled(matrices) ? add_to_zero(matrices, sum) : add_start(matrices, sum);
}

static uint8_t sum_blocks(struct matrices *matrices, uint8_t product, size_t n)
{
    uint8_t sum = draft_fold(matrices->draft, MDF_NEST_SUM, product, matrices->n_summed, matrices->summed, 1);

    matrices->draft->steps[sum].step.is_fused = mdf_product_is_fused(matrices->dtype);
    if (n <= MDF_PRODUCT_DEPTH) {
        return add_start(matrices, sum);
    }
    need_one_axis(matrices);
    matrices->draft->steps[sum].step.order = MDF_NEST_IN_DEPTHS;
    return begin_with_start(matrices, sum);
}

uint8_t matrices_sum(struct matrices *matrices, const struct matrices_operand *a, const struct matrices_operand *b)
{
    struct nest_draft *draft = matrices->draft;
    unsigned all = (1u << draft->n_axes) - 1;
    uint8_t x, y;
    size_t n = 1;

    if (matrices->is_empty) {
        return matrices->start != MDF_NEST_NONE ? matrices->start : number(matrices, 0);
    }
    x = matrices_load(matrices, a, all);
    y = matrices_load(matrices, b, all);
    if (matrices->order == MDF_PRODUCT_TURNED) {
        y = scale(matrices, y, all);
    } else if (matrices->order != MDF_PRODUCT_DOT) {
        x = scale(matrices, x, all);
    }
    if (matrices->n_summed == 0) {
        return sum_one(matrices, x, y);
    }
    x = apply(matrices, MDF_ELEMENT(multiply), x, y, all);
    if (draft->has_failed) {
        return 0;
    }
    for (size_t i = 0; i < matrices->n_summed; i++) {
        n *= draft->extents[matrices->summed[i]];
    }
    switch (mdf_dtype_kind(matrices->dtype) == 'f' ? matrices->order : MDF_PRODUCT_IN_ORDER) {
    case MDF_PRODUCT_DOT:
        return sum_dot(matrices, x, n);
    case MDF_PRODUCT_IN_BLOCKS:
        return sum_blocks(matrices, x, n);
    case MDF_PRODUCT_IN_ORDER:
    case MDF_PRODUCT_TURNED:
        break;
    }
    return begin_with_start(matrices, draft_fold(draft, MDF_NEST_SUM, x, matrices->n_summed, matrices->summed, 1));
}

/* ------------------------------------------------------------------ MatMul */

/* One product of two arrays. */
struct multiplying {
    struct matrices matrices;
    const struct trial *trial;
    const struct mdf_value *a, *b, *result;
    struct mdf_product product;
    struct matrices_operand left, right;
    uint8_t axes[MDF_INLINE_RANK]; /* of the result's dimensions */
};

static bool begin(struct lowering *lowering, const struct trial *trial, struct multiplying *multiplying)
{
    const struct mdf_value *result = &trial->results[0];

    *multiplying = (struct multiplying){.trial = trial, .a = trial->effective[0], .b = trial->effective[1], .result = result};
    multiplying->matrices = (struct matrices){.lowering = lowering,
                                              .draft = draft_new(lowering),
                                              .dtype = matrices_dtype((mdf_dtype)result->dtype),
                                              .alpha = 1,
                                              .start = MDF_NEST_NONE};
    multiplying->left.id = trial->ids[0];
    multiplying->right.id = trial->ids[1];
    multiplying->product.dtype = multiplying->matrices.dtype;
    multiplying->product.alpha = 1;
    return multiplying->matrices.draft != NULL && multiplying->matrices.dtype != MDF_DTYPE_NONE && result->length > 0 &&
           result->rank <= MDF_INLINE_RANK && matrices_dtype((mdf_dtype)multiplying->a->dtype) != MDF_DTYPE_NONE &&
           matrices_dtype((mdf_dtype)multiplying->b->dtype) != MDF_DTYPE_NONE && !lowering->facts[trial->ids[0]].is_open &&
           !lowering->facts[trial->ids[1]].is_open;
}

static mdf_lowered_id finish(struct multiplying *multiplying)
{
    struct matrices *matrices = &multiplying->matrices;
    uint8_t sum;

    matrices->order = mdf_product_order(&multiplying->product);
    matrices->is_empty = multiplying->product.k == 0;
    sum = matrices_sum(matrices, &multiplying->left, &multiplying->right);
    if (matrices->draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    sum = draft_cast(matrices->draft, sum, (mdf_dtype)multiplying->result->dtype);
    return lowering_add_nest(matrices->lowering, matrices->draft, sum, multiplying->result, multiplying->axes);
}

/* An axis that is summed. */
static uint8_t add_summed(struct matrices *matrices, int64_t n)
{
    uint8_t axis = n == 0 ? DRAFT_NO_AXIS : draft_axis(matrices->draft, n);

    if (axis != DRAFT_NO_AXIS) {
        matrices->summed[matrices->n_summed++] = axis;
    }
    return axis;
}

/* The sizes of a product by numpy.matmul. Where all rows of the first operand meet one matrix, they are rows of one product. */
static void measure(struct multiplying *multiplying)
{
    const struct mdf_value *a = multiplying->a, *b = multiplying->b;
    const int64_t *a_shape = mdf_value_shape(a), *b_shape = mdf_value_shape(b);
    struct mdf_product *product = &multiplying->product;
    size_t i;

    product->m = a->rank > 1 ? (size_t)a_shape[a->rank - 2] : 1;
    product->k = (size_t)a_shape[a->rank - 1];
    product->n = b->rank > 1 ? (size_t)b_shape[b->rank - 1] : 1;
    for (i = 0; i + 2 < b->rank && b_shape[i] == 1; i++) {
    }
    if (i + 2 >= b->rank && product->k > 0) {
        product->m = a->length / product->k;
    }
    product->a_row = (int64_t)product->k;
    product->b_row = product->c_row = (int64_t)product->n;
    product->a_column = product->b_column = 1;
}

/* The axes of an operand's dimensions: of the batch, and of its matrix. */
static void find_axes(const struct mdf_value *value, const uint8_t *batch, size_t n_batch, size_t n_matrix, const uint8_t *matrix,
                      struct matrices_operand *operand)
{
    size_t n_own = value->rank - n_matrix;

    for (size_t i = 0; i < value->rank; i++) {
        operand->axes[i] = i >= n_own                       ? matrix[i - n_own]
                           : mdf_value_shape(value)[i] == 1 ? DRAFT_NO_AXIS
                                                            : batch[i + n_batch - n_own];
    }
}

/* Whether a nest that runs here is as fast as the kernel, or faster. */
static bool is_worth_it(const struct multiplying *multiplying)
{
    const struct mdf_product *product = &multiplying->product;

    return multiplying->a->dtype == multiplying->result->dtype && multiplying->b->dtype == multiplying->result->dtype &&
           mdf_dtype_kind((mdf_dtype)multiplying->result->dtype) == 'f' &&
           matrices_run_here(product, multiplying->result->length * product->k);
}

static mdf_lowered_id add_matmul(struct multiplying *multiplying)
{
    const struct mdf_value *a = multiplying->a, *b = multiplying->b, *result = multiplying->result;
    struct nest_draft *draft = multiplying->matrices.draft;
    size_t n_batch = (size_t)result->rank - (a->rank > 1) - (b->rank > 1), i;
    uint8_t k, m = DRAFT_NO_AXIS, n = DRAFT_NO_AXIS;

    measure(multiplying);
    if (!multiplying->matrices.lowering->is_for_source && !is_worth_it(multiplying)) {
        return MDF_LOWERED_NONE;
    }
    for (i = 0; i < result->rank; i++) {
        multiplying->axes[i] = draft_axis(draft, mdf_value_shape(result)[i]);
        m = i == n_batch && a->rank > 1 ? multiplying->axes[i] : m;
        n = i + 1u == result->rank && b->rank > 1 ? multiplying->axes[i] : n;
    }
    k = add_summed(&multiplying->matrices, (int64_t)multiplying->product.k);
    find_axes(a, multiplying->axes, n_batch, a->rank > 1 ? 2 : 1, a->rank > 1 ? (const uint8_t[]){m, k} : &k, &multiplying->left);
    find_axes(b, multiplying->axes, n_batch, b->rank > 1 ? 2 : 1, b->rank > 1 ? (const uint8_t[]){k, n} : &k,
              &multiplying->right);
    return finish(multiplying);
}

/* ------------------------------------------------------------------ Gemm */

static double real_setting(const struct trial *trial, const char *name)
{
    const double *given = mdf_code_setting(trial->source, name);

    return given == NULL ? 1 : *given;
}

static bool is_turned(const struct trial *trial, const char *name)
{
    const int64_t *given = mdf_code_setting(trial->source, name);

    return given != NULL && *given != 0;
}

/* beta C is what totals begin with; false: it has no form here. */
static bool add_addend(struct multiplying *multiplying)
{
    const struct trial *trial = multiplying->trial;
    struct matrices *matrices = &multiplying->matrices;
    struct matrices_operand addend = {.id = trial->n > 2 ? trial->ids[2] : MDF_LOWERED_NONE};
    double beta = real_setting(trial, "beta");
    unsigned axes = 0;

    for (size_t d = 0; d < 2; d++) {
        axes |= multiplying->axes[d] != DRAFT_NO_AXIS ? 1u << multiplying->axes[d] : 0;
    }
    if (addend.id == MDF_LOWERED_NONE) {
        return true;
    }
    if (trial->effective[2]->dtype != multiplying->result->dtype || matrices->lowering->facts[addend.id].is_open ||
        !draft_align(trial->effective[2], multiplying->result, multiplying->axes, addend.axes)) {
        return false;
    }
    matrices->start = matrices_load(matrices, &addend, axes);
    if (beta < 1 || beta > 1) {
        matrices->start = apply(matrices, MDF_ELEMENT(multiply), number(matrices, beta), matrices->start, axes);
    }
    multiplying->product.add = true;
    return true;
}

static mdf_lowered_id add_gemm(struct multiplying *multiplying)
{
    const struct trial *trial = multiplying->trial;
    struct mdf_product *product = &multiplying->product;
    bool turns_a = is_turned(trial, "transA"), turns_b = is_turned(trial, "transB");
    const int64_t *a_shape = mdf_value_shape(multiplying->a), *b_shape = mdf_value_shape(multiplying->b);
    const int64_t *shape = mdf_value_shape(multiplying->result);
    uint8_t k;

    product->alpha = multiplying->matrices.alpha = real_setting(trial, "alpha");
    if (mdf_dtype_kind(product->dtype) != 'f' &&
        (is_scaled(&multiplying->matrices) || real_setting(trial, "beta") < 1 || real_setting(trial, "beta") > 1)) {
        product->dtype = multiplying->matrices.dtype = MDF_DTYPE_FLOAT64; /* whole numbers with factors are converted */
    }
    product->m = (size_t)shape[0];
    product->n = (size_t)shape[1];
    product->k = (size_t)a_shape[turns_a ? 0 : 1];
    product->a_row = turns_a ? 1 : a_shape[1];
    product->a_column = turns_a ? a_shape[1] : 1;
    product->b_row = turns_b ? 1 : b_shape[1];
    product->b_column = turns_b ? b_shape[1] : 1;
    product->c_row = shape[1];
    if (!multiplying->matrices.lowering->is_for_source && !is_worth_it(multiplying)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t d = 0; d < 2; d++) {
        multiplying->axes[d] = draft_axis(multiplying->matrices.draft, shape[d]);
    }
    k = add_summed(&multiplying->matrices, (int64_t)product->k);
    multiplying->left.axes[turns_a ? 1 : 0] = multiplying->axes[0];
    multiplying->left.axes[turns_a ? 0 : 1] = multiplying->right.axes[turns_b ? 1 : 0] = k;
    multiplying->right.axes[turns_b ? 0 : 1] = multiplying->axes[1];
    return add_addend(multiplying) ? finish(multiplying) : MDF_LOWERED_NONE;
}

/* ------------------------------------------------------------------ lines */

static mdf_lowered_id add_product_of_lines(struct multiplying *multiplying)
{
    struct mdf_product *product = &multiplying->product;
    const int64_t *shape = mdf_value_shape(multiplying->result);
    const int64_t left[] = {shape[0], 1}, right[] = {shape[1], 1};
    uint8_t k;

    if (multiplying->a->dtype != multiplying->result->dtype || multiplying->b->dtype != multiplying->result->dtype ||
        mdf_dtype_kind(product->dtype) != 'f') {
        return MDF_LOWERED_NONE;
    }
    mdf_product_of_lines(product, multiplying->a->length, shape[0], shape[1]);
    if (!multiplying->matrices.lowering->is_for_source && !is_worth_it(multiplying)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t d = 0; d < 2; d++) {
        multiplying->axes[d] = draft_axis(multiplying->matrices.draft, shape[d]);
    }
    k = add_summed(&multiplying->matrices, (int64_t)product->k);
    multiplying->left.rank = multiplying->right.rank = 2;
    multiplying->left.axes[0] = multiplying->right.axes[0] = k;
    multiplying->left.axes[1] = multiplying->axes[0];
    multiplying->right.axes[1] = multiplying->axes[1];
    multiplying->left.strides = left;
    multiplying->right.strides = right;
    return finish(multiplying);
}

/* ------------------------------------------------------------------ calls */

/* A product whose second matrix stays while a loop runs is prepared before it (lower_product.c). Not one of few columns, which
 * make no vectors: a nest goes along the rows of the first one. */
static bool is_prepared(const struct lowering *lowering, const struct trial *trial)
{
    const struct mdf_value *a = trial->effective[0], *b = trial->effective[1];
    bool is_narrow =
        b->rank == 2 && mdf_value_shape(b)[1] < FEWEST_PREPARED && a->length >= FEWEST_PREPARED * (size_t)mdf_value_shape(b)[0];

    return b->rank == 2 && b->length > SMALL_MATRIX && !is_narrow &&
           lowering->facts[trial->ids[1]].depth < lowering->region->depth;
}

/* Outside of loops a product pays as a nest only where the call costs more than what it computes. */
static bool is_large_outside(const struct lowering *lowering, const struct trial *trial)
{
    return lowering->region->kind == REGION_WHOLE &&
           (trial->effective[0]->length > SMALL_MATRIX || trial->effective[1]->length > SMALL_MATRIX);
}

static bool has_matrices(const struct trial *trial)
{
    return trial->n >= 2 && trial->ids[0] != MDF_LOWERED_NONE && trial->ids[1] != MDF_LOWERED_NONE &&
           trial->effective[0]->kind == MDF_KIND_TENSOR && trial->effective[1]->kind == MDF_KIND_TENSOR &&
           trial->effective[0]->rank > 0 && trial->effective[1]->rank > 0;
}

mdf_lowered_id lowering_multiply(struct lowering *lowering, const struct trial *trial)
{
    enum mdf_form form = trial->source->operator->form;
    bool runs_here = !lowering->is_for_source;
    struct multiplying multiplying;
    mdf_lowered_id sparse = MDF_LOWERED_NONE;

    if ((form == MDF_FORM_MATMUL || form == MDF_FORM_DOT) && runs_here && has_matrices(trial)) {
        sparse = lowering_multiply_sparse(lowering, trial);
    }
    if (sparse != MDF_LOWERED_NONE || lowering_has_failed(lowering)) {
        return sparse;
    }
    if ((form != MDF_FORM_MATMUL && form != MDF_FORM_DOT && form != MDF_FORM_GEMM && form != MDF_FORM_PRODUCT_OF_LINES) ||
        !has_matrices(trial) || (form == MDF_FORM_DOT && trial->effective[1]->rank > 2) ||
        (runs_here && (is_large_outside(lowering, trial) || is_prepared(lowering, trial))) ||
        !begin(lowering, trial, &multiplying)) {
        return MDF_LOWERED_NONE;
    }
    return form == MDF_FORM_GEMM               ? add_gemm(&multiplying)
           : form == MDF_FORM_PRODUCT_OF_LINES ? add_product_of_lines(&multiplying)
                                               : add_matmul(&multiplying);
}
