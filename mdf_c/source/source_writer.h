/* source_writer.h - what the parts of mdf_c/source share while they write a model as C: texts that grow side by side, names
 * that are taken, the helper functions that are needed, and how each value of the region at hand is called.
 *
 * A C function is written for one stretch of instructions. Scalars become variables; arrays become arrays: those of the state,
 * constants at file scope, and buffers of the function (small ones on the stack, others in the state's `work`). */
#ifndef MDF_SOURCE_SOURCE_WRITER_H
#define MDF_SOURCE_SOURCE_WRITER_H

#include "mdf_c/base/name_table.h"
#include "mdf_c/base/text.h"
#include "mdf_c/code/code.h"
#include "mdf_c/lowered/lowered.h"
#include "mdf_c/lowered/nest.h"

/* A function that generated code calls; it is written out once, where it is needed. */
struct mdf_source_helper {
    struct mdf_source_helper *next;
    const char *name, *definition;
};

/* Identifiers that are taken. All zero: none. */
struct mdf_source_names {
    struct name_table taken; /* how often each is */
    struct name_table next;  /* stems: what is behind the numbers that are known to be taken; 0: not looked for yet */
};

/* An array constant that lies at file scope. */
struct mdf_source_constant {
    struct mdf_source_constant *next;
    const void *data;
    uint8_t dtype;
    size_t length;
    const char *name;
    size_t begin, end; /* its definition, in the writer's `constants` */
};

/* How a value of the region at hand is written. */
struct mdf_source_value {
    const char *name;   /* of a scalar the expression, of an array the name of its first element's place; NULL: not yet made */
    bool is_live;       /* something that matters depends on it */
    bool is_buffered;   /* the name was given before the op that makes it is written */
    bool is_made_there; /* a nest writes it where a PUT puts it */
    bool takes_input;   /* it is written where an input of the program lies, which is read until then */
    const char *copy;   /* an array that gets its elements too, where a nest stores them; NULL: none */
    /* Along an axis that is open: of a stack whose loop does not say how often it runs, the items that there were when the
     * program was evaluated; of what changes its length, the most that it can have, and how many it has now (of a stack: so far).
     */
    size_t n_items;
    const char *count;
};

/* How the values of frame slots are called in generated code: of a value of the frame, and how its elements are held. */
struct mdf_source_slot {
    const char *name; /* of a scalar "s->x", of an array "s->y" */
    const char *hint; /* for variables that hold its value */
    mdf_dtype dtype;
    size_t length;  /* elements */
    bool is_scalar; /* not declared as an array */
    const char *truth; /* "s->x_is_there": of what is not always there; else NULL */
    bool is_lent;   /* a pointer to elements outside of the state, or to its own copy of them; only read */
};

struct mdf_element;

struct mdf_source_writer {
    struct mdf_memory *memory;
    struct mdf_arena arena;
    mdf_error *error; /* never NULL */
    struct mdf_source_names globals, locals;
    struct mdf_source_helper *helpers, **last_helper;
    struct mdf_source_constant *constant_list;
    struct mdf_text constants; /* definitions at file scope */
    struct mdf_text functions; /* those that are complete */
    bool draws;                /* something draws random numbers: from s->random, and from s->streams, if there are any */
    size_t n_streams;
    bool adds, subtracts, multiplies; /* real numbers */
    bool makes_reals;                 /* of whole numbers */
    bool has_lanes;                   /* compilers make vectors of instances side by side, whose numbers go through no arrays */
    bool calls_plugins;               /* a registered function is called, whose failures are told in s->failure */
    /* Of the function at hand: */
    struct mdf_text declarations, body, work; /* work: members of its part of the state's buffers */
    int depth;                                /* of the block at hand */
    size_t stack_bytes;                       /* of its arrays */
    const char *place;                        /* "node 'B'", for messages */
    const struct mdf_origin *origin;          /* where in the file that is, as near as is known; NULL: it is not */
    const char *work_name;                    /* "s->work.run_B" */
    bool is_first;                            /* it is a node's first run: an initial value that is one number fills an array */
    /* Of the region at hand: */
    const struct mdf_lowered *lowered;
    struct mdf_source_value *values;
    size_t *n_reads;                     /* of each value, by ops and as an output */
    size_t n_loops;                      /* around what is written */
    const struct mdf_lowered_loop *loop; /* the innermost of these; NULL: there is none */
    bool is_in_succession; /* of extremes: several go along one row, of which gcc follows each way through helpers */
    bool is_alone;         /* what is computed are numbers, in no loop over elements */
    bool is_near;          /* functions are those that note in `far` where their results are to be found once more */
    /* Asks whoever writes the whole for the place of a slot's value; NULL: it has none (for an output: nobody reads it). */
    const struct mdf_source_slot *(*find_slot)(void *context, const struct mdf_value *value);
    void *slot_context;
};

/* --- source_writer.c */

void mdf_source_begin(struct mdf_source_writer *writer, struct mdf_memory *memory, mdf_error *error);
void mdf_source_end(struct mdf_source_writer *writer);
/* What is written next, for messages. */
void mdf_source_at(struct mdf_source_writer *writer, const char *place, const struct mdf_origin *origin);
/* Sets the error, with the place in the file and in the model; returns false. */
bool mdf_source_refuse(struct mdf_source_writer *writer, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
bool mdf_source_out_of_memory(struct mdf_source_writer *writer);
/* Sets the error where memory for a text was refused. */
void mdf_source_check(struct mdf_source_writer *writer, const struct mdf_text *text);
/* Text in the writer's arena; never NULL: where memory is refused the error is set, and it is "". */
/* An expression of elements.def with $a, $T, {attribute} and @helper@, as the rows of source_elements.c. */
const char *mdf_source_element_text(struct mdf_source_writer *writer, const char *text);
const char *mdf_source_text(struct mdf_source_writer *writer, const char *format, ...) MDF_PRINTF_LIKE(2, 3);

/* An identifier like `hint` (any text; NULL: "value") that is not reserved, nor taken in `names` or among the global ones; now it
 * is taken. */
const char *mdf_source_name(struct mdf_source_writer *writer, struct mdf_source_names *names, const char *hint);
/* Whether a name is among the global ones. */
bool mdf_source_is_taken(struct mdf_source_writer *writer, const char *name);
/* The name is free again. */
void mdf_source_free_name(struct mdf_source_writer *writer, struct mdf_source_names *names, const char *name);
/* Takes a name as it is. */
void mdf_source_take_name(struct mdf_source_writer *writer, struct mdf_source_names *names, const char *name);

/* The C type of elements; NULL where there is none (small floats, complex numbers, strings). */
const char *mdf_source_type(mdf_dtype dtype);
/* In front of an element of type `from` that becomes one of type `to`, of types that C computes with: "(float)", or "". */
const char *mdf_source_cast(struct mdf_source_writer *writer, mdf_dtype from, mdf_dtype to);
/* Whether C computes with elements of that type, which it does not where the type is that of their bits. */
bool mdf_source_computes(mdf_dtype dtype);
/* A constant of C that has the value of an element. */
const char *mdf_source_literal(struct mdf_source_writer *writer, mdf_dtype dtype, const void *element);
/* The same without parentheses, for lists of elements. */
void mdf_source_append_literal(struct mdf_text *text, mdf_dtype dtype, const void *element);
/* The name of an array at file scope with these elements. */
const char *mdf_source_constant_array(struct mdf_source_writer *writer, mdf_dtype dtype, const void *data, size_t length,
                                      const char *hint);
/* A text as a C string literal, quotes included. */
const char *mdf_source_quote(struct mdf_source_writer *writer, const char *text);
/* The same of a message, cut where it is overlong. */
const char *mdf_source_quote_message(struct mdf_source_writer *writer, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
/* A text that can stand in a comment. */
const char *mdf_source_comment(struct mdf_source_writer *writer, const char *text);

/* A line of the body, indented; blocks. */
void mdf_source_line(struct mdf_source_writer *writer, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
void mdf_source_open(struct mdf_source_writer *writer, const char *format, ...) MDF_PRINTF_LIKE(2, 3);
void mdf_source_close(struct mdf_source_writer *writer);
void mdf_source_blank(struct mdf_source_writer *writer);
/* "return MESSAGE;" in a block of its own after `condition`. */
void mdf_source_bail_out_if(struct mdf_source_writer *writer, const char *condition, const char *why);

/* A buffer of the function for `length` elements: its name. */
const char *mdf_source_buffer(struct mdf_source_writer *writer, mdf_dtype dtype, size_t length, const char *hint);
/* A member of a struct that is an array, and what fills its last line of the cache: where the struct begins at one, so do its
 * arrays, and no vector that is loaded or stored lies in two lines. */
struct mdf_source_lines {
    const char *indent, *type, *name;
    size_t n, n_bytes; /* elements; bytes of them all */
    const char *comment;
};
void mdf_source_append_lines(struct mdf_source_writer *writer, struct mdf_text *text, struct mdf_source_names *names,
                             const struct mdf_source_lines *own);
/* Whether it would be a variable of the function. */
bool mdf_source_has_room(const struct mdf_source_writer *writer, size_t n_bytes);

/* --- source_unread.c */

/* Takes definitions that nothing reads out of the function at hand. */
void mdf_source_drop_unread(struct mdf_source_writer *writer);
/* The same of constants at file scope, when all functions are complete. */
void mdf_source_drop_unread_constants(struct mdf_source_writer *writer, const struct mdf_text *functions);

/* --- reserved_names.c */

/* Whether a name means something else in C, or in C++. */
bool mdf_source_is_reserved(const char *name);
/* Whether all names that begin as this one does may: no number behind it helps. */
bool mdf_source_begins_reserved(const char *name);

/* --- source_helpers.c */

/* A helper function of generated code: "mdf_" and `name`, which is returned. `definition` is all of its text. */
const char *mdf_source_helper(struct mdf_source_writer *writer, const char *name, const char *definition);
/* One of the fixed ones, by its name without "mdf_". */
const char *mdf_source_use(struct mdf_source_writer *writer, const char *name);
/* Whether there is one; what it is defined as, if it is written already, else NULL. */
bool mdf_source_has_helper(struct mdf_source_writer *writer, const char *name);
const char *mdf_source_definition(const struct mdf_source_writer *writer, const char *name);
/* The name, behind "mdf_", of what a text calls first, and its length; NULL: it calls nothing. */
const char *mdf_source_find_called(const char *text, size_t *length);
/* The definitions of all that are needed. */
void mdf_source_append_helpers(const struct mdf_source_writer *writer, struct mdf_text *text);
/* All that a text calls by name. */
void mdf_source_use_called(struct mdf_source_writer *writer, const char *text);
/* A text with each "$T" replaced by a type, "$f" by the suffix of its functions in math.h, "$U" by the unsigned type to compute
 * in,
 * "$D" by that or, of reals, double, "$n" by the name of the element type. */
const char *mdf_source_of_type(struct mdf_source_writer *writer, const char *text, mdf_dtype dtype);

/* --- source_settings.c: attributes of a call, by name. False: it has none of that name, or none was given. */
bool mdf_source_real_setting(const struct mdf_operator *operator, const void * settings, const char *name, double *real);

/* --- source_values.c */

/* The element of a value at an index (C text; of a scalar it does not matter). */
const char *mdf_source_element(struct mdf_source_writer *writer, mdf_lowered_id id, const char *index);
/* The sizes of a value's axes: the lowering refuses more than MDF_INLINE_RANK of them. */
static inline const int64_t *mdf_source_shape(const struct mdf_value *form)
{
    return form->shape.sizes;
}
/* The axis along which the items of a stack lie whose loop does not say how often it runs. */
size_t mdf_source_open_axis(const struct mdf_value *form);
/* The elements of a value. */
size_t mdf_source_length(const struct mdf_source_writer *writer, mdf_lowered_id id);
/* Where a result that an op of whole values is about to write lies: declares it. Its elements are then written through
 * mdf_source_element. */
void mdf_source_declare_result(struct mdf_source_writer *writer, mdf_lowered_id id);
/* The address of a value's first element. */
const char *mdf_source_address(struct mdf_source_writer *writer, mdf_lowered_id id);
/* Makes inputs known under their names. */
bool mdf_source_name_values(struct mdf_source_writer *writer);
/* A hint for the name of a value. */
const char *mdf_source_hint(const struct mdf_source_writer *writer, mdf_lowered_id id);
/* Whether the value is a constant with one element; that element as an integer or real. */
const void *mdf_source_constant_element(const struct mdf_source_writer *writer, mdf_lowered_id id);

/* --- source_elements.c */

/* What an op of elements comes to in C. */
struct mdf_source_expression {
    const char *text;     /* the result */
    const char *refused;  /* a condition on the operands under which it bails out; NULL: none */
    const char *unwanted; /* the same on the result; "$r" stands for it; NULL: none */
    const char
        *checked;    /* instead of `text`: a call that is false where it bails out, "$r" the address of the result; else NULL */
    const char *why; /* what is wrong where it bails out */
};

/* Whether a function of elements chooses the larger or the smaller one of two. `operator`: NULL: it is none. */
enum mdf_source_extreme { MDF_SOURCE_NO_EXTREME, MDF_SOURCE_LARGER, MDF_SOURCE_SMALLER };
enum mdf_source_extreme mdf_source_extreme(const struct mdf_operator *operator, const void * settings);
/* `operands`: texts that are names or constants; op->in says which values they are, where that is known (else NONE). `result`:
 * its type. False with the error set: there is no way to write it. */
bool mdf_source_express(struct mdf_source_writer *writer, const struct mdf_lowered_op *op, mdf_dtype result,
                        const char *const operands[], struct mdf_source_expression *expression);
/* Declares `name` with the value of an expression. Where it bails out that is at once, or, within a loop over elements, noted in
 * the variable `refused`. */
void mdf_source_define(struct mdf_source_writer *writer, mdf_dtype dtype, const char *name,
                       const struct mdf_source_expression *expression, bool is_in_loop);
/* The same of an operator by name, on operands of one type. NULL refused: no such function of elements is known. */
bool mdf_source_express_operator(struct mdf_source_writer *writer, const struct mdf_operator *operator, const void * settings,
                                 mdf_dtype dtype, size_t n_operands, const char *const operands[],
                                 struct mdf_source_expression *expression);

/* --- source_beside.c */

/* Writes ops from the first of `n` on that make numbers by one function, as one call of it: how many; 0: none, or an error. */
size_t mdf_source_write_beside(struct mdf_source_writer *writer, const struct mdf_lowered_op *ops, size_t n);

/* --- source_calls.c */

bool mdf_source_write_call(struct mdf_source_writer *writer, const struct mdf_lowered_op *op);

/* One call while it is written. */
struct mdf_source_call {
    const struct mdf_lowered_op *op;
    const struct mdf_lowered_call *call;
    const struct mdf_operator *operator;
    const void *settings;
};

/* The form of an input; NULL: omitted. */
const struct mdf_value *mdf_source_input(const struct mdf_source_writer *writer, const struct mdf_source_call *call, size_t i);

/* --- source_custom.c */

struct mdf_custom;
struct mdf_functions;
/* Takes the names that the texts of registered functions have, so that nothing else is called so. */
void mdf_source_take_custom_names(struct mdf_source_writer *writer, const struct mdf_functions *functions);
bool mdf_source_write_custom(struct mdf_source_writer *writer, const struct mdf_source_call *call,
                             const struct mdf_custom *custom);
/* The field of the state that it needs, where something is called. */
void mdf_source_append_failure(const struct mdf_source_writer *writer, struct mdf_text *text);

/* --- source_uses.c */

/* Sets is_live of all values. */
void mdf_source_mark_live(struct mdf_source_writer *writer);
/* Whether something that matters depends on a value; of MDF_LOWERED_NONE nothing does. */
bool mdf_source_is_live(const struct mdf_source_writer *writer, mdf_lowered_id id);
/* Whether a call takes an item, by its number, of an array that grows: it may refuse that whoever needs it. */
bool mdf_source_takes_grown_item(const struct mdf_source_writer *writer, const struct mdf_lowered_call *call);
/* Whether an op of elements, or a PUT, or a step of a nest, bails out although nobody needs its result. */
bool mdf_source_op_may_bail_out(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op);
bool mdf_source_step_may_bail_out(const struct mdf_nest_step *step);
/* The steps of a nest that something depends on: what stores a live value, and what may bail out. */
struct mdf_nest_set mdf_source_live_steps(const struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest);

/* --- source_nest.c */

bool mdf_source_write_nest(struct mdf_source_writer *writer, const struct mdf_lowered_nest *nest);

/* --- source_loop.c */

/* A CALL that looks at a stack, or puts an item there before. */
bool mdf_source_write_look(struct mdf_source_writer *writer, const struct mdf_lowered_call *call);

bool mdf_source_write_loop(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop);

/* --- source_loop_copies.c */

enum { MDF_SOURCE_MOST_COPIES = 16 };

/* Inputs that have places of the function's own while a loop runs, and their names before. */
struct mdf_source_copies {
    mdf_lowered_id ids[MDF_SOURCE_MOST_COPIES];
    const char *names[MDF_SOURCE_MOST_COPIES];
    size_t n, n_bytes;
};

/* In front of a loop, and behind it. */
void mdf_source_copy_inputs(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                            struct mdf_source_copies *copies);
void mdf_source_end_copies(struct mdf_source_writer *writer, const struct mdf_source_copies *copies);

/* --- source_put.c */

/* The number of the last PUT behind a NEST, number `i` of a region, of which the nest may write what is put where it goes: those
 * up to there are written in front of the nest, and say where that is. `i`: there is none, or it is no nest. */
size_t mdf_source_last_put_made_there(struct mdf_source_writer *writer, const struct mdf_lowered_region *region, size_t i);
void mdf_source_write_put(struct mdf_source_writer *writer, const struct mdf_lowered_op *op);

/* --- source_region.c */

/* An array of elements that are those of another one. */
void mdf_source_write_array_copy(struct mdf_source_writer *writer, const struct mdf_lowered_op *op);

bool mdf_source_write_region(struct mdf_source_writer *writer, const struct mdf_lowered_region *region);

/* Writes the whole of a lowered stretch into the body of the function at hand, and its results into their slots. */
bool mdf_source_write_lowered(struct mdf_source_writer *writer, const struct mdf_lowered *lowered);

#endif
