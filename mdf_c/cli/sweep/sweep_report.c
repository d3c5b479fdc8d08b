/* sweep_report.c - see sweep_report.h. */
#include "mdf_c/cli/sweep/sweep_report.h"

#include "mdf_c/values/values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The number of the value that an instance has of swept name number `index`. */
static size_t position_of(const struct sweep_report *report, size_t index, size_t instance)
{
    size_t axis = report->swept[index].axis;

    for (size_t i = report->n_axes; i-- > axis + 1;) {
        instance /= report->axes[i].length;
    }
    return instance % report->axes[axis].length;
}

uint64_t sweep_step_of(const struct sweep_report *report, size_t row)
{
    return report->every > 0 ? row * report->every + 1 : report->n_steps;
}

double sweep_time_of(const struct sweep_report *report, size_t row)
{
    return report->dt * (double)(sweep_step_of(report, row) - 1);
}

/* ------------------------------------------------------------------ shapes */

/* The shape of a recorded array as it is told: the axes of the instances; the rows, where there may be several; the axes of one
 * value. In memory that the caller releases. */
static int64_t *shape_of(struct mdf_memory *memory, const struct sweep_report *report, const struct sweep_column *column,
                         size_t *rank)
{
    size_t n_lead = column != NULL ? 2 : 0, n_value = column != NULL ? column->values.rank - n_lead : 0, n = 0;
    int64_t *shape = mdf_memory_allocate_zeroed(memory, report->n_axes + n_value + 2, sizeof *shape);

    if (shape == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < report->n_axes; i++) {
        shape[n++] = (int64_t)report->axes[i].length;
    }
    if (column != NULL && report->every > 0 && !column->is_once) {
        shape[n++] = (int64_t)report->n_rows;
    }
    for (size_t i = 0; i < n_value; i++) {
        shape[n++] = mdf_value_shape(&column->values)[n_lead + i];
    }
    *rank = n;
    return shape;
}

/* The rows of a recorded array, or the seeds (`column` NULL), as one array of that shape; *shape is the caller's to release. */
static mdf_status view(struct mdf_memory *memory, const struct sweep_report *report, const struct sweep_column *column,
                       struct mdf_value *seen, int64_t **shape, mdf_error *error)
{
    const struct mdf_value *values = column != NULL ? &column->values : NULL;
    size_t rank = 0;

    *shape = shape_of(memory, report, column, &rank);
    if (*shape == NULL) {
        return mdf_memory_error(memory, error);
    }
    mdf_value_borrow_tensor(memory, seen, values != NULL ? (mdf_dtype)values->dtype : MDF_DTYPE_UINT64, MDF_STRENGTH_TYPED, rank,
                            *shape, values != NULL ? values->data : report->seeds);
    return MDF_OK;
}

/* ------------------------------------------------------------------ JSON */

static void append_rows(struct mdf_text *text, const struct sweep_report *report)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    mdf_text_append_string(text, ", \"steps\": [");
    for (size_t row = 0; row < report->n_rows; row++) {
        mdf_text_printf(text, "%s%" PRIu64, row > 0 ? ", " : "", sweep_step_of(report, row));
    }
    mdf_text_append_string(text, "]");
    for (size_t row = 0; row < report->n_rows && !isnan(report->dt); row++) {
        mdf_format_float64(sweep_time_of(report, row), number);
        mdf_text_printf(text, "%s%s%s", row > 0 ? ", " : ", \"times\": [", number, row + 1 == report->n_rows ? "]" : "");
    }
}

static mdf_status append_columns(struct mdf_text *text, const struct sweep_report *report, const struct sweep_column *columns,
                                 size_t n, bool are_recorded, mdf_error *error)
{
    mdf_status status = MDF_OK;

    for (size_t i = 0; i < n && status == MDF_OK; i++) {
        struct mdf_value seen = columns[i].values;
        int64_t *shape = NULL;

        mdf_text_append_string(text, i > 0 ? ", " : "");
        mdf_write_json_string(text, columns[i].name, strlen(columns[i].name));
        mdf_text_append_string(text, ": ");
        if (are_recorded) {
            memset(&seen, 0, sizeof seen);
            status = view(text->memory, report, &columns[i], &seen, &shape, error);
        }
        if (status == MDF_OK) {
            status = mdf_write_json_value(text, &seen, false, error);
        }
        mdf_memory_release(text->memory, shape);
    }
    return status;
}

mdf_status write_sweep_json(struct mdf_text *text, const struct sweep_report *report, mdf_error *error)
{
    struct mdf_value seeds = {0};
    int64_t *shape;
    mdf_status status;

    mdf_text_append_string(text, "{\"model\": ");
    mdf_write_json_string(text, report->model, strlen(report->model));
    mdf_text_append_string(text, ", \"graph\": ");
    mdf_write_json_string(text, report->graph, strlen(report->graph));
    mdf_text_printf(text, ", \"combine\": \"%s\"", report->combine);
    append_rows(text, report);
    mdf_text_append_string(text, ", \"parameters\": {");
    status = append_columns(text, report, report->swept, report->n_swept, false, error);
    mdf_text_append_string(text, "}");
    if (status == MDF_OK && report->seeds != NULL) {
        mdf_text_append_string(text, ", \"seeds\": ");
        status = view(text->memory, report, NULL, &seeds, &shape, error);
        if (status == MDF_OK) {
            status = mdf_write_json_value(text, &seeds, false, error);
            mdf_memory_release(text->memory, shape);
        }
    }
    if (status == MDF_OK && report->n_points > 0) {
        mdf_text_append_string(text, ", \"points\": {");
        status = append_columns(text, report, report->points, report->n_points, false, error);
        mdf_text_append_string(text, "}");
    }
    mdf_text_append_string(text, ", \"outputs\": {");
    if (status == MDF_OK) {
        status = append_columns(text, report, report->recorded, report->n_recorded, true, error);
    }
    mdf_text_append_string(text, "}}\n");
    return status == MDF_OK && text->failed ? mdf_memory_error(text->memory, error) : status;
}

/* ------------------------------------------------------------------ CSV */

/* Number of elements behind the first `n_lead` axes. */
static size_t n_cells(const struct mdf_value *values, size_t n_lead)
{
    size_t n = 1;

    for (size_t i = n_lead; i < values->rank; i++) {
        n *= (size_t)mdf_value_shape(values)[i];
    }
    return n;
}

/* Names in quotes where they need them: NAME, or NAME[1][0] for elements of an array. */
static void append_names(struct mdf_text *text, const struct sweep_column *column, size_t n_lead)
{
    const struct mdf_value *values = &column->values;
    size_t n = n_cells(values, n_lead), cell, i;
    bool needs_quotes = strpbrk(column->name, ",\"\r\n") != NULL;
    const char *c;

    for (cell = 0; cell < n && !text->failed; cell++) {
        size_t block = n, rest = cell;

        mdf_text_append_string(text, needs_quotes ? ",\"" : ",");
        for (c = column->name; *c != '\0'; c++) {
            mdf_text_append(text, *c == '"' ? "\"\"" : c, *c == '"' ? 2 : 1);
        }
        for (i = n_lead; i < values->rank; i++) {
            block /= (size_t)mdf_value_shape(values)[i];
            mdf_text_printf(text, "[%zu]", rest / block);
            rest %= block;
        }
        mdf_text_append_string(text, needs_quotes ? "\"" : "");
    }
}

static void append_cells(struct mdf_text *text, const struct sweep_column *column, size_t n_lead, size_t index)
{
    size_t n = n_cells(&column->values, n_lead), cell;

    for (cell = 0; cell < n; cell++) {
        mdf_text_append(text, ",", 1);
        mdf_write_json_element(text, &column->values, index * n + cell);
    }
}

static void append_csv_row(struct mdf_text *text, const struct sweep_report *report, size_t instance, size_t row)
{
    char number[MDF_NUMBER_TEXT_SIZE] = "";

    if (!isnan(report->dt)) {
        mdf_format_float64(sweep_time_of(report, row), number);
    }
    mdf_text_printf(text, "%zu", instance);
    for (size_t i = 0; i < report->n_swept; i++) {
        append_cells(text, &report->swept[i], 1, position_of(report, i, instance));
    }
    if (report->seeds != NULL) {
        mdf_text_printf(text, ",%" PRIu64, report->seeds[instance]);
    }
    mdf_text_printf(text, ",%" PRIu64 ",%s", sweep_step_of(report, row), number);
    for (size_t i = 0; i < report->n_recorded; i++) {
        bool is_once = report->recorded[i].is_once;

        append_cells(text, &report->recorded[i], 2, is_once ? instance : instance * report->n_rows + row);
    }
    mdf_text_append(text, "\n", 1);
}

mdf_status write_sweep_csv(struct mdf_text *text, const struct sweep_report *report, mdf_error *error)
{
    mdf_text_append_string(text, report->seeds != NULL ? "instance" : "cell");
    for (size_t i = 0; i < report->n_swept; i++) {
        append_names(text, &report->swept[i], 1);
    }
    mdf_text_append_string(text, report->seeds != NULL ? ",seed,step,time" : ",step,time");
    for (size_t i = 0; i < report->n_recorded; i++) {
        append_names(text, &report->recorded[i], 2);
    }
    mdf_text_append(text, "\n", 1);
    for (size_t instance = 0; instance < report->n_instances && !text->failed; instance++) {
        for (size_t row = 0; row < report->n_rows; row++) {
            append_csv_row(text, report, instance, row);
        }
    }
    return text->failed ? mdf_memory_error(text->memory, error) : MDF_OK;
}

/* ------------------------------------------------------------------ NPZ */

/* Steps and times of the rows. */
static mdf_status add_rows(struct mdf_memory *memory, const struct sweep_report *report, struct mdf_named_value *steps,
                           struct mdf_named_value *times, mdf_error *error)
{
    const int64_t shape = (int64_t)report->n_rows;
    int64_t *numbers = mdf_value_make_tensor(memory, &steps->value, MDF_DTYPE_INT64, 1, &shape);
    double *reals = mdf_value_make_tensor(memory, &times->value, MDF_DTYPE_FLOAT64, 1, &shape);

    if (numbers == NULL || reals == NULL) {
        return mdf_memory_error(memory, error);
    }
    for (size_t row = 0; row < report->n_rows; row++) {
        numbers[row] = (int64_t)sweep_step_of(report, row);
        reals[row] = sweep_time_of(report, row);
    }
    steps->name = "step";
    times->name = "time";
    return MDF_OK;
}

/* All arrays of the archive, in the order in which they stand in it; shapes[i] is to be released. */
static mdf_status collect(struct mdf_memory *memory, const struct sweep_report *report, struct mdf_named_value *arrays,
                          int64_t **shapes, size_t *n_arrays, mdf_error *error)
{
    mdf_status status;
    size_t n = 0;

    for (size_t i = 0; i < report->n_swept; i++) {
        arrays[n].name = report->swept[i].name;
        arrays[n++].value = report->swept[i].values;
    }
    status = add_rows(memory, report, &arrays[n], &arrays[n + 1], error);
    n += 2;
    if (status == MDF_OK && report->seeds != NULL) {
        arrays[n].name = "seed";
        status = view(memory, report, NULL, &arrays[n].value, &shapes[n], error);
        n++;
    }
    for (size_t i = 0; i < report->n_points; i++) {
        arrays[n].name = report->points[i].name;
        arrays[n++].value = report->points[i].values;
    }
    for (size_t i = 0; i < report->n_recorded && status == MDF_OK; i++, n++) {
        arrays[n].name = report->recorded[i].name;
        status = view(memory, report, &report->recorded[i], &arrays[n].value, &shapes[n], error);
    }
    *n_arrays = n;
    return status;
}

mdf_status write_sweep_npz(struct mdf_text *bytes, const struct sweep_report *report, mdf_error *error)
{
    struct mdf_memory *memory = bytes->memory;
    size_t n = report->n_swept + 3 + report->n_points + report->n_recorded, n_arrays = 0;
    struct mdf_named_value *arrays = mdf_memory_allocate_zeroed(memory, n, sizeof *arrays);
    int64_t **shapes = mdf_memory_allocate_zeroed(memory, n, sizeof *shapes);
    mdf_status status = MDF_OUT_OF_MEMORY;

    if (arrays == NULL || shapes == NULL) {
        mdf_memory_error(memory, error);
    } else {
        status = collect(memory, report, arrays, shapes, &n_arrays, error);
    }
    if (status == MDF_OK) {
        status = mdf_write_npz_arrays(bytes, arrays, n_arrays, error);
    }
    for (size_t i = 0; shapes != NULL && i < n; i++) {
        mdf_memory_release(memory, shapes[i]);
    }
    for (size_t i = report->n_swept; arrays != NULL && i < report->n_swept + 2; i++) {
        mdf_value_clear(memory, &arrays[i].value);
    }
    mdf_memory_release(memory, shapes);
    mdf_memory_release(memory, arrays);
    return status;
}
