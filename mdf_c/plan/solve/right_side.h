/* right_side.h - the right-hand side of a graph's differential equations: from the values of all parameters with a time
 * derivative to these derivatives, as code that can be emitted where it is needed, any number of times.
 *
 * All that they depend on is what it is at these values: parameters that a node computes behind their readers, and what edges
 * lead back, as well. What is not is refused: what keeps a value from one evaluation to the next, random numbers, graphs within
 * nodes. */
#ifndef MDF_PLAN_SOLVE_RIGHT_SIDE_H
#define MDF_PLAN_SOLVE_RIGHT_SIDE_H

#include "mdf_c/plan/compiler.h"

/* A parameter with a time derivative. The code of its node, behind a jump over that of its derivative, gives it what the solver
 * has left in `next`; or `next` is what the node itself makes of it in a step. */
struct solver_state {
    const char *id;
    mdf_operand slot, next;
    mdf_operand derivative;  /* as the node's code has it */
    size_t skip, over;       /* the jump over the code of the derivative, SIZE_MAX: none; and what is behind that code */
    mdf_operand conditioned; /* what the parameter's conditions make of `next`, where the solver is to locate them; else NO */
    mdf_operand holds;       /* whether one of them does */
    size_t located;          /* where that is there */
    bool is_exact;           /* of an event in metadata: no part of what is wrong with a step */
    bool is_held;            /* its slope is 0 */
    bool is_changed;         /* once the solver has left it: by conditions that act at evaluations, or to a declared type */
    uint32_t step;           /* the origin of what takes it over a step */
    struct mdf_origin origin;
};

/* Code that belongs together: instructions [first, end), in which each operand is written once. */
struct right_side_piece {
    size_t first, end;
    bool is_needed, is_emitted;
};

/* What is asked for, as traced, and the code that it takes. */
struct right_side_part {
    mdf_operand *values;
    size_t n_values;
    struct list order; /* size_t: the pieces that are needed, each behind those that it reads */
};

struct right_side {
    struct graph_builder *builder;
    const struct solver_state *states;
    size_t n_states;
    struct list pieces;   /* struct right_side_piece */
    struct list *writers; /* of each slot: size_t, the pieces that write it */
    bool *is_made;        /* of each slot: it stands for something of the traced code */
    mdf_operand *behind;  /* of each slot that stands for what is computed later: that; MDF_NO_OPERAND: it is none */
    const char **opaque;  /* of each slot: why it can not be had; NULL: it can */
    size_t n_slots;
    struct right_side_part slopes;     /* of each state */
    struct right_side_part conditions; /* what conditions to locate make of each state, and behind these whether they hold */
    struct right_side_part looked;     /* where it is asked for: slopes, output ports node by node, tests of conditions */
    const bool *is_looked_at;          /* of each output port; NULL: all are. Something else stands for the others */
    bool has_events;                   /* some have */
    bool *reads_port; /* of each port of the program: what is given to it from outside, evaluation by evaluation */
};

/* Of the graph whose nodes are compiled; their ports and edges are in the program. False: the error is set. */
bool right_side_make(struct right_side *side, struct graph_builder *builder);
/* Emits one of its parts, of values `y` of the states, operands of the target's unit, to `results`. */
bool right_side_emit(struct right_side *side, const struct right_side_part *part, struct target *target, const mdf_operand *y,
                     mdf_operand *results);

#endif
