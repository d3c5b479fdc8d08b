/* emit_x86_64.h - for the files that turn a lowered region into machine code of x86-64.
 *
 * The structured region is first laid out as a row of steps. Each scalar has a life: the places in the row from the first to the
 * last at which it is needed. Lives that do not overlap may share a register; what finds none lies in its cell. Then code is
 * emitted step by step.
 *
 * While the code runs, rbx holds the cells, rbp the arrays; rax, rcx, rdx and the vector registers 13 to 15 are free within each
 * step. */
#ifndef MDF_MACHINE_EMIT_X86_64_H
#define MDF_MACHINE_EMIT_X86_64_H

#include "mdf_c/machine/emit.h"
#include "mdf_c/machine/x86_64_assembler.h"

enum {
    CELLS = RBX,
    ARRAYS = RBP,
    SCRATCH_REAL = 15,
    SECOND_SCRATCH_REAL = 14,
    THIRD_SCRATCH_REAL = 13,
    N_REAL_REGISTERS = 13, /* that values may lie in: the first ones */
    LARGEST_NESTING = 64,  /* of structured ops; deeper ones are not emitted */
    LARGEST_N_TEMPORARIES = 4096,
    N_LOOP_TEMPORARIES = 3,                  /* of each loop, besides pointers: counter, bound, condition */
    FRAME_POINTERS = 0,                      /* MDF_MAX_OPERANDS pointers, on the stack */
    FRAME_TEMPORARIES = MDF_MAX_OPERANDS * 8 /* behind them, the temporaries */
};

enum step_kind {
    STEP_OP,
    STEP_DEFERRED, /* a condition that is computed where it is used */
    STEP_IF,
    STEP_ELSE,
    STEP_END_IF,
    STEP_LOOP,
    STEP_END_LOOP,
    STEP_CONCURRENT, /* two loops, each of which has code of its own */
    STEP_END
};

struct step {
    uint8_t kind;             /* enum step_kind */
    bool clobbers;            /* changes the registers that a C function may change */
    bool clobbers_last;       /* of END_LOOP: behind all runs only, so that what the loop alone needs does not lie there then */
    uint8_t depth;            /* loops around */
    uint32_t region;          /* number of the region that it stands in; of END_LOOP: of the body */
    uint32_t partner;         /* of IF: its ELSE; of ELSE: END_IF; of END_IF: IF; of LOOP: END_LOOP, and back */
    uint32_t first_temporary; /* of LOOP and END_LOOP: the first id of the loop's own temporaries */
    uint8_t beside;           /* of OP: its place, from 1 on, among those that one call of a function does; 0: it is by itself */
    bool is_last_beside;      /* it is where that call is */
    bool is_short;            /* of LOOP: a run takes no more than some 100 ns but for loops in it, which ask whether to stop */
    uint32_t first_pointer, n_pointers; /* of LOOP: to arrays that stay where they are */
    uint8_t n_checked;                  /* of IF and LOOP: of emission->checked, those from in front of it */
    const struct mdf_lowered_op *op;
    machine_label labels[2]; /* of IF: the other branch, the end; of LOOP: the body, the end */
};

/* Within a step, operands are read at USE, results written at DEFINITION. What is read LATE must not share a register with a
 * result. */
enum moment { USE, DEFINITION, LATE, AFTER, N_MOMENTS };

enum life_kind { LIFE_NONE, LIFE_GENERAL, LIFE_REAL };

/* Of a value, or of a temporary: what loops need besides values, whose ids follow those of the values. */
struct life {
    uint8_t kind;    /* enum life_kind; NONE: constants, arrays */
    uint8_t size;    /* bytes */
    uint8_t depth;   /* of the deepest place where it is needed */
    uint8_t number;  /* of the group's register; NO_REGISTER: in the cell of the group's leader */
    bool keeps_cell; /* of the group: in a register that does not outlast calls, so the leader's cell has it too */
    bool is_deferred;
    bool is_input;
    uint32_t group;                  /* the leader's id; the leader's own is itself */
    uint32_t start, end;             /* step * N_MOMENTS + moment; start UINT32_MAX: never written */
    uint32_t body_end;               /* of a loop's state: its end but for what reads it behind the loop; else `end` */
    uint32_t group_start, group_end; /* of a leader */
    uint32_t last_use, use_before;   /* the last two places up to body_end where it is read; 0: none */
    uint32_t state;                  /* of a group: the number, from 1 on, of the loop's state that its register is; 0: of none */
    uint32_t state_end;              /* where that state goes on */
    uint32_t becomes;                /* the number of the state that it is next */
    uint32_t n_uses;
    uint32_t n_as_condition; /* uses for which flags or a mask would do, in the region that makes it */
    uint32_t n_as_index;     /* uses as an index */
    int64_t index_limit;     /* it is nothing but the number of an element among so many, or 0 */
    uint32_t merged_at;      /* the step at which it became one group with a merge's result */
    uint32_t step;           /* that defines it; UINT32_MAX: none */
    bool is_looked_at;       /* of an array: somebody finds its elements by what itself says of where they are */
    bool is_read;            /* of an array: somebody looks for an element where it lies */
    float weight;            /* how often it is needed, about; of a leader that of the group */
};

/* Stretches of the row for which a register is taken, in order. */
struct interval {
    uint32_t start, end;
    uint32_t leader;
};

struct register_plan {
    struct interval *intervals;
    size_t n, capacity;
};

struct emission;

/* What is seldom done stands behind all other code: that jumps to `here` for it, and goes on at `back`. */
struct late_case {
    void (*emit)(struct emission *emission, const struct late_case *late);
    machine_label here, back;
    uint8_t first, second, chosen; /* registers */
    bool is_float;
    int32_t limit;
};

/* An index that code has found to be below a limit, and from 0 on. */
enum { MOST_CHECKED = 32 };
struct checked_index {
    mdf_lowered_id id;
    int64_t limit;
};

struct emission {
    struct mdf_lowered *lowered;
    struct assembler *assembler;
    struct mdf_memory *memory;
    struct step *steps;
    size_t n_steps, step_capacity;
    uint32_t n_regions;
    uint32_t n_temporaries;
    uint32_t first_beside, n_beside; /* temporaries that lend memory to operands and results of such calls */
    struct life *lives;              /* of values, then of temporaries */
    size_t n_lives;
    struct register_plan general[16], real[N_REAL_REGISTERS];
    uint32_t at;                     /* the step that is being looked at or emitted */
    uint32_t sought, sought_from;    /* a group, and the place from which on reads of it are looked for */
    bool is_found;
    uint32_t loops[LARGEST_NESTING]; /* steps that begin the loops around it, from the outside */
    size_t n_loops;
    const struct mdf_lowered_op
        *part;                      /* the loop, of several that run at the same time, that the code is of; NULL: it is of all */
    mdf_lowered_id
        *lies_in; /* of each value, if it is an array: where its elements are; itself, or what it was made of in place */
    struct array_pointer *pointers; /* those of each loop one behind the other */
    size_t n_pointers, pointer_capacity;
    const struct step *pointer_loop; /* the innermost loop, whose pointers are there; NULL: there are none */
    bool calls_interpreter;          /* some nest has no code */
    bool has_vectors;                /* of more than 16 bytes, whose use C functions have to find ended */
    machine_label bail_out;
    struct late_case *late_cases;
    size_t n_late_cases, late_case_capacity;
    struct checked_index checked[MOST_CHECKED]; /* in the region that is emitted, and those around it */
    uint8_t n_checked;
};

/* How flags, or two of them, say that a comparison holds. */
struct machine_test {
    enum machine_condition condition;
    enum { PARITY_ANY, AND_NO_PARITY, OR_PARITY } parity;
};

/* How often a loop asks whether to stop: one of few short runs in another loop leaves that to it. */
enum { ASKED_EACH = 64 }; /* runs */
enum loop_asking { ASKS_NEVER, ASKS_SELDOM, ASKS_ALWAYS };

/* What a loop needs besides its values. */
struct loop_plan {
    const struct mdf_lowered_loop *loop;
    bool has_condition;
    bool is_bounded; /* by a number of runs or by the limit */
    bool is_known;   /* the number of runs, before: no condition */
    bool calls;      /* mdf_lowered_begin_loop and its kin */
    bool counts;     /* has a counter */
    /* It may be left before states go on, so that its condition may be asked of what they are: there is little to do then. */
    bool may_leave_early;
    enum loop_asking asking;
    uint64_t constant; /* the bound where it is no value: UINT64_MAX */
    mdf_lowered_id counter;
    mdf_lowered_id bound;          /* a value or temporary; NONE: constant */
    mdf_lowered_id next_condition; /* NONE: goes on; a copy where it is itself a state, which is something
                                        else by the time that it is looked at */
    mdf_lowered_id rows, stacks;   /* pointers to the next item: the first of n_rows, n_stacks temporaries */
};

/* A temporary that says where the elements of an array are. */
struct array_pointer {
    mdf_lowered_id array, temporary;
};

/* --- emit_x86_64.c: false: not covered. `listing` may be NULL; its places are noted. */
bool emit_x86_64(struct mdf_lowered *lowered, struct assembler *assembler, struct mdf_machine_listing *listing);
/* Where the condition holds, what `emit` does is done before what follows; its labels are set here. */
void emission_jump_late(struct emission *emission, enum machine_condition condition, struct late_case late);

/* --- emit_x86_64_steps.c */
bool emission_lay_out(struct emission *emission);
struct loop_plan emission_plan_loop(const struct emission *emission, const struct step *step);
/* The values that are there before the first step. */
const mdf_lowered_id *emission_inputs(const struct emission *emission, size_t *n);
/* Those that are looked at behind the last one. */
size_t emission_n_results(const struct emission *emission);
mdf_lowered_id emission_result(const struct emission *emission, size_t i);
/* Calls `visit` for every scalar, and every temporary, that a step reads or writes. */
void emission_visit(struct emission *emission, void (*visit)(struct emission *emission, mdf_lowered_id id, enum moment moment));
bool emission_is_comparison(unsigned code);
/* The op of a step that makes a value; NULL: none does. */
const struct mdf_lowered_op *emission_maker(const struct emission *emission, mdf_lowered_id id);

/* --- emit_x86_64_lives.c: where values lie. */
bool emission_find_lives(struct emission *emission);
bool emission_allocate(struct emission *emission);

/* --- emit_x86_64_arrays.c: where arrays lie. Before there are lives: the pointers that innermost loops have. */
bool emission_find_pointers(struct emission *emission);
/* What arrays that are put into in place lie in, and which arrays are looked at. */
void emission_find_arrays(struct emission *emission);
void emission_visit_pointers(struct emission *emission, const struct step *loop,
                             void (*visit)(struct emission *emission, mdf_lowered_id id, enum moment moment), enum moment moment);
/* The pointers of a loop that begins are there until emission->pointer_loop is NULL. */
void emission_begin_arrays(struct emission *emission, const struct step *loop);
/* The register that says where an array's elements are: that of a pointer, or the one given, into which it is loaded. */
uint8_t emission_array_base(struct emission *emission, mdf_lowered_id id, uint8_t free);
/* The same of what says whether to stop. */
uint8_t emission_stop_base(struct emission *emission, uint8_t free);

/* --- emit_x86_64_places.c: values in registers and cells. */
bool emission_is_constant(const struct emission *emission, mdf_lowered_id id);
uint64_t emission_constant(const struct emission *emission, mdf_lowered_id id); /* its bits, upper ones 0 */
/* Of whole numbers: the constant, of which uint32 and uint64 have the bits; whether it fits the four bytes that instructions have
 * for numbers, which take the sign along. */
bool emission_small_constant(const struct emission *emission, mdf_lowered_id id, int32_t *number);
struct machine_operand emission_cell(const struct emission *emission, mdf_lowered_id id); /* its own */
struct machine_operand emission_operand(struct emission *emission, mdf_lowered_id id);
/* The register that has the value, which is loaded into `scratch` where it lies in none. */
uint8_t emission_general(struct emission *emission, mdf_lowered_id id, uint8_t scratch);
uint8_t emission_real(struct emission *emission, mdf_lowered_id id, uint8_t scratch);
/* Whether the value lies in that register. */
bool emission_general_is(const struct emission *emission, mdf_lowered_id id, uint8_t number);
/* Of whole numbers: the same, where those of 1 and 2 bytes, whose registers have anything above them, are made 4 in `scratch`, with
 * the sign that they have. */
uint8_t emission_whole_number(struct emission *emission, mdf_lowered_id id, uint8_t scratch);
/* The same into exactly that register. */
void emission_load_whole_number(struct emission *emission, mdf_lowered_id id, uint8_t number);
void emission_load_general(struct emission *emission, mdf_lowered_id id, uint8_t number);
void emission_load_real(struct emission *emission, mdf_lowered_id id, uint8_t number);
/* The register to compute a result in; emission_finish brings it to where the value lies. */
uint8_t emission_target(const struct emission *emission, mdf_lowered_id id, uint8_t scratch);
void emission_finish(struct emission *emission, mdf_lowered_id id, uint8_t number);
void emission_copy(struct emission *emission, mdf_lowered_id target, mdf_lowered_id source);
/* Whether that is any instruction: not where they lie in one place. */
bool emission_copies(const struct emission *emission, mdf_lowered_id target, mdf_lowered_id source);
/* Brings a scalar to its own cell, for C functions; takes it from there. */
void emission_publish(struct emission *emission, mdf_lowered_id id);
void emission_fetch(struct emission *emission, mdf_lowered_id id);
/* Calls a C function, whose arguments are in place; afterwards registers have again what they hold across the step. */
void emission_call(struct emission *emission, const void *function);
void emission_restore(struct emission *emission);
/* The same for one that gets the form and something that it has, whose result other than 0 bails out. */
void emission_call_of_form(struct emission *emission, const void *function, const void *subject);
/* An op's loop over `n` elements, whose target is in RDI and whose operands are pointed to from FRAME_POINTERS on; `steps` stay
 * where they are. Bails out where it says false. */
void emission_call_loop(struct emission *emission, const struct mdf_lowered_op *op, const size_t *steps, size_t n);
/* Copies rdx bytes from rsi to rdi, as a call. */
void emission_call_memcpy(struct emission *emission);
void emission_move_real(struct emission *emission, uint8_t target, uint8_t source);
struct machine_operand emission_array_data(mdf_lowered_id id);

/* Whole numbers with bytes of their own; whether they have a sign, and of the register that they are computed in the bytes. */
static inline bool machine_is_whole(unsigned dtype)
{
    char kind = mdf_dtype_kind((mdf_dtype)dtype);

    return (kind == 'i' || kind == 'u') && mdf_dtype_bits((mdf_dtype)dtype) >= 8;
}

static inline bool machine_is_signed(unsigned dtype)
{
    return mdf_dtype_kind((mdf_dtype)dtype) == 'i';
}

/* Whole numbers of 1 or 2 bytes, and the bits of float16 and bfloat16, which lie as such without a sign. */
static inline bool machine_is_short(unsigned dtype)
{
    return (machine_is_whole(dtype) && mdf_dtype_size((mdf_dtype)dtype) < 4) || mdf_dtype_is_half((mdf_dtype)dtype);
}

/* Bytes of a lane that has numbers of a type, where the widest type of all has `width`. */
static inline unsigned machine_lane_bytes(unsigned dtype, unsigned width)
{
    return dtype == MDF_DTYPE_BOOL ? width : machine_is_short(dtype) ? (width < 4 ? width : 4) : (unsigned)mdf_dtype_size((mdf_dtype)dtype);
}

static inline unsigned machine_whole_size(unsigned dtype)
{
    return mdf_dtype_size((mdf_dtype)dtype) == 8 ? 8 : 4;
}

/* --- emit_x86_64_scalar.c: reals, and what leads from and to them; emit_x86_64_whole.c: whole numbers. */
void emission_scalar(struct emission *emission, const struct mdf_lowered_op *op);
void emission_whole(struct emission *emission, const struct mdf_lowered_op *op);
void emission_division(struct emission *emission, const struct mdf_lowered_op *op);
/* The op in front of the step that is looked at, in its region, whose quotient tells the remainder that `op` makes; NULL. */
const struct mdf_lowered_op *emission_quotient_of(const struct emission *emission, const struct mdf_lowered_op *op);
/* Whether an op joins both parts of a number without sign, shifted so that together they are that number rotated to the left: the
 * number, and by how many bits. */
bool emission_find_rotation(const struct emission *emission, const struct mdf_lowered_op *op, mdf_lowered_id *number,
                            uint8_t *n_bits);
/* There is code for operands of a type; packed: in vectors. */
bool machine_takes(enum mdf_lowered_code code, unsigned dtype, bool is_packed);
/* The vector instruction that is a code of two reals (but for their kind), or of bits; 0: there is none. */
unsigned machine_vector_code(enum mdf_lowered_code code);
/* Whether a function casts a scalar: types of which the machine's registers know nothing. */
bool emission_casts_by_call(const struct emission *emission, const struct mdf_lowered_op *op);
bool emission_covers_scalar(const struct emission *emission, const struct mdf_lowered_op *op);

/* --- emit_x86_64_condition.c */
void emission_comparison(struct emission *emission, const struct mdf_lowered_op *op);
void emission_jump(struct emission *emission, mdf_lowered_id condition, bool when, machine_label label);
/* Sets flags by a condition that is a comparison, or none that holds; false: it is no such. A jump where they say that it holds.
 */
bool emission_compare(struct emission *emission, mdf_lowered_id condition, struct machine_test *test);
void emission_jump_on(struct emission *emission, struct machine_test test, machine_label label);
void emission_select(struct emission *emission, const struct mdf_lowered_op *op);
/* A cast of a deferred condition to a real. */
void emission_cast_condition(struct emission *emission, const struct mdf_lowered_op *op);
/* The op of a condition that is computed where it is used; NULL. */
const struct mdf_lowered_op *emission_deferred(const struct emission *emission, mdf_lowered_id id);

/* --- emit_x86_64_loop.c */
void emission_begin_loop(struct emission *emission, struct step *step);
void emission_end_loop(struct emission *emission, struct step *step);

/* --- emit_x86_64_points.c: whether an op puts a number, or a short row, where an array lies, and a nest only loads and stores
 * numbers at indices;
 * code for these, which changes no register but those of results. */
bool emission_puts_in_place(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op);
/* The number that says where along axis `i` a PUT in place, the step that is looked at, puts something: the index is one, or a
 * nest in front of it stores it there. NONE: it has to be loaded. */
mdf_lowered_id emission_index_number(const struct emission *emission, const struct mdf_lowered_op *op, size_t i);
void emission_put_in_place(struct emission *emission, const struct mdf_lowered_op *op);
/* In front of a nest: the row that a PUT behind it puts is made where that puts it, if it may. */
void emission_begin_row(struct emission *emission);
bool emission_is_point(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest);
void emission_point(struct emission *emission, const struct mdf_lowered_nest *nest);
/* Whether all that looks at a number, which the step makes, are loads in nests of one point behind it, by it as an index: the lowest
 * number leads to no element of any array, and bails out there. */
bool emission_is_only_index(const struct emission *emission, mdf_lowered_id id);

/* --- emit_x86_64_indices.c: numbers of elements. */
enum { MOST_STEPS_BACK = 6 };
struct machine_range {
    int64_t least, most;
};
extern const struct machine_range machine_any_number;
/* Between which numbers an int64 is known to lie. */
struct machine_range emission_range(const struct emission *emission, mdf_lowered_id id);
struct machine_range machine_range_of_sum(struct machine_range a, struct machine_range b);
struct machine_range machine_range_of_product(struct machine_range a, struct machine_range b);
/* Once there are lives: which numbers are indices, and nothing else. */
void emission_find_indices(struct emission *emission);
/* The register becomes the number of an element among `limit`, from the end where it is negative; bails out past them. */
void emission_check_index(struct emission *emission, uint8_t number, int64_t limit, struct machine_range range);
/* The register that has the number of an element among `limit`, which a value is, or says from the end: `free`, or its own. */
uint8_t emission_find_index(struct emission *emission, mdf_lowered_id id, int64_t limit, uint8_t free);

/* --- emit_x86_64_draw.c: whether a CALL draws a few numbers by code of its own, which changes no register but that of the
 * result. */
bool emission_draws_here(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op);
void emission_draw(struct emission *emission, const struct mdf_lowered_draw *draw);

/* --- emit_x86_64_nest.c: a nest whose scalars are in their cells, where it stores too; false: there is no code for it. */
bool emission_nest(struct emission *emission, struct mdf_lowered_nest *nest);
/* Whether vectors have lanes for elements of a type. */
bool emission_has_vectors(unsigned dtype);

#endif
