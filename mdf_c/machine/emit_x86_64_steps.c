/* emit_x86_64_steps.c - see emit_x86_64.h. Lays a structured region out as a row of steps, and says what each step reads and
 * writes. */
#include "mdf_c/lowered/lowered_reads.h"
#include "mdf_c/lowered/nest.h"
#include "mdf_c/machine/emit_x86_64.h"

bool emission_is_comparison(unsigned code)
{
    return code >= MDF_LOWERED_EQUAL && code <= MDF_LOWERED_GREATER_EQUAL;
}

/* ------------------------------------------------------------------ the row */

static uint32_t add_step(struct emission *emission, enum step_kind kind, const struct mdf_lowered_op *op, uint32_t region)
{
    struct step *step;

    if (emission->n_steps == emission->step_capacity) {
        struct step *steps =
            mdf_memory_grow(emission->memory, emission->steps, &emission->step_capacity, emission->n_steps + 1, sizeof *steps);

        if (steps == NULL || emission->n_steps >= UINT32_MAX / (2 * N_MOMENTS)) {
            emission->steps = steps != NULL ? steps : emission->steps;
            return UINT32_MAX;
        }
        emission->steps = steps;
    }
    step = &emission->steps[emission->n_steps];
    *step = (struct step){.kind = (uint8_t)kind, .op = op, .region = region, .depth = (uint8_t)emission->n_loops};
    return (uint32_t)emission->n_steps++;
}

static bool lay_out_region(struct emission *emission, const struct mdf_lowered_region *region, size_t nesting);

static bool lay_out_if(struct emission *emission, const struct mdf_lowered_op *op, uint32_t region, size_t nesting)
{
    uint32_t first = add_step(emission, STEP_IF, op, region), middle, last;

    if (first == UINT32_MAX || !lay_out_region(emission, &op->of.branches->then, nesting)) {
        return false;
    }
    middle = add_step(emission, STEP_ELSE, op, region);
    if (middle == UINT32_MAX || !lay_out_region(emission, &op->of.branches->otherwise, nesting)) {
        return false;
    }
    last = add_step(emission, STEP_END_IF, op, region);
    if (last == UINT32_MAX) {
        return false;
    }
    emission->steps[first].partner = middle;
    emission->steps[middle].partner = last;
    emission->steps[last].partner = first;
    return true;
}

/* Whether C functions are called behind each run: to copy items, to exchange values, for more room, for the next block. */
static bool calls_between_runs(const struct emission *emission, const struct loop_plan *plan)
{
    const struct mdf_lowered_value *values = emission->lowered->values;
    const struct mdf_lowered_loop *loop = plan->loop;
    bool calls = loop->block_runs > 0 || (loop->n_stacks > 0 && !plan->is_known);

    for (size_t i = 0; i < loop->n_stacks; i++) {
        const struct mdf_lowered_stack *stack = &loop->stacks[i];

        calls |= !stack->is_direct && !stack->is_put && !stack->is_behind && !values[stack->item].is_scalar;
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        calls |= values[loop->states[i].parameter].open_axes != 0;
    }
    return calls;
}

/* Whether a step takes little time: what a function is called for may take more. */
static bool is_brief(const struct step *step)
{
    enum { MOST_POINTS = 256 };
    const struct mdf_lowered_nest *nest = step->kind == STEP_OP && step->op->code == MDF_LOWERED_NEST ? step->op->of.nest : NULL;

    return step->kind != STEP_OP
               ? step->kind <= STEP_END_LOOP
               : !step->clobbers || (nest != NULL && !nest->is_open && mdf_nest_count(nest, 0, nest->n_axes) <= MOST_POINTS);
}

/* Whether a run is a few brief steps, some of them perhaps in loops of their own, but in none within these. */
static bool is_short(const struct emission *emission, uint32_t first, uint32_t last)
{
    enum { MOST_STEPS = 128, MOST_DEEP = 2 };
    uint32_t at;

    for (at = first + 1;
         at < last && is_brief(&emission->steps[at]) && emission->steps[at].depth <= emission->steps[first].depth + MOST_DEEP;
         at++) {
    }
    return at == last && last - first <= MOST_STEPS;
}

static bool lay_out_loop(struct emission *emission, const struct mdf_lowered_op *op, uint32_t region, size_t nesting)
{
    const struct mdf_lowered_loop *loop = op->of.loop;
    uint32_t first = add_step(emission, STEP_LOOP, op, region), last, first_temporary = emission->n_temporaries;
    uint32_t body_region = emission->n_regions;
    struct loop_plan plan;

    for (size_t i = 0; i < loop->n_rows; i++) {
        if (loop->rows[i].is_reversed && loop->n_runs == SIZE_MAX && loop->trip_count == MDF_LOWERED_NONE) {
            return false;
        }
    }
    if (first == UINT32_MAX || loop->n_rows + loop->n_stacks > LARGEST_N_TEMPORARIES) {
        return false;
    }
    emission->n_temporaries += (uint32_t)(loop->n_rows + loop->n_stacks + N_LOOP_TEMPORARIES);
    emission->n_loops++;
    if (emission->n_temporaries > LARGEST_N_TEMPORARIES || !lay_out_region(emission, &loop->body, nesting)) {
        return false;
    }
    last = add_step(emission, STEP_END_LOOP, op, body_region);
    emission->n_loops--;
    if (last == UINT32_MAX) {
        return false;
    }
    emission->steps[first].partner = last;
    emission->steps[last].partner = first;
    emission->steps[first].first_temporary = emission->steps[last].first_temporary = first_temporary;
    emission->steps[first].is_short = is_short(emission, first, last);
    plan = emission_plan_loop(emission, &emission->steps[first]);
    emission->steps[first].clobbers = emission->steps[last].clobbers = plan.calls;
    emission->steps[last].clobbers_last = plan.calls && !calls_between_runs(emission, &plan);
    return true;
}

static bool is_scalar_result(const struct emission *emission, const struct mdf_lowered_op *op)
{
    return op->out != MDF_LOWERED_NONE && emission->lowered->values[op->out].is_scalar;
}

static bool lay_out_op(struct emission *emission, const struct mdf_lowered_op *op, uint32_t region, size_t nesting)
{
    uint32_t at;

    if (op->code == MDF_LOWERED_IF) {
        return lay_out_if(emission, op, region, nesting);
    }
    if (op->code == MDF_LOWERED_LOOP) {
        return lay_out_loop(emission, op, region, nesting);
    }
    emission->has_vectors = emission->has_vectors || op->code == MDF_LOWERED_NEST || op->code == MDF_LOWERED_PUT;
    at = add_step(emission, STEP_OP, op, region);
    if (at == UINT32_MAX || (op->code < MDF_LOWERED_PUT && !emission_covers_scalar(emission, op))) {
        return false;
    }
    emission->steps[at].clobbers =
        (op->code == MDF_LOWERED_CALL && !emission_draws_here(emission->lowered, op)) ||
        (op->code == MDF_LOWERED_NEST && !emission_is_point(emission->lowered, op->of.nest)) ||
        op->code == MDF_LOWERED_FUNCTION || op->code == MDF_LOWERED_ELEMENTS || emission_casts_by_call(emission, op) ||
        (op->code == MDF_LOWERED_COPY && !is_scalar_result(emission, op) && !emission->lowered->values[op->out].is_in_place) ||
        (op->code == MDF_LOWERED_PUT && !emission_puts_in_place(emission->lowered, op));
    return true;
}

/* Notes it of their steps, which follow one another up to the last one. Only the last one calls. */
static void put_beside(struct emission *emission, size_t n)
{
    enum { FEWEST_NUMBERS = 3 }; /* where a function of one number takes less than a vector of two that goes through memory */
    const struct mdf_lowered_op *last = emission->steps[emission->n_steps - 1].op;
    size_t fewest = last->code == MDF_LOWERED_ELEMENTS && mdf_number_here(last->loop) != NULL ? FEWEST_NUMBERS : 2, i;

    if (n < fewest || emission->n_temporaries + 2 * MDF_LOWERED_MOST_BESIDE > LARGEST_N_TEMPORARIES) {
        return;
    }
    if (emission->n_beside == 0) {
        emission->first_beside = emission->n_temporaries;
        emission->n_temporaries += emission->n_beside = 2 * MDF_LOWERED_MOST_BESIDE;
    }
    for (i = 0; i < n; i++) {
        struct step *step = &emission->steps[emission->n_steps - n + i];

        step->beside = (uint8_t)(i + 1);
        step->is_last_beside = i + 1 == n;
        step->clobbers = step->is_last_beside;
    }
}

static bool lay_out_region(struct emission *emission, const struct mdf_lowered_region *region, size_t nesting)
{
    uint32_t number = emission->n_regions++;
    size_t n_beside = 0, end_beside = 0;

    if (nesting == LARGEST_NESTING) {
        return false;
    }
    for (size_t i = 0; i < region->n_ops; i++) {
        const struct mdf_lowered_op *op = &region->ops[i];

        if (emission->part == NULL && op->code == MDF_LOWERED_LOOP && op->of.loop->concurrent != NULL) {
            uint32_t at = add_step(emission, STEP_CONCURRENT, op, number);

            if (at == UINT32_MAX) {
                return false;
            }
            emission->steps[at].clobbers = true;
            i++; /* the other one */
        } else if (!lay_out_op(emission, op, number, nesting + 1)) {
            return false;
        }
        if (i >= end_beside) {
            n_beside = mdf_lowered_count_beside(emission->lowered, op, region->n_ops - i);
            end_beside = n_beside > 0 ? i + n_beside : i + 1;
        }
        if (i + 1 == end_beside) {
            put_beside(emission, n_beside);
        }
    }
    return true;
}

bool emission_lay_out(struct emission *emission)
{
    /* Inputs are there before the first step, so that no step has number 0. */
    return add_step(emission, STEP_DEFERRED, NULL, UINT32_MAX) != UINT32_MAX &&
           (emission->part != NULL ? lay_out_loop(emission, emission->part, emission->n_regions++, 1)
                                   : lay_out_region(emission, &emission->lowered->region, 0)) &&
           add_step(emission, STEP_END, NULL, UINT32_MAX) != UINT32_MAX;
}

static bool is_read(const struct emission *emission, mdf_lowered_id id)
{
    return id != MDF_LOWERED_NONE && emission->lives != NULL && emission->lives[id].n_uses > 0;
}

/* Whether the condition that a run yields is that before it, or a constant: the loop goes on. */
static bool always_goes_on(const struct emission *emission, const struct mdf_lowered_loop *loop)
{
    mdf_lowered_id id = loop->next_condition;
    const struct step *step;

    while (id != MDF_LOWERED_NONE && id != loop->is_going_on && emission->lives != NULL &&
           emission->lives[id].step != UINT32_MAX) {
        step = &emission->steps[emission->lives[id].step];
        if (step->kind != STEP_OP || step->op->code != MDF_LOWERED_COPY) {
            return false;
        }
        id = step->op->in[0];
    }
    return id == MDF_LOWERED_NONE || id == loop->is_going_on ||
           (emission->lowered->values[id].place == MDF_LOWERED_CONSTANT &&
            *(const uint8_t *)emission->lowered->values[id].form.data != 0);
}

/* Whether there are as many runs as the condition says: no loop comes to the end of int64. */
static bool is_endless(const struct emission *emission, const struct mdf_lowered_loop *loop)
{
    const struct mdf_value *trip_count = &emission->lowered->values[loop->trip_count].form;

    return loop->next_condition != MDF_LOWERED_NONE && emission_is_constant(emission, loop->trip_count) &&
           trip_count->dtype == MDF_DTYPE_INT64 && *(const int64_t *)trip_count->data == INT64_MAX;
}

/* Whether what is done behind a run is short, and only scalars. */
static bool ends_shortly(const struct mdf_lowered_loop *loop, const struct loop_plan *plan)
{
    enum { MOST_MOVED = 6 };

    return plan->next_condition != MDF_LOWERED_NONE && plan->next_condition == loop->next_condition && !plan->calls &&
           loop->concurrent == NULL && loop->n_states + loop->n_rows <= MOST_MOVED;
}

static enum loop_asking find_asking(const struct emission *emission, const struct step *step, const struct loop_plan *plan)
{
    const struct step *first = step->kind == STEP_LOOP ? step : &emission->steps[step->partner];

    if (emission->lowered->context->stop == NULL || (first->is_short && first->depth > 0 && plan->loop->n_runs <= ASKED_EACH)) {
        return ASKS_NEVER;
    }
    return first->is_short && plan->counts ? ASKS_SELDOM : ASKS_ALWAYS;
}

struct loop_plan emission_plan_loop(const struct emission *emission, const struct step *step)
{
    const struct mdf_lowered_loop *loop = step->op->of.loop;
    mdf_lowered_id temporary = (mdf_lowered_id)(emission->lowered->n_values + step->first_temporary);
    bool has_trip_count = loop->n_runs == SIZE_MAX && loop->trip_count != MDF_LOWERED_NONE;
    struct loop_plan plan = {.loop = loop, .rows = temporary + N_LOOP_TEMPORARIES};

    plan.stacks = (mdf_lowered_id)(plan.rows + loop->n_rows);
    plan.has_condition = loop->condition != MDF_LOWERED_NONE || loop->next_condition != MDF_LOWERED_NONE;
    has_trip_count = has_trip_count && !is_endless(emission, loop);
    plan.is_bounded = loop->n_runs != SIZE_MAX || has_trip_count || loop->limit != 0;
    plan.is_known = !plan.has_condition && (loop->n_runs != SIZE_MAX || has_trip_count);
    plan.calls = loop->n_stacks > 0 || loop->n_products > 0 || loop->n_padded > 0;
    plan.next_condition = always_goes_on(emission, loop) ? MDF_LOWERED_NONE : loop->next_condition;
    for (size_t i = 0; i < loop->n_states; i++) {
        if (plan.next_condition != MDF_LOWERED_NONE && loop->states[i].parameter == loop->next_condition) {
            plan.next_condition = temporary + 2;
        }
        plan.calls |= !emission->lowered->values[loop->states[i].parameter].is_scalar && !loop->states[i].lies_in_initial;
    }
    plan.constant = loop->limit != 0 && loop->limit < loop->n_runs ? loop->limit : loop->n_runs;
    plan.counter = loop->number != MDF_LOWERED_NONE ? loop->number : temporary;
    plan.counts = plan.is_bounded || plan.calls || is_read(emission, loop->number);
    plan.bound = !has_trip_count ? MDF_LOWERED_NONE : loop->limit == 0 ? loop->trip_count : temporary + 1;
    plan.may_leave_early = ends_shortly(loop, &plan);
    plan.asking = find_asking(emission, step, &plan);
    return plan;
}

/* ------------------------------------------------------------------ what steps read and write */

typedef void (*visitor)(struct emission *emission, mdf_lowered_id id, enum moment moment);

const struct mdf_lowered_op *emission_deferred(const struct emission *emission, mdf_lowered_id id)
{
    return emission->lives[id].is_deferred ? emission->steps[emission->lives[id].step].op : NULL;
}

/* A scalar that is read; of a deferred condition, what that reads. */
static void visit_read(struct emission *emission, visitor visit, mdf_lowered_id id, enum moment moment)
{
    const struct mdf_lowered_op *op;

    if (id == MDF_LOWERED_NONE || emission->lives[id].kind == LIFE_NONE) {
        return;
    }
    op = emission_deferred(emission, id);
    if (op == NULL) {
        visit(emission, id, moment);
        return;
    }
    for (size_t i = 0; i < op->n_in; i++) {
        visit_read(emission, visit, op->in[i], moment);
    }
}

static void visit_write(struct emission *emission, visitor visit, mdf_lowered_id id)
{
    if (id != MDF_LOWERED_NONE && emission->lives[id].kind != LIFE_NONE) {
        visit(emission, id, DEFINITION);
    }
}

static void visit_op(struct emission *emission, visitor visit, const struct mdf_lowered_op *op)
{
    const struct mdf_lowered_op *quotient = op->code < MDF_LOWERED_PUT ? emission_quotient_of(emission, op) : NULL;

    if (quotient != NULL) {
        visit_read(emission, visit, quotient->out, USE);
    }
    for (size_t i = 0; i < op->n_in; i++) {
        visit_read(emission, visit, op->in[i], USE);
    }
    for (size_t i = 0; op->code == MDF_LOWERED_PUT && !emission->lowered->values[op->in[2]].is_scalar &&
                       emission_puts_in_place(emission->lowered, op) && i < op->of.put->n_indices;
         i++) {
        visit_read(emission, visit, emission_index_number(emission, op, i), USE);
    }
    for (size_t i = 0; op->code == MDF_LOWERED_NEST && i < op->of.nest->n_steps; i++) {
        if (op->of.nest->steps[i].kind == MDF_NEST_LOAD) {
            visit_read(emission, visit, op->of.nest->steps[i].view.id,
                       emission_is_point(emission->lowered, op->of.nest) ? LATE : USE);
        } else if (op->of.nest->steps[i].kind == MDF_NEST_STORE) {
            visit_write(emission, visit, op->of.nest->steps[i].view.id);
        }
    }
    if (op->code == MDF_LOWERED_CALL) {
        for (size_t i = 0; i < op->of.call->n_inputs; i++) {
            visit_read(emission, visit, op->of.call->inputs[i], USE);
        }
        for (size_t i = 0; i < op->of.call->n_outputs; i++) {
            visit_write(emission, visit, op->of.call->outputs[i]);
        }
    }
    if (op->code < MDF_LOWERED_CALL) {
        visit_write(emission, visit, op->out);
    }
}

const mdf_lowered_id *emission_inputs(const struct emission *emission, size_t *n)
{
    const struct mdf_lowered_concurrent *concurrent = emission->part == NULL ? NULL : emission->part->of.loop->concurrent;

    *n = concurrent == NULL ? emission->lowered->n_inputs : concurrent->n_scalars;
    return concurrent == NULL ? emission->lowered->inputs : concurrent->scalars;
}

size_t emission_n_results(const struct emission *emission)
{
    return emission->part != NULL ? emission->part->of.loop->n_states : emission->lowered->n_outputs;
}

mdf_lowered_id emission_result(const struct emission *emission, size_t i)
{
    return emission->part != NULL ? emission->part->of.loop->states[i].parameter : emission->lowered->outputs[i].id;
}

static void visit_concurrent(struct emission *emission, visitor visit, const struct mdf_lowered_concurrent *concurrent)
{
    for (size_t i = 0; i < concurrent->n_scalars; i++) {
        visit_read(emission, visit, concurrent->scalars[i], USE);
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < concurrent->loops[i]->n_states; j++) {
            visit_write(emission, visit, concurrent->loops[i]->states[j].parameter);
        }
    }
}

static void visit_merges(struct emission *emission, visitor visit, const struct mdf_lowered_if *branches, bool then)
{
    for (size_t i = 0; i < branches->n_merges; i++) {
        visit_write(emission, visit, branches->merges[i].out);
        visit_read(emission, visit, then ? branches->merges[i].then : branches->merges[i].otherwise, LATE);
    }
}

static void visit_loop(struct emission *emission, visitor visit, const struct step *step)
{
    struct loop_plan plan = emission_plan_loop(emission, step);
    const struct mdf_lowered_loop *loop = plan.loop;

    visit_write(emission, visit, plan.counts ? plan.counter : loop->number);
    if (plan.bound != MDF_LOWERED_NONE && plan.bound >= emission->lowered->n_values) {
        visit(emission, plan.bound, DEFINITION);
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        visit(emission, (mdf_lowered_id)(plan.rows + i), DEFINITION);
        visit_write(emission, visit, loop->rows[i].parameter);
        visit_read(emission, visit, loop->rows[i].source, LATE);
    }
    for (size_t i = 0; i < loop->n_stacks; i++) {
        visit(emission, (mdf_lowered_id)(plan.stacks + i), DEFINITION);
        visit_read(emission, visit, loop->stacks[i].appends ? loop->stacks[i].initial : MDF_LOWERED_NONE, LATE);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        visit_write(emission, visit, loop->states[i].parameter);
        visit_read(emission, visit, loop->states[i].initial, LATE);
    }
    emission_visit_pointers(emission, step, visit, DEFINITION);
    visit_write(emission, visit, loop->is_going_on);
    visit_read(emission, visit, loop->trip_count, LATE);
    visit_read(emission, visit, loop->condition, LATE);
}

static void visit_end_loop(struct emission *emission, visitor visit, const struct step *step)
{
    struct loop_plan plan = emission_plan_loop(emission, step);
    const struct mdf_lowered_loop *loop = plan.loop;

    for (size_t i = 0; plan.counts && i < 3; i++) {
        visit(emission, plan.counter, AFTER); /* read and written as it goes on, compared */
    }
    if (plan.bound != MDF_LOWERED_NONE) {
        visit_read(emission, visit, plan.bound, AFTER);
        visit_read(emission, visit, loop->trip_count, AFTER);
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        visit(emission, (mdf_lowered_id)(plan.rows + i), AFTER);
    }
    emission_visit_pointers(emission, &emission->steps[step->partner], visit, AFTER);
    for (size_t i = 0; i < loop->n_stacks; i++) {
        visit(emission, (mdf_lowered_id)(plan.stacks + i), AFTER);
        visit_read(emission, visit, loop->stacks[i].item, LATE);
    }
    for (size_t i = 0; i < loop->n_states; i++) {
        visit_read(emission, visit, loop->states[i].next, LATE);
    }
    visit_read(emission, visit, plan.next_condition != MDF_LOWERED_NONE ? loop->next_condition : MDF_LOWERED_NONE, LATE);
    if (plan.next_condition != MDF_LOWERED_NONE && plan.next_condition != loop->next_condition) {
        visit(emission, plan.next_condition, DEFINITION);
        visit(emission, plan.next_condition, AFTER);
    }
    if (loop->is_going_on != MDF_LOWERED_NONE && emission->lives[loop->is_going_on].n_uses > 0) {
        visit_read(emission, visit, loop->is_going_on, AFTER); /* written once, before the first run */
    }
}

void emission_visit(struct emission *emission, void (*visit)(struct emission *emission, mdf_lowered_id id, enum moment moment))
{
    const struct step *step = &emission->steps[emission->at];

    switch ((enum step_kind)step->kind) {
    case STEP_OP:
        visit_op(emission, visit, step->op);
        break;
    case STEP_IF:
        visit_read(emission, visit, step->op->of.branches->condition, USE);
        break;
    case STEP_ELSE:
    case STEP_END_IF:
        visit_merges(emission, visit, step->op->of.branches, step->kind == STEP_ELSE);
        break;
    case STEP_LOOP:
        visit_loop(emission, visit, step);
        break;
    case STEP_END_LOOP:
        visit_end_loop(emission, visit, step);
        break;
    case STEP_END:
        for (size_t i = 0; i < emission_n_results(emission); i++) {
            visit_read(emission, visit, emission_result(emission, i), USE);
        }
        break;
    case STEP_CONCURRENT:
        visit_concurrent(emission, visit, step->op->of.loop->concurrent);
        break;
    case STEP_DEFERRED:
        break;
    }
}

const struct mdf_lowered_op *emission_maker(const struct emission *emission, mdf_lowered_id id)
{
    uint32_t at = id < emission->lowered->n_values ? emission->lives[id].step : UINT32_MAX;

    return at != UINT32_MAX && (emission->steps[at].kind == STEP_OP || emission->steps[at].kind == STEP_DEFERRED)
               ? emission->steps[at].op
               : NULL;
}
