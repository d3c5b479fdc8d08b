/* emit_x86_64_loop.c - see emit_x86_64.h. Loops:
 *
 *           states = initial values, pointers to first items; go to end where there is no first run
 *   body:   bail out where interrupted; rows are loaded
 *           ...
 *           items are stored; states = what they are next; pointers and counter advance; go to body, or bail out at the limit
 *   end:    stacks are ended */
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_run.h"
#include "mdf_c/machine/emit_x86_64.h"

#include <string.h>

enum { LINE_BYTES = 64, LEAST_PREFETCHED = 1024, MOST_PREFETCHED = 16 * 1024, CACHED = 512 * 1024 }; /* bytes */

static void call_helper(struct emission *emission, const struct loop_plan *plan,
                        int (*helper)(struct mdf_lowered *, struct mdf_lowered_loop *, size_t))
{
    const void *address;

    memcpy(&address, &helper, sizeof address);
    emission_call_of_form(emission, address, plan->loop);
    emission_restore(emission);
}

/* number = the number of runs where that is known before; trip counts below 0 are 0, or refused by the helper. */
static void load_n_runs(struct emission *emission, const struct loop_plan *plan, uint8_t number)
{
    struct assembler *assembler = emission->assembler;

    if (plan->loop->n_runs != SIZE_MAX || plan->loop->trip_count == MDF_LOWERED_NONE) {
        assemble_move_number(assembler, number, plan->loop->n_runs);
        return;
    }
    emission_load_general(emission, plan->loop->trip_count, number);
    if (plan->loop->n_padded > 0) {
        return;
    }
    assemble_move_number(assembler, RAX, 0);
    assemble_general(assembler, GENERAL_TEST, 8, number, in_register(number));
    assemble_general(assembler, GENERAL_MOVE_IF + IF_NEGATIVE, 8, number, in_register(RAX));
}

static void multiply_register(struct emission *emission, uint8_t number, uint64_t factor)
{
    if (factor <= INT32_MAX) {
        assemble_multiply_by(emission->assembler, 8, number, in_register(number), (int32_t)factor);
    } else {
        assemble_move_number(emission->assembler, RDX, factor);
        assemble_general(emission->assembler, GENERAL_MULTIPLY, 8, number, in_register(RDX));
    }
}

static size_t bytes_of(const struct emission *emission, mdf_lowered_id id)
{
    const struct mdf_value *form = &emission->lowered->values[id].form;

    return form->length * mdf_dtype_size((mdf_dtype)form->dtype);
}

/* ------------------------------------------------------------------ pointers to items */

/* Whether an item is a number found by where the first one lies and the loop's counter, so that no pointer goes on with the runs.
 */
static bool is_counted(const struct emission *emission, const struct loop_plan *plan, mdf_lowered_id item, size_t n_bytes,
                       bool is_reversed)
{
    return plan->counts && !is_reversed && emission->lowered->values[item].is_scalar &&
           (n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8);
}

/* Where an item of this run is, by its pointer, which is loaded into `free` where it lies in no register; changes rdx. */
static struct machine_operand item_at(struct emission *emission, const struct loop_plan *plan, mdf_lowered_id pointer,
                                      mdf_lowered_id item, size_t n_bytes, bool is_reversed, uint8_t free)
{
    uint8_t base = emission_general(emission, pointer, free);

    return is_counted(emission, plan, item, n_bytes, is_reversed)
               ? in_memory_at(base, emission_general(emission, plan->counter, RDX), (uint8_t)n_bytes, 0)
               : in_memory(base, 0);
}

/* The pointer becomes rax, plus all items but one where it goes from the last one. */
static void begin_pointer(struct emission *emission, const struct loop_plan *plan, mdf_lowered_id pointer, bool is_reversed,
                          size_t item_bytes)
{
    struct assembler *assembler = emission->assembler;

    if (is_reversed) {
        assemble_push(assembler, RAX);
        load_n_runs(emission, plan, RCX);
        assemble_with_number(assembler, NUMBER_SUBTRACT, 8, in_register(RCX), 1);
        multiply_register(emission, RCX, item_bytes);
        assemble_pop(assembler, RAX);
        assemble_general(assembler, GENERAL_ADD, 8, RAX, in_register(RCX));
    }
    emission_finish(emission, pointer, RAX);
}

static void begin_pointers(struct emission *emission, const struct loop_plan *plan)
{
    struct assembler *assembler = emission->assembler;

    for (size_t i = 0; i < plan->loop->n_rows; i++) {
        const struct mdf_lowered_rows *rows = &plan->loop->rows[i];

        if (emission->lowered->values[rows->source].is_scalar) {
            emission_publish(emission, rows->source);
            assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, in_memory(CELLS, (int32_t)(8 * rows->source)));
        } else {
            assemble_load(assembler, 8, RAX, emission_array_data(rows->source));
        }
        begin_pointer(emission, plan, (mdf_lowered_id)(plan->rows + i), rows->is_reversed, bytes_of(emission, rows->parameter));
    }
    for (size_t i = 0; i < plan->loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &plan->loop->stacks[i];

        assemble_move_address(assembler, RAX, &stack->items);
        assemble_load(assembler, 8, RAX, in_memory(RAX, 0));
        begin_pointer(emission, plan, (mdf_lowered_id)(plan->stacks + i), stack->is_reversed, stack->item_bytes);
    }
}

/* Those that stacks begin with, and states that are open. */
static void publish_initial_elements(struct emission *emission, const struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_value *values = emission->lowered->values;

    for (size_t i = 0; i < loop->n_states; i++) {
        if (values[loop->states[i].parameter].open_axes != 0 && values[loop->states[i].initial].is_scalar) {
            emission_publish(emission, loop->states[i].initial);
        }
    }

    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].appends && emission->lowered->values[loop->stacks[i].initial].is_scalar) {
            emission_publish(emission, loop->stacks[i].initial);
        }
    }
}

static void advance(struct emission *emission, mdf_lowered_id id, size_t n_bytes, bool is_reversed)
{
    struct assembler *assembler = emission->assembler;
    uint8_t target = emission_target(emission, id, RAX);

    emission_load_general(emission, id, target);
    if (n_bytes <= INT32_MAX) {
        assemble_with_number(assembler, NUMBER_ADD, 8, in_register(target), is_reversed ? -(int32_t)n_bytes : (int32_t)n_bytes);
    } else {
        assemble_move_number(assembler, RCX, is_reversed ? 0 - (uint64_t)n_bytes : n_bytes);
        assemble_general(assembler, GENERAL_ADD, 8, target, in_register(RCX));
    }
    emission_finish(emission, id, target);
}

static void advance_pointer(struct emission *emission, const struct loop_plan *plan, mdf_lowered_id pointer, mdf_lowered_id item,
                            size_t n_bytes, bool is_reversed)
{
    if (!is_counted(emission, plan, item, n_bytes, is_reversed)) {
        advance(emission, pointer, n_bytes, is_reversed);
    }
}

/* ------------------------------------------------------------------ before a loop */

static void set_number(struct emission *emission, mdf_lowered_id id, uint64_t number)
{
    uint8_t target = emission_target(emission, id, RAX);

    assemble_move_number(emission->assembler, target, number);
    emission_finish(emission, id, target);
}

static void begin_values(struct emission *emission, const struct loop_plan *plan)
{
    struct assembler *assembler = emission->assembler;
    const struct mdf_lowered_loop *loop = plan->loop;

    for (size_t i = 0; i < loop->n_states; i++) {
        if (emission->lowered->values[loop->states[i].parameter].is_scalar) {
            emission_copy(emission, loop->states[i].parameter, loop->states[i].initial);
        }
    }
    if (plan->counts) {
        set_number(emission, plan->counter, 0);
    }
    if (loop->is_going_on != MDF_LOWERED_NONE && emission->lives[loop->is_going_on].n_uses > 0) {
        set_number(emission, loop->is_going_on, 1); /* else there would be no run */
    }
    if (plan->bound != MDF_LOWERED_NONE && plan->bound != loop->trip_count) {
        emission_load_general(emission, loop->trip_count, RAX);
        assemble_move_number(assembler, RCX, loop->limit);
        assemble_general(assembler, GENERAL_COMPARE, 8, RAX, in_register(RCX));
        assemble_general(assembler, GENERAL_MOVE_IF + IF_ABOVE, 8, RAX, in_register(RCX));
        emission_finish(emission, plan->bound, RAX);
    }
}

static void skip_without_runs(struct emission *emission, const struct loop_plan *plan, machine_label end)
{
    struct assembler *assembler = emission->assembler;
    uint8_t number;

    if (plan->loop->condition != MDF_LOWERED_NONE &&
        (!emission_is_constant(emission, plan->loop->condition) || emission_constant(emission, plan->loop->condition) == 0)) {
        emission_jump(emission, plan->loop->condition, false, end);
    }
    if (plan->bound != MDF_LOWERED_NONE) {
        number = emission_general(emission, plan->loop->trip_count, RAX);
        assemble_general(assembler, GENERAL_TEST, 8, number, in_register(number));
        assemble_jump_if(assembler, IF_LESS_OR_EQUAL, end);
    } else if (plan->is_bounded && plan->constant == 0) {
        assemble_jump(assembler, end);
    }
}

static void load_row(struct emission *emission, mdf_lowered_id parameter, struct machine_operand item)
{
    const struct life *life = &emission->lives[parameter];
    uint8_t target;

    if (!emission->lowered->values[parameter].is_scalar) {
        assemble_store(emission->assembler, 8, item.number, emission_array_data(parameter));
    } else if (life->n_uses > 0 && life->kind == LIFE_REAL) {
        target = emission_target(emission, parameter, SCRATCH_REAL);
        assemble_vector(emission->assembler, life->size == 4 ? VECTOR_LOAD_FLOAT : VECTOR_LOAD_DOUBLE, 16, target, 0, item);
        emission_finish(emission, parameter, target);
    } else if (life->n_uses > 0) {
        target = emission_target(emission, parameter, RAX);
        assemble_load(emission->assembler, life->size, target, item);
        emission_finish(emission, parameter, target);
    }
}

static bool is_scanned_backward(const struct mdf_lowered_loop *loop, mdf_lowered_id source)
{
    size_t i;

    for (i = 0; i < loop->n_rows && (loop->rows[i].source != source || !loop->rows[i].is_reversed); i++) {
    }
    return i < loop->n_rows;
}

/* Whether the items of an array that the loop scans backward lie in another one that it scans so, one item behind those that it
 * reads of that: a run before has read them. */
static bool has_been_read(const struct emission *emission, const struct mdf_lowered_loop *loop, mdf_lowered_id source)
{
    const struct mdf_lowered_region *region = &emission->lowered->region;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_loop *maker = region->ops[i].code == MDF_LOWERED_LOOP ? region->ops[i].of.loop : NULL;

        for (size_t j = 0; maker != NULL && j < maker->n_stacks; j++) {
            const struct mdf_lowered_stack *holding =
                maker->stacks[j].stack == source ? mdf_lowered_holding_stack(maker, &maker->stacks[j]) : NULL;

            if (holding != NULL && is_scanned_backward(loop, holding->stack)) {
                return true;
            }
        }
    }
    return false;
}

/* The item that the next run reads, of an array that is larger than the nearest caches: processors do not read ahead backward,
 * from one item to the one before it. */
static void prefetch_row(struct emission *emission, const struct mdf_lowered_loop *loop, const struct mdf_lowered_rows *rows,
                         uint8_t pointer)
{
    size_t n_bytes = bytes_of(emission, rows->parameter), at;

    if (emission->lowered->values[rows->parameter].is_scalar || !rows->is_reversed || n_bytes < LEAST_PREFETCHED ||
        n_bytes > MOST_PREFETCHED || bytes_of(emission, rows->source) < CACHED || has_been_read(emission, loop, rows->source)) {
        return;
    }
    for (at = 0; at < n_bytes; at += LINE_BYTES) {
        assemble_prefetch(emission->assembler, in_memory(pointer, (int32_t)at - (int32_t)n_bytes));
    }
}

/* Bails out where somebody has asked to stop. */
static void ask_to_stop(struct emission *emission)
{
    assemble_with_number(emission->assembler, NUMBER_COMPARE, 1, in_memory(emission_stop_base(emission, RAX), 0), 0);
    assemble_jump_if(emission->assembler, IF_NOT_EQUAL, emission->bail_out);
}

static void emit_stop(struct emission *emission, const struct late_case *late)
{
    (void)late;
    ask_to_stop(emission);
}

/* The same behind the last run of every few, beside all other code. */
static void ask_now_and_then(struct emission *emission, uint8_t counter)
{
    assemble_test_number(emission->assembler, 4, in_register(counter), ASKED_EACH - 1);
    emission_jump_late(emission, IF_EQUAL, (struct late_case){.emit = emit_stop});
}

static void begin_run(struct emission *emission, const struct loop_plan *plan)
{
    struct assembler *assembler = emission->assembler;
    const struct mdf_lowered_loop *loop = plan->loop;

    if (plan->asking == ASKS_ALWAYS) {
        ask_to_stop(emission);
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        const struct mdf_lowered_rows *rows = &loop->rows[i];
        struct machine_operand item = item_at(emission, plan, (mdf_lowered_id)(plan->rows + i), rows->parameter,
                                              bytes_of(emission, rows->parameter), rows->is_reversed, RAX);

        load_row(emission, rows->parameter, item);
        prefetch_row(emission, loop, rows, item.number);
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];
        const struct mdf_lowered_state *held = mdf_lowered_held_state(loop, stack);
        uint8_t pointer = stack->is_direct ? emission_general(emission, (mdf_lowered_id)(plan->stacks + i), RAX) : RAX;

        if (held != NULL) {
            assemble_general(assembler, GENERAL_ADDRESS, 8, RAX, in_memory(pointer, (int32_t)stack->item_bytes));
            assemble_store(assembler, 8, RAX, emission_array_data(held->next));
        } else if (stack->is_direct) {
            assemble_store(assembler, 8, pointer, emission_array_data(stack->item));
        }
    }
}

static void lay_there(struct emission *emission, mdf_lowered_id id, uint8_t base)
{
    if (emission->lives[id].is_looked_at) {
        assemble_store(emission->assembler, 8, base, emission_array_data(id));
    }
}

/* What mdf_lowered_begin_loop would do of states that lie where those of the loop around do, for who looks at where they lie. */
static void begin_where_others_lie(struct emission *emission, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];
        bool is_made = state->begins_made && emission->lives[state->made].is_looked_at;

        if (state->lies_in_initial &&
            (is_made || emission->lives[state->parameter].is_looked_at || emission->lives[state->next].is_looked_at)) {
            assemble_load(emission->assembler, 8, RAX, emission_array_data(emission->lies_in[state->initial]));
            lay_there(emission, state->parameter, RAX);
            lay_there(emission, state->next, RAX);
            if (is_made) {
                lay_there(emission, state->made, RAX);
            }
        }
    }
}

void emission_begin_loop(struct emission *emission, struct step *step)
{
    struct assembler *assembler = emission->assembler;
    struct loop_plan plan = emission_plan_loop(emission, step);

    publish_initial_elements(emission, plan.loop);
    if (plan.calls && emission->part == NULL) { /* else that is done before */
        load_n_runs(emission, &plan, RDX);
        call_helper(emission, &plan, mdf_lowered_begin_loop);
    } else if (!plan.calls) {
        begin_where_others_lie(emission, plan.loop);
    }
    begin_values(emission, &plan);
    begin_pointers(emission, &plan);
    step->labels[0] = new_label(assembler);
    step->labels[1] = new_label(assembler);
    skip_without_runs(emission, &plan, step->labels[1]);
    emission_begin_arrays(emission, step);
    assemble_align(assembler, 32);
    bind_label(assembler, step->labels[0]);
    begin_run(emission, &plan);
}

/* ------------------------------------------------------------------ behind the body */

static void store_item(struct emission *emission, const struct loop_plan *plan, const struct mdf_lowered_stack *stack,
                       mdf_lowered_id pointer)
{
    struct assembler *assembler = emission->assembler;
    const struct mdf_value *form = &emission->lowered->values[stack->item].form;
    bool is_real = mdf_dtype_is_real(form->dtype);
    struct machine_operand place;

    if (!emission->lowered->values[stack->item].is_scalar) {
        emission_load_general(emission, pointer, RAX);
        assemble_load(assembler, 8, RSI, emission_array_data(stack->item));
        assemble_move(assembler, RDI, RAX);
        assemble_move_number(assembler, RDX, stack->item_bytes);
        emission_call_memcpy(emission);
        emission_restore(emission);
        return;
    }
    place = item_at(emission, plan, pointer, stack->item, stack->item_bytes, stack->is_reversed, RCX);
    if (is_real) {
        assemble_vector(assembler, stack->item_bytes == 4 ? VECTOR_STORE_FLOAT : VECTOR_STORE_DOUBLE, 16,
                        emission_real(emission, stack->item, SCRATCH_REAL), 0, place);
    } else {
        assemble_store(assembler, (unsigned)stack->item_bytes, emission_general(emission, stack->item, RAX), place);
    }
}

/* Of two arrays of one form: what says where their elements are. */
static void swap_arrays(struct emission *emission, mdf_lowered_id a, mdf_lowered_id b)
{
    struct assembler *assembler = emission->assembler;
    struct machine_operand first = emission_array_data(a), second = emission_array_data(b);

    _Static_assert(offsetof(struct mdf_value, buffer) == offsetof(struct mdf_value, data) + sizeof(void *),
                   "they are exchanged as one vector");
    assemble_vector(assembler, VECTOR_LOAD, 16, SECOND_SCRATCH_REAL, 0, first);
    assemble_vector(assembler, VECTOR_LOAD, 16, SCRATCH_REAL, 0, second);
    assemble_vector(assembler, VECTOR_STORE, 16, SCRATCH_REAL, 0, first);
    assemble_vector(assembler, VECTOR_STORE, 16, SECOND_SCRATCH_REAL, 0, second);
}

/* Of two arrays whose shapes may differ. */
static void swap_values(struct emission *emission, mdf_lowered_id a, mdf_lowered_id b)
{
    void (*function)(struct mdf_value *, struct mdf_value *) = mdf_value_swap;
    const void *address;

    memcpy(&address, &function, sizeof address);
    assemble_move_address(emission->assembler, RDI, &emission->lowered->arrays[a]);
    assemble_move_address(emission->assembler, RSI, &emission->lowered->arrays[b]);
    emission_call(emission, address);
    emission_restore(emission);
}

static void carry_states(struct emission *emission, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];
        mdf_lowered_id next = mdf_lowered_exchanged(state);

        if (emission->lowered->values[state->parameter].is_scalar) {
            emission_copy(emission, state->parameter, next);
        } else if (state->storage == MDF_LOWERED_IN_STACK) {
            assemble_load(emission->assembler, 8, RAX, emission_array_data(next));
            assemble_store(emission->assembler, 8, RAX, emission_array_data(state->parameter));
        } else if (emission->lowered->values[state->parameter].open_axes != 0) {
            swap_values(emission, state->parameter, next);
        } else if (state->storage == MDF_LOWERED_TWO_BUFFERS) {
            swap_arrays(emission, state->parameter, next);
        }
    }
}

/* What is computed ahead: its place goes on with the runs; behind the last one of a block, the next block is computed. */
static void advance_products(struct emission *emission, const struct loop_plan *plan)
{
    struct assembler *assembler = emission->assembler;
    machine_label within = new_label(assembler);

    for (size_t i = 0; i < plan->loop->n_products; i++) {
        const struct mdf_lowered_product *product = plan->loop->products[i];

        if (product->rows != NULL) {
            int32_t n_bytes = (int32_t)bytes_of(emission, product->out);

            assemble_with_number(assembler, NUMBER_ADD, 8, emission_array_data(product->out),
                                 product->rows->is_reversed ? -n_bytes : n_bytes);
        }
    }
    assemble_move_address(assembler, RAX, &plan->loop->block_end);
    assemble_general(assembler, GENERAL_COMPARE, 8, emission_general(emission, plan->counter, RDX), in_memory(RAX, 0));
    assemble_jump_if(assembler, IF_BELOW, within);
    emission_load_general(emission, plan->counter, RDX);
    call_helper(emission, plan, mdf_lowered_multiply_ahead);
    bind_label(assembler, within);
}

/* Stores come to be seen in the order in which they are made: whoever sees the number sees the items. */
static void tell_of_item(struct emission *emission, const struct loop_plan *plan)
{
    struct mdf_lowered_concurrent *concurrent = plan->loop->concurrent;

    if (concurrent->loops[0] == plan->loop) {
        assemble_move_address(emission->assembler, RAX, &concurrent->n_there);
        assemble_store(emission->assembler, 8, emission_general(emission, plan->counter, RDX), in_memory(RAX, 0));
    }
}

static void end_run(struct emission *emission, const struct loop_plan *plan)
{
    const struct mdf_lowered_loop *loop = plan->loop;

    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (!loop->stacks[i].is_direct && !loop->stacks[i].is_put && !loop->stacks[i].is_behind) {
            store_item(emission, plan, &loop->stacks[i], (mdf_lowered_id)(plan->stacks + i));
        }
    }
    if (plan->next_condition != MDF_LOWERED_NONE && plan->next_condition != loop->next_condition) {
        emission_load_general(emission, loop->next_condition, RAX);
        emission_finish(emission, plan->next_condition, RAX);
    }
    carry_states(emission, loop);
    for (size_t i = 0; i < loop->n_rows; i++) {
        advance_pointer(emission, plan, (mdf_lowered_id)(plan->rows + i), loop->rows[i].parameter,
                        bytes_of(emission, loop->rows[i].parameter), loop->rows[i].is_reversed);
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        advance_pointer(emission, plan, (mdf_lowered_id)(plan->stacks + i), loop->stacks[i].item, loop->stacks[i].item_bytes,
                        loop->stacks[i].is_reversed);
    }
    if (plan->counts) {
        advance(emission, plan->counter, 1, false);
    }
    if (plan->asking == ASKS_SELDOM) {
        ask_now_and_then(emission, emission_general(emission, plan->counter, RAX));
    }
    if (emission->part != NULL && loop->concurrent->waits) {
        tell_of_item(emission, plan);
    }
    if (loop->block_runs > 0) {
        advance_products(emission, plan);
    }
}

/* Sets the flags: counter against bound. */
static void compare_with_bound(struct emission *emission, const struct loop_plan *plan)
{
    struct assembler *assembler = emission->assembler;
    uint8_t counter = emission_general(emission, plan->counter, RAX);

    if (plan->bound != MDF_LOWERED_NONE) {
        assemble_general(assembler, GENERAL_COMPARE, 8, counter, emission_operand(emission, plan->bound));
    } else if (plan->constant <= INT32_MAX) {
        assemble_with_number(assembler, NUMBER_COMPARE, 8, in_register(counter), (int32_t)plan->constant);
    } else {
        assemble_move_number(assembler, RCX, plan->constant);
        assemble_general(assembler, GENERAL_COMPARE, 8, counter, in_register(RCX));
    }
}

/* Room for the item of the next run. */
static void grow_where_full(struct emission *emission, const struct loop_plan *plan, machine_label body)
{
    struct assembler *assembler = emission->assembler;
    uint8_t counter = emission_general(emission, plan->counter, RCX);

    assemble_move_address(assembler, RAX, &plan->loop->stacks[0].capacity);
    assemble_general(assembler, GENERAL_COMPARE, 8, counter, in_memory(RAX, 0));
    assemble_jump_if(assembler, IF_BELOW, body);
    assemble_general(assembler, GENERAL_ADDRESS, 8, RDX, in_memory(counter, 1));
    call_helper(emission, plan, mdf_lowered_grow_stacks);
    for (size_t i = 0; i < plan->loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &plan->loop->stacks[i];

        if (is_counted(emission, plan, stack->item, stack->item_bytes, stack->is_reversed)) {
            assemble_move_number(assembler, RCX, 0);
        } else {
            emission_load_general(emission, plan->counter, RCX);
            multiply_register(emission, RCX, stack->item_bytes);
        }
        assemble_move_address(assembler, RAX, &stack->items);
        assemble_general(assembler, GENERAL_ADD, 8, RCX, in_memory(RAX, 0));
        emission_finish(emission, (mdf_lowered_id)(plan->stacks + i), RCX);
    }
}

/* The bound is reached: where that is the limit, and there would be more runs, bail out. */
static void bail_out_at_limit(struct emission *emission, const struct loop_plan *plan)
{
    struct assembler *assembler = emission->assembler;
    const struct mdf_lowered_loop *loop = plan->loop;

    if (loop->limit == 0) {
        return;
    }
    if (plan->bound != MDF_LOWERED_NONE) {
        assemble_move_number(assembler, RCX, loop->limit);
        assemble_general(assembler, GENERAL_COMPARE, 8, RCX, emission_operand(emission, loop->trip_count));
        assemble_jump_if(assembler, IF_BELOW, emission->bail_out);
    } else if (loop->n_runs > loop->limit) {
        assemble_jump(assembler, emission->bail_out);
    }
}

/* Whether a condition that becomes flags where it is asked has to be asked before states go on. */
static bool asks_of_states(const struct emission *emission, mdf_lowered_id condition, uint32_t loop)
{
    const struct mdf_lowered_op *op = emission_deferred(emission, condition);
    size_t i;

    for (i = 0;
         op != NULL && i < op->n_in && emission->lives[op->in[i]].step != loop && !asks_of_states(emission, op->in[i], loop);
         i++) {
    }
    return op != NULL && i < op->n_in;
}

/* Whether nothing but moves stands between the end of a run and the next one: they leave flags as they are. */
static bool only_moves(const struct loop_plan *plan)
{
    const struct mdf_lowered_loop *loop = plan->loop;

    return !plan->counts && loop->n_rows == 0 && loop->n_stacks == 0 && loop->block_runs == 0 && loop->concurrent == NULL;
}

/* Flags last until states go on, where these are only moved; else, where the last run is done, they do so in a place of their
 * own.
 */
static void end_loop_early(struct emission *emission, const struct loop_plan *plan, const machine_label *labels)
{
    machine_label leave = new_label(emission->assembler);
    struct machine_test test;

    if (only_moves(plan) && emission_compare(emission, plan->next_condition, &test)) {
        end_run(emission, plan);
        emission_jump_on(emission, test, labels[0]);
        bind_label(emission->assembler, labels[1]);
        return;
    }
    emission_jump(emission, plan->next_condition, false, leave);
    end_run(emission, plan);
    if (plan->is_bounded) {
        compare_with_bound(emission, plan);
        assemble_jump_if(emission->assembler, IF_BELOW, labels[0]);
        bail_out_at_limit(emission, plan);
        assemble_jump(emission->assembler, labels[1]);
    } else {
        assemble_jump(emission->assembler, labels[0]);
    }
    bind_label(emission->assembler, leave);
    end_run(emission, plan);
    bind_label(emission->assembler, labels[1]);
}

void emission_end_loop(struct emission *emission, struct step *step)
{
    struct assembler *assembler = emission->assembler;
    struct loop_plan plan = emission_plan_loop(emission, step);
    const machine_label *labels = emission->steps[step->partner].labels;
    bool may_grow = plan.loop->n_stacks > 0 && !plan.is_known;
    machine_label reached = new_label(assembler);

    emission->pointer_loop = NULL;
    if (plan.may_leave_early && asks_of_states(emission, plan.next_condition, step->partner)) {
        end_loop_early(emission, &plan, labels);
        return;
    }
    end_run(emission, &plan);
    if (plan.next_condition != MDF_LOWERED_NONE && !plan.is_bounded && !may_grow) {
        emission_jump(emission, plan.next_condition, true, labels[0]);
    } else if (plan.next_condition != MDF_LOWERED_NONE) {
        emission_jump(emission, plan.next_condition, false, labels[1]);
    }
    if (plan.is_bounded) {
        compare_with_bound(emission, &plan);
        assemble_jump_if(assembler, may_grow ? IF_ABOVE_OR_EQUAL : IF_BELOW, may_grow ? reached : labels[0]);
    }
    if (may_grow) {
        grow_where_full(emission, &plan, labels[0]);
    }
    if (may_grow || (!plan.is_bounded && plan.next_condition == MDF_LOWERED_NONE)) {
        assemble_jump(assembler, labels[0]);
    }
    bind_label(assembler, reached);
    if (plan.is_bounded) {
        bail_out_at_limit(emission, &plan);
    }
    bind_label(assembler, labels[1]);
    if (plan.calls) {
        emission_load_general(emission, plan.counter, RDX);
        call_helper(emission, &plan, mdf_lowered_end_loop);
    }
}
