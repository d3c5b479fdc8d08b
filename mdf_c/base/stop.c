/* stop.c - see stop.h. The timer's thread is started by the first work that has a time limit, and stays; it is woken only where
 * a limit comes before the moment that it sleeps until, so that to begin and to end work costs a lock. */
#include "mdf_c/base/stop.h"

#include "mdf_c/base/error.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct mdf_timer {
    struct mdf_stop *stop;
    pthread_t thread;
    pid_t process; /* in which the thread runs: a forked child has none */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    double end_s;   /* of the work; INFINITY: there is none, or no limit. This and what follows: under the lock */
    double wakes_s; /* when the thread looks next */
    bool is_ending;
};

enum { LONGEST_SLEEP_S = 86400 }; /* what every clock can count */

double mdf_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ------------------------------------------------------------------ the timer */

static void sleep_until(struct mdf_timer *timer, double end_s)
{
    struct timespec until;
    double now_s = mdf_clock_s(), left_s = end_s - now_s;

    timer->wakes_s = end_s;
    if (!isfinite(end_s)) {
        pthread_cond_wait(&timer->changed, &timer->lock);
        return;
    }
    end_s = left_s > LONGEST_SLEEP_S ? now_s + LONGEST_SLEEP_S : end_s;
    until.tv_sec = (time_t)end_s;
    until.tv_nsec = (long)((end_s - floor(end_s)) * 1e9);
    pthread_cond_timedwait(&timer->changed, &timer->lock, &until);
}

static void *watch(void *argument)
{
    struct mdf_timer *timer = argument;

    pthread_mutex_lock(&timer->lock);
    while (!timer->is_ending) {
        if (mdf_clock_s() >= timer->end_s) {
            mdf_stop_ask_late(timer->stop);
            timer->end_s = INFINITY;
        }
        sleep_until(timer, timer->end_s);
    }
    pthread_mutex_unlock(&timer->lock);
    return NULL;
}

static bool init_lock(struct mdf_timer *timer)
{
    pthread_condattr_t attributes;
    bool done;

    if (pthread_mutex_init(&timer->lock, NULL) != 0) {
        return false;
    }
    done = pthread_condattr_init(&attributes) == 0;
    if (done) {
        done =
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 && pthread_cond_init(&timer->changed, &attributes) == 0;
        pthread_condattr_destroy(&attributes);
    }
    if (!done) {
        pthread_mutex_destroy(&timer->lock);
    }
    return done;
}

static bool start(struct mdf_timer *timer, struct mdf_stop *stop)
{
    memset(timer, 0, sizeof *timer);
    timer->stop = stop;
    timer->process = getpid();
    timer->end_s = timer->wakes_s = INFINITY;
    if (!init_lock(timer)) {
        return false;
    }
    if (pthread_create(&timer->thread, NULL, watch, timer) != 0) {
        pthread_cond_destroy(&timer->changed);
        pthread_mutex_destroy(&timer->lock);
        return false;
    }
    return true;
}

/* A timer whose thread runs in this process; false: refused. In a forked child the lock is made anew: the thread that may have
 * held it is not there. */
static bool ensure_timer(struct mdf_stop *stop, struct mdf_memory *memory)
{
    if (stop->timer != NULL && stop->timer->process == getpid()) {
        return true;
    }
    if (stop->timer == NULL) {
        stop->timer = mdf_memory_allocate(memory, sizeof *stop->timer);
    }
    if (stop->timer != NULL && !start(stop->timer, stop)) {
        mdf_memory_release(memory, stop->timer);
        stop->timer = NULL;
    }
    return stop->timer != NULL;
}

static void set_timer(struct mdf_timer *timer, double end_s)
{
    pthread_mutex_lock(&timer->lock);
    timer->end_s = end_s;
    if (end_s < timer->wakes_s) {
        pthread_cond_signal(&timer->changed);
    }
    pthread_mutex_unlock(&timer->lock);
}

/* ------------------------------------------------------------------ stopping */

void mdf_stop_init(struct mdf_stop *stop)
{
    atomic_init(&stop->is_asked, false);
    atomic_init(&stop->is_late, false);
    atomic_init(&stop->is_heeded, false);
    stop->is_told = false;
    stop->timer = NULL;
    stop->memory = NULL;
}

/* Whose memory it is asks nobody any more. */
static void leave_memory(struct mdf_stop *stop)
{
    if (stop->memory != NULL) {
        stop->memory->stop = NULL;
    }
    stop->memory = NULL;
}

void mdf_stop_release(struct mdf_stop *stop, struct mdf_memory *memory)
{
    struct mdf_timer *timer = stop->timer;

    leave_memory(stop);
    if (timer != NULL && timer->process == getpid()) {
        pthread_mutex_lock(&timer->lock);
        timer->is_ending = true;
        pthread_cond_signal(&timer->changed);
        pthread_mutex_unlock(&timer->lock);
        pthread_join(timer->thread, NULL);
        pthread_cond_destroy(&timer->changed);
        pthread_mutex_destroy(&timer->lock);
    }
    mdf_memory_release(memory, timer);
    stop->timer = NULL;
}

bool mdf_stop_begin(struct mdf_stop *stop, struct mdf_memory *memory, double end_s, mdf_error *error)
{
    atomic_store_explicit(&stop->is_heeded, false, memory_order_relaxed);
    stop->is_told = false;
    if (isfinite(end_s) && mdf_clock_s() >= end_s) {
        mdf_stop_ask_late(stop);
    } else if (isfinite(end_s)) {
        if (!ensure_timer(stop, memory)) {
            mdf_error_set(error, MDF_OUT_OF_MEMORY, "there is no memory, or no thread, to keep the time limit");
            return false;
        }
        set_timer(stop->timer, end_s);
    }
    stop->memory = memory;
    memory->stop = stop;
    return true;
}

void mdf_stop_end(struct mdf_stop *stop)
{
    leave_memory(stop);
    if (stop->timer != NULL && stop->timer->process == getpid()) {
        set_timer(stop->timer, INFINITY);
    }
    if (stop->is_told || atomic_load(&stop->is_late)) {
        atomic_store(&stop->is_late, false);
        atomic_store(&stop->is_asked, false);
    }
}

void mdf_stop_ask(struct mdf_stop *stop)
{
    atomic_store(&stop->is_asked, true);
}

void mdf_stop_ask_late(struct mdf_stop *stop)
{
    atomic_store(&stop->is_late, true);
    atomic_store(&stop->is_asked, true);
}

void mdf_stop_forget(struct mdf_stop *stop)
{
    if (!atomic_load(&stop->is_late)) {
        atomic_store(&stop->is_asked, false);
    }
}

bool mdf_stop_tell(struct mdf_stop *stop, mdf_error *error)
{
    atomic_store_explicit(&stop->is_heeded, true, memory_order_relaxed);
    stop->is_told = true;
    if (error != NULL) {
        memset(error, 0, sizeof *error);
    }
    if (atomic_load(&stop->is_late)) {
        mdf_error_set(error, MDF_LIMIT, "this takes longer than --time-limit (time_limit_s) allows");
    } else {
        mdf_error_set(error, MDF_INTERRUPTED, "interrupted");
    }
    return false;
}
