/* resize_axes.c - see resize.h. */
#include "functions/image/resize.h"

#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

#include "functions/image/resize_places_routine.inc"

#define SETTING(name, type, field)                                            \
    {                                                                         \
        name, MDF_SETTING_##type, offsetof(struct mdf_resize_settings, field) \
    }
const struct mdf_setting mdf_resize_settings[] = {SETTING("mode", STRING, mode),
                                                  SETTING("nearest_mode", STRING, nearest_mode),
                                                  SETTING("coordinate_transformation_mode", STRING, coordinates),
                                                  SETTING("keep_aspect_ratio_policy", STRING, keep_aspect),
                                                  SETTING("cubic_coeff_a", FLOAT, cubic_coefficient),
                                                  SETTING("extrapolation_value", FLOAT, extrapolation_value),
                                                  SETTING("antialias", INT, antialias),
                                                  SETTING("exclude_outside", INT, exclude_outside),
                                                  SETTING("axes", INTS, axes),
                                                  {NULL, MDF_SETTING_INT, 0}};
const struct mdf_setting mdf_upsample_settings[] = {SETTING("mode", STRING, mode),
                                                    SETTING("scales", FLOATS, scales),
                                                    SETTING("height_scale", FLOAT, height_scale),
                                                    SETTING("width_scale", FLOAT, width_scale),
                                                    {NULL, MDF_SETTING_INT, 0}};
#undef SETTING

static const char *const mode_names[] = {"nearest", "linear", "cubic", NULL};
static const char *const coordinate_names[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",   "align_corners",
                                               "asymmetric", "tf_crop_and_resize",   "tf_half_pixel_for_nn", NULL};
static const char *const rounding_names[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};

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
static bool read_settings(struct mdf_call *call, struct mdf_resize *job)
{
    const struct mdf_resize_settings *settings = call->settings;
    int mode, coordinates, rounding;

    if (!choose(call, "mode", settings->mode, mode_names, &mode) ||
        !choose(call, "coordinate_transformation_mode", settings->coordinates, coordinate_names, &coordinates) ||
        !choose(call, "nearest_mode", settings->nearest_mode, rounding_names, &rounding)) {
        return false;
    }
    *job = (struct mdf_resize){.call = call,
                               .mode = (enum mode)mode,
                               .coordinates = (enum coordinates)coordinates,
                               .rounding = (enum rounding)rounding,
                               .cubic_coefficient = settings->cubic_coefficient,
                               .extrapolation_value = settings->extrapolation_value,
                               .antialias = mdf_is_set(settings->antialias) && mode != MODE_NEAREST,
                               .exclude_outside = settings->exclude_outside != 0};
    return true;
}

/* Upsample, and version 10, which know no coordinates: "bilinear" is linear in its place. */
static bool read_old_settings(struct mdf_call *call, struct mdf_resize *job)
{
    const struct mdf_resize_settings *settings = call->settings;
    const char *name = strcmp(settings->mode, "bilinear") == 0 ? "linear" : settings->mode;
    int mode;

    *job = (struct mdf_resize){.call = call, .coordinates = ASYMMETRIC, .rounding = ROUND_SIMPLE};
    if (!choose(call, "mode", name, mode_names, &mode)) {
        return false;
    }
    job->mode = (enum mode)mode;
    return mode != MODE_CUBIC || mdf_call_error(call, MDF_VALUE, "there is no mode 'cubic' in this version");
}

/* ------------------------------------------------------------------ sizes */

/* Room for the axes, of which `scales` and `sizes` name `n` (axes of the attribute, or all): each as it is. */
static bool prepare_axes(struct mdf_workspace *workspace, const struct mdf_value *x, struct mdf_resize *job)
{
    _Static_assert(sizeof(struct mdf_resized_axis) % sizeof(int64_t) == 0, "axes lie in an array of int64");
    job->rank = x->rank;
    job->axes = mdf_workspace_matrix(workspace, MDF_DTYPE_INT64, x->rank, sizeof *job->axes / sizeof(int64_t));
    for (size_t i = 0; job->axes != NULL && i < x->rank; i++) {
        size_t n = (size_t)mdf_value_shape(x)[i];

        job->axes[i] = (struct mdf_resized_axis){.n_in = n, .n_out = n, .scale = 1, .roi_end = 1, .is_same = true};
    }
    return job->axes != NULL;
}

/* The axis that entry `i` of scales, sizes and roi is for. */
static bool find_axis(struct mdf_resize *job, const struct mdf_ints *axes, size_t i, struct mdf_resized_axis **axis)
{
    size_t index = i;

    if (axes->items != NULL && !mdf_call_axis(job->call, axes->items[i], job->rank, &index)) {
        return false;
    }
    *axis = &job->axes[index];
    return true;
}

/* Scales are float32: 5 / 3 in that type, times 3, is less than 5. A product of that type is 5, which is what is meant where
 * exporters write a scale for a size, and what ONNX Runtime makes of it. */
static double scaled_size(double n, double scale)
{
    double size = n * scale;

    return floor(size < 0x1p24 ? (double)(float)size : size);
}

static bool set_scale(struct mdf_call *call, struct mdf_resized_axis *axis, double scale)
{
    double size = scaled_size((double)axis->n_in, scale);

    if (!(scale > 0) || !(size < 0x1p53)) {
        return mdf_call_error(call, MDF_VALUE, "a scale of %g is not a number greater than 0 that leads to a size", scale);
    }
    axis->scale = scale;
    axis->n_out = (size_t)size;
    return true;
}

/* All axes get one scale, the smallest or the largest that sizes ask for. */
static bool keep_aspect(struct mdf_resize *job, const struct mdf_ints *axes, size_t n, bool smallest)
{
    struct mdf_resized_axis *axis;
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

static bool read_sizes(struct mdf_resize *job, const struct mdf_ints *axes, size_t n_axes)
{
    const struct mdf_resize_settings *settings = job->call->settings;
    const char *policy = settings->keep_aspect != NULL ? settings->keep_aspect : "stretch";
    struct mdf_resized_axis *axis;
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

static bool read_scales(struct mdf_resize *job, size_t input, const struct mdf_ints *axes, size_t n_axes)
{
    const struct mdf_value *scales = mdf_call_tensor(job->call, input);
    struct mdf_resized_axis *axis;

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
static bool read_roi(struct mdf_resize *job, const struct mdf_ints *axes, size_t n_axes, bool scaled)
{
    const struct mdf_value *roi = mdf_call_input(job->call, 1);
    struct mdf_resized_axis *axis;

    if (job->coordinates != CROP_AND_RESIZE) {
        return true;
    }
    if (roi == NULL || !mdf_value_is_tensor(roi) || roi->length != 2 * n_axes) {
        return mdf_call_error(job->call, MDF_SHAPE, "tf_crop_and_resize needs a roi of %zu numbers", 2 * n_axes);
    }
    job->has_wide_region = roi->dtype == MDF_DTYPE_FLOAT64;
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
static double place_at(const struct mdf_resize *job, double y, double scale)
{
    double x = y / scale;

    return job->mode == MODE_NEAREST ? (double)(float)x : x;
}

/* The place in the input, between elements, that `place` of the output stands for. */
static double origin_of(const struct mdf_resize *job, const struct mdf_resized_axis *axis, size_t place)
{
    double y = (double)place, scale = axis->scale, n_in = (double)axis->n_in, n_out = scale * n_in;

    switch (job->coordinates) {
    case ALIGN_CORNERS:
        return n_out == 1 ? 0 : place_at(job, y * (n_in - 1), n_out - 1);
    case ASYMMETRIC:
        return place_at(job, y, scale);
    case CROP_AND_RESIZE:
        return job->mode == MODE_NEAREST
                   ? mdf_rounded_place_in_region(job->has_wide_region, axis->roi_start, axis->roi_end, (int64_t)axis->n_in,
                                                 (int64_t)axis->n_out, y)
                   : mdf_place_in_region(axis->roi_start, axis->roi_end, (int64_t)axis->n_in, (int64_t)axis->n_out, y);
    case PYTORCH_HALF_PIXEL:
        return axis->n_out > 1 ? place_at(job, y + 0.5, scale) - 0.5 : 0;
    case HALF_PIXEL_SYMMETRIC:
        /* From the middle on, which is the middle of the input to the bit. */
        return place_at(job, y + 0.5 - (double)axis->n_out / 2, scale) + (n_in - 1) / 2;
    case HALF_PIXEL_FOR_NEAREST:
        return place_at(job, y + 0.5, scale);
    case HALF_PIXEL:
        break;
    }
    return place_at(job, y + 0.5, scale) - 0.5;
}

enum { PLACES_PER_LOOK = 1 << 10 };

/* Where each place of an axis comes from. */
static bool plan_axis(struct mdf_workspace *workspace, const struct mdf_resize *job, struct mdf_resized_axis *axis)
{
    double stretch = job->antialias && axis->scale < 1 ? axis->scale : 1, reach = (job->mode == MODE_CUBIC ? 2 : 1) / stretch;
    int64_t n_in = (int64_t)axis->n_in, n_out = (int64_t)axis->n_out;

    reach = reach < 4 * (double)n_in + 4 ? reach : 4 * (double)n_in + 4;
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
            double there =
                mdf_rounded_place_in_region(job->has_wide_region, axis->roi_start, axis->roi_end, n_in, n_out, (double)place);

            axis->outside[place] = !(there >= 0 && there <= (double)n_in - 1);
        }
        x = mdf_place_near(x, n_in);
        if (job->mode == MODE_NEAREST) {
            axis->sources[place] = mdf_chosen_place((int64_t)job->rounding, axis->scale < 1, x, n_in);
            axis->is_doubled = axis->is_doubled && axis->sources[place] == (int64_t)(place / 2);
        } else {
            mdf_weigh_taps((int64_t)job->mode, job->cubic_coefficient, job->exclude_outside,
                           job->antialias || job->exclude_outside, stretch, n_in, (int64_t)axis->n_taps, x,
                           axis->sources + place * axis->n_taps, axis->weights + place * axis->n_taps);
        }
    }
    return true;
}

/* An axis of its old size, at a scale of 1 and without a region of its own, is left alone. */
static bool plan_axes(struct mdf_workspace *workspace, struct mdf_resize *job)
{
    for (size_t i = 0; i < job->rank; i++) {
        struct mdf_resized_axis *axis = &job->axes[i];

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

/* ------------------------------------------------------------------ what calls say */

static bool begin(struct mdf_workspace *workspace, struct mdf_call *call, struct mdf_resize *job)
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

bool mdf_resize_read(struct mdf_call *call, struct mdf_workspace *workspace, struct mdf_resize *job)
{
    const struct mdf_resize_settings *settings = call->settings;
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

bool mdf_resize_read_10(struct mdf_call *call, struct mdf_workspace *workspace, struct mdf_resize *job)
{
    const struct mdf_ints all = {0};

    return read_old_settings(call, job) && begin(workspace, call, job) && read_scales(job, 1, &all, job->rank) &&
           plan_axes(workspace, job);
}

/* Scales are attributes: of each axis, or (version 1) of the two last ones. */
bool mdf_upsample_read_1(struct mdf_call *call, struct mdf_workspace *workspace, struct mdf_resize *job)
{
    const struct mdf_resize_settings *settings = call->settings;
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
