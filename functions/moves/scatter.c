/* scatter.c - elements written by index: Scatter, ScatterElements, ScatterND, TensorScatter.
 *
 * Comes in: an array, indices and updates. Goes out: a copy of the array with the updates written, or combined with what was
 * there (add, mul, min, max), where the indices point, in the order of the indices. Integers wrap; min and max keep NaN, as
 * numpy.minimum does; add and mul of bool are "or" and "and". Source: the ONNX operators of these names, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine_vectors.h"
#include "functions/moves/along.h"
#include "functions/moves/offsets.h"

#include <complex.h>
#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ combining elements, by type */

#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define LESS(x, y) ((x) < (y))
#define IS_NAN(x) (isnan(x))

#define WORK float
#define LOAD(x) (x)
#define STORE(x) (x)
#define NAME(op) float32_##op
#define ELEMENT float
#include "functions/moves/scatter_combine.inc"
#undef WORK
#define WORK double
#define NAME(op) float64_##op
#define ELEMENT double
#include "functions/moves/scatter_combine.inc"
#undef WORK
#undef LOAD
#undef STORE

#define WORK float
#define LOAD(x) mdf_float16_to_float(x)
#define STORE(x) mdf_float16_from_float(x)
#define NAME(op) float16_##op
#define ELEMENT uint16_t
#include "functions/moves/scatter_combine.inc"
#undef LOAD
#undef STORE
#define LOAD(x) mdf_bfloat16_to_float(x)
#define STORE(x) mdf_bfloat16_from_float(x)
#define NAME(op) bfloat16_##op
#define ELEMENT uint16_t
#include "functions/moves/scatter_combine.inc"
#undef WORK
#undef LOAD
#undef STORE
#undef IS_NAN

/* Whole numbers are combined without sign, so that they wrap; their order is that of the stored type. */
#define IS_NAN(x) false
#define WORK uint64_t
#define LOAD(x) ((uint64_t)(x))
#undef LESS
#define LESS(x, y) ((int64_t)(x) < (int64_t)(y))
#define STORE(x) ((int8_t)(x))
#define NAME(op) int8_##op
#define ELEMENT int8_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) ((int16_t)(x))
#define NAME(op) int16_##op
#define ELEMENT int16_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) ((int32_t)(x))
#define NAME(op) int32_##op
#define ELEMENT int32_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) ((int64_t)(x))
#define NAME(op) int64_##op
#define ELEMENT int64_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#undef LESS
#define LESS(x, y) ((x) < (y))
#define STORE(x) ((uint8_t)(x))
#define NAME(op) uint8_##op
#define ELEMENT uint8_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) ((uint16_t)(x))
#define NAME(op) uint16_##op
#define ELEMENT uint16_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) ((uint32_t)(x))
#define NAME(op) uint32_##op
#define ELEMENT uint32_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) (x)
#define NAME(op) uint64_##op
#define ELEMENT uint64_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) ((uint8_t)((x) != 0))
#define NAME(op) bool_##op
#define ELEMENT uint8_t
#include "functions/moves/scatter_combine.inc"
#undef STORE
#undef WORK
#undef LOAD
#undef LESS
#undef IS_NAN

/* Complex numbers have numpy's order: by the real, then by the imaginary part. */
#define IS_NAN(x) (isnan(creal(x)) || isnan(cimag(x)))
#define LESS(x, y) (creal(x) < creal(y) || (creal(x) <= creal(y) && cimag(x) < cimag(y)))
#define WORK double complex
#define LOAD(x) (x)
#define STORE(x) ((float complex)(x))
#define NAME(op) complex64_##op
#define ELEMENT float complex
#include "functions/moves/scatter_combine.inc"
#undef STORE
#define STORE(x) (x)
#define NAME(op) complex128_##op
#define ELEMENT double complex
#include "functions/moves/scatter_combine.inc"

typedef void (*combine)(void *a, const void *b, size_t n);

enum { REDUCTION_ADD, REDUCTION_MUL, REDUCTION_MIN, REDUCTION_MAX, N_REDUCTIONS };

#define COMBINES(ENUM, type) [MDF_DTYPE_##ENUM] = {type##_add, type##_multiply, type##_minimum, type##_maximum}
static const combine combines[MDF_DTYPE_COUNT][N_REDUCTIONS] = {
    COMBINES(BOOL, bool),       COMBINES(INT8, int8),           COMBINES(INT16, int16),          COMBINES(INT32, int32),
    COMBINES(INT64, int64),     COMBINES(UINT8, uint8),         COMBINES(UINT16, uint16),        COMBINES(UINT32, uint32),
    COMBINES(UINT64, uint64),   COMBINES(FLOAT16, float16),     COMBINES(BFLOAT16, bfloat16),    COMBINES(FLOAT32, float32),
    COMBINES(FLOAT64, float64), COMBINES(COMPLEX64, complex64), COMBINES(COMPLEX128, complex128)};

/* ------------------------------------------------------------------ the operators */

struct scatter_settings {
    int64_t axis;
    const char *reduction; /* from version 16 on; min and max from 18 on */
};

static const struct mdf_setting scatter_table[] = {
    {"axis", MDF_SETTING_INT, offsetof(struct scatter_settings, axis)},
    {"reduction", MDF_SETTING_STRING, offsetof(struct scatter_settings, reduction)},
    {NULL, MDF_SETTING_INT, 0}};

/* Number of a reduction; -1: none, the update replaces what was there. False: there is no such reduction. */
static bool find_reduction(const struct scatter_settings *settings, int *number)
{
    static const char *const names[N_REDUCTIONS] = {"add", "mul", "min", "max"};
    const char *reduction = settings->reduction == NULL ? "none" : settings->reduction;

    for (*number = 0; *number < N_REDUCTIONS && strcmp(reduction, names[*number]) != 0; ++*number) {
    }
    *number = strcmp(reduction, "none") == 0 ? -1 : *number;
    return *number < N_REDUCTIONS;
}

/* How to combine elements of a type; *how NULL: the update replaces what was there. */
static bool find_combine(struct mdf_call *call, mdf_dtype dtype, combine *how)
{
    const struct scatter_settings *settings = call->settings;
    int number;

    if (!find_reduction(settings, &number)) {
        return mdf_call_error(call, MDF_VALUE, "unknown reduction '%s': none, add, mul, min and max are known",
                              settings->reduction);
    }
    *how = number < 0 ? NULL : combines[dtype][number];
    return number < 0 || *how != NULL ||
           mdf_call_error(call, MDF_TYPE, "reduction '%s' is not defined for %s", settings->reduction, mdf_dtype_name(dtype));
}

/* Output 0 as a copy of the array. */
static void *output_copy(struct mdf_call *call, const struct mdf_value *data)
{
    void *target = mdf_call_output(call, 0, (mdf_dtype)data->dtype, data->rank, mdf_value_shape(data));

    if (target != NULL) {
        mdf_elements_copy(call, (mdf_dtype)data->dtype, target, data->data, data->length);
    }
    return target;
}

/* Writes block number i of the updates at offset number i. */
static bool write_blocks(struct mdf_call *call, const struct mdf_value *data, const struct mdf_value *updates,
                         const size_t *offsets, size_t n, size_t n_block)
{
    mdf_dtype dtype = (mdf_dtype)data->dtype;
    combine how;
    void *target;

    if (!find_combine(call, dtype, &how)) {
        return false;
    }
    target = output_copy(call, data);
    if (target != NULL && how == NULL) {
        mdf_blocks_scatter(call, dtype, target, updates->data, offsets, n, n_block);
    }
    for (size_t i = 0; target != NULL && how != NULL && n_block > 0 && i < n && !mdf_should_stop(call->context); i++) {
        how(mdf_element_to_write(dtype, target, offsets[i]), mdf_element_at(dtype, updates->data, i * n_block), n_block);
    }
    return target != NULL;
}

/* Input 2 where its shape is as it must be: `rank` sizes, the first `n_of_indices` of input 1 and then those of the array
 * from `first_kept` on. */
static const struct mdf_value *checked_updates(struct mdf_call *call, const struct mdf_value *data,
                                               const struct mdf_value *indices, size_t n_of_indices, size_t first_kept)
{
    const struct mdf_value *updates = mdf_call_tensor(call, 2);
    size_t n_kept = data->rank - first_kept;
    char text[96];

    if (updates == NULL) {
        return NULL;
    }
    if (updates->dtype == data->dtype && updates->rank == n_of_indices + n_kept &&
        memcmp(mdf_value_shape(updates), mdf_value_shape(indices), n_of_indices * sizeof(int64_t)) == 0 &&
        memcmp(mdf_value_shape(updates) + n_of_indices, mdf_value_shape(data) + first_kept, n_kept * sizeof(int64_t)) == 0) {
        return updates;
    }
    mdf_value_describe(updates, text, sizeof text);
    mdf_call_error(call, MDF_SHAPE,
                   "updates %s do not have the shape that data and indices ask for: rank %zu, %zu sizes of the indices first",
                   text, n_of_indices + n_kept, n_of_indices);
    return NULL;
}

static bool scatter_elements(struct mdf_call *call)
{
    const struct scatter_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0), *indices = mdf_call_tensor(call, 1), *updates;
    struct mdf_along along;
    size_t axis;
    combine how;
    void *target;

    if (data == NULL || indices == NULL || !mdf_call_axis(call, settings->axis, data->rank, &axis)) {
        return false;
    }
    updates = checked_updates(call, data, indices, indices->rank, data->rank);
    if (updates == NULL || !mdf_along_begin(call, data, axis, &along) || !find_combine(call, along.dtype, &how)) {
        return false;
    }
    target = output_copy(call, data);
    return target != NULL && mdf_along_scatter(&along, target, updates->data, how);
}

static bool scatter_nd(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0), *indices = mdf_call_tensor(call, 1), *updates;
    const size_t *offsets;
    size_t n, n_block;

    if (data == NULL || indices == NULL) {
        return false;
    }
    offsets = mdf_offsets_of_tuples(call, data, 0, &n, &n_block);
    if (offsets == NULL) {
        return false;
    }
    updates =
        checked_updates(call, data, indices, (size_t)indices->rank - 1, (size_t)mdf_value_shape(indices)[indices->rank - 1]);
    return updates != NULL && write_blocks(call, data, updates, offsets, n, n_block);
}

/* ------------------------------------------------------------------ TensorScatter */

struct cache_settings {
    int64_t axis;
    const char *mode;
};

static const struct mdf_setting cache_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct cache_settings, axis)},
                                                 {"mode", MDF_SETTING_STRING, offsetof(struct cache_settings, mode)},
                                                 {NULL, MDF_SETTING_INT, 0}};

/* Checks that the update fits the cache: equal sizes off the axis, no longer along it. */
static bool check_cache(struct mdf_call *call, const struct mdf_value *cache, const struct mdf_value *update, size_t axis)
{
    bool fits = update->rank == cache->rank && update->dtype == cache->dtype && axis > 0;
    char cache_text[96], update_text[96];

    for (size_t k = 0; fits && k < cache->rank; k++) {
        int64_t size = mdf_value_shape(cache)[k], updated = mdf_value_shape(update)[k];

        fits = k == axis ? updated <= size : updated == size;
    }
    if (fits) {
        return true;
    }
    mdf_value_describe(cache, cache_text, sizeof cache_text);
    mdf_value_describe(update, update_text, sizeof update_text);
    return mdf_call_error(call, MDF_SHAPE, "update %s does not fit the cache %s along axis %zu", update_text, cache_text, axis);
}

/* Writes the steps of one part (all axes before the sequence axis fixed) from step `first` on. */
static bool write_steps(struct mdf_call *call, void *target, const struct mdf_value *update, size_t part, int64_t first,
                        size_t axis, int64_t n_cache, size_t inner, bool circular)
{
    mdf_dtype dtype = (mdf_dtype)update->dtype;
    int64_t n = mdf_value_shape(update)[axis];

    if (n > 0 && circular) {
        first = first % n_cache + (first % n_cache < 0 ? n_cache : 0);
    } else if (first < 0 || first > n_cache - n) {
        return mdf_call_error(call, MDF_VALUE, "write index %lld with %lld steps is out of range for a cache of %lld",
                              (long long)first, (long long)n, (long long)n_cache);
    }
    for (int64_t step = 0; step < n && !mdf_should_stop(call->context); step++) {
        size_t at = (size_t)(step < n_cache - first ? first + step : step - (n_cache - first));

        mdf_elements_copy(call, dtype, mdf_element_to_write(dtype, target, (part * (size_t)n_cache + at) * inner),
                          mdf_element_at(dtype, update->data, (part * (size_t)n + (size_t)step) * inner), inner);
    }
    return true;
}

static bool tensor_scatter(struct mdf_call *call)
{
    const struct cache_settings *settings = call->settings;
    const struct mdf_value *cache = mdf_call_tensor(call, 0), *update = mdf_call_tensor(call, 1);
    bool circular = settings->mode != NULL && strcmp(settings->mode, "circular") == 0;
    const int64_t *first = NULL, *shape;
    size_t axis, n_first = 0, n_parts, per_batch, inner;
    void *target;

    if (cache == NULL || update == NULL || !mdf_call_axis(call, settings->axis, cache->rank, &axis) ||
        !check_cache(call, cache, update, axis)) {
        return false;
    }
    if (!circular && settings->mode != NULL && strcmp(settings->mode, "linear") != 0) {
        return mdf_call_error(call, MDF_VALUE, "mode '%s' is neither linear nor circular", settings->mode);
    }
    shape = mdf_value_shape(cache);
    if (mdf_call_input(call, 2) != NULL) {
        first = mdf_call_integers(call, 2, MDF_SCRATCH_FIRST, &n_first);
        if (first == NULL || n_first != (size_t)shape[0]) {
            return first == NULL ? false
                                 : mdf_call_error(call, MDF_SHAPE, "%zu write indices are given for a batch of %lld", n_first,
                                                  (long long)shape[0]);
        }
    }
    target = output_copy(call, cache);
    if (target == NULL || update->length == 0) {
        return target != NULL;
    }
    n_parts = mdf_axes_product(shape, 0, axis);
    per_batch = n_parts / (size_t)shape[0];
    inner = mdf_axes_product(shape, axis + 1, cache->rank);
    for (size_t part = 0; part < n_parts; part++) {
        if (!write_steps(call, target, update, part, first != NULL ? first[part / per_batch] : 0, axis, shape[axis], inner,
                         circular)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ as plain C: scatter_routine.inc */

static bool is_whole(const struct mdf_value *value)
{
    return value->dtype == MDF_DTYPE_INT64 || value->dtype == MDF_DTYPE_INT32;
}

/* The numbers that both routines begin with: elements of the array, number of places, how, whether indices are int64. */
static bool plan_places(struct mdf_call *call, size_t n_whole, size_t n_places, struct mdf_routine_plan *plan)
{
    const struct mdf_value *data = call->inputs[0], *indices = call->inputs[1];
    int reduction;

    if (!mdf_routine_room(plan, n_whole, 0) || !is_whole(indices) || !find_reduction(call->settings, &reduction)) {
        return false;
    }
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = (int64_t)data->length;
    plan->whole[1] = (int64_t)n_places;
    plan->whole[2] = reduction + 1;
    plan->whole[3] = indices->dtype == MDF_DTYPE_INT64;
    return true;
}

static bool plan_elements(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct scatter_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0], *indices = call->inputs[1];
    size_t rank = data->rank, axis;
    int64_t strides[MDF_INLINE_RANK];

    if (rank > MDF_INLINE_RANK || !mdf_call_axis(call, settings->axis, rank, &axis) ||
        !plan_places(call, 6 + 3 * rank, indices->length, plan)) {
        return false;
    }
    plan->function = "scatter_elements";
    plan->whole[4] = (int64_t)rank;
    plan->whole[5] = (int64_t)axis;
    mdf_strides(rank, mdf_value_shape(data), strides);
    for (size_t k = 0; k < rank; k++) {
        plan->whole[6 + 3 * k] = mdf_value_shape(indices)[k];
        plan->whole[7 + 3 * k] = mdf_value_shape(data)[k];
        plan->whole[8 + 3 * k] = strides[k];
    }
    return true;
}

static bool plan_blocks(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *data = call->inputs[0], *indices = call->inputs[1];
    size_t depth = (size_t)mdf_value_shape(indices)[indices->rank - 1], n;
    int64_t strides[MDF_INLINE_RANK];

    if (data->rank > MDF_INLINE_RANK || !mdf_shape_n_elements(indices->rank - 1u, mdf_value_shape(indices), &n) ||
        !plan_places(call, 6 + 2 * depth, n, plan)) {
        return false;
    }
    plan->function = "scatter_blocks";
    plan->whole[4] = (int64_t)depth;
    plan->whole[5] = (int64_t)mdf_axes_product(mdf_value_shape(data), depth, data->rank);
    mdf_strides(data->rank, mdf_value_shape(data), strides);
    for (size_t k = 0; k < depth; k++) {
        plan->whole[6 + 2 * k] = mdf_value_shape(data)[k];
        plan->whole[7 + 2 * k] = strides[k];
    }
    return true;
}

static bool plan_steps(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct cache_settings *settings = call->settings;
    const struct mdf_value *cache = call->inputs[0], *first = mdf_call_input(call, 2);
    const int64_t *shape = mdf_value_shape(cache);
    size_t axis;

    if (!mdf_call_axis(call, settings->axis, cache->rank, &axis) || (first != NULL && !is_whole(first)) || cache->length == 0 ||
        !mdf_routine_room(plan, 8, 0)) {
        return false;
    }
    plan->function = "scatter_steps";
    plan->dtype = (mdf_dtype)cache->dtype;
    plan->whole[0] = (int64_t)cache->length;
    plan->whole[1] = settings->mode != NULL && strcmp(settings->mode, "circular") == 0;
    plan->whole[2] = first != NULL && first->dtype == MDF_DTYPE_INT64;
    plan->whole[3] = (int64_t)mdf_axes_product(shape, 0, axis);
    plan->whole[4] = plan->whole[3] / shape[0];
    plan->whole[5] = shape[axis];
    plan->whole[6] = mdf_value_shape(call->inputs[1])[axis];
    plan->whole[7] = (int64_t)mdf_axes_product(shape, axis + 1, cache->rank);
    return true;
}

#include "functions/moves/places_routine.inc"
#define ROUTINES "functions/elements/differs_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/moves/scatter_routine.inc"
#include "functions/kernel/routine_reals.inc"
#define ROUTINES "functions/elements/differs_routine.inc"
#include "functions/kernel/routine_wholes.inc"
#define ROUTINES "functions/moves/scatter_routine.inc"
#include "functions/kernel/routine_wholes.inc"

/* Whether so little is written that its kernel's looks at types and shapes are worth more. */
static bool is_short(const struct mdf_routine_plan *plan)
{
    enum { MOST_ELEMENTS = 1 << 12 };

    return plan->whole[0] <= MOST_ELEMENTS && plan->whole[1] <= MOST_ELEMENTS;
}

static mdf_routine_function elements_function(const struct mdf_routine_plan *plan)
{
    return !is_short(plan)                  ? NULL
           : plan->dtype == MDF_DTYPE_INT64 ? mdf_scatter_elements_int64
                                            : MDF_ROUTINE_OF_REALS(plan, scatter_elements);
}

MDF_REAL_ROUTINES_IN_VECTORS(scatter_blocks)

/* Short blocks fill no vectors, which would take longer to find that. */
static mdf_routine_function blocks_function(const struct mdf_routine_plan *plan)
{
    enum { FEWEST_IN_VECTORS = 8 };

    return !is_short(plan)                       ? NULL
           : plan->dtype == MDF_DTYPE_INT64      ? mdf_scatter_blocks_int64
           : plan->whole[5] >= FEWEST_IN_VECTORS ? MDF_WIDEST_OF_REALS(plan, scatter_blocks)
                                                 : MDF_ROUTINE_OF_REALS(plan, scatter_blocks);
}

static const char out_of_range[] = "an index is out of range";

/* ------------------------------------------------------------------ what derivatives are made of */

/* Of numbers of the array's elements, indices, updates: the number where each update goes. */
static bool find_element_places(struct mdf_call *call)
{
    return mdf_along_gather_all(call, ((const struct scatter_settings *)call->settings)->axis);
}

static bool find_block_places(struct mdf_call *call)
{
    const struct mdf_value *numbers = mdf_call_tensor(call, 0), *updates = mdf_call_tensor(call, 2);
    size_t n, n_block;
    const size_t *offsets = numbers != NULL && updates != NULL ? mdf_offsets_of_tuples(call, numbers, 0, &n, &n_block) : NULL;
    int64_t *target = offsets != NULL ? mdf_call_output(call, 0, MDF_DTYPE_INT64, updates->rank, mdf_value_shape(updates)) : NULL;

    for (size_t i = 0; target != NULL && i < n * n_block && i < updates->length; i++) {
        target[i] = ((const int64_t *)numbers->data)[offsets[i / n_block] + i % n_block];
    }
    return target != NULL;
}

static const struct mdf_operator element_places = {"ScatterElements.places",  0,    0,
                                                   find_element_places,       NULL, 0,
                                                   MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat};
static const struct mdf_operator block_places = {
    "ScatterND.places", 0, 0, find_block_places, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat};

/* Of equal largest or smallest ones, what was there and updates, each gets the same share. */
#define AT "places(gradient.numbers(x0), x1, x2)"
#define IS_CHOSEN "(x2 == gradient.take(y, " AT "))"
#define SHARES "(1.0 * (x0 == y) + gradient.send_back(1.0 * " IS_CHOSEN ", " AT ", x0))"
#define IS_MOST "reduction == 'max' or reduction == 'min'"
#define COMBINED                                                                                                           \
    MDF_DERIVATIVES({0, "dy if reduction == 'add' else dy * self(numpy.ones_like(x0), x1, x2) if reduction == 'mul' else " \
                        "dy * (x0 == y) / " SHARES " if " IS_MOST " else self(dy, x1, numpy.zeros_like(x2))"},             \
                    {1, NULL},                                                                                             \
                    {2, "gradient.take(dy, " AT ") if reduction == 'add' else gradient.take(dy * y, " AT                   \
                        ") / x2 if reduction == 'mul' else "                                                               \
                        "gradient.take(dy / " SHARES ", " AT ") * " IS_CHOSEN " if " IS_MOST " else "                      \
                        "gradient.send_back(dy, self(gradient.no_numbers(x0), x1, gradient.numbers(x2)), x2)"})
#define HELPED_BY(row) .meaning = &(const struct mdf_meaning){.helper = &(row)}, .derivatives = COMBINED

const struct mdf_operator mdf_operators_scatter[] = {
    {"Scatter", 9, 99, scatter_elements, scatter_table, sizeof(struct scatter_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     HELPED_BY(element_places), .form = MDF_FORM_SCATTER_ELEMENTS, .infer = &mdf_rule_same,
     .routine =
         &(const struct mdf_routine){plan_elements, .takes_halves = true, .why = out_of_range, .function = elements_function}},
    {"ScatterElements", 11, 99, scatter_elements, scatter_table, sizeof(struct scatter_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     HELPED_BY(element_places), .form = MDF_FORM_SCATTER_ELEMENTS, .infer = &mdf_rule_same,
     .routine =
         &(const struct mdf_routine){plan_elements, .takes_halves = true, .why = out_of_range, .function = elements_function}},
    {"ScatterND", 11, 99, scatter_nd, scatter_table, sizeof(struct scatter_settings), MDF_OPERATOR_PURE, NULL,
     HELPED_BY(block_places), .form = MDF_FORM_SCATTER_ND, .infer = &mdf_rule_same,
     .routine = &(const struct mdf_routine){plan_blocks, .takes_halves = true, .why = out_of_range, .function = blocks_function}},
    {"TensorScatter", 24, 99, tensor_scatter, cache_table, sizeof(struct cache_settings), MDF_OPERATOR_PURE, NULL,
     .derivatives =
         MDF_DERIVATIVES({0, "self(dy, numpy.zeros_like(x1), x2)"},
                         {1, "gradient.send_back(dy, self(gradient.no_numbers(x0), gradient.numbers(x1), x2), x1)"}, {2, NULL}),
     .infer = &mdf_rule_same, .routine = &(const struct mdf_routine){plan_steps, .takes_bits = true, .why = out_of_range}},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
