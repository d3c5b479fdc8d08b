/* softmax.c - Softmax, LogSoftmax, Hardmax.
 *
 * Comes in: an array. Goes out: one of its shape, along each line exp(x) / sum exp(x), the logarithm of that, or 1 at the first
 * largest element and 0 elsewhere. Up to version 12 a line is all axes from `axis` on, from 13 on the axis alone. Source: the
 * ONNX operators, all versions. */
#include "functions/kernel/derivatives.h"
#include "functions/elements/element_helpers.h"
#include "functions/elements/vectors/vector_math.h"
#include "functions/folds/short_rows.h"
#include "functions/kernel/workspace.h"

#include <math.h>
#include <string.h>

struct softmax_settings {
    int64_t axis;
};

static const struct mdf_setting softmax_table[] = {{"axis", MDF_SETTING_INT, offsetof(struct softmax_settings, axis)},
                                                   {NULL, MDF_SETTING_INT, 0}};

enum kind { KIND_SOFT, KIND_LOG, KIND_HARD };

struct softmax {
    const void *x;
    void *y;
    size_t n, inner; /* elements of a line, and how far apart they lie */
    enum kind kind;
};

enum { LINES_AT_ONCE = 256 };

#define ELEMENT float
#define NAME(x) x##_float32
#define EXP mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT32]
#include "functions/folds/softmax_lines.inc"
#define ELEMENT double
#define NAME(x) x##_float64
#define EXP mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT64]
#include "functions/folds/softmax_lines.inc"

/* Rough time of one element, to judge what is worth a thread. */
static const double exp_ns = 2, vector_exp_ns = 0.4;

/* Has a line, or the beginning of a long one, brought into the cache: meanwhile exponentials keep the processor busy. */
static void fetch_ahead(const float *line, size_t n)
{
    enum { MOST = 4096, CACHE_LINE = 16 };

    for (size_t i = 0; i < n && i < MOST; i += CACHE_LINE) {
        __builtin_prefetch(line + i);
    }
}

/* 1 at the first largest element, or at a NaN that comes first of all. */
static void harden_adjacent(void *context, size_t first, size_t last)
{
    const struct mdf_vector_math *math = mdf_vector_math();
    const struct softmax *job = context;

    for (size_t line = first; line < last; line++) {
        const float *x = (const float *)job->x + line * job->n, most = math->largest(job->n, x);
        float *y = (float *)job->y + line * job->n;
        size_t at = 0;

        while (!isnan(x[0]) && x[at] != most) {
            at++;
        }
        memset(y, 0, job->n * sizeof *y);
        y[at] = 1;
    }
}

/* The same as soften_float32 for lines whose elements are adjacent. What is done to some lines one after the other waits for
 * nothing of the others: the processor has them in hand together, where each step of a line waits for the one before. */
static void soften_adjacent(void *context, size_t first, size_t last)
{
    enum { LINES = 8, MOST = 1 << 10 /* elements, which longer lines are enough of */ };
    const struct mdf_vector_math *math = mdf_vector_math();
    const struct softmax *job = context;
    size_t n_lines = MOST / job->n < 1 ? 1 : MOST / job->n < LINES ? MOST / job->n : LINES;
    float shifts[LINES];
    double sums[LINES];

    for (size_t line = first, n; line < last; line += n) {
        const float *x = (const float *)job->x + line * job->n;
        float *y = (float *)job->y + line * job->n;

        n = last - line < n_lines ? last - line : n_lines;
        for (size_t i = 0; i < n; i++) {
            shifts[i] = math->largest(job->n, x + i * job->n);
        }
        if (line + n < last) {
            fetch_ahead(x + n * job->n, n_lines * job->n);
        }
        for (size_t i = 0; i < n; i++) {
            sums[i] = math->exp_sum(job->n, x + i * job->n, shifts[i], job->kind == KIND_LOG ? NULL : y + i * job->n);
        }
        for (size_t i = 0; i < n && job->kind == KIND_LOG; i++) {
            math->subtract(job->n, x + i * job->n, shifts[i], (float)mdf_log_float64(sums[i]), y + i * job->n);
        }
        for (size_t i = 0; i < n && job->kind != KIND_LOG; i++) {
            math->multiply(job->n, (float)(1 / sums[i]), y + i * job->n);
        }
    }
}

/* Sums of `n` rows, element i in part i, parts in halves, as vector_math's exp_sum has them. */
static void add_halves(size_t n, size_t n_rows, const float *x, double sums[MDF_SHORT_ROW][MDF_ROWS_AT_ONCE])
{
    for (size_t k = 0; k < n; k++) {
        for (size_t row = 0; row < n_rows; row++) {
            sums[k][row] = (double)x[k * n_rows + row];
        }
    }
    for (size_t half = MDF_SHORT_ROW / 2; half > 0; half /= 2) {
        for (size_t k = 0; k < half && k + half < n; k++) {
            for (size_t row = 0; row < n_rows; row++) {
                sums[k][row] += sums[k + half][row];
            }
        }
    }
}

/* The largest element of each line that is not NaN is taken from all of the line. */
static void shift_lines(size_t n, size_t n_rows, float *x)
{
    float shifts[MDF_ROWS_AT_ONCE];

    for (size_t row = 0; row < n_rows; row++) {
        shifts[row] = -INFINITY;
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t row = 0; row < n_rows; row++) {
            shifts[row] = x[k * n_rows + row] > shifts[row] ? x[k * n_rows + row] : shifts[row];
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t row = 0; row < n_rows; row++) {
            x[k * n_rows + row] -= shifts[row];
        }
    }
}

/* Up to MDF_ROWS_AT_ONCE short lines, turned: element k of all of them side by side. */
static void soften_turned(const struct softmax *job, size_t n_rows, float *x)
{
    float powers[MDF_SHORT_ROW * MDF_ROWS_AT_ONCE], changes[MDF_ROWS_AT_ONCE];
    double sums[MDF_SHORT_ROW][MDF_ROWS_AT_ONCE];
    const void *operands[] = {x};
    const size_t steps[] = {1};
    size_t n = job->n;

    shift_lines(n, n_rows, x);
    mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT32](powers, operands, steps, n * n_rows, NULL);
    add_halves(n, n_rows, powers, sums);
    for (size_t row = 0; row < n_rows; row++) {
        changes[row] = (float)(job->kind == KIND_LOG ? mdf_log_float64(sums[0][row]) : 1 / sums[0][row]);
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t row = 0; row < n_rows; row++) {
            float *y = &x[k * n_rows + row];

            *y = job->kind == KIND_LOG ? *y - changes[row] : powers[k * n_rows + row] * changes[row];
        }
    }
}

/* The same as soften_adjacent for lines of up to MDF_SHORT_ROW elements, many at once. */
static void soften_short(void *context, size_t first, size_t last)
{
    const struct softmax *job = context;
    float turned[MDF_SHORT_ROW * MDF_ROWS_AT_ONCE];

    for (size_t line = first, n_now; line < last; line += n_now) {
        n_now = last - line < MDF_ROWS_AT_ONCE ? last - line : MDF_ROWS_AT_ONCE;
        mdf_turn_rows(sizeof(float), turned, (const float *)job->x + line * job->n, n_now, job->n);
        soften_turned(job, n_now, turned);
        mdf_turn_rows(sizeof(float), (float *)job->y + line * job->n, turned, job->n, n_now);
    }
}

static bool run_softmax(struct mdf_call *call, enum kind kind, bool flatten)
{
    const struct softmax_settings *settings = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct softmax job = {.kind = kind};
    struct mdf_workspace workspace;
    size_t axis, n_lines;

    if (x == NULL || !mdf_workspace_begin(&workspace, call, mdf_workspace_dtype((mdf_dtype)x->dtype), 2)) {
        return false;
    }
    if (flatten && settings->axis == (int64_t)x->rank) {
        axis = x->rank;
    } else if (!mdf_call_axis(call, settings->axis, x->rank, &axis)) {
        return false;
    }
    job.x = mdf_workspace_input(&workspace, 0);
    job.y = job.x == NULL ? NULL : mdf_workspace_output(&workspace, 0, (mdf_dtype)x->dtype, x->rank, mdf_value_shape(x));
    if (job.y == NULL) {
        return false;
    }
    if (x->length > 0) {
        if (!mdf_workspace_product(call, mdf_value_shape(x), axis, flatten ? x->rank : axis + 1, &job.n)) {
            return false;
        }
        n_lines = x->length / job.n;
        job.inner = 1;
        for (size_t i = axis + 1; !flatten && i < x->rank; i++) {
            job.inner *= (size_t)mdf_value_shape(x)[i];
        }
        if (workspace.dtype == MDF_DTYPE_FLOAT32 && job.inner == 1) {
            mdf_parallel_for(call->context, n_lines, vector_exp_ns * (double)job.n,
                             kind == KIND_HARD        ? harden_adjacent
                             : job.n <= MDF_SHORT_ROW ? soften_short
                                                      : soften_adjacent,
                             &job);
        } else {
            mdf_parallel_for(call->context, n_lines, exp_ns * (double)job.n,
                             workspace.dtype == MDF_DTYPE_FLOAT32 ? soften_float32 : soften_float64, &job);
        }
    }
    return mdf_workspace_end(&workspace);
}

static bool softmax_flat(struct mdf_call *call)
{
    return run_softmax(call, KIND_SOFT, true);
}

static bool softmax(struct mdf_call *call)
{
    return run_softmax(call, KIND_SOFT, false);
}

static bool log_softmax_flat(struct mdf_call *call)
{
    return run_softmax(call, KIND_LOG, true);
}

static bool log_softmax(struct mdf_call *call)
{
    return run_softmax(call, KIND_LOG, false);
}

static bool hardmax_flat(struct mdf_call *call)
{
    return run_softmax(call, KIND_HARD, true);
}

static bool hardmax(struct mdf_call *call)
{
    return run_softmax(call, KIND_HARD, false);
}

/* The sum along all axes from `axis` on, with the shape of y. */
#define FLAT_AXES "gradient.axes_from(y, axis), False"
#define FLAT_SUM(what) "gradient.spread(gradient.sum_to(" what ", gradient.kept(y, " FLAT_AXES ")), y, " FLAT_AXES ")"

const struct mdf_operator mdf_operators_softmax[] = {
    {"Softmax", 1, 12, softmax_flat, softmax_table, sizeof(struct softmax_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES({0, "y * (dy - " FLAT_SUM("dy * y") ")"}), .form = MDF_FORM_SOFTMAX, .infer = &mdf_rule_same},
    {"Softmax", 13, 99, softmax, softmax_table, sizeof(struct softmax_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES({0, "y * (dy - numpy.sum(dy * y, axis=axis, keepdims=True))"}), .form = MDF_FORM_SOFTMAX,
     .infer = &mdf_rule_same},
    {"LogSoftmax", 1, 12, log_softmax_flat, softmax_table, sizeof(struct softmax_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES({0, "dy - numpy.exp(y) * " FLAT_SUM("dy")}), .form = MDF_FORM_LOG_SOFTMAX,
     .infer = &mdf_rule_same},
    {"LogSoftmax", 13, 99, log_softmax, softmax_table, sizeof(struct softmax_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES({0, "dy - numpy.exp(y) * numpy.sum(dy, axis=axis, keepdims=True)"}),
     .form = MDF_FORM_LOG_SOFTMAX, .infer = &mdf_rule_same},
    {"Hardmax", 1, 12, hardmax_flat, softmax_table, sizeof(struct softmax_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = mdf_derivatives_flat, .form = MDF_FORM_HARDMAX, .infer = &mdf_rule_same},
    {"Hardmax", 13, 99, hardmax, softmax_table, sizeof(struct softmax_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = mdf_derivatives_flat, .form = MDF_FORM_HARDMAX, .infer = &mdf_rule_same},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
