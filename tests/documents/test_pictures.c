/* test_pictures.c - graphs as DOT, recordings as scripts for gnuplot, and the picture files that the programs make of them.
 *
 * tests/data/pictures/NAME.DETAIL.dot is what NAME.json gives. */
#include "mdf_c/pictures/write_dot.h"
#include "mdf_c/pictures/write_plot.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 256, COMMAND_SIZE = 2048 };

/* ------------------------------------------------------------------ graphs as DOT */

static mdf_model *load_text(const char *text, const mdf_options *options, mdf_error *error)
{
    return mdf_model_load_bytes(text, strlen(text), "json", "m.json", options, error);
}

static const struct {
    const char *name;
    enum mdf_detail detail;
} drawings[] = {{"ports", MDF_DETAIL_NAMES},  {"ports", MDF_DETAIL_CONTENTS},  {"ports", MDF_DETAIL_ALL},
                {"bodies", MDF_DETAIL_NAMES}, {"bodies", MDF_DETAIL_CONTENTS}, {"conditions", MDF_DETAIL_CONTENTS},
                {"hostile", MDF_DETAIL_ALL}};

Test(pictures, graphs_as_dot)
{
    struct mdf_memory memory;
    char path[PATH_SIZE];

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof drawings / sizeof *drawings; i++) {
        mdf_error error = {0};
        struct mdf_text dot;
        mdf_model *model;
        void *expected;
        size_t size;

        snprintf(path, sizeof path, "tests/data/pictures/%s.json", drawings[i].name);
        model = mdf_model_load_file(path, &error);
        snprintf(path, sizeof path, "tests/data/pictures/%s.%d.dot", drawings[i].name, (int)drawings[i].detail);
        cr_assert(model != NULL, "%s: %s", path, error.message);
        cr_assert(mdf_read_file(&memory, path, &expected, &size, &error) == MDF_OK);
        mdf_text_init(&dot, &memory);
        cr_expect(mdf_write_dot(&dot, model, mdf_model_main_graph(model), drawings[i].detail, &error) == MDF_OK);
        cr_expect(dot.length == size && memcmp(dot.bytes, expected, size) == 0, "%s: not as expected but\n%s", path, dot.bytes);
        mdf_text_release(&dot);
        mdf_memory_release(&memory, expected);
        mdf_model_free(model);
    }
    cr_expect(memory.used_bytes == 0);
}

/* Draws the one graph of a model of one node `A`, made of `fields`, and expects to find each of `rows` in it. */
static void expect_in_node(const char *fields, const char *conditions, enum mdf_detail detail, const char *row)
{
    struct mdf_memory memory;
    struct mdf_text text, dot;
    mdf_error error = {0};
    mdf_model *model;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    mdf_text_init(&dot, &memory);
    mdf_text_printf(&text, "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {%s}}, \"conditions\": {%s}}}}}", fields,
                    conditions);
    model = load_text(text.bytes, NULL, &error);
    cr_assert(model != NULL, "%s: %s", text.bytes, error.message);
    cr_expect(mdf_write_dot(&dot, model, &model->graphs[0], detail, &error) == MDF_OK);
    cr_expect(strstr(dot.bytes, row) != NULL, "%s%s: no '%s' in\n%s", fields, conditions, row, dot.bytes);
    mdf_model_free(model);
    mdf_text_release(&text);
    mdf_text_release(&dot);
    cr_expect(memory.used_bytes == 0);
}

Test(pictures, conditions_as_phrases)
{
    static const struct {
        const char *condition, *phrase;
    } cases[] = {
        {"{\"type\": \"Never\"}", "never"},
        {"{\"type\": \"AfterNCalls\", \"args\": {\"dependency\": \"A\", \"n\": 3}}", "after <b>3</b> calls of <b>A</b>"},
        {"{\"type\": \"AfterNCalls\", \"dependency\": \"A\", \"n\": 3}", "after <b>3</b> calls of <b>A</b>"},
        {"{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scale\": null}}", "after pass <b>1</b>"},
        {"{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scale\": \"RUN\"}}",
         "AfterPass (n = <b>1</b>, time_scale = <b>RUN</b>)"},
        {"{\"type\": \"AfterPass\", \"args\": [1]}", "AfterPass (args = <b>[1&#93;</b>)"},
        {"{\"type\": \"Not\", \"kwargs\": {\"condition\": {\"type\": \"Any\", \"args\": [{\"type\": \"Never\"}, {\"type\": "
         "\"Always\"}]}}}",
         "not (never or always)"},
        {"{\"type\": \"And\", \"kwargs\": {\"dependencies\": [{\"type\": \"Always\"}, {\"type\": \"JustRan\", \"args\": "
         "{\"dependency\": "
         "\"A\"}}]}}",
         "always and when <b>A</b> has just run"},
        {"{\"type\": \"All\"}", "All"},
        {"{\"type\": \"AllHaveRun\", \"args\": {\"dependencies\": []}}", "when all nodes have run"},
        {"{\"type\": \"WhenFinishedAny\", \"args\": {\"nodes\": [\"A\", \"A\"]}}", "WhenFinishedAny (nodes = <b>A and A</b>)"},
        {"{\"type\": \"Threshold\", \"args\": {\"dependency\": \"A\", \"parameter\": \"p\", \"threshold\": 5, \"comparator\": "
         "\"<\"}}",
         "when <b>p</b> of <b>A</b> <b>&lt;</b> <b>5</b>"},
        {"3", "3"},
        {"{\"kind\": 1}", "{kind: 1}"},
    };
    char conditions[400], row[400];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(conditions, sizeof conditions, "\"node_specific\": {\"A\": %s}", cases[i].condition);
        snprintf(row, sizeof row, "condition</font> = %s</td>", cases[i].phrase);
        expect_in_node("", conditions, MDF_DETAIL_CONTENTS, row);
    }
}

Test(pictures, values_are_cut)
{
    static const struct {
        const char *value;
        enum mdf_detail detail;
        const char *shown;
    } cases[] = {
        {"[1, 2, 3, 4, 5, 6]", MDF_DETAIL_CONTENTS, "[1, 2, 3, 4, 5, 6&#93;"},
        {"[1, 2, 3, 4, 5, 6, 7]", MDF_DETAIL_CONTENTS, "[1, 2, 3, …, 7&#93; (shape: (7,))"},
        {"[[1, 2], [3, 4]]", MDF_DETAIL_CONTENTS, "[[1, 2&#93;, [3, 4&#93;&#93;"},
        {"[[[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7]]]", MDF_DETAIL_CONTENTS, "[…&#93; (shape: (1, 2, 7))"},
        {"[\"a\", \"b\", 1, null, true, 2, 3, \"z\"]", MDF_DETAIL_CONTENTS, "[a, b, 1, …, z&#93;"},
        {"{\"a\": 1, \"b\": {}, \"c\": [], \"d\": 4, \"e\": 5, \"f\": 6, \"g\": 7}", MDF_DETAIL_CONTENTS,
         "{a: 1, b: {}, c: [&#93;, d: 4, e: 5, f: 6, …}"},
        {"\"0123456789 123456789 123456789 123456789 123456789 123456789 123456789\"", MDF_DETAIL_CONTENTS,
         "0123456789 123456789 123456789 123456789 123456789 123456789…"},
        {"\"0123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 1\"", MDF_DETAIL_ALL,
         "0123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789<br/>1"},
        {"[\"p\"]", MDF_DETAIL_CONTENTS, "[<font color=\"#1666ff\">p</font>&#93;"},
        {"3.14159265358979", MDF_DETAIL_CONTENTS, "3.14159"},
        {"\"p\\u0000\"", MDF_DETAIL_CONTENTS, "<font color=\"#1666ff\">p</font>\xef\xbf\xbd"},
        {"\"1e5 + p.p + 'p' + pp\"", MDF_DETAIL_CONTENTS,
         "1e5 + <font color=\"#1666ff\">p</font>.<font color=\"#1666ff\">p</font> + 'p' + pp"},
    };
    char fields[400], row[400];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(fields, sizeof fields, "\"parameters\": {\"p\": {\"value\": %s}}", cases[i].value);
        snprintf(row, sizeof row, " = %s</td>", cases[i].shown);
        expect_in_node(fields, "", cases[i].detail, row);
    }
}

Test(pictures, arguments_have_names_unless_they_stand_in_their_place)
{
    static const struct {
        const char *call, *shown;
    } cases[] = {
        {"\"linear\", \"args\": {\"variable0\": 1, \"slope\": 2, \"intercept\": 3}", "<i>linear</i>(1, 2, 3)"},
        {"\"linear\", \"args\": {\"variable0\": 1, \"intercept\": 3, \"slope\": 2}", "<i>linear</i>(1, intercept=3, slope=2)"},
        {"\"linear\", \"args\": {\"slope\": 2, \"bogus\": 3}", "<i>linear</i>(slope=2, bogus=3)"},
        {"\"linear\", \"args\": {\"variable0\": 1, \"slope\": 2, \"intercept\": 3, \"bogus\": 4}",
         "<i>linear</i>(1, 2, 3, bogus=4)"},
        {"\"onnx::Conv\", \"args\": {\"X\": \"x\", \"W\": \"w\", \"pads\": [1, 1]}", "<i>onnx::Conv</i>(x, w, pads=[1, 1&#93;)"},
        {"\"onnx::Loop\", \"args\": {\"cond\": true, \"M\": 3}", "<i>onnx::Loop</i>(cond=True, M=3)"},
        {"\"unknown\", \"args\": {\"a\": 1}", "<i>unknown</i>(a=1)"},
        {"\"unknown\"", "<i>unknown</i>()"},
    };
    char fields[400], row[400];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(fields, sizeof fields, "\"functions\": {\"f\": {\"function\": %s}}", cases[i].call);
        snprintf(row, sizeof row, " = %s</td>", cases[i].shown);
        expect_in_node(fields, "", MDF_DETAIL_CONTENTS, row);
    }
}

Test(pictures, conditions_of_parameters_may_lack_parts)
{
    expect_in_node("\"parameters\": {\"p\": {\"value\": 1, \"conditions\": {\"c\": {\"value\": 2}}}}", "", MDF_DETAIL_CONTENTS,
                   "IF <i>never</i> THEN");
    expect_in_node("\"parameters\": {\"p\": {\"value\": 1, \"conditions\": {\"c\": {}}}}", "", MDF_DETAIL_ALL, " = <i>nothing</i>");
}

/* A model of `n` nodes of `n_ports` ports each. */
static mdf_model *many_nodes(struct mdf_memory *memory, size_t n, size_t n_ports)
{
    struct mdf_text text;
    mdf_error error = {0};
    mdf_model *model;

    mdf_text_init(&text, memory);
    mdf_text_append_string(&text, "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {");
    for (size_t i = 0; i < n; i++) {
        mdf_text_printf(&text, "%s\"n%zu\": {\"input_ports\": {", i > 0 ? ", " : "", i);
        for (size_t j = 0; j < n_ports; j++) {
            mdf_text_printf(&text, "%s\"p%zu\": {}", j > 0 ? ", " : "", j);
        }
        mdf_text_append_string(&text, "}}");
    }
    mdf_text_append_string(&text, "}}}}}");
    model = load_text(text.bytes, NULL, &error);
    cr_assert(model != NULL, "%s", error.message);
    mdf_text_release(&text);
    return model;
}

Test(pictures, large_graphs_are_drawn_by_name)
{
    static const struct {
        size_t n_nodes, n_ports;
        const char *holds, *lacks;
    } cases[] = {
        {100, 1, "p0", "more"},
        {101, 1, "n100", "p0"},
        {1, 40, "<i>and 10 more input ports</i>", "p30"},
    };
    struct mdf_memory memory;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mdf_model *model = many_nodes(&memory, cases[i].n_nodes, cases[i].n_ports);
        struct mdf_text dot;
        mdf_error error = {0};

        mdf_text_init(&dot, &memory);
        cr_expect(mdf_write_dot(&dot, model, &model->graphs[0], MDF_DETAIL_AUTOMATIC, &error) == MDF_OK);
        cr_expect(strstr(dot.bytes, cases[i].holds) != NULL && strstr(dot.bytes, cases[i].lacks) == NULL, "case %zu:\n%s", i,
                  dot.bytes);
        mdf_text_release(&dot);
        mdf_model_free(model);
    }
    cr_expect(memory.used_bytes == 0);
}

Test(pictures, a_body_that_is_no_graph_is_an_error_with_its_place)
{
    static const char text[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"functions\": {\"f\": {\"function\": \"onnx::Loop\","
        "\n\"args\": {\"body\": {\"nodes\": {\"B\": {\"input_ports\": 3}}}}}}}}}}}}";
    struct mdf_memory memory;
    struct mdf_text dot;
    mdf_error error = {0};
    mdf_model *model = load_text(text, NULL, &error);

    cr_assert(model != NULL, "%s", error.message);
    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&dot, &memory);
    cr_expect(mdf_write_dot(&dot, model, &model->graphs[0], MDF_DETAIL_CONTENTS, &error) == MDF_MODEL);
    cr_expect(error.line == 2, "%d", error.line);
    mdf_text_release(&dot);
    mdf_model_free(model);
    cr_expect(memory.used_bytes == 0);
}

/* ------------------------------------------------------------------ recordings as scripts */

static const struct mdf_column columns[] = {
    {0, "a'b", "x"}, {0, "a'b", "y_1"}, {0, "a'b", "flag"}, {1, "c\n]]>d", "name"}, {1, "c\n]]>d", "many"}};
static const char *const units[] = {"mV", NULL, NULL, NULL, "Hz"};

enum { N_COLUMNS = 5, N_MANY = 11 };

static bool add_number(struct mdf_recording *recording, double number, mdf_error *error)
{
    struct mdf_value value = {0};
    bool done =
        mdf_value_make_double(recording->memory, &value, number) && mdf_recording_add_value(recording, &value, error) == MDF_OK;

    mdf_value_clear(recording->memory, &value);
    return done;
}

static bool add_array(struct mdf_recording *recording, mdf_dtype dtype, size_t rank, const int64_t *shape, const void *data,
                      mdf_error *error)
{
    struct mdf_value value = {0};

    mdf_value_borrow_tensor(recording->memory, &value, dtype, MDF_STRENGTH_TYPED, rank, shape, data);
    return mdf_recording_add_value(recording, &value, error) == MDF_OK;
}

/* x: 0, 1, NaN; y_1: [[10, 20]], nothing, [[11, 21]]; flag: true; name: a text; many: 11 numbers. */
static bool record_step(struct mdf_recording *recording, size_t step, double time, mdf_error *error)
{
    static const int64_t pair_shape[] = {1, 2}, many_shape[] = {N_MANY};
    const double pair[] = {step < 2 ? 10 : 11, step < 2 ? 20 : 21};
    const bool truth = true;
    struct mdf_value name = {0};
    double many[N_MANY];
    bool done = mdf_recording_begin_step(recording, time, error) == MDF_OK &&
                add_number(recording, step < 2 ? (double)step : 0.0 / 0.0, error);

    for (size_t i = 0; i < N_MANY; i++) {
        many[i] = (double)i / 4;
    }
    done = done && (step == 1 ? mdf_recording_add_value(recording, NULL, error) == MDF_OK
                              : add_array(recording, MDF_DTYPE_FLOAT64, 2, pair_shape, pair, error));
    done = done && add_array(recording, MDF_DTYPE_BOOL, 0, NULL, &truth, error);
    done = done && mdf_value_make_string(recording->memory, &name, "text", 4) &&
           mdf_recording_add_value(recording, &name, error) == MDF_OK;
    mdf_value_clear(recording->memory, &name);
    return done && add_array(recording, MDF_DTYPE_FLOAT64, 1, many_shape, many, error);
}

static mdf_status plot_steps(struct mdf_text *script, size_t n_steps, double dt, enum mdf_plot_format format, mdf_error *error)
{
    struct mdf_recording recording;
    const struct mdf_plot plot = {&recording, "it's", units, format};
    mdf_status status = mdf_recording_init(&recording, script->memory, columns, N_COLUMNS, error);

    for (size_t step = 0; step < n_steps && status == MDF_OK; step++) {
        if (!record_step(&recording, step, dt * (double)step, error)) {
            status = mdf_memory_error(script->memory, error);
        }
    }
    if (status == MDF_OK) {
        status = mdf_write_plot(script, &plot, error);
    }
    mdf_recording_release(&recording);
    return status;
}

static const char expected_script[] =
    "set title 'a’b'\nset xlabel ''\nset ylabel 'mV'\nset yrange [*:*]\n"
    "$line_0_0 << EOD\n0 0\n0.5 1\n1 NaN\nEOD\n"
    "plot $line_0_0 using 1:2 with linespoints pointtype 7 pointsize 0.4 linetype 1 title 'x'\n"
    "\nset title 'a’b'\nset xlabel ''\nset ylabel ''\nset yrange [*:*]\n"
    "$line_1_0 << EOD\n0 10\n0.5 NaN\n1 11\nEOD\n$line_1_1 << EOD\n0 20\n0.5 NaN\n1 21\nEOD\n"
    "plot $line_1_0 using 1:2 with linespoints pointtype 7 pointsize 0.4 linetype 1 title 'y_1[0][0]', \\\n"
    "     $line_1_1 using 1:2 with linespoints pointtype 7 pointsize 0.4 linetype 2 title 'y_1[0][1]'\n"
    "\nset title 'a’b'\nset xlabel ''\nset ylabel ''\nset yrange [-0.1:1.1]\n"
    "$line_2_0 << EOD\n0 1\n0.5 1\n1 1\nEOD\n"
    "plot $line_2_0 using 1:2 with steps linetype 1 title 'flag'\n"
    "\nset title 'c ]] >d'\nset xlabel 'time'\nset cblabel 'Hz'\nset yrange [*:*]\n"
    "$colors_4 << EOD\n0 0 0\n0.5 0 0\n1 0 0\n0 1 0.25\n0.5 1 0.25\n1 1 0.25\n";

Test(pictures, recordings_as_scripts)
{
    struct mdf_memory memory;
    struct mdf_text script;
    mdf_error error = {0};
    const char *panels;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&script, &memory);
    cr_assert(plot_steps(&script, 3, 0.5, MDF_PLOT_SCRIPT, &error) == MDF_OK, "%s", error.message);
    cr_expect(strstr(script.bytes, "set multiplot layout 4,1 title 'it’s'\n") != NULL);
    panels = strstr(script.bytes, "set title");
    cr_assert(panels != NULL);
    cr_expect(strncmp(panels, expected_script, sizeof expected_script - 1) == 0, "%s", panels);
    cr_expect(strstr(panels, "set yrange [-0.5:10.5]\nplot $colors_4 using 1:2:3 with image notitle\n") != NULL, "%s", panels);
    mdf_text_release(&script);
    cr_expect(memory.used_bytes == 0);
}

Test(pictures, steps_without_time_are_counted_from_1)
{
    struct mdf_memory memory;
    struct mdf_text script;
    mdf_error error = {0};

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&script, &memory);
    cr_assert(plot_steps(&script, 2, 0.0 / 0.0, MDF_PLOT_PNG, &error) == MDF_OK, "%s", error.message);
    cr_expect(strstr(script.bytes, "$line_0_0 << EOD\n1 0\n2 1\nEOD\n") != NULL, "%s", script.bytes);
    cr_expect(strstr(script.bytes, "set xlabel 'step'\n") != NULL);
    cr_expect(strstr(script.bytes, "set terminal pngcairo size 960,840") != NULL, "%s", script.bytes);
    mdf_text_release(&script);
}

/* 5000 steps, zero but for a peak at one of them and a dip at the next: both are still there among at most 2000 points. */
Test(pictures, thinning_keeps_extremes)
{
    static const struct mdf_column column = {0, "n", "v"};
    const char *unit = NULL, *line;
    struct mdf_memory memory;
    struct mdf_recording recording;
    const struct mdf_plot plot = {&recording, "m", &unit, MDF_PLOT_SCRIPT};
    struct mdf_text script;
    mdf_error error = {0};
    size_t n_lines = 0;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&script, &memory);
    mdf_recording_init(&recording, &memory, &column, 1, &error);
    for (size_t step = 0; step < 5000; step++) {
        mdf_recording_begin_step(&recording, (double)step, &error);
        add_number(&recording, step == 3217 ? 7.5 : step == 3218 ? -2.5 : 0, &error);
    }
    cr_assert(mdf_write_plot(&script, &plot, &error) == MDF_OK);
    cr_expect(strstr(script.bytes, "\n3217 7.5\n3218 -2.5\n") != NULL);
    for (line = strstr(script.bytes, "EOD\n"); *line != '\0'; line++) {
        n_lines += *line == '\n';
    }
    cr_expect(n_lines < 2010, "%zu", n_lines);
    mdf_recording_release(&recording);
    mdf_text_release(&script);
    cr_expect(memory.used_bytes == 0);
}

Test(pictures, nothing_to_plot_is_an_error)
{
    static const struct mdf_column two[] = {{0, "n", "v"}, {0, "n", "w"}};
    const char *no_units[] = {NULL, NULL};
    struct mdf_memory memory;
    struct mdf_recording recording;
    const struct mdf_plot plot = {&recording, "m", no_units, MDF_PLOT_SVG};
    struct mdf_text script;
    mdf_error error = {0};

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&script, &memory);
    mdf_recording_init(&recording, &memory, two, 2, &error);
    mdf_recording_begin_step(&recording, 0, &error);
    add_number(&recording, 1.0 / 0.0, &error);
    mdf_recording_add_value(&recording, NULL, &error);
    cr_expect(mdf_write_plot(&script, &plot, &error) == MDF_VALUE);
    cr_expect(strstr(error.message, "there is nothing to draw") != NULL, "%s", error.message);
    mdf_recording_release(&recording);
    mdf_text_release(&script);
    cr_expect(memory.used_bytes == 0);
}

/* ------------------------------------------------------------------ memory that runs out */

/* Graph number `which` of the drawings; the plot where there is none. */
static mdf_status write_one(struct mdf_text *text, const mdf_model *model, size_t which, mdf_error *error)
{
    return model != NULL ? mdf_write_dot(text, model, mdf_model_main_graph(model), drawings[which].detail, error)
                         : plot_steps(text, 3, 0.5, MDF_PLOT_SVG, error);
}

Test(pictures, every_allocation_may_fail)
{
    enum { N_DRAWINGS = sizeof drawings / sizeof *drawings };

    for (size_t which = 0; which <= N_DRAWINGS; which++) {
        char path[PATH_SIZE];
        mdf_model *model = NULL;
        mdf_status status = MDF_OUT_OF_MEMORY;

        if (which < N_DRAWINGS) {
            snprintf(path, sizeof path, "tests/data/pictures/%s.json", drawings[which].name);
            model = mdf_model_load_file(path, NULL);
        }
        for (long n = 0; status == MDF_OUT_OF_MEMORY && n < 1000; n++) {
            struct counter failing = {.fail_at = (size_t)n + 1};
            mdf_allocator allocator = failing_allocator(&failing);
            struct mdf_memory memory;
            struct mdf_text text;
            mdf_error error = {0};

            mdf_memory_init(&memory, &allocator, 0);
            mdf_text_init(&text, &memory);
            status = write_one(&text, model, which, &error);
            cr_expect(status == error.code);
            mdf_text_release(&text);
            cr_expect(memory.used_bytes == 0, "drawing %zu, allocation %ld", which, n);
        }
        cr_expect(status == MDF_OK, "drawing %zu", which);
        mdf_model_free(model);
    }
}

/* ------------------------------------------------------------------ the command line */

static char folder[] = "/tmp/mdf_test_pictures_XXXXXX";

static void set_up(void)
{
    cr_assert(mkdtemp(folder) != NULL);
}

static void tear_down(void)
{
    char command[COMMAND_SIZE];

    snprintf(command, sizeof command, "rm -r %s", folder);
    cr_assert(system(command) == 0);
}

/* Runs a shell's command line in which $RUN is mdf-run, $OUT the test's folder, $DATA that of the models; its exit status. */
static int shell(const char *line)
{
    const char *build = getenv("BUILD");
    char command[COMMAND_SIZE];
    int status;

    snprintf(command, sizeof command, "RUN=%s/mdf-run; OUT=%s; DATA=tests/data; { %s; } >%s/out 2>%s/err",
             build != NULL ? build : "build", folder, line, folder, folder);
    status = system(command);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Expects an exit status, and what grep finds in the error messages. */
static void expect_call(const char *line, int exit_status, const char *message)
{
    char command[COMMAND_SIZE];
    int status = shell(line);

    cr_expect(status == exit_status, "%s: %d", line, status);
    if (message[0] != '\0') {
        snprintf(command, sizeof command, "grep -q -F -e '%s' %s/err || { cat %s/err; false; }", message, folder, folder);
        cr_expect(system(command) == 0, "%s: no '%s'", line, message);
    }
}

static bool is_installed(const char *program)
{
    char command[PATH_SIZE];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

TestSuite(picture_files, .init = set_up, .fini = tear_down);

Test(picture_files, what_needs_no_program)
{
    static const struct {
        const char *line;
        int exit_status;
        const char *message;
    } cases[] = {
        {"$RUN --check --graph-image $OUT/g.dot $DATA/two_nodes.json && ! test -s $OUT/out && grep -q 'n0 -> n1' $OUT/g.dot", 0,
         ""},
        {"$RUN --graph-image $OUT/g.gv $DATA/two_nodes.json > $OUT/values && grep -q 'n0 -> n1' $OUT/g.gv && grep -q "
         "'\"results\"' $OUT/values",
         0, ""},
        {"$RUN -g other --check --graph-image $OUT/o.dot $DATA/two_nodes.json && grep -q three $OUT/o.dot", 0, ""},
        {"$RUN --check --graph-detail 1 --graph-image $OUT/o.dot $DATA/two_nodes.json && ! grep -q '#188855' $OUT/o.dot", 0, ""},
        /* what does not compile can be looked at */
        {"$RUN --graph-image $OUT/u.dot $DATA/unknown_name.json", 1, "is not known"},
        {"test -s $OUT/u.dot", 0, ""},
        {"$RUN --plot $OUT/p.gp -n 3 --dt 0.5 $DATA/decay.yaml && grep -q '^0.5 4$' $OUT/p.gp && ! grep -q '\"trace\"' $OUT/out",
         0, ""},
        {"$RUN --plot $OUT/p.gp --record A.y -n 2 $DATA/two_nodes.json && grep -q \"title 'y'\" $OUT/p.gp && ! grep -q total "
         "$OUT/p.gp",
         0, ""},
        {"$RUN --plot $OUT/none.gp --graph absent $DATA/two_nodes.json", 2, "no graph"},
        {"$RUN --graph-image $OUT/none.gif $DATA/two_nodes.json", 2, "must be a file .svg"},
        {"$RUN --plot $OUT/none.dot $DATA/two_nodes.json", 2, "must be a file .svg"},
        {"$RUN --graph-detail 4 --graph-image $OUT/none.dot $DATA/two_nodes.json", 2, "must be a whole number from 1 to 3"},
        {"$RUN --graph-image $OUT/absent/g.dot $DATA/two_nodes.json", 1, "there is no such file or directory"},
        {"! ls $OUT/none.* $OUT/*.new", 0, ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_call(cases[i].line, cases[i].exit_status, cases[i].message);
    }
}

/* A program that is absent, refuses, or is killed: an error that says so, no file, nothing on standard output. */
Test(picture_files, programs_that_fail)
{
    static const struct {
        const char *line;
        const char *message;
    } cases[] = {
        {"PATH=/nonexistent $RUN --graph-image $OUT/none.svg $DATA/two_nodes.json", "mdf-run: error: --graph-image "},
        {"PATH=/nonexistent $RUN --graph-image $OUT/none.svg $DATA/two_nodes.json",
         "needs the program dot, which is not installed"},
        {"PATH=/nonexistent $RUN --plot $OUT/none.svg $DATA/two_nodes.json", "needs the program gnuplot, which is not installed"},
        {"PATH=$OUT:$PATH; printf '#!/bin/sh\\necho bad >&2; echo x; exit 1\\n' > $OUT/dot; chmod +x $OUT/dot; "
         "$RUN --check --graph-image $OUT/none.svg $DATA/two_nodes.json",
         "dot: error: the program failed: bad"},
        {"PATH=$OUT:$PATH; printf '#!/bin/sh\\necho x; kill -9 $$\\n' > $OUT/gnuplot; chmod +x $OUT/gnuplot; "
         "$RUN --plot $OUT/none.svg $DATA/two_nodes.json",
         "gnuplot: error: the program failed"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_call(cases[i].line, 1, cases[i].message);
        expect_call("! test -s $OUT/out && ! ls $OUT/none.* $OUT/*.new", 0, "");
    }
}

Test(picture_files, graphviz_takes_every_drawing)
{
    if (!is_installed("dot")) {
        cr_skip_test("Graphviz is not installed");
    }
    expect_call("for file in $DATA/pictures/*.dot; do dot -Tsvg $file > $OUT/g.svg || exit 1; test ! -s $OUT/err || exit 1; done",
                0, "");
    expect_call("$RUN --check --graph-image $OUT/g.svg $DATA/pictures/conditions.json", 0, "");
    expect_call("grep -q 'calls of' $OUT/g.svg && grep -q '</svg>' $OUT/g.svg", 0, "");
    expect_call(
        "$RUN --graph-detail 3 --graph-image $OUT/h.svg $DATA/pictures/hostile.json; grep -q -F 'x\\N = &lt;img' $OUT/h.svg", 0,
        "");
    expect_call("$RUN --check --graph-image $OUT/g.png $DATA/two_nodes.json && head -c 4 $OUT/g.png | grep -q PNG", 0, "");
    expect_call("$RUN --check --graph-image $OUT/g.pdf $DATA/two_nodes.json && head -c 4 $OUT/g.pdf | grep -q PDF", 0, "");
}

/* Names that are commands to gnuplot or a shell stay names. */
static const char *const hostile_names[] = {"'; system 'touch hacked'; '",
                                            "`touch hacked`",
                                            "\\\"; system \\\"touch hacked\\\"; #",
                                            "\\\\",
                                            "'",
                                            "''",
                                            "{",
                                            "@x $x #",
                                            "%s %n",
                                            "<]]>&amp;",
                                            "EOD"};

static void write_hostile_model(void)
{
    char path[PATH_SIZE];
    FILE *stream;

    snprintf(path, sizeof path, "%s/h.json", folder);
    stream = fopen(path, "wb");
    cr_assert(stream != NULL);
    fputs("{\"m'\\\\\": {\"graphs\": {\"g\": {\"nodes\": {\"none\": {}", stream);
    for (size_t i = 0; i < sizeof hostile_names / sizeof *hostile_names; i++) {
        fprintf(stream,
                ", \"%s\": {\"output_ports\": {\"%s\": {\"value\": \"1\", \"metadata\": {\"unit\": \"%s\"}}, \"o\": {\"value\": "
                "\"2\"}}}",
                hostile_names[i], hostile_names[i], hostile_names[i]);
    }
    fputs("}}}}}", stream);
    fclose(stream);
}

Test(picture_files, gnuplot_takes_every_plot)
{
    if (!is_installed("gnuplot")) {
        cr_skip_test("gnuplot is not installed");
    }
    expect_call(
        "$RUN --plot $OUT/p.svg -n 3 --dt 0.5 $DATA/decay.yaml && grep -q '</svg>' $OUT/p.svg && grep -q '>time<' $OUT/p.svg", 0,
        "");
    expect_call("$RUN --plot $OUT/p.png -n 3 --dt 0.5 $DATA/decay.yaml && head -c 4 $OUT/p.png | grep -q PNG", 0, "");
    expect_call("$RUN --plot $OUT/p.pdf $DATA/decay.yaml && head -c 4 $OUT/p.pdf | grep -q PDF", 0, "");
    write_hostile_model();
    expect_call("$RUN -n 2 --plot $OUT/h.svg $OUT/h.json && ! ls hacked && grep -q -F '; system ’touch hacked’; ’' $OUT/h.svg && "
                "grep -q -F '>&lt;]] >&amp;amp;<' $OUT/h.svg",
                0, "");
}
