/* arguments.c - see arguments.h. */
#include "mdf_c/api/arguments.h"

#include <float.h>

#include "mdf_c/tensor/value.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

mdf_error *mdf_unset_error(mdf_error *error)
{
    return error == NULL || error->code == MDF_OK ? error : NULL;
}

bool mdf_argument_given(const void *argument, const char *name, const char *function, mdf_error *error)
{
    if (argument == NULL) {
        mdf_error_set(error, MDF_USAGE, "%s: '%s' is NULL", function, name);
    }
    return argument != NULL;
}

bool mdf_arguments_given(const void *const *items, size_t n, const char *what, mdf_error *error)
{
    if (items == NULL && n > 0) {
        mdf_error_set(error, MDF_USAGE, "there is no array of %zu %s: it is NULL", n, what);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i] == NULL) {
            mdf_error_set(error, MDF_USAGE, "number %zu of the %s is NULL", i, what);
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ arrays */

/* Why there is no array of that type and shape. */
static const char *form_fault(mdf_dtype dtype, size_t rank, const int64_t *shape, size_t *n_elements, size_t *size_bytes)
{
    if ((unsigned)dtype >= MDF_DTYPE_COUNT) {
        return "has no element type";
    }
    if (rank > UINT32_MAX) {
        return "has too many axes";
    }
    if (rank > 0 && shape == NULL) {
        return "has axes, but its shape is NULL";
    }
    if (!mdf_shape_n_elements(rank, shape, n_elements) || !mdf_size_multiply(*n_elements, mdf_dtype_size(dtype), size_bytes) ||
        *size_bytes > PTRDIFF_MAX) {
        return "has sizes that are negative, or more elements than memory can hold";
    }
    return NULL;
}

const char *mdf_tensor_fault(const mdf_tensor *tensor)
{
    const char *const *texts = tensor->data;
    size_t n_elements, size_bytes;
    const char *fault = form_fault(tensor->dtype, tensor->rank, tensor->shape, &n_elements, &size_bytes);

    if (fault == NULL && n_elements > 0 && tensor->data == NULL) {
        fault = "has elements, but its data is NULL";
    }
    for (size_t i = 0; fault == NULL && tensor->dtype == MDF_DTYPE_STRING && i < n_elements; i++) {
        fault = texts[i] == NULL ? "has a string that is NULL" : NULL;
    }
    return fault;
}

const char *mdf_record_fault(const mdf_record *record, uint64_t n_steps)
{
    size_t n_elements, size_bytes, total;
    const char *fault = form_fault(record->dtype, record->rank, record->shape, &n_elements, &size_bytes);

    if (fault != NULL) {
        return fault;
    }
    if (record->dtype == MDF_DTYPE_STRING) {
        return "is of strings: only numbers can be written down";
    }
    if (record->size_bytes != size_bytes) {
        return "has a size in bytes that is not the one of its type and shape";
    }
    if (size_bytes > 0 && ((size_t)n_steps != n_steps || !mdf_size_multiply(size_bytes, (size_t)n_steps, &total))) {
        return "has no room for so many steps";
    }
    return size_bytes > 0 && n_steps > 0 && record->data == NULL ? "has no room: its data is NULL" : NULL;
}

/* ------------------------------------------------------------------ options */

/* What a struct of options is like: every one begins with its size. */
struct layout {
    const char *name;
    size_t size;  /* here */
    size_t least; /* of the fields of the first header */
};

/* Copies the fields that both the caller and this library know. */
static bool read_struct(const struct layout *layout, const void *given, void *options, mdf_error *error)
{
    const unsigned char *bytes = given;
    size_t size = 0;

    memset(options, 0, layout->size);
    if (given == NULL) {
        return true;
    }
    memcpy(&size, given, sizeof size);
    if (size == 0) {
        size = layout->size;
    }
    if (size < layout->least) {
        mdf_error_set(error, MDF_USAGE, "%s: its size is %zu, but it has at least %zu bytes: say sizeof(%s), or 0", layout->name,
                      size, layout->least, layout->name);
        return false;
    }
    for (size_t i = layout->size; i < size; i++) {
        if (bytes[i] != 0) {
            mdf_error_set(error, MDF_USAGE,
                          "%s: a field behind the %zu bytes that this library (version " MDF_VERSION
                          ") knows is set: the program was made for a later version",
                          layout->name, layout->size);
            return false;
        }
    }
    memcpy(options, given, size < layout->size ? size : layout->size);
    return true;
}

static bool check_n_threads(int n_threads, mdf_error *error)
{
    if (n_threads < 0) {
        mdf_error_set(error, MDF_USAGE, "n_threads is %d: a number of threads, or 0 for all cores, is needed", n_threads);
    }
    return n_threads >= 0;
}

bool mdf_check_allocator(const mdf_allocator *allocator, mdf_error *error)
{
    if (allocator != NULL && (allocator->allocate == NULL || allocator->reallocate == NULL || allocator->release == NULL)) {
        mdf_error_set(error, MDF_USAGE, "mdf_allocator: all three functions are required");
        return false;
    }
    return true;
}

static bool check_loop_condition(mdf_loop_condition condition, mdf_error *error)
{
    bool is_known = (unsigned)condition <= MDF_LOOP_CONDITION_OBEY;

    if (!is_known) {
        mdf_error_set(error, MDF_USAGE, "loop_condition is %d, which is no mdf_loop_condition", (int)condition);
    }
    return is_known;
}

static bool check_dialect(mdf_dialect dialect, mdf_error *error)
{
    bool is_known = (unsigned)dialect <= MDF_DIALECT_PSYNEULINK;

    if (!is_known) {
        mdf_error_set(error, MDF_USAGE, "dialect is %d, which is no mdf_dialect", (int)dialect);
    }
    return is_known;
}

static bool check_scheduling_mode(mdf_scheduling_mode mode, mdf_error *error)
{
    bool is_known = (unsigned)mode <= MDF_SCHEDULING_MODE_EXACT_TIME;

    if (!is_known) {
        mdf_error_set(error, MDF_USAGE, "scheduling_mode is %d, which is no mdf_scheduling_mode", (int)mode);
    }
    return is_known;
}

static bool check_solver(const mdf_options *options, mdf_error *error)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"rtol", options->rtol}, {"atol", options->atol}, {"max_step", options->max_step}};

    if ((unsigned)options->method > MDF_METHOD_CVODE_BDF) {
        mdf_error_set(error, MDF_USAGE, "method is %d, which is no mdf_method", (int)options->method);
        return false;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!(numbers[i].value >= 0) || numbers[i].value > DBL_MAX) {
            mdf_error_set(error, MDF_USAGE, "%s is %g; it must be a number above 0, or 0 for the default", numbers[i].name,
                          numbers[i].value);
            return false;
        }
    }
    return true;
}

bool mdf_read_options(const mdf_options *given, mdf_options *options, mdf_error *error)
{
    static const struct layout layout = {"mdf_options", sizeof *options, offsetof(mdf_options, plain) + sizeof options->plain};

    return read_struct(&layout, given, options, error) && check_n_threads(options->n_threads, error) &&
           mdf_check_allocator(options->allocator, error) && check_loop_condition(options->loop_condition, error) &&
           check_dialect(options->dialect, error) && check_scheduling_mode(options->scheduling_mode, error) &&
           check_solver(options, error);
}

static bool check_values(const mdf_sweep_values *values, size_t n, const char *what, mdf_error *error)
{
    if (values == NULL && n > 0) {
        mdf_error_set(error, MDF_USAGE, "mdf_sweep_options: there are %zu %s, but their array is NULL", n, what);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const bool is_text = values[i].values.dtype == MDF_DTYPE_STRING; /* refused where the values are used */
        const char *fault = values[i].name == NULL ? "has no name" : is_text ? NULL : mdf_tensor_fault(&values[i].values);

        if (fault != NULL) {
            mdf_error_set(error, MDF_USAGE, "sweep of '%s': the array of values %s", values[i].name != NULL ? values[i].name : "",
                          fault);
            return false;
        }
    }
    return true;
}

static bool check_records(const mdf_record *records, size_t n, mdf_error *error)
{
    if (records == NULL && n > 0) {
        mdf_error_set(error, MDF_USAGE, "mdf_sweep_options: there are %zu records, but their array is NULL", n);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if ((unsigned)records[i].dtype < MDF_DTYPE_COUNT && records[i].rank > 0 && records[i].shape == NULL) {
            mdf_error_set(error, MDF_USAGE, "sweep: record %zu has axes, but its shape is NULL", i);
            return false;
        }
    }
    return true;
}

static bool check_reductions(const mdf_sweep_options *options, mdf_error *error)
{
    if ((options->n_reductions > 0 && options->reductions == NULL) || (options->n_grid > 0 && options->grid == NULL)) {
        mdf_error_set(error, MDF_USAGE,
                      "mdf_sweep_options: there are %zu reductions and %zu axes of a grid, but an array is NULL",
                      options->n_reductions, options->n_grid);
        return false;
    }
    for (size_t i = 0; i < options->n_reductions; i++) {
        const mdf_sweep_reduction *reduction = &options->reductions[i];
        bool is_histogram = reduction->kind == MDF_REDUCTION_HISTOGRAM;
        size_t least = is_histogram ? 2 : reduction->kind == MDF_REDUCTION_QUANTILES ? 1 : 0;
        bool fits = (unsigned)reduction->kind <= MDF_REDUCTION_HISTOGRAM && reduction->n_points >= least &&
                    (least > 0) == (reduction->n_points > 0) && (least == 0 || reduction->points != NULL) &&
                    (reduction->record >= MDF_REDUCED_STOPPED_STEP || reduction->record < options->n_records);

        for (size_t j = 0; fits && j < reduction->n_points; j++) {
            fits = is_histogram ? isfinite(reduction->points[j]) && (j == 0 || reduction->points[j] > reduction->points[j - 1])
                                : reduction->points[j] >= 0 && reduction->points[j] <= 1;
        }
        if (!fits) {
            mdf_error_set(error, MDF_USAGE,
                          "sweep: reduction %zu is of no record or kind, or its points are not the quantiles from 0 to 1, or the "
                          "ascending edges of a histogram, that it needs",
                          i);
            return false;
        }
    }
    return true;
}

bool mdf_read_sweep_options(const mdf_sweep_options *given, mdf_sweep_options *options, mdf_error *error)
{
    static const struct layout layout = {"mdf_sweep_options", sizeof *options,
                                         offsetof(mdf_sweep_options, progress_context) + sizeof options->progress_context};

    return read_struct(&layout, given, options, error) && check_n_threads(options->n_threads, error) &&
           check_values(options->parameters, options->n_parameters, "parameters", error) &&
           check_values(options->inputs, options->n_inputs, "inputs", error) &&
           check_records(options->records, options->n_records, error) && check_reductions(options, error);
}

bool mdf_read_function(const mdf_function *given, mdf_function *function, mdf_error *error)
{
    static const struct layout layout = {"mdf_function", sizeof *function,
                                         offsetof(mdf_function, release) + sizeof function->release};

    return read_struct(&layout, given, function, error);
}

size_t mdf_give_text(const struct mdf_text *whole, char *text, size_t size)
{
    size_t length = whole != NULL && !whole->failed ? whole->length : 0, n = length < size ? length : size - 1;

    if (text != NULL && size > 0) {
        if (length > 0) {
            memcpy(text, whole->bytes, n);
        }
        text[length > 0 ? n : 0] = '\0';
    }
    return length;
}
