/* sweep_report.h - what a sweep gave, as JSON, CSV or NPZ. */
#ifndef MDF_CLI_SWEEP_SWEEP_REPORT_H
#define MDF_CLI_SWEEP_SWEEP_REPORT_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"
#include "mdf_c/cli/sweep/sweep_file.h"

/* An array with a name. */
struct sweep_column {
    const char *name;        /* of a swept name that is recorded too: with "swept." before it */
    struct mdf_value values; /* swept: [values, ...]; recorded: [instances, rows, ...]. They borrow their elements */
    size_t axis;             /* swept: of the report's axes */
    bool is_once;            /* recorded: there is one row, of all steps together */
};

/* All arrays are borrowed. */
struct sweep_report {
    const char *model, *graph;
    uint64_t n_steps, every; /* 0: the last step only, a row an instance */
    double dt;               /* NaN: none */
    const char *combine; /* "grid" or "zip" */
    const struct sweep_axis *axes; /* of the instances, or, of what is told of many together, of their cells */
    size_t n_axes;
    size_t n_instances, n_rows;
    const struct sweep_column *swept, *recorded;
    size_t n_swept, n_recorded;
    const uint64_t *seeds;             /* of each instance; NULL: cells are told of */
    const struct sweep_column *points; /* [points]: of quantiles, and edges of bins */
    size_t n_points;
};

/* Number of the step that a row stands for, counted from 1, and its time. */
uint64_t sweep_step_of(const struct sweep_report *report, size_t row);
double sweep_time_of(const struct sweep_report *report, size_t row);

mdf_status write_sweep_json(struct mdf_text *text, const struct sweep_report *report, mdf_error *error);
mdf_status write_sweep_csv(struct mdf_text *text, const struct sweep_report *report, mdf_error *error);
mdf_status write_sweep_npz(struct mdf_text *bytes, const struct sweep_report *report, mdf_error *error);

#endif
