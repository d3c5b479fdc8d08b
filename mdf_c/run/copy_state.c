/* copy_state.c - see copy_state.h. Comes in: two states of one program. Holds afterwards: an evaluation of either, with the same
 * inputs, gives the same bits and the same schedule, and what is read of either is the same. What each has found out about how to
 * run - lowered forms, machine code, tables of kernels - stays its own. */
#include "mdf_c/run/copy_state.h"

#include "functions/sampling/random.h"
#include "mdf_c/run/buffer_reuse.h"
#include "mdf_c/run/epilogues.h"
#include "mdf_c/run/restart.h"
#include "mdf_c/run/slot_reads.h"
#include "mdf_c/run/solve/solve.h"

#include <string.h>

/* The source as its slots and its scheduler have it. */
static bool settle(struct mdf_state *source)
{
    mdf_whole_write_back(source);
    for (size_t i = 0; i < source->program->n_nodes; i++) {
        if (source->has_run[i] && !mdf_state_materialise(source, i, SIZE_MAX)) {
            return false;
        }
    }
    return true;
}

static bool copy_ports(struct mdf_state *target, const struct mdf_state *source)
{
    for (size_t i = 0; i < source->program->n_ports; i++) {
        struct mdf_state_port *to = &target->ports[i];
        const struct mdf_state_port *from = &source->ports[i];

        if ((from->has_input || from->repeats) && !mdf_value_copy_apart(&target->shared->memory, &to->input, &from->input)) {
            return false;
        }
        to->has_input = from->has_input;
        to->repeats = from->repeats;
        to->has_value = from->has_value;
        to->has_default = from->has_default;
        to->was_given = from->was_given;
        to->was_fed = from->was_fed;
        to->is_linked = from->is_linked;
    }
    return true;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Types and shapes are as stable as they are in both. */
static void copy_counts_of_runs(struct mdf_state *target, const struct mdf_state *source)
{
    unsigned n_runs;

    for (size_t i = 0; source->nodes != NULL && i < source->program->n_nodes; i++) {
        target->nodes[i].n_runs = least(target->nodes[i].n_runs, source->nodes[i].n_runs);
    }
    if (source->whole != NULL) {
        n_runs = least(target->whole->n_runs, source->whole->n_runs);
        mdf_whole_renew(target);
        target->whole->n_runs = n_runs;
    }
}

static bool copy_slots(struct mdf_state *target, const struct mdf_state *source)
{
    struct mdf_shared_state *shared = target->shared;

    if (target->kept_slots == NULL) {
        target->kept_slots = mdf_program_kept_slots(target->program, &shared->execution.arena);
    }
    for (size_t i = 0; target->kept_slots != NULL && i < target->program->code->n_slots; i++) {
        if (target->kept_slots[i] != MDF_READ_BY_NOBODY && !mdf_frame_copy_slot(target->frame, source->frame, i)) {
            return false;
        }
    }
    return target->kept_slots != NULL;
}

static bool copy_graph(struct mdf_state *target, const struct mdf_state *source)
{
    const struct mdf_program *program = source->program;

    memcpy(target->has_run, source->has_run, program->n_nodes * sizeof *source->has_run);
    copy_counts_of_runs(target, source);
    mdf_epilogues_forget(target);
    mdf_whole_forget(target);
    mdf_buffer_reuse_forget(target);
    if (program->schedule != NULL) {
        mdf_scheduler_copy(&target->scheduler, &source->scheduler, program);
    }
    return copy_slots(target, source) && copy_ports(target, source) &&
           mdf_schedule_record_copy(&target->schedule, &target->shared->memory, &source->schedule);
}

/* Graphs within nodes are in the same order in all states of a program. */
static bool copy_all(struct mdf_state *target, struct mdf_state *source)
{
    struct mdf_state *to = target->shared->nested, *from = source->shared->nested;

    if (!settle(source) || !copy_graph(target, source) ||
        !mdf_random_copy(&target->shared->execution.context, &source->shared->execution.context)) {
        return false;
    }
    for (; from != NULL; to = to->next, from = from->next) {
        if (!copy_graph(to, from)) {
            return false;
        }
    }
    target->shared->execution.dt = source->shared->execution.dt;
    target->shared->has_begun = source->shared->has_begun;
    return true;
}

mdf_status mdf_state_take_over(struct mdf_state *target, struct mdf_state *source, mdf_error *error)
{
    struct mdf_context *context = &target->shared->execution.context;

    if (mdf_program_is_solved_by_library(target->program)) {
        return mdf_error_set(error, MDF_UNSUPPORTED, "the state of %s can not be copied: take dopri5 (docs/time.md)",
                             mdf_method_names[target->program->solver.method]);
    }
    if (copy_all(target, source)) {
        return MDF_OK;
    }
    mdf_memory_error(&target->shared->memory, error);
    mdf_state_restart(target, context->seed, NULL);
    return MDF_OUT_OF_MEMORY;
}
