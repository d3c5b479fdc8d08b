/* test_lowered_run.c - the plain form of running what mdf_lower makes: element ops, NEST, IF, LOOP, CALL. */
#include "tests/support/lowered_builder.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define REGION (&b.lowered->region)
#define IDS(...) ((const mdf_lowered_id[]){__VA_ARGS__})

enum { LONGEST_TILE = 1024 }; /* of nests (mdf_c/lowered/lowered_nest.c) */

static const int64_t three[] = {3};

/* ------------------------------------------------------------------ element ops on scalars */

/* A number as an element of a type. */
static void put(mdf_dtype dtype, void *element, double real, int64_t whole)
{
    switch (dtype) {
    case MDF_DTYPE_FLOAT32:
        *(float *)element = (float)real;
        break;
    case MDF_DTYPE_FLOAT64:
        *(double *)element = real;
        break;
    case MDF_DTYPE_INT32:
        *(int32_t *)element = (int32_t)whole;
        break;
    case MDF_DTYPE_INT64:
        *(int64_t *)element = whole;
        break;
    default:
        *(uint8_t *)element = whole != 0;
    }
}

/* Runs an op on scalars that come in, and in a NEST over arrays that hold them in two places more than a tile apart. All ways
 * agree; *result has the element. False: it bails out. */
static bool run_op(enum mdf_lowered_code code, mdf_dtype dtype, const uint64_t *operands, uint64_t *result)
{
    enum { N = LONGEST_TILE + 70, LAST = N - 1 };
    const int64_t n = N;
    mdf_dtype result_dtype = build_result_type(code, dtype);
    size_t result_size = mdf_dtype_size(result_dtype), i, j;
    mdf_lowered_id scalars[MDF_MAX_OPERANDS], arrays[MDF_MAX_OPERANDS];
    struct mdf_value *slot, *array_slot;
    enum mdf_lowered_outcome outcome;
    struct build b;

    build_begin(&b, NULL);
    for (i = 0; i < build_n_operands(code); i++) {
        mdf_dtype type = code == MDF_LOWERED_SELECT && i == 0 ? MDF_DTYPE_BOOL : dtype;
        struct mdf_value *array = build_array(&b, type, 1, &n, NULL);
        size_t size = mdf_dtype_size(type);

        for (j = 0; j < N; j++) { /* all the same, so that none bails out where this one does not */
            memcpy((char *)array->data + j * size, &operands[i], size);
        }
        scalars[i] = build_input(&b, build_array(&b, type, 0, NULL, &operands[i]));
        arrays[i] = build_input(&b, array);
    }
    slot = build_slot(&b);
    array_slot = build_slot(&b);
    build_output(&b, slot, build_element(&b, REGION, code, dtype, scalars));
    build_output(&b, array_slot, build_group_element(&b, REGION, code, dtype, arrays));
    build_finish(&b);
    outcome = mdf_lowered_run(b.lowered);
    if (outcome == MDF_LOWERED_DONE) {
        cr_assert(slot->dtype == result_dtype && slot->rank == 0 && array_slot->dtype == result_dtype);
        *result = 0;
        memcpy(result, slot->data, result_size);
        cr_assert_eq(memcmp(result, array_slot->data, result_size), 0);
        cr_assert_eq(memcmp(result, (char *)array_slot->data + LAST * result_size, result_size), 0);
    } else {
        cr_assert(outcome == MDF_LOWERED_BAILED_OUT && slot->kind == MDF_KIND_NONE && array_slot->kind == MDF_KIND_NONE);
    }
    build_end(&b);
    return outcome == MDF_LOWERED_DONE;
}

#define TINY 5e-324
#define LEAVES -77.25 /* in place of a result */

static const struct {
    enum mdf_lowered_code code;
    double a, b, result;
} reals[] = {
    {MDF_LOWERED_ADD, 1.5, 2.25, 3.75},
    {MDF_LOWERED_ADD, INFINITY, -INFINITY, NAN},
    {MDF_LOWERED_ADD, -0.0, -0.0, -0.0},
    {MDF_LOWERED_ADD, -0.0, 0.0, 0.0},
    {MDF_LOWERED_SUBTRACT, 1.5, 2.25, -0.75},
    {MDF_LOWERED_SUBTRACT, INFINITY, INFINITY, NAN},
    {MDF_LOWERED_MULTIPLY, -1.5, 2, -3},
    {MDF_LOWERED_MULTIPLY, 0, -INFINITY, NAN},
    {MDF_LOWERED_MULTIPLY, 0, -1, -0.0},
    {MDF_LOWERED_NEGATE, 2.5, 0, -2.5},
    {MDF_LOWERED_NEGATE, 0.0, 0, -0.0},
    {MDF_LOWERED_NEGATE, -INFINITY, 0, INFINITY},
    {MDF_LOWERED_ABSOLUTE, -2.5, 0, 2.5},
    {MDF_LOWERED_ABSOLUTE, -0.0, 0, 0.0},
    {MDF_LOWERED_ABSOLUTE, -INFINITY, 0, INFINITY},
    {MDF_LOWERED_DIVIDE, 3, -2, -1.5},
    {MDF_LOWERED_DIVIDE, 3, -0.0, -INFINITY},
    {MDF_LOWERED_DIVIDE, 0, 0, NAN},
    {MDF_LOWERED_DIVIDE_NONZERO, 3, -2, -1.5},
    {MDF_LOWERED_DIVIDE_NONZERO, 3, 0.0, LEAVES},
    {MDF_LOWERED_DIVIDE_NONZERO, 3, -0.0, LEAVES},
    {MDF_LOWERED_DIVIDE_NONZERO, 3, NAN, NAN},
    {MDF_LOWERED_SQUARE_ROOT, 6.25, 0, 2.5},
    {MDF_LOWERED_SQUARE_ROOT, -1, 0, NAN},
    {MDF_LOWERED_SQUARE_ROOT, -0.0, 0, -0.0},
    {MDF_LOWERED_FLOOR, -1.5, 0, -2},
    {MDF_LOWERED_FLOOR, -0.0, 0, -0.0},
    {MDF_LOWERED_FLOOR, 0x1p100, 0, 0x1p100},
    {MDF_LOWERED_FLOOR, NAN, 0, NAN},
    {MDF_LOWERED_CEILING, -1.5, 0, -1},
    {MDF_LOWERED_CEILING, -0.5, 0, -0.0},
    {MDF_LOWERED_CEILING, INFINITY, 0, INFINITY},
    {MDF_LOWERED_EQUAL, 1.5, 1.5, 1},
    {MDF_LOWERED_EQUAL, -0.0, 0.0, 1},
    {MDF_LOWERED_EQUAL, NAN, NAN, 0},
    {MDF_LOWERED_NOT_EQUAL, 1.5, 1.5, 0},
    {MDF_LOWERED_NOT_EQUAL, NAN, NAN, 1},
    {MDF_LOWERED_LESS, 1, 2, 1},
    {MDF_LOWERED_LESS, 2, 2, 0},
    {MDF_LOWERED_LESS, NAN, 2, 0},
    {MDF_LOWERED_LESS, 2, NAN, 0},
    {MDF_LOWERED_LESS, -INFINITY, INFINITY, 1},
    {MDF_LOWERED_LESS_EQUAL, 2, 2, 1},
    {MDF_LOWERED_LESS_EQUAL, 3, 2, 0},
    {MDF_LOWERED_LESS_EQUAL, NAN, NAN, 0},
    {MDF_LOWERED_GREATER, 2, 1, 1},
    {MDF_LOWERED_GREATER, 2, 2, 0},
    {MDF_LOWERED_GREATER, NAN, 2, 0},
    {MDF_LOWERED_GREATER_EQUAL, 2, 2, 1},
    {MDF_LOWERED_GREATER_EQUAL, 1, 2, 0},
    {MDF_LOWERED_GREATER_EQUAL, 1, NAN, 0},
};

Test(lowered_run, element_ops_of_reals)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64};

    for (size_t i = 0; i < 2 * sizeof reals / sizeof *reals; i++) {
        mdf_dtype dtype = dtypes[i % 2];
        uint64_t operands[2], result = 0;
        double real;
        bool done;

        put(dtype, &operands[0], reals[i / 2].a, 0);
        put(dtype, &operands[1], reals[i / 2].b, 0);
        done = run_op(reals[i / 2].code, dtype, operands, &result);
        cr_expect_eq(done, reals[i / 2].result != LEAVES, "case %zu", i / 2);
        if (done) {
            real = mdf_element_to_double(build_result_type(reals[i / 2].code, dtype), &result);
            cr_expect(isnan(reals[i / 2].result)
                          ? isnan(real)
                          : real == reals[i / 2].result && (signbit(real) != 0) == (signbit(reals[i / 2].result) != 0),
                      "case %zu of type %d: %g", i / 2, dtype, real);
        }
    }
}

/* The sign of a NaN is a bit like any other. */
Test(lowered_run, signs_of_nan)
{
    double nan = copysign(NAN, 1), negative = copysign(NAN, -1);
    uint64_t operands[2] = {0}, result, expected;

    memcpy(operands, &nan, sizeof nan);
    memcpy(&expected, &negative, sizeof negative);
    cr_assert(run_op(MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, operands, &result));
    cr_expect_eq(result, expected);
    memcpy(operands, &negative, sizeof nan);
    memcpy(&expected, &nan, sizeof negative);
    cr_assert(run_op(MDF_LOWERED_ABSOLUTE, MDF_DTYPE_FLOAT64, operands, &result));
    cr_expect_eq(result, expected);
}

/* LOW and HIGH stand for the type's lowest and highest number. */
enum { LOW = -1000001, HIGH = 1000001, NO = -1000002 /* it bails out */ };

static const struct {
    enum mdf_lowered_code code;
    int a, b, result;
} wholes[] = {
    {MDF_LOWERED_ADD, 3, -5, -2},
    {MDF_LOWERED_ADD, HIGH, 1, LOW},
    {MDF_LOWERED_SUBTRACT, 3, -5, 8},
    {MDF_LOWERED_SUBTRACT, LOW, 1, HIGH},
    {MDF_LOWERED_MULTIPLY, 3, -5, -15},
    {MDF_LOWERED_MULTIPLY, HIGH, 2, -2},
    {MDF_LOWERED_MULTIPLY, LOW, -1, LOW},
    {MDF_LOWERED_NEGATE, 3, 0, -3},
    {MDF_LOWERED_NEGATE, LOW, 0, LOW},
    {MDF_LOWERED_ABSOLUTE, -3, 0, 3},
    {MDF_LOWERED_ABSOLUTE, LOW, 0, LOW},
    {MDF_LOWERED_QUOTIENT, -7, 2, -3},
    {MDF_LOWERED_QUOTIENT, 7, -2, -3},
    {MDF_LOWERED_QUOTIENT, LOW, -1, LOW},
    {MDF_LOWERED_QUOTIENT, LOW, 1, LOW},
    {MDF_LOWERED_QUOTIENT, 7, 0, NO},
    {MDF_LOWERED_QUOTIENT, LOW, 0, NO},
    {MDF_LOWERED_REMAINDER, -7, 2, -1},
    {MDF_LOWERED_REMAINDER, 7, -2, 1},
    {MDF_LOWERED_REMAINDER, LOW, -1, 0},
    {MDF_LOWERED_REMAINDER, 7, 0, NO},
    {MDF_LOWERED_FLOOR_QUOTIENT, -7, 2, -4},
    {MDF_LOWERED_FLOOR_QUOTIENT, 7, -2, -4},
    {MDF_LOWERED_FLOOR_QUOTIENT, -7, -2, 3},
    {MDF_LOWERED_FLOOR_QUOTIENT, -6, 2, -3},
    {MDF_LOWERED_FLOOR_QUOTIENT, 3, -1, -3},
    {MDF_LOWERED_FLOOR_QUOTIENT, LOW, -1, NO},
    {MDF_LOWERED_FLOOR_QUOTIENT, 7, 0, NO},
    {MDF_LOWERED_FLOOR_REMAINDER, -7, 2, 1},
    {MDF_LOWERED_FLOOR_REMAINDER, 7, -2, -1},
    {MDF_LOWERED_FLOOR_REMAINDER, -7, -2, -1},
    {MDF_LOWERED_FLOOR_REMAINDER, -6, 2, 0},
    {MDF_LOWERED_FLOOR_REMAINDER, LOW, -1, 0},
    {MDF_LOWERED_FLOOR_REMAINDER, 7, 0, NO},
    {MDF_LOWERED_EQUAL, 3, 3, 1},
    {MDF_LOWERED_NOT_EQUAL, 3, 3, 0},
    {MDF_LOWERED_LESS, LOW, HIGH, 1},
    {MDF_LOWERED_LESS, HIGH, LOW, 0},
    {MDF_LOWERED_LESS_EQUAL, 3, 3, 1},
    {MDF_LOWERED_GREATER, -1, 1, 0},
    {MDF_LOWERED_GREATER, 1, -1, 1},
    {MDF_LOWERED_GREATER_EQUAL, LOW, LOW, 1},
};

/* Of int64 alone. */
static const struct {
    enum mdf_lowered_code code;
    int a, b, result;
} exact[] = {
    {MDF_LOWERED_ADD_EXACT, 3, -5, -2},        {MDF_LOWERED_ADD_EXACT, HIGH, 0, HIGH},
    {MDF_LOWERED_ADD_EXACT, HIGH, 1, NO},      {MDF_LOWERED_ADD_EXACT, LOW, -1, NO},
    {MDF_LOWERED_SUBTRACT_EXACT, LOW, 0, LOW}, {MDF_LOWERED_SUBTRACT_EXACT, LOW, 1, NO},
    {MDF_LOWERED_SUBTRACT_EXACT, 0, LOW, NO},  {MDF_LOWERED_MULTIPLY_EXACT, -3, 5, -15},
    {MDF_LOWERED_MULTIPLY_EXACT, HIGH, 2, NO}, {MDF_LOWERED_MULTIPLY_EXACT, LOW, -1, NO},
    {MDF_LOWERED_MULTIPLY_EXACT, LOW, 1, LOW}, {MDF_LOWERED_NEGATE_EXACT, 3, 0, -3},
    {MDF_LOWERED_NEGATE_EXACT, LOW, 0, NO},
};

static int64_t number_of(mdf_dtype dtype, int given)
{
    if (given == LOW) {
        return dtype == MDF_DTYPE_INT32 ? INT32_MIN : INT64_MIN;
    }
    return given != HIGH ? given : dtype == MDF_DTYPE_INT32 ? INT32_MAX : INT64_MAX;
}

static void check_whole(enum mdf_lowered_code code, mdf_dtype dtype, int a, int b, int expected)
{
    uint64_t operands[2], result = 0;
    bool done;

    put(dtype, &operands[0], 0, number_of(dtype, a));
    put(dtype, &operands[1], 0, number_of(dtype, b));
    done = run_op(code, dtype, operands, &result);
    cr_expect_eq(done, expected != NO, "code %d of %d, %d", code, a, b);
    if (done) {
        int64_t whole = mdf_element_to_int64(build_result_type(code, dtype), &result);

        cr_expect_eq(whole, number_of(dtype, expected), "code %d of %d, %d: %lld", code, a, b, (long long)whole);
    }
}

Test(lowered_run, element_ops_of_whole_numbers)
{
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
        check_whole(wholes[i].code, MDF_DTYPE_INT32, wholes[i].a, wholes[i].b, wholes[i].result);
        check_whole(wholes[i].code, MDF_DTYPE_INT64, wholes[i].a, wholes[i].b, wholes[i].result);
    }
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        check_whole(exact[i].code, MDF_DTYPE_INT64, exact[i].a, exact[i].b, exact[i].result);
    }
}

/* Results for 0 0, 0 1, 1 0, 1 1. */
static const struct {
    enum mdf_lowered_code code;
    int results[4];
} bools[] = {
    {MDF_LOWERED_AND, {0, 0, 0, 1}},           {MDF_LOWERED_OR, {0, 1, 1, 1}},         {MDF_LOWERED_EXCLUSIVE_OR, {0, 1, 1, 0}},
    {MDF_LOWERED_NOT, {1, 1, 0, 0}},           {MDF_LOWERED_EQUAL, {1, 0, 0, 1}},      {MDF_LOWERED_NOT_EQUAL, {0, 1, 1, 0}},
    {MDF_LOWERED_LESS, {0, 1, 0, 0}},          {MDF_LOWERED_LESS_EQUAL, {1, 1, 0, 1}}, {MDF_LOWERED_GREATER, {0, 0, 1, 0}},
    {MDF_LOWERED_GREATER_EQUAL, {1, 0, 1, 1}},
};

Test(lowered_run, element_ops_of_bools)
{
    for (size_t i = 0; i < sizeof bools / sizeof *bools; i++) {
        for (int j = 0; j < 4; j++) {
            check_whole(bools[i].code, MDF_DTYPE_BOOL, j / 2, j % 2, bools[i].results[j]);
        }
    }
}

Test(lowered_run, select)
{
    static const mdf_dtype dtypes[] = {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, MDF_DTYPE_INT64, MDF_DTYPE_BOOL};

    for (size_t i = 0; i < 2 * sizeof dtypes / sizeof *dtypes; i++) {
        mdf_dtype dtype = dtypes[i / 2];
        uint64_t operands[3] = {0}, result;

        put(MDF_DTYPE_BOOL, &operands[0], 0, i % 2);
        put(dtype, &operands[1], NAN, 1);
        put(dtype, &operands[2], -2.5, 0);
        cr_assert(run_op(MDF_LOWERED_SELECT, dtype, operands, &result));
        cr_expect_eq(memcmp(&result, &operands[i % 2 ? 1 : 2], mdf_dtype_size(dtype)), 0, "type %d", dtype);
    }
}

/* ------------------------------------------------------------------ CAST, FUNCTION, ELEMENTS, COPY */

static const struct {
    mdf_dtype from, to;
    double number, result;
} casts[] = {
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32, 0.1, 0.10000000149011612},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32, 1e300, INFINITY},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32, TINY, 0},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_FLOAT32, NAN, NAN},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_FLOAT64, -2.5, -2.5},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, -2.75, -2},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, 9223372036854774784.0, 9223372036854774784.0},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, 0x1p63, LEAVES},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, -0x1p63, -0x1p63},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, -9223372036854777856.0, LEAVES},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, NAN, LEAVES},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT64, -INFINITY, LEAVES},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, 2147483647.9, 2147483647},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, 2147483648.0, LEAVES},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, -2147483648.9, -2147483648.0},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, -2147483649.0, LEAVES},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_INT32, NAN, LEAVES},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT32, 0x1p31, LEAVES},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT32, -0x1p31, -0x1p31},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT32, -3.75, -3},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, 0x1p63, LEAVES},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, INFINITY, LEAVES},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_INT64, 0x1p62, 0x1p62},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_BOOL, 0.25, 1},
    {MDF_DTYPE_FLOAT64, MDF_DTYPE_BOOL, -0.0, 0},
    {MDF_DTYPE_FLOAT32, MDF_DTYPE_BOOL, NAN, 1},
    {MDF_DTYPE_INT64, MDF_DTYPE_INT32, 0x1p32 + 5, 5},
    {MDF_DTYPE_INT64, MDF_DTYPE_INT32, 0x1p31, -0x1p31},
    {MDF_DTYPE_INT32, MDF_DTYPE_INT64, -5, -5},
    {MDF_DTYPE_INT64, MDF_DTYPE_FLOAT64, 9007199254740992.0, 9007199254740992.0},
    {MDF_DTYPE_INT64, MDF_DTYPE_FLOAT32, 16777217, 16777216},
    {MDF_DTYPE_INT32, MDF_DTYPE_FLOAT64, -7, -7},
    {MDF_DTYPE_INT32, MDF_DTYPE_FLOAT32, -7, -7},
    {MDF_DTYPE_INT32, MDF_DTYPE_BOOL, 256, 1},
    {MDF_DTYPE_INT64, MDF_DTYPE_BOOL, 0x1p32, 1},
    {MDF_DTYPE_BOOL, MDF_DTYPE_FLOAT64, 1, 1},
    {MDF_DTYPE_BOOL, MDF_DTYPE_FLOAT32, 1, 1},
    {MDF_DTYPE_BOOL, MDF_DTYPE_INT32, 1, 1},
    {MDF_DTYPE_BOOL, MDF_DTYPE_INT64, 0, 0},
};

Test(lowered_run, casts)
{
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        const int64_t n = LONGEST_TILE + 1;
        struct mdf_value *scalar, *array, *slots[2];
        enum mdf_lowered_outcome outcome;
        uint64_t element = 0;
        mdf_lowered_id id;
        struct build b;

        build_begin(&b, NULL);
        put(casts[i].from, &element, casts[i].number, mdf_dtype_kind(casts[i].from) == 'f' ? 0 : (int64_t)casts[i].number);
        scalar = build_array(&b, casts[i].from, 0, NULL, &element);
        array = build_array(&b, casts[i].from, 1, &n, NULL);
        memcpy((char *)array->data + (size_t)(n - 1) * mdf_dtype_size(casts[i].from), &element, mdf_dtype_size(casts[i].from));
        slots[0] = build_slot(&b);
        slots[1] = build_slot(&b);
        build_output(&b, slots[0], build_cast(&b, REGION, casts[i].to, build_input(&b, scalar)));
        id = build_input(&b, array);
        build_output(&b, slots[1], build_cast(&b, &build_group(&b, REGION, (size_t)n)->body, casts[i].to, id));
        build_finish(&b);
        outcome = mdf_lowered_run(b.lowered);
        cr_expect_eq(outcome, casts[i].result == LEAVES ? MDF_LOWERED_BAILED_OUT : MDF_LOWERED_DONE, "case %zu", i);
        for (size_t j = 0; outcome == MDF_LOWERED_DONE && j < 2; j++) {
            double result = build_element_of(slots[j], slots[j]->length - 1);

            cr_expect(slots[j]->dtype == casts[i].to && (isnan(casts[i].result) ? isnan(result) : result == casts[i].result),
                      "case %zu: %g", i, result);
        }
        build_end(&b);
    }
}

Test(lowered_run, functions_bail_out_where_they_are_not_finite)
{
    static const struct {
        double x;
        enum mdf_lowered_outcome outcome;
    } cases[] = {
        {1, MDF_LOWERED_DONE}, {1000, MDF_LOWERED_BAILED_OUT}, {NAN, MDF_LOWERED_BAILED_OUT}, {-INFINITY, MDF_LOWERED_DONE}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mdf_value *slots[2];
        mdf_lowered_id x, y;
        struct build b;

        build_begin(&b, NULL);
        x = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 0, NULL, &cases[i].x));
        slots[0] = build_slot(&b);
        slots[1] = build_slot(&b);
        y = build_function(&b, REGION, exp, x);
        build_output(&b, slots[0], y);
        build_output(&b, slots[1], build_function_of_two(&b, REGION, pow, y, build_real(&b, 2)));
        build_finish(&b);
        cr_expect_eq(mdf_lowered_run(b.lowered), cases[i].outcome, "case %zu", i);
        if (cases[i].outcome == MDF_LOWERED_DONE) {
            cr_expect_eq(build_element_of(slots[0], 0), exp(cases[i].x));
            cr_expect_eq(build_element_of(slots[1], 0), pow(exp(cases[i].x), 2));
        }
        build_end(&b);
    }
}

/* Of uint8: min(a + b, *limit); refuses 13. */
static bool add_up_to(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const uint8_t *a = operands[0], *b = operands[1], *limit = settings;

    for (size_t i = 0; i < n; i++) {
        int sum = a[i * steps[0]] + b[i * steps[1]];

        if (sum == 13) {
            return false;
        }
        ((uint8_t *)target)[i] = (uint8_t)(sum < *limit ? sum : *limit);
    }
    return true;
}

Test(lowered_run, other_functions_of_elements)
{
    static const uint8_t limit = 9;
    const uint8_t numbers[] = {1, 5, 7}, five = 5;
    struct mdf_value *array, *scalar, *slots[2];
    mdf_lowered_id a, b_id;
    struct build b;

    build_begin(&b, NULL);
    array = build_array(&b, MDF_DTYPE_UINT8, 1, three, numbers);
    scalar = build_array(&b, MDF_DTYPE_UINT8, 0, NULL, &five);
    slots[0] = build_slot(&b);
    slots[1] = build_slot(&b);
    a = build_input(&b, array);
    b_id = build_input(&b, scalar);
    build_output(&b, slots[0],
                 build_elements(&b, REGION, add_up_to, &limit, MDF_DTYPE_UINT8, MDF_DTYPE_UINT8, 2, IDS(b_id, b_id)));
    build_output(&b, slots[1],
                 build_elements(&b, &build_group(&b, REGION, 3)->body, add_up_to, &limit, MDF_DTYPE_UINT8, MDF_DTYPE_UINT8, 2,
                                IDS(b_id, a)));
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_expect(build_element_of(slots[0], 0) == 9 && build_element_of(slots[1], 0) == 6 && build_element_of(slots[1], 2) == 9);
    ((uint8_t *)array->data)[2] = 8;
    cr_expect_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_BAILED_OUT);
    cr_expect_eq(build_element_of(slots[1], 2), 9);
    build_end(&b);
}

/* ------------------------------------------------------------------ element ops over arrays */

/* Chains over arrays of many lengths: x * 2 + y, kept; then 20 sums of what is before, all of which stay in use until the end. */
Test(lowered_run, chains_over_arrays)
{
    static const size_t lengths[] = {0, 2, 63, 64, 65, 511, 512, 513, 1500};
    enum { N_SUMS = 20 };

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t shape[] = {1, (int64_t)lengths[i]};
        struct mdf_value *x, *kept_slot, *last_slot;
        mdf_lowered_id x_id, sums[N_SUMS + 1], last;
        struct mdf_lowered_region *body;
        struct build b;

        build_begin(&b, NULL);
        x = build_array(&b, MDF_DTYPE_FLOAT64, 2, shape, NULL);
        for (size_t j = 0; j < lengths[i]; j++) {
            ((double *)x->data)[j] = (double)j / 7;
        }
        x_id = build_input(&b, x);
        body = &build_group(&b, REGION, lengths[i])->body;
        sums[0] = build_element(&b, body, MDF_LOWERED_MULTIPLY, MDF_DTYPE_FLOAT64, IDS(x_id, build_real(&b, 2)));
        for (size_t j = 1; j <= N_SUMS; j++) {
            sums[j] = build_element(&b, body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(sums[j - 1], x_id));
        }
        last = sums[N_SUMS];
        for (size_t j = 0; j < N_SUMS; j++) {
            last = build_element(&b, body, MDF_LOWERED_SUBTRACT, MDF_DTYPE_FLOAT64, IDS(last, sums[j]));
        }
        kept_slot = build_slot(&b);
        last_slot = build_slot(&b);
        build_output(&b, kept_slot, sums[3]);
        build_output(&b, last_slot, last);
        build_finish(&b);
        for (int run = 0; run < 3; run++) {
            cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
            cr_assert(last_slot->rank == 2 && last_slot->shape.sizes[1] == shape[1] && last_slot->length == lengths[i]);
            for (size_t j = 0; j < lengths[i]; j++) {
                double at = ((double *)x->data)[j], expected[N_SUMS + 1], result;

                expected[0] = at * 2;
                for (size_t k = 1; k <= N_SUMS; k++) {
                    expected[k] = expected[k - 1] + at;
                }
                result = expected[N_SUMS];
                for (size_t k = 0; k < N_SUMS; k++) {
                    result = result - expected[k];
                }
                cr_assert_eq(build_element_of(kept_slot, j), expected[3], "length %zu, element %zu", lengths[i], j);
                cr_assert_eq(build_element_of(last_slot, j), result, "length %zu, element %zu", lengths[i], j);
            }
            for (size_t j = 0; j < lengths[i]; j++) {
                ((double *)x->data)[j] += 1;
            }
        }
        build_end(&b);
    }
}

static bool add_complex(void *target, const void *const operands[], const size_t steps[], size_t n, const void *settings)
{
    const double *a = operands[0], *b = operands[1];

    (void)settings;
    for (size_t i = 0; i < n; i++) {
        ((double *)target)[2 * i] = a[2 * i * steps[0]] + b[2 * i * steps[1]];
        ((double *)target)[2 * i + 1] = a[2 * i * steps[0] + 1] + b[2 * i * steps[1] + 1];
    }
    return true;
}

/* Elements of 16 bytes, and of several sizes in one body. */
Test(lowered_run, elements_of_other_sizes)
{
    const int64_t n = 700;
    struct mdf_value *x, *z, *slots[2];
    mdf_lowered_id x_id, z_id, sum, small;
    struct mdf_lowered_region *body;
    struct build b;

    build_begin(&b, NULL);
    x = build_array(&b, MDF_DTYPE_INT32, 1, &n, NULL);
    z = build_array(&b, MDF_DTYPE_COMPLEX128, 1, &n, NULL);
    for (int64_t i = 0; i < n; i++) {
        ((int32_t *)x->data)[i] = (int32_t)i;
        ((double *)z->data)[2 * i] = (double)i;
        ((double *)z->data)[2 * i + 1] = -(double)i;
    }
    x_id = build_input(&b, x);
    z_id = build_input(&b, z);
    body = &build_group(&b, REGION, (size_t)n)->body;
    sum = build_elements(&b, body, add_complex, NULL, MDF_DTYPE_COMPLEX128, MDF_DTYPE_COMPLEX128, 2, IDS(z_id, z_id));
    small = build_element(&b, body, MDF_LOWERED_LESS, MDF_DTYPE_INT32, IDS(x_id, x_id));
    sum = build_elements(&b, body, add_complex, NULL, MDF_DTYPE_COMPLEX128, MDF_DTYPE_COMPLEX128, 2, IDS(sum, sum));
    small = build_element(&b, body, MDF_LOWERED_SELECT, MDF_DTYPE_INT32,
                          IDS(small, build_cast(&b, body, MDF_DTYPE_INT32, small), x_id));
    slots[0] = build_slot(&b);
    slots[1] = build_slot(&b);
    build_output(&b, slots[0],
                 build_elements(&b, body, add_complex, NULL, MDF_DTYPE_COMPLEX128, MDF_DTYPE_COMPLEX128, 2, IDS(sum, z_id)));
    build_output(&b, slots[1], small);
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    for (int64_t i = 0; i < n; i++) {
        cr_assert_eq(((double *)slots[0]->data)[2 * i], 5.0 * (double)i);
        cr_assert_eq(((double *)slots[0]->data)[2 * i + 1], -5.0 * (double)i);
        cr_assert_eq(((int32_t *)slots[1]->data)[i], i);
    }
    build_end(&b);
}

/* ------------------------------------------------------------------ IF */

/* y = x < 0 ? -x : x, of a scalar and of an array, with a nested If that says how often. */
Test(lowered_run, branches_and_what_they_merge)
{
    static const double numbers[] = {3, -4};
    const double array[] = {1, -2, 3};
    struct mdf_lowered_if *outer, *inner;
    mdf_lowered_id x, v, y, w, count, is_negative, small[2];
    struct mdf_value *source, *slots[3];
    struct build b;

    build_begin(&b, NULL);
    source = build_array(&b, MDF_DTYPE_FLOAT64, 0, NULL, &numbers[0]);
    x = build_input(&b, source);
    v = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, three, array));
    is_negative = build_element(&b, REGION, MDF_LOWERED_LESS, MDF_DTYPE_FLOAT64, IDS(x, build_real(&b, 0)));
    outer = build_if(&b, REGION, is_negative);
    y = build_element(&b, &outer->then, MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, &x);
    w = build_group_element(&b, &outer->then, MDF_LOWERED_NEGATE, MDF_DTYPE_FLOAT64, &v);
    inner = build_if(&b, &outer->otherwise,
                     build_element(&b, &outer->otherwise, MDF_LOWERED_GREATER, MDF_DTYPE_FLOAT64, IDS(x, build_real(&b, 2))));
    small[0] = build_whole(&b, 10);
    small[1] = build_element(&b, &inner->otherwise, MDF_LOWERED_ADD, MDF_DTYPE_INT64, IDS(small[0], small[0]));
    count = build_merge(&b, inner, small[0], small[1]);
    slots[0] = build_slot(&b);
    slots[1] = build_slot(&b);
    slots[2] = build_slot(&b);
    build_output(&b, slots[0], build_merge(&b, outer, y, x));
    build_output(&b, slots[1], build_merge(&b, outer, w, v));
    build_output(&b, slots[2], build_merge(&b, outer, build_whole(&b, 7), count));
    build_finish(&b);
    for (int i = 0; i < 6; i++) {
        static const double given[] = {3, -4, 1}, expected[] = {3, 4, 1}, counts[] = {10, 7, 20};

        *(double *)source->data = given[i % 3];
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect_eq(build_element_of(slots[0], 0), expected[i % 3]);
        cr_expect_eq(build_element_of(slots[1], 1), i % 3 == 1 ? 2 : -2);
        cr_expect_eq(build_element_of(slots[2], 0), counts[i % 3]);
    }
    build_end(&b);
}

/* ------------------------------------------------------------------ CALL */

/* Twice its input. */
static bool double_it(struct mdf_call *call)
{
    const struct mdf_value *in = call->inputs[0];
    double *out = mdf_call_output(call, 0, MDF_DTYPE_FLOAT64, in->rank, mdf_value_shape(in));

    for (size_t i = 0; out != NULL && i < in->length; i++) {
        out[i] = 2 * ((const double *)in->data)[i];
    }
    return out != NULL;
}

/* Hands its input on, whose memory it shares where it can. */
static bool hand_on(struct mdf_call *call)
{
    return mdf_value_share(call->context->memory, call->outputs[0], call->inputs[0]);
}

/* As many elements as its input says. */
static bool count_up(struct mdf_call *call)
{
    int64_t n = *(const int64_t *)call->inputs[0]->data;
    int64_t *out;

    if (n < 0) {
        return mdf_call_error(call, MDF_VALUE, "less than nothing");
    }
    out = mdf_call_output(call, 0, MDF_DTYPE_INT64, 1, &n);
    for (int64_t i = 0; out != NULL && i < n; i++) {
        out[i] = i;
    }
    return out != NULL;
}

Test(lowered_run, calls)
{
    const double numbers[] = {1, 2, 3}, one = 1.5;
    struct mdf_value *slots[3];
    mdf_lowered_id array, scalar, results[3];
    struct build b;

    build_begin(&b, NULL);
    array = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, three, numbers));
    scalar = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 0, NULL, &one));
    for (int i = 0; i < 3; i++) {
        slots[i] = build_slot(&b);
        results[i] = build_result(&b, MDF_DTYPE_FLOAT64, i == 1 ? 0 : 1, three);
        build_call(&b, REGION, double_it, NULL, 1, i == 0 ? &array : i == 1 ? &scalar : &results[0], 1, &results[i]);
        build_output(&b, slots[i], results[i]);
    }
    build_finish(&b);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        cr_expect_eq(build_element_of(slots[0], 2), 6);
        cr_expect_eq(build_element_of(slots[1], 0), 3);
        cr_expect_eq(build_element_of(slots[2], 2), 12);
    }
    build_end(&b);
}

Test(lowered_run, a_result_of_another_form_or_an_error_bails_out)
{
    int64_t n = 3;
    struct mdf_value *source, *slot;
    mdf_lowered_id id, result;
    struct build b;

    build_begin(&b, NULL);
    source = build_array(&b, MDF_DTYPE_INT64, 0, NULL, &n);
    slot = build_slot(&b);
    id = build_input(&b, source);
    result = build_result(&b, MDF_DTYPE_INT64, 1, three);
    build_call(&b, REGION, count_up, NULL, 1, &id, 1, &result);
    build_output(&b, slot, result);
    build_finish(&b);
    for (n = 4; n >= -1; n--) {
        *(int64_t *)source->data = n;
        cr_expect_eq(mdf_lowered_run(b.lowered), n == 3 ? MDF_LOWERED_DONE : MDF_LOWERED_BAILED_OUT);
        cr_expect_eq(b.context.error.code, MDF_OK);
        cr_expect_eq(slot->kind == MDF_KIND_TENSOR, n <= 3);
    }
    cr_expect_eq(build_element_of(slot, 2), 2);
    build_end(&b);
}

/* Literals stay literals. */
Test(lowered_run, calls_weaken)
{
    const double numbers[] = {1, 2, 3};
    struct mdf_value *slot;
    mdf_lowered_id id, result;
    struct build b;

    build_begin(&b, NULL);
    b.strength = MDF_STRENGTH_LITERAL;
    id = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, three, numbers));
    result = build_result(&b, MDF_DTYPE_FLOAT64, 1, three);
    build_call(&b, REGION, double_it, NULL, 1, &id, 1, &result)->weakens = true;
    slot = build_slot(&b);
    build_output(&b, slot, result);
    build_finish(&b);
    cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
    cr_expect_eq(slot->strength, MDF_STRENGTH_LITERAL);
    build_end(&b);
}

/* A state that a kernel handed on must not change with the array it came from: in each run of the body
 * f = s + t, s = handed on f, t = f * 2 in the same memory as before. */
Test(lowered_run, what_a_kernel_hands_on_has_memory_of_its_own)
{
    const double zeros[] = {0, 1, 2};
    struct mdf_lowered_loop *loop;
    mdf_lowered_id initial, s, f, handed;
    struct mdf_value *slots[2];
    struct build b;

    build_begin(&b, NULL);
    initial = build_input(&b, build_array(&b, MDF_DTYPE_FLOAT64, 1, three, zeros));
    loop = build_loop(&b, REGION, 5);
    s = build_state(&b, loop, initial);
    f = build_group_element(&b, &loop->body, MDF_LOWERED_ADD, MDF_DTYPE_FLOAT64, IDS(s, build_real(&b, 1)));
    handed = build_result(&b, MDF_DTYPE_FLOAT64, 1, three);
    build_call(&b, &loop->body, hand_on, NULL, 1, &f, 1, &handed);
    build_next(&b, loop, s, handed);
    slots[0] = build_slot(&b);
    slots[1] = build_slot(&b);
    build_output(&b, slots[0], s);
    build_output(&b, slots[1], build_stack(&b, loop, s, false));
    build_finish(&b);
    for (int run = 0; run < 3; run++) {
        cr_assert_eq(mdf_lowered_run(b.lowered), MDF_LOWERED_DONE);
        for (size_t i = 0; i < 3; i++) {
            cr_expect_eq(build_element_of(slots[0], i), (double)i + 5);
            for (size_t j = 0; j < 5; j++) {
                cr_expect_eq(build_element_of(slots[1], 3 * j + i), (double)(i + j));
            }
        }
    }
    build_end(&b);
}
