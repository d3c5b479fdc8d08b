/* nest_plan.c - see nest_plan.h. */
#include "mdf_c/source/nests/nest_plan.h"

#include "mdf_c/tensor/dtype.h"

#include <string.h>

enum {
    MOST_COST = 12,     /* of what is made again, in additions */
    COST_OF_LANES = 24, /* to join the lanes of a total, in additions of the elements of a vector */
    MOST_LANES = 8,     /* that totals have for each index of the vector axis */
    FEWEST_TOGETHER = 8,
    MOST_TOGETHER = 4096, /* elements that functions give in a loop of their own */
    MOST_ROWS = 64        /* of which functions give all elements before one is folded */
};

static bool is_in(struct mdf_nest_set steps, size_t step)
{
    return mdf_nest_set_has(&steps, step);
}

static bool is_real(const struct mdf_nest_step *step)
{
    return mdf_dtype_kind((mdf_dtype)step->operand_dtype) == 'f';
}

/* Operands, and the index of a load. */
static size_t operands_of(const struct nest_plan *plan, size_t i, uint8_t operands[MDF_MAX_OPERANDS + 1])
{
    const struct mdf_nest_step *step = &plan->nest->steps[i];
    size_t n = step->kind == MDF_NEST_LOAD ? 0 : step->n_in;

    memcpy(operands, step->in, n);
    if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
        operands[n++] = step->view.at;
    }
    return n;
}

/* The same, and what has to be there before a total begins which the step goes into. */
static size_t waits_for(const struct nest_plan *plan, size_t i, uint8_t operands[MDF_MAX_OPERANDS + 1])
{
    size_t n = operands_of(plan, i, operands);

    if (plan->starts[i] != MDF_NEST_NONE) {
        operands[n++] = plan->starts[i];
    }
    return n;
}

size_t nest_plan_depth(const struct nest_plan *plan, size_t step)
{
    size_t level = plan->nest->steps[step].level;

    return level > plan->vector ? level - 1 : level;
}

/* The axis of the loop that is opened at a depth. */
static size_t find_axis(const struct nest_plan *plan, size_t depth)
{
    return depth >= plan->vector ? depth + 1 : depth;
}

/* Whether elements that are computed, and nothing else, are made of what a load finds for all indices of the vector axis. */
static bool loads_one(const struct nest_plan *plan, size_t load)
{
    const struct mdf_nest_step *own = &plan->nest->steps[load];

    if (own->kind != MDF_NEST_LOAD || own->view.at != MDF_NEST_NONE || own->view.strides[plan->vector] != 0) {
        return false;
    }
    for (size_t i = load + 1; i < plan->nest->n_steps; i++) {
        const struct mdf_nest_step *user = &plan->nest->steps[i];

        if (user->kind == MDF_NEST_LOAD ? user->view.at == load
                                        : user->kind != MDF_NEST_ELEMENT && memchr(user->in, (int)load, user->n_in) != NULL) {
            return false;
        }
    }
    return true;
}

bool nest_plan_is_vector(const struct nest_plan *plan, size_t step)
{
    return plan->nest->steps[step].level > plan->vector && !loads_one(plan, step);
}

static void add_event(struct nest_plan *plan, enum nest_event_kind kind, size_t index)
{
    if (plan->n_events == NEST_MOST_EVENTS) {
        plan->has_failed = true;
        return;
    }
    plan->events[plan->n_events++] = (struct nest_event){(uint8_t)kind, (uint8_t)index};
}

/* ------------------------------------------------------------------ the vector axis */

/* What one step costs for an index of the axis that goes innermost around it, in additions. */
static double step_cost(const struct mdf_nest_step *step, size_t axis, bool is_sequential)
{
    int64_t stride = axis < step->level ? step->view.strides[axis] : 0;

    switch ((enum mdf_nest_kind)step->kind) {
    case MDF_NEST_LOAD:
    case MDF_NEST_STORE:
        return (stride == 0 || stride == 1 ? 1 : 4) * (is_sequential ? 2 : 1);
    case MDF_NEST_FOLD:
    case MDF_NEST_ELEMENT:
        return is_sequential ? 2 : 1;
    }
    return 0;
}

/* Whether a fold runs along the axis and its order has to be kept, so that each addition waits for the one before. */
static bool is_sequential(const struct mdf_lowered_nest *nest, size_t axis)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_FOLD && step->lanes == 1 && is_real(step) && step->level <= axis &&
            nest->steps[step->in[0]].level == axis + 1) {
            return true;
        }
    }
    return false;
}

static bool is_in_lanes(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_FOLD && step->lanes > 1 && is_real(step);
}

size_t nest_plan_used_lanes(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *fold)
{
    size_t n = fold->lanes;

    while (n / 2 >= nest->extents[fold->level]) {
        n /= 2;
    }
    return n;
}

size_t nest_plan_lanes(const struct nest_plan *plan, size_t step)
{
    const struct mdf_nest_step *fold = &plan->nest->steps[step];

    return nest_plan_is_vector(plan, step) && is_in_lanes(fold) && !nest_plan_is_in_pairs(plan, step)
               ? nest_plan_used_lanes(plan->nest, fold)
               : 1;
}

bool nest_plan_is_in_pairs(const struct nest_plan *plan, size_t step)
{
    return nest_plan_is_vector(plan, step) && mdf_nest_is_in_pairs(plan->nest, step);
}

bool nest_plan_is_total(const struct nest_plan *plan, size_t step)
{
    const struct mdf_nest_step *fold = &plan->nest->steps[step];

    return nest_plan_is_vector(plan, step) && nest_plan_lanes(plan, step) == 1 && fold->fold < MDF_NEST_FIRST_MAXIMUM &&
           !nest_plan_is_in_pairs(plan, step) && (fold->order == MDF_NEST_IN_LANES || fold->order == MDF_NEST_IN_DEPTHS);
}

/* What it costs to join lanes, for an index of the axis that goes innermost. */
static double join_cost(const struct mdf_lowered_nest *nest, size_t i, size_t axis)
{
    const struct mdf_nest_step *step = &nest->steps[i];

    return !is_in_lanes(step) || (step->level > axis && mdf_nest_is_in_pairs(nest, i)) ? 0
           : step->level > axis ? 2.0 * (double)nest_plan_used_lanes(nest, step)
                                : COST_OF_LANES;
}

/* The level at which a step is done: a load along the axis that goes innermost is made again in each loop that needs it. */
static size_t level_done(const struct mdf_lowered_nest *nest, size_t i, size_t axis)
{
    const struct mdf_nest_step *step = &nest->steps[i];
    size_t level = mdf_nest_deepest(nest, step), user, k;

    for (user = i + 1; user < nest->n_steps && step->kind == MDF_NEST_LOAD && step->level > axis; user++) {
        for (k = 0; k < nest->steps[user].n_in; k++) {
            if (nest->steps[user].in[k] == i && nest->steps[user].level > level) {
                level = nest->steps[user].level;
            }
        }
    }
    return level;
}

/* The time of the steps that are within an axis, where it goes innermost. */
static double axis_cost(const struct nest_plan *plan, size_t axis)
{
    const struct mdf_lowered_nest *nest = plan->nest;
    bool waits = is_sequential(nest, axis);
    double cost = 0, loop = 6.0 / (double)nest->extents[axis];

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (is_in(plan->steps, i)) {
            double own = step_cost(step, axis, waits) + loop + (waits && step->kind == MDF_NEST_FOLD ? 6 : 0);

            cost += own * (double)mdf_nest_count(nest, 0, level_done(nest, i, axis)) +
                    join_cost(nest, i, axis) * (double)mdf_nest_count(nest, 0, step->level);
        }
    }
    return cost;
}

/* Whether each of some elements side by side can have the totals of a fold for itself. */
static bool has_few_totals(const struct mdf_lowered_nest *nest, size_t i)
{
    const struct mdf_nest_step *fold = &nest->steps[i];

    return !is_in_lanes(fold) || mdf_nest_is_in_pairs(nest, i) ||
           (fold->order == MDF_NEST_IN_LANES && fold->fold <= MDF_NEST_MINIMUM && !fold->has_start &&
            nest->steps[fold->in[0]].level == fold->level + 1 && nest_plan_used_lanes(nest, fold) <= MOST_LANES);
}

/* Whether an axis can go innermost: all folds are over axes within it, and go from one element to the next, or have few lanes. */
static bool may_be_vector(const struct nest_plan *plan, size_t axis)
{
    for (size_t i = 0; i < plan->nest->n_steps; i++) {
        const struct mdf_nest_step *step = &plan->nest->steps[i];

        if (is_in(plan->steps, i) && step->kind == MDF_NEST_FOLD && (step->level <= axis || !has_few_totals(plan->nest, i))) {
            return false;
        }
    }
    return true;
}

static void choose_vector(struct nest_plan *plan)
{
    size_t n = plan->nest->n_axes;
    double least = n > 0 ? axis_cost(plan, n - 1) : 0;

    plan->vector = n;
    for (size_t axis = 0; axis + 1 < n; axis++) {
        if (may_be_vector(plan, axis) && axis_cost(plan, axis) < least) {
            least = axis_cost(plan, axis);
            plan->vector = axis;
        }
    }
}

/* Whether a step is done for each element, and calls no function for it. */
static bool is_done_where_it_is(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    return step->level == nest->n_axes && step->kind != MDF_NEST_FOLD && step->code != MDF_LOWERED_ELEMENTS;
}

/* Whether a nest moves rows of the last axis to what is along the one around it, and does nothing else but to compute simple
 * functions of its elements. */
static bool is_turned(const struct nest_plan *plan)
{
    const struct mdf_lowered_nest *nest = plan->nest;
    size_t n = nest->n_axes;
    bool loads = false, stores = false;

    if (n < 2 || nest->is_open || nest->extents[n - 1] <= NEST_TURNED_LENGTH || nest->extents[n - 2] <= NEST_TURNED_LENGTH) {
        return false;
    }
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        const int64_t *strides = step->view.strides;

        if (!is_in(plan->steps, i)) {
            continue;
        }
        if (!is_done_where_it_is(nest, step)) {
            return false;
        }
        loads = loads || (step->kind == MDF_NEST_LOAD && strides[n - 2] == 1 && strides[n - 1] != 0 && strides[n - 1] != 1);
        stores = stores || step->kind == MDF_NEST_STORE;
        if (step->kind == MDF_NEST_STORE && strides[n - 1] != 1) {
            return false;
        }
    }
    return loads && stores;
}

/* Whether a nest does more than to load and store. */
static bool computes(const struct nest_plan *plan)
{
    for (size_t i = 0; i < plan->nest->n_steps; i++) {
        if (is_in(plan->steps, i) && plan->nest->steps[i].kind == MDF_NEST_ELEMENT) {
            return true;
        }
    }
    return false;
}

static void choose_tiles(struct nest_plan *plan)
{
    plan->tile = NEST_TILE_LENGTH;
    plan->tile_depth = plan->vector;
    plan->is_turned = is_turned(plan);
    if (plan->is_turned) {
        plan->vector = plan->nest->n_axes - 1;
        plan->tile = computes(plan) ? NEST_TURNED_COMPUTED : NEST_TURNED_LENGTH;
        plan->tile_depth = plan->vector - 1;
    }
}

/* ------------------------------------------------------------------ which loop a step is in */

/* What is known of the steps that stand in the loop of a depth itself, one for each of its indices. */
struct row_of_loop {
    size_t depth;
    bool is_long;                    /* for loops of vectors, and not too long to keep what they give */
    bool has_functions;              /* some of `calls` do not wait for a fold */
    bool calls[MDF_NEST_MOST_STEPS]; /* it is a function, or is made of one */
    bool joins[MDF_NEST_MOST_STEPS]; /* it is a fold of a loop within, or is made of one */
};

static void find_row(const struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, struct row_of_loop *row)
{
    const struct mdf_lowered_nest *nest = plan->nest;
    size_t axis = find_axis(plan, depth), n = axis < nest->n_axes ? nest->extents[axis] : 0, i, k;

    memset(row, 0, sizeof *row);
    row->depth = depth;
    row->is_long = n >= FEWEST_TOGETHER && n <= MOST_TOGETHER;
    for (i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (nest_plan_depth(plan, i) != depth + 1 || nest_plan_is_vector(plan, i)) {
            continue;
        }
        row->calls[i] = step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS;
        row->joins[i] = step->kind == MDF_NEST_FOLD;
        for (k = 0; step->kind == MDF_NEST_ELEMENT && k < step->n_in; k++) {
            row->calls[i] = row->calls[i] || row->calls[step->in[k]];
            row->joins[i] = row->joins[i] || row->joins[step->in[k]];
        }
        row->has_functions = row->has_functions || (is_in(todo, i) && row->calls[i] && !row->joins[i]);
    }
}

/* Whether a step is in loops within that of a row, or goes along with them. */
static bool is_within_row(const struct nest_plan *plan, const struct row_of_loop *row, size_t step)
{
    return nest_plan_depth(plan, step) > row->depth + 1 || nest_plan_is_vector(plan, step);
}

/* Whether a step is behind the loop of its operand as functions have loops of their own: those that wait for no fold in front of
 * all loops within, and of what these need; those of folds behind them. */
static bool is_behind_functions(const struct nest_plan *plan, const struct row_of_loop *row, size_t step, size_t operand)
{
    const struct mdf_nest_step *own = &plan->nest->steps[step];

    if (!row->is_long) {
        return false;
    }
    return row->calls[operand] ? is_within_row(plan, row, step) || (row->joins[step] && !row->joins[operand])
                               : row->joins[operand] && row->calls[step] && own->code == MDF_LOWERED_ELEMENTS;
}

/* Whether the loop within that of a depth is the innermost one, and goes along rows that are folded in many lanes. */
static bool joins_rows(const struct nest_plan *plan, size_t depth)
{
    const struct mdf_lowered_nest *nest = plan->nest;

    for (size_t i = 0; i < nest->n_steps; i++) {
        if (is_in(plan->steps, i) && is_in_lanes(&nest->steps[i]) && nest->steps[i].lanes > MOST_LANES &&
            nest->steps[i].level == depth + 1) {
            return true;
        }
    }
    return false;
}

/* Whether what a function gives along a few short rows, each of which is folded, is needed by another step along them. */
static bool is_made_of_rows(const struct nest_plan *plan, size_t depth, size_t step, size_t operand)
{
    const struct mdf_lowered_nest *nest = plan->nest;
    const struct mdf_nest_step *made = &nest->steps[operand], *user = &nest->steps[step];

    return made->kind == MDF_NEST_ELEMENT && made->code == MDF_LOWERED_ELEMENTS && user->kind == MDF_NEST_ELEMENT &&
           plan->vector == nest->n_axes && depth + 2 == nest->n_axes && made->level == nest->n_axes &&
           user->level == nest->n_axes && !(nest->is_open && nest->open_axis >= depth) && nest->extents[depth] <= MOST_ROWS &&
           mdf_nest_count(nest, depth, nest->n_axes) <= MOST_TOGETHER && joins_rows(plan, depth);
}

/* Whether a step is in a later loop of the depth than its operand: a fold is behind what it folds; and what functions give for
 * all indices is made in a loop of its own, of vectors. */
static bool is_behind(const struct nest_plan *plan, const struct row_of_loop *row, size_t step, size_t operand)
{
    return (plan->nest->steps[step].kind == MDF_NEST_FOLD && nest_plan_depth(plan, step) == row->depth) ||
           is_behind_functions(plan, row, step, operand) || is_made_of_rows(plan, row->depth, step, operand);
}

/* Of the steps at a depth or below: `place` p of those at it, which stand between loops p - 1 and p; and of the others, which are
 * in loop p. The number of loops. */
static size_t place_steps(const struct nest_plan *plan, const struct row_of_loop *row, struct mdf_nest_set todo,
                          uint8_t places[MDF_NEST_MOST_STEPS])
{
    size_t n_loops = 0;

    for (size_t i = 0; i < plan->nest->n_steps; i++) {
        uint8_t operands[MDF_MAX_OPERANDS + 1];
        size_t n = waits_for(plan, i, operands);

        places[i] = row->is_long && row->has_functions && is_within_row(plan, row, i) && nest_plan_depth(plan, i) > row->depth;
        for (size_t k = 0; is_in(todo, i) && k < n; k++) {
            uint8_t place = is_in(todo, operands[k]) ? (uint8_t)(places[operands[k]] + is_behind(plan, row, i, operands[k])) : 0;

            places[i] = place > places[i] ? place : places[i];
        }
        if (is_in(todo, i) && nest_plan_depth(plan, i) > row->depth && places[i] >= n_loops) {
            n_loops = places[i] + 1u;
        }
    }
    return n_loops;
}

/* What is needed in later loops only is not made in an earlier one; but totals are, with what they take, and functions, whose
 * loops have nothing else in them. */
static void sink_steps(const struct nest_plan *plan, const struct row_of_loop *row, struct mdf_nest_set todo,
                       uint8_t places[MDF_NEST_MOST_STEPS])
{
    uint8_t latest[MDF_NEST_MOST_STEPS];

    memset(latest, MDF_NEST_NONE, sizeof latest);
    for (size_t i = plan->nest->n_steps; i-- > 0;) {
        const struct mdf_nest_step *step = &plan->nest->steps[i];
        uint8_t operands[MDF_MAX_OPERANDS + 1];
        size_t n = waits_for(plan, i, operands);

        if (!is_in(todo, i)) {
            continue;
        }
        if (nest_plan_depth(plan, i) > row->depth && step->kind != MDF_NEST_FOLD && !(row->is_long && row->calls[i]) &&
            latest[i] != MDF_NEST_NONE && latest[i] > places[i]) {
            places[i] = latest[i];
        }
        for (size_t k = 0; k < n; k++) {
            uint8_t place = (uint8_t)(places[i] - is_behind(plan, row, i, operands[k]));

            latest[operands[k]] = place < latest[operands[k]] ? place : latest[operands[k]];
        }
    }
}

/* ------------------------------------------------------------------ what is kept */

/* What it costs to make a register again in loop `place`, where nothing of earlier loops is at hand but what is kept. */
static unsigned cost_again(const struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, const uint8_t *places,
                           size_t step, size_t place)
{
    const struct mdf_nest_step *own = &plan->nest->steps[step];
    uint8_t operands[MDF_MAX_OPERANDS + 1];
    size_t n = operands_of(plan, step, operands), k;
    unsigned cost = own->kind == MDF_NEST_FOLD                                          ? MOST_COST + 1
                    : own->kind == MDF_NEST_LOAD                                        ? 1 + 2 * (unsigned)n
                    : own->code == MDF_LOWERED_ELEMENTS                                 ? MOST_COST + 1
                    : own->code == MDF_LOWERED_CAST                                     ? 2
                    : own->code <= MDF_LOWERED_ABSOLUTE                                 ? 1
                    : own->code >= MDF_LOWERED_EQUAL && own->code <= MDF_LOWERED_SELECT ? 1
                                                                                        : 8;

    if (!is_in(todo, step) || nest_plan_depth(plan, step) <= depth || places[step] == place) {
        return 0;
    }
    if (plan->kept[step] <= depth) {
        return 1;
    }
    if (plan->keeps_all) {
        return MOST_COST + 1;
    }
    for (k = 0; k < n && cost <= MOST_COST; k++) {
        cost += cost_again(plan, depth, todo, places, operands[k], place);
    }
    return cost;
}

/* The steps of loop `place`, with those of earlier loops that are made again. */
static struct mdf_nest_set steps_of_loop(struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, const uint8_t *places,
                                         size_t place)
{
    struct mdf_nest_set steps = {{0}};

    for (size_t i = plan->nest->n_steps; i-- > 0;) {
        uint8_t operands[MDF_MAX_OPERANDS + 1];
        size_t n = operands_of(plan, i, operands);

        if (is_in(todo, i) && nest_plan_depth(plan, i) > depth && places[i] == place) {
            mdf_nest_set_add(&steps, i);
        }
        for (size_t k = 0; is_in(steps, i) && k < n; k++) {
            size_t operand = operands[k];

            if (!is_in(todo, operand) || nest_plan_depth(plan, operand) <= depth || places[operand] == place ||
                plan->kept[operand] <= depth) {
                continue;
            }
            if (cost_again(plan, depth, todo, places, operand, place) > MOST_COST) {
                plan->kept[operand] = (uint8_t)depth;
            } else {
                mdf_nest_set_add(&steps, operand);
            }
        }
    }
    return steps;
}

/* Registers of the vector axis that stand at the depth itself, and are needed past the group that makes them. */
static void keep_vectors(struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, const uint8_t *places)
{
    for (size_t i = 0; i < plan->nest->n_steps; i++) {
        uint8_t operands[MDF_MAX_OPERANDS + 1];
        size_t n = is_in(todo, i) ? operands_of(plan, i, operands) : 0;

        for (size_t k = 0; k < n; k++) {
            size_t operand = operands[k];

            if (is_in(todo, operand) && nest_plan_depth(plan, operand) == depth && nest_plan_is_vector(plan, operand) &&
                plan->nest->steps[operand].kind == MDF_NEST_ELEMENT && plan->kept[operand] > depth &&
                (nest_plan_depth(plan, i) > depth || places[i] > places[operand])) {
                plan->kept[operand] = (uint8_t)depth;
            }
        }
    }
}

/* ------------------------------------------------------------------ events */

/* A step at the depth, and what follows from it. */
static void add_step(struct nest_plan *plan, size_t step, struct mdf_nest_set folds)
{
    add_event(plan, plan->nest->steps[step].kind == MDF_NEST_FOLD ? NEST_END : NEST_COMPUTE, step);
    if (plan->kept[step] != MDF_NEST_NONE) {
        add_event(plan, NEST_KEEP, step);
    }
    for (size_t i = 0; i < plan->nest->n_steps; i++) {
        if (is_in(folds, i) && plan->nest->steps[i].in[0] == step) {
            add_event(plan, NEST_TAKE, i);
        }
    }
}

/* Those at the depth that stand before loop `place`: first what is the same along the vector axis, then totals, as lanes are
 * joined in loops: a group, whose registers have names, ends there. */
static void add_steps(struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, const uint8_t *places, size_t place,
                      struct mdf_nest_set folds)
{
    enum { ALIKE, TOTALS, OTHERS, N_TURNS };

    for (int turn = ALIKE; turn < N_TURNS; turn++) {
        for (size_t i = 0; i < plan->nest->n_steps; i++) {
            int own = !nest_plan_is_vector(plan, i) ? ALIKE : plan->nest->steps[i].kind == MDF_NEST_FOLD ? TOTALS : OTHERS;

            if (is_in(todo, i) && nest_plan_depth(plan, i) == depth && places[i] == place && own == turn) {
                add_step(plan, i, folds);
            }
        }
    }
}

/* The folds whose totals take something in loop `place`: of those that are under way, and those that begin here. */
static struct mdf_nest_set folds_of_loop(struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, const uint8_t *places,
                                         size_t place, struct mdf_nest_set folds)
{
    struct mdf_nest_set found = {{0}};

    for (size_t i = 0; i < plan->nest->n_steps; i++) {
        size_t operand = plan->nest->steps[i].in[0];
        bool begins = is_in(todo, i) && nest_plan_depth(plan, i) == depth && plan->nest->steps[i].kind == MDF_NEST_FOLD;

        if ((is_in(folds, i) || begins) && is_in(todo, operand) && nest_plan_depth(plan, operand) > depth &&
            places[operand] == place) {
            mdf_nest_set_add(&found, i);
            if (begins) {
                add_event(plan, NEST_BEGIN, i);
            }
        }
    }
    return found;
}

/* What is within the loops of a depth. `folds`: whose totals take registers of `todo`. */
static void plan_body(struct nest_plan *plan, size_t depth, struct mdf_nest_set todo, struct mdf_nest_set folds)
{
    uint8_t places[MDF_NEST_MOST_STEPS];
    struct row_of_loop row;
    size_t n_loops;
    struct mdf_nest_set inner[MDF_NEST_MOST_STEPS + 1];
    bool is_cut =
        depth == plan->tile_depth && plan->vector < plan->nest->n_axes && plan->nest->extents[plan->vector] > plan->tile;

    find_row(plan, depth, todo, &row);
    n_loops = place_steps(plan, &row, todo, places);
    sink_steps(plan, &row, todo, places);
    for (size_t loop = 0; loop < n_loops; loop++) {
        inner[loop] = steps_of_loop(plan, depth, todo, places, loop);
    }
    if (depth >= plan->vector) {
        keep_vectors(plan, depth, todo, places);
    }
    if (is_cut) {
        add_event(plan, NEST_TILE, plan->vector);
    }
    for (size_t loop = 0; loop <= n_loops && !plan->has_failed; loop++) {
        struct mdf_nest_set own;

        add_steps(plan, depth, todo, places, loop, folds);
        if (loop == n_loops || mdf_nest_set_is_empty(&inner[loop])) {
            continue;
        }
        own = folds_of_loop(plan, depth, todo, places, loop, folds);
        add_event(plan, NEST_OPEN, find_axis(plan, depth));
        plan_body(plan, depth + 1, inner[loop], own);
        add_event(plan, NEST_CLOSE, find_axis(plan, depth));
    }
    if (is_cut) {
        add_event(plan, NEST_CLOSE, plan->vector);
    }
}

/* With what they need; and how often each is used. */
static void mark_steps(struct nest_plan *plan, struct mdf_nest_set steps)
{
    plan->steps = steps;
    for (size_t i = plan->nest->n_steps; i-- > 0;) {
        uint8_t operands[MDF_MAX_OPERANDS + 1];
        size_t n = operands_of(plan, i, operands);

        for (size_t k = 0; is_in(plan->steps, i) && k < n; k++) {
            mdf_nest_set_add(&plan->steps, operands[k]);
            plan->n_uses[operands[k]]++;
        }
    }
}

/* Whether an element is made of truths: of one that is a number now, or chooses, however far in front. */
static bool is_of_truths(const struct mdf_nest_step *step, const struct mdf_nest_set *truths)
{
    bool is = step->kind == MDF_NEST_ELEMENT &&
              (step->dtype == MDF_DTYPE_BOOL || step->operand_dtype == MDF_DTYPE_BOOL || step->code == MDF_LOWERED_SELECT);

    for (size_t k = 0; step->kind == MDF_NEST_ELEMENT && k < step->n_in; k++) {
        is = is || mdf_nest_set_has(truths, step->in[k]);
    }
    return is;
}

static bool looks_up_by_truth(const struct mdf_lowered_nest *nest)
{
    struct mdf_nest_set truths = {{0}};

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE && mdf_nest_set_has(&truths, step->view.at)) {
            return true;
        }
        if (is_of_truths(step, &truths)) {
            mdf_nest_set_add(&truths, i);
        }
    }
    return false;
}

void nest_plan_make(struct nest_plan *plan, const struct mdf_lowered_nest *nest, struct mdf_nest_set steps)
{
    bool keeps_all = false;

    do { /* kept registers are made once each, for which there is room */
        memset(plan, 0, sizeof *plan);
        plan->nest = nest;
        plan->keeps_all = keeps_all;
        plan->looks_up_by_truth = looks_up_by_truth(nest);
        memset(plan->kept, MDF_NEST_NONE, sizeof plan->kept);
        for (size_t i = 0; i < nest->n_steps; i++) {
            plan->starts[i] = mdf_nest_start(nest, i);
        }
        mark_steps(plan, steps);
        choose_vector(plan);
        choose_tiles(plan);
        plan_body(plan, 0, plan->steps, (struct mdf_nest_set){{0}});
        keeps_all = true;
    } while (plan->has_failed && !plan->keeps_all);
}
