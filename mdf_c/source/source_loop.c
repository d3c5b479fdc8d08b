/* source_loop.c - a LOOP of a lowered region as a for loop.
 *
 * Scalar states are variables; array states lie where loop_plan.h says. What nothing needs is not there at all. */
#include "functions/moves/indexing.h"
#include "mdf_c/lowered/loop_plan.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/source/source_writer.h"

#include <stdlib.h>

enum state_form {
    STATE_UNUSED,
    STATE_SCALAR,
    STATE_IN_PLACE,
    STATE_TWO_BUFFERS,
    STATE_TAKES_OVER, /* of a state of TWO_BUFFERS */
    STATE_IN_STACK,
    STATE_BESIDE_STACK
};

/* Of an array state that has a place of its own beside the stack that it lies in. Items of a stack that begin within a line of
 * the cache are read again long after they are stored, those of the place at once, if they are not in registers all the time.
 * Compilers make single variables of fewer elements, and no vectors; more than these bytes are stored twice for little. */
enum { LEAST_BESIDE = 17, MOST_BESIDE_BYTES = 1024 };

struct state_text {
    enum state_form form;
    const char *outer, *next; /* what the state and its next value are called outside of the body; next: of TWO_BUFFERS */
};

struct loop_text {
    const struct mdf_lowered_loop *loop;
    struct state_text *states;
    const char *run;      /* the variable that counts */
    const char *going_on; /* NULL: no condition */
};

static const struct mdf_lowered_value *value_of(const struct mdf_source_writer *writer, mdf_lowered_id id)
{
    return &writer->lowered->values[id];
}

/* ------------------------------------------------------------------ before the loop */

/* Whether the stack that a state lies in is written at all. */
static bool is_stacked(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (loop->stacks[i].item == id && loop->stacks[i].is_direct) {
            return mdf_source_is_live(writer, loop->stacks[i].stack);
        }
    }
    return false;
}

/* Whether items are written where the stack has them; one that holds a state gets copies here. */
static bool is_written_there(const struct mdf_lowered_loop *loop, const struct mdf_lowered_stack *stack)
{
    return stack->is_direct && mdf_lowered_held_state(loop, stack) == NULL;
}

/* The number of the state that another one takes over. */
static size_t other_state(const struct mdf_lowered_loop *loop, const struct mdf_lowered_state *state)
{
    return (size_t)(mdf_lowered_state_of(loop, state->other) - loop->states);
}

/* Whether a state that lies in a stack may have a place beside it, too: it is short, and a nest, which writes to both, writes no
 * element before it is read for the last time. */
static bool has_own_place(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                          const struct mdf_lowered_state *state)
{
    const struct mdf_value *form = &value_of(writer, state->parameter)->form;
    size_t maker = mdf_lowered_find_maker(&loop->body, state->next), i;

    for (i = 0; i < loop->n_stacks && loop->stacks[i].item != state->parameter; i++) {
    }
    return i == loop->n_stacks && form->length >= LEAST_BESIDE &&
           form->length * mdf_dtype_size((mdf_dtype)form->dtype) <= MOST_BESIDE_BYTES && maker != SIZE_MAX &&
           loop->body.ops[maker].code == MDF_LOWERED_NEST && !mdf_lowered_is_taken_over(loop, state->parameter) &&
           mdf_lowered_may_overwrite(writer->lowered, &loop->body, state->parameter, state->next);
}

static enum state_form form_of(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                               const struct mdf_lowered_state *state);

/* Of a state that takes over another one. */
static enum state_form taken_form(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                                  const struct mdf_lowered_state *state)
{
    return form_of(writer, loop, &loop->states[other_state(loop, state)]) == STATE_IN_STACK ? STATE_IN_STACK : STATE_TAKES_OVER;
}

static enum state_form form_of(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                               const struct mdf_lowered_state *state)
{
    return !mdf_source_is_live(writer, state->parameter)                                      ? STATE_UNUSED
           : value_of(writer, state->parameter)->is_scalar                                    ? STATE_SCALAR
           : state->storage == MDF_LOWERED_IN_PLACE                                           ? STATE_IN_PLACE
           : state->takes_over                                                                ? taken_form(writer, loop, state)
           : state->storage != MDF_LOWERED_IN_STACK || !is_stacked(writer, loop, state->next) ? STATE_TWO_BUFFERS
           : has_own_place(writer, loop, state)                                               ? STATE_BESIDE_STACK
                                                                                              : STATE_IN_STACK;
}

static void fill_state(struct mdf_source_writer *writer, const struct mdf_lowered_state *state, const char *buffer)
{
    if (value_of(writer, state->parameter)->form.length > 0) {
        mdf_source_line(writer, "memcpy(%s, %s, sizeof %s);", buffer, mdf_source_address(writer, state->initial), buffer);
    }
}

static void declare_state(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop,
                          const struct mdf_lowered_state *state, struct state_text *plan)
{
    const struct mdf_lowered_value *value = value_of(writer, state->parameter);
    const char *type = mdf_source_type((mdf_dtype)value->form.dtype), *hint = mdf_source_hint(writer, state->parameter), *first,
               *second;

    plan->form = form_of(writer, loop, state);
    switch (plan->form) {
    case STATE_UNUSED:
        break;
    case STATE_SCALAR:
        plan->outer = mdf_source_name(writer, &writer->locals, hint);
        mdf_source_line(writer, "%s %s = %s;", type, plan->outer, mdf_source_element(writer, state->initial, "0"));
        break;
    case STATE_IN_PLACE:
    case STATE_BESIDE_STACK:
        if (state->lies_in_initial) {
            plan->outer = mdf_source_address(writer, state->initial);
            break;
        }
        plan->outer = mdf_source_buffer(writer, (mdf_dtype)value->form.dtype, value->form.length, hint);
        fill_state(writer, state, plan->outer);
        break;
    case STATE_TWO_BUFFERS:
        first = mdf_source_buffer(writer, (mdf_dtype)value->form.dtype, value->form.length,
                                  mdf_source_text(writer, "%s_first", hint));
        second = mdf_source_buffer(writer, (mdf_dtype)value->form.dtype, value->form.length,
                                   mdf_source_text(writer, "%s_second", hint));
        plan->outer = mdf_source_name(writer, &writer->locals, hint);
        plan->next = mdf_source_name(writer, &writer->locals, mdf_source_text(writer, "%s_next", hint));
        mdf_source_line(writer, "%s *%s = %s, *%s = %s;", type, plan->outer, first, plan->next, second);
        fill_state(writer, state, first);
        break;
    case STATE_TAKES_OVER:
        first = mdf_source_buffer(writer, (mdf_dtype)value->form.dtype, value->form.length,
                                  mdf_source_text(writer, "%s_first", hint));
        plan->outer = mdf_source_name(writer, &writer->locals, hint);
        mdf_source_line(writer, "%s *%s = %s;", type, plan->outer, first);
        fill_state(writer, state, first);
        break;
    case STATE_IN_STACK:
        plan->outer = mdf_source_name(writer, &writer->locals, hint);
        mdf_source_line(writer, "const %s *%s = %s;", type, plan->outer, mdf_source_address(writer, state->initial));
        break;
    }
}

/* The items of the stacks of a loop that does not say how often it runs; SIZE_MAX: it has no such stacks. */
static size_t open_items(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_stacks && loop->n_runs == SIZE_MAX && loop->n_padded == 0; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];
        size_t n_items = writer->values[stack->stack].n_items;

        if (mdf_source_is_live(writer, stack->stack) && stack->appends) {
            const struct mdf_value *form = &value_of(writer, stack->stack)->form;

            n_items *= mdf_axes_product(mdf_value_shape(form), stack->axis + 1u, form->rank);
            n_items = (n_items - value_of(writer, stack->initial)->form.length) / value_of(writer, stack->item)->form.length;
        }
        if (mdf_source_is_live(writer, stack->stack)) {
            return n_items;
        }
    }
    return SIZE_MAX;
}

/* What a stack begins with, which lies before the items. */
static void write_initial(struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack)
{
    const struct mdf_lowered_value *initial = value_of(writer, stack->initial);
    const char *name = writer->values[stack->stack].name;

    if (initial->is_scalar) {
        mdf_source_line(writer, "%s[0] = %s;", name, mdf_source_element(writer, stack->initial, "0"));
    } else if (initial->form.length > 0) {
        mdf_source_line(writer, "memcpy(%s, %s, %zu * sizeof *%s);", name, mdf_source_address(writer, stack->initial),
                        initial->form.length, name);
    }
}

/* The first item. */
static const char *items_of(struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack)
{
    size_t n = stack->appends ? value_of(writer, stack->initial)->form.length : 0;
    const char *name = writer->values[stack->stack].name;

    return n == 0 ? name : mdf_source_text(writer, "(%s + %zu)", name, n);
}

/* The elements of a row of a stack, along the axis on which it grows; and the rows that an array makes there. */
static size_t row_length(const struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack)
{
    const struct mdf_value *form = &value_of(writer, stack->stack)->form;

    return mdf_axes_product(mdf_source_shape(form), stack->axis + 1u, form->rank);
}

static size_t rows_of(const struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack, mdf_lowered_id id)
{
    return value_of(writer, id)->form.length / row_length(writer, stack);
}

/* Rows that there is room for. */
static size_t most_rows(const struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack)
{
    return mdf_source_length(writer, stack->stack) / row_length(writer, stack);
}

/* The columns' elements of so many rows behind `first` ones. */
static void fill_columns(struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack, const char *first,
                         size_t n_rows)
{
    size_t n = row_length(writer, stack);

    if (n_rows == 0) {
        return;
    }
    mdf_source_open(writer, "for (size_t row = %s; row < %s + %zu; row++)", first, first, n_rows);
    mdf_source_open(writer, "for (size_t column = 0; column < %zu; column++)", n);
    mdf_source_line(writer, "%s[column * %zu + row] = %s[row * %zu + column];", writer->values[stack->columns].name,
                    most_rows(writer, stack), writer->values[stack->stack].name, n);
    mdf_source_close(writer);
    mdf_source_close(writer);
}

static void declare_columns(struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack)
{
    const struct mdf_value *form = &value_of(writer, stack->stack)->form;

    writer->values[stack->columns].name =
        mdf_source_buffer(writer, (mdf_dtype)form->dtype, mdf_source_length(writer, stack->stack),
                          mdf_source_text(writer, "%s_columns", mdf_source_hint(writer, stack->stack)));
    fill_columns(writer, stack, "0", rows_of(writer, stack, stack->initial));
}

static void declare_stacks(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (mdf_source_is_live(writer, loop->stacks[i].stack)) {
            mdf_source_declare_result(writer, loop->stacks[i].stack);
            if (loop->stacks[i].appends) {
                write_initial(writer, &loop->stacks[i]);
            }
            if (loop->stacks[i].has_columns && mdf_source_is_live(writer, loop->stacks[i].columns)) {
                declare_columns(writer, &loop->stacks[i]);
            }
        }
    }
}

/* ------------------------------------------------------------------ looking at stacks */

/* How many rows there are before a run. */
static void count_stacks(struct mdf_source_writer *writer, const struct loop_text *plan)
{
    for (size_t i = 0; i < plan->loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &plan->loop->stacks[i];

        if (stack->is_put && mdf_source_is_live(writer, stack->stack)) {
            size_t n = rows_of(writer, stack, stack->item);

            writer->values[stack->stack].count = mdf_source_text(writer, n == 1 ? "%zu + (size_t)%s" : "%zu + (size_t)%s * %zu",
                                                                 rows_of(writer, stack, stack->initial), plan->run, n);
        }
    }
}

/* The item of this run into its place behind `count` rows, where it does not lie there. */
static void put_item(struct mdf_source_writer *writer, const struct mdf_lowered_stack *stack)
{
    const struct mdf_value *form = &value_of(writer, stack->item)->form;
    const char *name = writer->values[stack->stack].name,
               *at = mdf_source_text(writer, "(%s) * %zu", writer->values[stack->stack].count, row_length(writer, stack));

    if (value_of(writer, stack->item)->is_scalar) {
        mdf_source_line(writer, "%s[%s] = %s;", name, at, mdf_source_element(writer, stack->item, "0"));
    } else if (!stack->is_direct) {
        mdf_source_line(writer, "memcpy(%s + %s, %s, %zu * sizeof *%s);", name, at, mdf_source_address(writer, stack->item),
                        form->length, name);
    }
}

static bool any_is_read(const struct mdf_source_writer *writer, const struct mdf_lowered_call *look)
{
    size_t i;

    for (i = 0; i < look->n_outputs && !mdf_source_is_live(writer, look->outputs[i]); i++) {
    }
    return i < look->n_outputs;
}

/* Each output is a part of the stack, or of its columns, of as many rows as there are now. */
static void name_outputs(struct mdf_source_writer *writer, const struct mdf_lowered_call *look, const char *count)
{
    const struct mdf_lowered_stack *stack = look->stack;

    for (size_t i = 0; i < look->n_outputs; i++) {
        struct mdf_source_value *own = mdf_source_is_live(writer, look->outputs[i]) ? &writer->values[look->outputs[i]] : NULL;

        if (own == NULL) {
            continue;
        }
        own->n_items = most_rows(writer, stack);
        own->count = count;
        own->name = i == 0 ? writer->values[stack->stack].name
                           : mdf_source_text(writer, "(%s + %zu)", writer->values[stack->columns].name, (i - 1) * own->n_items);
    }
}

bool mdf_source_write_look(struct mdf_source_writer *writer, const struct mdf_lowered_call *call)
{
    const struct mdf_lowered_stack *stack = call->stack;
    const struct mdf_source_value *whole = &writer->values[stack->stack];
    bool puts = call->n_inputs == 2;
    const char *count;

    if (!whole->is_live) {
        return true;
    }
    if (puts) {
        put_item(writer, stack);
    }
    if (puts && stack->has_columns && mdf_source_is_live(writer, stack->columns)) {
        fill_columns(writer, stack, whole->count, rows_of(writer, stack, stack->item));
    }
    if (!any_is_read(writer, call)) {
        return true;
    }
    if (most_rows(writer, stack) == 0 || whole->count == NULL) {
        return mdf_source_refuse(writer, "an array that grows in a Loop that may run any number of times; give the Loop a "
                                         "constant trip count, or let a port have what it grew to");
    }
    count = mdf_source_name(writer, &writer->locals, "n");
    mdf_source_line(writer, "const size_t %s = %s%s;", count, whole->count,
                    puts ? mdf_source_text(writer, " + %zu", rows_of(writer, stack, stack->item)) : "");
    name_outputs(writer, call, count);
    return true;
}

/* ------------------------------------------------------------------ in the body */

/* The number of the item of this run. */
static const char *item_number(struct mdf_source_writer *writer, const struct loop_text *plan, bool is_reversed)
{
    if (!is_reversed) {
        return plan->run;
    }
    return plan->loop->n_runs != SIZE_MAX
               ? mdf_source_text(writer, "(%zu - %s)", plan->loop->n_runs - 1, plan->run)
               : mdf_source_text(writer, "(%s - 1 - %s)", mdf_source_element(writer, plan->loop->trip_count, "0"), plan->run);
}

static void name_rows(struct mdf_source_writer *writer, const struct loop_text *plan)
{
    for (size_t i = 0; i < plan->loop->n_rows; i++) {
        const struct mdf_lowered_rows *rows = &plan->loop->rows[i];
        const struct mdf_lowered_value *value = value_of(writer, rows->parameter);
        const char *type = mdf_source_type((mdf_dtype)value->form.dtype), *name, *number;

        if (!mdf_source_is_live(writer, rows->parameter)) {
            continue;
        }
        name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, rows->parameter));
        number = item_number(writer, plan, rows->is_reversed);
        if (value->is_scalar) {
            mdf_source_line(writer, "const %s %s = %s;", type, name, mdf_source_element(writer, rows->source, number));
        } else {
            mdf_source_line(writer, "const %s *restrict %s = %s + %s * %zu;", type, name,
                            mdf_source_address(writer, rows->source), number, value->form.length);
        }
        writer->values[rows->parameter].name = name;
    }
}

static void name_direct_items(struct mdf_source_writer *writer, const struct loop_text *plan)
{
    for (size_t i = 0; i < plan->loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &plan->loop->stacks[i];
        struct mdf_source_value *item = &writer->values[stack->item];

        if (!mdf_source_is_live(writer, stack->stack) || !is_written_there(plan->loop, stack) || item->is_buffered) {
            continue;
        }
        item->name = mdf_source_name(writer, &writer->locals, mdf_source_hint(writer, stack->item));
        item->is_buffered = true;
        mdf_source_line(writer, "%s *%s%s = %s + %s * %zu;",
                        mdf_source_type((mdf_dtype)value_of(writer, stack->item)->form.dtype), stack->is_put ? "" : "restrict ",
                        item->name, items_of(writer, stack), item_number(writer, plan, stack->is_reversed),
                        value_of(writer, stack->item)->form.length);
    }
}

static void name_states(struct mdf_source_writer *writer, const struct loop_text *plan)
{
    for (size_t i = 0; i < plan->loop->n_states; i++) {
        const struct mdf_lowered_state *state = &plan->loop->states[i];
        const struct state_text *own = &plan->states[i];
        struct mdf_source_value *now = &writer->values[state->parameter], *next = &writer->values[state->next];
        const char *type = mdf_source_type((mdf_dtype)value_of(writer, state->parameter)->form.dtype), *hint = own->outer;

        now->name = own->outer;
        if (own->form == STATE_IN_PLACE) {
            next->name = own->outer;
            next->is_buffered = true;
            if (state->begins_made) {
                writer->values[state->made].name = own->outer;
                writer->values[state->made].is_buffered = true;
            }
        } else if (own->form == STATE_BESIDE_STACK) {
            next->copy = own->outer;
        } else if (own->form == STATE_TWO_BUFFERS) {
            now->name = mdf_source_name(writer, &writer->locals, mdf_source_text(writer, "%s_now", hint));
            next->name = mdf_source_name(writer, &writer->locals, mdf_source_text(writer, "%s_then", hint));
            next->is_buffered = true;
            mdf_source_line(writer, "const %s *restrict %s = %s;", type, now->name, own->outer);
            mdf_source_line(writer, "%s *restrict %s = %s;", type, next->name, own->next);
            if (state->begins_made) {
                writer->values[state->made].name = next->name;
                writer->values[state->made].is_buffered = true;
            }
        } else if (own->form == STATE_TAKES_OVER) {
            now->name = mdf_source_name(writer, &writer->locals, mdf_source_text(writer, "%s_now", hint));
            mdf_source_line(writer, "const %s *restrict %s = %s;", type, now->name, own->outer);
        }
    }
    for (size_t i = 0; i < plan->loop->n_states; i++) {
        const struct mdf_lowered_state *state = &plan->loop->states[i];

        if (state->takes_over && plan->states[i].form != STATE_UNUSED) { /* the copy lies there */
            writer->values[state->next].name = writer->values[state->other].name;
            writer->values[state->next].is_buffered = true;
        }
    }
}

static void name_counters(struct mdf_source_writer *writer, const struct loop_text *plan)
{
    const struct mdf_lowered_loop *loop = plan->loop;

    if (mdf_source_is_live(writer, loop->number)) {
        writer->values[loop->number].name = plan->run;
    }
    if (mdf_source_is_live(writer, loop->is_going_on)) {
        writer->values[loop->is_going_on].name = plan->going_on != NULL ? plan->going_on : "true";
    }
}

/* A state looks where another one does, or exchanges its buffer for that of the other one, which is there no more. */
static void take_over(struct mdf_source_writer *writer, const struct loop_text *plan, size_t i)
{
    const struct mdf_lowered_state *state = &plan->loop->states[i];
    const char *mine = plan->states[i].outer, *other = plan->states[other_state(plan->loop, state)].outer, *free_buffer;
    bool exchanges = plan->states[i].form == STATE_TAKES_OVER;

    if (exchanges) {
        free_buffer = mdf_source_name(writer, &writer->locals, mdf_source_text(writer, "%s_before", mine));
        mdf_source_line(writer, "%s *%s = %s;", mdf_source_type((mdf_dtype)value_of(writer, state->parameter)->form.dtype),
                        free_buffer, mine);
    }
    mdf_source_line(writer, "%s = %s;", mine, other);
    if (exchanges) {
        mdf_source_line(writer, "%s = %s;", other, free_buffer);
    }
}

/* Items into their stacks, then what the states are in the next run. */
static void carry_on(struct mdf_source_writer *writer, const struct loop_text *plan)
{
    const struct mdf_lowered_loop *loop = plan->loop;

    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];
        const char *number = item_number(writer, plan, stack->is_reversed), *name;
        size_t length = value_of(writer, stack->item)->form.length;

        if (!mdf_source_is_live(writer, stack->stack) || stack->is_put) {
            continue;
        }
        name = items_of(writer, stack);
        if (value_of(writer, stack->item)->is_scalar) {
            mdf_source_line(writer, "%s[%s] = %s;", name, number, mdf_source_element(writer, stack->item, "0"));
        } else if (!is_written_there(loop, stack) && length > 0) {
            mdf_source_line(writer, "memcpy(%s + %s * %zu, %s, %zu * sizeof *%s);", name, number, length,
                            mdf_source_address(writer, stack->item), length, name);
        }
    }
    if (plan->going_on != NULL && loop->next_condition != MDF_LOWERED_NONE) {
        mdf_source_line(writer, "%s = %s;", plan->going_on, mdf_source_element(writer, loop->next_condition, "0"));
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        const struct state_text *own = &plan->states[i];
        const char *next = own->form == STATE_UNUSED   ? NULL
                           : own->form == STATE_SCALAR ? mdf_source_element(writer, loop->states[i].next, "0")
                                                       : writer->values[loop->states[i].next].name;

        if (loop->states[i].takes_over && own->form != STATE_UNUSED) {
            take_over(writer, plan, i);
        } else if (own->form == STATE_SCALAR || own->form == STATE_IN_STACK) {
            mdf_source_line(writer, "%s = %s;", own->outer, next);
        } else if (own->form == STATE_TWO_BUFFERS) {
            mdf_source_line(writer, "%s = %s;", own->next, own->outer);
            mdf_source_line(writer, "%s = %s;", own->outer, next);
        }
    }
}

/* Zeros behind the items of the runs. */
static void pad_stacks(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop)
{
    for (size_t i = 0; i < loop->n_stacks && loop->n_padded > 0; i++) {
        size_t length = value_of(writer, loop->stacks[i].item)->form.length;
        const char *name = writer->values[loop->stacks[i].stack].name, *n = mdf_source_element(writer, loop->trip_count, "0");

        if (mdf_source_is_live(writer, loop->stacks[i].stack) && length > 0) {
            mdf_source_line(writer, "memset(%s + %s * %zu, 0, (size_t)(%zu - %s) * %zu * sizeof *%s);", name, n, length,
                            loop->n_padded, n, length, name);
        }
    }
}

/* ------------------------------------------------------------------ the loop */

static const char other_number[] = "a Loop that stacks values does not run as often as when the model was compiled";
static const char other_length[] = "a sequence of a Scan is longer than there is room for, or of negative length";

/* Whether a loop ends by its condition alone: no run has a number beyond its trip count. */
static bool is_endless(const struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop)
{
    const struct mdf_lowered_value *count = value_of(writer, loop->trip_count);

    return count->place == MDF_LOWERED_CONSTANT && count->form.dtype == MDF_DTYPE_INT64 && count->form.length == 1 &&
           *(const int64_t *)count->form.data == INT64_MAX && loop->next_condition != MDF_LOWERED_NONE;
}

static void open_loop(struct mdf_source_writer *writer, struct loop_text *plan)
{
    const struct mdf_lowered_loop *loop = plan->loop;
    const char *bound = "";
    size_t n_items = open_items(writer, loop);

    if (loop->n_padded > 0) {
        const char *n = mdf_source_element(writer, loop->trip_count, "0");

        mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s < 0 || %s > %zu", n, n, loop->n_padded), other_length);
    }
    plan->run = mdf_source_name(writer, &writer->locals, "run");
    if (loop->n_runs != SIZE_MAX) {
        bound = mdf_source_text(writer, "%s < %zu", plan->run, loop->n_runs);
    } else if (loop->trip_count != MDF_LOWERED_NONE && !is_endless(writer, loop)) {
        bound = mdf_source_text(writer, "%s < %s", plan->run, mdf_source_element(writer, loop->trip_count, "0"));
    }
    if (loop->condition != MDF_LOWERED_NONE || loop->next_condition != MDF_LOWERED_NONE) {
        plan->going_on = mdf_source_name(writer, &writer->locals, "going_on");
        mdf_source_line(writer, "bool %s = %s;", plan->going_on,
                        loop->condition != MDF_LOWERED_NONE ? mdf_source_element(writer, loop->condition, "0") : "true");
        bound = bound[0] != '\0' ? mdf_source_text(writer, "%s && %s", plan->going_on, bound) : plan->going_on;
    }
    if (n_items != SIZE_MAX) {
        mdf_source_line(writer, "int64_t %s = 0;", plan->run);
        mdf_source_open(writer, "for (; %s; %s++)", bound, plan->run);
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s >= %zu", plan->run, n_items), other_number);
    } else {
        mdf_source_open(writer, "for (int64_t %s = 0; %s; %s++)", plan->run, bound, plan->run);
    }
    if (loop->limit > 0) {
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s >= INT64_C(%llu)", plan->run, (unsigned long long)loop->limit),
                               "a Loop runs more often than it was allowed to");
    }
}

bool mdf_source_write_loop(struct mdf_source_writer *writer, const struct mdf_lowered_loop *loop)
{
    struct loop_text plan = {.loop = loop};
    const struct mdf_lowered_loop *outer = writer->loop;
    struct mdf_source_copies copies;

    plan.states = mdf_arena_array(&writer->arena, loop->n_states, sizeof *plan.states);
    if (plan.states == NULL) {
        return mdf_source_out_of_memory(writer);
    }
    mdf_source_copy_inputs(writer, loop, &copies);
    declare_stacks(writer, loop);
    for (size_t i = 0; i < loop->n_states; i++) {
        declare_state(writer, loop, &loop->states[i], &plan.states[i]);
    }
    open_loop(writer, &plan);
    name_counters(writer, &plan);
    count_stacks(writer, &plan);
    name_rows(writer, &plan);
    name_direct_items(writer, &plan);
    name_states(writer, &plan);
    writer->loop = loop;
    if (!mdf_source_write_region(writer, &loop->body)) {
        return false;
    }
    writer->loop = outer;
    carry_on(writer, &plan);
    mdf_source_close(writer);
    mdf_source_end_copies(writer, &copies);
    if (open_items(writer, loop) != SIZE_MAX) {
        mdf_source_bail_out_if(writer, mdf_source_text(writer, "%s != %zu", plan.run, open_items(writer, loop)), other_number);
    }
    pad_stacks(writer, loop);
    for (size_t i = 0; i < loop->n_states; i++) {
        writer->values[loop->states[i].parameter].name = plan.states[i].outer;
    }
    return true;
}
