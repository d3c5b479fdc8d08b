/* call.c - what every kernel leans on: outputs, scratch space, inputs as numbers, errors.
 *
 * Comes in: a call whose inputs and outputs the evaluator wired. Goes out: checked views of them. On failure
 * call->context->error is set, its message begins with the operator's name. See call.h. */
#include "functions/kernel/call.h"
#include "functions/kernel/operator.h"
#include "schemas/onnx_schema.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024, NAME_SIZE = MDF_OPERATOR_TITLE_SIZE, VALUE_TEXT_SIZE = 160 };

/* ------------------------------------------------------------------ errors */

/* Python's operators, as a reader of an expression knows them. */
static const struct {
    const char *name, *sign;
} signs[] = {{"add", "+"},         {"sub", "-"},       {"mul", "*"},
             {"truediv", "/"},     {"floordiv", "//"}, {"mod", "%"},
             {"pow", "**"},        {"matmul", "@"},    {"and_", "&"},
             {"or_", "|"},         {"xor", "^"},       {"lshift", "<<"},
             {"rshift", ">>"},     {"neg", "-"},       {"pos", "+"},
             {"invert", "~"},      {"not_", "not"},    {"lt", "<"},
             {"le", "<="},         {"gt", ">"},        {"ge", ">="},
             {"eq", "=="},         {"ne", "!="},       {"is_", "is"},
             {"is_not", "is not"}, {"contains", "in"}, {"not_contains", "not in"},
             {"getitem", "[]"}};

void mdf_operator_title(const struct mdf_operator *operator, char text[NAME_SIZE])
{
    static const char prefix[] = "operator.";
    const struct mdf_schema *schema;

    if (operator== NULL || operator->name == NULL) {
        snprintf(text, NAME_SIZE, "call");
        return;
    }
    if (operator->since> 0) {
        schema = mdf_schema_find_anywhere(operator->name, operator->since);
        snprintf(text, NAME_SIZE, "%s::%s", schema != NULL ? mdf_schema_prefix(schema) : "onnx", operator->name);
        return;
    }
    if (strncmp(operator->name, prefix, sizeof prefix - 1) == 0) {
        for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
            if (strcmp(operator->name + sizeof prefix - 1, signs[i].name) == 0) {
                snprintf(text, NAME_SIZE, "operator '%s'", signs[i].sign);
                return;
            }
        }
        snprintf(text, NAME_SIZE, "numpy.%s", operator->name + sizeof prefix - 1); /* what a function is written out as */
        return;
    }
    snprintf(text, NAME_SIZE, "%s", operator->name);
}

bool mdf_call_error(struct mdf_call *call, mdf_status status, const char *format, ...)
{
    char message[MESSAGE_SIZE], name[NAME_SIZE];
    va_list arguments;

    if (call->context->error.code != MDF_OK) {
        return false;
    }
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mdf_operator_title(call->operator, name);
    mdf_error_set(&call->context->error, status, "%s: %s", name, message);
    return false;
}

bool mdf_call_out_of_memory(struct mdf_call *call)
{
    mdf_memory_error(call->context->memory, &call->context->error);
    return false;
}

/* The word at position `i` of a row's formals "a axis= *rest"; false past the end. */
static bool name_python_formal(const char *formals, size_t i, char text[NAME_SIZE])
{
    size_t length;

    for (;; formals += length) {
        formals += strspn(formals, " ");
        length = strcspn(formals, " ");
        if (length == 0) {
            return false;
        }
        if (i-- == 0 || *formals == '*') {
            formals += strspn(formals, "*");
            snprintf(text, NAME_SIZE, "input '%.*s'", (int)strcspn(formals, " ="), formals);
            return true;
        }
    }
}

/* "input 'indices'", or "input 2" where the formal is not known. */
static void name_input(const struct mdf_call *call, size_t i, char text[NAME_SIZE])
{
    const struct mdf_operator *operator= call->operator;
    const struct mdf_schema *schema = NULL;
    const struct mdf_formal *formal = NULL;

    if (operator!= NULL && operator->since> 0) {
        schema = mdf_schema_find_anywhere(operator->name, operator->since);
        formal = schema == NULL ? NULL : mdf_schema_actual_input(schema, i);
    }
    if (formal != NULL) {
        snprintf(text, NAME_SIZE, "input '%s'", formal->name);
    } else if (operator== NULL || operator->formals == NULL || !name_python_formal(operator->formals, i, text)) {
        snprintf(text, NAME_SIZE, "input %zu", i + 1);
    }
}

/* Says what input `i` is, and what it should be. */
static bool refuse_input(struct mdf_call *call, size_t i, mdf_status status, const char *wanted)
{
    const struct mdf_value *value = mdf_call_input(call, i);
    char name[NAME_SIZE], text[VALUE_TEXT_SIZE];

    name_input(call, i, name);
    if (value == NULL) {
        return mdf_call_error(call, MDF_VALUE, "%s is missing", name);
    }
    mdf_value_describe(value, text, sizeof text);
    return mdf_call_error(call, status, "%s is %s, not %s", name, text, wanted);
}

/* ------------------------------------------------------------------ outputs and scratch */

/* A refused array: the shape is at fault, or the memory. */
static void *refuse_tensor(struct mdf_call *call, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    size_t n, n_bytes;

    for (size_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            mdf_call_error(call, MDF_SHAPE, "the result's axis %zu would have size %lld", i, (long long)shape[i]);
            return NULL;
        }
    }
    if (!mdf_shape_n_elements(rank, shape, &n) || !mdf_size_multiply(n, mdf_dtype_size(dtype), &n_bytes) ||
        n_bytes > PTRDIFF_MAX) {
        mdf_call_error(call, MDF_LIMIT, "the result would have more elements than any memory");
    } else {
        mdf_call_out_of_memory(call);
    }
    return NULL;
}

void *mdf_call_output(struct mdf_call *call, size_t i, mdf_dtype dtype, size_t rank, const int64_t *shape)
{
    struct mdf_value *value = mdf_call_result(call, i);
    void *elements = mdf_value_make_tensor(call->context->memory, value != NULL ? value : &call->scratch[0], dtype, rank, shape);

    return elements != NULL ? elements : refuse_tensor(call, dtype, rank, shape);
}

bool mdf_call_output_copy(struct mdf_call *call, size_t i, const struct mdf_value *source)
{
    struct mdf_value *value = mdf_call_result(call, i);

    if (value == NULL) {
        return true;
    }
    if (source == NULL) {
        mdf_value_clear(call->context->memory, value);
        return true;
    }
    return mdf_value_copy(call->context->memory, value, source) || mdf_call_out_of_memory(call);
}

void *mdf_call_scratch(struct mdf_call *call, size_t i, mdf_dtype dtype, size_t n)
{
    int64_t size = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    void *elements = mdf_value_make_tensor(call->context->memory, &call->scratch[i], dtype, 1, &size);

    return elements != NULL ? elements : refuse_tensor(call, dtype, 1, &size);
}

/* ------------------------------------------------------------------ inputs */

const struct mdf_value *mdf_call_tensor(struct mdf_call *call, size_t i)
{
    const struct mdf_value *value = mdf_call_input(call, i);

    if (value != NULL && value->kind == MDF_KIND_TENSOR) {
        return value;
    }
    refuse_input(call, i, MDF_TYPE, "an array");
    return NULL;
}

/* Whether a real number is an int64. */
static bool is_whole(double real)
{
    return real >= -0x1p63 && real < 0x1p63 && real == (double)(int64_t)real;
}

/* Whether int64 holds each element as it is. */
static bool fits_int64(const struct mdf_context *context, const struct mdf_value *value)
{
    mdf_dtype dtype = (mdf_dtype)value->dtype;
    const char *element = value->data;

    switch (mdf_dtype_kind(dtype)) {
    case 'b':
    case 'i':
        return true;
    case 'u':
        for (size_t i = 0; dtype == MDF_DTYPE_UINT64 && i < value->length; i++) {
            if (((const uint64_t *)value->data)[i] > INT64_MAX) {
                return false;
            }
        }
        return true;
    case 'f':
        for (size_t i = 0; i < value->length; i++) {
            if (mdf_should_stop_at(context, i, MDF_ITEMS_PER_LOOK) ||
                !is_whole(mdf_element_to_double(dtype, element + i * mdf_dtype_size(dtype)))) {
                return false;
            }
        }
        return true;
    default:
        return false;
    }
}

const int64_t *mdf_call_integers(struct mdf_call *call, size_t i, size_t scratch, size_t *n)
{
    const struct mdf_value *value = mdf_call_tensor(call, i);
    int64_t *integers;

    if (value == NULL) {
        return NULL;
    }
    *n = value->length;
    if (value->dtype == MDF_DTYPE_INT64 && value->data != NULL) {
        return value->data;
    }
    if (!fits_int64(call->context, value)) {
        refuse_input(call, i, MDF_TYPE, "whole numbers");
        return NULL;
    }
    integers = mdf_call_scratch(call, scratch, MDF_DTYPE_INT64, value->length);
    if (integers != NULL && value->length > 0 &&
        !mdf_value_convert_elements(call->context->memory, MDF_DTYPE_INT64, integers, (mdf_dtype)value->dtype, value->data,
                                    value->length, false)) {
        return NULL; /* no index is one that was left out */
    }
    return integers;
}

bool mdf_call_integer(struct mdf_call *call, size_t i, int64_t *integer)
{
    const struct mdf_value *value = mdf_call_tensor(call, i);

    if (value == NULL) {
        return false;
    }
    if (value->length != 1 || !fits_int64(call->context, value)) {
        return refuse_input(call, i, value->length != 1 ? MDF_SHAPE : MDF_TYPE, "one whole number");
    }
    *integer = mdf_element_to_int64((mdf_dtype)value->dtype, value->data);
    return true;
}

bool mdf_call_real(struct mdf_call *call, size_t i, double *real)
{
    const struct mdf_value *value = mdf_call_tensor(call, i);

    if (value == NULL) {
        return false;
    }
    return mdf_value_to_double(value, real) || refuse_input(call, i, value->length != 1 ? MDF_SHAPE : MDF_TYPE, "one number");
}

bool mdf_call_axis(struct mdf_call *call, int64_t axis, size_t rank, size_t *result)
{
    int64_t n = (int64_t)rank;

    if (axis < -n || axis >= n) {
        return mdf_call_error(call, MDF_VALUE, "axis %lld is out of range for an array of rank %zu", (long long)axis, rank);
    }
    *result = (size_t)(axis < 0 ? axis + n : axis);
    return true;
}

/* ------------------------------------------------------------------ shapes */

bool mdf_broadcast_shape(size_t a_rank, const int64_t *a, size_t b_rank, const int64_t *b, int64_t *shape)
{
    size_t rank = a_rank > b_rank ? a_rank : b_rank;

    for (size_t i = 0; i < rank; i++) {
        int64_t x = i + a_rank < rank ? 1 : a[i + a_rank - rank];
        int64_t y = i + b_rank < rank ? 1 : b[i + b_rank - rank];

        if (x != y && x != 1 && y != 1) {
            return false;
        }
        shape[i] = x == 1 ? y : x;
    }
    return true;
}
