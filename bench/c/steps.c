/* steps.c - many evaluations by one call from Python, so that the way from there costs nothing. */
#include "mdf_c/mdf.h"

/* `evaluate` is mdf_evaluate of the library that is measured. */
mdf_status bench_steps(mdf_status (*evaluate)(mdf_state *state, double dt, mdf_error *error), mdf_state *state, double dt,
                       int64_t n, mdf_error *error);

mdf_status bench_steps(mdf_status (*evaluate)(mdf_state *state, double dt, mdf_error *error), mdf_state *state, double dt,
                       int64_t n, mdf_error *error)
{
    mdf_status status = MDF_OK;

    for (int64_t i = 0; i < n && status == MDF_OK; i++) {
        status = evaluate(state, dt, error);
    }
    return status;
}
