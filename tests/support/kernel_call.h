/* kernel_call.h - one call of an ONNX kernel on arrays of random numbers, for suites that hold kernels to plain forms of what
 * they compute: attributes have the schema's defaults, results are the same bits with one thread, with three, and when the call
 * is repeated. */
#ifndef MDF_TESTS_KERNEL_CALL_H
#define MDF_TESTS_KERNEL_CALL_H

#include "functions/kernel/operator.h"

enum { KERNEL_CALL_INPUTS = 9, KERNEL_CALL_OUTPUTS = 3 };

struct kernel_call {
    struct mdf_memory memory;
    struct mdf_context context;
    struct mdf_call call;
    const struct mdf_operator *operator;
    _Alignas(max_align_t) char settings[512];
    struct mdf_value inputs[KERNEL_CALL_INPUTS], outputs[KERNEL_CALL_OUTPUTS], scratch[MDF_CALL_SCRATCH];
    const struct mdf_value *input_pointers[KERNEL_CALL_INPUTS];
    struct mdf_value *output_pointers[KERNEL_CALL_OUTPUTS];
    bool constants[KERNEL_CALL_INPUTS];
};

/* Which numbers an input gets. */
enum kernel_numbers {
    NUMBERS_SHORT, /* few binary digits: sums of some thousand products of two of them are exact in float32 */
    NUMBERS_WILD   /* besides: infinities, NaN, zeros of both signs; the ends of integer types */
};

/* A whole number from low to high. */
int64_t kernel_pick(int64_t low, int64_t high);

/* A call with one output, without inputs yet. */
void kernel_begin(struct kernel_call *call, const char *name, int version);
void kernel_end(struct kernel_call *call);
/* The field of an attribute. */
void *kernel_field(struct kernel_call *call, const char *name);
void kernel_set_int(struct kernel_call *call, const char *name, int64_t number);
void kernel_set_ints(struct kernel_call *call, const char *name, const int64_t *items, size_t n); /* which have to stay */
void kernel_set_text(struct kernel_call *call, const char *name, const char *text);
/* One more input; of a constant the kernel may keep what it makes of it. Its elements may be changed before the run. */
struct mdf_value *kernel_add(struct kernel_call *call, mdf_dtype dtype, size_t rank, const int64_t *shape,
                             enum kernel_numbers numbers, bool is_constant);
void kernel_add_integers(struct kernel_call *call, const int64_t *items, size_t n);
void kernel_omit(struct kernel_call *call);
/* One more input: zero points of 8-bit integers or scales (float32, positive), one for all or, sometimes, one a slice of `n`. */
const struct mdf_value *kernel_add_quantisation(struct kernel_call *call, mdf_dtype dtype, int64_t n);
/* Runs the call with one thread, again, and with three; output 0. */
const struct mdf_value *kernel_run(struct kernel_call *call);

double kernel_number(const struct mdf_value *array, size_t i);
double kernel_number_for(const struct mdf_value *numbers, int64_t slice); /* of such an input */
int64_t kernel_whole(const struct mdf_value *array, size_t i);
/* Element i of an output is `wanted`, up to `tolerance`; an infinity or NaN is exactly that. */
void kernel_check(const struct kernel_call *call, size_t output, size_t i, double wanted, double tolerance);
/* Element i of output 0 is what a sum becomes by x_scale w_scale / y_scale and the zero point y_zero. */
void kernel_check_quantised(const struct kernel_call *call, size_t i, double sum, float scale, double zero);
void kernel_check_shape(const struct kernel_call *call, size_t output, size_t rank, const int64_t *shape);

/* The index of element `at` of an array of that shape. */
void kernel_index(size_t rank, const int64_t *shape, size_t at, int64_t *index);
/* Goes on to the next element; behind the last one comes the first. Without a division, for what is asked of each tap. */
void kernel_next(size_t rank, const int64_t *shape, int64_t *index);
/* The element at an index. */
size_t kernel_place(size_t rank, const int64_t *shape, const int64_t *index);
size_t kernel_n_elements(size_t rank, const int64_t *shape);

#endif
