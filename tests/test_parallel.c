/* test_parallel.c - loops on several threads: each item once, with threads that come and go, and within another loop. */
#include "functions/call.h"

#include <criterion/criterion.h>
#include <string.h>
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

Test(parallel, without_threads_the_caller_does_all)
{
    struct mdf_context context = {.n_threads = 4};
    struct counted counted = {0};

    mdf_parallel_for(&context, N, 1e6, count, &counted);
    for (size_t i = 0; i < N; i++) {
        cr_assert(counted.counts[i] == 1);
    }
}
