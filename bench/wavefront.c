/* wavefront.c - two loops, of which the second goes through what the first yields, in three ways: one after the other, as one
 * loop, and as a wavefront, in which a second thread runs a block behind the first. States are h = softsign(A h + x). All ways
 * give the same bits, which is checked. Two halves that do not wait for each other, on two threads, show what the machine has to
 * give.
 *
 *     cc -O3 -march=native -pthread bench/wavefront.c -o wavefront && ./wavefront
 */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 60, BLOCKS = 16, SPINS = 2000, WAYS = 4 };

struct pair {
    size_t n_states, n_runs;
    double *weights[2]; /* n_states x n_states each, by columns */
    double *rows[3]; /* inputs, what the first loop yields, what the second does; in front of the latter two is a row of zeros */
    atomic_size_t n_done;
};

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Run `t` of loop `which`. */
static void run(struct pair *pair, int which, size_t t)
{
    size_t n = pair->n_states;
    const double *items = pair->rows[which] + t * n, *state = pair->rows[which + 1] + t * n - n;
    double *out = pair->rows[which + 1] + t * n;
    memcpy(out, items, n * sizeof *out);
    for (size_t k = 0; k < n; k++) {
        const double *column = pair->weights[which] + k * n;
        for (size_t i = 0; i < n; i++) {
            out[i] += column[i] * state[k];
        }
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = out[i] / (1.0 + (out[i] < 0 ? -out[i] : out[i]));
    }
}

static void run_all(struct pair *pair, int which)
{
    for (size_t t = 0; t < pair->n_runs; t++) {
        run(pair, which, t);
    }
}

static size_t end_of_block(const struct pair *pair, size_t t)
{
    size_t block = pair->n_runs / BLOCKS > 0 ? pair->n_runs / BLOCKS : 1;
    return t + block < pair->n_runs ? t + block : pair->n_runs;
}

static void *follow(void *argument)
{
    struct pair *pair = argument;
    for (size_t t = 0; t < pair->n_runs;) {
        size_t end = end_of_block(pair, t);
        for (int spins = 0; atomic_load_explicit(&pair->n_done, memory_order_acquire) < end; spins++) {
            if (spins == SPINS) {
                sched_yield();
                spins = 0;
            }
        }
        for (; t < end; t++) {
            run(pair, 1, t);
        }
    }
    return NULL;
}

static void *run_second(void *argument)
{
    run_all(argument, 1);
    return NULL;
}

static void after_each_other(struct pair *pair)
{
    run_all(pair, 0);
    run_all(pair, 1);
}

static void as_one(struct pair *pair)
{
    for (size_t t = 0; t < pair->n_runs; t++) {
        run(pair, 0, t);
        run(pair, 1, t);
    }
}

static void start(pthread_t *thread, void *(*work)(void *), struct pair *pair)
{
    if (pthread_create(thread, NULL, work, pair) != 0) {
        fputs("no thread\n", stderr);
        exit(1);
    }
}

static void as_wavefront(struct pair *pair)
{
    pthread_t thread;
    atomic_store(&pair->n_done, 0);
    start(&thread, follow, pair);
    for (size_t t = 0; t < pair->n_runs;) {
        for (size_t end = end_of_block(pair, t); t < end; t++) {
            run(pair, 0, t);
        }
        atomic_store_explicit(&pair->n_done, t, memory_order_release);
    }
    pthread_join(thread, NULL);
}

/* The second loop goes through what the call before has left: its time counts, not its values. */
static void without_waiting(struct pair *pair)
{
    pthread_t thread;
    struct pair other = {
        pair->n_states, pair->n_runs, {pair->weights[0], pair->weights[1]}, {pair->rows[0], pair->rows[0], pair->rows[2]}, 0};
    start(&thread, run_second, &other);
    run_all(pair, 0);
    pthread_join(thread, NULL);
}

static double *numbers(size_t count, double scale)
{
    double *made = calloc(count, sizeof *made);
    if (!made) {
        fputs("no memory\n", stderr);
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        made[i] = scale * (rand() % 100 - 50);
    }
    return made;
}

static void measure(size_t n_states, size_t n_runs)
{
    static void (*const ways[WAYS])(struct pair *) = {after_each_other, as_one, as_wavefront, without_waiting};
    size_t n_values = n_states * n_runs;
    double scale = 0.01 / (double)n_states, best[WAYS] = {1e9, 1e9, 1e9, 1e9};
    double *weights = numbers(2 * n_states * n_states, scale), *items = numbers(n_values, 0.01);
    double *yields[2] = {numbers(n_values + n_states, 0), numbers(n_values + n_states, 0)}, *expected = numbers(n_values, 0);
    struct pair pair = {
        n_states, n_runs, {weights, weights + n_states * n_states}, {items, yields[0] + n_states, yields[1] + n_states}, 0};
    after_each_other(&pair);
    memcpy(expected, pair.rows[2], n_values * sizeof *expected);
    for (int round = 0; round < ROUNDS; round++) {
        for (int way = 0; way < WAYS; way++) {
            double began = seconds();
            ways[way](&pair);
            double took = seconds() - began;
            best[way] = took < best[way] ? took : best[way];
            if (way < WAYS - 1 && memcmp(expected, pair.rows[2], n_values * sizeof *expected) != 0) {
                fputs("other bits\n", stderr);
                exit(1);
            }
        }
    }
    printf("%6zu %6zu %12.1f %8.2f %10.2f %12.2f\n", n_states, n_runs, best[0] * 1e6, best[0] / best[1], best[0] / best[2],
           best[0] / best[3]);
    free(weights), free(items), free(yields[0]), free(yields[1]), free(expected);
}

int main(void)
{
    static const size_t n_states[] = {1, 8, 32, 64, 128}, n_runs[] = {100, 1000, 4000};
    puts("states   runs        us     one loop  wavefront  independent");
    for (size_t i = 0; i < sizeof n_states / sizeof *n_states; i++) {
        for (size_t j = 0; j < sizeof n_runs / sizeof *n_runs; j++) {
            measure(n_states[i], n_runs[j]);
        }
    }
    return 0;
}
