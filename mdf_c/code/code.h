/* code.h - compiled graphs: straight-line instructions over value slots, and the frames that run them.
 *
 * A unit (struct mdf_code) is one graph, or one body graph of Scan, Loop or If, compiled: immutable, shared by all states. A
 * frame is a unit's run-time instance: the values of its slots, and every call with its operands resolved to pointers, so that
 * running an instruction looks nothing up. Frames of bodies hang below the frame of the graph that they stand in.
 *
 * An operand names a slot of the unit, one of its constants, or a captured value of the enclosing unit. */
#ifndef MDF_CODE_CODE_H
#define MDF_CODE_CODE_H

#include "functions/kernel/coerce.h"
#include "functions/kernel/operator.h"

typedef uint32_t mdf_operand;

enum mdf_operand_kind { MDF_OPERAND_SLOT = 0, MDF_OPERAND_CONSTANT = 1, MDF_OPERAND_CAPTURE = 2 };

#define MDF_NO_OPERAND UINT32_MAX
#define MDF_OPERAND(kind, index) ((mdf_operand)(((uint32_t)(kind) << 30) | (uint32_t)(index)))
#define MDF_OPERAND_KIND(operand) ((operand) >> 30)
#define MDF_OPERAND_INDEX(operand) ((operand)&0x3fffffffu)
enum { MDF_OPERAND_LIMIT = 0x3fffffff };

/* Where an instruction comes from, for messages. */
struct mdf_origin {
    const char *file;
    int line, column;
    const char *path; /* "node 'B', parameter 'B_out'" */
};

enum mdf_opcode {
    MDF_OPCODE_CALL,            /* runs call number `target` */
    MDF_OPCODE_COPY,            /* slot a = b, in a's own memory */
    MDF_OPCODE_BORROW,          /* slot a = b without copying: b outlives the use of a, or is written afresh before it */
    MDF_OPCODE_ARRAY,           /* as BORROW; a Python list becomes an array where it is rectangular */
    MDF_OPCODE_DECLARE,         /* as BORROW; converted to the type of declaration number c where it has another */
    MDF_OPCODE_SWAP,            /* slots a and b change places */
    MDF_OPCODE_JUMP,            /* to instruction `target` */
    MDF_OPCODE_JUMP_IF,         /* where a is true */
    MDF_OPCODE_JUMP_UNLESS,     /* where a is false */
    MDF_OPCODE_JUMP_WITHOUT_DT, /* where the evaluation has no time increment */
    MDF_OPCODE_LIST,            /* slot a = [] */
    MDF_OPCODE_APPEND,          /* list in slot a gets b */
    MDF_OPCODE_NEXT,            /* slot a = next item of b, counted in slot c; past the last to `target` */
    MDF_OPCODE_GRAPH,           /* runs body number `target`, a graph within a node */
    MDF_OPCODE_YIELD            /* slot a = yield number c of body number `target`, as BORROW */
};

struct mdf_instruction {
    uint8_t opcode; /* enum mdf_opcode */
    mdf_operand a, b, c;
    uint32_t target;
    uint32_t origin;
};

struct mdf_code_call {
    const struct mdf_operator *operator;
    const void *settings;
    const struct mdf_signature *signature; /* NULL: inputs are taken as they are */
    const mdf_operand *inputs, *outputs;   /* MDF_NO_OPERAND: omitted, unread */
    size_t n_inputs, n_outputs;
    const uint32_t *bodies; /* units in code->bodies, UINT32_MAX: not given */
    size_t n_bodies;
};

/* An attribute of a call; NULL: it has none of that name (functions/kernel/setting.h). */
const void *mdf_code_setting(const struct mdf_code_call *call, const char *name);
/* Item i of one that is whole numbers; 0: it is not given, or has fewer. */
int64_t mdf_code_setting_at(const struct mdf_code_call *call, const char *name, size_t i);

struct mdf_program;

/* A name in a body whose value can be looked at: an input of the body, or an output port of one of its nodes. */
struct mdf_body_name {
    const char *node; /* NULL: an input */
    const char *id;
    mdf_operand operand;
};

/* A node in a body, and its instructions [first, end); those of a node that it waits for may lie among them. */
struct mdf_body_node {
    const char *id;
    size_t first, end;
};

struct mdf_code {
    const struct mdf_program *program; /* of a graph within a node, which runs by an order of its own; NULL: no such graph */
    struct mdf_instruction *instructions;
    size_t n_instructions;
    struct mdf_code_call *calls;
    size_t n_calls;
    struct mdf_value *constants;
    size_t n_constants;
    size_t n_slots;
    mdf_operand *captures; /* operands of the enclosing unit */
    size_t n_captures;
    struct mdf_code **bodies;
    size_t n_bodies;
    struct mdf_declared_type *declarations;
    size_t n_declarations;
    const struct mdf_origin *origins; /* of the whole program */
    /* As a body: */
    mdf_operand *formals, *yields;
    bool *yield_is_own; /* a slot that the unit's code writes afresh in each run, and that nothing else yields */
    struct mdf_static_type *yield_types;
    size_t n_formals, n_yields;
    const char *id; /* of the body's graph */
    const struct mdf_body_name *names;
    size_t n_names;
    const struct mdf_body_node *nodes;
    size_t n_nodes;
};

struct mdf_frame;
struct mdf_shared_state;

/* Who looks on while calls and bodies run. A function that returns false has set the error of the execution's context. */
struct mdf_onlooker {
    bool (*call_begins)(struct mdf_onlooker *onlooker, struct mdf_frame *frame, size_t at);
    bool (*call_ends)(struct mdf_onlooker *onlooker, struct mdf_frame *frame, size_t at, bool was_fast);
    bool (*body_begins)(struct mdf_onlooker *onlooker, struct mdf_frame *body);
    bool (*body_ends)(struct mdf_onlooker *onlooker, struct mdf_frame *body);
    struct mdf_onlooker *next; /* who looks on too; NULL: nobody */
};

/* What the frames of one state share. */
struct mdf_execution {
    struct mdf_context context;
    double dt; /* NaN: none */
    struct mdf_arena arena;
    /* Sets body->run and body->evaluator of a graph within a node, whose frame is made. False: out of memory. */
    bool (*attach)(struct mdf_shared_state *owner, const struct mdf_code *code, struct mdf_frame *frame, struct mdf_body *body);
    struct mdf_shared_state *owner; /* of the run layer */
    /* Runs the call of an operator with bodies, instruction number `at`, in a faster way; false: nothing has changed, and it must
     * be run as it stands. *kept, NULL at first, is what the call keeps for that, and release_fast lets go of. NULL: there is no
     * such way. */
    bool (*run_fast)(struct mdf_frame *frame, size_t at, void **kept);
    void (*release_fast)(void *kept);
    /* The frame begins anew: what was tried in vain may be tried again. */
    void (*renew_fast)(void *kept);
    struct mdf_onlooker *onlookers; /* NULL: there are none */
    bool has_given_up;              /* a call is no longer tried in a faster way */
};

/* Makes a frame of a unit and of all its bodies; `outer` is the enclosing unit's frame, NULL at the top. NULL when out of
 * memory. Its small parts lie in the execution's arena; values are released by mdf_frame_clear. */
struct mdf_frame *mdf_frame_new(struct mdf_execution *execution, const struct mdf_code *code, struct mdf_frame *outer);
/* Lets go of all values of a frame and of the frames below it. */
void mdf_frame_clear(struct mdf_frame *frame);
/* Takes the values out of a frame and the frames below it, which can then run as new ones; memory stays for later use. */
void mdf_frame_forget(struct mdf_frame *frame);
/* Gives a slot the value that it has in another frame of the same unit, without sharing anything with it but what belongs to the
 * program. False: out of memory. */
bool mdf_frame_copy_slot(struct mdf_frame *target, const struct mdf_frame *source, size_t slot);
/* Runs the instructions [first, end). False: execution->context.error is set. */
bool mdf_frame_run(struct mdf_frame *frame, size_t first, size_t end);
/* The value of an operand. */
const struct mdf_value *mdf_frame_value(const struct mdf_frame *frame, mdf_operand operand);
struct mdf_value *mdf_frame_slot(struct mdf_frame *frame, mdf_operand slot);
/* Call number `index` of the unit. */
struct mdf_call *mdf_frame_call(struct mdf_frame *frame, size_t index);
/* What execution->run_fast keeps for call number `index`; NULL: nothing. */
void *mdf_frame_kept(const struct mdf_frame *frame, size_t index);
/* Of body number `index` of the unit. */
struct mdf_frame *mdf_frame_of_body(const struct mdf_frame *frame, size_t index);
const struct mdf_code *mdf_frame_code(const struct mdf_frame *frame);
struct mdf_execution *mdf_frame_execution(const struct mdf_frame *frame);

/* The node of a body that instruction number `at` belongs to; NULL: none. */
const char *mdf_body_node_at(const struct mdf_code *code, size_t at);

/* An operator that a unit, or one of its bodies, calls, and that has one of these flags (MDF_OPERATOR_...); NULL: there is none. */
const struct mdf_operator *mdf_code_find_flagged(const struct mdf_code *code, unsigned flags);
/* The same that draws random numbers. */
const struct mdf_operator *mdf_code_find_draw(const struct mdf_code *code);

/* Releases what a unit's constants hold, and those of its bodies (all else lies in an arena). */
void mdf_code_clear(struct mdf_memory *memory, struct mdf_code *code);

/* Makes `target` equal to `source` in the declared type, sharing what needs no conversion (`borrow`) or copying it. A bare
 * "float" only turns whole numbers into reals, a bare "int" whole reals into integers. */
bool mdf_declare_value(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source,
                       const struct mdf_declared_type *type, bool borrow);

/* Exchanges `target` and `source` where `source` has the declared type already; false: it is to be declared. */
bool mdf_declare_swap(struct mdf_value *target, struct mdf_value *source, const struct mdf_declared_type *type);

/* --- declare_sequence.c: whether a value is not yet what a declared sequence holds, but can be made so; making it so. */
bool mdf_is_other_sequence(const struct mdf_value *source, const struct mdf_declared_type *type);
bool mdf_declare_sequence(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source,
                          const struct mdf_declared_type *type);
/* An object with values of the type that a map declares. */
bool mdf_declare_map(struct mdf_context *context, struct mdf_value *target, const struct mdf_value *source,
                     const struct mdf_declared_type *type);

#endif
