/* cast.c - Cast CastLike BitCast: an array's elements as another type.
 *
 * Numbers out of range: see mdf_convert_elements. Text is read as Python reads numbers ("1e-5", "INF", "nan"); numbers are
 * written with the fewest digits that read back to the same value, as Python and numpy write them. Sources: the ONNX operators of
 * these names. */
#include "functions/kernel/move.h"
#include "functions/kernel/operator.h"
#include "functions/kernel/routine.h"
#include "mdf_c/base/text.h"
#include "mdf_c/tensor/small_floats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct cast_settings {
    mdf_dtype to;
    const char *to_name; /* version 1: "FLOAT" */
    int64_t saturate;
    const char *round_mode;
};

/* How numbers become float8_e8m0fnu: as cast_routine.inc has it. */
enum rounding { ROUND_UP };

#include "functions/kernel/number_routine.inc"
#include "mdf_c/tensor/half_floats.inc"
#include "mdf_c/tensor/small_floats.inc"
#include "functions/elements/cast_routine.inc"

struct conversion {
    mdf_dtype source, target;
    bool saturate;
    enum rounding rounding;
};

/* ------------------------------------------------------------------ float8_e8m0fnu */

static void convert_to_powers(const struct conversion *conversion, uint8_t *target, const void *source, size_t n)
{
    const char *element = source;
    size_t i, size = mdf_dtype_size(conversion->source);

    for (i = 0; i < n; i++) {
        double value = mdf_element_to_double(conversion->source, element + i * size);

        target[i] = mdf_power_of((double)(float)value, conversion->rounding, conversion->saturate);
    }
}

/* ------------------------------------------------------------------ numbers as text */

enum { TEXT_SIZE = 64 };

/* The value with the fewest decimal digits that a small float type rounds to the given element. */
static double shortest_of_small(mdf_dtype dtype, const void *element)
{
    double value = mdf_element_to_double(dtype, element), candidate = value;

    for (int digits = 0; digits < 9 && isfinite(value); digits++) {
        char text[TEXT_SIZE];
        uint16_t bits = 0;

        /* The process's locale may write another sign than the point behind the first digit. */
        snprintf(text, sizeof text, "%.*e", digits, value);
        if (digits > 0) {
            text[value < 0 || (value == 0 && signbit(value)) ? 2 : 1] = '.';
        }
        candidate = mdf_parse_real(text, strlen(text));
        mdf_convert_elements(dtype, &bits, MDF_DTYPE_FLOAT64, &candidate, 1, false);
        if (memcmp(&bits, element, mdf_dtype_size(dtype)) == 0) {
            return candidate;
        }
    }
    return value;
}

/* The digits of a decimal number without leading and trailing zeros, and the place of the point: 0.d1d2d3 * 10^point. */
static size_t split_decimal(const char *text, char digits[TEXT_SIZE], int *point)
{
    size_t n = 0;
    bool behind_point = false;

    *point = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text == '.') {
            behind_point = true;
        } else if (mdf_is_digit(*text) && (n > 0 || *text != '0')) {
            digits[n++] = *text;
            *point += !behind_point;
        } else if (*text == '0' && behind_point) {
            *point -= 1;
        }
    }
    if (*text == 'e') {
        int exponent = 0;
        bool negative = text[1] == '-';

        for (text += 1 + (text[1] == '-' || text[1] == '+'); mdf_is_digit(*text); text++) {
            exponent = exponent * 10 + (*text - '0');
        }
        *point += negative ? -exponent : exponent;
    }
    while (n > 0 && digits[n - 1] == '0') {
        n--;
    }
    return n;
}

/* As repr of Python: plain between 1e-4 and 1e16, "1.5e-05" beyond. `text` holds any decimal form, and the result. */
static void write_like_python(char text[TEXT_SIZE])
{
    char digits[TEXT_SIZE], result[TEXT_SIZE], *out = result;
    int point;
    int n = (int)split_decimal(text, digits, &point);

    if (text[0] == '-') {
        *out++ = '-';
    }
    if (n == 0) {
        out += sprintf(out, "0.0");
    } else if (point > 16 || point < -3) {
        out += sprintf(out, n > 1 ? "%c.%.*s" : "%c", digits[0], n - 1, digits + 1);
        out += sprintf(out, "e%c%02d", point > 0 ? '+' : '-', point > 0 ? point - 1 : 1 - point);
    } else if (point <= 0) {
        out += sprintf(out, "0.");
        for (int i = point; i < 0; i++) {
            *out++ = '0';
        }
        out += sprintf(out, "%.*s", n, digits);
    } else {
        for (int i = 0; i < point || i < n || i == point; i++) {
            if (i == point) {
                *out++ = '.';
            }
            *out++ = i < n ? digits[i] : '0';
        }
    }
    *out = '\0';
    memcpy(text, result, (size_t)(out - result) + 1);
}

static void write_real(mdf_dtype dtype, const void *element, char text[TEXT_SIZE])
{
    double value = mdf_element_to_double(dtype, element);

    if (!isfinite(value)) {
        strcpy(text, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    if (dtype == MDF_DTYPE_FLOAT32) {
        mdf_format_float32((float)value, text);
    } else {
        mdf_format_float64(dtype == MDF_DTYPE_FLOAT64 ? value : shortest_of_small(dtype, element), text);
    }
    write_like_python(text);
}

static void write_number(mdf_dtype dtype, const void *element, char text[TEXT_SIZE])
{
    int64_t integer;

    if (mdf_dtype_kind(dtype) == 'f') {
        write_real(dtype, element, text);
        return;
    }
    integer = mdf_element_to_int64(dtype, element);
    if (dtype == MDF_DTYPE_BOOL) {
        strcpy(text, integer != 0 ? "True" : "False");
    } else if (dtype == MDF_DTYPE_UINT64) {
        snprintf(text, TEXT_SIZE, "%llu", (unsigned long long)integer);
    } else {
        snprintf(text, TEXT_SIZE, "%lld", (long long)integer);
    }
}

static bool convert_to_text(struct mdf_call *call, mdf_dtype source_dtype, char **target, const void *source, size_t n)
{
    const char *element = source;
    size_t i, size = mdf_dtype_size(source_dtype);

    for (i = 0; i < n; i++) {
        char text[TEXT_SIZE];

        write_number(source_dtype, element + i * size, text);
        target[i] = mdf_string_new(call->context->memory, text, strlen(text));
        if (target[i] == NULL) {
            return mdf_call_out_of_memory(call);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ text as numbers */

/* A whole number past int64 that uint64 holds. */
static bool read_large(const char *text, uint64_t *large)
{
    uint64_t value = 0;

    text += strspn(text, " \t\n\r");
    text += *text == '+';
    if (!mdf_is_digit(*text)) {
        return false;
    }
    for (; mdf_is_digit(*text); text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    *large = value;
    return text[strspn(text, " \t\n\r")] == '\0';
}

/* "True" and "False" are what bools are written as. */
static bool read_truth(const char *text, int64_t *truth)
{
    static const char *const words[2] = {"false", "true"};
    size_t i;

    for (size_t word = 0; word < 2; word++) {
        for (i = 0; words[word][i] != '\0' && (text[i] | 0x20) == words[word][i]; i++) {
        }
        if (words[word][i] == '\0' && text[i] == '\0') {
            *truth = (int64_t)word;
            return true;
        }
    }
    return false;
}

static bool convert_text(const struct conversion *conversion, void *target, const char *text)
{
    mdf_dtype dtype = conversion->target;
    int64_t integer = 0;
    uint64_t large;
    double real = 0;
    bool is_integer = false;

    text = text != NULL ? text : "";
    if (dtype == MDF_DTYPE_BOOL && read_truth(text, &integer)) {
        return mdf_convert_elements(dtype, target, MDF_DTYPE_INT64, &integer, 1, false);
    }
    if (!mdf_parse_python_number(text, &real, &integer, &is_integer)) {
        return false;
    }
    if (mdf_dtype_kind(dtype) != 'f') {
        if (is_integer) {
            return mdf_convert_elements(dtype, target, MDF_DTYPE_INT64, &integer, 1, false);
        }
        if (read_large(text, &large)) {
            return mdf_convert_elements(dtype, target, MDF_DTYPE_UINT64, &large, 1, false);
        }
    }
    if (dtype == MDF_DTYPE_FLOAT8E8M0) {
        *(uint8_t *)target = mdf_power_of(real, conversion->rounding, conversion->saturate);
        return true;
    }
    return mdf_convert_elements(dtype, target, MDF_DTYPE_FLOAT64, &real, 1, conversion->saturate);
}

static bool convert_from_text(struct mdf_call *call, const struct conversion *conversion, void *target, const char *const *source,
                              size_t n)
{
    size_t i, size = mdf_dtype_size(conversion->target);

    for (i = 0; i < n; i++) {
        if (!convert_text(conversion, (char *)target + i * size, source[i])) {
            return mdf_call_error(call, MDF_VALUE, "element %zu, \"%.100s\", is not a number", i,
                                  source[i] != NULL ? source[i] : "");
        }
    }
    return true;
}

/* ------------------------------------------------------------------ kernels */

static bool cast(struct mdf_call *call, const struct mdf_value *x, const struct conversion *conversion)
{
    mdf_dtype source = conversion->source, target = conversion->target;
    void *elements;

    if (source == target) {
        return mdf_call_output_copy(call, 0, x);
    }
    if (mdf_dtype_kind(source) == 'c' && target == MDF_DTYPE_STRING) {
        return mdf_call_error(call, MDF_TYPE, "complex numbers have no form as text");
    }
    elements = mdf_call_output(call, 0, target, x->rank, mdf_value_shape(x));
    if (elements == NULL) {
        return false;
    }
    if (target == MDF_DTYPE_STRING) {
        return convert_to_text(call, source, elements, x->data, x->length);
    }
    if (source == MDF_DTYPE_STRING) {
        return convert_from_text(call, conversion, elements, x->data, x->length);
    }
    if (target == MDF_DTYPE_FLOAT8E8M0) {
        convert_to_powers(conversion, elements, x->data, x->length);
        return true;
    }
    return mdf_value_convert_elements(call->context->memory, target, elements, source, x->data, x->length, conversion->saturate);
}

/* "FLOAT" is "tensor(float)". */
static mdf_dtype dtype_of_name(const char *name)
{
    struct mdf_declared_type type;
    char text[TEXT_SIZE];

    if (name == NULL || strlen(name) > 32) {
        return MDF_DTYPE_NONE;
    }
    snprintf(text, sizeof text, "tensor(%s)", name);
    for (size_t i = 0; text[i] != '\0'; i++) {
        text[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
    }
    return mdf_parse_type(text, &type) ? type.dtype : MDF_DTYPE_NONE;
}

static bool read_rounding(struct mdf_call *call, const char *name, enum rounding *rounding)
{
    static const char *const names[] = {"up", "down", "nearest"};
    size_t i = name != NULL ? MDF_FIND_WORD(name, names) : ROUND_UP;

    *rounding = (enum rounding)i;
    return i != SIZE_MAX ||
           mdf_call_error(call, MDF_VALUE, "attribute 'round_mode' is \"%s\", not \"up\", \"down\" or \"nearest\"", name);
}

static bool cast_to(struct mdf_call *call, mdf_dtype target)
{
    const struct cast_settings *given = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    struct conversion conversion;

    if (x == NULL) {
        return false;
    }
    if (target >= MDF_DTYPE_COUNT) {
        return mdf_call_error(call, MDF_VALUE, "attribute 'to' names no known element type");
    }
    conversion.source = (mdf_dtype)x->dtype;
    conversion.target = target;
    conversion.saturate = given->saturate != 0; /* not given: true, as by default */
    return read_rounding(call, given->round_mode, &conversion.rounding) && cast(call, x, &conversion);
}

static bool run_cast(struct mdf_call *call)
{
    const struct cast_settings *given = call->settings;

    return cast_to(call, given->to);
}

static bool run_cast_by_name(struct mdf_call *call)
{
    const struct cast_settings *given = call->settings;

    return cast_to(call, dtype_of_name(given->to_name));
}

static bool run_cast_like(struct mdf_call *call)
{
    const struct mdf_value *like = mdf_call_tensor(call, 1);

    return like != NULL && cast_to(call, (mdf_dtype)like->dtype);
}

static bool run_bit_cast(struct mdf_call *call)
{
    const struct cast_settings *given = call->settings;
    const struct mdf_value *x = mdf_call_tensor(call, 0);
    mdf_dtype source, target = given->to, whole;
    uint8_t *elements;

    if (x == NULL) {
        return false;
    }
    source = (mdf_dtype)x->dtype;
    if (target >= MDF_DTYPE_COUNT || source == MDF_DTYPE_STRING || target == MDF_DTYPE_STRING ||
        mdf_dtype_bits(source) != mdf_dtype_bits(target)) {
        return mdf_call_error(call, MDF_VALUE, "elements of type %s do not have as many bits as those of type %s",
                              mdf_dtype_name(source), mdf_dtype_name(target));
    }
    elements = mdf_call_output(call, 0, target, x->rank, mdf_value_shape(x));
    if (elements == NULL) {
        return false;
    }
    /* Where a type fills part of its byte, the rest follows the type's rule, which conversion between integers keeps. */
    whole = mdf_dtype_bits(target) == 2 ? MDF_DTYPE_UINT2 : mdf_dtype_bits(target) == 4 ? MDF_DTYPE_UINT4 : MDF_DTYPE_UINT8;
    if (target == MDF_DTYPE_BOOL || target == MDF_DTYPE_INT2 || target == MDF_DTYPE_INT4) {
        return mdf_value_convert_elements(call->context->memory, target, elements, whole, x->data, x->length, false);
    }
    if (mdf_dtype_bits(target) < 8) {
        return mdf_value_convert_elements(call->context->memory, MDF_DTYPE_UINT8, elements, whole, x->data, x->length, false);
    }
    if (x->length > 0) {
        memcpy(elements, x->data, x->length * mdf_dtype_size(target));
    }
    return true;
}

/* As plain C: of types that fill their bytes, bool but for what becomes one. */
static bool plan_bit_cast(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct cast_settings *given = call->settings;

    if (given->to == MDF_DTYPE_BOOL || !mdf_routine_room(plan, 1, 0)) {
        return false;
    }
    plan->dtype = MDF_DTYPE_NONE;
    plan->function = "copy_bits";
    plan->whole[0] = (int64_t)(call->inputs[0]->length * mdf_dtype_size(given->to));
    return true;
}

/* What cast_routine.inc calls a type; 0: it does not know it. */
static char letter_of(mdf_dtype dtype, bool is_target)
{
    static const struct {
        mdf_dtype dtype;
        char letter;
    } letters[] = {{MDF_DTYPE_FLOAT64, 'd'},   {MDF_DTYPE_FLOAT32, 'f'}, {MDF_DTYPE_FLOAT16, 'e'}, {MDF_DTYPE_BFLOAT16, 'g'},
                   {MDF_DTYPE_INT64, 'q'},     {MDF_DTYPE_INT32, 'i'},   {MDF_DTYPE_INT16, 'h'},   {MDF_DTYPE_INT8, 'b'},
                   {MDF_DTYPE_UINT64, 'Q'},    {MDF_DTYPE_UINT32, 'I'},  {MDF_DTYPE_UINT16, 'H'},  {MDF_DTYPE_UINT8, 'B'},
                   {MDF_DTYPE_INT4, 's'},      {MDF_DTYPE_INT2, 's'},    {MDF_DTYPE_UINT4, 'B'},   {MDF_DTYPE_UINT2, 'B'},
                   {MDF_DTYPE_FLOAT8E8M0, 'p'}};

    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (letters[i].dtype == dtype) {
            return letters[i].letter;
        }
    }
    return dtype == MDF_DTYPE_BOOL ? (is_target ? '?' : 'B') : mdf_small_float_format(dtype) != NULL ? 'x' : 0;
}

/* As plain C. */
static bool plan_cast(struct mdf_call *call, struct mdf_routine_plan *plan)
{
    const struct cast_settings *given = call->settings;
    mdf_dtype from = (mdf_dtype)call->inputs[0]->dtype, to = (mdf_dtype)call->outputs[0]->dtype;
    enum { FROM = 7, TO = FROM + MDF_SMALL_FORMAT, CAST_NUMBERS = TO + MDF_SMALL_FORMAT };
    const int64_t *format = mdf_small_float_format(from);
    bool is_whole = mdf_dtype_kind(from) != 'f', becomes_whole = mdf_dtype_kind(to) != 'f';
    enum rounding rounding;

    if (letter_of(from, false) == 0 || letter_of(to, true) == 0 || !read_rounding(call, given->round_mode, &rounding) ||
        !mdf_routine_room(plan, CAST_NUMBERS, 0)) {
        return false;
    }
    plan->dtype = MDF_DTYPE_NONE;
    plan->function = "cast_elements";
    plan->whole[0] = (int64_t)call->inputs[0]->length;
    plan->whole[1] = letter_of(from, false);
    plan->whole[2] = letter_of(to, true);
    plan->whole[3] = given->saturate != 0;
    plan->whole[4] = rounding;
    plan->whole[5] = mdf_dtype_bits(to) < 8 ? mdf_dtype_bits(to) : 8;
    plan->whole[6] = is_whole && becomes_whole                                                     ? 1
                     : is_whole && mdf_dtype_size(from) == 8 && mdf_dtype_size(to) < sizeof(float) ? 2
                                                                                                   : 0;
    if (format != NULL) {
        memcpy(&plan->whole[FROM], format, MDF_SMALL_FORMAT * sizeof *format);
    }
    format = mdf_small_float_format(to);
    if (format != NULL) {
        memcpy(&plan->whole[TO], format, MDF_SMALL_FORMAT * sizeof *format);
    }
    return true;
}

static const struct mdf_setting cast_settings[] = {{"to", MDF_SETTING_DTYPE, offsetof(struct cast_settings, to)},
                                                   {"saturate", MDF_SETTING_INT, offsetof(struct cast_settings, saturate)},
                                                   {"round_mode", MDF_SETTING_STRING, offsetof(struct cast_settings, round_mode)},
                                                   {NULL, MDF_SETTING_INT, 0}};
static const struct mdf_setting cast_by_name_settings[] = {
    {"to", MDF_SETTING_STRING, offsetof(struct cast_settings, to_name)},
    {"saturate", MDF_SETTING_INT, offsetof(struct cast_settings, saturate)}, /* not there: its default */
    {NULL, MDF_SETTING_INT, 0}};

const struct mdf_operator mdf_operators_cast[] = {
    {"Cast", 1, 5, run_cast_by_name, cast_by_name_settings, sizeof(struct cast_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .in_order = true), .derivatives = MDF_DERIVATIVES({0, "dy"}), .infer = &mdf_rule_cast,
     .routine = MDF_ROUTINE(plan_cast, NULL)},
    {"Cast", 6, 99, run_cast, cast_settings, sizeof(struct cast_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .in_order = true), .derivatives = MDF_DERIVATIVES({0, "dy"}), .infer = &mdf_rule_cast,
     .routine = MDF_ROUTINE(plan_cast, NULL)},
    {"CastLike", 15, 99, run_cast_like, cast_settings, sizeof(struct cast_settings), MDF_OPERATOR_PURE, NULL,
     .move = MDF_MOVE(1, .in_order = true), .by_form = 1u << 1,
     .derivatives = MDF_DERIVATIVES({0, "dy"}, {MDF_DERIVATIVE_ANY, NULL}), .routine = MDF_ROUTINE(plan_cast, NULL),
     .infer = &mdf_rule_cast_like},
    {"BitCast", 26, 99, run_bit_cast, cast_settings, sizeof(struct cast_settings), MDF_OPERATOR_PURE, NULL,
     .routine = MDF_ROUTINE(plan_bit_cast, NULL), .infer = &mdf_rule_bit_cast},
    {NULL, 0, 0, NULL, NULL, 0, MDF_OPERATOR_PURE, NULL}};
