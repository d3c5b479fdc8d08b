/* lower_branches.c - jumps that depend on a value, and sides of conditions that the model does not have, as ops IF: what a slot
 * is where both ways meet. See lowering.h. */
#include "mdf_c/lower/lowering.h"

#include <string.h>

/* ------------------------------------------------------------------ branches */

/* Whether a slot holds an array of numbers; of a body that is no frame's, what it has met will tell. */
static bool is_there(const struct lowering *lowering, const struct scope *scope, mdf_operand slot)
{
    const struct binding *binding = lowering_find_at(scope, slot);

    if (binding != NULL) {
        return binding->id != MDF_LOWERED_NONE;
    }
    if (scope->repetition != NULL) {
        return is_there(lowering, scope->outer, slot);
    }
    return scope->frame == NULL || lowering_slot(lowering, scope, slot)->kind == MDF_KIND_TENSOR;
}

/* What a slot is after one branch; where the branch has not met it, what it was before. NONE: not to be had. */
static mdf_lowered_id left_by(struct lowering *lowering, struct scope *before, const struct scope *branch, mdf_operand slot)
{
    struct mdf_refusal before_it = lowering->refusal;
    const struct binding *binding = lowering_find_own(branch, slot);
    mdf_lowered_id id;

    if (binding != NULL) {
        return binding->id;
    }
    if (!is_there(lowering, before, slot)) {
        return MDF_LOWERED_NONE;
    }
    id = lowering_either_value_at(lowering, before, slot);
    if (id == MDF_LOWERED_NONE && lowering->refusal.reason != MDF_REFUSED_OUT_OF_MEMORY) {
        lowering->refusal = before_it; /* nobody may need it */
    }
    return id;
}

/* The same where a body that is no frame's holds but what it has met. */
static bool has_been_met(const struct lowering *lowering, const struct scope *scope, mdf_operand slot)
{
    while (scope->repetition != NULL && lowering_find_at(scope, slot) == NULL) {
        scope = scope->outer;
    }
    return (scope->frame != NULL || lowering_find_at(scope, slot) != NULL) && is_there(lowering, scope, slot);
}

static bool is_borrowed(const struct scope *side, mdf_operand slot)
{
    const struct binding *binding = lowering_find_own(side, slot);

    return binding != NULL && binding->is_borrowed;
}

/* Whether one side of a jump lets a slot borrow something, and the other does not meet it, nor has anything here: there it looks
 * at what an earlier run had, which may be gone. */
static bool is_left_over(const struct scope *before, const struct scope *side, const struct scope *other, mdf_operand slot)
{
    while (before->repetition != NULL && lowering_find_at(before, slot) == NULL) {
        before = before->outer;
    }
    return is_borrowed(other, slot) && lowering_find_own(side, slot) == NULL && lowering_find_at(before, slot) == NULL;
}

/* What stands for what a side does not compute, in C where nothing was before, or where something is left over: zeros of the form
 * of the other side's. Nobody reads them but under the same condition as that side, as derivatives do; where the side has run
 * here, what it left would be there. */
static mdf_lowered_id stand_in(struct lowering *lowering, struct scope *before, mdf_operand slot, mdf_lowered_id other,
                               bool is_left_over)
{
    const struct mdf_value *example = other == MDF_LOWERED_NONE ? NULL : lowering_example(lowering, other);
    struct mdf_value zeros = {0};
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (example == NULL || example->kind != MDF_KIND_TENSOR || example->dtype == MDF_DTYPE_STRING ||
        !lowering_is_plain(lowering, other) ||
        (!is_left_over && (!lowering->is_for_source || has_been_met(lowering, before, slot)))) {
        return MDF_LOWERED_NONE;
    }
    if (mdf_value_make_tensor(lowering->memory, &zeros, (mdf_dtype)example->dtype, example->rank, mdf_value_shape(example)) ==
        NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    memset(mdf_value_writable(lowering->memory, &zeros), 0, zeros.length * mdf_dtype_size((mdf_dtype)zeros.dtype));
    zeros.strength = example->strength;
    id = lowering_add_constant(lowering, &zeros, false);
    mdf_value_clear(lowering->memory, &zeros);
    return id;
}

static mdf_lowered_id merge_values(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a, mdf_lowered_id b)
{
    if (a == b) {
        return a;
    }
    a = lowering_begin(lowering, a, lowering_example(lowering, b));
    b = lowering_has_failed(lowering) ? b : lowering_begin(lowering, b, lowering_example(lowering, a));
    return lowering_has_failed(lowering) || a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE
               ? MDF_LOWERED_NONE
               : lowering_merge(lowering, branches, a, b);
}

/* Lists with equally many items: one of the items that each has. NONE: they are other values, or an item is not to be had, or
 * would be of either type, which nobody asks of an item. */
static mdf_lowered_id merge_lists(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a, mdf_lowered_id b)
{
    size_t n = lowering_list_length(lowering, a), i;
    const mdf_lowered_id *then, *otherwise;
    mdf_lowered_id *items;

    if (n == 0 || n != lowering_list_length(lowering, b) ||
        lowering_example(lowering, a)->dtype != lowering_example(lowering, b)->dtype) {
        return MDF_LOWERED_NONE;
    }
    then = lowering_items_of(lowering, a);
    otherwise = lowering_items_of(lowering, b);
    items = mdf_arena_array(&lowering->scratch, n, sizeof *items);
    if (then == NULL || otherwise == NULL || items == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    for (i = 0; i < n; i++) {
        items[i] = merge_values(lowering, branches, then[i], otherwise[i]);
        if (items[i] == MDF_LOWERED_NONE || lowering->facts[items[i]].is_of_either_type) {
            return MDF_LOWERED_NONE;
        }
    }
    return lowering_add_list(lowering, items, n, (mdf_dtype)lowering_example(lowering, a)->dtype);
}

mdf_lowered_id lowering_merge_growths(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a,
                                      mdf_lowered_id b)
{
    const struct growth *then = lowering->facts[a].growth, *otherwise = lowering->facts[b].growth;
    mdf_lowered_id item;

    if (then == NULL || otherwise == NULL || then->loop != otherwise->loop || then->state != otherwise->state ||
        then->axis != otherwise->axis || then->item == MDF_LOWERED_NONE || otherwise->item == MDF_LOWERED_NONE) {
        return MDF_LOWERED_NONE;
    }
    item = merge_values(lowering, branches, then->item, otherwise->item);
    return item == MDF_LOWERED_NONE || lowering->facts[item].is_of_either_type
               ? MDF_LOWERED_NONE
               : lowering_add_longer(lowering, a, item, then->axis);
}

static mdf_lowered_id merge_others(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a, mdf_lowered_id b)
{
    mdf_lowered_id out = lowering_merge_growths(lowering, branches, a, b);

    return out != MDF_LOWERED_NONE || lowering_has_failed(lowering) ? out : merge_values(lowering, branches, a, b);
}

static bool merge_slot(struct lowering *lowering, struct scope *scope, const struct scope *then, const struct scope *otherwise,
                       mdf_operand slot, bool of_jump, struct mdf_lowered_if *branches)
{
    bool no_then = of_jump && is_left_over(scope, then, otherwise, slot),
         no_otherwise = of_jump && is_left_over(scope, otherwise, then, slot);
    mdf_lowered_id a = no_then ? MDF_LOWERED_NONE : left_by(lowering, scope, then, slot), out,
                   b = no_otherwise ? MDF_LOWERED_NONE : left_by(lowering, scope, otherwise, slot);

    a = a == MDF_LOWERED_NONE ? stand_in(lowering, scope, slot, b, no_then) : a;
    b = b == MDF_LOWERED_NONE ? stand_in(lowering, scope, slot, a, no_otherwise) : b;
    out = a;
    if (!lowering_has_failed(lowering) && a != b) {
        out = a == MDF_LOWERED_NONE || b == MDF_LOWERED_NONE ? MDF_LOWERED_NONE
              : lowering_list_length(lowering, a) > 0        ? merge_lists(lowering, branches, a, b)
                                                             : merge_others(lowering, branches, a, b);
    }
    if (lowering_has_failed(lowering) || !lowering_bind_any_at(lowering, scope, slot, out)) {
        return false;
    }
    lowering_find_own(scope, slot)->is_borrowed |= is_borrowed(then, slot) || is_borrowed(otherwise, slot);
    return true;
}

/* How many merges it takes, at most: one for each value, or for each item of a list. */
static size_t count_merges(const struct lowering *lowering, const struct scope *side)
{
    size_t n = 0;

    for (size_t i = 0; i < side->capacity; i++) {
        if (side->bindings[i].operand != MDF_NO_OPERAND && side->bindings[i].is_written) {
            n += 1 + lowering_list_length(lowering, side->bindings[i].id);
        }
    }
    return n;
}

bool lowering_merge_sides(struct lowering *lowering, struct scope *scope, const struct scope *then, const struct scope *otherwise,
                          struct mdf_lowered_if *branches)
{
    const struct scope *sides[2] = {then, otherwise};

    /* of each slot, and of which strength it is */
    branches->merges = mdf_arena_array(&lowering->lowered->arena,
                                       LOWERING_MERGES * (count_merges(lowering, then) + count_merges(lowering, otherwise)) + 1,
                                       sizeof *branches->merges);
    if (branches->merges == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < sides[i]->capacity; j++) {
            const struct binding *binding = &sides[i]->bindings[j];
            const struct binding *there;

            if (binding->operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(binding->operand) != MDF_OPERAND_SLOT ||
                !binding->is_written) {
                continue;
            }
            there = i == 1 ? lowering_find_own(then, binding->operand) : NULL;
            if (there != NULL && there->is_written) {
                continue; /* merged already */
            }
            if (!merge_slot(lowering, scope, then, otherwise, binding->operand, true, branches)) {
                return false;
            }
        }
    }
    return true;
}

void lowering_begin_side(struct lowering *lowering, const struct scope *scope, struct scope *side, struct region *region)
{
    *side = *scope;
    side->base = scope;
    side->bindings = NULL;
    side->n = side->capacity = 0;
    lowering_begin_region(lowering, region, REGION_BRANCH);
}

/* A side of a jump: instructions [first, end). */
static bool run_side(struct lowering *lowering, const struct scope *scope, struct scope *side, size_t first, size_t end,
                     struct mdf_lowered_region *result)
{
    struct region region;

    lowering_begin_side(lowering, scope, side, &region);
    return lowering_run(lowering, side, first, end) && lowering_end_region(lowering, result);
}

bool lowering_jump(struct lowering *lowering, struct scope *scope, size_t at, size_t *next)
{
    const struct mdf_instruction *code = scope->code->instructions, *jump = &code[at];
    struct mdf_lowered_if *branches = mdf_arena_allocate(&lowering->lowered->arena, sizeof *branches);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .of.branches = branches};
    size_t target = jump->target, then_end = target;
    bool unless = jump->opcode == MDF_OPCODE_JUMP_UNLESS, done;
    struct scope then, otherwise;

    if (branches == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *next = target;
    if (target > at + 1 && code[target - 1].opcode == MDF_OPCODE_JUMP && code[target - 1].target >= target) {
        then_end = target - 1;
        *next = code[target - 1].target;
    }
    branches->condition = lowering_truth(lowering, lowering_either_value_of(lowering, scope, jump->a));
    if (target <= at || branches->condition == MDF_LOWERED_NONE) {
        return lowering_fail(lowering, MDF_REFUSED_BACKWARDS);
    }
    if (lowering_is_constant(lowering, branches->condition)) { /* the other side is never run, and may not even be possible */
        *next = lowering_is_true(lowering, branches->condition) == unless ? at + 1 : target;
        return true;
    }
    /* The instructions behind the jump are run where it does not jump. */
    done = run_side(lowering, scope, &then, at + 1, then_end, unless ? &branches->then : &branches->otherwise) &&
           run_side(lowering, scope, &otherwise, target, *next, unless ? &branches->otherwise : &branches->then);
    if (!done || !lowering_merge_sides(lowering, scope, unless ? &then : &otherwise, unless ? &otherwise : &then, branches)) {
        return false;
    }
    return lowering_add_op(lowering, lowering->region, &op);
}

mdf_operand lowering_alias(const struct scope *side, mdf_operand slot, const uint32_t *states, size_t n_slots)
{
    mdf_lowered_id id = lowering_find_own(side, slot)->id;

    for (size_t i = 0; i < side->capacity && id != MDF_LOWERED_NONE; i++) {
        const struct binding *binding = &side->bindings[i];

        if (binding->operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(binding->operand) == MDF_OPERAND_SLOT &&
            MDF_OPERAND_INDEX(binding->operand) < n_slots && binding->operand != slot && binding->is_written &&
            binding->id == id && states[MDF_OPERAND_INDEX(binding->operand)] != 0) {
            return binding->operand;
        }
    }
    return MDF_NO_OPERAND;
}

bool lowering_end_side(struct lowering *lowering, struct scope *scope, const struct scope *side, mdf_lowered_id condition,
                       bool (*is_own)(const void *owner, mdf_operand slot), const void *owner)
{
    struct mdf_lowered_if *branches = mdf_arena_allocate(&lowering->lowered->arena, sizeof *branches);
    struct mdf_lowered_op op = {.code = MDF_LOWERED_IF, .out = MDF_LOWERED_NONE, .of.branches = branches};
    struct scope otherwise = {0};

    if (branches == NULL || !lowering_end_region(lowering, &branches->then)) {
        return lowering_out_of_memory(lowering);
    }
    branches->condition = condition;
    branches->merges =
        mdf_arena_array(&lowering->lowered->arena, LOWERING_MERGES * count_merges(lowering, side) + 1, sizeof *branches->merges);
    if (branches->merges == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < side->capacity; i++) {
        mdf_operand slot = side->bindings[i].operand;

        if (slot == MDF_NO_OPERAND || MDF_OPERAND_KIND(slot) != MDF_OPERAND_SLOT || !side->bindings[i].is_written) {
            continue;
        }
        if (is_own(owner, slot) ? !lowering_bind_any_at(lowering, scope, slot, MDF_LOWERED_NONE)
                                : !merge_slot(lowering, scope, side, &otherwise, slot, false, branches)) {
            return false;
        }
    }
    return lowering_add_op(lowering, lowering->region, &op);
}
