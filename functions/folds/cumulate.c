/* cumulate.c - running totals along an axis: CumSum, CumProd.
 *
 * Comes in: an array and an axis. Goes out: at each index the sum (product) of the elements up to it, or up to the one before
 * it (exclusive), from either end. Real numbers are accumulated in float64, whole ones wrap. Source: ONNX CumSum 11 and later,
 * CumProd 26. */
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "functions/moves/indexing.h"
#include "mdf_c/base/processor.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { N_BUFFER = 512, FEW_LINES = 4, LINES_AT_ONCE = 32, MANY_LINES = 256, ROWS_AT_ONCE = 4 };

/* Rough time of one element, to judge what is worth a thread. */
static const double element_ns = 0.7;

struct cumulate_settings {
    int64_t exclusive, reverse;
};

static const struct mdf_setting cumulate_table[] = {{"exclusive", MDF_SETTING_INT, offsetof(struct cumulate_settings, exclusive)},
                                                    {"reverse", MDF_SETTING_INT, offsetof(struct cumulate_settings, reverse)},
                                                    {NULL, MDF_SETTING_INT, 0}};

/* Elements and totals while they are worked on. Whole numbers of either sign are added and multiplied without sign. */
union numbers {
    double reals[N_BUFFER];
    uint64_t naturals[N_BUFFER];
};

struct job {
    mdf_dtype dtype, work; /* work: float64, int64 or uint64 */
    bool product, exclusive, reverse;
    const void *elements;
    void *target;
    size_t n, inner;          /* size of the axis; distance of its elements */
    size_t n_pieces, n_piece; /* that adjacent lines are taken in; lines of each, N_BUFFER at most */
    void (*scan)(const struct job *job, size_t first, size_t n_columns);
};

/* Replaces `n_rows` of `n_columns` elements by their running totals, which start with and are left in `totals`. */
static void scan_reals(const struct job *job, double *x, double *totals, size_t n_rows, size_t n_columns)
{
    for (size_t row = 0; row < n_rows; row++) {
        double *element = x + (job->reverse ? n_rows - 1 - row : row) * n_columns;

        for (size_t column = 0; column < n_columns; column++) {
            double before = totals[column];

            totals[column] = job->product ? before * element[column] : before + element[column];
            element[column] = job->exclusive ? before : totals[column];
        }
    }
}

static void scan_naturals(const struct job *job, uint64_t *x, uint64_t *totals, size_t n_rows, size_t n_columns)
{
    for (size_t row = 0; row < n_rows; row++) {
        uint64_t *element = x + (job->reverse ? n_rows - 1 - row : row) * n_columns;

        for (size_t column = 0; column < n_columns; column++) {
            uint64_t before = totals[column];

            totals[column] = job->product ? before * element[column] : before + element[column];
            element[column] = job->exclusive ? before : totals[column];
        }
    }
}

/* Runs along the axis for `n_columns` adjacent lines, the first element of which is `first`. Several rows are taken at once where
 * they are adjacent, that is where all lines are taken. */
static void scan_lines(const struct job *job, size_t first, size_t n_columns)
{
    size_t n_at_once = n_columns == job->inner ? N_BUFFER / n_columns : 1;
    bool real = job->work == MDF_DTYPE_FLOAT64;
    union numbers buffer, totals;

    for (size_t column = 0; column < n_columns; column++) {
        if (real) {
            totals.reals[column] = job->product ? 1 : job->exclusive ? 0 : -0.0; /* -0 + x is x, of -0 too */
        } else {
            totals.naturals[column] = job->product ? 1 : 0;
        }
    }
    for (size_t done = 0; done < job->n;) {
        size_t n_rows = job->n - done < n_at_once ? job->n - done : n_at_once, row = job->reverse ? job->n - done - n_rows : done;
        size_t at = first + row * job->inner;

        mdf_convert_elements(job->work, &buffer, job->dtype, mdf_element_at(job->dtype, job->elements, at), n_rows * n_columns,
                             false);
        if (real) {
            scan_reals(job, buffer.reals, totals.reals, n_rows, n_columns);
        } else {
            scan_naturals(job, buffer.naturals, totals.naturals, n_rows, n_columns);
        }
        mdf_convert_elements(job->dtype, mdf_element_to_write(job->dtype, job->target, at), job->work, &buffer,
                             n_rows * n_columns, false);
        done += n_rows;
    }
}

/* Types that are met often have loops of their own: whole numbers without sign, which has the same bits. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq")))
#define ELEMENT float
#define WORK double
#define NAME(x) x##_float32_avx512
#define VECTOR __m512d
#define LOAD_WIDE(x) _mm512_cvtps_pd(_mm256_loadu_ps(x))
#define STORE_NARROW(y, vector) _mm256_storeu_ps(y, _mm512_cvtpd_ps(vector))
#include "functions/folds/cumulate_lines.inc"
#define TARGET __attribute__((target("avx2")))
#define ELEMENT float
#define WORK double
#define NAME(x) x##_float32_avx2
#define VECTOR __m256d
#define LOAD_WIDE(x) _mm256_cvtps_pd(_mm_loadu_ps(x))
#define STORE_NARROW(y, vector) _mm_storeu_ps(y, _mm256_cvtpd_ps(vector))
#include "functions/folds/cumulate_lines.inc"
#endif
#define TARGET
#define ELEMENT float
#define WORK double
#define NAME(x) x##_float32_plain
#include "functions/folds/cumulate_lines.inc"
#define TARGET
#define ELEMENT double
#define WORK double
#define NAME(x) x##_float64
#include "functions/folds/cumulate_lines.inc"
#define TARGET
#define ELEMENT uint32_t
#define WORK uint32_t
#define NAME(x) x##_uint32
#include "functions/folds/cumulate_lines.inc"
#define TARGET
#define ELEMENT uint64_t
#define WORK uint64_t
#define NAME(x) x##_uint64
#include "functions/folds/cumulate_lines.inc"

static void (*choose_scan(mdf_dtype dtype))(const struct job *job, size_t first, size_t n_columns)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
        return MDF_WIDEST(cumulate_float32);
    case MDF_DTYPE_FLOAT64:
        return cumulate_float64;
    case MDF_DTYPE_INT32:
    case MDF_DTYPE_UINT32:
        return cumulate_uint32;
    case MDF_DTYPE_INT64:
    case MDF_DTYPE_UINT64:
        return cumulate_uint64;
    default:
        return scan_lines;
    }
}

/* Works on pieces [first, last) of all lines. */
static void scan_pieces(void *context, size_t first, size_t last)
{
    const struct job *job = context;

    for (size_t i = first; i < last; i++) {
        size_t column = i % job->n_pieces * job->n_piece, n_columns = job->inner - column;

        job->scan(job, i / job->n_pieces * job->n * job->inner + column, n_columns < job->n_piece ? n_columns : job->n_piece);
    }
}

static bool cumulate(struct mdf_call *call, bool product)
{
    const struct cumulate_settings *settings = call->settings;
    const struct mdf_value *data = mdf_call_tensor(call, 0);
    struct job job = {0};
    size_t axis, outer;
    int64_t axis_given;
    char kind;

    if (data == NULL || !mdf_call_integer(call, 1, &axis_given) || !mdf_call_axis(call, axis_given, data->rank, &axis)) {
        return false;
    }
    job.dtype = (mdf_dtype)data->dtype;
    kind = mdf_dtype_kind(job.dtype);
    if (kind == 'c' || kind == 's') {
        return mdf_call_error(call, MDF_TYPE, "elements of type %s can not be accumulated", mdf_dtype_name(job.dtype));
    }
    job.work = kind == 'f' ? MDF_DTYPE_FLOAT64 : kind == 'i' ? MDF_DTYPE_INT64 : MDF_DTYPE_UINT64;
    job.product = product;
    job.exclusive = settings->exclusive == 1;
    job.reverse = settings->reverse == 1;
    job.elements = data->data;
    job.target = mdf_call_output(call, 0, job.dtype, data->rank, mdf_value_shape(data));
    if (job.target == NULL || data->length == 0) {
        return job.target != NULL;
    }
    outer = mdf_axes_product(mdf_value_shape(data), 0, axis);
    job.n = (size_t)mdf_value_shape(data)[axis];
    job.inner = mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    job.n_piece =
        call->context->n_threads > 1 && outer * job.inner < N_BUFFER * (size_t)call->context->n_threads ? MANY_LINES : N_BUFFER;
    job.n_pieces = (job.inner + job.n_piece - 1) / job.n_piece;
    job.scan = choose_scan(job.dtype);
    mdf_parallel_for(call->context, outer * job.n_pieces,
                     element_ns * (double)job.n * (double)(job.inner < job.n_piece ? job.inner : job.n_piece), scan_pieces, &job);
    return true;
}

static bool plan_cumulate(struct mdf_call *call, bool product, struct mdf_routine_plan *plan)
{
    const struct cumulate_settings *settings = call->settings;
    const struct mdf_value *data = call->inputs[0];
    size_t axis;
    int64_t axis_given;

    if (call->inputs[1]->data == NULL || !mdf_call_integer(call, 1, &axis_given) ||
        !mdf_call_axis(call, axis_given, data->rank, &axis) || !mdf_routine_room(plan, 6, 0)) {
        return false;
    }
    plan->function = "cumulate";
    plan->dtype = (mdf_dtype)data->dtype;
    plan->whole[0] = (int64_t)mdf_axes_product(mdf_value_shape(data), 0, axis);
    plan->whole[1] = mdf_value_shape(data)[axis];
    plan->whole[2] = (int64_t)mdf_axes_product(mdf_value_shape(data), axis + 1, data->rank);
    plan->whole[3] = product;
    plan->whole[4] = settings->exclusive == 1;
    plan->whole[5] = settings->reverse == 1;
    return true;
}

#define ROUTINES "functions/folds/cumulate_routine.inc"
#include "functions/kernel/routine_reals.inc"

/* Of so few elements that no thread would be worth it, nor lines side by side. */
static mdf_routine_function cumulate_function(const struct mdf_routine_plan *plan)
{
    enum { MOST_ELEMENTS = 1 << 10 };

    if (plan->whole[0] > MOST_ELEMENTS || plan->whole[1] > MOST_ELEMENTS || plan->whole[2] > MOST_ELEMENTS ||
        plan->whole[0] * plan->whole[1] * plan->whole[2] > MOST_ELEMENTS) {
        return NULL;
    }
    return MDF_ROUTINE_OF_REALS(plan, cumulate);
}

static bool plan_sum(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_cumulate(call, false, plan);
}

static bool plan_product(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    return plan_cumulate(call, true, plan);
}

static bool cumulative_sum(struct mdf_call *call)
{
    return cumulate(call, false);
}

static bool cumulative_product(struct mdf_call *call)
{
    return cumulate(call, true);
}

static const struct mdf_meaning_scan running_product = {
    "before:first", "item:scanned",
    (const struct mdf_meaning_step[]){
        {"product", "before * item", NULL}, {"given", "before if exclusive else product", NULL}, {NULL, NULL, NULL}},
    "product given"};

const struct mdf_operator mdf_operators_cumulate[] = {
    {"CumSum", 11, 99, cumulative_sum, cumulate_table, sizeof(struct cumulate_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .derivatives = MDF_DERIVATIVES({0, "(numpy.cumsum(dy, int(x1)) if reverse else "
                                        "numpy.flip(numpy.cumsum(numpy.flip(dy, int(x1)), int(x1)), int(x1))) - exclusive * dy"},
                                    {1, NULL}),
     .infer = &mdf_rule_same,
     .routine = &(const struct mdf_routine){plan_sum, .by_axis = true, .takes_halves = true, .function = cumulate_function}},
    {"CumProd", 26, 99, cumulative_product, cumulate_table, sizeof(struct cumulate_settings), MDF_OPERATOR_NEEDS_AXIS, NULL,
     .meaning = MDF_MEANING("result", NULL, {"items", "numpy.moveaxis(x0, int(x1), 0)", NULL},
                            {"scanned", "numpy.flip(items, 0) if reverse else items", NULL},
                            {"first", "numpy.ones(items.shape[1:])", NULL}, {"last all", NULL, &running_product},
                            {"result", "numpy.moveaxis(numpy.flip(all, 0) if reverse else all, 0, int(x1))", NULL}),
     .infer = &mdf_rule_same,
     .routine = &(const struct mdf_routine){plan_product, .by_axis = true, .takes_halves = true, .function = cumulate_function}},
    {NULL, 0, 0, NULL, NULL, 0, 0, NULL}};
