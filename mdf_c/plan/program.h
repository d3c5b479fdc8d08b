/* program.h - a compiled graph: the code of its nodes, and what the evaluator needs to run them in order.
 *
 * Immutable after mdf_program_compile, but for the states that wait; any number of states run one program at once. */
#ifndef MDF_PLAN_PROGRAM_H
#define MDF_PLAN_PROGRAM_H

#include "mdf_c/code/code.h"
#include "mdf_c/model/model.h"
#include "mdf_c/plan/schedule.h"

struct mdf_range {
    size_t first, end; /* instructions [first, end) */
};

struct mdf_program_output {
    const char *id;
    mdf_operand operand;
    mdf_operand initial; /* a constant, which it holds before the node has run; MDF_NO_OPERAND: nothing */
    struct mdf_origin origin;
};

/* A named part of a node whose value can be looked at; several operands: the outputs of one function. */
struct mdf_program_part {
    const char *id;
    const mdf_operand *operands;
    size_t n_operands;
};

/* The parts of one kind, in the order of the file. */
struct mdf_program_parts {
    struct mdf_program_part *items;
    size_t n;
};

/* An input port that is filled at run time: by mdf_set_input, by edges, or by its default. (A port that always takes the value of
 * one earlier node is wired at compile time and is not listed.) */
struct mdf_program_port {
    const char *id;
    const char *input_name; /* what the graph's interface calls it; NULL: nothing else than the id */
    size_t node;
    mdf_operand slot;
    mdf_operand default_value; /* a constant; MDF_NO_OPERAND for a graph input that feeds no port */
    bool is_required;          /* a declared input of the graph that neither an edge nor a default value fills */
    bool is_open;              /* the same, but not declared: 0 unless it is given */
    bool holds;                /* what is given, or the default value, is there in each run of the node in an evaluation */
    bool is_fed;               /* an edge leads to it */
    bool is_closed;            /* nothing may be given: what is computed has the default value */
    enum mdf_reduce reduce;
    struct mdf_range combine; /* ADD, MULTIPLY: combines `arriving` into the slot */
    mdf_operand arriving;
    struct mdf_declaration declaration;
    struct mdf_origin origin;
    /* Of a graph within a node: the node's input port that feeds it, in the ports of the graph around, and its value. */
    size_t outer_port;  /* SIZE_MAX: none */
    mdf_operand source; /* in this graph's unit */
};

/* An input port that has one of its names. */
struct mdf_named_port {
    size_t port, next; /* in named_ports, from 1; 0: none */
};

/* An edge into such a port. */
struct mdf_program_edge {
    size_t sender;
    mdf_operand source;
    struct mdf_range weigh; /* computes `value` from `source`; empty where they are the same */
    mdf_operand value;
    size_t port;
    bool has_initial; /* the sender's port holds something before the sender has run */
};

/* An input port that declares a shape, and what it brings. */
struct mdf_program_shaped {
    mdf_operand operand;
    struct mdf_declaration declaration;
    struct mdf_origin origin;
};

struct mdf_program_node {
    const char *id;
    /* Instructions in this order: [first, reset) takes what edges bring; [reset, initial) sets initial values that the node has
     * in its first run in each evaluation; [initial, main) those of its first run of all; [main, end) computes. */
    size_t first, reset, initial, main, end;
    mdf_operand finished;  /* where it runs until that holds; MDF_NO_OPERAND: once */
    uint64_t most_repeats; /* and so often at most */
    struct mdf_program_output *outputs;
    size_t n_outputs;
    size_t first_port, n_ports; /* in program->ports */
    size_t *edges;              /* in program->edges, in the order of the file */
    size_t n_edges;
    struct mdf_program_shaped *shaped;
    size_t n_shaped;
    bool has_graph;                                 /* of its own */
    struct mdf_origin origin;
    struct mdf_program_parts parts[MDF_PART_COUNT]; /* by enum mdf_part */
};

/* A name of the graph's interface. */
struct mdf_program_result {
    const char *name;
    size_t node, output; /* output SIZE_MAX: an input passed through, port `node` of program->ports */
};

/* A parameter that each state may set for itself before its first evaluation. */
struct mdf_program_parameter {
    const char *node; /* NULL: a parameter of the graph */
    const char *id;
    mdf_operand slot, default_value; /* of the outermost unit; a constant */
    bool keeps_shape;                /* what was compiled depends on the shape of that */
    struct mdf_declaration declaration;
    struct mdf_origin origin;
};

/* A parameter with a time_derivative, of the outermost graph. */
struct mdf_program_integral {
    size_t node;
    const char *id;
    mdf_operand slot; /* its value */
    struct mdf_origin origin;
};

/* A condition of a parameter of the outermost graph: when its test changes, something happens at that time. */
struct mdf_program_event {
    size_t node;
    const char *parameter, *id;
    mdf_operand test;
    struct mdf_origin origin;
};

/* A value that settings of operators point to. */
struct mdf_kept_value {
    struct mdf_kept_value *next;
    struct mdf_value value;
};

/* An output port that is looked at. */
struct mdf_program_watched {
    size_t node, output;
};

/* Whether an evaluation was the last that is wanted: see mdf_options.stop_when. */
struct mdf_program_stop {
    size_t first, end; /* instructions, run once all nodes have */
    mdf_operand value;
    struct mdf_program_watched *ports; /* that they read; nothing is asked before all of these nodes have run */
    size_t n_ports;                    /* 0: it is never asked */
};

struct mdf_program_layer {
    size_t *nodes;
    size_t n_nodes;
    bool takes_first; /* its nodes, of which some feed others, take what edges bring before one of them runs */
};

struct mdf_state;

/* States that were freed and wait to be used again, NULL: none; see mdf_c/run/spare_states.h. */
enum { MDF_SPARE_STATES = 4 };

struct mdf_spare_states {
    _Atomic(struct mdf_state *) states[MDF_SPARE_STATES];
};

/* What code computes of a parameter with a time derivative where a library solves it. */
enum mdf_state_result {
    MDF_STATE_SLOPE,
    MDF_STATE_CONDITIONED, /* what its conditions make of it, */
    MDF_STATE_HOLDS,       /* and whether one holds: 1 or 0 */
    MDF_STATE_GRADIENT,    /* of the sum of all slopes times their weights, by it */
    MDF_STATE_TANGENT,     /* how its slope changes in a direction of the states, inputs and parameters */
    MDF_STATE_N_RESULTS
};

/* Such a parameter: the slots that its value is taken from, its part of a direction, and the weight of its slope; of results of its shape; and of what its node takes as its next value. */
struct mdf_program_state {
    mdf_operand slot; /* as nodes have it */
    mdf_operand y, direction, weight, results[MDF_STATE_N_RESULTS], next;
    const char *path; /* in the model */
};

/* How a solver's own steps end, but at the time of the evaluation, and what is said of it: as they are too short; as events repeat;
 * as a condition does not act at a time but holds a state; as derivatives jump, and lead back to where they do; as there are too many. */
#define MDF_SOLVER_END_LIST(X)                                                                                                       \
    X(STALLS, "can not keep to the tolerance: its steps have become too short to go on (a jump, a pole, or equations that are too " \
              "stiff: try cvode_bdf, or a greater --rtol)")                                                                          \
    X(CHATTERS, "finds events that follow each other without time going on (chattering): what a condition does brings about the "   \
                "next event")                                                                                                        \
    X(SLIDES, "finds a condition that holds on and would hold a state where it has put it, which is no event (docs/time.md): take " \
              "a method of fixed steps")                                                                                             \
    X(TURNS, "finds derivatives that jump, and lead back to the jump from either of its sides, so that time hardly goes on "         \
             "(chattering): take a method of fixed steps, or a steep function in place of the jump (docs/time.md)")                  \
    X(TIRES, "takes more steps in one evaluation than the step limit allows (--step-limit, docs/time.md): equations that are too "   \
             "stiff (try cvode_bdf), a tolerance that is too small, or a long time")

enum mdf_solver_end {
    MDF_SOLVER_CAME_THROUGH,
#define MDF_SOLVER_END_ENUM(name, text) MDF_SOLVER_##name,
    MDF_SOLVER_END_LIST(MDF_SOLVER_END_ENUM)
#undef MDF_SOLVER_END_ENUM
};

/* Of each. */
extern const char *const mdf_solver_ends[];

/* Once an evaluation has taken so many steps, it is looked for jumps that the solver can not leave behind; where so many are
 * found, it ends (TURNS). */
enum { MDF_SOLVER_STEPS_TO_WATCH = 1000, MDF_SOLVER_MOST_TURNS = 10 };

/* A jump is halved so often; then looked at from its sides, in steps of so small a part of the solver's. */
enum { MDF_SOLVER_JUMP_HALVINGS = 40, MDF_SOLVER_JUMP_PART = 64 };

/* How parameters with a time derivative are solved: docs/time.md. */
struct mdf_program_solver {
    mdf_method method;
    double rtol, atol, max_step;
    uint64_t step_limit;
    size_t n_states, n_held; /* the last of them only change in events */
    bool takes_own_steps; /* of any number in an evaluation: whether they came through is looked at behind each */
    mdf_operand behind; /* enum mdf_solver_end; MDF_NO_OPERAND: it always comes to the time of the evaluation */
    struct mdf_program_state *states; /* of a library; NULL: code of the program solves them */
    struct mdf_range begin, evaluate; /* sets `y` from the parameters; computes slopes from it */
    struct mdf_range condition;       /* what conditions make of it; empty: there are none to locate */
    struct mdf_range differentiate;   /* slopes by states; empty: there are no derivatives */
    size_t *ports; /* that no edge fills, and that derivatives depend on */
    size_t n_ports;
};

/* The right-hand side of a graph's differential equations, for who solves them himself: code that no evaluation runs. */
struct mdf_program_right_side {
    struct mdf_program_state *states; /* one for each integral, in any order; NULL: it was not asked for */
    size_t n_states;
    struct mdf_range begin;         /* sets `y` from what nodes have */
    struct mdf_range evaluate;      /* slopes, output ports and tests of conditions, as they are at `y` */
    struct mdf_range condition;     /* what conditions make of `y`; empty: there are none */
    struct mdf_range direct;        /* sets directions to 1 */
    struct mdf_range differentiate; /* tangents of slopes and outputs; empty: there are no derivatives */
    mdf_operand *by_port, *by_parameter; /* the direction of each of the program's; MDF_NO_OPERAND: it is fed by an edge */
    mdf_operand *of_output;              /* the tangent of each output port, node by node */

    /* Of a program of derivatives that a library finds: its evaluation is so many in a row. 0: it is none. */
    uint64_t n_steps;
    struct mdf_range initial; /* `y` as the first one sets it, and in `direction` how that changes in the direction of parameters */
    size_t n_of, *of;         /* the output ports that are derived */
    bool of_each;             /* after each evaluation; else there is one port, after the last */
    mdf_operand *of_value, *values; /* of each of them: what holds it; where it goes after each evaluation */
    mdf_operand *results;     /* of each of them, the derivatives by each of the program's parameters */
};

struct mdf_program {
    struct mdf_memory memory;
    struct mdf_arena arena;
    const char *model_id, *graph_id;
    struct mdf_code *code;
    struct mdf_program_node *nodes;
    size_t n_nodes;
    struct mdf_program_port *ports;
    size_t n_ports;
    mdf_operand *is_given; /* of each port: set to whether something is given to it, before each evaluation; NULL: nobody asks */
    struct name_table port_names; /* the first of named_ports, from 1, that has a name */
    struct mdf_named_port *named_ports;
    size_t n_named_ports;
    struct mdf_program_edge *edges;
    size_t n_edges;
    struct mdf_program_layer *layers; /* the consideration queue */
    size_t n_layers;
    bool takes_first;                    /* a layer does */
    const struct mdf_schedule *schedule; /* NULL: no conditions; each layer runs once */
    struct mdf_program_result *results;
    size_t n_results;
    bool declares_results;    /* their names are those that the graph's metadata, or an .onnx file, gives them */
    const char **input_names; /* of the graph's interface */
    size_t n_inputs;
    struct mdf_program_parameter *parameters;
    size_t n_parameters;
    struct mdf_program_integral *integrals;
    size_t n_integrals;
    struct mdf_program_event *events;
    size_t n_events;
    struct mdf_program_stop stop;
    struct mdf_kept_value *kept;
    bool has_derivative;          /* of the outermost graph or one within it: a parameter changes with time */
    struct mdf_origin derivative; /* the first such parameter */
    struct mdf_program_solver solver;
    struct mdf_program_right_side right_side;
    /* options */
    mdf_dtype real;
    uint64_t max_iterations, max_passes, seed;
    double time_limit_s; /* of one evaluation; 0: none */
    int n_threads;       /* at least 1 */
    bool is_plain;       /* instructions are run as they stand, never lowered */
    struct mdf_spare_states *spares;
    struct mdf_functions *functions; /* a share of those that it calls; NULL: none */
};

/* Compiles a graph of a model; parameters of these names are kept changeable. NULL on error. */
struct mdf_program *mdf_program_compile(const struct mdf_model *model, const char *const *parameters, size_t n_parameters,
                                        const mdf_options *options, mdf_error *error);
/* The same with the right-hand side of its differential equations; where there is none, that is the error. */
struct mdf_program *mdf_program_compile_right_side(const struct mdf_model *model, const char *const *parameters, size_t n_parameters,
                                                   const mdf_options *options, mdf_error *error);
/* The same, with warnings of what can hardly be meant besides (docs/diagnostics.md). */
struct mdf_program *mdf_program_look_over(const struct mdf_model *model, const mdf_options *options, mdf_error *error);
/* What derivatives are asked for. */
/* What is asked for of a value: its gradient; products of its derivatives, and of those of the gradient, by vectors
 * (mdf_vector_product). */
enum mdf_request_kind { MDF_REQUEST_GRADIENT, MDF_REQUEST_VJP, MDF_REQUEST_JVP, MDF_REQUEST_HVP };

struct mdf_gradient_request {
    enum mdf_request_kind kind;
    const char *of;        /* a result, or an output port: PORT or NODE.PORT; NODE.PORT[:],...: some, after each evaluation */
    const char *const *by; /* parameters, NODE.PARAMETER, which are kept changeable */
    size_t n_by;
    uint64_t n_steps; /* evaluations in a row, at least 1 */
    bool has_dt;      /* all but the first have a time increment */
    size_t bound_bytes; /* of the memory, 0: none: rather compute steps again than keep all of them */
};

/* Compiles a program whose one evaluation is all those of the request, and the derivatives of a value after them: its node
 * `gradient` has the output ports `value` and, for each of the parameters, its name. Inputs hold for all of them. NULL on error.
 */
struct mdf_program *mdf_program_compile_gradient(const struct mdf_model *model, const struct mdf_gradient_request *request,
                                                 const mdf_options *options, mdf_error *error);
/* Makes the table of the ports' names. False: out of memory. */
bool mdf_program_name_ports(struct mdf_program *program);
/* The ports that `name` stands for - PORT, NODE.PORT, or what the graph's interface calls them -, in order; NULL: none, or no
 * more. */
const struct mdf_named_port *mdf_program_ports_named(const struct mdf_program *program, const char *name);
const struct mdf_named_port *mdf_program_next_named(const struct mdf_program *program, const struct mdf_named_port *named);
/* How many output ports all nodes have. */
size_t mdf_program_count_outputs(const struct mdf_program *program);
/* Whether the ports of a graph within the port's node have default values of their own. */
bool mdf_program_leaves_default(const struct mdf_program *program, const struct mdf_program_port *port);
void mdf_program_release(struct mdf_program *program);

#endif
