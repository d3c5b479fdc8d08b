/* run_by_values.h - evaluations of a scheduled graph where values say which nodes run (Threshold, WhenFinished): a Loop of passes
 * for each, whose states are what the scheduler counts, and in which each node runs where its condition holds. */
#ifndef MDF_PLAN_GRADIENT_RUN_BY_VALUES_H
#define MDF_PLAN_GRADIENT_RUN_BY_VALUES_H

#include "mdf_c/plan/traced/trace.h"

/* Whether values say it, in one of the graphs. */
bool by_values_is_needed(const struct tracer *tracer);
/* Before trace_begin: slots for what is counted, in the unit of the outermost graph. */
bool by_values_begin(struct tracer *tracer, struct graph_builder *builder);
/* All evaluations. `set_initials` sets what output ports hold before their nodes have run. */
bool by_values_trace(struct tracer *tracer, const struct mdf_gradient_request *request,
                     bool (*set_initials)(struct tracer *tracer));
/* Behind them: the value of an output port of the outermost graph. Where its node has not run, or an evaluation has not ended,
 * there is none: an error when it runs, of a division by zero. */
mdf_operand by_values_result(struct tracer *tracer, mdf_operand operand);

#endif
