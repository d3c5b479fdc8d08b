/* epilogues.h - nodes whose only instruction puts limits (Relu, Clip) on what another node's call has just made, and that are its
 * only reader: that call's kernel may do it (functions/elements/epilogue.h), and the node has nothing left to do.
 *
 * What the other node, its producer, makes is then not written; it is made when somebody asks for it by name. */
#ifndef MDF_RUN_EPILOGUES_H
#define MDF_RUN_EPILOGUES_H

#include "functions/elements/epilogue.h"
#include "mdf_c/run/slot_uses.h"
#include "mdf_c/run/state.h"

struct mdf_epilogue_node {
    struct mdf_epilogue epilogue;
    size_t producer;   /* the node that makes what it reads */
    size_t call;       /* of the fused node, in the program's code */
    bool is_looked_at; /* whether it is such an operation is known */
    bool is_unwritten; /* the producer's output has not been written */
};

/* By node: those that may be such ones, and those that are, by their producer; NULL where there are none. */
struct mdf_epilogues {
    struct mdf_epilogue_node **of_node, **of_producer;
    bool has_unwritten; /* some output of a producer may not have been written */
};

/* Those of a program without conditions. NULL: memory ran out. */
struct mdf_epilogues *mdf_epilogues_find(const struct mdf_program *program, const struct mdf_slot_uses *uses,
                                         struct mdf_arena *arena);
/* Runs a node that may be such a one by `run`, and finds out what it does. */
bool mdf_epilogue_look(struct mdf_state *state, size_t node, bool (*run)(struct mdf_state *state, size_t node));
/* All outputs have been written, in another way. */
void mdf_epilogues_forget(struct mdf_state *state);
/* Makes what has not been written of an output of a node, or of any of its values (output SIZE_MAX). False: memory ran out. */
bool mdf_epilogues_materialise(const struct mdf_state *state, size_t node, size_t output);

#endif
