/* lower_scan.c - Scan as a structured op. See lower_loops.h. */
#include "mdf_c/lower/lower_loops.h"

/* Entry number `i` of a list attribute, or 0. */
static int64_t entry(const struct mdf_code_call *source, const char *name, size_t i)
{
    const struct mdf_ints *list = lowering_setting(source->operator, source->settings, name);

    return list != NULL && list->items != NULL && i < list->n ? list->items[i] : 0;
}

static bool is_reversed(const struct mdf_code_call *source, size_t stack)
{
    return entry(source, "scan_output_directions", stack) == 1;
}

/* The axis that entry number `i` of a list attribute names; false: an array of that rank has none. */
static bool find_axis(const struct mdf_code_call *source, const char *name, size_t i, size_t rank, size_t *axis)
{
    int64_t given = entry(source, name, i);

    given += given < 0 ? (int64_t)rank : 0;
    *axis = (size_t)given;
    return given >= 0 && given < (int64_t)rank;
}

/* The arrays that are scanned, in loop->sources, with the axis of the scan in front. */
static bool read_sources(struct loop *loop, size_t n_states, size_t n_rows)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_value *whole;
    size_t i, axis;

    loop->sources = mdf_arena_array(&lowering->scratch, n_rows, sizeof *loop->sources);
    if (loop->sources == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < n_rows; i++) {
        loop->sources[i] = lowering_value_of(lowering, loop->outer, loop->source->inputs[n_states + i]);
        if (loop->sources[i] == MDF_LOWERED_NONE) {
            return false;
        }
        whole = lowering_example(lowering, loop->sources[i]);
        if (whole->kind != MDF_KIND_TENSOR || whole->length == 0 ||
            !find_axis(loop->source, "scan_input_axes", i, whole->rank, &axis)) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_AXIS);
        }
        loop->sources[i] = lowering_move_axis(lowering, loop->sources[i], axis, 0);
        if (loop->sources[i] == MDF_LOWERED_NONE) {
            return lowering_fail(lowering, MDF_REFUSED_MANY_AXES);
        }
    }
    return true;
}

/* The axis of the runs comes where each scan output has it. */
static bool move_stacks(struct loop *loop, size_t n_states)
{
    struct lowering *lowering = loop->lowering;
    size_t i, axis;

    for (i = n_states; i < loop->source->n_outputs; i++) {
        mdf_operand operand = loop->source->outputs[i];
        mdf_lowered_id id;

        if (operand == MDF_NO_OPERAND || entry(loop->source, "scan_output_axes", i - n_states) == 0) {
            continue;
        }
        id = lowering_value_of(lowering, loop->outer, operand);
        if (id == MDF_LOWERED_NONE) {
            return false;
        }
        if (!find_axis(loop->source, "scan_output_axes", i - n_states, lowering_example(lowering, id)->rank, &axis)) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_AXIS);
        }
        id = lowering_move_axis(lowering, id, 0, axis);
        if (id == MDF_LOWERED_NONE) {
            return lowering_fail(lowering, MDF_REFUSED_MANY_AXES);
        }
        if (!lowering_bind(lowering, loop->outer, operand, id)) {
            return false;
        }
    }
    return true;
}

static bool add_rows(struct loop *loop, size_t n_states, size_t n_rows)
{
    struct lowering *lowering = loop->lowering;
    size_t i;

    loop->result->rows = mdf_arena_array(&lowering->lowered->arena, n_rows, sizeof *loop->result->rows);
    if (loop->result->rows == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (i = 0; i < n_rows; i++) {
        struct mdf_lowered_rows *rows = &loop->result->rows[i];
        const struct mdf_value *whole;
        struct mdf_value item = {0};
        size_t length;

        rows->source = loop->sources[i];
        whole = lowering_example(lowering, rows->source);
        length = (size_t)mdf_value_shape(whole)[0];
        if (i > 0 && length != loop->result->n_runs) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
        loop->result->n_runs = length;
        rows->is_reversed = entry(loop->source, "scan_input_directions", i) == 1;
        mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)whole->dtype, (enum mdf_strength)whole->strength,
                                whole->rank - 1, mdf_value_shape(whole) + 1, whole->data);
        rows->parameter = loop_add_parameter(loop, &item);
        loop->result->n_rows = i + 1;
        if (!lowering_bind(lowering, &loop->inner, loop->body->formals[n_states + i], rows->parameter)) {
            return false;
        }
    }
    return true;
}

/* The loop with its body; *changes as in lower_loop.c. */
static bool lower_runs(struct loop *loop, size_t n_states, size_t n_rows, bool *changes, size_t *changing)
{
    size_t i;

    if (!loop_begin(loop, 0)) {
        return false;
    }
    for (i = 0; i < n_states; i++) {
        if (!loop_add_state(loop, i, i)) {
            return false;
        }
    }
    if (!add_rows(loop, n_states, n_rows) || !loop_run_body(loop)) {
        return false;
    }
    *changes = !loop_keeps_forms(loop, changing);
    if (*changes) {
        loop->lowering->region = loop->region.outer;
        return true;
    }
    if (!loop_carry_states(loop)) {
        return false;
    }
    for (i = n_states; i < loop->n_outputs; i++) {
        if (!loop_add_stack(loop, loop->yields[i], i, is_reversed(loop->source, i - n_states))) {
            return false;
        }
    }
    return loop_end(loop);
}

/* One run of the body before the loop: afterwards the states begin with what it yields, and the arrays are shorter by an item. */
static bool peel(struct loop *loop, size_t n_states, size_t n_rows, size_t n_runs)
{
    struct lowering *lowering = loop->lowering;
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];
    struct scope inner = {.code = body, .outer = loop->outer};
    size_t i;

    for (i = 0; i < n_states + n_rows; i++) {
        bool is_row = i >= n_states, is_last = is_row && entry(loop->source, "scan_input_directions", i - n_states) == 1;
        mdf_lowered_id id =
            is_row ? lowering_item(lowering, loop->sources[i - n_states], is_last ? n_runs - 1 : 0) : loop->initial[i];

        if (!lowering_bind(lowering, &inner, body->formals[i], id)) {
            return false;
        }
        if (is_row && n_runs > 1) {
            mdf_lowered_id *source = &loop->sources[i - n_states];

            *source = lowering_items(lowering, *source, is_last ? 0 : 1, is_last ? n_runs - 1 : n_runs);
            if (*source == MDF_LOWERED_NONE) {
                return false;
            }
        }
    }
    return lowering_run_inside(lowering, &inner) && loop_keep_run(loop, &inner, n_states, 0, true);
}

bool lowering_scan(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    const int64_t *n_scan_inputs = lowering_setting(source->operator, source->settings, "num_scan_inputs");
    struct loop outside = {.lowering = lowering, .outer = scope, .source = source}, loop;
    size_t n_states, n_rows, n_left = SIZE_MAX, changing = 0;
    bool changes = true;

    if (source->operator->since<9 || n_scan_inputs == NULL || * n_scan_inputs<1 ||(size_t) * n_scan_inputs > source->n_inputs) {
        return lowering_fail(lowering, MDF_REFUSED_SCAN_BATCH);
    }
    n_rows = (size_t)*n_scan_inputs;
    n_states = source->n_inputs - n_rows;
    if (!loop_read_initial(&outside, 0, n_states) || !read_sources(&outside, n_states, n_rows)) {
        return false;
    }
    while (changes && n_left > 0) {
        size_t *counts = lowering_count_ops(lowering);

        loop = outside;
        if (counts == NULL || !lower_runs(&loop, n_states, n_rows, &changes, &changing)) {
            return false;
        }
        if (!changes) {
            break;
        }
        lowering_restore_ops(lowering, counts);
        if (outside.n_peeled == MOST_PEELED || lowering->is_for_source ||
            !peel(&outside, n_states, n_rows, loop.result->n_runs)) {
            return loop_refuse_state(&loop, changing);
        }
        n_left = loop.result->n_runs - 1;
    }
    return (outside.n_peeled == 0 || loop_join_runs(&outside, n_states, n_left, is_reversed)) && move_stacks(&outside, n_states);
}
