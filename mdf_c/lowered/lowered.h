/* lowered.h - a stretch of instructions whose values have stable types and shapes: what the fast ways of running it share.
 *
 * mdf_lower (lower.h) makes it from a frame's instructions once the values that go in are there; from then on it stands for these
 * instructions as long as the values that go in keep their forms (kind, type, strength, shape). It is run by
 *   lowered_run.c   step by step: the plain form, by which the others are tested,
 *   emit_*.c        as machine code of the processor that the program runs on,
 *   and written out as C source by mdf_c/source.
 *
 * Each value is written by one op (or is an input, a constant, or a parameter of a region) and is a scalar, which has one
 * element whatever its rank, or an array of a fixed number of elements. Ops stand in regions, in the order in which they run; the
 * ops that hold regions are structured: IF, LOOP; NEST has steps of its own (nest.h). Nothing that a frame can see is
 * changed before the whole has run: where something comes up that the lowered form does not cover (a division by zero, a whole
 * number past 64 bits, an array of another shape, an interruption) it bails out, and the instructions run as they stand, from the
 * first one, and say what is wrong. */
#ifndef MDF_LOWERED_LOWERED_H
#define MDF_LOWERED_LOWERED_H

#include "functions/elements/elementwise.h"
#include "functions/kernel/operator.h"
#include "functions/products/prepared_product.h"
#include "functions/sampling/drawing.h"
#include "mdf_c/base/arena.h"

#include <stdatomic.h>

struct mdf_origin;
struct mdf_code_call;

typedef uint32_t mdf_lowered_id; /* of a value; index into lowered->values */
#define MDF_LOWERED_NONE UINT32_MAX

enum mdf_lowered_place {
    MDF_LOWERED_INPUT,     /* taken from a value of the frame, of the same form in each run */
    MDF_LOWERED_CONSTANT,  /* its form has the elements */
    MDF_LOWERED_PARAMETER, /* of a region: written by the op that holds the region before the region runs */
    MDF_LOWERED_RESULT     /* written by an op */
};

struct mdf_lowered_value {
    struct mdf_value
        form;       /* of kind TENSOR; type, strength, rank, shape, length; of a CONSTANT also the elements, else data is NULL */
    uint8_t place;  /* enum mdf_lowered_place */
    bool is_scalar; /* one element: it lies in cells[id]; else an array, in values[id] of the run */
    bool is_in_place;  /* it lies where another value does: states of loops that are stored IN_PLACE, what is put into an array */
    uint8_t open_axes; /* bits: axes whose sizes are known only when it runs; in the form they are 0, and so is the length. An
                          array that CALLs make and read, and NESTs with an open axis (nest.h); an output may be one, and a
                          state in two buffers; nothing else is */
    const struct mdf_value *source; /* of an INPUT */
    bool is_list;                   /* of an INPUT: the source is a list of so many arrays, which are its rows */
    const char *name;               /* of what the model calls it, for readers of generated code; NULL: nothing */
};

/* Codes of ops: X(code, name, whether it may bail out). A switch that asks for the code has no default, so that a new one does
 * not build until it is said where it belongs.
 *
 * Ops of elements: out = f(in[0], in[1], in[2]) for each element; `in` and `out` say all that is read and written. All operands
 * have the type op->dtype, the result has it too unless it says otherwise. Reals: float32, float64, in their own type, no
 * contraction, no reassociation, IEEE 754. Whole: of 8 to 64 bits, with sign or without. */
#define MDF_LOWERED_ELEMENT_LIST(X)                                                                                            \
    /* reals, and whole numbers that wrap */                                                                                   \
    X(ADD, "add", false)                                                                                                       \
    X(SUBTRACT, "subtract", false)                                                                                             \
    X(MULTIPLY, "multiply", false)                                                                                             \
    X(NEGATE, "negate", false)     /* of reals the sign bit is flipped */                                                      \
    X(ABSOLUTE, "absolute", false) /* of reals the sign bit is cleared */                                                      \
    /* reals */                                                                                                                \
    X(DIVIDE, "divide", false)                                                                                                 \
    X(DIVIDE_NONZERO, "divide_nonzero", true) /* bails out where in[1] is 0 */                                                 \
    X(SQUARE_ROOT, "square_root", false)                                                                                       \
    X(FLOOR, "floor", false)                                                                                                   \
    X(CEILING, "ceiling", false)                                                                                               \
    /* whole numbers; all bail out where in[1] is 0 */                                                                         \
    X(QUOTIENT, "quotient", true)               /* truncated; the lowest number by -1 wraps */                                 \
    X(REMAINDER, "remainder", true)             /* of the truncated quotient; by -1: 0 */                                      \
    X(FLOOR_QUOTIENT, "floor_quotient", true)   /* rounded down; the lowest number by -1 bails out */                          \
    X(FLOOR_REMAINDER, "floor_remainder", true) /* has the sign of in[1]; by -1: 0 */                                          \
    /* int64, scalars only: bail out where the result does not fit 64 bits */                                                  \
    X(ADD_EXACT, "add_exact", true)                                                                                            \
    X(SUBTRACT_EXACT, "subtract_exact", true)                                                                                  \
    X(MULTIPLY_EXACT, "multiply_exact", true)                                                                                  \
    X(SHIFT_LEFT_EXACT, "shift_left_exact", true)   /* also where in[1] is negative, or past 62 and in[0] is not 0 */          \
    X(SHIFT_RIGHT_EXACT, "shift_right_exact", true) /* where in[1] is negative; past 63 the sign is left */                    \
    X(NEGATE_EXACT, "negate_exact", true)                                                                                      \
    /* reals, whole numbers, bool; the result is bool. NaN is equal to nothing, and neither less nor greater */                \
    X(EQUAL, "equal", false)                                                                                                   \
    X(NOT_EQUAL, "not_equal", false)                                                                                           \
    X(LESS, "less", false)                                                                                                     \
    X(LESS_EQUAL, "less_equal", false)                                                                                         \
    X(GREATER, "greater", false)                                                                                               \
    X(GREATER_EQUAL, "greater_equal", false)                                                                                   \
    /* bool (bytes 0 or 1), and bits of whole numbers */                                                                       \
    X(AND, "and", false)                                                                                                       \
    X(OR, "or", false)                                                                                                         \
    X(EXCLUSIVE_OR, "exclusive_or", false)                                                                                     \
    X(NOT, "not", false)                                                                                                       \
    /* whole numbers; by in[1] bits, which is taken as a number without sign: past the width 0 is left, or the sign */         \
    X(SHIFT_LEFT, "shift_left", false)                                                                                         \
    X(SHIFT_RIGHT, "shift_right", false) /* with a sign it comes in from the left */                                           \
    /* in[0] is bool, in[1] and in[2] and the result have the type op->dtype (a real, a whole number, bool) */                 \
    X(SELECT, "select", false) /* in[0] ? in[1] : in[2] */                                                                     \
    /* from op->dtype to the type of the result, both among reals, whole numbers and bool. Real to whole, of int32, int64 and  \
     * uint64 only, truncates towards zero, and bails out where the number does not fit or is NaN (of uint64: where it is     \
     * below -2^63; others below 0 wrap); to bool: whether it is not 0; whole numbers wrap. For C source also float16 and      \
     * bfloat16: from float32 and float64, rounded, and to float32 */                                                          \
    X(CAST, "cast", true)                                                                                                      \
    X(FUNCTION, "function", true) /* float64, scalars only; bails out where the result is not finite */                        \
    X(ELEMENTS, "elements", true) /* any other function of elements, of any types: op->loop does it, whose false bails out */  \
    /* of any type, array or scalar */                                                                                         \
    X(COPY, "copy", false) /* a value of its own that equals in[0] */

/* Ops of whole values; of PUT `in` and `out` say all, as of ops of elements. */
#define MDF_LOWERED_WHOLE_LIST(X)                                                                                         \
    X(PUT, "put", true)   /* the array in[0] with the elements of in[1] at a place that in[2] says, as op->of.put says */ \
    X(CALL, "call", true) /* a kernel */                                                                                  \
    X(NEST, "nest", true) /* element functions and folds over an index space of some axes (nest.h) */                     \
    X(IF, "if", true)                                                                                                     \
    X(LOOP, "loop", true) /* ONNX's Loop and Scan */

enum mdf_lowered_code {
#define MDF_LOWERED_ENUM(code, name, bails_out) MDF_LOWERED_##code,
    MDF_LOWERED_ELEMENT_LIST(MDF_LOWERED_ENUM) MDF_LOWERED_WHOLE_LIST(MDF_LOWERED_ENUM)
};

/* Labels of a switch: all ops of which `in` and `out` say what is read and written. */
#define MDF_LOWERED_CASE(code, name, bails_out) case MDF_LOWERED_##code:
#define MDF_LOWERED_CASES_OF_ELEMENTS MDF_LOWERED_ELEMENT_LIST(MDF_LOWERED_CASE) case MDF_LOWERED_PUT

struct mdf_lowered_op {
    uint8_t code;  /* enum mdf_lowered_code */
    uint8_t dtype; /* of the operands */
    uint8_t n_in;
    mdf_lowered_id out; /* of element ops; else NONE */
    mdf_lowered_id in[MDF_MAX_OPERANDS];
    /* Of ELEMENTS, and of ops that nests are made of: the same function as a loop over elements, with its settings. NULL for CAST
     * and COPY, and may be NULL for the other codes on scalars. */
    mdf_loop loop;
    const void *loop_settings;
    /* What the model calls, with its attributes (operator->settings says how they lie), for those who write it out as source;
     * NULL: no call stands behind the op. */
    const struct mdf_operator *operator;
    const void *settings;
    const struct mdf_origin *origin; /* of the instruction that it was made of, for those who look at it; NULL: of none */
    union {
        struct mdf_lowered_put *put;
        struct mdf_lowered_call *call;
        struct mdf_lowered_nest *nest;
        struct mdf_lowered_if *branches;
        struct mdf_lowered_loop *loop;
        double (*function)(double); /* FUNCTION with n_in 1 */
        double (*function_of_two)(double, double);
    } of;
};

enum { MDF_LOWERED_LONG_ROW = 128 }; /* bytes: shorter rows are copied as fast as they are made where they go */

/* The elements of in[1], which lie together, begin in the result at the sum, over the int64 elements i of in[2], of i times its
 * step. Each is from -limit to limit - 1, where limit is added to a negative one first; else it bails out. All else is as in
 * in[0]: the result lies where that does (`is_in_place`), which loop_plan.h chooses, or is a copy. */
struct mdf_lowered_put {
    size_t n_indices;
    int64_t steps[MDF_INLINE_RANK], limits[MDF_INLINE_RANK];
    bool is_in_place;
    bool is_made_there; /* a nest just in front of it makes a row for it alone, which may be made where it is put: of the array the
                           nest loads what each element replaces, or what lies apart from all of them */
};

struct mdf_lowered_region {
    struct mdf_lowered_op *ops;
    size_t n_ops;
};

/* A kernel on whole values. `call` is complete: its inputs and outputs point into lowered->arrays, where a scalar that is no
 * result of a CALL lies over its cell; scalar results are brought to their cells afterwards. A result whose form is not that of
 * the value, but for open axes, bails out. mdf_lowered_run_call (lowered_run.h) does all of this. */
struct mdf_lowered_call {
    struct mdf_call call;
    const struct mdf_code_call *source; /* what it was made of; NULL: nothing in the model */
    mdf_lowered_id *inputs, *outputs;   /* NONE: omitted, unread */
    size_t n_inputs, n_outputs;
    bool weakens;                        /* mdf_weaken_outputs follows */
    struct mdf_lowered_product *product; /* what it computes, where that is done without the kernel; else NULL */
    struct mdf_lowered_draw *draw;       /* the same of random numbers */
    struct mdf_lowered_routine *routine; /* the same by a function of plain C */
    /* Of the loop in whose own region it is, where there is no kernel: the result is what the stack has so far; with two inputs,
     * the second is put there before, and the first is what it had. NULL: a kernel's call. Outputs behind the first are columns.
     */
    struct mdf_lowered_stack *stack;
};

#define MDF_LOWERED_DRAWN (MDF_DTYPE_BIT(MDF_DTYPE_FLOAT64) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT32))
#define MDF_LOWERED_DRAW_SETTINGS (MDF_LOWERED_DRAWN | MDF_DTYPE_BIT(MDF_DTYPE_INT64))

/* Random numbers of float64 or float32, n in order for each lane whose generators `contexts` has (NULL: the one of the whole
 * form), but for those that `mask` leaves out. `out` has memory of its own, in which the lanes are the last axis. */
struct mdf_lowered_draw {
    struct mdf_drawing drawing;
    mdf_lowered_id seed,
        settings[MDF_DRAWING_SETTINGS]; /* float64, float32 or int64, of all lanes or of each; NONE: the default */
    mdf_lowered_id mask, out;           /* of the lanes, bool; NONE: all count */
    size_t n, n_lanes;
    struct mdf_context *const *const *contexts;
};

/* Values of at most so many inputs and outputs. */
enum { MDF_LOWERED_ROUTINE_VALUES = 9 };

/* A call whose types and shapes stay, by the function that C source has for it (functions/kernel/routine.h). Its outputs have
 * memory of their own. It bails out where the function refuses. */
struct mdf_lowered_routine {
    bool (*function)(void *const *out, const void *const *in, const int64_t *whole, const double *real, void *work);
    const int64_t *whole;
    const double *real;
    void *work;
    mdf_lowered_id inputs[MDF_LOWERED_ROUTINE_VALUES], outputs[MDF_LOWERED_ROUTINE_VALUES]; /* NONE: omitted, unread */
    const void *in[MDF_LOWERED_ROUTINE_VALUES];                                             /* where these are in a run */
    void *out[MDF_LOWERED_ROUTINE_VALUES];
};

/* A product of matrices in a loop's body, out = a b or start + a b, whose second matrix is the same in all runs of the loop: it
 * is laid out before the first one. `a` has n_rows rows, and may be of any rank; `out` has memory of its own. */
struct mdf_lowered_product {
    struct mdf_prepared_product prepared;
    mdf_lowered_id a, b, start, out; /* start: a row; NONE: 0 */
    size_t n_rows;
    int64_t b_row, b_column; /* strides */
    struct mdf_value panels; /* of b, where it is laid out; made when the loop begins for the first time */
    /* Where it is computed ahead: the loop's rows whose items have the elements of `a`, and room for the results of block_runs
     * runs. `out` is a parameter of the body, then, and lies there. */
    const struct mdf_lowered_rows *rows; /* NULL: it is an op of the body, or computed behind it */
    bool is_behind; /* computed once, behind the last run: `a` and `out` are stacks of the loop, n_rows those of all runs */
    struct mdf_value results;
};

struct mdf_lowered_merge {
    mdf_lowered_id out, then, otherwise; /* of one form; `out` may share the memory of the one that was taken */
};

struct mdf_lowered_if {
    mdf_lowered_id condition; /* bool scalar */
    struct mdf_lowered_region then, otherwise;
    struct mdf_lowered_merge *merges;
    size_t n_merges;
};

/* A value that goes from one run of a loop's body to the next. `parameter` is `initial` in the first run, then `next` of the run
 * before; after the loop it is what the last run yielded, or `initial`. All of one form. `next` is a result of an op of the
 * body's own region (of arrays: NEST, CALL or COPY), and of no other state, so that states can be carried on one after the
 * other. */
struct mdf_lowered_state {
    mdf_lowered_id initial, parameter, next;
    uint8_t storage; /* enum mdf_lowered_storage, of an array: loop_plan.h chooses it */
    bool lies_in_initial; /* IN_PLACE: it lies where `initial` does, which is a state of the loop around, IN_PLACE too */
    /* `next` is what was put into `made`, where a NEST of the body's own region has made that: IN_PLACE where the state lies;
     * TWO_BUFFERS in a buffer of its own, which is exchanged for that of the state. */
    bool begins_made;
    /* TWO_BUFFERS, IN_STACK: `next` is a copy, which is not made, of `other`, the parameter of a state stored alike that comes
     * behind this one: the buffers of both are exchanged, before the other one goes on, or this one looks where that does. */
    bool takes_over;
    mdf_lowered_id made, other;
};

/* How an array state is carried on. */
enum mdf_lowered_storage {
    MDF_LOWERED_TWO_BUFFERS, /* `data` and `buffer` of parameter and next are exchanged; of what is open, all */
    MDF_LOWERED_IN_PLACE,    /* next is written where parameter lies, which arrays[next] looks at and has no memory for */
    MDF_LOWERED_IN_STACK     /* next is written into its stack: parameter looks at that item */
};

/* One item of `source` along its first axis in each run; `parameter` has its form without that axis. */
struct mdf_lowered_rows {
    mdf_lowered_id source, parameter;
    bool is_reversed; /* the last item first */
};

/* What `item` is in each run, stacked along a new first axis in `stack`, which is an array even where it has one element or none.
 * Of a state that only grows (`appends`) there is no new axis: `stack` is `initial`, then the item of each run, one behind the
 * other along `axis`, before which all axes are of length 1. Where the number of items is not known before, nothing but the
 * output of the whole reads the stack, and its form has 0 on that axis. */
struct mdf_lowered_stack {
    mdf_lowered_id item, stack;
    bool is_reversed; /* filled from the end: n_runs is known then */
    bool is_direct;   /* `item` is an array that a NEST op of the body's own region makes, or a stack of a LOOP op there: it is
                         told to write into the stack, by   arrays[item].data, before each run; or a state that lies in it
                         (mdf_lowered_held_state). Else the item is copied there. loop_plan.h chooses it */
    bool is_placed;   /* it is such an item of the loop around, which says where it lies */
    bool appends;     /* then it is not reversed */
    bool is_put;      /* a CALL of the body puts the item there; not reversed */
    bool is_behind;   /* a product behind the last run makes all of it: `item` says nothing */
    uint8_t axis;
    /* Of a stack that appends, into which a CALL puts the items: its rows, along the axis, once more by columns, one behind the
     * other in the array `columns`, so that vectors go along the rows. What a CALL that looks at the stack has as outputs behind
     * the first are the columns (NONE: one that nobody reads), each as long as the stack has rows. */
    bool has_columns;
    mdf_lowered_id columns, initial;
    size_t item_bytes, column_length; /* the latter: from one column to the next, in elements, while it is filled */
    /* While it is filled (mdf_lowered_begin_loop and its kin, lowered_run.h): */
    char *items;     /* that of the first run */
    size_t capacity; /* items that there is room for; all stacks of a loop have the same */
    size_t n_put;    /* items that have been put there so far */
    /* The same of what a CALL looks at: elements of an index of the axis; elements and indices of an item, and in front of the
     * first item. */
    size_t row_elements, item_elements, item_rows, initial_elements, initial_rows, element_bytes;
};

struct mdf_lowered_loop {
    /* The number of runs: `n_runs` where it is not SIZE_MAX (Scan, constant trip counts); else that of the int64 scalar
     * `trip_count` (negative: 0), NONE: no such bound. */
    size_t n_runs;
    mdf_lowered_id trip_count;
    /* Of a loop that `trip_count` alone bounds: its stacks have so many items, zeros behind those of its runs, and it bails out
     * where the trip count is negative, or larger. 0: as many items as runs. */
    size_t n_padded;
    size_t n_lanes; /* runs of the model's loop that each does side by side; 0: it is one of the model's */
    /* Goes on while it is true, asked before each run: first `condition`, then what each run yielded as `next_condition`. Both
     * NONE: no condition. */
    mdf_lowered_id condition, next_condition;
    uint64_t limit;        /* bails out where run number `limit` (from 0) would begin; 0: no such bound */
    mdf_lowered_id number; /* parameter: int64 scalar, 0, 1, 2, ...; NONE: nobody reads it */
    mdf_lowered_id
        is_going_on; /* parameter: bool scalar: the condition before this run, true where there is none; NONE: nobody reads it */
    struct mdf_lowered_state *states;
    size_t n_states;
    struct mdf_lowered_rows *rows;
    size_t n_rows;
    struct mdf_lowered_stack *stacks;
    size_t n_stacks;
    struct mdf_lowered_region body;
    struct mdf_lowered_product **products; /* of the body, and of branches in it */
    size_t n_products;
    /* What depends on no state is computed for so many runs at once (their number is known before the first, then); 0: there is
     * no such thing. */
    size_t block_runs;
    size_t block_end;  /* the run with which the next block begins */
    size_t ahead_runs; /* all runs of this time */
    struct mdf_lowered_concurrent *concurrent; /* of which it is one; NULL: of none */
};

/* Two LOOP ops of the whole region, one behind the other, that may run at the same time, each on a thread. The second reads
 * nothing that the first makes, or (`waits`) only items of its stacks, in the order in which they are made: it goes through
 * blocks of them (block_runs) as they are there. Their bodies call no kernels. Machine code runs both where that pays; else they
 * run one after the other. */
struct mdf_lowered_concurrent {
    struct mdf_lowered_loop *loops[2];
    bool waits;
    mdf_lowered_id *scalars; /* that the loops read and others make, but constants */
    size_t n_scalars;
    double run_ns[2]; /* about what a run of each takes */
    size_t code[2];   /* where in the machine code of the form that of each begins */
    /* While they run: */
    atomic_size_t n_there; /* items of the first loop's stacks; SIZE_MAX: nobody has to wait */
    atomic_bool is_lost;   /* the first has bailed out: no more will come */
    bool is_done[2];
};

/* What the frame gets once all has run. */
struct mdf_lowered_output {
    struct mdf_value *slot;
    mdf_lowered_id id;
    bool gives;   /* an array made here, which no other output is: its memory and the slot's change places */
    bool is_list; /* the slot gets the list of the arrays that lie in `id`, each of the form of `item` */
    mdf_lowered_id item;
    bool is_either; /* for source: it may be only as strong as `weaker` (enum mdf_strength), and not as its form is */
    uint8_t weaker;
    bool has_other; /* where the truth `is_strong` does not hold, the slot gets `other`, a scalar of another type */
    mdf_lowered_id is_strong, other;
    bool is_optional; /* where the truth `is_there` does not hold, the slot gets nothing */
    mdf_lowered_id is_there;
    size_t index,
        n_items; /* item number `index` of a list of so many, which are outputs one behind the other; n_items 0: it is none */
    mdf_dtype list_dtype; /* of such a list, where it is a sequence; else NONE */
};

struct mdf_lowered_ports;

/* Two loops of the model that run equally often, of which the second goes through what the first yields, or through the same. */
struct mdf_lowered_pair {
    struct mdf_lowered_pair *next;
    const struct mdf_origin *first, *second;
    const char *why_apart; /* NULL: they are one LOOP */
    bool is_concurrent;    /* they are two, which may run at the same time */
};

/* A shape that a call gave which its value had not. */
struct mdf_lowered_surprise {
    const struct mdf_code_call *source; /* NULL: there was none */
    size_t output, rank;
    int64_t shape[MDF_INLINE_RANK];
};

/* A value that a constant looks at. */
struct mdf_lowered_kept {
    struct mdf_lowered_kept *next;
    struct mdf_value value;
};

struct mdf_lowered {
    struct mdf_arena arena; /* has all of this */
    struct mdf_lowered_value *values;
    size_t n_values;
    struct mdf_lowered_kept *kept;
    struct mdf_lowered_pair *pairs; /* the latest first */
    struct mdf_lowered_region region;
    mdf_lowered_id *inputs; /* values whose place is INPUT */
    size_t n_inputs;
    struct mdf_lowered_output *outputs;
    size_t n_outputs;
    struct mdf_context *context;
    struct mdf_lowered_surprise surprise; /* that a run bailed out for */
    struct mdf_lowered_ports *ports;      /* inputs and outputs made ready for mdf_lowered_run, by its first run */
    /* The memory of a run, index by id: cells, of which a scalar takes the first bytes, in its own type; and arrays, values whose
     * data is where the elements are at the moment. Constants are there from the start, as is the memory of stored results of
     * NEST and COPY; a CALL makes its results, a LOOP its array states and its stacks. */
    uint64_t *cells;
    struct mdf_value *arrays;
    /* Machine code for `region`; NULL: lowered_run.c runs it. 0: done, else it bails out. */
    int (*code)(uint64_t *cells, struct mdf_value *arrays);
    void *code_memory;
    size_t code_size;
    const char *why_no_code;             /* NULL: there is some */
    bool is_code_settled;                /* there is code, or will be none; else, by emit.h: */
    double price_of_code, saved_by_code; /* what it has to save yet before it is made; what a run saves, 0: not known */
    void (*release_code)(struct mdf_lowered *lowered); /* gives code_memory back; NULL: there is none */
};

#endif
