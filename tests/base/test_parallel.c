/* test_parallel.c - loops on several threads: each item once, with threads that come and go, within another loop, and after fork.
 */
#include "functions/kernel/call.h"
#include "mdf_c/mdf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 5000 };

struct counted {
    const struct mdf_context *context;
    unsigned char counts[N];
};

static void count(void *work_context, size_t first, size_t last)
{
    struct counted *counted = work_context;

    for (size_t i = first; i < last; i++) {
        counted->counts[i]++;
    }
}

static void count_within(void *work_context, size_t first, size_t last)
{
    struct counted *counted = work_context;

    if (first == 0) {
        mdf_parallel_for(counted->context, N, 1e6, count, counted);
    }
    (void)last;
}

static void check(int n_threads, void (*work)(void *work_context, size_t first, size_t last), double cost_ns, size_t n)
{
    struct mdf_context context = {.n_threads = n_threads};
    struct mdf_memory memory;
    struct counted counted;

    mdf_memory_init(&memory, NULL, 0);
    context.memory = &memory;
    context.threads = mdf_threads_new(&memory);
    counted.context = &context;
    for (int round = 0; round < 50; round++) {
        memset(counted.counts, 0, sizeof counted.counts);
        mdf_parallel_for(&context, n, cost_ns, work, &counted);
        for (size_t i = 0; i < N; i++) {
            cr_assert(counted.counts[i] == (work == count_within || i < n), "item %zu, %d threads", i, n_threads);
        }
        if (round % 20 == 0) {
            usleep(1000); /* the helpers fall asleep */
        }
    }
    mdf_threads_free(context.threads, &memory);
}

Test(parallel, each_item_is_worked_on_once)
{
    static const int n_threads[] = {1, 2, 3, 8, 100};

    for (size_t i = 0; i < sizeof n_threads / sizeof *n_threads; i++) {
        check(n_threads[i], count, 1e6, N);
        check(n_threads[i], count, 10, N); /* worth two threads */
        check(n_threads[i], count, 1e6, 3);
        check(n_threads[i], count, 1e6, 0);
    }
}

Test(parallel, a_loop_within_a_loop_is_done_by_its_own_thread)
{
    check(1, count_within, 1e6, 8);
    check(3, count_within, 1e6, 8);
}

struct helped {
    pthread_t caller;
    atomic_size_t n_by_others;
};

static void note_thread(void *work_context, size_t first, size_t last)
{
    struct helped *helped = work_context;

    atomic_fetch_add(&helped->n_by_others, pthread_equal(pthread_self(), helped->caller) ? 0 : last - first);
    usleep(2000); /* long enough for another thread to come */
}

/* To start one costs more than what is done once is worth; where it is done again and again, one helps. */
Test(parallel, a_thread_is_started_once_it_would_have_paid)
{
    struct mdf_context context = {.n_threads = 2};
    struct helped helped = {.caller = pthread_self()};
    struct mdf_memory memory;

    mdf_memory_init(&memory, NULL, 0);
    context.memory = &memory;
    context.threads = mdf_threads_new(&memory);
    mdf_parallel_for(&context, 2, 50e3, note_thread, &helped);
    cr_expect_eq(helped.n_by_others, 0);
    for (int round = 0; round < 200 && helped.n_by_others == 0; round++) {
        mdf_parallel_for(&context, 2, 50e3, note_thread, &helped);
    }
    cr_expect_gt(helped.n_by_others, 0);
    mdf_threads_free(context.threads, &memory);
}

static void note_thread_shortly(void *work_context, size_t first, size_t last)
{
    struct helped *helped = work_context;
    volatile size_t n_rounds = 0;

    atomic_fetch_add(&helped->n_by_others, pthread_equal(pthread_self(), helped->caller) ? 0 : last - first);
    while (n_rounds < 5000) { /* some microseconds */
        n_rounds = n_rounds + 1;
    }
}

/* To wake one costs more than a little work is worth; where there is more of it at once, one is woken, and then looks out for it.
 */
Test(parallel, a_thread_that_sleeps_is_woken_by_little_work_that_goes_on)
{
    struct mdf_context context = {.n_threads = 2};
    struct helped helped = {.caller = pthread_self()};
    struct mdf_memory memory;

    mdf_memory_init(&memory, NULL, 0);
    context.memory = &memory;
    context.threads = mdf_threads_new(&memory);
    mdf_parallel_for(&context, 2, 1e6, note_thread, &helped); /* it is started */
    usleep(50000);
    helped.n_by_others = 0;
    for (int round = 0; round < 20000 && helped.n_by_others == 0; round++) {
        mdf_parallel_for(&context, 4, 5e3, note_thread_shortly, &helped);
    }
    cr_expect_gt(helped.n_by_others, 0);
    mdf_threads_free(context.threads, &memory);
}

Test(parallel, without_threads_the_caller_does_all)
{
    struct mdf_context context = {.n_threads = 4};
    struct counted counted = {0};

    mdf_parallel_for(&context, N, 1e6, count, &counted);
    for (size_t i = 0; i < N; i++) {
        cr_assert(counted.counts[i] == 1);
    }
}

/* ------------------------------------------------------------------ fork */

enum { SIDE = 256 };

#define PRODUCT                                                                                                               \
    "{\"m\": {\"graphs\": {\"g\": {\"nodes\": {\"n\": {\"input_ports\": {\"x\": {}}, \"parameters\": {\"p\": {\"function\": " \
    "\"onnx::MatMul\", \"args\": {\"A\": \"x\", \"B\": \"x\"}}}, \"output_ports\": {\"y\": {\"value\": \"p\"}}}}}}}}"

/* The square of a matrix of ones, on four threads. */
static bool evaluate_product(mdf_state *state)
{
    static const int64_t shape[] = {SIDE, SIDE};
    static double ones[SIDE * SIDE];
    const mdf_tensor matrix = {MDF_DTYPE_FLOAT64, 2, shape, ones};
    mdf_tensor product;

    for (size_t i = 0; i < SIDE * SIDE; i++) {
        ones[i] = 1;
    }
    return mdf_set_input(state, "x", &matrix, NULL) == MDF_OK && mdf_evaluate(state, NAN, NULL) == MDF_OK &&
           mdf_value_tensor(mdf_output(state, "n", "y"), &product) && ((const double *)product.data)[SIDE * SIDE - 1] == SIDE;
}

static void free_inherited(mdf_program *program, mdf_state *state)
{
    mdf_state_free(state);
    mdf_program_free(program);
    _exit(0);
}

static void use_inherited(mdf_program *program, mdf_state *state)
{
    bool done = evaluate_product(state);
    pid_t grandchild = fork();
    int status;

    if (grandchild == 0) {
        done = evaluate_product(state);
        mdf_state_free(state);
        _exit(!done);
    }
    done = waitpid(grandchild, &status, 0) == grandchild && status == 0 && done;
    done = evaluate_product(state) && done;
    mdf_state_free(state);
    mdf_program_free(program);
    _exit(!done);
}

static void use_new(mdf_program *program, mdf_state *inherited)
{
    mdf_state *state = mdf_state_new(program, NULL);
    bool done = evaluate_product(state);

    mdf_state_free(state);
    mdf_state_free(inherited);
    _exit(!done);
}

/* The child has none of the helpers that its parent's state has. */
Test(parallel, a_forked_process_may_use_and_release_states)
{
    static void (*const children[])(mdf_program * program, mdf_state * state) = {free_inherited, use_inherited, use_new};
    mdf_model *model = mdf_model_load_bytes(PRODUCT, strlen(PRODUCT), "json", "m.json", NULL, NULL);
    mdf_program *program = mdf_compile(model, &(mdf_options){.n_threads = 4}, NULL);
    mdf_state *state = mdf_state_new(program, NULL);

    for (size_t i = 0; i < sizeof children / sizeof *children; i++) {
        pid_t child;
        int status = -1;

        cr_assert(evaluate_product(state));
        child = fork();
        if (child == 0) {
            alarm(20); /* rather than wait for a thread that is not there */
            children[i](program, state);
        }
        cr_assert(child > 0 && waitpid(child, &status, 0) == child);
        cr_expect_eq(status, 0, "child %zu: signal %d, exit status %d", i, WTERMSIG(status), WEXITSTATUS(status));
    }
    cr_expect(evaluate_product(state), "the parent goes on");
    mdf_state_free(state);
    mdf_program_free(program);
    mdf_model_free(model);
}
