/* nest_rows.c - see nest_rows.h. */
#include "mdf_c/source/nests/nest_rows.h"

#include <string.h>

enum { FEWEST_SHARED = 256 }; /* elements that rows share: fewer lie in registers, or in the nearest cache, as they are */

/* Steps that are others for each index of an axis. */
static struct mdf_nest_set steps_along(const struct mdf_lowered_nest *nest, size_t axis)
{
    struct mdf_nest_set along = {{0}};

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_seen = (step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE) && step->view.strides[axis] != 0;

        if (is_seen || mdf_nest_reads_any(step, &along)) {
            mdf_nest_set_add(&along, i);
        }
    }
    return along;
}

/* Elements of what a step loads. */
static size_t count_loaded(const struct mdf_lowered_nest *nest, size_t step)
{
    size_t n = 1;

    for (size_t axis = 0; axis < nest->steps[step].level; axis++) {
        n *= nest->steps[step].view.strides[axis] != 0 ? nest->extents[axis] : 1;
    }
    return n;
}

/* Whether a fold takes, for each index of the vector axis, what is the same along an axis, and enough of it. */
static bool shares_loads(const struct nest_plan *plan, size_t fold, size_t axis)
{
    const struct mdf_lowered_nest *nest = plan->nest;
    struct mdf_nest_set taken = {{0}};

    mdf_nest_set_add(&taken, nest->steps[fold].in[0]);
    for (size_t i = fold; i-- > 0;) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if (!mdf_nest_set_has(&taken, i)) {
            continue;
        }
        mdf_nest_add_operands(step, &taken);
        if (step->kind == MDF_NEST_LOAD && step->level > nest->steps[fold].level && step->view.strides[axis] == 0 &&
            step->view.strides[plan->vector] != 0 && count_loaded(nest, i) >= FEWEST_SHARED) {
            return true;
        }
    }
    return false;
}

/* Whether rows of an axis can be taken together, and are the better for it. */
static bool is_worth_it(const struct nest_plan *plan, size_t axis)
{
    const struct mdf_lowered_nest *nest = plan->nest;
    struct mdf_nest_set along = steps_along(nest, axis);
    bool shares = false;
    size_t n = 0;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool is_along = mdf_nest_set_has(&along, i);

        n += is_along ? NEST_ROWS : 1;
        if (!mdf_nest_set_has(&plan->steps, i) || step->kind != MDF_NEST_FOLD) {
            continue;
        }
        if (step->level <= axis || (is_along && !mdf_nest_set_has(&along, step->in[0]))) {
            return false;
        }
        shares = shares || (is_along && nest_plan_is_total(plan, i) && shares_loads(plan, i, axis));
    }
    return shares && n <= MDF_NEST_MOST_STEPS;
}

size_t nest_rows_axis(const struct nest_plan *plan)
{
    const struct mdf_lowered_nest *nest = plan->nest;

    if (plan->vector >= nest->n_axes || nest->is_open || plan->is_turned) {
        return nest->n_axes;
    }
    for (size_t axis = plan->vector; axis-- > 0;) {
        if (nest->extents[axis] >= NEST_ROWS && is_worth_it(plan, axis)) {
            return axis;
        }
    }
    return nest->n_axes;
}

/* A step of row `row` of those that are taken together; `made`: the copies of each step. */
static void copy_step(const struct mdf_nest_step *step, size_t axis, size_t row, uint8_t made[][NEST_ROWS],
                      struct mdf_nest_step *copy)
{
    *copy = *step;
    for (size_t k = 0; k < step->n_in; k++) {
        copy->in[k] = made[step->in[k]][row];
    }
    if (step->kind == MDF_NEST_LOAD && step->view.at != MDF_NEST_NONE) {
        copy->view.at = made[step->view.at][row];
    }
    copy->view.first += (int64_t)row * step->view.strides[axis];
    copy->view.strides[axis] *= NEST_ROWS;
}

void nest_rows_together(const struct mdf_lowered_nest *nest, size_t axis, struct mdf_lowered_nest *rows)
{
    struct mdf_nest_set along = steps_along(nest, axis);
    uint8_t made[MDF_NEST_MOST_STEPS][NEST_ROWS];

    rows->extents[axis] = nest->extents[axis] / NEST_ROWS;
    rows->n_steps = 0;
    for (size_t i = 0; i < nest->n_steps; i++) {
        for (size_t row = 0; row < NEST_ROWS; row++) {
            bool is_made = row > 0 && !mdf_nest_set_has(&along, i);

            made[i][row] = is_made ? made[i][0] : (uint8_t)rows->n_steps;
            if (!is_made) {
                copy_step(&nest->steps[i], axis, row, made, &rows->steps[rows->n_steps++]);
            }
        }
    }
}

bool nest_rows_rest(const struct mdf_lowered_nest *nest, size_t axis, struct mdf_lowered_nest *rows)
{
    size_t n = nest->extents[axis] % NEST_ROWS;

    rows->extents[axis] = n;
    rows->n_steps = nest->n_steps;
    for (size_t i = 0; i < nest->n_steps; i++) {
        rows->steps[i] = nest->steps[i];
        rows->steps[i].view.first += (int64_t)(nest->extents[axis] - n) * nest->steps[i].view.strides[axis];
    }
    return n > 0;
}
