/* test_threads.c - threads that evaluate one program at the same time get what one thread alone gets; so do those that load and
 * compile, each for itself, at once; and a thread may stop another's evaluation. "make check-tsan" runs this under the thread
 * sanitizer. */
#define _GNU_SOURCE
#include "mdf_c/base/processor.h"
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { N_THREADS = 8, N_STEPS = 200, N_BYTES = 1024 };

static const char *const models[] = {"examples/fitzhugh_nagumo.yaml",
                                     "examples/newton_sqrt.json",
                                     "examples/slow_and_fast.yaml",
                                     "examples/elman_rnn.json",
                                     "examples/control_flow/kalman_filter.json",
                                     "examples/shared_body.json"};

struct run {
    const mdf_program *program;
    const char *path;
    unsigned char bytes[N_BYTES]; /* the first elements of all results, one after the other */
    size_t n_bytes;
    mdf_error error;
};

static void collect(struct run *run, const mdf_value *value)
{
    mdf_tensor tensor;

    size_t size_bytes;

    if (!mdf_value_tensor(value, &tensor)) {
        return;
    }
    size_bytes = mdf_dtype_size(tensor.dtype);
    for (size_t i = 0; i < tensor.rank; i++) {
        size_bytes *= (size_t)tensor.shape[i];
    }
    for (size_t i = 0; i < size_bytes && run->n_bytes < N_BYTES; i++) {
        run->bytes[run->n_bytes++] = ((const unsigned char *)tensor.data)[i];
    }
}

static void *evaluate(void *argument)
{
    struct run *run = argument;
    mdf_state *state = mdf_state_new(run->program, &run->error);

    for (int step = 0; state != NULL && step < N_STEPS && run->error.code == MDF_OK; step++) {
        mdf_evaluate(state, step == 0 ? (double)NAN : 0.05, &run->error);
    }
    for (size_t i = 0; run->error.code == MDF_OK && i < mdf_program_n_results(run->program); i++) {
        collect(run, mdf_result_at(state, i));
    }
    mdf_state_free(state);
    return NULL;
}

static void compare(const char *path, const mdf_program *program)
{
    static struct run runs[N_THREADS + 1];
    pthread_t threads[N_THREADS];

    memset(runs, 0, sizeof runs);
    for (int i = 0; i <= N_THREADS; i++) {
        runs[i].program = program;
    }
    evaluate(&runs[N_THREADS]);
    cr_assert_eq(runs[N_THREADS].error.code, MDF_OK, "%s: %s", path, runs[N_THREADS].error.message);
    for (int i = 0; i < N_THREADS; i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, evaluate, &runs[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect(runs[i].error.code == MDF_OK && runs[i].n_bytes == runs[N_THREADS].n_bytes && runs[i].n_bytes > 0 &&
                      memcmp(runs[i].bytes, runs[N_THREADS].bytes, runs[i].n_bytes) == 0,
                  "%s, thread %d: %s", path, i, runs[i].error.message);
    }
}

Test(threads, share_a_program)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        mdf_error error = {0};
        mdf_model *model = mdf_model_load_file(models[i], &error);
        mdf_program *program = model != NULL ? mdf_compile(model, NULL, &error) : NULL;

        cr_assert_not_null(program, "%s: %s", models[i], error.message);
        compare(models[i], program);
        mdf_program_free(program);
        mdf_model_free(model);
    }
}

/* ------------------------------------------------------------------ loading and compiling */

static void *load_and_evaluate(void *argument)
{
    struct run *run = argument;
    mdf_model *model = mdf_model_load_file(run->path, &run->error);
    mdf_program *program = model != NULL ? mdf_compile(model, NULL, &run->error) : NULL;

    mdf_model_free(model);
    if (program != NULL) {
        run->program = program;
        evaluate(run);
    }
    mdf_program_free(program);
    return NULL;
}

Test(threads, load_and_compile_at_once)
{
    static const char *const paths[] = {"examples/elman_rnn.json", "examples/fitzhugh_nagumo.yaml",
                                        "tests/data/onnx/constant_passed.onnx", "examples/control_flow/kalman_filter.json"};
    enum { N_PATHS = sizeof paths / sizeof *paths };
    static struct run runs[N_THREADS], alone[N_PATHS];
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_PATHS; i++) {
        alone[i].path = paths[i];
        load_and_evaluate(&alone[i]);
        cr_assert_eq(alone[i].error.code, MDF_OK, "%s: %s", paths[i], alone[i].error.message);
    }
    for (int i = 0; i < N_THREADS; i++) {
        runs[i].path = paths[i % N_PATHS];
        cr_assert_eq(pthread_create(&threads[i], NULL, load_and_evaluate, &runs[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        cr_expect(runs[i].error.code == MDF_OK && runs[i].n_bytes == alone[i % N_PATHS].n_bytes &&
                      memcmp(runs[i].bytes, alone[i % N_PATHS].bytes, runs[i].n_bytes) == 0,
                  "%s, thread %d: %s", runs[i].path, i, runs[i].error.message);
    }
}

/* ------------------------------------------------------------------ interrupts */

static void *evaluate_until_stopped(void *argument)
{
    static mdf_error errors[N_THREADS];
    static atomic_int n_errors;
    mdf_error *error = &errors[atomic_fetch_add(&n_errors, 1)];

    while (mdf_evaluate(argument, 0.01, error) == MDF_OK) {
    }
    return error;
}

Test(threads, are_stopped_by_another, .timeout = 60)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    mdf_error error = {0};
    mdf_model *model = mdf_model_load_file("examples/fitzhugh_nagumo.yaml", &error);
    mdf_program *program = mdf_compile(model, NULL, &error);
    mdf_state *states[N_THREADS];
    pthread_t threads[N_THREADS];

    cr_assert_not_null(program, "%s", error.message);
    for (int i = 0; i < N_THREADS; i++) {
        states[i] = mdf_state_new(program, &error);
        cr_assert_eq(pthread_create(&threads[i], NULL, evaluate_until_stopped, states[i]), 0);
    }
    nanosleep(&pause, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        void *stopped;

        mdf_state_interrupt(states[i]);
        pthread_join(threads[i], &stopped);
        cr_expect_eq(((const mdf_error *)stopped)->code, MDF_INTERRUPTED);
        mdf_state_free(states[i]);
    }
    mdf_program_free(program);
    mdf_model_free(model);
}

/* Processors that the process may not use are not counted. */
Test(threads, processors_are_those_that_may_be_used)
{
    cpu_set_t one;
    int cpu = sched_getcpu();

    cr_assert(cpu >= 0);
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    cr_assert(sched_setaffinity(0, sizeof one, &one) == 0);
    cr_expect_eq(mdf_count_cores(), 1);
}
