/* known_course.c - see known_course.h. Conditions are asked by their terms (condition_terms.h), whose values are numbers here. */
#include "mdf_c/plan/conditions/known_course.h"

#include "mdf_c/plan/conditions/condition_terms.h"

#include <string.h>

/* ------------------------------------------------------------------ conditions */

static union mdf_term number(uint32_t n)
{
    return (union mdf_term){.id = n};
}

static union mdf_term tell_truth(void *context, bool truth)
{
    (void)context;
    return number(truth);
}

static union mdf_term tell_both(void *context, union mdf_term a, union mdf_term b)
{
    (void)context;
    return number(a.id != 0 && b.id != 0);
}

static union mdf_term tell_either(void *context, union mdf_term a, union mdf_term b)
{
    (void)context;
    return number(a.id != 0 || b.id != 0);
}

static union mdf_term tell_negate(void *context, union mdf_term a)
{
    (void)context;
    return number(a.id == 0);
}

static union mdf_term tell_runs(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n)
{
    const struct mdf_course *course = context;
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += course->counts[scope][nodes[i]];
    }
    return number(sum);
}

static union mdf_term tell_usable(void *context, uint32_t usable)
{
    const struct mdf_course *course = context;

    return number(course->counts[MDF_SCOPE_UPDATE][course->program->schedule->usables[usable].dependency] -
                  course->marks[usable]);
}

static union mdf_term tell_clock(void *context, enum mdf_clock clock)
{
    return number((uint32_t)((const struct mdf_course *)context)->clocks[clock]);
}

static union mdf_term tell_spent(void *context, uint32_t index)
{
    return number(((const struct mdf_course *)context)->spent[index]);
}

static union mdf_term tell_compare(void *context, union mdf_term count, enum mdf_comparison comparison, double n)
{
    (void)context;
    return number(mdf_compare_count(count.id, comparison, n));
}

static union mdf_term tell_all_have_run(void *context, enum mdf_count_scope scope)
{
    const struct mdf_course *course = context;

    return number(course->n_have_run[scope] == course->program->n_nodes);
}

static union mdf_term tell_just_ran(void *context, const struct mdf_condition *condition)
{
    struct mdf_course *course = context;

    course->is_broken = course->is_broken || course->n_sets == 0;
    return number(course->n_sets > 0 && course->last_sets[condition->index] == course->n_sets);
}

static union mdf_term tell_in_window(void *context, const struct mdf_time_window *window)
{
    int64_t time = ((const struct mdf_course *)context)->time;

    return number(time >= window->first && time <= window->last &&
                  (window->repeat == 0 || (time - window->offset) % window->repeat == 0));
}

static union mdf_term tell_threshold(void *context, const struct mdf_condition *condition)
{
    (void)condition;
    ((struct mdf_course *)context)->is_broken = true;
    return number(0);
}

static union mdf_term tell_finished(void *context, const struct mdf_condition *condition, const struct mdf_watch *watch)
{
    (void)watch;
    return tell_threshold(context, condition);
}

static union mdf_term tell_spend(void *context, uint32_t index, union mdf_term reached, union mdf_term truth)
{
    ((const struct mdf_course *)context)->spent[index] += reached.id != 0 && truth.id != 0;
    return truth;
}

static const struct mdf_condition_terms terms = {MDF_CONDITION_TERMS(tell_)};

bool mdf_course_holds(struct mdf_course *course, uint32_t condition)
{
    return mdf_condition_express(&terms, course, course->program->schedule, condition, number(1)).id != 0;
}

/* ------------------------------------------------------------------ sets and passes */

bool mdf_course_begin(struct mdf_course *course, const struct mdf_program *program, struct mdf_arena *arena)
{
    const struct mdf_schedule *schedule = program->schedule;
    size_t n = program->n_nodes;

    *course = (struct mdf_course){
        .program = program,
        .marks = mdf_arena_array(arena, (schedule != NULL ? schedule->n_usables : 0) + 1, sizeof *course->marks),
        .spent = mdf_arena_array(arena, (schedule != NULL ? schedule->n_spent : 0) + 1, sizeof *course->spent),
        .last_sets = mdf_arena_array(arena, n + 1, sizeof *course->last_sets),
        .in_set = mdf_arena_array(arena, n + 1, sizeof *course->in_set)};
    for (size_t i = 0; i < MDF_SCOPE_COUNT; i++) {
        course->counts[i] = mdf_arena_array(arena, n + 1, sizeof *course->counts[i]);
        if (course->counts[i] == NULL) {
            return false;
        }
    }
    return course->marks != NULL && course->spent != NULL && course->last_sets != NULL && course->in_set != NULL;
}

static void count_run(struct mdf_course *course, size_t node)
{
    const struct mdf_schedule *schedule = course->program->schedule;
    const struct mdf_schedule_node *own = &schedule->nodes[node];

    for (size_t scope = 0; scope < MDF_SCOPE_COUNT; scope++) {
        course->n_have_run[scope] += course->counts[scope][node]++ == 0;
    }
    for (uint32_t i = own->first_usable; i < own->first_usable + own->n_usables; i++) {
        course->marks[i] = course->counts[MDF_SCOPE_UPDATE][schedule->usables[i].dependency] - schedule->usables[i].own;
    }
}

static void reset_counts(struct mdf_course *course, enum mdf_count_scope scope)
{
    memset(course->counts[scope], 0, course->program->n_nodes * sizeof *course->counts[scope]);
    course->n_have_run[scope] = 0;
}

size_t mdf_course_make_set(struct mdf_course *course, const struct mdf_program_layer *layer)
{
    size_t n = 0, before = SIZE_MAX;

    while (n != before && n < layer->n_nodes) {
        before = n;
        for (size_t i = 0; i < layer->n_nodes; i++) {
            size_t node = layer->nodes[i];

            if (!course->in_set[node] && mdf_course_holds(course, course->program->schedule->nodes[node].condition)) {
                course->in_set[node] = true;
                count_run(course, node);
                n++;
            }
        }
    }
    return n;
}

bool mdf_course_is_over(struct mdf_course *course)
{
    const struct mdf_schedule *schedule = course->program->schedule;

    return mdf_course_holds(course, schedule->end_of_update) || mdf_course_holds(course, schedule->end_of_sequence);
}

bool mdf_course_end_set(struct mdf_course *course)
{
    const struct mdf_schedule *schedule = course->program->schedule;

    course->clocks[MDF_CLOCK_SETS_IN_UPDATE]++;
    course->clocks[MDF_CLOCK_SETS_IN_LIFE]++;
    return !schedule->is_absolute || !__builtin_add_overflow(course->time, schedule->interval, &course->time);
}

void mdf_course_begin_update(struct mdf_course *course)
{
    const struct mdf_schedule *schedule = course->program->schedule;

    reset_counts(course, MDF_SCOPE_PASS);
    reset_counts(course, MDF_SCOPE_UPDATE);
    memset(course->marks, 0, schedule->n_usables * sizeof *course->marks);
    course->clocks[MDF_CLOCK_PASSES_IN_UPDATE] = course->clocks[MDF_CLOCK_SETS_IN_UPDATE] = 0;
    if (schedule->is_absolute && course->time < schedule->start) {
        course->time = schedule->start;
    }
}

void mdf_course_begin_pass(struct mdf_course *course)
{
    reset_counts(course, MDF_SCOPE_PASS);
}
