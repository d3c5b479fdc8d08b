/* buffer_reuse.h - large arrays that only nodes of the graph look at, one after the other: once the last of these has run, their
 * memory passes on to what is made next, which then finds it in the cache.
 *
 * Such an array is made again when somebody asks for it by name; from then on all are kept. */
#ifndef MDF_RUN_BUFFER_REUSE_H
#define MDF_RUN_BUFFER_REUSE_H

#include "mdf_c/run/slot_uses.h"
#include "mdf_c/run/state.h"

/* A node whose last instruction is a call whose outputs are such arrays. */
struct mdf_reused_node {
    size_t node;
    bool is_gone; /* its outputs are not there */
};

struct mdf_buffer_reuse {
    struct mdf_reused_node *nodes; /* in the order in which they run */
    size_t n_nodes;
    size_t **after; /* by turn: numbers in `nodes` of those that nothing needs then */
    size_t *n_after;
    const size_t *turns; /* by node */
    size_t *of_node;     /* by node: its number in `nodes` plus 1, or 0 */
    size_t n_gone;
    bool is_off; /* somebody has asked */
};

/* Those of a program without conditions. NULL: memory ran out. */
struct mdf_buffer_reuse *mdf_buffer_reuse_find(const struct mdf_program *program, const struct mdf_slot_uses *uses,
                                               struct mdf_arena *arena);
/* A node's outputs are about to be made. */
void mdf_buffer_reuse_begin_node(struct mdf_state *state, size_t node);
/* A node has run: what nothing needs any more is let go. */
void mdf_buffer_reuse_end_node(struct mdf_state *state, size_t node);
/* Makes all that is gone again, in order to look at an output of the node, or at any of its values (output SIZE_MAX). False:
 * memory ran out. */
bool mdf_buffer_reuse_materialise(const struct mdf_state *state, size_t node, size_t output);
/* All nodes have run in another way. */
void mdf_buffer_reuse_forget(struct mdf_state *state);

#endif
