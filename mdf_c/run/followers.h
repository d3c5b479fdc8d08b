/* followers.h - nodes whose only instruction puts limits (Relu, Clip) on what another node's call has just made, and that are its
 * only reader: that call's kernel may do it (functions/elements/follow.h), and the node has nothing left to do.
 *
 * What the other node, its leader, makes is then not written; it is made when somebody asks for it by name. */
#ifndef MDF_RUN_FOLLOWERS_H
#define MDF_RUN_FOLLOWERS_H

#include "functions/elements/follow.h"
#include "mdf_c/run/slot_uses.h"
#include "mdf_c/run/state.h"

struct mdf_follower {
    struct mdf_follow follow;
    size_t leader;     /* the node that makes what is followed */
    size_t call;       /* of the follower, in the program's code */
    bool is_looked_at; /* whether it is such an operation is known */
    bool is_owed;      /* the leader's output has not been written */
};

/* By node: those that may be such ones, and those that are, by their leader; NULL where there are none. */
struct mdf_followers {
    struct mdf_follower **of_node, **of_leader;
    bool owe; /* some output of a leader may not have been written */
};

/* Those of a program without conditions. NULL: memory ran out. */
struct mdf_followers *mdf_followers_find(const struct mdf_program *program, const struct mdf_slot_uses *uses,
                                         struct mdf_arena *arena);
/* Runs a node that may be such a one by `run`, and finds out what it does. */
bool mdf_follower_look(struct mdf_state *state, size_t node, bool (*run)(struct mdf_state *state, size_t node));
/* All outputs have been written, in another way. */
void mdf_followers_forget(struct mdf_state *state);
/* Makes what has not been written of an output of a node, or of any of its values (output SIZE_MAX). False: memory ran out. */
bool mdf_followers_settle(const struct mdf_state *state, size_t node, size_t output);

#endif
