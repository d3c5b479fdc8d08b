/* lower_loops.h - for the files that lower Loop and Scan: bodies are gone through once, with the first states as examples. A
 * state has to keep its form from one run to the next; the first runs, in which one still takes another (0, then 0.5), are
 * lowered as ops before the loop. */
#ifndef MDF_LOWER_LOWER_LOOPS_H
#define MDF_LOWER_LOWER_LOOPS_H

#include "mdf_c/lower/lowering.h"

/* So many runs may stand before a loop; so many are written out, where there is no loop. */
enum { MOST_PEELED = 3, MOST_WRITTEN_OUT = 128, MOST_TRIES = 256 /* of all loops together */ };
/* Of ONNX's Loop: where the states are among the inputs of the call and of the body, and among what the body yields. */
enum { LOOP_FIRST_STATE = 2, LOOP_FIRST_YIELD = 1 };

/* A Loop or Scan that is being lowered. */
struct loop {
    struct lowering *lowering;
    struct scope *outer, inner;
    const struct mdf_code_call *source;
    const struct mdf_code *body;
    const bool *grows;             /* of each state: it is taken as one that only grows; NULL: none is */
    const bool *opens;             /* of each state: it is taken as one whose shape changes; NULL: none is */
    bool *moves;                   /* of each state: whole numbers, others in the second run, which lengths may go by; NULL: not known */
    const struct mdf_value **next; /* of each of these: an example of what it is in the second run; of lists: NULL */
    size_t *numbers;               /* of each state that is carried: which one of the model's it is */
    bool *is_truth;                /* ... and whether it says that this one, an optional, is there; its content is the next one */
    struct mdf_lowered_loop *result;
    struct region region;
    mdf_lowered_id *initial; /* of each state */
    /* Sequences are looked at as rows in an array with room for more: of each state, what form its items have (NULL: nobody knows
     * yet); NULL: not. */
    const struct mdf_value **item_forms;
    size_t room;             /* for so many more */
    mdf_lowered_id *counts;  /* of each such state: how many items it begins with; NONE: it is none */
    bool *is_sequence;       /* of each state: the body has it as the sequence of the rows that it consists of here */
    mdf_lowered_id *zeros;   /* of each state: it is an optional, whose content begins so where it is not there; NONE: it is none */
    mdf_lowered_id *truths;  /* of such a state: whether what is yielded is there, which `yields` has the content of */
    bool *stays;             /* of each state: the body hands it on as it is, so that it is none here */
    size_t n_initial;
    mdf_lowered_id *sources; /* of a Scan: the arrays that are scanned */
    mdf_lowered_id *yields;
    size_t n_outputs; /* of the body: states, then stacks, from first_yield on */
    size_t first_formal, first_yield;
    size_t n_carried;        /* states of the model; behind them stand those of loop_add_own_state */
    size_t *last_outputs;    /* of these: which output of the call each becomes; SIZE_MAX: none */
    mdf_lowered_id *results; /* what each output of the call is, once its loop has ended */
    mdf_lowered_id **items;  /* of the runs before the loop: what each gives to each stack */
    size_t n_peeled;
    struct mdf_refusal
        grown; /* why it can not be that a state only grows; MDF_REFUSED_NOT: nobody knows better than that it changes */
};

/* --- lower_loops.c: false where it fails. In this order: */
/* Room for results; what `n` states begin with: inputs of the call, from number `first` on. */
bool loop_read_initial(struct loop *loop, size_t first, size_t n);
/* State number `i` as the body, or who reads the outputs, has it. */
mdf_lowered_id loop_show_state(const struct loop *loop, size_t i, mdf_lowered_id state);
/* The body begins; its yields from `first_yield` on are states, then stacks. */
bool loop_begin(struct loop *loop, size_t first_yield);
mdf_lowered_id loop_add_parameter(struct loop *loop, const struct mdf_value *example);
/* State number `i` of the model, bound to a formal. */
bool loop_add_state(struct loop *loop, size_t i, size_t formal);
/* Whether the body, of which all instructions run, yields a formal as it is. */
bool loop_hands_on(const struct mdf_code *body, mdf_operand yield, mdf_operand formal);
bool loop_run_body(struct loop *loop);
/* Behind it, what a state that is carried is next. */
mdf_lowered_id loop_next_of(const struct loop *loop, size_t carried);
/* Whether all states are after the body's run as they were before it; else the first that is not is in *changing. */
bool loop_keeps_forms(const struct loop *loop, size_t *changing);
bool loop_carry_states(struct loop *loop);
/* Behind the body: which states may not be there in one run, or the next one; *any: one of which that was not known. They are
 * optionals from here on, in the loop as it is outside. */
bool loop_find_optionals(struct loop *outside, const struct loop *loop, size_t n_states, bool *any);
/* The array that output number `output` of the call becomes: what `item` is in all runs, or an open one. */
bool loop_add_stack(struct loop *loop, mdf_lowered_id item, size_t output, bool is_reversed);
/* The same, of a state that only grows: `initial`, then what `item` is in each run, one behind the other along `axis`. */
bool loop_add_stack_behind(struct loop *loop, mdf_lowered_id item, size_t output, mdf_lowered_id initial, uint8_t axis);
/* Whether items of that declared type make the stack: it is what there is without any. */
bool loop_declares_item(const struct mdf_static_type *type, const struct mdf_value *stack);
/* One state more, a scalar of that form, 0 at first, which the model does not know: as its output number `output` it has an axis
 * of one run; SIZE_MAX: it is none. There may be one for each output, and one more. Its parameter; NONE: it fails. */
mdf_lowered_id loop_add_own_state(struct loop *loop, const struct mdf_value *form, size_t output);
bool loop_end(struct loop *loop);

/* A run before the loop, after its body has been gone through in `inner`: the states begin with what it yields, and what it gives
 * to stacks is kept. A state of a declared type keeps it, as in plain evaluation, where `keeps_shapes` its shape too: else it
 * fails. */
bool loop_keep_run(struct loop *loop, struct scope *inner, size_t n_states, size_t first_yield, bool keeps_shapes);
/* Behind the loop, or in its place where no run is left: the results have the items of the runs before it too.
 * `is_reversed` says whether the stack with that number is filled from the end; NULL: none is. */
bool loop_join_runs(struct loop *loop, size_t n_states, size_t n_left,
                    bool (*is_reversed)(const struct mdf_code_call *source, size_t stack));
/* At last: the outputs of the call are the results. */
bool loop_bind_results(struct loop *loop);
/* The refusal of state number `i`, whose form changes. */
bool loop_refuse_state(const struct loop *loop, size_t i);

/* How many ops there are in the regions around, from the inside; drops what has been added since. NULL: memory ran out. */
size_t *lowering_count_ops(struct lowering *lowering);
void lowering_restore_ops(struct lowering *lowering, const size_t *counts);
/* How it was before something was tried that may fail. */
struct lowering_attempt {
    struct mdf_refusal refusal;
    const struct mdf_origin *origin;
    const char *operator;
    struct region *region;
    size_t *counts, n_growing;
};
/* False: memory ran out. */
bool lowering_begin_attempt(struct lowering *lowering, struct lowering_attempt *attempt);
/* As if nothing had been tried; but memory that ran out stays so. False: it did. */
bool lowering_take_back(struct lowering *lowering, const struct lowering_attempt *attempt);
/* Whether a loop may be lowered once more, in another way, which is counted: each time the loops in it are, too, in several ways. */
bool loop_may_be_tried_again(struct lowering *lowering);

/* One of the two states that stand for a state, the first of which (`is_truth`) says something of the second: its parameter. */
mdf_lowered_id loop_add_part(struct loop *loop, size_t i, mdf_lowered_id initial, bool is_truth);

/* --- lower_sequence_room.c: states that are sequences with room for more. How much is needed; false where it is refused. */
struct loop_bounds;
bool loop_find_room(struct loop *loop, const struct loop_bounds *bounds);
/* What such a state begins with, if it is a sequence; in place of loop_add_state; what is yielded for it, as its rows. */
bool loop_read_room(struct loop *loop, size_t i, mdf_lowered_id id);
bool loop_add_room_state(struct loop *loop, size_t i, size_t formal);
bool loop_yield_room(struct loop *loop, size_t i, mdf_lowered_id *id);

/* --- lower_growth.c: a state that only grows, in place of loop_add_state; what it is after the loop. It fails where that is not
 * all that the body does with it. */
bool loop_add_growing_state(struct loop *loop, size_t i, size_t formal);
bool loop_append_state(struct loop *loop, size_t i);
/* Behind the loop: its result has the axes as the model has them. */
bool loop_move_back_state(struct loop *loop, size_t i);

/* --- lower_loop.c: how often a Loop's body still runs, as in struct mdf_lowered_loop. */
struct loop_bounds {
    size_t n_runs;
    mdf_lowered_id trip_count, condition;
    uint64_t limit;
    int64_t n_done;     /* runs before these */
    int64_t later_done; /* the same as n_done in the other example, of a later run (struct fact) */
};
bool loop_read_bounds(struct loop *loop, struct loop_bounds *bounds);
/* One run of the body before the loop: afterwards the states begin with what it yields. */
bool loop_peel(struct loop *loop, struct loop_bounds *bounds, size_t n_states);

/* --- lower_written_out.c: for C source, a Loop in which shapes change: its runs, one behind the other. Whether that may help
 * where it has been refused as a loop; false where it fails, too. `why`: what it was refused for. */
bool loop_may_be_written_out(const struct lowering *lowering);
bool loop_write_out(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source,
                    enum mdf_refusal_reason why);

/* Whether an example is what the value is when the model runs on the same inputs: what hangs on a loop, or on a condition, is
 * only like it; so is what is in a loop's body. */
bool lowering_is_example_true(struct lowering *lowering, mdf_lowered_id id);

/* --- lower_counted.c: how often the body runs, at most so many times, where it goes on as the value `goes_on` of a run says,
 * which does nothing but count; SIZE_MAX: it does something else. The body has been gone through, and its states not yet carried
 * on. */
size_t loop_count_runs(struct loop *loop, mdf_lowered_id goes_on, uint64_t trip_count);

/* --- lower_loop.c, lower_scan.c */
bool lowering_loop(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source);
bool lowering_scan(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source);
/* SequenceMap, as a scan of sequences. */
bool lowering_map(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source);

/* --- lower_control.c: the instructions of a body; afterwards the lowering stands at the call that has it again. */
bool lowering_run_inside(struct lowering *lowering, struct scope *inner);

#endif
