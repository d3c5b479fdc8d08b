/* write_csv.c - the report of a run as comma-separated values (RFC 4180), a row a step. See values.h.
 *
 * Comes in: a report with a recording. Which columns a port needs is found first, over all steps: an array takes as many
 * along each axis as it has at its largest, and a step at which it is smaller leaves cells empty. */
#include "mdf_c/values/values.h"

#include <inttypes.h>
#include <string.h>

/* The columns of one port. */
struct extent {
    bool as_text; /* one column of JSON texts */
    bool known;   /* a value has been seen */
    size_t rank;
    int64_t *shape; /* the largest size of each axis */
    size_t n_cells;
};

static void widen(struct extent *extent, const struct mdf_value *value)
{
    for (size_t i = 0; i < extent->rank; i++) {
        if (extent->shape[i] < mdf_value_shape(value)[i]) {
            extent->shape[i] = mdf_value_shape(value)[i];
        }
    }
}

static mdf_status measure(struct extent *extent, const struct mdf_report *report, size_t first_step, size_t column,
                          mdf_error *error)
{
    const struct mdf_recording *recording = report->recording;

    for (size_t step = first_step; step < recording->n_steps && !extent->as_text; step++) {
        struct mdf_value value = mdf_recording_value(recording, step, column);

        if (value.kind == MDF_KIND_NONE) {
            continue;
        }
        if (value.kind != MDF_KIND_TENSOR || (extent->known && extent->rank != value.rank)) {
            extent->as_text = true;
        } else if (!extent->known) {
            extent->known = true;
            extent->rank = value.rank;
            extent->shape = mdf_memory_allocate_zeroed(recording->memory, value.rank, sizeof *extent->shape);
            if (extent->shape == NULL) {
                return mdf_memory_error(recording->memory, error);
            }
        }
        if (!extent->as_text) {
            widen(extent, &value);
        }
    }
    if (extent->as_text || !extent->known) {
        extent->rank = 0;
    }
    extent->n_cells = 1;
    if (!mdf_shape_n_elements(extent->rank, extent->shape, &extent->n_cells)) {
        return mdf_error_set(error, MDF_LIMIT, "node '%s', output port '%s' needs too many columns",
                             recording->columns[column].node_id, recording->columns[column].port_id);
    }
    return MDF_OK;
}

/* A text as a cell: quoted where it must be. */
static void append_cell(struct mdf_text *text, const char *bytes, size_t length)
{
    size_t i, first = 0;

    for (i = 0; i < length && strchr(",\"\r\n", bytes[i]) == NULL; i++) {
    }
    if (i == length) {
        if (length > 0) {
            mdf_text_append(text, bytes, length);
        }
        return;
    }
    mdf_text_append(text, "\"", 1);
    for (i = 0; i < length; i++) {
        if (bytes[i] == '"') {
            mdf_text_append(text, bytes + first, i + 1 - first);
            first = i;
        }
    }
    mdf_text_append(text, bytes + first, length - first);
    mdf_text_append(text, "\"", 1);
}

/* Appends "[2][0]" for cell number `cell` of an array. */
static void append_position(struct mdf_text *name, const struct extent *extent, size_t cell)
{
    size_t block = extent->n_cells;

    for (size_t i = 0; i < extent->rank; i++) {
        block /= (size_t)extent->shape[i];
        mdf_text_printf(name, "[%zu]", cell / block);
        cell %= block;
    }
}

static void append_names(struct mdf_text *text, struct mdf_text *scratch, const struct mdf_report *report,
                         const struct extent *extents)
{
    bool first = !mdf_report_has_times(report);

    mdf_text_append_string(text, first ? "" : MDF_TIME_COLUMN);
    for (size_t column = 0; column < report->recording->n_columns; column++) {
        for (size_t cell = 0; cell < extents[column].n_cells && !text->failed && !scratch->failed; cell++) {
            mdf_text_append(text, ",", !first);
            first = false;
            scratch->length = 0;
            mdf_append_column_name(scratch, &report->recording->columns[column]);
            append_position(scratch, &extents[column], cell);
            append_cell(text, scratch->bytes, scratch->length);
        }
    }
    mdf_text_append(text, "\n", 1);
}

/* The number that the element at cell number `cell` of the extent has in `value`; false where it has none there. */
static bool find_element(const struct extent *extent, const struct mdf_value *value, size_t cell, size_t *index)
{
    size_t block = extent->n_cells;

    *index = 0;
    for (size_t i = 0; i < extent->rank; i++) {
        size_t size = (size_t)mdf_value_shape(value)[i], position;

        block /= (size_t)extent->shape[i];
        position = cell / block;
        cell %= block;
        if (position >= size) {
            return false;
        }
        *index = *index * size + position;
    }
    return true;
}

static mdf_status append_value(struct mdf_text *text, struct mdf_text *scratch, const struct extent *extent,
                               const struct mdf_value *value, size_t cell, mdf_error *error)
{
    mdf_status status = MDF_OK;
    const char *string;
    size_t index;

    if (value->kind == MDF_KIND_NONE) {
        return MDF_OK;
    }
    scratch->length = 0;
    if (extent->as_text) {
        status = mdf_write_json_value(scratch, value, false, error);
    } else if (!find_element(extent, value, cell, &index)) {
        return MDF_OK;
    } else if (value->dtype == MDF_DTYPE_STRING) {
        string = ((const char *const *)value->data)[index];
        mdf_text_append(scratch, string != NULL ? string : "", mdf_string_length(string));
    } else {
        mdf_write_json_element(scratch, value, index);
    }
    if (status == MDF_OK && !scratch->failed) {
        append_cell(text, scratch->bytes, scratch->length);
    }
    return status;
}

static mdf_status append_row(struct mdf_text *text, struct mdf_text *scratch, const struct mdf_report *report,
                             const struct extent *extents, size_t step, mdf_error *error)
{
    mdf_status status = MDF_OK;
    bool first = !mdf_report_has_times(report);
    char number[MDF_NUMBER_TEXT_SIZE];

    if (!first) {
        mdf_text_append(text, number, mdf_format_float64(report->recording->times[step], number));
    }
    for (size_t column = 0; column < report->recording->n_columns; column++) {
        struct mdf_value value = mdf_recording_value(report->recording, step, column);

        for (size_t cell = 0; cell < extents[column].n_cells && status == MDF_OK; cell++) {
            mdf_text_append(text, ",", !first);
            first = false;
            status = append_value(text, scratch, &extents[column], &value, cell, error);
        }
    }
    mdf_text_append(text, "\n", 1);
    return status;
}

mdf_status mdf_write_report_csv(struct mdf_text *text, const struct mdf_report *report, mdf_error *error)
{
    const struct mdf_recording *recording = report->recording;
    size_t first_step = report->trace || recording->n_steps == 0 ? 0 : recording->n_steps - 1;
    struct extent *extents = mdf_memory_allocate_zeroed(text->memory, recording->n_columns, sizeof *extents);
    struct mdf_text scratch;
    mdf_status status = MDF_OK;

    if (extents == NULL) {
        return mdf_memory_error(text->memory, error);
    }
    mdf_text_init(&scratch, text->memory);
    for (size_t i = 0; i < recording->n_columns && status == MDF_OK; i++) {
        status = measure(&extents[i], report, first_step, i, error);
    }
    if (status == MDF_OK) {
        append_names(text, &scratch, report, extents);
    }
    for (size_t i = first_step; i < recording->n_steps && status == MDF_OK && !text->failed; i++) {
        status = append_row(text, &scratch, report, extents, i, error);
    }
    if (status == MDF_OK && (text->failed || scratch.failed)) {
        status = mdf_memory_error(text->memory, error);
    }
    for (size_t i = 0; i < recording->n_columns; i++) {
        mdf_memory_release(recording->memory, extents[i].shape);
    }
    mdf_text_release(&scratch);
    mdf_memory_release(text->memory, extents);
    return status;
}
