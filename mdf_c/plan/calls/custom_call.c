/* custom_call.c - calls of functions that were registered (functions/custom/custom.h): as a node's function, in an expression,
 * and what they hand back to their inputs. */
#include "functions/custom/custom.h"
#include "mdf_c/plan/gradient/gradient.h"

#include <string.h>

/* The default of an argument, an expression without names. */
static mdf_operand compile_default(struct target *target, const struct mdf_custom *custom,
                                   const struct mdf_custom_value *argument)
{
    struct scope scope = {.unit = target->unit};
    struct target alone = {target->compiler, target->unit, &scope};

    if (argument->default_text == NULL) {
        return compile_error(target->compiler, MDF_MODEL, "function '%s' needs the argument '%s': give it in args",
                             custom->row.name, argument->name);
    }
    return compile_text(&alone, argument->default_text);
}

/* The call with an operand for each argument; those of outputs go to *outputs. */
static bool emit(struct target *target, const struct mdf_custom *custom, const mdf_operand *inputs, mdf_operand **outputs)
{
    struct mdf_arena *scratch = &target->compiler->scratch;
    struct mdf_static_type *given = mdf_arena_array(scratch, custom->n_arguments, sizeof *given),
                           *types = mdf_arena_array(scratch, custom->n_outputs, sizeof *types);
    struct mdf_code_call call = {.operator= & custom->row,
                                 .settings = custom,
                                 .inputs = inputs,
                                 .n_inputs = custom->n_arguments,
                                 .n_outputs = custom->n_outputs};

    *outputs = mdf_arena_array(scratch, custom->n_outputs, sizeof **outputs);
    if (given == NULL || types == NULL || *outputs == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    for (size_t i = 0; i < custom->n_arguments; i++) {
        given[i] = (struct mdf_static_type){.kind = MDF_STATIC_OMITTED};
        if (inputs[i] != MDF_NO_OPERAND) {
            given[i] = unit_type(target->unit, inputs[i]);
        }
    }
    for (size_t i = 0; i < custom->n_outputs; i++) {
        types[i] = mdf_static_unknown;
        (*outputs)[i] = unit_new_slot(target, 0);
        if ((*outputs)[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    call.outputs = *outputs;
    if (!mdf_custom_infer(custom, scratch, given, custom->n_arguments, types)) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    for (size_t i = 0; i < custom->n_outputs; i++) {
        unit_set_type(target->unit, (*outputs)[i], &types[i]);
    }
    return unit_emit_call(target, &call);
}

/* ------------------------------------------------------------------ as a node's function */

/* A list of numbers is an array to a kernel. */
static mdf_operand compile_as_input(struct target *target, mdf_operand operand)
{
    return operand != MDF_NO_OPERAND && (unit_flags(target->unit, operand) & OPERAND_MAY_BE_LIST) != 0
               ? compile_as_array(target, operand)
               : operand;
}

/* What is given in args, else a name of the node that is called so, else the default. */
static mdf_operand compile_argument(struct target *target, const struct mdf_definition *definition,
                                    const struct mdf_custom *custom, const struct mdf_custom_value *argument)
{
    const struct mdf_node *given = find_argument(definition, argument->name);
    struct outcome outcome;
    struct place place;
    mdf_operand operand;

    if (given == NULL) {
        return strcmp(argument->name, definition->id) != 0 && scope_find_in_node(target, argument->name, &outcome)
                   ? scope_as_operand(target, &outcome)
                   : compile_default(target, custom, argument);
    }
    place = place_enter(target->compiler, "argument", argument->name, given);
    operand = compile_value(target, given);
    if (operand != MDF_NO_OPERAND) {
        place_leave(target->compiler, place);
    }
    return operand;
}

bool compile_custom_call(struct target *target, const struct mdf_definition *definition, const struct mdf_custom *custom,
                         struct outcome *outcome)
{
    mdf_operand *inputs = mdf_arena_array(&target->compiler->scratch, custom->n_arguments, sizeof *inputs), *outputs;
    struct list known = {0};

    if (inputs == NULL) {
        compile_out_of_memory(target->compiler);
        return false;
    }
    for (size_t i = 0; i < custom->n_arguments; i++) {
        inputs[i] = compile_as_input(target, compile_argument(target, definition, custom, &custom->arguments[i]));
        if (inputs[i] == MDF_NO_OPERAND ||
            !list_add(target->compiler, &known, &custom->arguments[i].name, sizeof custom->arguments[i].name)) {
            return false;
        }
    }
    warn_unknown_arguments(target->compiler, definition, &known);
    if (!emit(target, custom, inputs, &outputs)) {
        return false;
    }
    *outcome = (struct outcome){outputs, custom->n_outputs, custom->n_outputs > 1};
    return true;
}

bool collect_custom_names(struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_custom *custom,
                          struct list *names)
{
    for (size_t i = 0; i < custom->n_arguments; i++) {
        const char *name = custom->arguments[i].name;

        if (find_argument(definition, name) == NULL && strcmp(name, definition->id) != 0 && !names_contain(names, name) &&
            !list_add(compiler, names, &name, sizeof name)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ in an expression */

mdf_operand compile_custom_expression(struct target *target, const struct mdf_custom *custom, const mdf_operand *given, size_t n)
{
    mdf_operand *inputs = mdf_arena_array(&target->compiler->scratch, custom->n_arguments, sizeof *inputs), *outputs;

    if (inputs == NULL) {
        return compile_out_of_memory(target->compiler);
    }
    for (size_t i = 0; i < custom->n_arguments; i++) {
        bool is_given = i < n && given[i] != MDF_NO_OPERAND;

        inputs[i] = compile_as_input(target, is_given ? given[i] : compile_default(target, custom, &custom->arguments[i]));
        if (inputs[i] == MDF_NO_OPERAND) {
            return MDF_NO_OPERAND;
        }
    }
    if (!emit(target, custom, inputs, &outputs)) {
        return MDF_NO_OPERAND;
    }
    return custom->n_outputs == 1 ? outputs[0] : unit_call_python(target, PYTHON_OUTPUTS, outputs, custom->n_outputs);
}

/* ------------------------------------------------------------------ gradients */

bool gradient_hand_back_custom(struct gradient *gradient, const struct mdf_code_call *call)
{
    const struct mdf_custom *custom = ((const struct mdf_custom *)call->settings)->derivative;
    mdf_operand *inputs = mdf_arena_array(&gradient->compiler->scratch, custom->n_arguments, sizeof *inputs), *outputs;

    if (inputs == NULL) {
        compile_out_of_memory(gradient->compiler);
        return false;
    }
    for (size_t i = 0; i < custom->n_arguments; i++) {
        bool is_own = i < custom->n_own;
        mdf_operand operand = is_own ? call->inputs[i] : call->outputs[i - custom->n_own];

        inputs[i] = operand == MDF_NO_OPERAND ? MDF_NO_OPERAND
                    : is_own                  ? gradient_track(gradient, operand)->value
                                              : gradient_or_zeros(gradient, operand);
        if (!is_own && inputs[i] == MDF_NO_OPERAND) {
            return false;
        }
    }
    if (!emit(gradient->target, custom, inputs, &outputs)) {
        return false;
    }
    for (size_t i = 0; i < custom->n_outputs; i++) {
        if (call->inputs[i] != MDF_NO_OPERAND && gradient_track(gradient, call->inputs[i])->is_active &&
            !gradient_add(gradient, call->inputs[i], outputs[i])) {
            return false;
        }
    }
    return true;
}
