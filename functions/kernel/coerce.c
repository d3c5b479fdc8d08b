/* coerce.c - see coerce.h. */
#include "functions/kernel/coerce.h"

#include <math.h>
#include <stdio.h>

enum { NAME_SIZE = 80, VALUE_TEXT_SIZE = 160, TYPES_TEXT_SIZE = 480 };

/* Where no real type will do: the types that whole numbers try, in this order. */
static const mdf_dtype integer_types[] = {MDF_DTYPE_INT64, MDF_DTYPE_INT32,  MDF_DTYPE_UINT64, MDF_DTYPE_UINT32, MDF_DTYPE_UINT8,
                                          MDF_DTYPE_INT8,  MDF_DTYPE_UINT16, MDF_DTYPE_INT16,  MDF_DTYPE_INT4,   MDF_DTYPE_UINT4,
                                          MDF_DTYPE_INT2,  MDF_DTYPE_UINT2,  MDF_DTYPE_BOOL};

static const mdf_dtype_set real_types = MDF_DTYPE_BIT(MDF_DTYPE_FLOAT4E2M1FN) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E4M3FN) |
                                        MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E4M3FNUZ) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E5M2) |
                                        MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E5M2FNUZ) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT8E8M0) |
                                        MDF_DTYPE_BIT(MDF_DTYPE_FLOAT16) | MDF_DTYPE_BIT(MDF_DTYPE_BFLOAT16) |
                                        MDF_DTYPE_BIT(MDF_DTYPE_FLOAT32) | MDF_DTYPE_BIT(MDF_DTYPE_FLOAT64);

static bool contains(mdf_dtype_set set, mdf_dtype dtype)
{
    return dtype < MDF_DTYPE_COUNT && (set & MDF_DTYPE_BIT(dtype)) != 0;
}

/* ------------------------------------------------------------------ signatures */

/* Chains input `i` to those before it whose formals have the same variable. */
static void link_input(struct mdf_signature_input *inputs, size_t i)
{
    inputs[i].leader = i;
    inputs[i].next = SIZE_MAX;
    for (size_t j = i; inputs[i].formal->variable >= 0 && j-- > 0;) {
        if (inputs[j].formal->variable == inputs[i].formal->variable) {
            inputs[i].leader = inputs[j].leader;
            inputs[j].next = i;
            return;
        }
    }
}

/* Whether a formal takes whole numbers only, and is no operand whose type the result has. */
static bool holds_counts(const struct mdf_schema *schema, const struct mdf_formal *formal)
{
    const mdf_dtype_set whole = MDF_DTYPE_BIT(MDF_DTYPE_INT64) | MDF_DTYPE_BIT(MDF_DTYPE_INT32);

    for (size_t i = 0; i < schema->n_outputs; i++) {
        if (formal->variable >= 0 && schema->outputs[i].variable == formal->variable) {
            return false;
        }
    }
    return formal->tensor_types != 0 && (formal->tensor_types & ~whole) == 0;
}

struct mdf_signature *mdf_signature_new(struct mdf_arena *arena, const struct mdf_schema *schema, size_t n_inputs)
{
    struct mdf_signature *signature = mdf_arena_allocate(arena, sizeof *signature);
    size_t i;

    if (signature == NULL) {
        return NULL;
    }
    signature->since = schema->since;
    signature->inputs = mdf_arena_array(arena, n_inputs, sizeof *signature->inputs);
    if (signature->inputs == NULL) {
        return NULL;
    }
    for (i = 0; i < n_inputs && mdf_schema_actual_input(schema, i) != NULL; i++) {
        struct mdf_signature_input *input = &signature->inputs[i];

        input->formal = mdf_schema_actual_input(schema, i);
        input->tensors = input->formal->tensor_types | input->formal->optional_types;
        input->sequences = input->formal->sequence_types | input->formal->optional_types;
        input->counts = holds_counts(schema, input->formal);
        input->omissible = input->formal->option == MDF_FORMAL_OPTIONAL;
        link_input(signature->inputs, i);
    }
    signature->n_inputs = i;
    return signature;
}

/* One call's inputs while they are brought together. */
struct coercion {
    struct mdf_call *call;
    const struct mdf_signature *signature;
    const struct mdf_value **effective;
    struct mdf_value *converted;
};

/* The array at input `i`; NULL where there is none. */
static const struct mdf_value *array_at(const struct coercion *coercion, size_t i)
{
    const struct mdf_value *value = coercion->effective[i];

    return value != NULL && value->kind == MDF_KIND_TENSOR ? value : NULL;
}

/* ------------------------------------------------------------------ errors */

/* "A", or "inputs[2]" for one of a variadic formal. */
static void name_input(const struct mdf_signature *signature, size_t i, char text[NAME_SIZE])
{
    const struct mdf_formal *formal = signature->inputs[i].formal;
    size_t first = i;

    while (first > 0 && signature->inputs[first - 1].formal == formal) {
        first--;
    }
    if (formal->option == MDF_FORMAL_VARIADIC) {
        snprintf(text, NAME_SIZE, "%s[%zu]", formal->name, i - first);
    } else {
        snprintf(text, NAME_SIZE, "%s", formal->name);
    }
}

static void list_types(mdf_dtype_set set, char text[TYPES_TEXT_SIZE])
{
    size_t used = 0;
    mdf_dtype dtype;

    text[0] = '\0';
    for (dtype = 0; dtype < MDF_DTYPE_COUNT && used < TYPES_TEXT_SIZE; dtype++) {
        if (contains(set, dtype)) {
            used += (size_t)snprintf(text + used, TYPES_TEXT_SIZE - used, "%s%s", used > 0 ? ", " : "", mdf_dtype_name(dtype));
        }
    }
}

static bool refuse_missing(const struct coercion *coercion, size_t i)
{
    char name[NAME_SIZE];

    name_input(coercion->signature, i, name);
    return mdf_call_error(coercion->call, MDF_VALUE, "input '%s' is missing", name);
}

static bool refuse_list(const struct coercion *coercion, size_t i)
{
    char name[NAME_SIZE];

    name_input(coercion->signature, i, name);
    return mdf_call_error(coercion->call, MDF_TYPE, "input '%s' is a list that is no array: ragged, or not of numbers", name);
}

static bool refuse_type(const struct coercion *coercion, size_t i)
{
    const struct mdf_signature_input *input = &coercion->signature->inputs[i];
    mdf_dtype_set allowed = input->tensors != 0 ? input->tensors : input->sequences;
    char name[NAME_SIZE], text[VALUE_TEXT_SIZE], types[TYPES_TEXT_SIZE];

    name_input(coercion->signature, i, name);
    mdf_value_describe(coercion->effective[i], text, sizeof text);
    list_types(allowed, types);
    return mdf_call_error(coercion->call, MDF_TYPE, "input '%s' is %s; allowed are %s%s", name, text,
                          input->tensors != 0 ? ""
                          : allowed != 0      ? "sequences of "
                                              : "maps",
                          types);
}

static bool refuse_pair(const struct coercion *coercion, size_t a, size_t b)
{
    char a_name[NAME_SIZE], b_name[NAME_SIZE], a_text[VALUE_TEXT_SIZE], b_text[VALUE_TEXT_SIZE];

    name_input(coercion->signature, a, a_name);
    name_input(coercion->signature, b, b_name);
    mdf_value_describe(coercion->effective[a], a_text, sizeof a_text);
    mdf_value_describe(coercion->effective[b], b_text, sizeof b_text);
    return mdf_call_error(coercion->call, MDF_TYPE, "inputs '%s' (%s) and '%s' (%s) have different types; use Cast", a_name,
                          a_text, b_name, b_text);
}

static bool refuse_value(const struct coercion *coercion, size_t i, mdf_dtype dtype)
{
    char name[NAME_SIZE], text[VALUE_TEXT_SIZE];

    name_input(coercion->signature, i, name);
    mdf_value_describe(coercion->effective[i], text, sizeof text);
    return mdf_call_error(coercion->call, MDF_VALUE, "input '%s' is %s, with a value that %s can not hold", name, text,
                          mdf_dtype_name(dtype));
}

/* ------------------------------------------------------------------ whether integers hold a value */

struct range {
    int64_t low;
    uint64_t high;
};

static struct range range_of(mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);
    unsigned bits = kind == 'b' ? 1 : mdf_dtype_bits(dtype) - (kind == 'i');
    struct range range = {0, UINT64_MAX >> (64 - bits)};

    if (kind == 'i') {
        range.low = -(int64_t)range.high - 1;
    }
    return range;
}

static bool element_fits(mdf_dtype dtype, const void *element, struct range range)
{
    double real;
    int64_t integer;

    switch (mdf_dtype_kind(dtype)) {
    case 'f':
        real = mdf_element_to_double(dtype, element);
        return real == floor(real) && real >= (double)range.low && real < (double)range.high + 1;
    case 'b':
    case 'i':
    case 'u':
        if (dtype == MDF_DTYPE_UINT64) {
            return *(const uint64_t *)element <= range.high;
        }
        integer = mdf_element_to_int64(dtype, element);
        return integer >= range.low && (integer < 0 || (uint64_t)integer <= range.high);
    default:
        return false;
    }
}

/* Whether each element of an array is a number of the integer type `dtype`. */
static bool fits(const struct mdf_value *value, mdf_dtype dtype)
{
    struct range range = range_of(dtype);
    const char *element = value->data;
    size_t size = mdf_dtype_size((mdf_dtype)value->dtype), i;

    for (i = 0; i < value->length; i++) {
        if (!element_fits((mdf_dtype)value->dtype, element + i * size, range)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ inputs that share a type */

/* A real number that nobody gave a type has context->real, however it was read. */
static mdf_dtype type_of(const struct mdf_value *value, mdf_dtype real)
{
    return value->strength != MDF_STRENGTH_TYPED && value->dtype == MDF_DTYPE_FLOAT64 ? real : (mdf_dtype)value->dtype;
}

/* What the inputs of one group come to, member by member. */
struct common {
    mdf_dtype dtype;    /* MDF_DTYPE_NONE: no array yet */
    mdf_dtype declared; /* of the members with a declared type; MDF_DTYPE_NONE: there is none yet */
    enum mdf_strength strength;
    size_t firm; /* the member that a message names: the first with a declared type, else the first */
};

/* Takes the array at input `i` into the common type. */
static bool add_to_common(const struct coercion *coercion, struct common *common, size_t i)
{
    const struct mdf_value *value = coercion->effective[i];
    mdf_dtype real = coercion->call->context->real, dtype = type_of(value, real);
    bool typed = value->strength == MDF_STRENGTH_TYPED, first = common->dtype == MDF_DTYPE_NONE;

    if (!first) {
        dtype = mdf_promote(common->dtype, common->strength, dtype, (enum mdf_strength)value->strength, real);
    }
    if (dtype == MDF_DTYPE_NONE || (typed && common->declared != MDF_DTYPE_NONE && common->declared != (mdf_dtype)value->dtype)) {
        return refuse_pair(coercion, common->firm, i);
    }
    common->dtype = dtype;
    if (first || (typed && common->declared == MDF_DTYPE_NONE)) {
        common->firm = i;
    }
    if (typed) {
        common->declared = (mdf_dtype)value->dtype;
    }
    if (value->strength > common->strength) {
        common->strength = (enum mdf_strength)value->strength;
    }
    return true;
}

/* Whether the arrays of a group all fit an integer type. */
static bool group_fits(const struct coercion *coercion, size_t leader, mdf_dtype dtype)
{
    for (size_t i = leader; i != SIZE_MAX; i = coercion->signature->inputs[i].next) {
        const struct mdf_value *value = array_at(coercion, i);

        if (value != NULL && !fits(value, dtype)) {
            return false;
        }
    }
    return true;
}

/* Whether the arrays of a group have no elements: a list of none may be one of strings. */
static bool group_is_empty(const struct coercion *coercion, size_t leader)
{
    for (size_t i = leader; i != SIZE_MAX; i = coercion->signature->inputs[i].next) {
        const struct mdf_value *value = array_at(coercion, i);

        if (value != NULL && value->length > 0) {
            return false;
        }
    }
    return true;
}

/* The type that a group gets: its common type, or what may stand for it; MDF_DTYPE_NONE where nothing may. */
static mdf_dtype choose_type(const struct coercion *coercion, size_t leader, const struct common *group)
{
    mdf_dtype_set allowed = coercion->signature->inputs[leader].tensors;
    mdf_dtype common = group->dtype, real = coercion->call->context->real;
    bool undeclared_real = mdf_dtype_is_real(common) && group->declared != common;

    if (contains(allowed, common)) {
        return common;
    }
    if (mdf_dtype_is_whole(common) && contains(allowed, real)) {
        return real;
    }
    if ((mdf_dtype_is_whole(common) || common == MDF_DTYPE_FLOAT64) && contains(allowed, MDF_DTYPE_FLOAT32)) {
        return MDF_DTYPE_FLOAT32;
    }
    if (undeclared_real && contains(allowed, MDF_DTYPE_FLOAT64)) {
        return MDF_DTYPE_FLOAT64;
    }
    for (size_t i = 0; (allowed & real_types) == 0 && i < sizeof integer_types / sizeof *integer_types; i++) {
        if (contains(allowed, integer_types[i]) && group_fits(coercion, leader, integer_types[i])) {
            return integer_types[i];
        }
    }
    return group->declared == MDF_DTYPE_NONE && contains(allowed, MDF_DTYPE_STRING) && group_is_empty(coercion, leader)
               ? MDF_DTYPE_STRING
               : MDF_DTYPE_NONE;
}

/* Makes input `i` an array of `dtype`. */
static bool convert_input(struct coercion *coercion, size_t i, mdf_dtype dtype)
{
    struct mdf_memory *memory = coercion->call->context->memory;
    struct mdf_value *converted = &coercion->converted[i], own = {0};
    const struct mdf_value *value = coercion->effective[i];
    bool done;

    if (mdf_dtype_is_whole(dtype) && !fits(value, dtype)) {
        return refuse_value(coercion, i, dtype);
    }
    if (value == converted) { /* made from a list just now */
        mdf_value_swap(&own, converted);
        value = &own;
    }
    done = dtype == MDF_DTYPE_STRING
               ? mdf_value_make_tensor(memory, converted, dtype, value->rank, mdf_value_shape(value)) != NULL /* of no elements */
               : mdf_value_convert(memory, converted, value, dtype);
    mdf_value_clear(memory, &own);
    coercion->effective[i] = converted;
    return done || mdf_call_out_of_memory(coercion->call);
}

static bool unify_group(struct coercion *coercion, size_t leader)
{
    const struct mdf_signature_input *inputs = coercion->signature->inputs;
    struct common common = {MDF_DTYPE_NONE, MDF_DTYPE_NONE, MDF_STRENGTH_PYTHON, leader};
    mdf_dtype dtype;

    for (size_t i = leader; i != SIZE_MAX; i = inputs[i].next) {
        if (array_at(coercion, i) != NULL && !add_to_common(coercion, &common, i)) {
            return false;
        }
    }
    dtype = common.dtype == MDF_DTYPE_NONE ? MDF_DTYPE_NONE : choose_type(coercion, leader, &common);
    for (size_t i = leader; i != SIZE_MAX; i = inputs[i].next) {
        const struct mdf_value *value = array_at(coercion, i);

        if (value == NULL || value->dtype == dtype) {
            continue;
        }
        if (dtype == MDF_DTYPE_NONE) {
            return refuse_type(coercion, i);
        }
        if (!convert_input(coercion, i, dtype)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ one input */

static bool list_to_array(struct coercion *coercion, size_t i)
{
    struct mdf_memory *memory = coercion->call->context->memory;
    const struct mdf_value *list = coercion->effective[i];
    int made = mdf_value_from_nested_list(memory, &coercion->converted[i], list);

    if (made == 0) { /* PsyNeuLink's models put ports of shapes [n] and [1, n] together */
        made = mdf_value_from_similar_arrays(memory, &coercion->converted[i], list);
    }
    if (made < 0) {
        return mdf_call_out_of_memory(coercion->call);
    }
    if (made == 0) {
        return refuse_list(coercion, i);
    }
    coercion->effective[i] = &coercion->converted[i];
    return true;
}

/* Resolves the kind of input `i`: an array, a list, an object, nothing. */
static bool resolve_kind(struct coercion *coercion, size_t i)
{
    const struct mdf_signature_input *input = &coercion->signature->inputs[i];
    const struct mdf_value *value = coercion->effective[i];

    if (value == NULL || value->kind == MDF_KIND_NONE) {
        if (input->omissible) {
            coercion->effective[i] = NULL;
            return true;
        }
        if (value != NULL && input->formal->optional_types != 0) {
            return true;
        }
        return refuse_missing(coercion, i);
    }
    switch ((mdf_kind)value->kind) {
    case MDF_KIND_TENSOR:
        return input->tensors != 0 || refuse_type(coercion, i);
    case MDF_KIND_LIST:
        if (input->sequences == 0 && !input->formal->maps) {
            return list_to_array(coercion, i);
        }
        return value->dtype == MDF_DTYPE_NONE || input->formal->maps || contains(input->sequences, (mdf_dtype)value->dtype) ||
               refuse_type(coercion, i);
    default:
        return input->formal->maps || refuse_type(coercion, i);
    }
}

/* ------------------------------------------------------------------ all inputs */

static bool is_bare_number(const struct mdf_value *value)
{
    return value != NULL && mdf_value_is_scalar(value) && value->strength == MDF_STRENGTH_PYTHON;
}

/* Whether a number is given where an array of indices, sizes or axes is meant, or one with an axis. */
static inline bool stands_for_array(const struct mdf_signature_input *input, const struct mdf_value *value)
{
    return (input->counts && is_bare_number(value)) ||
           (input->needs_axis && value != NULL && mdf_value_is_scalar(value) && value->strength != MDF_STRENGTH_TYPED);
}

static bool make_array_of_one(struct coercion *coercion, size_t i)
{
    struct mdf_value *array = &coercion->converted[i];

    if (!stands_for_array(&coercion->signature->inputs[i], coercion->effective[i])) {
        return true;
    }
    if (array != coercion->effective[i] && !mdf_value_copy(coercion->call->context->memory, array, coercion->effective[i])) {
        return mdf_call_out_of_memory(coercion->call);
    }
    array->rank = 1;
    array->shape.sizes[0] = 1;
    coercion->effective[i] = array;
    return true;
}

static bool coerce(struct coercion *coercion, const struct mdf_value *const *given)
{
    const struct mdf_signature *signature = coercion->signature;

    for (size_t i = 0; i < signature->n_inputs; i++) {
        coercion->effective[i] = given[i];
        if (!resolve_kind(coercion, i)) {
            return false;
        }
    }
    for (size_t i = 0; i < signature->n_inputs; i++) {
        if (signature->inputs[i].leader == i && !unify_group(coercion, i)) {
            return false;
        }
    }
    for (size_t i = 0; i < signature->n_inputs; i++) {
        if (!make_array_of_one(coercion, i)) {
            return false;
        }
    }
    return true;
}

/* Whether an input is to be taken as it is: an array of a type that is allowed, and the same as its leader's. `narrowed` has the
 * types that undeclared reals may not keep. */
static inline bool is_taken(const struct mdf_signature_input *input, const struct mdf_value *value,
                            const struct mdf_value *leader, mdf_dtype_set narrowed)
{
    mdf_dtype_set type = MDF_DTYPE_BIT(value->dtype);

    return value->kind == MDF_KIND_TENSOR && (input->tensors & type) != 0 && leader != NULL && leader->kind == MDF_KIND_TENSOR &&
           leader->dtype == value->dtype && ((narrowed & type) == 0 || value->strength == MDF_STRENGTH_TYPED) &&
           !stands_for_array(input, value);
}

bool mdf_coerce_inputs(struct mdf_call *call, const struct mdf_signature *signature, const struct mdf_value *const *given,
                       const struct mdf_value **effective, struct mdf_value *converted)
{
    struct coercion coercion = {call, signature, effective, converted};
    mdf_dtype_set narrowed = call->context->real == MDF_DTYPE_FLOAT64 ? 0 : MDF_DTYPE_BIT(MDF_DTYPE_FLOAT64);

    for (size_t i = 0; i < signature->n_inputs; i++) {
        const struct mdf_signature_input *input = &signature->inputs[i];

        if (given[i] == NULL ? !input->omissible : !is_taken(input, given[i], given[input->leader], narrowed)) {
            return coerce(&coercion, given);
        }
        effective[i] = given[i];
    }
    return true;
}

void mdf_weaken_outputs(struct mdf_call *call)
{
    mdf_dtype_set literal = MDF_DTYPE_BIT(call->context->real) | MDF_DTYPE_BIT(MDF_DTYPE_INT64) | MDF_DTYPE_BIT(MDF_DTYPE_BOOL);
    bool any = false;

    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] != NULL && call->inputs[i]->kind == MDF_KIND_TENSOR) {
            if (call->inputs[i]->strength == MDF_STRENGTH_TYPED) {
                return;
            }
            any = true;
        }
    }
    for (size_t i = 0; any && i < call->n_outputs; i++) {
        struct mdf_value *output = call->outputs[i];

        if (output != NULL && output->kind == MDF_KIND_TENSOR && contains(literal, (mdf_dtype)output->dtype)) {
            output->strength = MDF_STRENGTH_LITERAL;
        }
    }
}
