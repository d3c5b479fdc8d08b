/* lower_sparse.c - NEST ops for products of a vector and a constant matrix most elements of which are 0: one-hot rows, diagonals,
 * bands, identities. See lowering.h.
 *
 * Only what is not 0 is multiplied: element i of the result is a sum of a few terms, weight t of row i times the element of the
 * vector that it belongs to, which is found by a constant row of indices, or lies as far from i in all rows. The bits are those
 * of the whole product where 0 times each element is 0, and the sums have the same order: so the vector has whole numbers or
 * truths, of which none is infinite or NaN, as spikes are; and more than two terms are summed only where the kernel sums one by
 * one. */
#include "mdf_c/lower/nests/matrices.h"
#include "mdf_c/lower/trial.h"

#include "functions/elements/element.h"

#include <math.h>

enum {
    MOST_TERMS = 4,  /* of a row */
    LEAST_SHARE = 4, /* of the elements of a row that are not 0 */
    MOST_ROWS = 4096
};

struct sparse {
    struct lowering *lowering;
    struct nest_draft *draft;
    const struct mdf_value *matrix, *result;
    mdf_lowered_id vector;
    size_t n_rows, n, n_terms; /* elements of the result, and of the vector; products of each of the former */
    size_t row_stride, stride; /* of the matrix, from one element of the result, or of the vector, to the next */
    double *weights[MOST_TERMS];
    int64_t *places[MOST_TERMS];
    uint8_t axis;
};

static double element_of(const struct sparse *sparse, size_t row, size_t place)
{
    size_t at = row * sparse->row_stride + place * sparse->stride;

    return sparse->matrix->dtype == MDF_DTYPE_FLOAT64 ? ((const double *)sparse->matrix->data)[at]
                                                      : (double)((const float *)sparse->matrix->data)[at];
}

/* What is not 0, by rows; false: that is too much, or not finite. Where a row has fewer, 0 is what the first is multiplied by. */
static bool find_terms(struct sparse *sparse)
{
    for (size_t row = 0; row < sparse->n_rows; row++) {
        size_t n_terms = 0;

        for (size_t place = 0; place < sparse->n; place++) {
            double weight = element_of(sparse, row, place);

            if (!isfinite(weight) || (weight != 0 && n_terms == MOST_TERMS)) {
                return false;
            }
            if (weight != 0) {
                sparse->weights[n_terms][row] = weight;
                sparse->places[n_terms++][row] = (int64_t)place;
            }
        }
        sparse->n_terms = n_terms > sparse->n_terms ? n_terms : sparse->n_terms;
    }
    sparse->n_terms = sparse->n_terms == 0 ? 1 : sparse->n_terms;
    return sparse->n_terms * LEAST_SHARE <= sparse->n;
}

static bool make_room(struct sparse *sparse)
{
    struct mdf_arena *arena = &sparse->lowering->scratch;

    for (size_t t = 0; t < MOST_TERMS; t++) {
        sparse->weights[t] = mdf_arena_array(arena, sparse->n_rows, sizeof(double));
        sparse->places[t] = mdf_arena_array(arena, sparse->n_rows, sizeof(int64_t));
        if (sparse->weights[t] == NULL || sparse->places[t] == NULL) {
            return lowering_out_of_memory(sparse->lowering);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the nest */

/* A constant, an element for each row. */
static uint8_t load_row(struct sparse *sparse, mdf_dtype dtype, mdf_dtype from, const void *elements)
{
    void *converted = mdf_arena_array(&sparse->lowering->scratch, sparse->n_rows, mdf_dtype_size(dtype));
    int64_t length = (int64_t)sparse->n_rows;
    struct mdf_value value = {0};
    mdf_lowered_id id;

    if (converted == NULL) {
        sparse->draft->has_failed = !lowering_out_of_memory(sparse->lowering);
        return 0;
    }
    mdf_convert_elements(dtype, converted, from, elements, sparse->n_rows, false);
    mdf_value_borrow_tensor(sparse->lowering->memory, &value, dtype, MDF_STRENGTH_TYPED, 1, &length, converted);
    id = lowering_add_constant(sparse->lowering, &value, false);
    sparse->draft->has_failed = sparse->draft->has_failed || id == MDF_LOWERED_NONE;
    return sparse->draft->has_failed ? 0 : draft_load(sparse->lowering, sparse->draft, id, &sparse->axis);
}

/* Whether the elements of term t lie as far from their rows all the same, and how far; rows without one would have theirs there
 * too. */
static bool is_shifted(const struct sparse *sparse, size_t t, int64_t *shift)
{
    bool is_known = false;

    *shift = 0;
    for (size_t row = 0; row < sparse->n_rows; row++) {
        int64_t own = sparse->places[t][row] - (int64_t)row;

        if (sparse->weights[t][row] != 0 && is_known && own != *shift) {
            return false;
        }
        if (sparse->weights[t][row] != 0 && !is_known) {
            is_known = true;
            *shift = own;
        }
    }
    return *shift >= 0 && *shift + (int64_t)sparse->n_rows <= (int64_t)sparse->n;
}

static uint8_t load_vector(struct sparse *sparse, size_t t)
{
    struct mdf_nest_view view = {.id = sparse->vector, .at = MDF_NEST_NONE};
    const int64_t stride = 1;

    if (is_shifted(sparse, t, &view.first)) {
        return draft_load_elements(sparse->lowering, sparse->draft, &view, 1, &sparse->axis, &stride);
    }
    view = (struct mdf_nest_view){.id = sparse->vector, .at_stride = 1, .at_limit = (int64_t)sparse->n};
    view.at = load_row(sparse, MDF_DTYPE_INT64, MDF_DTYPE_INT64, sparse->places[t]);
    return sparse->draft->has_failed ? 0 : draft_load_elements(sparse->lowering, sparse->draft, &view, 0, NULL, NULL);
}

/* 0 + weight x + weight x + ... */
static uint8_t sum_terms(struct sparse *sparse)
{
    mdf_dtype dtype = (mdf_dtype)sparse->result->dtype;
    uint8_t sum = draft_number(sparse->lowering, sparse->draft, dtype, 0);

    for (size_t t = 0; t < sparse->n_terms && !sparse->draft->has_failed; t++) {
        uint8_t weight = load_row(sparse, dtype, MDF_DTYPE_FLOAT64, sparse->weights[t]), x, product;

        x = sparse->draft->has_failed ? 0 : draft_cast(sparse->draft, load_vector(sparse, t), dtype);
        if (sparse->draft->has_failed) {
            return 0;
        }
        product = draft_apply(sparse->lowering, sparse->draft, MDF_ELEMENT(multiply), (const uint8_t[]){weight, x});
        sum = draft_apply(sparse->lowering, sparse->draft, MDF_ELEMENT(add), (const uint8_t[]){sum, product});
    }
    return sum;
}

/* ------------------------------------------------------------------ which products */

static bool may_be_gathered(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_BOOL;
}

/* A constant matrix of reals and a vector of whole numbers; which of both is the first operand. */
static bool measure(struct sparse *sparse, const struct trial *trial, bool *is_left)
{
    const struct mdf_value *vector;

    *is_left = trial->effective[0]->rank == 2;
    sparse->matrix = trial->effective[*is_left ? 0 : 1];
    vector = trial->effective[*is_left ? 1 : 0];
    sparse->vector = trial->ids[*is_left ? 1 : 0];
    sparse->result = &trial->results[0];
    if (sparse->matrix->rank != 2 || vector->rank != 1 || sparse->result->rank != 1 || sparse->result->length < 2 ||
        sparse->matrix->dtype != sparse->result->dtype || !mdf_dtype_is_real(sparse->result->dtype) ||
        !may_be_gathered((mdf_dtype)vector->dtype) || !lowering_is_constant(sparse->lowering, trial->ids[*is_left ? 0 : 1]) ||
        lowering_is_constant(sparse->lowering, sparse->vector) || sparse->lowering->facts[sparse->vector].is_open) {
        return false;
    }
    sparse->n_rows = sparse->result->length;
    sparse->n = vector->length;
    sparse->row_stride = *is_left ? sparse->n : 1;
    sparse->stride = *is_left ? 1 : sparse->n_rows;
    return sparse->n_rows <= MOST_ROWS && sparse->matrix->length == sparse->n_rows * sparse->n;
}

/* Whether the kernel sums in an order that a few terms have, too. */
static bool keeps_order(const struct sparse *sparse, bool is_left)
{
    mdf_dtype dtype = (mdf_dtype)sparse->result->dtype;
    const struct mdf_product product = {.dtype = dtype,
                                        .alpha = 1,
                                        .m = is_left ? sparse->n_rows : 1,
                                        .n = is_left ? 1 : sparse->n_rows,
                                        .k = sparse->n,
                                        .a_row = (int64_t)sparse->n,
                                        .a_column = 1,
                                        .b_row = is_left ? 1 : (int64_t)sparse->n_rows,
                                        .b_column = 1,
                                        .c_row = is_left ? 1 : (int64_t)sparse->n_rows};
    enum mdf_product_order order = mdf_product_order(&product);

    return order == MDF_PRODUCT_IN_BLOCKS ? sparse->n_terms == 1 && !mdf_product_is_fused(dtype)
           : order == MDF_PRODUCT_DOT     ? sparse->n_terms <= 2 || sparse->n < MDF_DOT_PARTS
                                          : true;
}

mdf_lowered_id lowering_multiply_sparse(struct lowering *lowering, const struct trial *trial)
{
    struct sparse sparse = {.lowering = lowering};
    bool is_left;
    uint8_t sum;

    if (!measure(&sparse, trial, &is_left) || !make_room(&sparse) || !find_terms(&sparse) || !keeps_order(&sparse, is_left) ||
        (sparse.draft = draft_new(lowering)) == NULL) {
        return MDF_LOWERED_NONE;
    }
    sparse.axis = draft_axis(sparse.draft, (int64_t)sparse.n_rows);
    sum = sum_terms(&sparse);
    return sparse.draft->has_failed ? MDF_LOWERED_NONE
                                    : lowering_add_nest(lowering, sparse.draft, sum, sparse.result, &sparse.axis);
}
