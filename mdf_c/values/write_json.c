/* write_json.c - values, and the report of a run, as JSON text. See values.h and docs/man/mdf-run.1.
 *
 * NaN and the infinities are the tokens NaN, Infinity, -Infinity. Types narrower than float32 are written with the digits of
 * the float32 of the same value: fewer digits would do to find the value among those of its type, but not for a reader
 * who takes them for a number. */
#include "mdf_c/document/tree_builder.h"
#include "mdf_c/values/values.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    DEEPEST_VALUE = 1000,      /* lists in lists that are written */
    MOST_EMPTY_LISTS = 1 << 24 /* "[]" that an array without elements may take */
};

void mdf_write_json_string(struct mdf_text *text, const char *bytes, size_t length)
{
    size_t i = 0, first = 0;

    mdf_text_append(text, "\"", 1);
    while (i < length) {
        const unsigned char *at = (const unsigned char *)bytes + i;
        size_t n = mdf_utf8_sequence(at, length - i);
        uint32_t c = n > 0 ? mdf_utf8_decode(at, n) : 0;

        if (n > 0 && !mdf_is_hidden(c) && c != '"' && c != '\\') {
            i += n;
            continue;
        }
        mdf_text_append(text, bytes + first, i - first);
        if (n == 0) {
            mdf_text_append_string(text, "\xef\xbf\xbd");
        } else if (c == '"' || c == '\\') {
            mdf_text_append(text, "\\", 1);
            mdf_text_append(text, bytes + i, 1);
        } else if (c == '\n') {
            mdf_text_append_string(text, "\\n");
        } else {
            mdf_text_printf(text, "\\u%04x", (unsigned)c);
        }
        i += n > 0 ? n : 1;
        first = i;
    }
    mdf_text_append(text, bytes + first, length - first);
    mdf_text_append(text, "\"", 1);
}

/* ------------------------------------------------------------------ elements */

static void append_double(struct mdf_text *text, double real)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    mdf_text_append(text, number, mdf_format_float64(real, number));
}

static void append_float(struct mdf_text *text, float real)
{
    char number[MDF_NUMBER_TEXT_SIZE];

    mdf_text_append(text, number, mdf_format_float32(real, number));
}

static void append_integer(struct mdf_text *text, uint64_t magnitude, bool negative)
{
    char digits[24], *first = digits + sizeof digits;

    do {
        *--first = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (negative) {
        *--first = '-';
    }
    mdf_text_append(text, first, (size_t)(digits + sizeof digits - first));
}

static void append_complex(struct mdf_text *text, mdf_dtype dtype, const void *element)
{
    mdf_text_append(text, "[", 1);
    if (dtype == MDF_DTYPE_COMPLEX64) {
        append_float(text, ((const float *)element)[0]);
        mdf_text_append(text, ", ", 2);
        append_float(text, ((const float *)element)[1]);
    } else {
        append_double(text, ((const double *)element)[0]);
        mdf_text_append(text, ", ", 2);
        append_double(text, ((const double *)element)[1]);
    }
    mdf_text_append(text, "]", 1);
}

void mdf_write_json_element(struct mdf_text *text, const struct mdf_value *value, size_t index)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;
    const char *element = (const char *)value->data + index * mdf_dtype_size(dtype);
    int64_t integer;

    switch (mdf_dtype_kind(dtype)) {
    case 'b':
        mdf_text_append_string(text, *(const bool *)element ? "true" : "false");
        break;
    case 'i':
        integer = mdf_element_to_int64(dtype, element);
        append_integer(text, integer < 0 ? 0 - (uint64_t)integer : (uint64_t)integer, integer < 0);
        break;
    case 'u':
        append_integer(text,
                       dtype == MDF_DTYPE_UINT64 ? *(const uint64_t *)(const void *)element
                                                 : (uint64_t)mdf_element_to_int64(dtype, element),
                       false);
        break;
    case 'f':
        if (dtype == MDF_DTYPE_FLOAT64) {
            append_double(text, *(const double *)(const void *)element);
        } else {
            append_float(text, (float)mdf_element_to_double(dtype, element));
        }
        break;
    case 'c':
        append_complex(text, dtype, element);
        break;
    default: {
        const char *string = *(const char *const *)(const void *)element;

        mdf_write_json_string(text, string != NULL ? string : "", mdf_string_length(string));
        break;
    }
    }
}

/* ------------------------------------------------------------------ values */

static void append_flat(struct mdf_text *text, const struct mdf_value *value)
{
    mdf_text_append(text, "[", 1);
    for (size_t i = 0; i < value->length && !text->failed; i++) {
        mdf_text_append(text, ", ", i > 0 ? 2 : 0);
        mdf_write_json_element(text, value, i);
    }
    mdf_text_append(text, "]", 1);
}

static void append_shape(struct mdf_text *text, const struct mdf_value *value)
{
    mdf_text_append(text, "[", 1);
    for (size_t i = 0; i < value->rank; i++) {
        mdf_text_printf(text, "%s%" PRId64, i > 0 ? ", " : "", mdf_value_shape(value)[i]);
    }
    mdf_text_append(text, "]", 1);
}

static void append_repeated(struct mdf_text *text, char c, size_t n)
{
    for (; n > 0; n--) {
        mdf_text_append(text, &c, 1);
    }
}

/* Number of axes after axis 0 that begin anew at item `item`, of `rank` axes. */
static size_t n_axes_starting(const int64_t *shape, size_t rank, size_t item)
{
    size_t n = 0;

    while (n < rank && item % (size_t)shape[rank - 1 - n] == 0) {
        item /= (size_t)shape[rank - 1 - n];
        n++;
    }
    return n;
}

/* An array of at least one axis, written without recursion so that any rank does. An array without elements is written down to
 * its first axis of size 0. */
static mdf_status append_nested(struct mdf_text *text, const struct mdf_value *value, mdf_error *error)
{
    const int64_t *shape = mdf_value_shape(value);
    size_t rank = value->rank, n_items = 1, i, n;
    bool empty = value->length == 0;

    for (i = 0; i < rank && shape[i] != 0; i++) {
        if (!mdf_size_multiply(n_items, (size_t)shape[i], &n_items) || (empty && n_items > MOST_EMPTY_LISTS)) {
            return mdf_error_set(error, MDF_LIMIT,
                                 "an array without elements has too many empty rows to be written as nested lists");
        }
    }
    rank = empty ? i : rank;
    append_repeated(text, '[', rank);
    for (i = 0; i < n_items && !text->failed; i++) {
        if (i > 0) {
            n = n_axes_starting(shape, rank, i);
            append_repeated(text, ']', n);
            mdf_text_append(text, ", ", 2);
            append_repeated(text, '[', n);
        }
        if (empty) {
            mdf_text_append(text, "[]", 2);
        } else {
            mdf_write_json_element(text, value, i);
        }
    }
    append_repeated(text, ']', rank);
    return MDF_OK;
}

static void append_typed_tensor(struct mdf_text *text, const struct mdf_value *value)
{
    mdf_text_printf(text, "{\"type\": \"%s\", \"shape\": ", mdf_dtype_name((mdf_dtype)value->dtype));
    append_shape(text, value);
    mdf_text_append_string(text, ", \"data\": ");
    append_flat(text, value);
    mdf_text_append(text, "}", 1);
}

static mdf_status append_value(struct mdf_text *text, const struct mdf_value *value, bool typed, size_t depth, mdf_error *error);

static mdf_status append_list(struct mdf_text *text, const struct mdf_value *list, bool typed, size_t depth, mdf_error *error)
{
    mdf_status status = MDF_OK;

    mdf_text_append_string(text, typed ? "{\"sequence\": [" : "[");
    for (size_t i = 0; i < list->length && status == MDF_OK; i++) {
        mdf_text_append(text, ", ", i > 0 ? 2 : 0);
        status = append_value(text, &mdf_value_items(list)[i], typed, depth, error);
    }
    mdf_text_append_string(text, typed ? "]}" : "]");
    return status;
}

static mdf_status append_object(struct mdf_text *text, const struct mdf_value *object, bool typed, size_t depth, mdf_error *error)
{
    mdf_status status = MDF_OK;

    mdf_text_append(text, "{", 1);
    for (size_t i = 0; i < object->length && status == MDF_OK; i++) {
        const char *key = mdf_value_to_string(&mdf_value_items(object)[2 * i]);

        mdf_text_append(text, ", ", i > 0 ? 2 : 0);
        mdf_write_json_string(text, key != NULL ? key : "", mdf_string_length(key));
        mdf_text_append(text, ": ", 2);
        status = append_value(text, &mdf_value_items(object)[2 * i + 1], typed, depth, error);
    }
    mdf_text_append(text, "}", 1);
    return status;
}

static mdf_status append_value(struct mdf_text *text, const struct mdf_value *value, bool typed, size_t depth, mdf_error *error)
{
    if (depth > DEEPEST_VALUE) {
        return mdf_error_set(error, MDF_LIMIT, "a value has lists more than %d deep within each other", DEEPEST_VALUE);
    }
    switch ((mdf_kind)value->kind) {
    case MDF_KIND_NONE:
        mdf_text_append_string(text, "null");
        return MDF_OK;
    case MDF_KIND_LIST:
        return append_list(text, value, typed, depth + 1, error);
    case MDF_KIND_DICT:
        return append_object(text, value, typed, depth + 1, error);
    case MDF_KIND_TENSOR:
        break;
    }
    if (typed) {
        append_typed_tensor(text, value);
        return MDF_OK;
    }
    if (value->rank > 0) {
        return append_nested(text, value, error);
    }
    mdf_write_json_element(text, value, 0);
    return MDF_OK;
}

mdf_status mdf_write_json_value(struct mdf_text *text, const struct mdf_value *value, bool typed, mdf_error *error)
{
    mdf_status status = append_value(text, value, typed, 0, error);

    return status == MDF_OK && text->failed ? mdf_memory_error(text->memory, error) : status;
}

/* ------------------------------------------------------------------ the report of a run */

static void append_text(struct mdf_text *text, const char *string)
{
    mdf_write_json_string(text, string, strlen(string));
}

static mdf_status append_results(struct mdf_text *text, const struct mdf_report *report, mdf_error *error)
{
    static const struct mdf_value nothing = {0};
    mdf_status status = MDF_OK;

    mdf_text_append(text, "{", 1);
    for (size_t i = 0; i < report->n_results && status == MDF_OK; i++) {
        mdf_text_append(text, ", ", i > 0 ? 2 : 0);
        append_text(text, report->result_names[i]);
        mdf_text_append(text, ": ", 2);
        status = append_value(text, report->results[i] != NULL ? report->results[i] : &nothing, report->typed, 0, error);
        mdf_error_in(error, "result '%s'", report->result_names[i]);
    }
    mdf_text_append(text, "}", 1);
    return status;
}

/* The ports of one node, the first of them in `*column`, which moves on to the next node's. */
static mdf_status append_ports(struct mdf_text *text, const struct mdf_report *report, size_t step, size_t node, size_t *column,
                               mdf_error *error)
{
    const struct mdf_recording *recording = report->recording;
    mdf_status status = MDF_OK;
    bool first = true;

    mdf_text_append(text, "{", 1);
    for (; *column < recording->n_columns && recording->columns[*column].node == node && status == MDF_OK; ++*column) {
        struct mdf_value value = mdf_recording_value(recording, step, *column);

        mdf_text_append(text, ", ", first ? 0 : 2);
        append_text(text, recording->columns[*column].port_id);
        mdf_text_append(text, ": ", 2);
        status = append_value(text, &value, report->typed, 0, error);
        mdf_error_in(error, "node '%s', output port '%s'", report->node_ids[node], recording->columns[*column].port_id);
        first = false;
    }
    mdf_text_append(text, "}", 1);
    return status;
}

static mdf_status append_outputs(struct mdf_text *text, const struct mdf_report *report, size_t step, mdf_error *error)
{
    const struct mdf_recording *recording = report->recording;
    size_t column = 0;
    mdf_status status = MDF_OK;
    bool first = true;

    mdf_text_append(text, "{", 1);
    for (size_t node = 0; node < report->n_nodes && status == MDF_OK; node++) {
        if (!report->all_nodes && (column == recording->n_columns || recording->columns[column].node != node)) {
            continue;
        }
        mdf_text_append(text, ", ", first ? 0 : 2);
        append_text(text, report->node_ids[node]);
        mdf_text_append(text, ": ", 2);
        status = append_ports(text, report, step, node, &column, error);
        first = false;
    }
    mdf_text_append(text, "}", 1);
    return status;
}

static void append_schedule(struct mdf_text *text, const struct mdf_report *report, size_t step)
{
    const size_t *word = mdf_recording_schedule(report->recording, step);
    size_t n_sets = word != NULL ? *word++ : 0, n, i;

    mdf_text_append(text, "[", 1);
    for (size_t set = 0; set < n_sets; set++) {
        mdf_text_append_string(text, set > 0 ? ", [" : "[");
        for (i = 0, n = *word++; i < n; i++) {
            mdf_text_append(text, ", ", i > 0 ? 2 : 0);
            append_text(text, report->node_ids[*word++]);
        }
        mdf_text_append(text, "]", 1);
    }
    mdf_text_append(text, "]", 1);
}

static mdf_status append_trace(struct mdf_text *text, const struct mdf_report *report, mdf_error *error)
{
    mdf_status status = MDF_OK;

    mdf_text_append_string(text, ",\n \"trace\": [");
    for (size_t step = 0; step < report->recording->n_steps && status == MDF_OK && !text->failed; step++) {
        double time = report->recording->times[step];

        mdf_text_append_string(text, step > 0 ? ",\n  {\"time\": " : "\n  {\"time\": ");
        if (isnan(time)) {
            mdf_text_append_string(text, "null");
        } else {
            append_double(text, time);
        }
        mdf_text_append_string(text, ", \"outputs\": ");
        status = append_outputs(text, report, step, error);
        mdf_text_append_string(text, ", \"schedule\": ");
        append_schedule(text, report, step);
        if (report->bodies != NULL && status == MDF_OK) {
            mdf_text_append_string(text, ", \"bodies\": ");
            status = mdf_write_json_value(text, &report->bodies[step], report->typed, error);
        }
        mdf_text_append(text, "}", 1);
    }
    mdf_text_append(text, "]", 1);
    return status;
}

static mdf_status append_gradients(struct mdf_text *text, const struct mdf_report *report, mdf_error *error)
{
    const struct mdf_report_gradient *gradients = report->gradients;
    mdf_status status = MDF_OK;

    mdf_text_append_string(text, ",\n \"gradients\": {");
    for (size_t i = 0; i < report->n_gradients && status == MDF_OK; i++) {
        bool is_first = i == 0 || strcmp(gradients[i].result, gradients[i - 1].result) != 0;

        if (is_first) {
            mdf_text_append_string(text, i > 0 ? "}, " : "");
            append_text(text, gradients[i].result);
            mdf_text_append_string(text, ": {");
        }
        mdf_text_append_string(text, is_first ? "" : ", ");
        append_text(text, gradients[i].parameter);
        mdf_text_append_string(text, ": ");
        status = mdf_write_json_value(text, gradients[i].value, report->typed, error);
    }
    mdf_text_append_string(text, report->n_gradients > 0 ? "}}" : "}");
    return status;
}

mdf_status mdf_write_report_json(struct mdf_text *text, const struct mdf_report *report, mdf_error *error)
{
    mdf_status status;

    mdf_text_append_string(text, "{\"model\": ");
    append_text(text, report->model);
    mdf_text_append_string(text, ", \"graph\": ");
    append_text(text, report->graph);
    mdf_text_printf(text, ", \"steps\": %" PRIu64 ",\n \"results\": ", report->n_steps);
    status = append_results(text, report, error);
    mdf_text_append_string(text, ",\n \"outputs\": ");
    if (status == MDF_OK && report->recording->n_steps > 0) {
        status = append_outputs(text, report, report->recording->n_steps - 1, error);
    } else {
        mdf_text_append_string(text, "{}");
    }
    if (status == MDF_OK && report->trace) {
        status = append_trace(text, report, error);
    }
    if (status == MDF_OK && report->gradients != NULL) {
        status = append_gradients(text, report, error);
    }
    mdf_text_append_string(text, "}\n");
    return status == MDF_OK && text->failed ? mdf_memory_error(text->memory, error) : status;
}
