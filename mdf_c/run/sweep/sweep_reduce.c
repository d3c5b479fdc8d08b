/* sweep_reduce.c - what a sweep tells of many instances together: which values go to which cell of reduction.h. */
#include "mdf_c/run/sweep/sweep.h"

#include <string.h>

static bool refuse(mdf_error *error, const char *why)
{
    mdf_error_set(error, MDF_USAGE, "sweep: %s", why);
    return false;
}

/* ------------------------------------------------------------------ what is asked for */

/* How many values an instance has of what is reduced, and whether they are whole numbers. */
static bool find_values(const struct mdf_sweep *sweep, size_t record, size_t *n_values, bool *is_whole, mdf_error *error)
{
    if (record >= MDF_REDUCED_STOPPED_STEP) {
        *n_values = 1;
        *is_whole = record == MDF_REDUCED_STOPPED_STEP;
        return sweep->program->stop.n_ports > 0 || refuse(error, "when instances stop can not be reduced without stop_when");
    }
    if (sweep->records[record].dtype == MDF_DTYPE_NONE) {
        return refuse(error, "without instances there is nothing to reduce");
    }
    *n_values = sweep->records[record].n_elements * sweep->n_rows;
    *is_whole = mdf_dtype_kind(sweep->records[record].dtype) != 'f';
    return mdf_dtype_kind(sweep->records[record].dtype) != 'c' || refuse(error, "complex numbers are not reduced");
}

/* [cells, rows, shape of one value, points] */
static bool find_form(struct mdf_sweep *sweep, const mdf_sweep_reduction *reduction, size_t record, mdf_tensor *form)
{
    const struct mdf_swept_record *of = record < MDF_REDUCED_STOPPED_STEP ? &sweep->records[record] : NULL;
    size_t rank = of != NULL ? of->rank : 0;
    int64_t *shape = mdf_arena_array(&sweep->arena, rank + 3, sizeof *shape);

    if (shape == NULL) {
        return false;
    }
    form->dtype = mdf_reduction_dtype(reduction);
    form->shape = shape;
    shape[form->rank++] = (int64_t)sweep->plan.n_cells;
    shape[form->rank++] = of != NULL ? (int64_t)sweep->n_rows : 1;
    if (rank > 0) {
        memcpy(shape + form->rank, of->shape, rank * sizeof *shape);
        form->rank += rank;
    }
    if (reduction->n_points > 0) {
        shape[form->rank++] = (int64_t)mdf_reduction_n_points(reduction);
    }
    return true;
}

static bool count_cells(struct mdf_sweep *sweep, const mdf_sweep_options *options, mdf_error *error)
{
    bool *is_reduced = mdf_arena_array(&sweep->arena, sweep->n_grid, sizeof *is_reduced);
    size_t i;

    if (is_reduced == NULL) {
        return mdf_memory_error(&sweep->memory, error) == MDF_OK;
    }
    sweep->plan.n_cells = 1;
    for (i = 0; i < sweep->n_grid; i++) {
        is_reduced[i] = options->is_reduced == NULL || options->is_reduced[i];
        sweep->plan.n_cells *= is_reduced[i] ? 1 : sweep->grid[i];
    }
    sweep->is_reduced = is_reduced;
    return true;
}

bool mdf_sweep_take_reductions(struct mdf_sweep *sweep, const mdf_sweep_options *options, mdf_error *error)
{
    size_t n = options->n_reductions, n_values, i;
    mdf_tensor *forms = mdf_arena_array(&sweep->arena, n, sizeof *forms);
    bool is_whole;

    if (n == 0) {
        return true;
    }
    if (forms == NULL || !count_cells(sweep, options, error)) {
        return mdf_memory_error(&sweep->memory, error) == MDF_OK;
    }
    for (i = 0; i < n; i++) {
        const mdf_sweep_reduction *reduction = &options->reductions[i];

        if (!find_values(sweep, reduction->record, &n_values, &is_whole, error)) {
            return false;
        }
        if (!mdf_reduction_add(&sweep->plan, &sweep->arena, reduction, n, n_values, is_whole) ||
            !find_form(sweep, reduction, reduction->record, &forms[i])) {
            return mdf_memory_error(&sweep->memory, error) == MDF_OK;
        }
    }
    sweep->reduced_forms = forms;
    sweep->reduced = mdf_reduced_new(&sweep->memory, &sweep->plan);
    return sweep->reduced != NULL || mdf_memory_error(&sweep->memory, error) == MDF_OK;
}

/* ------------------------------------------------------------------ rows */

void mdf_sweep_free_rows(struct mdf_sweep *sweep, void **rows)
{
    size_t i;

    for (i = 0; rows != NULL && i < sweep->n_records; i++) {
        mdf_memory_release(&sweep->memory, rows[i]);
    }
    mdf_memory_release(&sweep->memory, rows);
}

void **mdf_sweep_new_rows(struct mdf_sweep *sweep, size_t n_instances, mdf_error *error)
{
    void **rows = mdf_memory_allocate_zeroed(&sweep->memory, sweep->n_records, sizeof *rows);
    size_t n_rows, i;
    bool fits = mdf_size_multiply(sweep->n_rows, n_instances, &n_rows);

    for (i = 0; rows != NULL && i < sweep->n_records; i++) {
        rows[i] = fits ? mdf_memory_allocate_zeroed(&sweep->memory, n_rows, sweep->records[i].size_bytes) : NULL;
        if (rows[i] == NULL) {
            mdf_sweep_free_rows(sweep, rows);
            rows = NULL;
        }
    }
    if (rows == NULL) {
        mdf_memory_error(&sweep->memory, error);
    }
    return rows;
}

/* ------------------------------------------------------------------ adding */

/* The number of the cell that an instance belongs to. */
static size_t cell_of(const struct mdf_sweep *sweep, size_t instance)
{
    size_t rest = sweep->first_instance + instance, cell = 0, n_behind = 1, axis;

    for (axis = sweep->plan.n_cells == 1 ? 0 : sweep->n_grid; axis-- > 0;) {
        size_t length = sweep->grid[axis];

        if (!sweep->is_reduced[axis]) {
            cell += rest % length * n_behind;
            n_behind *= length;
        }
        rest /= length;
    }
    return cell;
}

static bool add_stop(const struct mdf_sweep *sweep, struct mdf_reduced *reduced, size_t cell, const struct mdf_quantity *quantity,
                     int64_t step)
{
    double time_s = sweep->dt * (double)(step - 1);

    if (step < 0) {
        return true;
    }
    return quantity->record == MDF_REDUCED_STOPPED_STEP ? mdf_reduced_add(reduced, cell, quantity, MDF_DTYPE_INT64, &step)
                                                        : mdf_reduced_add(reduced, cell, quantity, MDF_DTYPE_FLOAT64, &time_s);
}

bool mdf_sweep_reduces(const struct mdf_sweep *sweep, size_t record)
{
    size_t i;

    for (i = 0; i < sweep->plan.n_quantities && sweep->plan.quantities[i].record != record; i++) {
    }
    return i < sweep->plan.n_quantities;
}

bool mdf_sweep_reduce(const struct mdf_sweep *sweep, struct mdf_reduced *reduced, const struct mdf_sweep_target *target,
                      size_t first, size_t n)
{
    size_t i, j;

    for (i = first; i < first + n; i++) {
        size_t cell = cell_of(sweep, i), row = (i - target->first + target->first_row) * sweep->n_rows;

        for (j = 0; j < sweep->plan.n_quantities; j++) {
            const struct mdf_quantity *quantity = &sweep->plan.quantities[j];
            const struct mdf_swept_record *record =
                quantity->record < MDF_REDUCED_STOPPED_STEP ? &sweep->records[quantity->record] : NULL;

            if (record == NULL ? !add_stop(sweep, reduced, cell, quantity, target->stopped_steps[i - target->first])
                               : !mdf_reduced_add(reduced, cell, quantity, record->dtype,
                                                  (const char *)target->arrays[quantity->record] + row * record->size_bytes)) {
                return false;
            }
        }
    }
    return true;
}
