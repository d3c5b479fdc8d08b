/* test_compile_names.c - names that C does not allow, or knows as something else: generated source compiles without a warning,
 * links, and computes the same. */
#include "tests/support/compile_runs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(compile_names, .init = compile_set_up, .fini = compile_tear_down);

/* Names, as they stand in JSON, that C does not allow, or knows as something else. */
static const char *const hostile_names[] = {
    "\\u03b1",
    "-",
    "\\u03b2",
    "1a",
    "2",
    "_",
    "__",
    "_x",
    "a__b",
    "a b",
    "a-b",
    "a.b",
    "int",
    "for",
    "double",
    "restrict",
    "asm",
    "typeof",
    "linux",
    "unix",
    "class",
    "bool",
    "true",
    "nullptr",
    "constexpr",
    "alignas",
    "NULL",
    "NAN",
    "INFINITY",
    "M_PI",
    "INT8_MAX",
    "UINT64_C",
    "FP_NAN",
    "HUGE_VAL",
    "SIZE_MAX",
    "MDF_COMPILED",
    "exp",
    "expf",
    "fmaf",
    "log1pl",
    "isnan",
    "signbit",
    "memcpy",
    "memset",
    "strlen",
    "printf",
    "malloc",
    "abort",
    "exit",
    "main",
    "errno",
    "index",
    "time",
    "s",
    "i",
    "n",
    "dt",
    "has_run",
    "message",
    "work",
    "observe",
    "advance",
    "run_graph",
    "take_inputs",
    "run_layer_0",
    "table_init",
    "m_init",
    "m_step",
    "m_H",
    "mdf_compiled",
    "mdf_exp_float32",
    "pthread_attr",
    "sem",
    "value",
    "constant",
    "size_t",
    "uint8_t",
    "*/",
    "/*",
    "//",
    "?\?/",
    "?\?)",
    "\\\"",
    "\\\\",
    "%s%n",
    "\\u202e",
    "\\u2066x",
    "\\u0001",
    "\\n#error x",
    "end\\\\\\n",
    "\\u00e9t\\u00e9",
    "\\ud83d\\ude00",
    "A",
    "a",
    "very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_1",
    "very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_very_long_2"};

enum { N_NAMES = sizeof hostile_names / sizeof *hostile_names };

/* A model in which everything has a name of the list: a chain of nodes, each with an input, a state, an array and two outputs. */
static void write_hostile_model(const char *file, size_t model, size_t shift)
{
    char *text = compile_new_output();
    size_t n = 0, i;

#define NAME(k) hostile_names[((k) + shift) % N_NAMES]
    n += (size_t)snprintf(text + n, COMPILE_OUTPUT_SIZE - n, "{\"%s\": {\"graphs\": {\"%s\": {\"nodes\": {",
                          hostile_names[model % N_NAMES], NAME(1));
    for (i = 0; i < N_NAMES; i++) {
        n += (size_t)snprintf(
            text + n, COMPILE_OUTPUT_SIZE - n,
            "%s\"%s\": {\"input_ports\": {\"%s\": {\"default_value\": 0.5}}, \"parameters\": {\"%s\": {\"value\": [1.5, 2.0, "
            "0.25, %zu.5]}, \"%s\": {\"default_initial_value\": 1.0, \"time_derivative\": \"1\"}, \"x\": {\"function\": "
            "\"linear\", \"args\": {\"variable0\": 2, \"slope\": 3, \"intercept\": %zu}}}, \"output_ports\": {\"%s\": "
            "{\"value\": \"x\"}, \"%s\": {\"value\": \"x * 2\"}}}",
            i > 0 ? ", " : "", NAME(i), NAME(i + 2), NAME(i + 3), i, NAME(i + 4), i, NAME(i + 5), NAME(i + 6));
    }
    n += (size_t)snprintf(text + n, COMPILE_OUTPUT_SIZE - n, "}}}}}");
#undef NAME
    cr_assert_lt(n, COMPILE_OUTPUT_SIZE);
    compile_write_file(file, text);
    free(text);
}

/* Whatever things are called, the C compiles without a word, links, and computes the same. */
Test(compile_names, names_that_c_does_not_allow)
{
    static const char *const models[] = {"\\u03b1", "-", "table", "sem", "1"};
    char *output = compile_new_output();
    size_t i;

    for (i = 0; i < 3; i++) {
        write_hostile_model("names.json", i * 31, i * 17);
        cr_assert_eq(compile_run(output, "$BUILD/mdf-compile %s/names.json -o %s/names.h 2>&1", compile_folder, compile_folder),
                     0, "%s", output);
        cr_expect_eq(compile_run(output, "cd %s && ${CC:-cc} -std=c11 -Wall -Wextra -Werror -pedantic %s 2>&1", compile_folder,
                                 i == 0 ? "-shared -fPIC -Wl,-z,defs names.c -o names.so -lm" : "-fsyntax-only names.c"),
                     0, "%.2000s", output);
    }
    cr_expect_eq(
        compile_run(output,
                    "$BUILD/mdf-run %s/names.json --quiet >%s/plain && CC=%s $BUILD/mdf-run %s/names.json --quiet --compile "
                    ">%s/compiled && cmp %s/plain %s/compiled 2>&1",
                    compile_folder, compile_folder, compile_quick, compile_folder, compile_folder, compile_folder,
                    compile_folder),
        0, "%.2000s", output);
    for (i = 0; i < sizeof models / sizeof *models; i++) {
        char text[300];

        snprintf(text, sizeof text,
                 "{\"%s\": {\"graphs\": {\"g\": {\"nodes\": {\"%s\": {\"output_ports\": {\"o\": {\"value\": 1}}}}}}}}", models[i],
                 models[i]);
        compile_write_file("one.json", text);
        cr_expect_eq(
            compile_run(output,
                        "cd %s && $OLDPWD/$BUILD/mdf-compile one.json -o one.c 2>&1 && ${CC:-cc} -std=c11 -Wall -Wextra -Werror "
                        "-pedantic -shared "
                        "-fPIC -Wl,-z,defs one.c -o one.so -lm 2>&1",
                        compile_folder),
            0, "%s: %.2000s", models[i], output);
    }
    free(output);
}
