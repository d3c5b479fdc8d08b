/* exporter.h - what the files of the exporter share. Functions that return a pointer or bool return NULL or false with the error
 * set. */
#ifndef MDF_EXPORT_EXPORTER_H
#define MDF_EXPORT_EXPORTER_H

#include "mdf_c/export/export_onnx.h"
#include "mdf_c/export/onnx_bytes.h"

/* Since which Identity, and Loop and If, take what may not be there. */
enum { EXPORT_OPSET_OF_OPTIONALS = 16 };

/* Fields of a GraphProto. */
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

enum symbol_kind {
    SYMBOL_UNKNOWN, /* nothing has been written to the slot */
    SYMBOL_NOTHING, /* None, or an omitted input */
    SYMBOL_TENSOR,
    SYMBOL_SEQUENCE,
    SYMBOL_LIST /* of Python: its items are known one by one */
};

struct mdf_state;
struct onnx_graph;

/* The value of a slot. */
struct symbol {
    enum symbol_kind kind;
    const char *name;               /* of the ONNX value; NULL: a constant that no graph has yet, or a list */
    const struct onnx_graph *graph; /* whose node makes it; NULL: an input, or a constant */
    const struct mdf_value *constant;
    mdf_dtype dtype;
    uint8_t strength; /* enum mdf_strength */
    bool has_shape;
    size_t rank;
    const int64_t *shape; /* -1: not known */
    const struct symbol *items;
    size_t n_items;
    bool stands_for_list; /* a tensor whose rows are the items of a list of Python */
    bool is_optional;     /* a tensor or sequence that may not be there */
};

/* A graph under construction: the main one, a body, or a branch. */
struct onnx_graph {
    struct onnx_graph *outer;
    struct mdf_text nodes, inputs, outputs; /* fields of a GraphProto */
    const char *name;
    struct name_table output_names;
    bool is_scan; /* the body of a Scan or Loop, whose outputs tell the shapes that do not change */
    struct onnx_graph *next; /* of all that were begun, to be released */
};

/* The symbols of a unit's slots. */
struct environment {
    const struct mdf_code *code;
    struct symbol *slots;
    const struct environment *outer;
    struct onnx_graph *graph;
};

/* A parameter that keeps its value from one evaluation to the next: an input and an output of the model. */
struct exported_state {
    size_t slot;
    const char *name;
    mdf_dtype dtype; /* that its values have in all evaluations */
    const struct mdf_program_edge *late; /* which brings it from the evaluation before; NULL: it is a parameter */
};

/* What a slot of the outermost unit holds; `id` NULL: no port or parameter. */
struct slot_label {
    const char *node, *id;
};

struct exporter {
    const struct mdf_model *model;
    const struct mdf_program *program;
    struct mdf_memory *memory;
    struct mdf_arena arena;
    struct mdf_context context; /* kernels run in it, to tell types */
    mdf_error *error;
    int opset, wanted_opset; /* `wanted`: a newer one that what was refused needs; 0: none */
    struct name_table names, node_names, domains; /* that are taken; versions of other domains than ONNX's */
    struct name_table kept_names; /* of results, among `names`: 1 until the result has its name */
    const char **domain_names;
    size_t n_domains;
    struct mdf_text initializers;     /* fields of the main GraphProto */
    const struct mdf_value **written; /* constants that have a name, and the names */
    const char **written_names;
    size_t n_written, written_capacity, names_capacity;
    struct mdf_value **made; /* constants that the exporter made, to be released */
    size_t n_made, made_capacity;
    const struct mdf_origin *at; /* of the instruction that is gone through */
    struct mdf_origin about;     /* where there is none: of the port, parameter or node that is written; line 0: of none */
    size_t n_steps;              /* instructions gone through, to a bound */
    struct onnx_graph *main, *graphs; /* `graphs`: all */
    struct environment *environment;  /* of the outermost unit */
    struct environment *first;        /* the same in the first evaluation: initial values */
    bool is_first_run;                /* these are being found */
    struct exported_state *states;    /* as many as there is room for: one for each slot */
    size_t n_states;
    struct slot_label *labels; /* of each slot */
    struct symbol is_first;  /* whether this is the first evaluation; UNKNOWN: nothing asks */
    bool *has_run, *runs;    /* nodes: in this evaluation so far, in an evaluation at all */
    const struct mdf_state *state; /* after an evaluation; NULL: there could be none */
    const mdf_dtype *state_types; /* of each slot, from an earlier try; NONE: that of the initial value */
};

/* --- export_symbols.c */
/* Sets the error, with the place in the model; returns false. */
bool export_refuse(struct exporter *exporter, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
/* What is refused from here on is about this part of a node of the outermost graph, or, NULL, the node, or, NULL, the graph. */
void export_is_about(struct exporter *exporter, const char *node, const char *part);
/* As export_refuse, where the model can be written in this opset; 0: it can in none. */
bool export_ask_opset(struct exporter *exporter, int opset, const char *what);
bool export_out_of_memory(struct exporter *exporter);
/* A name that nothing else has, `wanted` where that is free. */
const char *export_name(struct exporter *exporter, const char *wanted);
/* A value that the exporter holds until its end. */
struct mdf_value *export_make(struct exporter *exporter);
/* The symbol of a constant; of one number or some of int64. */
bool symbol_of_value(struct exporter *exporter, const struct mdf_value *value, struct symbol *symbol);
bool symbol_of_integers(struct exporter *exporter, const int64_t *items, size_t n, struct symbol *symbol); /* rank 1 */
bool symbol_of_real(struct exporter *exporter, double real, mdf_dtype dtype, struct symbol *symbol);       /* rank 0 */
/* Zeros of the type and shape of `like`, which is known. */
bool symbol_of_zeros(struct exporter *exporter, const struct symbol *like, struct symbol *symbol);
/* The name by which a node of a graph can take it; NULL with the error set: it is no value of ONNX. */
const char *symbol_name(struct exporter *exporter, const struct symbol *symbol);
/* A small value of the symbol's type and, as far as it is known, shape; a constant itself. False with the error set. */
bool symbol_sample(struct exporter *exporter, const struct symbol *symbol, struct mdf_value *sample);
void symbol_set_form(struct exporter *exporter, struct symbol *symbol, const struct mdf_value *sample, bool with_shape);
bool symbol_is_list(const struct symbol *symbol); /* of Python, also where an array stands for it */
bool symbol_has_full_shape(const struct symbol *symbol);
bool symbol_has_shape_of(const struct symbol *a, const struct symbol *b); /* also where that of `b` is not known */
/* Adds a node with one output; `attributes`: fields of a NodeProto, or NULL. The type of the result is the caller's to say. */
bool export_node(struct exporter *exporter, struct onnx_graph *graph, const char *domain, const char *operator,
                 const char * const *inputs, size_t n_inputs, const char *const *outputs, size_t n_outputs,
                 struct mdf_text *attributes);
/* The same of the default domain; `result` gets a name and the type of `like`. */
bool export_op(struct exporter *exporter, struct onnx_graph *graph, const char *operator, const struct symbol *const *inputs,
               size_t n, struct mdf_text *attributes, const struct symbol *like, struct symbol *result);
void export_attribute_integer(struct mdf_text *attributes, const char *name, int64_t integer);
void export_attribute_integers(struct mdf_text *attributes, const char *name, const int64_t *items, size_t n);
void export_attribute_graph(struct mdf_text *attributes, const char *name, struct mdf_text *graph);
/* The symbols as values of one type: what Python would compute with both. False: they have none. */
mdf_dtype export_common_type(struct exporter *exporter, const struct symbol *a, const struct symbol *b);
mdf_dtype export_common_type_of_all(struct exporter *exporter, const struct symbol *symbols, size_t n); /* of arrays among them */
/* The row of a schema of ONNX's own domain that the opset has; NULL: it is another. */
const struct mdf_operator *export_row(const struct exporter *exporter, const struct mdf_schema *schema);
/* A TypeProto, or a ValueInfoProto, in `message`. */
void export_put_type(struct mdf_text *message, const struct symbol *symbol, bool with_shape);
void export_put_value(struct mdf_text *message, const char *name, const struct symbol *symbol, bool with_shape);

/* --- export_primitives.c. Results have the type and shape of `like`. */
/* Brings a symbol to an element type. */
bool export_cast(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, mdf_dtype dtype,
                 struct symbol *result);
/* A list as an array; anything else as it is. */
bool export_as_array(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, struct symbol *result);
bool export_identity(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, struct symbol *result);
bool export_reshape(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol, const int64_t *shape,
                    size_t rank, const struct symbol *like, struct symbol *result);
/* Along the first axis. */
bool export_concat(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *const *rows, size_t n,
                   const struct symbol *like, struct symbol *result);
bool export_gather(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *rows, const struct symbol *places,
                   const struct symbol *like, struct symbol *result);

/* --- export_python.c: functions of expressions */
bool export_python_call(struct exporter *exporter, struct onnx_graph *graph, const struct mdf_code_call *call,
                        const struct symbol *inputs, struct symbol *outputs);

/* --- export_control.c: a call with bodies, whose graphs become `attributes`; `inputs` become what its node takes */
bool export_control(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                    struct symbol *inputs, struct symbol *outputs, struct mdf_text *attributes);

/* --- export_call.c: the field of a call's settings for an attribute; NULL: the operator has none of that name */
const void *export_setting(const struct mdf_code_call *call, const char *name);
/* onnx:: functions */
bool export_onnx_call(struct exporter *exporter, struct environment *environment, const struct mdf_code_call *call,
                      const struct symbol *inputs, struct symbol *outputs);

/* --- export_code.c */
bool export_instructions(struct exporter *exporter, struct environment *environment, size_t first, size_t end);
const struct symbol *export_operand(struct exporter *exporter, const struct environment *environment, mdf_operand operand,
                                    struct symbol *constant);
/* An environment for a unit; NULL with the error set. */
struct environment *export_environment(struct exporter *exporter, const struct mdf_code *code, const struct environment *outer,
                                       struct onnx_graph *graph);
/* What a declared type makes of a value: its rule is run on a sample. */
bool export_declare(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *source,
                    const struct mdf_declared_type *type, struct symbol *result);
struct onnx_graph *export_begin_graph(struct exporter *exporter, struct onnx_graph *outer, const char *name);
/* Appends an output to a graph. */
bool export_graph_output(struct exporter *exporter, struct onnx_graph *graph, const struct symbol *symbol);
/* The fields of a GraphProto. */
void export_end_graph(struct exporter *exporter, struct onnx_graph *graph, struct mdf_text *message);

/* --- export_schedule.c: nodes, in the order in which they run */
bool export_nodes(struct exporter *exporter);
/* What an edge, whose sender runs behind its receiver, brings to the next evaluation: the symbol of the port. */
bool export_bring_late(struct exporter *exporter, const struct mdf_program_edge *edge);

/* --- export_inputs.c */
/* Adds an input of the graph; `value`: its default, NULL: it has none. */
void export_put_input(struct exporter *exporter, const char *name, const struct symbol *symbol, const struct mdf_value *value);
/* Adds those that ports are. */
bool export_inputs(struct exporter *exporter);

/* --- export_onnx.c */
/* The value that a slot of the outermost graph has from the evaluation before: an input of the model. */
const struct symbol *export_state(struct exporter *exporter, size_t slot);

#endif
