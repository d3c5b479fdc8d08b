/* numpy_linalg.c - numpy.linalg: norm det inv solve matrix_power.
 *
 * Matrices are solved by elimination with partial pivoting, in float64; results have the type of reals of the operands. Stacks
 * of matrices are solved one by one. Source: numpy 2.4, "Linear algebra". */
#include "functions/moves/indexing.h"
#include "functions/python/numpy/numpy_linalg.h"
#include "functions/python/numpy/numpy_products.h"
#include "functions/python/ufunc.h"

#include <math.h>
#include <string.h>

enum { SLOT_POWERS = MDF_SLOT_OWN + 3, SLOT_RESULTS, SLOT_MATRIX, SLOT_SQUARE };

/* The type of reals that an array computes in. */
static struct mdf_python_type real_type(const struct mdf_call *call, const struct mdf_value *array)
{
    bool is_real = mdf_dtype_kind((mdf_dtype)array->dtype) == 'f';
    struct mdf_python_type type = {is_real ? (mdf_dtype)array->dtype : call->context->real,
                                   array->strength == MDF_STRENGTH_TYPED};

    return type;
}

/* ------------------------------------------------------------------ elimination */

enum { ROWS_BETWEEN_LOOKS = 16 }; /* for a request to stop */

#include "functions/kernel/number_routine.inc"
#define HEEDED(stop, row) (!mdf_should_stop_at(stop, (size_t)(row), ROWS_BETWEEN_LOOKS))
#include "functions/python/numpy/solve_routine.inc"
#undef HEEDED

/* Square matrices in the last two axes of input 0, as float64 in slot SLOT_MATRIX to be worked on; NULL with the error set. */
static const struct mdf_value *read_matrices(struct mdf_call *call, size_t *n, size_t *n_matrices)
{
    const struct mdf_value *array = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS), *reals;
    struct mdf_value *slots = mdf_python_slots(call);
    const int64_t *shape;
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (array == NULL || slots == NULL) {
        return NULL;
    }
    shape = mdf_value_shape(array);
    if (array->rank < 2 || shape[array->rank - 1] != shape[array->rank - 2]) {
        mdf_value_describe(array, text, sizeof text);
        mdf_call_error(call, MDF_SHAPE, "%s has no square matrices in its last two axes", text);
        return NULL;
    }
    *n = (size_t)shape[array->rank - 1];
    *n_matrices = *n > 0 ? array->length / (*n * *n) : mdf_axes_product(shape, 0, array->rank - 2);
    reals = mdf_python_array_of(call, array, MDF_DTYPE_FLOAT64, MDF_SLOT_OPERANDS + 2);
    if (reals == NULL ||
        mdf_python_make(call, &slots[SLOT_MATRIX], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, array->rank, shape) == NULL) {
        return NULL;
    }
    if (reals->length > 0) {
        memcpy(slots[SLOT_MATRIX].data, reals->data, reals->length * sizeof(double));
    }
    return array;
}

#define SINGULAR "the matrix is singular"

/* solve_routine.inc; `m`: right sides, 0: determinants are asked for. */
static bool plan_solved(struct mdf_call *call, int64_t m, struct mdf_routine_plan *plan)
{
    const struct mdf_value *array = call->inputs[0], *sides = mdf_call_input(call, 1);
    int64_t n;

    if (array->kind != MDF_KIND_TENSOR || array->rank < 2 || array->length == 0 || !mdf_routine_room(plan, 6, 0) ||
        !mdf_routine_kind(array, MDF_DTYPE_NONE, &plan->whole[3]) || !mdf_routine_kind(sides, MDF_DTYPE_NONE, &plan->whole[4]) ||
        !mdf_routine_kind(call->outputs[0], MDF_DTYPE_NONE, &plan->whole[5])) {
        return false;
    }
    n = mdf_value_shape(array)[array->rank - 1];
    plan->function = "solved";
    plan->dtype = MDF_DTYPE_NONE;
    plan->whole[0] = (int64_t)mdf_axes_product(mdf_value_shape(array), 0, array->rank - 2u);
    plan->whole[1] = n;
    plan->whole[2] = m;
    plan->work_bytes = (size_t)(n * (n + m)) * sizeof(double);
    return true;
}

static bool plan_det(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_solved(call, 0, plan);
}

static bool plan_inv(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *array = call->inputs[0];

    return array->rank > 0 && plan_solved(call, mdf_value_shape(array)[array->rank - 1], plan);
}

static bool plan_solve(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *sides = call->inputs[1];

    return sides->rank > 0 && plan_solved(call, sides->rank == 1 ? 1 : mdf_value_shape(sides)[sides->rank - 1], plan) &&
           plan->whole[2] > 0;
}

static mdf_routine_function solved_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_ROWS = 16 };

    return plan->whole[0] == 1 && plan->whole[1] <= MOST_ROWS && plan->whole[2] <= MOST_ROWS ? mdf_solved : NULL;
}

#define SOLVE_ROUTINE(plan_of, what) (&(const struct mdf_routine){plan_of, .why = what, .lists = 3, .function = solved_function})

const struct mdf_routine mdf_inverse_routine = {plan_inv, .why = SINGULAR, .lists = 1, .function = solved_function};

/* As numpy: by way of the logarithm of the diagonal. */
static bool run_det(struct mdf_call *call)
{
    size_t n, n_matrices;
    const struct mdf_value *array = read_matrices(call, &n, &n_matrices);
    struct mdf_value *slots = mdf_python_slots(call);
    double *results;

    if (array == NULL || slots == NULL) {
        return false;
    }
    results = mdf_python_make(call, &slots[SLOT_RESULTS], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, array->rank - 2,
                              mdf_value_shape(array));
    for (size_t i = 0; results != NULL && i < n_matrices; i++) {
        results[i] = mdf_determined((double *)slots[SLOT_MATRIX].data + i * n * n, (int64_t)n, call->context);
    }
    return results != NULL && mdf_python_convert(call, mdf_call_target(call, 0), &slots[SLOT_RESULTS], real_type(call, array));
}

/* Solves each matrix for its `m` right sides, in place. */
static bool solve_all(struct mdf_call *call, double *matrices, double *sides, size_t n, size_t n_matrices, size_t m)
{
    for (size_t i = 0; n > 0 && i < n_matrices; i++, matrices += n * n, sides += n * m) {
        if (mdf_triangular(matrices, (int64_t)n, sides, (int64_t)m, call->context) == 0) {
            return n_matrices == 1 ? mdf_call_error(call, MDF_VALUE, SINGULAR)
                                   : mdf_call_error(call, MDF_VALUE, "matrix number %zu of %zu is singular", i, n_matrices);
        }
        mdf_substitute(matrices, (int64_t)n, sides, (int64_t)m, call->context);
    }
    return true;
}

bool mdf_invert(struct mdf_call *call, double *matrices, double *inverses, size_t n, size_t n_matrices)
{
    for (size_t i = 0; i < n_matrices * n * n; i++) {
        inverses[i] = i / n % n == i % n;
    }
    return solve_all(call, matrices, inverses, n, n_matrices, n);
}

static bool run_inv(struct mdf_call *call)
{
    size_t n, n_matrices;
    const struct mdf_value *array = read_matrices(call, &n, &n_matrices);
    struct mdf_value *slots = mdf_python_slots(call);
    double *sides;

    if (array == NULL || slots == NULL) {
        return false;
    }
    sides =
        mdf_python_make(call, &slots[SLOT_RESULTS], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, array->rank, mdf_value_shape(array));
    return sides != NULL && mdf_invert(call, slots[SLOT_MATRIX].data, sides, n, n_matrices) &&
           mdf_python_convert(call, mdf_call_target(call, 0), &slots[SLOT_RESULTS], real_type(call, array));
}

/* "a b": b is a vector, or has a matrix of right sides for each matrix of a. */
static bool run_solve(struct mdf_call *call)
{
    size_t n, n_matrices, m;
    const struct mdf_value *array = read_matrices(call, &n, &n_matrices), *sides, *reals;
    struct mdf_value *slots = mdf_python_slots(call);
    struct mdf_python_type type, other;
    bool fits;
    void *results;

    sides = array == NULL || slots == NULL ? NULL : mdf_python_input_array(call, 1, MDF_SLOT_OPERANDS + 1);
    if (sides == NULL) {
        return false;
    }
    fits = sides->rank == 1 ? array->rank == 2
                            : sides->rank == array->rank && memcmp(mdf_value_shape(sides), mdf_value_shape(array),
                                                                   (array->rank - 2) * sizeof(int64_t)) == 0;
    if (!fits || mdf_value_shape(sides)[sides->rank == 1 ? 0 : sides->rank - 2] != (int64_t)n) {
        return mdf_call_error(call, MDF_SHAPE, "the right sides do not fit %zu matrices of size %zu", n_matrices, n);
    }
    m = sides->rank == 1 ? 1 : (size_t)mdf_value_shape(sides)[sides->rank - 1];
    type = real_type(call, array);
    other = real_type(call, sides);
    type.dtype = mdf_promote(type.dtype, type.typed ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL, other.dtype,
                             other.typed ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL, call->context->real);
    type.typed = type.typed || other.typed;
    reals = mdf_python_array_of(call, sides, MDF_DTYPE_FLOAT64, MDF_SLOT_OPERANDS + 1);
    results = reals == NULL ? NULL
                            : mdf_python_make(call, &slots[SLOT_RESULTS], MDF_DTYPE_FLOAT64, MDF_STRENGTH_LITERAL, reals->rank,
                                              mdf_value_shape(reals));
    if (results == NULL) {
        return false;
    }
    if (reals->length > 0) {
        memcpy(results, reals->data, reals->length * sizeof(double));
    }
    return solve_all(call, slots[SLOT_MATRIX].data, results, n, n_matrices, m) &&
           mdf_python_convert(call, mdf_call_target(call, 0), &slots[SLOT_RESULTS], type);
}

/* ------------------------------------------------------------------ powers */

/* Output 0 becomes the matrix in slot SLOT_SQUARE to a power above 0, by squaring. The unit matrix is never needed: the first
 * factor starts the product. */
static bool raise_matrix(struct mdf_call *call, int64_t exponent)
{
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0), *square = &slots[SLOT_SQUARE];
    struct mdf_value *held = &slots[SLOT_POWERS];
    bool started = false;

    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0) {
            if (started && (!mdf_python_copy(call, held, target) || !mdf_numpy_matmul(call, target, held, square))) {
                return false;
            }
            if (!started && !mdf_python_copy(call, target, square)) {
                return false;
            }
            started = true;
        }
        if (exponent > 1 && (!mdf_numpy_matmul(call, held, square, square) || !mdf_python_copy(call, square, held))) {
            return false;
        }
    }
    return true;
}

/* "a n". */
static bool run_matrix_power(struct mdf_call *call)
{
    size_t n, n_matrices;
    const struct mdf_value *array = read_matrices(call, &n, &n_matrices);
    struct mdf_value *slots = mdf_python_slots(call), *target = mdf_call_target(call, 0);
    int64_t exponent, one = 1;

    if (array == NULL || slots == NULL || !mdf_call_integer(call, 1, &exponent)) {
        return false;
    }
    if (exponent == 0) {
        mdf_dtype dtype = (mdf_dtype)array->dtype;

        if (!mdf_python_copy(call, target, array) || mdf_value_writable(call->context->memory, target) == NULL) {
            return mdf_call_out_of_memory(call);
        }
        for (size_t i = 0; i < target->length; i++) {
            one = i / n % n == i % n;
            mdf_convert_elements(dtype, mdf_element_to_write(dtype, target->data, i), MDF_DTYPE_INT64, &one, 1, false);
        }
        return true;
    }
    if (exponent < 0) {
        if (exponent == INT64_MIN || !run_inv(call) || !mdf_python_copy(call, &slots[SLOT_SQUARE], target)) {
            return exponent == INT64_MIN && mdf_call_error(call, MDF_VALUE, "the exponent is out of range");
        }
        return raise_matrix(call, -exponent);
    }
    return mdf_python_copy(call, &slots[SLOT_SQUARE], array) && raise_matrix(call, exponent);
}

/* The gradient of the right side. */
#define BACK "numpy.linalg.solve(gradient.turn(x0, True), dy)"

static const struct mdf_meaning_scan powers = {
    "power:one", "number:numbers",
    (const struct mdf_meaning_step[]){{"next", "numpy.matmul(power, base)", NULL}, {NULL, NULL, NULL}}, "next"};

const struct mdf_operator mdf_operators_python_numpy_linalg[] = {
    MDF_FUNCTION("numpy.linalg.det", run_det, 0, "a", .routine = SOLVE_ROUTINE(plan_det, NULL),
                 .derivatives =
                     MDF_DERIVATIVES({0, "numpy.expand_dims(dy * y, (-2, -1)) * gradient.turn(numpy.linalg.inv(x0), True)"})),
    MDF_FUNCTION("numpy.linalg.inv", run_inv, 0, "a", .routine = &mdf_inverse_routine, .derivatives = MDF_INVERSE_DERIVATIVES),
    MDF_FUNCTION("numpy.linalg.solve", run_solve, 0, "a b", .routine = SOLVE_ROUTINE(plan_solve, SINGULAR),
                 .derivatives = MDF_DERIVATIVES(
                     {0, "-numpy.matmul(gradient.column(" BACK "), gradient.turn(gradient.column(y), True))"}, {1, BACK})),
    MDF_FUNCTION("numpy.linalg.matrix_power", run_matrix_power, 0, "a n",
                 .meaning = MDF_MEANING("result", NULL, {"base", "numpy.linalg.inv(x0) if x1 < 0 else x0", NULL},
                                        {"one", "numpy.zeros_like(x0) + numpy.eye(x0.shape[-1])", NULL},
                                        {"numbers", "numpy.arange(abs(int(x1)))", NULL}, {"result", NULL, &powers})),
    {NULL}};
