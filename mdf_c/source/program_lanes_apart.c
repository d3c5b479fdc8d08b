/* program_lanes_apart.c - several instances side by side, in generated code, of a graph with conditions or with graphs within nodes:
 * other nodes may run in each of them, so that each has a state of its own, and only what goes in and comes out lies side by side
 * as program_lanes.c lays it out. Made of what the source has for one state. */
#include "mdf_c/source/program_writer.h"
#include "mdf_c/tensor/rows.h"

bool mdf_source_lanes_are_apart(const struct mdf_source_program *program)
{
    return program->graph->program->schedule != NULL || program->n_graphs > 1;
}

/* The array that a source has of an output port, which may be a list of numbers, or have no elements. False: it has none. */
static bool output_form(struct mdf_source_program *program, size_t node, size_t output, struct mdf_value *form)
{
    mdf_operand operand = program->graph->program->nodes[node].outputs[output].operand;

    return program->graph->state->has_run[node] && mdf_source_find_operand(program, operand) != NULL &&
           mdf_array_form(mdf_frame_value(program->graph->state->frame, operand), form);
}

/* What an input port or a parameter holds; NULL: nothing that has elements. */
static const struct mdf_value *slot_of(const struct mdf_source_program *program, mdf_operand operand)
{
    const struct mdf_value *value = mdf_frame_value(program->graph->state->frame, operand);

    return value->kind == MDF_KIND_TENSOR && value->length > 0 && mdf_source_type((mdf_dtype)value->dtype) != NULL ? value : NULL;
}

/* A parameter that the source has a place for. */
static const struct mdf_value *parameter_of(struct mdf_source_program *program, size_t parameter)
{
    mdf_operand slot = program->graph->program->parameters[parameter].slot;

    return mdf_source_find_operand(program, slot) != NULL ? slot_of(program, slot) : NULL;
}

static void append_side_by_side(const struct mdf_source_program *program, const struct mdf_value *value, const char *what, size_t number,
                                struct mdf_text *text)
{
    mdf_text_printf(text, "    %s %s_%zu[%zu][%zu];\n", mdf_source_type((mdf_dtype)value->dtype), what, number,
                    value->length > 0 ? value->length : 1, program->n_lanes);
}

void mdf_source_append_apart_struct(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    const char *name = program->name;
    size_t n = 0;

    mdf_text_printf(text,
                    "\n/* %zu instances side by side, which go in step: inputs, outputs and parameters have an element for each of them "
                    "(lane), the\n * lanes innermost. Other nodes may run in each, so that each has a state of its own. Give it to "
                    "%s_lanes_init first. */\nenum { %s_n_lanes = %zu };\nstruct %s_lanes {\n    struct %s one[%zu];\n",
                    program->n_lanes, name, name, program->n_lanes, name, name, program->n_lanes);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n++) {
            struct mdf_value form;

            if (output_form(program, i, j, &form)) {
                append_side_by_side(program, &form, "output", n, text);
            }
        }
    }
    for (size_t i = 0; i < own->n_parameters; i++) {
        const struct mdf_value *value = parameter_of(program, i);

        if (value != NULL) {
            append_side_by_side(program, value, "parameter", i, text);
        }
    }
    mdf_text_append_string(text, "    const char *message; /* why the last step failed; NULL: it did not */\n"
                                 "    size_t failed_lane;  /* the first of which it failed */\n};\n\n");
}

/* What lies side by side is brought from a lane's own place, or goes there. */
static void append_helpers(struct mdf_source_program *program)
{
    mdf_text_printf(&program->functions,
                    "/* Elements of a lane, as they lie side by side, from a place of its own, and back. */\n"
                    "static inline void put_lane(void *all, const void *own, size_t n, size_t size, size_t lane)\n{\n"
                    "    for (size_t i = 0; i < n; i++) {\n"
                    "        memcpy((char *)all + (i * %zu + lane) * size, (const char *)own + i * size, size);\n    }\n}\n\n"
                    "static inline void take_lane(const void *all, void *own, size_t n, size_t size, size_t lane)\n{\n"
                    "    for (size_t i = 0; i < n; i++) {\n"
                    "        memcpy((char *)own + i * size, (const char *)all + (i * %zu + lane) * size, size);\n    }\n}\n\n",
                    program->n_lanes, program->n_lanes);
}

/* Brings the outputs that a lane has. */
static void append_take_outputs(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;
    size_t n = 0;

    mdf_text_printf(text, "static inline void bring_outputs(struct %s_lanes *s, size_t lane)\n{\n    const void *own;\n\n    (void)own;\n    (void)s;\n    (void)lane;\n",
                    program->name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n++) {
            struct mdf_value form;

            if (output_form(program, i, j, &form)) {
                mdf_text_printf(text,
                                "    own = %s_output(&s->one[lane], %zu);\n    if (own != NULL) {\n"
                                "        put_lane(s->output_%zu, own, %zu, sizeof s->output_%zu[0][0], lane);\n    }\n",
                                program->name, n, n, form.length, n);
            }
        }
    }
    mdf_text_append_string(text, "}\n\n");
}

/* Brings the parameters of a lane where it has them, or from there. */
static void append_parameters(struct mdf_source_program *program, const char *bring)
{
    for (size_t i = 0; i < program->graph->program->n_parameters; i++) {
        const struct mdf_value *value = parameter_of(program, i);

        if (value != NULL) {
            mdf_text_printf(&program->functions,
                            "        %s(s->parameter_%zu, %s_parameter(&s->one[lane], %zu), %zu, sizeof s->parameter_%zu[0][0], lane);\n",
                            bring, i, program->name, i, value->length, i);
        }
    }
}

static void append_init(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;
    const char *name = program->name;

    mdf_text_printf(text,
                    "size_t %s_lanes_size(void)\n{\n    return sizeof(struct %s_lanes);\n}\n\n"
                    "void %s_lanes_init(struct %s_lanes *s)\n{\n    memset(s, 0, sizeof *s);\n"
                    "    for (size_t lane = 0; lane < %zu; lane++) {\n        %s_init(&s->one[lane]);\n",
                    name, name, name, name, program->n_lanes, name);
    append_parameters(program, "put_lane");
    mdf_text_printf(text,
                    "        bring_outputs(s, lane);\n    }\n}\n\n"
                    "void %s_lanes_seed(struct %s_lanes *s, size_t lane, uint64_t seed)\n{\n    %s_seed(&s->one[lane], seed);\n}\n\n"
                    "const char *%s_lanes_message(const struct %s_lanes *s)\n{\n"
                    "    return s->message != NULL ? s->message : \"no error\";\n}\n\n",
                    name, name, name, name, name);
}

static void append_set_input(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;
    const char *name = program->name;

    mdf_text_printf(text, "int %s_lanes_set_input(struct %s_lanes *s, int input, const void *elements)\n{\n    (void)elements;\n"
                          "    for (size_t lane = 0; lane < %zu; lane++) {\n        switch (input) {\n",
                    name, name, program->n_lanes);
    for (size_t i = 0; i < own->n_ports; i++) {
        const struct mdf_value *value = slot_of(program, own->ports[i].slot);

        if (value != NULL) {
            mdf_text_printf(text,
                            "        case %zu: {\n            %s own[%zu];\n\n            take_lane(elements, own, %zu, sizeof *own, lane);\n"
                            "            %s_set_input(&s->one[lane], %zu, own);\n            break;\n        }\n",
                            i, mdf_source_type((mdf_dtype)value->dtype), value->length, value->length, name, i);
        } else {
            mdf_text_printf(text, "        case %zu:\n            %s_set_input(&s->one[lane], %zu, elements);\n            break;\n", i, name, i);
        }
    }
    mdf_text_append_string(text, "        default:\n            return 1;\n        }\n    }\n    (void)s;\n    return 0;\n}\n\n");
}

static void append_step(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;
    const char *name = program->name;

    mdf_text_printf(text,
                    "int %s_lanes_step(struct %s_lanes *s, double dt)\n{\n    s->message = NULL;\n    s->failed_lane = 0;\n"
                    "    for (size_t lane = 0; lane < %zu; lane++) {\n",
                    name, name, program->n_lanes);
    append_parameters(program, "take_lane");
    mdf_text_printf(text,
                    "        if (%s_step(&s->one[lane], dt) != 0 && s->message == NULL) {\n"
                    "            s->message = %s_message(&s->one[lane]);\n            s->failed_lane = lane;\n        }\n"
                    "        bring_outputs(s, lane);\n    }\n    return s->message != NULL;\n}\n\n",
                    name, name);
    mdf_source_append_lane_steps(program);
}

static void append_output(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;
    const char *name = program->name;
    struct mdf_value form;
    size_t n = 0;

    mdf_text_printf(text,
                    "bool %s_lanes_has_output(const struct %s_lanes *s, int output, size_t lane)\n{\n"
                    "    return %s_output(&s->one[lane], output) != NULL;\n}\n\n"
                    "const void *%s_lanes_output(const struct %s_lanes *s, int output)\n{\n    bool has = false;\n\n"
                    "    for (size_t lane = 0; lane < %zu; lane++) {\n        has = has || %s_lanes_has_output(s, output, lane);\n    }\n"
                    "    if (!has) {\n        return NULL;\n    }\n    switch (output) {\n",
                    name, name, name, name, name, program->n_lanes, name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n++) {
            if (output_form(program, i, j, &form)) {
                mdf_text_printf(text, "    case %zu:\n        return s->output_%zu;\n", n, n);
            }
        }
    }
    mdf_text_append_string(text, "    default:\n        return NULL;\n    }\n}\n\n");
}

static void append_parameter(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;

    mdf_text_printf(text, "void *%s_lanes_parameter(struct %s_lanes *s, int parameter)\n{\n    (void)s;\n    switch (parameter) {\n",
                    program->name, program->name);
    for (size_t i = 0; i < program->graph->program->n_parameters; i++) {
        if (parameter_of(program, i) != NULL) {
            mdf_text_printf(text, "    case %zu:\n        return s->parameter_%zu;\n", i, i);
        }
    }
    mdf_text_append_string(text, "    default:\n        return NULL;\n    }\n}\n\n");
}

void mdf_source_append_apart(struct mdf_source_program *program)
{
    append_helpers(program);
    append_take_outputs(program);
    append_init(program);
    append_set_input(program);
    append_step(program);
    append_output(program);
    if (program->graph->program->n_parameters > 0) {
        append_parameter(program);
    }
}
