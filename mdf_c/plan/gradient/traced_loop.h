/* traced_loop.h - a Loop whose body is traced (plan/trace.h): what evaluations, runs of a node, passes of a schedule are derived
 * as. */
#ifndef MDF_PLAN_GRADIENT_TRACED_LOOP_H
#define MDF_PLAN_GRADIENT_TRACED_LOOP_H

#include "mdf_c/plan/traced/trace.h"

struct traced_loop {
    const char *id;     /* of the body */
    uint64_t most;      /* iterations */
    mdf_operand begins; /* a condition; MDF_NO_OPERAND: none */
    bool has_dt;
    bool keeps_outputs; /* what output ports hold behind the Loop is looked at, whether the next run reads it or not */
    bool in_segments;   /* where memory is bounded (loop_segments.h) */
    /* Traces the body. *goes_on: the condition that it yields; MDF_NO_OPERAND: it always does. */
    bool (*trace)(struct tracer *tracer, void *context, mdf_operand *goes_on);
    void *context;
};

/* Emits it; nothing, where iterations leave nothing to each other. Then what slots hold at its end stands for them. */
bool traced_loop_emit(struct tracer *around, const struct traced_loop *loop);
/* About how many bytes an iteration leaves to the next; nothing is emitted. */
bool traced_loop_measure(struct tracer *around, const struct traced_loop *loop, double *bytes);

#endif
