/* lower_turned_states.c - states of a loop that have short rows (the last few inputs of each channel, as a short convolution
 * keeps them), or longer ones that nothing but folds of rows and moves go along (a matrix that is factored), lie by columns while
 * it runs, where a nest of its body folds these rows: vectors go along the columns. A nest in front of the loop lays the state
 * out so, and one behind it lays it out as it was. See lowering.h.
 *
 * All that the body does with such a state has to be nests, whose loads and stores go along rows and columns. */
#include "mdf_c/lower/loops/turning.h"
#include "mdf_c/lower/nests/nest_draft.h"
#include "mdf_c/lowered/lowered_reads.h"

#include <string.h>

enum { MOST_COLUMNS = 8, MOST_LONG_COLUMNS = 64 }; /* of short rows; of those that pay only where nests have nothing against it */

/* A state, as it is found in a run and as it is next, and what will lie by columns in the place of each. */
struct turned_state {
    struct lowering *lowering;
    struct mdf_lowered_loop *loop;
    struct mdf_lowered_state *state;
    mdf_lowered_id parameter, next, by_columns[2];
    int64_t n_rows, n_columns;
    size_t n_reads; /* by nests of the body */
    bool pays;
};

static bool is_state(const struct turned_state *turned, const struct mdf_nest_step *step)
{
    return (step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE) &&
           (step->view.id == turned->parameter || step->view.id == turned->next);
}

/* ------------------------------------------------------------------ views */

static int64_t floor_divide(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* How many columns a stride goes on, at a column to begin with, where the axis stays within rows; the rest of it are rows. */
static int64_t columns_of(const struct turned_state *turned, int64_t column, int64_t stride, size_t extent)
{
    int64_t forward = stride - floor_divide(stride, turned->n_columns) * turned->n_columns;

    return column + forward * ((int64_t)extent - 1) < turned->n_columns ? forward : forward - turned->n_columns;
}

/* The same elements where the state lies by columns. False: the view goes from the end of a row to the next one. */
static bool turn_view(const struct turned_state *turned, const size_t *extents, size_t n_axes, struct mdf_nest_view *view)
{
    int64_t n = turned->n_columns, column = view->first % n, lowest = column, highest = column, by;

    view->first = column * turned->n_rows + view->first / n;
    if (view->at != MDF_NEST_NONE) { /* as an axis of so many indices */
        by = columns_of(turned, column, view->at_stride, (size_t)view->at_limit);
        lowest += by < 0 ? by * (view->at_limit - 1) : 0;
        highest += by > 0 ? by * (view->at_limit - 1) : 0;
        view->at_stride = by * turned->n_rows + (view->at_stride - by) / n;
    }
    for (size_t axis = 0; axis < n_axes; axis++) {
        by = columns_of(turned, column, view->strides[axis], extents[axis]);
        lowest += by < 0 ? by * ((int64_t)extents[axis] - 1) : 0;
        highest += by > 0 ? by * ((int64_t)extents[axis] - 1) : 0;
        view->strides[axis] = by * turned->n_rows + (view->strides[axis] - by) / n;
    }
    return lowest >= 0 && highest < n;
}

/* ------------------------------------------------------------------ what pays */

/* Whether all else that a nest loads or stores for each row lies side by side along an axis of them, or is laid out so anew, as
 * comes from outside the loop and is folded; or it is one element for each long row that is folded. */
static bool others_lie_along(const struct turned_state *turned, const struct turning *turning,
                             const struct mdf_lowered_nest *nest, size_t rows, bool folds)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        bool moves = step->kind == MDF_NEST_LOAD || step->kind == MDF_NEST_STORE;

        if (moves && !is_state(turned, step) && step->level > rows && !turning_is_along(nest, step, rows) &&
            !(folds && turning_is_across(turning, nest, step, rows)) &&
            !(folds && step->kind == MDF_NEST_LOAD && step->level == rows + 1 && turned->n_columns > MOST_COLUMNS)) {
            return false;
        }
    }
    return true;
}

/* The axis of a nest along which a view of the state goes from a row to the next; the number of axes: there is none. */
static size_t find_rows(const struct turned_state *turned, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step)
{
    size_t axis;

    for (axis = 0; axis < step->level && step->view.strides[axis] != turned->n_columns; axis++) {
    }
    return axis < step->level ? axis : nest->n_axes;
}

/* Whether a view of the state goes along a row that is the same for all lanes of a nest which folds others. */
static bool is_one_row(const struct turned_state *turned, const struct mdf_lowered_nest *nest, const struct mdf_nest_step *step,
                       size_t lanes)
{
    return step->kind == MDF_NEST_LOAD && lanes < nest->n_axes && step->level > lanes + 1 && step->view.strides[lanes] == 0 &&
           find_rows(turned, nest, step) == nest->n_axes;
}

/* Whether C compilers make of a nest with long rows by columns what they would make of short ones: not where totals take turns,
 * or functions are called along the rows. */
static bool is_plain(const struct mdf_lowered_nest *nest)
{
    for (size_t i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];

        if ((step->kind == MDF_NEST_FOLD && step->lanes > 1 && !mdf_nest_is_in_pairs(nest, i)) ||
            (step->kind == MDF_NEST_ELEMENT && step->code == MDF_LOWERED_ELEMENTS && step->level == nest->n_axes)) {
            return false;
        }
    }
    return true;
}

/* Whether what a nest does with the state can be done by columns, as fast at least. */
static bool may_turn_nest(struct turned_state *turned, const struct turning *turning, const struct mdf_lowered_nest *nest)
{
    size_t lanes = nest->is_open ? nest->n_axes : turning_find_lanes(turning->lowering, nest), rows, i;
    bool is_long = turned->n_columns > MOST_COLUMNS;

    for (i = 0; i < nest->n_steps; i++) {
        const struct mdf_nest_step *step = &nest->steps[i];
        struct mdf_nest_view view = step->view;
        bool folds;

        if (!is_state(turned, step)) {
            continue;
        }
        rows = is_one_row(turned, nest, step, lanes) ? lanes : find_rows(turned, nest, step);
        folds = lanes < nest->n_axes && step->level > lanes + 1 && rows == lanes;
        if (nest->is_open || rows == nest->n_axes || !turn_view(turned, nest->extents, nest->n_axes, &view) ||
            (is_long && (mdf_nest_is_folded(nest, rows) || (turned->lowering->is_for_source && !is_plain(nest)))) ||
            !others_lie_along(turned, turning, nest, rows, folds)) {
            return false;
        }
        turned->n_reads += step->kind == MDF_NEST_LOAD;
        turned->pays = turned->pays || (folds && step->kind == MDF_NEST_LOAD);
    }
    return true;
}

/* Whether a state has short rows, of numbers that vectors can be made of. */
static bool has_short_rows(const struct turned_state *turned)
{
    const struct lowering *lowering = turned->lowering;
    const struct mdf_lowered_value *values = lowering->lowered->values, *value = &values[turned->parameter],
                                   *initial = &values[turned->state->initial];

    return !value->is_scalar && value->open_axes == 0 && value->form.kind == MDF_KIND_TENSOR &&
           mdf_dtype_size((mdf_dtype)value->form.dtype) >= 4 && mdf_dtype_size((mdf_dtype)value->form.dtype) <= 8 &&
           !initial->is_scalar && initial->open_axes == 0 && initial->form.dtype == value->form.dtype &&
           initial->form.length == value->form.length && turned->n_columns >= 2 && turned->n_columns <= MOST_LONG_COLUMNS &&
           turned->n_rows >= TURNING_FEWEST_ROWS && value->form.length <= TURNING_LARGEST &&
           values[turned->next].place == MDF_LOWERED_RESULT && !lowering->facts[turned->parameter].is_watched &&
           !lowering->facts[turned->next].is_watched;
}

/* Whether nests of the body itself, which can go by columns, are all that the loop does with a state, and that pays; one makes
 * what it is next. */
static bool may_turn(struct turned_state *turned, const struct mdf_lowered_op *op)
{
    struct lowering *lowering = turned->lowering;
    const struct turning *turning = turning_of(lowering, op);
    bool *marks = mdf_arena_array(&lowering->scratch, lowering->lowered->n_values, sizeof *marks);
    size_t maker = mdf_lowered_find_maker(&turned->loop->body, turned->next), i;

    if (marks == NULL || turning == NULL) {
        return lowering_out_of_memory(lowering);
    }
    if (maker == SIZE_MAX || turned->loop->body.ops[maker].code != MDF_LOWERED_NEST) {
        return false;
    }
    for (i = 0; i < turned->loop->body.n_ops; i++) {
        const struct mdf_lowered_op *inner = &turned->loop->body.ops[i];

        if (inner->code == MDF_LOWERED_NEST && !may_turn_nest(turned, turning, inner->of.nest)) {
            return false;
        }
    }
    marks[turned->parameter] = marks[turned->next] = true;
    return turned->pays && mdf_lowered_count_marked(op, marks) == turned->n_reads + 1; /* the state itself reads its next */
}

/* ------------------------------------------------------------------ nests */

/* Whether a step may be made for each index of all axes: nobody makes it more often for that who sees that it is the same. */
static bool may_be_repeated(const struct mdf_nest_step *step)
{
    return step->kind == MDF_NEST_LOAD || (step->kind == MDF_NEST_ELEMENT && step->code != MDF_LOWERED_ELEMENTS);
}

/* Axes change places until columns come first: what is moved lies together then. Not where something is made for the outer ones
 * alone that costs much, or is stored. */
static void put_columns_first(const struct turned_state *turned, struct mdf_lowered_nest *nest)
{
    size_t i;

    for (i = 0; i < nest->n_steps; i++) {
        if (nest->steps[i].kind == MDF_NEST_FOLD || (nest->steps[i].level != nest->n_axes && !may_be_repeated(&nest->steps[i]))) {
            return;
        }
    }
    for (i = 0; i < nest->n_steps; i++) { /* numbers stay what they are */
        nest->steps[i].level = (uint8_t)(nest->steps[i].level > 0 ? nest->n_axes : 0);
    }
    for (i = 0; i < nest->n_steps && !is_state(turned, &nest->steps[i]); i++) {
    }
    for (size_t axis = 1; i < nest->n_steps && axis < nest->n_axes; axis++) {
        for (size_t k = axis; k > 0 && nest->steps[i].view.strides[k - 1] < nest->steps[i].view.strides[k]; k--) {
            turning_change_places(nest, k - 1, k);
        }
    }
    draft_join_axes(nest);
}

/* The nests of the body load and store what lies by columns. */
static void turn_nests(const struct turned_state *turned)
{
    for (size_t i = 0; i < turned->loop->body.n_ops; i++) {
        struct mdf_lowered_nest *nest =
            turned->loop->body.ops[i].code == MDF_LOWERED_NEST ? turned->loop->body.ops[i].of.nest : NULL;
        bool any = false;

        for (size_t k = 0; nest != NULL && k < nest->n_steps; k++) {
            if (is_state(turned, &nest->steps[k])) {
                turn_view(turned, nest->extents, nest->n_axes, &nest->steps[k].view);
                any = true;
            }
        }
        if (any) {
            put_columns_first(turned, nest);
        }
        for (size_t k = 0; any && k < nest->n_steps; k++) {
            if (is_state(turned, &nest->steps[k])) {
                nest->steps[k].view.id = turned->by_columns[nest->steps[k].view.id == turned->next];
            }
        }
    }
}

/* A value as large as the state, by columns. */
static mdf_lowered_id add_value(const struct turned_state *turned, enum mdf_lowered_place place)
{
    struct lowering *lowering = turned->lowering;
    const struct mdf_value *form = &lowering->lowered->values[turned->parameter].form;
    const int64_t shape[] = {turned->n_columns, turned->n_rows};
    struct mdf_value example = {0};
    void *elements = mdf_value_make_tensor(lowering->memory, &example, (mdf_dtype)form->dtype, 2, shape);
    mdf_lowered_id id = MDF_LOWERED_NONE;

    if (elements == NULL) {
        lowering_out_of_memory(lowering);
        return id;
    }
    memset(elements, 0, example.length * mdf_dtype_size((mdf_dtype)form->dtype));
    example.strength = form->strength;
    id = lowering_add_value(lowering, place, &example);
    mdf_value_clear(lowering->memory, &example);
    if (id != MDF_LOWERED_NONE) {
        lowering->facts[id].is_nested = place == MDF_LOWERED_RESULT;
    }
    return id;
}

/* The nest that lays a state out by columns, or as it was. */
static struct mdf_lowered_nest *make_move(const struct turned_state *turned, mdf_lowered_id from, mdf_lowered_id to,
                                          bool is_to_columns)
{
    const int64_t by_columns[] = {turned->n_rows, 1}, by_rows[] = {1, turned->n_columns};
    struct mdf_nest_view source = {.id = from, .at = MDF_NEST_NONE}, target = {.id = to, .at = MDF_NEST_NONE};
    struct nest_draft *draft = draft_new(turned->lowering);
    uint8_t axes[2], in;

    if (draft == NULL) {
        return NULL;
    }
    axes[0] = draft_axis(draft, turned->n_columns);
    axes[1] = draft_axis(draft, turned->n_rows);
    in = draft_load_elements(turned->lowering, draft, &source, 2, axes, is_to_columns ? by_rows : by_columns);
    draft_store_elements(turned->lowering, draft, in, &target, 2, axes, is_to_columns ? by_columns : by_rows);
    return draft_finish(turned->lowering, draft);
}

/* Puts a nest into a region, so that it is op number `at`. */
static bool insert(struct lowering *lowering, struct mdf_lowered_region *region, size_t at, struct mdf_lowered_nest *nest)
{
    struct mdf_lowered_op *op = lowering_insert_ops(lowering, region, at, 1);

    if (op == NULL || nest == NULL) {
        return lowering_out_of_memory(lowering);
    }
    *op = (struct mdf_lowered_op){.code = MDF_LOWERED_NEST, .out = MDF_LOWERED_NONE, .of.nest = nest};
    return true;
}

/* The loop, op number *at, carries the state by columns; what it is in the end is laid out as before, where somebody reads it. */
static bool turn_state(struct turned_state *turned, struct mdf_lowered_region *region, size_t *at)
{
    struct lowering *lowering = turned->lowering;
    mdf_lowered_id first = add_value(turned, MDF_LOWERED_RESULT);
    size_t *n_reads;

    turned->by_columns[0] = add_value(turned, MDF_LOWERED_PARAMETER);
    turned->by_columns[1] = add_value(turned, MDF_LOWERED_RESULT);
    if (first == MDF_LOWERED_NONE || turned->by_columns[0] == MDF_LOWERED_NONE || turned->by_columns[1] == MDF_LOWERED_NONE ||
        !insert(lowering, region, *at, make_move(turned, turned->state->initial, first, true))) {
        return false;
    }
    ++*at;
    turn_nests(turned);
    *turned->state =
        (struct mdf_lowered_state){.initial = first, .parameter = turned->by_columns[0], .next = turned->by_columns[1]};
    lowering->facts[turned->next].is_nested = false;
    n_reads = mdf_lowered_count_reads(lowering->lowered, &lowering->scratch);
    if (n_reads == NULL) {
        return lowering_out_of_memory(lowering);
    }
    lowering->lowered->values[turned->parameter].place = MDF_LOWERED_RESULT;
    lowering->facts[turned->parameter].is_nested = n_reads[turned->parameter] > 0;
    return n_reads[turned->parameter] == 0 ||
           insert(lowering, region, *at + 1, make_move(turned, turned->by_columns[0], turned->parameter, false));
}

/* ------------------------------------------------------------------ loops */

/* The states of a loop, which is op number *at of the region, also afterwards. */
static bool turn_loop(struct lowering *lowering, struct mdf_lowered_region *region, size_t *at)
{
    struct mdf_lowered_loop *loop = region->ops[*at].of.loop;

    for (size_t i = 0; loop->n_runs >= TURNING_FEWEST_RUNS && i < loop->n_states; i++) {
        struct mdf_lowered_state *state = &loop->states[i];
        const struct mdf_value *form = &lowering->lowered->values[state->parameter].form;
        struct turned_state turned = {
            .lowering = lowering, .loop = loop, .state = state, .parameter = state->parameter, .next = state->next};

        if (form->kind != MDF_KIND_TENSOR || form->rank < 2 || form->rank > MDF_INLINE_RANK || form->length == 0) {
            continue;
        }
        turned.n_columns = mdf_value_shape(form)[form->rank - 1u];
        turned.n_rows = (int64_t)form->length / turned.n_columns;
        if (has_short_rows(&turned) && may_turn(&turned, &region->ops[*at]) && !turn_state(&turned, region, at)) {
            return false;
        }
    }
    return !lowering_has_failed(lowering);
}

bool lowering_turn_states(struct lowering *lowering)
{
    return lowering_for_loops(lowering, &lowering->lowered->region, turn_loop);
}
