/* emit_x86_64_places.c - see emit_x86_64.h. Reads and writes values where they lie: in registers, cells, constants. */
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

static const struct life *place_of(const struct emission *emission, mdf_lowered_id id)
{
    return &emission->lives[emission->lives[id].group];
}

/* The cell in which a value lies where it has no register, or that is kept up to date. */
static struct machine_operand home_of(const struct emission *emission, mdf_lowered_id id)
{
    return emission_cell(emission, emission->lives[id].group);
}

static bool is_real(const struct emission *emission, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &emission->lowered->values[id];

    return id < emission->lowered->n_values && mdf_dtype_is_real(value->form.dtype);
}

bool emission_is_constant(const struct emission *emission, mdf_lowered_id id)
{
    return id < emission->lowered->n_values && emission->lowered->values[id].place == MDF_LOWERED_CONSTANT;
}

uint64_t emission_constant(const struct emission *emission, mdf_lowered_id id)
{
    uint64_t bits = 0;

    memcpy(&bits, emission->lowered->values[id].form.data, emission->lives[id].size);
    return bits;
}

/* Of 1 and 2 bytes the number; of 4 and 8 as if it had a sign. */
static int64_t whole_of(uint64_t bits, unsigned size, bool is_signed)
{
    return size == 1   ? (is_signed ? (int64_t)(int8_t)(uint8_t)bits : (int64_t)bits)
           : size == 2 ? (is_signed ? (int64_t)(int16_t)(uint16_t)bits : (int64_t)bits)
           : size == 4 ? (int64_t)(int32_t)(uint32_t)bits
                       : (int64_t)bits;
}

bool emission_small_constant(const struct emission *emission, mdf_lowered_id id, int32_t *number)
{
    uint64_t bits;
    int64_t whole;

    if (!emission_is_constant(emission, id)) {
        return false;
    }
    bits = emission_constant(emission, id);
    whole = whole_of(bits, emission->lives[id].size, machine_is_signed(emission->lowered->values[id].form.dtype));
    *number = (int32_t)whole;
    return whole >= INT32_MIN && whole <= INT32_MAX;
}

struct machine_operand emission_cell(const struct emission *emission, mdf_lowered_id id)
{
    size_t n_values = emission->lowered->n_values;

    return id < n_values ? in_memory(CELLS, (int32_t)(8 * id))
                         : in_memory(RSP, (int32_t)(FRAME_TEMPORARIES + 8 * (id - n_values)));
}

struct machine_operand emission_array_data(mdf_lowered_id id)
{
    return in_memory(ARRAYS, (int32_t)(id * sizeof(struct mdf_value) + offsetof(struct mdf_value, data)));
}

struct machine_operand emission_operand(struct emission *emission, mdf_lowered_id id)
{
    if (emission_is_constant(emission, id)) {
        return constant_operand(emission->assembler, emission_constant(emission, id), emission->lives[id].size);
    }
    return place_of(emission, id)->number != NO_REGISTER ? in_register(place_of(emission, id)->number) : home_of(emission, id);
}

void emission_load_general(struct emission *emission, mdf_lowered_id id, uint8_t number)
{
    if (emission_is_constant(emission, id)) {
        assemble_move_number(emission->assembler, number, emission_constant(emission, id));
    } else if (place_of(emission, id)->number != NO_REGISTER) {
        assemble_move(emission->assembler, number, place_of(emission, id)->number);
    } else {
        assemble_load(emission->assembler, emission->lives[id].size, number, home_of(emission, id));
    }
}

uint8_t emission_general(struct emission *emission, mdf_lowered_id id, uint8_t scratch)
{
    if (!emission_is_constant(emission, id) && place_of(emission, id)->number != NO_REGISTER) {
        return place_of(emission, id)->number;
    }
    emission_load_general(emission, id, scratch);
    return scratch;
}

bool emission_general_is(const struct emission *emission, mdf_lowered_id id, uint8_t number)
{
    return !emission_is_constant(emission, id) && place_of(emission, id)->number == number;
}

void emission_load_whole_number(struct emission *emission, mdf_lowered_id id, uint8_t number)
{
    bool is_signed = machine_is_signed(emission->lowered->values[id].form.dtype);
    int32_t constant;

    if (!machine_is_short(emission->lowered->values[id].form.dtype)) {
        emission_load_general(emission, id, number);
    } else if (emission_small_constant(emission, id, &constant)) {
        assemble_move_number(emission->assembler, number, (uint32_t)constant);
    } else if (emission->lives[id].size == 1) {
        assemble_general(emission->assembler, is_signed ? GENERAL_SIGN_BYTE : GENERAL_LOAD_BYTE, 4, number,
                         emission_operand(emission, id));
    } else {
        assemble_general(emission->assembler, is_signed ? GENERAL_SIGN_SHORT : GENERAL_LOAD_SHORT, 4, number,
                         emission_operand(emission, id));
    }
}

uint8_t emission_whole_number(struct emission *emission, mdf_lowered_id id, uint8_t scratch)
{
    if (!machine_is_short(emission->lowered->values[id].form.dtype)) {
        return emission_general(emission, id, scratch);
    }
    emission_load_whole_number(emission, id, scratch);
    return scratch;
}

void emission_move_real(struct emission *emission, uint8_t target, uint8_t source)
{
    if (target != source) {
        assemble_vector(emission->assembler, VECTOR_MOVE, 16, target, 0, in_register(source));
    }
}

void emission_load_real(struct emission *emission, mdf_lowered_id id, uint8_t number)
{
    struct machine_operand operand = emission_operand(emission, id);
    bool is_float = emission->lives[id].size == 4;

    if (operand.kind == IN_REGISTER) {
        emission_move_real(emission, number, operand.number);
    } else if (emission_is_constant(emission, id) && emission_constant(emission, id) == 0) {
        assemble_vector(emission->assembler, VECTOR_EXCLUSIVE_OR, 16, number, number, in_register(number));
    } else {
        assemble_vector(emission->assembler, is_float ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, number, 0, operand);
    }
}

uint8_t emission_real(struct emission *emission, mdf_lowered_id id, uint8_t scratch)
{
    if (!emission_is_constant(emission, id) && place_of(emission, id)->number != NO_REGISTER) {
        return place_of(emission, id)->number;
    }
    emission_load_real(emission, id, scratch);
    return scratch;
}

uint8_t emission_target(const struct emission *emission, mdf_lowered_id id, uint8_t scratch)
{
    return place_of(emission, id)->number != NO_REGISTER ? place_of(emission, id)->number : scratch;
}

static void store(struct emission *emission, mdf_lowered_id id, uint8_t number, struct machine_operand operand)
{
    unsigned size = emission->lives[id].size;

    if (is_real(emission, id)) {
        assemble_vector(emission->assembler, size == 4 ? VECTOR_STORE_FLOAT : VECTOR_STORE_DOUBLE, 16, number, 0, operand);
    } else {
        assemble_store(emission->assembler, size, number, operand);
    }
}

void emission_finish(struct emission *emission, mdf_lowered_id id, uint8_t number)
{
    const struct life *place = place_of(emission, id);

    if (place->number != NO_REGISTER && is_real(emission, id)) {
        emission_move_real(emission, place->number, number);
    } else if (place->number != NO_REGISTER) {
        assemble_move(emission->assembler, place->number, number);
    }
    if (place->number == NO_REGISTER || place->keeps_cell) {
        store(emission, id, number, home_of(emission, id));
    }
}

bool emission_copies(const struct emission *emission, mdf_lowered_id target, mdf_lowered_id source)
{
    return emission->lives[target].n_uses > 0 &&
           (emission_is_constant(emission, source) || emission->lives[target].group != emission->lives[source].group);
}

void emission_copy(struct emission *emission, mdf_lowered_id target, mdf_lowered_id source)
{
    uint8_t number;

    if (!emission_copies(emission, target, source)) {
        return;
    }
    if (place_of(emission, target)->number == NO_REGISTER) { /* from its register, if it has one */
        number =
            is_real(emission, target) ? emission_real(emission, source, SCRATCH_REAL) : emission_general(emission, source, RAX);
        emission_finish(emission, target, number);
        return;
    }
    if (is_real(emission, target)) {
        number = emission_target(emission, target, SCRATCH_REAL);
        emission_load_real(emission, source, number);
    } else {
        number = emission_target(emission, target, RAX);
        emission_load_general(emission, source, number);
    }
    emission_finish(emission, target, number);
}

void emission_publish(struct emission *emission, mdf_lowered_id id)
{
    const struct life *place = place_of(emission, id);
    bool is_there = emission->lives[id].group == id && (place->number == NO_REGISTER || place->keeps_cell || place->is_input);

    if (emission_is_constant(emission, id) || is_there) {
        return;
    }
    if (is_real(emission, id)) {
        store(emission, id, emission_real(emission, id, SCRATCH_REAL), emission_cell(emission, id));
    } else {
        store(emission, id, emission_general(emission, id, RAX), emission_cell(emission, id));
    }
}

void emission_fetch(struct emission *emission, mdf_lowered_id id)
{
    const struct life *place = place_of(emission, id);
    unsigned size = emission->lives[id].size;
    uint8_t number;

    if (emission->lives[id].n_uses == 0 || (emission->lives[id].group == id && place->number == NO_REGISTER)) {
        return;
    }
    if (is_real(emission, id)) {
        number = emission_target(emission, id, SCRATCH_REAL);
        assemble_vector(emission->assembler, size == 4 ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, number, 0,
                        emission_cell(emission, id));
    } else {
        number = emission_target(emission, id, RAX);
        assemble_load(emission->assembler, size, number, emission_cell(emission, id));
    }
    emission_finish(emission, id, number);
}

void emission_call(struct emission *emission, const void *function)
{
    if (emission->has_vectors) {
        assemble_vector_end(emission->assembler);
    }
    assemble_move_address(emission->assembler, RAX, function);
    assemble_single(emission->assembler, SINGLE_CALL, 4, in_register(RAX));
}

/* A call of a function whose result other than 0 bails out. */
static void call_or_bail_out(struct emission *emission, const void *function)
{
    emission_call(emission, function);
    assemble_general(emission->assembler, GENERAL_TEST, 4, RAX, in_register(RAX));
    assemble_jump_if(emission->assembler, IF_NOT_EQUAL, emission->bail_out);
}

void emission_call_of_form(struct emission *emission, const void *function, const void *subject)
{
    assemble_move_address(emission->assembler, RDI, emission->lowered);
    assemble_move_address(emission->assembler, RSI, subject);
    call_or_bail_out(emission, function);
}

void emission_call_loop(struct emission *emission, const struct mdf_lowered_op *op, const size_t *steps, size_t n)
{
    struct assembler *assembler = emission->assembler;
    mdf_loop loop = mdf_loop_here(op->loop);
    const void *function;

    assemble_general(assembler, GENERAL_ADDRESS, 8, RSI, in_memory(RSP, FRAME_POINTERS));
    assemble_move_address(assembler, RDX, steps);
    assemble_move_number(assembler, RCX, n);
    assemble_move_address(assembler, R8, op->loop_settings);
    memcpy(&function, &loop, sizeof function);
    emission_call(emission, function);
    assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RAX));
    assemble_general(assembler, GENERAL_TEST, 4, RAX, in_register(RAX));
    assemble_jump_if(assembler, IF_EQUAL, emission->bail_out);
}

static void copy_bytes(void *target, const void *source, size_t n_bytes)
{
    if (n_bytes > 0) { /* else the pointers may be NULL */
        memcpy(target, source, n_bytes);
    }
}

void emission_call_memcpy(struct emission *emission)
{
    void (*function)(void *, const void *, size_t) = copy_bytes;
    const void *address;

    memcpy(&address, &function, sizeof address);
    emission_call(emission, address);
}
