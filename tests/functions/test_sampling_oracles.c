/* test_sampling_oracles.c - GridSample and Resize against their definitions: weights of the taps of each axis, multiplied; all
 * modes, paddings and ways to count coordinates, over one to three axes, and arrays without elements. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 5, MAX_TAPS = 4, N_CASES = 150 };

/* The elements of one axis that a point takes, with their weights. */
struct taps {
    size_t n;
    int64_t place[MAX_TAPS]; /* -1: outside, where nothing is */
    double weight[MAX_TAPS];
};

/* Keys' cubic convolution, at a distance from a tap. */
static double cubic_weight(double distance, double a)
{
    double d = fabs(distance);

    if (d <= 1) {
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    }
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* Of a point between two taps, or in the middle of four; `cubic_a` of those. */
static struct taps taps_around(double point, size_t n, double cubic_a)
{
    struct taps taps = {.n = n};

    for (size_t i = 0; i < n; i++) {
        taps.place[i] = (int64_t)floor(point) + (int64_t)i - (n == 4 ? 1 : 0);
        taps.weight[i] = n == 4 ? cubic_weight(point - (double)taps.place[i], cubic_a) : 1 - fabs(point - (double)taps.place[i]);
    }
    return taps;
}

/* The sum over all combinations of taps of the axes, of one plane of x. */
static double sample(const struct mdf_value *x, size_t plane, size_t n_axes, const int64_t *shape, const struct taps *taps)
{
    int64_t counts[MAX_RANK], tap[MAX_RANK], place[MAX_RANK];
    double sum = 0;

    for (size_t i = 0; i < n_axes; i++) {
        counts[i] = (int64_t)taps[i].n;
    }
    for (size_t t = 0; t < kernel_n_elements(n_axes, counts); t++) {
        double weight = 1;
        bool inside = true;

        kernel_index(n_axes, counts, t, tap);
        for (size_t i = 0; i < n_axes; i++) {
            weight *= taps[i].weight[tap[i]];
            place[i] = taps[i].place[tap[i]];
            inside = inside && place[i] >= 0;
        }
        sum +=
            inside ? weight * kernel_number(x, plane * kernel_n_elements(n_axes, shape) + kernel_place(n_axes, shape, place)) : 0;
    }
    return sum;
}

/* ------------------------------------------------------------------ GridSample */

enum { ZEROS, BORDER, REFLECTION };

struct grid_options {
    size_t n_taps; /* 1: nearest, 2: linear, 4: cubic */
    int64_t padding, align_corners;
};

static int64_t padded_place(int64_t place, int64_t size, const struct grid_options *options)
{
    if (place >= 0 && place < size) {
        return place;
    }
    if (options->padding == ZEROS) {
        return -1;
    }
    if (options->padding == BORDER) {
        return place < 0 ? 0 : size - 1;
    }
    if (options->align_corners) { /* about the outermost elements, else about their outer edges */
        int64_t turn = 2 * (size - 1);

        place = turn == 0 ? 0 : (place % turn + turn) % turn;
        return place < size ? place : turn - place;
    }
    place = (place % (2 * size) + 2 * size) % (2 * size);
    return place < size ? place : 2 * size - 1 - place;
}

static struct taps grid_taps(double coordinate, int64_t size, const struct grid_options *options)
{
    double point = options->align_corners ? (coordinate + 1) / 2 * (double)(size - 1) : ((coordinate + 1) * (double)size - 1) / 2;
    double margin = options->align_corners ? 0 : 0.5;
    struct taps taps = {.n = 1, .place = {(int64_t)rint(point)}, .weight = {1}};

    if (options->padding == BORDER && options->n_taps < 4 && (point < -margin || point > (double)(size - 1) + margin)) {
        point = point < 0 ? 0 : (double)(size - 1); /* a point outside has the value at the border */
    }
    if (options->n_taps > 1) {
        taps = taps_around(point, options->n_taps, -0.75);
    }
    for (size_t i = 0; i < taps.n; i++) {
        taps.place[i] = padded_place(taps.place[i], size, options);
    }
    return taps;
}

static void begin_grid_sample(struct kernel_call *call, const struct grid_options *options)
{
    static const char *const modes[] = {"", "nearest", "linear", "", "cubic"}, *const paddings[] = {"zeros", "border",
                                                                                                    "reflection"};

    kernel_begin(call, "GridSample", 20);
    kernel_set_text(call, "mode", modes[options->n_taps]);
    kernel_set_text(call, "padding_mode", paddings[options->padding]);
    kernel_set_int(call, "align_corners", options->align_corners);
}

static void check_grid_sample(void)
{
    static const size_t n_taps[] = {1, 2, 4};
    struct grid_options options = {n_taps[kernel_pick(0, 2)], kernel_pick(ZEROS, REFLECTION), kernel_pick(0, 1)};
    size_t n_axes = options.n_taps == 4 ? 2 : (size_t)kernel_pick(2, 3), n_points = 1;
    int64_t shape[MAX_RANK] = {kernel_pick(0, 2), kernel_pick(0, 3)}, grid_shape[MAX_RANK] = {shape[0]}, result[MAX_RANK];
    const struct mdf_value *x;
    struct mdf_value *grid;
    struct kernel_call call;

    memcpy(result, shape, sizeof shape);
    for (size_t i = 0; i < n_axes; i++) {
        shape[i + 2] = kernel_pick(1, 7);
        grid_shape[i + 1] = result[i + 2] = kernel_pick(0, 9) == 0   ? 0
                                            : kernel_pick(0, 5) == 0 ? kernel_pick(7, 40)
                                                                     : kernel_pick(1, 6);
        n_points *= (size_t)result[i + 2];
    }
    grid_shape[n_axes + 1] = (int64_t)n_axes;
    begin_grid_sample(&call, &options);
    x = kernel_add(&call, MDF_DTYPE_FLOAT32, n_axes + 2, shape, NUMBERS_SHORT, false);
    grid = kernel_add(&call, MDF_DTYPE_FLOAT32, n_axes + 2, grid_shape, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    for (size_t i = 0; i < grid->length; i++) {
        ((float *)grid->data)[i] *= 3; /* beyond the array on all sides */
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, n_axes + 2, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        size_t plane = i / n_points, point = plane / (size_t)shape[1] * n_points + i % n_points;
        struct taps taps[3];

        for (size_t axis = 0; axis < n_axes; axis++) { /* the grid names the last axis first */
            taps[axis] = grid_taps(kernel_number(grid, point * n_axes + n_axes - 1 - axis), shape[axis + 2], &options);
        }
        kernel_check(&call, 0, i, sample(x, plane, n_axes, shape + 2, taps), 1e-5);
    }
    kernel_end(&call);
}

Test(sampling_oracles, grids)
{
    for (size_t i = 0; i < 6 * N_CASES; i++) {
        check_grid_sample();
    }
}

/* ------------------------------------------------------------------ Resize */

struct resize_options {
    const char *mode, *coordinates, *rounding;
    int64_t exclude_outside;
    double cubic_a;
};

/* Of float32 where it says which element is the nearest one. */
static double quotient(bool is_nearest, double a, double b)
{
    return is_nearest ? (double)(float)(a / b) : a / b;
}

/* The point on the input that element `i` of the output stands for. */
static double point_of(const struct resize_options *options, int64_t i, int64_t n_out, int64_t n_in, double scale)
{
    const char *coordinates = options->coordinates;
    bool is_nearest = strcmp(options->mode, "nearest") == 0;
    double middle = quotient(is_nearest, (double)i + 0.5, scale);

    if (strcmp(coordinates, "half_pixel") == 0) {
        return middle - 0.5;
    }
    if (strcmp(coordinates, "half_pixel_symmetric") == 0) {
        return quotient(is_nearest, (double)i + 0.5 - (double)n_out / 2, scale) + (double)(n_in - 1) / 2; /* from the middle on */
    }
    if (strcmp(coordinates, "pytorch_half_pixel") == 0) {
        return n_out > 1 ? middle - 0.5 : 0;
    }
    if (strcmp(coordinates, "align_corners") == 0) {
        double length = scale * (double)n_in; /* which scales may leave fractional */

        return n_out > 1 ? quotient(is_nearest, (double)i * (double)(n_in - 1), length - 1) : 0;
    }
    return quotient(is_nearest, (double)i, scale); /* asymmetric */
}

static double rounded(double point, const char *rounding)
{
    return strcmp(rounding, "floor") == 0                ? floor(point)
           : strcmp(rounding, "ceil") == 0               ? ceil(point)
           : strcmp(rounding, "round_prefer_floor") == 0 ? ceil(point - 0.5)
                                                         : floor(point + 0.5);
}

static struct taps resize_taps(const struct resize_options *options, double point, int64_t size)
{
    bool is_nearest = strcmp(options->mode, "nearest") == 0;
    struct taps taps = {.n = 1, .weight = {1}};
    double sum = 0;

    if (is_nearest) {
        taps.place[0] = (int64_t)rounded(point, options->rounding);
    } else {
        taps = taps_around(point, strcmp(options->mode, "linear") == 0 ? 2 : 4, options->cubic_a);
    }
    for (size_t i = 0; i < taps.n; i++) {
        if (options->exclude_outside && (taps.place[i] < 0 || taps.place[i] >= size)) {
            taps.weight[i] = 0;
        }
        taps.place[i] = taps.place[i] < 0 ? 0 : taps.place[i] >= size ? size - 1 : taps.place[i];
        sum += taps.weight[i];
    }
    for (size_t i = 0; i < taps.n && options->exclude_outside; i++) {
        taps.weight[i] /= sum;
    }
    return taps;
}

/* Sizes, or scales that are short binary fractions, of all axes. */
static void add_sizes(struct kernel_call *call, size_t rank, const int64_t *shape, int64_t *result, double *scales)
{
    int64_t n = (int64_t)rank;
    bool by_scales = kernel_pick(0, 1) == 1;
    struct mdf_value *given;

    for (size_t i = 0; i < rank; i++) {
        result[i] = shape[i] == 0 ? 0 : kernel_pick(0, 2) == 0 ? shape[i] : kernel_pick(1, 12);
        scales[i] = shape[i] == 0 ? 1 : (double)result[i] / (double)shape[i];
        if (by_scales) {
            scales[i] = (double)kernel_pick(2, 12) / 4;
            result[i] = (int64_t)floor((double)shape[i] * scales[i]);
        }
    }
    kernel_omit(call);
    if (!by_scales) {
        kernel_omit(call);
        kernel_add_integers(call, result, rank);
        return;
    }
    given = kernel_add(call, MDF_DTYPE_FLOAT32, 1, &n, NUMBERS_SHORT, true);
    for (size_t i = 0; i < rank; i++) {
        ((float *)given->data)[i] = (float)scales[i];
    }
}

static void check_resize(const struct resize_options *options, size_t rank)
{
    int64_t shape[3], result[3], index[3];
    struct taps taps[3];
    const struct mdf_value *x;
    struct kernel_call call;
    double scales[3];

    for (size_t i = 0; i < rank; i++) {
        shape[i] = kernel_pick(0, 15) == 0 ? 0 : kernel_pick(1, 9);
    }
    kernel_begin(&call, "Resize", 19);
    kernel_set_text(&call, "mode", options->mode);
    kernel_set_text(&call, "coordinate_transformation_mode", options->coordinates);
    kernel_set_text(&call, "nearest_mode", options->rounding);
    kernel_set_int(&call, "exclude_outside", options->exclude_outside);
    *(double *)kernel_field(&call, "cubic_coeff_a") = options->cubic_a;
    x = kernel_add(&call, MDF_DTYPE_FLOAT32, rank, shape, NUMBERS_SHORT, false);
    add_sizes(&call, rank, shape, result, scales);
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank, result);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        kernel_index(rank, result, i, index);
        for (size_t axis = 0; axis < rank; axis++) {
            double point = point_of(options, index[axis], result[axis], shape[axis], scales[axis]);

            taps[axis] = resize_taps(options, point, shape[axis]);
        }
        kernel_check(&call, 0, i, sample(x, 0, rank, shape, taps), 1e-5);
    }
    kernel_end(&call);
}

Test(sampling_oracles, resize)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                              "asymmetric"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

    for (size_t i = 0; i < 6 * N_CASES; i++) {
        struct resize_options options = {modes[kernel_pick(0, 2)], coordinates[kernel_pick(0, 4)], roundings[kernel_pick(0, 3)],
                                         0, kernel_pick(0, 1) == 1 ? -0.75 : -0.5};

        options.exclude_outside = strcmp(options.mode, "cubic") == 0 ? kernel_pick(0, 1) : 0;
        check_resize(&options, (size_t)kernel_pick(1, 3));
    }
}

/* ------------------------------------------------------------------ AffineGrid */

/* Place number `i` of `n` between -1 and 1: the ends are places, or the ends of places. */
static double place_between(int64_t i, int64_t n, bool align_corners)
{
    return !align_corners ? (2 * (double)i + 1) / (double)n - 1 : n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
}

static void check_affine_grid(mdf_dtype dtype, size_t rank, double tolerance)
{
    int64_t sizes[5] = {kernel_pick(1, 3), kernel_pick(1, 3)}, shape[5], index[5];
    bool align_corners = kernel_pick(0, 1) == 1;
    const struct mdf_value *theta;
    struct kernel_call call;

    shape[0] = sizes[0];
    shape[rank + 1] = (int64_t)rank;
    for (size_t i = 0; i < rank; i++) {
        shape[1 + i] = sizes[2 + i] = kernel_pick(1, 9);
    }
    kernel_begin(&call, "AffineGrid", 20);
    kernel_set_int(&call, "align_corners", align_corners);
    theta = kernel_add(&call, dtype, 3, (int64_t[]){sizes[0], (int64_t)rank, (int64_t)rank + 1}, NUMBERS_SHORT, false);
    kernel_add_integers(&call, sizes, rank + 2);
    kernel_run(&call);
    kernel_check_shape(&call, 0, rank + 2, shape);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        double wanted = 0;

        kernel_index(rank + 2, shape, i, index);
        for (size_t k = 0; k <= rank; k++) { /* x is the last axis; behind the axes there is a 1 */
            double point = k == rank ? 1 : place_between(index[rank - k], shape[rank - k], align_corners);
            size_t at = ((size_t)index[0] * rank + (size_t)index[rank + 1]) * (rank + 1) + k;

            wanted += kernel_number(theta, at) * point;
        }
        kernel_check(&call, 0, i, wanted, tolerance);
    }
    kernel_end(&call);
}

/* Computed in float64, here in another order; the result is in the elements' type. */
Test(sampling_oracles, affine_grids)
{
    for (size_t i = 0; i < 200; i++) {
        check_affine_grid(MDF_DTYPE_FLOAT32, 2 + i % 2, 3e-7);
        check_affine_grid(MDF_DTYPE_FLOAT64, 2 + i % 2, 1e-15);
    }
}
