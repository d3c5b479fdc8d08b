/* lowered_run.c - see lowered_run.h: what goes in, the plain form of running a region, and what goes out. */
#include "mdf_c/lower/lowered_run.h"

#include "functions/coerce.h"
#include "mdf_c/lower/emit.h"

#include <math.h>
#include <string.h>

static size_t size_of(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return mdf_dtype_size((mdf_dtype)lowered->values[id].form.dtype);
}

static bool is_scalar(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return lowered->values[id].is_scalar;
}

/* Where the elements of a value are. */
static void *elements_of(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return is_scalar(lowered, id) ? (void *)&lowered->cells[id] : lowered->arrays[id].data;
}

static bool is_interrupted(const struct mdf_lowered *lowered)
{
    return lowered->context->interrupted != NULL && atomic_load_explicit(lowered->context->interrupted, memory_order_relaxed);
}

/* ------------------------------------------------------------------ element ops */

static bool run_cast(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_value *form = &lowered->values[op->out].form;

    return mdf_lowered_cast((mdf_dtype)op->dtype, (mdf_dtype)form->dtype, elements_of(lowered, op->in[0]),
                            elements_of(lowered, op->out), form->length);
}

static bool run_function(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    double operands[2] = {0, 0}, result;

    memcpy(&operands[0], &lowered->cells[op->in[0]], sizeof operands[0]);
    if (op->n_in > 1) {
        memcpy(&operands[1], &lowered->cells[op->in[1]], sizeof operands[1]);
    }
    result = op->n_in > 1 ? op->of.function_of_two(operands[0], operands[1]) : op->of.function(operands[0]);
    memcpy(&lowered->cells[op->out], &result, sizeof result);
    return isfinite(result);
}

/* ELEMENTS on scalars. */
static bool run_loop_once(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    static const size_t steps[MDF_MAX_OPERANDS] = {1, 1, 1};
    const void *operands[MDF_MAX_OPERANDS] = {NULL};
    size_t i;

    for (i = 0; i < op->n_in; i++) {
        operands[i] = &lowered->cells[op->in[i]];
    }
    return op->loop(&lowered->cells[op->out], operands, steps, 1, op->loop_settings);
}

static bool run_scalar_op(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const uint64_t *operands[MDF_MAX_OPERANDS] = {NULL};
    size_t i;

    for (i = 0; i < op->n_in; i++) {
        operands[i] = &lowered->cells[op->in[i]];
    }
    return mdf_lowered_compute((enum mdf_lowered_code)op->code, (mdf_dtype)op->dtype, operands, &lowered->cells[op->out]);
}

static void run_copy(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    const struct mdf_value *form = &lowered->values[op->out].form;

    memcpy(elements_of(lowered, op->out), elements_of(lowered, op->in[0]), form->length * mdf_dtype_size((mdf_dtype)form->dtype));
}

/* ------------------------------------------------------------------ FUSED */

/* Where the elements of op number `at` of a group go that are made for the tile from `first` on. */
static char *place_of(const struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused, size_t at, size_t first)
{
    mdf_lowered_id id = fused->body.ops[at].out;

    return lowered->values[id].is_stored ? (char *)lowered->arrays[id].data + first * size_of(lowered, id)
                                         : fused->tiles + at * MDF_LOWERED_TILE * sizeof(double);
}

/* Where the elements of an operand of op number `at` are. */
static const char *operand_of(const struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused, size_t at, size_t operand,
                              size_t first)
{
    mdf_lowered_id id = fused->body.ops[at].in[operand];
    size_t i;

    if (is_scalar(lowered, id)) {
        return (const char *)&lowered->cells[id];
    }
    for (i = at; i-- > 0;) {
        if (fused->body.ops[i].out == id) {
            return place_of(lowered, fused, i, first);
        }
    }
    return (const char *)lowered->arrays[id].data + first * size_of(lowered, id);
}

static bool run_tile(struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused, size_t first, size_t n)
{
    size_t at, i;

    for (at = 0; at < fused->body.n_ops; at++) {
        const struct mdf_lowered_op *op = &fused->body.ops[at];
        const void *operands[MDF_MAX_OPERANDS] = {NULL};
        size_t steps[MDF_MAX_OPERANDS] = {0};
        char *place = place_of(lowered, fused, at, first);

        for (i = 0; i < op->n_in; i++) {
            operands[i] = operand_of(lowered, fused, at, i, first);
            steps[i] = !is_scalar(lowered, op->in[i]);
        }
        if (op->code == MDF_LOWERED_CAST
                ? !mdf_lowered_cast((mdf_dtype)op->dtype, (mdf_dtype)lowered->values[op->out].form.dtype, operands[0], place, n)
                : !op->loop(place, operands, steps, n, op->loop_settings)) {
            return false;
        }
    }
    return true;
}

int mdf_lowered_run_fused(struct mdf_lowered *lowered, const struct mdf_lowered_fused *fused)
{
    size_t first;

    for (first = 0; first < fused->n; first += MDF_LOWERED_TILE) {
        size_t rest = fused->n - first;

        if (!run_tile(lowered, fused, first, rest < MDF_LOWERED_TILE ? rest : MDF_LOWERED_TILE)) {
            return 1;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ CALL */

static bool has_form(const struct mdf_value *value, const struct mdf_value *form)
{
    return memcmp(value, form, sizeof(uint64_t)) == 0 && value->length == form->length &&
           (form->rank == 0 || memcmp(mdf_value_shape(value), mdf_value_shape(form), form->rank * sizeof(int64_t)) == 0);
}

int mdf_lowered_run_call(struct mdf_lowered *lowered, struct mdf_lowered_call *call)
{
    size_t i;

    if (!call->call.kernel(&call->call)) {
        return 1;
    }
    if (call->weakens) {
        mdf_weaken_outputs(&call->call);
    }
    for (i = 0; i < call->n_outputs; i++) {
        mdf_lowered_id id = call->outputs[i];

        if (id == MDF_LOWERED_NONE) {
            continue;
        }
        if (!has_form(&lowered->arrays[id], &lowered->values[id].form)) {
            return 1;
        }
        if (is_scalar(lowered, id)) {
            memcpy(&lowered->cells[id], lowered->arrays[id].data, size_of(lowered, id));
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ LOOP */

enum { FIRST_CAPACITY = 1024 };

/* An array of memory of its own in the form of the value, with `n_items` along the first axis where that is not SIZE_MAX. */
static bool make_array(struct mdf_lowered *lowered, mdf_lowered_id id, struct mdf_value *array, size_t n_items)
{
    const struct mdf_value *form = &lowered->values[id].form;
    int64_t shape[MDF_INLINE_RANK] = {0};

    memcpy(shape, mdf_value_shape(form), form->rank * sizeof *shape);
    if (n_items != SIZE_MAX) {
        if (n_items > INT64_MAX) {
            return false;
        }
        shape[0] = (int64_t)n_items;
    }
    if (mdf_value_make_tensor(lowered->context->memory, array, (mdf_dtype)form->dtype, form->rank, shape) == NULL) {
        return false;
    }
    array->strength = form->strength;
    return true;
}

static bool begin_stack(struct mdf_lowered *lowered, struct mdf_lowered_stack *stack, size_t capacity)
{
    if (!make_array(lowered, stack->stack, &lowered->arrays[stack->stack], capacity)) {
        return false;
    }
    stack->items = lowered->arrays[stack->stack].data;
    stack->capacity = capacity;
    return true;
}

int mdf_lowered_begin_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs)
{
    size_t capacity = loop->condition != MDF_LOWERED_NONE && n_runs > FIRST_CAPACITY ? FIRST_CAPACITY : n_runs, i;

    for (i = 0; i < loop->n_stacks; i++) {
        if (!begin_stack(lowered, &loop->stacks[i], capacity == SIZE_MAX ? FIRST_CAPACITY : capacity)) {
            return 1;
        }
    }
    for (i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];

        if (is_scalar(lowered, state->parameter)) {
            continue;
        }
        if (!make_array(lowered, state->parameter, &lowered->arrays[state->parameter], SIZE_MAX)) {
            return 1;
        }
        memcpy(lowered->arrays[state->parameter].data, lowered->arrays[state->initial].data,
               lowered->values[state->initial].form.length * size_of(lowered, state->initial));
    }
    return 0;
}

int mdf_lowered_grow_stacks(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_items)
{
    struct mdf_memory *memory = lowered->context->memory;
    size_t i;

    for (i = 0; i < loop->n_stacks; i++) {
        struct mdf_lowered_stack *stack = &loop->stacks[i];
        struct mdf_value *old = &lowered->arrays[stack->stack], grown = {0};
        size_t capacity = stack->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : 2 * stack->capacity;

        capacity = capacity < n_items ? n_items : capacity;
        if (!make_array(lowered, stack->stack, &grown, capacity)) {
            return 1;
        }
        memcpy(grown.data, stack->items, stack->capacity * stack->item_bytes);
        mdf_value_swap(&grown, old);
        mdf_value_clear(memory, &grown);
        stack->items = old->data;
        stack->capacity = capacity;
    }
    return 0;
}

int mdf_lowered_end_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs)
{
    size_t i;

    for (i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];
        struct mdf_value *array = &lowered->arrays[stack->stack];

        array->shape.sizes[0] = (int64_t)n_runs;
        array->length = n_runs * (stack->item_bytes / size_of(lowered, stack->stack));
    }
    return 0;
}

static void set_parameters(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    int64_t number = (int64_t)run;
    size_t i;

    if (loop->number != MDF_LOWERED_NONE) {
        memcpy(&lowered->cells[loop->number], &number, sizeof number);
    }
    for (i = 0; i < loop->n_rows; i++) {
        const struct mdf_lowered_rows *rows = &loop->rows[i];
        size_t n_bytes = lowered->values[rows->parameter].form.length * size_of(lowered, rows->parameter);
        char *item = (char *)elements_of(lowered, rows->source) + (rows->is_reversed ? n_runs - 1 - run : run) * n_bytes;

        if (is_scalar(lowered, rows->parameter)) {
            memcpy(&lowered->cells[rows->parameter], item, n_bytes);
        } else {
            lowered->arrays[rows->parameter].data = item;
        }
    }
}

static char *item_place(const struct mdf_lowered_stack *stack, size_t n_runs, size_t run)
{
    return stack->items + (stack->is_reversed ? n_runs - 1 - run : run) * stack->item_bytes;
}

static bool open_items(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    size_t i;

    if (loop->n_stacks > 0 && run >= loop->stacks[0].capacity && mdf_lowered_grow_stacks(lowered, loop, run + 1) != 0) {
        return false;
    }
    for (i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].is_direct) {
            lowered->arrays[loop->stacks[i].item].data = item_place(&loop->stacks[i], n_runs, run);
        }
    }
    return true;
}

static void close_run(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    size_t i;

    for (i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];

        if (!stack->is_direct) {
            memcpy(item_place(stack, n_runs, run), elements_of(lowered, stack->item), stack->item_bytes);
        }
    }
    for (i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];
        struct mdf_value *parameter = &lowered->arrays[state->parameter], *next = &lowered->arrays[state->next];

        if (is_scalar(lowered, state->parameter)) {
            lowered->cells[state->parameter] = lowered->cells[state->next];
        } else if (state->is_in_stack) {
            parameter->data = next->data;
        } else {
            mdf_value_swap(parameter, next);
        }
    }
}

static bool is_true(const struct mdf_lowered *lowered, mdf_lowered_id id)
{
    return *(const uint8_t *)&lowered->cells[id] != 0;
}

/* The number of runs that a loop can have at most; SIZE_MAX: no bound. */
static size_t bound_of(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop)
{
    int64_t trip_count;

    if (loop->n_runs != SIZE_MAX || loop->trip_count == MDF_LOWERED_NONE) {
        return loop->n_runs;
    }
    memcpy(&trip_count, &lowered->cells[loop->trip_count], sizeof trip_count);
    return trip_count < 0 ? 0 : (size_t)trip_count;
}

static bool run_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop)
{
    size_t n_runs = bound_of(lowered, loop), run, i;
    bool going_on = loop->condition == MDF_LOWERED_NONE || is_true(lowered, loop->condition);

    if (mdf_lowered_begin_loop(lowered, loop, n_runs) != 0) {
        return false;
    }
    for (i = 0; i < loop->n_states; i++) {
        if (is_scalar(lowered, loop->states[i].parameter)) {
            lowered->cells[loop->states[i].parameter] = lowered->cells[loop->states[i].initial];
        }
    }
    for (run = 0; run < n_runs && going_on; run++) {
        if ((loop->limit != 0 && run >= loop->limit) || is_interrupted(lowered) || !open_items(lowered, loop, n_runs, run)) {
            return false;
        }
        if (loop->is_going_on != MDF_LOWERED_NONE) {
            *(uint8_t *)&lowered->cells[loop->is_going_on] = 1;
        }
        set_parameters(lowered, loop, n_runs, run);
        if (!mdf_lowered_run_region(lowered, &loop->body)) {
            return false;
        }
        going_on = loop->next_condition == MDF_LOWERED_NONE || is_true(lowered, loop->next_condition);
        close_run(lowered, loop, n_runs, run);
    }
    return mdf_lowered_end_loop(lowered, loop, run) == 0;
}

/* ------------------------------------------------------------------ regions */

static bool run_branches(struct mdf_lowered *lowered, const struct mdf_lowered_if *branches)
{
    bool taken = is_true(lowered, branches->condition);
    size_t i;

    if (!mdf_lowered_run_region(lowered, taken ? &branches->then : &branches->otherwise)) {
        return false;
    }
    for (i = 0; i < branches->n_merges; i++) {
        const struct mdf_lowered_merge *merge = &branches->merges[i];
        mdf_lowered_id source = taken ? merge->then : merge->otherwise;

        if (is_scalar(lowered, merge->out)) {
            lowered->cells[merge->out] = lowered->cells[source];
        } else {
            lowered->arrays[merge->out].data = lowered->arrays[source].data;
        }
    }
    return true;
}

static bool run_op(struct mdf_lowered *lowered, const struct mdf_lowered_op *op)
{
    switch ((enum mdf_lowered_code)op->code) {
    case MDF_LOWERED_CAST:
        return run_cast(lowered, op);
    case MDF_LOWERED_FUNCTION:
        return run_function(lowered, op);
    case MDF_LOWERED_ELEMENTS:
        return run_loop_once(lowered, op);
    case MDF_LOWERED_COPY:
        run_copy(lowered, op);
        return true;
    case MDF_LOWERED_CALL:
        return mdf_lowered_run_call(lowered, op->of.call) == 0;
    case MDF_LOWERED_FUSED:
        return mdf_lowered_run_fused(lowered, op->of.fused) == 0;
    case MDF_LOWERED_IF:
        return run_branches(lowered, op->of.branches);
    case MDF_LOWERED_LOOP:
        return run_loop(lowered, op->of.loop);
    default:
        return run_scalar_op(lowered, op);
    }
}

bool mdf_lowered_run_region(struct mdf_lowered *lowered, const struct mdf_lowered_region *region)
{
    size_t i;

    for (i = 0; i < region->n_ops; i++) {
        if (!run_op(lowered, &region->ops[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ in and out */

static void copy_cell(void *target, const void *source, size_t size)
{
    switch (size) {
    case 8:
        memcpy(target, source, 8);
        break;
    case 4:
        memcpy(target, source, 4);
        break;
    default:
        memcpy(target, source, size);
    }
}

static bool take_inputs(struct mdf_lowered *lowered)
{
    size_t i;

    for (i = 0; i < lowered->n_inputs; i++) {
        mdf_lowered_id id = lowered->inputs[i];
        const struct mdf_lowered_value *value = &lowered->values[id];

        if (!has_form(value->source, &value->form)) {
            return false;
        }
        if (value->is_scalar) {
            copy_cell(&lowered->cells[id], value->source->data, size_of(lowered, id));
        } else {
            lowered->arrays[id].data = value->source->data;
        }
    }
    return true;
}

/* Whether a slot can take elements as it is: it has the form, and memory that it alone has. */
static bool is_ready(const struct mdf_value *slot, const struct mdf_value *form)
{
    return has_form(slot, form) && mdf_value_own_elements(slot) != NULL;
}

/* Whether an output's memory can be given to its slot. */
static bool can_give(const struct mdf_lowered *lowered, const struct mdf_lowered_output *output)
{
    return output->gives && mdf_value_own_elements(&lowered->arrays[output->id]) != NULL;
}

/* What has to be allocated before anything changes: a copy of what can not be given, or memory in place of what is. */
static bool prepare_output(struct mdf_lowered *lowered, struct mdf_lowered_output *output)
{
    bool scalar = is_scalar(lowered, output->id), given = !scalar && can_give(lowered, output);
    struct mdf_value view = lowered->arrays[output->id];

    output->is_ready = (scalar || given) && is_ready(output->slot, scalar ? &lowered->values[output->id].form : &view);
    if (output->is_ready) {
        return true;
    }
    if (given) {
        return make_array(lowered, output->id, &output->spare, SIZE_MAX);
    }
    view = scalar ? lowered->values[output->id].form : view;
    view.buffer = NULL;
    view.data = elements_of(lowered, output->id);
    return mdf_value_copy_apart(lowered->context->memory, &output->spare, &view);
}

static void put_output(struct mdf_lowered *lowered, struct mdf_lowered_output *output)
{
    struct mdf_value *array = &lowered->arrays[output->id];

    if (is_scalar(lowered, output->id)) {
        if (output->is_ready) {
            copy_cell(output->slot->data, &lowered->cells[output->id], size_of(lowered, output->id));
            return;
        }
    } else if (can_give(lowered, output)) {
        mdf_value_swap(output->slot, array);
        if (output->is_ready) {
            return;
        }
        mdf_value_swap(array, &output->spare);
        return;
    }
    mdf_value_swap(output->slot, &output->spare);
}

/* A slot may be what another output is copied from, by way of an input: copies are made before any slot changes. */
static bool put_outputs(struct mdf_lowered *lowered)
{
    size_t i;

    for (i = 0; i < lowered->n_outputs; i++) {
        if (!prepare_output(lowered, &lowered->outputs[i])) {
            return false;
        }
    }
    for (i = 0; i < lowered->n_outputs; i++) {
        put_output(lowered, &lowered->outputs[i]);
    }
    return true;
}

enum mdf_lowered_outcome mdf_lowered_run(struct mdf_lowered *lowered)
{
    mdf_error error;
    bool done;

    if (!take_inputs(lowered)) {
        return MDF_LOWERED_OTHER_FORM;
    }
    if (lowered->code != NULL) {
        done = lowered->code(lowered->cells, lowered->arrays) == 0 && put_outputs(lowered);
    } else {
        done = mdf_lowered_run_region(lowered, &lowered->region) && put_outputs(lowered);
    }
    if (!done) {
        memset(&error, 0, sizeof error);
        lowered->context->error = error; /* a kernel's; it comes again */
    }
    return done ? MDF_LOWERED_DONE : MDF_LOWERED_LEFT;
}

/* ------------------------------------------------------------------ release */

static void release_calls(struct mdf_memory *memory, const struct mdf_lowered_region *region)
{
    size_t i, j;

    for (i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        switch (op->code) {
        case MDF_LOWERED_CALL:
            for (j = 0; j < MDF_CALL_SCRATCH; j++) {
                mdf_value_clear(memory, &op->of.call->call.scratch[j]);
            }
            break;
        case MDF_LOWERED_IF:
            release_calls(memory, &op->of.branches->then);
            release_calls(memory, &op->of.branches->otherwise);
            break;
        case MDF_LOWERED_LOOP:
            release_calls(memory, &op->of.loop->body);
            break;
        default:
            break;
        }
    }
}

void mdf_lowered_release(struct mdf_lowered *lowered)
{
    struct mdf_memory *memory;
    struct mdf_arena arena;
    size_t i;

    if (lowered == NULL) {
        return;
    }
    memory = lowered->context->memory;
    mdf_lowered_unmap(lowered);
    release_calls(memory, &lowered->region);
    for (i = 0; lowered->arrays != NULL && i < lowered->n_values; i++) {
        mdf_value_clear(memory, &lowered->arrays[i]);
    }
    for (i = 0; i < lowered->n_outputs; i++) {
        mdf_value_clear(memory, &lowered->outputs[i].spare);
    }
    arena = lowered->arena;
    mdf_arena_release(&arena);
}
