/* coerce.h - the inputs of one ONNX call, brought to types that its schema allows.
 *
 * MDF lets literals and expressions stand where ONNX wants a tensor of a stated type. What has no declared type takes the
 * type of what it meets; what has one is converted only where no value changes. The kernels see ONNX's types alone. */
#ifndef MDF_FUNCTIONS_KERNEL_COERCE_H
#define MDF_FUNCTIONS_KERNEL_COERCE_H

#include "functions/kernel/call.h"
#include "mdf_c/base/arena.h"
#include "schemas/onnx_schema.h"

/* What may stand at one actual input. */
struct mdf_signature_input {
    const struct mdf_formal *formal;
    mdf_dtype_set tensors, sequences; /* element types allowed, optional(...) included */
    bool counts;                      /* holds indices, sizes or axes: a bare number stands for an array of one */
    bool needs_axis;                  /* is worked on along an axis: a number of no declared type stands for an array of one */
    bool omissible;                   /* the formal is optional: NULL and NONE mean "not given" */
    size_t leader;                    /* the first input that shares this one's type; itself where none does */
    size_t next;                      /* the next input that shares it; SIZE_MAX after the last */
};

struct mdf_signature {
    int since; /* of the schema: by which version the call is one */
    size_t n_inputs;
    struct mdf_signature_input *inputs;
};

/* The signature of a call with `n_inputs` actual inputs, at most as many as the schema has formals (any number past a
 * variadic one). NULL when out of memory. */
struct mdf_signature *mdf_signature_new(struct mdf_arena *arena, const struct mdf_schema *schema, size_t n_inputs);

/* Sets effective[i] to given[i], or to &converted[i] holding it as an array of another type, or to NULL (not given).
 * `converted` has signature->n_inputs values that are kept between calls: the same types and shapes again allocate nothing,
 * but for a list that is made an array. False with call->context->error set. The rules:
 *   - a list becomes an array where no sequence is allowed;
 *   - inputs that share a type get their common type; two of different declared types are an error;
 *   - a bare number given for indices, sizes or axes is an array of one, as in the reference engine; so is a number without axes
 *     and declared type where the operator works along an axis;
 *   - where that type is not allowed: integers and bools become real (context->real, else float32), undeclared reals the
 *     other of float32 and float64; whole numbers become the first integer type that holds them, 0 and 1 bools, where no
 *     real type is allowed; arrays without elements strings;
 *   - a number becomes an integer only where it keeps its value. */
bool mdf_coerce_inputs(struct mdf_call *call, const struct mdf_signature *signature, const struct mdf_value *const *given,
                       const struct mdf_value **effective, struct mdf_value *converted);

/* After a kernel whose array inputs (one or more) all had no declared type: its outputs of the types that literals have
 * (context->real, int64, bool) have none either. */
void mdf_weaken_outputs(struct mdf_call *call);

#endif
