/* trace.c - see trace.h. Numbers are written as the bits that they have, but a NaN is a NaN: which sign and payload one has that an
 * operation made depends on the order of its operands, which IEEE 754 leaves to the processor and C to the compiler. */
#include "tests/random/trace.h"

#include "mdf_c/tensor/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trace_init(struct trace *trace, struct mdf_memory *memory)
{
    *trace = (struct trace){0};
    mdf_text_init(&trace->text, memory);
}

void trace_clear(struct trace *trace)
{
    trace->text.length = 0;
    trace->n_lines = 0;
}

void trace_release(struct trace *trace)
{
    mdf_text_release(&trace->text);
    free(trace->lines);
}

static void begin_line(struct trace *trace, size_t phase, size_t step, size_t item)
{
    if (trace->n_lines == trace->capacity) {
        size_t capacity = 2 * trace->capacity + 64;
        struct trace_line *lines = realloc(trace->lines, capacity * sizeof *lines);

        if (lines == NULL) {
            abort(); /* a test program: its parent sees that it ended */
        }
        trace->lines = lines;
        trace->capacity = capacity;
    }
    trace->lines[trace->n_lines++] = (struct trace_line){phase, step, item, trace->text.length};
}

static void end_line(struct trace *trace)
{
    mdf_text_append(&trace->text, "\n", 2); /* with its zero: lines are texts of their own */
}

/* ------------------------------------------------------------------ values */

static bool is_nan(mdf_dtype dtype, const void *element)
{
    double number = 0;

    switch (dtype) {
    case MDF_DTYPE_FLOAT64:
        memcpy(&number, element, sizeof number);
        break;
    case MDF_DTYPE_FLOAT32: {
        float narrow;

        memcpy(&narrow, element, sizeof narrow);
        number = narrow;
        break;
    }
    default:
        mdf_convert_elements(MDF_DTYPE_FLOAT64, &number, dtype, element, 1, false);
    }
    return isnan(number);
}

static void write_number(struct mdf_text *text, mdf_dtype dtype, const unsigned char *element, bool is_real)
{
    static const char digits[] = "0123456789abcdef";
    char hexadecimal[2 * 16 + 1];
    size_t size = mdf_dtype_size(dtype), i;

    if (is_real && is_nan(dtype, element)) {
        mdf_text_append(text, " nan", 4);
        return;
    }
    hexadecimal[0] = ' ';
    for (i = 0; i < size; i++) {
        hexadecimal[2 * i + 1] = digits[element[i] >> 4];
        hexadecimal[2 * i + 2] = digits[element[i] & 15];
    }
    mdf_text_append(text, hexadecimal, 2 * size + 1);
}

static void write_string(struct mdf_text *text, const char *string)
{
    mdf_text_append(text, " \"", 2);
    for (; *string != '\0'; string++) {
        if (*string == '"' || *string == '\\' || (unsigned char)*string < ' ') {
            mdf_text_printf(text, "\\x%02x", (unsigned char)*string);
        } else {
            mdf_text_append(text, string, 1);
        }
    }
    mdf_text_append(text, "\"", 1);
}

static size_t n_elements_of(const mdf_tensor *tensor)
{
    size_t n = 1, i;

    for (i = 0; i < tensor->rank; i++) {
        n *= (size_t)tensor->shape[i];
    }
    return n;
}

static void write_tensor(struct trace *trace, const mdf_tensor *tensor)
{
    const char *name = mdf_dtype_name(tensor->dtype);
    bool is_complex = strncmp(name, "complex", 7) == 0, is_real = strstr(name, "float") != NULL || is_complex;
    mdf_dtype part = tensor->dtype == MDF_DTYPE_COMPLEX64    ? MDF_DTYPE_FLOAT32
                     : tensor->dtype == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_FLOAT64
                                                             : tensor->dtype;
    size_t n = n_elements_of(tensor) * (is_complex ? 2 : 1), size = mdf_dtype_size(part), i;

    mdf_text_printf(&trace->text, " %s[", name);
    for (i = 0; i < tensor->rank; i++) {
        mdf_text_printf(&trace->text, i > 0 ? ",%lld" : "%lld", (long long)tensor->shape[i]);
    }
    mdf_text_append(&trace->text, "]", 1);
    for (i = 0; i < n; i++) {
        unsigned char element[8];

        if (tensor->dtype == MDF_DTYPE_STRING) {
            write_string(&trace->text, ((const char *const *)tensor->data)[i]);
            continue;
        }
        memcpy(element, (const unsigned char *)tensor->data + i * size, size);
        element[0] ^= trace->is_wrong && is_real && !is_nan(part, element);
        write_number(&trace->text, part, element, is_real);
    }
}

static void write_value(struct trace *trace, const mdf_value *value)
{
    mdf_tensor tensor;
    size_t i;

    if (value == NULL || mdf_value_kind(value) == MDF_KIND_NONE) {
        mdf_text_append_string(&trace->text, " none");
    } else if (mdf_value_tensor(value, &tensor)) {
        write_tensor(trace, &tensor);
    } else if (mdf_value_kind(value) == MDF_KIND_LIST) {
        mdf_text_append_string(&trace->text, " (");
        for (i = 0; i < mdf_value_length(value); i++) {
            write_value(trace, mdf_value_item(value, i));
        }
        mdf_text_append_string(&trace->text, " )");
    } else {
        mdf_text_append_string(&trace->text, " {");
        for (i = 0; i < mdf_value_length(value); i++) {
            write_string(&trace->text, mdf_value_key(value, i));
            write_value(trace, mdf_value_item(value, i));
        }
        mdf_text_append_string(&trace->text, " }");
    }
}

static void trace_schedule(struct trace *trace, const mdf_program *program, const mdf_state *state)
{
    size_t n_sets = mdf_schedule_n_sets(state), i, j;

    mdf_text_append_string(&trace->text, "schedule");
    for (i = 0; i < n_sets; i++) {
        mdf_text_printf(&trace->text, " %llu:", (unsigned long long)mdf_schedule_pass(state, i));
        for (j = 0; j < mdf_schedule_set_size(state, i); j++) {
            mdf_text_printf(&trace->text, "%s%s", j > 0 ? "," : "",
                            mdf_program_node_id(program, mdf_schedule_node(state, i, j)));
        }
    }
}

void trace_state(struct trace *trace, const mdf_program *program, const mdf_state *state, size_t phase, size_t step)
{
    size_t item = 0, node, i;

    for (node = 0; node < mdf_program_n_nodes(program); node++) {
        for (i = 0; i < mdf_program_n_outputs(program, node); i++) {
            begin_line(trace, phase, step, item++);
            mdf_text_printf(&trace->text, "%s.%s", mdf_program_node_id(program, node), mdf_program_output_id(program, node, i));
            write_value(trace, mdf_output_at(state, node, i));
            end_line(trace);
        }
    }
    for (i = 0; i < mdf_program_n_results(program); i++) {
        begin_line(trace, phase, step, item++);
        mdf_text_printf(&trace->text, "result:%s", mdf_program_result_name(program, i));
        write_value(trace, mdf_result_at(state, i));
        end_line(trace);
    }
    begin_line(trace, phase, step, item++);
    trace_schedule(trace, program, state);
    end_line(trace);
}

void trace_tensor(struct trace *trace, const char *name, const mdf_tensor *tensor, size_t phase, size_t step, size_t item)
{
    begin_line(trace, phase, step, item);
    mdf_text_append_string(&trace->text, name);
    write_tensor(trace, tensor);
    end_line(trace);
}

void trace_error(struct trace *trace, const mdf_error *error, size_t phase, size_t step)
{
    begin_line(trace, phase, step, SIZE_MAX);
    mdf_text_printf(&trace->text, "error %s: %s: %s", mdf_status_text(error->code), error->path, error->message);
    end_line(trace);
}

/* ------------------------------------------------------------------ comparing */

/* "" where there is no such line. */
static const char *line_text(const struct trace *trace, size_t line)
{
    return line < trace->n_lines ? trace->text.bytes + trace->lines[line].offset : "nothing\n";
}

static bool is_error(const struct trace *trace, size_t line)
{
    return line < trace->n_lines && trace->lines[line].item == SIZE_MAX;
}

static void tell(const struct trace *trace, size_t line, const struct trace *reference, size_t reference_line,
                 struct mdf_text *difference)
{
    const struct trace_line *place = line < trace->n_lines ? &trace->lines[line] : &reference->lines[reference_line];

    mdf_text_printf(difference, "phase %zu step %zu\t%.*s\t%.*s", place->phase, place->step,
                    (int)strcspn(line_text(reference, reference_line), "\n"), line_text(reference, reference_line),
                    (int)strcspn(line_text(trace, line), "\n"), line_text(trace, line));
}

/* A line of the reference that a trace of last steps leaves out. */
static bool is_skipped(const struct trace *reference, size_t line)
{
    size_t next = line;

    while (next < reference->n_lines && reference->lines[next].phase == reference->lines[line].phase &&
           reference->lines[next].step == reference->lines[line].step) {
        next++;
    }
    return !is_error(reference, line) && next < reference->n_lines &&
           reference->lines[next].phase == reference->lines[line].phase;
}

/* Whether two lines of C source and of the reference have values of other types or shapes: a variable of C has one of each, which is that of
 * the later values. */
static bool has_other_form(const char *text, const char *reference)
{
    size_t length = strcspn(text, "]"), reference_length = strcspn(reference, "]");

    return strncmp(text, "schedule", 8) != 0 &&
           (length != reference_length || strncmp(text, reference, length) != 0);
}

static bool same_line(const struct trace *trace, size_t line, const struct trace *reference, size_t reference_line,
                      const struct trace_rules *rules)
{
    const struct trace_line *a = &trace->lines[line], *b = &reference->lines[reference_line];

    if (line >= trace->n_lines || reference_line >= reference->n_lines || a->phase != b->phase || a->step != b->step ||
        a->item != b->item) {
        return false;
    }
    return (rules->is_compiled &&
            (a->item == SIZE_MAX || has_other_form(line_text(trace, line), line_text(reference, reference_line)))) ||
           strcmp(line_text(trace, line), line_text(reference, reference_line)) == 0;
}

bool trace_agrees(const struct trace *trace, const struct trace *reference, const struct trace_rules *rules,
                  struct mdf_text *difference)
{
    size_t line = 0, reference_line = 0;

    for (;;) {
        while (rules->last_steps && reference_line < reference->n_lines && is_skipped(reference, reference_line)) {
            reference_line++;
        }
        if (line >= trace->n_lines && reference_line >= reference->n_lines) {
            return true;
        }
        if (!same_line(trace, line, reference, reference_line, rules)) {
            tell(trace, line, reference, reference_line, difference);
            return false;
        }
        line++;
        reference_line++;
    }
}
