/* lower_concurrent.c - loops of the whole region that stay two (lower_fuse.c) and can run at the same time: the second needs
 * nothing of the first, or only items of its stacks in the order in which they are made. See lowered.h and lowering.h.
 *
 * What stands between the two and needs the first moves behind both, all else in front, so that they are neighbours. */
#include "mdf_c/lower/lowering.h"
#include "mdf_c/lowered/code_price.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"

#include <string.h>

enum { BLOCK_RUNS = 16 }; /* that the second loop waits for at once, where no products say how many */

struct search {
    struct lowering *lowering;
    size_t first, second; /* the ops */
    bool *follows;        /* of each value: it depends on what the first loop makes */
    bool *is_wanted;      /* of each value: a scalar that found->scalars is to have if they read it */
    struct mdf_lowered_concurrent *found;
};

static struct mdf_lowered_op *op_at(const struct search *search, size_t at)
{
    return &search->lowering->lowered->region.ops[at];
}

static struct mdf_lowered_loop *loop_at(const struct search *search, size_t at)
{
    return op_at(search, at)->code == MDF_LOWERED_LOOP ? op_at(search, at)->of.loop : NULL;
}

/* ------------------------------------------------------------------ which loops */

/* Whether what a region does allocates nothing, and shares no memory with anything else. */
static bool may_run_beside(const struct mdf_lowered_region *region)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_LOOP || (op->code == MDF_LOWERED_CALL && op->of.call->product == NULL) ||
            (op->code == MDF_LOWERED_NEST && op->of.nest->is_open)) {
            return false;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!may_run_beside(inner)) {
                return false;
            }
        }
    }
    return true;
}

/* Whether a loop may run beside another one, as far as it says itself, and may be worth it. */
static bool may_be_one(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop)
{
    return loop != NULL && loop->concurrent == NULL && loop->n_padded == 0 && lowering_is_counted(lowered, loop) &&
           may_run_beside(&loop->body) &&
           (loop->n_runs == SIZE_MAX || mdf_time_for_threads((double)loop->n_runs * mdf_time_of_run(&loop->body)) > 0);
}

/* ------------------------------------------------------------------ what depends on what */

static size_t count_following(const struct search *search, size_t at)
{
    return mdf_lowered_count_marked(op_at(search, at), search->follows);
}

static void follow(const struct search *search)
{
    const struct mdf_lowered *lowered = search->lowering->lowered;

    memset(search->follows, 0, lowered->n_values * sizeof *search->follows);
    mdf_lowered_mark_following(&lowered->region, search->first, search->second, search->follows);
}

/* How many rows of the second loop are stacks of the first, whose items it takes in the order in which they are made. */
static size_t count_items(const struct search *search)
{
    const struct mdf_lowered_loop *first = loop_at(search, search->first), *second = loop_at(search, search->second);
    size_t n = 0;

    for (size_t i = 0; i < second->n_rows; i++) {
        for (size_t j = 0; j < first->n_stacks; j++) {
            n += first->stacks[j].stack == second->rows[i].source &&
                 first->stacks[j].is_reversed == second->rows[i].is_reversed && !first->stacks[j].is_behind;
        }
    }
    return n;
}

/* Whether the second may run while the first does: as it is there, or waiting for items. */
static bool are_independent(const struct search *search, bool *waits)
{
    const struct mdf_lowered_loop *first = loop_at(search, search->first), *second = loop_at(search, search->second);
    size_t n_following = count_following(search, search->second);

    *waits = n_following > 0;
    return n_following == 0 || (n_following == count_items(search) && second->n_runs != SIZE_MAX &&
                                first->n_runs == second->n_runs && first->limit == second->limit);
}

/* ------------------------------------------------------------------ together */

/* A scalar that is there before the loops begin, once. */
static void take_scalar(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct search *search = context;

    (void)is_aliased;
    if (search->is_wanted[id]) {
        search->is_wanted[id] = false;
        search->found->scalars[search->found->n_scalars++] = id;
    }
}

/* The scalars that both read. */
static bool find_scalars(struct search *search)
{
    const struct mdf_lowered *lowered = search->lowering->lowered;
    bool *is_wanted = search->is_wanted;
    size_t n = 0;

    memset(is_wanted, 0, lowered->n_values * sizeof *is_wanted);
    for (size_t i = 0; i < search->first; i++) {
        mdf_lowered_mark_results(op_at(search, i), is_wanted);
    }
    for (size_t i = 0; i < lowered->n_values; i++) {
        is_wanted[i] = (is_wanted[i] || lowered->values[i].place == MDF_LOWERED_INPUT) && lowered->values[i].is_scalar;
        n += is_wanted[i];
    }
    search->found->scalars = mdf_arena_array(&search->lowering->lowered->arena, n, sizeof *search->found->scalars);
    if (search->found->scalars == NULL) {
        return false;
    }
    mdf_lowered_visit_reads(op_at(search, search->first), take_scalar, search);
    mdf_lowered_visit_reads(op_at(search, search->second), take_scalar, search);
    return true;
}

/* The ops in their new order. */
static bool bring_together(struct search *search)
{
    struct mdf_lowered_region *region = &search->lowering->lowered->region;
    size_t n_between = search->second - search->first, n = search->first, n_late = 0;
    struct mdf_lowered_op *late = mdf_arena_array(&search->lowering->scratch, n_between, sizeof *late);
    struct mdf_lowered_op first = region->ops[search->first], second = region->ops[search->second];

    if (late == NULL) {
        return lowering_out_of_memory(search->lowering);
    }
    for (size_t i = search->first + 1; i < search->second; i++) {
        if (count_following(search, i) > 0) {
            late[n_late++] = region->ops[i];
        } else {
            region->ops[n++] = region->ops[i];
        }
    }
    memcpy(region->ops + n + 2, late, n_late * sizeof *late);
    search->first = n;
    search->second = n + 1;
    region->ops[search->first] = first;
    region->ops[search->second] = second;
    return true;
}

static bool join(struct search *search, bool waits)
{
    struct mdf_lowered_concurrent *found = mdf_arena_allocate(&search->lowering->lowered->arena, sizeof *found);

    search->found = found;
    if (found == NULL) {
        return lowering_out_of_memory(search->lowering);
    }
    found->loops[0] = loop_at(search, search->first);
    found->loops[1] = loop_at(search, search->second);
    found->waits = waits;
    atomic_init(&found->n_there, SIZE_MAX);
    if (!find_scalars(search)) {
        return lowering_out_of_memory(search->lowering);
    }
    for (size_t i = 0; i < 2; i++) {
        found->run_ns[i] = mdf_time_of_run(&found->loops[i]->body);
        found->loops[i]->concurrent = found;
    }
    if (waits && found->loops[1]->block_runs == 0) {
        found->loops[1]->block_runs = BLOCK_RUNS;
    }
    return true;
}

static bool note_pair(const struct search *search)
{
    struct mdf_lowered_pair *pair = lowering_pair(search->lowering, op_at(search, search->first), op_at(search, search->second));

    if (pair == NULL) {
        return false;
    }
    pair->why_apart = pair->why_apart != NULL ? pair->why_apart : "neither needs what the other one makes";
    pair->is_concurrent = true;
    return true;
}

/* Finds a second loop for the first, the nearest. */
static bool find_second(struct search *search)
{
    const struct mdf_lowered *lowered = search->lowering->lowered;
    bool waits;

    for (search->second = search->first + 1; search->second < lowered->region.n_ops; search->second++) {
        if (!may_be_one(lowered, loop_at(search, search->second))) {
            continue;
        }
        follow(search);
        if (are_independent(search, &waits)) {
            return bring_together(search) && join(search, waits) && note_pair(search);
        }
    }
    return true;
}

bool lowering_find_concurrent(struct lowering *lowering)
{
    const struct mdf_lowered *lowered = lowering->lowered;
    struct search search = {.lowering = lowering};

    if (lowering->request == NULL || lowering->is_for_source || lowering->request->keeps_calls || lowering->draws ||
        lowered->context->n_threads < 2) {
        return true;
    }
    search.follows = mdf_arena_array(&lowering->scratch, lowered->n_values, sizeof *search.follows);
    search.is_wanted = mdf_arena_array(&lowering->scratch, lowered->n_values, sizeof *search.is_wanted);
    if (search.follows == NULL || search.is_wanted == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (search.first = 0; search.first < lowered->region.n_ops; search.first++) {
        if (may_be_one(lowered, loop_at(&search, search.first)) && !find_second(&search)) {
            return false;
        }
    }
    return true;
}
