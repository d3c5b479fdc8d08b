/* parallel.c - one loop on several threads.
 *
 * Comes in: work on ranges of [0, n). Holds afterwards: every item was worked on exactly once, and no thread is at it any more.
 * Which thread takes which range is left to chance, so work on an item may write only what belongs to that item.
 *
 * The threads of a state are started when there is work for them, and stay: they look out for more for a short while, then
 * sleep. A process that is forked has none of its parent's threads: it starts its own. */
#include "functions/kernel/call.h"

#include "mdf_c/base/processor.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64, RANGES_PER_THREAD = 4, LOOKS = 4000 /* before a thread sleeps: some 50 microseconds */ };

/* A range takes no longer, as far as the cost of its items is known and there are several: between ranges the evaluation can be
 * stopped. */
static const double longest_range_ns = 5e6;

/* Between the operators of a network less than half a millisecond passes, and to be woken takes a good part of that. */
enum { LOOKS_FOR_WORK = 10 * LOOKS };

/* Work that takes less than this is done before another thread has come to help: one that looks out for work, one that sleeps. */
static const double awake_ns = 5e3, asleep_ns = 25e3;

/* About what it takes to start a thread, and to end it: the first one is started once one would have saved as much. */
static const double starting_ns = 2.5e5;

struct job {
    void (*work)(void *work_context, size_t first, size_t last);
    void *work_context;
    size_t n, n_range;
    struct mdf_stop *stop; /* NULL: it is done to its end */
    atomic_size_t next;
};

struct mdf_threads {
    pthread_mutex_t lock;
    pthread_cond_t posted, left; /* there is a job, or the end; a helper has left a job */
    struct job *job;             /* with `n_wanted`, n_joined, is_ending: under the lock */
    size_t n_wanted, n_joined;   /* helpers that the job may have, and had */
    bool is_ending;
    atomic_size_t n_asleep; /* changed under the lock */
    atomic_size_t n_jobs;   /* posted so far */
    atomic_size_t n_leaves; /* of this job's helpers, those that have left it */
    double missed_ns;       /* that a helper would have saved, before there is any */
    bool is_busy;           /* the state's thread is within a loop already */
    pid_t process;          /* that has the helpers, the lock and the conditions */
    size_t n_helpers;
    pthread_t helpers[MAX_THREADS];
};

static void run(struct job *job)
{
    for (;;) {
        size_t first = atomic_fetch_add_explicit(&job->next, job->n_range, memory_order_relaxed), n_range = job->n_range;

        if (first >= job->n || mdf_stop_heed(job->stop)) {
            return;
        }
        if (n_range > job->n - first) {
            n_range = job->n - first;
        }
        job->work(job->work_context, first, first + n_range);
    }
}

/* Waits for a job that wants one more helper, and joins it; NULL: the end. */
static struct job *join_job(struct mdf_threads *threads)
{
    size_t n_jobs = atomic_load_explicit(&threads->n_jobs, memory_order_acquire);
    struct job *job = NULL;

    for (int look = 0; look < LOOKS_FOR_WORK && atomic_load_explicit(&threads->n_jobs, memory_order_acquire) == n_jobs; look++) {
        mdf_pause_shortly();
    }
    pthread_mutex_lock(&threads->lock);
    while (!threads->is_ending && (threads->job == NULL || threads->n_joined >= threads->n_wanted)) {
        atomic_fetch_add_explicit(&threads->n_asleep, 1, memory_order_relaxed);
        pthread_cond_wait(&threads->posted, &threads->lock);
        atomic_fetch_sub_explicit(&threads->n_asleep, 1, memory_order_relaxed);
    }
    if (!threads->is_ending) {
        threads->n_joined++;
        job = threads->job;
    }
    pthread_mutex_unlock(&threads->lock);
    return job;
}

static void *help(void *argument)
{
    struct mdf_threads *threads = argument;
    struct job *job;

    while ((job = join_job(threads)) != NULL) {
        run(job);
        pthread_mutex_lock(&threads->lock);
        atomic_fetch_add_explicit(&threads->n_leaves, 1, memory_order_release);
        pthread_cond_signal(&threads->left);
        pthread_mutex_unlock(&threads->lock);
    }
    return NULL;
}

static bool init(struct mdf_threads *threads)
{
    if (pthread_mutex_init(&threads->lock, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&threads->posted, NULL) != 0) {
        pthread_mutex_destroy(&threads->lock);
        return false;
    }
    if (pthread_cond_init(&threads->left, NULL) != 0) {
        pthread_cond_destroy(&threads->posted);
        pthread_mutex_destroy(&threads->lock);
        return false;
    }
    threads->process = getpid();
    return true;
}

struct mdf_threads *mdf_threads_new(struct mdf_memory *memory)
{
    struct mdf_threads *threads = mdf_memory_allocate_zeroed(memory, 1, sizeof *threads);

    if (threads != NULL && !init(threads)) {
        mdf_memory_release(memory, threads);
        return NULL;
    }
    return threads;
}

/* Makes sure that the helpers, if there are any, are of this process. After a fork the lock may be held, and conditions waited
 * for, by threads that are not here: they are made anew, never destroyed. False: that failed. */
static bool prepare(struct mdf_threads *threads)
{
    if (threads->process == getpid()) {
        return true;
    }
    memset(threads, 0, sizeof *threads);
    return init(threads);
}

void mdf_threads_free(struct mdf_threads *threads, struct mdf_memory *memory)
{
    if (threads != NULL && prepare(threads)) {
        pthread_mutex_lock(&threads->lock);
        threads->is_ending = true;
        atomic_fetch_add_explicit(&threads->n_jobs, 1, memory_order_release); /* for those that look out for work */
        pthread_cond_broadcast(&threads->posted);
        pthread_mutex_unlock(&threads->lock);
        while (threads->n_helpers > 0) {
            pthread_join(threads->helpers[--threads->n_helpers], NULL);
        }
        pthread_cond_destroy(&threads->left);
        pthread_cond_destroy(&threads->posted);
        pthread_mutex_destroy(&threads->lock);
    }
    mdf_memory_release(memory, threads);
}

static void post(struct mdf_threads *threads, struct job *job, size_t n_wanted)
{
    /* Where the system refuses a thread, those that there are do its part. */
    while (threads->n_helpers < n_wanted && pthread_create(&threads->helpers[threads->n_helpers], NULL, help, threads) == 0) {
        threads->n_helpers++;
    }
    pthread_mutex_lock(&threads->lock);
    threads->job = job;
    threads->n_wanted = n_wanted;
    threads->n_joined = 0;
    atomic_store_explicit(&threads->n_leaves, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&threads->n_jobs, 1, memory_order_release);
    if (atomic_load_explicit(&threads->n_asleep, memory_order_relaxed) > 0) {
        pthread_cond_broadcast(&threads->posted);
    }
    pthread_mutex_unlock(&threads->lock);
}

/* Waits for the helpers that are still at the job; no more may join. */
static void finish(struct mdf_threads *threads)
{
    size_t n_joined;

    pthread_mutex_lock(&threads->lock);
    threads->job = NULL;
    n_joined = threads->n_joined;
    pthread_mutex_unlock(&threads->lock);
    for (int look = 0; look < LOOKS && atomic_load_explicit(&threads->n_leaves, memory_order_acquire) < n_joined; look++) {
        mdf_pause_shortly();
    }
    pthread_mutex_lock(&threads->lock);
    while (atomic_load_explicit(&threads->n_leaves, memory_order_acquire) < n_joined) {
        pthread_cond_wait(&threads->left, &threads->lock);
    }
    pthread_mutex_unlock(&threads->lock);
}

/* Whether the helpers that there are look out for work. */
static bool are_awake(const struct mdf_threads *threads)
{
    return threads->n_helpers > 0 && atomic_load_explicit(&threads->n_asleep, memory_order_relaxed) == 0;
}

/* Whether there are helpers, or work of so many nanoseconds is one more reason to start some, and enough. */
static bool may_help(struct mdf_threads *threads, double ns)
{
    if (threads->n_helpers > 0) {
        return true;
    }
    threads->missed_ns += ns / 2;
    return threads->missed_ns >= starting_ns;
}

/* Threads that the work is worth, the caller's included. */
static size_t useful_threads(const struct mdf_context *context, size_t n, double cost_per_item_ns)
{
    size_t n_threads = context->n_threads > 1 && context->threads != NULL ? (size_t)context->n_threads : 1;
    double worth;

    if (n_threads == 1) {
        return 1;
    }
    worth = (double)n * cost_per_item_ns / (are_awake(context->threads) ? awake_ns : asleep_ns);
    if (n_threads > MAX_THREADS) {
        n_threads = MAX_THREADS;
    }
    if (n_threads > n) {
        n_threads = n;
    }
    return worth >= (double)n_threads ? n_threads : worth >= 1 ? (size_t)worth : 1;
}

/* Items of a range: some ranges for each thread, none of which takes long. */
static size_t items_of_range(size_t n, size_t n_threads, double cost_per_item_ns)
{
    size_t n_range = n_threads > 1 ? n / (n_threads * RANGES_PER_THREAD) : n;

    if ((double)n_range * cost_per_item_ns > longest_range_ns) {
        n_range = (size_t)(longest_range_ns / cost_per_item_ns);
    }
    return n_range > 0 ? n_range : 1;
}

static void run_parallel(const struct mdf_context *context, double cost_per_item_ns, struct job *job)
{
    size_t n_threads = useful_threads(context, job->n, cost_per_item_ns);
    bool is_alone;

    if (job->n == 0) {
        return;
    }
    is_alone = n_threads <= 1 || context->threads->is_busy || !prepare(context->threads) ||
               !may_help(context->threads, cost_per_item_ns * (double)job->n);
    job->n_range = items_of_range(job->n, is_alone ? 1 : n_threads, cost_per_item_ns);
    atomic_init(&job->next, 0);
    if (is_alone) {
        run(job);
        return;
    }
    context->threads->is_busy = true;
    post(context->threads, job, n_threads - 1);
    run(job);
    finish(context->threads);
    context->threads->is_busy = false;
}

bool mdf_parallel_for(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                      void (*work)(void *work_context, size_t first, size_t last), void *work_context)
{
    struct job job = {.work = work, .work_context = work_context, .n = n, .stop = context->stop};

    run_parallel(context, cost_per_item_ns, &job);
    return !mdf_should_stop(context);
}

void mdf_parallel_for_all(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                          void (*work)(void *work_context, size_t first, size_t last), void *work_context)
{
    struct job job = {.work = work, .work_context = work_context, .n = n};

    run_parallel(context, cost_per_item_ns, &job);
}
