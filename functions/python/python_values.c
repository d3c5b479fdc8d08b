/* python_values.c - see python_values.h and python.h. */
#include "functions/python/python_values.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ slots */

struct mdf_value *mdf_python_slots(struct mdf_call *call)
{
    struct mdf_value *list = &call->scratch[MDF_PYTHON_SCRATCH_SLOTS];

    if (list->kind == MDF_KIND_LIST && list->length == MDF_N_SLOTS) {
        return list->data;
    }
    return mdf_python_make_list(call, list, MDF_N_SLOTS);
}

/* ------------------------------------------------------------------ kinds of values */

bool mdf_python_is_string(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->rank == 0 && value->dtype == MDF_DTYPE_STRING;
}

const char *mdf_python_text(const struct mdf_value *string, size_t *length)
{
    const char *text = mdf_value_to_string(string);

    *length = mdf_string_length(text);
    return text != NULL ? text : "";
}

const char *mdf_python_kind(const struct mdf_value *value, char text[MDF_PYTHON_KIND_TEXT_SIZE])
{
    if (value->kind == MDF_KIND_NONE) {
        return "None";
    }
    if (value->kind != MDF_KIND_TENSOR) {
        return value->kind == MDF_KIND_LIST ? "a list" : "an object";
    }
    if (mdf_python_is_string(value)) {
        return "a string";
    }
    if (mdf_python_is_number(value)) {
        return value->dtype == MDF_DTYPE_BOOL ? "a bool" : value->dtype == MDF_DTYPE_INT64 ? "an int" : "a float";
    }
    mdf_value_describe(value, text, MDF_PYTHON_KIND_TEXT_SIZE);
    return text;
}

bool mdf_python_refuse(struct mdf_call *call, const struct mdf_value *a, const struct mdf_value *b)
{
    char a_text[MDF_PYTHON_KIND_TEXT_SIZE], b_text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (b == NULL) {
        return mdf_call_error(call, MDF_TYPE, "does not apply to %s", mdf_python_kind(a, a_text));
    }
    return mdf_call_error(call, MDF_TYPE, "does not apply to %s and %s", mdf_python_kind(a, a_text), mdf_python_kind(b, b_text));
}

/* ------------------------------------------------------------------ types */

mdf_dtype mdf_python_dtype_of(const struct mdf_context *context, const struct mdf_value *array)
{
    bool undeclared = array->strength != MDF_STRENGTH_TYPED && array->dtype == MDF_DTYPE_FLOAT64;

    return undeclared ? context->real : (mdf_dtype)array->dtype;
}

mdf_dtype mdf_python_promote(const struct mdf_context *context, const struct mdf_value *a, const struct mdf_value *b)
{
    mdf_dtype a_dtype = mdf_python_dtype_of(context, a), b_dtype = mdf_python_dtype_of(context, b);
    enum mdf_strength a_strength = a->strength, b_strength = b->strength;

    if (a_dtype == b_dtype) {
        return a_dtype;
    }
    if (a_strength == MDF_STRENGTH_PYTHON && b_strength == MDF_STRENGTH_LITERAL) {
        b_strength = MDF_STRENGTH_TYPED;
    } else if (b_strength == MDF_STRENGTH_PYTHON && a_strength == MDF_STRENGTH_LITERAL) {
        a_strength = MDF_STRENGTH_TYPED;
    }
    return mdf_promote(a_dtype, a_strength, b_dtype, b_strength, context->real);
}

mdf_dtype mdf_python_real_for(const struct mdf_context *context, mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'b':
    case 'i':
    case 'u':
        return mdf_dtype_size(dtype) == 1 ? MDF_DTYPE_FLOAT16 : mdf_dtype_size(dtype) == 2 ? MDF_DTYPE_FLOAT32 : context->real;
    default:
        return dtype;
    }
}

mdf_dtype mdf_python_sum_dtype(mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);

    return kind == 'b' || kind == 'i' ? MDF_DTYPE_INT64 : kind == 'u' ? MDF_DTYPE_UINT64 : dtype;
}

/* Names that expressions may give to types besides those of mdf_parse_type. */
static const struct {
    const char *name;
    mdf_dtype dtype;
} type_names[] = {
    {"float_", MDF_DTYPE_FLOAT64}, {"int_", MDF_DTYPE_INT64},   {"intp", MDF_DTYPE_INT64},   {"longlong", MDF_DTYPE_INT64},
    {"long", MDF_DTYPE_INT64},     {"uint", MDF_DTYPE_UINT64},  {"ulong", MDF_DTYPE_UINT64}, {"uintp", MDF_DTYPE_UINT64},
    {"intc", MDF_DTYPE_INT32},     {"uintc", MDF_DTYPE_UINT32}, {"short", MDF_DTYPE_INT16},  {"ushort", MDF_DTYPE_UINT16},
    {"byte", MDF_DTYPE_INT8},      {"ubyte", MDF_DTYPE_UINT8},  {"f8", MDF_DTYPE_FLOAT64},   {"f4", MDF_DTYPE_FLOAT32},
    {"f2", MDF_DTYPE_FLOAT16},     {"i8", MDF_DTYPE_INT64},     {"i4", MDF_DTYPE_INT32},     {"i2", MDF_DTYPE_INT16},
    {"i1", MDF_DTYPE_INT8},        {"u8", MDF_DTYPE_UINT64},    {"u4", MDF_DTYPE_UINT32},    {"u2", MDF_DTYPE_UINT16},
    {"u1", MDF_DTYPE_UINT8},       {"d", MDF_DTYPE_FLOAT64},    {"f", MDF_DTYPE_FLOAT32},    {"e", MDF_DTYPE_FLOAT16},
    {"i", MDF_DTYPE_INT32},        {"?", MDF_DTYPE_BOOL}};

bool mdf_python_type_named(struct mdf_call *call, const char *name, struct mdf_python_type *type)
{
    struct mdf_declared_type declared;

    for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
        if (strcmp(type_names[i].name, name) == 0) {
            type->dtype = type_names[i].dtype;
            type->typed = true;
            return true;
        }
    }
    if (!mdf_parse_type(name, &declared) || declared.dtype == MDF_DTYPE_NONE || declared.sequence || declared.optional) {
        return mdf_call_error(call, MDF_TYPE, "there is no element type '%s'", name);
    }
    type->dtype = declared.dtype;
    type->typed = declared.exact && declared.dtype != MDF_DTYPE_BOOL;
    if (!type->typed && type->dtype == MDF_DTYPE_FLOAT64) {
        type->dtype = call->context->real;
    }
    return true;
}

bool mdf_python_type(struct mdf_call *call, size_t i, struct mdf_python_type *type)
{
    const struct mdf_value *value = mdf_python_given(call, i);
    char text[MDF_PYTHON_KIND_TEXT_SIZE];
    size_t length;

    type->dtype = MDF_DTYPE_NONE;
    type->typed = false;
    if (value == NULL) {
        return true;
    }
    if (!mdf_python_is_string(value)) {
        return mdf_call_error(call, MDF_TYPE, "%s is no element type", mdf_python_kind(value, text));
    }
    return mdf_python_type_named(call, mdf_python_text(value, &length), type);
}

bool mdf_python_convert(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array,
                        struct mdf_python_type type)
{
    if ((array->dtype == MDF_DTYPE_STRING) != (type.dtype == MDF_DTYPE_STRING)) {
        return mdf_call_error(call, MDF_TYPE, "%s can not become %s", mdf_dtype_name((mdf_dtype)array->dtype),
                              mdf_dtype_name(type.dtype));
    }
    if (!mdf_value_convert(call->context->memory, target, array, type.dtype)) {
        return mdf_call_out_of_memory(call);
    }
    target->strength = type.typed ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL;
    return true;
}

/* ------------------------------------------------------------------ operands */

const struct mdf_value *mdf_python_given(const struct mdf_call *call, size_t i)
{
    const struct mdf_value *value = mdf_call_input(call, i);

    return value != NULL && value->kind != MDF_KIND_NONE ? value : NULL;
}

size_t mdf_python_given_at(const struct mdf_call *call, size_t i)
{
    return mdf_python_given(call, i) != NULL ? i : SIZE_MAX;
}

/* The type of an array of Python numbers alone; NONE where a list has other items, or none. */
static mdf_dtype type_of_numbers(const struct mdf_context *context, const struct mdf_value *list)
{
    const struct mdf_value *items = mdf_value_items(list);
    mdf_dtype dtype = list->length > 0 ? MDF_DTYPE_BOOL : MDF_DTYPE_NONE;

    for (size_t i = 0; i < list->length; i++) {
        if (!mdf_python_is_number(&items[i]) || mdf_dtype_kind((mdf_dtype)items[i].dtype) == 'c') {
            return MDF_DTYPE_NONE;
        }
        if (!mdf_python_is_integer(&items[i])) {
            dtype = context->real;
        } else if (dtype == MDF_DTYPE_BOOL) {
            dtype = (mdf_dtype)items[i].dtype;
        }
    }
    return dtype;
}

bool mdf_python_passes_bounds(const struct mdf_value *operand, mdf_dtype dtype)
{
    const int64_t *integers = operand->data;
    char kind = mdf_dtype_kind(dtype);

    if ((kind != 'i' && kind != 'u') || dtype == MDF_DTYPE_INT64 || operand->kind != MDF_KIND_TENSOR ||
        operand->strength == MDF_STRENGTH_TYPED || operand->dtype != MDF_DTYPE_INT64) {
        return false;
    }
    for (size_t i = 0; i < operand->length; i++) {
        if (!mdf_dtype_holds_integer(dtype, integers[i])) {
            return true;
        }
    }
    return false;
}

/* The same of what stands in a list. */
static bool list_passes_bounds(const struct mdf_value *list, mdf_dtype dtype)
{
    const struct mdf_value *items = mdf_value_items(list);

    for (size_t i = 0; i < list->length; i++) {
        if (items[i].kind == MDF_KIND_LIST ? list_passes_bounds(&items[i], dtype) : mdf_python_passes_bounds(&items[i], dtype)) {
            return true;
        }
    }
    return false;
}

bool mdf_python_out_of_bounds(struct mdf_call *call, mdf_dtype dtype)
{
    return mdf_call_error(call, MDF_VALUE, "a number is out of bounds for %s", mdf_dtype_name(dtype));
}

/* A list of Python numbers, such as a shape: written straight into the slot, so that repeated calls allocate nothing. */
static const struct mdf_value *array_from_numbers(struct mdf_call *call, const struct mdf_value *list, mdf_dtype dtype,
                                                  struct mdf_value *slot)
{
    const struct mdf_value *items = mdf_value_items(list);
    int64_t size = (int64_t)list->length;
    char *elements = mdf_python_make(call, slot, dtype, MDF_STRENGTH_LITERAL, 1, &size);

    for (size_t i = 0; elements != NULL && i < list->length && !mdf_should_stop_at(call->context, i, MDF_ITEMS_PER_LOOK); i++) {
        mdf_convert_elements(dtype, elements + i * mdf_dtype_size(dtype), (mdf_dtype)items[i].dtype, items[i].data, 1, false);
    }
    return elements != NULL ? slot : NULL;
}

static const struct mdf_value *array_from_list(struct mdf_call *call, const struct mdf_value *list, size_t slot)
{
    struct mdf_value *slots = mdf_python_slots(call), array = {0};
    mdf_dtype dtype = type_of_numbers(call->context, list);
    bool kept;
    int made;

    if (slots != NULL && dtype != MDF_DTYPE_NONE) {
        return array_from_numbers(call, list, dtype, &slots[slot]);
    }
    made = slots == NULL ? -1 : mdf_value_from_nested_list(call->context->memory, &array, list);
    if (made <= 0) {
        if (made == 0) {
            mdf_call_error(call, MDF_VALUE, "a list that is ragged, or not of numbers, is no array");
        } else {
            mdf_call_out_of_memory(call);
        }
        return NULL;
    }
    dtype = mdf_python_dtype_of(call->context, &array);
    if (list_passes_bounds(list, dtype)) {
        mdf_value_clear(call->context->memory, &array);
        mdf_python_out_of_bounds(call, dtype);
        return NULL;
    }
    kept = mdf_value_convert(call->context->memory, &slots[slot], &array, dtype);
    mdf_value_clear(call->context->memory, &array);
    if (!kept) {
        mdf_call_out_of_memory(call);
        return NULL;
    }
    return &slots[slot];
}

const struct mdf_value *mdf_python_array_of(struct mdf_call *call, const struct mdf_value *value, mdf_dtype dtype, size_t slot)
{
    const struct mdf_value *array = value->kind == MDF_KIND_TENSOR ? value : mdf_python_array(call, value, slot);
    struct mdf_value *slots, held = {0};
    bool converted;

    if (array == NULL || array->dtype == dtype) {
        return array;
    }
    if (array->dtype == MDF_DTYPE_STRING || dtype == MDF_DTYPE_STRING) {
        mdf_python_refuse(call, value, NULL);
        return NULL;
    }
    slots = mdf_python_slots(call);
    if (slots == NULL) {
        return NULL;
    }
    if (array == &slots[slot]) {
        mdf_value_swap(&held, &slots[slot]);
        array = &held;
    }
    converted = mdf_value_convert(call->context->memory, &slots[slot], array, dtype);
    mdf_value_clear(call->context->memory, &held);
    if (!converted) {
        mdf_call_out_of_memory(call);
        return NULL;
    }
    return &slots[slot];
}

const struct mdf_value *mdf_python_array(struct mdf_call *call, const struct mdf_value *value, size_t slot)
{
    if (value->kind == MDF_KIND_LIST) {
        return array_from_list(call, value, slot);
    }
    if (value->kind != MDF_KIND_TENSOR) {
        mdf_python_refuse(call, value, NULL);
        return NULL;
    }
    if (mdf_python_dtype_of(call->context, value) != value->dtype) {
        return mdf_python_array_of(call, value, call->context->real, slot);
    }
    return value;
}

const struct mdf_value *mdf_python_input_array(struct mdf_call *call, size_t i, size_t slot)
{
    const struct mdf_value *value = mdf_python_given(call, i);

    return value == NULL ? mdf_call_tensor(call, i) : mdf_python_array(call, value, slot);
}

bool mdf_python_integer(struct mdf_call *call, size_t i, int64_t otherwise, int64_t *integer)
{
    *integer = otherwise;
    return mdf_python_given(call, i) == NULL || mdf_call_integer(call, i, integer);
}

bool mdf_python_real(struct mdf_call *call, size_t i, double otherwise, double *real)
{
    *real = otherwise;
    return mdf_python_given(call, i) == NULL || mdf_call_real(call, i, real);
}

bool mdf_python_truth_of(struct mdf_call *call, const struct mdf_value *value, bool *truth)
{
    int found = mdf_value_truth(value);

    *truth = found > 0;
    return found >= 0 || mdf_call_error(call, MDF_VALUE, "the truth of an array of %zu elements is ambiguous; use any() or all()",
                                        value->length);
}

bool mdf_python_truth(struct mdf_call *call, size_t i, bool otherwise, bool *truth)
{
    *truth = otherwise;
    return mdf_python_given(call, i) == NULL || mdf_python_truth_of(call, call->inputs[i], truth);
}

/* Whether an array may stand for integers: whole numbers, or an empty list of no particular type. */
static bool is_whole_array(const struct mdf_value *array)
{
    mdf_dtype dtype = (mdf_dtype)array->dtype;

    return mdf_dtype_is_whole(dtype) || (array->length == 0 && mdf_dtype_kind(dtype) == 'f');
}

const int64_t *mdf_python_integers(struct mdf_call *call, size_t i, size_t slot, size_t *n)
{
    static const int64_t nothing = 0;
    const struct mdf_value *array = mdf_python_input_array(call, i, slot);
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    if (array != NULL && !is_whole_array(array)) {
        mdf_call_error(call, MDF_TYPE, "%s is not whole numbers", mdf_python_kind(call->inputs[i], text));
        return NULL;
    }
    array = array == NULL ? NULL : mdf_python_array_of(call, array, MDF_DTYPE_INT64, slot);
    if (array == NULL) {
        return NULL;
    }
    *n = array->length;
    return array->data != NULL ? array->data : &nothing;
}

/* ------------------------------------------------------------------ results */

void *mdf_python_make(struct mdf_call *call, struct mdf_value *target, mdf_dtype dtype, enum mdf_strength strength, size_t rank,
                      const int64_t *shape)
{
    void *elements = mdf_value_make_tensor(call->context->memory, target, dtype, rank, shape);
    size_t n;

    if (elements != NULL) {
        target->strength = (uint8_t)strength;
        return elements;
    }
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] < 0) {
            mdf_call_error(call, MDF_VALUE, "axis %zu would have the negative size %lld", i, (long long)shape[i]);
            return NULL;
        }
    }
    if (!mdf_shape_n_elements(rank, shape, &n) || !mdf_size_multiply(n, mdf_dtype_size(dtype), &n)) {
        mdf_call_error(call, MDF_LIMIT, "the result would have more elements than any memory");
    } else {
        mdf_call_out_of_memory(call);
    }
    return NULL;
}

void *mdf_python_make_like(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t rank,
                           const int64_t *shape)
{
    return mdf_python_make(call, target, (mdf_dtype)array->dtype, mdf_numpy_strength(array), rank, shape);
}

int64_t *mdf_python_sizes(struct mdf_call *call, size_t slot, size_t n)
{
    struct mdf_value *slots = mdf_python_slots(call);
    int64_t size = (int64_t)n + 1;

    return slots == NULL ? NULL : mdf_python_make(call, &slots[slot], MDF_DTYPE_INT64, MDF_STRENGTH_LITERAL, 1, &size);
}

struct mdf_value *mdf_python_make_list(struct mdf_call *call, struct mdf_value *target, size_t length)
{
    struct mdf_value *items = mdf_value_make_list(call->context->memory, target, length);

    if (items == NULL) {
        mdf_call_out_of_memory(call);
    }
    return items;
}

bool mdf_python_make_real(struct mdf_call *call, struct mdf_value *target, double real)
{
    void *element = mdf_value_make_tensor(call->context->memory, target, call->context->real, 0, NULL);

    if (element == NULL) {
        return mdf_call_out_of_memory(call);
    }
    if (call->context->real == MDF_DTYPE_FLOAT64) {
        *(double *)element = real;
    } else {
        mdf_convert_elements(call->context->real, element, MDF_DTYPE_FLOAT64, &real, 1, false);
    }
    target->strength = MDF_STRENGTH_PYTHON;
    return true;
}

bool mdf_python_make_int(struct mdf_call *call, struct mdf_value *target, int64_t integer)
{
    int64_t *element = mdf_value_make_tensor(call->context->memory, target, MDF_DTYPE_INT64, 0, NULL);

    if (element == NULL) {
        return mdf_call_out_of_memory(call);
    }
    *element = integer;
    target->strength = MDF_STRENGTH_PYTHON;
    return true;
}

bool mdf_python_make_bool(struct mdf_call *call, struct mdf_value *target, bool truth)
{
    return mdf_value_make_bool(call->context->memory, target, truth) || mdf_call_out_of_memory(call);
}

bool mdf_python_make_string(struct mdf_call *call, struct mdf_value *target, const char *bytes, size_t length)
{
    return mdf_value_make_string(call->context->memory, target, bytes, length) || mdf_call_out_of_memory(call);
}

bool mdf_python_make_whole(struct mdf_call *call, struct mdf_value *target, double real)
{
    if (isnan(real) || isinf(real)) {
        return mdf_call_error(call, MDF_VALUE, "%s has no whole number", isnan(real) ? "NaN" : "an infinity");
    }
    if (real >= -0x1p63 && real < 0x1p63) {
        return mdf_python_make_int(call, target, (int64_t)real);
    }
    return mdf_value_make_double(call->context->memory, target, trunc(real)) || mdf_call_out_of_memory(call);
}

bool mdf_python_copy(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *source)
{
    return mdf_value_copy(call->context->memory, target, source) || mdf_call_out_of_memory(call);
}

bool mdf_python_reshape(struct mdf_call *call, struct mdf_value *target, const struct mdf_value *array, size_t rank,
                        const int64_t *shape)
{
    if (!mdf_value_reshape(call->context->memory, target, array, rank, shape)) {
        return mdf_call_out_of_memory(call);
    }
    target->strength = (uint8_t)mdf_numpy_strength(array);
    return true;
}

/* ------------------------------------------------------------------ items */

bool mdf_python_is_iterable(const struct mdf_value *value)
{
    return value->kind == MDF_KIND_LIST || value->kind == MDF_KIND_DICT || mdf_python_is_string(value) ||
           (value->kind == MDF_KIND_TENSOR && value->rank > 0);
}

/* The first byte of a character in UTF-8. */
static bool begins_character(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

size_t mdf_python_length(const struct mdf_value *value)
{
    const char *text;
    size_t length, n = 0;

    if (value->kind != MDF_KIND_TENSOR) {
        return value->kind == MDF_KIND_NONE ? 0 : value->length;
    }
    if (!mdf_python_is_string(value)) {
        return value->rank > 0 ? (size_t)mdf_value_shape(value)[0] : 0;
    }
    text = mdf_python_text(value, &length);
    for (size_t i = 0; i < length; i++) {
        n += begins_character(text[i]);
    }
    return n;
}

static bool take_character(struct mdf_memory *memory, struct mdf_value *item, const struct mdf_value *string, size_t i)
{
    size_t length, first = 0, last;
    const char *text = mdf_python_text(string, &length);

    for (; first < length && (!begins_character(text[first]) || i-- > 0); first++) {
    }
    for (last = first + 1; last < length && !begins_character(text[last]); last++) {
    }
    return mdf_value_make_string(memory, item, text + first, last <= length ? last - first : 0);
}

static bool take_element(struct mdf_memory *memory, struct mdf_value *item, const struct mdf_value *array, size_t i)
{
    const int64_t *shape = mdf_value_shape(array);
    size_t n_items = (size_t)shape[0], length = array->length / n_items, k;
    size_t size = mdf_dtype_size((mdf_dtype)array->dtype);
    const char *source = (const char *)array->data + i * length * size;
    void *elements = mdf_value_make_tensor(memory, item, (mdf_dtype)array->dtype, array->rank - 1, shape + 1);

    if (elements == NULL) {
        return false;
    }
    if (array->dtype == MDF_DTYPE_STRING) {
        for (k = 0; k < length; k++) {
            ((char **)elements)[k] = mdf_string_share(((char *const *)(const void *)source)[k]);
        }
    } else if (length > 0) {
        memcpy(elements, source, length * size);
    }
    item->strength = array->strength;
    return true;
}

bool mdf_python_item(struct mdf_memory *memory, struct mdf_value *item, const struct mdf_value *iterable, size_t i)
{
    if (iterable->kind == MDF_KIND_LIST) {
        return mdf_value_share(memory, item, &mdf_value_items(iterable)[i]);
    }
    if (iterable->kind == MDF_KIND_DICT) {
        return mdf_value_share(memory, item, &mdf_value_items(iterable)[2 * i]);
    }
    return mdf_python_is_string(iterable) ? take_character(memory, item, iterable, i) : take_element(memory, item, iterable, i);
}

bool mdf_python_check_iterable(struct mdf_call *call, const struct mdf_value *value)
{
    char text[MDF_PYTHON_KIND_TEXT_SIZE];

    return mdf_python_is_iterable(value) || mdf_call_error(call, MDF_TYPE, "%s has no items", mdf_python_kind(value, text));
}

bool mdf_python_take_item(struct mdf_call *call, struct mdf_value *item, const struct mdf_value *iterable, size_t i)
{
    if (mdf_should_stop(call->context)) { /* who goes through many items ends here, whatever is done with them */
        return false;
    }
    return mdf_python_item(call->context->memory, item, iterable, i) || mdf_call_out_of_memory(call);
}

/* ------------------------------------------------------------------ constants */

bool mdf_python_constant(const char *dotted_name, double *value)
{
    static const struct {
        const char *name;
        double value;
    } constants[] = {{"math.pi", M_PI},          {"math.e", M_E},
                     {"math.tau", 2 * M_PI},     {"math.inf", (double)INFINITY},
                     {"math.nan", (double)NAN},  {"numpy.pi", M_PI},
                     {"numpy.e", M_E},           {"numpy.inf", (double)INFINITY},
                     {"numpy.nan", (double)NAN}, {"numpy.euler_gamma", 0.57721566490153286060651209008240243}};

    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++) {
        if (strcmp(constants[i].name, dotted_name) == 0) {
            *value = constants[i].value;
            return true;
        }
    }
    return false;
}

bool mdf_python_run_real(struct mdf_call *call, double (*function)(double))
{
    const struct mdf_value *x = mdf_python_input_array(call, 0, MDF_SLOT_OPERANDS);
    double *y = x != NULL ? mdf_python_make(call, mdf_call_target(call, 0), MDF_DTYPE_FLOAT64, MDF_STRENGTH_TYPED, x->rank,
                                            mdf_value_shape(x))
                          : NULL;

    for (size_t i = 0; y != NULL && i < x->length; i++) {
        y[i] =
            function(mdf_element_to_double((mdf_dtype)x->dtype, (const char *)x->data + i * mdf_dtype_size((mdf_dtype)x->dtype)));
    }
    return y != NULL;
}
