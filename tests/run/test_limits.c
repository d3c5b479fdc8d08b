/* test_limits.c - operators that take long end soon when they are asked to, or past the time limit, and their state is then as
 * good as a new one; memory is bounded from the bytes of a file on. See docs/limits.md. */
#include "mdf_c/base/machine_memory.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/tensor/value.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* What is measured on an idle machine stays within 0.2 s; here others may run beside, and the build may be one without
 * optimisation. All of these take many times as long, some of them minutes, if they are left alone; what they are given is made
 * in a small part of that, so that it is they who are asked. */

/* A limit in which a small model is loaded and compiled, under an emulator of another processor too. */
#ifdef __x86_64__
static const double limit_s = 0.06, latest_s = 5;
static const bool is_for_emulators = false;
#else
static const double limit_s = 3, latest_s = 40; /* what is looked at every few milliseconds there takes a second */
static const bool is_for_emulators = true;
#endif

/* The lesser of what the clock and the processor say has passed counts: others may use the machine. */
struct moment {
    double clock_s, processor_s;
};

static struct moment now(void)
{
    struct timespec processor;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
    return (struct moment){mdf_clock_s(), (double)processor.tv_sec + (double)processor.tv_nsec / 1e9};
}

static double seconds_since(const struct moment *start)
{
    struct moment end = now();

    return fmin(end.clock_s - start->clock_s, end.processor_s - start->processor_s);
}

/* Parameters of a node that has the input n; p is the output. */
struct heavy {
    const char *parameters;
    double large, small; /* n, such that it takes long, and that it does not */
};

#define VALUE(text) "\"p\": {\"value\": \"" text "\"}"
#define WITH(x, call) "\"x\": {\"value\": \"" x "\"}, \"p\": {" call "}"

static const struct heavy heavies[] = {
    {VALUE("numpy.convolve(numpy.ones(int(n)), numpy.ones(int(n)))"), 1e6, 3},
    {VALUE("numpy.correlate(numpy.ones(int(n)), numpy.ones(int(n // 2)))"), 1e6, 4},
    {VALUE("numpy.linalg.inv(numpy.eye(int(n)) * 2 + 1)"), 800, 3},
    {VALUE("numpy.linalg.solve(numpy.eye(int(n)) * 2 + 1, numpy.ones(int(n)))"), 1000, 3},
    {VALUE("numpy.linalg.matrix_power(numpy.eye(int(n)), 1000)"), 1000, 3},
    {VALUE("sorted(numpy.sin(numpy.arange(int(n))))"), 5e5, 5},
    {VALUE("numpy.sort(numpy.sin(numpy.arange(int(n))))"), 3e6, 5},
    {VALUE("numpy.median(numpy.sin(numpy.arange(int(n))))"), 3e6, 5},
    {VALUE("numpy.matmul(numpy.ones((int(n), int(n))), numpy.ones((int(n), int(n))))"), 2500, 3},
    {VALUE("sum([i * i for i in range(int(n))])"), 1e7, 5},
    {VALUE("numpy.random.rand(int(n)) * 0"), sizeof(size_t) > 4 ? 1e9 : 1e8, 3}, /* what fits an address */
    {WITH("numpy.ones((int(n), int(n)))", "\"function\": \"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"x\"}"), 2500, 3},
    {WITH("numpy.ones((1, 64, int(n), int(n)))",
          "\"function\": \"onnx::Conv\", \"args\": {\"X\": \"x\", \"W\": \"numpy.ones((256, 64, 3, 3))\"}"),
     300, 5},
    {WITH("numpy.sin(numpy.arange(int(n)))", "\"function\": \"onnx::TopK\", \"args\": {\"X\": \"x\", \"K\": \"[int(n)]\"}"), 3e6,
     5},
    {WITH("numpy.ones((int(n), int(n)))",
          "\"function\": \"onnx::Einsum\", \"args\": {\"Inputs\": \"[x, x, x]\", \"equation\": \"ij,kj,lj->ikl\"}"),
     sizeof(size_t) > 4 ? 1000 : 400, 2}, /* what fits an address */
    {WITH("numpy.ones((1, int(n), 1))", "\"function\": \"onnx::DFT\", \"args\": {\"input\": \"x\"}"), 1e6 + 1, 5},
    {WITH("numpy.sin(numpy.arange(int(n)))", "\"function\": \"onnx::Unique\", \"args\": {\"X\": \"x\"}"), 3e6, 5},
    {WITH("numpy.ones((1, 1, int(n), int(n)))",
          "\"function\": \"onnx::Resize\", \"args\": {\"X\": \"x\", \"scales\": \"[1.0, 1.0, 8.0, 8.0]\", \"mode\": \"cubic\"}"),
     sizeof(size_t) > 4 ? 1200 : 700, 3}, /* what fits an address */
    {WITH("numpy.ones((int(n), 32, 32))", "\"function\": \"onnx::RNN\", \"args\": {\"X\": \"x\", \"W\": \"numpy.ones((1, 32, "
                                          "32)) / 64\", \"R\": \"numpy.ones((1, 32, "
                                          "32)) / 64\", \"hidden_size\": 32}"),
     15000, 3},
    {VALUE("[[i] for i in range(int(n))]"), 1e7, 5},
    {VALUE("numpy.linspace(0.0, 1.0, int(n))"), sizeof(size_t) > 4 ? 3e8 : 1e8, 5}, /* what fits an address */
    {VALUE("all(numpy.ones(int(n)))"), 3e7, 5},
    {VALUE("max(numpy.ones(int(n)))"), 3e7, 5},
    {VALUE("len([str(i) + 'a' for i in range(int(n))])"), 1e7, 5},
    {WITH("numpy.ones((int(n), 50))",
          "\"function\": \"ai.onnx.ml::SVMRegressor\", \"args\": {\"X\": \"x\", \"n_supports\": 20, "
          "\"support_vectors\": \"[0.5] * 1000\", \"coefficients\": \"[0.5] * 20\", \"rho\": \"[1.0]\"}"),
     100000, 3},
    {WITH("numpy.ones((1, 1, int(n)))",
          "\"function\": \"onnx::LpPool\", \"args\": {\"X\": \"x\", \"kernel_shape\": \"[64]\", \"p\": 3}"),
     2e6, 100},
    {WITH("numpy.ones((1, int(n), 500))", "\"function\": \"onnx::LinearAttention\", \"args\": {\"query\": \"x\", \"key\": \"x\", "
                                          "\"value\": \"x\", \"q_num_heads\": 1, "
                                          "\"kv_num_heads\": 1, \"update_rule\": \"linear\"}"),
     6000, 3},
};

static mdf_program *compile(const char *parameters, const mdf_options *options)
{
    char json[4096];
    mdf_error error = {0};
    mdf_model *model;
    mdf_program *program;

    snprintf(json, sizeof json,
             "{\"m\": {\"format\": \"ModECI MDF v0.4\", \"graphs\": {\"g\": {\"nodes\": {\"a\": {\"input_ports\": {\"n\": {}}, "
             "\"parameters\": {%s}, \"output_ports\": {\"o\": {\"value\": \"p\"}}}}}}}}",
             parameters);
    model = mdf_model_load_bytes(json, strlen(json), "json", "limits.json", options, &error);
    cr_assert_not_null(model, "%s: %s", parameters, error.message);
    program = mdf_compile(model, options, &error);
    cr_assert_not_null(program, "%s: %s", parameters, error.message);
    mdf_model_free(model);
    return program;
}

static mdf_state *make_state(const mdf_program *program)
{
    mdf_error error = {0};
    mdf_state *state = mdf_state_new(program, &error);

    cr_assert_not_null(state, "%s", error.message);
    return state;
}

static mdf_status evaluate(mdf_state *state, double n, mdf_error *error)
{
    const mdf_tensor tensor = {MDF_DTYPE_FLOAT64, 0, NULL, &n};

    cr_assert_eq(mdf_set_input(state, "n", &tensor, error), MDF_OK);
    return mdf_evaluate(state, NAN, error);
}

static bool is_same(const mdf_value *a, const mdf_value *b)
{
    mdf_tensor x, y;

    if (mdf_value_kind(a) != mdf_value_kind(b) || mdf_value_length(a) != mdf_value_length(b)) {
        return false;
    }
    for (size_t i = 0; i < mdf_value_length(a); i++) {
        if (!is_same(mdf_value_item(a, i), mdf_value_item(b, i))) {
            return false;
        }
    }
    if (!mdf_value_tensor(a, &x)) {
        return true;
    }
    if (!mdf_value_tensor(b, &y) || x.dtype != y.dtype || x.rank != y.rank) {
        return false;
    }
    size_t n = mdf_dtype_size(x.dtype);
    for (size_t i = 0; i < x.rank; i++) {
        if (x.shape[i] != y.shape[i]) {
            return false;
        }
        n *= (size_t)x.shape[i];
    }
    return memcmp(x.data, y.data, n) == 0;
}

/* After it was stopped, a state gives what a new one gives. */
static void check_state(const struct heavy *heavy, const mdf_program *program, mdf_state *state)
{
    mdf_state *fresh = make_state(program);
    mdf_error error = {0};

    mdf_state_limit_time(fresh, 1000); /* on a busy machine the smallest may take longer than what the large one has */
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(evaluate(state, heavy->small, &error), MDF_OK, "%s: %s", heavy->parameters, error.message);
        cr_assert_eq(evaluate(fresh, heavy->small, &error), MDF_OK, "%s: %s", heavy->parameters, error.message);
        cr_expect(is_same(mdf_output(state, "a", "o"), mdf_output(fresh, "a", "o")), "%s", heavy->parameters);
    }
    mdf_state_free(fresh);
}

struct interruption {
    mdf_state *state;
    struct moment asked;
};

static void *interrupt_soon(void *argument)
{
    struct interruption *interruption = argument;

    usleep(4000);
    interruption->asked = now();
    mdf_state_interrupt(interruption->state);
    return NULL;
}

static void interrupt(const struct heavy *heavy, int n_threads)
{
    const mdf_options options = {.n_threads = n_threads};
    mdf_program *program = compile(heavy->parameters, &options);
    struct interruption interruption = {.state = make_state(program)};
    mdf_error error = {0};
    pthread_t thread;
    mdf_status status;
    double late_s;

    cr_assert_eq(pthread_create(&thread, NULL, interrupt_soon, &interruption), 0);
    status = evaluate(interruption.state, heavy->large, &error);
    late_s = seconds_since(&interruption.asked);
    pthread_join(thread, NULL);
    cr_expect_eq(status, MDF_INTERRUPTED, "%s: %s", heavy->parameters, error.message);
    cr_expect_str_eq(error.message, "interrupted");
    cr_expect_lt(late_s, latest_s, "%s: %g s", heavy->parameters, late_s);
    check_state(heavy, program, interruption.state);
    mdf_state_free(interruption.state);
    mdf_program_free(program);
}

Test(limits, heavy_operators_are_interrupted)
{
    for (size_t i = 0; i < COUNT(heavies); i++) {
        interrupt(&heavies[i], 1 + (int)(i % 2));
    }
}

Test(limits, time_limit_of_one_evaluation)
{
    for (size_t i = 0; i < COUNT(heavies); i += 5) {
        const mdf_options options = {.n_threads = 1, .time_limit_s = limit_s};
        mdf_program *program = compile(heavies[i].parameters, &options);
        mdf_state *state = make_state(program);
        mdf_error error = {0};
        struct moment start = now();

        mdf_status status = evaluate(state, heavies[i].large, &error);

        cr_expect_lt(seconds_since(&start), limit_s + latest_s, "%s", heavies[i].parameters);
        if (status != MDF_OK || !is_for_emulators) { /* without an emulator, less than its limit may do */
            cr_expect_eq(status, MDF_LIMIT, "%s", heavies[i].parameters);
            cr_expect_not_null(strstr(error.message, "--time-limit"), "%s", error.message);
            cr_expect_not_null(strstr(error.path, "node 'a'"), "%s", error.path);
        }
        mdf_state_limit_time(state, 1000);
        check_state(&heavies[i], program, state);
        mdf_state_free(state);
        mdf_program_free(program);
    }
}

/* The limit of a state holds for all evaluations together, and can be taken back. */
Test(limits, time_limit_of_a_state)
{
    mdf_program *program = compile(VALUE("n + 1"), NULL);
    mdf_state *state = make_state(program);
    mdf_error error = {0};

    mdf_state_limit_time(state, 1e-9);
    cr_expect_eq(evaluate(state, 1, &error), MDF_LIMIT);
    memset(&error, 0, sizeof error);
    cr_expect_eq(evaluate(state, 1, &error), MDF_LIMIT);
    mdf_state_limit_time(state, 0);
    memset(&error, 0, sizeof error);
    cr_expect_eq(evaluate(state, 1, &error), MDF_OK, "%s", error.message);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* Many steps in machine code, which looks at nothing but a flag. */
Test(limits, time_limit_of_many_steps)
{
    const mdf_options options = {.time_limit_s = 2 * limit_s};
    mdf_program *program = compile("\"p\": {\"value\": \"p + n\", \"default_initial_value\": 0.0}", &options);
    mdf_state *state = make_state(program);
    mdf_error error = {0};
    uint64_t n_done, n_recorded;
    struct moment start = now();

    cr_expect_eq(mdf_evaluate_steps(state, UINT64_MAX, NAN, NAN, 0, NULL, 0, &n_done, &n_recorded, &error), MDF_LIMIT);
    cr_expect_lt(seconds_since(&start), 2 * limit_s + latest_s);
    cr_expect_gt(n_done, 10);
    mdf_state_free(state);
    mdf_program_free(program);
}

/* ------------------------------------------------------------------ memory */

/* The memory of work that is to stop gives nothing more, and copies and zeroes no further; of work that has ended it does again.
 */
Test(limits, memory_of_stopped_work)
{
    const size_t n_bytes = (size_t)24 << 20, n_done = (size_t)20 << 20;
    const int64_t shape = (int64_t)1 << 22;
    struct mdf_value numbers = {0}, converted = {0};
    struct mdf_memory memory;
    struct mdf_stop stop;
    mdf_error error = {0};
    char *block, *copy;

    mdf_memory_init(&memory, NULL, 0);
    mdf_stop_init(&stop);
    cr_assert(mdf_stop_begin(&stop, &memory, INFINITY, &error));
    block = mdf_memory_allocate(&memory, n_bytes);
    copy = mdf_memory_allocate(&memory, n_bytes);
    cr_assert(block != NULL && copy != NULL);
    cr_assert(mdf_memory_zero(&memory, block, n_bytes) && mdf_memory_copy(&memory, copy, block, n_bytes));
    cr_assert_not_null(mdf_value_make_tensor(&memory, &numbers, MDF_DTYPE_INT32, 1, &shape));
    memset(numbers.data, 0, (size_t)shape * sizeof(int32_t));
    memset(block, 1, n_bytes);
    mdf_stop_ask(&stop);
    cr_expect_null(mdf_memory_allocate(&memory, 1));
    cr_expect_null(mdf_memory_allocate_zeroed(&memory, 1, 1));
    cr_expect_null(mdf_memory_resize(&memory, block, 2 * n_bytes));
    cr_expect(mdf_stop_is_untold(&stop));
    cr_expect(!mdf_memory_copy(&memory, copy, block, n_bytes) && copy[n_done] == 0);
    cr_expect(!mdf_memory_zero(&memory, block, n_bytes) && block[n_done] == 1);
    cr_expect(!mdf_value_convert(&memory, &converted, &numbers, MDF_DTYPE_FLOAT64));
    mdf_stop_tell(&stop, &error);
    mdf_stop_end(&stop);
    cr_expect(mdf_value_convert(&memory, &converted, &numbers, MDF_DTYPE_FLOAT64));
    mdf_value_clear(&memory, &numbers);
    mdf_value_clear(&memory, &converted);
    mdf_memory_release(&memory, block);
    mdf_memory_release(&memory, copy);
    mdf_stop_release(&stop, &memory);
}

/* A model whose expressions are some hundred times as large compiled as they are as text. */
static char *write_long_expressions(size_t n_parameters)
{
    const size_t n_terms = 900, n_bytes = n_parameters * (2 * n_terms + 64) + 512;
    char *json = malloc(n_bytes), *end = json;

    cr_assert_not_null(json);
    end += sprintf(end, "{\"m\": {\"format\": \"x\", \"graphs\": {\"g\": {\"nodes\": {\"a\": {\"parameters\": {");
    for (size_t i = 0; i < n_parameters; i++) {
        end += sprintf(end, "%s\"p%zu\": {\"value\": \"1", i > 0 ? "," : "", i);
        for (size_t k = 0; k < n_terms; k++) {
            *end++ = '+';
            *end++ = '1';
        }
        end += sprintf(end, "\"}");
    }
    sprintf(end, "}, \"output_ports\": {\"o\": {\"value\": \"p0\"}}}}}}}}");
    return json;
}

/* Reading a model has the time limit too: past it, memory is refused. */
Test(limits, time_limit_of_loading)
{
    static const char *const formats[] = {"json", "yaml"};
    char *json = write_long_expressions(50);
    const mdf_options options = {.time_limit_s = 1e-9};

    for (size_t i = 0; i < COUNT(formats); i++) {
        mdf_error error = {0};

        cr_expect_null(mdf_model_load_bytes(json, strlen(json), formats[i], "long.json", &options, &error));
        cr_expect_eq(error.code, MDF_LIMIT);
        cr_expect_not_null(strstr(error.message, "--time-limit"), "%s", error.message);
    }
    free(json);
}

Test(limits, memory_of_loading_and_compiling)
{
    char *json = write_long_expressions(50);
    mdf_options options = {.max_memory_bytes = 8 << 20};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_bytes(json, strlen(json), "json", "long.json", &options, &error);
    mdf_program *program;

    cr_assert_not_null(model, "%s", error.message);
    cr_expect_null(mdf_compile(model, &options, &error));
    cr_expect_eq(error.code, MDF_LIMIT);
    cr_expect_not_null(strstr(error.message, "8388608 bytes that --max-memory"), "%s", error.message);
    options.max_memory_bytes = SIZE_MAX; /* none */
    memset(&error, 0, sizeof error);
    program = mdf_compile(model, &options, &error);
    cr_assert_not_null(program, "%s", error.message);
    mdf_program_free(program);
    mdf_model_free(model);
    options.max_memory_bytes = 50000; /* less than the text */
    cr_expect_null(mdf_model_load_bytes(json, strlen(json), "json", "long.json", &options, &error));
    cr_expect_eq(error.code, MDF_LIMIT);
    free(json);
}

/* 65 bytes that claim 16000 by 16000 pixels, which they can not hold: they are no image, and cost nothing. */
Test(limits, memory_of_an_image)
{
    static const char png[] =
        "137,80,78,71,13,10,26,10,0,0,0,13,73,72,68,82,0,0,62,128,0,0,62,128,8,2,0,0,0,206,28,72,137,0,0,0,8,73,68,65,84,120,156,"
        "3,0,0,0,0,1,72,6,137,210,0,0,0,0,73,69,78,68,174,66,96,130";
    const mdf_options options = {.max_memory_bytes = 10 << 20};
    char parameters[1024];
    mdf_program *program;
    mdf_error error = {0};
    mdf_tensor image;
    mdf_state *state;

    snprintf(parameters, sizeof parameters,
             WITH("numpy.array([%s], dtype=numpy.uint8)",
                  "\"function\": \"onnx::ImageDecoder\", \"args\": {\"encoded_stream\": \"x\"}"),
             png);
    program = compile(parameters, &options);
    state = make_state(program);
    cr_assert_eq(evaluate(state, 0, &error), MDF_OK, "%s", error.message);
    cr_assert(mdf_value_tensor(mdf_output(state, "a", "o"), &image));
    cr_expect(image.rank == 3 && image.shape[0] == 0 && image.shape[1] == 0);
    cr_expect_lt(mdf_state_peak_bytes(state), 1 << 20);
    mdf_state_free(state);
    mdf_program_free(program);
}

Test(limits, memory_of_the_machine)
{
    size_t n_bytes = mdf_machine_memory();
    struct mdf_memory memory;

    cr_expect(n_bytes == 0 || n_bytes > MDF_MEMORY_OF_COURSE);
    cr_expect_eq(mdf_memory_bound(1000), 1000);
    cr_expect_eq(mdf_memory_bound(SIZE_MAX), 0);

    mdf_memory_init(&memory, NULL, mdf_memory_bound(0)); /* not asked for by what is small */
    cr_expect(mdf_memory_has_room(&memory, MDF_MEMORY_OF_COURSE));
    cr_expect_eq(memory.limit_bytes, MDF_MEMORY_OF_MACHINE);
    cr_expect(mdf_memory_has_room(&memory, MDF_MEMORY_OF_COURSE + 1));
    cr_expect_eq(memory.limit_bytes, n_bytes);
    cr_expect(mdf_memory_has_room(&memory, n_bytes));
    cr_expect_eq(mdf_memory_has_room(&memory, n_bytes + 1), n_bytes == 0);
}
