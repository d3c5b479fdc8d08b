/* elementwise.c - see elementwise.h.
 *
 * A scalar call goes straight to its loop. Arrays of one shape, and arrays with scalars, are one stretch. All else is
 * brought to as few axes as possible: the last one is the stretch, the others are gone through row by row. Broadcasting by
 * numpy's rules (ONNX: "Broadcasting in ONNX", multidirectional). */
#include "functions/elements/elementwise.h"

#include <string.h>

enum {
    SCRATCH_AXES = 1,
    BLOCK = 256,             /* elements converted at a time */
    FOLD_BYTES = 8 << 10,    /* of the result, which stay near while all operands are folded */
    LARGEST_CARRIER_SIZE = 4 /* bytes of an element of a carrier */
};

static const double default_cost_ns = 0.3;

struct operand {
    const char *elements;
    size_t size; /* of an element */
    size_t step; /* 1 or 0 within a stretch */
    bool converted;
};

/* One call's work. Row `r` is one stretch of n_inner elements; outer axes say where it starts in each operand. */
struct job {
    mdf_loop loop;
    const void *settings;
    size_t n_operands;
    struct operand operands[MDF_MAX_OPERANDS];
    char *target;
    size_t target_size; /* of an element */
    mdf_dtype dtype, carrier;
    bool converts_result;
    size_t n_inner, n_rows, outer_rank;
    const int64_t *outer_sizes, *outer_strides; /* strides: n_operands for each axis */
    atomic_bool refused;
};

mdf_dtype mdf_elementwise_carrier(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT4E2M1FN:
    case MDF_DTYPE_FLOAT8E4M3FN:
    case MDF_DTYPE_FLOAT8E4M3FNUZ:
    case MDF_DTYPE_FLOAT8E5M2:
    case MDF_DTYPE_FLOAT8E5M2FNUZ:
    case MDF_DTYPE_FLOAT8E8M0:
    case MDF_DTYPE_FLOAT16:
    case MDF_DTYPE_BFLOAT16:
        return MDF_DTYPE_FLOAT32;
    default:
        return mdf_dtype_in_bytes(dtype);
    }
}

static mdf_dtype result_dtype(const struct mdf_operation *operation, mdf_dtype dtype)
{
    if (operation->result == MDF_RESULT_BOOL) {
        return MDF_DTYPE_BOOL;
    }
    if (operation->result == MDF_RESULT_REAL && dtype == MDF_DTYPE_COMPLEX64) {
        return MDF_DTYPE_FLOAT32;
    }
    return operation->result == MDF_RESULT_REAL && dtype == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_FLOAT64 : dtype;
}

/* Makes the result; NULL with the error set. */
static void *make_result(struct mdf_call *call, struct mdf_value *target, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    void *elements = mdf_value_make_tensor(call->context->memory, target, dtype, rank, shape);
    size_t n, n_bytes;

    if (elements == NULL) {
        if (!mdf_shape_n_elements(rank, shape, &n) || !mdf_size_multiply(n, mdf_dtype_size(dtype), &n_bytes)) {
            mdf_call_error(call, MDF_LIMIT, "the result would have more elements than any memory");
        } else {
            mdf_call_out_of_memory(call);
        }
    }
    return elements;
}

static bool refuse(struct mdf_call *call, const struct mdf_operation *operation)
{
    return mdf_call_error(call, MDF_VALUE, "%s", operation->refusal != NULL ? operation->refusal : "an element is not allowed");
}

/* ------------------------------------------------------------------ running the loop */

/* One stretch through the carrier type, block by block. An operand that stands still is converted once. */
static bool run_converted(const struct job *job, const char *const starts[], char *target, size_t n)
{
    _Alignas(8) char converted[MDF_MAX_OPERANDS][BLOCK * LARGEST_CARRIER_SIZE], result[BLOCK * LARGEST_CARRIER_SIZE];
    const void *pointers[MDF_MAX_OPERANDS] = {NULL};
    size_t steps[MDF_MAX_OPERANDS] = {0}, first, n_block, i;

    for (first = 0; first < n; first += n_block) {
        char *out = target + first * job->target_size;

        n_block = n - first < BLOCK ? n - first : BLOCK;
        for (i = 0; i < job->n_operands; i++) {
            const struct operand *operand = &job->operands[i];
            const char *elements = starts[i] + first * operand->step * operand->size;

            steps[i] = operand->step;
            pointers[i] = operand->converted ? converted[i] : elements;
            if (operand->converted && (first == 0 || operand->step != 0)) {
                mdf_convert_elements(job->carrier, converted[i], job->dtype, elements, operand->step != 0 ? n_block : 1, false);
            }
        }
        if (!job->loop(job->converts_result ? result : out, pointers, steps, n_block, job->settings)) {
            return false;
        }
        if (job->converts_result) {
            mdf_convert_elements(job->dtype, out, job->carrier, result, n_block, false);
        }
    }
    return true;
}

/* `n` elements from the given places on. */
static bool run_stretch(const struct job *job, const char *const starts[], char *target, size_t n)
{
    const void *pointers[MDF_MAX_OPERANDS] = {NULL};
    size_t steps[MDF_MAX_OPERANDS] = {0}, i;

    if (job->carrier != job->dtype) {
        return run_converted(job, starts, target, n);
    }
    for (i = 0; i < job->n_operands; i++) {
        pointers[i] = starts[i];
        steps[i] = job->operands[i].step;
    }
    return job->loop(target, pointers, steps, n, job->settings);
}

/* Work on elements [first, last) of the only row. */
static void run_part(void *work_context, size_t first, size_t last)
{
    struct job *job = work_context;
    const char *starts[MDF_MAX_OPERANDS] = {NULL};

    for (size_t i = 0; i < job->n_operands; i++) {
        starts[i] = job->operands[i].elements + first * job->operands[i].step * job->operands[i].size;
    }
    if (!run_stretch(job, starts, job->target + first * job->target_size, last - first)) {
        atomic_store_explicit(&job->refused, true, memory_order_relaxed);
    }
}

/* Work on rows [first, last). */
static void run_rows(void *work_context, size_t first, size_t last)
{
    struct job *job = work_context;
    const char *starts[MDF_MAX_OPERANDS] = {NULL};

    for (size_t row = first; row < last; row++) {
        size_t rest = row;

        for (size_t i = 0; i < job->n_operands; i++) {
            starts[i] = job->operands[i].elements;
        }
        for (size_t axis = job->outer_rank; axis-- > 0;) {
            size_t size = (size_t)job->outer_sizes[axis], index = axis > 0 ? rest % size : rest;

            for (size_t i = 0; i < job->n_operands; i++) {
                starts[i] += index * (size_t)job->outer_strides[axis * job->n_operands + i] * job->operands[i].size;
            }
            rest = axis > 0 ? rest / size : 0;
        }
        if (!run_stretch(job, starts, job->target + row * job->n_inner * job->target_size, job->n_inner)) {
            atomic_store_explicit(&job->refused, true, memory_order_relaxed);
            return;
        }
    }
}

static bool run_job(struct mdf_call *call, const struct mdf_operation *operation, struct job *job)
{
    double cost_ns = operation->cost_ns > 0 ? (double)operation->cost_ns : default_cost_ns;
    bool rows = job->n_rows != 1;
    size_t n = rows ? job->n_rows : job->n_inner;

    cost_ns = rows ? cost_ns * (double)job->n_inner + 4 : cost_ns;
    atomic_init(&job->refused, false);
    if (n == 0 || job->n_inner == 0) {
        return true;
    }
    mdf_parallel_for(call->context, n, cost_ns, rows ? run_rows : run_part, job);
    return !atomic_load_explicit(&job->refused, memory_order_relaxed) || refuse(call, operation);
}

/* ------------------------------------------------------------------ shapes */

static bool refuse_shapes(struct mdf_call *call, size_t n_operands, const struct mdf_value *const operands[])
{
    char texts[MDF_MAX_OPERANDS][128] = {"", "", ""};

    for (size_t i = 0; i < n_operands; i++) {
        mdf_value_describe(operands[i], texts[i], sizeof texts[i]);
    }
    return mdf_call_error(call, MDF_SHAPE, "shapes do not broadcast: %s and %s%s%s", texts[0], texts[1],
                          n_operands > 2 ? " and " : "", texts[2]);
}

/* The operand whose shape is the result's, where all others have that shape or one element; NULL where there is none. */
static const struct mdf_value *find_shape(size_t n_operands, const struct mdf_value *const operands[])
{
    const struct mdf_value *found = operands[0];

    for (size_t i = 1; i < n_operands; i++) {
        if (operands[i]->rank > found->rank || (operands[i]->rank == found->rank && found->length == 1)) {
            found = operands[i];
        }
    }
    for (size_t i = 0; i < n_operands; i++) {
        if (operands[i]->length != 1 && operands[i] != found && !mdf_value_has_shape_of(operands[i], found)) {
            return NULL;
        }
    }
    return found;
}

/* The axes of a call: `rank` sizes and, for each axis, n_operands strides in elements, 0 where an operand is repeated. */
struct axes {
    size_t rank;
    int64_t *sizes, *strides;
};

/* Adds an axis in front, as part of the one behind it where all operands go on evenly. */
static void put_axis(struct axes *axes, size_t *first, size_t n_operands, int64_t size, const int64_t strides[])
{
    int64_t *behind = axes->strides + *first * n_operands;
    bool joined = *first < axes->rank;

    for (size_t i = 0; joined && i < n_operands; i++) {
        joined = strides[i] == behind[i] * axes->sizes[*first];
    }
    if (joined) {
        axes->sizes[*first] *= size;
        return;
    }
    *first -= 1;
    axes->sizes[*first] = size;
    memcpy(axes->strides + *first * n_operands, strides, n_operands * sizeof *strides);
}

/* Fits the axes of operands that broadcast to `shape`, no size of which is 0, into as few as possible. */
static void fit_axes(struct axes *axes, size_t rank, const int64_t *shape, size_t n_operands,
                     const struct mdf_value *const operands[])
{
    int64_t strides[MDF_MAX_OPERANDS], products[MDF_MAX_OPERANDS] = {1, 1, 1};
    size_t first = rank;

    axes->rank = rank;
    for (size_t axis = rank; axis-- > 0;) {
        for (size_t i = 0; i < n_operands; i++) {
            size_t missing = rank - operands[i]->rank;
            int64_t size = axis < missing ? 1 : mdf_value_shape(operands[i])[axis - missing];

            strides[i] = size == 1 ? 0 : products[i];
            products[i] *= size;
        }
        if (shape[axis] != 1) {
            put_axis(axes, &first, n_operands, shape[axis], strides);
        }
    }
    axes->rank = rank - first;
    axes->sizes += first;
    axes->strides += first * n_operands;
}

/* Makes the result and lays out the work where shapes have to be broadcast axis by axis. */
static bool lay_out_broadcast(struct mdf_call *call, struct mdf_value *target, mdf_dtype dtype, struct job *job,
                              const struct mdf_value *const operands[])
{
    size_t n_operands = job->n_operands, rank = 0, n_integers;
    int64_t *shape;
    struct axes axes;

    for (size_t i = 0; i < n_operands; i++) {
        rank = operands[i]->rank > rank ? operands[i]->rank : rank;
    }
    if (!mdf_size_multiply(rank, 2 + n_operands, &n_integers)) {
        return mdf_call_error(call, MDF_LIMIT, "arrays of rank %zu are too large", rank);
    }
    shape = mdf_call_scratch(call, SCRATCH_AXES, MDF_DTYPE_INT64, n_integers);
    if (shape == NULL) {
        return false;
    }
    memset(shape, 0, n_integers * sizeof *shape);
    for (size_t i = 0; i < rank; i++) {
        shape[i] = 1;
    }
    for (size_t i = 0; i < n_operands; i++) {
        if (!mdf_broadcast_shape(rank, shape, operands[i]->rank, mdf_value_shape(operands[i]), shape)) {
            return refuse_shapes(call, n_operands, operands);
        }
    }
    job->target = make_result(call, target, dtype, rank, shape);
    job->n_rows = target->length > 0 ? 1 : 0;
    if (job->target == NULL || job->n_rows == 0) {
        return job->target != NULL;
    }
    axes.sizes = shape + rank;
    axes.strides = axes.sizes + rank;
    fit_axes(&axes, rank, shape, n_operands, operands);
    job->n_inner = axes.rank > 0 ? (size_t)axes.sizes[axes.rank - 1] : 1;
    job->n_rows = target->length / job->n_inner;
    job->outer_rank = axes.rank > 0 ? axes.rank - 1 : 0;
    job->outer_sizes = axes.sizes;
    job->outer_strides = axes.strides;
    for (size_t i = 0; i < n_operands && axes.rank > 0; i++) {
        job->operands[i].step = axes.strides[job->outer_rank * n_operands + i] != 0;
    }
    return true;
}

/* ------------------------------------------------------------------ calls */

static bool check_types(struct mdf_call *call, const struct mdf_operation *operation, size_t n_operands,
                        const struct mdf_value *const operands[])
{
    mdf_dtype dtype = (mdf_dtype)operands[n_operands - 1]->dtype;

    for (size_t i = 0; i < n_operands; i++) {
        mdf_dtype wanted = i == 0 && operation->selects ? MDF_DTYPE_BOOL : dtype;

        if (!mdf_value_is_tensor(operands[i])) {
            return mdf_call_error(call, MDF_TYPE, "input %zu is not an array", i + 1);
        }
        if (operands[i]->dtype != wanted) {
            return mdf_call_error(call, MDF_TYPE, "input %zu has type %s, not %s", i + 1,
                                  mdf_dtype_name((mdf_dtype)operands[i]->dtype), mdf_dtype_name(wanted));
        }
    }
    if (operation->loops[dtype] == NULL && operation->loops[mdf_elementwise_carrier(dtype)] == NULL) {
        return mdf_call_error(call, MDF_TYPE, "has no meaning for elements of type %s", mdf_dtype_name(dtype));
    }
    return true;
}

static bool run_arrays(struct mdf_call *call, struct mdf_value *target, const struct mdf_operation *operation, size_t n_operands,
                       const struct mdf_value *const operands[], const void *settings)
{
    mdf_dtype dtype = (mdf_dtype)operands[n_operands - 1]->dtype, result = result_dtype(operation, dtype);
    bool direct = operation->loops[dtype] != NULL;
    const struct mdf_value *shaped = find_shape(n_operands, operands);
    struct job job = {0};

    job.dtype = dtype;
    job.carrier = direct ? dtype : mdf_elementwise_carrier(dtype);
    job.loop = operation->loops[job.carrier];
    job.converts_result = !direct && result == dtype;
    job.settings = settings;
    job.n_operands = n_operands;
    job.target_size = mdf_dtype_size(result);
    for (size_t i = 0; i < n_operands; i++) {
        job.operands[i].elements = operands[i]->data;
        job.operands[i].size = mdf_dtype_size((mdf_dtype)operands[i]->dtype);
        job.operands[i].converted = !direct && operands[i]->dtype == dtype;
        job.operands[i].step = operands[i]->length != 1;
    }
    if (shaped == NULL) {
        return lay_out_broadcast(call, target, result, &job, operands) && run_job(call, operation, &job);
    }
    job.target = make_result(call, target, result, shaped->rank, mdf_value_shape(shaped));
    job.n_rows = 1;
    job.n_inner = shaped->length;
    return job.target != NULL && run_job(call, operation, &job);
}

static bool is_input(const struct mdf_call *call, const struct mdf_value *value)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] == value) {
            return true;
        }
    }
    return false;
}

void mdf_elementwise_note_workspace(const struct mdf_call *call, mdf_dtype dtype)
{
    struct mdf_elementwise_trace *trace = call->context->trace;

    if (trace != NULL) {
        trace->n_workspaces++;
        trace->works_in = trace->n_calls + trace->n_workspaces == 1 ? dtype : MDF_DTYPE_NONE;
    }
}

/* Inputs are noted as they are; what the kernel made of them, a view with other axes say, may be gone when it returns. */
static void note_call(const struct mdf_call *call, const struct mdf_value *target, const struct mdf_operation *operation,
                      size_t n_operands, const struct mdf_value *const operands[], const void *settings)
{
    struct mdf_elementwise_trace *trace = call->context->trace;
    mdf_dtype dtype = (mdf_dtype)operands[n_operands - 1]->dtype;

    trace->n_calls++;
    trace->works_in = trace->n_calls + trace->n_workspaces == 1 && operation->loops[dtype] == NULL
                          ? mdf_elementwise_carrier(dtype)
                          : MDF_DTYPE_NONE;
    trace->operation = operation;
    trace->loop = dtype < MDF_DTYPE_COUNT ? operation->loops[dtype] : NULL;
    trace->settings = settings;
    trace->n_operands = n_operands;
    for (size_t i = 0; i < n_operands; i++) {
        trace->views[i] = *operands[i];
        trace->operands[i] = is_input(call, operands[i]) ? operands[i] : &trace->views[i];
    }
    trace->target = target;
}

bool mdf_elementwise(struct mdf_call *call, struct mdf_value *target, const struct mdf_operation *operation, size_t n_operands,
                     const struct mdf_value *const operands[], const void *settings)
{
    static const size_t steps[MDF_MAX_OPERANDS] = {1, 1, 1};
    const void *pointers[MDF_MAX_OPERANDS];
    mdf_dtype dtype = (mdf_dtype)operands[n_operands - 1]->dtype;
    bool direct = dtype < MDF_DTYPE_COUNT && operation->loops[dtype] != NULL;
    void *element;

    for (size_t i = 0; i < n_operands; i++) {
        mdf_dtype wanted = i == 0 && operation->selects ? MDF_DTYPE_BOOL : dtype;

        direct = direct && mdf_value_is_scalar(operands[i]) && operands[i]->dtype == wanted;
        pointers[i] = operands[i]->data;
    }
    if (call->context->trace != NULL) {
        note_call(call, target, operation, n_operands, operands, settings);
    }
    if (!direct) {
        return check_types(call, operation, n_operands, operands) &&
               run_arrays(call, target, operation, n_operands, operands, settings);
    }
    element = make_result(call, target, result_dtype(operation, dtype), 0, NULL);
    return element != NULL && (operation->loops[dtype](element, pointers, steps, 1, settings) || refuse(call, operation));
}

bool mdf_elementwise_call(struct mdf_call *call, const struct mdf_operation *operation, size_t n_operands, const void *settings)
{
    struct mdf_value *target = mdf_call_result(call, 0);

    for (size_t i = 0; i < n_operands; i++) {
        if (i >= call->n_inputs || call->inputs[i] == NULL || !mdf_value_is_tensor(call->inputs[i])) {
            return mdf_call_tensor(call, i) != NULL;
        }
    }
    return mdf_elementwise(call, target != NULL ? target : &call->scratch[0], operation, n_operands, call->inputs, settings);
}

/* ------------------------------------------------------------------ folds of several operands */

struct fold {
    mdf_loop loop;
    size_t n_operands, size; /* size: of an element */
    const struct mdf_value *const *operands;
    char *target;
    atomic_bool refused;
};

bool mdf_elementwise_can_fold(const struct mdf_call *call, const struct mdf_operation *operation)
{
    const struct mdf_value *const *operands = call->inputs;
    bool can = call->n_inputs > 2 && operation->result == MDF_RESULT_SAME && !operation->selects && call->context->trace == NULL;

    for (size_t i = 0; can && i < call->n_inputs; i++) {
        can = operands[i] != NULL && mdf_value_is_tensor(operands[i]) && operands[i]->dtype == operands[0]->dtype &&
              mdf_value_has_shape_of(operands[i], operands[0]);
    }
    return can && operands[0]->dtype < MDF_DTYPE_COUNT && operation->loops[operands[0]->dtype] != NULL;
}

/* Elements [first, last), a block at a time: what comes before the last operand is in the target. */
static void run_fold(void *context, size_t first, size_t last)
{
    static const size_t steps[2] = {1, 1};
    struct fold *fold = context;
    size_t n_block = FOLD_BYTES / fold->size;

    for (; first < last; first += n_block) {
        size_t n = last - first < n_block ? last - first : n_block, at = first * fold->size;
        const void *pointers[2] = {(const char *)fold->operands[0]->data + at};

        for (size_t i = 1; i < fold->n_operands; i++) {
            pointers[1] = (const char *)fold->operands[i]->data + at;
            if (!fold->loop(fold->target + at, pointers, steps, n, NULL)) {
                atomic_store_explicit(&fold->refused, true, memory_order_relaxed);
                return;
            }
            pointers[0] = fold->target + at;
        }
    }
}

bool mdf_elementwise_fold(struct mdf_call *call, struct mdf_value *target, const struct mdf_operation *operation)
{
    const struct mdf_value *first = call->inputs[0];
    mdf_dtype dtype = (mdf_dtype)first->dtype;
    double cost_ns = operation->cost_ns > 0 ? (double)operation->cost_ns : default_cost_ns;
    struct fold fold = {.loop = operation->loops[dtype],
                        .n_operands = call->n_inputs,
                        .size = mdf_dtype_size(dtype),
                        .operands = call->inputs,
                        .target = make_result(call, target, dtype, first->rank, mdf_value_shape(first))};
    size_t n = first->length;

    if (fold.target == NULL) {
        return false;
    }
    atomic_init(&fold.refused, false);
    if (n > 0) {
        mdf_parallel_for(call->context, n, cost_ns * (double)(fold.n_operands - 1), run_fold, &fold);
    }
    return !atomic_load_explicit(&fold.refused, memory_order_relaxed) || refuse(call, operation);
}
