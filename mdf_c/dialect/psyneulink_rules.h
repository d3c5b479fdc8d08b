/* psyneulink_rules.h - the rules by which a document of PsyNeuLink is rewritten, in the order in which they are applied. Each
 * looks at what PsyNeuLink's exporter writes and at the metadata beside it. */
#ifndef MDF_DIALECT_PSYNEULINK_RULES_H
#define MDF_DIALECT_PSYNEULINK_RULES_H

#include "mdf_c/dialect/rewriting.h"

/* A mechanism: a node of a graph. */
struct mechanism {
    struct rewriting *rewriting;
    const char *id;
    struct mdf_node *node;
};

/* "metadata.type", "" where there is none. */
const char *mechanism_class(const struct mechanism *mechanism);
/* The id of the function whose value the first output port gives; NULL: none. */
const char *mechanism_value(const struct mechanism *mechanism);
/* Puts a function that computes `value` in the place of the one called `id`, which is called `inner` from now on. */
void mechanism_wrap(const struct mechanism *mechanism, const char *id, const char *inner, struct mdf_node function);
/* A function by its expression, without arguments. */
struct mdf_node mechanism_expression(const struct mechanism *mechanism, const struct mdf_node *place, const char *expression);

/* --- psyneulink_projections.c */

/* Nodes that stand for a projection become functions of their receivers. */
void psyneulink_fold_projections(struct rewriting *rewriting, struct mdf_node *graph);
/* The projection of a recurrent mechanism to itself, which the exporter leaves out. */
void psyneulink_close_recurrence(const struct mechanism *mechanism, struct mdf_node *edges);
/* The matrices that edges have in their metadata become functions of their receivers. */
void psyneulink_apply_matrices(struct rewriting *rewriting, struct mdf_node *graph);

/* --- psyneulink_functions.c */

/* Functions that MDF has another meaning for, or none, by their formulas. */
void psyneulink_state_formulas(const struct mechanism *mechanism);
/* One such function; false: it is none. */
bool psyneulink_state_formula(const struct mechanism *mechanism, struct mdf_node *function);

/* --- psyneulink_draws.c */

/* A function that draws standard normal deviates, one for each element of `like`, as a function with the arguments and metadata
 * of `drawing` draws them. */
struct mdf_node psyneulink_draw_normal(const struct mechanism *mechanism, struct mdf_node *drawing, struct mdf_node like);
/* Arguments "generator", "seed" and "like", where a formula has them (functions/psyneulink/draws.c), of the function `drawing`.
 */
void psyneulink_give_generator(const struct mechanism *mechanism, struct mdf_node *arguments, struct mdf_node *drawing);
/* What functions draw besides, which are no formulas. */
void psyneulink_state_draws(const struct mechanism *mechanism);

/* --- psyneulink_costs.c */

/* A TransferWithCosts, by its id: its transfer function stands in its place, with functions for what is enabled of its costs.
 * False: it is told otherwise already. */
bool psyneulink_tell_costs(const struct mechanism *mechanism, const char *id);

/* --- psyneulink_mechanisms.c */

/* What a mechanism does beyond its function: clipping, what a DDM yields, when it is finished. */
void psyneulink_complete_mechanism(const struct mechanism *mechanism);
/* Parameters that are computed become functions, which see values of this run. */
void psyneulink_order_parameters(const struct mechanism *mechanism);
/* What output ports hold before the mechanism has run. */
void psyneulink_give_defaults(const struct mechanism *mechanism);

#endif
