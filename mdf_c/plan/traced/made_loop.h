/* made_loop.h - a Loop that the compiler makes itself: of a model's steps, or of those of a solver. */
#ifndef MDF_PLAN_MADE_LOOP_H
#define MDF_PLAN_MADE_LOOP_H

#include "mdf_c/plan/compiler.h"

/* The body, whose unit `body` is: `formals` and `yields` are mdf_operand, one of each for a state; `goes_on` is what it yields as
 * condition, MDF_NO_OPERAND: it always goes on. NULL: the error is set. */
struct mdf_code *made_loop_body(struct target *body, const struct list *formals, const struct list *yields, mdf_operand goes_on,
                                const char *id);
/* The call, which takes the body: as made_loop_emit emits it. */
bool made_loop_call(struct target *target, struct mdf_code *body, uint64_t most, mdf_operand condition, const mdf_operand *states,
                    const mdf_operand *outputs, size_t n_states, struct mdf_code_call *call);
/* Emits the call, which takes the body: `states` are the states as they begin, `outputs` slots for what they end as. `condition`
 * MDF_NO_OPERAND: none. */
bool made_loop_emit(struct target *target, struct mdf_code *body, uint64_t most, mdf_operand condition, const mdf_operand *states,
                    const mdf_operand *outputs, size_t n_states);
/* The same for a body that yields stacked values behind the states: `outputs` are n_outputs. */
bool made_loop_emit_stacking(struct target *target, struct mdf_code *body, uint64_t most, mdf_operand condition,
                             const mdf_operand *states, const mdf_operand *outputs, size_t n_states, size_t n_outputs);

#endif
