/* known_order.h - the order in which the nodes of a graph run, where it is the same in every evaluation: its conditions look at
 * nothing but counts and clocks that begin anew in each. */
#ifndef MDF_PLAN_CONDITIONS_KNOWN_ORDER_H
#define MDF_PLAN_CONDITIONS_KNOWN_ORDER_H

#include "mdf_c/base/memory.h"
#include "mdf_c/plan/program.h"

/* Set i has nodes[ends[i - 1] ...] up to nodes[ends[i]]; sets without nodes are left out. */
struct mdf_known_order {
    uint32_t *nodes;
    size_t *ends, n_sets;
};

/* *is_known false: conditions look at something else, or an evaluation does not end within `most_sets` passes and sets. Arrays
 * lie in `arena`. Returns false when out of memory. */
bool mdf_find_known_order(const struct mdf_program *program, size_t most_sets, struct mdf_arena *arena,
                          struct mdf_known_order *order, bool *is_known);

#endif
