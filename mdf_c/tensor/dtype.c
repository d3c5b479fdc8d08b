/* dtype.c - names and properties of element types, and the type that two operands share. See dtype.h.
 *
 * Promotion: numpy's result_type, and NEP 50 for what has no declared type. */
#include "mdf_c/tensor/dtype.h"

#include "mdf_c/base/error.h"
#include "mdf_c/base/text.h"

#include <math.h>
#include <string.h>

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

bool mdf_dtype_is_whole(mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);

    return kind == 'b' || kind == 'i' || kind == 'u';
}

bool mdf_dtype_has_order(mdf_dtype dtype)
{
    char kind = mdf_dtype_kind(dtype);

    return kind != 'c' && kind != 's';
}

bool mdf_dtype_is_half(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT16 || dtype == MDF_DTYPE_BFLOAT16;
}

unsigned mdf_dtype_bits(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_INT2:
    case MDF_DTYPE_UINT2:
        return 2;
    case MDF_DTYPE_INT4:
    case MDF_DTYPE_UINT4:
    case MDF_DTYPE_FLOAT4E2M1FN:
        return 4;
    case MDF_DTYPE_STRING:
        return 0;
    default:
        return 8 * (unsigned)mdf_dtype_size(dtype);
    }
}

mdf_dtype mdf_dtype_in_bytes(mdf_dtype dtype)
{
    if (mdf_dtype_bits(dtype) >= 8 || (mdf_dtype_kind(dtype) != 'i' && mdf_dtype_kind(dtype) != 'u')) {
        return dtype;
    }
    return mdf_dtype_kind(dtype) == 'i' ? MDF_DTYPE_INT8 : MDF_DTYPE_UINT8;
}

bool mdf_dtype_holds_integer(mdf_dtype whole, int64_t integer)
{
    unsigned bits = mdf_dtype_bits(whole);

    if (mdf_dtype_kind(whole) == 'u') {
        return integer >= 0 && (bits == 64 || integer >> bits == 0);
    }
    return integer >> (bits - 1) == 0 || integer >> (bits - 1) == -1;
}

bool mdf_dtype_holds(mdf_dtype whole, mdf_dtype dtype, const void *element)
{
    char kind = mdf_dtype_kind(dtype);

    if (kind == 'f') {
        double real = mdf_element_to_double(dtype, element);
        int bits = (int)mdf_dtype_bits(whole);
        bool has_sign = mdf_dtype_kind(whole) == 'i';

        return real == floor(real) && real >= (has_sign ? -ldexp(1, bits - 1) : 0) && real < ldexp(1, has_sign ? bits - 1 : bits);
    }
    if (dtype == MDF_DTYPE_UINT64 && mdf_element_to_int64(dtype, element) < 0) {
        return whole == MDF_DTYPE_UINT64;
    }
    return kind != 'c' && mdf_dtype_holds_integer(whole, mdf_element_to_int64(dtype, element));
}

int mdf_dtype_to_onnx(mdf_dtype dtype)
{
    return properties[row_of(dtype)].onnx;
}

mdf_dtype mdf_dtype_from_onnx(int64_t data_type)
{
    for (size_t i = 0; i < MDF_DTYPE_COUNT; i++) {
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
static const struct type_name plain_names[] = {{"float", MDF_DTYPE_FLOAT64, false},
                                               {"int", MDF_DTYPE_INT64, false},
                                               {"double", MDF_DTYPE_FLOAT64, true},
                                               {"half", MDF_DTYPE_FLOAT16, true},
                                               {"single", MDF_DTYPE_FLOAT32, true},
                                               {"complex", MDF_DTYPE_COMPLEX128, true},
                                               {"str", MDF_DTYPE_STRING, true},
                                               {"object", MDF_DTYPE_STRING, true},
                                               {"bool_", MDF_DTYPE_BOOL, true},
                                               {"boolean", MDF_DTYPE_BOOL, true},
                                               {"float4e2m1", MDF_DTYPE_FLOAT4E2M1FN, true},
                                               {"float8e4m3fn", MDF_DTYPE_FLOAT8E4M3FN, true},
                                               {"float8e4m3fnuz", MDF_DTYPE_FLOAT8E4M3FNUZ, true},
                                               {"float8e5m2", MDF_DTYPE_FLOAT8E5M2, true},
                                               {"float8e5m2fnuz", MDF_DTYPE_FLOAT8E5M2FNUZ, true},
                                               {"float8e8m0", MDF_DTYPE_FLOAT8E8M0, true},
                                               {"Tensor", MDF_DTYPE_NONE, false},
                                               {"tensor", MDF_DTYPE_NONE, false},
                                               {NULL, MDF_DTYPE_NONE, false}};

/* What ONNX says otherwise inside tensor(...). */
static const struct type_name onnx_names[] = {{"float", MDF_DTYPE_FLOAT32, true}, {NULL, MDF_DTYPE_NONE, false}};

static bool find_name(const struct type_name *names, const char *text, size_t length, struct mdf_declared_type *type)
{
    for (; names->name != NULL; names++) {
        if (mdf_bytes_are(text, length, names->name)) {
            type->dtype = names->dtype;
            type->exact = names->exact;
            return true;
        }
    }
    return false;
}

static bool find_property(const char *text, size_t length, struct mdf_declared_type *type)
{
    for (size_t i = 0; i < MDF_DTYPE_COUNT; i++) {
        if (mdf_bytes_are(text, length, properties[i].name)) {
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

/* "string,tensor(float)": an object, whose values have a type where it is one of arrays. */
static bool parse_map(const char *text, size_t length, bool within, struct mdf_declared_type *type)
{
    const char *comma = memchr(text, ',', length), *value = comma != NULL ? comma + 1 : text;
    size_t value_length = length - (size_t)(value - text);
    struct mdf_declared_type found = {.dtype = MDF_DTYPE_NONE};

    *type = found;
    if (!within && comma != NULL && unwrap(&value, &value_length, "tensor(") &&
        (find_name(onnx_names, value, value_length, &found) || find_property(value, value_length, &found) ||
         find_name(plain_names, value, value_length, &found)) &&
        found.exact && mdf_dtype_kind(found.dtype) != 's') {
        type->map = true;
        type->values = found.dtype;
    }
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
    if (unwrap(&text, &length, "map(")) {
        return parse_map(text, length, type->sequence, type);
    }
    if (unwrap(&text, &length, "tensor(")) {
        return find_name(onnx_names, text, length, type) || find_name(plain_names, text, length, type) ||
               find_property(text, length, type);
    }
    return find_name(plain_names, text, length, type) || find_property(text, length, type);
}

const char *mdf_nearest_type(const char *text)
{
    struct mdf_nearest nearest;

    mdf_nearest_begin(&nearest, text);
    for (size_t i = 0; i < MDF_DTYPE_COUNT; i++) {
        mdf_nearest_offer(&nearest, properties[i].name);
    }
    for (size_t i = 0; plain_names[i].name != NULL; i++) {
        mdf_nearest_offer(&nearest, plain_names[i].name);
    }
    return mdf_nearest_result(&nearest);
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

static mdf_dtype promote_integers(mdf_dtype a, mdf_dtype b)
{
    unsigned bits, a_bits = mdf_dtype_bits(a), b_bits = mdf_dtype_bits(b);

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
    unsigned bits = mdf_dtype_bits(integer);

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
