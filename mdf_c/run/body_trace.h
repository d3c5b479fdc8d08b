/* body_trace.h - values inside the bodies of Scan, Loop and If, iteration by iteration.
 *
 * Comes in: calls and bodies as a state runs them, one by one (nothing of it is lowered then). Goes out: of each evaluation
 *
 *   {NODE: [CALL, ...]}     the calls of the node's functions, in the order in which they ran
 *   CALL       {"operator": "onnx::Loop", "body": ID, "iterations": [ITERATION, ...]}
 *   ITERATION  {"inputs": {NAME: value}, "outputs": {NODE: {PORT: value}}, "bodies": {NODE: [CALL, ...]}}
 *
 * where "bodies" is there if nodes of the body have bodies of their own; of If, the branch that ran is the body and its run the
 * one iteration. Values are copies, in the state's memory and under its bound. */
#ifndef MDF_RUN_BODY_TRACE_H
#define MDF_RUN_BODY_TRACE_H

#include "mdf_c/run/state.h"

/* Begins to look on; before the first evaluation. False: refused. */
bool mdf_body_trace_start(struct mdf_state *state);
/* A new evaluation begins: what was kept of the last one goes. */
void mdf_body_trace_renew(struct mdf_shared_state *shared);
/* What the last evaluation had; NONE where no body ran, NULL where nobody looks on. */
const struct mdf_value *mdf_body_trace_value(const struct mdf_state *state);
void mdf_body_trace_release(struct mdf_shared_state *shared);

#endif
