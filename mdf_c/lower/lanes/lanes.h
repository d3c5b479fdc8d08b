/* lanes.h - a lowered form for several instances side by side, of one for a single instance ("narrow"): docs/lowered.md.
 *
 * A value that differs between instances has an axis more, the last, with an element for each instance; ops on it are nests along
 * that axis. All others are as they were. What an instance does that the others do not is computed for all, and chosen by masks.
 * Where the narrow form would bail out for one of them, that is noted in `traps`, which is an array of truths; where the wide
 * form itself bails out, nothing is known of any instance. */
#ifndef MDF_LOWER_LANES_LANES_H
#define MDF_LOWER_LANES_LANES_H

#include "mdf_c/lower/lower.h"

/* Finds which values of a narrow form differ between instances where the inputs marked in `varies` do, of which there is one
 * truth for each value: the marks of the others. What draws random numbers gives each instance others. */
void mdf_lanes_mark(const struct mdf_lowered *narrow, bool *varies);
/* The same of anything else that values have from others, which random numbers have from nobody. */
void mdf_lanes_mark_what_follows(const struct mdf_lowered *narrow, bool *marks);

/* Finds which values have to be made, where those marked in `needed` are wanted, of which there is one truth for each value: the
 * marks of the others. */
void mdf_lanes_need(const struct mdf_lowered *narrow, bool *needed);

struct mdf_lanes_request {
    const struct mdf_lowered *narrow; /* lives as long as what is made of it */
    struct mdf_execution *execution;
    size_t n_lanes;                   /* a power of two */
    const bool *varies;               /* as mdf_lanes_mark left it */
    const bool *needed;               /* as mdf_lanes_need left it */
    struct mdf_value *const *inputs;  /* where each of narrow->inputs is found */
    struct mdf_value *const *outputs; /* where each of narrow->outputs goes; NULL: nobody wants it */
    /* Where the contexts whose generators the lanes have are found when it runs; NULL: nothing draws random numbers. */
    struct mdf_context *const *const *contexts;
    struct mdf_value *traps;          /* stays as it is where nothing may bail out */
};

/* NULL: it can not be made; *refusal says why not. */
struct mdf_lowered *mdf_lower_lanes(const struct mdf_lanes_request *request, struct mdf_refusal *refusal);

/* The form of such a value: `narrow` with one axis more. False: it has too many. */
bool mdf_lanes_form(const struct mdf_value *narrow, size_t n_lanes, int64_t *shape);

#endif
