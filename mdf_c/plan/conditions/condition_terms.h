/* condition_terms.h - what each kind of condition means, said once: an expression in terms. A way of running brings its terms:
 * values of the lowered form (mdf_c/run/whole/whole_schedule.c), texts in C (mdf_c/source/condition_text.c), what may be
 * (condition_reach.c), or only a note of what is looked at (mdf_conditions_read). The plain scheduler, which evaluates conditions
 * itself (mdf_c/run/schedule/scheduler.c), is the oracle of them all. */
#ifndef MDF_PLAN_CONDITIONS_CONDITION_TERMS_H
#define MDF_PLAN_CONDITIONS_CONDITION_TERMS_H

#include "mdf_c/plan/schedule.h"

/* Each way uses its own member. A term of failure (an id of none, a NULL) makes those that are built of it fail too. */
union mdf_term {
    uint32_t id;
    const char *text;
    struct {
        bool hold, fail; /* of a truth: it may */
    } may;
    struct {
        bool may_count, is_open; /* of a number: it may be other than 0; it may be any whole number from 0 on */
    } number;
};

struct mdf_condition_terms {
    union mdf_term (*truth)(void *context, bool truth);
    union mdf_term (*both)(void *context, union mdf_term a, union mdf_term b);
    union mdf_term (*either)(void *context, union mdf_term a, union mdf_term b);
    union mdf_term (*negate)(void *context, union mdf_term a);
    union mdf_term (*enclose)(void *context,
                              union mdf_term a); /* puts brackets around a chain of both or either; NULL: not needed */
    bool stops_early; /* both and either look at b only where a leaves it open: what is `reached` need not be told */
    /* Whole numbers: runs of nodes in a scope, summed; usable runs; a clock; how often an NWhen has held. */
    union mdf_term (*runs)(void *context, enum mdf_count_scope scope, const uint32_t *nodes, size_t n);
    union mdf_term (*usable)(void *context, uint32_t usable);
    union mdf_term (*clock)(void *context, enum mdf_clock clock);
    union mdf_term (*spent)(void *context, uint32_t index);
    union mdf_term (*compare)(void *context, union mdf_term number, enum mdf_comparison comparison, double n);
    /* Truths that each way has its own form for. */
    union mdf_term (*all_have_run)(void *context, enum mdf_count_scope scope);
    union mdf_term (*just_ran)(void *context, const struct mdf_condition *condition);
    union mdf_term (*in_window)(void *context, const struct mdf_time_window *window);
    union mdf_term (*threshold)(void *context, const struct mdf_condition *condition);
    union mdf_term (*finished)(void *context, const struct mdf_condition *condition,
                               const struct mdf_watch *watch); /* by a value */
    /* `truth`; where it is asked for and holds, an NWhen has held once more. */
    union mdf_term (*spend)(void *context, uint32_t index, union mdf_term reached, union mdf_term truth);
};

/* All that a way has to bring, by functions of these names behind `way`. */
#define MDF_CONDITION_TERMS(way)                                                                                                 \
    .truth = way##truth, .both = way##both, .either = way##either, .negate = way##negate, .runs = way##runs,                     \
    .usable = way##usable, .clock = way##clock, .spent = way##spent, .compare = way##compare, .all_have_run = way##all_have_run, \
    .just_ran = way##just_ran, .in_window = way##in_window, .threshold = way##threshold, .finished = way##finished,              \
    .spend = way##spend

/* Whether condition number `index` holds; it is asked where `reached`. */
union mdf_term mdf_condition_express(const struct mdf_condition_terms *terms, void *context, const struct mdf_schedule *schedule,
                                     uint32_t index, union mdf_term reached);

bool mdf_compare_count(double left, enum mdf_comparison comparison, double right);

/* What a condition looks at, each with the number of what it is: a node, a usable, a clock, an NWhen, a watch. */
enum mdf_condition_read {
    MDF_READ_RUNS,     /* of a node, in `scope` */
    MDF_READ_ALL_RUNS, /* in `scope` */
    MDF_READ_USABLE,
    MDF_READ_CLOCK,
    MDF_READ_SPENT, /* asking changes it */
    MDF_READ_LAST_SET,
    MDF_READ_TIME,
    MDF_READ_VALUE /* of a watch: that of a Threshold, or the first of several */
};
/* Calls `read` for all that condition `index` and its parts look at. */
void mdf_conditions_read(const struct mdf_schedule *schedule, uint32_t index,
                         void (*read)(void *context, enum mdf_condition_read what, uint8_t scope, size_t index), void *context);

/* --- condition_kinds.c */
/* How a condition of that type is told, where its arguments are those in braces: "every {n} calls of {dependency}"; several with
 * | between them. NULL: there is no phrase for it. */
const char *mdf_condition_phrases(const char *type);
/* What stands between the parts of a condition of that type: " and "; NULL: it has none, or they are told otherwise. */
const char *mdf_condition_joint(const char *type);

#endif
