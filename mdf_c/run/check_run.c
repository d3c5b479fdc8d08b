/* check_run.c - see check_run.h. */
#include "mdf_c/run/check_run.h"

#include "mdf_c/run/state.h"

#include <math.h>

static bool is_given(const struct mdf_program *program, const struct mdf_program_port *port, const struct mdf_run_check *check)
{
    size_t i;

    for (i = 0; i < check->n_given; i++) {
        if (check->given[i] != NULL && mdf_port_is_named(program, port, check->given[i])) {
            return true;
        }
    }
    return false;
}

void mdf_run_check(const struct mdf_program *program, const struct mdf_run_check *check, const struct mdf_warnings *warnings)
{
    const struct mdf_origin *slope = &program->derivative;
    size_t i;

    for (i = 0; i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];

        if (port->is_open && !is_given(program, port, check)) {
            mdf_warn(
                warnings, port->origin.file, port->origin.line, port->origin.column, port->origin.path,
                "nothing feeds it, so that it is 0: give it a value (mdf-run --input %s.%s=VALUE), an edge, or a default_value",
                program->nodes[port->node].id, port->id);
        }
    }
    if (program->has_derivative && check->n_steps > 1 && isnan(check->dt)) {
        mdf_warn(warnings, slope->file, slope->line, slope->column, slope->path,
                 "without a time increment its time_derivative has no effect, and it stands still: give one (mdf-run --dt)");
    }
}
