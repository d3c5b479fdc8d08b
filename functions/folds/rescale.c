/* rescale.c - arrays scaled by what is around each element: LpNormalization, LRN, MeanVarianceNormalization.
 *
 * Comes in: an array. Goes out: one of its shape, each element divided by the norm of its line, by a power of the squares in
 * neighbouring channels, or brought to mean 0 and variance 1 over the axes named. Computed in float64. Source: the ONNX
 * operators, all versions. */
#include "mdf_c/base/sizes.h"
#include "functions/elements/vectors/vector_rows.h"
#include "functions/kernel/routine.h"
#include "functions/kernel/workspace.h"
#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 2, power_ns = 50;

/* Makes output 0, of the shape and type of input 0; both are of `dtype` meanwhile. */
static bool prepare_as(struct mdf_workspace *workspace, struct mdf_call *call, mdf_dtype dtype, const void **x, void **y)
{
    const struct mdf_value *value = mdf_call_tensor(call, 0);

    if (value == NULL || !mdf_workspace_begin(workspace, call, dtype, 5)) {
        return false;
    }
    *x = mdf_workspace_input(workspace, 0);
    *y = *x == NULL ? NULL : mdf_workspace_output(workspace, 0, (mdf_dtype)value->dtype, value->rank, mdf_value_shape(value));
    return *y != NULL;
}

static bool prepare(struct mdf_workspace *workspace, struct mdf_call *call, const double **x, double **y)
{
    const void *from = NULL;
    void *to = NULL;
    bool is_done = prepare_as(workspace, call, MDF_DTYPE_FLOAT64, &from, &to);

    *x = from;
    *y = to;
    return is_done;
}

/* ------------------------------------------------------------------ LpNormalization */

struct norm_settings {
    int64_t axis, p;
};

static const struct mdf_setting norm_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct norm_settings, axis)},
                                                {"p", MDF_SETTING_INT, offsetof(struct norm_settings, p)},
                                                {NULL, MDF_SETTING_INT, 0}};

enum { LINES_AT_ONCE = 64 };

struct norm {
    const double *x;
    double *y;
    size_t n, inner; /* elements of a line; how far apart they lie, with as many lines side by side */
    size_t n_pieces; /* that lines side by side are taken in, LINES_AT_ONCE of them each */
    int64_t p;
};

/* What the elements of a line are divided by. A line of zeros stays as it is. */
static double divisor_of(const struct norm *job, double sum)
{
    double norm = job->p == 1 ? sum : sqrt(sum);

    return norm > 0 || isnan(norm) ? norm : INFINITY;
}

/* One line, of adjacent elements. */
static void divide_line(const struct norm *job, const double *x, double *y)
{
    double sum = 0, divisor;

    if (job->p == 2) {
        sum = mdf_vector_rows(MDF_DTYPE_FLOAT64)->sum_squares(job->n, x, 0);
    } else {
        for (size_t i = 0; i < job->n; i++) {
            sum += fabs(x[i]);
        }
    }
    divisor = divisor_of(job, sum);
    for (size_t i = 0; i < job->n; i++) {
        y[i] = x[i] / divisor;
    }
}

/* Some lines that lie side by side, row by row. */
static void divide_side_by_side(const struct norm *job, const double *x, double *y, size_t n_lines)
{
    double divisors[LINES_AT_ONCE] = {0};

    for (size_t i = 0; i < job->n; i++) {
        const double *row = x + i * job->inner;

        for (size_t line = 0; line < n_lines; line++) {
            divisors[line] += job->p == 1 ? fabs(row[line]) : row[line] * row[line];
        }
    }
    for (size_t line = 0; line < n_lines; line++) {
        divisors[line] = divisor_of(job, divisors[line]);
    }
    for (size_t i = 0; i < job->n; i++) {
        for (size_t line = 0; line < n_lines; line++) {
            y[i * job->inner + line] = x[i * job->inner + line] / divisors[line];
        }
    }
}

static void divide_pieces(void *context, size_t first, size_t last)
{
    const struct norm *job = context;

    for (size_t i = first; i < last; i++) {
        size_t column = i % job->n_pieces * LINES_AT_ONCE, left = job->inner - column;
        size_t start = i / job->n_pieces * job->n * job->inner + column;

        if (job->inner == 1) {
            divide_line(job, job->x + start, job->y + start);
        } else {
            divide_side_by_side(job, job->x + start, job->y + start, left < LINES_AT_ONCE ? left : LINES_AT_ONCE);
        }
    }
}

static bool lp_normalization(struct mdf_call *call)
{
    const struct norm_settings *settings = call->settings;
    struct norm job = {.p = settings->p, .inner = 1};
    struct mdf_workspace workspace;
    const struct mdf_value *x;
    size_t axis;

    if (!prepare(&workspace, call, &job.x, &job.y) || !mdf_call_axis(call, settings->axis, call->inputs[0]->rank, &axis)) {
        return false;
    }
    if (settings->p != 1 && settings->p != 2) {
        return mdf_call_error(call, MDF_VALUE, "p is %lld, not 1 or 2", (long long)settings->p);
    }
    x = call->inputs[0];
    if (x->length > 0) {
        job.n = (size_t)mdf_value_shape(x)[axis];
        for (size_t i = axis + 1; i < x->rank; i++) {
            job.inner *= (size_t)mdf_value_shape(x)[i];
        }
        job.n_pieces = (job.inner - 1) / LINES_AT_ONCE + 1;
        mdf_parallel_for(call->context, x->length / job.n / job.inner * job.n_pieces,
                         element_ns * (double)(job.n * job.inner) / (double)job.n_pieces, divide_pieces, &job);
    }
    return mdf_workspace_end(&workspace);
}

/* ------------------------------------------------------------------ LRN */

struct lrn_settings {
    double alpha, beta, bias;
    int64_t size;
};

static const struct mdf_setting lrn_table[] = {{"alpha", MDF_SETTING_FLOAT, offsetof(struct lrn_settings, alpha)},
                                               {"beta", MDF_SETTING_FLOAT, offsetof(struct lrn_settings, beta)},
                                               {"bias", MDF_SETTING_FLOAT, offsetof(struct lrn_settings, bias)},
                                               {"size", MDF_SETTING_INT, offsetof(struct lrn_settings, size)},
                                               {NULL, MDF_SETTING_INT, 0}};

struct lrn {
    const struct lrn_settings *settings;
    const double *x;
    double *y;
    size_t n_channels, inner;
};

/* Planes, each divided by the squares in the channels around its own. */
static void divide_planes(void *context, size_t first, size_t last)
{
    const struct lrn *job = context;
    const struct lrn_settings *settings = job->settings;
    size_t below = (size_t)(settings->size - 1) / 2, above = (size_t)settings->size / 2;

    for (size_t plane = first; plane < last; plane++) {
        size_t channel = plane % job->n_channels;
        size_t begin = channel < below ? 0 : channel - below;
        size_t end = above >= job->n_channels - channel ? job->n_channels : channel + above + 1;
        const double *x = job->x + (plane - channel) * job->inner;

        for (size_t i = 0; i < job->inner; i++) {
            double squares = 0;

            for (size_t near = begin; near < end; near++) {
                squares += x[near * job->inner + i] * x[near * job->inner + i];
            }
            job->y[plane * job->inner + i] =
                x[channel * job->inner + i] /
                pow(settings->bias + settings->alpha / (double)settings->size * squares, settings->beta);
        }
    }
}

static bool lrn(struct mdf_call *call)
{
    struct lrn job = {.settings = call->settings};
    struct mdf_workspace workspace;
    const struct mdf_value *x;

    if (!prepare(&workspace, call, &job.x, &job.y)) {
        return false;
    }
    x = call->inputs[0];
    if (x->rank < 2 || job.settings->size < 1) {
        return mdf_call_error(call, MDF_VALUE, "X has rank %u and size is %lld; at least 2 and 1 are needed", x->rank,
                              (long long)job.settings->size);
    }
    if (x->length > 0) {
        job.n_channels = (size_t)mdf_value_shape(x)[1];
        job.inner = x->length / job.n_channels / (size_t)mdf_value_shape(x)[0];
        mdf_parallel_for(call->context, x->length / job.inner, power_ns * (double)job.inner, divide_planes, &job);
    }
    return mdf_workspace_end(&workspace);
}

static bool plan_lrn(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct lrn_settings *settings = call->settings;
    const struct mdf_value *x = call->inputs[0];

    plan->dtype = (mdf_dtype)x->dtype;
    if (!mdf_dtype_is_real(plan->dtype) || x->length == 0 || x->rank < 2 || settings->size < 1 || !mdf_routine_room(plan, 4, 3)) {
        return false;
    }
    plan->function = "divide_by_near";
    plan->whole[0] = mdf_value_shape(x)[0];
    plan->whole[1] = mdf_value_shape(x)[1];
    plan->whole[2] = (int64_t)x->length / plan->whole[0] / plan->whole[1];
    plan->whole[3] = settings->size;
    plan->real[0] = settings->alpha;
    plan->real[1] = settings->beta;
    plan->real[2] = settings->bias;
    return true;
}

/* ------------------------------------------------------------------ MeanVarianceNormalization */

struct variance_settings {
    struct mdf_ints axes;
};

static const struct mdf_setting variance_table[] = {{"axes", MDF_SETTING_INTS, offsetof(struct variance_settings, axes)},
                                                    {NULL, MDF_SETTING_INT, 0}};

/* For each axis, how far apart in the table of groups two neighbours lie: 0 on the axes that statistics are taken over. */
static bool group_strides(struct mdf_call *call, const struct mdf_value *x, int64_t *strides, size_t *n_groups)
{
    const struct variance_settings *settings = call->settings;
    size_t axis;

    for (size_t i = 0; i < x->rank; i++) {
        strides[i] = 1;
    }
    for (size_t i = 0; i < settings->axes.n; i++) {
        if (!mdf_call_axis(call, settings->axes.items[i], x->rank, &axis)) {
            return false;
        }
        strides[axis] = 0;
    }
    *n_groups = 1;
    for (size_t i = x->rank; x->length > 0 && i-- > 0;) {
        if (strides[i] != 0) {
            strides[i] = (int64_t)*n_groups;
            *n_groups *= (size_t)mdf_value_shape(x)[i];
        }
    }
    return true;
}

static size_t group_of(const struct mdf_value *x, const int64_t *strides, size_t element)
{
    const int64_t *shape = mdf_value_shape(x);
    size_t group = 0;

    for (size_t i = x->rank; i-- > 0;) {
        group += element % (size_t)shape[i] * (size_t)strides[i];
        element /= (size_t)shape[i];
    }
    return group;
}

/* An array in rows, as long as the last axes are of one kind: a row belongs to one group, or its elements to one each, which
 * follow each other. */
struct grouped_rows {
    const struct mdf_value *shape;
    const int64_t *strides;
    size_t n, n_rows;
    bool is_shared; /* by a row: one group */
    double count;   /* elements of a group */
    mdf_dtype dtype; /* of x and y: float32 or float64, in which all is computed */
    const void *x;
    void *y;
    double *means, *variances;
};

enum { PIECE = 512 }; /* elements that are made float64 at once */

/* Elements of x as float64, in `room` where they are not. */
static const double *read_piece(const struct grouped_rows *job, size_t first, size_t n, double *room)
{
    const void *x = mdf_element_at(job->dtype, job->x, first);

    if (job->dtype == MDF_DTYPE_FLOAT64) {
        return x;
    }
    mdf_convert_elements(MDF_DTYPE_FLOAT64, room, job->dtype, x, n, false);
    return room;
}

static void find_rows(struct grouped_rows *job)
{
    size_t axis = job->shape->rank;

    job->n = 1;
    job->is_shared = axis > 0 && job->strides[axis - 1] == 0;
    while (axis > 0 && (job->strides[axis - 1] == 0) == job->is_shared) {
        job->n *= (size_t)mdf_value_shape(job->shape)[--axis];
    }
    job->n_rows = job->shape->length / job->n;
}

static void add_means(const struct grouped_rows *job)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->dtype);
    double room[PIECE];

    for (size_t row = 0; row < job->n_rows; row++) {
        double *means = job->means + group_of(job->shape, job->strides, row * job->n);

        if (job->is_shared) {
            means[0] += rows->sum(job->n, mdf_element_at(job->dtype, job->x, row * job->n)) / job->count;
        }
        for (size_t first = 0, n; first < job->n && !job->is_shared; first += n, means += n) {
            const double *x = read_piece(job, row * job->n + first, n = mdf_least(job->n - first, PIECE), room);

            for (size_t i = 0; i < n; i++) {
                means[i] += x[i] / job->count;
            }
        }
    }
}

static void add_variances(const struct grouped_rows *job)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->dtype);
    double room[PIECE];

    for (size_t row = 0; row < job->n_rows; row++) {
        size_t group = group_of(job->shape, job->strides, row * job->n);
        const double *means = job->means + group;
        double *variances = job->variances + group;

        if (job->is_shared) {
            variances[0] += rows->sum_squares(job->n, mdf_element_at(job->dtype, job->x, row * job->n), means[0]) / job->count;
        }
        for (size_t first = 0, n; first < job->n && !job->is_shared; first += n, means += n, variances += n) {
            const double *x = read_piece(job, row * job->n + first, n = mdf_least(job->n - first, PIECE), room);

            for (size_t i = 0; i < n; i++) {
                variances[i] += (x[i] - means[i]) * (x[i] - means[i]) / job->count;
            }
        }
    }
}

static void normalise_piece(const struct grouped_rows *job, const double *x, size_t n, const double *means,
                            const double *variances, double *y)
{
    const double epsilon = 1e-9; /* the standard's */

    if (job->is_shared) {
        mdf_vector_rows(MDF_DTYPE_FLOAT64)->normalise(n, x, means[0], 1 / (sqrt(variances[0]) + epsilon), 0, y);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        y[i] = (x[i] - means[i]) / (sqrt(variances[i]) + epsilon);
    }
}

static void normalise_rows(const struct grouped_rows *job)
{
    double room[PIECE], result[PIECE];

    for (size_t row = 0; row < job->n_rows; row++) {
        size_t group = group_of(job->shape, job->strides, row * job->n);

        for (size_t first = 0, n; first < job->n; first += n) {
            size_t place = row * job->n + first, at = group + (job->is_shared ? 0 : first);
            const double *x = read_piece(job, place, n = mdf_least(job->n - first, PIECE), room);

            normalise_piece(job, x, n, job->means + at, job->variances + at, result);
            mdf_convert_elements(job->dtype, mdf_element_to_write(job->dtype, job->y, place), MDF_DTYPE_FLOAT64, result, n,
                                 false);
        }
    }
}

static bool mean_variance_normalization(struct mdf_call *call)
{
    struct grouped_rows job = {0};
    struct mdf_workspace workspace;
    int64_t *strides;
    size_t n_groups;

    job.shape = mdf_call_tensor(call, 0);
    job.dtype = job.shape != NULL && job.shape->dtype == MDF_DTYPE_FLOAT32 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64;
    if (!prepare_as(&workspace, call, job.dtype, &job.x, &job.y)) {
        return false;
    }
    job.strides = strides = mdf_workspace_array(&workspace, MDF_DTYPE_INT64, job.shape->rank);
    if (strides == NULL || !group_strides(call, job.shape, strides, &n_groups)) {
        return false;
    }
    job.means = mdf_workspace_matrix(&workspace, MDF_DTYPE_FLOAT64, n_groups, 2);
    if (job.means == NULL) {
        return false;
    }
    if (job.shape->length == 0) {
        return mdf_workspace_end(&workspace);
    }
    job.variances = job.means + n_groups;
    job.count = (double)job.shape->length / (double)n_groups;
    for (size_t i = 0; i < 2 * n_groups; i++) {
        job.means[i] = 0;
    }
    find_rows(&job);
    add_means(&job);
    add_variances(&job);
    normalise_rows(&job);
    return mdf_workspace_end(&workspace);
}

static bool plan_groups(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct mdf_value *x = call->inputs[0];
    struct grouped_rows job = {.shape = x};
    size_t n_groups;

    plan->dtype = (mdf_dtype)x->dtype;
    if (!mdf_dtype_is_real(plan->dtype) || x->length == 0 || !mdf_routine_room(plan, 5 + 2 * (size_t)x->rank, 1) ||
        !group_strides(call, x, plan->whole + 5 + x->rank, &n_groups)) {
        return false;
    }
    job.strides = plan->whole + 5 + x->rank;
    find_rows(&job);
    plan->function = "normalise_groups";
    plan->whole[0] = (int64_t)job.n_rows;
    plan->whole[1] = (int64_t)job.n;
    plan->whole[2] = job.is_shared;
    plan->whole[3] = (int64_t)n_groups;
    plan->whole[4] = x->rank;
    memcpy(plan->whole + 5, mdf_value_shape(x), x->rank * sizeof(int64_t));
    plan->real[0] = (double)x->length / (double)n_groups;
    plan->work_bytes = 2 * n_groups * sizeof(double);
    return true;
}

#define SUM(what) "numpy.sum(" what ", axis=axis, keepdims=True)"
#define LARGEST "numpy.max(numpy.abs(x0), axis=axis, keepdims=True)"

const struct mdf_operator mdf_operators_rescale[] = {
    {"LpNormalization", 1, 99, lp_normalization, norm_table, sizeof(struct norm_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     /* 0 where all of a line is: there is none. */
     .derivatives = MDF_DERIVATIVES(
         {0, "(dy - (numpy.sign(x0) if p == 1 else y) * " SUM("dy * y") ") / numpy.where(" LARGEST " == 0, math.inf, " SUM(
                 "numpy.abs(x0)") " if p == 1 else numpy.sqrt(" SUM("x0 * x0") "))"}),
     .form = MDF_FORM_LP_NORM, .infer = &mdf_rule_same},
    {"LRN", 1, 99, lrn, lrn_table, sizeof(struct lrn_settings), MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "result", NULL, {"places", "numpy.arange(x0.shape[1])", NULL},
         {"apart", "numpy.expand_dims(places, 0) - numpy.expand_dims(places, 1)", NULL},
         {"near", "1.0 * ((apart >= -((size - 1) // 2)) & (apart <= size // 2))", NULL},
         {"rows", "numpy.reshape(x0, [x0.shape[0], x0.shape[1], x0.size // (x0.shape[0] * x0.shape[1])])", NULL},
         {"result", "numpy.reshape(rows / (bias + alpha / size * numpy.matmul(near, rows * rows)) ** beta, x0.shape)", NULL}),
     .infer = &mdf_rule_same, .routine = MDF_ROUTINE(plan_lrn, NULL)},
    {"MeanVarianceNormalization", 9, 99, mean_variance_normalization, variance_table, sizeof(struct variance_settings),
     MDF_OPERATOR_PURE, NULL,
     .meaning = MDF_MEANING(
         "result", NULL, {"apart", "x0 - numpy.mean(x0, axis=[int(a) for a in axes], keepdims=True)", NULL},
         {"result", "apart / (operator.norm_root(numpy.mean(apart * apart, axis=[int(a) for a in axes], keepdims=True)) + 1e-9)",
          NULL}),
     .infer = &mdf_rule_same, .routine = MDF_ROUTINE(plan_groups, NULL)},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
