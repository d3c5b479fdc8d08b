/* parallel.c - one loop on several threads.
 *
 * Comes in: work on ranges of [0, n). Holds afterwards: every item was worked on exactly once, and all threads have ended.
 * Which thread takes which range is left to chance, so work on an item may write only what belongs to that item. */
#include "functions/call.h"

#include <pthread.h>

enum { MAX_THREADS = 64, RANGES_PER_THREAD = 4 };

/* Work that takes less than this is done before another thread has started. */
static const double ns_per_thread = 100e3;

struct job {
    void (*work)(void *work_context, size_t first, size_t last);
    void *work_context;
    size_t n, n_range;
    atomic_size_t next;
};

static void *run(void *argument)
{
    struct job *job = argument;

    for (;;) {
        size_t first = atomic_fetch_add_explicit(&job->next, job->n_range, memory_order_relaxed), n_range = job->n_range;

        if (first >= job->n) {
            return NULL;
        }
        if (n_range > job->n - first) {
            n_range = job->n - first;
        }
        job->work(job->work_context, first, first + n_range);
    }
}

/* Threads that the work is worth, the caller's included. */
static size_t useful_threads(const struct mdf_context *context, size_t n, double cost_per_item_ns)
{
    double worth = (double)n * cost_per_item_ns / ns_per_thread;
    size_t n_threads = context->n_threads > 1 ? (size_t)context->n_threads : 1;

    if (n_threads > MAX_THREADS) {
        n_threads = MAX_THREADS;
    }
    if (n_threads > n) {
        n_threads = n;
    }
    return worth >= (double)n_threads ? n_threads : worth >= 1 ? (size_t)worth : 1;
}

void mdf_parallel_for(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                      void (*work)(void *work_context, size_t first, size_t last), void *work_context)
{
    size_t n_threads = useful_threads(context, n, cost_per_item_ns), n_started = 0;
    pthread_t threads[MAX_THREADS];
    struct job job = {work, work_context, n, 0, 0};

    if (n == 0) {
        return;
    }
    if (n_threads <= 1) {
        work(work_context, 0, n);
        return;
    }
    job.n_range = n / (n_threads * RANGES_PER_THREAD);
    job.n_range = job.n_range > 0 ? job.n_range : 1;
    atomic_init(&job.next, 0);
    /* Where the system refuses a thread, those that there are do its part. */
    while (n_started + 1 < n_threads && pthread_create(&threads[n_started], NULL, run, &job) == 0) {
        n_started++;
    }
    run(&job);
    while (n_started > 0) {
        pthread_join(threads[--n_started], NULL);
    }
}
