/* fmu_variables.c - which variables a model has for FMI: its time, inputs, outputs, tunable parameters, and states with their
 * derivatives, each with its start value. See fmu.h. */
#include "mdf_c/cli/fmu/fmu.h"

#include "mdf_c/dialect/set_parameters.h"
#include "mdf_c/tensor/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ names */

static bool is_plain(const char *text)
{
    size_t length = mdf_identifier_length(text);

    return length > 0 && text[length] == '\0' && strcmp(text, "der") != 0;
}

/* A part of a structured name: as it is, or in quotes. What can not be written so is left, and *is_structured becomes false. */
static const char *name_part(struct mdf_arena *arena, const char *text, bool *is_structured)
{
    static const char others[] = "!#$%&()*+,-./:;<>=?@[]^{}|~ _";
    char *quoted = mdf_arena_array(arena, strlen(text) + 2, 2), *out = quoted;

    if (is_plain(text) || quoted == NULL) {
        return quoted != NULL ? text : NULL;
    }
    *out++ = '\'';
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '"' || *text == '\\') {
            *out++ = '\\';
        } else if (!mdf_is_letter(*text) && !mdf_is_digit(*text) && strchr(others, *text) == NULL) {
            *is_structured = false;
        }
        *out++ = *text;
    }
    *out++ = '\'';
    *out = '\0';
    return quoted;
}

/* The structured name of NODE.PART, as FMI writes it: 'a b'.c; NULL node: PART. */
static const char *name_of(struct mdf_arena *arena, const char *node, const char *part, bool *is_structured)
{
    const char *own = name_part(arena, part, is_structured), *of = node != NULL ? name_part(arena, node, is_structured) : NULL;

    if (own == NULL || (node != NULL && of == NULL)) {
        return NULL;
    }
    return node != NULL ? mdf_arena_printf(arena, "%s.%s", of, own) : own;
}

/* The name; where another variable has it, with what it is behind it, and a number if need be. NULL: memory was refused. */
static const char *unique(struct fmu *fmu, enum fmu_kind kind, const char *name)
{
    static const char *const words[] = {"", "_input", "_parameter", "_output", "_state", "", "", ""};
    const char *tried = name;
    size_t number = 0, *found;

    while (tried != NULL && name_table_find(&fmu->names, tried) != NULL) {
        tried = number == 0 ? mdf_arena_printf(&fmu->arena, "%s%s", name, words[kind])
                            : mdf_arena_printf(&fmu->arena, "%s%s_%zu", name, words[kind], number + 1);
        number++;
    }
    found = tried != NULL ? name_table_add(&fmu->names, &fmu->arena, tried) : NULL;
    if (found == NULL) {
        return NULL;
    }
    *found = fmu->n_variables + 1;
    return tried;
}

/* ------------------------------------------------------------------ the list */

/* A copy of elements, in a type. NULL: memory was refused. */
static const void *copy_elements(struct fmu *fmu, struct mdf_memory *memory, const struct mdf_value *value, mdf_dtype dtype)
{
    size_t size = value->length * mdf_dtype_size(dtype);
    char *copy = mdf_arena_allocate(&fmu->arena, size + 1);
    struct mdf_value converted = {0};

    if (copy == NULL || !mdf_value_convert(memory, &converted, value, dtype)) {
        return NULL;
    }
    memcpy(copy, converted.data, size);
    mdf_value_clear(memory, &converted);
    return copy;
}

/* Adds a variable of the form of a value. NULL: memory was refused. */
static struct fmu_variable *add(struct fmu *fmu, enum fmu_kind kind, size_t index, const char *name, const struct mdf_value *form)
{
    struct fmu_variable *variable;
    int64_t *shape;

    if (fmu->n_variables == fmu->capacity) {
        size_t capacity = 2 * fmu->capacity + 16;
        struct fmu_variable *variables = mdf_arena_array(&fmu->arena, capacity, sizeof *variables);

        if (variables == NULL) {
            return NULL;
        }
        if (fmu->n_variables > 0) {
            memcpy(variables, fmu->variables, fmu->n_variables * sizeof *variables);
        }
        fmu->variables = variables;
        fmu->capacity = capacity;
    }
    shape = mdf_arena_array(&fmu->arena, form->rank + 1, sizeof *shape);
    name = name != NULL ? unique(fmu, kind, name) : NULL;
    if (shape == NULL || name == NULL) {
        return NULL;
    }
    if (form->rank > 0) {
        memcpy(shape, mdf_value_shape(form), form->rank * sizeof *shape);
    }
    variable = &fmu->variables[fmu->n_variables++];
    *variable = (struct fmu_variable){.kind = kind,
                                      .name = name,
                                      .dtype = (mdf_dtype)form->dtype,
                                      .rank = form->rank,
                                      .shape = shape,
                                      .n_elements = form->length,
                                      .index = index};
    return variable;
}

/* What FMI has a type for, with elements. */
static bool has_form(const struct mdf_value *value)
{
    switch (value->kind == MDF_KIND_TENSOR && value->length > 0 ? (mdf_dtype)value->dtype : MDF_DTYPE_NONE) {
    case MDF_DTYPE_BOOL:
    case MDF_DTYPE_INT8:
    case MDF_DTYPE_INT16:
    case MDF_DTYPE_INT32:
    case MDF_DTYPE_INT64:
    case MDF_DTYPE_UINT8:
    case MDF_DTYPE_UINT16:
    case MDF_DTYPE_UINT32:
    case MDF_DTYPE_UINT64:
    case MDF_DTYPE_FLOAT32:
    case MDF_DTYPE_FLOAT64:
        return true;
    default:
        return false;
    }
}

/* Whether a start value can be told: an Integer of FMI 2 has 32 bits. */
static bool fits(const struct fmu *fmu, const struct fmu_variable *variable)
{
    for (size_t i = 0; fmu->version == 2 && mdf_dtype_kind(variable->dtype) != 'f' && i < variable->n_elements; i++) {
        double element =
            mdf_element_to_double(variable->dtype, (const char *)variable->start + i * mdf_dtype_size(variable->dtype));

        if (element < INT32_MIN || element > INT32_MAX) {
            return false;
        }
    }
    return true;
}

struct collecting {
    struct fmu *fmu;
    mdf_error *error; /* set where it is not memory that was refused */
    const char *file;
    const struct mdf_program *program;
    struct mdf_state *state;
    const struct mdf_graph *graph; /* NULL: not known */
};

static const struct mdf_graph_node *find_node(const struct collecting *collecting, const char *id)
{
    size_t i = collecting->graph != NULL && id != NULL ? mdf_model_find_node(collecting->graph, id) : SIZE_MAX;

    return collecting->graph != NULL && i < collecting->graph->n_nodes ? &collecting->graph->nodes[i] : NULL;
}

static const struct mdf_parameter *find_parameter(const struct collecting *collecting, const char *node, const char *id)
{
    return mdf_model_find_parameter(find_node(collecting, node), id);
}

/* The size that metadata of a part, `nominal`, say its values are of; 0: they do not. False: the error is set. */
static bool read_nominal(struct collecting *collecting, const struct mdf_node *source, double *nominal)
{
    const struct mdf_node *metadata = source != NULL && source->kind == MDF_NODE_OBJECT ? mdf_node_get(source, "metadata") : NULL,
                          *given =
                              metadata != NULL && metadata->kind == MDF_NODE_OBJECT ? mdf_node_get(metadata, "nominal") : NULL;

    *nominal = given == NULL                  ? 0
               : given->kind == MDF_NODE_INT  ? (double)given->as.integer
               : given->kind == MDF_NODE_REAL ? given->as.real
                                              : -1;
    if (given == NULL || (*nominal > 0 && isfinite(*nominal))) {
        return true;
    }
    mdf_error_set(collecting->error, MDF_VALUE, "nominal has to be a number larger than 0: the size that values are of");
    mdf_error_at(collecting->error, collecting->file, (int)given->line, (int)given->column);
    return false;
}

static bool add_time(struct collecting *collecting)
{
    static const struct mdf_value second = {.kind = MDF_KIND_TENSOR, .dtype = MDF_DTYPE_FLOAT64, .length = 1};
    struct fmu_variable *variable = add(collecting->fmu, FMU_TIME, 0, "time", &second);

    if (variable != NULL) {
        variable->unit = "s";
    }
    return variable != NULL;
}

/* What the random numbers begin from. */
static bool add_seed(struct collecting *collecting)
{
    static const struct mdf_value whole = {.kind = MDF_KIND_TENSOR, .dtype = MDF_DTYPE_UINT64, .length = 1};
    static const uint64_t start = 0;
    struct fmu_variable *variable;

    if (!collecting->fmu->draws) {
        return true;
    }
    variable = add(collecting->fmu, FMU_SEED, 0, "seed", &whole);
    if (variable != NULL) {
        variable->start = &start;
    }
    return variable != NULL;
}

/* ------------------------------------------------------------------ inputs */

/* What the port has where nothing is given, in its form: its default value, or zeros. */
static const void *input_start(struct collecting *collecting, const struct mdf_program_port *port, const struct mdf_value *form)
{
    const struct mdf_value *value =
        port->default_value != MDF_NO_OPERAND ? mdf_frame_value(collecting->state->frame, port->default_value) : form;

    if (value == form || value->kind != MDF_KIND_TENSOR || value->length != form->length || !has_form(value)) {
        return mdf_arena_allocate(&collecting->fmu->arena, form->length * mdf_dtype_size((mdf_dtype)form->dtype) + 1);
    }
    return copy_elements(collecting->fmu, &collecting->state->shared->memory, value, (mdf_dtype)form->dtype);
}

/* Where an input port stands in the model; NULL: it is an input of the graph. */
static const struct mdf_node *input_source(const struct collecting *collecting, const char *node, const char *id)
{
    const struct mdf_graph_node *of = find_node(collecting, node);
    size_t i = of != NULL ? mdf_model_find_input_port(of, id) : 0;

    return of != NULL && i < of->n_input_ports ? of->input_ports[i].source : NULL;
}

static bool add_inputs(struct collecting *collecting)
{
    const struct mdf_program *program = collecting->program;
    struct fmu *fmu = collecting->fmu;

    for (size_t i = 0; i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];
        const struct mdf_value *form = mdf_frame_value(collecting->state->frame, port->slot);
        const char *node = port->node == SIZE_MAX ? NULL : program->nodes[port->node].id;
        struct fmu_variable *variable;

        if (port->is_fed || !has_form(form)) {
            continue;
        }
        variable = add(fmu, FMU_INPUT, i, name_of(&fmu->arena, node, port->id, &fmu->is_structured), form);
        if (variable == NULL || (variable->start = input_start(collecting, port, form)) == NULL) {
            return false;
        }
        variable->unit = mdf_node_unit(input_source(collecting, node, port->id));
        if (!read_nominal(collecting, input_source(collecting, node, port->id), &variable->nominal)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ parameters and states */

/* Whether a parameter is a value at first only: its value is computed otherwise. */
static bool is_initial(const struct collecting *collecting, const struct mdf_program_parameter *parameter)
{
    const struct mdf_parameter *found = find_parameter(collecting, parameter->node, parameter->id);

    return found != NULL && !mdf_value_is_constant(found->definition.value) && found->default_initial_value != NULL;
}

/* The parameter of the program that an integral begins with; SIZE_MAX: none that has its form. */
static size_t initial_of(const struct mdf_program *program, struct mdf_state *state, const struct mdf_program_integral *integral)
{
    const struct mdf_value *form = mdf_frame_value(state->frame, integral->slot);

    for (size_t i = 0; i < program->n_parameters; i++) {
        const struct mdf_program_parameter *parameter = &program->parameters[i];
        const struct mdf_value *value = mdf_frame_value(state->frame, parameter->slot);

        if (parameter->node != NULL && strcmp(parameter->node, program->nodes[integral->node].id) == 0 &&
            strcmp(parameter->id, integral->id) == 0) {
            return value->kind == MDF_KIND_TENSOR && value->length == form->length &&
                           mdf_dtype_kind((mdf_dtype)value->dtype) == 'f'
                       ? i
                       : SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

/* Whether a state stands for the parameter, which is its initial value. */
static bool is_of_state(const struct collecting *collecting, size_t parameter)
{
    const struct mdf_program *program = collecting->program;

    for (size_t i = 0; collecting->fmu->has_derivatives && i < program->n_integrals; i++) {
        if (initial_of(program, collecting->state, &program->integrals[i]) == parameter) {
            return true;
        }
    }
    return false;
}

/* Where a parameter of a node, or of the graph, stands in the model; NULL: there is none. */
static const struct mdf_node *parameter_source(const struct collecting *collecting, const char *node, const char *id)
{
    const struct mdf_parameter *parameter = find_parameter(collecting, node, id);

    return parameter != NULL ? parameter->definition.source
           : node == NULL && collecting->graph != NULL && collecting->graph->parameters != NULL
               ? mdf_node_get(collecting->graph->parameters, id)
               : NULL;
}

static bool add_parameters(struct collecting *collecting)
{
    const struct mdf_program *program = collecting->program;
    struct fmu *fmu = collecting->fmu;

    for (size_t i = 0; i < program->n_parameters; i++) {
        const struct mdf_program_parameter *parameter = &program->parameters[i];
        const struct mdf_value *value = mdf_frame_value(collecting->state->frame, parameter->slot);
        struct fmu_variable *variable;

        if (!has_form(value) || is_of_state(collecting, i)) {
            continue;
        }
        variable = add(fmu, FMU_PARAMETER, i, name_of(&fmu->arena, parameter->node, parameter->id, &fmu->is_structured), value);
        if (variable == NULL) {
            return false;
        }
        variable->start = copy_elements(fmu, &collecting->state->shared->memory, value, (mdf_dtype)value->dtype);
        variable->is_tunable = !is_initial(collecting, parameter);
        variable->unit = mdf_node_unit(parameter_source(collecting, parameter->node, parameter->id));
        if (variable->start == NULL ||
            !read_nominal(collecting, parameter_source(collecting, parameter->node, parameter->id), &variable->nominal)) {
            return false;
        }
        if (!fits(fmu, variable)) {
            fmu->left_out = variable->name;
            fmu->n_variables--;
        }
    }
    return true;
}

/* A state is real numbers of 64 bits for FMI. */
static bool add_state(struct collecting *collecting, const struct mdf_program_integral *integral)
{
    const char *node = collecting->program->nodes[integral->node].id;
    struct mdf_memory *memory = &collecting->state->shared->memory;
    struct mdf_value form = *mdf_frame_value(collecting->state->frame, integral->slot);
    struct fmu *fmu = collecting->fmu;
    const char *name = name_of(&fmu->arena, node, integral->id, &fmu->is_structured);
    struct fmu_variable *variable;
    size_t initial = initial_of(collecting->program, collecting->state, integral);

    form.dtype = MDF_DTYPE_FLOAT64;
    variable = add(fmu, FMU_STATE, fmu->n_states, name, &form);
    if (variable == NULL) {
        return false;
    }
    variable->unit = mdf_node_unit(parameter_source(collecting, node, integral->id));
    if (!read_nominal(collecting, parameter_source(collecting, node, integral->id), &variable->nominal)) {
        return false;
    }
    variable->has_initial = initial != SIZE_MAX;
    if (variable->has_initial) {
        const struct mdf_value *value = mdf_frame_value(collecting->state->frame, collecting->program->parameters[initial].slot);

        variable->initial = initial;
        variable->initial_dtype = (mdf_dtype)value->dtype;
        variable->start = copy_elements(fmu, memory, value, MDF_DTYPE_FLOAT64);
        if (variable->start == NULL) {
            return false;
        }
    }
    name = variable->name;
    variable = add(fmu, FMU_DERIVATIVE, fmu->n_states, mdf_arena_printf(&fmu->arena, "der(%s)", name), &form);
    if (variable != NULL) {
        variable->of = fmu->n_variables - 2;
        fmu->n_states += form.length;
    }
    return variable != NULL;
}

/* Where something happens: FMI 3 has a variable for it, FMI 2 only counts. */
static bool add_indicator(struct collecting *collecting, const struct mdf_program_event *event)
{
    struct fmu *fmu = collecting->fmu;
    struct mdf_value form = *mdf_frame_value(collecting->state->frame, event->test);
    const char *part = mdf_arena_printf(&fmu->arena, "%s_%s_indicator", event->parameter, event->id);
    size_t first = fmu->n_indicators;

    fmu->n_indicators += form.length;
    for (size_t i = 0; i < collecting->program->n_integrals; i++) {
        const struct mdf_program_integral *integral = &collecting->program->integrals[i];

        if (integral->node == event->node && strcmp(integral->id, event->parameter) == 0) {
            memset(fmu->is_reset + first, true, form.length);
        }
    }
    form.dtype = MDF_DTYPE_FLOAT64;
    return part != NULL &&
           (fmu->version == 2 || form.length == 0 ||
            add(fmu, FMU_INDICATOR, first,
                name_of(&fmu->arena, collecting->program->nodes[event->node].id, part, &fmu->is_structured), &form) != NULL);
}

/* Marks elements of what the model has at a place of a list of such marks. */
static void mark(bool *marks, size_t first, size_t n, bool is_marked)
{
    for (size_t i = 0; i < n; i++) {
        marks[first + i] = is_marked;
    }
}

/* Which states an event of a node's metadata changes: those that the node has not in the file. */
static bool find_counted(struct collecting *collecting)
{
    const struct mdf_program *program = collecting->program;
    struct fmu *fmu = collecting->fmu;
    size_t first = 0;

    fmu->counted_by = mdf_arena_array(&fmu->arena, fmu->n_states + 1, sizeof *fmu->counted_by);
    for (size_t i = 0; fmu->counted_by != NULL && fmu->n_states > 0 && i < program->n_integrals; i++) {
        const struct mdf_program_integral *integral = &program->integrals[i];
        const struct mdf_graph_node *node = find_node(collecting, program->nodes[integral->node].id);
        size_t n = mdf_frame_value(collecting->state->frame, integral->slot)->length, indicator = 0;
        bool is_added = node != NULL && mdf_model_find_parameter(node, integral->id) == NULL;

        for (size_t k = 0; is_added && k < program->n_events; k++) {
            const struct mdf_program_event *event = &program->events[k];
            size_t n_tests = mdf_frame_value(collecting->state->frame, event->test)->length;

            for (size_t j = 0;
                 event->node == integral->node && strcmp(event->parameter, integral->id) == 0 && j < n && j < n_tests; j++) {
                fmu->counted_by[first + j] = indicator + j + 1;
            }
            indicator += n_tests;
        }
        first += n;
    }
    return fmu->counted_by != NULL;
}

/* Which states are clocks, and which conditions depend on these alone. */
static bool find_timed(struct collecting *collecting)
{
    const struct mdf_program *program = collecting->program;
    struct fmu *fmu = collecting->fmu;
    size_t first = 0;

    fmu->is_timed = mdf_arena_array(&fmu->arena, fmu->n_indicators + 1, sizeof *fmu->is_timed);
    fmu->is_clock = mdf_arena_array(&fmu->arena, fmu->n_states + 1, sizeof *fmu->is_clock);
    if (fmu->is_timed == NULL || fmu->is_clock == NULL) {
        return false;
    }
    for (size_t i = 0; fmu->n_states > 0 && i < program->n_integrals; i++) {
        const struct mdf_graph_node *node = find_node(collecting, program->nodes[program->integrals[i].node].id);
        size_t n = mdf_frame_value(collecting->state->frame, program->integrals[i].slot)->length;

        mark(fmu->is_clock, first, n, node != NULL && fmu_is_clock(node, program->integrals[i].id));
        first += n;
    }
    for (size_t i = first = 0; fmu->n_indicators > 0 && i < program->n_events; i++) {
        const struct mdf_program_event *event = &program->events[i];
        const struct mdf_graph_node *node = find_node(collecting, program->nodes[event->node].id);
        size_t n = mdf_frame_value(collecting->state->frame, event->test)->length;
        bool is_timed = node != NULL && fmu_is_timed(&fmu->arena, node, event->parameter, event->id);

        mark(fmu->is_timed, first, n, is_timed);
        fmu->has_timed = fmu->has_timed || is_timed;
        first += n;
    }
    return true;
}

static bool add_states(struct collecting *collecting)
{
    size_t n = 0;

    for (size_t i = 0; collecting->fmu->has_derivatives && i < collecting->program->n_integrals; i++) {
        if (!add_state(collecting, &collecting->program->integrals[i])) {
            return false;
        }
    }
    for (size_t i = 0; collecting->fmu->has_derivatives && i < collecting->program->n_events; i++) {
        n += mdf_frame_value(collecting->state->frame, collecting->program->events[i].test)->length;
    }
    collecting->fmu->is_reset = mdf_arena_array(&collecting->fmu->arena, n + 1, sizeof *collecting->fmu->is_reset);
    for (size_t i = 0; collecting->fmu->is_reset != NULL && collecting->fmu->has_derivatives && i < collecting->program->n_events;
         i++) {
        if (!add_indicator(collecting, &collecting->program->events[i])) {
            return false;
        }
    }
    return collecting->fmu->is_reset != NULL && find_timed(collecting) && find_counted(collecting);
}

/* ------------------------------------------------------------------ outputs */

/* The unit and the nominal value of an output port: its own, or those of the parameter whose value it is. */
static bool describe_output(struct collecting *collecting, const char *node, const char *id, struct fmu_variable *variable)
{
    const struct mdf_graph_node *of = find_node(collecting, node);
    size_t i = of != NULL ? mdf_model_find_output_port(of, id) : 0;
    const struct mdf_node *value = of != NULL && i < of->n_output_ports ? of->output_ports[i].value : NULL, *parameter;

    if (of == NULL || i >= of->n_output_ports) {
        return true;
    }
    parameter =
        value != NULL && value->kind == MDF_NODE_STRING ? parameter_source(collecting, node, value->as.string.bytes) : NULL;
    variable->unit = mdf_node_unit(of->output_ports[i].source);
    variable->unit = variable->unit != NULL ? variable->unit : mdf_node_unit(parameter);
    return read_nominal(collecting, of->output_ports[i].source, &variable->nominal) &&
           (variable->nominal > 0 || read_nominal(collecting, parameter, &variable->nominal));
}

/* Whether an output port counts an event of the node's metadata. */
static bool is_event(const struct collecting *collecting, const char *node, const char *id)
{
    const struct mdf_graph_node *of = find_node(collecting, node);
    const struct mdf_node *metadata = of != NULL ? mdf_node_get(of->source, "metadata") : NULL,
                          *events = metadata != NULL ? mdf_node_get(metadata, "events") : NULL;

    return events != NULL && mdf_node_get(events, id) != NULL;
}

static bool add_outputs(struct collecting *collecting)
{
    const struct mdf_program *program = collecting->program;
    struct fmu *fmu = collecting->fmu;
    size_t n = 0;

    for (size_t i = 0; i < program->n_nodes; i++) {
        for (size_t j = 0; j < program->nodes[i].n_outputs; j++, n++) {
            const struct mdf_program_output *output = &program->nodes[i].outputs[j];
            const struct mdf_value *value = mdf_frame_value(collecting->state->frame, output->operand);
            struct fmu_variable *variable;

            if (!collecting->state->has_run[i] || !has_form(value)) {
                continue;
            }
            variable =
                add(fmu, FMU_OUTPUT, n, name_of(&fmu->arena, program->nodes[i].id, output->id, &fmu->is_structured), value);
            if (variable == NULL) {
                return false;
            }
            if (!describe_output(collecting, program->nodes[i].id, output->id, variable)) {
                return false;
            }
            variable->is_count = value->dtype == MDF_DTYPE_FLOAT64 && is_event(collecting, program->nodes[i].id, output->id);
        }
    }
    return true;
}

/* ------------------------------------------------------------------ all */

/* In FMI 2 each element has a reference of its own, in FMI 3 a variable has one. */
static bool number(struct fmu *fmu)
{
    size_t next = 0;

    for (size_t i = 0; i < fmu->n_variables; i++) {
        size_t n = fmu->version == 2 ? fmu->variables[i].n_elements : 1;

        fmu->variables[i].reference = (unsigned)next;
        fmu->variables[i].n_references = (unsigned)n;
        next += n;
        if (next > INT32_MAX) {
            return false;
        }
    }
    return true;
}

bool fmu_prepare(struct mdf_state *state, mdf_error *error)
{
    const struct mdf_program *program = state->program;

    for (size_t i = 0; i < program->n_integrals; i++) {
        const struct mdf_program_integral *integral = &program->integrals[i];

        for (size_t j = 0; j < program->n_parameters; j++) {
            const struct mdf_program_parameter *parameter = &program->parameters[j];
            const struct mdf_value *value = &program->code->constants[MDF_OPERAND_INDEX(parameter->default_value)];
            struct mdf_value real = {0};
            char name[1024];
            bool done = true;

            if (parameter->node == NULL || strcmp(parameter->node, program->nodes[integral->node].id) != 0 ||
                strcmp(parameter->id, integral->id) != 0 || value->kind != MDF_KIND_TENSOR ||
                mdf_dtype_kind((mdf_dtype)value->dtype) == 'f' ||
                (size_t)snprintf(name, sizeof name, "%s.%s", parameter->node, parameter->id) >= sizeof name) {
                continue;
            }
            if (!mdf_value_convert(&state->shared->memory, &real, value, program->real)) {
                mdf_memory_error(&state->shared->memory, error);
                return false;
            }
            done = mdf_set_parameter(
                       state, name,
                       &(mdf_tensor){(mdf_dtype)real.dtype, real.rank, real.rank > 0 ? mdf_value_shape(&real) : NULL, real.data},
                       error) == MDF_OK;
            mdf_value_clear(&state->shared->memory, &real);
            if (!done) {
                return false;
            }
        }
    }
    return true;
}

/* Whether each input that has to be given has a variable: FMI has none for a sequence, a text or a number of 16 bits. */
static bool has_inputs(const struct collecting *collecting, mdf_error *error)
{
    const struct mdf_program *program = collecting->program;

    for (size_t i = 0; i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];
        const struct mdf_value *form = mdf_frame_value(collecting->state->frame, port->slot);

        if (!port->is_fed && port->default_value == MDF_NO_OPERAND && (form->kind == MDF_KIND_LIST || !has_form(form))) {
            mdf_error_set(error, MDF_UNSUPPORTED,
                          "input '%s' is %s%s, for which FMI has no variable: give its port a default_value", port->id,
                          form->kind != MDF_KIND_TENSOR ? ""
                          : form->length == 0           ? "an "
                                                        : "of type ",
                          form->kind == MDF_KIND_LIST     ? "a sequence"
                          : form->kind != MDF_KIND_TENSOR ? "no number"
                          : form->length == 0             ? "array without elements"
                                                          : mdf_dtype_name((mdf_dtype)form->dtype));
            return false;
        }
    }
    return true;
}

bool fmu_collect(struct fmu *fmu, const mdf_model *model, struct mdf_state *state, mdf_error *error)
{
    struct collecting collecting = {
        fmu, error, model->document->file, state->program, state, mdf_model_find_graph(model, state->program->graph_id)};

    fmu->is_structured = true;
    if (!has_inputs(&collecting, error)) {
        return false;
    }
    if (!(add_time(&collecting) && add_inputs(&collecting) && add_outputs(&collecting) && add_parameters(&collecting) &&
          add_seed(&collecting) && add_states(&collecting))) {
        return error->code == MDF_OK && mdf_memory_error(fmu->arena.memory, error) == MDF_OK;
    }
    for (size_t i = 0; i < fmu->n_variables; i++) {
        if (fmu->variables[i].kind == FMU_INPUT && !fits(fmu, &fmu->variables[i])) {
            mdf_error_set(error, MDF_UNSUPPORTED,
                          "input '%s' has a default value that no Integer of FMI 2 can hold, which has 32 bits",
                          fmu->variables[i].name);
            return false;
        }
    }
    if (!number(fmu)) {
        mdf_error_set(error, MDF_UNSUPPORTED, "the model has more values than FMI %d has references for", fmu->version);
        return false;
    }
    return true;
}
