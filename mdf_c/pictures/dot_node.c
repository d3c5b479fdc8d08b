/* dot_node.c - the table in a node: ports, parameters, functions, conditions, a row each, as upstream lays them out. See
 * dot_label.h. */
#include "functions/standard/standard.h"
#include "mdf_c/pictures/dot_label.h"
#include "mdf_c/pictures/drawn_text.h"
#include "schemas/onnx_schema.h"

#include <string.h>

enum { MOST_ROWS = 30, MOST_ROWS_IN_FULL = 300 }; /* of a kind: ports, parameters, ... */

static void begin_table(struct mdf_dot_label *label)
{
    label->start = label->dot->length;
    mdf_text_append_string(label->dot, "<table border=\"0\" cellborder=\"0\">");
}

static void end_table(struct mdf_dot_label *label)
{
    mdf_text_append_string(label->dot, "\n        </table>");
}

static void begin_row(struct mdf_dot_label *label)
{
    mdf_text_append_string(label->dot, "\n        <tr><td>");
}

static void end_row(struct mdf_dot_label *label)
{
    mdf_text_append_string(label->dot, "</td></tr>");
}

static void add_title(struct mdf_dot_label *label, const char *title)
{
    begin_row(label);
    mdf_text_append_string(label->dot, "<b>");
    mdf_dot_name(label, NULL, title);
    mdf_text_append_string(label->dot, "</b>");
    end_row(label);
}

/* How many of `n` rows of a kind are shown. */
static size_t n_shown(const struct mdf_dot_label *label, size_t n)
{
    size_t most = label->detail == MDF_DETAIL_ALL ? MOST_ROWS_IN_FULL : MOST_ROWS;

    return n <= most ? n : most;
}

/* Says that rows were left out, where they were. */
static void add_remainder(struct mdf_dot_label *label, size_t n, const char *what)
{
    if (n > n_shown(label, n)) {
        begin_row(label);
        mdf_text_printf(label->dot, "<i>and %zu more %s</i>", n - n_shown(label, n), what);
        end_row(label);
    }
}

/* ------------------------------------------------------------------ ports */

/* " (shape: (3,), reduce: add, type: float)" */
static void add_declaration(struct mdf_dot_label *label, const struct mdf_declaration *declaration, const char *reduce)
{
    const char *separator = " (";

    if (declaration->has_shape && declaration->rank > 0) {
        mdf_text_printf(label->dot, "%sshape: ", separator);
        mdf_dot_shape(label->dot, declaration->rank, declaration->shape);
        separator = ", ";
    }
    if (reduce != NULL) {
        mdf_text_printf(label->dot, "%sreduce: %s", separator, reduce);
        separator = ", ";
    }
    if (declaration->type_text != NULL) {
        mdf_text_printf(label->dot, "%stype: ", separator);
        mdf_dot_name(label, NULL, declaration->type_text);
        separator = ", ";
    }
    mdf_text_append_string(label->dot, separator[0] == ',' ? ")" : "");
}

static void add_input_port(struct mdf_dot_label *label, const struct mdf_input_port *port)
{
    static const char *const reduce_names[] = {
        [MDF_REDUCE_OVERWRITE] = NULL, [MDF_REDUCE_ADD] = "add", [MDF_REDUCE_MULTIPLY] = "multiply"};

    begin_row(label);
    mdf_dot_name(label, MDF_DOT_COLOR_INPUT, port->id);
    if (port->default_value != NULL) {
        mdf_text_append_string(label->dot, " <i>default:</i> ");
        mdf_dot_value(label, port->default_value);
    }
    add_declaration(label, &port->declaration, reduce_names[port->reduce]);
    end_row(label);
}

static void add_output_port(struct mdf_dot_label *label, const struct mdf_output_port *port)
{
    struct mdf_declaration shape_only = port->declaration;

    begin_row(label);
    mdf_dot_name(label, MDF_DOT_COLOR_OUTPUT, port->id);
    if (port->value != NULL) {
        mdf_text_append_string(label->dot, " = ");
        mdf_dot_value(label, port->value);
    }
    if (label->detail != MDF_DETAIL_ALL) {
        shape_only.type_text = NULL;
    }
    add_declaration(label, &shape_only, NULL);
    end_row(label);
}

/* ------------------------------------------------------------------ functions */

static const struct mdf_schema *schema_of(const struct mdf_dot_label *label, const char *function)
{
    return strncmp(function, "onnx::", 6) == 0 ? mdf_schema_find("", function + 6, label->opset) : NULL;
}

/* Whether `formals`, names separated by blanks, have this one at place `index`. */
static bool has_formal(const char *formals, size_t index, const char *name)
{
    size_t length = strcspn(formals, " ");

    for (; index > 0 && formals[length] != '\0'; index--) {
        formals += length + 1;
        length = strcspn(formals, " ");
    }
    return index == 0 && strncmp(formals, name, length) == 0 && name[length] == '\0';
}

/* Whether an argument stands where the function has it. */
static bool is_in_place(const struct mdf_dot_label *label, const char *function, size_t index, const char *argument)
{
    const struct mdf_schema *schema = function != NULL ? schema_of(label, function) : NULL;
    const struct mdf_standard_function *standard = function != NULL ? mdf_standard_function(function) : NULL;

    if (schema != NULL) {
        return index < schema->n_inputs && strcmp(schema->inputs[index].name, argument) == 0;
    }
    return standard != NULL && has_formal(standard->formals, index, argument);
}

/* "(a, b, c=d)": as long as arguments stand in their place they need no names. */
static void add_arguments(struct mdf_dot_label *label, const struct mdf_definition *definition)
{
    size_t n = definition->args != NULL ? definition->args->as.object.n : 0, i;
    bool in_place = true;

    mdf_text_append(label->dot, "(", 1);
    for (i = 0; i < n_shown(label, n); i++) {
        const struct mdf_node_entry *entry = &definition->args->as.object.entries[i];

        mdf_text_append_string(label->dot, i == 0 ? "" : i % 6 == 0 ? ",<br/>" : ", ");
        in_place = in_place && is_in_place(label, definition->function, i, entry->key);
        if (!in_place) {
            mdf_dot_name(label, NULL, entry->key);
            mdf_text_append(label->dot, "=", 1);
        }
        mdf_dot_value(label, &entry->value);
    }
    mdf_text_append_string(label->dot, i < n ? ", " MDF_DRAWN_ELLIPSIS ")" : ")");
}

static void add_names(struct mdf_text *dot, const struct mdf_formal *formals, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        mdf_text_printf(dot, "%s%s", i > 0 ? ", " : "", formals[i].name);
    }
}

/* What the function is by definition: its expression, or the formals of the operator. */
static void add_definition(struct mdf_dot_label *label, const char *function)
{
    const struct mdf_schema *schema = schema_of(label, function);
    const struct mdf_standard_function *standard = mdf_standard_function(function);
    const char *formals;

    if (schema == NULL && standard == NULL) {
        return;
    }
    begin_row(label);
    mdf_text_printf(label->dot, "<i>%s(", function);
    if (schema != NULL) {
        add_names(label->dot, schema->inputs, schema->n_inputs);
        mdf_text_append_string(label->dot, ") -&gt; ");
        add_names(label->dot, schema->outputs, schema->n_outputs);
    } else {
        for (formals = standard->formals; formals[0] != '\0'; formals++) {
            mdf_text_append_string(label->dot, formals[0] == ' ' ? ", " : (const char[]){formals[0], '\0'});
        }
        mdf_text_append_string(label->dot, ") = ");
        mdf_dot_escape(label->dot, standard->expression, strlen(standard->expression));
    }
    mdf_text_append_string(label->dot, "</i>");
    end_row(label);
}

/* " = function(arguments)" */
static void add_call(struct mdf_dot_label *label, const struct mdf_definition *definition)
{
    mdf_text_append_string(label->dot, " = <i>");
    mdf_dot_name(label, NULL, definition->function);
    mdf_text_append_string(label->dot, "</i>");
    add_arguments(label, definition);
}

static void add_function(struct mdf_dot_label *label, const struct mdf_definition *function)
{
    begin_row(label);
    mdf_dot_name(label, MDF_DOT_COLOR_FUNCTION, function->id);
    if (function->function != NULL) {
        add_call(label, function);
    } else if (function->value != NULL) {
        mdf_text_append_string(label->dot, " = <i>");
        mdf_dot_value(label, function->value);
        mdf_text_append_string(label->dot, "</i> ");
        add_arguments(label, function);
    }
    end_row(label);
    if (function->function != NULL && label->detail == MDF_DETAIL_ALL) {
        add_definition(label, function->function);
    }
}

/* ------------------------------------------------------------------ parameters */

static void add_part(struct mdf_dot_label *label, const char *separator, const char *what, const struct mdf_node *value)
{
    if (value != NULL) {
        mdf_text_printf(label->dot, "%s<i>%s:</i> ", separator, what);
        mdf_dot_value(label, value);
    }
}

/* What a condition may lack: without a test it never holds, without a value it gives none. */
static void add_value_or(struct mdf_dot_label *label, const struct mdf_node *value, const char *absent)
{
    if (value != NULL) {
        mdf_dot_value(label, value);
    } else {
        mdf_text_append_string(label->dot, absent);
    }
}

static void add_parameter_conditions(struct mdf_dot_label *label, const struct mdf_parameter *parameter)
{
    for (size_t i = 0; i < n_shown(label, parameter->n_conditions); i++) {
        const struct mdf_parameter_condition *condition = &parameter->conditions[i];

        mdf_text_append_string(label->dot, "<br/><i>");
        mdf_dot_name(label, NULL, condition->id);
        mdf_text_append_string(label->dot, ": </i>IF ");
        add_value_or(label, condition->test, "<i>never</i>");
        mdf_text_append_string(label->dot, " THEN ");
        mdf_dot_name(label, MDF_DOT_COLOR_PARAMETER, parameter->definition.id);
        mdf_text_append_string(label->dot, " = ");
        add_value_or(label, condition->value, "<i>nothing</i>");
    }
}

static void add_parameter(struct mdf_dot_label *label, const struct mdf_parameter *parameter)
{
    const struct mdf_definition *definition = &parameter->definition;
    bool keeps_value = parameter->default_initial_value != NULL || parameter->time_derivative != NULL ||
                       (definition->value != NULL && mdf_dot_mentions(definition->value, definition->id));

    begin_row(label);
    mdf_text_append_string(label->dot, keeps_value ? "<b>" : "");
    mdf_dot_name(label, MDF_DOT_COLOR_PARAMETER, definition->id);
    mdf_text_append_string(label->dot, keeps_value ? "</b>" : "");
    if (definition->function != NULL) {
        add_call(label, definition);
    } else if (definition->value != NULL) {
        mdf_text_append_string(label->dot, " = ");
        mdf_dot_value(label, definition->value);
    }
    add_part(label, definition->function != NULL || definition->value != NULL ? ", " : " ", "def init value",
             parameter->default_initial_value);
    add_part(label, ", ", "d/dt", parameter->time_derivative);
    add_parameter_conditions(label, parameter);
    end_row(label);
    if (definition->function != NULL && label->detail == MDF_DETAIL_ALL) {
        add_definition(label, definition->function);
    }
}

/* ------------------------------------------------------------------ the rest of a node */

static void add_metadata(struct mdf_dot_label *label, const struct mdf_node *source)
{
    const struct mdf_node *metadata = mdf_node_get(source, "metadata");
    size_t n = metadata != NULL && metadata->kind == MDF_NODE_OBJECT ? metadata->as.object.n : 0;

    for (size_t i = 0; i < n_shown(label, n); i++) {
        begin_row(label);
        mdf_text_append_string(label->dot, "<i>");
        mdf_dot_name(label, NULL, metadata->as.object.entries[i].key);
        mdf_text_append_string(label->dot, " = ");
        mdf_dot_value(label, &metadata->as.object.entries[i].value);
        mdf_text_append_string(label->dot, "</i>");
        end_row(label);
    }
    add_remainder(label, n, "entries of metadata");
}

static void add_condition_row(struct mdf_dot_label *label, const char *name, const struct mdf_node *condition)
{
    begin_row(label);
    mdf_dot_name(label, MDF_DOT_COLOR_CONDITION, name);
    mdf_text_append_string(label->dot, " = ");
    mdf_dot_condition(label, condition);
    end_row(label);
}

/* A node has one condition, or several in a list. */
static void add_conditions(struct mdf_dot_label *label, const struct mdf_node *condition)
{
    if (condition->kind == MDF_NODE_LIST) {
        for (size_t i = 0; i < n_shown(label, condition->as.list.n); i++) {
            add_condition_row(label, "condition", &condition->as.list.items[i]);
        }
        add_remainder(label, condition->as.list.n, "conditions");
    } else if (condition->kind != MDF_NODE_NULL) {
        add_condition_row(label, "condition", condition);
    }
}

static void add_contents(struct mdf_dot_label *label, const struct mdf_graph_node *node, const struct mdf_node *condition)
{
    for (size_t i = 0; i < n_shown(label, node->n_input_ports); i++) {
        add_input_port(label, &node->input_ports[i]);
    }
    add_remainder(label, node->n_input_ports, "input ports");
    for (size_t i = 0; i < n_shown(label, node->n_parameters); i++) {
        add_parameter(label, &node->parameters[i]);
    }
    add_remainder(label, node->n_parameters, "parameters");
    for (size_t i = 0; i < n_shown(label, node->n_functions); i++) {
        add_function(label, &node->functions[i]);
    }
    add_remainder(label, node->n_functions, "functions");
    if (condition != NULL) {
        add_conditions(label, condition);
    }
    for (size_t i = 0; i < n_shown(label, node->n_output_ports); i++) {
        add_output_port(label, &node->output_ports[i]);
    }
    add_remainder(label, node->n_output_ports, "output ports");
}

void mdf_dot_node_table(struct mdf_dot_label *label, const struct mdf_graph_node *node, const struct mdf_node *condition)
{
    label->node = node;
    begin_table(label);
    add_title(label, node->id);
    if (label->detail == MDF_DETAIL_ALL) {
        add_metadata(label, node->source);
    }
    if (label->detail != MDF_DETAIL_NAMES) {
        add_contents(label, node, condition);
    }
    end_table(label);
    label->node = NULL;
}

/* ------------------------------------------------------------------ the graph as a whole */

void mdf_dot_termination_table(struct mdf_dot_label *label, const struct mdf_node *terminations)
{
    begin_table(label);
    add_title(label, "Termination");
    for (size_t i = 0; i < n_shown(label, terminations->as.object.n); i++) {
        add_condition_row(label, terminations->as.object.entries[i].key, &terminations->as.object.entries[i].value);
    }
    add_remainder(label, terminations->as.object.n, "conditions");
    end_table(label);
}

void mdf_dot_parameters_table(struct mdf_dot_label *label, const struct mdf_graph *graph)
{
    const struct mdf_node *parameters = graph->parameters;

    begin_table(label);
    add_title(label, "Parameters of the graph");
    for (size_t i = 0; i < n_shown(label, parameters->as.object.n); i++) {
        const struct mdf_node *value = mdf_node_get(&parameters->as.object.entries[i].value, "value");

        begin_row(label);
        mdf_dot_name(label, MDF_DOT_COLOR_PARAMETER, parameters->as.object.entries[i].key);
        mdf_text_append_string(label->dot, " = ");
        mdf_dot_value(label, value != NULL ? value : &parameters->as.object.entries[i].value);
        end_row(label);
    }
    add_remainder(label, parameters->as.object.n, "parameters");
    end_table(label);
}

void mdf_dot_edge_lines(struct mdf_dot_label *label, const struct mdf_edge *edge)
{
    const struct mdf_node *parameters = mdf_node_get(edge->source, "parameters");
    size_t n = parameters != NULL && parameters->kind == MDF_NODE_OBJECT ? parameters->as.object.n : 0;

    for (size_t i = 0; i < n_shown(label, n); i++) {
        mdf_text_append_string(label->dot, "<br/>");
        mdf_dot_name(label, NULL, parameters->as.object.entries[i].key);
        mdf_text_append_string(label->dot, ": <b>");
        mdf_dot_value(label, &parameters->as.object.entries[i].value);
        mdf_text_append_string(label->dot, "</b>");
    }
}
