/* test_dtype.c - conversion between element types: every number of the narrow real types, and what lies halfway between
 * neighbours, just above and just below; ends of ranges; whole numbers that float64 does not hold. */
#include "mdf_c/tensor/dtype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct {
    mdf_dtype dtype;
    unsigned n_bits;
    double largest;
    bool has_infinity;
    bool overflows; /* without saturation, to infinity or NaN */
} narrow[] = {
    {MDF_DTYPE_FLOAT16, 16, 65504, true, true},    {MDF_DTYPE_BFLOAT16, 16, 0x1.fep127, true, true},
    {MDF_DTYPE_FLOAT8E4M3FN, 8, 448, false, true}, {MDF_DTYPE_FLOAT8E4M3FNUZ, 8, 240, false, true},
    {MDF_DTYPE_FLOAT8E5M2, 8, 57344, true, true},  {MDF_DTYPE_FLOAT8E5M2FNUZ, 8, 57344, false, true},
    {MDF_DTYPE_FLOAT4E2M1FN, 4, 6, false, false},
};
enum { N_NARROW = sizeof narrow / sizeof *narrow };

static double decode(mdf_dtype dtype, unsigned bits)
{
    uint16_t two = (uint16_t)bits;
    uint8_t one = (uint8_t)bits;
    double value;

    cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT64, &value, dtype, mdf_dtype_size(dtype) == 2 ? (void *)&two : &one, 1, false));
    return value;
}

static unsigned encode(mdf_dtype dtype, mdf_dtype from, const void *value, bool saturate)
{
    uint16_t two = 0;
    uint8_t one = 0;

    cr_assert(mdf_convert_elements(dtype, mdf_dtype_size(dtype) == 2 ? (void *)&two : &one, from, value, 1, saturate));
    return mdf_dtype_size(dtype) == 2 ? two : one;
}

static unsigned from_double(mdf_dtype dtype, double value)
{
    return encode(dtype, MDF_DTYPE_FLOAT64, &value, false);
}

/* Both ways from float32, where it holds the number. */
static void expect(size_t k, double value, unsigned bits)
{
    float single = (float)value;

    cr_expect_eq(from_double(narrow[k].dtype, value), bits, "%s of %a: 0x%x, not 0x%x", mdf_dtype_name(narrow[k].dtype), value,
                 from_double(narrow[k].dtype, value), bits);
    if ((double)single == value) {
        cr_expect_eq(encode(narrow[k].dtype, MDF_DTYPE_FLOAT32, &single, false), bits, "%s of float32 %a",
                     mdf_dtype_name(narrow[k].dtype), value);
    }
}

Test(dtype, maps_are_a_type_of_which_nothing_is_declared)
{
    struct mdf_declared_type type;

    cr_expect(mdf_parse_type("seq(map(int64,tensor(float)))", &type) && type.dtype == MDF_DTYPE_NONE && !type.sequence);
    cr_expect(mdf_parse_type("map(string,tensor(double))", &type) && type.dtype == MDF_DTYPE_NONE);
    cr_expect_not(mdf_parse_type("map(string", &type));
}

/* The bits of non-negative numbers count them in order. */
Test(dtype, narrow_numbers_round_to_nearest_even)
{
    for (size_t k = 0; k < N_NARROW; k++) {
        unsigned sign = 1u << (narrow[k].n_bits - 1), last = from_double(narrow[k].dtype, narrow[k].largest);

        cr_expect_eq(decode(narrow[k].dtype, last), narrow[k].largest);
        for (unsigned bits = 0; bits <= last; bits++) {
            double value = decode(narrow[k].dtype, bits), next, half;

            cr_assert(value <= narrow[k].largest && (bits == 0 || value > decode(narrow[k].dtype, bits - 1)));
            expect(k, value, bits);
            expect(k, -value, bits == 0 && decode(narrow[k].dtype, sign) != 0 ? 0 : bits | sign);
            if (bits == last) {
                break;
            }
            next = decode(narrow[k].dtype, bits + 1);
            half = value + (next - value) / 2;
            expect(k, half, bits + (bits & 1));
            expect(k, nextafter(half, INFINITY), bits + 1);
            expect(k, nextafter(half, 0), bits);
        }
    }
}

Test(dtype, ends_of_narrow_types)
{
    const double beyond[] = {(double)INFINITY, 1e300, (double)NAN};

    for (size_t k = 0; k < N_NARROW; k++) {
        bool is_small = mdf_dtype_size(narrow[k].dtype) == 1;

        for (size_t i = 0; i < 3; i++) {
            double plain = decode(narrow[k].dtype, encode(narrow[k].dtype, MDF_DTYPE_FLOAT64, &beyond[i], false));
            double clipped = decode(narrow[k].dtype, encode(narrow[k].dtype, MDF_DTYPE_FLOAT64, &beyond[i], true));

            if (!narrow[k].overflows) { /* has neither infinity nor NaN; what NaN becomes is not stated */
                cr_expect(isnan(beyond[i]) || (plain == narrow[k].largest && clipped == narrow[k].largest));
            } else if (isnan(beyond[i])) {
                cr_expect(isnan(plain) && isnan(clipped), "%s", mdf_dtype_name(narrow[k].dtype));
            } else {
                cr_expect(narrow[k].has_infinity ? isinf(plain) : isnan(plain), "%s", mdf_dtype_name(narrow[k].dtype));
                cr_expect(is_small ? clipped == narrow[k].largest : isinf(clipped), "%s", mdf_dtype_name(narrow[k].dtype));
            }
        }
    }
}

/* Halfway between neighbours of bfloat16 and float32, and one more, which float64 does not hold. */
Test(dtype, whole_numbers_round_once)
{
    const uint64_t top = 1ULL << 60;
    const struct {
        uint64_t whole;
        double bfloat16, float32;
    } cases[] = {
        {top + (1ULL << 52), 0x1p60, 0x1.01p60}, {top + (1ULL << 52) + 1, 0x1.02p60, 0x1.01p60},
        {top + (1ULL << 36), 0x1p60, 0x1p60},    {top + (1ULL << 36) + 1, 0x1p60, 0x1.000002p60},
        {(1ULL << 53) + 1, 0x1p53, 0x1p53},      {INT64_MAX, 0x1p63, 0x1p63},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t negative = -(int64_t)cases[i].whole;
        float single;

        cr_expect_eq(decode(MDF_DTYPE_BFLOAT16, encode(MDF_DTYPE_BFLOAT16, MDF_DTYPE_UINT64, &cases[i].whole, false)),
                     cases[i].bfloat16, "%zu", i);
        cr_expect_eq(decode(MDF_DTYPE_BFLOAT16, encode(MDF_DTYPE_BFLOAT16, MDF_DTYPE_INT64, &negative, false)),
                     -cases[i].bfloat16, "%zu", i);
        cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT32, &single, MDF_DTYPE_INT64, &negative, 1, false));
        cr_expect_eq((double)single, -cases[i].float32, "%zu", i);
        cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT32, &single, MDF_DTYPE_UINT64, &cases[i].whole, 1, false));
        cr_expect_eq((double)single, cases[i].float32, "%zu", i);
    }
}

/* Arrays of whole numbers as one another: what is kept are the lowest bits; of truth, whether there are any. */
Test(dtype, arrays_of_whole_numbers)
{
    static const mdf_dtype whole[] = {MDF_DTYPE_BOOL,  MDF_DTYPE_INT8,   MDF_DTYPE_UINT8, MDF_DTYPE_INT16, MDF_DTYPE_UINT16,
                                      MDF_DTYPE_INT32, MDF_DTYPE_UINT32, MDF_DTYPE_INT64, MDF_DTYPE_UINT64};
    enum { N_WHOLE = sizeof whole / sizeof *whole, N = 301 };
    uint64_t numbers[N], source[N], target[N];

    for (size_t i = 0; i < N; i++) {
        numbers[i] = (i % 7 == 0 ? 0 : 0x9e3779b97f4a7c15u * i) >> i % 64;
    }
    for (size_t k = 0; k < N_WHOLE * N_WHOLE; k++) {
        mdf_dtype from = whole[k / N_WHOLE], to = whole[k % N_WHOLE];
        size_t source_size = mdf_dtype_size(from), target_size = mdf_dtype_size(to);

        cr_assert(mdf_convert_elements(from, source, MDF_DTYPE_UINT64, numbers, N, false));
        cr_assert(mdf_convert_elements(to, target, from, source, N, false));
        for (size_t i = 0; i < N; i++) {
            int64_t number = mdf_element_to_int64(from, (const char *)source + i * source_size), expected = number != 0;

            if (to != MDF_DTYPE_BOOL) {
                memcpy(&expected, &number, sizeof expected);
                expected = mdf_dtype_kind(to) == 'i'
                               ? (int64_t)((uint64_t)number << (64 - 8 * target_size)) >> (64 - 8 * target_size)
                               : (int64_t)((uint64_t)number << (64 - 8 * target_size) >> (64 - 8 * target_size));
            }
            cr_assert_eq(mdf_element_to_int64(to, (const char *)target + i * target_size), expected, "%s to %s: %lld",
                         mdf_dtype_name(from), mdf_dtype_name(to), (long long)number);
        }
    }
}

/* Arrays of float64 and of whole numbers become float16 as if rounded once: halfway between neighbours, just above and just
 * below. */
Test(dtype, arrays_become_float16_rounded_once)
{
    enum { N = 3 * 31743 };
    static double reals[N];
    static int64_t whole[N];
    static uint16_t target[N];

    for (size_t i = 0; i < N / 3; i++) {
        double middle = ((double)mdf_float16_to_float((uint16_t)i) + (double)mdf_float16_to_float((uint16_t)(i + 1))) / 2;

        reals[3 * i] = nextafter(middle, 0);
        reals[3 * i + 1] = middle;
        reals[3 * i + 2] = nextafter(middle, (double)INFINITY);
    }
    cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT16, target, MDF_DTYPE_FLOAT64, reals, N, false));
    for (size_t i = 0; i < N; i++) {
        cr_assert_eq(target[i], i / 3 + (i % 3 == 2 || (i % 3 == 1 && i / 3 % 2 != 0)), "%a", reals[i]);
        whole[i] = (int64_t)i * 3 - 140000;
        reals[i] = (double)whole[i];
    }
    whole[0] = INT64_MIN;
    for (size_t i = 0; i < N; i++) {
        uint16_t single;

        cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT16, &single, MDF_DTYPE_FLOAT64, &reals[i], 1, false));
        cr_assert(i > 0 || mdf_convert_elements(MDF_DTYPE_FLOAT16, target, MDF_DTYPE_INT64, whole, N, false));
        cr_assert_eq(target[i], single, "%lld", (long long)whole[i]);
    }
}

/* Nothing is undefined, whatever the numbers: out of range any result will do. */
Test(dtype, any_conversion_is_defined)
{
    const double values[] = {0,           -1,     1e30,    -1e30,  1e300, (double)INFINITY, -(double)INFINITY,
                             (double)NAN, 0x1p63, -0x1p63, 0x1p64, 255.5};

    for (int from = 0; from < MDF_DTYPE_COUNT; from++) {
        for (int to = 0; to < MDF_DTYPE_COUNT; to++) {
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                _Alignas(16) unsigned char source[16] = {0}, target[16];
                bool texts = from == MDF_DTYPE_STRING || to == MDF_DTYPE_STRING;

                if (from != MDF_DTYPE_STRING) {
                    mdf_convert_elements((mdf_dtype)from, source, MDF_DTYPE_FLOAT64, &values[i], 1, i % 2 != 0);
                }
                cr_expect_eq(mdf_convert_elements((mdf_dtype)to, target, (mdf_dtype)from, source, 1, i % 2 == 0), !texts);
            }
        }
    }
}

/* The processor's conversion, of whole vectors, and that of single elements. */
Test(dtype, arrays_of_float32_become_float16_as_single_elements_do)
{
    enum { N = 1003 };
    const uint64_t step = 40093; /* a prime, so that all digits vary */
    static float x[N];
    static uint16_t y[N];

    for (uint64_t first = 0; first <= UINT32_MAX; first += N * step) {
        for (size_t i = 0; i < N; i++) {
            uint32_t bits = (uint32_t)(first + i * step);

            memcpy(&x[i], &bits, sizeof bits);
        }
        cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT16, y, MDF_DTYPE_FLOAT32, x, N, false));
        for (size_t i = 0; i < N; i++) {
            cr_assert(y[i] == mdf_float16_from_float(x[i]), "%a is %x, not %x", (double)x[i], y[i], mdf_float16_from_float(x[i]));
        }
    }
}

/* All of them, by the processor's conversion and one by one: the same bits, quiet NaN too. */
Test(dtype, arrays_of_float16_become_float32_as_single_elements_do)
{
    enum { N = 1 << 16 };
    static uint16_t x[N];
    static float y[N];

    for (size_t i = 0; i < N; i++) {
        x[i] = (uint16_t)i;
    }
    cr_assert(mdf_convert_elements(MDF_DTYPE_FLOAT32, y, MDF_DTYPE_FLOAT16, x, N, false));
    for (size_t i = 0; i < N; i++) {
        float single = mdf_float16_to_float(x[i]);
        double exact = ldexp((double)((i & 0x3ff) | (i & 0x7c00 ? 0x400 : 0)), (int)(i >> 10 & 31) - 25 + ((i & 0x7c00) == 0));

        cr_assert(memcmp(&single, &y[i], sizeof single) == 0, "%zx", i);
        if ((i & 0x7c00) != 0x7c00) {
            cr_assert((double)y[i] == (i & 0x8000 ? -exact : exact), "%zx is %g, not %g", i, (double)y[i], exact);
        } else {
            cr_assert((i & 0x3ff) == 0 ? isinf(y[i]) : isnan(y[i]), "%zx", i);
        }
    }
}
