/* lowering.h - for the files that lower instructions: values and regions under construction.
 *
 * In: instructions of a frame. While they are gone through, every value has an example: real elements, from a trial run of each
 * kernel, of which only type and shape are kept. A function returns false (or NONE) where something can not be lowered;
 * lowering->refusal says what. What is made of NONE is NONE. */
#ifndef MDF_LOWER_LOWERING_H
#define MDF_LOWER_LOWERING_H

#include "mdf_c/lower/lower.h"
#include "mdf_c/lower/refusal.h"

struct mdf_nest_step;
struct nest_draft;

enum region_kind { REGION_WHOLE, REGION_BODY, REGION_BRANCH };

/* A region whose ops are still being added. */
struct region {
    struct region *outer;
    enum region_kind kind;
    size_t depth; /* of the whole: 0 */
    mdf_lowered_id holds, fails; /* truths that hold, or do not, wherever it runs; NONE: there is none */
    struct mdf_lowered_op *ops;
    size_t n_ops, capacity;
};

/* Where the elements of a value can be found without it: in another one, that it was moved from. */
struct lowering_view {
    bool is_there;
    mdf_lowered_id id;
    int64_t first, strides[MDF_INLINE_RANK]; /* in elements; by dimension of the value */
    mdf_lowered_id at;                       /* a whole number that is added, as in struct mdf_nest_view; NONE: none */
    int64_t at_stride, at_limit;
};

/* A state of a loop that only grows: as the run finds it, or with `item` behind it, along `axis` or, of a list, as one item more.
 * No op may read it, but calls what `seen` has in its place. */
struct growth {
    const struct mdf_lowered_loop *loop;
    size_t state;
    mdf_lowered_id item; /* NONE: as the run finds it */
    uint8_t axis;
    bool is_turned;          /* other axes stand in front of it: the stack has it as the first one (lower_open_order.c) */
    mdf_lowered_id initial;  /* what the stack begins with */
    struct seen_state *seen; /* of the state; NULL: nothing may look at it */
};

/* Calls that look at such a state, in the body's own region: as the run finds it, and with its item. Of one that is turned, what
 * the model sees is that moved back. */
struct seen_state {
    struct region *region;
    const struct mdf_value *next; /* an example of what the state is in the second run */
    mdf_lowered_id before, after; /* NONE: nothing looks at it */
    mdf_lowered_id item;          /* of `after` */
    mdf_lowered_id turned_from;   /* of a state that is turned, an item, and the same as it is put into the stack; NONE: none yet */
    mdf_lowered_id turned_item;
    mdf_lowered_id moved_back[2]; /* the same of these two */
    struct mdf_lowered_call *calls[2];
};

/* A list of the first `count` rows of an array (lower_sequence_room.c); before it has an item `rows` is NONE, and the form of the
 * first one goes where `item_form` says. */
struct room {
    mdf_lowered_id rows, count;
    const struct mdf_value **item_form;
};

struct fact {
    struct mdf_value example;
    struct lowering_view view;
    size_t depth;                /* of the region that makes it; inputs and constants: 0 */
    const struct region *region; /* that makes it; NULL: inputs, constants, parameters */
    size_t n_outputs;            /* that it goes to */
    bool is_merged, is_copied;   /* an If's result; of a COPY or a PUT */
    bool is_view;                /* it lies in another value */
    bool is_product;             /* of a prepared product: it has memory */
    bool is_nested;              /* a NEST stores it */
    bool is_watched;             /* a stack that the caller looks at, though it is no output */
    bool is_passed_on;           /* an input that nothing looks at (lower_passed_on.c) */
    bool is_mapped;              /* the stack of a loop that has become a NEST (lower_mapped.c) */
    const struct growth *growth; /* NULL: it is none */
    const mdf_lowered_id *items; /* of a list whose items are known one by one, n_items of them; NULL: it is none */
    size_t n_items;
    bool is_sequence; /* a list whose items are the rows of the array `rows` (lower_sequence.c) */
    mdf_lowered_id rows;
    const struct room *room; /* of a list in an array with room for more; NULL: it is none */
    bool is_optional; /* `content` where the truth `is_there` holds, else nothing (lower_optional.c) */
    mdf_lowered_id is_there, content;
    /* As strong (enum mdf_strength) as its example where the truth `is_strong` holds (NONE: it is not known before), else
     * `weaker`. */
    bool is_either;
    uint8_t weaker;
    mdf_lowered_id is_strong;
    /* Where it is the weaker one, it is `narrow`, of another type, mostly a constant; the value has that, too, converted without
     * loss. */
    bool is_of_either_type;
    mdf_lowered_id narrow;
    bool is_number;         /* of a loop's runs, which is `most` at most */
    int64_t most;
    bool is_rest; /* of a loop's runs, which are few: those that blocks of them leave */
    struct mdf_lowered_loop *loop; /* of a number, whose body is being lowered; NULL: of none */
    bool is_open;           /* its shape is not known before: nothing but calls can read it, if it has another example */
    int64_t least;          /* of one open axis: it is at least so long */
    bool is_bounded;        /* ... but when the loop begins it is known how large it can become */
    struct mdf_value other; /* an example of another run, of what is open, and of what comes of that; NONE: there is none */
};

struct lowering {
    struct mdf_lowered *lowered;
    struct mdf_execution *execution;
    struct mdf_memory *memory;
    struct mdf_arena scratch;
    struct fact *facts; /* of each value */
    size_t capacity;    /* of values and facts */
    struct region *region;
    size_t n_either;                              /* values of either strength that there have been */
    size_t n_growing;                             /* states of loops around */
    size_t n_loop_tries;                          /* loops that were lowered once more, in another way */
    size_t n_written_out;                         /* items of comprehensions that were followed */
    bool is_for_source;                           /* as in struct mdf_lowering_request */
    const struct mdf_lowering_request *request;   /* NULL: it is of another kind */
    bool draws;                                   /* some call does, random numbers */
    bool begins_typed;                            /* lowering_begin does something */
    const struct mdf_lowered_surprise *surprises; /* as in struct mdf_lowering_request */
    size_t n_surprises;
    const bool *stays;  /* as in struct mdf_lowering_request */
    mdf_lowered_id any; /* lowering_any_constant, where `has_any` */
    bool has_any;
    struct nest_draft *drafts[2]; /* of draft_merge */
    size_t *made_at;              /* of lower_group.c: of each value, where it is made */
    size_t n_made_at, n_grouped;
    bool has_dropped_folds;          /* lower_unread.c: from nests */
    bool has_left_apart;             /* lower_group.c: nests, as one would store along its rows and the other one across */
    const char *name;                /* of what is being computed, as the model calls it */
    const struct mdf_origin *origin; /* of the instruction that is being lowered */
    const char *operator;            /* that it calls; NULL: none */
    struct mdf_refusal refusal;      /* the first */
};

/* The values of a unit's operands, so far: a hash table. */
struct binding {
    mdf_operand operand; /* as numbered through all rooms; MDF_NO_OPERAND: free */
    mdf_lowered_id id;
    bool is_written, is_input; /* an input was read before it was written */
    bool is_borrowed;          /* the slot looks at what another has, as long as that is there */
};

struct scope {
    const struct mdf_code *code;
    struct mdf_frame *frame;              /* of the outermost scope; else NULL */
    const struct mdf_lowering_room *room; /* of the code; NULL: it stands in none */
    struct scope *outer;
    struct repetition *repetition; /* of which it is the body; NULL: none */
    const struct scope *base;      /* of a side of a condition: what it has not met or written itself stands there; else NULL */
    struct binding *bindings;
    size_t n, capacity; /* capacity: a power of two */
};

/* Instructions of the frame in a loop: slots are its states where the body reads what it has left there in the run before. */
struct repetition {
    struct scope body;      /* in which the instructions are lowered */
    const bool *is_written; /* of each slot of all rooms: the body may write it */
    size_t n_slots;         /* counters counted in */
    struct mdf_lowered_loop *loop;
    struct region region;
    uint32_t *states; /* of each slot: the number of its state, from 1 on; 0: none */
    mdf_operand *operands;
};

/* --- lower_values.c */
bool lowering_fail(struct lowering *lowering, enum mdf_refusal_reason reason);
/* The same about a value; `becomes`: about what it changes into, NULL: nothing. */
bool lowering_fail_about(struct lowering *lowering, enum mdf_refusal_reason reason, const struct mdf_value *value,
                         const struct mdf_value *becomes);
bool lowering_has_failed(const struct lowering *lowering);
bool lowering_out_of_memory(struct lowering *lowering);
/* A new value like `example`, which is copied; NONE on failure. */
mdf_lowered_id lowering_add_value(struct lowering *lowering, enum mdf_lowered_place place, const struct mdf_value *example);
/* A number of a type, at a depth; NONE on failure. */
mdf_lowered_id lowering_add_scalar(struct lowering *lowering, enum mdf_lowered_place place, mdf_dtype dtype, size_t depth);
/* A value with the example of another one, at a depth; NONE on failure. */
mdf_lowered_id lowering_add_like(struct lowering *lowering, enum mdf_lowered_place place, mdf_lowered_id like, size_t depth);
/* An array that a nest makes, of n elements, with zeros as its example; NONE: memory ran out. */
mdf_lowered_id lowering_add_row(struct lowering *lowering, mdf_dtype dtype, int64_t n);
/* A value of any kind that no op makes or reads; NONE: memory ran out. */
mdf_lowered_id lowering_add_placeholder(struct lowering *lowering, const struct mdf_value *example);
/* A constant, whose elements are shared, or copied where the value would not last (`keeps` false). */
mdf_lowered_id lowering_add_constant(struct lowering *lowering, const struct mdf_value *value, bool keeps);
/* A constant in the place of what nobody looks at, the same in each call; NONE: memory ran out. */
mdf_lowered_id lowering_any_constant(struct lowering *lowering);
/* Room for a value that lasts as long as the lowered form; NULL: memory ran out. */
struct mdf_value *lowering_keep_value(struct lowering *lowering);
/* A constant with the elements that a value has now, also a list. */
mdf_lowered_id lowering_keep_constant(struct lowering *lowering, const struct mdf_value *value);
/* What a state begins with that becomes `later`: where a constant and that differ in nothing but how firm their type is, float64,
 * a constant as firm; else as it is. Only where nothing else helps (`begins_typed`). */
mdf_lowered_id lowering_begin(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *later);
const struct mdf_value *lowering_example(const struct lowering *lowering, mdf_lowered_id id);
bool lowering_is_constant(const struct lowering *lowering, mdf_lowered_id id);
/* Of a constant bool scalar. */
bool lowering_is_true(const struct lowering *lowering, mdf_lowered_id id);
/* Adds an op to the region in which it belongs: the innermost, or one outside the loops in which it does not change. `depth` is
 * that of the deepest of its operands. */
struct region *lowering_place(struct lowering *lowering, size_t depth);
bool lowering_add_op(struct lowering *lowering, struct region *region, const struct mdf_lowered_op *op);
/* Room for ops in front of number `at` of a region that is complete; NULL: out of memory. */
struct mdf_lowered_op *lowering_insert_ops(struct lowering *lowering, struct mdf_lowered_region *region, size_t at, size_t n);
/* Visits the loops of a region that is complete, and of the regions within, inner ones first. A visit may insert ops in front of the
 * loop, number *at of its region, and moves *at with it; false: it failed. */
typedef bool (*lowering_visit_loop)(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at);
bool lowering_for_loops(struct lowering *lowering, struct mdf_lowered_region *region, lowering_visit_loop visit);
/* An element op: its new value, which is like `example`. */
mdf_lowered_id lowering_add_element_op(struct lowering *lowering, struct mdf_lowered_op op, const struct mdf_value *example);
/* Calling a kernel takes longer than moving so many elements. */
enum { LOWERING_FEW_ELEMENTS = 64 };
/* Whether elements of a type are cast, to another such type: reals, whole numbers, bool; whether reals become such a type by one
 * cast. */
bool lowering_casts(mdf_dtype dtype);
bool lowering_cuts_to(mdf_dtype dtype);
/* What a half becomes first, and what becomes one: reals that have all numbers of the other type; NONE: there is none. */
mdf_dtype lowering_real_between(mdf_dtype from, mdf_dtype to);
/* Whether a kernel's cast is ops of the form: of elements that the form computes with; for C source, also of halves. */
bool lowering_casts_elements(mdf_dtype from, mdf_dtype to);
bool lowering_has_cast(mdf_dtype from, mdf_dtype to);
/* Whether lowering_cast does it for a value. */
bool lowering_can_cast(const struct lowering *lowering, mdf_lowered_id id, mdf_dtype dtype);
/* A value of another type with the same elements, by a CAST; the same value where it has the type. */
mdf_lowered_id lowering_cast(struct lowering *lowering, mdf_lowered_id id, mdf_dtype dtype);
/* The same for an operator of the model, some of which give a result for numbers that do not fit. */
mdf_lowered_id lowering_cast_by(struct lowering *lowering, mdf_lowered_id id, mdf_dtype dtype,
                                const struct mdf_operator *operator);
/* A copy, made in the innermost region, with another strength where that is asked for. */
mdf_lowered_id lowering_copy(struct lowering *lowering, mdf_lowered_id id, uint8_t strength);
/* The same where it has another strength; NONE of NONE. */
mdf_lowered_id lowering_as_strong(struct lowering *lowering, mdf_lowered_id id, uint8_t strength);
/* The same with a first axis of length 1. */
mdf_lowered_id lowering_copy_with_axis(struct lowering *lowering, mdf_lowered_id id);
/* The value that a branch leaves, of two of one form; NONE where they are not of one form (then lowering_has_failed says no), or
 * on failure. It belongs to the innermost region. */
mdf_lowered_id lowering_add_merge(struct lowering *lowering, mdf_lowered_id then, mdf_lowered_id otherwise);
/* A value that is made where two ways meet: see lowering_merge. */
mdf_lowered_id lowering_add_joined(struct lowering *lowering, const struct mdf_value *example);
/* What the lowered form does not cover: it bails out, always or where a bool scalar is true. */
bool lowering_bail_out(struct lowering *lowering);
bool lowering_bail_out_if(struct lowering *lowering, mdf_lowered_id truth);
/* As Python has it: a bool scalar. */
mdf_lowered_id lowering_truth(struct lowering *lowering, mdf_lowered_id id);
void lowering_begin_region(struct lowering *lowering, struct region *region, enum region_kind kind);
/* Ends the innermost region: its ops are grouped, and stand in `result`. */
bool lowering_end_region(struct lowering *lowering, struct mdf_lowered_region *result);

/* --- lower.c */
/* A form that `build` makes, finished and checked; `lowering` has its execution and memory. NULL: *refusal says why not. */
struct mdf_lowered *lowering_make(struct lowering *lowering, bool (*build)(struct lowering *lowering, const void *request),
                                  const void *request, struct mdf_refusal *refusal);
bool lowering_run(struct lowering *lowering, struct scope *scope, size_t first, size_t end);
/* The same of what is numbered through all rooms. */
mdf_lowered_id lowering_value_at(struct lowering *lowering, struct scope *scope, mdf_operand place);
bool lowering_bind_at(struct lowering *lowering, struct scope *scope, mdf_operand place, mdf_lowered_id id);
/* Slot `target` = `source` in the declared type, as MDF_OPCODE_DECLARE. */
bool lowering_declare(struct lowering *lowering, struct scope *scope, mdf_operand target, mdf_operand source,
                      const struct mdf_declared_type *type);
/* --- lower_scope.c */
mdf_lowered_id lowering_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand);
/* The same, also where it is open, if it has another example. */
mdf_lowered_id lowering_any_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand);
/* These two, also where the value is of either strength. */
mdf_lowered_id lowering_either_value_at(struct lowering *lowering, struct scope *scope, mdf_operand place);
mdf_lowered_id lowering_either_value_of(struct lowering *lowering, struct scope *scope, mdf_operand operand);
bool lowering_bind(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id);
/* The same of a slot that borrows it. */
bool lowering_bind_borrowed(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id);
/* The same where `id` may be NONE: the slot has no value that can be read. */
bool lowering_bind_any(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id);
bool lowering_bind_any_at(struct lowering *lowering, struct scope *scope, mdf_operand place, mdf_lowered_id id);
/* What such a slot of the outermost scope's frame, or of those within it, or a counter, holds. */
struct mdf_value *lowering_slot(const struct lowering *lowering, const struct scope *scope, mdf_operand place);
/* The binding of a place in the scope itself, or in those that it is a side of too; NULL: it has none yet. */
struct binding *lowering_find_own(const struct scope *scope, mdf_operand place);
const struct binding *lowering_find_at(const struct scope *scope, mdf_operand place);
/* That of an operand, as the latter. */
const struct binding *lowering_find_bound(const struct scope *scope, mdf_operand operand);
/* In this scope an operand is read as another value; it is not written by that. */
bool lowering_read_as(struct lowering *lowering, struct scope *scope, mdf_operand operand, mdf_lowered_id id);

/* --- lower_branches.c */
/* A jump that depends on a value; *next is where both ways meet. */
bool lowering_jump(struct lowering *lowering, struct scope *scope, size_t at, size_t *next);
/* A side of a condition: a scope that reads what `scope` has, which stays as it is until both sides are merged, and has written
 * nothing. */
void lowering_begin_side(struct lowering *lowering, const struct scope *scope, struct scope *side, struct region *region);
/* An IF whose `then` is the region that was just left, with the scope that it left behind, and whose other side is empty. Slots
 * that only the side itself looks at (`is_own`) have no value afterwards. */
bool lowering_end_side(struct lowering *lowering, struct scope *scope, const struct scope *side, mdf_lowered_id condition,
                       bool (*is_own)(const void *owner, mdf_operand slot), const void *owner);

/* A state (`states`: those of a repetition, of which the first n_slots are looked at) that the side leaves with the same value as
 * `slot`; MDF_NO_OPERAND: none. */
mdf_operand lowering_alias(const struct scope *side, mdf_operand slot, const uint32_t *states, size_t n_slots);

/* What slots are where both sides of an IF meet. */
bool lowering_merge_sides(struct lowering *lowering, struct scope *scope, const struct scope *then, const struct scope *otherwise,
                          struct mdf_lowered_if *branches);
/* A state that grows, behind which each side has put something, with one of the two behind it; NONE without a refusal: the sides
 * leave something else. */
mdf_lowered_id lowering_merge_growths(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a,
                                      mdf_lowered_id b);

/* --- lower_strength.c */
/* An array of numbers that is nothing else besides, such as a list that grows. */
bool lowering_is_plain(const struct lowering *lowering, mdf_lowered_id id);
bool lowering_is_either(const struct lowering *lowering, mdf_lowered_id id);
void lowering_mark_either(struct lowering *lowering, mdf_lowered_id id, uint8_t stronger, uint8_t weaker,
                          mdf_lowered_id is_strong);
/* lowering_add_merge, also of values that differ in strength alone, of a scalar and a constant of another type, or of what may not
 * be there; what it merges is added to the branches' merges, so many at most. */
enum { LOWERING_MERGES = 4 };
mdf_lowered_id lowering_merge(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                              mdf_lowered_id otherwise);
/* An instruction, with what it reads and writes, and how it is lowered where all of that has one strength. */
struct lowering_step {
    bool (*run)(struct lowering *lowering, struct scope *scope, const struct lowering_step *step);
    const struct mdf_instruction *instruction;
    const mdf_operand *inputs, *outputs;
    size_t n_inputs, n_outputs;
};
bool lowering_by_strength(struct lowering *lowering, struct scope *scope, const struct lowering_step *step);

/* --- lower_call.c: a call of a kernel without bodies. */
bool lowering_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source);
/* What a CALL op holds, with scratch of its own; its outputs are not made yet. NULL: memory ran out. */
struct mdf_lowered_call *lowering_make_call(struct lowering *lowering, const struct mdf_call *form, const mdf_lowered_id *inputs);

/* --- lower_open.c: values whose shapes change from one run of a loop to the next, which calls read. */
struct trial;
/* A value that is as in the example or as in the other one: the axes whose sizes differ are open. False: it can not be. */
bool lowering_open(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *other);
/* The item of a growth as its stack takes it, made in the body's own region; NONE on failure. */
mdf_lowered_id lowering_item_behind(struct lowering *lowering, const struct growth *growth);
/* Of what looks at a state, calls that were taken back with an attempt are as if they had never been. */
void lowering_forget_looks(struct seen_state *seen);
/* What calls see of a state that grows. */
mdf_lowered_id lowering_look_at_state(struct lowering *lowering, mdf_lowered_id state);
/* An operand of a call. */
mdf_lowered_id lowering_operand(struct lowering *lowering, struct scope *scope, mdf_operand operand);
/* What a call gives on the other examples. */
struct other_results {
    struct mdf_value *examples; /* of each output */
    uint8_t *open_axes;         /* bits */
    bool is_there;
    bool is_open; /* the call can only be left to its kernel */
};
/* Runs the kernel of a trial that is done once more, where its operands have such. */
bool lowering_run_others(struct lowering *lowering, const struct trial *trial, struct other_results *others);
/* Results of the call that has been lowered keep the other examples; what is open is marked. */
bool lowering_note_others(struct lowering *lowering, struct scope *scope, const struct trial *trial,
                          struct other_results *others);

/* --- lower_growth.c: a call that puts something behind a state that grows; *taken: one of its operands is such a state. */
bool lowering_append(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken);
/* What a state that grows along its first axis is with an item, of length 1 along it, behind it; NONE on failure. */
mdf_lowered_id lowering_append_row(struct lowering *lowering, mdf_lowered_id state, mdf_lowered_id item);
/* A state that grows with something behind it, whatever was there: a value that no op makes; NONE: memory ran out. */
mdf_lowered_id lowering_add_longer(struct lowering *lowering, mdf_lowered_id state, mdf_lowered_id item, size_t axis);

/* --- lower_sequence.c: a call of ONNX's that makes, changes or reads a sequence; *taken: it is such a call, of a sequence whose
 * items lie in one array. */
bool lowering_sequence_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken);
/* The array whose rows are the items of a sequence; NONE without a refusal: it is none, or they are not of one form. */
mdf_lowered_id lowering_find_rows(struct lowering *lowering, mdf_lowered_id sequence);
/* A sequence that the frame has, as an input; NONE without a refusal: its items are not of one form. */
mdf_lowered_id lowering_meet_sequence(struct lowering *lowering, const struct mdf_value *sequence);
/* The sequence of an array's rows. */
mdf_lowered_id lowering_add_sequence(struct lowering *lowering, mdf_lowered_id rows);

/* --- lower_sequence_room.c: the sequence of the first `count` rows of an array. */
mdf_lowered_id lowering_add_room(struct lowering *lowering, mdf_lowered_id rows, mdf_lowered_id count);
/* These, one at least, as rows of a length that only a run knows: in the example one, or all that there is room for. NONE without
 * a refusal: the lowering stands in a loop or a branch, or it is for C source. */
mdf_lowered_id lowering_cut_room(struct lowering *lowering, mdf_lowered_id sequence);
/* What the sides of an IF leave, where one is a sequence with room for more; NONE, which may be no refusal:
 * it is not so. */
mdf_lowered_id lowering_merge_rooms(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id a,
                                    mdf_lowered_id b);

/* --- lower_optional.c: what may not be there. `content` where a truth holds, else nothing; what is known is what it holds, or nothing.
 * NONE: it is no array of numbers, or memory ran out. */
mdf_lowered_id lowering_add_optional(struct lowering *lowering, mdf_lowered_id is_there, mdf_lowered_id content);
/* Nothing that the frame has, or what it has for C source and may not have the next time, as inputs; NONE without a refusal: it is
 * another value. */
mdf_lowered_id lowering_meet_optional(struct lowering *lowering, const struct mdf_value *value);
bool lowering_is_nothing(const struct lowering *lowering, mdf_lowered_id id);
/* The two parts of any value; the content of nothing is as `otherwise`. */
mdf_lowered_id lowering_is_there(struct lowering *lowering, mdf_lowered_id id);
mdf_lowered_id lowering_content(const struct lowering *lowering, mdf_lowered_id id, mdf_lowered_id otherwise);
/* Zeros of the form of what two values hold, of which one may be nothing; NONE without a refusal: neither may be nothing, or they
 * hold other things. */
mdf_lowered_id lowering_zeros_of_either(struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b);
/* What the sides of an IF leave, where one of them may be nothing; NONE without a refusal: it is not so. */
mdf_lowered_id lowering_merge_optionals(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id then,
                                        mdf_lowered_id otherwise);
/* A call of ONNX's that makes, hands on or looks at such a value; *taken: it is such a call. */
bool lowering_optional_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken);
/* --- lower_control.c: Loop, Scan, If (lower_loops.h). */
bool lowering_control(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source);
/* What number `i` of a loop's states is after a run of its body, of which `region` is the region. */
bool lowering_carry(struct lowering *lowering, const struct region *region, struct mdf_lowered_loop *loop, size_t i,
                    mdf_lowered_id next);

/* --- lower_repeat.c */
/* Marks the slots that instructions [first, end) write. */
void lowering_mark_written(const struct mdf_code *code, size_t first, size_t end, bool *is_written);
/* Between these two, repetition->body is the scope to lower instructions in, and repetition->loop gets its bounds. Afterwards
 * `scope` has what the last run left: in states and in slots that are marked in `leaves`. There is at least one run. */
bool lowering_begin_repetition(struct lowering *lowering, struct scope *scope, struct repetition *repetition);
/* Before the end: an array of what the scalar `item` is in each run. */
mdf_lowered_id lowering_stack_repeated(struct lowering *lowering, struct repetition *repetition, mdf_lowered_id item);
/* The same of values of any shape, in a repetition whose loop has a fixed number of runs; ids of the arrays go to `stacks`. */
bool lowering_stack_runs(struct lowering *lowering, struct repetition *repetition, const mdf_lowered_id *items, size_t n,
                         mdf_lowered_id *stacks);
/* Items of arrays along their first axes, one in each run: the arrays are where `rows` says, of these forms in each call of the
 * whole. Ids of the items go to `items`. */
bool lowering_rows_repeated(struct lowering *lowering, struct repetition *repetition, const struct mdf_value *rows, size_t n,
                            mdf_lowered_id *items);
bool lowering_end_repetition(struct lowering *lowering, struct repetition *repetition, const bool *leaves);
/* The value of a slot that has not been met in the body. */
mdf_lowered_id lowering_meet_repeated(struct lowering *lowering, struct repetition *repetition, mdf_operand operand);

/* --- lower_items.c: operators of ONNX that lowering itself puts in, lowered as calls of a model are. An item of an array along
 * its first axis, by number or by a value (also along another axis); items [first, end), which are not none; how many there are, as a value; arrays one
 * behind the other; as many elements in another shape, of which one size may be -1. NONE: there is none, or it failed. */
mdf_lowered_id lowering_item(struct lowering *lowering, mdf_lowered_id array, size_t index);
mdf_lowered_id lowering_item_at(struct lowering *lowering, mdf_lowered_id array, mdf_lowered_id index);
mdf_lowered_id lowering_item_along(struct lowering *lowering, mdf_lowered_id array, mdf_lowered_id index, size_t axis);
mdf_lowered_id lowering_items(struct lowering *lowering, mdf_lowered_id array, size_t first, size_t end);
/* Those in front of a number, an array of one. */
mdf_lowered_id lowering_items_to(struct lowering *lowering, mdf_lowered_id array, mdf_lowered_id end);
/* Elements that are at least, or at most, a number: the limit where they are not, or where it is NaN. */
mdf_lowered_id lowering_limit(struct lowering *lowering, mdf_lowered_id limit, mdf_lowered_id array, bool is_least);
mdf_lowered_id lowering_count_items(struct lowering *lowering, mdf_lowered_id array);
mdf_lowered_id lowering_join(struct lowering *lowering, const mdf_lowered_id *arrays, size_t n);
mdf_lowered_id lowering_reshape(struct lowering *lowering, mdf_lowered_id array, const int64_t *shape, size_t rank);
/* A constant of whole numbers: of rank 0, or 1. */
mdf_lowered_id lowering_add_wholes(struct lowering *lowering, const int64_t *numbers, size_t n, size_t rank);
/* An array with its axis number `from` as number `to`; the others stay in their order. */
mdf_lowered_id lowering_move_axis(struct lowering *lowering, mdf_lowered_id array, size_t from, size_t to);
/* --- lower_range.c: the numbers between which a whole number lies, with both of them; false: it is not known. */
struct lowering_range {
    int64_t low, high;
};
bool lowering_find_range(const struct lowering *lowering, mdf_lowered_id id, struct lowering_range *range);
/* a - b; false: it is not known. */
bool lowering_find_difference(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b, int64_t *difference);
/* The op of an open region that makes a value; NULL: there is none. */
const struct mdf_lowered_op *lowering_maker(const struct lowering *lowering, mdf_lowered_id id);
/* --- lower_put.c: PUT for a call that puts an element, or a row, into an array at one index; *taken: it is such a call. */
struct trial;
bool lowering_put(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);
/* --- lower_chosen_puts.c: in place of a merge, for what the sides of an IF that is not added yet yield as number `yield`, where
 * these put elements into a state of the loop around: what is put, behind the IF. n is 0 where that is not so. False: it failed.
 */
enum { LOWERING_MOST_CHOSEN_PUTS = 8 };
struct chosen_puts {
    size_t n;
    mdf_lowered_id base;
    const struct mdf_value *example;
    struct mdf_lowered_op puts[LOWERING_MOST_CHOSEN_PUTS];
};
bool lowering_choose_puts(struct lowering *lowering, struct mdf_lowered_if *branches, mdf_lowered_id *const yields[2],
                          size_t n_yields, size_t yield, struct chosen_puts *chosen);
mdf_lowered_id lowering_put_chosen(struct lowering *lowering, const struct chosen_puts *chosen);
/* The same of choices of whole arrays in the innermost region, a loop's body that yields these values. */
bool lowering_put_choices(struct lowering *lowering, const mdf_lowered_id *yields, size_t n_yields);
/* --- lower_made_list.c: an instruction of a comprehension, followed where it is known how many items there are. */
bool lowering_make_list(struct lowering *lowering, struct scope *scope, const struct mdf_instruction *instruction, size_t *next);
/* A function of lists (enum mdf_written_out) whose items are known one by one, or of an array; *taken: it comes to others. */
bool lowering_list_function(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken);
/* --- lower_items.c: what a call of a row with its settings, which last, gives; what a function of expressions gives. */
mdf_lowered_id lowering_call_row(struct lowering *lowering, const struct mdf_operator *row, const void *settings,
                                 const mdf_lowered_id *inputs, size_t n);
mdf_lowered_id lowering_call_python(struct lowering *lowering, const char *name, const mdf_lowered_id *inputs, size_t n);
/* --- lower_list.c: a call that builds a list, or takes an item or an array of one; *taken: it is such a call. */
bool lowering_list_call(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, bool *taken);
/* --- lower_sequence.c: the items of a sequence that are known one by one, as it was made of such or is a constant; NULL without a
 * refusal: it is another value. The sequence of such, which last: arrays of one type; NONE: they are something else, it is refused. */
const mdf_lowered_id *lowering_sequence_items(struct lowering *lowering, mdf_lowered_id sequence, size_t *n);
mdf_lowered_id lowering_add_items(struct lowering *lowering, const mdf_lowered_id *items, size_t n);
/* --- lower_list.c */
/* A list of items that are known one by one, which last; of a sequence the items' type. NONE: memory ran out. */
mdf_lowered_id lowering_add_list(struct lowering *lowering, const mdf_lowered_id *items, size_t n, mdf_dtype dtype);
/* How many items a list has whose items are known one by one, or constants; 0: it is another value. */
size_t lowering_list_length(const struct lowering *lowering, mdf_lowered_id id);
/* ... and which; NULL: it is another value, or memory ran out. */
const mdf_lowered_id *lowering_items_of(struct lowering *lowering, mdf_lowered_id id);
/* The array of a list's items, in the type and shape of `array`; NONE on failure, which is a refusal where they do not fit. */
mdf_lowered_id lowering_list_as_array(struct lowering *lowering, mdf_lowered_id list, const struct mdf_value *array);
/* The target is the array that a list makes; `is_numpy`: of as strong a type as NumPy gives it. */
bool lowering_bind_list_as_array(struct lowering *lowering, struct scope *scope, mdf_operand target, mdf_lowered_id list,
                                 bool is_numpy);
/* --- lower_call.c: a value with as many elements, in the type and shape of `example`. */
mdf_lowered_id lowering_convert(struct lowering *lowering, mdf_lowered_id id, const struct mdf_value *example);
/* --- lower_element.c: the loop of a code over arrays of a type; NULL: there is none. */
mdf_loop lowering_loop_of(enum mdf_lowered_code code, mdf_dtype dtype);
/* The ops that an op which calls a loop (ELEMENTS) is made of; the last one's value. NONE without a refusal:
 * it is not made of such. */
mdf_lowered_id lowering_composed(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_op *op);
/* The same as a NEST, where operands repeat along axes or lie in rows of others. */
mdf_lowered_id lowering_composed_nest(struct lowering *lowering, const struct trial *trial, const struct mdf_lowered_op *op);
/* The same of numbers, where a constant operand makes the function simpler than the C function of `op`. */
mdf_lowered_id lowering_composed_number(struct lowering *lowering, struct trial *trial, const struct mdf_lowered_op *op);
/* --- lower_nest.c: NEST ops for calls whose operands repeat along axes, that fold or move, and small products: what the kernel
 * gave on the examples, they give too, bit by bit; *taken: the call is lowered. */
bool lowering_try_nest(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken);
/* --- lower_matrices.c: the same for a product of matrices: its result; NONE without a refusal: it is not made. */
mdf_lowered_id lowering_multiply(struct lowering *lowering, const struct trial *trial);
/* lower_sparse.c: the same where one is a constant matrix of which most elements are 0. */
mdf_lowered_id lowering_multiply_sparse(struct lowering *lowering, const struct trial *trial);
/* --- lower_einsum.c: the same for Einsum, as nests that follow one another. */
mdf_lowered_id lowering_einsum(struct lowering *lowering, struct trial *trial);
/* An element op, with operands of any shapes that broadcast, as a NEST; its result. NONE without a refusal: it is not made. */
mdf_lowered_id lowering_broadcast(struct lowering *lowering, const struct mdf_lowered_op *op, const struct mdf_value *result);
/* --- lower_view.c: notes what the results of a call that only moves elements are views of, behind its lowering. */
bool lowering_note_views(struct lowering *lowering, struct scope *scope, struct trial *trial);
/* --- lower_compose.c: a NEST for a call that is several functions of elements, or Softmax; *taken: there is one. */
bool lowering_compose(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken);
/* --- lower_move.c: NESTs for a call that only moves elements, by constant arguments, or by indices that are not known before;
 * *taken: the call is lowered. */
bool lowering_move(struct lowering *lowering, struct scope *scope, struct trial *trial, bool *taken);

/* An array with a number around it, which has its type: before[d] elements in front of it along dimension d, sizes[d] with it.
 * NONE without a refusal: it is not made of nests. */
mdf_lowered_id lowering_surround(struct lowering *lowering, mdf_lowered_id id, const int64_t *before, const int64_t *sizes,
                                 double real);

/* --- lower_rows.c: the same of Gather by the number of a loop's run, which becomes a row of the loop. */
bool lowering_take_row(struct lowering *lowering, struct scope *scope, const struct trial *trial, bool *taken);
/* --- lower_put.c: the number that is element `i` of an array, where an op of the innermost region puts it there; NONE: there is
 * none. */
mdf_lowered_id lowering_find_element(const struct lowering *lowering, mdf_lowered_id id, size_t i);
/* What an array is a copy of, under another shape, in the innermost region; else the array. */
mdf_lowered_id lowering_look_through_copy(const struct lowering *lowering, mdf_lowered_id id);
/* --- lower_gather_nd.c: a NEST for GatherND by indices that are not known before: its result; NONE without a refusal: there is
 * none. */
mdf_lowered_id lowering_gather_nd(struct lowering *lowering, const struct trial *trial);
/* The place among all elements of axes of `sizes` that n numbers say, which an op of the innermost region puts into `indices` from
 * `first` on; NONE: it is not known that each lies on its axis, counted from the first. */
mdf_lowered_id lowering_flatten_index(struct lowering *lowering, mdf_lowered_id indices, size_t first, size_t n,
                                      const int64_t *sizes);
/* --- lower_group.c: element ops on arrays become nests, and nests of a region that share an index space are made one. */
bool lowering_group(struct lowering *lowering, struct region *region);
/* The same in all regions, where nests have lost folds that nothing reads: these had said in which order axes come. */
bool lowering_group_again(struct lowering *lowering);
/* --- lower.c: whether others than these instructions look at a slot after they have run. */
bool lowering_is_left_for_others(const struct mdf_lowering_request *request, mdf_operand slot);
/* --- lower_passed_on.c: slots that branches only pass on to the next run, for which nobody looks, are no inputs any more. */
bool lowering_drop_passed_on(struct lowering *lowering, struct scope *scope, struct mdf_lowered_region *region);
/* --- nests/lower_open_nest.c: whether two steps at the same place of nests do the same, but for what they store into. */
bool lowering_is_same_step(const struct lowering *lowering, const struct mdf_nest_step *a, const struct mdf_nest_step *b);
/* --- lower_shared.c: what ops of a region compute twice is computed once, before they are grouped. */
bool lowering_share_ops(struct lowering *lowering, struct region *region);
/* Whether two values are one, or numbers that are constant and the same. */
bool lowering_is_same_value(const struct lowering *lowering, mdf_lowered_id a, mdf_lowered_id b);
/* --- lower_copies.c: nests and products read what copies of another shape are copies of; and so do ops on numbers. */
bool lowering_read_originals(struct lowering *lowering);
bool lowering_read_numbers(struct lowering *lowering);
/* What is stored only to be copied into a larger array is stored there. */
bool lowering_store_copied(struct lowering *lowering);
/* --- nests/lower_assembled.c: nests that read arrays put together of pieces read what these are pieces of; before ops are
 * grouped: what copies pieces stands where these are there, so that nothing lies between what reads them. */
bool lowering_read_assembled(struct lowering *lowering);
void lowering_copy_first(struct lowering *lowering, struct region *region);
/* --- nests/lower_sums_of_two.c: sums of two numbers that were float32, in float32; casts that nothing reads are left. */
void lowering_narrow_sums(struct lowering *lowering);
/* --- lower_unread.c: drops what nothing reads, when all is there. */
bool lowering_drop_unread(struct lowering *lowering);

/* --- lower_unrolled.c: for C source, sums of a few numbers for each element of a longer row become additions. */
bool lowering_unroll_sums(struct lowering *lowering);
/* A nest whose innermost axis goes through columns; NULL: it is none that this is done of, or memory ran out. */
struct mdf_lowered_nest *lowering_unroll_columns(struct lowering *lowering, const struct mdf_lowered_nest *nest);

/* --- nests/lower_pieces.c: for C source, short rows along which functions are called, and which are folded, a few at a time. */
bool lowering_cut_rows(struct lowering *lowering);

/* --- lower_beside.c: numbers that one function makes, one behind the other. */
bool lowering_order_functions(struct lowering *lowering);

/* --- loops/lower_foreseen.c: what hangs on whether a state begins anew, in branches. */
bool lowering_branch_foreseen(struct lowering *lowering);

/* --- lower_columns.c: states that grow whose short rows nests fold lie by columns, too. */
bool lowering_add_columns(struct lowering *lowering);

/* --- nests/lower_narrow.c: whole numbers of 32 bits in place of wider ones. */
bool lowering_narrow_wholes(struct lowering *lowering);
bool lowering_narrow_known(struct lowering *lowering);

/* --- nests/lower_wide_truths.c: for C source, truths along short rows as int32. */
bool lowering_widen_truths(struct lowering *lowering);

/* --- nests/lower_split.c: what is computed in 32 bits, or would be computed several times, in a nest of its own. */
bool lowering_split(struct lowering *lowering);

/* --- lower_routine.c: calls in loops that a function of plain C does with less than their kernels take. */
bool lowering_find_routines(struct lowering *lowering);

/* --- lower_fuse.c: whether a loop's number of runs, and the memory of its states and stacks, are known when it begins. */
bool lowering_is_counted(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop);
/* What is told of two loops; NULL: memory ran out. */
struct mdf_lowered_pair *lowering_pair(struct lowering *lowering, const struct mdf_lowered_op *first,
                                       const struct mdf_lowered_op *second);

/* --- lower_concurrent.c: loops that may run at the same time. */
bool lowering_find_concurrent(struct lowering *lowering);

/* --- lower_select.c: conditions whose sides are a few operations on whole numbers become choices. */
bool lowering_select_wholes(struct lowering *lowering);

/* --- lower_carried.c: elements that a run of a loop puts into a state for the next one are states of their own. */
bool lowering_carry_elements(struct lowering *lowering);
/* --- loops/lower_kept_elements.c: an element of a table that all runs of a loop go on with at one place is a number meanwhile. */
bool lowering_keep_elements(struct lowering *lowering);
/* --- lower_blocks.c: elements of tables that a loop goes through one by one, several at once. */
bool lowering_do_in_blocks(struct lowering *lowering);
/* --- loops/lower_place_numbers.c: places in tables of several axes are numbers of their own. */
bool lowering_compute_places(struct lowering *lowering);
/* --- lower_ahead.c: what hangs on no state of a loop, and takes long, is computed for all its runs in front of it. */
bool lowering_compute_ahead(struct lowering *lowering);

/* --- lower_turned.c: arrays from outside that nests of loops' bodies go through across their rows are laid out in front of the
 * loop. */
bool lowering_turn_arrays(struct lowering *lowering);
/* --- lower_stored_moved.c: what a nest stores for a call to move it is stored where that would move it. */
bool lowering_store_moved(struct lowering *lowering);
bool lowering_store_columns(struct lowering *lowering);
/* --- lower_turned_states.c: states whose short rows nests of the loop's body fold lie by columns while it runs. */
bool lowering_turn_states(struct lowering *lowering);
/* --- lower_row_elements.c: elements of rows of tables are loaded where these lie. */
bool lowering_take_row_elements(struct lowering *lowering);
/* --- lower_short_arrays.c: elements of arrays of a few are numbers of their own in loops. */
bool lowering_take_apart(struct lowering *lowering);

/* --- lower_fuse.c: a region whose ops are there: loops that run equally often become one, then what the next two say. */
bool lowering_complete_region(struct lowering *lowering, struct region *region);
/* --- lower_mapped.c: loops whose runs do not hang on each other, and have one nest as their body, become nests. */
bool lowering_map_loops(struct lowering *lowering, struct region *region);
/* Whether a loop has a fixed number of runs, none of which waits for another, and nobody looks into it. */
bool lowering_is_map(const struct lowering *lowering, const struct mdf_lowered_loop *loop);
/* --- lanes/lower_outer_loop.c: other such loops do several runs side by side. */
bool lowering_vectorise_outer_loops(struct lowering *lowering, struct region *region);

/* --- lower_product.c: finds the products of all loops, when all is there, and those that can be computed ahead. */
bool lowering_find_products(struct lowering *lowering);
/* Whether a loop computes a product ahead of its runs whose first operand is an item, a parameter of the loop. */
bool lowering_multiplies_items(const struct lowering *lowering, const struct mdf_lowered_loop *loop, mdf_lowered_id item);

/* --- lower_rules.c */
/* The code for a kernel on operands of one type; ELEMENTS where there is none. `is_traced`: the kernel ran one loop over
 * elements. */
enum mdf_lowered_code lowering_rule(const struct mdf_operator *operator, const void * settings, mdf_dtype dtype, bool is_traced);
/* The C function of one or two reals that a kernel on Python's numbers calls; sets op->of, false where there is none. */
bool lowering_function_rule(const struct mdf_operator *operator, struct mdf_lowered_op * op);
/* The loop over arrays of float64 of the function of elements that such an op calls; NULL: there is none. */
mdf_loop lowering_loop_of_function(const struct mdf_lowered_op *op);
/* The axis that a call's attribute `axis` names, `otherwise` where it has none; past `rank`, or as large: there is no such axis.
 */
size_t lowering_axis(const struct mdf_code_call *source, size_t rank, size_t otherwise);
/* That along which lines of Softmax and its kin lie, as it is by version; is_flat: along all behind it, too. */
size_t lowering_line_axis(const struct mdf_code_call *source, size_t rank, bool *is_flat);

/* --- lower_finish.c: what is stored, memory. */
bool lowering_finish(struct lowering *lowering);

#endif
