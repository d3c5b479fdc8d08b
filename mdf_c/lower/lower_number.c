/* lower_number.c - calls of kernels that compute Python's numbers, which run no loop over elements: one op each. Such a number is
 * float64, int64 or bool; where reals are float32 (mdf_options.float32) what is computed as float64 is rounded. */
#include "functions/elements/element.h"
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lower/trial.h"
#include "mdf_c/lowered/lowered_run.h"

#include <math.h>
#include <string.h>

static bool is_number(const struct mdf_value *value)
{
    return value != NULL && value->kind == MDF_KIND_TENSOR && value->rank == 0 &&
           (mdf_dtype_is_real(value->dtype) || value->dtype == MDF_DTYPE_INT64 || value->dtype == MDF_DTYPE_BOOL);
}

/* Whether a real is what the result has: where numbers are float32, they are computed as float64, and rounded. */
static bool is_result(const struct trial *trial, double real)
{
    const struct mdf_value *result = &trial->results[0];
    float rounded = (float)real;

    return result->dtype == MDF_DTYPE_FLOAT64   ? memcmp(&real, result->data, sizeof real) == 0
           : result->dtype == MDF_DTYPE_FLOAT32 ? memcmp(&rounded, result->data, sizeof rounded) == 0
                                                : false;
}

/* What a call of a C function gives for the operands in the examples. */
static bool function_agrees(const struct trial *trial, const struct mdf_lowered_op *op, const struct mdf_value *const operands[])
{
    double a = *(const double *)operands[0]->data, b = op->n_in > 1 ? *(const double *)operands[1]->data : 0;

    return is_result(trial, op->n_in > 1 ? op->of.function_of_two(a, b) : op->of.function(a));
}

/* What the code gives for them. */
static bool code_agrees(const struct trial *trial, const struct mdf_lowered_op *op, const struct mdf_value *const operands[])
{
    const struct mdf_value *result = &trial->results[0];
    uint64_t computed = 0;
    double real;

    if (!lowering_compute_first((enum mdf_lowered_code)op->code, (mdf_dtype)op->dtype, op->n_in, operands, &computed)) {
        return false;
    }
    if (result->dtype != MDF_DTYPE_FLOAT32) {
        return memcmp(&computed, result->data, mdf_dtype_size((mdf_dtype)result->dtype)) == 0;
    }
    memcpy(&real, &computed, sizeof real);
    return op->dtype == MDF_DTYPE_FLOAT64 && is_result(trial, real);
}

/* Whether the call has the operands of its function of elements: a sum of one number is no addition, to which it may look alike
 * in the examples. */
static bool has_operands(const struct trial *trial)
{
    const struct mdf_element *element = mdf_element_of(trial->source->operator, trial->source->settings);

    return element == NULL || element->n_operands == trial->n;
}

/* Whether a function that is real for whole numbers, too, has got such: it takes them as reals. What has whole results but for
 * some numbers, as powers and magnitudes have, is none. */
static bool is_of_reals(const struct trial *trial)
{
    const struct mdf_element *element = mdf_element_of(trial->source->operator, trial->source->settings);
    const struct mdf_element_form *form = element == NULL ? NULL : mdf_element_form(element, MDF_DTYPE_INT64);

    return element != NULL && (form == NULL || form->refused == NULL) &&
           mdf_dtype_kind((mdf_dtype)trial->results[0].dtype) == 'f' &&
           lowering_rule(trial->source->operator, trial->source->settings, MDF_DTYPE_INT64, false) == MDF_LOWERED_ELEMENTS;
}

/* Whether a function of truths takes numbers as such: what is not 0 is true. */
static bool is_of_truths(const struct trial *trial)
{
    const struct mdf_element *element = mdf_element_of(trial->source->operator, trial->source->settings);

    return element != NULL && (trial->source->operator->flags & MDF_OPERATOR_TRUTH) != 0 &&
           mdf_element_form(element, MDF_DTYPE_INT64) == NULL && mdf_element_form(element, MDF_DTYPE_FLOAT64) == NULL;
}

/* Whether a whole number, which has become a real, is that still: it lies between -2^53 and 2^53. */
static mdf_lowered_id is_exact(struct lowering *lowering, mdf_lowered_id real)
{
    mdf_lowered_id square;

    if (lowering_is_constant(lowering, real)) {
        return mdf_term_truth(lowering, fabs(*(const double *)lowering_example(lowering, real)->data) < 0x1p53);
    }
    square = mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY, true, real, real);
    return mdf_term_compute(lowering, MDF_LOWERED_LESS, true, square, mdf_term_real(lowering, 0x1p106));
}

/* A quotient of Python's whole numbers is rounded once: as one of reals that are these; by others it is left to the kernel, as
 * one by zero is. */
static bool guard_quotient(struct lowering *lowering, struct mdf_lowered_op *op)
{
    mdf_lowered_id first = is_exact(lowering, op->in[0]), second = is_exact(lowering, op->in[1]),
                   are_exact = mdf_term_and(lowering, first, second);

    op->in[1] = mdf_term_choose(lowering, are_exact, op->in[1], mdf_term_real(lowering, 0));
    return op->in[1] != MDF_LOWERED_NONE;
}

/* The type in which a kernel computes with Python's numbers; NONE: they are no such numbers, or it is not known how. */
static mdf_dtype type_of_numbers(const struct lowering *lowering, const struct trial *trial)
{
    bool is_real = false, is_truth = trial->results[0].dtype == MDF_DTYPE_BOOL; /* True * True is 1 */

    if (trial->trace.n_calls != 0 || trial->n == 0 || trial->n > 2 || !is_number(&trial->results[0]) || !has_operands(trial)) {
        return MDF_DTYPE_NONE;
    }
    for (size_t i = 0; i < trial->n; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || !is_number(trial->effective[i])) {
            return MDF_DTYPE_NONE;
        }
        is_real = is_real || mdf_dtype_kind((mdf_dtype)trial->effective[i]->dtype) == 'f';
        is_truth = is_truth && trial->effective[i]->dtype == MDF_DTYPE_BOOL;
    }
    if (!is_real && lowering->is_for_source && trial->source->operator->form == MDF_FORM_QUOTIENT) {
        return MDF_DTYPE_NONE; /* it has a form of its own */
    }
    return is_of_truths(trial)             ? MDF_DTYPE_BOOL
           : is_real || is_of_reals(trial) ? MDF_DTYPE_FLOAT64
           : is_truth                      ? MDF_DTYPE_BOOL
                                           : MDF_DTYPE_INT64;
}

/* The code of an op, or its function, that gives the result in the examples; ELEMENTS: it has none. */
static bool find_code(const struct trial *trial, struct mdf_lowered_op *op, const struct mdf_value *const operands[])
{
    op->code = (uint8_t)lowering_rule(trial->source->operator, trial->source->settings, (mdf_dtype)op->dtype, false);
    if (op->code != MDF_LOWERED_ELEMENTS) {
        return code_agrees(trial, op, operands);
    }
    if (op->dtype != MDF_DTYPE_FLOAT64 || !lowering_function_rule(trial->source->operator, op)) {
        return op->dtype == MDF_DTYPE_FLOAT64; /* what its expression says */
    }
    op->code = MDF_LOWERED_FUNCTION;
    return function_agrees(trial, op, operands);
}

/* The op for a kernel on Python's numbers. */
static bool number_op(struct lowering *lowering, struct trial *trial, struct mdf_lowered_op *op)
{
    mdf_dtype dtype = type_of_numbers(lowering, trial);
    const struct mdf_value *operands[2] = {NULL, NULL};
    bool is_whole = true;

    op->dtype = (uint8_t)dtype;
    op->n_in = (uint8_t)trial->n;
    for (size_t i = 0; dtype != MDF_DTYPE_NONE && i < trial->n; i++) {
        operands[i] = trial->effective[i];
        is_whole = is_whole && mdf_dtype_kind((mdf_dtype)operands[i]->dtype) != 'f';
        if (operands[i]->dtype != dtype) {
            if (!mdf_value_convert(lowering->memory, &trial->converted[i], operands[i], dtype)) {
                return lowering_out_of_memory(lowering);
            }
            operands[i] = &trial->converted[i];
        }
    }
    if (dtype == MDF_DTYPE_NONE || !find_code(trial, op, operands)) {
        return false;
    }
    for (size_t i = 0; i < trial->n; i++) {
        trial->effective[i] = operands[i];
        op->in[i] = lowering_cast(lowering, trial->ids[i], dtype);
        if (op->in[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return !is_whole || trial->source->operator->form != MDF_FORM_QUOTIENT || guard_quotient(lowering, op);
}

/* The op whose result is rounded. */
static mdf_lowered_id add_rounded(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_op *op)
{
    const struct mdf_value *result = &trial->results[0];
    struct mdf_value real = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (mdf_value_convert(lowering->memory, &real, result, MDF_DTYPE_FLOAT64)) {
        real.strength = result->strength;
        id = lowering_cast(lowering, lowering_add_element_op(lowering, *op, &real), MDF_DTYPE_FLOAT32);
    } else {
        lowering_out_of_memory(lowering);
    }
    mdf_value_clear(lowering->memory, &real);
    return id;
}

/* Whether a call is a power of Python's whole numbers. */
static bool is_whole_power(const struct trial *trial)
{
    if (mdf_element_of(trial->source->operator, trial->source->settings) != MDF_ELEMENT(power) || trial->n != 2 ||
        trial->trace.n_calls != 0 || !is_number(&trial->results[0]) || trial->results[0].dtype != MDF_DTYPE_INT64) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (trial->ids[i] == MDF_LOWERED_NONE || !is_number(trial->effective[i]) ||
            mdf_dtype_kind((mdf_dtype)trial->effective[i]->dtype) == 'f') {
            return false;
        }
    }
    return true;
}

/* Whether it is by one that never changes, of which products can be made. */
static bool has_constant_exponent(const struct lowering *lowering, const struct trial *trial, int64_t *exponent)
{
    return lowering_is_constant(lowering, trial->ids[1]) && mdf_value_to_int64(trial->effective[1], exponent) && *exponent >= 2 &&
           *exponent < 64;
}

/* Such a power as products, so that one past 64 bits is none: what loops of elements leave of it is no result of Python's. */
static mdf_lowered_id multiply_power(struct lowering *lowering, const struct trial *trial, int64_t exponent)
{
    mdf_lowered_id base = lowering_cast(lowering, trial->ids[0], MDF_DTYPE_INT64), product = MDF_LOWERED_NONE;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_MULTIPLY_EXACT, .dtype = MDF_DTYPE_INT64, .n_in = 2, .out = MDF_LOWERED_NONE};

    while (base != MDF_LOWERED_NONE && exponent > 2) {
        if ((exponent & 1) != 0) {
            product =
                product == MDF_LOWERED_NONE ? base : mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY_EXACT, false, product, base);
        }
        base = mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY_EXACT, false, base, base);
        exponent >>= 1;
    }
    if (exponent == 2 && product != MDF_LOWERED_NONE) {
        base = mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY_EXACT, false, base, base);
    }
    op.in[0] = base;
    op.in[1] = product != MDF_LOWERED_NONE ? product : base;
    return lowering_has_failed(lowering) ? MDF_LOWERED_NONE : lowering_add_element_op(lowering, op, &trial->results[0]);
}

/* In front of a loop of elements, which leaves something else of a power past 64 bits: it is looked for among reals (no power of
 * whole numbers is so close below 2^63 that it is rounded to that), and refused as a product that is as large. */
static bool guard_power(struct lowering *lowering, const struct trial *trial)
{
    static const double zero = 0;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_FUNCTION, .dtype = MDF_DTYPE_FLOAT64, .n_in = 2, .out = MDF_LOWERED_NONE};
    struct mdf_value example = {0};
    mdf_lowered_id real, is_large;

    for (size_t i = 0; i < 2; i++) {
        op.in[i] = lowering_cast(lowering, trial->ids[i], MDF_DTYPE_FLOAT64);
        if (op.in[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    op.operator= trial->source->operator;
    op.settings = trial->source->settings;
    if (!lowering_function_rule(trial->source->operator, & op)) {
        return lowering_fail(lowering, MDF_REFUSED_FAILING_CALL);
    }
    mdf_value_borrow_tensor(lowering->memory, &example, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 0, NULL, &zero);
    real = lowering_add_element_op(lowering, op, &example);
    real = mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY, true, real, real);
    is_large = mdf_term_compute(lowering, MDF_LOWERED_GREATER_EQUAL, true, real, mdf_term_real(lowering, 0x1p126));
    return mdf_term_compute(lowering, MDF_LOWERED_MULTIPLY_EXACT, false,
                            mdf_term_choose(lowering, is_large, mdf_term_whole(lowering, 2), mdf_term_whole(lowering, 0)),
                            mdf_term_whole(lowering, INT64_C(1) << 62)) != MDF_LOWERED_NONE;
}

/* The result of the op, or of others that the function's expression is made of; NONE: it has none. */
static mdf_lowered_id add_number(struct lowering *lowering, struct trial *trial, const struct mdf_lowered_op *op)
{
    mdf_lowered_id id;

    if (trial->results[0].dtype == MDF_DTYPE_FLOAT32) {
        return op->code == MDF_LOWERED_ELEMENTS ? MDF_LOWERED_NONE : add_rounded(lowering, trial, op);
    }
    id = op->code == MDF_LOWERED_FUNCTION || op->code == MDF_LOWERED_ELEMENTS ? lowering_composed_number(lowering, trial, op)
                                                                              : MDF_LOWERED_NONE;
    return id != MDF_LOWERED_NONE || op->code == MDF_LOWERED_ELEMENTS || lowering_has_failed(lowering)
               ? id
               : lowering_add_element_op(lowering, *op, &trial->results[0]);
}

bool lowering_add_number(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken)
{
    struct mdf_lowered_op op = {.out = MDF_LOWERED_NONE};
    struct lowering_attempt attempt;
    mdf_lowered_id id = MDF_LOWERED_NONE;
    int64_t exponent;

    if (is_whole_power(trial) && has_constant_exponent(lowering, trial, &exponent)) {
        *taken = true;
        id = multiply_power(lowering, trial, exponent);
        return id != MDF_LOWERED_NONE && lowering_bind(lowering, scope, trial->source->outputs[0], id);
    }
    if (lowering->is_for_source && is_whole_power(trial) && !guard_power(lowering, trial)) {
        return false;
    }
    if (!lowering_begin_attempt(lowering, &attempt)) {
        return false;
    }
    if (number_op(lowering, trial, &op)) {
        op.operator= trial->source->operator;
        op.settings = trial->source->settings;
        id = add_number(lowering, trial, &op);
    }
    *taken = id != MDF_LOWERED_NONE;
    if (!*taken) {
        return lowering_take_back(lowering, &attempt);
    }
    return lowering_bind(lowering, scope, trial->source->outputs[0], id);
}
