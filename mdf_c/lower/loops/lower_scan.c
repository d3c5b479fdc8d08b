/* lower_scan.c - Scan as structured ops: a loop over what is scanned; that of version 8 stands in a loop over the sequences of
 * its batch. See lower_loops.h. */
#include "mdf_c/code/operands.h"
#include "mdf_c/lower/loops/lower_loops.h"
#include "mdf_c/lower/terms.h"

enum { FIRST_WITHOUT_BATCH = 9, FEWEST_TOGETHER = 16 /* elements of an item that lie side by side */ };

/* What is scanned: the items of loop.sources, from the states loop.initial on. */
struct scan {
    struct loop loop; /* of no run yet */
    size_t n_states, n_rows;
    size_t length; /* of the arrays */
    size_t *axes;  /* of each array that is scanned: where its items are, if that is not in front; NULL: all are in front */
    mdf_lowered_id trip_count; /* how many items a sequence really has; NONE: all */
};

static bool is_row_reversed(const struct mdf_code_call *source, size_t row)
{
    return mdf_code_setting_at(source, FIRST_WITHOUT_BATCH > source->operator->since ? "directions" : "scan_input_directions",
                               row) == 1;
}

static bool is_reversed(const struct mdf_code_call *source, size_t stack)
{
    return mdf_code_setting_at(source, "scan_output_directions", stack) == 1;
}

/* The axis that entry number `i` of a list attribute names; false: an array of that rank has none. */
static bool find_axis(const struct mdf_code_call *source, const char *name, size_t i, size_t rank, size_t *axis)
{
    int64_t given = mdf_code_setting_at(source, name, i);

    given += given < 0 ? (int64_t)rank : 0;
    *axis = (size_t)given;
    return given >= 0 && given < (int64_t)rank;
}

/* ------------------------------------------------------------------ items along other axes */

/* A slot of a body that has an item, as it is. */
struct item {
    const struct mdf_code *body;
    bool *is_item; /* of each slot */
};

static bool is_item(void *context, mdf_operand operand)
{
    const struct item *item = context;

    return MDF_OPERAND_KIND(operand) == MDF_OPERAND_SLOT && item->is_item[MDF_OPERAND_INDEX(operand)];
}

/* Whether functions of elements are all that a body makes of an item. */
static bool is_read_by_element(struct item *item)
{
    const struct mdf_code *body = item->body;
    size_t i;

    for (i = 0; i < body->n_instructions; i++) {
        const struct mdf_instruction *instruction = &body->instructions[i];
        const struct mdf_operator *row = instruction->opcode == MDF_OPCODE_CALL ? body->calls[instruction->target].operator: NULL;

        if (!mdf_any_read(instruction, body->calls, body->bodies, is_item, item)) {
            continue;
        }
        if (mdf_hands_on(instruction) && MDF_OPERAND_KIND(instruction->a) == MDF_OPERAND_SLOT) {
            item->is_item[MDF_OPERAND_INDEX(instruction->a)] = true;
        } else if (row == NULL || (row->element == NULL && row->element_of == NULL)) {
            return false;
        }
    }
    for (i = 0; i < body->n_yields && !is_item(item, body->yields[i]); i++) {
    }
    return i == body->n_yields;
}

/* Whether the items of an array along an axis are read where they lie, by the number of the run: functions of elements go through
 * them, and pieces of them lie side by side. Else the array is laid out with its items in front, as products (of many items at
 * once) and what goes through short pieces want it. */
static bool is_read_in_place(const struct scan *scan, size_t row, const struct mdf_value *whole, size_t axis)
{
    const struct loop *loop = &scan->loop;
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];
    struct item item = {.body = body};
    mdf_operand formal = scan->n_states + row < body->n_formals ? body->formals[scan->n_states + row] : MDF_NO_OPERAND;
    size_t n = 1;

    for (size_t d = axis + 1; d < whole->rank; d++) {
        n *= (size_t)mdf_value_shape(whole)[d];
    }
    if (axis == 0 || n < FEWEST_TOGETHER || scan->n_states == 0 || body->program != NULL || formal == MDF_NO_OPERAND ||
        MDF_OPERAND_KIND(formal) != MDF_OPERAND_SLOT) {
        return false;
    }
    item.is_item = mdf_arena_array(&loop->lowering->scratch, body->n_slots, sizeof *item.is_item);
    if (item.is_item == NULL) {
        return lowering_out_of_memory(loop->lowering);
    }
    item.is_item[MDF_OPERAND_INDEX(formal)] = true;
    return is_read_by_element(&item);
}

static size_t axis_of(const struct scan *scan, size_t row)
{
    return scan->axes != NULL ? scan->axes[row] : 0;
}

/* Lays all arrays out with their items in front. */
static bool move_sources(struct scan *scan)
{
    for (size_t i = 0; i < scan->n_rows; i++) {
        mdf_lowered_id *source = &scan->loop.sources[i];

        *source = lowering_move_axis(scan->loop.lowering, *source, axis_of(scan, i), 0);
        if (*source == MDF_LOWERED_NONE) {
            return lowering_fail(scan->loop.lowering, MDF_REFUSED_MANY_AXES);
        }
    }
    scan->axes = NULL;
    return true;
}

/* The number of the run, from 0 on. */
static mdf_lowered_id find_number(struct loop *loop)
{
    static const int64_t first = 0;
    struct mdf_value number = {0};

    if (loop->result->number == MDF_LOWERED_NONE) {
        mdf_value_borrow_tensor(loop->lowering->memory, &number, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 0, NULL, &first);
        loop->result->number = loop_add_parameter(loop, &number);
    }
    return loop->result->number;
}

/* An item of an array along an axis in each run, read where it lies. */
static mdf_lowered_id read_in_place(const struct scan *scan, struct loop *loop, size_t row)
{
    struct lowering *lowering = loop->lowering;
    mdf_lowered_id number = find_number(loop);

    if (number == MDF_LOWERED_NONE) {
        return number;
    }
    lowering->facts[number].is_number = true;
    lowering->facts[number].most = (int64_t)scan->length - 1;
    if (is_row_reversed(loop->source, row)) {
        number =
            mdf_term_compute(lowering, MDF_LOWERED_SUBTRACT, false, mdf_term_whole(lowering, (int64_t)scan->length - 1), number);
    }
    return number == MDF_LOWERED_NONE ? number : lowering_item_along(lowering, loop->sources[row], number, axis_of(scan, row));
}

/* ------------------------------------------------------------------ the items of arrays */

/* An item of an array in each run. */
static mdf_lowered_id add_row(struct loop *loop, mdf_lowered_id source, bool is_row_reversed)
{
    struct lowering *lowering = loop->lowering;
    struct mdf_lowered_rows *row = &loop->result->rows[loop->result->n_rows++];
    const struct mdf_value *whole = lowering_example(lowering, source);
    struct mdf_value item = {0};

    mdf_value_borrow_tensor(lowering->memory, &item, (mdf_dtype)whole->dtype, (enum mdf_strength)whole->strength, whole->rank - 1,
                            mdf_value_shape(whole) + 1, whole->data);
    *row = (struct mdf_lowered_rows){source, loop_add_parameter(loop, &item), is_row_reversed};
    return row->parameter;
}

static bool begin_rows(struct loop *loop, size_t n)
{
    loop->result->rows = mdf_arena_array(&loop->lowering->lowered->arena, n, sizeof *loop->result->rows);
    return loop->result->rows != NULL || lowering_out_of_memory(loop->lowering);
}

/* The arrays that are scanned, of one length along their first axes. */
static bool read_length(struct scan *scan)
{
    struct lowering *lowering = scan->loop.lowering;

    for (size_t i = 0; i < scan->n_rows; i++) {
        size_t length = (size_t)mdf_value_shape(lowering_example(lowering, scan->loop.sources[i]))[axis_of(scan, i)];

        if (i > 0 && length != scan->length) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
        scan->length = length;
    }
    return true;
}

/* ------------------------------------------------------------------ the runs */

/* The loop with its body; *changes as in lower_loop.c. */
static bool lower_runs(const struct scan *scan, struct loop *loop, bool *changes, size_t *changing)
{
    struct mdf_lowered_loop *result;
    size_t n_states = scan->n_states;

    if (!loop_begin(loop, 0) || !begin_rows(loop, scan->n_rows)) {
        return false;
    }
    result = loop->result;
    result->n_runs = scan->trip_count == MDF_LOWERED_NONE ? scan->length - loop->n_peeled : SIZE_MAX;
    result->trip_count = scan->trip_count;
    result->n_padded = scan->trip_count == MDF_LOWERED_NONE ? 0 : scan->length;
    for (size_t i = 0; i < n_states; i++) {
        if (!loop_add_state(loop, i, i)) {
            return false;
        }
    }
    for (size_t i = 0; i < scan->n_rows; i++) {
        mdf_lowered_id item = axis_of(scan, i) > 0 ? read_in_place(scan, loop, i)
                                                   : add_row(loop, loop->sources[i], is_row_reversed(loop->source, i));

        if (!lowering_bind(loop->lowering, &loop->inner, loop->body->formals[n_states + i], item)) {
            return false;
        }
    }
    if (!loop_run_body(loop)) {
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
    for (size_t i = n_states; i < loop->n_outputs; i++) {
        if (!loop_add_stack(loop, loop->yields[i], i, is_reversed(loop->source, i - n_states))) {
            return false;
        }
    }
    return loop_end(loop);
}

/* One run of the body before the loop: afterwards the states begin with what it yields, and the arrays are shorter by an item. */
static bool peel(struct scan *scan)
{
    struct loop *loop = &scan->loop;
    struct lowering *lowering = loop->lowering;
    const struct mdf_code *body = loop->outer->code->bodies[loop->source->bodies[0]];
    struct scope inner = {.code = body, .outer = loop->outer};
    size_t n_states = scan->n_states, n_runs = scan->length - loop->n_peeled;

    if (!move_sources(scan)) {
        return false;
    }
    for (size_t i = 0; i < n_states + scan->n_rows; i++) {
        bool is_row = i >= n_states, is_last = is_row && is_row_reversed(loop->source, i - n_states);
        mdf_lowered_id id = is_row ? lowering_item(lowering, loop->sources[i - n_states], is_last ? n_runs - 1 : 0)
                                   : loop_show_state(loop, i, loop->initial[i]);

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

/* All runs, of which the results are. */
static bool lower_sequence(struct scan *scan)
{
    struct lowering *lowering = scan->loop.lowering;
    bool changes = true;
    size_t changing = 0;

    while (changes && scan->loop.n_peeled < scan->length) {
        size_t *counts = lowering_count_ops(lowering);
        struct loop loop = scan->loop;

        if (counts == NULL || !lower_runs(scan, &loop, &changes, &changing)) {
            return false;
        }
        if (!changes) {
            break;
        }
        lowering_restore_ops(lowering, counts);
        if (scan->loop.n_peeled == MOST_PEELED || scan->trip_count != MDF_LOWERED_NONE ||
            !loop_may_be_tried_again(scan->loop.lowering) || !peel(scan)) {
            return loop_refuse_state(&loop, changing);
        }
    }
    return scan->loop.n_peeled == 0 ||
           loop_join_runs(&scan->loop, scan->n_states, scan->length - scan->loop.n_peeled, is_reversed);
}

/* ------------------------------------------------------------------ from version 9 on */

/* The arrays that are scanned, with the axis of the scan in front, but for those whose items are read where they lie. */
static bool read_sources(struct scan *scan)
{
    struct loop *loop = &scan->loop;
    struct lowering *lowering = loop->lowering;
    size_t axis;

    loop->sources = mdf_arena_array(&lowering->scratch, scan->n_rows, sizeof *loop->sources);
    scan->axes = mdf_arena_array(&lowering->scratch, scan->n_rows, sizeof *scan->axes);
    if (loop->sources == NULL || scan->axes == NULL) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < scan->n_rows; i++) {
        const struct mdf_value *whole;

        loop->sources[i] = lowering_value_of(lowering, loop->outer, loop->source->inputs[scan->n_states + i]);
        if (loop->sources[i] == MDF_LOWERED_NONE) {
            return false;
        }
        whole = lowering_example(lowering, loop->sources[i]);
        if (whole->kind != MDF_KIND_TENSOR || whole->length == 0 ||
            !find_axis(loop->source, "scan_input_axes", i, whole->rank, &axis)) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_AXIS);
        }
        if (is_read_in_place(scan, i, whole, axis)) {
            scan->axes[i] = axis;
            continue;
        }
        loop->sources[i] = lowering_move_axis(lowering, loop->sources[i], axis, 0);
        if (loop->sources[i] == MDF_LOWERED_NONE) {
            return lowering_fail(lowering, MDF_REFUSED_MANY_AXES);
        }
    }
    return read_length(scan);
}

/* The axis of the runs comes where each scan output has it. */
static bool move_stacks(struct scan *scan)
{
    struct loop *loop = &scan->loop;
    size_t axis;

    for (size_t i = scan->n_states; i < loop->source->n_outputs; i++) {
        mdf_lowered_id *stack = &loop->results[i];

        if (loop->source->outputs[i] == MDF_NO_OPERAND ||
            mdf_code_setting_at(loop->source, "scan_output_axes", i - scan->n_states) == 0) {
            continue;
        }
        if (!find_axis(loop->source, "scan_output_axes", i - scan->n_states, lowering_example(loop->lowering, *stack)->rank,
                       &axis)) {
            return lowering_fail(loop->lowering, MDF_REFUSED_SCAN_AXIS);
        }
        *stack = lowering_move_axis(loop->lowering, *stack, 0, axis);
        if (*stack == MDF_LOWERED_NONE) {
            return lowering_fail(loop->lowering, MDF_REFUSED_MANY_AXES);
        }
    }
    return true;
}

/* Whether all that is scanned has no item: the body never runs. */
static bool has_no_item(struct scan *scan)
{
    struct loop *loop = &scan->loop;
    size_t axis;

    for (size_t i = 0; i < scan->n_rows; i++) {
        mdf_lowered_id id = lowering_value_of(loop->lowering, loop->outer, loop->source->inputs[scan->n_states + i]);
        const struct mdf_value *whole = id == MDF_LOWERED_NONE ? NULL : lowering_example(loop->lowering, id);

        if (whole == NULL || whole->kind != MDF_KIND_TENSOR ||
            !find_axis(loop->source, "scan_input_axes", i, whole->rank, &axis) || mdf_value_shape(whole)[axis] != 0) {
            return false;
        }
    }
    return true;
}

/* A scan output without an item: what the body declares, with an axis of none. NONE: it declares too little. */
static mdf_lowered_id add_empty(struct scan *scan, size_t output)
{
    struct loop *loop = &scan->loop;
    const struct mdf_static_type *type = &loop->outer->code->bodies[loop->source->bodies[0]]->yield_types[output];
    static const uint64_t nothing = 0;
    int64_t shape[MDF_INLINE_RANK];
    struct mdf_value empty = {0};
    size_t axis;

    if (type->dtype == MDF_DTYPE_NONE || type->dtype == MDF_DTYPE_STRING || !type->has_shape || type->rank >= MDF_INLINE_RANK ||
        !find_axis(loop->source, "scan_output_axes", output - scan->n_states, type->rank + 1, &axis)) {
        return MDF_LOWERED_NONE;
    }
    for (size_t d = 0; d <= type->rank; d++) {
        shape[d] = d == axis ? 0 : type->shape[d - (d > axis)];
        if (shape[d] < 0) {
            return MDF_LOWERED_NONE;
        }
    }
    mdf_value_borrow_tensor(loop->lowering->memory, &empty, type->dtype, MDF_STRENGTH_TYPED, type->rank + 1, shape, &nothing);
    return lowering_add_constant(loop->lowering, &empty, false);
}

/* States stay as they are. */
static bool lower_nothing(struct scan *scan)
{
    struct loop *loop = &scan->loop;

    if (!loop_read_initial(loop, 0, scan->n_states)) {
        return false;
    }
    for (size_t i = 0; i < loop->source->n_outputs; i++) {
        loop->results[i] = i < scan->n_states ? loop->initial[i] : add_empty(scan, i);
        if (loop->results[i] == MDF_LOWERED_NONE) {
            return lowering_fail(loop->lowering, MDF_REFUSED_SCAN_AXIS);
        }
    }
    return loop_bind_results(loop);
}

static bool lower_scan(struct scan *scan)
{
    if (has_no_item(scan)) {
        return lower_nothing(scan);
    }
    return loop_read_initial(&scan->loop, 0, scan->n_states) && read_sources(scan) && lower_sequence(scan) && move_stacks(scan) &&
           loop_bind_results(&scan->loop);
}

/* ------------------------------------------------------------------ SequenceMap */

/* Sequences are scanned, what is none is the same in each run. */
static bool bind_map_inputs(struct loop *loop, mdf_lowered_id *sequences)
{
    for (size_t i = 0; i < loop->source->n_inputs; i++) {
        mdf_lowered_id id = sequences[i] != MDF_LOWERED_NONE
                                ? add_row(loop, sequences[i], false)
                                : lowering_value_of(loop->lowering, loop->outer, loop->source->inputs[i]);

        if (!lowering_bind(loop->lowering, &loop->inner, loop->body->formals[i], id)) {
            return false;
        }
    }
    return true;
}

/* The rows of each input that is a sequence; all are of one length. */
static bool read_sequences(struct loop *loop, mdf_lowered_id *sequences, size_t *length)
{
    struct lowering *lowering = loop->lowering;

    *length = 0;
    for (size_t i = 0; i < loop->source->n_inputs; i++) {
        mdf_lowered_id id = lowering_value_of(lowering, loop->outer, loop->source->inputs[i]);
        size_t n;

        sequences[i] = id == MDF_LOWERED_NONE || lowering_example(lowering, id)->kind != MDF_KIND_LIST
                           ? MDF_LOWERED_NONE
                           : lowering_find_rows(lowering, id);
        if (lowering_has_failed(lowering) || id == MDF_LOWERED_NONE) {
            return false;
        }
        if (sequences[i] == MDF_LOWERED_NONE) {
            continue;
        }
        n = (size_t)mdf_value_shape(lowering_example(lowering, sequences[i]))[0];
        if (lowering->facts[sequences[i]].is_open || lowering->facts[sequences[i]].growth != NULL ||
            (*length > 0 && n != *length)) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
        *length = n;
    }
    return sequences[0] != MDF_LOWERED_NONE || lowering_fail(lowering, MDF_REFUSED_CHANGING_LIST);
}

/* Item number `k` of an input, or the input itself where it is no sequence; NONE: it has no such item. */
static mdf_lowered_id map_input(struct lowering *lowering, mdf_lowered_id input, size_t n, size_t k)
{
    size_t n_there = 0;
    const mdf_lowered_id *items;
    mdf_lowered_id rows;

    if (lowering_example(lowering, input)->kind != MDF_KIND_LIST) {
        return input;
    }
    rows = lowering_find_rows(lowering, input);
    items = rows == MDF_LOWERED_NONE ? lowering_sequence_items(lowering, input, &n_there) : NULL;
    if (items != NULL) {
        return n_there == n ? items[k] : MDF_LOWERED_NONE;
    }
    return rows != MDF_LOWERED_NONE && !lowering->facts[rows].is_open && lowering->facts[rows].growth == NULL &&
                   mdf_value_shape(lowering_example(lowering, rows))[0] == (int64_t)n
               ? lowering_item(lowering, rows, k)
               : MDF_LOWERED_NONE;
}

/* The body on the items with number `k`, whose results are put down in `results`, n for each output. */
static bool map_item(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, size_t n, size_t k,
                     mdf_lowered_id *results)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[0]];
    struct scope inner = {.code = body, .outer = scope};

    for (size_t i = 0; i < source->n_inputs; i++) {
        mdf_lowered_id input = lowering_value_of(lowering, scope, source->inputs[i]);
        mdf_lowered_id item = input == MDF_LOWERED_NONE ? input : map_input(lowering, input, n, k);

        if (item == MDF_LOWERED_NONE || !lowering_bind(lowering, &inner, body->formals[i], item)) {
            return lowering_fail(lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
    }
    if (!lowering_run_inside(lowering, &inner)) {
        return false;
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        results[i * n + k] = lowering_value_of(lowering, &inner, body->yields[i]);
    }
    return !lowering_has_failed(lowering);
}

/* Items that are known one by one have a run each. */
static bool map_items(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source, size_t n)
{
    const struct mdf_code *body = scope->code->bodies[source->bodies[0]];
    mdf_lowered_id *results = mdf_arena_array(&lowering->scratch, n * source->n_outputs, sizeof *results);

    if (results == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (body->program != NULL || body->n_formals != source->n_inputs || body->n_yields < source->n_outputs ||
        n > MOST_WRITTEN_OUT) {
        return lowering_fail(lowering, MDF_REFUSED_WRONG_INPUTS);
    }
    for (size_t k = 0; k < n; k++) {
        if (!map_item(lowering, scope, source, n, k, results)) {
            return false;
        }
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        if (source->outputs[i] != MDF_NO_OPERAND &&
            !lowering_bind(lowering, scope, source->outputs[i], lowering_add_items(lowering, results + i * n, n))) {
            return false;
        }
    }
    return true;
}

bool lowering_map(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    struct loop loop = {.lowering = lowering, .outer = scope, .source = source};
    mdf_lowered_id first = source->n_inputs > 0 ? lowering_value_of(lowering, scope, source->inputs[0]) : MDF_LOWERED_NONE;
    mdf_lowered_id *sequences = mdf_arena_array(&lowering->scratch, source->n_inputs, sizeof *sequences);
    size_t length;

    if (sequences == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (first != MDF_LOWERED_NONE && lowering_find_rows(lowering, first) == MDF_LOWERED_NONE &&
        lowering_sequence_items(lowering, first, &length) != NULL) {
        return map_items(lowering, scope, source, length);
    }
    if (source->n_inputs == 0 || !loop_read_initial(&loop, 0, 0) || !read_sequences(&loop, sequences, &length) ||
        !loop_begin(&loop, 0) || !begin_rows(&loop, source->n_inputs)) {
        return false;
    }
    loop.result->n_runs = length;
    if (loop.body->n_formals != source->n_inputs || loop.n_outputs < source->n_outputs || !bind_map_inputs(&loop, sequences) ||
        !loop_run_body(&loop) || !loop_carry_states(&loop)) {
        return lowering_fail(lowering, MDF_REFUSED_WRONG_INPUTS);
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        if (source->outputs[i] != MDF_NO_OPERAND && !loop_add_stack(&loop, loop.yields[i], i, false)) {
            return false;
        }
    }
    if (!loop_end(&loop)) {
        return false;
    }
    for (size_t i = 0; i < source->n_outputs; i++) {
        if (source->outputs[i] != MDF_NO_OPERAND &&
            !lowering_bind(lowering, scope, source->outputs[i], lowering_add_sequence(lowering, loop.results[i]))) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ version 8 */

/* The loop over the sequences of the batch. Its rows are the initial states, the scan inputs, and the lengths of the sequences.
 */
struct batch {
    struct loop loop;
    size_t n; /* sequences */
    mdf_lowered_id lengths;
};

/* The lengths of the sequences, where they are given. */
static bool read_lengths(struct batch *batch)
{
    struct lowering *lowering = batch->loop.lowering;
    mdf_operand operand = batch->loop.source->inputs[0];
    const struct mdf_value *lengths;
    mdf_lowered_id id;

    batch->lengths = MDF_LOWERED_NONE;
    if (operand == MDF_NO_OPERAND) {
        return true;
    }
    id = lowering_value_of(lowering, batch->loop.outer, operand);
    if (id == MDF_LOWERED_NONE) {
        return false;
    }
    lengths = lowering_example(lowering, id);
    if (lengths->kind == MDF_KIND_NONE) {
        return true;
    }
    batch->lengths = id;
    return (lengths->kind == MDF_KIND_TENSOR && lengths->rank == 1 && lengths->length == batch->n &&
            (lengths->dtype == MDF_DTYPE_INT64 || lengths->dtype == MDF_DTYPE_INT32)) ||
           lowering_fail_about(lowering, MDF_REFUSED_OTHER_LENGTHS, lengths, NULL);
}

/* What has a batch axis: states, in loop.initial, and what is scanned, in loop.sources. */
static bool read_batch(struct batch *batch, const struct scan *scan)
{
    struct loop *loop = &batch->loop;
    size_t n = scan->n_states + scan->n_rows;

    if (!loop_read_initial(loop, 1, n)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct mdf_value *whole = lowering_example(loop->lowering, loop->initial[i]);
        bool is_row = i >= scan->n_states;

        if (whole->kind != MDF_KIND_TENSOR || whole->rank < (is_row ? 2 : 1) || mdf_value_shape(whole)[0] == 0 ||
            (is_row && whole->length == 0)) {
            return lowering_fail(loop->lowering, MDF_REFUSED_SCAN_AXIS);
        }
        batch->n = i == 0 ? (size_t)mdf_value_shape(whole)[0] : batch->n;
        if ((size_t)mdf_value_shape(whole)[0] != batch->n) {
            return lowering_fail(loop->lowering, MDF_REFUSED_SCAN_LENGTHS);
        }
    }
    return read_lengths(batch);
}

/* Outputs that are left out may have none (loop_join_runs). */
static bool has_result(const struct scan *scan, size_t output)
{
    return scan->loop.source->outputs[output] != MDF_NO_OPERAND;
}

/* Where no sequence has an item, scan outputs are what the body declares. */
static bool declares_items(const struct batch *batch, const struct scan *scan)
{
    struct lowering *lowering = batch->loop.lowering;

    for (size_t i = scan->n_states; i < batch->loop.n_outputs; i++) {
        if (has_result(scan, i) &&
            !loop_declares_item(&batch->loop.body->yield_types[i], lowering_example(lowering, scan->loop.results[i]))) {
            return false;
        }
    }
    return true;
}

/* Whether any sequence has an item: what that is after the last one. */
static mdf_lowered_id find_any_item(struct batch *batch, mdf_lowered_id length)
{
    struct lowering *lowering = batch->loop.lowering;
    size_t state = batch->loop.result->n_states;
    mdf_lowered_id none = mdf_term_truth(lowering, false), any, next;

    if (none == MDF_LOWERED_NONE) {
        return none;
    }
    any = loop_add_own_state(&batch->loop, lowering_example(lowering, none), SIZE_MAX);
    next = mdf_term_or(lowering, any, lowering_truth(lowering, length));
    return next != MDF_LOWERED_NONE && lowering_carry(lowering, &batch->loop.region, batch->loop.result, state, next)
               ? any
               : MDF_LOWERED_NONE;
}

/* The body of the loop over the batch: `scan` becomes that of one sequence. */
static bool lower_entry(struct batch *batch, struct scan *scan)
{
    struct loop *loop = &batch->loop;
    struct lowering *lowering = loop->lowering;

    if (!begin_rows(loop, scan->n_states + scan->n_rows + 1)) {
        return false;
    }
    for (size_t i = 0; i < scan->n_states + scan->n_rows; i++) {
        scan->loop.initial[i] = add_row(loop, loop->initial[i], false);
        if (scan->loop.initial[i] == MDF_LOWERED_NONE) {
            return false;
        }
    }
    scan->loop.sources = scan->loop.initial + scan->n_states;
    if (batch->lengths != MDF_LOWERED_NONE) {
        scan->trip_count = lowering_cast(lowering, add_row(loop, batch->lengths, false), MDF_DTYPE_INT64);
        if (scan->trip_count == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return read_length(scan) && lower_sequence(scan);
}

static bool lower_batch(struct scan *scan)
{
    struct batch batch = {.loop = scan->loop};
    struct loop *loop = &batch.loop;
    bool is_sure;
    mdf_lowered_id any = MDF_LOWERED_NONE;

    if (!read_batch(&batch, scan) || !loop_read_initial(&scan->loop, 1, scan->n_states + scan->n_rows) || !loop_begin(loop, 0)) {
        return false;
    }
    loop->result->n_runs = batch.n;
    if (!lower_entry(&batch, scan)) {
        return false;
    }
    for (size_t i = 0; i < loop->n_outputs; i++) {
        if (has_result(scan, i) && !loop_add_stack(loop, scan->loop.results[i], i, false)) {
            return false;
        }
    }
    is_sure = batch.lengths == MDF_LOWERED_NONE || declares_items(&batch, scan);
    if (!is_sure && (any = find_any_item(&batch, scan->trip_count)) == MDF_LOWERED_NONE) {
        return false;
    }
    return loop_end(loop) && (is_sure || lowering_bail_out_if(loop->lowering, mdf_term_not(loop->lowering, any))) &&
           loop_bind_results(loop);
}

bool lowering_scan(struct lowering *lowering, struct scope *scope, const struct mdf_code_call *source)
{
    const int64_t *n_scan_inputs = mdf_code_setting(source, "num_scan_inputs");
    bool has_batch = FIRST_WITHOUT_BATCH > source->operator->since;
    size_t n_inputs = source->n_inputs - (has_batch && source->n_inputs > 0);
    struct scan scan = {.loop = {.lowering = lowering, .outer = scope, .source = source}, .trip_count = MDF_LOWERED_NONE};

    if (n_scan_inputs == NULL || *n_scan_inputs < 1 || (size_t)*n_scan_inputs > n_inputs) {
        return lowering_fail(lowering, MDF_REFUSED_WRONG_INPUTS);
    }
    scan.n_rows = (size_t)*n_scan_inputs;
    scan.n_states = n_inputs - scan.n_rows;
    return has_batch ? lower_batch(&scan) : lower_scan(&scan);
}
