/* time_limit.h - the time limit of a program: what of it is left for the library, and its end where the library is not asked. */
#ifndef MDF_CLI_TIME_LIMIT_H
#define MDF_CLI_TIME_LIMIT_H

#include "mdf_c/mdf.h"

/* Seconds that are left of `limit_s` since `start_s` of mdf_clock_s, at least a nanosecond; 0 where there is no limit (0). */
double time_left(double limit_s, double start_s);

/* A compiled model does not ask whether it should stop: past the limit the program itself ends, with its error on standard error
 * and the exit status EXIT_MODEL. Only while nothing is written. `path` names the model. */
struct time_guard;
/* NULL where `seconds` is 0, or with the error set. */
struct time_guard *guard_time(double seconds, const char *path, mdf_error *error);
/* The limit holds no longer. */
void release_time(struct time_guard *guard);

#endif
