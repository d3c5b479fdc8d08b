/* test_picked_elements.c - the fast kernels of GridSample and TopK against plain forms written out here, on random shapes and
 * attributes, with infinite elements among others. */
#include "tests/kernel_fixture.h"

enum { N_CASES = 400 };

/* The input once more, in another type. */
static void convert_input(struct fixture *fixture, size_t i, mdf_dtype dtype)
{
    struct mdf_value converted = {0};

    cr_assert(mdf_value_convert(&fixture->memory, &converted, &fixture->inputs[i], dtype));
    mdf_value_clear(&fixture->memory, &fixture->inputs[i]);
    fixture->inputs[i] = converted;
}

static double element_of(const struct mdf_value *value, size_t i)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;

    return mdf_element_to_double(dtype, (const char *)value->data + i * mdf_dtype_size(dtype));
}

static void check_element(const struct fixture *fixture, size_t i, double wanted, double tolerance)
{
    double is = element_of(&fixture->output, i);

    cr_assert(isnan(wanted)   ? isnan(is)
              : isinf(wanted) ? is == wanted
                              : fabs(is - wanted) <= tolerance,
              "%s: element %zu is %g, not %g", fixture->operator->name, i, is, wanted);
}

/* ------------------------------------------------------------------ GridSample */

enum mode { NEAREST, LINEAR, CUBIC };
enum padding { ZEROS, BORDER, REFLECTION };

struct sampling {
    enum mode mode;
    enum padding padding;
    bool align_corners;
    size_t rank;
    int64_t sizes[3];
};

static double mirror(const struct sampling *job, double x, double size)
{
    double low = job->align_corners ? 0 : -0.5, high = job->align_corners ? size - 1 : size - 0.5;

    while (high > low && (x < low || x > high)) {
        x = x < low ? 2 * low - x : 2 * high - x;
    }
    return high > low ? x : low;
}

/* The number of an element along an axis, -1 for none. */
static int64_t inside(const struct sampling *job, double place, int64_t size)
{
    if (job->padding == REFLECTION) {
        place = rint(mirror(job, place, (double)size));
    }
    if (job->padding == ZEROS && (place < 0 || place >= (double)size)) {
        return -1;
    }
    return place < 0 ? 0 : place >= (double)size ? size - 1 : (int64_t)place;
}

static double cubic_weight(double distance)
{
    double d = fabs(distance);

    return d <= 1 ? 1.25 * d * d * d - 2.25 * d * d + 1 : -0.75 * d * d * d + 3.75 * d * d - 6 * d + 3;
}

/* Weight and element of neighbour `tap` along an axis. */
static double weigh(const struct sampling *job, size_t axis, double coordinate, int64_t tap, int64_t *element)
{
    double size = (double)job->sizes[axis], first, place;

    place = job->align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;
    place = job->mode == NEAREST ? rint(place) : place;
    if (job->padding == REFLECTION) {
        place = mirror(job, place, size);
    } else if (job->padding == BORDER) {
        bool is_inside = place >= (job->align_corners ? 0 : -0.5) && place <= (job->align_corners ? size - 1 : size - 0.5);

        place = is_inside ? place : place > 0 ? size - 1 : 0;
    }
    first = floor(place) - (job->mode == CUBIC ? 1 : 0);
    *element = inside(job, first + (double)tap, job->sizes[axis]);
    return job->mode == NEAREST  ? 1
           : job->mode == LINEAR ? 1 - fabs(place - first - (double)tap)
                                 : cubic_weight(place - first - (double)tap);
}

static double sample(const struct sampling *job, const struct mdf_value *x, size_t plane, const float *point)
{
    static const int64_t n_taps[] = {1, 2, 4};
    size_t n_plane = 1, n_choices = 1;
    double sum = 0;

    for (size_t axis = 0; axis < job->rank; axis++) {
        n_plane *= (size_t)job->sizes[axis];
        n_choices *= (size_t)n_taps[job->mode];
    }
    for (size_t choice = 0; choice < n_choices; choice++) {
        size_t rest = choice, offset = 0;
        bool counts = true;
        double weight = 1;

        for (size_t axis = 0; axis < job->rank; axis++, rest /= (size_t)n_taps[job->mode]) {
            int64_t element, tap = (int64_t)rest % n_taps[job->mode];

            weight *= weigh(job, axis, (double)point[job->rank - 1 - axis], tap, &element);
            counts = counts && element >= 0 && weight != 0;
            offset = offset * (size_t)job->sizes[axis] + (size_t)(element < 0 ? 0 : element);
        }
        sum += counts ? weight * element_of(x, plane * n_plane + offset) : 0;
    }
    return sum;
}

static void set_sampling(struct fixture *fixture, const struct sampling *job)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"}, *const paddings[] = {"zeros", "border", "reflection"};

    *(const char **)field(fixture, "mode") = modes[job->mode];
    *(const char **)field(fixture, "padding_mode") = paddings[job->padding];
    *(int64_t *)field(fixture, "align_corners") = job->align_corners;
}

static void check_grid_sample(void)
{
    static const mdf_dtype moved[] = {MDF_DTYPE_INT8, MDF_DTYPE_INT16, MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, MDF_DTYPE_COMPLEX128};
    struct sampling job = {(enum mode)pick(0, 2), (enum padding)pick(0, 2), pick(0, 1) == 1, (size_t)pick(1, 3), {0}};
    int64_t x_shape[5] = {pick(1, 2), pick(1, 3)}, grid_shape[5] = {x_shape[0]}, n_points = 1;
    mdf_dtype dtype = job.mode == NEAREST ? moved[pick(0, 4)] : pick(0, 2) == 0 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
    struct fixture fixture;
    float *x, *grid;

    for (size_t axis = 0; axis < job.rank; axis++) {
        x_shape[2 + axis] = job.sizes[axis] = pick(1, 9);
        grid_shape[1 + axis] = pick(0, 9) == 0 ? pick(1, 300 / (int64_t)(job.rank * job.rank)) : pick(1, 9);
        n_points *= grid_shape[1 + axis];
    }
    grid_shape[1 + job.rank] = (int64_t)job.rank;
    begin(&fixture, "GridSample", 20);
    set_sampling(&fixture, &job);
    x = add_input(&fixture, 2 + job.rank, x_shape, false);
    grid = add_input(&fixture, 2 + job.rank, grid_shape, false);
    for (size_t i = 0; i < fixture.inputs[0].length; i++) {
        x[i] = pick(0, 40) == 0 && dtype != MDF_DTYPE_INT64 ? INFINITY : x[i] * 100;
    }
    for (size_t i = 0; i < fixture.inputs[1].length; i++) { /* some on elements, some between, some far outside */
        grid[i] = pick(0, 5) == 0 ? (float)pick(-9, 9) : pick(0, 1) == 0 ? (float)pick(-9, 9) / 8 : grid[i] * 1.3f;
    }
    convert_input(&fixture, 0, dtype);
    run(&fixture);
    for (int64_t i = 0; i < x_shape[0] * x_shape[1] * n_points; i++) {
        int64_t plane = i / n_points, point = plane / x_shape[1] * n_points + i % n_points;

        check_element(&fixture, (size_t)i, sample(&job, &fixture.inputs[0], (size_t)plane, grid + point * (int64_t)job.rank),
                      3e-4);
    }
    end(&fixture);
}

Test(picked_elements, grid_sample)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_grid_sample();
    }
}

/* ------------------------------------------------------------------ TopK */

/* Whether element `a` of a line stands before element `b`: NaN is the largest number, of equal ones the first one comes first. */
static bool stands_before(double a, double b, int64_t a_index, int64_t b_index, bool largest)
{
    if (isnan(a) || isnan(b)) {
        return isnan(a) && isnan(b) ? a_index < b_index : isnan(a) == largest;
    }
    return a == b ? a_index < b_index : largest ? a > b : a < b;
}

static void check_top_k(void)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT16, MDF_DTYPE_INT32, MDF_DTYPE_UINT8};
    int64_t shape[3] = {pick(1, 3), pick(0, 3) == 0 ? pick(200, 900) : pick(1, 60), pick(0, 2) == 0 ? pick(2, 4) : 1}, one = 1;
    int64_t k = pick(0, 2) == 0 ? pick(0, shape[1]) : pick(0, shape[1] < 40 ? shape[1] : 40), range = pick(0, 1) == 0 ? 9 : 1000;
    mdf_dtype dtype = dtypes[pick(0, 4)];
    struct fixture fixture;
    float *x;

    begin(&fixture, "TopK", 11);
    fixture.call.n_outputs = 2;
    *(int64_t *)field(&fixture, "axis") = 1;
    *(int64_t *)field(&fixture, "largest") = pick(0, 1);
    x = add_input(&fixture, 3, shape, false);
    for (size_t i = 0; i < fixture.inputs[0].length; i++) {
        int64_t special = mdf_dtype_kind(dtype) == 'f' ? pick(0, 60) : 60;

        x[i] = special == 0   ? NAN
               : special == 1 ? -0.0f
               : special == 2 ? INFINITY
                              : (float)pick(dtype == MDF_DTYPE_UINT8 ? 0 : -range, range);
    }
    convert_input(&fixture, 0, dtype);
    add_input(&fixture, 1, &one, true)[0] = (float)k;
    convert_input(&fixture, 1, MDF_DTYPE_INT64);
    run(&fixture);
    for (int64_t i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
        int64_t outer = i / shape[2] / shape[1], index = i / shape[2] % shape[1], column = i % shape[2], rank = 0;
        double element = element_of(&fixture.inputs[0], (size_t)i);

        for (int64_t other = 0; other < shape[1]; other++) {
            rank += stands_before(element_of(&fixture.inputs[0], (size_t)((outer * shape[1] + other) * shape[2] + column)),
                                  element, other, index, *(int64_t *)field(&fixture, "largest") != 0);
        }
        if (rank < k) {
            size_t at = (size_t)((outer * k + rank) * shape[2] + column);

            cr_assert(((const int64_t *)fixture.second.data)[at] == index);
            check_element(&fixture, at, element, 0);
        }
    }
    end(&fixture);
}

Test(picked_elements, top_k)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_top_k();
    }
}
