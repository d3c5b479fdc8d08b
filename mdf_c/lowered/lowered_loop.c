/* lowered_loop.c - LOOP: its states, rows and stacks, and its runs one after the other. See lowered.h. */
#include "functions/moves/indexing.h"
#include "mdf_c/lowered/code_price.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_parts.h"

#include <string.h>

/* Room for items whose number is not known: so many at first, but not more bytes. */
enum { FIRST_CAPACITY = 1024, FIRST_BYTES = 64 * 1024, LEAST_CAPACITY = 4 };
/* From so many bytes on a stack grows by an eighth instead of to twice its size: there the allocator moves pages, not bytes, and
 * half of it would lie idle. */
enum { LARGE_BYTES = 1024 * 1024 };
/* Columns begin at multiples of so many elements, and with room behind them, so that those of a power of two do not all fall into
 * the same places of a cache. */
enum { COLUMN_ROOM = 16 };

/* No byte may lie nowhere. */
static void copy_bytes(void *target, const void *source, size_t n)
{
    if (n > 0) {
        memcpy(target, source, n);
    }
}

bool mdf_lowered_make_array(const struct mdf_lowered *lowered, mdf_lowered_id id, struct mdf_value *array)
{
    const struct mdf_value *form = &lowered->values[id].form;

    if (form->rank > MDF_INLINE_RANK || mdf_value_make_tensor(lowered->context->memory, array, (mdf_dtype)form->dtype, form->rank,
                                                              mdf_value_shape(form)) == NULL) {
        return false;
    }
    array->strength = form->strength;
    return true;
}

/* ------------------------------------------------------------------ stacks */

/* How many items there is room for at first: as many as there are runs, where that is known; else at least as many as before. */
static size_t first_capacity(const struct mdf_lowered_loop *loop, size_t n_runs)
{
    size_t capacity = FIRST_CAPACITY;

    if (loop->n_padded > 0) {
        return loop->n_padded;
    }
    if (n_runs != SIZE_MAX && loop->condition == MDF_LOWERED_NONE) {
        return n_runs;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        size_t fitting = loop->stacks[i].item_bytes == 0 ? FIRST_CAPACITY : FIRST_BYTES / loop->stacks[i].item_bytes;

        capacity = fitting < capacity ? fitting : capacity;
    }
    capacity = capacity < LEAST_CAPACITY ? LEAST_CAPACITY : capacity;
    if (loop->n_stacks > 0 && loop->stacks[0].capacity > capacity) {
        capacity = loop->stacks[0].capacity;
    }
    return capacity < n_runs ? capacity : n_runs;
}

/* The elements in front of the first item. */
static size_t count_initial(const struct mdf_lowered *lowered, const struct mdf_lowered_stack *stack)
{
    return stack->appends ? lowered->values[stack->initial].form.length : 0;
}

/* While it is filled a stack is a row of elements: how many it has with `n_items` items; false: more than can be. `item` may be
 * another one, where a product makes all items behind the loop. */
static bool count_elements(const struct mdf_lowered *lowered, const struct mdf_lowered_stack *stack, size_t n_items, size_t *n)
{
    return mdf_size_multiply(n_items, stack->item_bytes / mdf_lowered_element_size(lowered, stack->stack), n) &&
           mdf_size_add(*n, count_initial(lowered, stack), n) && *n <= INT64_MAX;
}

static char *first_item(const struct mdf_lowered *lowered, const struct mdf_lowered_stack *stack)
{
    size_t n_bytes = count_initial(lowered, stack) * mdf_lowered_element_size(lowered, stack->stack);
    char *elements = lowered->arrays[stack->stack].data;

    return n_bytes == 0 ? elements : elements + n_bytes;
}

/* ------------------------------------------------------------------ columns of stacks */

/* What says how long the stack is with some items, and where one is put, which hangs on nothing but the form. */
static void measure(const struct mdf_lowered *lowered, struct mdf_lowered_stack *stack)
{
    const struct mdf_value *form = &lowered->values[stack->stack].form;

    stack->row_elements = mdf_axes_product(mdf_value_shape(form), stack->axis + 1u, form->rank);
    stack->item_elements = lowered->values[stack->item].form.length;
    stack->item_rows = stack->row_elements == 0 ? 0 : stack->item_elements / stack->row_elements;
    stack->initial_elements = count_initial(lowered, stack);
    stack->initial_rows = stack->row_elements == 0 ? 0 : stack->initial_elements / stack->row_elements;
    stack->element_bytes = mdf_lowered_element_size(lowered, stack->stack);
}

/* The columns' elements of some rows, as the rows are now. */
static void fill_columns(struct mdf_lowered *lowered, const struct mdf_lowered_stack *stack, size_t first, size_t n_rows)
{
    size_t n = stack->row_elements, apart = stack->column_length;
    const void *from = lowered->arrays[stack->stack].data;
    void *to = lowered->arrays[stack->columns].data;

    for (size_t row = first; row < first + n_rows; row++) {
        if (stack->element_bytes == 4) {
            for (size_t column = 0; column < n; column++) {
                ((uint32_t *)to)[column * apart + row] = ((const uint32_t *)from)[row * n + column];
            }
        } else {
            for (size_t column = 0; column < n; column++) {
                ((uint64_t *)to)[column * apart + row] = ((const uint64_t *)from)[row * n + column];
            }
        }
    }
}

/* Room for the columns, as the stack has room for rows, and what is in them so far. */
static bool make_columns(struct mdf_lowered *lowered, struct mdf_lowered_stack *stack)
{
    size_t n = stack->row_elements, n_rows, n_elements;
    struct mdf_value *array = &lowered->arrays[stack->columns];
    int64_t length;

    if (!count_elements(lowered, stack, stack->capacity, &n_rows) || n_rows / n > INT64_MAX / 2 / n - COLUMN_ROOM ||
        !count_elements(lowered, stack, stack->n_put, &n_elements)) {
        return false;
    }
    stack->column_length = (n_rows / n / COLUMN_ROOM + 2) * COLUMN_ROOM;
    length = (int64_t)(stack->column_length * n);
    if (mdf_value_make_tensor(lowered->context->memory, array, (mdf_dtype)lowered->values[stack->stack].form.dtype, 1, &length) ==
        NULL) {
        return false;
    }
    fill_columns(lowered, stack, 0, n_elements / n);
    return true;
}

/* The outputs of a look that are columns, of so many rows. */
static void show_columns(struct mdf_lowered *lowered, const struct mdf_lowered_call *call, size_t n_rows)
{
    const struct mdf_lowered_stack *stack = call->stack;
    size_t apart_bytes = stack->column_length * stack->element_bytes;
    char *column = lowered->arrays[stack->columns].data;

    for (size_t i = 1; i < call->n_outputs; i++, column += apart_bytes) {
        mdf_lowered_id id = call->outputs[i];
        struct mdf_value *view = id == MDF_LOWERED_NONE ? NULL : &lowered->arrays[id];

        if (view == NULL) {
            continue;
        }
        if (stack->n_put <= 1) {
            *view = lowered->values[id].form;
        }
        view->data = column;
        view->length = n_rows;
        view->shape.sizes[0] = (int64_t)n_rows;
    }
}

/* Whether the array has the memory of an earlier time for as many items, which nobody else looks at: it is a row of them again.
 * What a slot gave for its result may be of another form. */
static bool has_room_again(struct mdf_lowered_stack *stack, const struct mdf_value *form, struct mdf_value *array,
                           size_t capacity, size_t n_behind)
{
    size_t n_bytes = (capacity + n_behind) * stack->item_bytes; /* which had room then */

    if (stack->appends || stack->has_columns || stack->is_placed || stack->capacity != capacity || capacity == 0 ||
        array->kind != MDF_KIND_TENSOR || array->dtype != form->dtype || array->strength != form->strength ||
        array->rank != form->rank || mdf_value_own_elements(array) == NULL ||
        array->buffer->capacity_bytes - array->buffer->offset < n_bytes) {
        return false;
    }
    stack->items = array->data;
    stack->n_put = 0;
    return true;
}

/* A stack of what a state is next lies in the one that holds the state. */
static void begin_within(struct mdf_lowered *lowered, struct mdf_lowered_stack *stack, const struct mdf_lowered_stack *holding)
{
    struct mdf_value *array = &lowered->arrays[stack->stack];

    array->data = stack->items = holding->items + holding->item_bytes;
    stack->capacity = holding->capacity;
    stack->n_put = 0;
    measure(lowered, stack);
}

/* `is_fixed`: it will not be made longer; `n_behind`: items more that there is room for. */
static bool begin_stack(struct mdf_lowered *lowered, struct mdf_lowered_stack *stack, size_t capacity, bool is_fixed,
                        size_t n_behind)
{
    struct mdf_value *array = &lowered->arrays[stack->stack];
    const struct mdf_value *form = &lowered->values[stack->stack].form;
    int64_t length;
    size_t n;

    if (is_fixed && has_room_again(stack, form, array, capacity, n_behind)) {
        return true;
    }
    if (!stack->is_placed) {
        if (capacity > SIZE_MAX - n_behind || !count_elements(lowered, stack, capacity + n_behind, &n)) {
            return false;
        }
        length = (int64_t)n;
        if (mdf_value_make_tensor(lowered->context->memory, array, (mdf_dtype)form->dtype, 1, &length) == NULL) {
            return false;
        }
        array->strength = form->strength;
    }
    if (stack->appends) {
        copy_bytes(array->data, mdf_lowered_elements(lowered, stack->initial), mdf_lowered_size(lowered, stack->initial));
    }
    stack->items = first_item(lowered, stack);
    stack->capacity = capacity;
    stack->n_put = 0;
    measure(lowered, stack);
    return !stack->has_columns || make_columns(lowered, stack);
}

/* An array of the stack's elements gets the model's shape, with so many items. */
static bool set_items(const struct mdf_lowered *lowered, const struct mdf_lowered_stack *stack, size_t n_runs,
                      struct mdf_value *array)
{
    const struct mdf_value *form = &lowered->values[stack->stack].form;

    if (!stack->appends && !stack->is_behind && n_runs <= stack->capacity) { /* for which there was room */
        array->length = n_runs * lowered->values[stack->item].form.length;
    } else if (!count_elements(lowered, stack, n_runs, &array->length)) {
        return false;
    }
    array->rank = form->rank;
    memcpy(array->shape.sizes, mdf_value_shape(form), form->rank * sizeof *array->shape.sizes);
    array->shape.sizes[stack->axis] =
        (int64_t)(stack->appends ? array->length / mdf_axes_product(mdf_value_shape(form), stack->axis + 1u, form->rank)
                                 : n_runs);
    return true;
}

/* The same of a view that has had items of this stack before, and for all of which there is room: its other axes stay. */
static void set_length(const struct mdf_lowered_stack *stack, struct mdf_value *view)
{
    size_t n = stack->n_put;

    view->length = n * stack->item_elements + stack->initial_elements;
    view->shape.sizes[stack->axis] = (int64_t)(stack->appends ? n * stack->item_rows + stack->initial_rows : n);
}

void mdf_lowered_look_at_stack(struct mdf_lowered *lowered, const struct mdf_lowered_call *call)
{
    struct mdf_lowered_stack *stack = call->stack;
    struct mdf_value *view = &lowered->arrays[call->outputs[0]];
    void *elements = lowered->arrays[stack->stack].data;

    if (call->n_inputs > 0) {
        const void *item = mdf_lowered_elements(lowered, call->inputs[1]);
        char *place = stack->items + stack->n_put++ * stack->item_bytes;

        if (item != place) {
            memcpy(place, item, stack->item_bytes);
        }
    }
    if (view->data == elements && stack->n_put > 1) {
        set_length(stack, view);
    } else {
        *view = lowered->values[call->outputs[0]].form;
        view->data = elements;
        set_items(lowered, stack, stack->n_put, view); /* there is room for more */
    }
    if (stack->has_columns) {
        size_t n_rows = (size_t)view->shape.sizes[stack->axis], n_new = call->n_inputs == 0 ? 0 : stack->item_rows;

        fill_columns(lowered, stack, n_rows - n_new, n_new);
        show_columns(lowered, call, n_rows);
    }
}

/* Whether an array has memory that nobody else looks at, of the type and shape of another one. */
static bool has_room_for(const struct mdf_value *array, const struct mdf_value *other)
{
    return array->kind == MDF_KIND_TENSOR && array->dtype == other->dtype && array->length == other->length &&
           array->rank <= MDF_INLINE_RANK && mdf_value_own_elements(array) != NULL && mdf_value_has_shape_of(array, other);
}

/* An array in memory of its own, of the shape that it has at first; that of an earlier run, where it fits. Or that of what it
 * begins as. */
static bool begin_state(struct mdf_lowered *lowered, const struct mdf_lowered_state *state)
{
    struct mdf_value *parameter = &lowered->arrays[state->parameter];
    const struct mdf_value *initial = &lowered->arrays[state->initial], *form = &lowered->values[state->parameter].form;

    if (state->lies_in_initial) {
        parameter->data = initial->data;
        return true;
    }
    form = lowered->values[state->parameter].open_axes != 0 ? initial : form; /* which may have another rank, in lanes */
    if (!has_room_for(parameter, form) && mdf_value_make_tensor(lowered->context->memory, parameter, (mdf_dtype)form->dtype,
                                                                form->rank, mdf_value_shape(form)) == NULL) {
        return false;
    }
    parameter->strength = lowered->values[state->parameter].form.strength;
    copy_bytes(parameter->data, initial->data, mdf_lowered_size(lowered, state->initial));
    return true;
}

/* Begins a state that a stack holds; false: none does. */
static bool begin_held_state(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop,
                             const struct mdf_lowered_state *state)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (mdf_lowered_held_state(loop, &loop->stacks[i]) == state) {
            lowered->arrays[state->parameter].data = loop->stacks[i].items;
            copy_bytes(loop->stacks[i].items, lowered->arrays[state->initial].data, loop->stacks[i].item_bytes);
            return true;
        }
    }
    return false;
}

bool mdf_lowered_make_room(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs)
{
    size_t capacity = first_capacity(loop, n_runs), i;
    bool is_fixed = n_runs != SIZE_MAX && loop->condition == MDF_LOWERED_NONE;

    if (loop->n_padded > 0 && n_runs > loop->n_padded) {
        return false;
    }
    for (i = 0; i < loop->n_stacks; i++) {
        struct mdf_lowered_stack *stack = &loop->stacks[i];

        if (mdf_lowered_holding_stack(loop, stack) == NULL &&
            !begin_stack(lowered, stack, capacity, is_fixed, mdf_lowered_held_state(loop, stack) != NULL)) {
            return false;
        }
    }
    for (i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *holding = mdf_lowered_holding_stack(loop, &loop->stacks[i]);

        if (holding != NULL) {
            begin_within(lowered, &loop->stacks[i], holding);
        }
    }
    for (i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];

        if (lowered->values[state->parameter].is_scalar) {
            continue;
        }
        if (!begin_held_state(lowered, loop, state) && !begin_state(lowered, state)) {
            return false;
        }
        if (state->storage == MDF_LOWERED_IN_PLACE) {
            lowered->arrays[state->next].data = lowered->arrays[state->parameter].data;
        }
        if (state->begins_made && state->storage == MDF_LOWERED_IN_PLACE) {
            lowered->arrays[state->made].data = lowered->arrays[state->parameter].data;
        }
    }
    return mdf_lowered_make_products(lowered, loop);
}

int mdf_lowered_begin_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs)
{
    return mdf_lowered_make_room(lowered, loop, n_runs) && mdf_lowered_begin_products(lowered, loop, n_runs) ? 0 : 1;
}

/* The next capacity, of at least n_items. */
static size_t next_capacity(const struct mdf_lowered_loop *loop, size_t n_items)
{
    size_t capacity = loop->stacks[0].capacity, largest = 0;

    for (size_t i = 0; i < loop->n_stacks; i++) {
        largest = loop->stacks[i].item_bytes > largest ? loop->stacks[i].item_bytes : largest;
    }
    capacity += largest > 0 && capacity > LARGE_BYTES / largest ? capacity / 8 : capacity;
    return capacity < n_items ? n_items : capacity;
}

int mdf_lowered_grow_stacks(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_items)
{
    size_t capacity = next_capacity(loop, n_items), n, i;

    for (i = 0; i < loop->n_stacks; i++) {
        struct mdf_lowered_stack *stack = &loop->stacks[i];

        if (!count_elements(lowered, stack, capacity, &n) ||
            !mdf_value_lengthen(lowered->context->memory, &lowered->arrays[stack->stack], n)) {
            return 1;
        }
        stack->items = first_item(lowered, stack);
        stack->capacity = capacity;
        if (stack->has_columns && !make_columns(lowered, stack)) {
            return 1;
        }
    }
    return 0;
}

static void pad_stacks(const struct mdf_lowered_loop *loop, size_t n_runs)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        size_t n_bytes = (loop->n_padded - n_runs) * loop->stacks[i].item_bytes;

        if (n_bytes > 0) {
            memset(loop->stacks[i].items + n_runs * loop->stacks[i].item_bytes, 0, n_bytes);
        }
    }
}

int mdf_lowered_end_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs)
{
    size_t n_items = n_runs;

    if (loop->n_padded > 0) {
        pad_stacks(loop, n_runs);
        n_items = loop->n_padded;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (!set_items(lowered, &loop->stacks[i], n_items, &lowered->arrays[loop->stacks[i].stack])) {
            return 1;
        }
    }
    mdf_lowered_multiply_behind(lowered, loop);
    return 0;
}

static char *item_place(const struct mdf_lowered_stack *stack, size_t n_runs, size_t run)
{
    return stack->items + (stack->is_reversed ? n_runs - 1 - run : run) * stack->item_bytes;
}

/* ------------------------------------------------------------------ one run */

static void set_parameters(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    int64_t number = (int64_t)run;

    if (loop->number != MDF_LOWERED_NONE) {
        memcpy(&lowered->cells[loop->number], &number, sizeof number);
    }
    if (loop->is_going_on != MDF_LOWERED_NONE) {
        *(uint8_t *)&lowered->cells[loop->is_going_on] = 1;
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        const struct mdf_lowered_rows *rows = &loop->rows[i];
        size_t n_bytes = mdf_lowered_size(lowered, rows->parameter);
        char *item = (char *)mdf_lowered_elements(lowered, rows->source) + (rows->is_reversed ? n_runs - 1 - run : run) * n_bytes;

        if (lowered->values[rows->parameter].is_scalar) {
            memcpy(&lowered->cells[rows->parameter], item, n_bytes);
        } else {
            lowered->arrays[rows->parameter].data = item;
        }
    }
    if (loop->block_runs > 0) {
        mdf_lowered_place_products(lowered, loop, n_runs, run);
    }
}

static bool open_items(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    if (loop->n_stacks > 0 && run >= loop->stacks[0].capacity && mdf_lowered_grow_stacks(lowered, loop, run + 1) != 0) {
        return false;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_state *held = mdf_lowered_held_state(loop, &loop->stacks[i]);

        if (held != NULL) {
            lowered->arrays[held->next].data = item_place(&loop->stacks[i], n_runs, run) + loop->stacks[i].item_bytes;
        } else if (loop->stacks[i].is_direct) {
            lowered->arrays[loop->stacks[i].item].data = item_place(&loop->stacks[i], n_runs, run);
        }
    }
    return true;
}

/* Items may be what states are now: they are put aside before any state goes on. */
static void close_run(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t n_runs, size_t run)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];

        if (!stack->is_direct && !stack->is_put && !stack->is_behind) {
            copy_bytes(item_place(stack, n_runs, run), mdf_lowered_elements(lowered, stack->item), stack->item_bytes);
        }
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct mdf_lowered_state *state = &loop->states[i];
        struct mdf_value *parameter = &lowered->arrays[state->parameter];
        struct mdf_value *next = &lowered->arrays[mdf_lowered_exchanged(state)];

        if (lowered->values[state->parameter].is_scalar) {
            lowered->cells[state->parameter] = lowered->cells[state->next];
        } else if (state->storage == MDF_LOWERED_IN_STACK) {
            parameter->data = next->data;
        } else if (state->storage == MDF_LOWERED_TWO_BUFFERS) {
            mdf_value_swap(parameter, next);
        }
    }
}

/* ------------------------------------------------------------------ all runs */

size_t mdf_lowered_bound(const struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop)
{
    int64_t trip_count;

    if (loop->n_runs != SIZE_MAX || loop->trip_count == MDF_LOWERED_NONE) {
        return loop->n_runs;
    }
    memcpy(&trip_count, &lowered->cells[loop->trip_count], sizeof trip_count);
    return trip_count < 0 && loop->n_padded == 0 ? 0 : (size_t)trip_count;
}

/* Before run number `run` of a loop: past those that were reckoned with, each is one more that code would have made cheaper, by
 * *saved, which is found once. */
static bool code_pays_in(struct mdf_lowered *lowered, const struct mdf_lowered_loop *loop, size_t run, double *saved)
{
    if (lowered->is_code_settled || run < MDF_UNKNOWN_RUNS || !mdf_runs_are_unknown(loop)) {
        return false;
    }
    *saved = run == MDF_UNKNOWN_RUNS ? mdf_saved_by_code(&loop->body) : *saved;
    lowered->price_of_code -= *saved;
    return mdf_code_pays(lowered);
}

bool mdf_lowered_run_loop(struct mdf_lowered *lowered, struct mdf_lowered_loop *loop)
{
    size_t n_runs = mdf_lowered_bound(lowered, loop), run, i;
    bool going_on = loop->condition == MDF_LOWERED_NONE || mdf_lowered_truth(lowered, loop->condition);
    double saved_by_code = 0;

    if (mdf_lowered_begin_loop(lowered, loop, n_runs) != 0) {
        return false;
    }
    for (i = 0; i < loop->n_states; i++) {
        if (lowered->values[loop->states[i].parameter].is_scalar) {
            lowered->cells[loop->states[i].parameter] = lowered->cells[loop->states[i].initial];
        }
    }
    for (run = 0; run < n_runs && going_on; run++) {
        if ((loop->limit != 0 && run >= loop->limit) || mdf_stop_is_asked(lowered->context->stop) ||
            code_pays_in(lowered, loop, run, &saved_by_code) || !open_items(lowered, loop, n_runs, run) ||
            (loop->block_runs > 0 && run == loop->block_end && mdf_lowered_multiply_ahead(lowered, loop, run) != 0)) {
            return false;
        }
        set_parameters(lowered, loop, n_runs, run);
        if (!mdf_lowered_run_region(lowered, &loop->body)) {
            return false;
        }
        going_on = loop->next_condition == MDF_LOWERED_NONE || mdf_lowered_truth(lowered, loop->next_condition);
        close_run(lowered, loop, n_runs, run);
    }
    return mdf_lowered_end_loop(lowered, loop, run) == 0;
}
