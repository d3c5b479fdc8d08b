/* events.h - conditions of parameters with a time derivative, as events between the ends of steps: see events.c. */
#ifndef MDF_PLAN_SOLVE_EVENTS_H
#define MDF_PLAN_SOLVE_EVENTS_H

#include "mdf_c/plan/solve/solver.h"

/* A step from time 0 to 1 of its length, in the unit of a target. */
struct solver_span {
    const struct solver_named *parts; /* of its polynomial: the names of an expression over them and u */
    size_t n_parts;
    const char *polynomial;
    solver_values armed; /* of each state: 1 where its conditions do not hold since; else they have acted, and wait: 0, or -1
                          * where they would have made nothing else of what they had made */
};

/* What the first event in a span leaves: the names `fired` (whether there is one), `share` (the part of the step that is done,
 * 1 without one) and `slides` (of how many elements a condition holds that has acted, and is to hold them where they are) of the
 * target, and of each state its value then, and what is armed. False: the error is set. */
bool solver_emit_events(struct solver *solver, struct target *target, const struct solver_span *span, const mdf_operand *at_end,
                        solver_values values, solver_values armed);
/* What is armed at values that no step has led to. */
bool solver_emit_arming(struct solver *solver, struct target *target, const mdf_operand *y, solver_values armed);

#endif
