/* sample.h - values of parameters that are drawn. See mdf_sample in mdf.h. */
#ifndef MDF_RUN_SWEEP_SAMPLE_H
#define MDF_RUN_SWEEP_SAMPLE_H

#include "mdf_c/base/memory.h"

mdf_status mdf_draw_sample(mdf_sampling sampling, uint64_t seed, const mdf_distribution *distributions, size_t n_distributions,
                           size_t n_samples, double *values, mdf_error *error);

#endif
