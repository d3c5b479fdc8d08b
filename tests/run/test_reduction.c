/* test_reduction.c - exact sums, and what comes of values in cells: the same whatever the order and the parts, and right. */
#include "mdf_c/base/arena.h"
#include "mdf_c/run/sweep/reduction.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static struct mdf_memory memory;

static void set_up(void)
{
    mdf_memory_init(&memory, NULL, 0);
}

static void tear_down(void)
{
    cr_assert_eq(atomic_load(&memory.used_bytes), 0u, "memory is left");
}

TestSuite(reduction, .init = set_up, .fini = tear_down);

/* ------------------------------------------------------------------ sums */

static double sum_of(const double *numbers, size_t n)
{
    struct mdf_exact_sum sum = {0};
    double rounded;
    size_t i;

    for (i = 0; i < n; i++) {
        cr_assert(mdf_exact_sum_add(&sum, &memory, numbers[i]));
    }
    rounded = mdf_exact_sum_round(&sum);
    mdf_exact_sum_release(&sum, &memory);
    return rounded;
}

/* Numbers, and the nearest double to their sum. */
static const struct {
    double numbers[6];
    double sum;
} sums[] = {
    {{0}, 0},
    {{1, 2, 3}, 6},
    {{1e308, 1e308, -1e308, -1e308, 5}, 5},
    {{1e16, 1, -1e16}, 1},
    {{1, 0x1p-53}, 1},                              /* half of the last bit: to even */
    {{1, 0x1p-53, 0x1p-1074}, 0x1.0000000000001p0}, /* a trace more */
    {{0x1.0000000000001p0, 0x1p-53}, 0x1.0000000000002p0},
    {{-1, -0x1p-53, -0x1p-1074}, -0x1.0000000000001p0},
    {{0x1p-1074, 0x1p-1074}, 0x1p-1073},
    {{0x1p-1022, -0x1p-1074}, 0x1.ffffffffffffep-1023},
    {{1e308, 1e308}, INFINITY},
    {{-1e-300, 1e300, -1e300}, -1e-300},
    {{0.1, 0.2, 0.3, -0.6}, 0x1p-55},
};

Test(reduction, sums_are_exact_and_rounded_once)
{
    size_t i;

    for (i = 0; i < sizeof sums / sizeof *sums; i++) {
        double sum = sum_of(sums[i].numbers, 6);

        cr_assert(memcmp(&sum, &sums[i].sum, sizeof sum) == 0 || sum == sums[i].sum, "sum %zu: %a for %a", i, sum, sums[i].sum);
    }
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;

    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

/* Of any exponent, finite. */
static double random_number(uint64_t *state)
{
    double number;

    do {
        uint64_t bits = next_random(state);

        memcpy(&number, &bits, sizeof number);
    } while (!isfinite(number));
    return number;
}

Test(reduction, numbers_and_their_opposites_leave_nothing)
{
    enum { N = 2000 };
    struct mdf_exact_sum sum = {0}, part = {0};
    uint64_t state = 1, again = 1;
    size_t i;

    for (i = 0; i < N; i++) {
        cr_assert(mdf_exact_sum_add(&sum, &memory, random_number(&state)));
    }
    cr_assert(mdf_exact_sum_add(&sum, &memory, 0.375));
    for (i = 0; i < N; i++) {
        cr_assert(mdf_exact_sum_add(&part, &memory, -random_number(&again)));
        if (i % 7 == 0) {
            cr_assert(mdf_exact_sum_merge(&sum, &memory, &part));
            mdf_exact_sum_release(&part, &memory);
        }
    }
    cr_assert(mdf_exact_sum_merge(&sum, &memory, &part));
    cr_assert_eq(mdf_exact_sum_round(&sum), 0.375);
    mdf_exact_sum_release(&part, &memory);
    mdf_exact_sum_release(&sum, &memory);
}

Test(reduction, many_mergers_need_no_more_digits)
{
    struct mdf_exact_sum sum = {0}, next = {0};
    size_t i;

    for (i = 0; i < 1000; i++) {
        cr_assert(mdf_exact_sum_add(&next, &memory, i % 2 == 0 ? -1.5 : -2.5));
        cr_assert(mdf_exact_sum_merge(&next, &memory, &sum));
        mdf_exact_sum_release(&sum, &memory);
        sum = next;
        memset(&next, 0, sizeof next);
    }
    cr_assert_lt(sum.n, 10u);
    cr_assert_eq(mdf_exact_sum_round(&sum), -2000.0);
    mdf_exact_sum_release(&sum, &memory);
}

/* ------------------------------------------------------------------ cells */

enum { CELLS = 3, VALUES = 2, N = 999 };

static const double quantiles[] = {0, 0.1, 0.5, 1}, edges[] = {-2, -1, 0, 0.5, 2};
static const mdf_sweep_reduction wanted[] = {{0, MDF_REDUCTION_COUNT, NULL, 0},
                                             {0, MDF_REDUCTION_MEAN, NULL, 0},
                                             {0, MDF_REDUCTION_VAR, NULL, 0},
                                             {0, MDF_REDUCTION_QUANTILES, quantiles, 4},
                                             {0, MDF_REDUCTION_HISTOGRAM, edges, 5}};

enum { WANTED = sizeof wanted / sizeof *wanted };

struct fixture {
    struct mdf_arena arena;
    struct mdf_reduction_plan plan;
};

static void begin(struct fixture *fixture)
{
    size_t i;

    memset(fixture, 0, sizeof *fixture);
    mdf_arena_init(&fixture->arena, &memory);
    fixture->plan.n_cells = CELLS;
    for (i = 0; i < WANTED; i++) {
        cr_assert(mdf_reduction_add(&fixture->plan, &fixture->arena, &wanted[i], WANTED, VALUES, false));
    }
}

/* Instance i: its cell, and its values. */
static void value_of(size_t i, double values[VALUES])
{
    uint64_t state = i;

    values[0] = ((double)(next_random(&state) >> 11) * 0x1p-53 - 0.5) * 4;
    values[1] = 1e9 + values[0] * 1e-3;
}

static void add(struct mdf_reduced *reduced, size_t i)
{
    double values[VALUES];

    value_of(i, values);
    cr_assert(mdf_reduced_add(reduced, &reduced->plan->quantities[0], 1, &(size_t){i % CELLS}, MDF_DTYPE_FLOAT64, values, 0));
}

static void tell(const struct mdf_reduced *reduced, size_t i, void *array)
{
    cr_assert(mdf_reduced_tell(reduced, i, array));
}

Test(reduction, what_comes_is_the_same_in_any_order_and_parts)
{
    struct fixture fixture;
    struct mdf_reduced *whole, *parts, *part;
    struct mdf_text bytes, others;
    size_t i, stride;

    begin(&fixture);
    whole = mdf_reduced_new(&memory, &fixture.plan);
    for (i = 0; i < N; i++) {
        add(whole, i);
    }
    mdf_text_init(&bytes, &memory);
    mdf_reduced_write(whole, &bytes);
    for (stride = 2; stride < 12; stride += 3) {
        parts = mdf_reduced_new(&memory, &fixture.plan);
        for (size_t first = stride; first-- > 0;) {
            part = mdf_reduced_new(&memory, &fixture.plan);
            for (i = first; i < N; i += stride) {
                add(part, i);
            }
            if (first % 2 == 0) {
                cr_assert(mdf_reduced_merge(parts, part));
            } else {
                mdf_text_init(&others, &memory);
                mdf_reduced_write(part, &others);
                cr_assert_eq(mdf_reduced_read(parts, others.bytes, others.length), MDF_REDUCED_ADDED);
                mdf_text_release(&others);
            }
            mdf_reduced_free(part);
        }
        mdf_text_init(&others, &memory);
        mdf_reduced_write(parts, &others);
        cr_assert_eq(others.length, bytes.length);
        cr_assert_arr_eq(others.bytes, bytes.bytes, bytes.length);
        mdf_text_release(&others);
        mdf_reduced_free(parts);
    }
    mdf_text_release(&bytes);
    mdf_reduced_free(whole);
    mdf_arena_release(&fixture.arena);
}

Test(reduction, means_and_variances_are_those_of_the_numbers)
{
    struct fixture fixture;
    struct mdf_reduced *reduced;
    static const double middles[VALUES] = {0, 1e9};
    double means[CELLS][VALUES], variances[CELLS][VALUES];
    int64_t counts[CELLS][VALUES], bins[CELLS][VALUES][4], n_inside;
    size_t i, cell, j;

    begin(&fixture);
    reduced = mdf_reduced_new(&memory, &fixture.plan);
    for (i = 0; i < N; i++) {
        add(reduced, i);
    }
    tell(reduced, 0, counts);
    tell(reduced, 1, means);
    tell(reduced, 2, variances);
    tell(reduced, 4, bins);
    for (cell = 0; cell < CELLS; cell++) {
        for (j = 0; j < VALUES; j++) {
            double values[VALUES], squares = 0, mean;
            int64_t sum = 0; /* of distances from the middle, exact in whole numbers of 2^-51 */

            n_inside = 0;
            for (i = cell; i < N; i += CELLS) {
                value_of(i, values);
                sum += (int64_t)ldexp(values[j] - middles[j], 51);
                n_inside += values[j] >= -2 && values[j] <= 2;
            }
            mean = ldexp((double)sum, -51) / (N / CELLS);
            for (i = cell; i < N; i += CELLS) {
                value_of(i, values);
                squares += pow(values[j] - middles[j] - mean, 2);
            }
            cr_assert_eq(counts[cell][j], N / CELLS);
            cr_assert_float_eq(means[cell][j], middles[j] + mean, fabs(middles[j] + mean) * 4e-16);
            /* of numbers around 1e9 that differ by 1e-3, the variance has all its digits */
            cr_assert_float_eq(variances[cell][j], squares / (N / CELLS), squares * 1e-10 / (N / CELLS), "%.17g %.17g",
                               variances[cell][j], squares / (N / CELLS));
            cr_assert_eq(bins[cell][j][0] + bins[cell][j][1] + bins[cell][j][2] + bins[cell][j][3], n_inside);
        }
    }
    mdf_reduced_free(reduced);
    mdf_arena_release(&fixture.arena);
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return first < second ? -1 : first > second;
}

Test(reduction, quantiles_are_off_by_a_part_in_2048_at_most)
{
    struct fixture fixture;
    struct mdf_reduced *reduced;
    double told[CELLS][VALUES][4], sorted[N / CELLS], values[VALUES];
    size_t i, j, k;

    begin(&fixture);
    reduced = mdf_reduced_new(&memory, &fixture.plan);
    for (i = 0; i < N; i++) {
        add(reduced, i);
    }
    tell(reduced, 3, told);
    for (j = 0; j < VALUES; j++) {
        for (i = 0; i < N / CELLS; i++) {
            value_of(CELLS * i, values);
            sorted[i] = values[j];
        }
        qsort(sorted, N / CELLS, sizeof *sorted, compare);
        for (k = 0; k < 4; k++) {
            double place = quantiles[k] * (N / CELLS - 1), low = sorted[(size_t)place], high = sorted[(size_t)ceil(place)];
            double largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);

            cr_assert_float_eq(told[0][j][k], low + (high - low) * (place - floor(place)), largest / 2048 + 1e-300);
        }
        cr_assert_eq(told[0][j][0], sorted[0]);
        cr_assert_eq(told[0][j][3], sorted[N / CELLS - 1]);
    }
    mdf_reduced_free(reduced);
    mdf_arena_release(&fixture.arena);
}

/* ------------------------------------------------------------------ what is no number, and whole numbers */

Test(reduction, infinities_and_nan_are_told_as_numpy_does)
{
    static const double numbers[][3] = {{1, NAN, 2}, {1, INFINITY, 2}, {-INFINITY, 1, INFINITY}, {-INFINITY, 0, 0}};
    static const double means[] = {NAN, INFINITY, NAN, -INFINITY}, medians[] = {NAN, 2, 1, 0};
    static const double middle = 0.5;
    const mdf_sweep_reduction of_one[] = {
        {0, MDF_REDUCTION_MEAN, NULL, 0}, {0, MDF_REDUCTION_VAR, NULL, 0}, {0, MDF_REDUCTION_QUANTILES, &middle, 1}};
    size_t i, j;

    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct mdf_reduction_plan plan = {.n_cells = 1};
        struct mdf_reduced *reduced;
        struct mdf_arena arena;
        double told[3];

        mdf_arena_init(&arena, &memory);
        for (j = 0; j < 3; j++) {
            cr_assert(mdf_reduction_add(&plan, &arena, &of_one[j], 3, 1, false));
        }
        reduced = mdf_reduced_new(&memory, &plan);
        for (j = 0; j < 3; j++) {
            cr_assert(mdf_reduced_add(reduced, &plan.quantities[0], 1, &(size_t){0}, MDF_DTYPE_FLOAT64, &numbers[i][j], 0));
        }
        for (j = 0; j < 3; j++) {
            tell(reduced, j, &told[j]);
        }
        cr_assert(isnan(means[i]) ? isnan(told[0]) : told[0] == means[i]);
        cr_assert(isnan(told[1]));
        cr_assert(isnan(medians[i]) ? isnan(told[2]) : fabs(told[2] - medians[i]) <= medians[i] / 2048, "%zu: %g", i, told[2]);
        mdf_reduced_free(reduced);
        mdf_arena_release(&arena);
    }
}

Test(reduction, whole_numbers_past_those_of_a_double_are_summed)
{
    static const int64_t numbers[] = {INT64_MAX, INT64_MAX - 1, INT64_MIN, 7};
    static const mdf_sweep_reduction of_one[] = {{0, MDF_REDUCTION_MEAN, NULL, 0}, {0, MDF_REDUCTION_VAR, NULL, 0}};
    struct mdf_reduction_plan plan = {.n_cells = 1};
    struct mdf_reduced *reduced;
    struct mdf_arena arena;
    double mean, variance;
    size_t i;

    mdf_arena_init(&arena, &memory);
    for (i = 0; i < 2; i++) {
        cr_assert(mdf_reduction_add(&plan, &arena, &of_one[i], 2, 1, true));
    }
    reduced = mdf_reduced_new(&memory, &plan);
    for (i = 0; i < 4; i++) {
        cr_assert(mdf_reduced_add(reduced, &plan.quantities[0], 1, &(size_t){0}, MDF_DTYPE_INT64, &numbers[i], 0));
    }
    tell(reduced, 0, &mean);
    tell(reduced, 1, &variance);
    cr_assert_eq(mean, (0x1p63 + 4) / 4); /* 2^63 - 1 + 2^63 - 2 - 2^63 + 7 */
    cr_assert_float_eq(variance, 5.84860318145363e37, 1e23);
    mdf_reduced_free(reduced);
    mdf_arena_release(&arena);
}

/* ------------------------------------------------------------------ several instances at once */

enum { SEVERAL = 150, TWO = 2 };

/* What has come of numbers of 8 bytes, in two cells, so many at once, as bytes. */
static void add_in_groups(struct mdf_reduction_plan *plan, mdf_dtype dtype, const void *numbers, size_t together, struct mdf_text *bytes)
{
    struct mdf_reduced *reduced = mdf_reduced_new(&memory, plan);
    size_t cells[SEVERAL], i;

    cr_assert_not_null(reduced);
    for (i = 0; i < SEVERAL; i++) {
        cells[i] = i >= 100 && i < 120;
    }
    for (i = 0; i < SEVERAL; i += together) {
        size_t n = together < SEVERAL - i ? together : SEVERAL - i;

        cr_assert(mdf_reduced_add(reduced, &plan->quantities[0], n, cells + i, dtype, (const char *)numbers + i * 8, 8));
    }
    mdf_text_init(bytes, &memory);
    mdf_reduced_write(reduced, bytes);
    mdf_reduced_free(reduced);
}

static void hold_groups(mdf_dtype dtype, const void *numbers)
{
    static const mdf_sweep_reduction of_one[] = {{0, MDF_REDUCTION_MEAN, NULL, 0}, {0, MDF_REDUCTION_VAR, NULL, 0}};
    size_t n_kinds, i;

    for (n_kinds = 1; n_kinds <= 2; n_kinds++) {
        struct mdf_reduction_plan plan = {.n_cells = TWO};
        struct mdf_text one_by_one, together;
        struct mdf_arena arena;

        mdf_arena_init(&arena, &memory);
        for (i = 0; i < n_kinds; i++) {
            cr_assert(mdf_reduction_add(&plan, &arena, &of_one[i], n_kinds, 1, dtype == MDF_DTYPE_INT64));
        }
        add_in_groups(&plan, dtype, numbers, 1, &one_by_one);
        add_in_groups(&plan, dtype, numbers, SEVERAL, &together);
        cr_assert_eq(one_by_one.length, together.length);
        cr_assert_eq(memcmp(one_by_one.bytes, together.bytes, together.length), 0);
        mdf_text_release(&one_by_one);
        mdf_text_release(&together);
        mdf_arena_release(&arena);
    }
}

Test(reduction, several_instances_at_once_come_to_what_they_do_one_by_one)
{
    static const double others[] = {1.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1074};
    double reals[SEVERAL];
    int64_t wholes[SEVERAL];
    size_t i, j;

    for (i = 0; i < SEVERAL; i++) {
        reals[i] = ldexp((double)(i * 7919 % 1013) - 500, (int)(i % 40) - 20);
        wholes[i] = (int64_t)(i * 7919 % 1013) - 500;
    }
    hold_groups(MDF_DTYPE_INT64, wholes);
    for (j = 0; j < sizeof others / sizeof *others; j++) {
        reals[90] = others[j];
        hold_groups(MDF_DTYPE_FLOAT64, reals);
    }
    wholes[3] = INT64_MIN;
    wholes[70] = INT64_MAX;
    wholes[71] = ((int64_t)1 << 53) + 1;
    hold_groups(MDF_DTYPE_INT64, wholes);
}

/* ------------------------------------------------------------------ bytes that are something else */

Test(reduction, broken_bytes_are_refused_and_leave_nothing)
{
    struct fixture fixture;
    struct mdf_reduced *reduced, *other;
    struct mdf_text bytes;
    size_t i, n_added = 0;

    begin(&fixture);
    reduced = mdf_reduced_new(&memory, &fixture.plan);
    for (i = 0; i < 20; i++) {
        add(reduced, i);
    }
    mdf_text_init(&bytes, &memory);
    mdf_reduced_write(reduced, &bytes);
    for (i = 0; i < bytes.length; i += 1 + i / 9) {
        other = mdf_reduced_new(&memory, &fixture.plan);
        cr_assert_neq(mdf_reduced_read(other, bytes.bytes, i), MDF_REDUCED_ADDED);
        bytes.bytes[i] ^= 0x55;
        n_added += mdf_reduced_read(other, bytes.bytes, bytes.length) == MDF_REDUCED_ADDED;
        bytes.bytes[i] ^= 0x55;
        mdf_reduced_free(other);
    }
    cr_assert_gt(n_added, 0u, "a count that is another is a count");
    mdf_text_release(&bytes);
    mdf_reduced_free(reduced);
    mdf_arena_release(&fixture.arena);
}
