/* by_values_counters.c - see by_values_terms.h: slots for what is counted of a graph. What no condition looks at is not counted.
 */
#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/plan/gradient/by_values_terms.h"

struct reader {
    const struct mdf_program *program;
    struct counters *counters;
    struct target *target;
};

static void add_counter(struct target *target, mdf_operand *counter, bool is_bool)
{
    *counter = *counter == MDF_NO_OPERAND ? unit_new_slot(target, is_bool ? OPERAND_IS_BOOL : 0) : *counter;
}

bool by_values_add_reads(struct target *target, const struct mdf_program *program, struct counters *counters)
{
    for (size_t i = 0; i < program->n_ports; i++) {
        if (trace_is_given_once(&program->ports[i])) {
            add_counter(target, &counters->has_read[program->ports[i].node], true);
        }
    }
    return target->compiler->error->code == MDF_OK;
}

/* What conditions look at is counted. */
static void add_read(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    const struct reader *reader = context;
    struct counters *counters = reader->counters;

    switch (what) {
    case MDF_READ_RUNS:
        add_counter(reader->target, &counters->counts[scope][index], false);
        break;
    case MDF_READ_ALL_RUNS:
        for (size_t i = 0; i < reader->program->n_nodes; i++) {
            add_counter(reader->target, &counters->counts[scope][i], false);
        }
        break;
    case MDF_READ_USABLE:
        add_counter(reader->target, &counters->marks[index], false);
        add_counter(reader->target, &counters->counts[MDF_SCOPE_UPDATE][reader->program->schedule->usables[index].dependency],
                    false);
        break;
    case MDF_READ_CLOCK:
        add_counter(reader->target, &counters->clocks[index], false);
        break;
    case MDF_READ_SPENT:
        add_counter(reader->target, &counters->spent[index], false);
        break;
    case MDF_READ_LAST_SET:
        add_counter(reader->target, &counters->n_sets, false);
        add_counter(reader->target, &counters->last_sets[index], false);
        break;
    case MDF_READ_TIME:
    case MDF_READ_VALUE:
        break;
    }
}

static bool new_counters(struct compiler *compiler, const struct mdf_program *program, struct counters *counters)
{
    size_t n_usables = program->schedule != NULL ? program->schedule->n_usables : 0,
           n_spent = program->schedule != NULL ? program->schedule->n_spent : 0;

    *counters = (struct counters){.n_sets = MDF_NO_OPERAND, .time = MDF_NO_OPERAND};
    for (size_t i = 0; i < MDF_CLOCK_COUNT; i++) {
        counters->clocks[i] = MDF_NO_OPERAND;
    }
    counters->is_over = counters->any_ran = counters->goes_on = MDF_NO_OPERAND;
    for (size_t i = 0; i < MDF_SCOPE_COUNT; i++) {
        counters->counts[i] = trace_new_operands(compiler, program->n_nodes + 1, MDF_NO_OPERAND);
        if (counters->counts[i] == NULL) {
            return false;
        }
    }
    counters->has_run = trace_new_operands(compiler, program->n_nodes + 1, MDF_NO_OPERAND);
    counters->has_read = trace_new_operands(compiler, program->n_nodes + 1, MDF_NO_OPERAND);
    counters->last_sets = trace_new_operands(compiler, program->n_nodes + 1, MDF_NO_OPERAND);
    counters->marks = trace_new_operands(compiler, n_usables + 1, MDF_NO_OPERAND);
    counters->spent = trace_new_operands(compiler, n_spent + 1, MDF_NO_OPERAND);
    return counters->has_run != NULL && counters->has_read != NULL && counters->last_sets != NULL && counters->marks != NULL &&
           counters->spent != NULL;
}

bool by_values_add_counters(struct target *target, const struct mdf_program *program, struct counters *counters)
{
    struct reader reader = {program, counters, target};
    const struct mdf_schedule *schedule = program->schedule;

    if (!new_counters(target->compiler, program, counters)) {
        return false;
    }
    for (size_t i = 0; i < program->n_nodes; i++) {
        add_counter(target, &counters->has_run[i], true);
        if (schedule != NULL && program->nodes[i].reset < program->nodes[i].initial) {
            add_counter(target, &counters->counts[MDF_SCOPE_UPDATE][i], false);
        }
    }
    if (schedule != NULL) {
        add_counter(target, &counters->is_over, true);
        add_counter(target, &counters->any_ran, true);
        add_counter(target, &counters->goes_on, true);
        add_counter(target, &counters->clocks[MDF_CLOCK_PASSES_IN_UPDATE], false);
        if (schedule->is_absolute) {
            add_counter(target, &counters->time, false);
        }
        for (uint32_t i = 0; i < schedule->n_conditions; i = schedule->conditions[i].end) {
            mdf_conditions_read(schedule, i, add_read, &reader);
        }
    }
    return target->compiler->error->code == MDF_OK;
}
