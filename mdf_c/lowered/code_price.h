/* code_price.h - when machine code pays. */
#ifndef MDF_LOWERED_CODE_PRICE_H
#define MDF_LOWERED_CODE_PRICE_H

#include "mdf_c/lowered/lowered.h"

enum { MDF_UNKNOWN_RUNS = 100 }; /* of a loop whose number of runs is not known before it runs: as many are reckoned with */

/* About what it takes to make the code, and what each run of it saves, in nanoseconds. */
struct mdf_code_price {
    double to_make, saved;
};

void mdf_code_price(const struct mdf_lowered *lowered, struct mdf_code_price *price);
/* What code saves in each run of a region. */
double mdf_saved_by_code(const struct mdf_lowered_region *region);
/* Whether what has run without code, which is not made yet, has cost as much as the code does. */
bool mdf_code_pays(const struct mdf_lowered *lowered);
/* About what a run of a region takes with machine code, in nanoseconds. */
double mdf_time_of_run(const struct mdf_lowered_region *region);
/* What mdf_parallel_for is told that each of two threads has to do at least; 0: too little. */
double mdf_time_for_threads(double ns);
/* Whether runs of a loop are counted while it runs, past those that are reckoned with. */
bool mdf_runs_are_unknown(const struct mdf_lowered_loop *loop);

#endif
