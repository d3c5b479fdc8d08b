/* restart.h - a state before its first evaluation: made as new again, and its parameters set. */
#ifndef MDF_RUN_RESTART_H
#define MDF_RUN_RESTART_H

#include "mdf_c/run/state.h"

/* Takes back what was given to ports from outside and no node has used. */
void mdf_state_forget_inputs(struct mdf_state *state);
/* Gives all changeable parameters the values of the model. False: out of memory. */
bool mdf_state_set_defaults(struct mdf_state *state);
/* See mdf_state_reset and mdf_set_parameter in mdf.h. */
mdf_status mdf_state_restart(struct mdf_state *state, uint64_t seed, mdf_error *error);
/* The same where an evaluation follows at once, whatever comes of it: what that would find out and prepare again - forms that are
 * stable, what is lowered, tables of kernels - stays where no value does. */
mdf_status mdf_state_restart_to_evaluate(struct mdf_state *state, uint64_t seed, mdf_error *error);
/* Whether no evaluation looks at values of an earlier one: there are no conditions, initial values, graphs within nodes,
 * no edge goes back, and no changeable parameter gets another value. False also where memory is refused. */
bool mdf_program_leaves_nothing(const struct mdf_program *program, struct mdf_arena *arena);
mdf_status mdf_state_set_parameter(struct mdf_state *state, const char *name, const struct mdf_value *value, mdf_error *error);

/* `value` borrows the tensor as the value of a parameter: numbers of the types that a model's file has are what they would be if
 * they stood in the file, and take the type of what they meet; others keep their type. Not for strings. */
void mdf_parameter_value(struct mdf_memory *memory, struct mdf_value *value, const mdf_tensor *tensor);

/* Whether a node of the program's own graph has a parameter of that name, PARAMETER or NODE.PARAMETER. */
bool mdf_program_has_parameter(const struct mdf_program *program, const char *name);

#endif
