/* sweep_reduced.c - what a sweep tells of many instances together: what the file says, as the engine is asked for it, and as a
 * report whose rows are cells. */
#include "mdf_c/cli/sweep/sweep_run.h"

#include "mdf_c/base/error.h"

#include <string.h>

static const char *const kind_names[] = {
    [MDF_REDUCTION_COUNT] = "count",         [MDF_REDUCTION_MEAN] = "mean",           [MDF_REDUCTION_VAR] = "var",
    [MDF_REDUCTION_QUANTILES] = "quantiles", [MDF_REDUCTION_HISTOGRAM] = "histogram",
};

static const char *const stopped_names[] = {"stopped_step", "stopped_time"};

static bool refuse(struct sweep_run *run, struct sweep_place place)
{
    mdf_error_at(run->error, run->options->sweep_path, place.line, place.column);
    return false;
}

/* ------------------------------------------------------------------ what is asked for */

static const char *name_of(struct sweep_run *run, size_t record)
{
    const struct mdf_column *port;

    if (record >= MDF_REDUCED_STOPPED_STEP) {
        return stopped_names[record - MDF_REDUCED_STOPPED_STEP];
    }
    port = &run->ports.columns[record];
    return mdf_arena_printf(&run->file.arena, "%s.%s", port->node_id, port->port_id);
}

/* Whether a name of the file is a record's. */
static bool is_named(const struct sweep_run *run, size_t record, const char *name)
{
    const struct mdf_column *port = record < MDF_REDUCED_STOPPED_STEP ? &run->ports.columns[record] : NULL;
    size_t length = port != NULL ? strlen(port->node_id) : 0;

    if (port == NULL) {
        return strcmp(name, stopped_names[record - MDF_REDUCED_STOPPED_STEP]) == 0;
    }
    return strcmp(name, port->port_id) == 0 ||
           (strncmp(name, port->node_id, length) == 0 && name[length] == '.' && strcmp(name + length + 1, port->port_id) == 0);
}

/* Number `i` of all that can be reduced: the records, and when instances stopped. */
static size_t record_of(const struct sweep_run *run, size_t i)
{
    return i < run->asked.n_records ? i : MDF_REDUCED_STOPPED_STEP + (i - run->asked.n_records);
}

/* Adds the nearest of the names that can be reduced. */
static void suggest_record(struct sweep_run *run, const char *name)
{
    size_t n = run->asked.n_records + (run->file.stop_when != NULL ? 2 : 0), i;
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, name != NULL ? name : "");
    for (i = 0; i < n; i++) {
        const char *whole = name_of(run, record_of(run, i));

        mdf_nearest_offer(&nearest, whole != NULL ? whole : "");
        mdf_nearest_offer(&nearest, i < run->asked.n_records ? run->ports.columns[i].port_id : "");
    }
    mdf_error_suggest(run->error, mdf_nearest_result(&nearest));
    for (i = 0; mdf_nearest_result(&nearest) == NULL && n <= 12 && i < n; i++) {
        mdf_error_append(run->error, "%s%s", i == 0 ? "; there are: " : ", ", name_of(run, record_of(run, i)));
    }
}

/* A reduction of the file for each record that it is of. */
static bool expand(struct sweep_run *run, const struct sweep_reduction *source, mdf_sweep_reduction *reductions)
{
    size_t n = run->asked.n_records + (run->file.stop_when != NULL ? 2 : 0), n_found = 0, i;

    for (i = 0; i < n; i++) {
        if (source->name == NULL || is_named(run, record_of(run, i), source->name)) {
            n_found++;
            reductions[run->asked.n_reductions++] = (mdf_sweep_reduction){.record = record_of(run, i),
                                                                          .kind = source->kind,
                                                                          .points = source->points.data,
                                                                          .n_points = source->points.length};
        }
    }
    if (n_found == 0 || (n_found > 1 && source->name != NULL)) {
        mdf_error_set(run->error, MDF_NAME, "'reduce': '%s' is %s", source->name != NULL ? source->name : "",
                      n_found > 1 ? "the name of several ports that are recorded: name one as NODE.PORT"
                      : strncmp(source->name != NULL ? source->name : "", "stopped_", 8) == 0
                          ? "known only where 'stop_when' says when instances stop"
                          : "no port that is recorded");
        if (n_found == 0) {
            suggest_record(run, source->name);
        }
        return refuse(run, source->place);
    }
    return true;
}

static bool unknown_axis(struct sweep_run *run, const struct sweep_reduced_axis *axis)
{
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, axis->name);
    mdf_error_set(run->error, MDF_NAME, "'reduce' goes over '%s', which is no axis of this sweep; its axes are: ", axis->name);
    for (size_t i = 0; i < run->file.n_axes; i++) {
        mdf_nearest_offer(&nearest, run->file.axes[i].name);
        mdf_error_append(run->error, "%s%s", i == 0 ? "" : ", ", run->file.axes[i].name);
    }
    mdf_error_suggest(run->error, mdf_nearest_result(&nearest));
    return refuse(run, axis->place);
}

static bool find_axes(struct sweep_run *run)
{
    const struct sweep_file *file = &run->file;
    bool *is_reduced = mdf_arena_array(&run->file.arena, file->n_axes, sizeof *is_reduced);
    size_t j;

    if (is_reduced == NULL) {
        return sweep_out_of_memory(run);
    }
    for (size_t i = 0; i < file->n_axes; i++) {
        is_reduced[i] = file->n_reduced_axes == 0;
    }
    for (size_t i = 0; i < file->n_reduced_axes; i++) {
        for (j = 0; j < file->n_axes && strcmp(file->axes[j].name, file->reduced_axes[i].name) != 0; j++) {
        }
        if (j == file->n_axes) {
            return unknown_axis(run, &file->reduced_axes[i]);
        }
        is_reduced[j] = true;
    }
    run->asked.is_reduced = is_reduced;
    return true;
}

bool collect_reductions(struct sweep_run *run)
{
    size_t n = run->file.n_reductions;
    mdf_sweep_reduction *reductions = mdf_arena_array(&run->file.arena, n * (run->asked.n_records + 2), sizeof *reductions);

    if (reductions == NULL) {
        return sweep_out_of_memory(run);
    }
    run->asked.reductions = reductions;
    for (size_t i = 0; i < n; i++) {
        if (!expand(run, &run->file.reductions[i], reductions)) {
            return false;
        }
    }
    return n == 0 || find_axes(run);
}

/* ------------------------------------------------------------------ what is told */

/* The axes that are left, and what was swept along them. */
static bool describe_cells(struct sweep_run *run, struct sweep_report *report, struct sweep_column *swept)
{
    const struct sweep_file *file = &run->file;
    struct sweep_axis *axes = mdf_arena_array(&run->file.arena, file->n_axes, sizeof *axes);

    if (axes == NULL) {
        return sweep_out_of_memory(run);
    }
    report->axes = axes;
    report->swept = swept;
    report->n_axes = report->n_swept = 0;
    report->n_instances = 1;
    for (size_t i = 0; i < file->n_axes; i++) {
        for (size_t j = 0; j < file->n_swept && !run->asked.is_reduced[i]; j++) {
            if (file->swept[j].axis == i) {
                swept[report->n_swept++] =
                    (struct sweep_column){.name = file->swept[j].name, .values = file->swept[j].values, .axis = report->n_axes};
            }
        }
        if (!run->asked.is_reduced[i]) {
            axes[report->n_axes++] = file->axes[i];
            report->n_instances *= file->axes[i].length;
        }
    }
    return true;
}

static bool describe_points(struct sweep_run *run, const mdf_sweep_reduction *reduction, const char *name,
                            struct sweep_column *column)
{
    int64_t *shape = mdf_arena_array(&run->file.arena, 1, sizeof *shape);

    column->name = mdf_arena_printf(&run->file.arena, "%s.%s", name, reduction->kind == MDF_REDUCTION_QUANTILES ? "at" : "edges");
    if (shape == NULL || column->name == NULL) {
        return sweep_out_of_memory(run);
    }
    *shape = (int64_t)reduction->n_points;
    mdf_value_borrow_tensor(run->memory, &column->values, MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, 1, shape, reduction->points);
    return true;
}

static bool describe_reduction(struct sweep_run *run, size_t index, struct sweep_column *column)
{
    const mdf_sweep_reduction *reduction = &run->asked.reductions[index];
    const char *name = name_of(run, reduction->record);
    mdf_tensor form;

    column->name = name != NULL ? mdf_arena_printf(&run->file.arena, "%s.%s", name, kind_names[reduction->kind]) : NULL;
    column->is_once = reduction->record >= MDF_REDUCED_STOPPED_STEP;
    if (column->name == NULL || !mdf_sweep_reduced_form(run->sweep, index, &form) ||
        mdf_value_make_tensor(run->memory, &run->results[index], form.dtype, form.rank, form.shape) == NULL) {
        return sweep_out_of_memory(run);
    }
    run->n_results++;
    column->values = run->results[index];
    return true;
}

bool describe_reduced(struct sweep_run *run, struct sweep_report *report)
{
    size_t n = run->asked.n_reductions;
    struct sweep_column *swept = mdf_arena_array(&run->file.arena, run->file.n_swept, sizeof *swept);
    struct sweep_column *columns = mdf_arena_array(&run->file.arena, n, sizeof *columns);
    struct sweep_column *points = mdf_arena_array(&run->file.arena, n, sizeof *points);

    run->results = mdf_arena_array(&run->file.arena, n, sizeof *run->results);
    if (swept == NULL || columns == NULL || points == NULL || run->results == NULL) {
        return sweep_out_of_memory(run);
    }
    *report = describe_sweep(run, NULL, columns);
    if (!describe_cells(run, report, swept)) {
        return false;
    }
    report->points = points;
    for (size_t i = 0; i < n; i++) {
        if (!describe_reduction(run, i, &columns[i]) ||
            (run->asked.reductions[i].n_points > 0 &&
             !describe_points(run, &run->asked.reductions[i], columns[i].name, &points[report->n_points++]))) {
            return false;
        }
    }
    report->n_recorded = n;
    return true;
}

bool tell_reduced(struct sweep_run *run, struct sweep_report *report)
{
    for (size_t i = 0; i < report->n_recorded; i++) {
        if (mdf_sweep_reduced(run->sweep, i, run->results[i].data, run->error) != MDF_OK) {
            return false;
        }
    }
    return true;
}
