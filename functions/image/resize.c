/* resize.c - arrays brought to another size: Resize, Upsample.
 *
 * Comes in: an array; scales or sizes of its axes. Goes out: the array at the new size, each element the nearest one of the
 * input, or interpolated linearly or with cubics between neighbours. Interpolation goes axis by axis, in float64 for float64 and
 * integers (which are then rounded and saturated), else in float32. Source: ONNX Resize 10 to 19, Upsample 1 to 9, all modes. */
#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

struct resize_settings {
    const char *mode, *nearest_mode, *coordinates, *keep_aspect;
    double cubic_coefficient, extrapolation_value, height_scale, width_scale;
    int64_t antialias, exclude_outside;
    struct mdf_ints axes;
    struct mdf_floats scales;
};

#define SETTING(name, type, field)                                        \
    {                                                                     \
        name, MDF_SETTING_##type, offsetof(struct resize_settings, field) \
    }
static const struct mdf_setting resize_table[] = {SETTING("mode", STRING, mode),
                                                  SETTING("nearest_mode", STRING, nearest_mode),
                                                  SETTING("coordinate_transformation_mode", STRING, coordinates),
                                                  SETTING("keep_aspect_ratio_policy", STRING, keep_aspect),
                                                  SETTING("cubic_coeff_a", FLOAT, cubic_coefficient),
                                                  SETTING("extrapolation_value", FLOAT, extrapolation_value),
                                                  SETTING("antialias", INT, antialias),
                                                  SETTING("exclude_outside", INT, exclude_outside),
                                                  SETTING("axes", INTS, axes),
                                                  {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting upsample_table[] = {SETTING("mode", STRING, mode),
                                                    SETTING("scales", FLOATS, scales),
                                                    SETTING("height_scale", FLOAT, height_scale),
                                                    SETTING("width_scale", FLOAT, width_scale),
                                                    {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

enum mode { MODE_NEAREST, MODE_LINEAR, MODE_CUBIC };
enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    HALF_PIXEL_FOR_NEAREST
};
enum rounding { ROUND_PREFER_FLOOR, ROUND_PREFER_CEIL, ROUND_FLOOR, ROUND_CEIL, ROUND_SIMPLE /* up where it shrinks */ };

static const char *const mode_names[] = {"nearest", "linear", "cubic", NULL};
static const char *const coordinate_names[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
                                               "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", NULL};
static const char *const rounding_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};

/* One axis: how it is scaled, and where each place of the output comes from. */
struct resized_axis {
    size_t n_in, n_out;
    double scale, roi_start, roi_end;
    bool is_same;     /* nothing happens to it */
    bool is_doubled;  /* of nearest: each place is taken twice */
    size_t n_taps;    /* of each place, not nearest */
    int64_t *sources; /* [n_out, n_taps]: the places in the input, those outside moved to its ends; of nearest [n_out] */
    double *weights;  /* [n_out, n_taps] */
    uint8_t *outside; /* of CROP_AND_RESIZE: places that get the extrapolation value; NULL: none */
};

struct resize {
    struct mdf_call *call;
    enum mode mode;
    enum coordinates coordinates;
    enum rounding rounding;
    double cubic_coefficient, extrapolation_value;
    bool antialias, exclude_outside;
    size_t rank;
    struct resized_axis *axes;
};

/* One axis on its way. */
struct pass {
    const struct resized_axis *axis;
    const void *x;
    void *y;
    size_t inner;
};

/* Rough times of one tap, and of one element that is moved, to judge what is worth a thread. */
static const double tap_ns = 0.3, move_ns = 0.2;

#define ELEMENT float
#define NAME(x) x##_float32
#include "functions/image/resize_taps.inc"
#define ELEMENT double
#define NAME(x) x##_float64
#include "functions/image/resize_taps.inc"

#define ELEMENT uint8_t
#define NAME(x) x##_1
#include "functions/image/resize_nearest.inc"
#define ELEMENT uint16_t
#define NAME(x) x##_2
#include "functions/image/resize_nearest.inc"
#define ELEMENT uint32_t
#define NAME(x) x##_4
#include "functions/image/resize_nearest.inc"
#define ELEMENT uint64_t
#define NAME(x) x##_8
#include "functions/image/resize_nearest.inc"

typedef void (*row_function)(const struct resized_axis *axis, const void *source, void *target);

/* For elements that may be moved as bytes; NULL for others. */
static row_function row_function_for(mdf_dtype dtype)
{
    size_t size = mdf_dtype_size(dtype);

    if (mdf_dtype_kind(dtype) == 's') {
        return NULL;
    }
    return size == 1 ? take_row_1 : size == 2 ? take_row_2 : size == 4 ? take_row_4 : size == 8 ? take_row_8 : NULL;
}

/* ------------------------------------------------------------------ settings */

static bool choose(struct mdf_call *call, const char *attribute, const char *text, const char *const *names, int *choice)
{
    for (*choice = 0; names[*choice] != NULL; ++*choice) {
        if (strcmp(names[*choice], text) == 0) {
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no %s '%.100s'", attribute, text);
}

/* Versions from 11 on. */
static bool read_settings(struct mdf_call *call, struct resize *job)
{
    const struct resize_settings *settings = call->settings;
    int mode, coordinates, rounding;

    if (!choose(call, "mode", settings->mode, mode_names, &mode) ||
        !choose(call, "coordinate_transformation_mode", settings->coordinates, coordinate_names, &coordinates) ||
        !choose(call, "nearest_mode", settings->nearest_mode, rounding_names, &rounding)) {
        return false;
    }
    *job = (struct resize){.call = call,
                           .mode = (enum mode)mode,
                           .coordinates = (enum coordinates)coordinates,
                           .rounding = (enum rounding)rounding,
                           .cubic_coefficient = settings->cubic_coefficient,
                           .extrapolation_value = settings->extrapolation_value,
                           .antialias = settings->antialias != MDF_NOT_GIVEN && settings->antialias != 0 && mode != MODE_NEAREST,
                           .exclude_outside = settings->exclude_outside != 0};
    return true;
}

/* Upsample, and version 10, which know no coordinates: "bilinear" is linear in its place. */
static bool read_old_settings(struct mdf_call *call, struct resize *job)
{
    const struct resize_settings *settings = call->settings;
    const char *name = strcmp(settings->mode, "bilinear") == 0 ? "linear" : settings->mode;
    int mode;

    *job = (struct resize){.call = call, .coordinates = ASYMMETRIC, .rounding = ROUND_SIMPLE};
    if (!choose(call, "mode", name, mode_names, &mode)) {
        return false;
    }
    job->mode = (enum mode)mode;
    return mode != MODE_CUBIC || mdf_call_error(call, MDF_VALUE, "there is no mode 'cubic' in this version");
}

/* ------------------------------------------------------------------ sizes */

/* Room for the axes, of which `scales` and `sizes` name `n` (axes of the attribute, or all): each as it is. */
static bool prepare_axes(struct mdf_workspace *workspace, const struct mdf_value *x, struct resize *job)
{
    _Static_assert(sizeof(struct resized_axis) % sizeof(int64_t) == 0, "axes lie in an array of int64");
    job->rank = x->rank;
    job->axes = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, x->rank, sizeof *job->axes / sizeof(int64_t));
    for (size_t i = 0; job->axes != NULL && i < x->rank; i++) {
        size_t n = (size_t)mdf_value_shape(x)[i];

        job->axes[i] = (struct resized_axis){.n_in = n, .n_out = n, .scale = 1, .roi_end = 1, .is_same = true};
    }
    return job->axes != NULL;
}

/* The axis that entry `i` of scales, sizes and roi is for. */
static bool find_axis(struct resize *job, const struct mdf_ints *axes, size_t i, struct resized_axis **axis)
{
    size_t index = i;

    if (axes->items != NULL && !mdf_call_axis(job->call, axes->items[i], job->rank, &index)) {
        return false;
    }
    *axis = &job->axes[index];
    return true;
}

static bool set_scale(struct mdf_call *call, struct resized_axis *axis, double scale)
{
    double size = floor((double)axis->n_in * scale);

    if (!(scale > 0) || !(size < 0x1p53)) {
        return mdf_call_error(call, MDF_VALUE, "a scale of %g is not a number greater than 0 that leads to a size", scale);
    }
    axis->scale = scale;
    axis->n_out = (size_t)size;
    return true;
}

/* All axes get one scale, the smallest or the largest that sizes ask for. */
static bool keep_aspect(struct resize *job, const struct mdf_ints *axes, size_t n, bool smallest)
{
    struct resized_axis *axis;
    double scale = NAN;

    for (size_t i = 0; i < n; i++) {
        if (!find_axis(job, axes, i, &axis)) {
            return false;
        }
        scale = isnan(scale) || (smallest ? axis->scale < scale : axis->scale > scale) ? axis->scale : scale;
    }
    for (size_t i = 0; i < n; i++) {
        double size;

        if (!find_axis(job, axes, i, &axis)) {
            return false;
        }
        size = floor(scale * (double)axis->n_in + 0.5);
        if (!(size < 0x1p53)) {
            return mdf_call_error(job->call, MDF_LIMIT, "an axis would have %g elements", size);
        }
        axis->scale = scale;
        axis->n_out = (size_t)size;
    }
    return true;
}

static bool read_sizes(struct resize *job, const struct mdf_ints *axes, size_t n_axes)
{
    const struct resize_settings *settings = job->call->settings;
    const char *policy = settings->keep_aspect != NULL ? settings->keep_aspect : "stretch";
    struct resized_axis *axis;
    size_t n;
    const int64_t *sizes = mdf_call_integers(job->call, 3, MDF_SCRATCH_FIRST, &n);

    if (sizes == NULL) {
        return false;
    }
    if (n != n_axes) {
        return mdf_call_error(job->call, MDF_SHAPE, "sizes has %zu numbers for %zu axes", n, n_axes);
    }
    for (size_t i = 0; i < n; i++) {
        if (!find_axis(job, axes, i, &axis)) {
            return false;
        }
        if (sizes[i] < 0 || (sizes[i] > 0 && axis->n_in == 0)) {
            return mdf_call_error(job->call, MDF_VALUE, "an axis of %zu elements can not be resized to %lld", axis->n_in,
                                  (long long)sizes[i]);
        }
        axis->n_out = (size_t)sizes[i];
        axis->scale = axis->n_in == 0 ? 1 : (double)sizes[i] / (double)axis->n_in;
    }
    if (strcmp(policy, "stretch") == 0) {
        return true;
    }
    if (strcmp(policy, "not_larger") != 0 && strcmp(policy, "not_smaller") != 0) {
        return mdf_call_error(job->call, MDF_VALUE, "there is no keep_aspect_ratio_policy '%.100s'", policy);
    }
    return keep_aspect(job, axes, n, strcmp(policy, "not_larger") == 0);
}

static bool read_scales(struct resize *job, size_t input, const struct mdf_ints *axes, size_t n_axes)
{
    const struct mdf_value *scales = mdf_call_tensor(job->call, input);
    struct resized_axis *axis;

    if (scales == NULL) {
        return false;
    }
    if (scales->length != n_axes) {
        return mdf_call_error(job->call, MDF_SHAPE, "scales has %zu numbers for %zu axes", scales->length, n_axes);
    }
    for (size_t i = 0; i < n_axes; i++) {
        double scale = mdf_element_to_double((mdf_dtype)scales->dtype, mdf_element_at((mdf_dtype)scales->dtype, scales->data, i));

        if (!find_axis(job, axes, i, &axis) || !set_scale(job->call, axis, scale)) {
            return false;
        }
    }
    return true;
}

/* The region of interest; where scales are given it takes part in the size. */
static bool read_roi(struct resize *job, const struct mdf_ints *axes, size_t n_axes, bool scaled)
{
    const struct mdf_value *roi = mdf_call_input(job->call, 1);
    struct resized_axis *axis;

    if (job->coordinates != CROP_AND_RESIZE) {
        return true;
    }
    if (roi == NULL || !mdf_value_is_tensor(roi) || roi->length != 2 * n_axes) {
        return mdf_call_error(job->call, MDF_SHAPE, "tf_crop_and_resize needs a roi of %zu numbers", 2 * n_axes);
    }
    for (size_t i = 0; i < n_axes; i++) {
        if (!find_axis(job, axes, i, &axis)) {
            return false;
        }
        axis->roi_start = mdf_element_to_double((mdf_dtype)roi->dtype, mdf_element_at((mdf_dtype)roi->dtype, roi->data, i));
        axis->roi_end =
            mdf_element_to_double((mdf_dtype)roi->dtype, mdf_element_at((mdf_dtype)roi->dtype, roi->data, n_axes + i));
        if (scaled) {
            double size = floor((double)axis->n_in * (axis->roi_end - axis->roi_start) * axis->scale);

            if (!(size >= 0 && size < 0x1p53)) {
                return mdf_call_error(job->call, MDF_VALUE, "the region from %g to %g has no size", axis->roi_start,
                                      axis->roi_end);
            }
            axis->n_out = (size_t)size;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ where places come from */

/* A scale of 0.1 is 0.1 rounded to float32: 1 divided by it is 10 there, but 9.9999998 in float64, of which the nearest element
 * may be another one. So places are rounded to float32, as ONNX Runtime computes them, where an element is chosen. */
static double place_at(const struct resize *job, double y, double scale)
{
    double x = y / scale;

    return job->mode == MODE_NEAREST ? (double)(float)x : x;
}

/* The place in the input, between elements, that `place` of the output stands for. */
static double origin_of(const struct resize *job, const struct resized_axis *axis, size_t place)
{
    double y = (double)place, scale = axis->scale, n_in = (double)axis->n_in, n_out = scale * n_in;

    switch (job->coordinates) {
    case ALIGN_CORNERS:
        return n_out == 1 ? 0 : place_at(job, y * (n_in - 1), n_out - 1);
    case ASYMMETRIC:
        return place_at(job, y, scale);
    case CROP_AND_RESIZE:
        n_out = (double)axis->n_out;
        return n_out > 1 ? axis->roi_start * (n_in - 1) + y * (axis->roi_end - axis->roi_start) * (n_in - 1) / (n_out - 1)
                         : 0.5 * (axis->roi_start + axis->roi_end) * (n_in - 1);
    case PYTORCH_HALF_PIXEL:
        return axis->n_out > 1 ? place_at(job, y + 0.5, scale) - 0.5 : 0;
    case HALF_PIXEL_SYMMETRIC:
        return n_in / 2 * (1 - (double)axis->n_out / n_out) + place_at(job, y + 0.5, scale) - 0.5;
    case HALF_PIXEL_FOR_NEAREST:
        return place_at(job, y + 0.5, scale);
    case HALF_PIXEL:
        break;
    }
    return place_at(job, y + 0.5, scale) - 0.5;
}

static double nearest_of(const struct resize *job, const struct resized_axis *axis, double x)
{
    switch (job->rounding) {
    case ROUND_PREFER_FLOOR:
        return ceil(x - 0.5);
    case ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case ROUND_CEIL:
        return ceil(x);
    case ROUND_SIMPLE:
        return axis->scale < 1 ? ceil(x) : floor(x);
    case ROUND_FLOOR:
        break;
    }
    return floor(x);
}

/* What a neighbour at a distance weighs. */
static double weigh(const struct resize *job, double distance)
{
    double d = fabs(distance), a = job->cubic_coefficient;

    if (job->mode == MODE_LINEAR) {
        return d < 1 ? 1 - d : 0;
    }
    return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* The weights of the taps of one place. With antialiasing, and where taps outside do not count, they are brought to a sum of 1.
 */
static void weigh_taps(const struct resize *job, const struct resized_axis *axis, double x, double stretch, int64_t start,
                       size_t place)
{
    bool normalised = job->antialias || job->exclude_outside;
    double sum = 0, *weights = axis->weights + place * axis->n_taps;
    int64_t last = (int64_t)axis->n_in - 1;

    for (size_t tap = 0; tap < axis->n_taps; tap++) {
        int64_t from = start + (int64_t)tap;
        bool counts = !job->exclude_outside || (from >= 0 && from < (int64_t)axis->n_in);

        weights[tap] = counts ? weigh(job, ((double)from - x) * stretch) : 0;
        sum += weights[tap];
        axis->sources[place * axis->n_taps + tap] = from < 0 ? 0 : from > last ? last : from;
    }
    for (size_t tap = 0; normalised && sum != 0 && tap < axis->n_taps; tap++) {
        weights[tap] /= sum;
    }
}

enum { PLACES_PER_LOOK = 1 << 10 };

/* Where each place of an axis comes from. */
static bool plan_axis(struct mdf_workspace *workspace, const struct resize *job, struct resized_axis *axis)
{
    double stretch = job->antialias && axis->scale < 1 ? axis->scale : 1, reach = (job->mode == MODE_CUBIC ? 2 : 1) / stretch;
    double n_in = (double)axis->n_in;

    reach = reach < 4 * n_in + 4 ? reach : 4 * n_in + 4;
    axis->n_taps = job->mode == MODE_NEAREST ? 0 : 2 * (size_t)ceil(reach);
    axis->sources = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, axis->n_out, axis->n_taps > 0 ? axis->n_taps : 1);
    axis->weights = mdf_workspace_matrix(workspace, MDF_DTYPE_FLOAT64, axis->n_out, axis->n_taps);
    axis->outside = mdf_workspace_array(workspace, MDF_DTYPE_UINT8, job->coordinates == CROP_AND_RESIZE ? axis->n_out : 0);
    if (axis->sources == NULL || axis->weights == NULL || axis->outside == NULL) {
        return false;
    }
    axis->is_doubled = job->mode == MODE_NEAREST && axis->n_out == 2 * axis->n_in;
    for (size_t place = 0; place < axis->n_out; place++) {
        double x = origin_of(job, axis, place);

        if (mdf_should_stop_at(workspace->call->context, place, PLACES_PER_LOOK)) {
            return false; /* places are indices: none is one that was left out */
        }
        if (job->coordinates == CROP_AND_RESIZE) {
            axis->outside[place] = !(x >= 0 && x <= n_in - 1);
        }
        x = x > -n_in - 4 ? (x < 2 * n_in + 4 ? x : 2 * n_in + 4) : -n_in - 4; /* further out is no different; NaN too */
        if (job->mode == MODE_NEAREST) {
            x = nearest_of(job, axis, x);
            axis->sources[place] = x < 0 ? 0 : x > n_in - 1 ? (int64_t)axis->n_in - 1 : (int64_t)x;
            axis->is_doubled = axis->is_doubled && axis->sources[place] == (int64_t)(place / 2);
        } else {
            weigh_taps(job, axis, x, stretch, (int64_t)floor(x) - (int64_t)ceil(reach) + 1, place);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ elements */

/* Shape of the result, in an array of the workspace. */
static int64_t *shape_of(struct mdf_workspace *workspace, const struct resize *job)
{
    int64_t *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, job->rank);

    for (size_t i = 0; shape != NULL && i < job->rank; i++) {
        shape[i] = (int64_t)job->axes[i].n_out;
    }
    return shape;
}

/* Elements of the result that come from outside the region become the extrapolation value. */
static bool extrapolate(const struct resize *job)
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
        const struct resized_axis *axis = &job->axes[i];

        inner /= axis->n_out;
        for (size_t line = 0; !axis->is_same && line < result->length / inner; line++) {
            if (axis->outside[line % axis->n_out] &&
                !mdf_elements_fill(job->call, dtype, mdf_element_to_write(dtype, result->data, line * inner), inner, element)) {
                return false;
            }
        }
    }
    return true;
}

/* Element at which row `row` of the result begins in the input, where rows are as long as the axes from `n_axes` on. */
static size_t source_row(const struct resize *job, size_t n_axes, size_t row, size_t n_row)
{
    size_t base = 0, stride = n_row;

    for (size_t i = n_axes; i-- > 0;) {
        const struct resized_axis *axis = &job->axes[i];
        size_t place = row % axis->n_out;

        row /= axis->n_out;
        base += (axis->is_same ? place : (size_t)axis->sources[place]) * stride;
        stride *= axis->n_in;
    }
    return base;
}

/* The last axis is resized, and elements are moved as bytes. */
struct rows_job {
    const struct resize *job;
    row_function take_row;
    const char *x;
    char *y;
    size_t size_bytes; /* of an element */
};

/* Rows [first, last), all of one plane, the first of them at `place` of it, `x` the plane in the input. */
static void take_rows_of_plane(const struct rows_job *rows, const char *x, size_t place, size_t first, size_t last)
{
    size_t rank = rows->job->rank;
    const struct resized_axis *axis = &rows->job->axes[rank - 1], *vertical = rank > 1 ? axis - 1 : NULL;
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
static bool take_blocks(struct mdf_workspace *workspace, const struct resize *job, void *target)
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

static bool take_nearest(struct mdf_workspace *workspace, const struct resize *job)
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

/* Copies the result into the output: integers rounded to even, those out of the type's range brought to its end. */
static bool hand_over(struct mdf_workspace *workspace, const void *elements, size_t n, void *y)
{
    struct mdf_value *result = mdf_call_target(workspace->call, 0);
    char kind = mdf_dtype_kind((mdf_dtype)result->dtype);
    const double *from = elements;
    double *to = y, low, high;

    if (kind != 'i' && kind != 'u' && kind != 'b') {
        return mdf_memory_copy(workspace->call->context->memory, y, elements, n * mdf_dtype_size(workspace->dtype));
    }
    find_range((mdf_dtype)result->dtype, &low, &high);
    for (size_t i = 0; i < n && !mdf_should_stop_at(workspace->call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        to[i] = fmin(fmax(rint(from[i]), low), high);
    }
    return true;
}

/* Whether the axes in front of the last one, which is the slowest one to go along, leave less of it to do. */
static bool shrinks_in_front(const struct resize *job)
{
    double change = 1;

    for (size_t i = 0; i + 1 < job->rank; i++) {
        change *= (double)job->axes[i].n_out / (double)job->axes[i].n_in;
    }
    return change < 1;
}

/* Interpolates along axis `i`. `sizes` are those that the axes have by then. NULL with the error set. */
static const void *interpolate_axis(struct mdf_workspace *workspace, const struct resize *job, size_t i, int64_t *sizes,
                                    const void *elements)
{
    const struct resized_axis *axis = &job->axes[i];
    size_t outer = mdf_axes_product(sizes, 0, i), inner = mdf_axes_product(sizes, i + 1, job->rank);
    struct pass pass = {axis, elements, mdf_workspace_matrix(workspace, workspace->dtype, outer * inner, axis->n_out), inner};

    if (pass.y != NULL) {
        sizes[i] = (int64_t)axis->n_out;
        if (!mdf_parallel_for(job->call->context, outer * axis->n_out, tap_ns * (double)axis->n_taps * (double)inner,
                              workspace->dtype == MDF_DTYPE_FLOAT32 ? interpolate_float32 : interpolate_float64, &pass)) {
            return NULL;
        }
    }
    return pass.y;
}

static bool interpolate(struct mdf_workspace *workspace, const struct resize *job)
{
    const struct mdf_value *x = job->call->inputs[0];
    const int64_t *shape = shape_of(workspace, job);
    int64_t *sizes = mdf_workspace_array(workspace, MDF_DTYPE_INT64, job->rank);
    const void *elements = mdf_workspace_input(workspace, 0);
    void *y = NULL;
    bool from_front = shrinks_in_front(job);

    if (shape != NULL && sizes != NULL && elements != NULL) {
        y = mdf_workspace_output(workspace, 0, (mdf_dtype)x->dtype, job->rank, shape);
    }
    if (y == NULL || mdf_call_target(job->call, 0)->length == 0) {
        return y != NULL;
    }
    memcpy(sizes, mdf_value_shape(x), job->rank * sizeof *sizes);
    for (size_t step = 0; step < job->rank && elements != NULL; step++) {
        size_t i = from_front ? step : job->rank - 1 - step;

        if (!job->axes[i].is_same) {
            elements = interpolate_axis(workspace, job, i, sizes, elements);
        }
    }
    return elements != NULL && hand_over(workspace, elements, mdf_axes_product(sizes, 0, job->rank), y) &&
           mdf_workspace_end(workspace) && extrapolate(job);
}

/* Output 0 becomes what an axis is multiplied by, [n_out, n_in]. */
static bool write_matrix(const struct resize *job, size_t number)
{
    const struct resized_axis *axis = &job->axes[number];
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

/* An axis of its old size, at a scale of 1 and without a region of its own, is left alone. */
static bool plan_axes(struct mdf_workspace *workspace, struct resize *job)
{
    for (size_t i = 0; i < job->rank; i++) {
        struct resized_axis *axis = &job->axes[i];

        axis->is_same = axis->n_out == axis->n_in && axis->scale == 1 && axis->roi_start == 0 && axis->roi_end == 1;
        if (axis->n_out > 0 && axis->n_in == 0) {
            return mdf_call_error(job->call, MDF_SHAPE, "axis %zu has no elements to resize", i);
        }
        if (!axis->is_same && !plan_axis(workspace, job, axis)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the operators */

static bool begin(struct mdf_workspace *workspace, struct mdf_call *call, struct resize *job)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    char kind = x != NULL ? mdf_dtype_kind((mdf_dtype)x->dtype) : '?';

    if (x == NULL) {
        return false;
    }
    if (job->mode != MODE_NEAREST && (kind == 's' || kind == 'c')) {
        return mdf_call_error(call, MDF_TYPE, "%s can not be interpolated", mdf_dtype_name((mdf_dtype)x->dtype));
    }
    return mdf_workspace_begin(workspace, call, kind == 'f' ? mdf_workspace_dtype((mdf_dtype)x->dtype) : MDF_DTYPE_FLOAT64,
                               9 + 4 * (size_t)x->rank) &&
           prepare_axes(workspace, x, job);
}

/* Reads what a call says, by version, and plans the axes. */
typedef bool reader(struct mdf_call *call, struct mdf_workspace *workspace, struct resize *job);

static bool read_resize(struct mdf_call *call, struct mdf_workspace *workspace, struct resize *job)
{
    const struct resize_settings *settings = call->settings;
    const struct mdf_value *scales = mdf_call_input(call, 2);
    bool has_sizes = mdf_call_input(call, 3) != NULL, has_scales = scales != NULL && scales->length > 0;
    size_t n_axes;

    if (!read_settings(call, job) || !begin(workspace, call, job)) {
        return false;
    }
    n_axes = settings->axes.items != NULL ? settings->axes.n : job->rank;
    if (has_sizes && has_scales) {
        return mdf_call_error(call, MDF_VALUE, "scales and sizes are both given, but one of them is to be");
    }
    return (has_sizes ? read_sizes(job, &settings->axes, n_axes) : read_scales(job, 2, &settings->axes, n_axes)) &&
           read_roi(job, &settings->axes, n_axes, !has_sizes) && plan_axes(workspace, job);
}

static bool read_resize_10(struct mdf_call *call, struct mdf_workspace *workspace, struct resize *job)
{
    const struct mdf_ints all = {0};

    return read_old_settings(call, job) && begin(workspace, call, job) && read_scales(job, 1, &all, job->rank) &&
           plan_axes(workspace, job);
}

/* Scales are attributes: of each axis, or (version 1) of the two last ones. */
static bool read_upsample_1(struct mdf_call *call, struct mdf_workspace *workspace, struct resize *job)
{
    const struct resize_settings *settings = call->settings;
    double plane[2] = {settings->height_scale, settings->width_scale};
    struct mdf_floats scales = settings->scales.items != NULL ? settings->scales : (struct mdf_floats){plane, 2};
    size_t first;

    if (!read_old_settings(call, job) || !begin(workspace, call, job)) {
        return false;
    }
    if (settings->scales.items != NULL ? scales.n != job->rank : job->rank < 2) {
        return mdf_call_error(call, MDF_SHAPE, "%zu scales do not fit an array of rank %zu", scales.n, job->rank);
    }
    first = job->rank - scales.n;
    for (size_t i = 0; i < scales.n; i++) {
        if (!set_scale(call, &job->axes[first + i], scales.items[i])) {
            return false;
        }
    }
    return plan_axes(workspace, job);
}

static bool run(struct mdf_call *call, reader *read)
{
    struct mdf_workspace workspace;
    struct resize job;

    return read(call, &workspace, &job) &&
           (job.mode == MODE_NEAREST ? take_nearest(&workspace, &job) : interpolate(&workspace, &job));
}

/* The matrix of the axis that is asked for behind the operator's inputs, by input `shown`. */
static bool show_matrix(struct mdf_call *call, reader *read, size_t shown)
{
    size_t n = 0;
    const int64_t *axis = mdf_call_integers(call, shown, 3, &n);
    struct mdf_workspace workspace;
    struct resize job;

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
static struct table_sizes measure_tables(const struct resize *job)
{
    struct table_sizes sizes = {.n_whole = 2, .n_room = 1};

    for (size_t i = 0; i < job->rank; i++) {
        const struct resized_axis *axis = &job->axes[i];

        sizes.n_room *= axis->n_out > axis->n_in ? axis->n_out : axis->n_in;
        if (!axis->is_same) {
            sizes.n_axes++;
            sizes.n_whole += 5 + axis->n_out * (axis->n_taps > 0 ? axis->n_taps : 1);
            sizes.n_real += axis->n_out * axis->n_taps;
        }
    }
    return sizes;
}

/* One axis behind the others; `sizes` are those that the axes have by then. */
static void write_axis(const struct resize *job, size_t i, int64_t *sizes, int64_t **whole, double **real)
{
    const struct resized_axis *axis = &job->axes[i];
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

static bool plan_call(struct mdf_call *call, reader *read, struct mdf_routine_plan *plan)
{
    struct mdf_workspace workspace;
    struct resize job;
    struct table_sizes tables;
    int64_t *sizes, *whole;
    double *real;
    bool from_front;

    plan->dtype = (mdf_dtype)call->inputs[0]->dtype;
    for (size_t i = 1; i < call->n_inputs; i++) {
        if (mdf_call_input(call, i) != NULL && !mdf_call_is_constant(call, i)) {
            return false;
        }
    }
    if (!read(call, &workspace, &job) || job.coordinates == CROP_AND_RESIZE || mdf_call_target(call, 0)->length == 0 ||
        (job.mode != MODE_NEAREST && plan->dtype != MDF_DTYPE_FLOAT32 && plan->dtype != MDF_DTYPE_FLOAT64)) {
        return false;
    }
    tables = measure_tables(&job);
    sizes = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, job.rank);
    if (sizes == NULL || tables.n_axes == 0 || tables.n_whole > MOST_NUMBERS ||
        !mdf_routine_room(plan, tables.n_whole, tables.n_real)) {
        return false;
    }
    plan->function = job.mode == MODE_NEAREST ? "resize_to_nearest" : "resize";
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
KERNELS(resize, resize_matrix, plan_resize, read_resize, 4)
KERNELS(resize_10, resize_10_matrix, plan_resize_10, read_resize_10, 2)
KERNELS(upsample_1, upsample_1_matrix, plan_upsample_1, read_upsample_1, 1)
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

const struct mdf_operator mdf_operators_resize[] = {
    {"Resize", 10, 10, resize_10, resize_table, sizeof(struct resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(old_matrices, "x0, x1"), .infer = &mdf_rule_rank, .routine = MDF_ROUTINE(plan_resize_10, NULL)},
    {"Resize", 11, 99, resize, resize_table, sizeof(struct resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(matrices, "x0, x1, x2, x3"), .infer = &mdf_rule_rank, .routine = MDF_ROUTINE(plan_resize, NULL)},
    {"Upsample", 1, 8, upsample_1, upsample_table, sizeof(struct resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(oldest_matrices, "x0"), .infer = &mdf_rule_rank, .routine = MDF_ROUTINE(plan_upsample_1, NULL)},
    {"Upsample", 9, 99, resize_10, upsample_table, sizeof(struct resize_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = RESIZED(old_matrices, "x0, x1"), .infer = &mdf_rule_rank, .routine = MDF_ROUTINE(plan_resize_10, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
