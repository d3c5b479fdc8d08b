/* model.h - an MDF model as typed structures over its document.
 *
 * Comes in: a document. Goes out: graphs, nodes, ports, functions, parameters and edges by the classes of MDF 0.4
 * (https://mdf.readthedocs.io/en/latest/api/Introduction.html), with older spellings brought into the present form.
 * What holds afterwards: required fields are there and of the right kind, ids are unique, shapes and types parse. Values and
 * expressions are still document nodes: what they mean is the compiler's business. */
#ifndef MDF_MODEL_MODEL_H
#define MDF_MODEL_MODEL_H

#include "mdf_c/base/name_table.h"
#include "mdf_c/document/document.h"

enum mdf_reduce { MDF_REDUCE_OVERWRITE, MDF_REDUCE_ADD, MDF_REDUCE_MULTIPLY };

/* The shape and type that a port or parameter declares. */
struct mdf_declaration {
    bool has_shape;
    size_t rank;
    const int64_t *shape;  /* -1: an axis of any size */
    const char *type_text; /* NULL: none */
    struct mdf_declared_type type;
};

struct mdf_input_port {
    const char *id;
    const struct mdf_node *source;
    const struct mdf_node *default_value; /* NULL: none */
    struct mdf_declaration declaration;
    enum mdf_reduce reduce;
    bool is_made; /* not in the file: the node has it for the ports of that name in its graph */
};

struct mdf_output_port {
    const char *id;
    const struct mdf_node *source;
    const struct mdf_node *value;   /* NULL: none */
    const struct mdf_node *initial; /* what it holds before the node has run; NULL: nothing */
    struct mdf_declaration declaration;
};

/* What a Function and a Parameter have in common: how a value is computed. */
struct mdf_definition {
    const char *id;
    const struct mdf_node *source;
    const struct mdf_node *value;           /* NULL: none */
    const char *function;                   /* NULL: none */
    const struct mdf_node *function_source; /* where the function is named */
    const struct mdf_node *args;            /* an object, or NULL */
    bool is_broken;                         /* an error in it is told already: its value is unknown */
};

struct mdf_parameter_condition {
    const char *id;
    const struct mdf_node *source, *test, *value; /* without a test it never holds, and `value` may be NULL */
};

struct mdf_parameter {
    struct mdf_definition definition;
    const struct mdf_node *default_initial_value; /* NULL: none */
    const struct mdf_node *time_derivative;       /* NULL: none */
    const struct mdf_node *reset;                 /* a text: it has its initial value again in each ...; NULL: never */
    struct mdf_parameter_condition *conditions;
    size_t n_conditions;
    struct name_table condition_names;
    struct mdf_declaration declaration; /* of metadata {"type", "shape"} */
};

/* A collection is an array, the number of its items, and a table of their ids where these are many (mdf_model_find). */
struct mdf_graph_node {
    const char *id;
    const struct mdf_node *source;
    struct mdf_input_port *input_ports;
    size_t n_input_ports;
    struct name_table input_port_names;
    struct mdf_definition *functions;
    size_t n_functions;
    struct name_table function_names;
    struct mdf_parameter *parameters;
    size_t n_parameters;
    struct name_table parameter_names;
    struct mdf_output_port *output_ports;
    size_t n_output_ports;
    struct name_table output_port_names;
    const struct mdf_graph *graph; /* that runs when the node does; NULL: none */
    const struct mdf_node *repeat; /* a whole number: it runs until it is finished, and so often at most; NULL: once */
};

struct mdf_edge {
    const char *id;
    const struct mdf_node *source;
    const char *sender, *receiver, *sender_port, *receiver_port;
    const struct mdf_node *weight;                                   /* NULL: 1 */
    bool is_feedback;                                                /* the receiver does not wait for the sender */
    size_t sender_node, sender_index, receiver_node, receiver_index; /* the two ends, resolved */
};

/* One entry of a declared interface. */
struct mdf_interface_item {
    const struct mdf_node *source;
    const char *name;
    const char *node; /* NULL: any node; else the name was, or `port` is, NODE.PORT */
    const char *port;
    struct mdf_declaration declaration;
};

struct mdf_graph {
    const char *id;
    const struct mdf_node *source;
    struct mdf_graph_node *nodes;
    size_t n_nodes;
    struct name_table node_names;
    struct mdf_edge *edges;
    size_t n_edges;
    struct name_table edge_names;
    const struct mdf_node *parameters;      /* an object, or NULL */
    const struct mdf_node *conditions;      /* an object, or NULL */
    bool declares_inputs, declares_outputs; /* in metadata */
    struct mdf_interface_item *inputs, *outputs;
    size_t n_inputs, n_outputs;
};

struct mdf_model {
    struct mdf_memory memory;
    struct mdf_arena arena;
    struct mdf_document *document;
    mdf_dialect dialect;           /* that its graphs are meant in; UNSAID: it is as the file has it */
    const struct mdf_node *source; /* the object that has "graphs" */
    const char *id;
    int opset; /* of the default ONNX domain */
    bool declares_opset;
    struct mdf_graph *graphs;
    size_t n_graphs;
    struct name_table graph_names;
    struct mdf_warnings warnings;
    bool is_partial; /* reading it failed, but what is there may be looked at for more errors */
};

enum {
    MDF_DEFAULT_OPSET = 15,        /* as in the reference engine */
    MDF_MAX_GRAPH_DEPTH = 64,      /* graphs within nodes of graphs */
    MDF_MAX_NESTED_NODES = 1000000 /* nodes in them, each as often as its graph is named */
};

/* Builds the structures of `model`, whose memory, arena, document and warnings are set. Where warnings go to a list, all errors
 * do, and `error` has the first; parts that are at fault are left out, and is_partial tells whether the rest makes sense. */
mdf_status mdf_model_read(struct mdf_model *model, mdf_error *error);

/* Reads one graph that stands anywhere in a document (the body of Scan, Loop or If). `id` is its name where it has none inside.
 */
mdf_status mdf_model_read_graph(struct mdf_arena *arena, const struct mdf_document *document, const struct mdf_warnings *warnings,
                                const char *id, const struct mdf_node *source, struct mdf_graph *graph, mdf_error *error);

/* Gives a node ports for those of the graph within it: input ports that nothing in the graph feeds and that the node has no name
 * for, output ports that nothing in the graph reads. See docs/nested_graphs.md. `*unlike` is an input port of the graph that says
 * another reduce than one of its name before it, where one port of the node would have to stand for both; NULL: there is none.
 * False: out of memory. */
bool mdf_model_add_nested_ports(struct mdf_arena *arena, struct mdf_graph_node *node, const struct mdf_input_port **unlike);

/* Reads "type" and "shape" of an object. The shape lies in `arena`. */
mdf_status mdf_model_read_declaration(struct mdf_arena *arena, const struct mdf_document *document,
                                      const struct mdf_warnings *warnings, const struct mdf_node *object,
                                      struct mdf_declaration *declaration, mdf_error *error);

/* The place of the first item of that id among `n` items of `size` bytes each, whose ids stand first; n: there is none. */
size_t mdf_model_find(const struct name_table *names, const void *items, size_t n, size_t size, const char *id);
/* The id of one of these items. */
const char *mdf_model_id_of(const void *items, size_t index, size_t size);
/* Fills an empty table for mdf_model_find, where there are enough items for one. False: out of memory. */
bool mdf_model_index(struct name_table *names, struct mdf_arena *arena, const void *items, size_t n, size_t size);
/* The same as mdf_model_find, for the parts of a node and for the nodes of a graph. */
size_t mdf_model_find_input_port(const struct mdf_graph_node *node, const char *id);
size_t mdf_model_find_output_port(const struct mdf_graph_node *node, const char *id);
size_t mdf_model_find_node(const struct mdf_graph *graph, const char *id);
/* The part itself; NULL: there is none, or no node. */
struct mdf_definition *mdf_model_find_function(const struct mdf_graph_node *node, const char *id);
struct mdf_parameter *mdf_model_find_parameter(const struct mdf_graph_node *node, const char *id);

/* The first graph that no attribute of the model names as a body; the first of all where each is one. */
const struct mdf_graph *mdf_model_main_graph(const struct mdf_model *model);
/* The graph of that id; NULL where there is none. */
const struct mdf_graph *mdf_model_find_graph(const struct mdf_model *model, const char *id);
/* The id of a graph that is nearest to `id`; NULL where none is near. */
const char *mdf_model_nearest_graph(const struct mdf_model *model, const char *id);

/* The unit of measurement that the metadata of a part give it, as "unit" or "units"; NULL: none. `source` may be NULL. */
const char *mdf_node_unit(const struct mdf_node *source);

/* The graph that stands at a place of the document: `node` itself, where it is an object with nodes, or the only value of {ID:
 * graph}, whose *id is then ID. NULL: neither. */
const struct mdf_node *mdf_node_find_graph(const struct mdf_node *node, const char **id);

#endif
