/* sweep_axes.c - the instances of a sweep as a grid: what is listed has an axis each, or, one by one, all of it has one; what is
 * drawn has one together; and so have the trials. */
#include "mdf_c/base/error.h"
#include "mdf_c/cli/sweep/sweep_file.h"

#include <string.h>

static bool refuse(const char *path, mdf_error *error)
{
    mdf_error_at(error, path, 0, 0);
    return false;
}

static size_t n_values(const struct sweep_entry *entry)
{
    return (size_t)mdf_value_shape(&entry->values)[0];
}

static size_t add_axis(struct sweep_file *sweep, const char *name, size_t length)
{
    sweep->axes[sweep->n_axes] = (struct sweep_axis){name, length};
    return sweep->n_axes++;
}

/* What is listed; the number of the first entry of it in *first. */
static bool add_listed(struct sweep_file *sweep, const char *path, mdf_error *error)
{
    const struct sweep_entry *first = NULL;

    for (size_t i = 0; i < sweep->n_swept; i++) {
        struct sweep_entry *entry = &sweep->swept[i];

        if (entry->is_drawn) {
            continue;
        }
        if (sweep->is_grid || first == NULL) {
            entry->axis = add_axis(sweep, sweep->is_grid ? entry->name : "instance", n_values(entry));
        } else if (n_values(entry) != n_values(first)) {
            mdf_error_set(error, MDF_VALUE,
                          "to be combined one by one (zip), names need equally many values: '%s' has %zu and '%s' has %zu",
                          first->name, n_values(first), entry->name, n_values(entry));
            mdf_error_at(error, path, entry->place.line, entry->place.column);
            return false;
        } else {
            entry->axis = first->axis;
        }
        first = first == NULL ? entry : first;
    }
    return true;
}

/* Draws all values that are. */
static bool draw(struct sweep_file *sweep, const char *path, mdf_error *error)
{
    const int64_t shape = (int64_t)sweep->n_samples;
    mdf_distribution *distributions = mdf_arena_array(&sweep->arena, sweep->n_swept, sizeof *distributions);
    const struct sweep_entry *first = NULL;
    size_t n = 0, axis, size_bytes;
    double *values = NULL;

    for (size_t i = 0; distributions != NULL && i < sweep->n_swept; i++) {
        if (sweep->swept[i].is_drawn) {
            distributions[n++] = sweep->swept[i].distribution;
            first = first == NULL ? &sweep->swept[i] : first;
        }
    }
    if (distributions != NULL && n > 0 && sweep->n_samples == 0) {
        mdf_error_set(error, MDF_VALUE, "values are drawn: 'samples' must say how many");
        mdf_error_at(error, path, first->place.line, first->place.column);
        return false;
    }
    if (n > 0 && mdf_size_multiply(n, sweep->n_samples, &size_bytes) &&
        mdf_size_multiply(size_bytes, sizeof *values, &size_bytes)) {
        values = mdf_memory_allocate(sweep->memory, size_bytes);
    }
    if (distributions == NULL || (n > 0 && values == NULL)) {
        return mdf_memory_error(sweep->memory, error) == MDF_OK;
    }
    if (n == 0) {
        return true;
    }
    if (mdf_sample(sweep->sampling, sweep->sample_seed, distributions, n, sweep->n_samples, values, error) != MDF_OK) {
        mdf_memory_release(sweep->memory, values);
        return refuse(path, error);
    }
    axis = add_axis(sweep, "sample", sweep->n_samples);
    for (size_t i = n = 0; i < sweep->n_swept; i++) {
        struct sweep_entry *entry = &sweep->swept[i];
        void *elements =
            entry->is_drawn ? mdf_value_make_tensor(sweep->memory, &entry->values, MDF_DTYPE_FLOAT64, 1, &shape) : NULL;

        if (entry->is_drawn && elements == NULL) {
            mdf_memory_release(sweep->memory, values);
            return mdf_memory_error(sweep->memory, error) == MDF_OK;
        }
        if (entry->is_drawn) {
            memcpy(elements, values + n++ * sweep->n_samples, sweep->n_samples * sizeof *values);
            entry->values.strength = MDF_STRENGTH_LITERAL;
            entry->axis = axis;
        }
    }
    mdf_memory_release(sweep->memory, values);
    return true;
}

bool make_sweep_axes(struct sweep_file *sweep, const char *path, mdf_error *error)
{
    sweep->axes = mdf_arena_array(&sweep->arena, sweep->n_swept + 2, sizeof *sweep->axes);
    if (sweep->axes == NULL) {
        return mdf_memory_error(sweep->memory, error) == MDF_OK;
    }
    if (!add_listed(sweep, path, error) || !draw(sweep, path, error)) {
        return false;
    }
    if (sweep->n_trials > 0) {
        add_axis(sweep, "trial", sweep->n_trials);
    }
    if (sweep->n_axes == 0) {
        mdf_error_set(error, MDF_VALUE, "nothing is swept: 'parameters' is empty, and there are no 'trials'");
        return refuse(path, error);
    }
    sweep->n_instances = 1;
    for (size_t i = 0; i < sweep->n_axes; i++) {
        if (!mdf_size_multiply(sweep->n_instances, sweep->axes[i].length, &sweep->n_instances)) {
            mdf_error_set(error, MDF_USAGE, "the grid has too many instances");
            return refuse(path, error);
        }
    }
    return true;
}
