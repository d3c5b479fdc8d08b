/* test_whole_division.c - quotients and remainders of int64 arrays, in vectors as one by one: in all places of a vector, about 0,
 * and on both sides of the largest numbers that vectors take. */
#include "functions/elements/element_helpers.h"
#include "functions/elements/loops/element_loops.h"
#include "functions/elements/loops/whole_division.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

enum { N = 203 };

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const mdf_loop loops[] = {mdf_element_quotient_int64,        mdf_element_floor_quotient_int64,
                                 mdf_element_floor_remainder_int64, mdf_element_c_remainder_int64,
                                 mdf_element_remainder_int64,       mdf_element_modulo_int64};

/* Numbers of all sizes up to 2^most_bits, of both signs, from a generator of Marsaglia's (xorshift, 2003). */
static void draw(int64_t *numbers, unsigned most_bits, uint64_t *seed)
{
    size_t i;

    for (i = 0; i < N; i++) {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        numbers[i] = (int64_t)(*seed >> 1 >> (63 - (1 + *seed % most_bits)));
        numbers[i] = *seed & 256 ? -numbers[i] : numbers[i];
    }
}

/* One element has no vectors. */
static bool divide_one_by_one(mdf_loop loop, int64_t *target, const int64_t *a, const int64_t *b, const size_t *steps)
{
    size_t i;

    for (i = 0; i < N; i++) {
        if (!loop(target + i, (const void *const[]){a + i * steps[0], b + i * steps[1]}, (const size_t[]){1, 1}, 1, NULL)) {
            return false;
        }
    }
    return true;
}

static void check(const int64_t *a, const int64_t *b, const size_t *steps)
{
    int64_t expected[N], found[N];
    size_t i;

    for (i = 0; i < COUNT(loops); i++) {
        bool is_done = divide_one_by_one(loops[i], expected, a, b, steps);

        memcpy(found, a, sizeof found); /* which may be the target, too */
        cr_assert_eq(loops[i](found, (const void *const[]){steps[0] != 0 ? found : a, b}, steps, N, NULL), is_done);
        cr_expect(!is_done || memcmp(found, expected, sizeof found) == 0, "loop %zu", i);
    }
}

Test(whole_division, as_one_by_one)
{
    static const size_t steps[][2] = {{1, 1}, {1, 0}, {0, 1}};
    static const unsigned sizes[] = {4, 20, 51, 54, 62};
    uint64_t seed = 88172645463325252u;
    int64_t a[N], b[N];
    size_t i, k, j;

    for (i = 0; i < COUNT(sizes) * COUNT(sizes); i++) {
        draw(a, sizes[i % COUNT(sizes)], &seed);
        draw(b, sizes[i / COUNT(sizes)], &seed);
        for (k = 0; k < COUNT(steps); k++) {
            check(a, b, steps[k]); /* with divisors 0 */
            for (j = 0; j < N; j++) {
                b[j] += b[j] == 0;
            }
            check(a, b, steps[k]);
        }
    }
}

/* Products and their neighbours: where a quotient is about a whole number. */
Test(whole_division, about_multiples)
{
    const int64_t limit = INT64_C(1) << 51;
    uint64_t seed = 1234567;
    int64_t a[N], b[N];
    size_t i, k;

    for (k = 0; k < 60; k++) {
        draw(b, 1 + (unsigned)k % 51, &seed);
        for (i = 0; i < N; i++) {
            b[i] += b[i] == 0;
            a[i] = (limit / b[i] - (int64_t)(k % 3)) * b[i] + (int64_t)(i % 3) - 1;
            a[i] = a[i] >= limit || i % 5 == 0 ? limit - 1 - (int64_t)(i / 5) : i % 7 == 0 ? -limit + (int64_t)(i / 7) : a[i];
        }
        check(a, b, (const size_t[]){1, 1});
    }
}

#if defined(__x86_64__)

static size_t n_calls;

static bool count_calls(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    n_calls++;
    return mdf_element_quotient_int64(target, operands, steps, n, settings);
}

/* Only stretches in which a number is too large, and divisors of 0, go one by one. */
Test(whole_division, vectors_take_what_they_can)
{
    int64_t a[N], b[N], target[N];
    struct mdf_whole_division division = {target, (const void *const[]){a, b}, (const size_t[]){1, 1}, N, NULL, count_calls};
    uint64_t seed = 99;

    if (mdf_has_avx2()) {
        draw(a, 51, &seed);
        for (size_t i = 0; i < N; i++) {
            b[i] = a[i] / 3 + 1 == 0 ? 1 : a[i] / 3 + 1;
        }
        cr_expect(mdf_whole_quotients(&division) && n_calls == 0);
        a[100] = INT64_C(1) << 51;
        cr_expect(mdf_whole_quotients(&division) && n_calls == 1);
        b[150] = 0;
        cr_expect(!mdf_whole_quotients(&division) && n_calls == 2);
    }
}

#endif

/* Python's quotient of whole numbers is rounded once; the expected ones are Python's. */
Test(whole_division, true_quotients_are_rounded_once)
{
    static const struct {
        int64_t a, b;
        double quotient;
    } cases[] = {{1209, 2287, 0x1.0ea9eba0a1307p-1},
                 {1094, -7213, -0x1.369f12a20dd77p-3},
                 {3039, 8750, 0x1.63a65b2a4e4adp-2},
                 {INT64_C(3591618735728258594), INT64_C(127729326725646075), 0x1.c1e75a768fad0p+4},
                 {INT64_C(701055455000585693), 835893778, 0x1.8feb1b5f1e78fp+29},
                 {INT64_C(-6687177563133029940), INT64_C(34372556025407298), -0x1.85198d5a6e83fp+7},
                 {INT64_C(2072868625622490127), INT64_C(3201970417556), 0x1.3c199a4ef8da2p+19},
                 {INT64_C(5147764947167880556), 2915922937, 0x1.a4e75a086c95ep+30},
                 {INT64_MIN, -1, 0x1p63},
                 {INT64_MIN, 3, -0x1.5555555555555p+61},
                 {1, INT64_MIN, -0x1p-63},
                 {INT64_MAX, INT64_MAX - 1, 1},
                 {(INT64_C(1) << 53) + 1, 1, 0x1p53},
                 {0, INT64_MIN, -0.0},
                 {0, -5, -0.0}};

    for (size_t i = 0; i < COUNT(cases); i++) {
        double found = mdf_true_quotient(cases[i].a, cases[i].b);

        cr_expect(memcmp(&found, &cases[i].quotient, sizeof found) == 0, "%lld / %lld: %a", (long long)cases[i].a,
                  (long long)cases[i].b, found);
    }
}
