/* test_diagnostics.c - errors with their lines of the file: ten mistakes as the programs tell them, several at once, as lines of
 * JSON, coloured; and places within scalars. docs/diagnostics.md. */
#include "mdf_c/base/source_text.h"
#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 1 << 14 };

#define MISTAKES "tests/data/mistakes/"

static void read_all(FILE *stream, char text[TEXT_SIZE])
{
    text[fread(text, 1, TEXT_SIZE - 1, stream)] = '\0';
}

/* What a program says on standard error. */
static void call(const char *arguments, char said[TEXT_SIZE])
{
    const char *build = getenv("BUILD");
    char command[1024];
    FILE *stream;

    snprintf(command, sizeof command, "%s/%s 2>&1 >/dev/null", build != NULL ? build : "build", arguments);
    stream = popen(command, "r");
    cr_assert(stream != NULL);
    read_all(stream, said);
    pclose(stream);
}

/* The file NAME.txt has what is said of NAME's mistake, all of it. */
Test(diagnostics, ten_mistakes)
{
    static const char *const mistakes[][2] = {
        {"01_name_in_expression.yaml", ""},
        {"02_argument.yaml", ""},
        {"03_receiver.json", ""},
        {"04_first_value.yaml", ""},
        {"05_circle.yaml", ""},
        {"06_indentation.yaml", ""},
        {"07_array_over_time.yaml", " --steps 4 -i I=[0.5,1,2,3]"},
        {"08_python_condition.json", ""},
        {"09_parameter_as_input.yaml", " -i gna=100"},
        {"10_many.json", ""},
        {"11_no_nodes.yaml", ""},
    };
    static char said[TEXT_SIZE], expected[TEXT_SIZE];
    char text[256];
    FILE *stream;
    size_t i;

    for (i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        snprintf(text, sizeof text, "mdf-run " MISTAKES "%s%s", mistakes[i][0], mistakes[i][1]);
        call(text, said);
        snprintf(text, sizeof text, MISTAKES "%s.txt", mistakes[i][0]);
        stream = fopen(text, "rb");
        cr_assert(stream != NULL, "%s", text);
        read_all(stream, expected);
        fclose(stream);
        cr_expect_str_eq(said, expected, "%s\nsays\n%s\nnot\n%s", mistakes[i][0], said, expected);
    }
}

Test(diagnostics, lines_of_json)
{
    static char said[TEXT_SIZE];

    call("mdf-run " MISTAKES "01_name_in_expression.yaml --json-errors", said);
    cr_expect(strstr(said, "{\"severity\": \"error\", \"code\": \"name\", \"file\": \"" MISTAKES
                           "01_name_in_expression.yaml\", \"line\": 8, \"column\": 46, \"end_column\": 50, \"path\": \"node 'A', "
                           "parameter 'square'\", \"message\": \"name 'slpe' is not known here; did you mean 'slope'?\", "
                           "\"suggestion\": \"slope\"}\n{") == said,
              "%s", said);
    call("mdf-compile " MISTAKES "01_name_in_expression.yaml --json-errors -o /tmp/nosuch.c", said);
    cr_expect(strncmp(said, "{\"severity\": \"error\", \"code\": \"name\"", 36) == 0, "%s", said);
    call("mdf-convert --json-errors " MISTAKES "03_receiver.json /tmp/x.yaml", said);
    cr_expect(strncmp(said, "{\"severity\": \"error\", \"code\": \"name\"", 36) == 0, "%s", said);
    call("mdf-run --nosuch --json-errors", said);
    cr_expect(strstr(said, "\"message\": \"unknown option '--nosuch'\"") != NULL && strchr(said, '\n') == strrchr(said, '\n'), "%s",
              said);
}

Test(diagnostics, colours)
{
    static char said[TEXT_SIZE];

    call("mdf-run " MISTAKES "09_parameter_as_input.yaml -i x=1 --color always", said);
    cr_expect(strstr(said, "\x1b[1;31merror:\x1b[0m ") != NULL, "%s", said);
    call("mdf-run " MISTAKES "01_name_in_expression.yaml --color never", said);
    cr_expect(strchr(said, '\x1b') == NULL, "%s", said);
    call("mdf-run " MISTAKES "01_name_in_expression.yaml --color auto", said); /* no terminal */
    cr_expect(strchr(said, '\x1b') == NULL, "%s", said);
    call("mdf-run " MISTAKES "01_name_in_expression.yaml --color blue", said);
    cr_expect(strstr(said, "mdf-run: error: --color must be auto or always or never, not 'blue'\n") == said, "%s", said);
}

/* A model with so many errors, each in a parameter of its own. */
static void write_faulty(char text[TEXT_SIZE], int n_errors)
{
    size_t used = (size_t)snprintf(text, TEXT_SIZE, "m: {graphs: {g: {nodes: {n: {parameters: {\n");
    int i;

    for (i = 0; i < n_errors; i++) {
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, " p%d: {value: 1 + wrong_%d},\n", i, i);
    }
    snprintf(text + used, TEXT_SIZE - used, " q: {value: p0 + 1}}, output_ports: {o: {value: q + p0}}}}}}}\n");
}

/* All that are no consequence of others, in the order of the file, and no more than there is room for. */
Test(diagnostics, all_errors_at_once)
{
    static const int numbers[] = {1, 7, 20, 50};
    mdf_diagnostics *list = mdf_diagnostics_new(NULL, NULL);
    mdf_options options = {.diagnostics = list};
    static char text[TEXT_SIZE];
    size_t i, j;

    cr_assert(list != NULL);
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        mdf_error error = {0}, first = {0};
        mdf_diagnostic diagnostic;
        mdf_model *model;

        mdf_diagnostics_clear(list);
        write_faulty(text, numbers[i]);
        model = mdf_model_load_bytes(text, strlen(text), "yaml", "m.yaml", NULL, &error);
        cr_assert(model != NULL, "%s", error.message);
        cr_expect(mdf_compile(model, &options, &error) == NULL);
        cr_expect(mdf_compile(model, NULL, &first) == NULL); /* without a list: the first */
        cr_expect_str_eq(error.message, first.message);
        cr_expect(mdf_diagnostics_n_errors(list) == (size_t)(numbers[i] < MDF_MOST_ERRORS ? numbers[i] : MDF_MOST_ERRORS));
        for (j = 0; mdf_diagnostics_get(list, j, &diagnostic); j++) {
            cr_expect(diagnostic.line == (int)j + 2 && diagnostic.end_column - diagnostic.column == (j < 10 ? 7 : 8) &&
                          diagnostic.source != NULL && strcmp(diagnostic.code, "name") == 0,
                      "%d:%d %s", diagnostic.line, diagnostic.column, diagnostic.message);
        }
        mdf_model_free(model);
    }
    mdf_diagnostics_free(list);
}

/* Whatever way the model runs by when it fails. */
Test(diagnostics, an_evaluation_points_at_the_word)
{
    const char *text = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": \"k + 1\"}}, "
                       "\"output_ports\": {\"y\": {\"value\": \"1 + 2 * math.sqrt(40 - k) - [3, 4][0]\"}}}}}}}}";
    int column = (int)(strstr(text, "math.sqrt") - text) + 1, i, steps;
    bool plain;

    for (plain = false, i = 0; i < 2; plain = true, i++) {
        mdf_options options = {.plain = plain};
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m.json", NULL, &error);
        mdf_program *program = mdf_compile(model, &options, &error);
        mdf_state *state = mdf_state_new(program, &error);

        cr_assert(state != NULL, "%s", error.message);
        for (steps = 0; steps < 60 && mdf_evaluate(state, 0, &error) == MDF_OK; steps++) {
        }
        cr_expect(steps == 40 && error.line == 1 && error.column == column, "step %d: %d, not %d", steps, error.column, column);
        mdf_state_free(state);
        mdf_program_free(program);
        mdf_model_free(model);
    }
}

/* An error of an evaluation is added by hand; a long line is shown in part; texts are cut where there is no room. */
Test(diagnostics, errors_are_added)
{
    const char *text = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"a_long_name\": {\"value\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}}, "
                       "\"output_ports\": {\"o\": {\"value\": \"a_long_name[20]\"}}}}}}}}";
    mdf_diagnostics *list = mdf_diagnostics_new(NULL, NULL);
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m.json", NULL, &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);
    mdf_diagnostic diagnostic;
    char shown[600], cut[10];
    size_t length;

    cr_assert(list != NULL && state != NULL, "%s", error.message);
    cr_assert(mdf_evaluate(state, 0, &error) != MDF_OK);
    cr_assert(mdf_diagnostics_add(list, model, MDF_SEVERITY_ERROR, &error, NULL) == MDF_OK);
    cr_assert(mdf_diagnostics_get(list, 0, &diagnostic) && !mdf_diagnostics_get(list, 1, NULL));
    length = mdf_diagnostic_format(&diagnostic, MDF_FORMAT_SOURCE, shown, sizeof shown);
    cr_expect(length == strlen(shown) && strncmp(shown, "m.json:1:", 9) == 0 && strstr(shown, "\n    1 | ...") != NULL &&
                  strstr(shown, "\"a_long_name[20]\"") != NULL && strstr(shown, "^~~~~~~~~~~") != NULL && strstr(shown, "^~~~~~~~~~~~") == NULL,
              "%s", shown);
    cr_expect(mdf_diagnostic_format(&diagnostic, MDF_FORMAT_SOURCE, cut, sizeof cut) == length && strlen(cut) == sizeof cut - 1);
    cr_expect(mdf_diagnostic_format(&diagnostic, MDF_FORMAT_LINE, shown, sizeof shown) == strlen(shown) &&
              strchr(shown, '\n') == NULL);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    mdf_diagnostics_free(list);
}

Test(diagnostics, misuse)
{
    mdf_diagnostic diagnostic;
    mdf_error error = {0};

    mdf_diagnostics_free(NULL);
    mdf_diagnostics_clear(NULL);
    cr_expect(mdf_diagnostics_length(NULL) == 0 && mdf_diagnostics_n_errors(NULL) == 0 && !mdf_diagnostics_get(NULL, 0, &diagnostic));
    cr_expect(mdf_diagnostics_add(NULL, NULL, MDF_SEVERITY_ERROR, &error, &error) == MDF_USAGE && error.code == MDF_USAGE);
    cr_expect(mdf_diagnostic_format(NULL, 0, NULL, 0) == 0);
    cr_expect(mdf_check(NULL, NULL, 0, 1, 0, NULL, NULL) == MDF_USAGE);
}

/* Where a byte of a value is written in the text of the file. */
Test(diagnostics, places_in_scalars)
{
    static const struct {
        const char *text, *value, *word;
        int line, column; /* of the scalar */
        int at_line, at_column;
    } cases[] = {
        {"{\"a\": \"x + slpe\"}", "x + slpe", "slpe", 1, 7, 1, 12},
        {"{\"a\": \"\\u00e9\\n\\\"q\\\" + slpe\"}", "\xc3\xa9\n\"q\" + slpe", "slpe", 1, 7, 1, 24},
        {"{\"a\": \"\\ud83d\\ude00 + b\"}", "\xf0\x9f\x98\x80 + b", "b", 1, 7, 1, 23},
        {"a: x + slpe\n", "x + slpe", "slpe", 1, 4, 1, 8},
        {"a: 'it''s + b'\n", "it's + b", "b", 1, 4, 1, 13},
        {"a: &n !!str x + b\n", "x + b", "b", 1, 4, 1, 17},
        {"a: |\n  one +\n    two\n", "one +\n  two\n", "two", 1, 4, 3, 5},
        {"a: >-\n  one +\n  two\n", "one + two", "two", 1, 4, 3, 3},
        {"a: \"one \\\n   two\"\n", "one two", "two", 1, 4, 2, 4},
        {"a: one\n   two\n", "one two", "two", 1, 4, 2, 4},
        {"\xef\xbb\xbf" "a: x + b\r\n", "x + b", "b", 1, 4, 1, 8},
        {"a: \"[x, ab, b]\"\n", "b", "b", 1, 4, 1, 13}, /* a part of it */
        {"a: other\n", "x + b", "b", 1, 4, 1, 4},         /* it is not there */
    };
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mdf_source source = {cases[i].text, strlen(cases[i].text), NULL, 0};
        size_t offset = (size_t)(strstr(cases[i].value, cases[i].word) - cases[i].value);
        int line = cases[i].line, column = cases[i].column;

        mdf_source_locate(&source, cases[i].value, offset, &line, &column);
        cr_expect(line == cases[i].at_line && column == cases[i].at_column, "%s: %d:%d", cases[i].text, line, column);
    }
}

/* Places in a long text, of one line or of many, are found from a mark near by: the same ones as without marks. */
Test(diagnostics, places_in_a_long_text_are_found_from_marks)
{
    enum { N = 2000, MOST_APART = 1024 + 3 };
    static const char *const items[] = {"a: \xc3\xa9 + b, ", "a: \xc3\xa9 + b\n", "- a: \xf0\x9f\x98\x80\n  c: d\n\n"};

    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        struct mdf_memory memory;
        struct mdf_arena arena;
        struct mdf_text text;
        struct mdf_source plain, marked;
        size_t last = 0;

        mdf_memory_init(&memory, NULL, 0);
        mdf_arena_init(&arena, &memory);
        mdf_text_init(&text, &memory);
        for (size_t n = 0; n < N; n++) {
            mdf_text_append(&text, items[i], strlen(items[i]));
        }
        plain = marked = (struct mdf_source){text.bytes, text.length, NULL, 0};
        mdf_source_mark(&marked, &arena);
        for (size_t n = 0; n < marked.n_marks; n++) {
            cr_expect(marked.marks[n].byte - last <= MOST_APART, "%zu", n);
            last = marked.marks[n].byte;
        }
        cr_expect(text.length - last <= MOST_APART);
        for (int line = 1; line < 3 * N + 3; line += 97) {
            for (int column = 1; column < 12 * N; column += line == 1 ? 89 : 6000) {
                int at[2][2] = {{line, column}, {line, column}};
                struct mdf_source_line lines[2] = {{0}};
                bool found[2];

                found[0] = mdf_source_find_line(&plain, line, column, &lines[0]);
                found[1] = mdf_source_find_line(&marked, line, column, &lines[1]);
                cr_expect(found[0] == found[1] && lines[0].bytes == lines[1].bytes && lines[0].length == lines[1].length &&
                              lines[0].at == lines[1].at,
                          "%d:%d", line, column);
                found[0] = mdf_source_locate(&plain, "b", 0, &at[0][0], &at[0][1]);
                found[1] = mdf_source_locate(&marked, "b", 0, &at[1][0], &at[1][1]);
                cr_expect(found[0] == found[1] && memcmp(at[0], at[1], sizeof at[0]) == 0, "%d:%d: %d:%d, not %d:%d", line,
                          column, at[1][0], at[1][1], at[0][0], at[0][1]);
            }
        }
        mdf_text_release(&text);
        mdf_arena_release(&arena);
    }
}

/* What --check finds beside what a run warns of; models of others have none of it. */
static void check(const char *text, char found[TEXT_SIZE])
{
    mdf_diagnostics *list = mdf_diagnostics_new(NULL, NULL);
    mdf_options options = {.diagnostics = list};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "yaml", "m.yaml", &options, &error);
    mdf_diagnostic diagnostic;
    size_t i, used = 0;

    found[0] = '\0';
    cr_assert(model != NULL, "%s", error.message);
    mdf_check(model, NULL, 0, 1, 0, &options, &error);
    for (i = 0; mdf_diagnostics_get(list, i, &diagnostic); i++) {
        used += (size_t)snprintf(found + used, TEXT_SIZE - used, "%d:%d %s %s\n", diagnostic.line, diagnostic.column, diagnostic.code,
                                 diagnostic.message);
    }
    mdf_model_free(model);
    mdf_diagnostics_free(list);
}

#define GRAPH(nodes, more) "m: {graphs: {g: {nodes: {\n" nodes "}" more "}}}"

Test(diagnostics, check_finds)
{
    static const struct {
        const char *model, *found;
    } cases[] = {
        {GRAPH("n: {parameters: {a: {value: 1}, b: {value: 2}}, output_ports: {o: {value: a}}}", ""), "2:36 unused-parameter nothing uses its value"},
        {GRAPH("n: {functions: {f: {value: 1}}, parameters: {a: {value: 1}}, output_ports: {o: {value: a}}}", ""), "2:20 unused-function nothing uses"},
        {GRAPH("n: {input_ports: {i: {default_value: 1}}, output_ports: {o: {value: 3}}}", ""), "2:22 unused-input nothing in the node reads it"},
        {GRAPH("n: {input_ports: {i: {}}, output_ports: {o: {value: i}}}", ""), "2:22 unfed-input nothing feeds it"},
        {GRAPH("n: {output_ports: {o: {value: 1}, p: {value: 2}}}", ", metadata: {outputs: [o]}"), "unused-output no edge leads from it"},
        {GRAPH("n: {output_ports: {o: {value: 1}}}", ", parameters: {k: {value: 2}}"), "unused-parameter no node of the graph uses it"},
        {GRAPH("n: {parameters: {a: {value: [1, 2, 3]}, b: {value: [1, 2]}}, output_ports: {o: {value: 2 * a + b}}}", ""),
         "shape operator.add: the shapes (3,) and (2,) do not fit each other"},
        {GRAPH("a: {parameters: {x: {value: [1, 2, 3]}}, output_ports: {o: {value: x * 2}}},\n"
               "b: {input_ports: {i: {shape: [2]}}, output_ports: {p: {value: i}}}",
               ",\nedges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}}"),
         "3:22 shape it declares the shape (2,), but what arrives has (3,)"},
        {GRAPH("a: {parameters: {x: {value: [[1, 2, 3]]}}, output_ports: {o: {value: \"x[0]\"}, p: {value: \"x[0] * 2\"}}},\n"
               "b: {input_ports: {i: {shape: [2, 3]}}, output_ports: {p: {value: i}}}",
               ",\nedges: {e: {sender: a, receiver: b, sender_port: p, receiver_port: i}}"),
         ""},
        {GRAPH("a: {parameters: {x: {value: [1, 2, 3]}}, output_ports: {o: {value: x * 2}}},\n"
               "b: {input_ports: {i: {shape: [2, 3]}}, output_ports: {p: {value: i}}}",
               ",\nedges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}}"),
         "3:22 shape it declares the shape (2, 3), but what arrives has (3,)"},
        {GRAPH("a: {output_ports: {o: {value: 2}}},\nb: {input_ports: {i: {shape: [2, 3]}}, output_ports: {p: {value: i}}}",
               ",\nedges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}}"),
         "3:22 shape it declares the shape (2, 3), but what arrives is one number"},
        {GRAPH("n: {parameters: {a: {value: [1, 2]}}, output_ports: {o: {value: \"a @ [1, 2, 3]\"}}}", ""),
         "2:68 shape operator.matmul: the shapes (2,) and (3,) do not fit each other"},
        {GRAPH("n: {parameters: {a: {value: [1, 2]}}, output_ports: {o: {value: \"a + [1, 2, 3]\"}}}", ""),
         "2:68 shape operator.add: the shapes (2,) and (3,) do not fit each other"},
        {GRAPH("n: {output_ports: {o: {value: \"[1, 2] + [1, 2, 3]\"}}}", ""), ""},
        {GRAPH("n: {parameters: {a: {value: [1, 2]}}, output_ports: {o: {value: \"a[1] + a[-2] + a[2]\"}}}", ""),
         "2:81 shape index 2 is out of range for 2 items"},
        {GRAPH("n: {parameters: {a: {default_initial_value: 1, time_derivative: }}, output_ports: {o: {value: a}}}", ""),
         "2:48 model nothing stands behind 'time_derivative': it is as if it were not there"},
        {GRAPH("n: {parameters: {a: {value: 1}}, output_ports: {o: {value: \"a[0]\"}}}", ""), "2:61 shape a number has no items"},
        {GRAPH("a: {output_ports: {o: {value: 1}}}, b: {output_ports: {p: {value: 1}}}", ",\nconditions: {node_specific: {a: {type: Never}, b: {type: Any, args: [{type: EveryNCalls, kwargs: {dependency: a, n: 2}}]}}, termination: {environment_state_update: {type: AfterNPasses, kwargs: {n: 1}}}}"),
         "never-runs node 'b' never runs: it waits for node 'a', which never runs"},
        {GRAPH("a: {output_ports: {o: {value: 1}}}", ",\nconditions: {node_specific: {a: {type: AfterNCalls, kwargs: {dependency: a, n: 1}}}, termination: {environment_state_update: {type: AfterNPasses, kwargs: {n: 1}}}}"),
         "never-runs node 'a' never runs: it waits for itself to have run"},
    };
    static char found[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        check(cases[i].model, found);
        cr_expect(cases[i].found[0] != '\0' ? strstr(found, cases[i].found) != NULL : found[0] == '\0', "%s\nfinds %s", cases[i].model, found);
    }
}

#define UNIT(unit) "metadata: {unit: '" unit "'}"
#define UNITS(value) \
    "n: {input_ports: {i: {default_value: 1, " UNIT("mV") "}}, parameters: {v: {value: 1, " UNIT("mV") "}, t: {value: 1, " UNIT("ms") "}, g: {value: 1, " \
    UNIT("mS/cm^2") "}, e: {value: 1, " UNIT("V") "}, u: {value: 1}, z: {value: 1, " UNIT("furlong") "}}, output_ports: {o: {value: '" value "'}}}"

Test(diagnostics, units_that_do_not_go_together)
{
    static const struct {
        const char *model, *found;
    } cases[] = {
        {UNITS("u + (v + t)"), "units mV is added to ms"},
        {UNITS("i - t"), "units mV is reduced by ms"},
        {UNITS("v + e"), "units mV is added to V"},
        {UNITS("g * v + e"), "units (mS/cm^2).mV is added to V"},
        {UNITS("v / t - g * v"), "units mV/ms is reduced by (mS/cm^2).mV"},
        {UNITS("v * v + v ** 3"), "units mV.mV is added to mV3"},
        {UNITS("v > t"), "units mV is compared with ms"},
        {UNITS("numpy.where(u, v, t)"), "units mV stands beside ms"},
        {UNITS("max(v, t)"), "units mV stands beside ms"},
        {UNITS("numpy.max(v) + t"), "units mV is added to ms"},
        {UNITS("math.hypot(v, e) + v"), "units mV stands beside V"},
        {UNITS("abs(v) + t if u else v"), "units mV is added to ms"},
        {UNITS("numpy.exp(v + t)"), "units mV is added to ms"},
        {"n: {parameters: {v: {value: 1, " UNIT("mV") "}}, output_ports: {o: {value: v, " UNIT("ms") "}}}", "units its value is in mV, where ms is declared"},
        {"n: {parameters: {v: {default_initial_value: 1, time_derivative: g, " UNIT("mV") "}, g: {value: 1, " UNIT("nA") "}}, output_ports: {o: {value: v}}}",
         "units its value is in nA, where mV (per time) is declared"},
        {"n: {parameters: {v: {value: 1, " UNIT("mV") ", conditions: [{id: c, test: v > t, value: 0}]}, t: {value: 1, " UNIT("s") "}}, output_ports: {o: {value: v}}}",
         "units mV is compared with s"},
    };
    static char found[TEXT_SIZE], model[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(model, sizeof model, GRAPH("%s", ""), cases[i].model);
        check(model, found);
        cr_expect(strstr(found, cases[i].found) != NULL, "%s\nfinds %s", model, found);
    }
    check(GRAPH("a: {output_ports: {o: {value: 1, " UNIT("mV") "}}}, b: {input_ports: {i: {" UNIT("ms") "}}, output_ports: {p: {value: i}}}",
                ",\nedges: {e: {sender: a, receiver: b, sender_port: o, receiver_port: i}}"),
          found);
    cr_expect(strstr(found, "units it brings mV to input port 'i' of node 'b', where ms is declared") != NULL, "%s", found);
    check(GRAPH("n: {parameters: {v: {value: 1, " UNIT("V") "}, t: {value: 1, " UNIT("s") "}}, output_ports: {o: {value: 'v * 2  + v + t'}}}", ""), found);
    cr_expect(strncmp(found, "2:133 units", 11) == 0 && strstr(found, "V is added to s") != NULL, "the place of the operator: %s", found);
}

/* A number may have any unit, and so has what it is multiplied by; units that are not known, or not given, are not compared. */
Test(diagnostics, units_that_go_together)
{
    static const char *const expressions[] = {
        "v + 65", "(v + 65) / 10 + t", "1000 * e + v", "v + z", "z + t", "u + v + u", "v - i", "g * v - 3", "v / t * t + i", "v * v / v + i", "-v + i",
        "(v > 3) + t * u", "numpy.where(v > i, t, t)", "max(v, 0, i)", "[v, t][0]", "numpy.exp(v / e) + numpy.exp(t)", "v ** 0.5 + t", "v // t + e", "numpy.prod(v) + t", "sum([v, i]) + v",
    };
    static char found[TEXT_SIZE], model[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof expressions / sizeof *expressions; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(model, sizeof model, GRAPH(UNITS("%s"), ""), expressions[i]);
#pragma GCC diagnostic pop
        check(model, found);
        cr_expect(strstr(found, " units ") == NULL, "%s\nfinds %s", expressions[i], found);
    }
    check(GRAPH("n: {parameters: {v: {default_initial_value: 1, time_derivative: (w - v) / t, " UNIT("mV") "}, w: {value: 1, " UNIT("mV") "}, t: {value: 1, " UNIT("ms")
                "}}, output_ports: {o: {value: v, " UNIT("mV") "}}}", ""), found);
    cr_expect_str_eq(found, "", "%s", found);
}

/* Names that are used in ways that are easily overlooked; shapes that broadcast, or change. */
Test(diagnostics, check_finds_nothing)
{
    static const char *const models[] = {
        GRAPH("n: {input_ports: {A: {default_value: 1}, B: {default_value: 2}}, functions: {f: {function: 'onnx::Add'}}, output_ports: {o: {value: f}}}", ""),
        GRAPH("n: {input_ports: {variable0: {default_value: 1}}, parameters: {slope: {value: 1}, intercept: {value: 0}}, functions: {f: {function: linear}}, output_ports: {o: {value: f}}}", ""),
        GRAPH("n: {input_ports: {X: {default_value: [1.0]}}, parameters: {axis: {value: 0}}, functions: {f: {function: 'onnx::Softmax', args: {input: X}}}, output_ports: {o: {value: f}}}", ""),
        GRAPH("n: {parameters: {v: {default_initial_value: 0, value: 'v + k'}}, output_ports: {o: {value: v}}}", ", parameters: {k: {value: 1}}"),
        GRAPH("n: {parameters: {v: {default_initial_value: 0, value: 'v + w'}, w: {value: [1, 2, 3]}}, output_ports: {o: {value: v}}}", ""),
        GRAPH("n: {parameters: {a: {value: [[1], [2]]}, b: {value: [1, 2, 3]}, c: {value: 5}}, output_ports: {o: {value: a * b + c}}}", ""),
        GRAPH("n: {parameters: {b: {value: [1, 2, 3]}, c: {value: '[1, 2]'}}, output_ports: {o: {value: numpy.sum(b) + c}}}", ""),
    };
    static char found[TEXT_SIZE];
    size_t i;

    for (i = 0; i < sizeof models / sizeof *models; i++) {
        check(models[i], found);
        cr_expect_str_eq(found, "", "%s\nfinds %s", models[i], found);
    }
}
