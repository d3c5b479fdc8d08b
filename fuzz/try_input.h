/* try_input.h - one input through all that the library does: loaded, compiled, evaluated, written and read again. */
#ifndef FUZZ_TRY_INPUT_H
#define FUZZ_TRY_INPUT_H

#include "mdf_c/mdf.h"

/* How far an input came. */
enum outcome { OUTCOME_REFUSED, OUTCOME_LOADED, OUTCOME_EVALUATED, N_OUTCOMES };

/* Why an input shows a fault of the library; empty: it shows none. */
struct complaint {
    char text[1200];
};

/* Tries bytes of a format. A fault is: memory that is still held afterwards, an error without a message, a success with one, a
 * model that can be loaded, but not be written in each format and loaded again, or other results than those of the plain way.
 * What takes more than `time_limit_s` while it is evaluated is interrupted, and counts as evaluated. */
enum outcome try_input(const void *bytes, size_t size, const char *format, double time_limit_s, struct complaint *complaint);

/* --- for targets */

/* Options that bound iterations, passes, memory and threads. */
mdf_options limited_options(void);
/* Interrupts the evaluation of a state that lasts longer; one state at a time. */
void begin_watch(mdf_state *state, double time_limit_s);
void end_watch(void);
/* The first complaint stays. */
void complain(struct complaint *complaint, const char *what, const mdf_error *error);
/* Complains of a failure that does not say why, and of a success that does. */
void check_outcome(struct complaint *complaint, const char *what, bool done, const mdf_error *error);

#endif
