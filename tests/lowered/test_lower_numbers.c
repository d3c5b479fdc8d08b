/* test_lower_numbers.c - Python's numbers in the lowered form: functions of them, of whole ones too, are no calls of kernels, and
 * give what the plain way gives, also where a result is now of one type, now of another. */
#include "mdf_c/base/text.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/machine/emit.h"
#include "mdf_c/run/state.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

enum { N_STEPS = 60, TEXT_SIZE = 1024 };

static struct mdf_memory memory;

/* Of a count from -2 on, and of a wave between -3 and 3. */
static void begin(struct engine *engine, const char *expression, bool plain)
{
    mdf_options options = {.plain = plain};
    char text[TEXT_SIZE];

    snprintf(
        text, sizeof text,
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N\": {\"parameters\": {\"n\": {\"default_initial_value\": -3, \"value\": "
        "\"n + 1\"}, \"x\": {\"value\": \"3 * math.sin(0.7 * n)\"}, \"p\": {\"value\": \"%s\"}}, \"output_ports\": {\"o\": "
        "{\"value\": \"p\"}}}}}}}}",
        expression);
    engine_begin(engine, text, &options);
    cr_assert_not_null(engine->state, "%s: %s", expression, engine->error.message);
}

/* The output with its type, or the error. */
static void step(struct engine *engine, struct mdf_text *text)
{
    text->length = 0;
    if (mdf_evaluate(engine->state, NAN, &engine->error) == MDF_OK) {
        mdf_write_json_value(text, mdf_output_at(engine->state, 0, 0), true, NULL);
    } else {
        mdf_text_append_string(text, engine->error.message);
    }
    mdf_text_append_string(text, "\n");
}

static bool calls_kernels(const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;
    bool calls = false;

    for (size_t i = 0; i < region->n_ops; i++) {
        calls = calls || region->ops[i].code == MDF_LOWERED_CALL;
        for (size_t k = 0; (inner = mdf_lowered_inner(&region->ops[i], k)) != NULL; k++) {
            calls = calls || calls_kernels(inner);
        }
    }
    return calls;
}

static void compare(const char *expression, bool is_lowered)
{
    const struct mdf_lowered *lowered;
    struct engine plain, fast;
    struct mdf_text want, got;

    begin(&plain, expression, true);
    begin(&fast, expression, false);
    mdf_text_init(&want, &memory);
    mdf_text_init(&got, &memory);
    for (int i = 0; i < N_STEPS; i++) {
        step(&plain, &want);
        step(&fast, &got);
        cr_expect_str_eq(got.bytes, want.bytes, "%s, step %d: %s not %s", expression, i, got.bytes, want.bytes);
    }
    lowered = fast.state->whole->single.fast.lowered;
    cr_expect(!is_lowered || (lowered != NULL && !calls_kernels(&lowered->region)) || !mdf_machine_has_vectors(MDF_DTYPE_FLOAT64),
              "%s %s", expression,
              lowered == NULL ? "is not lowered" : "calls a kernel"); /* without vectors kernels are as fast */
    mdf_text_release(&want);
    mdf_text_release(&got);
    engine_end(&plain);
    engine_end(&fast);
}

static void compare_all(const char *const *expressions, size_t n, bool are_lowered)
{
    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < n; i++) {
        compare(expressions[i], are_lowered);
    }
}

Test(lower_numbers, functions_are_no_calls)
{
    static const char *const expressions[] = {"n / 7 + 2 / (n * n + 1)",
                                              "math.exp(n / 7) * math.cos(n) + math.atan2(n, 3)",
                                              "math.sqrt(n * n) + math.log(n * n + 1)",
                                              "math.hypot(n, x) + math.copysign(n, x) + math.fmod(n, 3)",
                                              "math.degrees(x) - math.radians(n)",
                                              "math.floor(x) + math.ceil(x) * 2 + round(x) * 3 + math.trunc(x) * 5",
                                              "math.isnan(x) + math.isinf(x) + math.isfinite(x)",
                                              "(not x > 1) + (not n) + bool(n) + (not x) + bool(x)",
                                              "max(x, -1.0) + min(x, 0.5, 1.5)",
                                              "max(n, 4) - min(2, n)",
                                              "max(0, x)",
                                              "min(x, 1)",
                                              "max(0, x) * 1.5",
                                              "max(0, min(2, x)) * 0.5",
                                              "max(0, min(2, x))",
                                              "0 if x < 0 else 1 if x < 1 else x",
                                              "[x * 0.5][0] and 1 if n % 3 else 0",
                                              "numpy.clip(x, -1, 1)",
                                              "sum([x, n, 0.5]) + max([x, 0.5, -1.0]) - min([n, 3])",
                                              "numpy.var([x, 1.0]) + numpy.dot([x, 0.5], [1.0, 2.0]) + len([x, x])"};

    compare_all(expressions, sizeof expressions / sizeof *expressions, true);
}

/* What has no result in some steps, or one that the fast way does not have: quotients of what float64 does not hold. */
Test(lower_numbers, what_is_refused_and_what_is_large)
{
    static const char *const expressions[] = {
        "1 / (n - 20)",
        "math.log(30 - n)",
        "math.fmod(x, n - 20)",
        "math.floor(x * 1e18) + math.ceil(x * 1e18)",
        "(9007199254740993 + n) / (n + 4)",
        "(n + 4) / (4611686018427387905 + n)",
        "math.isinf(math.inf if n % 3 > 1 else x) + math.isnan(math.nan if n % 4 > 2 else x)",
        "max(0, min(2, x))",
        "max(n, 2.5)",
        "max([n, 2.5])",
        "abs(-9223372036854775808 if n < 12 else n)",
        "2 ** (n - 12)",
        "[x, 0.5] * 2",
        "[x] + [n]",
        "[x, 0.5] == [0.5, x]",
        "any([x > 0, n > 3])",
        "numpy.max([n, x])"};

    compare_all(expressions, sizeof expressions / sizeof *expressions, false);
}
