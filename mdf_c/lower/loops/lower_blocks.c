/* lower_blocks.c - elements of a table that a loop goes through one by one, loaded, computed and put: several at once. See
 * lowering.h.
 *
 * A loop whose body loads numbers at places that its number says, computes with them, and puts one into each of its states at the
 * next place of it, or at the one before. In front of it there comes a loop that does blocks of its runs, each by a nest and a
 * `put` of a row; what is left is done as it was. It has no block where a place would be counted from the end, or past it, and
 * where a run loads what one shortly before it has put. */
#include "mdf_c/lower/loops/blocks.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

/* ------------------------------------------------------------------ what a run does, as a block does it */

/* The place that a block begins with, its lowest one, which is `below` less than that of its first run where places go down. */
static mdf_lowered_id make_block_place(struct blocks *blocks, const struct place *place)
{
    int64_t below = place->factor < 0 ? place->factor * (blocks->size - 1) : 0;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_ADD, .dtype = MDF_DTYPE_INT64, .n_in = 2};
    mdf_lowered_id from = block_first_place(blocks, place, below), runs = blocks->first;

    if (place->factor == 0) {
        return from;
    }
    if (place->factor != 1 && place->factor != -1) {
        const struct mdf_lowered_op times = {
            .code = MDF_LOWERED_MULTIPLY, .dtype = MDF_DTYPE_INT64, .n_in = 2, .in = {runs, block_number(blocks, place->factor)}};

        runs = block_add_op(blocks, &blocks->wide->body, NULL, blocks->depth + 1, times, MDF_DTYPE_INT64);
    }
    op.code = place->factor == -1 ? MDF_LOWERED_SUBTRACT : MDF_LOWERED_ADD;
    op.in[0] = from;
    op.in[1] = runs;
    return block_add_op(blocks, &blocks->wide->body, NULL, blocks->depth + 1, op, MDF_DTYPE_INT64);
}

static mdf_lowered_id block_place(struct blocks *blocks, const struct place *place)
{
    size_t i;

    for (i = 0; i < blocks->n_places; i++) {
        if (block_is_same_place(&blocks->places[i].place, place)) {
            return blocks->places[i].id;
        }
    }
    if (i == MOST_TESTS) {
        return MDF_LOWERED_NONE;
    }
    blocks->places[i].place = *place;
    blocks->places[i].id = make_block_place(blocks, place);
    blocks->n_places++;
    return blocks->places[i].id;
}

static bool find_register(struct blocks *blocks, mdf_lowered_id id, uint8_t *found);

/* A whole number that hangs on the loop's. */
static bool add_numbers(struct blocks *blocks, const struct place *place, uint8_t *found)
{
    struct nest_draft *draft = blocks->draft;
    const struct mdf_lowered_op add = {
        .code = MDF_LOWERED_ADD, .dtype = MDF_DTYPE_INT64, .n_in = 2, .loop = lowering_loop_of(MDF_LOWERED_ADD, MDF_DTYPE_INT64)};
    mdf_lowered_id from = block_place(blocks, place);
    int64_t counts[LONG_BLOCK_BYTES / sizeof(float)], stride = place->factor * blocks->way, length = blocks->size, i;
    uint8_t in[2];

    if (from == MDF_LOWERED_NONE) {
        return false;
    }
    in[0] = draft_load(blocks->lowering, draft, from, NULL);
    for (i = 0; i < blocks->size; i++) {
        counts[i] = stride < 0 ? (i - (blocks->size - 1)) * stride : i * stride;
    }
    if (place->factor != 0) {
        in[1] = draft_constant(blocks->lowering, draft, MDF_DTYPE_INT64, MDF_DTYPE_INT64, counts, 1, &length, &blocks->axis);
        in[0] = draft_element(draft, &add, MDF_DTYPE_INT64, in, 1U << blocks->axis);
    }
    *found = in[0];
    return true;
}

static bool has_vectors(mdf_dtype dtype)
{
    return dtype == MDF_DTYPE_FLOAT32 || dtype == MDF_DTYPE_FLOAT64 || dtype == MDF_DTYPE_INT32 || dtype == MDF_DTYPE_INT64 ||
           dtype == MDF_DTYPE_BOOL;
}

static bool load_elements(struct blocks *blocks, const struct element *element, uint8_t *found)
{
    const struct mdf_lowered *lowered = blocks->lowering->lowered;
    struct mdf_nest_view view = {.id = element->array, .at = MDF_NEST_NONE};
    const int64_t stride = element->place.factor * blocks->way, width = (stride < 0 ? -stride : stride) * (blocks->size - 1);
    mdf_lowered_id from = block_place(blocks, &element->place);

    for (size_t i = 0; i < blocks->loop->n_states; i++) {
        view.id = blocks->loop->states[i].parameter == element->array ? blocks->wide->states[i].parameter : view.id;
    }
    view.at_limit = (int64_t)lowered->values[element->array].form.length - width;
    if (from == MDF_LOWERED_NONE || view.at_limit < 1) {
        return false;
    }
    view.at = draft_load(blocks->lowering, blocks->draft, from, NULL);
    view.at_stride = 1;
    view.first = stride < 0 ? width : 0;
    *found = draft_load_elements(blocks->lowering, blocks->draft, &view, stride != 0, &blocks->axis, &stride);
    return true;
}

static bool add_step(struct blocks *blocks, const struct mdf_lowered_nest *nest, uint8_t number, uint8_t *found)
{
    const struct mdf_nest_step *step = &nest->steps[number];
    const struct mdf_lowered_op op = draft_op_of(step);
    uint8_t in[MDF_MAX_OPERANDS];
    struct element element;
    unsigned axes = 0;

    if (step->kind == MDF_NEST_LOAD && step->view.at == MDF_NEST_NONE) {
        return blocks->lowering->lowered->values[step->view.id].is_scalar && find_register(blocks, step->view.id, found);
    }
    if (step->kind == MDF_NEST_LOAD) {
        return block_find_element(blocks, nest, step, &element) && load_elements(blocks, &element, found);
    }
    if (step->kind != MDF_NEST_ELEMENT || draft_calls(step)) {
        return false;
    }
    for (size_t i = 0; i < step->n_in; i++) {
        if (!add_step(blocks, nest, step->in[i], &in[i])) {
            return false;
        }
        axes |= blocks->draft->steps[in[i]].axes;
    }
    *found = draft_element(blocks->draft, &op, (mdf_dtype)step->dtype, in, axes);
    return true;
}

/* Of what a block computes nothing may bail out, but casts, and no function is called. */
static bool may_be_element(const struct mdf_lowered_op *op)
{
    const struct mdf_nest_step step = {
        .kind = MDF_NEST_ELEMENT, .code = op->code, .operator= op->operator, .settings = op->settings };
    bool is_whole = op->code >= MDF_LOWERED_QUOTIENT && op->code <= MDF_LOWERED_NEGATE_EXACT;

    return (op->code <= MDF_LOWERED_CAST || op->code == MDF_LOWERED_ELEMENTS || op->code == MDF_LOWERED_COPY) &&
           op->code != MDF_LOWERED_DIVIDE_NONZERO && !is_whole && !draft_calls(&step) && has_vectors((mdf_dtype)op->dtype);
}

static bool add_element(struct blocks *blocks, const struct mdf_lowered_op *from, uint8_t *found)
{
    struct mdf_lowered_op op = *from;
    mdf_dtype result = (mdf_dtype)blocks->lowering->lowered->values[op.out].form.dtype;
    uint8_t in[MDF_MAX_OPERANDS];
    unsigned axes = 0;

    op.loop = op.code == MDF_LOWERED_CAST || op.loop != NULL
                  ? op.loop
                  : lowering_loop_of((enum mdf_lowered_code)op.code, (mdf_dtype)op.dtype);
    if (op.loop == NULL && op.code != MDF_LOWERED_CAST) {
        return false;
    }
    for (size_t i = 0; i < op.n_in; i++) {
        if (!find_register(blocks, op.in[i], &in[i])) {
            return false;
        }
        axes |= blocks->draft->steps[in[i]].axes;
    }
    *found = draft_element(blocks->draft, &op, result, in, axes);
    return true;
}

static bool make_register(struct blocks *blocks, mdf_lowered_id id, uint8_t *found)
{
    const struct mdf_lowered_loop *loop = blocks->loop;
    const struct mdf_lowered_rows *row = block_find_row(loop, id);
    struct place place = block_place_of(blocks, id, MOST_SUMMED);

    if (row != NULL) {
        const struct element element = {{.is_known = true, .factor = 1}, row->source};

        return load_elements(blocks, &element, found);
    }
    if (block_is_from_outside(blocks, id)) {
        *found = draft_load(blocks->lowering, blocks->draft, id, NULL);
        return true;
    }
    if (place.is_known) {
        return add_numbers(blocks, &place, found);
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        if (op->out == id) {
            return op->code == MDF_LOWERED_COPY ? find_register(blocks, op->in[0], found)
                                                : may_be_element(op) && add_element(blocks, op, found);
        }
        for (size_t k = 0; op->code == MDF_LOWERED_NEST && k < op->of.nest->n_steps; k++) {
            if (op->of.nest->steps[k].kind == MDF_NEST_STORE && op->of.nest->steps[k].view.id == id) {
                return add_step(blocks, op->of.nest, op->of.nest->steps[k].in[0], found);
            }
        }
    }
    return false;
}

static bool find_register(struct blocks *blocks, mdf_lowered_id id, uint8_t *found)
{
    size_t i;

    for (i = 0; i < blocks->n_registers; i++) {
        if (blocks->registers[i].id == id) {
            *found = blocks->registers[i].number;
            return true;
        }
    }
    if (!blocks->lowering->lowered->values[id].is_scalar || i == MOST_VALUES || !make_register(blocks, id, found)) {
        return false;
    }
    if (blocks->n_registers < MOST_VALUES) {
        blocks->registers[blocks->n_registers].id = id;
        blocks->registers[blocks->n_registers++].number = *found;
    }
    return !blocks->draft->has_failed;
}

/* ------------------------------------------------------------------ puts */

static const struct mdf_lowered_op *find_put(const struct blocks *blocks, const struct mdf_lowered_state *state)
{
    const struct mdf_lowered_value *values = blocks->lowering->lowered->values;
    const struct mdf_lowered_op *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < blocks->loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &blocks->loop->body.ops[i];

        found = op->out == state->next ? op : found;
        n += mdf_lowered_reads(op, state->next);
    }
    return found != NULL && n == 0 && found->code == MDF_LOWERED_PUT && found->in[0] == state->parameter &&
                   values[found->in[1]].is_scalar && values[state->parameter].open_axes == 0 &&
                   has_vectors((mdf_dtype)values[state->parameter].form.dtype) &&
                   values[state->parameter].form.dtype != MDF_DTYPE_BOOL
               ? found
               : NULL;
}

/* The numbers that a block puts into a state are stored as a row, which is put where the block begins. */
static bool add_put(struct blocks *blocks, size_t i, const struct mdf_lowered_op *from, struct mdf_lowered_op *op)
{
    struct lowering *lowering = blocks->lowering;
    struct mdf_lowered_state *state = &blocks->wide->states[i];
    mdf_dtype dtype = (mdf_dtype)lowering->lowered->values[state->parameter].form.dtype;
    struct mdf_nest_view view = {.at = MDF_NEST_NONE};
    const int64_t stride = 1;
    struct place place;
    uint8_t found;

    if (!block_find_put_place(blocks, from, &place) || place.factor != blocks->way || !find_register(blocks, from->in[1], &found)) {
        return false;
    }
    view.id = lowering_add_row(lowering, dtype, blocks->size);
    *op = *from;
    op->of.put = mdf_arena_allocate(&lowering->lowered->arena, sizeof *op->of.put);
    state->next = lowering_add_like(lowering, MDF_LOWERED_RESULT, from->out, blocks->depth + 1);
    op->in[0] = state->parameter;
    op->in[1] = view.id;
    op->in[2] = block_place(blocks, &place);
    op->out = state->next;
    if (view.id == MDF_LOWERED_NONE || op->of.put == NULL || state->next == MDF_LOWERED_NONE || op->in[2] == MDF_LOWERED_NONE) {
        return false;
    }
    lowering->facts[view.id].depth = blocks->depth + 1;
    *op->of.put = (struct mdf_lowered_put){
        .n_indices = 1,
        .steps = {1},
        .limits = {(int64_t)lowering->lowered->values[state->parameter].form.length - (blocks->size - 1)},
        .is_made_there = blocks->is_apart};
    draft_store_elements(lowering, blocks->draft, found, &view, 1, &blocks->axis, &stride);
    return true;
}

/* ------------------------------------------------------------------ loops */

/* Whether all that the body does is to load at known places, what may stand in a block, and puts, one for each state, into which a
 * block fits. */
static bool is_plain(struct blocks *blocks)
{
    const struct mdf_lowered_value *values = blocks->lowering->lowered->values;
    const struct mdf_lowered_loop *loop = blocks->loop;
    struct element element;
    size_t n_puts = 0;

    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        n_puts += op->code == MDF_LOWERED_PUT;
        if (op->code != MDF_LOWERED_PUT && op->code != MDF_LOWERED_NEST && (!may_be_element(op) || op->n_in == 0)) {
            return false;
        }
        for (size_t k = 0; op->code == MDF_LOWERED_NEST && k < op->of.nest->n_steps; k++) {
            const struct mdf_nest_step *step = &op->of.nest->steps[k];

            if (op->of.nest->n_axes != 0 || op->of.nest->is_open ||
                (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE &&
                 !block_find_element(blocks, op->of.nest, step, &element))) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        if (!values[loop->rows[i].parameter].is_scalar || loop->rows[i].is_reversed || values[loop->rows[i].source].is_scalar ||
            values[loop->rows[i].source].open_axes != 0 || !has_vectors((mdf_dtype)values[loop->rows[i].parameter].form.dtype)) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        if (values[loop->states[i].parameter].is_scalar || (int64_t)values[loop->states[i].parameter].form.length < blocks->size ||
            find_put(blocks, &loop->states[i]) == NULL) {
            return false;
        }
    }
    return n_puts == loop->n_states;
}

/* What each run loads from a state, and where it puts its number. */
static bool are_apart(struct blocks *blocks, const struct mdf_lowered_state *state)
{
    const struct mdf_lowered_loop *loop = blocks->loop;
    struct element element;
    struct place put;

    if (!block_find_put_place(blocks, find_put(blocks, state), &put) || (put.factor != 1 && put.factor != -1)) {
        return false;
    }
    blocks->way = put.factor;
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];

        for (size_t k = 0; op->code == MDF_LOWERED_NEST && k < op->of.nest->n_steps; k++) {
            const struct mdf_nest_step *step = &op->of.nest->steps[k];

            if (step->kind == MDF_NEST_LOAD && step->view.id == state->parameter &&
                !(block_find_element(blocks, op->of.nest, step, &element) && block_require_apart(blocks, &element.place, &put))) {
                return false;
            }
        }
    }
    return true;
}

static bool may_have_blocks(const struct mdf_lowered_loop *loop)
{
    return loop->number != MDF_LOWERED_NONE && loop->n_states > 0 && loop->n_states <= 4 && loop->n_stacks == 0 &&
           loop->n_lanes == 0 && loop->n_products == 0 && loop->n_padded == 0 && loop->condition == MDF_LOWERED_NONE &&
           loop->next_condition == MDF_LOWERED_NONE && loop->concurrent == NULL &&
           (loop->n_runs == SIZE_MAX ? loop->trip_count != MDF_LOWERED_NONE
                                     : loop->n_runs >= SHORT_BLOCK && (loop->limit == 0 || loop->n_runs <= loop->limit) &&
                                           loop->n_runs < (size_t)BLOCKS_LARGEST_FACTOR);
}

/* The loop over blocks, with nothing in it yet. */
static bool begin_wide(struct blocks *blocks)
{
    struct lowering *lowering = blocks->lowering;
    struct mdf_lowered_loop *wide = mdf_arena_allocate(&lowering->lowered->arena, sizeof *wide);
    const struct mdf_lowered_loop *loop = blocks->loop;
    struct mdf_lowered_op times = {.code = MDF_LOWERED_MULTIPLY, .dtype = MDF_DTYPE_INT64, .n_in = 2};

    if (wide == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *wide = (struct mdf_lowered_loop){.n_runs = SIZE_MAX,
                                      .condition = MDF_LOWERED_NONE,
                                      .next_condition = MDF_LOWERED_NONE,
                                      .is_going_on = MDF_LOWERED_NONE,
                                      .trip_count = MDF_LOWERED_NONE,
                                      .n_states = loop->n_states};
    wide->states = mdf_arena_array(&lowering->lowered->arena, loop->n_states, sizeof *wide->states);
    wide->number = lowering_add_scalar(lowering, MDF_LOWERED_PARAMETER, MDF_DTYPE_INT64, blocks->depth + 1);
    if (wide->states == NULL || wide->number == MDF_LOWERED_NONE) {
        return lowering_out_of_memory(lowering);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        wide->states[i] = loop->states[i];
        wide->states[i].parameter = lowering_add_like(lowering, MDF_LOWERED_PARAMETER, loop->states[i].parameter, blocks->depth + 1);
        if (wide->states[i].parameter == MDF_LOWERED_NONE) {
            return false;
        }
    }
    blocks->wide = wide;
    times.in[0] = wide->number;
    times.in[1] = block_number(blocks, blocks->size);
    blocks->first = block_add_op(blocks, &wide->body, NULL, blocks->depth + 1, times, MDF_DTYPE_INT64);
    return blocks->first != MDF_LOWERED_NONE;
}

static bool fill_wide(struct blocks *blocks)
{
    struct mdf_lowered_op *ops, puts[4];
    struct mdf_lowered_nest *nest;
    size_t n = blocks->loop->n_states;

    blocks->draft = draft_new(blocks->lowering);
    if (blocks->draft == NULL) {
        return false;
    }
    blocks->axis = draft_axis(blocks->draft, blocks->size);
    for (size_t i = 0; i < n; i++) {
        if (!add_put(blocks, i, find_put(blocks, &blocks->loop->states[i]), &puts[i])) {
            return false;
        }
    }
    nest = blocks->draft->has_failed ? NULL : draft_finish(blocks->lowering, blocks->draft);
    ops = nest != NULL ? lowering_insert_ops(blocks->lowering, &blocks->wide->body, blocks->wide->body.n_ops, n + 1) : NULL;
    if (ops == NULL) {
        return false;
    }
    ops[0] =
        (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest, .origin = puts[0].origin};
    memcpy(ops + 1, puts, n * sizeof *puts);
    return true;
}

/* An element of what was a row of the loop, by the number of the run. */
static bool load_row(struct blocks *blocks, const struct mdf_lowered_rows *row, mdf_lowered_id run)
{
    struct lowering *lowering = blocks->lowering;
    struct nest_draft *draft = draft_new(lowering);
    struct mdf_nest_view view = {
        .id = row->source, .at_stride = 1, .at_limit = (int64_t)lowering->lowered->values[row->source].form.length};
    struct mdf_lowered_op *op = lowering_insert_ops(lowering, &blocks->loop->body, 1, 1);
    uint8_t loaded;

    if (draft == NULL || op == NULL) {
        return lowering_out_of_memory(lowering);
    }
    view.at = draft_load(lowering, draft, run, NULL);
    loaded = draft_load_elements(lowering, draft, &view, 0, NULL, NULL);
    view = (struct mdf_nest_view){.id = row->parameter, .at = MDF_NEST_NONE};
    draft_store_elements(lowering, draft, loaded, &view, 0, NULL, NULL);
    lowering->lowered->values[row->parameter].place = MDF_LOWERED_RESULT;
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};
    op->of.nest = draft_finish(lowering, draft);
    return op->of.nest != NULL || lowering_out_of_memory(lowering);
}

/* Puts the loop over blocks in front of the other one, which does what is left. */
static bool split_runs(struct blocks *blocks, mdf_lowered_id n_blocks)
{
    struct lowering *lowering = blocks->lowering;
    struct mdf_lowered_loop *loop = blocks->loop;
    mdf_lowered_id done = block_before(blocks, MDF_LOWERED_MULTIPLY, n_blocks, block_number(blocks, blocks->size)),
                   run = loop->number;
    struct mdf_lowered_op *op, *start;

    loop->trip_count = block_before(blocks, MDF_LOWERED_SUBTRACT, blocks->n_runs, done);
    loop->n_runs = SIZE_MAX;
    loop->number = lowering_add_scalar(lowering, MDF_LOWERED_PARAMETER, MDF_DTYPE_INT64, blocks->depth + 1);
    op = lowering_insert_ops(lowering, blocks->region, *blocks->at, 1);
    start = lowering_insert_ops(lowering, &loop->body, 0, 1);
    if (done == MDF_LOWERED_NONE || loop->trip_count == MDF_LOWERED_NONE || loop->number == MDF_LOWERED_NONE || op == NULL ||
        start == NULL) {
        return lowering_out_of_memory(lowering);
    }
    lowering->facts[loop->number].is_rest = true;
    blocks->wide->trip_count = n_blocks;
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_LOOP,
                                  .out = MDF_LOWERED_NONE,
                                  .of.loop = blocks->wide,
                                  .origin = blocks->region->ops[*blocks->at + 1].origin};
    ++*blocks->at;
    lowering->lowered->values[run].place = MDF_LOWERED_RESULT;
    lowering->facts[run].is_number = false;
    *start = (struct mdf_lowered_op){
        .code = MDF_LOWERED_ADD, .dtype = MDF_DTYPE_INT64, .out = run, .n_in = 2, .in = {loop->number, done}};
    for (size_t i = 0; i < loop->n_states; i++) {
        loop->states[i].initial = blocks->wide->states[i].parameter;
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        if (!load_row(blocks, &loop->rows[i], run)) {
            return false;
        }
    }
    loop->n_rows = 0;
    return true;
}

/* How many blocks there are: none where something that is required does not hold. */
static mdf_lowered_id count_blocks(struct blocks *blocks)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = MDF_DTYPE_INT64, .n_in = 3};
    mdf_lowered_id most;

    if (blocks->loop->n_runs != SIZE_MAX) {
        op.in[1] = block_number(blocks, (int64_t)blocks->loop->n_runs / blocks->size);
    } else {
        block_require(blocks,
                      block_before(blocks, MDF_LOWERED_GREATER_EQUAL, blocks->n_runs, block_number(blocks, blocks->size)));
        if (blocks->loop->limit > 0) {
            most = block_number(blocks, blocks->loop->limit < INT64_MAX ? (int64_t)blocks->loop->limit : INT64_MAX);
            block_require(blocks, block_before(blocks, MDF_LOWERED_LESS_EQUAL, blocks->n_runs, most));
        }
        op.in[1] = block_before(blocks, MDF_LOWERED_SHIFT_RIGHT, blocks->n_runs, block_number(blocks, SHORT_BLOCK_BITS));
    }
    if (blocks->may == MDF_LOWERED_NONE) {
        return op.in[1];
    }
    op.in[0] = blocks->may;
    op.in[2] = block_number(blocks, 0);
    return block_add_op(blocks, blocks->region, blocks->at, blocks->depth, op, MDF_DTYPE_INT64);
}

/* All runs, where their numbers are few; else as many as leave few for the loop behind. */
static int64_t block_size(const struct blocks *blocks)
{
    const struct mdf_lowered_loop *loop = blocks->loop;
    const struct mdf_value *form = &blocks->lowering->lowered->values[loop->states[0].parameter].form;
    size_t size = LONG_BLOCK_BYTES / mdf_dtype_size((mdf_dtype)form->dtype);

    if (loop->n_runs == SIZE_MAX) {
        return SHORT_BLOCK;
    }
    if (loop->n_runs <= size) {
        return (int64_t)loop->n_runs;
    }
    while (size > SHORT_BLOCK && loop->n_runs % size != 0 && loop->n_runs < 8 * size) {
        size /= 2;
    }
    return (int64_t)size;
}

/* Whether what a block puts may be made there, if what it loads is apart from that: machine code copies short rows as fast. */
static bool may_be_made_there(const struct blocks *blocks)
{
    const struct mdf_value *form = &blocks->lowering->lowered->values[blocks->loop->states[0].parameter].form;
    int64_t n_bytes = blocks->size * (int64_t)mdf_dtype_size((mdf_dtype)form->dtype);

    return blocks->loop->n_states == 1 && (blocks->lowering->is_for_source || n_bytes >= MDF_LOWERED_LONG_ROW);
}

static bool find_blocks(struct blocks *blocks)
{
    const struct mdf_lowered_loop *loop = blocks->loop;

    blocks->size = block_size(blocks);
    blocks->is_apart = may_be_made_there(blocks);
    if (!is_plain(blocks)) {
        return false;
    }
    blocks->n_runs = loop->n_runs == SIZE_MAX ? loop->trip_count : block_number(blocks, (int64_t)loop->n_runs);
    for (size_t i = 0; i < loop->n_states; i++) {
        if (!are_apart(blocks, &loop->states[i])) {
            return false;
        }
    }
    if (!begin_wide(blocks) || !fill_wide(blocks) || blocks->n_tests == MOST_TESTS) {
        return false;
    }
    for (size_t i = 0; i < blocks->n_tests; i++) {
        if (!block_require_within(blocks, i)) {
            return false;
        }
    }
    return true;
}

/* The loop is op number *at of the region, and afterwards. */
static bool do_in_blocks(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct blocks blocks = {
        .lowering = lowering, .loop = region->ops[*at].of.loop, .region = region, .at = at, .may = MDF_LOWERED_NONE};
    const struct mdf_lowered_region as_it_was = *region;
    const size_t stood_at = *at;
    mdf_lowered_id n_blocks;

    if (!may_have_blocks(blocks.loop)) {
        return true;
    }
    blocks.depth = lowering->facts[blocks.loop->number].depth - 1;
    if (!find_blocks(&blocks)) {
        *region = as_it_was;
        *at = stood_at;
        return !lowering_has_failed(lowering);
    }
    n_blocks = count_blocks(&blocks);
    return n_blocks != MDF_LOWERED_NONE && split_runs(&blocks, n_blocks);
}

/* Not where instances of a sweep go side by side: vectors go along these, and how many runs there are may differ between them. */
bool lowering_do_in_blocks(struct lowering *lowering)
{
    bool is_for_lanes = lowering->request != NULL && lowering->request->keeps_calls;

    return is_for_lanes || lowering_for_loops(lowering, &lowering->lowered->region, do_in_blocks);
}
