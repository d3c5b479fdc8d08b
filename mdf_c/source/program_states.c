/* program_states.c - what of the state others may look at and set: tunable parameters, and the values that have time derivatives,
 * with the right-hand side of their differential equation.
 *
 * A step with a time increment of 0 leaves such values as they are, and computes all else from them: what their derivatives are
 * then is the right-hand side. It is one only where nothing else lasts from one evaluation to the next. */
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

static const struct mdf_program_integral *integral_of(const struct mdf_program *program, size_t slot)
{
    size_t i;

    for (i = 0; i < program->n_integrals; i++) {
        if (program->integrals[i].slot == MDF_OPERAND(MDF_OPERAND_SLOT, slot)) {
            return &program->integrals[i];
        }
    }
    return NULL;
}

static const struct mdf_lowered *later_run(const struct mdf_source_program *program, size_t node)
{
    const struct mdf_program_node *of = &program->graph->program->nodes[node];
    struct mdf_lowering_range ranges[2];
    size_t n = mdf_source_node_ranges(of, false, ranges);

    return mdf_source_find_stretch(program, ranges, n, mdf_source_depends_on_dt(program->graph->program, of));
}

static bool is_slot(const struct mdf_source_program *program, const struct mdf_value *value)
{
    return value >= program->graph->values && value < program->graph->values + program->graph->program->code->n_slots;
}

static void note_outputs(const struct mdf_source_program *program, const struct mdf_lowered *lowered, bool *is_written)
{
    size_t i;

    for (i = 0; lowered != NULL && i < lowered->n_outputs; i++) {
        if (is_slot(program, lowered->outputs[i].slot)) {
            is_written[lowered->outputs[i].slot - program->graph->values] = true;
        }
    }
}

/* Nothing that a node reads may be what it, or one after it, has made in the evaluation before, but for integrals. `is_written`:
 * slots that nodes before it make in this evaluation; `is_made`: those that any does. */
static bool check_node(struct mdf_source_program *program, size_t node, const bool *is_written, const bool *is_made)
{
    const struct mdf_lowered *lowered = later_run(program, node);
    size_t i;

    for (i = 0; lowered != NULL && i < lowered->n_inputs; i++) {
        const struct mdf_value *source = lowered->values[lowered->inputs[i]].source;
        size_t slot = (size_t)(source - program->graph->values);

        if (is_slot(program, source) && is_made[slot] && !is_written[slot] &&
            integral_of(program->graph->program, slot) == NULL) {
            return refuse(program, "'%s' keeps a value from one evaluation to the next",
                          program->graph->hints[slot] != NULL ? program->graph->hints[slot]
                                                              : program->graph->program->nodes[node].id);
        }
    }
    return true;
}

/* The set that a node runs in. */
static size_t layer_of(const struct mdf_program *program, size_t node)
{
    size_t i, j;

    for (i = 0; i < program->n_layers; i++) {
        for (j = 0; j < program->layers[i].n_nodes; j++) {
            if (program->layers[i].nodes[j] == node) {
                return i;
            }
        }
    }
    return program->n_layers;
}

static bool check_edges(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    size_t i;

    for (i = 0; i < own->n_edges; i++) {
        const struct mdf_program_port *port = &own->ports[own->edges[i].port];

        if (port->node == SIZE_MAX || layer_of(own, own->edges[i].sender) >= layer_of(own, port->node)) {
            mdf_source_at(&program->writer, mdf_source_text(&program->writer, "input port '%s'", port->id), &port->origin);
            return refuse(program, "node '%s' brings what it computed in the evaluation before",
                          own->nodes[own->edges[i].sender].id);
        }
    }
    return true;
}

static bool check_nodes(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    bool *is_made = mdf_arena_array(&program->writer.arena, own->code->n_slots + 1, sizeof *is_made);
    bool *is_written = mdf_arena_array(&program->writer.arena, own->code->n_slots + 1, sizeof *is_written);
    size_t i, j;

    if (is_made == NULL || is_written == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    for (i = 0; i < own->n_nodes; i++) {
        note_outputs(program, later_run(program, i), is_made);
    }
    for (i = 0; i < own->n_layers; i++) {
        for (j = 0; j < own->layers[i].n_nodes; j++) {
            size_t node = own->layers[i].nodes[j];

            mdf_source_at(&program->writer, mdf_source_text(&program->writer, "node '%s'", own->nodes[node].id), NULL);
            if (own->nodes[node].finished != MDF_NO_OPERAND) {
                return refuse(program, "the node runs until it is finished");
            }
            if (!check_node(program, node, is_written, is_made)) {
                return false;
            }
            note_outputs(program, later_run(program, node), is_written);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ integrals */

static bool check_integral(struct mdf_source_program *program, const struct mdf_program_integral *integral)
{
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, integral->slot),
                                 *derivative = mdf_source_find_operand(program, integral->derivative);

    mdf_source_at(&program->writer, mdf_source_text(&program->writer, "parameter '%s'", integral->id), &integral->origin);
    if (slot == NULL || mdf_dtype_kind(slot->dtype) != 'f') {
        return refuse(program, "its values are no reals");
    }
    if (derivative == NULL || (derivative->length != 1 && derivative->length != slot->length)) {
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
    size_t i;

    mdf_source_at(&program->writer, mdf_source_text(&program->writer, "condition '%s'", event->id), &event->origin);
    if (test == NULL) {
        return refuse(program, "its test is no array");
    }
    for (i = 0; i < program->graph->program->n_integrals; i++) {
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, program->graph->program->integrals[i].slot);

        if (is_of(event, &program->graph->program->integrals[i]) && test->length != 1 && test->length != slot->length) {
            return refuse(program, "its test has another shape than the parameter");
        }
    }
    return true;
}

bool mdf_source_check_derivatives(struct mdf_source_program *program)
{
    size_t i;

    mdf_source_at(&program->writer, "the graph", NULL);
    if (program->graph->program->schedule != NULL) {
        return refuse(program, "conditions decide which nodes run");
    }
    if (program->n_graphs > 1) {
        return refuse(program, "a node has a graph of its own");
    }
    if (mdf_code_find_draw(program->graph->program->code) != NULL) {
        return refuse(program, "it draws random numbers");
    }
    if (program->graph->program->solver.n_states > 0) {
        return refuse(program, "a method solves them within a step: take the method euler");
    }
    for (i = 0; i < program->graph->program->n_integrals; i++) {
        if (!check_integral(program, &program->graph->program->integrals[i])) {
            return false;
        }
    }
    for (i = 0; i < program->graph->program->n_events; i++) {
        if (!check_event(program, &program->graph->program->events[i])) {
            return false;
        }
    }
    return check_edges(program) && check_nodes(program);
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
    size_t i;

    for (i = 0; i < program->graph->program->n_events; i++) {
        const struct mdf_program_event *event = &program->graph->program->events[i];

        if (is_of(event, integral)) {
            tests = mdf_source_text(&program->writer, "%s%s%s != 0", tests, tests[0] != '\0' ? " || " : "",
                                    element_of(program, mdf_source_find_operand(program, event->test)));
        }
    }
    return tests[0] != '\0' ? mdf_source_text(&program->writer, "%s ? 0 : ", tests) : "";
}

enum copied { GET_STATES, SET_STATES, GET_DERIVATIVES };

static void append_copies(struct mdf_source_program *program, enum copied what)
{
    size_t first = 0, i;

    for (i = 0; i < program->graph->program->n_integrals; i++) {
        const struct mdf_program_integral *integral = &program->graph->program->integrals[i];
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, integral->slot);
        const char *state = number_of(program, "states", first, slot->length);

        if (what == GET_STATES) {
            append_copy(program, slot->length, state, element_of(program, slot));
        } else if (what == SET_STATES) {
            append_copy(program, slot->length, element_of(program, slot),
                        mdf_source_text(&program->writer, "(%s)%s", mdf_source_type(slot->dtype), state));
        } else {
            append_copy(program, slot->length, number_of(program, "derivatives", first, slot->length),
                        mdf_source_text(&program->writer, "%s(double)%s", held_by(program, integral),
                                        element_of(program, mdf_source_find_operand(program, integral->derivative))));
        }
        first += slot->length;
    }
}

static void append_indicators(struct mdf_source_program *program)
{
    size_t first = 0, i;

    mdf_text_printf(&program->functions, "void %s_indicators(const struct %s *s, double *indicators)\n{\n%s", program->name,
                    program->name, program->graph->program->n_events == 0 ? "    (void)s;\n    (void)indicators;\n" : "");
    for (i = 0; i < program->graph->program->n_events; i++) {
        const struct mdf_source_slot *test = mdf_source_find_operand(program, program->graph->program->events[i].test);

        append_copy(program, test->length, number_of(program, "indicators", first, test->length),
                    mdf_source_text(&program->writer, "%s != 0 ? 1 : -1", element_of(program, test)));
        first += test->length;
    }
    mdf_text_append_string(&program->functions, "}\n\n");
}

/* The functions of a model that has a right-hand side. */
static void append_state_functions(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;
    const char *name = program->name,
               *unused = program->graph->program->n_integrals == 0 ? "    (void)s;\n    (void)states;\n" : "";

    mdf_text_printf(text, "void %s_get_states(const struct %s *s, double *states)\n{\n%s", name, name, unused);
    append_copies(program, GET_STATES);
    mdf_text_printf(text, "}\n\nvoid %s_set_states(struct %s *s, const double *states)\n{\n%s", name, name, unused);
    append_copies(program, SET_STATES);
    mdf_text_printf(text,
                    "}\n\nint %s_derivatives(struct %s *s, const double *states, double *derivatives)\n{\n"
                    "    %s_set_states(s, states);\n    if (%s_step(s, 0.0) != 0) {\n        return 1;\n    }\n"
                    "    %s_set_states(s, states);\n%s",
                    name, name, name, name, name, unused[0] != '\0' ? "    (void)derivatives;\n" : "");
    append_copies(program, GET_DERIVATIVES);
    mdf_text_append_string(text, "    return 0;\n}\n\n");
    append_indicators(program);
}

static void append_parameter_function(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;
    size_t i;

    mdf_text_printf(text, "void *%s_parameter(struct %s *s, int parameter)\n{\n    switch (parameter) {\n", program->name,
                    program->name);
    for (i = 0; i < program->graph->program->n_parameters; i++) {
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
}

/* ------------------------------------------------------------------ declarations */

static const char *of_node(struct mdf_source_program *program, const char *node)
{
    return node != NULL ? mdf_source_text(&program->writer, " of node '%s'", mdf_source_comment(&program->writer, node)) : "";
}

static void append_parameter_numbers(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    size_t i;

    mdf_text_printf(text, "/* Tunable parameters: for %s_parameter. */\nenum {\n", program->name);
    for (i = 0; i < own->n_parameters; i++) {
        mdf_text_printf(text, "    %s = %zu, /* parameter '%s'%s */\n",
                        mdf_source_enum_name(program, "parameter", own->parameters[i].node, own->parameters[i].id), i,
                        mdf_source_comment(&program->writer, own->parameters[i].id), of_node(program, own->parameters[i].node));
    }
    mdf_text_printf(text, "    %s_n_parameters = %zu\n};\n\n", program->name, own->n_parameters);
}

static void append_state_numbers(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    size_t first = 0, i;

    mdf_text_append_string(text, "/* States, which have time derivatives: the first element of each among all. */\nenum {\n");
    for (i = 0; i < own->n_integrals; i++) {
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
    size_t first = 0, i;

    mdf_text_append_string(text, "/* Indicators of events: the first element of each condition of a parameter. */\nenum {\n");
    for (i = 0; i < own->n_events; i++) {
        const struct mdf_source_slot *test = mdf_source_find_operand(program, own->events[i].test);
        const char *node = own->nodes[own->events[i].node].id;

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
    if (program->has_derivatives) {
        mdf_text_printf(
            text,
            "/* All states, after a first step. */\nvoid %s_get_states(const struct %s *s, double *states);\n"
            "void %s_set_states(struct %s *s, const double *states);\n"
            "/* The right-hand side: sets the states, and computes from them, parameters and inputs the outputs and "
            "the time derivatives.\n * It takes as long as a step. There has to be a first step before (dt NAN), and "
            "inputs are set as for one. 0: done. */\n"
            "int %s_derivatives(struct %s *s, const double *states, double *derivatives);\n"
            "/* 1 where a condition of a parameter held then, and -1 where it did not. What it does to states, a step with a "
            "time\n * increment of 0 does. */\nvoid %s_indicators(const struct %s *s, double *indicators);\n",
            name, name, name, name, name, name, name, name);
    }
}
