/* arithmetic.c - Python's arithmetic operators: + - * / // % ** & | ^ << >> and - + ~ of one operand.
 *
 * Two Python numbers compute as Python does: whole numbers do not wrap (past 64 bits they become float64), division by zero is
 * an error. Strings and lists join and repeat. Everything else computes as numpy does. Sources: the Python language reference,
 * "Expressions"; CPython's floatobject.c for floor division and powers. */
#include "functions/elements/element.h"
#include "functions/kernel/derivatives.h"
#include "functions/elements/element_helpers.h"
#include "functions/python/python_operations.h"
#include "functions/python/ufunc.h"
#include "mdf_c/base/error.h"

#include <string.h>

typedef bool (*operation_on_values)(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a,
                                    const struct mdf_value *b);

/* What an operator means; NULL: nothing. */
struct meaning {
    bool (*reals)(struct mdf_call *call, struct mdf_value *target, double a, double b);
    bool (*integers)(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b);
    operation_on_values sequences; /* strings and lists */
    const struct mdf_ufunc *arrays;
    bool keeps_bool; /* of two bools the result is one */
};

static const struct meaning bitwise_xor;

/* ------------------------------------------------------------------ dispatch */

static bool is_list(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_LIST;
}

/* An array or numpy's scalar: neither a Python number nor a string. */
static bool is_array(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->dtype != MDF_DTYPE_STRING && !mdf_python_is_number(value);
}

static bool operates_on_arrays(const struct mdf_value *a, const struct mdf_value *b)
{
    return (is_array(a) && (is_array(b) || is_list(b) || mdf_python_is_number(b))) ||
           (is_array(b) && (is_list(a) || mdf_python_is_number(a)));
}

static bool operate_on_numbers(struct mdf_call *call, struct mdf_value *target, const struct meaning *meaning,
                               const struct mdf_value *a, const struct mdf_value *b)
{
    bool bools = a->dtype == MDF_DTYPE_BOOL && b->dtype == MDF_DTYPE_BOOL;

    if (mdf_python_is_integer(a) && mdf_python_is_integer(b)) {
        if (!meaning->integers(call, target, mdf_python_integer_of(a), mdf_python_integer_of(b))) {
            return false;
        }
        return !bools || !meaning->keeps_bool || mdf_python_make_bool(call, target, *(const int64_t *)target->data != 0);
    }
    if (meaning->reals == NULL || mdf_dtype_kind((mdf_dtype)a->dtype) == 'c' || mdf_dtype_kind((mdf_dtype)b->dtype) == 'c') {
        mdf_python_refuse(call, a, b);
        mdf_error_append(&call->context->error, "%s", meaning == &bitwise_xor ? "; a power is written with '**'" : "");
        return false;
    }
    return meaning->reals(call, target, mdf_python_real_of(a), mdf_python_real_of(b));
}

static bool operate(struct mdf_call *call, struct mdf_value *target, const struct meaning *meaning, const struct mdf_value *a,
                    const struct mdf_value *b)
{
    const struct mdf_value *operands[2] = {a, b};

    if (mdf_python_is_number(a) && mdf_python_is_number(b)) {
        return operate_on_numbers(call, target, meaning, a, b);
    }
    if (meaning->sequences != NULL && (is_list(a) || is_list(b) || mdf_python_is_string(a) || mdf_python_is_string(b))) {
        return meaning->sequences(call, target, a, b);
    }
    if (operates_on_arrays(a, b) ? mdf_ufunc_apply(call, target, meaning->arrays, operands, NULL)
                                 : mdf_python_refuse(call, a, b)) {
        return true;
    }
    mdf_error_append(&call->context->error, "%s", meaning == &bitwise_xor ? "; a power is written with '**'" : "");
    return false;
}

/* A whole number past 64 bits is float64. */
static bool make_large(struct mdf_call *call, struct mdf_value *target, double real)
{
    if (isinf(real)) {
        return mdf_call_error(call, MDF_VALUE, "the result is too large");
    }
    return mdf_value_make_double(call->context->memory, target, real) || mdf_call_out_of_memory(call);
}

/* ------------------------------------------------------------------ + - * */

static bool add_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    return mdf_python_make_real(call, target, a + b);
}

static bool add_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? make_large(call, target, (double)a + (double)b)
                                              : mdf_python_make_int(call, target, sum);
}

static bool subtract_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    return mdf_python_make_real(call, target, a - b);
}

static bool subtract_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    int64_t difference;

    return __builtin_sub_overflow(a, b, &difference) ? make_large(call, target, (double)a - (double)b)
                                                     : mdf_python_make_int(call, target, difference);
}

static bool multiply_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    return mdf_python_make_real(call, target, a * b);
}

static bool multiply_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? make_large(call, target, (double)a * (double)b)
                                                  : mdf_python_make_int(call, target, product);
}

/* ------------------------------------------------------------------ strings and lists */

/* `n` copies of a string behind each other. */
static bool repeat_string(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *string, size_t n)
{
    size_t length, total;
    const char *text = mdf_python_text(string, &length);
    char *room;

    if (!mdf_size_multiply(length, n, &total) || total > MDF_PYTHON_MAX_TEXT) {
        return mdf_call_error(call, MDF_LIMIT, "a string of more than %d bytes", MDF_PYTHON_MAX_TEXT);
    }
    room = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_UINT8, total);
    for (size_t i = 0; room != NULL && i < n; i++) {
        memcpy(room + i * length, text, length);
    }
    return room != NULL && mdf_python_make_string(call, target, room, total);
}

static bool repeat_list(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *list, size_t n)
{
    struct mdf_value *items;
    size_t total;

    if (!mdf_size_multiply(list->length, n, &total) || total > MDF_PYTHON_MAX_ITEMS) {
        return mdf_call_error(call, MDF_LIMIT, "a list of more than %d items", MDF_PYTHON_MAX_ITEMS);
    }
    items = mdf_python_make_list(call, target, total);
    for (size_t i = 0; items != NULL && i < total; i++) {
        if (!mdf_value_share(call->context->memory, &items[i], &mdf_value_items(list)[i % list->length])) {
            return mdf_call_out_of_memory(call);
        }
    }
    return items != NULL;
}

/* Whether a value is a whole number that can say how often to repeat: Python's, or a scalar of numpy's. */
static bool counts(const struct mdf_value *value, int64_t *count)
{
    char kind = value->kind == MDF_KIND_TENSOR ? mdf_dtype_kind((mdf_dtype)value->dtype) : 's';

    return (kind == 'b' || kind == 'i' || kind == 'u') && value->rank == 0 && mdf_value_to_int64(value, count);
}

static bool multiply_sequences(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a,
                               const struct mdf_value *b)
{
    const struct mdf_value *sequence = is_list(a) || mdf_python_is_string(a) ? a : b;
    const struct mdf_value *operands[2] = {a, b};
    int64_t count;

    if (counts(sequence == a ? b : a, &count)) {
        count = count < 0 ? 0 : count;
        return is_list(sequence) ? repeat_list(call, target, sequence, (size_t)count)
                                 : repeat_string(call, target, sequence, (size_t)count);
    }
    return operates_on_arrays(a, b) ? mdf_ufunc_apply(call, target, &mdf_ufunc_multiply, operands, NULL)
                                    : mdf_python_refuse(call, a, b);
}

static bool join_strings(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    size_t a_length, b_length;
    const char *a_text = mdf_python_text(a, &a_length), *b_text = mdf_python_text(b, &b_length);
    char *room;

    if (a_length + b_length > MDF_PYTHON_MAX_TEXT) {
        return mdf_call_error(call, MDF_LIMIT, "a string of more than %d bytes", MDF_PYTHON_MAX_TEXT);
    }
    room = mdf_call_scratch(call, MDF_PYTHON_SCRATCH_INTEGERS, MDF_DTYPE_UINT8, a_length + b_length);
    if (room == NULL) {
        return false;
    }
    memcpy(room, a_text, a_length);
    memcpy(room + a_length, b_text, b_length);
    return mdf_python_make_string(call, target, room, a_length + b_length);
}

/* The items of b behind those of a, which stay where they are if there is room: a list that grows is not copied each time. */
static bool join_lists(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    if (a->length + b->length > MDF_PYTHON_MAX_ITEMS) {
        return mdf_call_error(call, MDF_LIMIT, "a list of more than %d items", MDF_PYTHON_MAX_ITEMS);
    }
    if (!mdf_value_share(call->context->memory, target, a)) {
        return mdf_call_out_of_memory(call);
    }
    target->dtype = MDF_DTYPE_NONE;
    target->strength = MDF_STRENGTH_LITERAL;
    for (size_t i = 0; i < b->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        if (!mdf_value_append(call->context->memory, target, &mdf_value_items(b)[i])) {
            return mdf_call_out_of_memory(call);
        }
    }
    return true;
}

static bool add_sequences(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    const struct mdf_value *operands[2] = {a, b};

    if (is_list(a) && is_list(b)) {
        return join_lists(call, target, a, b);
    }
    if (mdf_python_is_string(a) && mdf_python_is_string(b)) {
        return join_strings(call, target, a, b);
    }
    return operates_on_arrays(a, b) ? mdf_ufunc_apply(call, target, &mdf_ufunc_add, operands, NULL)
                                    : mdf_python_refuse(call, a, b);
}

/* ------------------------------------------------------------------ / // % */

static bool refuse_zero(struct mdf_call *call)
{
    return mdf_call_error(call, MDF_VALUE, "division by zero");
}

static bool divide_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    return b == 0 ? refuse_zero(call) : mdf_python_make_real(call, target, a / b);
}

static bool divide_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    return b == 0 ? refuse_zero(call) : mdf_python_make_real(call, target, mdf_true_quotient(a, b));
}

static bool floor_divide_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    return b == 0 ? refuse_zero(call) : mdf_python_make_real(call, target, mdf_floor_quotient_float64(a, b));
}

static bool floor_divide_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    if (b == 0) {
        return refuse_zero(call);
    }
    if (b == -1) {
        return subtract_integers(call, target, 0, a);
    }
    return mdf_python_make_int(call, target, a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

static bool modulo_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    return b == 0 ? refuse_zero(call) : mdf_python_make_real(call, target, mdf_modulo_float64(a, b));
}

static bool modulo_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    int64_t remainder;

    if (b == 0) {
        return refuse_zero(call);
    }
    remainder = b == -1 ? 0 : a % b;
    return mdf_python_make_int(call, target, remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
}

/* ------------------------------------------------------------------ ** */

static bool power_of_reals(struct mdf_call *call, struct mdf_value *target, double a, double b)
{
    double power;

    if (a == 0 && b < 0 && isfinite(b)) {
        return mdf_call_error(call, MDF_VALUE, "zero to a negative power");
    }
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b)) {
        return mdf_call_error(call, MDF_VALUE, "a negative number to a fractional power is not real");
    }
    power = mdf_power_float64(a, b);
    if (isinf(power) && isfinite(a) && isfinite(b)) {
        return mdf_call_error(call, MDF_VALUE, "the result is too large");
    }
    return mdf_python_make_real(call, target, power);
}

static bool power_of_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    int64_t result = 1, base = a, exponent = b;

    if (b < 0) {
        return power_of_reals(call, target, (double)a, (double)b);
    }
    if (a == 0 || a == 1 || a == -1) {
        return mdf_python_make_int(call, target, b == 0 ? 1 : a == -1 && b % 2 == 0 ? 1 : a);
    }
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
            return make_large(call, target, pow((double)a, (double)b));
        }
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) {
            return make_large(call, target, pow((double)a, (double)b));
        }
    }
    return mdf_python_make_int(call, target, result);
}

/* ------------------------------------------------------------------ bits */

static bool and_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    return mdf_python_make_int(call, target, a & b);
}

static bool or_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    return mdf_python_make_int(call, target, a | b);
}

static bool xor_integers(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    return mdf_python_make_int(call, target, a ^ b);
}

static bool refuse_shift(struct mdf_call *call, int64_t count)
{
    return mdf_call_error(call, MDF_VALUE, "a shift by the negative count %lld", (long long)count);
}

static bool shift_left(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    int64_t shifted = b >= 0 && b < 63 ? (int64_t)((uint64_t)a << b) : 0;

    if (b < 0) {
        return refuse_shift(call, b);
    }
    if (b < 63 && shifted >> b == a) {
        return mdf_python_make_int(call, target, shifted);
    }
    return a == 0 ? mdf_python_make_int(call, target, 0) : make_large(call, target, ldexp((double)a, b > 2000 ? 2000 : (int)b));
}

static bool shift_right(struct mdf_call *call, struct mdf_value *target, int64_t a, int64_t b)
{
    return b < 0 ? refuse_shift(call, b) : mdf_python_make_int(call, target, a >> (b > 63 ? 63 : b));
}

/* ------------------------------------------------------------------ meanings */

static const struct meaning addition = {add_reals, add_integers, add_sequences, &mdf_ufunc_add, false};
static const struct meaning subtraction = {subtract_reals, subtract_integers, NULL, &mdf_ufunc_subtract, false};
static const struct meaning multiplication = {multiply_reals, multiply_integers, multiply_sequences, &mdf_ufunc_multiply, false};
static const struct meaning division = {divide_reals, divide_integers, NULL, &mdf_ufunc_divide, false};
static const struct meaning floor_division = {floor_divide_reals, floor_divide_integers, NULL, &mdf_ufunc_floor_divide, false};
static const struct meaning modulo = {modulo_reals, modulo_integers, NULL, &mdf_ufunc_remainder, false};
static const struct meaning power = {power_of_reals, power_of_integers, NULL, NULL, false};
static const struct meaning bitwise_and = {NULL, and_integers, NULL, &mdf_ufunc_bitwise_and, true};
static const struct meaning bitwise_or = {NULL, or_integers, NULL, &mdf_ufunc_bitwise_or, true};
static const struct meaning bitwise_xor = {NULL, xor_integers, NULL, &mdf_ufunc_bitwise_xor, true};
static const struct meaning left_shift = {NULL, shift_left, NULL, &mdf_ufunc_left_shift, false};
static const struct meaning right_shift = {NULL, shift_right, NULL, &mdf_ufunc_right_shift, false};

bool mdf_python_add(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    return operate(call, target, &addition, a, b);
}

bool mdf_python_multiply(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    return operate(call, target, &multiplication, a, b);
}

bool mdf_python_power(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *a, const struct mdf_value *b)
{
    const struct mdf_value *operands[2] = {a, b};

    return operates_on_arrays(a, b) ? mdf_ufunc_power(call, target, operands) : operate(call, target, &power, a, b);
}

/* ------------------------------------------------------------------ kernels of two operands */

/* Whether both operands are float64 scalars whose result is one: the way of simulations. */
static inline bool are_reals(const struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b)
{
    return a->kind == MDF_KIND_TENSOR && b->kind == MDF_KIND_TENSOR && a->dtype == MDF_DTYPE_FLOAT64 &&
           b->dtype == MDF_DTYPE_FLOAT64 && a->rank == 0 && b->rank == 0 && call->context->real == MDF_DTYPE_FLOAT64;
}

static inline double real_of(const struct mdf_value *scalar)
{
    return *(const double *)scalar->data;
}

static inline bool write_real(struct mdf_call *call, double real, uint8_t a_strength, uint8_t b_strength)
{
    struct mdf_value *target = mdf_call_target(call, 0);
    double *element = mdf_value_make_tensor(call->context->memory, target, MDF_DTYPE_FLOAT64, 0, NULL);

    if (element == NULL) {
        return mdf_call_out_of_memory(call);
    }
    *element = real;
    target->strength = a_strength > b_strength ? a_strength : b_strength;
    return true;
}

/* By those who want to know what it does by a divisor of zero: of arrays, what a loop does; of Python's numbers, it refuses it.
 */
static inline bool is_looked_at(const struct mdf_call *call)
{
    return call->context->trace != NULL;
}

/* `expression` is the result for two reals x and y, where `condition` on them holds. */
#define ARITHMETIC_KERNEL(name, meaning, condition, expression)                \
    static bool name(struct mdf_call *call)                                    \
    {                                                                          \
        const struct mdf_value *a = call->inputs[0], *b = call->inputs[1];     \
                                                                               \
        if (are_reals(call, a, b)) {                                           \
            double x = real_of(a), y = real_of(b);                             \
                                                                               \
            if (condition) {                                                   \
                return write_real(call, expression, a->strength, b->strength); \
            }                                                                  \
        }                                                                      \
        return operate(call, mdf_call_target(call, 0), &(meaning), a, b);      \
    }

ARITHMETIC_KERNEL(run_add, addition, true, x + y)
ARITHMETIC_KERNEL(run_subtract, subtraction, true, x - y)
ARITHMETIC_KERNEL(run_multiply, multiplication, true, x *y)
ARITHMETIC_KERNEL(run_divide, division, y != 0 && !is_looked_at(call), x / y)
ARITHMETIC_KERNEL(run_floor_divide, floor_division, y != 0 && !is_looked_at(call), mdf_floor_quotient_float64(x, y))
ARITHMETIC_KERNEL(run_modulo, modulo, y != 0 && !is_looked_at(call), mdf_modulo_float64(x, y))

static bool run_power(struct mdf_call *call)
{
    return mdf_python_power(call, mdf_call_target(call, 0), call->inputs[0], call->inputs[1]);
}

#define BIT_KERNEL(name, meaning)                                                                     \
    static bool name(struct mdf_call *call)                                                           \
    {                                                                                                 \
        return operate(call, mdf_call_target(call, 0), &(meaning), call->inputs[0], call->inputs[1]); \
    }

BIT_KERNEL(run_and, bitwise_and)
BIT_KERNEL(run_or, bitwise_or)
BIT_KERNEL(run_xor, bitwise_xor)
BIT_KERNEL(run_left_shift, left_shift)
BIT_KERNEL(run_right_shift, right_shift)

/* ------------------------------------------------------------------ kernels of one operand */

static bool apply_to_array(struct mdf_call *call, const struct mdf_ufunc *ufunc)
{
    return is_array(call->inputs[0]) ? mdf_ufunc_apply(call, mdf_call_target(call, 0), ufunc, call->inputs, NULL)
                                     : mdf_python_refuse(call, call->inputs[0], NULL);
}

static bool run_negative(struct mdf_call *call)
{
    const struct mdf_value *a = call->inputs[0];
    struct mdf_value *target = mdf_call_target(call, 0);

    if (are_reals(call, a, a)) {
        return write_real(call, -real_of(a), a->strength, a->strength);
    }
    if (mdf_python_is_integer(a)) {
        return subtract_integers(call, target, 0, mdf_python_integer_of(a));
    }
    if (mdf_python_is_number(a)) {
        return mdf_dtype_kind((mdf_dtype)a->dtype) != 'c' ? mdf_python_make_real(call, target, -mdf_python_real_of(a))
                                                          : mdf_python_refuse(call, a, NULL);
    }
    return apply_to_array(call, &mdf_ufunc_negative);
}

static bool run_positive(struct mdf_call *call)
{
    const struct mdf_value *a = call->inputs[0];
    struct mdf_value *target = mdf_call_target(call, 0);

    if (mdf_python_is_integer(a)) {
        return mdf_python_make_int(call, target, mdf_python_integer_of(a));
    }
    return mdf_python_is_number(a) ? mdf_python_copy(call, target, a) : apply_to_array(call, &mdf_ufunc_positive);
}

static bool run_invert(struct mdf_call *call)
{
    const struct mdf_value *a = call->inputs[0];

    if (mdf_python_is_integer(a)) {
        return mdf_python_make_int(call, mdf_call_target(call, 0), ~mdf_python_integer_of(a));
    }
    return apply_to_array(call, &mdf_ufunc_invert);
}

const struct mdf_operator mdf_operators_python_arithmetic[] = {
    MDF_FUNCTION("operator.add", run_add, 0, "a b", MDF_ELEMENT(add)),
    MDF_FUNCTION("operator.sub", run_subtract, 0, "a b", MDF_ELEMENT(subtract)),
    MDF_FUNCTION("operator.mul", run_multiply, 0, "a b", MDF_ELEMENT(multiply)),
    MDF_FUNCTION("operator.truediv", run_divide, 0, "a b", MDF_ELEMENT(divide), .form = MDF_FORM_QUOTIENT),
    MDF_FUNCTION("operator.floordiv", run_floor_divide, 0, "a b", MDF_ELEMENT(floor_quotient)),
    MDF_FUNCTION("operator.mod", run_modulo, 0, "a b", MDF_ELEMENT(floor_remainder)),
    MDF_FUNCTION("operator.pow", run_power, 0, "a b", MDF_ELEMENT(power)),
    MDF_FUNCTION("operator.and_", run_and, 0, "a b", MDF_ELEMENT(bitwise_and)),
    MDF_FUNCTION("operator.or_", run_or, 0, "a b", MDF_ELEMENT(bitwise_or)),
    MDF_FUNCTION("operator.xor", run_xor, 0, "a b", MDF_ELEMENT(bitwise_xor)),
    MDF_FUNCTION("operator.lshift", run_left_shift, 0, "a b", MDF_ELEMENT(left_shift)),
    MDF_FUNCTION("operator.rshift", run_right_shift, 0, "a b", MDF_ELEMENT(right_shift)),
    MDF_FUNCTION("operator.neg", run_negative, 0, "a", MDF_ELEMENT(negative)),
    MDF_FUNCTION("operator.pos", run_positive, 0, "a", MDF_ELEMENT(kept)),
    MDF_FUNCTION("operator.invert", run_invert, 0, "a", MDF_ELEMENT(complement)),
    {NULL}};
