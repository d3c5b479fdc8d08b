/* program_lanes.c - several instances side by side, in generated code: a struct in which each value has an element for each lane,
 * the lanes innermost, and a step of them all. A lane's values go into a state of its own that nobody else sees, and back: the
 * compiler makes registers of it, and vectors of the loop over the lanes, where the step does not part.
 *
 * All lanes go in step: what says which nodes have run, and which inputs are given, is the same for all of them. Where it may not
 * be: program_lanes_apart.c. */
#include "mdf_c/source/program_writer.h"

#include <string.h>

/* A member of the state that each lane has its own of. */
struct mdf_source_member {
    struct mdf_source_member *next;
    const char *type, *name, *comment;
    size_t length; /* 0: a scalar */
};

void mdf_source_add_member(struct mdf_source_program *program, const char *type, const char *name, size_t length,
                           const char *comment)
{
    struct mdf_source_member *member = mdf_arena_allocate(&program->writer.arena, sizeof *member);

    if (member == NULL) {
        mdf_source_out_of_memory(&program->writer);
        return;
    }
    *member = (struct mdf_source_member){NULL, type, name, comment, length};
    *program->last_lane_member = member;
    program->last_lane_member = &member->next;
}

bool mdf_source_check_lane_calls(struct mdf_source_program *program)
{
    mdf_source_at(&program->writer, "lanes", NULL);
    return !program->writer.calls_plugins || mdf_source_refuse(&program->writer, "a function of a plugin is called");
}

/* ------------------------------------------------------------------ declarations */

static void append_member(const struct mdf_source_program *program, const struct mdf_source_member *member,
                          struct mdf_text *text)
{
    mdf_text_printf(text, "    %s %s", member->type, member->name);
    if (member->length > 0) {
        mdf_text_printf(text, "[%zu]", member->length);
    }
    mdf_text_printf(text, "[%zu];%s\n", program->n_lanes, member->comment);
}

static size_t at_least_one(size_t n)
{
    return n > 0 ? n : 1;
}

static void append_struct(struct mdf_source_program *program, struct mdf_text *text)
{
    const struct mdf_program *own = program->graph->program;
    const struct mdf_source_member *member;
    const char *name = program->name;

    mdf_text_printf(text,
                    "\n/* %zu instances side by side, which go in step: each value has an element for each of them (lane), the "
                    "lanes\n * innermost. Give it to %s_lanes_init first. */\n"
                    "enum { %s_n_lanes = %zu };\nstruct %s_lanes {\n",
                    program->n_lanes, name, name, program->n_lanes, name);
    for (member = program->lane_members; member != NULL; member = member->next) {
        append_member(program, member, text);
    }
    if (program->writer.draws) {
        mdf_text_printf(text, "    struct mdf_generators random[%zu];\n", program->n_lanes);
    }
    if (program->writer.n_streams > 0) {
        mdf_text_printf(text, "    struct mdf_stream streams[%zu][%zu];\n", program->n_lanes, program->writer.n_streams);
    }
    mdf_text_printf(text,
                    "\n    bool has_run[%zu]; /* of each node */\n    bool has_value[%zu], is_given[%zu]; /* of each input */\n"
                    "    const char *message; /* why the last step failed; NULL: it did not */\n"
                    "    size_t failed_lane;  /* the first of which it failed */\n};\n\n",
                    at_least_one(own->n_nodes), at_least_one(own->n_ports), at_least_one(own->n_ports));
}

static void append_prototypes(struct mdf_source_program *program, struct mdf_text *text)
{
    const char *name = program->name;

    mdf_text_printf(
        text,
        "size_t %s_lanes_size(void);\nvoid %s_lanes_init(struct %s_lanes *s);\n"
        "/* Begins the random numbers of a lane, as %s_seed does. */\n"
        "void %s_lanes_seed(struct %s_lanes *s, size_t lane, uint64_t seed);\n"
        "/* Sets an input of all lanes for the next step: for each of its elements those of all lanes, side by side. */\n"
        "int %s_lanes_set_input(struct %s_lanes *s, int input, const void *elements);\n"
        "/* Evaluates the model once in each lane; each has the bits that a %s_step alone gives. Where one fails, _message says "
        "why,\n * failed_lane which; all lanes have to be made anew then. */\n"
        "int %s_lanes_step(struct %s_lanes *s, double dt);\n"
        "int %s_lanes_steps(struct %s_lanes *s, uint64_t n, double dt, uint64_t *n_done);\n"
        "const char *%s_lanes_message(const struct %s_lanes *s);\n"
        "/* The elements of an output after a step, those of all lanes side by side; NULL: its node has run in none. Whether it has "
        "in\n * a lane, which else has zeros. */\n"
        "const void *%s_lanes_output(const struct %s_lanes *s, int output);\n"
        "bool %s_lanes_has_output(const struct %s_lanes *s, int output, size_t lane);\n",
        name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name, name);
    if (program->graph->program->n_parameters > 0) {
        mdf_text_printf(text,
                        "/* The elements of a tunable parameter, those of all lanes side by side; NULL: there is none. */\n"
                        "void *%s_lanes_parameter(struct %s_lanes *s, int parameter);\n",
                        name, name);
    }
}

void mdf_source_append_lane_declarations(struct mdf_source_program *program, struct mdf_text *text)
{
    if (program->n_lanes > 0) {
        if (mdf_source_lanes_are_apart(program)) {
            mdf_source_append_apart_struct(program, text);
        } else {
            append_struct(program, text);
        }
        append_prototypes(program, text);
    }
}

/* ------------------------------------------------------------------ a step */

/* Brings what a lane has to `one`, or back. */
static void append_moves(struct mdf_source_program *program, bool is_back)
{
    struct mdf_text *text = &program->functions;
    const struct mdf_source_member *member;

    for (member = program->lane_members; member != NULL; member = member->next) {
        const char *index = member->length > 0 ? "[i]" : "", *indent = member->length > 0 ? "    " : "";

        if (member->length > 0) {
            mdf_text_printf(text, "        for (size_t i = 0; i < %zu; i++) {\n", member->length);
        }
        if (is_back) {
            mdf_text_printf(text, "%s        s->%s%s[lane] = one.%s%s;\n", indent, member->name, index, member->name, index);
        } else {
            mdf_text_printf(text, "%s        one.%s%s = s->%s%s[lane];\n", indent, member->name, index, member->name, index);
        }
        mdf_text_append_string(text, member->length > 0 ? "        }\n" : "");
    }
    if (program->writer.draws) {
        mdf_text_append_string(text, is_back ? "        s->random[lane] = one.random;\n" : "        one.random = s->random[lane];\n");
    }
    if (program->writer.n_streams > 0) {
        mdf_text_append_string(text, is_back ? "        memcpy(s->streams[lane], one.streams, sizeof one.streams);\n"
                                             : "        memcpy(one.streams, s->streams[lane], sizeof one.streams);\n");
    }
}

/* What is the same for all lanes; the last one leaves what all have come to. */
static void append_flags(struct mdf_source_program *program, bool is_back)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;

    for (size_t i = 0; i < own->n_nodes; i++) {
        mdf_text_printf(text, is_back ? "        has_run[%zu] = one.has_run[%zu];\n" : "        one.has_run[%zu] = is_later || s->has_run[%zu];\n", i, i);
    }
    for (size_t i = 0; i < own->n_ports; i++) {
        mdf_text_printf(text,
                        is_back ? "        has_value[%zu] = one.has_value[%zu];\n        is_given[%zu] = one.is_given[%zu];\n"
                                : "        one.has_value[%zu] = s->has_value[%zu];\n        one.is_given[%zu] = s->is_given[%zu];\n",
                        i, i, i, i);
    }
}

void mdf_source_append_lane_steps(struct mdf_source_program *program)
{
    const char *name = program->name;

    mdf_text_printf(&program->functions,
                    "int %s_lanes_steps(struct %s_lanes *s, uint64_t n, double dt, uint64_t *n_done)\n{\n    uint64_t i = 0;\n\n"
                    "    while (i < n && %s_lanes_step(s, dt) == 0) {\n        i++;\n    }\n"
                    "    if (n_done != NULL) {\n        *n_done = i;\n    }\n    return i < n;\n}\n\n",
                    name, name, name);
}

/* Once all nodes have run they always have, which the compiler is told, so that there is one way through a step. */
static void append_step(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;
    const char *name = program->name;

    mdf_text_printf(text,
                    "%s void go_lanes(struct %s_lanes *s, double dt, bool is_later)\n{\n"
                    "    bool has_run[%zu] = {false}, has_value[%zu] = {false}, is_given[%zu] = {false};\n"
                    "    const char *message = NULL;\n    size_t failed = 0;\n\n"
                    "    for (size_t lane = 0; lane < %zu; lane++) {\n        struct %s one;\n\n"
                    "        one.observer = NULL;\n        one.observer_context = NULL;\n",
                    mdf_source_linkage(program), name, at_least_one(own->n_nodes), at_least_one(own->n_ports),
                    at_least_one(own->n_ports), program->n_lanes, name);
    append_flags(program, false);
    append_moves(program, false);
    mdf_text_append_string(text, "        advance(&one, dt);\n");
    append_moves(program, true);
    append_flags(program, true);
    mdf_text_append_string(text, "        failed = message == NULL && one.message != NULL ? lane : failed;\n"
                                 "        message = message == NULL ? one.message : message;\n    }\n"
                                 "    memcpy(s->has_run, has_run, sizeof has_run);\n"
                                 "    memcpy(s->has_value, has_value, sizeof has_value);\n"
                                 "    memcpy(s->is_given, is_given, sizeof is_given);\n"
                                 "    s->message = message;\n    s->failed_lane = failed;\n}\n\n");
    mdf_text_printf(text, "int %s_lanes_step(struct %s_lanes *s, double dt)\n{\n    if (!isnan(dt)", name, name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        mdf_text_printf(text, " && s->has_run[%zu]", i);
    }
    mdf_text_append_string(text, ") {\n        go_lanes(s, dt, true);\n    } else {\n        go_lanes(s, dt, false);\n    }\n"
                                 "    return s->message != NULL;\n}\n\n");
    mdf_source_append_lane_steps(program);
}

/* ------------------------------------------------------------------ what is around it */

static void append_init(struct mdf_source_program *program)
{
    struct mdf_text *text = &program->functions;
    const char *name = program->name;

    mdf_text_printf(text,
                    "size_t %s_lanes_size(void)\n{\n    return sizeof(struct %s_lanes);\n}\n\n"
                    "void %s_lanes_init(struct %s_lanes *s)\n{\n    memset(s, 0, sizeof *s);\n"
                    "    for (size_t lane = 0; lane < %zu; lane++) {\n        struct %s one;\n\n        %s_init(&one);\n",
                    name, name, name, name, program->n_lanes, name, name);
    append_moves(program, true);
    mdf_text_printf(text, "    }\n}\n\nvoid %s_lanes_seed(struct %s_lanes *s, size_t lane, uint64_t seed)\n{\n", name, name);
    if (program->writer.draws) {
        mdf_text_printf(text, "    struct %s one;\n\n    %s_seed(&one, seed);\n    s->random[lane] = one.random;\n%s}\n\n", name, name,
                        program->writer.n_streams > 0 ? "    memcpy(s->streams[lane], one.streams, sizeof one.streams);\n" : "");
    } else {
        mdf_text_append_string(text, "    (void)s; /* nothing is drawn */\n    (void)lane;\n    (void)seed;\n}\n\n");
    }
    mdf_text_printf(text,
                    "const char *%s_lanes_message(const struct %s_lanes *s)\n{\n"
                    "    return s->message != NULL ? s->message : \"no error\";\n}\n\n",
                    name, name);
}

static void append_set_input(struct mdf_source_program *program, const struct mdf_source_slot *const *places)
{
    struct mdf_text *text = &program->functions;
    size_t n = program->graph->program->n_ports;

    mdf_text_printf(text, "int %s_lanes_set_input(struct %s_lanes *s, int input, const void *elements)\n{\n", program->name,
                    program->name);
    if (n == 0) {
        mdf_text_append_string(text, "    (void)s;\n    (void)input;\n    (void)elements;\n    return 1;\n}\n\n");
        return;
    }
    mdf_text_append_string(text, "    (void)elements;\n    switch (input) {\n");
    for (size_t i = 0; i < n; i++) {
        mdf_text_printf(text, "    case %zu:\n", i);
        if (places[i] != NULL && places[i]->length > 0) {
            mdf_text_printf(text, "        memcpy(%s, elements, sizeof %s);\n", places[i]->name, places[i]->name);
        }
        mdf_text_append_string(text, "        break;\n");
    }
    mdf_text_append_string(text, "    default:\n        return 1;\n    }\n    s->is_given[input] = true;\n    return 0;\n}\n\n");
}

/* An output that is a constant is the same in all lanes. */
static const char *spread_constant(struct mdf_source_program *program, const struct mdf_program_output *output,
                                   const struct mdf_source_slot *slot)
{
    const struct mdf_value *value = mdf_frame_value(program->graph->state->frame, output->operand);
    size_t size = mdf_dtype_size(slot->dtype), n = slot->length * program->n_lanes, i;
    char *elements = mdf_arena_array(&program->writer.arena, n + 1, size);

    if (elements == NULL) {
        mdf_source_out_of_memory(&program->writer);
        return "NULL";
    }
    for (i = 0; i < n; i++) {
        memcpy(elements + i * size, (const char *)value->data + i / program->n_lanes * size, size);
    }
    return mdf_source_constant_array(&program->writer, slot->dtype, elements, n,
                                     mdf_source_text(&program->writer, "%s_of_all_lanes", slot->hint));
}

static void append_output(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;
    size_t n = 0;

    mdf_text_printf(text, "const void *%s_lanes_output(const struct %s_lanes *s, int output)\n{\n    (void)s;\n    switch (output) {\n",
                    program->name, program->name);
    for (size_t i = 0; i < own->n_nodes; i++) {
        for (size_t j = 0; j < own->nodes[i].n_outputs; j++, n++) {
            const struct mdf_program_output *output = &own->nodes[i].outputs[j];
            const struct mdf_source_slot *slot =
                program->graph->state->has_run[i] ? mdf_source_find_operand(program, output->operand) : NULL;

            if (slot != NULL) {
                bool is_member = strncmp(slot->name, "s->", strlen("s->")) == 0;

                mdf_text_printf(text, "    case %zu:\n        return %s%s;\n", n,
                                output->initial != MDF_NO_OPERAND ? ""
                                                                  : mdf_source_text(&program->writer, "!s->has_run[%zu] ? NULL : ", i),
                                is_member ? slot->name : spread_constant(program, output, slot));
            }
        }
    }
    mdf_text_printf(text,
                    "    default:\n        return NULL;\n    }\n}\n\n"
                    "bool %s_lanes_has_output(const struct %s_lanes *s, int output, size_t lane)\n{\n    (void)lane; /* in step */\n"
                    "    return %s_lanes_output(s, output) != NULL;\n}\n\n",
                    program->name, program->name, program->name);
}

static void append_parameter(struct mdf_source_program *program)
{
    const struct mdf_program *own = program->graph->program;
    struct mdf_text *text = &program->functions;

    mdf_text_printf(text, "void *%s_lanes_parameter(struct %s_lanes *s, int parameter)\n{\n    switch (parameter) {\n", program->name,
                    program->name);
    for (size_t i = 0; i < own->n_parameters; i++) {
        const struct mdf_source_slot *slot = mdf_source_find_operand(program, own->parameters[i].slot);

        if (slot != NULL) {
            mdf_text_printf(text, "    case %zu:\n        return %s;\n", i, slot->name);
        }
    }
    mdf_text_append_string(text, "    default:\n        return NULL;\n    }\n}\n\n");
}

void mdf_source_append_lanes(struct mdf_source_program *program, const struct mdf_source_slot *const *places)
{
    if (program->n_lanes == 0) {
        return;
    }
    if (mdf_source_lanes_are_apart(program)) {
        mdf_source_append_apart(program);
        return;
    }
    append_init(program);
    append_set_input(program, places);
    append_step(program);
    append_output(program);
    if (program->graph->program->n_parameters > 0) {
        append_parameter(program);
    }
}
