/* routine.h - calls as functions of plain C that need nothing of this library, for C source: what is no function of elements, no
 * fold, no move and no nest.
 *
 * Their text is that of files *_routine.inc, of which tools/list_helper_texts.sh makes strings; kernels may include it too. There
 *     static inline bool NAME(something)(void *const *out, const void *const *in, const int64_t *whole, const double *real, void
 * *work) gets the elements of outputs and inputs (NULL: omitted), numbers that are known when the source is written, and memory
 * to work in. It returns false where it refuses what it is given. ELEMENT is an element type, WIDE the one to compute whole
 * numbers in so that they wrap, TOTAL that or, of reals, double; MATH(f) a function of math.h, NAME(x) is mdf_x_TYPE.
 * NUMBER_OF(x) is an element as a number that C computes with, of halves a float, ROUNDED(x) an element of a WIDE,
 * ROUNDED_TOTAL(x) of a TOTAL. A function whose types are always the same is called mdf_something. */
#ifndef MDF_FUNCTIONS_KERNEL_ROUTINE_H
#define MDF_FUNCTIONS_KERNEL_ROUTINE_H

#include "functions/kernel/call.h"

struct mdf_element;
struct mdf_element_settings;
struct mdf_drawing;

enum { MDF_ROUTINE_FUNCTIONS = 6 };

/* What the function of a call is called with. One that draws random numbers gets two more arguments, struct mdf_generators
 * *random and struct mdf_stream *streams (mdf_c/source/program_random.c). */
struct mdf_routine_plan {
    struct mdf_arena *arena; /* has the numbers */
    const char *function;    /* "scatter_elements" */
    mdf_dtype dtype;         /* TYPE of NAME(x); NONE: the function is not one of several */
    int64_t *whole;
    double *real;
    size_t n_whole, n_real, work_bytes;
    size_t kept_bytes; /* what `prepare` writes, if the plan is one of a function itself */
    size_t n_streams;  /* streams [0, n_streams) have to be there */
    /* Functions of elements that it calls: one more argument, ELEMENT (*const *functions)(ELEMENT), where there are any. */
    size_t n_functions;
    const struct mdf_element *functions[MDF_ROUTINE_FUNCTIONS];
    const struct mdf_element_settings *function_settings[MDF_ROUTINE_FUNCTIONS];
};

typedef bool (*mdf_routine_function)(void *const *out, const void *const *in, const int64_t *whole, const double *real,
                                     void *work);

struct mdf_routine {
    /* Inputs and outputs of the call have types and shapes; only what is constant has elements. False: there is no such function
     * for it, or memory ran out. */
    bool (*plan)(struct mdf_call *call, struct mdf_routine_plan *plan);
    bool by_axis;           /* whole numbers behind the first input say along which axis: they have to be constants */
    bool takes_bits;        /* elements of types that C does not compute with as well: small floats and whole numbers, halves */
    bool takes_halves;      /* only those */
    unsigned lists;         /* inputs that are arrays to the call also where it is given a list: bit i is input i */
    bool takes_result_type; /* input 0 is brought to the type of the result before */
    bool draws;             /* random numbers: it is called where the call stands, whoever needs its results */
    const char *why;        /* what is wrong where the function returns false; NULL: it always returns true */
    /* Of one that draws: says the call apart from its kernel. All its inputs but those that *drawing names are constants. False:
     * it can not. NULL: none of its calls can. */
    bool (*drawing)(struct mdf_call *call, struct mdf_drawing *drawing);
    /* The function itself, for loops that call it for little work, where it takes less than its kernel; NULL: it does not.
     * The plan is that of the call. NULL: none of its calls has one. */
    mdf_routine_function (*function)(const struct mdf_routine_plan *plan);
    /* Writes what that function finds in front of its memory to work in, kept_bytes of it: what is the same in all its calls.
     * NULL: nothing. */
    void (*prepare)(const struct mdf_call *call, const struct mdf_routine_plan *plan, void *kept);
};

/* plan, and why the function refuses; NULL: it does not. */
#define MDF_ROUTINE(plan_of, what) (&(const struct mdf_routine){plan_of, .why = what})

/* The same of a call that draws. */
#define MDF_DRAWING_ROUTINE(plan_of, what) (&(const struct mdf_routine){plan_of, .why = what, .draws = true})
#define MDF_NUMBERS_ROUTINE(plan_of, what, drawing_of) \
    (&(const struct mdf_routine){plan_of, .why = what, .draws = true, .drawing = drawing_of})

/* The function of a plan on elements of float32 or float64, of those that routine_reals.inc includes; NULL: it is of other ones.
 */
#define MDF_ROUTINE_OF_REALS(plan, name) \
    ((plan)->dtype == MDF_DTYPE_FLOAT32 ? mdf_##name##_float32 : (plan)->dtype == MDF_DTYPE_FLOAT64 ? mdf_##name##_float64 : NULL)

/* What number_routine.inc takes for the type of a value's elements; of no value, or one that is not given, 0. False: it knows
 * none of them. `real`: as mdf_python_dtype_of says; NONE: the elements are what they are. */
bool mdf_routine_kind(const struct mdf_value *value, mdf_dtype real, int64_t *kind);

/* Room for numbers, all 0: false where memory ran out. */
bool mdf_routine_room(struct mdf_routine_plan *plan, size_t n_whole, size_t n_real);

#endif
