/* explain.h - which way the graph, its nodes and the bodies in them ran in the last evaluation, and why not a faster one: for
 * mdf_explain, mdf-run --explain. The ways are those of docs/explain.md. */
#ifndef MDF_RUN_EXPLAIN_H
#define MDF_RUN_EXPLAIN_H

#include "mdf_c/base/text.h"
#include "mdf_c/run/state.h"

/* False: memory ran out. */
bool mdf_state_explain(struct mdf_text *text, const struct mdf_state *state);

/* Whether a sweep that has run did instances side by side, and why not. */
struct mdf_sweep;
bool mdf_sweep_explain(struct mdf_text *text, const struct mdf_sweep *sweep);

#endif
