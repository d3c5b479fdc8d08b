/* stop.h - one question for everything that may take long: should it stop? Its caller asks for that (Ctrl-C), or the time limit.
 *
 * Whoever works asks mdf_stop_is_asked every few milliseconds at least. Work that was left out is noted with mdf_stop_heed, so
 * that nobody takes what there is for a result. The memory of the work asks for each block: what goes on allocating ends so
 * without asking by itself. The time is kept by a thread that sleeps until the limit: machine code, too, has but one byte to look
 * at. */
#ifndef MDF_BASE_STOP_H
#define MDF_BASE_STOP_H

#include "mdf_c/base/memory.h"

struct mdf_timer;

struct mdf_stop {
    atomic_bool is_asked;      /* by the caller, who may be a signal handler, or by the time limit */
    atomic_bool is_late;       /* it was the time limit */
    atomic_bool is_heeded;     /* something was left out for it */
    bool is_told;              /* an error says so; of the thread that evaluates */
    struct mdf_timer *timer;   /* NULL: no time limit so far */
    struct mdf_memory *memory; /* which refuses blocks once it is asked; NULL: no work goes on */
};

void mdf_stop_init(struct mdf_stop *stop);
void mdf_stop_release(struct mdf_stop *stop, struct mdf_memory *memory);

/* Seconds of a clock that is never set back. */
double mdf_clock_s(void);

/* From now on until mdf_stop_end the time limit is the moment `end_s` of mdf_clock_s; INFINITY: none. `memory` is that of the
 * work: it gives no block once it is asked to stop. False with the error set where memory or a thread is refused. */
bool mdf_stop_begin(struct mdf_stop *stop, struct mdf_memory *memory, double end_s, mdf_error *error);
/* The work has ended; the request to stop, where its error has been told, is met. */
void mdf_stop_end(struct mdf_stop *stop);

void mdf_stop_ask(struct mdf_stop *stop);
/* The same for lateness. */
void mdf_stop_ask_late(struct mdf_stop *stop);
/* Takes back what a caller has asked for. */
void mdf_stop_forget(struct mdf_stop *stop);

static inline bool mdf_stop_is_asked(const struct mdf_stop *stop)
{
    return stop != NULL && atomic_load_explicit(&stop->is_asked, memory_order_relaxed);
}

/* The same, noting that the one who asks leaves work out. */
static inline bool mdf_stop_heed(struct mdf_stop *stop)
{
    bool is_asked = mdf_stop_is_asked(stop);

    if (is_asked) {
        atomic_store_explicit(&stop->is_heeded, true, memory_order_relaxed);
    }
    return is_asked;
}

/* Whether work was left out and no error says so yet. */
static inline bool mdf_stop_is_untold(const struct mdf_stop *stop)
{
    return stop != NULL && atomic_load_explicit(&stop->is_heeded, memory_order_relaxed) && !stop->is_told;
}

/* Sets MDF_INTERRUPTED or, of the time limit, MDF_LIMIT in place of what the error holds, which may come of what was left out.
 * Returns false. */
bool mdf_stop_tell(struct mdf_stop *stop, mdf_error *error);

#endif
