/* check_run.h - what a run would quietly make of inputs and steps: see mdf_check_run in mdf.h. */
#ifndef MDF_RUN_CHECK_RUN_H
#define MDF_RUN_CHECK_RUN_H

#include "mdf_c/plan/program.h"

struct mdf_run_check {
    const char *const *given; /* names of inputs, as mdf_set_input takes them */
    size_t n_given;
    uint64_t n_steps;
    double dt; /* NaN: no time increment */
};

/* Returns how many warnings there are. */
size_t mdf_run_check(const struct mdf_program *program, const struct mdf_run_check *check, const struct mdf_warnings *warnings);

#endif
