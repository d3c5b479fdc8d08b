/* lower.c - see lower.h. Goes through the instructions as an evaluation would, with the ids of values in place of values: what is
 * copied or borrowed is another name of the same value, jumps become branches. */
#include "mdf_c/lower/lowering.h"

#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/verify.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ instructions */

/* A sequence of ONNX, or what may not be there: it is no list that becomes an array. */
static bool is_no_list(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *example = lowering_example(lowering, id);

    return lowering->facts[id].is_sequence || lowering->facts[id].is_optional || example->kind == MDF_KIND_NONE ||
           (example->kind == MDF_KIND_LIST && example->dtype != MDF_DTYPE_NONE);
}

static bool run_alias(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    mdf_lowered_id id = lowering_either_value_of(lowering, scope, instruction->b);

    if (id != MDF_LOWERED_NONE && lowering_example(lowering, id)->kind != MDF_KIND_TENSOR &&
        instruction->opcode == MDF_OPCODE_ARRAY && !is_no_list(lowering, id)) {
        struct mdf_refusal before_it = lowering->refusal;

        if (lowering_bind_list_as_array(lowering, scope, instruction->a, id, false) ||
            lowering->refusal.reason == MDF_REFUSED_OUT_OF_MEMORY) {
            return !lowering_has_failed(lowering);
        }
        lowering->refusal = before_it; /* nobody may need it: of [x, [y, z]] some only take the items */
        return lowering_bind_any(lowering, scope, instruction->a, MDF_LOWERED_NONE);
    }
    return instruction->opcode == MDF_OPCODE_COPY ? lowering_bind(lowering, scope, instruction->a, id)
                                                  : lowering_bind_borrowed(lowering, scope, instruction->a, id);
}

/* A value in the declared type; NONE on failure. */
static mdf_lowered_id declare(struct lowering *lowering, mdf_lowered_id id, const struct mdf_declared_type *type)
{
    struct mdf_value declared = {0};
    bool done;

    if (!mdf_declare_value(&lowering->execution->context, &declared, lowering_example(lowering, id), type, false)) {
        lowering_fail(lowering, MDF_REFUSED_NO_FIT);
        return MDF_LOWERED_NONE;
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
    id = done ? lowering_as_strong(lowering, id, (uint8_t)declared.strength) : MDF_LOWERED_NONE;
    mdf_value_clear(lowering->memory, &declared);
    return id;
}

bool lowering_declare(struct lowering *lowering, struct scope *scope, mdf_operand target, mdf_operand source,
                      const struct mdf_declared_type *type)
{
    mdf_lowered_id id = lowering_any_value_of(lowering, scope, source);

    if (id == MDF_LOWERED_NONE) {
        return false;
    }
    id = lowering->facts[id].is_optional
             ? lowering_add_optional(lowering, lowering->facts[id].is_there, declare(lowering, lowering->facts[id].content, type))
             : declare(lowering, id, type);
    return lowering_bind(lowering, scope, target, id);
}

static bool run_swap(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    mdf_lowered_id a = lowering_either_value_of(lowering, scope, instruction->a),
                   b = lowering_either_value_of(lowering, scope, instruction->b);

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

static bool run_one_call(struct lowering *lowering, struct scope *scope, const struct lowering_step *step)
{
    const struct mdf_code_call *call = &scope->code->calls[step->instruction->target];
    bool done;

    note_name(lowering, scope->code, step->instruction);
    lowering->operator= call->operator->name;
    done = call->n_bodies > 0 ? lowering_control(lowering, scope, call) : lowering_call(lowering, scope, call);
    lowering->operator= NULL;
    return done;
}

static bool run_call(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call *call = &scope->code->calls[instruction->target];
    const struct lowering_step step = {run_one_call, instruction, call->inputs, call->outputs, call->n_inputs, call->n_outputs};

    return lowering_by_strength(lowering, scope, &step);
}

static bool run_one_declaration(struct lowering *lowering, struct scope *scope, const struct lowering_step *step)
{
    return lowering_declare(lowering, scope, step->outputs[0], step->inputs[0], &scope->code->declarations[step->instruction->c]);
}

static bool run_declaration(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    const struct lowering_step step = {run_one_declaration, instruction, &instruction->b, &instruction->a, 1, 1};

    return lowering_by_strength(lowering, scope, &step);
}

/* ------------------------------------------------------------------ graphs within nodes */

/* The room of what a node of the scope's graph runs; NULL: it has none. */
static const struct mdf_lowering_room *find_room(const struct lowering *lowering, const struct scope *scope, uint32_t body)
{
    const struct mdf_lowering_request *request = lowering->request;

    for (size_t i = 1; scope->room != NULL && i < request->n_rooms; i++) {
        if (request->rooms[i].outer == scope->room && request->rooms[i].body == body) {
            return &request->rooms[i];
        }
    }
    return NULL;
}

static bool run_graph(struct lowering *lowering, struct scope *scope, const struct mdf_lowering_room *room)
{
    const struct mdf_lowering_room *around = scope->room;
    const struct mdf_code *code = scope->code;
    bool done;

    if (room == NULL) {
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    scope->room = room;
    scope->code = mdf_frame_code(room->frame);
    done = lowering->request->run_graph(lowering, scope, room->plan);
    scope->room = around;
    scope->code = code;
    return done;
}

static bool run_yield(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction)
{
    const struct mdf_lowering_room *around = scope->room, *room = find_room(lowering, scope, instruction->target);
    mdf_lowered_id id;

    if (room == NULL) {
        return lowering_fail(lowering, MDF_REFUSED_NESTED_GRAPH);
    }
    scope->room = room;
    id = lowering_either_value_of(lowering, scope, mdf_frame_code(room->frame)->yields[instruction->c]);
    scope->room = around;
    return lowering_bind(lowering, scope, instruction->a, id);
}

static bool run_instruction(struct lowering *lowering, struct scope *scope, size_t at, size_t *next)
{
    const struct mdf_instruction *instruction = &scope->code->instructions[at];

    lowering->origin = &scope->code->origins[instruction->origin];
    switch ((enum mdf_opcode)instruction->opcode) {
    case MDF_OPCODE_CALL:
        return run_call(lowering, scope, instruction);
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
        return run_alias(lowering, scope, instruction);
    case MDF_OPCODE_DECLARE:
        return run_declaration(lowering, scope, instruction);
    case MDF_OPCODE_SWAP:
        return run_swap(lowering, scope, instruction);
    case MDF_OPCODE_JUMP:
        *next = instruction->target;
        return instruction->target > at || scope->code->instructions[instruction->target].opcode == MDF_OPCODE_NEXT ||
               lowering_fail(lowering, MDF_REFUSED_BACKWARDS);
    case MDF_OPCODE_JUMP_IF:
    case MDF_OPCODE_JUMP_UNLESS:
        return lowering_jump(lowering, scope, at, next);
    case MDF_OPCODE_JUMP_WITHOUT_DT:
        if (isnan(lowering->execution->dt)) {
            *next = instruction->target;
        }
        return true;
    case MDF_OPCODE_LIST:
    case MDF_OPCODE_APPEND:
    case MDF_OPCODE_NEXT:
        return lowering_make_list(lowering, scope, instruction, next);
    case MDF_OPCODE_GRAPH:
        return run_graph(lowering, scope, find_room(lowering, scope, instruction->target));
    case MDF_OPCODE_YIELD:
        return run_yield(lowering, scope, instruction);
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

bool lowering_is_left_for_others(const struct mdf_lowering_request *request, mdf_operand slot)
{
    size_t index = MDF_OPERAND_INDEX(slot);

    if (request->readers == NULL) {
        return true;
    }
    if (request->self == MDF_READ_BY_NOBODY) {
        return request->keeps != NULL && request->keeps[index];
    }
    return request->self == MDF_READ_BY_ALL
               ? request->readers[index] == MDF_READ_BY_ALL
               : request->readers[index] != MDF_READ_BY_NOBODY && request->readers[index] != request->self;
}

/* Whether anybody looks at a slot after these instructions have run; also they themselves, when they run again. */
static bool is_observed(const struct mdf_lowering_request *request, const struct binding *binding)
{
    return binding->is_input || lowering_is_left_for_others(request, binding->operand);
}

/* A list that a loop made, or an empty one. */
static bool is_list_output(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct mdf_value *list = lowering_example(lowering, id);

    return lowering->facts[id].is_sequence ||
           (list->kind == MDF_KIND_LIST && list->length == 0 && lowering_is_constant(lowering, id));
}

static struct mdf_lowered_output list_output(struct lowering *lowering, struct mdf_value *slot, mdf_lowered_id id)
{
    if (lowering->facts[id].is_sequence) {
        mdf_lowered_id rows = lowering->facts[id].rows;
        /* Its form counts: that of any item. */
        mdf_lowered_id item = lowering_add_constant(lowering, mdf_value_items(lowering_example(lowering, id)), true);

        lowering->facts[rows].n_outputs++;
        return (struct mdf_lowered_output){.slot = slot, .id = rows, .is_list = true, .item = item};
    }
    return (struct mdf_lowered_output){.slot = slot, .id = id};
}

/* How many outputs there are: a list has one for each item, a value of either type one more. */
static size_t count_outputs(const struct lowering *lowering, const struct scope *scope)
{
    size_t n = 0;

    for (size_t i = 0; i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];

        if (binding->operand != MDF_NO_OPERAND) {
            n += binding->id != MDF_LOWERED_NONE && lowering->facts[binding->id].items != NULL
                     ? lowering->facts[binding->id].n_items
                     : 1;
            n += binding->id != MDF_LOWERED_NONE && lowering->facts[binding->id].is_of_either_type ? 2 : 0;
            n += binding->id != MDF_LOWERED_NONE && lowering->facts[binding->id].is_optional;
        }
    }
    return n;
}

/* A list whose items are known one by one: each is an output. */
static bool add_list_items(struct lowering *lowering, struct mdf_value *slot, mdf_lowered_id id)
{
    struct mdf_lowered *lowered = lowering->lowered;
    const struct fact *list = &lowering->facts[id];

    for (size_t i = 0; i < list->n_items; i++) {
        if (lowering->facts[list->items[i]].items != NULL ||
            lowering_example(lowering, list->items[i])->kind != MDF_KIND_TENSOR ||
            lowering_example(lowering, list->items[i])->dtype == MDF_DTYPE_STRING) {
            return lowering_fail_about(lowering, MDF_REFUSED_NO_NUMBERS, &list->example, NULL);
        }
        lowered->outputs[lowered->n_outputs++] = (struct mdf_lowered_output){.slot = slot,
                                                                             .id = list->items[i],
                                                                             .index = i,
                                                                             .n_items = list->n_items,
                                                                             .list_dtype = (mdf_dtype)list->example.dtype};
    }
    return true;
}

/* Where the first instruction that writes a slot comes from; NULL: there is none. */
static const struct mdf_origin *find_writer(const struct mdf_code *code, mdf_operand slot)
{
    for (size_t i = 0; i < code->n_instructions; i++) {
        const struct mdf_instruction *instruction = &code->instructions[i];
        const struct mdf_code_call *call = &code->calls[instruction->target];
        bool writes = instruction->opcode != MDF_OPCODE_CALL && instruction->a == slot;

        for (size_t j = 0; instruction->opcode == MDF_OPCODE_CALL && j < call->n_outputs && !writes; j++) {
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

/* Whether it is the stack of a loop that has become a nest, or such a stack moved. */
static bool is_mapped(const struct lowering *lowering, mdf_lowered_id id)
{
    const struct lowering_view *view = &lowering->facts[id].view;

    return lowering->facts[id].is_mapped || (view->is_there && lowering->facts[view->id].is_mapped);
}

/* Whether an op moves such a stack: who reads what it makes reads the stack, if that is not there either. */
static bool only_moves(const struct lowering *lowering, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_call *call = op->code == MDF_LOWERED_CALL ? op->of.call : NULL;

    return call != NULL && call->n_outputs == 1 && call->outputs[0] != MDF_LOWERED_NONE &&
           lowering->facts[call->outputs[0]].view.is_there && is_mapped(lowering, call->outputs[0]);
}

/* Whether an output is a list, whose items would be values by themselves, or a large stack, that nothing goes through, and that
 * need not be there. */
static bool may_go(const struct lowering *lowering, const struct mdf_lowering_request *request, const struct binding *binding)
{
    const struct mdf_lowered_region *region = &lowering->lowered->region;
    const struct mdf_value *form;
    bool goes;

    if (request->may_go == NULL || !request->may_go[MDF_OPERAND_INDEX(binding->operand)]) {
        return false;
    }
    form = lowering_example(lowering, binding->id);
    goes = (form->kind == MDF_KIND_LIST && is_list_output(lowering, binding->id)) || is_mapped(lowering, binding->id);
    if (!goes && (form->kind != MDF_KIND_TENSOR || form->length * mdf_dtype_size((mdf_dtype)form->dtype) < SMALLEST_TO_GO)) {
        return false;
    }
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_loop *loop = region->ops[i].code == MDF_LOWERED_LOOP ? region->ops[i].of.loop : NULL;

        if (mdf_lowered_reads(&region->ops[i], binding->id) && !only_moves(lowering, &region->ops[i])) {
            return false;
        }
        for (size_t j = 0; loop != NULL && j < loop->n_stacks; j++) {
            goes = goes || loop->stacks[j].stack == binding->id;
        }
    }
    return goes;
}

/* For each value, whether a slot that is left with it must have it; NULL on failure. */
static const bool *find_kept(struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope)
{
    bool *is_kept = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *is_kept);

    for (size_t i = 0; is_kept != NULL && i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];

        if (binding->operand != MDF_NO_OPERAND && binding->id != MDF_LOWERED_NONE && binding->is_written &&
            !is_kept[binding->id] && is_observed(request, binding)) {
            is_kept[binding->id] = !may_go(lowering, request, binding);
        }
    }
    return is_kept;
}

static bool is_array_of_numbers(const struct lowering *lowering, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && lowering->facts[id].items == NULL && !is_list_output(lowering, id) &&
           lowering_example(lowering, id)->kind == MDF_KIND_TENSOR && lowering_example(lowering, id)->dtype != MDF_DTYPE_STRING;
}

/* Whether a slot can be left with a value where only numbers of one type, and, for lanes, lists of such, are. */
static bool is_of_numbers(const struct lowering *lowering, const struct mdf_lowering_request *request, mdf_lowered_id id)
{
    const struct fact *fact = id == MDF_LOWERED_NONE ? NULL : &lowering->facts[id];
    size_t i;

    if (fact == NULL || fact->items == NULL || !request->keeps_calls) {
        return is_array_of_numbers(lowering, id) && !lowering_is_either(lowering, id);
    }
    if (fact->example.dtype != MDF_DTYPE_NONE) {
        return false; /* a sequence */
    }
    for (i = 0;
         i < fact->n_items && is_array_of_numbers(lowering, fact->items[i]) && !lowering_is_either(lowering, fact->items[i]);
         i++) {
    }
    return i == fact->n_items;
}

static bool refuse_output(struct lowering *lowering, const struct scope *scope, const struct binding *binding,
                          enum mdf_refusal_reason reason)
{
    lowering->origin = find_writer(scope->code, binding->operand);
    return reason == MDF_REFUSED_NO_NUMBERS ? lowering_fail_about(lowering, reason, lowering_example(lowering, binding->id), NULL)
                                            : lowering_fail(lowering, reason);
}

/* What is looked at behind all ops, beside what slots are left with. */
static bool keep_beside(struct lowering *lowering, mdf_lowered_id id)
{
    struct mdf_lowered *lowered = lowering->lowered;
    struct mdf_value *kept = lowering_keep_value(lowering);

    if (kept == NULL) {
        return false;
    }
    lowered->outputs[lowered->n_outputs++] = (struct mdf_lowered_output){.slot = kept, .id = id};
    lowering->facts[id].n_outputs++;
    return true;
}

/* A slot that gets a value of either type. C source has no such thing, nor is it known what the slot begins with the next time.
 */
static bool add_other(struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope,
                      const struct binding *binding)
{
    struct mdf_lowered *lowered = lowering->lowered;
    const struct fact *fact = &lowering->facts[binding->id];

    if (lowering->is_for_source || request->leaves_out || binding->is_input || fact->is_strong == MDF_LOWERED_NONE) {
        return refuse_output(lowering, scope, binding, MDF_REFUSED_NOT_ONE_TYPE);
    }
    lowered->outputs[lowered->n_outputs++] = (struct mdf_lowered_output){.slot = lowering_slot(lowering, scope, binding->operand),
                                                                         .id = binding->id,
                                                                         .has_other = true,
                                                                         .is_strong = fact->is_strong,
                                                                         .other = fact->narrow};
    lowering->facts[binding->id].n_outputs++;
    return keep_beside(lowering, fact->is_strong) &&
           (lowering_is_constant(lowering, fact->narrow) || keep_beside(lowering, fact->narrow));
}

/* What may not be there. */
static bool add_optional(struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope,
                         const struct binding *binding)
{
    struct mdf_lowered *lowered = lowering->lowered;
    const struct fact *fact = &lowering->facts[binding->id];

    if ((lowering->is_for_source && request->find_optional == NULL) || request->leaves_out) {
        return refuse_output(lowering, scope, binding, MDF_REFUSED_NO_NUMBERS);
    }
    lowered->outputs[lowered->n_outputs++] = (struct mdf_lowered_output){.slot = lowering_slot(lowering, scope, binding->operand),
                                                                         .id = fact->content,
                                                                         .is_optional = true,
                                                                         .is_there = fact->is_there};
    lowering->facts[fact->content].n_outputs++;
    return keep_beside(lowering, fact->is_there);
}

/* A value that is an array of numbers, or nothing. */
static bool add_array_output(struct lowering *lowering, const struct scope *scope, const struct binding *binding)
{
    struct mdf_lowered *lowered = lowering->lowered;
    const struct mdf_value *example = lowering_example(lowering, binding->id);

    if ((example->kind != MDF_KIND_TENSOR &&
         (example->kind != MDF_KIND_NONE || (lowering->is_for_source && lowering->request->find_optional == NULL))) ||
        example->dtype == MDF_DTYPE_STRING) {
        return refuse_output(lowering, scope, binding, MDF_REFUSED_NO_NUMBERS);
    }
    lowered->outputs[lowered->n_outputs++] = (struct mdf_lowered_output){.slot = lowering_slot(lowering, scope, binding->operand),
                                                                         .id = binding->id,
                                                                         .is_either = lowering_is_either(lowering, binding->id),
                                                                         .weaker = lowering->facts[binding->id].weaker};
    lowering->facts[binding->id].n_outputs++;
    return true;
}

/* What a slot is left with; it is not one where `is_kept` says so. */
static bool add_output(struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope,
                       const struct binding *binding, const bool *is_kept)
{
    struct mdf_lowered *lowered = lowering->lowered;

    if (binding->id == MDF_LOWERED_NONE) {
        return refuse_output(lowering, scope, binding, MDF_REFUSED_NOT_ONE_TYPE);
    }
    if (lowering_is_either(lowering, binding->id)) {
        if (lowering->facts[binding->id].is_of_either_type) {
            return add_other(lowering, request, scope, binding);
        }
        if (request->find_either == NULL) {
            return refuse_output(lowering, scope, binding, MDF_REFUSED_NOT_ONE_STRENGTH);
        }
    }
    if (lowering->facts[binding->id].is_optional) {
        return add_optional(lowering, request, scope, binding);
    }
    if (!is_kept[binding->id]) {
        request->is_gone[MDF_OPERAND_INDEX(binding->operand)] = true;
        return true;
    }
    if (!lowering->is_for_source && lowering->facts[binding->id].items != NULL) {
        return add_list_items(lowering, lowering_slot(lowering, scope, binding->operand), binding->id);
    }
    if (is_list_output(lowering, binding->id)) {
        lowered->outputs[lowered->n_outputs++] =
            list_output(lowering, lowering_slot(lowering, scope, binding->operand), binding->id);
        return !lowering_has_failed(lowering);
    }
    return add_array_output(lowering, scope, binding);
}

/* Outputs whose memory a value outside may take over, as nobody else has it. */
static void note_given(struct lowering *lowering)
{
    struct mdf_lowered *lowered = lowering->lowered;

    for (size_t i = 0; i < lowered->n_outputs; i++) {
        struct mdf_lowered_output *output = &lowered->outputs[i];
        uint8_t place = lowered->values[output->id].place;

        output->gives = (place == MDF_LOWERED_RESULT || place == MDF_LOWERED_PARAMETER) &&
                        lowering->facts[output->id].n_outputs == 1 && !output->is_list && output->n_items == 0 &&
                        !output->is_optional;
    }
}

static bool note_outputs(struct lowering *lowering, const struct mdf_lowering_request *request, const struct scope *scope)
{
    struct mdf_lowered *lowered = lowering->lowered;
    const bool *is_kept = find_kept(lowering, request, scope);

    lowered->outputs = mdf_arena_array(&lowered->arena, count_outputs(lowering, scope), sizeof *lowered->outputs);
    if (lowered->outputs == NULL || is_kept == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (request->may_go != NULL) {
        memset(request->is_gone, 0, mdf_frame_code(request->frame)->n_slots * sizeof *request->is_gone);
    }
    for (size_t i = 0; i < scope->capacity; i++) {
        const struct binding *binding = &scope->bindings[i];
        bool is_output = binding->operand != MDF_NO_OPERAND && binding->is_written && is_observed(request, binding) &&
                         (!request->leaves_out || is_of_numbers(lowering, request, binding->id));

        if (is_output && !add_output(lowering, request, scope, binding, is_kept)) {
            return false;
        }
    }
    note_given(lowering);
    return true;
}

/* Constants have got a firmer type than they have (lowering_begin): nothing hangs on that where all reals are float64. */
static bool may_begin_typed(struct lowering *lowering)
{
    for (size_t i = 0; lowering->begins_typed && i < lowering->lowered->n_values; i++) {
        mdf_dtype dtype = (mdf_dtype)lowering->lowered->values[i].form.dtype;

        if (dtype != MDF_DTYPE_FLOAT64 && (mdf_dtype_kind(dtype) == 'f' || mdf_dtype_kind(dtype) == 'c')) {
            return lowering_fail(lowering, MDF_REFUSED_CHANGING_STATE);
        }
    }
    return true;
}

/* A sequence with room for more that somebody looks at, as one of all its items. */
static bool settle_rooms(struct lowering *lowering, const struct mdf_lowering_request *request, struct scope *scope)
{
    for (size_t i = 0; i < scope->capacity; i++) {
        struct binding *binding = &scope->bindings[i];

        if (binding->operand != MDF_NO_OPERAND && binding->id != MDF_LOWERED_NONE && lowering->facts[binding->id].room != NULL &&
            binding->is_written && is_observed(request, binding)) {
            binding->id = lowering_add_sequence(lowering, lowering_cut_room(lowering, binding->id));
            if (binding->id == MDF_LOWERED_NONE) {
                return lowering_fail(lowering, MDF_REFUSED_CHANGING_LIST);
            }
        }
    }
    return true;
}

static bool lower_all(struct lowering *lowering, const void *opaque)
{
    const struct mdf_lowering_request *request = opaque;
    struct region whole = {0};
    struct scope scope = {.code = mdf_frame_code(request->frame), .frame = request->frame, .room = request->rooms};
    bool is_settled;

    lowering->region = &whole;
    for (size_t i = 0; i < request->n_ranges; i++) {
        if (!lowering_run(lowering, &scope, request->ranges[i].first, request->ranges[i].end)) {
            return false;
        }
    }
    if (request->go_through != NULL && !request->go_through(lowering, &scope, request->plan)) {
        return false;
    }
    is_settled = settle_rooms(lowering, request, &scope);
    lowering->region = NULL;
    if (!is_settled || !lowering_complete_region(lowering, &whole)) {
        return false;
    }
    lowering->lowered->region = (struct mdf_lowered_region){whole.ops, whole.n_ops};
    return lowering_drop_passed_on(lowering, &scope, &lowering->lowered->region) && note_outputs(lowering, request, &scope) &&
           lowering_finish(lowering) && may_begin_typed(lowering);
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
    for (size_t i = 0; lowering->lowered != NULL && i < lowering->lowered->n_values; i++) {
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

static struct mdf_lowered *lower_request(const struct mdf_lowering_request *request, bool begins_typed,
                                         struct mdf_refusal *refusal)
{
    struct mdf_execution *execution = mdf_frame_execution(request->frame);
    struct lowering lowering = {.execution = execution,
                                .memory = execution->context.memory,
                                .is_for_source = request->is_for_source,
                                .request = request,
                                .begins_typed = begins_typed,
                                .stays = request->stays,
                                .surprises = request->surprises,
                                .n_surprises = request->n_surprises};

    return lowering_make(&lowering, lower_all, request, refusal);
}

/* Whether it may help that what states begin with is of a declared type. */
static bool is_of_strength(enum mdf_refusal_reason reason)
{
    return reason == MDF_REFUSED_CHANGING_STATE || reason == MDF_REFUSED_NOT_ONE_TYPE || reason == MDF_REFUSED_NOT_ONE_STRENGTH;
}

struct mdf_lowered *mdf_lower(const struct mdf_lowering_request *request, struct mdf_refusal *refusal)
{
    struct mdf_lowered *lowered = lower_request(request, false, refusal);
    struct mdf_refusal another;

    if (lowered == NULL && is_of_strength(refusal->reason) &&
        mdf_frame_execution(request->frame)->context.real == MDF_DTYPE_FLOAT64) {
        lowered = lower_request(request, true, &another);
    }
    if (lowered != NULL) {
        *refusal = (struct mdf_refusal){.reason = MDF_REFUSED_NOT};
    }
    return lowered;
}
