/* gradient_regions.c - what jumps choose between: `a if c else b`, `and`, `or`.
 *
 * Comes in: a range of instructions, of which the ways through meet again behind what each jump chooses. Goes out: where the two
 * arms of a jump are; whether two instructions are in different ones; and the gradients that an arm hands back, in instructions
 * that choose the same arm. */
#include "mdf_c/plan/gradient/gradient.h"

bool gradient_is_conditional(const struct mdf_instruction *instruction)
{
    return instruction->opcode == MDF_OPCODE_JUMP_IF || instruction->opcode == MDF_OPCODE_JUMP_UNLESS ||
           instruction->opcode == MDF_OPCODE_JUMP_WITHOUT_DT;
}

struct region gradient_find_region(struct unit *unit, size_t at)
{
    size_t target = unit_instruction(unit, at)->target;
    struct region region = {at, target, target, target};
    const struct mdf_instruction *last = unit_instruction(unit, target - 1);

    if (target - 1 > at && last->opcode == MDF_OPCODE_JUMP && last->target >= target) {
        region.first_end = target - 1;
        region.end = last->target;
    }
    return region;
}

size_t gradient_end_of(struct gradient *gradient, size_t at)
{
    const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

    if (gradient_is_conditional(instruction)) {
        return gradient_find_region(gradient->unit, at).end;
    }
    return instruction->opcode == MDF_OPCODE_NEXT ? instruction->target : at + 1;
}

static bool is_between(size_t at, size_t first, size_t end)
{
    return at >= first && at < end;
}

bool gradient_are_exclusive(struct gradient *gradient, size_t a, size_t b)
{
    size_t at = gradient->first_instruction, end = gradient->n_instructions;

    while (at < end) {
        size_t next = gradient_end_of(gradient, at);
        struct region region;

        if (!is_between(a, at, next) && !is_between(b, at, next)) {
            at = next;
            continue;
        }
        if (!is_between(a, at, next) || !is_between(b, at, next) ||
            !gradient_is_conditional(unit_instruction(gradient->unit, at))) {
            return false;
        }
        region = gradient_find_region(gradient->unit, at);
        if (is_between(a, at + 1, region.first_end) != is_between(b, at + 1, region.first_end)) {
            return true;
        }
        end = is_between(a, at + 1, region.first_end) ? region.first_end : region.end;
        at = is_between(a, at + 1, region.first_end) ? at + 1 : region.second;
    }
    return false;
}

bool gradient_is_repeated(struct gradient *gradient, size_t at)
{
    for (size_t i = gradient->first_instruction; i <= at; i++) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);

        if (instruction->opcode == MDF_OPCODE_NEXT && is_between(at, i, instruction->target)) {
            return true;
        }
    }
    return false;
}

static bool any_taped(const struct gradient *gradient, size_t first, size_t end)
{
    while (first < end && !gradient->is_taped[first]) {
        first++;
    }
    return first < end;
}

/* ------------------------------------------------------------------ handing back */

/* Operands from outside a region to which it hands gradients, with the slots that these add up in. */
struct shared {
    mdf_operand operand, sum;
};

struct collection {
    struct gradient *gradient;
    const struct region *region;
    struct list shared; /* struct shared */
    bool failed;
};

static bool writes(struct gradient *gradient, const struct mdf_instruction *instruction, mdf_operand operand)
{
    mdf_operand kept = gradient->looked_for;
    bool found;

    gradient->looked_for = operand;
    found = gradient_any_output(gradient, instruction, gradient_is_looked_for);
    gradient->looked_for = kept;
    return found;
}

static bool is_written_in(struct gradient *gradient, const struct region *region, mdf_operand operand)
{
    for (size_t i = region->at; i < region->end; i++) {
        if (writes(gradient, unit_instruction(gradient->unit, i), operand)) {
            return true;
        }
    }
    return false;
}

static bool is_shared(const struct collection *collection, mdf_operand operand)
{
    for (size_t i = 0; i < collection->shared.n; i++) {
        if (((const struct shared *)collection->shared.items)[i].operand == operand) {
            return true;
        }
    }
    return false;
}

static bool collect(struct gradient *gradient, mdf_operand operand)
{
    struct collection *collection = gradient->collection;
    struct shared shared = {operand, MDF_NO_OPERAND};

    if (gradient_track(gradient, operand)->is_active && !is_shared(collection, operand) &&
        !is_written_in(gradient, collection->region, operand)) {
        collection->failed = !list_add(gradient->compiler, &collection->shared, &shared, sizeof shared);
    }
    return collection->failed;
}

static bool collect_shared(struct collection *collection)
{
    struct gradient *gradient = collection->gradient;
    struct collection *outer = gradient->collection;

    gradient->collection = collection;
    for (size_t i = collection->region->at; i < collection->region->end && !collection->failed; i++) {
        if (gradient->is_taped[i]) {
            gradient_any_input(gradient, unit_instruction(gradient->unit, i), collect);
        }
    }
    gradient->collection = outer;
    return !collection->failed;
}

/* What has been handed to each so far goes into its slot. */
static bool keep_sums(struct collection *collection)
{
    struct shared *shared = collection->shared.items;

    for (size_t i = 0; i < collection->shared.n; i++) {
        struct track *track = gradient_track(collection->gradient, shared[i].operand);

        if (track->gradient != shared[i].sum &&
            !unit_emit(collection->gradient->target, MDF_OPCODE_COPY, shared[i].sum, track->gradient, 0)) {
            return false;
        }
        track->gradient = shared[i].sum;
    }
    return true;
}

static bool begin_sums(struct collection *collection)
{
    struct gradient *gradient = collection->gradient;
    struct shared *shared = collection->shared.items;

    for (size_t i = 0; i < collection->shared.n; i++) {
        mdf_operand so_far = gradient_or_zeros(gradient, shared[i].operand);

        shared[i].sum = unit_new_slot(gradient->target, 0);
        if (so_far == MDF_NO_OPERAND || shared[i].sum == MDF_NO_OPERAND) {
            return false;
        }
        gradient_track(gradient, shared[i].operand)->gradient = so_far;
    }
    return keep_sums(collection);
}

static bool forget(struct gradient *gradient, mdf_operand operand)
{
    gradient_track(gradient, operand)->gradient = MDF_NO_OPERAND;
    return false;
}

/* Whether what the jump goes by may have changed since: it would choose otherwise. */
static bool is_overwritten(struct gradient *gradient, size_t at)
{
    const struct region rest = {.at = at, .end = gradient->n_instructions};
    const struct mdf_instruction *jump = unit_instruction(gradient->unit, at);

    return jump->opcode != MDF_OPCODE_JUMP_WITHOUT_DT && is_written_in(gradient, &rest, jump->a);
}

static bool hand_back_region(struct gradient *gradient, size_t at)
{
    struct mdf_instruction jump = *unit_instruction(gradient->unit, at);
    struct region region = gradient_find_region(gradient->unit, at);
    struct collection collection = {.gradient = gradient, .region = &region};
    size_t to_second, to_end;

    if (is_overwritten(gradient, at)) {
        return gradient_refuse_change(gradient, &jump);
    }
    if (!collect_shared(&collection) || !begin_sums(&collection)) {
        return false;
    }
    to_second = unit_emit_jump(gradient->target, (enum mdf_opcode)jump.opcode,
                               jump.opcode == MDF_OPCODE_JUMP_WITHOUT_DT ? jump.a : gradient_track(gradient, jump.a)->value);
    gradient->n_regions++;
    if (to_second == SIZE_MAX || !gradient_hand_back_range(gradient, at + 1, region.first_end) || !keep_sums(&collection)) {
        return false;
    }
    to_end = unit_emit_jump(gradient->target, MDF_OPCODE_JUMP, 0);
    if (to_end == SIZE_MAX) {
        return false;
    }
    unit_land(gradient->unit, to_second);
    if (!gradient_hand_back_range(gradient, region.second, region.end) || !keep_sums(&collection)) {
        return false;
    }
    unit_land(gradient->unit, to_end);
    gradient->n_regions--;
    for (size_t i = at; i < region.end; i++) {
        gradient_any_output(gradient, unit_instruction(gradient->unit, i), forget);
    }
    return true;
}

bool gradient_hand_back_range(struct gradient *gradient, size_t first, size_t end)
{
    struct list starts = {0};

    for (size_t at = first; at < end; at = gradient_end_of(gradient, at)) {
        if (any_taped(gradient, at, gradient_end_of(gradient, at)) && !list_add(gradient->compiler, &starts, &at, sizeof at)) {
            return false;
        }
    }
    for (size_t i = starts.n; i-- > 0;) {
        size_t at = ((const size_t *)starts.items)[i];

        if (!(gradient_is_conditional(unit_instruction(gradient->unit, at)) ? hand_back_region(gradient, at)
                                                                            : gradient_hand_back(gradient, at))) {
            return false;
        }
    }
    return true;
}

bool gradient_chooses_replaced(struct gradient *gradient, size_t at)
{
    const struct mdf_instruction *jump = unit_instruction(gradient->unit, at);
    bool is_replaced = (jump->opcode == MDF_OPCODE_JUMP_IF || jump->opcode == MDF_OPCODE_JUMP_UNLESS) &&
                       gradient_track(gradient, jump->a)->value != jump->a;
    size_t end = is_replaced ? gradient_end_of(gradient, at) : at;

    while (at < end && !gradient_any_output(gradient, unit_instruction(gradient->unit, at), gradient_is_needed)) {
        at++;
    }
    return at < end;
}
