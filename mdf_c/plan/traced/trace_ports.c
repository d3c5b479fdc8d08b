/* trace_ports.c - see trace.h: what fills the input ports of the nodes that are traced: edges, the node around, what is given
 * from outside, default values. */
#include "mdf_c/plan/traced/trace.h"

#include <string.h>

/* An edge that brings something into a port. */
struct arrival {
    const struct mdf_program_port *port;
    const struct mdf_program_edge *edge;
    bool is_first; /* of those that do */
    bool is_fed;   /* the port then holds something */
};

/* A value that an edge brings into a port, behind others perhaps. */
static bool arrive(struct tracer *tracer, const struct mdf_program_port *port, mdf_operand value, bool is_first)
{
    bool combines = !is_first && port->reduce != MDF_REDUCE_OVERWRITE;
    mdf_operand slot = combines ? port->arriving : port->slot;
    mdf_operand taken =
        port->declaration.type.dtype != MDF_DTYPE_NONE ? unit_declare(&tracer->target, value, &port->declaration.type) : value;

    tracer->now[MDF_OPERAND_INDEX(slot)] = taken;
    return taken != MDF_NO_OPERAND && (!combines || trace_range(tracer, port->combine.first, port->combine.end));
}

/* numpy.full(shape, 0.0): what a port holds that nothing fills. */
static mdf_operand zeros_of(struct tracer *tracer, const struct mdf_program_port *port)
{
    const struct mdf_declaration *declaration = &port->declaration;
    mdf_dtype dtype = declaration->type.dtype != MDF_DTYPE_NONE && mdf_dtype_kind(declaration->type.dtype) != 's'
                          ? declaration->type.dtype
                          : tracer->target.compiler->real;
    struct mdf_memory *memory = tracer->target.compiler->memory;
    struct mdf_value value = {0};
    size_t n, n_bytes;
    void *elements;

    if (!mdf_shape_n_elements(declaration->rank, declaration->shape, &n) ||
        !mdf_size_multiply(n, mdf_dtype_size(dtype), &n_bytes)) {
        trace_refuse(tracer, "a port that nothing fills and whose declared shape has an open axis");
        return MDF_NO_OPERAND;
    }
    elements = mdf_value_make_tensor(memory, &value, dtype, declaration->rank, declaration->shape);
    if (elements == NULL) {
        return compile_out_of_memory(tracer->target.compiler);
    }
    memset(elements, 0, n_bytes);
    value.strength = (uint8_t)(declaration->type.exact ? MDF_STRENGTH_TYPED : MDF_STRENGTH_LITERAL);
    return unit_add_constant(&tracer->target, &value, 0);
}

static bool fill_default(struct tracer *tracer, const struct mdf_program_port *port)
{
    mdf_operand value =
        port->default_value != MDF_NO_OPERAND ? trace_operand(tracer, port->default_value) : zeros_of(tracer, port);

    if (value != MDF_NO_OPERAND && port->default_value != MDF_NO_OPERAND && port->declaration.type.dtype != MDF_DTYPE_NONE) {
        value = unit_declare(&tracer->target, value, &port->declaration.type);
    }
    tracer->now[MDF_OPERAND_INDEX(port->slot)] = value;
    return value != MDF_NO_OPERAND;
}

/* Code asks which ports are given something. */
static mdf_operand *questions_of(struct compiler *compiler)
{
    struct mdf_program *program = compiler->program;
    size_t n = program->n_ports;

    if (program->is_given == NULL) {
        program->is_given = mdf_arena_array(compiler->arena, n, sizeof *program->is_given);
        for (size_t i = 0; program->is_given != NULL && i < n; i++) {
            program->is_given[i] = MDF_NO_OPERAND;
        }
    }
    return program->is_given;
}

mdf_operand trace_is_given(struct tracer *tracer, size_t port)
{
    struct unit *from = tracer->frames[0].from;
    struct scope scope = {.unit = from};
    mdf_operand *is_given = questions_of(tracer->target.compiler);

    if (is_given == NULL) {
        return compile_out_of_memory(tracer->target.compiler);
    }
    if (is_given[port] == MDF_NO_OPERAND) {
        is_given[port] = unit_new_slot(&(struct target){tracer->target.compiler, from, &scope}, OPERAND_IS_BOOL);
    }
    return is_given[port] != MDF_NO_OPERAND ? unit_capture(&tracer->target, tracer->target.unit, from, is_given[port])
                                            : MDF_NO_OPERAND;
}

static bool runs_again(const struct mdf_program *program)
{
    bool repeats = program->schedule != NULL;

    for (size_t i = 0; i < program->n_nodes; i++) {
        repeats = repeats || program->nodes[i].finished != MDF_NO_OPERAND;
    }
    return repeats;
}

static bool trace_from_around(struct tracer *tracer, void *context)
{
    const struct mdf_program_port *port = ((const struct arrival *)context)->port;
    mdf_operand value = trace_operand(tracer, port->source);

    return value != MDF_NO_OPERAND && arrive(tracer, port, value, true);
}

/* The same where the node around gets it from outside, or nothing: then it has its default value, which is this port's, where
 * there is one. */
static bool trace_from_outside(struct tracer *tracer, const struct mdf_program_port *port, bool *arrived)
{
    const struct trace_frame *own = &tracer->frames[tracer->frame];
    struct mdf_program_port *around = &tracer->target.compiler->program->ports[port->outer_port];

    *arrived = true;
    if (!around->holds && !port->is_required && (runs_again(tracer->frames[0].program) || runs_again(own->program))) {
        around->is_closed = true; /* what is given would be read once, by the first of several runs */
        return fill_default(tracer, port);
    }
    if (around->default_value != MDF_NO_OPERAND || port->default_value == MDF_NO_OPERAND) {
        return trace_from_around(tracer, &(struct arrival){.port = port});
    }
    return fill_default(tracer, port) &&
           trace_where(tracer, trace_is_given(tracer, port->outer_port), trace_from_around, &(struct arrival){.port = port});
}

/* Of a graph within a node: what the node around has in the port that feeds this one, if there is anything; *arrived: there is.
 */
static bool trace_link(struct tracer *tracer, const struct mdf_program_port *port, bool *arrived)
{
    size_t frame = tracer->frames[tracer->frame].outer;
    const struct trace_frame *outer = &tracer->frames[frame];
    const struct mdf_program_port *around;

    *arrived = false;
    if (port->outer_port == SIZE_MAX) {
        return true;
    }
    around = &outer->program->ports[port->outer_port];
    if (!outer->is_fed[port->outer_port]) {
        if (around->is_fed) {
            return true; /* the default value is this port's too */
        }
        if (frame == 0) {
            return trace_from_outside(tracer, port, arrived);
        }
        if (around->default_value != MDF_NO_OPERAND) {
            return true;
        }
        if (port->default_value != MDF_NO_OPERAND || outer->code != NULL) {
            return trace_refuse(tracer, "an input of a graph within a node, which may be given or not");
        }
    }
    *arrived = true;
    return trace_from_around(tracer, &(struct arrival){.port = port});
}

bool trace_brings(const struct tracer *tracer, const struct mdf_program_edge *edge)
{
    size_t source = MDF_OPERAND_INDEX(edge->source);

    return MDF_OPERAND_KIND(edge->source) != MDF_OPERAND_SLOT || !tracer->is_written[source] || tracer->is_later ||
           trace_is_clear(tracer->now[source]);
}

static bool trace_arrival(struct tracer *tracer, void *context)
{
    const struct arrival *arrival = context;
    mdf_operand value;

    if (!trace_range(tracer, arrival->edge->weigh.first, arrival->edge->weigh.end)) {
        return false;
    }
    value = trace_operand(tracer, arrival->edge->value);
    return value != MDF_NO_OPERAND && arrive(tracer, arrival->port, value, arrival->is_first);
}

/* The same where only a run tells whether an edge before it has brought something: it is combined with that, or the first. */
static bool trace_later_arrival(struct tracer *tracer, struct arrival *arrival, mdf_operand brings, mdf_operand has_come)
{
    mdf_operand none = unit_call_python(&tracer->target, "numpy.logical_not", &has_come, 1);
    mdf_operand behind = unit_call_two(&tracer->target, "numpy.logical_and", brings, has_come);
    mdf_operand first =
        none != MDF_NO_OPERAND ? unit_call_two(&tracer->target, "numpy.logical_and", brings, none) : MDF_NO_OPERAND;

    if (behind == MDF_NO_OPERAND || first == MDF_NO_OPERAND) {
        return false;
    }
    arrival->is_first = false;
    if (!trace_where(tracer, behind, trace_arrival, arrival)) {
        return false;
    }
    arrival->is_first = true;
    return trace_where(tracer, first, trace_arrival, arrival);
}

/* Whether something has come behind an edge too; MDF_NO_OPERAND: it is known. */
static mdf_operand come_by(struct tracer *tracer, mdf_operand has_come, mdf_operand brings)
{
    return has_come == MDF_NO_OPERAND ? brings : unit_call_two(&tracer->target, PYTHON_EITHER, has_come, brings);
}

/* The same of an edge of which only a run tells whether it does. *has_come: whether others have before, MDF_NO_OPERAND: it is
 * known. */
static bool trace_arrival_now(struct tracer *tracer, const struct mdf_program_node *node, struct arrival *arrival,
                              mdf_operand *has_come)
{
    mdf_operand brings = tracer->brings_now(tracer, arrival->edge), before = *has_come;
    const struct mdf_value *known = brings != MDF_NO_OPERAND ? unit_constant(tracer->target.unit, brings) : NULL;
    bool is_sure = !arrival->is_first && before == MDF_NO_OPERAND;

    if (known == NULL && node->has_graph && arrival->port->default_value == MDF_NO_OPERAND) {
        return trace_refuse(tracer, "an input of a graph within a node, which may be given or not");
    }
    if (known == NULL && arrival->is_first && !fill_default(tracer, arrival->port)) {
        return false;
    }
    arrival->is_fed = known == NULL || mdf_value_truth(known) == 1;
    if (arrival->port->reduce == MDF_REDUCE_OVERWRITE || !arrival->is_fed) {
        return trace_where(tracer, brings, trace_arrival, arrival);
    }
    *has_come = is_sure || known != NULL ? MDF_NO_OPERAND : come_by(tracer, before, brings);
    return before != MDF_NO_OPERAND ? trace_later_arrival(tracer, arrival, brings, before)
                                    : trace_where(tracer, brings, trace_arrival, arrival);
}

static bool trace_default(struct tracer *tracer, void *context)
{
    return fill_default(tracer, ((const struct arrival *)context)->port);
}

/* What is given to a port from outside; where that has been read in this evaluation, its default value. */
static bool trace_given(struct tracer *tracer, const struct mdf_program_node *node, const struct mdf_program_port *port)
{
    size_t slot = MDF_OPERAND_INDEX(port->slot);
    mdf_operand again;

    if (!tracer->is_written[slot]) {
        return true; /* it holds */
    }
    if (tracer->has_read_now == NULL && tracer->has_read) {
        return fill_default(tracer, port);
    }
    tracer->now[slot] = unit_capture(&tracer->target, tracer->target.unit, tracer->from, port->slot);
    if (tracer->has_read_now == NULL || tracer->now[slot] == MDF_NO_OPERAND) {
        return tracer->now[slot] != MDF_NO_OPERAND;
    }
    again = tracer->has_read_now(tracer, node);
    return trace_where(tracer, again, trace_default, &(struct arrival){.port = port});
}

/* What edges, or the node around the graph, bring to it; else its default value. */
bool trace_port(struct tracer *tracer, const struct mdf_program *program, const struct mdf_program_node *node, size_t index)
{
    const struct mdf_program_port *port = &program->ports[index];
    bool is_fed = false, has_edges = tracer->frame > 0;
    mdf_operand has_come = MDF_NO_OPERAND;

    if (tracer->frame > 0 && !trace_link(tracer, port, &is_fed)) {
        return false;
    }
    for (size_t i = 0; i < node->n_edges; i++) {
        struct arrival arrival = {port, &program->edges[node->edges[i]], !is_fed, false};

        if (arrival.edge->port != index) {
            continue;
        }
        has_edges = true;
        if (tracer->schedules != NULL) {
            if (!trace_arrival_now(tracer, node, &arrival, &has_come)) {
                return false;
            }
            is_fed = is_fed || arrival.is_fed;
            continue;
        }
        if (!(tracer->brings != NULL ? tracer->brings[i] : trace_brings(tracer, arrival.edge))) {
            continue;
        }
        if (!trace_arrival(tracer, &arrival)) {
            return false;
        }
        is_fed = true;
    }
    if (tracer->frames != NULL) {
        tracer->frames[tracer->frame].is_fed[index] = is_fed;
    }
    return has_edges ? is_fed || fill_default(tracer, port) : trace_given(tracer, node, port);
}

bool trace_ports(struct tracer *tracer, const struct mdf_program_node *node)
{
    for (size_t i = 0; i < node->n_ports; i++) {
        if (!trace_port(tracer, trace_program(tracer), node, node->first_port + i)) {
            return false;
        }
    }
    return true;
}

void trace_mark_fed(const struct mdf_program *program, bool *is_written)
{
    for (size_t i = 0; i < program->n_edges; i++) {
        const struct mdf_program_port *port = &program->ports[program->edges[i].port];

        is_written[MDF_OPERAND_INDEX(port->slot)] = true;
        if (port->reduce != MDF_REDUCE_OVERWRITE) {
            is_written[MDF_OPERAND_INDEX(port->arriving)] = true;
        }
    }
}

bool trace_is_given_once(const struct mdf_program_port *port)
{
    return !port->holds && port->node != SIZE_MAX && !port->is_fed;
}

void trace_mark_given(const struct mdf_program *program, bool *is_written)
{
    bool repeats = runs_again(program);

    for (size_t i = 0; repeats && i < program->n_ports; i++) {
        if (trace_is_given_once(&program->ports[i])) {
            is_written[MDF_OPERAND_INDEX(program->ports[i].slot)] = true;
        }
    }
}
