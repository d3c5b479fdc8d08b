/* trace.h - the code of a graph's nodes once more, in another unit or further behind, with other operands: what stands in the
 * place of each slot is followed, so that in the new code each operand is written once. What derivatives over steps
 * (gradient/evaluation.c) and right-hand sides (solve/right_side.c) are made from. */
#ifndef MDF_PLAN_TRACE_H
#define MDF_PLAN_TRACE_H

#include "mdf_c/plan/compiler.h"

/* One of the graphs whose code is traced: the outermost one, number 0, or one within a node. */
struct trace_frame {
    const struct mdf_program *program;
    struct unit *from;
    const struct mdf_code *code; /* NULL: of the outermost graph */
    size_t outer;                /* the frame around it */
    uint32_t body;               /* its number there */
    const bool *is_written;
    size_t n_slots;
    mdf_operand *now, *before, *constants;
    size_t *marks;       /* of each slot, 0: for trace_choice alone */
    bool *is_fed;        /* of each port of the program: an edge, or the node around, has brought something to its node's run */
    const bool *is_kept; /* of each slot: behind what is run under a condition it holds something, which it may have held before;
                            NULL: of none */
};

struct tracer {
    struct target target;   /* where the code goes */
    struct unit *from;      /* the graph's */
    const bool *is_written; /* of each slot of the graph: by code that is traced; what others hold stays */
    size_t n_slots;
    mdf_operand *now;       /* of each slot: what holds its value */
    mdf_operand *before;    /* of each slot: what read_before gave for it, in all arms of a choice the same */
    mdf_operand *constants; /* of each constant: its copy, where the code goes to another unit */
    size_t *marks;          /* as in a frame */
    bool has_dt;
    bool is_first, is_later; /* it is the first evaluation; an evaluation before has run all nodes */
    /* What stands for a slot that is read before it is written; NULL: that is refused. */
    mdf_operand (*read_before)(struct tracer *tracer, size_t slot);
    void *context;              /* for read_before */
    struct trace_frame *frames; /* NULL: graphs within nodes are refused. What stands above is that of number `frame` */
    size_t n_frames, frame;
    /* Where sets of nodes are traced (gradient/run_ahead.h): what the node that runs gets by edges, and what runs of its graph.
     */
    const bool *brings;
    const struct ahead_sequence *inner;
    bool (*trace_inner)(struct tracer *tracer);
    /* Where values say which nodes run (gradient/run_by_values.c): what counts them, and whether an edge of the node that runs
     * brings something: a truth, which is a constant where it is known. NULL: `brings` says it. */
    const struct schedules *schedules;
    mdf_operand (*brings_now)(struct tracer *tracer, const struct mdf_program_edge *edge);
    /* Whether the node that runs has run before in this evaluation, and read what was given to its ports: a truth, as above.
     * NULL: has_read says it. */
    mdf_operand (*has_read_now)(struct tracer *tracer, const struct mdf_program_node *node);
    bool has_read;
    /* Behind the run of a node that runs until it is finished: the others. NULL: that is refused. */
    bool (*repeat)(struct tracer *tracer, const struct mdf_program_node *node);
    size_t bound_bytes;  /* of the memory, 0: none: rather compute again than keep */
    const char *purpose; /* what there is not, of a graph with what can not be traced: "there are no derivatives ..." */
};

/* What stands for a slot beside an operand: nothing has been written yet; one of several ways has written it. */
static const mdf_operand TRACE_NOT_SEEN = MDF_NO_OPERAND, TRACE_NOT_CLEAR = MDF_NO_OPERAND - 1;

static inline bool trace_is_clear(mdf_operand operand)
{
    return operand != TRACE_NOT_SEEN && operand != TRACE_NOT_CLEAR;
}

/* With `target`, `from`, `is_written` and `n_slots` set: nothing has been written yet. */
bool trace_begin(struct tracer *tracer);
/* The same before that, for a graph and those within its nodes. */
bool trace_find_frames(struct tracer *tracer);
/* Goes on in another frame. */
void trace_enter(struct tracer *tracer, size_t frame);
bool trace_refuse(struct tracer *tracer, const char *what);
/* What holds the value of an operand of the graph. */
mdf_operand trace_operand(struct tracer *tracer, mdf_operand operand);
/* Operands in the compiler's scratch, all of them `value`. NULL: the error is set. */
mdf_operand *trace_new_operands(struct compiler *compiler, size_t n, mdf_operand value);
/* As many as the frame has slots. */
mdf_operand *trace_copy_operands(struct tracer *tracer, const mdf_operand *operands);
/* Which slots the instructions write. NULL: the error is set. */
bool *trace_writes(struct tracer *tracer, size_t first, size_t end);
/* That of the graph that is being traced. */
const struct mdf_program *trace_program(const struct tracer *tracer);
/* Marks the slots that edges fill. */
void trace_mark_fed(const struct mdf_program *program, bool *is_written);
/* Whether a port holds what is given to it for one run of its node in an evaluation, then its default value. */
bool trace_is_given_once(const struct mdf_program_port *port);
/* Marks the slots of those ports, where nodes may run several times. */
void trace_mark_given(const struct mdf_program *program, bool *is_written);
/* An instruction, or all those that a jump chooses from, which *next is behind. */
bool trace_one(struct tracer *tracer, size_t at, size_t *next);
bool trace_range(struct tracer *tracer, size_t first, size_t end);
/* The two arms of the jump at `at`, [at + 1, first_end) and [second, end). */
bool trace_choice(struct tracer *tracer, size_t at, size_t first_end, size_t second, size_t end);
/* What `trace` traces is run where the condition holds; else slots hold what they held before. */
bool trace_where(struct tracer *tracer, mdf_operand condition, bool (*trace)(struct tracer *tracer, void *context),
                 void *context);
/* What fills a node's port number `index` of the program at run time. */
bool trace_port(struct tracer *tracer, const struct mdf_program *program, const struct mdf_program_node *node, size_t index);
/* The same for all of its ports. */
bool trace_ports(struct tracer *tracer, const struct mdf_program_node *node);
/* Whether an edge has something to bring. */
bool trace_brings(const struct tracer *tracer, const struct mdf_program_edge *edge);
/* Whether something of the graph has written a slot. */
bool trace_has_value(const struct tracer *tracer, size_t slot);
/* A truth: whether something is given to a port of the outermost graph. */
mdf_operand trace_is_given(struct tracer *tracer, size_t port);
/* All nodes in their order. */
bool trace_nodes(struct tracer *tracer, bool is_first);

#endif
