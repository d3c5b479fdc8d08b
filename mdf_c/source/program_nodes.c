/* program_nodes.c - a C function for each node: it takes what its edges bring, then computes, as run_node of mdf_c/run/state.c
 * does. */
#include "mdf_c/source/program_writer.h"

#include <string.h>

/* ------------------------------------------------------------------ functions */

void mdf_source_begin_function(struct mdf_source_program *program, const char *name)
{
    struct mdf_source_writer *writer = &program->writer;

    memset(&writer->locals, 0, sizeof writer->locals);
    mdf_text_release(&writer->declarations);
    mdf_text_release(&writer->body);
    mdf_text_release(&writer->work);
    mdf_text_init(&writer->declarations, writer->memory);
    mdf_text_init(&writer->body, writer->memory);
    mdf_text_init(&writer->work, writer->memory);
    writer->depth = 0;
    writer->is_first = false;
    writer->stack_bytes = 0;
    writer->work_name = mdf_source_text(writer, "s->work.%s", name);
}

/* Whether the last statement of a body leaves the function. */
static bool ends_with_return(const char *body)
{
    size_t length = strlen(body);

    while (length > 1 && body[length - 2] != '\n') {
        length--;
    }
    return length > 0 && strncmp(body + length - 1, "    return ", 11) == 0;
}

void mdf_source_end_function(struct mdf_source_program *program, const char *name, const char *comment)
{
    struct mdf_source_writer *writer = &program->writer;
    struct mdf_text *functions = &program->functions;
    const char *body;

    mdf_source_drop_unread(writer);
    body = writer->body.bytes != NULL ? writer->body.bytes : "";
    if (writer->work.length > 0) {
        mdf_text_printf(&program->unions, "        struct {\n");
        mdf_text_append(&program->unions, writer->work.bytes, writer->work.length);
        mdf_text_printf(&program->unions, "        } %s;\n", name);
    }
    mdf_text_printf(functions, "/* %s */\n%s const char *%s(struct %s *s)\n{\n", mdf_source_comment(writer, comment),
                    mdf_source_linkage(program), name, program->name);
    if (writer->declarations.length > 0) {
        mdf_text_append(functions, writer->declarations.bytes, writer->declarations.length);
        mdf_text_append_string(functions, "\n");
    }
    if (strstr(body, "s->") == NULL && strstr(body, "(s)") == NULL) {
        mdf_text_append_string(functions, "    (void)s;\n");
    }
    mdf_text_append(functions, body, writer->body.length);
    mdf_text_append_string(functions, ends_with_return(body) ? "}\n\n" : "    return NULL;\n}\n\n");
    functions->failed = functions->failed || writer->body.failed || writer->declarations.failed || writer->work.failed;
}

/* ------------------------------------------------------------------ copies */

/* Whether C makes elements of one type of those of the other, if they are not the same. */
static bool converts(const struct mdf_source_slot *to, const struct mdf_source_slot *from)
{
    return to->dtype == from->dtype || (mdf_source_computes(to->dtype) && mdf_source_computes(from->dtype));
}

void mdf_source_copy(struct mdf_source_program *program, const struct mdf_source_slot *to, const struct mdf_source_slot *from)
{
    struct mdf_source_writer *writer = &program->writer;
    const char *cast;

    if (strcmp(to->name, from->name) == 0 || to->length == 0) {
        return;
    }
    if (!converts(to, from)) {
        mdf_source_refuse(writer, "elements of type %s where others have type %s", mdf_dtype_name(from->dtype),
                          mdf_dtype_name(to->dtype));
        return;
    }
    cast = mdf_source_cast(writer, from->dtype, to->dtype);
    if (to->length == 1) {
        mdf_source_line(writer, "%s = %s%s;", mdf_source_operand_element(program, to, 0), cast,
                        mdf_source_operand_element(program, from, 0));
    } else if (to->dtype == from->dtype) {
        mdf_source_line(writer, "memcpy(%s, %s, sizeof %s);", to->name, from->name, to->name);
    } else {
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", to->length);
        mdf_source_line(writer, "%s[i] = %s%s[i];", to->name, cast, from->name);
        mdf_source_close(writer);
    }
}

/* Whether a value can be put into a place, converted where the types differ. */
static bool fits(const struct mdf_source_slot *to, const struct mdf_source_slot *from)
{
    return to->length == from->length && (to->dtype == from->dtype || (converts(to, from) && mdf_dtype_kind(to->dtype) != 'b'));
}

/* Whether a value is the same where it waits to be combined with what is in a port: values of all edges wait there, and the place
 * has the type of one of them. In a port of that type itself it is what it would be there. */
static bool waits_unchanged(const struct mdf_source_slot *port, const struct mdf_source_slot *to,
                            const struct mdf_source_slot *from)
{
    return to->dtype == from->dtype || to->dtype == port->dtype || mdf_dtype_kind(from->dtype) != 'f' ||
           (mdf_dtype_kind(to->dtype) == 'f' && mdf_dtype_size(to->dtype) >= mdf_dtype_size(from->dtype));
}

/* What a number `x` of a type is where a type of whole numbers does not hold it; NULL: it holds all of them. */
static const char *out_of_bounds(struct mdf_source_writer *writer, mdf_dtype whole, mdf_dtype from, const char *x)
{
    char kind = mdf_dtype_kind(from);
    int bits = (int)mdf_dtype_bits(whole), from_bits = (int)mdf_dtype_bits(from);
    bool has_sign = mdf_dtype_kind(whole) == 'i';

    if (kind == 'f') {
        const char *real = mdf_source_text(writer, "(double)%s", x);

        return mdf_source_text(writer, "!(%s == floor(%s) && %s >= %s0x%dp%d && %s < 0x1p%d)", real, real, real,
                               has_sign ? "-" : "", has_sign ? 1 : 0, bits - 1, real, has_sign ? bits - 1 : bits);
    }
    if (kind == 'b' || (kind == 'u' && bits - has_sign >= from_bits) || (kind == 'i' && has_sign && bits >= from_bits)) {
        return NULL;
    }
    if (kind == 'u' || (kind == 'i' && !has_sign && bits >= from_bits)) {
        return kind == 'u' ? mdf_source_text(writer, "(uint64_t)%s >> %d != 0", x, bits - has_sign)
                           : mdf_source_text(writer, "%s < 0", x);
    }
    return has_sign ? mdf_source_text(writer, "(int64_t)%s >> %d != 0 && (int64_t)%s >> %d != -1", x, bits - 1, x, bits - 1)
                    : mdf_source_text(writer, "(int64_t)%s >> %d != 0", x, bits);
}

/* What arrives at a port of a whole type has to be whole, and such a number. */
static void check_whole(struct mdf_source_program *program, const struct mdf_source_slot *to, const struct mdf_source_slot *from)
{
    struct mdf_source_writer *writer = &program->writer;
    char kind = mdf_dtype_kind(to->dtype);
    const char *misfit = NULL;

    if ((kind == 'i' || kind == 'u') && from->length > 0 && to->dtype != from->dtype) {
        misfit = out_of_bounds(writer, to->dtype, from->dtype,
                               from->length > 1 ? mdf_source_text(writer, "%s[i]", from->name)
                                                : mdf_source_operand_element(program, from, 0));
    }
    if (misfit == NULL) {
        return;
    }
    if (from->length > 1) {
        mdf_source_open(writer, "for (size_t i = 0; i < %zu; i++)", from->length);
    }
    mdf_source_bail_out_if(writer, misfit, "a value does not fit the declared type of an input port");
    if (from->length > 1) {
        mdf_source_close(writer);
    }
}

static bool write_stretch(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt)
{
    return (n == 1 && ranges[0].first >= ranges[0].end) ||
           mdf_source_write_lowered(&program->writer, mdf_source_find_stretch(program, ranges, n, has_dt));
}

bool mdf_source_write_range(struct mdf_source_program *program, struct mdf_range range)
{
    const struct mdf_lowering_range ranges[1] = {{range.first, range.end}};

    return write_stretch(program, ranges, 1, false);
}

/* ------------------------------------------------------------------ ports */

/* What arrives at a port that nobody reads has to fit its declared type all the same. */
static bool check_unread(struct mdf_source_program *program, const struct mdf_program_port *port,
                         const struct mdf_source_slot *value)
{
    const struct mdf_declared_type *type = &port->declaration.type;
    const struct mdf_source_slot declared = {.dtype = type->dtype};
    char kind = mdf_dtype_kind(type->dtype);

    if (!type->exact || type->sequence || (kind != 'i' && kind != 'u') || type->dtype == value->dtype) {
        return true;
    }
    if (!converts(&declared, value)) {
        return mdf_source_refuse(&program->writer, "what arrives at input port '%s' is %s, and the port declared %s", port->id,
                                 mdf_dtype_name(value->dtype), mdf_dtype_name(type->dtype));
    }
    check_whole(program, &declared, value);
    return true;
}

bool mdf_source_write_arrival(struct mdf_source_program *program, size_t index, const struct mdf_source_slot *value)
{
    const struct mdf_program_port *port = &program->graph->program->ports[index];
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, port->slot), *arriving;
    struct mdf_source_writer *writer = &program->writer;

    if (slot == NULL) {
        mdf_source_line(writer, "s->has_value[%zu] = true;", index);
        return check_unread(program, port, value);
    }
    if (!fits(slot, value)) {
        return mdf_source_refuse(writer, "what arrives at input port '%s' has not always the same shape and type", port->id);
    }
    check_whole(program, slot, value);
    if (port->reduce == MDF_REDUCE_OVERWRITE) {
        mdf_source_copy(program, slot, value);
        mdf_source_line(writer, "s->has_value[%zu] = true;", index);
        return true;
    }
    arriving = mdf_source_find_operand(program, port->arriving);
    mdf_source_open(writer, "if (s->has_value[%zu])", index);
    if (arriving != NULL) {
        if (!fits(arriving, value) || !waits_unchanged(slot, arriving, value)) {
            return mdf_source_refuse(writer, "what arrives at input port '%s' has not always the same shape and type", port->id);
        }
        mdf_source_copy(program, arriving, value);
    }
    if (!mdf_source_write_range(program, port->combine)) {
        return false;
    }
    writer->depth--;
    mdf_source_line(writer, "} else {");
    writer->depth++;
    mdf_source_copy(program, slot, value);
    mdf_source_line(writer, "s->has_value[%zu] = true;", index);
    mdf_source_close(writer);
    return true;
}

/* The default value of a port in its declared type. False: it does not fit that. */
static bool declare_default(struct mdf_source_program *program, const struct mdf_program_port *port, struct mdf_value *value)
{
    struct mdf_context *context = &program->graph->state->shared->execution.context;
    mdf_error kept = context->error;
    bool done;

    context->error.code = MDF_OK;
    done = mdf_declare_value(context, value, mdf_frame_value(program->graph->state->frame, port->default_value),
                             &port->declaration.type, false);
    if (context->error.code == MDF_OUT_OF_MEMORY) {
        mdf_source_out_of_memory(&program->writer);
    }
    context->error = kept;
    return done;
}

/* The value of a port that nothing has reached, as state.c makes it. False: there is none, or memory was refused (then the error
 * is set). */
static bool make_default(struct mdf_source_program *program, const struct mdf_program_port *port, struct mdf_value *value)
{
    const struct mdf_declaration *declaration = &port->declaration;
    mdf_dtype dtype = declaration->type.dtype != MDF_DTYPE_NONE && mdf_dtype_kind(declaration->type.dtype) != 's'
                          ? declaration->type.dtype
                          : program->graph->program->real;
    size_t n;
    void *elements;

    if (port->default_value != MDF_NO_OPERAND) {
        return declare_default(program, port, value);
    }
    if (!mdf_shape_n_elements(declaration->rank, declaration->shape, &n) || n > ((size_t)1 << 30) / mdf_dtype_size(dtype)) {
        return false;
    }
    elements = mdf_value_make_tensor(&program->graph->state->shared->memory, value, dtype, declaration->rank, declaration->shape);
    if (elements == NULL) {
        return mdf_source_out_of_memory(&program->writer);
    }
    memset(elements, 0, n * mdf_dtype_size(dtype));
    return true;
}

bool mdf_source_loses(const struct mdf_value *a, const struct mdf_value *b)
{
    size_t a_size = mdf_dtype_size((mdf_dtype)a->dtype), b_size = mdf_dtype_size((mdf_dtype)b->dtype), i;
    bool may_lose = mdf_dtype_kind((mdf_dtype)a->dtype) == 'f' && mdf_dtype_kind((mdf_dtype)b->dtype) != 'f';

    for (i = 0; may_lose && i < a->length; i++) {
        if (mdf_element_to_double((mdf_dtype)a->dtype, (const char *)a->data + i * a_size) !=
            mdf_element_to_double((mdf_dtype)b->dtype, (const char *)b->data + i * b_size)) {
            return true;
        }
    }
    return false;
}

bool mdf_source_write_default(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_port *port = &program->graph->program->ports[index];
    const struct mdf_source_slot *slot = mdf_source_find_operand(program, port->slot);
    struct mdf_source_writer *writer = &program->writer;
    struct mdf_memory *memory = &program->graph->state->shared->memory;
    struct mdf_value value = {0}, converted = {0};
    bool fits_slot;

    if (slot == NULL && !port->is_required && port->default_value != MDF_NO_OPERAND && !declare_default(program, port, &value)) {
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "!s->has_value[%zu]", index),
                               "the default value of an input port does not fit its declared type");
    }
    mdf_value_clear(memory, &value);
    if (slot == NULL || port->is_required) { /* without a value the step is refused before */
        return true;
    }
    mdf_source_open(writer, "if (!s->has_value[%zu])", index);
    fits_slot = make_default(program, port, &value) && value.kind == MDF_KIND_TENSOR && value.length == slot->length &&
                (mdf_value_convert(memory, &converted, &value, slot->dtype) || mdf_source_out_of_memory(writer));
    if (fits_slot && mdf_source_loses(&value, &converted)) {
        mdf_value_clear(memory, &value);
        mdf_value_clear(memory, &converted);
        return mdf_source_refuse(writer,
                                 "input port '%s' is given %s, which can not hold its default value; give it real numbers",
                                 port->id, mdf_dtype_name(slot->dtype));
    }
    if (fits_slot && slot->length > 0) {
        char *copy = mdf_arena_allocate(&writer->arena, slot->length * mdf_dtype_size(slot->dtype));

        if (copy == NULL) {
            mdf_source_out_of_memory(writer);
        } else {
            struct mdf_source_slot from = *slot;

            memcpy(copy, converted.data, slot->length * mdf_dtype_size(slot->dtype));
            if (slot->length == 1) {
                from.is_scalar = true;
                from.name = mdf_source_literal(writer, slot->dtype, copy);
            } else {
                from.name = mdf_source_constant_array(writer, slot->dtype, copy, slot->length,
                                                      mdf_source_text(writer, "%s_default", slot->hint));
            }
            mdf_source_copy(program, slot, &from);
        }
    } else if (!fits_slot) {
        mdf_source_line(writer, "return %s;",
                        mdf_source_quote_message(
                            writer, "%s: input port '%s' has no value of the shape that the model was compiled for; give it one",
                            writer->place, port->id));
    }
    mdf_source_close(writer);
    mdf_value_clear(memory, &value);
    mdf_value_clear(memory, &converted);
    return true;
}

/* Of a node with a graph: notes what was given to its ports from outside. */
static void write_given(struct mdf_source_program *program, const struct mdf_program_node *node)
{
    size_t own = (size_t)(program->graph - program->graphs), i;

    for (i = node->first_port; node->has_graph && i < node->first_port + node->n_ports; i++) {
        mdf_source_line(&program->writer, "s->was_given_%zu[%zu] = s->has_value[%zu];", own, i, i);
        mdf_source_line(&program->writer, "s->was_fed_%zu[%zu] = false;", own, i);
    }
}

static void write_fed(struct mdf_source_program *program, const struct mdf_program_node *node, size_t port)
{
    if (node->has_graph) {
        mdf_source_line(&program->writer, "s->was_fed_%zu[%zu] = true;", (size_t)(program->graph - program->graphs), port);
    }
}

/* What the node around the graph has in its ports arrives at those of an inner one. */
static bool write_links(struct mdf_source_program *program, const struct mdf_program_node *node)
{
    const struct mdf_program *own = program->graph->program;

    for (size_t i = node->first_port; i < node->first_port + node->n_ports; i++) {
        const struct mdf_source_slot *source;

        if (program->graph == program->graphs || own->ports[i].outer_port == SIZE_MAX) {
            continue;
        }
        source = mdf_source_find_operand(program, own->ports[i].source);
        mdf_source_open(&program->writer, "if (s->is_linked[%zu])", i);
        write_fed(program, node, i);
        if (source != NULL && !mdf_source_write_arrival(program, i, source)) {
            return false;
        }
        mdf_source_close(&program->writer);
    }
    return true;
}

/* Behind a run of the node: what holds is there for all of the evaluation. */
static void write_held(struct mdf_source_program *program, size_t port)
{
    const struct mdf_program *own = program->graph->program;

    if (own->ports[port].holds && mdf_program_leaves_default(own, &own->ports[port])) {
        mdf_source_line(&program->writer, "s->has_value[%zu] = s->was_given_%zu[%zu];", port,
                        (size_t)(program->graph - program->graphs), port);
    } else {
        mdf_source_line(&program->writer, "s->has_value[%zu] = %s;", port, own->ports[port].holds ? "true" : "false");
    }
}

static bool write_ports(struct mdf_source_program *program, const struct mdf_program_node *node)
{
    struct mdf_source_writer *writer = &program->writer;

    write_given(program, node);
    if (!write_links(program, node)) {
        return false;
    }
    for (size_t i = 0; i < node->n_edges; i++) {
        const struct mdf_program_edge *edge = &program->graph->program->edges[node->edges[i]];
        const struct mdf_source_slot *value;

        if (!program->graph->state->has_run[edge->sender] && edge->has_initial) {
            return mdf_source_refuse(writer,
                                     "node '%s' did not run when the model was compiled, and what it holds at first is read",
                                     program->graph->program->nodes[edge->sender].id);
        }
        if (!program->graph->state->has_run[edge->sender]) {
            continue;
        }
        value = mdf_source_find_operand(program, edge->value);
        if (value == NULL) {
            return mdf_source_refuse(writer, "what an edge brings to input port '%s' is no array",
                                     program->graph->program->ports[edge->port].id);
        }
        if (edge->has_initial) {
            mdf_source_open(writer, "if (true)");
        } else {
            mdf_source_open(writer, "if (s->has_run[%zu])", edge->sender);
        }
        write_fed(program, node, edge->port);
        if (!mdf_source_write_range(program, edge->weigh) || !mdf_source_write_arrival(program, edge->port, value)) {
            return false;
        }
        mdf_source_close(writer);
    }
    for (size_t i = node->first_port; i < node->first_port + node->n_ports; i++) {
        if (!mdf_source_write_default(program, i)) {
            return false;
        }
        write_held(program, i);
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

/* What several nodes compute is written with the last of them. */
static bool write_together(struct mdf_source_program *program, size_t index, const char *name)
{
    const struct mdf_source_together *together = program->graph->together_of[index];
    const struct mdf_program *own = program->graph->program;
    struct mdf_source_writer *writer = &program->writer;

    mdf_source_begin_function(program, name);
    if (together->last == index && !write_stretch(program, together->ranges, together->n, false)) {
        return false;
    }
    mdf_source_end_function(
        program, name,
        together->last == index
            ? mdf_source_text(writer, "Node '%s', and those before it that are done with it.", own->nodes[index].id)
            : mdf_source_text(writer, "Node '%s': done with node '%s'.", own->nodes[index].id, own->nodes[together->last].id));
    return true;
}

/* One way of running a node: its first run or a later one, with or without a time increment. */
static bool write_variant(struct mdf_source_program *program, const struct mdf_program_node *node, const char *name,
                          bool is_first, bool has_dt, const char *what)
{
    const struct mdf_lowering_range behind = mdf_source_range_behind(program->graph->program, node);
    struct mdf_lowering_range ranges[2];
    size_t n = mdf_source_ranges_before(program->graph->program, node, is_first, ranges);

    mdf_source_begin_function(program, name);
    program->writer.is_first = is_first && node->initial < node->main;
    if (!write_stretch(program, ranges, n, has_dt) || !mdf_source_write_nested_run(program, node) ||
        !write_stretch(program, &behind, 1, has_dt)) {
        return false;
    }
    mdf_source_end_function(program, name,
                            mdf_source_text(&program->writer, "Node '%s'%s%s.", node->id, what,
                                            mdf_source_depends_on_dt(program->graph->program, node)
                                                ? (has_dt ? ", with a time increment" : ", without time increment")
                                                : ""));
    return true;
}

static bool write_variants(struct mdf_source_program *program, size_t index, const char *names[2][2])
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    struct mdf_source_writer *writer = &program->writer;
    bool differs = node->initial < node->main, depends = mdf_source_depends_on_dt(program->graph->program, node);

    for (size_t later = 0; later < 2; later++) {
        for (size_t dt = 0; dt < 2; dt++) {
            if (later == 1 && !differs) {
                names[later][dt] = names[0][dt];
                continue;
            }
            if (dt == 1 && !depends) {
                names[later][dt] = names[later][0];
                continue;
            }
            names[later][dt] = mdf_source_name(writer, &writer->globals,
                                               mdf_source_text(writer, "%s_%s%s",
                                                               later == 1 ? "compute"
                                                               : differs  ? "begin"
                                                                          : "compute",
                                                               node->id, depends && dt == 0 ? "_without_dt" : ""));
            if (program->graph->together_of[index] != NULL ? !write_together(program, index, names[later][dt])
                                                           : !write_variant(program, node, names[later][dt], later == 0, dt == 1,
                                                                            !differs     ? ""
                                                                            : later == 0 ? ": its first run"
                                                                                         : ": a later run")) {
                return false;
            }
        }
    }
    return true;
}

static void write_choice(struct mdf_source_program *program, const char *indent, const char *const names[2])
{
    if (strcmp(names[0], names[1]) == 0) {
        mdf_source_line(&program->writer, "%sreturn %s(s);", indent, names[0]);
    } else {
        mdf_source_line(&program->writer, "%sreturn s->has_dt ? %s(s) : %s(s);", indent, names[1], names[0]);
    }
}

/* Computes what the node computes in its first run, or in a later one. */
static void write_computation(struct mdf_source_program *program, size_t index, const char *names[2][2])
{
    struct mdf_source_writer *writer = &program->writer;

    if (names[0][0] != names[1][0]) {
        mdf_source_line(writer, "if (!s->has_run[%zu]) {", index);
        mdf_source_line(writer, "    s->has_run[%zu] = true;", index);
        write_choice(program, "    ", names[0]);
        mdf_source_line(writer, "}");
    } else {
        mdf_source_line(writer, "s->has_run[%zu] = true;", index);
    }
    write_choice(program, "", names[1]);
}

void mdf_source_checked_call(struct mdf_source_program *program, const char *function)
{
    struct mdf_source_writer *writer = &program->writer;

    mdf_source_line(writer, "message = %s(s);", function);
    mdf_source_open(writer, "if (message != NULL)");
    mdf_source_line(writer, "return message;");
    mdf_source_close(writer);
}

/* Values that begin anew in each evaluation: in the node's first run in it. */
static bool write_reset(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    struct mdf_source_writer *writer = &program->writer;

    if (node->reset == node->initial) {
        return true;
    }
    if (program->graph->program->schedule != NULL) {
        mdf_source_open(writer, "if (s->counts[%d][%zu] <= 1)", (int)MDF_SCOPE_UPDATE, index);
    } else {
        mdf_source_open(writer, "if (true)");
    }
    if (!mdf_source_write_range(program, (struct mdf_range){node->reset, node->initial})) {
        return false;
    }
    mdf_source_close(writer);
    return true;
}

/* Runs until the node is finished: each but the first takes what edges bring, anew. */
static bool write_repeats(struct mdf_source_program *program, size_t index, const char *take, const char *compute)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    const struct mdf_source_slot *finished = mdf_source_find_operand(program, node->finished);
    struct mdf_source_writer *writer = &program->writer;

    if (finished == NULL || finished->length != 1) {
        return mdf_source_refuse(writer, "what says whether it is finished is not one number");
    }
    mdf_source_open(writer, "for (uint64_t n = 1; message == NULL && n < UINT64_C(%llu) && %s == 0; n++)",
                    (unsigned long long)node->most_repeats, mdf_source_operand_element(program, finished, 0));
    mdf_source_checked_call(program, take);
    mdf_source_checked_call(program, compute);
    mdf_source_close(writer);
    return true;
}

/* Whether the nodes of its set take what edges bring before one of them runs. */
static bool takes_first(const struct mdf_program *program, size_t node)
{
    size_t j;

    for (size_t i = 0; i < program->n_layers; i++) {
        for (j = 0; j < program->layers[i].n_nodes && program->layers[i].nodes[j] != node; j++) {
        }
        if (j < program->layers[i].n_nodes) {
            return program->layers[i].takes_first;
        }
    }
    return false;
}

/* A node that does more than take and compute: the two as functions of their own. */
static bool write_parts(struct mdf_source_program *program, size_t index, const char *name, const char *names[2][2])
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    struct mdf_source_writer *writer = &program->writer;
    const char *take = mdf_source_name(writer, &writer->globals, mdf_source_text(writer, "take_%s", node->id)),
               *compute = mdf_source_name(writer, &writer->globals, mdf_source_text(writer, "step_%s", node->id));

    mdf_source_begin_function(program, take);
    if (!write_ports(program, node)) {
        return false;
    }
    mdf_source_end_function(program, take, mdf_source_text(writer, "Node '%s': takes what its edges bring.", node->id));
    mdf_source_begin_function(program, compute);
    write_computation(program, index, names);
    mdf_source_end_function(program, compute, mdf_source_text(writer, "Node '%s': one run.", node->id));
    mdf_source_begin_function(program, name);
    mdf_source_line(writer, "const char *message = NULL;");
    mdf_source_blank(writer);
    if (takes_first(program->graph->program, index)) {
        program->graph->take_functions[index] = take;
    } else {
        mdf_source_checked_call(program, take);
    }
    if (!write_reset(program, index)) {
        return false;
    }
    mdf_source_checked_call(program, compute);
    return node->finished == MDF_NO_OPERAND || write_repeats(program, index, take, compute);
}

static bool write_node(struct mdf_source_program *program, size_t index)
{
    const struct mdf_program_node *node = &program->graph->program->nodes[index];
    struct mdf_source_writer *writer = &program->writer;
    const char *name = mdf_source_name(writer, &writer->globals, mdf_source_text(writer, "run_%s", node->id));
    const char *names[2][2] = {{NULL, NULL}, {NULL, NULL}};

    mdf_source_at(writer, mdf_source_text(writer, "node '%s'", node->id), &node->origin);
    program->graph->node_functions[index] = name;
    if (!program->graph->state->has_run[index]) {
        mdf_source_begin_function(program, name);
        mdf_source_line(writer, "return %s;",
                        mdf_source_quote_message(writer,
                                                 "%s did not run when the model was compiled, so that its shapes are not known",
                                                 writer->place));
    } else if (!write_variants(program, index, names)) {
        return false;
    } else if (node->reset < node->initial || node->finished != MDF_NO_OPERAND || takes_first(program->graph->program, index)) {
        if (!write_parts(program, index, name, names)) {
            return false;
        }
    } else {
        mdf_source_begin_function(program, name);
        if (!write_ports(program, node)) {
            return false;
        }
        write_computation(program, index, names);
    }
    mdf_source_end_function(program, name,
                            mdf_source_text(writer, "Node '%s': takes what its edges bring, and computes.", node->id));
    return true;
}

bool mdf_source_write_nodes(struct mdf_source_program *program)
{
    for (size_t i = 0; i < program->graph->program->n_nodes; i++) {
        if (!write_node(program, i)) {
            return false;
        }
    }
    return true;
}
