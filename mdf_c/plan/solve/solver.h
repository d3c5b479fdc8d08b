/* solver.h - what the files share that make a solver's code: solver.c puts it in its place, fixed_step.c makes one step an
 * evaluation, adaptive_steps.c as many as a tolerance asks for.
 *
 * A method is expressions (method.h) over names in a scope: those of the whole system in that of the target, those of one state
 * in one within it. */
#ifndef MDF_PLAN_SOLVE_SOLVER_H
#define MDF_PLAN_SOLVE_SOLVER_H

#include "mdf_c/plan/solve/method.h"
#include "mdf_c/plan/solve/right_side.h"

struct solver {
    const struct mdf_method_row *method;
    struct right_side side;
};

/* One operand of each state. */
typedef mdf_operand *solver_values;

/* MDF_NO_OPERAND each. NULL: the error is set. */
solver_values solver_new_values(struct solver *solver);
/* Binds a name of all states. */
bool solver_name(struct target *target, const char *name, mdf_operand operand);
/* What an expression makes of names of all states; bound to a name of its own, unless `name` is NULL. */
mdf_operand solver_compute(struct target *target, const char *name, const char *expression);

/* What each state has by a name. */
struct solver_named {
    const char *name;
    solver_values values;
};

/* Names of a number, and of those of the caller's options. */
bool solver_name_real(struct target *target, const char *name, double real);
bool solver_name_options(const struct solver *solver, struct target *target);

/* What an expression makes of each state. */
bool solver_compute_each(struct solver *solver, struct target *target, const char *expression, const struct solver_named *named,
                         size_t n_named, solver_values results);
/* The root of the mean square of what an expression makes of each element of each state. */
bool solver_take_norm(struct solver *solver, struct target *target, const char *name, const char *of,
                      const struct solver_named *named, size_t n_named);
/* The stages of a step of length `h` (a name of the target) from `y`: the slopes k1, k2, ... of named[1], named[2], ...; those of
 * the first are there already unless `begins`. `last` gets the values at the last stage. The number of stages in *n_stages. */
bool solver_take_stages(struct solver *solver, struct target *target, solver_values y, bool begins,
                        struct solver_named named[1 + MDF_MOST_STAGES], solver_values last, size_t *n_stages);
/* Leaves values for the nodes. */
bool solver_leave(struct solver *solver, struct target *target, const mdf_operand *values);

/* Nothing runs these instructions any more: nobody is to take them for readers. */
void solver_blank(struct unit *unit, size_t first, size_t end);

/* --- fixed_step.c, adaptive_steps.c: what an evaluation with a time increment does before nodes run. */
bool solver_emit_fixed_step(struct solver *solver, struct target *target);
/* NULL: the error is set. */
struct stepping;
struct stepping *solver_emit_adaptive_steps(struct solver *solver, struct target *target);
/* What one without does behind them: the solver begins at what they have made. */
bool solver_emit_start(struct solver *solver, struct target *target, struct stepping *kept);

/* --- library_entry.c: ranges of instructions that a library runs when it needs them. */
bool solver_emit_entry(struct solver *solver, struct target *target);

#endif
