/* resize.c - arrays brought to another size: Resize, Upsample.
 *
 * Comes in: an array; scales or sizes of its axes. Goes out: the array at the new size, each element the nearest one of the
 * input, or interpolated linearly or with cubics between neighbours. Interpolation goes axis by axis, in float64 for float64 and
 * integers (which are then rounded and saturated), else in float32. Source: ONNX Resize 10 to 19, Upsample 1 to 9, all modes. */
#include "functions/image/resize.h"

#include "functions/kernel/derivatives.h"
#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

/* One axis on its way. */
struct pass {
    const struct mdf_resized_axis *axis;
    const void *x;
    void *y;
    size_t inner;
};

/* Rough times of one tap, and of one element that is moved, to judge what is worth a thread. */
static const double tap_ns = 0.3, move_ns = 0.2;

enum { ROWS_AT_ONCE = 4 };
#define TEMPLATE "functions/image/resize_taps.inc"
#include "functions/kernel/of_reals.inc"

#define TEMPLATE "functions/image/resize_nearest.inc"
#include "functions/kernel/of_words.inc"

typedef void (*row_function)(const struct mdf_resized_axis *axis, const void *source, void *target);

/* For elements that may be moved as bytes; NULL for others. */
static row_function row_function_for(mdf_dtype dtype)
{
    size_t size = mdf_dtype_size(dtype);

    if (mdf_dtype_kind(dtype) == 's') {
        return NULL;
    }
    return size == 1 ? take_row_1 : size == 2 ? take_row_2 : size == 4 ? take_row_4 : size == 8 ? take_row_8 : NULL;
}

/* ------------------------------------------------------------------ elements */

/* Shape of the result, in an array of the workspace. */
static int64_t *shape_of(struct mdf_workspace *workspace, const struct mdf_resize *job)
{
    int64_t *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, job->rank);

    for (size_t i = 0; shape != NULL && i < job->rank; i++) {
        shape[i] = (int64_t)job->axes[i].n_out;
    }
    return shape;
}

/* Elements of the result that come from outside the region become the extrapolation value. */
static bool extrapolate(const struct mdf_resize *job)
{
    struct mdf_value *result = mdf_call_target(job->call, 0);
    mdf_dtype dtype = (mdf_dtype)result->dtype;
    _Alignas(16) char element[16] = {0};
    size_t inner = result->length;

    if (job->coordinates != CROP_AND_RESIZE || result->length == 0 || mdf_dtype_kind(dtype) == 's' ||
        !mdf_convert_elements(dtype, element, MDF_DTYPE_FLOAT64, &job->extrapolation_value, 1, true)) {
        return true;
    }
    for (size_t i = 0; i < job->rank; i++) {
        const struct mdf_resized_axis *axis = &job->axes[i];

        inner /= axis->n_out;
        for (size_t line = 0, n; !axis->is_same && line < result->length / inner; line += n) {
            size_t place = line % axis->n_out;

            for (n = 1; place + n < axis->n_out && axis->outside[place + n] == axis->outside[place]; n++) {
            }
            if (axis->outside[place] &&
                !mdf_elements_fill(job->call, dtype, mdf_element_to_write(dtype, result->data, line * inner), n * inner,
                                   element)) {
                return false;
            }
        }
    }
    return true;
}

/* Element at which row `row` of the result begins in the input, where rows are as long as the axes from `n_axes` on. */
static size_t source_row(const struct mdf_resize *job, size_t n_axes, size_t row, size_t n_row)
{
    size_t base = 0, stride = n_row;

    for (size_t i = n_axes; i-- > 0;) {
        const struct mdf_resized_axis *axis = &job->axes[i];
        size_t place = row % axis->n_out;

        row /= axis->n_out;
        base += (axis->is_same ? place : (size_t)axis->sources[place]) * stride;
        stride *= axis->n_in;
    }
    return base;
}

/* The last axis is resized, and elements are moved as bytes. */
struct rows_job {
    const struct mdf_resize *job;
    row_function take_row;
    const char *x;
    char *y;
    size_t size_bytes; /* of an element */
};

/* Rows [first, last), all of one plane, the first of them at `place` of it, `x` the plane in the input. */
static void take_rows_of_plane(const struct rows_job *rows, const char *x, size_t place, size_t first, size_t last)
{
    size_t rank = rows->job->rank;
    const struct mdf_resized_axis *axis = &rows->job->axes[rank - 1], *vertical = rank > 1 ? axis - 1 : NULL;
    size_t n_bytes = axis->n_out * rows->size_bytes, before = SIZE_MAX;

    for (size_t row = first; row < last; row++, place++) {
        size_t source = vertical == NULL || vertical->is_same ? place : (size_t)vertical->sources[place];

        if (source == before) {
            memcpy(rows->y + row * n_bytes, rows->y + (row - 1) * n_bytes, n_bytes);
        } else {
            rows->take_row(axis, x + source * axis->n_in * rows->size_bytes, rows->y + row * n_bytes);
        }
        before = source;
    }
}

static void take_rows(void *context, size_t first, size_t last)
{
    const struct rows_job *rows = context;
    size_t rank = rows->job->rank, n_front = rank > 1 ? rank - 2 : 0, n_rows = rank > 1 ? rows->job->axes[rank - 2].n_out : 1;
    size_t n_plane = rows->job->axes[rank - 1].n_in * (rank > 1 ? rows->job->axes[rank - 2].n_in : 1), n;

    for (size_t row = first; row < last; row += n) {
        size_t place = row % n_rows;

        n = n_rows - place < last - row ? n_rows - place : last - row;
        take_rows_of_plane(rows, rows->x + source_row(rows->job, n_front, row / n_rows, n_plane) * rows->size_bytes, place, row,
                           row + n);
    }
}

/* Elements of any type are moved, in blocks as long as the axes at the end stay as they are. */
static bool take_blocks(struct mdf_workspace *workspace, const struct mdf_resize *job, void *target)
{
    const struct mdf_value *x = job->call->inputs[0];
    size_t n_axes = job->rank, n_block = 1, n_blocks, n_row;
    size_t *offsets;

    while (n_axes > 0 && job->axes[n_axes - 1].is_same) {
        n_block *= job->axes[--n_axes].n_in;
    }
    n_blocks = mdf_call_target(job->call, 0)->length / n_block;
    offsets = mdf_workspace_array(workspace, MDF_WORKSPACE_SIZES, n_blocks);
    if (offsets == NULL) {
        return false;
    }
    n_row = n_axes > 0 ? job->axes[n_axes - 1].n_out : 1;
    for (size_t row = 0; row < n_blocks / n_row; row++) {
        size_t base = n_axes > 0 ? source_row(job, n_axes - 1, row, n_block * job->axes[n_axes - 1].n_in) : 0;

        if (mdf_should_stop(job->call->context)) {
            return false;
        }
        for (size_t i = 0; i < n_row; i++) { /* the last axis is none that stays as it is */
            offsets[row * n_row + i] = base + (n_axes > 0 ? (size_t)job->axes[n_axes - 1].sources[i] * n_block : 0);
        }
    }
    mdf_blocks_gather(job->call, (mdf_dtype)x->dtype, target, x->data, offsets, n_blocks, n_block);
    return true;
}

static bool take_nearest(struct mdf_workspace *workspace, const struct mdf_resize *job)
{
    const struct mdf_value *x = job->call->inputs[0];
    const int64_t *shape = shape_of(workspace, job);
    void *target = shape == NULL ? NULL : mdf_call_output(job->call, 0, (mdf_dtype)x->dtype, job->rank, shape);
    struct rows_job rows = {job, row_function_for((mdf_dtype)x->dtype), x->data, target, mdf_dtype_size((mdf_dtype)x->dtype)};

    if (target == NULL || mdf_call_target(job->call, 0)->length == 0) {
        return target != NULL;
    }
    if (rows.take_row != NULL && job->rank > 0 && !job->axes[job->rank - 1].is_same) {
        size_t n_row = job->axes[job->rank - 1].n_out;

        mdf_parallel_for(job->call->context, mdf_call_target(job->call, 0)->length / n_row, move_ns * (double)n_row, take_rows,
                         &rows);
    } else if (!take_blocks(workspace, job, target)) {
        return false;
    }
    return extrapolate(job);
}

/* The ends of an integer type, as far as float64 has them. */
static void find_range(mdf_dtype dtype, double *low, double *high)
{
    bool is_signed = mdf_dtype_kind(dtype) == 'i';
    double size = ldexp(1, (int)mdf_dtype_size(dtype) * 8 - is_signed);

    *low = is_signed ? -size : 0;
    *high = floor(nextafter(size, 0));
}

/* Copies the result into the output, unless it is there: integers rounded to even, those out of the type's range brought to its
 * end. */
static bool hand_over(struct mdf_workspace *workspace, const void *elements, size_t n, void *y)
{
    struct mdf_value *result = mdf_call_target(workspace->call, 0);
    char kind = mdf_dtype_kind((mdf_dtype)result->dtype);
    const double *from = elements;
    double *to = y, low, high;

    if (kind != 'i' && kind != 'u' && kind != 'b') {
        return elements == y ||
               mdf_memory_copy(workspace->call->context->memory, y, elements, n * mdf_dtype_size(workspace->dtype));
    }
    find_range((mdf_dtype)result->dtype, &low, &high);
    for (size_t i = 0; i < n && !mdf_should_stop_at(workspace->call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        to[i] = fmin(fmax(rint(from[i]), low), high);
    }
    return true;
}

/* Whether the axes in front of the last one, which is the slowest one to go along, leave less of it to do. */
static bool shrinks_in_front(const struct mdf_resize *job)
{
    double change = 1;

    for (size_t i = 0; i + 1 < job->rank; i++) {
        change *= (double)job->axes[i].n_out / (double)job->axes[i].n_in;
    }
    return change < 1;
}

/* Interpolates along axis `i`, into `y` or, where that is NULL, room of its own. `sizes` are those that the axes have by then.
 * NULL with the error set. */
static const void *interpolate_axis(struct mdf_workspace *workspace, const struct mdf_resize *job, size_t i, int64_t *sizes,
                                    const void *elements, void *y)
{
    const struct mdf_resized_axis *axis = &job->axes[i];
    size_t outer = mdf_axes_product(sizes, 0, i), inner = mdf_axes_product(sizes, i + 1, job->rank);
    struct pass pass = {axis, elements, y, inner};

    if (y == NULL) {
        pass.y = mdf_workspace_matrix(workspace, workspace->dtype, outer * inner, axis->n_out);
    }
    if (pass.y != NULL) {
        sizes[i] = (int64_t)axis->n_out;
        if (!mdf_parallel_for(job->call->context, outer * axis->n_out, tap_ns * (double)axis->n_taps * (double)inner,
                              workspace->dtype == MDF_DTYPE_FLOAT32 ? interpolate_float32 : interpolate_float64, &pass)) {
            return NULL;
        }
    }
    return pass.y;
}

static bool interpolate(struct mdf_workspace *workspace, const struct mdf_resize *job)
{
    const struct mdf_value *x = job->call->inputs[0];
    const int64_t *shape = shape_of(workspace, job);
    int64_t *sizes = mdf_workspace_array(workspace, MDF_DTYPE_INT64, job->rank);
    const void *elements = mdf_workspace_input(workspace, 0);
    void *y = NULL;
    bool from_front = shrinks_in_front(job);
    size_t n_left = 0; /* axes to interpolate along */

    if (shape != NULL && sizes != NULL && elements != NULL) {
        y = mdf_workspace_output(workspace, 0, (mdf_dtype)x->dtype, job->rank, shape);
    }
    if (y == NULL || mdf_call_target(job->call, 0)->length == 0) {
        return y != NULL;
    }
    memcpy(sizes, mdf_value_shape(x), job->rank * sizeof *sizes);
    for (size_t i = 0; i < job->rank; i++) {
        n_left += !job->axes[i].is_same;
    }
    for (size_t step = 0; step < job->rank && elements != NULL; step++) {
        size_t i = from_front ? step : job->rank - 1 - step;

        if (!job->axes[i].is_same) {
            elements = interpolate_axis(workspace, job, i, sizes, elements, --n_left == 0 ? y : NULL);
        }
    }
    return elements != NULL && hand_over(workspace, elements, mdf_axes_product(sizes, 0, job->rank), y) &&
           mdf_workspace_end(workspace) && extrapolate(job);
}

/* Output 0 becomes what an axis is multiplied by, [n_out, n_in]. */
static bool write_matrix(const struct mdf_resize *job, size_t number)
{
    const struct mdf_resized_axis *axis = &job->axes[number];
    int64_t shape[2] = {(int64_t)axis->n_out, (int64_t)axis->n_in};
    double *matrix = mdf_call_output(job->call, 0, MDF_DTYPE_FLOAT64, 2, shape);
    size_t n_taps = axis->is_same || job->mode == MODE_NEAREST ? 1 : axis->n_taps;

    if (matrix == NULL) {
        return false;
    }
    memset(matrix, 0, axis->n_out * axis->n_in * sizeof *matrix);
    for (size_t place = 0; place < axis->n_out; place++) {
        for (size_t tap = 0; tap < n_taps; tap++) {
            size_t source = axis->is_same ? place : (size_t)axis->sources[place * n_taps + tap];
            bool is_outside = !axis->is_same && job->coordinates == CROP_AND_RESIZE && axis->outside[place];

            matrix[place * axis->n_in + source] += is_outside ? 0
                                                   : axis->is_same || job->mode == MODE_NEAREST
                                                       ? 1
                                                       : axis->weights[place * n_taps + tap];
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the operators */

static bool run(struct mdf_call *call, mdf_resize_reader *read)
{
    struct mdf_workspace workspace;
    struct mdf_resize job;

    return read(call, &workspace, &job) &&
           (job.mode == MODE_NEAREST ? take_nearest(&workspace, &job) : interpolate(&workspace, &job));
}

/* The matrix of the axis that is asked for behind the operator's inputs, by input `shown`. */
static bool show_matrix(struct mdf_call *call, mdf_resize_reader *read, size_t shown)
{
    size_t n = 0;
    const int64_t *axis = mdf_call_integers(call, shown, 3, &n);
    struct mdf_workspace workspace;
    struct mdf_resize job;

    if (axis == NULL || n != 1 || *axis < 0) {
        return axis != NULL && mdf_call_error(call, MDF_VALUE, "there is no such axis");
    }
    return read(call, &workspace, &job) &&
           (*axis < (int64_t)job.rank ? write_matrix(&job, (size_t)*axis)
                                      : mdf_call_error(call, MDF_SHAPE, "there is no axis %lld", (long long)*axis));
}

/* ------------------------------------------------------------------ as plain C: resize_axes_routine.inc */

enum { MOST_NUMBERS = 1 << 16 }; /* in the tables of one function */

/* n_room: elements of the largest array on the way. */
struct table_sizes {
    size_t n_axes, n_whole, n_real, n_room;
};

/* Of the axes that change. */
static struct table_sizes measure_tables(const struct mdf_resize *job)
{
    struct table_sizes sizes = {.n_whole = 2, .n_room = 1};

    for (size_t i = 0; i < job->rank; i++) {
        const struct mdf_resized_axis *axis = &job->axes[i];

        sizes.n_room *= axis->n_out > axis->n_in ? axis->n_out : axis->n_in;
        if (!axis->is_same) {
            sizes.n_axes++;
            sizes.n_whole += 5 + axis->n_out * (axis->n_taps > 0 ? axis->n_taps : 1);
            sizes.n_real += axis->n_out * axis->n_taps;
            sizes.n_whole += job->coordinates == CROP_AND_RESIZE ? 3 + axis->n_out : 0;
        }
    }
    if (job->coordinates == CROP_AND_RESIZE) {
        sizes.n_whole++;
        sizes.n_real++;
    }
    return sizes;
}

/* One axis behind the others; `sizes` are those that the axes have by then. */
static void write_axis(const struct mdf_resize *job, size_t i, int64_t *sizes, int64_t **whole, double **real)
{
    const struct mdf_resized_axis *axis = &job->axes[i];
    size_t n = axis->n_out * (axis->n_taps > 0 ? axis->n_taps : 1);
    int64_t *to = *whole;

    to[0] = (int64_t)mdf_axes_product(sizes, 0, i);
    to[1] = (int64_t)axis->n_in;
    to[2] = (int64_t)axis->n_out;
    to[3] = (int64_t)mdf_axes_product(sizes, i + 1, job->rank);
    to[4] = (int64_t)axis->n_taps;
    memcpy(to + 5, axis->sources, n * sizeof *to);
    memcpy(*real, axis->weights, axis->n_out * axis->n_taps * sizeof **real);
    sizes[i] = to[2];
    *whole += 5 + n;
    *real += axis->n_out * axis->n_taps;
}

/* What lies outside of a region, behind the axes; `sizes` are those of the result. */
static void write_outside(const struct mdf_resize *job, size_t n_axes, const int64_t *sizes, int64_t *whole, double *real)
{
    *whole++ = (int64_t)n_axes;
    for (size_t i = 0; i < job->rank; i++) {
        const struct mdf_resized_axis *axis = &job->axes[i];

        if (!axis->is_same) {
            *whole++ = (int64_t)mdf_axes_product(sizes, 0, i);
            *whole++ = sizes[i];
            *whole++ = (int64_t)mdf_axes_product(sizes, i + 1, job->rank);
            for (size_t place = 0; place < axis->n_out; place++) {
                *whole++ = axis->outside[place];
            }
        }
    }
    *real = job->extrapolation_value;
}

/* Resize to sizes that are constants, in a region that is not. */
static bool plan_region(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    enum { REGION = 1, MOST_AXES = 16, HEAD = 10 };
    const struct mdf_resize_settings *settings = call->settings;
    const struct mdf_value *given = call->inputs[REGION], *inputs[4] = {call->inputs[0], NULL, NULL, call->inputs[3]};
    const double whole_array[2 * MOST_AXES] = {0}; /* a region of no length: no axis is one that stays as it is */
    int64_t length = (int64_t)given->length;
    struct mdf_value region = {0};
    struct mdf_call known = *call;
    struct mdf_workspace workspace;
    struct mdf_resize job;
    size_t most = 1;

    if (given->length > 2 * MOST_AXES || !mdf_dtype_is_real(given->dtype) || mdf_is_set(settings->antialias)) {
        return false;
    }
    mdf_value_borrow_tensor(call->context->memory, &region, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, &length, whole_array);
    inputs[REGION] = &region;
    known.inputs = inputs;
    if (!mdf_resize_read(&known, &workspace, &job) || job.coordinates != CROP_AND_RESIZE ||
        mdf_call_target(call, 0)->length == 0 || !mdf_routine_room(plan, HEAD + 3 * job.rank, 2)) {
        return false;
    }
    plan->function = "resize_in_region";
    for (size_t i = 0; i < job.rank; i++) {
        const struct mdf_resized_axis *axis = &job.axes[i];

        plan->whole[HEAD + 3 * i] = (int64_t)axis->n_in;
        plan->whole[HEAD + 3 * i + 1] = (int64_t)axis->n_out;
        plan->whole[HEAD + 3 * i + 2] = settings->axes.items != NULL ? -1 : (int64_t)i;
        plan->whole[7] = (int64_t)axis->n_out > plan->whole[7] ? (int64_t)axis->n_out : plan->whole[7];
        plan->whole[2] = (int64_t)axis->n_taps;
        most *= axis->n_out > axis->n_in ? axis->n_out : axis->n_in;
    }
    for (size_t i = 0; settings->axes.items != NULL && i < settings->axes.n; i++) {
        plan->whole[HEAD +
                    3 * (size_t)(settings->axes.items[i] < 0 ? settings->axes.items[i] + (int64_t)job.rank
                                                             : settings->axes.items[i]) +
                    2] = (int64_t)i;
    }
    plan->whole[0] = (int64_t)job.mode;
    plan->whole[1] = (int64_t)job.rounding;
    plan->whole[3] = job.exclude_outside;
    plan->whole[4] = given->dtype == MDF_DTYPE_FLOAT64;
    plan->whole[5] = (int64_t)job.rank;
    plan->whole[6] = (int64_t)most;
    plan->whole[8] = shrinks_in_front(&job);
    plan->whole[9] = (int64_t)given->length / 2;
    plan->real[0] = job.cubic_coefficient;
    plan->real[1] = job.extrapolation_value;
    plan->work_bytes =
        sizeof(double) *
            ((size_t)plan->whole[7] * (2 * (size_t)(plan->whole[2] > 0 ? plan->whole[2] : 1) + job.rank) + 3 * job.rank) +
        2 * most * mdf_dtype_size(plan->dtype);
    return true;
}

/* Whether all inputs behind the array are constants, but for a region. */
static bool is_known(const struct mdf_call *call, bool *has_open_region)
{
    for (size_t i = 1; i < call->n_inputs; i++) {
        if (mdf_call_input(call, i) != NULL && !mdf_call_is_constant(call, i)) {
            if (i != 1 || call->n_inputs < 4 || mdf_call_input(call, 3) == NULL) {
                return false;
            }
            *has_open_region = true;
        }
    }
    return true;
}

static bool plan_call(struct mdf_call *call, mdf_resize_reader *read, struct mdf_routine_plan *plan)
{
    struct mdf_workspace workspace;
    struct mdf_resize job;
    struct table_sizes tables;
    int64_t *sizes, *whole;
    double *real;
    bool from_front, has_open_region = false;

    plan->dtype = (mdf_dtype)call->inputs[0]->dtype;
    if (!is_known(call, &has_open_region)) {
        return false;
    }
    if (has_open_region) {
        return read == mdf_resize_read && mdf_dtype_is_real(plan->dtype) && plan_region(call, plan);
    }
    if (!read(call, &workspace, &job) || mdf_call_target(call, 0)->length == 0 ||
        ((job.mode != MODE_NEAREST || job.coordinates == CROP_AND_RESIZE) && !mdf_dtype_is_real(plan->dtype))) {
        return false;
    }
    tables = measure_tables(&job);
    sizes = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, job.rank);
    if (sizes == NULL || tables.n_axes == 0 || tables.n_whole > MOST_NUMBERS ||
        !mdf_routine_room(plan, tables.n_whole, tables.n_real)) {
        return false;
    }
    plan->function = job.coordinates == CROP_AND_RESIZE
                         ? (job.mode == MODE_NEAREST ? "resize_region_to_nearest" : "resize_region")
                         : (job.mode == MODE_NEAREST ? "resize_to_nearest" : "resize");
    plan->whole[0] = (int64_t)tables.n_axes;
    plan->whole[1] = (int64_t)tables.n_room;
    plan->work_bytes = tables.n_axes > 1 ? 2 * tables.n_room * mdf_dtype_size(plan->dtype) : 0;
    memcpy(sizes, mdf_value_shape(call->inputs[0]), job.rank * sizeof *sizes);
    from_front = shrinks_in_front(&job);
    whole = plan->whole + 2;
    real = plan->real;
    for (size_t step = 0; step < job.rank; step++) {
        size_t i = from_front ? step : job.rank - 1 - step;

        if (!job.axes[i].is_same) {
            write_axis(&job, i, sizes, &whole, &real);
        }
    }
    if (job.coordinates == CROP_AND_RESIZE) {
        write_outside(&job, tables.n_axes, sizes, whole, real);
    }
    return true;
}

/* For a reader: the kernel, that of its matrices, which stand for an axis, and the plan. */
#define KERNELS(name, matrix, plan, read, shown)                          \
    static bool name(struct mdf_call *call)                               \
    {                                                                     \
        return run(call, read);                                           \
    }                                                                     \
    static bool matrix(struct mdf_call *call)                             \
    {                                                                     \
        return show_matrix(call, read, shown);                            \
    }                                                                     \
    static bool plan(struct mdf_call *call, struct mdf_routine_plan *all) \
    {                                                                     \
        return plan_call(call, read, all);                                \
    }
KERNELS(resize, resize_matrix, plan_resize, mdf_resize_read, 4)
KERNELS(resize_10, resize_10_matrix, plan_resize_10, mdf_resize_read_10, 2)
KERNELS(upsample_1, upsample_1_matrix, plan_upsample_1, mdf_upsample_read_1, 1)
#undef KERNELS

#define MATRIX_ROW(name, kernel)              \
    static const struct mdf_operator name = { \
        #kernel, 0, 0, kernel, NULL, 0, MDF_OPERATOR_KEEPS_INPUTS, NULL, .derivatives = mdf_derivatives_flat}
MATRIX_ROW(matrices, resize_matrix);
MATRIX_ROW(old_matrices, resize_10_matrix);
MATRIX_ROW(oldest_matrices, upsample_1_matrix);

/* Axis after axis is multiplied by its matrix. */
#define AXIS(next, last, number, given)                                                                        \
    {                                                                                                          \
        next,                                                                                                  \
            last " if x0.ndim <= " number " else numpy.moveaxis(numpy.matmul(numpy.moveaxis(" last ", " number \
                 ", -1), numpy.transpose(places(" given ", " number "))), -1, " number ")",                    \
            NULL                                                                                               \
    }
#define RESIZED(row, given)                                                                                               \
    MDF_MEANING("e", &row, {"start", "x0 if x0.ndim <= 5 else gradient.refuse('a resize of more than five axes')", NULL}, \
                AXIS("a", "start", "0", given), AXIS("b", "a", "1", given), AXIS("c", "b", "2", given),                   \
                AXIS("d", "c", "3", given), AXIS("e", "d", "4", given))

#define RESIZE_ROUTINE(plan_of) (&(const struct mdf_routine){plan_of, .function = mdf_resize_function})

const struct mdf_operator mdf_operators_resize[] = {
    {"Resize", 10, 10, resize_10, mdf_resize_settings, sizeof(struct mdf_resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(old_matrices, "x0, x1"), .infer = &mdf_rule_resize, .routine = RESIZE_ROUTINE(plan_resize_10)},
    {"Resize", 11, 99, resize, mdf_resize_settings, sizeof(struct mdf_resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(matrices, "x0, x1, x2, x3"), .infer = &mdf_rule_resize, .routine = RESIZE_ROUTINE(plan_resize)},
    {"Upsample", 1, 8, upsample_1, mdf_upsample_settings, sizeof(struct mdf_resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(oldest_matrices, "x0"), .infer = &mdf_rule_resize, .routine = RESIZE_ROUTINE(plan_upsample_1)},
    {"Upsample", 9, 99, resize_10, mdf_upsample_settings, sizeof(struct mdf_resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(old_matrices, "x0, x1"), .infer = &mdf_rule_resize, .routine = RESIZE_ROUTINE(plan_resize_10)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
