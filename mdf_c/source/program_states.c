/* program_states.c - what of the state others may look at and set: tunable parameters, and the values that have time derivatives,
 * with the right-hand side of their differential equations: functions around code that the program has for that
 * (mdf_c/plan/solve/right_side_entry.c). */
#include "mdf_c/source/program_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ whether there is a right-hand side */

static bool refuse(struct mdf_source_program *program, const char *format, ...) MDF_PRINTF_LIKE(2, 3);

/* Sets the error, with the place in the file and in the model; returns false. */
static bool refuse(struct mdf_source_program *program, const char *format, ...)
{
    const struct mdf_source_writer *writer = &program->writer;
    bool has_path = writer->origin != NULL && writer->origin->path != NULL; /* which is said before the message */
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    mdf_error_set(writer->error, MDF_UNSUPPORTED,
                  "%s%sthe model has no right-hand side, whose values are those of inputs, parameters "
                  "and what has a time_derivative: %s",
                  has_path ? "" : writer->place, has_path ? "" : ": ", text);
    if (has_path) {
        mdf_error_at(writer->error, writer->origin->file, writer->origin->line, writer->origin->column);
        mdf_error_in(writer->error, "%s", writer->origin->path);
    }
    return false;
}

/* ------------------------------------------------------------------ integrals */

static const struct mdf_program_state *state_of(const struct mdf_source_program *program,
                                                const struct mdf_program_integral *integral)
{
    const struct mdf_program_right_side *side = &program->graph->program->right_side;
    size_t i;

    for (i = 0; i < side->n_states && side->states[i].slot != integral->slot; i++) {
    }
    return &side->states[i];
}

/* NULL: there is none. */
static const struct mdf_source_slot *result_of(struct mdf_source_program *program, const struct mdf_program_integral *integral,
                                               enum mdf_state_result result)
{
    return mdf_source_find_operand(program, state_of(program, integral)->results[result]);
}

static bool check_integral(struct mdf_source_program *program, const struct mdf_program_integral *integral)
{
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, integral->slot);

    mdf_source_at(&program->writer, mdf_source_text(&program->writer, "parameter '%s'", integral->id), &integral->origin);
    if (slot == NULL || mdf_dtype_kind(slot->dtype) != 'f' || !mdf_source_computes(slot->dtype)) {
        return refuse(program, "its values are no reals");
    }
    if (result_of(program, integral, MDF_STATE_SLOPE) == NULL ||
        result_of(program, integral, MDF_STATE_SLOPE)->length != slot->length) {
        return refuse(program, "its time_derivative has another shape than it");
    }
    return true;
}

static bool is_of(const struct mdf_program_event *event, const struct mdf_program_integral *integral)
{
    return event->node == integral->node && strcmp(event->parameter, integral->id) == 0;
}

/* A test is of the whole value, or of each element. */
static bool check_event(struct mdf_source_program *program, const struct mdf_program_event *event)
{
    const struct mdf_source_slot *test = mdf_source_find_operand(program, event->test);

    mdf_source_at(&program->writer, mdf_source_text(&program->writer, "condition '%s'", event->id), &event->origin);
    if (test == NULL) {
        return refuse(program, "its test is no array");
    }
    for (size_t i = 0; i < program->graph->program->n_integrals; i++) {
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, program->graph->program->integrals[i].slot);

        if (is_of(event, &program->graph->program->integrals[i]) && test->length != 1 && test->length != slot->length) {
            return refuse(program, "its test has another shape than the parameter");
        }
    }
    return true;
}

bool mdf_source_check_derivatives(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;

    mdf_source_at(&program->writer, "the graph", NULL);
    for (size_t i = 0; i < own->n_integrals; i++) {
        if (!check_integral(program, &own->integrals[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < own->n_events; i++) {
        if (!check_event(program, &own->events[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ functions */

/* The element of a place that a loop over i is at, or its only one. */
static const char *element_of(struct mdf_source_program *program, const struct mdf_source_slot *slot)
{
    return slot->length == 1 ? mdf_source_operand_element(program, slot, 0)
                             : mdf_source_text(&program->writer, "%s[i]", slot->name);
}

static const char *number_of(struct mdf_source_program *program, const char *array, size_t first, size_t length)
{
    return mdf_source_text(&program->writer, length == 1 ? "%s[%zu]" : "%s[%zu + i]", array, first);
}

static void append_copy(struct mdf_source_program *program, size_t length, const char *to, const char *from)
{
    if (length == 1) {
        mdf_text_printf(&program->functions, "    %s = %s;\n", to, from);
    } else {
        mdf_text_printf(&program->functions, "    for (size_t i = 0; i < %zu; i++) {\n        %s = %s;\n    }\n", length, to,
                        from);
    }
}

/* "test != 0 || other != 0 ? 0 : " where conditions hold a value, in place of its derivative; "" where there are none. */
static const char *held_by(struct mdf_source_program *program, const struct mdf_program_integral *integral)
{
    const char *tests = "";

    for (size_t i = 0; i < program->graph->program->n_events; i++) {
        const struct mdf_program_event *event = &program->graph->program->events[i];

        if (is_of(event, integral)) {
            tests = mdf_source_text(&program->writer, "%s%s%s != 0", tests, tests[0] != '\0' ? " || " : "",
                                    element_of(program, mdf_source_find_operand(program, event->test)));
        }
    }
    return tests[0] != '\0' ? mdf_source_text(&program->writer, "%s ? 0 : ", tests) : "";
}

enum copied { GET_STATES, SET_STATES, LOOK_AT_STATES, GET_DERIVATIVES, GET_CONDITIONED, GET_TANGENTS };

static void append_copy_of(struct mdf_source_program *program, const struct mdf_program_integral *integral, enum copied what,
                           size_t first)
{
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, integral->slot),
                                 *y = mdf_source_find_operand(program, state_of(program, integral)->y), *holds;
    const char *state = number_of(program, "states", first, slot->length),
               *derivative = number_of(program, "derivatives", first, slot->length);
    struct mdf_source_writer *writer = &program->writer;

    switch (what) {
    case GET_STATES:
        append_copy(program, slot->length, state, element_of(program, slot));
        break;
    case SET_STATES:
        append_copy(program, slot->length, element_of(program, slot),
                    mdf_source_text(writer, "(%s)%s", mdf_source_type(slot->dtype), state));
        break;
    case LOOK_AT_STATES:
        if (y != NULL) {
            append_copy(program, slot->length, element_of(program, y),
                        mdf_source_text(writer, "(%s)%s", mdf_source_type(y->dtype), state));
        }
        break;
    case GET_CONDITIONED:
        holds = result_of(program, integral, MDF_STATE_HOLDS);
        if (holds != NULL) {
            append_copy(program, slot->length, state,
                        mdf_source_text(writer, "%s != 0 ? (double)%s : %s", element_of(program, holds),
                                        element_of(program, result_of(program, integral, MDF_STATE_CONDITIONED)), state));
        }
        break;
    case GET_DERIVATIVES:
    case GET_TANGENTS:
        append_copy(program, slot->length, derivative,
                    mdf_source_text(writer, "%s(double)%s", held_by(program, integral),
                                    element_of(program, result_of(program, integral,
                                                                  what == GET_DERIVATIVES ? MDF_STATE_SLOPE : MDF_STATE_TANGENT))));
        break;
    }
}

static void append_copies(struct mdf_source_program *program, enum copied what)
{
    const struct mdf_program *own = program->graph->program;
    size_t first = 0;

    for (size_t i = 0; i < own->n_integrals; i++) {
        append_copy_of(program, &own->integrals[i], what, first);
        first += mdf_source_find_operand(program, own->integrals[i].slot)->length;
    }
}

static void append_indicators(struct mdf_source_program *program)
{
    size_t first = 0;

    mdf_text_printf(&program->functions,
                    "void %s_indicators(const struct %s *s, double *indicators)\n{\n    (void)s;\n    (void)indicators;\n",
                    program->name, program->name);
    for (size_t i = 0; i < program->graph->program->n_events; i++) {
        const struct mdf_source_slot *test = mdf_source_find_operand(program, program->graph->program->events[i].test);

        if (test != NULL) {
            append_copy(program, test->length, number_of(program, "indicators", first, test->length),
                        mdf_source_text(&program->writer, "%s != 0 ? 1 : -1", element_of(program, test)));
            first += test->length;
        }
    }
    mdf_text_append_string(&program->functions, "}\n\n");
}

/* ------------------------------------------------------------------ code of the right-hand side */

/* What was set, and default values, as for a step; behind it nothing is there that the next step has not been given. */
static bool write_inputs(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;

    mdf_source_line(&program->writer, "const char *message;");
    mdf_source_blank(&program->writer);
    mdf_source_checked_call(program, "take_inputs");
    for (size_t i = 0; i < own->n_ports; i++) {
        if (!own->ports[i].is_fed) {
            if (!mdf_source_write_default(program, i)) {
                return false;
            }
            mdf_source_line(&program->writer, "s->has_value[%zu] = %s;", i, own->ports[i].holds ? "true" : "false");
        }
    }
    return true;
}

static bool write_part(struct mdf_source_program *program, const char *name, struct mdf_range range, const char *comment)
{
    bool takes_inputs = range.first == program->graph->program->right_side.evaluate.first;

    mdf_source_at(&program->writer, "the right-hand side", NULL);
    mdf_source_begin_function(program, name);
    if ((takes_inputs && !write_inputs(program)) || !mdf_source_write_range(program, range)) {
        return false;
    }
    mdf_source_end_function(program, name, comment);
    return true;
}

bool mdf_source_write_right_side(struct mdf_source_program *program)
{
    const struct mdf_program_right_side *side = &program->graph->program->right_side;

    return write_part(program, "look", side->evaluate, "The right-hand side, and what is looked at beside it.") &&
           (side->condition.first == side->condition.end ||
            write_part(program, "act", side->condition, "What conditions make of the states.")) &&
           (!program->has_tangents ||
            write_part(program, "go_along", side->differentiate, "How slopes and outputs change in a direction."));
}

/* "s->message = FUNCTION(s);" and so on. */
static void append_run(struct mdf_source_program *program, const char *function)
{
    mdf_text_printf(&program->functions, "    s->message = %s(s);\n    if (s->message != NULL) {\n        return 1;\n    }\n",
                    function);
}

/* ------------------------------------------------------------------ tangents */

static void append_case(struct mdf_source_program *program, size_t i, mdf_operand operand, const char *before, const char *behind)
{
    const struct mdf_source_slot *slot = operand != MDF_NO_OPERAND ? mdf_source_find_operand(program, operand) : NULL;

    if (slot != NULL && mdf_dtype_kind(slot->dtype) == 'f' && mdf_source_computes(slot->dtype)) {
        mdf_text_printf(&program->functions, "        case %zu:\n            %s%s%s\n", i, before,
                        slot->is_scalar ? slot->name : mdf_source_text(&program->writer, "%s[element]", slot->name), behind);
    }
}

static void append_clear(struct mdf_source_program *program, mdf_operand operand)
{
    const struct mdf_source_slot *slot = operand != MDF_NO_OPERAND ? mdf_source_find_operand(program, operand) : NULL;

    if (slot != NULL) {
        mdf_text_printf(&program->functions, "    memset(&%s, 0, sizeof %s);\n", slot->name, slot->name);
    }
}

static void append_clear_direction(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    const struct mdf_program_right_side *side = &own->right_side;

    mdf_text_printf(&program->functions, "void %s_clear_direction(struct %s *s)\n{\n    (void)s;\n", program->name, program->name);
    for (size_t i = 0; i < side->n_states; i++) {
        append_clear(program, side->states[i].direction);
    }
    for (size_t i = 0; i < own->n_ports; i++) {
        append_clear(program, side->by_port[i]);
    }
    for (size_t i = 0; i < own->n_parameters; i++) {
        append_clear(program, side->by_parameter[i]);
    }
    mdf_text_append_string(&program->functions, "}\n\n");
}

/* Elements of states are counted through all of them. */
static void append_state_cases(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    size_t first = 0;

    for (size_t i = 0; i < own->n_integrals; i++) {
        const struct mdf_program_state *state = state_of(program, &own->integrals[i]);
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, state->direction);
        size_t length = mdf_source_find_operand(program, own->integrals[i].slot)->length;

        mdf_text_printf(&program->functions, "        if (element < %zu) {\n", first + length);
        if (slot != NULL && length > 0) { /* else nothing changes with it */
            mdf_text_printf(&program->functions, "            %s = value;\n",
                            length == 1 ? mdf_source_operand_element(program, slot, 0)
                                        : mdf_source_text(&program->writer, "%s[element - %zu]", slot->name, first));
        }
        mdf_text_append_string(&program->functions, "            return;\n        }\n");
        first += length;
    }
}

static void append_set_direction(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;

    mdf_text_printf(text,
                    "void %s_set_direction(struct %s *s, int of, size_t index, size_t element, double value)\n{\n"
                    "    (void)s;\n    (void)index;\n    (void)element;\n    (void)value;\n"
                    "    if (of == %s_of_state) {\n",
                    program->name, program->name, program->name);
    append_state_cases(program);
    mdf_text_printf(text, "    } else if (of == %s_of_input) {\n        switch (index) {\n", program->name);
    for (size_t i = 0; i < own->n_ports; i++) {
        append_case(program, i, own->right_side.by_port[i], "", " = value;\n            break;");
    }
    mdf_text_printf(text, "        default:\n            break;\n        }\n    } else if (of == %s_of_parameter) {\n        switch (index) {\n",
                    program->name);
    for (size_t i = 0; i < own->n_parameters; i++) {
        append_case(program, i, own->right_side.by_parameter[i], "", " = value;\n            break;");
    }
    mdf_text_append_string(text, "        default:\n            break;\n        }\n    }\n}\n\n");
}

static void append_tangent_of_output(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;
    size_t n = 0;

    mdf_text_printf(text,
                    "double %s_tangent_of_output(const struct %s *s, size_t index, size_t element)\n{\n"
                    "    (void)s;\n    (void)element;\n    {\n        switch (index) {\n",
                    program->name, program->name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t k = 0; k < own->nodes[i].n_outputs; k++, n++) {
            append_case(program, n, own->right_side.of_output[n], "return (double)", ";");
        }
    }
    mdf_text_append_string(text, "        default:\n            return 0;\n        }\n    }\n}\n\n");
}

static void append_tangent_functions(struct mdf_source_program *program)
{
    const char *name = program->name;

    append_clear_direction(program);
    append_set_direction(program);
    append_tangent_of_output(program);
    mdf_text_printf(&program->functions, "int %s_tangents(struct %s *s, double *derivatives)\n{\n    (void)derivatives;\n", name,
                    name);
    append_run(program, "go_along");
    append_copies(program, GET_TANGENTS);
    mdf_text_append_string(&program->functions, "    return 0;\n}\n\n");
}

/* ------------------------------------------------------------------ the functions */

/* The functions of a model that has a right-hand side. */
static void append_state_functions(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;
    const struct mdf_program *own = program->graph->program;
    const char *name = program->name, *unused = own->n_integrals == 0 ? "    (void)s;\n    (void)states;\n" : "";

    mdf_text_printf(text, "void %s_get_states(const struct %s *s, double *states)\n{\n%s", name, name, unused);
    append_copies(program, GET_STATES);
    mdf_text_printf(text, "}\n\nvoid %s_set_states(struct %s *s, const double *states)\n{\n%s", name, name, unused);
    append_copies(program, SET_STATES);
    mdf_text_printf(text,
                    "}\n\nint %s_derivatives(struct %s *s, const double *states, double *derivatives)\n{\n"
                    "    (void)derivatives;\n    %s_set_states(s, states);\n",
                    name, name, name);
    append_copies(program, LOOK_AT_STATES);
    append_run(program, "look");
    append_copies(program, GET_DERIVATIVES);
    mdf_text_printf(text, "    return 0;\n}\n\nint %s_act(struct %s *s, double *states)\n{\n%s", name, name, unused);
    append_copies(program, LOOK_AT_STATES);
    if (own->right_side.condition.first < own->right_side.condition.end) {
        append_run(program, "act");
        append_copies(program, GET_CONDITIONED);
    }
    mdf_text_append_string(text, "    return 0;\n}\n\n");
    if (program->has_tangents) {
        append_tangent_functions(program);
    }
}

static void append_parameter_function(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;

    mdf_text_printf(text, "void *%s_parameter(struct %s *s, int parameter)\n{\n    switch (parameter) {\n", program->name,
                    program->name);
    for (size_t i = 0; i < program->graph->program->n_parameters; i++) {
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, program->graph->program->parameters[i].slot);

        if (slot != NULL) {
            mdf_text_printf(text, "    case %zu:\n        return %s%s;\n", i, slot->is_scalar ? "&" : "", slot->name);
        }
    }
    mdf_text_append_string(text, "    default:\n        return NULL;\n    }\n}\n\n");
}

void mdf_source_append_state_functions(struct mdf_source_program *program)
{
    if (program->graph->program->n_parameters > 0) {
        append_parameter_function(program);
    }
    if (program->has_derivatives) {
        append_state_functions(program);
    }
    if (program->has_indicators) {
        append_indicators(program);
    }
}

/* ------------------------------------------------------------------ declarations */

static const char *of_node(struct mdf_source_program *program, const char *node)
{
    return node != NULL ? mdf_source_text(&program->writer, " of node '%s'", mdf_source_comment(&program->writer, node)) : "";
}

static void append_parameter_numbers(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;

    mdf_text_printf(text, "/* Tunable parameters: for %s_parameter. */\nenum {\n", program->name);
    for (size_t i = 0; i < own->n_parameters; i++) {
        mdf_text_printf(text, "    %s = %zu, /* parameter '%s'%s */\n",
                        mdf_source_enum_name(program, "parameter", own->parameters[i].node, own->parameters[i].id), i,
                        mdf_source_comment(&program->writer, own->parameters[i].id), of_node(program, own->parameters[i].node));
    }
    mdf_text_printf(text, "    %s_n_parameters = %zu\n};\n\n", program->name, own->n_parameters);
}

static void append_state_numbers(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    size_t first = 0;

    mdf_text_append_string(text, "/* States, which have time derivatives: the first element of each among all. */\nenum {\n");
    for (size_t i = 0; i < own->n_integrals; i++) {
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, own->integrals[i].slot);
        const char *node = own->nodes[own->integrals[i].node].id;

        mdf_text_printf(text, "    %s = %zu, /* parameter '%s'%s: %zu */\n",
                        mdf_source_enum_name(program, "state", node, own->integrals[i].id), first,
                        mdf_source_comment(&program->writer, own->integrals[i].id), of_node(program, node), slot->length);
        first += slot->length;
    }
    mdf_text_printf(text, "    %s_n_states = %zu\n};\n\n", program->name, first);
}

static void append_event_numbers(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    size_t first = 0;

    mdf_text_append_string(text, "/* Indicators of events: the first element of each condition of a parameter. */\nenum {\n");
    for (size_t i = 0; i < own->n_events; i++) {
        const struct mdf_source_slot *test = mdf_source_find_operand(program, own->events[i].test);
        const char *node = own->nodes[own->events[i].node].id;

        if (test == NULL) {
            continue;
        }
        mdf_text_printf(
            text, "    %s = %zu, /* condition '%s' of parameter '%s'%s: %zu */\n",
            mdf_source_enum_name(program, "indicator", node,
                                 mdf_source_text(&program->writer, "%s_%s", own->events[i].parameter, own->events[i].id)),
            first, mdf_source_comment(&program->writer, own->events[i].id),
            mdf_source_comment(&program->writer, own->events[i].parameter), of_node(program, node), test->length);
        first += test->length;
    }
    mdf_text_printf(text, "    %s_n_indicators = %zu\n};\n\n", program->name, first);
}

void mdf_source_append_state_numbers(struct mdf_source_program *program, struct mdf_text *text)
{
    if (program->graph->program->n_parameters > 0) {
        append_parameter_numbers(program, text);
    }
    if (program->has_derivatives) {
        append_state_numbers(program, text);
    }
    if (program->has_indicators) {
        append_event_numbers(program, text);
    }
}

void mdf_source_append_state_prototypes(struct mdf_source_program *program, struct mdf_text *text)
{
    const char *name = program->name;

    if (program->graph->program->n_parameters > 0) {
        mdf_text_printf(text,
                        "/* The elements of a tunable parameter, which may be set between steps; NULL: there is none. */\n"
                        "void *%s_parameter(struct %s *s, int parameter);\n",
                        name, name);
    }
    if (program->has_indicators) {
        mdf_text_printf(text,
                        "/* 1 where a condition of a parameter held then, and -1 where it did not. */\n"
                        "void %s_indicators(const struct %s *s, double *indicators);\n",
                        name, name);
    }
    if (program->has_derivatives) {
        mdf_text_printf(
            text,
            "/* All states, after a first step. */\nvoid %s_get_states(const struct %s *s, double *states);\n"
            "void %s_set_states(struct %s *s, const double *states);\n"
            "/* The right-hand side: sets the states, and computes from them, parameters and inputs the outputs and "
            "the time derivatives.\n * There has to be a first step before (dt NAN), and inputs are set as for one. 0: done. */\n"
            "int %s_derivatives(struct %s *s, const double *states, double *derivatives);\n"
            "/* What conditions make of states, all by the same ones. 0: done. */\n"
            "int %s_act(struct %s *s, double *states);\n",
            name, name, name, name, name, name, name, name);
        if (program->has_tangents) {
            mdf_text_printf(
                text,
                "/* How derivatives and outputs change in a direction of states, inputs (by NAME_input_...) and parameters (by\n"
                " * NAME_parameter_...), at those of the last %s_derivatives. Elements of states are counted through all of "
                "them. */\n"
                "enum { %s_of_state, %s_of_input, %s_of_parameter };\n"
                "void %s_clear_direction(struct %s *s);\n"
                "void %s_set_direction(struct %s *s, int of, size_t index, size_t element, double value);\n"
                "/* Those of the derivatives; behind it, those of outputs can be looked at. 0: done. */\n"
                "int %s_tangents(struct %s *s, double *derivatives);\n"
                "double %s_tangent_of_output(const struct %s *s, size_t index, size_t element);\n",
                name, name, name, name, name, name, name, name, name, name, name, name);
        }
    }
}
