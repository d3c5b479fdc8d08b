/* steps.h - many evaluations in a row. */
#ifndef MDF_RUN_STEPS_H
#define MDF_RUN_STEPS_H

#include "mdf_c/run/state.h"

/* See mdf_evaluate_steps and mdf_evaluate_series in mdf.h. */
struct mdf_steps {
    uint64_t n_steps;
    double first_dt, dt;
    double budget_s; /* 0: none */
    const mdf_record *records;
    size_t n_records;
    const mdf_series *inputs;
    size_t n_inputs;
    const uint8_t *strengths; /* of each input, where it is none of a caller's array: enum mdf_strength; NULL: they are typed */
};

mdf_status mdf_state_evaluate_steps(struct mdf_state *state, const struct mdf_steps *steps, uint64_t *n_done,
                                    uint64_t *n_recorded, mdf_error *error);

#endif
