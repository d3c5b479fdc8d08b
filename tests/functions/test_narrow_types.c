/* test_narrow_types.c - expressions over arrays of narrow types: the type in which operands meet, and whole numbers without type
 * that this type does not hold. What numpy 2.4 gives, or is refused. */
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* u: uint8 [1, 2, 255], i: int8 [-1, 0, 3], w: uint16 [1, 0, 4], s: int16 [-3, 0, 9], l: uint64 [1, 4, 2^64 - 1], b: bool [True,
 * False, True], r: int32 [[[1, 2, 3]], [[4, 5, 6]]]. */
static const struct {
    const char *expression, *type, *result;
} cases[] = {
    {"numpy.searchsorted(l, -2)", "int64", "0"},
    {"numpy.searchsorted(u, 300)", "int64", "3"},
    {"numpy.searchsorted(u, [-1, 2])", "int64", "[0, 1]"},
    {"numpy.digitize(u, [0, 300])", "int64", "[1, 1, 1]"},
    {"numpy.clip(u, 0, 300)", "uint8", "[1, 2, 255]"},
    {"numpy.clip(u, -1, 3)", "uint8", "[1, 2, 3]"},
    {"u.clip(-5)", "uint8", "[1, 2, 255]"},
    {"numpy.clip(i, -129, 128)", "int8", "[-1, 0, 3]"},
    {"numpy.clip(l, 2, max=9223372036854775807)", "uint64", "[2, 4, 9223372036854775807]"},
    {"numpy.inner(2, r)", "int32", "[[[2, 4, 6]], [[8, 10, 12]]]"},
    {"numpy.vecdot(u, u)", "uint8", "6"},
    {"numpy.vecdot(b, b)", "bool", "true"},
    {"numpy.vecdot([1, 2, 3], i)", "int8", "8"},
    {"numpy.vecdot(i, s)", "int16", "30"},
    {"numpy.hypot(i, u)", "float16", "[1.4140625, 2.0, 255.0]"},
    {"numpy.copysign(s, w)", "float32", "[3.0, 0.0, 9.0]"},
    {"numpy.heaviside(b, u)", "float16", "[1.0, 2.0, 1.0]"},
    {"numpy.copysign(w, b)", "float32", "[1.0, 0.0, 4.0]"},
    {"numpy.logaddexp(l, i).dtype == 'float64'", "bool", "true"},
    {"numpy.hypot(u, 300)", "float16", "[300.0, 300.0, 393.75]"},
    {"math.ceil(l[2])", "float64", "1.8446744073709552e+19"},
    {"math.floor(l[2])", "float64", "1.8446744073709552e+19"},
    {"math.trunc(l[1])", "int64", "4"},
    {"9223372036854775807", "int64", "9223372036854775807"},
    {"-9223372036854775808", "int64", "-9223372036854775808"},
    {"9223372036854775808", "float64", "9.223372036854776e+18"},
};

/* What stands where no whole number that has no type may be lost. */
static const struct {
    const char *expression, *message;
} faults[] = {
    {"u + 300", "operator '+': a number is out of bounds for uint8"},
    {"u @ [300, 1, 0]", "operator '@': a number is out of bounds for uint8"},
    {"numpy.dot([300, 1, 0], u)", "numpy.dot: a number is out of bounds for uint8"},
    {"numpy.convolve(u, [1, -1])", "numpy.convolve: a number is out of bounds for uint8"},
    {"numpy.where(b, u, 300)", "numpy.where: a number is out of bounds for uint8"},
    {"numpy.concatenate((u, [300]))", "numpy.concatenate: a number is out of bounds for uint8"},
    {"numpy.append(i, 128)", "numpy.append: a number is out of bounds for int8"},
    {"numpy.stack([l, [-1, 0, 0]])", "numpy.stack: a number is out of bounds for uint64"},
    {"numpy.diff(u, append=-1)", "numpy.concatenate: a number is out of bounds for uint8"},
    {"numpy.array([[u[0], 300], [1, 2]])", "numpy.array: a number is out of bounds for uint8"},
    {"numpy.full_like(u, 300)", "numpy.full_like: a number is out of bounds for uint8"},
    {"numpy.full(2, -1, numpy.uint16)", "numpy.full: a number is out of bounds for uint16"},
    {"numpy.insert(u, 0, -1)", "numpy.insert: a number is out of bounds for uint8"},
    {"numpy.clip(u, 300, 400)", "numpy.clip: a number is out of bounds for uint8"},
    {"numpy.vecdot(u, u[0])", "index"},
};

static bool begin(struct engine *engine, const char *expression, bool plain)
{
    static const char *const arrays[][2] = {{"u", "numpy.array([1, 2, 255], numpy.uint8)"},
                                            {"i", "numpy.array([-1, 0, 3], numpy.int8)"},
                                            {"w", "numpy.array([1, 0, 4], numpy.uint16)"},
                                            {"s", "numpy.array([-3, 0, 9], numpy.int16)"},
                                            {"l", "numpy.array([1, 4, -1]).astype(numpy.uint64)"},
                                            {"b", "numpy.array([True, False, True])"},
                                            {"r", "numpy.array([[[1, 2, 3]], [[4, 5, 6]]], numpy.int32)"}};
    const mdf_options options = {.plain = plain};
    char text[1500];
    size_t at = 0;

    at += (size_t)snprintf(text, sizeof text, "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\"%s\": {\"value\": \"%s\"}", i == 0 ? "" : ", ", arrays[i][0],
                               arrays[i][1]);
    }
    snprintf(text + at, sizeof text - at, "}, \"output_ports\": {\"y\": {\"value\": \"%s\"}}}}}}}}", expression);
    return engine_begin(engine, text, &options);
}

Test(narrow_types, operands_meet_as_in_numpy)
{
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const char *expression = cases[i / 2].expression;
        char results[500], expected[500];
        struct engine engine;

        snprintf(expected, sizeof expected, "y %s", cases[i / 2].result);
        cr_expect(begin(&engine, expression, i % 2 == 0) && engine_evaluate(&engine, 2) == MDF_OK, "%s: %s", expression,
                  engine.error.message);
        if (engine.error.code == MDF_OK) {
            mdf_tensor tensor;
            const char *type =
                mdf_value_tensor(mdf_output(engine.state, "n", "y"), &tensor) ? mdf_dtype_name(tensor.dtype) : "none";

            write_results(engine.program, engine.state, results, sizeof results);
            cr_expect_str_eq(results, expected, "%s: %s", expression, results);
            cr_expect_str_eq(type, cases[i / 2].type, "%s: %s", expression, type);
        }
        engine_end(&engine);
    }
}

Test(narrow_types, no_number_is_wrapped)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct engine engine;

        cr_expect_not(begin(&engine, faults[i].expression, false) && engine_evaluate(&engine, 1) == MDF_OK, "%s",
                      faults[i].expression);
        cr_expect(strstr(engine.error.message, faults[i].message) != NULL, "%s: %s", faults[i].expression, engine.error.message);
        engine_end(&engine);
    }
}
