/* test_sweep.c - sweeps: each instance gives the bits of a run of its own, whatever the number of threads; what goes wrong is
 * told. */
#include "mdf_c/mdf.h"
#include "mdf_c/run/sweep/sweep.h"
#include "tests/support/refused_pieces.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cell with an initial value that is a whole number, an input, noise, and a counter that runs in every second pass only. */
static const char cell[] =
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"I\": {}}, \"parameters\": {\"a\": {\"value\": 0.7}, "
    "\"noise\": {\"value\": 0.0}, \"V\": {\"default_initial_value\": 1, \"time_derivative\": \"I - a * V + noise * "
    "numpy.random.normal()\"}}, \"output_ports\": {\"V\": {\"value\": \"V\"}, \"pair\": {\"value\": \"[V, a]\"}, \"text\": "
    "{\"value\": \"'yes'\"}}}, \"late\": {\"input_ports\": {\"x\": {\"default_value\": 0.5}}, \"output_ports\": {\"x\": "
    "{\"value\": "
    "\"x * 2\"}}}}, \"conditions\": {\"node_specific\": {\"late\": {\"type\": \"AfterNCalls\", \"kwargs\": {\"dependency\": "
    "\"n\", "
    "\"n\": 3}}}}}}}}";

enum { N = 23, STEPS = 40 };

struct fixture {
    mdf_error error;
    mdf_model *model;
    mdf_program *program;
    mdf_sweep *sweep;
    double a[N], currents[STEPS], results[N * STEPS];
    int64_t shape[2];
    mdf_sweep_values parameters[2], inputs[1];
    mdf_record records[1];
    mdf_sweep_options options;
    size_t n_lanes;
};

static void begin_with(struct fixture *fixture, const char *text, const char *const *parameters, size_t n,
                       const mdf_options *options)
{
    memset(fixture, 0, sizeof *fixture);
    fixture->model = mdf_model_load_bytes(text, strlen(text), "json", "model.json", NULL, &fixture->error);
    cr_assert_not_null(fixture->model, "%s", fixture->error.message);
    fixture->program = mdf_compile_changeable(fixture->model, parameters, n, options, &fixture->error);
    cr_assert_not_null(fixture->program, "%s", fixture->error.message);
}

/* N values of a, an input that changes with the steps, V after each step. */
static void begin(struct fixture *fixture)
{
    static const char *const parameters[] = {"n.a", "noise"};
    static const double noise = 0.25;
    int i;

    begin_with(fixture, cell, parameters, 2, NULL);
    for (i = 0; i < N; i++) {
        fixture->a[i] = 0.1 + 0.05 * i;
    }
    for (i = 0; i < STEPS; i++) {
        fixture->currents[i] = sin(0.3 * i);
    }
    fixture->shape[0] = N;
    fixture->shape[1] = STEPS;
    fixture->parameters[0] =
        (mdf_sweep_values){"n.a", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, fixture->shape, fixture->a}};
    fixture->parameters[1] = (mdf_sweep_values){"noise", 0, {MDF_DTYPE_FLOAT64, 0, NULL, &noise}};
    fixture->inputs[0] =
        (mdf_sweep_values){"I", MDF_SWEEP_PER_STEP, {MDF_DTYPE_FLOAT64, 1, fixture->shape + 1, fixture->currents}};
    fixture->records[0] = (mdf_record){.dtype = MDF_DTYPE_NONE};
    fixture->options = (mdf_sweep_options){.n_instances = N,
                                           .parameters = fixture->parameters,
                                           .n_parameters = 2,
                                           .inputs = fixture->inputs,
                                           .n_inputs = 1,
                                           .records = fixture->records,
                                           .n_records = 1,
                                           .n_steps = STEPS,
                                           .dt = 0.1,
                                           .record_every = 1,
                                           .seed = 5,
                                           .n_threads = 1};
}

static void end(struct fixture *fixture)
{
    mdf_sweep_free(fixture->sweep);
    mdf_program_free(fixture->program);
    mdf_model_free(fixture->model);
}

static mdf_status run(struct fixture *fixture)
{
    void *arrays[] = {fixture->results};

    mdf_sweep_free(fixture->sweep);
    memset(&fixture->error, 0, sizeof fixture->error);
    fixture->options.n_lanes = fixture->n_lanes;
    fixture->sweep = mdf_sweep_new(fixture->program, &fixture->options, &fixture->error);
    return fixture->sweep != NULL ? mdf_sweep_run(fixture->sweep, arrays, &fixture->error) : fixture->error.code;
}

/* The same as run of its own, on a state that is new. */
static void run_alone(struct fixture *fixture, int instance, double *values)
{
    mdf_state *state = mdf_state_new(fixture->program, &fixture->error);
    const double noise = 0.25;
    int step;

    cr_assert_eq(mdf_state_reset(state, mdf_sweep_seed(5, (uint64_t)instance), &fixture->error), MDF_OK);
    mdf_set_parameter(state, "n.a", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &fixture->a[instance]}, &fixture->error);
    mdf_set_parameter(state, "n.noise", &(mdf_tensor){MDF_DTYPE_FLOAT64, 0, NULL, &noise}, &fixture->error);
    for (step = 0; step < STEPS; step++) {
        mdf_tensor current = {MDF_DTYPE_FLOAT64, 0, NULL, &fixture->currents[step]}, value;

        mdf_set_input(state, "I", &current, &fixture->error);
        cr_assert_eq(mdf_evaluate(state, step == 0 ? NAN : 0.1, &fixture->error), MDF_OK, "%s", fixture->error.message);
        cr_assert(mdf_value_tensor(mdf_output_at(state, 0, 0), &value));
        values[step] = value.dtype == MDF_DTYPE_INT64 ? (double)*(const int64_t *)value.data : *(const double *)value.data;
    }
    mdf_state_free(state);
}

Test(sweep, each_instance_is_a_run_of_its_own_whatever_the_number_of_threads)
{
    struct fixture fixture;
    double alone[STEPS];
    int threads[] = {1, 2, 7, 0}, i, j;
    mdf_tensor form;

    begin(&fixture);
    for (i = 0; i < 4; i++) {
        fixture.options.n_threads = threads[i];
        memset(fixture.results, 0xff, sizeof fixture.results);
        cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
        cr_assert_eq(mdf_sweep_n_done(fixture.sweep), N);
        cr_assert_eq(mdf_sweep_n_rows(fixture.sweep), STEPS);
        cr_assert(mdf_sweep_form(fixture.sweep, 0, &form) && form.dtype == MDF_DTYPE_FLOAT64 && form.rank == 0);
        for (j = 0; j < N; j++) {
            run_alone(&fixture, j, alone);
            cr_assert_eq(memcmp(alone, fixture.results + j * STEPS, sizeof alone), 0, "instance %d on %d threads", j, threads[i]);
        }
    }
    cr_assert_eq(fixture.results[0], 1, "the whole number that V begins with is widened");
    end(&fixture);
}

Test(sweep, steps_that_nobody_looks_at_are_the_same_many_at_once)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"r\": {\"value\": 3.7}, \"x\": {\"value\": "
        "\"r * x * (1 - x)\", \"default_initial_value\": 0.4}}, \"output_ports\": {\"X\": {\"value\": \"x\"}}}}}}}}";
    static const char *const names[] = {"r"};
    const size_t every[] = {2, 7, 15, STEPS};
    struct fixture fixture;
    double all[N * STEPS];
    size_t i, j, row, n_rows;

    begin_with(&fixture, model, names, 1, NULL);
    for (i = 0; i < N; i++) {
        fixture.a[i] = 3.6 + 0.01 * (double)i;
    }
    fixture.shape[0] = N;
    fixture.parameters[0] = (mdf_sweep_values){"r", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, fixture.shape, fixture.a}};
    fixture.records[0] = (mdf_record){.dtype = MDF_DTYPE_NONE};
    fixture.options = (mdf_sweep_options){.n_instances = N,
                                          .parameters = fixture.parameters,
                                          .n_parameters = 1,
                                          .records = fixture.records,
                                          .n_records = 1,
                                          .n_steps = STEPS,
                                          .dt = NAN,
                                          .record_every = 1,
                                          .n_threads = 1};
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    memcpy(all, fixture.results, sizeof all);
    for (i = 0; i < sizeof every / sizeof *every; i++) {
        fixture.options.record_every = every[i];
        n_rows = (STEPS - 1) / every[i] + 1;
        cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
        for (j = 0; j < N; j++) {
            for (row = 0; row < n_rows; row++) {
                cr_assert_eq(fixture.results[j * n_rows + row], all[j * STEPS + row * every[i]]);
            }
        }
    }
    end(&fixture);
}

Test(sweep, seeds_and_steps_can_be_chosen)
{
    struct fixture fixture;
    uint64_t seeds[N];
    double all[N * STEPS];
    int i;

    begin(&fixture);
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    memcpy(all, fixture.results, sizeof all);
    for (i = 0; i < N; i++) {
        seeds[i] = mdf_sweep_seed(5, (uint64_t)i);
    }
    fixture.options.seed = 0;
    fixture.options.seeds = seeds;
    fixture.options.record_every = 15;
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    cr_assert_eq(mdf_sweep_n_rows(fixture.sweep), (STEPS - 1) / 15 + 1);
    cr_assert_eq(fixture.results[3 * ((STEPS - 1) / 15 + 1)], all[3 * STEPS]);
    cr_assert_eq(fixture.results[3 * ((STEPS - 1) / 15 + 1) + 1], all[3 * STEPS + 15]);
    fixture.options.record_every = 0;
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    cr_assert_eq(mdf_sweep_n_rows(fixture.sweep), 1);
    cr_assert_eq(fixture.results[4], all[4 * STEPS + STEPS - 1]);
    fixture.options.seeds = NULL; /* a part of the sweep */
    fixture.options.seed = 5;
    fixture.options.first_instance = 4;
    fixture.options.n_instances = 3;
    fixture.shape[0] = 3;
    fixture.parameters[0].values.data = fixture.a + 4;
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    cr_assert_eq(fixture.results[0], all[4 * STEPS + STEPS - 1]);
    cr_assert_eq(fixture.results[2], all[6 * STEPS + STEPS - 1]);
    fixture.options.seeds = seeds;
    fixture.options.n_instances = fixture.shape[0] = N;
    fixture.parameters[0].values.data = fixture.a;
    seeds[4]++;
    cr_assert_eq(run(&fixture), MDF_OK);
    cr_assert_neq(fixture.results[4], all[4 * STEPS + STEPS - 1]);
    cr_assert_eq(fixture.results[5], all[5 * STEPS + STEPS - 1]);
    end(&fixture);
}

Test(sweep, an_input_is_given_in_each_step)
{
    struct fixture fixture;
    double each[N * STEPS];
    int64_t shape[] = {N};
    int i;

    begin(&fixture);
    for (i = 0; i < STEPS; i++) {
        fixture.currents[i] = 0.5;
    }
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    memcpy(each, fixture.results, sizeof each);
    fixture.inputs[0] = (mdf_sweep_values){"n.I", 0, {MDF_DTYPE_FLOAT64, 0, NULL, fixture.currents}};
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    cr_assert_eq(memcmp(each, fixture.results, sizeof each), 0);
    fixture.inputs[0] = (mdf_sweep_values){"n.I", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, shape, fixture.currents}};
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    cr_assert_eq(memcmp(each, fixture.results, sizeof each), 0);
    end(&fixture);
}

Test(sweep, the_seed_of_an_instance_is_a_number_of_splitmix64)
{
    /* The first three numbers from seed 1234567, as the reference implementation (prng.di.unimi.it/splitmix64.c) gives them. */
    cr_assert_eq(mdf_sweep_seed(1234567, 0), 6457827717110365317u);
    cr_assert_eq(mdf_sweep_seed(1234567, 1), 3203168211198807973u);
    cr_assert_eq(mdf_sweep_seed(1234567, 2), 9817491932198370423u);
}

Test(sweep, lists_of_numbers_are_arrays_and_what_has_not_run_is_nan)
{
    struct fixture fixture;
    double pairs[N * STEPS * 2], late[N * STEPS];
    mdf_record records[] = {{.node = 0, .output = 1, .dtype = MDF_DTYPE_NONE}, {.node = 1, .output = 0, .dtype = MDF_DTYPE_NONE}};
    void *arrays[] = {pairs, late};
    mdf_tensor form;

    begin(&fixture);
    fixture.options.records = records;
    fixture.options.n_records = 2;
    fixture.sweep = mdf_sweep_new(fixture.program, &fixture.options, &fixture.error);
    cr_assert_not_null(fixture.sweep, "%s", fixture.error.message);
    cr_assert(mdf_sweep_form(fixture.sweep, 0, &form) && form.rank == 1 && form.shape[0] == 2);
    cr_assert(!mdf_sweep_form(fixture.sweep, 2, &form));
    cr_assert_eq(mdf_sweep_run(fixture.sweep, arrays, &fixture.error), MDF_OK, "%s", fixture.error.message);
    cr_assert_eq(pairs[2 * STEPS * 6 + 1], fixture.a[6]);
    cr_assert_not(isnan(late[STEPS - 1]));
    end(&fixture);
}

Test(sweep, a_node_that_has_not_run_yet_gives_nan)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": \"k + 1\", "
        "\"default_initial_value\": "
        "0}}, \"output_ports\": {\"k\": {\"value\": \"k\"}}}, \"late\": {\"output_ports\": {\"x\": {\"value\": \"2.5\"}}}}, "
        "\"conditions\": {\"node_specific\": {\"n\": {\"type\": \"Always\"}, \"late\": {\"type\": \"AfterNCalls\", \"kwargs\": "
        "{\"dependency\": \"n\", \"n\": 3, \"time_scale\": \"TimeScale.LIFE\"}}}, \"termination\": "
        "{\"environment_state_update\": "
        "{\"type\": \"AfterPass\", \"kwargs\": {\"n\": 0}}}}}}}}";
    struct fixture fixture;
    mdf_record record = {.node = 1, .dtype = MDF_DTYPE_NONE};

    begin_with(&fixture, model, NULL, 0, NULL);
    fixture.options =
        (mdf_sweep_options){.n_instances = 1, .records = &record, .n_records = 1, .n_steps = 5, .dt = NAN, .record_every = 1};
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    cr_assert(isnan(fixture.results[0]));
    cr_assert_eq(fixture.results[4], 2.5);
    end(&fixture);
}

/* What is asked for wrongly, and a piece of what is said. */
enum mistake { NO_STEPS, NO_SUCH_PORT, NO_SUCH_INPUT, NO_SUCH_PARAMETER, TOO_FEW_VALUES, PARAMETER_PER_STEP, TEXTS, TEXT_PORT };

static const struct {
    enum mistake mistake;
    const char *message;
} mistakes[] = {
    {NO_STEPS, "at least one step"},
    {NO_SUCH_PORT, "the program has no output port 9 of node 0"},
    {NO_SUCH_INPUT, "no input port is called 'II'; did you mean 'I'?"},
    {NO_SUCH_PARAMETER, "the program has no changeable parameter 'V'"},
    {TOO_FEW_VALUES, "axis 0 of the values must have 24 entries, one for each instance"},
    {PARAMETER_PER_STEP, "a parameter has one value for all steps"},
    {TEXTS, "its values must be numbers"},
    {TEXT_PORT, "a sweep records numbers, not texts"},
};

static void make_mistake(struct fixture *fixture, enum mistake mistake)
{
    switch (mistake) {
    case NO_STEPS:
        fixture->options.n_steps = 0;
        break;
    case NO_SUCH_PORT:
        fixture->records[0].output = 9;
        break;
    case NO_SUCH_INPUT:
        fixture->inputs[0].name = "II";
        break;
    case NO_SUCH_PARAMETER:
        fixture->parameters[0].name = "V";
        break;
    case TOO_FEW_VALUES:
        fixture->options.n_instances = N + 1;
        break;
    case PARAMETER_PER_STEP:
        fixture->parameters[0].axes |= MDF_SWEEP_PER_STEP;
        break;
    case TEXTS:
        fixture->inputs[0].values.dtype = MDF_DTYPE_STRING;
        break;
    case TEXT_PORT:
        fixture->records[0].output = 2;
        break;
    }
}

Test(sweep, mistakes_are_told)
{
    size_t i;

    for (i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct fixture fixture;

        begin(&fixture);
        make_mistake(&fixture, mistakes[i].mistake);
        cr_assert_neq(run(&fixture), MDF_OK, "%s", mistakes[i].message);
        cr_assert_not_null(strstr(fixture.error.message, mistakes[i].message), "%s", fixture.error.message);
        end(&fixture);
    }
}

/* Outputs that no sweep can record, with the place. */
Test(sweep, what_can_not_be_recorded_is_told)
{
    static const struct {
        const char *value, *message;
    } cases[] = {
        {"[[1, 2], [3]]", "a sweep records arrays of numbers: leave the port out"},
        {"numpy.ones(int(k) + 1)", "the value is float64[2] where the first instance ended with float64[4]"},
        {"numpy.ones(int(k))", "the value is float64[1] where the first instance ended with float64[3]"},
        {"numpy.ones(3 - int(k))", "the value is float64[2] where the first instance ended with float64[0]"},
        {"k if k < 3 else numpy.ones(0)", "the value is float64 scalar where the first instance ended with float64[0]"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        mdf_record record = {.dtype = MDF_DTYPE_NONE};
        char model[600];

        snprintf(model, sizeof model,
                 "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"k\": {\"value\": \"k + 1.0\", "
                 "\"default_initial_value\": 0.0}}, \"output_ports\": {\"o\": {\"value\": \"%s\"}}}}}}}}",
                 cases[i].value);
        begin_with(&fixture, model, NULL, 0, NULL);
        fixture.options = (mdf_sweep_options){
            .n_instances = 1, .records = &record, .n_records = 1, .n_steps = 3, .dt = NAN, .record_every = 1, .n_threads = 1};
        cr_expect_neq(run(&fixture), MDF_OK, "%s", cases[i].value);
        cr_expect_not_null(strstr(fixture.error.message, cases[i].message), "%s: %s", cases[i].value, fixture.error.message);
        cr_expect_not_null(strstr(fixture.error.path, "node 'n', output port 'o'"), "%s: %s", cases[i].value, fixture.error.path);
        end(&fixture);
    }
}

Test(sweep, the_form_of_a_record_is_checked)
{
    static const struct {
        mdf_dtype dtype;
        int64_t shape[2];
    } forms[] = {{MDF_DTYPE_STRING, {1, 1}}, {MDF_DTYPE_FLOAT64, {INT64_MAX, 2}}, {MDF_DTYPE_FLOAT64, {INT64_MAX / 64, 1}}};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct fixture fixture;

        begin(&fixture);
        fixture.records[0] = (mdf_record){.dtype = forms[i].dtype, .rank = 2, .shape = forms[i].shape};
        cr_expect_neq(run(&fixture), MDF_OK, "form %zu", i);
        cr_expect_not_null(strstr(fixture.error.message, "the form of a record must be that of an array of numbers"),
                           "form %zu: %s", i, fixture.error.message);
        end(&fixture);
    }
}

Test(sweep, the_error_is_that_of_the_first_instance_that_fails)
{
    static const char model[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"output_ports\": "
        "{\"y\": {\"value\": \"[1.0, 2.0, 3.0][x]\"}}}}}}}}";
    struct fixture fixture;
    int64_t places[200], shape[] = {200};
    mdf_sweep_values input = {"x", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_INT64, 1, shape, places}};
    mdf_record record = {.dtype = MDF_DTYPE_NONE};
    int threads, i;

    begin_with(&fixture, model, NULL, 0, NULL);
    for (i = 0; i < 200; i++) {
        places[i] = i >= 37 && i % 2 == 1 ? 5 : 1;
    }
    fixture.options = (mdf_sweep_options){
        .n_instances = 200, .inputs = &input, .n_inputs = 1, .records = &record, .n_records = 1, .n_steps = 1, .dt = NAN};
    for (threads = 1; threads < 6; threads++) {
        fixture.options.n_threads = threads;
        cr_assert_neq(run(&fixture), MDF_OK);
        cr_assert_not_null(strstr(fixture.error.message, "(instance 37, step 1)"), "%s", fixture.error.message);
        cr_assert_str_eq(fixture.error.path, "node 'n', output port 'y'");
    }
    end(&fixture);
}

static bool stop_at_once(void *context, size_t n_done, size_t n_instances)
{
    *(size_t *)context += 1;
    cr_assert_leq(n_done, n_instances);
    return false;
}

Test(sweep, the_caller_can_stop_it)
{
    static const char endless[] =
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"x\": {\"value\": 1.0}, \"v\": {\"function\": "
        "\"onnx::Loop\", \"args\": {\"M\": 100000000000, \"v_initial\": \"[x]\", \"body\": {\"nodes\": {\"b\": {\"input_ports\": "
        "{\"i\": {}, \"c\": {}, \"s\": {}}, \"output_ports\": {\"go\": {\"value\": \"c\"}, \"o\": {\"value\": \"s + 1\"}}}}, "
        "\"metadata\": {\"inputs\": [\"i\", \"c\", \"s\"], \"outputs\": [\"go\", \"o\"]}}}}}, \"output_ports\": {\"v\": "
        "{\"value\": "
        "\"v\"}}}}}}}}";
    struct fixture fixture;
    mdf_record record = {.dtype = MDF_DTYPE_FLOAT64};
    size_t n_calls = 0;
    mdf_sweep *sweep;

    begin_with(&fixture, endless, NULL, 0, NULL);
    fixture.options = (mdf_sweep_options){.n_instances = 9,
                                          .records = &record,
                                          .n_records = 1,
                                          .n_steps = 3,
                                          .dt = NAN,
                                          .n_threads = 2,
                                          .progress = stop_at_once,
                                          .progress_context = &n_calls};
    cr_assert_eq(run(&fixture), MDF_INTERRUPTED);
    cr_assert_geq(n_calls, 1);
    memset(&fixture.error, 0, sizeof fixture.error);
    record.dtype = MDF_DTYPE_NONE; /* the first instance is evaluated to find it */
    sweep = mdf_sweep_new(fixture.program, &fixture.options, &fixture.error);
    cr_assert(sweep == NULL && fixture.error.code == MDF_INTERRUPTED);
    end(&fixture);
}

Test(sweep, no_instances_are_no_work)
{
    struct fixture fixture;

    begin(&fixture);
    fixture.options.n_instances = 0;
    fixture.shape[0] = 0;
    cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
    end(&fixture);
}

/* ------------------------------------------------------------------ memory */

/* Refuses from the n-th allocation on; threads share it. */
struct meter {
    pthread_mutex_t lock;
    long left, held;
};

static void *allocate(void *context, size_t size_bytes)
{
    struct meter *meter = context;
    void *block = NULL;

    pthread_mutex_lock(&meter->lock);
    if (meter->left-- > 0) {
        block = malloc(size_bytes);
        meter->held += block != NULL;
    }
    pthread_mutex_unlock(&meter->lock);
    return block;
}

static void *reallocate(void *context, void *block, size_t size_bytes)
{
    struct meter *meter = context;
    void *moved = NULL;

    pthread_mutex_lock(&meter->lock);
    if (meter->left-- > 0) {
        moved = realloc(block, size_bytes);
        meter->held += moved != NULL && block == NULL;
    }
    pthread_mutex_unlock(&meter->lock);
    return moved;
}

static void release(void *context, void *block)
{
    struct meter *meter = context;

    pthread_mutex_lock(&meter->lock);
    meter->held -= block != NULL;
    pthread_mutex_unlock(&meter->lock);
    free(block);
}

Test(sweep, any_allocation_may_fail)
{
    static const char *const parameters[] = {"n.a", "noise"};
    struct meter meter = {.left = 1000000};
    mdf_allocator allocator = {allocate, reallocate, release, &meter};
    mdf_options options = {.allocator = &allocator};
    bool failed = true;
    long n;

    pthread_mutex_init(&meter.lock, NULL);
    for (n = 0; failed; n++) {
        struct fixture fixture;
        mdf_program *program;

        begin(&fixture);
        meter.left = n;
        program = mdf_compile_changeable(fixture.model, parameters, 2, &options, &fixture.error);
        failed = program == NULL;
        if (program != NULL) {
            mdf_program_free(fixture.program);
            fixture.program = program;
            fixture.options.n_threads = 2;
            failed = run(&fixture) != MDF_OK;
        }
        cr_assert(!failed || fixture.error.code == MDF_OUT_OF_MEMORY, "%ld: %s", n, fixture.error.message);
        end(&fixture);
        cr_assert_eq(meter.held, 0, "%ld blocks were not released when allocation %ld failed", meter.held, n);
    }
    cr_assert_gt(n, 50);
    pthread_mutex_destroy(&meter.lock);
}

/* Whichever piece of memory is refused, every second one, every fifth on two threads, the numbers are the same or the error says so. */
Test(sweep, any_piece_of_memory_may_be_refused)
{
    struct fixture fixture;
    double expected[3 * 4];

    begin(&fixture);
    fixture.shape[0] = 3;
    fixture.shape[1] = 4;
    fixture.options.n_instances = 3;
    fixture.options.n_steps = 4;
    for (int n_threads = 1; n_threads <= 2; n_threads++) {
        size_t n;

        fixture.options.n_threads = n_threads;
        pieces_begin(0);
        cr_assert_eq(run(&fixture), MDF_OK, "%s", fixture.error.message);
        n = pieces_end();
        memcpy(expected, fixture.results, sizeof expected);
        for (size_t at = 1; at <= n; at += n_threads == 1 ? 2 : 5) {
            mdf_status status;

            memset(fixture.results, 0xff, sizeof expected);
            pieces_begin(at);
            status = run(&fixture);
            pieces_end();
            cr_assert(status == MDF_OUT_OF_MEMORY ||
                          (status == MDF_OK && memcmp(expected, fixture.results, sizeof expected) == 0),
                      "%d threads, piece %zu: %s", n_threads, at, fixture.error.message);
        }
    }
    end(&fixture);
}

/* A Threshold sees the initial value that the instance has, not that of the model: the node runs where it is past the limit. */
Test(sweep, threshold_on_a_swept_initial_value)
{
    static const char gated[] = "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {\"p\": "
                                "{\"default_initial_value\": -1.5}}, \"output_ports\": "
                                "{\"o\": {\"value\": \"p\"}}}}, \"conditions\": {\"node_specific\": {\"n\": {\"type\": "
                                "\"Threshold\", \"kwargs\": {\"dependency\": "
                                "\"n\", \"parameter\": \"p\", \"threshold\": 2, \"comparator\": \">\"}}}, \"termination\": "
                                "{\"environment_state_update\": "
                                "{\"type\": \"AfterNPasses\", \"kwargs\": {\"n\": 2}}}}}}}}";
    static const char *const names[] = {"p"};
    static const double values[] = {3.5, 1.0, 2.5};
    static const int64_t n = 3;
    const mdf_sweep_values parameters[] = {{"p", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, &n, values}}};
    const mdf_record records[] = {{.dtype = MDF_DTYPE_NONE}};
    const mdf_sweep_options options = {.n_instances = 3,
                                       .parameters = parameters,
                                       .n_parameters = 1,
                                       .records = records,
                                       .n_records = 1,
                                       .n_steps = 3,
                                       .record_every = 1,
                                       .dt = NAN,
                                       .n_threads = 1};
    struct fixture fixture;
    double results[9] = {0};
    void *arrays[] = {results};
    int i;

    begin_with(&fixture, gated, names, 1, NULL);
    fixture.sweep = mdf_sweep_new(fixture.program, &options, &fixture.error);
    cr_assert_not_null(fixture.sweep, "%s", fixture.error.message);
    cr_assert_eq(mdf_sweep_run(fixture.sweep, arrays, &fixture.error), MDF_OK, "%s", fixture.error.message);
    for (i = 0; i < 3; i++) {
        cr_assert_eq(results[i], 3.5);
        cr_assert(isnan(results[3 + i]), "instance 1 never runs, and gave %g", results[3 + i]);
        cr_assert_eq(results[6 + i], 2.5);
    }
    end(&fixture);
}

/* ------------------------------------------------------------------ side by side */

#define PARAMETER(name, text) "\"" name "\": {" text "}"

/* What mdf_explain_sweep says of a sweep that has run is what was done. */
static void hold_explanation(const struct fixture *fixture, size_t n_lanes)
{
    char text[400], wanted[60] = "sweep: instances one by one\n";
    size_t length = mdf_explain_sweep(fixture->sweep, text, sizeof text);

    if (fixture->sweep->has_lanes) {
        snprintf(wanted, sizeof wanted, "sweep: %zu instances side by side\n", n_lanes);
    }
    cr_assert_eq(length, strlen(text));
    cr_assert_eq(strncmp(text, wanted, strlen(wanted)), 0, "%s", text);
    cr_assert_eq(mdf_explain_sweep(fixture->sweep, text, 1), length);
    cr_assert_str_empty(text);
}

/* Whether instances were evaluated side by side, and whether any has other bits than one by one. */
static void hold_lanes_of_steps(const mdf_options *how, const char *model, uint64_t n_steps, double first, double step,
                                bool is_side_by_side)
{
    static const char *const names[] = {"p"};
    const size_t every[] = {1, 4, 0}, lanes[] = {2, 8, 16};
    struct fixture fixture;
    double one_by_one[N * STEPS];
    mdf_status status;
    mdf_error error;
    size_t i, j;

    begin_with(&fixture, model, names, 1, how);
    for (i = 0; i < N; i++) {
        fixture.a[i] = first + step * (double)i;
    }
    fixture.shape[0] = N;
    fixture.parameters[0] = (mdf_sweep_values){"p", MDF_SWEEP_PER_INSTANCE, {MDF_DTYPE_FLOAT64, 1, fixture.shape, fixture.a}};
    fixture.records[0] = (mdf_record){.dtype = MDF_DTYPE_FLOAT64};
    fixture.options = (mdf_sweep_options){.n_instances = N,
                                          .parameters = fixture.parameters,
                                          .n_parameters = 1,
                                          .records = fixture.records,
                                          .n_records = 1,
                                          .n_steps = n_steps,
                                          .dt = 0.1,
                                          .n_threads = 1};
    for (i = 0; i < 3; i++) {
        fixture.options.record_every = every[i] <= n_steps ? every[i] : 1;
        fixture.n_lanes = 1;
        memset(fixture.results, 0xff, sizeof fixture.results);
        status = run(&fixture);
        error = fixture.error;
        cr_assert(!fixture.sweep->has_lanes);
        memcpy(one_by_one, fixture.results, sizeof one_by_one);
        for (j = 0; j < 3; j++) {
            fixture.n_lanes = lanes[j];
            memset(fixture.results, 0xff, sizeof fixture.results);
            cr_assert_eq(run(&fixture), status, "%s", fixture.error.message);
            cr_assert_str_eq(fixture.error.message, error.message);
            cr_assert_eq(fixture.sweep->has_lanes, is_side_by_side, "%s: %zu lanes, every %zu", model, lanes[j], every[i]);
            hold_explanation(&fixture, lanes[j]);
            cr_assert(status != MDF_OK || memcmp(one_by_one, fixture.results, sizeof one_by_one) == 0, "%s", model);
        }
    }
    end(&fixture);
}

static void hold_lanes_of_model(const mdf_options *how, const char *model, double first, double step, bool is_side_by_side)
{
    hold_lanes_of_steps(how, model, STEPS, first, step, is_side_by_side);
}

static void hold_lanes_of(const mdf_options *how, const char *parameters, double first, double step, bool is_side_by_side)
{
    char model[2000];

    snprintf(model, sizeof model,
             "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {%s}, \"output_ports\": {\"y\": {\"value\": "
             "\"1.0 * y\"}}}}}}}}",
             parameters);
    hold_lanes_of_model(how, model, first, step, is_side_by_side);
}

static void hold_lanes(const char *parameters, double first, double step, bool is_side_by_side)
{
    hold_lanes_of(NULL, parameters, first, step, is_side_by_side);
}

#define P PARAMETER("p", "\"value\": 0.5") ", "

Test(sweep, side_by_side_instances_have_the_bits_that_they_have_one_by_one)
{
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 0.25, \"value\": \"y + 0.1 * (p - y * y * y / 3)\""), 0.1, 0.07,
               true);
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 0.25, \"time_derivative\": \"math.exp(-p * y) - math.sin(y)\""), 0.1,
               0.07, true);
}

Test(sweep, side_by_side_conditions_are_masks)
{
    hold_lanes(
        P PARAMETER("y", "\"default_initial_value\": 0.0, \"value\": \"y + 0.1 if y < p else y - p if p > 1 else 0.5 * y\""), 0.1,
        0.07, true);
    /* math.log of the side that is not taken would be refused; whole numbers count */
    hold_lanes(
        P PARAMETER("k", "\"default_initial_value\": 1, \"value\": \"2 * k + 1 if k < 100 * p else k - 7\"") ", " PARAMETER(
            "y", "\"value\": \"math.log(p - 1) / k if p > 1 else math.sqrt(p) * k\""),
        0.1, 0.1, true);
    /* a real number or a whole one, which is computed with */
    hold_lanes(P PARAMETER("u", "\"value\": \"1.5 * p if p > 0.4 else 0\"") ", " PARAMETER(
                   "y", "\"default_initial_value\": 0.25, \"value\": \"0.5 * y + (u + 1) * 0.5\""),
               0.1, 0.07, true);
    hold_lanes(P PARAMETER("y", "\"value\": \"1.5 * p if p > 0.4 else 0\""), 0.1, 0.07, true);
}

/* Two steps, each of which has a form of its own. */
Test(sweep, side_by_side_a_state_that_may_be_of_another_type_is_not_a_constant)
{
    hold_lanes_of_steps(
        NULL,
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"parameters\": {" PARAMETER(
            "p",
            "\"default_initial_value\": 0.5, \"value\": \"p or 0\"") "}, \"output_ports\": {\"y\": {\"value\": \"p\"}}}}}}}}",
        2, 0.1, 0.07, false);
}

Test(sweep, side_by_side_arrays_have_their_instances_innermost)
{
    hold_lanes(
        P PARAMETER("w", "\"value\": [[0.5, -0.25, 1.0], [0.1, 0.2, 0.3], [1.5, -1.0, 0.7]]") ", " PARAMETER(
            "x",
            "\"default_initial_value\": [0.1, 0.2, 0.3], \"value\": \"numpy.tanh(numpy.dot(w, x) * p)\"") ", "
        PARAMETER("y", "\"value\": \"x[1] + numpy.sum(x) * p\""),
        0.1, 0.1, true);
}

Test(sweep, side_by_side_an_instance_that_fails_says_what_one_by_one_it_says)
{
    /* the eleventh divides by zero in its first step; others run into 64 bits */
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 1.0, \"value\": \"y / (p - 10)\""), 0, 1, true);
    hold_lanes(P PARAMETER("k", "\"default_initial_value\": 3, \"value\": \"k * k if k < 10 ** 18 * p else 5\"") ", " PARAMETER(
                   "y", "\"value\": \"k % 1000003\""),
               0, 0.5, true);
    /* shifts past 64 bits, and by less than none; a division by zero that nobody reads */
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 3, \"value\": \"y << 9 if p > 2 else y >> 1\""), 0, 0.5, true);
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 3, \"value\": \"1 << (y % 60 - 4 if p > 2 else 5)\""), 0, 0.5, true);
    hold_lanes(P PARAMETER("d", "\"value\": \"numpy.array([1, 2]) * (p > 0.4)\"") ", "
               PARAMETER("z", "\"function\": \"onnx::Div\", \"args\": {\"A\": \"d\", \"B\": \"d\"}") ", "
               PARAMETER("y", "\"value\": \"2.0 * p\""), 1, -0.05, true);
}

Test(sweep, side_by_side_kernels_are_called_for_one_after_the_other)
{
    hold_lanes(
        P PARAMETER("x",
                    "\"default_initial_value\": [[0.5, 0.25, 0.75], [1.0, 0.1, 0.3], [0.2, 0.9, 0.6]], \"value\": "
                    "\"numpy.linalg.inv(x * p + numpy.eye(3))\"") ", " PARAMETER("y", "\"value\": \"numpy.linalg.det(x) + p\""),
        0.1, 0.1, true);
}

/* Instances that draw in a condition's arm draw when they are there only; what is drawn once, at first, is drawn before. */
Test(sweep, side_by_side_each_instance_draws_its_own_random_numbers)
{
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 0.25, \"value\": \"0.9 * y + p * numpy.random.normal()\""), 0.1, 0.07,
               true);
    hold_lanes(
        P PARAMETER("z", "\"default_initial_value\": \"numpy.random.uniform(-1.0, p)\", \"value\": \"0.5 * z\"") ", " PARAMETER(
            "y", "\"default_initial_value\": 0.0, \"value\": \"y + (numpy.random.standard_normal() if z > y else 0.25) + z\""),
        0.1, 0.07, true);
    hold_lanes(P PARAMETER("x", "\"value\": \"numpy.random.normal(p, 2.0, 3)\"") ", " PARAMETER(
                   "y", "\"value\": \"numpy.sum(x) + numpy.random.random()\""),
               0.1, 0.07, true);
    hold_lanes(P PARAMETER("y", "\"function\": \"onnx::RandomNormal\", \"args\": {\"shape\": [1], \"dtype\": 11}"), 0.1, 0.07,
               true);
}

/* A node that runs until it is finished: as often as each instance needs, also in its first evaluation; what it leaves is of one
 * form, whatever it was made of. */
#define UNTIL(test) "}, \"repeat_until_finished\": 40, \"functions\": {\"is_finished\": {\"value\": \"" test "\"}"
#define ANEW "\"reset\": \"environment_state_update\", "

Test(sweep, side_by_side_a_node_runs_until_it_is_finished)
{
    hold_lanes(P PARAMETER("y", ANEW "\"default_initial_value\": 0.0, \"value\": \"y + p * numpy.random.normal(0.1, p)\"")
                   UNTIL("abs(y) > 2"),
               0.3, 0.07, true);
    hold_lanes(
        P PARAMETER("x", ANEW
                    "\"default_initial_value\": [[0.0]], \"value\": \"x + p * "
                    "psyneulink.draw_normal([0], -1, [[0.0]])\"") ", " PARAMETER("y", "\"value\": \"numpy.reshape(numpy.where(x "
                                                                                      "> 0.0, 1.0, 0.25), [1])\"")
            UNTIL("numpy.max(numpy.abs(x)) > 2"),
        0.3, 0.07, true);
    hold_lanes(P PARAMETER("y", "\"default_initial_value\": 0.0, \"value\": \"y + p\"") UNTIL("y > 3"), 0.3, 0.07, true);
    /* one that feeds itself gets its own value from its second run on, in the first evaluation too */
    hold_lanes_of_model(
        NULL,
        "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"i\": {\"shape\": [1]}}, \"parameters\": {" P
            PARAMETER(
                "q",
                "\"value\": \"numpy.ones(1) * p\"") "}, \"functions\": {\"is_finished\": {\"value\": \"0\"}}, "
                                                    "\"repeat_until_finished\": 2, "
                                                    "\"output_ports\": {\"o\": {\"value\": \"q\"}, \"y\": {\"value\": \"i[0] + "
                                                    "0.5\"}}}}, "
                                                    "\"edges\": {\"e\": {\"sender\": \"n\", "
                                                    "\"sender_port\": \"o\", \"receiver\": \"n\", \"receiver_port\": \"i\"}}}}}}",
        0.3, 0.07, false);
}

Test(sweep, side_by_side_a_draw_that_is_refused_says_what_one_by_one_it_says)
{
    hold_lanes(P PARAMETER("y", "\"value\": \"numpy.random.normal(0.0, 1.0 - p)\""), 0.1, 0.07, true);
}

/* Lists of as many items, of which a condition takes one: each item is taken by itself. */
Test(sweep, side_by_side_a_condition_takes_one_of_two_lists)
{
    hold_lanes(P PARAMETER("l", "\"value\": \"[p, 0.0, p * p] if p < 0.4 else [0.0, 2.0, -p]\"") ", " PARAMETER(
                   "y", "\"default_initial_value\": 0.25, \"value\": \"y * 0.5 + l[0] + l[1] * l[-1]\""),
               0.1, 0.07, true);
    hold_lanes(P PARAMETER("y",
                           "\"default_initial_value\": 0.25, \"value\": \"y * 0.5 + numpy.sum(([p, 0.0] if y < 0.3 else [0.5, "
                           "0.25]) if y < 0.7 else [0.0, -y])\""),
               0.1, 0.07, true);
    hold_lanes(
        P PARAMETER("y", "\"default_initial_value\": 0.25, \"value\": \"y * 0.5 + numpy.sum([p, 0.0] if y < 0.3 else [p])\""),
        0.1, 0.07, false); /* another number of items */
}

/* Ops that Python's numbers make ones of float64, and whose results are rounded behind them, are ones of float32 in lanes. */
Test(sweep, side_by_side_float32_has_the_bits_that_it_has_one_by_one)
{
    const mdf_options how = {.float32 = true};

    hold_lanes_of(
        &how,
        P PARAMETER("y", "\"default_initial_value\": 0.25, \"value\": \"y + 0.1 * (p - y * y * y / 3) if abs(y) < 0.7 else -y / "
                         "(3 + p)\""),
        0.1, 0.07, true);
    hold_lanes_of(
        &how,
        P PARAMETER("y", "\"default_initial_value\": 0.25, \"value\": \"0.9 * y + p * numpy.random.normal(p, 0.5) + "
                         "(numpy.random.uniform(-1.0, p) if y > p else 0.5 * p) + numpy.sum(numpy.random.standard_normal(3))\""),
        0.1, 0.07, true);
    hold_lanes_of(
        &how,
        P PARAMETER("x", "\"default_initial_value\": 1.5, \"value\": \"x - 0.3 * (p if x > 0.1 else -x) * 1e-3\"") ", " PARAMETER(
            "y", "\"default_initial_value\": 0.0, \"value\": \"1e30 * x * (y if y != 0.0 else p) / 1e25 - y * y\""),
        0.1, 0.07, true);
}
