/* lower_turned.c - arrays from outside a loop that a nest of its body goes through across their rows, as distances to all rows of
 * a matrix do: they are laid out once, in front of the loop, with what lies side by side in vectors side by side. The same of a
 * nest that goes through them again and again, which such a loop may have become (lower_mapped.c). See lowering.h.
 *
 * That pays where a nest folds short rows, so that vectors go along another axis, and all else that it loads or stores lies along
 * that one already. */
#include "mdf_c/lower/loops/turning.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { LONGEST_ROW = 64, LONGEST_ROW_IN_SOURCE = 32 }; /* folded elements; longer ones are vectors themselves */

/* The level of what is made of the innermost axes by folds: none of these goes on from there to an axis further out. */
static size_t folded_level(const struct mdf_lowered_nest *nest)
{
    size_t level = nest->n_axes;
    bool changes = true;

    while (changes) {
        changes = false;
        for (size_t i = 0; i < nest->n_steps; i++) {
            const struct mdf_nest_step *step = &nest->steps[i];
            bool is_inner = step->kind == MDF_NEST_FOLD &&
                            (nest->steps[step->in[0]].level > level || nest->steps[step->in[0]].level == nest->n_axes);

            if (is_inner && step->level < level) {
                level = step->level;
                changes = true;
            }
        }
    }
    return level;
}

/* Whether a sum of many lanes is written out, of which C compilers make vectors then. */
static bool is_in_pairs(const struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps && !mdf_nest_is_in_pairs(nest, i); i++) {
    }
    return i < nest->n_steps;
}

size_t turning_find_lanes(const struct lowering *lowering, const struct mdf_lowered_nest *nest)
{
    size_t level = folded_level(nest),
           longest = lowering->is_for_source && !is_in_pairs(nest) ? LONGEST_ROW_IN_SOURCE : LONGEST_ROW;

    return level > 0 && level < nest->n_axes && mdf_nest_count(nest, level, nest->n_axes) <= longest &&
                   nest->extents[level - 1] >= TURNING_FEWEST_ROWS
               ? level - 1
               : nest->n_axes;
}

bool turning_is_across(const struct turning *turning, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step,
                       size_t lanes)
{
    size_t n = 1;
    bool has_row = false;

    for (size_t axis = 0; axis < step->level; axis++) {
        n *= step->view.strides[axis] != 0 ? nest->extents[axis] : 1;
        has_row = has_row || (axis > lanes && step->view.strides[axis] == 1);
    }
    return step->kind == MDF_NEST_LOAD && step->level > lanes && step->view.at == MDF_NEST_NONE && has_row &&
           step->view.strides[lanes] > 1 && n <= TURNING_LARGEST && !turning->is_inside[step->view.id] &&
           turning->lowering->lowered->values[step->view.id].open_axes == 0 && mdf_dtype_size((mdf_dtype)step->dtype) >= 4;
}

bool turning_is_along(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, size_t lanes)
{
    bool begins_apart = step->view.at != MDF_NEST_NONE && nest->steps[step->view.at].level > lanes;

    return !begins_apart && (step->view.strides[lanes] == 0 || step->view.strides[lanes] == 1);
}

/* Whether all that is not laid out anew lies along the axis as vectors want it. */
static bool lies_along(const struct turning *turning, const struct mdf_lowered_nest *nest, size_t lanes)
{
    bool any = false;

    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;
        bool turns = moves && turning_is_across(turning, nest, step, lanes);

        if (moves && !turns && step->level > lanes && !turning_is_along(nest, step, lanes)) {
            return false;
        }
        any = any || turns;
    }
    return any;
}

/* Whether nothing is made for each index of `axis` alone, so that it may change places with the one that lanes go along. */
static bool may_change_places(const struct mdf_lowered_nest *nest, size_t axis, size_t lanes)
{
    size_t i;

    for (i = 0; i < nest->n_steps && (nest->steps[i].level <= axis || nest->steps[i].level > lanes); i++) {
    }
    return i == nest->n_steps && nest->extents[axis] >= TURNING_FEWEST_ROWS && !mdf_nest_is_folded(nest, axis) &&
           !mdf_nest_is_folded(nest, lanes);
}

void turning_change_places(struct mdf_lowered_nest *nest, size_t axis, size_t other)
{
    size_t extent = nest->extents[axis];

    nest->extents[axis] = nest->extents[other];
    nest->extents[other] = extent;
    for (size_t i = 0; i < nest->n_steps; i++) {
        int64_t *strides = nest->steps[i].view.strides, stride = strides[axis];

        strides[axis] = strides[other];
        strides[other] = stride;
    }
}

/* Puts an axis innermost along which all lies that is not laid out anew, as of distances that are stored row by row of the other
 * array. Neither what is folded nor the order of that changes. False: there is none. */
static bool choose_lanes(const struct turning *turning, struct mdf_lowered_nest *nest, size_t lanes)
{
    size_t axis = lanes;

    if (lies_along(turning, nest, lanes)) {
        return true;
    }
    while (axis-- > 0) {
        if (may_change_places(nest, axis, lanes)) {
            turning_change_places(nest, axis, lanes);
            if (lies_along(turning, nest, lanes)) {
                return true;
            }
            turning_change_places(nest, axis, lanes);
        }
    }
    return false;
}

static bool is_same(const struct turned *turned, const struct mdf_lowered_nest *nest, const struct mdf_nest_view *view)
{
    size_t axis;

    for (axis = 0; axis < MDF_NEST_MOST_AXES && turned->from.strides[axis] == view->strides[axis] &&
                   (view->strides[axis] == 0 || turned->extents[axis] == nest->extents[axis]);
         axis++) {
    }
    return axis == MDF_NEST_MOST_AXES && turned->from.id == view->id && turned->from.first == view->first;
}

/* Lays an array out for a load: its axes in their order, but the one that vectors go along last. NULL: it is not done. */
static struct turned *add_turned(struct turning *turning, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step,
                                 size_t lanes)
{
    struct lowering *lowering = turning->lowering;
    struct turned *turned = &turning->turned[turning->n_turned];
    struct nest_draft *draft = turning->n_turned < TURNING_MOST ? draft_new(lowering) : NULL;
    struct mdf_nest_view view;
    uint8_t axes[MDF_NEST_MOST_AXES], in;
    int64_t from[MDF_NEST_MOST_AXES], to[MDF_NEST_MOST_AXES], n = 1;
    size_t order[MDF_NEST_MOST_AXES], rank = 0;

    if (draft == NULL) {
        return NULL;
    }
    for (size_t axis = 0; axis < step->level; axis++) {
        if (axis != lanes && step->view.strides[axis] != 0) {
            order[rank++] = axis;
        }
    }
    order[rank++] = lanes;
    *turned = (struct turned){.from = step->view, .to = {.at = MDF_NEST_NONE}};
    memcpy(turned->extents, nest->extents, sizeof turned->extents);
    for (size_t i = rank; i-- > 0; n *= (int64_t)nest->extents[order[i]]) {
        turned->to.strides[order[i]] = to[i] = n;
        from[i] = step->view.strides[order[i]];
    }
    for (size_t i = 0; i < rank; i++) {
        axes[i] = draft_axis(draft, (int64_t)nest->extents[order[i]]);
    }
    turned->to.id = lowering_add_row(lowering, (mdf_dtype)step->dtype, n);
    if (turned->to.id == MDF_LOWERED_NONE) {
        return NULL;
    }
    view = (struct mdf_nest_view){.id = step->view.id, .first = step->view.first, .at = MDF_NEST_NONE};
    in = draft_load_elements(lowering, draft, &view, rank, axes, from);
    view = (struct mdf_nest_view){.id = turned->to.id, .at = MDF_NEST_NONE};
    draft_store_elements(lowering, draft, in, &view, rank, axes, to);
    turned->op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE};
    turned->op.of.nest = draft_finish(lowering, draft);
    return turned->op.of.nest != NULL ? &turning->turned[turning->n_turned++] : NULL;
}

/* How often a nest goes through all that a load of it looks at. */
static size_t count_rounds(const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step, size_t lanes)
{
    size_t n = 1;

    for (size_t axis = 0; axis < lanes; axis++) {
        n *= step->view.strides[axis] == 0 ? nest->extents[axis] : 1;
    }
    return n;
}

/* Whether a nest by itself, outside the loops that its arrays come from, goes through them as often as a loop would. */
static bool goes_round(const struct turning *turning, const struct mdf_lowered_nest *nest, size_t lanes)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_LOAD && turning_is_across(turning, nest, &nest->steps[i], lanes) &&
            count_rounds(nest, &nest->steps[i], lanes) < TURNING_FEWEST_RUNS) {
            return false;
        }
    }
    return true;
}

/* The axis that lanes go along, where something is laid out for a nest; the number of axes: nothing is. What C compilers make of
 * loops in which that axis is folded, too, is slower then. */
static size_t settle_lanes(const struct turning *turning, struct mdf_lowered_nest *nest, bool is_in_loop)
{
    size_t lanes = nest->is_open ? nest->n_axes : turning_find_lanes(turning->lowering, nest);

    return lanes < nest->n_axes && !(turning->lowering->is_for_source && mdf_nest_is_folded(nest, lanes)) &&
                   choose_lanes(turning, nest, lanes) && (is_in_loop || goes_round(turning, nest, lanes))
               ? lanes
               : nest->n_axes;
}

bool turning_is_worth_it(const struct turning *turning, struct mdf_lowered_nest *nest)
{
    return settle_lanes(turning, nest, false) < nest->n_axes;
}

static void turn_nest(struct turning *turning, struct mdf_lowered_nest *nest, bool is_in_loop)
{
    size_t lanes = settle_lanes(turning, nest, is_in_loop), i, k;

    if (lanes == nest->n_axes) {
        return;
    }
    for (i = 0; i < nest->n_steps; i++) {
        struct mdf_nest_step *step = &nest->steps[i];
        const struct turned *turned;

        if (step->kind != MDF_NEST_LOAD || !turning_is_across(turning, nest, step, lanes)) {
            continue;
        }
        for (k = 0; k < turning->n_turned && !is_same(&turning->turned[k], nest, &step->view); k++) {
        }
        turned = k < turning->n_turned ? &turning->turned[k] : add_turned(turning, nest, step, lanes);
        if (turned != NULL) {
            step->view = turned->to;
        }
    }
}

/* ------------------------------------------------------------------ loops */

static void note_inside(void *context, mdf_lowered_id id)
{
    bool *is_inside = context;

    is_inside[id] = true;
}

/* What a loop has for its runs, and what its body makes. */
static void note_loop(const struct mdf_lowered_loop *loop, bool *is_inside)
{
    const mdf_lowered_id numbers[] = {loop->number, loop->is_going_on};

    for (size_t i = 0; i < 2; i++) {
        if (numbers[i] != MDF_LOWERED_NONE) {
            is_inside[numbers[i]] = true;
        }
    }
    for (size_t i = 0; i < loop->n_rows; i++) {
        is_inside[loop->rows[i].parameter] = true;
    }
    for (size_t i = 0; i < loop->n_products; i++) { /* those that are computed ahead are results of no op */
        is_inside[loop->products[i]->out] = true;
    }
}

/* All that an op makes, and what is in it. */
static void note_made(const struct mdf_lowered_op *op, bool *is_inside)
{
    const struct mdf_lowered_region *inner;

    mdf_lowered_visit_results(op, note_inside, is_inside);
    if (op->code == MDF_LOWERED_LOOP) {
        note_loop(op->of.loop, is_inside);
    }
    for (size_t i = 0; (inner = mdf_lowered_inner(op, i)) != NULL; i++) {
        for (size_t j = 0; j < inner->n_ops; j++) {
            note_made(&inner->ops[j], is_inside);
        }
    }
}

/* Puts what has been laid out in front of op number `at`. */
static bool insert(const struct turning *turning, struct mdf_lowered_region *region, size_t at)
{
    struct mdf_lowered_op *ops = lowering_insert_ops(turning->lowering, region, at, turning->n_turned);

    for (size_t i = 0; ops != NULL && i < turning->n_turned; i++) {
        ops[i] = turning->turned[i].op;
    }
    return ops != NULL;
}

struct turning *turning_of(struct lowering *lowering, const struct mdf_lowered_op *op)
{
    struct turning *turning = mdf_arena_allocate(&lowering->scratch, sizeof *turning);
    bool *is_inside = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *is_inside);

    if (turning == NULL || is_inside == NULL) {
        lowering_out_of_memory(lowering);
        return NULL;
    }
    turning->lowering = lowering;
    turning->is_inside = is_inside;
    note_made(op, is_inside);
    return turning;
}

/* Those of a loop or nest, which stands at `at`; *n_added ops are in front of it afterwards. */
static bool turn_op(struct lowering *lowering, struct mdf_lowered_region *region, size_t at, size_t *n_added)
{
    const struct mdf_lowered_op *op = &region->ops[at];
    bool is_loop = op->code == MDF_LOWERED_LOOP;
    struct turning *turning;

    *n_added = 0;
    if (is_loop && op->of.loop->n_runs < TURNING_FEWEST_RUNS) {
        return true;
    }
    turning = turning_of(lowering, op);
    if (turning == NULL) {
        return false;
    }
    for (size_t i = 0; is_loop && i < op->of.loop->body.n_ops; i++) {
        if (op->of.loop->body.ops[i].code == MDF_LOWERED_NEST) {
            turn_nest(turning, op->of.loop->body.ops[i].of.nest, true);
        }
    }
    if (!is_loop) {
        turn_nest(turning, op->of.nest, false);
    }
    *n_added = turning->n_turned;
    return turning->n_turned == 0 || insert(turning, region, at);
}

static bool turn_region(struct lowering *lowering, struct mdf_lowered_region *region)
{
    size_t n_added;

    for (size_t i = 0; i < region->n_ops; i++) {
        struct mdf_lowered_op *op = &region->ops[i];

        if (op->code == MDF_LOWERED_IF &&
            !(turn_region(lowering, &op->of.branches->then) && turn_region(lowering, &op->of.branches->otherwise))) {
            return false;
        }
        if (op->code == MDF_LOWERED_LOOP && !turn_region(lowering, &op->of.loop->body)) {
            return false;
        }
        if (op->code == MDF_LOWERED_LOOP ||
            (op->code == MDF_LOWERED_NEST && turning_find_lanes(lowering, op->of.nest) < op->of.nest->n_axes)) {
            if (!turn_op(lowering, region, i, &n_added)) {
                return false;
            }
            i += n_added;
        }
    }
    return !lowering_has_failed(lowering);
}

bool lowering_turn_arrays(struct lowering *lowering)
{
    return turn_region(lowering, &lowering->lowered->region);
}
