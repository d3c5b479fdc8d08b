/* program_interface.c - what surrounds the functions of nodes: the state, init, set_input, step, output, and how it is
 * documented. */
#include "mdf_c/source/program_writer.h"

#include "mdf_c/base/hash.h"
#include "mdf_c/tensor/rows.h"

#include <string.h>

/* ------------------------------------------------------------------ ports */

/* "node 'A', port 'x'" or the id of an input of the graph. */
static const char *port_text(struct mdf_source_program *program, const struct mdf_program_port *port)
{
    return port->node == SIZE_MAX ? mdf_source_text(&program->writer, "input '%s' of the graph", port->id)
                                  : mdf_source_text(&program->writer, "port '%s' of node '%s'", port->id,
                                                    program->graph->program->nodes[port->node].id);
}

const char *mdf_source_enum_name(struct mdf_source_program *program, const char *kind, const char *node, const char *port)
{
    return mdf_source_name(&program->writer, &program->writer.globals,
                           node != NULL ? mdf_source_text(&program->writer, "%s_%s_%s_%s", program->name, kind, node, port)
                                        : mdf_source_text(&program->writer, "%s_%s_%s", program->name, kind, port));
}

/* "float64[3,4]", "a list of 2, each float64[4]" */
static const char *form_text(struct mdf_source_program *program, const struct mdf_value *value)
{
    char text[128], item[128];

    mdf_value_describe(value, text, sizeof text);
    if (value->kind == MDF_KIND_LIST && value->length > 0) {
        mdf_value_describe(mdf_value_items(value), item, sizeof item);
        return mdf_source_text(&program->writer, "%s, each %s", text, item);
    }
    return mdf_source_text(&program->writer, "%s", text);
}

static const struct mdf_value *output_value(struct mdf_source_program *program, size_t node, size_t output)
{
    static const struct mdf_value nothing;

    return program->graph->state->has_run[node]
               ? mdf_source_slot_value(program, mdf_frame_value(program->graph->state->frame,
                                                            program->graph->program->nodes[node].outputs[output].operand))
               : &nothing;
}

static void append_enums(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    size_t n = 0;

    mdf_text_printf(text, "/* Inputs: for %s_set_input. */\nenum {\n", program->name);
    for (size_t i = 0; i < own->n_ports; i++) {
        const struct mdf_program_port *port = &own->ports[i];

        mdf_text_printf(
            text, "    %s = %zu, /* %s: %s */\n",
            mdf_source_enum_name(program, "input", port->node == SIZE_MAX ? NULL : own->nodes[port->node].id, port->id), i,
            mdf_source_comment(&program->writer, port_text(program, port)),
            form_text(program, mdf_frame_value(program->graph->state->frame, port->slot)));
    }
    mdf_text_printf(text, "    %s_n_inputs = %zu\n};\n\n/* Outputs: for %s_output. */\nenum {\n", program->name, own->n_ports,
                    program->name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++) {
            mdf_text_printf(text, "    %s = %zu, /* port '%s' of node '%s': %s */\n",
                            mdf_source_enum_name(program, "output", own->nodes[i].id, own->nodes[i].outputs[j].id), n++,
                            mdf_source_comment(&program->writer, own->nodes[i].outputs[j].id),
                            mdf_source_comment(&program->writer, own->nodes[i].id),
                            form_text(program, output_value(program, i, j)));
        }
    }
    mdf_text_printf(text, "    %s_n_outputs = %zu\n};\n\n", program->name, n);
}

/* ------------------------------------------------------------------ declarations */

static void append_struct(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    size_t n_nodes = own->n_nodes > 0 ? own->n_nodes : 1, n_ports = own->n_ports > 0 ? own->n_ports : 1;

    mdf_source_append_generators(program, text);
    mdf_text_printf(
        text,
        "/* All that lasts from one step to the next: allocate it in any way (it needs no more than it has; large arrays are fastest\n"
        " * where it begins at a multiple of 64), and give it to %s_init first. */\nstruct %s {\n",
        program->name, program->name);
    mdf_text_append(text, program->arrays.bytes, program->arrays.length);
    if (program->unions.length > 0) {
        mdf_text_printf(text, "    union { /* of use within one function only */\n");
        mdf_text_append(text, program->unions.bytes, program->unions.length);
        mdf_text_printf(text, "    } work;\n");
    }
    mdf_text_append(text, program->fields.bytes, program->fields.length);
    mdf_text_printf(
        text,
        "\n    bool has_dt;\n    bool has_run[%zu]; /* of each node */\n    bool has_value[%zu], is_given[%zu]; /* of each input "
        "*/\n"
        "    const char *message; /* why the last step failed; NULL: it did not */\n"
        "    void (*observer)(void *context, size_t node, uint64_t pass, int64_t tick);\n    void *observer_context;\n",
        n_nodes, n_ports, n_ports);
    mdf_source_append_random_fields(program, text);
    mdf_source_append_failure(&program->writer, text);
    if (program->copies.length > 0) {
        mdf_text_printf(text, "    const void *lent[%zu]; /* inputs that lie elsewhere; NULL: in `copies` */\n    struct {\n",
                        n_ports);
        mdf_text_append(text, program->copies.bytes, program->copies.length);
        mdf_text_append_string(text, "    } copies; /* left as it is by init */\n");
    }
    mdf_text_printf(text, "};\n\n");
}

static void append_prototypes(struct mdf_source_program *program, struct mdf_text *text)
{
    const char *name = program->name;

    mdf_text_printf(
        text,
        "/* The bytes of a state, for those who do not see its declaration. */\nsize_t %s_size(void);\n"
        "/* Makes a state what it is before the first step. */\nvoid %s_init(struct %s *s);\n"
        "/* Begins random numbers from a seed, as --seed of mdf-run does; %s_init does from 0. */\n"
        "void %s_seed(struct %s *s, uint64_t seed);\n"
        "/* Sets an input for the next step: its elements, of the type and shape above, row by row. They are copied. 0: done; 1: "
        "there is no\n"
        " * such input. An input that is not set keeps what its port gives it: a default value, zeros, or what edges bring. */\n"
        "int %s_set_input(struct %s *s, int input, const void *elements);\n"
        "/* The same, but a large input (of the graph, without a default value) is read where it is: it has to stay there, "
        "unchanged, until\n"
        " * the step is done, outside of this state. */\n"
        "int %s_lend_input(struct %s *s, int input, const void *elements);\n"
        "/* Evaluates the model once. dt: the time increment; NAN: none, as in a first step, which takes initial values. 0: "
        "done, else\n"
        " * %s_message says why not, and the state has to be made anew by %s_init. */\n"
        "int %s_step(struct %s *s, double dt);\n"
        "/* The same n times, without new inputs in between; *n_done of them are done (NULL: nobody asks). */\n"
        "int %s_steps(struct %s *s, uint64_t n, double dt, uint64_t *n_done);\nconst char *%s_message(const struct %s *s);\n"
        "/* The elements of an output after a step; NULL: its node has never run. They stay until the next step. */\n"
        "const void *%s_output(const struct %s *s, int output);\n",
        name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name);
}

static void append_title(struct mdf_source_program *program, struct mdf_text *text, const char *what)
{
    const struct mdf_program *own = program->graph->program;

    mdf_text_printf(text,
                    "/* %s of the model '%s', graph '%s', written by mdf-compile %s.\n *\n"
                    " * C11 and libm; nothing is allocated. Compile with -ffp-contract=off (and without -ffast-math) for results "
                    "that are the same to\n"
                    " * the last bit as those of mdf-run. */\n",
                    what, own->model_id != NULL ? mdf_source_comment(&program->writer, own->model_id) : "",
                    own->graph_id != NULL ? mdf_source_comment(&program->writer, own->graph_id) : "", MDF_VERSION);
}

static void append_declarations(struct mdf_source_program *program, struct mdf_text *text)
{
    append_enums(program, text);
    mdf_source_append_state_numbers(program, text);
    append_struct(program, text);
    append_prototypes(program, text);
    mdf_source_append_state_prototypes(program, text);
    mdf_source_append_lane_declarations(program, text);
}

/* ------------------------------------------------------------------ inputs */

/* A port whose values are combined keeps an input apart until the step begins. */
static bool is_kept_apart(const struct mdf_program_port *port)
{
    return port->reduce != MDF_REDUCE_OVERWRITE;
}

static struct mdf_source_slot *make_kept(struct mdf_source_program *program, size_t index, const struct mdf_source_slot *slot)
{
    struct mdf_source_slot *kept = mdf_arena_allocate(&program->writer.arena, sizeof *kept);
    const char *member = mdf_source_text(&program->writer, "input_%zu", index);

    if (kept != NULL) {
        *kept = *slot;
        kept->name = mdf_source_text(&program->writer, "s->%s", member);
        mdf_text_printf(&program->fields, slot->is_scalar ? "    %s %s;\n" : "    %s %s[%zu];\n", mdf_source_type(slot->dtype),
                        member, slot->length > 0 ? slot->length : 1);
        mdf_source_add_member(program, mdf_source_type(slot->dtype), member,
                              slot->is_scalar    ? 0
                              : slot->length > 0 ? slot->length
                                                 : 1,
                              "");
    }
    return kept;
}

/* The member of the state that holds a copy of an input that can be lent. */
static const char *copy_of(struct mdf_source_program *program, const struct mdf_source_slot *slot)
{
    return mdf_source_text(&program->writer, "s->copies.%s", slot->name + strlen("s->"));
}

/* What the solver looks at before nodes run: ports with nothing in them have their default values. */
static bool write_before_solver(struct mdf_source_program *program)
{
    const struct mdf_program_solver *solver = &program->graph->program->solver;
    struct mdf_source_writer *writer = &program->writer;

    if (solver->n_states > 0) {
        mdf_source_bail_out_if(
            writer, mdf_source_text(writer, "s->has_dt && !s->has_run[%zu]", program->graph->program->layers[0].nodes[0]),
            "the first step sets the initial values: it gets no time increment");
    }
    if (solver->takes_own_steps) {
        mdf_source_bail_out_if(writer, "s->dt < 0", "the solver goes forward in time only");
    }
    for (size_t i = 0; i < solver->n_ports; i++) {
        if (!mdf_source_write_default(program, solver->ports[i])) {
            return false;
        }
    }
    return true;
}

/* Where code asks whether something is given. */
static void write_is_given(struct mdf_source_program *program, size_t port)
{
    const mdf_operand *is_given = program->graph->program->is_given;
    const struct mdf_source_slot *slot =
        is_given != NULL && is_given[port] != MDF_NO_OPERAND ? mdf_source_find_operand(program, is_given[port]) : NULL;

    if (slot != NULL) {
        mdf_source_line(&program->writer, "%s = s->is_given[%zu];", mdf_source_operand_element(program, slot, 0), port);
    }
}

/* take_inputs: what was set before the step goes into its port. */
static bool write_take_inputs(struct mdf_source_program *program, const struct mdf_source_slot **places)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_source_writer *writer = &program->writer;

    mdf_source_begin_function(program, "take_inputs");
    for (size_t i = 0; i < own->n_ports; i++) {
        const struct mdf_program_port *port = &own->ports[i];
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, port->slot);

        mdf_source_at(writer, port_text(program, port), &port->origin);
        if (port->holds && !port->is_required) {
            mdf_source_line(writer, "s->has_value[%zu] = false;", i);
        }
        if (port->is_required) {
            mdf_source_bail_out_if(writer, mdf_source_text(writer, "!s->is_given[%zu]", i),
                                   "the input has no value; set it before each step");
            mdf_source_line(writer, "s->has_value[%zu] = false;", i);
        }
        write_is_given(program, i);
        if (port->is_closed) {
            mdf_source_bail_out_if(writer, mdf_source_text(writer, "s->is_given[%zu]", i),
                                   "there are no derivatives with a value given to the port");
        }
        mdf_source_open(writer, "if (s->is_given[%zu])", i);
        mdf_source_line(writer, "s->is_given[%zu] = false;", i);
        places[i] = slot;
        if (slot != NULL && is_kept_apart(port)) {
            places[i] = make_kept(program, i, slot);
            if (places[i] == NULL) {
                return mdf_source_out_of_memory(writer);
            }
            if (!mdf_source_write_arrival(program, i, places[i])) {
                return false;
            }
        } else {
            mdf_source_line(writer, "s->has_value[%zu] = true;", i);
        }
        if (slot != NULL && slot->is_lent) {
            mdf_source_line(writer, "%s = s->lent[%zu] != NULL ? s->lent[%zu] : %s;", slot->name, i, i, copy_of(program, slot));
        }
        mdf_source_close(writer);
        if (port->holds && !port->is_required && !mdf_program_leaves_default(own, port)) {
            if (!mdf_source_write_default(program, i)) {
                return false;
            }
            mdf_source_line(writer, "s->has_value[%zu] = true;", i);
        }
    }
    if (!write_before_solver(program)) {
        return false;
    }
    mdf_source_end_function(program, "take_inputs", "What was set before the step goes into its port.");
    return true;
}

static void append_set_input(struct mdf_source_program *program, const struct mdf_source_slot *const *places)
{
    struct mdf_text *text = &program->functions;

    mdf_text_printf(text, "int %s_set_input(struct %s *s, int input, const void *elements)\n{\n", program->name, program->name);
    if (program->graph->program->n_ports == 0) {
        mdf_text_append_string(text, "    (void)s;\n    (void)input;\n    (void)elements;\n    return 1;\n}\n\n");
        return;
    }
    mdf_text_append_string(text, "    (void)elements;\n    switch (input) {\n");
    for (size_t i = 0; i < program->graph->program->n_ports; i++) {
        mdf_text_printf(text, "    case %zu:\n", i);
        if (places[i] != NULL && places[i]->length > 0) {
            const char *place = places[i]->is_lent ? copy_of(program, places[i]) : places[i]->name;

            mdf_text_printf(text, "        memcpy(%s%s, elements, sizeof %s);\n", places[i]->is_scalar ? "&" : "", place, place);
        }
        if (places[i] != NULL && places[i]->is_lent) {
            mdf_text_printf(text, "        s->lent[%zu] = NULL;\n", i);
        }
        mdf_text_append_string(text, "        break;\n");
    }
    mdf_text_append_string(text, "    default:\n        return 1;\n    }\n    s->is_given[input] = true;\n    return 0;\n}\n\n");
}

static void append_lend_input(struct mdf_source_program *program, const struct mdf_source_slot *const *places)
{
    struct mdf_text *text = &program->functions;
    const char *name = program->name;

    mdf_text_printf(text, "int %s_lend_input(struct %s *s, int input, const void *elements)\n{\n", name, name);
    if (program->copies.length > 0) {
        mdf_text_append_string(text, "    switch (input) {\n");
        for (size_t i = 0; i < program->graph->program->n_ports; i++) {
            if (places[i] != NULL && places[i]->is_lent) {
                mdf_text_printf(text, "    case %zu:\n", i);
            }
        }
        mdf_text_append_string(text, "        s->lent[input] = elements;\n        s->is_given[input] = true;\n"
                                     "        return 0;\n    default:\n        break;\n    }\n");
    }
    mdf_text_printf(text, "    return %s_set_input(s, input, elements);\n}\n\n", name);
}

/* ------------------------------------------------------------------ what there is at first */

/* Whether an output port holds something before its node has run. */
static bool initial_output(const struct mdf_source_program *program, size_t node, size_t output)
{
    return program->graph->program->nodes[node].outputs[output].initial != MDF_NO_OPERAND;
}

/* A slot has `initial` in a new state. `what` it is, and its id, are for messages. */
static bool write_initial(struct mdf_source_program *program, mdf_operand initial, const struct mdf_source_slot *slot,
                          const char *what, const char *id)
{
    const struct mdf_value *value = mdf_frame_value(program->graph->state->frame, initial);
    struct mdf_source_writer *writer = &program->writer;
    struct mdf_source_slot from = *slot;
    struct mdf_value converted = {0};
    char *copy;

    if (value->kind != MDF_KIND_TENSOR || value->length != slot->length) {
        return mdf_source_refuse(writer, "%s '%s' has not as many elements at first as later", what, id);
    }
    copy = mdf_arena_allocate(&writer->arena, slot->length * mdf_dtype_size(slot->dtype) + 1);
    if (copy == NULL || !mdf_value_convert(&program->graph->state->shared->memory, &converted, value, slot->dtype)) {
        return mdf_source_out_of_memory(writer);
    }
    if (mdf_source_loses(value, &converted)) {
        mdf_value_clear(&program->graph->state->shared->memory, &converted);
        return mdf_source_refuse(writer, "%s '%s' is real at first and %s later; give it real numbers", what, id,
                                 mdf_dtype_name(slot->dtype));
    }
    memcpy(copy, converted.data, slot->length * mdf_dtype_size(slot->dtype));
    mdf_value_clear(&program->graph->state->shared->memory, &converted);
    from.is_scalar = slot->length == 1;
    from.name = from.is_scalar ? mdf_source_literal(writer, slot->dtype, copy)
                               : mdf_source_constant_array(writer, slot->dtype, copy, slot->length,
                                                           mdf_source_text(writer, "%s_initial", slot->hint));
    mdf_source_copy(program, slot, &from);
    return true;
}

static bool write_initial_outputs(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;

    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++) {
            const struct mdf_program_output *output = &own->nodes[i].outputs[j];
            bool is_read = program->graph->state->has_run[i] || program->graph != program->graphs; /* by the node around */
            const struct mdf_source_slot *slot = is_read ? mdf_source_find_operand(program, output->operand) : NULL;

            if (initial_output(program, i, j) && slot != NULL && MDF_OPERAND_KIND(output->operand) == MDF_OPERAND_SLOT &&
                !write_initial(program, output->initial, slot, "output port", output->id)) {
                return false;
            }
        }
    }
    return true;
}

/* begin: of a state that is all zeros. */
static bool write_begin(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    bool done = true;

    mdf_source_begin_function(program, "begin");
    for (size_t i = 0; done && i < program->n_graphs; i++) {
        program->graph = &program->graphs[i];
        done = write_initial_outputs(program);
    }
    program->graph = program->graphs;
    for (size_t i = 0; done && i < own->n_parameters; i++) {
        const struct mdf_program_parameter *parameter = &own->parameters[i];
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, parameter->slot);

        if (slot != NULL && !write_initial(program, parameter->default_value, slot, "parameter", parameter->id)) {
            return false;
        }
    }
    mdf_source_end_function(program, "begin",
                            own->n_parameters > 0
                                ? "What output ports hold before their nodes have run, and the model's values of parameters."
                                : "What output ports hold before their nodes have run.");
    return done;
}

/* ------------------------------------------------------------------ functions */

/* The functions that make outputs which steps do not store, by their numbers (NULL: one that they store). NULL: out of memory. */
static const char **write_turned(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    const char **made = mdf_arena_array(&program->writer.arena, mdf_program_count_outputs(own) + 1, sizeof *made);
    size_t n = 0;

    for (size_t i = 0; made != NULL && i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n++) {
            mdf_operand operand = own->nodes[i].outputs[j].operand;

            made[n] = operand != MDF_NO_OPERAND && MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT
                          ? mdf_source_turned_function(program, MDF_OPERAND_INDEX(operand))
                          : NULL;
        }
    }
    return made;
}

static bool append_output(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    const char **made = write_turned(program);
    struct mdf_text *text = &program->functions;
    size_t n = 0;

    if (made == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    mdf_text_printf(text, "const void *%s_output(const struct %s *s, int output)\n{\n    (void)s;\n    switch (output) {\n",
                    program->name, program->name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n++) {
            const struct mdf_source_slot *slot =
                program->graph->state->has_run[i] ? mdf_source_find_operand(program, own->nodes[i].outputs[j].operand) : NULL;

            if (slot == NULL && output_value(program, i, j)->kind != MDF_KIND_NONE &&
                !mdf_source_is_hidden(program, own->nodes[i].outputs[j].operand)) {
                mdf_source_at(&program->writer,
                              mdf_source_text(&program->writer, "output port '%s' of node '%s'", own->nodes[i].outputs[j].id,
                                              own->nodes[i].id),
                              &own->nodes[i].outputs[j].origin);
                return mdf_source_refuse(&program->writer, "it is no array of numbers");
            }
            if (slot != NULL && made[n] != NULL) {
                mdf_text_printf(text, "    case %zu:\n        return s->has_run[%zu] && %s((struct %s *)s) == NULL ? %s : NULL;\n", n,
                                i, made[n], program->name, slot->name);
            } else if (slot != NULL && slot->truth != NULL) {
                mdf_text_printf(text, "    case %zu:\n        return s->has_run[%zu] && %s ? %s%s : NULL;\n", n, i, slot->truth,
                                slot->is_scalar ? "&" : "", slot->name);
            } else if (slot != NULL) {
                mdf_text_printf(text, "    case %zu:\n        return %s%s%s%s;\n", n,
                                initial_output(program, i, j) ? "" : mdf_source_text(&program->writer, "s->has_run[%zu] ? ", i),
                                slot->is_scalar ? "&" : "", slot->name, initial_output(program, i, j) ? "" : " : NULL");
            }
        }
    }
    mdf_text_append_string(text, "    default:\n        return NULL;\n    }\n}\n\n");
    return true;
}

/* Many steps: of a small state a copy is advanced that nobody else can see, so that its values stay in registers. */
static void append_steps(struct mdf_source_program *program)
{
    const char *name = program->name;

    mdf_text_printf(
        &program->functions,
        "int %s_steps(struct %s *s, uint64_t n, double dt, uint64_t *n_done)\n{\n    uint64_t i = 0;\n\n"
        "    if (sizeof *s <= 4096 && s->observer == NULL && n > 1) {\n        struct %s copy = *s;\n\n"
        "        copy.observer = NULL;\n"
        "        while (i < n && advance(&copy, dt) == 0) {\n            i++;\n        }\n        *s = copy;\n    } else {\n"
        "        while (i < n && %s_step(s, dt) == 0) {\n            i++;\n        }\n    }\n"
        "    if (n_done != NULL) {\n        *n_done = i;\n    }\n    return i < n;\n}\n\n",
        name, name, name, name);
}

/* A small graph with conditions becomes one function: what the scheduler counts is in registers then, not in the state. So does
 * one whose instances go side by side: what a lane has is in registers. */
static bool is_small(const struct mdf_source_program *program)
{
    return program->graph == program->graphs && (program->graph->program->schedule != NULL || program->n_lanes > 0) &&
           program->graph->program->n_nodes <= MDF_SOURCE_FEW_NODES;
}

static const char inlined[] = "#if defined(__GNUC__)\n#define MDF_INLINED static inline __attribute__((always_inline))\n#else\n"
                              "#define MDF_INLINED static inline\n#endif\n\n";

const char *mdf_source_linkage(const struct mdf_source_program *program)
{
    return is_small(program) ? "MDF_INLINED" : "static inline";
}

/* Behind the nodes: whether the solver has come to the time of the step. */
static const char *check_of_solver(struct mdf_source_program *program)
{
    mdf_operand behind =
        program->graph->program->solver.takes_own_steps ? program->graph->program->solver.behind : MDF_NO_OPERAND;
    const struct mdf_source_slot *slot = behind != MDF_NO_OPERAND ? mdf_source_find_operand(program, behind) : NULL;

#define END_TEXT(name, text) "            \"the solver " text "\",\n"
    return slot == NULL
               ? ""
               : mdf_source_text(
                     &program->writer,
                     "    if (s->message == NULL && s->has_dt && %s != 0) {\n        static const char *const "
                     "ends[] = {\n            \"\",\n" MDF_SOLVER_END_LIST(END_TEXT) "        };\n\n        "
                                                                                     "s->message = ends[(int)%s];\n    }\n",
                     slot->name, slot->name);
#undef END_TEXT
}

static void append_step(struct mdf_source_program *program)
{
    const char *name = program->name;

    mdf_text_printf(
        &program->functions,
        "size_t %s_size(void)\n{\n    return sizeof(struct %s);\n}\n\nvoid %s_init(struct %s *s)\n{\n    memset(s, 0, %s);\n    "
        "%s_seed(s, 0);\n    begin(s);\n}\n\n"
        "%s int advance(struct %s *s, double dt)\n{\n    s->has_dt = !isnan(dt);\n    s->dt = s->has_dt ? dt : 0;\n   "
        " s->message = NULL;\n"
        "    s->message = take_inputs(s);\n    if (s->message == NULL) {\n        s->message = run_graph(s);\n    }\n"
        "%s"
        "    return s->message != NULL;\n}\n\n"
        "int %s_step(struct %s *s, double dt)\n{\n    return advance(s, dt);\n}\n\n"
        "const char *%s_message(const struct %s *s)\n{\n    return s->message != NULL ? s->message : \"no error\";\n}\n\n",
        name, name, name, name,
        program->copies.length > 0 ? mdf_source_text(&program->writer, "offsetof(struct %s, copies)", name) : "sizeof *s", name,
        mdf_source_linkage(program), name, check_of_solver(program), name, name, name, name);
    append_steps(program);
}

/* ------------------------------------------------------------------ the table for shared libraries */

static const char table_types[] = "#ifdef MDF_COMPILED\n"
                                  "/* What mdf-run looks for in a shared library. */\n"
                                  "struct mdf_compiled_port {\n"
                                  "    const char *node, *port;\n"
                                  "    int dtype, is_sequence;\n"
                                  "    size_t rank;\n"
                                  "    const int64_t *shape;\n"
                                  "    size_t n_elements;\n"
                                  "};\n\n"
                                  "struct mdf_compiled {\n"
                                  "    const char *version;\n"
                                  "    size_t state_bytes;\n"
                                  "    void (*init)(void *state);\n"
                                  "    void (*seed)(void *state, uint64_t seed);\n"
                                  "    size_t n_inputs;\n"
                                  "    const struct mdf_compiled_port *inputs;\n"
                                  "    int (*set_input)(void *state, size_t input, const void *elements);\n"
                                  "    int (*lend_input)(void *state, size_t input, const void *elements);\n"
                                  "    int (*step)(void *state, double dt);\n"
                                  "    int (*steps)(void *state, uint64_t n, double dt, uint64_t *n_done);\n"
                                  "    const char *(*message)(const void *state);\n"
                                  "    size_t n_outputs;\n"
                                  "    const struct mdf_compiled_port *outputs;\n"
                                  "    const void *(*output)(const void *state, size_t output);\n"
                                  "    void (*observe)(void *state, void (*observer)(void *context, size_t node, uint64_t pass, "
                                  "int64_t tick), void *context);\n"
                                  "};\n\n";

static void append_port(struct mdf_source_program *program, struct mdf_text *text, const char *node, const char *port,
                        const struct mdf_value *there, const struct mdf_source_slot *slot)
{
    struct mdf_value form, *value = &form;

    mdf_text_printf(text, "    {%s, %s, ", node != NULL ? mdf_source_quote(&program->writer, node) : "NULL",
                    mdf_source_quote(&program->writer, port));
    if (slot == NULL || !mdf_array_form(there, value)) {
        mdf_text_printf(text, "%d, 0, 0, NULL, 0},\n", (int)MDF_DTYPE_NONE);
        return;
    }
    mdf_text_printf(text, "%d, %d, %u, ", (int)value->dtype, there->kind == MDF_KIND_LIST, value->rank);
    mdf_text_append_string(text, value->rank == 0 ? "NULL" : "(const int64_t[]){");
    for (uint32_t axis = 0; axis < value->rank; axis++) {
        mdf_text_printf(text, "%s%lld", axis > 0 ? ", " : "", (long long)mdf_value_shape(value)[axis]);
    }
    mdf_text_printf(text, "%s, %zu},\n", value->rank == 0 ? "" : "}", value->length);
}

static void append_table(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    const char *name = program->name;
    size_t n_outputs = 0;

    mdf_text_append_string(text, table_types);
    mdf_text_append_string(text, "static const struct mdf_compiled_port table_of_inputs[] = {\n");
    for (size_t i = 0; i < own->n_ports; i++) {
        append_port(program, text, own->ports[i].node == SIZE_MAX ? NULL : own->nodes[own->ports[i].node].id, own->ports[i].id,
                    mdf_frame_value(program->graph->state->frame, own->ports[i].slot),
                    mdf_source_find_operand(program, own->ports[i].slot));
    }
    mdf_text_append_string(
        text, "    {NULL, NULL, 0, 0, 0, NULL, 0}};\n\nstatic const struct mdf_compiled_port table_of_outputs[] = {\n");
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n_outputs++) {
            append_port(program, text, own->nodes[i].id, own->nodes[i].outputs[j].id, output_value(program, i, j),
                        mdf_source_find_operand(program, own->nodes[i].outputs[j].operand));
        }
    }
    mdf_text_printf(
        text,
        "    {NULL, NULL, 0, 0, 0, NULL, 0}};\n\n"
        "static void table_init(void *state)\n{\n    %s_init(state);\n}\n\n"
        "static void table_seed(void *state, uint64_t seed)\n{\n    %s_seed(state, seed);\n}\n\n"
        "static int table_set_input(void *state, size_t input, const void *elements)\n{\n    return %s_set_input(state, "
        "(int)input, elements);\n}\n\n"
        "static int table_lend_input(void *state, size_t input, const void *elements)\n{\n    return %s_lend_input(state, "
        "(int)input, elements);\n}\n\n"
        "static int table_step(void *state, double dt)\n{\n    return %s_step(state, dt);\n}\n\n"
        "static int table_steps(void *state, uint64_t n, double dt, uint64_t *n_done)\n{\n    return %s_steps(state, n, dt, "
        "n_done);\n}\n\n"
        "static const char *table_message(const void *state)\n{\n    return %s_message(state);\n}\n\n"
        "static const void *table_output(const void *state, size_t output)\n{\n    return %s_output(state, (int)output);\n}\n\n",
        name, name, name, name, name, name, name, name);
    mdf_text_printf(
        text,
        "static void table_observe(void *state, void (*observer)(void *, size_t, uint64_t, int64_t), void *context)\n{\n"
        "    struct %s *s = state;\n\n    s->observer = observer;\n    s->observer_context = context;\n}\n\n"
        "extern const struct mdf_compiled mdf_compiled;\n"
        "const struct mdf_compiled mdf_compiled = {\n    \"%s\", sizeof(struct %s), table_init, table_seed, %zu, "
        "table_of_inputs, "
        "table_set_input, table_lend_input,\n"
        "    table_step, table_steps, table_message, %zu, table_of_outputs, table_output, table_observe};\n#endif\n",
        name, MDF_VERSION, name, own->n_ports, n_outputs);
}

/* ------------------------------------------------------------------ the texts */

static const char includes[] =
    "#include <math.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n";

/* Where numbers of float64 are rounded to float32 and back. gcc before 14 takes the two casts for none where it makes vectors of
 * statements (not of loops), so that nothing is rounded. */
static const char no_vectors_of_statements[] =
    "#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 14\n"
    "#pragma GCC optimize(\"no-tree-slp-vectorize\") /* which would leave out (double)(float)x */\n#endif\n\n";

/* Where products of real numbers are added and subtracted side by side. gcc makes one instruction of both when it makes vectors
 * of statements (vfmaddsub), which rounds once, whatever -ffp-contract says. */
static const char no_alternating_vectors[] =
    "#if defined(__GNUC__) && !defined(__clang__) && defined(__FMA__)\n"
    "#pragma GCC optimize(\"no-tree-slp-vectorize\") /* which would round a * b - c and d * e + f once */\n#endif\n\n";

/* Of helpers, those that do so with elements of arrays count. */
static bool alternates(const struct mdf_source_program *program)
{
    const struct mdf_source_helper *helper = program->writer.helpers;
    bool has_all = program->writer.adds && program->writer.subtracts && program->writer.multiplies;

    for (; helper != NULL && !has_all; helper = helper->next) {
        has_all = strstr(helper->definition, "] - ") != NULL && strstr(helper->definition, "] + ") != NULL &&
                  strstr(helper->definition, "] * ") != NULL;
    }
    return has_all;
}

static bool rounds_reals(const struct mdf_source_program *program)
{
    const struct mdf_source_helper *helper = program->writer.helpers;
    const char *text = program->functions.bytes;
    bool narrows = text != NULL && strstr(text, "(float)") != NULL, widens = text != NULL && strstr(text, "(double)") != NULL;

    for (; helper != NULL; helper = helper->next) {
        narrows = narrows || strstr(helper->definition, "(float)") != NULL;
        widens = widens || strstr(helper->definition, "(double)") != NULL;
    }
    return narrows && widens;
}

static void append_text(struct mdf_text *text, const struct mdf_text *part)
{
    if (part->length > 0) {
        mdf_text_append(text, part->bytes, part->length);
    }
    text->failed = text->failed || part->failed;
}

/* A number by which header and source know each other: the two files may be of different runs. */
static unsigned pair_number(const struct mdf_source_program *program)
{
    const struct mdf_text *const parts[] = {&program->arrays, &program->fields,    &program->copies,
                                            &program->unions, &program->functions, &program->writer.constants};
    struct mdf_hash hash = mdf_hash_begin();

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        mdf_hash_add(&hash, parts[i]->bytes, parts[i]->length);
    }
    return (unsigned)(hash.a >> 33);
}

static void append_source(struct mdf_source_program *program, const char *header_name, unsigned pair, struct mdf_text *source)
{
    append_title(program, source, "The computation");
    if (header_name != NULL) {
        mdf_text_printf(source,
                        "#include \"%s\"\n\n#if %s_PAIR != %u\n#error \"the header and this source are not of the same run of "
                        "mdf-compile\"\n#endif\n\n%s",
                        header_name, program->name, pair, includes);
    } else {
        mdf_text_append_string(source, includes);
        append_declarations(program, source);
        mdf_text_append_string(source, "\n");
    }
    if (rounds_reals(program)) {
        mdf_text_append_string(source, no_vectors_of_statements);
    }
    if (alternates(program)) {
        mdf_text_append_string(source, no_alternating_vectors);
    }
    if (program->writer.constants.length > 0) {
        append_text(source, &program->writer.constants);
        mdf_text_append_string(source, "\n");
    }
    mdf_source_append_helpers(&program->writer, source);
    mdf_text_printf(
        source,
        "%s/* Tells who runs, where somebody wants to know. */\n%s void observe(struct %s *s, size_t node, uint64_t pass, "
        "int64_t tick)\n{\n"
        "    if (s->observer != NULL) {\n        s->observer(s->observer_context, node, pass, tick);\n    }\n}\n\n",
        is_small(program) ? inlined : "", mdf_source_linkage(program), program->name);
    append_text(source, &program->functions);
    append_table(program, source);
}

bool mdf_source_write_interface(struct mdf_source_program *program, const char *header_name, struct mdf_text *source,
                                struct mdf_text *header)
{
    const struct mdf_source_slot **places =
        mdf_arena_array(&program->writer.arena, program->graph->program->n_ports + 1, sizeof *places);
    unsigned pair;

    if (places == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    if (!write_take_inputs(program, places)) {
        return false;
    }
    if (!write_begin(program) || (program->has_derivatives && !mdf_source_write_right_side(program))) {
        return false;
    }
    append_set_input(program, places);
    append_lend_input(program, places);
    if (!append_output(program)) {
        return false;
    }
    mdf_source_append_seed(program);
    append_step(program);
    mdf_source_append_state_functions(program);
    mdf_source_append_lanes(program, places);
    mdf_source_drop_unread_constants(&program->writer, &program->functions);
    pair = pair_number(program); /* once: the table of ports looks for constants, and may add some */
    append_source(program, header_name, pair, source);
    if (header_name != NULL) {
        const char *guard = mdf_source_text(&program->writer, "%s_H", program->name);

        append_title(program, header, "The interface");
        mdf_text_printf(
            header,
            "#ifndef %s\n#define %s\n\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n#define %s_PAIR %u "
            "/* of this header and its source */\n\n",
            guard, guard, program->name, pair);
        append_declarations(program, header);
        mdf_text_append_string(header, "\n#endif\n");
    }
    return (!source->failed && (header == NULL || !header->failed)) || mdf_source_out_of_memory(&program->writer);
}
