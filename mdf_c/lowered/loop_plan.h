/* loop_plan.h - where loops have their states and stacks: decided here, once, when a form is complete; the interpreter, machine
 * code and C source do as it says (docs/lowered.md, "States and stacks"). */
#ifndef MDF_LOWERED_LOOP_PLAN_H
#define MDF_LOWERED_LOOP_PLAN_H

#include "mdf_c/lowered/lowered.h"

/* Sets `storage` of all states, `is_direct` of all stacks, and `is_in_place` of values. */
void mdf_lowered_plan_loops(struct mdf_lowered *lowered);

/* The value whose buffer a state's is exchanged for behind each run, of TWO_BUFFERS; what the state is next, IN_STACK. */
mdf_lowered_id mdf_lowered_exchanged(const struct mdf_lowered_state *state);

/* Whether another state takes over the one that has a parameter. */
bool mdf_lowered_is_taken_over(const struct mdf_lowered_loop *loop, mdf_lowered_id parameter);

/* The state that a direct stack holds: its items are what the runs find in `parameter`, `next` is written as the item behind, for
 * the last of which there is room behind the stack. NULL: none. */
const struct mdf_lowered_state *mdf_lowered_held_state(const struct mdf_lowered_loop *loop,
                                                       const struct mdf_lowered_stack *stack);

/* The direct stack that holds a state whose `next` another direct stack has as its items: these lie in its memory, from its
 * second item on. NULL: none. */
const struct mdf_lowered_stack *mdf_lowered_holding_stack(const struct mdf_lowered_loop *loop,
                                                          const struct mdf_lowered_stack *stack);

/* Whether a region makes an array that may have another size in each run, in a buffer of its own: a nest does, and a kernel, but
 * for what it stacks. */
bool mdf_lowered_makes_of_any_size(const struct mdf_lowered_region *region, mdf_lowered_id id);

/* Whether the plan of a loop holds, of which the body may have been changed since. */
bool mdf_lowered_plan_holds(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop);

/* Whether the elements of `made`, which an op of the region itself makes, may lie where those of `id` are, which begin to be
 * before the region: each of them is read for the last time before it is written, and nothing else looks at that memory. */
bool mdf_lowered_may_overwrite(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region, mdf_lowered_id id,
                               mdf_lowered_id made);

/* The same of what a nest makes, the `length` elements of a row, and one of the rows of as many elements that `id` is, whichever
 * that is. */
bool mdf_lowered_nest_may_overwrite_row(const struct mdf_lowered_nest *nest, mdf_lowered_id id, mdf_lowered_id made,
                                        size_t length);

#endif
