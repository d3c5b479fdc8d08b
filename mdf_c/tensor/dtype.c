/* dtype.c - see dtype.h. Elements are converted in two steps, through int64 or float64, in blocks that stay in the cache;
 * pairs that are met often have loops of their own. Small float formats: IEEE 754 binary16, bfloat16, and the float8 and
 * float4 types of ONNX ("Float stored in 8 bits", "Float stored in 4 bits"), bit for bit as ml_dtypes converts them. */
#include "mdf_c/tensor/dtype.h"

#include <string.h>

enum { BLOCK = 256 }; /* elements converted at a time */

static const struct {
    const char *name;
    size_t size;
    char kind;
    int onnx;
} properties[MDF_DTYPE_COUNT + 1] = {
#define ROW(enumerator, name, size, kind, onnx) {name, size, kind, onnx},
    MDF_DTYPE_LIST(ROW)
#undef ROW
    {"none", 0, '?', 0}};

static size_t row_of(mdf_dtype dtype)
{
    return (unsigned)dtype < MDF_DTYPE_COUNT ? (size_t)dtype : MDF_DTYPE_COUNT;
}

const char *mdf_dtype_name(mdf_dtype dtype)
{
    return properties[row_of(dtype)].name;
}

size_t mdf_dtype_size(mdf_dtype dtype)
{
    return properties[row_of(dtype)].size;
}

char mdf_dtype_kind(mdf_dtype dtype)
{
    return properties[row_of(dtype)].kind;
}

int mdf_dtype_to_onnx(mdf_dtype dtype)
{
    return properties[row_of(dtype)].onnx;
}

mdf_dtype mdf_dtype_from_onnx(int64_t data_type)
{
    size_t i;

    for (i = 0; i < MDF_DTYPE_COUNT; i++) {
        if (properties[i].onnx == data_type) {
            return (mdf_dtype)i;
        }
    }
    return MDF_DTYPE_NONE;
}

/* ------------------------------------------------------------------ names of types */

struct type_name {
    const char *name;
    mdf_dtype dtype;
    bool exact;
};

/* What MDF, numpy and ml_dtypes say besides the names of MDF_DTYPE_LIST. */
static const struct type_name plain_names[] = {
    {"float", MDF_DTYPE_FLOAT64, false},      {"int", MDF_DTYPE_INT64, false},
    {"double", MDF_DTYPE_FLOAT64, true},      {"half", MDF_DTYPE_FLOAT16, true},
    {"single", MDF_DTYPE_FLOAT32, true},      {"complex", MDF_DTYPE_COMPLEX128, true},
    {"str", MDF_DTYPE_STRING, true},          {"object", MDF_DTYPE_STRING, true},
    {"bool_", MDF_DTYPE_BOOL, true},          {"boolean", MDF_DTYPE_BOOL, true},
    {"float4e2m1", MDF_DTYPE_FLOAT4E2M1FN, true}, {"float8e4m3fn", MDF_DTYPE_FLOAT8E4M3FN, true},
    {"float8e4m3fnuz", MDF_DTYPE_FLOAT8E4M3FNUZ, true}, {"float8e5m2", MDF_DTYPE_FLOAT8E5M2, true},
    {"float8e5m2fnuz", MDF_DTYPE_FLOAT8E5M2FNUZ, true}, {"float8e8m0", MDF_DTYPE_FLOAT8E8M0, true},
    {"Tensor", MDF_DTYPE_NONE, false},        {"tensor", MDF_DTYPE_NONE, false},
    {NULL, MDF_DTYPE_NONE, false}};

/* What ONNX says otherwise inside tensor(...). */
static const struct type_name onnx_names[] = {{"float", MDF_DTYPE_FLOAT32, true}, {NULL, MDF_DTYPE_NONE, false}};

static bool same_text(const char *name, const char *text, size_t length)
{
    return strlen(name) == length && memcmp(name, text, length) == 0;
}

static bool find_name(const struct type_name *names, const char *text, size_t length, struct mdf_declared_type *type)
{
    for (; names->name != NULL; names++) {
        if (same_text(names->name, text, length)) {
            type->dtype = names->dtype;
            type->exact = names->exact;
            return true;
        }
    }
    return false;
}

static bool find_property(const char *text, size_t length, struct mdf_declared_type *type)
{
    size_t i;

    for (i = 0; i < MDF_DTYPE_COUNT; i++) {
        if (same_text(properties[i].name, text, length)) {
            type->dtype = (mdf_dtype)i;
            type->exact = true;
            return true;
        }
    }
    return false;
}

/* Takes "prefix" off the front and ")" off the end of a text. */
static bool unwrap(const char **text, size_t *length, const char *prefix)
{
    size_t n = strlen(prefix);

    if (*length <= n || memcmp(*text, prefix, n) != 0 || (*text)[*length - 1] != ')') {
        return false;
    }
    *text += n;
    *length -= n + 1;
    return true;
}

bool mdf_parse_type(const char *text, struct mdf_declared_type *type)
{
    size_t length;

    memset(type, 0, sizeof *type);
    type->dtype = MDF_DTYPE_NONE;
    if (text == NULL) {
        return false;
    }
    text += strspn(text, " \t\r\n");
    for (length = strlen(text); length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL; length--) {
    }
    type->optional = unwrap(&text, &length, "optional(");
    type->sequence = unwrap(&text, &length, "seq(");
    if (unwrap(&text, &length, "tensor(")) {
        return find_name(onnx_names, text, length, type) || find_name(plain_names, text, length, type) ||
               find_property(text, length, type);
    }
    return find_name(plain_names, text, length, type) || find_property(text, length, type);
}

/* ------------------------------------------------------------------ promotion */

/* bool < integer < real < complex; strings and no type stand apart. */
static int kind_rank(mdf_dtype dtype)
{
    switch (mdf_dtype_kind(dtype)) {
    case 'b':
        return 0;
    case 'i':
    case 'u':
        return 1;
    case 'f':
        return 2;
    case 'c':
        return 3;
    default:
        return -1;
    }
}

static int integer_bits(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_INT2:
    case MDF_DTYPE_UINT2:
        return 2;
    case MDF_DTYPE_INT4:
    case MDF_DTYPE_UINT4:
        return 4;
    default:
        return (int)mdf_dtype_size(dtype) * 8;
    }
}

static mdf_dtype promote_integers(mdf_dtype a, mdf_dtype b)
{
    int bits, a_bits = integer_bits(a), b_bits = integer_bits(b);

    if (mdf_dtype_kind(a) == mdf_dtype_kind(b)) {
        return a_bits >= b_bits ? a : b;
    }
    if (mdf_dtype_kind(a) == 'u') {
        return promote_integers(b, a);
    }
    bits = b_bits < a_bits ? a_bits : b_bits * 2; /* a is the signed one, which must hold all of b */
    switch (bits) {
    case 4:
        return MDF_DTYPE_INT4;
    case 8:
        return MDF_DTYPE_INT8;
    case 16:
        return MDF_DTYPE_INT16;
    case 32:
        return MDF_DTYPE_INT32;
    case 64:
        return MDF_DTYPE_INT64;
    default:
        return MDF_DTYPE_FLOAT64;
    }
}

/* Of two different types below float64 neither holds the other, but float32 holds both. */
static mdf_dtype promote_reals(mdf_dtype a, mdf_dtype b)
{
    if (a == b) {
        return a;
    }
    return a == MDF_DTYPE_FLOAT64 || b == MDF_DTYPE_FLOAT64 ? MDF_DTYPE_FLOAT64 : MDF_DTYPE_FLOAT32;
}

/* The real type that a bool or integer asks for; NONE: any will do. */
static mdf_dtype real_for(mdf_dtype integer)
{
    int bits = mdf_dtype_kind(integer) == 'b' ? 1 : integer_bits(integer);

    if (bits <= 8) {
        return MDF_DTYPE_NONE;
    }
    return bits <= 16 ? MDF_DTYPE_FLOAT32 : MDF_DTYPE_FLOAT64;
}

/* numpy's result_type of two typed arrays, `a` being of the higher kind. */
static mdf_dtype promote_ordered(mdf_dtype a, mdf_dtype b)
{
    int a_rank = kind_rank(a), b_rank = kind_rank(b);
    mdf_dtype real = b;

    if (b_rank == 0) {
        return a;
    }
    if (a_rank == 1) {
        return promote_integers(a, b);
    }
    if (b_rank == 1) {
        real = real_for(b);
    }
    if (a_rank == 2) {
        return real == MDF_DTYPE_NONE ? a : promote_reals(a, real);
    }
    return real == MDF_DTYPE_FLOAT64 || real == MDF_DTYPE_COMPLEX128 ? MDF_DTYPE_COMPLEX128 : a;
}

static mdf_dtype promote_typed(mdf_dtype a, mdf_dtype b)
{
    return kind_rank(a) >= kind_rank(b) ? promote_ordered(a, b) : promote_ordered(b, a);
}

static mdf_dtype promote_weak(mdf_dtype typed, mdf_dtype weak, mdf_dtype real)
{
    bool wide = typed == MDF_DTYPE_FLOAT64 || (kind_rank(typed) < 2 && real != MDF_DTYPE_FLOAT32);

    if (kind_rank(weak) <= kind_rank(typed)) {
        return typed;
    }
    switch (kind_rank(weak)) {
    case 1:
        return MDF_DTYPE_INT64;
    case 2:
        return real;
    default:
        return wide ? MDF_DTYPE_COMPLEX128 : MDF_DTYPE_COMPLEX64;
    }
}

mdf_dtype mdf_promote(mdf_dtype a, enum mdf_strength a_strength, mdf_dtype b, enum mdf_strength b_strength, mdf_dtype real)
{
    bool a_typed = a_strength == MDF_STRENGTH_TYPED, b_typed = b_strength == MDF_STRENGTH_TYPED;
    mdf_dtype common;

    if (kind_rank(a) < 0 || kind_rank(b) < 0) {
        return a == b ? a : MDF_DTYPE_NONE;
    }
    if (a_typed != b_typed) {
        return a_typed ? promote_weak(a, b, real) : promote_weak(b, a, real);
    }
    common = promote_typed(a, b);
    return !a_typed && common == MDF_DTYPE_FLOAT64 && real == MDF_DTYPE_FLOAT32 ? MDF_DTYPE_FLOAT32 : common;
}

/* ------------------------------------------------------------------ small float formats */

static uint32_t bits_of_float(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A binary format. Magnitudes (the bits without the sign) order as the numbers do; `overflow` stands for what is past
 * `largest`, NaN is `nan`. */
struct format {
    int mantissa_bits, bias;
    uint32_t sign_bit;
    uint32_t largest, overflow, nan;
    bool unsigned_zero; /* one zero, one NaN, both without sign */
};

static const struct format float16_format = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, false};
static const struct format bfloat16_format = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, false};
static const struct format float4e2m1fn_format = {1, 1, 0x8, 0x7, 0x7, 0x0, false};
static const struct format float8e4m3fn_format = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false};
static const struct format float8e4m3fnuz_format = {3, 8, 0x80, 0x7f, 0x80, 0x80, true};
static const struct format float8e5m2_format = {2, 15, 0x80, 0x7b, 0x7c, 0x7e, false};
static const struct format float8e5m2fnuz_format = {2, 16, 0x80, 0x7f, 0x80, 0x80, true};

static const struct format *format_of(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT4E2M1FN:
        return &float4e2m1fn_format;
    case MDF_DTYPE_FLOAT8E4M3FNUZ:
        return &float8e4m3fnuz_format;
    case MDF_DTYPE_FLOAT8E5M2:
        return &float8e5m2_format;
    case MDF_DTYPE_FLOAT8E5M2FNUZ:
        return &float8e5m2fnuz_format;
    case MDF_DTYPE_FLOAT16:
        return &float16_format;
    case MDF_DTYPE_BFLOAT16:
        return &bfloat16_format;
    default:
        return &float8e4m3fn_format;
    }
}

/* The magnitude of a finite positive number given as exponent and 53-bit significand, rounded to nearest even: a carry
 * out of the mantissa runs into the exponent, as it should. May be past `largest`. */
static uint64_t round_magnitude(const struct format *format, int exponent, uint64_t significand)
{
    int lowest = 1 - format->bias, kept = exponent < lowest ? lowest : exponent;
    int shift = 52 - format->mantissa_bits + (kept - exponent);
    uint64_t half, rounded;

    if (shift > 54) {
        return 0;
    }
    half = (uint64_t)1 << (shift - 1);
    rounded = (significand + half - 1 + (significand >> shift & 1)) >> shift;
    return ((uint64_t)(kept + format->bias - 1) << format->mantissa_bits) + rounded;
}

static uint32_t encode(const struct format *format, double value, bool saturate)
{
    uint64_t bits, significand, magnitude;
    uint32_t sign;
    int exponent;

    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 63 != 0 ? format->sign_bit : 0;
    exponent = (int)(bits >> 52 & 0x7ff);
    significand = bits & (((uint64_t)1 << 52) - 1);
    if (exponent == 0x7ff && significand != 0) {
        if (format == &float4e2m1fn_format) {
            return sign ^ format->sign_bit; /* has no NaN: ml_dtypes gives a zero */
        }
        return format->unsigned_zero ? format->nan : sign | format->nan;
    }
    if (exponent == 0) {
        exponent = 1;
    } else {
        significand |= (uint64_t)1 << 52;
    }
    magnitude = round_magnitude(format, exponent - 1023, significand);
    if (magnitude > format->largest) {
        magnitude = saturate ? format->largest : format->overflow;
        return format->unsigned_zero && !saturate ? format->nan : sign | (uint32_t)magnitude;
    }
    return magnitude == 0 && format->unsigned_zero ? 0 : sign | (uint32_t)magnitude;
}

static float decode(const struct format *format, uint32_t bits)
{
    uint32_t sign = (bits & format->sign_bit) != 0 ? 0x80000000u : 0, magnitude = bits & (format->sign_bit - 1), shifted;
    float scale;

    if (format->unsigned_zero && bits == format->nan) {
        return float_of_bits(0x7fc00000u);
    }
    if (!format->unsigned_zero && format->largest != format->overflow && magnitude > format->largest) {
        bool infinite = format->overflow != format->nan && magnitude == format->overflow;

        return float_of_bits(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
    }
    /* As float32 with its own bias, then scaled by the difference: exact, for subnormal numbers too. */
    shifted = magnitude << (23 - format->mantissa_bits);
    scale = float_of_bits((uint32_t)(127 + 127 - format->bias) << 23);
    return float_of_bits(sign | bits_of_float(float_of_bits(shifted) * scale));
}

/* float8_e8m0fnu: a power of two. Rounds to nearest, half upward; 0, negative numbers and what is too large have none. */
static uint8_t encode_power(double value, bool saturate)
{
    uint64_t bits;
    int exponent;

    memcpy(&bits, &value, sizeof bits);
    if (value != value || bits >> 63 != 0) {
        return 0xff;
    }
    if (value < 0x1p-127) {
        return value == 0 && !saturate ? 0xff : 0;
    }
    exponent = (int)(bits >> 52) - 1023 + (int)(bits >> 51 & 1);
    if (exponent > 127) {
        return saturate ? 0xfe : 0xff;
    }
    return (uint8_t)(exponent + 127);
}

static float decode_power(uint8_t bits)
{
    if (bits == 0xff) {
        return float_of_bits(0x7fc00000u);
    }
    return float_of_bits(bits == 0 ? 0x00400000u : (uint32_t)bits << 23);
}

float mdf_float16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, magnitude = (uint32_t)(bits & 0x7fff) << 13;
    uint32_t finite = bits_of_float(float_of_bits(magnitude) * 0x1p112f);

    return float_of_bits(sign | (magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite));
}

uint16_t mdf_float16_from_float(float value)
{
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1) - (112u << 23)) >> 13; /* rounded to 10 bits, rebiased */
    /* Adding 0.5 aligns a small number's bits with those of a subnormal binary16; the addition rounds. */
    uint32_t small = bits_of_float(float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t special = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x3ff) : 0x7c00u;
    uint32_t finite = magnitude < 0x38800000u ? small : normal;

    return (uint16_t)(sign | (magnitude >= 0x47800000u ? special : finite));
}

uint16_t mdf_float16_from_double(double value)
{
    return (uint16_t)encode(&float16_format, value, false);
}

float mdf_bfloat16_to_float(uint16_t bits)
{
    return float_of_bits((uint32_t)bits << 16);
}

uint16_t mdf_bfloat16_from_float(float value)
{
    uint32_t bits = bits_of_float(value), rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    uint32_t nan = (bits >> 16 & 0x8000) | 0x7fc0u;

    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

uint16_t mdf_bfloat16_from_double(double value)
{
    return (uint16_t)encode(&bfloat16_format, value, false);
}

float mdf_float8_to_float(mdf_dtype dtype, uint8_t bits)
{
    if (dtype == MDF_DTYPE_FLOAT8E8M0) {
        return decode_power(bits);
    }
    return decode(format_of(dtype), dtype == MDF_DTYPE_FLOAT4E2M1FN ? bits & 0xf : bits);
}

static uint8_t float8_from_double(mdf_dtype dtype, double value, bool saturate)
{
    return dtype == MDF_DTYPE_FLOAT8E8M0 ? encode_power(value, saturate) : (uint8_t)encode(format_of(dtype), value, saturate);
}

uint8_t mdf_float8_from_float(mdf_dtype dtype, float value, bool saturate)
{
    return float8_from_double(dtype, (double)value, saturate);
}

/* ------------------------------------------------------------------ elements, through int64 or float64 */

/* What the instruction cvttsd2si gives, and with it numpy on x86. */
static int64_t truncate_to_int64(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

static int32_t truncate_to_int32(double value)
{
    return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}

static uint64_t truncate_to_uint64(double value)
{
    if (value < 0x1p63 || value != value) {
        return (uint64_t)truncate_to_int64(value);
    }
    return (uint64_t)truncate_to_int64(value - 0x1p63) ^ (uint64_t)1 << 63;
}

/* Two's complement numbers of the lowest `bits` bits. */
static int8_t sign_extend(int64_t value, int bits)
{
    int sign = 1 << (bits - 1);

    return (int8_t)(((int)(value & (2 * sign - 1)) ^ sign) - sign);
}

/* X(type, C type that holds it, element x as int64) */
#define INTEGER_LIST(X)                                                                                                \
    X(BOOL, uint8_t, x != 0)                                                                                           \
    X(INT2, int8_t, sign_extend(x, 2))                                                                                 \
    X(INT4, int8_t, sign_extend(x, 4))                                                                                 \
    X(INT8, int8_t, x)                                                                                                 \
    X(INT16, int16_t, x)                                                                                               \
    X(INT32, int32_t, x)                                                                                               \
    X(INT64, int64_t, x)                                                                                               \
    X(UINT2, uint8_t, x & 3)                                                                                           \
    X(UINT4, uint8_t, x & 15)                                                                                          \
    X(UINT8, uint8_t, x)                                                                                               \
    X(UINT16, uint16_t, x)                                                                                             \
    X(UINT32, uint32_t, x)                                                                                             \
    X(UINT64, uint64_t, x)

/* X(type, C type that holds it, element x as float64) for reals; complex numbers stand beside it. */
#define REAL_LIST(X)                                                                                                   \
    X(FLOAT4E2M1FN, uint8_t, mdf_float8_to_float(MDF_DTYPE_FLOAT4E2M1FN, x))                                           \
    X(FLOAT8E4M3FN, uint8_t, mdf_float8_to_float(MDF_DTYPE_FLOAT8E4M3FN, x))                                           \
    X(FLOAT8E4M3FNUZ, uint8_t, mdf_float8_to_float(MDF_DTYPE_FLOAT8E4M3FNUZ, x))                                       \
    X(FLOAT8E5M2, uint8_t, mdf_float8_to_float(MDF_DTYPE_FLOAT8E5M2, x))                                               \
    X(FLOAT8E5M2FNUZ, uint8_t, mdf_float8_to_float(MDF_DTYPE_FLOAT8E5M2FNUZ, x))                                       \
    X(FLOAT8E8M0, uint8_t, mdf_float8_to_float(MDF_DTYPE_FLOAT8E8M0, x))                                               \
    X(FLOAT16, uint16_t, mdf_float16_to_float(x))                                                                      \
    X(BFLOAT16, uint16_t, mdf_bfloat16_to_float(x))                                                                    \
    X(FLOAT32, float, x)                                                                                               \
    X(FLOAT64, double, x)

/* X(type, C type that holds it, int64 x as element) */
#define FROM_INTEGER_LIST(X)                                                                                           \
    X(BOOL, uint8_t, x != 0)                                                                                           \
    X(INT2, int8_t, sign_extend(x, 2))                                                                                 \
    X(INT4, int8_t, sign_extend(x, 4))                                                                                 \
    X(INT8, int8_t, x)                                                                                                 \
    X(INT16, int16_t, x)                                                                                               \
    X(INT32, int32_t, x)                                                                                               \
    X(INT64, int64_t, x)                                                                                               \
    X(UINT2, uint8_t, x & 3)                                                                                           \
    X(UINT4, uint8_t, x & 15)                                                                                          \
    X(UINT8, uint8_t, x)                                                                                               \
    X(UINT16, uint16_t, x)                                                                                             \
    X(UINT32, uint32_t, x)                                                                                             \
    X(UINT64, uint64_t, x)                                                                                             \
    X(FLOAT32, float, x)                                                                                               \
    X(FLOAT64, double, x)

/* X(type, C type that holds it, float64 x as element) */
#define FROM_REAL_LIST(X)                                                                                              \
    X(BOOL, uint8_t, x != 0)                                                                                           \
    X(INT2, int8_t, sign_extend(truncate_to_int32(x), 2))                                                              \
    X(INT4, int8_t, sign_extend(truncate_to_int32(x), 4))                                                              \
    X(INT8, int8_t, truncate_to_int32(x))                                                                              \
    X(INT16, int16_t, truncate_to_int32(x))                                                                            \
    X(INT32, int32_t, truncate_to_int32(x))                                                                            \
    X(INT64, int64_t, truncate_to_int64(x))                                                                            \
    X(UINT2, uint8_t, truncate_to_int32(x) & 3)                                                                        \
    X(UINT4, uint8_t, truncate_to_int32(x) & 15)                                                                       \
    X(UINT8, uint8_t, truncate_to_int32(x))                                                                            \
    X(UINT16, uint16_t, truncate_to_int32(x))                                                                          \
    X(UINT32, uint32_t, truncate_to_int64(x))                                                                          \
    X(UINT64, uint64_t, truncate_to_uint64(x))                                                                         \
    X(FLOAT4E2M1FN, uint8_t, float8_from_double(MDF_DTYPE_FLOAT4E2M1FN, x, saturate))                                  \
    X(FLOAT8E4M3FN, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E4M3FN, x, saturate))                                  \
    X(FLOAT8E4M3FNUZ, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E4M3FNUZ, x, saturate))                              \
    X(FLOAT8E5M2, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E5M2, x, saturate))                                      \
    X(FLOAT8E5M2FNUZ, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E5M2FNUZ, x, saturate))                              \
    X(FLOAT8E8M0, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E8M0, x, saturate))                                      \
    X(FLOAT16, uint16_t, mdf_float16_from_double(x))                                                                   \
    X(BFLOAT16, uint16_t, mdf_bfloat16_from_double(x))                                                                 \
    X(FLOAT32, float, x)                                                                                               \
    X(FLOAT64, double, x)

/* One case of a switch over types: a loop over `n` elements of `source`. */
#define LOOP_CASE(name, source_type, target_type, expression)                                                          \
    case MDF_DTYPE_##name: {                                                                                           \
        const source_type *in = source;                                                                                \
        target_type *out = target;                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                               \
            source_type x = in[i];                                                                                     \
            out[i] = (target_type)(expression);                                                                        \
        }                                                                                                              \
        break;                                                                                                         \
    }

static void load_int64(mdf_dtype dtype, int64_t *target, const void *source, size_t n)
{
    switch (dtype) {
#define CASE(name, type, expression) LOOP_CASE(name, type, int64_t, expression)
        INTEGER_LIST(CASE)
#undef CASE
    default:
        break;
    }
}

/* The real part of complex numbers. */
static void load_double(mdf_dtype dtype, double *target, const void *source, size_t n)
{
    switch (dtype) {
#define CASE(name, type, expression) LOOP_CASE(name, type, double, expression)
        INTEGER_LIST(CASE)
        REAL_LIST(CASE)
#undef CASE
    case MDF_DTYPE_COMPLEX64:
        for (size_t i = 0; i < n; i++) {
            target[i] = (double)((const float *)source)[2 * i];
        }
        break;
    case MDF_DTYPE_COMPLEX128:
        for (size_t i = 0; i < n; i++) {
            target[i] = ((const double *)source)[2 * i];
        }
        break;
    default:
        break;
    }
}

/* Imaginary parts of complex numbers, 0 of others. */
static void load_imaginary(mdf_dtype dtype, double *target, const void *source, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (dtype == MDF_DTYPE_COMPLEX64) {
            target[i] = (double)((const float *)source)[2 * i + 1];
        } else {
            target[i] = dtype == MDF_DTYPE_COMPLEX128 ? ((const double *)source)[2 * i + 1] : 0;
        }
    }
}

static void store_int64(mdf_dtype dtype, void *target, const int64_t *source, size_t n)
{
    switch (dtype) {
#define CASE(name, type, expression) LOOP_CASE(name, int64_t, type, expression)
        FROM_INTEGER_LIST(CASE)
#undef CASE
    default:
        break;
    }
}

static void store_double(mdf_dtype dtype, void *target, const double *source, size_t n, bool saturate)
{
    switch (dtype) {
#define CASE(name, type, expression) LOOP_CASE(name, double, type, expression)
        FROM_REAL_LIST(CASE)
#undef CASE
    default:
        break;
    }
}

static void store_complex(mdf_dtype dtype, void *target, const double *real, const double *imaginary, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (dtype == MDF_DTYPE_COMPLEX64) {
            ((float *)target)[2 * i] = (float)real[i];
            ((float *)target)[2 * i + 1] = (float)imaginary[i];
        } else {
            ((double *)target)[2 * i] = real[i];
            ((double *)target)[2 * i + 1] = imaginary[i];
        }
    }
}

static void convert_block(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n, bool saturate)
{
    int64_t integers[BLOCK];
    double reals[BLOCK], imaginary[BLOCK];
    int source_rank = kind_rank(source_dtype), target_rank = kind_rank(target_dtype);
    size_t i;

    if (source_rank <= 1 && (target_rank <= 1 || (target_dtype == MDF_DTYPE_FLOAT32 && source_dtype != MDF_DTYPE_UINT64))) {
        load_int64(source_dtype, integers, source, n);
        store_int64(target_dtype, target, integers, n);
        return;
    }
    load_double(source_dtype, reals, source, n);
    if (target_rank < 3 && (source_rank < 3 || target_rank > 0)) {
        store_double(target_dtype, target, reals, n, saturate);
        return;
    }
    load_imaginary(source_dtype, imaginary, source, n);
    if (target_rank == 3) {
        store_complex(target_dtype, target, reals, imaginary, n);
        return;
    }
    for (i = 0; i < n; i++) {
        ((uint8_t *)target)[i] = reals[i] != 0 || imaginary[i] != 0;
    }
}

enum { PAIR = 32 }; /* more than there are types */

/* Pairs with a loop of their own: false where this is none. */
static bool convert_directly(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n)
{
    if (target_dtype == source_dtype) {
        memmove(target, source, n * mdf_dtype_size(source_dtype));
        return true;
    }
#define PAIR_CASE(target_name, target_type, source_name, source_type, expression)                                      \
    case MDF_DTYPE_##target_name * PAIR + MDF_DTYPE_##source_name: {                                                   \
        const source_type *in = source;                                                                                \
        target_type *out = target;                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                               \
            source_type x = in[i];                                                                                     \
            out[i] = (target_type)(expression);                                                                        \
        }                                                                                                              \
        return true;                                                                                                   \
    }
    switch ((int)target_dtype * PAIR + (int)source_dtype) {
        PAIR_CASE(FLOAT64, double, FLOAT32, float, x)
        PAIR_CASE(FLOAT32, float, FLOAT64, double, x)
        PAIR_CASE(FLOAT64, double, INT64, int64_t, x)
        PAIR_CASE(FLOAT32, float, UINT64, uint64_t, x)
        PAIR_CASE(FLOAT32, float, FLOAT16, uint16_t, mdf_float16_to_float(x))
        PAIR_CASE(FLOAT32, float, BFLOAT16, uint16_t, mdf_bfloat16_to_float(x))
        PAIR_CASE(FLOAT16, uint16_t, FLOAT32, float, mdf_float16_from_float(x))
        PAIR_CASE(BFLOAT16, uint16_t, FLOAT32, float, mdf_bfloat16_from_float(x))
    default:
        return false;
    }
#undef PAIR_CASE
}

bool mdf_convert_elements(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n, bool saturate)
{
    size_t target_size = mdf_dtype_size(target_dtype), source_size = mdf_dtype_size(source_dtype), first;

    if (kind_rank(target_dtype) < 0 || kind_rank(source_dtype) < 0) {
        return false;
    }
    if (n == 0 || convert_directly(target_dtype, target, source_dtype, source, n)) {
        return true;
    }
    for (first = 0; first < n; first += BLOCK) {
        convert_block(target_dtype, (char *)target + first * target_size, source_dtype, (const char *)source + first * source_size,
                      n - first < BLOCK ? n - first : BLOCK, saturate);
    }
    return true;
}

double mdf_element_to_double(mdf_dtype dtype, const void *element)
{
    double real = 0;

    load_double(dtype, &real, element, 1);
    return real;
}

int64_t mdf_element_to_int64(mdf_dtype dtype, const void *element)
{
    int64_t integer = 0;

    if (kind_rank(dtype) <= 1) {
        load_int64(dtype, &integer, element, 1);
        return integer;
    }
    return truncate_to_int64(mdf_element_to_double(dtype, element));
}
