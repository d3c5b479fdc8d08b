/* fast.c - see fast.h. */
#include "mdf_c/lower/fast.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit.h"

#include <math.h>
#include <string.h>

/* Shapes that are learned from. */
enum { MOST_SURPRISES = 8 };

/* Forms that go on changing, or a fast way that always bails out, cost more than they save. */
enum { MAX_TRIES = 3, BAIL_OUT = 64, MOST_BAIL_OUTS = 8 * BAIL_OUT }; /* one of them is made good by so many runs */

/* A lowered form that ran so often has saved what it cost, and what another costs. Where forms changed too often, so many runs,
 * and twice as many each time, go by before the next try: what is given batches of several sizes settles on one of them. */
enum { RUNS_THAT_PAY = 64, MOST_DOUBLINGS = 40 };

/* Elements of arrays in a node: kernels go through longer ones on several threads, whatever is computed. */
enum { LARGEST_LENGTH = 1 << 18 };

static void drop(struct mdf_fast *fast)
{
    mdf_lowered_release(fast->lowered);
    fast->lowered = NULL;
}

/* Whether a nest over many elements is nothing but a function, or an operation on truths, of which kernels have more in a
 * register; or several functions, which it would call for each element. */
static bool is_long_function(const struct mdf_lowered_nest *nest)
{
    bool is_function = mdf_nest_count(nest, 0, nest->n_axes) >= MDF_LOWER_LONG;
    size_t n = 0, n_called = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        n += step->kind == MDF_NEST_ELEMENT || step->kind == MDF_NEST_FOLD;
        n_called += step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS;
        is_function = is_function && (step->kind != MDF_NEST_ELEMENT || step->code == MDF_LOWERED_ELEMENTS ||
                                      step->code == MDF_LOWERED_CAST || step->dtype == MDF_DTYPE_BOOL);
    }
    return is_function && (n == 1 || n == n_called);
}

static bool is_as_good_as_a_kernel(const struct mdf_lowered_op *op)
{
    return (op->code == MDF_LOWERED_CALL && op->of.call->draw == NULL) ||
           (op->code == MDF_LOWERED_NEST && is_long_function(op->of.nest));
}

/* Whether one is there whose length is asked for. */
struct arrays {
    const struct mdf_lowered *lowered;
    bool is_there;
};

static void look_for_long(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct arrays *arrays = context;

    (void)is_aliased;
    arrays->is_there = arrays->is_there || arrays->lowered->values[id].form.length > LARGEST_LENGTH;
}

static void look_for_long_result(void *context, mdf_lowered_id id)
{
    look_for_long(context, id, false);
}

/* Loops go through them item by item. */
static bool has_long_arrays(const struct mdf_lowered *lowered, const struct mdf_lowered_region *region)
{
    struct arrays arrays = {.lowered = lowered};
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops && !arrays.is_there; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code != MDF_LOWERED_LOOP && op->code != MDF_LOWERED_IF) {
            mdf_lowered_visit_reads(op, look_for_long, &arrays);
            mdf_lowered_visit_results(op, look_for_long_result, &arrays);
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            arrays.is_there = arrays.is_there || has_long_arrays(lowered, inner);
        }
    }
    return arrays.is_there;
}

static void look_for_none(void *context, mdf_lowered_id id)
{
    struct arrays *arrays = context;

    arrays->is_there = arrays->is_there || arrays->lowered->values[id].form.length == 0;
}

/* Whether a call gives no elements: what is made of them where there are some is not known yet. */
static bool makes_none(const struct mdf_lowered *lowered)
{
    struct arrays arrays = {.lowered = lowered};

    for (size_t i = 0; i < lowered->region.n_ops && !arrays.is_there; i++) {
        if (lowered->region.ops[i].code == MDF_LOWERED_CALL) {
            mdf_lowered_visit_results(&lowered->region.ops[i], look_for_none, &arrays);
        }
    }
    return arrays.is_there;
}

/* Whether the lowered form saves anything that kernels by themselves do, be it all: it costs memory. */
static bool is_worth_it(const struct mdf_lowered *lowered)
{
    bool saves_time = lowered->region.n_ops == 0 || makes_none(lowered);

    for (size_t i = 0; i < lowered->region.n_ops; i++) {
        saves_time = saves_time || !is_as_good_as_a_kernel(&lowered->region.ops[i]);
    }
    return saves_time && !has_long_arrays(lowered, &lowered->region);
}

static bool lower(struct mdf_fast *fast, const struct mdf_lowering_request *request)
{
    struct mdf_lowering_request informed = *request;

    drop(fast);
    fast->n_tries++;
    fast->n_runs = 0;
    fast->refusal = (struct mdf_refusal){.reason = MDF_REFUSED_NOT};
    fast->is_with_dt = !isnan(mdf_frame_execution(request->frame)->dt);
    informed.surprises = fast->surprises;
    informed.n_surprises = fast->n_surprises;
    fast->lowered = mdf_lower(&informed, &fast->refusal);
    fast->n_refused = fast->lowered == NULL ? fast->n_refused + 1 : 0;
    if (fast->lowered != NULL && request->readers != NULL && !is_worth_it(fast->lowered)) {
        fast->refusal.reason =
            has_long_arrays(fast->lowered, &fast->lowered->region) ? MDF_REFUSED_LONG_ARRAYS : MDF_REFUSED_ONLY_KERNELS;
        fast->is_given_up = true;
        drop(fast);
    }
    return fast->lowered != NULL;
}

/* The form bailed out as a call gave another shape than before: the next one leaves that open, which is no try in vain. */
static bool learn(struct mdf_fast *fast, const struct mdf_lowering_request *request)
{
    if (fast->lowered->surprise.source == NULL || fast->n_surprises == MOST_SURPRISES) {
        return false;
    }
    if (fast->surprises == NULL) {
        fast->surprises = mdf_arena_array(&mdf_frame_execution(request->frame)->arena, MOST_SURPRISES, sizeof *fast->surprises);
    }
    if (fast->surprises == NULL) {
        return false;
    }
    fast->surprises[fast->n_surprises++] = fast->lowered->surprise;
    fast->n_tries -= fast->n_tries > 0;
    drop(fast);
    fast->refusal.reason = MDF_REFUSED_OTHER_FORMS;
    return true;
}

static void give_up_for_now(struct mdf_fast *fast)
{
    fast->is_given_up = true;
    if (fast->refusal.reason == MDF_REFUSED_OTHER_FORMS) {
        fast->n_runs_to_wait = (uint64_t)RUNS_THAT_PAY << fast->n_waits;
        fast->n_waits += fast->n_waits < MOST_DOUBLINGS;
    }
}

bool mdf_fast_stays_given_up(struct mdf_fast *fast)
{
    if (fast->is_given_up && fast->n_runs_to_wait > 0 && --fast->n_runs_to_wait == 0) {
        fast->is_given_up = false;
        fast->n_tries = MAX_TRIES - 1;
        return true; /* this run leaves the values that the next one is lowered for */
    }
    return fast->is_given_up;
}

bool mdf_fast_run(struct mdf_fast *fast, const struct mdf_lowering_request *request)
{
    enum mdf_lowered_outcome outcome;
    bool is_new = false;

    fast->has_run = false;
    if (fast->n_to_wait > 0 || mdf_fast_stays_given_up(fast)) {
        return false;
    }
    /* Of a loop, nothing hangs on the time increment: bodies have no time derivatives. */
    if (fast->lowered == NULL ||
        (request->readers != NULL && fast->is_with_dt == isnan(mdf_frame_execution(request->frame)->dt))) {
        if (fast->n_tries >= MAX_TRIES) {
            give_up_for_now(fast);
            return false;
        }
        is_new = lower(fast, request);
        if (!is_new) {
            return false;
        }
    }
    if (request->may_run != NULL && !request->may_run(request->plan)) {
        mdf_lowered_detach(fast->lowered);
        return false;
    }
    outcome = mdf_lowered_run_in_time(fast->lowered);
    if (outcome == MDF_LOWERED_OTHER_FORM && !is_new) {
        if (fast->n_runs >= RUNS_THAT_PAY) {
            fast->n_tries = fast->n_waits = 0;
        }
        drop(fast);
        fast->refusal.reason = MDF_REFUSED_OTHER_FORMS;
        return mdf_fast_run(fast, request);
    }
    if (outcome == MDF_LOWERED_DONE) {
        fast->has_run = true;
        fast->n_runs++;
        fast->n_bail_outs -= fast->n_bail_outs > 0;
    } else if (outcome == MDF_LOWERED_BAILED_OUT && !mdf_stop_is_asked(mdf_frame_execution(request->frame)->context.stop) &&
               !learn(fast, request) && (fast->n_bail_outs += BAIL_OUT) >= MOST_BAIL_OUTS) {
        drop(fast);
        fast->refusal.reason = MDF_REFUSED_LEAVES;
        fast->is_given_up = true;
    }
    return outcome == MDF_LOWERED_DONE;
}

bool mdf_fast_has_learned(const struct mdf_fast *fast)
{
    return fast->lowered == NULL && !fast->is_given_up && fast->refusal.reason == MDF_REFUSED_OTHER_FORMS;
}

void mdf_fast_release(struct mdf_fast *fast)
{
    drop(fast);
}

void mdf_fast_begin_again(struct mdf_fast *fast)
{
    drop(fast);
    *fast = (struct mdf_fast){.surprises = fast->surprises, .n_surprises = fast->n_surprises};
}

void mdf_fast_renew(struct mdf_fast *fast)
{
    fast->n_tries = fast->lowered != NULL;
    fast->n_bail_outs = 0;
    fast->n_runs = fast->n_runs_to_wait = 0;
    fast->n_waits = 0;
    fast->is_given_up = fast->has_run = false;
}

bool mdf_fast_run_loop(struct mdf_frame *frame, size_t at, void **kept)
{
    const struct mdf_code *code = mdf_frame_code(frame);
    enum mdf_form form = code->calls[code->instructions[at].target].operator->form;
    struct mdf_lowering_range range = {at, at + 1};
    struct mdf_lowering_request request = {.frame = frame, .ranges = &range, .n_ranges = 1};

    if (form != MDF_FORM_LOOP && form != MDF_FORM_SCAN) {
        return false;
    }
    if (*kept == NULL) {
        *kept = mdf_arena_allocate(&mdf_frame_execution(frame)->arena, sizeof(struct mdf_fast));
    }
    if (*kept == NULL || mdf_fast_run(*kept, &request)) {
        return *kept != NULL;
    }
    mdf_frame_execution(frame)->has_given_up |= ((struct mdf_fast *)*kept)->is_given_up;
    return false;
}

void mdf_fast_release_loop(void *kept)
{
    mdf_fast_release(kept);
}

void mdf_fast_renew_loop(void *kept)
{
    struct mdf_fast *fast = kept;

    fast->n_tries = fast->lowered != NULL;
    if (fast->n_to_wait > 0) {
        fast->n_to_wait--;
    } else if (fast->n_refused >= MAX_TRIES) {
        fast->n_to_wait = (uint64_t)1 << (fast->n_refused < 63 ? fast->n_refused : 63);
    }
}
