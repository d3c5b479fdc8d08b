/* emit_x86_64.c - see emit_x86_64.h. The whole: plan, entry, steps, exits. By the calling convention of System V: rdi are the
 * cells, rsi the arrays; rbx, rbp, r12 to r15 are given back as they were. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

enum { LARGEST_N_VALUES = 1 << 24 }; /* so that all cells and arrays are within reach of a displacement */

static const uint8_t saved_registers[] = {RBX, RBP, R12, R13, R14, R15};

/* With the return address and the saved registers it fills a multiple of 16 bytes. */
static int32_t frame_size(const struct emission *emission)
{
    return (int32_t)((FRAME_TEMPORARIES + 8 * emission->n_temporaries + 15) / 16 * 16 + 8);
}

static void emit_entry(struct emission *emission)
{
    struct assembler *assembler = emission->assembler;
    size_t n_inputs;
    const mdf_lowered_id *inputs = emission_inputs(emission, &n_inputs);

    for (size_t i = 0; i < sizeof saved_registers; i++) {
        assemble_push(assembler, saved_registers[i]);
    }
    assemble_with_number(assembler, NUMBER_SUBTRACT, 8, in_register(RSP), frame_size(emission));
    assemble_move(assembler, CELLS, RDI);
    assemble_move(assembler, ARRAYS, RSI);
    for (size_t i = 0; i < n_inputs; i++) {
        mdf_lowered_id id = inputs[i];
        const struct life *life = &emission->lives[id];
        bool is_float = life->size == 4;

        if (life->number != NO_REGISTER && life->kind == LIFE_REAL) {
            assemble_vector(assembler, is_float ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, life->number, 0,
                            emission_cell(emission, id));
        } else if (life->number != NO_REGISTER) {
            assemble_load(assembler, life->size, life->number, emission_cell(emission, id));
        }
    }
}

void emission_jump_late(struct emission *emission, enum machine_condition condition, struct late_case late)
{
    late.here = new_label(emission->assembler);
    late.back = new_label(emission->assembler);
    assemble_jump_if(emission->assembler, condition, late.here);
    bind_label(emission->assembler, late.back);
    emission->late_cases = assembler_grow(emission->assembler, emission->late_cases, &emission->late_case_capacity,
                                          emission->n_late_cases, sizeof late);
    if (!emission->assembler->failed) {
        emission->late_cases[emission->n_late_cases++] = late;
    }
}

static void emit_late_cases(struct emission *emission)
{
    for (size_t i = 0; i < emission->n_late_cases; i++) {
        const struct late_case *late = &emission->late_cases[i];

        bind_label(emission->assembler, late->here);
        late->emit(emission, late);
        assemble_jump(emission->assembler, late->back);
    }
}

static void emit_exits(struct emission *emission)
{
    struct assembler *assembler = emission->assembler;
    machine_label out = new_label(assembler);

    for (size_t i = 0; i < emission_n_results(emission); i++) {
        if (emission->lowered->values[emission_result(emission, i)].is_scalar) {
            emission_publish(emission, emission_result(emission, i));
        }
    }
    assemble_move_number(assembler, RAX, 0);
    bind_label(assembler, out);
    assemble_with_number(assembler, NUMBER_ADD, 8, in_register(RSP), frame_size(emission));
    for (size_t i = sizeof saved_registers; i-- > 0;) {
        assemble_pop(assembler, saved_registers[i]);
    }
    assemble_vector_end(assembler);
    assemble_return(assembler);
    bind_label(assembler, emission->bail_out);
    assemble_move_number(assembler, RAX, 1);
    assemble_jump(assembler, out);
}

static void emit_product(struct emission *emission, const struct mdf_lowered_product *product)
{
    void (*multiply)(struct mdf_lowered *, const struct mdf_lowered_product *) = mdf_lowered_multiply;
    const void *address;

    if (emission->lowered->values[product->a].is_scalar) {
        emission_publish(emission, product->a);
    }
    memcpy(&address, &multiply, sizeof address);
    assemble_move_address(emission->assembler, RDI, emission->lowered);
    assemble_move_address(emission->assembler, RSI, product);
    emission_call(emission, address);
    emission_restore(emission);
}

/* *place = where the elements of a value are. */
static void store_place(struct emission *emission, mdf_lowered_id id, const void *place)
{
    struct assembler *assembler = emission->assembler;

    if (id == MDF_LOWERED_NONE) {
        return;
    }
    if (emission->lowered->values[id].is_scalar) {
        assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, emission_cell(emission, id));
    } else {
        assemble_load(assembler, 8, RAX, emission_array_data(id));
    }
    assemble_move_address(assembler, RCX, place);
    assemble_store(assembler, 8, RAX, in_memory(RCX, 0));
}

static void emit_routine(struct emission *emission, struct mdf_lowered_routine *routine)
{
    struct assembler *assembler = emission->assembler;
    const void *address;

    for (size_t i = 0; i < MDF_LOWERED_ROUTINE_VALUES; i++) {
        store_place(emission, routine->inputs[i], &routine->in[i]);
        store_place(emission, routine->outputs[i], &routine->out[i]);
    }
    memcpy(&address, &routine->function, sizeof address);
    assemble_move_address(assembler, RDI, routine->out);
    assemble_move_address(assembler, RSI, routine->in);
    assemble_move_address(assembler, RDX, routine->whole);
    assemble_move_address(assembler, RCX, routine->real);
    assemble_move_address(assembler, R8, routine->work);
    emission_call(emission, address);
    assemble_general(assembler, GENERAL_LOAD_BYTE, 4, RAX, in_register(RAX)); /* a bool is no more than that */
    assemble_general(assembler, GENERAL_TEST, 4, RAX, in_register(RAX));
    assemble_jump_if(assembler, IF_EQUAL, emission->bail_out);
}

static void emit_call(struct emission *emission, const struct mdf_lowered_call *call)
{
    int (*run)(struct mdf_lowered *, struct mdf_lowered_call *) = mdf_lowered_run_call;
    int (*draw)(struct mdf_lowered *, const struct mdf_lowered_draw *) = mdf_lowered_draw;
    const void *address;

    for (size_t i = 0; i < call->n_inputs; i++) {
        if (call->inputs[i] != MDF_LOWERED_NONE && emission->lowered->values[call->inputs[i]].is_scalar) {
            emission_publish(emission, call->inputs[i]);
        }
    }
    if (call->routine != NULL) {
        emit_routine(emission, call->routine);
    } else {
        memcpy(&address, call->draw != NULL ? (const void *)&draw : (const void *)&run, sizeof address);
        emission_call_of_form(emission, address, call->draw != NULL ? (const void *)call->draw : call);
    }
    emission_restore(emission);
    for (size_t i = 0; i < call->n_outputs; i++) {
        if (call->outputs[i] != MDF_LOWERED_NONE && emission->lowered->values[call->outputs[i]].is_scalar) {
            emission_fetch(emission, call->outputs[i]);
        }
    }
}

static void emit_put(struct emission *emission, const struct mdf_lowered_op *op)
{
    int (*run)(struct mdf_lowered *, const struct mdf_lowered_op *) = mdf_lowered_run_put;
    const void *address;

    if (emission_puts_in_place(emission->lowered, op)) {
        emission_put_in_place(emission, op);
        return;
    }
    for (size_t i = 1; i < op->n_in; i++) {
        if (emission->lowered->values[op->in[i]].is_scalar) {
            emission_publish(emission, op->in[i]);
        }
    }
    memcpy(&address, &run, sizeof address);
    emission_call_of_form(emission, address, op);
    emission_restore(emission);
}

static void call_nest(struct emission *emission, struct mdf_lowered_nest *nest)
{
    int (*run)(struct mdf_lowered *, struct mdf_lowered_nest *) = mdf_lowered_run_nest;
    const void *address;

    emission->calls_interpreter = true;
    memcpy(&address, &run, sizeof address);
    emission_call_of_form(emission, address, nest);
}

static void emit_nest(struct emission *emission, struct mdf_lowered_nest *nest)
{
    const struct mdf_lowered_value *values = emission->lowered->values;

    if (emission_is_point(emission->lowered, nest)) {
        emission_point(emission, nest);
        return;
    }
    emission_begin_row(emission);
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_LOAD && values[nest->steps[i].view.id].is_scalar) {
            emission_publish(emission, nest->steps[i].view.id);
        }
    }
    if (!emission_nest(emission, nest)) {
        call_nest(emission, nest);
    }
    emission_restore(emission);
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_STORE && values[nest->steps[i].view.id].is_scalar) {
            emission_fetch(emission, nest->steps[i].view.id);
        }
    }
}

static void emit_op(struct emission *emission, const struct mdf_lowered_op *op)
{
    if (op->code == MDF_LOWERED_CALL && op->of.call->product != NULL) {
        emit_product(emission, op->of.call->product);
    } else if (emission_draws_here(emission->lowered, op)) {
        emission_draw(emission, op->of.call->draw);
    } else if (op->code == MDF_LOWERED_CALL) {
        emit_call(emission, op->of.call);
    } else if (op->code == MDF_LOWERED_PUT) {
        emit_put(emission, op);
    } else if (op->code == MDF_LOWERED_NEST) {
        emit_nest(emission, op->of.nest);
    } else if (emission->lives[op->out].kind == LIFE_NONE || emission->lives[op->out].n_uses > 0 ||
               mdf_lowered_may_bail_out(op->code)) {
        emission_scalar(emission, op);
    }
}

/* Two loops by code of their own, which reads scalars in their cells, and leaves them there. */
static void emit_concurrent(struct emission *emission, struct mdf_lowered_concurrent *concurrent)
{
    int (*run)(struct mdf_lowered *, struct mdf_lowered_concurrent *) = mdf_lowered_run_concurrent;
    const void *address;

    for (size_t i = 0; i < concurrent->n_scalars; i++) {
        emission_publish(emission, concurrent->scalars[i]);
    }
    memcpy(&address, &run, sizeof address);
    emission_call_of_form(emission, address, concurrent);
    emission_restore(emission);
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < concurrent->loops[i]->n_states; j++) {
            mdf_lowered_id id = concurrent->loops[i]->states[j].parameter;

            if (emission->lowered->values[id].is_scalar) {
                emission_fetch(emission, id);
            }
        }
    }
}

/* Whether nothing is to be done of what branches merge into: an array that lies where it did, of which nobody asks where that is.
 */
static bool lies_there(const struct emission *emission, mdf_lowered_id out)
{
    return emission->lowered->values[out].is_in_place && !emission->lives[out].is_looked_at;
}

static void emit_merges(struct emission *emission, const struct mdf_lowered_if *branches, bool then)
{
    for (size_t i = 0; i < branches->n_merges; i++) {
        mdf_lowered_id out = branches->merges[i].out;
        mdf_lowered_id source = then ? branches->merges[i].then : branches->merges[i].otherwise;

        if (emission->lowered->values[out].is_scalar) {
            emission_copy(emission, out, source);
        } else if (!lies_there(emission, out)) {
            assemble_load(emission->assembler, 8, RAX, emission_array_data(emission->lies_in[source]));
            assemble_store(emission->assembler, 8, RAX, emission_array_data(out));
        }
    }
}

/* Whether there is any code between the end of one branch, which is looked at, and that of both. */
static bool has_other_branch(const struct emission *emission)
{
    const struct step *next = &emission->steps[emission->at + 1];
    const struct mdf_lowered_if *branches = next->op != NULL && next->kind == STEP_END_IF ? next->op->of.branches : NULL;
    size_t i;

    for (i = 0; branches != NULL && i < branches->n_merges; i++) {
        mdf_lowered_id out = branches->merges[i].out;

        if (emission->lowered->values[out].is_scalar ? emission_copies(emission, out, branches->merges[i].otherwise)
                                                     : !lies_there(emission, out)) {
            break;
        }
    }
    return branches == NULL || i < branches->n_merges;
}

static void emit_step(struct emission *emission, struct step *step)
{
    struct assembler *assembler = emission->assembler;
    struct step *partner = &emission->steps[step->partner];

    switch ((enum step_kind)step->kind) {
    case STEP_OP:
        emit_op(emission, step->op);
        break;
    case STEP_IF:
        step->n_checked = emission->n_checked;
        step->labels[0] = new_label(assembler);
        emission_jump(emission, step->op->of.branches->condition, false, step->labels[0]);
        break;
    case STEP_ELSE:
        emit_merges(emission, step->op->of.branches, true);
        step->labels[1] = new_label(assembler);
        if (has_other_branch(emission)) {
            assemble_jump(assembler, step->labels[1]);
        }
        bind_label(assembler, emission->steps[partner->partner].labels[0]);
        emission->n_checked = emission->steps[partner->partner].n_checked;
        break;
    case STEP_END_IF:
        emit_merges(emission, step->op->of.branches, false);
        bind_label(assembler, emission->steps[partner->partner].labels[1]);
        emission->n_checked = partner->n_checked;
        break;
    case STEP_LOOP:
        emission->loops[emission->n_loops++] = emission->at;
        step->n_checked = emission->n_checked;
        emission_begin_loop(emission, step);
        break;
    case STEP_END_LOOP:
        emission->n_loops--;
        emission_end_loop(emission, step);
        emission->n_checked = partner->n_checked;
        break;
    case STEP_CONCURRENT:
        emit_concurrent(emission, step->op->of.loop->concurrent);
        break;
    case STEP_END:
        emit_exits(emission);
        emit_late_cases(emission);
        break;
    case STEP_DEFERRED:
        break;
    }
}

static void release(struct emission *emission)
{
    for (size_t i = 0; i < 16; i++) {
        mdf_memory_release(emission->memory, emission->general[i].intervals);
    }
    for (size_t i = 0; i < N_REAL_REGISTERS; i++) {
        mdf_memory_release(emission->memory, emission->real[i].intervals);
    }
    mdf_memory_release(emission->memory, emission->lies_in);
    mdf_memory_release(emission->memory, emission->pointers);
    mdf_memory_release(emission->memory, emission->late_cases);
    mdf_memory_release(emission->memory, emission->steps);
    mdf_memory_release(emission->memory, emission->lives);
}

/* Where the code of a step begins. */
static bool note_place(struct mdf_machine_listing *listing, const struct assembler *assembler, const struct step *step)
{
    static const char *const names[] = {[STEP_OP] = NULL,
                                        [STEP_DEFERRED] = NULL,
                                        [STEP_IF] = "if",
                                        [STEP_ELSE] = "else",
                                        [STEP_END_IF] = "end if",
                                        [STEP_LOOP] = NULL,
                                        [STEP_END_LOOP] = "end loop",
                                        [STEP_CONCURRENT] = "two loops at the same time",
                                        [STEP_END] = "end"};
    struct mdf_machine_place *grown =
        mdf_memory_grow(listing->memory, listing->places, &listing->capacity, listing->n_places + 1, sizeof *grown);

    if (grown == NULL) {
        return false;
    }
    listing->places = grown;
    listing->places[listing->n_places++] = (struct mdf_machine_place){assembler->n_bytes, names[step->kind], step->op};
    return true;
}

/* The code of all, or that of one loop of several that run at the same time. */
static bool emit_code(struct mdf_lowered *lowered, struct assembler *assembler, struct mdf_machine_listing *listing,
                      const struct mdf_lowered_op *part)
{
    struct emission emission = {.lowered = lowered, .assembler = assembler, .memory = assembler->memory, .part = part};
    bool done = emission_lay_out(&emission) && emission_find_lives(&emission) && emission_allocate(&emission);

    if (done) {
        emission.bail_out = new_label(assembler);
        emit_entry(&emission);
        for (emission.at = 0; emission.at < emission.n_steps && !assembler->failed; emission.at++) {
            done = done && (listing == NULL || note_place(listing, assembler, &emission.steps[emission.at]));
            assembler->touched = 0;
            emit_step(&emission, &emission.steps[emission.at]);
        }
    }
    release(&emission);
    return done && (part == NULL || !emission.calls_interpreter); /* which allocates */
}

bool emit_x86_64(struct mdf_lowered *lowered, struct assembler *assembler, struct mdf_machine_listing *listing)
{
    bool done = lowered->n_values < LARGEST_N_VALUES && emit_code(lowered, assembler, listing, NULL);

    for (size_t i = 0; done && i < lowered->region.n_ops; i++) {
        const struct mdf_lowered_op *op = &lowered->region.ops[i];
        struct mdf_lowered_concurrent *concurrent = op->code == MDF_LOWERED_LOOP ? op->of.loop->concurrent : NULL;

        if (concurrent != NULL) {
            assemble_align(assembler, 32);
            concurrent->code[concurrent->loops[1] == op->of.loop] = assembler->n_bytes;
            done = emit_code(lowered, assembler, listing, op);
        }
    }
    return assembler_finish(assembler) && done;
}
