/* lower.h - makes the lowered form (lowered.h) of instructions of a frame. */
#ifndef MDF_LOWER_LOWER_H
#define MDF_LOWER_LOWER_H

#include "mdf_c/code/code.h"
#include "mdf_c/lower/refusal.h"
#include "mdf_c/lowered/lowered.h"

/* Elements of an array that functions alone compute as fast as they would as ops, on several threads. */
enum { MDF_LOWER_LONG = 1 << 15 };

struct mdf_lowering_range {
    size_t first, end; /* instructions [first, end) */
};

enum { MDF_READ_BY_NOBODY = 0 };
#define MDF_READ_BY_ALL UINT32_MAX

struct lowering;
struct scope;

struct mdf_lowered_surprise;

/* A graph whose instructions are a part of what is lowered: the outermost one, or one within a node of another. Its slots, and the
 * values that it has besides, are numbered through behind those of the rooms before it, and so are its constants. */
struct mdf_lowering_room {
    const struct mdf_lowering_room *outer; /* of the graph around; NULL: it is the outermost */
    uint32_t body;                         /* what it is called by there */
    struct mdf_frame *frame;
    struct mdf_value *counters; /* counters[i] is slot number n_slots + i of its own */
    size_t first_slot, first_constant;
    void *plan; /* of the graph */
};

/* Strengths (enum mdf_strength) that a value may have. */
struct mdf_either {
    bool is_there;
    uint8_t stronger, weaker;
};

/* A value that is not always there: where `truth` holds, and like `content` then. */
struct mdf_optional {
    bool is_one;
    struct mdf_value truth, content;
};

struct mdf_lowering_request {
    struct mdf_frame *frame;                 /* its values that go in are all there */
    const struct mdf_lowering_range *ranges; /* run one after the other */
    size_t n_ranges;
    /* Instead of ranges, what goes through instructions in an order of its own, by the functions of lowering.h; and the graphs
     * whose instructions these are, the outermost first (NULL: just that of the frame). Slots below are those of all. */
    bool (*go_through)(struct lowering *lowering, struct scope *scope, void *plan);
    /* Asked of the plan before each run of what was lowered; NULL: it may run. */
    bool (*may_run)(const void *plan);
    void *plan;
    const struct mdf_lowering_room *rooms;
    size_t n_rooms;
    bool (*run_graph)(struct lowering *lowering, struct scope *scope, void *plan); /* goes through a graph within a node */
    /* Who looks at each slot of the frame's code, and which of them these instructions are: what only they look at, after they
     * have written it, need not be kept. NULL: all is. MDF_READ_BY_ALL: they are those of all nodes; MDF_READ_BY_NOBODY: nothing
     * is kept but what they themselves read when they run again. */
    const uint32_t *readers;
    uint32_t self;
    /* Of each slot of the frame's code: a large array that is left there need not be, where it is stacked by a loop and nothing
     * here goes through it; then it is marked in `is_gone`. NULL: none. */
    const bool *may_go;
    bool *is_gone;
    const bool *keeps;  /* of each slot: it is kept in any case; NULL: none */
    const bool *stays;  /* of each slot: its value is the same in all runs, a constant; NULL: of none */
    /* What earlier forms of the same bailed out for: such results have open axes. */
    const struct mdf_lowered_surprise *surprises;
    size_t n_surprises;
    bool leaves_out;    /* slots that may have no value, or none of numbers, afterwards are no outputs; else that is refused */
    bool is_for_source; /* to be written out: without what is made for running it here (prepared products) */
    bool keeps_calls;   /* the form is made into another one (lanes): products stay calls as well */
    /* For source: of an input that is not always left with one strength, which these are; NULL: there is none. */
    const struct mdf_either *(*find_either)(void *context, const struct mdf_value *value);
    /* The same of one that is not always there, whose truth the caller has a place for. */
    const struct mdf_optional *(*find_optional)(void *context, const struct mdf_value *value);
    void *context;
};

/* Lowers instructions. What a kernel makes of types and shapes is found out by running it, once, on the values that are there; so
 * the cost is that of one run and some microseconds. NULL: they can not be lowered; *refusal says why
 * not. */
struct mdf_lowered *mdf_lower(const struct mdf_lowering_request *request, struct mdf_refusal *refusal);

#endif
