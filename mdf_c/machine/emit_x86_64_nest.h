/* emit_x86_64_nest.h - for the files that emit loop nests (nest.h).
 *
 * A nest is first written out as blocks of nodes: a block is the body of a loop, or the whole; a node is one value in a vector
 * register, or a store, a call, a loop. Which axis makes vectors, how many vectors are computed side by side, and how often loops
 * are unrolled is its shape; several shapes are written out, and the one that costs least is emitted. A node that depends on no
 * index of a loop stands in front of it. Code is emitted node by node, then: element ops by the emitter of packed ops.
 *
 * Vectors have 32 bytes; 64 where the processor has them and all that they do is arithmetic (nest_vector_size).
 *
 * While the code runs, r11 has the nest's memory: places for what finds no register, and rows that functions are called on. */
#ifndef MDF_MACHINE_EMIT_X86_64_NEST_H
#define MDF_MACHINE_EMIT_X86_64_NEST_H

#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64_packed.h"

#define NO_NODE UINT32_MAX

enum {
    MOST_COPIES = 8,                         /* vectors side by side */
    MOST_TOTALS = 64,                        /* of a fold, at a time */
    MOST_TOTALS_IN_PAIRS = 32 * MOST_COPIES, /* that are joined as soon as two are there */
    MOST_TOGETHER = 4,                       /* loads */
    MOST_HALVES = 16,                        /* of rows that are folded by halves again and again */
    MOST_NODES = 1500,
    MOST_POINTERS = 256,
    NEST_MEMORY = R11,
    NEST_SLOT = 64,                                                     /* bytes */
    N_NEST_SAVED = 4,                                                   /* registers that are given back as they were */
    NEST_WORDS = MOST_POINTERS + MDF_NEST_MOST_AXES + 1 + N_NEST_SAVED, /* of 8 bytes: pointers, counters, saved registers */
    NO_AXIS = MDF_NEST_MOST_AXES,
    LONGEST_BLOCK = 512, /* elements of a row that is folded by blocks, and is one */
    OPEN_EXTENT = 256,   /* that of an open axis, where one has to be supposed */
    MASKED = 128         /* + number of a copy: its lanes that count are known only when it runs, by the rest of the open axis */
};

enum node_code {
    NODE_LOAD,    /* of a place */
    NODE_NUMBER,  /* a constant in all lanes */
    NODE_ELEMENT, /* of in[0], in[1], in[2]; of a fold: what total in[0] becomes by in[1], which
                     is made anew; an addition of three: of in[0], and in[1] times in[2], fused */
    NODE_TOTAL,   /* what a fold begins with, in all lanes, or in[0] */
    NODE_TAKE,    /* changes the total in[0] by in[1]; with three, by in[1] times in[2], fused; of an extreme's index, with four,
                     also in[2], which becomes in[3] with it */
    NODE_COUNT,   /* adds one to the index in[0] */
    NODE_JOIN,    /* the lanes of the total in[0] become one, which is in all lanes */
    NODE_STORE,   /* in[0]; with two, in[1] behind it, as one vector of twice the size */
    NODE_CALL,    /* of a step's function, on rows in memory */
    NODE_LOOP
};

/* Which elements a pointer goes to: those of an array, or of a row in memory; it is moved by loops. */
struct nest_pointer {
    mdf_lowered_id id; /* NONE: a row in memory */
    uint32_t offset;   /* of that row */
    bool has_index;    /* it begins at the place that a step's number says, as `view` of a load does */
    struct mdf_nest_view view;
    int64_t strides[MDF_NEST_MOST_AXES]; /* bytes, of the axes that have loops */
    uint8_t number;                      /* of its register; NO_REGISTER: it lies in its slot */
    double weight;
};

enum place_kind { PLACE_ROW, PLACE_SPREAD, PLACE_LANES };

struct nest_place {
    uint8_t kind; /* elements side by side; one in all lanes; elements that are lane_bytes apart */
    bool is_cell; /* of the scalar `id`; else behind the pointer */
    mdf_lowered_id id;
    uint32_t pointer;
    int32_t displacement;
    int64_t lane_bytes;
};

struct nest_node {
    uint8_t code; /* enum node_code */
    uint8_t step;
    uint8_t dtype; /* of the value */
    uint8_t n_in;
    bool is_kept;        /* it may bail out: it is emitted even where nothing reads it */
    uint8_t active;      /* lanes that count, or MASKED */
    bool is_index;       /* of TOTAL: an index, or the counter of them; it begins with 0 */
    bool is_overwritten; /* of LOAD: it can not be loaded again */
    bool is_in_turn;     /* of TAKE: the lanes of in[1], one after the other, all by the total, which is in all lanes */
    /* Of a choice of the smaller or the larger one of in[0] and in[1], the second where they are equal or one is NaN, unless that
     * is the first, which is kept then: VECTOR_MINIMUM or VECTOR_MAXIMUM, of int32 those of ints; 0: it is none. */
    uint16_t extreme;
    bool keeps_nan;
    uint8_t rotation; /* of an ELEMENT that joins both parts of in[0], shifted: in[0] rotated to the left; 0: it is none */
    bool has_count;   /* of a shift or a division, whose second operand is `constant` */
    uint32_t in[MDF_MAX_OPERANDS + 1];
    uint32_t block;
    struct nest_place place;
    mdf_lowered_id constant; /* of NUMBER; of what `has_count` */
    uint32_t body;           /* of LOOP */
    /* Of LOAD: the node that is emitted first of those which are loaded together, and which follow each other: 2 or 4 that are
     * loaded as rows and turned, or up to 4 by the same indices; NO_NODE: it stands alone. That one has all of them, those that
     * are turned by their places in a row. */
    uint32_t loaded_with;
    uint8_t n_together;
    uint32_t together[MOST_TOGETHER];
    /* Found for emission: */
    uint32_t at;          /* its number in the order of the code */
    uint32_t first, last; /* 2 * number, + 1 where it is written */
    double weight;
    uint32_t n_uses;
    uint8_t number;  /* of its register; NO_REGISTER: none */
    bool is_spilled; /* lies in its slot, or where it is loaded from */
    bool is_read;    /* of LOAD: the only node that needs it reads it in memory */
    uint32_t slot;
};

struct nest_block {
    uint32_t *nodes;
    size_t n_nodes, capacity;
    uint32_t parent; /* NO_NODE: the whole */
    uint8_t axis;
    size_t count, advance; /* of the loop: how often, by how many indices */
    /* Of a loop over the open axis: of its extent, or of the rest of it by `modulus` where that is not 0, as many times as
     * `divisor` is in it; without a divisor, once where it is larger than `over`. Pointers stay behind the indices that it went
     * through, until the last loop of those over the axis takes them back: these are the blocks from `first` on which have it. */
    bool is_open, is_last;
    size_t modulus, divisor, over;
    /* So many indices at the end of the axis, where there are so many and a rest, and some of them once more; or the rest of an
     * axis that has fewer than so many. 0: neither. */
    size_t last, below;
    uint32_t first;
    uint8_t depth;
    double runs;                  /* of the block in all */
    struct mdf_nest_set pointers; /* that it uses, or what is in it */
    uint32_t end;                 /* number of what follows its last node */
};

/* What a register's name stands for, at the indices that it was written for. */
struct nest_entry {
    uint32_t node, block, next;
    int64_t offsets[MDF_NEST_MOST_AXES];
};

struct nest_shape {
    uint8_t vector_axis; /* the number of axes: none */
    bool turns;          /* elements side by side of lanes apart are loaded together */
    unsigned lanes, width, group;
    size_t unroll[MDF_NEST_MOST_AXES]; /* indices in a round of a loop; of the vector axis: groups of vectors */
};

/* Of a step whose function is called on rows: in the nest's memory; or where an array has them as they are wanted. */
struct nest_call {
    bool is_called;
    uint8_t from[MDF_MAX_OPERANDS]; /* the step that loads operand number k from there, or is called itself and made it; NONE:
                                       the elements are brought to a row */
    uint8_t to;                     /* the step that stores the result there; NONE: it has a row */
    uint8_t level;                  /* the rows have all indices of the axes from here on */
    size_t n;                       /* elements */
    uint32_t offsets[MDF_MAX_OPERANDS + 1]; /* of the operands' rows, of the result's */
    bool is_one[MDF_MAX_OPERANDS];          /* one element stands for all */
    int64_t strides[MDF_NEST_MOST_AXES];    /* elements */
};

/* Of a step. */
struct nest_step_code {
    uint32_t axes; /* bits: what its register depends on */
    uint32_t first_entry;
    struct nest_call call;
    uint32_t totals[MOST_TOTALS_IN_PAIRS], places[MOST_COPIES], count; /* of a fold, while it is written out */
    bool in_pairs; /* its totals are joined as soon as two of them are there */
    /* Of a fold that goes on by halves: the totals of halves whose other half is still to come, of each copy. */
    uint32_t halves[MOST_HALVES][MOST_COPIES];
    size_t n_halves;
};

struct nest_code {
    struct emission *emission;
    struct mdf_memory *memory;
    const struct mdf_lowered_nest *nest;
    struct nest_shape shape;
    const size_t *open_extent; /* where the extent of the open axis is found when it runs */
    size_t row_bytes;          /* of all rows */
    struct mdf_nest_set roots; /* calls that no goal asks for */
    struct nest_node *nodes;
    size_t n_nodes, node_capacity;
    struct nest_block *blocks;
    size_t n_blocks, block_capacity;
    struct nest_entry *entries;
    size_t n_entries, entry_capacity;
    struct nest_pointer pointers[MOST_POINTERS];
    size_t n_pointers;
    bool failed; /* memory ran out, or it becomes too long */
    /* While it is written out: */
    uint32_t scopes[MDF_NEST_MOST_AXES + 1]; /* blocks that are open */
    size_t n_scopes;
    int64_t offsets[MDF_NEST_MOST_AXES];
    unsigned active;
    struct {
        int64_t offset;
        unsigned active;
    } copies[MOST_COPIES];
    size_t n_copies;
    uint32_t paired_axes; /* bits: of long rows whose totals are being joined in pairs */
    /* For emission: */
    uint32_t n_slots;
    unsigned n_registers;                     /* that values may have for all of their life: the first ones */
    uint8_t join_register;                    /* free while lanes are joined, or some of them change */
    uint8_t counters[MDF_NEST_MOST_AXES + 1]; /* registers of loops' counters, by depth; NO_REGISTER: in its slot */
    bool spills;
    double cost;
    struct nest_step_code steps[]; /* of the nest */
};

/* --- emit_x86_64_nest_blocks.c: writes the nest out in code->shape; false: it cannot be, or memory ran out. */
bool nest_write_out(struct nest_code *code);
void nest_code_release(struct nest_code *code);

/* --- emit_x86_64_nest_open.c: loops over an open axis: whether there is code for it in code->shape, once code->steps say what
 * depends on which axes; all indices, for these goals; one loop, whose block is `body`; the extent of the axis to a register, or
 * the part of it that is less than a modulus. */
bool nest_covers_open_axis(const struct nest_code *code);
void nest_make_open_loops(struct nest_code *code, size_t axis, const struct mdf_nest_set *goals);
void nest_emit_open_loop(struct nest_code *code, uint32_t body, char *memory);
void nest_load_extent(struct nest_code *code, uint8_t number, size_t modulus);

/* --- emit_x86_64_nest_combine.c: nodes that cost less together become one, or neighbours; whether loads are turned. */
bool nest_combine(struct nest_code *code);

/* --- emit_x86_64_nest_calls.c: fills code->calls[i] of a step whose function is called; false: the rows are too long. */
bool nest_find_call(struct nest_code *code, size_t i);

/* Whether a step is a whole number that only says where pointers begin, in front of the nest; whether a load is by such one. */
bool nest_only_places(const struct mdf_lowered *lowered, const struct mdf_lowered_nest *nest, size_t step);
bool nest_has_outer_index(const struct nest_code *code, const struct mdf_nest_step *step);

/* For loops over an open axis: a block, which becomes the open one; its end; the vectors of the indices [at, at + n); what goals
 * need at a level. */
bool nest_add_block(struct nest_code *code, struct nest_block block);
void nest_close_loop(struct nest_code *code);
void nest_go_to_vectors(struct nest_code *code, size_t at, size_t n);
void nest_make_body(struct nest_code *code, size_t level, const struct mdf_nest_set *goals);
void nest_emit_block(struct nest_code *code, uint32_t number, char *memory);
/* A block again and again, as often as its counter says, or RAX where that has no register or the block is open; afterwards
 * pointers are where the rounds have moved them. */
void nest_emit_rounds(struct nest_code *code, uint32_t body, char *memory);
void nest_move_pointers(struct nest_code *code, const struct nest_block *block, int64_t indices);

/* For what folds write: a node in the block that is open; the node that has a step's register at the current indices; it is there
 * from now on; the indices and lanes of a copy, where the level has them. */
uint32_t nest_add_node(struct nest_code *code, struct nest_node node);
uint32_t nest_value_of(struct nest_code *code, size_t step);
void nest_add_entry(struct nest_code *code, size_t step, uint32_t node);
void nest_go_to_copy(struct nest_code *code, size_t level, size_t copy);

/* --- emit_x86_64_nest_folds.c: fold number `i` begins; takes the element at the current indices; is finished. */
void nest_begin_fold(struct nest_code *code, size_t i);
void nest_take_element(struct nest_code *code, size_t i, size_t copy);
void nest_finish_fold(struct nest_code *code, size_t i);
/* How many totals a fold along an axis that is written out has which may be joined as soon as two are there, so that few have to
 * be kept: where total number mdf_nest_total_in_pairs(k) takes its elements, of the first ones, as number k of them, and then the
 * rest comes. 1: it has none such. */
size_t nest_totals_in_pairs(const struct nest_code *code, size_t i);
size_t nest_elements_in_pairs(const struct nest_code *code, size_t i);
/* Where the part of a row that element `at` is in ends; in front of element `end`, which is not the last, the next part begins.
 */
size_t nest_part_end(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold, size_t at);
void nest_change_parts(struct nest_code *code, size_t i, size_t end);

/* --- emit_x86_64_nest_registers.c: where values lie; what it costs. False: memory ran out. */
bool nest_find_places(struct nest_code *code);
/* Whether a value without a register is loaded for each use; else it lies in its slot. */
bool nest_is_loaded_again(const struct nest_node *node);
/* Which operand a node's instruction may read from memory; SIZE_MAX: none. */
size_t nest_memory_input(const struct nest_code *code, const struct nest_node *node);
/* Whether a load is emitted with its neighbours: where all of them have registers. */
bool nest_is_loaded_together(const struct nest_code *code, const struct nest_node *node);

/* --- emit_x86_64_nest_moves.c */
/* Whether a value without a register lies in memory as an instruction may read it, and there: in its slot, or where it is loaded
 * from. rcx may be taken until then. */
bool nest_lies_in_memory(const struct nest_code *code, const struct nest_node *node);
struct machine_operand nest_memory_operand(struct nest_code *code, const struct nest_node *node);
/* A value's slot; a word; the row that begins at `offset`. */
struct machine_operand nest_slot(const struct nest_node *node);
struct machine_operand nest_word(const struct nest_code *code, size_t word);
struct machine_operand nest_row(const struct nest_code *code, uint32_t offset);
/* Bytes, in a register: of an element; of all lanes, 16, 32 or 64; of the widest registers, 32 or 64. */
unsigned nest_element_size(const struct nest_code *code, unsigned dtype);
unsigned nest_vector_size(const struct nest_code *code, unsigned dtype);
unsigned nest_widest_size(const struct nest_code *code);
/* What a LOAD says, into a register; `index`: the register that has its index, if it has one. */
void nest_load(struct nest_code *code, const struct nest_node *node, uint8_t number, uint8_t index);
/* The same for all that are loaded together with `first`. */
void nest_load_together(struct nest_code *code, const struct nest_node *first, uint8_t index);
/* Whether a load takes each lane's element from a place of its own, by one instruction for a whole vector. */
bool nest_gathers(const struct nest_code *code, const struct nest_node *node);
/* A mask of the lanes that count, to a register; rax and rcx change where they are MASKED. */
void nest_load_mask(struct nest_code *code, unsigned active, unsigned size, uint8_t number);
void nest_load_bits(struct nest_code *code, uint64_t bits, unsigned size, uint8_t number);
void nest_load_number(struct nest_code *code, const struct nest_node *node, uint8_t number);
void nest_store(struct nest_code *code, const struct nest_node *node, uint8_t number);

static inline struct assembler *nest_assembler(const struct nest_code *code)
{
    return code->emission->assembler;
}

static inline bool nest_depends_on_lanes(const struct nest_code *code, size_t step)
{
    return (code->steps[step].axes >> code->shape.vector_axis & 1) != 0;
}

/* --- emit_x86_64_nest_code.c */
void nest_emit(struct nest_code *code, char *memory);
/* Bytes of that memory, which is aligned to NEST_SLOT. */
size_t nest_memory_bytes(const struct nest_code *code);

/* Whether no loop moves a pointer to a row in memory: it needs no register. */
static inline bool nest_is_fixed(const struct nest_pointer *pointer)
{
    size_t axis;

    for (axis = 0; axis < MDF_NEST_MOST_AXES && pointer->strides[axis] == 0; axis++) {
    }
    return pointer->id == MDF_LOWERED_NONE && axis == MDF_NEST_MOST_AXES;
}

static inline bool nest_is_open_axis(const struct nest_code *code, size_t axis)
{
    return code->nest->is_open && axis == code->nest->open_axis;
}

/* Whether the order of a fold's elements does not matter. */
static inline bool nest_is_free(const struct mdf_nest_step *step)
{
    return (step->operand_dtype == MDF_DTYPE_INT32 || step->operand_dtype == MDF_DTYPE_INT64) &&
           step->fold < MDF_NEST_FIRST_MAXIMUM;
}

/* Whether a fold finds an index. */
static inline bool nest_finds_index(const struct mdf_nest_step *step)
{
    return step->fold >= MDF_NEST_FIRST_MAXIMUM;
}

/* Whether the order is that of parts of a row, or has a rest. */
static inline bool nest_has_parts(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_FOLD && step->order != MDF_NEST_IN_LANES && !nest_is_free(step);
}

/* Totals that a fold has of its own. */
static inline size_t nest_lanes(const struct mdf_nest_step *step)
{
    return nest_is_free(step) || nest_finds_index(step) ? 1 : step->lanes;
}

static inline size_t nest_operand_level(const struct nest_code *code, size_t step)
{
    return code->nest->steps[code->nest->steps[step].in[0]].level;
}

/* Whether lanes are folded. */
static inline bool nest_folds_lanes(const struct nest_code *code, size_t step)
{
    return code->shape.vector_axis >= code->nest->steps[step].level && code->shape.vector_axis < nest_operand_level(code, step);
}

/* How many of the nest's copies a level goes through one by one. */
static inline size_t nest_count_copies(const struct nest_code *code, size_t level)
{
    return code->shape.vector_axis < level ? code->n_copies : 1;
}

#endif
