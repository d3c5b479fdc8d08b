/* step_loop.h - a loop within the code of a step: of a search for events, or for jumps. */
#ifndef MDF_PLAN_SOLVE_STEP_LOOP_H
#define MDF_PLAN_SOLVE_STEP_LOOP_H

#include "mdf_c/plan/solve/solver.h"

/* Its body. */
struct step_loop {
    struct unit unit, *outer;
    struct scope scope;
    struct target target;
    struct list formals, yields; /* mdf_operand */
};

void step_loop_begin(struct step_loop *loop, struct target *outer);
/* Values of the code around a body as the body sees them. */
solver_values step_loop_capture(struct solver *solver, struct step_loop *loop, const mdf_operand *values);
/* A state of the loop, with a name unless that is NULL. */
bool step_loop_formal(struct step_loop *loop, const char *name, mdf_operand *formal);
/* The next value of the next state. */
bool step_loop_yield(struct step_loop *loop, const char *expression);
/* The same of each state of the solver. */
bool step_loop_formals(struct solver *solver, struct step_loop *loop, solver_values formals);
bool step_loop_yields(struct solver *solver, struct step_loop *loop, const char *expression, const struct solver_named *named,
                      size_t n_named);
/* The loop, `goes_on` being what its body yields as condition; MDF_NO_OPERAND: the body could not be made. */
bool step_loop_emit(struct step_loop *loop, struct target *target, mdf_operand goes_on, uint64_t most, mdf_operand condition,
                    const mdf_operand *states, mdf_operand *outputs, size_t n);

#endif
