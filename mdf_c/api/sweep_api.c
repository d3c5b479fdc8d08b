/* sweep_api.c - sweeps. See mdf.h. */
#include "mdf_c/api/arguments.h"
#include "mdf_c/run/explain.h"
#include "mdf_c/run/sweep/sample.h"
#include "mdf_c/run/sweep/sweep.h"

#include <string.h>

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

mdf_status mdf_sample(mdf_sampling sampling, uint64_t seed, const mdf_distribution *distributions, size_t n_distributions,
                      size_t n_samples, double *values, mdf_error *error)
{
    size_t n;

    error = mdf_unset_error(error);
    if (n_distributions == 0 || n_samples == 0) {
        return MDF_OK;
    }
    if (!MDF_GIVEN(distributions, error) || !MDF_GIVEN(values, error)) {
        return MDF_USAGE;
    }
    if (!mdf_size_multiply(n_distributions, n_samples, &n) || !mdf_size_multiply(n, sizeof *values, &n)) {
        return mdf_error_set(error, MDF_USAGE, "mdf_sample: there are too many values");
    }
    return mdf_draw_sample(sampling, seed, distributions, n_distributions, n_samples, values, error);
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

bool mdf_sweep_reduced_form(const mdf_sweep *sweep, size_t reduction, mdf_tensor *form)
{
    if (sweep == NULL || reduction >= sweep->plan.n_reductions) {
        return false;
    }
    if (form != NULL) {
        *form = sweep->reduced_forms[reduction];
    }
    return true;
}

mdf_status mdf_sweep_reduced(const mdf_sweep *sweep, size_t reduction, void *array, mdf_error *error)
{
    error = mdf_unset_error(error);
    if (!MDF_GIVEN(sweep, error) || !MDF_GIVEN(array, error)) {
        return MDF_USAGE;
    }
    if (reduction >= sweep->plan.n_reductions) {
        return mdf_error_set(error, MDF_USAGE, "mdf_sweep_reduced: the sweep has no reduction %zu", reduction);
    }
    return mdf_reduced_tell(sweep->reduced, reduction, array) ? MDF_OK : mdf_memory_error(sweep->reduced->memory, error);
}

size_t mdf_sweep_save_reduced(const mdf_sweep *sweep, void *bytes, size_t size)
{
    struct mdf_text text;
    size_t n;

    if (sweep == NULL || sweep->reduced == NULL) {
        return 0;
    }
    mdf_text_init(&text, sweep->reduced->memory);
    mdf_reduced_write(sweep->reduced, &text);
    n = text.failed ? 0 : text.length;
    if (bytes != NULL && n > 0) {
        memcpy(bytes, text.bytes, n < size ? n : size);
    }
    mdf_text_release(&text);
    return n;
}

mdf_status mdf_sweep_add_reduced(mdf_sweep *sweep, const void *bytes, size_t size, mdf_error *error)
{
    error = mdf_unset_error(error);
    if (!MDF_GIVEN(sweep, error) || !MDF_GIVEN(bytes, error)) {
        return MDF_USAGE;
    }
    if (sweep->reduced == NULL) {
        return mdf_error_set(error, MDF_USAGE, "mdf_sweep_add_reduced: the sweep has no reductions");
    }
    switch (mdf_reduced_read(sweep->reduced, bytes, size)) {
    case MDF_REDUCED_ADDED:
        return MDF_OK;
    case MDF_REDUCED_OTHER:
        return mdf_error_set(error, MDF_VALUE, "what is to be added was saved by a sweep with other reductions");
    case MDF_REDUCED_BROKEN:
        return mdf_error_set(error, MDF_VALUE, "what is to be added is broken");
    case MDF_REDUCED_REFUSED:
        break;
    }
    return mdf_memory_error(&sweep->memory, error);
}

/* Each record needs an array, but where nothing is written. */
static bool check_arrays(const mdf_sweep *sweep, void *const *arrays, mdf_error *error)
{
    if (arrays == NULL && sweep->reduced != NULL) {
        return true;
    }
    for (size_t i = 0; sweep->n_instances > 0 && i < sweep->n_records; i++) {
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

size_t mdf_explain_sweep(const mdf_sweep *sweep, char *text, size_t size)
{
    struct mdf_memory memory;
    struct mdf_text explanation;
    size_t length;

    if (sweep == NULL || atomic_load(&sweep->is_running)) {
        return mdf_give_text(NULL, text, size);
    }
    mdf_memory_init(&memory, &sweep->memory.allocator, 0);
    mdf_text_init(&explanation, &memory);
    length = mdf_give_text(mdf_sweep_explain(&explanation, sweep) ? &explanation : NULL, text, size);
    mdf_text_release(&explanation);
    return length;
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
