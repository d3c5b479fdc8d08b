/* terms.c - see terms.h. */
#include "mdf_c/lower/terms.h"

static mdf_lowered_id add_constant(struct lowering *lowering, mdf_dtype dtype, const void *element)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(lowering->memory, &value, dtype, MDF_STRENGTH_TYPED, 0, NULL, element);
    return lowering_add_constant(lowering, &value, false);
}

mdf_lowered_id mdf_term_truth(struct lowering *lowering, bool truth)
{
    return add_constant(lowering, MDF_DTYPE_BOOL, &truth);
}

mdf_lowered_id mdf_term_whole(struct lowering *lowering, int64_t whole)
{
    return add_constant(lowering, MDF_DTYPE_INT64, &whole);
}

mdf_lowered_id mdf_term_real(struct lowering *lowering, double real)
{
    return add_constant(lowering, MDF_DTYPE_FLOAT64, &real);
}

bool mdf_term_is(const struct lowering *lowering, mdf_lowered_id id, bool truth)
{
    return id != MDF_LOWERED_NONE && lowering_is_constant(lowering, id) &&
           *(const bool *)lowering_example(lowering, id)->data == truth;
}

static mdf_lowered_id add_op(struct lowering *lowering, struct mdf_lowered_op op, mdf_dtype result)
{
    static const uint64_t zero = 0;
    struct mdf_value example = {0};

    for (size_t i = 0; i < op.n_in; i++) {
        if (op.in[i] == MDF_LOWERED_NONE) {
            return MDF_LOWERED_NONE;
        }
    }
    mdf_value_borrow_tensor(lowering->memory, &example, result, MDF_STRENGTH_TYPED, 0, NULL, &zero);
    return lowering_add_element_op(lowering, op, &example);
}

static mdf_lowered_id add_logic(struct lowering *lowering, enum mdf_lowered_code code, mdf_lowered_id a, mdf_lowered_id b)
{
    return add_op(lowering, (struct mdf_lowered_op){.code = (uint8_t)code, .dtype = MDF_DTYPE_BOOL, .n_in = 2, .in = {a, b}},
                  MDF_DTYPE_BOOL);
}

mdf_lowered_id mdf_term_and(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    if (mdf_term_is(lowering, a, true) || mdf_term_is(lowering, b, false)) {
        return b;
    }
    return mdf_term_is(lowering, b, true) || mdf_term_is(lowering, a, false) ? a : add_logic(lowering, MDF_LOWERED_AND, a, b);
}

mdf_lowered_id mdf_term_or(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b)
{
    if (mdf_term_is(lowering, a, false) || mdf_term_is(lowering, b, true)) {
        return b;
    }
    return mdf_term_is(lowering, b, false) || mdf_term_is(lowering, a, true) ? a : add_logic(lowering, MDF_LOWERED_OR, a, b);
}

mdf_lowered_id mdf_term_not(struct lowering *lowering, mdf_lowered_id a)
{
    if (mdf_term_is(lowering, a, true) || mdf_term_is(lowering, a, false)) {
        return mdf_term_truth(lowering, mdf_term_is(lowering, a, false));
    }
    return add_op(lowering, (struct mdf_lowered_op){.code = MDF_LOWERED_NOT, .dtype = MDF_DTYPE_BOOL, .n_in = 1, .in = {a}},
                  MDF_DTYPE_BOOL);
}

mdf_lowered_id mdf_term_compute(struct lowering *lowering, enum mdf_lowered_code code, bool is_real, mdf_lowered_id a,
                                mdf_lowered_id b)
{
    mdf_dtype dtype = is_real ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_INT64;
    bool compares = code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL;

    return add_op(lowering, (struct mdf_lowered_op){.code = (uint8_t)code, .dtype = (uint8_t)dtype, .n_in = 2, .in = {a, b}},
                  compares ? MDF_DTYPE_BOOL : dtype);
}

mdf_lowered_id mdf_term_number(struct lowering *lowering, mdf_lowered_id truth)
{
    if (mdf_term_is(lowering, truth, true) || mdf_term_is(lowering, truth, false)) {
        return mdf_term_whole(lowering, mdf_term_is(lowering, truth, true));
    }
    return truth == MDF_LOWERED_NONE ? truth : lowering_cast(lowering, truth, MDF_DTYPE_INT64);
}

mdf_lowered_id mdf_term_choose(struct lowering *lowering, mdf_lowered_id truth, mdf_lowered_id a, mdf_lowered_id b)
{
    uint8_t dtype;

    if (mdf_term_is(lowering, truth, true) || mdf_term_is(lowering, truth, false)) {
        return mdf_term_is(lowering, truth, true) ? a : b;
    }
    if (truth == MDF_LOWERED_NONE || a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    dtype = lowering_example(lowering, a)->dtype;
    return add_op(lowering, (struct mdf_lowered_op){.code = MDF_LOWERED_SELECT, .dtype = dtype, .n_in = 3, .in = {truth, a, b}},
                  (mdf_dtype)dtype);
}
