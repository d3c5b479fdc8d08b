/* offsets.h - where the indices of gather and scatter operators point: offsets of elements in the indexed array.
 *
 * Offsets count elements, are checked, and lie in scratch value MDF_SCRATCH_FIRST of the call; MDF_SCRATCH_AXES and
 * MDF_SCRATCH_SECOND are used as well. NULL is returned with the error set. */
#ifndef MDF_FUNCTIONS_MOVES_OFFSETS_H
#define MDF_FUNCTIONS_MOVES_OFFSETS_H

#include "functions/moves/indexing.h"

/* GatherND, ScatterND: the last axis of input 1 holds index tuples into the axes of `data` behind `n_batch_axes` that both
 * have in common. One offset per tuple, *n of them; each points at a block of *n_block elements. */
const size_t *mdf_offsets_of_tuples(struct mdf_call *call, const struct mdf_value *data, size_t n_batch_axes, size_t *n,
                                    size_t *n_block);

#endif
