/* call.h - what a function sees: the interface between the evaluator and every kernel.
 *
 * A kernel computes the outputs of one call from its inputs. It is run again and again with the same struct mdf_call, so
 * that buffers are kept: it asks for an output with mdf_call_output and allocates nothing else that it does not keep.
 * On failure it sets call->context->error (through mdf_call_error) and returns false; outputs may then hold anything. */
#ifndef MDF_FUNCTIONS_KERNEL_CALL_H
#define MDF_FUNCTIONS_KERNEL_CALL_H

#include "functions/sampling/random.h"
#include "mdf_c/base/arena.h"
#include "mdf_c/base/error.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/tensor/value.h"
#include "schemas/inference.h"

struct mdf_elementwise_trace;
struct mdf_epilogue;
struct mdf_threads; /* of one state, see mdf_threads_new */

/* What all calls of one state share. */
struct mdf_context {
    struct mdf_memory *memory;
    mdf_error error;
    mdf_dtype real;          /* type of reals without a declared type */
    uint64_t max_iterations; /* of one Loop; 0: no bound */
    int n_threads;
    struct mdf_threads *threads;      /* those that help; NULL: none do */
    uint64_t seed;                    /* of all random numbers; see functions/sampling/random.h */
    uint64_t random_state[4];         /* xoshiro256** */
    struct mdf_twister numpy_random;  /* through mdf_random_as_numpy */
    struct mdf_twister python_random; /* through mdf_random_as_python */
    struct mdf_stream *streams;       /* through mdf_random_stream */
    size_t n_streams;
    struct mdf_stop *stop;               /* NULL: nobody can ask to stop */
    struct mdf_elementwise_trace *trace; /* of functions/elements/elementwise.h; NULL but while a kernel is looked at */
};

/* A body graph of Scan, Loop or If, ready to run in the state of the call. Captured outer values are wired already. */
struct mdf_body {
    size_t n_inputs, n_outputs;
    struct mdf_value **inputs;              /* formal inputs, to be set before each run */
    const struct mdf_value *const *outputs; /* yields, to be read after it; may be an input, a constant or a capture */
    struct mdf_value *const *own_outputs; /* the same yields where their buffers may be taken (swapped away): the body writes them
                                             afresh in each run; else NULL */
    const struct mdf_static_type *output_types; /* what is declared or inferred of each */
    bool (*run)(struct mdf_body *body);
    void *evaluator; /* the evaluator's own */
};

struct mdf_call {
    bool (*kernel)(struct mdf_call *call);
    const void *settings;                  /* the attributes, as the operator's settings table laid them out */
    const struct mdf_value *const *inputs; /* NULL: an omitted optional input */
    struct mdf_value *const *outputs;      /* NULL: an output that nobody reads */
    size_t n_inputs, n_outputs;
    const bool *constants;          /* by input: its elements are the same in each run of the call; NULL: nothing is known */
    struct mdf_body *const *bodies; /* graph attributes, in the order of the settings table; NULL: not given */
    struct mdf_value *scratch;      /* MDF_CALL_SCRATCH values for the kernel's own use, kept between runs */
    struct mdf_context *context;
    const struct mdf_operator *operator;
    struct mdf_epilogue *epilogue; /* what the kernel may do with output 0 besides; see functions/elements/epilogue.h */
};

enum { MDF_CALL_SCRATCH = 4 };

typedef bool (*mdf_kernel)(struct mdf_call *call);

/* Input number `i`, NULL where it is omitted or beyond the inputs given. */
static inline const struct mdf_value *mdf_call_input(const struct mdf_call *call, size_t i)
{
    return i < call->n_inputs ? call->inputs[i] : NULL;
}

/* Output number `i`, NULL where nobody reads it. */
static inline struct mdf_value *mdf_call_result(const struct mdf_call *call, size_t i)
{
    return i < call->n_outputs ? call->outputs[i] : NULL;
}

/* Whether the elements of input `i` are the same in each run of the call, so that what was made of them may be kept. */
static inline bool mdf_call_is_constant(const struct mdf_call *call, size_t i)
{
    return call->constants != NULL && i < call->n_inputs && call->constants[i];
}

/* Sets the error, "onnx::Gather: ..." in front; returns false. */
bool mdf_call_error(struct mdf_call *call, mdf_status status, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
bool mdf_call_out_of_memory(struct mdf_call *call);

/* Makes output `i` an array; its elements, or NULL with the error set. An output that nobody reads is made in scratch
 * value 0. Its strength is TYPED; the evaluator weakens it afterwards where all inputs were weak. */
void *mdf_call_output(struct mdf_call *call, size_t i, mdf_dtype dtype, size_t rank, const int64_t *shape);
/* Output `i` becomes a copy of `source` (which may be NULL: NONE). */
bool mdf_call_output_copy(struct mdf_call *call, size_t i, const struct mdf_value *source);
/* Scratch value `i` as `n` elements of a type; NULL with the error set. */
void *mdf_call_scratch(struct mdf_call *call, size_t i, mdf_dtype dtype, size_t n);

/* Input `i` as an array; NULL with the error set where it is omitted or not an array. */
const struct mdf_value *mdf_call_tensor(struct mdf_call *call, size_t i);
/* Input `i` as int64 elements (any integer type, bool, or whole real numbers; converted in scratch value `scratch` where
 * needed); NULL with the error set. *n is their number. */
const int64_t *mdf_call_integers(struct mdf_call *call, size_t i, size_t scratch, size_t *n);
/* Input `i` as one int64 or one real number. */
bool mdf_call_integer(struct mdf_call *call, size_t i, int64_t *integer);
bool mdf_call_real(struct mdf_call *call, size_t i, double *real);
/* An axis in [-rank, rank) made non-negative; false with the error set. */
bool mdf_call_axis(struct mdf_call *call, int64_t axis, size_t rank, size_t *result);

/* The shape that two shapes broadcast to, by numpy's rules, into `shape` (room for the larger rank); false: they do not. */
bool mdf_broadcast_shape(size_t a_rank, const int64_t *a, size_t b_rank, const int64_t *b, int64_t *shape);

/* The threads of one state, none of them started yet; NULL: refused, and all work is left to the caller's thread. */
struct mdf_threads *mdf_threads_new(struct mdf_memory *memory);
void mdf_threads_free(struct mdf_threads *threads, struct mdf_memory *memory);

/* Calls `work(context, first, last)` for ranges that cover [0, n), on up to n_threads threads where n * cost_per_item (in rough
 * nanoseconds) is worth it. The caller's begins with item 0. The result does not depend on the number of threads. False: the
 * evaluation should stop, and ranges were left out; who only fills outputs need not look, as for mdf_should_stop. */
bool mdf_parallel_for(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                      void (*work)(void *work_context, size_t first, size_t last), void *work_context);
/* The same without leaving out any: for what is kept after the call. */
void mdf_parallel_for_all(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                          void (*work)(void *work_context, size_t first, size_t last), void *work_context);

/* Whether the evaluation should stop, see mdf_c/base/stop.h: work that takes more than some milliseconds asks this now and then,
 * from any thread. Where the answer was true, a kernel may leave outputs half done and return anything: the evaluator drops what
 * it made, and tells why. Only what a kernel keeps for its next run must be whole, and no index may be one that was left out. */
static inline bool mdf_should_stop(const struct mdf_context *context)
{
    return mdf_stop_heed(context->stop);
}

enum { MDF_ITEMS_PER_LOOK = 1 << 14 }; /* where an item takes no more than some hundred nanoseconds */

/* The same in a loop that counts: asked once in `every` (a power of two) rounds. */
static inline bool mdf_should_stop_at(const struct mdf_context *context, size_t count, size_t every)
{
    return (count & (every - 1)) == 0 && mdf_should_stop(context);
}

#endif
