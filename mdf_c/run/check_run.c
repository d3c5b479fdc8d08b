/* check_run.c - see check_run.h. */
#include "mdf_c/run/check_run.h"

#include "mdf_c/run/state.h"

#include <math.h>

/* Which ports have a name that is given; NULL: memory is refused. */
static const bool *find_given(struct mdf_arena *arena, const struct mdf_program *program, const struct mdf_run_check *check)
{
    bool *are_given = mdf_arena_array(arena, program->n_ports, sizeof *are_given);

    for (size_t i = 0; are_given != NULL && i < check->n_given; i++) {
        const struct mdf_named_port *named = mdf_program_ports_named(program, check->given[i]);

        for (; named != NULL; named = mdf_program_next_named(program, named)) {
            are_given[named->port] = true;
        }
    }
    return are_given;
}

static void warn(const struct mdf_warnings *warnings, const char *code, const struct mdf_origin *origin, const char *format, ...)
    MDF_PRINTF_LIKE(4, 5);

static void warn(const struct mdf_warnings *warnings, const char *code, const struct mdf_origin *origin, const char *format, ...)
{
    mdf_error warning = {0};
    va_list arguments;

    va_start(arguments, format);
    mdf_error_set_v(&warning, MDF_MODEL, format, arguments);
    va_end(arguments);
    mdf_error_at(&warning, origin->file, origin->line, origin->column);
    mdf_error_in(&warning, "%s", origin->path != NULL ? origin->path : "");
    mdf_warn_of(warnings, code, &warning);
}

size_t mdf_run_check(const struct mdf_program *program, const struct mdf_run_check *check, const struct mdf_warnings *warnings)
{
    const struct mdf_origin *slope = &program->derivative;
    struct mdf_memory memory;
    struct mdf_arena arena;
    const bool *are_given;
    size_t n_warnings = 0;

    mdf_memory_init(&memory, &program->memory.allocator, 0);
    mdf_arena_init(&arena, &memory);
    are_given = find_given(&arena, program, check);
    for (size_t i = 0; are_given != NULL && i < program->n_ports; i++) {
        const struct mdf_program_port *port = &program->ports[i];

        if (port->is_open && !are_given[i]) {
            warn(warnings, "unfed-input", &port->origin,
                 "nothing feeds it, so that it is 0: give it a value (mdf-run --input %s.%s=VALUE), an edge, or a default_value",
                 program->nodes[port->node].id, port->id);
            n_warnings++;
        }
    }
    mdf_arena_release(&arena);
    if (program->has_derivative && check->n_steps > 1 && isnan(check->dt)) {
        warn(warnings, "no-time-increment", slope,
             "without a time increment its time_derivative has no effect, and it stands still: give one (mdf-run --dt)");
        n_warnings++;
    }
    return n_warnings;
}
