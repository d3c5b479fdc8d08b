/* sweep_api.c - sweeps. See mdf.h. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/run/sweep/sweep.h"

mdf_sweep *mdf_sweep_new(const mdf_program *program, const mdf_sweep_options *options, mdf_error *error)
{
    mdf_sweep_options known;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(program, error) || !mdf_read_sweep_options(options, &known, error)) {
        return NULL;
    }
    return mdf_sweep_create(program, &known, error);
}

void mdf_sweep_free(mdf_sweep *sweep)
{
    if (sweep != NULL && !atomic_load(&sweep->is_running)) {
        mdf_sweep_release(sweep);
    }
}

uint64_t mdf_sweep_seed(uint64_t seed, uint64_t instance)
{
    return mdf_sweep_seed_of(seed, instance);
}

size_t mdf_sweep_n_rows(const mdf_sweep *sweep)
{
    return sweep != NULL ? sweep->n_rows : 0;
}

bool mdf_sweep_form(const mdf_sweep *sweep, size_t record, mdf_tensor *form)
{
    if (sweep == NULL || record >= sweep->n_records || sweep->records[record].dtype == MDF_DTYPE_NONE) {
        return false;
    }
    if (form != NULL) {
        *form = (mdf_tensor){sweep->records[record].dtype, sweep->records[record].rank, sweep->records[record].shape, NULL};
    }
    return true;
}

/* Each record needs an array, but where nothing is written. */
static bool check_arrays(const mdf_sweep *sweep, void *const *arrays, mdf_error *error)
{
    size_t i;

    for (i = 0; sweep->n_instances > 0 && i < sweep->n_records; i++) {
        if (sweep->records[i].size_bytes > 0 && (arrays == NULL || arrays[i] == NULL)) {
            mdf_error_set(error, MDF_USAGE, "mdf_sweep_run: the array of record %zu is NULL", i);
            return false;
        }
    }
    return true;
}

mdf_status mdf_sweep_run(mdf_sweep *sweep, void *const *arrays, mdf_error *error)
{
    mdf_status status;

    error = mdf_unset_error(error);
    if (!MDF_GIVEN(sweep, error) || !check_arrays(sweep, arrays, error)) {
        return MDF_USAGE;
    }
    if (atomic_exchange(&sweep->is_running, true)) {
        return mdf_error_set(error, MDF_USAGE, "the sweep is running already");
    }
    status = mdf_sweep_run_all(sweep, arrays, error);
    atomic_store(&sweep->is_running, false);
    return status;
}

size_t mdf_sweep_n_done(const mdf_sweep *sweep)
{
    return sweep != NULL ? atomic_load(&sweep->n_done) : 0;
}

void mdf_sweep_interrupt(mdf_sweep *sweep)
{
    if (sweep != NULL) {
        atomic_store(&sweep->interrupted, true);
    }
}
