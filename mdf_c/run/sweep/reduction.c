/* reduction.c - see reduction.h: what has come of values, and what is told of it. */
#include "mdf_c/base/arena.h"
#include "mdf_c/run/sweep/reduction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A bucket holds the numbers that have their first bits in common: sign, exponent, and so many of the fraction. */
enum { FRACTION_BITS = 52, BUCKET_FRACTION_BITS = 10, DROPPED_BITS = FRACTION_BITS - BUCKET_FRACTION_BITS, LEAST_CAPACITY = 16 };
enum { NUMBER_SIGN = 1 << (11 + BUCKET_FRACTION_BITS), EXPONENT_MASK = 0x7FF };

/* ------------------------------------------------------------------ what is asked for */

static struct mdf_quantity *find_quantity(struct mdf_reduction_plan *plan, size_t record)
{
    for (size_t i = 0; i < plan->n_quantities; i++) {
        if (plan->quantities[i].record == record) {
            return &plan->quantities[i];
        }
    }
    return NULL;
}

bool mdf_reduction_add(struct mdf_reduction_plan *plan, struct mdf_arena *arena, const mdf_sweep_reduction *reduction,
                       size_t most, size_t n_values, bool is_whole)
{
    struct mdf_quantity *quantity;
    mdf_sweep_reduction *kept;
    double *points = mdf_arena_array(arena, reduction->n_points, sizeof *points);

    if (plan->quantities == NULL) {
        plan->quantities = mdf_arena_array(arena, most, sizeof *plan->quantities);
        plan->reductions = mdf_arena_array(arena, most, sizeof *plan->reductions);
    }
    if (plan->quantities == NULL || plan->reductions == NULL || points == NULL) {
        return false;
    }
    quantity = find_quantity(plan, reduction->record);
    if (quantity == NULL) {
        quantity = &plan->quantities[plan->n_quantities++];
        *quantity = (struct mdf_quantity){
            .record = reduction->record, .is_whole = is_whole, .n_values = n_values, .first_value = plan->n_values};
        plan->n_values += n_values;
    }
    if (reduction->n_points > 0) {
        memcpy(points, reduction->points, reduction->n_points * sizeof *points);
    }
    kept = &plan->reductions[plan->n_reductions++];
    *kept = *reduction;
    kept->record = (size_t)(quantity - plan->quantities);
    kept->points = points;
    quantity->has_sum |= reduction->kind == MDF_REDUCTION_MEAN || reduction->kind == MDF_REDUCTION_VAR;
    quantity->has_squares |= reduction->kind == MDF_REDUCTION_VAR;
    quantity->has_buckets |= reduction->kind == MDF_REDUCTION_QUANTILES;
    quantity->has_histogram |= reduction->kind == MDF_REDUCTION_HISTOGRAM;
    return true;
}

mdf_dtype mdf_reduction_dtype(const mdf_sweep_reduction *reduction)
{
    return reduction->kind == MDF_REDUCTION_COUNT || reduction->kind == MDF_REDUCTION_HISTOGRAM ? MDF_DTYPE_INT64
                                                                                                : MDF_DTYPE_FLOAT64;
}

size_t mdf_reduction_n_points(const mdf_sweep_reduction *reduction)
{
    return reduction->kind == MDF_REDUCTION_QUANTILES   ? reduction->n_points
           : reduction->kind == MDF_REDUCTION_HISTOGRAM ? reduction->n_points - 1
                                                        : 1;
}

/* ------------------------------------------------------------------ life */

/* How many counts a histogram has in all; 0: the reduction is none. The product fits, as mdf_reduced_new has seen. */
static size_t n_bins(const struct mdf_reduction_plan *plan, const mdf_sweep_reduction *reduction)
{
    return reduction->kind != MDF_REDUCTION_HISTOGRAM
               ? 0
               : plan->n_cells * plan->quantities[reduction->record].n_values * mdf_reduction_n_points(reduction);
}

struct mdf_reduced *mdf_reduced_new(struct mdf_memory *memory, const struct mdf_reduction_plan *plan)
{
    struct mdf_reduced *reduced = mdf_memory_allocate_zeroed(memory, 1, sizeof *reduced);
    bool done = reduced != NULL;
    size_t n;

    if (!done) {
        return NULL;
    }
    reduced->memory = memory;
    reduced->plan = plan;
    done = mdf_size_multiply(plan->n_cells, plan->n_values, &n);
    reduced->values = done ? mdf_memory_allocate_zeroed(memory, n, sizeof *reduced->values) : NULL;
    reduced->histograms = mdf_memory_allocate_zeroed(memory, plan->n_reductions, sizeof *reduced->histograms);
    done = reduced->values != NULL && reduced->histograms != NULL;
    for (size_t i = 0; i < plan->n_reductions && done; i++) {
        size_t n_counts;

        done = mdf_size_multiply(n, mdf_reduction_n_points(&plan->reductions[i]), &n_counts);
        n_counts = done ? n_bins(plan, &plan->reductions[i]) : 0;
        if (n_counts > 0) {
            reduced->histograms[i] = mdf_memory_allocate_zeroed(memory, n_counts, sizeof **reduced->histograms);
            done = reduced->histograms[i] != NULL;
        }
    }
    if (!done) {
        mdf_reduced_free(reduced);
        return NULL;
    }
    return reduced;
}

void mdf_reduced_free(struct mdf_reduced *reduced)
{
    size_t n;

    if (reduced == NULL) {
        return;
    }
    n = reduced->values != NULL ? reduced->plan->n_cells * reduced->plan->n_values : 0;
    for (size_t i = 0; i < n; i++) {
        struct mdf_reduced_value *value = &reduced->values[i];

        mdf_exact_sum_release(&value->sum, reduced->memory);
        mdf_exact_sum_release(&value->squares, reduced->memory);
        mdf_memory_release(reduced->memory, value->buckets.numbers);
        mdf_memory_release(reduced->memory, value->buckets.counts);
    }
    for (size_t i = 0; reduced->histograms != NULL && i < reduced->plan->n_reductions; i++) {
        mdf_memory_release(reduced->memory, reduced->histograms[i]);
    }
    mdf_memory_release(reduced->memory, reduced->values);
    mdf_memory_release(reduced->memory, reduced->histograms);
    mdf_memory_release(reduced->memory, reduced);
}

/* ------------------------------------------------------------------ buckets */

static uint32_t bucket_of(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return (uint32_t)(bits >> DROPPED_BITS);
}

static size_t place_of(const struct mdf_buckets *buckets, uint32_t number)
{
    size_t place = (number * 2654435769u) & (buckets->capacity - 1);

    while (buckets->numbers[place] != 0 && buckets->numbers[place] != number + 1) {
        place = (place + 1) & (buckets->capacity - 1);
    }
    return place;
}

static bool grow(struct mdf_buckets *buckets, struct mdf_memory *memory)
{
    struct mdf_buckets larger = {.n = buckets->n, .capacity = buckets->capacity > 0 ? 2 * buckets->capacity : LEAST_CAPACITY};

    larger.numbers = mdf_memory_allocate_zeroed(memory, larger.capacity, sizeof *larger.numbers);
    larger.counts = mdf_memory_allocate_zeroed(memory, larger.capacity, sizeof *larger.counts);
    if (larger.numbers == NULL || larger.counts == NULL) {
        mdf_memory_release(memory, larger.numbers);
        mdf_memory_release(memory, larger.counts);
        return false;
    }
    for (size_t i = 0; i < buckets->capacity; i++) {
        if (buckets->numbers[i] != 0) {
            size_t place = place_of(&larger, buckets->numbers[i] - 1);

            larger.numbers[place] = buckets->numbers[i];
            larger.counts[place] = buckets->counts[i];
        }
    }
    mdf_memory_release(memory, buckets->numbers);
    mdf_memory_release(memory, buckets->counts);
    *buckets = larger;
    return true;
}

bool mdf_buckets_count(struct mdf_buckets *buckets, struct mdf_memory *memory, uint32_t number, uint64_t count)
{
    size_t place;

    if (2 * (buckets->n + 1) > buckets->capacity && !grow(buckets, memory)) {
        return false;
    }
    place = place_of(buckets, number);
    buckets->n += buckets->numbers[place] == 0;
    buckets->numbers[place] = number + 1;
    buckets->counts[place] += count;
    return true;
}

/* Buckets of negative numbers have their sign in front, and are the other way round. */
static uint32_t rank_of(uint32_t number)
{
    return (number & NUMBER_SIGN) != 0 ? (2 * NUMBER_SIGN - 1) ^ number : number | NUMBER_SIGN;
}

static int compare_buckets(const void *a, const void *b)
{
    uint32_t first = rank_of(*(const uint32_t *)a), second = rank_of(*(const uint32_t *)b);

    return first < second ? -1 : first > second;
}

/* The numbers of the buckets in order; NULL: out of memory. */
static uint32_t *sort_buckets(const struct mdf_buckets *buckets, struct mdf_memory *memory)
{
    uint32_t *numbers = mdf_memory_allocate_zeroed(memory, buckets->n, sizeof *numbers);
    size_t n = 0;

    for (size_t i = 0; numbers != NULL && i < buckets->capacity; i++) {
        if (buckets->numbers[i] != 0) {
            numbers[n++] = buckets->numbers[i] - 1;
        }
    }
    if (numbers != NULL) {
        qsort(numbers, n, sizeof *numbers, compare_buckets);
    }
    return numbers;
}

/* The middle of a bucket, or the number in it; no less than the least, no more than the most that there are. */
static double number_for(const struct mdf_quantity *quantity, const struct mdf_reduced_value *value, uint32_t bucket)
{
    uint32_t exponent = bucket >> BUCKET_FRACTION_BITS & EXPONENT_MASK;
    uint64_t bits = (uint64_t)bucket << DROPPED_BITS;
    double number;

    if (exponent != 0 && exponent != EXPONENT_MASK) {
        bits |= (uint64_t)1 << (DROPPED_BITS - 1);
    }
    memcpy(&number, &bits, sizeof number);
    number = quantity->is_whole ? trunc(number) : number;
    return number < value->least ? value->least : number > value->most ? value->most : number;
}

/* ------------------------------------------------------------------ adding */

static void note_range(struct mdf_reduced_value *value, double least, double most)
{
    bool is_first = value->n == value->n_nan;

    value->least = is_first || least < value->least ? least : value->least;
    value->most = is_first || most > value->most ? most : value->most;
}

/* The bin that a number lies in; the number of bins: none. */
static size_t find_bin(const mdf_sweep_reduction *histogram, double number)
{
    size_t low = 0, high = histogram->n_points - 1;

    if (!(number >= histogram->points[0] && number <= histogram->points[high])) {
        return high;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (number >= histogram->points[middle]) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void count_in_histograms(struct mdf_reduced *reduced, size_t cell, const struct mdf_quantity *quantity, size_t index,
                                double number)
{
    const struct mdf_reduction_plan *plan = reduced->plan;

    for (size_t i = 0; i < plan->n_reductions; i++) {
        const mdf_sweep_reduction *reduction = &plan->reductions[i];
        size_t n = mdf_reduction_n_points(reduction), bin;

        if (reduced->histograms[i] != NULL && reduction->record == (size_t)(quantity - plan->quantities)) {
            bin = find_bin(reduction, number);
            if (bin < n) {
                reduced->histograms[i][(cell * quantity->n_values + index) * n + bin]++;
            }
        }
    }
}

/* A number; a whole one has its magnitude too, which a double may not hold. */
struct number {
    double real;
    uint64_t magnitude;
    bool is_whole;
};

static bool add_to_sums(struct mdf_reduced *reduced, const struct mdf_quantity *quantity, struct mdf_reduced_value *value,
                        const struct number *number)
{
    struct mdf_memory *memory = reduced->memory;
    bool done = true;

    if (quantity->has_sum) {
        done = number->is_whole ? mdf_exact_sum_add_whole(&value->sum, memory, number->magnitude, number->real < 0)
                                : mdf_exact_sum_add(&value->sum, memory, number->real);
    }
    if (quantity->has_squares && done) {
        done = number->is_whole ? mdf_exact_sum_add_square_of_whole(&value->squares, memory, number->magnitude)
                                : mdf_exact_sum_add_square(&value->squares, memory, number->real);
    }
    return done;
}

/* A number that is not finite. */
static void note_other(struct mdf_reduced_value *value, double real)
{
    value->n_nan += isnan(real);
    value->n_above += real > 0;
    value->n_below += real < 0;
}

static bool add_number(struct mdf_reduced *reduced, size_t cell, const struct mdf_quantity *quantity, size_t index,
                       const struct number *number)
{
    struct mdf_reduced_value *value = &reduced->values[cell * reduced->plan->n_values + quantity->first_value + index];
    double real = number->real + 0.0; /* of the two zeros one */

    if (!isnan(real)) {
        note_range(value, real, real);
    }
    value->n++;
    if (!isfinite(real)) {
        note_other(value, real);
    } else if (!add_to_sums(reduced, quantity, value, number)) {
        return false;
    }
    if (isnan(real) || !(quantity->has_histogram || quantity->has_buckets)) {
        return true;
    }
    if (quantity->has_histogram) {
        count_in_histograms(reduced, cell, quantity, index, real);
    }
    return !quantity->has_buckets || mdf_buckets_count(&value->buckets, reduced->memory, bucket_of(real), 1);
}

static void take_whole(int64_t whole, struct number *number)
{
    number->is_whole = true;
    number->real = (double)whole;
    number->magnitude = whole < 0 ? 0 - (uint64_t)whole : (uint64_t)whole;
}

static void read_number_of_any_type(mdf_dtype dtype, const void *elements, size_t index, struct number *number)
{
    char kind = mdf_dtype_kind(dtype);
    const char *element = (const char *)elements + index * mdf_dtype_size(dtype);
    int64_t whole;

    number->is_whole = kind != 'f';
    if (dtype == MDF_DTYPE_UINT64) {
        memcpy(&number->magnitude, element, sizeof number->magnitude);
        number->real = (double)number->magnitude;
    } else if (kind == 'f') {
        mdf_convert_elements(MDF_DTYPE_FLOAT64, &number->real, dtype, element, 1, false);
    } else {
        mdf_convert_elements(MDF_DTYPE_INT64, &whole, dtype, element, 1, false);
        take_whole(whole, number);
    }
}

static inline void read_number(mdf_dtype dtype, const void *elements, size_t index, struct number *number)
{
    if (dtype == MDF_DTYPE_FLOAT64) {
        number->is_whole = false;
        number->real = ((const double *)elements)[index];
    } else if (dtype == MDF_DTYPE_INT64) {
        take_whole(((const int64_t *)elements)[index], number);
    } else {
        read_number_of_any_type(dtype, elements, index, number);
    }
}

enum { MOST_TOGETHER = 64 };

/* Several reals of one cell, of which nothing is asked that needs a look at each by itself: the least, the most, the sum. False: one
 * is not finite, and none has been added; *done: memory was not refused. */
static bool add_reals(struct mdf_reduced *reduced, const struct mdf_quantity *quantity, struct mdf_reduced_value *value,
                      const double *reals, size_t n, bool *done)
{
    double least = reals[0], most = reals[0], none = 0;

    for (size_t i = 0; i < n; i++) {
        least = reals[i] < least ? reals[i] : least;
        most = reals[i] > most ? reals[i] : most;
        none += reals[i] - reals[i]; /* NaN where one is not finite */
    }
    if (isnan(none)) {
        return false;
    }
    note_range(value, least + 0.0, most + 0.0);
    value->n += n;
    *done = !quantity->has_sum || mdf_exact_sum_add_all(&value->sum, reduced->memory, reals, n);
    for (size_t i = 0; i < n && quantity->has_squares && *done; i++) {
        *done = mdf_exact_sum_add_square(&value->squares, reduced->memory, reals[i]);
    }
    return true;
}

/* The same of whole numbers, whose sum fits where each is that small. */
static bool add_wholes(struct mdf_reduced *reduced, const struct mdf_quantity *quantity, struct mdf_reduced_value *value,
                       const int64_t *wholes, size_t n, bool *done)
{
    static const int64_t small = (int64_t)1 << 53; /* of MOST_TOGETHER */
    int64_t least = wholes[0], most = wholes[0], sum = 0;

    for (size_t i = 0; i < n; i++) {
        least = wholes[i] < least ? wholes[i] : least;
        most = wholes[i] > most ? wholes[i] : most;
    }
    if (least < -small || most > small) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        sum += wholes[i];
    }
    note_range(value, (double)least, (double)most);
    value->n += n;
    *done = !quantity->has_sum ||
            mdf_exact_sum_add_whole(&value->sum, reduced->memory, (uint64_t)(sum < 0 ? -sum : sum), sum < 0);
    for (size_t i = 0; i < n && quantity->has_squares && *done; i++) {
        *done = mdf_exact_sum_add_square_of_whole(&value->squares, reduced->memory, (uint64_t)(wholes[i] < 0 ? -wholes[i] : wholes[i]));
    }
    return true;
}

/* How many instances from the first on belong to one cell. */
static size_t count_alike(const size_t *cells, size_t n)
{
    size_t i;

    for (i = 1; i < n && i < MOST_TOGETHER && cells[i] == cells[0]; i++) {
    }
    return i;
}

static bool add_each(struct mdf_reduced *reduced, const struct mdf_quantity *quantity, size_t n, size_t cell, mdf_dtype dtype,
                     const char *elements, size_t instance_bytes)
{
    struct number number = {0};

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < quantity->n_values; j++) {
            read_number(dtype, elements + i * instance_bytes, j, &number);
            if (!add_number(reduced, cell, quantity, j, &number)) {
                return false;
            }
        }
    }
    return true;
}

bool mdf_reduced_add(struct mdf_reduced *reduced, const struct mdf_quantity *quantity, size_t n, const size_t *cells,
                     mdf_dtype dtype, const void *elements, size_t instance_bytes)
{
    bool are_together = quantity->n_values == 1 && instance_bytes == sizeof(uint64_t) && !quantity->has_buckets &&
                        !quantity->has_histogram;
    bool done = true;
    size_t k;

    for (size_t i = 0; i < n && done; i += k) {
        const void *first = (const char *)elements + i * instance_bytes;
        struct mdf_reduced_value *value = &reduced->values[cells[i] * reduced->plan->n_values + quantity->first_value];

        k = count_alike(cells + i, n - i);
        if (!(are_together && dtype == MDF_DTYPE_FLOAT64 && add_reals(reduced, quantity, value, first, k, &done)) &&
            !(are_together && dtype == MDF_DTYPE_INT64 && add_wholes(reduced, quantity, value, first, k, &done))) {
            done = add_each(reduced, quantity, k, cells[i], dtype, first, instance_bytes);
        }
    }
    return done;
}

static bool merge_value(struct mdf_memory *memory, struct mdf_reduced_value *value, const struct mdf_reduced_value *other)
{
    if (other->n > other->n_nan) {
        note_range(value, other->least, other->most);
    }
    value->n += other->n;
    value->n_nan += other->n_nan;
    value->n_above += other->n_above;
    value->n_below += other->n_below;
    for (size_t i = 0; i < other->buckets.capacity; i++) {
        if (other->buckets.numbers[i] != 0 &&
            !mdf_buckets_count(&value->buckets, memory, other->buckets.numbers[i] - 1, other->buckets.counts[i])) {
            return false;
        }
    }
    return mdf_exact_sum_merge(&value->sum, memory, &other->sum) && mdf_exact_sum_merge(&value->squares, memory, &other->squares);
}

bool mdf_reduced_merge(struct mdf_reduced *reduced, const struct mdf_reduced *other)
{
    const struct mdf_reduction_plan *plan = reduced->plan;

    for (size_t i = 0; i < plan->n_cells * plan->n_values; i++) {
        if (!merge_value(reduced->memory, &reduced->values[i], &other->values[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->n_reductions; i++) {
        for (size_t j = 0; j < n_bins(plan, &plan->reductions[i]); j++) {
            reduced->histograms[i][j] += other->histograms[i][j];
        }
    }
    return true;
}

/* ------------------------------------------------------------------ telling */

static double mean_of(struct mdf_reduced_value *value)
{
    if (value->n == 0 || value->n_nan > 0 || (value->n_above > 0 && value->n_below > 0)) {
        return NAN;
    }
    return value->n_above > 0   ? (double)INFINITY
           : value->n_below > 0 ? -(double)INFINITY
                                : mdf_exact_sum_round(&value->sum) / (double)value->n;
}

static bool variance_of(struct mdf_memory *memory, struct mdf_reduced_value *value, double *variance)
{
    *variance = NAN;
    return value->n == 0 || value->n_nan + value->n_above + value->n_below > 0 ||
           mdf_exact_variance(memory, &value->sum, &value->squares, value->n, variance);
}

/* Which of the values, in order, lie in each bucket: the number of value number `place`. */
static double number_at(const struct mdf_quantity *quantity, const struct mdf_reduced_value *value, const uint32_t *numbers,
                        uint64_t place)
{
    uint64_t n_before = 0;
    size_t i;

    if (place == 0 || place + 1 == value->n) {
        return place == 0 ? value->least : value->most;
    }
    for (i = 0; i + 1 < value->buckets.n; i++) {
        n_before += value->buckets.counts[place_of(&value->buckets, numbers[i])];
        if (place < n_before) {
            break;
        }
    }
    return number_for(quantity, value, numbers[i]);
}

/* As numpy's: between the two values around it, in proportion. */
static bool tell_quantiles(struct mdf_memory *memory, const struct mdf_quantity *quantity, const struct mdf_reduced_value *value,
                           const mdf_sweep_reduction *reduction, double *quantiles)
{
    uint32_t *numbers = sort_buckets(&value->buckets, memory);

    for (size_t i = 0; numbers != NULL && i < reduction->n_points; i++) {
        double place = reduction->points[i] * (double)(value->n - 1), low, high;

        quantiles[i] = NAN;
        if (value->buckets.n > 0 && value->n > 0 && value->n_nan == 0) {
            low = number_at(quantity, value, numbers, (uint64_t)place);
            high = number_at(quantity, value, numbers, (uint64_t)ceil(place));
            quantiles[i] = low == high ? low : low + (high - low) * (place - floor(place));
        }
    }
    mdf_memory_release(memory, numbers);
    return numbers != NULL;
}

static bool tell_value(const struct mdf_reduced *reduced, size_t number, size_t cell, size_t index, char *array)
{
    const mdf_sweep_reduction *reduction = &reduced->plan->reductions[number];
    const struct mdf_quantity *quantity = &reduced->plan->quantities[reduction->record];
    struct mdf_reduced_value *value = &reduced->values[cell * reduced->plan->n_values + quantity->first_value + index];
    size_t n = mdf_reduction_n_points(reduction), place = cell * quantity->n_values + index;
    char *target = array + place * n * sizeof(double);
    bool done = true;
    double real = NAN;

    switch (reduction->kind) {
    case MDF_REDUCTION_COUNT:
        memcpy(target, &value->n, sizeof value->n);
        return true;
    case MDF_REDUCTION_MEAN:
        real = mean_of(value);
        break;
    case MDF_REDUCTION_VAR:
        done = variance_of(reduced->memory, value, &real);
        break;
    case MDF_REDUCTION_QUANTILES:
        return tell_quantiles(reduced->memory, quantity, value, reduction, (double *)(void *)target);
    case MDF_REDUCTION_HISTOGRAM:
        memcpy(target, reduced->histograms[number] + place * n, n * sizeof(uint64_t));
        return true;
    }
    memcpy(target, &real, sizeof real);
    return done;
}

bool mdf_reduced_tell(const struct mdf_reduced *reduced, size_t number, void *array)
{
    const struct mdf_reduction_plan *plan = reduced->plan;
    size_t n = plan->quantities[plan->reductions[number].record].n_values;

    for (size_t cell = 0; cell < plan->n_cells; cell++) {
        for (size_t i = 0; i < n; i++) {
            if (!tell_value(reduced, number, cell, i, array)) {
                return false;
            }
        }
    }
    return true;
}
