/* watch.h - mdf-run --watch: values on standard error, as they change. */
#ifndef MDF_CLI_WATCH_H
#define MDF_CLI_WATCH_H

#include "mdf_c/cli/port_choice.h"

struct watch {
    struct port_choice ports;
    struct mdf_value *last; /* what was told of each */
    bool has_begun;
};

/* `names` NULL: nothing is watched. As choose_ports. */
int begin_watching(struct watch *watch, struct mdf_memory *memory, const mdf_program *program, const char *names, mdf_error *error);
/* Tells what has changed in a step, counted from 0: "step 3, time 0.2: A.x = 5". `dt` NaN: there is no time. */
mdf_status tell_changes(struct watch *watch, const mdf_state *state, uint64_t step, double dt, mdf_error *error);
void end_watching(struct watch *watch);

#endif
