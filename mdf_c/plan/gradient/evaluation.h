/* evaluation.h - a graph evaluated several times in a row, as one function of its parameters: what derivatives of it are made
 * from. */
#ifndef MDF_PLAN_GRADIENT_EVALUATION_H
#define MDF_PLAN_GRADIENT_EVALUATION_H

#include "mdf_c/plan/compiler.h"

/* Appends to the unit of a graph that is compiled the code of the evaluations, and has `operand` (of an output port, as the graph
 * has it) be what holds its value after them: *result. Refuses what has no such form: conditions, graphs within nodes, nodes that
 * repeat. */
bool compile_evaluations(struct graph_builder *builder, const struct mdf_gradient_request *request, mdf_operand operand,
                         mdf_operand *result);

/* Values to derive, with the gradients to begin with, in their shapes; MDF_NO_OPERAND: 1 in all elements. */
struct derived_value {
    mdf_operand value, seed;
};

/* --- gradient.c: the gradients of (the sum of) what is computed by the instructions from `first` on, by operands that hold
 * before. */
bool compile_gradients_from(struct target *target, size_t first, const struct derived_value *ys, size_t n_ys,
                            const mdf_operand *xs, size_t n, mdf_operand *gradients);

/* --- gradient_kept.c: takes out the instructions from `first` on that compute nothing that `roots` need. */
bool compile_take_out_unread(struct target *target, size_t first, const struct list *roots);

/* --- evaluation_gradient.c: turns the program of a graph that is compiled into one whose evaluation is all of the request's; it
 * has one node, `gradient`, with the output ports `value` and the names of the parameters. */
bool compile_evaluation_gradient(struct graph_builder *builder, const struct mdf_gradient_request *request);

/* Of each output port, node by node: whether the program's derivatives are of it. NULL: the error is set. */
bool *compile_derived_outputs(struct compiler *compiler);

#endif
