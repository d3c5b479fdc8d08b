/* sweep_threads.c - the instances of a sweep on several threads, each with one state that it uses again and again.
 *
 * Holds afterwards: every instance was evaluated once and all threads have ended; or the sweep was interrupted; or the error is
 * that of the first instance that fails, whatever the number of threads: instances are handed out in ascending order, and those
 * before one that failed are still evaluated. */
#include "mdf_c/run/sweep/sweep.h"

#include "mdf_c/base/processor.h"
#include "mdf_c/run/sweep/sweep_lanes.h"

#include <pthread.h>
#include <time.h>

enum { MAX_SWEEP_THREADS = 1024, WATCH_NS = 100000000 };

/* What the threads of one sweep share. */
struct crew {
    struct mdf_sweep *sweep;
    void *const *arrays;
    atomic_size_t next; /* instance to be handed out */
    atomic_size_t end;  /* no instance from here on is begun */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t n_working;  /* threads */
    size_t failed;     /* the first instance that failed */
    mdf_error error;   /* its error */
    mdf_status status; /* of the error */
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    struct mdf_state *state; /* changed under the lock */
    struct mdf_sweep_lanes *lanes;
    /* Where there are reductions: what has come of this worker's instances, and, where nobody keeps them, the rows of one. */
    struct mdf_reduced *reduced;
    struct mdf_sweep_batch *batch; /* of these the last ones */
    void **rows;
    int64_t stopped_step;
    uint64_t at_once; /* see struct mdf_sweep_target */
    size_t n_done;    /* instances that the sweep has not been told of */
};

static void note_failure(struct crew *crew, size_t instance, mdf_status status, const mdf_error *error)
{
    pthread_mutex_lock(&crew->lock);
    if (crew->status == MDF_OK || instance < crew->failed) {
        crew->failed = instance;
        crew->status = status;
        crew->error = *error;
        atomic_store(&crew->end, instance);
    }
    pthread_mutex_unlock(&crew->lock);
}

static bool make_state(struct worker *worker, mdf_error *error)
{
    struct mdf_state *state = mdf_state_create(worker->crew->sweep->program, error);

    if (state != NULL) {
        state->shared->end_s = worker->crew->sweep->end_s;
        state->shared->execution.context.n_threads = 1; /* the instances are what runs beside each other */
        pthread_mutex_lock(&worker->crew->lock);
        worker->state = state;
        pthread_mutex_unlock(&worker->crew->lock);
    }
    return state != NULL;
}

static mdf_status prepare(struct worker *worker, mdf_error *error)
{
    struct mdf_sweep *sweep = worker->crew->sweep;

    if (worker->state != NULL) {
        return MDF_OK;
    }
    if (sweep->reduced != NULL && worker->reduced == NULL) {
        worker->reduced = mdf_reduced_new(&sweep->memory, &sweep->plan);
        worker->rows = mdf_sweep_new_rows(sweep, 1, error);
        worker->batch = mdf_sweep_batch_new(sweep, error);
        if (worker->reduced == NULL || worker->rows == NULL || worker->batch == NULL) {
            return mdf_memory_error(&sweep->memory, error);
        }
    }
    return make_state(worker, error) ? MDF_OK : MDF_OUT_OF_MEMORY;
}

/* Notes whether a thread has lanes, or why not, for those who ask. */
static void note_lanes(struct worker *worker)
{
    struct mdf_sweep *sweep = worker->crew->sweep;
    struct mdf_refusal refusal;
    bool is_ready = mdf_sweep_lanes_are_ready(worker->lanes, &refusal);

    pthread_mutex_lock(&worker->crew->lock);
    sweep->has_lanes = sweep->has_lanes || is_ready;
    sweep->refusal = refusal;
    pthread_mutex_unlock(&worker->crew->lock);
}

/* An instance has been evaluated: when it stopped is told, and what is reduced comes from its rows. False: out of memory. */
static bool keep(struct worker *worker, size_t instance, const struct mdf_sweep_target *target)
{
    struct mdf_sweep *sweep = worker->crew->sweep;

    if (sweep->stopped_steps != NULL) {
        sweep->stopped_steps[instance] = target->stopped_steps[instance - target->first];
    }
    worker->n_done++;
    return worker->reduced == NULL || mdf_sweep_batch_add(sweep, worker->batch, worker->reduced, target, instance);
}

static void tell_done(struct worker *worker)
{
    atomic_fetch_add(&worker->crew->sweep->n_done, worker->n_done);
    worker->n_done = 0;
}

/* Evaluates an instance, whose rows go to the caller's arrays, or to rows of the worker's own. The first one shows how others go
 * side by side. */
static mdf_status evaluate(struct worker *worker, size_t instance, mdf_error *error)
{
    struct mdf_sweep *sweep = worker->crew->sweep;
    const struct mdf_sweep_target target = {.arrays = worker->crew->arrays != NULL ? worker->crew->arrays : worker->rows,
                                            .stopped_steps = &worker->stopped_step,
                                            .first = instance,
                                            .first_row = worker->crew->arrays != NULL ? instance : 0,
                                            .at_once = &worker->at_once};
    mdf_status status;

    if (worker->lanes == NULL && mdf_sweep_count_lanes(sweep) > 1) {
        worker->lanes = mdf_sweep_lanes_new(sweep, worker->state, worker->crew->arrays);
    }
    if (worker->lanes != NULL && mdf_sweep_lanes_want_to_learn(worker->lanes)) {
        status = mdf_sweep_lanes_learn(worker->lanes, instance, &target, error);
        note_lanes(worker);
    } else {
        status = mdf_sweep_run_instance(sweep, worker->state, instance, &target, error);
    }
    return status != MDF_OK || keep(worker, instance, &target) ? status : mdf_memory_error(&sweep->memory, error);
}

/* One instance by itself. */
static bool run_one(struct worker *worker, size_t instance)
{
    struct crew *crew = worker->crew;
    mdf_error error = {0};
    mdf_status status = prepare(worker, &error);

    if (status == MDF_OK) {
        status = evaluate(worker, instance, &error);
    }
    if (status != MDF_OK) {
        note_failure(crew, instance, status, &error);
    }
    tell_done(worker);
    return status == MDF_OK;
}

/* The next instances that nobody has begun. */
static size_t take(void *context, size_t most, size_t *first)
{
    struct crew *crew = ((struct worker *)context)->crew;
    size_t end;

    tell_done(context);
    *first = atomic_fetch_add(&crew->next, most);
    end = atomic_load(&crew->end);
    return *first >= end ? 0 : most < end - *first ? most : end - *first;
}

static void note_no_memory(struct worker *worker, size_t instance)
{
    mdf_error error = {0};

    note_failure(worker->crew, instance, mdf_memory_error(&worker->crew->sweep->memory, &error), &error);
}

/* What becomes of an instance side by side with others; an error of one makes those behind it idle. */
static void finish(void *context, size_t instance, const struct mdf_sweep_target *target)
{
    struct worker *worker = context;

    if (target == NULL && instance < atomic_load(&worker->crew->end)) {
        run_one(worker, instance);
    }
    if (target != NULL && !keep(worker, instance, target)) {
        note_no_memory(worker, instance);
    }
}

static void work(struct worker *worker)
{
    const struct mdf_sweep_feed feed = {worker, take, finish};
    struct mdf_refusal refusal;
    size_t first;

    for (;;) {
        if (worker->lanes != NULL && mdf_sweep_lanes_are_ready(worker->lanes, &refusal)) {
            mdf_sweep_lanes_run(worker->lanes, &feed);
        }
        if (take(worker, 1, &first) == 0) {
            return;
        }
        run_one(worker, first);
    }
}

static void *run_worker(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;

    work(worker);
    pthread_mutex_lock(&crew->lock);
    crew->n_working--;
    pthread_cond_signal(&crew->changed);
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

/* The caller's thread: tells how far it is, and hands a request to stop on to the states, which may be amid a long step. */
static void watch(struct crew *crew, struct worker *workers, size_t n_workers)
{
    struct mdf_sweep *sweep = crew->sweep;
    bool is_working = true;
    struct timespec until;

    while (is_working) {
        if (sweep->progress != NULL &&
            !sweep->progress(sweep->progress_context, atomic_load(&sweep->n_done), sweep->n_instances)) {
            atomic_store(&sweep->interrupted, true);
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_mutex_lock(&crew->lock);
        for (size_t i = 0; i < n_workers && atomic_load(&sweep->interrupted); i++) {
            if (workers[i].state != NULL) {
                mdf_stop_ask(&workers[i].state->shared->stop);
            }
        }
        if (crew->n_working > 0) {
            pthread_cond_timedwait(&crew->changed, &crew->lock, &until);
        }
        is_working = crew->n_working > 0;
        pthread_mutex_unlock(&crew->lock);
    }
    if (sweep->progress != NULL) {
        sweep->progress(sweep->progress_context, atomic_load(&sweep->n_done), sweep->n_instances);
    }
}

static size_t count_threads(const struct mdf_sweep *sweep)
{
    size_t n = (size_t)(sweep->n_threads > 0 ? sweep->n_threads : mdf_count_cores());

    n = n < MAX_SWEEP_THREADS ? n : MAX_SWEEP_THREADS;
    return n < sweep->n_instances ? n : sweep->n_instances;
}

static void run_crew(struct crew *crew, struct worker *workers, size_t n_workers)
{
    size_t n_started = 0;

    crew->n_working = n_workers;
    while (n_started < n_workers && pthread_create(&workers[n_started].thread, NULL, run_worker, &workers[n_started]) == 0) {
        n_started++;
    }
    if (n_started < n_workers) { /* where the system refuses a thread, those that there are do its part */
        pthread_mutex_lock(&crew->lock);
        crew->n_working -= n_workers - n_started;
        pthread_mutex_unlock(&crew->lock);
    }
    if (n_started == 0) {
        work(&workers[0]);
    }
    watch(crew, workers, n_started);
    for (size_t i = 0; i < n_started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (size_t i = 0; i < n_workers; i++) {
        if (crew->sweep->look_at_lanes != NULL && workers[i].lanes != NULL) {
            crew->sweep->look_at_lanes(crew->sweep->look_context, workers[i].lanes, workers[i].state);
        }
        mdf_sweep_lanes_release(workers[i].lanes);
        mdf_state_release(workers[i].state);
    }
}

/* What has come of the workers' instances goes to the sweep's, unless one of them failed. */
static void gather(struct crew *crew, struct worker *workers, size_t n_workers)
{
    struct mdf_sweep *sweep = crew->sweep;

    for (size_t i = 0; i < n_workers; i++) {
        struct mdf_reduced *reduced = workers[i].reduced;

        if (crew->status == MDF_OK && reduced != NULL &&
            !(mdf_sweep_batch_reduce(sweep, workers[i].batch, reduced) && mdf_reduced_merge(sweep->reduced, reduced))) {
            crew->status = mdf_memory_error(&sweep->memory, &crew->error);
        }
        mdf_reduced_free(reduced);
        mdf_sweep_batch_free(sweep, workers[i].batch);
        mdf_sweep_free_rows(sweep, workers[i].rows);
    }
}

mdf_status mdf_sweep_run_all(struct mdf_sweep *sweep, void *const *arrays, mdf_error *error)
{
    size_t n_workers = count_threads(sweep), i;
    struct crew crew = {.sweep = sweep, .arrays = arrays};
    struct worker *workers;

    atomic_store(&sweep->n_done, 0);
    mdf_sweep_set_end(sweep);
    if (sweep->n_instances == 0) {
        return MDF_OK;
    }
    workers = mdf_memory_allocate_zeroed(&sweep->memory, n_workers, sizeof *workers);
    if (workers == NULL) {
        return mdf_memory_error(&sweep->memory, error);
    }
    for (i = 0; i < n_workers; i++) {
        workers[i].crew = &crew;
        workers[i].at_once = 1;
    }
    atomic_init(&crew.next, 0);
    atomic_init(&crew.end, sweep->n_instances);
    pthread_mutex_init(&crew.lock, NULL);
    pthread_cond_init(&crew.changed, NULL);
    run_crew(&crew, workers, n_workers);
    pthread_cond_destroy(&crew.changed);
    pthread_mutex_destroy(&crew.lock);
    gather(&crew, workers, n_workers);
    mdf_memory_release(&sweep->memory, workers);
    atomic_store(&sweep->interrupted, false); /* the request is met */
    if (crew.status != MDF_OK && error != NULL && error->code == MDF_OK) {
        *error = crew.error;
    }
    return crew.status;
}
