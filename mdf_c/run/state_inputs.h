/* state_inputs.h - what state.c asks of the input ports of a graph. Functions return false with the error set. */
#ifndef MDF_RUN_STATE_INPUTS_H
#define MDF_RUN_STATE_INPUTS_H

#include "mdf_c/run/state.h"

/* Puts a value into a port: the first since the node ran last, or reduced with what is there. */
bool mdf_state_arrive(struct mdf_state *state, size_t index, const struct mdf_value *value);
/* Takes the inputs of a graph within a node of `outer`: an input of the node from outside is one of its graph; what edges have
 * brought, or must be given, is there in each run of the inner node. */
bool mdf_state_take_from_node(struct mdf_state *state, const struct mdf_state *outer);

#endif
