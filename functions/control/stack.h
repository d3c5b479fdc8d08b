/* stack.h - what bodies that run many times share: states carried over, slices of scan inputs read, scan outputs written into
 * place. */
#ifndef MDF_FUNCTIONS_CONTROL_STACK_H
#define MDF_FUNCTIONS_CONTROL_STACK_H

#include "functions/kernel/call.h"

/* Whether a value was declared to be of another type than an operator's formal has. */
bool mdf_is_typed_otherwise(const struct mdf_value *value, mdf_dtype dtype);

/* Reads a condition: one number or boolean, or a list that is an array of one. `what` names it in the message. False with the
 * error set: it is none. */
bool mdf_read_condition(struct mdf_call *call, const struct mdf_value *value, const char *what, bool *holds);

/* The state variables that a body yielded, from output `first_yield` on, become its formals from `first_formal` on. The first
 * outputs of the call serve as a place aside. A state of a declared type keeps it. False with the error set. */
bool mdf_body_carry(struct mdf_call *call, struct mdf_body *body, size_t first_formal, size_t first_yield, size_t n_states);

/* `target` takes what a body yielded in a slot of its own. One number, of any rank, that looks at memory of somebody else, as those
 * of a lowered form in the body do, is copied: the form may go before the number. False with the error set. */
bool mdf_body_take(struct mdf_call *call, struct mdf_value *target, struct mdf_value *own);

/* `slice` becomes number `index` of `whole` along `axis`: a view where the axis is the first, else a copy. False: out of memory.
 */
bool mdf_stack_take(struct mdf_memory *memory, struct mdf_value *slice, const struct mdf_value *whole, size_t axis, size_t index);

/* A scan output under construction: `whole` has room for `capacity` slices along `axis`. */
struct mdf_stack {
    struct mdf_value *whole;
    size_t axis;
    size_t length, capacity; /* slices written, slices that there is room for */
};

/* Of a run that fails: outputs from `first` on, of which some places may never have been written, hold nothing. Yields false. */
bool mdf_stack_drop(struct mdf_call *call, size_t first);
/* Opens a stack for up to `capacity` slices; more make it grow. `axis` is of the result. */
void mdf_stack_begin(struct mdf_stack *stack, struct mdf_value *whole, size_t axis, size_t capacity);
/* The type and strength of a stack with one more slice: what has no declared type takes the other's, as in numpy. False: both are
 * declared, and differ. */
bool mdf_stack_form(const struct mdf_context *context, const struct mdf_value *whole, const struct mdf_value *slice,
                    mdf_dtype *dtype, uint8_t *strength);
/* Writes a slice at `index`, at most one past the last so far where the stack grows. False with the error set: not an array, or
 * another declared type or shape than the first. */
bool mdf_stack_put(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_value *slice, size_t index);
/* Cuts the result to the slices written; with none, to an empty array of the type and shape that `type` declares. */
bool mdf_stack_end(struct mdf_call *call, struct mdf_stack *stack, const struct mdf_static_type *type);

#endif
