/* sweep_lanes_parts.h - what the parts of sweep_lanes.h share.
 *
 * Evaluations are of four kinds: the first, without a time increment and with initial values; the second; from the third on those
 * that somebody looks at, and many in a row that nobody does. Each is lowered for one instance while the first instance goes
 * through it, and then for all lanes. What one leaves in a slot of the frame the next finds in a place ("seat") that stands for
 * the slot, with the values of all lanes, or the one of all.
 *
 * Lanes go in step, all from the first evaluation on; or, where instances may stop, each by itself ("stream"): then evaluations
 * from the third on are all of the last kind, of each lane as many as it has to do, with all values there to be looked at. Where a
 * graph has conditions, each instance begins by itself, on the state, until nodes have run; then its slots become a lane's. */
#ifndef MDF_RUN_SWEEP_SWEEP_LANES_PARTS_H
#define MDF_RUN_SWEEP_SWEEP_LANES_PARTS_H

#include "mdf_c/lower/lanes/lanes.h"
#include "mdf_c/run/sweep/sweep_lanes.h"

/* What stands for a slot, or for an item of the list that is in one. */
struct lane_seat {
    const struct mdf_value *slot;
    size_t item; /* its number, counted from 1; 0: it is the slot's own */
    struct mdf_value value;               /* of all lanes, or one for all */
    struct mdf_value form;                /* of a swept slot: that of one value */
    const struct mdf_swept_values *given; /* of a swept slot whose values go there as they are; NULL: by way of a state */
    struct mdf_value kept, fresh;         /* of a stream: see sweep_lanes_stream.c */
    bool has_lanes;                       /* as it is now */
    bool varies;                          /* it may have, where evaluations of a kind begin */
    bool is_swept, is_written;            /* swept: given from outside */
    bool is_begun;                        /* instances that begin by themselves leave what they have come to */
    bool is_series;                       /* in each step */
    bool is_shared;                       /* the same for all instances */
    bool is_wanted;                       /* somebody looks at it */
    bool is_unknown; /* what is left there depends on a slot that has no seat: nobody may look at it */
};

/* What is recorded. */
struct lane_record {
    struct lane_seat **seats;         /* its own, or those of the items of a list; NULL: it is what `constant` is */
    size_t n_items;                   /* 0: it is no list */
    const struct mdf_value *constant;
    bool is_kept;                     /* somebody gets its rows, or they are reduced */
};

enum lane_kind { LANES_FIRST, LANES_SECOND, LANES_SINGLE, LANES_MANY, N_LANE_KINDS };

/* Evaluations of a kind. */
struct lane_program {
    struct mdf_lowered *narrow, *wide;
    bool *varies, *needed;     /* of each narrow value */
    struct lane_seat **inputs; /* NULL: `fixed` */
    struct mdf_value *fixed;   /* of each input: what is the same in all instances, and no evaluation before has written */
    struct lane_seat **outputs;
    struct mdf_value **found, **goes; /* where inputs are, where outputs go */
};

enum lane_state { LANE_EMPTY, LANE_LIVE, LANE_DONE, LANE_FAILED };

/* An instance in a lane. */
struct lane {
    enum lane_state state;
    size_t number;
    size_t place;    /* of its rows, among those of all lanes */
    struct mdf_context *context; /* whose generators it has; NULL: nothing draws random numbers */
    uint64_t step;   /* that it does next */
    size_t row;      /* that is written next */
    int64_t stopped; /* see mdf_sweep_target */
};

struct mdf_sweep_lanes {
    const struct mdf_sweep *sweep;
    struct mdf_state *state;
    void *const *arrays; /* of the caller; NULL: none */
    void **rows;         /* of the instances in lanes, where the caller has none */
    size_t n_lanes, lane_bits; /* a power of two, which one */
    struct mdf_arena arena;
    struct lane_program programs[N_LANE_KINDS];
    struct lane_seat *seats;
    size_t n_seats, n_swept;
    bool is_direct;          /* all that is swept goes to its seats as it is */
    uint64_t n_seen;         /* evaluations of the instance that is looked at */
    bool is_stream;          /* each lane goes on by itself, */
    bool is_in_step;         /* but from the same step as all others */
    bool begins_alone;       /* instances are evaluated one by one at first: */
    uint64_t n_alone;        /* so many evaluations, */
    bool *had_run, *have_run; /* of each node, of all graphs: then it has run; it has now */
    mdf_operand *aliases;    /* of each slot: what is the same then; MDF_NO_OPERAND: nothing */
    struct lane_seat *steps; /* of evaluations in a row: how many there are to be, */
    struct lane_seat *taken; /* and, of a stream, how many there were in all */
    struct lane_seat *stop;  /* of a stream: whether an instance has stopped */
    int64_t n_steps;         /* where it is the same for all lanes */
    struct mdf_value traps;
    struct lane_record *recorded; /* each record */
    struct lane *lanes; /* [n_lanes] */
    struct lane *fresh; /* [n_lanes] of a stream: instances that have begun, to take the places of others */
    size_t first, n_begun;   /* of a stream: the instances that have begun last */
    const struct lane *drawing;      /* the lanes that programs run for, */
    struct mdf_context **contexts;   /* [n_lanes] and theirs; NULL: nothing draws random numbers */
    struct mdf_context *all_contexts; /* [2 n_lanes] */
    bool has_numpy;                   /* somebody draws as numpy does */
    struct mdf_value number, single; /* of one lane, to be looked at: a number, which lies there; an array */
    uint64_t at_once;        /* of a stream: evaluations before its lanes are looked at */
    size_t n_live;           /* see lanes_take_stock */
    uint64_t n_used, most_taken;
    size_t next_fresh;       /* of a stream: those before have been put to lanes */
    size_t n_failed;         /* instances in a row */
    size_t n_asked;          /* instances that might have been looked at */
    bool is_ready;
    struct mdf_refusal refusal;
};

static inline struct mdf_memory *lanes_memory(const struct mdf_sweep_lanes *lanes)
{
    return &lanes->state->shared->memory;
}

/* --- sweep_lanes_run.c. Where something returns false, it can not be told what came of any instance. */
/* Room for a value of a form with lanes. */
bool lanes_make_room(const struct mdf_sweep_lanes *lanes, struct mdf_value *value, const struct mdf_value *form);
/* A seat that has one value for all gets it for each lane. */
bool lanes_spread(const struct mdf_sweep_lanes *lanes, struct lane_seat *seat);
/* Whoever looks at the same elements does so no longer: they may be written. */
bool lanes_own(const struct mdf_sweep_lanes *lanes, struct mdf_value *wide);
/* Lanes that do not go on are as one that does: what nobody looks at any more must not run for ever. */
bool lanes_imitate(struct mdf_sweep_lanes *lanes, const struct lane *of);
/* Whether one of them goes on. */
bool lanes_any_lives(const struct mdf_sweep_lanes *lanes, const struct lane *of);
/* Begins instances [first, first + n) in the lanes `of`: their first two evaluations. */
bool lanes_begin(struct mdf_sweep_lanes *lanes, struct lane *of, size_t first, size_t n);
/* Begins them by themselves on the state: those that go on wait in the seats' `fresh`. */
bool lanes_begin_alone(struct mdf_sweep_lanes *lanes, struct lane *of, size_t first, size_t n);
/* The values of each instance in a step. */
bool lanes_set_swept(struct mdf_sweep_lanes *lanes, size_t first, size_t n, uint64_t step);
bool lanes_run_program(struct mdf_sweep_lanes *lanes, enum lane_kind kind);
/* What has come of live lanes in the evaluations of the last program: of each as many as `taken` says, NULL: n_steps. Afterwards
 * n_live is how many of them go on, n_used how many evaluations were of instances, most_taken how many the most. */
bool lanes_take_stock(struct mdf_sweep_lanes *lanes, struct lane *of, const int64_t *taken, uint64_t n_steps);
/* Hands on instances that are done, or have to be evaluated by themselves; their lanes are empty afterwards. */
void lanes_settle(struct mdf_sweep_lanes *lanes, struct lane *of, const struct mdf_sweep_feed *feed);
void lanes_fail(const struct mdf_sweep_lanes *lanes, struct lane *of);

/* --- sweep_lanes_stream.c */
void lanes_run_stream(struct mdf_sweep_lanes *lanes, const struct mdf_sweep_feed *feed);

#endif
