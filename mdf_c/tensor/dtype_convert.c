/* dtype_convert.c - elements of one type as another. See dtype.h.
 *
 * They are converted in two steps, through int64 or float64, in blocks that stay in the cache; pairs that are met often have
 * loops of their own. Small float formats: IEEE 754 binary16, bfloat16, and the float8 and float4 types of ONNX ("Float stored
 * in 8 bits", "Float stored in 4 bits"), bit for bit as ml_dtypes converts them. */
#include "mdf_c/tensor/small_floats.h"

#include "mdf_c/base/processor.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { BLOCK = 256 }; /* elements converted at a time */

static bool is_complex(mdf_dtype dtype)
{
    return mdf_dtype_kind(dtype) == 'c';
}

static bool is_number(mdf_dtype dtype)
{
    return (unsigned)dtype < MDF_DTYPE_STRING;
}

/* ------------------------------------------------------------------ small float formats */

#include "mdf_c/tensor/half_floats.inc"

#include "mdf_c/tensor/small_floats.inc"

const int64_t *mdf_small_float_format(mdf_dtype dtype)
{
    static const int64_t float4e2m1fn[] = {1, 1, 0x8, 0x7, 0x7, 0x0, false};
    static const int64_t float8e4m3fn[] = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, false};
    static const int64_t float8e4m3fnuz[] = {3, 8, 0x80, 0x7f, 0x80, 0x80, true};
    static const int64_t float8e5m2[] = {2, 15, 0x80, 0x7b, 0x7c, 0x7e, false};
    static const int64_t float8e5m2fnuz[] = {2, 16, 0x80, 0x7f, 0x80, 0x80, true};

    switch (dtype) {
    case MDF_DTYPE_FLOAT4E2M1FN:
        return float4e2m1fn;
    case MDF_DTYPE_FLOAT8E4M3FN:
        return float8e4m3fn;
    case MDF_DTYPE_FLOAT8E4M3FNUZ:
        return float8e4m3fnuz;
    case MDF_DTYPE_FLOAT8E5M2:
        return float8e5m2;
    case MDF_DTYPE_FLOAT8E5M2FNUZ:
        return float8e5m2fnuz;
    default:
        return NULL;
    }
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

float mdf_float16_to_float(uint16_t bits)
{
    return mdf_float16_to_float32(bits);
}

uint16_t mdf_float16_from_float(float value)
{
    return mdf_float32_to_float16(value);
}

#if defined(__x86_64__)
/* By the processor's conversion, which is the same. */
__attribute__((target("avx2,f16c"))) static void float16_from_floats_avx2(uint16_t *target, const float *source, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128((__m128i *)(void *)(target + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; i < n; i++) {
        target[i] = mdf_float32_to_float16(source[i]);
    }
}

__attribute__((target("avx2,f16c"))) static void float16_to_floats_avx2(float *target, const uint16_t *source, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(source + i))));
    }
    for (; i < n; i++) {
        target[i] = mdf_float16_to_float32(source[i]);
    }
}
#endif

static void float16_to_floats(float *target, const uint16_t *source, size_t n)
{
#if defined(__x86_64__)
    if (mdf_has_avx2()) {
        float16_to_floats_avx2(target, source, n);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++) {
        target[i] = mdf_float16_to_float32(source[i]);
    }
}

static void float16_from_floats(uint16_t *target, const float *source, size_t n)
{
#if defined(__x86_64__)
    if (mdf_has_avx2()) {
        float16_from_floats_avx2(target, source, n);
        return;
    }
#endif
    for (size_t i = 0; i < n; i++) {
        target[i] = mdf_float32_to_float16(source[i]);
    }
}

float mdf_bfloat16_to_float(uint16_t bits)
{
    return mdf_bfloat16_to_float32(bits);
}

uint16_t mdf_bfloat16_from_float(float value)
{
    return mdf_float32_to_bfloat16(value);
}

static float float8_to_float(mdf_dtype dtype, uint8_t bits)
{
    if (dtype == MDF_DTYPE_FLOAT8E8M0) {
        return mdf_decode_power(bits);
    }
    return mdf_decode_small(mdf_small_float_format(dtype), bits);
}

static uint8_t float8_from_double(mdf_dtype dtype, double value, bool saturate)
{
    return dtype == MDF_DTYPE_FLOAT8E8M0 ? encode_power(value, saturate)
                                         : mdf_encode_small(mdf_small_float_format(dtype), value, saturate);
}

/* ------------------------------------------------------------------ elements, through int64 or float64 */

/* mdf_cut_to_int32 of a float32. */
static inline int32_t truncate_single(float value)
{
    return value >= -0x1p31f && value < 0x1p31f ? (int32_t)value : INT32_MIN;
}

/* X(type, C type that holds it, element x as int64) */
#define INTEGER_LIST(X)                    \
    X(BOOL, uint8_t, x != 0)               \
    X(INT2, int8_t, mdf_sign_extend(x, 2)) \
    X(INT4, int8_t, mdf_sign_extend(x, 4)) \
    X(INT8, int8_t, x)                     \
    X(INT16, int16_t, x)                   \
    X(INT32, int32_t, x)                   \
    X(INT64, int64_t, x)                   \
    X(UINT2, uint8_t, x & 3)               \
    X(UINT4, uint8_t, x & 15)              \
    X(UINT8, uint8_t, x)                   \
    X(UINT16, uint16_t, x)                 \
    X(UINT32, uint32_t, x)                 \
    X(UINT64, uint64_t, x)

/* X(type, C type that holds it, element x as float64) for reals; complex numbers stand beside it. */
#define REAL_LIST(X)                                                         \
    X(FLOAT4E2M1FN, uint8_t, float8_to_float(MDF_DTYPE_FLOAT4E2M1FN, x))     \
    X(FLOAT8E4M3FN, uint8_t, float8_to_float(MDF_DTYPE_FLOAT8E4M3FN, x))     \
    X(FLOAT8E4M3FNUZ, uint8_t, float8_to_float(MDF_DTYPE_FLOAT8E4M3FNUZ, x)) \
    X(FLOAT8E5M2, uint8_t, float8_to_float(MDF_DTYPE_FLOAT8E5M2, x))         \
    X(FLOAT8E5M2FNUZ, uint8_t, float8_to_float(MDF_DTYPE_FLOAT8E5M2FNUZ, x)) \
    X(FLOAT8E8M0, uint8_t, float8_to_float(MDF_DTYPE_FLOAT8E8M0, x))         \
    X(FLOAT16, uint16_t, mdf_float16_to_float32(x))                          \
    X(BFLOAT16, uint16_t, mdf_bfloat16_to_float32(x))                        \
    X(FLOAT32, float, x)                                                     \
    X(FLOAT64, double, x)

/* X(type, C type that holds it, int64 x as element) */
#define FROM_INTEGER_LIST(X) \
    INTEGER_LIST(X)          \
    X(FLOAT32, float, x)     \
    X(FLOAT64, double, x)

/* X(type, C type that holds it, float64 x as element) */
#define FROM_REAL_LIST(X)                                                                 \
    X(BOOL, uint8_t, x != 0)                                                              \
    X(INT2, int8_t, mdf_sign_extend(mdf_cut_to_int32(x), 2))                              \
    X(INT4, int8_t, mdf_sign_extend(mdf_cut_to_int32(x), 4))                              \
    X(INT8, int8_t, mdf_cut_to_int32(x))                                                  \
    X(INT16, int16_t, mdf_cut_to_int32(x))                                                \
    X(INT32, int32_t, mdf_cut_to_int32(x))                                                \
    X(INT64, int64_t, mdf_cut_to_int64(x))                                                \
    X(UINT2, uint8_t, mdf_cut_to_int32(x) & 3)                                            \
    X(UINT4, uint8_t, mdf_cut_to_int32(x) & 15)                                           \
    X(UINT8, uint8_t, mdf_cut_to_int32(x))                                                \
    X(UINT16, uint16_t, mdf_cut_to_int32(x))                                              \
    X(UINT32, uint32_t, mdf_cut_to_int64(x))                                              \
    X(UINT64, uint64_t, mdf_cut_to_uint64(x))                                             \
    X(FLOAT4E2M1FN, uint8_t, float8_from_double(MDF_DTYPE_FLOAT4E2M1FN, x, saturate))     \
    X(FLOAT8E4M3FN, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E4M3FN, x, saturate))     \
    X(FLOAT8E4M3FNUZ, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E4M3FNUZ, x, saturate)) \
    X(FLOAT8E5M2, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E5M2, x, saturate))         \
    X(FLOAT8E5M2FNUZ, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E5M2FNUZ, x, saturate)) \
    X(FLOAT8E8M0, uint8_t, float8_from_double(MDF_DTYPE_FLOAT8E8M0, x, saturate))         \
    X(FLOAT16, uint16_t, mdf_float64_to_float16(x))                                       \
    X(BFLOAT16, uint16_t, mdf_float64_to_bfloat16(x))                                     \
    X(FLOAT32, float, x)                                                                  \
    X(FLOAT64, double, x)

/* One case of a switch over types: a loop over `n` elements of `source`. */
#define LOOP_CASE(name, source_type, target_type, expression) \
    case MDF_DTYPE_##name: {                                  \
        const source_type *in = source;                       \
        target_type *out = target;                            \
        for (size_t i = 0; i < n; i++) {                      \
            source_type x = in[i];                            \
            out[i] = (target_type)(expression);               \
        }                                                     \
        break;                                                \
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
    for (size_t i = 0; i < n; i++) {
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
    for (size_t i = 0; i < n; i++) {
        if (dtype == MDF_DTYPE_COMPLEX64) {
            ((float *)target)[2 * i] = (float)real[i];
            ((float *)target)[2 * i + 1] = (float)imaginary[i];
        } else {
            ((double *)target)[2 * i] = real[i];
            ((double *)target)[2 * i + 1] = imaginary[i];
        }
    }
}

/* Integers of 64 bits on their way into a type narrower than float64. */
static void load_odd(mdf_dtype dtype, double *target, const void *source, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (dtype == MDF_DTYPE_UINT64) {
            target[i] = mdf_whole_to_odd(((const uint64_t *)source)[i]);
        } else {
            int64_t x = ((const int64_t *)source)[i];

            target[i] = x < 0 ? -mdf_whole_to_odd(0 - (uint64_t)x) : mdf_whole_to_odd((uint64_t)x);
        }
    }
}

static void convert_block(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n,
                          bool saturate)
{
    int64_t integers[BLOCK];
    double reals[BLOCK], imaginary[BLOCK];

    if (mdf_dtype_is_whole(source_dtype) &&
        (mdf_dtype_is_whole(target_dtype) || (target_dtype == MDF_DTYPE_FLOAT32 && source_dtype != MDF_DTYPE_UINT64))) {
        load_int64(source_dtype, integers, source, n);
        store_int64(target_dtype, target, integers, n);
        return;
    }
    if ((source_dtype == MDF_DTYPE_INT64 || source_dtype == MDF_DTYPE_UINT64) && mdf_dtype_kind(target_dtype) == 'f' &&
        mdf_dtype_size(target_dtype) < sizeof(float)) {
        load_odd(source_dtype, reals, source, n);
    } else {
        load_double(source_dtype, reals, source, n);
    }
    if (!is_complex(target_dtype) && (!is_complex(source_dtype) || target_dtype != MDF_DTYPE_BOOL)) {
        store_double(target_dtype, target, reals, n, saturate);
        return;
    }
    load_imaginary(source_dtype, imaginary, source, n);
    if (is_complex(target_dtype)) {
        store_complex(target_dtype, target, reals, imaginary, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)target)[i] = reals[i] != 0 || imaginary[i] != 0;
    }
}

enum { PAIR = 32 }; /* more than there are types */

#define TARGET
#define NAME(x) x##_plain
#include "mdf_c/tensor/dtype_pairs.inc"
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2")))
#define NAME(x) x##_avx2
#include "mdf_c/tensor/dtype_pairs.inc"
#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw")))
#define NAME(x) x##_avx512
#include "mdf_c/tensor/dtype_pairs.inc"
#endif

/* The type of the same size whose numbers have no sign; of another type than integers itself. */
static mdf_dtype without_sign(mdf_dtype dtype)
{
    switch (dtype) {
    case MDF_DTYPE_INT8:
        return MDF_DTYPE_UINT8;
    case MDF_DTYPE_INT16:
        return MDF_DTYPE_UINT16;
    case MDF_DTYPE_INT32:
        return MDF_DTYPE_UINT32;
    case MDF_DTYPE_INT64:
        return MDF_DTYPE_UINT64;
    default:
        return dtype;
    }
}

/* To float16 by way of float32, where one rounds as the number itself. */
static bool convert_to_float16(uint16_t *target, mdf_dtype source_dtype, const char *source, size_t n)
{
    float singles[BLOCK];

    for (size_t first = 0, n_block; first < n; first += n_block) {
        n_block = n - first < BLOCK ? n - first : BLOCK;
        if (!MDF_WIDEST(convert_singly)(singles, source_dtype, source + first * mdf_dtype_size(source_dtype), n_block)) {
            return false;
        }
        float16_from_floats(target + first, singles, n_block);
    }
    return true;
}

/* Pairs with a loop of their own: false where this is none. */
static bool convert_directly(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n)
{
    if (target_dtype == source_dtype) {
        memmove(target, source, n * mdf_dtype_size(source_dtype));
        return true;
    }
    if (target_dtype == MDF_DTYPE_FLOAT32 && source_dtype == MDF_DTYPE_FLOAT16) {
        float16_to_floats(target, source, n);
        return true;
    }
    if (target_dtype == MDF_DTYPE_FLOAT16 && source_dtype == MDF_DTYPE_FLOAT32) {
        float16_from_floats(target, source, n);
        return true;
    }
    if (target_dtype == MDF_DTYPE_FLOAT16) {
        return convert_to_float16(target, source_dtype, source, n);
    }
    return MDF_WIDEST(convert_pair)(target_dtype, target, source_dtype, source, n) ||
           MDF_WIDEST(convert_whole)(without_sign(target_dtype), target,
                                     source_dtype == MDF_DTYPE_UINT64 ? MDF_DTYPE_INT64 : source_dtype, source, n);
}

bool mdf_convert_elements(mdf_dtype target_dtype, void *target, mdf_dtype source_dtype, const void *source, size_t n,
                          bool saturate)
{
    size_t target_size = mdf_dtype_size(target_dtype), source_size = mdf_dtype_size(source_dtype), first;

    if (!is_number(target_dtype) || !is_number(source_dtype)) {
        return false;
    }
    if (n == 0 || convert_directly(target_dtype, target, source_dtype, source, n)) {
        return true;
    }
    for (first = 0; first < n; first += BLOCK) {
        convert_block(target_dtype, (char *)target + first * target_size, source_dtype,
                      (const char *)source + first * source_size, n - first < BLOCK ? n - first : BLOCK, saturate);
    }
    return true;
}

double mdf_element_to_double(mdf_dtype dtype, const void *element)
{
    double real = 0;

    load_double(dtype, &real, element, 1);
    return real;
}

bool mdf_elements_same(mdf_dtype dtype, const void *a, const void *b, size_t n)
{
    const char *x = a, *y = b;
    size_t size = mdf_dtype_size(dtype), i;

    for (i = 0; i < n; i++, x += size, y += size) {
        if (memcmp(x, y, size) != 0 && (mdf_dtype_kind(dtype) != 'f' || !isnan(mdf_element_to_double(dtype, x)) ||
                                        !isnan(mdf_element_to_double(dtype, y)))) {
            return false;
        }
    }
    return true;
}

int64_t mdf_element_to_int64(mdf_dtype dtype, const void *element)
{
    int64_t integer = 0;

    if (!is_number(dtype) || mdf_dtype_is_whole(dtype)) {
        load_int64(dtype, &integer, element, 1);
        return integer;
    }
    return mdf_cut_to_int64(mdf_element_to_double(dtype, element));
}
