/* parallel.c - one loop on several threads.
 *
 * Comes in: work on ranges of [0, n). Holds afterwards: every item was worked on exactly once, and no thread is at it any more.
 * Which thread takes which range is left to chance, so work on an item may write only what belongs to that item.
 *
 * The threads of a state are started when there is work for them, and stay: they look out for more for a short while, then
 * sleep. One that looks out joins without a lock: it is counted as inside before it looks for the job, and the caller takes the
 * job away before it waits for those inside. A process that is forked has none of its parent's threads: it starts its own. */
#include "functions/kernel/call.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/base/sizes.h"
#include "mdf_c/base/stop.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { MAX_THREADS = 64, LOOKS = 4000 /* before a thread sleeps: some 100 microseconds */ };

/* A range takes no longer, as far as the cost of its items is known and there are several: between ranges the evaluation can be
 * stopped. Nor does it take less, which would be lost on fetching it. */
static const double longest_range_ns = 5e6, shortest_range_ns = 1e3;

/* Each thread has a part of the items of its own, the same one for jobs of one size, so that what it wrote is still near when it
 * is read. It takes a third of what is left there, again and again: the last ranges are so short that threads end together. Who
 * has done his part goes on with those of others. */
enum { RANGES_OF_REST = 3, LONGEST_GRAIN = 64, LINE_BYTES = 64 };

/* Between the operators of a network less than half a millisecond passes, and to be woken takes a good part of that. But who had
 * little to do looks out for ten times as long as that took, no longer: it would take a processor from others who need one. */
enum { LOOKS_FOR_WORK = 10 * LOOKS, FEWEST_LOOKS = LOOKS / 10 };
static const double looks_for_ns_of_work = 10 * LOOKS / 1e5;
static const double looks_for_work_ns = 1e6;

/* What each of several threads has to have at least, that those that look out for work join in time. To wake one that sleeps is
 * worth so much time saved, and about so much it takes to start and to end one: by this work, or together with work before it. */
static const double awake_ns = 4e3, waking_ns = 25e3, starting_ns = 2.5e5;

/* The part of a thread. */
struct part {
    _Alignas(LINE_BYTES) atomic_size_t next;
    size_t end;
    atomic_bool is_taken;
};

struct job {
    void (*work)(void *work_context, size_t first, size_t last);
    void *work_context;
    size_t n, n_threads, n_shortest, n_longest; /* items; of a range */
    struct mdf_stop *stop;                      /* NULL: it is done to its end */
    struct part parts[MAX_THREADS];             /* n_threads of them */
};

struct mdf_threads {
    _Atomic(struct job *) job; /* NULL: none that may be joined */
    atomic_size_t n_jobs;      /* posted so far; also where the end is posted */
    atomic_size_t n_inside;    /* helpers that are at a job, or look whether there is one */
    atomic_bool is_waited_for; /* the caller sleeps until none is inside */
    atomic_bool is_ending;
    atomic_size_t n_asleep;
    atomic_size_t n_begun; /* helpers that have their number */
    pthread_mutex_t lock;  /* of those who sleep, and who wake them */
    pthread_cond_t posted, left;
    double missed_ns;    /* that more helpers would have saved */
    double missed_at_ns; /* the last time that they would */
    bool is_busy;        /* the state's thread is within a loop already */
    pid_t process;       /* that has the helpers, the lock and the conditions */
    size_t n_helpers;
    pthread_t helpers[MAX_THREADS];
};

/* Items of the next range, of those that are left. */
static size_t items_of_range(const struct job *job, size_t n_left)
{
    size_t n = n_left / RANGES_OF_REST, grain = 1;

    n = mdf_least(n, job->n_longest);
    n = n > job->n_shortest ? n : job->n_shortest;
    while (grain < LONGEST_GRAIN && grain * 8 <= n) { /* so that ranges begin where vectors and lines of the cache may */
        grain *= 2;
    }
    n -= n % grain;
    return mdf_least(n, n_left);
}

static void run_part(const struct job *job, struct part *part)
{
    size_t first = atomic_load_explicit(&part->next, memory_order_relaxed), n;

    while (first < part->end && !mdf_stop_heed(job->stop)) {
        n = items_of_range(job, part->end - first);
        if (atomic_compare_exchange_weak_explicit(&part->next, &first, first + n, memory_order_relaxed, memory_order_relaxed)) {
            job->work(job->work_context, first, first + n);
            first = atomic_load_explicit(&part->next, memory_order_relaxed);
        }
    }
}

/* What the thread that has part number `own` does of a job. */
static void run(struct job *job, size_t own)
{
    for (size_t i = 0; i < job->n_threads; i++) {
        run_part(job, &job->parts[(own + i) % job->n_threads]);
    }
}

/* A part that nobody has: the one of this number, or another; SIZE_MAX: there is none. */
static size_t take_part(struct job *job, size_t number)
{
    for (size_t i = 0; i < job->n_threads; i++) {
        size_t part = (number + i) % job->n_threads;

        if (!atomic_exchange_explicit(&job->parts[part].is_taken, true, memory_order_relaxed)) {
            return part;
        }
    }
    return SIZE_MAX;
}

/* Waits for a job, or the end, after `n_jobs` of them. */
static void wait_for_job(struct mdf_threads *threads, size_t n_jobs, int n_looks)
{
    for (int look = 0; look < n_looks; look++) {
        if (atomic_load_explicit(&threads->n_jobs, memory_order_acquire) != n_jobs) {
            return;
        }
        mdf_pause_shortly();
    }
    pthread_mutex_lock(&threads->lock);
    atomic_fetch_add(&threads->n_asleep, 1);
    while (atomic_load(&threads->n_jobs) == n_jobs) {
        pthread_cond_wait(&threads->posted, &threads->lock);
    }
    atomic_fetch_sub(&threads->n_asleep, 1);
    pthread_mutex_unlock(&threads->lock);
}

static double read_clock_ns(void)
{
    return 1e9 * mdf_clock_s();
}

/* Helps with the job that there is, if it wants one more. Nanoseconds that this took. */
static double join_job(struct mdf_threads *threads, size_t number)
{
    double begun_ns = read_clock_ns();
    struct job *job;
    size_t part;

    atomic_fetch_add(&threads->n_inside, 1);
    job = atomic_load(&threads->job);
    part = job != NULL ? take_part(job, number) : SIZE_MAX;
    if (part != SIZE_MAX) {
        run(job, part);
    }
    if (atomic_fetch_sub(&threads->n_inside, 1) == 1 && atomic_load(&threads->is_waited_for)) {
        pthread_mutex_lock(&threads->lock);
        pthread_cond_signal(&threads->left);
        pthread_mutex_unlock(&threads->lock);
    }
    return read_clock_ns() - begun_ns;
}

/* After so much work, and `n_before` looks for it: work before counts too, less and less. */
static int looks_after(double ns, int n_before)
{
    double n_looks = looks_for_ns_of_work * ns;
    int n = n_before - n_before / 8;

    n = n_looks < LOOKS_FOR_WORK ? (n_looks > n ? (int)n_looks : n) : LOOKS_FOR_WORK;
    return n > FEWEST_LOOKS ? n : FEWEST_LOOKS;
}

static void *help(void *argument)
{
    struct mdf_threads *threads = argument;
    size_t n_jobs = 0, number = 1 + atomic_fetch_add(&threads->n_begun, 1); /* one that is started may find a job */
    int n_looks = LOOKS_FOR_WORK;

    while (!atomic_load(&threads->is_ending)) {
        wait_for_job(threads, n_jobs, n_looks);
        n_jobs = atomic_load(&threads->n_jobs);
        n_looks = looks_after(join_job(threads, number), n_looks);
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

/* Tells helpers that there is a job, or the end, and wakes some that sleep. */
static void tell(struct mdf_threads *threads, size_t n_wake)
{
    atomic_fetch_add(&threads->n_jobs, 1);
    if (n_wake > 0 && atomic_load(&threads->n_asleep) > 0) {
        pthread_mutex_lock(&threads->lock);
        for (; n_wake > 0; n_wake--) {
            pthread_cond_signal(&threads->posted);
        }
        pthread_mutex_unlock(&threads->lock);
    }
}

void mdf_threads_free(struct mdf_threads *threads, struct mdf_memory *memory)
{
    if (threads != NULL && prepare(threads)) {
        atomic_store(&threads->is_ending, true);
        tell(threads, threads->n_helpers);
        while (threads->n_helpers > 0) {
            pthread_join(threads->helpers[--threads->n_helpers], NULL);
        }
        pthread_cond_destroy(&threads->left);
        pthread_cond_destroy(&threads->posted);
        pthread_mutex_destroy(&threads->lock);
    }
    mdf_memory_release(memory, threads);
}

/* Helpers that look out for work, or are about to. */
static size_t count_awake(struct mdf_threads *threads)
{
    size_t n_asleep = atomic_load_explicit(&threads->n_asleep, memory_order_relaxed);

    return threads->n_helpers - mdf_least(n_asleep, threads->n_helpers);
}

static void post(struct mdf_threads *threads, struct job *job)
{
    size_t n_wanted = job->n_threads - 1, n_awake;

    atomic_store(&threads->job, job);
    /* Where the system refuses a thread, those that there are do its part. */
    while (threads->n_helpers < n_wanted && pthread_create(&threads->helpers[threads->n_helpers], NULL, help, threads) == 0) {
        threads->n_helpers++;
    }
    n_awake = count_awake(threads);
    tell(threads, n_wanted > n_awake ? n_wanted - n_awake : 0);
}

/* Waits for the helpers that are still at the job; no more may join. */
static void finish(struct mdf_threads *threads)
{
    atomic_store(&threads->job, NULL);
    for (int look = 0; look < LOOKS && atomic_load(&threads->n_inside) > 0; look++) {
        mdf_pause_shortly();
    }
    if (atomic_load(&threads->n_inside) > 0) {
        pthread_mutex_lock(&threads->lock);
        atomic_store(&threads->is_waited_for, true);
        while (atomic_load(&threads->n_inside) > 0) {
            pthread_cond_wait(&threads->left, &threads->lock);
        }
        atomic_store(&threads->is_waited_for, false);
        pthread_mutex_unlock(&threads->lock);
    }
}

/* Whether helpers that sleep are worth being woken, or more being started, which saves so much of this job's time: once that, and
 * what they would have saved before, is what it takes. Those that were woken look out for a while: for who sleeps, only jobs
 * count that followed each other in less than that. */
static bool are_worth_it(struct mdf_threads *threads, bool there_are_enough, double saved_ns)
{
    double now_ns;

    if (there_are_enough && saved_ns >= waking_ns) {
        return true;
    }
    now_ns = read_clock_ns();
    if (there_are_enough && now_ns - threads->missed_at_ns > looks_for_work_ns) {
        threads->missed_ns = 0;
    }
    threads->missed_at_ns = now_ns;
    threads->missed_ns += saved_ns;
    if (threads->missed_ns < (there_are_enough ? waking_ns : starting_ns)) {
        return false;
    }
    threads->missed_ns = 0;
    return true;
}

/* Threads that the work is worth, the caller's included. */
static size_t useful_threads(const struct mdf_context *context, size_t n, double ns)
{
    struct mdf_threads *threads = context->threads;
    size_t n_threads = context->n_threads > 1 && threads != NULL && !threads->is_busy ? (size_t)context->n_threads : 1, n_there;
    double worth = ns / awake_ns;

    n_threads = mdf_least(mdf_least(n_threads, MAX_THREADS), n);
    n_threads = worth >= (double)n_threads ? n_threads : (size_t)worth;
    if (n_threads <= 1 || !prepare(threads)) {
        return 1;
    }
    n_there = count_awake(threads) + 1;
    if (n_threads > n_there &&
        !are_worth_it(threads, n_threads <= threads->n_helpers + 1, ns / (double)n_there - ns / (double)n_threads)) {
        return n_there;
    }
    return n_threads;
}

/* Items that take so long at most; 1 at least. */
static size_t items_in(double ns, double cost_per_item_ns, size_t n)
{
    double n_items = ns / cost_per_item_ns;

    return n_items >= (double)n ? n : n_items >= 1 ? (size_t)n_items : 1;
}

/* Where part number i ends: at a multiple of some items, where there are many. */
static size_t end_of_part(const struct job *job, size_t i)
{
    size_t n = job->n / job->n_threads, end = n * (i + 1) + job->n % job->n_threads * (i + 1) / job->n_threads;

    return n >= 8 * LONGEST_GRAIN ? end - end % LONGEST_GRAIN : end;
}

static void run_on_threads(struct mdf_threads *threads, struct job *job)
{
    for (size_t i = 0; i < job->n_threads; i++) {
        struct part *part = &job->parts[i];

        atomic_init(&part->next, i == 0 ? 0 : job->parts[i - 1].end);
        part->end = i + 1 == job->n_threads ? job->n : end_of_part(job, i);
        atomic_init(&part->is_taken, i == 0);
    }
    threads->is_busy = true;
    post(threads, job);
    run(job, 0);
    finish(threads);
    threads->is_busy = false;
}

/* mdf_parallel_for; `stop`: of struct job. */
static void run_loop(const struct mdf_context *context, struct mdf_stop *stop, size_t n, double cost_per_item_ns,
                     void (*work)(void *work_context, size_t first, size_t last), void *work_context)
{
    double ns = (double)n * cost_per_item_ns;
    size_t n_threads, n_longest;
    struct job job;

    if (ns < 2 * awake_ns) { /* one range, of which nothing need be reckoned: as short as a row that is copied */
        if (n > 0 && !mdf_stop_heed(stop)) {
            work(work_context, 0, n);
        }
        return;
    }
    n_threads = useful_threads(context, n, ns);
    n_longest = items_in(longest_range_ns, cost_per_item_ns, n);
    if (n_threads <= 1) {
        for (size_t first = 0, n_here; first < n && !mdf_stop_heed(stop); first += n_here) {
            n_here = mdf_least(n_longest, n - first);
            work(work_context, first, first + n_here);
        }
        return;
    }
    job.work = work;
    job.work_context = work_context;
    job.n = n;
    job.n_threads = n_threads;
    job.n_shortest = items_in(shortest_range_ns, cost_per_item_ns, n);
    job.n_longest = n_longest;
    job.stop = stop;
    run_on_threads(context->threads, &job);
}

bool mdf_parallel_for(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                      void (*work)(void *work_context, size_t first, size_t last), void *work_context)
{
    run_loop(context, context->stop, n, cost_per_item_ns, work, work_context);
    return !mdf_should_stop(context);
}

void mdf_parallel_for_all(const struct mdf_context *context, size_t n, double cost_per_item_ns,
                          void (*work)(void *work_context, size_t first, size_t last), void *work_context)
{
    run_loop(context, NULL, n, cost_per_item_ns, work, work_context);
}
