/* reduction.h - what a sweep tells of many instances together: numbers of values, means, variances, quantiles, histograms, by
 * cells. See mdf_sweep_reduction in mdf.h.
 *
 * What is held of the values that came are counts, exact sums (exact_sum.h), the least and the most, and how many lie in each of
 * the buckets that the first bits of a number name. None of it depends on the order in which they came, nor on the parts in which
 * they were added: so nor do results. */
#ifndef MDF_RUN_SWEEP_REDUCTION_H
#define MDF_RUN_SWEEP_REDUCTION_H

#include "mdf_c/run/sweep/exact_sum.h"
#include "mdf_c/tensor/value.h"

/* What values are of: a record, or when instances stopped. */
struct mdf_quantity {
    size_t record;                /* or MDF_REDUCED_STOPPED_STEP, MDF_REDUCED_STOPPED_TIME */
    bool is_whole;                /* its values are whole numbers */
    size_t n_values, first_value; /* of one instance, of all rows; the first of them among those of all quantities */
    bool has_sum, has_squares, has_buckets, has_histogram;
};

struct mdf_reduction_plan {
    size_t n_cells, n_values; /* of all quantities */
    struct mdf_quantity *quantities;
    size_t n_quantities;
    mdf_sweep_reduction *reductions; /* `record` is a number in `quantities` */
    size_t n_reductions;
};

/* How many values lie in each bucket; a hash table by the bucket's number plus 1. */
struct mdf_buckets {
    uint32_t *numbers;
    uint64_t *counts;
    size_t n, capacity;
};

/* What has come of one value of one cell. */
struct mdf_reduced_value {
    uint64_t n, n_nan, n_above, n_below; /* all; of them NaN, infinity, minus infinity */
    double least, most;                  /* of those that are not NaN */
    struct mdf_exact_sum sum, squares;   /* of the finite ones */
    struct mdf_buckets buckets;
};

struct mdf_reduced {
    struct mdf_memory *memory;
    const struct mdf_reduction_plan *plan;
    struct mdf_reduced_value *values; /* [cells, values of all quantities] */
    uint64_t **histograms;            /* of each reduction: [cells, values of its quantity, bins]; NULL: it is none */
};

/* Adds a reduction of what `record` is, of which each instance has n_values values; arrays lie in the arena, which the first call
 * finds none in (`plan` zero-initialised, but for n_cells), with room for `most` reductions. False: out of memory. */
bool mdf_reduction_add(struct mdf_reduction_plan *plan, struct mdf_arena *arena, const mdf_sweep_reduction *reduction,
                       size_t most, size_t n_values, bool is_whole);
/* Type, and how many numbers there are behind the axis of cells and those of the values: 1, points, or bins. */
mdf_dtype mdf_reduction_dtype(const mdf_sweep_reduction *reduction);
size_t mdf_reduction_n_points(const mdf_sweep_reduction *reduction);

/* NULL: out of memory. */
struct mdf_reduced *mdf_reduced_new(struct mdf_memory *memory, const struct mdf_reduction_plan *plan);
void mdf_reduced_free(struct mdf_reduced *reduced);
/* Each returns false where memory is refused; what has come then is not to be used any more. */
/* Adds what n instances have of a quantity, the first at `elements`, each so many bytes behind the one before: to cells[i]. */
bool mdf_reduced_add(struct mdf_reduced *reduced, const struct mdf_quantity *quantity, size_t n, const size_t *cells,
                     mdf_dtype dtype, const void *elements, size_t instance_bytes);
bool mdf_reduced_merge(struct mdf_reduced *reduced, const struct mdf_reduced *other);
/* A reduction of all cells: [cells, values of the quantity, points]. */
bool mdf_reduced_tell(const struct mdf_reduced *reduced, size_t reduction, void *array);

/* Counts a value, or `count` of them, in a bucket. */
bool mdf_buckets_count(struct mdf_buckets *buckets, struct mdf_memory *memory, uint32_t number, uint64_t count);
/* As bytes, with what was asked for before them; equal ones where the same has come. */
void mdf_reduced_write(struct mdf_reduced *reduced, struct mdf_text *bytes);
enum mdf_reduced_read { MDF_REDUCED_ADDED, MDF_REDUCED_OTHER, MDF_REDUCED_BROKEN, MDF_REDUCED_REFUSED };
/* Adds what was written by another with the same plan. */
enum mdf_reduced_read mdf_reduced_read(struct mdf_reduced *reduced, const void *bytes, size_t n_bytes);
/* The plan that bytes begin with; arrays lie in the arena. False: they do not, or memory is refused. */
bool mdf_reduction_read_plan(struct mdf_reduction_plan *plan, struct mdf_arena *arena, const void *bytes, size_t n_bytes);

#endif
