/* state_inputs.c - what fills the input ports of a graph: values from outside, the node around it, edges, defaults. See
 * state_inputs.h. */
#include "mdf_c/run/state_inputs.h"

#include "mdf_c/run/restart.h"
#include "mdf_c/run/declared_shape.h"

#include <stdio.h>
#include <string.h>

/* Zeros for a port that nothing fills are made on demand, up to this size: a hostile shape must not take all memory. */
#define LARGEST_DEFAULT_BYTES ((size_t)1 << 30)

/* Whether the name alone says which port it is. */
static bool is_name_alone(const struct mdf_program *program, const struct mdf_program_port *port)
{
    for (size_t i = 0; i < program->n_ports; i++) {
        if (&program->ports[i] != port && strcmp(program->ports[i].id, port->id) == 0) {
            return false;
        }
    }
    return true;
}

/* Adds which inputs there are that no edge feeds, where they are few. */
static void list_inputs(const struct mdf_program *program, mdf_error *error)
{
    const char *before = "; inputs are: ";

    for (size_t i = 0; program->n_ports <= 24 && i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];

        if (port->is_required || port->is_open || port->default_value != MDF_NO_OPERAND) {
            bool needs_node = port->input_name == NULL && port->node != SIZE_MAX && !is_name_alone(program, port);

            mdf_error_append(error, "%s%s%s%s", before, needs_node ? program->nodes[port->node].id : "", needs_node ? "." : "",
                             port->input_name != NULL ? port->input_name : port->id);
            before = ", ";
        }
    }
}

/* An input port that an edge feeds, and that is no input of the graph. */
static bool is_fed(const struct mdf_program *program, const char *name)
{
    for (size_t node = 0; node < program->n_nodes; node++) {
        const struct mdf_program_parts *ports = &program->nodes[node].parts[MDF_PART_INPUT];
        const char *id = program->nodes[node].id;
        const char *port = strncmp(name, id, strlen(id)) == 0 && name[strlen(id)] == '.' ? name + strlen(id) + 1 : name;

        for (size_t i = 0; i < ports->n; i++) {
            if (strcmp(ports->items[i].id, port) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* "A.gain" for "A.gian": the port of a node, where both are named. */
static bool suggest_port_of_node(const struct mdf_program *program, const char *name, mdf_error *error)
{
    const char *guess = NULL;
    char text[256];

    for (size_t i = 0; guess == NULL && i < program->n_ports; i++) {
        const char *node = program->ports[i].node == SIZE_MAX ? "" : program->nodes[program->ports[i].node].id;
        size_t length = strlen(node);
        struct mdf_nearest nearest;

        if (length > 0 && strncmp(name, node, length) == 0 && name[length] == '.') {
            mdf_nearest_begin(&nearest, name + length + 1);
            mdf_nearest_offer(&nearest, program->ports[i].id);
            guess = mdf_nearest_result(&nearest);
            snprintf(text, sizeof text, "%s.%s", node, program->ports[i].id);
        }
    }
    if (guess != NULL) {
        mdf_error_set(error, MDF_NAME, "no input port is called '%s'", name);
        mdf_error_suggest(error, text);
    }
    return guess != NULL;
}

mdf_status mdf_port_unknown(const struct mdf_program *program, const char *name, mdf_error *error)
{
    struct mdf_nearest nearest;
    const char *guess;

    if (mdf_program_has_parameter(program, name)) {
        return mdf_error_set(error, MDF_NAME,
                             "'%s' is a parameter, no input port: another value of it is set before (--set, parameters=...)",
                             name);
    }
    if (is_fed(program, name)) {
        return mdf_error_set(error, MDF_NAME, "input port '%s' is fed by an edge, and takes no value from outside", name);
    }
    if (suggest_port_of_node(program, name, error)) {
        return MDF_NAME;
    }
    mdf_nearest_begin(&nearest, name);
    for (size_t i = 0; i < program->n_ports; i++) {
        mdf_nearest_offer(&nearest, program->ports[i].input_name != NULL ? program->ports[i].input_name : program->ports[i].id);
    }
    guess = mdf_nearest_result(&nearest);
    for (size_t i = 0; guess == NULL && i < program->n_nodes; i++) {
        for (size_t j = 0; j < program->nodes[i].parts[MDF_PART_PARAMETER].n; j++) {
            mdf_nearest_offer(&nearest, program->nodes[i].parts[MDF_PART_PARAMETER].items[j].id);
        }
    }
    if (guess == NULL && mdf_nearest_result(&nearest) != NULL) {
        return mdf_error_set(error, MDF_NAME,
                             "no input port is called '%s'; there is a parameter '%s', another value of which is set before "
                             "(--set, parameters=...)",
                             name, mdf_nearest_result(&nearest));
    }
    mdf_error_set(error, MDF_NAME, "no input port is called '%s'", name);
    if (guess != NULL) {
        mdf_error_suggest(error, guess);
    } else {
        list_inputs(program, error);
    }
    return MDF_NAME;
}

/* Without a type of their own, reals are float32 where the program's are. */
static bool is_narrowed(const struct mdf_state *state, const struct mdf_value *value)
{
    return state->program->real == MDF_DTYPE_FLOAT32 && value->kind == MDF_KIND_TENSOR && value->dtype == MDF_DTYPE_FLOAT64 &&
           value->strength != MDF_STRENGTH_TYPED;
}

bool mdf_state_set_port(struct mdf_state *state, size_t port, const struct mdf_value *value)
{
    struct mdf_value *input = &state->ports[port].input, single = {0};

    state->ports[port].has_input = true;
    if (!mdf_value_copy_apart(&state->shared->memory, input, value)) {
        return false;
    }
    if (is_narrowed(state, input)) {
        if (!mdf_value_convert(&state->shared->memory, &single, input, MDF_DTYPE_FLOAT32)) {
            return false;
        }
        mdf_value_swap(&single, input);
        mdf_value_clear(&state->shared->memory, &single);
    }
    return true;
}

/* Elements that may be looked at where they are: in line with their type, of a shape that needs no memory. */
static bool can_be_lent(const struct mdf_state *state, const struct mdf_value *value)
{
    return value->kind == MDF_KIND_TENSOR && value->dtype != MDF_DTYPE_STRING && value->rank <= MDF_INLINE_RANK &&
           value->length > 1 && (uintptr_t)value->data % mdf_dtype_size((mdf_dtype)value->dtype) == 0 &&
           !is_narrowed(state, value);
}

static bool lend_port(struct mdf_state *state, size_t port, const struct mdf_value *value)
{
    if (!can_be_lent(state, value)) {
        return mdf_state_set_port(state, port, value);
    }
    mdf_value_borrow_tensor(&state->shared->memory, &state->ports[port].input, (mdf_dtype)value->dtype,
                            (enum mdf_strength)value->strength, value->rank, mdf_value_shape(value), value->data);
    state->ports[port].has_input = true;
    return true;
}

mdf_status mdf_state_set_named(struct mdf_state *state, const struct mdf_named_port *named, const struct mdf_value *value,
                               enum mdf_input_way way, mdf_error *error)
{
    for (; named != NULL; named = mdf_program_next_named(state->program, named)) {
        if (way == MDF_INPUT_LENT ? !lend_port(state, named->port, value) : !mdf_state_set_port(state, named->port, value)) {
            return mdf_memory_error(&state->shared->memory, error);
        }
    }
    return MDF_OK;
}

mdf_status mdf_state_set_input(struct mdf_state *state, const char *name, const struct mdf_value *value, enum mdf_input_way way,
                               mdf_error *error)
{
    const struct mdf_named_port *named = mdf_program_ports_named(state->program, name);

    return named != NULL ? mdf_state_set_named(state, named, value, way, error) : mdf_port_unknown(state->program, name, error);
}

static bool port_error(struct mdf_state *state, const struct mdf_program_port *port)
{
    mdf_error *error = &state->shared->execution.context.error;

    mdf_error_at(error, port->origin.file, port->origin.line, port->origin.column);
    if (port->origin.path != NULL) {
        mdf_error_in(error, "%s", port->origin.path);
    }
    return false;
}

/* Puts a value into a port: the first since the node ran last, or reduced with what is there. */
bool mdf_state_arrive(struct mdf_state *state, size_t index, const struct mdf_value *value)
{
    const struct mdf_program_port *port = &state->program->ports[index];

    state->ports[index].has_default = false;
    if (state->ports[index].has_value && port->reduce != MDF_REDUCE_OVERWRITE) {
        return (mdf_declare_value(&state->shared->execution.context, mdf_frame_slot(state->frame, port->arriving), value, &port->declaration.type,
                                  false) ||
                port_error(state, port)) &&
               mdf_frame_run(state->frame, port->combine.first, port->combine.end);
    }
    state->ports[index].has_value = true;
    return mdf_declare_value(&state->shared->execution.context, mdf_frame_slot(state->frame, port->slot), value, &port->declaration.type,
                             false) ||
           port_error(state, port);
}

/* numpy.full(shape, 0.0) */
static bool fill_with_zeros(struct mdf_state *state, const struct mdf_program_port *port)
{
    const struct mdf_declaration *declaration = &port->declaration;
    mdf_dtype dtype = declaration->type.dtype != MDF_DTYPE_NONE && mdf_dtype_kind(declaration->type.dtype) != 's'
                          ? declaration->type.dtype
                          : state->program->real;
    struct mdf_value *slot = mdf_frame_slot(state->frame, port->slot);
    size_t n, n_bytes;
    void *elements;

    if (!mdf_shape_n_elements(declaration->rank, declaration->shape, &n) ||
        !mdf_size_multiply(n, mdf_dtype_size(dtype), &n_bytes) || n_bytes > LARGEST_DEFAULT_BYTES) {
        mdf_error_set(
            &state->shared->execution.context.error, MDF_SHAPE,
            "the port has no value, and its declared shape can not be filled with zeros (an open axis, or too many elements)");
        return port_error(state, port);
    }
    elements = mdf_value_make_tensor(&state->shared->memory, slot, dtype, declaration->rank, declaration->shape);
    if (elements == NULL) {
        return mdf_state_out_of_memory(state);
    }
    memset(elements, 0, n_bytes);
    slot->strength = (uint8_t)(declaration->type.exact ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL);
    return true;
}

bool mdf_input_has_stand_in(const struct mdf_program_port *port)
{
    const struct mdf_declaration *declaration = &port->declaration;
    bool is_numeric = declaration->type.dtype != MDF_DTYPE_NONE && mdf_dtype_kind(declaration->type.dtype) != 's';
    size_t n;

    return is_numeric && declaration->has_shape && !declaration->type.sequence &&
           mdf_shape_n_elements(declaration->rank, declaration->shape, &n);
}

/* A declared input must be given; an optional one is empty where it is not. */
static bool accept_absence(struct mdf_state *state, const struct mdf_program_port *port)
{
    if (port->declaration.type.optional) {
        mdf_value_clear(&state->shared->memory, mdf_frame_slot(state->frame, port->slot));
        return true;
    }
    if (state->shared->zeros_stand_in && mdf_input_has_stand_in(port)) {
        return fill_with_zeros(state, port);
    }
    mdf_error_set(&state->shared->execution.context.error, MDF_VALUE,
                  "the graph's input '%s' has no value; give it one (mdf-run --input %s=VALUE), or its port a default_value",
                  port->input_name, port->input_name);
    return port_error(state, port);
}

/* Puts an input into its port without a copy: what was lent is looked at where it is, what is not given again changes places. */
static bool put_without_copy(struct mdf_state *state, const struct mdf_program_port *port, struct mdf_state_port *filled)
{
    struct mdf_value *slot = mdf_frame_slot(state->frame, port->slot), lent = filled->input;

    if (filled->has_value || (lent.buffer != NULL && filled->repeats)) {
        return false;
    }
    if (lent.buffer != NULL) {
        return mdf_declare_swap(slot, &filled->input, &port->declaration.type);
    }
    if (!mdf_declare_swap(slot, &lent, &port->declaration.type)) {
        return false;
    }
    mdf_value_clear(&state->shared->memory, &lent);
    return true;
}

/* Says what is given, where code asks. */
static bool note_inputs(struct mdf_state *state)
{
    const mdf_operand *is_given = state->program->is_given;

    for (size_t i = 0; is_given != NULL && i < state->program->n_ports; i++) {
        if (is_given[i] != MDF_NO_OPERAND &&
            !mdf_value_make_bool(&state->shared->memory, mdf_frame_slot(state->frame, is_given[i]), state->ports[i].has_input)) {
            return mdf_state_out_of_memory(state);
        }
    }
    return true;
}

bool mdf_state_take_inputs(struct mdf_state *state)
{
    if (!note_inputs(state)) {
        return false;
    }
    for (size_t i = 0; i < state->program->n_ports; i++) {
        const struct mdf_program_port *port = &state->program->ports[i];
        struct mdf_state_port *filled = &state->ports[i];

        if (port->holds) {
            filled->has_value = !filled->has_input && !mdf_program_leaves_default(state->program, port);
            if (filled->has_value && !(port->is_required ? accept_absence(state, port) : mdf_state_fill_default(state, i))) {
                return false;
            }
        }
        if (filled->has_input && port->is_closed) {
            mdf_error_set(&state->shared->execution.context.error, MDF_UNSUPPORTED,
                          "there are no derivatives with a value given to the port, which several runs of a graph within the node "
                          "would not read alike: declare it as an input of the graph, or change its default_value");
            return port_error(state, port);
        }
        if (filled->has_input) {
            filled->has_input = false;
            if (!mdf_declared_shape_holds(state, &port->declaration, &port->origin, &filled->input)) {
                return false;
            }
            if (put_without_copy(state, port, filled)) {
                filled->has_value = true;
                filled->has_default = false;
            } else if (!mdf_state_arrive(state, i, &filled->input)) {
                return false;
            }
        }
    }
    return true;
}

/* The same for a graph within a node: an input of the node from outside is one of its graph; what edges have brought, or must be
 * given, is there in each run of the inner node. */
bool mdf_state_take_from_node(struct mdf_state *state, const struct mdf_state *outer)
{
    for (size_t i = 0; i < state->program->n_ports; i++) {
        const struct mdf_program_port *port = &state->program->ports[i];
        const struct mdf_state_port *source = port->outer_port != SIZE_MAX ? &outer->ports[port->outer_port] : NULL;
        bool is_there = source != NULL && (source->was_given || source->was_fed);

        if (source == NULL) {
            continue;
        }
        state->ports[i].is_linked =
            !port->is_required && is_there && (source->was_fed || outer->program->ports[port->outer_port].holds);
        if (port->is_required) {
            state->ports[i].has_value = !is_there;
            if (!is_there && !accept_absence(state, port)) {
                return false;
            }
        }
        if (is_there && !state->ports[i].is_linked && !mdf_state_arrive(state, i, mdf_frame_value(state->frame, port->source))) {
            return false;
        }
    }
    return true;
}

static bool fill_with_default(struct mdf_state *state, const struct mdf_program_port *port)
{
    return mdf_declare_value(&state->shared->execution.context, mdf_frame_slot(state->frame, port->slot),
                             mdf_frame_value(state->frame, port->default_value), &port->declaration.type, false) ||
           port_error(state, port);
}

bool mdf_state_fill_default(struct mdf_state *state, size_t index)
{
    const struct mdf_program_port *port = &state->program->ports[index];
    bool done = state->ports[index].has_default ||
                (port->default_value == MDF_NO_OPERAND ? fill_with_zeros(state, port) : fill_with_default(state, port));

    state->ports[index].has_default = done;
    return done;
}

bool mdf_state_try_default(struct mdf_state *state, size_t index)
{
    bool done = mdf_state_fill_default(state, index);

    if (!done) {
        state->shared->execution.context.error = (mdf_error){0};
    }
    return done;
}
