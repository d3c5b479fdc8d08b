/* emit_x86_64_arrays.c - see emit_x86_64.h. Where arrays lie whose elements are loaded and stored one by one: what is put into an
 * array in place lies where that does; who goes through the elements of an array that stays where it is, in a loop without loops
 * of its own, has a pointer to it among the loop's temporaries. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64.h"

enum { MOST_POINTERS = 6 }; /* of a loop: there are no more registers */

static const struct mdf_lowered_op *op_of(const struct emission *emission, size_t at)
{
    return emission->steps[at].kind == STEP_OP ? emission->steps[at].op : NULL;
}

/* ------------------------------------------------------------------ what is made in place */

/* Loops' states that begin where those of a loop around lie, what has been put into an array, and what branches leave of one. */
static bool find_grounds(struct emission *emission)
{
    size_t n = emission->lowered->n_values;
    mdf_lowered_id *lies_in = emission->lies_in = mdf_memory_allocate_zeroed(emission->memory, n + 1, sizeof *lies_in);

    for (size_t i = 0; lies_in != NULL && i < n; i++) {
        lies_in[i] = (mdf_lowered_id)i;
    }
    for (size_t at = 0; lies_in != NULL && at < emission->n_steps; at++) {
        const struct step *step = &emission->steps[at];
        const struct mdf_lowered_op *op = step->op;

        if (step->kind == STEP_OP &&
            (op->code == MDF_LOWERED_PUT ? op->of.put->is_in_place
                                         : op->code == MDF_LOWERED_COPY && emission->lowered->values[op->out].is_in_place)) {
            lies_in[op->out] = lies_in[op->in[0]];
        }
        for (size_t i = 0; step->kind == STEP_LOOP && i < op->of.loop->n_states; i++) {
            if (op->of.loop->states[i].lies_in_initial) {
                lies_in[op->of.loop->states[i].parameter] = lies_in[op->of.loop->states[i].initial];
            }
            if (op->of.loop->states[i].begins_made && op->of.loop->states[i].storage == MDF_LOWERED_IN_PLACE) {
                lies_in[op->of.loop->states[i].made] = lies_in[op->of.loop->states[i].parameter];
            }
        }
        for (size_t i = 0; step->kind == STEP_END_IF && i < op->of.branches->n_merges; i++) {
            if (emission->lowered->values[op->of.branches->merges[i].out].is_in_place) {
                lies_in[op->of.branches->merges[i].out] = lies_in[op->of.branches->merges[i].then];
            }
        }
    }
    return lies_in != NULL;
}

/* ------------------------------------------------------------------ pointers of loops */

/* An innermost loop: its steps, and the arrays that it has pointers to. */
struct inner_loop {
    struct emission *emission;
    uint32_t first, last;
    bool is_moved; /* the array that is looked for is made there */
    mdf_lowered_id array;
};

static void compare(void *context, mdf_lowered_id id)
{
    struct inner_loop *inner = context;

    inner->is_moved = inner->is_moved || id == inner->array;
}

/* Whether an array lies at one place while the loop runs. */
static bool stays(struct inner_loop *inner, mdf_lowered_id array)
{
    const struct mdf_lowered_loop *loop = inner->emission->steps[inner->first].op->of.loop;

    inner->is_moved = false;
    inner->array = array;
    for (size_t i = 0; i < loop->n_rows; i++) {
        compare(inner, loop->rows[i].parameter);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        if (loop->states[i].storage != MDF_LOWERED_IN_PLACE) {
            compare(inner, loop->states[i].parameter);
        }
    }
    for (size_t i = 0; i < loop->n_products; i++) {
        compare(inner, loop->products[i]->out);
    }
    for (uint32_t at = inner->first + 1; at < inner->last && !inner->is_moved; at++) {
        if (op_of(inner->emission, at) != NULL) {
            mdf_lowered_visit_results(op_of(inner->emission, at), compare, inner);
        } else if (inner->emission->steps[at].kind == STEP_IF) {
            mdf_lowered_visit_results(inner->emission->steps[at].op, compare, inner);
        }
    }
    return !inner->is_moved && inner->emission->lowered->values[array].open_axes == 0;
}

/* Adds a pointer to an array that stays where it is; NONE: to what says whether to stop. */
static bool add_pointer_to(struct inner_loop *inner, mdf_lowered_id array)
{
    struct emission *emission = inner->emission;
    struct step *step = &emission->steps[inner->first];
    struct array_pointer *grown;

    if (step->n_pointers == MOST_POINTERS || emission->n_temporaries >= LARGEST_N_TEMPORARIES) {
        return true;
    }
    grown = mdf_memory_grow(emission->memory, emission->pointers, &emission->pointer_capacity, emission->n_pointers + 1,
                            sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    emission->pointers = grown;
    emission->pointers[emission->n_pointers++] =
        (struct array_pointer){array, (mdf_lowered_id)(emission->lowered->n_values + emission->n_temporaries++)};
    step->n_pointers++;
    return true;
}

/* Adds a pointer to what an array lies in, if there is none, and it stays there. */
static bool add_pointer(struct inner_loop *inner, mdf_lowered_id id)
{
    struct emission *emission = inner->emission;
    const struct step *step = &emission->steps[inner->first];
    mdf_lowered_id array = emission->lies_in[id];
    uint32_t i;

    for (i = 0; i < step->n_pointers && emission->pointers[step->first_pointer + i].array != array; i++) {
    }
    return i < step->n_pointers || emission->lowered->values[array].is_scalar || !stays(inner, array) ||
           add_pointer_to(inner, array);
}

/* Whether a loop of few steps asks in each run whether to stop: it has no counter. */
static bool asks_always(const struct inner_loop *inner)
{
    const struct emission *emission = inner->emission;
    const struct step *step = &emission->steps[inner->first];
    const struct mdf_lowered_loop *loop = step->op->of.loop;
    size_t i;

    for (i = 0;
         i < loop->body.n_ops && (loop->number == MDF_LOWERED_NONE || !mdf_lowered_reads(&loop->body.ops[i], loop->number));
         i++) {
    }
    return step->is_short && i == loop->body.n_ops && emission_plan_loop(emission, step).asking == ASKS_ALWAYS;
}

static bool add_pointers(struct inner_loop *inner)
{
    struct emission *emission = inner->emission;

    emission->steps[inner->first].first_pointer = (uint32_t)emission->n_pointers;
    for (uint32_t at = inner->first + 1; at < inner->last; at++) {
        const struct mdf_lowered_op *op = op_of(emission, at);
        bool is_point = op != NULL && op->code == MDF_LOWERED_NEST && emission_is_point(emission->lowered, op->of.nest);

        if (op != NULL && op->code == MDF_LOWERED_PUT && emission_puts_in_place(emission->lowered, op) &&
            !add_pointer(inner, op->in[0])) {
            return false;
        }
        for (size_t i = 0; is_point && i < op->of.nest->n_steps; i++) {
            const struct mdf_nest_step *step = &op->of.nest->steps[i];

            if (step->kind == MDF_NEST_LOAD && !mdf_nest_loads_its_index(emission->lowered, step) &&
                !add_pointer(inner, step->view.id)) {
                return false;
            }
        }
    }
    return !asks_always(inner) || add_pointer_to(inner, MDF_LOWERED_NONE);
}

bool emission_find_pointers(struct emission *emission)
{
    uint32_t first = 0;

    if (!find_grounds(emission)) {
        return false;
    }
    for (uint32_t at = 0; at < emission->n_steps && emission->part == NULL; at++) {
        struct inner_loop inner = {.emission = emission, .first = first, .last = at};

        if (emission->steps[at].kind == STEP_LOOP || emission->steps[at].kind == STEP_CONCURRENT) {
            first = emission->steps[at].kind == STEP_LOOP ? at : 0;
        } else if (emission->steps[at].kind == STEP_END_LOOP) {
            if (first != 0 && emission->steps[at].partner == first && !add_pointers(&inner)) {
                return false;
            }
            first = 0;
        }
    }
    return true;
}

void emission_visit_pointers(struct emission *emission, const struct step *loop,
                             void (*visit)(struct emission *emission, mdf_lowered_id id, enum moment moment), enum moment moment)
{
    for (uint32_t i = 0; i < loop->n_pointers; i++) {
        visit(emission, emission->pointers[loop->first_pointer + i].temporary, moment);
    }
}

void emission_begin_arrays(struct emission *emission, const struct step *loop)
{
    for (uint32_t i = 0; i < loop->n_pointers; i++) {
        const struct array_pointer *pointer = &emission->pointers[loop->first_pointer + i];
        uint8_t target = emission_target(emission, pointer->temporary, RAX);

        if (pointer->array == MDF_LOWERED_NONE) {
            assemble_move_address(emission->assembler, target, &emission->lowered->context->stop->is_asked);
        } else {
            assemble_load(emission->assembler, 8, target, emission_array_data(pointer->array));
        }
        emission_finish(emission, pointer->temporary, target);
    }
    emission->pointer_loop = loop;
}

/* The temporary that says where an array is while the loop runs: what it goes through, or an array that stays; NONE: there is
 * none. */
static mdf_lowered_id pointer_to(const struct emission *emission, const struct step *step, mdf_lowered_id id)
{
    struct loop_plan plan = emission_plan_loop(emission, step);

    for (uint32_t i = 0; i < step->n_pointers; i++) {
        if (emission->pointers[step->first_pointer + i].array == id) {
            return emission->pointers[step->first_pointer + i].temporary;
        }
    }
    for (uint32_t i = 0; i < plan.loop->n_rows; i++) {
        if (plan.loop->rows[i].parameter == id) {
            return (mdf_lowered_id)(plan.rows + i);
        }
    }
    return MDF_LOWERED_NONE;
}

uint8_t emission_stop_base(struct emission *emission, uint8_t free)
{
    mdf_lowered_id pointer =
        emission->pointer_loop != NULL ? pointer_to(emission, emission->pointer_loop, MDF_LOWERED_NONE) : MDF_LOWERED_NONE;

    if (pointer != MDF_LOWERED_NONE && emission->lives[pointer].number != NO_REGISTER) {
        return emission->lives[pointer].number;
    }
    assemble_move_address(emission->assembler, free, &emission->lowered->context->stop->is_asked);
    return free;
}

uint8_t emission_array_base(struct emission *emission, mdf_lowered_id id, uint8_t free)
{
    mdf_lowered_id array = emission->lies_in[id], pointer;

    pointer = emission->pointer_loop != NULL ? pointer_to(emission, emission->pointer_loop, array) : MDF_LOWERED_NONE;
    if (pointer != MDF_LOWERED_NONE && emission->lives[pointer].number != NO_REGISTER) {
        return emission->lives[pointer].number;
    }
    assemble_load(emission->assembler, 8, free, emission_array_data(array));
    return free;
}

/* ------------------------------------------------------------------ what is put in place */

static void look_at(void *context, mdf_lowered_id id, bool is_aliased)
{
    struct emission *emission = context;

    (void)is_aliased;
    emission->lives[id].is_looked_at = emission->lives[id].is_read = true;
}

/* Who stores all of an array finds where it lies by what that says. */
static void store_at(void *context, mdf_lowered_id id)
{
    struct emission *emission = context;

    emission->lives[id].is_looked_at = true;
}

/* What lies in place is found where it lies. */
static void look_at_merges(struct emission *emission, const struct mdf_lowered_if *branches)
{
    for (size_t i = 0; i < branches->n_merges; i++) {
        const struct mdf_lowered_merge *merge = &branches->merges[i];

        emission->lives[merge->then].is_read = emission->lives[merge->otherwise].is_read = true;
        if (!emission->lowered->values[merge->out].is_in_place) {
            look_at(emission, merge->then, false);
            look_at(emission, merge->otherwise, false);
        }
    }
}

/* Marks the arrays whose elements a step finds by what says of themselves where they are. */
static void look_at_step(struct emission *emission, const struct step *step)
{
    const struct mdf_lowered_op *op = step->op;
    bool is_loop = step->kind == STEP_LOOP || step->kind == STEP_END_LOOP;
    const struct mdf_lowered_loop *loop = is_loop ? op->of.loop : NULL;
    bool calls = is_loop && emission_plan_loop(emission, step).calls;
    size_t i;

    if (step->kind == STEP_OP && op->code == MDF_LOWERED_PUT && emission_puts_in_place(emission->lowered, op)) {
        emission->lives[op->in[0]].is_read = true; /* the other elements stay there */
        look_at(emission, op->in[1], false);
        for (i = 0; i < op->of.put->n_indices && emission_index_number(emission, op, i) != MDF_LOWERED_NONE; i++) {
        }
        if (i < op->of.put->n_indices) {
            look_at(emission, op->in[2], false);
        }
    } else if (step->kind == STEP_OP && op->code == MDF_LOWERED_NEST && emission_is_point(emission->lowered, op->of.nest)) {
        for (i = 0; i < op->of.nest->n_steps; i++) {
            if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
                emission->lives[op->of.nest->steps[i].view.id].is_read = true;
            }
        }
    } else if (step->kind == STEP_IF || step->kind == STEP_ELSE || step->kind == STEP_END_IF) {
        look_at_merges(emission, op->of.branches);
    } else if (step->kind == STEP_OP && op->code == MDF_LOWERED_COPY && emission->lowered->values[op->out].is_in_place) {
        emission->lives[op->in[0]].is_read = true; /* it lies there */
    } else if (op != NULL && !is_loop) {
        mdf_lowered_visit_reads(op, look_at, emission);
    }
    if (step->kind == STEP_OP && (op->code == MDF_LOWERED_NEST || op->code == MDF_LOWERED_CALL ||
                                  (op->code == MDF_LOWERED_PUT && !emission_puts_in_place(emission->lowered, op)))) {
        mdf_lowered_visit_results(op, store_at, emission);
    }
    for (i = 0; is_loop && i < loop->n_states; i++) {
        emission->lives[loop->states[i].initial].is_read = emission->lives[loop->states[i].next].is_read = true;
        if (!loop->states[i].lies_in_initial || calls) { /* else who looks at the state finds what it lies in */
            look_at(emission, loop->states[i].initial, false);
        }
        if (loop->states[i].storage != MDF_LOWERED_IN_PLACE) {
            look_at(emission, loop->states[i].next, false);
        }
    }
    for (i = 0; is_loop && i < loop->n_rows; i++) {
        look_at(emission, loop->rows[i].source, false);
    }
    for (i = 0; is_loop && i < loop->n_stacks; i++) {
        look_at(emission, loop->stacks[i].item, false);
        if (loop->stacks[i].appends) {
            look_at(emission, loop->stacks[i].initial, false);
        }
    }
    for (i = 0; is_loop && i < loop->n_products; i++) {
        look_at(emission, loop->products[i]->a, false);
        look_at(emission, loop->products[i]->b, false);
        if (loop->products[i]->start != MDF_LOWERED_NONE) {
            look_at(emission, loop->products[i]->start, false);
        }
    }
}

void emission_find_arrays(struct emission *emission)
{
    bool is_apart = emission->part != NULL; /* code of another emission goes on with them */

    for (size_t at = 0; at < emission->n_steps; at++) {
        emission->at = (uint32_t)at;
        is_apart = is_apart || emission->steps[at].kind == STEP_CONCURRENT;
        look_at_step(emission, &emission->steps[at]);
    }
    for (size_t i = 0; i < emission->lowered->n_outputs; i++) {
        look_at(emission, emission->lowered->outputs[i].id, false);
    }
    for (size_t i = 0; i < emission->lowered->n_values && is_apart; i++) {
        look_at(emission, (mdf_lowered_id)i, false);
    }
}
