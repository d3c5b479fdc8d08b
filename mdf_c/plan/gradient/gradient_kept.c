/* gradient_kept.c - what a Scan or Loop keeps for its way back.
 *
 * Comes in: a body behind whose instructions stand those that hand gradients back. Goes out: the same body without what nobody
 * needs. Of its own values, those that are cheap are computed again; states, what they are next, and what is dear to compute
 * (products, functions that take longer than an addition) come from the loop itself, which yields what they were in each
 * iteration. Only what has one type and shape in all iterations can be kept so. Where nothing but the form of a value counts, it
 * is computed again, too, from states as they were at first: lowered, that takes no time. */
#include "functions/elements/element.h"
#include "functions/kernel/move.h"
#include "functions/python/python.h"
#include "mdf_c/code/operands.h"
#include "mdf_c/plan/gradient/evaluation.h"
#include "mdf_c/plan/gradient/gradient_control.h"

#include <string.h>

/* ------------------------------------------------------------------ what stays as it is */

static bool is_same(struct gradient *gradient, mdf_operand operand)
{
    return operand == MDF_NO_OPERAND || MDF_OPERAND_KIND(operand) != MDF_OPERAND_SLOT ||
           gradient_track(gradient, operand)->is_same;
}

static bool is_stable(struct gradient *gradient, mdf_operand operand)
{
    return is_same(gradient, operand) || gradient_track(gradient, operand)->is_stable;
}

/* Whether an input of a call decides on the shape of the result by what it holds. */
static bool decides_shape(const struct mdf_code_call *call, size_t input)
{
    const struct mdf_operator *row = call->operator;
    bool says_where = row->form == MDF_FORM_GATHER || row->form == MDF_FORM_GATHER_ELEMENTS;

    if (row->element != NULL || mdf_counts_by_form(row, input)) {
        return false;
    }
    return (row->move != NULL && !says_where && input >= mdf_move_data(row->move, call->n_inputs)) ||
           (row->fold != NULL && input > 0) || (row->move == NULL && gradient_is_whole(call, input));
}

/* Whether the result of a call is an array, and nothing but the types and shapes of arrays decides on its own. */
static bool is_of_arrays(const struct mdf_code_call *call)
{
    const struct mdf_operator *row = call->operator;
    bool has_kind = mdf_element_of(row, call->settings) != NULL || row->fold != NULL || row->move != NULL ||
                    row->form == MDF_FORM_MATMUL || row->form == MDF_FORM_DOT;

    return call->n_bodies == 0 && (row->flags & MDF_OPERATOR_AS_WRITTEN) == 0 &&
           (has_kind || (row->since > 0 && mdf_derivative_find(row, call->settings, 0) != NULL));
}

/* Whether a call takes items by their numbers, none by slices. */
static bool takes_items(const struct mdf_code_call *call)
{
    const struct mdf_subscript *subscript = call->operator->form == MDF_FORM_LIST_ITEM ? call->settings : NULL;

    for (size_t i = 0; subscript != NULL && i < subscript->n_parts; i++) {
        if (subscript->parts[i].kind == MDF_SUBSCRIPT_SLICE) {
            return false;
        }
    }
    return subscript != NULL;
}

/* Whether what a call draws has one type and shape: sizes, and what says from where, stay as they are. */
static bool draws_stable(struct gradient *gradient, const struct mdf_code_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        const struct mdf_derivative *rule = mdf_derivative_find(call->operator, call->settings, i);
        bool is_flat = rule != NULL && rule->expression == NULL && !mdf_counts_by_form(call->operator, i);

        if (is_flat ? !is_same(gradient, call->inputs[i]) : !is_stable(gradient, call->inputs[i])) {
            return false;
        }
    }
    return true;
}

static bool yields_stable(struct gradient *gradient, const struct mdf_code_call *call)
{
    bool is_item = takes_items(call);

    if (gradient_is_draw(call)) {
        return draws_stable(gradient, call);
    }

    for (size_t i = 0; i < call->n_inputs; i++) {
        mdf_operand input = call->inputs[i];
        bool is_number = is_item && i > 0 && input != MDF_NO_OPERAND && gradient_track(gradient, input)->is_number;

        if (!is_stable(gradient, input) || (!is_number && decides_shape(call, i) && !is_same(gradient, input))) {
            return false;
        }
    }
    return is_of_arrays(call);
}

/* Whether a call makes a whole number of such. */
static bool yields_number(struct gradient *gradient, const struct mdf_code_call *call)
{
    bool any = false;

    if (mdf_element_of(call->operator, call->settings) == NULL) {
        return false;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        bool is_number = call->inputs[i] != MDF_NO_OPERAND && gradient_track(gradient, call->inputs[i])->is_number;
        struct mdf_static_type type =
            call->inputs[i] != MDF_NO_OPERAND ? unit_type(gradient->unit, call->inputs[i]) : mdf_static_unknown;
        bool is_constant = type.value != NULL && type.value->kind == MDF_KIND_TENSOR && type.value->rank == 0 &&
                           mdf_dtype_kind((mdf_dtype)type.value->dtype) == 'i';

        if (!is_number && !is_constant) {
            return false;
        }
        any = any || is_number;
    }
    return any;
}

static bool all_same(struct gradient *gradient, const struct mdf_code_call *call)
{
    for (size_t i = 0; i < call->n_inputs; i++) {
        if (!is_same(gradient, call->inputs[i])) {
            return false;
        }
    }
    return call->n_bodies == 0 && (call->operator->flags & MDF_OPERATOR_AS_WRITTEN) == 0;
}

static bool writes_once(struct gradient *gradient, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && gradient_track(gradient, operand)->n_writers == 1 &&
           (unit_flags(gradient->unit, operand) & OPERAND_MUTABLE) == 0;
}

static void note_call(struct gradient *gradient, const struct mdf_code_call *call)
{
    bool same = all_same(gradient, call), stable = yields_stable(gradient, call), number = yields_number(gradient, call);

    for (size_t i = 0; i < call->n_outputs; i++) {
        if (writes_once(gradient, call->outputs[i])) {
            struct track *track = gradient_track(gradient, call->outputs[i]);

            track->is_same = same;
            track->is_stable = stable;
            track->is_number = number;
        }
    }
}

static void note_instruction(struct gradient *gradient, const struct mdf_instruction *instruction)
{
    struct track *track;

    switch (instruction->opcode) {
    case MDF_OPCODE_CALL:
        note_call(gradient, gradient_call(gradient, instruction));
        break;
    case MDF_OPCODE_COPY:
    case MDF_OPCODE_BORROW:
    case MDF_OPCODE_ARRAY:
    case MDF_OPCODE_DECLARE:
        if (writes_once(gradient, instruction->a)) {
            track = gradient_track(gradient, instruction->a);
            track->is_same = is_same(gradient, instruction->b);
            track->is_stable = is_stable(gradient, instruction->b);
            track->is_number = gradient_track(gradient, instruction->b)->is_number;
        }
        break;
    default:
        break;
    }
}

void gradient_find_stable(struct backward *backward)
{
    struct derived_body *body = &backward->control->bodies[0];
    struct gradient *gradient = &body->gradient;

    for (size_t i = 0; i < body->code->n_formals; i++) {
        struct track *track = gradient_track(gradient, body->code->formals[i]);

        track->is_stable = true;
        track->is_number = gradient_is_loop(backward->call) && i == GRADIENT_ITERATION;
    }
    for (size_t at = 0; at < gradient->n_instructions; at = gradient_end_of(gradient, at)) {
        if (gradient_end_of(gradient, at) == at + 1) {
            note_instruction(gradient, unit_instruction(gradient->unit, at));
        }
    }
}

bool gradient_is_stable(struct gradient *gradient, mdf_operand operand)
{
    return is_stable(gradient, operand);
}

/* ------------------------------------------------------------------ what is needed */

struct keeping {
    struct backward *backward;
    struct gradient *gradient; /* in the body */
    bool *stays;               /* of each instruction of the body */
    struct list kept;          /* mdf_operand, of the body */
    struct list first;         /* struct mdf_instruction that come before all others: forms of states */
    mdf_operand *next;         /* of each state: what the body makes for it */
};

static enum gradient_reading reading_of(const struct gradient *gradient, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT
               ? gradient->readings[MDF_OPERAND_INDEX(operand)]
               : GRADIENT_UNREAD;
}

/* A visitor: the operand is read, as gradient->reading says. */
static bool mark(struct gradient *gradient, mdf_operand operand)
{
    if (operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT &&
        gradient->reading > gradient->readings[MDF_OPERAND_INDEX(operand)]) {
        gradient->readings[MDF_OPERAND_INDEX(operand)] = gradient->reading;
    }
    return false;
}

static bool mark_as(struct gradient *gradient, mdf_operand operand, enum gradient_reading reading)
{
    gradient->reading = reading;
    return mark(gradient, operand);
}

/* A visitor: notes in gradient->reading what is needed of the operand, where that is more. */
static bool find_reading(struct gradient *gradient, mdf_operand operand)
{
    enum gradient_reading reading = reading_of(gradient, operand);

    gradient->reading = reading > gradient->reading ? reading : gradient->reading;
    return false;
}

/* What is needed of what instructions write. */
static enum gradient_reading reading_of_outputs(struct gradient *gradient, size_t at, size_t end)
{
    gradient->reading = GRADIENT_UNREAD;
    for (; at < end; at++) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

        gradient_any_output(gradient, instruction, find_reading);
        gradient->reading = instruction->opcode == MDF_OPCODE_GRAPH ? GRADIENT_VALUE : gradient->reading;
    }
    return gradient->reading;
}

/* Marks what an instruction reads; the form alone, where nothing else is needed of its results or counts for them. */
static void mark_inputs(struct gradient *gradient, const struct mdf_instruction *instruction, enum gradient_reading reading)
{
    const struct mdf_code_call *call = instruction->opcode == MDF_OPCODE_CALL ? gradient_call(gradient, instruction) : NULL;

    gradient->reading = reading;
    if (call == NULL || call->n_bodies > 0) {
        gradient->reading = call != NULL ? GRADIENT_VALUE : reading;
        gradient_any_input(gradient, instruction, mark);
        return;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        mark_as(gradient, call->inputs[i], mdf_counts_by_form(call->operator, i) ? GRADIENT_FORM : reading);
    }
}

static void stay(struct keeping *keeping, size_t at, size_t end, enum gradient_reading reading)
{
    bool is_one = end == at + 1;

    for (; at < end; at++) {
        const struct mdf_instruction *instruction = unit_instruction(keeping->gradient->unit, at);

        keeping->stays[at] = true;
        mark_inputs(keeping->gradient, instruction, is_one ? reading : GRADIENT_VALUE);
        if (instruction->opcode == MDF_OPCODE_JUMP_IF || instruction->opcode == MDF_OPCODE_JUMP_UNLESS) {
            mark_as(keeping->gradient, instruction->a, GRADIENT_VALUE);
        } else if (instruction->opcode == MDF_OPCODE_NEXT) { /* it goes on from there */
            mark_as(keeping->gradient, instruction->c, GRADIENT_VALUE);
        }
    }
}

static bool takes_time(const struct mdf_element *element)
{
    while (element != NULL && mdf_element_operations[element->id].cost_ns <= 0) {
        element = element->base;
    }
    return element != NULL;
}

static bool is_dear(const struct mdf_code_call *call)
{
    const struct mdf_element *element = mdf_element_of(call->operator, call->settings);
    bool is_product = call->operator->form == MDF_FORM_MATMUL || call->operator->form == MDF_FORM_DOT;

    return is_product ? true : element != NULL ? takes_time(element) : call->operator->move == NULL;
}

/* Whether what a call makes of many elements, which changes with no x, may be whole numbers first and real ones later. */
static bool may_change_type(struct gradient *gradient, const struct mdf_code_call *call)
{
    return call->operator->fold != NULL && call->outputs[0] != MDF_NO_OPERAND && !gradient_track(gradient, call->outputs[0])
        ->is_active;
}

/* Whether a value is what a state is next: a stack of these is that of the states, but for the first one and the last one. */
static bool is_next_state(const struct keeping *keeping, mdf_operand value)
{
    for (size_t i = 0; keeping->backward != NULL && i < keeping->backward->control->n_states; i++) {
        if (keeping->next[i] == value) {
            return true;
        }
    }
    return false;
}

/* Whether what an instruction writes is kept rather than computed again. */
static bool is_kept(const struct keeping *keeping, size_t at, size_t end)
{
    struct gradient *gradient = keeping->gradient;
    const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);
    const struct mdf_code_call *call;

    if (end != at + 1 || instruction->opcode != MDF_OPCODE_CALL) {
        return false;
    }
    call = gradient_call(gradient, instruction);
    if (!gradient_is_draw(call) && (!is_of_arrays(call) || may_change_type(gradient, call) ||
                                    (!is_dear(call) && !is_next_state(keeping, call->outputs[0])))) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        mdf_operand output = call->outputs[i];

        if (reading_of(gradient, output) != GRADIENT_UNREAD &&
            (is_same(gradient, output) || !is_stable(gradient, output) || !writes_once(gradient, output))) {
            return false;
        }
    }
    return true;
}

static bool keep_outputs(struct keeping *keeping, size_t at)
{
    const struct mdf_code_call *call = gradient_call(keeping->gradient, unit_instruction(keeping->gradient->unit, at));

    for (size_t i = 0; i < call->n_outputs; i++) {
        if (reading_of(keeping->gradient, call->outputs[i]) != GRADIENT_UNREAD &&
            !list_add_operand(keeping->gradient->compiler, &keeping->kept, call->outputs[i])) {
            return false;
        }
    }
    return true;
}

/* What draws random numbers in a range of instructions; NULL: nothing. */
static const struct mdf_operator *find_draw(struct gradient *gradient, size_t at, size_t end)
{
    const struct mdf_operator *draw = NULL;

    for (; at < end && draw == NULL; at++) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

        draw = instruction->opcode == MDF_OPCODE_CALL
                   ? gradient_find_draw(gradient_call(gradient, instruction), gradient->unit->bodies.items)
                   : NULL;
    }
    return draw;
}

/* A mark of what stays behind it, which draws: the loop keeps it, and here the generators go back to it. */
static bool return_to_mark(struct keeping *keeping, size_t at)
{
    struct gradient *gradient = keeping->gradient;
    mdf_operand mark = gradient_call(gradient, unit_instruction(gradient->unit, at))->outputs[0];

    mark_as(gradient, mark, GRADIENT_VALUE);
    if (!keep_outputs(keeping, at) || !gradient_emit_return(gradient->target, mark)) {
        return false;
    }
    unit_instruction(gradient->unit, at)->target = (uint32_t)gradient->unit->calls.n - 1;
    gradient->unit->instructions.n--; /* it stands there, not behind all */
    keeping->stays[at] = true;
    return true;
}

/* Of a way back: what stands in front of something that stays and draws. What hands gradients back goes back to marks itself. */
static bool go_back(struct keeping *keeping, size_t at, size_t behind, const struct mdf_operator *draw)
{
    struct gradient *gradient = keeping->gradient;
    const struct mdf_instruction *instruction = at < behind ? unit_instruction(gradient->unit, at) : NULL;
    const struct mdf_code_call *call =
        instruction != NULL && instruction->opcode == MDF_OPCODE_CALL ? gradient_call(gradient, instruction) : NULL;

    if (call != NULL && gradient_goes_back(call)) {
        stay(keeping, at, at + 1, GRADIENT_VALUE);
        return true;
    }
    if (call != NULL && gradient_is_mark(call)) {
        return return_to_mark(keeping, at);
    }
    return behind >= gradient->n_instructions || gradient_refuse_draw(gradient, draw);
}

/* Whether an instruction goes back to a mark. */
static bool goes_back(struct gradient *gradient, size_t at)
{
    const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

    return instruction->opcode == MDF_OPCODE_CALL && gradient_goes_back(gradient_call(gradient, instruction));
}

/* A range stays, or what it writes is kept, or nobody needs it; `before`: where the one in front of it begins. */
static bool choose_one(struct keeping *keeping, size_t at, size_t end, size_t before)
{
    struct gradient *gradient = keeping->gradient;
    enum gradient_reading reading = reading_of_outputs(gradient, at, end);
    const struct mdf_operator *draw = find_draw(gradient, at, end);

    if (keeping->backward != NULL && goes_back(gradient, at)) {
        return true; /* what it is for has had it stay */
    }
    if (draw != NULL && (keeping->backward == NULL || reading != GRADIENT_UNREAD)) { /* others draw what comes behind */
        reading = GRADIENT_VALUE;
    }
    if (reading == GRADIENT_VALUE && at < gradient->n_instructions && is_kept(keeping, at, end)) {
        return keep_outputs(keeping, at);
    }
    if (reading != GRADIENT_UNREAD) {
        stay(keeping, at, end, reading);
        return draw == NULL || keeping->backward == NULL || go_back(keeping, before, at, draw);
    }
    return true;
}

/* Goes from the last instruction to the first. */
static bool choose(struct keeping *keeping, size_t first)
{
    struct gradient *gradient = keeping->gradient;
    size_t n = unit_position(gradient->unit), n_starts = 0;
    size_t *starts = gradient_new_array(gradient, n + 1, sizeof *starts);

    if (starts == NULL) {
        return false;
    }
    for (size_t at = first; at < n; at = gradient_end_of(gradient, at)) {
        starts[n_starts++] = at;
    }
    starts[n_starts] = n;
    for (size_t i = n_starts; i-- > 0;) {
        if (!keeping->stays[starts[i]] && !choose_one(keeping, starts[i], starts[i + 1], i > 0 ? starts[i - 1] : starts[i])) {
            return false;
        }
    }
    return true;
}

static void mark_all(struct gradient *gradient, const struct list *operands)
{
    for (size_t i = 0; i < operands->n; i++) {
        mark_as(gradient, ((const mdf_operand *)operands->items)[i], GRADIENT_VALUE);
    }
}

/* Takes out the instructions that do not stay. */
static bool take_out(struct keeping *keeping)
{
    struct unit *unit = keeping->gradient->unit;
    size_t n = unit->instructions.n, next = 0;
    struct mdf_instruction *instructions = unit->instructions.items;
    uint32_t *places = gradient_new_array(keeping->gradient, n + 1, sizeof *places);

    if (places == NULL) {
        return false;
    }
    for (size_t i = 0; i <= n; i++) {
        places[i] = (uint32_t)next;
        next += i < n && keeping->stays[i];
    }
    for (size_t i = 0; i < n; i++) {
        if (keeping->stays[i]) {
            instructions[places[i]] = instructions[i];
            if (unit_is_jump(&instructions[i])) {
                instructions[places[i]].target = places[instructions[i].target];
            }
        }
    }
    unit->instructions.n = next;
    return unit_put_first(keeping->gradient->compiler, unit, &keeping->first);
}

/* ------------------------------------------------------------------ the loop yields more */

/* A list attribute with zeros for more scan outputs; as it is where it is not given. */
static bool lengthen(struct gradient *gradient, struct mdf_ints *list, size_t n_more)
{
    int64_t *items;

    if (list == NULL || list->items == NULL) {
        return true;
    }
    items = mdf_arena_array(gradient->compiler->arena, list->n + n_more, sizeof *items);
    if (items == NULL) {
        return gradient_out_of_memory(gradient);
    }
    memcpy(items, list->items, list->n * sizeof *items);
    *list = (struct mdf_ints){items, list->n + n_more};
    return true;
}

/* What a finished code has, to which more is added; once for all, as each would copy it. */
struct longer_code {
    struct mdf_code *code;
    struct list instructions, calls, yields, yield_is_own, yield_types;
};

static bool begin_longer(struct gradient *gradient, struct mdf_code *code, struct longer_code *longer)
{
    struct compiler *compiler = gradient->compiler;

    *longer = (struct longer_code){.code = code};
    return gradient_add_items(compiler, &longer->instructions, code->instructions, code->n_instructions,
                              sizeof *code->instructions) &&
           gradient_add_items(compiler, &longer->calls, code->calls, code->n_calls, sizeof *code->calls) &&
           gradient_add_items(compiler, &longer->yields, code->yields, code->n_yields, sizeof *code->yields) &&
           gradient_add_items(compiler, &longer->yield_is_own, code->yield_is_own, code->n_yields, sizeof *code->yield_is_own) &&
           gradient_add_items(compiler, &longer->yield_types, code->yield_types, code->n_yields, sizeof *code->yield_types);
}

static bool end_longer(struct gradient *gradient, struct longer_code *longer)
{
    struct compiler *compiler = gradient->compiler;
    struct mdf_code *code = longer->code;

    return unit_keep_list(compiler, &longer->instructions, sizeof *code->instructions, &code->instructions,
                          &code->n_instructions) &&
           unit_keep_list(compiler, &longer->calls, sizeof *code->calls, &code->calls, &code->n_calls) &&
           unit_keep_list(compiler, &longer->yield_is_own, sizeof *code->yield_is_own, &code->yield_is_own, &code->n_yields) &&
           unit_keep_list(compiler, &longer->yield_types, sizeof *code->yield_types, &code->yield_types, &code->n_yields) &&
           unit_keep_list(compiler, &longer->yields, sizeof *code->yields, &code->yields, &code->n_yields);
}

/* A call behind all others of a body; its result, a new slot; MDF_NO_OPERAND with the error set. */
static mdf_operand add_call(struct gradient *gradient, struct longer_code *longer, const char *name, const mdf_operand *inputs,
                            size_t n)
{
    struct mdf_code_call call = {.operator= mdf_operator_python(name), .n_inputs = n, .n_outputs = 1};
    struct mdf_instruction instruction = {
        .opcode = MDF_OPCODE_CALL, .target = (uint32_t)longer->calls.n, .origin = gradient->compiler->origin};
    mdf_operand *operands = mdf_arena_array(gradient->compiler->arena, n + 1, sizeof *operands);

    if (operands == NULL) {
        return compile_out_of_memory(gradient->compiler);
    }
    memcpy(operands, inputs, n * sizeof *operands);
    operands[n] = MDF_OPERAND(MDF_OPERAND_SLOT, longer->code->n_slots++);
    call.inputs = operands;
    call.outputs = operands + n;
    return list_add(gradient->compiler, &longer->calls, &call, sizeof call) &&
                   list_add(gradient->compiler, &longer->instructions, &instruction, sizeof instruction)
               ? operands[n]
               : MDF_NO_OPERAND;
}

/* What the body yields for a state that begins as a whole number without a type, which may become a real one; MDF_NO_OPERAND:
 * `value` is no such state. */
static mdf_operand next_of(const struct backward *backward, mdf_operand value)
{
    const struct control *control = backward->control;
    const struct mdf_code *code = control->bodies[0].code;

    for (size_t i = 0; i < control->n_states; i++) {
        mdf_operand initial = backward->call->inputs[control->first_formal + i];
        const struct mdf_value *known = initial != MDF_NO_OPERAND ? unit_constant(backward->gradient->unit, initial) : NULL;

        if (code->formals[control->first_formal + i] == value && known != NULL && known->kind == MDF_KIND_TENSOR &&
            known->dtype == MDF_DTYPE_INT64 && known->strength != MDF_STRENGTH_TYPED) {
            return code->yields[control->first_yield + i];
        }
    }
    return MDF_NO_OPERAND;
}

/* A value in the type that it has together with another: chosen by a condition that always holds and has its shape. */
static mdf_operand promote(struct gradient *gradient, struct longer_code *longer, mdf_operand value, mdf_operand other)
{
    mdf_operand always = add_call(gradient, longer, PYTHON_ONES_LIKE, &value, 1);

    return always != MDF_NO_OPERAND ? add_call(gradient, longer, PYTHON_WHERE, (const mdf_operand[]){always, value, other}, 3)
                                    : always;
}

/* The body of the loop yields one value more. As real numbers, where it changes smoothly: what begins as whole numbers may become
 * reals in later iterations. */
static bool add_yield(struct keeping *keeping, struct longer_code *longer, mdf_operand value)
{
    struct gradient *gradient = keeping->gradient;
    bool is_real = gradient_track(gradient, value)->is_active;
    mdf_operand next = is_real ? MDF_NO_OPERAND : next_of(keeping->backward, value);
    bool is_made = is_real || next != MDF_NO_OPERAND;

    value = is_real   ? add_call(gradient, longer, PYTHON_AS_REAL, &value, 1)
            : is_made ? promote(gradient, longer, value, next)
                      : value;
    return value != MDF_NO_OPERAND && list_add(gradient->compiler, &longer->yield_is_own, &is_made, sizeof is_made) &&
           list_add(gradient->compiler, &longer->yield_types, &mdf_static_unknown, sizeof mdf_static_unknown) &&
           list_add(gradient->compiler, &longer->yields, &value, sizeof value);
}

/* The loop has `n` more scan outputs, `stacks`. */
static bool add_outputs(struct backward *backward, struct mdf_code_call *call, const mdf_operand *stacks, size_t n)
{
    struct gradient *gradient = backward->gradient;
    mdf_operand *outputs = mdf_arena_array(gradient->compiler->arena, call->n_outputs + n, sizeof *outputs);
    void *settings = gradient_copy_settings(gradient, call->operator, call->settings);

    if (outputs == NULL || settings == NULL ||
        !lengthen(gradient, gradient_ints(call->operator, settings, "scan_output_axes"), n) ||
        !lengthen(gradient, gradient_ints(call->operator, settings, "scan_output_directions"), n)) {
        return outputs != NULL ? false : gradient_out_of_memory(gradient);
    }
    memcpy(outputs, call->outputs, call->n_outputs * sizeof *outputs);
    memcpy(outputs + call->n_outputs, stacks, n * sizeof *stacks);
    call->settings = settings;
    call->outputs = outputs;
    call->n_outputs += n;
    return true;
}

/* Which scan output of the loop is a stack of a value already; SIZE_MAX: none. */
static size_t find_output(const struct backward *backward, const struct mdf_code_call *call, mdf_operand value)
{
    const struct control *control = backward->control;
    const struct mdf_code *code = control->bodies[0].code;

    for (size_t i = control->n_states; i < backward->call->n_outputs; i++) {
        if (code->yields[control->first_yield + i] == value && call->outputs[i] != MDF_NO_OPERAND) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* Of what is kept, what the loop stacks already is scanned; how many of the others there are: *n, and they are the first ones. */
static bool scan_outputs(struct keeping *keeping, const struct mdf_code_call *call, size_t *n)
{
    struct backward *backward = keeping->backward;
    mdf_operand *kept = keeping->kept.items;

    *n = 0;
    for (size_t i = 0; i < keeping->kept.n; i++) {
        size_t output = find_output(backward, call, kept[i]), k = output - backward->control->n_states;

        if (output == SIZE_MAX) {
            kept[(*n)++] = kept[i];
        } else if (!gradient_scan(backward, call->outputs[output], kept[i], mdf_code_setting_at(call, "scan_output_axes", k),
                                  1 - mdf_code_setting_at(call, "scan_output_directions", k))) {
            return false;
        }
    }
    return true;
}

static bool scan_kept(struct keeping *keeping)
{
    struct backward *backward = keeping->backward;
    struct gradient *gradient = backward->gradient;
    struct mdf_code_call *calls = gradient->unit->calls.items, call = calls[backward->control->call];
    struct mdf_code *code = ((struct mdf_code **)gradient->unit->bodies.items)[call.bodies[0]];
    const mdf_operand *kept = keeping->kept.items;
    mdf_operand *stacks = gradient_new_array(gradient, keeping->kept.n, sizeof *stacks);
    struct longer_code longer;
    size_t n;

    if (stacks == NULL || !scan_outputs(keeping, &call, &n) || !begin_longer(gradient, code, &longer)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        stacks[i] = unit_new_slot(gradient->target, 0);
        if (stacks[i] == MDF_NO_OPERAND || !add_yield(keeping, &longer, kept[i]) ||
            !gradient_scan(backward, stacks[i], kept[i], 0, 1)) {
            return false;
        }
    }
    if (!end_longer(gradient, &longer) || !add_outputs(backward, &call, stacks, n)) {
        return false;
    }
    calls = gradient->unit->calls.items;
    calls[backward->control->call] = call;
    return true;
}

/* ------------------------------------------------------------------ all */

/* A state of which only the form counts is what it was at first, in reals. */
static bool take_form(struct keeping *keeping, size_t state)
{
    struct backward *backward = keeping->backward;
    struct derived_body *body = &backward->control->bodies[0];
    mdf_operand formal = body->code->formals[state],
                initial = gradient_track(backward->gradient, backward->call->inputs[state])->value;
    struct mdf_instruction instruction = {
        .opcode = MDF_OPCODE_BORROW, .a = formal, .origin = keeping->gradient->compiler->origin};

    if (gradient_track(keeping->gradient, formal)->is_active) {
        initial = unit_call_python(backward->gradient->target, PYTHON_AS_REAL, &initial, 1);
    }
    instruction.b = unit_capture(body->gradient.target, &body->unit, backward->gradient->unit, initial);
    return initial != MDF_NO_OPERAND && instruction.b != MDF_NO_OPERAND &&
           list_add(keeping->gradient->compiler, &keeping->first, &instruction, sizeof instruction);
}

/* Formals of a Loop, and states, that are looked at; scan inputs are scanned. One at least, as a Scan goes by the length of what
 * it scans. */
static bool keep_formals(struct keeping *keeping)
{
    struct backward *backward = keeping->backward;
    const struct control *control = backward->control;
    const struct mdf_code *code = control->bodies[0].code;
    size_t n = control->first_formal + control->n_states;

    for (size_t i = 0; i < code->n_formals; i++) {
        size_t k = i - n;
        bool is_only = backward->scanned.n + keeping->kept.n == 0 &&
                       (i + 1 == code->n_formals || (i == GRADIENT_ITERATION && gradient_is_loop(backward->call) && n <= 2));

        enum gradient_reading reading = reading_of(keeping->gradient, code->formals[i]);

        if (reading == GRADIENT_UNREAD && !is_only) {
            continue;
        }
        if (reading == GRADIENT_FORM && !is_only && i < n && i >= control->first_formal) {
            if (!take_form(keeping, i)) {
                return false;
            }
            continue;
        }
        if (i < n ? !list_add_operand(keeping->gradient->compiler, &keeping->kept, code->formals[i])
                  : !gradient_scan(backward,
                                   gradient_track(backward->gradient, backward->call->inputs[control->n_states + k])->value,
                                   code->formals[i], mdf_code_setting_at(backward->call, "scan_input_axes", k),
                                   1 - mdf_code_setting_at(backward->call, "scan_input_directions", k))) {
            return false;
        }
    }
    return true;
}

/* What the body makes for each state, which may be handed on before it is yielded. */
static bool find_next(struct keeping *keeping)
{
    const struct control *control = keeping->backward->control;
    struct gradient *gradient = keeping->gradient;

    keeping->next = gradient_new_array(gradient, control->n_states, sizeof *keeping->next);
    if (keeping->next == NULL) {
        return false;
    }
    for (size_t i = 0; i < control->n_states; i++) {
        keeping->next[i] = control->bodies[0].code->yields[control->first_yield + i];
        for (size_t at = gradient->n_instructions; at-- > 0;) {
            const struct mdf_instruction *instruction = unit_instruction(gradient->unit, at);

            if (mdf_hands_on(instruction) && instruction->a == keeping->next[i]) {
                keeping->next[i] = instruction->b;
            }
        }
    }
    return true;
}

bool gradient_keep(struct backward *backward)
{
    struct gradient *gradient = &backward->control->bodies[0].gradient;
    struct keeping keeping = {.backward = backward, .gradient = gradient};

    keeping.stays = gradient_new_array(gradient, unit_position(gradient->unit), sizeof *keeping.stays);
    gradient->readings = gradient_new_array(gradient, gradient->unit->slot_facts.n, sizeof *gradient->readings);
    if (keeping.stays == NULL || gradient->readings == NULL || !find_next(&keeping)) {
        return false;
    }
    mark_all(gradient, &backward->state_yields);
    mark_all(gradient, &backward->scan_yields);
    for (size_t i = 0; i < gradient->products.n; i++) {
        const struct product *product = (const struct product *)gradient->products.items + i;

        mark_as(gradient, product->factor, GRADIENT_VALUE);
        mark_as(gradient, product->gradient, GRADIENT_VALUE);
    }
    return choose(&keeping, 0) && keep_formals(&keeping) && take_out(&keeping) && scan_kept(&keeping);
}

bool compile_take_out_unread(struct target *target, size_t first, const struct list *roots)
{
    struct gradient gradient = {.target = target, .compiler = target->compiler, .unit = target->unit};
    struct keeping keeping = {.gradient = &gradient};

    keeping.stays = gradient_new_array(&gradient, unit_position(target->unit), sizeof *keeping.stays);
    gradient.readings = gradient_new_array(&gradient, target->unit->slot_facts.n, sizeof *gradient.readings);
    if (keeping.stays == NULL || gradient.readings == NULL) {
        return false;
    }
    for (size_t i = 0; i < first; i++) {
        keeping.stays[i] = true;
    }
    mark_all(&gradient, roots);
    return choose(&keeping, first) && take_out(&keeping);
}
