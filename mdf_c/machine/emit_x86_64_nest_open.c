/* emit_x86_64_nest_open.c - see emit_x86_64_nest.h. Loops over an axis whose extent is known only when they run: as many rounds
 * as are whole, then the rest of the indices. That is gone through along vectors, where nothing is folded over them: vector by
 * vector, then by a vector that ends where the axis does, or element by element; along vectors with totals: in one more round, in
 * which masks say which lanes count; along no vectors: index by index; where totals take elements in turn, each index by code of
 * its own.  */
#include "mdf_c/machine/emit_x86_64_nest.h"

enum { MOST_IN_TURN = 8 }; /* totals of a fold along no vectors */

/* ------------------------------------------------------------------ what is covered */

/* Whether a fold over the open axis has several totals, which take its elements in turn. */
static bool has_turns(const struct nest_code *code, size_t *most)
{
    *most = 1;
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        if (mdf_nest_folds_axis(code->nest, i, code->nest->open_axis) && nest_lanes(&code->nest->steps[i]) > *most) {
            *most = nest_lanes(&code->nest->steps[i]);
        }
    }
    return *most > 1;
}

static bool may_bail_out(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_ELEMENT &&
           (step->code == MDF_LOWERED_DIVIDE_NONZERO ||
            (step->code >= MDF_LOWERED_QUOTIENT && step->code <= MDF_LOWERED_FLOOR_REMAINDER) ||
            (step->code == MDF_LOWERED_CAST && mdf_dtype_kind((mdf_dtype)step->operand_dtype) == 'f' &&
             mdf_dtype_kind((mdf_dtype)step->dtype) != 'f'));
}

/* Whether lanes may be left out by masks: they lie side by side, and do nothing but compute. */
static bool may_be_masked(const struct nest_code *code)
{
    size_t open_axis = code->nest->open_axis;

    for (size_t i = 0; i < code->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &code->nest->steps[i];
        bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;
        bool is_along = moves && step->level > open_axis && step->view.strides[open_axis] != 0;

        if (step->level > open_axis &&
            (may_bail_out(step) ||
             (is_along && (step->view.strides[open_axis] != 1 || mdf_dtype_size((mdf_dtype)step->dtype) < 4)) ||
             (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE &&
              (is_along || nest_depends_on_lanes(code, step->view.at))))) {
            return false;
        }
    }
    return true;
}

bool nest_covers_open_axis(const struct nest_code *code)
{
    size_t most;

    if (!code->nest->is_open) {
        return true;
    }
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &code->nest->steps[i];

        if (mdf_nest_folds_axis(code->nest, i, code->nest->open_axis) && nest_has_parts(step) &&
            step->order != MDF_NEST_IN_BLOCKS) {
            return false;
        }
    }
    return code->shape.vector_axis == code->nest->open_axis ? !mdf_nest_is_folded(code->nest, code->nest->open_axis) || may_be_masked(code)
                                                            : !has_turns(code, &most) || most <= MOST_IN_TURN;
}

/* ------------------------------------------------------------------ loops */

static void begin_loop(struct nest_code *code, struct nest_block block, uint32_t first)
{
    uint32_t parent = code->scopes[code->n_scopes - 1];
    size_t n = block.modulus == 0 ? OPEN_EXTENT : block.modulus / 2;

    block.is_open = true;
    block.axis = code->nest->open_axis;
    block.first = first;
    block.parent = parent;
    block.count = block.divisor == 0 ? 1 : n / block.divisor;
    block.depth = (uint8_t)(code->blocks[parent].depth + 1);
    block.runs = code->blocks[parent].runs * (block.divisor == 0 ? 0.5 : (double)n / (double)block.divisor);
    block.runs /= block.below > 0 ? (double)OPEN_EXTENT / (double)block.below : 1;
    nest_add_block(code, block);
}

/* One index, or one vector of as many as are active. */
static void make_one(struct nest_code *code, struct nest_block block, uint32_t first, size_t active,
                     const struct mdf_nest_set *goals)
{
    size_t axis = code->nest->open_axis;

    begin_loop(code, block, first);
    if (!code->failed) {
        code->offsets[axis] = (int64_t)block.over;
        if (axis == code->shape.vector_axis) {
            nest_go_to_vectors(code, 0, active);
        }
        nest_make_body(code, axis + 1, goals);
        nest_close_loop(code);
    }
}

/* A round in which masks say which lanes count. */
static void make_masked(struct nest_code *code, size_t advance, uint32_t first, const struct mdf_nest_set *goals)
{
    begin_loop(code, (struct nest_block){.modulus = advance}, first);
    if (code->failed) {
        return;
    }
    nest_go_to_vectors(code, 0, advance);
    for (size_t k = 0; k < code->n_copies; k++) {
        code->copies[k].active = (unsigned)(MASKED + k);
    }
    nest_make_body(code, code->nest->open_axis + 1u, goals);
    nest_close_loop(code);
}

/* Whether an index may be gone through twice: nothing is stored where it is loaded. */
static bool may_be_repeated(const struct nest_code *code)
{
    for (size_t i = 0; i < code->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &code->nest->steps[i];

        if (step->kind == MDF_NEST_STORE &&
            (mdf_nest_reads(code->nest, step->view.id) || code->emission->lowered->values[step->view.id].is_in_place)) {
            return false;
        }
    }
    return true;
}

/* What is less than a vector: the last vector that there is, or, of an axis that has none, element by element. */
static void make_ends(struct nest_code *code, size_t lanes, uint32_t first, const struct mdf_nest_set *goals)
{
    make_one(code, (struct nest_block){.modulus = lanes, .last = lanes}, first, lanes, goals);
    if (!code->failed) {
        make_one(code, (struct nest_block){.modulus = lanes, .divisor = 1, .advance = 1, .below = lanes}, first, 1, goals);
    }
}

static void make_rest(struct nest_code *code, size_t advance, uint32_t first, const struct mdf_nest_set *goals)
{
    bool is_vector = code->shape.vector_axis == code->nest->open_axis;
    size_t lanes = is_vector ? code->shape.lanes : 1, most;

    if (is_vector && mdf_nest_is_folded(code->nest, code->nest->open_axis)) {
        make_masked(code, advance, first, goals);
        return;
    }
    if (!is_vector && has_turns(code, &most)) {
        for (size_t k = 0; k + 1 < advance && !code->failed; k++) {
            make_one(code, (struct nest_block){.modulus = advance, .over = k}, first, 1, goals);
        }
        return;
    }
    if (advance > lanes && lanes > 1) {
        make_one(code, (struct nest_block){.modulus = advance, .divisor = lanes, .advance = lanes}, first, lanes, goals);
    }
    if (!code->failed && lanes > 1 && may_be_repeated(code)) {
        make_ends(code, lanes, first, goals);
    } else if (!code->failed && advance > 1) {
        make_one(code, (struct nest_block){.modulus = is_vector ? lanes : advance, .divisor = 1, .advance = 1}, first, 1, goals);
    }
}

void nest_make_open_loops(struct nest_code *code, size_t axis, const struct mdf_nest_set *goals)
{
    bool is_vector = axis == code->shape.vector_axis;
    size_t advance = is_vector ? (size_t)code->shape.lanes * code->shape.group : code->shape.unroll[axis], at;
    uint32_t first = (uint32_t)code->n_blocks, last;

    begin_loop(code, (struct nest_block){.divisor = advance, .advance = advance}, first);
    for (at = 0; at < advance && !code->failed; at += is_vector ? advance : 1) {
        if (is_vector) {
            nest_go_to_vectors(code, 0, advance);
        } else {
            code->offsets[axis] = (int64_t)at;
        }
        nest_make_body(code, axis + 1, goals);
    }
    if (!code->failed) {
        nest_close_loop(code);
        make_rest(code, advance, first, goals);
    }
    for (last = (uint32_t)code->n_blocks; !code->failed && last-- > first;) {
        if (code->blocks[last].is_open && code->blocks[last].first == first) {
            code->blocks[last].is_last = true;
            break;
        }
    }
    code->offsets[axis] = 0;
}

/* ------------------------------------------------------------------ instructions */

void nest_load_extent(struct nest_code *code, uint8_t number, size_t modulus)
{
    struct assembler *assembler = nest_assembler(code);

    assemble_move_address(assembler, number, code->open_extent);
    assemble_load(assembler, 8, number, in_memory(number, 0));
    if (modulus != 0) {
        assemble_with_number(assembler, NUMBER_AND, 8, in_register(number), (int32_t)modulus - 1);
    }
}

static unsigned count_bits(size_t power)
{
    unsigned n = 0;

    while (power >> n > 1) {
        n++;
    }
    return n;
}

/* Takes all pointers back that loops over the axis have moved: by the indices that are no rest for code of its own. */
static void rewind_pointers(struct nest_code *code, const struct nest_block *last)
{
    struct assembler *assembler = nest_assembler(code);
    struct mdf_nest_set pointers = {{0}};

    for (size_t i = last->first; i < code->n_blocks; i++) {
        for (size_t k = 0; code->blocks[i].is_open && code->blocks[i].first == last->first && k < 4; k++) {
            pointers.words[k] |= code->blocks[i].pointers.words[k];
        }
    }
    nest_load_extent(code, RAX, 0);
    if (last->divisor == 0) {
        assemble_with_number(assembler, NUMBER_AND, 8, in_register(RAX), -(int32_t)last->modulus);
    }
    for (size_t i = 0; i < code->n_pointers; i++) {
        const struct nest_pointer *pointer = &code->pointers[i];
        int64_t stride = pointer->strides[last->axis];

        if (!mdf_nest_set_has(&pointers, i) || stride == 0) {
            continue;
        }
        assemble_multiply_by(assembler, 8, RCX, in_register(RAX), (int32_t)stride);
        if (pointer->number != NO_REGISTER) {
            assemble_general(assembler, GENERAL_SUBTRACT, 8, pointer->number, in_register(RCX));
        } else {
            assemble_single(assembler, SINGLE_NEGATE, 8, in_register(RCX));
            assemble_general(assembler, GENERAL_ADD, 8, RCX, nest_word(code, i));
            assemble_store(assembler, 8, RCX, nest_word(code, i));
        }
    }
}

/* Moves all pointers of a block by RAX indices. */
static void move_by_number(struct nest_code *code, const struct nest_block *block)
{
    struct assembler *assembler = nest_assembler(code);

    for (size_t i = 0; i < code->n_pointers; i++) {
        const struct nest_pointer *pointer = &code->pointers[i];
        int64_t stride = pointer->strides[block->axis];

        if (!mdf_nest_set_has(&block->pointers, i) || stride == 0) {
            continue;
        }
        assemble_multiply_by(assembler, 8, RCX, in_register(RAX), (int32_t)stride);
        if (pointer->number != NO_REGISTER) {
            assemble_general(assembler, GENERAL_ADD, 8, pointer->number, in_register(RCX));
        } else {
            assemble_general(assembler, GENERAL_ADD, 8, RCX, nest_word(code, i));
            assemble_store(assembler, 8, RCX, nest_word(code, i));
        }
    }
}

/* The last vector of the axis, which begins in front of where the pointers are. */
static void emit_last(struct nest_code *code, uint32_t body, char *memory)
{
    const struct nest_block *block = &code->blocks[body];
    struct assembler *assembler = nest_assembler(code);
    machine_label end = new_label(assembler);

    nest_load_extent(code, RAX, 0);
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), (int32_t)block->last);
    assemble_jump_if(assembler, IF_BELOW, end);
    assemble_with_number(assembler, NUMBER_AND, 8, in_register(RAX), (int32_t)block->last - 1);
    assemble_jump_if(assembler, IF_EQUAL, end);
    assemble_with_number(assembler, NUMBER_SUBTRACT, 8, in_register(RAX), (int32_t)block->last);
    move_by_number(code, block);
    nest_emit_block(code, body, memory);
    nest_move_pointers(code, block, (int64_t)block->last);
    bind_label(assembler, end);
}

void nest_emit_open_loop(struct nest_code *code, uint32_t body, char *memory)
{
    const struct nest_block *block = &code->blocks[body];
    struct assembler *assembler = nest_assembler(code);
    machine_label end = new_label(assembler);

    if (block->last > 0) {
        emit_last(code, body, memory);
        return;
    }
    nest_load_extent(code, RAX, block->below > 0 ? 0 : block->modulus);
    if (block->below > 0) {
        assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), (int32_t)block->below);
        assemble_jump_if(assembler, IF_ABOVE_OR_EQUAL, end);
    }
    if (block->divisor > 1) {
        assemble_shift(assembler, SHIFT_RIGHT, 8, RAX, (uint8_t)count_bits(block->divisor));
    }
    assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(RAX), (int32_t)block->over);
    assemble_jump_if(assembler, IF_BELOW_OR_EQUAL, end);
    if (block->divisor == 0) {
        nest_emit_block(code, body, memory);
    } else {
        nest_emit_rounds(code, body, memory);
    }
    bind_label(assembler, end);
    if (block->is_last) {
        rewind_pointers(code, block);
    }
}
