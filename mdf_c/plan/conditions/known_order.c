/* known_order.c - see known_order.h. An evaluation without nodes: sets are made as mdf_c/run/schedule/scheduler.c makes them. */
#include "mdf_c/plan/conditions/known_order.h"

#include "mdf_c/plan/conditions/condition_terms.h"

#include <string.h>

/* What has happened so far in the evaluation. */
struct course {
    const struct mdf_program *program;
    uint64_t *counts[MDF_SCOPE_COUNT], *marks, clocks[MDF_CLOCK_COUNT];
    bool *in_set;
};

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
    uint32_t i;

    for (i = 0; i < schedule->n_conditions && !is_unknown; i = schedule->conditions[i].end) {
        mdf_conditions_read(schedule, i, note_unknown, &is_unknown);
    }
    return is_unknown;
}

/* ------------------------------------------------------------------ conditions, of known numbers */

static union mdf_term known(double number)
{
    return (union mdf_term){.known = number};
}

static union mdf_term truth_term(void *context, bool truth)
{
    (void)context;
    return known(truth);
}

static union mdf_term both_term(void *context, union mdf_term a, union mdf_term b)
{
    (void)context;
    return known(a.known != 0 && b.known != 0);
}

static union mdf_term either_term(void *context, union mdf_term a, union mdf_term b)
{
    (void)context;
    return known(a.known != 0 || b.known != 0);
}

static union mdf_term not_term(void *context, union mdf_term a)
{
    (void)context;
    return known(a.known == 0);
}

static union mdf_term runs_term(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    const struct course *course = context;
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        sum += course->counts[scope][nodes[i]];
    }
    return known((double)sum);
}

static union mdf_term usable_term(void *context, uint32_t index)
{
    const struct course *course = context;
    const struct mdf_usable *usable = &course->program->schedule->usables[index];

    return known((double)(course->counts[MDF_SCOPE_UPDATE][usable->dependency] - course->marks[index]));
}

static union mdf_term clock_term(void *context, enum mdf_clock clock)
{
    return known((double)((const struct course *)context)->clocks[clock]);
}

static union mdf_term compared_term(void *context, union mdf_term number, enum mdf_comparison comparison, double n)
{
    (void)context;
    return known(mdf_compare_count(number.known, comparison, n));
}

static union mdf_term all_have_run_term(void *context, enum mdf_count_scope scope)
{
    const struct course *course = context;
    size_t i;

    for (i = 0; i < course->program->n_nodes && course->counts[scope][i] > 0; i++) {
    }
    return known(i == course->program->n_nodes);
}

static bool holds(struct course *course, uint32_t condition)
{
    /* Terms that no condition asks for which looks at nothing beyond the evaluation are not there. */
    static const struct mdf_condition_terms terms = {.truth = truth_term,
                                                     .both = both_term,
                                                     .either = either_term,
                                                     .negate = not_term,
                                                     .stops_early = true,
                                                     .runs = runs_term,
                                                     .usable = usable_term,
                                                     .clock = clock_term,
                                                     .compare = compared_term,
                                                     .all_have_run = all_have_run_term};

    return mdf_condition_express(&terms, course, course->program->schedule, condition, known(1)).known != 0;
}

static bool is_over(struct course *course)
{
    const struct mdf_schedule *schedule = course->program->schedule;

    return holds(course, schedule->end_of_update) || holds(course, schedule->end_of_sequence);
}

/* ------------------------------------------------------------------ sets and passes */

static bool begin_course(struct course *course, const struct mdf_program *program, struct mdf_arena *arena)
{
    size_t i;

    *course = (struct course){.program = program,
                              .marks = mdf_arena_array(arena, program->schedule->n_usables + 1, sizeof *course->marks),
                              .in_set = mdf_arena_array(arena, program->n_nodes + 1, sizeof *course->in_set)};
    for (i = 0; i < MDF_SCOPE_COUNT; i++) {
        course->counts[i] = mdf_arena_array(arena, program->n_nodes + 1, sizeof *course->counts[i]);
        if (course->counts[i] == NULL) {
            return false;
        }
        memset(course->counts[i], 0, (program->n_nodes + 1) * sizeof *course->counts[i]);
    }
    if (course->marks == NULL || course->in_set == NULL) {
        return false;
    }
    memset(course->marks, 0, (program->schedule->n_usables + 1) * sizeof *course->marks);
    memset(course->in_set, 0, (program->n_nodes + 1) * sizeof *course->in_set);
    return true;
}

static void count_run(struct course *course, size_t node)
{
    const struct mdf_schedule *schedule = course->program->schedule;
    const struct mdf_schedule_node *own = &schedule->nodes[node];
    uint32_t i;

    course->counts[MDF_SCOPE_PASS][node]++;
    course->counts[MDF_SCOPE_UPDATE][node]++;
    for (i = own->first_usable; i < own->first_usable + own->n_usables; i++) {
        course->marks[i] = course->counts[MDF_SCOPE_UPDATE][schedule->usables[i].dependency] - schedule->usables[i].own;
    }
}

/* Nodes of a layer whose conditions hold, in rounds, until one adds none; then in the order of the layer. The number of them. */
static size_t make_set(struct course *course, const struct mdf_program_layer *layer, uint32_t *nodes)
{
    size_t n_in_set = 0, n_before = SIZE_MAX, n = 0, i;

    while (n_in_set != n_before && n_in_set < layer->n_nodes) {
        n_before = n_in_set;
        for (i = 0; i < layer->n_nodes; i++) {
            size_t node = layer->nodes[i];

            if (!course->in_set[node] && holds(course, course->program->schedule->nodes[node].condition)) {
                course->in_set[node] = true;
                count_run(course, node);
                n_in_set++;
            }
        }
    }
    for (i = 0; i < layer->n_nodes; i++) {
        if (course->in_set[layer->nodes[i]]) {
            nodes[n++] = (uint32_t)layer->nodes[i];
            course->in_set[layer->nodes[i]] = false;
        }
    }
    return n;
}

/* False: there are too many sets. */
static bool make_pass(struct course *course, size_t most_sets, struct mdf_known_order *order)
{
    const struct mdf_program *program = course->program;
    size_t before = order->n_sets, i;

    memset(course->counts[MDF_SCOPE_PASS], 0, program->n_nodes * sizeof *course->counts[MDF_SCOPE_PASS]);
    for (i = 0; i < program->n_layers && !is_over(course); i++) {
        size_t first = order->n_sets > 0 ? order->ends[order->n_sets - 1] : 0, n;

        if (order->n_sets == most_sets) {
            return false;
        }
        n = make_set(course, &program->layers[i], order->nodes + first);
        if (n > 0) {
            order->ends[order->n_sets++] = first + n;
            course->clocks[MDF_CLOCK_SETS_IN_UPDATE]++;
        }
    }
    course->clocks[MDF_CLOCK_SETS_IN_UPDATE] += order->n_sets == before; /* a pass in which nothing runs is a set */
    course->clocks[MDF_CLOCK_PASSES_IN_UPDATE]++;
    return true;
}

bool mdf_find_known_order(const struct mdf_program *program, size_t most_sets, struct mdf_arena *arena,
                          struct mdf_known_order *order, bool *is_known)
{
    uint64_t most_passes = program->max_passes < most_sets ? program->max_passes : most_sets;
    struct course course;

    *is_known = program->schedule != NULL && !looks_beyond_the_evaluation(program->schedule);
    if (!*is_known) {
        return true;
    }
    order->nodes = mdf_arena_array(arena, most_sets * (program->n_nodes + 1), sizeof *order->nodes);
    order->ends = mdf_arena_array(arena, most_sets + 1, sizeof *order->ends);
    order->n_sets = 0;
    if (!begin_course(&course, program, arena) || order->nodes == NULL || order->ends == NULL) {
        return false;
    }
    while (*is_known && !is_over(&course)) {
        *is_known = make_pass(&course, most_sets, order) && course.clocks[MDF_CLOCK_PASSES_IN_UPDATE] < most_passes;
    }
    return true;
}
