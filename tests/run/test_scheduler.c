/* test_scheduler.c - when nodes run: schedules that graph-scheduler itself made (tests/data/schedule_cases.json, see
 * generate_schedule_cases.py), the ways of writing conditions, values that conditions look at, absolute time, what is refused,
 * what never ends. */
#include "mdf_c/base/rational.h"
#include "mdf_c/base/text.h"
#include "mdf_c/mdf.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/refused_pieces.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ------------------------------------------------------------------ models of one-letter nodes */

static struct mdf_memory memory;

/* A graph whose nodes count their runs; an edge "A>B" carries the count, "A~B" into a port with a default. `more` goes into each
 * node that it names: "A": "\"output_ports\": ...". */
static char *model_text(const char *header, const char *nodes, const char *edges, const char *conditions, const json_t *finished)
{
    struct mdf_text text;

    mdf_text_init(&text, &memory);
    mdf_text_printf(&text, "{\"m\": {%s\"graphs\": {\"g\": {\"nodes\": {", header);
    for (const char *node = nodes; *node != '\0'; node++) {
        const char id[2] = {*node, '\0'};
        const json_t *from = json_object_get(finished, id);
        bool first = true;

        mdf_text_printf(&text, "%s\"%s\": {\"input_ports\": {", node == nodes ? "" : ", ", id);
        for (const char *edge = edges; edge[0] != '\0'; edge += edge[3] == ' ' ? 4 : 3) {
            if (edge[2] == *node) {
                mdf_text_printf(&text, "%s\"from_%c\": {%s}", first ? "" : ", ", edge[0],
                                edge[1] == '~' ? "\"default_value\": -1" : "");
                first = false;
            }
        }
        mdf_text_printf(
            &text,
            "}, \"parameters\": {\"n\": {\"value\": \"n + 1\", \"default_initial_value\": 0}, \"v\": {\"value\": \"v + 1\", "
            "\"default_initial_value\": [0, 2]}, \"five\": {\"value\": 5}, \"bare\": {\"value\": \"n * 2\"}}, \"functions\": "
            "{\"f\": "
            "{\"value\": \"n * 10\"}}, \"output_ports\": {\"count\": {\"value\": \"n\"}");
        if (from != NULL) {
            mdf_text_printf(&text, ", \"is_finished\": {\"value\": \"n >= %d\"}", (int)json_integer_value(from));
        }
        mdf_text_printf(&text, "}}");
    }
    mdf_text_printf(&text, "}, \"edges\": {");
    for (const char *edge = edges; edge[0] != '\0'; edge += edge[3] == ' ' ? 4 : 3) {
        mdf_text_printf(
            &text,
            "%s\"%.3s\": {\"sender\": \"%c\", \"sender_port\": \"count\", \"receiver\": \"%c\", \"receiver_port\": \"from_%c\"}",
            edge == edges ? "" : ", ", edge, edge[0], edge[2], edge[0]);
    }
    mdf_text_printf(&text, "}, \"conditions\": %s}}}}", conditions);
    cr_assert_not(text.failed);
    return text.bytes;
}

/* ------------------------------------------------------------------ running them */

struct warnings {
    char text[600];
};

static void note_warning(void *context, const mdf_error *warning)
{
    struct warnings *warnings = context;
    size_t used = strlen(warnings->text);

    snprintf(warnings->text + used, sizeof warnings->text - used, "%s; ", warning->message);
}

static int compare_letters(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

/* "A BC -": the execution sets of the last evaluation, letters in alphabetical order. */
static void write_schedule(const mdf_program *program, const mdf_state *state, struct mdf_text *text)
{
    for (size_t set = 0; set < mdf_schedule_n_sets(state); set++) {
        size_t n = mdf_schedule_set_size(state, set);
        char letters[32];

        for (size_t i = 0; i < n; i++) {
            letters[i] = mdf_program_node_id(program, mdf_schedule_node(state, set, i))[0];
        }
        qsort(letters, n, 1, compare_letters);
        mdf_text_printf(text, "%s%.*s", set > 0 ? " " : "", n > 0 ? (int)n : 1, n > 0 ? letters : "-");
    }
}

/* "0 0.5 1": the times of its sets in milliseconds. */
static void write_times(const mdf_state *state, struct mdf_text *text)
{
    for (size_t set = 0; set < mdf_schedule_n_sets(state); set++) {
        mdf_text_printf(text, " %.10g", mdf_schedule_time_ms(state, set));
    }
}

static bool tells_times; /* after all sets */

/* The schedules of some evaluations, "A B / A B", or the error. */
static mdf_status run_model(const mdf_model *model, const mdf_options *options, size_t n_calls, char *result, size_t size,
                            mdf_error *error)
{
    mdf_program *program = mdf_compile(model, options, error);
    mdf_state *state = program != NULL ? mdf_state_new(program, error) : NULL;
    struct mdf_text text, times;

    mdf_text_init(&text, &memory);
    mdf_text_init(&times, &memory);
    for (size_t i = 0; state != NULL && i < n_calls && error->code == MDF_OK; i++) {
        mdf_text_append_string(&text, i > 0 ? " / " : "");
        if (mdf_evaluate(state, (double)NAN, error) == MDF_OK) {
            write_schedule(program, state, &text);
            write_times(state, &times);
        }
    }
    if (tells_times) {
        mdf_text_printf(&text, " at%s", times.bytes);
    }
    if (error->code != MDF_OK) {
        mdf_error_format(error, result, size);
    } else {
        snprintf(result, size, "%s", text.bytes != NULL ? text.bytes : "");
    }
    mdf_text_release(&text);
    mdf_text_release(&times);
    mdf_state_free(state);
    mdf_program_free(program);
    return error->code;
}

static mdf_status run(const char *model_json, const mdf_options *options, size_t n_calls, char *result, size_t size)
{
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(model_json, strlen(model_json), "json", "m.json", options, &error);

    if (model != NULL) {
        run_model(model, options, n_calls, result, size, &error);
    } else {
        mdf_error_format(&error, result, size);
    }
    mdf_model_free(model);
    return error.code;
}

static void init(void)
{
    mdf_memory_init(&memory, NULL, 0);
}

TestSuite(scheduler, .init = init);

/* ------------------------------------------------------------------ as graph-scheduler runs them */

Test(scheduler, runs_nodes_as_graph_scheduler_does)
{
    json_t *cases = json_load_file("tests/data/schedule_cases.json", 0, NULL), *one, *call;
    char got[4000], want[4000];
    size_t index, i;

    cr_assert_not_null(cases);
    json_array_foreach(cases, index, one)
    {
        json_t *calls = json_object_get(one, "calls"), *times = json_object_get(one, "times"), *time;
        char *conditions = json_dumps(json_object_get(one, "conditions"), 0);
        char *model = model_text("", json_string_value(json_object_get(one, "nodes")),
                                 json_string_value(json_object_get(one, "edges")), conditions, json_object_get(one, "finished"));
        mdf_status status;

        tells_times = times != NULL;
        status = run(model, NULL, (size_t)json_integer_value(json_object_get(one, "n_calls")), got, sizeof got);
        want[0] = '\0';
        json_array_foreach(calls, i, call)
        {
            snprintf(want + strlen(want), sizeof want - strlen(want), "%s%s", i > 0 ? " / " : "", json_string_value(call));
        }
        json_array_foreach(times, i, time)
        {
            snprintf(want + strlen(want), sizeof want - strlen(want), "%s %.10g", i == 0 ? " at" : "", json_number_value(time));
        }
        if (json_is_null(calls)) {
            cr_expect_neq(status, MDF_OK, "%s is not refused: %s", json_string_value(json_object_get(one, "name")), got);
        } else {
            cr_expect_str_eq(got, want, "%s: %s, not %s", json_string_value(json_object_get(one, "name")), got, want);
        }
        mdf_memory_release(&memory, model);
        free(conditions);
    }
    cr_expect_gt(index, (size_t)250);
    tells_times = false;
    json_decref(cases);
}

/* Each piece of memory that compiling and running them asks for may be refused: of each case some, of all cases together any. */
Test(scheduler, pieces_of_memory_may_be_refused)
{
    json_t *cases = json_load_file("tests/data/schedule_cases.json", 0, NULL), *one;
    size_t index;

    cr_assert_not_null(cases);
    json_array_foreach(cases, index, one)
    {
        char *conditions = json_dumps(json_object_get(one, "conditions"), 0);
        char *model = model_text("", json_string_value(json_object_get(one, "nodes")),
                                 json_string_value(json_object_get(one, "edges")), conditions, json_object_get(one, "finished"));

        expect_pieces_refused(
            model, &(struct piece_run){.format = "json", .steps = 2, .dt = NAN, .first = 1 + 37 * index % 700, .stride = 700});
        mdf_memory_release(&memory, model);
        free(conditions);
    }
    json_decref(cases);
}

/* ------------------------------------------------------------------ ways of writing */

struct schedule_case {
    const char *nodes, *edges, *conditions;
    size_t n_calls;
    const char *schedule;
};

#define CHAIN "A>B B>C"
#define PASSES(n) "\"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": " #n "}}}"
#define NODE_IS(node, condition) "{\"node_specific\": {\"" node "\": " condition "}}"
#define B_IS(condition, n) "{\"node_specific\": {\"B\": " condition "}, " PASSES(n) "}"
#define A_IS(condition, n) "{\"node_specific\": {\"A\": " condition "}, " PASSES(n) "}"

static const struct schedule_case spellings[] = {
    /* Where arguments stand. */
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 2}}", 4), 1, "A A B A A B"},
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"args\": {\"dependency\": \"A\", \"n\": 2}}", 4), 1, "A A B A A B"},
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"args\": [\"A\", 2]}", 4), 1, "A A B A A B"},
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"dependency\": \"A\", \"n\": 2}", 4), 1, "A A B A A B"},
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependencies\": {\"id\": \"A\"}, \"n\": 2.0}}", 4), 1,
     "A A B A A B"},
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependencies\": [\"A\"], \"n\": 1}}", 1), 1,
     "m.json: error: EveryNCalls: a node is named by its id, not by a list"},
    {"AB", "A>B", B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"B\", \"dependencies\": \"A\", \"n\": 2}}", 4),
     1, "A A B A A B"},
    {"AB", "A>B", B_IS("{\"type\": \"Always\"}", 2), 1, "A B A B"},
    {"AB", "A>B", B_IS("{\"type\": \"Always\", \"kwargs\": null}", 1), 1, "A B"},
    {"AB", "A>B", B_IS("null", 1), 1, "A B"},
    {"ABC", CHAIN, "{\"node_specific\": {\"C\": {\"type\": \"AllHaveRun\", \"args\": [\"A\", \"B\"]}}, " PASSES(2) "}", 1,
     "A B C A B C"},
    {"ABC", CHAIN, "{\"node_specific\": {\"C\": {\"type\": \"AllHaveRun\", \"kwargs\": {\"dependency\": \"A\"}}}, " PASSES(2) "}",
     1, "A B C A B C"},
    /* Parts of All and Any: a list under any name, "args" first; a single condition. */
    {"AB", "A>B", A_IS("{\"type\": \"Any\", \"args\": [{\"type\": \"AtPass\", \"n\": 0}, {\"type\": \"AtPass\", \"n\": 2}]}", 3),
     1, "A B - A B"},
    {"AB", "A>B",
     A_IS("{\"type\": \"And\", \"kwargs\": {\"x\": [{\"type\": \"AfterPass\", \"n\": 0}], \"args\": [{\"type\": \"NWhen\", "
          "\"kwargs\": "
          "{\"condition\": {\"type\": \"Always\"}}}]}}",
          3),
     1, "- - -"},
    {"AB", "A>B", A_IS("{\"type\": \"Or\", \"kwargs\": {\"dependencies\": {\"type\": \"AtPass\", \"kwargs\": {\"n\": 1}}}}", 2),
     1, "- A B"},
    {"AB", "A>B", A_IS("{\"type\": \"All\"}", 1), 1, "A B"},
    {"AB", "A>B", A_IS("{\"type\": \"Any\", \"kwargs\": {\"dependencies\": []}}", 2), 1, "- -"},
    /* A list of conditions; the last basic one counts. */
    {"AB", "",
     B_IS("[{\"type\": \"AddEdgeTo\", \"kwargs\": {\"node\": \"A\"}}, {\"type\": \"Never\"}, {\"type\": \"Always\"}]", 2), 1,
     "B A B A"},
    /* Time scales of terminations. */
    {"AB", "A>B", "{\"termination\": {\"TimeScale.ENVIRONMENT_STATE_UPDATE\": {\"type\": \"AfterPass\", \"n\": 0}}}", 1, "A B"},
    {"AB", "A>B", "{\"termination\": {\".ENVIRONMENT_STATE_UPDATE\": {\"type\": \"AfterPass\", \"n\": 1}}}", 1, "A B A B"},
    {"AB", "A>B", "{\"termination\": {\"Environment_State_Update\": {\"type\": \"AfterPass\", \"n\": 0}}}", 2, "A B / A B"},
    {"AB", "A>B",
     "{\"termination\": {\"environment_sequence\": {\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 3, "
     "\"time_scale\": "
     "\".LIFE\"}}}}",
     4, "A B / A B / A / "},
    {"AB", "A>B",
     "{\"termination\": {\"environment_state_update\": null}, \"node_specific\": {\"A\": {\"type\": \"AtPass\", \"n\": 1}}}", 1,
     "- A B"},
    {"AB", "A>B", "{\"node_specific\": {}, \"termination\": {}}", 1, "A B"},
    {"AB", "A>B", "{}", 1, "A B"},
    {"ABC", CHAIN " C~A", "{\"node_specific\": {\"B\": {\"type\": \"Always\"}}}", 2, "A B C / A B C"},
};

static void expect_schedules(const struct schedule_case *cases, size_t n)
{
    char got[2600];

    for (size_t i = 0; i < n; i++) {
        char *model = model_text("", cases[i].nodes, cases[i].edges, cases[i].conditions, NULL);

        run(model, NULL, cases[i].n_calls, got, sizeof got);
        cr_expect(strcmp(got, cases[i].schedule) == 0 || (strstr(cases[i].schedule, "error") != NULL &&
                                                          strstr(got, strstr(cases[i].schedule, "error: ") + 7) != NULL),
                  "case %zu: %s, not %s", i, got, cases[i].schedule);
        mdf_memory_release(&memory, model);
    }
}

Test(scheduler, conditions_may_be_written_in_several_ways)
{
    expect_schedules(spellings, sizeof spellings / sizeof *spellings);
}

/* PsyNeuLink's names: of conditions anywhere, of time scales in its own files. */
Test(scheduler, psyneulink_has_names_of_its_own)
{
    static const char conditions[] =
        "{\"node_specific\": {\"B\": {\"type\": \"AtTrial\", \"args\": {\"n\": 1}}}, \"termination\": {\"TimeScale.TRIAL\": "
        "{\"type\": \"AfterNCalls\", \"args\": {\"dependency\": \"A\", \"n\": 3, \"time_scale\": \"TimeScale.RUN\"}}}}";
    char got[2600], *own = model_text("\"generating_application\": \"psyneulink v0.9\", ", "AB", "A>B", conditions, NULL);
    char *foreign = model_text("", "AB", "A>B", conditions, NULL);

    run(own, NULL, 1, got, sizeof got);
    cr_expect_str_eq(got, "A A A");
    cr_expect_eq(run(foreign, NULL, 1, got, sizeof got), MDF_NAME);
    cr_expect_not_null(
        strstr(got, "there is no time scale 'TimeScale.TRIAL'; did you mean 'TimeScale.ENVIRONMENT_STATE_UPDATE'?"), "%s", got);
    mdf_memory_release(&memory, own);
    mdf_memory_release(&memory, foreign);
}

Test(scheduler, conditions_are_the_same_in_every_format)
{
    static const char conditions[] =
        "{\"node_specific\": {\"A\": {\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": \"2 ms\", \"start\": null}}, \"C\": "
        "{\"type\": \"All\", \"kwargs\": {\"dependencies\": [{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\", "
        "\"n\": 2}}, {\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"v\", \"threshold\": 3.5, "
        "\"comparator\": \">\", \"indices\": [1]}}]}}}, \"termination\": {\"environment_state_update\": {\"type\": "
        "\"TimeTermination\", \"kwargs\": {\"t\": 9, \"inclusive\": false}}}}";
    static const char *const suffixes[] = {"json", "yaml", "bson"};
    char *text = model_text("", "ABC", CHAIN, conditions, NULL), want[2600], got[2600], path[64];
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m", NULL, &error), *again;

    run_model(model, NULL, 2, want, sizeof want, &error);
    cr_assert_eq(error.code, MDF_OK, "%s", want);
    cr_expect_not_null(strstr(want, "C"), "%s", want);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        snprintf(path, sizeof path, "/tmp/mdf_c_schedule_%ld.%s", (long)getpid(), suffixes[i]);
        cr_assert_eq(mdf_model_save_file(model, path, &error), MDF_OK);
        again = mdf_model_load_file(path, &error);
        run_model(again, NULL, 2, got, sizeof got, &error);
        cr_expect_str_eq(got, want, "%s", suffixes[i]);
        mdf_model_free(again);
        remove(path);
    }
    mdf_model_free(model);
    mdf_memory_release(&memory, text);
}

/* ------------------------------------------------------------------ values and times */

#define WATCH(arguments, n) B_IS("{\"type\": \"Threshold\", \"kwargs\": {" arguments "}}", n)
#define EVERY(arguments, n) A_IS("{\"type\": \"TimeInterval\", \"kwargs\": {" arguments "}}", n)
#define UNTIL(t) "{\"termination\": {\"environment_state_update\": {\"type\": \"TimeTermination\", \"kwargs\": {" t "}}}}"
#define TIMED(a, t)                                                            \
    "{\"node_specific\": {\"A\": {\"type\": \"TimeInterval\", \"kwargs\": {" a \
    "}}}, \"termination\": {\"environment_state_update\": "                    \
    "{\"type\": \"TimeTermination\", \"kwargs\": {" t "}}}}"

static const struct schedule_case values[] = {
    {"AB", "A>B",
     WATCH("\"dependency\": \"A\", \"parameter\": \"v\", \"indices\": 1, \"threshold\": 4, \"comparator\": \">=\"", 3), 1,
     "A A B A B"},
    {"AB", "A>B",
     WATCH("\"dependency\": \"A\", \"parameter\": \"v\", \"indices\": [-2], \"threshold\": 2, \"comparator\": \"==\"", 3), 1,
     "A A B A"},
    {"AB", "A>B", WATCH("\"dependency\": \"A\", \"parameter\": \"f\", \"threshold\": 10, \"comparator\": \"<=\"", 3), 1,
     "A B A B A"},
    {"AB", "A>B", WATCH("\"dependency\": \"A\", \"parameter\": \"five\", \"threshold\": 5, \"comparator\": \"==\"", 2), 1,
     "A B A B"},
    {"AB", "A>B",
     WATCH("\"dependency\": \"A\", \"parameter\": \"count\", \"threshold\": 2, \"comparator\": \"!=\", \"atol\": 0.5", 3), 1,
     "A B A A B"},
    {"AB", "A>B",
     WATCH("\"dependency\": \"A\", \"parameter\": \"n\", \"threshold\": 4, \"comparator\": \"==\", \"rtol\": 0.25", 6), 1,
     "A A A B A B A B A"},
    /* An input port that its node has read is 0, as before its first run. */
    {"AB", "A>B",
     A_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"B\", \"parameter\": \"from_A\", \"threshold\": 2, "
          "\"comparator\": "
          "\"<\"}}",
          4),
     1, "A B A B A B A B"},
    /* A parameter before its node's first run: its default_initial_value; without one there is no value. */
    {"AB", "A>B",
     A_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"v\", \"threshold\": 2, \"comparator\": "
          "\"==\", "
          "\"indices\": 1}}",
          2),
     1, "A B -"},
    {"AB", "A>B",
     A_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"bare\", \"threshold\": 2, "
          "\"comparator\": "
          "\"==\"}}",
          2),
     1, "error: 'bare' of node 'A' has no value before the node has run; give it a default_initial_value"},
    {"AB", "A>B",
     A_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"f\", \"threshold\": 0, \"comparator\": "
          "\"==\"}}",
          3),
     1, "A B A B -"},
    {"AB", "A>B", WATCH("\"dependency\": \"A\", \"parameter\": \"v\", \"threshold\": 2, \"comparator\": \"==\"", 2), 1,
     "error: 'v' of node 'A' is not one number that can be compared; say with 'indices' which one"},
    /* Time goes on over evaluations; a pass takes the largest time that divides all repeats. */
    {"AB", "", TIMED("\"repeat\": 2", "\"t\": 3"), 2, "AB AB / "},
    {"ABC", CHAIN, TIMED("\"repeat\": 2, \"unit\": \"s\"", "\"t\": \"5 s\""), 1, "A B C A B C A B"},
    {"A", "", TIMED("\"repeat\": \"0.5 ms\"", "\"t\": 2"), 1, "A A A A"},
    {"A", "", TIMED("\"repeat\": 0.1, \"unit\": \"microseconds\"", "\"t\": \"300 ns\""), 1, "A A A"},
    {"A", "", TIMED("\"repeat\": \"1 minute\"", "\"t\": \"0.05 hours\""), 1, "A A A"},
    {"A", "", TIMED("\"repeat\": \"1e3 us\", \"start\": 2", "\"t\": 5"), 1, "A A A"},
    {"A", "", TIMED("\"repeat\": 1, \"start\": 1, \"end\": 3, \"start_inclusive\": false, \"end_inclusive\": false", "\"t\": 4"),
     1, "- - A -"},
    {"A", "", TIMED("\"repeat\": \"3*ms\"", "\"t\": \"6\", \"inclusive\": false"), 1, "A A A"},
    {"AB", "A>B", UNTIL("\"t\": 3"), 2, " / "},
    {"A", "", TIMED("\"repeat\": \"1 attosecond\"", "\"t\": \"3e-15 ms\""), 1, "A A A"},
    {"A", "",
     "{\"node_specific\": {\"A\": {\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": \"1 attosecond\"}}}, \"termination\": "
     "{\"environment_state_update\": {\"type\": \"TimeTermination\", \"kwargs\": {\"t\": \"1 year\"}}}}",
     1, "error: the times of the conditions are too large and too fine to be counted together exactly"},
};

Test(scheduler, conditions_look_at_values_and_times)
{
    expect_schedules(values, sizeof values / sizeof *values);
}

Test(scheduler, passes_and_times_of_sets_can_be_read)
{
    char *text = model_text("", "AB", "A>B", TIMED("\"repeat\": 4", "\"t\": 5"), NULL);
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m", NULL, &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *state = mdf_state_new(program, &error);

    cr_assert_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK, "%s", error.message);
    cr_expect_eq(mdf_schedule_n_sets(state), (size_t)3);
    cr_expect_eq(mdf_schedule_pass(state, 1), (uint64_t)0);
    cr_expect_eq(mdf_schedule_pass(state, 2), (uint64_t)1);
    cr_expect_eq(mdf_schedule_time_ms(state, 1), 2.0);
    cr_expect_eq(mdf_schedule_time_ms(state, 2), 4.0);
    cr_expect(isnan(mdf_schedule_time_ms(state, 3)));
    cr_expect_eq(mdf_schedule_set_size(state, 3), (size_t)0);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    mdf_memory_release(&memory, text);
}

/* ------------------------------------------------------------------ what is refused, or warned of */

struct message_case {
    const char *conditions, *message;
};

static const struct message_case refused[] = {
    {B_IS("{\"type\": \"EveryNCall\", \"kwargs\": {}}", 1),
     "condition of node 'B': unknown condition 'EveryNCall'; did you mean 'EveryNCalls'?"},
    {B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\"}}", 1), "EveryNCalls: the argument 'n' is missing"},
    {B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": \"2\"}}", 1),
     "EveryNCalls: 'n' must be a number, not a string"},
    {B_IS("{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"AA\", \"n\": 2}}", 1),
     "EveryNCalls: the graph has no node 'AA'"},
    {B_IS("{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scal\": 2}}", 1),
     "AfterPass: the condition has no argument 'time_scal'; did you mean 'time_scale'?"},
    {B_IS("{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scale\": \"LIFE\"}}", 1),
     "there is no time scale 'LIFE'; did you mean 'TimeScale.LIFE'?"},
    {B_IS("{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scale\": \"TimeScale.LIVE\"}}", 1),
     "did you mean 'TimeScale.LIFE'?"},
    {B_IS("{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 1, \"time_scale\": 3}}", 1),
     "'time_scale' must be a string like \"TimeScale.LIFE\""},
    {B_IS("{\"type\": \"AfterPass\", \"args\": [1, \"TimeScale.LIFE\", 3]}", 1), "more arguments than the condition has"},
    {B_IS("{\"type\": \"AtConsiderationSetExecution\", \"kwargs\": {\"n\": 1, \"time_scale\": \"TimeScale.PASS\"}}", 1),
     "not counted within a pass"},
    {B_IS("{\"type\": \"EveryNPasses\", \"kwargs\": {\"n\": 0}}", 1), "EveryNPasses: 'n' must not be 0"},
    {B_IS("{\"type\": \"Always\", \"kwargs\": [1]}", 1), "the 'kwargs' of a condition are an object"},
    {B_IS("{\"type\": \"Always\", \"args\": \"A\"}", 1), "the 'args' of a condition are an object {name: value}, or a list"},
    {B_IS("{\"typ\": \"Always\"}", 1), "a condition is an object with a 'type' and its 'kwargs', not an object without a 'type'"},
    {B_IS("3", 1), "a condition is an object with a 'type'"},
    {B_IS("{\"type\": \"Not\", \"kwargs\": {\"condition\": \"A\"}}", 1), "Not: 'condition' must be a condition, not a string"},
    {B_IS("{\"type\": \"All\", \"kwargs\": {\"dependencies\": \"A\"}}", 1), "All"},
    {B_IS("{\"type\": \"All\", \"kwargs\": {\"dependencies\": [\"A\"]}}", 1), "a condition is an object"},
    {B_IS("{\"type\": \"While\", \"kwargs\": {\"func\": \"f\"}}", 1), "a function of Python, which a model file can not hold"},
    {B_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"coun\", \"threshold\": 1, "
          "\"comparator\": \"<\"}}",
          1),
     "node 'A' has no port, parameter or function 'coun'; did you mean 'count'?"},
    {B_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"n\", \"threshold\": 1, \"comparator\": "
          "\"=<\"}}",
          1),
     "'comparator' must be one of <, <=, ==, !=, >, >="},
    {B_IS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"n\", \"threshold\": 1, \"comparator\": "
          "\"<\", \"indices\": [0.5]}}",
          1),
     "'indices' must be whole numbers"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {}}", 1), "one of 'repeat', 'start' and 'end' must be given"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": 0}}", 1), "'repeat' must be positive"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {\"start\": 3, \"end\": \"2 ms\"}}", 1), "'start' is later than 'end'"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": \"2 parsec\"}}", 1),
     "'repeat', 2 parsec, can not be read as a time: the unit"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": \"1..2 ms\"}}", 1), "the number is malformed"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": 2, \"unit\": \"m\"}}", 1), "'unit', m, is not a unit of time"},
    {B_IS("{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": 2, \"end_inclusive\": 1}}", 1),
     "'end_inclusive' must be true or false"},
    {B_IS("{\"type\": \"WithNode\", \"kwargs\": {\"node\": \"B\"}}", 1), "the node can not be placed beside itself"},
    {B_IS("{\"type\": \"BeforeNode\", \"kwargs\": {\"nodes\": [\"A\", \"C\"]}}", 1), "'node' must name one node"},
    {B_IS("{\"type\": \"BeforeNode\", \"kwargs\": {\"node\": \"C\", \"owner_senders\": \"MERG\"}}", 1),
     "must be an operation on sets of nodes: MERGE"},
    {B_IS("{\"type\": \"AfterNodes\", \"kwargs\": {\"nodes\": [\"A\", \"C\"], \"subject_senders\": {\"A\": \"KEEP\"}}}", 1),
     "has no operation for node 'C'"},
    {B_IS("{\"type\": \"All\", \"kwargs\": {\"args\": [{\"type\": \"AddEdgeTo\", \"kwargs\": {\"node\": \"C\"}}]}}", 1),
     "it can not be part of another condition"},
    {"{\"node_specific\": {\"D\": {\"type\": \"Always\"}}}", "condition of node 'D': the graph has no node 'D'"},
    {"{\"node_specific\": [1]}", "'node_specific' must be an object, not a list"},
    {"{\"termination\": {\"environment_state_updat\": {\"type\": \"Always\"}}}",
     "did you mean 'TimeScale.ENVIRONMENT_STATE_UPDATE'?"},
    {"{\"termination\": {\"environment_state_update\": {\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": "
     "1}}}}",
     "use AfterNCalls"},
    {"{\"termination\": {\"environment_state_update\": {\"type\": \"AddEdgeTo\", \"kwargs\": {\"node\": \"A\"}}}}",
     "it can not end an evaluation"},
    {NODE_IS("C", "{\"type\": \"AddEdgeTo\", \"kwargs\": {\"node\": \"A\"}}"), "take back the condition that closes it"},
    {A_IS("{\"type\": \"JustRan\", \"kwargs\": {\"dependency\": \"C\"}}", 1),
     "condition of node 'A': JustRan looks at the last execution set before there is any"},
};

Test(scheduler, mistakes_are_refused_with_their_place)
{
    char got[2600];

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        char *model = model_text("", "ABC", CHAIN, refused[i].conditions, NULL);

        cr_expect_neq(run(model, NULL, 1, got, sizeof got), MDF_OK, "case %zu", i);
        cr_expect(strstr(got, refused[i].message) != NULL && strncmp(got, "m.json:1:", 9) == 0, "case %zu: %s", i, got);
        mdf_memory_release(&memory, model);
    }
}

static const struct message_case warned[] = {
    {"{\"termination\": {\"pass\": {\"type\": \"Always\"}}}", "no evaluation ends by this"},
    {"{\"node_specifi\": {}, \"termination\": {\"environment_state_update\": {\"type\": \"AfterPass\", \"n\": 0}}}",
     "'node_specifi' is ignored"},
    {B_IS("[{\"type\": \"Always\"}, {\"type\": \"Always\"}]", 1), "the node has two conditions; the last one is taken"},
    {B_IS("{\"type\": \"RemoveEdgeFrom\", \"kwargs\": {\"node\": \"C\"}}", 1), "node 'B' does not wait for 'C'"},
    {WATCH("\"dependency\": \"A\", \"parameter\": \"n\", \"threshold\": 1, \"comparator\": \"<\", \"atol\": 1", 1),
     "tolerances are ignored"},
};

Test(scheduler, what_changes_nothing_is_warned_of)
{
    char got[2600];

    for (size_t i = 0; i < sizeof warned / sizeof *warned; i++) {
        char *model = model_text("", "ABC", CHAIN, warned[i].conditions, NULL);
        struct warnings warnings = {""};
        const mdf_options options = {.warning = note_warning, .warning_context = &warnings};

        cr_expect_eq(run(model, &options, 1, got, sizeof got), MDF_OK, "case %zu: %s", i, got);
        cr_expect_not_null(strstr(warnings.text, warned[i].message), "case %zu: %s", i, warnings.text);
        mdf_memory_release(&memory, model);
    }
}

/* ------------------------------------------------------------------ what never ends */

struct endless_case {
    const char *conditions;
    size_t n_calls; /* in the last of which it shows */
    const char *message;
};

static const struct endless_case endless[] = {
    /* Seen before anything runs. */
    {NODE_IS("B", "{\"type\": \"Never\"}"), 1,
     "the schedule can never end: its termination can not hold (by their conditions these nodes never run: 'B', 'C')"},
    {NODE_IS("B", "{\"type\": \"BeforePass\", \"n\": 0}"), 1, "the schedule can never end"},
    {NODE_IS("A", "{\"type\": \"EveryNCalls\", \"kwargs\": {\"dependency\": \"C\", \"n\": 1}}"), 1, "never run: 'A', 'B', 'C'"},
    {NODE_IS("B", "{\"type\": \"Not\", \"kwargs\": {\"condition\": {\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": "
                  "\"C\", \"n\": 0}}}}"),
     1, "can never end"},
    {"{\"termination\": {\"environment_state_update\": {\"type\": \"Never\"}}}", 1,
     "termination 'environment_state_update': the schedule can never end"},
    {"{\"termination\": {\"environment_state_update\": {\"type\": \"AtNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 1, "
     "\"time_scale\": \".PASS\"}}}, "
     "\"node_specific\": {\"A\": {\"type\": \"Never\"}}}",
     1, "can never end"},
    /* Seen when a pass leaves everything as it was. */
    {NODE_IS("B", "{\"type\": \"NWhen\", \"kwargs\": {\"condition\": {\"type\": \"Always\"}}}"), 2, "has not ended after"},
    {"{\"node_specific\": {\"A\": {\"type\": \"NWhen\", \"kwargs\": {\"condition\": {\"type\": \"Always\"}, \"n\": 1}}}}", 2,
     "the evaluation can never end: after pass 0 no node can run any more, and the termination does not hold (not run: 'A', 'B', "
     "'C')"},
    {"{\"node_specific\": {\"A\": {\"type\": \"BeforePass\", \"n\": 3}}, \"termination\": {\"environment_state_update\": "
     "{\"type\": \"AfterNCalls\", "
     "\"kwargs\": {\"dependency\": \"C\", \"n\": 4}}}}",
     1, "after pass 4 no node can run any more"},
    {"{\"node_specific\": {\"A\": {\"type\": \"All\", \"args\": [{\"type\": \"EveryNPasses\", \"n\": 6}, {\"type\": "
     "\"EveryNPasses\", \"n\": 4}, {\"type\": "
     "\"AtPass\", \"n\": 7}]}}}",
     1, "no node can run any more"},
    {"{\"node_specific\": {\"A\": {\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": 2, \"end\": 5}}}, \"termination\": "
     "{\"environment_state_update\": {\"type\": "
     "\"AfterNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 9}}}}",
     1, "no node can run any more"},
    {NODE_IS("A", "{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"C\", \"parameter\": \"n\", \"threshold\": 1, "
                  "\"comparator\": \">\"}}"),
     1, "no node can run any more"},
    {"{\"node_specific\": {\"A\": {\"type\": \"AtPass\", \"n\": 0}, \"B\": {\"type\": \"JustRan\", \"kwargs\": {\"dependency\": "
     "\"C\"}}}}",
     1, "can never end"},
    /* Left to the bound. */
    {NODE_IS("C",
             "{\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 2, \"time_scale\": \"TimeScale.PASS\"}}"),
     1, "the evaluation has not ended after 40 passes; allow more of them (--max-passes)"},
    {"{\"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"n\": 41}}}", 1,
     "has not ended after 40 passes"},
};

Test(scheduler, what_never_ends_is_told)
{
    const mdf_options options = {.max_passes = 40};
    char got[2600];

    for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
        char *model = model_text("", "ABC", CHAIN, endless[i].conditions, NULL);

        cr_expect(endless[i].n_calls == 1 || run(model, &options, endless[i].n_calls - 1, got, sizeof got) == MDF_OK,
                  "case %zu: %s", i, got);
        cr_expect_neq(run(model, &options, endless[i].n_calls, got, sizeof got), MDF_OK, "case %zu: %s", i, got);
        cr_expect_not_null(strstr(got, endless[i].message), "case %zu: %s", i, got);
        mdf_memory_release(&memory, model);
    }
}

/* Waiting long is not waiting for ever. */
static const struct schedule_case patient[] = {
    {"AB", "A>B", A_IS("{\"type\": \"AtPass\", \"n\": 5}", 6), 1, "- - - - - A B"},
    {"AB", "A>B",
     NODE_IS("A", "{\"type\": \"All\", \"args\": [{\"type\": \"EveryNPasses\", \"n\": 3}, {\"type\": \"AfterPass\", \"n\": 4}]}"),
     1, "- - - - - - A B"},
    {"AB", "A>B",
     NODE_IS("A", "{\"type\": \"All\", \"args\": [{\"type\": \"EveryNPasses\", \"kwargs\": {\"n\": 2.5, \"time_scale\": "
                  "\".LIFE\"}}, {\"type\": "
                  "\"AfterPass\", \"n\": 3}]}"),
     1, "- - - - - A B"},
    {"AB", "A>B", NODE_IS("A", "{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 3, \"time_scale\": \"TimeScale.LIFE\"}}"), 2,
     "- - - - A B / A B"},
    {"A", "",
     NODE_IS("A", "{\"type\": \"All\", \"args\": [{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": 6}}, {\"type\": "
                  "\"TimeInterval\", \"kwargs\": "
                  "{\"repeat\": 4}}, {\"type\": \"Not\", \"kwargs\": {\"condition\": {\"type\": \"AtPass\", \"n\": 0}}}]}"),
     1, "- - - - - - A"},
    {"A", "",
     NODE_IS("A",
             "{\"type\": \"NWhen\", \"kwargs\": {\"condition\": {\"type\": \"AfterNConsiderationSetExecutions\", \"n\": 4}}}"),
     1, "- - - - A"},
    {"A", "",
     "{\"node_specific\": {\"A\": {\"type\": \"Never\"}}, \"termination\": {\"environment_state_update\": {\"type\": \"Not\", "
     "\"kwargs\": {\"condition\": "
     "{\"type\": \"NWhen\", \"kwargs\": {\"condition\": {\"type\": \"Always\"}, \"n\": 7}}}}}}",
     1, "- - - -"},
};

Test(scheduler, waiting_long_is_not_waiting_for_ever)
{
    expect_schedules(patient, sizeof patient / sizeof *patient);
}

/* ------------------------------------------------------------------ stopping */

/* Runs A for ever: C would need two runs of A in one pass. */
static const char busy[] = "{\"node_specific\": {\"C\": {\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": "
                           "2, \"time_scale\": \".PASS\"}}}}";

static void *interrupt_soon(void *state)
{
    usleep(20000);
    mdf_state_interrupt(state);
    return NULL;
}

Test(scheduler, an_endless_evaluation_can_be_interrupted)
{
    char *text = model_text("", "ABC", CHAIN, busy, NULL);
    const mdf_options options = {.max_passes = UINT64_MAX};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m", NULL, &error);
    mdf_program *program = mdf_compile(model, &options, &error);
    mdf_state *state = mdf_state_new(program, &error);
    pthread_t thread;

    cr_assert_not_null(state, "%s", error.message);
    pthread_create(&thread, NULL, interrupt_soon, state);
    cr_expect_eq(mdf_evaluate(state, (double)NAN, &error), MDF_INTERRUPTED);
    pthread_join(thread, NULL);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    mdf_memory_release(&memory, text);
}

Test(scheduler, the_bound_on_memory_ends_an_endless_evaluation)
{
    char *text = model_text("", "ABC", CHAIN, busy, NULL), got[2600];
    const mdf_options options = {.max_passes = UINT64_MAX, .max_memory_bytes = 1000000};

    cr_expect_eq(run(text, &options, 1, got, sizeof got), MDF_LIMIT, "%s", got);
    mdf_memory_release(&memory, text);
}

/* ------------------------------------------------------------------ memory */

static const char *const rich[] = {
    "{\"node_specific\": {\"A\": [{\"type\": \"AfterNode\", \"kwargs\": {\"node\": \"C\"}}, {\"type\": \"TimeInterval\", "
    "\"kwargs\": {\"repeat\": \"2 ms\"}}], "
    "\"B\": {\"type\": \"All\", \"args\": [{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"C\", \"parameter\": \"v\", "
    "\"indices\": [0], \"threshold\": 0, "
    "\"comparator\": \">=\"}}, {\"type\": \"WhenFinishedAny\"}, {\"type\": \"NWhen\", \"kwargs\": {\"condition\": {\"type\": "
    "\"AllHaveRun\", \"args\": "
    "[\"C\", \"A\"]}}}]}}, \"termination\": {\"environment_state_update\": {\"type\": \"AfterNPasses\", \"n\": 3}}}",
    "{\"node_specific\": {\"B\": {\"type\": \"AfterNodes\", \"kwargs\": {\"nodes\": [\"A\", \"C\"], \"ignore_conflicts\": "
    "true}}}}",
};

/* Whichever allocation fails, the error says so and all memory is given back. */
Test(scheduler, a_failing_allocation_is_an_error_like_any_other)
{
    char got[2600];

    for (size_t i = 0; i < sizeof rich / sizeof *rich; i++) {
        char *text = model_text("", "ABC", CHAIN, rich[i], NULL);
        mdf_status status = MDF_OUT_OF_MEMORY;

        cr_assert_eq(run(text, NULL, 2, got, sizeof got), MDF_OK, "model %zu: %s", i, got);
        for (size_t n = 1; status != MDF_OK; n++) {
            struct counter counter = {.fail_at = n};
            mdf_allocator allocator = failing_allocator(&counter);
            mdf_options options = {.allocator = &allocator};

            status = run(text, &options, 2, got, sizeof got);
            cr_assert(status == MDF_OK || status == MDF_OUT_OF_MEMORY, "model %zu, allocation %zu: %s", i, n, got);
            cr_assert_eq(counter.n_blocks, (size_t)0, "model %zu, allocation %zu leaks", i, n);
        }
        mdf_memory_release(&memory, text);
    }
}

Test(scheduler, steady_evaluations_allocate_nothing)
{
    char *text = model_text("", "ABC", CHAIN, rich[0], NULL);
    struct counter counter = {0};
    mdf_allocator allocator = failing_allocator(&counter);
    mdf_options options = {.allocator = &allocator};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(text, strlen(text), "json", "m", &options, &error);
    mdf_program *program = mdf_compile(model, &options, &error);
    mdf_state *state = mdf_state_new(program, &error);
    size_t before = 0;

    for (int i = 0; i < 12; i++) {
        before = i == 4 ? counter.n_calls : before;
        cr_assert_eq(mdf_evaluate(state, (double)NAN, &error), MDF_OK, "%s", error.message);
    }
    cr_expect_eq(counter.n_calls, before);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    mdf_memory_release(&memory, text);
}

/* ------------------------------------------------------------------ fractions */

Test(scheduler, fractions_are_exact_or_refused)
{
    static const struct {
        const char *text;
        int64_t numerator, denominator; /* denominator 0: refused */
    } cases[] = {{"12", 12, 1},
                 {"-0.5", -1, 2},
                 {"1e-3", 1, 1000},
                 {"2.50E2", 250, 1},
                 {".125", 1, 8},
                 {"+3.", 3, 1},
                 {"0e999", 0, 1},
                 {"1e19", 0, 0},
                 {"9223372036854775807", INT64_MAX, 1},
                 {"9223372036854775808", 0, 0},
                 {"", 0, 0},
                 {".", 0, 0},
                 {"1e", 0, 0},
                 {"1x", 0, 0},
                 {"--1", 0, 0},
                 {"1e-19", 0, 0}};
    struct mdf_rational a, b = {1, 6}, result;
    int64_t count;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool done = mdf_rational_parse(cases[i].text, strlen(cases[i].text), &a);

        cr_expect_eq(done, cases[i].denominator != 0, "'%s'", cases[i].text);
        cr_expect(!done || (a.numerator == cases[i].numerator && a.denominator == cases[i].denominator), "'%s'", cases[i].text);
    }
    a = (struct mdf_rational){3, 4};
    cr_expect(mdf_rational_gcd(a, b, &result) && result.numerator == 1 && result.denominator == 12);
    cr_expect(mdf_rational_count(a, result, &count) && count == 9);
    cr_expect_not(mdf_rational_count(a, b, &count));
    a = (struct mdf_rational){INT64_MAX, 2};
    b = (struct mdf_rational){INT64_MAX, 3};
    cr_expect_not(mdf_rational_multiply(a, b, &result));
    cr_expect_not(mdf_rational_make(1, 0, &result));
}
