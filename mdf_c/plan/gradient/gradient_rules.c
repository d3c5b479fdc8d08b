/* gradient_rules.c - one step of reverse accumulation: what the gradient of an instruction's result hands back to its inputs.
 *
 * Comes in: an instruction whose outputs have gradients. Goes out: instructions that compute its rules
 * (functions/kernel/derivatives.h), and the operands that now hold the gradients of its inputs. */
#include "mdf_c/plan/gradient/gradient.h"

#include "functions/custom/custom.h"
#include "functions/kernel/move.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ what a rule sees */

/* An attribute as the rules see it: a number, a text, a list; None. */
static bool value_of_setting(struct gradient *gradient, const struct mdf_setting *setting, const void *field,
                             struct mdf_value *value)
{
    struct mdf_memory *memory = gradient->compiler->memory;
    const struct mdf_ints *ints = field;
    const char *text;
    int64_t n, *items;

    switch (setting->type) {
    case MDF_SETTING_INT:
        return *(const int64_t *)field == MDF_NOT_GIVEN || mdf_value_make_int(memory, value, *(const int64_t *)field);
    case MDF_SETTING_FLOAT:
        return isnan(*(const double *)field) || mdf_value_make_double(memory, value, *(const double *)field);
    case MDF_SETTING_INTS:
        if (ints->items == NULL) {
            return true;
        }
        n = (int64_t)ints->n;
        items = mdf_value_make_tensor(memory, value, MDF_DTYPE_INT64, 1, &n);
        if (items != NULL && n > 0) {
            memcpy(items, ints->items, ints->n * sizeof *items);
        }
        return items != NULL;
    case MDF_SETTING_STRING:
        text = *(const char *const *)field;
        return text == NULL || mdf_value_make_string(memory, value, text, strlen(text));
    case MDF_SETTING_FLOATS: /* none of these is an argument of a rule */
    case MDF_SETTING_STRINGS:
    case MDF_SETTING_DTYPE:
    case MDF_SETTING_VALUE:
    case MDF_SETTING_GRAPH:
        break;
    }
    return true;
}

static bool bind_settings(struct gradient *gradient, struct scope *scope, const struct mdf_code_call *call, const char *rule)
{
    const struct mdf_setting *setting = call->settings != NULL ? call->operator->settings : NULL;

    for (; setting != NULL && setting->name != NULL; setting++) {
        struct mdf_value value = {0};
        mdf_operand operand;

        if (strstr(rule, setting->name) == NULL) {
            continue;
        }
        if (!value_of_setting(gradient, setting, (const char *)call->settings + setting->offset, &value)) {
            compile_out_of_memory(gradient->compiler);
            return false;
        }
        operand = unit_add_constant(gradient->target, &value, 0);
        if (operand == MDF_NO_OPERAND || !scope_bind(gradient->compiler, scope, setting->name, operand)) {
            return false;
        }
    }
    return true;
}

static bool bind_operand(struct gradient *gradient, struct scope *scope, const char *name, mdf_operand operand)
{
    struct mdf_value none = {0};

    operand =
        operand == MDF_NO_OPERAND ? unit_add_constant(gradient->target, &none, 0) : gradient_track(gradient, operand)->value;
    return operand != MDF_NO_OPERAND && scope_bind(gradient->compiler, scope, name, operand);
}

/* The list of all inputs. */
static bool bind_list(struct gradient *gradient, struct scope *scope, const struct mdf_code_call *call)
{
    mdf_operand *values = mdf_arena_array(&gradient->compiler->scratch, call->n_inputs, sizeof *values), all;

    if (values == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        values[i] = call->inputs[i] == MDF_NO_OPERAND ? MDF_NO_OPERAND : gradient_track(gradient, call->inputs[i])->value;
    }
    all = unit_call_python(gradient->target, PYTHON_OUTPUTS, values, call->n_inputs, MDF_NO_OPERAND);
    return all != MDF_NO_OPERAND && scope_bind(gradient->compiler, scope, "xs", all);
}

/* What a rule can name, of input `input` of a call (see derivatives.h), as far as its text does: what nobody reads is not made.
 */
static bool bind_call(struct gradient *gradient, struct scope *scope, const struct mdf_code_call *call, size_t input,
                      const char *rule)
{
    static const char *const names[MDF_DERIVATIVE_INPUTS] = {"x0", "x1", "x2", "x3", "x4", "x5"};
    mdf_operand count;

    for (size_t i = 0; i < MDF_DERIVATIVE_INPUTS; i++) {
        if (strstr(rule, names[i]) != NULL &&
            !bind_operand(gradient, scope, names[i], i < call->n_inputs ? call->inputs[i] : MDF_NO_OPERAND)) {
            return false;
        }
    }
    if (strstr(rule, "xs") != NULL && !bind_list(gradient, scope, call)) {
        return false;
    }
    if (strstr(rule, "count") != NULL) {
        count = unit_add_int(gradient->target, (int64_t)call->n_inputs);
        if (count == MDF_NO_OPERAND || !scope_bind(gradient->compiler, scope, "count", count)) {
            return false;
        }
    }
    return bind_operand(gradient, scope, "x", call->inputs[input]) && bind_operand(gradient, scope, "y", call->outputs[0]) &&
           bind_settings(gradient, scope, call, rule);
}

static mdf_operand follow_rule(struct gradient *gradient, const struct mdf_code_call *call, size_t input, const char *rule)
{
    struct scope scope = {.unit = gradient->unit};
    struct target target = {gradient->compiler, gradient->unit, &scope};
    bool outer = gradient->compiler->derives;
    mdf_operand result;

    if (!bind_call(gradient, &scope, call, input, rule) ||
        !scope_bind(gradient->compiler, &scope, "dy", gradient_track(gradient, call->outputs[0])->gradient)) {
        return MDF_NO_OPERAND;
    }
    gradient->compiler->derives = true;
    result = compile_text(&target, rule, MDF_NO_OPERAND);
    gradient->compiler->derives = outer;
    return result;
}

/* The operator itself on numbers of the elements of one input, in place of it; 0 in all that share its type. `numbers` names what
 * makes the numbers. */
static bool move_numbers(struct gradient *gradient, const struct mdf_code_call *call, size_t input, const char *numbers,
                         mdf_operand *moved)
{
    struct mdf_code_call again = *call;
    size_t n = call->n_inputs + call->n_outputs;
    mdf_operand *operands = mdf_arena_array(&gradient->compiler->scratch, n, sizeof *operands);

    if (operands == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    for (size_t i = 0; i < call->n_inputs; i++) {
        bool alike = call->signature == NULL
                         ? i < mdf_move_data(call->operator->move, call->n_inputs)
                         : i < call->signature->n_inputs &&
                               call->signature->inputs[i].formal->variable == call->signature->inputs[input].formal->variable;

        operands[i] = call->inputs[i] == MDF_NO_OPERAND ? MDF_NO_OPERAND : gradient_track(gradient, call->inputs[i])->value;
        if (operands[i] != MDF_NO_OPERAND && (i == input || alike)) {
            operands[i] =
                unit_call_python(gradient->target, i == input ? numbers : PYTHON_NO_NUMBERS, &operands[i], 1, MDF_NO_OPERAND);
            if (operands[i] == MDF_NO_OPERAND) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        moved[i] = operands[call->n_inputs + i] = unit_new_slot(gradient->target, 0);
        if (moved[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    again.inputs = operands;
    again.outputs = operands + call->n_inputs;
    return unit_emit_call(gradient->target, &again);
}

bool gradient_add(struct gradient *gradient, mdf_operand operand, mdf_operand part)
{
    struct track *track = gradient_track(gradient, operand);

    part = unit_call_two(gradient->target, "gradient.sum_to", part, track->value, MDF_NO_OPERAND);
    if (track->gradient != MDF_NO_OPERAND) {
        part = unit_call_two(gradient->target, PYTHON_ADD, track->gradient, part, MDF_NO_OPERAND);
    }
    track->gradient = part;
    return part != MDF_NO_OPERAND;
}

mdf_operand gradient_zeros_like(struct gradient *gradient, mdf_operand operand)
{
    return unit_call_python(gradient->target, "numpy.zeros_like", &operand, 1, MDF_NO_OPERAND);
}

mdf_operand gradient_or_zeros(struct gradient *gradient, mdf_operand operand)
{
    const struct track *track = gradient_track(gradient, operand);

    return track->gradient != MDF_NO_OPERAND ? track->gradient : gradient_zeros_like(gradient, track->value);
}

/* Takes away from moved numbers what the operator puts between them. */
static bool take_away_filled(struct gradient *gradient, const struct mdf_code_call *call, size_t input, mdf_operand *moved)
{
    mdf_operand filled = moved[0];

    if (!move_numbers(gradient, call, input, PYTHON_NO_NUMBERS, moved)) {
        return false;
    }
    moved[0] = unit_call_two(gradient->target, "operator.sub", filled, moved[0], MDF_NO_OPERAND);
    return moved[0] != MDF_NO_OPERAND;
}

static bool hand_back_moved(struct gradient *gradient, const struct mdf_code_call *call, size_t input, bool fills)
{
    mdf_operand *moved = mdf_arena_array(&gradient->compiler->scratch, call->n_outputs, sizeof *moved);

    if (moved == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    if (!move_numbers(gradient, call, input, "gradient.numbers", moved) ||
        (fills && !take_away_filled(gradient, call, input, moved))) {
        return false;
    }
    for (size_t i = 0; i < call->n_outputs; i++) {
        struct track *output = call->outputs[i] == MDF_NO_OPERAND ? NULL : gradient_track(gradient, call->outputs[i]);
        mdf_operand three[3] = {output != NULL ? output->gradient : MDF_NO_OPERAND, moved[i],
                                gradient_track(gradient, call->inputs[input])->value};
        mdf_operand part;

        if (three[0] == MDF_NO_OPERAND) {
            continue;
        }
        part = unit_call_python(gradient->target, "gradient.send_back", three, 3, MDF_NO_OPERAND);
        if (part == MDF_NO_OPERAND || !gradient_add(gradient, call->inputs[input], part)) {
            return false;
        }
    }
    return true;
}

static bool refuse(struct gradient *gradient, const struct mdf_instruction *instruction, size_t input)
{
    const struct mdf_operator *row = gradient_call(gradient, instruction)->operator;
    const struct mdf_schema *schema = row->since > 0 ? mdf_schema_find_anywhere(row->name, row->since) : NULL;

    compile_error(gradient->compiler, MDF_UNSUPPORTED, "there is no derivative of %s%s%s by its input %zu (%s)",
                  schema != NULL ? mdf_schema_prefix(schema) : "", schema != NULL ? "::" : "", row->name, input + 1,
                  gradient_place(gradient, instruction));
    return false;
}

/* Whether only the first output of a call has a gradient. */
static bool is_by_first_output(struct gradient *gradient, const struct mdf_code_call *call)
{
    for (size_t i = 1; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_NO_OPERAND && gradient_track(gradient, call->outputs[i])->gradient != MDF_NO_OPERAND) {
            return false;
        }
    }
    return call->outputs[0] != MDF_NO_OPERAND;
}

static bool hand_back_to(struct gradient *gradient, const struct mdf_instruction *instruction, size_t input)
{
    const struct mdf_code_call *call = gradient_call(gradient, instruction);
    const struct mdf_derivative *rule = mdf_derivative_find(call->operator, call->settings, input);
    struct mdf_code_call kept = *call; /* the list of calls grows */
    mdf_operand part;

    if (gradient_is_whole(call, input) || (rule != NULL && rule->expression == NULL)) {
        return true;
    }
    if (rule == NULL && call->operator->move != NULL) {
        return hand_back_moved(gradient, &kept, input, call->operator->move->fills && input == 0);
    }
    if (rule == NULL || !is_by_first_output(gradient, call)) {
        return refuse(gradient, instruction, input);
    }
    if (gradient_is_product(gradient, &kept, input)) {
        return gradient_add_product(gradient, &kept, input);
    }
    part = follow_rule(gradient, &kept, input, rule->expression);
    return part != MDF_NO_OPERAND && gradient_add(gradient, kept.inputs[input], part);
}

static bool has_gradient(struct gradient *gradient, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && gradient_track(gradient, operand)->gradient != MDF_NO_OPERAND;
}

/* Of a list each item gets its own. */
static bool hand_back_list(struct gradient *gradient, const struct mdf_code_call *call)
{
    mdf_operand all = gradient_track(gradient, call->outputs[0])->gradient;

    for (size_t i = 0; i < call->n_inputs; i++) {
        mdf_operand number, part;

        if (!gradient_track(gradient, call->inputs[i])->is_active) {
            continue;
        }
        number = unit_add_int(gradient->target, (int64_t)i);
        part = number == MDF_NO_OPERAND ? number : unit_call_two(gradient->target, "gradient.item", all, number, MDF_NO_OPERAND);
        if (part == MDF_NO_OPERAND || !gradient_add(gradient, call->inputs[i], part)) {
            return false;
        }
    }
    return true;
}

/* The call that makes the list in input 0, in the same run; NULL: none does. */
static const struct mdf_code_call *find_list(struct gradient *gradient, const struct mdf_code_call *call)
{
    for (size_t i = gradient->first_instruction; i < gradient->n_instructions; i++) {
        const struct mdf_instruction *instruction = unit_instruction(gradient->unit, i);
        const struct mdf_code_call *made = instruction->opcode == MDF_OPCODE_CALL ? gradient_call(gradient, instruction) : NULL;

        if (made != NULL && made->operator->form == MDF_FORM_LIST &&
                                made->outputs[0] == call->inputs[0] && gradient_track(gradient, made->outputs[0])
                                    ->n_writers == 1) {
            return made;
        }
    }
    return NULL;
}

/* A call of a list is one of its items. */
static bool hand_back_to_items(struct gradient *gradient, const struct mdf_code_call *call, const struct mdf_code_call *list)
{
    const struct mdf_operator *row = call->operator->of_items;
    size_t n_items = list->n_inputs, n = n_items + row->move->n_behind;
    mdf_operand *inputs = mdf_arena_array(&gradient->compiler->scratch, n, sizeof *inputs);
    struct mdf_code_call spread = *call;

    if (inputs == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        size_t from = i < n_items ? 0 : i - n_items + 1;

        inputs[i] = i < n_items ? list->inputs[i] : from < call->n_inputs ? call->inputs[from] : MDF_NO_OPERAND;
    }
    spread.operator= row;
    spread.inputs = inputs;
    spread.n_inputs = n;
    for (size_t i = 0; i < n_items; i++) {
        if (gradient_track(gradient, inputs[i])->is_active && !hand_back_moved(gradient, &spread, i, false)) {
            return false;
        }
    }
    return true;
}

static bool hand_back_from(struct gradient *gradient, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call call = *gradient_call(gradient, instruction); /* the list of calls grows */
    const struct mdf_code_call *list = call.operator->of_items != NULL ? find_list(gradient, &call) : NULL;
    size_t n = call.n_inputs;

    if (call.operator->form == MDF_FORM_LIST) {
        return hand_back_list(gradient, &call);
    }
    if (list != NULL) {
        struct mdf_code_call kept = *list;

        return hand_back_to_items(gradient, &call, &kept);
    }

    if ((call.operator->flags & MDF_OPERATOR_CUSTOM) != 0 && ((const struct mdf_custom *)call.settings)->derivative != NULL) {
        return gradient_hand_back_custom(gradient, &call);
    }
    for (size_t i = 0; i < n; i++) {
        mdf_operand input = gradient_call(gradient, instruction)->inputs[i];

        if (input != MDF_NO_OPERAND && gradient_track(gradient, input)->is_active && !hand_back_to(gradient, instruction, i)) {
            return false;
        }
    }
    return gradient_call(gradient, instruction)->n_bodies == 0 || refuse(gradient, instruction, 0);
}

bool gradient_hand_back(struct gradient *gradient, size_t at)
{
    struct mdf_instruction instruction = *unit_instruction(gradient->unit, at);
    const struct mdf_code_call *call;
    bool any = false;

    if (instruction.opcode != MDF_OPCODE_CALL) {
        return !has_gradient(gradient, instruction.a) ||
               gradient_add(gradient, instruction.b, gradient_track(gradient, instruction.a)->gradient);
    }
    call = gradient_call(gradient, &instruction);
    for (size_t i = 0; i < call->n_outputs; i++) {
        any = any || has_gradient(gradient, call->outputs[i]);
    }
    if (any && gradient_can_go_through(call)) {
        return gradient_hand_back_control(gradient, at);
    }
    return !any || hand_back_from(gradient, &instruction);
}
