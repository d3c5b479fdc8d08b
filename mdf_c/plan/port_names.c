/* port_names.c - the input ports of a program by what callers call them: PORT, NODE.PORT, or the name in the graph's interface. A
 * name is looked up, not searched for: callers set thousands of inputs in each step. */
#include "mdf_c/plan/program.h"

#include <stdio.h>
#include <string.h>

/* Puts a port in front of those that have the name. False: out of memory. */
static bool add_name(struct mdf_program *program, const char *name, size_t port)
{
    size_t *first = name_table_add(&program->port_names, &program->arena, name);
    struct mdf_named_port *named;

    if (first == NULL) {
        return false;
    }
    if (*first > 0 && program->named_ports[*first - 1].port == port) {
        return true; /* two of its names are one */
    }
    named = &program->named_ports[program->n_named_ports++];
    *named = (struct mdf_named_port){port, *first};
    *first = program->n_named_ports;
    return true;
}

static bool add_path(struct mdf_program *program, const char *node, const char *id, size_t port)
{
    size_t size = strlen(node) + strlen(id) + 2;
    char *path = mdf_arena_allocate(&program->arena, size);

    if (path == NULL) {
        return false;
    }
    snprintf(path, size, "%s.%s", node, id);
    return add_name(program, path, port);
}

bool mdf_program_name_ports(struct mdf_program *program)
{
    enum { NAMES_OF_A_PORT = 3 };
    bool done;

    program->named_ports = mdf_arena_array(&program->arena, program->n_ports, NAMES_OF_A_PORT * sizeof *program->named_ports);
    done = program->named_ports != NULL;
    for (size_t i = program->n_ports; done && i-- > 0;) {
        const struct mdf_program_port *port = &program->ports[i];

        done = add_name(program, port->id, i) && (port->input_name == NULL || add_name(program, port->input_name, i)) &&
               (port->node == SIZE_MAX || add_path(program, program->nodes[port->node].id, port->id, i));
    }
    return done;
}

const struct mdf_named_port *mdf_program_ports_named(const struct mdf_program *program, const char *name)
{
    const size_t *first = name_table_find(&program->port_names, name);

    return first != NULL ? &program->named_ports[*first - 1] : NULL;
}

const struct mdf_named_port *mdf_program_next_named(const struct mdf_program *program, const struct mdf_named_port *named)
{
    return named->next > 0 ? &program->named_ports[named->next - 1] : NULL;
}

size_t mdf_program_count_outputs(const struct mdf_program *program)
{
    size_t n = 0;

    for (size_t i = 0; i < program->n_nodes; i++) {
        n += program->nodes[i].n_outputs;
    }
    return n;
}

bool mdf_program_leaves_default(const struct mdf_program *program, const struct mdf_program_port *port)
{
    return !port->is_required && port->node != SIZE_MAX && program->nodes[port->node].has_graph;
}
