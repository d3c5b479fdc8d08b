/* fast.h - when to lower instructions, and when to let it be: the lowered form of one stretch, kept with whoever runs it. */
#ifndef MDF_LOWER_FAST_H
#define MDF_LOWER_FAST_H

#include "mdf_c/lower/lower.h"

struct mdf_lowered_surprise;

struct mdf_fast {
    struct mdf_lowered *lowered; /* NULL: none */
    struct mdf_refusal refusal;  /* why there is none; NOT: there has been no try */
    unsigned n_tries, n_bail_outs;
    unsigned n_refused; /* tries in a row, in all lives of the state, that gave no form */
    uint64_t n_to_wait; /* lives of the state until the next try: after some in vain, twice as many each time */
    struct mdf_lowered_surprise *surprises; /* in the execution's arena; NULL: none */
    size_t n_surprises;
    uint64_t n_runs;         /* that were done by it */
    uint64_t n_runs_to_wait; /* given up: until the next try, after forms that kept changing; 0: for good */
    unsigned n_waits;        /* that there have been */
    bool is_with_dt;         /* lowered for an evaluation with a time increment */
    bool is_given_up;
    bool has_run; /* it did the last run that was asked for */
};

/* Runs the instructions of a request, which are those of a node, lowering them first where they are not. False: they have not
 * run, nothing has changed, and they must be run as they stand. What was left or refused too often is given up. */
bool mdf_fast_run(struct mdf_fast *fast, const struct mdf_lowering_request *request);
/* Whether it is given up for this run, which is counted as one that waits for the next try; asked once a run. */
bool mdf_fast_stays_given_up(struct mdf_fast *fast);
/* Whether the last run bailed out as a call gave another shape, which the next try leaves open. */
bool mdf_fast_has_learned(const struct mdf_fast *fast);
void mdf_fast_release(struct mdf_fast *fast);
/* Without a form, and as often as at first; what was learned of shapes stays. */
void mdf_fast_begin_again(struct mdf_fast *fast);
/* Begins anew with the form that there is: what was tried in vain may be tried again. */
void mdf_fast_renew(struct mdf_fast *fast);

/* Runs a call of Loop or Scan, instruction number `at` of a frame; mdf_execution's run_fast. *kept is the call's own, NULL at
 * first; it lies in the execution's arena. */
bool mdf_fast_run_loop(struct mdf_frame *frame, size_t at, void **kept);
void mdf_fast_release_loop(void *kept);
/* What it is called with begins anew, perhaps with other forms: it may be lowered as often as at first, but for one that was
 * refused again and again, which each life would pay for with another try in vain. */
void mdf_fast_renew_loop(void *kept);

#endif
