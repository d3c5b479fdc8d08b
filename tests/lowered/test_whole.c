/* test_whole.c - a whole evaluation as one program, and evaluations in a row, give what node by node gives, bit for bit: random
 * graphs, random conditions, inputs, errors, interruptions, memory that is refused. */
#include "mdf_c/base/text.h"
#include "mdf_c/run/state.h"
#include "mdf_c/values/values.h"
#include "tests/support/engine.h"
#include "tests/support/failing_allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct mdf_memory memory;

/* ------------------------------------------------------------------ random models */

static uint64_t random_state;

static unsigned draw(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* clang-format off */
static const char *const values[] = {"p + 1", "p * 0.5 + x", "x - p / 3", "p + x if x < 4 else p - 2", "math.sin(p) + x", "max(p, x)",
                                     "p + y * 2", "(p + 3) * (x - 1)", "-p", "p + t * 0.25", "1 / (p - 17)", "abs(x - p)", "x > p", "x"};
/* clang-format on */
static const char *const arrays[] = {"p * 0.5 + x", "numpy.tanh(p) + y", "p + numpy.array([1.0, 2.0, 3.0])",
                                     "numpy.where(p > x, p - 1.0, x)"};
static const char *const initials[] = {"0", "1.5", "-2", "3"};
static const char *const reductions[] = {"", ", \"reduce\": \"add\"", ", \"reduce\": \"multiply\""};

static void add_node(struct mdf_text *text, unsigned number, bool has_arrays)
{
    bool is_array = has_arrays && draw(3) == 0;

    mdf_text_printf(text, "%s\"N%u\": {\"input_ports\": {\"x\": {\"default_value\": %u%s}, \"y\": {%s}}, \"parameters\": {",
                    number > 0 ? ", " : "", number, draw(4), reductions[draw(3)], draw(2) ? "\"default_value\": 0.5" : "");
    mdf_text_printf(text, "\"t\": {\"default_initial_value\": 0.0, \"time_derivative\": \"1.5\"}, \"p\": {\"value\": \"%s\", ",
                    is_array ? arrays[draw(4)] : values[draw(sizeof values / sizeof *values)]);
    mdf_text_printf(text, "\"default_initial_value\": %s%s}", is_array ? "[0.5, -1.0, 2.0]" : initials[draw(4)],
                    draw(4) == 0 ? ", \"conditions\": [{\"id\": \"c\", \"test\": \"t > 0.05\", \"value\": \"p * 0.25\"}]" : "");
    mdf_text_printf(text, "}, \"output_ports\": {\"o\": {\"value\": \"p\"}, \"q\": {\"value\": \"p * 2 + t\"}%s}}",
                    draw(3) == 0 ? ", \"is_finished\": {\"value\": \"t > 0.04\"}" : "");
}

static void add_edges(struct mdf_text *text, unsigned n_nodes)
{
    unsigned n = draw(2 * n_nodes), i;

    for (i = 0; i < n; i++) {
        mdf_text_printf(text,
                        "%s\"e%u\": {\"sender\": \"N%u\", \"sender_port\": \"%s\", \"receiver\": \"N%u\", "
                        "\"receiver_port\": \"%s\"%s}",
                        i > 0 ? ", " : "", i, draw(n_nodes), draw(2) ? "o" : "q", draw(n_nodes), draw(2) ? "x" : "y",
                        draw(3) == 0 ? ", \"parameters\": {\"weight\": 0.5}" : "");
    }
}

static void add_condition(struct mdf_text *text, unsigned n_nodes, int depth)
{
    static const char *const own[] = {"Always", "AtPass", "AfterPass", "EveryNPasses", "BeforePass", "AfterNPasses", "AtNCalls"};
    static const char *const on_node[] = {"EveryNCalls", "AfterNCalls", "AfterCall", "AtNCalls", "BeforeNCalls"};
    static const char *const parts[] = {"All", "Any"};
    static const char *const limits[] = {"0", "0.03", "0.045", "2"}; /* t grows by 0.015 */
    static const char *const comparators[] = {"<", "<=", "==", "!=", ">", ">="};
    static const char *const tolerances[] = {"", ", \"atol\": 0.02", ", \"rtol\": 0.5", ", \"atol\": 0.001, \"rtol\": 0.25",
                                             ", \"rtol\": 1e999"};

    switch (depth < 2 ? draw(10) : draw(5)) {
    case 0:
        mdf_text_printf(text, "{\"type\": \"Always\", \"kwargs\": {}}");
        break;
    case 1:
        mdf_text_printf(text, "{\"type\": \"%s\", \"kwargs\": {\"n\": %u}}", own[1 + draw(5)], 1 + draw(3));
        break;
    case 2:
    case 3:
        mdf_text_printf(text, "{\"type\": \"%s\", \"kwargs\": {\"dependency\": \"N%u\", \"n\": %u}}", on_node[draw(5)],
                        draw(n_nodes), 1 + draw(3));
        break;
    case 4:
        mdf_text_printf(text,
                        "{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"N%u\", \"parameter\": \"t\", \"threshold\": "
                        "%s, \"comparator\": \"%s\"%s}}",
                        draw(n_nodes), limits[draw(4)], comparators[draw(6)], tolerances[draw(5)]);
        break;
    case 5:
        mdf_text_printf(text, "{\"type\": \"JustRan\", \"kwargs\": {\"dependency\": \"N%u\"}}", draw(n_nodes));
        break;
    case 6:
        mdf_text_printf(text, "{\"type\": \"Not\", \"kwargs\": {\"condition\": ");
        add_condition(text, n_nodes, depth + 1);
        mdf_text_printf(text, "}}");
        break;
    case 7:
        mdf_text_printf(text, "{\"type\": \"NWhen\", \"kwargs\": {\"n\": %u, \"condition\": ", 1 + draw(20));
        add_condition(text, n_nodes, depth + 1);
        mdf_text_printf(text, "}}");
        break;
    case 8:
        mdf_text_append_string(text, "{\"type\": \"");
        if (draw(3) == 0) {
            mdf_text_printf(text, "WhenFinished\", \"kwargs\": {\"dependency\": \"N%u\"}}", draw(n_nodes));
        } else {
            mdf_text_printf(text, "WhenFinished%s\", \"kwargs\": {\"dependencies\": [\"N%u\", \"N0\"]}}", draw(2) ? "Any" : "All",
                            draw(n_nodes));
        }
        break;
    default:
        mdf_text_printf(text, "{\"type\": \"%s\", \"kwargs\": {\"args\": [", parts[draw(2)]);
        add_condition(text, n_nodes, depth + 1);
        mdf_text_printf(text, ", ");
        add_condition(text, n_nodes, depth + 1);
        mdf_text_printf(text, "]}}");
    }
}

static void add_conditions(struct mdf_text *text, unsigned n_nodes)
{
    bool is_first = true;
    unsigned i;

    mdf_text_printf(text, "\"conditions\": {\"node_specific\": {");
    for (i = 0; i < n_nodes; i++) {
        if (draw(4) > 0) {
            mdf_text_printf(text, "%s\"N%u\": ", is_first ? "" : ", ", i);
            add_condition(text, n_nodes, 0);
            is_first = false;
        }
    }
    mdf_text_printf(text, "}, \"termination\": {\"environment_state_update\": {\"type\": \"Any\", \"kwargs\": {\"args\": [");
    mdf_text_printf(text, "{\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"N%u\", \"n\": %u}}, ", draw(n_nodes),
                    1 + draw(4));
    mdf_text_printf(text, "{\"type\": \"AfterPass\", \"kwargs\": {\"n\": %u}}]}}}}, ", 2 + draw(12));
}

static void make_model(struct mdf_text *text, uint64_t seed, bool has_conditions)
{
    unsigned n_nodes, i;
    bool has_arrays;

    random_state = seed * 977 + 13;
    n_nodes = 1 + draw(5);
    has_arrays = draw(3) == 0;
    text->length = 0;
    mdf_text_printf(text, "{\"m\": {\"graphs\": {\"g\": {");
    if (has_conditions) {
        add_conditions(text, n_nodes);
    }
    mdf_text_printf(text, "\"nodes\": {");
    for (i = 0; i < n_nodes; i++) {
        add_node(text, i, has_arrays);
    }
    mdf_text_printf(text, "}, \"edges\": {");
    add_edges(text, n_nodes);
    mdf_text_printf(text, "}}}}}");
}

/* ------------------------------------------------------------------ running both ways */

/* False: the model is at fault. */
static bool begin(struct engine *engine, const char *text, bool plain, const mdf_allocator *allocator)
{
    mdf_options options = {.plain = plain, .max_passes = 500, .allocator = allocator};

    return engine_begin(engine, text, &options);
}

/* Whether a node ran in the last evaluation. */
static bool has_run_now(const mdf_state *state, size_t node)
{
    for (size_t set = 0; set < mdf_schedule_n_sets(state); set++) {
        for (size_t i = 0; i < mdf_schedule_set_size(state, set); i++) {
            if (mdf_schedule_node(state, set, i) == node) {
                return true;
            }
        }
    }
    return false;
}

/* All that can be looked at after an evaluation. (In the ports of a node that did not run lies what it read last, or what it
 * would have read.) */
static void describe(struct engine *engine, mdf_status status, struct mdf_text *text)
{
    size_t set, i, j;

    text->length = 0;
    mdf_text_printf(text, "%d %s %s\n", (int)status, status != MDF_OK ? engine->error.message : "",
                    status != MDF_OK ? engine->error.path : "");
    for (i = 0; i < mdf_program_n_nodes(engine->program); i++) {
        for (j = 0; j < mdf_program_n_outputs(engine->program, i); j++) {
            mdf_write_json_value(text, mdf_output_at(engine->state, i, j), true, NULL);
        }
        for (j = 0; j < mdf_program_n_parts(engine->program, i, MDF_PART_INPUT); j++) {
            const mdf_value *value = mdf_part_at(engine->state, i, MDF_PART_INPUT, j, 0);

            if (value != NULL && has_run_now(engine->state, i)) {
                mdf_write_json_value(text, value, true, NULL);
            }
        }
        mdf_text_append_string(text, "\n");
    }
    for (set = 0; set < mdf_schedule_n_sets(engine->state); set++) {
        mdf_text_printf(text, "[");
        for (i = 0; i < mdf_schedule_set_size(engine->state, set); i++) {
            mdf_text_printf(text, " %zu", mdf_schedule_node(engine->state, set, i));
        }
        mdf_text_printf(text, "]");
    }
    mdf_text_append_string(text, ""); /* terminated */
}

static mdf_status evaluate(struct engine *engine, double dt, struct mdf_text *text)
{
    mdf_status status;

    memset(&engine->error, 0, sizeof engine->error);
    status = mdf_evaluate(engine->state, dt, &engine->error);
    describe(engine, status, text);
    return status;
}

struct pair {
    struct engine plain, whole;
    struct mdf_text want, got;
};

static bool begin_pair(struct pair *pair, const char *text)
{
    mdf_text_init(&pair->want, &memory);
    mdf_text_init(&pair->got, &memory);
    if (!begin(&pair->plain, text, true, NULL)) {
        engine_end(&pair->plain);
        return false;
    }
    cr_assert(begin(&pair->whole, text, false, NULL));
    return true;
}

static void end_pair(struct pair *pair)
{
    engine_end(&pair->plain);
    engine_end(&pair->whole);
    mdf_text_release(&pair->want);
    mdf_text_release(&pair->got);
}

/* One evaluation each way, sometimes with an input. */
static void step_both(struct pair *pair, int step, bool with_inputs, const char *text)
{
    double dt = step == 0 ? (double)NAN : 0.01;

    if (with_inputs && step % 4 == 3) {
        mdf_set_input_json(pair->plain.state, "N0.x", step % 8 == 3 ? "2.5" : "7", NULL);
        mdf_set_input_json(pair->whole.state, "N0.x", step % 8 == 3 ? "2.5" : "7", NULL);
    }
    evaluate(&pair->plain, dt, &pair->want);
    evaluate(&pair->whole, dt, &pair->got);
    cr_assert_str_eq(pair->got.bytes, pair->want.bytes, "%s, step %d", text, step);
}

/* Evaluations in a row on one side, one by one on the other. */
static void many_both(struct pair *pair, uint64_t n, const char *text)
{
    uint64_t n_done, n_recorded, i;
    mdf_status status = MDF_OK;

    for (i = 0; i < n && status == MDF_OK; i++) {
        status = evaluate(&pair->plain, 0.01, &pair->want);
    }
    memset(&pair->whole.error, 0, sizeof pair->whole.error);
    status = mdf_evaluate_steps(pair->whole.state, n, 0.01, 0.01, 0, NULL, 0, &n_done, &n_recorded, &pair->whole.error);
    describe(&pair->whole, status, &pair->got);
    cr_assert_str_eq(pair->got.bytes, pair->want.bytes, "%s", text);
    cr_expect_eq(n_done, status == MDF_OK ? n : i - 1);
}

/* The number of outputs that are numbers: records of them, of so many steps. */
static size_t make_records(const struct engine *engine, uint64_t n, mdf_record *records, size_t most)
{
    size_t n_records = 0, i, j;

    for (i = 0; i < mdf_program_n_nodes(engine->program); i++) {
        for (j = 0; j < mdf_program_n_outputs(engine->program, i) && n_records < most; j++) {
            mdf_tensor tensor;

            if (mdf_value_tensor(mdf_output_at(engine->state, i, j), &tensor) && tensor.dtype != MDF_DTYPE_STRING) {
                records[n_records++] =
                    (mdf_record){.node = i,
                                 .output = j,
                                 .dtype = tensor.dtype,
                                 .rank = tensor.rank,
                                 .shape = tensor.shape,
                                 .size_bytes = mdf_dtype_size(tensor.dtype) * mdf_output_at(engine->state, i, j)->length};
            }
        }
    }
    for (i = 0; i < n_records; i++) {
        records[i].data = calloc(n, records[i].size_bytes);
    }
    return n_records;
}

/* Evaluations in a row that are written down, each with an input of its own (or none): on one side as a loop, on the other one by
 * one. */
static void series_both(struct pair *pair, bool has_input, const char *text)
{
    enum { N = 330, MOST = 16 };
    struct engine *engines[] = {&pair->plain, &pair->whole};
    struct mdf_text *texts[] = {&pair->want, &pair->got};
    uint64_t n_done[2], n_recorded[2];
    mdf_record records[2][MOST];
    double given[N];
    mdf_series series = {"N0.x", {MDF_DTYPE_FLOAT64, 0, NULL, given}, sizeof(double)};
    size_t n[2], i;

    for (i = 0; i < N; i++) {
        given[i] = draw(9) * 0.75 - 2;
    }
    for (int side = 0; side < 2; side++) {
        mdf_status status;

        n[side] = make_records(engines[side], N, records[side], MOST);
        memset(&engines[side]->error, 0, sizeof engines[side]->error);
        status = mdf_evaluate_series(engines[side]->state, &series, has_input, N, 0.01, 0.01, 0, records[side], n[side],
                                     &n_done[side], &n_recorded[side], &engines[side]->error);
        describe(engines[side], status, texts[side]);
    }
    cr_assert_str_eq(pair->got.bytes, pair->want.bytes, "%s", text);
    cr_assert(n[0] == n[1] && n_done[0] == n_done[1] && n_recorded[0] == n_recorded[1], "%s", text);
    for (i = 0; i < n[0]; i++) {
        cr_assert(memcmp(records[0][i].data, records[1][i].data, n_recorded[0] * records[0][i].size_bytes) == 0, "%s", text);
        free(records[0][i].data);
        free(records[1][i].data);
    }
}

static bool ran_series(const struct pair *pair)
{
    const struct mdf_fast *form = mdf_whole_series_form(pair->whole.state->whole);

    return form != NULL && form->n_runs > 0;
}

/* How many of so many random models run as one program, and as a loop of it. */
static void compare_random(uint64_t n, bool has_conditions, unsigned least)
{
    unsigned n_whole = 0, n_many = 0, n_series = 0;
    struct mdf_text model;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&model, &memory);
    for (uint64_t seed = 0; seed < n; seed++) {
        struct pair pair;

        make_model(&model, seed, has_conditions);
        if (!begin_pair(&pair, model.bytes)) {
            continue;
        }
        for (int step = 0; step < 10; step++) {
            step_both(&pair, step, seed % 3 == 1, model.bytes);
        }
        many_both(&pair, 37, model.bytes);
        for (int step = 1; step < 4; step++) {
            step_both(&pair, step, false, model.bytes);
        }
        n_whole += pair.whole.state->whole->single.fast.lowered != NULL;
        n_many += pair.whole.state->whole->many.fast.lowered != NULL;
        pair.whole.state->whole->fewest_in_series = 300;
        series_both(&pair, !has_conditions && seed % 2 == 0, model.bytes);
        n_series += ran_series(&pair);
        many_both(&pair, 9, model.bytes);
        series_both(&pair, false, model.bytes);
        cr_assert_eq(mdf_state_reset(pair.plain.state, 1, NULL), MDF_OK);
        cr_assert_eq(mdf_state_reset(pair.whole.state, 1, NULL), MDF_OK);
        for (int step = 0; step < 5; step++) {
            step_both(&pair, step, false, model.bytes);
        }
        many_both(&pair, 5, model.bytes);
        end_pair(&pair);
    }
    mdf_text_release(&model);
    cr_expect_gt(n_whole, least, "%u of %u as one program", n_whole, (unsigned)n);
    cr_expect_gt(n_many, least, "%u of %u as a loop", n_many, (unsigned)n);
    cr_expect_gt(n_series, least, "%u of %u as a loop with inputs", n_series, (unsigned)n);
}

Test(whole, random_graphs_give_what_their_nodes_give)
{
    compare_random(90, false, 56);
}

Test(whole, random_conditions_give_what_the_scheduler_gives)
{
    compare_random(90, true, 31);
}

/* ------------------------------------------------------------------ what comes up in between */

#define GRAPH(conditions, nodes, edges) \
    "{\"m\": {\"graphs\": {\"g\": {" conditions "\"nodes\": {" nodes "}, \"edges\": {" edges "}}}}}"
#define COUNTER(name, value)                                         \
    "\"" name "\": {\"parameters\": {\"p\": {\"value\": \"" value    \
    "\", \"default_initial_value\": 0}}, \"output_ports\": {\"o\": " \
    "{\"value\": \"p\"}}}"
#define CONDITIONS_OF(a, b, of_a, of_b, end)                                     \
    "\"conditions\": {\"node_specific\": {\"" a "\": " of_a ", \"" b "\": " of_b \
    "}, \"termination\": {\"environment_state_update\": " end "}}, "
#define CONDITIONS(of_a, of_b, end) CONDITIONS_OF("A", "B", of_a, of_b, end)

/* Each is left at some time: a division by zero, a number past 64 bits, a change of type, a node that first runs late, an
 * evaluation of very many passes, absolute time, one in which nothing can run. */
static const char *const models[] = {
    GRAPH("", COUNTER("A", "p + 1") ", " COUNTER("B", "p + 1 // (p - 20)"), ""),
    GRAPH("", COUNTER("A", "p * 3 + 1000000000000"), ""),
    GRAPH("", COUNTER("A", "p + 1 if p < 12 else p + 0.5"), ""),
    GRAPH(CONDITIONS("{\"type\": \"Always\", \"kwargs\": {}}",
                     "{\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 30, \"time_scale\": "
                     "\"TimeScale.LIFE\"}}",
                     "{\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"A\", \"n\": 2}}"),
          COUNTER("A", "p + 1") ", " COUNTER("B", "p + 2"), ""),
    GRAPH(CONDITIONS("{\"type\": \"Always\", \"kwargs\": {}}", "{\"type\": \"AtPass\", \"kwargs\": {\"n\": 3}}",
                     "{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 600}}"),
          COUNTER("A", "p + 1") ", " COUNTER("B", "p + 2"), ""),
    GRAPH(CONDITIONS("{\"type\": \"TimeInterval\", \"kwargs\": {\"repeat\": 2}}",
                     "{\"type\": \"TimeInterval\", \"kwargs\": "
                     "{\"repeat\": 3, \"start\": 1}}",
                     "{\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": \"B\", \"n\": 3}}"),
          COUNTER("A", "p + 1") ", " COUNTER("B", "p + 2"), ""),
    GRAPH(CONDITIONS("{\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"A\", \"parameter\": \"p\", \"threshold\": 25, "
                     "\"comparator\": \"<\"}}",
                     "{\"type\": \"Always\", \"kwargs\": {}}",
                     "{\"type\": \"All\", \"kwargs\": {\"args\": [{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 4}}, {\"type\": "
                     "\"JustRan\", \"kwargs\": {\"dependency\": \"A\"}}]}}"),
          COUNTER("A", "p + 1") ", " COUNTER("B", "p + 2"), ""),
};

Test(whole, what_is_left_runs_node_by_node)
{
    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct pair pair;

        cr_assert(begin_pair(&pair, models[i]), "%s", pair.plain.error.message);
        for (int step = 0; step < 6; step++) {
            step_both(&pair, step, false, models[i]);
        }
        for (uint64_t n = 1; n < 20; n += 3) {
            many_both(&pair, n, models[i]);
        }
        for (int step = 1; step < 9; step++) {
            step_both(&pair, step, false, models[i]);
        }
        end_pair(&pair);
    }
}

/* A Loop whose items others read. */
#define ONCE(m, item)                                                                                                            \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {\"default_value\": " item                       \
    "}}, \"parameters\": {\"y\": "                                                                                               \
    "{\"function\": \"onnx::Loop\", \"args\": {\"M\": " m                                                                        \
    ", \"v_initial\": [\"x\"], \"body\": \"b\"}}, \"w\": {\"value\": \"y[1] * 2\"}}, "                                           \
    "\"output_ports\": {\"s\": {\"value\": \"y[0]\"}, \"z\": {\"value\": \"y[1]\"}, \"w\": {\"value\": \"w + w\"}}}, \"B\": "    \
    "{\"input_ports\": {\"v\": {}}, \"parameters\": {\"u\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"v\", \"B\": "      \
    "\"v\"}}}, "                                                                                                                 \
    "\"output_ports\": {\"u\": {\"value\": \"u\"}}}}, \"edges\": {\"e\": {\"sender\": \"A\", \"sender_port\": \"z\", "           \
    "\"receiver\": "                                                                                                             \
    "\"B\", \"receiver_port\": \"v\"}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"n\", " \
    "\"z\"]}, "                                                                                                                  \
    "\"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"output_ports\": {\"n\": {\"value\": \"s * "       \
    "0.5\"}, \"z\": "                                                                                                            \
    "{\"value\": \"s + 1\"}}}}}}}}"

Test(whole, what_a_loop_that_runs_once_yields_is_read_as_it_is)
{
    static const char *const texts[] = {ONCE("1", "2.0"),        ONCE("1", "[2.0]"), ONCE("1", "[[2.0]]"),
                                        ONCE("1", "[1.0, 2.0]"), ONCE("2", "2.0"),   ONCE("0", "2.0")};
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_assert(begin_pair(&pair, texts[i]), "%s", pair.plain.error.message);
        for (int step = 0; step < 5; step++) {
            step_both(&pair, step, false, texts[i]);
        }
        many_both(&pair, 7, texts[i]);
        cr_expect(pair.whole.state->whole->single.fast.lowered != NULL || i == 5, "%s", texts[i]);
        end_pair(&pair);
    }
}

/* Values that only a condition of a parameter gives, or that are not always of one type, read by the conditions and values of
 * others. */
Test(whole, what_is_not_always_computed_is_left_where_it_is_read)
{
    static const char *const readers[] = {
        "\"value\": \"p + 1\", \"conditions\": [{\"id\": \"c\", \"test\": \"q > 1\", \"value\": \"q\"}]",
        "\"value\": \"q * 2 + p\"", "\"value\": \"p if p > 3 else q\"",
        "\"value\": \"p if numpy.sin(p) > 0.5 and p < 4 else 2 * p\""};
    static const char *const tests[] = {"p >= 2", "p < 3", "p == 4"};

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < 12; i++) {
        struct mdf_text text;
        struct pair pair;

        mdf_text_init(&text, &memory);
        mdf_text_printf(&text,
                        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"parameters\": {\"p\": {\"value\": \"p + 1\", "
                        "\"default_initial_value\": 0}, \"q\": {\"conditions\": [{\"id\": \"c\", \"test\": \"%s\", \"value\": "
                        "\"p * 3\"}]}, \"r\": {%s}}, \"output_ports\": {\"o\": {\"value\": \"r\"}}}}}}}}",
                        tests[i / 4], readers[i % 4]);
        cr_assert(begin_pair(&pair, text.bytes), "%s", pair.plain.error.message);
        for (int step = 0; step < 7; step++) {
            step_both(&pair, step, false, text.bytes);
        }
        many_both(&pair, 5, text.bytes);
        end_pair(&pair);
        mdf_text_release(&text);
    }
}

Test(whole, an_interruption_is_an_error_and_is_met_once)
{
    struct pair pair;
    uint64_t n_done, n_recorded;

    mdf_memory_init(&memory, NULL, 0);
    cr_assert(begin_pair(&pair, models[3]));
    for (int step = 0; step < 6; step++) {
        step_both(&pair, step, false, models[3]);
    }
    mdf_state_interrupt(pair.whole.state);
    cr_expect_eq(mdf_evaluate(pair.whole.state, 0.01, &pair.whole.error), MDF_INTERRUPTED);
    cr_expect_eq(mdf_evaluate(pair.plain.state, 0.01, NULL), MDF_OK);
    mdf_state_interrupt(pair.whole.state);
    cr_expect_eq(mdf_evaluate_steps(pair.whole.state, 5, 0.01, 0.01, 0, NULL, 0, &n_done, &n_recorded, &pair.whole.error),
                 MDF_INTERRUPTED);
    cr_expect_eq(n_done, 0u);
    cr_expect_eq(mdf_evaluate(pair.whole.state, 0.01, NULL), MDF_OK);
    end_pair(&pair);
}

/* ------------------------------------------------------------------ memory that is refused */

/* Whatever allocation is refused: the evaluations give what they give, or one of them is out of memory; nothing is lost. */
Test(whole, a_refused_allocation_is_an_error_or_changes_nothing)
{
    static const size_t chosen[] = {0, 2, 3, 5};

    mdf_memory_init(&memory, NULL, 0);
    for (size_t model = 0; model < sizeof chosen / sizeof *chosen; model++) {
        struct mdf_text want, got;
        bool reached = true;

        mdf_text_init(&want, &memory);
        mdf_text_init(&got, &memory);
        for (size_t n = 0; reached; n += 1 + n / 16) {
            struct counter counter = {.fails_once = true};
            mdf_allocator allocator = failing_allocator(&counter);
            mdf_status status = MDF_OK;
            uint64_t n_done, n_recorded;
            struct engine engine;
            size_t before;

            cr_assert(begin(&engine, models[chosen[model]], false, &allocator));
            before = counter.n_calls;
            counter.fail_at = n > 0 ? before + n : 0;
            for (int step = 0; step < 6 && status == MDF_OK; step++) {
                status = evaluate(&engine, step == 0 ? (double)NAN : 0.01, &got);
            }
            if (status == MDF_OK) {
                status = mdf_evaluate_steps(engine.state, 4, 0.01, 0.01, 0, NULL, 0, &n_done, &n_recorded, &engine.error);
                describe(&engine, status, &got);
            }
            reached = n == 0 || counter.n_calls >= counter.fail_at;
            if (n == 0) {
                mdf_text_append_string(&want, got.bytes);
            } else if (status != MDF_OUT_OF_MEMORY) {
                cr_expect_str_eq(got.bytes, want.bytes, "model %zu, allocation %zu", model, n);
            }
            engine_end(&engine);
            cr_expect_eq(counter.n_blocks, (size_t)0);
        }
        mdf_text_release(&want);
        mdf_text_release(&got);
    }
}

/* A Loop without scan outputs, whose states begin in another type than its body gives. */
#define CHANGING(trips, arguments, next_x, next_n)                                                                        \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N0\": {\"input_ports\": {\"x\": {\"default_value\": 3}, \"m\": "         \
    "{\"default_value\": " trips "}}, \"parameters\": {\"go\": {\"value\": true}, \"y\": {\"function\": \"onnx::Loop\", " \
    "\"args\": {" arguments ", \"v_initial\": \"[x, 0]\", \"body\": \"b\"}}}, \"output_ports\": {\"o\": "                 \
    "{\"value\": \"y[0]\"}, \"n\": {\"value\": \"y[1]\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\", "  \
    "\"n\"], \"outputs\": [\"go\", \"next\", \"count\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, "   \
    "\"s\": {}, \"n\": {}}, \"output_ports\": {\"go\": {\"value\": \"n < 4.5\"}, \"next\": {\"value\": \"" next_x "\"}, " \
    "\"count\": {\"value\": \"" next_n "\"}}}}}}}}"
#define BY_CONDITION "\"cond\": \"go\""
#define BY_TRIPS "\"M\": \"m\""
#define BY_BOTH "\"M\": \"m\", \"cond\": \"go\""

/* A whole number that becomes real, also two after one another; the bits are those of the plain way, and so are the types where
 * there is no run, or so few that the states are not stable. */
Test(whole, a_state_that_changes_type_in_the_first_runs_is_lowered)
{
    static const struct {
        const char *text;
        bool is_lowered;
    } cases[] = {
        {CHANGING("5", BY_CONDITION, "(s + 9 / s) / 2", "n + 1"), true},
        {CHANGING("5", BY_TRIPS, "(s + 9 / s) / 2 + i", "n + s"), true},
        {CHANGING("5", BY_BOTH, "s * 0.5 + n", "n + s"), true},
        {CHANGING("5", BY_BOTH, "s * 0.5 + (1 if c else 2)", "n + i"), true},
        {CHANGING("1", BY_TRIPS, "s * 0.5", "n + s"), false}, /* ends before n is stable */
        {CHANGING("0", BY_TRIPS, "s * 0.5", "n + s"), false},
        {CHANGING("-3", BY_BOTH, "s * 0.5", "n + s"), false},
        {CHANGING("6", BY_TRIPS, "s + 1 if i % 2 == 0 else s * 0.5", "n"), false},
        {CHANGING("5", BY_TRIPS, "numpy.array([1.0, 2.0]) * s", "n + 1"), true},
        {CHANGING("4", BY_TRIPS, "numpy.float32(s) * 2 if i < 1 else numpy.float64(s)", "n + 0.5"), false}, /* an error */
        {CHANGING("4", BY_TRIPS, "s // (i - 2)", "n + 0.5"), true},
        {CHANGING("4", BY_TRIPS, "s / (n - 1)", "n + 0.5"), false}, /* an error */
    };
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;

        cr_assert(begin_pair(&pair, text), "%s", pair.plain.error.message);
        for (int step = 0; step < 4; step++) {
            step_both(&pair, step, false, text);
        }
        many_both(&pair, 9, text);
        cr_expect((pair.whole.state->whole->single.fast.n_runs > 0) == cases[i].is_lowered, "%s", text);
        for (int step = 4; step < 24; step++) {
            const char *trips = step % 3 == 0 ? "0" : step % 3 == 1 ? "1" : "7";

            mdf_set_input_json(pair.plain.state, "N0.m", trips, NULL);
            mdf_set_input_json(pair.whole.state, "N0.m", trips, NULL);
            step_both(&pair, step, true, text);
        }
        end_pair(&pair);
    }
}

/* A node that repeats itself, and one whose condition lets it run in some passes; the state begins anew in each evaluation, as an
 * array without a declared type, and is of a declared one after its first run. */
#define BEGINNING(type, more)                                                                                                    \
    "{\"m\": {\"graphs\": {\"g\": {" more "\"nodes\": {\"N0\": {\"repeat_until_finished\": 50, \"input_ports\": {\"x\": "        \
    "{\"shape\": [2], \"type\": \"" type "\", \"default_value\": [0.5, 0.25]}}, \"functions\": {\"is_finished\": {\"value\": "   \
    "\"numpy.max(p) > 2\"}}, \"parameters\": {\"p\": {\"value\": \"p + x\", \"default_initial_value\": [0.1, 0.2], \"reset\": "  \
    "\"environment_state_update\"}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}}, \"N1\": {\"input_ports\": {\"x\": "         \
    "{\"shape\": [2], \"type\": \"" type "\", \"default_value\": [1.5, 0.25]}}, \"parameters\": {\"p\": {\"value\": \"p * x\", " \
    "\"default_initial_value\": [1.0, 2.0], \"reset\": \"environment_state_update\"}}, \"output_ports\": {\"o\": {\"value\": "   \
    "\"p\"}}}}}}}}"

Test(whole, a_state_that_is_of_a_declared_type_after_its_first_run_is_lowered)
{
    static const struct {
        const char *text;
        bool is_lowered;
    } cases[] = {
        {BEGINNING("float64", ""), true},
        {BEGINNING("float64", CONDITIONS_OF("N0", "N1", "{\"type\": \"Always\", \"kwargs\": {}}",
                                            "{\"type\": \"EveryNPasses\", \"kwargs\": "
                                            "{\"n\": 2}}",
                                            "{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 4}}")),
         true},
        {BEGINNING("float32", ""), false}, /* in the first run the sum is of float32, later too, but what begins is not */
    };
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;

        cr_assert(begin_pair(&pair, text), "%s", pair.plain.error.message);
        for (int step = 0; step < 6; step++) {
            step_both(&pair, step, false, text);
        }
        many_both(&pair, 9, text);
        cr_expect((pair.whole.state->whole->single.fast.n_runs > 0) == cases[i].is_lowered, "%s", text);
        end_pair(&pair);
    }
}

/* A Scan over x, and a Loop of three runs, whose state begins as the whole number 0, and whose items are stacked. */
#define SCANNED(x, more, next, item)                                                                                             \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N0\": {\"input_ports\": {\"x\": {\"default_value\": " x                         \
    "}, \"y\": {\"default_value\": 2}}, \"parameters\": {\"l\": {\"function\": \"onnx::Scan\", \"args\": {\"num_scan_inputs\": " \
    "1, \"initial_state_and_scan_inputs\": \"[0, x]\", \"body\": \"b\"" more "}}}, \"output_ports\": {\"o\": {\"value\": "       \
    "\"l[0]\"}, \"z\": {\"value\": \"l[1]\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"s\", \"v\"], \"outputs\": [\"n\", "      \
    "\"z\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"s\": {}, \"v\": {}}, \"output_ports\": {\"n\": {\"value\": \"" next        \
    "\"}, \"z\": {\"value\": \"" item "\"}}}}}}}}"
#define LOOPED(next, item) LOOPED_FROM("2", next, item)
#define LOOPED_FROM(x, next, item)                                                                                              \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N0\": {\"input_ports\": {\"x\": {\"default_value\": " x "}}, \"parameters\": " \
    "{\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 3, \"v_initial\": \"[x]\", \"body\": \"b\"}}}, "                  \
    "\"output_ports\": {\"o\": {\"value\": \"l[0]\"}, \"z\": {\"value\": \"l[1]\"}}}}}, \"b\": {\"metadata\": {\"inputs\": "    \
    "[\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"n\", \"z\"]}, \"nodes\": {\"b\": {\"input_ports\": {\"i\": {}, \"c\": {}, "  \
    "\"s\": {}}, \"output_ports\": {\"n\": {\"value\": \"" next "\"}, \"z\": {\"value\": \"" item "\"}}}}}}}}"
#define REVERSED ", \"scan_input_directions\": [1], \"scan_output_directions\": [1]"

Test(whole, items_of_the_first_runs_are_stacked_with_the_others)
{
    static const struct {
        const char *text;
        bool is_lowered;
    } cases[] = {
        {SCANNED("[1.5, 2.5, 4.0, 8.0]", "", "s + v", "v * 2 + s"), true},
        {SCANNED("[1.5, 2.5, 4.0, 8.0]", REVERSED, "s + v", "v * 2 + s"), true},
        {SCANNED("[1.5, 2.5, 4.0, 8.0]", ", \"scan_output_directions\": [1]", "s * 0.5 + v", "v - s"), true},
        {SCANNED("[1.5]", "", "s + v", "v * 2"), true},
        {SCANNED("[1.5, 2.5]", REVERSED, "s + v", "v * 2"), true},
        {SCANNED("[[1.5, 2.0]]", "", "s + v", "v * 2"), false}, /* an error: it changes shape */
        {SCANNED("[[1.5, 2.0], [2.5, 4.0], [-1.0, 1.0]]", REVERSED, "numpy.sum(v) + s", "v * 2 + s"), true},
        {SCANNED("[1, 2, 3]", "", "s + v", "v"), true},
        {SCANNED("[1.5, 2.5, 4.0]", "", "s + v", "s"), true}, /* a whole number, and reals */
        {SCANNED("[1.5, 2.5, 4.0]", REVERSED, "s + v", "s"), true},
        {LOOPED("s * 0.5", "s"), true},
        {LOOPED("numpy.float32(s)", "s"), true},
        {LOOPED("s * 0.5", "s + 0.5"), true},
        {LOOPED("s * 0.5 + i", "i * 2"), true},
        {LOOPED("s * numpy.array([0.5, 0.25])", "numpy.array([0.5, 2.0]) + s"), true},
    };
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;

        cr_assert(begin_pair(&pair, text), "%s", pair.plain.error.message);
        for (int step = 0; step < 5; step++) {
            step_both(&pair, step, false, text);
        }
        if (cases[i].is_lowered) {
            many_both(&pair, 9, text);
        }
        cr_expect((pair.whole.state->whole->single.fast.n_runs > 0) == cases[i].is_lowered, "%s", text);
        end_pair(&pair);
    }
}

/* What plain evaluation refuses after the first runs is refused: other types or a list in a stack, a declared type that a state
 * does not keep. (What the node had stacked by then is not looked at.) */
Test(whole, what_the_first_runs_may_not_do_is_an_error)
{
    static const char *const texts[] = {
        LOOPED("numpy.float64(s)", "numpy.float32(i) if i < 1 else numpy.float64(i)"),
        SCANNED("[1.5, 2.5]", "", "numpy.float32(s) if v < 2 else numpy.float64(s)", "v"),
        LOOPED("numpy.float32(s) if i < 1 else numpy.int64(s)", "i"),
        LOOPED_FROM("2.5", "i", "s"), /* a real number, then whole ones: the second does not fit */
        SCANNED("[[1.5, 2.0], [2.5, 4.0]]", "", "s + v", "v"),
        SCANNED("[1.5]", "", "s + v", "0.5, 1.5")};
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_assert(begin_pair(&pair, texts[i]), "%s", pair.plain.error.message);
        for (int step = 0; step < 4; step++) {
            mdf_status status = evaluate(&pair.plain, 0.01, &pair.want);

            cr_expect_neq(status, MDF_OK, "%s", texts[i]);
            cr_expect_eq(evaluate(&pair.whole, 0.01, &pair.got), status, "%s", texts[i]);
            cr_expect_str_eq(pair.whole.error.message, pair.plain.error.message, "%s", texts[i]);
        }
        end_pair(&pair);
    }
}

/* A side that is never taken may be one that could not be lowered, or that fails. */
Test(whole, a_condition_that_never_changes_runs_one_side)
{
    static const char *const texts[] = {
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N0\": {\"input_ports\": {\"x\": {\"default_value\": 3}}, \"parameters\": "
        "{\"k\": "
        "{\"value\": 2}, \"p\": {\"value\": \"x * 0.5 if k == 2 else numpy.append(x, 1)\"}}, \"output_ports\": {\"o\": "
        "{\"value\": "
        "\"p\"}}}}}}}}",
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N0\": {\"input_ports\": {\"x\": {\"default_value\": 3}}, \"parameters\": "
        "{\"k\": "
        "{\"value\": 2}, \"p\": {\"value\": \"[x] if k > 2 else x - 1\"}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}}}}}}}",
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N0\": {\"input_ports\": {\"x\": {\"default_value\": 3}}, \"parameters\": "
        "{\"k\": "
        "{\"value\": true}, \"p\": {\"function\": \"onnx::If\", \"args\": {\"cond\": \"k\", \"then_branch\": \"a\", "
        "\"else_branch\": \"b\"}}}, \"output_ports\": {\"o\": {\"value\": \"p\"}}}}}, \"a\": {\"metadata\": {\"inputs\": [], "
        "\"outputs\": "
        "[\"y\"]}, \"nodes\": {\"a\": {\"output_ports\": {\"y\": {\"value\": \"x * 2\"}}}}}, \"b\": {\"metadata\": {\"inputs\": "
        "[], "
        "\"outputs\": [\"y\"]}, \"nodes\": {\"b\": {\"output_ports\": {\"y\": {\"value\": \"numpy.append(x, 1.5)\"}}}}}}}}"};
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_assert(begin_pair(&pair, texts[i]), "%s", pair.plain.error.message);
        for (int step = 0; step < 5; step++) {
            step_both(&pair, step, true, texts[i]);
        }
        many_both(&pair, 7, texts[i]);
        cr_expect(pair.whole.state->whole->single.fast.n_runs > 0, "%s", texts[i]);
        end_pair(&pair);
    }
}

/* A trip count that came to be real on its way: whole ones are lowered, one with a fraction is an error as always. */
Test(whole, a_trip_count_may_be_a_whole_real)
{
    static const char text[] = CHANGING("3.0", BY_TRIPS, "s * 0.5", "n + 1.0");
    static const char *const trips[] = {"2", "5.0", "0.0", "-1.0", "2.5", "4.0", "1e300", "3.0"};
    struct pair pair;

    mdf_memory_init(&memory, NULL, 0);
    cr_assert(begin_pair(&pair, text), "%s", pair.plain.error.message);
    for (int step = 0; step < 4; step++) {
        step_both(&pair, step, false, text);
    }
    cr_expect_gt(pair.whole.state->whole->single.fast.n_runs, 0);
    for (size_t i = 0; i < sizeof trips / sizeof *trips; i++) {
        mdf_set_input_json(pair.plain.state, "N0.m", trips[i], NULL);
        mdf_set_input_json(pair.whole.state, "N0.m", trips[i], NULL);
        step_both(&pair, 4, false, text);
    }
    end_pair(&pair);
}

/* A side of "or" may be of another type, also within a tuple. A square is another power later; a real past 64 bits, an int. */
Test(whole, values_that_change_change_what_is_computed)
{
    static const char *const rows[] = {"(x or 1000,)", "numpy.array([0.7]) ** (2 if n < 4 else n)", "int(9e30 / n ** 20)"};
    struct pair pair;
    char text[400];

    mdf_memory_init(&memory, NULL, 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text,
                 "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"A\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"n\": "
                 "{\"default_initial_value\": 0, \"value\": \"n + 1\"}, \"p\": {\"value\": \"%s\"}}, "
                 "\"output_ports\": {\"o\": {\"value\": \"p\"}}}}}}}}",
                 rows[i]);
        cr_assert(begin_pair(&pair, text), "%s", pair.plain.error.message);
        for (int step = 0; step < 7; step++) {
            step_both(&pair, step, false, text);
        }
        many_both(&pair, 7, text);
        end_pair(&pair);
    }
}

/* Results that nobody looked at are made when they are, by a form that then meets other shapes than the one without them did: the
 * state of before was freed, and what it was lowered to is there for the next. */
Test(whole, what_nobody_read_is_there_when_it_is_read)
{
    static const char *const given[] = {"{\"sequence\": [{\"type\": \"float64\", \"shape\": [3], \"data\": [-0.397, 0.5, 0.53]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [0.5, 1.0, 1.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [0.0, -0.196, -0.818]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [-2.88, -1.0, -1.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [0.0, 0.0, 0.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [1.063, 0.5, 0.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [2.0, -1.0, 2.8]}]}",
                                        "{\"sequence\": [{\"type\": \"float64\", \"shape\": [3], \"data\": [0.5, -1.11, 0.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [-1.99, 2.0, 0.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [-1.04, 0.5, 0.5]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [2.0, 0.5, 2.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [1.509, 1.0, 1.0]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [0.5, 1.0, 1.933]}, "
                                        "{\"type\": \"float64\", \"shape\": [3], \"data\": [2.0, 0.0, 0.0]}]}"};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file("tests/data/onnx/unread_sequences.onnx", &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    size_t round, step, i;

    cr_assert_not_null(program, "%s", error.message);
    for (round = 0; round < 2; round++) {
        mdf_state *state = mdf_state_new(program, &error);

        for (step = 0; step < 4; step++) {
            cr_assert_eq(mdf_set_input_json(state, "v1", given[step / 2], &error), MDF_OK, "%s", error.message);
            cr_assert_eq(mdf_evaluate(state, NAN, &error), MDF_OK, "%s", error.message);
            for (i = 0; round > 0 && i < 2; i++) {
                const mdf_value *value = mdf_output_at(state, 0, i);

                cr_expect(mdf_value_kind(value) == MDF_KIND_LIST && mdf_value_length(value) == 7, "step %zu, output %zu", step,
                          i);
            }
        }
        mdf_state_free(state);
    }
    mdf_program_free(program);
    mdf_model_free(model);
}
