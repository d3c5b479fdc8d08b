/* grid_sample.c - arrays read at points of a grid: GridSample; such grids made from affine matrices: AffineGrid.
 *
 * GridSample. Comes in: X [batch, channel, axes...], a grid of points [batch, axes..., coordinates], -1 to 1 over each axis, the
 * last axis first. Goes out: X at the points: the nearest element, or interpolated. Coordinates are worked out in float64.
 * Nearest ones are moved as they are, whatever the type; interpolated in float64 for float64 and integers, else in float32,
 * complex numbers by parts. Source: ONNX GridSample 16 to 22, AffineGrid 20. */
#include "functions/indexing.h"
#include "functions/workspace.h"

#include <math.h>
#include <string.h>

struct grid_settings {
    const char *mode, *padding_mode;
    int64_t align_corners;
};

static const struct mdf_setting grid_table[] = {
    {"mode", MDF_SETTING_STRING, offsetof(struct grid_settings, mode)},
    {"padding_mode", MDF_SETTING_STRING, offsetof(struct grid_settings, padding_mode)},
    {"align_corners", MDF_SETTING_INT, offsetof(struct grid_settings, align_corners)},
    {NULL, MDF_SETTING_INT, 0}};

enum padding { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

/* A point that is interpolated from more neighbours can not be meant. */
enum { MAX_CHOICES = 1 << 20, OUTSIDE = -1, BLOCK_CHOICES = 256 };

struct sampling {
    const void *x;
    void *y;
    size_t rank, n_batches, n_channels, n_plane, n_points, n_parts; /* n_parts: 2 of complex numbers */
    size_t n_taps, n_choices;                                       /* neighbours along an axis; in all */
    const int64_t *sizes;                                           /* of the axes of X */
    int64_t *offsets;                                               /* [point, axis, tap] in elements of a plane, or OUTSIDE */
    double *weights;                                                /* the same */
    enum padding padding;
    bool align_corners;
};

/* Rough time of one neighbour, to judge what is worth a thread. */
static const double tap_ns = 1;

/* Offset and weight of neighbour number `choice`; false where it does not count. */
static bool combine(const struct sampling *job, const int64_t *offsets, const double *weights, size_t choice, int64_t *offset,
                    double *weight)
{
    *offset = 0;
    *weight = 1;
    for (size_t axis = 0; axis < job->rank; axis++, choice /= job->n_taps) {
        size_t tap = axis * job->n_taps + choice % job->n_taps;

        if (offsets[tap] == OUTSIDE || weights[tap] == 0) {
            return false;
        }
        *offset += offsets[tap];
        *weight *= weights[tap];
    }
    return true;
}

/* A neighbour that counts. */
struct chosen {
    int64_t offset;
    double weight;
};

/* The neighbours of point `at` that count, up to n_choices, those that combine() gives, in its order; behind them, if there are
 * fewer, such that are OUTSIDE. */
static void choose(const struct sampling *job, size_t at, struct chosen *chosen)
{
    const int64_t *offsets = job->offsets + at * job->rank * job->n_taps;
    const double *weights = job->weights + at * job->rank * job->n_taps;
    struct chosen before[BLOCK_CHOICES];
    size_t n = 1, n_before;

    chosen[0] = (struct chosen){0, 1};
    for (size_t axis = 0; axis < job->rank; axis++, offsets += job->n_taps, weights += job->n_taps) {
        for (n_before = 0; n_before < n; n_before++) {
            before[n_before] = chosen[n_before];
        }
        n = 0;
        for (size_t tap = 0; tap < job->n_taps; tap++) {
            for (size_t i = 0; i < n_before && offsets[tap] != OUTSIDE && weights[tap] != 0; i++) {
                chosen[n++] = (struct chosen){before[i].offset + offsets[tap], before[i].weight * weights[tap]};
            }
        }
    }
    for (; n < job->n_choices; n++) {
        chosen[n].offset = OUTSIDE;
    }
}

#define ELEMENT float
#define NAME(x) x##_float32
#include "functions/onnx/grid_sample.inc"
#define ELEMENT double
#define NAME(x) x##_float64
#include "functions/onnx/grid_sample.inc"

/* ------------------------------------------------------------------ neighbours */

/* Into [low, high], mirrored at the ends as often as needed. */
static double reflect(double x, double low, double high)
{
    double range = high - low, rest;

    if (x >= low && x <= high) {
        return x;
    }
    rest = range > 0 ? fmod(fabs(x - low), 2 * range) : 0;
    return isfinite(rest) ? low + (rest > range ? 2 * range - rest : rest) : low;
}

/* Where a coordinate lies on an axis of `size` elements, brought inside as the padding says. */
static double place_of(const struct sampling *job, double coordinate, double size)
{
    double low = job->align_corners ? 0 : -0.5, high = job->align_corners ? size - 1 : size - 0.5;
    double x = job->align_corners ? (coordinate + 1) / 2 * (size - 1) : ((coordinate + 1) * size - 1) / 2;

    x = job->n_taps == 1 ? rint(x) : x;
    if (!(x >= low && x <= high)) {
        x = job->padding == PAD_BORDER ? (x > 0 ? size - 1 : 0) : job->padding == PAD_REFLECTION ? reflect(x, low, high) : x;
    }
    return x > -4 ? (x < size + 4 ? x : size + 4) : -4; /* further out is no different; NaN too */
}

/* Number of the element at a whole place, or OUTSIDE. */
static int64_t element_at(const struct sampling *job, double place, int64_t size)
{
    double low = job->align_corners ? 0 : -0.5, high = job->align_corners ? (double)size - 1 : (double)size - 0.5;

    if (job->padding == PAD_REFLECTION) {
        place = rint(reflect(place, low, high));
    }
    if (job->padding == PAD_ZEROS && !(place >= 0 && place < (double)size)) {
        return OUTSIDE;
    }
    return place < 0 ? 0 : place > (double)(size - 1) ? size - 1 : (int64_t)place;
}

static void weigh(size_t n_taps, double fraction, double *weights)
{
    const double a = -0.75; /* the standard's */
    double distances[4] = {1 + fraction, fraction, 1 - fraction, 2 - fraction};

    if (n_taps == 1) {
        weights[0] = 1;
    } else if (n_taps == 2) {
        weights[0] = 1 - fraction;
        weights[1] = fraction;
    }
    for (size_t i = 0; n_taps == 4 && i < 4; i++) {
        double d = distances[i];

        weights[i] = i == 1 || i == 2 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

/* The neighbours of all points, counted by batch. */
static void find_neighbours(struct sampling *job, const double *grid)
{
    for (size_t at = 0; at < job->n_batches * job->n_points; at++) {
        int64_t stride = 1;

        for (size_t axis = job->rank; axis-- > 0; stride *= job->sizes[axis]) {
            double place = place_of(job, grid[at * job->rank + job->rank - 1 - axis], (double)job->sizes[axis]);
            double first = floor(place) - (job->n_taps == 4 ? 1 : 0);
            size_t start = (at * job->rank + axis) * job->n_taps;

            weigh(job->n_taps, place - floor(place), job->weights + start);
            for (size_t tap = 0; tap < job->n_taps; tap++) {
                int64_t element = element_at(job, first + (double)tap, job->sizes[axis]);

                job->offsets[start + tap] = element == OUTSIDE ? OUTSIDE : element * stride;
            }
        }
    }
}

/* ------------------------------------------------------------------ GridSample */

static bool read_settings(struct mdf_call *call, struct sampling *job)
{
    static const struct {
        const char *name;
        size_t n_taps;
    } modes[] = {{"nearest", 1}, {"linear", 2}, {"bilinear", 2}, {"cubic", 4}, {"bicubic", 4}};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    const struct grid_settings *settings = call->settings;
    size_t i;

    for (i = 0; i < sizeof modes / sizeof *modes && job->n_taps == 0; i++) {
        job->n_taps = strcmp(modes[i].name, settings->mode) == 0 ? modes[i].n_taps : 0;
    }
    if (job->n_taps == 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no mode '%.100s'", settings->mode);
    }
    job->align_corners = settings->align_corners != 0;
    for (i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        if (strcmp(paddings[i], settings->padding_mode) == 0) {
            job->padding = (enum padding)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no padding_mode '%.100s'", settings->padding_mode);
}

/* Sizes, and the shape of the result: X's first two axes, then the grid's. */
static bool plan(struct mdf_workspace *workspace, const struct mdf_value *x, const struct mdf_value *grid, struct sampling *job,
                 int64_t **shape)
{
    struct mdf_call *call = workspace->call;
    char x_text[128], text[128];

    *shape = mdf_workspace_array(workspace, MDF_DTYPE_INT64, x->rank);
    if (*shape == NULL) {
        return false;
    }
    job->rank = x->rank > 2 ? x->rank - 2 : 0;
    if (job->rank == 0 || grid->rank != x->rank || mdf_value_shape(grid)[0] != mdf_value_shape(x)[0] ||
        mdf_value_shape(grid)[grid->rank - 1] != (int64_t)job->rank) {
        mdf_value_describe(x, x_text, sizeof x_text);
        mdf_value_describe(grid, text, sizeof text);
        return mdf_call_error(call, MDF_SHAPE, "a grid %s does not fit X, %s", text, x_text);
    }
    memcpy(*shape, mdf_value_shape(x), 2 * sizeof **shape);
    memcpy(*shape + 2, mdf_value_shape(grid) + 1, job->rank * sizeof **shape);
    job->sizes = mdf_value_shape(x) + 2;
    job->n_batches = (size_t)(*shape)[0];
    job->n_channels = (size_t)(*shape)[1];
    job->n_choices = 1;
    for (size_t axis = 0; axis < job->rank; axis++) {
        job->n_choices *= job->n_taps;
        if (job->n_choices > MAX_CHOICES) {
            return mdf_call_error(call, MDF_LIMIT, "%zu axes are too many to interpolate along", job->rank);
        }
    }
    return mdf_workspace_product(call, job->sizes, 0, job->rank, &job->n_plane) &&
           mdf_workspace_product(call, *shape, 2, x->rank, &job->n_points);
}

/* Each element of the result is one of X, or zero. */
static bool move_nearest(struct mdf_call *call, const struct mdf_value *x, const struct sampling *job, void *target)
{
    mdf_dtype dtype = (mdf_dtype)x->dtype;

    for (size_t i = 0; i < job->n_batches * job->n_channels * job->n_points; i++) {
        size_t plane = i / job->n_points, at = plane / job->n_channels * job->n_points + i % job->n_points;
        void *to = mdf_element_to_write(dtype, target, i);
        int64_t offset;
        double weight;

        if (combine(job, job->offsets + at * job->rank, job->weights + at * job->rank, 0, &offset, &weight)) {
            mdf_elements_copy(call, dtype, to, mdf_element_at(dtype, x->data, plane * job->n_plane + (size_t)offset), 1);
        } else if (!mdf_elements_fill(call, dtype, to, 1, NULL)) {
            return false;
        }
    }
    return true;
}

static bool sample(struct mdf_workspace *workspace, const struct mdf_value *x, const int64_t *shape, struct sampling *job)
{
    char kind = mdf_dtype_kind((mdf_dtype)x->dtype);
    bool in_place = job->n_taps == 1 || kind == 'c';
    void (*work)(void *context, size_t first, size_t last);

    if (kind == 's' && job->n_taps > 1) {
        return mdf_call_error(workspace->call, MDF_TYPE, "strings can not be interpolated");
    }
    workspace->dtype = x->dtype == MDF_DTYPE_COMPLEX64                ? MDF_DTYPE_FLOAT32
                       : kind == 'f' && x->dtype != MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT32
                                                                      : MDF_DTYPE_FLOAT64;
    job->n_parts = kind == 'c' ? 2 : 1;
    job->x = in_place ? x->data : mdf_workspace_input(workspace, 0);
    job->y = in_place ? mdf_call_output(workspace->call, 0, (mdf_dtype)x->dtype, x->rank, shape)
                      : mdf_workspace_output(workspace, 0, (mdf_dtype)x->dtype, x->rank, shape);
    if (job->y == NULL || (job->x == NULL && x->length > 0)) {
        return false;
    }
    if (mdf_call_target(workspace->call, 0)->length == 0) {
        return true;
    }
    if (job->n_plane == 0) {
        return mdf_call_error(workspace->call, MDF_SHAPE, "X has no elements to sample");
    }
    if (job->n_taps == 1) {
        return move_nearest(workspace->call, x, job, job->y);
    }
    if (workspace->dtype == MDF_DTYPE_FLOAT32) {
        work = job->n_choices <= BLOCK_CHOICES ? sample_points_float32 : sample_points_one_by_one_float32;
    } else {
        work = job->n_choices <= BLOCK_CHOICES ? sample_points_float64 : sample_points_one_by_one_float64;
    }
    mdf_parallel_for(workspace->call->context, job->n_batches * job->n_points,
                     tap_ns * (double)job->n_choices * (double)(job->n_channels + 2), work, job);
    return mdf_workspace_end(workspace);
}

static bool grid_sample(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *grid = x != NULL ? mdf_call_tensor(call, 1) : NULL;
    struct mdf_workspace workspace;
    struct sampling job = {0};
    const double *coordinates;
    int64_t *shape;
    size_t n;

    if (grid == NULL || !read_settings(call, &job) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 6) ||
        !plan(&workspace, x, grid, &job, &shape)) {
        return false;
    }
    coordinates = mdf_workspace_input(&workspace, 1);
    n = grid->length; /* one number an axis of each point */
    job.offsets = mdf_workspace_matrix(&workspace, MDF_DTYPE_INT64, n, job.n_taps);
    job.weights = mdf_workspace_matrix(&workspace, MDF_DTYPE_FLOAT64, n, job.n_taps);
    if (coordinates == NULL || job.offsets == NULL || job.weights == NULL) {
        return false;
    }
    if (n > 0 && job.n_plane > 0) {
        find_neighbours(&job, coordinates);
    }
    return sample(&workspace, x, shape, &job);
}

/* ------------------------------------------------------------------ AffineGrid */

/* Place number `i` of `n` between -1 and 1: with `align_corners` the ends are places, else the ends of places. */
static double spread(size_t i, size_t n, bool align_corners)
{
    if (align_corners) {
        return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
    }
    return (2 * (double)i + 1) / (double)n - 1;
}

/* Batch sizes, and the sizes of the grid. */
static bool plan_affine(struct mdf_call *call, const struct mdf_value *theta, int64_t shape[5], size_t *rank)
{
    size_t n;
    const int64_t *sizes = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n);

    if (sizes == NULL) {
        return false;
    }
    if (n != 4 && n != 5) {
        return mdf_call_error(call, MDF_SHAPE, "size has %zu numbers, not 4 or 5", n);
    }
    *rank = n - 2;
    shape[0] = sizes[0];
    memcpy(shape + 1, sizes + 2, *rank * sizeof *shape);
    shape[n - 1] = (int64_t)*rank;
    return mdf_workspace_check_shape(call, "theta", theta, 3, (const int64_t[3]){shape[0], (int64_t)*rank, (int64_t)*rank + 1});
}

static bool affine_grid(struct mdf_call *call)
{
    const struct grid_settings *settings = call->settings;
    const struct mdf_value *theta = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    const double *matrices;
    size_t rank = 0, n_places;
    int64_t shape[5];
    double *grid;

    if (theta == NULL || !plan_affine(call, theta, shape, &rank) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 2)) {
        return false;
    }
    matrices = mdf_workspace_input(&workspace, 0);
    grid = matrices == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)theta->dtype, rank + 2, shape);
    if (grid == NULL) {
        return false;
    }
    n_places = mdf_axes_product(shape, 0, rank + 1);
    for (size_t place = 0; place < n_places; place++) {
        double point[3] = {0, 0, 0};
        size_t left = place;
        const double *row;

        for (size_t i = 0; i < rank; i++) { /* x is the last axis */
            size_t size = (size_t)shape[rank - i];

            point[i] = spread(left % size, size, settings->align_corners != 0);
            left /= size;
        }
        for (size_t i = 0; i < rank; i++) {
            row = matrices + (left * rank + i) * (rank + 1);
            grid[place * rank + i] = row[rank];
            for (size_t j = 0; j < rank; j++) {
                grid[place * rank + i] += row[j] * point[j];
            }
        }
    }
    return mdf_workspace_end(&workspace);
}

const struct mdf_operator mdf_operators_grid_sample[] = {
    {"GridSample", 16, 99, grid_sample, grid_table, sizeof(struct grid_settings), MDF_OPERATOR_PURE, NULL},
    {"AffineGrid", 20, 99, affine_grid, grid_table, sizeof(struct grid_settings), MDF_OPERATOR_PURE, NULL},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
