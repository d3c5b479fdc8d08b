/* emit_x86_64_packed.h - element ops on several elements at a time, in vector registers.
 *
 * Reals and whole numbers lie in their own type, side by side, from the lowest lane, whole numbers of 1 and 2 bytes as int32;
 * bool values are masks, lanes of ones or zeros, as wide as the widest type of the nest. rcx and the vector registers 13 to 15
 * are free within an op, as far as the nest has not given them away (emit_x86_64_nest_registers.c). */
#ifndef MDF_MACHINE_EMIT_X86_64_PACKED_H
#define MDF_MACHINE_EMIT_X86_64_PACKED_H

#include "mdf_c/machine/emit_x86_64.h"

struct packed {
    struct emission *emission;
    struct assembler *assembler;
    unsigned lanes;  /* 16, 8, 4 or 1 */
    unsigned width;  /* of the widest type */
    unsigned active; /* lanes that count, the first ones: others do not make it bail out */
    enum mdf_lowered_code code;
    unsigned dtype, result;                     /* of the operands, as in struct mdf_lowered_op; of what it makes */
    uint8_t in[MDF_MAX_OPERANDS], out;          /* registers; NO_REGISTER: a constant, or `memory` */
    mdf_lowered_id constants[MDF_MAX_OPERANDS]; /* of operands that are one; else NONE */
    struct machine_operand memory;              /* of the operand that has no register, and is no constant */
    uint8_t rotation;                           /* in[0] is rotated to the left by so many bits; 0: it is not */
};

/* Whether there is code for an element op whose operands have the type `dtype`, its result the type `to`. */
bool packed_covers(enum mdf_lowered_code code, unsigned dtype, unsigned to);
void packed_emit_op(struct packed *packed);
/* Where a comparison of reals holds, ones; `then` where a mask has ones, else `otherwise`. */
void packed_compare(struct assembler *assembler, unsigned code, unsigned size, uint8_t target, uint8_t first,
                    struct machine_operand second, uint8_t comparison);
void packed_choose(struct assembler *assembler, bool is_narrow, unsigned size, uint8_t target, uint8_t mask,
                   struct machine_operand then, uint8_t otherwise);
/* --- pieces of ops. Bytes of a register with lanes of so many; of a lane of a type. */
unsigned packed_register_size(const struct packed *packed, unsigned element_size);
unsigned packed_element_size(const struct packed *packed, unsigned dtype);
/* An operand that an instruction may read from memory; the bits of a constant one in a lane. */
struct machine_operand packed_operand(struct packed *packed, size_t k);
uint64_t packed_constant(const struct packed *packed, size_t k);
void packed_make_zero(struct packed *packed, uint8_t number);
/* Lanes of `from` bytes become lanes of `to` bytes, half or twice as wide, by their signs. */
void packed_change_width(struct packed *packed, uint8_t target, uint8_t source, unsigned from, unsigned to);
/* A mask of lanes of `from` bytes in the first scratch register, flipped where asked for, becomes the op's result. */
void packed_finish_mask(struct packed *packed, unsigned from, bool flips);
void packed_emit_two(struct packed *packed, unsigned code);
void packed_emit_with_constant(struct packed *packed, unsigned code, uint64_t bits);
/* Of operations on bits: by the size of elements. */
unsigned packed_lane_kind(const struct packed *packed);
/* VECTOR_MASK has what a vector says of elements of so many bytes. */
void packed_note_mask(struct assembler *assembler, uint8_t vector, uint8_t n_bytes);

/* --- emit_x86_64_packed_whole.c: ops of whole numbers, but SELECT. Of instructions for lanes of 1, 2, 4 and 8 bytes, that for an
 * op's operands. */
void packed_emit_whole(struct packed *packed);
void packed_emit_rotation(struct packed *packed);
void packed_compare_wholes(struct packed *packed);
void packed_cast_whole(struct packed *packed);
void packed_cast_naturals(struct packed *packed);
void packed_cut_reals(struct packed *packed);
/* By a constant: whether there is code for a divisor, of which these are the bits. */
bool packed_covers_division(enum mdf_lowered_code code, unsigned dtype, uint64_t bits);
void packed_divide(struct packed *packed);
unsigned packed_of_lanes(const struct packed *packed, unsigned bytes, unsigned shorts, unsigned ints, unsigned longs);
/* In lanes of `width` bytes, by the instructions of AVX-512: to a mask of lanes, which becomes the op's result. */
void packed_compare_wide_set(struct packed *packed, unsigned width, bool is_signed, enum vector_order order, uint8_t first,
                             uint8_t second);

/* Masks become bytes 0 and 1, the lowest of the first scratch register; numbers of fewer than 4 bytes the lowest there. */
void packed_make_bytes(struct packed *packed, uint8_t number);
void packed_make_short(struct packed *packed, unsigned dtype, uint8_t number);
/* A constant's bits in a lane. */
uint64_t emission_lane_constant(const struct emission *emission, mdf_lowered_id id);

#endif
