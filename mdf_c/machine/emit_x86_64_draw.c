/* emit_x86_64_draw.c - see emit_x86_64.h. A uniform random number, or a few, of the evaluation's own generator: xoshiro256** in a
 * few instructions, as functions/sampling/generators_routine.inc has it. */
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

enum { MOST_NUMBERS = 8 };

bool emission_draws_here(const struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_draw *draw = op->code == MDF_LOWERED_CALL ? op->of.call->draw : NULL;

    return draw != NULL && draw->drawing.number == NULL && draw->drawing.uniform_bits > 0 && draw->n_lanes == 1 &&
           draw->contexts == NULL && draw->mask == MDF_LOWERED_NONE && draw->settings[0] == MDF_LOWERED_NONE &&
           draw->settings[1] == MDF_LOWERED_NONE && draw->drawing.is_fit == NULL &&
           (lowered->values[draw->out].is_scalar ? draw->n == 1 : draw->n > 0 && draw->n <= MOST_NUMBERS);
}

/* Word `i` of the generator, which rdx points to. */
static struct machine_operand word(unsigned i)
{
    return in_memory(RDX, (int32_t)(offsetof(struct mdf_context, random_state) + i * sizeof(uint64_t)));
}

/* rax = the upper bits of the next 64; the generator goes on. Changes rcx. */
static void next_bits(struct assembler *assembler, unsigned n_bits)
{
    assemble_load(assembler, 8, RCX, word(1));
    assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, in_memory_at(RCX, RCX, 4, 0));
    assemble_shift(assembler, ROTATE_LEFT, 8, RAX, 7);
    assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, in_memory_at(RAX, RAX, 8, 0));
    assemble_shift(assembler, SHIFT_RIGHT, 8, RAX, (uint8_t)(64 - n_bits));
}

/* The generator's next state. Changes rax and rcx. */
static void go_on(struct assembler *assembler)
{
    assemble_load(assembler, 8, RAX, word(2));
    assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RAX, word(0)); /* w2 ^ w0 */
    assemble_load(assembler, 8, RCX, word(1));
    assemble_shift(assembler, SHIFT_LEFT, 8, RCX, 17);
    assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RCX, in_register(RAX));
    assemble_store(assembler, 8, RCX, word(2));
    assemble_load(assembler, 8, RCX, word(3));
    assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RCX, word(1)); /* w3 ^ w1 */
    assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RAX, word(1));
    assemble_store(assembler, 8, RAX, word(1));
    assemble_load(assembler, 8, RAX, word(0));
    assemble_general(assembler, GENERAL_EXCLUSIVE_OR, 8, RAX, in_register(RCX));
    assemble_store(assembler, 8, RAX, word(0));
    assemble_shift(assembler, ROTATE_LEFT, 8, RCX, 45);
    assemble_store(assembler, 8, RCX, word(3));
}

static struct machine_operand real_operand(struct assembler *assembler, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return constant_operand(assembler, bits, sizeof bits);
}

/* `target` = the number that rax's bits are, of the type of `out`. */
static void make_number(struct assembler *assembler, const struct mdf_drawing *drawing, uint8_t target, bool is_float)
{
    assemble_vector(assembler, VECTOR_EXCLUSIVE_OR, 16, target, target, in_register(target)); /* waits for nothing */
    assemble_vector(assembler, VECTOR_DOUBLE_OF_INT_8, 16, target, target, in_register(RAX));
    assemble_vector(assembler, VECTOR_MULTIPLY | OF_DOUBLE, 16, target, target,
                    real_operand(assembler, 1 / (double)(UINT64_C(1) << drawing->uniform_bits)));
    assemble_vector(assembler, VECTOR_MULTIPLY | OF_DOUBLE, 16, target, target, real_operand(assembler, drawing->defaults[1]));
    assemble_vector(assembler, VECTOR_ADD | OF_DOUBLE, 16, target, target, real_operand(assembler, drawing->defaults[0]));
    if (is_float) {
        assemble_vector(assembler, VECTOR_FLOAT_OF_DOUBLE, 16, target, target, in_register(target));
    }
}

/* rdx = the context of the evaluation. */
static void load_context(struct emission *emission)
{
    assemble_move_address(emission->assembler, RDX, &emission->lowered->context);
    assemble_load(emission->assembler, 8, RDX, in_memory(RDX, 0));
}

void emission_draw(struct emission *emission, const struct mdf_lowered_draw *draw)
{
    struct assembler *assembler = emission->assembler;
    bool is_scalar = emission->lowered->values[draw->out].is_scalar;
    bool is_float = emission->lowered->values[draw->out].form.dtype == MDF_DTYPE_FLOAT32;
    uint8_t target = is_scalar ? emission_target(emission, draw->out, SCRATCH_REAL) : SCRATCH_REAL;

    load_context(emission);
    for (size_t i = 0; i < draw->n; i++) {
        next_bits(assembler, draw->drawing.uniform_bits);
        make_number(assembler, &draw->drawing, target, is_float);
        go_on(assembler);
        if (!is_scalar) {
            assemble_load(assembler, 8, RAX, emission_array_data(draw->out));
            assemble_vector(assembler, is_float ? VECTOR_STORE_FLOAT : VECTOR_STORE_DOUBLE, 16, target, 0,
                            in_memory(RAX, (int32_t)(i * (is_float ? 4 : 8))));
        }
    }
    if (is_scalar) {
        emission_finish(emission, draw->out, target);
    }
}
