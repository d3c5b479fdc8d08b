/* node_builder.h - a node under construction: what node.c, node_items.c and node_ports.c share. */
#ifndef MDF_PLAN_NODE_BUILDER_H
#define MDF_PLAN_NODE_BUILDER_H

#include "mdf_c/plan/compiler.h"

enum item_progress { ITEM_WAITING, ITEM_STARTED, ITEM_DONE };

/* A function or parameter of the node. */
struct item {
    const struct mdf_definition *definition;
    const struct mdf_parameter *parameter; /* NULL: a function */
    struct list names;                     /* what its value depends on */
    size_t n_initial_names;                /* how many of them, from the first on, its value before the first run does */
    struct usage usage;
    bool is_literal;     /* a constant without more ado */
    bool is_text;        /* a text as it is, for an attribute */
    bool is_void;        /* has no value at all */
    bool is_read_before; /* its value of the run before is read */
    bool is_stateful;    /* keeps its value over runs */
    bool needs_initial;  /* its previous value is read: it has a slot, and a value before the first run */
    mdf_operand slot;    /* where needs_initial */
    enum item_progress initial_progress, progress;
};

struct node_builder {
    struct graph_builder *graph;
    struct compiler *compiler;
    const struct mdf_graph_node *node;
    struct node_plan *plan;
    size_t index;
    struct scope scope;
    struct scope before_conditions; /* within it: parameters as they are before their conditions act, where events look at them */
    struct target target;
    struct item *functions, *parameters;
    struct name_table function_numbers, parameter_numbers; /* by id, counted from 1 */
    struct name_table text_attributes;                     /* of the node's functions */
};

/* --- node_items.c */
/* Functions and parameters, with what each depends on; then the names of parameters bound to what they hold. */
bool node_describe_items(struct node_builder *builder);
bool node_bind_parameters(struct node_builder *builder);
/* Begins what is said of an item in errors. */
struct place node_enter_item(struct node_builder *builder, const struct item *item);
/* An item that could not be compiled: what refers to it is no further error. */
bool node_bind_unknown(struct node_builder *builder, struct target *target, const struct item *item);
/* Names that a value of the file refers to. */
bool node_add_names(struct compiler *compiler, const struct mdf_node *node, struct list *names);
/* The number of an item of that name; SIZE_MAX: there is none. */
size_t node_item_number(const struct name_table *numbers, const char *name);

/* Binds an input port's name to what the port brings. */
bool node_bind_port(struct node_builder *builder, size_t port);

/* The value that a parameter with a state begins with. */
mdf_operand node_initial_of_state(struct target *target, const struct item *item);

/* --- node_derivative.c: the value after the time increment; without one the initial value. */
mdf_operand node_compile_derivative(struct node_builder *builder, const struct item *item);
/* --- node_events.c: the node with parameters for the events in its metadata; NULL: the error is set. */
const struct mdf_graph_node *node_expand_events(struct compiler *compiler, const struct mdf_graph_node *source);
/* Whether a parameter is not the model's own. */
bool node_item_is_added(const struct node_builder *builder, const struct item *item);
/* Whether it is the expression of an event, which looks at parameters before their conditions. */
bool node_is_level(const struct node_builder *builder, const struct item *item);

/* Whether conditions of what is integrated are events that the solver locates between evaluations. */
bool node_leaves_conditions_to_solver(const struct compiler *compiler);
/* What conditions make of the state that was compiled last, and whether one holds, for its right-hand side. */
struct solver_state *node_note_condition(struct node_builder *builder, mdf_operand conditioned, mdf_operand holds);
/* The parameter's value `before` its conditions, which have made it `conditioned` where one `holds`. */
mdf_operand node_leave_to_solver(struct node_builder *builder, mdf_operand before, mdf_operand conditioned, mdf_operand holds);

#endif
