/* lower_ahead.c - what a loop computes of its rows and the number of its run alone, numbers by numbers, waits for no run before:
 * a nest in front of the loop computes it for all runs, in vectors. See lowering.h.
 *
 * Where that is all of a loop, but for whole numbers that it sums up, the nest takes its place, and folds them: whole numbers
 * have the same sum in any order. Else it is done for what comes of functions as exp, which take long one by one: their results
 * are rows of the loop then. */
#include "functions/elements/element.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/machine/emit.h"

#include <string.h>

enum {
    FEWEST_RUNS = 64,    /* where something is left in the loop */
    MOST_RUNS = 1 << 22, /* nobody interrupts a nest */
    MOST_KEPT = 8,       /* arrays that are kept for the loop */
    NO_REGISTER_YET = UINT8_MAX
};

struct ahead {
    struct lowering *lowering;
    struct mdf_lowered_loop *loop;
    /* Of each value: it is made in the loop; it hangs on no state; besides, a function takes part in it. */
    bool *is_inside, *is_ahead, *is_late;
    bool *is_needed; /* of each value that hangs on no state: the nest has it */
    struct nest_draft *draft;
    uint8_t *registers; /* of each value, in the draft */
    uint8_t axis;
    mdf_lowered_id kept[MOST_KEPT];
    size_t n_kept;
};

/* ------------------------------------------------------------------ what hangs on no state */

static bool has_vectors(const struct lowering *lowering, unsigned dtype)
{
    return lowering->is_for_source || mdf_machine_has_vectors((mdf_dtype)dtype);
}

/* Whether a nest has an op of these codes, and machine code vectors for it. */
static bool is_covered_code(unsigned code)
{
    return (code <= MDF_LOWERED_SELECT && !(code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_NEGATE_EXACT)) ||
           code == MDF_LOWERED_CAST || code == MDF_LOWERED_ELEMENTS;
}

static mdf_loop loop_of(const struct mdf_lowered_op *op)
{
    return op->loop != NULL ? op->loop : lowering_loop_of((enum mdf_lowered_code)op->code, (mdf_dtype)op->dtype);
}

static bool is_there(const struct ahead *ahead, mdf_lowered_id id)
{
    const struct mdf_lowered_value *value = &ahead->lowering->lowered->values[id];

    return (!ahead->is_inside[id] || ahead->is_ahead[id]) && value->open_axes == 0 && !value->is_list &&
           has_vectors(ahead->lowering, value->form.dtype);
}

/* An op on numbers. */
static bool is_covered_op(const struct ahead *ahead, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_value *values = ahead->lowering->lowered->values;
    bool is_covered =
        op->code == MDF_LOWERED_COPY || (is_covered_code(op->code) && (loop_of(op) != NULL || op->code == MDF_LOWERED_CAST));

    for (size_t i = 0; is_covered && i < op->n_in; i++) {
        is_covered = values[op->in[i]].is_scalar && is_there(ahead, op->in[i]);
    }
    return is_covered && values[op->out].is_scalar && has_vectors(ahead->lowering, values[op->out].form.dtype);
}

/* A nest that makes numbers of numbers and elements of arrays. */
static bool is_covered_nest(const struct ahead *ahead, const struct mdf_lowered_nest *nest)
{
    bool is_covered = nest->n_axes == 0 && !nest->is_open;

    for (size_t i = 0; is_covered && i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        is_covered = step->kind == MDF_NEST_LOAD ? is_there(ahead, step->view.id)
                     : step->kind == MDF_NEST_ELEMENT
                         ? is_covered_code(step->code) && has_vectors(ahead->lowering, step->dtype)
                         : step->kind == MDF_NEST_STORE && ahead->lowering->lowered->values[step->view.id].is_scalar;
    }
    return is_covered;
}

static bool is_covered(const struct ahead *ahead, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_NEST ? is_covered_nest(ahead, op->of.nest)
                                        : op->code < MDF_LOWERED_PUT && is_covered_op(ahead, op);
}

/* Whether an op takes long, or something that it reads comes from one that does. */
static bool is_late(const struct ahead *ahead, const struct mdf_lowered_op *op)
{
    return op->code == MDF_LOWERED_ELEMENTS || op->code == MDF_LOWERED_SQUARE_ROOT ||
           mdf_lowered_count_marked(op, ahead->is_late) > 0;
}

static void find_ahead(struct ahead *ahead)
{
    const struct mdf_lowered_loop *loop = ahead->loop;

    for (size_t i = 0; i < loop->n_states; i++) {
        ahead->is_inside[loop->states[i].parameter] = true;
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        ahead->is_inside[loop->rows[i].parameter] = ahead->is_ahead[loop->rows[i].parameter] = true;
    }
    if (loop->number != MDF_LOWERED_NONE) {
        ahead->is_inside[loop->number] = ahead->is_ahead[loop->number] = true;
    }
    if (loop->is_going_on != MDF_LOWERED_NONE) {
        ahead->is_inside[loop->is_going_on] = true;
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        const struct mdf_lowered_op *op = &loop->body.ops[i];
        bool is_first = is_covered(ahead, op), is_slow = is_first && is_late(ahead, op);

        mdf_lowered_mark_results(op, ahead->is_inside);
        if (is_first) {
            mdf_lowered_mark_results(op, ahead->is_ahead);
        }
        if (is_slow) {
            mdf_lowered_mark_results(op, ahead->is_late);
        }
    }
}

/* ------------------------------------------------------------------ the nest */

struct marked {
    const bool *marks;
    bool found;
};

static void look_at_mark(void *context, mdf_lowered_id id)
{
    struct marked *marked = context;

    marked->found = marked->found || marked->marks[id];
}

static bool has_marked_result(const struct mdf_lowered_op *op, const bool *marks)
{
    struct marked marked = {.marks = marks};

    mdf_lowered_visit_results(op, look_at_mark, &marked);
    return marked.found;
}

/* Elements of what a row is of, one for each run. */
static uint8_t load_row(struct ahead *ahead, const struct mdf_lowered_rows *rows, struct mdf_nest_view view)
{
    int64_t length = (int64_t)ahead->lowering->lowered->values[rows->parameter].form.length;
    int64_t stride = rows->is_reversed ? -length : length;

    view.id = rows->source;
    view.first += rows->is_reversed ? length * (int64_t)(ahead->loop->n_runs - 1) : 0;
    return draft_load_elements(ahead->lowering, ahead->draft, &view, 1, &ahead->axis, &stride);
}

/* An element of a value that an op of the body reads. */
static uint8_t load(struct ahead *ahead, const struct mdf_nest_view *view)
{
    const struct mdf_lowered_loop *loop = ahead->loop;

    if (ahead->registers[view->id] != NO_REGISTER_YET) {
        return ahead->registers[view->id];
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        if (loop->rows[i].parameter == view->id) {
            return load_row(ahead, &loop->rows[i], *view);
        }
    }
    return view->id == loop->number ? draft_count(ahead->lowering, ahead->draft, MDF_DTYPE_INT64, loop->n_runs, ahead->axis)
                                    : draft_load_elements(ahead->lowering, ahead->draft, view, 0, NULL, NULL);
}

static uint8_t load_number(struct ahead *ahead, mdf_lowered_id id)
{
    const struct mdf_nest_view view = {.id = id, .at = MDF_NEST_NONE};

    return load(ahead, &view);
}

static unsigned axes_of(const struct ahead *ahead, const uint8_t *in, size_t n)
{
    unsigned axes = 0;

    for (size_t i = 0; i < n; i++) {
        axes |= ahead->draft->steps[in[i]].axes;
    }
    return axes;
}

/* The register of an op of these registers. */
static uint8_t apply(struct ahead *ahead, const struct mdf_lowered_op *op, mdf_dtype result, const uint8_t *in)
{
    struct mdf_lowered_op looped = *op;

    looped.loop = loop_of(op);
    return draft_element(ahead->draft, &looped, result, in, axes_of(ahead, in, op->n_in));
}

static void add_op(struct ahead *ahead, const struct mdf_lowered_op *op)
{
    uint8_t in[MDF_MAX_OPERANDS] = {0};

    for (size_t i = 0; i < op->n_in; i++) {
        in[i] = load_number(ahead, op->in[i]);
    }
    ahead->registers[op->out] = op->code == MDF_LOWERED_COPY || ahead->draft->has_failed
                                    ? in[0]
                                    : apply(ahead, op, (mdf_dtype)ahead->lowering->lowered->values[op->out].form.dtype, in);
}

static void add_nest(struct ahead *ahead, const struct mdf_lowered_nest *nest)
{
    uint8_t registers[MDF_NEST_MOST_STEPS];

    for (size_t i = 0; i < nest->n_steps && !ahead->draft->has_failed; i++) {
        struct draft_step step = {.step = nest->steps[i]};

        mdf_nest_renumber(&step.step, registers);
        if (step.step.kind == MDF_NEST_LOAD) {
            registers[i] = load(ahead, &step.step.view);
        } else if (step.step.kind == MDF_NEST_STORE) {
            ahead->registers[step.step.view.id] = step.step.in[0];
        } else {
            step.axes = (uint8_t)axes_of(ahead, step.step.in, step.step.n_in);
            registers[i] = draft_add(ahead->draft, &step);
        }
    }
}

static void need(void *context, mdf_lowered_id id, bool is_aliased)
{
    const struct ahead *ahead = context;

    (void)is_aliased;
    ahead->is_needed[id] = true;
}

/* What the needed values are made of. */
static void find_needed(struct ahead *ahead)
{
    const struct mdf_lowered_region *body = &ahead->loop->body;

    for (size_t i = body->n_ops; i-- > 0;) {
        if (is_covered(ahead, &body->ops[i]) && has_marked_result(&body->ops[i], ahead->is_needed)) {
            mdf_lowered_visit_reads(&body->ops[i], need, ahead);
        }
    }
}

/* Begins the nest with what is needed, or all that hangs on no state: a place may have to be looked at that nobody reads. False:
 * there is no room for it. */
static bool begin_nest(struct ahead *ahead, bool is_all)
{
    const struct mdf_lowered_region *body = &ahead->loop->body;
    size_t n_values = ahead->lowering->lowered->n_values;

    if (!is_all) {
        find_needed(ahead);
    }
    ahead->draft = draft_new(ahead->lowering);
    ahead->registers = mdf_arena_allocate(&ahead->lowering->scratch, n_values);
    if (ahead->draft == NULL || ahead->registers == NULL) {
        return lowering_out_of_memory(ahead->lowering);
    }
    memset(ahead->registers, NO_REGISTER_YET, n_values);
    ahead->axis = draft_axis(ahead->draft, (int64_t)ahead->loop->n_runs);
    for (size_t i = 0; i < body->n_ops && !ahead->draft->has_failed; i++) {
        const struct mdf_lowered_op *op = &body->ops[i];

        if (!is_covered(ahead, op) || (!is_all && !has_marked_result(op, ahead->is_needed))) {
            continue;
        }
        if (op->code == MDF_LOWERED_NEST) {
            add_nest(ahead, op->of.nest);
        } else {
            add_op(ahead, op);
        }
    }
    return !ahead->draft->has_failed;
}

/* An item of each run, to an array. */
static void store(struct ahead *ahead, mdf_lowered_id item, mdf_lowered_id array)
{
    const struct mdf_nest_view view = {.id = array, .at = MDF_NEST_NONE};
    const int64_t stride = 1;

    draft_store_elements(ahead->lowering, ahead->draft, load_number(ahead, item), &view, 1, &ahead->axis, &stride);
}

/* The nest stands in front of the loop, number *at of the region. */
static bool insert_nest(struct ahead *ahead, struct mdf_lowered_region *region, size_t *at)
{
    struct mdf_lowered_op op = {.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .origin = region->ops[*at].origin};
    struct mdf_lowered_op *inserted;

    op.of.nest = draft_finish(ahead->lowering, ahead->draft);
    if (op.of.nest == NULL) {
        return false;
    }
    inserted = lowering_insert_ops(ahead->lowering, region, *at, 1);
    if (inserted == NULL) {
        return false;
    }
    *inserted = op;
    ++*at;
    return true;
}

/* ------------------------------------------------------------------ all of a loop */

/* The op that adds what hangs on no state to a state, a whole number, which nothing else looks at before the loop's end; NULL:
 * there is none. */
static const struct mdf_lowered_op *sum_of(const struct ahead *ahead, const struct mdf_lowered_state *state)
{
    const struct mdf_lowered_region *body = &ahead->loop->body;
    const struct mdf_value *form = &ahead->lowering->lowered->values[state->parameter].form;
    size_t at = mdf_lowered_find_maker(body, state->next), n_readers = 0, i;
    const struct mdf_lowered_op *sum = at == SIZE_MAX ? NULL : &body->ops[at];

    for (i = 0; i < body->n_ops; i++) {
        n_readers += mdf_lowered_reads(&body->ops[i], state->parameter) + mdf_lowered_reads(&body->ops[i], state->next);
    }
    for (i = 0; i < ahead->loop->n_stacks; i++) {
        n_readers += ahead->loop->stacks[i].item == state->next || ahead->loop->stacks[i].item == state->parameter;
    }
    return sum != NULL && n_readers == 1 && sum->code == MDF_LOWERED_ADD && mdf_lowered_reads(sum, state->parameter) &&
                   sum->in[0] != sum->in[1] && loop_of(sum) != NULL &&
                   (form->dtype == MDF_DTYPE_INT64 || form->dtype == MDF_DTYPE_INT32) &&
                   !ahead->lowering->facts[state->parameter].is_watched
               ? sum
               : NULL;
}

static bool is_stored(const struct ahead *ahead, const struct mdf_lowered_stack *stack)
{
    const struct mdf_lowered_value *values = ahead->lowering->lowered->values;

    return !stack->appends && !stack->is_put && !stack->is_reversed && values[stack->item].is_scalar &&
           is_there(ahead, stack->item) && values[stack->stack].open_axes == 0 && !values[stack->stack].is_list &&
           !values[stack->stack].is_scalar && values[stack->stack].form.length == ahead->loop->n_runs &&
           !ahead->lowering->facts[stack->stack].is_watched;
}

/* Whether a loop has nothing but such sums, and stacks of what hangs on no state. */
static bool is_summed(const struct ahead *ahead)
{
    const struct mdf_lowered_loop *loop = ahead->loop;
    size_t n_sums = 0;

    for (size_t i = 0; i < loop->n_states; i++) {
        if (sum_of(ahead, &loop->states[i]) == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        if (!is_stored(ahead, &loop->stacks[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < loop->body.n_ops; i++) {
        n_sums += !is_covered(ahead, &loop->body.ops[i]);
    }
    return loop->n_states > 0 && n_sums == loop->n_states;
}

/* What a state is behind all runs, a number that the nest makes. */
static void add_sum(struct ahead *ahead, const struct mdf_lowered_state *state)
{
    const struct mdf_lowered_op *sum = sum_of(ahead, state);
    const struct mdf_nest_view view = {.id = state->parameter, .at = MDF_NEST_NONE};
    struct nest_draft *draft = ahead->draft;
    uint8_t in[2];

    in[0] = load_number(ahead, state->initial);
    in[1] = draft->has_failed ? 0
                              : draft_fold(draft, MDF_NEST_SUM, load_number(ahead, sum->in[sum->in[0] == state->parameter]), 1,
                                           &ahead->axis, 1);
    /* What is added, or stacked, may be what the state begins with: that goes along the axis then. */
    draft->has_failed = draft->has_failed || draft->steps[in[0]].axes != 0;
    if (!draft->has_failed) {
        in[0] = apply(ahead, sum, (mdf_dtype)draft->steps[in[0]].step.dtype, in);
        draft_store_elements(ahead->lowering, draft, in[0], &view, 0, NULL, NULL);
    }
}

/* The nest in place of the loop, which is empty then. */
static bool replace_loop(struct ahead *ahead, struct mdf_lowered_region *region, size_t *at)
{
    struct lowering *lowering = ahead->lowering;
    struct mdf_lowered_loop *loop = ahead->loop;

    if (!begin_nest(ahead, true)) {
        return !lowering_has_failed(lowering);
    }
    for (size_t i = 0; i < loop->n_stacks && !ahead->draft->has_failed; i++) {
        store(ahead, loop->stacks[i].item, loop->stacks[i].stack);
    }
    for (size_t i = 0; i < loop->n_states && !ahead->draft->has_failed; i++) {
        add_sum(ahead, &loop->states[i]);
    }
    if (ahead->draft->has_failed || !insert_nest(ahead, region, at)) {
        return !lowering_has_failed(lowering);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        lowering->lowered->values[loop->states[i].parameter].place = MDF_LOWERED_RESULT;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        lowering->facts[loop->stacks[i].stack].is_nested = true;
    }
    loop->n_states = loop->n_stacks = loop->n_rows = loop->body.n_ops = 0;
    return true;
}

/* ------------------------------------------------------------------ what comes of functions */

/* Whether what an op makes is this number alone. */
static bool makes_only(const struct mdf_lowered_op *op, mdf_lowered_id id)
{
    size_t n_stores = 0;

    for (size_t i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        n_stores += op->of.nest->steps[i].kind == MDF_NEST_STORE;
    }
    return op->code == MDF_LOWERED_NEST ? n_stores == 1 && mdf_nest_stores(op->of.nest, id) : op->out == id;
}

/* Whether a number may be a row of the loop: nothing but ops of the body reads it, one at least that hangs on a state. */
static bool may_be_kept(const struct ahead *ahead, mdf_lowered_id id)
{
    const struct mdf_lowered_loop *loop = ahead->loop;
    size_t maker = mdf_lowered_find_maker(&loop->body, id), i;
    bool is_read = false;

    for (i = 0; i < loop->body.n_ops; i++) {
        is_read = is_read || (!is_covered(ahead, &loop->body.ops[i]) && mdf_lowered_reads(&loop->body.ops[i], id));
    }
    for (i = 0; i < loop->n_states; i++) {
        is_read = is_read && loop->states[i].next != id;
    }
    for (i = 0; i < loop->n_stacks; i++) {
        is_read = is_read && loop->stacks[i].item != id;
    }
    return is_read && maker != SIZE_MAX && makes_only(&loop->body.ops[maker], id) && loop->next_condition != id;
}

static void find_kept(struct ahead *ahead)
{
    size_t n_values = ahead->lowering->lowered->n_values;

    for (size_t i = 0; i < n_values && ahead->n_kept < MOST_KEPT; i++) {
        if (ahead->is_late[i] && may_be_kept(ahead, (mdf_lowered_id)i)) {
            ahead->kept[ahead->n_kept++] = (mdf_lowered_id)i;
            ahead->is_needed[i] = true;
        }
    }
}

/* An array of what a number is in each run; NONE: memory ran out. */
static mdf_lowered_id add_array(struct ahead *ahead, mdf_lowered_id of)
{
    struct lowering *lowering = ahead->lowering;
    const struct mdf_value *form = &lowering->lowered->values[of].form;
    int64_t n = (int64_t)ahead->loop->n_runs;
    struct mdf_value array = {0};
    mdf_lowered_id id;

    if (mdf_value_make_tensor(lowering->memory, &array, (mdf_dtype)form->dtype, 1, &n) == NULL) {
        lowering_out_of_memory(lowering);
        return MDF_LOWERED_NONE;
    }
    array.strength = form->strength;
    id = lowering_add_value(lowering, MDF_LOWERED_RESULT, &array);
    mdf_value_clear(lowering->memory, &array);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].is_nested = true;
        lowering->facts[id].depth = lowering->facts[of].depth - 1;
    }
    return id;
}

static bool is_read_in(const struct mdf_lowered_loop *loop, mdf_lowered_id id)
{
    bool is_read = loop->next_condition == id;

    for (size_t i = 0; i < loop->body.n_ops; i++) {
        is_read = is_read || mdf_lowered_reads(&loop->body.ops[i], id);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        is_read = is_read || loop->states[i].next == id;
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        is_read = is_read || loop->stacks[i].item == id;
    }
    return is_read;
}

struct readers {
    const struct mdf_lowered_loop *loop;
    bool found;
};

static void look_for_readers(void *context, mdf_lowered_id id)
{
    struct readers *readers = context;

    readers->found = readers->found || is_read_in(readers->loop, id);
}

static void remove_op(struct mdf_lowered_region *body, size_t at)
{
    memmove(body->ops + at, body->ops + at + 1, (--body->n_ops - at) * sizeof *body->ops);
}

/* What the nest makes, and nothing in the loop reads any more, is not made there again: where it bails out, the nest has. */
static void drop_made(struct ahead *ahead)
{
    struct mdf_lowered_region *body = &ahead->loop->body;

    for (size_t i = body->n_ops; i-- > 0;) {
        struct readers readers = {.loop = ahead->loop};

        if (is_covered(ahead, &body->ops[i]) && has_marked_result(&body->ops[i], ahead->is_needed)) {
            mdf_lowered_visit_results(&body->ops[i], look_for_readers, &readers);
            if (!readers.found) {
                remove_op(body, i);
            }
        }
    }
}

/* The loop goes through what the nest has made. */
static bool keep(struct ahead *ahead, const mdf_lowered_id *arrays)
{
    struct lowering *lowering = ahead->lowering;
    struct mdf_lowered_loop *loop = ahead->loop;
    struct mdf_lowered_rows *rows = mdf_arena_array(&lowering->lowered->arena, loop->n_rows + ahead->n_kept, sizeof *rows);

    if (rows == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (loop->n_rows > 0) {
        memcpy(rows, loop->rows, loop->n_rows * sizeof *rows);
    }
    for (size_t i = 0; i < ahead->n_kept; i++) {
        remove_op(&loop->body, mdf_lowered_find_maker(&loop->body, ahead->kept[i]));
        lowering->lowered->values[ahead->kept[i]].place = MDF_LOWERED_PARAMETER;
        lowering->facts[ahead->kept[i]].region = NULL;
        rows[loop->n_rows++] = (struct mdf_lowered_rows){arrays[i], ahead->kept[i], false};
    }
    loop->rows = rows;
    drop_made(ahead);
    return true;
}

static bool compute_kept(struct ahead *ahead, struct mdf_lowered_region *region, size_t *at)
{
    struct lowering *lowering = ahead->lowering;
    mdf_lowered_id arrays[MOST_KEPT];

    find_kept(ahead);
    if (ahead->n_kept == 0 || !begin_nest(ahead, false)) {
        return !lowering_has_failed(lowering);
    }
    for (size_t i = 0; i < ahead->n_kept; i++) {
        arrays[i] = add_array(ahead, ahead->kept[i]);
        if (arrays[i] == MDF_LOWERED_NONE) {
            return false;
        }
        store(ahead, ahead->kept[i], arrays[i]);
    }
    return !ahead->draft->has_failed && insert_nest(ahead, region, at) ? keep(ahead, arrays) : !lowering_has_failed(lowering);
}

/* ------------------------------------------------------------------ loops */

/* Whether a loop has a number of runs that is known before, and nobody looks into it. */
static bool is_plain(const struct lowering *lowering, const struct mdf_lowered_loop *loop)
{
    return lowering_is_counted(lowering->lowered, loop) && loop->n_runs != SIZE_MAX && loop->n_runs >= 2 &&
           loop->n_runs <= MOST_RUNS && loop->n_padded == 0 && loop->n_lanes == 0 && loop->n_products == 0 &&
           (loop->limit == 0 || loop->n_runs <= loop->limit);
}

/* The loop is op number *at of the region, and afterwards. */
static bool compute_ahead(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct ahead ahead = {.lowering = lowering, .loop = region->ops[*at].of.loop};
    size_t n_values = lowering->lowered->n_values;

    if (!is_plain(lowering, ahead.loop)) {
        return true;
    }
    ahead.is_inside = mdf_arena_array(&lowering->scratch, n_values, sizeof *ahead.is_inside);
    ahead.is_ahead = mdf_arena_array(&lowering->scratch, n_values, sizeof *ahead.is_ahead);
    ahead.is_late = mdf_arena_array(&lowering->scratch, n_values, sizeof *ahead.is_late);
    ahead.is_needed = mdf_arena_array(&lowering->scratch, n_values, sizeof *ahead.is_needed);
    if (ahead.is_inside == NULL || ahead.is_ahead == NULL || ahead.is_late == NULL || ahead.is_needed == NULL) {
        return lowering_out_of_memory(lowering);
    }
    find_ahead(&ahead);
    if (is_summed(&ahead)) {
        return replace_loop(&ahead, region, at);
    }
    return ahead.loop->n_runs < FEWEST_RUNS || compute_kept(&ahead, region, at);
}

bool lowering_compute_ahead(struct lowering *lowering)
{
    return lowering_for_loops(lowering, &lowering->lowered->region, compute_ahead);
}
