/* emit_x86_64_packed.h - for the files that emit element ops over arrays, several elements at a time.
 *
 * All that an op of the group reads or makes is an item: an array that comes in, a scalar in all lanes, a constant, or what
 * another op of the group made. Reals and whole numbers lie in their own type, side by side, from the lowest lane; bool values
 * are masks, lanes of ones or zeros, as wide as the widest type of the group.
 *
 * Within the loop rax counts elements, rcx is free, r11 has the memory for items that find no register; the vector registers 13
 * to 15 are free within an op. */
#ifndef MDF_MACHINE_EMIT_X86_64_PACKED_H
#define MDF_MACHINE_EMIT_X86_64_PACKED_H

#include "mdf_c/machine/emit_x86_64.h"

enum item_kind { ITEM_ARRAY, ITEM_SCALAR, ITEM_CONSTANT, ITEM_MADE };

#define NO_ITEM UINT32_MAX

enum { COUNTER = RAX, ITEM_MEMORY = R11, LARGEST_GROUP = 512 /* ops */ };

struct packed_item {
    mdf_lowered_id id;
    uint8_t kind; /* enum item_kind */
    uint8_t size; /* of an element in a register */
    uint8_t dtype;
    bool is_bool;
    bool is_fixed;        /* in its register throughout the loop */
    bool is_saved;        /* its memory has it */
    uint8_t number;       /* of its register at the moment; NO_REGISTER: none */
    uint32_t first, last; /* ops that need it */
    uint8_t pointer;      /* the general register that has its array's address; NO_REGISTER: none */
};

struct packed_op {
    const struct mdf_lowered_op *op;
    uint32_t in[MDF_MAX_OPERANDS], out; /* items */
};

struct packed {
    struct emission *emission;
    struct assembler *assembler;
    const struct mdf_lowered_fused *fused;
    unsigned lanes;  /* 8, 4 or 1 */
    unsigned width;  /* of the widest type */
    unsigned active; /* lanes that count, the first ones: others do not make it bail out */
    struct packed_item *items;
    size_t n_items;
    struct packed_op *ops;
    size_t n_ops;
    size_t at;                               /* the op that is being emitted */
    uint32_t in_registers[N_REAL_REGISTERS]; /* items */
    unsigned pinned;                         /* bits: registers that the op needs */
};

/* --- emit_x86_64_items.c */
/* Finds the items of a group and gives pointers and fixed registers; false: out of memory. */
bool packed_init(struct packed *packed, struct emission *emission, const struct mdf_lowered_fused *fused);
void packed_release(struct packed *packed);
/* Everything that comes before the loop. */
void packed_enter(struct packed *packed);
unsigned packed_size(const struct packed *packed, unsigned element_size); /* of the register: 16 or 32 */
/* The register that has the item; loads it. */
uint8_t packed_register(struct packed *packed, uint32_t item);
/* The same, or where it is in memory, for the last operand of an instruction. */
struct machine_operand packed_operand(struct packed *packed, uint32_t item);
/* A register for the result, once all operands are where they are read from; its own where it has one. */
uint8_t packed_target(struct packed *packed, uint32_t item);
void packed_store(struct packed *packed, uint32_t item);
/* Masks become bytes 0 and 1, the lowest of the first scratch register. */
void packed_make_bytes(struct packed *packed, uint8_t number);
/* Forgets what lies in registers that are not fixed. */
void packed_forget(struct packed *packed);
/* Frees the registers of what no op behind the current one reads. */
void packed_drop(struct packed *packed);

/* --- emit_x86_64_packed.c */
/* Whether there is code for an element op whose operands have the type `dtype`, its result the type `to`. */
bool packed_covers(enum mdf_lowered_code code, unsigned dtype, unsigned to);
void packed_emit_op(struct packed *packed);

#endif
