/* lower.c - see lower.h. Goes through the instructions as an evaluation would, with the ids of values in place of values: what is
 * copied or borrowed is another name of the same value, jumps become branches. */
#include "mdf_c/lower/lowering.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ scopes */

static struct binding *find_binding(const struct scope *scope, mdf_operand operand)
{
    size_t at = (operand * UINT32_C(2654435769)) & (scope->capacity - 1);

    while (scope->bindings[at].operand != MDF_NO_OPERAND && scope->bindings[at].operand != operand) {
        at = (at + 1) & (scope->capacity - 1);
    }
    return &scope->bindings[at];
}

static struct binding *new_bindings(struct lowering *lowering, size_t capacity)
{
    struct binding *bindings = mdf_arena_array(&lowering->scratch, capacity, sizeof *bindings);
    size_t i;

    for (i = 0; bindings != NULL && i < capacity; i++) {
        bindings[i].operand = MDF_NO_OPERAND;
    }
    if (bindings == NULL) {
        lowering_out_of_memory(lowering);
    }
    return bindings;
}

static bool grow_scope(struct lowering *lowering, struct scope *scope)
{
    struct scope grown = *scope;
    size_t i;

    grown.capacity = scope->capacity < 16 ? 32 : 2 * scope->capacity;
    grown.bindings = new_bindings(lowering, grown.capacity);
    if (grown.bindings == NULL) {
        return false;
    }
    for (i = 0; i < scope->capacity; i++) {
        if (scope->bindings[i].operand != MDF_NO_OPERAND) {
            *find_binding(&grown, scope->bindings[i].operand) = scope->bindings[i];
        }
    }
    *scope = grown;
    return true;
}

static bool put_binding(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id, bool is_written)
{
    struct binding *binding;

    if (2 * (scope->n + 1) > scope->capacity && !grow_scope(lowering, scope)) {
        return false;
    }
    binding = find_binding(scope, operand);
    if (binding->operand == MDF_NO_OPERAND) {
        *binding = (struct binding){.operand = operand};
        scope->n++;
    }
    binding->id = id;
    binding->is_written = binding->is_written || is_written;
    return true;
}

bool lowering_bind(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && put_binding(lowering, scope, operand, id, true);
}

struct mdf_value *lowering_slot(const struct scope *scope, mdf_operand slot)
{
    while (scope->frame == NULL) {
        scope = scope->outer;
    }
    return MDF_OPERAND_INDEX(slot) < scope->code->n_slots ? mdf_frame_slot(scope->frame, slot)
                                                          : &scope->counters[MDF_OPERAND_INDEX(slot) - scope->code->n_slots];
}

bool lowering_bind_any(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id)
{
    return put_binding(lowering, scope, operand, id, true);
}

static mdf_lowered_id find_value(struct lowering *lowering, struct scope *scope, mdf_operand operand);

/* The value of an operand that has not been met in its scope. */
static mdf_lowered_id meet(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    const struct mdf_value *value;
    mdf_lowered_id id;

    if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CONSTANT) {
        return lowering_add_constant(lowering, &scope->code->constants[MDF_OPERAND_INDEX(operand)], true);
    }
    if (scope->repetition != NULL) {
        return lowering_meet_repeated(lowering, scope->repetition, operand);
    }
    if (scope->frame == NULL) {
        if (MDF_OPERAND_KIND(operand) == MDF_OPERAND_CAPTURE) {
            return find_value(lowering, scope->outer, scope->code->captures[MDF_OPERAND_INDEX(operand)]);
        }
        lowering_fail(lowering, MDF_REFUSED_NOT_ALWAYS_THERE);
        return MDF_LOWERED_NONE;
    }
    value =
        MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT ? lowering_slot(scope, operand) : mdf_frame_value(scope->frame, operand);
    if (lowering->stays != NULL && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && lowering->stays[MDF_OPERAND_INDEX(operand)]) {
        return lowering_add_constant(lowering, value, true);
    }
    if (value->kind == MDF_KIND_LIST && value->dtype != MDF_DTYPE_NONE && !lowering->is_for_source) {
        id = lowering_meet_sequence(lowering, value);
        if (id != MDF_LOWERED_NONE || lowering_has_failed(lowering)) {
            return id;
        }
    }
    id = lowering_add_value(lowering, MDF_LOWERED_INPUT, value);
    if (id != MDF_LOWERED_NONE) {
        lowering->lowered->values[id].source = value;
    }
    return id;
}

static bool is_input(const struct lowering *lowering, mdf_lowered_id id)
{
    mdf_lowered_id made = lowering->facts[id].is_sequence ? lowering->facts[id].rows : id;

    return lowering->lowered->values[made].place == MDF_LOWERED_INPUT;
}

static mdf_lowered_id find_value(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    struct binding *binding;
    mdf_lowered_id id;

    if (operand == MDF_NO_OPERAND) {
        lowering_fail(lowering, MDF_REFUSED_LEFT_OUT);
        return operand;
    }
    binding = scope->capacity > 0 ? find_binding(scope, operand) : NULL;
    if (binding != NULL && binding->operand == operand) {
        if (binding->id == MDF_LOWERED_NONE) {
            lowering_fail(lowering, MDF_REFUSED_NOT_ONE_TYPE);
        }
        return binding->id;
    }
    id = meet(lowering, scope, operand);
    if (id == MDF_LOWERED_NONE || !put_binding(lowering, scope, operand, id, false)) {
        return MDF_LOWERED_NONE;
    }
    find_binding(scope, operand)->is_input = is_input(lowering, id);
    return id;
}

mdf_lowered_id lowering_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    mdf_lowered_id id = find_value(lowering, scope, operand);

    if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open) {
        lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    return id;
}

mdf_lowered_id lowering_any_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand)
{
    mdf_lowered_id id = find_value(lowering, scope, operand);

    if (id != MDF_LOWERED_NONE && lowering->facts[id].is_open && lowering->facts[id].other.kind == MDF_KIND_NONE) {
        lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
        return MDF_LOWERED_NONE;
    }
    return id;
}

static bool copy_scope(struct lowering *lowering, struct scope *copy, const struct scope *scope)
{
    *copy = *scope;
    copy->bindings = scope->capacity > 0 ? new_bindings(lowering, scope->capacity) : NULL;
    if (copy->bindings != NULL) {
        memcpy(copy->bindings, scope->bindings, scope->capacity * sizeof *copy->bindings);
    }
    return scope->capacity == 0 || copy->bindings != NULL;
}

/* ------------------------------------------------------------------ branches */

/* Whether a slot holds an array of numbers; of a body that is no frame's, what it has met will tell. */
static bool is_there(const struct scope *scope, mdf_operand slot)
{
    const struct binding *binding = scope->capacity > 0 ? find_binding(scope, slot) : NULL;

    if (binding != NULL && binding->operand == slot) {
        return binding->id != MDF_LOWERED_NONE;
    }
    if (scope->repetition != NULL) {
        return is_there(scope->outer, slot);
    }
    return scope->frame == NULL || lowering_slot(scope, slot)->kind == MDF_KIND_TENSOR;
}

/* What a slot is after one branch; where the branch has not met it, what it was before. NONE: not to be had. */
static mdf_lowered_id left_by(struct lowering *lowering, struct scope *before, const struct scope *branch, mdf_operand slot)
{
    struct mdf_refusal before_it = lowering->refusal;
    struct binding *binding = branch->capacity > 0 ? find_binding(branch, slot) : NULL;
    mdf_lowered_id id;

    if (binding != NULL && binding->operand == slot) {
        return binding->id;
    }
    if (!is_there(before, slot)) {
        return MDF_LOWERED_NONE;
    }
    id = lowering_value_of(lowering, before, slot);
    if (id == MDF_LOWERED_NONE && lowering->refusal.reason != MDF_REFUSED_OUT_OF_MEMORY) {
        lowering->refusal = before_it; /* nobody may need it */
    }
    return id;
}

static bool merge_slot(struct lowering *lowering, struct scope *scope, const struct scope *then, const struct scope *otherwise,
                       mdf_operand slot, struct mdf_lowered_if *branches)
{
    struct mdf_lowered_merge merge = {MDF_LOWERED_NONE, left_by(lowering, scope, then, slot),
                                      left_by(lowering, scope, otherwise, slot)};

    if (lowering_has_failed(lowering)) {
        return false;
    }
    if (merge.then == MDF_LOWERED_NONE || merge.otherwise == MDF_LOWERED_NONE) {
        return put_binding(lowering, scope, slot, MDF_LOWERED_NONE, true);
    }
    if (merge.then == merge.otherwise) {
        return put_binding(lowering, scope, slot, merge.then, true);
    }
    merge.out = lowering_add_merge(lowering, merge.then, merge.otherwise);
    if (merge.out == MDF_LOWERED_NONE) {
        return !lowering_has_failed(lowering) && put_binding(lowering, scope, slot, MDF_LOWERED_NONE, true);
    }
    branches->merges[branches->n_merges++] = merge;
    return put_binding(lowering, scope, slot, merge.out, true);
}

static bool merge(struct lowering *lowering, struct scope *scope, const struct scope *then, const struct scope *otherwise,
                  struct mdf_lowered_if *branches)
{
    const struct scope *sides[2] = {then, otherwise};
    size_t i, j;

    branches->merges = mdf_arena_array(&lowering->lowered->arena, then->n + otherwise->n, sizeof *branches->merges);
    if (branches->merges == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < 2; i++) {
        for (j = 0; j < sides[i]->capacity; j++) {
            const struct binding *binding = &sides[i]->bindings[j];
            const struct binding *there;

            if (binding->operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(binding->operand) != MDF_OPERAND_SLOT ||
                !binding->is_written) {
                continue;
            }
            there = i == 1 && then->capacity > 0 ? find_binding(then, binding->operand) : NULL;
            if (there != NULL && there->operand == binding->operand && there->is_written) {
                continue; /* merged already */
            }
            if (!merge_slot(lowering, scope, then, otherwise, binding->operand, branches)) {
                return false;
            }
        }
    }
    return true;
}

bool lowering_begin_side(struct lowering *lowering, const struct scope *scope, struct scope *side, struct region *region)
{
    size_t i;

    if (!copy_scope(lowering, side, scope)) {
        return false;
    }
    for (i = 0; i < side->capacity; i++) {
        side->bindings[i].is_written = false;
    }
    lowering_begin_region(lowering, region, REGION_BRANCH);
    return true;
}

/* A side of a jump: instructions [first, end). */
static bool run_side(struct lowering *lowering, const struct scope *scope, struct scope *side, size_t first, size_t end,
                     struct mdf_lowered_region *result)
{
    struct region region;

    return lowering_begin_side(lowering, scope, side, &region) && lowering_run(lowering, side, first, end) &&
           lowering_end_region(lowering, result);
}

/* A jump that depends on a value; *next is where both ways meet. */
static bool run_jump(struct lowering *lowering, struct scope *scope, size_t at, size_t *next)
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
    branches->condition = lowering_truth(lowering, lowering_value_of(lowering, scope, jump->a));
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
    return done && merge(lowering, scope, unless ? &then : &otherwise, unless ? &otherwise : &then, branches) &&
           lowering_add_op(lowering, lowering->region, &op);
}

mdf_operand lowering_alias(const struct scope *side, mdf_operand slot, const uint32_t *states)
{
    mdf_lowered_id id = find_binding(side, slot)->id;
    size_t i;

    for (i = 0; i < side->capacity && id != MDF_LOWERED_NONE; i++) {
        const struct binding *binding = &side->bindings[i];

        if (binding->operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(binding->operand) == MDF_OPERAND_SLOT &&
            binding->operand != slot && binding->is_written && binding->id == id &&
            states[MDF_OPERAND_INDEX(binding->operand)] != 0) {
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
    size_t i;

    if (branches == NULL || !lowering_end_region(lowering, &branches->then)) {
        return lowering_out_of_memory(lowering);
    }
    branches->condition = condition;
    branches->merges = mdf_arena_array(&lowering->lowered->arena, side->n, sizeof *branches->merges);
    if (branches->merges == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < side->capacity; i++) {
        mdf_operand slot = side->bindings[i].operand;

        if (slot == MDF_NO_OPERAND || MDF_OPERAND_KIND(slot) != MDF_OPERAND_SLOT || !side->bindings[i].is_written) {
            continue;
        }
        if (is_own(owner, slot) ? !put_binding(lowering, scope, slot, MDF_LOWERED_NONE, true)
                                : !merge_slot(lowering, scope, side, &otherwise, slot, branches)) {
            return false;
        }
    }
    return lowering_add_op(lowering, lowering->region, &op);
}

/* ------------------------------------------------------------------ instructions */

/* A sequence of ONNX: it is no list that becomes an array. */
static bool is_sequence(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct fact *fact = &lowering->facts[id];

    return fact->is_sequence || ((fact->growth != NULL || fact->list != NULL) && fact->example.dtype != MDF_DTYPE_NONE);
}

static bool run_alias(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    mdf_lowered_id id = lowering_any_value_of(lowering, scope, instruction->b);

    if (id != MDF_LOWERED_NONE && lowering_example(lowering, id)->kind != MDF_KIND_TENSOR &&
        instruction->opcode == MDF_OPCODE_ARRAY && !is_sequence(lowering, id)) {
        struct mdf_refusal before_it = lowering->refusal;

        if (lowering_bind_list_as_array(lowering, scope, instruction->a, id, false) ||
            lowering->refusal.reason == MDF_REFUSED_OUT_OF_MEMORY) {
            return !lowering_has_failed(lowering);
        }
        lowering->refusal = before_it; /* nobody may need it: of [x, [y, z]] some only take the items */
        return lowering_bind_any(lowering, scope, instruction->a, MDF_LOWERED_NONE);
    }
    return lowering_bind(lowering, scope, instruction->a, id);
}

bool lowering_declare(struct lowering *lowering, struct scope *scope, mdf_operand target, mdf_operand source,
                      const struct mdf_declared_type *type)
{
    mdf_lowered_id id = lowering_any_value_of(lowering, scope, source);
    struct mdf_value declared = {0};
    bool done;

    if (id == MDF_LOWERED_NONE) {
        return false;
    }
    if (!mdf_declare_value(&lowering->execution->context, &declared, lowering_example(lowering, id), type, false)) {
        return lowering_fail(lowering, MDF_REFUSED_NO_FIT);
    }
    done = !lowering->facts[id].is_open ||
           (declared.dtype == lowering_example(lowering, id)->dtype &&
            declared.strength == lowering_example(lowering, id)->strength) ||
           lowering_fail(lowering, MDF_REFUSED_OPEN_LENGTH);
    if (done && declared.dtype != lowering_example(lowering, id)->dtype) {
        char from = mdf_dtype_kind((mdf_dtype)lowering_example(lowering, id)->dtype),
             to = mdf_dtype_kind((mdf_dtype)declared.dtype);

        done = (to == 'f' && from != 'f') || (to == 'f' && declared.dtype == MDF_DTYPE_FLOAT64) ||
               lowering_fail(lowering, MDF_REFUSED_NARROWING);
        id = done ? lowering_cast(lowering, id, (mdf_dtype)declared.dtype) : MDF_LOWERED_NONE;
    }
    if (done && id != MDF_LOWERED_NONE && declared.strength != lowering_example(lowering, id)->strength) {
        id = lowering_copy(lowering, id, declared.strength);
    }
    mdf_value_clear(lowering->memory, &declared);
    return done && lowering_bind(lowering, scope, target, id);
}

static bool run_swap(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    mdf_lowered_id a = lowering_value_of(lowering, scope, instruction->a), b = lowering_value_of(lowering, scope, instruction->b);

    return a != MDF_LOWERED_NONE && lowering_bind(lowering, scope, instruction->a, b) &&
           lowering_bind(lowering, scope, instruction->b, a);
}

/* Where the instruction comes from, "node 'B', parameter 'v'": v. */
static void note_name(struct lowering *lowering, const struct mdf_code *code, const struct mdf_instruction *instruction)
{
    const char *path = code->origins[instruction->origin].path, *end = path == NULL ? NULL : strrchr(path, '\'');
    const char *start = end;

    lowering->name = NULL;
    while (start != NULL && start > path && start[-1] != '\'') {
        start--;
    }
    if (end != NULL && start > path && start < end) {
        lowering->name = mdf_arena_text(&lowering->lowered->arena, start, (size_t)(end - start));
    }
}

static bool run_one_call(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call = &scope->code->calls[instruction->target];
    bool done;

    note_name(lowering, scope->code, instruction);
    lowering->operator= call->operator->name;
    done = call->n_bodies > 0 ? lowering_control(lowering, scope, call) : lowering_call(lowering, scope, call);
    lowering->operator= NULL;
    return done;
}

static bool run_instruction(struct lowering *lowering, struct scope *scope, size_t at, size_t *next)
{
    const struct mdf_instruction *instruction = &scope->code->instructions[at];

    lowering->origin = &scope->code->origins[instruction->origin];
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        return run_one_call(lowering, scope, instruction);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
        return run_alias(lowering, scope, instruction);
    case MDF_OPCODE_DECLARE:
        return lowering_declare(lowering, scope, instruction->a, instruction->b, &scope->code->declarations[instruction->c]);
    case MDF_OPCODE_SWAP:
        return run_swap(lowering, scope, instruction);
    case MDF_OPCODE_JUMP:
        *next = instruction->target;
        return instruction->target > at || lowering_fail(lowering, MDF_REFUSED_BACKWARDS);
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        return run_jump(lowering, scope, at, next);
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        if (isnan(lowering->execution->dt)) {
            *next = instruction->target;
        }
        return true;
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_NEXT:
        return lowering_fail(lowering, MDF_REFUSED_LIST);
    case MDF_OPCODE_GRAPH:
    case MDF_OPCODE_YIELD:
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    return lowering_fail(lowering, MDF_REFUSED_NOT_SAID);
}

bool lowering_run(struct lowering *lowering, struct scope *scope, size_t first, size_t end)
{
    size_t at = first, next;

    while (at < end) {
        next = at + 1;
        if (!run_instruction(lowering, scope, at, &next)) {
            return lowering_fail(lowering, MDF_REFUSED_NOT_SAID);
        }
        at = next;
    }
    return true;
}

/* ------------------------------------------------------------------ the whole */

/* Whether anybody looks at a slot after these instructions have run; also they themselves, when they run again. */
static bool is_observed(const struct mdf_lowering_request *request, const struct binding *binding)
{
    size_t index = MDF_OPERAND_INDEX(binding->operand);

    if (binding->is_input || request->readers == NULL) {
        return true;
    }
    if (index >= mdf_frame_code(request->frame)->n_slots || request->self == MDF_READ_BY_NOBODY) {
        return index < mdf_frame_code(request->frame)->n_slots && request->keeps != NULL && request->keeps[index];
    }
    return request->self == MDF_READ_BY_ALL
               ? request->readers[index] == MDF_READ_BY_ALL
               : request->readers[index] != MDF_READ_BY_NOBODY && request->readers[index] != request->self;
}

/* A list that a loop made, or an empty one. */
static bool is_list_output(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *list = lowering_example(lowering, id);

    return lowering->facts[id].list != NULL || lowering->facts[id].is_sequence ||
           (list->kind == MDF_KIND_LIST && list->length == 0 && lowering_is_constant(lowering, id));
}

static struct mdf_lowered_output list_output(struct lowering *lowering, struct mdf_value *slot, mdf_lowered_id id)
{
    const struct stacked_list *list = lowering->facts[id].list;

    if (lowering->facts[id].is_sequence) {
        mdf_lowered_id rows = lowering->facts[id].rows;
        /* Its form counts: that of any item. */
        mdf_lowered_id item = lowering_add_constant(lowering, mdf_value_items(lowering_example(lowering, id)), true);

        lowering->facts[rows].n_outputs++;
        return (struct mdf_lowered_output){.slot = slot, .id = rows, .is_list = true, .item = item};
    }
    return list == NULL ? (struct mdf_lowered_output){.slot = slot, .id = id}
                        : (struct mdf_lowered_output){.slot = slot, .id = list->stack, .is_list = true, .item = list->item};
}

/* How many outputs there are: a list has one for each item. */
static size_t count_outputs(const struct lowering *lowering, const struct scope *scope)
{
    size_t n = 0, i;

    for (i = 0; i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];

        if (binding->operand != MDF_NO_OPERAND) {
            n += binding->id != MDF_LOWERED_NONE && lowering->facts[binding->id].items != NULL
                     ? lowering->facts[binding->id].n_items
                     : 1;
        }
    }
    return n;
}

/* A list whose items are known one by one: each is an output. */
static bool add_list_items(struct lowering *lowering, struct mdf_value *slot, mdf_lowered_id id)
{
    struct mdf_lowered *lowered = lowering->lowered;
    const struct fact *list = &lowering->facts[id];
    size_t i;

    for (i = 0; i < list->n_items; i++) {
        if (lowering->facts[list->items[i]].items != NULL ||
            lowering_example(lowering, list->items[i])->kind != MDF_KIND_TENSOR ||
            lowering_example(lowering, list->items[i])->dtype == MDF_DTYPE_STRING) {
            return lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, &list->example, NULL);
        }
        lowered->outputs[lowered->n_outputs++] =
            (struct mdf_lowered_output){.slot = slot, .id = list->items[i], .index = i, .n_items = list->n_items};
    }
    return true;
}

/* Where the first instruction that writes a slot comes from; NULL: there is none. */
static const struct mdf_origin *find_writer(const struct mdf_code *code, mdf_operand slot)
{
    size_t i, j;

    for (i = 0; i < code->n_instructions; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];
        const struct mdf_code_call *call = &code->calls[instruction->target];
        bool writes = instruction->opcode != MDF_OPCODE_CALL && instruction->a == slot;

        for (j = 0; instruction->opcode == MDF_OPCODE_CALL && j < call->n_outputs && !writes; j++) {
            writes = call->outputs[j] == slot;
        }
        if (writes) {
            return &code->origins[instruction->origin];
        }
    }
    return NULL;
}

/* Smaller arrays are soon written, and stay in the cache. */
enum { SMALLEST_TO_GO = 32 << 10 };

/* Whether an output is a list, whose items would be values by themselves, or a large stack, that nothing goes through, and that
 * need not be there. */
static bool may_go(const struct lowering *lowering, const struct mdf_lowering_request *request, const struct binding *binding)
{
    const struct mdf_lowered_region *region = &lowering->lowered->region;
    const struct mdf_value *form;
    bool goes;
    size_t i, j;

    if (request->may_go == NULL || MDF_OPERAND_INDEX(binding->operand) >= mdf_frame_code(request->frame)->n_slots ||
        !request->may_go[MDF_OPERAND_INDEX(binding->operand)] || binding->id == MDF_LOWERED_NONE) {
        return false;
    }
    form = lowering_example(lowering, binding->id);
    goes = form->kind == MDF_KIND_LIST && is_list_output(lowering, binding->id);
    if (!goes && (form->kind != MDF_KIND_TENSOR || form->length * mdf_dtype_size((mdf_dtype)form->dtype) < SMALLEST_TO_GO)) {
        return false;
    }
    for (i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_loop *loop = region->ops[i].code == MDF_LOWERED_LOOP ? region->ops[i].of.loop : NULL;

        if (mdf_lowered_reads(&region->ops[i], binding->id)) {
            return false;
        }
        for (j = 0; loop != NULL && j < loop->n_stacks; j++) {
            goes = goes || loop->stacks[j].stack == binding->id;
        }
    }
    return goes;
}

/* Whether all slots that are left with a value need not have it. */
static bool is_left_out(const struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope,
                        mdf_lowered_id id)
{
    bool goes = true;
    size_t i;

    for (i = 0; request->may_go != NULL && goes && i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];

        goes = binding->operand == MDF_NO_OPERAND || binding->id != id || !binding->is_written ||
               !is_observed(request, binding) || may_go(lowering, request, binding);
    }
    return request->may_go != NULL && goes;
}

static bool is_array_of_numbers(const struct lowering *lowering, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && lowering->facts[id].items == NULL && !is_list_output(lowering, id) &&
           lowering_example(lowering, id)->kind == MDF_KIND_TENSOR && lowering_example(lowering, id)->dtype != MDF_DTYPE_STRING;
}

static bool note_outputs(struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope)
{
    struct mdf_lowered *lowered = lowering->lowered;
    size_t i;

    lowered->outputs = mdf_arena_array(&lowered->arena, count_outputs(lowering, scope), sizeof *lowered->outputs);
    if (lowered->outputs == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (request->may_go != NULL) {
        memset(request->is_gone, 0, mdf_frame_code(request->frame)->n_slots * sizeof *request->is_gone);
    }
    for (i = 0; i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];

        if (binding->operand == MDF_NO_OPERAND || !binding->is_written || !is_observed(request, binding)) {
            continue;
        }
        if (request->leaves_out && !is_array_of_numbers(lowering, binding->id)) {
            continue;
        }
        if (binding->id == MDF_LOWERED_NONE) {
            lowering->origin = find_writer(scope->code, binding->operand);
            return lowering_fail(lowering, MDF_REFUSED_NOT_ONE_TYPE);
        }
        if (is_left_out(lowering, request, scope, binding->id)) {
            request->is_gone[MDF_OPERAND_INDEX(binding->operand)] = true;
            continue;
        }
        if (!lowering->is_for_source && lowering->facts[binding->id].items != NULL) {
            if (!add_list_items(lowering, lowering_slot(scope, binding->operand), binding->id)) {
                return false;
            }
            continue;
        }
        if (!lowering->is_for_source && is_list_output(lowering, binding->id)) {
            lowered->outputs[lowered->n_outputs++] = list_output(lowering, lowering_slot(scope, binding->operand), binding->id);
            if (lowering_has_failed(lowering)) {
                return false;
            }
            continue;
        }
        if (lowering_example(lowering, binding->id)->kind != MDF_KIND_TENSOR ||
            lowering_example(lowering, binding->id)->dtype == MDF_DTYPE_STRING) {
            lowering->origin = find_writer(scope->code, binding->operand);
            return lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, lowering_example(lowering, binding->id), NULL);
        }
        lowered->outputs[lowered->n_outputs++] =
            (struct mdf_lowered_output){.slot = lowering_slot(scope, binding->operand), .id = binding->id};
        lowering->facts[binding->id].n_outputs++;
    }
    for (i = 0; i < lowered->n_outputs; i++) {
        mdf_lowered_id id = lowered->outputs[i].id;
        uint8_t place = lowered->values[id].place;

        lowered->outputs[i].gives = (place == MDF_LOWERED_RESULT || place == MDF_LOWERED_PARAMETER) &&
                                    lowering->facts[id].n_outputs == 1 && !lowered->outputs[i].is_list &&
                                    lowered->outputs[i].n_items == 0;
    }
    return true;
}

static bool lower_all(struct lowering *lowering, const void *opaque)
{
    const struct mdf_lowering_request *request = opaque;
    struct region whole = {0};
    struct scope scope = {.code = mdf_frame_code(request->frame), .frame = request->frame, .counters = request->counters};
    size_t i;

    lowering->region = &whole;
    for (i = 0; i < request->n_ranges; i++) {
        if (!lowering_run(lowering, &scope, request->ranges[i].first, request->ranges[i].end)) {
            return false;
        }
    }
    if (request->go_through != NULL && !request->go_through(lowering, &scope, request->plan)) {
        return false;
    }
    lowering->region = NULL;
    if (!lowering_fuse_loops(lowering, &whole) || !lowering_group(lowering, &whole)) {
        return false;
    }
    lowering->lowered->region = (struct mdf_lowered_region){whole.ops, whole.n_ops};
    return note_outputs(lowering, request, &scope) && lowering_finish(lowering);
}

/* Checks what was made: a mistake made here may only cost time. */
static bool is_sound(struct lowering *lowering)
{
    struct mdf_text why;
    bool holds;

    mdf_text_init(&why, lowering->memory);
    holds = mdf_lowered_verify(lowering->lowered, &why);
    if (!holds) {
        lowering_fail(lowering, why.bytes == NULL ? MDF_REFUSED_OUT_OF_MEMORY : MDF_REFUSED_UNSOUND);
        snprintf(lowering->refusal.detail, sizeof lowering->refusal.detail, "%s", why.bytes == NULL ? "" : why.bytes);
    }
    mdf_text_release(&why);
    return holds;
}

struct mdf_lowered *lowering_make(struct lowering *lowering, bool (*build)(struct lowering *lowering, const void *request),
                                  const void *request, struct mdf_refusal *refusal)
{
    struct mdf_execution *execution = lowering->execution;
    mdf_error error = execution->context.error;
    struct mdf_arena arena;
    bool done = false;
    size_t i;

    execution->context.error.code = MDF_OK;
    mdf_arena_init(&arena, lowering->memory);
    mdf_arena_init(&lowering->scratch, lowering->memory);
    lowering->lowered = mdf_arena_allocate(&arena, sizeof *lowering->lowered);
    if (lowering->lowered == NULL) {
        lowering_out_of_memory(lowering);
        mdf_arena_release(&arena);
    } else {
        lowering->lowered->arena = arena;
        lowering->lowered->context = &execution->context;
        done = build(lowering, request);
        /* Names, nests and the like are left out where there is no memory for them; another form than else is none. */
        if (done && (lowering->lowered->arena.has_refused || lowering->scratch.has_refused)) {
            done = lowering_out_of_memory(lowering);
        }
    }
    for (i = 0; lowering->lowered != NULL && i < lowering->lowered->n_values; i++) {
        mdf_value_clear(lowering->memory, &lowering->facts[i].example);
        mdf_value_clear(lowering->memory, &lowering->facts[i].other);
    }
    mdf_arena_release(&lowering->scratch);
    execution->context.error = error; /* whatever a trial run said */
    done = done && is_sound(lowering);
    if (!done) {
        *refusal = lowering->refusal;
        mdf_lowered_release(lowering->lowered);
        return NULL;
    }
    lowering->lowered->why_no_code = "it has run too little for code to pay";
    return lowering->lowered;
}

struct mdf_lowered *mdf_lower(const struct mdf_lowering_request *request, struct mdf_refusal *refusal)
{
    struct mdf_execution *execution = mdf_frame_execution(request->frame);
    struct lowering lowering = {.execution = execution,
                                .memory = execution->context.memory,
                                .is_for_source = request->is_for_source,
                                .stays = request->stays,
                                .surprises = request->surprises,
                                .n_surprises = request->n_surprises};

    return lowering_make(&lowering, lower_all, request, refusal);
}
