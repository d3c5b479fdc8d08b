/* method.h - the methods that states with time derivatives are solved by, as data: docs/time.md. */
#ifndef MDF_PLAN_SOLVE_METHOD_H
#define MDF_PLAN_SOLVE_METHOD_H

#include "mdf_c/mdf.h"

enum mdf_method_kind {
    MDF_METHOD_IN_NODES, /* each node steps for itself, as MDF's reference does */
    MDF_METHOD_FIXED,    /* one step an evaluation */
    MDF_METHOD_ADAPTIVE, /* as many as the tolerance asks for, of its own code */
    MDF_METHOD_LIBRARY   /* the same, by SUNDIALS */
};

enum { MDF_MOST_STAGES = 7 };

/* One step, of each state. Expressions over y, its value before; k1, k2, ..., its slopes at the stages so far; h, the length of
 * the step; and a, the derivative of k1 by y, where `needs_stiffness`. */
struct mdf_method_row {
    enum mdf_method_kind kind;
    int order;
    bool needs_stiffness;
    const char *stages[MDF_MOST_STAGES + 1]; /* where slopes are taken, behind the last one NULL */
    const char *result;                      /* the value behind it */
    const char *error;                       /* of adaptive ones: what is wrong with it, by estimate */
};

/* Of enum mdf_method. */
const struct mdf_method_row *mdf_method_row(mdf_method method);
/* As many in an evaluation as its tolerance asks for: events are located between evaluations. */
bool mdf_method_takes_own_steps(mdf_method method);
/* The names of all, for command lines; behind the last one NULL. */
extern const char *const mdf_method_names[];

#endif
