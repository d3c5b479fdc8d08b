/* python_values.h - what the kernels of Python's functions share: operands as arrays, as numbers, as types; results.
 *
 * Kernels keep converted operands and intermediate results in slots: values that live in a scratch value of the call, so
 * that repeated calls find their buffers again. Functions that return a pointer or bool fail with NULL or false and the error
 * set, unless said otherwise. */
#ifndef MDF_FUNCTIONS_PYTHON_VALUES_H
#define MDF_FUNCTIONS_PYTHON_VALUES_H

#include "functions/moves/indexing.h"
#include "functions/python/python.h"

enum {
    MDF_PYTHON_SCRATCH_INTEGERS = 2, /* scratch value that is free for a kernel's integers */
    MDF_PYTHON_SCRATCH_SLOTS = 3,    /* scratch value that holds the slots */
    MDF_SLOT_OPERANDS = 0,           /* slots 0, 1, 2: operands converted to a common type */
    MDF_SLOT_INNER_CALL = 3,         /* slots 3 to 6: scratch values of a call inside this one */
    MDF_SLOT_OWN = 7,                /* slots from here on are the kernel's own */
    MDF_N_SLOTS = 15
};

/* The slots of a call, MDF_N_SLOTS of them. */
struct mdf_value *mdf_python_slots(struct mdf_call *call);

/* A Python number: rank 0, not a string, of strength PYTHON. */
static inline bool mdf_python_is_number(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->rank == 0 && value->strength == MDF_STRENGTH_PYTHON &&
           value->dtype != MDF_DTYPE_STRING;
}

/* A Python int or bool. */
static inline bool mdf_python_is_integer(const struct mdf_value *value)
{
    return mdf_python_is_number(value) && (value->dtype == MDF_DTYPE_INT64 || value->dtype == MDF_DTYPE_BOOL);
}

/* The value of a Python int or bool, of any Python number. */
static inline int64_t mdf_python_integer_of(const struct mdf_value *number)
{
    return number->dtype == MDF_DTYPE_INT64 ? *(const int64_t *)number->data : *(const uint8_t *)number->data;
}

static inline double mdf_python_real_of(const struct mdf_value *number)
{
    switch (number->dtype) {
    case MDF_DTYPE_FLOAT64:
        return *(const double *)number->data;
    case MDF_DTYPE_INT64:
        return (double)*(const int64_t *)number->data;
    default:
        return mdf_element_to_double((mdf_dtype)number->dtype, number->data);
    }
}

/* A Python string: its bytes, never NULL, and their number. */
bool mdf_python_is_string(const struct mdf_value *value);
const char *mdf_python_text(const struct mdf_value *string, size_t *length);

/* The type that an array has where it computes: a real without declared type has context->real, however it was read. */
mdf_dtype mdf_python_dtype_of(const struct mdf_context *context, const struct mdf_value *array);
/* The type that two arrays share by numpy's rules, a Python number giving way to anything else; NONE: they share none. */
mdf_dtype mdf_python_promote(const struct mdf_context *context, const struct mdf_value *a, const struct mdf_value *b);
/* numpy's narrowest real type for whole numbers of a type, context->real for those of 32 bits and more; reals stay. */
mdf_dtype mdf_python_real_for(const struct mdf_context *context, mdf_dtype dtype);
/* Whether an operand without declared type has a whole number that an integer type can not hold; the error that says so. */
bool mdf_python_passes_bounds(const struct mdf_value *operand, mdf_dtype dtype);
bool mdf_python_out_of_bounds(struct mdf_call *call, mdf_dtype dtype);
/* numpy's type of sums of elements: whole numbers are summed in 64 bits. */
mdf_dtype mdf_python_sum_dtype(mdf_dtype dtype);

/* The strength of what numpy computes from arrays: TYPED where one of them is, else LITERAL. */
static inline enum mdf_strength mdf_numpy_strength(const struct mdf_value *array)
{
    return array->strength == MDF_STRENGTH_TYPED ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL;
}

/* Input `i` where it is given and not None, else NULL; sets no error. */
const struct mdf_value *mdf_python_given(const struct mdf_call *call, size_t i);
/* The number of such an input; SIZE_MAX: it is not given. */
size_t mdf_python_given_at(const struct mdf_call *call, size_t i);

/* Any value as an array of its type (see mdf_python_dtype_of): itself, or what numpy.array makes of it, kept in slot `slot`. */
const struct mdf_value *mdf_python_array(struct mdf_call *call, const struct mdf_value *value, size_t slot);
/* The same for input `i`. */
const struct mdf_value *mdf_python_input_array(struct mdf_call *call, size_t i, size_t slot);
/* The same with elements of the type `dtype`. Strings are refused. */
const struct mdf_value *mdf_python_array_of(struct mdf_call *call, const struct mdf_value *value, mdf_dtype dtype, size_t slot);

/* Input `i` as one integer, truth or real number, `otherwise` where it is not given. */
bool mdf_python_integer(struct mdf_call *call, size_t i, int64_t otherwise, int64_t *integer);
bool mdf_python_truth(struct mdf_call *call, size_t i, bool otherwise, bool *truth);
bool mdf_python_real(struct mdf_call *call, size_t i, double otherwise, double *real);
/* Input `i` (a number, a list, an array) as integers, kept in slot `slot`. */
const int64_t *mdf_python_integers(struct mdf_call *call, size_t i, size_t slot, size_t *n);
/* The truth of a value; false with the error set where it is ambiguous. */
bool mdf_python_truth_of(struct mdf_call *call, const struct mdf_value *value, bool *truth);

/* A type given by name ("float", "int64"), as expressions pass it; `typed` tells whether a width was declared. */
struct mdf_python_type {
    mdf_dtype dtype; /* MDF_DTYPE_NONE: not given */
    bool typed;
};
bool mdf_python_type_named(struct mdf_call *call, const char *name, struct mdf_python_type *type);
/* Input `i` as a type. */
bool mdf_python_type(struct mdf_call *call, size_t i, struct mdf_python_type *type);
/* `target` becomes an array with its elements as that type. */
bool mdf_python_convert(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array,
                        struct mdf_python_type type);

/* Makes `target`, which is no operand, an array of that strength; its elements. */
void *mdf_python_make(struct mdf_call *call, struct mdf_value *target, mdf_dtype dtype, enum mdf_strength strength, size_t rank,
                      const int64_t *shape);
/* The whole call of a function of one real number: output 0 is what it makes of each element of input 0, as float64. */
bool mdf_python_run_real(struct mdf_call *call, double (*function)(double));
/* Makes `target` an array of the type and strength of another, as numpy yields it. */
void *mdf_python_make_like(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t rank,
                           const int64_t *shape);
/* Room for `n` sizes or axes, kept in slot `slot`. */
int64_t *mdf_python_sizes(struct mdf_call *call, size_t slot, size_t n);
/* Makes `target` a list of items that are None; the items. */
struct mdf_value *mdf_python_make_list(struct mdf_call *call, struct mdf_value *target, size_t length);
/* Makes `target` a Python number, of context->real for a real one. */
bool mdf_python_make_real(struct mdf_call *call, struct mdf_value *target, double real);
bool mdf_python_make_int(struct mdf_call *call, struct mdf_value *target, int64_t integer);
bool mdf_python_make_bool(struct mdf_call *call, struct mdf_value *target, bool truth);
bool mdf_python_make_string(struct mdf_call *call, struct mdf_value *target, const char *bytes, size_t length);
/* Makes `target` the whole number that `real` is: an int, or past 64 bits a float64. */
bool mdf_python_make_whole(struct mdf_call *call, struct mdf_value *target, double real);
/* `target` becomes a copy. */
bool mdf_python_copy(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *source);
/* `target` becomes the same elements in another shape. */
bool mdf_python_reshape(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t rank,
                        const int64_t *shape);

/* "a string", "an int", "a list", "float64[2,3]": for messages. */
enum { MDF_PYTHON_KIND_TEXT_SIZE = 160 };
const char *mdf_python_kind(const struct mdf_value *value, char text[MDF_PYTHON_KIND_TEXT_SIZE]);
/* "does not apply to a string and an int". `b` may be NULL. */
bool mdf_python_refuse(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b);
/* Refuses a value that was to be gone through item by item. */
bool mdf_python_check_iterable(struct mdf_call *call, const struct mdf_value *value);
/* Item number `i` of what is iterable. */
bool mdf_python_take_item(struct mdf_call *call, struct mdf_value *item, const struct mdf_value *iterable, size_t i);

#endif
