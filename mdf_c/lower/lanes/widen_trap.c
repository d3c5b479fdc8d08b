/* widen_trap.c - ops that bail out, on lanes: they do not, but note the lanes for which they would have, of those that count;
 * what stands in an operand's place there does not matter. See widening.h. */
#include "mdf_c/lower/lanes/widening.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lowered/lowered_reads.h"

/* Notes lanes that bail out, of those that do what is being widened. */
static bool trap(struct widening *widening, mdf_lowered_id bad)
{
    bad = bad == MDF_LOWERED_NONE ? bad : widening_and(widening, widening->mask, bad);
    if (bad == MDF_LOWERED_NONE) {
        return false;
    }
    widening->traps = widening->traps == MDF_LOWERED_NONE
                          ? bad
                          : widening_compute_two(widening, MDF_LOWERED_OR, MDF_DTYPE_BOOL, widening->traps, bad);
    return widening->traps != MDF_LOWERED_NONE;
}

bool widening_begin_traps(struct widening *widening)
{
    mdf_lowered_id none = widening->traps == MDF_LOWERED_NONE ? mdf_term_truth(widening->lowering, false) : widening->traps;

    if (widening->traps == MDF_LOWERED_NONE || !widening_has_lanes(widening, widening->traps)) {
        widening->traps = widening_spread_number(widening, none, MDF_DTYPE_BOOL);
    }
    return widening->traps != MDF_LOWERED_NONE;
}

static mdf_lowered_id choose_number(struct widening *widening, mdf_dtype dtype, mdf_lowered_id mask, mdf_lowered_id then,
                                    mdf_lowered_id otherwise)
{
    const struct mdf_lowered_op op = {
        .code = MDF_LOWERED_SELECT, .dtype = (uint8_t)dtype, .n_in = 3, .in = {mask, then, otherwise}};

    return widening_compute(widening, &op, dtype);
}

mdf_lowered_id widening_constant(struct widening *widening, mdf_dtype dtype, double number)
{
    struct mdf_value real = {0}, value = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    mdf_value_borrow_tensor(widening->lowering->memory, &real, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, &number);
    if (!mdf_value_convert(widening->lowering->memory, &value, &real, dtype)) {
        lowering_out_of_memory(widening->lowering);
        return id;
    }
    id = lowering_add_constant(widening->lowering, &value, false);
    mdf_value_clear(widening->lowering->memory, &value);
    return id;
}

/* The lowest number of a type of whole numbers. */
static double lowest(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_INT32 ? -2147483648.0 : -9223372036854775808.0;
}

/* By 0, or, of the quotient that is rounded down, the lowest number by -1: another divisor stands in its place. */
static mdf_lowered_id divide(struct widening *widening, struct mdf_lowered_op op)
{
    mdf_dtype dtype = (mdf_dtype)op.dtype;
    mdf_lowered_id bad =
                       widening_compute_two(widening, MDF_LOWERED_EQUAL, dtype, op.in[1], widening_constant(widening, dtype, 0)),
                   both;

    if (op.code == MDF_LOWERED_FLOOR_QUOTIENT) {
        both = widening_and(
            widening, widening_compute_two(widening, MDF_LOWERED_EQUAL, dtype, op.in[1], widening_constant(widening, dtype, -1)),
            widening_compute_two(widening, MDF_LOWERED_EQUAL, dtype, op.in[0],
                                 widening_constant(widening, dtype, lowest(dtype))));
        bad = widening_compute_two(widening, MDF_LOWERED_OR, MDF_DTYPE_BOOL, bad, both);
    }
    if (!trap(widening, bad)) {
        return MDF_LOWERED_NONE;
    }
    if (op.code == MDF_LOWERED_DIVIDE_NONZERO) {
        op.code = MDF_LOWERED_DIVIDE;
        op.loop = NULL;
        return widening_compute(widening, &op, dtype);
    }
    op.in[1] = choose_number(widening, dtype, bad, widening_constant(widening, dtype, 1), op.in[1]);
    return widening_compute(widening, &op, dtype);
}

/* Whether a product does not fit. */
static bool mark_overflow(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const int64_t *a = operands[0], *b = operands[1];
    uint8_t *overflows = target;
    int64_t product;

    (void)settings;
    for (size_t i = 0; i < n; i++, a += steps[0], b += steps[1]) {
        overflows[i] = __builtin_mul_overflow(*a, *b, &product);
    }
    return true;
}

/* Where a shift to the left loses bits: what it gives does not come back, or is -1 by 63 bits; or the count is negative. */
static mdf_lowered_id is_bad_shift(struct widening *widening, const struct mdf_lowered_op *op, mdf_lowered_id result,
                                   mdf_lowered_id zero)
{
    const mdf_dtype dtype = MDF_DTYPE_INT64;
    mdf_lowered_id back = widening_compute_two(widening, MDF_LOWERED_SHIFT_RIGHT, dtype, result, op->in[1]);
    mdf_lowered_id bad = widening_compute_two(widening, MDF_LOWERED_NOT_EQUAL, dtype, back, op->in[0]);
    mdf_lowered_id is_last = widening_and(
        widening, widening_compute_two(widening, MDF_LOWERED_EQUAL, dtype, op->in[1], widening_constant(widening, dtype, 63)),
        widening_compute_two(widening, MDF_LOWERED_NOT_EQUAL, dtype, op->in[0], zero));

    bad = widening_compute_two(widening, MDF_LOWERED_OR, MDF_DTYPE_BOOL, bad, is_last);
    return widening_compute_two(widening, MDF_LOWERED_OR, MDF_DTYPE_BOOL, bad,
                                widening_compute_two(widening, MDF_LOWERED_LESS, dtype, op->in[1], zero));
}

/* Sums past 64 bits: they are on the wrong side of an operand. */
static mdf_lowered_id compute_exact(struct widening *widening, struct mdf_lowered_op op)
{
    enum mdf_lowered_code code = (enum mdf_lowered_code)op.code;
    mdf_lowered_id result, bad, zero = widening_constant(widening, MDF_DTYPE_INT64, 0);

    op.code = (uint8_t)mdf_lowered_wrapping(code);
    op.loop = NULL;
    result = widening_compute(widening, &op, MDF_DTYPE_INT64);
    switch (code) {
    case MDF_LOWERED_NEGATE_EXACT:
        bad = widening_compute_two(widening, MDF_LOWERED_EQUAL, MDF_DTYPE_INT64, op.in[0],
                                   widening_constant(widening, MDF_DTYPE_INT64, lowest(MDF_DTYPE_INT64)));
        break;
    case MDF_LOWERED_MULTIPLY_EXACT:
        op.code = MDF_LOWERED_ELEMENTS;
        op.loop = mark_overflow;
        bad = widening_compute(widening, &op, MDF_DTYPE_BOOL);
        break;
    case MDF_LOWERED_SHIFT_RIGHT_EXACT:
        bad = widening_compute_two(widening, MDF_LOWERED_LESS, MDF_DTYPE_INT64, op.in[1], zero);
        break;
    case MDF_LOWERED_SHIFT_LEFT_EXACT:
        bad = is_bad_shift(widening, &op, result, zero);
        break;
    default: /* a sum, a difference */
        bad = widening_compute_two(widening, MDF_LOWERED_LESS, MDF_DTYPE_INT64, result, op.in[0]);
        bad = widening_compute_two(widening, MDF_LOWERED_EXCLUSIVE_OR, MDF_DTYPE_BOOL, bad,
                                   widening_compute_two(widening,
                                                        code == MDF_LOWERED_ADD_EXACT ? MDF_LOWERED_LESS : MDF_LOWERED_GREATER,
                                                        MDF_DTYPE_INT64, op.in[1], zero));
        break;
    }
    return trap(widening, bad) ? result : MDF_LOWERED_NONE;
}

/* A real that fits no whole number: 0 stands in its place. */
static mdf_lowered_id cast_to_whole(struct widening *widening, struct mdf_lowered_op op, mdf_dtype to)
{
    mdf_dtype from = (mdf_dtype)op.dtype;
    double limit = to == MDF_DTYPE_UINT64 ? -2 * lowest(to) : -lowest(to);
    mdf_lowered_id fits =
        widening_compute_two(widening, MDF_LOWERED_LESS, from, op.in[0], widening_constant(widening, from, limit));
    bool is_exact = to != MDF_DTYPE_INT32 || from == MDF_DTYPE_FLOAT32; /* no number between the lowest and the next below it */

    fits = widening_and(widening, fits,
                        widening_compute_two(widening, is_exact ? MDF_LOWERED_GREATER_EQUAL : MDF_LOWERED_GREATER, from, op.in[0],
                                             widening_constant(widening, from, is_exact ? lowest(to) : lowest(to) - 1)));
    if (fits == MDF_LOWERED_NONE || !trap(widening, widening_not(widening, fits))) {
        return MDF_LOWERED_NONE;
    }
    op.in[0] = choose_number(widening, from, fits, op.in[0], widening_constant(widening, from, 0));
    return widening_compute(widening, &op, to);
}

/* A C function, of whose element there is a loop. What it gives may not be infinite or NaN. */
static mdf_lowered_id call_function(struct widening *widening, struct mdf_lowered_op op)
{
    mdf_lowered_id result, difference;

    op.loop = lowering_loop_of_function(&op);
    op.loop_settings = NULL;
    op.code = MDF_LOWERED_ELEMENTS;
    if (op.loop == NULL) {
        lowering_fail(widening->lowering, MDF_REFUSED_NOT_SAID);
        return MDF_LOWERED_NONE;
    }
    result = widening_compute(widening, &op, MDF_DTYPE_FLOAT64);
    difference = widening_compute_two(widening, MDF_LOWERED_SUBTRACT, MDF_DTYPE_FLOAT64, result, result);
    return trap(widening, widening_compute_two(widening, MDF_LOWERED_NOT_EQUAL, MDF_DTYPE_FLOAT64, difference,
                                               widening_constant(widening, MDF_DTYPE_FLOAT64, 0)))
               ? result
               : MDF_LOWERED_NONE;
}

bool mdf_lanes_may_bail_out(const struct mdf_lowered *narrow, const struct mdf_lowered_op *op)
{
    unsigned to = op->out == MDF_LOWERED_NONE ? MDF_DTYPE_NONE : narrow->values[op->out].form.dtype;

    return op->code == MDF_LOWERED_DIVIDE_NONZERO || (op->code >= MDF_LOWERED_QUOTIENT && op->code <= MDF_LOWERED_NEGATE_EXACT) ||
           op->code == MDF_LOWERED_FUNCTION ||
           (op->code == MDF_LOWERED_CAST && mdf_dtype_is_real(op->dtype) &&
            (to == MDF_DTYPE_INT32 || to == MDF_DTYPE_INT64 || to == MDF_DTYPE_UINT64));
}

mdf_lowered_id widening_compute_trapped(struct widening *widening, const struct mdf_lowered_op *op, mdf_dtype result)
{
    if (op->code == MDF_LOWERED_CAST) {
        return cast_to_whole(widening, *op, result);
    }
    if (op->code == MDF_LOWERED_FUNCTION) {
        return call_function(widening, *op);
    }
    return op->code >= MDF_LOWERED_ADD_EXACT ? compute_exact(widening, *op) : divide(widening, *op);
}
