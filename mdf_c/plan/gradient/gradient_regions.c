/* gradient_regions.c - what jumps choose between: `a if c else b`, `and`, `or`.
 *
 * Comes in: a range of instructions, of which the ways through meet again behind what each jump chooses. Goes out: where the two
 * arms of a jump are; whether two instructions are in different ones; and the gradients that an arm hands back, in instructions
 * that choose the same arm. */
#include "mdf_c/plan/gradient/gradient.h"

/* Whether an instruction is a jump that depends on something. */
static bool is_conditional(const struct mdf_instruction *instruction)
{
    return instruction->opcode == MDF_OPCODE_JUMP_IF || instruction->opcode == MDF_OPCODE_JUMP_UNLESS ||
           instruction->opcode == MDF_OPCODE_JUMP_WITHOUT_DT;
}

static struct region find_region(const struct mdf_instruction *instructions, size_t at)
{
    size_t target = instructions[at].target;
    struct region region = {at, target, target, target};
    const struct mdf_instruction *last = &instructions[target - 1];

    if (target - 1 > at && last->opcode == MDF_OPCODE_JUMP && last->target >= target) {
        region.first_end = target - 1;
        region.end = last->target;
    }
    return region;
}

struct region gradient_find_region(struct unit *unit, size_t at)
{
    return find_region(unit->instructions.items, at);
}

size_t gradient_end_of_instruction(const struct mdf_instruction *instructions, size_t at)
{
    if (is_conditional(&instructions[at])) {
        return find_region(instructions, at).end;
    }
    return instructions[at].opcode == MDF_OPCODE_NEXT ? instructions[at].target : at + 1;
}

size_t gradient_end_of(struct gradient *gradient, size_t at)
{
    return gradient_end_of_instruction(gradient->unit->instructions.items, at);
}

static bool is_between(size_t at, size_t first, size_t end)
{
    return at >= first && at < end;
}

bool gradient_are_exclusive(struct gradient *gradient, size_t a, size_t b)
{
    size_t at = gradient->outermost[a], end = gradient->outermost[a] == gradient->outermost[b] ? gradient->n_instructions : at;

    while (at < end) {
        size_t next = gradient_end_of(gradient, at);
        struct region region;

        if (!is_between(a, at, next) && !is_between(b, at, next)) {
            at = next;
            continue;
        }
        if (!is_between(a, at, next) || !is_between(b, at, next) || !is_conditional(unit_instruction(gradient->unit, at))) {
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

void gradient_find_repeated(struct gradient *gradient)
{
    size_t end = 0; /* of what is gone through item by item */

    for (size_t i = gradient->first_instruction; i < gradient->n_instructions; i++) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);

        end = instruction->opcode == MDF_OPCODE_NEXT && instruction->target > end ? instruction->target : end;
        gradient->is_repeated[i] = i < end;
    }
}

void gradient_find_outermost(struct gradient *gradient)
{
    for (size_t at = gradient->first_instruction, next; at < gradient->n_instructions; at = next) {
        next = gradient_end_of(gradient, at);
        for (size_t i = at; i < next && i < gradient->n_instructions; i++) {
            gradient->outermost[i] = at;
        }
    }
}

static bool any_taped(const struct gradient *gradient, size_t first, size_t end)
{
    while (first < end && !gradient->is_taped[first]) {
        first++;
    }
    return first < end;
}

/* ------------------------------------------------------------------ handing back */

/* Operands from outside a region to which it hands gradients: what these are before, and the slots of what they are behind it,
 * which each arm writes once. */
struct shared {
    mdf_operand operand, before, sum;
    bool may_be_unset; /* only one arm of an earlier jump writes it: what is handed back counts in an arm of such a jump only */
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
    const struct track *track = gradient_track(gradient, operand);
    size_t end = track->n_writers > 0 && track->last_writer < region->end ? track->last_writer + 1 : region->end;

    for (size_t i = track->first_writer > region->at ? track->first_writer : region->at; track->n_writers > 0 && i < end; i++) {
        if (writes(gradient, unit_instruction(gradient->unit, i), operand)) {
            return true;
        }
    }
    return false;
}

static bool is_written_between(struct gradient *gradient, size_t at, size_t end, mdf_operand operand)
{
    const struct region range = {.at = at, .end = end};

    return is_written_in(gradient, &range, operand);
}

/* Whether an operand is written by one arm of a jump whose arms end before `at`. */
static bool may_be_unset(struct gradient *gradient, size_t first, size_t at, mdf_operand operand)
{
    while (first < at && first <= gradient_track(gradient, operand)->last_writer) {
        size_t next = gradient_end_of(gradient, first);
        struct region region;

        if (!is_conditional(unit_instruction(gradient->unit, first)) || !is_written_between(gradient, first + 1, next, operand)) {
            first = next;
            continue;
        }
        region = gradient_find_region(gradient->unit, first);
        if (region.end <= at) {
            return !is_written_between(gradient, first + 1, region.first_end, operand) ||
                   !is_written_between(gradient, region.second, region.end, operand) ||
                   may_be_unset(gradient, first + 1, region.first_end, operand) ||
                   may_be_unset(gradient, region.second, region.end, operand);
        }
        first = at < region.first_end ? first + 1 : region.second; /* the jump is within it */
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
    struct shared shared = {operand, MDF_NO_OPERAND, MDF_NO_OPERAND, false};

    if (gradient_track(gradient, operand)->is_active && !is_shared(collection, operand) &&
        !is_written_in(gradient, collection->region, operand)) {
        shared.may_be_unset = is_written_between(gradient, gradient->first_instruction, collection->region->at, operand) &&
                              may_be_unset(gradient, gradient->outermost[gradient_track(gradient, operand)->first_writer],
                                           collection->region->at, operand);
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
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);
        mdf_operand item = gradient->is_taped[i] && instruction->opcode == MDF_OPCODE_CALL
                               ? gradient_find_item(gradient, gradient_call(gradient, instruction))
                               : MDF_NO_OPERAND;

        if (item != MDF_NO_OPERAND) {
            collect(gradient, item);
        } else if (gradient->is_taped[i]) {
            gradient_any_input(gradient, instruction, collect);
        }
    }
    gradient->collection = outer;
    return !collection->failed;
}

/* What an operand's gradient is in front of a region; one that the arm has not written which was run has none: 0. */
static mdf_operand gradient_before(struct gradient *gradient, const struct shared *shared)
{
    const struct track *track = gradient_track(gradient, shared->operand);

    return shared->may_be_unset && track->gradient == MDF_NO_OPERAND
               ? unit_call_python(gradient->target, "gradient.zeros", &track->value, 1)
               : gradient_or_zeros(gradient, shared->operand);
}

static bool make_sums(struct collection *collection)
{
    struct gradient *gradient = collection->gradient;
    struct shared *shared = collection->shared.items;

    for (size_t i = 0; i < collection->shared.n; i++) {
        shared[i].before = gradient_before(gradient, &shared[i]);
        shared[i].sum = unit_new_slot(gradient->target, 0);
        if (shared[i].before == MDF_NO_OPERAND || shared[i].sum == MDF_NO_OPERAND) {
            return false;
        }
    }
    return true;
}

/* One arm hands back, from what there was before; what comes of it goes into the slots. */
static bool hand_back_arm(struct collection *collection, size_t first, size_t end)
{
    struct gradient *gradient = collection->gradient;
    const struct shared *shared = collection->shared.items;

    for (size_t i = 0; i < collection->shared.n; i++) {
        gradient_track(gradient, shared[i].operand)->gradient = shared[i].before;
    }
    if (!gradient_hand_back_range(gradient, first, end)) {
        return false;
    }
    for (size_t i = 0; i < collection->shared.n; i++) {
        struct track *track = gradient_track(gradient, shared[i].operand);

        if (!unit_emit(gradient->target, MDF_OPCODE_COPY, shared[i].sum, track->gradient, 0)) {
            return false;
        }
        track->gradient = shared[i].sum;
    }
    return true;
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
    if (!collect_shared(&collection) || !make_sums(&collection)) {
        return false;
    }
    to_second = unit_emit_jump(gradient->target, (enum mdf_opcode)jump.opcode,
                               jump.opcode == MDF_OPCODE_JUMP_WITHOUT_DT ? jump.a : gradient_track(gradient, jump.a)->value);
    gradient->n_regions++;
    if (to_second == SIZE_MAX || !hand_back_arm(&collection, at + 1, region.first_end)) {
        return false;
    }
    to_end = unit_emit_jump(gradient->target, MDF_OPCODE_JUMP, 0);
    if (to_end == SIZE_MAX) {
        return false;
    }
    unit_land(gradient->unit, to_second);
    if (!hand_back_arm(&collection, region.second, region.end)) {
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

        if (!(is_conditional(unit_instruction(gradient->unit, at)) ? hand_back_region(gradient, at)
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
