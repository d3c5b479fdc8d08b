/* reduce.c - one number for many: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum,
 * ReduceLogSumExp, ReduceSumSquare.
 *
 * Comes in: an array, and axes as attribute or input. Goes out: the array with these axes gone, or of size 1. Real numbers are
 * folded in float64 and rounded once (exponentials of float32, of which the largest is 1, are of float32; narrower ones are those
 * of float32, in the order of blocks), whole ones wrap; a
 * mean of whole numbers is cut toward zero. NaN stays NaN. Nothing folds to 0, to 1 for a product, to the lowest (highest) value
 * of the type for a maximum (minimum), to NaN for a mean of reals. Source: the ONNX operators of these names, all versions;
 * numpy's reductions. */
#include "mdf_c/base/processor.h"
#include "functions/elements/element.h"
#include "functions/elements/element_helpers.h"
#include "functions/elements/vectors/vector_math.h"
#include "functions/elements/vectors/vector_rows.h"
#include "functions/folds/short_rows.h"
#include "functions/folds/whole_extremes.h"
#include "functions/kernel/fold.h"
#include "functions/kernel/operator.h"
#include "functions/moves/indexing.h"

#include <math.h>
#include <string.h>

enum { N_TOTALS = 1024, FEW_TOTALS = 256, MANY_ROWS = 64, ROWS_AT_ONCE = 16 };

/* ------------------------------------------------------------------ folds, by type */

enum fold_kind {
#define FOLD(id, start, term, combine) FOLD_##id,
#include "functions/folds/folds.def"
    N_FOLDS
};

/* The ways of folds.def, as those see them who lower a reduction or write it as C. */
const struct mdf_fold_way mdf_fold_ways[N_FOLDS] = {
#define FOLD(id, start, term, combine) {#id, start, MDF_ELEMENT(term), MDF_ELEMENT(combine)},
#include "functions/folds/folds.def"
};

struct fold {
    void (*row)(void *total, const void *elements, size_t n, double shift);
    void (*columns)(void *totals, const void *elements, size_t n, const double *shifts);
};

/* The functions of elements in the types of totals. */
#define HELPER(name) mdf_##name
#define ONLY_FUNCTIONS
#define SUFFIX float64
#define ELEMENT double
#define MATH(function) function
#define HAS_REALS(...) __VA_ARGS__
#define HAS_FLOAT64(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define ONLY_FUNCTIONS
#define SUFFIX int64
#define ELEMENT int64_t
#define UNSIGNED_OF uint64_t
#define HAS_SIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

#define ONLY_FUNCTIONS
#define SUFFIX uint64
#define ELEMENT uint64_t
#define UNSIGNED_OF uint64_t
#define HAS_UNSIGNED(...) __VA_ARGS__
#include "functions/elements/loops/element_loops.inc"

/* x = exp(x). */
static void find_powers_double(size_t n, double *x)
{
    mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT64](x, (const void *[]){x}, (const size_t[]){1}, n, NULL);
}

static void find_powers_float(size_t n, float *x)
{
    mdf_vector_math()->loops[MDF_VECTORS_exponential_FLOAT32](x, (const void *[]){x}, (const size_t[]){1}, n, NULL);
}

#define JOIN(a, b) a##_##b
#define JOIN_3(a, b, c) a##_##b##_##c
#define NAME_OF(a, b) JOIN(a, b)
#define NAME_OF_3(a, b, c) JOIN_3(a, b, c)

#define TYPE float32
#define ELEMENT float
#define TOTAL double
#define POWER float
#define SUFFIX float64
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "functions/folds/reduce_type.inc"

#define TYPE float64
#define ELEMENT double
#define TOTAL double
#define POWER double
#define SUFFIX float64
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "functions/folds/reduce_type.inc"

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define TYPE float32_avx2
#define ELEMENT float
#define TOTAL double
#define POWER float
#define SUFFIX float64
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "functions/folds/reduce_type.inc"

#define TARGET __attribute__((target("avx2")))
#define TYPE float64_avx2
#define ELEMENT double
#define TOTAL double
#define POWER double
#define SUFFIX float64
#define LOWEST (-INFINITY)
#define HIGHEST INFINITY
#include "functions/folds/reduce_type.inc"
#define REAL_FOLDS(type) (mdf_has_avx2() ? folds_##type##_avx2 : folds_##type)
#else
#define REAL_FOLDS(type) folds_##type
#endif

#define TYPE int32
#define ELEMENT int32_t
#define TOTAL int64_t
#define POWER double
#define SUFFIX int64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "functions/folds/reduce_type.inc"

#define TYPE int64
#define ELEMENT int64_t
#define TOTAL int64_t
#define POWER double
#define SUFFIX int64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "functions/folds/reduce_type.inc"

#define TYPE uint64
#define ELEMENT uint64_t
#define TOTAL uint64_t
#define POWER double
#define SUFFIX uint64
#define LOWEST 0
#define HIGHEST UINT64_MAX
#include "functions/folds/reduce_type.inc"

/* A total, in the type that the elements are folded to. */
union total {
    double real;
    int64_t integer;
    uint64_t natural;
};

/* How elements of a type are folded: as they are, or converted to `element` first. */
struct folding {
    mdf_dtype element; /* type that the folds take */
    mdf_dtype total;   /* type of the totals: float64, int64 or uint64 */
    const struct fold *folds;
};

static struct folding find_folding(mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);

    if (kind == 'f') {
        return dtype == MDF_DTYPE_FLOAT64 ? (struct folding){MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT64, REAL_FOLDS(float64)}
                                          : (struct folding){MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, REAL_FOLDS(float32)};
    }
    if (kind == 'i') {
        return dtype == MDF_DTYPE_INT32 ? (struct folding){MDF_DTYPE_INT32, MDF_DTYPE_INT64, folds_int32}
                                        : (struct folding){MDF_DTYPE_INT64, MDF_DTYPE_INT64, folds_int64};
    }
    return (struct folding){MDF_DTYPE_UINT64, MDF_DTYPE_UINT64, folds_uint64};
}

/* ------------------------------------------------------------------ folding */

/* Axes, simplified: those of size 1 gone, neighbours that are both kept or both reduced joined. */
struct axes {
    size_t n;
    int64_t *sizes, *strides;
};

/* One call, as its parallel parts see it. */
struct job {
    const struct mdf_fold *fold;
    struct folding folding;
    mdf_dtype dtype;
    const void *elements;
    void *target;
    struct axes kept, reduced; /* without the innermost axis */
    size_t n_inner;            /* size of the innermost axis, whose elements are adjacent */
    bool inner_reduced;        /* whether it is reduced */
    size_t n_outer;            /* product of the kept axes, ... */
    size_t n_rows;             /* and of the reduced ones; all without the innermost */
    size_t n_chunk, n_chunks; /* an inner axis that is kept: pieces, of so many elements, at most N_TOTALS, that it is cut into */
    size_t n_reduced;         /* elements that make one output element */
};

/* Offset of combination number `i` of the indices of some axes. */
static size_t offset_of(const struct axes *axes, size_t i)
{
    size_t offset = 0;

    if (axes->n == 1) { /* most calls, for which nothing is divided */
        return i * (size_t)axes->strides[0];
    }
    for (size_t axis = axes->n; axis-- > 0;) {
        size_t size = (size_t)axes->sizes[axis];

        offset += i % size * (size_t)axes->strides[axis];
        i /= size;
    }
    return offset;
}

static void start_totals(const struct job *job, enum fold_kind fold, union total *totals, size_t n)
{
    union total start;
    bool lowest = fold == FOLD_maximum, highest = fold == FOLD_minimum, one = fold == FOLD_product;

    if (fold == FOLD_exponentials || job->folding.total == MDF_DTYPE_FLOAT64) {
        start.real = lowest ? -INFINITY : highest ? INFINITY : one ? 1 : 0;
    } else if (job->folding.total == MDF_DTYPE_INT64) {
        start.integer = lowest ? INT64_MIN : highest ? INT64_MAX : one;
    } else {
        start.natural = highest ? UINT64_MAX : one;
    }
    for (size_t i = 0; i < n; i++) {
        totals[i] = start;
    }
}

/* How the largest or smallest whole numbers of the call's type are found; NULL: the fold is another one, or of other types. */
static const struct mdf_whole_extremes *whole_extremes_of(const struct job *job, enum fold_kind kind)
{
    return kind == FOLD_maximum || kind == FOLD_minimum ? mdf_whole_extremes(job->dtype) : NULL;
}

/* Folds `n` adjacent whole numbers into one total. */
static void fold_whole_extreme(const struct job *job, const struct mdf_whole_extremes *whole, enum fold_kind kind,
                               union total *total, const void *elements, size_t n)
{
    union total extreme;

    whole->row(n, elements, kind == FOLD_maximum, &extreme);
    find_folding(job->folding.total).folds[kind].columns(total, &extreme, 1, NULL);
}

/* Whether the fold is of real numbers by the kernels of vector_rows.h, whose order for extremes is their own. */
static bool is_real_extreme(const struct job *job, enum fold_kind kind)
{
    return (kind == FOLD_maximum || kind == FOLD_minimum) && job->folding.total == MDF_DTYPE_FLOAT64;
}

/* Whether `most` comes in place of the largest or smallest real number so far: of equal ones the first stays. */
static bool is_beyond(enum fold_kind kind, double most, double so_far)
{
    return isnan(most) || (kind == FOLD_maximum ? most > so_far : most < so_far);
}

/* Folds `n` adjacent elements of the type that folds take into one total. */
static void fold_row(const struct job *job, enum fold_kind kind, union total *total, const void *elements, size_t n, double shift)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->folding.element);
    double most;

    if (kind == FOLD_sum && job->dtype == MDF_DTYPE_FLOAT32) {
        total->real += rows->sum(n, elements);
    } else if (is_real_extreme(job, kind)) {
        most = kind == FOLD_maximum ? rows->largest(n, elements) : rows->smallest(n, elements);
        total->real = !isnan(total->real) && is_beyond(kind, most, total->real) ? most : total->real;
    } else {
        job->folding.folds[kind].row(total, elements, n, shift);
    }
}

/* The same of at most MDF_FOLD_BLOCK elements that are converted first. */
static void fold_block(const struct job *job, enum fold_kind kind, union total *total, const void *elements, size_t n,
                       double shift)
{
    double converted[MDF_FOLD_BLOCK]; /* room for elements of any type that folds take */

    mdf_convert_elements(job->folding.element, converted, job->dtype, elements, n, false);
    fold_row(job, kind, total, converted, n, shift);
}

/* The way that combines totals as `kind` does: its elements as they are. */
static enum fold_kind joining(enum fold_kind kind)
{
    enum fold_kind join = 0;

    while (mdf_fold_ways[join].term != MDF_ELEMENT(kept) || mdf_fold_ways[join].combine != mdf_fold_ways[kind].combine) {
        join++;
    }
    return join;
}

/* The folds that take totals of `kind` as elements. */
static const struct fold *joining_folds(const struct job *job, enum fold_kind kind)
{
    return &find_folding(kind == FOLD_exponentials ? MDF_DTYPE_FLOAT64 : job->folding.total).folds[joining(kind)];
}

/* The same of any number of them: in blocks, and blocks in pairs, as a row that needs no conversion (reduce_type.inc). */
static void fold_converted(const struct job *job, enum fold_kind kind, union total *total, const void *elements, size_t n,
                           double shift)
{
    size_t half = n / 2 / MDF_FOLD_N_LANES * MDF_FOLD_N_LANES;
    const struct fold *join = joining_folds(job, kind);
    union total halves[2];

    if (n <= MDF_FOLD_BLOCK) {
        fold_block(job, kind, total, elements, n, shift);
        return;
    }
    start_totals(job, kind, halves, 2);
    fold_converted(job, kind, &halves[0], elements, half, shift);
    fold_converted(job, kind, &halves[1], mdf_element_at(job->dtype, elements, half), n - half, shift);
    if (is_real_extreme(job, kind)) {
        halves[0] = is_beyond(kind, halves[1].real, halves[0].real) ? halves[1] : halves[0];
        *total = !isnan(total->real) && is_beyond(kind, halves[0].real, total->real) ? halves[0] : *total;
    } else {
        join->columns(&halves[0], &halves[1], 1, &shift);
        join->columns(total, &halves[0], 1, &shift);
    }
}

/* Folds `n` adjacent elements into one total, or each into its own (n <= N_TOTALS). */
static void fold_elements(const struct job *job, enum fold_kind kind, union total *totals, size_t first, size_t n,
                          const double *shifts)
{
    const void *elements = mdf_element_at(job->dtype, job->elements, first);
    const struct mdf_whole_extremes *whole = whole_extremes_of(job, kind);
    bool is_direct = job->folding.element == job->dtype;
    double converted[N_TOTALS]; /* room for elements of any type that folds take */

    if (job->inner_reduced && whole != NULL && n > 0) {
        fold_whole_extreme(job, whole, kind, totals, elements, n);
    } else if (job->inner_reduced) {
        (is_direct ? fold_row : fold_converted)(job, kind, totals, elements, n, shifts[0]);
    } else {
        if (!is_direct) {
            mdf_convert_elements(job->folding.element, converted, job->dtype, elements, n, false);
        }
        job->folding.folds[kind].columns(totals, is_direct ? elements : converted, n, shifts);
    }
}

/* Folds of several rows at once: where the next ones begin, from element `first` on; how many they are. */
static size_t next_rows(const struct job *job, size_t first, size_t row, size_t offsets[ROWS_AT_ONCE])
{
    const struct axes *axes = &job->reduced;
    size_t n = job->n_rows - row < ROWS_AT_ONCE ? job->n_rows - row : ROWS_AT_ONCE, offset = offset_of(axes, row);
    size_t n_last = axes->n > 0 ? (size_t)axes->sizes[axes->n - 1] : 1, place = row % n_last;

    for (size_t i = 0; i < n; i++) {
        offsets[i] = first + offset;
        if (++place < n_last) {
            offset += (size_t)axes->strides[axes->n - 1];
        } else {
            place = 0;
            offset = offset_of(axes, row + i + 1);
        }
    }
    return n;
}

/* Sums of reals, each of `n` adjacent elements of all rows into its own total. */
static void add_rows(const struct job *job, union total *totals, size_t first, size_t n)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->dtype);
    size_t offsets[ROWS_AT_ONCE];

    for (size_t row = 0, n_now; row < job->n_rows; row += n_now) {
        n_now = next_rows(job, first, row, offsets);
        rows->add_wide(n, n_now, offsets, job->elements, &totals[0].real);
    }
}

/* The largest or smallest real numbers, each of `n` adjacent elements of all rows into its own total. */
static void find_extremes(const struct job *job, bool largest, union total *totals, size_t first, size_t n)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->dtype);
    double most[N_TOTALS]; /* room for elements of either type */
    size_t offsets[ROWS_AT_ONCE];

    for (size_t row = 0, n_now; row < job->n_rows; row += n_now) {
        n_now = next_rows(job, first, row, offsets);
        if (row == 0) {
            rows->take(n, mdf_element_at(job->dtype, job->elements, offsets[0]), 1, most);
        }
        (largest ? rows->larger_rows : rows->smaller_rows)(n, n_now - (row == 0), offsets + (row == 0), job->elements, most);
    }
    mdf_convert_elements(MDF_DTYPE_FLOAT64, totals, job->dtype, most, job->n_rows > 0 ? n : 0, false);
}

/* The same where elements are converted. */
static void find_converted_extremes(const struct job *job, bool largest, union total *totals, size_t first, size_t n)
{
    const struct mdf_vector_rows *rows = mdf_vector_rows(MDF_DTYPE_FLOAT32);
    float most[N_TOTALS], next[N_TOTALS];

    for (size_t row = 0; row < job->n_rows; row++) {
        const void *elements = mdf_element_at(job->dtype, job->elements, first + offset_of(&job->reduced, row));

        mdf_convert_elements(MDF_DTYPE_FLOAT32, row == 0 ? most : next, job->dtype, elements, n, false);
        if (row > 0) {
            (largest ? rows->larger : rows->smaller)(n, next, 1, most);
        }
    }
    mdf_convert_elements(MDF_DTYPE_FLOAT64, totals, MDF_DTYPE_FLOAT32, most, job->n_rows > 0 ? n : 0, false);
}

/* The same of whole numbers. */
static void find_whole_extremes(const struct job *job, const struct mdf_whole_extremes *whole, bool largest, union total *totals,
                                size_t first, size_t n)
{
    uint64_t most[N_TOTALS]; /* room for elements of any type */
    size_t offsets[ROWS_AT_ONCE];

    for (size_t row = 0, n_now; row < job->n_rows; row += n_now) {
        n_now = next_rows(job, first, row, offsets);
        whole->rows(n, n_now, offsets, job->elements, largest, row == 0, most);
    }
    mdf_convert_elements(job->folding.total, totals, job->dtype, most, job->n_rows > 0 ? n : 0, false);
}

/* The totals of one piece of the output: one element, or up to N_TOTALS adjacent ones. */
static void fold_piece(const struct job *job, enum fold_kind kind, union total *totals, size_t first, size_t n,
                       const double *shifts)
{
    start_totals(job, kind, totals, job->inner_reduced ? 1 : n);
    if (kind == FOLD_sum && !job->inner_reduced && mdf_dtype_is_real(job->dtype)) {
        add_rows(job, totals, first, n);
        return;
    }
    if (is_real_extreme(job, kind) && !job->inner_reduced) {
        (job->folding.element == job->dtype ? find_extremes : find_converted_extremes)(job, kind == FOLD_maximum, totals, first,
                                                                                       n);
        return;
    }
    if (whole_extremes_of(job, kind) != NULL && !job->inner_reduced) {
        find_whole_extremes(job, whole_extremes_of(job, kind), kind == FOLD_maximum, totals, first, n);
        return;
    }
    for (size_t row = 0; row < job->n_rows; row++) {
        fold_elements(job, kind, totals, first + offset_of(&job->reduced, row), n, shifts);
    }
}

/* ------------------------------------------------------------------ short rows */

/* Rows that lie one behind the other are folded side by side, element k of all of them at once: each in the order that it has
 * alone (functions/kernel/fold.h), of which lanes that no element comes to are no part. Up to MDF_SHORT_ROW elements sums of 8
 * and of 16 lanes are the same. */

/* Totals of rows from their turned elements; `lanes` has room for n_rows of each lane. */
static void fold_turned(const struct job *job, enum fold_kind kind, union total *totals, const void *turned, size_t n_rows,
                        size_t n, const double *shifts)
{
    const struct fold *terms = &job->folding.folds[kind], *join = joining_folds(job, kind);
    union total lanes[MDF_FOLD_N_LANES][MDF_ROWS_AT_ONCE];
    size_t n_lanes = n < MDF_FOLD_N_LANES ? n : MDF_FOLD_N_LANES;

    for (size_t k = 0; k < n; k++) {
        if (k < n_lanes) {
            start_totals(job, kind, lanes[k], n_rows);
        }
        terms->columns(lanes[k % MDF_FOLD_N_LANES], mdf_element_at(job->folding.element, turned, k * n_rows), n_rows, shifts);
    }
    for (size_t half = MDF_FOLD_N_LANES / 2; half > 0; half /= 2) {
        for (size_t lane = 0; lane < half && lane + half < n_lanes; lane++) {
            join->columns(lanes[lane], lanes[lane + half], n_rows, shifts);
        }
    }
    memcpy(totals, lanes[0], n_rows * sizeof *totals);
}

/* The same of the largest or smallest real numbers; the turned elements are written over. */
static void find_turned_extremes(const struct job *job, bool largest, union total *totals, void *turned, size_t n_rows, size_t n)
{
    mdf_dtype dtype = job->folding.element;
    const struct mdf_vector_rows *rows = mdf_vector_rows(dtype);

    for (size_t half = MDF_SHORT_ROW / 2; half > 0; half /= 2) {
        for (size_t k = 0; k < half && k + half < n; k++) {
            (largest ? rows->larger : rows->smaller)(n_rows, mdf_element_at(dtype, turned, (k + half) * n_rows), 1,
                                                     mdf_element_to_write(dtype, turned, k * n_rows));
        }
    }
    mdf_convert_elements(MDF_DTYPE_FLOAT64, totals, dtype, turned, n_rows, false);
}

/* Totals of up to MDF_ROWS_AT_ONCE short rows, which begin at element `first`. */
static void fold_short_rows(const struct job *job, enum fold_kind kind, union total *totals, size_t first, size_t n_rows,
                            const double *shifts)
{
    const void *elements = mdf_element_at(job->dtype, job->elements, first);
    size_t n = job->n_inner;
    double converted[MDF_ROWS_AT_ONCE * MDF_SHORT_ROW],
        turned[MDF_ROWS_AT_ONCE * MDF_SHORT_ROW]; /* room for elements of any type that folds take */

    if (job->folding.element != job->dtype) {
        mdf_convert_elements(job->folding.element, converted, job->dtype, elements, n_rows * n, false);
        elements = converted;
    }
    mdf_turn_rows(mdf_dtype_size(job->folding.element), turned, elements, n_rows, n);
    if (is_real_extreme(job, kind)) {
        find_turned_extremes(job, kind == FOLD_maximum, totals, turned, n_rows, n);
    } else {
        fold_turned(job, kind, totals, turned, n_rows, n, shifts);
    }
}

/* What finds totals of rows that lie one behind the other; NULL: they do not, or there is no kernel for it. */
typedef void (*fold_of_rows)(size_t n_rows, size_t n, const void *elements, double *totals);

static fold_of_rows adjacent_rows_fold(const struct job *job)
{
    enum fold_kind kind = (enum fold_kind)(job->fold->way - mdf_fold_ways);
    const struct mdf_vector_rows *rows = mdf_vector_rows(job->dtype);

    if (job->n_rows != 1 || job->n_inner == 0 || job->folding.element != job->dtype || job->folding.total != MDF_DTYPE_FLOAT64) {
        return NULL;
    }
    return kind == FOLD_sum && job->dtype == MDF_DTYPE_FLOAT32 ? rows->sums
           : kind == FOLD_maximum                              ? rows->largest_of_rows
           : kind == FOLD_minimum                              ? rows->smallest_of_rows
                                                               : NULL;
}

/* The same for rows of any length. */
static void fold_adjacent_rows(const struct job *job, enum fold_kind kind, union total *totals, size_t first, size_t n_rows,
                               const double *shifts)
{
    double found[MDF_ROWS_AT_ONCE];

    (void)kind;
    (void)shifts;
    adjacent_rows_fold(job)(n_rows, job->n_inner, mdf_element_at(job->dtype, job->elements, first), found);
    for (size_t row = 0; row < n_rows; row++) {
        totals[row].real = found[row];
    }
}

/* Whether rows that lie one behind the other give the largest or smallest whole numbers. */
static bool has_whole_rows(const struct job *job)
{
    return job->n_rows == 1 && job->n_inner > 0 &&
           whole_extremes_of(job, (enum fold_kind)(job->fold->way - mdf_fold_ways)) != NULL;
}

static void find_whole_extremes_of_rows(const struct job *job, enum fold_kind kind, union total *totals, size_t first,
                                        size_t n_rows, const double *shifts)
{
    const struct mdf_whole_extremes *whole = whole_extremes_of(job, kind);

    (void)shifts;
    for (size_t row = 0; row < n_rows; row++) {
        whole->row(job->n_inner, mdf_element_at(job->dtype, job->elements, first + row * job->n_inner), kind == FOLD_maximum,
                   &totals[row]);
    }
}

/* ------------------------------------------------------------------ results */

static double total_as_real(const struct job *job, const union total *total)
{
    return job->folding.total == MDF_DTYPE_FLOAT64 ? total->real
           : job->folding.total == MDF_DTYPE_INT64 ? (double)total->integer
                                                   : (double)total->natural;
}

static void divide(const struct job *job, union total *total)
{
    if (job->folding.total == MDF_DTYPE_FLOAT64) {
        total->real /= (double)job->n_reduced;
    } else if (job->n_reduced == 0) {
        total->natural = 0;
    } else if (job->folding.total == MDF_DTYPE_INT64) {
        total->integer /= (int64_t)job->n_reduced;
    } else {
        total->natural /= job->n_reduced;
    }
}

/* The lowest or highest value of a whole type, which is narrower than the total. */
static void bound_of_type(mdf_dtype dtype, bool lowest, union total *total)
{
    unsigned n_bits = (unsigned)mdf_dtype_size(dtype) * 8;

    if (mdf_dtype_kind(dtype) == 'i') {
        total->integer = lowest ? INT64_MIN >> (64 - n_bits) : INT64_MAX >> (64 - n_bits);
    } else {
        total->natural = lowest ? 0 : UINT64_MAX >> (64 - n_bits);
    }
}

/* What comes last of a real total. */
static double finish_real(const struct job *job, double total)
{
    enum mdf_element_id after = job->fold->after->id;

    return after == MDF_ELEMENT_square_root ? sqrt(total) : after == MDF_ELEMENT_logarithm ? mdf_log_float64(total) : total;
}

/* Turns totals into output elements. */
static void finish(const struct job *job, union total *totals, size_t n, const double *shifts, size_t first)
{
    bool stays = job->fold->after == MDF_ELEMENT(kept), is_highest = job->fold->way->start == MDF_FOLD_HIGHEST;
    bool is_bound = (is_highest || job->fold->way->start == MDF_FOLD_LOWEST) && job->n_reduced == 0 &&
                    job->folding.total != MDF_DTYPE_FLOAT64;
    size_t n_changed = job->fold->divides || !stays || is_bound ? n : 0;

    for (size_t i = 0; i < n_changed; i++) {
        if (job->fold->divides) {
            divide(job, &totals[i]);
        } else if (stays && is_bound) {
            bound_of_type(job->dtype, !is_highest, &totals[i]);
        } else if (!stays) {
            totals[i].real = job->fold->shifts ? finish_real(job, totals[i].real) + shifts[i]
                                               : finish_real(job, total_as_real(job, &totals[i]));
        }
    }
    mdf_convert_elements(job->dtype, mdf_element_to_write(job->dtype, job->target, first),
                         stays ? job->folding.total : MDF_DTYPE_FLOAT64, totals, n, false);
}

/* How a piece of the output is folded, of `n` elements of each row or of `n` rows. */
typedef void (*fold_some)(const struct job *job, enum fold_kind kind, union total *totals, size_t first, size_t n,
                          const double *shifts);

/* The totals of one piece, `n_outputs` of them, and, where exp is summed, the largest elements, by which it is shifted lest it
 * overflow; else shifts are 0. */
static void reduce_piece(const struct job *job, fold_some fold, size_t first, size_t n, size_t n_outputs, union total *totals,
                         double *shifts)
{
    memset(shifts, 0, n_outputs * sizeof *shifts);
    if (job->fold->shifts) {
        fold(job, FOLD_maximum, totals, first, n, shifts);
        for (size_t i = 0; i < n_outputs; i++) {
            double largest = total_as_real(job, &totals[i]);

            shifts[i] = isfinite(largest) && job->n_reduced > 0 ? largest : 0;
        }
    }
    fold(job, (enum fold_kind)(job->fold->way - mdf_fold_ways), totals, first, n, shifts);
}

/* Rows [first, first + n), each of which gives one total. */
static void reduce_rows(const struct job *job, size_t first, size_t n, union total *totals, double *shifts)
{
    bool is_short = job->n_rows == 1 && job->n_inner <= MDF_SHORT_ROW;
    fold_some fold = is_short                          ? fold_short_rows
                     : adjacent_rows_fold(job) != NULL ? fold_adjacent_rows
                     : has_whole_rows(job)             ? find_whole_extremes_of_rows
                                                       : NULL;
    size_t n_now;

    for (size_t row = 0; row < n; row += n_now) {
        n_now = fold == NULL ? 1 : n - row < MDF_ROWS_AT_ONCE ? n - row : MDF_ROWS_AT_ONCE;
        if (fold != NULL) {
            reduce_piece(job, fold, (first + row) * job->n_inner, n_now, n_now, &totals[row], &shifts[row]);
        } else {
            reduce_piece(job, fold_piece, offset_of(&job->kept, first + row), job->n_inner, 1, &totals[row], &shifts[row]);
        }
    }
}

/* Pieces [first, last) of the output, which are numbered row by row: some elements, each the fold of a row, or one piece of up to
 * N_TOTALS adjacent elements. */
static void reduce_range(void *context, size_t first, size_t last)
{
    const struct job *job = context;
    double shifts[N_TOTALS];
    union total totals[N_TOTALS];
    size_t n;

    for (size_t i = first; i < last; i += job->inner_reduced ? n : 1) {
        size_t outer = i / job->n_chunks, column = i % job->n_chunks * job->n_chunk,
               limit = job->inner_reduced ? last - i : job->n_inner - column;

        n = limit < job->n_chunk ? limit : job->n_chunk;
        if (job->inner_reduced) {
            reduce_rows(job, outer, n, totals, shifts);
            finish(job, totals, n, shifts, outer);
        } else {
            reduce_piece(job, fold_piece, offset_of(&job->kept, outer) + column, n, n, totals, shifts);
            finish(job, totals, n, shifts, outer * job->n_inner + column);
        }
    }
}

/* ------------------------------------------------------------------ the kernel */

struct reduce_settings {
    int64_t keep_axes;
    int64_t none_is_none; /* noop_with_empty_axes: without axes nothing is reduced, rather than all */
    struct mdf_ints axes; /* an input from version 18 on, of ReduceSum from 13 on */
};

static const struct mdf_setting reduce_table[] = {
    {"keepdims", MDF_SETTING_INT, offsetof(struct reduce_settings, keep_axes)},
    {"noop_with_empty_axes", MDF_SETTING_INT, offsetof(struct reduce_settings, none_is_none)},
    {"axes", MDF_SETTING_INTS, offsetof(struct reduce_settings, axes)},
    {NULL, MDF_SETTING_INT, 0}};

/* Which axes are reduced; one that is given twice is, as ONNX Runtime has it, and a scalar has the first axis and the last one as well
 * as none, as in PyTorch, whose operators of scalars are written so. */
static bool find_axes(struct mdf_call *call, size_t rank, bool *reduced, bool *keeps)
{
    const struct reduce_settings *settings = call->settings;
    const int64_t *axes = settings->axes.items;
    size_t n = axes != NULL ? settings->axes.n : 0, axis;

    if (mdf_call_input(call, 1) != NULL) {
        axes = mdf_call_integers(call, 1, MDF_SCRATCH_FIRST, &n);
        if (axes == NULL) {
            return false;
        }
    }
    for (size_t k = 0; k < rank; k++) {
        reduced[k] = n == 0 && settings->none_is_none != 1;
    }
    *keeps = settings->keep_axes != 0;
    for (size_t i = 0; i < n; i++) {
        if (rank == 0 && (axes[i] == 0 || axes[i] == -1)) {
            continue;
        }
        if (!mdf_call_axis(call, axes[i], rank, &axis)) {
            return false;
        }
        reduced[axis] = true;
    }
    return true;
}

/* Adds an axis outside those that the job has: to its neighbour where both are of one kind, else as one more. */
static void add_axis(struct axes *axes, int64_t size, int64_t stride, bool join)
{
    if (join) {
        axes->sizes[axes->n - 1] *= size;
        return;
    }
    axes->sizes[axes->n] = size;
    axes->strides[axes->n++] = stride;
}

static void reverse(struct axes *axes)
{
    for (size_t i = 0; i < axes->n / 2; i++) {
        size_t j = axes->n - 1 - i;
        int64_t size = axes->sizes[i], stride = axes->strides[i];

        axes->sizes[i] = axes->sizes[j];
        axes->strides[i] = axes->strides[j];
        axes->sizes[j] = size;
        axes->strides[j] = stride;
    }
}

/* Sorts the axes of an array with elements into kept, reduced and innermost. */
static void plan_axes(struct job *job, size_t rank, const int64_t *shape, const bool *reduced)
{
    int64_t stride = 1;
    bool any = false, was_reduced = false;

    job->n_inner = 1;
    for (size_t axis = rank; axis-- > 0;) {
        bool is_reduced = reduced[axis];
        struct axes *axes = is_reduced ? &job->reduced : &job->kept;

        if (shape[axis] == 1) {
            continue;
        }
        if (!any || (job->kept.n + job->reduced.n == 0 && is_reduced == job->inner_reduced)) {
            job->inner_reduced = is_reduced;
            job->n_inner *= (size_t)shape[axis];
        } else {
            add_axis(axes, shape[axis], stride, axes->n > 0 && is_reduced == was_reduced);
        }
        any = true;
        was_reduced = is_reduced;
        stride *= shape[axis];
    }
    reverse(&job->kept);
    reverse(&job->reduced);
}

/* An array without elements: every output element is a fold of nothing. */
static void plan_empty(struct job *job, size_t n_outputs)
{
    job->inner_reduced = false;
    job->n_inner = n_outputs;
}

static bool run(struct mdf_call *call, struct job *job, size_t n_elements, size_t n_outputs)
{
    size_t n_pieces;

    job->n_outer = mdf_axes_product(job->kept.sizes, 0, job->kept.n);
    job->n_rows = n_elements == 0 ? 0 : mdf_axes_product(job->reduced.sizes, 0, job->reduced.n);
    /* Rows are best gone through as long as they are, but threads need pieces. */
    job->n_chunk = call->context->n_threads > 1 && job->n_outer < MANY_ROWS ? FEW_TOTALS : N_TOTALS;
    job->n_chunks = job->inner_reduced ? 1 : (job->n_inner + job->n_chunk - 1) / job->n_chunk;
    job->n_reduced = n_outputs == 0 ? 0 : n_elements / n_outputs;
    n_pieces = n_outputs == 0 ? 0 : job->n_outer * job->n_chunks;
    if (n_pieces > 0) {
        mdf_parallel_for(call->context, n_pieces, ((double)n_elements + (double)n_outputs) / (double)n_pieces, reduce_range, job);
    }
    return true;
}

bool mdf_reduce(struct mdf_call *call, const struct mdf_value *data, size_t n_axes, const int64_t *given)
{
    struct job job = {.fold = call->operator->fold };
    int64_t *room, *own;
    const int64_t *shape;
    bool *reduced, keeps;
    size_t rank = data->rank, n_outputs;
    struct mdf_box box;

    if (!mdf_box_prepare(call, 0, 6 * rank, &box, &room)) {
        return false;
    }
    reduced = (bool *)room; /* bools have room where whole numbers have */
    if (!call->operator->fold->axes(call, rank, reduced, &keeps)) {
        return false;
    }
    job.dtype = (mdf_dtype)data->dtype;
    if (mdf_dtype_kind(job.dtype) == 'c' || mdf_dtype_kind(job.dtype) == 's') {
        return mdf_call_error(call, MDF_TYPE, "elements of type %s can not be reduced", mdf_dtype_name(job.dtype));
    }
    job.folding = find_folding(job.dtype);
    own = room + rank;
    for (size_t axis = 0; given == NULL && axis < rank; axis++) {
        if (!reduced[axis] || keeps) {
            own[n_axes++] = reduced[axis] ? 1 : mdf_value_shape(data)[axis];
        }
    }
    shape = given != NULL ? given : own;
    job.target = mdf_call_output(call, 0, job.dtype, n_axes, shape);
    if (job.target == NULL) {
        return false;
    }
    n_outputs = mdf_axes_product(shape, 0, n_axes);
    job.elements = data->data;
    job.kept = (struct axes){0, own + rank, own + 2 * rank};
    job.reduced = (struct axes){0, own + 3 * rank, own + 4 * rank};
    if (data->length > 0) {
        plan_axes(&job, rank, mdf_value_shape(data), reduced);
    } else {
        plan_empty(&job, n_outputs);
    }
    return run(call, &job, data->length, n_outputs);
}

static bool reduce(struct mdf_call *call)
{
    const struct mdf_value *data = mdf_call_tensor(call, 0);

    return data != NULL && mdf_reduce(call, data, 0, NULL);
}

/* Of a reduction: an expression of s, which is dy with the input's shape. */
#define AXES "x1 if x1 is not None else axes"
#define SPREAD(what) "gradient.spread(" what ", x0, " AXES ", not noop_with_empty_axes)"
#define OTHERS "gradient.others(x0, " AXES ", not noop_with_empty_axes)"
/* Each of the largest or smallest gets the same share. */
#define IS_CHOSEN "(x0 == " SPREAD("y") ")"
#define SHARE    \
    SPREAD("dy") \
    " * " IS_CHOSEN " / " SPREAD("gradient.sum_to(1.0 * " IS_CHOSEN ", gradient.kept(x0, " AXES ", not noop_with_empty_axes))")

const struct mdf_operator mdf_operators_reduce[] = {
#define REDUCTION(name, id, last, more, derivative)                     \
    {name,                                                              \
     1,                                                                 \
     99,                                                                \
     reduce,                                                            \
     reduce_table,                                                      \
     sizeof(struct reduce_settings),                                    \
     MDF_OPERATOR_PURE,                                                 \
     .fold = &(const struct mdf_fold){.way = &mdf_fold_ways[FOLD_##id], \
                                      .totals = MDF_FOLD_WIDE,          \
                                      .order = MDF_FOLD_LANES,          \
                                      .after = MDF_ELEMENT(last),       \
                                      .axes = find_axes,                \
                                      more},                            \
     .derivatives = MDF_DERIVATIVES({0, derivative})},
#include "functions/folds/folds.def"
    {NULL}};
