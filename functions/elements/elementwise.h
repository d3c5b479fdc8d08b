/* elementwise.h - operations on one, two or three arrays, element by element, their shapes broadcast by numpy's rules.
 *
 * An operation is a table of loops, one an element type; the loops come from the template elementwise_loop.inc. The engine
 * finds the shape of the result, makes it, and runs the loop over stretches in which each operand either advances or
 * stands still, on several threads where that is worth it. Types without a loop go through another type:
 * float16, bfloat16, float8_*, float4_* through float32 (each result rounded), int2 and int4 through int8, uint2 and uint4
 * through uint8. */
#ifndef MDF_FUNCTIONS_ELEMENTS_ELEMENTWISE_H
#define MDF_FUNCTIONS_ELEMENTS_ELEMENTWISE_H

#include "functions/kernel/call.h"

enum { MDF_MAX_OPERANDS = 3 };

/* Computes `n` > 0 elements. Operand `i` advances by steps[i] elements, 1 or 0. `target` does not overlap an operand, but of
 * the loops of elementwise_loop.inc, element_loops.inc and where.c it may be one that advances. False: an element is refused.
 * bool elements are bytes, 0 or 1 (uint8_t). */
typedef bool (*mdf_loop)(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings);
/* The same loop, without asking in each call which vectors the processor has: for code that is made for this one. */
mdf_loop mdf_loop_here(mdf_loop loop);
/* What such a loop does with one element, of each operand: NUMBER (*)(NUMBER a, NUMBER b, const void *settings), where NUMBER is
 * float or double; of one operand `b` is not looked at. NULL: there is none. */
typedef void (*mdf_number_function)(void);
mdf_number_function mdf_number_here(mdf_loop loop);

enum mdf_result_type {
    MDF_RESULT_SAME, /* the operands' type */
    MDF_RESULT_BOOL,
    MDF_RESULT_REAL /* the operands' type; of complex numbers, that of their parts */
};

/* An operation on one operand that is x < low ? low : x, of that x > high ? high : x, plus zero, which is 0 or -0: that turns -0
 * into 0, or changes nothing. */
struct mdf_limits {
    double low, high, zero;
};

struct mdf_operation {
    mdf_loop loops[MDF_DTYPE_COUNT]; /* by the operands' type; NULL: through another type, or not at all */
    enum mdf_result_type result;
    bool selects;       /* operand 0 is bool, whatever the others are; its type is that of the others */
    bool settings_last; /* settings stay where they are when the call is over, whoever made them */
    float cost_ns;      /* of an element, roughly; 0: as cheap as an addition */
    /* Of one that puts limits on reals of that type; false: with these settings it does something else. NULL: it is none. */
    bool (*limits)(mdf_dtype dtype, const void *settings, struct mdf_limits *limits);
    const char *refusal; /* why a loop refuses an element: "integer division by zero" */
};

/* Output 0 becomes the operation's result on inputs 0 to n_operands - 1, which must be arrays of one type. `settings` is handed
 * to the loops. False with the error set. Uses scratch value 1. */
bool mdf_elementwise_call(struct mdf_call *call, const struct mdf_operation *operation, size_t n_operands, const void *settings);
/* The same on any arrays, into any value that is none of them. */
bool mdf_elementwise(struct mdf_call *call, struct mdf_value *target, const struct mdf_operation *operation, size_t n_operands,
                     const struct mdf_value *const operands[], const void *settings);

/* Whether the inputs can be folded from the left by the function below: they are three or more arrays of one shape and one type,
 * with a loop of its own whose target may be an operand (see mdf_loop) and has that type. */
bool mdf_elementwise_can_fold(const struct mdf_call *call, const struct mdf_operation *operation);
/* What mdf_elementwise would give of the first two inputs, of that and the third, and so on, in one go over all elements. */
bool mdf_elementwise_fold(struct mdf_call *call, struct mdf_value *target, const struct mdf_operation *operation);

/* The type through which elements of a type are computed with where they have no loop: itself, or as above. */
mdf_dtype mdf_elementwise_carrier(mdf_dtype dtype);

/* What a kernel did by mdf_elementwise while it was looked at (call->context->trace). */
struct mdf_elementwise_trace {
    size_t n_calls;
    const struct mdf_operation *operation; /* of the last call */
    mdf_loop loop;                         /* NULL: through another type */
    const void *settings;
    size_t n_operands;
    const struct mdf_value *operands[MDF_MAX_OPERANDS]; /* inputs of the call, or `views` */
    struct mdf_value views[MDF_MAX_OPERANDS];
    const struct mdf_value *target;
    /* Of work in a wider type, after which each result is rounded once: how often a kernel began such, and the type where one
     * such was all that it did; MDF_DTYPE_NONE: it was not. */
    size_t n_workspaces;
    mdf_dtype works_in;
};

/* A kernel computes all that it does in `dtype`, from inputs that are converted to it, and converts its results at the end. */
void mdf_elementwise_note_workspace(const struct mdf_call *call, mdf_dtype dtype);

/* Rows of a table of loops that the templates made for operation `name`:
 *   static const struct mdf_operation add = {.loops = {MDF_LOOPS_REALS(add), MDF_LOOPS_INTEGERS(add)}}; */
#define MDF_LOOPS_REALS(name) [MDF_DTYPE_FLOAT32] = name##_float32, [MDF_DTYPE_FLOAT64] = name##_float64
#define MDF_LOOPS_SIGNED(name)                                                                          \
    [MDF_DTYPE_INT8] = name##_int8, [MDF_DTYPE_INT16] = name##_int16, [MDF_DTYPE_INT32] = name##_int32, \
    [MDF_DTYPE_INT64] = name##_int64
#define MDF_LOOPS_UNSIGNED(name)                                                                              \
    [MDF_DTYPE_UINT8] = name##_uint8, [MDF_DTYPE_UINT16] = name##_uint16, [MDF_DTYPE_UINT32] = name##_uint32, \
    [MDF_DTYPE_UINT64] = name##_uint64
#define MDF_LOOPS_INTEGERS(name) MDF_LOOPS_SIGNED(name), MDF_LOOPS_UNSIGNED(name)

#endif
