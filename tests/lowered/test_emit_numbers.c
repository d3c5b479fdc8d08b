/* test_emit_numbers.c - machine code of what there is much to be wrong with: quotients by constants, choices of the smaller and
 * the larger one of two reals; and of a loop that turns out to be long. It gives what the plain form gives, bit for bit. */
#include "mdf_c/machine/emit.h"

#include "tests/support/early_code.h"
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))

static uint64_t draw(uint64_t *random, uint64_t n)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return (*random * UINT64_C(0x2545F4914F6CDD1D) >> 20) % n;
}

/* ------------------------------------------------------------------ division by constants */

/* A number with a random number of bits, of either sign. */
static int64_t draw_whole(uint64_t *random, unsigned n_bits)
{
    uint64_t bits = draw(random, UINT64_C(1) << 44) << 20 ^ draw(random, UINT64_C(1) << 44);

    bits >>= 64 - n_bits + draw(random, n_bits);
    return draw(random, 2) == 0 ? (int64_t)bits : (int64_t)(0 - bits);
}

/* Quotients and remainders of `n` numbers by a constant: as the plain form has them. */
static void check_divisor(mdf_dtype dtype, int64_t divisor, uint64_t seed)
{
    static const int64_t ends[] = {0, 1, -1, 2, -2, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1};
    enum { N = 400 };
    struct build build;
    struct mdf_lowered_loop *loop;
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    mdf_lowered_id row, by, in[2];
    int64_t wide[N], converted[N], by_element = 0, length = N;
    size_t i, code;

    for (i = 0; i < N; i++) {
        int64_t near = (int64_t)((uint64_t)divisor * (uint64_t)draw_whole(&random, 20) + draw(&random, 3) - 1);

        wide[i] = i < COUNT(ends) ? ends[i] : i % 2 == 0 ? near : draw_whole(&random, i % 4 == 1 ? 32 : 64);
    }
    mdf_convert_elements(dtype, &by_element, MDF_DTYPE_INT64, &divisor, 1, false);
    mdf_convert_elements(dtype, converted, MDF_DTYPE_INT64, wide, N, false);
    build_begin(&build, NULL);
    by = build_constant(&build, dtype, 0, NULL, &by_element);
    in[0] = build_constant(&build, dtype, 1, &length, converted);
    loop = build_loop(&build, &build.lowered->region, N);
    row = build_rows(&build, loop, in[0], false);
    for (code = MDF_LOWERED_QUOTIENT; code <= MDF_LOWERED_FLOOR_REMAINDER; code++) {
        in[0] = row;
        in[1] = by;
        in[0] = build_element(&build, &loop->body, (enum mdf_lowered_code)code, dtype, in);
        build_output(&build, build_slot(&build), build_stack(&build, loop, in[0], false));
    }
    build_finish(&build);
    build_check_code(&build, seed);
    build_end(&build);
}

/* Two million operands of the types with most bits. */
Test(emit_numbers, division_by_constants)
{
    uint64_t random = 88172645463325252;
    static const int64_t divisors[] = {1,
                                       -1,
                                       2,
                                       3,
                                       -3,
                                       5,
                                       7,
                                       10,
                                       641,
                                       1000000007,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT64_MAX,
                                       INT64_MIN,
                                       INT64_MIN + 1,
                                       1 << 30,
                                       INT64_C(1) << 62,
                                       -(INT64_C(1) << 62)};
    size_t i;

    for (i = 0; i < 1300; i++) {
        int64_t divisor = i < COUNT(divisors)        ? divisors[i]
                          : i < COUNT(divisors) + 62 ? (INT64_C(1) << (i - COUNT(divisors))) + 1
                                                     : draw_whole(&random, 64);

        check_divisor(MDF_DTYPE_INT64, divisor != 0 ? divisor : 9, i + 1);
        check_divisor(MDF_DTYPE_INT32, (int32_t)divisor != 0 ? (int32_t)divisor : 9, i + 1);
        check_divisor(MDF_DTYPE_UINT64, divisor != 0 ? divisor : 9, i + 1);
        check_divisor(MDF_DTYPE_UINT32, (int32_t)divisor != 0 ? divisor : 9, i + 1);
        check_divisor(i % 2 == 0 ? MDF_DTYPE_INT16 : MDF_DTYPE_UINT16, (int16_t)divisor != 0 ? divisor : 9, i + 1);
        check_divisor(i % 2 == 0 ? MDF_DTYPE_INT8 : MDF_DTYPE_UINT8, (int8_t)divisor != 0 ? divisor : 9, i + 1);
    }
}

/* ------------------------------------------------------------------ the smaller and the larger one */

/* first CODE second, or first is not first: first, else second. */
static mdf_lowered_id choose(struct build *build, struct mdf_lowered_region *region, mdf_dtype dtype, enum mdf_lowered_code code,
                             bool keeps_nan, mdf_lowered_id first, mdf_lowered_id second)
{
    mdf_lowered_id in[3] = {first, second, second};

    in[0] = build_element(build, region, code, dtype, in);
    in[1] = keeps_nan ? build_element(build, region, MDF_LOWERED_NOT_EQUAL, dtype, (mdf_lowered_id[]){first, first}) : in[0];
    in[0] = keeps_nan ? build_element(build, region, MDF_LOWERED_OR, MDF_DTYPE_BOOL, in) : in[0];
    in[1] = first;
    return build_element(build, region, MDF_LOWERED_SELECT, dtype, in);
}

/* All pairs of some reals, as rows of a loop. */
struct pairs {
    struct build build;
    struct mdf_lowered_loop *loop;
    mdf_lowered_id rows[2];
    mdf_lowered_id first; /* a constant */
};

static void begin_pairs(struct pairs *pairs, mdf_dtype dtype)
{
    static const double reals[] = {0.0, -0.0, 1.5, -2.5, 1.5, INFINITY, -INFINITY, NAN, -NAN};
    enum { N = COUNT(reals) * COUNT(reals) };
    struct build *build = &pairs->build;
    double wide[2][N];
    float narrow[2][N];
    int64_t length = N;
    size_t i, k;

    for (i = 0; i < N; i++) {
        wide[0][i] = reals[i % COUNT(reals)];
        wide[1][i] = reals[i / COUNT(reals)];
        narrow[0][i] = (float)wide[0][i];
        narrow[1][i] = (float)wide[1][i];
    }
    build_begin(build, NULL);
    for (k = 0; k < 2; k++) {
        pairs->rows[k] =
            build_constant(build, dtype, 1, &length, dtype == MDF_DTYPE_FLOAT64 ? (void *)wide[k] : (void *)narrow[k]);
    }
    pairs->first = build_constant(build, dtype, 0, NULL, dtype == MDF_DTYPE_FLOAT64 ? (void *)wide[0] : (void *)narrow[0]);
    pairs->loop = build_loop(build, &build->lowered->region, N);
    for (k = 0; k < 2; k++) {
        pairs->rows[k] = build_rows(build, pairs->loop, pairs->rows[k], false);
    }
}

static void check_choice(mdf_dtype dtype, enum mdf_lowered_code code, bool keeps_nan, bool is_turned)
{
    struct pairs pairs;
    struct build *build;
    mdf_lowered_id state, next;

    begin_pairs(&pairs, dtype);
    build = &pairs.build;
    state = build_state(build, pairs.loop, pairs.first);
    next = choose(build, &pairs.loop->body, dtype, code, keeps_nan, pairs.rows[is_turned], pairs.rows[!is_turned]);
    build_output(build, build_slot(build), build_stack(build, pairs.loop, next, false));
    next = choose(build, &pairs.loop->body, dtype, code, keeps_nan, is_turned ? state : next, is_turned ? next : state);
    build_next(build, pairs.loop, state, next);
    build_output(build, build_slot(build), build_stack(build, pairs.loop, next, false));
    build_output(build, build_slot(build), state);
    build_finish(build);
    build_check_code(build, (uint64_t)code);
    build_end(build);
}

/* What a state comes to, or a constant from which it begins anew; the same as a result that is no state. */
static void check_reset(mdf_dtype dtype, enum mdf_lowered_code code, double constant, bool is_turned)
{
    float narrow = (float)constant;
    struct pairs pairs;
    struct build *build;
    mdf_lowered_id state, in[3], next, anew;

    begin_pairs(&pairs, dtype);
    build = &pairs.build;
    anew = build_constant(build, dtype, 0, NULL, dtype == MDF_DTYPE_FLOAT64 ? (void *)&constant : (void *)&narrow);
    state = build_state(build, pairs.loop, pairs.first);
    in[0] = build_element(build, &pairs.loop->body, code, dtype, pairs.rows);
    in[1] = is_turned ? pairs.rows[0] : anew;
    in[2] = is_turned ? anew : pairs.rows[0];
    next = build_element(build, &pairs.loop->body, MDF_LOWERED_SELECT, dtype, in);
    build_output(build, build_slot(build), build_stack(build, pairs.loop, state, false));
    build_next(build, pairs.loop, state, next);
    in[is_turned ? 1 : 2] = state;
    next = build_element(build, &pairs.loop->body, MDF_LOWERED_SELECT, dtype, in);
    build_output(build, build_slot(build), build_stack(build, pairs.loop, next, false));
    build_output(build, build_slot(build), state);
    build_finish(build);
    build_check_code(build, (uint64_t)code);
    build_end(build);
}

/* Of zeros of either sign, infinities and NaN; also where the one that is chosen takes the place of one of the two. */
Test(emit_numbers, choices_of_the_smaller_and_the_larger)
{
    unsigned i;

    for (i = 0; i < 16; i++) {
        enum mdf_lowered_code code = (enum mdf_lowered_code)(MDF_LOWERED_LESS + i % 4);

        check_choice(MDF_DTYPE_FLOAT64, code, i / 4 % 2 == 0, i / 8 == 0);
        check_choice(MDF_DTYPE_FLOAT32, code, i / 4 % 2 == 0, i / 8 == 0);
    }
}

/* By each comparison, which of the two reals it is that counts, as bits. */
Test(emit_numbers, states_that_begin_anew)
{
    static const double constants[] = {0.0, -0.0, 1.5, NAN};
    unsigned i;

    for (i = 0; i < 6 * 2 * COUNT(constants); i++) {
        enum mdf_lowered_code code = (enum mdf_lowered_code)(MDF_LOWERED_EQUAL + i % 6);

        check_reset(MDF_DTYPE_FLOAT64, code, constants[i / 12], i / 6 % 2 == 0);
        check_reset(MDF_DTYPE_FLOAT32, code, constants[i / 12], i / 6 % 2 == 0);
    }
}

/* ------------------------------------------------------------------ when it is made */

/* Counts to n, which is known when it runs only. */
static struct mdf_value *build_counting(struct build *build, int64_t n)
{
    struct mdf_lowered_loop *loop;
    struct mdf_value *slot;
    mdf_lowered_id count;

    build_begin(build, NULL);
    loop = build_loop(build, &build->lowered->region, SIZE_MAX);
    loop->trip_count = build_input(build, build_array(build, MDF_DTYPE_INT64, 0, NULL, &n));
    count = build_state(build, loop, build_whole(build, 0));
    build_next(
        build, loop, count,
        build_element(build, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_INT64, (mdf_lowered_id[]){count, build_whole(build, 1)}));
    slot = build_slot(build);
    build_output(build, slot, count);
    build_finish(build);
    return slot;
}

/* A loop that turns out to be long is machine code from its first run on, a short one is not (early_code.c). */
Test(emit_numbers, code_is_made_for_a_long_loop_while_it_runs)
{
    const int64_t counts[] = {90, 1000};

    for (size_t i = 0; i < 2; i++) {
        struct build build;
        struct mdf_value *slot = build_counting(&build, counts[i]);

        cr_expect_eq(mdf_lowered_run_in_time(build.lowered), MDF_LOWERED_DONE);
        cr_expect_eq(build.lowered->is_code_settled, counts[i] > 100);
        cr_expect_eq(build_element_of(slot, 0), (double)counts[i]);
        build_end(&build);
    }
}
