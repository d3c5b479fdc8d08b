/* state.h - one thread's evaluation of a program: every buffer that it needs. */
#ifndef MDF_RUN_STATE_H
#define MDF_RUN_STATE_H

#include "mdf_c/lower/fast.h"
#include "mdf_c/plan/program.h"
#include "mdf_c/run/schedule/schedule_record.h"
#include "mdf_c/run/schedule/scheduler.h"
#include "mdf_c/run/whole/whole.h"

/* An input port filled at run time. */
struct mdf_state_port {
    struct mdf_value input; /* set from outside for the next evaluation */
    bool has_input;
    bool repeats;     /* the input is given in each of several evaluations in a row */
    bool has_value;   /* something has arrived since the node ran last */
    bool has_default; /* the slot holds the default value */
    bool is_fed;      /* for state->whole: by edges from nodes that have run */
    uint8_t brings;   /* the same: enum mdf_node_brings, when it was lowered */
    /* For the graph within the node: what its last run had in the port. */
    bool was_given, was_fed; /* from outside; by edges */
    bool is_linked;          /* in a graph within a node: the node's port, which edges have fed, feeds it in each run */
};

struct mdf_state_node {
    struct mdf_fast fast;
    struct mdf_lowering_range ranges[2];
    struct mdf_lowering_request request; /* to lower `ranges`; its frame is NULL until then */
    unsigned n_runs;                     /* up to the number at which it is lowered */
};

struct mdf_epilogues;
struct mdf_buffer_reuse;
struct mdf_body_trace;
struct mdf_profile;
struct mdf_solve;
struct mdf_given_rows;

/* What the state of a graph and those of the graphs within its nodes have in common. */
struct mdf_shared_state {
    struct mdf_memory memory;
    struct mdf_execution execution;
    struct mdf_stop stop;
    double end_s;              /* of all evaluations, by mdf_clock_s; INFINITY: each has the time that the program gives it */
    atomic_bool is_evaluated;  /* or made new, by a call of the public interface */
    bool has_begun;            /* an evaluation has */
    bool zeros_stand_in;       /* types and shapes are asked about: zeros stand for inputs that must be given and are not, as declared */
    bool is_short;             /* so few evaluations come that they are not worth being lowered as a whole */
    struct mdf_state *outermost;
    struct mdf_state *nested;  /* all states but the outermost */
    struct mdf_state *running; /* the graph whose node runs, innermost */
    /* Called before each evaluation, whose inputs have been taken; NULL: nothing is. */
    void (*look)(void *context, struct mdf_state *state);
    void *look_context;
    struct mdf_body_trace *body_trace; /* see body_trace.h; NULL: none */
    struct mdf_profile *profile;       /* see profile.h; NULL: none */
};

/* One graph. */
struct mdf_state {
    const struct mdf_program *program;
    struct mdf_shared_state *shared;
    struct mdf_frame *frame;
    struct mdf_state_port *ports;
    bool *has_run;                       /* of each node */
    bool leaves_nothing;                 /* see restart.h */
    struct mdf_schedule_record schedule; /* of the last evaluation */
    struct mdf_scheduler scheduler;      /* where the program has a schedule */
    /* Of each node, where instructions are lowered: its lowered form, once it has run some times. */
    struct mdf_state_node *nodes;
    struct mdf_epilogues *epilogues; /* see epilogues.h; NULL: none */
    struct mdf_buffer_reuse *reuse;  /* see buffer_reuse.h; NULL: none */
    struct mdf_whole *whole;         /* where instructions are lowered, and the graph stands in no node */
    const struct mdf_lowering_room *room; /* of the graph in the form of the whole; NULL: nothing has been made yet */
    bool *had_run;                        /* of each node: when that was lowered */
    struct mdf_solve *solve;         /* see solve/solve.h; NULL: none so far */
    struct mdf_given_rows *given_rows; /* see given_rows.h; NULL: none so far */
    uint32_t *readers;               /* of the frame's slots; see readers.h */
    uint32_t *kept_slots;            /* see slot_reads.h; NULL: not looked for yet */
    struct mdf_state *next;          /* of shared->nested */
};

/* Whether there is a state, and no call of the public interface evaluates it. */
static inline bool mdf_state_is_free(const struct mdf_state *state)
{
    return state != NULL && !atomic_load_explicit(&state->shared->is_evaluated, memory_order_acquire);
}

/* Whether somebody looks at its parts: it then goes a way in which they can be told apart. */
static inline bool mdf_state_is_looked_into(const struct mdf_state *state)
{
    return state->shared->body_trace != NULL || state->shared->profile != NULL;
}

struct mdf_state *mdf_state_create(const struct mdf_program *program, mdf_error *error);
void mdf_state_release(struct mdf_state *state);
/* Whether an input is copied, or its elements are looked at where they are, as long as mdf.h says for mdf_lend_input. */
enum mdf_input_way { MDF_INPUT_COPIED, MDF_INPUT_LENT };
/* `value` for every port that `name` stands for. */
mdf_status mdf_state_set_input(struct mdf_state *state, const char *name, const struct mdf_value *value, enum mdf_input_way way,
                               mdf_error *error);
/* The same for a name that has been looked up (mdf_program_ports_named). */
mdf_status mdf_state_set_named(struct mdf_state *state, const struct mdf_named_port *named, const struct mdf_value *value,
                               enum mdf_input_way way, mdf_error *error);
mdf_status mdf_state_evaluate(struct mdf_state *state, double dt, mdf_error *error);
/* The same for several evaluations in a row, which have the time of one: between mdf_state_begin and mdf_state_end. */
bool mdf_state_begin(struct mdf_state *state, mdf_error *error);
mdf_status mdf_state_evaluate_begun(struct mdf_state *state, double dt, mdf_error *error);
void mdf_state_end(struct mdf_state *state);
/* Inputs go to their ports, as an evaluation begins. False: the error of the state's context is set. */
bool mdf_state_take_inputs(struct mdf_state *state);
/* Whether zeros of its declared type and shape can stand for an input that must be given. */
bool mdf_input_has_stand_in(const struct mdf_program_port *port);
/* Of a program with a stop, behind an evaluation: whether it was the last one that is wanted. False: the error of the state's
 * context is set. */
bool mdf_state_look_whether_stopped(struct mdf_state *state, bool *has_stopped);
/* Whether all nodes that a program's stop looks at have run; false where there is none. */
bool mdf_state_can_stop(const struct mdf_state *state);
/* The time increment of the evaluations that follow; NaN: none. False: the error of the state's context is set. */
bool mdf_state_set_increment(struct mdf_state *state, double dt);
/* Makes sure that an output of a node that has run is there to be looked at, or all of its values (output SIZE_MAX). False:
 * memory ran out. */
bool mdf_state_materialise(const struct mdf_state *state, size_t node, size_t output);
/* The value of an output port; NONE where its node has never run. */
const struct mdf_value *mdf_state_output(const struct mdf_state *state, size_t node, size_t output);
const struct mdf_value *mdf_state_result(const struct mdf_state *state, size_t index);

/* Takes a copy of `value` for port number `port` of the program. False: out of memory. */
bool mdf_state_set_port(struct mdf_state *state, size_t port, const struct mdf_value *value);
/* The error of a name that no port has. */
mdf_status mdf_port_unknown(const struct mdf_program *program, const char *name, mdf_error *error);

/* For the scheduler. False: the error of the state's context is set. */
bool mdf_state_out_of_memory(struct mdf_state *state);
/* Notes a node in the last set of the record and runs it. */
bool mdf_state_run_recorded(struct mdf_state *state, size_t node);
/* The same in two parts: first it takes what edges bring. */
bool mdf_state_take(struct mdf_state *state, size_t node);
bool mdf_state_run_taken(struct mdf_state *state, size_t node);
/* Whether the caller has asked to stop; then the error is set. */
bool mdf_state_is_interrupted(struct mdf_state *state);
/* The same without setting it. */
bool mdf_state_is_asked_to_stop(const struct mdf_state *state);
/* Puts a port's default value, or zeros, into its slot. */
bool mdf_state_fill_default(struct mdf_state *state, size_t port);
/* The same ahead of its turn, in which it is no error yet that it does not fit. */
bool mdf_state_try_default(struct mdf_state *state, size_t port);

#endif
