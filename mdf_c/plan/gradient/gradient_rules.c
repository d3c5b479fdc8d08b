/* gradient_rules.c - one step of reverse accumulation: what the gradient of an instruction's result hands back to its inputs.
 *
 * Comes in: an instruction whose outputs have gradients. Goes out: instructions that compute its rules
 * (functions/kernel/derivatives.h), and the operands that now hold the gradients of its inputs. */
#include "mdf_c/plan/gradient/gradient.h"

#include "functions/custom/custom.h"
#include "functions/kernel/move.h"
#include "functions/python/python.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ what a rule sees */

/* An attribute as the rules see it: a number, a text, a list; None. */
static bool value_of_setting(struct gradient *gradient, const struct mdf_setting *setting, const void *field,
                             struct mdf_value *value)
{
    struct mdf_memory *memory = gradient->compiler->memory;
    const struct mdf_ints *ints = field;
    const struct mdf_floats *floats = field;
    const char *text;
    int64_t n, *items;
    double *reals;

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
    case MDF_SETTING_FLOATS:
        if (floats->items == NULL) {
            return true;
        }
        n = (int64_t)floats->n;
        reals = mdf_value_make_tensor(memory, value, MDF_DTYPE_FLOAT64, 1, &n);
        if (reals != NULL && n > 0) {
            memcpy(reals, floats->items, floats->n * sizeof *reals);
        }
        return reals != NULL;
    case MDF_SETTING_STRINGS: /* none of these is an argument of a rule; texts are bound one by one */
    case MDF_SETTING_DTYPE:
    case MDF_SETTING_VALUE:
    case MDF_SETTING_GRAPH:
        break;
    }
    return true;
}

static bool bind_value(struct gradient *gradient, struct scope *scope, const char *name, bool is_made, struct mdf_value *value)
{
    mdf_operand operand = is_made ? unit_add_constant(gradient->target, value, 0) : compile_out_of_memory(gradient->compiler);

    return operand != MDF_NO_OPERAND && scope_bind(gradient->compiler, scope, name, operand);
}

/* Texts one by one: NAME0, NAME1, ...; None behind the last. */
static bool bind_texts(struct gradient *gradient, struct scope *scope, const struct mdf_setting *setting, const void *field,
                       const char *rule)
{
    const struct mdf_strings *texts = field;

    for (size_t i = 0; i < MDF_DERIVATIVE_INPUTS; i++) {
        const char *name = mdf_arena_printf(&gradient->compiler->scratch, "%s%zu", setting->name, i);
        const char *text = texts->items != NULL && i < texts->n ? texts->items[i] : NULL;
        struct mdf_value value = {0};

        if (name == NULL) {
            return compile_out_of_memory(gradient->compiler) != MDF_NO_OPERAND;
        }
        if (strstr(rule, name) != NULL &&
            !bind_value(gradient, scope, name,
                        text == NULL || mdf_value_make_string(gradient->compiler->memory, &value, text, strlen(text)), &value)) {
            return false;
        }
    }
    return true;
}

static bool bind_settings(struct gradient *gradient, struct scope *scope, const struct mdf_code_call *call, const char *rule)
{
    const struct mdf_setting *setting = call->settings != NULL ? call->operator->settings : NULL;

    for (; setting != NULL && setting->name != NULL; setting++) {
        const void *field = (const char *)call->settings + setting->offset;
        struct mdf_value value = {0};
        bool is_made;

        if (strstr(rule, setting->name) == NULL) {
            continue;
        }
        if (setting->type == MDF_SETTING_STRINGS) {
            if (!bind_texts(gradient, scope, setting, field, rule)) {
                return false;
            }
            continue;
        }
        is_made = value_of_setting(gradient, setting, field, &value);
        if (!bind_value(gradient, scope, setting->name, is_made, &value)) {
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
    all = unit_call_python(gradient->target, PYTHON_OUTPUTS, values, call->n_inputs);
    return all != MDF_NO_OPERAND && scope_bind(gradient->compiler, scope, "xs", all);
}

/* Those of some operands that are named "x0", "x1", ... */
static bool bind_numbered(struct gradient *gradient, struct scope *scope, char letter, const mdf_operand *operands, size_t n,
                          const char *rule)
{
    for (size_t i = 0; i < MDF_DERIVATIVE_INPUTS; i++) {
        const char *name = mdf_arena_printf(&gradient->compiler->scratch, "%c%zu", letter, i);

        if (name == NULL) {
            return compile_out_of_memory(gradient->compiler) != MDF_NO_OPERAND;
        }
        if (strstr(rule, name) != NULL && !bind_operand(gradient, scope, name, i < n ? operands[i] : MDF_NO_OPERAND)) {
            return false;
        }
    }
    return true;
}

bool gradient_bind_call(struct gradient *gradient, struct scope *scope, const struct mdf_code_call *call, const char *rule)
{
    mdf_operand count;

    if (!bind_numbered(gradient, scope, 'x', call->inputs, call->n_inputs, rule) ||
        !bind_numbered(gradient, scope, 'y', call->outputs, call->n_outputs, rule) ||
        (strstr(rule, "xs") != NULL && !bind_list(gradient, scope, call))) {
        return false;
    }
    if (strstr(rule, "count") != NULL) {
        count = unit_add_int(gradient->target, (int64_t)call->n_inputs);
        if (count == MDF_NO_OPERAND || !scope_bind(gradient->compiler, scope, "count", count)) {
            return false;
        }
    }
    return bind_operand(gradient, scope, "y", call->outputs[0]) && bind_settings(gradient, scope, call, rule);
}

mdf_operand gradient_compile_text(struct gradient *gradient, struct target *target, const struct mdf_code_call *call,
                                  const char *text)
{
    struct compiler *compiler = gradient->compiler;
    const struct mdf_code_call *outer_call = compiler->derived;
    bool outer = compiler->derives;
    mdf_operand result;

    compiler->derives = true;
    compiler->derived = call;
    result = compile_text(target, text);
    compiler->derives = outer;
    compiler->derived = outer_call;
    return result;
}

static mdf_operand follow_rule(struct gradient *gradient, const struct mdf_code_call *call, size_t input, const char *rule)
{
    struct scope scope = {.unit = gradient->unit};
    struct target target = {gradient->compiler, gradient->unit, &scope};

    if (!gradient_bind_call(gradient, &scope, call, rule) || !bind_operand(gradient, &scope, "x", call->inputs[input]) ||
        !scope_bind(gradient->compiler, &scope, "dy", gradient_track(gradient, call->outputs[0])->gradient)) {
        return MDF_NO_OPERAND;
    }
    return gradient_compile_text(gradient, &target, call, rule);
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
            operands[i] = unit_call_python(gradient->target, i == input ? numbers : PYTHON_NO_NUMBERS, &operands[i], 1);
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

    part = unit_call_two(gradient->target, PYTHON_SUM_TO, part, track->value);
    if (track->gradient != MDF_NO_OPERAND) {
        part = unit_call_two(gradient->target, PYTHON_ADD, track->gradient, part);
    }
    track->gradient = part;
    return part != MDF_NO_OPERAND;
}

mdf_operand gradient_zeros_like(struct gradient *gradient, mdf_operand operand)
{
    return unit_call_python(gradient->target, "numpy.zeros_like", &operand, 1);
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
    moved[0] = unit_call_two(gradient->target, "operator.sub", filled, moved[0]);
    return moved[0] != MDF_NO_OPERAND;
}

static bool hand_back_moved(struct gradient *gradient, const struct mdf_code_call *call, size_t input, bool fills)
{
    mdf_operand *moved = mdf_arena_array(&gradient->compiler->scratch, call->n_outputs, sizeof *moved);

    if (moved == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    if (!move_numbers(gradient, call, input, PYTHON_NUMBERS, moved) ||
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
        part = unit_call_python(gradient->target, PYTHON_SEND_BACK, three, 3);
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

    return gradient_refuse(gradient, instruction, "there is no derivative of %s%s%s by its input %zu",
                           schema != NULL ? mdf_schema_prefix(schema) : "", schema != NULL ? "::" : "", row->name, input + 1);
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
        part = number == MDF_NO_OPERAND ? number : unit_call_two(gradient->target, "gradient.item", all, number);
        if (part == MDF_NO_OPERAND || !gradient_add(gradient, call->inputs[i], part)) {
            return false;
        }
    }
    return true;
}

/* The call that makes the list in input 0, in the same run; NULL: none does. */
static const struct mdf_code_call *find_list(struct gradient *gradient, const struct mdf_code_call *call)
{
    const struct mdf_code_call *made =
        unit_find_list(gradient->unit, gradient->first_instruction, gradient->n_instructions, call->inputs[0]);

    return made != NULL && gradient_track(gradient, made->outputs[0])->n_writers == 1 ? made : NULL;
}

/* The one number that a call takes an item by; false: it is another subscript. */
static bool find_index(struct gradient *gradient, const struct mdf_code_call *call, int64_t *index)
{
    const struct mdf_subscript *subscript = call->settings;
    const struct mdf_value *value;

    if (call->n_inputs != 2 || subscript->n_parts != 1 || subscript->is_tuple ||
        subscript->parts[0].kind != MDF_SUBSCRIPT_INDEX || MDF_OPERAND_KIND(call->inputs[1]) != MDF_OPERAND_CONSTANT) {
        return false;
    }
    value = (const struct mdf_value *)gradient->unit->constants.items + MDF_OPERAND_INDEX(call->inputs[1]);
    if (value->kind != MDF_KIND_TENSOR || value->dtype != MDF_DTYPE_INT64 || value->rank != 0) {
        return false;
    }
    memcpy(index, value->data, sizeof *index);
    return true;
}

mdf_operand gradient_find_item(struct gradient *gradient, const struct mdf_code_call *call)
{
    const struct mdf_code_call *list = call->operator->form == MDF_FORM_LIST_ITEM ? find_list(gradient, call) : NULL;
    int64_t index = 0, n = list != NULL ? (int64_t)list->n_inputs : 0;

    if (list == NULL || !find_index(gradient, call, &index) || index < -n || index >= n) {
        return MDF_NO_OPERAND;
    }
    return list->inputs[index < 0 ? index + n : index];
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

/* The call that makes a list of parts of arrays in an operand, in the same run; NULL: none does. */
static const struct mdf_code_call *find_parts(struct gradient *gradient, mdf_operand operand)
{
    const struct track *track = gradient_track(gradient, operand);
    const struct mdf_instruction *writer = track->n_writers == 1 ? unit_instruction(gradient->unit, track->first_writer) : NULL;
    const struct mdf_code_call *call =
        writer != NULL && writer->opcode == MDF_OPCODE_CALL ? gradient_call(gradient, writer) : NULL;

    return call != NULL && call->operator->derivatives == mdf_derivatives_parts ? call : NULL;
}

/* A list of parts once more, of the numbers of the elements of an input. */
static mdf_operand number_parts(struct gradient *gradient, const struct mdf_code_call *parts, size_t input)
{
    bool alike = parts->operator->formals != NULL && parts->operator->formals[0] == '*'; /* all are arrays */
    mdf_operand *inputs = mdf_arena_array(&gradient->compiler->scratch, parts->n_inputs + 1, sizeof *inputs);

    if (inputs == NULL) {
        return compile_out_of_memory(gradient->compiler);
    }
    for (size_t i = 0; i < parts->n_inputs; i++) {
        inputs[i] = parts->inputs[i] != MDF_NO_OPERAND ? gradient_track(gradient, parts->inputs[i])->value : MDF_NO_OPERAND;
        if (inputs[i] != MDF_NO_OPERAND && (i == input || alike)) {
            inputs[i] = unit_call_python(gradient->target, i == input ? PYTHON_NUMBERS : PYTHON_NO_NUMBERS, &inputs[i], 1);
            if (inputs[i] == MDF_NO_OPERAND) {
                return MDF_NO_OPERAND;
            }
        }
    }
    return unit_call_row(gradient->target, parts->operator, parts->settings, inputs, parts->n_inputs);
}

/* What is taken of such a list by `call`, or, where that is the one that makes it, all of them as one array: each element goes
 * back to where it came from. */
static bool hand_back_parts(struct gradient *gradient, const struct mdf_code_call *call, const struct mdf_code_call *parts)
{
    mdf_operand *inputs = mdf_arena_array(&gradient->compiler->scratch, call->n_inputs + 1, sizeof *inputs);
    bool takes = call->outputs[0] != parts->outputs[0];

    if (inputs == NULL) {
        return compile_out_of_memory(gradient->compiler) != MDF_NO_OPERAND;
    }
    for (size_t i = 0; i < parts->n_inputs; i++) {
        mdf_operand input = parts->inputs[i], numbers, three[3];

        if (input == MDF_NO_OPERAND || !gradient_track(gradient, input)->is_active) {
            continue;
        }
        numbers = number_parts(gradient, parts, i);
        for (size_t k = 0; takes && k < call->n_inputs; k++) {
            inputs[k] = k == 0                               ? numbers
                        : call->inputs[k] != MDF_NO_OPERAND ? gradient_track(gradient, call->inputs[k])->value
                                                            : MDF_NO_OPERAND;
        }
        numbers = numbers == MDF_NO_OPERAND ? numbers
                  : takes ? unit_call_row(gradient->target, call->operator, call->settings, inputs, call->n_inputs)
                          : unit_call_python(gradient->target, "numpy.array", &numbers, 1);
        three[0] = gradient_track(gradient, call->outputs[0])->gradient;
        three[1] = numbers;
        three[2] = gradient_track(gradient, input)->value;
        numbers = numbers != MDF_NO_OPERAND ? unit_call_python(gradient->target, PYTHON_SEND_BACK, three, 3) : MDF_NO_OPERAND;
        if (numbers == MDF_NO_OPERAND || !gradient_add(gradient, input, numbers)) {
            return false;
        }
    }
    return true;
}

/* The list of parts that a call takes something of, or makes; NULL: it does not. */
static const struct mdf_code_call *find_parts_of(struct gradient *gradient, const struct mdf_code_call *call)
{
    bool takes = call->operator->form == MDF_FORM_LIST_ITEM || call->operator->of_items != NULL;

    return call->operator->derivatives == mdf_derivatives_parts ? call
           : takes                                              ? find_parts(gradient, call->inputs[0])
                                                                : NULL;
}

/* Whether a call has bodies that its meaning does not run. */
static bool has_bodies(const struct mdf_code_call *call)
{
    size_t i = (call->operator->flags & MDF_OPERATOR_MODIFIES) != 0 ? call->n_bodies : 0;

    while (i < call->n_bodies && call->bodies[i] == UINT32_MAX) {
        i++;
    }
    return i < call->n_bodies;
}

static bool hand_back_from(struct gradient *gradient, const struct mdf_instruction *instruction)
{
    const struct mdf_code_call call = *gradient_call(gradient, instruction); /* the list of calls grows */
    const struct mdf_code_call *list = call.operator->of_items != NULL ? find_list(gradient, &call) : NULL;
    const struct mdf_code_call *parts = find_parts_of(gradient, &call);
    mdf_operand item = gradient_find_item(gradient, &call);
    size_t n = call.n_inputs;

    if (item != MDF_NO_OPERAND) {
        return !gradient_track(gradient, item)->is_active ||
               gradient_add(gradient, item, gradient_track(gradient, call.outputs[0])->gradient);
    }
    if (call.operator->form == MDF_FORM_LIST) {
        return hand_back_list(gradient, &call);
    }
    if (parts != NULL) {
        struct mdf_code_call kept = *parts;

        return hand_back_parts(gradient, &call, &kept);
    }
    if (list != NULL) {
        struct mdf_code_call kept = *list;

        return hand_back_to_items(gradient, &call, &kept);
    }

    if (call.operator->meaning != NULL && call.operator->meaning->steps != NULL && !has_bodies(&call)) {
        return gradient_hand_back_meaning(gradient, &call);
    }
    if (mdf_custom_of(call.operator, call.settings) != NULL && mdf_custom_of(call.operator, call.settings)->derivative != NULL) {
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
