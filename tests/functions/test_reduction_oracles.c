/* test_reduction_oracles.c - what makes few numbers of many, or a line of a line, against its definition: reductions, ArgMax,
 * TopK, cumulated sums, softmax and normalisations, along any axes of arrays of rank 0 to 5, with sizes of 0 and 1, infinities,
 * NaN and the ends of integer types. */
#include "tests/support/kernel_call.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANK = 5, N_CASES = 75, MAX_SHORT_ROW = 20 };

static size_t pick_shape(size_t least_rank, int64_t *shape)
{
    size_t rank = (size_t)kernel_pick((int64_t)least_rank, MAX_RANK);

    for (size_t i = 0; i < rank; i++) {
        shape[i] = kernel_pick(0, 25) == 0 ? 0 : kernel_pick(0, 12) == 0 ? kernel_pick(20, 70) : kernel_pick(1, 5);
    }
    if (rank > 0 && kernel_pick(0, 40) == 0) { /* few long lines */
        for (size_t i = 0; i < rank; i++) {
            shape[i] = kernel_pick(1, 2);
        }
        shape[kernel_pick(0, (int64_t)rank - 1)] = kernel_pick(500, 3000);
    }
    return rank;
}

/* ------------------------------------------------------------------ reductions */

/* The numbers that one number is made of. */
struct fold {
    long double sum, product, squares, magnitudes, powers;
    uint64_t whole_sum, whole_product, whole_squares, whole_magnitudes; /* of integers, as they wrap */
    double largest, least;
    size_t n;
};

static void add_number(struct fold *fold, double x, uint64_t whole)
{
    fold->largest = fold->n == 0 || x > fold->largest || isnan(x) ? (isnan(fold->largest) ? (double)NAN : x) : fold->largest;
    fold->least = fold->n == 0 || x < fold->least || isnan(x) ? (isnan(fold->least) ? (double)NAN : x) : fold->least;
    fold->sum += (long double)x;
    fold->product *= (long double)x;
    fold->squares += (long double)x * (long double)x;
    fold->magnitudes += (long double)fabs(x);
    fold->powers += expl((long double)x);
    fold->whole_sum += whole;
    fold->whole_product *= whole;
    fold->whole_squares += whole * whole;
    fold->whole_magnitudes += x < 0 ? 0 - whole : whole;
    fold->n++;
}

static long double sum_of(const struct fold *fold)
{
    return fold->sum;
}

static long double mean_of(const struct fold *fold)
{
    return fold->sum / (long double)fold->n;
}

static long double largest_of(const struct fold *fold)
{
    return fold->n > 0 ? (long double)fold->largest : -(long double)INFINITY;
}

static long double least_of(const struct fold *fold)
{
    return fold->n > 0 ? (long double)fold->least : (long double)INFINITY;
}

static long double product_of(const struct fold *fold)
{
    return fold->product;
}

static long double magnitudes_of(const struct fold *fold)
{
    return fold->magnitudes;
}

static long double norm_of(const struct fold *fold)
{
    return sqrtl(fold->squares);
}

static long double squares_of(const struct fold *fold)
{
    return fold->squares;
}

static long double log_of(const struct fold *fold)
{
    return logl(fold->sum);
}

static long double log_of_powers(const struct fold *fold)
{
    return logl(fold->powers);
}

static uint64_t whole_sum(const struct fold *fold)
{
    return fold->whole_sum;
}

static uint64_t whole_product(const struct fold *fold)
{
    return fold->whole_product;
}

static uint64_t whole_magnitudes(const struct fold *fold)
{
    return fold->whole_magnitudes;
}

static uint64_t whole_squares(const struct fold *fold)
{
    return fold->whole_squares;
}

/* `whole`: of integers, where the result wraps; NULL: the real one does. */
static const struct reduction {
    const char *name;
    long double (*real)(const struct fold *fold);
    uint64_t (*whole)(const struct fold *fold);
} reductions[] = {{"ReduceSum", sum_of, whole_sum},
                  {"ReduceMean", mean_of, NULL},
                  {"ReduceMax", largest_of, NULL},
                  {"ReduceMin", least_of, NULL},
                  {"ReduceProd", product_of, whole_product},
                  {"ReduceL1", magnitudes_of, whole_magnitudes},
                  {"ReduceL2", norm_of, NULL},
                  {"ReduceSumSquare", squares_of, whole_squares},
                  {"ReduceLogSum", log_of, NULL},
                  {"ReduceLogSumExp", log_of_powers, NULL}};

/* A choice of axes, some counted from the end; empty: all. */
static size_t pick_axes(size_t rank, int64_t *axes, bool *reduced)
{
    size_t n = 0;

    for (size_t i = 0; i < rank; i++) {
        reduced[i] = kernel_pick(0, 2) == 0;
        if (reduced[i]) {
            axes[n++] = kernel_pick(0, 1) == 1 ? (int64_t)i : (int64_t)i - (int64_t)rank;
        }
    }
    for (size_t i = 0; n == 0 && i < rank; i++) {
        reduced[i] = true;
    }
    return n;
}

static double expected(const struct reduction *reduction, mdf_dtype dtype, const struct fold *fold)
{
    if (reduction->whole != NULL && dtype == MDF_DTYPE_INT64) {
        return (double)(int64_t)reduction->whole(fold);
    }
    if (reduction->whole != NULL && dtype == MDF_DTYPE_INT32) {
        return (double)(int32_t)reduction->whole(fold);
    }
    if (dtype == MDF_DTYPE_FLOAT32) {
        return (double)(float)reduction->real(fold);
    }
    return dtype == MDF_DTYPE_FLOAT64 ? (double)reduction->real(fold) : trunc((double)reduction->real(fold));
}

/* What there is to compare with: integers of other kinds of results do not wrap, they have none. */
static bool is_defined(const struct reduction *reduction, mdf_dtype dtype, const struct fold *fold)
{
    double limit = dtype == MDF_DTYPE_INT32 ? 0x1p31 : 0x1p52;

    if (dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64) {
        return true;
    }
    if (reduction->whole != NULL) {
        return true;
    }
    if (reduction->real == largest_of || reduction->real == least_of) {
        return fold->n > 0;
    }
    return fold->n > 0 && fold->magnitudes * fold->magnitudes < (long double)limit && fold->sum > 0;
}

static void check_reduction(const struct reduction *reduction, mdf_dtype dtype)
{
    int64_t shape[MAX_RANK], axes[MAX_RANK], result[MAX_RANK], kept[MAX_RANK], index[MAX_RANK];
    size_t rank = pick_shape(0, shape), n_axes, kept_rank = 0;
    bool reduced[MAX_RANK], keep_axes = kernel_pick(0, 1) == 1;
    const struct mdf_value *x;
    struct kernel_call call;
    struct fold *folds;

    kernel_begin(&call, reduction->name, 18);
    kernel_set_int(&call, "keepdims", keep_axes);
    x = kernel_add(&call, dtype, rank, shape, kernel_pick(0, 1) == 1 ? NUMBERS_WILD : NUMBERS_SHORT, false);
    n_axes = pick_axes(rank, axes, reduced);
    if (n_axes > 0 || kernel_pick(0, 1) == 1) {
        kernel_add_integers(&call, axes, n_axes);
    }
    for (size_t i = 0; i < rank; i++) {
        result[i] = reduced[i] ? 1 : shape[i];
        if (!reduced[i] || keep_axes) {
            kept[kept_rank++] = result[i];
        }
    }
    kernel_run(&call);
    kernel_check_shape(&call, 0, kept_rank, kept);
    folds = calloc(call.outputs[0].length + 1, sizeof *folds);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        folds[i].product = 1;
        folds[i].whole_product = 1;
    }
    for (size_t i = 0; i < x->length; i++) {
        kernel_index(rank, shape, i, index);
        for (size_t axis = 0; axis < rank; axis++) {
            index[axis] = reduced[axis] ? 0 : index[axis];
        }
        add_number(&folds[kernel_place(rank, result, index)], kernel_number(x, i), (uint64_t)kernel_whole(x, i));
    }
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        double wanted = expected(reduction, dtype, &folds[i]);

        if (is_defined(reduction, dtype, &folds[i])) {
            kernel_check(&call, 0, i, wanted,
                         1e-6 * (dtype == MDF_DTYPE_FLOAT32) * (1 + fabs(wanted)) + 1e-13 * (1 + fabs(wanted)));
        }
    }
    free(folds);
    kernel_end(&call);
}

Test(reduction_oracles, reductions)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, MDF_DTYPE_INT64};

    for (size_t i = 0; i < N_CASES; i++) {
        for (size_t k = 0; k < sizeof reductions / sizeof *reductions; k++) {
            check_reduction(&reductions[k], dtypes[i % 4]);
        }
    }
}

/* Rows and columns of random bits, long enough for vectors of any type and what is left behind them. */
static void check_whole_extremes(bool largest, mdf_dtype dtype, int64_t axis)
{
    const int64_t shape[] = {kernel_pick(1, 40), kernel_pick(1, 300), kernel_pick(1, 20)};
    size_t step = (size_t)(axis == 1 ? shape[2] : 1), n = (size_t)shape[axis];
    bool is_signed = mdf_dtype_kind(dtype) == 'i';
    struct kernel_call call;
    struct mdf_value *x;

    kernel_begin(&call, largest ? "ReduceMax" : "ReduceMin", 18);
    kernel_set_int(&call, "keepdims", 0);
    x = kernel_add(&call, dtype, 3, shape, NUMBERS_SHORT, false);
    for (size_t i = 0; i < x->length * mdf_dtype_size(dtype); i++) {
        ((unsigned char *)x->data)[i] = (unsigned char)kernel_pick(0, 255);
    }
    kernel_add_integers(&call, &axis, 1);
    kernel_run(&call);
    for (size_t i = 0; i < call.outputs[0].length; i++) {
        size_t first = i / step * step * n + i % step;
        int64_t most = kernel_whole(x, first);

        for (size_t k = 1; k < n; k++) {
            int64_t met = kernel_whole(x, first + k * step);
            bool is_more = is_signed ? met > most : (uint64_t)met > (uint64_t)most;

            most = met != most && is_more == largest ? met : most;
        }
        cr_assert_eq(kernel_whole(&call.outputs[0], i), most, "%s, axis %d", mdf_dtype_name(dtype), (int)axis);
    }
    kernel_end(&call);
}

Test(reduction_oracles, extremes_of_whole_numbers)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_INT8,  MDF_DTYPE_UINT8,  MDF_DTYPE_INT16, MDF_DTYPE_UINT16,
                                       MDF_DTYPE_INT32, MDF_DTYPE_UINT32, MDF_DTYPE_INT64, MDF_DTYPE_UINT64};

    for (size_t i = 0; i < 4 * sizeof dtypes / sizeof *dtypes; i++) {
        check_whole_extremes(i % 2 == 0, dtypes[i / 4], i / 2 % 2 == 0 ? 1 : 2);
    }
}

/* ------------------------------------------------------------------ lines along an axis */

/* A line of an array: its first element, the step between its elements, their number. */
struct line {
    size_t first, step, n;
};

/* Line `number` along `axis`. */
static struct line find_line(size_t rank, const int64_t *shape, size_t axis, size_t number)
{
    size_t step = kernel_n_elements(rank - axis - 1, shape + axis + 1), n = (size_t)shape[axis];

    return (struct line){number / step * step * n + number % step, step, n};
}

static size_t count_lines(size_t rank, const int64_t *shape, size_t axis)
{
    return kernel_n_elements(axis, shape) * kernel_n_elements(rank - axis - 1, shape + axis + 1);
}

static double on_line(const struct mdf_value *x, const struct line *line, size_t i)
{
    return kernel_number(x, line->first + i * line->step);
}

/* A call on one array along one axis, some arrays of it without elements. */
struct along {
    struct kernel_call call;
    int64_t shape[MAX_RANK];
    size_t rank, axis;
    const struct mdf_value *x;
};

static void begin_along(struct along *along, const char *name, int version, mdf_dtype dtype, enum kernel_numbers numbers,
                        bool may_be_empty)
{
    kernel_begin(&along->call, name, version);
    along->rank = pick_shape(1, along->shape);
    along->axis = (size_t)kernel_pick(0, (int64_t)along->rank - 1);
    along->shape[along->axis] += !may_be_empty && along->shape[along->axis] == 0;
    along->x = kernel_add(&along->call, dtype, along->rank, along->shape, numbers, false);
}

static int64_t signed_axis(const struct along *along)
{
    return (int64_t)along->axis - (kernel_pick(0, 1) == 1 ? (int64_t)along->rank : 0);
}

/* Whether x stands before y: a number before an equal one that comes later; NaN is the largest of all. */
static bool is_beyond(double x, double y, bool largest)
{
    if (isnan(x) || isnan(y)) {
        return largest ? isnan(x) && !isnan(y) : !isnan(x) && isnan(y);
    }
    return largest ? x > y : x < y;
}

static void check_arg(bool is_max, mdf_dtype dtype)
{
    bool keep_axis = kernel_pick(0, 1) == 1, select_last = kernel_pick(0, 1) == 1;
    int64_t result[MAX_RANK];
    struct along along;
    size_t kept = 0;

    begin_along(&along, is_max ? "ArgMax" : "ArgMin", 13, dtype, NUMBERS_WILD, false);
    kernel_set_int(&along.call, "axis", signed_axis(&along));
    kernel_set_int(&along.call, "keepdims", keep_axis);
    kernel_set_int(&along.call, "select_last_index", select_last);
    for (size_t i = 0; i < along.rank; i++) {
        if (i != along.axis || keep_axis) {
            result[kept++] = i == along.axis ? 1 : along.shape[i];
        }
    }
    kernel_run(&along.call);
    kernel_check_shape(&along.call, 0, kept, result);
    for (size_t i = 0; i < along.call.outputs[0].length; i++) {
        struct line line = find_line(along.rank, along.shape, along.axis, i);
        size_t best = 0;

        for (size_t k = 1; k < line.n; k++) {
            double x = on_line(along.x, &line, k), y = on_line(along.x, &line, best);
            bool is_better = isnan(x) ? !isnan(y) : !isnan(y) && is_beyond(x, y, is_max); /* NaN before all, as in numpy */

            best = is_better || (select_last && (x == y || (isnan(x) && isnan(y)))) ? k : best;
        }
        kernel_check(&along.call, 0, i, (double)best, 0);
    }
    kernel_end(&along.call);
}

/* The numbers of a line in their order, equal ones as they stand. */
static size_t *sort_line(const struct mdf_value *x, const struct line *line, bool largest)
{
    size_t *order = malloc((line->n + 1) * sizeof *order);

    for (size_t i = 0; i < line->n; i++) {
        size_t k = i;

        for (; k > 0 && is_beyond(on_line(x, line, i), on_line(x, line, order[k - 1]), largest); k--) {
            order[k] = order[k - 1];
        }
        order[k] = i;
    }
    return order;
}

/* `large`: lines that are sorted whole where many are selected, some at a time. */
static void check_top_k(mdf_dtype dtype, bool large)
{
    const int64_t large_shape[] = {5, 611};
    enum kernel_numbers numbers = kernel_pick(0, 1) == 1 ? NUMBERS_WILD : NUMBERS_SHORT;
    bool largest = kernel_pick(0, 1) == 1;
    int64_t result[MAX_RANK], k;
    struct along along;

    if (large) {
        kernel_begin(&along.call, "TopK", 11);
        along.rank = 2;
        along.axis = 1;
        memcpy(along.shape, large_shape, sizeof large_shape);
        along.x = kernel_add(&along.call, dtype, 2, large_shape, numbers, false);
    } else {
        begin_along(&along, "TopK", 11, dtype, numbers, true);
    }
    k = kernel_pick(0, along.shape[along.axis]);
    kernel_add_integers(&along.call, &k, 1);
    kernel_set_int(&along.call, "axis", signed_axis(&along));
    kernel_set_int(&along.call, "largest", largest);
    along.call.call.n_outputs = 2;
    memcpy(result, along.shape, sizeof result);
    result[along.axis] = k;
    kernel_run(&along.call);
    kernel_check_shape(&along.call, 0, along.rank, result);
    kernel_check_shape(&along.call, 1, along.rank, result);
    for (size_t i = 0; k > 0 && i < count_lines(along.rank, along.shape, along.axis); i++) {
        struct line line = find_line(along.rank, along.shape, along.axis, i), to = find_line(along.rank, result, along.axis, i);
        size_t *order = sort_line(along.x, &line, largest);

        for (size_t n = 0; n < (size_t)k; n++) {
            kernel_check(&along.call, 0, to.first + n * to.step, on_line(along.x, &line, order[n]), 0);
            kernel_check(&along.call, 1, to.first + n * to.step, (double)order[n], 0);
        }
        free(order);
    }
    kernel_end(&along.call);
}

/* Running totals of each line, in float64; the result is rounded once. */
static void check_totals(const struct along *along, bool product, bool exclusive, bool reverse)
{
    for (size_t i = 0; i < count_lines(along->rank, along->shape, along->axis); i++) {
        struct line line = find_line(along->rank, along->shape, along->axis, i);
        double total = product ? 1 : 0;

        for (size_t k = 0; k < line.n; k++) {
            size_t at = reverse ? line.n - 1 - k : k;
            double before = total, wanted;

            total = product ? total * on_line(along->x, &line, at) : total + on_line(along->x, &line, at);
            wanted = exclusive ? before : total;
            kernel_check(&along->call, 0, line.first + at * line.step,
                         along->x->dtype == MDF_DTYPE_FLOAT32 ? (double)(float)wanted : wanted, 0);
        }
    }
}

/* `large`: more lines side by side than are taken at once, and work for several threads. */
static void check_cumulated(bool product, mdf_dtype dtype, bool large)
{
    const int64_t large_shape[] = {3, 22, kernel_pick(0, 1) == 1 ? 1100 : 811};
    bool exclusive = kernel_pick(0, 1) == 1, reverse = kernel_pick(0, 1) == 1;
    const char *name = product ? "CumProd" : "CumSum";
    struct along along;
    int64_t axis;

    if (large) {
        kernel_begin(&along.call, name, product ? 26 : 14);
        along.rank = 3;
        along.axis = (size_t)kernel_pick(0, 2);
        memcpy(along.shape, large_shape, sizeof large_shape);
        along.x = kernel_add(&along.call, dtype, 3, large_shape, NUMBERS_SHORT, false);
    } else {
        begin_along(&along, name, product ? 26 : 14, dtype, NUMBERS_SHORT, true);
    }
    axis = signed_axis(&along);
    kernel_add_integers(&along.call, &axis, 1);
    kernel_set_int(&along.call, "exclusive", exclusive);
    kernel_set_int(&along.call, "reverse", reverse);
    kernel_run(&along.call);
    kernel_check_shape(&along.call, 0, along.rank, along.shape);
    check_totals(&along, product, exclusive, reverse);
    kernel_end(&along.call);
}

Test(reduction_oracles, orders_and_sums_along_an_axis)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32,  MDF_DTYPE_INT64,
                                       MDF_DTYPE_UINT8,   MDF_DTYPE_INT8,    MDF_DTYPE_UINT64, MDF_DTYPE_FLOAT16};

    for (size_t i = 0; i < N_CASES; i++) {
        check_arg(true, dtypes[i % 8]);
        check_arg(false, dtypes[i % 8]);
        check_top_k(dtypes[i % 4], i < 8);
        check_cumulated(false, dtypes[i % 4], i < 8);
        check_cumulated(true, dtypes[i % 2], i < 8);
    }
}

enum softmax_kind { SOFTMAX, LOG_SOFTMAX, HARDMAX };

static void check_softmax(enum softmax_kind kind, mdf_dtype dtype, double tolerance)
{
    static const char *const names[] = {"Softmax", "LogSoftmax", "Hardmax"};
    struct along along;

    begin_along(&along, names[kind], 13, dtype, kind != HARDMAX && kernel_pick(0, 2) == 0 ? NUMBERS_WILD : NUMBERS_SHORT, true);
    kernel_set_int(&along.call, "axis", signed_axis(&along));
    kernel_run(&along.call);
    kernel_check_shape(&along.call, 0, along.rank, along.shape);
    for (size_t i = 0; i < count_lines(along.rank, along.shape, along.axis); i++) {
        struct line line = find_line(along.rank, along.shape, along.axis, i);
        double largest = -INFINITY, sum = 0;
        size_t first = 0;

        for (size_t k = 0; k < line.n; k++) {
            double x = on_line(along.x, &line, k);

            first = x > largest ? k : first;
            largest = x > largest ? x : largest;
        }
        for (size_t k = 0; k < line.n; k++) {
            sum += exp(on_line(along.x, &line, k) - largest); /* infinities: NaN, as their differences are */
        }
        for (size_t k = 0; k < line.n; k++) {
            double x = on_line(along.x, &line, k) - largest;

            kernel_check(&along.call, 0, line.first + k * line.step,
                         kind == HARDMAX   ? k == first
                         : kind == SOFTMAX ? exp(x) / sum
                                           : x - log(sum),
                         tolerance);
        }
    }
    kernel_end(&along.call);
}

Test(reduction_oracles, softmax)
{
    for (size_t i = 0; i < N_CASES; i++) {
        for (enum softmax_kind kind = SOFTMAX; kind <= HARDMAX; kind++) {
            check_softmax(kind, MDF_DTYPE_FLOAT32, 1e-5);
            check_softmax(kind, MDF_DTYPE_FLOAT64, 1e-13);
        }
    }
}

static void begin_softmax(struct kernel_call *call, const char *name, int64_t n_rows, int64_t n)
{
    const int64_t shape[] = {n_rows, n};

    kernel_begin(call, name, 13);
    kernel_add(call, MDF_DTYPE_FLOAT32, 2, shape, NUMBERS_WILD, false);
}

/* Many short lines are softened side by side, to the bits that each has alone: what -infinity makes longer is not. */
static void check_short_softmax(const char *name, size_t n_rows, size_t n)
{
    enum { FURTHER = 16 };
    struct kernel_call together, apart;
    size_t n_apart = n + FURTHER;
    const float *x, *y, *wanted;
    float *further;

    begin_softmax(&together, name, (int64_t)n_rows, (int64_t)n);
    begin_softmax(&apart, name, (int64_t)n_rows, (int64_t)n_apart);
    x = together.inputs[0].data;
    further = apart.inputs[0].data;
    for (size_t i = 0; i < n_rows * n_apart; i++) {
        further[i] = i % n_apart < n ? x[i / n_apart * n + i % n_apart] : -INFINITY;
    }
    y = kernel_run(&together)->data;
    wanted = kernel_run(&apart)->data;
    for (size_t i = 0; i < n_rows * n; i++) {
        float one = y[i], other = wanted[i / n * n_apart + i % n];

        cr_expect(memcmp(&one, &other, sizeof one) == 0 || (isnan(one) && isnan(other)), "%s of %zu by %zu: %.9g for %.9g", name,
                  n_rows, n, (double)one, (double)other);
    }
    kernel_end(&together);
    kernel_end(&apart);
}

Test(reduction_oracles, short_lines_of_softmax)
{
    static const size_t counts[] = {1, 2, 3, 5, 64, 65, 130};

    for (size_t n = 1; n <= MAX_SHORT_ROW; n++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            check_short_softmax("Softmax", counts[i], n);
            check_short_softmax("LogSoftmax", counts[i], n);
        }
    }
}

/* ------------------------------------------------------------------ normalisations */

/* Mean and variance of some elements. */
struct moments {
    double mean, variance;
};

static struct moments moments_of(const struct mdf_value *x, const size_t *places, size_t n)
{
    struct moments moments = {0, 0};

    for (size_t i = 0; i < n; i++) {
        moments.mean += kernel_number(x, places[i]) / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double d = kernel_number(x, places[i]) - moments.mean;

        moments.variance += d * d / (double)n;
    }
    return moments;
}

/* An array of images [n, channels, ...], and scale and bias of each channel. */
struct images {
    struct kernel_call call;
    int64_t shape[MAX_RANK];
    size_t rank, plane;
    const struct mdf_value *x, *scale, *bias;
};

static void begin_images(struct images *images, const char *name, int version, int64_t n_channels)
{
    kernel_begin(&images->call, name, version);
    images->rank = (size_t)kernel_pick(3, MAX_RANK);
    images->shape[0] = kernel_pick(0, 9) == 0 ? 0 : kernel_pick(1, 3);
    images->shape[1] = n_channels;
    for (size_t i = 2; i < images->rank; i++) {
        images->shape[i] = kernel_pick(1, 9);
    }
    images->plane = kernel_n_elements(images->rank - 2, images->shape + 2);
    images->x = kernel_add(&images->call, MDF_DTYPE_FLOAT32, images->rank, images->shape, NUMBERS_SHORT, false);
    images->scale = kernel_add(&images->call, MDF_DTYPE_FLOAT32, 1, &n_channels, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
    images->bias = kernel_add(&images->call, MDF_DTYPE_FLOAT32, 1, &n_channels, NUMBERS_SHORT, kernel_pick(0, 1) == 1);
}

static double scaled(const struct images *images, size_t i, const struct moments *moments, double epsilon)
{
    size_t channel = i / images->plane % (size_t)images->shape[1];

    return (kernel_number(images->x, i) - moments->mean) / sqrt(moments->variance + epsilon) *
               kernel_number(images->scale, channel) +
           kernel_number(images->bias, channel);
}

static void check_batch_norm(void)
{
    int64_t n_channels = kernel_pick(1, 20);
    const struct mdf_value *means;
    struct mdf_value *variances;
    struct images images;

    begin_images(&images, "BatchNormalization", 15, n_channels);
    means = kernel_add(&images.call, MDF_DTYPE_FLOAT32, 1, &n_channels, NUMBERS_SHORT, true);
    variances = kernel_add(&images.call, MDF_DTYPE_FLOAT32, 1, &n_channels, NUMBERS_SHORT, true);
    for (int64_t i = 0; i < n_channels; i++) {
        ((float *)variances->data)[i] = (float)kernel_pick(1, 16) / 8;
    }
    kernel_run(&images.call);
    for (size_t i = 0; i < images.x->length; i++) {
        size_t channel = i / images.plane % (size_t)n_channels;
        struct moments moments = {kernel_number(means, channel), kernel_number(variances, channel)};

        kernel_check(&images.call, 0, i, scaled(&images, i, &moments, 1e-5), 1e-5);
    }
    kernel_end(&images.call);
}

/* Each group of channels of one image by its own mean and variance; groups of one channel are InstanceNormalization. */
static void check_group_norm(bool is_instance)
{
    int64_t n_groups = kernel_pick(1, 4), group_channels = is_instance ? 1 : kernel_pick(1, 4);
    struct images images;
    size_t n, *places;

    begin_images(&images, is_instance ? "InstanceNormalization" : "GroupNormalization", is_instance ? 22 : 21,
                 n_groups * group_channels);
    if (!is_instance) {
        kernel_set_int(&images.call, "num_groups", n_groups);
    }
    kernel_run(&images.call);
    n = images.plane * (size_t)group_channels;
    places = calloc(n + 1, sizeof *places);
    for (size_t first = 0; first < images.x->length; first += n) {
        struct moments moments;

        for (size_t i = 0; i < n; i++) {
            places[i] = first + i;
        }
        moments = moments_of(images.x, places, n);
        for (size_t i = first; i < first + n; i++) {
            kernel_check(&images.call, 0, i, scaled(&images, i, &moments, 1e-5), 1e-4);
        }
    }
    free(places);
    kernel_end(&images.call);
}

/* Over all axes from one on; with the root of the mean of squares for RMSNormalization. */
static void check_layer_norm(bool is_rms)
{
    const struct mdf_value *scale, *bias = NULL;
    struct along along;
    size_t n, *places;

    begin_along(&along, is_rms ? "RMSNormalization" : "LayerNormalization", is_rms ? 23 : 17, MDF_DTYPE_FLOAT32, NUMBERS_SHORT,
                false);
    kernel_set_int(&along.call, "axis", signed_axis(&along));
    scale = kernel_add(&along.call, MDF_DTYPE_FLOAT32, along.rank - along.axis, along.shape + along.axis, NUMBERS_SHORT, true);
    if (!is_rms && kernel_pick(0, 1) == 1) {
        bias = kernel_add(&along.call, MDF_DTYPE_FLOAT32, along.rank - along.axis, along.shape + along.axis, NUMBERS_SHORT, true);
    }
    kernel_run(&along.call);
    n = kernel_n_elements(along.rank - along.axis, along.shape + along.axis);
    places = calloc(n + 1, sizeof *places);
    for (size_t first = 0; n > 0 && first < along.x->length; first += n) {
        struct moments moments;

        for (size_t i = 0; i < n; i++) {
            places[i] = first + i;
        }
        moments = moments_of(along.x, places, n);
        if (is_rms) {
            moments = (struct moments){0, moments.variance + moments.mean * moments.mean};
        }
        for (size_t i = 0; i < n; i++) {
            double y = (kernel_number(along.x, first + i) - moments.mean) / sqrt(moments.variance + 1e-5);

            kernel_check(&along.call, 0, first + i, y * kernel_number(scale, i) + (bias != NULL ? kernel_number(bias, i) : 0),
                         1e-4);
        }
    }
    free(places);
    kernel_end(&along.call);
}

static void check_lp_norm(void)
{
    int64_t p = kernel_pick(1, 2);
    struct along along;

    begin_along(&along, "LpNormalization", 22, MDF_DTYPE_FLOAT32, NUMBERS_SHORT, true);
    kernel_set_int(&along.call, "axis", signed_axis(&along));
    kernel_set_int(&along.call, "p", p);
    kernel_run(&along.call);
    for (size_t i = 0; i < count_lines(along.rank, along.shape, along.axis); i++) {
        struct line line = find_line(along.rank, along.shape, along.axis, i);
        double sum = 0;

        for (size_t k = 0; k < line.n; k++) {
            sum += pow(fabs(on_line(along.x, &line, k)), (double)p);
        }
        for (size_t k = 0; k < line.n; k++) { /* of zeros alone: zeros */
            kernel_check(&along.call, 0, line.first + k * line.step,
                         sum > 0 ? on_line(along.x, &line, k) / pow(sum, 1 / (double)p) : 0, 1e-6);
        }
    }
    kernel_end(&along.call);
}

static void check_local_response(void)
{
    int64_t size = 2 * kernel_pick(0, 3) + 1, n_channels = kernel_pick(1, 9);
    struct images images;

    begin_images(&images, "LRN", 13, n_channels);
    images.call.call.n_inputs = 1;
    kernel_set_int(&images.call, "size", size);
    *(double *)kernel_field(&images.call, "alpha") = 0.5;
    *(double *)kernel_field(&images.call, "beta") = 0.75;
    *(double *)kernel_field(&images.call, "bias") = 2;
    kernel_run(&images.call);
    for (size_t i = 0; i < images.x->length; i++) {
        int64_t channel = (int64_t)(i / images.plane) % n_channels;
        double sum = 0;

        for (int64_t k = -(size / 2); k <= size / 2; k++) {
            if (channel + k >= 0 && channel + k < n_channels) {
                sum += pow(kernel_number(images.x, (size_t)((int64_t)i + k * (int64_t)images.plane)), 2);
            }
        }
        kernel_check(&images.call, 0, i, kernel_number(images.x, i) / pow(2 + 0.5 / (double)size * sum, 0.75), 1e-6);
    }
    kernel_end(&images.call);
}

Test(reduction_oracles, normalisations)
{
    for (size_t i = 0; i < N_CASES; i++) {
        check_batch_norm();
        check_group_norm(true);
        check_group_norm(false);
        check_layer_norm(true);
        check_layer_norm(false);
        check_lp_norm();
        check_local_response();
    }
}
