/* trace.h - what a run of a case gave: a line for each value of each step, an error where it ended with one; and two such
 * traces compared. */
#ifndef MDF_TESTS_RANDOM_TRACE_H
#define MDF_TESTS_RANDOM_TRACE_H

#include "mdf_c/base/text.h"

struct trace_line {
    size_t phase, step, item; /* item: number of the value within its step; SIZE_MAX: an error */
    size_t offset;            /* of the line in `text`: "PLACE VALUE" */
};

struct trace {
    struct mdf_text text;
    struct trace_line *lines;
    size_t n_lines, capacity;
    bool is_wrong; /* the last bit of numbers is changed on purpose, to see that it is found */
};

void trace_init(struct trace *trace, struct mdf_memory *memory);
void trace_clear(struct trace *trace);
void trace_release(struct trace *trace);

/* Writes down all outputs, results and, where `with_schedule`, who ran, of the last evaluation. */
void trace_state(struct trace *trace, const mdf_program *program, const mdf_state *state, size_t phase, size_t step);
/* One value of a step. */
void trace_tensor(struct trace *trace, const char *name, const mdf_tensor *tensor, size_t phase, size_t step, size_t item);
void trace_error(struct trace *trace, const mdf_error *error, size_t phase, size_t step);

/* How a trace is held against the reference. */
struct trace_rules {
    bool last_steps; /* it has the last step of each phase only */
    bool is_compiled; /* it comes from C source, whose variables have one type each and whose errors have words of their own */
};

/* Whether a trace says what the reference says; else the first place where it does not goes to `difference`. */
bool trace_agrees(const struct trace *trace, const struct trace *reference, const struct trace_rules *rules,
                  struct mdf_text *difference);

#endif
