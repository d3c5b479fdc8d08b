/* onnx_import.h - what the files that read ONNX share: a model between its file and its MDF tree.
 *
 *     bytes -outline, unpack-> messages of protobuf -resolve-> graphs, nodes, values -write-> tree
 *
 * After resolve every name of the file has become a pointer to the value that it means, each value has an id that the names of
 * MDF's scopes lead to, functions that the model brings along are expanded, and Constant nodes are constants. */
#ifndef MDF_DOCUMENT_ONNX_IMPORT_H
#define MDF_DOCUMENT_ONNX_IMPORT_H

#include "build/generated/onnx.pb-c.h"
#include "mdf_c/base/name_table.h"
#include "mdf_c/document/formats.h"
#include "schemas/onnx_schema.h"

/* Limits that hostile files run into. */
enum {
    ONNX_MAX_MESSAGE_DEPTH = 128,      /* messages within each other */
    ONNX_MAX_MESSAGES = 1 << 23,       /* in one file */
    ONNX_MAX_NESTING = 60,             /* body graphs and function calls within each other */
    ONNX_MAX_EXPANDED_NODES = 1 << 18, /* that calls of functions may stand for in all */
    ONNX_MAX_ENTRIES = 4096,           /* attributes of a node or function, opsets that are imported */
    ONNX_MAX_NESTED_RANK = 16          /* arrays of a higher rank are written flat, their shape beside them */
};
#define ONNX_MAX_DENSE_BYTES ((size_t)1 << 30) /* that a sparse tensor may expand to */

/* AttributeProto.AttributeType beyond those of enum mdf_schema_attribute_type. */
enum { ONNX_ATTRIBUTE_TYPES = 14 };

/* ------------------------------------------------------------------ fields of messages */

enum { ONNX_WIRE_LENGTH = 2 };                                                            /* a number of bytes, then those */
enum { ONNX_FIELD_FLOAT_DATA = 4, ONNX_FIELD_RAW_DATA = 9, ONNX_FIELD_DOUBLE_DATA = 10 }; /* of TensorProto */

struct onnx_field {
    uint32_t number;
    unsigned wire_type;
    const uint8_t *start, *value; /* of the key, of what follows it */
    const uint8_t *body;          /* of wire type LENGTH: the bytes behind the length */
    size_t body_size;
};

/* ------------------------------------------------------------------ texts as keys (onnx_names.c) */

/* A growing array of pointers. */
struct onnx_list {
    void **items;
    size_t n, capacity;
};

/* Texts to pointers, or a set of texts. Keys are borrowed. */
struct onnx_map {
    struct name_table names; /* their places in `values`, counted from 1; 0: NULL */
    struct onnx_list values;
};

/* ------------------------------------------------------------------ the resolved model */

struct onnx_graph;
struct onnx_node;
struct onnx_scope;

/* Where a constant's elements are; one of the three, or none. */
struct onnx_constant {
    const Mdf__TensorProto *tensor;
    const Mdf__SparseTensorProto *sparse;
    const Mdf__AttributeProto *attribute; /* of a Constant node */
};

enum onnx_value_kind { ONNX_VALUE_INPUT, ONNX_VALUE_CONSTANT, ONNX_VALUE_OUTPUT };

struct onnx_value {
    const char *name; /* in the file */
    const char *id;   /* in MDF: the name, or another where that would not do */
    enum onnx_value_kind kind;
    struct onnx_graph *graph;
    struct onnx_node *node;                          /* OUTPUT: what computes it; NULL: not known yet */
    struct onnx_constant constant;                   /* CONSTANT; INPUT: its default value, or nothing */
    const Mdf__TypeProto *type;                      /* NULL: not declared */
    bool is_used;                                    /* something in the file has looked it up */
    size_t position;                                 /* OUTPUT: number of its node in its list of nodes */
    const struct onnx_node *captured_by, *listed_by; /* marks of lists that hold it already */
};

struct onnx_attribute {
    const char *name;
    const Mdf__AttributeProto *source;
    struct onnx_scope *scope; /* in which its graphs find names */
    struct onnx_list graphs;  /* struct onnx_graph: g, or graphs */
};

struct onnx_node {
    const Mdf__NodeProto *source; /* NULL: an Identity that was put in */
    const char *id, *domain, *operator;
    const struct mdf_schema *schema; /* NULL: not known */
    int opset;                       /* by which it is another than by the model's; 0: it is not */
    struct onnx_graph *graph;
    struct onnx_list inputs, outputs; /* struct onnx_value; NULL: omitted */
    struct onnx_list attributes;      /* struct onnx_attribute */
    struct onnx_list captures;        /* values of `graph` that its bodies use */
    size_t position;                  /* number of the node in its graph */
    int mark;                         /* of the search for circles, and how many of the inputs and captures it has seen */
    size_t n_visited;
    struct onnx_list ports; /* inputs and captures that are no constants, each once; listed when the node is written */
};

struct onnx_result {
    const char *name;
    const struct onnx_value *value;
    const Mdf__TypeProto *type; /* NULL: not declared */
};

struct onnx_graph {
    const Mdf__GraphProto *source;
    struct onnx_node *owner;                   /* NULL: the model's own graph */
    struct onnx_list nodes, inputs, constants; /* struct onnx_node, struct onnx_value */
    struct onnx_list results;                  /* struct onnx_result */
    struct onnx_map ids, node_ids;             /* in use */
};

/* One model being read. */
struct onnx_import {
    struct mdf_tree *tree;
    struct mdf_document *document;
    struct mdf_arena scratch; /* of the import, let go at its end */
    const Mdf__ModelProto *model;
    int opset;                 /* of the default domain */
    struct onnx_map functions; /* "domain:name:overload" to FunctionProto */
    struct onnx_map names;     /* all names of values, the words in them, and the ids that were made up */
    struct onnx_map read;      /* names that a node takes, or that a graph or function yields */
    struct onnx_map prefixes;  /* "a" and "a.b" of graph inputs and outputs "a.b.c": no node may be called so */
    struct onnx_map numbers;   /* text to the last number put behind it, as a pointer */
    struct onnx_map call_ids;  /* operator to the id of the parameter that calls it */
    struct onnx_map tensors;   /* arrays made so far, by the address of their message as text */
    size_t nesting, n_expanded;
    const uint8_t *bytes;  /* of the file */
    bool keeps_mapping;    /* the document holds the mapped file */
    struct onnx_map files; /* struct mdf_store: mapped files of external data, by name */
    char path[400];        /* where in the model: "node 'x', attribute 'body'" */
};

/* An array of the file, ready for the tree. */
struct onnx_array {
    mdf_dtype dtype;
    size_t rank;
    const int64_t *shape;
    struct mdf_store *store; /* in which the elements lie; NULL: in the document */
    struct mdf_node data;
};

/* Elements as a file holds them. */
struct onnx_raw_bytes {
    uint8_t *bytes;
    size_t size;
    struct mdf_store *store; /* a mapped file that the document holds; NULL: the bytes are not in one */
    bool is_own;             /* the bytes may be changed, and stay as long as the document */
};

/* All functions below return false, or NULL, with the error set. */

/* --- onnx_wire.c: takes a field off the front of a message; false where the bytes are none. */
bool mdf_onnx_take_field(const uint8_t **bytes, const uint8_t *end, struct onnx_field *field);

/* --- onnx_outline.c: the bytes, known to be messages, without big arrays; false when out of memory. */
bool mdf_onnx_outline(const void *bytes, size_t size_bytes, struct mdf_text *text);
/* Whether a field is one that only outlines have. */
bool mdf_onnx_is_place(uint32_t field_number);

/* --- onnx_messages.c: the file's bytes as messages, which the document keeps. */
const Mdf__ModelProto *mdf_onnx_unpack(struct mdf_tree *tree, const void *bytes, size_t size_bytes);

/* --- onnx_names.c */
/* Sets the error at the current place; always false. */
bool mdf_onnx_fail(struct onnx_import *import, mdf_status status, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
bool mdf_onnx_out_of_memory(struct onnx_import *import);
/* Adds "what 'name'" to the place; returns the length to come back to with mdf_onnx_leave. */
size_t mdf_onnx_enter(struct onnx_import *import, const char *what, const char *name);
void mdf_onnx_leave(struct onnx_import *import, size_t length);
bool mdf_onnx_list_add(struct onnx_import *import, struct onnx_list *list, const void *item);
bool mdf_onnx_map_put(struct onnx_import *import, struct onnx_map *map, const char *key, const void *value);
/* The value of a key; `found` (may be NULL) tells a NULL value from none. */
const void *mdf_onnx_map_get(const struct onnx_map *map, const char *key, bool *found);
bool mdf_onnx_map_has(const struct onnx_map *map, const char *key);
/* Collects the names of the whole model. */
bool mdf_onnx_collect_names(struct onnx_import *import);
/* An id for a value of a graph: its name where MDF can hold it and the scopes around have no such id. */
const char *mdf_onnx_value_id(struct onnx_import *import, struct onnx_graph *graph, const char *name);
const char *mdf_onnx_node_id(struct onnx_import *import, struct onnx_graph *graph, const char *name, const char *operator);
/* The id of the parameter that calls an operator: no word of any value's name. */
const char *mdf_onnx_call_id(struct onnx_import *import, const char *operator);
/* "base_1", "base_2", ...: with a number behind that it did not get before. */
const char *mdf_onnx_numbered(struct onnx_import *import, const char *base);
/* A text of the file, NULL as "". */
const char *mdf_onnx_text(const char *text);

/* --- onnx_resolve.c, onnx_functions.c, onnx_definition.c */
struct onnx_scope {
    struct onnx_scope *outer; /* NULL: that of the model's graph, or of a function */
    struct onnx_graph *graph;
    struct onnx_map values;             /* struct onnx_value, by name; NULL: an input of a function that the call omits */
    struct onnx_map presets;            /* of a function: outputs of its call, by their names inside */
    const struct onnx_list *call;       /* struct onnx_attribute of the innermost call around; NULL: in no function */
    const Mdf__FunctionProto *function; /* of that call */
    size_t position;                    /* number of the node that is being resolved */
};
/* The model's graph, resolved. */
struct onnx_graph *mdf_onnx_resolve(struct onnx_import *import);
bool mdf_onnx_resolve_nodes(struct onnx_import *import, struct onnx_scope *scope, Mdf__NodeProto *const *nodes, size_t n);
bool mdf_onnx_resolve_attributes(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *source,
                                 struct onnx_list *attributes);
/* The value that a name means, noted as captured by the nodes between; false: an error. *value NULL: omitted. */
bool mdf_onnx_look_up(struct onnx_import *import, struct onnx_scope *scope, const char *name, struct onnx_value **value);
/* Puts an Identity into the graph of `target`, which becomes its output. */
bool mdf_onnx_add_identity(struct onnx_import *import, struct onnx_value *source, struct onnx_value *target);
/* The function of the model that a node calls; *function NULL: none. */
bool mdf_onnx_find_function(struct onnx_import *import, const Mdf__NodeProto *node, const Mdf__FunctionProto **function);
bool mdf_onnx_index_functions(struct onnx_import *import);
/* The same of an operator that is defined by others (onnx_definition.h); `opset`: of ONNX's own where the node stands. */
bool mdf_onnx_find_definition(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *node, int opset,
                              const Mdf__FunctionProto **function);
/* Expands a call: its inputs are looked up in `scope`, its outputs are declared there. */
bool mdf_onnx_expand(struct onnx_import *import, struct onnx_scope *scope, const Mdf__NodeProto *node,
                     const Mdf__FunctionProto *function);

/* --- onnx_check.c: what is refused of versions, nodes and their order. */
bool mdf_onnx_check_ir_version(struct onnx_import *import);
bool mdf_onnx_check_opsets(struct onnx_import *import, Mdf__OperatorSetIdProto *const *imports, size_t n);
/* Numbers of inputs and outputs. */
bool mdf_onnx_check_counts(struct onnx_import *import, const struct onnx_node *node);
/* Whether the operator's version has an attribute, and of its type. */
bool mdf_onnx_check_attribute(struct onnx_import *import, const struct onnx_node *node, const struct onnx_attribute *attribute);
/* Once the nodes of a graph are resolved: whether none waits for itself. */
bool mdf_onnx_check_order(struct onnx_import *import, const struct onnx_graph *graph);

/* --- onnx_types.c */
/* "float32", "seq(tensor(float))", "optional(...)"; NULL where nothing is declared. */
bool mdf_onnx_type_text(struct onnx_import *import, const Mdf__TypeProto *type, const char **text);
/* The declared shape; NULL: none. */
const Mdf__TensorShapeProto *mdf_onnx_type_shape(const Mdf__TypeProto *type);

/* --- onnx_tensor.c, onnx_sparse.c, onnx_external.c: arrays, their elements in the file's messages where those hold them as they
 * are in memory, else in the document's arena. */
bool mdf_onnx_tensor(struct onnx_import *import, const Mdf__TensorProto *tensor, struct onnx_array *array);
bool mdf_onnx_sparse(struct onnx_import *import, const Mdf__SparseTensorProto *sparse, struct onnx_array *array);
/* Checks a tensor's head: its type, its sizes and their product. */
bool mdf_onnx_tensor_head(struct onnx_import *import, const int64_t *dims, size_t n_dims, int64_t data_type,
                          struct onnx_array *array, size_t *n_elements);
/* The node for elements in memory, which the document keeps. */
bool mdf_onnx_array_of(struct onnx_import *import, struct onnx_array *array, size_t n_elements, void *elements);
/* The bytes of external data, `size_bytes` of them: mapped where they are many, else read. */
bool mdf_onnx_external_data(struct onnx_import *import, const Mdf__TensorProto *tensor, size_t size_bytes,
                            struct onnx_raw_bytes *raw);

/* --- onnx_attributes.c */
/* The array of a constant. */
bool mdf_onnx_constant(struct onnx_import *import, const struct onnx_constant *constant, struct onnx_array *array);

/* AttributeProto.type, or (in files older than it) what the filled field says; 0: nothing is filled. */
int mdf_onnx_attribute_type(const Mdf__AttributeProto *attribute);
/* The texts of an attribute that names values, as the ids of these. */
bool mdf_onnx_write_names(struct onnx_import *import, const struct onnx_attribute *attribute);
/* Writes the value of an attribute that is no graph. */
bool mdf_onnx_write_attribute(struct onnx_import *import, const char *key, const Mdf__AttributeProto *attribute);

/* --- onnx_tree.c: what comes next in the tree, under a key (NULL: in a list). */
bool mdf_onnx_write_text(struct onnx_import *import, const char *key, const char *text);
bool mdf_onnx_write_node(struct onnx_import *import, const char *key, const struct mdf_node *node);
bool mdf_onnx_open(struct onnx_import *import, const char *key, enum mdf_node_kind kind);
bool mdf_onnx_close(struct onnx_import *import);
bool mdf_onnx_write_int(struct onnx_import *import, const char *key, int64_t integer);
bool mdf_onnx_write_sizes(struct onnx_import *import, const char *key, const int64_t *sizes, size_t n);
/* "type" and "shape" of an array. */
bool mdf_onnx_write_form(struct onnx_import *import, const struct onnx_array *array);
/* "type" and "shape", as far as they are declared. */
bool mdf_onnx_write_type(struct onnx_import *import, const Mdf__TypeProto *type);
/* "metadata_props", where there are any. */
bool mdf_onnx_write_properties(struct onnx_import *import, Mdf__StringStringEntryProto *const *properties, size_t n);
/* A text that is there and not empty. */
bool mdf_onnx_write_given(struct onnx_import *import, const char *key, const char *text);

/* --- onnx_graph.c */
/* The whole model. */
bool mdf_onnx_write_model(struct onnx_import *import, const struct onnx_graph *graph);

#endif
