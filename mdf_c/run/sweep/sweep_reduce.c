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

    if (is_reduced == NULL) {
        return mdf_memory_error(&sweep->memory, error) == MDF_OK;
    }
    sweep->plan.n_cells = 1;
    for (size_t i = 0; i < sweep->n_grid; i++) {
        is_reduced[i] = options->is_reduced == NULL || options->is_reduced[i];
        sweep->plan.n_cells *= is_reduced[i] ? 1 : sweep->grid[i];
    }
    sweep->is_reduced = is_reduced;
    return true;
}

bool mdf_sweep_take_reductions(struct mdf_sweep *sweep, const mdf_sweep_options *options, mdf_error *error)
{
    size_t n = options->n_reductions, n_values;
    mdf_tensor *forms = mdf_arena_array(&sweep->arena, n, sizeof *forms);
    bool is_whole;

    if (n == 0) {
        return true;
    }
    if (forms == NULL || !count_cells(sweep, options, error)) {
        return mdf_memory_error(&sweep->memory, error) == MDF_OK;
    }
    for (size_t i = 0; i < n; i++) {
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
    for (size_t i = 0; rows != NULL && i < sweep->n_records; i++) {
        mdf_memory_release(&sweep->memory, rows[i]);
    }
    mdf_memory_release(&sweep->memory, rows);
}

void **mdf_sweep_new_rows(struct mdf_sweep *sweep, size_t n_instances, mdf_error *error)
{
    void **rows = mdf_memory_allocate_zeroed(&sweep->memory, sweep->n_records, sizeof *rows);
    size_t n_rows;
    bool fits = mdf_size_multiply(sweep->n_rows, n_instances, &n_rows);

    for (size_t i = 0; rows != NULL && i < sweep->n_records; i++) {
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
    size_t rest = sweep->first_instance + instance, cell = 0, n_behind = 1;

    if (sweep->plan.n_cells == 1) {
        return 0;
    }
    for (size_t axis = sweep->n_grid; axis-- > 0;) {
        size_t length = sweep->grid[axis];

        if (!sweep->is_reduced[axis]) {
            cell += rest % length * n_behind;
            n_behind *= length;
        }
        rest /= length;
    }
    return cell;
}

bool mdf_sweep_reduces(const struct mdf_sweep *sweep, size_t record)
{
    size_t i;

    for (i = 0; i < sweep->plan.n_quantities && sweep->plan.quantities[i].record != record; i++) {
    }
    return i < sweep->plan.n_quantities;
}

/* ------------------------------------------------------------------ several at once */

/* As many as have a few pages of rows. */
static size_t count_in_batch(const struct mdf_sweep *sweep)
{
    enum { MOST = 64, MOST_BYTES = 1 << 16 };
    size_t bytes = 1;

    for (size_t i = 0; i < sweep->n_records; i++) {
        bytes += sweep->n_rows * sweep->records[i].size_bytes; /* which fits, as that of all instances does */
    }
    return bytes > MOST_BYTES / MOST ? (bytes > MOST_BYTES ? 1 : MOST_BYTES / bytes) : MOST;
}

void mdf_sweep_batch_free(struct mdf_sweep *sweep, struct mdf_sweep_batch *batch)
{
    if (batch != NULL) {
        mdf_memory_release(&sweep->memory, batch->cells);
        mdf_memory_release(&sweep->memory, batch->stopped);
        mdf_memory_release(&sweep->memory, batch->stopped_times);
        mdf_sweep_free_rows(sweep, batch->rows);
        mdf_memory_release(&sweep->memory, batch);
    }
}

struct mdf_sweep_batch *mdf_sweep_batch_new(struct mdf_sweep *sweep, mdf_error *error)
{
    struct mdf_sweep_batch *batch = mdf_memory_allocate_zeroed(&sweep->memory, 1, sizeof *batch);
    size_t most = count_in_batch(sweep);

    if (batch != NULL) {
        batch->most = most;
        batch->cells = mdf_memory_allocate_zeroed(&sweep->memory, most, sizeof *batch->cells);
        batch->stopped = mdf_memory_allocate_zeroed(&sweep->memory, most, sizeof *batch->stopped);
        batch->stopped_times = mdf_memory_allocate_zeroed(&sweep->memory, most, sizeof *batch->stopped_times);
        batch->rows = mdf_sweep_new_rows(sweep, most, error);
    }
    if (batch == NULL || batch->cells == NULL || batch->stopped == NULL || batch->stopped_times == NULL || batch->rows == NULL) {
        mdf_sweep_batch_free(sweep, batch);
        mdf_memory_error(&sweep->memory, error);
        return NULL;
    }
    return batch;
}

/* When instances stopped is of those that did, which come first afterwards. */
static bool reduce_stops(const struct mdf_sweep *sweep, struct mdf_sweep_batch *batch, struct mdf_reduced *reduced)
{
    size_t n = 0;
    bool done = true;

    for (size_t i = 0; i < batch->n; i++) {
        if (batch->stopped[i] >= 0) {
            batch->cells[n] = batch->cells[i];
            batch->stopped[n] = batch->stopped[i];
            batch->stopped_times[n++] = sweep->dt * (double)(batch->stopped[i] - 1);
        }
    }
    for (size_t i = 0; i < sweep->plan.n_quantities && done; i++) {
        const struct mdf_quantity *quantity = &sweep->plan.quantities[i];

        if (quantity->record == MDF_REDUCED_STOPPED_STEP) {
            done = mdf_reduced_add(reduced, quantity, n, batch->cells, MDF_DTYPE_INT64, batch->stopped, sizeof *batch->stopped);
        } else if (quantity->record == MDF_REDUCED_STOPPED_TIME) {
            done = mdf_reduced_add(reduced, quantity, n, batch->cells, MDF_DTYPE_FLOAT64, batch->stopped_times, sizeof(double));
        }
    }
    return done;
}

bool mdf_sweep_batch_reduce(const struct mdf_sweep *sweep, struct mdf_sweep_batch *batch, struct mdf_reduced *reduced)
{
    bool done = true;

    for (size_t i = 0; i < sweep->plan.n_quantities && done; i++) {
        const struct mdf_quantity *quantity = &sweep->plan.quantities[i];

        if (quantity->record < MDF_REDUCED_STOPPED_STEP) {
            const struct mdf_swept_record *record = &sweep->records[quantity->record];

            done = mdf_reduced_add(reduced, quantity, batch->n, batch->cells, record->dtype, batch->rows[quantity->record],
                                   sweep->n_rows * record->size_bytes);
        }
    }
    done = done && reduce_stops(sweep, batch, reduced);
    batch->n = 0;
    return done;
}

bool mdf_sweep_batch_add(const struct mdf_sweep *sweep, struct mdf_sweep_batch *batch, struct mdf_reduced *reduced,
                         const struct mdf_sweep_target *target, size_t instance)
{
    for (size_t i = 0; i < sweep->plan.n_quantities; i++) {
        size_t record = sweep->plan.quantities[i].record;

        if (record < MDF_REDUCED_STOPPED_STEP) {
            const char *rows = mdf_sweep_row_place(sweep, target, instance, 0, record);
            size_t size = sweep->n_rows * sweep->records[record].size_bytes;

            if (size == sizeof(uint64_t)) { /* as most are */
                memcpy((char *)batch->rows[record] + batch->n * sizeof(uint64_t), rows, sizeof(uint64_t));
            } else {
                memcpy((char *)batch->rows[record] + batch->n * size, rows, size);
            }
        }
    }
    batch->cells[batch->n] = cell_of(sweep, instance);
    batch->stopped[batch->n++] = target->stopped_steps[instance - target->first];
    return batch->n < batch->most || mdf_sweep_batch_reduce(sweep, batch, reduced);
}
