/* ordering.c - see ordering.h. */
#include "functions/folds/ordering.h"

#include <math.h>
#include <string.h>

#define SIGN_BIT ((uint64_t)1 << 63)

static uint64_t key_of_integer(int64_t value)
{
    return (uint64_t)value ^ SIGN_BIT;
}

/* Keys of whole numbers of one type, which are widened. */
#define MAKE_KEYS(type, key_of)                                        \
    for (size_t i = 0; i < n; i++) {                                   \
        keys[i] = key_of(((const type *)elements)[i * stride]) ^ flip; \
    }

static void make_whole_keys(mdf_dtype dtype, const void *elements, size_t stride, size_t n, uint64_t flip,
                            uint64_t *restrict keys)
{
    switch (dtype) {
    case MDF_DTYPE_INT64:
        MAKE_KEYS(int64_t, key_of_integer)
        break;
    case MDF_DTYPE_INT32:
        MAKE_KEYS(int32_t, key_of_integer)
        break;
    case MDF_DTYPE_INT8:
        MAKE_KEYS(int8_t, key_of_integer)
        break;
    case MDF_DTYPE_UINT64:
        MAKE_KEYS(uint64_t, (uint64_t))
        break;
    case MDF_DTYPE_UINT8:
        MAKE_KEYS(uint8_t, (uint64_t))
        break;
    default:
        for (size_t i = 0; i < n; i++) {
            keys[i] =
                key_of_integer(mdf_element_to_int64(dtype, (const char *)elements + i * stride * mdf_dtype_size(dtype))) ^ flip;
        }
    }
}

#define BITS uint32_t
#define SIGN 0x80000000u
#define INFINITE 0x7f800000u
#define NAME(x) x##_float32
#include "functions/folds/ordering_keys.inc"
#define BITS uint64_t
#define SIGN SIGN_BIT
#define INFINITE 0x7ff0000000000000u
#define NAME(x) x##_float64
#include "functions/folds/ordering_keys.inc"

/* Of reals narrower than float32, as that. */
static void make_keys_narrow(mdf_dtype dtype, const void *elements, size_t stride, size_t n, uint64_t flip, uint64_t nan_key,
                             uint64_t *keys)
{
    enum { CHUNK = 256 };
    const char *x = elements;
    size_t size = mdf_dtype_size(dtype);
    float singles[CHUNK];

    for (size_t first = 0, n_chunk; first < n; first += n_chunk) {
        n_chunk = n - first < CHUNK ? n - first : CHUNK;
        if (stride == 1) {
            mdf_convert_elements(MDF_DTYPE_FLOAT32, singles, dtype, x + first * size, n_chunk, false);
        }
        for (size_t i = 0; stride != 1 && i < n_chunk; i++) {
            mdf_convert_elements(MDF_DTYPE_FLOAT32, &singles[i], dtype, x + (first + i) * stride * size, 1, false);
        }
        make_keys_float32(singles, 1, n_chunk, flip, nan_key, keys + first);
    }
}

void mdf_order_keys(mdf_dtype dtype, const void *elements, size_t stride, size_t n, bool descending, enum mdf_nan_order nan_order,
                    uint64_t *keys)
{
    uint64_t flip = descending ? UINT64_MAX : 0, nan_key = nan_order == MDF_NAN_FIRST ? 0 : UINT64_MAX;

    if (dtype == MDF_DTYPE_FLOAT32) {
        make_keys_float32(elements, stride, n, flip, nan_key, keys);
    } else if (dtype == MDF_DTYPE_FLOAT64) {
        make_keys_float64(elements, stride, n, flip, nan_key, keys);
    } else if (mdf_dtype_kind(dtype) == 'f') {
        make_keys_narrow(dtype, elements, stride, n, flip, nan_key, keys);
    } else {
        make_whole_keys(dtype, elements, stride, n, flip, keys);
    }
}

enum { ITEMS_BETWEEN_LOOKS = 1 << 14 }; /* for a request to stop; a power of two */

static bool should_stop_at(struct mdf_stop *stop, size_t i)
{
    return (i & (ITEMS_BETWEEN_LOOKS - 1)) == 0 && mdf_stop_heed(stop);
}

/* Merges the sorted runs [first, middle) and [middle, last) of `from` into `to`. */
static bool merge(struct mdf_stop *stop, const int64_t *from, int64_t *to, size_t first, size_t middle, size_t last,
                  mdf_compare compare, const void *context)
{
    size_t a = first, b = middle;

    for (size_t i = first; i < last; i++) {
        bool take_a = a < middle && (b >= last || compare(context, from[a], from[b]) <= 0);

        if (should_stop_at(stop, i)) {
            return false;
        }
        to[i] = take_a ? from[a++] : from[b++];
    }
    return true;
}

bool mdf_merge_sort(struct mdf_stop *stop, int64_t *items, int64_t *spare, size_t n, mdf_compare compare, const void *context)
{
    int64_t *from = items, *to = spare;

    for (size_t width = 1; width < n; width *= 2) {
        int64_t *sorted = to;

        for (size_t first = 0; first < n; first += 2 * width) {
            size_t middle = n - first > width ? first + width : n;
            size_t last = n - first > 2 * width ? first + 2 * width : n;

            if (!merge(stop, from, to, first, middle, last, compare, context)) {
                return false;
            }
        }
        to = from;
        from = sorted;
    }
    if (from != items && n > 0) {
        memcpy(items, from, n * sizeof *items);
    }
    return true;
}

static int compare_keys(const void *context, int64_t a, int64_t b)
{
    const uint64_t *keys = context;

    return keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0;
}

/* Bytes of a key, and how many values one has. */
enum { N_DIGITS = 8, N_VALUES = 256 };

static inline size_t digit_of(uint64_t key, size_t digit)
{
    return key >> 8 * digit & (N_VALUES - 1);
}

/* Puts the items in the order of one digit: those with a value begin where all with lesser ones end. */
static bool sort_by_digit(struct mdf_stop *stop, const int64_t *from, int64_t *to, size_t n, const uint64_t *keys, size_t digit,
                          size_t *counts)
{
    size_t begin = 0;

    for (size_t value = 0; value < N_VALUES; value++) {
        size_t count = counts[value];

        counts[value] = begin;
        begin += count;
    }
    for (size_t i = 0; i < n; i++) {
        if (should_stop_at(stop, i)) {
            return false;
        }
        to[counts[digit_of(keys[from[i]], digit)]++] = from[i];
    }
    return true;
}

/* Digit by digit, the last of `digits` first. The items end in *from; the other array is spare. */
static bool sort_by_digits(struct mdf_stop *stop, int64_t **from, int64_t **to, size_t n, const uint64_t *keys,
                           const size_t *digits, size_t n_digits)
{
    size_t counts[N_DIGITS][N_VALUES];

    memset(counts, 0, n_digits * sizeof counts[0]);
    for (size_t i = 0; i < n; i++) {
        uint64_t key = keys[(*from)[i]];

        for (size_t k = 0; k < n_digits; k++) {
            counts[k][digit_of(key, digits[k])]++;
        }
    }
    for (size_t k = n_digits; k-- > 0;) {
        int64_t *sorted = *to;

        if (!sort_by_digit(stop, *from, sorted, n, keys, digits[k], counts[k])) {
            return false;
        }
        *to = *from;
        *from = sorted;
    }
    return true;
}

/* Sorts items that nearly are; false: they were not, and are in some order of which those of one key have kept theirs. */
static bool sort_nearly_sorted(int64_t *items, size_t n, const uint64_t *keys)
{
    size_t n_moves = 0;

    for (size_t i = 1; i < n; i++) {
        int64_t item = items[i];
        size_t at = i;

        for (; at > 0 && keys[items[at - 1]] > keys[item]; at--, n_moves++) {
            items[at] = items[at - 1];
        }
        items[at] = item;
        if (n_moves > n) {
            return false;
        }
    }
    return true;
}

/* By the digits that not all keys have in common. Many are rarely needed to tell keys apart: the first ones are tried. */
static bool radix_sort(struct mdf_stop *stop, int64_t *items, int64_t *spare, size_t n, const uint64_t *keys)
{
    enum { FIRST_DIGITS = 4 };
    size_t digits[N_DIGITS], n_digits = 0;
    int64_t *from = items, *to = spare;
    uint64_t differing = 0;

    for (size_t i = 1; i < n; i++) {
        differing |= keys[items[i]] ^ keys[items[0]];
    }
    for (size_t digit = N_DIGITS; digit-- > 0;) {
        digits[n_digits] = digit;
        n_digits += digit_of(differing, digit) != 0;
    }
    if (n_digits > FIRST_DIGITS + 1) {
        if (!sort_by_digits(stop, &from, &to, n, keys, digits, FIRST_DIGITS)) {
            return false;
        }
        n_digits = sort_nearly_sorted(from, n, keys) ? 0 : n_digits;
    }
    if (!sort_by_digits(stop, &from, &to, n, keys, digits, n_digits)) {
        return false;
    }
    if (from != items) {
        memcpy(items, from, n * sizeof *items);
    }
    return true;
}

bool mdf_sort_by_keys(struct mdf_stop *stop, int64_t *items, int64_t *spare, size_t n, const uint64_t *keys)
{
    enum { FEW = 128 }; /* to count values takes longer than to compare so many */

    return n <= FEW ? mdf_merge_sort(stop, items, spare, n, compare_keys, keys) : radix_sort(stop, items, spare, n, keys);
}
