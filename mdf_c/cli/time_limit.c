/* time_limit.c - see time_limit.h. */
#include "mdf_c/cli/time_limit.h"

#include "mdf_c/base/error.h"
#include "mdf_c/base/stop.h"
#include "mdf_c/cli/command_line.h"
#include "mdf_c/cli/reports/messages.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct time_guard {
    pthread_t thread;
    const char *path;
    double end_s;
    atomic_bool is_released;
};

double time_left(double limit_s, double start_s)
{
    double left_s = start_s + limit_s - mdf_clock_s();

    return limit_s <= 0 ? 0 : left_s > 1e-9 ? left_s : 1e-9;
}

static void end_program(const struct time_guard *guard)
{
    struct mdf_stop stop;
    mdf_error error = {0};

    mdf_stop_init(&stop);
    mdf_stop_ask_late(&stop);
    mdf_stop_tell(&stop, &error);
    print_error(&error, guard->path);
    _exit(EXIT_MODEL);
}

static void *watch(void *argument)
{
    const struct timespec pause = {0, 20000000};
    const struct time_guard *guard = argument;

    while (!atomic_load(&guard->is_released)) {
        if (mdf_clock_s() >= guard->end_s) {
            end_program(guard);
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

struct time_guard *guard_time(double seconds, const char *path, mdf_error *error)
{
    struct time_guard *guard = seconds > 0 ? calloc(1, sizeof *guard) : NULL;

    if (seconds <= 0) {
        return NULL;
    }
    if (guard != NULL) {
        guard->path = path;
        guard->end_s = mdf_clock_s() + seconds;
        atomic_init(&guard->is_released, false);
    }
    if (guard == NULL || pthread_create(&guard->thread, NULL, watch, guard) != 0) {
        free(guard);
        mdf_error_set(error, MDF_OUT_OF_MEMORY, "there is no memory, or no thread, to keep the time limit");
        return NULL;
    }
    return guard;
}

void release_time(struct time_guard *guard)
{
    if (guard != NULL) {
        atomic_store(&guard->is_released, true);
        pthread_join(guard->thread, NULL);
        free(guard);
    }
}
