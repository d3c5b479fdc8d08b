/* test_growth.c - what a model costs as its collections grow. Loading and compiling: counted in comparisons of texts, so that the
 * answer does not depend on the machine; making one program of it: in processor time. A search through a collection for each of
 * its items shows as sixteen times the work for four times the items. And what it costs that a sequence grows in a loop: counted
 * in bytes of lists. */
#define _GNU_SOURCE

#undef _FORTIFY_SOURCE /* memset is defined below: it is not what checks make of it */

#include "mdf_c/base/text.h"
#include "mdf_c/export/export_onnx.h"
#include "mdf_c/source/source.h"
#include "tests/support/engine.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t n_comparisons;

/* In place of the library's: the same, counted. */
int strcmp(const char *a, const char *b)
{
    n_comparisons++;
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

/* A model whose second and fourth part stand in it n times, with commas: # is the number of the item, @ that of the next, round.
 */
struct growing {
    const char *what;
    const char *parts[5];
};

#define MODEL "{\"m\": {\"graphs\": {\"g\": "
#define NODE MODEL "{\"nodes\": {\"N\": "
#define END_OF_NODE "}}}}}"
#define OUTPUT "\"output_ports\": {\"o\": {\"value\": \"p\"}}"
#define STATE "\"parameters\": {\"p\": {\"value\": \"p + 1\", \"default_initial_value\": 0}}"

static const struct growing models[] = {
    {"input ports", {NODE "{\"input_ports\": {", "\"i#\": {\"default_value\": 1}", "}, " STATE ", " OUTPUT "}" END_OF_NODE}},
    {"input ports that nothing feeds", {NODE "{\"input_ports\": {", "\"i#\": {}", "}, " STATE ", " OUTPUT "}" END_OF_NODE}},
    {"output ports", {NODE "{" STATE ", \"output_ports\": {", "\"o#\": {\"value\": \"p * #\"}", "}}" END_OF_NODE}},
    {"output ports in a list", {NODE "{" STATE ", \"output_ports\": [", "{\"id\": \"o#\", \"value\": \"p\"}", "]}" END_OF_NODE}},
    {"parameters",
     {NODE "{\"parameters\": {", "\"p#\": {\"value\": \"p# + 1\", \"default_initial_value\": 0}", "}}" END_OF_NODE}},
    {"parameters in a list", {NODE "{\"parameters\": [", "{\"id\": \"p#\", \"value\": #}", "]}" END_OF_NODE}},
    {"conditions of a parameter",
     {NODE
      "{\"parameters\": {\"q\": {\"value\": \"q + 1\", \"default_initial_value\": 0}, \"p\": {\"value\": 0, \"conditions\": [",
      "{\"id\": \"c#\", \"test\": \"q > #\", \"value\": #}", "]}}}" END_OF_NODE}},
    {"functions of MDF",
     {NODE "{" STATE ", \"functions\": {",
      "\"f#\": {\"function\": \"linear\", \"args\": {\"variable0\": \"p\", \"slope\": 2, \"intercept\": 1}}", "}}" END_OF_NODE}},
    {"functions of ONNX with attributes",
     {NODE "{\"parameters\": {\"p\": {\"value\": [1.0, 2.0]}, ",
      "\"f#\": {\"function\": \"onnx::Softmax\", \"args\": {\"input\": \"p\", \"axis\": 0}}", "}}" END_OF_NODE}},
    {"functions of PsyNeuLink with states",
     {NODE "{\"input_ports\": {\"x\": {}}, \"functions\": {",
      "\"f#\": {\"function\": \"simpleintegrator\", \"args\": {\"variable0\": \"x\", \"rate\": 2}}", "}}" END_OF_NODE}},
    {"arguments that a function does not have",
     {NODE
      "{" STATE
      ", \"functions\": {\"f\": {\"function\": \"linear\", \"args\": {\"variable0\": \"p\", \"slope\": 2, \"intercept\": 1, ",
      "\"z#\": 1", "}}}}" END_OF_NODE}},
    {"nodes", {MODEL "{\"nodes\": {", "\"N#\": {" STATE ", " OUTPUT "}", "}}}}}"}},
    {"nodes in a list", {MODEL "{\"nodes\": [", "{\"id\": \"N#\", " STATE ", " OUTPUT "}", "]}}}}"}},
    {"a ring of nodes",
     {MODEL "{\"nodes\": {", "\"N#\": {\"input_ports\": {\"i\": {\"default_value\": 1}}, " STATE ", " OUTPUT "}",
      "}, \"edges\": {", "\"e#\": {\"sender\": \"N#\", \"sender_port\": \"o\", \"receiver\": \"N@\", \"receiver_port\": \"i\"}",
      "}}}}}"}},
    {"edges in a list, into one port",
     {MODEL "{\"nodes\": {\"S\": {\"input_ports\": {\"i\": {\"reduce\": \"add\"}}}, ", "\"N#\": {" STATE ", " OUTPUT "}",
      "}, \"edges\": [",
      "{\"id\": \"e#\", \"sender\": \"N#\", \"sender_port\": \"o\", \"receiver\": \"S\", \"receiver_port\": \"i\"}", "]}}}}"}},
    {"edges into the ports of one node",
     {MODEL "{\"nodes\": {\"A\": {" STATE ", " OUTPUT "}, \"S\": {\"input_ports\": {", "\"i#\": {}", "}}}, \"edges\": {",
      "\"e#\": {\"sender\": \"A\", \"sender_port\": \"o\", \"receiver\": \"S\", \"receiver_port\": \"i#\"}", "}}}}}"}},
    {"edges from the ports of one node",
     {MODEL "{\"nodes\": {\"A\": {" STATE ", \"output_ports\": {", "\"o#\": {\"value\": \"p\"}",
      "}}, \"S\": {\"input_ports\": {\"i\": {\"reduce\": \"add\"}}}}, \"edges\": {",
      "\"e#\": {\"sender\": \"A\", \"sender_port\": \"o#\", \"receiver\": \"S\", \"receiver_port\": \"i\"}", "}}}}}"}},
    {"conditions",
     {MODEL "{\"nodes\": {", "\"N#\": {" STATE ", " OUTPUT "}", "}, \"conditions\": {\"node_specific\": {",
      "\"N#\": {\"type\": \"AtPass\", \"kwargs\": {\"n\": 0}}", "}}}}}}"}},
    {"conditions that look at a value",
     {MODEL "{\"nodes\": {", "\"N#\": {" STATE ", " OUTPUT "}", "}, \"conditions\": {\"node_specific\": {",
      "\"N#\": {\"type\": \"Threshold\", \"kwargs\": {\"dependency\": \"N@\", \"parameter\": \"p\", \"threshold\": 0, "
      "\"comparator\": \">=\"}}",
      "}}}}}}"}},
    {"graphs within nodes", {MODEL "{\"nodes\": {", "\"N#\": {\"nodes\": {\"n\": {" STATE ", " OUTPUT "}}}", "}}}}}"}},
    {"nodes of a graph within a node",
     {NODE "{\"nodes\": {", "\"n#\": {\"input_ports\": {\"x\": {}, \"i#\": {}}, " STATE ", " OUTPUT "}", "}, \"output_ports\": {",
      "\"o#\": {\"value\": \"n#.o\"}", "}}" END_OF_NODE}},
    {"an interface",
     {MODEL "{\"nodes\": {", "\"N#\": {\"input_ports\": {\"x#\": {}}, \"output_ports\": {\"o\": {\"value\": \"x#\"}}}",
      "}, \"metadata\": {\"inputs\": [\"x0\"], \"outputs\": [", "\"N#.o\"", "]}}}}}"}},
    {"an interface of a graph within a node",
     {NODE "{\"graph\": {\"nodes\": {", "\"N#\": {\"input_ports\": {\"x#\": {}}, \"output_ports\": {\"o\": {\"value\": \"x#\"}}}",
      "}, \"metadata\": {\"inputs\": [\"x0\"], \"outputs\": [", "\"N#.o\"", "]}}}" END_OF_NODE}},
    {"parameters of a graph", {MODEL "{\"parameters\": {", "\"g#\": #", "}, \"nodes\": {\"N\": {" STATE ", " OUTPUT "}}}}}}"}},
    {"inputs and outputs of a body",
     {MODEL "{\"nodes\": {\"N\": {\"parameters\": {\"xs\": {\"value\": [1.0, 2.0]}}, \"functions\": {\"f\": {\"function\": "
            "\"onnx::Scan\", \"args\": {\"num_scan_inputs\": 1, \"body\": \"b\", \"initial_state_and_scan_inputs\": [",
      "#.5", ", \"xs\"]}}}, \"output_ports\": {\"o\": {\"value\": \"f[0]\"}}}}}, \"b\": {\"nodes\": {",
      "\"N#\": {\"input_ports\": {\"i#\": {}}, \"output_ports\": {\"o#\": {\"value\": \"i#\"}}}",
      ", \"K\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"k\": {\"value\": \"s\"}}}}}}}}"}},
    {"graphs", {"{\"m\": {\"graphs\": {", "\"g#\": {\"nodes\": {\"N\": {" STATE ", " OUTPUT "}}}", "}}}"}},
};

static void add_item(struct mdf_text *text, const char *part, size_t number, size_t next)
{
    const char *c;

    for (c = part; *c != '\0'; c++) {
        if (*c == '#' || *c == '@') {
            mdf_text_printf(text, "%zu", *c == '#' ? number : next);
        } else {
            mdf_text_append(text, c, 1);
        }
    }
}

static void write_model(struct mdf_text *text, const struct growing *growing, size_t first, size_t n)
{
    size_t i, j;

    for (i = 0; i < sizeof growing->parts / sizeof *growing->parts && growing->parts[i] != NULL; i++) {
        if (i % 2 == 0) {
            mdf_text_append(text, growing->parts[i], strlen(growing->parts[i]));
        }
        for (j = first; i % 2 == 1 && j < n; j++) {
            if (j > first) {
                mdf_text_append(text, ", ", 2);
            }
            add_item(text, growing->parts[i], j, (j + 1) % n);
        }
    }
}

/* Sets all inputs of the last node by their names, if they can be set, and asks what would be missing. */
static void give_inputs(const mdf_program *program, mdf_state *state)
{
    const size_t node = mdf_program_n_nodes(program) - 1, n = mdf_program_n_parts(program, node, MDF_PART_INPUT);
    const char **names = calloc(n + 1, sizeof *names);
    const double number = 1;
    const mdf_tensor tensor = {MDF_DTYPE_FLOAT64, 0, NULL, &number};
    mdf_status status = MDF_OK;

    cr_assert_not_null(names);
    for (size_t i = 0; i < n; i++) {
        names[i] = mdf_program_part_id(program, node, MDF_PART_INPUT, i);
        status = status == MDF_OK ? mdf_set_input(state, names[i], &tensor, NULL) : status;
    }
    mdf_check_run(program, names, n, 1, NAN, NULL, NULL);
    free(names);
}

/* Writes the model as C, if it has a form there. */
static void write_source(mdf_state *state, struct mdf_memory *memory)
{
    const struct mdf_source_options how = {.name = "model"};
    struct mdf_text source;
    mdf_error error = {0};

    mdf_text_init(&source, memory);
    if (mdf_source_warm_up(state, NULL, NULL, (double)NAN, &error)) {
        mdf_source_write(state, &how, &source, NULL, &error);
    }
    mdf_text_release(&source);
}

/* How many texts are compared until a model has been looked over, a state is there, has its inputs, and is written as C. */
static size_t work_of(const struct growing *growing, size_t n)
{
    struct mdf_memory memory;
    struct mdf_text text;
    mdf_error error = {0};
    mdf_diagnostics *diagnostics = mdf_diagnostics_new(NULL, NULL);
    mdf_options options = {.n_threads = 1, .diagnostics = diagnostics};
    mdf_model *model;
    mdf_program *program = NULL;
    mdf_state *state = NULL;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_model(&text, growing, 0, n);
    n_comparisons = 0;
    model = mdf_model_load_bytes(text.bytes, text.length, "json", "model", &options, &error);
    if (model != NULL) {
        program = mdf_compile(model, &options, &error);
    }
    if (program != NULL) {
        state = mdf_state_new(program, &error);
    }
    cr_assert_not_null(state, "%s: %s", growing->what, error.message);
    give_inputs(program, state);
    mdf_check(model, NULL, 0, 1, (double)NAN, &options, &error);
    write_source(state, &memory);
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
    mdf_diagnostics_free(diagnostics);
    mdf_text_release(&text);
    return n_comparisons;
}

Test(growth, work_is_in_proportion_to_the_items)
{
    enum { N = 60, TIMES = 4, MOST = 6 }; /* between 4, and 16 of a search for each item */
    size_t i;

    for (i = 0; i < sizeof models / sizeof *models; i++) {
        size_t few = work_of(&models[i], N), many = work_of(&models[i], TIMES * N);

        cr_expect(many <= MOST * few, "%s: %zu comparisons for %d, %zu for %d", models[i].what, few, N, many, TIMES * N);
    }
}

/* ------------------------------------------------------------------ derivatives */

static const struct growing derived[] = {
    {"states",
     {NODE "{\"parameters\": {\"a\": {\"value\": 0.5}, ",
      "\"p#\": {\"value\": \"p# * a + p@ * 0.1\", \"default_initial_value\": 0.5}",
      "}, \"output_ports\": {\"o\": {\"value\": \"p1\"}}}" END_OF_NODE}},
    {"what a loop keeps",
     {MODEL "{\"nodes\": {\"N\": {\"parameters\": {\"a\": {\"value\": 0.5}}, \"functions\": {\"f\": {\"function\": "
            "\"onnx::Loop\", \"args\": {\"M\": 3, \"cond\": true, \"v_initial\": \"a\", \"body\": \"b\"}}}, "
            "\"output_ports\": {\"o\": {\"value\": \"f\"}}}}}, \"b\": {\"nodes\": {\"K\": {\"input_ports\": {\"n\": {}, "
            "\"cond\": {}, \"s\": {}}, \"functions\": {\"f0\": {\"value\": \"s + 0.1\"}, ",
      "\"f#\": {\"value\": \"numpy.tanh(f@)\"}",
      "}, \"output_ports\": {\"k\": {\"value\": \"cond\"}, \"o\": {\"value\": \"f1\"}}}}, \"metadata\": {\"inputs\": [\"n\", "
      "\"cond\", \"s\"], \"outputs\": [\"K.k\", \"K.o\"]}}}}}"}},
};

static size_t n_allocated;

static void *allocate(void *context, size_t size_bytes)
{
    (void)context;
    n_allocated += size_bytes;
    return malloc(size_bytes);
}

static void *reallocate(void *context, void *block, size_t size_bytes)
{
    (void)context;
    n_allocated += size_bytes;
    return realloc(block, size_bytes);
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

/* Bytes that are asked for until the derivative by `a` after ten steps has been compiled. */
static size_t bytes_of_gradient(const struct growing *growing, size_t first, size_t n)
{
    const mdf_allocator counting = {allocate, reallocate, release, NULL};
    const mdf_options options = {.n_threads = 1, .allocator = &counting};
    const char *by = "N.a";
    struct mdf_memory memory;
    struct mdf_text text;
    mdf_error error = {0};
    mdf_model *model;
    mdf_program *program = NULL;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_model(&text, growing, first, n);
    model = mdf_model_load_bytes(text.bytes, text.length, "json", "model", &options, &error);
    n_allocated = 0;
    if (model != NULL) {
        program = mdf_compile_gradient(model, "N.o", &by, 1, 10, (double)NAN, &options, &error);
    }
    cr_assert_not_null(program, "%s: %s", growing->what, error.message);
    mdf_program_free(program);
    mdf_model_free(model);
    mdf_text_release(&text);
    return n_allocated;
}

Test(growth, derivatives_take_memory_in_proportion_to_the_states)
{
    enum { N = 60, TIMES = 4, MOST = 6 }; /* between 4, and 16 where all are copied for each */

    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++) {
        size_t few = bytes_of_gradient(&derived[i], i, N), many = bytes_of_gradient(&derived[i], i, TIMES * N);

        cr_expect(many <= MOST * few, "%s: %zu bytes for %d, %zu for %d", derived[i].what, few, N, many, TIMES * N);
    }
}

/* ------------------------------------------------------------------ chains */

enum { LONG = 6000, SMALL_STACK = 160 * 1024 }; /* less than 27 bytes for each of a chain that is followed by recursion */

/* Each waits for the next one, so that a compiler that takes them in the order of the file comes to the last one first. */
static const struct growing chains[] = {
    {"parameters",
     {NODE "{\"parameters\": {", "\"p#\": {\"value\": \"p@ + 1\"}",
      ", \"p0\": {\"value\": 1}}, \"output_ports\": {\"o\": {\"value\": \"p1\"}}}" END_OF_NODE}},
    {"functions",
     {NODE "{\"functions\": {", "\"f#\": {\"value\": \"f@ + 1\"}",
      ", \"f0\": {\"value\": 1}}, \"output_ports\": {\"o\": {\"value\": \"f1\"}}}" END_OF_NODE}},
    {"nodes",
     {MODEL "{\"nodes\": {", "\"N#\": {\"input_ports\": {\"i\": {}}, \"output_ports\": {\"o\": {\"value\": \"i + 1\"}}}",
      ", \"N0\": {\"output_ports\": {\"o\": {\"value\": 1}}}}, \"edges\": {",
      "\"e#\": {\"sender\": \"N@\", \"sender_port\": \"o\", \"receiver\": \"N#\", \"receiver_port\": \"i\"}",
      "}, \"metadata\": {\"outputs\": [{\"name\": \"o\", \"port\": \"N1.o\"}]}}}}}"}},
    {"nodes of a body",
     {MODEL "{\"nodes\": {\"N\": {\"functions\": {\"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 1, \"cond\": true, "
            "\"v_initial\": 0.0, \"body\": \"b\"}}}, \"output_ports\": {\"o\": {\"value\": \"f\"}}}}}, \"b\": {\"nodes\": {",
      "\"N#\": {\"input_ports\": {\"i\": {}}, \"output_ports\": {\"o\": {\"value\": \"i + 1.0\"}}}",
      ", \"N0\": {\"input_ports\": {\"s\": {}}, \"output_ports\": {\"o\": {\"value\": \"s + 1.0\"}}}, "
      "\"K\": {\"input_ports\": {\"cond\": {}}, \"output_ports\": {\"k\": {\"value\": \"cond\"}}}}, \"edges\": {",
      "\"e#\": {\"sender\": \"N@\", \"sender_port\": \"o\", \"receiver\": \"N#\", \"receiver_port\": \"i\"}",
      "}, \"metadata\": {\"inputs\": [\"n\", \"cond\", \"s\"], \"outputs\": [\"K.k\", \"N1.o\"]}}}}}"}},
};

/* The chain's items have the numbers 1 to LONG - 1; what the last one waits for, 0, stands behind them. */
static void *run_chains(void *unused)
{
    struct mdf_memory memory;
    struct mdf_text text;
    struct engine engine;
    mdf_tensor result;
    size_t i;

    mdf_memory_init(&memory, NULL, 0);
    for (i = 0; i < sizeof chains / sizeof *chains; i++) {
        mdf_text_init(&text, &memory);
        write_model(&text, &chains[i], 1, LONG);
        cr_assert(engine_begin(&engine, text.bytes, &(mdf_options){.n_threads = 1}), "%s: %s", chains[i].what,
                  engine.error.message);
        cr_assert_eq(mdf_evaluate(engine.state, NAN, &engine.error), MDF_OK, "%s: %s", chains[i].what, engine.error.message);
        cr_assert(mdf_value_tensor(mdf_result_at(engine.state, 0), &result));
        cr_expect_eq(result.dtype == MDF_DTYPE_INT64 ? (double)*(const int64_t *)result.data : *(const double *)result.data,
                     (double)LONG, "%s", chains[i].what);
        engine_end(&engine);
        mdf_text_release(&text);
    }
    return unused;
}

Test(growth, long_chains_need_no_stack)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    cr_assert_eq(pthread_create(&thread, &attributes, run_chains, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* ------------------------------------------------------------------ what is made of a whole model */

/* The first evaluations, in which it becomes one program. */
static void evaluate(struct engine *engine)
{
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(mdf_evaluate(engine->state, NAN, &engine->error), MDF_OK, "%s", engine->error.message);
    }
}

static void write_c(struct engine *engine)
{
    struct mdf_memory memory;

    mdf_memory_init(&memory, NULL, 0);
    write_source(engine->state, &memory);
}

static void write_onnx(struct engine *engine)
{
    struct mdf_memory memory;
    struct mdf_text bytes;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&bytes, &memory);
    cr_assert_eq(mdf_export_onnx(engine->model, engine->program, &bytes, &engine->error), MDF_OK, "%s", engine->error.message);
    mdf_text_release(&bytes);
}

static const struct {
    const char *what;
    void (*make)(struct engine *engine);
    size_t n; /* nodes of which a search through all for each of them shows */
} made[] = {{"one program", evaluate, 1200}, {"C", write_c, 600}, {"ONNX", write_onnx, 600}};

/* Processor time in which it is made of so many nodes. */
static double seconds_of(size_t what, size_t n)
{
    static const struct growing nodes = {
        "nodes",
        {MODEL "{\"nodes\": {", "\"N#\": {\"input_ports\": {\"i\": {\"default_value\": 1.5}}, " STATE ", " OUTPUT "}", "}}}}}"}};
    struct mdf_memory memory;
    struct mdf_text text;
    struct engine engine;
    double seconds;
    clock_t start;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_model(&text, &nodes, 0, n);
    cr_assert(engine_begin(&engine, text.bytes, &(mdf_options){.n_threads = 1}), "%s", engine.error.message);
    start = clock();
    made[what].make(&engine);
    seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    engine_end(&engine);
    mdf_text_release(&text);
    return seconds;
}

/* A look through all slots for each of them took 22 times as long for four times the nodes. */
Test(growth, programs_are_made_in_proportion_to_the_nodes)
{
    enum { TIMES = 4, MOST = 8, N_TRIALS = 3 }; /* between 4 and 16; the least of a few, as other things run too */

    for (size_t what = 0; what < sizeof made / sizeof *made; what++) {
        size_t n = made[what].n;
        double few = seconds_of(what, n), many = seconds_of(what, TIMES * n);

        for (size_t i = 1; i < N_TRIALS && many > MOST * few; i++) {
            few = fmax(few, seconds_of(what, n));
            many = fmin(many, seconds_of(what, TIMES * n));
        }
        cr_expect_lt(many, MOST * few, "%s: %g s for %zu nodes, %g s for %zu", made[what].what, few, n, many, TIMES * n);
    }
}

/* Processor time in which an expression with so many numbers is compiled, and looked over. */
static double seconds_of_numbers(size_t n)
{
    static const struct growing numbers = {
        "numbers", {MODEL "{\"nodes\": {\"N\": {\"parameters\": {\"p\": {\"value\": \"numpy.array([", "-1.25", "])\"}}}}}}}}"}};
    struct mdf_memory memory;
    struct mdf_text text;
    struct engine engine;
    double seconds;
    clock_t start;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    write_model(&text, &numbers, 0, n);
    start = clock();
    cr_assert(engine_begin(&engine, text.bytes, NULL), "%s", engine.error.message);
    cr_assert_eq(mdf_check(engine.model, NULL, 0, 0, NAN, NULL, &engine.error), MDF_OK, "%s", engine.error.message);
    seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    engine_end(&engine);
    mdf_text_release(&text);
    return seconds;
}

/* The text was followed from its beginning to each sign, and read to its end behind each point: 30,000 numbers took 35 s. */
Test(growth, expressions_are_compiled_in_proportion_to_their_numbers)
{
    enum { N = 1500, TIMES = 4, MOST = 8, N_TRIALS = 3 };
    double few = seconds_of_numbers(N), many = seconds_of_numbers(TIMES * N);

    for (size_t i = 1; i < N_TRIALS && many > MOST * few; i++) {
        few = fmax(few, seconds_of_numbers(N));
        many = fmin(many, seconds_of_numbers(TIMES * N));
    }
    cr_expect_lt(many, MOST * few, "%g s for %d numbers, %g s for %d", few, (int)N, many, (int)(TIMES * N));
}

/* ------------------------------------------------------------------ sequences that grow */

/* The body declares its sequence, as an ONNX model does. */
#define LOOP_OVER(functions, last)                                                                                          \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"N\": {\"functions\": {\"q\": {\"function\": \"onnx::SequenceEmpty\", "     \
    "\"args\": {\"dtype\": 7}}, \"f\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": #, \"cond\": true, \"v_initial\": " \
    "\"q\", \"body\": \"b\"}}, \"length\": {\"function\": \"onnx::SequenceLength\", \"args\": {\"input_sequence\": "        \
    "\"f\"}}, \"at\": {\"function\": \"onnx::SequenceAt\", \"args\": {\"input_sequence\": \"f\", \"position\": -1}}}, "     \
    "\"output_ports\": {\"n\": {\"value\": \"length\"}, \"last\": {\"value\": \"at\"}}}}}, \"b\": {\"nodes\": {\"B\": "     \
    "{\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {\"type\": \"seq(tensor(int64))\"}}, \"functions\": {" functions       \
    "}, \"output_ports\": {\"c_out\": {\"value\": \"c\"}, \"s_out\": {\"value\": \"" last                                   \
    "\"}}}}, \"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"B.c_out\", \"B.s_out\"]}}}}}"
#define INSERT(id, sequence, item)                                                                           \
    "\"" id "\": {\"function\": \"onnx::SequenceInsert\", \"args\": {\"input_sequence\": \"" sequence "\", " \
    "\"tensor\": \"" item "\"}}"
#define ERASE(id, sequence, place)                                                                                              \
    "\"" id "\": {\"function\": \"onnx::SequenceErase\", \"args\": {\"input_sequence\": \"" sequence "\", \"position\": " place \
    "}}"

static const struct {
    const char *what, *loop;
} growing_sequences[] = {
    {"appended to", LOOP_OVER(INSERT("t", "s", "i"), "t")},
    {"a queue", LOOP_OVER(INSERT("t", "s", "-i") ", " INSERT("u", "t", "i") ", " ERASE("v", "u", "0"), "v")},
};

static size_t n_zeroed;
static void *(*library_memset)(void *bytes, int value, size_t n);

/* In place of the library's: the same, counted. A list is zeroed before items are put in. */
void *memset(void *bytes, int value, size_t n)
{
    volatile unsigned char *byte = bytes;

    n_zeroed += n;
    if (library_memset != NULL) {
        return library_memset(bytes, value, n);
    }
    for (size_t i = 0; i < n; i++) { /* before it is found */
        byte[i] = (unsigned char)value;
    }
    return bytes;
}

__attribute__((constructor)) static void find_memset(void)
{
    void *found = dlsym(RTLD_NEXT, "memset");

    memcpy(&library_memset, &found, sizeof found);
}

/* How many bytes an evaluation makes room for in lists. */
static size_t bytes_of(size_t sequence, size_t n)
{
    const struct growing growing = {growing_sequences[sequence].what, {growing_sequences[sequence].loop}};
    struct mdf_memory memory;
    struct mdf_text text;
    struct engine engine;
    mdf_tensor result;
    size_t work;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&text, &memory);
    add_item(&text, growing.parts[0], n, 0);
    cr_assert(engine_begin(&engine, text.bytes, &(mdf_options){.n_threads = 1}), "%s: %s", growing.what, engine.error.message);
    n_zeroed = 0;
    cr_assert_eq(mdf_evaluate(engine.state, NAN, &engine.error), MDF_OK, "%s: %s", growing.what, engine.error.message);
    work = n_zeroed;
    for (size_t i = 0; i < 2; i++) {
        cr_assert(mdf_value_tensor(mdf_result_at(engine.state, i), &result));
        cr_expect_eq(*(const int64_t *)result.data, (int64_t)(i == 0 ? n : n - 1), "%s", growing.what);
    }
    engine_end(&engine);
    mdf_text_release(&text);
    return work;
}

Test(growth, sequences_grow_in_place)
{
    enum { N = 256, TIMES = 4, MOST = 6 }; /* between 4, and 16 of a copy in each iteration */

    for (size_t i = 0; i < sizeof growing_sequences / sizeof *growing_sequences; i++) {
        size_t few = bytes_of(i, N), many = bytes_of(i, TIMES * N);

        cr_expect(many <= MOST * few, "%s: %zu bytes for %d, %zu for %d", growing_sequences[i].what, few, N, many, TIMES * N);
    }
}

/* What grows a list and is yielded too: joined along an axis that is there, the list's items are no longer those of the stack. */
Test(growth, a_list_and_a_stack_of_its_items)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"17\", \"graphs\": {\"g\": {\"nodes\": {\"N\": {\"functions\": {\"q\": {\"function\": "
        "\"onnx::SequenceEmpty\", \"args\": {\"dtype\": 1}}, \"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": 2, "
        "\"v_initial\": \"[q]\", \"body\": \"b\"}}, \"j\": {\"function\": \"onnx::ConcatFromSequence\", \"args\": "
        "{\"input_sequence\": \"l[0]\", \"axis\": 0}}}, \"output_ports\": {\"stack\": {\"value\": \"l[1]\"}, \"joined\": "
        "{\"value\": \"j\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\", \"k\"]}, "
        "\"nodes\": {\"B\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"functions\": {\"k\": {\"function\": "
        "\"onnx::ConstantOfShape\", \"args\": {\"input\": [1]}}, " INSERT(
            "t", "s", "k") "}, \"output_ports\": {\"t\": "
                           "{\"value\": \"t\"}, \"k\": {\"value\": \"k\"}}}}}}}}";
    struct engine engine;
    char text[256];

    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    for (int i = 0; i < 4; i++) { /* the first of them is not lowered */
        cr_assert_eq(engine_evaluate(&engine, 1), MDF_OK, "%s", engine.error.message);
        write_results(engine.program, engine.state, text, sizeof text);
        cr_expect_str_eq(text, "stack [[0.0], [0.0]]; joined [0.0, 0.0]", "evaluation %d", i);
    }
    engine_end(&engine);
}

/* What a loop made into a sequence is read in every way, first joined along an axis behind the items, then counted, then one of
 * them taken: it is lowered, also where the loop runs more often than before, or once. */
Test(growth, a_list_is_a_sequence_behind_the_loop)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"17\", \"graphs\": {\"g\": {\"nodes\": {\"N\": {\"input_ports\": {\"n\": "
        "{\"default_value\": "
        "2}}, \"functions\": {\"q\": {\"function\": \"onnx::SequenceEmpty\", \"args\": {\"dtype\": 1}}, \"l\": {\"function\": "
        "\"onnx::Loop\", \"args\": {\"M\": \"n\", \"v_initial\": \"[q]\", \"body\": \"b\"}}, \"j\": {\"function\": "
        "\"onnx::ConcatFromSequence\", \"args\": {\"input_sequence\": \"l\", \"axis\": 1, \"new_axis\": 1}}, \"c\": "
        "{\"function\": "
        "\"onnx::SequenceLength\", \"args\": {\"input_sequence\": \"l\"}}, \"a\": {\"function\": \"onnx::SequenceAt\", \"args\": "
        "{\"input_sequence\": \"l\", \"position\": -1}}}, \"output_ports\": {\"joined\": {\"value\": \"j\"}, \"count\": "
        "{\"value\": "
        "\"c\"}, \"last\": {\"value\": \"a\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": "
        "[\"c\", "
        "\"t\"]}, \"nodes\": {\"B\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"functions\": {\"r\": {\"function\": "
        "\"onnx::Cast\", \"args\": {\"input\": \"i\", \"to\": 1}}, \"k\": {\"function\": \"onnx::Expand\", \"args\": {\"input\": "
        "\"r\", \"shape\": [2]}}, " INSERT("t", "s", "k") "}, \"output_ports\": {\"t\": {\"value\": \"t\"}}}}}}}}";
    static const struct {
        const char *n, *results;
    } cases[] = {
        {"2", "joined [[0.0, 1.0], [0.0, 1.0]]; count 2; last [1.0, 1.0]"},
        {"2", "joined [[0.0, 1.0], [0.0, 1.0]]; count 2; last [1.0, 1.0]"},
        {"3", "joined [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]; count 3; last [2.0, 2.0]"},
        {"4", "joined [[0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]]; count 4; last [3.0, 3.0]"},
        {"1", "joined [[0.0], [0.0]]; count 1; last [0.0, 0.0]"},
        {"3", "joined [[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]; count 3; last [2.0, 2.0]"},
        {"2", "joined [[0.0, 1.0], [0.0, 1.0]]; count 2; last [1.0, 1.0]"},
    };
    struct engine engine;
    char text[1024];

    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(mdf_set_input_json(engine.state, "n", cases[i].n, &engine.error), MDF_OK, "%s", engine.error.message);
        cr_assert_eq(engine_evaluate(&engine, 1), MDF_OK, "%s", engine.error.message);
        write_results(engine.program, engine.state, text, sizeof text);
        cr_expect_str_eq(text, cases[i].results, "evaluation %zu", i);
    }
    mdf_explain(engine.state, text, sizeof text);
    cr_expect(strstr(text, "graph 'g': lowered") != NULL, "%s", text);
    engine_end(&engine);
}

/* A state with as many rows as the first run gives it, which every run puts into another order and makes longer, as beam search
 * does: it has a form behind the first run, but for its length. */
Test(growth, rows_that_settle_and_go_on_growing)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"17\", \"graphs\": {\"g\": {\"nodes\": {\"N\": {\"input_ports\": {\"n\": "
        "{\"default_value\": "
        "2}, \"x\": {\"default_value\": [[5]]}}, \"functions\": {\"l\": {\"function\": \"onnx::Loop\", \"args\": {\"M\": \"n\", "
        "\"v_initial\": \"[x]\", \"body\": \"b\"}}}, \"output_ports\": {\"rows\": {\"value\": \"l\"}}}}}, \"b\": {\"metadata\": "
        "{\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\"]}, \"nodes\": {\"B\": {\"input_ports\": {\"i\": {}, "
        "\"c\": {}, "
        "\"s\": {}}, \"functions\": {\"k\": {\"function\": \"onnx::Add\", \"args\": {\"A\": \"i\", \"B\": [[1], [2]]}}, \"r\": "
        "{\"function\": \"onnx::Gather\", \"args\": {\"data\": \"s\", \"indices\": [-1, 0], \"axis\": 0}}, \"t\": {\"function\": "
        "\"onnx::Concat\", \"args\": {\"inputs\": [\"r\", \"k\"], \"axis\": 1}}}, \"output_ports\": {\"t\": {\"value\": "
        "\"t\"}}}}}}}}";
    static const struct {
        const char *n, *results;
    } cases[] = {
        {"2", "rows [[5, 2, 2], [5, 1, 3]]"},
        {"2", "rows [[5, 2, 2], [5, 1, 3]]"},
        {"3", "rows [[5, 1, 3, 3], [5, 2, 2, 4]]"},
        {"4", "rows [[5, 2, 2, 4, 4], [5, 1, 3, 3, 5]]"},
        {"1", "rows [[5, 1], [5, 2]]"},
        {"0", "rows [[5]]"},
        {"3", "rows [[5, 1, 3, 3], [5, 2, 2, 4]]"},
        {"4", "rows [[5, 2, 2, 4, 4], [5, 1, 3, 3, 5]]"},
    };
    struct engine engine;
    char text[1024];

    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(mdf_set_input_json(engine.state, "n", cases[i].n, &engine.error), MDF_OK, "%s", engine.error.message);
        cr_assert_eq(engine_evaluate(&engine, 1), MDF_OK, "%s", engine.error.message);
        write_results(engine.program, engine.state, text, sizeof text);
        cr_expect_str_eq(text, cases[i].results, "evaluation %zu: %s", i, text);
    }
    mdf_explain(engine.state, text, sizeof text);
    cr_expect(strstr(text, "graph 'g': lowered") != NULL, "%s", text);
    engine_end(&engine);
}

/* An array of one number that a lowered Scan gives lies in its form until somebody takes it: a Loop goes on with it while the
 * form is made anew, for another length of what it adds up. */
Test(growth, a_state_outlives_the_form_that_made_it)
{
    static const char model[] =
        "{\"m\": {\"onnx_opset_version\": \"21\", \"graphs\": {\"g\": {\"nodes\": {\"N\": {\"input_ports\": {\"a\": "
        "{\"default_value\": [0.5]}}, \"parameters\": {\"l\": "
        "{\"function\": "
        "\"onnx::Loop\", \"args\": {\"M\": 2, \"v_initial\": [\"a\"], \"body\": \"b\"}}}, \"output_ports\": {\"o\": "
        "{\"value\": "
        "\"l[1]\"}}}}}, \"b\": {\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"c\", \"t\", \"s\"]}, "
        "\"nodes\": "
        "{\"B\": {\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"parameters\": {\"q\": {\"function\": \"onnx::Loop\", "
        "\"args\": {\"M\": 1, \"cond\": \"bool(i)\", \"v_initial\": [], \"body\": \"zeros\"}}, \"r\": {\"function\": "
        "\"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": [\"s\"], \"num_scan_inputs\": 1, \"body\": \"same\"}}}, "
        "\"output_ports\": {\"t\": {\"value\": \"r\"}}}}}, \"zeros\": {\"metadata\": {\"inputs\": [\"j\", \"d\"], \"outputs\": "
        "[\"d\", \"z\"]}, \"nodes\": {\"B\": {\"input_ports\": {\"j\": {}, \"d\": {}}, \"output_ports\": {\"z\": {\"value\": "
        "\"0\"}}}}}, \"same\": {\"metadata\": {\"inputs\": [\"x\"], \"outputs\": [\"y\"]}, \"nodes\": {\"B\": {\"input_ports\": "
        "{\"x\": {}}, \"parameters\": {\"total\": {\"function\": \"onnx::Scan\", \"args\": {\"initial_state_and_scan_inputs\": "
        "[\"a\"], \"num_scan_inputs\": 1, \"body\": \"sum\"}}}, \"output_ports\": {\"y\": {\"value\": \"x\"}}}}}, \"sum\": "
        "{\"metadata\": {\"inputs\": [\"v\"], \"outputs\": [\"w\"]}, \"nodes\": {\"B\": {\"input_ports\": {\"v\": {}}, "
        "\"output_ports\": {\"w\": {\"value\": \"numpy.sum(q)\"}}}}}}}}";
    struct engine engine;
    char text[256];

    cr_assert(engine_begin(&engine, model, NULL), "%s", engine.error.message);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(engine_evaluate(&engine, 1), MDF_OK, "%s", engine.error.message);
        write_results(engine.program, engine.state, text, sizeof text);
        cr_expect_str_eq(text, "o [[0.5], [0.5]]", "evaluation %d", i);
    }
    engine_end(&engine);
}

/* ------------------------------------------------------------------ loops in loops */

#define LOOP_OF_LENGTHS(more, next)                                                                                          \
    "{\"function\": \"onnx::Loop\", \"args\": {\"M\": 5, \"v_initial\": \"[numpy.ones(2)]\", \"body\": {\"nodes\": {\"b\": " \
    "{\"input_ports\": {\"i\": {}, \"c\": {}, \"s\": {}}, \"functions\": {" more                                             \
    "\"p\": {\"function\": \"onnx::Pad\", \"args\": "                                                                        \
    "{\"data\": \"s\", \"pads\": [0, 1]}}}, \"output_ports\": {\"go\": {\"value\": \"c\"}, \"t\": {\"value\": \"" next       \
    "\"}}}}}}}"

/* A loop with others in it, whose states all get longer: each can be lowered in several ways, but not each in all of those of the
 * loops around it, which took minutes. */
Test(growth, loops_in_loops_are_not_tried_without_end, .timeout = 40)
{
    enum { N_LEVELS = 4 };
    struct mdf_text loops[N_LEVELS + 1], model;
    struct mdf_memory memory;
    struct engine engine;

    mdf_memory_init(&memory, NULL, 0);
    mdf_text_init(&model, &memory);
    mdf_text_init(&loops[0], &memory);
    mdf_text_append_string(&loops[0], LOOP_OF_LENGTHS("", "p * 0.5"));
    for (size_t i = 1; i <= N_LEVELS; i++) {
        mdf_text_init(&loops[i], &memory);
        mdf_text_printf(&loops[i],
                        LOOP_OF_LENGTHS("\"l\": %s, \"r\": {\"function\": \"onnx::ReduceSum\", \"args\": {\"data\": \"l\", "
                                        "\"keepdims\": 1}}, ",
                                        "p * 0.5 + r"),
                        loops[i - 1].bytes);
    }
    mdf_text_printf(&model,
                    "{\"m\": {\"onnx_opset_version\": \"16\", \"graphs\": {\"g\": {\"nodes\": {\"n\": {\"functions\": {\"l\": "
                    "%s}, \"output_ports\": {\"o\": {\"value\": \"l\"}}}}}}}}",
                    loops[N_LEVELS].bytes);
    cr_assert(engine_begin(&engine, model.bytes, NULL), "%s", engine.error.message);
    cr_expect_eq(engine_evaluate(&engine, 3), MDF_OK, "%s", engine.error.message);
    engine_end(&engine);
    for (size_t i = 0; i <= N_LEVELS; i++) {
        mdf_text_release(&loops[i]);
    }
    mdf_text_release(&model);
}
