/* grid_sample.c - arrays read at points of a grid: GridSample; such grids made from affine matrices: AffineGrid.
 *
 * GridSample. Comes in: X [batch, channel, axes...], a grid of points [batch, axes..., coordinates], -1 to 1 over each axis, the
 * last axis first. Goes out: X at the points: the nearest element, or interpolated. Coordinates are worked out in float64.
 * Nearest ones are moved as they are, whatever the type; interpolated in float64 for float64 and integers, else in float32,
 * complex numbers by parts. Source: ONNX GridSample 16 to 22, AffineGrid 20. */
#include "functions/image/grid_taps.h"
#include "functions/moves/indexing.h"

#include "functions/kernel/derivatives.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "mdf_c/base/processor.h"

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

/* A point that is interpolated from more neighbours can not be meant. */
enum { MAX_CHOICES = 1 << 20, MAX_TAPS = 4, MAX_AXES = 20 /* so that 2 taps an axis give no more choices */ };
enum { BLOCK_CHOICES = 1024 };

/* The neighbours of some points: those of point i lie at i, n_points + i, ... What does not count has weight 0 and offset 0. */
struct neighbours {
    size_t n_points;
    int64_t offsets[BLOCK_CHOICES]; /* in elements of a plane */
    double weights[BLOCK_CHOICES];
};

enum { CHANNELS_PER_LOOK = 1 << 10 };

/* In front of the sizes, in C source. */
enum { N_NUMBERS = 10 };

/* Rough time of one neighbour, to judge what is worth a thread. */
static const double tap_ns = 0.4;

/* ------------------------------------------------------------------ neighbours */

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define INLINE static ALWAYS_INLINE
#include "functions/image/grid_places_routine.inc"

/* Adds to the `n_choices` neighbours of each point those that it has along one axis more. */
static void combine_axis(struct neighbours *neighbours, size_t n_choices, size_t n_taps, const int64_t *offsets,
                         const double *weights)
{
    size_t n = neighbours->n_points;

    for (size_t tap = n_taps; tap-- > 0;) { /* the first one last, in place of what is combined */
        for (size_t choice = 0; choice < n_choices; choice++) {
            size_t from = choice * n, to = (tap * n_choices + choice) * n;

            for (size_t i = 0; i < n; i++) {
                neighbours->offsets[to + i] = neighbours->offsets[from + i] + offsets[tap * n + i];
                neighbours->weights[to + i] = neighbours->weights[from + i] * weights[tap * n + i];
            }
        }
    }
}

/* The neighbours of the points from `point` on, counted over all batches. n_points * n_choices <= BLOCK_CHOICES. */
static void find_neighbours(const struct mdf_grid_sampling *job, size_t point, size_t n_points, struct neighbours *neighbours)
{
    int64_t offsets[MAX_TAPS * MDF_GRID_POINTS], stride = 1;
    double weights[MAX_TAPS * MDF_GRID_POINTS];
    size_t n_choices = 1;

    neighbours->n_points = n_points;
    for (size_t i = 0; i < n_points; i++) {
        neighbours->offsets[i] = 0;
        neighbours->weights[i] = 1;
    }
    for (size_t axis = job->rank; axis-- > 0; stride *= job->sizes[axis], n_choices *= job->n_taps) {
        job->find_taps(job, axis, stride, point, n_points, offsets, weights);
        combine_axis(neighbours, n_choices, job->n_taps, offsets, weights);
    }
}

/* Points [at, at + *n), before `last`, lie in one batch and are few enough to be worked on at once. Returns the number of the
 * first one in its batch. */
static size_t next_block(const struct mdf_grid_sampling *job, size_t at, size_t last, size_t *n)
{
    size_t n_block = BLOCK_CHOICES / job->n_choices < MDF_GRID_POINTS ? BLOCK_CHOICES / job->n_choices : MDF_GRID_POINTS;
    size_t point = at % job->n_points;

    *n = job->n_points - point < n_block ? job->n_points - point : n_block;
    *n = last - at < *n ? last - at : *n;
    return point;
}

#define TEMPLATE "functions/image/grid_sample.inc"
#include "functions/kernel/of_reals.inc"

#define TEMPLATE "functions/image/grid_pick.inc"
#include "functions/kernel/of_words.inc"

/* ------------------------------------------------------------------ GridSample */

static bool read_settings(struct mdf_call *call, struct mdf_grid_sampling *job)
{
    static const struct {
        const char *name;
        size_t n_taps;
    } modes[] = {{"nearest", 1}, {"linear", 2}, {"bilinear", 2}, {"cubic", 4}, {"bicubic", 4}};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    const struct grid_settings *settings = call->settings;

    for (size_t i = 0; i < sizeof modes / sizeof *modes && job->n_taps == 0; i++) {
        job->n_taps = strcmp(modes[i].name, settings->mode) == 0 ? modes[i].n_taps : 0;
    }
    if (job->n_taps == 0) {
        return mdf_call_error(call, MDF_VALUE, "there is no mode '%.100s'", settings->mode);
    }
    job->align_corners = settings->align_corners != 0;
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        if (strcmp(paddings[i], settings->padding_mode) == 0) {
            job->padding = (enum mdf_grid_padding)i;
            return true;
        }
    }
    return mdf_call_error(call, MDF_VALUE, "there is no padding_mode '%.100s'", settings->padding_mode);
}

/* Sizes, and the shape of the result: X's first two axes, then the grid's. */
static bool plan(struct mdf_workspace *workspace, const struct mdf_value *x, const struct mdf_value *grid,
                 struct mdf_grid_sampling *job, int64_t **shape)
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

/* Strings, which have owners, one by one. */
static bool move_strings(struct mdf_call *call, const char *const *x, const struct mdf_grid_sampling *job, char **y)
{
    struct neighbours found;
    size_t n_all = job->n_batches * job->n_points, n;

    for (size_t at = 0; at < n_all; at += n) {
        size_t point = next_block(job, at, n_all, &n), batch = at / job->n_points;

        find_neighbours(job, at, n, &found);
        for (size_t i = 0; i < job->n_channels * n; i++) {
            size_t plane = batch * job->n_channels + i / n;
            char **to = y + plane * job->n_points + point + i % n;
            const char *const *from = x + plane * job->n_plane + (size_t)found.offsets[i % n];

            if (!mdf_elements_fill(call, MDF_DTYPE_STRING, to, 1, found.weights[i % n] > 0 ? from : NULL)) {
                return false;
            }
        }
    }
    return true;
}

typedef void (*sampler)(void *context, size_t first, size_t last);

/* What moves the nearest elements of a type, as pieces of a size that there is a kernel for. */
static sampler choose_picker(mdf_dtype dtype, struct mdf_grid_sampling *job)
{
    size_t size_bytes = mdf_dtype_size(dtype);

    job->n_parts = size_bytes > 8 ? size_bytes / 8 : 1;
    return size_bytes == 1 ? pick_points_1 : size_bytes == 2 ? pick_points_2 : size_bytes == 4 ? pick_points_4 : pick_points_8;
}

static sampler choose_sampler(mdf_dtype dtype, struct mdf_grid_sampling *job, char kind)
{
    job->n_parts = kind == 'c' ? 2 : 1;
    if (dtype == MDF_DTYPE_FLOAT32) {
        return job->n_choices <= BLOCK_CHOICES ? sample_points_float32 : sample_points_one_by_one_float32;
    }
    return job->n_choices <= BLOCK_CHOICES ? sample_points_float64 : sample_points_one_by_one_float64;
}

static bool sample(struct mdf_workspace *workspace, const struct mdf_value *x, const int64_t *shape,
                   struct mdf_grid_sampling *job)
{
    mdf_dtype dtype = (mdf_dtype)x->dtype;
    char kind = mdf_dtype_kind(dtype);
    bool in_place = job->n_taps == 1 || kind == 'c';
    sampler work;

    if (kind == 's' && job->n_taps > 1) {
        return mdf_call_error(workspace->call, MDF_TYPE, "strings can not be interpolated");
    }
    workspace->dtype = dtype == MDF_DTYPE_COMPLEX64                ? MDF_DTYPE_FLOAT32
                       : kind == 'f' && dtype != MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT32
                                                                   : MDF_DTYPE_FLOAT64;
    job->x = in_place ? x->data : mdf_workspace_input(workspace, 0);
    job->y = in_place ? mdf_call_output(workspace->call, 0, dtype, x->rank, shape)
                      : mdf_workspace_output(workspace, 0, dtype, x->rank, shape);
    if (job->y == NULL || (job->x == NULL && x->length > 0)) {
        return false;
    }
    if (mdf_call_target(workspace->call, 0)->length == 0) {
        return true;
    }
    if (job->n_plane == 0) {
        return mdf_call_error(workspace->call, MDF_SHAPE, "X has no elements to sample");
    }
    if (kind == 's') {
        return move_strings(workspace->call, job->x, job, job->y);
    }
    work = job->n_taps == 1 ? choose_picker(dtype, job) : choose_sampler(workspace->dtype, job, kind);
    mdf_parallel_for(workspace->call->context, job->n_batches * job->n_points,
                     tap_ns * (double)job->n_choices * (double)(job->n_channels + 2), work, job);
    return mdf_workspace_end(workspace);
}

static bool grid_sample(struct mdf_call *call)
{
    const struct mdf_value *x = mdf_call_tensor(call, 0), *grid = x != NULL ? mdf_call_tensor(call, 1) : NULL;
    struct mdf_grid_sampling job = {.context = call->context, .find_taps = MDF_WIDEST(mdf_grid_taps)};
    struct mdf_workspace workspace;
    int64_t *shape;

    if (grid == NULL || !read_settings(call, &job) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 4) ||
        !plan(&workspace, x, grid, &job, &shape)) {
        return false;
    }
    job.grid = mdf_workspace_input(&workspace, 1);
    return job.grid != NULL && sample(&workspace, x, shape, &job);
}

/* ------------------------------------------------------------------ AffineGrid */

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

/* Row number `row` of the grid, of places that differ in the last axis alone, where they are `across`. A place is the matrix's
 * product with the point, x first, added up in the order x, y, z. */
static void write_places(const struct mdf_call *call, const double *matrices, const int64_t *shape, size_t rank, size_t row,
                         const double *across, double *grid)
{
    const struct grid_settings *settings = call->settings;
    size_t width = (size_t)shape[rank], left = row;
    double point[3] = {0, 0, 0};

    for (size_t i = 1; i < rank; i++) {
        size_t size = (size_t)shape[rank - i];

        point[i] = mdf_grid_spread((int64_t)(left % size), (int64_t)size, settings->align_corners != 0);
        left /= size;
    }
    for (size_t i = 0; i < rank; i++) {
        const double *m = matrices + (left * rank + i) * (rank + 1);
        double down = m[1] * point[1], deep = rank > 2 ? m[2] * point[2] : 0;

        for (size_t x = 0; x < width; x++) {
            double place = m[rank] + m[0] * across[x] + down;

            grid[(row * width + x) * rank + i] = rank > 2 ? place + deep : place;
        }
    }
}

static bool affine_grid(struct mdf_call *call)
{
    const struct grid_settings *settings = call->settings;
    const struct mdf_value *theta = mdf_call_tensor(call, 0);
    struct mdf_workspace workspace;
    const double *matrices;
    size_t rank = 0;
    int64_t shape[5];
    double *grid, *across;

    if (theta == NULL || !plan_affine(call, theta, shape, &rank) ||
        !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 3)) {
        return false;
    }
    matrices = mdf_workspace_input(&workspace, 0);
    grid = matrices == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)theta->dtype, rank + 2, shape);
    across = grid == NULL ? NULL : mdf_workspace_array(&workspace, MDF_DTYPE_FLOAT64, (size_t)shape[rank]);
    if (across == NULL) {
        return false;
    }
    for (int64_t x = 0; x < shape[rank]; x++) {
        across[x] = mdf_grid_spread(x, shape[rank], settings->align_corners != 0);
    }
    for (size_t row = 0; shape[rank] > 0 && row < mdf_axes_product(shape, 0, rank); row++) {
        write_places(call, matrices, shape, rank, row, across, grid);
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ as plain C: grid_sample_routine.inc */

static void write_sampling(const struct mdf_grid_sampling *job, bool is_float32, int64_t *whole)
{
    const int64_t numbers[N_NUMBERS] = {(int64_t)job->n_batches,
                                        (int64_t)job->n_channels,
                                        (int64_t)job->n_points,
                                        (int64_t)job->n_plane,
                                        (int64_t)job->rank,
                                        (int64_t)job->n_taps,
                                        job->padding,
                                        job->align_corners,
                                        is_float32,
                                        (int64_t)job->n_choices};

    memcpy(whole, numbers, sizeof numbers);
    memcpy(whole + N_NUMBERS, job->sizes, job->rank * sizeof *whole);
}

static bool plan_sampling(struct mdf_call *call, struct mdf_routine_plan *routine)
{
    const struct mdf_value *x = call->inputs[0], *grid = call->inputs[1];
    bool is_float32 = grid->dtype == MDF_DTYPE_FLOAT32;
    struct mdf_grid_sampling job = {0};
    struct mdf_workspace workspace;
    int64_t *shape;

    routine->dtype = (mdf_dtype)x->dtype;
    if ((!is_float32 && grid->dtype != MDF_DTYPE_FLOAT64) || !read_settings(call, &job) ||
        (job.n_taps > 1 && !mdf_dtype_is_real(routine->dtype)) || !mdf_workspace_begin(&workspace, call, MDF_DTYPE_FLOAT64, 4) ||
        !plan(&workspace, x, grid, &job, &shape) || job.n_plane == 0 || job.n_choices > BLOCK_CHOICES ||
        !mdf_routine_room(routine, N_NUMBERS + job.rank, 0)) {
        return false;
    }
    routine->function = job.n_taps == 1 ? "grid_pick" : "grid_sample";
    routine->work_bytes = job.n_choices * (sizeof(int64_t) + sizeof(double));
    write_sampling(&job, is_float32, routine->whole);
    return true;
}

static bool plan_affine_grid(struct mdf_call *call, struct mdf_routine_plan *routine)
{
    const struct grid_settings *settings = call->settings;
    size_t rank = 0;
    int64_t shape[5];

    routine->dtype = (mdf_dtype)call->inputs[0]->dtype;
    if (!mdf_call_is_constant(call, 1) || !mdf_dtype_is_real(routine->dtype) ||
        !plan_affine(call, call->inputs[0], shape, &rank) || !mdf_routine_room(routine, 3 + rank, 0)) {
        return false;
    }
    routine->function = "affine_grid";
    routine->whole[0] = (int64_t)mdf_axes_product(shape, 0, rank + 1);
    routine->whole[1] = (int64_t)rank;
    routine->whole[2] = settings->align_corners != 0;
    memcpy(routine->whole + 3, shape + 1, rank * sizeof *shape);
    return true;
}

/* Where a point lies along an axis of `size` elements, number `i` of its coordinates; what pads moves it. */
#define PLACE(name, i, size)                                                                                                     \
    {name "_given",                                                                                                              \
     "(points[..., " i "] + 1) / 2 * (" size " - 1) if align_corners else ((points[..., " i "] + 1) * " size " - 1) / 2", NULL}, \
        {name "_low", "0.0 if align_corners else -0.5", NULL},                                                                   \
        {name "_range", "numpy.maximum(" size " - 1.0 if align_corners else 1.0 * " size ", 1.0)", NULL},                        \
        {name "_turns", "numpy.floor(numpy.abs(" name "_given - " name "_low) / " name "_range)", NULL},                         \
        {name "_rest", "numpy.abs(" name "_given - " name "_low) - " name "_turns * " name "_range", NULL},                      \
        {name "_turned", name "_low + numpy.where(" name "_turns % 2 == 0, " name "_rest, " name "_range - " name "_rest)",      \
         NULL},                                                                                                                  \
        {name,                                                                                                                   \
         "numpy.clip(" name "_given, 0.0, " size " - 1.0) if padding_mode == 'border' else numpy.clip(" name                     \
         "_turned, 0.0, " size " - 1.0) if padding_mode == 'reflection' else " name "_given",                                    \
         NULL},                                                                                                                  \
        {name "0", "numpy.rint(" name ") if mode == 'nearest' else numpy.floor(" name ")", NULL},                                \
        {name "1", name "0 + 1", NULL},                                                                                          \
    {                                                                                                                            \
        name "_part", name "0 * 0.0 if mode == 'nearest' else " name " - " name "0", NULL                                        \
    }
#define IS_IN(name, size) "(" name " >= 0) & (" name " <= " size " - 1)"
/* One of the neighbours of a point, times its weight. */
#define TAP(i, j, k)                                                                                                       \
    "gradient.take(planes, numpy.where(numpy.expand_dims(" IS_IN("z" i, "depth") " & " IS_IN("y" j, "height") " & " IS_IN( \
        "x" k, "width") ", 1), first + numpy.astype(numpy.expand_dims((z" i " * height + y" j ") * width + x" k            \
                        ", 1), 'int64'), 0)) * numpy.expand_dims(" WEIGHT("z", i) " * " WEIGHT("y", j) " * " WEIGHT("x",   \
                                                                                                                    k) ", 1)"
#define WEIGHT(name, i) "(" name "_part * " i " + (1 - " name "_part) * (1 - " i "))"

const struct mdf_operator mdf_operators_grid_sample[] = {
    {"GridSample", 16, 99, grid_sample, grid_table, sizeof(struct grid_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_grid_sample, .routine = MDF_ROUTINE(plan_sampling, NULL),
     .meaning = MDF_MEANING(
         "result", NULL, {"wanted", "y.shape", NULL},
         {"checked", "gradient.refuse('a cubic sample') if mode == 'cubic' or mode == 'bicubic' else x0", NULL},
         {"planes",
          "checked if x0.ndim == 5 else numpy.expand_dims(checked, 2) if x0.ndim == 4 else gradient.refuse('a sample of this "
          "rank')",
          NULL},
         {"points", "x1 if x0.ndim == 5 else numpy.expand_dims(numpy.append(x1, numpy.zeros_like(x1[..., :1]), -1), 1)", NULL},
         {"depth", "planes.shape[2]", NULL}, {"height", "planes.shape[3]", NULL}, {"width", "planes.shape[4]", NULL},
         PLACE("x", "0", "width"), PLACE("y", "1", "height"), PLACE("z", "2", "depth"),
         {"first",
          "1 + depth * height * width * numpy.reshape(numpy.arange(planes.shape[0] * planes.shape[1]), [planes.shape[0], "
          "planes.shape[1], 1, 1, 1])",
          NULL},
         {"result",
          "numpy.reshape(" TAP("0", "0", "0") " + " TAP("0", "0", "1") " + " TAP("0", "1", "0") " + " TAP(
              "0", "1", "1") " + " TAP("1", "0", "0") " + " TAP("1", "0", "1") " + " TAP("1", "1",
                                                                                         "0") " + " TAP("1", "1",
                                                                                                        "1") ", wanted)",
          NULL})},
    {"AffineGrid", 20, 99, affine_grid, grid_table, sizeof(struct grid_settings), MDF_OPERATOR_PURE, NULL,
     .infer = &mdf_rule_affine_grid, .routine = MDF_ROUTINE(plan_affine_grid, NULL),
     .meaning = MDF_MEANING(
         "result", NULL, {"n", "x0.shape[1]", NULL}, {"plain", "self(numpy.zeros_like(x0) + numpy.eye(n, n + 1), x1)", NULL},
         {"rows", "numpy.reshape(plain, [x0.shape[0], plain.size // (x0.shape[0] * n), n])", NULL},
         {"result",
          "numpy.reshape(numpy.matmul(rows, gradient.turn(x0[:, :, :-1], True)) + numpy.expand_dims(x0[:, :, -1], 1), y.shape)",
          NULL})},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
