/* inference.c - what holds for every operator: element types by the variables of its schema; types that may stand at its
 * formals. Shapes, and what is special to an operator, are in rules. See inference.h. */
#include "schemas/inference.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct mdf_static_type mdf_static_unknown = {MDF_STATIC_UNKNOWN, MDF_DTYPE_NONE, false, 0, NULL, NULL};

/* ------------------------------------------------------------------ messages */

bool mdf_infer_error(struct mdf_inference *inference, mdf_status status, const char *format, ...)
{
    va_list arguments;

    if (inference->status == MDF_OK) {
        va_start(arguments, format);
        vsnprintf(inference->message, sizeof inference->message, format, arguments);
        va_end(arguments);
        inference->status = status;
    }
    return false;
}

static bool out_of_memory(struct mdf_inference *inference)
{
    return mdf_infer_error(inference, MDF_OUT_OF_MEMORY, "out of memory");
}

static size_t append(char *text, size_t size, size_t used, const char *format, ...) MDF_PRINTF_LIKE(4, 5);
static size_t append(char *text, size_t size, size_t used, const char *format, ...)
{
    va_list arguments;
    int written;

    if (used >= size) {
        return used;
    }
    va_start(arguments, format);
    written = vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
    return written < 0 ? used : used + (size_t)written;
}

void mdf_static_describe(const struct mdf_static_type *type, char *text, size_t size)
{
    const char *element = type->dtype != MDF_DTYPE_NONE ? mdf_dtype_name(type->dtype) : "any type";
    size_t used;

    if (type->kind == MDF_STATIC_SEQUENCE) {
        snprintf(text, size, "a sequence of %s", element);
        return;
    }
    used = append(text, size, 0, "%s", element);
    if (!type->has_shape) {
        return;
    }
    used = append(text, size, used, "[");
    for (size_t i = 0; i < type->rank; i++) {
        used = append(text, size, used, i > 0 ? "," : "");
        used = type->shape[i] < 0 ? append(text, size, used, "?") : append(text, size, used, "%lld", (long long)type->shape[i]);
    }
    append(text, size, used, "]");
}

/* ------------------------------------------------------------------ types */

int64_t *mdf_infer_shape(struct mdf_inference *inference, struct mdf_static_type *type, size_t rank)
{
    int64_t *shape = mdf_arena_array(inference->arena, rank, sizeof *shape);

    if (shape == NULL) {
        out_of_memory(inference);
        return NULL;
    }
    for (size_t i = 0; i < rank; i++) {
        shape[i] = -1;
    }
    type->kind = MDF_STATIC_TENSOR;
    type->has_shape = true;
    type->rank = rank;
    type->shape = shape;
    return shape;
}

static bool is_value(const struct mdf_static_type *type)
{
    return type->kind == MDF_STATIC_TENSOR || type->kind == MDF_STATIC_SEQUENCE;
}

bool mdf_static_types_differ(const struct mdf_static_type *a, const struct mdf_static_type *b)
{
    return (is_value(a) && is_value(b) && a->kind != b->kind) ||
           (a->dtype != MDF_DTYPE_NONE && b->dtype != MDF_DTYPE_NONE && a->dtype != b->dtype);
}

bool mdf_static_shapes_differ(const struct mdf_static_type *a, const struct mdf_static_type *b)
{
    if (!a->has_shape || !b->has_shape) {
        return false;
    }
    for (size_t i = 0; a->rank == b->rank && i < a->rank; i++) {
        if (a->shape[i] >= 0 && b->shape[i] >= 0 && a->shape[i] != b->shape[i]) {
            return true;
        }
    }
    return a->rank != b->rank;
}

bool mdf_static_merge(struct mdf_arena *arena, const struct mdf_static_type *a, const struct mdf_static_type *b,
                      struct mdf_static_type *result)
{
    const struct mdf_static_type *shaped = a->has_shape ? a : b;
    struct mdf_static_type merged = *shaped;
    int64_t *shape = mdf_arena_array(arena, shaped->rank, sizeof *shape);

    if (shape == NULL) {
        return false;
    }
    for (size_t i = 0; i < shaped->rank; i++) {
        shape[i] = shaped->shape[i] < 0 && b->has_shape ? b->shape[i] : shaped->shape[i];
    }
    merged.kind = is_value(a) ? a->kind : b->kind;
    merged.dtype = a->dtype != MDF_DTYPE_NONE ? a->dtype : b->dtype;
    merged.shape = shape;
    merged.value = NULL;
    *result = merged;
    return true;
}

bool mdf_static_union(struct mdf_arena *arena, const struct mdf_static_type *a, const struct mdf_static_type *b,
                      struct mdf_static_type *result)
{
    struct mdf_static_type both = mdf_static_unknown;
    int64_t *shape = mdf_arena_array(arena, a->rank, sizeof *shape);

    if (shape == NULL) {
        return false;
    }
    both.kind = a->kind == b->kind ? a->kind : MDF_STATIC_UNKNOWN;
    both.dtype = a->dtype == b->dtype ? a->dtype : MDF_DTYPE_NONE;
    both.has_shape = a->has_shape && b->has_shape && a->rank == b->rank;
    for (size_t i = 0; both.has_shape && i < a->rank; i++) {
        shape[i] = a->shape[i] == b->shape[i] ? a->shape[i] : -1;
    }
    both.rank = both.has_shape ? a->rank : 0;
    both.shape = shape;
    *result = both;
    return true;
}

/* ------------------------------------------------------------------ by the schema */

/* What the types that may stand at a formal say. */
static struct mdf_static_type type_of_formal(const struct mdf_formal *formal)
{
    struct mdf_static_type type = mdf_static_unknown;
    mdf_dtype_set set = formal->tensor_types | formal->sequence_types;

    if (formal->optional_types != 0 || formal->maps || (formal->tensor_types != 0 && formal->sequence_types != 0)) {
        return type;
    }
    type.kind = formal->sequence_types != 0 ? MDF_STATIC_SEQUENCE : MDF_STATIC_TENSOR;
    for (size_t dtype = 0; dtype < MDF_DTYPE_COUNT; dtype++) {
        if (set == MDF_DTYPE_BIT(dtype)) {
            type.dtype = (mdf_dtype)dtype;
        }
    }
    return type;
}

/* The input whose type an output has by the schema: of those that share its variable, one that is known. */
static const struct mdf_static_type *input_of_variable(const struct mdf_inference *inference, int variable)
{
    const struct mdf_static_type *found = NULL;

    for (size_t i = 0; variable >= 0 && i < inference->n_inputs; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_input(inference->schema, i);

        if (formal != NULL && formal->variable == variable && is_value(&inference->inputs[i]) &&
            (found == NULL || found->dtype == MDF_DTYPE_NONE)) {
            found = &inference->inputs[i];
        }
    }
    return found;
}

static void infer_types(struct mdf_inference *inference)
{
    for (size_t i = 0; i < inference->n_outputs; i++) {
        const struct mdf_formal *formal = mdf_schema_actual_output(inference->schema, i);
        const struct mdf_static_type *input;

        if (formal == NULL) {
            continue;
        }
        inference->outputs[i] = type_of_formal(formal);
        input = input_of_variable(inference, formal->variable);
        if (input != NULL) {
            inference->outputs[i].kind = input->kind;
            inference->outputs[i].dtype = input->dtype;
        }
    }
}

/* Where no input has a type for sure, results of the types that literals have may still be taken for literals. */
static void weaken(struct mdf_inference *inference)
{
    for (size_t i = 0; i < inference->n_inputs; i++) {
        if (inference->inputs[i].dtype != MDF_DTYPE_NONE) {
            return;
        }
    }
    for (size_t i = 0; inference->n_inputs > 0 && i < inference->n_outputs; i++) {
        mdf_dtype dtype = inference->outputs[i].dtype;

        if (mdf_dtype_is_real(dtype) || dtype == MDF_DTYPE_INT64 || dtype == MDF_DTYPE_BOOL) {
            inference->outputs[i].dtype = MDF_DTYPE_NONE;
        }
    }
}

bool mdf_infer_formals(struct mdf_inference *inference)
{
    return inference->rule == NULL || inference->rule->formals == NULL || inference->rule->formals(inference);
}

bool mdf_infer_outputs(struct mdf_inference *inference)
{
    infer_types(inference);
    if (inference->rule != NULL && inference->rule->outputs != NULL && !inference->rule->outputs(inference)) {
        return false;
    }
    weaken(inference);
    return true;
}

size_t mdf_infer_output_count(const struct mdf_inference *inference)
{
    return inference->rule != NULL && inference->rule->count != NULL ? inference->rule->count(inference) : 0;
}
