/* lower_pieces.c - for C source: where functions (exp) are called along short rows that are folded in many lanes, one row waits
 * for its function and for its lanes to be joined before the next one can begin. The axis of the rows is cut into pieces of a few
 * rows each, so that a piece's functions can be called in a loop of their own (mdf_c/source/nests/nest_plan.c), while what they
 * give is in the nearest cache. See lowering.h. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/tensor/dtype.h"

#include <string.h>

enum {
    FEWEST_LANES = 16, /* of fewer, each of some rows side by side may have the totals for itself */
    MOST_OF_ROW = 64,
    FEWEST_ROWS = 4,  /* of a piece */
    MOST_BYTES = 1024 /* of what functions give for a piece: it lies on the stack (mdf_source_buffer) */
};

/* The largest number of rows that divides n, and is small enough for what functions give; 0: there is none. */
static size_t rows_of_piece(const struct mdf_lowered_nest *nest, size_t n_bytes)
{
    size_t n = nest->extents[nest->n_axes - 2], rows = MOST_BYTES / (n_bytes * nest->extents[nest->n_axes - 1]);

    while (rows >= FEWEST_ROWS && n % rows != 0) {
        rows--;
    }
    return rows < FEWEST_ROWS ? 0 : rows;
}

/* The bytes of the largest element that a function gives along the last axis; 0: none is called there. */
static size_t bytes_of_element(const struct mdf_lowered_nest *nest)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        size_t own = mdf_dtype_size((mdf_dtype)step->dtype);

        if (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS && step->level == nest->n_axes &&
            own > n_bytes) {
            n_bytes = own;
        }
    }
    return n_bytes;
}

/* Whether rows are folded in lanes, and nothing is folded over rows. */
static bool joins_rows(const struct mdf_lowered_nest *nest)
{
    bool joins = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (mdf_nest_folds_axis(nest, i, nest->n_axes - 2)) {
            return false;
        }
        joins = joins || (step->kind == MDF_NEST_FOLD && step->level + 1u == nest->n_axes && step->lanes >= FEWEST_LANES);
    }
    return joins;
}

/* The rows of a piece; 0: the nest stays as it is. */
static size_t find_rows(const struct mdf_lowered_nest *nest)
{
    size_t n = nest->n_axes, n_bytes, rows;

    if (n < 2 || n == MDF_NEST_MOST_AXES || (nest->is_open && nest->open_axis + 2u >= n) ||
        nest->extents[n - 1] <= FEWEST_LANES / 2 || nest->extents[n - 1] > MOST_OF_ROW || !joins_rows(nest)) {
        return 0;
    }
    n_bytes = bytes_of_element(nest);
    rows = n_bytes > 0 ? rows_of_piece(nest, n_bytes) : 0;
    return rows < nest->extents[n - 2] ? rows : 0;
}

/* A view, where axis n - 2 has become two. */
static void cut_view(struct mdf_nest_view *view, size_t n, size_t rows)
{
    view->strides[n] = view->strides[n - 1];
    view->strides[n - 1] = view->strides[n - 2];
    view->strides[n - 2] *= (int64_t)rows;
}

static bool cut(struct lowering *lowering, struct mdf_lowered_op *op, size_t rows)
{
    const struct mdf_lowered_nest *from = op->of.nest;
    struct mdf_lowered_nest *nest = mdf_arena_allocate(&lowering->lowered->arena, sizeof *nest);
    struct mdf_nest_step *steps = mdf_arena_allocate(&lowering->lowered->arena, from->n_steps * sizeof *steps);
    size_t n = from->n_axes;

    if (nest == NULL || steps == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *nest = *from;
    memcpy(steps, from->steps, from->n_steps * sizeof *steps);
    nest->steps = steps;
    nest->n_axes = n + 1;
    nest->extents[n] = from->extents[n - 1];
    nest->extents[n - 1] = rows;
    nest->extents[n - 2] = from->extents[n - 2] / rows;
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (steps[i].level + 1u >= n) {
            steps[i].level++;
            cut_view(&steps[i].view, n, rows);
        }
    }
    op->of.nest = nest;
    return true;
}

static bool cut_region(struct lowering *lowering, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];
        size_t rows = op->code == MDF_LOWERED_NEST ? find_rows(op->of.nest) : 0;
        const struct mdf_lowered_region *inner;

        if (rows > 0 && !cut(lowering, op, rows)) {
            return false;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!cut_region(lowering, inner)) {
                return false;
            }
        }
    }
    return true;
}

bool lowering_cut_rows(struct lowering *lowering)
{
    return !lowering->is_for_source || cut_region(lowering, &lowering->lowered->region);
}
