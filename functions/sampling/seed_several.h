/* seed_several.h - Mersenne Twisters that begin together: each step of a seed waits for the one before, so that those of several
 * are taken side by side. */
#ifndef MDF_FUNCTIONS_SAMPLING_SEED_SEVERAL_H
#define MDF_FUNCTIONS_SAMPLING_SEED_SEVERAL_H

#include "functions/sampling/random.h"

/* What mdf_twister_seed_as_numpy does with each. */
void mdf_twisters_seed_as_numpy(struct mdf_twister *const *twisters, const uint64_t *seeds, size_t n);

#endif
