/* values.h - values as JSON, CSV and NPZ, and values from documents and NumPy files.
 *
 * Comes in: values that an evaluation gave, step by step (a recording), or a document or file that holds values. Goes out:
 * bytes in a struct mdf_text, or values. Every function that can fail returns a status and sets the error; files are named
 * in it by whoever reads them. */
#ifndef MDF_VALUES_VALUES_H
#define MDF_VALUES_VALUES_H

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"
#include "mdf_c/document/document.h"
#include "mdf_c/tensor/value.h"

/* ------------------------------------------------------------------ recordings */

/* A port whose values are recorded. Texts are borrowed. */
struct mdf_column {
    size_t node; /* number of the node; columns are in ascending order of it */
    const char *node_id, *port_id;
    const char *result; /* the one name by which the graph yields it (an .onnx model's is `16`); NULL: it has none */
};

struct mdf_recorded_form;

/* What some ports held after each of some steps, and which nodes ran in them. Numbers lie packed in one array. */
struct mdf_recording {
    struct mdf_memory *memory;
    const struct mdf_column *columns; /* borrowed */
    size_t n_columns;
    uint64_t *words; /* the values: for each a header word, then its elements */
    size_t n_words, words_capacity;
    struct mdf_recorded_form *forms; /* types and shapes that occur */
    size_t n_forms, forms_capacity;
    size_t *column_forms;     /* the form that a column had last, SIZE_MAX before the first */
    struct mdf_value *others; /* values that are not arrays of numbers */
    size_t n_others, others_capacity;
    size_t *value_places; /* in words: of step s, column c at [s * n_columns + c] */
    size_t n_values, values_capacity;
    size_t n_steps;
    double *times;
    size_t times_capacity;
    size_t *schedule_words; /* per schedule: number of sets, then for each set its size and its nodes */
    size_t n_schedule_words, schedule_words_capacity;
    size_t *schedules; /* per step the place of its schedule in schedule_words; steps that ran alike share one */
    size_t n_schedules, schedules_capacity;
};

mdf_status mdf_recording_init(struct mdf_recording *recording, struct mdf_memory *memory, const struct mdf_column *columns,
                              size_t n_columns, mdf_error *error);
void mdf_recording_release(struct mdf_recording *recording);
/* Opens a step; `time` is NaN where the run has no time increment. One value a column and the schedule follow. */
mdf_status mdf_recording_begin_step(struct mdf_recording *recording, double time, mdf_error *error);
/* The next column's value is copied; NULL stands for nothing. */
mdf_status mdf_recording_add_value(struct mdf_recording *recording, const struct mdf_value *value, mdf_error *error);
/* The schedule of the step as `n_words` words: number of sets, then for each set its size and the numbers of its nodes. */
mdf_status mdf_recording_add_schedule(struct mdf_recording *recording, const size_t *words, size_t n_words, mdf_error *error);
/* Appends the name of a column in a table: what the graph yields it as, or NODE.PORT. */
void mdf_append_column_name(struct mdf_text *text, const struct mdf_column *column);
/* What a column held after a step, counted from 0. The value borrows from the recording; do not clear it. */
struct mdf_value mdf_recording_value(const struct mdf_recording *recording, size_t step, size_t column);
/* Words of a step's schedule, as added; NULL where none was. */
const size_t *mdf_recording_schedule(const struct mdf_recording *recording, size_t step);

/* ------------------------------------------------------------------ results of a run */

/* The derivative of a result by a parameter. */
struct mdf_report_gradient {
    const char *result, *parameter;
    const struct mdf_value *value;
};

/* All that a run tells. Texts and values are borrowed. */
struct mdf_report {
    const char *model, *graph;
    uint64_t n_steps;
    size_t n_nodes;
    const char *const *node_ids;
    size_t n_results;
    const char *const *result_names;
    const struct mdf_value *const *results; /* NULL entries: nothing */
    const struct mdf_recording *recording;  /* at least the last step */
    const struct mdf_value *bodies;         /* of each recorded step, what its bodies had; NULL: not told */
    bool all_nodes;                         /* name nodes without recorded ports too */
    bool trace;                             /* tell every recorded step, not just the last */
    bool typed;
    const struct mdf_report_gradient *gradients; /* those of one result in a row */
    size_t n_gradients;
};

/* Whether the steps that are told have times: a table then has a column MDF_TIME_COLUMN. */
bool mdf_report_has_times(const struct mdf_report *report);
#define MDF_TIME_COLUMN "time"

/* One JSON object: {"model", "graph", "steps", "results", "outputs", "trace", "gradients"}. */
mdf_status mdf_write_report_json(struct mdf_text *text, const struct mdf_report *report, mdf_error *error);
/* A row of names (those of the columns, elements of arrays NAME[0][1]), then a row for each step; with `trace` and a time increment
 * the first column is `time`. Nothing is an empty cell. A port that holds lists or objects, or arrays of different ranks, is one
 * column of JSON texts. */
mdf_status mdf_write_report_csv(struct mdf_text *text, const struct mdf_report *report, mdf_error *error);
/* A NumPy .npz archive with an array for each column, under its name; with `trace` its first axis is the step, and there is an
 * array `time` where there is a time increment. Where that is not possible, because shapes differ or steps have no value, there is
 * an array stepN/NAME for each step. Items of a list are NAME.0, NAME.1, ..., entries of an object NAME.KEY. Gradients
 * are gradients/RESULT/NODE.PARAMETER. */
mdf_status mdf_write_report_npz(struct mdf_text *bytes, const struct mdf_report *report, mdf_error *error);

/* ------------------------------------------------------------------ single values */

/* A value as JSON: numbers with the fewest digits that read back to the same value, nested lists, null for nothing. Types
 * narrower than float32 are written as float32. `typed`: {"type", "shape", "data"}, {"sequence": [...]}. */
mdf_status mdf_write_json_value(struct mdf_text *text, const struct mdf_value *value, bool typed, mdf_error *error);
/* One element of an array as JSON. */
void mdf_write_json_element(struct mdf_text *text, const struct mdf_value *value, size_t index);
/* A JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void mdf_write_json_string(struct mdf_text *text, const char *bytes, size_t length);

/* A value in plain or typed form. Typed tensors have strength TYPED. */
mdf_status mdf_read_value(struct mdf_memory *memory, const struct mdf_document *document, const struct mdf_node *node,
                          struct mdf_value *value, mdf_error *error);

/* ------------------------------------------------------------------ NumPy files */

/* An array as a .npy file. Types that NumPy lacks are widened: small reals to float32, small integers to 8 bits. */
mdf_status mdf_write_npy(struct mdf_text *bytes, const struct mdf_value *value, mdf_error *error);
/* An array and its name in an archive. */
struct mdf_named_value {
    const char *name;
    struct mdf_value value;
};
/* Arrays as a .npz archive, in the order given. */
mdf_status mdf_write_npz_arrays(struct mdf_text *bytes, const struct mdf_named_value *arrays, size_t n, mdf_error *error);
/* An array from the bytes of a .npy file. */
mdf_status mdf_read_npy(struct mdf_memory *memory, const void *bytes, size_t size_bytes, struct mdf_value *value,
                        mdf_error *error);
/* All arrays of a .npz file, as an object. */
mdf_status mdf_read_npz_file(struct mdf_memory *memory, const char *path, struct mdf_value *object, mdf_error *error);

/* ------------------------------------------------------------------ files */

/* The bytes of a file, or of standard input for "-", in memory that the caller releases. */
mdf_status mdf_read_file(struct mdf_memory *memory, const char *path, void **bytes, size_t *size_bytes, mdf_error *error);
/* Writes a file that appears whole or not at all. */
mdf_status mdf_save_file(struct mdf_memory *memory, const char *path, const void *bytes, size_t size_bytes, mdf_error *error);

#endif
