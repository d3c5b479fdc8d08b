/* test_threads.c - one program, many states: threads that evaluate it at the same time get what one thread alone gets. */
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

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
