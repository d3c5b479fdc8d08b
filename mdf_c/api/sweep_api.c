/* sweep_api.c - sweeps. See mdf.h. */
#include "mdf_c/run/sweep.h"

mdf_sweep *mdf_sweep_new(const mdf_program *program, const mdf_sweep_options *options, mdf_error *error)
{
    return mdf_sweep_create(program, options, error);
}

void mdf_sweep_free(mdf_sweep *sweep)
{
    mdf_sweep_release(sweep);
}

uint64_t mdf_sweep_seed(uint64_t seed, uint64_t instance)
{
    uint64_t bits = seed + (instance + 1) * 0x9E3779B97F4A7C15u;

    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

size_t mdf_sweep_n_rows(const mdf_sweep *sweep)
{
    return sweep->n_rows;
}

bool mdf_sweep_form(const mdf_sweep *sweep, size_t record, mdf_tensor *form)
{
    if (record >= sweep->n_records || sweep->records[record].dtype == MDF_DTYPE_NONE) {
        return false;
    }
    *form = (mdf_tensor){sweep->records[record].dtype, sweep->records[record].rank, sweep->records[record].shape, NULL};
    return true;
}

mdf_status mdf_sweep_run(mdf_sweep *sweep, void *const *arrays, mdf_error *error)
{
    return mdf_sweep_run_all(sweep, arrays, error);
}

size_t mdf_sweep_n_done(const mdf_sweep *sweep)
{
    return atomic_load(&sweep->n_done);
}

void mdf_sweep_interrupt(mdf_sweep *sweep)
{
    atomic_store(&sweep->interrupted, true);
}
