/* lower_einsum.c - NEST ops for Einsum: each term joins those before it in one nest, as the kernel has it
 * (functions/products/einsum.h); what it lays out is read where it lies. See lowering.h. */
#include "mdf_c/lower/nests/matrices.h"
#include "mdf_c/lower/trial.h"

#include "functions/elements/vectors/vector_rows.h"
#include "functions/products/einsum.h"

#include <string.h>

/* An array with labels. */
struct term {
    mdf_lowered_id id;
    int64_t *strides; /* of each label; ABSENT where it has none */
};

struct joining {
    struct lowering *lowering;
    const struct trial *trial;
    struct mdf_einsum einsum;
    struct term left, right;
    struct mdf_einsum_order a, b;
    struct mdf_product product;
    bool is_last;
};

/* The axes of labels in a draft; DRAFT_NO_AXIS: of size 1, or not there. */
struct label_axes {
    struct nest_draft *draft;
    uint8_t *axes; /* of each label */
};

/* ------------------------------------------------------------------ memory */

static int64_t *new_labels(struct joining *joining)
{
    int64_t *labels = mdf_arena_array(&joining->lowering->scratch, joining->einsum.n_labels, sizeof *labels);

    if (labels == NULL) {
        lowering_out_of_memory(joining->lowering);
    }
    return labels;
}

static bool begin_axes(struct joining *joining, struct label_axes *axes)
{
    axes->draft = draft_new(joining->lowering);
    axes->axes = mdf_arena_array(&joining->lowering->scratch, joining->einsum.n_labels, sizeof *axes->axes);
    if (axes->draft == NULL || axes->axes == NULL) {
        return lowering_out_of_memory(joining->lowering);
    }
    memset(axes->axes, DRAFT_NO_AXIS, joining->einsum.n_labels);
    return true;
}

static void add_axes(const struct joining *joining, struct label_axes *axes, const int64_t *labels, size_t n)
{
    for (; n > 0; n--, labels++) {
        axes->axes[*labels] = draft_axis(axes->draft, joining->einsum.sizes[*labels]);
    }
}

/* ------------------------------------------------------------------ operands and results */

/* Those of its labels that have an axis; strides has room for as many. False: there are too many. */
static bool find_operand(const struct joining *joining, const struct label_axes *axes, const struct term *term, int64_t *strides,
                         struct matrices_operand *operand)
{
    *operand = (struct matrices_operand){.id = term->id, .strides = strides};
    for (size_t label = 0; label < joining->einsum.n_labels; label++) {
        if (term->strides[label] == MDF_EINSUM_ABSENT || axes->axes[label] == DRAFT_NO_AXIS) {
            continue;
        }
        if (operand->rank == MDF_NEST_MOST_AXES) {
            return false;
        }
        operand->axes[operand->rank] = axes->axes[label];
        strides[operand->rank++] = term->strides[label];
    }
    return true;
}

/* `term` becomes an array of these labels in order, with the register as its elements. */
static bool store_term(struct joining *joining, const struct label_axes *axes, uint8_t in, const int64_t *labels, size_t n,
                       struct term *term)
{
    uint8_t stored[MDF_NEST_MOST_AXES];
    int64_t strides[MDF_NEST_MOST_AXES], *own = new_labels(joining), stride = 1;
    size_t rank = 0;

    if (own == NULL) {
        return false;
    }
    for (size_t i = 0; i < joining->einsum.n_labels; i++) {
        own[i] = MDF_EINSUM_ABSENT;
    }
    for (size_t i = n; i-- > 0;) {
        own[labels[i]] = stride;
        if (axes->axes[labels[i]] != DRAFT_NO_AXIS && rank < MDF_NEST_MOST_AXES) {
            stored[rank] = axes->axes[labels[i]];
            strides[rank++] = stride;
        }
        stride *= joining->einsum.sizes[labels[i]];
    }
    term->strides = own;
    term->id = axes->draft->has_failed
                   ? MDF_LOWERED_NONE
                   : lowering_add_computed_nest(joining->lowering, axes->draft, in, (size_t)stride, rank, stored, strides);
    return term->id != MDF_LOWERED_NONE;
}

static mdf_lowered_id store_result(struct joining *joining, const struct label_axes *axes, uint8_t in)
{
    const struct mdf_value *result = &joining->trial->results[0];
    uint8_t dimensions[MDF_INLINE_RANK];

    if (axes->draft->has_failed) {
        return MDF_LOWERED_NONE;
    }
    for (size_t d = 0; d < result->rank; d++) {
        dimensions[d] = axes->axes[joining->einsum.result[d]];
    }
    return lowering_add_nest(joining->lowering, axes->draft, draft_cast(axes->draft, in, (mdf_dtype)result->dtype), result,
                             dimensions);
}

/* ------------------------------------------------------------------ laying out */

static bool has_label(const int64_t *labels, size_t n, size_t label)
{
    size_t i;

    for (i = 0; i < n && labels[i] != (int64_t)label; i++) {
    }
    return i < n;
}

/* A term's element, summed over what it has beside `labels`: in float64, or whole numbers. */
static bool sum_rest(struct joining *joining, struct label_axes *axes, const struct term *term, const int64_t *labels, size_t n,
                     uint8_t *sum)
{
    struct matrices matrices = {.lowering = joining->lowering, .draft = axes->draft, .dtype = joining->product.dtype};
    struct matrices_operand operand;
    int64_t strides[MDF_NEST_MOST_AXES];
    uint8_t summed[MDF_NEST_MOST_AXES];
    size_t n_summed = 0;
    unsigned n_lanes = 1;

    add_axes(joining, axes, labels, n);
    for (size_t label = 0; label < joining->einsum.n_labels; label++) {
        if (term->strides[label] != MDF_EINSUM_ABSENT && !has_label(labels, n, label)) {
            axes->axes[label] = draft_axis(axes->draft, joining->einsum.sizes[label]);
            if (axes->axes[label] != DRAFT_NO_AXIS) {
                summed[n_summed++] = axes->axes[label];
                n_lanes = n_summed == 1 && term->strides[label] == 1 ? MDF_SUM_PARTS : 1;
            }
        }
    }
    if (axes->draft->has_failed || !find_operand(joining, axes, term, strides, &operand)) {
        return false;
    }
    *sum = matrices_load(&matrices, &operand, 0);
    if (n_summed > 0) {
        mdf_dtype wide = mdf_dtype_kind(matrices.dtype) == 'f' ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;

        *sum = draft_cast(axes->draft, *sum, wide);
        axes->draft->steps[*sum].axes = (uint8_t)((1u << axes->draft->n_axes) - 1);
        *sum = draft_cast(axes->draft,
                          draft_fold(axes->draft, MDF_NEST_SUM, *sum, n_summed, summed, wide == MDF_DTYPE_FLOAT64 ? n_lanes : 1),
                          matrices.dtype);
    }
    return true;
}

static bool lay_out(struct joining *joining, struct term *term, const struct mdf_einsum_order *order)
{
    struct label_axes axes;
    uint8_t sum;

    return begin_axes(joining, &axes) && sum_rest(joining, &axes, term, order->labels, order->n, &sum) &&
           store_term(joining, &axes, sum, order->labels, order->n, term);
}

/* Whether a term has labels that are in no other one, nor in the result. */
static bool has_rest(const struct joining *joining, const struct term *term, const struct mdf_einsum_order *order)
{
    for (size_t label = 0; label < joining->einsum.n_labels; label++) {
        if (term->strides[label] != MDF_EINSUM_ABSENT && !has_label(order->labels, order->n, label)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------ sums over several labels */

/* Whether the labels that are summed are one axis for a term: the last of them, gone on with. */
static bool is_one_axis(const struct joining *joining, const struct term *term, const int64_t *labels, size_t n)
{
    int64_t stride = n > 0 ? term->strides[labels[n - 1]] : 0;

    for (size_t i = n; i-- > 0;) {
        if (joining->einsum.sizes[labels[i]] != 1 && term->strides[labels[i]] != stride) {
            return false;
        }
        stride *= joining->einsum.sizes[labels[i]];
    }
    return true;
}

/* Where the order of a sum wants one axis, what does not lie so is laid out before. */
static bool join_summed(struct joining *joining, const int64_t *labels, size_t n)
{
    struct term *const terms[] = {&joining->left, &joining->right};
    const struct mdf_einsum_order *const orders[] = {&joining->a, &joining->b};

    for (size_t i = 0; i < 2; i++) {
        struct mdf_einsum_order order = *orders[i];
        int64_t *kept = new_labels(joining);

        if (kept == NULL) {
            return false;
        }
        if (is_one_axis(joining, terms[i], labels, n)) {
            continue;
        }
        for (size_t k = order.n = 0; k < orders[i]->n; k++) { /* the sums last */
            if (!has_label(labels, n, (size_t)orders[i]->labels[k])) {
                kept[order.n++] = orders[i]->labels[k];
            }
        }
        memcpy(kept + order.n, labels, n * sizeof *kept);
        order.labels = kept;
        order.n += n;
        if (!lay_out(joining, terms[i], &order)) {
            return false;
        }
    }
    return true;
}

/* The axes that are summed. */
static bool add_summed(struct joining *joining, struct label_axes *axes, struct matrices *matrices)
{
    const int64_t *labels = joining->a.labels + joining->a.first_column;
    size_t n = joining->a.n - joining->a.first_column, n_axes = 0, k = joining->product.k, i;
    bool needs_one = matrices->order == MDF_PRODUCT_IN_BLOCKS ? k > MDF_PRODUCT_DEPTH
                                                              : matrices->order == MDF_PRODUCT_DOT && k >= MDF_DOT_PARTS;

    for (i = 0; i < n; i++) {
        n_axes += joining->einsum.sizes[labels[i]] != 1;
    }
    if (needs_one && n_axes > 1) {
        if (!join_summed(joining, labels, n)) {
            return false;
        }
        for (i = n; joining->einsum.sizes[labels[i - 1]] == 1; i--) {
        }
        axes->axes[labels[i - 1]] = draft_axis(axes->draft, (int64_t)k); /* which stands for all */
    } else {
        add_axes(joining, axes, labels, n);
    }
    for (i = 0; i < n; i++) {
        if (axes->axes[labels[i]] != DRAFT_NO_AXIS) {
            matrices->summed[matrices->n_summed++] = axes->axes[labels[i]];
        }
    }
    return !axes->draft->has_failed;
}

/* ------------------------------------------------------------------ joining */

/* The product of both terms, with axes for its labels. */
static bool multiply(struct joining *joining, struct label_axes *axes, uint8_t *sum)
{
    const struct mdf_einsum_order *a = &joining->a, *b = &joining->b;
    int64_t strides[2][MDF_NEST_MOST_AXES];
    struct matrices_operand left, right;
    struct matrices matrices = {.lowering = joining->lowering,
                                .draft = axes->draft,
                                .dtype = joining->product.dtype,
                                .order = mdf_product_order(&joining->product),
                                .alpha = 1,
                                .start = MDF_NEST_NONE};

    if (has_rest(joining, &joining->left, a) && !lay_out(joining, &joining->left, a)) {
        return false;
    }
    if (has_rest(joining, &joining->right, b) && !lay_out(joining, &joining->right, b)) {
        return false;
    }
    add_axes(joining, axes, a->labels, a->first_column);
    add_axes(joining, axes, b->labels + b->first_column, b->n - b->first_column);
    if (!add_summed(joining, axes, &matrices) || !find_operand(joining, axes, &joining->left, strides[0], &left) ||
        !find_operand(joining, axes, &joining->right, strides[1], &right)) {
        return false;
    }
    *sum = matrices_sum(&matrices, &left, &right);
    return !axes->draft->has_failed;
}

/* `left` becomes its product with term number `next`, or, with the last one, the result. NONE: it does not. */
static mdf_lowered_id join(struct joining *joining, size_t next)
{
    struct mdf_einsum *einsum = &joining->einsum;
    const struct mdf_einsum_operand left = {.strides = joining->left.strides};
    struct mdf_einsum_operand right = {.strides = einsum->term_strides + next * einsum->n_labels};
    mdf_dtype dtype = joining->product.dtype;
    int64_t *order = new_labels(joining);
    struct label_axes axes;
    size_t n_batches, n;
    uint8_t sum;

    joining->right = (struct term){joining->trial->ids[next], right.strides};
    joining->a.labels = new_labels(joining);
    joining->b.labels = new_labels(joining);
    if (order == NULL || joining->a.labels == NULL || joining->b.labels == NULL || !begin_axes(joining, &axes) ||
        !mdf_einsum_join(einsum, &left, &right, next, &joining->a, &joining->b, &n_batches, &joining->product)) {
        return MDF_LOWERED_NONE;
    }
    joining->product.dtype = dtype;
    n = n_batches * joining->product.m * joining->product.n * joining->product.k;
    if (n == 0 || (!joining->lowering->is_for_source && !matrices_run_here(&joining->product, n)) ||
        !multiply(joining, &axes, &sum)) {
        return MDF_LOWERED_NONE;
    }
    if (next + 1 == einsum->n_terms) {
        return store_result(joining, &axes, sum);
    }
    n = joining->a.first_column;
    memcpy(order, joining->a.labels, n * sizeof *order);
    memcpy(order + n, joining->b.labels + joining->b.first_column, (joining->b.n - joining->b.first_column) * sizeof *order);
    n += joining->b.n - joining->b.first_column;
    return store_term(joining, &axes, sum, order, n, &joining->left) ? joining->left.id : MDF_LOWERED_NONE;
}

static mdf_lowered_id add_einsum(struct joining *joining)
{
    struct mdf_einsum *einsum = &joining->einsum;
    mdf_lowered_id id = MDF_LOWERED_NONE;
    struct label_axes axes;
    uint8_t sum;

    joining->left = (struct term){joining->trial->ids[0], einsum->term_strides};
    if (einsum->n_terms == 1) {
        return begin_axes(joining, &axes) && sum_rest(joining, &axes, &joining->left, einsum->result, einsum->n_result, &sum)
                   ? store_result(joining, &axes, sum)
                   : MDF_LOWERED_NONE;
    }
    for (size_t next = 1; next < einsum->n_terms; next++) {
        id = join(joining, next);
        if (id == MDF_LOWERED_NONE) {
            break;
        }
    }
    return id;
}

static bool has_operands(const struct lowering *lowering, const struct trial *trial)
{
    for (size_t i = 0; i < trial->n; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || trial->effective[i]->kind != MDF_KIND_TENSOR ||
            trial->effective[i]->length == 0 || trial->effective[i]->dtype != trial->results[0].dtype ||
            lowering->facts[trial->ids[i]].is_open) {
            return false;
        }
    }
    return trial->n > 0 && trial->results[0].length > 0 && trial->results[0].rank <= MDF_INLINE_RANK &&
           matrices_dtype((mdf_dtype)trial->results[0].dtype) != MDF_DTYPE_NONE;
}

mdf_lowered_id lowering_einsum(struct lowering *lowering, struct trial *trial)
{
    struct joining joining = {.lowering = lowering, .trial = trial};
    struct mdf_context *context = &lowering->execution->context;
    struct mdf_workspace workspace;
    bool begun;

    if ((!lowering->is_for_source && lowering->region->kind != REGION_BODY) ||
        trial->source->operator->form != MDF_FORM_EINSUM || !has_operands(lowering, trial)) {
        return MDF_LOWERED_NONE;
    }
    begun = mdf_einsum_begin(&workspace, &trial->call, &joining.einsum);
    joining.product.dtype = matrices_dtype((mdf_dtype)trial->results[0].dtype);
    if (!begun) {
        if (context->error.code == MDF_OUT_OF_MEMORY) {
            lowering_out_of_memory(lowering);
        }
        return MDF_LOWERED_NONE;
    }
    return add_einsum(&joining);
}
