/* known_course.h - a scheduler without nodes: what it counts, and the sets that follow from that, where conditions look at
 * nothing else. Sets are made as mdf_c/run/schedule/scheduler.c makes them. */
#ifndef MDF_PLAN_CONDITIONS_KNOWN_COURSE_H
#define MDF_PLAN_CONDITIONS_KNOWN_COURSE_H

#include "mdf_c/base/arena.h"
#include "mdf_c/plan/program.h"

/* Of one graph. Arrays lie in the arena that it was begun with. */
struct mdf_course {
    const struct mdf_program *program;
    uint32_t *counts[MDF_SCOPE_COUNT], *marks, *spent;
    uint64_t *last_sets, clocks[MDF_CLOCK_COUNT], n_sets;
    size_t n_have_run[MDF_SCOPE_COUNT];
    int64_t time;
    bool *in_set;   /* of each node: it runs in the set under way; whoever runs it takes it out */
    bool is_broken; /* a condition looked at something that is not known */
};

/* False: memory was refused. */
bool mdf_course_begin(struct mdf_course *course, const struct mdf_program *program, struct mdf_arena *arena);
/* Of a graph that is scheduled: */
void mdf_course_begin_update(struct mdf_course *course);
void mdf_course_begin_pass(struct mdf_course *course);
bool mdf_course_holds(struct mdf_course *course, uint32_t condition);
bool mdf_course_is_over(struct mdf_course *course);
/* Nodes of a layer whose conditions hold, in rounds, until a round adds none, are in the set; how many. */
size_t mdf_course_make_set(struct mdf_course *course, const struct mdf_program_layer *layer);
/* False: the time can not be counted. */
bool mdf_course_end_set(struct mdf_course *course);

#endif
