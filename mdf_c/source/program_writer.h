/* program_writer.h - what the parts share that write a whole program: its slots, and the lowered forms of its instructions. */
#ifndef MDF_SOURCE_PROGRAM_WRITER_H
#define MDF_SOURCE_PROGRAM_WRITER_H

#include "mdf_c/lower/lower.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/run/state.h"
#include "mdf_c/source/source_writer.h"

/* Instructions that run one after the other, lowered. */
struct mdf_source_stretch {
    struct mdf_source_stretch *next, *next_here; /* of all; of those that begin with the same instruction */
    const struct mdf_lowering_range *ranges;
    size_t n_ranges;
    bool has_dt; /* lowered for evaluations with a time increment */
    struct mdf_lowered *lowered;
};

/* Nodes that run one after the other and are lowered as one stretch, as loops of theirs have become one. */
struct mdf_source_together {
    const struct mdf_lowering_range *ranges;
    size_t n;    /* nodes, and ranges */
    size_t last; /* the node that runs the stretch */
    struct mdf_lowered *lowered;
};

/* A large array that nobody but the nodes of one stretch reads, and that is not stored, as another one has the same elements in
 * another order: who asks for it by name gets it made of that. */
struct mdf_source_turned {
    struct mdf_source_turned *next;
    size_t slot, from; /* the one that is not stored, and the other one, of the frame's slots */
    size_t rank;       /* axes of both */
    size_t extents[MDF_NEST_MOST_AXES];
    int64_t strides[MDF_NEST_MOST_AXES], from_strides[MDF_NEST_MOST_AXES];
};

/* A slot that is not always left with a value: a field of the state says whether it has one. */
struct mdf_source_optional {
    struct mdf_optional of;
    struct mdf_source_slot truth;
};

/* What belongs to one graph: the outermost, or one within a node, whose slots, counts and functions stand beside those of the
 * others in one struct and one text. */
struct mdf_source_graph {
    const struct mdf_program *program;
    struct mdf_state *state;
    struct mdf_value *values;      /* the frame's slots */
    struct mdf_source_slot *slots; /* by number of slot; name NULL: nobody reads it */
    uint32_t *is_read;             /* of each slot: MDF_READ_BY_ALL, or by nobody */
    struct mdf_slot_reads *reads;  /* what finds that out */
    bool *stays, *changes;         /* of each slot: its value is the same in all runs; is not, as far as is known */
    struct mdf_either *either;     /* of each slot that is not always left with one strength */
    struct mdf_source_optional *optionals; /* of each slot */
    const char **hints;            /* of each slot */
    size_t *aliases; /* of each slot: the one that it is the same as whenever it is read, in whose memory it can lie; SIZE_MAX:
                        none */
    struct mdf_source_slot *constants;                      /* of the unit's constants that something reads */
    struct mdf_source_stretch *stretches, **stretches_from; /* all; by their first instruction */
    size_t *order, *places; /* all nodes in the order in which they run, and the place of each in that; NULL: not asked for yet */
    size_t *n_passes;       /* of each node, how often it goes through arrays by itself; SIZE_MAX: not asked for yet */
    const struct mdf_source_together **together_of; /* of each node; NULL: it is lowered by itself */
    struct mdf_source_turned *turned;               /* arrays that are made when they are asked for */
    const char **node_functions;                    /* of each node, what runs it */
    const char **take_functions; /* what takes for it what edges bring, where all of its set do before; NULL: it does itself */
    const char *prefix;          /* of what each graph has by the same name; "": the outermost */
    size_t outer;                /* the graph around, in program->graphs */
};

struct mdf_source_program {
    struct mdf_source_writer writer;
    const char *name;
    bool has_derivatives; /* the right-hand side is asked for */
    bool has_indicators;  /* events of conditions of parameters are */
    bool has_tangents;    /* with derivatives of that */
    bool has_new_either;  /* a slot was found to be left with either strength, or not always with a value, after what reads it may
                             have been lowered */
    size_t n_lanes;       /* instances side by side that are asked for; 0: none */
    struct mdf_source_member *lane_members, **last_lane_member;
    struct mdf_source_names members;
    struct mdf_text arrays;    /* large ones of the state, which stand in front of all else, as lines of the cache begin */
    struct mdf_text fields;    /* of the state */
    struct mdf_text copies;    /* of its part for copies of inputs that can be lent */
    struct mdf_text functions; /* of nodes, complete */
    struct mdf_text unions;    /* of buffers of functions */
    /* All graphs, one behind the graph around it; the outermost is the first. */
    struct mdf_source_graph *graphs;
    size_t n_graphs;
    struct mdf_source_graph *graph; /* the one at hand */
};

/* --- program_slots.c */

/* Lowers all instructions and finds out which slots are read. */
bool mdf_source_collect(struct mdf_source_program *program);
void mdf_source_release_stretches(struct mdf_source_program *program);
/* Instructions that run one after the other, lowered; NULL: *refusal says why not. */
struct mdf_lowered *mdf_source_lower(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n,
                                     bool has_dt, struct mdf_refusal *refusal);
/* Adds a stretch, to which the form belongs from then on, whatever comes of it. */
bool mdf_source_add_stretch(struct mdf_source_program *program, const struct mdf_lowering_range ranges[], size_t n, bool has_dt,
                            struct mdf_lowered *lowered);
const struct mdf_lowered *mdf_source_find_stretch(const struct mdf_source_program *program,
                                                  const struct mdf_lowering_range ranges[], size_t n, bool has_dt);
/* The instructions of a node's first run, or of a later one; how many ranges they are. */
size_t mdf_source_node_ranges(const struct mdf_program_node *node, bool is_first, struct mdf_lowering_range ranges[2]);
/* Whether what a node computes depends on whether there is a time increment. */
bool mdf_source_depends_on_dt(const struct mdf_program *program, const struct mdf_program_node *node);
/* The place of an operand; NULL: nobody reads it. */
const struct mdf_source_slot *mdf_source_find_operand(struct mdf_source_program *program, mdf_operand operand);
/* The text of an element of an operand's value, of its first where it is a scalar. */
const char *mdf_source_operand_element(struct mdf_source_program *program, const struct mdf_source_slot *slot, size_t index);

/* Instructions of a node's first run, or of a later one, before the graph within it; how many ranges they are. */
size_t mdf_source_ranges_before(const struct mdf_program *program, const struct mdf_program_node *node, bool is_first,
                                struct mdf_lowering_range ranges[2]);
/* Those behind it; empty where the node has none. */
struct mdf_lowering_range mdf_source_range_behind(const struct mdf_program *program, const struct mdf_program_node *node);

/* --- program_together.c: finds out, when the first of them is lowered, whether a node and those that run behind it are one
 * stretch. False: the error is set. */
bool mdf_source_bring_together(struct mdf_source_program *program, size_t node);
/* --- program_slots.c */
/* Whether what an operand has is no slot, nor shown: a sequence whose items differ in form, of which there is no array, in a graph
 * that declares results, and is none of them. Nodes that give it to each other are lowered as one stretch. */
bool mdf_source_is_hidden(const struct mdf_source_program *program, mdf_operand operand);

/* --- program_optionals.c */
/* Whether nodes may have a place for what is not always there. */
bool mdf_source_may_have_optionals(const struct mdf_source_program *program);
/* Notes a slot that an output, of that form, does not always leave with a value. False: out of memory. */
bool mdf_source_note_optional(struct mdf_source_program *program, const struct mdf_lowered_output *output,
                              const struct mdf_value *form, size_t slot);
/* For struct mdf_lowering_request; the context is the program. */
const struct mdf_optional *mdf_source_find_optional(void *context, const struct mdf_value *value);
/* What a slot has, or has where it has anything, though it may have nothing now. */
const struct mdf_value *mdf_source_slot_value(struct mdf_source_program *program, const struct mdf_value *value);
/* The field of the state that says whether a slot has a value: makes it; finds it by the value that stands for it. */
void mdf_source_make_truth(struct mdf_source_program *program, size_t slot);
const struct mdf_source_slot *mdf_source_find_truth(const struct mdf_source_program *program, const struct mdf_value *value);

/* --- program_turned.c: whether what nodes have together turns an array that nobody else reads, which need not be stored; and that,
 * lowered once more without it, if that goes through arrays less often. `lower`: does it, by what is read in the graph; NULL: it
 * can not be done. The form that is to be taken. */
bool mdf_source_turns_unread(struct mdf_source_program *program, const struct mdf_source_together *together);
struct mdf_lowered *mdf_source_leave_turned(struct mdf_source_program *program, const struct mdf_source_together *together,
                                            struct mdf_lowered *(*lower)(struct mdf_source_program *program,
                                                                         const struct mdf_source_together *together));
/* The function that makes an array which is not stored, of a slot: its text is added to the functions; NULL: the array is stored.
 */
const char *mdf_source_turned_function(struct mdf_source_program *program, size_t slot);

/* --- program_aliases.c: makes the aliases of the graph at hand. */
bool mdf_source_find_aliases(struct mdf_source_program *program);

/* --- program_graphs.c: graphs within nodes. */
/* Makes program->graphs. */
bool mdf_source_find_graphs(struct mdf_source_program *program, struct mdf_state *state);
/* Names that each graph has for itself are taken. */
void mdf_source_take_graph_names(struct mdf_source_program *program);
/* The graph that a value is a slot of; NULL: none. */
struct mdf_source_graph *mdf_source_graph_of(const struct mdf_source_program *program, const struct mdf_value *value);
/* Writes the functions of all graphs, each before those of the graph around it. */
bool mdf_source_write_graphs(struct mdf_source_program *program);
/* In a function of a node: runs the graph within it, and takes what it yields. */
bool mdf_source_write_nested_run(struct mdf_source_program *program, const struct mdf_program_node *node);

/* --- program_nodes.c: a C function for each node, and the functions that it consists of. */
bool mdf_source_write_nodes(struct mdf_source_program *program);
/* Instructions that run in no node's stretch. */
bool mdf_source_write_range(struct mdf_source_program *program, struct mdf_range range);
/* Copies a value from one place to another, converted where the types differ; lengths are equal. */
void mdf_source_copy(struct mdf_source_program *program, const struct mdf_source_slot *to, const struct mdf_source_slot *from);
/* Whether the second is the first in a type of whole numbers, which has not all of its digits. */
bool mdf_source_loses(const struct mdf_value *a, const struct mdf_value *b);
void mdf_source_begin_function(struct mdf_source_program *program, const char *name);
void mdf_source_end_function(struct mdf_source_program *program, const char *name, const char *comment);
/* Calls a function of the state; a message that it gives is returned by the one that is being written. */
void mdf_source_checked_call(struct mdf_source_program *program, const char *function);
/* Puts the value that has arrived into a port: of an edge, or from outside. */
bool mdf_source_write_default(struct mdf_source_program *program, size_t index);
bool mdf_source_write_arrival(struct mdf_source_program *program, size_t port, const struct mdf_source_slot *value);

/* How the functions of the state are declared that other ones of the source call. */
enum { MDF_SOURCE_FEW_NODES = 16 };
const char *mdf_source_linkage(const struct mdf_source_program *program);

/* --- condition_text.c: a condition as an expression in C; NULL: it is refused. */
const char *mdf_source_condition(struct mdf_source_program *program, uint32_t index);

/* --- program_schedule.c: the order in which nodes run. Appends fields of the state and the function run_graph. */
bool mdf_source_write_order(struct mdf_source_program *program);

/* --- program_known_order.c: all runs of an evaluation as the function run_known_order. False: their order is not known, or too
 * long. */
bool mdf_source_write_known_order(struct mdf_source_program *program);

/* --- program_states.c: tunable parameters, and the right-hand side of the differential equation. */

/* Whether types and shapes are such that it can be one. False with the reason as the error. */
bool mdf_source_check_derivatives(struct mdf_source_program *program);
/* Its code, as functions of the state. */
bool mdf_source_write_right_side(struct mdf_source_program *program);
void mdf_source_append_state_numbers(struct mdf_source_program *program, struct mdf_text *text);
void mdf_source_append_state_prototypes(struct mdf_source_program *program, struct mdf_text *text);
void mdf_source_append_state_functions(struct mdf_source_program *program);

/* --- program_lanes.c: several instances side by side, where they are asked for. */
/* Whether what is called can be so. False with the reason as the error. */
bool mdf_source_check_lane_calls(struct mdf_source_program *program);
/* A member of the state that holds values; length 0: a scalar. */
void mdf_source_add_member(struct mdf_source_program *program, const char *type, const char *name, size_t length,
                           const char *comment);
void mdf_source_append_lane_declarations(struct mdf_source_program *program, struct mdf_text *text);
/* places: where each input of the next step is put. */
void mdf_source_append_lanes(struct mdf_source_program *program, const struct mdf_source_slot *const *places);
/* NAME_lanes_steps, which takes NAME_lanes_step. */
void mdf_source_append_lane_steps(struct mdf_source_program *program);

/* --- program_lanes_apart.c: where lanes may part, as nodes have conditions or graphs: a state for each. */
bool mdf_source_lanes_are_apart(const struct mdf_source_program *program);
void mdf_source_append_apart_struct(struct mdf_source_program *program, struct mdf_text *text);
void mdf_source_append_apart(struct mdf_source_program *program);

/* --- program_random.c: random numbers, where something draws them. Types in front of the struct, its fields, NAME_seed. */
void mdf_source_append_generators(const struct mdf_source_program *program, struct mdf_text *text);
void mdf_source_append_random_fields(const struct mdf_source_program *program, struct mdf_text *text);
void mdf_source_append_seed(struct mdf_source_program *program);

/* --- program_interface.c: the texts around it. */

/* The name of a number: NAME_KIND_NODE_PORT; node NULL: NAME_KIND_PORT. */
const char *mdf_source_enum_name(struct mdf_source_program *program, const char *kind, const char *node, const char *port);
bool mdf_source_write_interface(struct mdf_source_program *program, const char *header_name, struct mdf_text *source,
                                struct mdf_text *header);

#endif
