/* reduction_bytes.c - see reduction.h: what has come of values as bytes, which one machine writes and another adds to its own.
 *
 * All numbers are little-endian. First the plan: "MDFr", its parts in the order of the structs; then each value, its buckets in
 * ascending order of their numbers; then the histograms. */
#include "mdf_c/base/arena.h"
#include "mdf_c/run/sweep/reduction.h"

#include <stdlib.h>
#include <string.h>

static const char magic[4] = {'M', 'D', 'F', 'r'};

/* More are taken for bytes that are something else. */
enum { MOST_PARTS = 1 << 20 };

/* ------------------------------------------------------------------ numbers */

static void write_number(struct mdf_text *bytes, uint64_t number)
{
    unsigned char little[8];

    for (unsigned i = 0; i < sizeof little; i++) {
        little[i] = (unsigned char)(number >> (8 * i));
    }
    mdf_text_append(bytes, (const char *)little, sizeof little);
}

static void write_real(struct mdf_text *bytes, double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof bits);
    write_number(bytes, bits);
}

struct reading {
    const unsigned char *bytes, *end;
};

static bool read_number(struct reading *reading, uint64_t *number)
{
    *number = 0;
    if (reading->end - reading->bytes < 8) {
        return false;
    }
    for (unsigned i = 0; i < 8; i++) {
        *number |= (uint64_t)*reading->bytes++ << (8 * i);
    }
    return true;
}

static bool read_real(struct reading *reading, double *real)
{
    uint64_t bits;
    bool done = read_number(reading, &bits);

    memcpy(real, &bits, sizeof *real);
    return done;
}

/* One that counts parts. */
static bool read_size(struct reading *reading, size_t *size, uint64_t most)
{
    uint64_t number;
    bool done = read_number(reading, &number) && number <= most;

    *size = done ? (size_t)number : 0;
    return done;
}

/* ------------------------------------------------------------------ the plan */

static void write_plan(const struct mdf_reduction_plan *plan, struct mdf_text *bytes)
{
    mdf_text_append(bytes, magic, sizeof magic);
    write_number(bytes, plan->n_cells);
    write_number(bytes, plan->n_reductions);
    for (size_t i = 0; i < plan->n_reductions; i++) {
        const mdf_sweep_reduction *reduction = &plan->reductions[i];
        const struct mdf_quantity *quantity = &plan->quantities[reduction->record];

        write_number(bytes, quantity->record == SIZE_MAX       ? UINT64_MAX
                            : quantity->record == SIZE_MAX - 1 ? UINT64_MAX - 1
                                                               : quantity->record);
        write_number(bytes, quantity->n_values);
        write_number(bytes, quantity->is_whole);
        write_number(bytes, (uint64_t)reduction->kind);
        write_number(bytes, reduction->n_points);
        for (size_t j = 0; j < reduction->n_points; j++) {
            write_real(bytes, reduction->points[j]);
        }
    }
}

static bool read_points(struct reading *reading, struct mdf_arena *arena, mdf_sweep_reduction *reduction)
{
    double *points;

    if (!read_size(reading, &reduction->n_points, (size_t)(reading->end - reading->bytes) / sizeof *points) ||
        (reduction->kind == MDF_REDUCTION_HISTOGRAM && reduction->n_points < 2)) {
        return false;
    }
    points = mdf_arena_array(arena, reduction->n_points, sizeof *points);
    for (size_t i = 0; points != NULL && i < reduction->n_points; i++) {
        if (!read_real(reading, &points[i])) {
            return false;
        }
    }
    reduction->points = points;
    return points != NULL;
}

static bool read_reduction(struct reading *reading, struct mdf_reduction_plan *plan, struct mdf_arena *arena, size_t most)
{
    mdf_sweep_reduction reduction = {0};
    uint64_t record;
    size_t n_values, is_whole, kind;

    if (!read_number(reading, &record) || !read_size(reading, &n_values, SIZE_MAX / 2) || !read_size(reading, &is_whole, 1) ||
        !read_size(reading, &kind, MDF_REDUCTION_HISTOGRAM)) {
        return false;
    }
    reduction.record = record >= UINT64_MAX - 1 ? SIZE_MAX - (size_t)(UINT64_MAX - record) : (size_t)record;
    reduction.kind = (mdf_sweep_reduction_kind)kind;
    return read_points(reading, arena, &reduction) && mdf_reduction_add(plan, arena, &reduction, most, n_values, is_whole != 0);
}

static bool read_plan(struct reading *reading, struct mdf_reduction_plan *plan, struct mdf_arena *arena)
{
    size_t n;

    if (reading->end - reading->bytes < (ptrdiff_t)sizeof magic || memcmp(reading->bytes, magic, sizeof magic) != 0) {
        return false;
    }
    reading->bytes += sizeof magic;
    if (!read_size(reading, &plan->n_cells, SIZE_MAX / 2) || !read_size(reading, &n, MOST_PARTS)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!read_reduction(reading, plan, arena, n)) {
            return false;
        }
    }
    return true;
}

bool mdf_reduction_read_plan(struct mdf_reduction_plan *plan, struct mdf_arena *arena, const void *bytes, size_t n_bytes)
{
    struct reading reading = {bytes, (const unsigned char *)bytes + n_bytes};

    memset(plan, 0, sizeof *plan);
    return read_plan(&reading, plan, arena);
}

/* ------------------------------------------------------------------ values */

static int compare_numbers(const void *a, const void *b)
{
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

    return first < second ? -1 : first > second;
}

static bool write_buckets(const struct mdf_buckets *buckets, struct mdf_memory *memory, struct mdf_text *bytes)
{
    struct numbered {
        uint32_t number;
        uint64_t count;
    } *sorted = mdf_memory_allocate_zeroed(memory, buckets->n, sizeof *sorted);
    size_t n = 0;

    for (size_t i = 0; sorted != NULL && i < buckets->capacity; i++) {
        if (buckets->numbers[i] != 0) {
            sorted[n++] = (struct numbered){buckets->numbers[i] - 1, buckets->counts[i]};
        }
    }
    if (sorted != NULL) {
        qsort(sorted, n, sizeof *sorted, compare_numbers);
    }
    write_number(bytes, n);
    for (size_t i = 0; i < n; i++) {
        write_number(bytes, sorted[i].number);
        write_number(bytes, sorted[i].count);
    }
    mdf_memory_release(memory, sorted);
    return sorted != NULL;
}

static void write_value(struct mdf_reduced_value *value, struct mdf_memory *memory, struct mdf_text *bytes)
{
    write_number(bytes, value->n);
    write_number(bytes, value->n_nan);
    write_number(bytes, value->n_above);
    write_number(bytes, value->n_below);
    write_real(bytes, value->least);
    write_real(bytes, value->most);
    mdf_exact_sum_write(&value->sum, bytes);
    mdf_exact_sum_write(&value->squares, bytes);
    bytes->failed = !write_buckets(&value->buckets, memory, bytes) || bytes->failed;
}

void mdf_reduced_write(struct mdf_reduced *reduced, struct mdf_text *bytes)
{
    const struct mdf_reduction_plan *plan = reduced->plan;

    write_plan(plan, bytes);
    for (size_t i = 0; i < plan->n_cells * plan->n_values && !bytes->failed; i++) {
        write_value(&reduced->values[i], reduced->memory, bytes);
    }
    for (size_t i = 0; i < plan->n_reductions && !bytes->failed; i++) {
        size_t n = reduced->histograms[i] == NULL ? 0
                                                  : plan->n_cells * plan->quantities[plan->reductions[i].record].n_values *
                                                        mdf_reduction_n_points(&plan->reductions[i]);

        for (size_t j = 0; j < n; j++) {
            write_number(bytes, reduced->histograms[i][j]);
        }
    }
}

static bool read_buckets(struct reading *reading, struct mdf_reduced *other, struct mdf_reduced_value *value)
{
    size_t n;

    if (!read_size(reading, &n, (size_t)(reading->end - reading->bytes) / 16)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t count;
        size_t number;

        if (!read_size(reading, &number, UINT32_MAX - 1) || !read_number(reading, &count)) {
            return false;
        }
        if (!mdf_buckets_count(&value->buckets, other->memory, (uint32_t)number, count)) {
            return false;
        }
    }
    return true;
}

static bool read_value(struct reading *reading, struct mdf_reduced *other, struct mdf_reduced_value *value)
{
    return read_number(reading, &value->n) && read_number(reading, &value->n_nan) && read_number(reading, &value->n_above) &&
           read_number(reading, &value->n_below) && read_real(reading, &value->least) && read_real(reading, &value->most) &&
           mdf_exact_sum_read(&value->sum, other->memory, &reading->bytes, reading->end) &&
           mdf_exact_sum_read(&value->squares, other->memory, &reading->bytes, reading->end) &&
           read_buckets(reading, other, value);
}

static bool read_values(struct reading *reading, struct mdf_reduced *other)
{
    const struct mdf_reduction_plan *plan = other->plan;

    for (size_t i = 0; i < plan->n_cells * plan->n_values; i++) {
        if (!read_value(reading, other, &other->values[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->n_reductions; i++) {
        size_t n = other->histograms[i] == NULL ? 0
                                                : plan->n_cells * plan->quantities[plan->reductions[i].record].n_values *
                                                      mdf_reduction_n_points(&plan->reductions[i]);

        for (size_t j = 0; j < n; j++) {
            if (!read_number(reading, &other->histograms[i][j])) {
                return false;
            }
        }
    }
    return reading->bytes == reading->end;
}

enum mdf_reduced_read mdf_reduced_read(struct mdf_reduced *reduced, const void *bytes, size_t n_bytes)
{
    struct reading reading = {bytes, (const unsigned char *)bytes + n_bytes};
    struct mdf_reduced *other;
    struct mdf_text own;
    enum mdf_reduced_read result = MDF_REDUCED_ADDED;

    mdf_text_init(&own, reduced->memory);
    write_plan(reduced->plan, &own);
    if (own.failed) {
        result = MDF_REDUCED_REFUSED;
    } else if (n_bytes < own.length || memcmp(bytes, own.bytes, own.length) != 0) {
        result = MDF_REDUCED_OTHER;
    }
    reading.bytes += result == MDF_REDUCED_ADDED ? own.length : 0;
    mdf_text_release(&own);
    if (result != MDF_REDUCED_ADDED) {
        return result;
    }
    other = mdf_reduced_new(reduced->memory, reduced->plan);
    if (other == NULL) {
        return MDF_REDUCED_REFUSED;
    }
    if (!read_values(&reading, other)) {
        result = MDF_REDUCED_BROKEN;
    } else if (!mdf_reduced_merge(reduced, other)) {
        result = MDF_REDUCED_REFUSED;
    }
    mdf_reduced_free(other);
    return result;
}
