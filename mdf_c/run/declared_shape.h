/* declared_shape.h - whether what arrives at a node's input ports has the shapes that these declare. */
#ifndef MDF_RUN_DECLARED_SHAPE_H
#define MDF_RUN_DECLARED_SHAPE_H

#include "mdf_c/run/state.h"

/* Looks at one value; false with the error of the state's context set. */
bool mdf_declared_shape_holds(struct mdf_state *state, const struct mdf_declaration *declaration, const struct mdf_origin *origin,
                              const struct mdf_value *value);
/* Looks at all ports of a node whose edges have brought their values; the same. */
bool mdf_declared_shapes_hold(struct mdf_state *state, const struct mdf_program_node *node);

#endif
