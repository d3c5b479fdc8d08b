/* compare_values.c - Python's comparisons, membership and "not": < <= > >= == != is in not.
 *
 * Python numbers compare by their exact values, strings by code points, lists item by item; arrays as numpy compares them. What
 * has no order is an error; what is of different kinds is unequal. Source: the Python language reference, "Comparisons". */
#define _GNU_SOURCE /* memmem */
#include "functions/elements/element.h"
#include "functions/python/python_operations.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

enum { DEEPEST_LIST = 200 };

enum order { ORDER_BEFORE = 1, ORDER_SAME = 2, ORDER_BEHIND = 4, ORDER_NONE = 8 };

/* A comparison: the orders for which it holds. */
struct relation {
    unsigned holds;
    const struct mdf_ufunc *arrays;
};

static const struct relation less = {ORDER_BEFORE, &mdf_ufunc_less};
static const struct relation less_equal = {ORDER_BEFORE | ORDER_SAME, &mdf_ufunc_less_equal};
static const struct relation greater = {ORDER_BEHIND, &mdf_ufunc_greater};
static const struct relation greater_equal = {ORDER_BEHIND | ORDER_SAME, &mdf_ufunc_greater_equal};
static const struct relation equal = {ORDER_SAME, &mdf_ufunc_equal};
static const struct relation not_equal = {ORDER_BEFORE | ORDER_BEHIND | ORDER_NONE, &mdf_ufunc_not_equal};

static bool tells_equality(const struct relation *relation)
{
    return relation == &equal || relation == &not_equal;
}

/* ------------------------------------------------------------------ orders */

static enum order order_of_reals(double a, double b)
{
    return a < b ? ORDER_BEFORE : a > b ? ORDER_BEHIND : a == b ? ORDER_SAME : ORDER_NONE;
}

static enum order order_of_integers(int64_t a, int64_t b)
{
    return a < b ? ORDER_BEFORE : a > b ? ORDER_BEHIND : ORDER_SAME;
}

/* Of a whole number and a real one, neither rounded. */
static enum order order_of_mixed(int64_t a, double b)
{
    enum order order;

    if (isnan(b)) {
        return ORDER_NONE;
    }
    if (!(b >= -0x1p63 && b < 0x1p63)) {
        return b > 0 ? ORDER_BEFORE : ORDER_BEHIND;
    }
    order = order_of_integers(a, (int64_t)b);
    return order == ORDER_SAME ? order_of_reals(0, b - trunc(b)) : order;
}

static enum order turned(enum order order)
{
    return order == ORDER_BEFORE ? ORDER_BEHIND : order == ORDER_BEHIND ? ORDER_BEFORE : order;
}

static enum order order_of_numbers(const struct mdf_value *a, const struct mdf_value *b)
{
    if (mdf_python_is_integer(a)) {
        return mdf_python_is_integer(b) ? order_of_integers(mdf_python_integer_of(a), mdf_python_integer_of(b))
                                        : order_of_mixed(mdf_python_integer_of(a), mdf_python_real_of(b));
    }
    if (mdf_python_is_integer(b)) {
        return turned(order_of_mixed(mdf_python_integer_of(b), mdf_python_real_of(a)));
    }
    return order_of_reals(mdf_python_real_of(a), mdf_python_real_of(b));
}

static enum order order_of_strings(const struct mdf_value *a, const struct mdf_value *b)
{
    size_t a_length, b_length;
    const char *a_text = mdf_python_text(a, &a_length), *b_text = mdf_python_text(b, &b_length);
    int order = memcmp(a_text, b_text, a_length < b_length ? a_length : b_length);

    return order_of_integers(order != 0 ? order : (int64_t)a_length, order != 0 ? 0 : (int64_t)b_length);
}

/* ------------------------------------------------------------------ values of any kind */

static bool truth_of_relation(struct mdf_call *call, const struct relation *relation, const struct mdf_value *a,
                              const struct mdf_value *b, unsigned depth, bool *truth);

/* Lists compare by their first items that are not equal, else by their lengths. */
static bool compare_lists(struct mdf_call *call, const struct relation *relation, const struct mdf_value *a,
                          const struct mdf_value *b, unsigned depth, bool *truth)
{
    const struct mdf_value *x = mdf_value_items(a), *y = mdf_value_items(b);
    bool same = true;

    if (depth >= DEEPEST_LIST) {
        return mdf_call_error(call, MDF_LIMIT, "lists nested more than %d deep", DEEPEST_LIST);
    }
    if (tells_equality(relation) && a->length != b->length) {
        *truth = relation == &not_equal;
        return true;
    }
    for (size_t i = 0; i < a->length && i < b->length; i++) {
        if (!truth_of_relation(call, &equal, &x[i], &y[i], depth + 1, &same)) {
            return false;
        }
        if (!same) {
            return truth_of_relation(call, relation, &x[i], &y[i], depth + 1, truth);
        }
    }
    *truth = (relation->holds & (unsigned)order_of_integers((int64_t)a->length, (int64_t)b->length)) != 0;
    return true;
}

static bool is_array(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && !mdf_python_is_number(value) && !mdf_python_is_string(value);
}

/* Whether numpy compares the two: one is an array, the other one too or something that becomes one of its kind. */
static bool compares_as_arrays(const struct mdf_value *a, const struct mdf_value *b)
{
    const struct mdf_value *array = is_array(a) ? a : b, *other = is_array(a) ? b : a;

    if (!is_array(array) || (other->kind != MDF_KIND_TENSOR && other->kind != MDF_KIND_LIST)) {
        return false;
    }
    return other->kind == MDF_KIND_LIST || (array->dtype == MDF_DTYPE_STRING) == (other->dtype == MDF_DTYPE_STRING);
}

/* The answer for two values where that is one truth: 1; 0 where it is an array; -1 with the error set. */
static int compare_plainly(struct mdf_call *call, const struct relation *relation, const struct mdf_value *a,
                           const struct mdf_value *b, unsigned depth, bool *truth)
{
    if (mdf_python_is_number(a) && mdf_python_is_number(b)) {
        *truth = (relation->holds & (unsigned)order_of_numbers(a, b)) != 0;
        return 1;
    }
    if (mdf_python_is_string(a) && mdf_python_is_string(b)) {
        *truth = (relation->holds & (unsigned)order_of_strings(a, b)) != 0;
        return 1;
    }
    if (a->kind == MDF_KIND_LIST && b->kind == MDF_KIND_LIST) {
        return compare_lists(call, relation, a, b, depth, truth) ? 1 : -1;
    }
    if (is_array(a) || is_array(b)) {
        return 0;
    }
    if (!tells_equality(relation)) {
        mdf_python_refuse(call, a, b);
        return -1;
    }
    *truth = (a->kind == b->kind && a->kind != MDF_KIND_TENSOR && mdf_value_equal(a, b)) == (relation == &equal);
    return 1;
}

/* An array and something that no array element can equal. */
static bool compare_unlike(struct mdf_call *call, struct mdf_value *target, const struct relation *relation,
                           const struct mdf_value *a, const struct mdf_value *b)
{
    const struct mdf_value *array = is_array(a) ? a : b;
    void *elements;

    if (!tells_equality(relation)) {
        return mdf_python_refuse(call, a, b);
    }
    elements = mdf_python_make(call, target, MDF_DTYPE_BOOL, mdf_numpy_strength(array), array->rank, mdf_value_shape(array));
    if (elements != NULL && array->length > 0) {
        memset(elements, relation == &not_equal, array->length);
    }
    return elements != NULL;
}

static bool compare_arrays(struct mdf_call *call, struct mdf_value *target, const struct relation *relation,
                           const struct mdf_value *a, const struct mdf_value *b)
{
    const struct mdf_value *operands[2] = {a, b};

    return compares_as_arrays(a, b) ? mdf_ufunc_apply(call, target, relation->arrays, operands, NULL)
                                    : compare_unlike(call, target, relation, a, b);
}

static bool compare(struct mdf_call *call, struct mdf_value *target, const struct relation *relation, const struct mdf_value *a,
                    const struct mdf_value *b)
{
    bool truth = false;
    int plain = compare_plainly(call, relation, a, b, 0, &truth);

    if (plain < 0) {
        return false;
    }
    return plain > 0 ? mdf_python_make_bool(call, target, truth) : compare_arrays(call, target, relation, a, b);
}

static inline bool are_scalars(const struct mdf_value *a, const struct mdf_value *b, mdf_dtype dtype)
{
    return a->kind == MDF_KIND_TENSOR && b->kind == MDF_KIND_TENSOR && a->dtype == dtype && b->dtype == dtype && a->rank == 0 &&
           b->rank == 0;
}

static bool truth_of_relation(struct mdf_call *call, const struct relation *relation, const struct mdf_value *a,
                              const struct mdf_value *b, unsigned depth, bool *truth)
{
    struct mdf_value answer = {0};
    bool done;
    int plain;

    if (mdf_should_stop(call->context)) {
        return false;
    }
    if (are_scalars(a, b, MDF_DTYPE_FLOAT64)) { /* of numpy too: items of arrays */
        *truth = (relation->holds & (unsigned)order_of_reals(*(const double *)a->data, *(const double *)b->data)) != 0;
        return true;
    }
    plain = compare_plainly(call, relation, a, b, depth, truth);
    if (plain != 0) {
        return plain > 0;
    }
    done = compare_arrays(call, &answer, relation, a, b) && mdf_python_truth_of(call, &answer, truth);
    mdf_value_clear(call->context->memory, &answer);
    return done;
}

bool mdf_python_equal(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, bool *answer)
{
    return truth_of_relation(call, &equal, a, b, 0, answer);
}

bool mdf_python_less(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b, bool *answer)
{
    return truth_of_relation(call, &less, a, b, 0, answer);
}

/* ------------------------------------------------------------------ kernels */

static inline bool write_truth(struct mdf_call *call, bool truth, uint8_t a_strength, uint8_t b_strength)
{
    struct mdf_value *target = mdf_call_target(call, 0);
    uint8_t *element = mdf_value_make_tensor(call->context->memory, target, MDF_DTYPE_BOOL, 0, NULL);

    if (element == NULL) {
        return mdf_call_out_of_memory(call);
    }
    *element = truth;
    target->strength = a_strength > b_strength ? a_strength : b_strength;
    return true;
}

#define COMPARISON_KERNEL(name, relation, sign)                                                                            \
    static bool name(struct mdf_call *call)                                                                                \
    {                                                                                                                      \
        const struct mdf_value *a = call->inputs[0], *b = call->inputs[1];                                                 \
                                                                                                                           \
        if (are_scalars(a, b, MDF_DTYPE_FLOAT64)) {                                                                        \
            return write_truth(call, *(const double *)a->data sign * (const double *)b->data, a->strength, b->strength);   \
        }                                                                                                                  \
        if (are_scalars(a, b, MDF_DTYPE_INT64)) {                                                                          \
            return write_truth(call, *(const int64_t *)a->data sign * (const int64_t *)b->data, a->strength, b->strength); \
        }                                                                                                                  \
        return compare(call, mdf_call_target(call, 0), &(relation), a, b);                                                 \
    }

COMPARISON_KERNEL(run_less, less, <)
COMPARISON_KERNEL(run_less_equal, less_equal, <=)
COMPARISON_KERNEL(run_greater, greater, >)
COMPARISON_KERNEL(run_greater_equal, greater_equal, >=)
COMPARISON_KERNEL(run_equal, equal, ==)
COMPARISON_KERNEL(run_not_equal, not_equal, !=)

static bool run_not(struct mdf_call *call)
{
    bool truth;

    return mdf_python_truth_of(call, call->inputs[0], &truth) && mdf_python_make_bool(call, mdf_call_target(call, 0), !truth);
}

/* None is itself; numbers and strings are each other where they are equal and of one type; other values are no one else. */
static bool is_same(const struct mdf_value *a, const struct mdf_value *b)
{
    if (a == b || (a->kind == MDF_KIND_NONE && b->kind == MDF_KIND_NONE)) {
        return true;
    }
    return ((mdf_python_is_number(a) && mdf_python_is_number(b)) || (mdf_python_is_string(a) && mdf_python_is_string(b))) &&
           mdf_value_equal(a, b);
}

static bool run_is(struct mdf_call *call)
{
    return mdf_python_make_bool(call, mdf_call_target(call, 0), is_same(call->inputs[0], call->inputs[1]));
}

static bool run_is_not(struct mdf_call *call)
{
    return mdf_python_make_bool(call, mdf_call_target(call, 0), !is_same(call->inputs[0], call->inputs[1]));
}

/* ------------------------------------------------------------------ membership */

static bool find_text(struct mdf_call *call, const struct mdf_value *part, const struct mdf_value *whole, bool *found)
{
    size_t part_length, whole_length;
    const char *part_text = mdf_python_text(part, &part_length), *whole_text = mdf_python_text(whole, &whole_length);

    *found = memmem(whole_text, whole_length, part_text, part_length) != NULL;
    return mdf_python_is_string(part) || mdf_python_refuse(call, part, whole);
}

static bool find_in_items(struct mdf_call *call, const struct mdf_value *item, const struct mdf_value *container, bool *found)
{
    size_t step = container->kind == MDF_KIND_DICT ? 2 : 1;

    *found = false;
    for (size_t i = 0; i < container->length && !*found; i++) {
        if (!mdf_python_equal(call, item, &mdf_value_items(container)[i * step], found)) {
            return false;
        }
    }
    return true;
}

/* Whether any element equals the item, as numpy has it. */
static bool find_in_array(struct mdf_call *call, const struct mdf_value *item, const struct mdf_value *array, bool *found)
{
    struct mdf_value *slots = mdf_python_slots(call), *answers;

    if (slots == NULL) {
        return false;
    }
    answers = &slots[MDF_SLOT_OWN];
    if (!compare_arrays(call, answers, &equal, array, item)) {
        return false;
    }
    *found = answers->length > 0 && memchr(answers->data, 1, answers->length) != NULL;
    return true;
}

static bool find(struct mdf_call *call, bool *found)
{
    const struct mdf_value *item = call->inputs[0], *container = call->inputs[1];

    if (mdf_python_is_string(container)) {
        return find_text(call, item, container, found);
    }
    if (container->kind == MDF_KIND_LIST || container->kind == MDF_KIND_DICT) {
        return find_in_items(call, item, container, found);
    }
    return container->kind == MDF_KIND_TENSOR && container->rank > 0 ? find_in_array(call, item, container, found)
                                                                     : mdf_python_check_iterable(call, container);
}

static bool run_contains(struct mdf_call *call)
{
    bool found = false;

    return find(call, &found) && mdf_python_make_bool(call, mdf_call_target(call, 0), found);
}

static bool run_not_contains(struct mdf_call *call)
{
    bool found = false;

    return find(call, &found) && mdf_python_make_bool(call, mdf_call_target(call, 0), !found);
}

const struct mdf_operator mdf_operators_python_compare_values[] = {
    MDF_FUNCTION("operator.lt", run_less, MDF_OPERATOR_TRUTH, "a b", MDF_ELEMENT(less)),
    MDF_FUNCTION("operator.le", run_less_equal, MDF_OPERATOR_TRUTH, "a b", MDF_ELEMENT(less_or_equal)),
    MDF_FUNCTION("operator.gt", run_greater, MDF_OPERATOR_TRUTH, "a b", MDF_ELEMENT(greater)),
    MDF_FUNCTION("operator.ge", run_greater_equal, MDF_OPERATOR_TRUTH, "a b", MDF_ELEMENT(greater_or_equal)),
    MDF_FUNCTION("operator.eq", run_equal, MDF_OPERATOR_TRUTH, "a b", MDF_ELEMENT(equal)),
    MDF_FUNCTION("operator.ne", run_not_equal, MDF_OPERATOR_TRUTH, "a b", MDF_ELEMENT(not_equal)),
    MDF_FUNCTION("operator.is_", run_is, MDF_OPERATOR_TRUTH, "a b"),
    MDF_FUNCTION("operator.is_not", run_is_not, MDF_OPERATOR_TRUTH, "a b"),
    MDF_FUNCTION("operator.not_", run_not, MDF_OPERATOR_TRUTH, "a", MDF_ELEMENT(negation)),
    MDF_FUNCTION("operator.contains", run_contains, MDF_OPERATOR_TRUTH, "item container",
                 .written_out = MDF_WRITTEN_OUT_CONTAINED),
    MDF_FUNCTION("operator.not_contains", run_not_contains, MDF_OPERATOR_TRUTH, "item container",
                 .written_out = MDF_WRITTEN_OUT_NOT_CONTAINED),
    {NULL}};
