/* lowered_concurrent.c - two loops at the same time, each by its machine code. See lowered.h.
 *
 * Memory is made for both before any of them begins: what they do then allocates nothing. The caller's thread begins with
 * the first loop, so the second never waits for a loop that nobody runs. */
#include "functions/kernel/call.h"
#include "mdf_c/base/processor.h"
#include "mdf_c/lowered/code_price.h"
#include "mdf_c/lowered/lowered_parts.h"

#include <math.h>
#include <sched.h>
#include <string.h>

enum { LOOKS = 2000 }; /* before a thread that waits lets others run: some 25 microseconds */

struct work {
    struct mdf_lowered *lowered;
    struct mdf_lowered_concurrent *concurrent;
};

bool mdf_lowered_await_items(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n)
{
    struct mdf_lowered_concurrent *concurrent = loop->concurrent;

    if (!concurrent->waits || concurrent->loops[1] != loop) {
        return true;
    }
    for (size_t look = 0; atomic_load_explicit(&concurrent->n_there, memory_order_acquire) < n; look++) {
        if (atomic_load_explicit(&concurrent->is_lost, memory_order_relaxed) || mdf_stop_is_asked(lowered->context->stop)) {
            return false;
        }
        if (look < LOOKS) {
            mdf_pause_shortly();
        } else {
            sched_yield();
        }
    }
    return true;
}

static bool run_loop(struct mdf_lowered *lowered, const struct mdf_lowered_concurrent *concurrent, size_t i)
{
    struct mdf_lowered_loop *loop = concurrent->loops[i];
    const char *place = (const char *)lowered->code_memory + concurrent->code[i];
    int (*code)(uint64_t * cells, struct mdf_value * arrays);

    memcpy(&code, &place, sizeof code);
    return mdf_lowered_begin_products(lowered, loop, mdf_lowered_bound(lowered, loop)) &&
           code(lowered->cells, lowered->arrays) == 0;
}

static void run_loops(void *context, size_t first, size_t last)
{
    struct mdf_lowered_concurrent *concurrent = ((struct work *)context)->concurrent;

    for (; first < last; first++) {
        concurrent->is_done[first] = run_loop(((struct work *)context)->lowered, concurrent, first);
        if (first == 0 && concurrent->is_done[first]) {
            atomic_store_explicit(&concurrent->n_there, SIZE_MAX, memory_order_release);
        } else if (first == 0) {
            atomic_store_explicit(&concurrent->is_lost, true, memory_order_relaxed);
        }
    }
}

int mdf_lowered_run_concurrent(struct mdf_lowered *lowered, struct mdf_lowered_concurrent *concurrent)
{
    struct work work = {lowered, concurrent};
    double least = HUGE_VAL, ns;

    for (size_t i = 0; i < 2; i++) {
        size_t n_runs = mdf_lowered_bound(lowered, concurrent->loops[i]);

        if (!mdf_lowered_make_room(lowered, concurrent->loops[i], n_runs)) {
            return 1;
        }
        concurrent->is_done[i] = false;
        ns = concurrent->run_ns[i] * (double)n_runs;
        least = ns < least ? ns : least;
    }
    atomic_store_explicit(&concurrent->is_lost, false, memory_order_relaxed);
    atomic_store_explicit(&concurrent->n_there, 0, memory_order_relaxed);
    mdf_parallel_for(lowered->context, 2, mdf_time_for_threads(least), run_loops, &work);
    atomic_store_explicit(&concurrent->n_there, SIZE_MAX, memory_order_relaxed);
    return concurrent->is_done[0] && concurrent->is_done[1] ? 0 : 1;
}
