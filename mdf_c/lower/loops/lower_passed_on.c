/* lower_passed_on.c - what branches leave of their own, and pass on where they are not taken, is neither an input nor an output:
 * a temporary of one side of a condition is what it was in the run before where the other side is taken, and nobody looks at
 * that. See lowering.h. */
#include "mdf_c/lower/lowering.h"

#include <stdlib.h>

#include "mdf_c/lowered/lowered_reads.h"

#define NO_BINDING UINT32_MAX

struct own_slot {
    const struct mdf_value *slot;
    size_t binding; /* its number in the scope */
};

struct passing {
    struct lowering *lowering;
    bool *is_needed;            /* of each value: some op looks at it, or it is left where somebody does */
    uint32_t *binding_of;       /* of each value: of the slot that it is what was there, where that may be passed on only */
    bool *is_own;               /* of each binding of the scope: of such a slot */
    struct own_slot *own_slots; /* room for as many */
    bool has_changed;
};

static void need(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct passing *passing = context;

    (void)is_aliased;
    if (id != MDF_LOWERED_NONE && !passing->is_needed[id]) {
        passing->is_needed[id] = passing->has_changed = true;
        if (lowering_is_either(passing->lowering, id)) {
            need(passing, passing->lowering->facts[id].is_strong, false);
        }
        if (passing->lowering->facts[id].is_of_either_type) {
            need(passing, passing->lowering->facts[id].narrow, false);
        }
    }
}

/* What ops read but what comes together behind branches; of loops, that too. */
static void need_reads(struct passing *passing, const struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_IF) {
            need(passing, op->of.branches->condition, false);
            need_reads(passing, &op->of.branches->then);
            need_reads(passing, &op->of.branches->otherwise);
        } else {
            mdf_lowered_visit_reads(op, need, passing);
        }
    }
}

static void need_merged(struct passing *passing, const struct mdf_lowered_region *region)
{
    for (size_t i = region->n_ops; i-- > 0;) {
        const struct mdf_lowered_if *branches = region->ops[i].code == MDF_LOWERED_IF ? region->ops[i].of.branches : NULL;

        for (size_t k = 0; branches != NULL && k < branches->n_merges; k++) {
            const struct mdf_lowered_merge *merge = &branches->merges[k];

            if (passing->is_needed[merge->out] || passing->lowering->facts[merge->out].is_watched) {
                need(passing, merge->then, false);
                need(passing, merge->otherwise, false);
            }
        }
        if (branches != NULL) {
            need_merged(passing, &branches->then);
            need_merged(passing, &branches->otherwise);
        }
    }
}

static void drop_merges(const struct passing *passing, struct mdf_lowered_region *region)
{
    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_if *branches = region->ops[i].code == MDF_LOWERED_IF ? region->ops[i].of.branches : NULL;
        size_t n = 0;

        for (size_t k = 0; branches != NULL && k < branches->n_merges; k++) {
            if (passing->is_needed[branches->merges[k].out] || passing->lowering->facts[branches->merges[k].out].is_watched) {
                branches->merges[n++] = branches->merges[k];
            }
        }
        if (branches != NULL) {
            branches->n_merges = n;
            drop_merges(passing, &branches->then);
            drop_merges(passing, &branches->otherwise);
        }
    }
}

/* Whether a slot is left for these instructions alone, which have found something there before. It may be left with nothing that
 * can be told, where sides leave values of several types. */
static bool is_own(const struct lowering *lowering, const struct binding *binding)
{
    return binding->operand != MDF_NO_OPERAND && binding->is_written && binding->is_input &&
           !lowering_is_left_for_others(lowering->request, binding->operand) &&
           (binding->id == MDF_LOWERED_NONE || lowering_is_plain(lowering, binding->id));
}

static int compare_slots(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct own_slot *)a)->slot, y = (uintptr_t)((const struct own_slot *)b)->slot;

    return (x > y) - (x < y);
}

/* Notes for each input that is what such a slot was, of which there may be several, the number of its binding. */
static bool find_own(struct passing *passing, const struct scope *scope)
{
    const struct mdf_lowered *lowered = passing->lowering->lowered;
    struct own_slot *slots = passing->own_slots;
    size_t n = 0;
    bool is_there = false;

    for (size_t i = 0; i < scope->capacity; i++) {
        if (is_own(passing->lowering, &scope->bindings[i])) {
            slots[n++] = (struct own_slot){lowering_slot(passing->lowering, scope, scope->bindings[i].operand), i};
        }
    }
    if (n > 0) {
        qsort(slots, n, sizeof *slots, compare_slots);
    }
    for (size_t id = 0; n > 0 && id < lowered->n_values; id++) {
        const struct own_slot *found, wanted = {lowered->values[id].source, 0};

        if (lowered->values[id].place != MDF_LOWERED_INPUT || !lowering_is_plain(passing->lowering, (mdf_lowered_id)id)) {
            continue;
        }
        found = bsearch(&wanted, slots, n, sizeof *slots, compare_slots);
        if (found != NULL) {
            passing->binding_of[id] = (uint32_t)found->binding;
            passing->is_own[found->binding] = is_there = true;
        }
    }
    return is_there;
}

/* A slot that some op looks at when these instructions run again is none of them. */
static void keep_needed(struct passing *passing)
{
    for (size_t id = 0; id < passing->lowering->lowered->n_values; id++) {
        if (passing->is_needed[id] && passing->binding_of[id] != NO_BINDING) {
            passing->is_own[passing->binding_of[id]] = false;
        }
    }
}

/* False: what is left is not told by single values, such as a list. */
static bool need_left(struct passing *passing, const struct scope *scope)
{
    bool is_plain = true;

    for (size_t i = 0; is_plain && i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];

        if (binding->operand != MDF_NO_OPERAND && binding->is_written && binding->id != MDF_LOWERED_NONE && !passing->is_own[i] &&
            (binding->is_input || lowering_is_left_for_others(passing->lowering->request, binding->operand))) {
            is_plain = lowering_is_plain(passing->lowering, binding->id);
            need(passing, binding->id, false);
        }
    }
    return is_plain;
}

static void let_go(struct passing *passing, struct scope *scope)
{
    for (size_t id = 0; id < passing->lowering->lowered->n_values; id++) {
        uint32_t number = passing->binding_of[id];

        if (number != NO_BINDING && passing->is_own[number]) {
            scope->bindings[number].is_input = false;
            passing->lowering->facts[id].is_passed_on = true;
        }
    }
}

static bool make_room(struct passing *passing, const struct scope *scope)
{
    struct mdf_arena *scratch = &passing->lowering->scratch;
    size_t n = passing->lowering->lowered->n_values;

    passing->is_needed = mdf_arena_array(scratch, n + 1, sizeof *passing->is_needed);
    passing->binding_of = mdf_arena_array(scratch, n + 1, sizeof *passing->binding_of);
    passing->is_own = mdf_arena_array(scratch, scope->capacity + 1, sizeof *passing->is_own);
    passing->own_slots = mdf_arena_array(scratch, scope->capacity + 1, sizeof *passing->own_slots);
    for (size_t id = 0; passing->binding_of != NULL && id < n; id++) {
        passing->binding_of[id] = NO_BINDING;
    }
    return (passing->is_needed != NULL && passing->binding_of != NULL && passing->is_own != NULL && passing->own_slots != NULL) ||
           lowering_out_of_memory(passing->lowering);
}

bool lowering_drop_passed_on(struct lowering *lowering, struct scope *scope, struct mdf_lowered_region *region)
{
    struct passing passing = {.lowering = lowering, .has_changed = true};
    bool is_plain = true;

    if (!make_room(&passing, scope)) {
        return false;
    }
    if (!find_own(&passing, scope)) {
        return true;
    }
    need_reads(&passing, region);
    while (passing.has_changed && is_plain) {
        passing.has_changed = false;
        keep_needed(&passing);
        is_plain = need_left(&passing, scope);
        need_merged(&passing, region);
    }
    if (is_plain) {
        drop_merges(&passing, region);
        let_go(&passing, scope);
    }
    return true;
}
