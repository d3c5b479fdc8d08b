/* by_values_terms.h - what a scheduler counts, and what its conditions ask of that, as operands of traced code. See
 * run_by_values.h. */
#ifndef MDF_PLAN_GRADIENT_BY_VALUES_TERMS_H
#define MDF_PLAN_GRADIENT_BY_VALUES_TERMS_H

#include "mdf_c/plan/traced/trace.h"

/* What is counted of one graph: slots of the outermost unit, MDF_NO_OPERAND where nobody looks at it. */
struct counters {
    mdf_operand *counts[MDF_SCOPE_COUNT], *has_run, *has_read, *last_sets, *marks, *spent, clocks[MDF_CLOCK_COUNT], n_sets, time;
    mdf_operand is_over, any_ran; /* the pass is broken off; something has run in it */
    mdf_operand goes_on;          /* there is another pass, where their Loop is counted */
};

struct schedules {
    struct counters *counters; /* of each frame */
    mdf_operand is_ended;      /* all evaluations have ended within the passes that they may take */
    mdf_operand **later;       /* what slots held behind the runs that are traced for types */
};

/* New slots for what is counted of a graph. */
bool by_values_add_counters(struct target *target, const struct mdf_program *program, struct counters *counters);
/* The same, of the outermost graph: of each node with a port to which something may be given for one run, whether that is read.
 */
bool by_values_add_reads(struct target *target, const struct mdf_program *program, struct counters *counters);
/* An expression over a, b and c, as far as these are given. */
mdf_operand by_values_compute(struct tracer *tracer, const char *text, mdf_operand a, mdf_operand b, mdf_operand c);
mdf_operand by_values_whole(struct tracer *tracer, int64_t number);
mdf_operand by_values_truth(struct tracer *tracer, bool is_true);
/* 1, 0: it is known to be so; -1: it is not known. */
int by_values_truth_of(struct tracer *tracer, mdf_operand operand);
mdf_operand by_values_both(struct tracer *tracer, mdf_operand a, mdf_operand b);
mdf_operand by_values_either(struct tracer *tracer, mdf_operand a, mdf_operand b);
mdf_operand by_values_negate(struct tracer *tracer, mdf_operand a);
const struct counters *by_values_counters_of(const struct tracer *tracer);
/* What a counter holds now. */
mdf_operand by_values_get(struct tracer *tracer, mdf_operand counter);
bool by_values_set(struct tracer *tracer, mdf_operand counter, mdf_operand value);
/* One more, where `where` holds. */
bool by_values_count(struct tracer *tracer, mdf_operand counter, mdf_operand where);
/* A number compared with n, which is a constant. */
mdf_operand by_values_compare(struct tracer *tracer, mdf_operand number, uint8_t comparison, double n);
/* Whether a condition holds, which is asked where `reached`. */
mdf_operand by_values_holds(struct tracer *tracer, uint32_t condition, mdf_operand reached);
mdf_operand by_values_is_over(struct tracer *tracer);

#endif
