/* known_order.c - see known_order.h. */
#include "mdf_c/plan/conditions/known_order.h"

#include "mdf_c/plan/conditions/condition_terms.h"
#include "mdf_c/plan/conditions/known_course.h"

/* ------------------------------------------------------------------ what is looked at */

static void note_unknown(void *context, enum mdf_condition_read what, uint8_t scope, size_t index)
{
    bool *is_unknown = context;

    switch (what) {
    case MDF_READ_RUNS:
    case MDF_READ_ALL_RUNS:
        *is_unknown = *is_unknown || scope == MDF_SCOPE_LIFE;
        return;
    case MDF_READ_USABLE:
        return;
    case MDF_READ_CLOCK:
        *is_unknown = *is_unknown || (index != MDF_CLOCK_PASSES_IN_UPDATE && index != MDF_CLOCK_SETS_IN_UPDATE);
        return;
    case MDF_READ_SPENT:
    case MDF_READ_LAST_SET:
    case MDF_READ_TIME:
    case MDF_READ_VALUE:
        break;
    }
    *is_unknown = true;
}

static bool looks_beyond_the_evaluation(const struct mdf_schedule *schedule)
{
    bool is_unknown = schedule->is_absolute;

    for (uint32_t i = 0; i < schedule->n_conditions && !is_unknown; i = schedule->conditions[i].end) {
        mdf_conditions_read(schedule, i, note_unknown, &is_unknown);
    }
    return is_unknown;
}

/* ------------------------------------------------------------------ sets and passes */

/* The nodes of a layer that run in a set, in the order of the layer; how many. */
static size_t take_set(struct mdf_course *course, const struct mdf_program_layer *layer, uint32_t *nodes)
{
    size_t n = 0;

    if (mdf_course_make_set(course, layer) == 0) {
        return 0;
    }
    for (size_t i = 0; i < layer->n_nodes; i++) {
        if (course->in_set[layer->nodes[i]]) {
            nodes[n++] = (uint32_t)layer->nodes[i];
            course->in_set[layer->nodes[i]] = false;
        }
    }
    return n;
}

/* False: there are too many sets. */
static bool make_pass(struct mdf_course *course, size_t most_sets, struct mdf_known_order *order)
{
    const struct mdf_program *program = course->program;
    size_t before = order->n_sets;

    mdf_course_begin_pass(course);
    for (size_t i = 0; i < program->n_layers && !mdf_course_is_over(course); i++) {
        size_t first = order->n_sets > 0 ? order->ends[order->n_sets - 1] : 0, n;

        if (order->n_sets == most_sets) {
            return false;
        }
        n = take_set(course, &program->layers[i], order->nodes + first);
        if (n > 0) {
            order->ends[order->n_sets++] = first + n;
        }
        if (n > 0 && !mdf_course_end_set(course)) {
            return false;
        }
    }
    course->clocks[MDF_CLOCK_PASSES_IN_UPDATE]++;
    return order->n_sets > before || mdf_course_end_set(course); /* a pass in which nothing runs is a set */
}

bool mdf_find_known_order(const struct mdf_program *program, size_t most_sets, struct mdf_arena *arena,
                          struct mdf_known_order *order, bool *is_known)
{
    uint64_t most_passes = program->max_passes < most_sets ? program->max_passes : most_sets;
    struct mdf_course course;

    *is_known = program->schedule != NULL && !looks_beyond_the_evaluation(program->schedule);
    if (!*is_known) {
        return true;
    }
    order->nodes = mdf_arena_array(arena, most_sets * (program->n_nodes + 1), sizeof *order->nodes);
    order->ends = mdf_arena_array(arena, most_sets + 1, sizeof *order->ends);
    order->n_sets = 0;
    if (!mdf_course_begin(&course, program, arena) || order->nodes == NULL || order->ends == NULL) {
        return false;
    }
    while (*is_known && !mdf_course_is_over(&course)) {
        *is_known = make_pass(&course, most_sets, order) && course.clocks[MDF_CLOCK_PASSES_IN_UPDATE] < most_passes;
    }
    return true;
}
