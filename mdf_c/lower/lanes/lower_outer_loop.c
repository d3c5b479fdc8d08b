/* lower_outer_loop.c - outer-loop vectorisation: a loop whose runs do not hang on each other, with loops or conditions of its own,
 * does several of them at once. Its body is widened as a program is for several instances (widen.c), with a lane for each run.
 * What it goes through is laid out for that in front of it, what it yields is turned behind it; where the number of runs is no
 * multiple of that of lanes, the last run is done again in those that are left. See lowering.h. */
#include "mdf_c/lower/lanes/widening.h"
#include "mdf_c/lower/terms.h"
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/machine/emit.h"

#include <string.h>

/* Elements of what is computed in a run, and of that in its own loops and conditions: longer rows are vectors by themselves. */
enum { FEW_LANES = 8, MANY_LANES = 16, MANY_RUNS = 64, MOST_ELEMENTS = 64, MOST_INSIDE = 4 };

struct outer_loop {
    struct widening widening;
    const struct mdf_lowered_loop *narrow;
    struct mdf_lowered_loop *loop;
    size_t n_runs, n_lanes, n_groups;
    /* Of each value: it differs between runs; it has to be made; it is made in the body; by a loop or condition there; loops go
     * through it, or stack it. */
    bool *varies, *needed, *is_made, *is_inside, *is_whole;
};

/* ------------------------------------------------------------------ which loops */

static void mark_made(void *context, mdf_lowered_id id)
{
    bool *is_made = context;

    if (id != MDF_LOWERED_NONE) {
        is_made[id] = true;
    }
}

static void mark_parameters(const struct mdf_lowered_loop *loop, bool *is_made)
{
    for (size_t i = 0; i < loop->n_rows; i++) {
        mark_made(is_made, loop->rows[i].parameter);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        mark_made(is_made, loop->states[i].parameter);
    }
    mark_made(is_made, loop->number);
    mark_made(is_made, loop->is_going_on);
}

static void mark_region(struct outer_loop *outer, const struct mdf_lowered_region *region, bool is_inside)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        mdf_lowered_visit_results(op, mark_made, outer->is_made);
        if (is_inside) {
            mdf_lowered_visit_results(op, mark_made, outer->is_inside);
        }
        if (op->code == MDF_LOWERED_LOOP) {
            mark_parameters(op->of.loop, outer->is_made);
            mark_parameters(op->of.loop, outer->is_inside);
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            mark_region(outer, inner, true);
        }
    }
}

/* Whether a code has no instruction for vectors: whole numbers that are divided, or whose product is looked at, functions of the C
 * library that are called number by number. */
static bool goes_one_by_one(enum mdf_lowered_code code)
{
    return (code >= MDF_LOWERED_QUOTIENT && code <= MDF_LOWERED_FLOOR_REMAINDER) || code == MDF_LOWERED_MULTIPLY_EXACT ||
           code == MDF_LOWERED_FUNCTION;
}

static bool nest_goes_one_by_one(const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_ELEMENT && goes_one_by_one((enum mdf_lowered_code)nest->steps[i].code)) {
            return true;
        }
    }
    return false;
}

/* Whether something in a region runs more or less often than the region, and nothing has to be called for one run after the other,
 * or number by number, or does runs side by side already. */
static bool find_control(const struct mdf_lowered_region *region, bool *has_control)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_CALL || (op->code == MDF_LOWERED_LOOP && op->of.loop->n_lanes > 0) ||
            goes_one_by_one((enum mdf_lowered_code)op->code) || (op->code == MDF_LOWERED_NEST && nest_goes_one_by_one(op->of.nest))) {
            return false;
        }
        *has_control = *has_control || op->code == MDF_LOWERED_LOOP || op->code == MDF_LOWERED_IF;
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            if (!find_control(inner, has_control)) {
                return false;
            }
        }
    }
    return true;
}

/* What a region computes with numbers side by side, and how many it loads from places of their own. */
struct region_work {
    size_t n_computed, n_gathered;
};

static size_t work_of(enum mdf_lowered_code code)
{
    enum { WORK_OF_FUNCTION = 16 };

    return code == MDF_LOWERED_COPY ? 0 : code == MDF_LOWERED_ELEMENTS ? WORK_OF_FUNCTION : 1;
}

static void count_work(const struct mdf_lowered_region *region, struct region_work *work)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        for (size_t j = 0; op->code == MDF_LOWERED_NEST && j < op->of.nest->n_steps; j++) {
            const struct mdf_nest_step *step = &op->of.nest->steps[j];

            work->n_computed += step->kind == MDF_NEST_ELEMENT ? work_of((enum mdf_lowered_code)step->code) : 0;
            work->n_gathered += step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE;
        }
        work->n_computed += op->out != MDF_LOWERED_NONE ? work_of((enum mdf_lowered_code)op->code) : 0;
        for (size_t j = 0; (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            count_work(inner, work);
        }
    }
}

/* Whether a loop that each run has as often as it needs does little but load from places of its own: of vectors each element is
 * loaded by itself, and all wait for the run that has the longest way. */
static bool is_search(const struct mdf_lowered_region *region, const bool *varies)
{
    enum { LEAST_FOR_ONE = 12 }; /* computed for each that is loaded */
    const struct mdf_lowered_region *inner;
    bool found = false;

    for (size_t i = 0; i < region->n_ops && !found; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];
        struct region_work work = {0};

        if (op->code == MDF_LOWERED_LOOP && mdf_lanes_has_own_bounds(op->of.loop, varies)) {
            count_work(&op->of.loop->body, &work);
        }
        found = work.n_computed < LEAST_FOR_ONE * work.n_gathered;
        for (size_t j = 0; !found && (inner = mdf_lowered_inner(op, j)) != NULL; j++) {
            found = is_search(inner, varies);
        }
    }
    return found;
}

/* Arrays that loops go through, or stack. */
static void mark_whole(const struct mdf_lowered_region *region, bool *is_whole)
{
    const struct mdf_lowered_region *inner;

    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_loop *loop = region->ops[i].code == MDF_LOWERED_LOOP ? region->ops[i].of.loop : NULL;

        for (size_t j = 0; loop != NULL && j < loop->n_rows; j++) {
            is_whole[loop->rows[j].source] = true;
        }
        for (size_t j = 0; loop != NULL && j < loop->n_stacks; j++) {
            is_whole[loop->stacks[j].stack] = true;
        }
        for (size_t j = 0; (inner = mdf_lowered_inner(&region->ops[i], j)) != NULL; j++) {
            mark_whole(inner, is_whole);
        }
    }
}

/* Whether all that is computed in a run has few elements, as many in all of them, of which there are vectors. */
static bool are_small(const struct outer_loop *outer)
{
    const struct lowering *lowering = outer->widening.lowering;

    for (size_t i = 0; i < lowering->lowered->n_values; i++) {
        const struct mdf_lowered_value *value = &lowering->lowered->values[i];
        size_t most = outer->is_whole[i] ? SIZE_MAX : outer->is_inside[i] ? MOST_INSIDE : MOST_ELEMENTS;

        if ((outer->is_made[i] && (value->is_list || lowering->facts[i].growth != NULL)) ||
            (outer->varies[i] &&
             (value->open_axes != 0 || value->form.length > most || value->form.length == 0 ||
              value->form.rank + 2u > MDF_INLINE_RANK || !mdf_machine_has_vectors((mdf_dtype)value->form.dtype)))) {
            return false;
        }
    }
    return true;
}

static bool has_plain_stacks(const struct mdf_lowered_loop *loop)
{
    size_t i;

    for (i = 0; i < loop->n_stacks && !loop->stacks[i].appends && !loop->stacks[i].is_put && loop->stacks[i].axis == 0; i++) {
    }
    return loop->n_stacks > 0 && i == loop->n_stacks;
}

/* Finds what differs between runs, and what has to be made of it. */
static void mark(struct outer_loop *outer, const struct mdf_lowered *body)
{
    const struct mdf_lowered_loop *loop = outer->narrow;

    mark_parameters(loop, outer->varies);
    if (loop->is_going_on != MDF_LOWERED_NONE) {
        outer->varies[loop->is_going_on] = false;
    }
    mdf_lanes_mark(body, outer->varies);
    for (size_t i = 0; i < loop->n_stacks; i++) {
        outer->needed[loop->stacks[i].item] = true;
    }
    mdf_lanes_need(body, outer->needed);
    mark_parameters(loop, outer->is_made);
    mark_region(outer, &loop->body, false);
    mark_whole(&loop->body, outer->is_whole);
}

/* ------------------------------------------------------------------ rows and stacks */

/* A value for each group of runs: the form of one run, with the lanes behind it. */
static mdf_lowered_id add_groups(struct outer_loop *outer, mdf_lowered_id narrow)
{
    struct widening *widening = &outer->widening;
    const struct mdf_value form = widening->narrow->values[narrow].form;
    int64_t shape[MDF_INLINE_RANK];
    mdf_lowered_id id;

    shape[0] = (int64_t)outer->n_groups;
    memcpy(shape + 1, mdf_value_shape(&form), form.rank * sizeof *shape);
    shape[form.rank + 1] = (int64_t)outer->n_lanes;
    id = widening_add_shape(widening, MDF_LOWERED_RESULT, &form, form.rank + 2u, shape);
    if (id != MDF_LOWERED_NONE) {
        widening->lowering->lowered->values[id].is_scalar = false;
    }
    return id;
}

/* Elements of all runs, `n` each, in an array of runs and in one of groups of lanes. */
struct turning {
    mdf_lowered_id runs, lanes;
    size_t n;
    bool is_reversed, to_lanes;
};

/* The runs from `first` on, of so many groups with so many lanes, where they lie one behind the other. */
static struct mdf_nest_view view_of_runs(const struct outer_loop *outer, mdf_lowered_id id, size_t n, size_t first, bool is_reversed)
{
    int64_t step = is_reversed ? -(int64_t)n : (int64_t)n;

    return (struct mdf_nest_view){.id = id,
                                  .first = (int64_t)((is_reversed ? outer->n_runs - 1 - first : first) * n),
                                  .strides = {step * (int64_t)outer->n_lanes, step, 1},
                                  .at = MDF_NEST_NONE};
}

/* The same where they lie side by side. */
static struct mdf_nest_view view_of_lanes(const struct outer_loop *outer, mdf_lowered_id id, size_t n, size_t first)
{
    size_t n_lanes = outer->n_lanes;

    return (struct mdf_nest_view){.id = id,
                                  .first = (int64_t)(first / n_lanes * n * n_lanes + first % n_lanes),
                                  .strides = {(int64_t)(n * n_lanes), 1, (int64_t)n_lanes},
                                  .at = MDF_NEST_NONE};
}

/* Both are gone through the other way round along the axes of groups and lanes, as what is stored goes forwards. */
static void go_back(struct mdf_nest_view *view, const size_t *extents)
{
    for (size_t axis = 0; axis < 2; axis++) {
        view->first += view->strides[axis] * (int64_t)(extents[axis] - 1);
        view->strides[axis] = -view->strides[axis];
    }
}

/* Elements of the runs from `first` on, of so many groups with so many lanes, from one of these forms to the other. */
static bool turn_part(struct outer_loop *outer, const struct turning *turning, size_t first, size_t n_groups, size_t n_lanes)
{
    const size_t extents[] = {n_groups, n_lanes, turning->n};
    struct mdf_nest_view apart = view_of_runs(outer, turning->runs, turning->n, first, turning->is_reversed);
    struct mdf_nest_view lanes = view_of_lanes(outer, turning->lanes, turning->n, first);

    if (turning->is_reversed && !turning->to_lanes) {
        go_back(&apart, extents);
        go_back(&lanes, extents);
    }
    return widening_move(&outer->widening, turning->to_lanes ? &apart : &lanes, turning->to_lanes ? &lanes : &apart, 3, extents);
}

/* Those of whole groups, then the others. */
static bool turn(struct outer_loop *outer, const struct turning *turning)
{
    size_t n_whole = outer->n_runs / outer->n_lanes, rest = outer->n_runs % outer->n_lanes;

    return turn_part(outer, turning, 0, n_whole, outer->n_lanes) &&
           (rest == 0 || turn_part(outer, turning, n_whole * outer->n_lanes, 1, rest));
}

/* Lanes past the last run do that again. */
static bool repeat_last(struct outer_loop *outer, const struct turning *turning)
{
    size_t n_missing = outer->n_groups * outer->n_lanes - outer->n_runs;
    const size_t extents[] = {n_missing, turning->n};
    struct mdf_nest_view from = view_of_runs(outer, turning->runs, turning->n, outer->n_runs - 1, turning->is_reversed);
    struct mdf_nest_view to = view_of_lanes(outer, turning->lanes, turning->n, outer->n_runs);

    from.strides[0] = 0;
    from.strides[1] = 1;
    to.strides[0] = 1;
    to.strides[1] = (int64_t)outer->n_lanes;
    return n_missing == 0 || widening_move(&outer->widening, &from, &to, 2, extents);
}

static bool add_row(struct outer_loop *outer, const struct mdf_lowered_rows *narrow)
{
    struct widening *widening = &outer->widening;
    size_t n = widening->narrow->values[narrow->parameter].form.length;
    struct mdf_lowered_rows *rows = &outer->loop->rows[outer->loop->n_rows++];

    *rows = (struct mdf_lowered_rows){.source = narrow->source};
    if (n > 1 || narrow->is_reversed || outer->n_runs % outer->n_lanes != 0) {
        const struct turning turning = {narrow->source, add_groups(outer, narrow->parameter), n, narrow->is_reversed, true};

        rows->source = turning.lanes;
        if (rows->source == MDF_LOWERED_NONE || !turn(outer, &turning) || !repeat_last(outer, &turning)) {
            return false;
        }
    }
    rows->parameter = widening_add(widening, MDF_LOWERED_PARAMETER, narrow->parameter);
    return rows->parameter != MDF_LOWERED_NONE;
}

/* Rows that the body does not look at are not laid out. */
static bool add_rows(struct outer_loop *outer)
{
    outer->loop->rows = mdf_arena_array(&outer->widening.lowering->lowered->arena, outer->narrow->n_rows, sizeof *outer->loop->rows);
    if (outer->loop->rows == NULL) {
        return lowering_out_of_memory(outer->widening.lowering);
    }
    for (size_t i = 0; i < outer->narrow->n_rows; i++) {
        if (outer->needed[outer->narrow->rows[i].parameter] && !add_row(outer, &outer->narrow->rows[i])) {
            return false;
        }
    }
    return true;
}

/* In the body, at its end. */
static bool add_items(struct outer_loop *outer)
{
    struct widening *widening = &outer->widening;

    outer->loop->stacks = mdf_arena_array(&widening->lowering->lowered->arena, outer->narrow->n_stacks, sizeof *outer->loop->stacks);
    if (outer->loop->stacks == NULL) {
        return lowering_out_of_memory(widening->lowering);
    }
    for (size_t i = 0; i < outer->narrow->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &outer->narrow->stacks[i];
        mdf_lowered_id item = widening_value(widening, stack->item);

        item = item == MDF_LOWERED_NONE || widening_varies(widening, stack->item) ? item : widening_spread(widening, item, stack->item);
        outer->loop->stacks[outer->loop->n_stacks++] =
            (struct mdf_lowered_stack){.item = item, .item_bytes = stack->item_bytes * outer->n_lanes};
        if (item == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

/* Behind the loop. */
static bool turn_stacks(struct outer_loop *outer)
{
    struct lowering *lowering = outer->widening.lowering;

    for (size_t i = 0; i < outer->narrow->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &outer->narrow->stacks[i];
        const struct turning turning = {stack->stack, outer->loop->stacks[i].stack, lowering->lowered->values[stack->item].form.length,
                                        stack->is_reversed, false};

        if (!turn(outer, &turning)) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ the loop */

/* Lanes past the last run have the number of that. */
static mdf_lowered_id cut_numbers(struct outer_loop *outer, mdf_lowered_id numbers)
{
    struct widening *widening = &outer->widening;
    double n_runs = (double)outer->n_runs;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_SELECT, .dtype = MDF_DTYPE_INT64, .n_in = 3};

    if (outer->n_runs % outer->n_lanes == 0) {
        return numbers;
    }
    op.in[0] = widening_compute_two(widening, MDF_LOWERED_LESS, MDF_DTYPE_INT64, numbers,
                                    widening_constant(widening, MDF_DTYPE_INT64, n_runs));
    op.in[1] = numbers;
    op.in[2] = widening_constant(widening, MDF_DTYPE_INT64, n_runs - 1);
    return widening_compute(widening, &op, MDF_DTYPE_INT64);
}

/* The number of the group times that of lanes, and the number of each lane; all go on. */
static bool add_parameters(struct outer_loop *outer)
{
    struct widening *widening = &outer->widening;
    struct lowering *lowering = widening->lowering;
    int64_t numbers[MANY_LANES], shape = (int64_t)outer->n_lanes;
    struct mdf_value lanes = {0};
    mdf_lowered_id first, id;

    if (outer->narrow->is_going_on != MDF_LOWERED_NONE) {
        widening->ids[outer->narrow->is_going_on] = mdf_term_truth(lowering, true);
    }
    if (outer->narrow->number == MDF_LOWERED_NONE || !outer->needed[outer->narrow->number]) {
        return true;
    }
    for (size_t i = 0; i < outer->n_lanes; i++) {
        numbers[i] = (int64_t)i;
    }
    outer->loop->number = widening_add_loop_number(widening);
    first = widening_compute_two(widening, MDF_LOWERED_MULTIPLY, MDF_DTYPE_INT64, outer->loop->number,
                                 widening_constant(widening, MDF_DTYPE_INT64, (double)outer->n_lanes));
    mdf_value_borrow_tensor(lowering->memory, &lanes, MDF_DTYPE_INT64, MDF_STRENGTH_TYPED, 1, &shape, numbers);
    id = lowering_add_constant(lowering, &lanes, false);
    mdf_value_clear(lowering->memory, &lanes);
    id = cut_numbers(outer, widening_compute_two(widening, MDF_LOWERED_ADD, MDF_DTYPE_INT64, first, id));
    widening->ids[outer->narrow->number] = id;
    return id != MDF_LOWERED_NONE;
}

/* Where a lane has bailed out, all have. */
static bool leave(struct outer_loop *outer)
{
    struct widening *widening = &outer->widening;
    mdf_dtype real = outer->widening.request->execution->context.real;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_CAST, .dtype = MDF_DTYPE_BOOL, .n_in = 1};

    if (widening->traps == MDF_LOWERED_NONE) {
        return true;
    }
    if (!widening_has_lanes(widening, widening->traps)) {
        return lowering_bail_out_if(widening->lowering, widening->traps);
    }
    op.in[0] = widening->traps;
    return lowering_bail_out_if(widening->lowering, widening_any(widening, widening_compute(widening, &op, real), real));
}

static bool name_stacks(struct outer_loop *outer)
{
    for (size_t i = 0; i < outer->loop->n_stacks; i++) {
        outer->loop->stacks[i].stack = add_groups(outer, outer->narrow->stacks[i].item);
        if (outer->loop->stacks[i].stack == MDF_LOWERED_NONE) {
            return false;
        }
    }
    return true;
}

static bool add_loop(struct outer_loop *outer)
{
    struct lowering *lowering = outer->widening.lowering;
    struct mdf_lowered_op op = {.code = MDF_LOWERED_LOOP, .out = MDF_LOWERED_NONE, .origin = lowering->origin};
    struct region region;

    outer->loop = mdf_arena_allocate(&lowering->lowered->arena, sizeof *outer->loop);
    if (outer->loop == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *outer->loop = (struct mdf_lowered_loop){.n_runs = outer->n_groups,
                                              .n_lanes = outer->n_lanes,
                                              .trip_count = MDF_LOWERED_NONE,
                                              .condition = MDF_LOWERED_NONE,
                                              .next_condition = MDF_LOWERED_NONE,
                                              .number = MDF_LOWERED_NONE,
                                              .is_going_on = MDF_LOWERED_NONE};
    if (!add_rows(outer)) {
        return false;
    }
    lowering_begin_region(lowering, &region, REGION_BODY);
    for (size_t i = 0; i < outer->loop->n_rows; i++) {
        lowering->facts[outer->loop->rows[i].parameter].depth = region.depth;
    }
    if (!add_parameters(outer) || !widening_region(&outer->widening, &outer->narrow->body) || !leave(outer) || !add_items(outer) ||
        !lowering_end_region(lowering, &outer->loop->body) || !name_stacks(outer)) {
        return false;
    }
    op.of.loop = outer->loop;
    return widening_add_op(&outer->widening, &op) && turn_stacks(outer);
}

/* What stands for values: themselves, but for those of the body. */
static bool begin(struct outer_loop *outer, const struct mdf_lowered *body)
{
    struct lowering *lowering = outer->widening.lowering;
    size_t n = body->n_values;

    outer->varies = mdf_arena_array(&lowering->scratch, n, sizeof *outer->varies);
    outer->needed = mdf_arena_array(&lowering->scratch, n, sizeof *outer->needed);
    outer->is_made = mdf_arena_array(&lowering->scratch, n, sizeof *outer->is_made);
    outer->is_inside = mdf_arena_array(&lowering->scratch, n, sizeof *outer->is_inside);
    outer->is_whole = mdf_arena_array(&lowering->scratch, n, sizeof *outer->is_whole);
    outer->widening.ids = mdf_arena_array(&lowering->scratch, n, sizeof *outer->widening.ids);
    if (outer->varies == NULL || outer->needed == NULL || outer->is_made == NULL || outer->is_inside == NULL ||
        outer->is_whole == NULL || outer->widening.ids == NULL) {
        return lowering_out_of_memory(lowering);
    }
    mark(outer, body);
    for (size_t i = 0; i < n; i++) {
        outer->widening.ids[i] = outer->is_made[i] ? MDF_LOWERED_NONE : (mdf_lowered_id)i;
    }
    return true;
}

/* Values that are made no more need no memory. */
static void forget(struct lowering *lowering, mdf_lowered_id id)
{
    lowering->facts[id].is_nested = lowering->facts[id].is_copied = lowering->facts[id].is_product = false;
}

/* The loop in the place of one; false: that stays, or something has failed. */
static bool put_lanes(struct lowering *lowering, struct region *region, const struct mdf_lowered_loop *loop)
{
    struct mdf_lowered body = *lowering->lowered;
    struct outer_loop outer = {.narrow = loop, .n_runs = loop->n_runs, .n_lanes = loop->n_runs < MANY_RUNS ? FEW_LANES : MANY_LANES};
    struct mdf_lanes_request request = {.narrow = &body, .execution = lowering->execution, .n_lanes = outer.n_lanes};
    size_t n_ops = region->n_ops, n_values = body.n_values;
    bool has_control = false, done;

    if (loop->n_runs < FEW_LANES || !lowering_is_map(lowering, loop) || !has_plain_stacks(loop) ||
        !find_control(&loop->body, &has_control) || !has_control) {
        return false;
    }
    body.region = loop->body;
    outer.n_groups = (loop->n_runs + outer.n_lanes - 1) / outer.n_lanes;
    outer.widening = (struct widening){.lowering = lowering,
                                        .request = &request,
                                        .narrow = &body,
                                        .n_lanes = outer.n_lanes,
                                        .mask = MDF_LOWERED_NONE,
                                        .traps = MDF_LOWERED_NONE};
    if (!begin(&outer, &body) || !are_small(&outer) || is_search(&loop->body, outer.varies)) {
        return false;
    }
    request.varies = outer.varies;
    request.needed = outer.needed;
    done = add_loop(&outer);
    if (!done && lowering->refusal.reason != MDF_REFUSED_OUT_OF_MEMORY) { /* it stays as it is */
        lowering->refusal = (struct mdf_refusal){.reason = MDF_REFUSED_NOT};
        lowering->region = region;
        region->n_ops = n_ops;
    }
    for (size_t i = 0; i < lowering->lowered->n_values; i++) {
        if (done ? i < n_values && outer.is_made[i] : i >= n_values) {
            forget(lowering, (mdf_lowered_id)i);
        }
    }
    return done;
}

bool lowering_vectorise_outer_loops(struct lowering *lowering, struct region *region)
{
    struct region *around = lowering->region;
    struct mdf_lowered_op *ops = region->ops;
    const struct mdf_origin *origin = lowering->origin;
    size_t n_ops = region->n_ops, i;
    bool done = true;

    for (i = 0; i < n_ops && ops[i].code != MDF_LOWERED_LOOP; i++) {
    }
    if (i == n_ops || lowering->is_for_source) {
        return true;
    }
    lowering->region = region;
    region->ops = NULL;
    region->n_ops = region->capacity = 0;
    for (i = 0; i < n_ops && done; i++) {
        lowering->origin = ops[i].origin;
        done = (ops[i].code == MDF_LOWERED_LOOP && put_lanes(lowering, region, ops[i].of.loop)) ||
               (!lowering_has_failed(lowering) && lowering_add_op(lowering, region, &ops[i]));
    }
    lowering->region = around;
    lowering->origin = origin;
    return done;
}
