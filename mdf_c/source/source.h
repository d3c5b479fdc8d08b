/* source.h - a program as C source that needs nothing but C11 and libm: see docs/compile.md.
 *
 * Comes in: a state whose program has been evaluated so often that types and shapes are stable. Goes out: source that computes
 * the same, to the last bit, with static shapes and without allocating. */
#ifndef MDF_SOURCE_SOURCE_H
#define MDF_SOURCE_SOURCE_H

#include "mdf_c/base/text.h"
#include "mdf_c/run/state.h"

struct mdf_source_options {
    const char *name;   /* of the model in C: NAME_init, NAME_step, ...; NULL: after the model */
    const char *header; /* what the source includes as its header; NULL: all is in one text */
    bool *draws; /* becomes whether something draws random numbers; NULL: nobody asks */
    bool has_derivatives; /* with the right-hand side of the differential equation, which the program was compiled with */
    bool has_indicators; /* with NAME_indicators; a right-hand side has it anyway */
    bool *has_tangents; /* becomes whether that has derivatives; NULL: nobody asks */
    size_t n_lanes; /* with so many instances side by side, a power of two. 0: without */
};

/* Gives the inputs of step number `step` to a state. */
typedef bool (*mdf_source_feed)(void *context, struct mdf_state *state, uint64_t step, mdf_error *error);

/* Evaluates a fresh state until all nodes have run and types and shapes are the same after two evaluations. `dt`: of all but the
 * first; NaN: 0. */
bool mdf_source_warm_up(struct mdf_state *state, mdf_source_feed feed, void *context, double dt, mdf_error *error);

/* Appends the source, and the header where there is one (else `header` may be NULL). */
bool mdf_source_write(struct mdf_state *state, const struct mdf_source_options *options, struct mdf_text *source,
                      struct mdf_text *header, mdf_error *error);

#endif
