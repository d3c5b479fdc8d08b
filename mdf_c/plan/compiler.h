/* compiler.h - what the files of the compiler share: units under construction, names in scope, and the passes. */
#ifndef MDF_PLAN_COMPILER_H
#define MDF_PLAN_COMPILER_H

#include "mdf_c/expression/expression.h"
#include "mdf_c/base/name_table.h"
#include "mdf_c/plan/program.h"
#include "schemas/inference.h"

enum { MDF_MAX_BODY_DEPTH = 64 }; /* graphs within graphs */

struct graph_builder;

struct open_graph {
    const struct open_graph *outer;
    const struct mdf_node *source;
};

/* A growing array in the compiler's scratch. */
struct list {
    void *items;
    size_t n, capacity;
};

struct compiler {
    const struct mdf_model *model;
    struct mdf_program *program; /* of the graph that is compiled */
    struct mdf_program *root;    /* of the outermost graph */
    struct mdf_memory *memory;
    struct mdf_stop *stop;
    struct mdf_arena *arena;  /* of the program */
    struct mdf_arena scratch; /* of the compiler: let go at its end */
    mdf_error *error;
    struct mdf_diagnostics *list; /* takes errors after which the work goes on; NULL: the first one ends it */
    size_t n_taken;               /* errors that it took */
    bool looks_over;              /* warns of what can hardly be meant: look_over.c */
    struct mdf_warnings warnings; /* each is passed on once, though what it is about may be compiled again */
    struct mdf_warnings receiver;
    struct name_table warned; /* their texts */
    struct name_table parsed; /* texts: the place of each in `trees`, counted from 1 */
    struct list trees;        /* struct mdf_expression * */
    mdf_dtype real;
    uint64_t max_iterations;
    mdf_loop_condition loop_condition;
    const struct mdf_functions *functions; /* that were registered; NULL: none */
    mdf_scheduling_mode scheduling_mode;   /* of the outermost graph */
    const char *stop_when;                 /* NULL: nothing */
    struct mdf_origin *origins;
    size_t n_origins, origin_capacity;
    uint32_t origin;     /* of what is being compiled */
    uint32_t derivative; /* of the first parameter with a time_derivative; 0: there is none */
    const struct mdf_node *at;
    const char *text;     /* of `at` or a part of it, that is being compiled; NULL: none of the file's */
    size_t offset;        /* in it */
    size_t failed_offset; /* as `offset` was when the first error was set */
    char path[480];
    int depth;                         /* of body graphs */
    const struct open_graph *open;     /* graphs that are being compiled, the innermost first */
    const struct mdf_graph_node *node; /* being compiled */
    struct usages *usages;             /* of the node that find_usage was asked of last */
    bool derives;                      /* a rule for a derivative is being compiled: it may name functions that a model can not */
    const struct mdf_code_call *derived; /* the call that the rule is of */
    mdf_operand dt;                      /* what holds the time increment in the unit of the graph that is compiled */
    struct unit *root_unit;              /* of the outermost graph */
    const char *const *wanted;           /* names of parameters that are to be kept changeable */
    bool *is_met;                        /* of each: there is one of that name */
    size_t n_wanted;
    const struct mdf_gradient_request *gradient; /* the program is to be that of derivatives; NULL: of the graph */
    bool has_right_side;                         /* it is to have the right-hand side of its equations */
    struct list states;      /* struct solver_state: parameters that a solver integrates; see solve/right_side.h */
    struct list parameters;  /* struct mdf_program_parameter: those that are */
    struct list changeables; /* of changeable.c */
    struct list integrals;   /* struct mdf_program_integral */
    struct list events;      /* struct mdf_program_event */
    struct list nested;      /* struct nested_unit: graphs within nodes, where derivatives are made of them */
};

/* The finished unit of a graph within a node, to be traced (trace.h). */
struct nested_unit {
    const struct mdf_code *code;
    struct unit *unit;
};

/* What is known of an operand. */
enum operand_flags {
    OPERAND_MAY_BE_LIST = 1, /* may hold a Python list */
    OPERAND_MUTABLE = 2,     /* a parameter that changes while the node runs */
    OPERAND_IS_BOOL = 4,     /* a boolean, for sure */
    OPERAND_IS_FIXED = 8,    /* a slot that code only reads: it holds a value before the first run */
    OPERAND_IS_FOREIGN = 16, /* looks at what may change while the node does not run; see unit_is_foreign */
    OPERAND_IS_VOID = 32,    /* a parameter without a value: its name is known, but it may not be read */
    OPERAND_IS_VIEW = 128,   /* mutable as it looks at what is, and is no parameter itself */
    OPERAND_IS_UNKNOWN = 64  /* stands for what could not be compiled: what needs to know it is silently left out too */
};

struct operand_facts {
    unsigned flags; /* enum operand_flags */
    size_t owner;   /* of a slot: the node that writes it, counted from 1; 0: others may */
    struct mdf_static_type type;
    struct mdf_static_type promised; /* the same where states of loops keep the shapes that bodies declare */
    bool has_promise;                /* else it is `type` */
};

/* A unit under construction. */
struct unit {
    struct unit *outer; /* the unit of the enclosing graph */
    struct list instructions, calls, constants, captures, bodies, declarations;
    struct list slot_facts, constant_facts, capture_facts; /* struct operand_facts */
    size_t owner;                                          /* the node that is being compiled, counted from 1; 0: none */
};

/* A function with several outputs, or with one. */
struct outcome {
    const mdf_operand *outputs;
    size_t n_outputs;
    bool several; /* the function yields a list of outputs: f[0], f[1] */
};

/* How a definition's outputs are referred to in its node. */
struct usage {
    size_t n_ports;    /* output ports that hold the bare id */
    bool elsewhere;    /* the bare id stands in another expression */
    bool as_list;      /* f[-1], f[i], f[1:]: outputs whose places only their number, or a run, tells */
    int64_t max_index; /* of f[i]; -1: none */
};

struct binding {
    const char *name;
    mdf_operand operand; /* MDF_NO_OPERAND where outcome.several */
    struct outcome outcome;
};

struct graph_builder;

/* Names in scope. */
struct scope {
    struct scope *outer;
    struct unit *unit;
    struct list bindings;        /* struct binding; later ones hide earlier ones */
    struct name_table index;     /* of many bindings: which is the last of a name, counted from 1 */
    struct graph_builder *graph; /* its nodes' output ports are visible to the bodies inside it; NULL: none */
};

/* Where code goes, and which names it sees. */
struct target {
    struct compiler *compiler;
    struct unit *unit;
    struct scope *scope;
};

/* --- list.c. False, with the error set: memory ran out; the list is as it was. */
bool list_add(struct compiler *compiler, struct list *list, const void *item, size_t item_size);
/* The same of an operand, and of several; false also where one is MDF_NO_OPERAND. */
bool list_add_operand(struct compiler *compiler, struct list *list, mdf_operand operand);
bool list_add_operands(struct compiler *compiler, struct list *list, const mdf_operand *operands, size_t n);
/* Of two size_t, for qsort. */
int compare_numbers(const void *a, const void *b);

/* --- unit.c: emission. Functions that return an operand return MDF_NO_OPERAND with the error set. */
mdf_operand unit_new_slot(struct target *target, unsigned flags);
/* A constant that takes over what `value` holds. */
mdf_operand unit_add_constant(struct target *target, struct mdf_value *value, unsigned flags);
mdf_operand unit_add_int(struct target *target, int64_t integer);
mdf_operand unit_add_bool(struct target *target, bool truth);
mdf_operand unit_add_string(struct target *target, const char *text);
unsigned unit_flags(const struct unit *unit, mdf_operand operand);
/* Whether what the operand holds may change while the node that is being compiled does not run: ports that are filled at run
 * time, outputs of other nodes, names of the node around its graph, and what looks at them without a copy. */
bool unit_is_foreign(const struct unit *unit, mdf_operand operand);
/* A slot of the node's own with a copy of the operand. */
mdf_operand unit_own_copy(struct target *target, mdf_operand operand);
void unit_set_owner(struct unit *unit, mdf_operand slot, size_t owner);
/* What is known of an operand's type; `value` of a constant points into the unit and lives until the next constant is added. */
struct mdf_static_type unit_type(const struct unit *unit, mdf_operand operand);
/* The constant behind an operand, through captures; NULL where it is computed. */
const struct mdf_value *unit_constant(const struct unit *unit, mdf_operand operand);
/* The same if all bodies keep what they declare of their loops' states, whose shapes may change: what an output of no iterations
 * is made by. */
struct mdf_static_type unit_promised_type(const struct unit *unit, mdf_operand operand);
bool unit_has_promise(const struct unit *unit, mdf_operand operand);
void unit_promise_type(struct unit *unit, mdf_operand slot, const struct mdf_static_type *type);
/* The slot has the same value as `from`. */
void unit_take_promise(struct unit *unit, mdf_operand slot, mdf_operand from);
/* Notes the type of a slot that holds nothing else. Shapes must lie in the scratch of the compiler or live longer. */
void unit_set_type(struct unit *unit, mdf_operand slot, const struct mdf_static_type *type);
bool unit_emit(struct target *target, enum mdf_opcode opcode, mdf_operand a, mdf_operand b, mdf_operand c);
/* Emits a jump whose target is set later (unit_land); its index, SIZE_MAX on error. */
size_t unit_emit_jump(struct target *target, enum mdf_opcode opcode, mdf_operand a);
void unit_land(struct unit *unit, size_t jump);
size_t unit_position(const struct unit *unit);
struct mdf_instruction *unit_instruction(struct unit *unit, size_t index);
/* Whether an instruction goes on elsewhere; puts instructions before all others, which jump to where they did. */
bool unit_is_jump(const struct mdf_instruction *instruction);
bool unit_put_first(struct compiler *compiler, struct unit *unit, const struct list *first);
/* The last call among instructions [first, end) that makes a list of operands, in `operand`; NULL: none does. */
const struct mdf_code_call *unit_find_list(struct unit *unit, size_t first, size_t end, mdf_operand operand);
/* Adds a call with all its operands; `outputs` are slots. */
bool unit_emit_call(struct target *target, const struct mdf_code_call *call);
/* Calls a Python row of the operator table; the result is a slot of its own. */
mdf_operand unit_call_row(struct target *target, const struct mdf_operator *row, const void *settings, const mdf_operand *inputs,
                          size_t n);
/* The same into a slot that there is. */
mdf_operand unit_call_into(struct target *target, const struct mdf_operator *row, const mdf_operand *inputs, size_t n,
                           mdf_operand slot);
/* The same by the row's name. */
mdf_operand unit_call_python(struct target *target, const char *name, const mdf_operand *inputs, size_t n);
/* The same of two operands; MDF_NO_OPERAND, without an error of its own, where one is. */
mdf_operand unit_call_two(struct target *target, const char *name, mdf_operand a, mdf_operand b);
/* What the compiler puts in by itself, in several places. */
#define PYTHON_ADD "operator.add"
#define PYTHON_MULTIPLY "operator.mul"
#define PYTHON_SUM "numpy.sum"
#define PYTHON_WHERE "numpy.where"
#define PYTHON_EITHER "numpy.logical_or"
#define PYTHON_SEND_BACK "gradient.send_back" /* to where a call took elements from, as their places say */
#define PYTHON_SUM_TO "gradient.sum_to"       /* over what was repeated, in the type of the second */
#define PYTHON_ITEM "operator.getitem"
#define PYTHON_OUTPUTS "build_outputs"
#define PYTHON_ONES_LIKE "numpy.ones_like"
#define PYTHON_LIST "build_list"
#define PYTHON_TYPED "gradient.typed"           /* the same, in a type of its own: what states of loops have */
#define PYTHON_NUMBERS "gradient.numbers"       /* of the elements, from 1 on */
#define PYTHON_AS_REAL "gradient.as_real"       /* whole numbers as real ones */
#define PYTHON_NO_NUMBERS "gradient.no_numbers" /* what moved elements are filled with */
mdf_operand unit_declare(struct target *target, mdf_operand source, const struct mdf_declared_type *type);
/* An operand of unit `from` as seen from `unit`, an inner one: captured through every level between. */
mdf_operand unit_capture(struct target *target, struct unit *unit, struct unit *from, mdf_operand operand);
struct mdf_code *unit_finish(struct compiler *compiler, struct unit *unit);
/* As a body: `formals` and `yields` are operands, `types` (struct mdf_static_type) is known of the yields. See body.c. */
struct mdf_code *unit_finish_body(struct compiler *compiler, struct unit *unit, const struct list *formals,
                                  const struct list *yields, const struct list *types);
/* The same code once more, with constants and bodies of its own. */
struct mdf_code *unit_copy_code(struct compiler *compiler, const struct mdf_code *code);
void unit_clear(struct compiler *compiler, struct unit *unit);
/* Copies a list into the arena: a pointer is stored at `items`. False with the error set. */
bool unit_keep_list(struct compiler *compiler, const struct list *list, size_t item_size, void *items, size_t *n);

/* --- messages (unit.c) */
mdf_operand compile_out_of_memory(struct compiler *compiler);
/* Sets the error at the current place; returns MDF_NO_OPERAND. */
mdf_operand compile_error(struct compiler *compiler, mdf_status status, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
void compile_warning(struct compiler *compiler, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
/* What looking a model over has found: a warning of that code. */
void compile_finding(struct compiler *compiler, const char *code, const char *format, ...) MDF_PRINTF_LIKE(3, 4);
/* A mdf_warning_handler for compiler->warnings: passes a warning of one place in the file on, the first time that it comes. */
void pass_warning_once(void *compiler, const mdf_error *warning);
/* Enters a place: path and position of all that is compiled until it is left. Returns what leave needs. */
struct place {
    size_t path_length;
    uint32_t origin;
    const struct mdf_node *at;
    const char *text;
    size_t offset;
};
struct place place_enter(struct compiler *compiler, const char *what, const char *id, const struct mdf_node *node);
/* Moves the position only. */
struct place place_at(struct compiler *compiler, const struct mdf_node *node);
/* Moves the position to the key of an entry. */
struct place place_at_key(struct compiler *compiler, const struct mdf_node_entry *entry);
/* What leave needs to come back to here. */
struct place place_here(const struct compiler *compiler);
/* As what is compiled there has it; that of nothing where there was no memory to keep one. */
struct mdf_origin place_origin(const struct compiler *compiler);
void place_leave(struct compiler *compiler, struct place place);
/* The error of a part that was begun at `place`: goes to the list of errors, if there is one, the place is left, and true says
 * to go on without the part. Else false, with the error as it was. */
bool compile_recover(struct compiler *compiler, struct place place);
/* A value that stands for what could not be compiled, so that what refers to it can. */
mdf_operand unit_unknown(struct target *target);

/* --- scope.c */
bool scope_bind(struct compiler *compiler, struct scope *scope, const char *name, mdf_operand operand);
bool scope_bind_outcome(struct compiler *compiler, struct scope *scope, const char *name, const struct outcome *outcome);
/* Looks a name up outward from the target's scope. False: it is bound nowhere (no error is set) or out of memory (error is set).
 */
bool scope_find(struct target *target, const char *name, struct outcome *outcome);
/* The same among the scopes of the current node only (attributes and inputs that are not given in args). */
bool scope_find_in_node(struct target *target, const char *name, struct outcome *outcome);
/* Whether the node that is compiled has an output port of the name. */
bool scope_has_output(const struct target *target, const char *name);
/* What a scope itself binds a name to; NULL: nothing. */
const struct binding *scope_find_here(const struct scope *scope, const char *name);
void scope_offer(const struct scope *scope, struct mdf_nearest *nearest);
/* An outcome as one operand: its single output, or a list of all. */
mdf_operand scope_as_operand(struct target *target, const struct outcome *outcome);

/* --- expression_code.c, values.c */
/* "a", "a.b.c": the whole of a name with points; NULL: the tree is none, or memory was refused (an error is set). */
const char *whole_name(struct compiler *compiler, const struct mdf_expression *tree);
/* Compiles what a field holds: a number, a list, an expression. */
mdf_operand compile_value(struct target *target, const struct mdf_node *node);
mdf_operand compile_text(struct target *target, const char *text);
mdf_operand compile_tree(struct target *target, const struct mdf_expression *tree);
/* Item number `index` of a list or an array. */
mdf_operand compile_item(struct target *target, mdf_operand all, int64_t index);
/* Binds the target of a for clause: a name, or names for the items of the item. */
bool compile_bind_item(struct target *target, const struct mdf_expression *names, mdf_operand item);
/* --- unrolled.c: a comprehension of as many items as are known; false: it is not known how many. *list: MDF_NO_OPERAND on error.
 */
bool compile_unrolled(struct target *target, const struct mdf_expression *tree, mdf_operand *list);
/* An item of a list that is made of operands, where derivatives are made of the code; MDF_NO_OPERAND: it is no such list. */
mdf_operand compile_listed_item(struct target *target, mdf_operand all, int64_t index);
/* The call of a function of lists whose items are known (enum mdf_written_out), written out; false: they are not known, or it is
 * no such function. `are_there`: the lists stand in the expression. *result: MDF_NO_OPERAND on error. */
bool compile_written_out(struct target *target, const struct mdf_operator *row, const mdf_operand *inputs, size_t n_inputs,
                         bool are_there, mdf_operand *result);
/* The operand's copy (a view) in a slot. MDF_NO_OPERAND: one of them is, or the error is set. */
mdf_operand compile_move(struct target *target, mdf_operand operand, mdf_operand slot);
/* The operand, as an array where it holds a list that is one. */
mdf_operand compile_as_array(struct target *target, mdf_operand operand);
/* A field that must be constant, as a value (also in the typed form); false with the error set. */
bool compile_constant(struct target *target, const struct mdf_node *node, struct mdf_value *value);
/* Runs code that needs nothing from outside, and takes one value of it. */
bool compile_run_alone(struct compiler *compiler, struct mdf_code *code, mdf_operand operand, struct mdf_value *value);
/* --- typed_constants.c */
/* {"type", "data"}, {"type", "shape", "data"} */
bool is_typed_form(const struct mdf_node *node);
bool compile_typed_form(struct target *target, const struct mdf_node *node, struct mdf_value *value);
/* A constant under a declaration: of its type and, where all sizes are declared, of its shape. */
bool compile_declared_constant(struct target *target, const struct mdf_node *node, const struct mdf_declaration *declaration,
                               struct mdf_value *value);

/* --- known_truth.c: whether a condition in a rule for a derivative is known from attributes, and from which inputs there are. */
bool known_truth(struct target *target, const struct mdf_expression *tree, bool *truth);
/* The same of whether a name, or None, is None. */
bool known_none(struct target *target, const struct mdf_expression *tree, bool *is_none);

/* The tree of a text, which is parsed once; NULL: it is no expression, which is told where it is compiled. False, with the error
 * set: memory ran out. */
bool try_parse(struct compiler *compiler, const char *text, struct mdf_expression **tree);
/* Whether a text is a name and nothing else, as most are: there is no need to parse it. */
bool is_bare_name(const char *text);
/* Adds the names that a field's text refers to. */
bool collect_names(struct compiler *compiler, const struct mdf_node *node, struct list *names);
bool names_contain(const struct list *names, const char *name);
/* --- body_names.c: the same of what the bodies of a call take from around them. */
bool collect_body_names(struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_schema *schema,
                        struct list *names);
/* The expressions in "[a, b]", a JSON list, or anything else as one: pieces of a variadic argument. */
bool split_variadic(struct compiler *compiler, const struct mdf_node *node, struct list *pieces);

/* --- functions.c: a function, or a parameter with a function or a value. Outcome outputs are operands of the unit. */
bool compile_definition(struct target *target, const struct mdf_definition *definition, const struct usage *usage,
                        struct outcome *outcome);
/* Adds the names that a definition refers to, those that a function finds without being given them included. */
bool collect_definition_names(struct compiler *compiler, const struct mdf_definition *definition, struct list *names);

/* --- names_in_lists.c: warns of texts in lists that are names of the node. */
void warn_of_names_in_lists(struct compiler *compiler, const struct mdf_graph_node *node);
/* --- unknown_arguments.c: warns of arguments that are none of `known` (const char *) and that nothing reads. */
void warn_unknown_arguments(struct compiler *compiler, const struct mdf_definition *definition, const struct list *known);
/* The error of a function that needs the argument `name`, which is perhaps given by a misspelt name; MDF_NO_OPERAND. */
mdf_operand lacks_argument(struct compiler *compiler, const struct mdf_definition *definition, const char *function,
                           const char *name);

/* --- defined_call.c: a function that is defined by expressions */
struct mdf_defined_function;
bool compile_defined_call(struct target *target, const struct mdf_definition *definition,
                          const struct mdf_defined_function *function, struct outcome *outcome);
/* Adds the names of the node that a call finds without being given them. */
bool collect_defined_names(struct compiler *compiler, const struct mdf_definition *definition,
                           const struct mdf_defined_function *function, struct list *names);
/* The node with a parameter for each state of its functions that the model does not carry itself; NULL when out of memory. */
const struct mdf_graph_node *expand_states(struct compiler *compiler, const struct mdf_graph_node *node);
/* A copy of a node with room for so many parameters more; NULL: out of memory. Once these are there, their names are found. */
struct mdf_graph_node *copy_node(struct compiler *compiler, const struct mdf_graph_node *source, size_t n_more);
bool copy_is_named(struct compiler *compiler, struct mdf_graph_node *node);

/* --- custom_call.c: functions that were registered */
struct mdf_custom;
bool compile_custom_call(struct target *target, const struct mdf_definition *definition, const struct mdf_custom *custom,
                         struct outcome *outcome);
/* Adds the names of the node that a call finds without being given them. */
bool collect_custom_names(struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_custom *custom,
                          struct list *names);
/* A call in an expression; several outputs are a list. */
mdf_operand compile_custom_expression(struct target *target, const struct mdf_custom *custom, const mdf_operand *given, size_t n);

/* --- onnx_call.c */
bool compile_onnx_call(struct target *target, const struct mdf_definition *definition, const struct usage *usage,
                       struct outcome *outcome);
/* The schema of "onnx::NAME" or "DOMAIN::NAME" at the model's opset of that domain; NULL where it is not one. */
const struct mdf_schema *find_onnx_schema(const struct compiler *compiler, const char *function);
/* Whether a call's arguments are of a version's form: each a formal or an attribute, no attribute fed by an input port. */
bool fits_schema(const struct compiler *compiler, const struct mdf_definition *definition, const struct mdf_schema *schema);
/* The schema that a definition's call is of. */
const struct mdf_schema *find_called_schema(const struct compiler *compiler, const struct mdf_definition *definition);

/* --- infer_call.c: what can be known of a call before it runs. */
struct call_types {
    const struct mdf_schema *schema;
    const struct mdf_operator *row;
    const void *settings;
    const mdf_operand *inputs;
    size_t n_inputs;
    struct mdf_static_body bodies[MDF_STATIC_BODIES]; /* that are compiled */
    size_t n_bodies;
};
/* What the body of a call is handed. False with the error set: the call can not run. */
bool infer_formals(struct target *target, const struct call_types *call, size_t n_formals,
                   const struct mdf_static_type **formals);
/* How many outputs the call has by its inputs and attributes: see mdf_infer_output_count. False with the error set. */
bool infer_output_count(struct target *target, const struct call_types *call, size_t *n_outputs);
/* Notes what is known of the outputs. */
bool infer_outputs(struct target *target, const struct call_types *call, const mdf_operand *outputs, size_t n_outputs);

/* --- gradient.c: derivatives of a value by others, from the code that computes it */
/* The outcomes of a call of Gradient; `inputs` are the values to derive at. */
bool compile_gradient(struct target *target, const void *settings, const mdf_operand *inputs, size_t n_inputs,
                      struct outcome *outcome);
/* Makes nodes that call it wait for the nodes that compute the values it names. */
bool gradient_add_senders(struct graph_builder *builder);

/* --- solver.c: for other methods than euler */
struct solver_state;
/* Makes the code that takes all states with a time derivative over a step, in front of the first node's. */
bool compile_solver(struct graph_builder *builder);

/* --- attributes.c */
/* A graph attribute as the model gives it. */
struct graph_attribute {
    const char *name;
    const struct mdf_node *node; /* NULL: not given */
};
/* The settings struct of an operator row from args, node parameters and the schema's defaults; graph attributes go to `graphs`.
 */
bool compile_settings(struct target *target, const struct mdf_definition *definition, const struct mdf_schema *schema,
                      const struct mdf_operator *row, const void **settings, struct list *graphs);
/* The argument of that name in args; NULL: not there, or null, or "" (an omitted input). */
const struct mdf_node *find_argument(const struct mdf_definition *definition, const char *name);
/* The node that gives an attribute: in args, or the value of a parameter of the node; NULL: not given. */
const struct mdf_node *find_attribute(const struct compiler *compiler, const struct mdf_definition *definition, const char *name);
/* The same of a graph: the id of one is that, also where a parameter is called so. */
const struct mdf_node *find_graph_attribute(const struct compiler *compiler, const struct mdf_definition *definition,
                                            const char *name);

/* --- body.c: the body graph of Scan, Loop or If as a unit of its own. */
struct body_request {
    const struct mdf_node *node; /* never NULL */
    /* graph, {ID: graph}, or the id of a graph of the model */
    const char *attribute;
    const char *operator;
    size_t n_states, n_scan_inputs;        /* operands of the call */
    bool loop;                             /* two more formals, iteration and condition, and one more yield, the condition */
    bool branch;                           /* takes no inputs */
    const struct mdf_static_type *formals; /* what is known of the inputs */
};
struct body_result {
    struct mdf_code *code;
    size_t n_yields;                     /* the condition of a loop aside */
    const struct operand_facts *facts;   /* of each */
    const struct mdf_static_type *types; /* of all, the condition of a loop included */
    const struct mdf_static_type *hints; /* the same where bodies keep what they declare */
    bool is_inferred;                    /* the body does not declare what it yields */
};
bool compile_body(struct target *target, const struct body_request *request, struct body_result *result);

/* --- loop_condition.c */
/* Whether the condition that a Loop's body yields is true for sure, if that which goes in is. `unit` is that around the body. */
bool loop_goes_on(const struct unit *unit, const struct mdf_code *body);

/* --- usage.c */
/* How a definition is referred to in a node. */
bool find_usage(struct compiler *compiler, const struct mdf_graph_node *node, const char *id, struct usage *usage);

/* --- graph.c */
enum node_progress { NODE_WAITING, NODE_STARTED, NODE_DONE };

/* An input port of a graph within a node, and that of the node which feeds it. */
struct port_link {
    size_t outer_port;  /* in the outer graph's ports that are filled at run time; SIZE_MAX: none */
    mdf_operand source; /* its value */
    /* What the nodes around say of it in the file; NULL: nothing. Of default values and of how what waits is reduced, the
     * outermost counts, of shapes the innermost. */
    const struct mdf_node *default_value;
    const struct mdf_input_port *reduced, *shaped;
};

/* What a port of a graph within a node has from the node's port that feeds it: the default_value and the reduce, where the file
 * gives these, and a shape, where it declares none itself. */
void graph_take_link(const struct port_link *link, struct mdf_input_port *port);

struct node_plan {
    enum node_progress progress;
    bool is_asked_for;        /* in a body: to be compiled after those that feed it */
    mdf_operand *outputs;     /* MDF_NO_OPERAND while not known */
    bool *output_is_consumed; /* by an edge */
    bool *output_is_reserved; /* asked for before the node was compiled: the value must go into that slot */
    mdf_operand *ports; /* of input ports that are formals, captures, or filled at run time; MDF_NO_OPERAND: wired to an edge */
    struct port_link *links;   /* of each input port */
    struct list shaped;        /* struct mdf_program_shaped */
    struct list senders;       /* size_t: nodes that this one depends on, perhaps more than once */
    const struct scope *scope; /* of its parameters and functions; NULL before it is compiled */
    size_t first, reset, initial, main, end;
    mdf_operand finished;
};

struct port_edges;

/* An output port, by a name that it may share with others. */
struct output_place {
    size_t node, output;
    bool is_unique;
};

struct graph_builder {
    struct compiler *compiler;
    const struct mdf_graph *graph;
    struct unit *unit;
    struct scope scope; /* graph parameters, inputs */
    struct node_plan *nodes;
    struct port_edges *fed;         /* of all input ports, in document order; see graph_edges_into */
    size_t *first_port;             /* of each node, in `fed` */
    struct name_table output_names; /* of all output ports: their places in `output_places`, counted from 1 */
    struct output_place *output_places;
    const struct list *ports; /* struct mdf_program_port: those filled at run time */
    size_t current_node;      /* being compiled */
    bool is_body;
    bool is_nested;    /* stands in a node of another graph */
    bool is_scheduled; /* has conditions: an edge's sender may run after its receiver, or never */
    bool is_exact;     /* its time is: all nodes are in one layer */
    /* Outputs are read while their node waits for its next run: there are conditions, or edges that do not make a node wait. */
    bool keeps_outputs;
};
bool graph_begin(struct graph_builder *builder, struct compiler *compiler, const struct mdf_graph *graph, struct unit *unit,
                 struct scope *outer, bool is_body);
/* The edges into a port, in the order of the file. */
struct port_edges {
    const struct mdf_edge **edges;
    size_t n;
};
const struct port_edges *graph_edges_into(const struct graph_builder *builder, size_t node, size_t port);
/* The number of the port that is filled at run time and has this slot; SIZE_MAX: there is none. Ports are listed in the order in
 * which they were made, and so by their slots. */
size_t graph_find_port(const struct list *ports, mdf_operand slot);
size_t graph_port_number(const struct graph_builder *builder, mdf_operand slot);
/* Output ports that no edge consumes, by node and port. */
bool graph_is_consumed(const struct graph_builder *builder, size_t node, size_t output);
/* The operand of an output port. In a body its node is compiled first where it is not yet; elsewhere a slot is reserved. The
 * current node depends on it from now on. */
mdf_operand graph_output(struct graph_builder *builder, size_t node, size_t output);
/* The one output port of that name in the graph; false where there is none, or several. */
bool graph_find_output(const struct graph_builder *builder, const char *name, size_t *node, size_t *output);
/* Makes node `receiver` depend on node `sender`. */
bool graph_add_sender(struct graph_builder *builder, size_t receiver, size_t sender);
/* Nodes in layers, each after those it depends on; false with the error set where there is a cycle. */
bool graph_layers(struct graph_builder *builder, struct mdf_program_layer **layers, size_t *n_layers);
/* --- node_ports.c: what an edge brings, and how what several bring becomes one value. MDF_NO_OPERAND: the error is set. */
/* Times the edge's weight. */
mdf_operand compile_weighted(struct target *target, const struct mdf_edge *edge, mdf_operand value);
mdf_operand compile_reduced(struct target *target, enum mdf_reduce reduce, mdf_operand held, mdf_operand arriving);

/* --- circles.c: nodes that wait for each other in a circle wait, all of them, for what one of them waits for outside of it. */
bool graph_join_circles(struct graph_builder *builder);
/* Compiles all nodes in an order that has senders before receivers where that is possible. */
bool graph_compile_nodes(struct graph_builder *builder);

/* --- meaning.c */

/* A model as it is meant, where that is not as its file has it. */
struct meaning {
    struct mdf_model model; /* what of it is new lies in its arena */
    struct mdf_document document;
    struct mdf_document *parameters; /* the values that were given; NULL: none */
};

/* The model with the parameters that were given, in its dialect: `model` itself, or one that is read anew into `meaning`. NULL:
 * the error is set. `meaning` is released in any case, once the model is not needed any more. */
const struct mdf_model *meaning_of(struct compiler *compiler, const struct mdf_model *model, const mdf_options *options,
                                   struct meaning *meaning);
void meaning_release(struct meaning *meaning);

/* --- stop_when.c: the expression of mdf_options.stop_when, once all nodes are compiled */
bool compile_stop_when(struct graph_builder *builder, const char *text);

/* --- compile.c */
/* The declaration with its shape in the program's arena. */
bool keep_declaration(struct compiler *compiler, const struct mdf_declaration *source, struct mdf_declaration *kept);

/* --- compile.c, nested.c: a graph within a node */
struct nested {
    struct target *outer; /* the node's */
    const struct mdf_graph_node *node;
    struct list yields; /* of output ports that the node reads */
};
/* Compiles a graph to compiler->program and its code; `nested` NULL: the outermost. */
bool compile_graph(struct compiler *compiler, const struct mdf_graph *graph, struct unit *unit, struct nested *nested);
/* Emits what runs a node's graph, and binds its output ports in the node's scope. */
bool compile_nested(struct target *target, const struct mdf_graph_node *node, bool is_in_body);
/* The interface's name for a port; NULL: none. */
const char *nested_input_name(const struct mdf_graph *graph, const char *node, const char *port);
/* Wires ports that no edge feeds to what the node has under their name, or links them to its input port of that name. */
bool nested_feed(struct graph_builder *builder, struct target *outer);
/* The output ports that the node's own ones refer to; then, from the graph, where their values are. */
bool nested_find_yields(struct graph_builder *builder, const struct mdf_graph_node *outer_node, struct list *yields);
bool nested_take_yields(struct graph_builder *builder, struct list *yields);

/* --- conditions.c */
/* Whether the graph says when its nodes run, or when an evaluation ends. */
bool graph_has_conditions(const struct mdf_graph *graph);
/* The schedule and the layers of a graph with conditions, whose nodes are compiled. */
bool compile_schedule(struct graph_builder *builder);

/* --- look_over.c: warnings of a graph that is compiled, its code finished. False with the error set: memory ran out. */
bool compile_look_over(const struct graph_builder *builder, const struct mdf_program *program);
/* A part of it: units of measurement (look_over_units.c). */
bool look_over_units(const struct graph_builder *builder);

/* --- scheduling_mode.c */
/* Sets builder->is_exact: by the caller's options, else as the graph's conditions say in their metadata. */
bool graph_find_scheduling_mode(struct graph_builder *builder);

/* --- parts.c */
/* Notes where the values of a compiled node's ports, functions and parameters are. */
bool keep_parts(const struct graph_builder *builder, size_t index);

/* --- changeable.c: parameters that each state may set for itself */
/* Before a node is compiled: if it was asked for, the constant of a parameter gets a slot. */
bool keep_changeable(struct target *target, const struct mdf_graph_node *node, const struct mdf_parameter *parameter,
                     bool is_literal, bool is_text);
bool keep_graph_changeable(struct target *target, const char *id, const struct mdf_node *field,
                           const struct mdf_declaration *declaration);
/* Whether the value of a field of the model is in such a slot; the slot, or its capture; MDF_NO_OPERAND where it is not. */
bool is_changeable(const struct compiler *compiler, const struct mdf_node *field);
mdf_operand changeable_operand(struct target *target, const struct mdf_node *field);
/* The value by default of the parameter in a slot of the outermost unit, which takes values of that shape only from now on; NULL:
 * the slot has none. */
const struct mdf_value *changeable_of_one_shape(struct compiler *compiler, mdf_operand slot);
/* False with the error set: a parameter that was asked for is not there. */
bool all_changeables_are_met(struct compiler *compiler);

/* --- node.c */
bool compile_node(struct graph_builder *builder, size_t index);

#endif
